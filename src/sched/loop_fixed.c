/* SPDX-License-Identifier: MIT
 *
 * Chunks that all have one size, known at the beginning.
 */
#include "base/fault.h"
#include "sched/loop_int.h"

#include <math.h>

enum { SIZE }; /* wholes */

static uint64_t fixed_size(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now)
{
    (void)left, (void)worker, (void)now;
    schedule->same = UINT64_MAX;
    return schedule->wholes[SIZE];
}

static int ss_begin(thrum_schedule *schedule)
{
    schedule->wholes[SIZE] = 1;
    return 0;
}

const thrum__rule thrum__rule_ss = {
    .name = "SS",
    .text = "self scheduling: one iteration at a time; the best balance at the highest cost",
    .order = THRUM__BY_NUMBER,
    .begin = ss_begin,
    .size = fixed_size,
};

/* Kruskal and Weiss: (sqrt(2) n h / (sigma p sqrt(ln p)))^(2/3). The cube root is taken first: it is exact more often
 * than a power of 2/3. */
static int fsc_begin(thrum_schedule *schedule)
{
    const thrum_loop_facts *facts = &schedule->facts;
    if (facts->workers == 1)
        return thrum__fault(THRUM_EINVAL,
                            "FSC divides by the logarithm of the number of workers: it needs two or more");
    if (facts->deviation == 0)
        return thrum__fault(THRUM_EINVAL, "FSC divides by the deviation of an iteration's time: it must be above 0");
    double p = facts->workers;
    double root = cbrt(sqrt(2) * (double)facts->iterations * facts->cost / (facts->deviation * p * sqrt(log(p))));
    schedule->wholes[SIZE] = thrum__ceil(root * root);
    return 0;
}

const thrum__rule thrum__rule_fsc = {
    .name = "FSC",
    .text = "fixed-size chunking: the one size that is best for the deviation of times and the cost of a chunk",
    .order = THRUM__BY_NUMBER,
    .needs = THRUM_NEEDS_DEVIATION | THRUM_NEEDS_COST,
    .begin = fsc_begin,
    .size = fixed_size,
};

/* A block of t = n/p iterations makes log2(t) chunks, about as many as a worker gets from FAC2. */
static int mfsc_begin(thrum_schedule *schedule)
{
    uint64_t block = thrum__ceil_div(schedule->facts.iterations, schedule->facts.workers);
    double t = (double)block;
    schedule->wholes[SIZE] = block > 1 ? (uint64_t)(0.55 + t * log(2) / log(t)) : 1;
    return 0;
}

const thrum__rule thrum__rule_mfsc = {
    .name = "mFSC",
    .text = "fixed-size chunking without measurements: as many chunks as FAC2 makes, all of one size",
    .order = THRUM__BY_NUMBER,
    .begin = mfsc_begin,
    .size = fixed_size,
};
