/* SPDX-License-Identifier: MIT */
#include "kernels.h"

#include "common/app.h"
#include "common/tiles.h"

#include <cblas.h>
#include <lapacke.h>

/* Operations a second, for models: a core of a processor, and a device that is good at GEMM and bad at what is
 * sequential. */
static const struct {
    double cpu, emu;
} rates[CHOLESKY_KERNELS] = {
    [CHOLESKY_POTRF] = {10e9, 10e9},
    [CHOLESKY_TRSM] = {18e9, 90e9},
    [CHOLESKY_SYRK] = {18e9, 200e9},
    [CHOLESKY_GEMM] = {20e9, 600e9},
};

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static void potrf(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    app_count_task();
    int info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', app_rows(b), b->ptr, app_ld(b));
    if (info > 0)
        thrum_fail(info, "the matrix is not positive definite: column %d of tile %s", info, thrum_data_name(b->data));
    else if (info < 0)
        thrum_fail(THRUM_EINVAL, "potrf refuses its argument %d", -info);
}

static void trsm(const thrum_buffer *b, const void *arg)
{
    const thrum_buffer *l = &b[0], *a = &b[1];
    (void)arg;
    app_count_task();
    cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, app_rows(a), app_columns(a), 1, l->ptr,
                app_ld(l), a->ptr, app_ld(a));
}

static void syrk(const thrum_buffer *b, const void *arg)
{
    const thrum_buffer *a = &b[0], *c = &b[1];
    (void)arg;
    app_count_task();
    cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, app_rows(c), app_columns(a), -1, a->ptr, app_ld(a), 1, c->ptr,
                app_ld(c));
}

static void gemm(const thrum_buffer *b, const void *arg)
{
    const thrum_buffer *x = &b[0], *y = &b[1], *c = &b[2];
    (void)arg;
    app_count_task();
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, app_rows(c), app_columns(c), app_columns(x), -1, x->ptr,
                app_ld(x), y->ptr, app_ld(y), 1, c->ptr, app_ld(c));
}

/* ---- Models ------------------------------------------------------------------------------------------------------ */

static double seconds(const thrum_place *place, int kernel, double operations)
{
    return app_model_seconds(place, operations, rates[kernel].cpu, rates[kernel].emu);
}

static double potrf_seconds(const thrum_place *place, const thrum_buffer *b, int count, const void *arg)
{
    return seconds(place, CHOLESKY_POTRF, cholesky_potrf_work(b, count, arg));
}

static double trsm_seconds(const thrum_place *place, const thrum_buffer *b, int count, const void *arg)
{
    return seconds(place, CHOLESKY_TRSM, cholesky_trsm_work(b, count, arg));
}

static double syrk_seconds(const thrum_place *place, const thrum_buffer *b, int count, const void *arg)
{
    return seconds(place, CHOLESKY_SYRK, cholesky_syrk_work(b, count, arg));
}

static double gemm_seconds(const thrum_place *place, const thrum_buffer *b, int count, const void *arg)
{
    return seconds(place, CHOLESKY_GEMM, cholesky_gemm_work(b, count, arg));
}

const thrum_codelet cholesky_codelets[CHOLESKY_KERNELS] = {
    [CHOLESKY_POTRF] =
        {.name = "cholesky-potrf", .cpu = potrf, .emu = potrf, .seconds = potrf_seconds, .work = cholesky_potrf_work},
    [CHOLESKY_TRSM] =
        {.name = "cholesky-trsm", .cpu = trsm, .emu = trsm, .seconds = trsm_seconds, .work = cholesky_trsm_work},
    [CHOLESKY_SYRK] =
        {.name = "cholesky-syrk", .cpu = syrk, .emu = syrk, .seconds = syrk_seconds, .work = cholesky_syrk_work},
    [CHOLESKY_GEMM] =
        {.name = "cholesky-gemm", .cpu = gemm, .emu = gemm, .seconds = gemm_seconds, .work = cholesky_gemm_work},
};
