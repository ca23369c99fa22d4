/* SPDX-License-Identifier: MIT
 *
 * The same work with no runtime at all: tasks are numbered so that counting up respects every edge.
 */
#include "graph.h"

#include <stdlib.h>

struct bench_graph {
    const bench_cells *cells;
};

bench_graph *bench_graph_new(const bench_shape *shape, const bench_cells *cells, int workers)
{
    (void)shape;
    (void)workers;
    bench_graph *g = bench_alloc(1, sizeof *g);
    g->cells = cells;
    return g;
}

void bench_graph_add_tasks(bench_graph *g)
{
    (void)g;
}

void bench_graph_add_edges(bench_graph *g)
{
    (void)g;
}

void bench_graph_freeze(bench_graph *g)
{
    (void)g;
}

void bench_graph_run(bench_graph *g)
{
    const bench_cells *cells = g->cells;
    for (uint32_t i = 0; i < cells->count; i++)
        cells->body(bench_cell(cells, i));
}

void bench_graph_destroy(bench_graph *g)
{
    (void)g;
}

void bench_graph_free(bench_graph *g)
{
    free(g);
}

uint32_t bench_graph_divisor(const bench_rerun *rerun)
{
    return rerun->kind == BENCH_WAVEFRONT_SWAPPED || rerun->kind == BENCH_INDEPENDENT_ARENA ? 0 : 1;
}
