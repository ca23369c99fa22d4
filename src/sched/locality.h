/* SPDX-License-Identifier: MIT
 *
 * On which memory node a job would find its data: the formulas of LAHeteroprio (Bramas, PeerJ Computer Science 5:e190,
 * 2019).
 *
 * A formula gives each node a value; the nodes with the best one are the *winners*. Read means read-only: W,
 * RW and COMMUTE are writes, SCRATCH and REDUX count as nothing, for whoever runs the job gets memory of its own for
 * them. Data that was never written is on no node.
 *
 *   LaRU      the node of the worker that made the job ready (that is no value: the policy knows it)
 *   MC        the predicted time of all transfers; the lowest wins
 *   LS_SDH    the bytes that are there
 *   LS_SDH2   the bytes that are there to be read, and the square of those that are there to be written
 *   LS_SDHB   the bytes to be read that are there, and theta times the number of pieces to be written that are there
 *             times the bytes of those
 *   LC_SMWB   the bytes to be read that are *not* there, and (2 - W/N) times those to be written that are not there, W
 *             of the job's N pieces being written; the lowest wins. (Equation 9 as printed has other signs; this
 *             reading gives the paper's own table and text.)
 */
#ifndef THRUM_SCHED_LOCALITY_H
#define THRUM_SCHED_LOCALITY_H

#include "sched/node_set.h"

#include <thrum/policy.h>

enum thrum__formula {
    THRUM__LARU,
    THRUM__MC,
    THRUM__LS_SDH,
    THRUM__LS_SDH2,
    THRUM__LS_SDHB,
    THRUM__LC_SMWB,
    THRUM__FORMULAS
};

/* As in settings: "laru", "mc", "ls_sdh", ... */
const char *thrum__formula_name(enum thrum__formula formula);

/* What is where, of one job: by node, the bytes that are there, and how many pieces to be written. */
typedef struct thrum__locality {
    int nodes, pieces, written_pieces;
    double read, written; /* bytes of all, wherever they are */
    double read_on[THRUM__NODES_MOST], written_on[THRUM__NODES_MOST], squares_on[THRUM__NODES_MOST];
    int written_pieces_on[THRUM__NODES_MOST];
} thrum__locality;

void thrum__locality_look(thrum__locality *locality, const thrum_world *world, const thrum_job *job);

/* The winners, by formula, of the four from LS_SDH on; the others' are left alone. */
void thrum__locality_all(const thrum__locality *locality, double theta, thrum__nodes winners[THRUM__FORMULAS]);
/* Those of MC. */
thrum__nodes thrum__locality_cheapest(const thrum_world *world, const thrum_job *job);

/* Of LS_SDH2, LS_SDHB, LC_SMWB and LS_SDH, in this order, the first with the lowest count. */
enum thrum__formula thrum__locality_steadiest(const uint64_t counts[THRUM__FORMULAS]);

#endif
