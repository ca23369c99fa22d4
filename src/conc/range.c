/* SPDX-License-Identifier: MIT */
#include "conc/range.h"

void thrum__range_fill_owner(thrum__range *range, uint64_t lo, uint64_t hi)
{
    thrum__lock_take(&range->lock);
    atomic_store_explicit(&range->front, lo, memory_order_relaxed);
    atomic_store_explicit(&range->back, hi, memory_order_relaxed);
    thrum__lock_give(&range->lock);
}

/* A thief that is at it may put back what it found, so the lock comes first. */
thrum__span thrum__range_settle_owner(thrum__range *range, uint64_t front, uint64_t count)
{
    thrum__lock_take(&range->lock);
    uint64_t back = atomic_load_explicit(&range->back, memory_order_relaxed);
    uint64_t end = back - front < count ? back : front + count;
    atomic_store_explicit(&range->front, end, memory_order_relaxed);
    thrum__lock_give(&range->lock);
    return (thrum__span){front, end};
}

static thrum__span steal_locked(thrum__range *range)
{
    uint64_t front = atomic_load_explicit(&range->front, memory_order_relaxed);
    uint64_t back = atomic_load_explicit(&range->back, memory_order_relaxed);
    if (front >= back)
        return (thrum__span){0, 0};
    uint64_t middle = front + (back - front) / 2;
    atomic_store_explicit(&range->back, middle, memory_order_relaxed);
    thrum__barrier_heavy();
    if (atomic_load_explicit(&range->front, memory_order_relaxed) <= middle)
        return (thrum__span){middle, back};
    atomic_store_explicit(&range->back, back, memory_order_relaxed);
    return (thrum__span){0, 0};
}

thrum__span thrum__range_steal(thrum__range *range)
{
    if (thrum__range_left(range) == 0)
        return (thrum__span){0, 0};
    thrum__lock_take(&range->lock);
    thrum__span stolen = steal_locked(range);
    thrum__lock_give(&range->lock);
    return stolen;
}
