/* SPDX-License-Identifier: MIT
 *
 * The matrix, the check of the result, and the works. Nanoseconds per task; the second number of a sample is GFLOP/s.
 *
 * The matrix A has random elements and a heavy diagonal. With a random vector x, A x is worked out once, before; after
 * each pass L (Lᵀ x) must be the same.
 */
#include "cholesky.h"

#include <stdlib.h>
#include <string.h>

static const double tolerance = 1e-13; /* of |L Lᵀ x - A x| / |A x|, which is about 1e-16 */

typedef struct cholesky_state {
    cholesky matrix;
    cholesky_runtime *runtime;
    double *x, *expected, *y, *z; /* vectors: the random one, A x, and two to work with */
} cholesky_state;

/* ---- The matrix -------------------------------------------------------------------------------------------------- */

/* Between -0.5 and 0.5, and always the same for the same numbers. */
static inline double random_element(uint32_t i, uint32_t j)
{
    uint32_t x = i * 0x9e3779b1u + j * 0x85ebca77u;
    x = (x ^ (x >> 15)) * 0x2c1b3c6du;
    x = (x ^ (x >> 12)) * 0x297a2d39u;
    return (double)(int32_t)(x ^ (x >> 15)) * 0x1p-32;
}

static void fill_tile(const cholesky *c, int i, int j)
{
    double *tile = cholesky_tile(c, i, j);
    uint32_t row = (uint32_t)(i * c->tile), column = (uint32_t)(j * c->tile);
    for (int v = 0; v < c->tile; v++)
        for (int u = 0; u < c->tile; u++)
            tile[v * c->tile + u] = random_element(row + (uint32_t)u, column + (uint32_t)v);
    for (int u = 0; i == j && u < c->tile; u++)
        tile[u * c->tile + u] += c->n;
}

void cholesky_fill(const cholesky *c)
{
    for (int i = 0; i < c->tiles; i++)
        for (int j = 0; j <= i; j++)
            fill_tile(c, i, j);
}

/* ---- The check --------------------------------------------------------------------------------------------------- */

/* y += a x, with the lower half of a alone if it is on the diagonal; and with its transpose, y += aᵀ x. */
static void add_product(int n, const double *a, int first, const double *x, double *y)
{
    for (int v = 0; v < n; v++)
        for (int u = first ? v : 0; u < n; u++)
            y[u] += a[v * n + u] * x[v];
}

static void add_transposed(int n, const double *a, int first, const double *x, double *y)
{
    for (int v = 0; v < n; v++) {
        double sum = 0;
        for (int u = first ? v : 0; u < n; u++)
            sum += a[v * n + u] * x[u];
        y[v] += sum;
    }
}

/* y = t x or tᵀ x, where t is the lower half of what is in the tiles. */
static void multiply(const cholesky *c, int transposed, const double *x, double *y)
{
    memset(y, 0, (size_t)c->n * sizeof *y);
    for (int i = 0; i < c->tiles; i++) {
        for (int j = 0; j <= i; j++) {
            if (transposed)
                add_transposed(c->tile, cholesky_tile(c, i, j), i == j, x + i * c->tile, y + j * c->tile);
            else
                add_product(c->tile, cholesky_tile(c, i, j), i == j, x + j * c->tile, y + i * c->tile);
        }
    }
}

/* A x from the lower half T of A: T x + Tᵀ x, without the diagonal once. */
static void know_product(cholesky_state *s)
{
    const cholesky *c = &s->matrix;
    for (int i = 0; i < c->n; i++)
        s->x[i] = random_element((uint32_t)i, (uint32_t)c->n);
    multiply(c, 0, s->x, s->y);
    multiply(c, 1, s->x, s->z);
    for (int i = 0; i < c->n; i++) {
        double *tile = cholesky_tile(c, i / c->tile, i / c->tile);
        s->expected[i] = s->y[i] + s->z[i] - tile[i % c->tile * (c->tile + 1)] * s->x[i];
    }
}

static void check_result(cholesky_state *s)
{
    double difference = 0, norm = 0;
    multiply(&s->matrix, 1, s->x, s->y);
    multiply(&s->matrix, 0, s->y, s->z);
    for (int i = 0; i < s->matrix.n; i++) {
        difference += (s->z[i] - s->expected[i]) * (s->z[i] - s->expected[i]);
        norm += s->expected[i] * s->expected[i];
    }
    if (!(difference <= norm * tolerance * tolerance)) /* so that NaN is wrong as well */
        bench_bad("the result is wrong: the square of the residual is %g", difference / norm);
}

/* ---- The works --------------------------------------------------------------------------------------------------- */

/* With a `shrink` of the work: as many whole tiles of 256 as make at most that. */
static int rows_for(uint32_t shrink)
{
    int64_t n = CHOLESKY_N, most = n * n * n / shrink;
    while (n > 256 && n * n * n > most)
        n -= 256;
    return (int)n;
}

static void close_cholesky(void *arg)
{
    cholesky_state *s = arg;
    if (s->runtime)
        cholesky_end(s->runtime);
    free(s->matrix.memory);
    free(s->x);
    free(s);
}

static void allocate(cholesky_state *s, int n, int tile)
{
    s->matrix = (cholesky){n, tile, n / tile, NULL};
    size_t bytes = cholesky_tile_count(&s->matrix) * (size_t)tile * (size_t)tile * sizeof(double);
    if (posix_memalign((void **)&s->matrix.memory, 4096, bytes) != 0)
        abort();
    s->x = bench_alloc((size_t)n * 4, sizeof *s->x);
    s->expected = s->x + n;
    s->y = s->expected + n;
    s->z = s->y + n;
}

static void *open_cholesky(const bench_request *request)
{
    if (kernels_load() != 0)
        return NULL;
    cholesky_state *s = bench_alloc(1, sizeof *s);
    allocate(s, rows_for(request->shrink * cholesky_divisor(request->variant)), request->variant);
    cholesky_fill(&s->matrix);
    know_product(s);
    s->runtime = cholesky_begin(&s->matrix, request->workers);
    if (s->runtime)
        return s;
    close_cholesky(s);
    return NULL;
}

static double pass_cholesky(void *arg)
{
    cholesky_state *s = arg;
    cholesky_fill(&s->matrix);
    double begin = bench_now();
    cholesky_run(s->runtime);
    double time = bench_now() - begin, n = s->matrix.n;
    check_result(s);
    bench_second((n * n * n / 3 + n * n / 2 + n / 6) / time);
    return time / (double)cholesky_task_count(&s->matrix);
}

static bench_work works[] = {
    {"cholesky-256", 256, open_cholesky, pass_cholesky, close_cholesky, NULL},
    {"cholesky-128", 128, open_cholesky, pass_cholesky, close_cholesky, NULL},
    {"cholesky-64", 64, open_cholesky, pass_cholesky, close_cholesky, NULL},
    {"cholesky-32", 32, open_cholesky, pass_cholesky, close_cholesky, NULL},
};

BENCH_WORKS(works)
