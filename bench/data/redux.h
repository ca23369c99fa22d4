/* SPDX-License-Identifier: MIT
 *
 * A dot product and a histogram in blocks: by flows whose tasks reduce or commute, or change the result one after the
 * other, which is what those two are measured against (redux_thrum.c); and by a loop with a private copy for each
 * worker, as one would write it by hand (redux_hand.c). redux.c makes the data, checks and times; the kernels are the
 * same for both. All numbers are small integers, so that sums do not depend on the order.
 */
#ifndef BENCH_REDUX_H
#define BENCH_REDUX_H

#include "../common/runner.h"

enum { REDUX_DOT, REDUX_HISTOGRAM, REDUX_COMMUTE, REDUX_RW };
enum { REDUX_BLOCK = 1 << 14, REDUX_COUNT = 1 << 22 }; /* of the dot product: elements of a block, and of all of them */
enum { REDUX_KEYS = 1 << 18, REDUX_KEY_COUNT = 1 << 24 }; /* of histograms likewise */
enum { REDUX_BINS = 4096, REDUX_COPIES = 4 };

typedef struct redux {
    int variant;
    size_t count, block, blocks;
    double *x, *y, dot;
    uint16_t *keys; /* less than REDUX_BINS */
    uint64_t bins[REDUX_BINS];
} redux;

/* What a block amounts to. Histograms are added to, dot products returned. */
double redux_dot(const double *x, const double *y, size_t count);
void redux_histogram(const uint16_t *keys, size_t count, uint64_t *bins);

typedef struct redux_runtime redux_runtime;

/* NULL: failed, and bench_bad was called. The results go to `dot` or `bins`. */
redux_runtime *redux_begin(redux *r, int workers);
void redux_run(redux_runtime *runtime);
void redux_end(redux_runtime *runtime);

#endif
