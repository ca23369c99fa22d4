/* SPDX-License-Identifier: MIT
 *
 * dmdas: dmda with sorted lines. A worker takes the most urgent of the jobs that wait for it, and of several with the
 * same priority the one of which the least is still to be brought, the oldest among equals.
 *
 * As StarPU's policy of that name. What is to be brought is asked when a job is taken, so a job whose prefetch is under
 * way lets others go first. The search is bounded: of many with the same priority the oldest few are compared.
 */
#include "sched/policy_int.h"

enum { COMPARED = 16 };

static void add(thrum__lane *lane, thrum_job *job)
{
    thrum__heap_add(&lane->sorted, job);
}

static thrum_job *first(const thrum__lane *lane)
{
    return lane->sorted.top;
}

static bool is_read(enum thrum_mode mode)
{
    return mode == THRUM_MODE_R || mode == THRUM_MODE_RW || mode == THRUM_MODE_COMMUTE;
}

static double missing_bytes(const thrum_world *world, const thrum_job *job, int node)
{
    double bytes = 0;
    for (int i = 0; i < job->data_count; i++)
        if (is_read(job->data[i].mode) && !world->is_on(world, job->data[i].data, node))
            bytes += (double)job->data[i].bytes;
    return bytes;
}

static thrum_job *take(thrum__lane *lane, const thrum_world *world, int worker)
{
    thrum_job *equals[COMPARED], *job = thrum__heap_take(&lane->sorted);
    if (!job)
        return NULL;
    int node = world->place[worker].node, count = 0, best = 0;
    double least = missing_bytes(world, job, node);
    equals[count++] = job;
    while (least > 0 && count < COMPARED && lane->sorted.top && lane->sorted.top->priority == job->priority) {
        equals[count] = thrum__heap_take(&lane->sorted);
        double missing = missing_bytes(world, equals[count], node);
        if (missing < least) {
            least = missing;
            best = count;
        }
        count++;
    }
    for (int i = 0; i < count; i++)
        if (i != best)
            thrum__heap_add(&lane->sorted, equals[i]);
    return equals[best];
}

static const thrum__lane_order by_urgency = {.add = add, .first = first, .take = take, .sooner = thrum__more_urgent};

static void push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    (void)from;
    thrum__dmda_push(state, &by_urgency, world, job);
}

static thrum_job *pop(void *state, const thrum_world *world, int worker)
{
    return thrum__dmda_pop(state, &by_urgency, world, worker);
}

const thrum_policy thrum__policy_dmdas = {
    .name = "dmdas",
    .about = "dmda, the most urgent first, then those whose data is there",
    .state_bytes = sizeof(thrum__dmda),
    .begin = thrum__dmda_begin,
    .end = thrum__dmda_end,
    .push = push,
    .pop = pop,
    .done = thrum__dmda_done,
};
