/* SPDX-License-Identifier: MIT */
#include "conc/ring.h"

#include "base/alloc.h"

#include <stddef.h>

int thrum__ring_init(thrum__ring *ring, uint64_t capacity)
{
    uint64_t rounded = 1;
    while (rounded < capacity)
        rounded *= 2;
    ring->events = thrum__pages(rounded * sizeof(thrum__event), 0, THRUM__PAGES_LAZY);
    ring->capacity = rounded;
    ring->written = 0;
    return ring->events ? 0 : -1;
}

void thrum__ring_fini(thrum__ring *ring)
{
    thrum__pages_free(ring->events, ring->capacity * sizeof(thrum__event));
    ring->events = NULL;
}

uint64_t thrum__ring_count(const thrum__ring *ring)
{
    return ring->written < ring->capacity ? ring->written : ring->capacity;
}

const thrum__event *thrum__ring_get(const thrum__ring *ring, uint64_t i)
{
    uint64_t oldest = ring->written - thrum__ring_count(ring);
    return &ring->events[(oldest + i) & (ring->capacity - 1)];
}

uint64_t thrum__ring_lost(const thrum__ring *ring)
{
    return ring->written - thrum__ring_count(ring);
}
