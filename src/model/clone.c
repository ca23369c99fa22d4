/* SPDX-License-Identifier: MIT
 *
 * Copies of graphs.
 */
#include "model/graph_int.h"
#include "model/next.h"

#include "base/alloc.h"
#include "model/terms.h"

#include <stdlib.h>
#include <string.h>

/* Arguments that the graph owns, by their addresses: there may be one for each task. */
struct arguments {
    thrum__kept **at;
    size_t count;
};

static int compare_addresses(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)(*(thrum__kept *const *)a)->bytes, y = (uintptr_t)(*(thrum__kept *const *)b)->bytes;
    return x < y ? -1 : x > y;
}

static int list_arguments(const thrum_graph *graph, struct arguments *arguments)
{
    size_t count = 0;
    for (const thrum__kept *kept = graph->kept; kept; kept = kept->older)
        count++;
    *arguments = (struct arguments){.at = count ? thrum__alloc(count * sizeof(thrum__kept *)) : NULL};
    if (count && !arguments->at)
        return THRUM_ENOMEM;
    for (thrum__kept *kept = graph->kept; kept; kept = kept->older)
        arguments->at[arguments->count++] = kept;
    if (count)
        qsort(arguments->at, count, sizeof(thrum__kept *), compare_addresses);
    return 0;
}

/* They are copied for the clone, which must not depend on the graph. */
static int copy_argument(const struct arguments *arguments, thrum_graph *clone, thrum_task *task)
{
    if (arguments->count == 0 || !task->arg)
        return 0;
    const thrum__kept wanted = {.bytes = task->arg}, *key = &wanted;
    thrum__kept *const *found = bsearch(&key, arguments->at, arguments->count, sizeof key, compare_addresses);
    if (!found)
        return 0;
    const thrum__kept *kept = *found;
    task->arg = thrum__graph_keep_room(clone, kept->size, kept->rest_size, kept->counted);
    if (!task->arg)
        return THRUM_ENOMEM;
    memcpy(task->arg, kept->bytes, kept->size);
    if (kept->counted) {
        memcpy(thrum__kept_rest(task->arg), kept->rest, kept->rest_size);
        kept->counted(task->arg, 1);
    }
    return 0;
}

static int copy_task(const struct arguments *arguments, thrum_graph *clone, const thrum_task *task)
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
    return err ? err : copy_argument(arguments, clone, copy);
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
    struct arguments arguments = {NULL, 0};
    int err = thrum_graph_reserve(clone, thrum__task_count(graph));
    if (!err)
        err = list_arguments(graph, &arguments);
    for (const thrum_task *t = thrum__task_first(graph); t && !err; t = thrum__task_after(graph, t))
        err = copy_task(&arguments, clone, t);
    thrum__free(arguments.at);
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
