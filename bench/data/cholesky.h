/* SPDX-License-Identifier: MIT
 *
 * The Cholesky factorisation of a matrix of 4096 x 4096 doubles in square tiles, each of which lies in one piece: the
 * kernels are those of kernels.h, the order of insertion is cholesky_insert_all, and priorities are cholesky_priority
 * where a runtime has some. cholesky.c makes the matrix, checks the result and times; an implementation defines the
 * functions at the end.
 */
#ifndef BENCH_CHOLESKY_H
#define BENCH_CHOLESKY_H

#include "../common/runner.h"
#include "kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CHOLESKY_N = 4096 };

typedef struct cholesky {
    int n, tile, tiles; /* rows, rows of a tile, tiles of a column */
    double *memory;     /* the tiles of the lower half, row by row */
} cholesky;

static inline size_t cholesky_index(int i, int j)
{
    return (size_t)i * ((size_t)i + 1) / 2 + (size_t)j;
}

/* The tile in row i and column j <= i. */
static inline double *cholesky_tile(const cholesky *c, int i, int j)
{
    return c->memory + cholesky_index(i, j) * (size_t)c->tile * (size_t)c->tile;
}

/* The number of tiles, and of tasks. */
static inline size_t cholesky_tile_count(const cholesky *c)
{
    return cholesky_index(c->tiles, 0);
}

static inline size_t cholesky_task_count(const cholesky *c)
{
    size_t tiles = (size_t)c->tiles;
    return tiles * (tiles + 1) * (tiles + 2) / 6;
}

/* What is done to tile (i, j): potrf if i = j = k, trsm with (k, k) if j = k, syrk with (i, k) if i = j, else gemm with
 * (i, k) and (j, k). */
typedef struct cholesky_step {
    int i, j, k;
} cholesky_step;

/* How many steps, all as long as another, must follow one after the other: the higher, the more urgent; 1 or more. */
static inline int cholesky_priority(const cholesky *c, cholesky_step step)
{
    return 3 * c->tiles - 2 * step.i - step.k;
}

/* The tile rows from `from` on that are done together: 256 rows of the matrix, so that what is used again and again,
 * 256 x 256 elements and a few tiles more, stays in a core's second cache. */
static inline int cholesky_block_end(const cholesky *c, int from)
{
    int end = from + (c->tile < 256 ? 256 / c->tile : 1);
    return end < c->tiles ? end : c->tiles;
}

/* Programs insert in loops of their own: so no runtime pays for calls in between, whatever its compiler thinks of
 * them. */
#define CHOLESKY_INLINE __attribute__((always_inline))

/* Steps from..to-1 of tile (i, j), as far as it has so many. */
typedef void cholesky_insert(cholesky_step step, void *ctx);
static inline CHOLESKY_INLINE void cholesky_insert_tile(int i, int j, int from, int to, cholesky_insert *insert,
                                                        void *ctx)
{
    for (int k = from; k < to && k <= j; k++)
        insert((cholesky_step){i, j, k}, ctx);
}

/* The order of insertion, the same for everybody and for sequential code: right-looking by blocks. When a block of
 * columns is done, all that stands to its right is updated by it, one block of columns after the other, from the top to
 * the bottom. With tiles of 64 sequential code is faster this way by a sixth or more than right-looking column by
 * column or left-looking; and with tiles of 256 and 128 by 7 % than if blocks of rows come one after the other: gemm
 * likes its second operand to stay the same. */
static inline CHOLESKY_INLINE void cholesky_insert_all(const cholesky *c, cholesky_insert *insert, void *ctx)
{
    for (int k = 0, next; k < c->tiles; k = next) {
        next = cholesky_block_end(c, k);
        for (int j = k; j < next; j++)
            for (int i = j; i < c->tiles; i++)
                cholesky_insert_tile(i, j, k, next, insert, ctx);
        for (int first = next, end; first < c->tiles; first = end) {
            end = cholesky_block_end(c, first);
            for (int i = first; i < c->tiles; i++)
                for (int j = first; j < end && j <= i; j++)
                    cholesky_insert_tile(i, j, k, next, insert, ctx);
        }
    }
}

/* Does a step at once. */
static inline void cholesky_do(const cholesky *c, cholesky_step step)
{
    double *tile = cholesky_tile(c, step.i, step.j);
    if (step.i == step.k)
        kernel_potrf(c->tile, tile);
    else if (step.j == step.k)
        kernel_trsm(c->tile, cholesky_tile(c, step.k, step.k), tile);
    else if (step.i == step.j)
        kernel_syrk(c->tile, cholesky_tile(c, step.i, step.k), tile);
    else
        kernel_gemm(c->tile, cholesky_tile(c, step.i, step.k), cholesky_tile(c, step.j, step.k), tile);
}

/* Puts the matrix into its tiles, which is done before each pass. */
void cholesky_fill(const cholesky *c);

typedef struct cholesky_runtime cholesky_runtime;

/* Normally 1: what the work is divided by (fewer rows) where a factorisation would take many times as long as everybody
 * else's. */
uint32_t cholesky_divisor(int tile);

/* Threads, and a handle for each tile; what is learned from a first factorisation is learned here. NULL: failed, and
 * bench_bad was called. */
cholesky_runtime *cholesky_begin(const cholesky *c, int workers);

/* Factorises: inserts all tasks and waits for them. */
void cholesky_run(cholesky_runtime *runtime);
void cholesky_end(cholesky_runtime *runtime);

#ifdef __cplusplus
}
#endif

#endif
