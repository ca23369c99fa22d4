/* SPDX-License-Identifier: MIT */
#include "sys/park.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void thrum__futex_wait(_Atomic uint32_t *word, uint32_t value, int64_t timeout_ns)
{
    struct timespec limit = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns < 0 ? NULL : &limit, NULL, 0);
}

void thrum__futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* The acquire pairs with the release in unpark: what was written before waking is seen after. */
void thrum__park(thrum__parker *parker)
{
    while (atomic_exchange_explicit(&parker->token, 0, memory_order_acquire) == 0)
        thrum__futex_wait(&parker->token, 0, -1);
}

void thrum__unpark(thrum__parker *parker)
{
    if (atomic_exchange_explicit(&parker->token, 1, memory_order_release) == 0)
        thrum__futex_wake(&parker->token, 1);
}

/* The sections are a few dozen instructions: a short look before the kernel. */
void thrum__lock_slow(thrum__lock *lock)
{
    for (int i = 0; i < 100; i++) {
        uint32_t seen = atomic_load_explicit(&lock->state, memory_order_relaxed);
        if (seen == 0 &&
            atomic_compare_exchange_weak_explicit(&lock->state, &seen, 1, memory_order_acquire, memory_order_relaxed))
            return;
        thrum__relax();
    }
    while (atomic_exchange_explicit(&lock->state, 2, memory_order_acquire) != 0)
        thrum__futex_wait(&lock->state, 2, -1);
}

void thrum__unlock_slow(thrum__lock *lock)
{
    thrum__futex_wake(&lock->state, 1);
}
