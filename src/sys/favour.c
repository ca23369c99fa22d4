/* SPDX-License-Identifier: MIT */
#include "sys/favour.h"

#include "sys/barrier.h"

#include <sched.h>

static void take_away_locked(thrum__favour *favour)
{
    atomic_store_explicit(&favour->favourite, 0, memory_order_relaxed);
    thrum__barrier_heavy();
    while (atomic_load_explicit(&favour->inside, memory_order_acquire))
        sched_yield();
}

static void take(thrum__favour *favour, uintptr_t self)
{
    thrum__lock_take(&favour->lock);
    uintptr_t favourite = atomic_load_explicit(&favour->favourite, memory_order_relaxed);
    if (favourite && favourite != self)
        take_away_locked(favour);
}

void thrum__favour_take_lock(thrum__favour *favour)
{
    take(favour, thrum__this_thread());
    favour->last = 0;
}

void thrum__favour_take_in_row(thrum__favour *favour)
{
    uintptr_t self = thrum__this_thread();
    take(favour, self);
    favour->row = favour->last == self ? favour->row + 1 : 0;
    favour->last = self;
    if (favour->row < THRUM__FAVOUR_ROW || !thrum__has_membarrier)
        return;
    if (!favour->owner)
        favour->owner = self;
    if (favour->owner == self)
        atomic_store_explicit(&favour->favourite, self, memory_order_relaxed);
}
