/* SPDX-License-Identifier: MIT
 *
 * Batches: p requests in a row get chunks of one size, which is worked out at the first of them.
 */
#include "sched/loop_int.h"

#include <math.h>

/* The size that was just worked out is that of a whole batch. */
static uint64_t for_a_batch(thrum_schedule *schedule, uint64_t size)
{
    schedule->same = schedule->facts.workers - 1;
    return size;
}

/* ---- Factoring: each batch is a share of what is left ------------------------------------------------------------ */

enum { HALF_SPREAD }; /* constants: p sigma/(2 mu) */

static int fac_begin(thrum_schedule *schedule)
{
    const thrum_loop_facts *facts = &schedule->facts;
    schedule->constants[HALF_SPREAD] = facts->workers * (facts->deviation / facts->mean) / 2;
    return 0;
}

static uint64_t fac_size(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now)
{
    (void)worker, (void)now;
    double rest = (double)left, b = schedule->constants[HALF_SPREAD] / sqrt(rest);
    double base = schedule->requests == 0 ? 1 : 2; /* the first batch takes more: nothing is uneven yet */
    double x = base + b * b + b * sqrt(b * b + 2 * base);
    return for_a_batch(schedule, thrum__ceil(rest / (x * schedule->facts.workers)));
}

const thrum__rule thrum__rule_fac = {
    .name = "FAC",
    .text = "factoring: batches of equal chunks, each a share of what is left that follows from the deviation of times",
    .order = THRUM__BY_NUMBER,
    .needs = THRUM_NEEDS_MEAN | THRUM_NEEDS_DEVIATION,
    .begin = fac_begin,
    .size = fac_size,
};

static uint64_t fac2_size(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now)
{
    (void)worker, (void)now;
    return for_a_batch(schedule, thrum__ceil_div(left, 2 * (uint64_t)schedule->facts.workers));
}

const thrum__rule thrum__rule_fac2 = {
    .name = "FAC2",
    .text = "factoring by halves: batches of equal chunks, each half of what is left",
    .order = THRUM__BY_NUMBER,
    .size = fac2_size,
};

/* ---- Batches that grow ------------------------------------------------------------------------------------------- */

enum { FIRST, STEP }; /* wholes: the size in the first batch; FISS: how much it grows */
enum { BATCH };       /* counts: batches so far */

/* c0 = n/(X p) and a step of 2n (1 - B/X)/(p B (B - 1)), which is 4n/(X p B (B - 1)), X being B + 2; both rounded down.
 * Dividing by one factor after the other rounds down to the same, and nothing overflows but 4n, which is 128 bits
 * wide. */
static int fiss_begin(thrum_schedule *schedule)
{
    __extension__ typedef unsigned __int128 wide;
    thrum_loop_facts *facts = &schedule->facts;
    if (facts->stages == 0)
        facts->stages = facts->workers - 1;
    if (facts->stages < 2)
        facts->stages = 2;
    uint64_t stages = facts->stages, share = facts->iterations / (stages + 2);
    wide step = (wide)facts->iterations * 4;
    step = step / (stages + 2) / facts->workers / stages / (stages - 1);
    schedule->wholes[FIRST] = share / facts->workers;
    schedule->wholes[STEP] = (uint64_t)step; /* at most 4n/8 */
    return 0;
}

static uint64_t fiss_size(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now)
{
    (void)left, (void)worker, (void)now;
    return for_a_batch(schedule, schedule->wholes[FIRST] + schedule->wholes[STEP] * schedule->counts[BATCH]++);
}

const thrum__rule thrum__rule_fiss = {
    .name = "FISS",
    .text = "fixed increase: batches of equal chunks that grow by equal steps",
    .order = THRUM__BY_NUMBER,
    .begin = fiss_begin,
    .size = fiss_size,
};

static int viss_begin(thrum_schedule *schedule)
{
    schedule->wholes[FIRST] = schedule->facts.iterations / schedule->facts.workers / schedule->facts.workers;
    return 0;
}

/* floor(c0 (1 - 0.5^(j + 1))/0.5) = 2 c0 - ceil(c0/2^j) in batch j. */
static uint64_t viss_size(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now)
{
    (void)left, (void)worker, (void)now;
    uint64_t first = schedule->wholes[FIRST], batch = schedule->counts[BATCH]++;
    uint64_t missing = batch < 63 ? thrum__ceil_div(first, UINT64_C(1) << batch) : first > 0;
    return for_a_batch(schedule, 2 * first - missing);
}

const thrum__rule thrum__rule_viss = {
    .name = "VISS",
    .text = "variable increase: batches of equal chunks that grow by half as much each time",
    .order = THRUM__BY_NUMBER,
    .begin = viss_begin,
    .size = viss_size,
};
