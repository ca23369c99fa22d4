/* SPDX-License-Identifier: MIT
 *
 * The tasks of a tiled Cholesky factorization: their order, and how much work they are. Nothing here needs OpenBLAS.
 */
#include "cholesky.h"

/* How many tasks follow one after the other, at least, behind the task that changes tile (i, j) in step k. The built-in
 * stealing knows more and less urgent only: there it is what the next step waits for. */
static int urgency(const struct cholesky *c, size_t i, size_t j, size_t k)
{
    if (c->steals)
        return j <= k + 1;
    return (int)(3 * (c->a.count - 1 - i) + 2 * (i - j) + (j - k));
}

static thrum_item bucket(const struct cholesky *c, int kernel)
{
    return THRUM_BUCKET(c->buckets ? kernel : THRUM_NO_BUCKET);
}

static void insert_step(const struct cholesky *c, thrum_flow *flow, size_t k)
{
    const thrum_codelet *codelets = c->codelets;
    const struct app_tiles *a = &c->a;
    thrum_data *diagonal = app_tile_data(a, k, k);
    thrum_insert(flow, &codelets[CHOLESKY_POTRF], THRUM_RW(diagonal), THRUM_PRIORITY(urgency(c, k, k, k)),
                 bucket(c, CHOLESKY_POTRF));
    for (size_t i = k + 1; i < a->count; i++)
        thrum_insert(flow, &codelets[CHOLESKY_TRSM], THRUM_R(diagonal), THRUM_RW(app_tile_data(a, i, k)),
                     THRUM_PRIORITY(urgency(c, i, k, k)), bucket(c, CHOLESKY_TRSM));
    for (size_t j = k + 1; j < a->count; j++) {
        thrum_insert(flow, &codelets[CHOLESKY_SYRK], THRUM_R(app_tile_data(a, j, k)), THRUM_RW(app_tile_data(a, j, j)),
                     THRUM_PRIORITY(urgency(c, j, j, k)), bucket(c, CHOLESKY_SYRK));
        for (size_t i = j + 1; i < a->count; i++)
            thrum_insert(flow, &codelets[CHOLESKY_GEMM], THRUM_R(app_tile_data(a, i, k)),
                         THRUM_R(app_tile_data(a, j, k)), THRUM_RW(app_tile_data(a, i, j)),
                         THRUM_PRIORITY(urgency(c, i, j, k)), bucket(c, CHOLESKY_GEMM));
    }
}

void cholesky_insert(const struct cholesky *c, thrum_flow *flow)
{
    for (size_t k = 0; k < c->a.count; k++)
        insert_step(c, flow, k);
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

double cholesky_potrf_work(const thrum_buffer *b, int count, const void *arg)
{
    double n = app_rows(b);
    (void)count, (void)arg;
    return n * n * n / 3;
}

double cholesky_trsm_work(const thrum_buffer *b, int count, const void *arg)
{
    double m = app_rows(&b[1]), n = app_columns(&b[1]);
    (void)count, (void)arg;
    return m * n * n;
}

double cholesky_syrk_work(const thrum_buffer *b, int count, const void *arg)
{
    double n = app_rows(&b[1]), k = app_columns(&b[0]);
    (void)count, (void)arg;
    return n * n * k;
}

double cholesky_gemm_work(const thrum_buffer *b, int count, const void *arg)
{
    double m = app_rows(&b[2]), n = app_columns(&b[2]), k = app_columns(&b[0]);
    (void)count, (void)arg;
    return 2 * m * n * k;
}
