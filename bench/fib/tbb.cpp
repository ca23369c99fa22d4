/* SPDX-License-Identifier: MIT */
#include "fib.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

namespace {

struct fib_state {
    tbb::global_control limit;
    tbb::task_arena arena;
    int n;
};

long fib(long n)
{
    if (n < 2)
        return n;
    long x, y;
    tbb::task_group group;
    group.run([&x, n] { x = fib(n - 1); });
    y = fib(n - 2);
    group.wait();
    return x + y;
}

void *open_fib(const bench_request *request)
{
    size_t workers = static_cast<size_t>(request->workers);
    return new fib_state{{tbb::global_control::max_allowed_parallelism, workers},
                         tbb::task_arena(request->workers),
                         fib_number(request, FIB_NUMBER)};
}

double pass_fib(void *arg)
{
    auto *state = static_cast<fib_state *>(arg);
    double begin = bench_now();
    long value = state->arena.execute([state] { return fib(state->n); });
    return fib_result(state->n, value, bench_now() - begin);
}

void close_fib(void *arg)
{
    delete static_cast<fib_state *>(arg);
}

bench_work works[] = {
    {"fib", 0, open_fib, pass_fib, close_fib, nullptr},
    {"fib-inline", 0, open_fib, pass_fib, close_fib, nullptr},
};

} // namespace

BENCH_WORKS(works)
