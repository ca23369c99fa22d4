/* SPDX-License-Identifier: MIT
 *
 * Works that weigh a graph: resident bytes per task and per edge once it is built and frozen, and what a million
 * re-runs of a small graph leave behind. The driver starts a new runner for every pass, so that the heap is fresh.
 */
#include "graph.h"

#include <stdlib.h>

enum { TASKS = 1000000, RERUN_TASKS = 10, RERUNS = 1000000 };
enum { PER_TASK, PER_EDGE, OVER_RERUNS };

typedef struct weighing {
    bench_request request;
    uint32_t tasks;
} weighing;

/* Never frees: it runs in a child process that ends after it. Arrays of the benchmark's own come before the start. */
static double weigh(enum bench_shape_kind kind, uint32_t tasks)
{
    bench_shape *shape = bench_shape_new(kind, tasks);
    bench_cells *cells = bench_cells_new(tasks);
    bench_graph *graph = bench_graph_new(shape, cells, 1);
    if (!graph)
        return 0;
    double before = bench_resident();
    bench_graph_build(graph);
    return bench_resident() - before;
}

static double weigh_tasks(void *state)
{
    return weigh(BENCH_INDEPENDENT, ((weighing *)state)->tasks);
}

static double weigh_tasks_and_edges(void *state)
{
    return weigh(BENCH_DENSE_DAG, ((weighing *)state)->tasks);
}

static double growth_over_reruns(void *state)
{
    weighing *w = state;
    bench_shape *shape = bench_shape_new(BENCH_CHAIN, RERUN_TASKS);
    bench_cells *cells = bench_cells_new(RERUN_TASKS);
    bench_graph *graph = bench_graph_new(shape, cells, w->request.workers);
    if (!graph)
        return 0;
    bench_graph_build(graph);
    for (uint32_t i = 0; i < 1000; i++) {
        bench_graph_run(graph);
        bench_cells_verify(cells);
    }
    double before = bench_resident();
    for (uint32_t i = 0; i < RERUNS / w->request.shrink; i++) {
        bench_graph_run(graph);
        bench_cells_verify(cells);
    }
    double growth = bench_resident() - before;
    return growth > 0 ? growth : 0;
}

static void *open_weighing(const bench_request *request)
{
    weighing *w = bench_alloc(1, sizeof *w);
    w->request = *request;
    w->tasks = TASKS / request->shrink;
    return w;
}

static double pass_weighing(void *state)
{
    weighing *w = state;
    if (w->request.variant == OVER_RERUNS)
        return growth_over_reruns(w);
    double tasks = bench_in_child(weigh_tasks, w);
    if (w->request.variant == PER_TASK)
        return tasks / w->tasks;
    /* So that tasks times the one work and edges times the other add up to the graph's weight. */
    return (bench_in_child(weigh_tasks_and_edges, w) - tasks) / (4.0 * (w->tasks - 2));
}

static bench_work works[] = {
    {"memory-task", PER_TASK, open_weighing, pass_weighing, free, NULL},
    {"memory-edge", PER_EDGE, open_weighing, pass_weighing, free, NULL},
    {"rerun-memory", OVER_RERUNS, open_weighing, pass_weighing, free, NULL},
};

BENCH_WORKS(works)
