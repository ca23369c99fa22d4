/* SPDX-License-Identifier: MIT
 *
 * Works that time the steps of building a graph and of destroying it, on a warm heap: every pass builds it anew.
 */
#include "graph.h"

#include <stdlib.h>

enum { TASKS = 1000000, SCALE_TASKS = 10000000 };
enum { CREATE, EDGE_CHAIN, EDGE_CHAIN_FREEZE, EDGE_RANDOM_FREEZE, DESTROY, DESTROY_CHAIN, SCALE };

typedef struct building {
    int variant;
    int verified;
    bench_shape *shape;
    bench_cells *cells;
    bench_graph *graph;
} building;

static enum bench_shape_kind kind_of(int variant)
{
    switch (variant) {
    case CREATE:
    case SCALE:
        return BENCH_INDEPENDENT;
    case EDGE_RANDOM_FREEZE:
    case DESTROY:
        return BENCH_RANDOM_EDGES;
    default:
        return BENCH_CHAIN;
    }
}

static void close_building(void *state)
{
    building *b = state;
    if (b->graph)
        bench_graph_free(b->graph);
    bench_cells_free(b->cells);
    bench_shape_free(b->shape);
    free(b);
}

static void *open_building(const bench_request *request)
{
    building *b = bench_alloc(1, sizeof *b);
    uint32_t tasks = (request->variant == SCALE ? SCALE_TASKS : TASKS) / request->shrink;
    b->variant = request->variant;
    b->shape = bench_shape_new(kind_of(request->variant), tasks);
    b->cells = bench_cells_new(b->shape->tasks);
    b->graph = bench_graph_new(b->shape, b->cells, request->workers);
    if (!b->graph) {
        close_building(b);
        return NULL;
    }
    return b;
}

static void run_verified(building *b)
{
    bench_graph_run(b->graph);
    bench_cells_verify(b->cells);
    b->verified = 1;
}

/* The first pass also runs what was built, untimed, to see that it is all there. */
static double pass_building(void *state)
{
    building *b = state;
    double time[5];
    time[0] = bench_now();
    bench_graph_add_tasks(b->graph);
    time[1] = bench_now();
    bench_graph_add_edges(b->graph);
    time[2] = bench_now();
    bench_graph_freeze(b->graph);
    time[3] = bench_now();
    if (!b->verified)
        run_verified(b);
    time[4] = bench_now();
    bench_graph_destroy(b->graph);
    double end = bench_now();
    switch (b->variant) {
    case CREATE:
        return (time[1] - time[0]) / b->shape->tasks;
    case EDGE_CHAIN:
        return (time[2] - time[1]) / (double)b->shape->edge_count;
    case DESTROY:
    case DESTROY_CHAIN:
        return (end - time[4]) / b->shape->tasks;
    default:
        return (time[3] - time[1]) / (double)b->shape->edge_count;
    }
}

/* Building and running a very large graph once. */
static double pass_scale(void *state)
{
    building *b = state;
    double begin = bench_now();
    bench_graph_build(b->graph);
    bench_graph_run(b->graph);
    double time = bench_now() - begin;
    bench_cells_verify(b->cells);
    bench_graph_destroy(b->graph);
    return time / b->shape->tasks;
}

static bench_work works[] = {
    {"create", CREATE, open_building, pass_building, close_building, NULL},
    {"edge-chain", EDGE_CHAIN, open_building, pass_building, close_building, NULL},
    {"edge-chain-freeze", EDGE_CHAIN_FREEZE, open_building, pass_building, close_building, NULL},
    {"edge-random-freeze", EDGE_RANDOM_FREEZE, open_building, pass_building, close_building, NULL},
    {"destroy", DESTROY, open_building, pass_building, close_building, NULL},
    {"destroy-chain", DESTROY_CHAIN, open_building, pass_building, close_building, NULL},
    {"scale-10m", SCALE, open_building, pass_scale, close_building, NULL},
};

BENCH_WORKS(works)
