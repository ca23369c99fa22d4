/* SPDX-License-Identifier: MIT
 *
 * qsort, and plain loops.
 */
#include "algorithm.h"

static void *open_sort(const bench_request *request)
{
    algorithm_arrays *a = bench_alloc(1, sizeof *a);
    algorithm_open_sort(a, request);
    return a;
}

static void close_arrays(void *arg)
{
    algorithm_close(arg);
    free(arg);
}

static double pass_sort(void *arg)
{
    algorithm_arrays *a = arg;
    algorithm_refill(a);
    double begin = bench_now();
    qsort(a->array, a->n, sizeof(int32_t), algorithm_compare);
    return algorithm_sort_result(a, bench_now() - begin);
}

static void *open_reduce(const bench_request *request)
{
    algorithm_arrays *a = bench_alloc(1, sizeof *a);
    algorithm_open_doubles(a, ALGORITHM_REDUCE / request->shrink, 0);
    return a;
}

static double pass_reduce(void *arg)
{
    const algorithm_arrays *a = arg;
    double begin = bench_now(), sum = algorithm_add(0, a->in, a->n);
    return algorithm_reduce_result(a->n, sum, bench_now() - begin);
}

static void *open_scan(const bench_request *request)
{
    algorithm_arrays *a = bench_alloc(1, sizeof *a);
    algorithm_open_doubles(a, ALGORITHM_SCAN / request->shrink, 1);
    return a;
}

static double pass_scan(void *arg)
{
    const algorithm_arrays *a = arg;
    double begin = bench_now();
    algorithm_scan(0, a->in, a->out, a->n);
    return algorithm_scan_result(a, bench_now() - begin);
}

static bench_work works[] = {
    {"sort-compare", SORT_COMPARE, open_sort, pass_sort, close_arrays, NULL},
    {"reduce", 0, open_reduce, pass_reduce, close_arrays, NULL},
    {"scan", 0, open_scan, pass_scan, close_arrays, NULL},
};

BENCH_WORKS(works)
