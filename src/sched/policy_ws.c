/* SPDX-License-Identifier: MIT
 *
 * ws: work stealing. Each worker has a queue; one whose queue is empty takes from another's, beginning at a random one.
 *
 * A worker takes the newest of what its own jobs have made ready: that works on data which it has just written, and
 * goes deep before it goes wide, which keeps few jobs waiting (Blumofe and Leiserson, 1999). A thief takes from the
 * other end: the oldest, whose data is the likeliest to have left the victim's caches, and from which the most is
 * likely to follow. Jobs that come from elsewhere, from the main program or from workers that cannot run them, go to
 * the back in their order, so a worker comes to them when its own are done, the oldest first.
 *
 * Priorities do not count. Built-in stealing is the same idea without a lock, and faster; this one is for machines with
 * devices.
 */
#include "sched/policy_int.h"

#include "base/alloc.h"
#include "base/fault.h"

int thrum__ws_begin(void *state, const thrum_world *world)
{
    thrum__ws *ws = state;
    ws->queues = thrum__zalloc((size_t)world->workers * sizeof *ws->queues);
    int err = ws->queues ? thrum__idlers_begin(&ws->idlers, world)
                         : thrum__fault(THRUM_ENOMEM, "no memory for the queues of %d workers", world->workers);
    if (err)
        thrum__ws_end(state, world);
    return err;
}

void thrum__ws_end(void *state, const thrum_world *world)
{
    thrum__ws *ws = state;
    (void)world;
    thrum__free(ws->queues);
    thrum__free(ws->victims);
    thrum__idlers_end(&ws->idlers);
}

/* Whose queue gets a job from elsewhere: an idle worker's, else they take turns. */
static int host(thrum__ws *ws, const thrum_world *world, const thrum_job *job)
{
    int worker = thrum__idlers_find(&ws->idlers, world, job);
    if (worker != THRUM_ANY_WORKER)
        return worker;
    worker = ws->next;
    while (!world->can_run(world, job, worker))
        worker = (worker + 1) % world->workers;
    ws->next = (worker + 1) % world->workers;
    return worker;
}

void thrum__ws_push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    thrum__ws *ws = state;
    int owner = from;
    if (from != THRUM_ANY_WORKER && world->can_run(world, job, from)) {
        thrum__list_prepend(&ws->queues[from], job);
    } else {
        owner = host(ws, world, job);
        thrum__list_append(&ws->queues[owner], job);
    }
    if (!thrum__idlers_wake(&ws->idlers, world, owner))
        thrum__idlers_wake_for(&ws->idlers, world, job); /* to steal it */
}

static thrum_job *steal(thrum__ws *ws, const thrum_world *world, int worker, thrum__list **from)
{
    int others = world->workers - 1;
    int first = ws->victims || others == 0 ? 0 : (int)(world->random(world) % (uint64_t)others);
    for (int i = 0; i < others; i++) {
        int victim =
            ws->victims ? ws->victims[worker * others + i] : (worker + 1 + (first + i) % others) % world->workers;
        thrum_job *job = thrum__list_last_for(&ws->queues[victim], world, worker);
        *from = &ws->queues[victim];
        if (job)
            return job;
    }
    return NULL;
}

thrum_job *thrum__ws_pop(void *state, const thrum_world *world, int worker)
{
    thrum__ws *ws = state;
    thrum__list *from = &ws->queues[worker];
    thrum_job *job = from->first; /* a worker can run all that is in its own queue */
    if (!job) {
        job = steal(ws, world, worker, &from);
        ws->steals += job != NULL;
        ws->wasted += !job && world->workers > 1;
    }
    thrum__idlers_popped(&ws->idlers, worker, job);
    if (!job)
        return NULL;
    thrum__list_remove(from, job);
    if (ws->idlers.count && from->last)
        thrum__idlers_wake_for(&ws->idlers, world, from->last);
    return job;
}

void thrum__ws_done(void *state, const thrum_world *world, const thrum_job *job, int worker, double seconds)
{
    (void)world, (void)job, (void)seconds;
    thrum__idlers_done(&((thrum__ws *)state)->idlers, worker);
}

void thrum__ws_report(const void *state, const thrum_world *world, thrum_report_fn *tell, void *arg)
{
    const thrum__ws *ws = state;
    (void)world;
    tell(arg, "steals", (double)ws->steals);
    tell(arg, "wasted_steals", (double)ws->wasted);
}

const thrum_policy thrum__policy_ws = {
    .name = "ws",
    .about = "a queue for each worker, newest first; thieves take the oldest of a random other",
    .state_bytes = sizeof(thrum__ws),
    .begin = thrum__ws_begin,
    .end = thrum__ws_end,
    .push = thrum__ws_push,
    .pop = thrum__ws_pop,
    .done = thrum__ws_done,
    .report = thrum__ws_report,
};
