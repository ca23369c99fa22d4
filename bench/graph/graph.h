/* SPDX-License-Identifier: MIT
 *
 * What an implementation must be able to do with a graph so that building, running and weighing it can be measured.
 *
 * The steps come in the order in which they stand here. Run may be called many times; after destroy, the steps may
 * begin again at add_tasks, on a heap that is warm by then. OpenMP and sequential code have no graphs to keep: their
 * steps before run do nothing, and for OpenMP a run includes making the tasks.
 */
#ifndef BENCH_GRAPH_H
#define BENCH_GRAPH_H

#include "../common/shapes.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_graph bench_graph;

/* Threads, and arrays for the handles of tasks. NULL: failed, and bench_bad was called. */
bench_graph *bench_graph_new(const bench_shape *shape, const bench_cells *cells, int workers);
void bench_graph_add_tasks(bench_graph *graph);
void bench_graph_add_edges(bench_graph *graph);
void bench_graph_freeze(bench_graph *graph);
void bench_graph_run(bench_graph *graph);
void bench_graph_destroy(bench_graph *graph);
void bench_graph_free(bench_graph *graph);

/* By what the size of a re-run is divided for this implementation: OpenMP's tasks with dependences take microseconds
 * each, and would make up most of the time of the whole suite. 0: it has no such work. */
uint32_t bench_graph_divisor(const bench_rerun *rerun);

static inline void bench_graph_build(bench_graph *graph)
{
    bench_graph_add_tasks(graph);
    bench_graph_add_edges(graph);
    bench_graph_freeze(graph);
}

#ifdef __cplusplus
}
#endif

#endif
