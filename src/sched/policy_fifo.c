/* SPDX-License-Identifier: MIT
 *
 * fifo: one queue for all. A worker takes the oldest job that it can run.
 *
 * What everybody begins with, and a fair one to compare others with (StarPU calls its own "eager"): it keeps all
 * workers busy while there is work, and knows nothing of where data is or how fast a worker would be.
 */
#include "sched/policy_int.h"
#include "sched/policy_queue.h"

typedef struct fifo {
    thrum__shelf jobs;
    thrum__idlers idlers;
} fifo;

static int begin(void *state, const thrum_world *world)
{
    return thrum__idlers_begin(&((fifo *)state)->idlers, world);
}

static void end(void *state, const thrum_world *world)
{
    (void)world;
    thrum__idlers_end(&((fifo *)state)->idlers);
}

static void push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    fifo *f = state;
    (void)from;
    thrum__shelf_append(&f->jobs, job);
    thrum__idlers_wake_for(&f->idlers, world, job);
}

static thrum_job *pop(void *state, const thrum_world *world, int worker)
{
    fifo *f = state;
    thrum_job *job = thrum__shelf_take_for(&f->jobs, world, worker);
    thrum__idlers_popped(&f->idlers, worker, job);
    if (job)
        thrum__idlers_wake_for_shelf(&f->idlers, world, &f->jobs);
    return job;
}

static void done(void *state, const thrum_world *world, const thrum_job *job, int worker, double seconds)
{
    (void)world, (void)job, (void)seconds;
    thrum__idlers_done(&((fifo *)state)->idlers, worker);
}

const thrum_policy thrum__policy_fifo = {
    .name = "fifo",
    .about = "one queue for all workers, first come, first served",
    .state_bytes = sizeof(fifo),
    .begin = begin,
    .end = end,
    .push = push,
    .pop = pop,
    .done = done,
};
