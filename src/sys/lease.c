/* SPDX-License-Identifier: MIT */
#include "sys/lease.h"

#include <stddef.h>

void thrum__lease_grant(thrum__leased *leased, thrum__lease *lease)
{
    if (!thrum__has_membarrier)
        return;
    atomic_store_explicit(&lease->granted, true, memory_order_relaxed);
    atomic_store_explicit(&leased->to, lease, memory_order_relaxed);
}

/* Who clears `granted` passes the barrier before giving the thing back: the next one need not. */
bool thrum__lease_end(thrum__leased *leased)
{
    thrum__lease *lease = atomic_load_explicit(&leased->to, memory_order_relaxed);
    if (!lease)
        return true;
    if (atomic_load_explicit(&lease->granted, memory_order_acquire)) {
        atomic_store_explicit(&lease->granted, false, memory_order_release);
        thrum__barrier_heavy();
    }
    if (atomic_load_explicit(&lease->inside, memory_order_acquire))
        return false;
    atomic_store_explicit(&leased->to, NULL, memory_order_relaxed);
    return true;
}
