/* SPDX-License-Identifier: MIT
 *
 * A plain loop; of "loop-ss" one that calls the body for each iteration, through a pointer.
 */
#include "loops.h"

static void *open_loop(const bench_request *request)
{
    loops_state *state = bench_alloc(1, sizeof *state);
    loops_open(state, request);
    return state;
}

static double pass_loop(void *arg)
{
    loops_state *state = arg;
    double begin = bench_now();
    uint64_t sum = loops_sum(0, 0, state->n);
    return loops_result(state, sum, bench_now() - begin);
}

static uint64_t (*volatile body)(uint64_t sum, size_t lo, size_t hi) = loops_sum;

static double pass_single(void *arg)
{
    loops_state *state = arg;
    uint64_t sum = 0, (*call)(uint64_t sum, size_t lo, size_t hi) = body;
    double begin = bench_now();
    for (size_t i = 0; i < state->n; i++)
        sum = call(sum, i, i + 1);
    return loops_result(state, sum, bench_now() - begin);
}

static bench_work works[] = {
    {"loop-stat", LOOP_STAT, open_loop, pass_loop, free, NULL},
    {"loop-gss", LOOP_GSS, open_loop, pass_loop, free, NULL},
    {"loop-ss", LOOP_SS, open_loop, pass_single, free, NULL},
};

BENCH_WORKS(works)
