/* SPDX-License-Identifier: MIT
 *
 * Loops whose iterations differ. The work of an iteration is a counted number of steps, each a multiplication and an
 * addition that wait for the step before: so it does not depend on a clock, and hardly on what the other thread of the
 * same core does.
 */
#ifndef BENCH_UNEVEN_H
#define BENCH_UNEVEN_H

#include "../common/runner.h"

enum uneven_shape {
    UNEVEN_UNIFORM, /* all the same */
    UNEVEN_UP,      /* the i-th takes in proportion to i */
    UNEVEN_DOWN,    /* to n - i */
    UNEVEN_RANDOM,  /* exponentially distributed, at random */
    UNEVEN_ONE,     /* all the same but for one, at a random place, that has a third of the work */
    UNEVEN_MEMORY,  /* the same number of words to read, from an array that is larger than the second cache */
    UNEVEN_SHAPES
};

typedef struct uneven_loop {
    enum uneven_shape shape;
    size_t n;
    uint64_t *steps;    /* of each iteration */
    uint64_t *before;   /* of all iterations before it; n + 1 of them */
    size_t heavy;       /* ONE: the iteration with a third of the work */
    uint64_t *words;    /* MEMORY: what is read, steps[i] words from i * steps[i] on */
    uint64_t *result;   /* of each iteration: 0 before a loop */
    uint64_t *expected; /* the same, from a plain loop */
} uneven_loop;

/* A loop of n iterations of `mean` steps. The random shapes are the same each time. */
uneven_loop *uneven_new(enum uneven_shape shape, size_t n, uint64_t mean);
void uneven_free(uneven_loop *loop);

/* ONE: moves the heavy iteration to the `turn`-th place of a fixed random sequence. */
void uneven_move(uneven_loop *loop, uint64_t turn);

/* The steps of the iterations lo <= i < hi. */
static inline uint64_t uneven_steps(const uneven_loop *loop, size_t lo, size_t hi)
{
    return loop->before[hi] - loop->before[lo];
}

/* Does the iterations lo <= i < hi. */
void uneven_do(uneven_loop *loop, size_t lo, size_t hi);

/* Tells bench_bad if some iteration has not been done exactly once since the last call. */
void uneven_verify(uneven_loop *loop);

/* How many steps per nanosecond `threads` threads do together, each of which does its share of the loop's iterations on
 * a processor of its own and never waits for another: of the heavy iteration of ONE each one does an equal part. The
 * speed of each thread is its steps divided by its time. With more threads than processors it is measured with as many
 * as those. `fraction`: of the iterations, 1 in so many. */
double uneven_speed(const uneven_loop *loop, int threads, unsigned fraction);

/* The processors that this process may use. */
int uneven_processors(void);

#endif
