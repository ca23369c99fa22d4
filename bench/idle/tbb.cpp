/* SPDX-License-Identifier: MIT */
#include "idle.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

namespace {

struct idle_state {
    uint32_t shrink;
    tbb::global_control limit;
    tbb::task_arena arena;
    uint32_t cells[IDLE_TASKS];
};

void *open_idle(const bench_request *request)
{
    size_t workers = static_cast<size_t>(request->workers);
    return new idle_state{request->shrink,
                          {tbb::global_control::max_allowed_parallelism, workers},
                          tbb::task_arena(request->workers),
                          {}};
}

double pass_idle(void *arg)
{
    auto *state = static_cast<idle_state *>(arg);
    state->arena.execute([state] {
        tbb::task_group group;
        for (uint32_t &cell : state->cells)
            group.run([&cell] { ++cell; });
        group.wait();
    });
    return idle_pass(state->shrink);
}

void close_idle(void *arg)
{
    delete static_cast<idle_state *>(arg);
}

bench_work works[] = {{"idle", 0, open_idle, pass_idle, close_idle, nullptr}};

} // namespace

BENCH_WORKS(works)
