/* SPDX-License-Identifier: MIT
 *
 * Changing the number of workers of the first domain while nothing runs.
 *
 * The order: all memory is there before anything changes; the domain's threads end; its lists are laid out anew;
 * threads start. Nobody else is about then: the executor rests, so no guest is inside, the domain's threads are joined,
 * and those of other domains sleep (the last thing that one of them did for a run that has ended may have been to look
 * at the counters of all workers, thrum__count_end). That no other thread comes in meanwhile is the caller's promise.
 *
 * Workers are used again, in the order of the list: first those that were the executor's own, then stand-ins and
 * guests. What is too many goes; with a trace it is put away for its events, and for the next time that workers are
 * needed.
 */
#include "exec/exec_int.h"

#include "base/alloc.h"
#include "sys/clock.h"

#include <sched.h>
#include <string.h>

enum { WORKERS_MOST = 1024, REST_NS = 200000000 };

struct plan {
    int own, most;
    worker **workers;
    thrum__life life;
    worker *fresh; /* linked by `outer` */
};

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static void free_list(worker *list)
{
    while (list) {
        worker *next = list->outer;
        thrum__worker_free(list);
        list = next;
    }
}

static bool make_fresh(thrum_executor *ex, struct plan *plan, int missing)
{
    for (const worker *w = ex->retired; w; w = w->outer)
        missing--;
    for (; missing > 0; missing--) {
        worker *w = thrum__worker_new(&ex->cpu, ex);
        if (!w)
            return false;
        w->outer = plan->fresh;
        plan->fresh = w;
    }
    return true;
}

static int prepare(thrum_executor *ex, struct plan *plan, int workers)
{
    const domain *d = &ex->cpu;
    *plan = (struct plan){.own = workers, .most = workers + d->spares_most + THRUM__GUESTS_MOST + THRUM__FEEDERS_MOST};
    plan->workers = thrum__zalloc((size_t)plan->most * sizeof *plan->workers);
    if (plan->workers && thrum__life_init(&plan->life, workers, plan->most, workers) == 0 &&
        make_fresh(ex, plan, workers - atomic_load_explicit(&d->count, memory_order_relaxed)))
        return 0;
    free_list(plan->fresh);
    thrum__life_fini(&plan->life);
    thrum__free(plan->workers);
    return thrum__fault(THRUM_ENOMEM, "thrum_executor_resize: no memory for %d workers; there are %d as before",
                        workers, ex->workers);
}

/* ---- Laying out -------------------------------------------------------------------------------------------------- */

/* What it counted is counted by the executor from now on (thrum__count_start). */
static void retire(thrum_executor *ex, worker *w)
{
    atomic_fetch_add_explicit(&ex->started, atomic_exchange_explicit(&w->started, 0, memory_order_relaxed),
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&ex->ended, atomic_exchange_explicit(&w->ended, 0, memory_order_relaxed),
                              memory_order_relaxed);
    if (w->kept_run) {
        thrum__run_recycle(NULL, ex, w->kept_run);
        w->kept_run = NULL;
    }
    if (!ex->trace) {
        thrum__worker_free(w);
        return;
    }
    w->outer = ex->retired;
    ex->retired = w;
}

static worker *take_first(worker **list)
{
    worker *w = *list;
    if (w)
        *list = w->outer;
    return w;
}

static void add(domain *d, worker *w, enum worker_kind kind)
{
    w->outer = NULL;
    atomic_store_explicit(&w->sleep_parker.token, 0, memory_order_relaxed);
    thrum__worker_add(d, w, kind);
}

static void take_over(thrum_executor *ex, worker *w, const struct plan *plan)
{
    domain *d = &ex->cpu;
    int count = atomic_load_explicit(&d->count, memory_order_relaxed);
    if (count < plan->own)
        add(d, w, WORKER_OWN);
    else if (count < plan->own + THRUM__GUESTS_MOST)
        add(d, w, WORKER_GUEST);
    else
        retire(ex, w);
}

static void set_workers(thrum_executor *ex, int workers)
{
    ex->workers = ex->workers_in[0] = ex->cpu.own = workers;
    atomic_store_explicit(&ex->cpu.stop, 0, memory_order_relaxed);
    thrum__set_pace(ex); /* as when it was made: it cannot fail now */
}

static void lay_out(thrum_executor *ex, struct plan *plan)
{
    domain *d = &ex->cpu;
    worker **old = d->workers;
    int count = atomic_load_explicit(&d->count, memory_order_relaxed);
    thrum__life_fini(&d->life);
    d->life = plan->life;
    atomic_store_explicit(&d->offered, 0, memory_order_relaxed);
    atomic_store_explicit(&d->leased.to, NULL, memory_order_relaxed); /* without streams none is granted */
    d->workers = plan->workers;
    d->most = plan->most;
    d->spares = 0;
    atomic_store_explicit(&d->count, 0, memory_order_relaxed);
    atomic_store_explicit(&ex->last_guest, NULL, memory_order_relaxed);
    worker *put_away = ex->retired, *w;
    ex->retired = NULL;
    for (int i = 0; i < count; i++)
        take_over(ex, old[i], plan);
    while ((w = take_first(&put_away)) || (w = take_first(&plan->fresh)))
        take_over(ex, w, plan);
    thrum__free(old);
    set_workers(ex, plan->own);
    thrum__domains_number(ex);
    thrum__domain_lay_to_sleep(d);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* The same lists for fewer workers of the executor's own: the others are guests. */
static void make_do_with(thrum_executor *ex, int workers)
{
    domain *d = &ex->cpu;
    for (int i = 0; i < atomic_load_explicit(&d->count, memory_order_relaxed); i++) {
        d->workers[i]->kind = i < workers ? WORKER_OWN : WORKER_GUEST;
        atomic_store_explicit(&d->workers[i]->asleep, false, memory_order_relaxed);
        atomic_store_explicit(&d->workers[i]->sleep_parker.token, 0, memory_order_relaxed);
    }
    if (workers == 0) {
        ex->threadless = ex->callers_help = true;
        d->spares_most = 0;
    }
    thrum__life_reset(&d->life, workers ? workers : THRUM__LIFE_MOST, workers);
    atomic_store_explicit(&d->offered, 0, memory_order_relaxed);
    set_workers(ex, workers);
    thrum__domain_lay_to_sleep(d);
}

static int start(thrum_executor *ex, int asked)
{
    domain *d = &ex->cpu;
    int refused = 0, err, started;
    while ((started = thrum__threads_start(d, &err)), err) {
        refused = err;
        thrum__threads_stop(d, started);
        make_do_with(ex, started);
    }
    if (!refused)
        return 0;
    return thrum__fault(THRUM_ESYSTEM, "thrum_executor_resize: the system gives no thread for worker %d of %d: %s; %s",
                        started, asked, strerror(refused),
                        started ? "the executor goes on with fewer" : "the executor goes on without threads");
}

/* ---- The call ---------------------------------------------------------------------------------------------------- */

static bool others_sleep(thrum_executor *ex)
{
    int64_t until = thrum__now() + REST_NS;
    for (int number = 1; number < ex->domains; number++)
        while (thrum__life_look(&thrum__domain(ex, number)->life).awake > 0) {
            if (thrum__now() > until)
                return false;
            sched_yield();
        }
    return true;
}

static int resize_at_rest(thrum_executor *ex, int workers)
{
    struct plan plan;
    if (!thrum__executor_comes_to_rest(ex, REST_NS) || !others_sleep(ex))
        return thrum__fault(THRUM_EBUSY, "thrum_executor_resize: something runs on the executor; wait for it to end");
    if (thrum__has_streams(ex) || ex->space.places)
        return thrum__fault(THRUM_EBUSY, "thrum_executor_resize: the executor has %s",
                            ex->space.places ? "a policy or devices, which count its workers"
                                             : "flows; free them first");
    if (workers == ex->workers)
        return 0;
    int err = prepare(ex, &plan, workers);
    if (err)
        return err;
    thrum__threads_stop(&ex->cpu, ex->cpu.own);
    /* A thread that added to the queue may not have given the lock back yet. */
    thrum__lock_take(&ex->cpu.lock);
    thrum__lock_give(&ex->cpu.lock);
    lay_out(ex, &plan);
    return start(ex, workers);
}

int thrum_executor_resize(thrum_executor *ex, int workers)
{
    ex = thrum__executor_or_default(ex);
    int err = ex ? thrum__executor_usable(ex, "thrum_executor_resize") : thrum__last_code();
    if (err)
        return err;
    if (workers < 1 || workers > WORKERS_MOST)
        return thrum__fault(THRUM_EINVAL, "thrum_executor_resize: workers is %d, but it must be from 1 to %d", workers,
                            WORKERS_MOST);
    if (thrum__works_for(ex))
        return thrum__fault(THRUM_EBUSY, "thrum_executor_resize: a task cannot change the executor that runs it");
    if (ex->threadless)
        return thrum__fault(THRUM_EINVAL, "thrum_executor_resize: the executor has no threads, so there is no number "
                                          "of workers to change");
    if (atomic_exchange_explicit(&ex->resizing, true, memory_order_acquire))
        return thrum__fault(THRUM_EBUSY, "thrum_executor_resize: another thread is changing the executor");
    err = resize_at_rest(ex, workers);
    atomic_store_explicit(&ex->resizing, false, memory_order_release);
    return err;
}
