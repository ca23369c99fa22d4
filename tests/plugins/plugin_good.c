/* SPDX-License-Identifier: MIT
 *
 * A policy that keeps its contract: the newest job first.
 */
#include "plugin_common.h"

const thrum_policy thrum_policy_plugin = {
    .name = "newest-first",
    .about = "one stack for all workers",
    .state_bytes = sizeof(stack),
    .push = stack_push,
    .pop = stack_pop,
};
