/* SPDX-License-Identifier: MIT
 *
 * The graphs that are measured, the same for every implementation, and what their tasks do.
 *
 * A task's body is called through a pointer that the compiler cannot see through, and raises its own cell by one; after
 * a pass every cell must have been raised once. That says that each task ran once, but not when, so each
 * implementation also runs every shape at a small size with bodies that check that their predecessors were there first.
 */
#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H

#include "runner.h"

#ifdef __cplusplus
extern "C" {
#endif

enum bench_shape_kind {
    BENCH_INDEPENDENT,
    BENCH_INDEPENDENT_ARENA, /* the same; for oneTBB, started from inside of its arena (see graph/tbb.cpp) */
    BENCH_CHAIN,
    BENCH_TREE,              /* task i before 2i+1 and 2i+2 */
    BENCH_WAVEFRONT,         /* a square; a cell before its right, then its lower neighbour */
    BENCH_WAVEFRONT_SWAPPED, /* the same, the lower neighbour added first */
    BENCH_RANDOM_DAG,        /* two different random predecessors each */
    BENCH_DENSE_DAG,         /* four random predecessors each, in two pairs of different ones */
    BENCH_FAN,               /* the first task before all others, and all of them before the last */
    BENCH_RANDOM_EDGES,      /* as many edges as tasks, both ends random */
};

typedef struct bench_edge {
    uint32_t before, after;
} bench_edge;

/* Tasks are numbered so that every edge leads to a higher number. */
typedef struct bench_shape {
    enum bench_shape_kind kind;
    uint32_t tasks;
    uint32_t side; /* of the wavefront's square */
    size_t edge_count;
    bench_edge *edges; /* in the order in which they are added */
    uint32_t source_count;
    uint32_t *sources; /* tasks with no edge in */
} bench_shape;

/* A wavefront gets the largest square that has at most so many tasks. */
bench_shape *bench_shape_new(enum bench_shape_kind kind, uint32_t tasks);
void bench_shape_free(bench_shape *shape);

typedef void bench_body(void *arg);

/* What the tasks of one graph work on: the body, and for task i the argument args + i * arg_size. */
typedef struct bench_cells {
    bench_body *body;
    char *args;
    size_t arg_size;
    uint32_t count;
    uint32_t rounds; /* how often every task should have run by now */
} bench_cells;

static inline void *bench_cell(const bench_cells *cells, uint32_t task)
{
    return cells->args + (size_t)task * cells->arg_size;
}

bench_cells *bench_cells_new(uint32_t count);

/* Cells whose bodies check the order; at most one such set is in use at a time. */
bench_cells *bench_ordered_cells_new(const bench_shape *shape);

/* Call after each run of the graph: checks that each task has run once more, and in order if that is checked. */
void bench_cells_verify(bench_cells *cells);
void bench_cells_free(bench_cells *cells);

/* A re-run as the works of the problem "rerun" name it: the shape, its size, and how many runs make a pass. */
typedef struct bench_rerun {
    const char *name;
    enum bench_shape_kind kind;
    uint32_t tasks, runs;
} bench_rerun;

enum { BENCH_RERUNS = 13 };
extern const bench_rerun bench_reruns[BENCH_RERUNS];

#ifdef __cplusplus
}
#endif

#endif
