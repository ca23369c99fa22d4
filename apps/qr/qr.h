/* SPDX-License-Identifier: MIT
 *
 * A tiled QR factorization: what its tasks (tasks.c), the program that runs them (qr.c) and its check (check.c)
 * share.
 */
#ifndef THRUM_APPS_QR_H
#define THRUM_APPS_QR_H

#include "kernels.h"

#include "common/app.h"
#include "common/tiles.h"

struct qr {
    struct app_setup setup;
    uint64_t n, tile, inner;
    thrum_codelet codelets[QR_KERNELS];
    struct app_tiles a;  /* in the end R on and above the diagonal, reflectors below */
    double *v;           /* copies of diagonal tiles after GEQRT, tile * tile numbers each */
    double *t;           /* [i + j * count], inner * tile numbers each, for i >= j */
    thrum_data **v_data; /* [count] */
    thrum_data **t_data; /* [count * count] */
    thrum_data *work;    /* the shape of the scratch memory */
    bool steals;         /* of priorities only the sign counts */
    bool buckets;        /* tasks have their kernel's number as bucket */
};

/* Memory of n, tile and inner; `untouched`: as in tiles.h. False without; to be released in any case. */
bool qr_allocate(struct qr *qr, bool untouched);
void qr_release(struct qr *qr);
/* All handles. 0 or an error. */
int qr_register(struct qr *qr, thrum_executor *ex);
int qr_unregister(struct qr *qr, bool discard);
/* Inserts all tasks. The flow keeps the first error. */
void qr_insert(const struct qr *qr, thrum_flow *flow);

/* Element (i, j) of the matrix that is factorized. */
double qr_element(const void *self, size_t i, size_t j);

static inline double *qr_v(const struct qr *qr, size_t k)
{
    return qr->v + k * qr->tile * qr->tile;
}

static inline double *qr_t(const struct qr *qr, size_t i, size_t j)
{
    return qr->t + (i + j * qr->a.count) * qr->inner * qr->tile;
}

void qr_check(void *self, struct app_check *check);

#endif
