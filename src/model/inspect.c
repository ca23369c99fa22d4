/* SPDX-License-Identifier: MIT
 *
 * Reading a graph: visiting and measuring. Both freeze the graph first, so that successors are in lists.
 */
#include "model/graph_int.h"
#include "model/next.h"

#include "base/alloc.h"

/* A graph that is neither running nor failed, with its layout: 0 or an error. */
static int readable(thrum_graph *graph, bool given, const char *what)
{
    if (!graph || !given)
        return thrum__fault(THRUM_EINVAL, "%s: %s is NULL", what, graph ? "a needed argument" : "the graph");
    return thrum_graph_freeze(graph);
}

static size_t successor_count(const thrum_task *task)
{
    uintptr_t one;
    size_t count = 0;
    const uintptr_t *word = thrum__successors(task, &one);
    for (; word; word = *word & THRUM__LAST ? NULL : word + 1)
        count++;
    return count;
}

static size_t widest(const thrum_graph *graph)
{
    size_t most = 0;
    for (const thrum_task *t = thrum__task_first(graph); t; t = thrum__task_after(graph, t)) {
        size_t count = successor_count(t);
        most = count > most ? count : most;
    }
    return most;
}

int thrum_graph_visit(thrum_graph *graph, thrum_visit_fn *visit, void *arg)
{
    int err = readable(graph, visit != NULL, "thrum_graph_visit");
    if (err)
        return err;
    const thrum_task **room = thrum__alloc((widest(graph) + 1) * sizeof *room);
    if (!room)
        return thrum__fault(THRUM_ENOMEM, "thrum_graph_visit: no memory");
    for (const thrum_task *t = thrum__task_first(graph); t; t = thrum__task_after(graph, t)) {
        uintptr_t one;
        size_t count = 0;
        const uintptr_t *word = thrum__successors(t, &one);
        for (; word; word = *word & THRUM__LAST ? NULL : word + 1)
            room[count++] = thrum__word_task(*word);
        visit(t, room, count, arg);
    }
    thrum__free(room);
    return 0;
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

/* For each task: the longest way to it, itself included. `missing` counts predecessors not yet seen: the tasks' own
 * counters are left alone, so that measuring does not disturb a run. */
struct reach {
    uint64_t tasks;
    double weight;
    uint32_t missing;
};

static void extend(struct reach *to, const struct reach *from)
{
    if (from->tasks > to->tasks)
        to->tasks = from->tasks;
    if (from->weight > to->weight)
        to->weight = from->weight;
}

static void measure(const thrum_graph *graph, double (*weight)(const thrum_task *, void *), void *arg,
                    struct reach *reach, const thrum_task **queue, thrum_graph_stats *stats)
{
    size_t head = 0, tail = 0;
    for (const thrum_task *t = thrum__task_first(graph); t; t = thrum__task_after(graph, t)) {
        reach[thrum_task_number(t)].missing = t->strong & THRUM__STRONG_MASK;
        if (!(t->strong & THRUM__STRONG_MASK))
            queue[tail++] = t;
    }
    stats->sources = graph->source_count;
    while (head < tail) {
        const thrum_task *t = queue[head++];
        struct reach *here = &reach[thrum_task_number(t)];
        double own = weight ? weight(t, arg) : 1;
        here->tasks += 1;
        here->weight += own;
        stats->work += own;
        stats->sinks += t->next == 0;
        stats->span = here->tasks > stats->span ? here->tasks : stats->span;
        stats->span_work = here->weight > stats->span_work ? here->weight : stats->span_work;
        uintptr_t one;
        const uintptr_t *word = thrum__is_condition(t) ? NULL : thrum__successors(t, &one);
        for (; word; word = *word & THRUM__LAST ? NULL : word + 1) {
            struct reach *to = &reach[thrum_task_number(thrum__word_task(*word))];
            extend(to, here);
            if (--to->missing == 0)
                queue[tail++] = thrum__word_task(*word);
        }
    }
}

static size_t bytes_held(const thrum_graph *graph)
{
    size_t bytes = sizeof *graph + graph->chunk_capacity * sizeof *graph->chunks;
    bytes += (graph->list_words + (graph->sources ? graph->source_count : 0)) * sizeof(void *);
    bytes += graph->names->capacity * sizeof(char *);
    bytes += thrum__nexts_bytes(graph);
    for (const thrum__kept *kept = graph->kept; kept; kept = kept->older)
        bytes += sizeof *kept + kept->size + kept->rest_size;
    /* Of the chunks only what is used takes memory. */
    return bytes + thrum__task_count(graph) * sizeof(thrum_task) + graph->chunk_count * sizeof(thrum__chunk);
}

int thrum_graph_measure(thrum_graph *graph, double (*weight)(const thrum_task *task, void *arg), void *arg,
                        thrum_graph_stats *stats)
{
    int err = readable(graph, stats != NULL, "thrum_graph_measure");
    if (err)
        return err;
    uint64_t count = thrum__task_count(graph);
    struct reach *reach = thrum__zalloc((count + 1) * sizeof *reach);
    const thrum_task **queue = thrum__alloc((count + 1) * sizeof *queue);
    if (reach && queue) {
        *stats = (thrum_graph_stats){.tasks = count, .edges = graph->edges, .bytes = bytes_held(graph)};
        measure(graph, weight, arg, reach, queue, stats);
    } else {
        err = thrum__fault(THRUM_ENOMEM, "thrum_graph_measure: no memory");
    }
    thrum__free(reach);
    thrum__free(queue);
    return err;
}
