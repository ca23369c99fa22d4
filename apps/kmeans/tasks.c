/* SPDX-License-Identifier: MIT
 *
 * The tasks of k-means: their data, their order without the loop, and how much work they are.
 */
#include "kmeans.h"

#include "common/memory.h"
#include "common/tiles.h"

#include <stdlib.h>

/* ---- Data -------------------------------------------------------------------------------------------------------- */

size_t kmeans_block_size(const struct kmeans *km, size_t i)
{
    return i + 1 < km->blocks ? km->block : km->points - i * km->block;
}

static size_t point_bytes(const struct kmeans *km)
{
    return km->points * km->dims * sizeof *km->point;
}

static size_t label_bytes(const struct kmeans *km)
{
    return km->points * sizeof *km->labels;
}

bool kmeans_allocate(struct kmeans *km, bool untouched)
{
    size_t blocks = (km->points + km->block - 1) / km->block;
    km->blocks = blocks;
    km->untouched = untouched;
    km->point = untouched ? app_addresses(point_bytes(km)) : malloc(point_bytes(km));
    km->labels = untouched ? app_addresses(label_bytes(km)) : malloc(label_bytes(km));
    km->first = malloc(km->dims * km->clusters * sizeof *km->first);
    km->centres = malloc(km->dims * km->clusters * sizeof *km->centres);
    km->points_data = calloc(blocks, sizeof *km->points_data);
    km->labels_data = calloc(blocks, sizeof *km->labels_data);
    km->sums_data = calloc(blocks, sizeof *km->sums_data);
    return km->point && km->labels && km->first && km->centres && km->points_data && km->labels_data && km->sums_data;
}

void kmeans_release(struct kmeans *km)
{
    void *const all[] = {km->first, km->centres, km->points_data, km->labels_data, km->sums_data};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    if (km->untouched) {
        app_addresses_free(km->point, point_bytes(km));
        app_addresses_free(km->labels, label_bytes(km));
    } else {
        free(km->point);
        free(km->labels);
    }
}

int kmeans_register(struct kmeans *km, thrum_executor *ex)
{
    size_t dims = km->dims, clusters = km->clusters;
    km->first_data = thrum_data_matrix(ex, km->first, dims, dims, clusters, sizeof(double));
    km->centres_data = thrum_data_matrix(ex, km->centres, dims, dims, clusters, sizeof(double));
    if (!km->first_data || !km->centres_data)
        return THRUM_ENOMEM;
    for (size_t i = 0; i < km->blocks; i++) {
        size_t from = i * km->block, count = kmeans_block_size(km, i);
        km->points_data[i] = thrum_data_matrix(ex, km->point + from * dims, dims, dims, count, sizeof(double));
        km->labels_data[i] = thrum_data_vector(ex, km->labels + from, count, sizeof(uint32_t));
        km->sums_data[i] = thrum_data_matrix(ex, NULL, 0, dims + 1, clusters + 1, sizeof(double));
        if (!km->points_data[i] || !km->labels_data[i] || !km->sums_data[i])
            return THRUM_ENOMEM;
    }
    return 0;
}

int kmeans_unregister(struct kmeans *km, bool discard)
{
    int errs[] = {app_unregister_all(&km->first_data, 1, true), app_unregister_all(&km->centres_data, 1, discard),
                  app_unregister_all(km->points_data, km->blocks, true),
                  app_unregister_all(km->labels_data, km->blocks, discard),
                  app_unregister_all(km->sums_data, km->blocks, true)};
    for (size_t i = 0; i < 5; i++)
        if (errs[i])
            return errs[i];
    return 0;
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

static thrum_item bucket(const struct kmeans *km, int kernel)
{
    return THRUM_BUCKET(km->buckets ? kernel : THRUM_NO_BUCKET);
}

void kmeans_add_begin(const struct kmeans *km, kmeans_add_fn *add, void *to)
{
    const thrum_item items[] = {THRUM_R(km->first_data), THRUM_W(km->centres_data), bucket(km, 0)};
    add(to, &km->begin, items, 3);
}

void kmeans_add_assign(const struct kmeans *km, size_t block, kmeans_add_fn *add, void *to)
{
    const thrum_item items[] = {THRUM_R(km->points_data[block]), THRUM_R(km->centres_data),
                                THRUM_W(km->labels_data[block]), THRUM_W(km->sums_data[block]), bucket(km, 1)};
    add(to, &km->assign, items, 5);
}

/* Without memory for the items there are none, which is an error that the graph or the flow keeps. */
void kmeans_add_combine(struct kmeans *km, kmeans_add_fn *add, void *to)
{
    thrum_item *items = calloc(km->blocks + 3, sizeof *items);
    struct kmeans_combine how = {&km->state, km->blocks};
    if (items) {
        items[0] = THRUM_RW(km->centres_data);
        for (size_t i = 0; i < km->blocks; i++)
            items[i + 1] = THRUM_R(km->sums_data[i]);
        items[km->blocks + 1] = THRUM_ARG(how);
        items[km->blocks + 2] = bucket(km, 2);
    }
    add(to, &km->combine, items, km->blocks + 3);
    free(items);
}

static void insert(void *to, const thrum_codelet *codelet, const thrum_item *items, size_t count)
{
    thrum_insert_items(to, codelet, items, count);
}

void kmeans_insert(struct kmeans *km, thrum_flow *flow, uint64_t turns)
{
    kmeans_add_begin(km, insert, flow);
    for (uint64_t turn = 0; turn < turns; turn++) {
        for (size_t i = 0; i < km->blocks; i++)
            kmeans_add_assign(km, i, insert, flow);
        kmeans_add_combine(km, insert, flow);
    }
}

/* ---- Work -------------------------------------------------------------------------------------------------------- */

double kmeans_assign_work(const thrum_buffer *b, int count, const void *arg)
{
    (void)count, (void)arg;
    return (double)b[0].extent[0] * (double)b[0].extent[1] * (double)b[1].extent[1];
}

double kmeans_centre_work(const thrum_buffer *b, int count, const void *arg)
{
    (void)arg;
    return (double)b[0].extent[0] * (double)b[0].extent[1] * count;
}
