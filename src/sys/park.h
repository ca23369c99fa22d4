/* SPDX-License-Identifier: MIT
 *
 * Putting a thread to sleep and waking it, on Linux futexes.
 *
 * A parker holds one token. `unpark` puts it there, `park` takes it, waiting while there is none; so an unpark that
 * comes first is not lost. One thread parks, any thread unparks.
 */
#ifndef THRUM_SYS_PARK_H
#define THRUM_SYS_PARK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct thrum__parker {
    _Atomic uint32_t token;
} thrum__parker;

void thrum__park(thrum__parker *parker);
void thrum__unpark(thrum__parker *parker);

/* The futex itself: sleeps while *word is `value` (or less: callers look again), at most `timeout_ns` if that is not
 * negative. */
void thrum__futex_wait(_Atomic uint32_t *word, uint32_t value, int64_t timeout_ns);
void thrum__futex_wake(_Atomic uint32_t *word, int count);

/* A lock of one word, for short sections that are rarely contended: waits in the kernel, costs nothing to make. */
typedef struct thrum__lock {
    _Atomic uint32_t state; /* 0 free, 1 taken, 2 taken and somebody may wait */
} thrum__lock;

void thrum__lock_slow(thrum__lock *lock);
void thrum__unlock_slow(thrum__lock *lock);

static inline void thrum__lock_take(thrum__lock *lock)
{
    uint32_t free_ = 0;
    if (!atomic_compare_exchange_strong_explicit(&lock->state, &free_, 1, memory_order_acquire, memory_order_relaxed))
        thrum__lock_slow(lock);
}

static inline bool thrum__lock_try(thrum__lock *lock)
{
    uint32_t free_ = 0;
    return atomic_compare_exchange_strong_explicit(&lock->state, &free_, 1, memory_order_acquire, memory_order_relaxed);
}

static inline void thrum__lock_give(thrum__lock *lock)
{
    if (atomic_exchange_explicit(&lock->state, 0, memory_order_release) == 2)
        thrum__unlock_slow(lock);
}

static inline void thrum__relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* The line will be written here soon: asks for it, and for others to give it up, without waiting. Any address will
 * do. */
static inline void thrum__fetch_to_write(const void *address)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)address));
#else
    __builtin_prefetch(address, 1);
#endif
}

#endif
