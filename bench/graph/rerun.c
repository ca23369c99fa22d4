/* SPDX-License-Identifier: MIT
 *
 * Works that build a graph once and run it again and again: nanoseconds per task.
 */
#include "graph.h"

#include <stdlib.h>

enum { ORDER_CHECK_TASKS = 5000, ORDER_CHECK_RUNS = 3 };

typedef struct rerun {
    bench_shape *shape;
    bench_cells *cells;
    bench_graph *graph;
    uint32_t runs;
} rerun;

static int check_order(enum bench_shape_kind kind, int workers)
{
    bench_shape *shape = bench_shape_new(kind, ORDER_CHECK_TASKS);
    bench_cells *cells = bench_ordered_cells_new(shape);
    bench_graph *graph = bench_graph_new(shape, cells, workers);
    if (graph) {
        bench_graph_build(graph);
        for (int i = 0; i < ORDER_CHECK_RUNS; i++) {
            bench_graph_run(graph);
            bench_cells_verify(cells);
        }
        bench_graph_destroy(graph);
        bench_graph_free(graph);
    }
    bench_cells_free(cells);
    bench_shape_free(shape);
    return graph ? 0 : -1;
}

static void close_rerun(void *state)
{
    rerun *r = state;
    if (r->graph) {
        bench_graph_destroy(r->graph);
        bench_graph_free(r->graph);
    }
    bench_cells_free(r->cells);
    bench_shape_free(r->shape);
    free(r);
}

static void *open_rerun(const bench_request *request)
{
    const bench_rerun *what = &bench_reruns[request->variant];
    if (check_order(what->kind, request->workers) != 0)
        return NULL;
    rerun *r = bench_alloc(1, sizeof *r);
    uint32_t tasks = what->tasks / request->shrink / bench_graph_divisor(what);
    r->shape = bench_shape_new(what->kind, tasks > 10 ? tasks : 10);
    r->cells = bench_cells_new(r->shape->tasks);
    r->runs = what->runs;
    r->graph = bench_graph_new(r->shape, r->cells, request->workers);
    if (!r->graph) {
        close_rerun(r);
        return NULL;
    }
    bench_graph_build(r->graph);
    return r;
}

/* The first run of a pass is not timed: other processes have had the caches since the last one. */
static double pass_rerun(void *state)
{
    rerun *r = state;
    double time = 0;
    bench_graph_run(r->graph);
    bench_cells_verify(r->cells);
    for (uint32_t i = 0; i < r->runs; i++) {
        double begin = bench_now();
        bench_graph_run(r->graph);
        time += bench_now() - begin;
        bench_cells_verify(r->cells);
    }
    return time / r->runs / r->shape->tasks;
}

static bench_work works[BENCH_RERUNS];

__attribute__((constructor)) static void register_works(void)
{
    for (int i = 0; i < BENCH_RERUNS; i++) {
        works[i] = (bench_work){bench_reruns[i].name, i, open_rerun, pass_rerun, close_rerun, NULL};
        if (bench_graph_divisor(&bench_reruns[i]))
            bench_register(&works[i], 1);
    }
}
