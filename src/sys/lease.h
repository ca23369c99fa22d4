/* SPDX-License-Identifier: MIT
 *
 * A lease of something that one thread at a time has, for whoever uses it again and again: the *lessee* takes and gives
 * it with plain stores while nobody else wants it. Whoever else has got it as one gets it otherwise ends the lease
 * first, which costs a heavy barrier (sys/barrier.h). How that is, and how one waits for it, is not known here:
 * src/exec/worker.c has the one use so far.
 *
 * Roles
 *   Whoever *has* the thing, in that other way, reads and writes `leased`, what is granted included. A lessee with a
 *   lease has it only between entering and leaving. The lessee says `inside`, and then looks whether it still is
 *   granted. Whoever ends the lease clears `granted`, passes the heavy barrier, and then looks at `inside`. That is
 *   Dekker's pattern: either the lessee sees that it is granted no more, and gets the thing as others do; or the other
 *   one sees it inside, and does not have the thing yet.
 *
 * Invariants
 *   1. `leased` names a lease that is granted, or one whose lessee may be inside still; NULL if there is none.
 *   2. `inside` is written by its lessee alone, so each lessee has a lease of its own.
 *   3. Whoever has the thing in the other way and sees NULL there, or nobody inside a lease that is not granted, is the
 *      only one.
 *
 * Orders: leaving is a release, looking whether it has left an acquire: what the lessee did happens before what others
 * do. The other way round it is up to the thing, which the lessee must have had to be granted a lease. Whoever finds
 * that another has cleared `granted` acquires that, and with it the barrier that was passed, or that the lessee itself
 * has given the lease up and is outside.
 *
 * tests/spin/lease.pml is a model of it.
 */
#ifndef THRUM_SYS_LEASE_H
#define THRUM_SYS_LEASE_H

#include "sys/barrier.h"

/* Of one lessee: zeros at first. */
typedef struct thrum__lease {
    _Atomic bool granted, inside;
} thrum__lease;

/* Of the thing: whose lease there is. */
typedef struct thrum__leased {
    _Atomic(thrum__lease *) to;
} thrum__leased;

/* By the lessee, which has the thing in the other way and is about to give it back. Where there is no membarrier it has
 * no effect. */
void thrum__lease_grant(thrum__leased *leased, thrum__lease *lease);

/* By whoever has the thing. False: the lessee is inside still, so it has not; ask again, or give it back. */
bool thrum__lease_end(thrum__leased *leased);

/* By the lessee, outside: so that ending it costs nobody anything. */
static inline void thrum__lease_give_up(thrum__lease *lease)
{
    if (atomic_load_explicit(&lease->granted, memory_order_relaxed))
        atomic_store_explicit(&lease->granted, false, memory_order_release);
}

/* By the lessee: whether it has the thing now; then it leaves. Relaxed: it reads what it has written itself, or that it
 * was cleared. */
static inline bool thrum__lease_enter(thrum__lease *lease)
{
    if (!atomic_load_explicit(&lease->granted, memory_order_relaxed))
        return false;
    atomic_store_explicit(&lease->inside, true, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&lease->granted, memory_order_relaxed), 1))
        return true;
    atomic_store_explicit(&lease->inside, false, memory_order_release);
    return false;
}

/* False: somebody has ended the lease meanwhile, and may be waiting. */
static inline bool thrum__lease_leave(thrum__lease *lease)
{
    atomic_store_explicit(&lease->inside, false, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    return atomic_load_explicit(&lease->granted, memory_order_relaxed);
}

#endif
