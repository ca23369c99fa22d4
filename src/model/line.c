/* SPDX-License-Identifier: MIT
 *
 * Graphs in line. Where no edge leads from a younger task to an older one, the order of creation is one in which the
 * tasks can be run. One worker that runs them so needs neither counters nor lists, and finds records where the
 * processor expects them; what was recorded from a flow is of that kind. Counters are not touched, so that a line which
 * ends leaves the graph as it was. One that is broken off, since others want a part of it, sets right the counters of
 * the rest.
 */
#include "base/alloc.h"
#include "model/graph.h"

#include <string.h>

/* Others take the worker elsewhere, or need more than a call. */
static bool has_plain_functions_only(const thrum_graph *graph)
{
    for (const thrum_task *task = thrum__task_first(graph); task; task = thrum__task_after(graph, task))
        if (task->strong & THRUM__SLOW)
            return false;
    return true;
}

bool thrum__line_possible(thrum_graph *graph)
{
    if (graph->line.tried)
        return graph->line.rest;
    graph->line.tried = true;
    if (graph->sources && !graph->backward && !graph->terms && !graph->conditions && has_plain_functions_only(graph))
        graph->line.rest = thrum__alloc(thrum__task_count(graph) * sizeof *graph->line.rest);
    return graph->line.rest;
}

void thrum__line_drop(thrum_graph *graph)
{
    thrum__free(graph->line.rest);
    memset(&graph->line, 0, sizeof graph->line);
}

/* Nobody else touches counters meanwhile. */
static uint32_t change(thrum_task *task, uint32_t by)
{
    uint32_t pending = atomic_load_explicit(&task->pending, memory_order_relaxed) + by;
    atomic_store_explicit(&task->pending, pending, memory_order_relaxed);
    return pending;
}

/* Tells those successors that have not begun: places grow in the order of creation. */
static void tell_the_rest(const thrum_task *task, uint32_t first_place)
{
    uintptr_t one;
    const uintptr_t *word = thrum__successors(task, &one);
    for (; word; word = *word & THRUM__LAST ? NULL : word + 1)
        if (thrum__place_of(thrum__word_task(*word)) >= first_place)
            change(thrum__word_task(*word), (uint32_t)-1);
}

/* As an arrival does that makes a task ready. A source has a count of nothing from the beginning. */
static bool take_if_ready(thrum_task *task)
{
    if (change(task, 0) > 0)
        return false;
    atomic_store_explicit(&task->pending, task->strong & THRUM__STRONG_MASK, memory_order_relaxed);
    return true;
}

size_t thrum__line_break(thrum_graph *graph, uint64_t begun)
{
    uint64_t number = 1;
    size_t count = 0;
    uint32_t place = thrum__place_of(thrum__task_number_at(graph, begun - 1, &count)) + 1;
    thrum_task *task = thrum__task_first(graph);
    for (; number < begun; number++, task = thrum__task_after(graph, task))
        tell_the_rest(task, place);
    for (count = 0; (task = thrum__task_after(graph, task));)
        if (take_if_ready(task))
            graph->line.rest[count++] = task;
    return count;
}
