/* SPDX-License-Identifier: MIT
 *
 * The kernel of life on parts of a block, without tasks: cubes that lie somewhere in the memory of a block, and parts
 * of faces. There are many blocks, taken one after the other, and faces are those of other blocks: so neither are in a
 * near cache.
 */
#include "life.h"

#include "common/probe.h"

#include "tools/common.h"

#include <stdlib.h>
#include <string.h>

enum { POOL_BYTES = 128 << 20, NEXT = 7 }; /* neighbours are so many blocks apart */

/* As large as the cube of an application. Faces that are read are written by nobody. */
struct pool {
    struct life_rule rule;
    uint8_t *cells, *faces;
    size_t blocks, block, face; /* how many, bytes of one, and of one face; a block has faces before and after a step */
    size_t room;                /* bytes */
};

struct part {
    const struct pool *pool;
    size_t at, part; /* the next cube's block, and which part of it */
    uint8_t room[];
};

static bool pool_fill(struct pool *pool, const struct life *life)
{
    size_t side = life->side;
    *pool = (struct pool){.rule = life->rule, .block = side * side * side, .face = side * side};
    pool->blocks = POOL_BYTES / pool->block + 1;
    pool->room = (side + 2) * (side + 2) * LIFE_LAYERS;
    size_t faces = 2 * LIFE_FACES * pool->face * pool->blocks;
    pool->cells = malloc(pool->blocks * pool->block);
    pool->faces = malloc(faces);
    if (!pool->cells || !pool->faces)
        return false;
    for (size_t i = 0; i < pool->blocks * pool->block; i++)
        pool->cells[i] = i % 101 < life->density;
    for (size_t i = 0; i < faces; i++)
        pool->faces[i] = i % 101 < life->density;
    return true;
}

static void *part_new(void *self)
{
    const struct pool *pool = self;
    struct part *part = calloc(1, sizeof *part + pool->room);
    if (part)
        part->pool = pool;
    return part;
}

/* The part of a face that belongs to the cube. */
static uint8_t *face_of(const struct part *part, size_t block, int number, size_t bytes)
{
    const struct pool *pool = part->pool;
    return pool->faces + (block % pool->blocks * 2 * LIFE_FACES + (size_t)number) * pool->face +
           part->part % (pool->face / bytes) * bytes;
}

static thrum_buffer buffer_of(void *ptr, const size_t extent[3], const size_t stride[3], uint32_t dims)
{
    return (thrum_buffer){.ptr = ptr, .elem = 1, .extent = extent, .stride = stride, .dims = dims};
}

static double call(void *state, const struct app_probe_case *it)
{
    struct part *part = state;
    const struct pool *pool = part->pool;
    const size_t e = (size_t)it->extent[0], cube = e * e * e, extent[3] = {e, e, e}, stride[3] = {1, e, e * e};
    thrum_buffer buffers[LIFE_ACCESSES];
    part->at++;
    part->part += part->at >= pool->blocks;
    part->at %= pool->blocks;
    uint8_t *cells = pool->cells + part->at * pool->block + part->part % (pool->block / cube) * cube;
    buffers[LIFE_CELLS] = buffer_of(cells, extent, stride, 3);
    buffers[LIFE_ROOM] = buffer_of(part->room, extent, stride, 3);
    for (int face = 0; face < LIFE_FACES; face++)
        buffers[LIFE_NEW_FACES + face] = buffer_of(face_of(part, part->at, face, e * e), extent, stride, 2);
    for (int i = 0; i < LIFE_NEIGHBOURS; i++) {
        int face = LIFE_FACES + life_face_towards(life_direction(i));
        buffers[LIFE_OLD_FACES + i] =
            buffer_of(face_of(part, part->at + NEXT * (size_t)i, face, e * e), extent, stride, 2);
    }
    double begun = tool_now();
    life_codelet.cpu(buffers, &pool->rule);
    return tool_now() - begun;
}

static struct app_probe_case case_of(int share)
{
    int extent = share > 0 ? share : 1;
    double e = extent, faces = LIFE_FACES + LIFE_NEIGHBOURS;
    return (struct app_probe_case){life_codelet.name,
                                   0,
                                   {extent, extent, extent},
                                   e * e * e,
                                   e * e * e + (e + 2) * (e + 2) * LIFE_LAYERS + faces * e * e,
                                   LIFE_NEIGHBOURS * e * e};
}

int life_probe(struct life *life)
{
    static const int sixteenths[] = {16, 15, 14, 13, 12, 11, 10, 8, 6, 4};
    enum { CASES = sizeof sixteenths / sizeof *sixteenths };
    struct app_probe_case cases[CASES];
    for (int i = 0; i < CASES; i++)
        cases[i] = case_of((int)life->side * sixteenths[i] / 16);
    struct pool pool;
    bool good = pool_fill(&pool, life);
    int code = !good ? tool_fail("life", "no memory to measure its kernel.")
                     : app_probe(&(struct app_probe){.verb = "life",
                                                     .cases = cases,
                                                     .count = CASES,
                                                     .quick = strcmp(life->kernels, "quick") == 0,
                                                     .self = &pool,
                                                     .begin = part_new,
                                                     .end = free,
                                                     .call = call});
    free(pool.cells);
    free(pool.faces);
    return code;
}
