/* SPDX-License-Identifier: MIT
 *
 * A policy that would hand out its jobs, but never wakes anybody.
 */
#include "plugin_common.h"

static void push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    stack *s = state;
    (void)world, (void)from;
    job->link = s->top;
    s->top = job;
}

const thrum_policy thrum_policy_plugin = {
    .name = "asleep", .state_bytes = sizeof(stack), .push = push, .pop = stack_pop};
