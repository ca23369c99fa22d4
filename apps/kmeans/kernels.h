/* SPDX-License-Identifier: MIT
 *
 * The kernels of k-means: points to the nearest centre, by blocks; and the centres to the middle of their points.
 */
#ifndef THRUM_APPS_KMEANS_KERNELS_H
#define THRUM_APPS_KMEANS_KERNELS_H

#include <thrum/thrum.h>

#include <stdint.h>

/* How far the loop is: in main memory, written by COMBINE and read by the condition behind it. */
struct kmeans_state {
    double moved;  /* the furthest that a centre moved in the last turn */
    double spread; /* the sum of squared distances to the centres before they moved */
};

/* Points and centres are columns of a matrix of `dims` rows. A block's sums are a matrix of dims + 1 rows: of each
 * centre the sum of its points and their number; and one more column that begins with the sum of squared distances.
 *   BEGIN   R first  W centres                       sets the centres
 *   ASSIGN  R points  R centres  W labels  W sums    labels are uint32_t
 *   COMBINE RW centres  R sums ...                   new centres, adding up in the order of blocks;
 *                                                    argument: struct kmeans_combine
 * BEGIN and COMBINE are for processors; COMBINE writes to the state, which is no handle's. */
struct kmeans_combine {
    struct kmeans_state *state;
    size_t blocks;
};
extern const thrum_codelet kmeans_begin, kmeans_assign, kmeans_combine;

/* Coordinates that are compared with those of a centre, or added up: of ASSIGN; of the other two. */
double kmeans_assign_work(const thrum_buffer *b, int count, const void *arg);
double kmeans_centre_work(const thrum_buffer *b, int count, const void *arg);

/* What ASSIGN does for one point, for whoever has no task. `ld`: from one point, centre or sum to the next. */
uint32_t kmeans_nearest(const double *point, const double *centres, size_t ld, size_t dims, size_t count,
                        double *square);
void kmeans_add_point(double *sums, size_t ld, const double *point, size_t dims, uint32_t label, double square,
                      size_t count);

#endif
