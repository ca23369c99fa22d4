/* SPDX-License-Identifier: MIT
 *
 * A policy that hands out each job twice: it remembers the last job popped and gives it to whoever asks next.
 */
#include "plugin_common.h"

typedef struct twice {
    stack jobs;
    thrum_job *again;
} twice;

static thrum_job *pop(void *state, const thrum_world *world, int worker)
{
    twice *t = state;
    thrum_job *job = t->again;
    t->again = NULL;
    if (job)
        return job;
    job = stack_pop(&t->jobs, world, worker);
    t->again = job;
    if (job)
        wake_all(world, job);
    return job;
}

const thrum_policy thrum_policy_plugin = {
    .name = "twice", .state_bytes = sizeof(twice), .push = stack_push, .pop = pop};
