/* SPDX-License-Identifier: MIT
 *
 * Copies that somebody watches: the trace and observers. An executor that nobody watches does not come here, and has no
 * rings.
 *
 * A driver says when a copy has ended, not when it was its turn. Links serve one after the other, so its turn was when
 * it had been started and the copy before it on the same way had ended. Ends are noted with places->lock, in their
 * order: so the events of one way never overlap.
 */
#include "exec/place_int.h"

#include "sys/clock.h"
#include "trace/chrome.h"

#include <stdio.h>

/* Made with the first event. Without memory for it all events of this way are lost, and counted as such. */
static void put(const thrum__places *places, link_stats *l, const thrum__event *event)
{
    if (l->ring.written == 0 && thrum__ring_init(&l->ring, places->ex->trace_events) != 0)
        l->ring.capacity = 0;
    if (l->ring.events)
        thrum__ring_put(&l->ring, event);
    else
        l->ring.written++;
}

static thrum__event event_of(thrum__places *places, const replicas *r, int64_t begin, int64_t end, int what)
{
    const char *name = r->data->name ? thrum__watch_keep_text(places->ex, r->data->name) : NULL;
    return (thrum__event){begin, end, name, thrum__copy_number(r->data->bytes, what)};
}

void thrum__copy_note(thrum__places *places, transfer *t)
{
    link_stats *l = thrum__link(places, t->from, t->to);
    int64_t end = thrum__now(), begin = t->begun > l->free_since ? t->begun : l->free_since;
    l->free_since = end;
    t->noted = end > begin ? end - begin : 1;
    snprintf(t->name, sizeof t->name, "%s", t->data->data->name ? t->data->data->name : "");
    t->bytes = t->data->data->bytes;
    if (!places->ex->trace)
        return;
    thrum__event event = event_of(places, t->data, begin, end, (int)t->reason);
    put(places, l, &event);
}

/* The handle may be gone. */
void thrum__copy_tell(const transfer *t)
{
    const thrum_observer *observer = &t->places->ex->observer;
    if (observer->copied)
        observer->copied(observer->context, &(thrum_copy_info){.data = t->name,
                                                               .bytes = t->bytes,
                                                               .from = t->from,
                                                               .to = t->to,
                                                               .reason = t->reason,
                                                               .seconds = (double)t->noted * 1e-9});
}

void thrum__copy_note_thrown_out(thrum__places *places, const replica *r)
{
    int64_t now = thrum__now();
    thrum__event event = event_of(places, r->all, now, now, THRUM__THROWN_OUT);
    put(places, thrum__link(places, r->node, 0), &event);
}

size_t thrum__places_link_tracks(const thrum__places *places, thrum__link_track *tracks, int next_number)
{
    size_t count = 0;
    for (int i = 0; i < places->node_count * places->node_count; i++) {
        const thrum__ring *ring = &places->link[i].ring;
        if (ring->written == 0)
            continue;
        if (tracks)
            tracks[count] =
                (thrum__link_track){i / places->node_count, i % places->node_count, next_number + (int)count, ring};
        count++;
    }
    return count;
}

void thrum__copies_forget(thrum__places *places)
{
    for (int i = 0; places->link && i < places->node_count * places->node_count; i++)
        if (places->link[i].ring.events)
            thrum__ring_fini(&places->link[i].ring);
}
