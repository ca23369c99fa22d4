/* SPDX-License-Identifier: MIT
 *
 * Steps of a five-point stencil over blocks of a grid. thrum.c runs them pipelined, with no barrier between steps;
 * seq.c is thrum as well, with a barrier behind each step. In the uneven one, each step has a block that takes eight
 * times as long.
 */
#ifndef BENCH_STENCIL_H
#define BENCH_STENCIL_H

#include "../common/runner.h"

#include <thrum/thrum.h>

#include <stdlib.h>
#include <string.h>

enum { STENCIL_EVEN, STENCIL_UNEVEN };
enum { ACROSS = 8, BLOCK = 32, SIDE = ACROSS * BLOCK, BLOCKS = ACROSS * ACROSS, CHECK_STEPS = 20, STEPS = 2000 };

typedef struct plate {
    double at[2][SIDE + 2][SIDE + 2];
} plate;

typedef struct block {
    plate *plate;
    int number, uneven;
    uint64_t steps;
} block;

typedef struct stencil {
    plate plate;
    block blocks[BLOCKS];
    uint64_t steps;
    thrum_executor *executor;
    thrum_graph *graph;
} stencil;

static inline void block_step(block *b, uint64_t step)
{
    double(*from)[SIDE + 2] = b->plate->at[step % 2], (*to)[SIDE + 2] = b->plate->at[(step + 1) % 2];
    int row = 1 + b->number / ACROSS * BLOCK, column = 1 + b->number % ACROSS * BLOCK;
    int sweeps = b->uneven && step % BLOCKS == (uint64_t)b->number ? 8 : 1;
    for (int sweep = 0; sweep < sweeps; sweep++)
        for (int i = row; i < row + BLOCK; i++)
            for (int j = column; j < column + BLOCK; j++)
                to[i][j] = 0.2 * (from[i][j] + from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]);
    b->steps++;
}

static void run_block(void *arg)
{
    block_step(arg, thrum_iteration());
}

static inline void plate_begin(plate *p)
{
    for (int i = 0; i < SIDE + 2; i++)
        for (int j = 0; j < SIDE + 2; j++)
            p->at[0][i][j] = p->at[1][i][j] = (i * 7919 + j * 104729) % 1000;
}

static inline void stencil_build(stencil *s, int uneven)
{
    thrum_task *tasks[BLOCKS];
    s->graph = thrum_graph_new("stencil");
    for (int i = 0; i < BLOCKS; i++) {
        s->blocks[i] = (block){&s->plate, i, uneven, 0};
        tasks[i] = thrum_task_new(s->graph, run_block, &s->blocks[i]);
        for (int side = 0; side < 2; side++) {
            int other = side ? i - ACROSS : i % ACROSS ? i - 1 : -1;
            if (other < 0)
                continue;
            thrum_precede_next(tasks[other], tasks[i]);
            thrum_precede_next(tasks[i], tasks[other]);
        }
    }
}

typedef int stencil_run(thrum_executor *ex, thrum_graph *graph, uint64_t n);

/* From a new beginning. */
static inline void stencil_go(stencil *s, stencil_run *run, uint64_t steps)
{
    for (int i = 0; i < BLOCKS; i++)
        s->blocks[i].steps = 0;
    if (run(s->executor, s->graph, steps) != 0)
        bench_bad("run: %s", thrum_message(s->graph));
    for (int i = 0; i < BLOCKS; i++)
        if (s->blocks[i].steps != steps)
            bench_bad("block %d has done %llu of %llu steps", i, (unsigned long long)s->blocks[i].steps,
                      (unsigned long long)steps);
}

/* Every bit as by plain loops. */
static inline void stencil_check(stencil *s, stencil_run *run)
{
    plate *expected = bench_alloc(1, sizeof *expected);
    plate_begin(expected);
    for (uint64_t step = 0; step < CHECK_STEPS; step++)
        for (int i = 0; i < BLOCKS; i++)
            block_step(&(block){expected, i, 0, 0}, step);
    plate_begin(&s->plate);
    stencil_go(s, run, CHECK_STEPS);
    if (memcmp(expected, &s->plate, sizeof *expected) != 0)
        bench_bad("the result is not that of plain loops");
    free(expected);
}

static inline void *stencil_open(const bench_request *request, stencil_run *run)
{
    stencil *s = bench_alloc(1, sizeof *s);
    s->steps = STEPS / request->shrink;
    s->executor = thrum_executor_new(&(thrum_config){.workers = request->workers});
    if (!s->executor)
        bench_bad("no executor: %s", thrum_message(NULL));
    stencil_build(s, request->variant == STENCIL_UNEVEN);
    stencil_check(s, run);
    return s;
}

static inline double stencil_pass(stencil *s, stencil_run *run)
{
    double begin = bench_now();
    stencil_go(s, run, s->steps);
    return (bench_now() - begin) / (double)s->steps / BLOCKS;
}

static void stencil_close(void *state)
{
    stencil *s = state;
    thrum_graph_free(s->graph);
    thrum_executor_free(s->executor);
    free(s);
}

/* A file defines how steps are run, and its works. */
#define STENCIL_WORKS(run)                                                                                             \
    static void *open_stencil(const bench_request *request)                                                            \
    {                                                                                                                  \
        return stencil_open(request, run);                                                                             \
    }                                                                                                                  \
    static double pass_stencil(void *state)                                                                            \
    {                                                                                                                  \
        return stencil_pass(state, run);                                                                               \
    }                                                                                                                  \
    static bench_work works[] = {                                                                                      \
        {"stencil", STENCIL_EVEN, open_stencil, pass_stencil, stencil_close, NULL},                                    \
        {"stencil-uneven", STENCIL_UNEVEN, open_stencil, pass_stencil, stencil_close, NULL},                           \
    };                                                                                                                 \
    BENCH_WORKS(works)

#endif
