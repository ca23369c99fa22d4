/* SPDX-License-Identifier: MIT
 *
 * Copies of graphs.
 */
#include "model/graph_int.h"
#include "model/next.h"

#include "base/alloc.h"
#include "model/terms.h"

/* Arguments that the graph owns are copied for the clone, which must not depend on it. */
static int copy_argument(const thrum_graph *graph, thrum_graph *clone, thrum_task *task)
{
    const thrum__kept *kept = graph->kept;
    while (kept && (const void *)kept->bytes != task->arg)
        kept = kept->older;
    if (!kept)
        return 0;
    task->arg = thrum__graph_keep(clone, kept->bytes, kept->size);
    return task->arg ? 0 : THRUM_ENOMEM;
}

static int copy_task(const thrum_graph *graph, thrum_graph *clone, const thrum_task *task)
{
    thrum_task *copy = thrum_task_new(clone, thrum__nothing, NULL);
    if (!copy)
        return thrum__last_code();
    copy->fn = task->fn;
    copy->arg = task->arg;
    copy->strong = thrum__kind_of(task);
    const char *name = thrum_task_name(task);
    int err = *name ? thrum_task_set_name(copy, name) : 0;
    if (!err)
        err = thrum__terms_copy(task, copy);
    return err ? err : copy_argument(graph, clone, copy);
}

static thrum_task *task_with_number(const thrum_graph *graph, int64_t number)
{
    size_t neighbours;
    return thrum__task_number_at(graph, (uint64_t)number, &neighbours);
}

static void copy_edges(const thrum_task *task, const thrum_task *const *successors, size_t count, void *arg)
{
    thrum_graph *clone = arg;
    thrum_task *from = task_with_number(clone, thrum_task_number(task));
    for (size_t i = 0; i < count; i++)
        thrum_edge(from, task_with_number(clone, thrum_task_number(successors[i])));
}

thrum_graph *thrum_graph_clone(thrum_graph *graph)
{
    if (!graph) {
        thrum__fault(THRUM_EINVAL, "thrum_graph_clone: the graph is NULL");
        return NULL;
    }
    if (thrum_graph_freeze(graph))
        return NULL;
    thrum_graph *clone = thrum_graph_new(graph->names->graph);
    if (!clone)
        return NULL;
    int err = thrum_graph_reserve(clone, thrum__task_count(graph));
    for (const thrum_task *t = thrum__task_first(graph); t && !err; t = thrum__task_after(graph, t))
        err = copy_task(graph, clone, t);
    clone->conditions = graph->conditions;
    clone->strict = graph->strict;
    if (!err)
        err = thrum_graph_visit(graph, copy_edges, clone);
    if (!err)
        err = thrum__nexts_copy(graph, clone);
    if (err || thrum__root_code(&clone->object.root)) {
        thrum__graph_destroy(clone);
        thrum__fault(THRUM_ENOMEM, "thrum_graph_clone: no memory for a copy of graph '%s'", graph->names->graph);
        return NULL;
    }
    return clone;
}
