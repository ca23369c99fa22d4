/* SPDX-License-Identifier: MIT */
#include "kernel.h"

#include "common/app.h"

#include <string.h>

/* Cells a second, for models: a core of a processor, and a device. */
static const double rate_cpu = 0.5e9, rate_emu = 10e9;

/* ---- Faces ------------------------------------------------------------------------------------------------------- */

static size_t other_axis(int axis, int number)
{
    static const size_t others[3][2] = {{1, 2}, {0, 2}, {0, 1}};
    return others[axis][number];
}

void life_write_face(const uint8_t *cells, const size_t extent[3], const size_t step[3], int face, uint8_t *to,
                     size_t ld)
{
    int axis = face / 2;
    size_t u = other_axis(axis, 0), v = other_axis(axis, 1);
    const uint8_t *from = cells + (face % 2 ? (extent[axis] - 1) * step[axis] : 0);
    for (size_t j = 0; j < extent[v]; j++)
        for (size_t i = 0; i < extent[u]; i++)
            to[i + j * ld] = from[i * step[u] + j * step[v]];
}

/* Where a direction's cells lie, on one axis: in the room, which has a rim, and in the neighbour. */
static void range_of(int step, size_t extent, size_t neighbours_extent, size_t *to, size_t *from, size_t *count)
{
    *to = step < 0 ? 0 : step > 0 ? extent + 1 : 1;
    *from = step < 0 ? neighbours_extent - 1 : 0;
    *count = step ? 1 : extent;
}

/* ---- The room: three layers of the block at a time, with what surrounds them ------------------------------------- */

/* Layers, and the direction z of neighbours, count from the one below the block: 0, then those of the block, then one
 * above. */
static size_t layer_size(const size_t extent[3])
{
    return (extent[0] + 2) * (extent[1] + 2);
}

static uint8_t *layer_at(uint8_t *room, const size_t extent[3], size_t z)
{
    return room + z % LIFE_LAYERS * layer_size(extent);
}

/* What lies above or below the block: the middle of that layer. */
static void fill_middle(const thrum_buffer *face, const size_t extent[3], uint8_t *layer)
{
    const uint8_t *from = face->ptr;
    for (size_t y = 0; y < extent[1]; y++)
        memcpy(layer + (y + 1) * (extent[0] + 2) + 1, from + y * face->stride[1], extent[0]);
}

/* What lies beside the block, in a layer that this direction touches: a line of x or of y, or one cell. It is a line of
 * the neighbour's face, whose second axis is z. */
static void fill_edge(const thrum_buffer *face, struct life_direction direction, const size_t extent[3], size_t z,
                      uint8_t *layer)
{
    int axis = life_face_towards(direction) / 2;
    size_t line = extent[0] + 2, step[2] = {1, line}, u = other_axis(axis, 0), to_u, from_u, count_u, to_z, from_z,
           count_z;
    range_of(direction.step[u], extent[u], face->extent[0], &to_u, &from_u, &count_u);
    range_of(direction.step[2], extent[2], face->extent[1], &to_z, &from_z, &count_z);
    uint8_t *to = layer + (direction.step[axis] < 0 ? 0 : extent[axis] + 1) * step[axis] + to_u * step[u];
    const uint8_t *from = (const uint8_t *)face->ptr + from_u + (from_z + z - to_z) * face->stride[1];
    for (size_t i = 0; i < count_u; i++)
        to[i * step[u]] = from[i];
}

static bool touches(struct life_direction direction, const size_t extent[3], size_t z)
{
    return direction.step[2] == (z == 0 ? -1 : z > extent[2] ? 1 : 0);
}

/* A layer of the block becomes one of the room, before the block's own has changed. */
static void fill_layer(const thrum_buffer *b, const size_t extent[3], size_t z, uint8_t *layer)
{
    const size_t *step = b[LIFE_CELLS].stride;
    for (int i = 0; i < LIFE_NEIGHBOURS; i++) {
        struct life_direction direction = life_direction(i);
        if (!touches(direction, extent, z))
            continue;
        if (direction.step[0] || direction.step[1])
            fill_edge(&b[LIFE_OLD_FACES + i], direction, extent, z, layer);
        else
            fill_middle(&b[LIFE_OLD_FACES + i], extent, layer);
    }
    for (size_t y = 0; y < extent[1] && z > 0 && z <= extent[2]; y++)
        memcpy(layer + (y + 1) * (extent[0] + 2) + 1,
               (const uint8_t *)b[LIFE_CELLS].ptr + (z - 1) * step[2] + y * step[1], extent[0]);
}

/* ---- A step ------------------------------------------------------------------------------------------------------ */

enum { LONGEST_LINE = 1024 + 2 };

/* How many live in the nine lines around and with that at `middle` of the layer between two others, at each x. */
static void add_lines(const uint8_t *const layers[LIFE_LAYERS], size_t middle, size_t line, uint8_t *sums)
{
    memset(sums, 0, line);
    for (size_t z = 0; z < LIFE_LAYERS; z++)
        for (size_t y = 0; y < 3; y++) {
            const uint8_t *other = layers[z] + middle + y * line - line;
            for (size_t x = 0; x < line; x++)
                sums[x] = (uint8_t)(sums[x] + other[x]);
        }
}

static void step_line(const uint8_t *middle, const uint8_t *sums, struct life_rule rule, size_t count, uint8_t *cells)
{
    for (size_t x = 0; x < count; x++) {
        uint8_t lives = middle[x + 1], around = (uint8_t)(sums[x] + sums[x + 1] + sums[x + 2] - lives);
        bool stays = around >= rule.stay_least && around <= rule.stay_most;
        bool born = around >= rule.born_least && around <= rule.born_most;
        cells[x] = lives ? stays : born;
    }
}

static void step_layer(const uint8_t *const layers[LIFE_LAYERS], struct life_rule rule, const size_t extent[3],
                       size_t step, uint8_t *cells)
{
    const size_t line = extent[0] + 2;
    uint8_t sums[LONGEST_LINE];
    for (size_t y = 0; y < extent[1]; y++) {
        add_lines(layers, (y + 1) * line, line, sums);
        step_line(layers[1] + (y + 1) * line, sums, rule, extent[0], cells + y * step);
    }
}

static void life_step(const thrum_buffer *b, const void *arg)
{
    const size_t *extent = b[LIFE_CELLS].extent, *step = b[LIFE_CELLS].stride;
    uint8_t *cells = b[LIFE_CELLS].ptr, *room = b[LIFE_ROOM].ptr;
    app_count_task();
    fill_layer(b, extent, 0, layer_at(room, extent, 0));
    fill_layer(b, extent, 1, layer_at(room, extent, 1));
    for (size_t z = 0; z < extent[2]; z++) {
        fill_layer(b, extent, z + 2, layer_at(room, extent, z + 2));
        const uint8_t *const layers[LIFE_LAYERS] = {layer_at(room, extent, z), layer_at(room, extent, z + 1),
                                                    layer_at(room, extent, z + 2)};
        step_layer(layers, *(const struct life_rule *)arg, extent, step[1], cells + z * step[2]);
    }
    for (int face = 0; face < LIFE_FACES; face++)
        life_write_face(cells, extent, step, face, b[LIFE_NEW_FACES + face].ptr, b[LIFE_NEW_FACES + face].stride[1]);
}

static double life_seconds(const thrum_place *place, const thrum_buffer *b, int count, const void *arg)
{
    return app_model_seconds(place, life_work(b, count, arg), rate_cpu, rate_emu);
}

const thrum_codelet life_codelet = {
    .name = "life-step", .cpu = life_step, .emu = life_step, .seconds = life_seconds, .work = life_work};
