/* SPDX-License-Identifier: MIT
 *
 * By flows. The dot product and the histogram reduce; the tasks of the second histogram commute on some copies of the
 * bins, block by block in turn, and the copies are added up; those of the third read and write the bins.
 */
#include "redux.h"
#include "thrum_flow.h"

#include <stdlib.h>
#include <string.h>

struct redux_runtime {
    redux *r;
    thrum_executor *executor;
    thrum_flow *flow;
    thrum_data **x, **y;              /* blocks; of histograms x alone */
    thrum_data *result;               /* the sum, or the bins */
    thrum_data *copies[REDUX_COPIES]; /* COMMUTE: of the bins */
};

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static void run_clear(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    memset(b[0].ptr, 0, b[0].elem * b[0].extent[0]);
}

static void run_dot(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(double *)b[2].ptr += redux_dot(b[0].ptr, b[1].ptr, b[0].extent[0]);
}

static void run_add_dot(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(double *)b[0].ptr += *(const double *)b[1].ptr;
}

static void run_count(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    redux_histogram(b[0].ptr, b[0].extent[0], b[1].ptr);
}

static void run_add_bins(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    uint64_t *into = b[0].ptr;
    const uint64_t *from = b[1].ptr;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        into[i] += from[i];
}

static const thrum_codelet clear = {.name = "clear", .cpu = run_clear};
static const thrum_codelet dot = {.name = "dot", .cpu = run_dot};
static const thrum_codelet add_dot = {.name = "add-dot", .cpu = run_add_dot};
static const thrum_codelet count = {.name = "count", .cpu = run_count};
static const thrum_codelet add_bins = {.name = "add-bins", .cpu = run_add_bins};

/* ---- Flows ------------------------------------------------------------------------------------------------------- */

static int insert_on_result(redux_runtime *t)
{
    enum thrum_mode mode = t->r->variant == REDUX_RW ? THRUM_MODE_RW : THRUM_MODE_REDUX;
    int failed = thrum_insert(t->flow, &clear, THRUM_W(t->result));
    for (size_t i = 0; i < t->r->blocks; i++) {
        if (t->r->variant == REDUX_DOT)
            failed |= thrum_insert(t->flow, &dot, THRUM_R(t->x[i]), THRUM_R(t->y[i]), THRUM_ACCESS(mode, t->result));
        else
            failed |= thrum_insert(t->flow, &count, THRUM_R(t->x[i]), THRUM_ACCESS(mode, t->result));
    }
    return failed;
}

static int insert_commuters(redux_runtime *t)
{
    int failed = thrum_insert(t->flow, &clear, THRUM_W(t->result));
    for (int i = 0; i < REDUX_COPIES; i++)
        failed |= thrum_insert(t->flow, &clear, THRUM_W(t->copies[i]));
    for (size_t i = 0; i < t->r->blocks; i++)
        failed |= thrum_insert(t->flow, &count, THRUM_R(t->x[i]), THRUM_COMMUTE(t->copies[i % REDUX_COPIES]));
    for (int i = 0; i < REDUX_COPIES; i++)
        failed |= thrum_insert(t->flow, &add_bins, THRUM_RW(t->result), THRUM_R(t->copies[i]));
    return failed;
}

void redux_run(redux_runtime *t)
{
    int failed = t->r->variant == REDUX_COMMUTE ? insert_commuters(t) : insert_on_result(t);
    if (thrum_flow_wait(t->flow) != 0 || failed)
        bench_bad("the flow has failed: %s", thrum_message(NULL));
}

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

static void register_result(redux_runtime *t)
{
    redux *r = t->r;
    if (r->variant == REDUX_DOT)
        t->result = thrum_data_vector(t->executor, &r->dot, 1, sizeof r->dot);
    else
        t->result = thrum_data_vector(t->executor, r->bins, REDUX_BINS, sizeof *r->bins);
    if (r->variant != REDUX_COMMUTE)
        thrum_data_set_reduction(t->result, &clear, r->variant == REDUX_DOT ? &add_dot : &add_bins);
    for (int i = 0; r->variant == REDUX_COMMUTE && i < REDUX_COPIES; i++)
        t->copies[i] = thrum_data_vector(t->executor, NULL, REDUX_BINS, sizeof *r->bins);
}

static void register_blocks(redux_runtime *t)
{
    redux *r = t->r;
    for (size_t i = 0; i < r->blocks; i++) {
        size_t at = i * r->block;
        if (r->variant == REDUX_DOT) {
            t->x[i] = thrum_data_vector(t->executor, r->x + at, r->block, sizeof *r->x);
            t->y[i] = thrum_data_vector(t->executor, r->y + at, r->block, sizeof *r->y);
        } else {
            t->x[i] = thrum_data_vector(t->executor, r->keys + at, r->block, sizeof *r->keys);
        }
    }
}

redux_runtime *redux_begin(redux *r, int workers)
{
    thrum_executor *executor = flow_executor(workers);
    if (!executor)
        return NULL;
    redux_runtime *t = bench_alloc(1, sizeof *t);
    t->r = r;
    t->executor = executor;
    t->flow = thrum_flow_new(executor);
    t->x = bench_alloc(r->blocks, sizeof *t->x);
    t->y = bench_alloc(r->blocks, sizeof *t->y);
    register_result(t);
    register_blocks(t);
    return t;
}

void redux_end(redux_runtime *t)
{
    thrum_flow_free(t->flow);
    for (size_t i = 0; i < t->r->blocks; i++) {
        thrum_data_unregister(t->x[i]);
        thrum_data_unregister(t->y[i]);
    }
    for (int i = 0; i < REDUX_COPIES; i++)
        thrum_data_unregister(t->copies[i]);
    thrum_data_unregister(t->result);
    thrum_executor_free(t->executor);
    free(t->x);
    free(t->y);
    free(t);
}
