/* SPDX-License-Identifier: MIT
 *
 * The SimGrid engine of the loop simulator: one master actor, p worker actors on hosts of their own, and messages
 * between them over links that take no time. It shares with the native engine the schedule contract (thrum/schedule.h)
 * and the source of random times, which are handed to it as functions, and nothing else: clock, order of events, speeds
 * and perturbations are SimGrid's.
 *
 * SimGrid wants a process of its own: one engine for its whole life, signal handlers, a clock that never goes back. So
 * it is given one. thrum__simgrid_simulate forks a child, which loads the module libthrum-simgrid.so, builds the
 * platform and forks again for each run; results come back through a pipe. libthrum itself is not linked with SimGrid,
 * and the calling process never sees it. See docs/decisions.
 *
 * What both engines must do alike:
 * - All workers ask at the time 0, in the order 0 .. p-1. Requests of the same time are answered in the order in which
 *   the chunks were handed out that they come after (first requests: by the worker's number). So a worker whose chunk
 *   took no time at all asks again behind those who wait already.
 * - A request: thrum_schedule_finished for the chunk before (not for the first request), then thrum_schedule_next,
 *   then, if there is a chunk, `draw` for it.
 * - A chunk keeps its worker first for `delay`, whatever the worker's speed, then for draw()/speed; that second part,
 *   as measured, is the `time` of thrum_schedule_finished, and facts.cost (h), in both models, is its `cost`.
 * - Perturbations that overlap multiply.
 */
#ifndef THRUM_SIM_SIMGRID_H
#define THRUM_SIM_SIMGRID_H

#include <thrum/sim.h>

/* What one run gave. */
typedef struct thrum__simgrid_run {
    uint64_t run;
    double makespan; /* when the last worker was done */
    double work;     /* the sum of all that was drawn */
    uint64_t chunks;
} thrum__simgrid_run;

typedef struct thrum__simgrid_job {
    uint32_t workers;
    double delay;         /* h if it is on the time line of the worker (Hagerup's model), else 0 */
    double cost;          /* h, for thrum_schedule_finished */
    const double *speeds; /* NULL: all 1 */
    const thrum_perturbation *perturbations;
    size_t perturbation_count;
    uint64_t runs;
    uint32_t processes; /* runs at the same time; 0: 1 */
    /* Run number `run` begins: the schedule at its beginning, and `draw` gives this run's times from now on. Called in
     * a child process, as `draw` is: what they write is gone at the end of the run. */
    thrum_schedule *(*begin)(void *ctx, uint64_t run);
    /* How long the iterations of the chunk take together at speed 1. Called in the order in which chunks are handed
     * out. */
    double (*draw)(void *ctx, const thrum_chunk *chunk);
    /* A run is done. Called in the calling process, by the calling thread, in any order of runs. Not 0: stop, and that
     * is what thrum__simgrid_simulate returns; done has left a sentence. */
    int (*done)(void *ctx, const thrum__simgrid_run *run);
    void *ctx;
} thrum__simgrid_job;

/* 0; what `done` returned; THRUM_ESYSTEM with a sentence: there is no SimGrid engine here, or it failed. */
int thrum__simgrid_simulate(const thrum__simgrid_job *job);

#endif
