/* SPDX-License-Identifier: MIT
 *
 * The four kernels of a tiled QR factorization. A transformation is kept as its reflectors V, below the diagonal or in
 * a whole tile, and the triangles T of blocks of `inner` reflectors, side by side in a matrix of `inner` rows.
 */
#ifndef THRUM_APPS_QR_KERNELS_H
#define THRUM_APPS_QR_KERNELS_H

#include <thrum/thrum.h>

/* By what they access; b is the side of a tile, and each has SCRATCH memory of inner x b numbers.
 *   GEQRT  RW A  W V  W T  SCRATCH         A = QR: R above the diagonal, reflectors below it, and a copy of both in V
 *   UNMQR  R V  R T  RW C  SCRATCH         C = Q'C
 *   TSQRT  RW R  RW A  W T  SCRATCH        the triangle R above the tile A: a new R, and reflectors in A
 *   TSMQR  R V  R T  RW B  RW C  SCRATCH   B above C: both times Q'
 * UNMQR reads the copy V and not the diagonal tile itself, so that it need not be over before TSQRT changes that. */
enum { QR_GEQRT, QR_UNMQR, QR_TSQRT, QR_TSMQR, QR_KERNELS };

extern const thrum_codelet qr_codelets[QR_KERNELS];

/* Operations. They are in tasks.c, which does not need OpenBLAS. */
double qr_geqrt_work(const thrum_buffer *b, int count, const void *arg);
double qr_unmqr_work(const thrum_buffer *b, int count, const void *arg);
double qr_tsqrt_work(const thrum_buffer *b, int count, const void *arg);
double qr_tsmqr_work(const thrum_buffer *b, int count, const void *arg);

/* The two that apply Q, for whoever has no task: m x n in C, k reflectors, blocks of `inner`; work is inner * n
 * numbers. `transposed`: Q', else Q. Of the second B has k rows and C has m. */
void qr_apply(bool transposed, int m, int n, int k, int inner, const double *v, int ldv, const double *t, double *c,
              int ldc, double *work);
void qr_apply_pair(bool transposed, int m, int n, int k, int inner, const double *v, int ldv, const double *t,
                   double *b, int ldb, double *c, int ldc, double *work);

#endif
