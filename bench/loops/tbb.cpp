/* SPDX-License-Identifier: MIT */
#include "loops.h"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

namespace {

using range = tbb::blocked_range<size_t>;

struct tbb_state {
    tbb::global_control limit;
    tbb::task_arena arena;
    loops_state loops;
};

void *open_loop(const bench_request *request)
{
    size_t workers = static_cast<size_t>(request->workers);
    auto *state =
        new tbb_state{{tbb::global_control::max_allowed_parallelism, workers}, tbb::task_arena(request->workers), {}};
    loops_open(&state->loops, request);
    return state;
}

void close_loop(void *arg)
{
    delete static_cast<tbb_state *>(arg);
}

void loop(const loops_state &state)
{
    auto body = [](const range &r) { loops_do(r.begin(), r.end()); };
    switch (state.variant) {
    case LOOP_GSS:
        return tbb::parallel_for(range(0, state.n), body, tbb::auto_partitioner{});
    case LOOP_SS:
        return tbb::parallel_for(range(0, state.n, 1), body, tbb::simple_partitioner{});
    default:
        return tbb::parallel_for(range(0, state.n), body, tbb::static_partitioner{});
    }
}

double pass_loop(void *arg)
{
    auto *state = static_cast<tbb_state *>(arg);
    const loops_state &loops = state->loops;
    double begin = bench_now();
    state->arena.execute([&loops] {
        for (size_t k = 0; k < loops.repeats; k++)
            loop(loops);
    });
    double time = bench_now() - begin;
    return loops_result(&loops, loops_collect(), time);
}

bench_work works[] = {
    {"loop-stat", LOOP_STAT, open_loop, pass_loop, close_loop, nullptr},
    {"loop-gss", LOOP_GSS, open_loop, pass_loop, close_loop, nullptr},
    {"loop-ss", LOOP_SS, open_loop, pass_loop, close_loop, nullptr},
    {"loop-fork", LOOP_FORK, open_loop, pass_loop, close_loop, nullptr},
};

} // namespace

BENCH_WORKS(works)
