/* SPDX-License-Identifier: MIT */
#include "pipeline.h"

#include <thrum/thrum.h>

#include <stdlib.h>

typedef struct pipeline_state {
    pipeline_cells cells;
    thrum_executor *executor;
    thrum_pipeline *pipeline;
} pipeline_state;

static void first(thrum_pipe *pipe, void *ctx)
{
    pipeline_cells *cells = ctx;
    if (thrum_pipe_token(pipe) == cells->tokens)
        thrum_pipe_stop(pipe);
    else
        pipeline_body(&cells->stage[0], thrum_pipe_token(pipe));
}

static void other(thrum_pipe *pipe, void *cell)
{
    pipeline_body(cell, thrum_pipe_token(pipe));
}

static void close_state(void *arg)
{
    pipeline_state *state = arg;
    thrum_pipeline_free(state->pipeline);
    thrum_executor_free(state->executor);
    free(state);
}

static void *open_state(const bench_request *request)
{
    thrum_stage stages[PIPELINE_STAGES];
    pipeline_state *state = bench_alloc(1, sizeof *state);
    pipeline_open(&state->cells, request);
    stages[0] = (thrum_stage){THRUM_SERIAL, first, &state->cells};
    for (int s = 1; s < PIPELINE_STAGES; s++)
        stages[s] = (thrum_stage){THRUM_SERIAL, other, &state->cells.stage[s]};
    state->executor = thrum_executor_new(&(thrum_config){.workers = request->workers});
    state->pipeline = thrum_pipeline_new(NULL, PIPELINE_LINES, stages, PIPELINE_STAGES);
    if (state->executor && state->pipeline)
        return state;
    bench_bad("no pipeline: %s", thrum_message(NULL));
    close_state(state);
    return NULL;
}

static double pass(void *arg)
{
    pipeline_state *state = arg;
    pipeline_begin(&state->cells);
    double begin = bench_now();
    int err = thrum_pipeline_run(state->executor, state->pipeline);
    double time = bench_now() - begin;
    if (err)
        bench_bad("%s", thrum_message(NULL));
    return pipeline_result(&state->cells, time);
}

static bench_work works[] = {
    {"pipeline", 0, open_state, pass, close_state, NULL},
};

BENCH_WORKS(works)
