/* SPDX-License-Identifier: MIT
 *
 * The four kernels of a tiled Cholesky factorization A = LL', where only tiles on and below the diagonal are kept.
 */
#ifndef THRUM_APPS_CHOLESKY_KERNELS_H
#define THRUM_APPS_CHOLESKY_KERNELS_H

#include <thrum/thrum.h>

/* By what they access, b the side of a tile:
 *   POTRF  RW A      A = L, where LL' = A          b^3 / 3 operations
 *   TRSM   R L RW A  A = A / L'                    b^3
 *   SYRK   R A RW C  C = C - AA'                   b^3
 *   GEMM   R A R B RW C  C = C - AB'               2 b^3 */
enum { CHOLESKY_POTRF, CHOLESKY_TRSM, CHOLESKY_SYRK, CHOLESKY_GEMM, CHOLESKY_KERNELS };

extern const thrum_codelet cholesky_codelets[CHOLESKY_KERNELS];

/* Operations. They are in tasks.c, which does not need OpenBLAS. */
double cholesky_potrf_work(const thrum_buffer *b, int count, const void *arg);
double cholesky_trsm_work(const thrum_buffer *b, int count, const void *arg);
double cholesky_syrk_work(const thrum_buffer *b, int count, const void *arg);
double cholesky_gemm_work(const thrum_buffer *b, int count, const void *arg);

#endif
