/* SPDX-License-Identifier: MIT
 *
 * thrum life: the game of life in a cube of cells, by blocks.
 */
#include "life.h"

#include "common/random.h"
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

/* ---- Cells ------------------------------------------------------------------------------------------------------- */

enum { CELLS_OF_BITS = 4 };

/* What decides about a cell and those beside it in a row, and whether the cell lives in the beginning. */
static uint64_t first_bits(const struct life *life, size_t x, size_t y, size_t z)
{
    return app_bits(life->setup.seed, x / CELLS_OF_BITS + y * life->n, z);
}

static uint8_t first_cell(const struct life *life, uint64_t bits, size_t x)
{
    return (bits >> x % CELLS_OF_BITS * 16 & 0xffff) * 100 >> 16 < life->density;
}

static void fill_row(const struct life *life, const struct block *b, size_t y, size_t z, uint8_t *cells)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < b->extent[0]; i++) {
        size_t x = b->from[0] + i;
        if (i == 0 || x % CELLS_OF_BITS == 0)
            bits = first_bits(life, x, b->from[1] + y, b->from[2] + z);
        cells[i] = first_cell(life, bits, x);
    }
}

static void fill_block(const struct life *life, struct block *b)
{
    uint8_t *row = b->cells;
    for (size_t z = 0; z < b->extent[2]; z++)
        for (size_t y = 0; y < b->extent[1]; y++, row += b->extent[0])
            fill_row(life, b, y, z, row);
    const size_t step[3] = {1, b->extent[0], b->extent[0] * b->extent[1]};
    for (int face = 0; face < LIFE_FACES; face++)
        life_write_face(b->cells, b->extent, step, face, b->faces[0][face], b->extent[face < 2]);
}

static int prepare(void *self, thrum_executor *ex)
{
    struct life *life = self;
    for (size_t i = 0; !life->setup.timing && i < life_blocks(life); i++)
        fill_block(life, &life->blocks[i]);
    return life_register(life, ex);
}

static int home(void *self, bool failed)
{
    return life_unregister(self, failed);
}

/* ---- Running ---------------------------------------------------------------------------------------------------- */

static int run(void *self, thrum_executor *ex)
{
    const struct life *life = self;
    thrum_flow *flow = app_setup_flow(&life->setup, ex);
    if (!flow)
        return THRUM_ENOMEM;
    life_insert(life, flow);
    return thrum_flow_free(flow); /* waits; and a flow keeps its first error */
}

/* ---- The check: a plain loop over all cells ---------------------------------------------------------------------- */

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
        now[i] = first_cell(life, first_bits(life, i % n, i / n % n, i / n / n), i % n);
    for (uint64_t step = 0; step < life->steps; step++) {
        plain_step(life, now, next);
        uint8_t *swap = now;
        now = next;
        next = swap;
    }
    for (size_t i = 0; i < life_blocks(life); i++)
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

/* ---- The verb ---------------------------------------------------------------------------------------------------- */

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
    bool there = life_allocate(life, false);
    life->steals = app_setup_steals(&life->setup);
    facts[4].value = (double)(life_blocks(life) * life->steps);
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
    life_release(life);
    return code;
}

int thrum_cmd_life(int argc, char **argv)
{
    struct life life = {0};
    struct app_option options[7 + APP_SETUP_OPTIONS] = {
        {.kind = APP_TITLE, .help = "the problem"},
        {APP_COUNT, "--n", "COUNT", "128", "cells each way", &life.n, 1, 1 << 13, NULL},
        {APP_COUNT, "--block", "COUNT", "32", "cells of a block each way", &life.side, 1, 1 << 10, NULL},
        {APP_COUNT, "--steps", "COUNT", "20", "how many", &life.steps, 1, 1 << 30, NULL},
        {APP_TEXT, "--rule", "RULE", "4555",
         "least and most of 26 neighbours with which a cell goes on living, and with which\none begins to live",
         &life.rule_text, 0, 0, NULL},
        {APP_COUNT, "--density", "PERCENT", "25", "cells that live in the beginning", &life.density, 0, 100, NULL},
        {APP_WORD, "--kernels", "WHICH", NULL,
         "do not play: measure the kernel, and print JSON: all sizes of cubes in a block, thoroughly or quickly",
         &life.kernels, 0, 0, "all|quick"}};
    app_setup_options(&life.setup, options + 7);
    int code = app_parse(&about, options, 7 + APP_SETUP_OPTIONS, argc, argv);
    if (code == TOOL_GO_ON)
        code = app_setup_check(about.verb, &life.setup);
    if (code == TOOL_GO_ON)
        code = read_rule(&life);
    if (code != TOOL_GO_ON)
        return code;
    return life.kernels ? life_probe(&life) : measure(&life);
}
