/* SPDX-License-Identifier: MIT
 *
 * A policy with a setting: it is told what that is, refuses what it cannot be, and tells it on.
 */
#include "plugin_common.h"

#include <stdlib.h>

typedef struct tuned {
    stack jobs; /* first: the functions of plugin_common.h see this alone */
    long depth;
} tuned;

/* The only key there is, so a text begins with it. */
static int begin(void *state, const thrum_world *world)
{
    tuned *t = state;
    const char *value = world->settings && *world->settings ? world->settings + sizeof "depth=" - 1 : "1";
    char *rest;
    t->depth = strtol(value, &rest, 10);
    if (*rest == '\0' && t->depth >= 1 && t->depth <= 9)
        return 0;
    thrum_fail(THRUM_EOPTION, "depth is '%s', but must be 1 to 9", value);
    return THRUM_EOPTION;
}

static void report(const void *state, const thrum_world *world, thrum_report_fn *tell, void *arg)
{
    (void)world;
    tell(arg, "depth", (double)((const tuned *)state)->depth);
}

static const thrum_setting depth_alone[] = {{"depth", "1", "1 to 9", "a number to be told"}, {0}};

const thrum_policy thrum_policy_plugin = {.name = "tuned",
                                          .state_bytes = sizeof(tuned),
                                          .begin = begin,
                                          .push = stack_push,
                                          .pop = stack_pop,
                                          .settings = depth_alone,
                                          .report = report};
