/* SPDX-License-Identifier: MIT
 *
 * A stop of the tour: a factorization by tiles, whose order follows from what its tasks touch. It is drawn, computed on
 * processors and emulated devices, and played with two policies on a machine that is not there.
 */
#include "tour.h"

#include <thrum/thrum.h>

#include <math.h>
#include <stdlib.h>

enum {
    MOST_TILES = 10,
    DRAWN = 4,
    COMPUTED = 8,
    COMPUTED_SIZE = 32,
    PLAYED = MOST_TILES,
    PLAYED_SIZE = 256,
    NAME_SIZE = 16
};

/* ---- Kernels: tiles are by columns ------------------------------------------------------------------------------- */

static double *at(const thrum_buffer *b, size_t i, size_t j)
{
    return (double *)b->ptr + i + j * b->stride[1];
}

/* The diagonal tile becomes its own factor. */
static void potrf(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    size_t n = b->extent[0];
    for (size_t k = 0; k < n; k++) {
        double root = sqrt(*at(b, k, k));
        for (size_t i = k; i < n; i++)
            *at(b, i, k) /= root;
        for (size_t j = k + 1; j < n; j++)
            for (size_t i = j; i < n; i++)
                *at(b, i, j) -= *at(b, i, k) * *at(b, j, k);
    }
}

/* B becomes B L'^-1. */
static void trsm(const thrum_buffer *b, const void *arg)
{
    const thrum_buffer *l = &b[0], *x = &b[1];
    (void)arg;
    for (size_t k = 0; k < l->extent[0]; k++)
        for (size_t i = 0; i < x->extent[0]; i++) {
            *at(x, i, k) /= *at(l, k, k);
            for (size_t j = k + 1; j < l->extent[0]; j++)
                *at(x, i, j) -= *at(x, i, k) * *at(l, j, k);
        }
}

/* C becomes C - AB'. */
static void subtract_product(const thrum_buffer *a, const thrum_buffer *b, const thrum_buffer *c)
{
    for (size_t j = 0; j < c->extent[1]; j++)
        for (size_t k = 0; k < a->extent[1]; k++)
            for (size_t i = 0; i < c->extent[0]; i++)
                *at(c, i, j) -= *at(a, i, k) * *at(b, j, k);
}

static void syrk(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    subtract_product(&b[0], &b[0], &b[1]);
}

static void gemm(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    subtract_product(&b[0], &b[1], &b[2]);
}

/* ---- How long kernels take on the machine that is played: devices are four times as fast ------------------------- */

static double potrf_seconds(const thrum_place *place, const thrum_buffer *buffers, int count, const void *arg)
{
    (void)place, (void)buffers, (void)count, (void)arg;
    return 2e-3;
}

static double update_seconds(const thrum_place *place, const thrum_buffer *buffers, int count, const void *arg)
{
    (void)buffers, (void)arg;
    double seconds = count == 3 ? 4e-3 : 3e-3;
    return place->arch == THRUM_ARCH_CPU ? seconds : seconds / 4;
}

enum { POTRF, TRSM, SYRK, GEMM, KERNELS };

#define BY_FUNCTION(f) .model = THRUM_BY_FUNCTION, .seconds = f

static const thrum_codelet everywhere[KERNELS] = {
    [POTRF] = {.name = "potrf", .cpu = potrf, BY_FUNCTION(potrf_seconds)},
    [TRSM] = {.name = "trsm", .cpu = trsm, .emu = trsm, BY_FUNCTION(update_seconds)},
    [SYRK] = {.name = "syrk", .cpu = syrk, .emu = syrk, BY_FUNCTION(update_seconds)},
    [GEMM] = {.name = "gemm", .cpu = gemm, .emu = gemm, BY_FUNCTION(update_seconds)},
};

/* What devices have is for devices only: otherwise processors, which need no copies, would be through before them. */
static const thrum_codelet apart[KERNELS] = {
    [POTRF] = {.name = "potrf", .cpu = potrf, BY_FUNCTION(potrf_seconds)},
    [TRSM] = {.name = "trsm", .emu = trsm, BY_FUNCTION(update_seconds)},
    [SYRK] = {.name = "syrk", .emu = syrk, BY_FUNCTION(update_seconds)},
    [GEMM] = {.name = "gemm", .emu = gemm, BY_FUNCTION(update_seconds)},
};

/* ---- The matrix -------------------------------------------------------------------------------------------------- */

struct matrix {
    size_t tiles, size; /* of a tile: rows and columns */
    double *memory;     /* tile after tile */
    const thrum_codelet *codelets;
    thrum_data *data[MOST_TILES][MOST_TILES];
};

static double *tile_of(const struct matrix *m, size_t i, size_t j)
{
    return m->memory + (i + j * m->tiles) * m->size * m->size;
}

static double element_of(const struct matrix *m, size_t i, size_t j)
{
    return tile_of(m, i / m->size, j / m->size)[i % m->size + j % m->size * m->size];
}

/* Symmetric, and so heavy on the diagonal that it has a factor. */
static double original(const struct matrix *m, size_t i, size_t j)
{
    size_t n = m->tiles * m->size;
    return i == j ? (double)n : (double)((i * j + i + j) % 17) / 17;
}

static int matrix_make(struct matrix *m)
{
    m->memory = calloc(m->tiles * m->tiles, m->size * m->size * sizeof(double));
    return m->memory ? 0 : tour_stop("no memory for a matrix");
}

static void matrix_fill(const struct matrix *m)
{
    size_t n = m->tiles * m->size;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            tile_of(m, i / m->size, j / m->size)[i % m->size + j % m->size * m->size] = original(m, i, j);
}

static int matrix_register(struct matrix *m, thrum_executor *ex)
{
    for (size_t j = 0; j < m->tiles; j++)
        for (size_t i = j; i < m->tiles; i++) {
            m->data[i][j] = thrum_data_matrix(ex, tile_of(m, i, j), m->size, m->size, m->size, sizeof(double));
            if (!m->data[i][j])
                return tour_stop("a tile was not registered: %s", thrum_message(NULL));
        }
    return 0;
}

static int matrix_forget(struct matrix *m, int (*forget)(thrum_data *data))
{
    int code = 0;
    for (size_t j = 0; j < m->tiles; j++)
        for (size_t i = j; i < m->tiles; i++)
            if (forget(m->data[i][j]) != 0)
                code = tour_stop("a tile did not come home: %s", thrum_message(NULL));
    return code;
}

/* The largest element of A - LL'. */
static double residual_of(const struct matrix *m)
{
    double worst = 0;
    size_t n = m->tiles * m->size;
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) {
            double sum = original(m, i, j);
            for (size_t k = 0; k <= j; k++)
                sum -= element_of(m, i, k) * element_of(m, j, k);
            worst = fabs(sum) <= worst ? worst : fabs(sum); /* so that NaN stays */
        }
    return worst;
}

/* ---- The algorithm ----------------------------------------------------------------------------------------------- */

/* Names for the picture; NULL: tasks have those of their codelets. */
struct names {
    char text[MOST_TILES * MOST_TILES * MOST_TILES][NAME_SIZE];
    size_t count;
};

static thrum_item name_of(struct names *names, const char *what, size_t i, size_t j)
{
    if (!names)
        return THRUM_NONE;
    char *text = names->text[names->count++];
    if (i == j)
        snprintf(text, NAME_SIZE, "%s %zu", what, i);
    else
        snprintf(text, NAME_SIZE, "%s %zu %zu", what, i, j);
    return THRUM_NAME(text);
}

/* How many tasks follow one after the other behind the one that changes tile (i, j) in step k. */
static int urgency(const struct matrix *m, size_t i, size_t j, size_t k)
{
    return (int)(3 * (m->tiles - 1 - i) + 2 * (i - j) + (j - k));
}

static void insert_all(thrum_flow *flow, struct matrix *m, struct names *names)
{
    for (size_t k = 0; k < m->tiles; k++) {
        thrum_insert(flow, &m->codelets[POTRF], THRUM_RW(m->data[k][k]), THRUM_PRIORITY(urgency(m, k, k, k)),
                     name_of(names, "potrf", k, k));
        for (size_t i = k + 1; i < m->tiles; i++)
            thrum_insert(flow, &m->codelets[TRSM], THRUM_R(m->data[k][k]), THRUM_RW(m->data[i][k]),
                         THRUM_PRIORITY(urgency(m, i, k, k)), name_of(names, "trsm", i, k));
        for (size_t j = k + 1; j < m->tiles; j++) {
            thrum_insert(flow, &m->codelets[SYRK], THRUM_R(m->data[j][k]), THRUM_RW(m->data[j][j]),
                         THRUM_PRIORITY(urgency(m, j, j, k)), name_of(names, "syrk", j, j));
            for (size_t i = j + 1; i < m->tiles; i++)
                thrum_insert(flow, &m->codelets[GEMM], THRUM_R(m->data[i][k]), THRUM_R(m->data[j][k]),
                             THRUM_RW(m->data[i][j]), THRUM_PRIORITY(urgency(m, i, j, k)),
                             name_of(names, "gemm", i, j));
        }
    }
}

static int factorize(thrum_executor *ex, struct matrix *m)
{
    thrum_flow *flow = thrum_flow_new(ex);
    insert_all(flow, m, NULL);
    if (!flow || thrum_flow_free(flow) != 0)
        return tour_stop("the factorization failed: %s", thrum_message(NULL));
    return 0;
}

/* ---- Drawn ------------------------------------------------------------------------------------------------------- */

static int show_order(struct page *page, struct matrix *m)
{
    struct names *names = calloc(1, sizeof *names);
    thrum_graph *graph = thrum_graph_new("cholesky");
    thrum_flow *flow = names ? thrum_flow_record(NULL, graph) : NULL;
    thrum_graph_stats stats;
    int code = 0;
    insert_all(flow, m, names);
    if (!flow || thrum_flow_free(flow) != 0 || thrum_graph_measure(graph, NULL, NULL, &stats) != 0)
        code = tour_stop("the flow was not recorded: %s", thrum_message(NULL));
    if (code == 0) {
        tour_show_graph(page, graph);
        page_text(
            page,
            "%d by %d tiles: %zu insertions in program order, each named after the tile that it changes, and %zu edges "
            "that nobody wrote. The flow was recorded "
            "into a graph to draw it (`thrum_flow_record`); such a graph can be run again and again, with other data "
            "(`thrum_graph_bind`).",
            (int)DRAWN, (int)DRAWN, stats.tasks, stats.edges);
    }
    thrum_graph_free(graph);
    free(names);
    return code;
}

static int show_drawn(struct page *page)
{
    struct matrix m = {.tiles = DRAWN, .size = 1, .codelets = everywhere};
    int code = matrix_make(&m);
    if (code == 0)
        code = matrix_register(&m, NULL);
    if (code == 0)
        code = show_order(page, &m);
    matrix_forget(&m, thrum_data_unregister);
    free(m.memory);
    return code;
}

/* ---- What happened ----------------------------------------------------------------------------------------------- */

enum { NODES = 3 };

struct outcome {
    thrum_link_stats link[NODES][NODES];
    uint64_t bytes, evictions;
};

static int outcome_get(const thrum_executor *ex, struct outcome *outcome)
{
    *outcome = (struct outcome){0};
    for (int from = 0; from < NODES; from++) {
        thrum_node_stats node;
        if (thrum_executor_node(ex, from, &node) != 0)
            return tour_stop("a memory node is not known: %s", thrum_message(NULL));
        outcome->evictions += node.evictions;
        for (int to = 0; to < NODES; to++) {
            thrum_link_stats *link = &outcome->link[from][to];
            if (from != to && thrum_executor_link(ex, from, to, link) != 0)
                return tour_stop("a link is not known: %s", thrum_message(NULL));
            outcome->bytes += link->bytes;
        }
    }
    return 0;
}

static double mib(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

/* ---- Computed ---------------------------------------------------------------------------------------------------- */

static int compute(thrum_executor *ex, struct matrix *m, struct outcome *outcome)
{
    int code = matrix_register(m, ex);
    if (code == 0)
        code = factorize(ex, m);
    if (matrix_forget(m, thrum_data_unregister) != 0)
        code = -1;
    return code ? code : outcome_get(ex, outcome);
}

static void show_result(struct page *page, const struct matrix *m, double residual, const struct outcome *outcome)
{
    page_text(
        page,
        "Now for real: `potrf` on the processors, everything else on two emulated devices. A device has memory of "
        "its own, which data must be copied to; here there is room for 8 of the %zu tiles. What a task needs is "
        "brought before it begins, and what was used longest ago is thrown out.",
        m->tiles * (m->tiles + 1) / 2);
    page_facts_open(page);
    page_fact(page, "largest element of A - LL'", "%.1e", residual);
    page_fact(page, "copied between memories", "%.1f MiB", mib(outcome->bytes));
    page_fact(page, "tiles thrown out of devices", "%llu", (unsigned long long)outcome->evictions);
    page_facts_close(page);
}

static int show_computed(struct page *page)
{
    struct matrix m = {.tiles = COMPUTED, .size = COMPUTED_SIZE, .codelets = apart};
    struct outcome outcome;
    int code = matrix_make(&m);
    if (code == 0) {
        matrix_fill(&m);
        thrum_executor *ex = thrum_executor_new(&(thrum_config){.devices = "cpu,emu:2;memory=64KiB", .policy = "dmda"});
        code = ex ? compute(ex, &m, &outcome) : tour_stop("no executor with devices: %s", thrum_message(NULL));
        thrum_executor_free(ex);
    }
    double residual = code == 0 ? residual_of(&m) : 0;
    if (code == 0 && !(residual < 1e-10))
        code = tour_stop("the factor is wrong: an element of A - LL' is %g", residual);
    if (code == 0)
        show_result(page, &m, residual, &outcome);
    free(m.memory);
    return code;
}

/* ---- Played ------------------------------------------------------------------------------------------------------ */

enum { POLICIES = 2 };
static const char *const policies[POLICIES] = {"fifo", "dmdas"};

struct play {
    struct matrix m;
    struct outcome outcome;
    struct trace trace;
};

/* Nothing is computed, so there is nothing to bring home. */
static int play(thrum_executor *ex, void *arg)
{
    struct play *p = arg;
    int code = matrix_register(&p->m, ex);
    if (code == 0)
        code = factorize(ex, &p->m);
    if (code == 0)
        code = outcome_get(ex, &p->outcome);
    return matrix_forget(&p->m, thrum_data_discard) ? -1 : code;
}

static int play_all(struct play plays[POLICIES], double *span)
{
    int code = 0;
    for (int i = 0; i < POLICIES && code == 0; i++) {
        struct play *p = &plays[i];
        p->m = (struct matrix){.tiles = PLAYED, .size = PLAYED_SIZE, .codelets = everywhere};
        code = matrix_make(&p->m);
        if (code == 0)
            code =
                tour_record(&(thrum_config){.devices = "cpu:2,emu:2;mode=timing;link=500MB/s", .policy = policies[i]},
                            play, p, &p->trace);
        if (code == 0 && p->trace.makespan > *span)
            *span = p->trace.makespan;
        free(p->m.memory);
    }
    return code;
}

static void show_links(struct page *page, const struct play plays[POLICIES])
{
    page_table_open(page);
    for (int device = 1; device < NODES; device++)
        for (int out = 0; out < 2; out++) {
            char label[64], text[200];
            int used = 0, from = out ? device : 0, to = out ? 0 : device;
            snprintf(label, sizeof label, out ? "from emu %d" : "to emu %d", device - 1);
            for (int i = 0; i < POLICIES; i++) {
                const thrum_link_stats *link = &plays[i].outcome.link[from][to];
                used += snprintf(text + used, sizeof text - (size_t)used, "%s`%s`: %.1f MiB in %llu copies",
                                 i ? "; " : "", policies[i], mib(link->bytes), (unsigned long long)link->copies);
            }
            page_row(page, label, "%s", text);
        }
    page_table_close(page);
}

static void show_plays(struct page *page, const struct play plays[POLICIES], double span)
{
    char text[TOOL_TIME_SIZE], label[80];
    page_text(
        page,
        "Who runs which task is up to a policy. To compare two, emulated devices can play a machine: kernels and "
        "copies take the time that they would take there, and do nothing else. Here devices are four times as fast as "
        "a processor, a tile is 512 KiB, the links carry 500 MB/s, and `potrf` is for processors only.");
    page_facts_open(page);
    for (int i = 0; i < POLICIES; i++) {
        snprintf(label, sizeof label, "`%s`, %zu tasks", policies[i], plays[i].trace.event_count);
        page_fact(page, label, "%s", tool_time(plays[i].trace.makespan, text));
        snprintf(label, sizeof label, "copied by `%s`", policies[i]);
        page_fact(page, label, "%.0f MiB", mib(plays[i].outcome.bytes));
    }
    page_facts_close(page);
    page_gantt(
        page, &plays[0].trace, span,
        "`fifo`: first come, first served. Processors take what devices would do four times as fast, and the devices "
        "wait for data.");
    page_gantt(
        page, &plays[1].trace, span,
        "`dmdas`, on the same scale: each task to the worker that will finish it first, copies included; the most "
        "urgent first.");
    show_links(page, plays);
}

static int show_played(struct page *page)
{
    static struct play plays[POLICIES];
    double span = 0;
    int code = play_all(plays, &span);
    if (code == 0)
        show_plays(page, plays, span);
    for (int i = 0; i < POLICIES; i++)
        trace_free(&plays[i].trace);
    return code;
}

int tour_show_data(struct page *page)
{
    page_text(
        page,
        "Tasks that say which data they touch need no edges: a task waits for the last one before it that wrote what "
        "it reads, and for all that used what it writes. Here a matrix is factorized by tiles (Cholesky, A = LL').");
    page_code(page, "thrum_insert(flow, &potrf, THRUM_RW(a[k][k]));\n"
                    "for (i = k + 1; i < n; i++)\n"
                    "    thrum_insert(flow, &trsm, THRUM_R(a[k][k]), THRUM_RW(a[i][k]));\n"
                    "for (j = k + 1; j < n; j++) {\n"
                    "    thrum_insert(flow, &syrk, THRUM_R(a[j][k]), THRUM_RW(a[j][j]));\n"
                    "    for (i = j + 1; i < n; i++)\n"
                    "        thrum_insert(flow, &gemm, THRUM_R(a[i][k]), THRUM_R(a[j][k]), THRUM_RW(a[i][j]));\n"
                    "}\n");
    int code = show_drawn(page);
    if (code == 0)
        code = show_computed(page);
    if (code == 0)
        code = show_played(page);
    page_text(
        page,
        "With OpenBLAS, larger, and with every option: `thrum cholesky`, `qr`, `life`, `kmeans`. A policy of one's "
        "own: docs/writing-a-policy.md.");
    return code;
}
