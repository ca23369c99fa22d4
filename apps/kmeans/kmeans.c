/* SPDX-License-Identifier: MIT
 *
 * thrum kmeans: finds clusters of points by Lloyd's algorithm, as a loop inside of a graph.
 *
 *                 +--> assign 0 --+
 *   begin --> again -> assign 1 --+-> combine --> near enough? --> done
 *               ^ +--> assign 2 --+                   |
 *               +-------------------------------------+
 */
#include "kmeans.h"

#include "common/random.h"
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

/* ---- Points ------------------------------------------------------------------------------------------------------ */

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

static int prepare(void *self, thrum_executor *ex)
{
    return kmeans_register(self, ex);
}

static int home(void *self, bool failed)
{
    return kmeans_unregister(self, failed);
}

/* ---- The graph --------------------------------------------------------------------------------------------------- */

/* 0: once more; 1: done. */
static int near_enough(void *arg)
{
    struct kmeans *km = arg;
    km->turns++;
    return km->turns >= km->most_turns || km->state.moved <= km->tolerance;
}

/* What a new task comes between. */
struct between {
    thrum_graph *graph;
    thrum_task *before, *after, *newest;
};

static void add_task(void *to, const thrum_codelet *codelet, const thrum_item *items, size_t count)
{
    struct between *between = to;
    between->newest = thrum_codelet_task_items(between->graph, codelet, items, count);
    if (between->before)
        thrum_edge(between->before, between->newest);
    if (between->after)
        thrum_edge(between->newest, between->after);
}

static void build(struct kmeans *km, thrum_graph *g)
{
    thrum_task *again = thrum_placeholder_new(g), *done = thrum_placeholder_new(g);
    thrum_task *near = thrum_condition_new(g, near_enough, km);
    kmeans_add_begin(km, add_task, &(struct between){.graph = g, .after = again});
    struct between combine = {.graph = g, .after = near};
    kmeans_add_combine(km, add_task, &combine);
    for (size_t i = 0; i < km->blocks; i++)
        kmeans_add_assign(km, i, add_task, &(struct between){.graph = g, .before = again, .after = combine.newest});
    thrum_precede(near, again, done);
}

/* The turns of the last run, for --workload. */
static int record(struct kmeans *km, thrum_executor *ex)
{
    thrum_flow *flow = app_setup_flow(&km->setup, ex);
    if (!flow)
        return THRUM_ENOMEM;
    kmeans_insert(km, flow, km->turns);
    return thrum_flow_free(flow);
}

static int run(void *self, thrum_executor *ex)
{
    struct kmeans *km = self;
    if (km->setup.record)
        return record(km, ex);
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

/* ---- The check: plain loops -------------------------------------------------------------------------------------- */

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
    for (size_t i = block * km->block; i < block * km->block + kmeans_block_size(km, block); i++) {
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

/* ---- The verb ---------------------------------------------------------------------------------------------------- */

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
    if (!kmeans_allocate(km, false)) {
        kmeans_release(km);
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
    kmeans_release(km);
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
