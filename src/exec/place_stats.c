/* SPDX-License-Identifier: MIT
 *
 * What may be asked about places, nodes and links.
 */
#include "exec/place_int.h"

#include <stdio.h>

static thrum_executor *usable(const thrum_executor *ex, const char *what)
{
    thrum_executor *found = thrum__executor_or_default((thrum_executor *)(uintptr_t)ex);
    return found && !thrum__executor_usable(found, what) ? found : NULL;
}

int thrum_executor_nodes(const thrum_executor *ex)
{
    const thrum_executor *found = usable(ex, "thrum_executor_nodes");
    return !found ? 0 : found->space.places ? found->space.places->node_count : 1;
}

/* Without a policy every worker of the processors runs codelets. */
static int count_places(const thrum_executor *ex)
{
    return ex->space.places ? ex->space.places->count : thrum_executor_workers(ex);
}

int thrum_executor_places(const thrum_executor *ex)
{
    const thrum_executor *found = usable(ex, "thrum_executor_places");
    return found ? count_places(found) : 0;
}

static int no_such(const char *what, const char *kind, int number, int count)
{
    return thrum__fault(THRUM_EINVAL, "%s: there is no %s %d; the executor has %d, from 0 on", what, kind, number,
                        count);
}

static void name_place(const place *pl, int worker, char *name, size_t size)
{
    const device *d = pl ? pl->device : NULL;
    if (!d)
        snprintf(name, size, "cpu %d", worker);
    else if (d->info.workers == 1)
        snprintf(name, size, "%s", d->info.name);
    else
        snprintf(name, size, "%.40s.%d", d->info.name, pl->number);
}

static double seconds_of(const _Atomic uint64_t *ns)
{
    return (double)atomic_load_explicit(ns, memory_order_relaxed) * 1e-9;
}

int thrum_executor_place(const thrum_executor *ex, int worker, thrum_place_stats *stats)
{
    static const char what[] = "thrum_executor_place";
    const thrum_executor *found = usable(ex, what);
    if (!found)
        return thrum__last_code();
    if (!stats)
        return thrum__fault(THRUM_EINVAL, "%s: stats is NULL", what);
    if (worker < 0 || worker >= count_places(found))
        return no_such(what, "worker for codelets", worker, count_places(found));
    const place *pl = found->space.places ? &found->space.places->place[worker] : NULL;
    *stats = (thrum_place_stats){.place = {.worker = worker, .device = -1}};
    name_place(pl, worker, stats->name, sizeof stats->name);
    if (!pl)
        return 0;
    stats->place = *pl->shown;
    stats->tasks = atomic_load_explicit(&pl->tasks, memory_order_relaxed);
    stats->busy = seconds_of(&pl->busy_ns);
    stats->waiting = seconds_of(&pl->waiting_ns);
    return 0;
}

int thrum_executor_node(const thrum_executor *ex, int node_number, thrum_node_stats *stats)
{
    static const char what[] = "thrum_executor_node";
    const thrum_executor *found = usable(ex, what);
    if (!found)
        return thrum__last_code();
    if (!stats)
        return thrum__fault(THRUM_EINVAL, "%s: stats is NULL", what);
    thrum__places *places = found->space.places;
    int count = places ? places->node_count : 1;
    if (node_number < 0 || node_number >= count)
        return no_such(what, "memory node", node_number, count);
    *stats = (thrum_node_stats){0};
    if (!places)
        return 0;
    thrum__lock_take(&places->lock);
    const node *n = &places->node[node_number];
    *stats = (thrum_node_stats){.memory = n->device ? n->device->info.memory : 0,
                                .used = n->used,
                                .most_used = n->most_used,
                                .evictions = n->evictions,
                                .written_back = n->written_back,
                                .prefetches = n->prefetches};
    thrum__lock_give(&places->lock);
    return 0;
}

int thrum_executor_link(const thrum_executor *ex, int from, int to, thrum_link_stats *stats)
{
    static const char what[] = "thrum_executor_link";
    const thrum_executor *found = usable(ex, what);
    if (!found)
        return thrum__last_code();
    if (!stats)
        return thrum__fault(THRUM_EINVAL, "%s: stats is NULL", what);
    thrum__places *places = found->space.places;
    int count = places ? places->node_count : 1;
    if (from < 0 || from >= count || to < 0 || to >= count)
        return no_such(what, "memory node", from < 0 || from >= count ? from : to, count);
    *stats = (thrum_link_stats){.from = from, .to = to};
    if (!places)
        return 0;
    thrum__lock_take(&places->lock);
    const link_stats *l = thrum__link(places, from, to);
    stats->copies = l->copies;
    stats->bytes = l->bytes;
    stats->busy = (double)l->busy * 1e-9;
    thrum__lock_give(&places->lock);
    return 0;
}

int thrum_executor_policy_report(const thrum_executor *ex, thrum_report_fn *tell, void *arg)
{
    static const char what[] = "thrum_executor_policy_report";
    const thrum_executor *found = usable(ex, what);
    if (!found)
        return thrum__last_code();
    if (!tell)
        return thrum__fault(THRUM_EINVAL, "%s: tell is NULL", what);
    thrum__places *places = found->space.places;
    if (!places || !places->policy->report)
        return 0;
    thrum__policy_lock(places);
    if (!places->dismissed)
        places->policy->report(places->policy_state, &places->world, tell, arg);
    thrum__policy_unlock(places);
    return 0;
}
