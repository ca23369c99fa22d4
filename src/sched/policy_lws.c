/* SPDX-License-Identifier: MIT
 *
 * lws: ws that steals near by first: from workers of the same memory node, then from those of other nodes by how long
 * the links from there take, so that what has to be moved for a stolen job comes by the quickest way.
 *
 * StarPU's locality work stealing goes by the machine's tree in the same spirit. Among equally near ones a worker
 * begins with the one after itself, so that not all thieves go to the same.
 */
#include "sched/policy_int.h"

#include "base/alloc.h"
#include "base/fault.h"

/* Far more than a latency's worth, so that bandwidth counts. */
enum { PROBE_BYTES = 1 << 20 };

static double distance(const thrum_world *world, int thief, int victim)
{
    int from = world->place[victim].node, to = world->place[thief].node;
    return from == to ? 0 : world->link_seconds(world, from, to, PROBE_BYTES);
}

/* The least distance to another worker that is larger than `than`; negative if there is none. */
static double next_distance(const thrum_world *world, int thief, double than)
{
    double next = -1;
    for (int victim = 0; victim < world->workers; victim++) {
        double d = distance(world, thief, victim);
        if (victim != thief && d > than && (next < 0 || d < next))
            next = d;
    }
    return next;
}

static void sort_victims(const thrum_world *world, int thief, int *victims)
{
    for (double d = next_distance(world, thief, -1); d >= 0; d = next_distance(world, thief, d))
        for (int i = 1; i < world->workers; i++) {
            int victim = (thief + i) % world->workers;
            if (distance(world, thief, victim) == d)
                *victims++ = victim;
        }
}

static int begin(void *state, const thrum_world *world)
{
    thrum__ws *ws = state;
    size_t others = (size_t)world->workers - 1;
    ws->victims = thrum__zalloc(((size_t)world->workers * others + 1) * sizeof *ws->victims);
    if (!ws->victims)
        return thrum__fault(THRUM_ENOMEM, "no memory for the distances between %d workers", world->workers);
    for (int thief = 0; thief < world->workers; thief++)
        sort_victims(world, thief, ws->victims + (size_t)thief * others);
    return thrum__ws_begin(state, world);
}

const thrum_policy thrum__policy_lws = {
    .name = "lws",
    .about = "ws that steals from the same memory node first, then over the quickest links",
    .state_bytes = sizeof(thrum__ws),
    .begin = begin,
    .end = thrum__ws_end,
    .push = thrum__ws_push,
    .pop = thrum__ws_pop,
    .done = thrum__ws_done,
    .report = thrum__ws_report,
};
