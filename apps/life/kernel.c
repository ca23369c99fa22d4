/* SPDX-License-Identifier: MIT */
#include "kernel.h"

#include "common/app.h"

#include <string.h>

/* Cells a second, for models: a core of a processor, and a device. */
static const double rate_cpu = 0.5e9, rate_emu = 10e9;

/* ---- Faces -------------------------------------------------------------------------------------------------------- */

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

/* Copies what touches the block in this direction from a face of the neighbour to the rim of the room. */
static void fill_rim(const thrum_buffer *face, struct life_direction direction, const size_t extent[3], uint8_t *room)
{
    const size_t line = extent[0] + 2, step[3] = {1, line, line * (extent[1] + 2)};
    int axis = life_face_towards(direction) / 2;
    size_t u = other_axis(axis, 0), v = other_axis(axis, 1), to_u, to_v, from_u, from_v, count_u, count_v;
    range_of(direction.step[u], extent[u], face->extent[0], &to_u, &from_u, &count_u);
    range_of(direction.step[v], extent[v], face->extent[1], &to_v, &from_v, &count_v);
    uint8_t *to = room + (direction.step[axis] < 0 ? 0 : extent[axis] + 1) * step[axis];
    const uint8_t *from = face->ptr;
    for (size_t j = 0; j < count_v; j++)
        for (size_t i = 0; i < count_u; i++)
            to[(to_u + i) * step[u] + (to_v + j) * step[v]] = from[from_u + i + (from_v + j) * face->stride[1]];
}

/* ---- A step ------------------------------------------------------------------------------------------------------- */

/* The room becomes the block with one layer of its neighbours all around. */
static void fill_room(const thrum_buffer *b, const size_t extent[3], uint8_t *room)
{
    const uint8_t *cells = b[LIFE_CELLS].ptr;
    const size_t *step = b[LIFE_CELLS].stride, line = extent[0] + 2, plane = line * (extent[1] + 2);
    for (size_t z = 0; z < extent[2]; z++)
        for (size_t y = 0; y < extent[1]; y++)
            memcpy(room + (z + 1) * plane + (y + 1) * line + 1, cells + z * step[2] + y * step[1], extent[0]);
    for (int i = 0; i < LIFE_NEIGHBOURS; i++)
        fill_rim(&b[LIFE_OLD_FACES + i], life_direction(i), extent, room);
}

enum { LONGEST_LINE = 1024 + 2 };

/* How many live in the nine lines around and with `line`, at each x. */
static void add_lines(const uint8_t *middle, size_t line, size_t plane, uint8_t *sums)
{
    memset(sums, 0, line);
    for (size_t z = 0; z < 3; z++)
        for (size_t y = 0; y < 3; y++) {
            const uint8_t *other = middle + z * plane + y * line - plane - line;
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

static void life_step(const thrum_buffer *b, const void *arg)
{
    const size_t *extent = b[LIFE_CELLS].extent, *step = b[LIFE_CELLS].stride;
    const size_t line = extent[0] + 2, plane = line * (extent[1] + 2);
    uint8_t *cells = b[LIFE_CELLS].ptr, *room = b[LIFE_ROOM].ptr, sums[LONGEST_LINE];
    app_count_task();
    fill_room(b, extent, room);
    for (size_t z = 0; z < extent[2]; z++)
        for (size_t y = 0; y < extent[1]; y++) {
            const uint8_t *middle = room + (z + 1) * plane + (y + 1) * line;
            add_lines(middle, line, plane, sums);
            step_line(middle, sums, *(const struct life_rule *)arg, extent[0], cells + z * step[2] + y * step[1]);
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
