/* SPDX-License-Identifier: MIT
 *
 * Chunks that follow from the number R of iterations that are left, and from nothing else that changes.
 */
#include "sched/loop_int.h"

#include <math.h>

static uint64_t gss_size(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now)
{
    (void)worker, (void)now;
    return thrum__ceil_div(left, schedule->facts.workers);
}

const thrum__rule thrum__rule_gss = {
    .name = "GSS",
    .text = "guided self scheduling: a worker's share of what is left, at each request",
    .order = THRUM__BY_REST,
    .size = gss_size,
};

/* ---- TAP: the share less a margin, so that the chunk is unlikely to be the last one to end ----------------------- */

enum { V, HALF_SQUARE, QUARTER_SQUARE }; /* v = alpha sigma/mu; v^2/2; v^2/4 */

static int tap_begin(thrum_schedule *schedule)
{
    thrum_loop_facts *facts = &schedule->facts;
    facts->alpha = facts->alpha > 0 ? facts->alpha : 1.3;
    double v = facts->alpha * facts->deviation / facts->mean;
    schedule->constants[V] = v;
    schedule->constants[HALF_SQUARE] = v * v / 2;
    schedule->constants[QUARTER_SQUARE] = v * v / 4;
    return 0;
}

static uint64_t tap_size(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now)
{
    (void)worker, (void)now;
    const double *c = schedule->constants;
    double share = (double)left / schedule->facts.workers;
    return thrum__ceil(share + c[HALF_SQUARE] - c[V] * sqrt(2 * share + c[QUARTER_SQUARE]));
}

const thrum__rule thrum__rule_tap = {
    .name = "TAP",
    .text = "taper: a worker's share of what is left, less what the deviation of times makes likely",
    .order = THRUM__BY_REST,
    .needs = THRUM_NEEDS_MEAN | THRUM_NEEDS_DEVIATION,
    .begin = tap_begin,
    .size = tap_size,
};

/* ---- PLS: the first p requests share a half; then as GSS --------------------------------------------------------- */

enum { FIRST_SIZE, FIRST_LAST }; /* wholes: the size of the first p chunks; they are over when so many are left */

static int pls_begin(thrum_schedule *schedule)
{
    const thrum_loop_facts *facts = &schedule->facts;
    uint64_t n = facts->iterations, p = facts->workers;
    uint64_t size = thrum__ceil_div(n, 2 * p);
    size = size < facts->least ? facts->least : size;
    schedule->wholes[FIRST_SIZE] = size;
    schedule->wholes[FIRST_LAST] = size > n / p ? 0 : n - p * size;
    return 0;
}

static uint64_t pls_size(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now)
{
    if (left > schedule->wholes[FIRST_LAST])
        return schedule->wholes[FIRST_SIZE];
    return gss_size(schedule, left, worker, now);
}

const thrum__rule thrum__rule_pls = {
    .name = "PLS",
    .text = "performance-based: a half in equal blocks, the rest as GSS",
    .order = THRUM__BY_REST,
    .begin = pls_begin,
    .size = pls_size,
};

/* ---- RND --------------------------------------------------------------------------------------------------------- */

static int rnd_begin(thrum_schedule *schedule)
{
    thrum_loop_facts *facts = &schedule->facts;
    if (facts->bound == 0)
        facts->bound = facts->iterations / facts->workers;
    if (facts->bound == 0)
        facts->bound = 1;
    return 0;
}

/* Scrambles 64 bits (the last step of splitmix64). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Drawn from the seed and R, not from a generator with a state: so any thread can tell the size. */
static uint64_t rnd_size(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now)
{
    (void)worker, (void)now;
    return 1 + mix(mix(schedule->facts.seed + UINT64_C(0x9e3779b97f4a7c15)) + left) % schedule->facts.bound;
}

const thrum__rule thrum__rule_rnd = {
    .name = "RND",
    .text = "sizes at random, between 1 and a bound",
    .order = THRUM__BY_REST,
    .begin = rnd_begin,
    .size = rnd_size,
};
