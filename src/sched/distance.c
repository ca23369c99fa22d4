/* SPDX-License-Identifier: MIT */
#include "sched/distance.h"

#include "sched/node_set.h"

#include <stdlib.h>

void thrum__transfer_distances(const thrum_world *world, double *distances)
{
    int nodes = world->nodes;
    double largest = 0;
    for (int i = 0; i < nodes; i++)
        for (int j = 0; j < nodes; j++) {
            double seconds = i == j ? 0 : world->link_seconds(world, j, i, (size_t)1 << 30);
            distances[i * nodes + j] = seconds;
            largest = seconds > largest ? seconds : largest;
        }
    for (int i = 0; largest > 0 && i < nodes * nodes; i++)
        distances[i] /= largest;
}

double thrum__priority_distance(const int *a, const int *b, int buckets)
{
    int sum = 0, highest = 0;
    for (int k = 0; k < buckets; k++) {
        sum += abs(a[k] - b[k]);
        highest = a[k] > highest ? a[k] : highest;
        highest = b[k] > highest ? b[k] : highest;
    }
    double count = highest + 1, distance = 1 - sum / ((count + 1) * (count + 2) / 2);
    return distance < 0 ? 0 : distance;
}

/* ---- Walks ------------------------------------------------------------------------------------------------------- */

/* All nodes but the own, the nearest first. */
static int by_distance(const thrum__walk *walk, int *others)
{
    int count = 0;
    for (int node = 0; node < walk->nodes; node++) {
        if (node == walk->own)
            continue;
        int at = count++;
        for (; at > 0 && walk->distance[others[at - 1]] > walk->distance[node]; at--)
            others[at] = others[at - 1];
        others[at] = node;
    }
    return count;
}

/* The buckets from `first` up to `end` in the order, of each the lists of these nodes. */
static thrum__cell *lay(const thrum__walk *walk, int first, int end, const int *nodes, int count, thrum__cell *to)
{
    for (int i = first; i < end; i++)
        for (int n = 0; n < count; n++)
            *to++ = (thrum__cell){(uint8_t)walk->order[i], (uint8_t)nodes[n],
                                  n > 0 && walk->distance[nodes[n]] <= walk->distance[nodes[n - 1]]};
    return to;
}

void thrum__walk_lay(const thrum__walk *walk, thrum__cell *cells)
{
    int others[THRUM__NODES_MOST], count = by_distance(walk, others);
    int near = walk->near < count ? walk->near : count;
    for (int first = 0, end; first < walk->buckets; first = end) {
        end = walk->block < walk->buckets - first ? first + walk->block : walk->buckets;
        cells = lay(walk, first, end, &walk->own, 1, cells);
        cells = lay(walk, first, end, others, near, cells);
    }
    lay(walk, 0, walk->buckets, others + near, count - near, cells);
}
