/* SPDX-License-Identifier: MIT
 *
 * Loops with uneven iterations by rules that even them out: the time of a loop over the least that it could take, which is the
 * larger of two bounds.
 *
 * work/p: what the workers would need if none ever waited. The speed of the machine is measured before and after each loop, by
 * as many threads as there are workers (see uneven_speed), because two busy processors need not be as fast as one.
 *
 * The longest chunk: a rule that hands out iterations in order cannot begin with a heavy iteration before what is in front of
 * it has been handed out, and the chunk that it is in is done by one worker. So: the moment at which that chunk began, or the
 * work in front of it shared evenly, whichever is earlier, plus the work of the chunk. Where no iteration is heavy this is
 * less than work/p.
 */
#include "uneven.h"

#include <thrum/loop.h>
#include <thrum/thrum.h>

#include <stdlib.h>

enum { RAMP_ITERATIONS = 20000, RAMP_STEPS = 700, RAMP_LEARNING = 20, RAMP_REPEATS = 5 };

typedef struct ramp_state {
    uneven_loop *loop;
    thrum_technique technique;
    thrum_executor *executor;
    int workers, to_share; /* to_share: over work/p alone */
    uint64_t turn;
    double chunk_began; /* the chunk with the longest iteration */
    size_t chunk_lo, chunk_hi;
} ramp_state;

#define SHARE 256
#define VARIANT(shape, technique) ((int)(shape)*1000 + (int)(technique))

static void close_ramp(void *arg)
{
    ramp_state *state = arg;
    thrum_executor_free(state->executor);
    uneven_free(state->loop);
    free(state);
}

static void body(size_t lo, size_t hi, void *ctx)
{
    ramp_state *state = ctx;
    if (lo <= state->loop->longest && state->loop->longest < hi) {
        state->chunk_began = bench_now();
        state->chunk_lo = lo;
        state->chunk_hi = hi;
    }
    uneven_do(state->loop, lo, hi);
}

/* The heavy iteration is at another place each time. */
static double run_loop(ramp_state *state)
{
    uneven_loop *loop = state->loop;
    if (loop->shape == UNEVEN_ONE)
        uneven_move(loop, ++state->turn);
    double begin = bench_now();
    if (thrum_for(state->executor, 0, loop->n, body, state, .schedule = state->technique))
        bench_bad("%s", thrum_message(NULL));
    double time = bench_now() - begin;
    state->chunk_began -= begin;
    uneven_verify(loop);
    return time;
}

static void *open_ramp(const bench_request *request)
{
    ramp_state *state = bench_alloc(1, sizeof *state);
    int variant = request->variant % 1000;
    state->technique = (thrum_technique)(variant % SHARE);
    state->to_share = variant >= SHARE;
    state->workers = request->workers;
    state->loop =
        uneven_new((enum uneven_shape)(request->variant / 1000), RAMP_ITERATIONS / request->shrink, RAMP_STEPS);
    state->executor = thrum_executor_new(&(thrum_config){.workers = request->workers});
    if (!state->executor)
        bench_bad("no executor: %s", thrum_message(NULL));
    for (int k = 0; k < RAMP_LEARNING && state->technique == THRUM_AUTO && !bench_is_bad(); k++)
        run_loop(state);
    if (!bench_is_bad())
        return state;
    close_ramp(state);
    return NULL;
}

static double bound(const ramp_state *state, double speed)
{
    int processors = uneven_processors();
    int at_once = state->workers < processors ? state->workers : processors;
    double share = (double)state->loop->total / speed;
    double before = (double)uneven_steps(state->loop, 0, state->chunk_lo) / speed;
    double began = state->chunk_began < before ? state->chunk_began : before;
    double chunk = began + (double)uneven_steps(state->loop, state->chunk_lo, state->chunk_hi) * at_once / speed;
    return chunk > share && !state->to_share ? chunk : share;
}

/* A loop takes about 10 ms with two workers; the median of a few says more than one that takes as long as all of them. */
static double pass_ramp(void *arg)
{
    ramp_state *state = arg;
    double ratios[RAMP_REPEATS];
    for (int k = 0; k < RAMP_REPEATS; k++) {
        double before = uneven_speed(state->loop, state->workers, 2);
        double time = run_loop(state);
        double after = uneven_speed(state->loop, state->workers, 2);
        ratios[k] = time / bound(state, (before + after) / 2);
    }
    return bench_median(ratios, RAMP_REPEATS);
}

#define ROW(name, shape, technique)                                                                                    \
    {                                                                                                                  \
        "ramp-" name, VARIANT(shape, technique), open_ramp, pass_ramp, close_ramp, NULL                                \
    }
#define ROWS(name, shape, more)                                                                                        \
    ROW(name "-fac2", shape, THRUM_FAC2 + (more)), ROW(name "-awf-c", shape, THRUM_AWF_C + (more)),                    \
        ROW(name "-af", shape, THRUM_AF + (more)), ROW(name "-auto", shape, THRUM_AUTO + (more))

static bench_work works[] = {
    ROWS("up", UNEVEN_UP, 0),   ROWS("down", UNEVEN_DOWN, 0),         ROWS("random", UNEVEN_RANDOM, 0),
    ROWS("one", UNEVEN_ONE, 0), ROWS("one-share", UNEVEN_ONE, SHARE),
};

BENCH_WORKS(works)
