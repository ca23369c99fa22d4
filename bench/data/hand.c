/* SPDX-License-Identifier: MIT
 *
 * The control for Cholesky with several workers: threads without any runtime, which show what the machine allows. All
 * go through the same order of insertion; who comes by a tile first takes the steps on it that follow one another, or
 * those of its whole block where all that they need stands before the block, and spins until what these need is there.
 * (Tile by tile everywhere, both threads load what a block needs: with tiles of 64 that takes 3 % longer.) Not driven
 * by `thrum bench`; asked by hand: printf 'cholesky-64 2\n' | build/bench/bench-hand
 */
#include "cholesky.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MOST_WORKERS = 64 };

struct cholesky_runtime {
    const cholesky *matrix;
    int workers;
    cholesky_step *steps; /* in the order of insertion */
    size_t count;
    _Atomic size_t next;  /* of them, that nobody has taken */
    _Atomic int *updates; /* of each tile: steps that have been done */
};

const char *bench_about(void)
{
    return "threads by hand, compiler " __VERSION__;
}

uint32_t cholesky_divisor(int tile)
{
    (void)tile;
    return 1;
}

static void add_step(cholesky_step step, void *ctx)
{
    cholesky_runtime *r = ctx;
    r->steps[r->count++] = step;
}

cholesky_runtime *cholesky_begin(const cholesky *c, int workers)
{
    cholesky_runtime *r = bench_alloc(1, sizeof *r);
    r->matrix = c;
    r->workers = workers < MOST_WORKERS ? workers : MOST_WORKERS;
    r->steps = bench_alloc(cholesky_task_count(c), sizeof *r->steps);
    r->updates = bench_alloc(cholesky_tile_count(c), sizeof *r->updates);
    cholesky_insert_all(c, add_step, r);
    return r;
}

static void wait_for(cholesky_runtime *r, int i, int j, int updates)
{
    while (atomic_load_explicit(&r->updates[cholesky_index(i, j)], memory_order_acquire) < updates)
        __builtin_ia32_pause();
}

/* Release, with the acquire above: whoever sees the count sees the tile. Everything that a step needs stands before it
 * in the order, and so somebody is at it. */
static void do_step(cholesky_runtime *r, cholesky_step s)
{
    wait_for(r, s.i, s.j, s.k);
    if (s.j > s.k)
        wait_for(r, s.i, s.k, s.k + 1);
    if (s.i > s.k)
        wait_for(r, s.j, s.k, s.k + 1);
    cholesky_do(r->matrix, s);
    atomic_store_explicit(&r->updates[cholesky_index(s.i, s.j)], s.k + 1, memory_order_release);
}

static bool same_tile(cholesky_step a, cholesky_step b)
{
    return a.i == b.i && a.j == b.j;
}

/* Of the blocks of cholesky_block_end, by so many tiles each way. */
static bool same_block(cholesky_step a, cholesky_step b, int tiles)
{
    return a.i / tiles == b.i / tiles && a.j / tiles == b.j / tiles && a.k / tiles == b.k / tiles;
}

static size_t end_of_share(const cholesky_runtime *r, size_t from)
{
    int tiles = cholesky_block_end(r->matrix, 0);
    cholesky_step first = r->steps[from];
    bool whole = first.j / tiles > first.k / tiles; /* else steps of the block need each other */
    size_t to = from + 1;
    while (to < r->count && (whole ? same_block(first, r->steps[to], tiles) : same_tile(first, r->steps[to])))
        to++;
    return to;
}

static void *work(void *arg)
{
    cholesky_runtime *r = arg;
    size_t from = atomic_load(&r->next);
    while (from < r->count) {
        size_t to = end_of_share(r, from);
        if (!atomic_compare_exchange_weak(&r->next, &from, to))
            continue;
        for (; from < to; from++)
            do_step(r, r->steps[from]);
        from = atomic_load(&r->next);
    }
    return NULL;
}

void cholesky_run(cholesky_runtime *r)
{
    pthread_t threads[MOST_WORKERS];
    atomic_store(&r->next, 0);
    for (size_t i = 0; i < cholesky_tile_count(r->matrix); i++)
        atomic_store_explicit(&r->updates[i], 0, memory_order_relaxed);
    int started = 1;
    while (started < r->workers && pthread_create(&threads[started], NULL, work, r) == 0)
        started++;
    work(r);
    for (int i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
    if (started < r->workers)
        bench_bad("no thread");
}

void cholesky_end(cholesky_runtime *r)
{
    free(r->steps);
    free(r->updates);
    free(r);
}
