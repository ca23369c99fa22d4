/* SPDX-License-Identifier: MIT
 *
 * No runtime at all: plain loops over the same bodies and kernels.
 */
#include "cholesky.h"
#include "insert.h"

#include <stdlib.h>

/* ---- Insertion --------------------------------------------------------------------------------------------------- */

struct insert_runtime {
    const insert_flow *flow;
};

uint32_t insert_divisor(int accesses, int workers)
{
    (void)accesses;
    (void)workers;
    return 1;
}

insert_runtime *insert_begin(const insert_flow *flow, int workers)
{
    (void)workers;
    insert_runtime *runtime = bench_alloc(1, sizeof *runtime);
    runtime->flow = flow;
    return runtime;
}

double insert_run(insert_runtime *runtime)
{
    const insert_flow *flow = runtime->flow;
    for (uint32_t task = 0; task < flow->tasks; task++)
        flow->body(&flow->cells[insert_accesses(flow, task)[flow->accesses - 1]]);
    return bench_now();
}

void insert_end(insert_runtime *runtime)
{
    free(runtime);
}

/* ---- Cholesky ---------------------------------------------------------------------------------------------------- */

struct cholesky_runtime {
    const cholesky *matrix;
};

uint32_t cholesky_divisor(int tile)
{
    (void)tile;
    return 1;
}

cholesky_runtime *cholesky_begin(const cholesky *c, int workers)
{
    (void)workers;
    cholesky_runtime *runtime = bench_alloc(1, sizeof *runtime);
    runtime->matrix = c;
    return runtime;
}

static inline CHOLESKY_INLINE void do_step(cholesky_step step, void *ctx)
{
    cholesky_do(ctx, step);
}

void cholesky_run(cholesky_runtime *runtime)
{
    cholesky_insert_all(runtime->matrix, do_step, (void *)(uintptr_t)runtime->matrix);
}

void cholesky_end(cholesky_runtime *runtime)
{
    free(runtime);
}
