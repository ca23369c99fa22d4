/* SPDX-License-Identifier: MIT
 *
 * How fast a workload could be at all, whatever the policy: lower bounds of the makespan.
 *
 * The area bound is a linear program: which part of each task goes to each kind of workers, so that the kind that is done last is
 * done soonest? For two kinds the answer is to give one of them what it is comparatively best at, task by task in this order, until
 * both are done at the same time. For more there is the dual problem. Give each kind a price for a second of its units, of which
 * all together cost 1; then a task costs what it costs on the kind where it is cheapest, and all tasks together are a lower bound,
 * whatever the prices. Prices are moved from one kind to another as long as the bound rises.
 */
#include "sim/task_int.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

/* ---- The critical path ---------------------------------------------------------------------------------------------------- */

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

/* ---- One kind, and two ------------------------------------------------------------------------------------------------------ */

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

/* ---- More kinds --------------------------------------------------------------------------------------------------------------- */

enum { KINDS_MOST = 64 };

typedef struct dual {
    const double *seconds;
    int tasks, kinds;
    const int *units;
    double price[KINDS_MOST]; /* of one unit */
} dual;

static double cost(const dual *d)
{
    double sum = 0;
    for (int i = 0; i < d->tasks; i++) {
        double least = INFINITY;
        for (int k = 0; k < d->kinds; k++) {
            double seconds = d->seconds[(size_t)i * (size_t)d->kinds + (size_t)k];
            if (!isinf(seconds))
                least = fmin(least, d->price[k] * seconds);
        }
        sum += least;
    }
    return sum;
}

/* What `a` and `b` have together is shared so that a's units have this much of it. */
static double cost_with(dual *d, int a, int b, double both, double share)
{
    d->price[a] = both * share / d->units[a];
    d->price[b] = both * (1 - share) / d->units[b];
    return cost(d);
}

/* The cost is a concave function of the share: the interval around its top is made smaller by the golden section. */
static double raise(dual *d, int a, int b)
{
    enum { STEPS = 40 };
    const double golden = 0.6180339887498949;
    double both = d->price[a] * d->units[a] + d->price[b] * d->units[b], low = 0, high = 1;
    double left = high - golden, right = low + golden;
    double at_left = cost_with(d, a, b, both, left), at_right = cost_with(d, a, b, both, right);
    for (int i = 0; i < STEPS; i++) {
        if (at_left < at_right) {
            low = left;
            left = right;
            at_left = at_right;
            right = low + golden * (high - low);
            at_right = cost_with(d, a, b, both, right);
        } else {
            high = right;
            right = left;
            at_right = at_left;
            left = high - golden * (high - low);
            at_left = cost_with(d, a, b, both, left);
        }
    }
    return cost_with(d, a, b, both, at_left > at_right ? left : right);
}

static double bound_of_many(const double *seconds, int tasks, int kinds, const int *units, int used_count)
{
    enum { ROUNDS = 4 };
    dual d = {.seconds = seconds, .tasks = tasks, .kinds = kinds, .units = units};
    double best = 0;
    for (int k = 0; k < kinds; k++)
        d.price[k] = units[k] ? 1.0 / used_count / units[k] : INFINITY;
    for (int round = 0; round < ROUNDS; round++)
        for (int a = 0; a < kinds; a++)
            for (int b = a + 1; b < kinds; b++)
                if (units[a] && units[b])
                    best = fmax(best, raise(&d, a, b));
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
    return count == 2 ? bound_of_two(seconds, tasks, kinds, units, used)
                      : bound_of_many(seconds, tasks, kinds, units, count);
}
