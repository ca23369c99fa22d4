/* SPDX-License-Identifier: MIT
 *
 * thrum bench: what samples say. A ratio is the median of the ratios of all passes: a computer's speed may change from
 * second to second, and the two that are divided are next to each other in time.
 */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts into `sorted`, and returns the median. */
static double sort_values(const double *values, int count, double *sorted)
{
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static void summarize(struct bench_samples *samples)
{
    int count = samples->count;
    if (samples->none || count == 0) {
        samples->none = true;
        samples->median = samples->least = samples->most = samples->second_median = NAN;
        return;
    }
    double sorted[MOST_PASSES];
    samples->second_median = sort_values(samples->second, count, sorted);
    samples->median = sort_values(samples->value, count, sorted);
    samples->least = sorted[0];
    samples->most = sorted[count - 1];
}

void bench_summarize(struct bench *b)
{
    static double sorted[MOST_PASSES * MOST_PAIRS];
    for (int w = 0; w < b->worker_count; w++) {
        struct bench_pairs *pairs = &b->pairs[w];
        pairs->median = pairs->count ? sort_values(pairs->ratio, pairs->count, sorted) : NAN;
        for (int which = 0; which < IMPLEMENTATIONS; which++)
            summarize(&b->samples[which][w]);
    }
}

static const struct bench_spread unknown = {NAN, NAN, NAN};

static struct bench_spread scaled(struct bench_spread spread, double factor)
{
    return (struct bench_spread){spread.median * factor, spread.low * factor, spread.high * factor};
}

/* How far from either end of the sorted samples the range begins: the number of those below the true median is
 * binomially distributed. */
static int certain_rank(int count)
{
    double rank = floor((count - 1.96 * sqrt(count)) / 2);
    return rank > 1 ? (int)rank - 1 : 0;
}

/* What one took divided by what the other took in the same pass. */
static struct bench_spread ratio_between(const struct bench_samples *one, const struct bench_samples *other)
{
    double ratios[MOST_PASSES], sorted[MOST_PASSES];
    int count = one->count < other->count ? one->count : other->count;
    if (one->none || other->none || count == 0)
        return unknown;
    for (int i = 0; i < count; i++)
        ratios[i] = one->value[i] / other->value[i];
    double median = sort_values(ratios, count, sorted);
    int rank = certain_rank(count);
    return isfinite(median) ? (struct bench_spread){median, sorted[rank], sorted[count - 1 - rank]} : unknown;
}

bool bench_has_limit(const struct bench *b, const struct bench_row *row, int w)
{
    return row->limit_kind != NO_LIMIT && (!(row->flags & SHARED) || b->worker_counts[w] > 1);
}

/* What the row's limit is about: a ratio, or the time itself. */
static struct bench_spread limited_value(const struct bench *b, const struct bench_row *row,
                                         const struct bench_result *result, int w)
{
    if (row->limit_kind == OF_SEQUENTIAL)
        return ratio_between(&b->samples[THRUM][w], &b->samples[SEQUENTIAL][w]);
    return row->limit_kind == ABSOLUTE ? (struct bench_spread){result->thrum, result->thrum, result->thrum}
                                       : result->ratio;
}

/* "level": beyond the limit, but by less than the passes can tell. */
static const char *verdict_of(const struct bench *b, const struct bench_row *row, const struct bench_result *result,
                              int w)
{
    struct bench_spread value = limited_value(b, row, result, w);
    if (!bench_has_limit(b, row, w) || isnan(value.median))
        return "";
    if (result->scaling.high < BENCH_SCALE)
        return "below";
    if (value.low > row->limit)
        return row->flags & MORE ? "below" : "over";
    return value.median > row->limit || result->scaling.median < BENCH_SCALE ? "level" : "ok";
}

/* Thrum's time over a peer's, pass by pass. Less is better: where more is, it is the other way round. */
static struct bench_spread ratio_to(const struct bench *b, const struct bench_row *row, int w, int which)
{
    const struct bench_samples *thrum = &b->samples[THRUM][w], *peer = &b->samples[which][w];
    return row->flags & MORE ? ratio_between(peer, thrum) : ratio_between(thrum, peer);
}

/* The one to which thrum's ratio is the worst. */
static int best_peer(const struct bench *b, const struct bench_row *row, int w)
{
    int best = -1;
    for (int which = FIRST_PEER; which <= LAST_PEER; which++) {
        double ratio = ratio_to(b, row, w, which).median;
        if (!isnan(ratio) && (best < 0 || ratio > ratio_to(b, row, w, best).median))
            best = which;
    }
    return best;
}

/* By how much thrum is nearest to, or over, the limit that is set for one of the peers. */
static struct bench_spread ratio_to_limits(const struct bench *b, const struct bench_row *row, int w)
{
    struct bench_spread worst = unknown;
    for (int which = FIRST_PEER; which <= LAST_PEER; which++) {
        double limit = bench_peer_limit(row->group, which);
        struct bench_spread share = limit > 0 ? scaled(ratio_to(b, row, w, which), 1 / limit) : unknown;
        if (!isnan(share.median) && !(share.median <= worst.median))
            worst = share;
    }
    return worst;
}

static struct bench_spread ratio_of(const struct bench *b, const struct bench_row *row, int w, int best)
{
    if (row->limit_kind == OF_EACH && bench_has_limit(b, row, w))
        return ratio_to_limits(b, row, w);
    bool of_best = row->limit_kind == OF_PEERS || row->limit_kind == OF_BEST || row->limit_kind == OF_EACH;
    int which = of_best ? best : ONETBB;
    return which < 0 ? unknown : ratio_to(b, row, w, which);
}

struct bench_result bench_result_of(const struct bench *b, const struct bench_row *row, int w)
{
    const struct bench_samples *thrum = &b->samples[THRUM][w];
    struct bench_result result = {.thrum = thrum->median,
                                  .thrum_best = row->flags & MORE ? thrum->most : thrum->least,
                                  .scaling = unknown,
                                  .to_one_worker = NAN,
                                  .best_peer = best_peer(b, row, w)};
    result.ratio = ratio_of(b, row, w, result.best_peer);
    if (bench_is_compared(b, row, w))
        result.to_one_worker = b->pairs[w].median;
    if (row->flags & SCALES)
        result.scaling = scaled(ratio_between(&b->samples[SEQUENTIAL][w], thrum), 1.0 / b->worker_counts[w]);
    result.verdict = verdict_of(b, row, &result, w);
    return result;
}
