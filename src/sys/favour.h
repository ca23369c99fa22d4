/* SPDX-License-Identifier: MIT
 *
 * A lock that is cheap for one thread, its *owner*: the first that has taken it many times in a row. While nobody else
 * comes that one is the *favourite*, who takes and gives it with plain stores. Others make it an ordinary lock again
 * first, which costs them a heavy barrier (sys/barrier.h), and it stays one until the owner has taken it many times in
 * a row again.
 *
 * Roles
 *   The favourite says `inside`, and then looks whether it still is the favourite. Whoever takes that away holds
 *   `lock`, clears `favourite`, passes the heavy barrier, and then waits until nobody is inside. That is Dekker's
 *   pattern: either the favourite sees that it is none any more, and takes `lock`; or the other one sees it inside, and
 *   waits.
 *
 * Invariants
 *   1. `favourite` is written with `lock` held: made the owner by the owner, cleared by others.
 *   2. `inside` is written by the owner alone. So there is one owner for good: another one could be inside when the
 *      first one, which was interrupted between its look at `favourite` and saying so, comes back and says that nobody
 *      is.
 *   3. Whoever holds `lock`, and has seen no other favourite, or nobody inside since it cleared `favourite`, is the
 *      only one.
 *
 * Orders: leaving is a release, waiting for it an acquire: what the favourite did happens before what others do. The
 * other way round it is `lock`'s, which the owner takes in order to be the favourite again. A thread is known by the
 * address of its own memory, which another one has only after that one has ended.
 *
 * Progress: as the lock's; and whoever clears `favourite` waits for one section of the owner's.
 */
#ifndef THRUM_SYS_FAVOUR_H
#define THRUM_SYS_FAVOUR_H

#include "sys/park.h"

#include <pthread.h>

/* In a row; taking it away costs some microseconds. Few where invariants are checked, so that tests see it change. */
#ifdef THRUM_CHECKS
enum { THRUM__FAVOUR_ROW = 8 };
#else
enum { THRUM__FAVOUR_ROW = 500 };
#endif

/* Everybody looks who the favourite is, also those who only want to know whether they are: so that has a cache line for
 * itself and what changes as seldom. */
typedef struct thrum__favour {
    _Alignas(64) _Atomic uintptr_t favourite; /* 0: none */
    thrum__lock lock;
    uintptr_t owner; /* 0: nobody yet; the rest with `lock` held */
    uintptr_t last;  /* who took `lock` the last time by thrum__favour_take, and how often in a row; 0: others did */
    uint32_t row;
    _Alignas(64) _Atomic uint32_t inside;
} thrum__favour;

#if defined(__x86_64__) && defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer)
#define THRUM__THREAD_POINTER 1
#endif
#endif

static inline uintptr_t thrum__this_thread(void)
{
#ifdef THRUM__THREAD_POINTER
    return (uintptr_t)__builtin_thread_pointer();
#else
    return (uintptr_t)pthread_self();
#endif
}

/* As an ordinary lock: by anybody. */
void thrum__favour_take_lock(thrum__favour *favour);
void thrum__favour_take_in_row(thrum__favour *favour);
static inline void thrum__favour_give_lock(thrum__favour *favour)
{
    thrum__lock_give(&favour->lock);
}

/* If the calling thread is the favourite: true, to be left by thrum__favour_leave. Relaxed: the owner reads what it has
 * written itself, or that it was cleared. */
static inline bool thrum__favour_enter(thrum__favour *favour)
{
    uintptr_t self = thrum__this_thread();
    if (atomic_load_explicit(&favour->favourite, memory_order_relaxed) != self)
        return false;
    atomic_store_explicit(&favour->inside, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&favour->favourite, memory_order_relaxed) == self, 1))
        return true;
    atomic_store_explicit(&favour->inside, 0, memory_order_release);
    return false;
}

static inline void thrum__favour_leave(thrum__favour *favour)
{
    atomic_store_explicit(&favour->inside, 0, memory_order_release);
}

/* Either way, by those who might become the owner. The first one's answer is for the second one. */
static inline bool thrum__favour_take(thrum__favour *favour)
{
    if (__builtin_expect(thrum__favour_enter(favour), 1))
        return true;
    thrum__favour_take_in_row(favour);
    return false;
}

static inline void thrum__favour_give(thrum__favour *favour, bool entered)
{
    if (__builtin_expect(entered, 1))
        thrum__favour_leave(favour);
    else
        thrum__favour_give_lock(favour);
}

#endif
