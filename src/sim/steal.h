/* SPDX-License-Identifier: MIT
 *
 * Work stealing on a virtual clock: workers in domains (cores; each kind of devices), each with deques, that search,
 * work and sleep. Which of them sleep and whom to wake is decided by the very state machine that executors use
 * (sched/life.h), by one of two rules:
 *
 *   thrum     somebody searches while there is work to be found: whoever adds work wakes one if nobody searches; the
 *             last searcher that finds work wakes the next if there is more; whoever goes to sleep looks once more.
 *   taskflow  somebody searches while anybody works (Huang, Lin, Lin and Lin, TPDS 2022, algorithms 2 to 8): the first
 *             to become active wakes a thief, the last thief to become active wakes another, and the last thief goes to
 *             sleep only when nobody is active and no queue has a task.
 *
 * Checked at every event, for each domain:
 *   thrum     while there is work in the domain, somebody searches or has been woken to, unless all are awake.
 *   taskflow  while some but not all workers are active, another one searches or has been woken to (lemma 1).
 * Checked over every stretch of time in which there is nothing to be found in the domain, for attempts in vain (theorem
 * 3, with its constants): at most A (W + 1) under thrum's rule, and A (W + 1 + E/e) under taskflow's; A attempts make a
 * round that takes e seconds, the domain has W workers, and no task of it takes longer than E.
 * A run in which one of this does not hold ends there, with an error.
 */
#ifndef THRUM_SIM_STEAL_H
#define THRUM_SIM_STEAL_H

#include "model/workload.h"

enum thrum__steal_rule { THRUM__STEAL_THRUM, THRUM__STEAL_TASKFLOW };

typedef struct thrum__steal_setting {
    enum thrum__steal_rule rule;
    uint64_t attempts; /* of a round; 0: ten times the number of workers */
    double attempt;    /* seconds that one takes */
    double wake;       /* seconds from waking to the first attempt */
} thrum__steal_setting;

/* What stands behind "steal": "rule=taskflow;attempts=440;attempt=100ns;wake=5us", or "". 0 or THRUM_EOPTION with a
 * sentence. */
int thrum__steal_read(const char *text, thrum__steal_setting *setting);

typedef struct thrum__steal_job {
    thrum__steal_setting setting;
    const thrum__wl_order *order;
    int tasks, domains;
    const char *const *names; /* of domains, for sentences */
    const int *workers;       /* by domain */
    const int *domain;        /* by task */
    const double *seconds;    /* by task */
    uint64_t seed;
    /* A worker, numbered domain by domain, has run a task; may be NULL. */
    void (*ran)(void *ctx, int worker, int task, double begin, double end);
    void *ctx;
} thrum__steal_job;

typedef struct thrum__steal_worker {
    uint64_t tasks, steals, wasted;
    uint64_t sleeps, wakes; /* the time before the beginning is a sleep */
    double busy, searching, asleep;
} thrum__steal_worker;

typedef struct thrum__steal_result {
    double makespan;
    uint64_t events, steals, wasted, wakes;
    int most_searching;
    double worst_waste; /* of all stretches without work, the most attempts in vain, as a share of what is allowed */
} thrum__steal_result;

/* A domain at some moment. */
typedef struct thrum__steal_view {
    enum thrum__steal_rule rule;
    const char *domain;
    double now;
    int workers, active, searching;
    uint64_t available; /* tasks that wait in it */
    uint64_t in_vain;   /* attempts since something was to be found in it */
    double allowed;     /* of them */
} thrum__steal_view;

/* 0; or THRUM_EPOLICY with a sentence, if that is against the rule. */
int thrum__steal_check(const thrum__steal_view *view);

/* 0, THRUM_ENOMEM, or THRUM_EPOLICY of the first check that fails. `workers` has room for all of them. */
int thrum__steal_run(const thrum__steal_job *job, thrum__steal_result *result, thrum__steal_worker *workers);

#endif
