/* SPDX-License-Identifier: MIT */
#include "loops.h"

#include <thrum/loop.h>
#include <thrum/thrum.h>

typedef struct thrum_state {
    loops_state loops;
    thrum_technique technique;
    thrum_executor *executor;
} thrum_state;

static const thrum_technique techniques[] = {
    [LOOP_STAT] = THRUM_STAT, [LOOP_GSS] = THRUM_GSS, [LOOP_SS] = THRUM_SS, [LOOP_FORK] = THRUM_STAT};

static void *open_loop(const bench_request *request)
{
    thrum_state *state = bench_alloc(1, sizeof *state);
    loops_open(&state->loops, request);
    state->technique = techniques[request->variant];
    state->executor = thrum_executor_new(&(thrum_config){.workers = request->workers});
    if (state->executor)
        return state;
    bench_bad("no executor: %s", thrum_message(NULL));
    free(state);
    return NULL;
}

static void close_loop(void *arg)
{
    thrum_state *state = arg;
    thrum_executor_free(state->executor);
    free(state);
}

static void body(size_t lo, size_t hi, void *ctx)
{
    (void)ctx;
    loops_do(lo, hi);
}

static double pass_loop(void *arg)
{
    thrum_state *state = arg;
    int err = 0;
    double begin = bench_now();
    for (size_t k = 0; k < state->loops.repeats && !err; k++)
        err = thrum_for(state->executor, 0, state->loops.n, body, NULL, .schedule = state->technique);
    double time = bench_now() - begin;
    if (err)
        bench_bad("%s", thrum_message(NULL));
    return loops_result(&state->loops, loops_collect(), time);
}

static bench_work works[] = {
    {"loop-stat", LOOP_STAT, open_loop, pass_loop, close_loop, NULL},
    {"loop-gss", LOOP_GSS, open_loop, pass_loop, close_loop, NULL},
    {"loop-ss", LOOP_SS, open_loop, pass_loop, close_loop, NULL},
    {"loop-fork", LOOP_FORK, open_loop, pass_loop, close_loop, NULL},
};

BENCH_WORKS(works)
