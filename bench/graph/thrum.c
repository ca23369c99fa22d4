/* SPDX-License-Identifier: MIT */
#include "graph.h"

#include <thrum/thrum.h>

#include <stdlib.h>

struct bench_graph {
    const bench_shape *shape;
    const bench_cells *cells;
    thrum_executor *executor;
    thrum_graph *graph;
    thrum_task **tasks;
    thrum_task **ends; /* of the edges, two each: looked up before the adding is timed */
};

bench_graph *bench_graph_new(const bench_shape *shape, const bench_cells *cells, int workers)
{
    bench_graph *g = bench_alloc(1, sizeof *g);
    g->shape = shape;
    g->cells = cells;
    g->tasks = bench_alloc(shape->tasks, sizeof(thrum_task *));
    for (uint32_t i = 0; i < shape->tasks; i++)
        ((thrum_task *volatile *)g->tasks)[i] = NULL; /* touches the pages */
    g->ends = bench_alloc(2 * shape->edge_count + 1, sizeof(thrum_task *));
    for (size_t i = 0; i < 2 * shape->edge_count; i++)
        ((thrum_task *volatile *)g->ends)[i] = NULL;
    g->executor = thrum_executor_new(&(thrum_config){.workers = workers});
    if (!g->executor) {
        bench_bad("no executor: %s", thrum_message(NULL));
        free(g->ends);
        free(g->tasks);
        free(g);
        return NULL;
    }
    return g;
}

void bench_graph_add_tasks(bench_graph *g)
{
    const bench_cells *cells = g->cells;
    g->graph = thrum_graph_new("bench");
    for (uint32_t i = 0; i < cells->count; i++)
        g->tasks[i] = thrum_task_new(g->graph, cells->body, bench_cell(cells, i));
    for (size_t i = 0; i < g->shape->edge_count; i++) {
        g->ends[2 * i] = g->tasks[g->shape->edges[i].before];
        g->ends[2 * i + 1] = g->tasks[g->shape->edges[i].after];
    }
}

void bench_graph_add_edges(bench_graph *g)
{
    for (size_t i = 0; i < g->shape->edge_count; i++)
        thrum_edge(g->ends[2 * i], g->ends[2 * i + 1]);
}

void bench_graph_freeze(bench_graph *g)
{
    if (thrum_graph_freeze(g->graph) != 0)
        bench_bad("freeze: %s", thrum_message(g->graph));
}

void bench_graph_run(bench_graph *g)
{
    if (thrum_run(g->executor, g->graph) != 0)
        bench_bad("run: %s", thrum_message(g->graph));
}

void bench_graph_destroy(bench_graph *g)
{
    if (thrum_graph_free(g->graph) != 0)
        bench_bad("destroy: %s", thrum_message(NULL));
    g->graph = NULL;
}

void bench_graph_free(bench_graph *g)
{
    thrum_executor_free(g->executor);
    free(g->ends);
    free(g->tasks);
    free(g);
}

uint32_t bench_graph_divisor(const bench_rerun *rerun)
{
    (void)rerun;
    return 1;
}
