/* SPDX-License-Identifier: MIT
 *
 * thrum kmeans: finds clusters of points by Lloyd's algorithm, as a loop inside of a graph.
 *
 *                 +--> assign 0 --+
 *   begin --> again -> assign 1 --+-> combine --> near enough? --> done
 *               ^ +--> assign 2 --+                   |
 *               +-------------------------------------+
 */
#include "kernels.h"

#include "common/app.h"
#include "common/random.h"
#include "common/tiles.h"
#include "verbs.h"

#include "tools/common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct app_about about = {
    "kmeans",
    "Finds k clusters of random points by Lloyd's algorithm. It is one graph with a loop inside: blocks of points\n"
    "are assigned to the nearest centre, centres move to the middle of their points, and a condition leads back\n"
    "until no centre moves further than the tolerance. Centres begin as the first points. The result\n"
    "is compared, bit by bit, with that of a plain loop that adds up in the same order.\n"};

struct kmeans {
    struct app_setup setup;
    uint64_t points, dims, clusters, block, most_turns;
    double tolerance;
    thrum_codelet begin, assign, combine;

    size_t blocks;
    double *point, *first, *centres; /* columns of `dims` numbers */
    uint32_t *labels;
    thrum_data *first_data, *centres_data;
    thrum_data **points_data, **labels_data, **sums_data; /* by block */

    struct kmeans_state state;
    uint64_t turns;
    struct app_fact *facts;
};

/* ---- Points ------------------------------------------------------------------------------------------------------- */

static size_t block_size(const struct kmeans *km, size_t i)
{
    return i + 1 < km->blocks ? km->block : km->points - i * km->block;
}

/* Clouds around random places; some overlap. */
static void make_points(struct kmeans *km)
{
    uint64_t seed = km->setup.seed;
    for (size_t i = 0; i < km->points; i++) {
        size_t cloud = app_bits(seed, i, UINT64_MAX) % km->clusters;
        for (size_t d = 0; d < km->dims; d++)
            km->point[d + i * km->dims] =
                10 * app_centered(~seed, cloud, d) + app_centered(seed, i, 2 * d) + app_centered(seed, i, 2 * d + 1);
    }
    memcpy(km->first, km->point, km->dims * km->clusters * sizeof *km->first);
}

static bool allocate(struct kmeans *km)
{
    size_t blocks = (km->points + km->block - 1) / km->block;
    km->blocks = blocks;
    km->point = malloc(km->points * km->dims * sizeof *km->point);
    km->labels = malloc(km->points * sizeof *km->labels);
    km->first = malloc(km->dims * km->clusters * sizeof *km->first);
    km->centres = malloc(km->dims * km->clusters * sizeof *km->centres);
    km->points_data = calloc(blocks, sizeof *km->points_data);
    km->labels_data = calloc(blocks, sizeof *km->labels_data);
    km->sums_data = calloc(blocks, sizeof *km->sums_data);
    return km->point && km->labels && km->first && km->centres && km->points_data && km->labels_data && km->sums_data;
}

static void release(struct kmeans *km)
{
    void *const all[] = {km->point,       km->labels,      km->first,    km->centres,
                         km->points_data, km->labels_data, km->sums_data};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static int prepare(void *self, thrum_executor *ex)
{
    struct kmeans *km = self;
    size_t dims = km->dims, clusters = km->clusters;
    km->first_data = thrum_data_matrix(ex, km->first, dims, dims, clusters, sizeof(double));
    km->centres_data = thrum_data_matrix(ex, km->centres, dims, dims, clusters, sizeof(double));
    if (!km->first_data || !km->centres_data)
        return THRUM_ENOMEM;
    for (size_t i = 0; i < km->blocks; i++) {
        size_t from = i * km->block, count = block_size(km, i);
        km->points_data[i] = thrum_data_matrix(ex, km->point + from * dims, dims, dims, count, sizeof(double));
        km->labels_data[i] = thrum_data_vector(ex, km->labels + from, count, sizeof(uint32_t));
        km->sums_data[i] = thrum_data_matrix(ex, NULL, 0, dims + 1, clusters + 1, sizeof(double));
        if (!km->points_data[i] || !km->labels_data[i] || !km->sums_data[i])
            return THRUM_ENOMEM;
    }
    return 0;
}

static int home(void *self, bool failed)
{
    struct kmeans *km = self;
    int errs[] = {app_unregister_all(&km->first_data, 1, true), app_unregister_all(&km->centres_data, 1, failed),
                  app_unregister_all(km->points_data, km->blocks, true),
                  app_unregister_all(km->labels_data, km->blocks, failed),
                  app_unregister_all(km->sums_data, km->blocks, true)};
    for (size_t i = 0; i < 5; i++)
        if (errs[i])
            return errs[i];
    return 0;
}

/* ---- The graph ---------------------------------------------------------------------------------------------------- */

/* 0: once more; 1: done. */
static int near_enough(void *arg)
{
    struct kmeans *km = arg;
    km->turns++;
    return km->turns >= km->most_turns || km->state.moved <= km->tolerance;
}

static thrum_task *make_combine(struct kmeans *km, thrum_graph *g)
{
    thrum_item *items = calloc(km->blocks + 2, sizeof *items);
    struct kmeans_combine how = {&km->state, km->blocks};
    if (!items)
        return NULL;
    items[0] = THRUM_RW(km->centres_data);
    for (size_t i = 0; i < km->blocks; i++)
        items[i + 1] = THRUM_R(km->sums_data[i]);
    items[km->blocks + 1] = THRUM_ARG(how);
    thrum_task *task = thrum_codelet_task_items(g, &km->combine, items, km->blocks + 2);
    free(items);
    return task;
}

static void build(struct kmeans *km, thrum_graph *g)
{
    thrum_task *begin = thrum_codelet_task(g, &km->begin, THRUM_R(km->first_data), THRUM_W(km->centres_data));
    thrum_task *again = thrum_placeholder_new(g), *done = thrum_placeholder_new(g);
    thrum_task *combine = make_combine(km, g), *near = thrum_condition_new(g, near_enough, km);
    for (size_t i = 0; i < km->blocks; i++) {
        thrum_task *assign = thrum_codelet_task(g, &km->assign, THRUM_R(km->points_data[i]), THRUM_R(km->centres_data),
                                                THRUM_W(km->labels_data[i]), THRUM_W(km->sums_data[i]));
        thrum_precede(again, assign);
        thrum_precede(assign, combine);
    }
    thrum_precede(begin, again);
    thrum_precede(combine, near);
    thrum_precede(near, again, done);
}

static int run(void *self, thrum_executor *ex)
{
    struct kmeans *km = self;
    thrum_graph *g = thrum_graph_new("kmeans");
    if (!g)
        return THRUM_ENOMEM;
    km->turns = 0;
    km->state.moved = INFINITY;
    build(km, g);
    int err = thrum_run(ex, g);
    if (err)
        thrum_fail(err, "%s", thrum_message(g)); /* for whoever asks when the graph is gone */
    thrum_graph_free(g);
    km->facts[4].value = (double)km->turns;
    km->facts[5].value = km->state.spread;
    return err;
}

/* ---- The check: plain loops --------------------------------------------------------------------------------------- */

/* All of it, one point after the other. */
struct plain {
    double *centres, *sums, *totals; /* sums of a block, and of all blocks so far */
    uint32_t *labels;
    uint64_t turns;
};

static void plain_block(const struct kmeans *km, struct plain *plain, size_t block)
{
    size_t ld = km->dims + 1, numbers = ld * (km->clusters + 1);
    memset(plain->sums, 0, numbers * sizeof *plain->sums);
    for (size_t i = block * km->block; i < block * km->block + block_size(km, block); i++) {
        const double *point = km->point + i * km->dims;
        double square;
        plain->labels[i] = kmeans_nearest(point, plain->centres, km->dims, km->dims, km->clusters, &square);
        kmeans_add_point(plain->sums, ld, point, km->dims, plain->labels[i], square, km->clusters);
    }
    for (size_t i = 0; i < numbers; i++)
        plain->totals[i] += plain->sums[i];
}

/* Moves the centres; returns how far the one that moved furthest did. */
static double plain_move(const struct kmeans *km, struct plain *plain)
{
    double furthest = 0;
    for (size_t c = 0; c < km->clusters; c++) {
        const double *total = plain->totals + c * (km->dims + 1);
        double *centre = plain->centres + c * km->dims, square = 0;
        for (size_t d = 0; d < km->dims && total[km->dims] > 0; d++) {
            double middle = total[d] / total[km->dims];
            square += (middle - centre[d]) * (middle - centre[d]);
            centre[d] = middle;
        }
        furthest = fmax(furthest, sqrt(square));
    }
    return furthest;
}

static void plain_run(const struct kmeans *km, struct plain *plain)
{
    double moved = INFINITY;
    memcpy(plain->centres, km->first, km->dims * km->clusters * sizeof(double));
    for (plain->turns = 0; plain->turns < km->most_turns && moved > km->tolerance; plain->turns++) {
        memset(plain->totals, 0, (km->dims + 1) * (km->clusters + 1) * sizeof(double));
        for (size_t block = 0; block < km->blocks; block++)
            plain_block(km, plain, block);
        moved = plain_move(km, plain);
    }
}

static void compare(const struct kmeans *km, const struct plain *plain, struct app_check *check)
{
    size_t wrong = 0;
    double furthest = 0;
    for (size_t i = 0; i < km->points; i++)
        wrong += km->labels[i] != plain->labels[i];
    for (size_t i = 0; i < km->dims * km->clusters; i++)
        if (!(fabs(km->centres[i] - plain->centres[i]) <= furthest))
            furthest = fabs(km->centres[i] - plain->centres[i]);
    check->residual = furthest;
    check->good = wrong == 0 && furthest == 0 && km->turns == plain->turns;
    snprintf(check->text, sizeof check->text,
             "%zu points have another cluster than by a plain loop, centres differ by %.2e at most; %zu turns, and %zu",
             wrong, furthest, (size_t)km->turns, (size_t)plain->turns);
}

static void check(void *self, struct app_check *check)
{
    const struct kmeans *km = self;
    size_t numbers = (km->dims + 1) * (km->clusters + 1);
    struct plain plain = {.centres = malloc(3 * numbers * sizeof(double)),
                          .labels = malloc(km->points * sizeof(uint32_t))};
    if (plain.centres && plain.labels) {
        plain.sums = plain.centres + numbers;
        plain.totals = plain.sums + numbers;
        plain_run(km, &plain);
        compare(km, &plain, check);
    } else {
        snprintf(check->text, sizeof check->text, "no memory to check it");
    }
    free(plain.centres);
    free(plain.labels);
}

/* ---- The verb ----------------------------------------------------------------------------------------------------- */

static double amount(const void *self)
{
    const struct kmeans *km = self;
    return (double)km->points * (double)km->turns;
}

static int measure(struct kmeans *km)
{
    struct app_fact facts[] = {{"points", (double)km->points},
                               {"dims", (double)km->dims},
                               {"clusters", (double)km->clusters},
                               {"block", (double)km->block},
                               {"turns", 0},
                               {"spread", 0}};
    km->facts = facts;
    km->begin = app_setup_codelet(&km->setup, &kmeans_begin, true);
    km->assign = app_setup_codelet(&km->setup, &kmeans_assign, true);
    km->combine = app_setup_codelet(&km->setup, &kmeans_combine, true);
    if (!allocate(km)) {
        release(km);
        return tool_fail(about.verb, "no memory for %zu points.", (size_t)km->points);
    }
    make_points(km);
    int code = app_measure(&(struct app){.verb = about.verb,
                                         .setup = &km->setup,
                                         .self = km,
                                         .facts = facts,
                                         .fact_count = 6,
                                         .rate = "points/s",
                                         .rate_key = "points_per_second",
                                         .amount = amount,
                                         .prepare = prepare,
                                         .run = run,
                                         .home = home,
                                         .check = check});
    release(km);
    return code;
}

int thrum_cmd_kmeans(int argc, char **argv)
{
    struct kmeans km = {0};
    struct app_option options[7 + APP_SETUP_OPTIONS] = {
        {.kind = APP_TITLE, .help = "the problem"},
        {APP_COUNT, "--points", "COUNT", "200000", "how many", &km.points, 1, (uint64_t)1 << 32, NULL},
        {APP_COUNT, "--dims", "COUNT", "4", "coordinates of a point", &km.dims, 1, 4096, NULL},
        {APP_COUNT, "--clusters", "COUNT", "16", "k; no more than there are points", &km.clusters, 1, 1 << 20, NULL},
        {APP_COUNT, "--block", "COUNT", "8192", "points of a task", &km.block, 1, (uint64_t)1 << 32, NULL},
        {APP_COUNT, "--turns", "COUNT", "200", "the most turns of the loop", &km.most_turns, 1, 1 << 30, NULL},
        {APP_NUMBER, "--tolerance", "LENGTH", "1e-6", "it ends when no centre moves further in a turn", &km.tolerance,
         0, 0, NULL}};
    app_setup_options(&km.setup, options + 7);
    int code = app_parse(&about, options, 7 + APP_SETUP_OPTIONS, argc, argv);
    if (code == TOOL_GO_ON)
        code = app_setup_check(about.verb, &km.setup);
    if (code != TOOL_GO_ON)
        return code;
    if (km.clusters > km.points)
        return tool_misuse(about.verb, "--clusters is more than --points; each cluster begins at a point.");
    return measure(&km);
}
