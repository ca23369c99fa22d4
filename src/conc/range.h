/* SPDX-License-Identifier: MIT
 *
 * A range of whole numbers that its owner takes from the front, a few at a time, and that others halve from the back.
 *
 * After the protocol of Cilk's deques (Frigo, Leiserson and Randall, PLDI 1998), with the owner's fence moved to the
 * thieves (sys/barrier.h): taking is a store and a load, stealing half of what is left makes every core pass a barrier.
 * That suits loops: an owner takes millions of times, and is robbed some twenty times, since each time halves what is
 * left.
 *
 * Roles
 *   The owner takes, and fills the range anew when it is empty. Thieves (any thread) steal, one at a time: they hold
 *   the lock. Anybody may look how much is left.
 *
 * Invariants
 *   1. What is left is front <= i < back. Except while the owner is in between: it raises `front` first, and has taken
 *      the numbers below only if they turn out to be below `back` as well. If not, it settles that under the lock.
 *   2. `back` is lowered by a thief that holds the lock, and raised only by the same thief, on second thoughts, or by
 *      the owner who fills the range, holding the lock too.
 *
 * Why no number is had twice: the owner raises front to f and then reads back; a thief lowers back to m, passes the
 * heavy barrier and then reads front. If neither saw the other, the barrier would have failed. If the thief sees f > m,
 * it puts back what it found; whether the owner has seen m or the old back, it has numbers below f for sure, or asks
 * for the lock. If the owner sees m < f, it asks for the lock, and finds what the thief has left. All accesses are
 * relaxed: they carry no data but themselves, and the two barriers order them.
 */
#ifndef THRUM_CONC_RANGE_H
#define THRUM_CONC_RANGE_H

#include "sys/barrier.h"
#include "sys/park.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct thrum__range {
    _Alignas(64) _Atomic uint64_t front; /* the owner writes */
    _Atomic uint64_t back;               /* whoever holds the lock writes */
    thrum__lock lock;
} thrum__range;

/* lo <= i < hi; empty if lo == hi. */
typedef struct thrum__span {
    uint64_t lo, hi;
} thrum__span;

/* Empty; before anybody looks. */
static inline void thrum__range_init(thrum__range *range)
{
    atomic_init(&range->front, 0);
    atomic_init(&range->back, 0);
    atomic_init(&range->lock.state, 0);
}

/* lo <= i < hi, with hi below 2^63. The owner, while the range is empty. */
void thrum__range_fill_owner(thrum__range *range, uint64_t lo, uint64_t hi);

/* What is behind the fast path: `front` is raised by `count`, but back may be lower. */
thrum__span thrum__range_settle_owner(thrum__range *range, uint64_t front, uint64_t count);

/* Takes `count` numbers (above 0, below 2^63), fewer if fewer are left. */
static inline thrum__span thrum__range_take_owner(thrum__range *range, uint64_t count)
{
    uint64_t front = atomic_load_explicit(&range->front, memory_order_relaxed);
    atomic_store_explicit(&range->front, front + count, memory_order_relaxed);
    thrum__barrier_light();
    if (__builtin_expect(front + count > atomic_load_explicit(&range->back, memory_order_relaxed), 0))
        return thrum__range_settle_owner(range, front, count);
    return (thrum__span){front, front + count};
}

/* About how many are left. */
static inline uint64_t thrum__range_left(thrum__range *range)
{
    uint64_t front = atomic_load_explicit(&range->front, memory_order_relaxed);
    uint64_t back = atomic_load_explicit(&range->back, memory_order_relaxed);
    return back > front ? back - front : 0;
}

/* Takes the back half, rounded up: nothing if nothing is left, or the owner was just about to take it. */
thrum__span thrum__range_steal(thrum__range *range);

#endif
