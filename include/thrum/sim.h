/* SPDX-License-Identifier: MIT
 *
 * Simulation: schedules of loops, and policies of tasks (further down), on machines that are described, not owned.
 *
 * A loop of n iterations with random times is handed out to p workers by the same rules that `thrum_for` uses, on a
 * virtual clock, many times over. What comes out is the *wasted time*: how much longer a worker was there, on average,
 * than the iterations took.
 *
 * Two models of what handing out a chunk costs (h) are in use:
 * - Hagerup's: a chunk keeps its worker for h and for its iterations. Wasted time = makespan - (sum of times)/p.
 * - of the SimGrid-MSG studies: nothing is put on the time line (rules that ask for h still get it), and
 *   h * chunks/p is added to the wasted time afterwards.
 * Times in the sum are those at speed 1, whatever the speeds of the workers: so the technique that wastes the least is
 * the one that is done first.
 *
 * All workers ask for a chunk at the time 0, in the order of their numbers, and again when they are done. Who asks at
 * the same time is served in the order in which the chunks were handed out that they come from. AWF is simulated in its
 * first time step, where it is WF.
 *
 * The time of a chunk is drawn at once, not iteration by iteration: a sum of exponential times is a gamma number, one
 * of two-point times a binomial one, and so on, exactly. Two are not exact. Of uniform times, a sum of more than 24 is
 * drawn from its normal limit, with the term for flatter tails. A sum of normal times that comes out below 0 is taken
 * as 0, so their mean should be several deviations.
 *
 * Runs are spread over the workers of an executor. Each run has random numbers of its own, made from the seed and the
 * number of the run, so the result is the same to the last digit whatever the number of workers.
 */
#ifndef THRUM_SIM_H
#define THRUM_SIM_H

#include <thrum/executor.h>
#include <thrum/machine.h>
#include <thrum/policy.h>
#include <thrum/schedule.h>
#include <thrum/workload.h>

THRUM_BEGIN_C

typedef enum thrum_loop_model { THRUM_MODEL_HAGERUP, THRUM_MODEL_MSG } thrum_loop_model;

typedef enum thrum_sim_engine {
    THRUM_ENGINE_NATIVE, /* an event queue of thrum's own */
    /* On SimGrid, in a process of its own; slow, an independent check. Loops: master and workers as actors that send
     * messages. Tasks: kernels and copies as its executions and communications. */
    THRUM_ENGINE_SIMGRID,
} thrum_sim_engine;

/* Can the engine be used here? 0; or an error with a sentence that says why not. For SimGrid it takes as long as
 * loading it, some 50 ms. */
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
     * "normal:M,S", "gamma:K,THETA", "file:PATH" (one time a line: that of iteration i is line i, and after the last
     * line it begins again; empty lines, and what stands behind a #, do not count). */
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
    /* Called now and then with the number of runs done, from whichever thread; may be NULL. Not 0: stop, which is an
     * error. */
    int (*progress)(uint64_t done, uint64_t runs, void *ctx);
    void *ctx;
} thrum_loop_sim;

typedef struct thrum_loop_sim_result {
    double mean, standard_error, deviation, min, max; /* of the wasted time; deviation with runs - 1 */
    double chunks, makespan;                          /* means */
} thrum_loop_sim_result;

/* Simulates. NULL: the default executor. 0; or an error with a sentence, and the result is untouched. */
THRUM_API int thrum_loop_simulate(thrum_executor *ex, const thrum_loop_sim *sim, thrum_loop_sim_result *result);

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

/* A workload (workload.h) on a machine (machine.h) under a policy: the policies that executors use, unchanged, on a
 * virtual clock.
 *
 * All tasks are known from the start; or, where the machine says how long an insertion takes, they come one after the
 * other in their order, from somebody who has a core for itself and who waits while the machine's window is full. A
 * task that is ready is pushed; a worker pops, has its data brought to its memory node, runs it, and pops again;
 * `ahead` more are popped and staged while it runs. Data is copied on its first use on a node, and a write makes other
 * copies invalid. Copies over one link in one direction are served one after the other; those of several links share
 * the root, and the network, evenly. A device that is full throws out what was used longest ago, and copies it home
 * first if it is the only copy. Content stays where it is when the last task has ended.
 *
 * Who ends a task has the first choice of what that makes ready, the task that was inserted last first, as in a flow;
 * others look for tasks in the order in which they are woken. Workers of one device share it: what a policy is told
 * that a task takes there is what it takes while all of them are at work. Of a reduction nothing is copied; its content
 * is where the last of its tasks ran.
 *
 * The policy "steal" is none: it is the executor's own work stealing (no data moves), with its rules about who searches
 * and who sleeps (Taskflow's lemma 1 and theorem 3, or thrum's own), checked at every event: a run in which one is
 * broken is an error, and a fault of thrum's. Settings: rule=thrum or taskflow, attempts of a
 * round (ten times the workers), attempt (100ns), wake (5us). Insertions take no time there. A task for both kinds of
 * workers goes to cores.
 *
 * By the SimGrid engine the whole run, with the functions of the policy, is done by a child of the caller: what they
 * write to memory is gone afterwards, but for what the policy reports. See docs/guide/simulation.md. Not for "steal".
 *
 * Runs are deterministic: the same description and seed give the same result to the last digit. One run uses one
 * thread; any number of them may run at the same time. */
typedef struct thrum_sim {
    const thrum_machine *machine;
    const thrum_workload *workload;
    const char *policy; /* with settings: "laheteroprio;formula=auto;l=3,1"; NULL: "fifo" */
    uint64_t seed;      /* of noise, times and the policy's random numbers */
    int ahead;          /* tasks that a worker has staged besides the one that it runs */
    thrum_sim_engine engine;
    const char *trace;       /* a trace file as of a real run is written here; NULL: none */
    thrum_report_fn *report; /* is told what the policy has counted; may be NULL */
    void *ctx;
} thrum_sim;

/* Seconds of one worker: busy + waiting + held + starved + finished = makespan. */
typedef struct thrum_sim_worker {
    uint64_t tasks;
    uint64_t refused; /* pops that gave nothing; of "steal", attempts that found nothing */
    double busy;      /* in tasks */
    double waiting;   /* for data, with a task in hand */
    double crowded;   /* part of `waiting` in which there was no memory for it on the device */
    double held;      /* without a task, though one was ready that it could have run */
    double starved;   /* without a task, and none was ready for it */
    double finished;  /* after the last task that it could have run had begun elsewhere or here: at the end */
} thrum_sim_worker;

typedef struct thrum_sim_link {
    int from, to; /* memory nodes */
    uint64_t copies, bytes;
    double busy;
} thrum_sim_link;

typedef struct thrum_sim_node {
    uint64_t evictions, written_back, most_used;
} thrum_sim_node;

typedef struct thrum_sim_result {
    double makespan;
    /* Lower bounds: the longest path with each task on its fastest worker; all work divided over all workers, the best
     * fraction of each kind of task on each kind of worker; the larger of both. Noise is in them as drawn. */
    double critical_path, area, bound;
    uint64_t tasks, copies, bytes, events;
    double idle; /* 1 - busy/(workers * makespan) */
    int worker_count, link_count, node_count;
    thrum_sim_worker *workers;
    thrum_sim_link *links; /* those that something went over */
    thrum_sim_node *nodes;
    /* Of "steal": how many searched at once, at most; steals, and attempts in vain; of stretches of time without work,
     * the most attempts in vain as a share of what theory allows (Taskflow, theorem 3), at most 1. Other policies that
     * steal report what they count. */
    int most_searching;
    uint64_t steals, wasted_steals;
    double worst_waste;
} thrum_sim_result;

/* 0 with a result, which is to be freed; or an error with a sentence: THRUM_EPOLICY (the policy lost a task, popped one
 * twice or for a worker that cannot run it; "steal" broke one of its rules), THRUM_EDEVICE (a task that fits nowhere),
 * THRUM_ECYCLE (tasks that wait for each other), THRUM_EDATA (one reads what nobody has written), THRUM_EINVAL (a
 * description that is NULL or out of range, a codelet without a speed on any worker that could run it, a task for a
 * worker that is not there or cannot run it, a policy that is not known), THRUM_EOPTION (a setting of the policy's),
 * THRUM_ELIMIT (too many workers, memory nodes or kinds of devices), THRUM_ESYSTEM (a trace that cannot be written; no
 * SimGrid here, or it has failed), THRUM_ENOMEM. */
THRUM_API int thrum_simulate(const thrum_sim *sim, thrum_sim_result **result);
THRUM_API void thrum_sim_result_free(thrum_sim_result *result);

THRUM_END_C

#endif
