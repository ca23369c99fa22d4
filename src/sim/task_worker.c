/* SPDX-License-Identifier: MIT
 *
 * How tasks get from the policy to workers: what exec/place.c does, one step after the other.
 *
 * A worker that is *called* looks whether there is something to do, unless it is in the middle of a kernel: then it
 * looks after that anyway. Who is called by a push, a pop or the end of a copy looks when whoever did that is through,
 * in the order of the calls. So a worker that ends a task has the first choice of what that made ready.
 */
#include "sim/task_int.h"

#include <assert.h>

/* ---- Calling ----------------------------------------------------------------------------------------------------- */

void thrum__sim_call(task_run *run, worker *w)
{
    if (w->called || w->running)
        return;
    w->called = true;
    run->called[(run->called_first + run->called_count++) % run->world.workers] = w->number;
}

/* ---- Pushing ----------------------------------------------------------------------------------------------------- */

static void push(task_run *run, task *t, int from)
{
    t->shown.number = run->next_number++;
    t->state = TASK_QUEUED;
    run->queued++;
    run->last_call = false;
    thrum__sim_count_ready(run, t, 1);
    run->pushed = &t->shown;
    run->pusher = from;
    run->policy->push(run->policy_state, &run->world, &t->shown, from);
    run->pushed = NULL;
    run->pusher = THRUM_ANY_WORKER;
}

static piece *taken_by_others(const task *t)
{
    for (int i = 0; i < t->shown.data_count; i++)
        if (t->shown.data[i].mode == THRUM_MODE_COMMUTE && t->uses[i].data->taken)
            return t->uses[i].data;
    return NULL;
}

/* All that it commutes on, or none: false, and it waits for one of them. */
static bool take_all(task *t)
{
    piece *taken = taken_by_others(t);
    if (taken) {
        t->next = NULL;
        *(taken->commuters ? &taken->last_commuter->next : &taken->commuters) = t;
        taken->last_commuter = t;
        return false;
    }
    for (int i = 0; i < t->shown.data_count; i++)
        if (t->shown.data[i].mode == THRUM_MODE_COMMUTE)
            t->uses[i].data->taken = true;
    return true;
}

static void ready(task_run *run, task *t, int from)
{
    if (!t->commutes || take_all(t))
        push(run, t, from);
}

/* Those that waited for what it commuted on try again, in their order. */
static void give_back(task_run *run, const task *t, int from)
{
    for (int i = 0; i < t->shown.data_count; i++)
        if (t->shown.data[i].mode == THRUM_MODE_COMMUTE)
            t->uses[i].data->taken = false;
    for (int i = 0; i < t->shown.data_count; i++) {
        piece *p = t->uses[i].data;
        task *waited = t->shown.data[i].mode == THRUM_MODE_COMMUTE ? p->commuters : NULL, *next;
        if (waited)
            p->commuters = p->last_commuter = NULL;
        for (; waited; waited = next) {
            next = waited->next;
            ready(run, waited, from);
        }
    }
}

/* ---- Inserting --------------------------------------------------------------------------------------------------- */

/* As a flow does it: tasks come in their order, and while too many have not ended, nobody inserts (front/flow.c). Not
 * as there, whoever inserts has a core for itself. */

static void insert_next(task_run *run)
{
    task *t = &run->tasks[run->inserted++];
    if (t->waits == 0)
        ready(run, t, THRUM_ANY_WORKER);
}

/* Whether the next one may come. Once the window was full, half of it must be free. */
static bool has_room(task_run *run)
{
    int window = run->layout.machine->window, open = run->inserted - run->done;
    if (window > 0)
        run->no_room = open >= (run->no_room ? window - window / 2 : window);
    return !run->no_room;
}

static double insertion_seconds(const task_run *run)
{
    const thrum_machine *machine = run->layout.machine;
    return machine->insert_task + run->workload->tasks[run->inserted].count * machine->insert_access;
}

void thrum__sim_insert(task_run *run)
{
    while (run->inserted < run->workload->task_count && !run->err && has_room(run)) {
        double seconds = insertion_seconds(run);
        if (seconds > 0) {
            run_fail(run, run->ops->timer(run->engine, seconds, INSERTION_TICKET));
            return;
        }
        insert_next(run);
    }
}

void thrum__sim_inserted(task_run *run)
{
    insert_next(run);
    thrum__sim_insert(run);
}

/* ---- Releasing --------------------------------------------------------------------------------------------------- */

/* The latest first, which is how a flow does it (model/order.c). */
static void release(task_run *run, const task *t)
{
    size_t number = (size_t)(t - run->tasks);
    for (size_t i = run->order.first[number + 1]; i-- > run->order.first[number];) {
        task *after = &run->tasks[run->order.after[i]];
        if (--after->waits == 0 && after - run->tasks < run->inserted)
            ready(run, after, t->worker);
    }
}

/* ---- Popping ----------------------------------------------------------------------------------------------------- */

static task *pop(task_run *run, worker *w)
{
    const thrum_job *job = run->policy->pop(run->policy_state, &run->world, w->number);
    w->refused = !job;
    w->stats.refused += !job;
    task *t = job ? thrum__sim_check_popped(run, w, job) : NULL;
    if (!t)
        return NULL;
    t->state = TASK_TAKEN;
    t->worker = w->number;
    run->queued--;
    run->last_call = false;
    thrum__sim_count_ready(run, t, -1);
    return t;
}

static bool pop_and_stage(task_run *run, worker *w)
{
    task *t = run->err ? NULL : pop(run, w);
    if (!t)
        return false;
    w->staged++;
    thrum__sim_stage(run, t);
    return true;
}

/* ---- Arriving ---------------------------------------------------------------------------------------------------- */

void thrum__sim_deliver(task_run *run, task *t)
{
    worker *w = &run->workers[t->worker];
    t->next = NULL;
    *(w->arrived ? &w->last_arrived->next : &w->arrived) = t;
    w->last_arrived = t;
    thrum__sim_call(run, w);
}

static task *take_arrived(worker *w)
{
    task *t = w->arrived;
    if (!t)
        return NULL;
    w->arrived = t->next;
    w->staged--;
    w->admitted--;
    return t;
}

/* ---- Serving ----------------------------------------------------------------------------------------------------- */

/* A task to run. Devices have the next ones' copies under way first; cores stage more only while they wait. */
static task *next_task(task_run *run, worker *w)
{
    for (;;) {
        task *t = w->device && w->staged < run->depth ? NULL : take_arrived(w);
        if (t)
            return t;
        if (w->staged >= run->depth || !pop_and_stage(run, w))
            return take_arrived(w);
    }
}

/* What it reads is on its node, and stays there. For builds that check. */
__attribute__((unused)) static bool all_is_there(const task_run *run, const task *t)
{
    for (int i = 0; i < t->shown.data_count; i++) {
        const use *u = &t->uses[i];
        const replica *r = run_replica(run, u->data, run_node_of(run, t));
        if (u->mode != THRUM_MODE_SCRATCH && (r->users == 0 || (u->mode != THRUM_MODE_W && !r->valid)))
            return false;
    }
    return true;
}

/* What was done for its data since a task began there: memory was given to it, copies were asked for. */
static double staging_seconds(task_run *run, worker *w, int codelet)
{
    const thrum_machine *machine = run->layout.machine;
    const thrum__overhead *each = w->device ? &machine->kind_overhead[w->kind - 1] : &machine->core_overhead;
    node *n = &run->nodes[w->node];
    double moved = run->moved[codelet * run->kind_count + w->kind];
    double seconds = (double)n->fresh * each->fresh + w->copies * each->copy + (double)w->moved * moved;
    n->fresh = 0;
    w->copies = 0;
    w->moved = 0;
    return seconds;
}

static void begin(task_run *run, worker *w, task *t)
{
    size_t number = (size_t)(t - run->tasks);
    assert(all_is_there(run, t));
    w->running = t;
    t->begin = run_now(run);
    thrum__sim_count_begin(run, t);
    double seconds = run->seconds[number * (size_t)run->kind_count + (size_t)w->kind];
    seconds += staging_seconds(run, w, run->workload->tasks[number].codelet);
    run_fail(run, run->ops->kernel(run->engine, w->number, seconds, ticket_of(number, false)));
}

static void serve(task_run *run, worker *w)
{
    task *t = next_task(run, w);
    if (t && !run->err)
        begin(run, w, t);
    thrum__sim_account(run, w);
}

void thrum__sim_serve_called(task_run *run)
{
    while (run->called_count > 0) {
        worker *w = &run->workers[run->called[run->called_first]];
        run->called_first = (run->called_first + 1) % run->world.workers;
        run->called_count--;
        w->called = false;
        if (!w->running && !run->err)
            serve(run, w);
    }
}

void thrum__sim_ended(task_run *run, task *t)
{
    worker *w = &run->workers[t->worker];
    double seconds = run_now(run) - t->begin;
    thrum__sim_unstage(run, t);
    t->state = TASK_DONE;
    w->running = NULL;
    w->stats.tasks++;
    if (run->trace_order) {
        run->trace_order[run->done] = (int)(t - run->tasks);
        run->trace_end[run->done] = run_now(run);
    }
    run->done++;
    if (run->policy->done)
        run->policy->done(run->policy_state, &run->world, &t->shown, w->number, seconds);
    if (t->commutes)
        give_back(run, t, w->number);
    release(run, t);
    if (run->no_room)
        thrum__sim_insert(run);
    if (!run->err)
        serve(run, w);
}

/* A policy may have woken the wrong one: all are called once more before it is said to keep what it has. */
bool thrum__sim_last_call(task_run *run)
{
    if (run->queued == 0 || run->last_call)
        return false;
    run->last_call = true;
    for (int i = 0; i < run->world.workers; i++) {
        run->workers[i].refused = false;
        thrum__sim_call(run, &run->workers[i]);
    }
    thrum__sim_serve_called(run);
    return true;
}
