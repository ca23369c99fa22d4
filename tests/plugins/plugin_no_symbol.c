/* SPDX-License-Identifier: MIT
 *
 * A library whose policy has another name than the runtime looks for.
 */
#include "plugin_common.h"

const thrum_policy my_policy = {.name = "newest-first", .push = stack_push, .pop = stack_pop};
