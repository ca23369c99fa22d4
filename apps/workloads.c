/* SPDX-License-Identifier: MIT
 *
 * Workloads of the applications: their insertions are recorded, on handles over addresses that nobody touches.
 */
#include "workloads.h"

#include "cholesky/cholesky.h"
#include "kmeans/kmeans.h"
#include "life/life.h"
#include "qr/qr.h"

#include <string.h>

enum { MOST_KERNELS = 4 };
static const double most_tasks = 50e6;

union state {
    struct cholesky cholesky;
    struct qr qr;
    struct life life;
    struct kmeans kmeans;
};

struct application {
    const char *name, *kernels, *on_device;
    int kernel_count;
    const char *codelets[MOST_KERNELS];
    double (*work[MOST_KERNELS])(const thrum_buffer *b, int count, const void *arg);
    struct app_workload_size usual, most; /* where the size says nothing; and what the verb allows */
    double (*tasks)(const struct app_workload_size *size);
    /* The state is zeros. False without addresses; `end` is called in any case. */
    bool (*begin)(union state *state, const struct app_workload_size *size, const thrum_codelet *codelets);
    void (*end)(union state *state);
    int (*enter)(union state *state, thrum_executor *ex);
    int (*leave)(union state *state);
    void (*insert)(union state *state, thrum_flow *flow);
};

static double pieces(uint64_t n, uint64_t tile)
{
    return (double)((n + tile - 1) / tile);
}

/* ---- Cholesky ---------------------------------------------------------------------------------------------------- */

static double cholesky_tasks(const struct app_workload_size *size)
{
    double count = pieces(size->n, size->tile);
    return count * (count + 1) * (count + 2) / 6;
}

static bool cholesky_begin(union state *state, const struct app_workload_size *size, const thrum_codelet *codelets)
{
    struct cholesky *c = &state->cholesky;
    c->buckets = size->buckets;
    memcpy(c->codelets, codelets, sizeof c->codelets);
    return app_tiles_new(&c->a, size->n, size->tile, true, true);
}

static void cholesky_end(union state *state)
{
    app_tiles_free(&state->cholesky.a);
}

static int cholesky_enter(union state *state, thrum_executor *ex)
{
    return app_tiles_register(&state->cholesky.a, ex, "A");
}

static int cholesky_leave(union state *state)
{
    return app_tiles_unregister(&state->cholesky.a, true);
}

static void cholesky_tell(union state *state, thrum_flow *flow)
{
    cholesky_insert(&state->cholesky, flow);
}

/* ---- QR ---------------------------------------------------------------------------------------------------------- */

static double qr_tasks(const struct app_workload_size *size)
{
    double count = pieces(size->n, size->tile);
    return count * (count + 1) * (2 * count + 1) / 6;
}

static bool qr_begin(union state *state, const struct app_workload_size *size, const thrum_codelet *codelets)
{
    struct qr *qr = &state->qr;
    qr->n = size->n;
    qr->tile = size->tile;
    qr->inner = size->inner < size->tile ? size->inner : size->tile;
    qr->buckets = size->buckets;
    memcpy(qr->codelets, codelets, sizeof qr->codelets);
    return qr_allocate(qr, true);
}

static void qr_end(union state *state)
{
    qr_release(&state->qr);
}

static int qr_enter(union state *state, thrum_executor *ex)
{
    return qr_register(&state->qr, ex);
}

static int qr_leave(union state *state)
{
    return qr_unregister(&state->qr, true);
}

static void qr_tell(union state *state, thrum_flow *flow)
{
    qr_insert(&state->qr, flow);
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static double life_tasks(const struct app_workload_size *size)
{
    double count = pieces(size->n, size->tile);
    return count * count * count * (double)size->steps;
}

static bool life_begin(union state *state, const struct app_workload_size *size, const thrum_codelet *codelets)
{
    struct life *life = &state->life;
    life->n = size->n;
    life->side = size->tile;
    life->steps = size->steps;
    life->buckets = size->buckets;
    life->codelet = codelets[0];
    return life_allocate(life, true);
}

static void life_end(union state *state)
{
    life_release(&state->life);
}

static int life_enter(union state *state, thrum_executor *ex)
{
    return life_register(&state->life, ex);
}

static int life_leave(union state *state)
{
    return life_unregister(&state->life, true);
}

static void life_tell(union state *state, thrum_flow *flow)
{
    life_insert(&state->life, flow);
}

/* ---- K-means ----------------------------------------------------------------------------------------------------- */

static double kmeans_tasks(const struct app_workload_size *size)
{
    return (pieces(size->n, size->tile) + 1) * (double)size->steps + 1;
}

static bool kmeans_start(union state *state, const struct app_workload_size *size, const thrum_codelet *codelets)
{
    struct kmeans *km = &state->kmeans;
    km->points = size->n;
    km->block = size->tile;
    km->turns = size->steps;
    km->dims = size->dims;
    km->clusters = size->clusters < size->n ? size->clusters : size->n;
    km->buckets = size->buckets;
    km->begin = codelets[0];
    km->assign = codelets[1];
    km->combine = codelets[2];
    return kmeans_allocate(km, true);
}

static void kmeans_end(union state *state)
{
    kmeans_release(&state->kmeans);
}

static int kmeans_enter(union state *state, thrum_executor *ex)
{
    return kmeans_register(&state->kmeans, ex);
}

static int kmeans_leave(union state *state)
{
    return kmeans_unregister(&state->kmeans, true);
}

static void kmeans_tell(union state *state, thrum_flow *flow)
{
    kmeans_insert(&state->kmeans, flow, state->kmeans.turns);
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

static const struct application applications[] = {
    {.name = "cholesky",
     .kernels = "potrf,trsm,syrk,gemm",
     .on_device = "gemm",
     .kernel_count = CHOLESKY_KERNELS,
     .codelets = {"cholesky-potrf", "cholesky-trsm", "cholesky-syrk", "cholesky-gemm"},
     .work = {cholesky_potrf_work, cholesky_trsm_work, cholesky_syrk_work, cholesky_gemm_work},
     .usual = {.n = 4096, .tile = 256},
     .most = {.n = 1 << 20, .tile = 1 << 14},
     .tasks = cholesky_tasks,
     .begin = cholesky_begin,
     .end = cholesky_end,
     .enter = cholesky_enter,
     .leave = cholesky_leave,
     .insert = cholesky_tell},
    {.name = "qr",
     .kernels = "geqrt,unmqr,tsqrt,tsmqr",
     .on_device = "unmqr,tsqrt,tsmqr",
     .kernel_count = QR_KERNELS,
     .codelets = {"qr-geqrt", "qr-unmqr", "qr-tsqrt", "qr-tsmqr"},
     .work = {qr_geqrt_work, qr_unmqr_work, qr_tsqrt_work, qr_tsmqr_work},
     .usual = {.n = 2048, .tile = 256, .inner = 32},
     .most = {.n = 1 << 20, .tile = 1 << 14, .inner = 1 << 14},
     .tasks = qr_tasks,
     .begin = qr_begin,
     .end = qr_end,
     .enter = qr_enter,
     .leave = qr_leave,
     .insert = qr_tell},
    {.name = "life",
     .kernels = "step",
     .on_device = "step",
     .kernel_count = 1,
     .codelets = {"life-step"},
     .work = {life_work},
     .usual = {.n = 128, .tile = 32, .steps = 20},
     .most = {.n = 1 << 13, .tile = 1 << 10, .steps = 1 << 30},
     .tasks = life_tasks,
     .begin = life_begin,
     .end = life_end,
     .enter = life_enter,
     .leave = life_leave,
     .insert = life_tell},
    {.name = "kmeans",
     .kernels = "begin,assign,combine",
     .on_device = "assign",
     .kernel_count = 3,
     .codelets = {"kmeans-begin", "kmeans-assign", "kmeans-combine"},
     .work = {kmeans_centre_work, kmeans_assign_work, kmeans_centre_work},
     .usual = {.n = 200000, .tile = 8192, .steps = 20, .dims = 4, .clusters = 16},
     .most = {.n = (uint64_t)1 << 32, .tile = (uint64_t)1 << 32, .steps = 1 << 30, .dims = 4096, .clusters = 1 << 20},
     .tasks = kmeans_tasks,
     .begin = kmeans_start,
     .end = kmeans_end,
     .enter = kmeans_enter,
     .leave = kmeans_leave,
     .insert = kmeans_tell},
};

enum { APPLICATIONS = sizeof applications / sizeof *applications };

const char *app_workload_at(int number, const char **kernels)
{
    if (number < 0 || number >= APPLICATIONS)
        return NULL;
    if (kernels)
        *kernels = applications[number].kernels;
    return applications[number].name;
}

static const struct application *find(const char *name)
{
    for (int i = 0; name && i < APPLICATIONS; i++)
        if (strcmp(applications[i].name, name) == 0)
            return &applications[i];
    thrum_fail(THRUM_EINVAL, "there is no application '%s'; there are cholesky, qr, life and kmeans", name ? name : "");
    return NULL;
}

/* ---- Sizes ------------------------------------------------------------------------------------------------------- */

/* What is not said becomes what is usual; false, with a sentence, for what is too much. */
static bool settle(const char *app, const char *what, uint64_t usual, uint64_t most, uint64_t *number)
{
    if (*number == 0)
        *number = usual;
    if (*number <= most || most == 0)
        return true;
    thrum_fail(THRUM_EINVAL, "%s: %s is %llu; it can be %llu at most", app, what, (unsigned long long)*number,
               (unsigned long long)most);
    return false;
}

static bool settle_all(const struct application *app, struct app_workload_size *size)
{
    const struct app_workload_size *usual = &app->usual, *most = &app->most;
    if (!settle(app->name, "n", usual->n, most->n, &size->n) ||
        !settle(app->name, "tile", usual->tile, most->tile, &size->tile) ||
        !settle(app->name, "steps", usual->steps, most->steps, &size->steps) ||
        !settle(app->name, "inner", usual->inner, most->inner, &size->inner) ||
        !settle(app->name, "dims", usual->dims, most->dims, &size->dims) ||
        !settle(app->name, "clusters", usual->clusters, most->clusters, &size->clusters))
        return false;
    if (!size->on_device)
        size->on_device = app->on_device;
    if (app->tasks(size) <= most_tasks)
        return true;
    thrum_fail(THRUM_ELIMIT, "%s: that would be %.3g tasks; %.3g are the most", app->name, app->tasks(size),
               most_tasks);
    return false;
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static void no_kernel(const thrum_buffer *buffers, const void *arg)
{
    (void)buffers, (void)arg;
    thrum_fail(THRUM_EINVAL, "the tasks of a workload are not there to run");
}

/* Whether the word is in the list; words are divided by commas. */
static bool is_in(const char *word, size_t length, const char *list)
{
    for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
        if (strcspn(list, ",") == length && strncmp(list, word, length) == 0)
            return true;
    return false;
}

static bool check_on_device(const struct application *app, const char *list)
{
    if (strcmp(list, "all") == 0 || strcmp(list, "none") == 0)
        return true;
    for (const char *word = list; word; word = strchr(word, ',') ? strchr(word, ',') + 1 : NULL) {
        size_t length = strcspn(word, ",");
        if (is_in(word, length, app->kernels))
            continue;
        thrum_fail(THRUM_EINVAL, "%s has no kernel '%.*s' that devices could have; its kernels are %s", app->name,
                   (int)(length < 40 ? length : 40), word, app->kernels);
        return false;
    }
    return true;
}

static void make_codelets(const struct application *app, const char *on_device, thrum_codelet *codelets)
{
    for (int i = 0; i < app->kernel_count; i++) {
        const char *kernel = strchr(app->codelets[i], '-') + 1;
        bool there = strcmp(on_device, "all") == 0 || is_in(kernel, strlen(kernel), on_device);
        codelets[i] = (thrum_codelet){
            .name = app->codelets[i], .cpu = no_kernel, .emu = there ? no_kernel : NULL, .work = app->work[i]};
    }
}

/* ---- Recording --------------------------------------------------------------------------------------------------- */

static thrum_workload *record(const struct application *app, union state *state, thrum_executor *ex)
{
    thrum_graph *graph = thrum_graph_new(app->name);
    thrum_flow *flow = graph ? thrum_flow_record(ex, graph) : NULL;
    if (flow)
        app->insert(state, flow);
    thrum_workload *workload = flow && thrum_flow_free(flow) == 0 ? thrum_workload_of_graph(graph, false) : NULL;
    thrum_graph_free(graph);
    return workload;
}

static thrum_workload *enter_and_record(const struct application *app, union state *state)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 1, .policy = "steal", .devices = "cpu"});
    if (!ex)
        return NULL;
    thrum_workload *workload = app->enter(state, ex) == 0 ? record(app, state, ex) : NULL;
    app->leave(state);
    thrum_executor_free(ex);
    return workload;
}

thrum_workload *app_workload(const char *name, const struct app_workload_size *size)
{
    const struct application *app = find(name);
    struct app_workload_size own = size ? *size : (struct app_workload_size){0};
    thrum_codelet codelets[MOST_KERNELS];
    union state state;
    thrum_workload *workload = NULL;
    if (!app || !settle_all(app, &own) || !check_on_device(app, own.on_device))
        return NULL;
    make_codelets(app, own.on_device, codelets);
    memset(&state, 0, sizeof state);
    if (app->begin(&state, &own, codelets))
        workload = enter_and_record(app, &state);
    else
        thrum_fail(THRUM_ENOMEM, "%s: not as many addresses are left", app->name);
    app->end(&state);
    return workload;
}
