/* SPDX-License-Identifier: MIT
 *
 * thrum life: the game of life in a cube of cells, by blocks.
 */
#include "kernel.h"

#include "common/app.h"
#include "common/random.h"
#include "common/tiles.h"
#include "verbs.h"

#include "tools/common.h"

#include <stdlib.h>
#include <string.h>

static const struct app_about about = {
    "life",
    "The game of life in three dimensions, on a torus: a cube of n x n x n cells whose opposite sides touch, cut into\n"
    "blocks. In each step a block reads the faces of its 26 neighbours and writes its own for the next step; a flow\n"
    "orders these tasks by what they touch, without a barrier between steps. The result is compared, cell\n"
    "by cell, with that of a plain loop.\n"};

struct block {
    size_t from[3], extent[3];
    uint8_t *cells;
    uint8_t *faces[2][LIFE_FACES]; /* before and after a step, in turns */
    thrum_data *cells_data, *faces_data[2][LIFE_FACES];
};

struct life {
    struct app_setup setup;
    uint64_t n, side, steps, density;
    const char *rule_text;
    struct life_rule rule;
    thrum_codelet codelet;
    size_t count; /* blocks each way */
    struct block *blocks;
    uint8_t *memory; /* cells and faces of all blocks */
    thrum_data *room;
};

/* ---- Blocks ------------------------------------------------------------------------------------------------------- */

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

static bool allocate(struct life *life)
{
    size_t n = life->n, side = life->side, count = (n + side - 1) / side;
    life->count = count;
    life->blocks = calloc(count * count * count, sizeof *life->blocks);
    life->memory = malloc(n * n * n + 12 * n * n * count);
    if (!life->blocks || !life->memory)
        return false;
    uint8_t *memory = life->memory;
    for (size_t i = 0; i < count * count * count; i++) {
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

/* Whether the cell lives in the beginning. */
static uint8_t first_cell(const struct life *life, size_t x, size_t y, size_t z)
{
    return app_bits(life->setup.seed, x + y * life->n, z) % 100 < life->density;
}

static void fill_block(const struct life *life, struct block *b)
{
    uint8_t *cell = b->cells;
    for (size_t z = 0; z < b->extent[2]; z++)
        for (size_t y = 0; y < b->extent[1]; y++)
            for (size_t x = 0; x < b->extent[0]; x++)
                *cell++ = first_cell(life, b->from[0] + x, b->from[1] + y, b->from[2] + z);
    const size_t step[3] = {1, b->extent[0], b->extent[0] * b->extent[1]};
    for (int face = 0; face < LIFE_FACES; face++)
        life_write_face(b->cells, b->extent, step, face, b->faces[0][face], b->extent[face < 2]);
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

static int prepare(void *self, thrum_executor *ex)
{
    struct life *life = self;
    size_t count = life->count * life->count * life->count, room = (life->side < life->n ? life->side : life->n) + 2;
    int err = 0;
    life->room = thrum_data_block(ex, NULL, 0, 0, room, room, room, 1);
    for (size_t i = 0; i < count && !err; i++) {
        if (!life->setup.timing)
            fill_block(life, &life->blocks[i]);
        err = register_block(&life->blocks[i], ex);
    }
    return life->room ? err : THRUM_ENOMEM;
}

static int home(void *self, bool failed)
{
    struct life *life = self;
    int first = app_unregister_all(&life->room, 1, true);
    for (size_t i = 0; i < life->count * life->count * life->count; i++) {
        struct block *b = &life->blocks[i];
        int err = app_unregister_all(&b->cells_data, 1, failed);
        first = first ? first : err;
        err = app_unregister_all(&b->faces_data[0][0], 2 * LIFE_FACES, true); /* the cells are all that is wanted */
        first = first ? first : err;
    }
    return first;
}

/* ---- The algorithm ------------------------------------------------------------------------------------------------ */

static void insert_block(const struct life *life, thrum_flow *flow, size_t number, uint64_t step)
{
    size_t count = life->count, x = number % count, y = number / count % count, z = number / count / count;
    const struct block *b = &life->blocks[number];
    thrum_item items[LIFE_ACCESSES + 2];
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
    items[LIFE_ACCESSES + 1] = THRUM_PRIORITY(app_setup_steals(&life->setup) ? 0 : (int)(life->steps - step));
    thrum_insert_items(flow, &life->codelet, items, LIFE_ACCESSES + 2);
}

static int run(void *self, thrum_executor *ex)
{
    const struct life *life = self;
    thrum_flow *flow = app_setup_flow(&life->setup, ex);
    if (!flow)
        return THRUM_ENOMEM;
    for (uint64_t step = 0; step < life->steps; step++)
        for (size_t i = 0; i < life->count * life->count * life->count; i++)
            insert_block(life, flow, i, step);
    return thrum_flow_free(flow); /* waits; and a flow keeps its first error */
}

/* ---- The check: a plain loop over all cells ----------------------------------------------------------------------- */

static unsigned count_around(const uint8_t *cells, size_t n, size_t x, size_t y, size_t z)
{
    const size_t xs[3] = {(x + n - 1) % n, x, (x + 1) % n}, ys[3] = {(y + n - 1) % n, y, (y + 1) % n};
    const size_t zs[3] = {(z + n - 1) % n, z, (z + 1) % n};
    unsigned sum = 0;
    for (int k = 0; k < 3; k++)
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 3; i++)
                sum += cells[xs[i] + (ys[j] + zs[k] * n) * n];
    return sum - cells[x + (y + z * n) * n];
}

static void plain_step(const struct life *life, const uint8_t *from, uint8_t *to)
{
    size_t n = life->n;
    for (size_t z = 0; z < n; z++)
        for (size_t y = 0; y < n; y++)
            for (size_t x = 0; x < n; x++) {
                unsigned around = count_around(from, n, x, y, z);
                const struct life_rule *rule = &life->rule;
                size_t at = x + (y + z * n) * n;
                to[at] = from[at] ? around >= rule->stay_least && around <= rule->stay_most
                                  : around >= rule->born_least && around <= rule->born_most;
            }
}

/* How many cells of the block are not as they should be. */
static size_t count_wrong(const struct life *life, const struct block *b, const uint8_t *right)
{
    size_t wrong = 0, n = life->n;
    const uint8_t *cell = b->cells;
    for (size_t z = 0; z < b->extent[2]; z++)
        for (size_t y = 0; y < b->extent[1]; y++)
            for (size_t x = 0; x < b->extent[0]; x++)
                wrong += *cell++ != right[b->from[0] + x + (b->from[1] + y + (b->from[2] + z) * n) * n];
    return wrong;
}

static void check(void *self, struct app_check *check)
{
    const struct life *life = self;
    size_t n = life->n, cells = n * n * n, wrong = 0, alive = 0;
    uint8_t *now = malloc(cells), *next = malloc(cells);
    if (!now || !next) {
        snprintf(check->text, sizeof check->text, "no memory to check it");
        free(now);
        free(next);
        return;
    }
    for (size_t i = 0; i < cells; i++)
        now[i] = first_cell(life, i % n, i / n % n, i / n / n);
    for (uint64_t step = 0; step < life->steps; step++) {
        plain_step(life, now, next);
        uint8_t *swap = now;
        now = next;
        next = swap;
    }
    for (size_t i = 0; i < life->count * life->count * life->count; i++)
        wrong += count_wrong(life, &life->blocks[i], now);
    for (size_t i = 0; i < cells; i++)
        alive += now[i];
    check->residual = (double)wrong;
    check->good = wrong == 0;
    snprintf(check->text, sizeof check->text, "%zu of %zu cells differ from a plain loop's; %zu live", wrong, cells,
             alive);
    free(now);
    free(next);
}

/* ---- The verb ----------------------------------------------------------------------------------------------------- */

static double amount(const void *self)
{
    const struct life *life = self;
    double n = (double)life->n;
    return n * n * n * (double)life->steps;
}

static int read_rule(struct life *life)
{
    unsigned r[4];
    int end = 0;
    const char *text = life->rule_text;
    bool good = (sscanf(text, "%1u%1u%1u%1u%n", &r[0], &r[1], &r[2], &r[3], &end) == 4 && !text[end]) ||
                (sscanf(text, "%2u,%2u,%2u,%2u%n", &r[0], &r[1], &r[2], &r[3], &end) == 4 && !text[end]);
    if (!good || r[0] > r[1] || r[2] > r[3] || r[1] > LIFE_NEIGHBOURS || r[3] > LIFE_NEIGHBOURS)
        return tool_misuse(
            about.verb,
            "--rule is '%s'; it must be four digits or numbers up to 26 with commas between, such as 4555 "
            "or 4,5,5,5: least and most of neighbours to go on living, and to begin.",
            text);
    life->rule = (struct life_rule){(uint8_t)r[0], (uint8_t)r[1], (uint8_t)r[2], (uint8_t)r[3]};
    return TOOL_GO_ON;
}

static int measure(struct life *life)
{
    struct app_fact facts[] = {{"n", (double)life->n},
                               {"block", (double)life->side},
                               {"steps", (double)life->steps},
                               {"density", (double)life->density},
                               {"tasks_inserted", 0}};
    life->codelet = app_setup_codelet(&life->setup, &life_codelet, true);
    bool there = allocate(life);
    facts[4].value = (double)(life->count * life->count * life->count * life->steps);
    int code = !there ? tool_fail(about.verb, "no memory for %zu cells each way.", (size_t)life->n)
                      : app_measure(&(struct app){.verb = about.verb,
                                                  .setup = &life->setup,
                                                  .self = life,
                                                  .facts = facts,
                                                  .fact_count = 5,
                                                  .rate = "cells/s",
                                                  .rate_key = "cells_per_second",
                                                  .amount = amount,
                                                  .tasks = (uint64_t)facts[4].value,
                                                  .prepare = prepare,
                                                  .run = run,
                                                  .home = home,
                                                  .check = check});
    free(life->blocks);
    free(life->memory);
    return code;
}

int thrum_cmd_life(int argc, char **argv)
{
    struct life life = {0};
    struct app_option options[6 + APP_SETUP_OPTIONS] = {
        {.kind = APP_TITLE, .help = "the problem"},
        {APP_COUNT, "--n", "COUNT", "128", "cells each way", &life.n, 1, 1 << 13, NULL},
        {APP_COUNT, "--block", "COUNT", "32", "cells of a block each way", &life.side, 1, 1 << 10, NULL},
        {APP_COUNT, "--steps", "COUNT", "20", "how many", &life.steps, 1, 1 << 30, NULL},
        {APP_TEXT, "--rule", "RULE", "4555",
         "least and most of 26 neighbours with which a cell goes on living, and with which\none begins to live",
         &life.rule_text, 0, 0, NULL},
        {APP_COUNT, "--density", "PERCENT", "25", "cells that live in the beginning", &life.density, 0, 100, NULL}};
    app_setup_options(&life.setup, options + 6);
    int code = app_parse(&about, options, 6 + APP_SETUP_OPTIONS, argc, argv);
    if (code == TOOL_GO_ON)
        code = app_setup_check(about.verb, &life.setup);
    if (code == TOOL_GO_ON)
        code = read_rule(&life);
    return code == TOOL_GO_ON ? measure(&life) : code;
}
