/* SPDX-License-Identifier: MIT */
#include "model/order.h"

void thrum__order_init(thrum__job *job)
{
    thrum__order_init_job(job);
    for (uint32_t i = 0; i < job->count; i++)
        thrum__order_init_access(job, i);
}

static thrum__job *job_of(const thrum__access *access)
{
    return (thrum__job *)((uintptr_t)(access - access->number) - offsetof(thrum__job, access));
}

/* ---- Edges ------------------------------------------------------------------------------------------------------- */

static bool has_ended(const thrum__job *job)
{
    return atomic_load_explicit(&job->waiters, memory_order_acquire) == THRUM__ENDED;
}

/* With the place for the one that comes next. False: the job has ended, and there is nothing to wait for. */
static bool add_edge(thrum__job *job, thrum__edge edge, thrum__edge *next)
{
    thrum__edge first = atomic_load_explicit(&job->waiters, memory_order_acquire);
    do {
        if (first == THRUM__ENDED)
            return false;
        *next = first;
    } while (!atomic_compare_exchange_weak_explicit(&job->waiters, &first, edge, memory_order_acq_rel,
                                                    memory_order_acquire));
    return true;
}

/* What an insertion has found so far. */
typedef struct insertion {
    thrum__job *job;
    uint32_t edges;
    bool foreign;
} insertion;

static void count_edge(insertion *i, const thrum__job *before)
{
    i->edges++;
    i->foreign |= before->owner != i->job->owner;
}

static void wait_for_last(insertion *i, thrum__access *access, thrum__access *last)
{
    thrum__job *before = last ? job_of(last) : NULL;
    if (before && add_edge(before, (thrum__edge)access, &access->next_in))
        count_edge(i, before);
}

/* The members leave their list. */
static void wait_for_members(insertion *i, thrum__access **list)
{
    for (thrum__access *member = *list, *older; member; member = older) {
        thrum__job *before = job_of(member);
        older = member->older;
        member->in_front = false;
        member->follower = i->job;
        if (add_edge(before, (thrum__edge)member | THRUM__OUT, &member->next_out))
            count_edge(i, before);
    }
    *list = NULL;
}

/* ---- Fronts ------------------------------------------------------------------------------------------------------ */

static void drop_list(thrum__access **list)
{
    for (thrum__access *member = *list; member; member = member->older)
        member->in_front = false;
    *list = NULL;
}

static void drop_members(thrum__front *front)
{
    drop_list(&front->members);
    front->group = 0;
}

static void become_last(thrum__front *front, thrum__access *access)
{
    drop_members(front);
    if (front->last)
        front->last->in_front = false;
    front->last = access;
    access->in_front = true;
}

/* Also for those without an order: `scratch`. */
static void join_list(thrum__access **list, thrum__access *access)
{
    access->older = *list;
    access->in_front = true;
    *list = access;
}

static void join_group(thrum__front *front, thrum__access *access)
{
    join_list(&front->members, access);
    front->group = access->mode;
}

enum thrum__closing thrum__order_closing(const thrum__front *front, enum thrum_mode mode)
{
    if (front->group == 0 || front->group == mode || mode == THRUM_MODE_SCRATCH)
        return THRUM__CLOSE_NOTHING;
    if (front->group == THRUM_MODE_REDUX)
        return THRUM__CLOSE_COMBINE;
    return mode == THRUM_MODE_W || mode == THRUM_MODE_RW ? THRUM__CLOSE_NOTHING : THRUM__CLOSE_JOIN;
}

static bool is_last_use(const thrum__job *job, const thrum__access *access)
{
    return access->number ? job->dissolves : job->unregisters;
}

static void insert_access(insertion *i, thrum__access *access)
{
    thrum_data *data = access->data;
    thrum__front *front = &data->front;
    switch ((enum thrum_mode)access->mode) {
    case THRUM_MODE_SCRATCH:
        join_list(&data->scratch, access);
        return;
    case THRUM_MODE_W:
    case THRUM_MODE_RW:
        if (front->members)
            wait_for_members(i, &front->members);
        else
            wait_for_last(i, access, front->last);
        if (__builtin_expect(is_last_use(i->job, access), 0))
            wait_for_members(i, &data->scratch);
        become_last(front, access);
        break;
    case THRUM_MODE_R:
    case THRUM_MODE_REDUX:
    case THRUM_MODE_COMMUTE:
        wait_for_last(i, access, front->last);
        join_group(front, access);
        break;
    }
    front->written |= access->mode != THRUM_MODE_R;
}

/* Only edges make it known to others: without any, nobody counts it down, and it is ready. */
static bool insert_from(thrum__job *job, uint32_t first, thrum__foreign_fn *foreign)
{
    insertion i = {.job = job};
    for (uint32_t n = first; n < job->count; n++)
        insert_access(&i, &job->access[n]);
    if (i.edges == 0)
        return true;
    if (i.foreign && foreign)
        foreign(job);
    uint32_t rest = THRUM__INSERTING - i.edges;
    return atomic_fetch_sub_explicit(&job->task.pending, rest, memory_order_acq_rel) == rest;
}

bool thrum__order_insert(thrum__job *job, thrum__foreign_fn *foreign)
{
    return insert_from(job, 0, foreign);
}

/* An access that has nothing to wait for: what insert_access would do with it. False: it may have, or changes more than
 * that. What has ended is forgotten, so that whoever comes next does not have to look at it again. */
static inline bool insert_quiet(thrum__access *access)
{
    thrum__front *front = &access->data->front;
    thrum__access *last = front->last;
    if (last) {
        if (!has_ended(job_of(last)))
            return false;
        last->in_front = false;
        front->last = NULL;
    }
    if (access->mode == THRUM_MODE_R) {
        join_group(front, access);
        return true;
    }
    if (front->members)
        return false;
    front->last = access;
    front->written = access->in_front = true;
    return true;
}

bool thrum__order_insert_plain(thrum__job *job, thrum__foreign_fn *foreign)
{
    uint32_t quiet = 0;
    while (quiet < job->count && insert_quiet(&job->access[quiet]))
        quiet++;
    return quiet == job->count || insert_from(job, quiet, foreign);
}

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

/* Whoever has the lock for nothing ends a job with it: nobody adds an edge meanwhile, so there is nothing to
 * exchange. */
static thrum__edge take_waiters(thrum__job *job, thrum__favour *lock)
{
    if (!thrum__favour_enter(lock))
        return atomic_exchange_explicit(&job->waiters, THRUM__ENDED, memory_order_acq_rel);
    thrum__edge edge = atomic_load_explicit(&job->waiters, memory_order_relaxed);
    atomic_store_explicit(&job->waiters, THRUM__ENDED, memory_order_release);
    thrum__favour_leave(lock);
    return edge;
}

/* Whoever finds that one arrival is missing is the one: nobody else changes the counter any more. */
static bool arrives_last(thrum__job *job)
{
    return atomic_load_explicit(&job->task.pending, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(&job->task.pending, 1, memory_order_acq_rel) == 1;
}

/* The one that waits, and what comes after it in the list. */
static thrum__job *follow(thrum__edge *edge)
{
    thrum__access *access = (thrum__access *)(*edge & ~(thrum__edge)THRUM__OUT);
    bool out = *edge & THRUM__OUT;
    *edge = out ? access->next_out : access->next_in;
    return out ? access->follower : job_of(access);
}

/* What waits is mostly what the worker does next, and was written by another core. Taking the list has to wait until
 * what the job's kernel has stored is in the caches: meanwhile those lines can come. Relaxed: nothing is read through
 * it. */
static void prefetch_waiter(const thrum__job *job)
{
    thrum__edge edge = atomic_load_explicit(&job->waiters, memory_order_relaxed);
    if (edge == 0 || edge & THRUM__OUT)
        return;
    for (int line = 0; line < 3; line++)
        __builtin_prefetch((const void *)(edge - (thrum__edge)line * 64), 1);
}

/* The edge is read before the arrival: what waits may begin then, end, and be gone. */
void thrum__order_end(thrum__job *job, thrum__favour *lock, thrum__ready_fn *ready)
{
    prefetch_waiter(job);
    thrum__edge edge = take_waiters(job, lock);
    while (edge) {
        thrum__job *after = follow(&edge);
        if (arrives_last(after))
            ready(after);
    }
}

/* Acquire: with add_edge. Nothing leaves the list before the job has ended. */
uint32_t thrum__order_waiters(const thrum__job *job, uint32_t most)
{
    uint32_t count = 0;
    thrum__edge edge = atomic_load_explicit(&job->waiters, memory_order_acquire);
    for (; edge && count < most; count++)
        follow(&edge);
    return count;
}

/* All members that have ended leave at once, so that long lists are gone through seldom. */
static void forget_ended(thrum__access **at)
{
    while (*at) {
        thrum__access *member = *at;
        if (has_ended(job_of(member))) {
            member->in_front = false;
            *at = member->older;
        } else {
            at = &member->older;
        }
    }
}

static void forget_members(thrum__front *front)
{
    forget_ended(&front->members);
    if (!front->members && front->group != THRUM_MODE_REDUX)
        front->group = 0;
}

static bool all_ended(thrum__access *first)
{
    while (first && has_ended(job_of(first)))
        first = first->older;
    return !first;
}

bool thrum__order_is_quiet(const thrum_data *data)
{
    const thrum__front *front = &data->front;
    return (!front->last || has_ended(job_of(front->last))) && front->group != THRUM_MODE_REDUX &&
           all_ended(front->members) && all_ended(data->scratch);
}

void thrum__order_clear(thrum_data *data)
{
    thrum__front *front = &data->front;
    drop_members(front);
    drop_list(&data->scratch);
    if (front->last)
        front->last->in_front = false;
    front->last = NULL;
}

void thrum__order_forget_access(thrum__access *access)
{
    thrum__front *front = &access->data->front;
    if (front->last == access) {
        front->last = NULL;
        access->in_front = false;
    } else if (access->mode == THRUM_MODE_SCRATCH) {
        forget_ended(&access->data->scratch);
    } else {
        forget_members(front);
    }
}

/* ---- Commuting --------------------------------------------------------------------------------------------------- */

/* All or none, so that two jobs never hold what the other wants. */
static thrum_data *taken_by_others_locked(const thrum__job *job)
{
    for (uint32_t i = 0; i < job->count; i++)
        if (job->access[i].mode == THRUM_MODE_COMMUTE && job->access[i].data->commuter)
            return job->access[i].data;
    return NULL;
}

static bool enter_locked(thrum__job *job)
{
    thrum_data *taken = taken_by_others_locked(job);
    if (taken) {
        thrum__job_rest_of(job)->next = taken->commuters;
        taken->commuters = job;
        return false;
    }
    for (uint32_t i = 0; i < job->count; i++)
        if (job->access[i].mode == THRUM_MODE_COMMUTE)
            job->access[i].data->commuter = job;
    return true;
}

static thrum__lock *commute_lock(const thrum__job *job)
{
    return &job->access[0].data->space->commute_lock;
}

bool thrum__commute_enter(thrum__job *job)
{
    thrum__lock *lock = commute_lock(job);
    thrum__lock_take(lock);
    bool entered = enter_locked(job);
    thrum__lock_give(lock);
    return entered;
}

/* Gives the handles back: the list of all that waited for one of them. */
static thrum__job *give_back_locked(thrum__job *job)
{
    thrum__job *waited = NULL;
    for (uint32_t i = 0; i < job->count; i++) {
        thrum_data *data = job->access[i].data;
        if (job->access[i].mode != THRUM_MODE_COMMUTE)
            continue;
        data->commuter = NULL;
        while (data->commuters) {
            thrum__job *first = data->commuters;
            data->commuters = thrum__job_rest_of(first)->next;
            thrum__job_rest_of(first)->next = waited;
            waited = first;
        }
    }
    return waited;
}

void thrum__commute_leave(thrum__job *job, thrum__ready_fn *ready)
{
    thrum__lock *lock = commute_lock(job);
    thrum__job *entered = NULL;
    thrum__lock_take(lock);
    for (thrum__job *waited = give_back_locked(job), *next; waited; waited = next) {
        next = thrum__job_rest_of(waited)->next;
        if (enter_locked(waited)) {
            thrum__job_rest_of(waited)->next = entered;
            entered = waited;
        }
    }
    thrum__lock_give(lock);
    while (entered) {
        thrum__job *next = thrum__job_rest_of(entered)->next;
        ready(entered);
        entered = next;
    }
}
