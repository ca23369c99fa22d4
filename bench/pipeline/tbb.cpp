/* SPDX-License-Identifier: MIT */
#include "pipeline.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

namespace {

constexpr auto in_order = tbb::filter_mode::serial_in_order;

struct pipeline_state {
    tbb::global_control limit;
    tbb::task_arena arena;
    pipeline_cells cells;
};

void *open_state(const bench_request *request)
{
    size_t workers = static_cast<size_t>(request->workers);
    auto *state = new pipeline_state{
        {tbb::global_control::max_allowed_parallelism, workers}, tbb::task_arena(request->workers), {}};
    pipeline_open(&state->cells, request);
    return state;
}

void close_state(void *arg)
{
    delete static_cast<pipeline_state *>(arg);
}

void run(pipeline_cells *cells)
{
    uint64_t next = 0;
    auto first = tbb::make_filter<void, uint64_t>(in_order, [cells, &next](tbb::flow_control &control) -> uint64_t {
        if (next == cells->tokens) {
            control.stop();
            return 0;
        }
        pipeline_body(&cells->stage[0], next);
        return next++;
    });
    tbb::filter<void, uint64_t> chain = first;
    for (int s = 1; s < PIPELINE_STAGES - 1; s++) {
        pipeline_cell *cell = &cells->stage[s];
        chain = chain & tbb::make_filter<uint64_t, uint64_t>(in_order, [cell](uint64_t token) {
                    pipeline_body(cell, token);
                    return token;
                });
    }
    pipeline_cell *last = &cells->stage[PIPELINE_STAGES - 1];
    tbb::parallel_pipeline(PIPELINE_LINES, chain & tbb::make_filter<uint64_t, void>(in_order, [last](uint64_t token) {
                                               pipeline_body(last, token);
                                           }));
}

double pass(void *arg)
{
    auto *state = static_cast<pipeline_state *>(arg);
    pipeline_begin(&state->cells);
    double begin = bench_now();
    state->arena.execute([state] { run(&state->cells); });
    return pipeline_result(&state->cells, bench_now() - begin);
}

bench_work works[] = {
    {"pipeline", 0, open_state, pass, close_state, nullptr},
};

} // namespace

BENCH_WORKS(works)
