/* SPDX-License-Identifier: MIT
 *
 * Loops over 10 M iterations that do next to nothing, and loops over next to no iterations; nanoseconds per iteration,
 * and per loop.
 *
 * The body is the same for everybody: it adds up a number that is worked out from i. Each iteration of a thread waits
 * for the one before it, some six cycles: all compilers make the same of that, so that what differs is the loop around
 * it, and it takes as long whether or not somebody else uses the other thread of the core. (Iterations that wait for
 * nothing took from 0.7 to 1.1 ns on a virtual machine, whoever ran them.) No iteration writes to memory that another
 * worker writes to: elements of an array would have neighbours in one cache line, which whoever deals out single
 * iterations would pay for. The sum tells whether each iteration has run exactly once.
 */
#ifndef BENCH_LOOPS_H
#define BENCH_LOOPS_H

#include "../common/runner.h"

#include <stdlib.h>

enum { LOOPS_ITERATIONS = 10000000, LOOPS_FORKS = 20000 };

/* The works. FORK: as many iterations as workers, by blocks, again and again. */
enum { LOOP_STAT, LOOP_GSS, LOOP_SS, LOOP_FORK };

typedef struct loops_state {
    int variant, workers;
    size_t n, repeats; /* iterations of a loop, and loops of a pass */
    uint64_t expected; /* the sum of all iterations of a pass */
} loops_state;

static volatile uint64_t loops_nothing; /* 0, which compilers do not know */

/* The sum with iteration i: it is i * (i ^ constant) more. `zero` is loops_nothing, read before the loop. */
static inline uint64_t loops_step(uint64_t sum, uint64_t i, uint64_t zero)
{
    return sum + (i + (sum & zero)) * (i ^ UINT64_C(0x9e3779b97f4a7c15));
}

static inline uint64_t loops_sum(uint64_t sum, size_t lo, size_t hi)
{
    uint64_t zero = loops_nothing;
    for (size_t i = lo; i < hi; i++)
        sum = loops_step(sum, i, zero);
    return sum;
}

static inline void loops_open(loops_state *state, const bench_request *request)
{
    int fork = request->variant == LOOP_FORK;
    state->variant = request->variant;
    state->workers = request->workers;
    state->n = fork ? (size_t)request->workers : LOOPS_ITERATIONS / request->shrink;
    state->repeats = fork ? LOOPS_FORKS / request->shrink : 1;
    state->expected = loops_sum(0, 0, state->n) * state->repeats;
}

static inline double loops_result(const loops_state *state, uint64_t sum, double time)
{
    if (sum != state->expected)
        bench_bad("the sum is %llx instead of %llx", (unsigned long long)sum, (unsigned long long)state->expected);
    return time / (double)(state->variant == LOOP_FORK ? state->repeats : state->n);
}

/* ---- Sums of the threads, for those that have no reduction of their own ------------------------------------------ */

enum { LOOPS_SLOTS = 4096 };

typedef struct loops_slot {
    uint64_t sum;
    char apart[120]; /* two lines: neighbours are fetched in pairs */
} loops_slot;

static loops_slot loops_slots[LOOPS_SLOTS];
static unsigned loops_slots_taken;
static __thread loops_slot *loops_mine;

static inline void loops_take_slot(void)
{
    unsigned slot = __atomic_fetch_add(&loops_slots_taken, 1, __ATOMIC_RELAXED);
    if (slot >= LOOPS_SLOTS)
        abort();
    loops_mine = &loops_slots[slot];
}

/* Does the iterations lo <= i < hi, for the sum of this thread. */
static inline void loops_do(size_t lo, size_t hi)
{
    if (__builtin_expect(!loops_mine, 0))
        loops_take_slot();
    loops_mine->sum = loops_sum(loops_mine->sum, lo, hi);
}

/* What all threads have added since the last time; while none of them adds. */
static inline uint64_t loops_collect(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < LOOPS_SLOTS; i++) {
        sum += loops_slots[i].sum;
        loops_slots[i].sum = 0;
    }
    return sum;
}

#endif
