/* SPDX-License-Identifier: MIT
 *
 * The post: where tasks wait that are not simply run by the worker that made them ready.
 *
 * Most tasks go into the deque of the worker that made them ready. Special ones (model/terms.h) may have to run
 * elsewhere, sooner or later than others, and tasks whose events have been released come from threads that are no
 * workers. Those are *posted*: into one of three lists of a domain, by priority, or into the list of the worker that
 * they are pinned to.
 *
 * Roles
 *   Anybody posts: a worker that made the task ready, one that took it up and may not run it, whoever releases the last
 *   of a task's events. Workers of the domain take posts when they look for work (thrum__find), urgent ones of the run
 *   that they are in also between its tasks (run.c); threads that wait for the run take posts of it.
 *
 * Invariants
 *   1. A post keeps a strand in its run, which passes to whoever takes it. So a run does not end while something of it
 *      is posted, and its fields may be read by whoever holds the lock under which the post is in a list.
 *   2. A post is in one list at a time. It is part of the task's terms or of what holds its events, so posting needs no
 *      memory. In a loop a task may become ready again while it is posted. That is counted in its state, and whoever
 *      takes the post sends it again.
 *   3. Posts of a run that are to be taken in an order (streams: stream.c) are in a heap of the run. While there are
 *      some the run's stand-in, a post without a task, is in the list of those without priority, in their place.
 *      Whoever comes to it takes the first of the heap, and the stand-in goes behind all others.
 *   4. A worker of another domain than the first has only tasks in hand that are pinned to its domain. What comes
 *      behind such a task is special, for freezing has seen to it, and is sent home if it is not of the same domain.
 *
 * Orders: lists change under the domain's lock. The counts are read without it; raising `waiting` is sequentially
 * consistent, as is the change of the life cycle's word by whoever goes to sleep: either the sleeper sees the post or
 * the poster the sleeper (sched/life.h). That holds across domains too: the poster is then as a thread from outside
 * (tests/spin/domains.pml). For pinned tasks `asleep` and the worker's count are such a pair.
 */
#include "exec/exec_int.h"

#include "base/alloc.h"
#include "conc/pairing.h"
#include "sys/barrier.h"

#include <limits.h>

void thrum__keep_strand(worker *w, thrum__run *run)
{
    thrum__alone_share(w, run);
    atomic_fetch_add_explicit(&run->strands, 1, memory_order_relaxed);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

static void append_locked(post_list *list, thrum__post *post)
{
    post->next = NULL;
    if (list->first)
        list->last->next = post;
    else
        list->first = post;
    list->last = post;
    atomic_fetch_add_explicit(&list->count, 1, memory_order_seq_cst);
}

static void unlink_locked(post_list *list, thrum__post *before, thrum__post *post)
{
    if (before)
        before->next = post->next;
    else
        list->first = post->next;
    if (list->last == post)
        list->last = before;
    atomic_fetch_sub_explicit(&list->count, 1, memory_order_relaxed);
}

static void note_taken(const thrum__post *post)
{
    if (!post->completed && thrum__is_special(post->task))
        atomic_fetch_add_explicit(&thrum__terms_of(post->task)->state, THRUM__BACK - THRUM__AWAY, memory_order_relaxed);
}

/* Numbers wrap around: those that wait at the same time are near to each other. */
static bool is_sooner(const void *unused, const thrum__post *a, const thrum__post *b)
{
    (void)unused;
    return (int32_t)(a->order - b->order) < 0;
}

static thrum__post *child(const thrum__post *post)
{
    return post->child;
}

static void set_child(thrum__post *post, thrum__post *first)
{
    post->child = first;
}

THRUM__PAIRING(ready, thrum__post, next, child, set_child, const void *, is_sooner)

static void add_locked(post_list *list, thrum__post *post)
{
    thrum__run *run = post->run;
    if (!post->in_order) {
        append_locked(list, post);
        return;
    }
    if (!run->ready) {
        run->stand_in = (thrum__post){.run = run};
        append_locked(list, &run->stand_in);
    }
    run->ready = ready_add(NULL, run->ready, post);
}

static bool is_stand_in(const thrum__post *post)
{
    return !post->task;
}

static thrum__post *take_in_order_locked(post_list *list, thrum__post *before, thrum__post *stand_in)
{
    thrum__run *run = stand_in->run;
    thrum__post *first = run->ready;
    run->ready = ready_rest(NULL, first);
    unlink_locked(list, before, stand_in);
    if (run->ready)
        append_locked(list, stand_in);
    return first;
}

/* The oldest that is part of what is awaited, or is a task of the run that is to begin, if one is given. */
static thrum__post *take_locked(post_list *list, const thrum__run *run, const thrum_handle *awaited)
{
    thrum__post *before = NULL, *post = list->first;
    while (post &&
           ((run && (post->run != run || post->completed)) || (awaited && !thrum__is_part_of(post->run, awaited)))) {
        before = post;
        post = post->next;
    }
    if (!post)
        return NULL;
    if (is_stand_in(post))
        return take_in_order_locked(list, before, post);
    unlink_locked(list, before, post);
    note_taken(post);
    return post;
}

static bool is_empty(const post_list *list)
{
    return atomic_load_explicit(&list->count, memory_order_relaxed) == 0;
}

/* ---- Posting ----------------------------------------------------------------------------------------------------- */

/* Where there are no threads, whoever sleeps in a wait for it must do it: that one's address is read before, for the
 * run may end at any moment. */
void thrum__post_put(domain *d, enum post_level level, thrum__post *post)
{
    _Atomic uint32_t *state = d->workers[0]->ex->threadless ? &thrum__outermost_handle(post->run)->state : NULL;
    thrum__lock_take(&d->lock);
    add_locked(&d->posts[level], post);
    atomic_fetch_add_explicit(&d->waiting, 1, memory_order_seq_cst);
    worker *sleeper = thrum__wake_later_locked(d);
    thrum__lock_give(&d->lock);
    if (sleeper)
        thrum__wake_sleeper(sleeper);
    if (state)
        thrum__futex_wake(state, INT_MAX);
}

/* Takes this very worker off the sleepers' stack. Those above it are put back, on their behalf and with what sleeping
 * asks for: whoever pushed meanwhile counted on their searching. False: it does not sleep (any more). */
static bool take_off_stack(domain *d, const worker *target)
{
    int above[64], count = 0, sleeper = -1;
    while (count < 64 && (sleeper = thrum__life_wake_any(&d->life)) >= 0 && sleeper != target->index)
        above[count++] = sleeper;
    bool found = sleeper == target->index;
    bool deep = count == 64 && !found;
    while (count > 0) {
        int other = above[--count];
        if (deep) /* more than can be kept in mind: they wake, look and sleep again */
            thrum__wake_sleeper(d->workers[other]);
        else
            thrum__life_sleep(&d->life, other);
    }
    if (deep)
        return take_off_stack(d, target);
    thrum__barrier_heavy();
    if (thrum__work_visible(d))
        thrum__wake_one(d);
    return found;
}

/* Under the domain's lock: the executor stays, and one at a time handles the stack. Where there is one place, it must
 * be free: whoever leaves it comes by here (thrum__step_aside and sleeping). */
static void wake_target_locked(domain *d, worker *target)
{
    if (!atomic_load_explicit(&target->asleep, memory_order_seq_cst))
        return;
    if (d->life.limit == 1 && thrum__life_look(&d->life).awake > 0)
        return;
    if (take_off_stack(d, target))
        thrum__wake_sleeper(target);
}

void thrum__wake_pinned(domain *d)
{
    if (atomic_load_explicit(&d->pinned, memory_order_seq_cst) == 0)
        return;
    thrum__lock_take(&d->lock);
    for (int i = 0; i < d->own; i++)
        if (!is_empty(&d->workers[i]->posts))
            wake_target_locked(d, d->workers[i]);
    thrum__lock_give(&d->lock);
}

/* The worker may sleep in a wait for this very run: then it is the one that waits, and must come. The bit is for the
 * moment between its last look and its sleep (sleep_on in handle.c). Under the lock, without which the post cannot be
 * taken: so the handle is there. */
static void poke_waiter_locked(const thrum__post *post)
{
    thrum_handle *awaited = thrum__outermost_handle(post->run);
    atomic_fetch_or_explicit(&awaited->state, POKED, memory_order_release);
    thrum__futex_wake(&awaited->state, INT_MAX);
}

static void post_to_worker(worker *target, thrum__post *post)
{
    domain *d = target->domain;
    thrum__lock_take(&d->lock);
    append_locked(&target->posts, post);
    atomic_fetch_add_explicit(&d->pinned, 1, memory_order_seq_cst);
    wake_target_locked(d, target);
    if (!atomic_load_explicit(&target->asleep, memory_order_relaxed))
        poke_waiter_locked(post);
    if (atomic_load_explicit(&target->rests, memory_order_seq_cst))
        thrum__seat_ring(&d->seat);
    thrum__lock_give(&d->lock);
}

void thrum__post_to(domain *d, int number, thrum__post *post)
{
    post_to_worker(d->workers[number], post);
}

/* ---- Taking ------------------------------------------------------------------------------------------------------ */

static bool report(thrum__post *post, found *f)
{
    if (!post)
        return false;
    *f = (found){.kind = post->completed ? FOUND_COMPLETED : FOUND_TASK,
                 .run = post->run,
                 .task = post->task,
                 .handle = post->module};
    if (post->owned)
        thrum__free(post);
    return true;
}

bool thrum__has_own_posts(worker *w, const thrum_handle *awaited)
{
    if (is_empty(&w->posts))
        return false;
    thrum__lock_take(&w->domain->lock);
    const thrum__post *post = w->posts.first;
    while (post && !thrum__is_part_of(post->run, awaited))
        post = post->next;
    thrum__lock_give(&w->domain->lock);
    return post != NULL;
}

bool thrum__post_take_own(worker *w, const thrum_handle *awaited, found *f)
{
    domain *d = w->domain;
    if (is_empty(&w->posts))
        return false;
    thrum__lock_take(&d->lock);
    thrum__post *post = take_locked(&w->posts, NULL, awaited);
    if (post)
        atomic_fetch_sub_explicit(&d->pinned, 1, memory_order_relaxed);
    bool any = report(post, f);
    thrum__lock_give(&d->lock);
    return any;
}

bool thrum__post_take(domain *d, enum post_level level, const thrum_handle *awaited, found *f)
{
    if (is_empty(&d->posts[level]))
        return false;
    thrum__lock_take(&d->lock);
    thrum__post *post = take_locked(&d->posts[level], NULL, awaited);
    if (post)
        atomic_fetch_sub_explicit(&d->waiting, 1, memory_order_relaxed);
    bool any = report(post, f);
    thrum__lock_give(&d->lock);
    return any;
}

/* The post's strand is not needed any more: the caller has its own. */
thrum_task *thrum__post_take_some_urgent(worker *w, thrum__run *run)
{
    domain *d = w->domain;
    thrum__lock_take(&d->lock);
    const thrum__post *post = take_locked(&d->posts[POST_HIGH], run, NULL);
    if (post) {
        atomic_fetch_sub_explicit(&d->waiting, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&run->strands, 1, memory_order_relaxed);
    }
    thrum__lock_give(&d->lock);
    return post ? post->task : NULL;
}

/* ---- Where a task belongs ---------------------------------------------------------------------------------------- */

int thrum__priority_of(const thrum_task *task)
{
    return thrum__is_special(task) ? thrum__terms_of(task)->priority : THRUM_NORMAL;
}

static bool fits(const worker *w, const thrum__terms *terms)
{
    return w->domain == thrum__domain(w->ex, terms->domain) &&
           (terms->worker < 0 || (w->kind == WORKER_OWN && w->index == terms->worker));
}

static enum post_level level_of(const thrum__terms *terms)
{
    return terms->priority > 0 ? POST_HIGH : terms->priority < 0 ? POST_LOW : POST_NORMAL;
}

/* The task is going to wait. False: it does so already, and has been counted once more. Release, with the acquire in
 * stop_waiting: what made it ready happens before it runs once more. */
static bool begin_waiting(thrum__terms *terms)
{
    uint32_t seen = atomic_load_explicit(&terms->state, memory_order_relaxed), next;
    bool away;
    do {
        away = (seen & THRUM__POST_STATE) == THRUM__AWAY;
        next = away ? seen + THRUM__ONCE_MORE : (seen & ~(uint32_t)THRUM__POST_STATE) | THRUM__AWAY;
    } while (
        !atomic_compare_exchange_weak_explicit(&terms->state, &seen, next, memory_order_acq_rel, memory_order_relaxed));
    return !away;
}

/* It is about to begin. True: it is to be sent once more, which its state says already. */
static bool stop_waiting(thrum__terms *terms)
{
    uint32_t seen = atomic_load_explicit(&terms->state, memory_order_relaxed), next;
    do {
        if ((seen & THRUM__POST_STATE) == THRUM__AWAY)
            return false;
        next = seen < THRUM__ONCE_MORE ? THRUM__NOT_POSTED
                                       : ((seen - THRUM__ONCE_MORE) & ~(uint32_t)THRUM__POST_STATE) | THRUM__AWAY;
    } while (
        !atomic_compare_exchange_weak_explicit(&terms->state, &seen, next, memory_order_acq_rel, memory_order_relaxed));
    return next != THRUM__NOT_POSTED;
}

static void keep(worker *w, thrum__run *run, thrum__terms *terms)
{
    thrum__keep_strand(w, run);
    terms->post.run = run;
}

bool thrum__begin_waiting(worker *w, thrum__run *run, thrum_task *task)
{
    thrum__terms *terms = thrum__terms_of(task);
    bool begins = begin_waiting(terms);
    if (begins)
        keep(w, run, terms);
    return begins;
}

static void route(thrum__post *post, enum post_level level)
{
    const thrum__terms *terms = thrum__terms_of(post->task);
    domain *d = thrum__domain(((thrum__run *)post->run)->handle->ex, terms->domain);
    if (terms->worker >= 0)
        post_to_worker(d->workers[terms->worker], post);
    else
        thrum__post_put(d, level, post);
}

void thrum__send(worker *w, thrum__run *run, thrum_task *task)
{
    thrum__terms *terms = thrum__terms_of(task);
    if (thrum__begin_waiting(w, run, task))
        route(&terms->post, level_of(terms));
}

/* Others may wait for what it holds: it is not to wait long, even if it is not urgent itself. */
void thrum__post_woken(thrum__post *post)
{
    route(post, thrum__terms_of(post->task)->priority > 0 ? POST_HIGH : POST_NORMAL);
}

bool thrum__take_woken(const worker *w, thrum__run *run, const thrum__post *post)
{
    if (!fits(w, thrum__terms_of(post->task)))
        return false;
    thrum__end_waiting(run, post);
    return true;
}

/* The post's strand is not needed any more: the caller has its own. */
void thrum__end_waiting(thrum__run *run, const thrum__post *post)
{
    note_taken(post);
    atomic_fetch_sub_explicit(&run->strands, 1, memory_order_relaxed);
}

/* Low ones wait until nothing else is found. */
static bool must_wait(const worker *w, const thrum__terms *terms)
{
    bool back = (atomic_load_explicit(&terms->state, memory_order_relaxed) & THRUM__POST_STATE) == THRUM__BACK;
    return !fits(w, terms) || (terms->priority < 0 && terms->worker < 0 && !back);
}

bool thrum__may_stay(worker *w, thrum__run *run, thrum_task *task)
{
    if (!thrum__is_special(task) || !must_wait(w, thrum__terms_of(task)))
        return true;
    thrum__send(w, run, task);
    return false;
}

bool thrum__admit(worker *w, thrum__run *run, thrum_task *task)
{
    thrum__terms *terms = thrum__terms_of(task);
    if (!thrum__may_stay(w, run, task))
        return false;
    if (terms->acquire_count && !thrum__tokens_acquire(w, run, task))
        return false;
    if (stop_waiting(terms)) {
        keep(w, run, terms);
        route(&terms->post, level_of(terms));
    }
    return true;
}

void thrum__skip(const thrum_task *task)
{
    thrum__tokens_skip(task);
    _Atomic uint32_t *state = &thrum__terms_of(task)->state;
    uint32_t seen = atomic_load_explicit(state, memory_order_relaxed);
    while ((seen & THRUM__POST_STATE) == THRUM__BACK &&
           !atomic_compare_exchange_weak_explicit(state, &seen, THRUM__NOT_POSTED, memory_order_relaxed,
                                                  memory_order_relaxed))
        ;
}
