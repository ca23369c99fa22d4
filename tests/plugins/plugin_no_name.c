/* SPDX-License-Identifier: MIT
 *
 * A policy whose name is none.
 */
#include "plugin_common.h"

const thrum_policy thrum_policy_plugin = {.name = "two words", .push = stack_push, .pop = stack_pop};
