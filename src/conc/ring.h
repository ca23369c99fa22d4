/* SPDX-License-Identifier: MIT
 *
 * The trace ring: the last events of one worker, or of one way between memory nodes.
 *
 * One writer, which never waits: when the ring is full the oldest event is overwritten and counted as lost. Readers
 * come when the writer is at rest (the executor is drained), so plain fields do; what orders the two is whatever told
 * the reader that the writer rests.
 */
#ifndef THRUM_CONC_RING_H
#define THRUM_CONC_RING_H

#include <stddef.h>
#include <stdint.h>

typedef struct thrum__event {
    int64_t begin, end; /* nanoseconds, thrum__now */
    const void
        *names; /* struct thrum__names of the task's graph; NULL for functions without a graph; of jobs their name */
    int64_t number; /* of the task in its graph, or one of those below */
} thrum__event;

enum { THRUM__EVENT_SPAWNED = -1, THRUM__EVENT_SUBMITTED = -2, THRUM__EVENT_JOB = -3 };

/* Of copies: `names` is the handle's name, or NULL, and `number` is this: enum thrum_copy_reason, or that content was
 * thrown out without one; and how many bytes. */
enum { THRUM__THROWN_OUT = 3 };
static inline int64_t thrum__copy_number(size_t bytes, int what)
{
    return (int64_t)((uint64_t)bytes << 2 | (uint64_t)what);
}
static inline int thrum__copy_what(int64_t number)
{
    return (int)(number & 3);
}
static inline uint64_t thrum__copy_bytes(int64_t number)
{
    return (uint64_t)number >> 2;
}

typedef struct thrum__ring {
    thrum__event *events;
    uint64_t capacity; /* a power of two */
    uint64_t written;  /* events written so far; number n is in events[n % capacity] */
} thrum__ring;

/* `capacity` is rounded up to a power of two. 0, or -1 without memory. */
int thrum__ring_init(thrum__ring *ring, uint64_t capacity);
void thrum__ring_fini(thrum__ring *ring);

static inline void thrum__ring_put(thrum__ring *ring, const thrum__event *event)
{
    ring->events[ring->written++ & (ring->capacity - 1)] = *event;
}

/* How many events can be read, and the i-th oldest of them. */
uint64_t thrum__ring_count(const thrum__ring *ring);
const thrum__event *thrum__ring_get(const thrum__ring *ring, uint64_t i);
uint64_t thrum__ring_lost(const thrum__ring *ring);

#endif
