/* SPDX-License-Identifier: MIT
 *
 * random: each job goes to some worker that can run it, all of them being equally likely, and waits for its turn there.
 *
 * Not meant to be good: it is what cleverer policies are compared with, and a good way to move data about in tests.
 * (StarPU's namesake weighs workers by their speed.)
 */
#include "sched/policy_int.h"

#include "base/alloc.h"
#include "base/fault.h"

typedef struct random {
    thrum__list *queues; /* by worker */
    thrum__idlers idlers;
} random;

static void end(void *state, const thrum_world *world)
{
    random *r = state;
    (void)world;
    thrum__free(r->queues);
    thrum__idlers_end(&r->idlers);
}

static int begin(void *state, const thrum_world *world)
{
    random *r = state;
    r->queues = thrum__zalloc((size_t)world->workers * sizeof *r->queues);
    int err = r->queues ? thrum__idlers_begin(&r->idlers, world)
                        : thrum__fault(THRUM_ENOMEM, "no memory for the queues of %d workers", world->workers);
    if (err)
        end(state, world);
    return err;
}

/* The number of those that can is not known before all have been asked, so each takes the place of the one before it
 * with the probability that makes all equal: 1 / 1, 1 / 2, 1 / 3, ... */
static int draw(const thrum_world *world, const thrum_job *job)
{
    int chosen = 0;
    uint64_t able = 0;
    for (int worker = 0; worker < world->workers; worker++)
        if (world->can_run(world, job, worker) && (able++ == 0 || world->random(world) % able == 0))
            chosen = worker;
    return chosen;
}

static void push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    random *r = state;
    int worker = draw(world, job);
    (void)from;
    thrum__list_append(&r->queues[worker], job);
    world->prefetch(world, job, world->place[worker].node);
    thrum__idlers_wake(&r->idlers, world, worker);
}

static thrum_job *pop(void *state, const thrum_world *world, int worker)
{
    random *r = state;
    thrum_job *job = r->queues[worker].first;
    (void)world;
    thrum__idlers_popped(&r->idlers, worker, job);
    if (job)
        thrum__list_remove(&r->queues[worker], job);
    return job;
}

static void done(void *state, const thrum_world *world, const thrum_job *job, int worker, double seconds)
{
    (void)world, (void)job, (void)seconds;
    thrum__idlers_done(&((random *)state)->idlers, worker);
}

const thrum_policy thrum__policy_random = {
    .name = "random",
    .about = "each job to a random worker that can run it",
    .state_bytes = sizeof(random),
    .begin = begin,
    .end = end,
    .push = push,
    .pop = pop,
    .done = done,
};
