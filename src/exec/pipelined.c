/* SPDX-License-Identifier: MIT
 *
 * Pipelined runs: many iterations of a graph with no barrier between them. What waits for what, and why nothing waits
 * for ever, is in model/next.h; this is how firings become ready.
 *
 * Such a run goes as others do (run.c): its sources are the tasks without strong predecessors, in their first
 * iteration, and a word in a deque stands for the task's firing that is ready. But each task takes the slow path, by
 * the run's `attention`, and completing it is done here, with the task's lane in the place of its record's counter and
 * successors.
 *
 * Roles
 *   The worker that completes a firing walks the task's links and arrives at a slot for each, its own lane's last. Any
 *   number of workers do so at once.
 *   The worker whose arrival is a slot's last makes the firing ready: it sets the slot to its full value again, moves
 *   the lane on by one, and pushes the task or runs it next.
 *
 * Invariants
 *   1. At most one firing of a task is ready or under way: each waits for the one before it. So a word needs no number,
 *      and the lane's fields but the counters belong to whoever made the firing ready, then to whoever runs it, until
 *      that one arrives at its own lane.
 *   2. While slot j % K counts for firing j, nobody arrives at it for another firing. Later ones: each arrival for
 *      firing j + K comes after the task's firing j. (From a strong predecessor's firing j + K and a next predecessor's
 *      firing j + K - 1 by the credits that these wait for; from the task's own firing j + K - 1 by the order of its
 *      firings; credits from a strong successor's firing j and a next successor's firing j + 1, since those wait for
 *      the task's firing j.) Earlier ones: they are what the slot came to zero by.
 *   3. So a slot is set to its full value after all arrivals for firing j and before all for firing j + K, and needs no
 *      read-modify-write for that, nor for the last arrival.
 *
 * Orders: arriving releases and the last arrival acquires, so all that a firing waited for happens before it; and what
 * was written to a slot or lane for it happens before whoever comes after the firing. While the worker has the run
 * alone, all of it is plain (door.c).
 *
 * tests/spin/lanes.pml is a model of it.
 *
 * A cancelled run makes nothing ready any more and so comes to its end. What it leaves in the lanes does not matter:
 * each pipelined run begins by setting all of them.
 */
#include "exec/exec_int.h"

static inline bool arrive_shared(thrum__lane *lane, uint32_t slot)
{
    _Atomic uint32_t *missing = &lane->missing[slot];
    if (atomic_load_explicit(missing, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(missing, 1, memory_order_acq_rel) != 1)
        return false;
    atomic_store_explicit(missing, lane->full, memory_order_relaxed);
    return true;
}

static inline bool arrive_alone(thrum__lane *lane, uint32_t slot)
{
    uint32_t missing = atomic_load_explicit(&lane->missing[slot], memory_order_relaxed);
    atomic_store_explicit(&lane->missing[slot], missing == 1 ? lane->full : missing - 1, memory_order_relaxed);
    return missing == 1;
}

/* The lane's next firing waits for nothing any more: false if the run has no such iteration. */
static inline bool advance(const thrum__run *run, thrum__lane *lane)
{
    if (lane->iteration + 1 == run->handle->firings)
        return false;
    lane->iteration++;
    lane->slot = lane->slot + 1 == run->lanes->depth ? 0 : lane->slot + 1;
    return true;
}

/* What runs next is a successor in the same iteration if there is one, which finds the task's results in the cache;
 * else the task itself, which finds its own data there; else any. */
enum rank { ANY, SELF, SUCCESSOR };

/* One worker's walk along the links of a task that it has completed. */
struct walk {
    worker *w;
    thrum__run *run;
    thrum_task *chosen;
    enum rank rank; /* of the chosen one */
    bool alone;     /* inside: see thrum__alone_enter */
};

/* Pushing may find that somebody asks, and share the run. */
static void push(struct walk *walk, thrum_task *task)
{
    if (walk->alone)
        thrum__alone_leave(walk->w);
    thrum__run_put(walk->w, walk->run, task);
    walk->alone = thrum__alone_enter(walk->w, walk->run);
}

/* Whether the worker may run it. One of another domain sends home what has no terms. */
static bool may_stay(const struct walk *walk, thrum_task *task)
{
    worker *w = walk->w;
    if (w->at_home || thrum__is_special(task))
        return thrum__may_stay(w, walk->run, task);
    thrum__post *post = &walk->run->lanes->posts[thrum_task_number(task)];
    thrum__keep_strand(w, walk->run);
    *post = (thrum__post){.run = walk->run, .task = task};
    thrum__post_put(&w->ex->cpu, POST_NORMAL, post);
    return false;
}

static void choose_or_push(struct walk *walk, thrum_task *task, enum rank rank)
{
    thrum_task *pushed = task;
    if (!walk->chosen || rank > walk->rank) {
        pushed = walk->chosen;
        walk->chosen = task;
        walk->rank = rank;
    }
    if (pushed)
        push(walk, pushed);
}

static inline void arrive(struct walk *walk, uint32_t number, uint32_t slot, enum rank rank)
{
    thrum__lane *lane = thrum__lane_at(walk->run->lanes, number);
    bool last = walk->alone ? arrive_alone(lane, slot) : arrive_shared(lane, slot);
    if (!last || !advance(walk->run, lane))
        return;
    size_t neighbours;
    thrum_task *task = thrum__task_number_at(walk->run->handle->graph, number, &neighbours);
    if (may_stay(walk, task))
        choose_or_push(walk, task, rank);
}

thrum_task *thrum__pipelined_complete(worker *w, thrum__run *run, const thrum_task *task)
{
    if (thrum__is_cancelled(__atomic_load_n(&run->root->attention, __ATOMIC_RELAXED)))
        return NULL;
    const thrum__lanes *lanes = run->lanes;
    uint32_t number = (uint32_t)thrum_task_number(task), last = lanes->depth - 1;
    const thrum__lane *own = thrum__lane_at(lanes, number);
    uint32_t at = own->slot, after = at == last ? 0 : at + 1, before = at == 0 ? last : at - 1;
    const uint32_t slots[THRUM__LINK_KINDS] = {[THRUM__LINK_STRONG] = at,
                                               [THRUM__LINK_NEXT] = after,
                                               [THRUM__LINK_STRONG_CREDIT] = at,
                                               [THRUM__LINK_NEXT_CREDIT] = before};
    const uint32_t *link = lanes->links + own->links, *end = lanes->links + thrum__lane_at(lanes, number + 1)->links;
    struct walk walk = {.w = w, .run = run, .alone = thrum__alone_enter(w, run)};
    for (; link < end; link++) {
        uint32_t kind = *link % THRUM__LINK_KINDS;
        arrive(&walk, *link >> THRUM__LINK_BITS, slots[kind], kind == THRUM__LINK_STRONG ? SUCCESSOR : ANY);
    }
    arrive(&walk, number, after, SELF);
    if (walk.alone)
        thrum__alone_leave(w);
    return walk.chosen;
}

/* ---- Which iteration --------------------------------------------------------------------------------------------- */

uint64_t thrum__iteration_of(const thrum__run *run, const thrum_task *task)
{
    return run->lanes ? thrum__lane_of(run->lanes, task)->iteration : run->handle->iteration;
}

/* A spawned function that was stolen belongs to the task's root, but the worker knows nothing of the task. */
uint64_t thrum_iteration(void)
{
    const worker *self = thrum__self;
    if (!self || !self->root)
        return 0;
    const thrum__run *run = self->run;
    if (run && run->root == self->root)
        return run->lanes ? self->iteration : run->handle->iteration;
    return self->root->run ? ((const thrum_handle *)self->root->run)->iteration : 0;
}
