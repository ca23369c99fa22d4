/* SPDX-License-Identifier: MIT
 *
 * Events on a virtual clock: what happens next? The earliest; of equal times, what was scheduled first.
 *
 * The queue is a tournament: events sit in places, the leaves of a binary tree, and each inner node holds the earlier
 * of the two below it, so the root is the next event. Scheduling, taking, and replacing the first (what a simulator
 * does most: a worker is done and begins something else) change one place and play the matches between it and the root
 * anew. Which those are is known beforehand and none of them is a branch, which is why this is faster than a heap.
 *
 * An event is a time, a number that the queue gives it, and a payload that is the caller's. The clock is the time of
 * the event that was taken last. One thread at a time.
 */
#ifndef THRUM_SIM_EVENTS_H
#define THRUM_SIM_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* How the number of an event and its place share a word: so many events at once, and so many altogether. */
#define THRUM__EVENT_PLACES (UINT64_C(1) << 24)
#define THRUM__EVENT_NUMBERS (UINT64_C(1) << 40)

/* What matches are decided by. Times are 0 or more, and the bits of such numbers, seen as whole numbers, have the same
 * order.
 */
typedef struct thrum__event_key {
    uint64_t time;   /* the bits of a double; all bits set: no event */
    uint64_t ticket; /* number * THRUM__EVENT_PLACES + place */
} thrum__event_key;

__extension__ typedef unsigned __int128 thrum__uint128;

typedef struct thrum__events {
    double now;
    uint64_t number; /* of the next event that is scheduled */
    uint32_t count;  /* events scheduled */
    uint32_t room;   /* places, a power of two */
    /* Nodes: 1 is the root, below i are 2 i and 2 i + 1, leaves from `room` on. The two halves of keys are apart, since
     * compilers make one wide move of neighbours, and waiting for that takes longer than two narrow ones. */
    uint64_t *times, *tickets;
    uint64_t *payloads;    /* by place */
    uint32_t *free_places; /* the last `room - count` of them */
} thrum__events;

/* For up to `room` events at once, room <= THRUM__EVENT_PLACES. 0, or an error with a sentence. */
int thrum__events_begin(thrum__events *events, uint32_t room);
void thrum__events_end(thrum__events *events);

/* No events any more, but `count` with the payloads 0, 1, ..., scheduled for the time 0 in this order; and the clock is
 * at 0. As if nothing had been before. */
void thrum__events_reset(thrum__events *events, uint32_t count);

/* time >= now. There is room. */
void thrum__events_schedule(thrum__events *events, double time, uint64_t payload);

/* Takes the first event. False: there is none. */
bool thrum__events_take(thrum__events *events, double *time, uint64_t *payload);

/* ---- The first event, in place ----------------------------------------------------------------------------------- */

static inline uint64_t thrum__event_bits(double time)
{
    uint64_t bits;
    memcpy(&bits, &time, sizeof bits);
    return bits;
}

/* There is a first event. */
static inline double thrum__events_first_time(const thrum__events *events)
{
    double time;
    memcpy(&time, &events->times[1], sizeof time);
    return time;
}

static inline uint64_t thrum__events_first_place(const thrum__events *events)
{
    return events->tickets[1] % THRUM__EVENT_PLACES;
}

static inline uint64_t thrum__events_first_payload(const thrum__events *events)
{
    return events->payloads[thrum__events_first_place(events)];
}

/* Plays the matches above a place whose key has changed. Who wins cannot be predicted, so there is no branch for it: a
 * mask of all bits or none exchanges the two. */
static inline void thrum__events_play(thrum__events *events, uint64_t place, thrum__event_key key)
{
    uint64_t *times = events->times, *tickets = events->tickets, i = events->room + place;
    times[i] = key.time;
    tickets[i] = key.ticket;
    while (i > 1) {
        thrum__event_key other = {times[i ^ 1], tickets[i ^ 1]};
        uint64_t lost = -(uint64_t)(((thrum__uint128)other.time << 64 | other.ticket) <
                                    ((thrum__uint128)key.time << 64 | key.ticket));
        key.time ^= (key.time ^ other.time) & lost;
        key.ticket ^= (key.ticket ^ other.ticket) & lost;
        i >>= 1;
        times[i] = key.time;
        tickets[i] = key.ticket;
    }
}

/* Takes the first event and schedules another one with the same payload, time >= its time. There is a first event. */
static inline void thrum__events_again(thrum__events *events, double time)
{
    uint64_t place = thrum__events_first_place(events);
    events->now = thrum__events_first_time(events);
    thrum__events_play(events, place,
                       (thrum__event_key){thrum__event_bits(time), events->number++ * THRUM__EVENT_PLACES + place});
}

/* ---- Places of the caller's choosing ----------------------------------------------------------------------------- */

/* Instead of scheduling and taking: each place has one event or none, which can be moved. `number` decides among equal
 * times: the lowest comes first. place < room, number < THRUM__EVENT_NUMBERS, time >= 0. */
static inline void thrum__events_put(thrum__events *events, uint64_t place, double time, uint64_t number)
{
    /* -0.0 + 0.0 is 0.0: the bits of -0.0 would be beyond all others. */
    thrum__events_play(events, place,
                       (thrum__event_key){thrum__event_bits(time + 0.0), number * THRUM__EVENT_PLACES + place});
}

static inline void thrum__events_remove(thrum__events *events, uint64_t place)
{
    thrum__events_play(events, place, (thrum__event_key){UINT64_MAX, UINT64_MAX});
}

static inline bool thrum__events_any(const thrum__events *events)
{
    return events->times[1] != UINT64_MAX;
}

#endif
