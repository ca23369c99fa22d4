/* SPDX-License-Identifier: MIT
 *
 * dmda: each job goes to the worker that is expected to finish it first, when it becomes ready.
 *
 *   finish = the later of (the worker's end of what it has, the arrival of the job's data) + the kernel's time
 *
 * The choice of HEFT (Topcuoglu, Hariri, Wu, 2002), made on line as StarPU does under the same name ("deque model data
 * aware"). Data is fetched to the chosen node while the job waits, hence the later of the two and not their sum; what
 * is fetched to one node comes one after the other, so a node whose link has much to do is not taken for near. Jobs
 * wait in one line per worker, the oldest first, and stay there: a bad expectation is paid for once, for a worker's
 * expected end is counted from what has really been done.
 *
 * **Times that nobody knows.** Each kind of worker has to run a codelet some times before models tell anything. Until
 * they do, a job is *undecided* and waits in one queue for all: whoever comes first takes it, in turn with its own line
 * by age. So all kinds of workers that are free get samples, each as many as its speed allows, and no line fills up
 * with what nobody could judge. When a worker comes upon a job whose times have become known for all who could run it,
 * the job is placed like any other.
 */
#include "sched/policy_int.h"

#include "base/alloc.h"
#include "base/fault.h"

int thrum__dmda_begin(void *state, const thrum_world *world)
{
    thrum__dmda *d = state;
    d->lanes = thrum__zalloc((size_t)world->workers * sizeof *d->lanes);
    d->link_free = thrum__zalloc((size_t)world->nodes * sizeof *d->link_free);
    int err = d->lanes && d->link_free
                  ? thrum__idlers_begin(&d->idlers, world)
                  : thrum__fault(THRUM_ENOMEM, "no memory for the lines of %d workers", world->workers);
    if (err)
        thrum__dmda_end(state, world);
    return err;
}

void thrum__dmda_end(void *state, const thrum_world *world)
{
    thrum__dmda *d = state;
    (void)world;
    thrum__free(d->lanes);
    thrum__free(d->link_free);
    thrum__idlers_end(&d->idlers);
}

/* ---- Choosing ---------------------------------------------------------------------------------------------------- */

typedef struct choice {
    int worker; /* THRUM_ANY_WORKER: none yet */
    double end; /* when the worker will be done with what it has */
    double arrival, finish;
} choice;

static double later(double a, double b)
{
    return a > b ? a : b;
}

static double expected_end(const thrum__lane *lane, double now)
{
    return later(now, lane->since + lane->hand_cost) + lane->waiting_cost;
}

static double expected_arrival(const thrum__dmda *d, const thrum_world *world, const thrum_job *job, int node,
                               double now)
{
    double seconds = world->transfer_seconds(world, job, node);
    return seconds > 0 ? later(now, d->link_free[node]) + seconds : now;
}

/* The worker with the earliest finish, the first among equals; none if somebody who could run it would take nobody
 * knows how long. */
static choice choose(const thrum__dmda *d, const thrum_world *world, const thrum_job *job)
{
    double now = world->now(world), arrival = 0;
    choice best = {.worker = THRUM_ANY_WORKER};
    for (int worker = 0, node = -1; worker < world->workers; worker++) {
        if (!world->can_run(world, job, worker))
            continue;
        double seconds = world->seconds(world, job, worker);
        if (seconds < 0)
            return (choice){.worker = THRUM_ANY_WORKER};
        if (world->place[worker].node != node) {
            node = world->place[worker].node;
            arrival = expected_arrival(d, world, job, node, now);
        }
        double end = expected_end(&d->lanes[worker], now), finish = later(end, arrival) + seconds;
        if (best.worker == THRUM_ANY_WORKER || finish < best.finish)
            best = (choice){worker, end, arrival, finish};
    }
    return best;
}

/* False: nobody knows where it belongs. */
static bool place(thrum__dmda *d, const thrum__lane_order *order, const thrum_world *world, thrum_job *job)
{
    choice best = choose(d, world, job);
    if (best.worker == THRUM_ANY_WORKER)
        return false;
    thrum__lane *lane = &d->lanes[best.worker];
    int node = world->place[best.worker].node;
    job->key = best.finish - best.end;
    order->add(lane, job);
    lane->waiting++;
    lane->waiting_cost += job->key;
    d->link_free[node] = later(d->link_free[node], best.arrival);
    world->prefetch(world, job, node);
    thrum__idlers_wake(&d->idlers, world, best.worker);
    return true;
}

void thrum__dmda_push(thrum__dmda *d, const thrum__lane_order *order, const thrum_world *world, thrum_job *job)
{
    if (place(d, order, world, job))
        return;
    thrum__heaps_add(&d->undecided, job);
    thrum__idlers_wake_for(&d->idlers, world, job);
}

/* ---- Handing out ------------------------------------------------------------------------------------------------- */

static thrum_job *take_waiting(thrum__lane *lane, const thrum__lane_order *order, const thrum_world *world, int worker)
{
    thrum_job *job = order->take(lane, world, worker);
    if (!job)
        return NULL;
    lane->waiting_cost = --lane->waiting ? lane->waiting_cost - job->key : 0;
    return job;
}

/* One that is undecided still and comes before all in the worker's line. Those that are not are placed, maybe in that
 * line. */
static thrum_job *take_undecided(thrum__dmda *d, const thrum__lane_order *order, const thrum_world *world, int worker)
{
    thrum_job *job;
    while ((job = thrum__heaps_take_for(&d->undecided, world, worker))) {
        const thrum_job *first = order->first(&d->lanes[worker]);
        if (first && order->sooner(first, job)) {
            thrum__heaps_add(&d->undecided, job);
            return NULL;
        }
        if (!place(d, order, world, job))
            break;
    }
    return job;
}

thrum_job *thrum__dmda_pop(thrum__dmda *d, const thrum__lane_order *order, const thrum_world *world, int worker)
{
    thrum__lane *lane = &d->lanes[worker];
    thrum_job *job = take_undecided(d, order, world, worker);
    if (!job)
        job = take_waiting(lane, order, world, worker);
    thrum__idlers_popped(&d->idlers, worker, job);
    if (!job)
        return NULL;
    if (d->idlers.of[worker].in_hands == 1)
        lane->since = world->now(world);
    lane->hand_cost += job->key;
    thrum__idlers_wake_for_heaps(&d->idlers, world, &d->undecided);
    return job;
}

void thrum__dmda_done(void *state, const thrum_world *world, const thrum_job *job, int worker, double seconds)
{
    thrum__dmda *d = state;
    thrum__lane *lane = &d->lanes[worker];
    (void)seconds;
    thrum__idlers_done(&d->idlers, worker);
    lane->hand_cost = d->idlers.of[worker].in_hands ? lane->hand_cost - job->key : 0; /* no rounding is carried on */
    lane->since = world->now(world);
}

/* ---- First come, first served ------------------------------------------------------------------------------------ */

static void add(thrum__lane *lane, thrum_job *job)
{
    thrum__list_append(&lane->line, job);
}

static thrum_job *first(const thrum__lane *lane)
{
    return lane->line.first;
}

static thrum_job *take(thrum__lane *lane, const thrum_world *world, int worker)
{
    thrum_job *job = lane->line.first;
    (void)world, (void)worker;
    if (job)
        thrum__list_remove(&lane->line, job);
    return job;
}

static const thrum__lane_order by_age = {.add = add, .first = first, .take = take, .sooner = thrum__older};

static int begin(void *state, const thrum_world *world)
{
    for (unsigned set = 0; set < THRUM__ARCH_SETS; set++)
        ((thrum__dmda *)state)->undecided.of[set].by_age = true;
    return thrum__dmda_begin(state, world);
}

static void push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    (void)from;
    thrum__dmda_push(state, &by_age, world, job);
}

static thrum_job *pop(void *state, const thrum_world *world, int worker)
{
    return thrum__dmda_pop(state, &by_age, world, worker);
}

const thrum_policy thrum__policy_dmda = {
    .name = "dmda",
    .about = "each job to the worker that will finish it first, transfers included",
    .state_bytes = sizeof(thrum__dmda),
    .begin = begin,
    .end = thrum__dmda_end,
    .push = push,
    .pop = pop,
    .done = thrum__dmda_done,
};
