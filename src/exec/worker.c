/* SPDX-License-Identifier: MIT
 *
 * Finding work, sleeping, and the life of a thread. The protocol of sleeping and waking is explained in sched/life.h.
 */
#include "exec/exec_int.h"

#include "base/random.h"
#include "sys/barrier.h"
#include "sys/clock.h"

#include <sched.h>

_Thread_local worker *thrum__self;

/* ---- Finding ----------------------------------------------------------------------------------------------------- */

/* The oldest task in the victim's deque, with a strand in its run; of `only` that run if it is not NULL.
 *
 * The word that peek shows may be anything that was ever in that slot, if the owner and other thieves have moved on:
 * then the take fails. Until then only the run is touched, which is not freed before the executor. When the take fails
 * the thief may hold the last strand of a run, so ending it properly is work like any other: it is reported as
 * found. */
bool thrum__steal_task(worker *victim, const thrum__run *only, found *f)
{
    int64_t number;
    uintptr_t word = thrum__deque_peek(&victim->deque, &number);
    if (!word)
        return false;
    thrum__run *run = atomic_load_explicit(&victim->ex->runs[word >> RUN_SHIFT], memory_order_acquire);
    if (!run || (only && run != only) || !thrum__run_raise(run))
        return false;
    if (thrum__deque_take(&victim->deque, number))
        *f = (found){.kind = FOUND_TASK, .run = run, .task = (thrum_task *)(word & TASK_MASK), .victim = victim};
    else
        *f = (found){.kind = FOUND_RUN, .run = run};
    return true;
}

/* From the deques, tasks of `only`; with NULL, any task, spawned ones too. */
bool thrum__find_in(worker *w, const thrum__run *only, found *f)
{
    domain *d = w->domain;
    int count = atomic_load_explicit(&d->count, memory_order_acquire);
    int at = (int)(thrum__random(&w->random) % (uint32_t)count);
    bool success = false;
    uint64_t wasted = 0;
    for (int i = 0; i < count && !success; i++, at = at + 1 == count ? 0 : at + 1) {
        worker *victim = d->workers[at];
        if (victim == w)
            continue;
        success = thrum__steal_task(victim, only, f) || (!only && thrum__spawn_steal(w, victim, NULL, f));
        wasted += !success;
    }
    thrum__count_owner(&w->tally.wasted, wasted);
    if (success)
        thrum__count_owner(&w->tally.steals, 1);
    return success;
}

static bool find_function(domain *d, found *f)
{
    thrum_handle *handle = thrum__queue_take(d, NULL);
    *f = (found){.kind = FOUND_FUNCTION, .handle = handle};
    return handle != NULL;
}

bool thrum__find(worker *w, found *f)
{
    domain *d = w->domain;
    thrum__sources_poll(w->ex);
    if (thrum__post_take_own(w, NULL, f))
        return true;
    if (atomic_load_explicit(&d->waiting, memory_order_relaxed) > 0 &&
        (thrum__post_take(d, POST_HIGH, NULL, f) || find_function(d, f) || thrum__run_join_open(d, NULL, f) ||
         thrum__post_take(d, POST_NORMAL, NULL, f)))
        return true;
    return thrum__find_in(w, NULL, f) || thrum__post_take(d, POST_LOW, NULL, f);
}

/* Inside of other work, where the stack has come to its end: what was found is cancelled, and taking part in it calls
 * nobody any more. */
static void fail_if_too_deep(worker *w, const found *f)
{
    if (__builtin_expect(!w->root || !thrum__stack_spent(w), 1))
        return;
    if (f->run)
        thrum__fails_too_deep(w, f->run->root);
    if (f->handle)
        thrum__fails_too_deep(w, f->handle->root);
}

void thrum__perform(worker *w, const found *f)
{
    fail_if_too_deep(w, f);
    switch (f->kind) {
    case FOUND_WHOLE_RUN:
        thrum__run_whole(w, f->run);
        break;
    case FOUND_RUN:
        thrum__run_work(w, f->run, NULL);
        break;
    case FOUND_TASK:
        w->victim = f->victim;
        thrum__run_work(w, f->run, f->task);
        break;
    case FOUND_COMPLETED:
        thrum__run_work_behind(w, f->run, f->task, f->handle);
        break;
    case FOUND_FUNCTION:
        thrum__handle_run(w, f->handle);
        break;
    case FOUND_SPAWN:
        thrum__spawn_run(w, f);
        break;
    case FOUND_NOTHING:
        break;
    }
}

bool thrum__work_visible(const domain *d)
{
    if (atomic_load_explicit(&d->waiting, memory_order_seq_cst) > 0)
        return true;
    const thrum_executor *ex = d->workers[0]->ex;
    if (d == &ex->cpu && thrum__sources_unwatched(ex))
        return true;
    int count = atomic_load_explicit(&d->count, memory_order_acquire);
    for (int i = 0; i < count; i++)
        if (thrum__deque_has_words(&d->workers[i]->deque) || thrum__spawn_visible(d->workers[i]) ||
            thrum__door_hides(d->workers[i]))
            return true;
    return false;
}

/* ---- Lending places ---------------------------------------------------------------------------------------------- */

enum { LOOKS_PER_CLOCK = 4, PAUSES_PER_LOOK = 2, NAP_NS = 50000, ASKING_NS = 10000 };
enum { LONG_NAP_NS = 1000000 }; /* where others want the core: who wakes takes it from somebody */
enum { LONE_NAP_NS = 400000 }; /* where there is one place, which others have: there is nothing to do until they stop */

static void wake_napper(domain *d)
{
    atomic_fetch_add_explicit(&d->published, 1, memory_order_relaxed);
    thrum__futex_wake(&d->published, 1);
}

/* A worker that naps counts as searching, and has a place that it does not need just then; so has one that has been
 * woken, or lets others have its core, which may be for long. They offer it; where there is no other place, a guest may
 * borrow it. So whoever inserts small tasks can run them though the only other worker, which is there in case that it
 * stops doing so, is awake. `offered` counts such places, which are all alike: one that naps has a place again when it
 * has lowered it, and naps on while others have them all.
 *
 * The life cycle knows nothing of it: somebody searches, so nobody is woken for what is pushed meanwhile; and when its
 * nap is over that one looks as ever, before it sleeps. What has been put into queues meanwhile is looked at when the
 * place is given back. Acquire and release: where there is one place, what one has done there happens before what the
 * next one does. */
static void offer_place(domain *d)
{
    atomic_fetch_add_explicit(&d->offered, 1, memory_order_release);
}

static bool take_offered(domain *d)
{
    uint32_t offered = atomic_load_explicit(&d->offered, memory_order_relaxed);
    while (offered > 0)
        if (atomic_compare_exchange_weak_explicit(&d->offered, &offered, offered - 1, memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    return false;
}

bool thrum__borrow_place(domain *d)
{
    if (!take_offered(d))
        return false;
    if (thrum__place_is_own(d))
        return true;
    offer_place(d);
    return false;
}

/* Or somebody wants the place itself. */
static bool napper_is_wanted(const domain *d)
{
    return atomic_load_explicit(&d->placeless, memory_order_relaxed) ||
           atomic_load_explicit(&d->waiting, memory_order_relaxed) ||
           atomic_load_explicit(&d->pinned, memory_order_relaxed) ||
           atomic_load_explicit(&d->returning, memory_order_relaxed);
}

void thrum__give_place_back(domain *d)
{
    offer_place(d);
    if (napper_is_wanted(d))
        wake_napper(d);
}

/* Less and less often: whoever has it may be at a long task. */
static void await_place(domain *d, int64_t ns)
{
    for (; !thrum__borrow_place(d); ns = 2 * ns < LONG_NAP_NS ? 2 * ns : LONG_NAP_NS)
        thrum__futex_wait(&d->published, atomic_load_explicit(&d->published, memory_order_relaxed), ns);
}

/* Whoever gives one back looks at `placeless`, and so this one seldom waits for longer than need be. */
static void take_place_back(domain *d)
{
    if (thrum__borrow_place(d))
        return;
    atomic_fetch_add_explicit(&d->placeless, 1, memory_order_seq_cst);
    await_place(d, NAP_NS);
    atomic_fetch_sub_explicit(&d->placeless, 1, memory_order_relaxed);
}

/* Whoever gets the core may keep it for some milliseconds. */
static void yield(domain *d)
{
    offer_place(d);
    sched_yield();
    take_place_back(d);
}

/* ---- Leasing the only place -------------------------------------------------------------------------------------- */

/* Where there is one place, whoever inserts jobs and runs each at once (stream.c) takes it and gives it back for every
 * one. To spare that it leaves it with a *lease* (sys/lease.h), one for each feeder. To the life cycle the place is
 * free then, also while the lessee is inside: so whoever else gets it there, or one that is offered, has to end the
 * lease, and to wait, or to give up, while the lessee is inside.
 *
 * Why nobody is left alone: whoever pushes or posts work sees the place free, and wakes a sleeper as ever, which ends
 * the lease as soon as the lessee has left; that one knows, since it looks whether the lease is still granted, and
 * those who wait do not sleep for long. Only the lessee itself wakes nobody for what it pushes (thrum__wake), for it
 * runs that before it leaves; if it parks in the middle it looks as anybody does who leaves a place. What there was
 * before the lease has been looked at by the lessee itself, which had the place in the usual way then and left it so.
 * And nobody parks, or falls asleep, under a lease: who does had the place, and so there was none. */
void thrum__lease_left(domain *d)
{
    if (napper_is_wanted(d))
        wake_napper(d);
}

static void pause_for_place(int tries)
{
    if (tries < 100)
        sched_yield();
    else
        thrum__sleep_ns(50000);
}

void thrum__await_lessee(domain *d)
{
    for (int tries = 0; !thrum__place_is_own(d); tries++)
        pause_for_place(tries);
}

/* In the middle of a task. */
static void leave_leased_place(worker *w)
{
    domain *d = w->domain;
    bool granted = thrum__lease_leave(w->leases);
    w->leases = NULL;
    if (!granted)
        thrum__lease_left(d);
    thrum__wake_pinned(d);
    thrum__life_view view = thrum__life_look(&d->life);
    if (view.top < 0 && view.awake < d->life.limit)
        thrum__spare_start(d);
    else if (thrum__work_visible(d))
        thrum__wake_one(d);
}

/* ---- Sleeping and waking ----------------------------------------------------------------------------------------- */

worker *thrum__wake_later_locked(domain *d)
{
    int sleeper = thrum__life_wake(&d->life);
    if (sleeper < 0 && atomic_load_explicit(&d->napping, memory_order_seq_cst) > 0)
        wake_napper(d);
    return sleeper < 0 ? NULL : d->workers[sleeper];
}

/* Until it is unparked the sleeper is there, and with it the executor. */
void thrum__wake_sleeper(worker *sleeper)
{
    if (atomic_load_explicit(&sleeper->watches, memory_order_relaxed))
        thrum__sources_call(sleeper);
    offer_place(sleeper->domain);
    thrum__core_wake(sleeper);
    thrum__unpark(&sleeper->sleep_parker);
}

void thrum__wake_one(domain *d)
{
    int sleeper = thrum__life_wake(&d->life);
    if (sleeper >= 0)
        thrum__wake_sleeper(d->workers[sleeper]);
}

/* The worker's place can be taken by another: somebody who sleeps is woken if there is work, and where nobody is left
 * to sleep a spare thread starts. The barrier is for workers that pushed while all places were taken, and so woke
 * nobody. */
void thrum__step_aside(worker *w)
{
    domain *d = w->domain;
    thrum__core_leave(w);
    if (w->root)
        thrum__door_show_all(w); /* in the middle of a task; outside of one a worker has nothing */
    if (w->borrows) {
        w->borrows = false;
        thrum__give_place_back(d);
        return;
    }
    if (w->leases)
        leave_leased_place(w);
    else
        thrum__leave_place(d);
}

void thrum__leave_place(domain *d)
{
    thrum__life_view view = thrum__life_leave(&d->life);
    if (d->life.limit == 1)
        thrum__wake_pinned(d);
    /* Nobody asleep and too few awake: some are parked. A guest must look too: they may have parked while it was
     * here. */
    if (view.top < 0 && view.awake < d->life.limit && !d->workers[0]->ex->threadless) {
        thrum__spare_start(d);
        return;
    }
    /* If there was a free place before, nobody who pushed found them all taken since whoever made it free looked. */
    if (!view.wake_wanted || view.awake + 1 < d->life.limit)
        return;
    if (view.awake > 0)
        thrum__barrier_heavy();
    if (thrum__work_visible(d))
        thrum__wake_one(d);
}

/* Beyond the limit if need be: the surplus goes to sleep when it next finds nothing (search). But in a domain for one
 * worker there is never a second one (users are promised that): whoever comes waits until the one who is there has
 * finished what it was doing. That one looks at `returning` and makes way. */
void thrum__enter_anyway(domain *d)
{
    if (d->life.limit > 1) {
        thrum__life_enter_anyway(&d->life);
        return;
    }
    atomic_fetch_add_explicit(&d->returning, 1, memory_order_seq_cst);
    for (int tries = 0; !thrum__life_enter(&d->life); tries++)
        pause_for_place(tries);
    thrum__await_lessee(d);
    atomic_fetch_sub_explicit(&d->returning, 1, memory_order_relaxed);
}

void thrum__step_back(worker *w)
{
    thrum__enter_anyway(w->domain);
    if (w->kind == WORKER_OWN)
        thrum__core_take(w);
}

static bool must_make_way(const domain *d)
{
    return atomic_load_explicit(&d->returning, memory_order_relaxed) != 0;
}

/* Until something is published, but not long; or as long as others have all places. */
static void nap(worker *w)
{
    domain *d = w->domain;
    thrum__count_owner(&w->tally.naps, 1);
    uint32_t published = atomic_load_explicit(&d->published, memory_order_relaxed);
    atomic_fetch_add_explicit(&d->napping, 1, memory_order_seq_cst);
    offer_place(d);
    int64_t ns = thrum__crowded(d) ? LONG_NAP_NS : d->life.limit == 1 ? LONE_NAP_NS : NAP_NS;
    if (atomic_load_explicit(&d->waiting, memory_order_seq_cst) == 0)
        thrum__futex_wait(&d->published, published, ns);
    await_place(d, ns);
    atomic_fetch_sub_explicit(&d->napping, 1, memory_order_relaxed);
}

/* Some looks at what is there for the taking, with more at what it may be handed. */
static bool look_around(worker *w, found *f)
{
    for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
        if (atomic_load_explicit(&w->domain->stop, memory_order_relaxed))
            return false;
        if (thrum__find(w, f)) {
            thrum__stand_down_busy(w);
            return true;
        }
        for (int pause = 0; pause < PAUSES_PER_LOOK; pause++) {
            if (thrum__handed(w, f))
                return true;
            thrum__relax();
        }
    }
    return false;
}

static bool must_stop_searching(const worker *w)
{
    const domain *d = w->domain;
    thrum__life_view view = thrum__life_look(&d->life);
    return view.searching > 1 + d->life.limit / 4 || view.awake > d->life.limit || must_make_way(d) ||
           atomic_load_explicit(&w->domain->stop, memory_order_relaxed);
}

/* Where more workers are awake than there are cores, there is nowhere to go. */
void thrum__leave_core(const worker *w)
{
    const domain *d = w->domain;
    if (!d->cores || thrum__life_look(&d->life).awake <= d->cores)
        thrum__change_cpu();
}

/* A worker that is woken, or whose nap has ended, may be put onto the core of the very worker that it is to watch, and
 * left there, though another core is idle: then each of its looks interrupts that one (docs/benchmarking.md). */
static void leave_watched_core(const worker *w)
{
    if (thrum__door_shares_core(w))
        thrum__leave_core(w);
}

/* Looks for work for a while; nobody looks long while too many others do. While there is only work that is better left
 * where it is, the worker naps between looks: it counts as searching, so that nobody is woken for it. It does not nap
 * where an answer is due: after a nap it may find that the one it asked has answered by taking its work for itself. But
 * whoever asks in vain again and again naps too. */
static bool search(worker *w, found *f)
{
    domain *d = w->domain;
    int64_t begin = 0, nothing_since = 0, awake_since = 0;
    for (;;) {
        if (look_around(w, f))
            return true;
        thrum__stand(w);
        if (must_stop_searching(w))
            return thrum__stand_down(w, f);
        int64_t now = thrum__now();
        if (!begin)
            begin = nothing_since = awake_since = now;
        enum look look = thrum__door_look(w, now);
        if (look == LOOK_SHOWN)
            continue;
        int64_t spin = thrum__spin_ns(d);
        if (look == LOOK_NOTHING && now - nothing_since >= spin)
            return thrum__stand_down(w, f);
        if (look != LOOK_NOTHING) {
            nothing_since = now;
            leave_watched_core(w);
        }
        bool may_nap = look == LOOK_WAIT || (look == LOOK_SOON && now - awake_since > ASKING_NS);
        if (may_nap && now - begin > spin) {
            if (thrum__stand_down(w, f))
                return true;
            nap(w);
            awake_since = thrum__now();
        }
        if (now - begin > THRUM__POLITE_NS)
            yield(d);
    }
}

void thrum__sleep_counted(worker *w)
{
    thrum__count_owner(&w->tally.sleeps, 1);
    thrum__park(&w->sleep_parker);
    thrum__core_woken(w);
    atomic_store_explicit(&w->asleep, false, memory_order_relaxed);
    take_place_back(w->domain);
    /* Release: whoever sees the waking sees the sleep. */
    atomic_store_explicit(&w->tally.wakes, atomic_load_explicit(&w->tally.wakes, memory_order_relaxed) + 1,
                          memory_order_release);
}

/* ---- Dozing ------------------------------------------------------------------------------------------------------ */

/* A run in line (line.c) is better left alone, and a short one is over before a worker that is woken for it has come;
 * and waking takes the beginner as long as a thousand small tasks do. But somebody has to look, or a task that waits
 * for one behind it would do so for ever. So where there are such runs one of those who go to sleep dozes at first:
 * while it does, whoever begins one wakes nobody. For the life cycle it sleeps, and for all other work it is woken like
 * the others. Every DOZE_NS it looks whether a worker is still at the run that it was at before, and if so wakes a
 * sleeper, perhaps itself, who does what a searching worker does about it (door.c). When nothing has begun for that
 * long it sleeps in earnest.
 *
 * Why nobody is left alone: the beginner makes its run known and then looks at `dozing`, with nothing but an order for
 * the compiler between; who ends dozing lowers it, passes the heavy barrier and looks for work. One of the two sees the
 * other. A dozer that is woken need not look just then: it searches, and looks before it sleeps again as everybody
 * does. tests/spin/doze.pml is a model of it. */
enum { DOZE_NS = 2000000 };

static bool begins_to_doze(domain *d)
{
    bool nobody = false;
    if (!atomic_load_explicit(&d->dozer_missed, memory_order_relaxed) ||
        !atomic_compare_exchange_strong_explicit(&d->dozing, &nobody, true, memory_order_acquire, memory_order_relaxed))
        return false;
    int count = atomic_load_explicit(&d->count, memory_order_acquire);
    for (int i = 0; i < count; i++)
        d->workers[i]->watched.dozed = atomic_load_explicit(&d->workers[i]->begun, memory_order_relaxed);
    return true;
}

/* Whether something has begun since it last looked, or is under way. */
static bool look_up(domain *d)
{
    int count = atomic_load_explicit(&d->count, memory_order_acquire);
    bool moves = false, stands = false;
    for (int i = 0; i < count; i++) {
        worker *w = d->workers[i];
        uint32_t begun = atomic_load_explicit(&w->begun, memory_order_relaxed);
        stands = stands || (begun == w->watched.dozed && thrum__door_hides(w));
        moves = moves || begun != w->watched.dozed;
        w->watched.dozed = begun;
    }
    if (stands)
        thrum__wake_one(d);
    return moves || stands;
}

static bool is_woken(const worker *w)
{
    return atomic_load_explicit(&w->sleep_parker.token, memory_order_relaxed) != 0;
}

static void doze(worker *w)
{
    domain *d = w->domain;
    bool goes_on = true;
    while (goes_on && !is_woken(w)) {
        thrum__futex_wait(&w->sleep_parker.token, 0, DOZE_NS);
        goes_on = !is_woken(w) && look_up(d);
    }
    atomic_store_explicit(&d->dozing, false, memory_order_release);
    if (is_woken(w))
        return;
    atomic_store_explicit(&d->dozer_missed, false, memory_order_relaxed);
    thrum__barrier_heavy();
    if (thrum__work_visible(d))
        thrum__wake_one(d);
}

/* ---- Going to sleep ---------------------------------------------------------------------------------------------- */

/* Between announcing and parking the worker looks a last time. If there is work it wakes a sleeper, perhaps itself: one
 * is enough, and it need not be this one. */
static void sleep_until_woken(worker *w)
{
    domain *d = w->domain;
    atomic_store_explicit(&w->asleep, true, memory_order_relaxed);
    bool watches = thrum__sources_claim(w);
    thrum__core_sleep(w);
    thrum__life_sleep(&d->life, w->index);
    thrum__barrier_heavy();
    if (thrum__work_visible(d))
        thrum__wake_one(d);
    thrum__wake_pinned(d);
    if (atomic_load_explicit(&w->domain->stop, memory_order_seq_cst)) {
        int sleeper = thrum__life_wake_any(&d->life);
        if (sleeper >= 0)
            thrum__wake_sleeper(d->workers[sleeper]);
    }
    if (watches)
        thrum__sources_watch(w);
    else if (begins_to_doze(d))
        doze(w);
    thrum__sleep_counted(w);
}

/* The worker is active from here until it finds nothing. The first look is made without being counted as searching: in
 * a busy run there is mostly something to find, and the shared word stays untouched. */
static void work_while_there_is_some(worker *w, found *f)
{
    domain *d = w->domain;
    thrum__life_view view;
    if (thrum__life_end_search(&d->life) && (view = thrum__life_look(&d->life)).wake_wanted) {
        /* Workers that pushed while this one was searching woke nobody: what they pushed must be seen here. Where no
         * other worker is awake there is none, and threads outside publish with a full barrier of their own. */
        if (view.awake > 1)
            thrum__barrier_heavy();
        if (thrum__work_visible(d))
            thrum__wake_one(d);
    }
    do {
        if (f->kind == FOUND_FUNCTION) {
            thrum__handle_call(w, f->handle);
            if (thrum__handle_ends_quietly(f->handle)) {
                /* Searching again before the waiter knows: what it submits next is handed over and wakes nobody. */
                thrum__life_start_search(&d->life);
                thrum__stand(w);
                thrum__handle_lower(f->handle);
                return;
            }
            thrum__handle_lower(f->handle);
        } else {
            thrum__perform(w, f);
        }
        if (__builtin_expect(w->lends || thrum__seat_is_asked(&d->seat), 0) && (w->lends || thrum__seat_lend(w)))
            thrum__seat_await(w);
    } while (!atomic_load_explicit(&w->domain->stop, memory_order_relaxed) && !must_make_way(d) && thrum__find(w, f));
    thrum__life_start_search(&d->life);
}

/* A worker comes here as searching, at its start and whenever it is woken. */
void thrum__live(worker *w)
{
    found f;
    while (!atomic_load_explicit(&w->domain->stop, memory_order_seq_cst)) {
        if (search(w, &f))
            work_while_there_is_some(w, &f);
        else if (!atomic_load_explicit(&w->domain->stop, memory_order_seq_cst))
            sleep_until_woken(w);
    }
    thrum__stand_down_busy(w); /* the domain may get other threads, one of which will stand there */
    thrum__core_leave(w);
    w->system_id = 0; /* another thread may be this worker later */
}
