/* SPDX-License-Identifier: MIT
 *
 * The search for races between a condition and other predecessors of a task: the second pitfall of figure 10 in
 * "Taskflow" (Huang, Lin, Lin and Lin, TPDS 2022).
 *
 * A task t that waits for others and to which a condition c has an edge is suspect if c can be reached from the
 * beginning without passing t. Then c may name t before, while or after the others make it ready. If every way to c
 * leads through t, the edge is a loop back to a task that has run.
 */
#include "model/graph_int.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

struct walk {
    const thrum_task **stack;
    uint8_t *seen;
};

static void visit(struct walk *walk, size_t *depth, const thrum_task *task)
{
    uint8_t *seen = &walk->seen[thrum_task_number(task)];
    if (*seen)
        return;
    *seen = 1;
    walk->stack[(*depth)++] = task;
}

static bool has_edge(const thrum_task *from, const thrum_task *to)
{
    uintptr_t one;
    const uintptr_t *word = thrum__successors(from, &one);
    for (; word; word = *word & THRUM__LAST ? NULL : word + 1)
        if (thrum__word_task(*word) == to)
            return true;
    return false;
}

/* A condition with an edge to the task that can be reached without passing it, or NULL. */
static const thrum_task *reach_around(const thrum_graph *graph, const thrum_task *task, struct walk *walk)
{
    size_t depth = 0;
    memset(walk->seen, 0, thrum__task_count(graph));
    walk->seen[thrum_task_number(task)] = 1;
    for (size_t i = 0; i < graph->source_count; i++)
        visit(walk, &depth, graph->sources[i]);
    while (depth > 0) {
        const thrum_task *at = walk->stack[--depth];
        if (thrum__is_condition(at) && has_edge(at, task))
            return at;
        uintptr_t one;
        const uintptr_t *word = thrum__successors(at, &one);
        for (; word; word = *word & THRUM__LAST ? NULL : word + 1)
            visit(walk, &depth, thrum__word_task(*word));
    }
    return NULL;
}

static char *describe(const thrum_graph *graph, const thrum_task *condition, const thrum_task *task)
{
    char text[400], one[80], other[80];
    snprintf(
        text, sizeof text,
        "graph '%s': condition %s may name %s while that waits for its other predecessors, so it may run twice or too "
        "early",
        graph->names->graph, thrum__task_label(condition, one, sizeof one),
        thrum__task_label(task, other, sizeof other));
    return thrum__copy_text(text);
}

int thrum__graph_find_race(const thrum_graph *graph, char **text)
{
    uint64_t count = thrum__task_count(graph);
    *text = NULL;
    if (!graph->conditions || !graph->sources)
        return 0;
    struct walk walk = {thrum__alloc((count + 1) * sizeof *walk.stack), thrum__alloc(count + 1)};
    int err = walk.stack && walk.seen ? 0 : -1;
    const thrum_task *t = err ? NULL : thrum__task_first(graph);
    for (; t && !*text && !err; t = thrum__task_after(graph, t)) {
        if (!(t->strong & THRUM__WEAK_IN) || !(t->strong & THRUM__STRONG_MASK))
            continue;
        const thrum_task *condition = reach_around(graph, t, &walk);
        if (condition && !(*text = describe(graph, condition, t)))
            err = -1;
    }
    thrum__free(walk.stack);
    thrum__free(walk.seen);
    return err;
}

const char *thrum_graph_warning(thrum_graph *graph)
{
    if (!graph) {
        thrum__fault(THRUM_EINVAL, "thrum_graph_warning: the graph is NULL");
        return NULL;
    }
    if (thrum_graph_freeze(graph))
        return NULL;
    char *text;
    if (thrum__graph_find_race(graph, &text)) {
        thrum__fault(THRUM_ENOMEM, "thrum_graph_warning: no memory");
        return NULL;
    }
    thrum__free(graph->warning);
    graph->warning = text;
    return text ? text : "";
}

int thrum_graph_strict(thrum_graph *graph, bool strict)
{
    if (!graph)
        return thrum__fault(THRUM_EINVAL, "thrum_graph_strict: the graph is NULL");
    int err = thrum__graph_open(graph, "thrum_graph_strict");
    if (!err)
        graph->strict = strict;
    return err;
}
