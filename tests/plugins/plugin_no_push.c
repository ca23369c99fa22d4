/* SPDX-License-Identifier: MIT
 *
 * A policy without a push.
 */
#include <thrum/policy.h>

static thrum_job *pop(void *state, const thrum_world *world, int worker)
{
    (void)state, (void)world, (void)worker;
    return NULL;
}

const thrum_policy thrum_policy_plugin = {.name = "no-push", .pop = pop};
