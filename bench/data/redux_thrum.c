/* SPDX-License-Identifier: MIT
 *
 * By flows. The dot product and the histogram reduce; the other histogram counts each block for itself, and adds what it has got
 * to the bins by tasks that commute, a part of them at a time.
 */
#include "redux.h"
#include "thrum_flow.h"

#include <stdlib.h>
#include <string.h>

enum { PART = REDUX_BINS / REDUX_PARTS };

struct redux_runtime {
    redux *r;
    thrum_executor *executor;
    thrum_flow *flow;
    thrum_data **x, **y;               /* blocks; of histograms x alone */
    thrum_data *result[REDUX_PARTS];   /* the sum, all bins, or parts of them */
    thrum_data *(*local)[REDUX_PARTS]; /* COMMUTE: what each block has counted */
};

/* ---- Kernels ------------------------------------------------------------------------------------------------------ */

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

/* The parts of a block's bins lie one behind the other. */
static void run_count_locally(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    memset(b[1].ptr, 0, REDUX_BINS * sizeof(uint64_t));
    redux_histogram(b[0].ptr, b[0].extent[0], b[1].ptr);
}

static const thrum_codelet clear = {.name = "clear", .cpu = run_clear};
static const thrum_codelet dot = {.name = "dot", .cpu = run_dot};
static const thrum_codelet add_dot = {.name = "add-dot", .cpu = run_add_dot};
static const thrum_codelet count = {.name = "count", .cpu = run_count};
static const thrum_codelet add_bins = {.name = "add-bins", .cpu = run_add_bins};
static const thrum_codelet count_locally = {.name = "count-locally", .cpu = run_count_locally};

/* ---- Flows -------------------------------------------------------------------------------------------------------- */

static int insert_reducers(redux_runtime *t)
{
    int failed = thrum_insert(t->flow, &clear, THRUM_W(t->result[0]));
    for (size_t i = 0; i < t->r->blocks; i++) {
        if (t->r->variant == REDUX_DOT)
            failed |= thrum_insert(t->flow, &dot, THRUM_R(t->x[i]), THRUM_R(t->y[i]), THRUM_REDUX(t->result[0]));
        else
            failed |= thrum_insert(t->flow, &count, THRUM_R(t->x[i]), THRUM_REDUX(t->result[0]));
    }
    return failed;
}

static int insert_commuters(redux_runtime *t)
{
    int failed = 0;
    for (int part = 0; part < REDUX_PARTS; part++)
        failed |= thrum_insert(t->flow, &clear, THRUM_W(t->result[part]));
    for (size_t i = 0; i < t->r->blocks; i++) {
        thrum_data **own = t->local[i];
        failed |= thrum_insert(t->flow, &count_locally, THRUM_R(t->x[i]), THRUM_W(own[0]), THRUM_W(own[1]),
                               THRUM_W(own[2]), THRUM_W(own[3]));
        for (int part = 0; part < REDUX_PARTS; part++)
            failed |= thrum_insert(t->flow, &add_bins, THRUM_COMMUTE(t->result[part]), THRUM_R(own[part]));
    }
    return failed;
}

void redux_run(redux_runtime *t)
{
    int failed = t->r->variant == REDUX_COMMUTE ? insert_commuters(t) : insert_reducers(t);
    if (thrum_flow_wait(t->flow) != 0 || failed)
        bench_bad("the flow has failed: %s", thrum_message(NULL));
}

/* ---- Handles ------------------------------------------------------------------------------------------------------ */

_Static_assert(REDUX_PARTS == 4, "count_locally has that many");

static thrum_data *bins_part(redux_runtime *t, uint64_t *bins, size_t bin_count)
{
    return thrum_data_vector(t->executor, bins, bin_count, sizeof *bins);
}

static void register_result(redux_runtime *t)
{
    redux *r = t->r;
    if (r->variant == REDUX_DOT)
        t->result[0] = thrum_data_vector(t->executor, &r->dot, 1, sizeof r->dot);
    else if (r->variant == REDUX_HISTOGRAM)
        t->result[0] = bins_part(t, r->bins, REDUX_BINS);
    for (int part = 0; r->variant == REDUX_COMMUTE && part < REDUX_PARTS; part++)
        t->result[part] = bins_part(t, r->bins + part * PART, PART);
    if (r->variant != REDUX_COMMUTE)
        thrum_data_set_reduction(t->result[0], &clear, r->variant == REDUX_DOT ? &add_dot : &add_bins);
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

static void register_local(redux_runtime *t)
{
    for (size_t i = 0; i < t->r->blocks; i++) {
        uint64_t *bins = bench_alloc(REDUX_BINS, sizeof *bins);
        for (int part = 0; part < REDUX_PARTS; part++)
            t->local[i][part] = bins_part(t, bins + part * PART, PART);
    }
}

static void unregister_local(redux_runtime *t)
{
    for (size_t i = 0; i < t->r->blocks; i++) {
        thrum_buffer first;
        thrum_data_describe(t->local[i][0], &first);
        for (int part = 0; part < REDUX_PARTS; part++)
            thrum_data_unregister(t->local[i][part]);
        free(first.ptr);
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
    t->local = bench_alloc(r->blocks, sizeof *t->local);
    register_result(t);
    register_blocks(t);
    if (r->variant == REDUX_COMMUTE)
        register_local(t);
    return t;
}

void redux_end(redux_runtime *t)
{
    thrum_flow_free(t->flow);
    for (size_t i = 0; i < t->r->blocks; i++) {
        thrum_data_unregister(t->x[i]);
        thrum_data_unregister(t->y[i]);
    }
    for (int part = 0; part < REDUX_PARTS; part++)
        thrum_data_unregister(t->result[part]);
    if (t->r->variant == REDUX_COMMUTE)
        unregister_local(t);
    thrum_executor_free(t->executor);
    free(t->local);
    free(t->x);
    free(t->y);
    free(t);
}
