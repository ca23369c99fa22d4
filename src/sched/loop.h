/* SPDX-License-Identifier: MIT
 *
 * The loop-schedule contract: what a rule is, and what a schedule holds. One implementation of the rules serves real
 * loops (front/loop.c), the simulator (sim/) and programs of others (thrum/schedule.h).
 *
 * A rule is a few lines: `begin` works out what is constant for the loop, `size` says how large the next chunk is, and
 * `finished` takes in what a worker has shown. Sizes may come out as any whole number: whoever calls brings them
 * between the least size and R. Rules are in loop_fixed.c (sizes that do not change), loop_guided.c (that follow R),
 * loop_trapezoid.c (that go down in equal steps), loop_batch.c (batches of p equal chunks), loop_weighted.c (weights,
 * given and measured), loop_adaptive.c (AF), loop_bold.c and loop_block.c (STAT and STEAL: blocks of the workers' own).
 *
 * **How chunks can be taken by several threads at once** is told by `order`, so that front/ need not know the rules:
 * whatever depends on the request's number alone can be put into a table beforehand, and then one addition takes a
 * chunk; whatever depends on R alone takes one compare-and-swap of R; the rest is done under a lock.
 */
#ifndef THRUM_SCHED_LOOP_H
#define THRUM_SCHED_LOOP_H

#include <thrum/schedule.h>

#include <stdbool.h>

enum thrum__loop_order {
    THRUM__BY_NUMBER, /* sizes follow from n, p and the number of the request */
    THRUM__BY_REST,   /* sizes follow from R: thrum__size_of_rest */
    THRUM__BY_STATE,  /* sizes follow from who asked before, when, and how fast it was */
    THRUM__BY_OWNER,  /* workers have blocks of their own */
};

/* A place of 64 bytes for each worker. A rule uses one of the three, which all are 0 at the beginning. */
typedef struct thrum__loop_worker {
    double weight; /* as given, or 1 */
    union {
        struct { /* measured: chunks, iterations and time so far */
            uint64_t chunks, iterations;
            double time;
            double weighted_time, weighted_iterations; /* AWF-B to E: sums of j t_j and of j k_j over its chunks j */
            double squares;                            /* AF: sum of k_j (t_j/k_j - mean)^2 */
        };
        struct { /* BOLD: its chunk under way, the speed expected of that, and when it began */
            double size, speed, since;
        };
        struct { /* STAT, STEAL: the rest of its block */
            uint64_t begin, end;
        };
    };
} thrum__loop_worker;

typedef struct thrum__rule thrum__rule;

struct thrum_schedule {
    const thrum__rule *rule;
    thrum_loop_facts facts; /* with the defaults filled in; weights points to nothing (see workers) */
    uint64_t left;          /* R */
    uint64_t requests;      /* answered so far */
    uint64_t size;          /* what the rule said last, raised to the least size */
    uint64_t same;          /* so many requests more are answered with `size`, without asking the rule */
    thrum__loop_worker *workers;
    /* The rule's own: what `begin` works out, in real and in whole numbers, and what changes, which is 0 at the
     * beginning. */
    double constants[8];
    uint64_t wholes[4];
    double shared[8];
    uint64_t counts[4];
};

struct thrum__rule {
    const char *name, *text;
    enum thrum__loop_order order;
    unsigned needs;
    /* Works out constants. 0, or THRUM_EINVAL with a sentence. The facts have been checked for being numbers at all,
     * and for a mean and a cost above 0 where the rule needs them. May be NULL. */
    int (*begin)(thrum_schedule *schedule);
    /* What changes, where 0 is not the right beginning. May be NULL. */
    void (*restart)(thrum_schedule *schedule);
    /* The size of the next chunk, before clamping, while `left` > 0 iterations are left. With BY_REST it writes nothing
     * and reads `left`, the facts and the constants only. With BY_NUMBER it leaves the workers alone, and may set
     * `same`: it is not asked for so many requests more. NULL: the rule has `take`. */
    uint64_t (*size)(thrum_schedule *schedule, uint64_t left, uint32_t worker, double now);
    /* BY_OWNER, in place of `size`: the next chunk of the worker, not yet subtracted from `left`; 0: none. */
    int (*take)(thrum_schedule *schedule, uint32_t worker, thrum_chunk *chunk);
    /* 0 < iterations <= n, and times are numbers, not negative. NULL: the rule does not learn. */
    void (*finished)(thrum_schedule *schedule, uint32_t worker, uint64_t iterations, double time, double cost);
};

/* The rule, or NULL if the number is none (AUTO and RUNTIME are none). */
const thrum__rule *thrum__rule_of(thrum_technique technique);

/* A schedule in memory of the caller's: `workers` has p places (rules that are BY_NUMBER or BY_REST need none: NULL). 0
 * or an error as thrum_schedule_new. */
int thrum__schedule_begin(thrum_schedule *schedule, thrum_technique technique, const thrum_loop_facts *facts,
                          thrum__loop_worker *workers);

/* Hands out so many iterations, or all that are left: the next ones. */
static inline int thrum__hand_out(thrum_schedule *schedule, uint64_t size, thrum_chunk *chunk)
{
    uint64_t left = schedule->left;
    size = size < left ? size : left;
    *chunk = (thrum_chunk){schedule->facts.iterations - left, size};
    schedule->left = left - size;
    schedule->requests++;
    return 1;
}

/* thrum_schedule_next without its checks: for whoever asks very often. */
int thrum__ask_the_rule(thrum_schedule *schedule, uint32_t worker, double now, thrum_chunk *chunk);
static inline int thrum__schedule_next(thrum_schedule *schedule, uint32_t worker, double now, thrum_chunk *chunk)
{
    if (schedule->left == 0)
        return 0;
    if (schedule->same == 0)
        return thrum__ask_the_rule(schedule, worker, now, chunk);
    schedule->same--;
    return thrum__hand_out(schedule, schedule->size, chunk);
}

/* ---- For several threads ----------------------------------------------------------------------------------------- */

/* BY_REST: the clamped size of a chunk when `left` iterations are left. Reads only. */
uint64_t thrum__size_of_rest(const thrum_schedule *schedule, uint64_t left);

/* BY_NUMBER: rows of equal chunks. Chunk number i of row r (first <= i, the next row's first > i) begins at
 * begin + (i - first) * size; the last row goes on to n, where the last chunk may be shorter. */
typedef struct thrum__loop_row {
    uint64_t first, begin, size;
} thrum__loop_row;

/* Writes the rows of the schedule, which is at its beginning and stays so. Their number, or 0: more than `most` would
 * be needed, or n = 0. */
uint32_t thrum__loop_rows(const thrum_schedule *schedule, thrum__loop_row *rows, uint32_t most);

/* Block number `worker` of n/p iterations, the remainder spread over the first ones. */
static inline thrum_chunk thrum__block(uint64_t n, uint32_t p, uint32_t worker)
{
    uint64_t share = n / p, more = n % p;
    uint64_t begin = worker * share + (worker < more ? worker : more);
    return (thrum_chunk){begin, share + (worker < more)};
}

#endif
