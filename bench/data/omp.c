/* SPDX-License-Identifier: MIT
 *
 * Tasks with depend clauses: one thread of the region inserts them, and works with the others when it has.
 */
#include "cholesky.h"
#include "insert.h"

#include <stdlib.h>

/* ---- Insertion --------------------------------------------------------------------------------------------------- */

struct insert_runtime {
    const insert_flow *flow;
    int workers;
};

/* libgomp keeps a list of the tasks that access an address and have not ended, readers in front of a writer too, and
 * goes through it at each further access. It bounds the number of tasks that are ready, but not of those that wait: a
 * thread alone that inserts tasks of eight accesses, of which soon all wait, runs none of them before the last one is
 * inserted, so that what an insertion costs grows with their number (12 us with 10,000, 90 us with 100,000). libomp
 * runs them at once. */
uint32_t insert_divisor(int accesses, int workers)
{
#ifdef __clang__
    (void)accesses;
    (void)workers;
    return 1;
#else
    return accesses == 8 && workers == 1 ? 10 : 1;
#endif
}

insert_runtime *insert_begin(const insert_flow *flow, int workers)
{
    insert_runtime *runtime = bench_alloc(1, sizeof *runtime);
    runtime->flow = flow;
    runtime->workers = workers;
    return runtime;
}

/* The clauses name the data; the compilers do not see them used. */
#define UNUSED __attribute__((unused))

static void insert_1(insert_cell *cells UNUSED, const uint16_t *at, insert_body *body)
{
    insert_cell *written = &cells[at[0]];
#pragma omp task firstprivate(body, written) depend(inout : written[0])
    body(written);
}

static void insert_3(insert_cell *cells UNUSED, const uint16_t *at, insert_body *body)
{
    insert_cell *written = &cells[at[2]];
#pragma omp task firstprivate(body, written) depend(in : cells[at[0]], cells[at[1]]) depend(inout : written[0])
    body(written);
}

static void insert_8(insert_cell *cells UNUSED, const uint16_t *at, insert_body *body)
{
    insert_cell *written = &cells[at[7]];
#pragma omp task firstprivate(body, written) depend(in                                                                 \
                                                    : cells[at[0]], cells[at[1]], cells[at[2]], cells[at[3]],          \
                                                      cells[at[4]], cells[at[5]], cells[at[6]]) depend(inout           \
                                                                                                       : written[0])
    body(written);
}

static void insert_tasks(const insert_flow *flow)
{
    void (*insert)(insert_cell *, const uint16_t *, insert_body *) = flow->accesses == 1   ? insert_1
                                                                     : flow->accesses == 3 ? insert_3
                                                                                           : insert_8;
    for (uint32_t task = 0; task < flow->tasks; task++)
        insert(flow->cells, insert_accesses(flow, task), flow->body);
}

/* The region's closing barrier waits for the tasks. */
double insert_run(insert_runtime *runtime)
{
    double inserted = 0;
#pragma omp parallel num_threads(runtime->workers)
#pragma omp single
    {
        insert_tasks(runtime->flow);
        inserted = bench_now();
    }
    return inserted;
}

void insert_end(insert_runtime *runtime)
{
    free(runtime);
}

/* ---- Cholesky ---------------------------------------------------------------------------------------------------- */

struct cholesky_runtime {
    const cholesky *matrix;
    int workers;
};

uint32_t cholesky_divisor(int tile)
{
    (void)tile;
    return 1;
}

cholesky_runtime *cholesky_begin(const cholesky *c, int workers)
{
    cholesky_runtime *runtime = bench_alloc(1, sizeof *runtime);
    runtime->matrix = c;
    runtime->workers = workers;
    return runtime;
}

/* Priorities count where OMP_MAX_TASK_PRIORITY is set. It is not by default, and libgomp is faster without: with it,
 * tiles of 64 gave 50 GFLOP/s instead of 70. */
static inline CHOLESKY_INLINE void insert_step(cholesky_step step, void *ctx)
{
    const cholesky *c = ctx;
    int n = c->tile, priority = cholesky_priority(c, step);
    double *tile = cholesky_tile(c, step.i, step.j);
    double *left = cholesky_tile(c, step.i, step.k), *other = cholesky_tile(c, step.j, step.k);
    if (step.i == step.k) {
#pragma omp task firstprivate(n, tile) depend(inout : tile[0]) priority(priority)
        kernel_potrf(n, tile);
    } else if (step.j == step.k) {
#pragma omp task firstprivate(n, other, tile) depend(in : other[0]) depend(inout : tile[0]) priority(priority)
        kernel_trsm(n, other, tile);
    } else if (step.i == step.j) {
#pragma omp task firstprivate(n, left, tile) depend(in : left[0]) depend(inout : tile[0]) priority(priority)
        kernel_syrk(n, left, tile);
    } else {
#pragma omp task firstprivate(n, left, other, tile) depend(in                                                          \
                                                           : left[0], other[0]) depend(inout                           \
                                                                                       : tile[0]) priority(priority)
        kernel_gemm(n, left, other, tile);
    }
}

void cholesky_run(cholesky_runtime *runtime)
{
#pragma omp parallel num_threads(runtime->workers)
#pragma omp single
    cholesky_insert_all(runtime->matrix, insert_step, (void *)(uintptr_t)runtime->matrix);
}

void cholesky_end(cholesky_runtime *runtime)
{
    free(runtime);
}
