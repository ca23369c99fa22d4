/* SPDX-License-Identifier: MIT
 *
 * A tiled Cholesky factorization: what its tasks (tasks.c), and the program that runs them (cholesky.c), share.
 */
#ifndef THRUM_APPS_CHOLESKY_H
#define THRUM_APPS_CHOLESKY_H

#include "kernels.h"

#include "common/app.h"
#include "common/tiles.h"

struct cholesky {
    struct app_setup setup;
    uint64_t n, tile;
    const char *on_device;
    const char *kernels; /* "all", "quick": they alone are measured */
    thrum_codelet codelets[CHOLESKY_KERNELS];
    struct app_tiles a;
    bool steals;  /* of priorities only the sign counts */
    bool buckets; /* tasks have their kernel's number as bucket */
};

/* Inserts all tasks. The flow keeps the first error. */
void cholesky_insert(const struct cholesky *c, thrum_flow *flow);

/* Kernels alone, on blocks of a tile (probe.c): prints how long they take. An exit code. */
int cholesky_probe(struct cholesky *c);

#endif
