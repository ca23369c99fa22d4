/* SPDX-License-Identifier: MIT
 *
 * prio: one queue for all, by priority. A worker takes the most urgent job that it can run, the oldest among equals.
 *
 * List scheduling as Graham described it (1966), the list being the user's priorities; StarPU has it under the same name.
 */
#include "sched/policy_int.h"

typedef struct prio {
    thrum__heap jobs[THRUM__ARCH_SETS];
    thrum__idlers idlers;
} prio;

static int begin(void *state, const thrum_world *world)
{
    return thrum__idlers_begin(&((prio *)state)->idlers, world);
}

static void end(void *state, const thrum_world *world)
{
    (void)world;
    thrum__idlers_end(&((prio *)state)->idlers);
}

static void add(prio *p, thrum_job *job)
{
    thrum__heap_add(&p->jobs[thrum__arch_set(job)], job);
}

static void push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    prio *p = state;
    (void)from;
    add(p, job);
    thrum__idlers_wake_for(&p->idlers, world, job);
}

/* The most urgent of each set of architectures with the worker's in it; all but the most urgent of those go back. */
static thrum_job *take(prio *p, const thrum_world *world, int worker)
{
    thrum_job *best = NULL;
    for (unsigned set = 1; set < THRUM__ARCH_SETS; set++) {
        const thrum_job *top = p->jobs[set].top;
        if (!(set >> world->place[worker].arch & 1) || !top || (best && thrum__more_urgent(best, top)))
            continue;
        thrum_job *job = thrum__heap_take_for(&p->jobs[set], world, worker);
        if (job && best && thrum__more_urgent(best, job))
            add(p, job);
        else if (job) {
            if (best)
                add(p, best);
            best = job;
        }
    }
    return best;
}

static thrum_job *pop(void *state, const thrum_world *world, int worker)
{
    prio *p = state;
    thrum_job *job = take(p, world, worker);
    thrum__idlers_note(&p->idlers, worker, !job);
    for (unsigned set = 1; job && p->idlers.count && set < THRUM__ARCH_SETS; set++)
        if (p->jobs[set].top)
            thrum__idlers_wake_for(&p->idlers, world, p->jobs[set].top);
    return job;
}

const thrum_policy thrum__policy_prio = {
    .name = "prio",
    .about = "one queue for all workers, the most urgent first",
    .state_bytes = sizeof(prio),
    .begin = begin,
    .end = end,
    .push = push,
    .pop = pop,
};
