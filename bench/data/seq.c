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

cholesky_runtime *cholesky_begin(const cholesky *c, int workers)
{
    (void)workers;
    cholesky_runtime *runtime = bench_alloc(1, sizeof *runtime);
    runtime->matrix = c;
    return runtime;
}

static void right_looking(const cholesky *c)
{
    for (int k = 0; k < c->tiles; k++) {
        for (int i = k; i < c->tiles; i++)
            cholesky_do(c, (cholesky_step){i, k, k});
        for (int j = k + 1; j < c->tiles; j++)
            for (int i = j; i < c->tiles; i++)
                cholesky_do(c, (cholesky_step){i, j, k});
    }
}

static void right_looking_rows(const cholesky *c)
{
    for (int k = 0; k < c->tiles; k++) {
        for (int i = k; i < c->tiles; i++)
            cholesky_do(c, (cholesky_step){i, k, k});
        for (int i = k + 1; i < c->tiles; i++)
            for (int j = k + 1; j <= i; j++)
                cholesky_do(c, (cholesky_step){i, j, k});
    }
}

static void left_looking(const cholesky *c)
{
    for (int j = 0; j < c->tiles; j++)
        for (int i = j; i < c->tiles; i++)
            for (int k = 0; k <= j; k++)
                cholesky_do(c, (cholesky_step){i, j, k});
}

static void left_looking_k(const cholesky *c)
{
    for (int j = 0; j < c->tiles; j++)
        for (int k = 0; k <= j; k++)
            for (int i = j; i < c->tiles; i++)
                cholesky_do(c, (cholesky_step){i, j, k});
}

static void up_looking(const cholesky *c)
{
    for (int i = 0; i < c->tiles; i++)
        for (int j = 0; j <= i; j++)
            for (int k = 0; k <= j; k++)
                cholesky_do(c, (cholesky_step){i, j, k});
}

static void up_looking_right(const cholesky *c)
{
    for (int i = 0; i < c->tiles; i++)
        for (int k = 0; k <= i; k++)
            for (int j = k; j <= i; j++)
                cholesky_do(c, (cholesky_step){i, j, k});
}

void cholesky_run(cholesky_runtime *runtime)
{
    const char *o = getenv("ORDER");
    static void (*const orders[])(const cholesky *) = {right_looking,  right_looking_rows, left_looking,
                                                       left_looking_k, up_looking,         up_looking_right};
    orders[o ? atoi(o) : 0](runtime->matrix);
}

void cholesky_end(cholesky_runtime *runtime)
{
    free(runtime);
}
