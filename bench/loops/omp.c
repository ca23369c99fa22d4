/* SPDX-License-Identifier: MIT */
#include "loops.h"

static void *open_loop(const bench_request *request)
{
    loops_state *state = bench_alloc(1, sizeof *state);
    loops_open(state, request);
    return state;
}

/* The clauses must be written out: schedule(runtime) would be another, slower way into the library. */
static uint64_t loop_static(long n, int workers)
{
    uint64_t sum = 0, zero = loops_nothing;
#pragma omp parallel for schedule(static) num_threads(workers) reduction(+ : sum)
    for (long i = 0; i < n; i++)
        sum = loops_step(sum, (uint64_t)i, zero);
    return sum;
}

static uint64_t loop_guided(long n, int workers)
{
    uint64_t sum = 0, zero = loops_nothing;
#pragma omp parallel for schedule(guided) num_threads(workers) reduction(+ : sum)
    for (long i = 0; i < n; i++)
        sum = loops_step(sum, (uint64_t)i, zero);
    return sum;
}

static uint64_t loop_dynamic(long n, int workers)
{
    uint64_t sum = 0, zero = loops_nothing;
#pragma omp parallel for schedule(dynamic, 1) num_threads(workers) reduction(+ : sum)
    for (long i = 0; i < n; i++)
        sum = loops_step(sum, (uint64_t)i, zero);
    return sum;
}

static uint64_t loop(const loops_state *state)
{
    switch (state->variant) {
    case LOOP_GSS:
        return loop_guided((long)state->n, state->workers);
    case LOOP_SS:
        return loop_dynamic((long)state->n, state->workers);
    default:
        return loop_static((long)state->n, state->workers);
    }
}

static double pass_loop(void *arg)
{
    loops_state *state = arg;
    uint64_t sum = 0;
    double begin = bench_now();
    for (size_t k = 0; k < state->repeats; k++)
        sum += loop(state);
    return loops_result(state, sum, bench_now() - begin);
}

static bench_work works[] = {
    {"loop-stat", LOOP_STAT, open_loop, pass_loop, free, NULL},
    {"loop-gss", LOOP_GSS, open_loop, pass_loop, free, NULL},
    {"loop-ss", LOOP_SS, open_loop, pass_loop, free, NULL},
    {"loop-fork", LOOP_FORK, open_loop, pass_loop, free, NULL},
};

BENCH_WORKS(works)
