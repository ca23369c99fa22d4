/* SPDX-License-Identifier: MIT
 *
 * prio: one queue for all, by priority. A worker takes the most urgent job that it can run, the oldest among equals.
 *
 * List scheduling as Graham described it (1966), the list being the user's priorities; StarPU has it under the same
 * name.
 */
#include "sched/policy_int.h"

typedef struct prio {
    thrum__heaps jobs;
    thrum__idlers idlers;
} prio;

static int begin(void *state, const thrum_world *world)
{
    return thrum__idlers_begin(&((prio *)state)->idlers, world);
}

static void end(void *state, const thrum_world *world)
{
    (void)world;
    thrum__idlers_end(&((prio *)state)->idlers);
}

static void push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    prio *p = state;
    (void)from;
    thrum__heaps_add(&p->jobs, job);
    thrum__idlers_wake_for(&p->idlers, world, job);
}

static thrum_job *pop(void *state, const thrum_world *world, int worker)
{
    prio *p = state;
    thrum_job *job = thrum__heaps_take_for(&p->jobs, world, worker);
    thrum__idlers_popped(&p->idlers, worker, job);
    if (job)
        thrum__idlers_wake_for_heaps(&p->idlers, world, &p->jobs);
    return job;
}

static void done(void *state, const thrum_world *world, const thrum_job *job, int worker, double seconds)
{
    (void)world, (void)job, (void)seconds;
    thrum__idlers_done(&((prio *)state)->idlers, worker);
}

const thrum_policy thrum__policy_prio = {
    .name = "prio",
    .about = "one queue for all workers, the most urgent first",
    .state_bytes = sizeof(prio),
    .begin = begin,
    .end = end,
    .push = push,
    .pop = pop,
    .done = done,
};
