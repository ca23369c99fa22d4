/* SPDX-License-Identifier: MIT
 *
 * A policy that wakes everybody and hands out nothing.
 */
#include "plugin_common.h"

static thrum_job *pop(void *state, const thrum_world *world, int worker)
{
    (void)state, (void)world, (void)worker;
    return NULL;
}

const thrum_policy thrum_policy_plugin = {
    .name = "never", .state_bytes = sizeof(stack), .push = stack_push, .pop = pop};
