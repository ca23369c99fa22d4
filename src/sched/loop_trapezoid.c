/* SPDX-License-Identifier: MIT
 *
 * Chunks that go down from n/(2p) to 1 in equal steps (TSS), and batches of their means (TFSS).
 *
 * The step delta = (f - 1)/(N - 1) is a fraction, not a whole number: rounding it down, as is often done, makes far
 * more and larger chunks than meant. All is done in whole numbers and exactly: the request number i gets ceil(f - i
 * delta) = f - floor(i (f - 1)/(N - 1)), and the floor is kept as a whole part and a remainder that grow by those of
 * delta.
 */
#include "sched/loop_int.h"

enum { FIRST, STEP, STEP_REST, STEPS }; /* wholes: f, (f - 1)/(N - 1), the remainder of that, and N - 1 */
enum { DOWN, DOWN_REST };               /* counts: i delta */

static int trapezoid_begin(thrum_schedule *schedule)
{
    uint64_t n = schedule->facts.iterations, *wholes = schedule->wholes;
    uint64_t first = thrum__ceil_div(n, 2 * (uint64_t)schedule->facts.workers);
    uint64_t chunks = thrum__ceil_div(2 * n, first + 1);
    wholes[FIRST] = first;
    wholes[STEPS] = chunks > 1 ? chunks - 1 : 1;
    wholes[STEP] = (first - (first > 0)) / wholes[STEPS];
    wholes[STEP_REST] = (first - (first > 0)) % wholes[STEPS];
    return 0;
}

static void step_down(const uint64_t *wholes, uint64_t *counts)
{
    if (counts[DOWN] + 1 >= wholes[FIRST])
        return;
    counts[DOWN] += wholes[STEP];
    counts[DOWN_REST] += wholes[STEP_REST];
    if (counts[DOWN_REST] >= wholes[STEPS]) {
        counts[DOWN_REST] -= wholes[STEPS];
        counts[DOWN]++;
    }
}

static uint64_t tss_size(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now)
{
    (void)left, (void)worker, (void)now;
    uint64_t size = schedule->wholes[FIRST] - schedule->counts[DOWN];
    /* The remainder is what rounding up has added. */
    size -= schedule->facts.nearest && 2 * schedule->counts[DOWN_REST] > schedule->wholes[STEPS];
    step_down(schedule->wholes, schedule->counts);
    return size;
}

const thrum__rule thrum__rule_tss = {
    .name = "TSS",
    .text = "trapezoid self scheduling: sizes go down from n/(2p) to 1 in equal steps",
    .order = THRUM__BY_NUMBER,
    .begin = trapezoid_begin,
    .size = tss_size,
};

static uint64_t tfss_size(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now)
{
    (void)left, (void)worker, (void)now;
    uint32_t p = schedule->facts.workers;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p; i++) {
        sum += schedule->wholes[FIRST] - schedule->counts[DOWN];
        step_down(schedule->wholes, schedule->counts);
    }
    schedule->same = p - 1;
    return thrum__ceil_div(sum, p);
}

const thrum__rule thrum__rule_tfss = {
    .name = "TFSS",
    .text = "trapezoid factoring: batches of equal chunks, each of the mean of the next p sizes of TSS",
    .order = THRUM__BY_NUMBER,
    .begin = trapezoid_begin,
    .size = tfss_size,
};
