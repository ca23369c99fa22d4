/* SPDX-License-Identifier: MIT
 *
 * Places: how jobs get from the policy to workers.
 *
 * Roles
 *   Anybody pushes. A place *serves*: in a call of its worker (stream.h) it pops, stages and runs jobs until the policy
 *   refuses it and nothing that it has staged has arrived. Whoever has something for a place *wakes* it: the policy, in
 *   a push or a pop; the end of a transfer that completes what a job waited for; a device that breaks.
 *
 * A place's state
 *
 *            wake                worker begins              wake
 *     IDLE --------> CALLED --------------------> SERVING --------> AGAIN
 *       ^              ^      gives way to others    |  ^              |
 *       |              +-----------------------------+  +--------------+
 *       +--------------------------------------------+    has looked again
 *                     nothing to do
 *
 * Why no wake is lost
 *   1. Whoever changes IDLE to CALLED makes the call, and nobody else does; so a call is made once, and its structure
 *      is free.
 *   2. A place goes from SERVING to IDLE by a compare-and-swap, after it has been refused and has found nothing
 *      arrived. A wake that comes before makes the state AGAIN, the swap fails, and the place looks again; one that
 *      comes after finds IDLE, and calls.
 *      All changes are sequentially consistent read-modify-writes of one word, so there is no third case, and what the
 *      waker did before is seen by the place.
 *   3. THRUM_ANY_WORKER goes to a place that was *refused*, which is written and read with the policy's lock. If none
 *      was, each place either has not popped since this push began, which it cannot have done before the lock is given
 *      back, or has got a job: then it pops again after it. So dropping the wake loses nothing.
 *   4. What has arrived is put into the place's list before the place is woken, unless the place's own worker puts it
 *      there while it serves: it looks at the list before it stops.
 *
 * What a place has in hand: up to DEPTH jobs that are staged, so that copies for the next ones are under way while a
 * kernel runs. A processor, whose memory is home, mostly has its data at once: it stages more only while it waits.
 */
#include "exec/place_int.h"

#include "base/alloc.h"
#include "sys/clock.h"

#include <stdarg.h>
#include <stdio.h>

enum { DEPTH = 2, NESTED_DEPTH = 1000, JOBS_PER_TURN = 16, ARRIVAL_NS = 200000 };

/* ---- Waking ------------------------------------------------------------------------------------------------------ */

static void serve(void *arg);

/* True: the caller is to make the call. */
static bool must_be_called(place *pl)
{
    uint32_t seen = atomic_load_explicit(&pl->state, memory_order_relaxed), next;
    do {
        next = seen == PLACE_IDLE ? PLACE_CALLED : seen == PLACE_SERVING ? PLACE_AGAIN : seen;
    } while (
        !atomic_compare_exchange_weak_explicit(&pl->state, &seen, next, memory_order_seq_cst, memory_order_relaxed));
    if (seen == PLACE_IDLE)
        atomic_fetch_add_explicit(&pl->all->busy, 1, memory_order_seq_cst);
    return seen == PLACE_IDLE;
}

static void make_call(place *pl)
{
    thrum__call_worker(pl->all->ex, pl->domain, pl->number, &pl->call, serve, pl);
}

void thrum__place_wake_locked(place *pl)
{
    pl->refused = false;
    if (!must_be_called(pl))
        return;
    pl->next_called = pl->all->to_call;
    pl->all->to_call = pl;
}

void thrum__place_wake(place *pl)
{
    if (must_be_called(pl))
        make_call(pl);
}

void thrum__policy_lock(thrum__places *places)
{
    thrum__lock_take(&places->policy_lock);
}

/* Gives the lock back, and does what was noted under it. */
void thrum__policy_unlock(thrum__places *places)
{
    place *to_call = places->to_call;
    todo to_do = places->to_do;
    bool failed = places->dismissed && places->queued > 0;
    places->to_call = NULL;
    places->to_do = (todo){0};
    thrum__lock_give(&places->policy_lock);
    while (to_call) {
        place *pl = to_call;
        to_call = pl->next_called; /* before the call: after it, the place may be called by others */
        make_call(pl);
    }
    thrum__todo_carry_out(places, &to_do);
    if (failed)
        thrum__contract_carry_out(places);
}

bool thrum__place_on_device(const thrum__places *places)
{
    const place *self = places ? thrum__place_self(places) : NULL;
    return self && self->device;
}

place *thrum__place_self(const thrum__places *places)
{
    const worker *self = thrum__self;
    if (!self || self->ex != places->ex || self->kind != WORKER_OWN)
        return NULL;
    if (self->at_home)
        return self->index < places->cpu_count ? &places->place[self->index] : NULL;
    int number = 1 + (int)(self->domain - self->ex->more) - places->first_domain;
    return number >= 0 && number < places->device_count
               ? &places->place[places->device[number].first_place + self->index]
               : NULL;
}

/* ---- Pushing ----------------------------------------------------------------------------------------------------- */

size_t thrum__placing_bytes(const thrum__places *places, uint32_t accesses)
{
    (void)places;
    return sizeof(placing) + accesses * (sizeof(use) + sizeof(thrum_job_data) + sizeof(thrum_buffer)) + sizeof(use) +
           sizeof(thrum_buffer);
}

/* A job that combines has one use more than it has accesses. */
void thrum__placing_init(thrum__job *job, void *memory)
{
    placing *p = memory;
    *p = (placing){.job = job};
    p->uses = (use *)(p + 1);
    p->buffers = (thrum_buffer *)(p->uses + job->count + 1);
    p->data = (thrum_job_data *)(p->buffers + job->count + 1);
    thrum__job_rest_of(job)->placing = p;
}

static size_t bytes_on_device(const thrum__job *job)
{
    size_t bytes = job->kind == THRUM__JOB_COMBINE ? job->access[0].data->replicas->bytes : 0;
    for (uint32_t i = 0; i < job->count; i++) {
        bool before = false;
        for (uint32_t j = 0; j < i && !before; j++)
            before = job->access[j].data == job->access[i].data && job->access[i].mode == THRUM_MODE_R;
        bytes += before ? 0 : job->access[i].data->replicas->bytes;
    }
    return bytes;
}

static void show(placing *p)
{
    const thrum__job *job = p->job;
    const thrum__job_rest *rest = thrum__job_rest_of(job);
    bool combines = job->kind == THRUM__JOB_COMBINE;
    for (uint32_t i = 0; i < job->count; i++) {
        const thrum__access *access = &job->access[i];
        p->data[i] = (thrum_job_data){access->data, combines ? THRUM_MODE_RW : (enum thrum_mode)access->mode,
                                      access->data->bytes};
    }
    p->shown = (thrum_job){.codelet = combines ? job->access[0].data->reduction->combine : job->codelet,
                           .name = rest->name || job->codelet ? thrum__job_name(job)
                                   : combines                 ? "combine"
                                                              : "fetch",
                           .priority = rest->priority,
                           .bucket = rest->bucket,
                           .data = p->data,
                           .data_count = (int)job->count};
    p->initial = combines && job->first_content;
    p->bytes = bytes_on_device(job);
}

void thrum__placing_fail(const placing *p, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    thrum__vfault(code, format, args);
    va_end(args);
    thrum__root_fail(p->job->owner->root, code, thrum__last_fault());
}

/* The sentence for a job that no place can run (any more). The last reason that is found counts. */
static void fail_without_place(const thrum__places *places, const placing *p)
{
    const char *name = p->shown.name;
    const device *small = NULL, *broken = NULL;
    for (int i = 0; i < places->device_count; i++) {
        const device *d = &places->device[i];
        if (!thrum__kernel_for(p->shown.codelet, d->info.arch))
            continue;
        broken = thrum__is_broken(d) ? d : broken;
        small = p->bytes > d->info.memory || p->nodes_excluded >> d->node & 1 ? d : small;
    }
    if (broken)
        thrum__placing_fail(p, THRUM_EDEVICE, "no worker is left that can run task '%s': %s", name, broken->sentence);
    else if (small && p->bytes <= small->info.memory)
        thrum__placing_fail(
            p, THRUM_EDEVICE,
            "task '%s' needs %zu of the %zu bytes of memory of %s, but cannot have them: all that could "
            "make room is in use by tasks that wait for others, or the machine has none",
            name, p->bytes, small->info.memory, small->info.name);
    else if (small)
        thrum__placing_fail(
            p, THRUM_EDEVICE,
            "task '%s' needs %zu bytes of memory at once, but %s has %zu, and no other worker can run it", name,
            p->bytes, small->info.name, small->info.memory);
    else
        thrum__placing_fail(p, THRUM_EINVAL, "no worker can run task '%s'%s", name,
                            p->shown.codelet->can_run ? ": its can_run refuses those that there are" : "");
}

static int number_of(const place *pl)
{
    return pl ? pl->shown->worker : THRUM_ANY_WORKER;
}

/* False: the policy has refused it. */
static bool push_to_policy(thrum__places *places, placing *p)
{
    p->state = PLACING_QUEUED;
    thrum__table_put(places, p);
    places->queued++;
    places->last_call = false;
    places->pushed = &p->shown;
    places->policy->push(places->policy_state, &places->world, &p->shown, number_of(thrum__place_self(places)));
    places->pushed = NULL;
    if (!p->fault)
        return true;
    p->state = PLACING_OUT;
    thrum__table_remove(places, p);
    places->queued--;
    return false;
}

/* False: the policy has been dismissed, or no place can run it, or the policy has refused it. */
static bool push_locked(thrum__places *places, placing *p)
{
    p->shown.number = places->next_number++;
    p->shown.link = NULL;
    p->shown.key = 0;
    p->shown.mark = 0;
    p->place = NULL;
    return !places->dismissed && thrum__placing_find_places(places, p) && push_to_policy(places, p);
}

static void fail_push(thrum__places *places, placing *p)
{
    if (p->fault)
        thrum__stage_fail(p);
    else if (places->dismissed)
        thrum__placing_fail(p, THRUM_EPOLICY, "%s", places->verdict);
    else
        fail_without_place(places, p);
    thrum__placing_end(places, p);
}

void thrum__place_push_placing(thrum__places *places, placing *p)
{
    if (thrum__job_is_cancelled(p->job)) {
        thrum__placing_end(places, p);
        return;
    }
    thrum__policy_lock(places);
    bool pushed = push_locked(places, p);
    thrum__policy_unlock(places);
    if (!pushed)
        fail_push(places, p);
    else if (atomic_load_explicit(&places->busy, memory_order_seq_cst) == 0)
        thrum__contract_look(places);
}

void thrum__place_push(thrum__places *places, thrum__job *job)
{
    placing *p = thrum__job_rest_of(job)->placing;
    show(p);
    /* Relaxed: what the caller waits for keeps the places there until here, and this from here on. */
    atomic_fetch_add_explicit(&places->inside, 1, memory_order_relaxed);
    if (job->kind == THRUM__JOB_FETCH)
        thrum__stage_begin(places, p, 0);
    else
        thrum__place_push_placing(places, p);
    atomic_fetch_sub_explicit(&places->inside, 1, memory_order_release);
}

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

void thrum__place_done(placing *p, double seconds)
{
    place *pl = p->place;
    thrum__places *places = pl->all;
    thrum__policy_lock(places);
    places->taken--;
    p->state = PLACING_OUT;
    if (places->policy->done && !places->dismissed)
        places->policy->done(places->policy_state, &places->world, &p->shown, pl->shown->worker, seconds);
    thrum__table_remove(places, p);
    thrum__policy_unlock(places);
}

/* Ending a job may make others ready, some of which end at once, and so on: beyond a certain depth they are ended after
 * it, not inside of it. */
enum { NESTED_ENDS = 16 };
static _Thread_local int nested_ends;
static _Thread_local placing *ends_later;

static void call_ended(placing *p)
{
    nested_ends++;
    p->job->owner->ended(p->job);
    while ((p = ends_later)) {
        ends_later = p->next;
        p->job->owner->ended(p->job);
    }
    nested_ends--;
}

void thrum__placing_end(thrum__places *places, placing *p)
{
    thrum__free(p->fault_text);
    p->fault_text = NULL;
    p->combining = NULL;
    if (p->job->kind == THRUM__JOB_COMBINE)
        thrum__combine_forget(places, p);
    if (nested_ends < NESTED_ENDS) {
        call_ended(p);
        return;
    }
    p->next = ends_later;
    ends_later = p;
}

/* ---- Popping ----------------------------------------------------------------------------------------------------- */

static placing *pop_locked(place *pl)
{
    thrum__places *places = pl->all;
    if (places->dismissed)
        return NULL;
    thrum_job *job = places->policy->pop(places->policy_state, &places->world, pl->shown->worker);
    pl->refused = !job;
    placing *p = job ? thrum__contract_check(pl, job) : NULL;
    if (!p)
        return NULL;
    p->state = PLACING_TAKEN;
    p->place = pl;
    places->queued--;
    places->taken++;
    places->last_call = false;
    return p;
}

static bool pop_and_stage(place *pl)
{
    thrum__policy_lock(pl->all);
    placing *p = pop_locked(pl);
    thrum__policy_unlock(pl->all);
    if (!p)
        return false;
    pl->staged++;
    thrum__stage_begin(pl->all, p, pl->shown->node);
    return true;
}

/* ---- Arriving ---------------------------------------------------------------------------------------------------- */

void thrum__place_deliver(place *pl, placing *p)
{
    bool by_itself = thrum__place_self(pl->all) == pl && pl->serving > 0;
    p->next = NULL;
    thrum__lock_take(&pl->lock);
    if (pl->arrived)
        pl->last_arrived->next = p;
    else
        pl->arrived = p;
    pl->last_arrived = p;
    atomic_fetch_add_explicit(&pl->arrivals, 1, memory_order_release);
    thrum__lock_give(&pl->lock);
    if (by_itself)
        return;
    thrum__futex_wake(&pl->arrivals, 1);
    thrum__place_wake(pl);
}

static placing *take_arrived(place *pl)
{
    if (pl->staged == 0)
        return NULL;
    thrum__lock_take(&pl->lock);
    placing *p = pl->arrived;
    if (p)
        pl->arrived = p->next;
    thrum__lock_give(&pl->lock);
    if (p)
        pl->staged--;
    return p;
}

/* ---- Serving ----------------------------------------------------------------------------------------------------- */

/* A job to run. Devices have the next one's copies under way first. */
static placing *next_job(place *pl)
{
    for (;;) {
        placing *p = pl->device && pl->staged < DEPTH ? NULL : take_arrived(pl);
        if (p)
            return p;
        if (pl->staged >= DEPTH || !pop_and_stage(pl))
            return take_arrived(pl);
    }
}

/* Others want the worker: not every few moments, unless nobody else could go on at all. */
static bool must_give_way(const place *pl, int jobs)
{
    const domain *d = thrum__domain(pl->all->ex, pl->domain);
    if (atomic_load_explicit(&d->returning, memory_order_relaxed))
        return true;
    return jobs >= JOBS_PER_TURN && (atomic_load_explicit(&d->waiting, memory_order_relaxed) ||
                                     atomic_load_explicit(&d->workers[pl->number]->posts.count, memory_order_relaxed));
}

static void count_waiting(place *pl)
{
    if (pl->idle_since)
        thrum__count_owner(&pl->waiting_ns, (uint64_t)(thrum__now() - pl->idle_since));
    pl->idle_since = 0;
}

/* False: somebody has woken it meanwhile, and it serves on. */
static bool becomes_idle(place *pl)
{
    uint32_t serving = PLACE_SERVING;
    pl->idle_since = pl->staged ? thrum__now() : 0;
    if (atomic_compare_exchange_strong_explicit(&pl->state, &serving, PLACE_IDLE, memory_order_seq_cst,
                                                memory_order_relaxed))
        return true;
    count_waiting(pl);
    atomic_exchange_explicit(&pl->state, PLACE_SERVING, memory_order_seq_cst);
    return false;
}

/* True: it is called again; false: it is idle. */
static bool serve_until_idle(place *pl)
{
    for (int jobs = 0;;) {
        placing *p = next_job(pl);
        if (p) {
            thrum__perform_job(pl, p);
            if (must_give_way(pl, ++jobs)) {
                atomic_exchange_explicit(&pl->state, PLACE_CALLED, memory_order_seq_cst);
                return true;
            }
        } else if (becomes_idle(pl)) {
            return false;
        }
    }
}

static void serve(void *arg)
{
    place *pl = arg;
    thrum__places *places = pl->all;
    atomic_fetch_add_explicit(&places->inside, 1, memory_order_relaxed);
    atomic_exchange_explicit(&pl->state, PLACE_SERVING, memory_order_seq_cst);
    count_waiting(pl);
    pl->serving++;
    bool again = serve_until_idle(pl);
    pl->serving--;
    if (again)
        make_call(pl);
    else if (atomic_fetch_sub_explicit(&places->busy, 1, memory_order_seq_cst) == 1)
        thrum__contract_look(places);
    atomic_fetch_sub_explicit(&places->inside, 1, memory_order_release);
}

/* ---- Helping ----------------------------------------------------------------------------------------------------- */

/* How many of the worker's kernels wait, and for what the innermost does. */
static void suspend(place *pl, int kernels, const thrum__root *awaited)
{
    thrum__places *places = pl->all;
    node *n = &places->node[pl->shown->node];
    todo todo = {0};
    thrum__lock_take(&places->lock);
    n->suspended += (uint32_t)(kernels - pl->suspended);
    pl->suspended = kernels;
    pl->awaited = awaited;
    if (n->first)
        thrum__node_serve_line(places, n, &todo);
    thrum__lock_give(&places->lock);
    thrum__todo_carry_out(places, &todo);
}

thrum__pause thrum__place_pause(thrum__places *places, const thrum__root *awaited)
{
    place *pl = thrum__place_self(places);
    if (!pl || !pl->device || pl->nested == 0)
        return (thrum__pause){0};
    thrum__pause before = {pl, pl->suspended, pl->awaited};
    suspend(pl, pl->nested, awaited);
    return before;
}

void thrum__place_resume(const thrum__pause *before)
{
    if (before->place)
        suspend(before->place, before->suspended, before->awaited);
}

/* What is staged here runs here and nowhere else: whoever waits in this worker, perhaps for that very job, waits for
 * its data. Not for long: what it waits for may be there sooner, and the data needs room that perhaps its own kernel
 * has. */
static placing *await_arrival(place *pl)
{
    uint32_t seen = atomic_load_explicit(&pl->arrivals, memory_order_acquire);
    placing *p = take_arrived(pl);
    if (p || pl->staged == 0)
        return p;
    thrum__futex_wait(&pl->arrivals, seen, ARRIVAL_NS);
    return take_arrived(pl);
}

/* What a kernel waits for may be behind others that there is no room for while it waits: so it may have many in hand.
 *
 * A place that is not serving, because the worker came here from another kind of task, is called afterwards: having got
 * a job it counts as one that pops again (3 above). */
bool thrum__place_help(thrum__places *places)
{
    place *pl = thrum__place_self(places);
    if (!pl || thrum__stack_spent(thrum__self))
        return false;
    placing *p = take_arrived(pl);
    if (!p && pl->staged < (pl->nested ? NESTED_DEPTH : DEPTH))
        pop_and_stage(pl);
    if (!p)
        p = await_arrival(pl);
    if (!p)
        return false;
    thrum__perform_job(pl, p);
    thrum__place_wake(pl);
    return true;
}
