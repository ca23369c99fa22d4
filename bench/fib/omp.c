/* SPDX-License-Identifier: MIT */
#include "fib.h"

#include <stdlib.h>

typedef struct fib_state {
    int workers, n;
} fib_state;

static long fib(long n)
{
    if (n < 2)
        return n;
    long x, y;
#pragma omp task shared(x)
    x = fib(n - 1);
    y = fib(n - 2);
#pragma omp taskwait
    return x + y;
}

static void *open_fib(const bench_request *request)
{
    fib_state *state = bench_alloc(1, sizeof *state);
    state->workers = request->workers;
    state->n = fib_number(request, FIB_SLOW_NUMBER);
    return state;
}

static double pass_fib(void *arg)
{
    fib_state *state = arg;
    long value = 0;
    double begin = bench_now();
#pragma omp parallel num_threads(state->workers)
#pragma omp single
    value = fib(state->n);
    return fib_result(state->n, value, bench_now() - begin);
}

static bench_work works[] = {
    {"fib", 0, open_fib, pass_fib, free, NULL},
    {"fib-inline", 0, open_fib, pass_fib, free, NULL},
};

BENCH_WORKS(works)
