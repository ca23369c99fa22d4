/* SPDX-License-Identifier: MIT
 *
 * Arrays to sort, reduce and scan, the same for everybody; and the loops over ranges that all implementations use.
 * Nanoseconds per element.
 */
#ifndef BENCH_ALGORITHM_H
#define BENCH_ALGORITHM_H

#include "../common/runner.h"

#include <stdlib.h>
#include <string.h>

enum { ALGORITHM_SORT = 10000000, ALGORITHM_REDUCE = 100000000, ALGORITHM_SCAN = 50000000 };

/* The works that sort. */
enum { SORT_INT32, SORT_INT64, SORT_DOUBLE, SORT_COMPARE };

typedef struct algorithm_arrays {
    int variant;
    size_t n;
    void *initial, *array; /* to sort: `array` is a copy of `initial` before each pass */
    double *in, *out;
    uint64_t sum; /* of the initial values */
} algorithm_arrays;

static inline uint64_t algorithm_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline size_t algorithm_size(int variant)
{
    return variant == SORT_INT32 || variant == SORT_COMPARE ? sizeof(int32_t) : sizeof(int64_t);
}

/* The sum of all values as bits: sorting does not change it. */
static inline uint64_t algorithm_sum(const algorithm_arrays *a, const void *values)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < a->n; i++)
        sum += algorithm_size(a->variant) == 4 ? ((const uint32_t *)values)[i] : ((const uint64_t *)values)[i];
    return sum;
}

static inline void algorithm_open_sort(algorithm_arrays *a, const bench_request *request)
{
    uint64_t state = 1;
    a->variant = request->variant;
    a->n = ALGORITHM_SORT / request->shrink;
    a->initial = bench_alloc(a->n, algorithm_size(a->variant));
    a->array = bench_alloc(a->n, algorithm_size(a->variant));
    for (size_t i = 0; i < a->n; i++) {
        uint64_t x = algorithm_random(&state);
        if (algorithm_size(a->variant) == 4)
            ((uint32_t *)a->initial)[i] = (uint32_t)x;
        else if (a->variant == SORT_INT64)
            ((uint64_t *)a->initial)[i] = x;
        else
            ((double *)a->initial)[i] = (double)(int64_t)x * 1e-9;
    }
    a->sum = algorithm_sum(a, a->initial);
}

static inline void algorithm_open_doubles(algorithm_arrays *a, size_t n, int with_out)
{
    a->n = n;
    a->in = (double *)bench_alloc(n, sizeof *a->in);
    a->out = with_out ? (double *)bench_alloc(n, sizeof *a->out) : NULL;
    for (size_t i = 0; i < n; i++)
        a->in[i] = (double)(i % 8);
    if (a->out)
        memset(a->out, 1, n * sizeof *a->out); /* its pages are there */
}

static inline void algorithm_close(algorithm_arrays *a)
{
    free(a->initial);
    free(a->array);
    free(a->in);
    free(a->out);
}

static inline void algorithm_refill(algorithm_arrays *a)
{
    memcpy(a->array, a->initial, a->n * algorithm_size(a->variant));
}

static inline int algorithm_in_order(const algorithm_arrays *a, size_t i)
{
    switch (a->variant) {
    case SORT_INT64:
        return ((const int64_t *)a->array)[i - 1] <= ((const int64_t *)a->array)[i];
    case SORT_DOUBLE:
        return ((const double *)a->array)[i - 1] <= ((const double *)a->array)[i];
    default:
        return ((const int32_t *)a->array)[i - 1] <= ((const int32_t *)a->array)[i];
    }
}

static inline double algorithm_sort_result(const algorithm_arrays *a, double time)
{
    for (size_t i = 1; i < a->n; i++)
        if (!algorithm_in_order(a, i)) {
            bench_bad("the array is not sorted at %zu", i);
            break;
        }
    if (algorithm_sum(a, a->array) != a->sum)
        bench_bad("the array has other values than before sorting");
    return time / (double)a->n;
}

/* All sums are exact: whole numbers below 2^53. */
static inline double algorithm_sum_to(size_t n)
{
    size_t rest = n % 8;
    return (double)(n / 8 * 28 + rest * (rest - 1) / 2);
}

static inline double algorithm_reduce_result(size_t n, double sum, double time)
{
    if (sum != algorithm_sum_to(n))
        bench_bad("the sum is %.0f instead of %.0f", sum, algorithm_sum_to(n));
    return time / (double)n;
}

static inline double algorithm_scan_result(const algorithm_arrays *a, double time)
{
    for (size_t i = 0; i < a->n; i += i < 1000 || i > a->n - 1000 ? 1 : 997)
        if (a->out[i] != algorithm_sum_to(i + 1)) {
            bench_bad("the sum up to %zu is %.0f instead of %.0f", i, a->out[i], algorithm_sum_to(i + 1));
            break;
        }
    return time / (double)a->n;
}

/* ---- The operators ----------------------------------------------------------------------------------------------- */

/* Eight sums, so that additions need not wait for each other. */
static inline double algorithm_add(double sum, const double *in, size_t count)
{
    double part[8] = {0};
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (size_t k = 0; k < 8; k++)
            part[k] += in[i + k];
    for (; i < count; i++)
        sum += in[i];
    for (size_t k = 0; k < 8; k++)
        sum += part[k];
    return sum;
}

static inline double algorithm_scan(double sum, const double *in, double *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = sum += in[i];
    return sum;
}

static inline int algorithm_compare(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

#endif
