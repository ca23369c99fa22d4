/* SPDX-License-Identifier: MIT
 *
 * thrum qr: factorizes a matrix by tiles, A = QR.
 */
#include "qr.h"

#include "common/random.h"
#include "dense.h"

#include "tools/common.h"

#include <cblas.h>

static const struct app_about about = {
    "qr",
    "Factorizes a random square matrix, A = QR, by tiles: geqrt, unmqr, tsqrt and tsmqr (LAPACK's geqrt, gemqrt,\n"
    "tpqrt and tpmqrt) are tasks that a flow puts in order by the tiles they touch. Devices have all but geqrt.\n"
    "The result is checked with a random vector, |Q'Ax - Rx| / |A||x|, and up to n = 512 in full,\n"
    "|A - QR| / |A| and |I - Q'Q|.\n"};

/* ---- The matrix -------------------------------------------------------------------------------------------------- */

double qr_element(const void *self, size_t i, size_t j)
{
    return app_centered(((const struct qr *)self)->setup.seed, i, j);
}

static int prepare(void *self, thrum_executor *ex)
{
    struct qr *qr = self;
    if (!qr->setup.timing)
        app_tiles_fill(&qr->a, qr_element, qr);
    return qr_register(qr, ex);
}

/* ---- Running ---------------------------------------------------------------------------------------------------- */

static int run(void *self, thrum_executor *ex)
{
    const struct qr *qr = self;
    thrum_flow *flow = app_setup_flow(&qr->setup, ex);
    if (!flow)
        return THRUM_ENOMEM;
    qr_insert(qr, flow);
    return thrum_flow_free(flow); /* waits; and a flow keeps its first error */
}

static int home(void *self, bool failed)
{
    return qr_unregister(self, failed);
}

/* ---- The verb ---------------------------------------------------------------------------------------------------- */

static double amount(const void *self)
{
    double n = (double)((const struct qr *)self)->n;
    return 4 * n * n * n / 3 * 1e-9;
}

static int measure(struct qr *qr)
{
    size_t nt = (qr->n + qr->tile - 1) / qr->tile;
    struct app_fact facts[] = {{"n", (double)qr->n},
                               {"tile", (double)qr->tile},
                               {"inner", (double)qr->inner},
                               {"tasks_inserted", (double)(nt * (nt + 1) * (2 * nt + 1) / 6)}};
    qr->steals = app_setup_steals(&qr->setup);
    for (int i = 0; i < QR_KERNELS; i++)
        qr->codelets[i] = app_setup_codelet(&qr->setup, &qr_codelets[i], true);
    int code = !qr_allocate(qr, false)
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
    qr_release(qr);
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
