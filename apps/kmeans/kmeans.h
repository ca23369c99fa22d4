/* SPDX-License-Identifier: MIT
 *
 * K-means by blocks of points: what its tasks (tasks.c), and the program that runs them (kmeans.c), share.
 */
#ifndef THRUM_APPS_KMEANS_H
#define THRUM_APPS_KMEANS_H

#include "kernels.h"

#include "common/app.h"

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
    bool untouched; /* points and labels are addresses that nobody touches (common/memory.h) */
    bool buckets;   /* tasks have a bucket: 0 begin, 1 assign, 2 combine */
};

/* Points of a block. */
size_t kmeans_block_size(const struct kmeans *km, size_t i);

/* Memory for all. `untouched`: points and labels have addresses, but nobody may read or write them. False without
 * memory; to be released in any case. */
bool kmeans_allocate(struct kmeans *km, bool untouched);
void kmeans_release(struct kmeans *km);
/* All handles. 0 or an error. Of unregistering, centres and labels come home. */
int kmeans_register(struct kmeans *km, thrum_executor *ex);
int kmeans_unregister(struct kmeans *km, bool discard);

/* The three kinds of tasks, for a graph or a flow: `add` is called once. */
typedef void kmeans_add_fn(void *to, const thrum_codelet *codelet, const thrum_item *items, size_t count);
void kmeans_add_begin(const struct kmeans *km, kmeans_add_fn *add, void *to);
void kmeans_add_assign(const struct kmeans *km, size_t block, kmeans_add_fn *add, void *to);
void kmeans_add_combine(struct kmeans *km, kmeans_add_fn *add, void *to);

/* Inserts the tasks of so many turns. The flow keeps the first error. */
void kmeans_insert(struct kmeans *km, thrum_flow *flow, uint64_t turns);

#endif
