/* SPDX-License-Identifier: MIT
 *
 * What the plug-ins of the tests begin with: one list, the newest first, which any worker may take from. A plug-in that
 * differs in one function names its own.
 */
#ifndef TESTS_PLUGINS_PLUGIN_COMMON_H
#define TESTS_PLUGINS_PLUGIN_COMMON_H

#include <thrum/policy.h>

typedef struct stack {
    thrum_job *top;
} stack;

static inline void wake_all(const thrum_world *world, const thrum_job *job)
{
    for (int worker = 0; worker < world->workers; worker++)
        if (world->can_run(world, job, worker))
            world->wake(world, worker);
}

static inline void stack_push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    stack *s = state;
    (void)from;
    job->link = s->top;
    s->top = job;
    wake_all(world, job);
}

static inline thrum_job *stack_pop(void *state, const thrum_world *world, int worker)
{
    stack *s = state;
    for (thrum_job **place = &s->top; *place; place = &(*place)->link)
        if (world->can_run(world, *place, worker)) {
            thrum_job *job = *place;
            *place = job->link;
            return job;
        }
    return NULL;
}

#endif
