/* SPDX-License-Identifier: MIT
 *
 * How tests look at random numbers: moments with their standard errors, and distances of distributions. Seeds are
 * fixed, so a test that passes once passes always; the limits are such that a correct generator passes with nearly any
 * seed.
 */
#ifndef TESTS_SUPPORT_STATISTICS_H
#define TESTS_SUPPORT_STATISTICS_H

#include <math.h>
#include <stdlib.h>

struct moments {
    double count, mean, deviation, skewness, kurtosis; /* kurtosis: of a normal distribution 0 */
};

static inline struct moments moments_of(const double *x, size_t n)
{
    double mean = 0, second = 0, third = 0, fourth = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) {
        double off = x[i] - mean, square = off * off;
        second += square / (double)n;
        third += square * off / (double)n;
        fourth += square * square / (double)n;
    }
    double deviation = sqrt(second);
    return (struct moments){(double)n, mean, deviation, third / (second * deviation), fourth / (second * second) - 3};
}

static inline int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov: the largest distance of what was drawn from the distribution function, times sqrt(n); above 2
 * once in 1500 times. Sorts x. */
static inline double distance_from(double *x, size_t n, double (*below)(double x, const void *ctx), const void *ctx)
{
    double most = 0;
    qsort(x, n, sizeof *x, compare_numbers);
    for (size_t i = 0; i < n; i++) {
        double p = below(x[i], ctx);
        most = fmax(most, fmax(fabs(p - (double)i / (double)n), fabs(p - (double)(i + 1) / (double)n)));
    }
    return most * sqrt((double)n);
}

/* The same of two samples of n numbers each. Sorts both. */
static inline double distance_between(double *x, double *y, size_t n)
{
    double most = 0;
    qsort(x, n, sizeof *x, compare_numbers);
    qsort(y, n, sizeof *y, compare_numbers);
    for (size_t i = 0, j = 0; i < n && j < n;) {
        double at = fmin(x[i], y[j]);
        while (i < n && x[i] <= at)
            i++;
        while (j < n && y[j] <= at)
            j++;
        most = fmax(most, fabs((double)i - (double)j) / (double)n);
    }
    return most * sqrt((double)n / 2);
}

#endif
