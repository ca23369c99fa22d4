/* SPDX-License-Identifier: MIT
 *
 * Mean and deviation of measured times, without those that are far off.
 *
 * A kernel's time is now and then many times what it mostly is: the first call of a library, pages that come for the
 * first time, a core that was taken away. Such a sample says nothing of the next. The rules:
 *
 *  1. The first 8 samples are set aside; nothing is known until they are there. Then the *median* of them is taken, and
 *     those that are more than 5 deviations from it are dropped, unless they are more than 2: then they are no
 *     exceptions. (As deviation counts 1.48 times the median distance, which is the same for normally distributed
 *     samples.)
 *  2. From then on a sample more than 5 deviations from the mean is dropped. A deviation counts as at least a tenth of
 *     the mean, so that very regular times do not make everything else an exception.
 *  3. What lasts is followed: dropped samples are set aside too, and when 8 come in a row, the mean begins anew with
 *     them, by rule 1. It also begins anew, from nothing, when more have been dropped than half of those taken, and 8.
 *  4. Small changes are followed because no sample counts for less than 1/512 of the mean.
 */
#include "sched/perf_int.h"

#include <math.h>
#include <string.h>

enum { MOST_EXCEPTIONS = 2, FAR = 5, LONGEST_MEMORY = 512 };

static double allowance(double middle, double deviation)
{
    return FAR * fmax(deviation, middle / 10);
}

static void take(thrum__perf_stat *stat, double seconds)
{
    double weight = 1 / fmin((double)++stat->count, LONGEST_MEMORY), off = seconds - stat->mean;
    stat->mean += weight * off;
    stat->variance = (1 - weight) * (stat->variance + weight * off * off);
}

/* Sorts few numbers and gives the one in the middle. */
static double median(double *numbers, int count)
{
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && numbers[j] < numbers[j - 1]; j--) {
            double swap = numbers[j];
            numbers[j] = numbers[j - 1];
            numbers[j - 1] = swap;
        }
    return (numbers[(count - 1) / 2] + numbers[count / 2]) / 2;
}

/* Rule 1. */
static void begin_anew(thrum__perf_stat *stat)
{
    double sorted[THRUM__PERF_ASIDE], distance[THRUM__PERF_ASIDE];
    int far = 0;
    memcpy(sorted, stat->aside, sizeof sorted);
    double middle = median(sorted, THRUM__PERF_ASIDE);
    for (int i = 0; i < THRUM__PERF_ASIDE; i++)
        distance[i] = fabs(sorted[i] - middle);
    double allowed = allowance(middle, 1.4826 * median(distance, THRUM__PERF_ASIDE));
    for (int i = 0; i < THRUM__PERF_ASIDE; i++)
        far += fabs(sorted[i] - middle) > allowed;
    bool keep_all = far > MOST_EXCEPTIONS;
    stat->count = stat->off = 0;
    stat->mean = stat->variance = 0;
    for (int i = 0; i < THRUM__PERF_ASIDE; i++)
        if (keep_all || fabs(sorted[i] - middle) <= allowed)
            take(stat, sorted[i]);
    stat->dropped += (uint64_t)THRUM__PERF_ASIDE - stat->count;
    stat->asides = 0;
}

static void set_aside(thrum__perf_stat *stat, double seconds)
{
    stat->aside[stat->asides++] = seconds;
    if (stat->asides == THRUM__PERF_ASIDE)
        begin_anew(stat);
}

static void drop(thrum__perf_stat *stat, double seconds)
{
    stat->off++;
    if (stat->off > stat->count / 2 + THRUM__PERF_ASIDE) { /* rule 3, its second half */
        stat->dropped += (uint64_t)stat->asides;
        stat->count = stat->off = 0;
        stat->asides = 0;
    }
    set_aside(stat, seconds);
}

void thrum__perf_stat_note(thrum__perf_stat *stat, double seconds)
{
    if (stat->count == 0) {
        set_aside(stat, seconds);
    } else if (fabs(seconds - stat->mean) > allowance(stat->mean, sqrt(stat->variance))) {
        drop(stat, seconds);
    } else {
        stat->dropped += (uint64_t)stat->asides; /* they were exceptions after all */
        stat->asides = 0;
        take(stat, seconds);
    }
}

thrum__perf_summary thrum__perf_stat_sum(const thrum__perf_stat *stat)
{
    if (stat->count)
        return (thrum__perf_summary){stat->count, stat->mean, sqrt(stat->variance)};
    thrum__perf_stat first = {0};
    for (int i = 0; i < stat->asides; i++)
        take(&first, stat->aside[i]);
    return (thrum__perf_summary){first.count, first.mean, sqrt(first.variance)};
}

/* Both know: the means are weighed by what each has that the other has not; but if they are far from each other,
 * something has changed, and what was measured last counts. Else whoever knows counts, and samples set aside are put
 * together. */
void thrum__perf_stat_merge(thrum__perf_stat *other, const thrum__perf_stat *own, uint64_t own_new)
{
    if (own->count && other->count) {
        double off = own->mean - other->mean;
        if (fabs(off) > allowance(other->mean, sqrt(other->variance))) {
            *other = *own;
            return;
        }
        own_new = own_new < own->count ? own_new : own->count;
        double share = (double)own_new / (double)(own_new + other->count);
        other->variance = (1 - share) * other->variance + share * own->variance + share * (1 - share) * off * off;
        other->mean += share * off;
        other->count += own_new;
        other->dropped = own->dropped > other->dropped ? own->dropped : other->dropped;
    } else if (own->count) {
        *other = *own;
    } else {
        for (int i = own->asides - (int)own_new > 0 ? own->asides - (int)own_new : 0; i < own->asides; i++)
            thrum__perf_stat_note(other, own->aside[i]);
    }
}
