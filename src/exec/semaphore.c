/* SPDX-License-Identifier: MIT
 *
 * Semaphores: how tasks come to have tokens, wait for them, and give them back.
 *
 * Tokens are handed over. Whoever gives some back takes them again at once on behalf of the tasks that wait, as far as
 * they go, and sends those tasks on their way with the tokens in hand. So a task that was sent does not look for tokens
 * a second time, none that comes later can be quicker, and there are no wake-ups that could be lost or would have to be
 * passed on.
 *
 * Roles
 *   A task that is about to begin (thrum__tokens_acquire) takes all that it lists or nothing. If it takes nothing it
 *   waits: its post is in the list of one semaphore that has too few tokens for it, and keeps a strand, as in post.c.
 *   A task that has completed (thrum__tokens_release), one that was sent with tokens but is skipped, and the end of a
 *   run give tokens back; so does nobody else. Each *settles* the semaphore then.
 *   Whoever cancels a run (base/fault.h) takes what waits of it out of all lists.
 *
 * Invariants, while no lock is held
 *   1. free + the `held` of all uses = tokens, for each semaphore.
 *   2. The first task in a semaphore's lists (the most urgent, then the oldest) needs more tokens of it than are free,
 *      or somebody is about to settle the semaphore. Those behind it wait for their turn.
 *   3. A task waits in one list. It holds no tokens of its own for this.
 *   4. No task waits in a list whose root was cancelled before the canceller came by.
 *
 * Why 2 holds: a task is appended when it lacks tokens there or others wait that go first; so it becomes the first only
 * if it lacks tokens. `free` grows only where settling follows, and the first one leaves only by settling or in a
 * cancelled run, where settling follows too. Settling ends when the invariant holds. It may meet a task that needs
 * tokens of others besides: if one of those is lacking, the task moves there, and the next in line is looked at.
 * Why 4 holds: a task that is about to wait looks at `attention` with the lock held under which it is appended. If the
 * canceller has had that lock before, the task sees that it is cancelled; else the canceller finds it. Tasks move
 * between lists only under thrum__semaphores_lock, which the canceller has while it goes through all of them.
 *
 * Progress: by 2 and 3 tokens that are free and wanted are never left lying, and who waits holds nothing. What is
 * promised: of the tasks that wait at one semaphore, none is overtaken by one that is not more urgent. Tasks that list
 * several may move from list to list, each time to the end. Only tokens that a run keeps from task to task (regions)
 * can make tasks wait for each other in a circle. tests/spin/semaphore.pml is a model of all this.
 *
 * Locks: a semaphore's lock for its tokens and lists. Who needs several of them takes thrum__semaphores_lock first, and
 * is the only one with more than one then; so their order does not matter. Nothing is posted with locks held, but for
 * the handle's by thrum_cancel.
 */
#include "exec/exec_int.h"
#include "model/semaphore.h"

static uint64_t free_tokens(const thrum_semaphore *s)
{
    return atomic_load_explicit(&s->free, memory_order_relaxed);
}

static bool is_root_cancelled(const thrum__root *root)
{
    return thrum__is_cancelled(__atomic_load_n(&root->attention, __ATOMIC_RELAXED));
}

/* ---- Lists; with the semaphore's lock held ----------------------------------------------------------------------- */

static int level_of(const thrum__terms *terms)
{
    return THRUM_HIGH - terms->priority;
}

static void append(thrum__waiting *list, thrum__post *post)
{
    post->next = NULL;
    if (list->first)
        list->last->next = post;
    else
        list->first = post;
    list->last = post;
}

static thrum__post *take_first(thrum__waiting *list)
{
    thrum__post *post = list->first;
    if (post)
        list->first = post->next;
    return post;
}

static thrum__terms *first_in_line(const thrum_semaphore *s)
{
    for (int level = 0; level < THRUM__WAITING_LEVELS; level++)
        if (s->waiting[level].first)
            return thrum__terms_of(s->waiting[level].first->task);
    return NULL;
}

/* Somebody waits there before whom a task of this urgency must not be served. */
static bool has_line(const thrum_semaphore *s, int level)
{
    for (int i = 0; i <= level; i++)
        if (s->waiting[i].first)
            return true;
    return false;
}

/* ---- Tokens; with the locks of all semaphores that the task lists ------------------------------------------------ */

static void lock_all(const thrum__terms *terms)
{
    if (terms->acquire_count > 1)
        thrum__lock_take(&thrum__semaphores_lock);
    for (size_t i = 0; i < terms->acquire_count; i++)
        thrum__lock_take(&terms->acquires[i].use->semaphore->lock);
}

/* If the task waits now, it may be gone as soon as the lock is given that keeps others from sending it off: its
 * semaphore's or, if it lists several, thrum__semaphores_lock. */
static void unlock_all(const thrum__terms *terms)
{
    if (terms->acquire_count == 1) {
        thrum__lock_give(&terms->acquires[0].use->semaphore->lock);
        return;
    }
    for (size_t i = 0; i < terms->acquire_count; i++)
        thrum__lock_give(&terms->acquires[i].use->semaphore->lock);
    thrum__lock_give(&thrum__semaphores_lock);
}

/* A semaphore that the task would have to wait at; NULL if all its tokens are there for it. `at`: where the task is the
 * first in line. */
static thrum_semaphore *find_lacking(const thrum__terms *terms, const thrum_semaphore *at)
{
    for (size_t i = 0; i < terms->acquire_count; i++) {
        thrum_semaphore *s = terms->acquires[i].use->semaphore;
        if (free_tokens(s) < terms->acquires[i].count || (s != at && has_line(s, level_of(terms))))
            return s;
    }
    return NULL;
}

static void take_all(const thrum__terms *terms)
{
    for (size_t i = 0; i < terms->acquire_count; i++) {
        const thrum__demand *demand = &terms->acquires[i];
        demand->use->held += demand->count;
        atomic_fetch_sub_explicit(&demand->use->semaphore->free, demand->count, memory_order_relaxed);
    }
}

/* ---- Settling ---------------------------------------------------------------------------------------------------- */

static bool has_enough(const thrum_semaphore *s, const thrum__terms *terms)
{
    size_t i = 0;
    while (terms->acquires[i].use->semaphore != s)
        i++;
    return free_tokens(s) >= terms->acquires[i].count;
}

/* The first in line leaves, with its tokens or, in a cancelled run, without. */
static void send_off(thrum_semaphore *s, thrum__terms *terms, thrum__waiting *sent)
{
    take_first(&s->waiting[level_of(terms)]);
    if (!is_root_cancelled(((thrum__run *)terms->post.run)->root)) {
        take_all(terms);
        atomic_store_explicit(&terms->granted, true, memory_order_relaxed);
    }
    append(sent, &terms->post);
}

static void lock_others(const thrum__terms *terms, const thrum_semaphore *s)
{
    for (size_t i = 0; i < terms->acquire_count; i++)
        if (terms->acquires[i].use->semaphore != s)
            thrum__lock_take(&terms->acquires[i].use->semaphore->lock);
}

static void unlock_others(const thrum__terms *terms, const thrum_semaphore *s)
{
    for (size_t i = 0; i < terms->acquire_count; i++)
        if (terms->acquires[i].use->semaphore != s)
            thrum__lock_give(&terms->acquires[i].use->semaphore->lock);
}

/* With thrum__semaphores_lock and the semaphore's lock held. Meanwhile what waits there cannot be sent off by anybody
 * else, so its task and the semaphores that it lists are there. */
static void settle_all_locked(thrum_semaphore *s, thrum__waiting *sent)
{
    thrum__terms *first;
    while ((first = first_in_line(s)) && has_enough(s, first)) {
        lock_others(first, s);
        thrum_semaphore *lacking = find_lacking(first, s);
        if (lacking)
            append(&lacking->waiting[level_of(first)], take_first(&s->waiting[level_of(first)]));
        else
            send_off(s, first, sent);
        unlock_others(first, s);
    }
}

/* Hands over what can be: `sent` gets the tasks that have their tokens now. */
static void settle(thrum_semaphore *s, thrum__waiting *sent)
{
    thrum__terms *first;
    thrum__lock_take(&s->lock);
    while ((first = first_in_line(s)) && has_enough(s, first) && first->acquire_count == 1)
        send_off(s, first, sent);
    bool more = first && has_enough(s, first);
    thrum__lock_give(&s->lock);
    if (!more)
        return;
    thrum__lock_take(&thrum__semaphores_lock);
    thrum__lock_take(&s->lock);
    settle_all_locked(s, sent);
    thrum__lock_give(&s->lock);
    thrum__lock_give(&thrum__semaphores_lock);
}

/* False: the run does not hold as many, and nothing was done. */
static bool give_back(thrum__use *use, uint64_t count, thrum__waiting *sent)
{
    thrum_semaphore *s = use->semaphore;
    thrum__lock_take(&s->lock);
    bool has = use->held >= count;
    if (has) {
        use->held -= count;
        atomic_fetch_add_explicit(&s->free, count, memory_order_relaxed);
    }
    bool awaited = has_line(s, THRUM__WAITING_LEVELS - 1);
    thrum__lock_give(&s->lock);
    if (has && awaited)
        settle(s, sent);
    return has;
}

/* Posts what was sent off. One of the given run, in which the worker has a strand, may be returned instead: for the
 * worker to run next, if it may. From its posting on a task may be gone. */
static thrum_task *deliver(worker *w, thrum__run *run, thrum__waiting *sent)
{
    thrum_task *own = NULL;
    for (thrum__post *post; (post = take_first(sent));) {
        if (!own && run && post->run == run && thrum__take_woken(w, run, post))
            own = post->task;
        else
            thrum__post_woken(post);
    }
    return own;
}

/* ---- The task's side --------------------------------------------------------------------------------------------- */

static bool take_at_once(const thrum__terms *terms)
{
    lock_all(terms);
    bool there = !find_lacking(terms, NULL);
    if (there)
        take_all(terms);
    unlock_all(terms);
    return there;
}

enum outcome { TAKEN, WAITS, CANCELLED };

/* After WAITS the task may be gone. */
static enum outcome take_or_wait(thrum__terms *terms, const thrum__root *root)
{
    enum outcome outcome = WAITS;
    lock_all(terms);
    thrum_semaphore *lacking = find_lacking(terms, NULL);
    if (!lacking) {
        take_all(terms);
        outcome = TAKEN;
    } else if (is_root_cancelled(root)) {
        outcome = CANCELLED;
    } else {
        append(&lacking->waiting[level_of(terms)], &terms->post);
    }
    unlock_all(terms);
    return outcome;
}

bool thrum__tokens_acquire(worker *w, thrum__run *run, thrum_task *task)
{
    thrum__terms *terms = thrum__terms_of(task);
    /* Relaxed: the task has come here by a post or from the worker that settled. A condition may have named the same
     * task twice: then it makes no difference which of the two has the tokens. */
    if (atomic_exchange_explicit(&terms->granted, false, memory_order_relaxed) || take_at_once(terms))
        return true;
    if (!thrum__begin_waiting(w, run, task))
        return false;
    switch (take_or_wait(terms, run->root)) {
    case TAKEN:
        thrum__end_waiting(run, &terms->post);
        return true;
    case CANCELLED:
        thrum__post_woken(&terms->post); /* whoever takes it up skips it */
        return false;
    case WAITS:
        break;
    }
    return false;
}

static void fail_release(const thrum__run *run, const thrum_task *task, const thrum__demand *demand)
{
    char room[80];
    thrum__fault(
        THRUM_ESEMAPHORE, "%s of graph '%s' gives back %llu token%s of semaphore '%s', but its run does not hold %s",
        thrum__task_label(task, room, sizeof room), run->handle->graph->names->graph, (unsigned long long)demand->count,
        demand->count == 1 ? "" : "s", demand->use->semaphore->name, demand->count == 1 ? "one" : "as many");
    thrum__root_fail(run->root, THRUM_ESEMAPHORE, thrum__last_fault());
}

thrum_task *thrum__tokens_release(worker *w, thrum__run *run, const thrum_task *task)
{
    const thrum__terms *terms = thrum__terms_of(task);
    thrum__waiting sent = {NULL, NULL};
    for (size_t i = 0; i < terms->release_count; i++)
        if (!give_back(terms->releases[i].use, terms->releases[i].count, &sent))
            fail_release(run, task, &terms->releases[i]);
    return deliver(w, run, &sent);
}

void thrum__tokens_skip(const thrum_task *task)
{
    thrum__terms *terms = thrum__terms_of(task);
    thrum__waiting sent = {NULL, NULL};
    if (!atomic_load_explicit(&terms->granted, memory_order_relaxed) ||
        !atomic_exchange_explicit(&terms->granted, false, memory_order_relaxed))
        return;
    for (size_t i = 0; i < terms->acquire_count; i++)
        give_back(terms->acquires[i].use, terms->acquires[i].count, &sent);
    deliver(NULL, NULL, &sent);
}

/* ---- The run's side ---------------------------------------------------------------------------------------------- */

static void fail_end(const thrum__run *run, const thrum__use *use)
{
    thrum__fault(THRUM_ESEMAPHORE,
                 "graph '%s' has run to its end with %llu token%s of semaphore '%s' that no task gave back",
                 run->handle->graph->names->graph, (unsigned long long)use->held, use->held == 1 ? "" : "s",
                 use->semaphore->name);
    thrum__root_fail(run->root, THRUM_ESEMAPHORE, thrum__last_fault());
}

void thrum__tokens_end(const thrum__run *run)
{
    thrum__waiting sent = {NULL, NULL};
    bool cancelled = is_root_cancelled(run->root);
    for (thrum__use *use = run->handle->graph->terms->uses; use; use = use->next) {
        if (use->held == 0)
            continue;
        if (!cancelled)
            fail_end(run, use);
        give_back(use, use->held, &sent);
    }
    deliver(NULL, NULL, &sent);
}

/* Takes those of the root out of a list. */
static void remove_of(thrum__waiting *list, const thrum__root *root, thrum__waiting *sent)
{
    thrum__waiting others = {NULL, NULL};
    for (thrum__post *post; (post = take_first(list));)
        append(((thrum__run *)post->run)->root == root ? sent : &others, post);
    *list = others;
}

void thrum__tokens_cancel(thrum__root *root)
{
    thrum__waiting sent = {NULL, NULL};
    thrum__lock_take(&thrum__semaphores_lock);
    for (thrum_semaphore *s = thrum__semaphores; s; s = s->next) {
        thrum__lock_take(&s->lock);
        for (int level = 0; level < THRUM__WAITING_LEVELS; level++)
            remove_of(&s->waiting[level], root, &sent);
        settle_all_locked(s, &sent);
        thrum__lock_give(&s->lock);
    }
    thrum__lock_give(&thrum__semaphores_lock);
    deliver(NULL, NULL, &sent);
}
