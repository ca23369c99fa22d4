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
};

bench_graph *bench_graph_new(const bench_shape *shape, const bench_cells *cells, int workers)
{
    bench_graph *g = bench_alloc(1, sizeof *g);
    g->shape = shape;
    g->cells = cells;
    g->tasks = bench_alloc(shape->tasks, sizeof(thrum_task *));
    for (uint32_t i = 0; i < shape->tasks; i++)
        ((thrum_task *volatile *)g->tasks)[i] = NULL; /* touches the pages */
    g->executor = thrum_executor_new(&(thrum_config){.workers = workers});
    if (!g->executor) {
        bench_bad("no executor: %s", thrum_message(NULL));
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
}

void bench_graph_add_edges(bench_graph *g)
{
    const bench_shape *shape = g->shape;
    if (shape->kind == BENCH_CHAIN) {
        for (uint32_t i = 1; i < shape->tasks; i++)
            thrum_edge(g->tasks[i - 1], g->tasks[i]);
        return;
    }
    for (size_t i = 0; i < shape->edge_count; i++)
        thrum_edge(g->tasks[shape->edges[i].before], g->tasks[shape->edges[i].after]);
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
    free(g->tasks);
    free(g);
}

uint32_t bench_graph_divisor(const bench_rerun *rerun)
{
    (void)rerun;
    return 1;
}
