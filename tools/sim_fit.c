/* SPDX-License-Identifier: MIT
 *
 * Least squares for a few numbers that must not be negative: all ways to leave some out are tried.
 */
#include "sim_fit.h"

#include <math.h>
#include <string.h>

enum { LARGE_LEAST = 6 }; /* shapes that are not small, if some are: larger tiles are extrapolated from these */
enum { LARGE, SMALL, BYTES, SMALL_BYTES, READ, FIXED, UNKNOWNS };

/* Solves the normal equations for those unknowns that are in `used`; false if it cannot. */
static bool solve(double m[UNKNOWNS][UNKNOWNS + 1], unsigned used, double x[UNKNOWNS])
{
    int rows[UNKNOWNS], count = 0;
    for (int i = 0; i < UNKNOWNS; i++) {
        x[i] = 0;
        if (used >> i & 1)
            rows[count++] = i;
    }
    for (int i = 0; i < count; i++) {
        double *pivot = m[rows[i]];
        if (!(fabs(pivot[rows[i]]) > 1e-30))
            return false;
        for (int j = 0; j < count; j++) {
            double factor = m[rows[j]][rows[i]] / pivot[rows[i]];
            for (int k = 0; k <= UNKNOWNS && j != i; k++)
                m[rows[j]][k] -= factor * pivot[k];
        }
    }
    for (int i = 0; i < count; i++)
        x[rows[i]] = m[rows[i]][UNKNOWNS] / m[rows[i]][rows[i]];
    return true;
}

/* Shapes of a codelet, of which those with work up to `limit` are small. */
struct selection {
    const struct sim_shape *shapes;
    int count;
    const char *codelet;
    double limit;
};

static const struct sim_shape *chosen(const struct selection *s, int i)
{
    return strcmp(s->shapes[i].codelet, s->codelet) == 0 ? &s->shapes[i] : NULL;
}

/* Numbers of about 1, so that the equations are well-behaved: per million of work, per kilobyte, in microseconds. */
static double predict(const struct selection *s, const struct sim_shape *shape, const double x[UNKNOWNS],
                      double t[UNKNOWNS])
{
    bool small = shape->work <= s->limit;
    t[LARGE] = small ? 0 : shape->work / 1e6;
    t[SMALL] = small ? shape->work / 1e6 : 0;
    t[BYTES] = small ? 0 : shape->bytes / 1e3;
    t[SMALL_BYTES] = small ? shape->bytes / 1e3 : 0;
    t[READ] = shape->read / 1e3;
    t[FIXED] = 1;
    double sum = 0;
    for (int i = 0; i < UNKNOWNS; i++)
        sum += x[i] * t[i];
    return sum;
}

static const struct sim_shape *whole_of(const struct selection *s)
{
    for (int i = 0; i < s->count; i++)
        if (chosen(s, i))
            return chosen(s, i);
    return NULL;
}

/* Of the codelet, the whole tile and half of it each way count more than what lies between: a curve with three numbers
 * cannot follow all that a library does for one size or another. */
static double weight_of(const struct selection *s, const struct sim_shape *shape)
{
    double share = shape->work / whole_of(s)->work;
    return share == 1 || share == 0.125 ? 10 : 1;
}

static double error_of(const struct selection *s, unsigned used, const double x[UNKNOWNS])
{
    double error = 0, t[UNKNOWNS];
    for (int i = 0; i < UNKNOWNS; i++)
        if (x[i] < 0 || (used >> i & 1 && i <= SMALL && !(x[i] > 0)))
            return INFINITY;
    for (int i = 0; i < s->count; i++)
        if (chosen(s, i)) {
            double off = predict(s, chosen(s, i), x, t) / (chosen(s, i)->seconds * 1e6) - 1;
            error += weight_of(s, chosen(s, i)) * off * off;
        }
    return error;
}

/* Least squares of relative errors with some of the terms. */
static double try_terms(const struct selection *s, unsigned used, double x[UNKNOWNS])
{
    double m[UNKNOWNS][UNKNOWNS + 1] = {{0}}, t[UNKNOWNS];
    for (int i = 0; i < s->count; i++) {
        const struct sim_shape *shape = chosen(s, i);
        if (!shape)
            continue;
        double y = shape->seconds * 1e6, weight = weight_of(s, shape);
        predict(s, shape, x, t);
        for (int a = 0; a < UNKNOWNS; a++) {
            for (int b = 0; b < UNKNOWNS; b++)
                m[a][b] += weight * t[a] * t[b] / (y * y);
            m[a][UNKNOWNS] += weight * t[a] / y;
        }
    }
    return solve(m, used, x) ? error_of(s, used, x) : INFINITY;
}

/* The best of all ways to leave out what is fixed and bytes. */
static double fit_terms(const struct selection *s, double best[UNKNOWNS])
{
    double least = INFINITY, x[UNKNOWNS] = {0};
    unsigned rates = 1u << LARGE | (s->limit > 0 ? 1u << SMALL : 0);
    for (unsigned others = 0; others < 1u << (UNKNOWNS - BYTES); others++) {
        bool can = s->limit > 0 || !(others >> (SMALL_BYTES - BYTES) & 1);
        double error = can ? try_terms(s, rates | others << BYTES, x) : INFINITY;
        if (error < least * 0.999) { /* more terms must be worth it */
            least = error;
            memcpy(best, x, sizeof x);
        }
    }
    return least;
}

/* The next larger shape's work, or 0. */
static double next_work(const struct selection *s, double work)
{
    double next = 0;
    for (int i = 0; i < s->count; i++)
        if (chosen(s, i) && chosen(s, i)->work > work && (next == 0 || chosen(s, i)->work < next))
            next = chosen(s, i)->work;
    return next;
}

static int larger_shapes(const struct selection *s, double work)
{
    int count = 0;
    for (int i = 0; i < s->count; i++)
        count += chosen(s, i) && chosen(s, i)->work > work;
    return count;
}

/* How much less the error must be for three numbers more, a limit, a rate and a time for a byte, to be worth it: by the
 * Bayesian information criterion, n log(error) + k log(n) of n shapes and k numbers. */
static double worth_more_numbers(const struct selection *s)
{
    double n = larger_shapes(s, 0);
    return exp(-3 * log(n) / n);
}

/* Two rates where that fits much better. Many shapes are left for the rest, from which larger tiles are
 * extrapolated. */
static double fit_two_rates(struct selection *s, double error, double x[UNKNOWNS])
{
    struct selection with = *s;
    const double worth = worth_more_numbers(s);
    for (double limit = next_work(s, 0), next; (next = next_work(s, limit)) > 0; limit = next) {
        double both[UNKNOWNS] = {0};
        with.limit = sqrt(limit * next);
        double of_both = larger_shapes(s, limit) >= LARGE_LEAST ? fit_terms(&with, both) : INFINITY;
        if (of_both < (s->limit > 0 ? error : error * worth)) {
            error = of_both;
            s->limit = with.limit;
            memcpy(x, both, sizeof both);
        }
    }
    return error;
}

bool sim_fit(const struct sim_shape *shapes, int count, const char *codelet, struct sim_fit *f)
{
    struct selection s = {shapes, count, codelet, 0};
    double x[UNKNOWNS] = {0};
    *f = (struct sim_fit){0};
    if (!whole_of(&s))
        return false;
    fit_two_rates(&s, fit_terms(&s, x), x);
    f->rate = 1e12 / x[LARGE];
    f->small_rate = s.limit > 0 ? 1e12 / x[SMALL] : 0;
    f->small_work = s.limit;
    f->per_byte = x[BYTES] / 1e9;
    f->small_per_byte = x[SMALL_BYTES] / 1e9;
    f->per_read = x[READ] / 1e9;
    f->fixed = x[FIXED] / 1e6;
    return isfinite(f->rate) && f->rate > 0;
}
