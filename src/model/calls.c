/* SPDX-License-Identifier: MIT
 *
 * The calls of a graph without edges. Its tasks are run one after the other as they lie, and of each record half is not
 * needed. Where tasks take less than it takes to fetch their records, a copy of the other half is worth its 16 bytes a
 * task: docs/benchmarking.md. So it is made for graphs that are known for such tasks, when they are run again, if there
 * is memory.
 */
#include "base/alloc.h"
#include "model/graph.h"

static bool has_only_calls(const thrum_graph *graph)
{
    for (const thrum_task *task = thrum__task_first(graph); task; task = thrum__task_after(graph, task))
        if (task->strong != 0)
            return false;
    return true;
}

void thrum__calls_make(thrum_graph *graph)
{
    size_t at = 0;
    graph->calls_tried = true;
    if (graph->edges || graph->sources || graph->terms || !has_only_calls(graph))
        return;
    graph->call_count = thrum__task_count(graph);
    graph->calls = thrum__array(graph->call_count * sizeof *graph->calls);
    if (!graph->calls)
        return;
    for (const thrum_task *task = thrum__task_first(graph); task; task = thrum__task_after(graph, task))
        graph->calls[at++] = (thrum__bare_call){task->fn.plain, task->arg};
}

void thrum__calls_drop(thrum_graph *graph)
{
    if (graph->calls)
        thrum__array_keep(graph->calls, graph->call_count * sizeof *graph->calls);
    graph->calls = NULL;
    graph->calls_tried = false;
}
