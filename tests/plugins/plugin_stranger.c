/* SPDX-License-Identifier: MIT
 *
 * A policy that hands out something that was never pushed.
 */
#include "plugin_common.h"

static thrum_job *pop(void *state, const thrum_world *world, int worker)
{
    static thrum_job stranger;
    (void)world, (void)worker;
    return ((stack *)state)->top ? &stranger : NULL;
}

const thrum_policy thrum_policy_plugin = {
    .name = "stranger", .state_bytes = sizeof(stack), .push = stack_push, .pop = pop};
