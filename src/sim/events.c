/* SPDX-License-Identifier: MIT
 *
 * Events on a virtual clock (events.h).
 */
#include "events.h"

#include "base/alloc.h"
#include "base/fault.h"

#include <thrum/error.h>

#include <assert.h>

static const thrum__event_key no_event = {UINT64_MAX, UINT64_MAX};

int thrum__events_begin(thrum__events *events, uint32_t room)
{
    if (room > THRUM__EVENT_PLACES)
        return thrum__fault(THRUM_ELIMIT, "%u events at once are too many: %u is the limit", room,
                            (unsigned)THRUM__EVENT_PLACES);
    *events = (thrum__events){.room = 1};
    while (events->room < room)
        events->room *= 2;
    events->times = thrum__zalloc_aligned(2 * (size_t)events->room * sizeof *events->times);
    events->tickets = thrum__zalloc_aligned(2 * (size_t)events->room * sizeof *events->tickets);
    events->payloads = thrum__alloc(events->room * sizeof *events->payloads);
    events->free_places = thrum__alloc(events->room * sizeof *events->free_places);
    if (!events->times || !events->tickets || !events->payloads || !events->free_places) {
        thrum__events_end(events);
        return thrum__fault(THRUM_ENOMEM, "there is no memory for %u events", room);
    }
    thrum__events_reset(events, 0);
    return 0;
}

void thrum__events_end(thrum__events *events)
{
    thrum__free(events->times);
    thrum__free(events->tickets);
    thrum__free(events->payloads);
    thrum__free(events->free_places);
    *events = (thrum__events){0};
}

void thrum__events_reset(thrum__events *events, uint32_t count)
{
    uint32_t room = events->room;
    assert(count <= room);
    events->now = 0;
    events->number = events->count = count;
    for (uint32_t place = 0; place < room; place++) {
        events->times[room + place] = place < count ? 0 : no_event.time;
        events->tickets[room + place] = place < count ? place * THRUM__EVENT_PLACES + place : no_event.ticket;
        events->payloads[place] = place;
        events->free_places[place] = place;
    }
    for (uint32_t i = room - 1; i >= 1; i--) { /* all the same time: the left one was scheduled first */
        events->times[i] = events->times[2 * i];
        events->tickets[i] = events->tickets[2 * i];
    }
}

void thrum__events_schedule(thrum__events *events, double time, uint64_t payload)
{
    assert(events->count < events->room && time >= events->now && events->number < THRUM__EVENT_NUMBERS);
    uint32_t place = events->free_places[events->count++];
    events->payloads[place] = payload;
    /* -0.0 + 0.0 is 0.0: the bits of -0.0 would be beyond all others. */
    thrum__events_play(
        events, place,
        (thrum__event_key){thrum__event_bits(time + 0.0), events->number++ * THRUM__EVENT_PLACES + place});
}

bool thrum__events_take(thrum__events *events, double *time, uint64_t *payload)
{
    if (events->count == 0)
        return false;
    uint32_t place = (uint32_t)thrum__events_first_place(events);
    *time = events->now = thrum__events_first_time(events);
    *payload = events->payloads[place];
    events->free_places[--events->count] = place;
    thrum__events_play(events, place, no_event);
    return true;
}
