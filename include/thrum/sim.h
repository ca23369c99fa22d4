/* SPDX-License-Identifier: MIT
 *
 * Simulation: schedules of loops on machines that are described, not owned.
 *
 * A loop of n iterations with random times is handed out to p workers by the same rules that `thrum_for` uses, on a virtual
 * clock, many times over. What comes out is the *wasted time*: how much longer a worker was there, on average, than the
 * iterations took.
 *
 * Two models of what handing out a chunk costs (h) are in use:
 * - Hagerup's: a chunk keeps its worker for h and for its iterations. Wasted time = makespan - (sum of times)/p.
 * - of the SimGrid-MSG studies: nothing is put on the time line (rules that ask for h still get it), and
 *   h * chunks/p is added to the wasted time afterwards.
 * Times in the sum are those at speed 1, whatever the speeds of the workers: so the technique that wastes the least is the one
 * that is done first.
 *
 * All workers ask for a chunk at the time 0, in the order of their numbers, and again when they are done. Who asks at the same
 * time is served in the order in which the chunks were handed out that they come from. AWF is simulated in its first time step,
 * where it is WF.
 *
 * The time of a chunk is drawn at once, not iteration by iteration: a sum of exponential times is a gamma number, one of
 * two-point times a binomial one, and so on, exactly. Two are not exact. Of uniform times, a sum of more than 24 is
 * drawn from its normal limit, with the term for flatter tails. A sum of normal times that comes out below 0 is taken as 0, so
 * their mean should be several deviations.
 *
 * Runs are spread over the workers of an executor. Each run has random numbers of its own, made from the seed and the number
 * of the run, so the result is the same to the last digit whatever the number of workers.
 */
#ifndef THRUM_SIM_H
#define THRUM_SIM_H

#include <thrum/executor.h>
#include <thrum/schedule.h>

THRUM_BEGIN_C

typedef enum thrum_loop_model { THRUM_MODEL_HAGERUP, THRUM_MODEL_MSG } thrum_loop_model;

typedef enum thrum_sim_engine {
    THRUM_ENGINE_NATIVE,  /* an event queue of thrum's own */
    THRUM_ENGINE_SIMGRID, /* master and workers as actors of SimGrid that send messages; slow, an independent check */
} thrum_sim_engine;

/* Can the engine be used here? 0; or an error with a sentence that says why not. For SimGrid it takes as long as loading it,
 * some 50 ms. */
THRUM_API int thrum_sim_engine_check(thrum_sim_engine engine);

/* Worker number `worker` runs at `factor` times its speed from `from` until `until`, which may be INFINITY. Factors of
 * perturbations that overlap multiply; 0 is a worker that stands still, for a while. */
typedef struct thrum_perturbation {
    uint32_t worker;
    double from, until, factor;
} thrum_perturbation;

typedef struct thrum_loop_sim {
    thrum_technique technique;
    thrum_loop_facts facts; /* iterations and workers are needed; mean and deviation: 0 for those of the distribution */
    /* Times of iterations: "const:1", "uniform:A,B", "exp:MEAN", "twopoint:P" (1/P with probability P, else 0),
     * "normal:M,S", "gamma:K,THETA", "file:PATH" (one time a line: that of iteration i is line i, and after the last line it
     * begins again; empty lines, and what stands behind a #, do not count). */
    const char *times;
    thrum_loop_model model;
    thrum_sim_engine engine;
    uint64_t runs; /* 0: 1000 */
    uint64_t seed;
    const double *speeds; /* one for each worker, above 0; NULL: all 1. The cost h is not slowed */
    const thrum_perturbation *perturbations;
    size_t perturbation_count;
    /* Each run's wasted time is written here if it is not NULL: `runs` numbers. */
    double *wasted_times;
    /* Called now and then with the number of runs done, from whichever thread; may be NULL. Not 0: stop, which is an error. */
    int (*progress)(uint64_t done, uint64_t runs, void *ctx);
    void *ctx;
} thrum_loop_sim;

typedef struct thrum_loop_sim_result {
    double mean, standard_error, deviation, min, max; /* of the wasted time; deviation with runs - 1 */
    double chunks, makespan;                          /* means */
} thrum_loop_sim_result;

/* Simulates. NULL: the default executor. 0; or an error with a sentence, and the result is untouched. */
THRUM_API int thrum_loop_simulate(thrum_executor *ex, const thrum_loop_sim *sim, thrum_loop_sim_result *result);

THRUM_END_C

#endif
