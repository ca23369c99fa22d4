/* SPDX-License-Identifier: MIT
 *
 * Iteration distance as data: edges into the next iteration, and the lanes by which pipelined runs count.
 *
 * A *firing* is one task in one iteration. In a pipelined run several iterations are under way, so a task has K
 * counters, K being the graph's depth: slot j % K counts what firing j still waits for. Firing j of a task waits for
 *
 *   - firing j of each strong predecessor,
 *   - firing j - 1 of each task that has a next edge to it,
 *   - its own firing j - 1,
 *   - firing j - K of each strong successor, and firing j - (K - 1) of each task that it has a next edge to: these are
 *     credits, which say that the slot it will arrive at there is free.
 *
 * The other way round, a task that has completed firing i arrives at slot i of its strong successors, slot i + 1 of its
 * next successors and of its own, slot i + K of its strong predecessors and slot i + K - 1 of its next predecessors.
 * Modulo K these are i, i + 1, i + 1, i and i - 1. A *link* is one such arrival; a task's *lane* has its counters, the
 * firing that it is at, and its links.
 *
 * Nothing waits for ever: let a firing's rank be its iteration first, and in that its place in an order of the tasks
 * that goes along all strong edges (there is one, as strong edges have no cycle). A strong predecessor's firing has a
 * lower rank, and everything else that a firing waits for is of an earlier iteration, since K >= 2. So of all firings
 * that have not been done the one with the lowest rank waits for none.
 *
 * Lanes are made at the first pipelined run of a frozen graph, under the graph's lock, and stay until the graph is
 * thawed or gets another next edge or depth.
 */
#ifndef THRUM_MODEL_NEXT_H
#define THRUM_MODEL_NEXT_H

#include "model/terms.h"

enum { THRUM__DEPTH_DEFAULT = 2 };

/* What completing a task means to the other end of a link, in the two low bits of the link; the other end's lane is
 * above. */
enum thrum__link_kind {
    THRUM__LINK_STRONG,        /* to a strong successor: slot i */
    THRUM__LINK_NEXT,          /* to the next iteration: slot i + 1 */
    THRUM__LINK_STRONG_CREDIT, /* back to a strong predecessor: slot i + K */
    THRUM__LINK_NEXT_CREDIT,   /* back to a next predecessor: slot i + K - 1 */
    THRUM__LINK_BITS = 2,
    THRUM__LINK_KINDS = 1 << THRUM__LINK_BITS,
};

/* Of one task. All but the counters is written by whoever makes a firing ready, and read by whoever runs it: one at a
 * time, as a firing waits for the task's previous one. */
typedef struct thrum__lane {
    uint64_t iteration; /* the firing that is ready, runs or was the last to run; UINT64_MAX before the first */
    uint32_t full;      /* what a firing waits for */
    uint32_t links;     /* the first of its links; they end where the next lane's begin */
    uint32_t slot;      /* iteration % depth */
    _Atomic uint32_t missing[];
} thrum__lane;

typedef struct thrum__lanes {
    size_t bytes; /* of everything, this included */
    size_t count; /* of tasks; there is one lane more, for the end of the last one's links */
    size_t stride;
    uint32_t depth;
    char *first;
    uint32_t *links;
    thrum__post *posts; /* of graphs with tasks in other domains, whose workers may make any task ready: one for each */
} thrum__lanes;

static inline thrum__lane *thrum__lane_at(const thrum__lanes *lanes, size_t number)
{
    return (thrum__lane *)(void *)(lanes->first + number * lanes->stride);
}

static inline thrum__lane *thrum__lane_of(const thrum__lanes *lanes, const thrum_task *task)
{
    return thrum__lane_at(lanes, (size_t)thrum_task_number(task));
}

/* Makes the lanes of a frozen graph if there are none. With the graph's lock held. */
int thrum__lanes_prepare(thrum_graph *graph);
/* Sets all lanes to before the first iteration; sources count as ready for it. Only while no run is under way. */
void thrum__lanes_begin(thrum_graph *graph);
void thrum__lanes_drop(thrum_graph *graph);

void thrum__nexts_drop(thrum_graph *graph);
int thrum__nexts_copy(const thrum_graph *graph, thrum_graph *clone);
size_t thrum__nexts_bytes(const thrum_graph *graph);
/* Calls `visit` for every edge into the next iteration, with the numbers of its tasks. */
void thrum__nexts_visit(const thrum_graph *graph, void (*visit)(int64_t from, int64_t to, void *arg), void *arg);

#endif
