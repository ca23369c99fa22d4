/* SPDX-License-Identifier: MIT
 *
 * A policy that wakes everybody and gives jobs to workers that cannot run them: if there is one such among those who
 * ask, it is the first to get something.
 */
#include "plugin_common.h"

static void push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    stack *s = state;
    (void)from;
    job->link = s->top;
    s->top = job;
    for (int worker = 0; worker < world->workers; worker++)
        world->wake(world, worker);
}

static bool somebody_cannot(const thrum_world *world, const thrum_job *job)
{
    for (int worker = 0; worker < world->workers; worker++)
        if (!world->can_run(world, job, worker))
            return true;
    return false;
}

static thrum_job *pop(void *state, const thrum_world *world, int worker)
{
    stack *s = state;
    thrum_job *job = s->top;
    if (!job || (somebody_cannot(world, job) && world->can_run(world, job, worker)))
        return NULL;
    s->top = job->link;
    return job;
}

const thrum_policy thrum_policy_plugin = {
    .name = "wrong-worker", .state_bytes = sizeof(stack), .push = push, .pop = pop};
