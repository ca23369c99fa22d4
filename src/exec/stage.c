/* SPDX-License-Identifier: MIT
 *
 * Staging: from being popped to having all data on the node.
 *
 *   stage_begin   the uses are worked out, and entered with their handles
 *   (the line)    memory.c: on a device, memory for all of them
 *   admit         each use is *settled* or waits: content that is read is brought, writers wait for copies that are
 *                 under way
 *   deliver       all have settled: the job goes to its place, or, needing none, is through
 *   stage_end     the job has run (or not): states change, memory may be used by others
 *
 * Whoever gives jobs to be placed sees to it that those which use one handle at the same time all read it; the uses
 * entered with a handle are there to find out where that is not so.
 *
 * Why an admitted job is delivered: it holds its memory; what it waits for are transfers of its handles, each of which
 * ends, and none begins while a writing use of the handle is admitted, but those that the use itself needs. A reading
 * use that finds its node up to date has settled, and the replica stays, for it is pinned.
 */
#include "exec/place_int.h"

#include "base/alloc.h"

#include <stdarg.h>
#include <stdio.h>

void thrum__stage_fault(placing *p, int code, const char *format, ...)
{
    char text[512];
    va_list args;
    if (p->fault)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    p->fault = code;
    p->fault_text = thrum__copy_text(text);
}

void thrum__stage_fail(const placing *p)
{
    thrum__placing_fail(p, p->fault, "%s", p->fault_text ? p->fault_text : thrum_error_text(p->fault));
}

/* ---- Uses -------------------------------------------------------------------------------------------------------- */

static int use_private_copy(thrum__places *places, use *u, thrum__private *copy)
{
    u->copy = copy;
    u->data = copy->data;
    return copy->data->replicas ? 0 : thrum__replicas_new(places, copy->data, false);
}

static int set_use(thrum__places *places, placing *p, use *u, const thrum__access *access)
{
    u->data = access->data;
    u->mode = access->mode == THRUM_MODE_COMMUTE ? THRUM_MODE_RW : access->mode;
    if (access->mode != THRUM_MODE_REDUX)
        return 0;
    u->mode = THRUM_MODE_RW;
    thrum__private *copy = thrum__reduction_copy(access->data, p->place->shown->worker);
    return copy ? use_private_copy(places, u, copy) : THRUM_ENOMEM;
}

/* The handle, and the next of its copies that holds something. */
static int set_combine_uses(thrum__places *places, placing *p)
{
    thrum_data *data = p->job->access[0].data;
    p->uses[0].data = data;
    p->uses[0].mode = p->initial ? THRUM_MODE_W : THRUM_MODE_RW;
    p->use_count = 1;
    if (!p->combining && !thrum__combine_next(p))
        return 0;
    p->uses[1].mode = THRUM_MODE_R;
    p->use_count = 2;
    return use_private_copy(places, &p->uses[1], p->combining);
}

static int set_uses(thrum__places *places, placing *p)
{
    int err = 0;
    for (uint32_t i = 0; i <= p->job->count; i++)
        p->uses[i] = (use){.of = p};
    if (p->job->kind == THRUM__JOB_COMBINE)
        return set_combine_uses(places, p);
    p->use_count = p->job->count;
    for (uint32_t i = 0; i < p->use_count && !err; i++)
        err = set_use(places, p, &p->uses[i], &p->job->access[i]);
    return err;
}

static bool is_entered(const use *u)
{
    return u->mode != THRUM_MODE_SCRATCH && !u->copy;
}

/* The replicas of what the handle is a part of; NULL: of nothing. */
static replicas *above(const thrum_data *data)
{
    return data->whole ? data->whole->replicas : NULL;
}

/* A use of the same handle, or of one that it is a part of. */
static const use *find_conflict(const use *u)
{
    for (const replicas *r = u->data->replicas; r; r = above(r->data))
        for (const use *other = r->users; other; other = other->next)
            if (other->of != u->of && (thrum__use_writes(u) || thrum__use_writes(other)))
                return other;
    return NULL;
}

static bool has_conflict_below(const use *u)
{
    const replicas *r = u->data->replicas;
    return r->below_writing > 0 || (r->below > 0 && thrum__use_writes(u));
}

static void count_above(const use *u, int by)
{
    for (replicas *r = above(u->data); r; r = above(r->data)) {
        r->below += (uint32_t)by;
        r->below_writing += thrum__use_writes(u) ? (uint32_t)by : 0;
    }
}

static void enter(use *u)
{
    replicas *r = u->data->replicas;
    u->next = r->users;
    u->link = &r->users;
    if (u->next)
        u->next->link = &u->next;
    r->users = u;
    count_above(u, 1);
}

static void take_out(use *u)
{
    if (!u->link)
        return;
    count_above(u, -1);
    *u->link = u->next;
    if (u->next)
        u->next->link = u->link;
    u->link = NULL;
}

static void fault_conflict(const use *u, const use *other)
{
    char text[THRUM__DATA_TEXT], whole[THRUM__DATA_TEXT];
    thrum__data_text(u->data, text);
    if (other->data == u->data)
        thrum__stage_fault(u->of, THRUM_EDATA,
                           "tasks '%s' and '%s' use %s at the same time, and at least one of them writes it: an edge "
                           "must order them",
                           other->of->shown.name, u->of->shown.name, text);
    else
        thrum__stage_fault(u->of, THRUM_EDATA,
                           "tasks '%s' and '%s' use %s and its part %s at the same time, and at least one of them "
                           "writes: an edge must order them, and a partition lie between",
                           other->of->shown.name, u->of->shown.name, thrum__data_text(other->data, whole), text);
}

/* A whole and its parts are one handle's memory at home, and different ones elsewhere. */
static bool may_enter(const use *u)
{
    char text[THRUM__DATA_TEXT];
    const use *other = find_conflict(u);
    if (other)
        fault_conflict(u, other);
    else if (has_conflict_below(u))
        thrum__stage_fault(u->of, THRUM_EDATA,
                           "task '%s' uses %s at the same time as others use parts of it, and at least one of them "
                           "writes: an edge must order them, and a partition lie between",
                           u->of->shown.name, thrum__data_text(u->data, text));
    return !other && !has_conflict_below(u);
}

/* All of them, or none: false. */
static bool enter_all(placing *p)
{
    for (uint32_t i = 0; i < p->use_count; i++)
        if (is_entered(&p->uses[i]) && !may_enter(&p->uses[i]))
            return false;
    for (uint32_t i = 0; i < p->use_count; i++)
        if (is_entered(&p->uses[i]))
            enter(&p->uses[i]);
    return true;
}

/* ---- Bringing content -------------------------------------------------------------------------------------------- */

static bool reach_each_other(const thrum__places *places, int from, int to)
{
    const device *a = places->node[from].device, *b = places->node[to].device;
    return a && b && a->driver == b->driver && a->info.reaches_others && b->info.reaches_others;
}

/* A node that is up to date; -1: none. Home, if it is, and then one from which the way is direct. */
static int find_source(const thrum__places *places, const replicas *r, int to)
{
    int found = -1;
    for (int number = 0; number < places->node_count; number++) {
        if (r->of[number].state == THRUM_INVALID)
            continue;
        if (number == 0 || reach_each_other(places, number, to))
            return number;
        found = number;
    }
    return found;
}

static int next_stop(const thrum__places *places, int from, int to)
{
    return from == 0 || reach_each_other(places, from, to) ? to : 0;
}

/* Nothing was there to be read. Fetching is content with that: whether there should be is known to who asks for it. */
static void fault_no_content(const use *u)
{
    char text[THRUM__DATA_TEXT];
    const device *lost = u->data->replicas->lost;
    thrum__data_text(u->data, text);
    if (lost)
        thrum__stage_fault(u->of, THRUM_EDEVICE, "the content of %s was on %s only and is lost: %s", text,
                           lost->info.name, lost->sentence);
    else if (u->of->job->kind != THRUM__JOB_FETCH)
        thrum__stage_fault(u->of, THRUM_EDATA, "task '%s' reads %s, which nobody has written", u->of->shown.name, text);
}

/* Begins what brings the content nearer. False: nothing can. */
static bool bring(thrum__places *places, const use *u, todo *todo)
{
    replicas *r = u->data->replicas;
    int to = u->of->node, from = find_source(places, r, to);
    if (from < 0) {
        fault_no_content(u);
        return false;
    }
    int stop = next_stop(places, from, to);
    if (r->of[stop].arriving || thrum__transfer_begin(places, r, from, stop, THRUM_COPY_NEEDED, todo))
        return true;
    thrum__stage_fault(u->of, THRUM_ENOMEM, "no memory to move data for task '%s'", u->of->shown.name);
    return false;
}

static bool is_there(const use *u)
{
    return u->mode == THRUM_MODE_W || u->data->replicas->of[u->of->node].state != THRUM_INVALID;
}

/* Whether a transfer of the handle has to be waited for; begins one where that is needed. A writer waits for all of
 * them, even if something is wrong: when the last job that uses a handle writes it, then nothing of it is under way
 * afterwards. */
static bool must_wait(thrum__places *places, use *u, todo *todo)
{
    replicas *r = u->data->replicas;
    if (thrum__use_writes(u) && atomic_load_explicit(&r->under_way, memory_order_relaxed) > 0)
        return true;
    u->of->homeless |= thrum__is_broken(places->node[u->of->node].device);
    if (u->of->fault || u->of->homeless || is_there(u))
        return false;
    return r->of[u->of->node].arriving || bring(places, u, todo);
}

/* True: nothing more to wait for, be it that it went wrong. False: it waits for a transfer of its handle. */
static bool settle(thrum__places *places, use *u, todo *todo)
{
    replicas *r = u->data->replicas;
    if (u->mode == THRUM_MODE_SCRATCH || !must_wait(places, u, todo))
        return true;
    u->next_waiter = r->waiters;
    r->waiters = u;
    return false;
}

void thrum__stage_deliver(placing *p, todo *todo)
{
    p->next = todo->arrived;
    todo->arrived = p;
}

static void one_settled(placing *p, todo *todo)
{
    if (--p->missing == 0)
        thrum__stage_deliver(p, todo);
}

/* A transfer has ended: those who wait for one look again. */
void thrum__stage_go_on(thrum__places *places, replicas *r, todo *todo)
{
    use *u = r->waiters, *next;
    r->waiters = NULL;
    for (; u; u = next) {
        next = u->next_waiter;
        if (settle(places, u, todo))
            one_settled(u->of, todo);
    }
}

/* ---- Admitting --------------------------------------------------------------------------------------------------- */

/* A private copy that holds nothing yet will be initialized; which is known only now, since the job before may have
 * done so. */
static void decide_mode(const thrum__places *places, use *u)
{
    if (u->copy && u->of->job->kind != THRUM__JOB_COMBINE)
        u->mode = find_source(places, u->data->replicas, 0) < 0 ? THRUM_MODE_W : THRUM_MODE_RW;
}

void thrum__stage_admit(thrum__places *places, placing *p, todo *todo)
{
    p->admitted = true;
    places->node[p->node].admitted++;
    p->missing = 1;
    for (uint32_t i = 0; i < p->use_count; i++) {
        use *u = &p->uses[i];
        decide_mode(places, u);
        u->data->replicas->of[p->node].wanted = false;
        u->counts_as_writer = thrum__use_writes(u);
        u->data->replicas->writing += u->counts_as_writer;
        if (!settle(places, u, todo))
            p->missing++;
    }
    one_settled(p, todo);
}

static void admit_at_home(thrum__places *places, placing *p, todo *todo)
{
    for (uint32_t i = 0; i < p->use_count; i++)
        if (p->uses[i].mode != THRUM_MODE_SCRATCH)
            thrum__replica_pin(places, &p->uses[i].data->replicas->of[0]);
    thrum__stage_admit(places, p, todo);
}

static void begin_locked(thrum__places *places, placing *p, todo *todo)
{
    node *n = &places->node[p->node];
    if (p->fault || !enter_all(p)) {
        thrum__stage_deliver(p, todo);
    } else if (n->device) {
        bool first = !n->first;
        thrum__node_append(n, p);
        if (first || n->suspended > 0)
            thrum__node_serve_line(places, n, todo);
    } else {
        admit_at_home(places, p, todo);
    }
}

void thrum__stage_begin(thrum__places *places, placing *p, int node)
{
    todo todo = {0};
    p->node = node;
    p->admitted = p->homeless = false;
    if (set_uses(places, p))
        thrum__stage_fault(p, THRUM_ENOMEM, "no memory for a private copy of what task '%s' reduces", p->shown.name);
    thrum__lock_take(&places->lock);
    begin_locked(places, p, &todo);
    thrum__lock_give(&places->lock);
    thrum__todo_carry_out(places, &todo);
}

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

static void invalidate(thrum__places *places, replica *r)
{
    if (r->state == THRUM_INVALID)
        return;
    r->state = THRUM_INVALID;
    thrum__replica_is_oldest(places, r);
}

/* A job may have run to its end on a device that broke before this: then what it wrote is lost, and what others have is
 * out of date all the same. */
static void commit(thrum__places *places, const use *u)
{
    replicas *r = u->data->replicas;
    int here = u->of->node;
    const device *d = places->node[here].device;
    bool is_lost = thrum__is_broken(d);
    for (int number = 0; number < places->node_count; number++)
        if (number != here)
            invalidate(places, &r->of[number]);
    r->of[here].state = is_lost ? THRUM_INVALID : THRUM_MODIFIED;
    r->lost = is_lost ? d : NULL;
    thrum__replicas_changed(places, r);
}

static void end_use(thrum__places *places, use *u, bool wrote)
{
    replicas *r = u->data ? u->data->replicas : NULL;
    take_out(u);
    if (!r || !u->of->admitted)
        return;
    if (u->mode == THRUM_MODE_SCRATCH) {
        thrum__scratch_free(places, &places->node[u->of->node], u);
        return;
    }
    if (wrote && thrum__use_writes(u))
        commit(places, u);
    r->writing -= u->counts_as_writer;
    u->counts_as_writer = false;
    thrum__replica_unpin(places, &r->of[u->of->node]);
    thrum__replica_is_newest(places, &r->of[u->of->node]);
}

static void serve_lines(thrum__places *places, todo *todo)
{
    for (int number = 1; number < places->node_count; number++)
        if (places->node[number].first)
            thrum__node_serve_line(places, &places->node[number], todo);
}

void thrum__stage_end(thrum__places *places, placing *p, bool wrote)
{
    todo todo = {0};
    thrum__lock_take(&places->lock);
    for (uint32_t i = 0; i < p->use_count; i++)
        end_use(places, &p->uses[i], wrote);
    p->use_count = 0;
    places->node[p->node].admitted -= p->admitted;
    p->admitted = false;
    serve_lines(places, &todo);
    thrum__lock_give(&places->lock);
    thrum__todo_carry_out(places, &todo);
}

/* ---- Fetching ---------------------------------------------------------------------------------------------------- */

static int make_homes(const placing *p)
{
    int err = 0;
    for (uint32_t i = 0; i < p->use_count && !err; i++)
        if (thrum__use_writes(&p->uses[i]))
            err = thrum__data_make_home(p->uses[i].data);
    return err;
}

static void fetch_arrived(thrum__places *places, placing *p)
{
    if (!p->fault && make_homes(p))
        thrum__stage_fault(p, thrum__last_code(), "%s", thrum__last_fault());
    if (p->fault)
        thrum__stage_fail(p);
    thrum__stage_end(places, p, !p->fault);
    thrum__placing_end(places, p);
}

/* ---- What was noted ---------------------------------------------------------------------------------------------- */

void thrum__todo_carry_out(thrum__places *places, todo *todo)
{
    while (todo->transfers) {
        transfer *t = todo->transfers;
        todo->transfers = t->next;
        thrum__transfer_start(t);
    }
    if (todo->broke)
        thrum__device_announce(places);
    while (todo->arrived) {
        placing *p = todo->arrived;
        todo->arrived = p->next;
        p->next = NULL;
        if (p->place)
            thrum__place_deliver(p->place, p);
        else
            fetch_arrived(places, p);
    }
}

/* ---- Prefetching ------------------------------------------------------------------------------------------------- */

static void prefetch_one(thrum__places *places, replicas *r, int to, todo *todo)
{
    if (r->writing || r->of[to].state != THRUM_INVALID || r->of[to].arriving)
        return;
    int from = find_source(places, r, to);
    if (from < 0)
        return;
    int stop = next_stop(places, from, to);
    bool on_its_way = r->of[stop].arriving;
    if (!on_its_way && (!thrum__replica_prefetch_memory(places, &r->of[stop]) ||
                        !thrum__transfer_begin(places, r, from, stop, THRUM_COPY_PREFETCHED, todo)))
        return;
    if (stop != to) {
        r->prefetched_on |= UINT64_C(1) << to;
        return;
    }
    r->of[to].wanted = true;
    places->node[to].prefetches++;
}

/* A transfer to home has ended, maybe in vain: then that was all. */
void thrum__stage_prefetch_on(thrum__places *places, replicas *r, todo *todo)
{
    uint64_t nodes = r->of[0].state != THRUM_INVALID ? r->prefetched_on : 0;
    r->prefetched_on = 0;
    for (int to = 1; to < places->node_count; to++)
        if (nodes >> to & 1)
            prefetch_one(places, r, to, todo);
}

static bool mode_reads(int mode)
{
    return mode == THRUM_MODE_R || mode == THRUM_MODE_RW || mode == THRUM_MODE_COMMUTE;
}

void thrum__stage_prefetch(thrum__places *places, placing *p, int node, todo *todo)
{
    thrum__lock_take(&places->lock);
    for (int i = 0; i < p->shown.data_count; i++)
        if (mode_reads((int)p->data[i].mode))
            prefetch_one(places, p->data[i].data->replicas, node, todo);
    thrum__lock_give(&places->lock);
}

/* ---- Putting private copies together ----------------------------------------------------------------------------- */

bool thrum__combine_next(placing *p)
{
    thrum__reduction *reduction = p->job->access[0].data->reduction;
    p->combining = NULL;
    thrum__lock_take(&reduction->lock);
    for (size_t i = 0; i < reduction->count && !p->combining; i++)
        if (reduction->copies[i]->begun)
            p->combining = reduction->copies[i];
    thrum__lock_give(&reduction->lock);
    return p->combining != NULL;
}

static void forget_content(thrum__places *places, replicas *r)
{
    if (!r)
        return;
    for (int number = 0; number < places->node_count; number++)
        invalidate(places, &r->of[number]);
    thrum__replicas_changed(places, r);
}

/* A copy may be on its way home, to be thrown out: that makes what arrives up to date, though nobody wants it. It is
 * overwritten by the next `init`, wherever it is; but `begun` alone decides about that. */
static void forget_copy(thrum__places *places, thrum__private *copy)
{
    copy->begun = false;
    thrum__lock_take(&places->lock);
    forget_content(places, copy->data->replicas);
    thrum__lock_give(&places->lock);
}

/* The copy that was added, or, where the job has ended without adding them, all of them. */
void thrum__combine_forget(thrum__places *places, const placing *p)
{
    placing next = {.job = p->job};
    if (p->combining)
        forget_copy(places, p->combining);
    else
        while (thrum__combine_next(&next))
            forget_copy(places, next.combining);
}
