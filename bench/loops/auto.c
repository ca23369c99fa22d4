/* SPDX-License-Identifier: MIT
 *
 * AUTO beside the best of all techniques. First AUTO executes the loop 20 times, from which it may learn. Then all
 * fixed techniques take turns, an execution of each in each of 11 rounds, and the one with the least median is the
 * best. Then that one and AUTO take turns for 11 rounds: the number is AUTO's median over the other's. (The least of so
 * many medians is one that was lucky: it is good enough to tell which technique is the best, not how good that is.)
 * Techniques that cannot be used with so many workers are left out.
 *
 * "auto-change" has one loop that takes on all six shapes one after the other, at one place in the program; after each
 * change AUTO has 20 executions, and the number is the worst of the five.
 */
#include "uneven.h"

#include <thrum/loop.h>
#include <thrum/thrum.h>

#include <stdio.h>
#include <stdlib.h>

enum {
    AUTO_ITERATIONS = 200000,
    AUTO_STEPS = 56,
    AUTO_ROWS = 16384, /* of the loop that reads memory, and words of each */
    AUTO_WORDS = 512,
    AUTO_LEARNING = 20,
    AUTO_ROUNDS = 11,
    AUTO_CHANGE = UNEVEN_SHAPES, /* as a variant: all shapes */
};

typedef struct auto_state {
    thrum_executor *executor;
    int first, last; /* shapes */
    uneven_loop *loops[UNEVEN_SHAPES];
} auto_state;

static void close_auto(void *arg)
{
    auto_state *state = arg;
    thrum_executor_free(state->executor);
    for (int shape = 0; shape < UNEVEN_SHAPES; shape++)
        uneven_free(state->loops[shape]);
    free(state);
}

static void *open_auto(const bench_request *request)
{
    auto_state *state = bench_alloc(1, sizeof *state);
    state->first = request->variant == AUTO_CHANGE ? 0 : request->variant;
    state->last = request->variant == AUTO_CHANGE ? UNEVEN_SHAPES - 1 : request->variant;
    for (int shape = state->first; shape <= state->last; shape++)
        state->loops[shape] = shape == UNEVEN_MEMORY
                                  ? uneven_new(UNEVEN_MEMORY, AUTO_ROWS / request->shrink, AUTO_WORDS)
                                  : uneven_new((enum uneven_shape)shape, AUTO_ITERATIONS / request->shrink, AUTO_STEPS);
    state->executor = thrum_executor_new(&(thrum_config){.workers = request->workers});
    if (state->executor)
        return state;
    bench_bad("no executor: %s", thrum_message(NULL));
    close_auto(state);
    return NULL;
}

static void body(size_t lo, size_t hi, void *ctx)
{
    uneven_do(ctx, lo, hi);
}

/* How a loop is known to the library, in texts that live on. What a fixed technique has measured of one shape is of no
 * use to others: each has its own. AUTO begins anew in each pass. */
static const char *site_of(thrum_technique technique, int shape)
{
    static char names[THRUM_TECHNIQUES][UNEVEN_SHAPES][32];
    char *name = names[technique][shape];
    snprintf(name, sizeof names[0][0], "%s %d", thrum_technique_name(technique), shape);
    return name;
}

static const char *new_site(void)
{
    static unsigned count;
    char *name = bench_alloc(1, 32);
    snprintf(name, 32, "AUTO, pass %u", count++);
    return name;
}

/* The time of an execution; negative: the technique cannot be used here. */
static double execute(auto_state *state, int shape, thrum_technique technique, const char *site)
{
    uneven_loop *loop = state->loops[shape];
    double begin = bench_now();
    int err = thrum_for(state->executor, 0, loop->n, body, loop, .schedule = technique, .site = site);
    double time = bench_now() - begin;
    if (err)
        return -1;
    uneven_verify(loop);
    return time;
}

typedef struct auto_times {
    double of[AUTO_ROUNDS];
    size_t count;
} auto_times;

static void add_time(auto_times *times, double time)
{
    if (time >= 0)
        times->of[times->count++] = time;
}

/* Each round begins with another technique, so that none always comes after the same one. -1: none can be used. */
static int best_technique(auto_state *state, int shape)
{
    auto_times times[THRUM_TECHNIQUES] = {0};
    for (int round = 0; round < AUTO_ROUNDS; round++) {
        for (int k = 0; k < THRUM_TECHNIQUES; k++) {
            thrum_technique technique = (thrum_technique)((k + round) % THRUM_TECHNIQUES);
            add_time(&times[technique], execute(state, shape, technique, site_of(technique, shape)));
        }
    }
    int best = -1;
    double least = 0;
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        double median = times[t].count ? bench_median(times[t].of, times[t].count) : 0;
        if (median > 0 && (best < 0 || median < least)) {
            best = t;
            least = median;
        }
    }
    return best;
}

static double ratio_to_best(auto_state *state, int shape, const char *site)
{
    auto_times mine = {.count = 0}, its = {.count = 0};
    int best = best_technique(state, shape);
    for (int round = 0; round < AUTO_ROUNDS && best >= 0; round++) {
        add_time(&its, execute(state, shape, (thrum_technique)best, site_of((thrum_technique)best, shape)));
        add_time(&mine, execute(state, shape, THRUM_AUTO, site));
    }
    if (mine.count && its.count)
        return bench_median(mine.of, mine.count) / bench_median(its.of, its.count);
    bench_bad("a loop could not be run: %s", thrum_message(NULL));
    return 0;
}

static double pass_auto(void *arg)
{
    auto_state *state = arg;
    const char *site = new_site();
    double worst = 0;
    for (int shape = state->first; shape <= state->last && !bench_is_bad(); shape++) {
        for (int k = 0; k < AUTO_LEARNING; k++)
            execute(state, shape, THRUM_AUTO, site);
        double ratio = shape > state->first || state->first == state->last ? ratio_to_best(state, shape, site) : 0;
        worst = ratio > worst ? ratio : worst;
    }
    return worst;
}

#define ROW(name, variant)                                                                                             \
    {                                                                                                                  \
        "auto-" name, variant, open_auto, pass_auto, close_auto, NULL                                                  \
    }

static bench_work works[] = {
    ROW("uniform", UNEVEN_UNIFORM), ROW("up", UNEVEN_UP),   ROW("down", UNEVEN_DOWN),
    ROW("random", UNEVEN_RANDOM),   ROW("one", UNEVEN_ONE), ROW("memory", UNEVEN_MEMORY),
    ROW("change", AUTO_CHANGE),
};

BENCH_WORKS(works)
