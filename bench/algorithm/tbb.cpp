/* SPDX-License-Identifier: MIT */
#include "algorithm.h"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_reduce.h>
#include <oneapi/tbb/parallel_scan.h>
#include <oneapi/tbb/parallel_sort.h>
#include <oneapi/tbb/task_arena.h>

namespace {

using range = tbb::blocked_range<size_t>;

struct algorithm_state {
    tbb::global_control limit;
    tbb::task_arena arena;
    algorithm_arrays arrays;
};

algorithm_state *open_state(const bench_request *request)
{
    size_t workers = static_cast<size_t>(request->workers);
    return new algorithm_state{
        {tbb::global_control::max_allowed_parallelism, workers}, tbb::task_arena(request->workers), {}};
}

void close_state(void *arg)
{
    auto *state = static_cast<algorithm_state *>(arg);
    algorithm_close(&state->arrays);
    delete state;
}

void *open_sort(const bench_request *request)
{
    algorithm_state *state = open_state(request);
    algorithm_open_sort(&state->arrays, request);
    return state;
}

int (*volatile compare)(const void *, const void *) = algorithm_compare;

template <class T> void sort_as(const algorithm_arrays &a)
{
    T *begin = static_cast<T *>(a.array);
    tbb::parallel_sort(begin, begin + a.n);
}

/* The comparison is called through a pointer, as everybody's is. */
void sort_compared(const algorithm_arrays &a)
{
    int32_t *begin = static_cast<int32_t *>(a.array);
    auto call = compare;
    tbb::parallel_sort(begin, begin + a.n, [call](const int32_t &x, const int32_t &y) { return call(&x, &y) < 0; });
}

void sort(const algorithm_arrays &a)
{
    switch (a.variant) {
    case SORT_INT32:
        return sort_as<int32_t>(a);
    case SORT_INT64:
        return sort_as<int64_t>(a);
    case SORT_DOUBLE:
        return sort_as<double>(a);
    default:
        return sort_compared(a);
    }
}

double pass_sort(void *arg)
{
    auto *state = static_cast<algorithm_state *>(arg);
    algorithm_refill(&state->arrays);
    double begin = bench_now();
    state->arena.execute([state] { sort(state->arrays); });
    return algorithm_sort_result(&state->arrays, bench_now() - begin);
}

void *open_reduce(const bench_request *request)
{
    algorithm_state *state = open_state(request);
    algorithm_open_doubles(&state->arrays, ALGORITHM_REDUCE / request->shrink, 0);
    return state;
}

double pass_reduce(void *arg)
{
    auto *state = static_cast<algorithm_state *>(arg);
    const double *in = state->arrays.in;
    size_t n = state->arrays.n;
    double begin = bench_now();
    double sum = state->arena.execute([in, n] {
        return tbb::parallel_reduce(
            range(0, n), 0.0,
            [in](const range &r, double part) { return algorithm_add(part, in + r.begin(), r.size()); },
            [](double a, double b) { return a + b; });
    });
    return algorithm_reduce_result(n, sum, bench_now() - begin);
}

void *open_scan(const bench_request *request)
{
    algorithm_state *state = open_state(request);
    algorithm_open_doubles(&state->arrays, ALGORITHM_SCAN / request->shrink, 1);
    return state;
}

double pass_scan(void *arg)
{
    auto *state = static_cast<algorithm_state *>(arg);
    const double *in = state->arrays.in;
    double *out = state->arrays.out;
    size_t n = state->arrays.n;
    double begin = bench_now();
    state->arena.execute([=] {
        return tbb::parallel_scan(
            range(0, n), 0.0,
            [=](const range &r, double sum, bool is_final) {
                return is_final ? algorithm_scan(sum, in + r.begin(), out + r.begin(), r.size())
                                : algorithm_add(sum, in + r.begin(), r.size());
            },
            [](double a, double b) { return a + b; });
    });
    return algorithm_scan_result(&state->arrays, bench_now() - begin);
}

bench_work works[] = {
    {"sort", SORT_INT32, open_sort, pass_sort, close_state, nullptr},
    {"sort-int64", SORT_INT64, open_sort, pass_sort, close_state, nullptr},
    {"sort-double", SORT_DOUBLE, open_sort, pass_sort, close_state, nullptr},
    {"sort-compare", SORT_COMPARE, open_sort, pass_sort, close_state, nullptr},
    {"reduce", 0, open_reduce, pass_reduce, close_state, nullptr},
    {"scan", 0, open_scan, pass_scan, close_state, nullptr},
};

} // namespace

BENCH_WORKS(works)
