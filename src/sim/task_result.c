/* SPDX-License-Identifier: MIT
 *
 * What a simulated run gave: where the time of each worker went, what went over links, and bounds.
 *
 * Idle time has a cause: something was ready that the worker could have run (*held*: the policy did not give it), or
 * nothing was (*starved*). Asking that for each idle worker at each event would be slow. So each kind of workers adds
 * up for how long something was ready for it, and a worker that was idle from a to b has been held for as much as that
 * sum has grown in between. Tasks that one worker alone may run are added up by worker, while nothing is ready for its
 * whole kind.
 */
#include "sim/task_int.h"

#include "base/alloc.h"
#include "base/fault.h"

#include <math.h>

/* ---- Something is ready ------------------------------------------------------------------------------------------ */

static void settle_pinned(task_run *run, worker *w)
{
    bool on = w->pinned_ready > 0 && run->kinds[w->kind].ready == 0;
    double now = run_now(run);
    if (w->pinned_on && !on)
        w->pinned_held += now - w->pinned_since;
    else if (!w->pinned_on && on)
        w->pinned_since = now;
    w->pinned_on = on;
}

static void settle_all_pinned(task_run *run, int k)
{
    for (int i = 0; run->pinned && i < run->world.workers; i++)
        if (run->workers[i].kind == k)
            settle_pinned(run, &run->workers[i]);
}

static void count_kind(task_run *run, int number, int one)
{
    kind *k = &run->kinds[number];
    uint32_t before = k->ready;
    k->ready += (uint32_t)one;
    if (before > 0 && k->ready > 0)
        return;
    if (before == 0)
        k->since = run_now(run);
    else
        k->held += run_now(run) - k->since;
    settle_all_pinned(run, number);
}

void thrum__sim_count_ready(task_run *run, const task *t, int one)
{
    if (t->pin >= 0) {
        run->workers[t->pin].pinned_ready += one;
        settle_pinned(run, &run->workers[t->pin]);
        return;
    }
    for (int k = 0; k < run->kind_count; k++)
        if (t->kinds >> k & 1)
            count_kind(run, k, one);
}

void thrum__sim_count_begin(task_run *run, const task *t)
{
    double now = run_now(run);
    if (t->pin >= 0) {
        run->workers[t->pin].last_pinned = now;
        return;
    }
    for (int k = 0; k < run->kind_count; k++)
        if (t->kinds >> k & 1)
            run->kinds[k].last_begin = now;
}

static double held_so_far(const task_run *run, const worker *w)
{
    const kind *k = &run->kinds[w->kind];
    double now = run_now(run);
    return k->held + (k->ready ? now - k->since : 0) + w->pinned_held + (w->pinned_on ? now - w->pinned_since : 0);
}

/* ---- Where the time goes ----------------------------------------------------------------------------------------- */

static void add_idle(const task_run *run, worker *w, double seconds)
{
    double held = fmin(held_so_far(run, w) - w->held_since, seconds);
    w->stats.held += held;
    w->stats.starved += seconds - held;
}

static void close_interval(const task_run *run, worker *w)
{
    double now = run_now(run), seconds = now - w->since;
    if (w->state == WORKER_BUSY)
        w->stats.busy += seconds;
    else if (w->state == WORKER_IDLE)
        add_idle(run, w, seconds);
    else
        w->stats.waiting += seconds;
    if (w->state == WORKER_CROWDED)
        w->stats.crowded += seconds;
    w->since = now;
    w->held_since = held_so_far(run, w);
}

void thrum__sim_account(task_run *run, worker *w)
{
    enum worker_state state = w->running        ? WORKER_BUSY
                              : w->admitted > 0 ? WORKER_WAITING
                              : w->staged > 0   ? WORKER_CROWDED
                                                : WORKER_IDLE;
    if (state == w->state)
        return;
    close_interval(run, w);
    w->state = (uint8_t)state;
}

/* Who is idle at the end has finished when the last task began that it could have run, or when it ran its own last one.
 * After that nothing was ready for it. */
void thrum__sim_account_all(task_run *run)
{
    for (int i = 0; i < run->world.workers; i++) {
        worker *w = &run->workers[i];
        double last = fmax(run->kinds[w->kind].last_begin, w->last_pinned), since = fmax(last, w->since);
        bool idle = w->state == WORKER_IDLE;
        close_interval(run, w);
        if (!idle)
            continue;
        w->stats.finished = run_now(run) - since;
        w->stats.starved = fmax(w->stats.starved - w->stats.finished, 0);
    }
}

/* ---- The result -------------------------------------------------------------------------------------------------- */

static int count_links(const task_run *run)
{
    int count = 0;
    for (int i = 0; i < run->world.nodes * run->world.nodes; i++)
        count += run->links[i].copies > 0;
    return count;
}

static void fill_links(const task_run *run, thrum_sim_result *r)
{
    int nodes = run->world.nodes;
    for (int i = 0; i < nodes * nodes; i++) {
        const road *l = &run->links[i];
        if (l->copies == 0)
            continue;
        double busy = l->busy + (l->under_way ? run_now(run) - l->since : 0);
        r->links[r->link_count++] = (thrum_sim_link){i / nodes, i % nodes, l->copies, l->bytes, busy};
    }
}

static void fill(const task_run *run, thrum_sim_result *r)
{
    double busy = 0;
    r->makespan = run_now(run);
    r->tasks = (uint64_t)run->done;
    r->copies = run->copies;
    r->bytes = run->bytes;
    r->events = run->events;
    r->worker_count = run->world.workers;
    r->node_count = run->world.nodes;
    for (int i = 0; i < r->worker_count; i++) {
        r->workers[i] = run->workers[i].stats;
        busy += r->workers[i].busy;
    }
    for (int i = 0; i < r->node_count; i++)
        r->nodes[i] = run->nodes[i].stats;
    fill_links(run, r);
    r->idle = r->makespan > 0 ? 1 - busy / (r->makespan * r->worker_count) : 0;
}

static int find_bounds(const task_run *run, thrum_sim_result *r)
{
    double *finish = thrum__alloc(((size_t)run->workload->task_count + 1) * sizeof *finish);
    int *units = thrum__alloc((size_t)run->kind_count * sizeof *units);
    if (finish && units) {
        for (int k = 0; k < run->kind_count; k++)
            units[k] = run->kinds[k].units;
        r->critical_path = thrum__sim_critical_path(run, finish);
        r->area = thrum__area_bound(run->seconds, run->workload->task_count, run->kind_count, units);
        r->bound = fmax(r->critical_path, r->area);
    }
    int err = finish && units && r->area >= 0 ? 0 : THRUM_ENOMEM;
    thrum__free(finish);
    thrum__free(units);
    return err;
}

thrum_sim_result *thrum__sim_result_make(const task_run *run)
{
    thrum_sim_result *r = thrum__zalloc(sizeof *r);
    if (r) {
        r->workers = thrum__zalloc((size_t)run->world.workers * sizeof *r->workers);
        r->links = thrum__zalloc(((size_t)count_links(run) + 1) * sizeof *r->links);
        r->nodes = thrum__zalloc((size_t)run->world.nodes * sizeof *r->nodes);
    }
    if (r && r->workers && r->links && r->nodes && find_bounds(run, r) == 0) {
        fill(run, r);
        return r;
    }
    thrum_sim_result_free(r);
    thrum__fault(THRUM_ENOMEM, "no memory for the result of a simulation");
    return NULL;
}

void thrum_sim_result_free(thrum_sim_result *result)
{
    if (!result)
        return;
    thrum__free(result->workers);
    thrum__free(result->links);
    thrum__free(result->nodes);
    thrum__free(result);
}
