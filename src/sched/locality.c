/* SPDX-License-Identifier: MIT */
#include "sched/locality.h"

const char *thrum__formula_name(enum thrum__formula formula)
{
    static const char *const names[THRUM__FORMULAS] = {
        [THRUM__LARU] = "laru",       [THRUM__MC] = "mc",           [THRUM__LS_SDH] = "ls_sdh",
        [THRUM__LS_SDH2] = "ls_sdh2", [THRUM__LS_SDHB] = "ls_sdhb", [THRUM__LC_SMWB] = "lc_smwb"};
    return names[formula];
}

/* ---- What is where ----------------------------------------------------------------------------------------------- */

static bool is_write(enum thrum_mode mode)
{
    return mode == THRUM_MODE_W || mode == THRUM_MODE_RW || mode == THRUM_MODE_COMMUTE;
}

static void clear(thrum__locality *locality, int nodes)
{
    locality->nodes = nodes;
    locality->pieces = locality->written_pieces = 0;
    locality->read = locality->written = 0;
    for (int node = 0; node < nodes; node++) {
        locality->read_on[node] = locality->written_on[node] = locality->squares_on[node] = 0;
        locality->written_pieces_on[node] = 0;
    }
}

/* `where` knows of 64 nodes; of others each has to be asked about. */
static thrum__nodes where(const thrum_world *world, const thrum_data *data)
{
    thrum__nodes nodes = world->where ? world->where(world, data) : 0;
    for (int node = world->where ? 64 : 0; node < world->nodes; node++)
        nodes |= (thrum__nodes)world->is_on(world, data, node) << node;
    return nodes;
}

static inline void add_on(thrum__locality *locality, uint64_t nodes, int first, double bytes, bool writes)
{
    for (; nodes; nodes &= nodes - 1) {
        int node = first + __builtin_ctzll(nodes);
        if (writes) {
            locality->written_on[node] += bytes;
            locality->squares_on[node] += bytes * bytes;
            locality->written_pieces_on[node]++;
        } else {
            locality->read_on[node] += bytes;
        }
    }
}

/* Doubles: squares of sizes do not fit into integers. Sums of sizes are whole numbers below 2^53, and so exact. */
static void add(thrum__locality *locality, const thrum_world *world, const thrum_job_data *data)
{
    bool writes = is_write(data->mode);
    double bytes = (double)data->bytes;
    locality->pieces++;
    locality->written_pieces += writes;
    *(writes ? &locality->written : &locality->read) += bytes;
    thrum__nodes nodes = where(world, data->data);
    add_on(locality, (uint64_t)nodes, 0, bytes, writes);
    if (nodes >> 64)
        add_on(locality, (uint64_t)(nodes >> 64), 64, bytes, writes);
}

void thrum__locality_look(thrum__locality *locality, const thrum_world *world, const thrum_job *job)
{
    clear(locality, world->nodes);
    for (int i = 0; i < job->data_count; i++)
        if (is_write(job->data[i].mode) || job->data[i].mode == THRUM_MODE_R)
            add(locality, world, &job->data[i]);
}

/* ---- Formulas ---------------------------------------------------------------------------------------------------- */

/* The best value so far, more being better, and the nodes that have it. */
typedef struct leaders {
    double value;
    thrum__nodes nodes;
} leaders;

static inline void compete(leaders *l, double value, double tolerance, thrum__nodes node)
{
    if (value > l->value + tolerance) {
        *l = (leaders){value, node};
    } else if (value >= l->value - tolerance) {
        l->nodes |= node;
    }
}

/* A share of thirds does not add up exactly: costs that differ by less than this part count as equal. Scores are
 * compared as they are, for beside a large square a read is small and still decides. */
static const double cost_tolerance = 1e-9;

void thrum__locality_all(const thrum__locality *l, double theta, thrum__nodes winners[THRUM__FORMULAS])
{
    const leaders none = {-1, 0}; /* scores are not negative */
    leaders sdh = none, sdh2 = none, sdhb = none, smwb = {-1e300, 0};
    double factor = l->pieces ? 2 - (double)l->written_pieces / l->pieces : 2;
    double tolerance = cost_tolerance * (l->read + factor * l->written);
    for (int node = 0; node < l->nodes; node++) {
        thrum__nodes bit = thrum__node_bit(node);
        double read = l->read_on[node], written = l->written_on[node];
        compete(&sdh, read + written, 0, bit);
        compete(&sdh2, read + l->squares_on[node], 0, bit);
        compete(&sdhb, read + theta * l->written_pieces_on[node] * written, 0, bit);
        compete(&smwb, -(l->read - read) - factor * (l->written - written), tolerance, bit);
    }
    winners[THRUM__LS_SDH] = sdh.nodes;
    winners[THRUM__LS_SDH2] = sdh2.nodes;
    winners[THRUM__LS_SDHB] = sdhb.nodes;
    winners[THRUM__LC_SMWB] = smwb.nodes;
}

thrum__nodes thrum__locality_cheapest(const thrum_world *world, const thrum_job *job)
{
    thrum__nodes winners = 0;
    double least = 0;
    for (int node = 0; node < world->nodes; node++) {
        double seconds = world->transfer_seconds(world, job, node);
        if (node == 0 || seconds < least) {
            least = seconds;
            winners = 0;
        }
        winners |= (thrum__nodes)(seconds <= least) << node;
    }
    return winners;
}

enum thrum__formula thrum__locality_steadiest(const uint64_t counts[THRUM__FORMULAS])
{
    static const enum thrum__formula order[] = {THRUM__LS_SDH2, THRUM__LS_SDHB, THRUM__LC_SMWB, THRUM__LS_SDH};
    enum thrum__formula best = order[0];
    for (int i = 1; i < 4; i++)
        if (counts[order[i]] < counts[best])
            best = order[i];
    return best;
}
