/* SPDX-License-Identifier: MIT */
#include "submit.h"

#include <thrum/thrum.h>

#include <stdlib.h>

typedef struct submit_state {
    bench_request request;
    thrum_executor *executor;
    thrum_graph *graph; /* of one task, for the caller to run */
    _Alignas(SUBMIT_OWN_LINE) volatile uint64_t done;
} submit_state;

static void raise_done(void *arg)
{
    ++*(volatile uint64_t *)arg;
}

static void submit_and_wait(void *arg)
{
    submit_state *state = arg;
    thrum_handle *handle = thrum_submit(state->executor, raise_done, (void *)&state->done);
    if (thrum_wait(handle) != 0)
        bench_bad("submit: %s", thrum_message(NULL));
    thrum_release(handle);
}

static void run_one_task(void *arg)
{
    submit_state *state = arg;
    if (thrum_run(state->executor, state->graph) != 0)
        bench_bad("run: %s", thrum_message(NULL));
}

static void close_submit(void *arg)
{
    submit_state *state = arg;
    thrum_graph_free(state->graph);
    thrum_executor_free(state->executor);
    free(state);
}

static void *open_submit(const bench_request *request)
{
    submit_state *state = aligned_alloc(SUBMIT_OWN_LINE, sizeof *state);
    if (!state)
        return NULL;
    enum thrum_callers callers = request->variant == SUBMIT_CALLER ? THRUM_CALLERS_HELP : THRUM_CALLERS_BLOCK;
    *state = (submit_state){.request = *request};
    state->executor = thrum_executor_new(&(thrum_config){.workers = request->workers, .callers = callers});
    state->graph = thrum_graph_new("one task");
    thrum_task_new(state->graph, raise_done, (void *)&state->done);
    if (!state->executor) {
        bench_bad("no executor: %s", thrum_message(NULL));
        close_submit(state);
        return NULL;
    }
    return state;
}

static double pass_submit(void *arg)
{
    submit_state *state = arg;
    int variant = state->request.variant;
    return submit_pass(variant, state->request.shrink, variant == SUBMIT_CALLER ? run_one_task : submit_and_wait, state,
                       &state->done);
}

static bench_work works[] = {
    {"submit-hot", SUBMIT_HOT, open_submit, pass_submit, close_submit, NULL},
    {"submit-hot-spin", SUBMIT_HOT_SPIN, open_submit, pass_submit, close_submit, NULL},
    {"submit-idle", SUBMIT_IDLE, open_submit, pass_submit, close_submit, NULL},
    {"submit-caller", SUBMIT_CALLER, open_submit, pass_submit, close_submit, NULL},
};

BENCH_WORKS(works)
