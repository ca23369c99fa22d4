/* SPDX-License-Identifier: MIT
 *
 * The tasks of a tiled QR factorization: their data, their order, and how much work they are. Nothing here needs
 * OpenBLAS.
 */
#include "qr.h"

#include "common/memory.h"

#include <stdlib.h>

/* ---- Data -------------------------------------------------------------------------------------------------------- */

static size_t v_bytes(const struct qr *qr)
{
    return qr->a.count * qr->tile * qr->tile * sizeof *qr->v;
}

static size_t t_bytes(const struct qr *qr)
{
    return qr->a.count * qr->a.count * qr->inner * qr->tile * sizeof *qr->t;
}

bool qr_allocate(struct qr *qr, bool untouched)
{
    if (!app_tiles_new(&qr->a, qr->n, qr->tile, false, untouched))
        return false;
    size_t count = qr->a.count;
    qr->v = untouched ? app_addresses(v_bytes(qr)) : calloc(1, v_bytes(qr));
    qr->t = untouched ? app_addresses(t_bytes(qr)) : calloc(1, t_bytes(qr));
    qr->v_data = calloc(count, sizeof *qr->v_data);
    qr->t_data = calloc(count * count, sizeof *qr->t_data);
    return qr->v && qr->t && qr->v_data && qr->t_data;
}

void qr_release(struct qr *qr)
{
    if (qr->a.untouched) {
        app_addresses_free(qr->v, v_bytes(qr));
        app_addresses_free(qr->t, t_bytes(qr));
    } else {
        free(qr->v);
        free(qr->t);
    }
    app_tiles_free(&qr->a);
    free(qr->v_data);
    free(qr->t_data);
}

/* Handles of V, T and the scratch memory, none of which has content yet. */
static int register_rest(struct qr *qr, thrum_executor *ex)
{
    const struct app_tiles *a = &qr->a;
    for (size_t j = 0; j < a->count; j++) {
        size_t columns = app_tile_size(a, j);
        qr->v_data[j] = thrum_data_matrix(ex, qr_v(qr, j), columns, columns, columns, sizeof(double));
        for (size_t i = j; i < a->count; i++) {
            thrum_data **t = &qr->t_data[i + j * a->count];
            *t = thrum_data_matrix(ex, qr_t(qr, i, j), qr->inner, qr->inner, columns, sizeof(double));
            if (!qr->v_data[j] || !*t)
                return THRUM_ENOMEM;
        }
    }
    qr->work = thrum_data_matrix(ex, NULL, 0, qr->inner, qr->tile, sizeof(double));
    return qr->work ? 0 : THRUM_ENOMEM;
}

int qr_register(struct qr *qr, thrum_executor *ex)
{
    int err = app_tiles_register(&qr->a, ex, "A");
    return err ? err : register_rest(qr, ex);
}

int qr_unregister(struct qr *qr, bool discard)
{
    size_t count = qr->a.count;
    int errs[] = {app_tiles_unregister(&qr->a, discard), app_unregister_all(qr->v_data, count, discard),
                  app_unregister_all(qr->t_data, count * count, discard), app_unregister_all(&qr->work, 1, true)};
    for (size_t i = 0; i < 4; i++)
        if (errs[i])
            return errs[i];
    return 0;
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

/* How many tasks follow one after the other behind the one that changes tile (i, j) in step k, as far as the shape
 * tells. The built-in stealing knows more and less urgent only: there it is what the next step waits for. */
static int urgency(const struct qr *qr, size_t i, size_t j, size_t k)
{
    size_t last = qr->a.count - 1;
    if (qr->steals)
        return j <= k + 1;
    return (int)((j - k) + (last - i) + 2 * (last - j));
}

static thrum_item bucket(const struct qr *qr, int kernel)
{
    return THRUM_BUCKET(qr->buckets ? kernel : THRUM_NO_BUCKET);
}

static void insert_diagonal(const struct qr *qr, thrum_flow *flow, size_t k)
{
    thrum_data *v = qr->v_data[k], *t = qr->t_data[k + k * qr->a.count];
    thrum_insert(flow, &qr->codelets[QR_GEQRT], THRUM_RW(app_tile_data(&qr->a, k, k)), THRUM_W(v), THRUM_W(t),
                 THRUM_SCRATCH(qr->work), THRUM_PRIORITY(urgency(qr, k, k, k)), bucket(qr, QR_GEQRT));
    for (size_t j = k + 1; j < qr->a.count; j++)
        thrum_insert(flow, &qr->codelets[QR_UNMQR], THRUM_R(v), THRUM_R(t), THRUM_RW(app_tile_data(&qr->a, k, j)),
                     THRUM_SCRATCH(qr->work), THRUM_PRIORITY(urgency(qr, k, j, k)), bucket(qr, QR_UNMQR));
}

static void insert_row(const struct qr *qr, thrum_flow *flow, size_t i, size_t k)
{
    thrum_data *v = app_tile_data(&qr->a, i, k), *t = qr->t_data[i + k * qr->a.count];
    thrum_insert(flow, &qr->codelets[QR_TSQRT], THRUM_RW(app_tile_data(&qr->a, k, k)), THRUM_RW(v), THRUM_W(t),
                 THRUM_SCRATCH(qr->work), THRUM_PRIORITY(urgency(qr, i, k, k)), bucket(qr, QR_TSQRT));
    for (size_t j = k + 1; j < qr->a.count; j++)
        thrum_insert(flow, &qr->codelets[QR_TSMQR], THRUM_R(v), THRUM_R(t), THRUM_RW(app_tile_data(&qr->a, k, j)),
                     THRUM_RW(app_tile_data(&qr->a, i, j)), THRUM_SCRATCH(qr->work),
                     THRUM_PRIORITY(urgency(qr, i, j, k)), bucket(qr, QR_TSMQR));
}

void qr_insert(const struct qr *qr, thrum_flow *flow)
{
    for (size_t k = 0; k < qr->a.count; k++) {
        insert_diagonal(qr, flow, k);
        for (size_t i = k + 1; i < qr->a.count; i++)
            insert_row(qr, flow, i, k);
    }
}

/* ---- Operations, without those that the inner blocks add --------------------------------------------------------- */

double qr_geqrt_work(const thrum_buffer *b, int count, const void *arg)
{
    double n = app_columns(b);
    (void)count, (void)arg;
    return 4 * n * n * n / 3;
}

double qr_unmqr_work(const thrum_buffer *b, int count, const void *arg)
{
    double k = app_columns(&b[0]), n = app_columns(&b[2]);
    (void)count, (void)arg;
    return 2 * k * k * n;
}

double qr_tsqrt_work(const thrum_buffer *b, int count, const void *arg)
{
    double m = app_rows(&b[1]), n = app_columns(&b[1]);
    (void)count, (void)arg;
    return 2 * m * n * n;
}

double qr_tsmqr_work(const thrum_buffer *b, int count, const void *arg)
{
    double m = app_rows(&b[3]), n = app_columns(&b[3]), k = app_columns(&b[0]);
    (void)count, (void)arg;
    return 4 * m * n * k;
}
