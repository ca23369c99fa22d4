/* SPDX-License-Identifier: MIT
 *
 * Replicas of handles: making and forgetting them, and what must be true of all of them.
 *
 * A replica is up to date (SHARED, MODIFIED) or not (INVALID). MODIFIED: a job has written it there, and no other node
 * has the content; a new handle's content counts as written at home. How states change:
 *
 *   a job that wrote has run    its node MODIFIED, all others INVALID                     stage.c
 *                               (its device broke meanwhile: that too, and `lost`)
 *   a transfer has ended        both ends SHARED                                          transfer.c
 *   thrown out                  INVALID, unless the only one: then a transfer home first   memory.c
 *   its device broke            INVALID; `lost` if it was the only one                    broken.c
 */
#include "exec/place_int.h"

#include "base/alloc.h"
#include "sys/clock.h"

bool thrum__replica_is_last(const replicas *r, int node, int nodes)
{
    if (r->of[node].state == THRUM_INVALID)
        return false;
    for (int other = 0; other < nodes; other++)
        if (other != node && r->of[other].state != THRUM_INVALID)
            return false;
    return true;
}

static uint64_t find_where(const thrum__places *places, const replicas *r)
{
    uint64_t where = 0;
    for (int number = 0; number < places->node_count; number++)
        where |= (uint64_t)(r->of[number].state != THRUM_INVALID) << number;
    return where;
}

/* Relaxed: whoever reads it without the lock gets what was true a moment ago, and nothing hangs on it but who runs a
 * job. */
void thrum__replicas_note(const thrum__places *places, replicas *r)
{
    atomic_store_explicit(&r->where, find_where(places, r), memory_order_relaxed);
}

/* ---- Coming and going -------------------------------------------------------------------------------------------- */

int thrum__replicas_new(thrum__places *places, thrum_data *data, bool at_home)
{
    replicas *r = thrum__zalloc(sizeof *r + (size_t)places->node_count * sizeof r->of[0]);
    if (!r)
        return thrum__fault(THRUM_ENOMEM, "no memory to keep track of where a handle's content is");
    r->data = data;
    r->bytes = thrum__data_packed_bytes(data);
    for (int number = 0; number < places->node_count; number++) {
        r->of[number].all = r;
        r->of[number].node = number;
    }
    r->of[0].state = at_home ? THRUM_MODIFIED : THRUM_INVALID;
    thrum__replicas_note(places, r);
    data->replicas = r;
    thrum__lock_take(&places->lock);
    r->next = places->all;
    r->link = &places->all;
    if (r->next)
        r->next->link = &r->next;
    places->all = r;
    thrum__lock_give(&places->lock);
    return 0;
}

static void free_locked(thrum__places *places, replicas *r, todo *todo)
{
    thrum__assert(!r->users && !r->waiters);
    for (int number = 1; number < places->node_count; number++) {
        thrum__replica_drop(places, &r->of[number]);
        if (places->node[number].first)
            thrum__node_serve_line(places, &places->node[number], todo);
    }
    *r->link = r->next;
    if (r->next)
        r->next->link = r->link;
}

/* Copies may be under way still: home before it was thrown out, or a prefetch that nobody waits for. They end by
 * themselves. */
static void lock_when_still(thrum__places *places, const replicas *r)
{
    thrum__lock_take(&places->lock);
    while (atomic_load_explicit(&r->under_way, memory_order_relaxed) > 0) {
        thrum__lock_give(&places->lock);
        thrum__sleep_ns(20000);
        thrum__lock_take(&places->lock);
    }
}

static void free_one(thrum__places *places, thrum_data *data)
{
    replicas *r = data->replicas;
    todo todo = {0};
    if (!r)
        return;
    lock_when_still(places, r);
    free_locked(places, r, &todo);
    thrum__lock_give(&places->lock);
    thrum__todo_carry_out(places, &todo);
    data->replicas = NULL;
    thrum__free(r);
}

/* With those of its private copies. */
void thrum__replicas_free(thrum__places *places, thrum_data *data)
{
    const thrum__reduction *reduction = data->reduction;
    for (size_t i = 0; reduction && i < reduction->count; i++)
        free_one(places, reduction->copies[i]->data);
    free_one(places, data);
}

int thrum__replicas_rename(thrum__places *places, thrum_data *data, const char *name)
{
    thrum__lock_take(&places->lock);
    int err = thrum__data_set_name(data, name);
    thrum__lock_give(&places->lock);
    return err;
}

/* In the child of a fork others may seem to be in the middle of something for ever: there only memory is given back. */
void thrum__replicas_free_all(thrum__places *places, bool foreign)
{
    while (places->all && !foreign)
        free_one(places, places->all->data);
    for (replicas *r; (r = places->all);) {
        places->all = r->next;
        r->data->replicas = NULL;
        thrum__free(r);
    }
}

/* Of some recent moment: nobody is kept from changing it. */
int thrum__replica_state(const thrum_data *data, int node)
{
    const thrum__places *places = data->space->places;
    if (node < 0 || node >= (places ? places->node_count : 1))
        return thrum__fault(THRUM_EINVAL,
                            "thrum_data_state: there is no memory node %d; the executor has %d, from 0 on", node,
                            places ? places->node_count : 1);
    thrum__lock *lock = (thrum__lock *)(uintptr_t)&places->lock;
    thrum__lock_take(lock);
    int state = data->replicas->of[node].state;
    thrum__lock_give(lock);
    return state;
}

/* ---- What must be true ------------------------------------------------------------------------------------------- */

static int wrong(const replicas *r, const char *what)
{
    char text[THRUM__DATA_TEXT];
    return thrum__fault(THRUM_EDATA, "replicas of %s: %s", thrum__data_text(r->data, text), what);
}

static int check_handle(const thrum__places *places, const replicas *r)
{
    int modified = 0, valid = 0, arriving = 0;
    for (int number = 0; number < places->node_count; number++) {
        const replica *one = &r->of[number];
        modified += one->state == THRUM_MODIFIED;
        valid += one->state != THRUM_INVALID;
        arriving += one->arriving;
        if (number > 0 && one->state != THRUM_INVALID && !one->memory)
            return wrong(r, "one is up to date and has no memory");
        if (one->arriving && one->users == 0)
            return wrong(r, "one arrives and is not in use");
        if (one->arriving && one->state != THRUM_INVALID)
            return wrong(r, "one arrives and is up to date already");
        if (one->leaving && one->users == 0)
            return wrong(r, "one is on its way home and not in use");
    }
    if (modified > 1)
        return wrong(r, "two are modified");
    if (modified == 1 && valid > 1)
        return wrong(r, "one is modified, and another is up to date too");
    if ((uint32_t)arriving != atomic_load_explicit(&r->under_way, memory_order_relaxed))
        return wrong(r, "the copies under way are not counted right");
    if (find_where(places, r) != atomic_load_explicit(&r->where, memory_order_relaxed))
        return wrong(r, "policies are told of other nodes than those where it is");
    return 0;
}

static int check_rest(const thrum__places *places, const replicas *r)
{
    if (r->users || r->waiters || r->writing || atomic_load_explicit(&r->under_way, memory_order_relaxed))
        return wrong(r, "it is in use, but nothing is under way");
    if (r->prefetched_on)
        return wrong(r, "it is to go on from home, but nothing is under way");
    for (int number = 0; number < places->node_count; number++)
        if (r->of[number].users)
            return wrong(r, "one is in use, but nothing is under way");
    return 0;
}

static int check_node(const thrum__places *places, const node *n, bool at_rest)
{
    size_t bytes = n->scratch, users = 0;
    for (const replica *r = n->oldest; r; r = r->newer)
        bytes += r->memory ? r->all->bytes : 0;
    for (const replicas *r = places->all; r; r = r->next)
        users += r->of[n - places->node].users;
    int number = (int)(n - places->node);
    if (bytes != n->used)
        return thrum__fault(THRUM_EDATA, "node %d: %zu bytes are in replicas, but %zu count as used", number, bytes,
                            n->used);
    if (n->device && n->used > n->device->info.memory)
        return thrum__fault(THRUM_EDATA, "node %d: %zu bytes are used of %zu", number, n->used, n->device->info.memory);
    if (users > n->users || (at_rest && (n->users || n->admitted || n->copies || n->first || n->leaving || n->scratch)))
        return thrum__fault(THRUM_EDATA, "node %d: its users are not counted right", number);
    return 0;
}

static int check_locked(const thrum__places *places, bool at_rest)
{
    int err = 0;
    for (const replicas *r = places->all; r && !err; r = r->next) {
        err = check_handle(places, r);
        if (!err && at_rest)
            err = check_rest(places, r);
    }
    for (int number = 0; number < places->node_count && !err; number++)
        err = check_node(places, &places->node[number], at_rest);
    return err;
}

int thrum__places_check(thrum__places *places, bool at_rest)
{
    thrum__lock_take(&places->lock);
    int err = check_locked(places, at_rest);
    thrum__lock_give(&places->lock);
    return err;
}

/* All of it now and then only: it takes as long as there are handles. */
void thrum__replicas_changed(thrum__places *places, replicas *r)
{
    thrum__replicas_note(places, r);
#ifdef THRUM_CHECKS
    thrum__assert(check_handle(places, r) == 0);
    if (++places->changes % 64 == 0)
        for (int number = 0; number < places->node_count; number++)
            thrum__assert(places->node[number].used <= places->node[number].most_used);
#endif
}
