/* SPDX-License-Identifier: MIT
 *
 * thrum cholesky: factorizes a symmetric positive definite matrix by tiles, A = LL'.
 */
#include "cholesky.h"

#include "common/random.h"
#include "dense.h"

#include "tools/common.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct app_about about = {
    "cholesky",
    "Factorizes a random symmetric positive definite matrix, A = LL', by tiles: potrf, trsm, syrk and gemm\n"
    "of OpenBLAS, one thread each, are tasks that a flow puts in order by the tiles they touch.\n"
    "The result is checked with a random vector, |Ax - LL'x| / |A||x|, and up to n = 512\n"
    "in full, |A - LL'| / |A|.\n"};

/* ---- The matrix -------------------------------------------------------------------------------------------------- */

/* Symmetric, and its diagonal outweighs the rest of a row: so it is positive definite. */
static double element(const void *self, size_t i, size_t j)
{
    const struct cholesky *c = self;
    double x = app_centered(c->setup.seed, i > j ? i : j, i > j ? j : i);
    return i == j ? x + (double)c->n : x;
}

static int prepare(void *self, thrum_executor *ex)
{
    struct cholesky *c = self;
    if (!c->setup.timing)
        app_tiles_fill(&c->a, element, c);
    return app_tiles_register(&c->a, ex, "A");
}

/* ---- Running ---------------------------------------------------------------------------------------------------- */

static int run(void *self, thrum_executor *ex)
{
    const struct cholesky *c = self;
    thrum_flow *flow = app_setup_flow(&c->setup, ex);
    if (!flow)
        return THRUM_ENOMEM;
    cholesky_insert(c, flow);
    return thrum_flow_free(flow); /* waits; and a flow keeps its first error */
}

static int home(void *self, bool failed)
{
    return app_tiles_unregister(&((struct cholesky *)self)->a, failed);
}

/* ---- The check --------------------------------------------------------------------------------------------------- */

/* What is above the diagonal is not part of the result. */
static void clear_above(struct app_tiles *a)
{
    for (size_t k = 0; k < a->count; k++) {
        size_t size = app_tile_size(a, k);
        for (size_t j = 1; j < size; j++)
            memset(app_tile(a, k, k) + j * size, 0, j * sizeof(double));
    }
}

/* to = L from, or L' from. */
static void multiply(const struct app_tiles *l, bool transposed, const double *from, double *to)
{
    memset(to, 0, l->n * sizeof *to);
    for (size_t j = 0; j < l->count; j++)
        for (size_t i = j; i < l->count; i++) {
            int rows = (int)app_tile_size(l, i), columns = (int)app_tile_size(l, j);
            size_t left = i * l->tile, right = j * l->tile;
            cblas_dgemv(CblasColMajor, transposed ? CblasTrans : CblasNoTrans, rows, columns, 1, app_tile(l, i, j),
                        rows, from + (transposed ? left : right), 1, 1, to + (transposed ? right : left), 1);
        }
}

/* The largest |Ax - LL'x| divided by the largest sum of a row of |A|; |x| is at most 1. */
static double vector_residual(const struct cholesky *c, double *x, double *y, double *z)
{
    double worst = 0, norm = 0;
    for (size_t i = 0; i < c->n; i++)
        x[i] = 2 * app_centered(~c->setup.seed, i, 0);
    multiply(&c->a, true, x, y);
    multiply(&c->a, false, y, z);
    for (size_t i = 0; i < c->n; i++) {
        double sum = 0, row = 0;
        for (size_t j = 0; j < c->n; j++) {
            double e = element(c, i, j);
            sum += e * x[j];
            row += fabs(e);
        }
        worst = fabs(sum - z[i]) <= worst ? worst : fabs(sum - z[i]); /* so that NaN stays */
        norm = fmax(norm, row);
    }
    return worst / norm;
}

/* The elements of LL' in column j, from row j on. */
static void column_of_product(const struct cholesky *c, size_t j, double *unit, double *y, double *column)
{
    memset(unit, 0, c->n * sizeof *unit);
    unit[j] = 1;
    multiply(&c->a, true, unit, y);
    multiply(&c->a, false, y, column);
}

static double full_residual(const struct cholesky *c, double *x, double *y, double *z)
{
    double difference = 0, norm = 0;
    for (size_t j = 0; j < c->n; j++) {
        column_of_product(c, j, x, y, z);
        for (size_t i = 0; i < c->n; i++) {
            double e = element(c, i, j);
            difference += (e - z[i]) * (e - z[i]);
            norm += e * e;
        }
    }
    return sqrt(difference / norm);
}

static void check(void *self, struct app_check *check)
{
    enum { FULL_UP_TO = 512 };
    struct cholesky *c = self;
    double *x = calloc(3 * c->n, sizeof *x);
    if (!x) {
        snprintf(check->text, sizeof check->text, "no memory to check it");
        return;
    }
    clear_above(&c->a);
    double vector = vector_residual(c, x, x + c->n, x + 2 * c->n);
    check->limit = 4 * (double)c->n * DBL_EPSILON;
    check->residual = vector;
    int used = snprintf(check->text, sizeof check->text, "|Ax - LL'x| / |A||x| = %.2e", vector);
    if (c->n <= FULL_UP_TO) {
        double full = full_residual(c, x, x + c->n, x + 2 * c->n);
        snprintf(check->text + used, sizeof check->text - (size_t)used, ", |A - LL'| / |A| = %.2e", full);
        check->residual = full > vector || isnan(full) ? full : vector;
    }
    check->good = check->residual <= check->limit;
    free(x);
}

/* ---- The verb ---------------------------------------------------------------------------------------------------- */

static double amount(const void *self)
{
    double n = (double)((const struct cholesky *)self)->n;
    return (n * n * n / 3 + n * n / 2 + n / 6) * 1e-9;
}

static int measure(struct cholesky *c)
{
    size_t nt = (c->n + c->tile - 1) / c->tile;
    struct app_fact facts[] = {
        {"n", (double)c->n}, {"tile", (double)c->tile}, {"tasks_inserted", (double)(nt * (nt + 1) * (nt + 2) / 6)}};
    if (!app_tiles_new(&c->a, c->n, c->tile, true, false))
        return tool_fail(about.verb, "no memory for a matrix of %zu by %zu.", (size_t)c->n, (size_t)c->n);
    c->steals = app_setup_steals(&c->setup);
    for (int i = 0; i < CHOLESKY_KERNELS; i++)
        c->codelets[i] =
            app_setup_codelet(&c->setup, &cholesky_codelets[i], i == CHOLESKY_GEMM || strcmp(c->on_device, "all") == 0);
    int code = app_measure(&(struct app){.verb = about.verb,
                                         .setup = &c->setup,
                                         .self = c,
                                         .facts = facts,
                                         .fact_count = 3,
                                         .rate = "gflops",
                                         .rate_key = "gflops",
                                         .amount = amount,
                                         .tasks = (uint64_t)facts[2].value,
                                         .prepare = prepare,
                                         .run = run,
                                         .home = home,
                                         .check = check});
    app_tiles_free(&c->a);
    return code;
}

int app_cholesky(int argc, char **argv)
{
    struct cholesky c = {0};
    struct app_option options[5 + APP_SETUP_OPTIONS] = {
        {.kind = APP_TITLE, .help = "the problem"},
        {APP_COUNT, "--n", "COUNT", "4096", "rows and columns of the matrix", &c.n, 1, 1 << 20, NULL},
        {APP_COUNT, "--tile", "COUNT", "256", "rows and columns of a tile", &c.tile, 1, 1 << 14, NULL},
        {APP_WORD, "--on-device", "WHICH", "gemm", "which kernels devices have: all, or gemm alone", &c.on_device, 0, 0,
         "all|gemm"},
        {APP_WORD, "--kernels", "WHICH", NULL,
         "do not factorize: measure kernels, and print JSON: all of them on blocks of a\ntile, thoroughly or quickly",
         &c.kernels, 0, 0, "all|quick"}};
    app_setup_options(&c.setup, options + 5);
    int code = app_parse(&about, options, 5 + APP_SETUP_OPTIONS, argc, argv);
    if (code == TOOL_GO_ON)
        code = app_setup_check(about.verb, &c.setup);
    if (code != TOOL_GO_ON)
        return code;
    openblas_set_num_threads(1); /* tasks are what runs at the same time */
    return c.kernels ? cholesky_probe(&c) : measure(&c);
}
