/* SPDX-License-Identifier: MIT
 *
 * How fast a workload could be at all, whatever the policy: lower bounds of the makespan.
 *
 * The area bound is a linear program: which part of each task goes to each kind of workers, so that the kind that is
 * done last is done soonest? For two kinds the answer is to give one of them what it is comparatively best at, task by
 * task in this order, until both are done at the same time. For more there is the dual problem. Give each kind a price
 * for a second of its units, of which all together cost 1; then a task costs what it costs on the kind where it is
 * cheapest, and all tasks together are a lower bound, whatever the prices. The best prices are searched for until the
 * bound is as good as exact, or for a while.
 */
#include "sim/task_int.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

/* ---- The critical path ------------------------------------------------------------------------------------------- */

static double fastest(const task_run *run, int number)
{
    double least = INFINITY;
    for (int k = 0; k < run->kind_count; k++)
        least = fmin(least, run->seconds[(size_t)number * (size_t)run->kind_count + (size_t)k]);
    return least;
}

double thrum__sim_critical_path(const task_run *run, double *finish)
{
    double longest = 0;
    int count = run->workload->task_count;
    for (int i = 0; i < count; i++)
        finish[i] = 0;
    for (int i = 0; i < count; i++) {
        int number = run->order.sequence[i];
        finish[number] += fastest(run, number);
        longest = fmax(longest, finish[number]);
        for (size_t j = run->order.first[number]; j < run->order.first[number + 1]; j++)
            finish[run->order.after[j]] = fmax(finish[run->order.after[j]], finish[number]);
    }
    return longest;
}

/* ---- One kind, and two ------------------------------------------------------------------------------------------- */

static double sum_of_one(const double *seconds, int tasks, int kinds, int only)
{
    double sum = 0;
    for (int i = 0; i < tasks; i++)
        sum += seconds[(size_t)i * (size_t)kinds + (size_t)only];
    return sum;
}

typedef struct pair {
    double first, second; /* seconds on the one kind and on the other */
} pair;

/* Those first at which the first kind is comparatively best. */
static int by_advantage(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    double left = x->first * y->second, right = y->first * x->second;
    return left < right ? -1 : left > right;
}

/* All that both can do is the second's at first. */
static double level(const pair *pairs, int count, double first, double second, int first_units, int second_units)
{
    for (int i = 0; i < count; i++)
        second += pairs[i].second;
    for (int i = 0; i < count; i++) {
        double gap = second / second_units - first / first_units;
        double step = pairs[i].second / second_units + pairs[i].first / first_units;
        if (gap <= step) {
            double part = step > 0 ? fmax(gap, 0) / step : 0;
            return fmax((first + part * pairs[i].first) / first_units,
                        (second - part * pairs[i].second) / second_units);
        }
        first += pairs[i].first;
        second -= pairs[i].second;
    }
    return fmax(first / first_units, second / second_units);
}

static double bound_of_two(const double *seconds, int tasks, int kinds, const int *units, const int *used)
{
    pair *pairs = thrum__alloc(((size_t)tasks + 1) * sizeof *pairs);
    double first = 0, second = 0;
    int count = 0;
    if (!pairs)
        return -1;
    for (int i = 0; i < tasks; i++) {
        const double *row = &seconds[(size_t)i * (size_t)kinds];
        pair p = {row[used[0]], row[used[1]]};
        if (isinf(p.second))
            first += p.first;
        else if (isinf(p.first))
            second += p.second;
        else
            pairs[count++] = p;
    }
    qsort(pairs, (size_t)count, sizeof *pairs, by_advantage);
    double bound = level(pairs, count, first, second, units[used[0]], units[used[1]]);
    thrum__free(pairs);
    return bound;
}

/* ---- More kinds -------------------------------------------------------------------------------------------------- */

enum { KINDS_MOST = 64, STEPS_MOST = 1500 };

/* Prices: the units of used kind k cost price[k] together; the last one's follows, since all cost 1. */
typedef struct dual {
    const double *seconds;
    int tasks, kinds, count; /* count: of those that are used */
    const int *units, *used;
    double price[KINDS_MOST];
    /* Seconds of each unit, if all tasks go where they are cheapest: how the bound rises with a price. */
    double load[KINDS_MOST];
} dual;

static double cost(dual *d)
{
    double sum = 0;
    for (int k = 0; k < d->count; k++)
        d->load[k] = 0;
    for (int i = 0; i < d->tasks; i++) {
        double least = INFINITY, part = 0;
        int cheapest = 0;
        for (int k = 0; k < d->count; k++) {
            double each = d->seconds[(size_t)i * (size_t)d->kinds + (size_t)d->used[k]] / d->units[d->used[k]];
            if (isinf(each) || d->price[k] * each >= least)
                continue;
            least = d->price[k] * each;
            cheapest = k;
            part = each;
        }
        sum += least;
        d->load[cheapest] += part;
    }
    return sum;
}

/* An ellipsoid around the prices at which the bound is highest: its centre, and its matrix. With each step the half of
 * it goes in which they cannot be (Shor; Yudin and Nemirovski). */
typedef struct ellipsoid {
    int n;
    double centre[KINDS_MOST], matrix[KINDS_MOST * KINDS_MOST];
} ellipsoid;

/* Keeps the half in this direction; returns how far it reaches there. */
static double halve(ellipsoid *e, const double *direction)
{
    double along[KINDS_MOST], square = 0, n = e->n;
    for (int i = 0; i < e->n; i++) {
        along[i] = 0;
        for (int j = 0; j < e->n; j++)
            along[i] += e->matrix[i * e->n + j] * direction[j];
        square += along[i] * direction[i];
    }
    double reach = sqrt(fmax(square, 0));
    for (int i = 0; i < e->n && reach > 0; i++) {
        along[i] /= reach;
        e->centre[i] += along[i] / (n + 1);
    }
    for (int i = 0; i < e->n && reach > 0; i++)
        for (int j = i; j < e->n; j++) /* rounding must not make it lopsided: that would grow */
            e->matrix[i * e->n + j] = e->matrix[j * e->n + i] =
                n * n / (n * n - 1) * (e->matrix[i * e->n + j] - 2 / (n + 1) * along[i] * along[j]);
    return reach;
}

/* The prices of the centre. False: one is below 0, and the direction leads away from that. */
static bool set_prices(dual *d, const ellipsoid *e, double *direction)
{
    double rest = 1;
    int negative = -1;
    for (int i = 0; i < e->n; i++) {
        d->price[i] = e->centre[i];
        rest -= e->centre[i];
        negative = e->centre[i] < 0 ? i : negative;
    }
    d->price[e->n] = rest;
    negative = rest < 0 ? e->n : negative;
    for (int i = 0; i < e->n; i++)
        direction[i] = negative == e->n ? -1 : negative == i ? 1 : 0;
    return negative < 0;
}

static double bound_of_many(dual *d)
{
    ellipsoid e = {.n = d->count - 1};
    double best = 0, direction[KINDS_MOST], reach = INFINITY;
    for (int i = 0; i < e.n; i++) {
        e.centre[i] = 1.0 / d->count;
        e.matrix[i * e.n + i] = 1; /* all prices are within 1 of that */
    }
    for (int step = 0; step < STEPS_MOST && reach > 1e-9 * best; step++) {
        if (!set_prices(d, &e, direction)) {
            halve(&e, direction);
            continue;
        }
        best = fmax(best, cost(d));
        for (int i = 0; i < e.n; i++)
            direction[i] = d->load[i] - d->load[e.n];
        reach = halve(&e, direction);
    }
    return best;
}

double thrum__area_bound(const double *seconds, int tasks, int kinds, const int *units)
{
    int used[KINDS_MOST], count = 0;
    for (int k = 0; k < kinds; k++)
        if (units[k] > 0)
            used[count++] = k;
    if (count == 1)
        return sum_of_one(seconds, tasks, kinds, used[0]) / units[used[0]];
    if (count == 2)
        return bound_of_two(seconds, tasks, kinds, units, used);
    return bound_of_many(
        &(dual){.seconds = seconds, .tasks = tasks, .kinds = kinds, .count = count, .units = units, .used = used});
}
