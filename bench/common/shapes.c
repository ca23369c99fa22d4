/* SPDX-License-Identifier: MIT */
#include "shapes.h"

#include <stdlib.h>

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */

#define RANDOM_SEED UINT64_C(88172645463325252)

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint32_t random_below(uint64_t *state, uint32_t bound)
{
    return (uint32_t)(((random_next(state) >> 32) * bound) >> 32);
}

static void add_edge(bench_shape *shape, uint32_t before, uint32_t after)
{
    shape->edges[shape->edge_count++] = (bench_edge){before, after};
}

static void add_chain(bench_shape *shape)
{
    for (uint32_t i = 1; i < shape->tasks; i++)
        add_edge(shape, i - 1, i);
}

static void add_tree(bench_shape *shape)
{
    for (uint32_t i = 1; i < shape->tasks; i++)
        add_edge(shape, (i - 1) / 2, i);
}

static void add_wavefront(bench_shape *shape, int down_first)
{
    for (uint32_t row = 0; row < shape->side; row++) {
        for (uint32_t column = 0; column < shape->side; column++) {
            uint32_t here = row * shape->side + column;
            if (down_first && row + 1 < shape->side)
                add_edge(shape, here, here + shape->side);
            if (column + 1 < shape->side)
                add_edge(shape, here, here + 1);
            if (!down_first && row + 1 < shape->side)
                add_edge(shape, here, here + shape->side);
        }
    }
}

static void add_random_dag(bench_shape *shape, uint64_t random)
{
    for (uint32_t i = 2; i < shape->tasks; i++) {
        uint32_t first = random_below(&random, i);
        uint32_t second = random_below(&random, i - 1);
        add_edge(shape, first, i);
        add_edge(shape, second < first ? second : second + 1, i);
    }
}

static void add_random_edges(bench_shape *shape)
{
    uint64_t random = RANDOM_SEED;
    for (uint32_t i = 0; i < shape->tasks; i++) {
        uint32_t one = random_below(&random, shape->tasks);
        uint32_t other = random_below(&random, shape->tasks - 1);
        other += other >= one;
        add_edge(shape, one < other ? one : other, one < other ? other : one);
    }
}

static void add_fan(bench_shape *shape)
{
    for (uint32_t i = 1; i + 1 < shape->tasks; i++) {
        add_edge(shape, 0, i);
        add_edge(shape, i, shape->tasks - 1);
    }
}

static void add_edges(bench_shape *shape)
{
    switch (shape->kind) {
    case BENCH_INDEPENDENT:
    case BENCH_INDEPENDENT_ARENA:
        break;
    case BENCH_CHAIN:
        add_chain(shape);
        break;
    case BENCH_TREE:
        add_tree(shape);
        break;
    case BENCH_WAVEFRONT:
    case BENCH_WAVEFRONT_SWAPPED:
        add_wavefront(shape, shape->kind == BENCH_WAVEFRONT_SWAPPED);
        break;
    case BENCH_RANDOM_DAG:
        add_random_dag(shape, RANDOM_SEED);
        break;
    case BENCH_DENSE_DAG:
        add_random_dag(shape, RANDOM_SEED);
        add_random_dag(shape, RANDOM_SEED + 1);
        break;
    case BENCH_FAN:
        add_fan(shape);
        break;
    case BENCH_RANDOM_EDGES:
        add_random_edges(shape);
        break;
    }
}

static void find_sources(bench_shape *shape)
{
    unsigned char *has_edge_in = bench_alloc(shape->tasks, 1);
    for (size_t i = 0; i < shape->edge_count; i++)
        has_edge_in[shape->edges[i].after] = 1;
    shape->sources = bench_alloc(shape->tasks, sizeof *shape->sources);
    for (uint32_t i = 0; i < shape->tasks; i++)
        if (!has_edge_in[i])
            shape->sources[shape->source_count++] = i;
    free(has_edge_in);
}

static uint32_t side_of(uint32_t tasks)
{
    uint32_t side = 1;
    while ((uint64_t)(side + 1) * (side + 1) <= tasks)
        side++;
    return side;
}

static size_t most_edges_per_task(enum bench_shape_kind kind)
{
    if (kind == BENCH_INDEPENDENT || kind == BENCH_INDEPENDENT_ARENA)
        return 0;
    return kind == BENCH_DENSE_DAG ? 4 : 2;
}

bench_shape *bench_shape_new(enum bench_shape_kind kind, uint32_t tasks)
{
    bench_shape *shape = bench_alloc(1, sizeof *shape);
    shape->kind = kind;
    shape->tasks = tasks;
    if (kind == BENCH_WAVEFRONT || kind == BENCH_WAVEFRONT_SWAPPED) {
        shape->side = side_of(tasks);
        shape->tasks = shape->side * shape->side;
    }
    shape->edges = bench_alloc((size_t)tasks * most_edges_per_task(kind) + 1, sizeof *shape->edges);
    add_edges(shape);
    find_sources(shape);
    return shape;
}

void bench_shape_free(bench_shape *shape)
{
    free(shape->sources);
    free(shape->edges);
    free(shape);
}

/* ---- Cells ------------------------------------------------------------------------------------------------------- */

/* A task's argument when the order is checked. */
typedef struct ordered_cell {
    uint32_t done;
    uint32_t early; /* how often a predecessor was missing */
    uint32_t predecessor_count;
    uint32_t *predecessors;
} ordered_cell;

static ordered_cell *ordered_cells;

static void raise_cell(void *arg)
{
    ++*(uint32_t *)arg;
}

static void raise_ordered_cell(void *arg)
{
    ordered_cell *cell = arg;
    for (uint32_t i = 0; i < cell->predecessor_count; i++)
        cell->early += ordered_cells[cell->predecessors[i]].done != cell->done + 1;
    cell->done++;
}

/* Read through volatile, so that no compiler knows which function the tasks will call. */
static bench_body *volatile plain_body = raise_cell;
static bench_body *volatile ordered_body = raise_ordered_cell;

static bench_cells *cells_new(bench_body *body, uint32_t count, size_t arg_size)
{
    bench_cells *cells = bench_alloc(1, sizeof *cells);
    cells->body = body;
    cells->arg_size = arg_size;
    cells->count = count;
    cells->args = bench_alloc(count, arg_size);
    for (size_t i = 0; i < (size_t)count * arg_size; i += 4096)
        ((volatile char *)cells->args)[i] = 0; /* the pages are there before anything is measured */
    return cells;
}

bench_cells *bench_cells_new(uint32_t count)
{
    return cells_new(plain_body, count, sizeof(uint32_t));
}

bench_cells *bench_ordered_cells_new(const bench_shape *shape)
{
    bench_cells *cells = cells_new(ordered_body, shape->tasks, sizeof(ordered_cell));
    ordered_cells = (ordered_cell *)(void *)cells->args;
    for (size_t i = 0; i < shape->edge_count; i++)
        ordered_cells[shape->edges[i].after].predecessor_count++;
    for (uint32_t i = 0; i < shape->tasks; i++) {
        ordered_cells[i].predecessors = bench_alloc(ordered_cells[i].predecessor_count + 1, sizeof(uint32_t));
        ordered_cells[i].predecessor_count = 0;
    }
    for (size_t i = 0; i < shape->edge_count; i++) {
        ordered_cell *after = &ordered_cells[shape->edges[i].after];
        after->predecessors[after->predecessor_count++] = shape->edges[i].before;
    }
    return cells;
}

void bench_cells_verify(bench_cells *cells)
{
    cells->rounds++;
    for (uint32_t i = 0; i < cells->count; i++) {
        /* Both kinds of cell begin with the number of times that the task has run. */
        uint32_t done = *(uint32_t *)bench_cell(cells, i);
        if (done != cells->rounds) {
            bench_bad("task %u ran %u times instead of %u", i, done, cells->rounds);
            return;
        }
        if (cells->arg_size == sizeof(ordered_cell) && ordered_cells[i].early) {
            bench_bad("task %u ran before one of its predecessors", i);
            return;
        }
    }
}

void bench_cells_free(bench_cells *cells)
{
    if (cells->arg_size == sizeof(ordered_cell))
        for (uint32_t i = 0; i < cells->count; i++)
            free(ordered_cells[i].predecessors);
    free(cells->args);
    free(cells);
}

/* ---- Re-runs ----------------------------------------------------------------------------------------------------- */

const bench_rerun bench_reruns[BENCH_RERUNS] = {
    {"independent", BENCH_INDEPENDENT, 1000000, 1},
    {"independent-arena", BENCH_INDEPENDENT_ARENA, 1000000, 1},
    {"chain", BENCH_CHAIN, 1000000, 1},
    {"tree", BENCH_TREE, (1u << 20) - 1, 1},
    {"wavefront", BENCH_WAVEFRONT, 1000000, 1},
    {"wavefront-swapped", BENCH_WAVEFRONT_SWAPPED, 1000000, 1},
    {"random", BENCH_RANDOM_DAG, 100000, 5},
    {"small-independent", BENCH_INDEPENDENT, 10000, 20},
    {"small-chain", BENCH_CHAIN, 10000, 20},
    {"small-tree", BENCH_TREE, 10000, 20},
    {"small-wavefront", BENCH_WAVEFRONT, 10000, 20},
    {"small-wavefront-swapped", BENCH_WAVEFRONT_SWAPPED, 10000, 20},
    {"small-random", BENCH_RANDOM_DAG, 10000, 20},
};
