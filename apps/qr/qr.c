/* SPDX-License-Identifier: MIT
 *
 * thrum qr: factorizes a matrix by tiles, A = QR.
 */
#include "qr.h"

#include "common/random.h"
#include "dense.h"

#include "tools/common.h"

#include <cblas.h>
#include <stdlib.h>

static const struct app_about about = {
    "qr",
    "Factorizes a random square matrix, A = QR, by tiles: geqrt, unmqr, tsqrt and tsmqr (LAPACK's geqrt, gemqrt,\n"
    "tpqrt and tpmqrt) are tasks that a flow puts in order by the tiles they touch. Devices have all but geqrt.\n"
    "The result is checked with a random vector, |Q'Ax - Rx| / |A||x|, and up to n = 512 in full,\n"
    "|A - QR| / |A| and |I - Q'Q|.\n"};

/* ---- The matrix --------------------------------------------------------------------------------------------------- */

double qr_element(const void *self, size_t i, size_t j)
{
    return app_centered(((const struct qr *)self)->setup.seed, i, j);
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

static int prepare(void *self, thrum_executor *ex)
{
    struct qr *qr = self;
    if (!qr->setup.timing)
        app_tiles_fill(&qr->a, qr_element, qr);
    int err = app_tiles_register(&qr->a, ex, "A");
    return err ? err : register_rest(qr, ex);
}

/* ---- The algorithm ------------------------------------------------------------------------------------------------ */

/* How many tasks follow one after the other behind the one that changes tile (i, j) in step k, as far as the shape tells. The
 * built-in stealing knows more and less urgent only: there it is what the next step waits for. */
static int urgency(const struct qr *qr, size_t i, size_t j, size_t k)
{
    size_t last = qr->a.count - 1;
    if (app_setup_steals(&qr->setup))
        return j <= k + 1;
    return (int)((j - k) + (last - i) + 2 * (last - j));
}

static void insert_diagonal(const struct qr *qr, thrum_flow *flow, size_t k)
{
    thrum_data *v = qr->v_data[k], *t = qr->t_data[k + k * qr->a.count];
    thrum_insert(flow, &qr->codelets[QR_GEQRT], THRUM_RW(app_tile_data(&qr->a, k, k)), THRUM_W(v), THRUM_W(t),
                 THRUM_SCRATCH(qr->work), THRUM_PRIORITY(urgency(qr, k, k, k)));
    for (size_t j = k + 1; j < qr->a.count; j++)
        thrum_insert(flow, &qr->codelets[QR_UNMQR], THRUM_R(v), THRUM_R(t), THRUM_RW(app_tile_data(&qr->a, k, j)),
                     THRUM_SCRATCH(qr->work), THRUM_PRIORITY(urgency(qr, k, j, k)));
}

static void insert_row(const struct qr *qr, thrum_flow *flow, size_t i, size_t k)
{
    thrum_data *v = app_tile_data(&qr->a, i, k), *t = qr->t_data[i + k * qr->a.count];
    thrum_insert(flow, &qr->codelets[QR_TSQRT], THRUM_RW(app_tile_data(&qr->a, k, k)), THRUM_RW(v), THRUM_W(t),
                 THRUM_SCRATCH(qr->work), THRUM_PRIORITY(urgency(qr, i, k, k)));
    for (size_t j = k + 1; j < qr->a.count; j++)
        thrum_insert(flow, &qr->codelets[QR_TSMQR], THRUM_R(v), THRUM_R(t), THRUM_RW(app_tile_data(&qr->a, k, j)),
                     THRUM_RW(app_tile_data(&qr->a, i, j)), THRUM_SCRATCH(qr->work),
                     THRUM_PRIORITY(urgency(qr, i, j, k)));
}

static int run(void *self, thrum_executor *ex)
{
    const struct qr *qr = self;
    thrum_flow *flow = app_setup_flow(&qr->setup, ex);
    if (!flow)
        return THRUM_ENOMEM;
    for (size_t k = 0; k < qr->a.count; k++) {
        insert_diagonal(qr, flow, k);
        for (size_t i = k + 1; i < qr->a.count; i++)
            insert_row(qr, flow, i, k);
    }
    return thrum_flow_free(flow); /* waits; and a flow keeps its first error */
}

static int home(void *self, bool failed)
{
    struct qr *qr = self;
    size_t count = qr->a.count;
    int errs[] = {app_tiles_unregister(&qr->a, failed), app_unregister_all(qr->v_data, count, failed),
                  app_unregister_all(qr->t_data, count * count, failed), app_unregister_all(&qr->work, 1, true)};
    for (size_t i = 0; i < 4; i++)
        if (errs[i])
            return errs[i];
    return 0;
}

/* ---- The verb ----------------------------------------------------------------------------------------------------- */

static double amount(const void *self)
{
    double n = (double)((const struct qr *)self)->n;
    return 4 * n * n * n / 3 * 1e-9;
}

static bool allocate(struct qr *qr)
{
    if (!app_tiles_new(&qr->a, qr->n, qr->tile, false))
        return false;
    size_t count = qr->a.count;
    qr->v = calloc(count * qr->tile * qr->tile, sizeof *qr->v);
    qr->t = calloc(count * count * qr->inner * qr->tile, sizeof *qr->t);
    qr->v_data = calloc(count, sizeof *qr->v_data);
    qr->t_data = calloc(count * count, sizeof *qr->t_data);
    return qr->v && qr->t && qr->v_data && qr->t_data;
}

static void release(struct qr *qr)
{
    app_tiles_free(&qr->a);
    free(qr->v);
    free(qr->t);
    free(qr->v_data);
    free(qr->t_data);
}

static int measure(struct qr *qr)
{
    size_t nt = (qr->n + qr->tile - 1) / qr->tile;
    struct app_fact facts[] = {{"n", (double)qr->n},
                               {"tile", (double)qr->tile},
                               {"inner", (double)qr->inner},
                               {"tasks_inserted", (double)(nt * (nt + 1) * (2 * nt + 1) / 6)}};
    for (int i = 0; i < QR_KERNELS; i++)
        qr->codelets[i] = app_setup_codelet(&qr->setup, &qr_codelets[i], true);
    int code = !allocate(qr)
                   ? tool_fail(about.verb, "no memory for a matrix of %zu by %zu.", (size_t)qr->n, (size_t)qr->n)
                   : app_measure(&(struct app){.verb = about.verb,
                                               .setup = &qr->setup,
                                               .self = qr,
                                               .facts = facts,
                                               .fact_count = 4,
                                               .rate = "gflops",
                                               .rate_key = "gflops",
                                               .amount = amount,
                                               .tasks = (uint64_t)facts[3].value,
                                               .prepare = prepare,
                                               .run = run,
                                               .home = home,
                                               .check = qr_check});
    release(qr);
    return code;
}

int app_qr(int argc, char **argv)
{
    struct qr qr = {0};
    struct app_option options[4 + APP_SETUP_OPTIONS] = {
        {.kind = APP_TITLE, .help = "the problem"},
        {APP_COUNT, "--n", "COUNT", "2048", "rows and columns of the matrix", &qr.n, 1, 1 << 20, NULL},
        {APP_COUNT, "--tile", "COUNT", "256", "rows and columns of a tile", &qr.tile, 1, 1 << 14, NULL},
        {APP_COUNT, "--inner", "COUNT", NULL, "reflectors that are applied at once (32, but no more than --tile)",
         &qr.inner, 1, 1 << 14, NULL}};
    app_setup_options(&qr.setup, options + 4);
    int code = app_parse(&about, options, 4 + APP_SETUP_OPTIONS, argc, argv);
    if (code == TOOL_GO_ON)
        code = app_setup_check(about.verb, &qr.setup);
    if (code != TOOL_GO_ON)
        return code;
    if (qr.inner > qr.tile)
        return tool_misuse(about.verb, "--inner is more than --tile; it is a part of it.");
    if (!qr.inner)
        qr.inner = qr.tile < 32 ? qr.tile : 32;
    openblas_set_num_threads(1); /* tasks are what runs at the same time */
    return measure(&qr);
}
