/* SPDX-License-Identifier: MIT
 *
 * Transfers: the content of one handle on its way from one node to another, over one link.
 *
 * A transfer is begun with places->lock held (noted in a todo), started without it, carried out by a driver, and ended
 * by whatever thread the driver calls `done` in. From begin to end both replicas stay where they are (they have a
 * user), and nobody writes the handle: a writing use waits until no transfer of it is under way, and while it is
 * admitted none begins but its own.
 */
#include "exec/place_int.h"

#include "base/alloc.h"
#include "sys/clock.h"

#include <string.h>

/* ---- Beginning --------------------------------------------------------------------------------------------------- */

bool thrum__transfer_begin(thrum__places *places, replicas *r, int from, int to, enum thrum_copy_reason reason,
                           todo *todo)
{
    transfer *t = thrum__alloc(sizeof *t);
    if (!t)
        return false;
    *t = (transfer){.places = places, .data = r, .from = from, .to = to, .reason = reason, .next = todo->transfers};
    todo->transfers = t;
    r->of[to].arriving = true;
    thrum__replica_pin(places, &r->of[from]);
    thrum__replica_pin(places, &r->of[to]);
    places->node[from].copies++;
    places->node[to].copies++;
    /* Relaxed, as below: whoever waits for zero without the lock looks again with it. */
    atomic_fetch_add_explicit(&r->under_way, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&places->inside, 1, memory_order_relaxed);
    link_stats *l = thrum__link(places, from, to);
    if (l->under_way++ == 0)
        l->since = thrum__now();
    return true;
}

/* ---- Ending ------------------------------------------------------------------------------------------------------ */

static void count_link(thrum__places *places, const transfer *t, int err)
{
    link_stats *l = thrum__link(places, t->from, t->to);
    if (--l->under_way == 0)
        l->busy += thrum__now() - l->since;
    if (err)
        return;
    l->copies++;
    l->bytes += t->data->data->bytes;
}

static void set_states(const transfer *t)
{
    replica *from = &t->data->of[t->from], *to = &t->data->of[t->to];
    /* It may have been lost with its device meanwhile: what has arrived is still right. */
    if (from->state == THRUM_MODIFIED)
        from->state = THRUM_SHARED;
    to->state = THRUM_SHARED;
    t->data->lost = NULL;
}

/* It was on its way home so that it can be thrown out: if nobody has come to use it, it goes. */
static void leave(thrum__places *places, replica *r)
{
    node *n = &places->node[r->node];
    if (!r->leaving)
        return;
    r->leaving = false;
    n->leaving -= r->all->bytes;
    if (r->users == 0 && r->all->writing == 0 && !thrum__replica_is_last(r->all, r->node, places->node_count))
        thrum__replica_drop(places, r);
}

static device *faulty(const transfer *t)
{
    device *to = t->places->node[t->to].device, *from = t->places->node[t->from].device;
    return thrum__is_broken(to) ? to : from ? from : to;
}

static void fail_for_memory(placing *p)
{
    thrum__stage_fault(p, THRUM_ENOMEM, "no memory to move data for task '%s'", p->shown.name);
}

/* Without memory for it the device is not to blame: those who wait for the content, or for the room, get the error. */
static void fail(thrum__places *places, const transfer *t, int err, todo *todo)
{
    node *n = &places->node[t->from];
    if (err != THRUM_ENOMEM) {
        thrum__device_break_locked(places, faulty(t), t->sentence, todo);
        return;
    }
    for (use *u = t->data->waiters; u; u = u->next_waiter)
        fail_for_memory(u->of);
    if (t->data->of[t->from].leaving && n->first) {
        placing *p = thrum__node_take_first(n);
        fail_for_memory(p);
        thrum__stage_deliver(p, todo);
    }
}

static void end_locked(thrum__places *places, transfer *t, todo *todo)
{
    replicas *r = t->data;
    int err = atomic_load_explicit(&t->err, memory_order_relaxed);
    count_link(places, t, err);
    if (places->ex->watched && !err)
        thrum__copy_note(places, t);
    r->of[t->to].arriving = false;
    thrum__replica_unpin(places, &r->of[t->from]);
    thrum__replica_unpin(places, &r->of[t->to]);
    thrum__replica_is_newest(places, &r->of[t->to]);
    places->node[t->from].copies--;
    places->node[t->to].copies--;
    atomic_fetch_sub_explicit(&r->under_way, 1, memory_order_relaxed);
    if (err)
        fail(places, t, err, todo);
    else if (!thrum__is_broken(places->node[t->to].device))
        set_states(t);
    leave(places, &r->of[t->from]);
    thrum__replicas_changed(places, r);
    thrum__stage_go_on(places, r, todo);
    if (r->prefetched_on && t->to == 0)
        thrum__stage_prefetch_on(places, r, todo);
    if (places->node[t->from].first)
        thrum__node_serve_line(places, &places->node[t->from], todo);
    if (places->node[t->to].first)
        thrum__node_serve_line(places, &places->node[t->to], todo);
}

static void unpack(transfer *t)
{
    const thrum_data *data = t->data->data;
    if (t->buffer && t->to == 0 && !t->places->timing && !atomic_load_explicit(&t->err, memory_order_relaxed))
        data->custom->unpack(data->home.ptr, t->buffer, data->custom->ctx);
    thrum__free(t->buffer);
}

/* Lowering `inside` is the last touch: then the places may be gone. */
static void end(transfer *t)
{
    thrum__places *places = t->places;
    todo todo = {0};
    unpack(t);
    thrum__lock_take(&places->lock);
    end_locked(places, t, &todo);
    thrum__lock_give(&places->lock);
    if (t->noted)
        thrum__copy_tell(t);
    thrum__free(t);
    thrum__todo_carry_out(places, &todo);
    atomic_fetch_sub_explicit(&places->inside, 1, memory_order_release);
}

static void note_error(transfer *t, int err)
{
    int none = 0;
    if (atomic_compare_exchange_strong_explicit(&t->err, &none, err, memory_order_relaxed, memory_order_relaxed))
        strncpy(t->sentence, thrum__last_fault(), sizeof t->sentence - 1);
}

/* Acquire and release: the last one sees what the others have copied, and their errors. */
static void lower(transfer *t)
{
    if (atomic_fetch_sub_explicit(&t->pending, 1, memory_order_acq_rel) == 1)
        end(t);
}

static void copy_done(void *ctx, int err)
{
    if (err)
        note_error(ctx, err);
    lower(ctx);
}

/* ---- Starting ---------------------------------------------------------------------------------------------------- */

static int start_piece(const thrum_copy *piece, void *ctx)
{
    transfer *t = ctx;
    thrum_copy copy = *piece;
    device *to = t->places->node[t->to].device, *from = t->places->node[t->from].device;
    device *by = to ? to : from;
    copy.direction = !from ? THRUM_COPY_IN : !to ? THRUM_COPY_OUT : THRUM_COPY_ACROSS;
    copy.from_device = to && from ? from->handle : NULL;
    atomic_fetch_add_explicit(&t->pending, 1, memory_order_relaxed);
    int err = by->driver->copy(by->handle, &copy, copy_done, t);
    if (err) {
        note_error(t, err);
        atomic_fetch_sub_explicit(&t->pending, 1, memory_order_relaxed);
    }
    return err;
}

static int pack(transfer *t)
{
    const thrum_data *data = t->data->data;
    t->buffer = thrum__alloc(t->data->bytes);
    if (!t->buffer)
        return thrum__fault(THRUM_ENOMEM, "no memory to pack data");
    if (t->from == 0 && !t->places->timing)
        data->custom->pack(data->home.ptr, t->buffer, data->custom->ctx);
    return 0;
}

static int start_pieces(transfer *t)
{
    thrum_data *data = t->data->data;
    bool with_home = t->to == 0 || t->from == 0, packed = data->custom != NULL;
    int err = with_home ? thrum__data_make_home(data) : 0;
    if (!err && with_home && packed)
        err = pack(t);
    if (err) {
        note_error(t, THRUM_ENOMEM);
        return err;
    }
    void *home = packed ? t->buffer : with_home ? data->home.ptr : NULL;
    return thrum__data_copies(data, t->to ? t->data->of[t->to].memory : home, t->to || packed,
                              t->from ? t->data->of[t->from].memory : home, t->from || packed, start_piece, t);
}

void thrum__transfer_start(transfer *t)
{
    atomic_store_explicit(&t->pending, 1, memory_order_relaxed);
    t->begun = t->places->ex->watched ? thrum__now() : 0;
    start_pieces(t);
    lower(t);
}
