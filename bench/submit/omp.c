/* SPDX-License-Identifier: MIT
 *
 * OpenMP has no way to hand work to its threads from outside of a region; a task inside of one, waited for, is the
 * nearest to a caller that may run it itself.
 */
#include "submit.h"

#include <stdlib.h>

typedef struct submit_state {
    bench_request request;
    volatile uint64_t done;
} submit_state;

static void raise_done(volatile uint64_t *done)
{
    ++*done;
}

static void (*volatile body)(volatile uint64_t *done) = raise_done;

static void task_and_wait(void *arg)
{
    submit_state *state = arg;
#pragma omp task firstprivate(state)
    body(&state->done);
#pragma omp taskwait
}

static void *open_submit(const bench_request *request)
{
    submit_state *state = bench_alloc(1, sizeof *state);
    state->request = *request;
    return state;
}

static double pass_submit(void *arg)
{
    submit_state *state = arg;
    double time = 0;
#pragma omp parallel num_threads(state->request.workers)
#pragma omp single
    time = submit_pass(SUBMIT_CALLER, state->request.shrink, task_and_wait, state, &state->done);
    return time;
}

static bench_work works[] = {{"submit-caller", SUBMIT_CALLER, open_submit, pass_submit, free, NULL}};

BENCH_WORKS(works)
