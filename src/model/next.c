/* SPDX-License-Identifier: MIT
 *
 * Edges into the next iteration, and how lanes are made of them: see next.h.
 */
#include "model/next.h"

#include "base/alloc.h"
#include "model/graph_int.h"

#include <string.h>

/* ---- Edges ------------------------------------------------------------------------------------------------------- */

typedef struct thrum__nexts {
    size_t count, capacity;
    struct next_edge {
        uint32_t from, to; /* numbers of tasks */
    } edges[];
} thrum__nexts;

static const struct next_edge *edges_of(const thrum_graph *graph, size_t *count)
{
    *count = graph->nexts ? graph->nexts->count : 0;
    return graph->nexts ? graph->nexts->edges : NULL;
}

static size_t bytes_for(size_t capacity)
{
    return sizeof(thrum__nexts) + capacity * sizeof(struct next_edge);
}

void thrum__nexts_drop(thrum_graph *graph)
{
    if (graph->nexts)
        thrum__array_free(graph->nexts, bytes_for(graph->nexts->capacity));
    graph->nexts = NULL;
}

static int reserve(thrum_graph *graph, size_t count)
{
    thrum__nexts *old = graph->nexts;
    if (old && count <= old->capacity)
        return 0;
    size_t capacity = old ? 2 * old->capacity : 16;
    capacity = capacity < count ? count : capacity;
    thrum__nexts *nexts = thrum__array(bytes_for(capacity));
    if (!nexts)
        return THRUM_ENOMEM;
    nexts->count = old ? old->count : 0;
    nexts->capacity = capacity;
    if (old)
        memcpy(nexts->edges, old->edges, old->count * sizeof *old->edges);
    thrum__nexts_drop(graph);
    graph->nexts = nexts;
    return 0;
}

/* These edges have no part in the frozen layout, so a frozen graph stays frozen. */
static int may_change(thrum_graph *graph, const char *what)
{
    if (thrum__graph_runs(graph) || (atomic_load_explicit(&graph->state, memory_order_relaxed) & THRUM__FAILED))
        return thrum__graph_open(graph, what);
    return 0;
}

static thrum_graph *graph_of(const thrum_task *task)
{
    return task ? thrum__chunk_of(task)->graph : NULL;
}

static int null_task(thrum_graph *graph)
{
    const char *text = "thrum_precede_next: a task is NULL; was it made in a graph that had failed?";
    return graph ? thrum__graph_fail(graph, THRUM_EINVAL, "%s", text) : thrum__fault(THRUM_EINVAL, "%s", text);
}

static int two_graphs(thrum_task *before, thrum_task *after)
{
    char room[80], other_room[80];
    thrum_graph *graph = graph_of(before), *other = graph_of(after);
    return thrum__graph_fail(graph, THRUM_EINVAL,
                             "thrum_precede_next: %s is in graph '%s' and %s in graph '%s'; an edge stays in one graph",
                             thrum__task_label(before, room, sizeof room), graph->names->graph,
                             thrum__task_label(after, other_room, sizeof other_room), other->names->graph);
}

static int across_condition(thrum_task *condition)
{
    char room[80];
    thrum_graph *graph = graph_of(condition);
    return thrum__graph_fail(graph, THRUM_EINVAL,
                             "thrum_precede_next: iteration distance across a condition: %s of graph '%s' is one; put "
                             "the branch or loop into a module",
                             thrum__task_label(condition, room, sizeof room), graph->names->graph);
}

static int too_many(thrum_graph *graph)
{
    return thrum__graph_fail(
        graph, THRUM_ELIMIT,
        "thrum_precede_next: graph '%s' has 2^28 edges into the next iteration, which is what thrum can count",
        graph->names->graph);
}

/* What is wrong with the edge; 0 for nothing. */
static int refuse(thrum_task *before, thrum_task *after)
{
    thrum_graph *graph = graph_of(before ? before : after);
    int err = graph ? may_change(graph, "thrum_precede_next") : 0;
    if (err)
        return err;
    if (!before || !after)
        return null_task(graph);
    if (graph_of(after) != graph)
        return two_graphs(before, after);
    if (thrum__is_condition(before) || thrum__is_condition(after))
        return across_condition(thrum__is_condition(before) ? before : after);
    return graph->nexts && graph->nexts->count == THRUM__STRONG_MASK ? too_many(graph) : 0;
}

int thrum_precede_next(thrum_task *before, thrum_task *after)
{
    int err = refuse(before, after);
    if (err || before == after)
        return err;
    thrum_graph *graph = graph_of(before);
    if (reserve(graph, graph->nexts ? graph->nexts->count + 1 : 1))
        return thrum__graph_fail(graph, THRUM_ENOMEM, "thrum_precede_next: no memory for an edge of graph '%s'",
                                 graph->names->graph);
    thrum__lanes_drop(graph);
    graph->nexts->edges[graph->nexts->count++] =
        (struct next_edge){(uint32_t)thrum_task_number(before), (uint32_t)thrum_task_number(after)};
    return 0;
}

int thrum_graph_set_depth(thrum_graph *graph, unsigned depth)
{
    if (!graph)
        return thrum__fault(THRUM_EINVAL, "thrum_graph_set_depth: the graph is NULL");
    int err = may_change(graph, "thrum_graph_set_depth");
    if (err)
        return err;
    if (depth < 2 || depth > THRUM_DEPTH_MOST)
        return thrum__graph_fail(graph, THRUM_EINVAL,
                                 "thrum_graph_set_depth: the depth of graph '%s' cannot be %u; it is from 2 to %d",
                                 graph->names->graph, depth, (int)THRUM_DEPTH_MOST);
    if (graph->lanes && graph->lanes->depth != depth)
        thrum__lanes_drop(graph);
    graph->depth = depth;
    return 0;
}

int thrum__nexts_copy(const thrum_graph *graph, thrum_graph *clone)
{
    size_t count;
    const struct next_edge *edges = edges_of(graph, &count);
    clone->depth = graph->depth;
    if (!count)
        return 0;
    int err = reserve(clone, count);
    if (err)
        return err;
    memcpy(clone->nexts->edges, edges, count * sizeof *edges);
    clone->nexts->count = count;
    return 0;
}

size_t thrum__nexts_bytes(const thrum_graph *graph)
{
    return (graph->nexts ? bytes_for(graph->nexts->capacity) : 0) + (graph->lanes ? graph->lanes->bytes : 0);
}

void thrum__nexts_visit(const thrum_graph *graph, void (*visit)(int64_t from, int64_t to, void *arg), void *arg)
{
    size_t count;
    const struct next_edge *edges = edges_of(graph, &count);
    for (size_t i = 0; i < count; i++)
        visit((int64_t)edges[i].from, (int64_t)edges[i].to, arg);
}

/* ---- Lanes ------------------------------------------------------------------------------------------------------- */

typedef void edge_fn(const thrum__lanes *lanes, uint32_t from, uint32_t to);

static void for_each_strong(const thrum_graph *graph, edge_fn *fn)
{
    for (const thrum_task *t = thrum__task_first(graph); t; t = thrum__task_after(graph, t)) {
        uintptr_t one;
        const uintptr_t *word = thrum__successors(t, &one);
        for (; word; word = *word & THRUM__LAST ? NULL : word + 1)
            fn(graph->lanes, (uint32_t)thrum_task_number(t), (uint32_t)thrum_task_number(thrum__word_task(*word)));
    }
}

static void for_each_next(const thrum_graph *graph, edge_fn *fn)
{
    size_t count;
    const struct next_edge *edges = edges_of(graph, &count);
    for (size_t i = 0; i < count; i++)
        fn(graph->lanes, edges[i].from, edges[i].to);
}

/* An edge of either kind is a link of both ends, and one thing that both ends wait for. */
static void count_edge(const thrum__lanes *lanes, uint32_t from, uint32_t to)
{
    thrum__lane_at(lanes, from)->full++;
    thrum__lane_at(lanes, to)->full++;
}

static void put_link(const thrum__lanes *lanes, uint32_t from, uint32_t to, enum thrum__link_kind kind)
{
    lanes->links[thrum__lane_at(lanes, from)->links++] = to << THRUM__LINK_BITS | kind;
}

static void put_strong(const thrum__lanes *lanes, uint32_t from, uint32_t to)
{
    put_link(lanes, from, to, THRUM__LINK_STRONG);
}

static void put_next(const thrum__lanes *lanes, uint32_t from, uint32_t to)
{
    put_link(lanes, from, to, THRUM__LINK_NEXT);
}

static void put_strong_credit(const thrum__lanes *lanes, uint32_t from, uint32_t to)
{
    put_link(lanes, to, from, THRUM__LINK_STRONG_CREDIT);
}

static void put_next_credit(const thrum__lanes *lanes, uint32_t from, uint32_t to)
{
    put_link(lanes, to, from, THRUM__LINK_NEXT_CREDIT);
}

/* Successors come before credits in each lane's links: who waits for a result goes before who may overwrite one. While
 * links are put, a lane's `links` is where its next one goes; in the end that is where the following lane's begin. */
static void put_links(const thrum_graph *graph)
{
    const thrum__lanes *lanes = graph->lanes;
    uint32_t at = 0;
    for_each_strong(graph, count_edge);
    for_each_next(graph, count_edge);
    for (size_t i = 0; i <= lanes->count; i++) {
        thrum__lane_at(lanes, i)->links = at;
        at += thrum__lane_at(lanes, i)->full++; /* one more: its own previous firing */
    }
    for_each_strong(graph, put_strong);
    for_each_next(graph, put_next);
    for_each_strong(graph, put_strong_credit);
    for_each_next(graph, put_next_credit);
    for (size_t i = lanes->count; i > 0; i--)
        thrum__lane_at(lanes, i)->links = thrum__lane_at(lanes, i - 1)->links;
    thrum__lane_at(lanes, 0)->links = 0;
}

static size_t round_up(size_t size, size_t to)
{
    return (size + to - 1) / to * to;
}

static int lanes_alloc(thrum_graph *graph)
{
    enum { LINE = 64, LANE_ALIGN = 16 };
    size_t count = thrum__task_count(graph), depth = graph->depth ? graph->depth : THRUM__DEPTH_DEFAULT;
    size_t next_count, stride = round_up(offsetof(thrum__lane, missing) + depth * sizeof(uint32_t), LANE_ALIGN);
    edges_of(graph, &next_count);
    size_t head = sizeof(thrum__lanes) + LINE, lanes_bytes = (count + 1) * stride;
    size_t bytes = head + lanes_bytes + 2 * (graph->edges + next_count) * sizeof(uint32_t);
    thrum__lanes *lanes = thrum__array(bytes);
    if (!lanes)
        return thrum__fault(THRUM_ENOMEM, "thrum_run_pipelined: no memory for the counters of graph '%s'",
                            graph->names->graph);
    *lanes = (thrum__lanes){.bytes = bytes, .count = count, .stride = stride, .depth = (uint32_t)depth};
    lanes->first = (char *)round_up((uintptr_t)(lanes + 1), LINE);
    lanes->links = (uint32_t *)(void *)(lanes->first + lanes_bytes);
    memset(lanes->first, 0, lanes_bytes);
    graph->lanes = lanes;
    if (!graph->terms || graph->terms->most_domain == 0)
        return 0;
    lanes->posts = thrum__zalloc(count * sizeof *lanes->posts);
    if (lanes->posts)
        return 0;
    thrum__lanes_drop(graph);
    return thrum__fault(THRUM_ENOMEM, "thrum_run_pipelined: no memory for the counters of graph '%s'",
                        graph->names->graph);
}

void thrum__lanes_drop(thrum_graph *graph)
{
    if (!graph->lanes)
        return;
    thrum__free(graph->lanes->posts);
    thrum__array_keep(graph->lanes, graph->lanes->bytes);
    graph->lanes = NULL;
}

/* Counts of conditions are of tasks that are or were one. */
static int refuse_conditions(const thrum_graph *graph)
{
    const thrum_task *t = graph->conditions ? thrum__task_first(graph) : NULL;
    while (t && !thrum__is_condition(t))
        t = thrum__task_after(graph, t);
    char room[80];
    return t ? thrum__fault(THRUM_EINVAL,
                            "thrum_run_pipelined: %s of graph '%s' is a condition, and iterations that overlap cannot "
                            "branch or loop; put the branch or loop into a module",
                            thrum__task_label(t, room, sizeof room), graph->names->graph)
             : 0;
}

static int refuse_large(const thrum_graph *graph)
{
    uint64_t most = UINT64_C(1) << (32 - THRUM__LINK_BITS), count = thrum__task_count(graph);
    return count < most ? 0
                        : thrum__fault(THRUM_ELIMIT,
                                       "thrum_run_pipelined: graph '%s' has %llu tasks, but fewer than 2^30 can run "
                                       "pipelined",
                                       graph->names->graph, (unsigned long long)count);
}

int thrum__lanes_prepare(thrum_graph *graph)
{
    int err = refuse_conditions(graph);
    if (!err && !graph->lanes && !(err = refuse_large(graph)) && !(err = lanes_alloc(graph)))
        put_links(graph);
    if (err)
        thrum__graph_keep_message(graph, thrum__last_fault());
    return err;
}

static void add_to_slot(thrum__lane *lane, uint32_t slot)
{
    uint32_t missing = atomic_load_explicit(&lane->missing[slot], memory_order_relaxed);
    atomic_store_explicit(&lane->missing[slot], missing + 1, memory_order_relaxed);
}

/* Of the first K firings all but the first wait for next predecessors; only the last of them waits for a credit: that
 * of firing K - 1 - (K - 1) = 0 of a next successor. */
static void begin_next(const thrum__lanes *lanes, uint32_t from, uint32_t to)
{
    for (uint32_t slot = 1; slot < lanes->depth; slot++)
        add_to_slot(thrum__lane_at(lanes, to), slot);
    add_to_slot(thrum__lane_at(lanes, from), lanes->depth - 1);
}

/* A firing that waits for nothing is ready from the beginning: its slot is that of firing K already. */
static void begin_lane(const thrum__lanes *lanes, thrum__lane *lane, uint32_t strong)
{
    bool source = strong == 0;
    lane->iteration = source ? 0 : UINT64_MAX;
    lane->slot = source ? 0 : lanes->depth - 1;
    atomic_store_explicit(&lane->missing[0], source ? lane->full : strong, memory_order_relaxed);
    for (uint32_t slot = 1; slot < lanes->depth; slot++)
        atomic_store_explicit(&lane->missing[slot], strong + 1, memory_order_relaxed);
}

void thrum__lanes_begin(thrum_graph *graph)
{
    size_t number = 0;
    for (const thrum_task *t = thrum__task_first(graph); t; t = thrum__task_after(graph, t))
        begin_lane(graph->lanes, thrum__lane_at(graph->lanes, number++), t->strong & THRUM__STRONG_MASK);
    for_each_next(graph, begin_next);
}
