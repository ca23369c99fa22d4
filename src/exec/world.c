/* SPDX-License-Identifier: MIT
 *
 * What a policy sees of the real machine. All functions are called by policies, so with the policy's lock held.
 */
#include "exec/place_int.h"

#include "base/random.h"
#include "sys/clock.h"

#include <stdio.h>
#include <string.h>

static thrum__places *of(const thrum_world *world)
{
    return (thrum__places *)(uintptr_t)world;
}

static bool is_worker(const thrum_world *world, int worker)
{
    return worker >= 0 && worker < world->workers;
}

static bool is_node(const thrum_world *world, int node)
{
    return node >= 0 && node < world->nodes;
}

static double now(const thrum_world *world)
{
    (void)world;
    return (double)thrum__now() * 1e-9;
}

static uint64_t random_bits(const thrum_world *world)
{
    uint64_t *state = &of(world)->random;
    uint64_t high = thrum__random(state);
    return high << 32 | thrum__random(state);
}

/* ---- Who can run what -------------------------------------------------------------------------------------------- */

static bool has_kernels(const placing *p, enum thrum_arch arch)
{
    const thrum__job *job = p->job;
    if (job->kind == THRUM__JOB_COMBINE) {
        const thrum__reduction *reduction = job->access[0].data->reduction;
        return thrum__kernel_for(reduction->combine, arch) && (!p->initial || thrum__kernel_for(reduction->init, arch));
    }
    if (!thrum__kernel_for(job->codelet, arch))
        return false;
    for (uint32_t i = 0; i < job->count; i++)
        if (job->access[i].mode == THRUM_MODE_REDUX && !thrum__kernel_for(job->access[i].data->reduction->init, arch))
            return false;
    return true;
}

/* Jobs that were pushed before the device broke may still be popped there: they are given back then, and pushed anew.
 * So what a policy is told of one job does not change while it has it. */
static bool is_reachable(const place *pl, const placing *p)
{
    const device *d = pl->device;
    if (!d)
        return true;
    return !(p->nodes_excluded >> d->node & 1) && p->bytes <= d->info.memory &&
           !(d->broken_since && p->shown.number >= d->broken_since);
}

/* Codelets of reductions have none. */
static bool accepts(const place *pl, const thrum_codelet *codelet, const void *arg)
{
    return !codelet->can_run || codelet->can_run(pl->shown, arg);
}

bool thrum__place_can_run(const place *pl, const placing *p)
{
    const thrum__job *job = p->job;
    if (!has_kernels(p, pl->shown->arch) || !is_reachable(pl, p))
        return false;
    int32_t pinned = thrum__job_worker(job);
    if (pinned >= 0 && pinned != pl->shown->worker)
        return false;
    return accepts(pl, job->codelet, thrum__job_arg(job));
}

/* Of a codelet that nobody has inserted yet. */
static bool implements(const place *pl, const thrum_codelet *codelet, int worker)
{
    return thrum__kernel_for(codelet, pl->shown->arch) && (worker < 0 || worker == pl->shown->worker);
}

static const char *name_of(const place *pl)
{
    return pl->device ? pl->device->info.name : "processors";
}

static int no_such_worker(const thrum__places *places, const thrum_codelet *codelet, int worker)
{
    if (worker >= places->count)
        return thrum__fault(THRUM_EINVAL,
                            "codelet '%s' is to run on worker %d, but the executor has those from 0 to %d",
                            codelet->name, worker, places->count - 1);
    const place *pl = &places->place[worker];
    return thrum__fault(THRUM_EINVAL, "codelet '%s' is to run on worker %d (%s), which %s", codelet->name, worker,
                        name_of(pl), implements(pl, codelet, worker) ? "its can_run refuses" : "cannot run it");
}

static int no_implementation(const thrum__places *places, const thrum_codelet *codelet)
{
    char kinds[120] = "";
    const char *last = NULL;
    for (int i = 0; i < places->count; i++) {
        size_t used = strlen(kinds);
        if (!last || strcmp(last, name_of(&places->place[i])) != 0)
            snprintf(kinds + used, sizeof kinds - used, "%s%s", last ? ", " : "", name_of(&places->place[i]));
        last = name_of(&places->place[i]);
    }
    return thrum__fault(THRUM_EINVAL,
                        "codelet '%s' has no implementation that a worker of the executor can run: it has %s",
                        codelet->name, kinds);
}

static int refuses_all(const thrum_codelet *codelet, bool all_implement)
{
    return thrum__fault(THRUM_EINVAL, "codelet '%s': its can_run refuses every worker of this executor%s",
                        codelet->name, all_implement ? "" : " that it has an implementation for");
}

int thrum__places_can_run(const thrum__places *places, const thrum_codelet *codelet, const void *arg, int worker)
{
    int implementing = 0;
    for (int i = 0; i < places->count; i++) {
        bool suits = implements(&places->place[i], codelet, worker);
        if (suits && accepts(&places->place[i], codelet, arg))
            return 0;
        implementing += suits;
    }
    if (worker >= 0)
        return no_such_worker(places, codelet, worker);
    return implementing ? refuses_all(codelet, implementing == places->count) : no_implementation(places, codelet);
}

bool thrum__placing_find_places(thrum__places *places, placing *p)
{
    int first = -1;
    p->elsewhere = false;
    for (int i = 0; i < places->count && !p->elsewhere; i++) {
        if (first >= 0 && places->shown[i].node == first)
            continue;
        if (!thrum__place_can_run(&places->place[i], p))
            continue;
        p->elsewhere = first >= 0;
        first = places->shown[i].node;
    }
    return first >= 0;
}

static bool can_run(const thrum_world *world, const thrum_job *job, int worker)
{
    return is_worker(world, worker) &&
           thrum__place_can_run(&of(world)->place[worker], thrum__placing_of((thrum_job *)(uintptr_t)job));
}

/* ---- How long it takes ------------------------------------------------------------------------------------------- */

void thrum__placing_shape(placing *p)
{
    if (p->shaped)
        return;
    p->shaped = true;
    for (int i = 0; i < p->shown.data_count; i++)
        thrum__perf_shape_add(&p->shape, thrum__data_footprint(p->data[i].data), p->data[i].bytes);
}

/* Buffers are filled anew before they are used, so they can tell shapes until then. */
static void describe(placing *p)
{
    for (int i = 0; i < p->shown.data_count; i++)
        thrum__data_packed_buffer(p->data[i].data, NULL, 0, &p->buffers[i]);
}

double thrum__placing_seconds(placing *p, const thrum_codelet *codelet, const thrum_place *shown)
{
    thrum_buffer shapes[2];
    bool own = codelet == p->job->codelet;
    thrum__placing_shape(p);
    if (own && p->state == PLACING_QUEUED) {
        if (codelet->model == THRUM_BY_FUNCTION)
            describe(p);
        return thrum__perf_expect(codelet, shown, &p->shape, p->buffers, p->shown.data_count, thrum__job_arg(p->job));
    }
    if (own)
        return thrum__perf_expect(codelet, shown, &p->shape, p->buffers, p->shown.data_count, thrum__job_arg(p->job));
    /* Of a reduction: two of the same shape. */
    thrum__data_packed_buffer(p->data[0].data, NULL, 0, &shapes[0]);
    shapes[1] = shapes[0];
    return thrum__perf_expect(codelet, shown, &p->shape, shapes, 2, NULL);
}

static double seconds(const thrum_world *world, const thrum_job *job, int worker)
{
    placing *p = thrum__placing_of((thrum_job *)(uintptr_t)job);
    return is_worker(world, worker) ? thrum__placing_seconds(p, job->codelet, &world->place[worker]) : -1;
}

/* ---- Data -------------------------------------------------------------------------------------------------------- */

static double leg_seconds(const thrum__places *places, int node, size_t bytes)
{
    const device *d = places->node[node].device;
    return d ? d->info.latency + (double)bytes / d->info.bandwidth : 0;
}

/* Between two devices that do not reach each other, both ways one after the other. */
static double link_seconds(const thrum_world *world, int from, int to, size_t bytes)
{
    const thrum__places *places = of(world);
    if (!is_node(world, from) || !is_node(world, to) || from == to)
        return 0;
    double first = leg_seconds(places, from, bytes), second = leg_seconds(places, to, bytes);
    const device *a = places->node[from].device, *b = places->node[to].device;
    if (a && b && a->driver == b->driver && a->info.reaches_others && b->info.reaches_others)
        return first > second ? first : second;
    return first + second;
}

static double bring_seconds(const thrum_world *world, const thrum_job_data *data, int node)
{
    const replicas *r = data->data->replicas;
    double least = -1;
    if (r->of[node].arriving)
        return 0;
    for (int from = 0; from < world->nodes; from++) {
        if (r->of[from].state == THRUM_INVALID)
            continue;
        double seconds = link_seconds(world, from, node, data->bytes);
        least = least < 0 || seconds < least ? seconds : least;
    }
    return least < 0 ? 0 : least;
}

static double transfer_seconds(const thrum_world *world, const thrum_job *job, int node)
{
    thrum__places *places = of(world);
    double sum = 0;
    if (!is_node(world, node) || world->nodes == 1)
        return 0;
    thrum__lock_take(&places->lock);
    for (int i = 0; i < job->data_count; i++) {
        int mode = (int)job->data[i].mode;
        if (mode == THRUM_MODE_R || mode == THRUM_MODE_RW || mode == THRUM_MODE_COMMUTE)
            sum += bring_seconds(world, &job->data[i], node);
    }
    thrum__lock_give(&places->lock);
    return sum;
}

/* An executor has no more than 64 nodes. */
static uint64_t where(const thrum_world *world, const thrum_data *data)
{
    (void)world;
    return atomic_load_explicit(&data->replicas->where, memory_order_relaxed);
}

static bool is_on(const thrum_world *world, const thrum_data *data, int node)
{
    return is_node(world, node) && where(world, data) >> node & 1;
}

/* What a kernel waits for is wanted at once: nothing that it pops is ahead of time, however much is staged. Only a
 * place's own worker pops and is done. */
static bool is_ahead(const thrum_world *world, int worker)
{
    const place *pl = is_worker(world, worker) ? &of(world)->place[worker] : NULL;
    return pl && pl->staged > 0 && pl->nested == 0;
}

static void prefetch(const thrum_world *world, thrum_job *job, int node)
{
    thrum__places *places = of(world);
    if (is_node(world, node) && world->nodes > 1 && thrum__table_has(places, job))
        thrum__stage_prefetch(places, thrum__placing_of(job), node, &places->to_do);
}

/* ---- Waking ------------------------------------------------------------------------------------------------------ */

/* One that was refused: all others pop again by themselves. While a job is pushed, one that can run it. */
static place *some_idle(thrum__places *places)
{
    for (int i = 0; i < places->count; i++) {
        place *pl = &places->place[(places->next_any + i) % places->count];
        if (!pl->refused)
            continue;
        if (places->pushed && !thrum__place_can_run(pl, thrum__placing_of((thrum_job *)(uintptr_t)places->pushed)))
            continue;
        places->next_any = (pl->shown->worker + 1) % places->count;
        return pl;
    }
    return NULL;
}

static void wake(const thrum_world *world, int worker)
{
    thrum__places *places = of(world);
    place *pl = worker == THRUM_ANY_WORKER ? some_idle(places)
                : is_worker(world, worker) ? &places->place[worker]
                                           : NULL;
    if (pl)
        thrum__place_wake_locked(pl);
}

/* Noted only: the policy is in the middle of its push. */
static void refuse(const thrum_world *world, const thrum_job *job, int code, const char *sentence)
{
    if (job && job == of(world)->pushed && code != 0)
        thrum__stage_fault(thrum__placing_of((thrum_job *)(uintptr_t)job), code, "%s", sentence);
}

void thrum__world_init(thrum__places *places)
{
    places->random = thrum__random_seed(1);
    places->world = (thrum_world){.workers = places->count,
                                  .nodes = places->node_count,
                                  .place = places->shown,
                                  .now = now,
                                  .random = random_bits,
                                  .can_run = can_run,
                                  .seconds = seconds,
                                  .transfer_seconds = transfer_seconds,
                                  .is_on = is_on,
                                  .where = where,
                                  .link_seconds = link_seconds,
                                  .is_ahead = is_ahead,
                                  .prefetch = prefetch,
                                  .wake = wake,
                                  .refuse = refuse};
}
