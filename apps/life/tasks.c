/* SPDX-License-Identifier: MIT
 *
 * The tasks of life by blocks: their data, their order, and how much work they are.
 */
#include "life.h"

#include "common/memory.h"
#include "common/tiles.h"

#include <stdlib.h>

/* ---- Neighbours -------------------------------------------------------------------------------------------------- */

struct life_direction life_direction(int number)
{
    int place = number < LIFE_NEIGHBOURS / 2 ? number : number + 1; /* of 27, without the block itself */
    return (struct life_direction){{place % 3 - 1, place / 3 % 3 - 1, place / 9 - 1}};
}

int life_face_towards(struct life_direction direction)
{
    for (int axis = 0; axis < 3; axis++)
        if (direction.step[axis])
            return 2 * axis + (direction.step[axis] < 0); /* to the right is its first layer, to the left its last */
    return 0;
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

static struct block *block_at(const struct life *life, size_t x, size_t y, size_t z)
{
    size_t count = life->count;
    return &life->blocks[x % count + (y % count + z % count * count) * count];
}

/* Cells and faces of a block begin at `memory`; returns where they end. */
static uint8_t *place_block(struct block *b, uint8_t *memory)
{
    b->cells = memory;
    memory += b->extent[0] * b->extent[1] * b->extent[2];
    for (int turn = 0; turn < 2; turn++)
        for (int face = 0; face < LIFE_FACES; face++) {
            b->faces[turn][face] = memory;
            memory += b->extent[0] * b->extent[1] * b->extent[2] / b->extent[face / 2];
        }
    return memory;
}

bool life_allocate(struct life *life, bool untouched)
{
    size_t n = life->n, side = life->side, count = (n + side - 1) / side;
    life->count = count;
    life->blocks = calloc(count * count * count, sizeof *life->blocks);
    size_t bytes = n * n * n + 12 * n * n * count;
    life->untouched = untouched ? bytes : 0;
    life->memory = untouched ? app_addresses(bytes) : malloc(bytes);
    if (!life->blocks || !life->memory)
        return false;
    uint8_t *memory = life->memory;
    for (size_t i = 0; i < life_blocks(life); i++) {
        const size_t at[3] = {i % count, i / count % count, i / count / count};
        struct block *b = &life->blocks[i];
        for (int axis = 0; axis < 3; axis++) {
            b->from[axis] = at[axis] * side;
            b->extent[axis] = at[axis] + 1 < count ? side : n - b->from[axis];
        }
        memory = place_block(b, memory);
    }
    return true;
}

void life_release(struct life *life)
{
    free(life->blocks);
    if (life->untouched)
        app_addresses_free(life->memory, life->untouched);
    else
        free(life->memory);
}

static int register_block(struct block *b, thrum_executor *ex)
{
    const size_t *e = b->extent;
    const size_t faces[3][2] = {{e[1], e[2]}, {e[0], e[2]}, {e[0], e[1]}};
    b->cells_data = thrum_data_block(ex, b->cells, e[0], e[0] * e[1], e[0], e[1], e[2], 1);
    if (!b->cells_data)
        return THRUM_ENOMEM;
    for (int turn = 0; turn < 2; turn++)
        for (int face = 0; face < LIFE_FACES; face++) {
            const size_t *extent = faces[face / 2];
            thrum_data **data = &b->faces_data[turn][face];
            *data = thrum_data_matrix(ex, b->faces[turn][face], extent[0], extent[0], extent[1], 1);
            if (!*data)
                return THRUM_ENOMEM;
        }
    return 0;
}

int life_register(struct life *life, thrum_executor *ex)
{
    size_t room = (life->side < life->n ? life->side : life->n) + 2;
    int err = 0;
    life->room = thrum_data_block(ex, NULL, 0, 0, room, room, LIFE_LAYERS, 1);
    for (size_t i = 0; i < life_blocks(life) && !err; i++)
        err = register_block(&life->blocks[i], ex);
    return life->room ? err : THRUM_ENOMEM;
}

int life_unregister(struct life *life, bool discard)
{
    int first = app_unregister_all(&life->room, 1, true);
    for (size_t i = 0; i < life_blocks(life); i++) {
        struct block *b = &life->blocks[i];
        int err = app_unregister_all(&b->cells_data, 1, discard);
        first = first ? first : err;
        err = app_unregister_all(&b->faces_data[0][0], 2 * LIFE_FACES, true); /* the cells are all that is wanted */
        first = first ? first : err;
    }
    return first;
}

/* ---- Order and work ---------------------------------------------------------------------------------------------- */

static void insert_block(const struct life *life, thrum_flow *flow, size_t number, uint64_t step)
{
    size_t count = life->count, x = number % count, y = number / count % count, z = number / count / count;
    const struct block *b = &life->blocks[number];
    thrum_item items[LIFE_ACCESSES + 3];
    items[LIFE_CELLS] = THRUM_RW(b->cells_data);
    items[LIFE_ROOM] = THRUM_SCRATCH(life->room);
    for (int face = 0; face < LIFE_FACES; face++)
        items[LIFE_NEW_FACES + face] = THRUM_W(b->faces_data[(step + 1) % 2][face]);
    for (int i = 0; i < LIFE_NEIGHBOURS; i++) {
        struct life_direction d = life_direction(i);
        const struct block *other =
            block_at(life, x + count + (size_t)d.step[0], y + count + (size_t)d.step[1], z + count + (size_t)d.step[2]);
        items[LIFE_OLD_FACES + i] = THRUM_R(other->faces_data[step % 2][life_face_towards(d)]);
    }
    items[LIFE_ACCESSES] = THRUM_ARG(life->rule);
    items[LIFE_ACCESSES + 1] = THRUM_PRIORITY(life->steals ? 0 : (int)(life->steps - step));
    items[LIFE_ACCESSES + 2] = THRUM_BUCKET(life->buckets ? 0 : THRUM_NO_BUCKET);
    thrum_insert_items(flow, &life->codelet, items, LIFE_ACCESSES + 3);
}

void life_insert(const struct life *life, thrum_flow *flow)
{
    for (uint64_t step = 0; step < life->steps; step++)
        for (size_t i = 0; i < life_blocks(life); i++)
            insert_block(life, flow, i, step);
}

double life_work(const thrum_buffer *b, int count, const void *arg)
{
    const size_t *extent = b[LIFE_CELLS].extent;
    (void)count, (void)arg;
    return (double)extent[0] * (double)extent[1] * (double)extent[2];
}
