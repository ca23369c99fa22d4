/* SPDX-License-Identifier: MIT */
#include "tiles.h"

#include "memory.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_there(const struct app_tiles *tiles, size_t i, size_t j)
{
    return !tiles->lower || i >= j;
}

/* Gives each tile its place and returns how many doubles that takes. */
static size_t place_tiles(struct app_tiles *tiles)
{
    size_t used = 0;
    for (size_t j = 0; j < tiles->count; j++)
        for (size_t i = 0; i < tiles->count; i++)
            if (is_there(tiles, i, j)) {
                if (tiles->memory)
                    tiles->at[i + j * tiles->count] = tiles->memory + used;
                used += (app_tile_size(tiles, i) * app_tile_size(tiles, j) + 7) / 8 * 8; /* whole cache lines */
            }
    return used;
}

bool app_tiles_new(struct app_tiles *tiles, size_t n, size_t tile, bool lower, bool untouched)
{
    size_t count = (n + tile - 1) / tile;
    *tiles = (struct app_tiles){.n = n, .tile = tile, .count = count, .lower = lower};
    tiles->at = calloc(count * count, sizeof *tiles->at);
    tiles->data = calloc(count * count, sizeof *tiles->data);
    size_t bytes = place_tiles(tiles) * sizeof(double);
    tiles->untouched = untouched ? bytes : 0;
    tiles->memory = untouched ? app_addresses(bytes) : aligned_alloc(64, bytes);
    if (!tiles->at || !tiles->data || !tiles->memory) {
        app_tiles_free(tiles);
        return false;
    }
    place_tiles(tiles);
    return true;
}

void app_tiles_free(struct app_tiles *tiles)
{
    if (tiles->untouched)
        app_addresses_free(tiles->memory, tiles->untouched);
    else
        free(tiles->memory);
    free(tiles->at);
    free(tiles->data);
    *tiles = (struct app_tiles){0};
}

void app_tiles_fill(struct app_tiles *tiles, double (*element)(const void *ctx, size_t i, size_t j), const void *ctx)
{
    for (size_t tj = 0; tj < tiles->count; tj++)
        for (size_t ti = 0; ti < tiles->count; ti++) {
            double *tile = app_tile(tiles, ti, tj);
            size_t rows = app_tile_size(tiles, ti), columns = tile ? app_tile_size(tiles, tj) : 0;
            for (size_t j = 0; j < columns; j++)
                for (size_t i = 0; i < rows; i++)
                    tile[i + j * rows] = element(ctx, ti * tiles->tile + i, tj * tiles->tile + j);
        }
}

int app_tiles_register(struct app_tiles *tiles, thrum_executor *ex, const char *name)
{
    char text[64];
    for (size_t j = 0; j < tiles->count; j++)
        for (size_t i = 0; i < tiles->count; i++) {
            double *tile = app_tile(tiles, i, j);
            if (!tile)
                continue;
            size_t rows = app_tile_size(tiles, i);
            thrum_data *data = thrum_data_matrix(ex, tile, rows, rows, app_tile_size(tiles, j), sizeof(double));
            tiles->data[i + j * tiles->count] = data;
            snprintf(text, sizeof text, "%s(%zu,%zu)", name, i, j);
            if (!data || thrum_data_set_name(data, text) != 0)
                return THRUM_ENOMEM;
        }
    return 0;
}

int app_tiles_unregister(struct app_tiles *tiles, bool discard)
{
    return app_unregister_all(tiles->data, tiles->count * tiles->count, discard);
}

int app_unregister_all(thrum_data **list, size_t count, bool discard)
{
    int first = 0;
    for (size_t i = 0; list && i < count; i++) {
        int err = discard ? thrum_data_discard(list[i]) : thrum_data_unregister(list[i]);
        first = first ? first : err;
        list[i] = NULL;
    }
    return first;
}
