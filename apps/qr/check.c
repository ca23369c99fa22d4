/* SPDX-License-Identifier: MIT
 *
 * Whether A = QR: Q' is applied to Ax, for a random vector x, and compared with Rx. Its length must stay what it was, Q
 * being orthogonal. For small matrices Q is made in full.
 */
#include "qr.h"

#include "common/random.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The transformations, in the order in which they were made, on `columns` columns of x: x = Q'x. */
static void apply_transposed(const struct qr *qr, double *x, int ldx, int columns, double *work)
{
    const struct app_tiles *a = &qr->a;
    int inner = (int)qr->inner;
    for (size_t k = 0; k < a->count; k++) {
        int size = (int)app_tile_size(a, k);
        double *top = x + k * a->tile;
        qr_apply(true, size, columns, size, inner, qr_v(qr, k), size, qr_t(qr, k, k), top, ldx, work);
        for (size_t i = k + 1; i < a->count; i++) {
            int rows = (int)app_tile_size(a, i);
            qr_apply_pair(true, rows, columns, size, inner, app_tile(a, i, k), rows, qr_t(qr, i, k), top, ldx,
                          x + i * a->tile, ldx, work);
        }
    }
}

/* The same backwards: x = Qx. */
static void apply(const struct qr *qr, double *x, int ldx, int columns, double *work)
{
    const struct app_tiles *a = &qr->a;
    int inner = (int)qr->inner;
    for (size_t k = a->count; k-- > 0;) {
        int size = (int)app_tile_size(a, k);
        double *top = x + k * a->tile;
        for (size_t i = a->count; i-- > k + 1;) {
            int rows = (int)app_tile_size(a, i);
            qr_apply_pair(false, rows, columns, size, inner, app_tile(a, i, k), rows, qr_t(qr, i, k), top, ldx,
                          x + i * a->tile, ldx, work);
        }
        qr_apply(false, size, columns, size, inner, qr_v(qr, k), size, qr_t(qr, k, k), top, ldx, work);
    }
}

/* Element (i, j) of R. */
static double r_element(const struct qr *qr, size_t i, size_t j)
{
    const struct app_tiles *a = &qr->a;
    size_t ti = i / a->tile, tj = j / a->tile;
    return i <= j ? app_tile(a, ti, tj)[i % a->tile + j % a->tile * app_tile_size(a, ti)] : 0;
}

/* ---- With a vector ----------------------------------------------------------------------------------------------- */

/* y = Ax, and the largest sum of a row of |A|. */
static double multiply(const struct qr *qr, const double *x, double *y)
{
    double norm = 0;
    for (size_t i = 0; i < qr->n; i++) {
        double sum = 0, row = 0;
        for (size_t j = 0; j < qr->n; j++) {
            double e = qr_element(qr, i, j);
            sum += e * x[j];
            row += fabs(e);
        }
        y[i] = sum;
        norm = fmax(norm, row);
    }
    return norm;
}

/* What is larger, or NaN. */
static double worse(double a, double b)
{
    return a >= b || isnan(a) ? a : b;
}

/* |Q'Ax - Rx| / |A||x|, and how far |Q'Ax| / |Ax| is from 1. Lengths are sums of squares' roots, and |x| below is at
 * least 1. */
static double vector_residual(const struct qr *qr, double *x, double *y, double *work, double *stretch)
{
    int n = (int)qr->n;
    double difference = 0;
    for (size_t i = 0; i < qr->n; i++)
        x[i] = 2 * app_centered(~qr->setup.seed, i, 0);
    double norm = multiply(qr, x, y), length = cblas_dnrm2(n, y, 1);
    apply_transposed(qr, y, n, 1, work);
    *stretch = fabs(cblas_dnrm2(n, y, 1) / length - 1);
    for (size_t i = 0; i < qr->n; i++) {
        double sum = 0;
        for (size_t j = i; j < qr->n; j++)
            sum += r_element(qr, i, j) * x[j];
        difference = worse(fabs(y[i] - sum), difference);
    }
    return difference / norm;
}

/* ---- In full ----------------------------------------------------------------------------------------------------- */

/* |A - QR| / |A| and |I - Q'Q| / sqrt(n), by Frobenius' norm. The room is for two matrices. */
static double full_residual(const struct qr *qr, double *room, double *work, double *orthogonality)
{
    size_t n = qr->n;
    double *q = room, *product = room + n * n, difference = 0, norm = 0, off = 0;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            product[i + j * n] = r_element(qr, i, j);
            q[i + j * n] = i == j;
        }
    apply(qr, product, (int)n, (int)n, work);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            double e = qr_element(qr, i, j), d = e - product[i + j * n];
            difference += d * d;
            norm += e * e;
        }
    apply(qr, q, (int)n, (int)n, work);
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)n, (int)n, (int)n, 1, q, (int)n, q, (int)n, 0, product,
                (int)n);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            off += (product[i + j * n] - (i == j)) * (product[i + j * n] - (i == j));
    *orthogonality = sqrt(off / (double)n);
    return sqrt(difference / norm);
}

void qr_check(void *self, struct app_check *check)
{
    enum { FULL_UP_TO = 512 };
    const struct qr *qr = self;
    size_t n = qr->n, columns = n <= FULL_UP_TO ? n : 1;
    double *room = calloc(2 * n * columns, sizeof *room), *work = calloc(qr->inner * columns, sizeof *work), second;
    if (!room || !work) {
        snprintf(check->text, sizeof check->text, "no memory to check it");
    } else {
        double first = vector_residual(qr, room, room + n, work, &second);
        check->limit = 4 * (double)n * DBL_EPSILON;
        check->residual = worse(first, second);
        int used = snprintf(check->text, sizeof check->text, "|Q'Ax - Rx| / |A||x| = %.2e, |Q'Ax| / |Ax| - 1 = %.2e",
                            first, second);
        if (n <= FULL_UP_TO) {
            first = full_residual(qr, room, work, &second);
            snprintf(check->text + used, sizeof check->text - (size_t)used, ", |A - QR| / |A| = %.2e, |I - Q'Q| = %.2e",
                     first, second);
            check->residual = worse(worse(first, second), check->residual);
        }
        check->good = check->residual <= check->limit;
    }
    free(room);
    free(work);
}
