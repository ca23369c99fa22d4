/* SPDX-License-Identifier: MIT */
#include "algorithm.h"

#include <thrum/thrum.h>

typedef struct algorithm_state {
    algorithm_arrays arrays;
    thrum_executor *executor;
} algorithm_state;

static algorithm_state *open_state(const bench_request *request)
{
    algorithm_state *state = bench_alloc(1, sizeof *state);
    state->executor = thrum_executor_new(&(thrum_config){.workers = request->workers});
    if (state->executor)
        return state;
    bench_bad("no executor: %s", thrum_message(NULL));
    free(state);
    return NULL;
}

static void close_state(void *arg)
{
    algorithm_state *state = arg;
    thrum_executor_free(state->executor);
    algorithm_close(&state->arrays);
    free(state);
}

static void *open_sort(const bench_request *request)
{
    algorithm_state *state = open_state(request);
    if (state)
        algorithm_open_sort(&state->arrays, request);
    return state;
}

static int compare(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return algorithm_compare(a, b);
}

static int sort(algorithm_state *state)
{
    algorithm_arrays *a = &state->arrays;
    switch (a->variant) {
    case SORT_INT32:
        return thrum_sort_int32(state->executor, a->array, a->n);
    case SORT_INT64:
        return thrum_sort_int64(state->executor, a->array, a->n);
    case SORT_DOUBLE:
        return thrum_sort_double(state->executor, a->array, a->n);
    default:
        return thrum_sort(state->executor, a->array, a->n, sizeof(int32_t), compare, NULL);
    }
}

static double pass_sort(void *arg)
{
    algorithm_state *state = arg;
    algorithm_refill(&state->arrays);
    double begin = bench_now();
    int err = sort(state);
    double time = bench_now() - begin;
    if (err)
        bench_bad("%s", thrum_message(NULL));
    return algorithm_sort_result(&state->arrays, time);
}

static void *open_reduce(const bench_request *request)
{
    algorithm_state *state = open_state(request);
    if (state)
        algorithm_open_doubles(&state->arrays, ALGORITHM_REDUCE / request->shrink, 0);
    return state;
}

static void add(void *into, const void *elements, size_t count, void *ctx)
{
    (void)ctx;
    *(double *)into = algorithm_add(*(double *)into, elements, count);
}

static double pass_reduce(void *arg)
{
    algorithm_state *state = arg;
    double sum = 0, begin = bench_now();
    if (thrum_reduce(state->executor, state->arrays.in, state->arrays.n, sizeof(double), 0, &sum, add, NULL))
        bench_bad("%s", thrum_message(NULL));
    return algorithm_reduce_result(state->arrays.n, sum, bench_now() - begin);
}

static void *open_scan(const bench_request *request)
{
    algorithm_state *state = open_state(request);
    if (state)
        algorithm_open_doubles(&state->arrays, ALGORITHM_SCAN / request->shrink, 1);
    return state;
}

static void scan(void *carry, const void *in, void *out, size_t count, void *ctx)
{
    (void)ctx;
    *(double *)carry = algorithm_scan(*(double *)carry, in, out, count);
}

static double pass_scan(void *arg)
{
    algorithm_state *state = arg;
    algorithm_arrays *a = &state->arrays;
    double total = 0, begin = bench_now();
    if (thrum_inclusive_scan(state->executor, a->in, a->out, a->n, sizeof(double), 0, &total, add, scan, NULL))
        bench_bad("%s", thrum_message(NULL));
    return algorithm_scan_result(a, bench_now() - begin);
}

static bench_work works[] = {
    {"sort", SORT_INT32, open_sort, pass_sort, close_state, NULL},
    {"sort-int64", SORT_INT64, open_sort, pass_sort, close_state, NULL},
    {"sort-double", SORT_DOUBLE, open_sort, pass_sort, close_state, NULL},
    {"sort-compare", SORT_COMPARE, open_sort, pass_sort, close_state, NULL},
    {"reduce", 0, open_reduce, pass_reduce, close_state, NULL},
    {"scan", 0, open_scan, pass_scan, close_state, NULL},
};

BENCH_WORKS(works)
