/* SPDX-License-Identifier: MIT
 *
 * BOLD: Hagerup's bold strategy (Allocating independent tasks to parallel processors, JPDC 1997).
 *
 * It keeps an estimate N of the iterations that are not done yet: each worker is expected to go through its chunk at
 * the speed k/(k mu + h), and when it asks again, what it was expected to have done is replaced by what it has done.
 * While others are behind, there is more to come than R says, and chunks can be bolder. Three logarithms are taken per
 * request.
 */
#include "sched/loop_int.h"

#include <math.h>

enum { A, B, LN_B, C1, C2, C3 };                    /* constants */
enum { EXPECTED_LEFT, NOT_FINISHED, SPEED, SINCE }; /* shared: N, M, S, t */

static int bold_begin(thrum_schedule *schedule)
{
    const thrum_loop_facts *facts = &schedule->facts;
    double *c = schedule->constants, spread = facts->deviation / facts->mean;
    c[A] = 2 * spread * spread;
    c[B] = c[A] > 0 ? 8 * c[A] * log(8 * c[A]) : 0; /* from -1/e on */
    c[LN_B] = c[B] > 0 ? log(c[B]) : 0;
    c[C1] = facts->cost / (facts->mean * log(2));
    c[C2] = sqrt(2 * acos(-1)) * c[C1];
    c[C3] = log(c[C2]);
    return 0;
}

static void bold_restart(thrum_schedule *schedule)
{
    schedule->shared[EXPECTED_LEFT] = schedule->shared[NOT_FINISHED] = (double)schedule->facts.iterations;
}

/* The worker asks for more: its chunk is done, and what had been expected of it is taken back. */
static void account(thrum_schedule *schedule, const thrum__loop_worker *worker, double now)
{
    double *shared = schedule->shared;
    if (worker->size > 0) {
        double expected = (now - worker->since) * worker->speed;
        shared[EXPECTED_LEFT] -= (now - shared[SINCE]) * shared[SPEED] + worker->size - expected;
        shared[NOT_FINISHED] -= worker->size;
        shared[SPEED] -= worker->speed;
    }
    shared[SINCE] = now;
}

static double wanted(const thrum_schedule *schedule, uint64_t left)
{
    const double *c = schedule->constants, *shared = schedule->shared;
    double p = schedule->facts.workers, rest = (double)left, share = rest / p, ln_share = log(share);
    double to_come = shared[EXPECTED_LEFT] > rest ? shared[EXPECTED_LEFT] : rest;
    double most = to_come / p, v = share / (c[B] + share);
    double d = rest / (1 + 1 / ln_share - v);
    if (d <= c[C2])
        return most;
    double s = c[A] * (log(d) - c[C3]) * (1 + shared[NOT_FINISHED] / (to_come * p));
    double w = c[B] > 0 ? log(v * ln_share) + c[LN_B] : log(ln_share);
    double size = most + (w > 0 ? c[C1] * w : 0) + s / 2 - sqrt(s * (most + s / 4));
    return size < most ? size : most;
}

static uint64_t bold_size(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now)
{
    thrum__loop_worker *self = &schedule->workers[worker];
    account(schedule, self, now);
    uint64_t size = left <= schedule->facts.workers ? 1 : thrum__ceil(wanted(schedule, left));
    size = thrum__clamp(schedule, size, left);
    self->size = (double)size;
    self->speed = self->size / (self->size * schedule->facts.mean + schedule->facts.cost);
    self->since = now;
    schedule->shared[SPEED] += self->speed;
    return size;
}

const thrum__rule thrum__rule_bold = {
    .name = "BOLD",
    .text = "Hagerup's bold strategy: weighs deviation against cost, and counts on what is under way",
    .order = THRUM__BY_STATE,
    .needs = THRUM_NEEDS_MEAN | THRUM_NEEDS_DEVIATION | THRUM_NEEDS_COST,
    .begin = bold_begin,
    .restart = bold_restart,
    .size = bold_size,
};
