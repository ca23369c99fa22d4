/* SPDX-License-Identifier: MIT
 *
 * Sources of events: places to look whether something has happened.
 *
 * Roles
 *   Workers poll between tasks and while they search, while events are held: whoever gets `polling` does. A worker that
 *   goes to sleep while events are held and nobody else does so is the *watcher*: it waits in a source instead of
 *   parking.
 *
 * Who wakes the watcher, which is on the sleepers' stack like any other, must get it out of the source: it says so in
 * `called`, calls the source's wake, and unparks it. The watcher leaves the source when it sees `called`, and parks
 * until the unparking, which is its leave to go on. It has said that it watches before it came onto the stack, so
 * whoever took it off knows.
 *
 * Events that are held and not watched count as work that somebody should be woken for (thrum__work_visible), so the
 * rules of sleeping and waking (sched/life.h) see to it that there is a watcher, or that all workers are awake.
 *
 * Removing a source waits until nobody is in it: it takes `polling`, calling wake until it has it.
 */
#include "exec/exec_int.h"

#include "base/alloc.h"
#include "sys/clock.h"

#include <sched.h>

struct thrum_source {
    thrum_source_config config;
    thrum_executor *ex;
    thrum_source *next;
    int err; /* with `polling` */
};

enum { POLL_AGAIN_NS = 10000, SHORT_NS = 1000000 };
static const int64_t long_ns = 1000000000;

static bool any_held(const thrum_executor *ex)
{
    return atomic_load_explicit(&ex->held, memory_order_seq_cst) > 0 &&
           atomic_load_explicit(&ex->source_count, memory_order_relaxed) > 0;
}

/* ---- Polling ----------------------------------------------------------------------------------------------------- */

static void note(thrum_source *source, int result)
{
    if (result < 0 && !source->err)
        source->err = result;
}

static void begin_polling(thrum_executor *ex)
{
    atomic_store_explicit(&ex->poller, &thrum__self, memory_order_relaxed);
}

static void end_polling(thrum_executor *ex)
{
    atomic_store_explicit(&ex->poller, NULL, memory_order_relaxed);
    thrum__lock_give(&ex->polling);
}

static void poll_all(thrum_executor *ex)
{
    for (thrum_source *source = ex->sources; source; source = source->next)
        if (!source->err)
            note(source, source->config.poll(source->config.ctx));
}

void thrum__sources_poll(thrum_executor *ex)
{
    if (atomic_load_explicit(&ex->held, memory_order_relaxed) == 0 || !any_held(ex))
        return;
    int64_t now = thrum__now(), last = atomic_load_explicit(&ex->last_poll, memory_order_relaxed);
    if (now - last < POLL_AGAIN_NS || !thrum__lock_try(&ex->polling))
        return;
    atomic_store_explicit(&ex->last_poll, now, memory_order_relaxed);
    begin_polling(ex);
    poll_all(ex);
    end_polling(ex);
}

/* ---- Watching ---------------------------------------------------------------------------------------------------- */

bool thrum__sources_unwatched(const thrum_executor *ex)
{
    return any_held(ex) && !atomic_load_explicit(&ex->watcher, memory_order_seq_cst);
}

bool thrum__sources_claim(worker *w)
{
    worker *nobody = NULL;
    if (!w->at_home || !any_held(w->ex) ||
        !atomic_compare_exchange_strong_explicit(&w->ex->watcher, &nobody, w, memory_order_seq_cst,
                                                 memory_order_relaxed))
        return false;
    atomic_store_explicit(&w->called, false, memory_order_relaxed);
    atomic_store_explicit(&w->watches, true, memory_order_relaxed); /* published by the change of the sleepers' stack */
    return true;
}

/* The first that can be waited in; a wait that nobody can end, or that leaves others unattended, is kept short. */
static thrum_source *choose(const thrum_executor *ex, int64_t *ns)
{
    thrum_source *source = ex->sources;
    while (source && source->err)
        source = source->next;
    *ns = source && source->config.wake && !ex->sources->next ? long_ns : SHORT_NS;
    return source;
}

/* False: there is nothing to wait for. */
static bool wait_once(thrum_executor *ex)
{
    while (atomic_load_explicit(&ex->changing, memory_order_relaxed))
        sched_yield(); /* somebody wants to add or remove a source */
    thrum__lock_take(&ex->polling);
    begin_polling(ex);
    int64_t ns;
    if (ex->sources && ex->sources->next)
        poll_all(ex);
    thrum_source *source = any_held(ex) ? choose(ex, &ns) : NULL;
    if (source)
        note(source, source->config.wait(source->config.ctx, ns));
    end_polling(ex);
    return source != NULL;
}

void thrum__sources_watch(worker *w)
{
    thrum_executor *ex = w->ex;
    while (!atomic_load_explicit(&w->called, memory_order_acquire) && wait_once(ex))
        ;
    thrum__lock_take(&ex->watch_lock);
    atomic_store_explicit(&w->watches, false, memory_order_relaxed);
    thrum__lock_give(&ex->watch_lock);
    atomic_store_explicit(&ex->watcher, NULL, memory_order_seq_cst);
}

void thrum__sources_call(worker *sleeper)
{
    thrum_executor *ex = sleeper->ex;
    thrum__lock_take(&ex->watch_lock);
    atomic_store_explicit(&sleeper->called, true, memory_order_release);
    if (atomic_load_explicit(&sleeper->watches, memory_order_relaxed))
        for (const thrum_source *source = ex->sources; source; source = source->next)
            if (source->config.wake)
                source->config.wake(source->config.ctx);
    thrum__lock_give(&ex->watch_lock);
}

/* ---- Adding and removing ----------------------------------------------------------------------------------------- */

static void wake_waits(thrum_executor *ex)
{
    thrum__lock_take(&ex->watch_lock);
    for (const thrum_source *source = ex->sources; source; source = source->next)
        if (source->config.wake)
            source->config.wake(source->config.ctx);
    thrum__lock_give(&ex->watch_lock);
}

/* With both locks. */
static void take_both(thrum_executor *ex)
{
    atomic_fetch_add_explicit(&ex->changing, 1, memory_order_relaxed);
    while (!thrum__lock_try(&ex->polling)) {
        wake_waits(ex);
        sched_yield();
    }
    thrum__lock_take(&ex->watch_lock);
}

static void give_both(thrum_executor *ex)
{
    thrum__lock_give(&ex->watch_lock);
    thrum__lock_give(&ex->polling);
    atomic_fetch_sub_explicit(&ex->changing, 1, memory_order_relaxed);
}

static bool is_poller(const thrum_executor *ex)
{
    return atomic_load_explicit(&ex->poller, memory_order_relaxed) == &thrum__self;
}

thrum_source *thrum_source_add(thrum_executor *ex, const thrum_source_config *config)
{
    if (!config || !config->poll || !config->wait) {
        thrum__fault(THRUM_EINVAL, "thrum_source_add: the %s is NULL",
                     !config         ? "configuration"
                     : !config->poll ? "poll function"
                                     : "wait function");
        return NULL;
    }
    ex = thrum__executor_or_default(ex);
    if (!ex || thrum__executor_usable(ex, "thrum_source_add"))
        return NULL;
    if (is_poller(ex)) {
        thrum__fault(THRUM_EDEADLOCK, "thrum_source_add: a source's function cannot add another one");
        return NULL;
    }
    thrum_source *source = thrum__alloc(sizeof *source);
    if (!source) {
        thrum__fault(THRUM_ENOMEM, "thrum_source_add: no memory");
        return NULL;
    }
    *source = (thrum_source){.config = *config, .ex = ex};
    take_both(ex);
    source->next = ex->sources;
    ex->sources = source;
    atomic_fetch_add_explicit(&ex->source_count, 1, memory_order_seq_cst);
    give_both(ex);
    /* Events may be held already, while everybody sleeps. */
    if (thrum__sources_unwatched(ex))
        thrum__wake_one(&ex->cpu);
    return source;
}

int thrum_source_remove(thrum_source *source)
{
    if (!source)
        return thrum__fault(THRUM_EINVAL, "thrum_source_remove: the source is NULL");
    thrum_executor *ex = source->ex;
    if (is_poller(ex))
        return thrum__fault(THRUM_EDEADLOCK, "thrum_source_remove: a source's function cannot remove a source");
    take_both(ex);
    thrum_source **at = &ex->sources;
    while (*at != source)
        at = &(*at)->next;
    *at = source->next;
    atomic_fetch_sub_explicit(&ex->source_count, 1, memory_order_seq_cst);
    give_both(ex);
    int err = source->err;
    thrum__free(source);
    return err ? thrum__fault(err, "thrum_source_remove: the source's functions returned %d", err) : 0;
}
