/* SPDX-License-Identifier: MIT
 *
 * laheteroprio: heteroprio with an eye on where data is. Each bucket has a list for each memory node. A push asks a
 * formula (locality.h) on which node the job would find the most of its data, and appends the job to that node's list;
 * a pop walks through the grid in an order that was laid out before for the worker's node (distance.h). Lists of the
 * same bucket on nodes that are as near as each other are one to it: it takes the oldest job (or whichever comes first,
 * see the setting `lists`).
 *
 * A worker that asks ahead of time, having something else to begin first, looks into its own and near lists only: a job
 * whose data is far is left to those who have it, until somebody has nothing else to do.
 *
 * Bramas, "Impact study of data locality on task-based applications through the Heteroprio scheduler", PeerJ Computer
 * Science 5:e190, 2019.
 *
 * **BMD** (best memory node difference). What each formula chose at the push is kept in the job's `key`, and looked at
 * again at its pop, before its own transfers begin: if that node is not among the winners any more, the formula's count
 * rises. The formula "auto" uses the one whose choices have lasted best. For LaRU the winner at a pop is the popping
 * worker's node, so its count is that of jobs that were taken elsewhere. MC has to ask for predictions and is evaluated
 * only where it is the formula in use.
 *
 * **Ties** at a push go to the node of the worker that made the job ready, if it is among the winners, else to the
 * winners in turn, those first that have somebody who can run the job.
 */
#include "sched/distance.h"
#include "sched/hetero.h"
#include "sched/locality.h"
#include "sched/policy_int.h"
#include "sched/policy_settings.h"

#include "base/alloc.h"
#include "base/device_list.h"
#include "base/fault.h"

#include <stdio.h>
#include <string.h>

enum { AUTO = THRUM__FORMULAS, ALL = 1000000, NODE_BITS = 8 }; /* 6 formulas' nodes fit into the 53 bits of a double */

typedef struct laheteroprio {
    thrum__hetero hetero; /* first */
    int formula;          /* enum thrum__formula, or AUTO */
    double theta, alpha;
    int block[THRUM_ARCHS], near[THRUM_ARCHS]; /* l and S */
    double *transfer;                          /* distances, by two nodes */
    thrum__cell *walks;                        /* by node, then architecture */
    unsigned laid;                             /* the version of the orders that the walks were laid for */
    thrum__nodes *near_nodes;                  /* by worker; with its own */
    int *priorities;                           /* by node and bucket, while walks are laid */
    thrum__nodes archs_on[THRUM_ARCHS];        /* the nodes that have workers of an architecture */
    int turn[THRUM__FORMULAS];                 /* where ties are spread from */
    uint64_t pushed, stolen, bmd[THRUM__FORMULAS], used[THRUM__FORMULAS];
} laheteroprio;

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

static int read_formula(laheteroprio *la, const char *value)
{
    for (la->formula = 0; la->formula < THRUM__FORMULAS; la->formula++)
        if (strcmp(value, thrum__formula_name((enum thrum__formula)la->formula)) == 0)
            return 0;
    if (strcmp(value, "auto") == 0)
        return 0;
    return thrum__fault(THRUM_EOPTION,
                        "'formula=%.60s': there is no such formula; there are: auto, laru, mc, ls_sdh, ls_sdh2, "
                        "ls_sdhb, lc_smwb",
                        value);
}

/* "3,1": of processors, then of the other architectures; the last one counts for those that follow. */
static int read_counts(const char *key, char *value, int least, int counts[THRUM_ARCHS])
{
    for (int arch = 0; arch < THRUM_ARCHS && value; arch++) {
        char *comma = strchr(value, ',');
        double number = ALL;
        if (comma)
            *comma = '\0';
        if (strcmp(value, "all") != 0 &&
            (thrum__setting_number(key, value, least, 1000, &number) || number != (int)number))
            return thrum__fault(THRUM_EOPTION,
                                "'%s=%.60s': that must be a whole number from %d to 1000, or all; one for processors, "
                                "one for devices",
                                key, value, least);
        for (int other = arch; other < THRUM_ARCHS; other++)
            counts[other] = (int)number;
        value = comma ? comma + 1 : NULL;
    }
    return value ? thrum__fault(THRUM_EOPTION, "'%s' has more than %d numbers", key, THRUM_ARCHS) : 0;
}

static int read_one(laheteroprio *la, thrum__setting *setting)
{
    const char *key = setting->key;
    char *value = setting->value;
    return strcmp(key, "formula") == 0 ? read_formula(la, value)
           : strcmp(key, "theta") == 0 ? thrum__setting_number(key, value, 0, 1e9, &la->theta)
           : strcmp(key, "alpha") == 0 ? thrum__setting_number(key, value, 0, 1, &la->alpha)
           : strcmp(key, "l") == 0     ? read_counts(key, value, 1, la->block)
           : strcmp(key, "s") == 0     ? read_counts(key, value, 0, la->near)
                                       : 0; /* those of heteroprio */
}

static int read_settings(laheteroprio *la, const thrum_world *world)
{
    thrum__setting setting;
    const char *rest = world->settings;
    int err = 0;
    la->formula = AUTO;
    la->theta = 1000;
    la->alpha = 0.5;
    for (int arch = 0; arch < THRUM_ARCHS; arch++) {
        la->block[arch] = arch == THRUM_ARCH_CPU ? 1 : ALL;
        la->near[arch] = arch == THRUM_ARCH_CPU ? ALL : 1;
    }
    while (!err && thrum__setting_next(&rest, &setting, &err))
        err = read_one(la, &setting);
    for (int arch = 0; arch < THRUM_ARCHS; arch++)
        la->near[arch] = la->near[arch] < world->nodes - 1 ? la->near[arch] : world->nodes - 1;
    return err;
}

/* ---- Beginning and ending ---------------------------------------------------------------------------------------- */

static void release(laheteroprio *la)
{
    thrum__free(la->transfer);
    thrum__free(la->walks);
    thrum__free(la->priorities);
    thrum__free(la->near_nodes);
}

static int allocate(laheteroprio *la, const thrum_world *world)
{
    size_t nodes = (size_t)world->nodes;
    if (nodes > THRUM__NODES_MOST)
        return thrum__fault(THRUM_ELIMIT, "laheteroprio is for %d memory nodes at most; there are %d",
                            THRUM__NODES_MOST, world->nodes);
    la->transfer = thrum__zalloc(nodes * nodes * sizeof *la->transfer);
    la->walks = thrum__zalloc(nodes * THRUM_ARCHS * THRUM__BUCKETS * nodes * sizeof *la->walks);
    la->priorities = thrum__zalloc(nodes * THRUM__BUCKETS * sizeof *la->priorities);
    la->near_nodes = thrum__zalloc((size_t)world->workers * sizeof *la->near_nodes);
    return la->transfer && la->walks && la->priorities && la->near_nodes
               ? 0
               : thrum__fault(THRUM_ENOMEM, "no memory for the walks of %d memory nodes", world->nodes);
}

static int begin(void *state, const thrum_world *world)
{
    laheteroprio *la = state;
    int err = read_settings(la, world);
    if (!err)
        err = allocate(la, world);
    if (!err)
        err = thrum__hetero_begin(&la->hetero, world, world->nodes);
    if (err) {
        release(la);
        return err;
    }
    thrum__transfer_distances(world, la->transfer);
    for (int worker = 0; worker < world->workers; worker++)
        la->archs_on[world->place[worker].arch] |= thrum__node_bit(world->place[worker].node);
    return 0;
}

static void end(void *state, const thrum_world *world)
{
    laheteroprio *la = state;
    (void)world;
    release(la);
    thrum__hetero_end(&la->hetero);
}

/* ---- Walks ------------------------------------------------------------------------------------------------------- */

static thrum__cell *walk_of(const laheteroprio *la, int nodes, int node, int arch)
{
    return la->walks + (size_t)(node * THRUM_ARCHS + arch) * THRUM__BUCKETS * (size_t)nodes;
}

/* A node's priorities are those of its workers; 0 for what they cannot run, and where there are none. */
static void find_priorities(laheteroprio *la, const thrum_world *world)
{
    memset(la->priorities, 0, (size_t)world->nodes * THRUM__BUCKETS * sizeof *la->priorities);
    for (int node = 0; node < world->nodes; node++)
        for (int arch = 0; arch < THRUM_ARCHS; arch++)
            for (int i = 0; thrum__nodes_have(la->archs_on[arch], node) && i < la->hetero.order_count[arch]; i++)
                la->priorities[node * THRUM__BUCKETS + la->hetero.order[arch][i]] = i;
}

static void find_distances(const laheteroprio *la, const thrum_world *world, int from, double *distance)
{
    for (int to = 0; to < world->nodes; to++) {
        double priority = thrum__priority_distance(la->priorities + from * THRUM__BUCKETS,
                                                   la->priorities + to * THRUM__BUCKETS, la->hetero.count);
        distance[to] = from == to ? 0 : thrum__distance(priority, la->transfer[from * world->nodes + to], la->alpha);
    }
}

/* How many cells of a walk are of the own and of near nodes: they come first. And which nodes those are. */
static int near_cells(const laheteroprio *la, int arch)
{
    return la->hetero.order_count[arch] * (1 + la->near[arch]);
}

static thrum__nodes find_near(const laheteroprio *la, const thrum_world *world, const thrum_place *place)
{
    const thrum__cell *cell = walk_of(la, world->nodes, place->node, (int)place->arch);
    thrum__nodes nodes = 0;
    for (int i = 0; i < near_cells(la, (int)place->arch); i++)
        nodes |= thrum__node_bit(cell[i].node);
    return nodes;
}

static void lay_walks(laheteroprio *la, const thrum_world *world)
{
    find_priorities(la, world);
    for (int node = 0; node < world->nodes; node++) {
        double distance[THRUM__NODES_MOST];
        find_distances(la, world, node, distance);
        for (int arch = 0; arch < THRUM_ARCHS; arch++) {
            const thrum__walk walk = {.nodes = world->nodes,
                                      .own = node,
                                      .distance = distance,
                                      .order = la->hetero.order[arch],
                                      .buckets = la->hetero.order_count[arch],
                                      .near = la->near[arch],
                                      .block = la->block[arch]};
            if (thrum__nodes_have(la->archs_on[arch], node))
                thrum__walk_lay(&walk, walk_of(la, world->nodes, node, arch));
        }
    }
    for (int worker = 0; worker < world->workers; worker++)
        la->near_nodes[worker] = find_near(la, world, &world->place[worker]);
    la->laid = la->hetero.version;
}

/* ---- Choices ----------------------------------------------------------------------------------------------------- */

static bool is_used(const laheteroprio *la, int formula)
{
    return formula != THRUM__MC || la->formula == THRUM__MC;
}

/* By formula. `own` is the node of the worker that pushes or pops; -1: there is none, so LaRU cannot say. */
static void find_winners(const laheteroprio *la, const thrum_world *world, const thrum_job *job, int own,
                         thrum__nodes winners[THRUM__FORMULAS])
{
    thrum__locality locality;
    thrum__locality_look(&locality, world, job);
    thrum__nodes all = thrum__nodes_up_to(world->nodes);
    winners[THRUM__LARU] = own < 0 ? all : thrum__node_bit(own);
    winners[THRUM__MC] = is_used(la, THRUM__MC) ? thrum__locality_cheapest(world, job) : all;
    thrum__locality_all(&locality, la->theta, winners);
}

static int spread(thrum__nodes winners, int *turn)
{
    int node = thrum__nodes_next(winners, *turn);
    *turn = (node + 1) % THRUM__NODES_MOST;
    return node;
}

static int choose(thrum__nodes winners, thrum__nodes able, int own, int *turn)
{
    if (own >= 0 && thrum__nodes_have(winners, own))
        return own;
    if (thrum__nodes_single(winners))
        return thrum__nodes_first(winners);
    return spread(winners & able ? winners & able : winners, turn);
}

/* The nodes that have somebody who could run it, as far as architectures tell. */
static thrum__nodes able_nodes(const laheteroprio *la, const thrum_job *job)
{
    unsigned set = thrum__arch_set(job);
    thrum__nodes nodes = 0;
    for (int arch = 0; arch < THRUM_ARCHS; arch++)
        nodes |= set >> arch & 1 ? la->archs_on[arch] : 0;
    return nodes;
}

/* ---- Pushing and popping ----------------------------------------------------------------------------------------- */

static void push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    laheteroprio *la = state;
    int own = from < 0 ? -1 : world->place[from].node, column = 0;
    int formula = la->formula == AUTO ? (int)thrum__locality_steadiest(la->bmd) : la->formula;
    thrum__nodes winners[THRUM__FORMULAS], able = able_nodes(la, job);
    uint64_t choices = 0;
    find_winners(la, world, job, own, winners);
    for (int i = 0; i < THRUM__FORMULAS; i++) {
        int node = choose(winners[i], able, own, &la->turn[i]);
        choices |= (uint64_t)node << NODE_BITS * i;
        column = i == formula ? node : column;
    }
    job->key = (double)choices;
    la->pushed++;
    la->used[formula]++;
    thrum__hetero_put(&la->hetero, world, job, column);
}

static void count_changes(laheteroprio *la, const thrum_world *world, const thrum_job *job, int own)
{
    thrum__nodes winners[THRUM__FORMULAS];
    uint64_t choices = (uint64_t)job->key;
    find_winners(la, world, job, own, winners);
    for (int i = 0; i < THRUM__FORMULAS; i++) {
        int node = (int)(choices >> NODE_BITS * i & ((1u << NODE_BITS) - 1));
        la->bmd[i] += !thrum__nodes_have(winners[i], node);
    }
}

/* The first of these cells that has something for the worker; of several that are as near, the one with the job that is
 * to be taken first. */
static const thrum__cell *find_cell(const laheteroprio *la, const thrum_world *world, int worker,
                                    const thrum__cell *cell, int count)
{
    const thrum__cell *found = NULL;
    const thrum_job *best = NULL;
    for (const thrum__cell *end = cell + count; cell < end && (!found || cell->tied); cell++) {
        const thrum_job *job = thrum__hetero_find(&la->hetero, world, worker, cell->bucket, cell->node);
        if (!job || (best && thrum__hetero_before(&la->hetero, best, job)))
            continue;
        best = job;
        found = cell;
    }
    return found;
}

static thrum_job *pop(void *state, const thrum_world *world, int worker)
{
    laheteroprio *la = state;
    thrum_job *job = NULL;
    const thrum_place *place = &world->place[worker];
    int arch = (int)place->arch, own = place->node;
    bool ahead = world->is_ahead && world->is_ahead(world, worker);
    if (la->laid != la->hetero.version)
        lay_walks(la, world);
    int count = ahead ? near_cells(la, arch) : la->hetero.order_count[arch] * world->nodes;
    const thrum__cell *cell = find_cell(la, world, worker, walk_of(la, world->nodes, own, arch), count);
    if (cell) {
        job = thrum__hetero_take(&la->hetero, world, worker, cell->bucket, cell->node);
        la->stolen += cell->node != own;
        count_changes(la, world, job, own);
    }
    thrum__hetero_popped(&la->hetero, world, worker, job, ahead ? la->near_nodes[worker] : THRUM__ALL_COLUMNS);
    return job;
}

static void done(void *state, const thrum_world *world, const thrum_job *job, int worker, double seconds)
{
    thrum__hetero_done(&((laheteroprio *)state)->hetero, world, job, worker, seconds);
}

static void report(const void *state, const thrum_world *world, thrum_report_fn *tell, void *arg)
{
    const laheteroprio *la = state;
    char key[48];
    (void)world;
    tell(arg, "pushed", (double)la->pushed);
    tell(arg, "stolen", (double)la->stolen);
    for (int i = 0; i < THRUM__FORMULAS; i++) {
        snprintf(key, sizeof key, "used.%s", thrum__formula_name((enum thrum__formula)i));
        tell(arg, key, (double)la->used[i]);
        if (!is_used(la, i))
            continue;
        snprintf(key, sizeof key, "bmd.%s", thrum__formula_name((enum thrum__formula)i));
        tell(arg, key, (double)la->bmd[i]);
    }
    thrum__hetero_report(&la->hetero, tell, arg);
}

static const thrum_setting settings[] = {
    {"formula", "auto", "auto, laru, mc, ls_sdh, ls_sdh2, ls_sdhb, lc_smwb", "who says on which node a job's data is"},
    {"l", "1,all", "1 to 1000 or all; cpu,devices", "buckets that are looked into before other nodes' lists"},
    {"s", "all,1", "0 to 1000 or all; cpu,devices", "how many other nodes are near"},
    {"alpha", "0.5", "0 to 1", "share of priorities in distances; the rest is links"},
    {"theta", "1000", "0 to 1000000000", "weight of writes in ls_sdhb"},
    THRUM__HETERO_SETTINGS,
    {0}};

const thrum_policy thrum__policy_laheteroprio = {
    .name = "laheteroprio",
    .about = "heteroprio, each job near the memory that has its data",
    .state_bytes = sizeof(laheteroprio),
    .begin = begin,
    .end = end,
    .push = push,
    .pop = pop,
    .done = done,
    .settings = settings,
    .report = report,
};
