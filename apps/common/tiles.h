/* SPDX-License-Identifier: MIT
 *
 * A square matrix cut into tiles. Each tile is contiguous, by columns, and has a handle of its own, so that tiles are
 * what tasks read and write and what moves between memories. The last tiles are smaller where it does not come out
 * even.
 */
#ifndef THRUM_APPS_TILES_H
#define THRUM_APPS_TILES_H

#include <thrum/thrum.h>

#include <stdbool.h>
#include <stddef.h>

struct app_tiles {
    size_t n, tile, count; /* of the matrix; of a tile; tiles each way */
    bool lower;            /* only tiles on and below the diagonal are there */
    double *memory;        /* all of them */
    size_t untouched;      /* bytes of addresses that nobody touches (memory.h); 0: it is memory */
    double **at;           /* [i + j * count]: tile in row i and column j of tiles; NULL: not there */
    thrum_data **data;     /* their handles, while they are registered */
};

/* False without memory. `untouched`: the tiles have addresses, but nobody may read or write them. */
bool app_tiles_new(struct app_tiles *tiles, size_t n, size_t tile, bool lower, bool untouched);
void app_tiles_free(struct app_tiles *tiles);

static inline size_t app_tile_size(const struct app_tiles *tiles, size_t i)
{
    return i + 1 < tiles->count ? tiles->tile : tiles->n - i * tiles->tile;
}

static inline double *app_tile(const struct app_tiles *tiles, size_t i, size_t j)
{
    return tiles->at[i + j * tiles->count];
}

static inline thrum_data *app_tile_data(const struct app_tiles *tiles, size_t i, size_t j)
{
    return tiles->data[i + j * tiles->count];
}

/* element(ctx, i, j) for every element that is there. */
void app_tiles_fill(struct app_tiles *tiles, double (*element)(const void *ctx, size_t i, size_t j), const void *ctx);

/* Registers all tiles, named "A(i,j)" with `name` for A; and the reverse (`discard`: without bringing them home). 0 or
 * an error. */
int app_tiles_register(struct app_tiles *tiles, thrum_executor *ex, const char *name);
int app_tiles_unregister(struct app_tiles *tiles, bool discard);

/* All handles of a list, as far as they are there; they are NULL afterwards. The first error, after all have been
 * tried. */
int app_unregister_all(thrum_data **list, size_t count, bool discard);

/* What BLAS and LAPACK want to know of a tile that a kernel is given. */
static inline int app_rows(const thrum_buffer *b)
{
    return (int)b->extent[0];
}

static inline int app_columns(const thrum_buffer *b)
{
    return (int)b->extent[1];
}

static inline int app_ld(const thrum_buffer *b)
{
    return (int)b->stride[1];
}

#endif
