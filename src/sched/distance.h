/* SPDX-License-Identifier: MIT
 *
 * How far memory nodes are from each other, and in which order a node's workers walk through the grid of LAHeteroprio's
 * lists, bucket by memory node (Bramas, PeerJ Computer Science 5:e190, 2019, equations 10 to 12 and table 3).
 *
 * Matrices are by row: the entry of nodes i and j is at i * nodes + j.
 */
#ifndef THRUM_SCHED_DISTANCE_H
#define THRUM_SCHED_DISTANCE_H

#include <thrum/policy.h>

/* Seconds that a gibibyte takes from node j to node i, divided by the largest of them; 0 from a node to itself. */
void thrum__transfer_distances(const thrum_world *world, double *distances);

/* What different priorities two nodes have: 1 - sum |a - b| / ((NP + 1) * (NP + 2) / 2), NP being the highest value
 * plus 1, from 0 to 1. `a` and `b` are priorities by bucket, 0 for the first in the order, and 0 for what the node
 * cannot run. The same order gives 1: such nodes are far from each other, for they want the same jobs. */
double thrum__priority_distance(const int *a, const int *b, int buckets);

static inline double thrum__distance(double priority, double transfer, double alpha)
{
    return alpha * priority + (1 - alpha) * transfer;
}

/* One list of the grid. */
typedef struct thrum__cell {
    uint8_t bucket, node;
    bool tied; /* with the one before: the same bucket, on a node that is just as near */
} thrum__cell;

typedef struct thrum__walk {
    int nodes, own;         /* there are so many nodes; the walk is for the workers of this one */
    const double *distance; /* from it, by node */
    const int *order;       /* the buckets that they take from, the first first */
    int buckets;            /* in `order` */
    int near, block;        /* how many of the others are near (S), how many buckets make a block (l, at least 1) */
} thrum__walk;

/* Writes nodes * buckets cells: block by block, the own node's lists, then bucket by bucket the near nodes'; behind all
 * blocks the other nodes' lists, bucket by bucket. Nodes come by distance, among equals by number. */
void thrum__walk_lay(const thrum__walk *walk, thrum__cell *cells);

#endif
