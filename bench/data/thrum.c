/* SPDX-License-Identifier: MIT
 *
 * Flows of thrum: on an executor that steals, or with BENCH_THRUM_POLICY.
 */
#include "cholesky.h"
#include "thrum_flow.h"

#include <stdlib.h>

/* ---- Insertion --------------------------------------------------------------------------------------------------- */

struct insert_runtime {
    flow_cells cells;
    thrum_flow *flow;
};

uint32_t insert_divisor(int accesses, int workers)
{
    (void)accesses;
    (void)workers;
    return 1;
}

insert_runtime *insert_begin(const insert_flow *flow, int workers)
{
    insert_runtime *runtime = bench_alloc(1, sizeof *runtime);
    if (flow_cells_begin(&runtime->cells, flow, workers) == 0 &&
        (runtime->flow = thrum_flow_new(runtime->cells.executor)) != NULL)
        return runtime;
    bench_bad("no flow: %s", thrum_message(NULL));
    insert_end(runtime);
    return NULL;
}

double insert_run(insert_runtime *runtime)
{
    flow_cells_insert(&runtime->cells, runtime->flow);
    double inserted = bench_now();
    if (thrum_flow_wait(runtime->flow) != 0)
        bench_bad("wait: %s", thrum_message(NULL));
    return inserted;
}

void insert_end(insert_runtime *runtime)
{
    thrum_flow_free(runtime->flow);
    flow_cells_end(&runtime->cells);
    free(runtime);
}

/* ---- Cholesky ---------------------------------------------------------------------------------------------------- */

struct cholesky_runtime {
    const cholesky *matrix;
    thrum_executor *executor;
    thrum_data **handles;
    thrum_flow *flow;
    int failed;
};

static int rows_of(const thrum_buffer *tile)
{
    return (int)tile->extent[0];
}

static void run_potrf(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    kernel_potrf(rows_of(&b[0]), b[0].ptr);
}

static void run_trsm(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    kernel_trsm(rows_of(&b[1]), b[0].ptr, b[1].ptr);
}

static void run_syrk(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    kernel_syrk(rows_of(&b[1]), b[0].ptr, b[1].ptr);
}

static void run_gemm(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    kernel_gemm(rows_of(&b[2]), b[0].ptr, b[1].ptr, b[2].ptr);
}

static const thrum_codelet potrf = {.name = "potrf", .cpu = run_potrf};
static const thrum_codelet trsm = {.name = "trsm", .cpu = run_trsm};
static const thrum_codelet syrk = {.name = "syrk", .cpu = run_syrk};
static const thrum_codelet gemm = {.name = "gemm", .cpu = run_gemm};

/* Stealing knows no more of priorities than their sign, so there are none. */
#ifdef BENCH_THRUM_POLICY
#define URGENCY(c, step) THRUM_PRIORITY(cholesky_priority(c, step))
#else
#define URGENCY(c, step) THRUM_NONE
#endif

static inline CHOLESKY_INLINE void insert_step(cholesky_step step, void *ctx)
{
    cholesky_runtime *r = ctx;
    thrum_data *tile = r->handles[cholesky_index(step.i, step.j)];
    thrum_data *left = r->handles[cholesky_index(step.i, step.k)];
    thrum_data *other = r->handles[cholesky_index(step.j, step.k)];
    if (step.i == step.k)
        r->failed |= thrum_insert(r->flow, &potrf, THRUM_RW(tile), URGENCY(r->matrix, step));
    else if (step.j == step.k)
        r->failed |= thrum_insert(r->flow, &trsm, THRUM_R(other), THRUM_RW(tile), URGENCY(r->matrix, step));
    else if (step.i == step.j)
        r->failed |= thrum_insert(r->flow, &syrk, THRUM_R(left), THRUM_RW(tile), URGENCY(r->matrix, step));
    else
        r->failed |=
            thrum_insert(r->flow, &gemm, THRUM_R(left), THRUM_R(other), THRUM_RW(tile), URGENCY(r->matrix, step));
}

void cholesky_run(cholesky_runtime *r)
{
    cholesky_insert_all(r->matrix, insert_step, r);
    if (thrum_flow_wait(r->flow) != 0 || r->failed)
        bench_bad("the flow has failed: %s", thrum_message(NULL));
}

static int register_tiles(cholesky_runtime *r)
{
    const cholesky *c = r->matrix;
    size_t n = (size_t)c->tile;
    for (int i = 0; i < c->tiles; i++)
        for (int j = 0; j <= i; j++)
            if (!(r->handles[cholesky_index(i, j)] =
                      thrum_data_matrix(r->executor, cholesky_tile(c, i, j), n, n, n, sizeof(double))))
                return -1;
    return 0;
}

/* Models are learned from two factorisations. */
static void learn(cholesky_runtime *r)
{
#ifdef BENCH_THRUM_POLICY
    for (int i = 0; i < 2; i++) {
        cholesky_fill(r->matrix);
        cholesky_run(r);
    }
#else
    (void)r;
#endif
}

uint32_t cholesky_divisor(int tile)
{
#ifdef BENCH_THRUM_POLICY
    return tile == 32 ? 8 : 1;
#else
    (void)tile;
    return 1;
#endif
}

cholesky_runtime *cholesky_begin(const cholesky *c, int workers)
{
    cholesky_runtime *r = bench_alloc(1, sizeof *r);
    r->matrix = c;
    r->handles = bench_alloc(cholesky_tile_count(c), sizeof *r->handles);
    r->executor = flow_executor(workers);
    if (r->executor && register_tiles(r) == 0 && (r->flow = thrum_flow_new(r->executor)) != NULL) {
        learn(r);
        return r;
    }
    bench_bad("no flow: %s", thrum_message(NULL));
    cholesky_end(r);
    return NULL;
}

void cholesky_end(cholesky_runtime *r)
{
    thrum_flow_free(r->flow);
    for (size_t i = 0; i < cholesky_tile_count(r->matrix); i++)
        thrum_data_unregister(r->handles[i]);
    thrum_executor_free(r->executor);
    free(r->handles);
    free(r);
}
