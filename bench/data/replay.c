/* SPDX-License-Identifier: MIT
 *
 * The tasks of insert-3 again and again: recorded into a graph once, which is then run; or, with BENCH_REPLAY_INSERTS,
 * inserted each time, for comparison. Nanoseconds per task.
 */
#include "thrum_flow.h"

#include <stdlib.h>

typedef struct replay_state {
    insert_flow *tasks;
    flow_cells cells;
    thrum_graph *graph;
    thrum_flow *flow;
} replay_state;

#ifdef BENCH_REPLAY_INSERTS

static int replay_begin(replay_state *state)
{
    state->flow = thrum_flow_new(state->cells.executor);
    return state->flow ? 0 : -1;
}

static int replay_run(replay_state *state)
{
    flow_cells_insert(&state->cells, state->flow);
    return thrum_flow_wait(state->flow);
}

#else

static int replay_begin(replay_state *state)
{
    state->graph = thrum_graph_new("recorded");
    thrum_flow *recording = thrum_flow_record(state->cells.executor, state->graph);
    if (!recording)
        return -1;
    flow_cells_insert(&state->cells, recording);
    int err = thrum_flow_free(recording);
    return err ? err : thrum_graph_freeze(state->graph);
}

static int replay_run(replay_state *state)
{
    return thrum_run(state->cells.executor, state->graph);
}

#endif

static void close_replay(void *arg)
{
    replay_state *state = arg;
    thrum_flow_free(state->flow);
    thrum_graph_free(state->graph);
    flow_cells_end(&state->cells);
    insert_flow_free(state->tasks);
    free(state);
}

static void *open_replay(const bench_request *request)
{
    replay_state *state = bench_alloc(1, sizeof *state);
    state->tasks = insert_flow_new(INSERT_TASKS / request->shrink, request->variant);
    if (flow_cells_begin(&state->cells, state->tasks, request->workers) == 0 && replay_begin(state) == 0)
        return state;
    bench_bad("no flow: %s", thrum_message(NULL));
    close_replay(state);
    return NULL;
}

static double run_once(replay_state *state)
{
    double begin = bench_now();
    if (replay_run(state) != 0)
        bench_bad("replay: %s", thrum_message(NULL));
    double time = bench_now() - begin;
    insert_flow_verify(state->tasks);
    return time / state->tasks->tasks;
}

/* As re-runs of other graphs: the first one brings it back into the caches after other processes had them. */
static double pass_replay(void *arg)
{
    run_once(arg);
    return run_once(arg);
}

static bench_work works[] = {
    {"replay", 3, open_replay, pass_replay, close_replay, NULL},
};

BENCH_WORKS(works)
