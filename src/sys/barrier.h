/* SPDX-License-Identifier: MIT
 *
 * An asymmetric barrier: the frequent side pays nothing, the rare side pays for both.
 *
 *     frequent side:  A = 1; thrum__barrier_light(); read B
 *     rare side:      B = 1; thrum__barrier_heavy(); read A
 *
 * At least one of the two sees the other's write. With the kernel's membarrier the light side is nothing but an order
 * for the compiler: the heavy side makes every running thread of the process pass a full barrier, so each light side is
 * either wholly before it (its A is visible) or its read of B comes after. Without membarrier both are full fences.
 *
 * A heavy barrier costs from 0.4 to 15 microseconds: only before sleeping.
 */
#ifndef THRUM_SYS_BARRIER_H
#define THRUM_SYS_BARRIER_H

#include <stdatomic.h>
#include <stdbool.h>

/* Whether membarrier serves; set once by thrum__barrier_init, which comes before any executor. */
extern bool thrum__has_membarrier;

void thrum__barrier_init(void);
void thrum__barrier_heavy(void);

static inline void thrum__barrier_light(void)
{
    if (thrum__has_membarrier)
        atomic_signal_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_seq_cst);
}

#endif
