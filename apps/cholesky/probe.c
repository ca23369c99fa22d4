/* SPDX-License-Identifier: MIT
 *
 * The kernels of Cholesky on blocks of a tile, without tasks. A block is as a tile of its size would be, its columns
 * right behind each other, and it lies somewhere in the memory of a tile. There are many tiles, taken at random: what a
 * kernel needs is in no near cache, as it is where a policy runs tasks in an order that has nothing to do with memory.
 */
#include "cholesky.h"

#include "common/probe.h"
#include "common/random.h"

#include "tools/common.h"

#include <stdlib.h>
#include <string.h>

enum { POOL_BYTES = 64 << 20, MOST_CASES = 96, OPERANDS = 3 };

/* As large as the matrix of an application. */
struct pool {
    double *memory;
    size_t tile, third; /* elements of a tile each way; tiles for each operand */
    uint64_t random;
};

static bool pool_fill(struct pool *pool, const struct cholesky *c)
{
    size_t whole = c->tile * c->tile;
    pool->tile = c->tile;
    pool->third = POOL_BYTES / OPERANDS / (whole * sizeof(double)) + 1;
    pool->memory = malloc(OPERANDS * pool->third * whole * sizeof(double));
    for (size_t i = 0; pool->memory && i < OPERANDS * pool->third * whole; i++)
        pool->memory[i] = (double)(i % 1021) * 1e-6;
    return pool->memory != NULL;
}

static void *begin(void *self)
{
    return self;
}

static void end(void *state)
{
    (void)state;
}

static size_t below(struct pool *pool, size_t count)
{
    return app_bits(7, pool->random++, 0) % count;
}

struct operand {
    size_t extent[2], stride[2];
    double *ptr;
};

/* A block of so many rows and columns in a tile of those for operand `number`. */
static void take_block(struct pool *pool, struct operand *operand, size_t number, size_t rows, size_t columns)
{
    size_t whole = pool->tile * pool->tile, blocks = whole / (rows * columns), tile = below(pool, pool->third);
    *operand = (struct operand){.extent = {rows, columns}, .stride = {1, rows}};
    operand->ptr = pool->memory + (number * pool->third + tile) * whole + below(pool, blocks) * rows * columns;
}

/* Numbers with which potrf and trsm go on without end: a diagonal that outweighs the rest. */
static void set_diagonal(const struct operand *operand)
{
    for (size_t i = 0; i < operand->extent[1]; i++)
        operand->ptr[i * (operand->stride[1] + 1)] = 1;
}

static thrum_buffer buffer_of(const struct operand *operand)
{
    return (thrum_buffer){
        .ptr = operand->ptr, .elem = sizeof(double), .extent = operand->extent, .stride = operand->stride, .dims = 2};
}

/* potrf works on one that has just been written, as it does behind syrk. */
static void fill_block(const struct operand *operand)
{
    for (size_t i = 0; i < operand->extent[0] * operand->extent[1]; i++)
        operand->ptr[i] = 1e-4;
}

static int take_operands(struct pool *pool, const struct app_probe_case *it, struct operand operands[OPERANDS])
{
    size_t m = (size_t)it->extent[0], n = (size_t)it->extent[1], k = (size_t)it->extent[2];
    switch (it->kernel) {
    case CHOLESKY_POTRF:
        take_block(pool, &operands[0], 0, m, m);
        fill_block(&operands[0]);
        set_diagonal(&operands[0]);
        return 1;
    case CHOLESKY_TRSM:
        take_block(pool, &operands[0], 0, n, n);
        set_diagonal(&operands[0]);
        take_block(pool, &operands[1], 1, m, n);
        return 2;
    case CHOLESKY_SYRK:
        take_block(pool, &operands[0], 0, n, k);
        take_block(pool, &operands[1], 1, n, n);
        return 2;
    default:
        take_block(pool, &operands[0], 0, m, k);
        take_block(pool, &operands[1], 1, n, k);
        take_block(pool, &operands[2], 2, m, n);
        return 3;
    }
}

static double call(void *state, const struct app_probe_case *it)
{
    struct operand operands[OPERANDS];
    thrum_buffer buffers[OPERANDS];
    int count = take_operands(state, it, operands);
    for (int i = 0; i < count; i++)
        buffers[i] = buffer_of(&operands[i]);
    double begun = tool_now();
    cholesky_codelets[it->kernel].cpu(buffers, NULL);
    return tool_now() - begun;
}

/* ---- Cases ------------------------------------------------------------------------------------------------------- */

static double (*const works[CHOLESKY_KERNELS])(const thrum_buffer *, int, const void *) = {
    cholesky_potrf_work, cholesky_trsm_work, cholesky_syrk_work, cholesky_gemm_work};

static struct app_probe_case case_of(int kernel, int m, int n, int k)
{
    struct app_probe_case it = {cholesky_codelets[kernel].name, kernel, {m, n, k}, 0, 0, 0};
    struct operand operands[OPERANDS];
    thrum_buffer buffers[OPERANDS];
    const size_t extents[CHOLESKY_KERNELS][OPERANDS][2] = {
        [CHOLESKY_POTRF] = {{(size_t)m, (size_t)m}},
        [CHOLESKY_TRSM] = {{(size_t)n, (size_t)n}, {(size_t)m, (size_t)n}},
        [CHOLESKY_SYRK] = {{(size_t)n, (size_t)k}, {(size_t)n, (size_t)n}},
        [CHOLESKY_GEMM] = {{(size_t)m, (size_t)k}, {(size_t)n, (size_t)k}, {(size_t)m, (size_t)n}}};
    int count = 0;
    for (; count < OPERANDS && extents[kernel][count][0]; count++) {
        operands[count] = (struct operand){.extent = {extents[kernel][count][0], extents[kernel][count][1]},
                                           .stride = {1, extents[kernel][count][0]}};
        buffers[count] = buffer_of(&operands[count]);
        double bytes = (double)sizeof(double) * (double)operands[count].extent[0] * (double)operands[count].extent[1];
        it.read = it.bytes; /* all but the last, which is written */
        it.bytes += bytes;
    }
    it.work = works[kernel](buffers, count, NULL);
    return it;
}

static int at_least_1(int number)
{
    return number > 0 ? number : 1;
}

/* Those of a kernel with one extent less than the tile's, where they differ: with cubes alone nobody could tell what
 * grows with work from what grows with bytes. */
static int list_flat_cases(int kernel, int tile, int part, struct app_probe_case *cases)
{
    int count = 0;
    if (kernel != CHOLESKY_SYRK)
        cases[count++] = case_of(kernel, part, tile, tile);
    cases[count++] = case_of(kernel, tile, part, kernel == CHOLESKY_TRSM ? part : tile);
    if (kernel != CHOLESKY_TRSM)
        cases[count++] = case_of(kernel, tile, tile, part);
    return count;
}

/* Sixteenths of the tile, from the whole one down. */
static int list_cases(const struct cholesky *c, struct app_probe_case cases[MOST_CASES])
{
    static const int sixteenths[] = {16, 15, 14, 13, 12, 10, 8, 6, 4};
    int count = 0, tile = (int)c->tile;
    for (int kernel = 0; kernel < CHOLESKY_KERNELS; kernel++) {
        for (size_t i = 0; i < sizeof sixteenths / sizeof *sixteenths; i++) {
            int part = at_least_1(tile * sixteenths[i] / 16);
            cases[count++] = case_of(kernel, part, part, part);
        }
        for (int sixteenth = 14; sixteenth >= 8 && kernel != CHOLESKY_POTRF; sixteenth -= 2)
            count += list_flat_cases(kernel, tile, at_least_1(tile * sixteenth / 16), &cases[count]);
    }
    return count;
}

int cholesky_probe(struct cholesky *c)
{
    struct app_probe_case cases[MOST_CASES];
    int count = list_cases(c, cases);
    struct pool pool = {0};
    if (!pool_fill(&pool, c))
        return tool_fail("cholesky", "no memory to measure kernels.");
    int code = app_probe(&(struct app_probe){.verb = "cholesky",
                                             .cases = cases,
                                             .count = count,
                                             .quick = strcmp(c->kernels, "quick") == 0,
                                             .self = &pool,
                                             .begin = begin,
                                             .end = end,
                                             .call = call});
    free(pool.memory);
    return code;
}
