/* SPDX-License-Identifier: MIT
 *
 * heteroprio: buckets, and for each architecture an order in which its workers look into them; slower workers leave the
 * last jobs of a bucket to the faster ones. See hetero.h.
 *
 * Agullo, Bramas, Coulaud, Darve, Messner and Takahashi, "Task-based FMM for heterogeneous architectures", Concurrency
 * and Computation 28(9), 2016. A push is O(1), a pop O(buckets).
 */
#include "sched/hetero.h"
#include "sched/policy_int.h"

static int begin(void *state, const thrum_world *world)
{
    return thrum__hetero_begin(state, world, 1);
}

static void end(void *state, const thrum_world *world)
{
    (void)world;
    thrum__hetero_end(state);
}

static void push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    (void)from;
    thrum__hetero_put(state, world, job, 0);
}

static thrum_job *pop(void *state, const thrum_world *world, int worker)
{
    thrum__hetero *h = state;
    int arch = (int)world->place[worker].arch;
    thrum_job *job = NULL;
    for (int i = 0; !job && i < h->order_count[arch]; i++)
        job = thrum__hetero_take(h, world, worker, h->order[arch][i], 0);
    thrum__hetero_popped(h, world, worker, job, THRUM__ALL_COLUMNS);
    return job;
}

static void done(void *state, const thrum_world *world, const thrum_job *job, int worker, double seconds)
{
    thrum__hetero_done(state, world, job, worker, seconds);
}

static void report(const void *state, const thrum_world *world, thrum_report_fn *tell, void *arg)
{
    (void)world;
    thrum__hetero_report(state, tell, arg);
}

static const thrum_setting settings[] = {THRUM__HETERO_SETTINGS, {0}};

const thrum_policy thrum__policy_heteroprio = {
    .name = "heteroprio",
    .about = "each kind of worker does first what it is best at",
    .state_bytes = sizeof(thrum__hetero),
    .begin = begin,
    .end = end,
    .push = push,
    .pop = pop,
    .done = done,
    .settings = settings,
    .report = report,
};
