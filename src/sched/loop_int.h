/* SPDX-License-Identifier: MIT
 *
 * What the rules share: rounding, clamping, sums over workers; and the list of the rules.
 */
#ifndef THRUM_SCHED_LOOP_INT_H
#define THRUM_SCHED_LOOP_INT_H

#include "sched/loop.h"

extern const thrum__rule thrum__rule_steal, thrum__rule_stat, thrum__rule_ss, thrum__rule_fsc, thrum__rule_mfsc,
    thrum__rule_gss, thrum__rule_tss, thrum__rule_fac, thrum__rule_fac2, thrum__rule_tap, thrum__rule_tfss,
    thrum__rule_bold, thrum__rule_wf, thrum__rule_awf, thrum__rule_awf_b, thrum__rule_awf_c, thrum__rule_awf_d,
    thrum__rule_awf_e, thrum__rule_af, thrum__rule_maf, thrum__rule_fiss, thrum__rule_viss, thrum__rule_pls,
    thrum__rule_rnd;

/* a/b rounded up, without overflow. */
static inline uint64_t thrum__ceil_div(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* The one way from real sizes to whole ones: rounded up, 0 for what is negative or no number, 2^63 for what is larger.
 * What is a whole number but for the rounding of the last few operations counts as that: 1.1 * 10 is 11, not 12, and a
 * compiler that contracts operations changes no size. */
static inline uint64_t thrum__ceil(double x)
{
    x *= 1 - 0x1p-50;
    if (!(x > 0))
        return 0;
    if (x >= 0x1p63)
        return UINT64_C(1) << 63;
    int64_t whole = (int64_t)x;
    return (uint64_t)whole + ((double)whole < x);
}

static inline uint64_t thrum__clamp(const thrum_schedule *schedule, uint64_t size, uint64_t left)
{
    size = size < schedule->facts.least ? schedule->facts.least : size;
    return size < left ? size : left;
}

/* Times per iteration up to this are no measurement: their inverses would be infinite, or stand for all others. */
#define THRUM__NO_TIME 1e-200

/* Keeps `count` sums over the workers in schedule->shared up to date, when what a worker contributes to them was
 * `before` and may have changed. Now and then they are summed up anew, as counted in *renewals; else what rounding
 * loses would add up. */
typedef void thrum__contribute_fn(const thrum__loop_worker *worker, double *part);
void thrum__sums_renew(thrum_schedule *schedule, const thrum__loop_worker *worker, int count,
                       thrum__contribute_fn *contribute, const double *before, uint64_t *renewals);

#endif
