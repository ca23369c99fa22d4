/* SPDX-License-Identifier: MIT
 *
 * AF: adaptive factoring (Banicescu and Liu). Each worker's own mean mu_i and variance sigma_i^2 are estimated while
 * the loop runs. With D = sum of sigma_i^2/mu_i and T = 1/(sum of 1/mu_i), worker i gets
 *
 *     (D + 2 T R - sqrt(D^2 + 4 D T R))/(2 mu_i)  =  2 (T R)^2/(mu_i (D + 2 T R + sqrt(D) sqrt(D + 4 T R)))
 *
 * iterations. The second form does not lose its digits when D is large, and neither overflows nor divides by 0 before
 * times do.
 *
 * **Variance.** Whole chunks are timed, not iterations. The mean m_j of a chunk of k_j iterations has the variance
 * sigma^2/k_j, so sum of k_j (m_j - mu)^2/(J - 1) over J chunks estimates sigma^2. With fewer than ENOUGH chunks that
 * says little, and the worker counts with the squared ratio sigma/mu that all chunks of all workers show together,
 * which does not depend on how fast a worker is. While nobody has done two chunks, sigma/mu is taken to be 1.
 *
 * Workers not measured yet count with the values of the one who asks. Times of 0 are no measurement: a worker that has
 * shown nothing else counts, when it asks, with the (harmonic) mean of the others.
 */
#include "sched/loop_int.h"

#include <math.h>

enum { ENOUGH = 4 };

/* shared, over measured workers: their number, sum of 1/mu, of sigma^2/mu of those with a variance of their own, of mu
 * of the others, of squares/mu^2 and of J - 1. */
enum { MEASURED, RATES, OWN_SPREAD, OTHER_MEANS, RELATIVE_SQUARES, FREEDOM, SUMS };
enum { RENEWALS }; /* counts */
enum { FIRST };    /* wholes: the size of a worker's first chunk */

static int af_begin(thrum_schedule *schedule)
{
    schedule->wholes[FIRST] = thrum__ceil_div(schedule->facts.iterations, 10 * (uint64_t)schedule->facts.workers);
    return 0;
}

/* 0: not measured. */
static double mean_of(const thrum__loop_worker *worker)
{
    double iterations = (double)worker->iterations;
    return worker->time > THRUM__NO_TIME * iterations ? worker->time / iterations : 0;
}

static void contribute(const thrum__loop_worker *worker, double *part)
{
    double mean = mean_of(worker), freedom = (double)worker->chunks - 1;
    for (int i = 0; i < SUMS; i++)
        part[i] = 0;
    if (!(mean > 0))
        return;
    part[MEASURED] = 1;
    part[RATES] = 1 / mean;
    part[RELATIVE_SQUARES] = worker->squares / mean / mean;
    part[FREEDOM] = freedom;
    if (worker->chunks >= ENOUGH)
        part[OWN_SPREAD] = worker->squares / freedom / mean;
    else
        part[OTHER_MEANS] = mean;
}

static uint64_t size_for(const thrum_schedule *schedule, uint64_t left, double mean, double spread, double ratio)
{
    const double *sums = schedule->shared;
    double missing = schedule->facts.workers - sums[MEASURED];
    double d = sums[OWN_SPREAD] + ratio * sums[OTHER_MEANS] + missing * spread;
    double tr = (double)left / (sums[RATES] + missing / mean);
    return thrum__ceil(2 * (tr / mean) * (tr / (d + 2 * tr + sqrt(d) * sqrt(d + 4 * tr))));
}

static uint64_t af_size(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now)
{
    (void)now;
    const thrum__loop_worker *self = &schedule->workers[worker];
    const double *sums = schedule->shared;
    if (self->chunks == 0 || !(sums[MEASURED] > 0))
        return schedule->wholes[FIRST];
    double mean = mean_of(self), ratio = sums[FREEDOM] > 0 ? sums[RELATIVE_SQUARES] / sums[FREEDOM] : 1;
    if (!(mean > 0))
        mean = sums[MEASURED] / sums[RATES];
    else if (self->chunks >= ENOUGH)
        return size_for(schedule, left, mean, self->squares / (double)(self->chunks - 1) / mean, ratio);
    return size_for(schedule, left, mean, ratio * mean, ratio);
}

/* Welford's way to keep a sum of squares around a mean that moves. */
static void add_chunk(thrum__loop_worker *worker, uint64_t iterations, double time)
{
    double before = worker->chunks > 0 ? worker->time / (double)worker->iterations : 0;
    double chunk_mean = time / (double)iterations;
    worker->chunks++;
    worker->iterations += iterations;
    worker->time += time;
    if (worker->chunks == 1)
        return;
    double square = (chunk_mean - before) * (chunk_mean - worker->time / (double)worker->iterations);
    worker->squares += square > 0 ? (double)iterations * square : 0;
}

static void af_finished(thrum_schedule *schedule, uint32_t worker, uint64_t iterations, double time, double cost)
{
    (void)cost;
    thrum__loop_worker *self = &schedule->workers[worker];
    double before[SUMS];
    contribute(self, before);
    add_chunk(self, iterations, time);
    thrum__sums_renew(schedule, self, SUMS, contribute, before, &schedule->counts[RENEWALS]);
}

static void maf_finished(thrum_schedule *schedule, uint32_t worker, uint64_t iterations, double time, double cost)
{
    af_finished(schedule, worker, iterations, time + cost, 0);
}

const thrum__rule thrum__rule_af = {
    .name = "AF",
    .text = "adaptive factoring: sizes from each worker's measured mean and deviation",
    .order = THRUM__BY_STATE,
    .needs = THRUM_NEEDS_TIMES,
    .begin = af_begin,
    .size = af_size,
    .finished = af_finished,
};

const thrum__rule thrum__rule_maf = {
    .name = "mAF",
    .text = "AF with times that include what handing out a chunk costs",
    .order = THRUM__BY_STATE,
    .needs = THRUM_NEEDS_TIMES,
    .begin = af_begin,
    .size = af_size,
    .finished = maf_finished,
};
