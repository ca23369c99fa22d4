/* SPDX-License-Identifier: MIT */
#include "fib.h"

#include <stdlib.h>

typedef long fib_function(long n);

static long fib(long n);
static fib_function *volatile spawned = fib; /* the call that others spawn goes through a pointer here too */

static long fib(long n)
{
    return n < 2 ? n : spawned(n - 1) + fib(n - 2);
}

static void *open_fib(const bench_request *request)
{
    int *n = bench_alloc(1, sizeof *n);
    *n = fib_number(request, FIB_NUMBER);
    return n;
}

static double pass_fib(void *arg)
{
    int n = *(int *)arg;
    double begin = bench_now();
    long value = fib(n);
    return fib_result(n, value, bench_now() - begin);
}

static bench_work works[] = {
    {"fib", 0, open_fib, pass_fib, free, NULL},
    {"fib-inline", 0, open_fib, pass_fib, free, NULL},
};

BENCH_WORKS(works)
