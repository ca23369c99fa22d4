/* SPDX-License-Identifier: MIT
 *
 * The same for an implementation whose graphs cannot loop: the body is run from outside each time. Instead of a loop of
 * one task it runs a chain of as many.
 */
#include "control.h"

#include <stdlib.h>

typedef struct again {
    const control_loop *loop;
    bench_shape *shape;
    bench_cells *cells;
    bench_graph *graph;
    uint32_t turns;
} again;

static void *open_again(const bench_request *request)
{
    again *a = bench_alloc(1, sizeof *a);
    uint32_t turns = control_loops[request->variant].turns / request->shrink;
    int chain = request->variant == CONTROL_CONDITION;
    a->loop = &control_loops[request->variant];
    a->turns = chain ? 1 : turns;
    a->shape = bench_shape_new(a->loop->kind, chain ? turns : a->loop->tasks);
    a->cells = bench_cells_new(a->shape->tasks);
    a->graph = bench_graph_new(a->shape, a->cells, request->workers);
    bench_graph_build(a->graph);
    return a;
}

static void run_often(const again *a, uint32_t turns)
{
    for (uint32_t i = 0; i < turns; i++)
        bench_graph_run(a->graph);
    control_verify(a->cells, turns);
}

static double pass_again(void *state)
{
    const again *a = state;
    run_often(a, a->turns > 10 ? a->turns / 10 : 1);
    double begin = bench_now();
    for (uint32_t i = 0; i < a->turns; i++)
        bench_graph_run(a->graph);
    double time = bench_now() - begin;
    control_verify(a->cells, a->turns);
    if (a->loop == &control_loops[CONTROL_CONDITION])
        return time / a->shape->tasks;
    return control_unit(a->loop, a->shape, a->turns, time);
}

static void close_again(void *state)
{
    again *a = state;
    bench_graph_destroy(a->graph);
    bench_graph_free(a->graph);
    bench_cells_free(a->cells);
    bench_shape_free(a->shape);
    free(a);
}

static bench_work works[] = {
    {"condition", CONTROL_CONDITION, open_again, pass_again, close_again, NULL},
    {"condition-body", CONTROL_BODY, open_again, pass_again, close_again, NULL},
    {"iterate", CONTROL_ITERATE, open_again, pass_again, close_again, NULL},
    {"iterate-chain", CONTROL_ITERATE_CHAIN, open_again, pass_again, close_again, NULL},
};

BENCH_WORKS(works)
