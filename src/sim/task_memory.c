/* SPDX-License-Identifier: MIT
 *
 * Room on simulated devices: who gets memory, and what is thrown out for it. What exec/memory.c does, which argues why
 * nobody waits for ever: a task gets memory for all of its uses at once, or waits in its node's line, where nobody
 * overtakes; and of what is not in use, what was used longest ago is thrown out first, after a copy home if it is the
 * only one. Tasks that do not fit at all are refused before the run begins (task_times.c).
 */
#include "sim/task_int.h"

#include <assert.h>

/* ---- The list of replicas by last use ---------------------------------------------------------------------------- */

static void list_take_out(node *n, replica *r)
{
    *(r->older ? &r->older->newer : &n->oldest) = r->newer;
    *(r->newer ? &r->newer->older : &n->newest) = r->older;
    r->older = r->newer = NULL;
}

static void list_append(node *n, replica *r)
{
    r->older = n->newest;
    r->newer = NULL;
    *(n->newest ? &n->newest->newer : &n->oldest) = r;
    n->newest = r;
}

static void list_prepend(node *n, replica *r)
{
    r->newer = n->oldest;
    r->older = NULL;
    *(n->oldest ? &n->oldest->older : &n->newest) = r;
    n->oldest = r;
}

void thrum__sim_is_newest(task_run *run, int number, replica *r)
{
    if (!r->memory)
        return;
    list_take_out(&run->nodes[number], r);
    list_append(&run->nodes[number], r);
}

void thrum__sim_is_oldest(task_run *run, int number, replica *r)
{
    if (!r->memory)
        return;
    list_take_out(&run->nodes[number], r);
    list_prepend(&run->nodes[number], r);
}

/* ---- Getting and giving back ------------------------------------------------------------------------------------- */

static size_t room(const node *n)
{
    return n->memory - n->used;
}

static void get(node *n, size_t bytes)
{
    n->used += bytes;
    assert(n->used <= n->memory);
    if (n->used > n->stats.most_used)
        n->stats.most_used = n->used;
}

static void replica_get(const task_run *run, node *n, replica *r, const piece *p)
{
    r->memory = true;
    r->piece = (int)(p - run->pieces);
    get(n, p->bytes);
    n->fresh += p->bytes;
    list_append(n, r);
}

void thrum__sim_drop(task_run *run, int number, replica *r)
{
    node *n = &run->nodes[number];
    piece *p = &run->pieces[r->piece];
    if (!r->memory)
        return;
    list_take_out(n, r);
    n->used -= p->bytes;
    run_set_valid(run, p, number, false);
    r->memory = r->wanted = false;
}

void thrum__sim_free_scratch(task_run *run, int number, size_t bytes)
{
    if (run->nodes[number].device)
        run->nodes[number].used -= bytes;
}

/* ---- Throwing out ------------------------------------------------------------------------------------------------ */

static bool is_last(const task_run *run, const replica *r)
{
    return r->valid && run->pieces[r->piece].valid == 1;
}

static bool may_go(const task_run *run, const replica *r)
{
    return r->users == 0 && (run->pieces[r->piece].writing == 0 || !is_last(run, r));
}

/* What is elsewhere too, or nowhere. */
static void drop_copy(task_run *run, int number, replica *r)
{
    run->nodes[number].stats.evictions += r->valid;
    if (r->valid && run->sim->trace)
        thrum__sim_trace_thrown_out(run, &run->pieces[r->piece], number);
    thrum__sim_drop(run, number, r);
}

/* At once, or after a copy home. False: nothing can go, or the run has failed. */
static bool throw_one_out(task_run *run, int number)
{
    node *n = &run->nodes[number];
    replica *r = n->oldest;
    while (r && !may_go(run, r))
        r = r->newer;
    if (!r)
        return false;
    if (!is_last(run, r)) {
        drop_copy(run, number, r);
        return true;
    }
    piece *p = &run->pieces[r->piece];
    if (!thrum__sim_transfer_begin(run, p, number, n->home, THRUM_COPY_WRITTEN_BACK))
        return false;
    n->stats.evictions++;
    r->leaving = true;
    n->leaving += p->bytes;
    n->stats.written_back++;
    return true;
}

/* True: there is so much room now. False: there may be when copies home have ended, or users have left. */
static bool make_room(task_run *run, int number, size_t need)
{
    const node *n = &run->nodes[number];
    while (room(n) + n->leaving < need)
        if (!throw_one_out(run, number))
            return false;
    return room(n) >= need;
}

/* ---- Reserving --------------------------------------------------------------------------------------------------- */

static void pin_all(task_run *run, const task *t, int number, int one)
{
    for (int i = 0; i < t->shown.data_count; i++)
        if (t->uses[i].mode != THRUM_MODE_SCRATCH)
            run_replica(run, t->uses[i].data, number)->users += (uint32_t)one;
}

static bool needs_memory(const task_run *run, const use *u, int number)
{
    return u->mode == THRUM_MODE_SCRATCH || (!u->repeated && !run_replica(run, u->data, number)->memory);
}

static size_t missing_bytes(const task_run *run, const task *t, int number)
{
    size_t bytes = 0;
    for (int i = 0; i < t->shown.data_count; i++)
        bytes += needs_memory(run, &t->uses[i], number) ? t->uses[i].data->bytes : 0;
    return bytes;
}

static void get_all(task_run *run, const task *t, int number)
{
    node *n = &run->nodes[number];
    for (int i = 0; i < t->shown.data_count; i++) {
        const use *u = &t->uses[i];
        if (u->mode == THRUM_MODE_SCRATCH)
            get(n, u->data->bytes);
        else if (needs_memory(run, u, number))
            replica_get(run, n, run_replica(run, u->data, number), u->data);
    }
}

static bool reserve(task_run *run, const task *t, int number)
{
    pin_all(run, t, number, 1);
    if (make_room(run, number, missing_bytes(run, t, number))) {
        get_all(run, t, number);
        return true;
    }
    pin_all(run, t, number, -1);
    return false;
}

/* ---- The line ---------------------------------------------------------------------------------------------------- */

void thrum__sim_serve_line(task_run *run, int number)
{
    node *n = &run->nodes[number];
    while (n->first && !run->err && reserve(run, n->first, number)) {
        task *t = n->first;
        n->first = t->next;
        t->next = NULL;
        thrum__sim_admit(run, t);
    }
}

void thrum__sim_enter_line(task_run *run, task *t, int number)
{
    node *n = &run->nodes[number];
    bool first = !n->first;
    t->next = NULL;
    *(first ? &n->first : &n->last->next) = t;
    n->last = t;
    if (first)
        thrum__sim_serve_line(run, number);
}

/* ---- Prefetching ------------------------------------------------------------------------------------------------- */

static replica *oldest_to_spare(const task_run *run, const node *n)
{
    replica *r = n->oldest;
    while (r && (!may_go(run, r) || r->wanted || is_last(run, r)))
        r = r->newer;
    return r;
}

/* Memory that nobody has to leave for, but for what is not wanted and need not be copied. */
bool thrum__sim_prefetch_memory(task_run *run, int number, piece *p)
{
    node *n = &run->nodes[number];
    replica *r = run_replica(run, p, number);
    if (!n->device || r->memory)
        return true;
    if (n->first || n->leaving)
        return false;
    while (room(n) < p->bytes) {
        replica *other = oldest_to_spare(run, n);
        if (!other)
            return false;
        drop_copy(run, number, other);
    }
    replica_get(run, n, r, p);
    return true;
}
