/* SPDX-License-Identifier: MIT
 *
 * Graphs as OpenMP has them: one thread makes tasks whose order follows from depend clauses. There is nothing to keep
 * between two runs, so a run includes making the tasks.
 */
#include "graph.h"

#include <stdlib.h>

struct bench_graph {
    const bench_shape *shape;
    const bench_cells *cells;
    int workers;
    char *token;               /* one address a task, for the depend clauses */
    uint32_t *predecessors[2]; /* of the random graph */
};

bench_graph *bench_graph_new(const bench_shape *shape, const bench_cells *cells, int workers)
{
    bench_graph *g = bench_alloc(1, sizeof *g);
    g->shape = shape;
    g->cells = cells;
    g->workers = workers;
    g->token = bench_alloc(shape->tasks, 1);
    if (shape->kind == BENCH_RANDOM_DAG) {
        g->predecessors[0] = bench_alloc(shape->tasks, sizeof(uint32_t));
        g->predecessors[1] = bench_alloc(shape->tasks, sizeof(uint32_t));
        for (size_t i = 0; i < shape->edge_count; i++)
            g->predecessors[i % 2][shape->edges[i].after] = shape->edges[i].before;
    }
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

static void make_independent(const bench_graph *g, bench_body *body)
{
    for (uint32_t i = 0; i < g->cells->count; i++) {
        void *cell = bench_cell(g->cells, i);
#pragma omp task firstprivate(body, cell)
        body(cell);
    }
}

static void make_source(char *token, bench_body *body, void *cell)
{
#pragma omp task firstprivate(body, cell) depend(out : token[0])
    body(cell);
    (void)token;
}

static void make_after_one(char *before, char *token, bench_body *body, void *cell)
{
#pragma omp task firstprivate(body, cell) depend(in : before[0]) depend(out : token[0])
    body(cell);
    (void)before;
    (void)token;
}

static void make_after_two(char *before, char *also, char *token, bench_body *body, void *cell)
{
#pragma omp task firstprivate(body, cell) depend(in : before[0], also[0]) depend(out : token[0])
    body(cell);
    (void)before;
    (void)also;
    (void)token;
}

static void make_chain(const bench_graph *g, bench_body *body)
{
    char *token = g->token;
    make_source(token, body, bench_cell(g->cells, 0));
    for (uint32_t i = 1; i < g->cells->count; i++)
        make_after_one(&token[i - 1], &token[i], body, bench_cell(g->cells, i));
}

static void make_tree(const bench_graph *g, bench_body *body)
{
    char *token = g->token;
    make_source(token, body, bench_cell(g->cells, 0));
    for (uint32_t i = 1; i < g->cells->count; i++)
        make_after_one(&token[(i - 1) / 2], &token[i], body, bench_cell(g->cells, i));
}

static void make_wavefront(const bench_graph *g, bench_body *body)
{
    char *token = g->token;
    uint32_t side = g->shape->side;
    for (uint32_t i = 0; i < g->cells->count; i++) {
        void *cell = bench_cell(g->cells, i);
        if (i == 0)
            make_source(token, body, cell);
        else if (i < side)
            make_after_one(&token[i - 1], &token[i], body, cell);
        else if (i % side == 0)
            make_after_one(&token[i - side], &token[i], body, cell);
        else
            make_after_two(&token[i - 1], &token[i - side], &token[i], body, cell);
    }
}

static void make_random(const bench_graph *g, bench_body *body)
{
    char *token = g->token;
    make_source(&token[0], body, bench_cell(g->cells, 0));
    make_source(&token[1], body, bench_cell(g->cells, 1));
    for (uint32_t i = 2; i < g->cells->count; i++)
        make_after_two(&token[g->predecessors[0][i]], &token[g->predecessors[1][i]], &token[i], body,
                       bench_cell(g->cells, i));
}

static void make_tasks(const bench_graph *g)
{
    switch (g->shape->kind) {
    case BENCH_INDEPENDENT:
        make_independent(g, g->cells->body);
        break;
    case BENCH_CHAIN:
        make_chain(g, g->cells->body);
        break;
    case BENCH_TREE:
        make_tree(g, g->cells->body);
        break;
    case BENCH_WAVEFRONT:
        make_wavefront(g, g->cells->body);
        break;
    case BENCH_RANDOM_DAG:
        make_random(g, g->cells->body);
        break;
    default:
        bench_bad("OpenMP has no such graph");
    }
}

/* The region's closing barrier waits for the tasks. */
void bench_graph_run(bench_graph *g)
{
#pragma omp parallel num_threads(g->workers)
#pragma omp single
    make_tasks(g);
}

void bench_graph_destroy(bench_graph *g)
{
    (void)g;
}

void bench_graph_free(bench_graph *g)
{
    free(g->predecessors[0]);
    free(g->predecessors[1]);
    free(g->token);
    free(g);
}

/* The order of a task's successors cannot be said in OpenMP, and it has no arenas. */
uint32_t bench_graph_divisor(const bench_rerun *rerun)
{
    if (rerun->kind == BENCH_WAVEFRONT_SWAPPED || rerun->kind == BENCH_INDEPENDENT_ARENA)
        return 0;
    return rerun->kind != BENCH_INDEPENDENT && rerun->tasks > 10000 ? 10 : 1;
}
