/* SPDX-License-Identifier: MIT
 *
 * Factoring by halves with weights: a worker gets its weight times the size that FAC2 would give to all. Weights sum up
 * to p, and are given (WF), or come from how fast workers have been: in earlier executions of the loop (AWF,
 * thrum_awf_step), or in earlier chunks of this one (AWF-B to E).
 *
 * What a worker has shown is pi = (sum of j t_j)/(sum of j k_j), its time for one iteration, in which later chunks (or
 * executions) j count for more. Workers that have shown something share their weights anew, by 1/pi; the others keep
 * theirs. A worker whose time is 0 as far as clocks can tell has shown nothing yet: it would get all.
 */
#include "base/fault.h"
#include "sched/loop_int.h"

#include <math.h>

enum { BATCH_SIZE, BATCH_LEFT, RENEWALS }; /* counts */
enum { RATES, WEIGHTS, SUMS }; /* shared, over workers that have shown something: sums of 1/pi and given weights */

static uint64_t weighted(double weight, uint64_t size)
{
    return weight == 1 ? size : thrum__ceil(weight * (double)size);
}

static uint64_t half_share(const thrum_schedule *schedule, uint64_t left)
{
    return thrum__ceil_div(left, 2 * (uint64_t)schedule->facts.workers);
}

/* What FAC2 would give: worked out once for p requests. */
static uint64_t batch_share(thrum_schedule *schedule, uint64_t left)
{
    uint64_t *counts = schedule->counts;
    if (counts[BATCH_LEFT] == 0) {
        counts[BATCH_LEFT] = schedule->facts.workers;
        counts[BATCH_SIZE] = half_share(schedule, left);
    }
    counts[BATCH_LEFT]--;
    return counts[BATCH_SIZE];
}

static uint64_t wf_size(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now)
{
    (void)now;
    return weighted(schedule->workers[worker].weight, batch_share(schedule, left));
}

const thrum__rule thrum__rule_wf = {
    .name = "WF",
    .text = "weighted factoring: FAC2 times a given weight of each worker",
    .order = THRUM__BY_STATE,
    .needs = THRUM_NEEDS_WEIGHTS,
    .size = wf_size,
};

const thrum__rule thrum__rule_awf = {
    .name = "AWF",
    .text = "adaptive weighted factoring: WF with weights from earlier executions of the loop",
    .order = THRUM__BY_STATE,
    .needs = THRUM_NEEDS_WEIGHTS,
    .size = wf_size,
};

/* ---- Weights that are renewed within the loop -------------------------------------------------------------------- */

/* 1/pi; 0: nothing shown yet. */
static double rate_of(const thrum__loop_worker *worker)
{
    bool shown = worker->weighted_time > THRUM__NO_TIME * worker->weighted_iterations;
    return shown ? worker->weighted_iterations / worker->weighted_time : 0;
}

static void contribute(const thrum__loop_worker *worker, double *part)
{
    part[RATES] = rate_of(worker);
    part[WEIGHTS] = part[RATES] > 0 ? worker->weight : 0;
}

static double renewed_weight(const thrum_schedule *schedule, uint32_t worker)
{
    double rate = rate_of(&schedule->workers[worker]);
    if (!(rate > 0))
        return schedule->workers[worker].weight;
    return schedule->shared[WEIGHTS] * (rate / schedule->shared[RATES]);
}

static void awf_finished(thrum_schedule *schedule, uint32_t worker, uint64_t iterations, double time, double cost)
{
    (void)cost;
    thrum__loop_worker *self = &schedule->workers[worker];
    double before[SUMS];
    contribute(self, before);
    double number = (double)++self->chunks;
    self->weighted_time += number * time;
    self->weighted_iterations += number * (double)iterations;
    thrum__sums_renew(schedule, self, SUMS, contribute, before, &schedule->counts[RENEWALS]);
}

static void awf_finished_with_cost(thrum_schedule *schedule, uint32_t worker, uint64_t iterations, double time,
                                   double cost)
{
    awf_finished(schedule, worker, iterations, time + cost, 0);
}

static uint64_t awf_b_size(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now)
{
    (void)now;
    return weighted(renewed_weight(schedule, worker), batch_share(schedule, left));
}

static uint64_t awf_c_size(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now)
{
    (void)now;
    return weighted(renewed_weight(schedule, worker), half_share(schedule, left));
}

const thrum__rule thrum__rule_awf_b = {
    .name = "AWF-B",
    .text = "WF with weights from the chunks that workers have done so far, batch by batch",
    .order = THRUM__BY_STATE,
    .needs = THRUM_NEEDS_WEIGHTS | THRUM_NEEDS_TIMES,
    .size = awf_b_size,
    .finished = awf_finished,
};

const thrum__rule thrum__rule_awf_c = {
    .name = "AWF-C",
    .text = "WF with weights from the chunks that workers have done so far, of what is left at each request",
    .order = THRUM__BY_STATE,
    .needs = THRUM_NEEDS_WEIGHTS | THRUM_NEEDS_TIMES,
    .size = awf_c_size,
    .finished = awf_finished,
};

const thrum__rule thrum__rule_awf_d = {
    .name = "AWF-D",
    .text = "AWF-B with times that include what handing out a chunk costs",
    .order = THRUM__BY_STATE,
    .needs = THRUM_NEEDS_WEIGHTS | THRUM_NEEDS_TIMES,
    .size = awf_b_size,
    .finished = awf_finished_with_cost,
};

const thrum__rule thrum__rule_awf_e = {
    .name = "AWF-E",
    .text = "AWF-C with times that include what handing out a chunk costs",
    .order = THRUM__BY_STATE,
    .needs = THRUM_NEEDS_WEIGHTS | THRUM_NEEDS_TIMES,
    .size = awf_c_size,
    .finished = awf_finished_with_cost,
};

/* ---- Weights from earlier executions ----------------------------------------------------------------------------- */

/* pi of a worker, or 0. */
static double shown_time(const double *sums)
{
    return sums[0] > THRUM__NO_TIME * sums[1] ? sums[0] / sums[1] : 0;
}

static void add_step(double *sums, double step, uint64_t iterations, double time)
{
    if (iterations == 0 || !(time >= 0) || !isfinite(time))
        return;
    sums[0] += step * time;
    sums[1] += step * (double)iterations;
}

/* How fast it is compared to the fastest. Not less than a billionth, so that weights stay above 0. */
static double relative_speed(double fastest, double time)
{
    return fastest / time > 1e-9 ? fastest / time : 1e-9;
}

void thrum_awf_step(double *sums, uint32_t workers, uint32_t step, const uint64_t *iterations, const double *times,
                    double *weights)
{
    double fastest = INFINITY, speeds = 0, shown = 0;
    if (!sums || !iterations || !times || !weights) {
        thrum__fault(THRUM_EINVAL, "thrum_awf_step needs sums, iterations, times and weights, and one of them is NULL");
        return;
    }
    for (uint32_t i = 0; i < workers; i++) {
        add_step(sums + 2 * (size_t)i, step, iterations[i], times[i]);
        double time = shown_time(sums + 2 * (size_t)i);
        fastest = time > 0 && time < fastest ? time : fastest;
        shown += time > 0;
    }
    for (uint32_t i = 0; i < workers; i++) {
        double time = shown_time(sums + 2 * (size_t)i);
        weights[i] = time > 0 ? relative_speed(fastest, time) : 0;
        speeds += weights[i];
    }
    for (uint32_t i = 0; i < workers; i++)
        weights[i] = weights[i] > 0 ? shown * (weights[i] / speeds) : 1;
}
