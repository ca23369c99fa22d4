/* SPDX-License-Identifier: MIT
 *
 * Order: which jobs wait for which, from the data that they touch and the order in which they are inserted.
 *
 * Each handle has a *front* (model/data.h): `last`, the newest access that whatever comes later must wait for, and the
 * members of the newest *group* after it, which may run at the same time: readers, commuters or reducers.
 *
 *   reads        waits for `last`, joins the readers
 *   writes       waits for all members, or for `last` if there are none; is `last` then
 *   commutes     waits for `last`, joins the commuters; excluded from each other when they are ready (below)
 *   reduces      waits for `last`, joins the reducers
 *   scratch      waits for nothing, and nothing for it but the handle's end: a list of its own
 *
 * A group that is followed by another group, not by one writer, is closed by a *join*: a job of order's own that waits
 * for all members and is `last` then. So edges are as many as accesses, not as many as pairs. Reducers are always
 * closed, by the job that combines their copies.
 *
 * An edge needs memory in which the one that ends finds the one that waits. An access waits for one `last`, or for many
 * members each of which has one follower only: so the edge lies in the waiting access (`next_in`), or in the member
 * (`next_out`), and inserting allocates nothing. A member is told its follower when the front gives it up: so it has
 * one word for that and for its place there.
 *
 * A job that is run by whoever inserts it, as it is inserted, and that nothing is in front of, is *fleeting*: no front
 * names it, for it has ended before anybody could wait for it. Unless somebody inserts meanwhile: the job's own kernel,
 * or another thread. So the space names it, and whoever is going to look at fronts has it put into them first
 * (front/flow.c); then it is a job as any other.
 *
 * Roles
 *   Whoever inserts, with the space's lock held, changes fronts and adds edges. Whoever ends a job takes its list of
 *   waiters and arrives at each. Nobody else touches either.
 *
 * Invariants
 *   1. A job's list of waiters is taken once, in exchange for THRUM__ENDED; nothing is added afterwards. With the
 *      space's lock it is replaced without an exchange: only those who hold it add to the list.
 *   2. `pending` of a job is above zero until its insertion is complete: it counts from THRUM__INSERTING down.
 *   3. A front names accesses of jobs whose memory is in use: before that is used again, thrum__order_forget.
 *   4. While a space has a fleeting job, nothing is in the fronts of that one's handles. It is set, cleared and put
 *      into fronts with the space's lock held.
 *
 * Orders: the exchange, or store, is a release, and adding an edge, or finding the list gone, an acquire: what the job
 * did happens before what comes later, whether that waits or not. Arriving is acquire and release, as with counters of
 * graphs; the last one to arrive knows that it is, and need not count: an acquire.
 */
#ifndef THRUM_MODEL_ORDER_H
#define THRUM_MODEL_ORDER_H

#include "model/job.h"

/* In the place of a list of waiters: the job has ended. */
#define THRUM__ENDED ((thrum__edge)THRUM__OUT)

enum { THRUM__INSERTING = 1 << 30 };

/* Sets up what belongs to order in a job with `count` accesses, whose data and modes are set; and the same for the job
 * without its accesses, and for one access. */
void thrum__order_init(thrum__job *job);
static inline void thrum__order_init_job(thrum__job *job)
{
    atomic_store_explicit(&job->task.pending, THRUM__INSERTING, memory_order_relaxed);
    atomic_store_explicit(&job->waiters, 0, memory_order_relaxed);
}
static inline void thrum__order_init_access(thrum__job *job, uint32_t number)
{
    thrum__access *access = &job->access[number];
    access->number = number;
    access->in_front = false;
}

/* How the job's access changes its handle's front: whether a group has to be closed first, and by which kind of job. */
enum thrum__closing { THRUM__CLOSE_NOTHING, THRUM__CLOSE_JOIN, THRUM__CLOSE_COMBINE };
enum thrum__closing thrum__order_closing(const thrum__front *front, enum thrum_mode mode);

/* The common cases at a glance: no group, more readers, or a writer behind readers. False: ask thrum__order_closing. */
static inline bool thrum__order_closes_nothing(const thrum__front *front, enum thrum_mode mode)
{
    return front->group == 0 || (front->group == THRUM_MODE_R && mode <= THRUM_MODE_RW);
}

/* Whether nothing at all is in front of whoever comes next, and nothing has to be forgotten either. */
static inline bool thrum__order_is_idle(const thrum__front *front)
{
    return !front->last && front->group == 0;
}

/* Puts the job behind what is there. Groups that have to be closed have been, by jobs inserted before. True: it is
 * ready now. False: whoever makes it ready is told so by thrum__order_end. If one of those that it waits for has
 * another owner, `foreign` is called before the insertion is complete. With the space's lock. */
typedef void thrum__foreign_fn(thrum__job *job);
bool thrum__order_insert(thrum__job *job, thrum__foreign_fn *foreign);

/* The same for accesses that read or write, the most common case first: nothing that has not ended is in front of
 * them. */
bool thrum__order_insert_plain(thrum__job *job, thrum__foreign_fn *foreign);

/* The job has ended: `ready` is called for each job that was waiting for nothing else. The lock is its space's, which
 * the caller does not hold. */
typedef void thrum__ready_fn(thrum__job *job);
void thrum__order_end(thrum__job *job, thrum__favour *lock, thrum__ready_fn *ready);

/* How many wait for the job, which has not ended, by now: `most`, if there are more. */
uint32_t thrum__order_waiters(const thrum__job *job, uint32_t most);

/* Whether all that used the handle has ended, and nothing has to be combined. With the space's lock. */
bool thrum__order_is_quiet(const thrum_data *data);

/* All that used the handle has ended, and it is going: no job's memory refers to its front any more. With the space's
 * lock. */
void thrum__order_clear(thrum_data *data);

/* The job has ended, and its memory is going to be used again: no front names it any more. With the space's lock. */
void thrum__order_forget_access(thrum__access *access);
static inline void thrum__order_forget(thrum__job *job)
{
    for (uint32_t i = 0; i < job->count; i++)
        if (job->access[i].in_front)
            thrum__order_forget_access(&job->access[i]);
}

/* The same for one that reads or writes and was the last to be inserted, mostly: then it is the first in its place. */
static inline void thrum__order_forget_newest(thrum__job *job)
{
    for (uint32_t i = 0; i < job->count; i++) {
        thrum__access *access = &job->access[i];
        thrum__front *front = &access->data->front;
        if (front->last == access) {
            front->last = NULL;
        } else if (front->members == access && front->group == THRUM_MODE_R) {
            front->members = access->older;
            front->group = access->older ? THRUM_MODE_R : 0;
        } else {
            if (access->in_front)
                thrum__order_forget_access(access);
            continue;
        }
        access->in_front = false;
    }
}

/* ---- Commuting --------------------------------------------------------------------------------------------------- */

/* A ready job that commutes takes all handles that it commutes on, or waits for one that is taken. True: it has
 * them. */
bool thrum__commute_enter(thrum__job *job);

/* It has ended: those that waited and have all of theirs now are ready. */
void thrum__commute_leave(thrum__job *job, thrum__ready_fn *ready);

#endif
