/* SPDX-License-Identifier: MIT
 *
 * How a task's data gets to its node, and what it leaves behind: what exec/stage.c and exec/transfer.c do. The words
 * are theirs.
 *
 * A reduction writes a copy of its own, of which nothing is brought; where its last task has run, the content is.
 */
#include "sim/task_int.h"

#include "base/alloc.h"
#include "base/fault.h"

#include <string.h>

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

static int enlarge_transfers(task_run *run)
{
    int old = run->transfer_room, room = old ? 2 * old : 64;
    transfer *larger = thrum__alloc((size_t)room * sizeof *larger);
    if (!larger)
        return thrum__fault(THRUM_ENOMEM, "no memory for %d simulated copies", room);
    if (old)
        memcpy(larger, run->transfers, (size_t)old * sizeof *larger);
    thrum__free(run->transfers);
    run->transfers = larger;
    for (int i = room; i-- > old;) {
        larger[i].next = run->free_transfer;
        run->free_transfer = i;
    }
    run->transfer_room = room;
    return 0;
}

bool thrum__sim_transfer_begin(task_run *run, piece *p, int from, int to, int reason)
{
    int err = run->free_transfer == NO_TRANSFER ? enlarge_transfers(run) : 0;
    int number = run->free_transfer;
    if (!err)
        err = run->ops->copy(run->engine, from, to, (double)p->bytes, ticket_of((uint64_t)number, true));
    run_fail(run, err);
    if (err)
        return false;
    run->free_transfer = run->transfers[number].next;
    run->transfers[number] =
        (transfer){.piece = (int)(p - run->pieces), .from = from, .to = to, .reason = reason, .begin = run_now(run)};
    run_replica(run, p, to)->arriving = true;
    run_replica(run, p, from)->users++;
    run_replica(run, p, to)->users++;
    p->under_way++;
    road *l = &run->links[from * run->world.nodes + to];
    if (l->under_way++ == 0)
        l->since = run_now(run);
    l->copies++;
    l->bytes += p->bytes;
    run->copies++;
    run->bytes += p->bytes;
    return true;
}

/* Whoever asks for a copy pays for it with its next task. */
static void charge_copy(worker *w, const piece *p)
{
    w->copies++;
    w->moved += p->bytes;
}

/* It was on its way home so that it can be thrown out: if nobody has come to use it, it goes. */
static void leave(task_run *run, piece *p, int number)
{
    replica *r = run_replica(run, p, number);
    if (!r->leaving)
        return;
    r->leaving = false;
    run->nodes[number].leaving -= p->bytes;
    if (r->users == 0 && p->writing == 0 && !(r->valid && p->valid == 1))
        thrum__sim_drop(run, number, r);
}

static void go_on(task_run *run, piece *p);
static void prefetch_on(task_run *run, piece *p);

void thrum__sim_transfer_ended(task_run *run, int number)
{
    transfer t = run->transfers[number];
    piece *p = &run->pieces[t.piece];
    replica *to = run_replica(run, p, t.to);
    road *l = &run->links[t.from * run->world.nodes + t.to];
    run->transfers[number].next = run->free_transfer;
    run->free_transfer = number;
    if (--l->under_way == 0)
        l->busy += run_now(run) - l->since;
    if (run->sim->trace)
        thrum__sim_trace_copy(run, &t);
    to->arriving = false;
    run_replica(run, p, t.from)->users--;
    to->users--;
    p->under_way--;
    thrum__sim_is_newest(run, t.to, to);
    run_set_valid(run, p, t.to, true);
    leave(run, p, t.from);
    go_on(run, p);
    if (p->going_on)
        prefetch_on(run, p);
    thrum__sim_serve_line(run, t.from);
    thrum__sim_serve_line(run, t.to);
}

/* ---- Bringing content -------------------------------------------------------------------------------------------- */

/* The node from which it takes the least time, the first of several, which is home where there is one host; of ways
 * with a stop the last, as executors do it. -1: it is nowhere. */
static int find_source(const task_run *run, const piece *p, int to)
{
    int found = -1;
    double least = 0;
    for (int from = 0; from < run->world.nodes; from++) {
        if (from == to || !run_replica(run, p, from)->valid)
            continue;
        double seconds = thrum__sim_link_seconds(run, from, to, (double)p->bytes);
        bool stops = run->layout.ways[from * run->world.nodes + to].via >= 0;
        if (found >= 0 && (stops ? seconds > least : seconds >= least))
            continue;
        found = from;
        least = seconds;
    }
    return found;
}

static int next_stop(const task_run *run, int from, int to)
{
    int via = run->layout.ways[from * run->world.nodes + to].via;
    return via >= 0 ? via : to;
}

/* Begins what brings the content nearer. False: nothing can, and the run has failed. */
static bool bring(task_run *run, const use *u)
{
    piece *p = u->data;
    int to = run_node_of(run, u->of), from = find_source(run, p, to);
    if (from < 0) {
        const char *name = run->workload->data[p - run->pieces].name;
        run_fail(run, thrum__fault(THRUM_EDATA, "task '%s' reads data %s%s%s, which nobody has written",
                                   u->of->shown.name, name ? "'" : "number ", name ? name : "", name ? "'" : ""));
        return false;
    }
    int stop = next_stop(run, from, to);
    if (run_replica(run, p, stop)->arriving)
        return true;
    charge_copy(&run->workers[u->of->worker], p);
    return thrum__sim_transfer_begin(run, p, from, stop, THRUM_COPY_NEEDED);
}

/* Whether a copy of it has to be waited for; begins one where that is needed. A writer waits for all of them. */
static bool must_wait(task_run *run, const use *u)
{
    const replica *r = run_replica(run, u->data, run_node_of(run, u->of));
    if (use_writes(u) && u->data->under_way > 0)
        return true;
    if (u->mode == THRUM_MODE_W || r->valid)
        return false;
    return r->arriving || bring(run, u);
}

/* True: nothing more to wait for. False: it waits for a copy. */
static bool settle(task_run *run, use *u)
{
    piece *p = u->data;
    if (u->mode == THRUM_MODE_SCRATCH || !must_wait(run, u))
        return true;
    u->next_waiter = NULL;
    *(p->waiters ? &p->last_waiter->next_waiter : &p->waiters) = u;
    p->last_waiter = u;
    return false;
}

static void one_settled(task_run *run, task *t)
{
    if (--t->missing == 0)
        thrum__sim_deliver(run, t);
}

/* A copy has ended: those who wait for one look again. */
static void go_on(task_run *run, piece *p)
{
    use *u = p->waiters, *next;
    p->waiters = NULL;
    for (; u; u = next) {
        next = u->next_waiter;
        if (settle(run, u))
            one_settled(run, u->of);
    }
}

/* ---- Staging ----------------------------------------------------------------------------------------------------- */

void thrum__sim_admit(task_run *run, task *t)
{
    int number = run_node_of(run, t);
    worker *w = &run->workers[t->worker];
    w->admitted++;
    t->missing = 1;
    for (int i = 0; i < t->shown.data_count; i++) {
        use *u = &t->uses[i];
        run_replica(run, u->data, number)->wanted = false;
        u->data->writing += use_writes(u);
        if (!settle(run, u))
            t->missing++;
    }
    one_settled(run, t);
    thrum__sim_account(run, w);
}

static void admit_at_host(task_run *run, task *t)
{
    for (int i = 0; i < t->shown.data_count; i++)
        if (t->uses[i].mode != THRUM_MODE_SCRATCH)
            run_replica(run, t->uses[i].data, run_node_of(run, t))->users++;
    thrum__sim_admit(run, t);
}

void thrum__sim_stage(task_run *run, task *t)
{
    int number = run_node_of(run, t);
    if (run->nodes[number].device)
        thrum__sim_enter_line(run, t, number);
    else
        admit_at_host(run, t);
    thrum__sim_account(run, &run->workers[t->worker]);
}

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

static void invalidate_others(task_run *run, piece *p, int here)
{
    int others = p->valid - run_replica(run, p, here)->valid;
    for (int number = 0; number < run->world.nodes && others > 0; number++) {
        replica *r = run_replica(run, p, number);
        if (number == here || !r->valid)
            continue;
        others--;
        run_set_valid(run, p, number, false);
        thrum__sim_is_oldest(run, number, r);
    }
}

static void end_use(task_run *run, const use *u, int here)
{
    piece *p = u->data;
    replica *r = run_replica(run, p, here);
    if (u->mode == THRUM_MODE_SCRATCH) {
        thrum__sim_free_scratch(run, here, p->bytes);
        return;
    }
    if (use_writes(u)) {
        invalidate_others(run, p, here);
        run_set_valid(run, p, here, true);
        p->writing--;
    }
    r->users--;
    thrum__sim_is_newest(run, here, r);
}

void thrum__sim_unstage(task_run *run, task *t)
{
    int here = run_node_of(run, t);
    for (int i = 0; i < t->shown.data_count; i++)
        end_use(run, &t->uses[i], here);
    for (int number = 0; number < run->world.nodes; number++)
        thrum__sim_serve_line(run, number);
}

/* ---- Prefetching ------------------------------------------------------------------------------------------------- */

static bool prefetch_leg(task_run *run, piece *p, int from, int to)
{
    if (!thrum__sim_prefetch_memory(run, to, p))
        return false;
    if (run->pusher >= 0) /* prefetching is a push's work */
        charge_copy(&run->workers[run->pusher], p);
    return thrum__sim_transfer_begin(run, p, from, to, THRUM_COPY_PREFETCHED);
}

static void prefetch_one(task_run *run, piece *p, int to)
{
    replica *r = run_replica(run, p, to);
    if (p->writing || r->valid || r->arriving)
        return;
    int from = find_source(run, p, to);
    if (from < 0)
        return;
    int stop = next_stop(run, from, to);
    if (!run_replica(run, p, stop)->arriving && !prefetch_leg(run, p, from, stop))
        return;
    r->wanted = stop == to;
    p->going_on += stop != to && !r->prefetched_on;
    r->prefetched_on |= stop != to;
}

/* A copy has ended: what was to go on from there does. */
static void prefetch_on(task_run *run, piece *p)
{
    for (int to = 0; to < run->world.nodes && p->going_on > 0; to++) {
        replica *r = run_replica(run, p, to);
        if (!r->prefetched_on)
            continue;
        r->prefetched_on = false;
        p->going_on--;
        prefetch_one(run, p, to);
    }
}

void thrum__sim_prefetch(task_run *run, const task *t, int to)
{
    for (int i = 0; i < t->shown.data_count && !run->err; i++)
        if (t->uses[i].mode == THRUM_MODE_R || t->uses[i].mode == THRUM_MODE_RW)
            prefetch_one(run, t->uses[i].data, to);
}
