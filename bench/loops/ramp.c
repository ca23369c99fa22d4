/* SPDX-License-Identifier: MIT
 *
 * Loops with uneven iterations by rules that even them out: the time of a loop over the least that it could take, which
 * is the larger of two bounds.
 *
 * work/p: what the workers would need if none ever waited. The speed of the machine is measured before and after each
 * loop, by as many threads as there are workers (see uneven_speed), because two busy processors need not be as fast as
 * one.
 *
 * The longest chunk: a chunk is done by one worker, and does not begin before what is in front of it has been handed
 * out. So: the moment at which the chunk with the most work began, or the work in front of it shared evenly, whichever
 * is earlier, plus the work of the chunk. It matters where one iteration has a third of the work, and where a rule
 * misjudges a loop.
 *
 * The works with "share" in their names compare with work/p alone.
 */
#include "uneven.h"

#include <thrum/loop.h>
#include <thrum/thrum.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { RAMP_ITERATIONS = 20000, RAMP_STEPS = 700, RAMP_LEARNING = 20, RAMP_REPEATS = 5 };

typedef struct ramp_state {
    uneven_loop *loop;
    thrum_technique technique;
    thrum_executor *executor;
    int workers, to_share; /* to_share: over work/p alone */
    uint64_t turn;
    /* The longest chunk so far: */
    _Atomic uint64_t chunk_steps;
    pthread_mutex_t chunk_lock; /* for those below, and to raise the one above */
    double chunk_began;
    size_t chunk_lo;
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

/* Few chunks are longer than all before them, so this is hardly ever more than a look. */
static void note_chunk(ramp_state *state, size_t lo, size_t hi)
{
    uint64_t steps = uneven_steps(state->loop, lo, hi);
    if (steps <= atomic_load_explicit(&state->chunk_steps, memory_order_relaxed))
        return;
    pthread_mutex_lock(&state->chunk_lock);
    if (steps > atomic_load_explicit(&state->chunk_steps, memory_order_relaxed)) {
        atomic_store_explicit(&state->chunk_steps, steps, memory_order_relaxed);
        state->chunk_began = bench_now();
        state->chunk_lo = lo;
    }
    pthread_mutex_unlock(&state->chunk_lock);
}

static void body(size_t lo, size_t hi, void *ctx)
{
    ramp_state *state = ctx;
    note_chunk(state, lo, hi);
    uneven_do(state->loop, lo, hi);
}

/* The heavy iteration is at another place each time. */
static double run_loop(ramp_state *state)
{
    uneven_loop *loop = state->loop;
    if (loop->shape == UNEVEN_ONE)
        uneven_move(loop, ++state->turn);
    atomic_store_explicit(&state->chunk_steps, 0, memory_order_relaxed);
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
    pthread_mutex_init(&state->chunk_lock, NULL);
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
    double share = (double)uneven_steps(state->loop, 0, state->loop->n) / speed;
    double before = (double)uneven_steps(state->loop, 0, state->chunk_lo) / speed;
    double began = state->chunk_began < before ? state->chunk_began : before;
    double chunk = began + (double)atomic_load(&state->chunk_steps) * at_once / speed;
    return chunk > share && !state->to_share ? chunk : share;
}

/* A loop takes about 10 ms with two workers; the median of a few says more than one that takes as long as all of
 * them. */
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
    ROWS("up", UNEVEN_UP, 0),   ROWS("down", UNEVEN_DOWN, 0),           ROWS("random", UNEVEN_RANDOM, 0),
    ROWS("one", UNEVEN_ONE, 0), ROWS("down-share", UNEVEN_DOWN, SHARE), ROWS("one-share", UNEVEN_ONE, SHARE),
};

BENCH_WORKS(works)
