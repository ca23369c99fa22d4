/* SPDX-License-Identifier: MIT */
#include "idle.h"

#include <thrum/thrum.h>

#include <stdlib.h>

typedef struct idle_state {
    uint32_t shrink;
    thrum_executor *executor;
    thrum_graph *graph;
    uint32_t cells[IDLE_TASKS];
} idle_state;

static void raise_cell(void *arg)
{
    ++*(uint32_t *)arg;
}

static void close_idle(void *arg)
{
    idle_state *state = arg;
    thrum_graph_free(state->graph);
    thrum_executor_free(state->executor);
    free(state);
}

static void *open_idle(const bench_request *request)
{
    idle_state *state = bench_alloc(1, sizeof *state);
    state->shrink = request->shrink;
    state->graph = thrum_graph_new("idle");
    for (int i = 0; i < IDLE_TASKS; i++)
        thrum_task_new(state->graph, raise_cell, &state->cells[i]);
    state->executor = thrum_executor_new(&(thrum_config){.workers = request->workers});
    if (!state->executor) {
        bench_bad("no executor: %s", thrum_message(NULL));
        close_idle(state);
        return NULL;
    }
    return state;
}

static double pass_idle(void *arg)
{
    idle_state *state = arg;
    if (thrum_run(state->executor, state->graph) != 0)
        bench_bad("run: %s", thrum_message(state->graph));
    return idle_pass(state->shrink);
}

static bench_work works[] = {{"idle", 0, open_idle, pass_idle, close_idle, NULL}};

BENCH_WORKS(works)
