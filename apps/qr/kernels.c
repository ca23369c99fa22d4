/* SPDX-License-Identifier: MIT */
#include "kernels.h"

#include "common/app.h"
#include "common/tiles.h"

#include <lapacke.h>
#include <string.h>

/* Operations a second, for models: a core of a processor, and a device that is good at the updates and bad at
 * panels. */
static const struct {
    double cpu, emu;
} rates[QR_KERNELS] = {
    [QR_GEQRT] = {8e9, 4e9},
    [QR_UNMQR] = {14e9, 200e9},
    [QR_TSQRT] = {9e9, 20e9},
    [QR_TSMQR] = {16e9, 350e9},
};

/* Reflectors in a block: T's rows, but no more than there are reflectors, as LAPACK wants it. */
static int block_of(const thrum_buffer *t, int reflectors)
{
    return app_rows(t) < reflectors ? app_rows(t) : reflectors;
}

static void expect_zero(const char *kernel, int info)
{
    if (info)
        thrum_fail(THRUM_EINVAL, "%s refuses its argument %d", kernel, -info);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static void copy_matrix(const thrum_buffer *from, const thrum_buffer *to)
{
    for (int j = 0; j < app_columns(from); j++)
        memcpy((double *)to->ptr + (size_t)j * (size_t)app_ld(to),
               (double *)from->ptr + (size_t)j * (size_t)app_ld(from), (size_t)app_rows(from) * sizeof(double));
}

static void geqrt(const thrum_buffer *b, const void *arg)
{
    const thrum_buffer *a = &b[0], *v = &b[1], *t = &b[2], *work = &b[3];
    (void)arg;
    app_count_task();
    expect_zero("geqrt", LAPACKE_dgeqrt_work(LAPACK_COL_MAJOR, app_rows(a), app_columns(a), block_of(t, app_columns(a)),
                                             a->ptr, app_ld(a), t->ptr, app_ld(t), work->ptr));
    copy_matrix(a, v);
}

static void unmqr(const thrum_buffer *b, const void *arg)
{
    const thrum_buffer *v = &b[0], *t = &b[1], *c = &b[2], *work = &b[3];
    int k = app_columns(v);
    (void)arg;
    app_count_task();
    expect_zero("gemqrt",
                LAPACKE_dgemqrt_work(LAPACK_COL_MAJOR, 'L', 'T', app_rows(c), app_columns(c), k, block_of(t, k), v->ptr,
                                     app_ld(v), t->ptr, app_ld(t), c->ptr, app_ld(c), work->ptr));
}

static void tsqrt(const thrum_buffer *b, const void *arg)
{
    const thrum_buffer *r = &b[0], *a = &b[1], *t = &b[2], *work = &b[3];
    (void)arg;
    app_count_task();
    expect_zero("tpqrt",
                LAPACKE_dtpqrt_work(LAPACK_COL_MAJOR, app_rows(a), app_columns(a), 0, block_of(t, app_columns(a)),
                                    r->ptr, app_ld(r), a->ptr, app_ld(a), t->ptr, app_ld(t), work->ptr));
}

static void tsmqr(const thrum_buffer *b, const void *arg)
{
    const thrum_buffer *v = &b[0], *t = &b[1], *top = &b[2], *c = &b[3], *work = &b[4];
    int k = app_columns(v);
    (void)arg;
    app_count_task();
    expect_zero("tpmqrt", LAPACKE_dtpmqrt_work(LAPACK_COL_MAJOR, 'L', 'T', app_rows(c), app_columns(c), k, 0,
                                               block_of(t, k), v->ptr, app_ld(v), t->ptr, app_ld(t), top->ptr,
                                               app_ld(top), c->ptr, app_ld(c), work->ptr));
}

void qr_apply(bool transposed, int m, int n, int k, int inner, const double *v, int ldv, const double *t, double *c,
              int ldc, double *work)
{
    int block = inner < k ? inner : k;
    LAPACKE_dgemqrt_work(LAPACK_COL_MAJOR, 'L', transposed ? 'T' : 'N', m, n, k, block, v, ldv, t, inner, c, ldc, work);
}

void qr_apply_pair(bool transposed, int m, int n, int k, int inner, const double *v, int ldv, const double *t,
                   double *b, int ldb, double *c, int ldc, double *work)
{
    int block = inner < k ? inner : k;
    LAPACKE_dtpmqrt_work(LAPACK_COL_MAJOR, 'L', transposed ? 'T' : 'N', m, n, k, 0, block, v, ldv, t, inner, b, ldb, c,
                         ldc, work);
}

/* ---- Models ------------------------------------------------------------------------------------------------------ */

static double seconds(const thrum_place *place, int kernel, double operations)
{
    return app_model_seconds(place, operations, rates[kernel].cpu, rates[kernel].emu);
}

static double geqrt_seconds(const thrum_place *place, const thrum_buffer *b, int count, const void *arg)
{
    return seconds(place, QR_GEQRT, qr_geqrt_work(b, count, arg));
}

static double unmqr_seconds(const thrum_place *place, const thrum_buffer *b, int count, const void *arg)
{
    return seconds(place, QR_UNMQR, qr_unmqr_work(b, count, arg));
}

static double tsqrt_seconds(const thrum_place *place, const thrum_buffer *b, int count, const void *arg)
{
    return seconds(place, QR_TSQRT, qr_tsqrt_work(b, count, arg));
}

static double tsmqr_seconds(const thrum_place *place, const thrum_buffer *b, int count, const void *arg)
{
    return seconds(place, QR_TSMQR, qr_tsmqr_work(b, count, arg));
}

const thrum_codelet qr_codelets[QR_KERNELS] = {
    [QR_GEQRT] = {.name = "qr-geqrt", .cpu = geqrt, .seconds = geqrt_seconds, .work = qr_geqrt_work},
    [QR_UNMQR] = {.name = "qr-unmqr", .cpu = unmqr, .emu = unmqr, .seconds = unmqr_seconds, .work = qr_unmqr_work},
    [QR_TSQRT] = {.name = "qr-tsqrt", .cpu = tsqrt, .emu = tsqrt, .seconds = tsqrt_seconds, .work = qr_tsqrt_work},
    [QR_TSMQR] = {.name = "qr-tsmqr", .cpu = tsmqr, .emu = tsmqr, .seconds = tsmqr_seconds, .work = qr_tsmqr_work},
};
