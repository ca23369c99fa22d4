/* SPDX-License-Identifier: MIT
 *
 * Room on devices: who gets memory, and what is thrown out for it.
 *
 * A job gets memory for all of its uses on a node at once, or for none. Those that cannot have it now wait in the
 * node's *line*, and nobody overtakes, not even one that needs no more memory. A job that has been *admitted* holds all
 * that it needs, and ends without asking for more; then what it used can be thrown out. So the first in the line gets
 * its turn, if its data fits into the node's memory at all, and two jobs that do not fit together run one after the
 * other.
 *
 * A replica stays while it has users: admitted jobs, and copies from and to it. Of the others the one that was used
 * longest ago is thrown out first. If no other node has the content, it is copied home before; but not while a job is
 * admitted that writes it, since that may change what is copied to: then it stays.
 *
 * All of this happens with places->lock held.
 */
#include "exec/place_int.h"

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

void thrum__replica_is_oldest(thrum__places *places, replica *r)
{
    node *n = &places->node[r->node];
    if (!r->memory)
        return;
    list_take_out(n, r);
    list_prepend(n, r);
}

void thrum__replica_pin(thrum__places *places, replica *r)
{
    r->users++;
    places->node[r->node].users++;
}

void thrum__replica_unpin(thrum__places *places, replica *r)
{
    node *n = &places->node[r->node];
    thrum__assert(r->users > 0 && n->users > 0);
    r->users--;
    n->users--;
}

void thrum__replica_is_newest(thrum__places *places, replica *r)
{
    node *n = &places->node[r->node];
    if (!r->memory)
        return;
    list_take_out(n, r);
    list_append(n, r);
}

/* ---- Getting and giving back ------------------------------------------------------------------------------------- */

static size_t room(const node *n)
{
    return n->device->info.memory - n->used;
}

static void count_used(node *n, size_t bytes)
{
    n->used += bytes;
    if (n->used > n->most_used)
        n->most_used = n->used;
}

static int get(node *n, size_t bytes, void **memory)
{
    if (bytes > room(n))
        return THRUM_ENOMEM;
    int err = n->device->driver->alloc(n->device->handle, bytes, memory);
    if (!err)
        count_used(n, bytes);
    return err;
}

static void give_back(node *n, void *memory, size_t bytes)
{
    n->device->driver->release(n->device->handle, memory, bytes);
    n->used -= bytes;
}

static int replica_get(node *n, replica *r)
{
    int err = get(n, r->all->bytes, &r->memory);
    if (err)
        r->memory = NULL;
    else
        list_append(n, r);
    return err;
}

void thrum__replica_drop(thrum__places *places, replica *r)
{
    node *n = &places->node[r->node];
    if (!r->memory)
        return;
    list_take_out(n, r);
    give_back(n, r->memory, r->all->bytes);
    r->memory = NULL;
    r->state = THRUM_INVALID;
    r->wanted = false;
    thrum__replicas_changed(places, r->all);
}

void thrum__scratch_free(thrum__places *places, node *n, use *u)
{
    size_t bytes = u->data->replicas->bytes;
    (void)places;
    if (!u->scratch || !n->device)
        return;
    give_back(n, u->scratch, bytes);
    n->scratch -= bytes;
    n->users--;
    u->scratch = NULL;
}

/* ---- Throwing out ------------------------------------------------------------------------------------------------ */

static bool may_go(const thrum__places *places, const replica *r)
{
    return r->users == 0 && (r->all->writing == 0 || !thrum__replica_is_last(r->all, r->node, places->node_count));
}

static replica *oldest_that_may_go(const thrum__places *places, const node *n)
{
    replica *r = n->oldest;
    while (r && !may_go(places, r))
        r = r->newer;
    return r;
}

/* What is elsewhere too, or nowhere. */
static void drop_copy(thrum__places *places, node *n, replica *r)
{
    bool has_content = r->state != THRUM_INVALID;
    n->evictions += has_content;
    if (has_content && places->ex->trace)
        thrum__copy_note_thrown_out(places, r);
    thrum__replica_drop(places, r);
}

/* At once, or after a copy home. False: there is no memory to begin that. */
static bool throw_out(thrum__places *places, node *n, replica *r, todo *todo)
{
    if (thrum__replica_is_last(r->all, r->node, places->node_count)) {
        if (!thrum__transfer_begin(places, r->all, r->node, 0, THRUM_COPY_WRITTEN_BACK, todo))
            return false;
        r->leaving = true;
        n->leaving += r->all->bytes;
        n->written_back++;
        n->evictions++;
    } else {
        drop_copy(places, n, r);
    }
    return true;
}

static bool throw_one_out(thrum__places *places, node *n, todo *todo)
{
    replica *r = oldest_that_may_go(places, n);
    return r && throw_out(places, n, r, todo);
}

/* True: there is so much room now. False: there may be when copies home have ended, or users have left. */
static bool make_room(thrum__places *places, node *n, size_t need, todo *todo)
{
    while (room(n) + n->leaving < need)
        if (!throw_one_out(places, n, todo))
            return false;
    return room(n) >= need;
}

/* ---- Reserving --------------------------------------------------------------------------------------------------- */

static replica *replica_of(const use *u)
{
    return &u->data->replicas->of[u->of->node];
}

static void pin_all(thrum__places *places, const placing *p)
{
    for (uint32_t i = 0; i < p->use_count; i++)
        if (p->uses[i].mode != THRUM_MODE_SCRATCH)
            thrum__replica_pin(places, replica_of(&p->uses[i]));
}

static void unpin_all(thrum__places *places, const placing *p)
{
    for (uint32_t i = 0; i < p->use_count; i++)
        if (p->uses[i].mode != THRUM_MODE_SCRATCH)
            thrum__replica_unpin(places, replica_of(&p->uses[i]));
}

/* A handle that is read twice counts once. */
static bool counted_before(const placing *p, uint32_t number)
{
    for (uint32_t i = 0; i < number; i++)
        if (p->uses[i].data == p->uses[number].data && p->uses[i].mode != THRUM_MODE_SCRATCH)
            return true;
    return false;
}

static size_t missing_bytes(const placing *p)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < p->use_count; i++) {
        const use *u = &p->uses[i];
        if (u->mode == THRUM_MODE_SCRATCH || (!replica_of(u)->memory && !counted_before(p, i)))
            bytes += u->data->replicas->bytes;
    }
    return bytes;
}

static int get_for_use(node *n, use *u)
{
    if (u->mode != THRUM_MODE_SCRATCH)
        return replica_of(u)->memory ? 0 : replica_get(n, replica_of(u));
    int err = get(n, u->data->replicas->bytes, &u->scratch);
    if (err) {
        u->scratch = NULL;
        return err;
    }
    n->scratch += u->data->replicas->bytes;
    n->users++;
    return 0;
}

/* Replicas that have got memory before another could not keep it: it holds nothing, and can be thrown out again. */
static int get_all(thrum__places *places, node *n, placing *p)
{
    int err = 0;
    for (uint32_t i = 0; i < p->use_count && !err; i++)
        err = get_for_use(n, &p->uses[i]);
    for (uint32_t i = 0; i < p->use_count && err; i++)
        thrum__scratch_free(places, n, &p->uses[i]);
    return err;
}

enum outcome { GOT, LATER, NEVER };

/* A device may be full although the sum says that it is not: then more is thrown out, as long as there is something. */
static enum outcome reserve_pinned(thrum__places *places, node *n, placing *p, todo *todo)
{
    int err = THRUM_ENOMEM;
    if (!make_room(places, n, missing_bytes(p), todo))
        return LATER;
    while (err == THRUM_ENOMEM) {
        err = get_all(places, n, p);
        if (err == THRUM_ENOMEM && !throw_one_out(places, n, todo))
            return LATER;
    }
    if (err)
        thrum__device_break_locked(places, n->device, thrum__last_fault(), todo);
    return err ? NEVER : GOT;
}

/* Else nobody has anything that could come free, and still there is too little. */
static bool something_may_leave(const thrum__places *places, const node *n)
{
    const replica *r = n->oldest;
    while (r && may_go(places, r))
        r = r->newer;
    return r || n->scratch > 0;
}

static enum outcome reserve(thrum__places *places, node *n, placing *p, todo *todo)
{
    if (thrum__is_broken(n->device))
        return NEVER;
    pin_all(places, p);
    enum outcome outcome = reserve_pinned(places, n, p, todo);
    if (outcome == GOT)
        return GOT;
    unpin_all(places, p);
    return outcome == LATER && !something_may_leave(places, n) ? NEVER : outcome;
}

/* ---- The line ---------------------------------------------------------------------------------------------------- */

void thrum__node_append(node *n, placing *p)
{
    p->next = NULL;
    if (n->first)
        n->last->next = p;
    else
        n->first = p;
    n->last = p;
}

placing *thrum__node_take_first(node *n)
{
    placing *p = n->first;
    n->first = p->next;
    p->next = NULL;
    return p;
}

static void turn_away(placing *p, todo *todo)
{
    p->homeless = true;
    p->nodes_excluded |= UINT64_C(1) << p->node;
    thrum__stage_deliver(p, todo);
}

/* One that is found, or NULL; taken out. */
typedef bool line_fn(const thrum__places *places, const node *n, const placing *p);
static placing *take_from_line(const thrum__places *places, node *n, line_fn *is_it)
{
    placing *before = NULL, *p = n->first;
    while (p && !is_it(places, n, p)) {
        before = p;
        p = p->next;
    }
    if (!p)
        return NULL;
    *(before ? &before->next : &n->first) = p->next;
    if (n->last == p)
        n->last = before;
    p->next = NULL;
    return p;
}

/* All that is in use is so by jobs whose kernels wait for others. */
static bool is_stuck(const node *n)
{
    return n->suspended > 0 && n->admitted == n->suspended && n->copies == 0;
}

static bool can_go_elsewhere(const thrum__places *places, const node *n, const placing *p)
{
    (void)places;
    (void)n;
    return p->elsewhere;
}

static bool is_stuck_line(const node *n)
{
    return n->first && is_stuck(n);
}

/* Whether a kernel that is suspended on some stuck node waits for it. */
static bool is_awaited(const thrum__places *places, const node *n, const placing *p)
{
    bool awaited = false;
    (void)n;
    for (int i = places->cpu_count; i < places->count && !awaited; i++) {
        const place *pl = &places->place[i];
        awaited =
            pl->suspended > 0 && pl->awaited == p->job->owner->root && is_stuck_line(&places->node[pl->shown->node]);
    }
    return awaited;
}

static bool is_in_line(const node *n, const thrum__root *root)
{
    const placing *p = n->first;
    while (p && p->job->owner->root != root)
        p = p->next;
    return p;
}

static bool is_in_stuck_line(const thrum__places *places, const thrum__root *root)
{
    bool found = false;
    for (int number = 1; number < places->node_count && !found; number++)
        found = is_stuck_line(&places->node[number]) && is_in_line(&places->node[number], root);
    return found;
}

/* All kernels on nodes whose lines are stuck wait for jobs that stand in such lines: for ever. */
static bool all_wait_for_lines(const thrum__places *places)
{
    for (int i = places->cpu_count; i < places->count; i++) {
        const place *pl = &places->place[i];
        if (pl->suspended > 0 && is_stuck_line(&places->node[pl->shown->node]) &&
            !is_in_stuck_line(places, pl->awaited))
            return false;
    }
    return true;
}

/* Where the line is stuck, it goes on with one that another node may have; or with one that is waited for, which is an
 * error, once nobody there waits for anything else. */
static placing *take_from_stuck(const thrum__places *places, node *n)
{
    placing *p = take_from_line(places, n, can_go_elsewhere);
    if (!p && all_wait_for_lines(places))
        p = take_from_line(places, n, is_awaited);
    return p;
}

void thrum__node_serve_line(thrum__places *places, node *n, todo *todo)
{
    while (n->first) {
        enum outcome outcome = reserve(places, n, n->first, todo);
        placing *p = outcome != LATER ? thrum__node_take_first(n) : is_stuck(n) ? take_from_stuck(places, n) : NULL;
        if (!p)
            return;
        if (outcome == GOT)
            thrum__stage_admit(places, p, todo);
        else
            turn_away(p, todo);
    }
}

/* ---- Prefetching ------------------------------------------------------------------------------------------------- */

static replica *oldest_to_spare(const thrum__places *places, const node *n)
{
    replica *r = n->oldest;
    while (r && (!may_go(places, r) || r->wanted || thrum__replica_is_last(r->all, r->node, places->node_count)))
        r = r->newer;
    return r;
}

bool thrum__replica_prefetch_memory(thrum__places *places, replica *r)
{
    node *n = &places->node[r->node];
    if (!n->device || r->memory)
        return true;
    if (n->first || n->leaving || thrum__is_broken(n->device))
        return false;
    while (room(n) < r->all->bytes) {
        replica *other = oldest_to_spare(places, n);
        if (!other)
            return false;
        drop_copy(places, n, other);
    }
    return replica_get(n, r) == 0;
}
