/* SPDX-License-Identifier: MIT */
#include "idle.h"

#include <stdlib.h>

typedef struct idle_state {
    bench_request request;
    uint32_t cells[IDLE_TASKS];
} idle_state;

static void *open_idle(const bench_request *request)
{
    idle_state *state = bench_alloc(1, sizeof *state);
    state->request = *request;
    return state;
}

static void make_tasks(idle_state *state)
{
    for (int i = 0; i < IDLE_TASKS; i++) {
        uint32_t *cell = &state->cells[i];
#pragma omp task firstprivate(cell)
        ++*cell;
    }
}

static double pass_idle(void *arg)
{
    idle_state *state = arg;
#pragma omp parallel num_threads(state->request.workers)
#pragma omp single
    make_tasks(state);
    return idle_pass(state->request.shrink);
}

static bench_work works[] = {{"idle", 0, open_idle, pass_idle, free, NULL}};

BENCH_WORKS(works)
