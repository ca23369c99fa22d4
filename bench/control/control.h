/* SPDX-License-Identifier: MIT
 *
 * Works about loops: a body of tasks that runs many times, inside one run of a graph or by many.
 */
#ifndef BENCH_CONTROL_H
#define BENCH_CONTROL_H

#include "../graph/graph.h"

enum { CONTROL_CONDITION, CONTROL_BODY, CONTROL_ITERATE, CONTROL_ITERATE_CHAIN, CONTROL_WORKS };

typedef struct control_loop {
    const char *name;
    enum bench_shape_kind kind; /* of the body; with one source and one sink, which are its first and last task */
    uint32_t tasks, turns;
    int per_task; /* else per turn */
} control_loop;

static const control_loop control_loops[CONTROL_WORKS] = {
    {"condition", BENCH_CHAIN, 1, 1000000, 0},
    {"condition-body", BENCH_WAVEFRONT, 1024, 1000, 1},
    {"iterate", BENCH_FAN, 10, 100000, 0},
    {"iterate-chain", BENCH_CHAIN, 10, 100000, 0},
};

enum { CONTROL_CHECK_TURNS = 20 }; /* of the untimed loop that checks the order */

static inline double control_unit(const control_loop *loop, const bench_shape *shape, uint32_t turns, double time)
{
    return time / turns / (loop->per_task ? shape->tasks : 1);
}

/* The body has run `turns` times since the last call. */
static inline void control_verify(bench_cells *cells, uint32_t turns)
{
    cells->rounds += turns - 1;
    bench_cells_verify(cells);
}

#endif
