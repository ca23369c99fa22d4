/* SPDX-License-Identifier: MIT
 *
 * Devices that fail. The first operation that goes wrong breaks a device for good:
 *
 *   - what is on its node is not up to date any more; a handle whose only content was there is *lost*, and whoever
 *     reads it fails;
 *   - jobs that wait there, or have arrived, are given back to the policy, for others. So are those that its places
 *     pop: they keep popping what was pushed before, since the policy may have put it aside for them;
 *   - a job that no other place can run fails when it is pushed again; the one whose kernel went wrong fails at once,
 *     since nobody knows what it has written.
 */
#include "exec/place_int.h"

#include <string.h>

static void lose(thrum__places *places, const device *d, replica *r)
{
    if (thrum__replica_is_last(r->all, r->node, places->node_count))
        r->all->lost = d;
    r->state = THRUM_INVALID;
    thrum__replicas_note(places, r->all);
    r->wanted = false;
}

void thrum__device_break_locked(thrum__places *places, device *d, const char *sentence, todo *todo)
{
    node *n = &places->node[d->node];
    if (thrum__is_broken(d))
        return;
    strncpy(d->sentence, sentence, sizeof d->sentence - 1);
    /* Release, with the acquire in thrum__is_broken: the sentence is there. */
    atomic_store_explicit(&d->broken, true, memory_order_release);
    for (replica *r = n->oldest; r; r = r->newer)
        lose(places, d, r);
    todo->broke = true;
}

void thrum__device_break(thrum__places *places, device *d, const char *sentence)
{
    todo todo = {0};
    thrum__lock_take(&places->lock);
    thrum__device_break_locked(places, d, sentence, &todo);
    thrum__node_serve_line(places, &places->node[d->node], &todo); /* all of it is turned away */
    thrum__lock_give(&places->lock);
    thrum__todo_carry_out(places, &todo);
}

static void call_places(thrum__places *places, const device *d)
{
    for (int i = 0; i < d->info.workers; i++)
        thrum__place_wake_locked(&places->place[d->first_place + i]);
}

void thrum__device_announce(thrum__places *places)
{
    thrum__policy_lock(places);
    for (int i = 0; i < places->device_count; i++) {
        device *d = &places->device[i];
        if (!thrum__is_broken(d) || d->broken_since)
            continue;
        d->broken_since = places->next_number;
        call_places(places, d);
    }
    thrum__policy_unlock(places);
}
