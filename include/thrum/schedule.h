/* SPDX-License-Identifier: MIT
 *
 * Schedules of loops: by which rule n iterations are handed out to p workers, in chunks.
 *
 * A *technique* is a rule from the literature. A *schedule* is one in use for one loop: workers ask it for chunks, and
 * where the rule learns from measurements, tell it how long they took. It knows no threads and no clock: times are
 * whatever the caller says, in one unit throughout. `thrum_for` (loop.h) and the simulator (sim.h) are driven by it; a
 * program that hands out work by its own means (over a network, to devices) can do the same.
 *
 *     thrum_schedule *s = thrum_schedule_new(THRUM_FAC2, &(thrum_loop_facts){.iterations = n, .workers = p});
 *     thrum_chunk chunk;
 *     while (thrum_schedule_next(s, worker, now, &chunk))
 *         work(chunk.begin, chunk.begin + chunk.size);
 *
 * A schedule is used by one thread at a time. Schedules are independent of each other.
 *
 * Letters used below: n iterations, p workers, R iterations not handed out yet, mu and sigma the mean and the standard
 * deviation of an iteration's time, h what handing out one chunk costs. Each size is finally brought between `least`
 * (or R, if that is less) and R.
 */
#ifndef THRUM_SCHEDULE_H
#define THRUM_SCHEDULE_H

#include <thrum/error.h>

#include <stddef.h>
#include <stdint.h>

THRUM_BEGIN_C

typedef enum thrum_technique {
    THRUM_STEAL, /* a block of n/p for each worker, in small chunks; who has none left takes half of another's rest */
    THRUM_STAT,  /* one block of n/p for each worker, and nothing else; looks at no least size */
    THRUM_SS,    /* self scheduling: one iteration at a time */
    THRUM_FSC,   /* fixed-size chunking: a size from n, p, sigma and h; needs p > 1, sigma > 0, h > 0 */
    THRUM_MFSC,  /* the same without measurements: as many chunks as FAC2 makes */
    THRUM_GSS,   /* guided self scheduling: R/p */
    THRUM_TSS,   /* trapezoid: from n/2p down to 1 in equal steps */
    THRUM_FAC,   /* factoring: batches of p equal chunks, of a share of R that follows from sigma/mu */
    THRUM_FAC2,  /* factoring by halves: each batch is half of R */
    THRUM_TAP,   /* taper: R/p less what sigma/mu makes likely */
    THRUM_TFSS,  /* trapezoid factoring: batches, each of the mean of the next p sizes of TSS */
    THRUM_BOLD,  /* Hagerup's bold strategy; needs mu, sigma and h */
    THRUM_WF,    /* weighted factoring: FAC2 times a given weight of each worker */
    THRUM_AWF,   /* the same with weights from earlier executions of the loop */
    THRUM_AWF_B, /* the same with weights renewed within the loop, batch by batch */
    THRUM_AWF_C, /* the same, from R at each request */
    THRUM_AWF_D, /* AWF-B with times that include what handing out costs */
    THRUM_AWF_E, /* AWF-C with such times */
    THRUM_AF,    /* adaptive factoring: from each worker's measured mu and sigma */
    THRUM_MAF,   /* AF with times that include what handing out costs */
    THRUM_FISS,  /* fixed increase: batches that grow by equal steps */
    THRUM_VISS,  /* variable increase: batches that grow by half as much each time */
    THRUM_PLS,   /* performance-based: half as STAT, the rest as GSS */
    THRUM_RND,   /* sizes at random */
    THRUM_TECHNIQUES,

    /* For thrum_for only: not rules but ways to pick one. */
    THRUM_AUTO = 100, /* learns over repeated executions of the loop which rule is the fastest */
    THRUM_RUNTIME,    /* what the environment says: THRUM_SCHEDULE */
} thrum_technique;

/* "FAC2", "AWF-C", ..., "AUTO", "RUNTIME"; NULL if it is none. */
THRUM_API const char *thrum_technique_name(thrum_technique technique);
/* One line about it; NULL if it is none. */
THRUM_API const char *thrum_technique_text(thrum_technique technique);

/* Reads "fac2" or "fac2,16": a technique, in any case, with "-" or "_" or nothing between its letters, and the least
 * size of a chunk (*least is 0 without one). RUNTIME is none of the names. Otherwise THRUM_EINVAL and a sentence with
 * the right names. */
THRUM_API int thrum_schedule_parse(const char *text, thrum_technique *technique, size_t *least);

/* What a rule may need to know of the loop. Zero: not known, or the default. */
typedef struct thrum_loop_facts {
    uint64_t iterations;    /* n, below 2^63 */
    uint32_t workers;       /* p, at least 1 */
    uint64_t least;         /* the least size of a chunk; 0: 1 (STEAL: what makes 1024 chunks of a block) */
    double mean, deviation; /* mu and sigma; mean 0: not known, deviation 0: all take the same */
    double cost;            /* h */
    const double *weights;  /* p of them, positive, with the sum p: speeds of the workers; NULL: all 1. Copied */
    double alpha;           /* TAP: how careful; 0: 1.3 */
    uint32_t stages;        /* FISS: batches; 0: p - 1, and 2 at least */
    uint64_t bound;         /* RND: the largest size; 0: n/p */
    uint64_t seed;          /* RND */
    int nearest;            /* TSS: sizes are rounded to the nearest whole number, not up */
} thrum_loop_facts;

enum thrum_loop_need {
    THRUM_NEEDS_MEAN = 1,
    THRUM_NEEDS_DEVIATION = 2,
    THRUM_NEEDS_COST = 4,
    THRUM_NEEDS_WEIGHTS = 8, /* makes use of weights; without them all are 1 */
    THRUM_NEEDS_TIMES = 16,  /* wants thrum_schedule_finished for each chunk */
};

/* What the technique needs: bits of the list above. */
THRUM_API unsigned thrum_technique_needs(thrum_technique technique);

typedef struct thrum_schedule thrum_schedule;

typedef struct thrum_chunk {
    uint64_t begin, size;
} thrum_chunk;

/* NULL with a sentence: something that the technique needs is missing, negative, infinite or not a number, weights do
 * not sum up, p = 0, n beyond 2^63 - 1, no memory. n = 0 is a loop without chunks. */
THRUM_API thrum_schedule *thrum_schedule_new(thrum_technique technique, const thrum_loop_facts *facts);
THRUM_API void thrum_schedule_free(thrum_schedule *schedule);

/* Back to the beginning, with what the workers have shown so far forgotten; as good as a new one and cheaper. */
THRUM_API void thrum_schedule_restart(thrum_schedule *schedule);

/* The next chunk for `worker` (0 to p - 1), who asks at the time `now` (BOLD alone looks at it; its times do not go
 * back). 0: there is none for this worker any more, or there is no such worker. Chunks of all rules but STAT and STEAL
 * are handed out from 0 to n without gaps. */
THRUM_API int thrum_schedule_next(thrum_schedule *schedule, uint32_t worker, double now, thrum_chunk *chunk);

/* The worker has done a chunk of so many iterations in `time`; asking for it took `cost` besides. Times that are
 * negative or no numbers, and chunks of 0 or more than n iterations, are ignored. A worker whose chunks took no time at
 * all has shown nothing yet: AWF-B to E go on with its weight as given, AF counts it as the mean of the others. */
THRUM_API void thrum_schedule_finished(thrum_schedule *schedule, uint32_t worker, uint64_t iterations, double time,
                                       double cost);

/* AWF: weights from what workers have shown over several executions ("time steps") of one loop. In step s = 1, 2, ...
 * worker i did iterations[i] in times[i]; `sums` are 2 p numbers, 0 at first, in which the steps are summed up;
 * weights[i] becomes the weight for the next step. A worker that has done nothing yet, or took no time, has the weight
 * 1; the sum is p. */
THRUM_API void thrum_awf_step(double *sums, uint32_t workers, uint32_t step, const uint64_t *iterations,
                              const double *times, double *weights);

THRUM_END_C

#endif
