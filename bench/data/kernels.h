/* SPDX-License-Identifier: MIT
 *
 * The kernels of the tiled Cholesky factorisation, by OpenBLAS in the calling thread, the same for everybody. Tiles are
 * square, `n` by `n`, column by column, each in one piece.
 *
 * OpenBLAS is loaded when it is needed, with one thread from its beginning: it starts its threads when it is loaded,
 * and neither they nor its memory belong into the processes that measure something else.
 */
#ifndef BENCH_KERNELS_H
#define BENCH_KERNELS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Zero, or bench_bad was called. Before the first kernel, while no other thread runs. */
int kernels_load(void);

void kernel_potrf(int n, double *a);                 /* a = l lᵀ: l takes the place of a's lower half */
void kernel_trsm(int n, const double *l, double *b); /* b = b l⁻ᵀ */
void kernel_syrk(int n, const double *a, double *c); /* c = c - a aᵀ, its lower half */
void kernel_gemm(int n, const double *a, const double *b, double *c); /* c = c - a bᵀ */

#ifdef __cplusplus
}
#endif

#endif
