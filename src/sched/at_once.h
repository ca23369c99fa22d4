/* SPDX-License-Identifier: MIT
 *
 * Whether whoever inserts jobs runs them itself, at once: from times, without threads and clocks.
 *
 * Where there is one place for all, jobs run one after the other whoever runs them. If the thread that inserts does, it
 * does so in the order of insertion, with what it has just written in its core's cache, and nobody has to be woken.
 * Against that: it comes back later, could have done something else meanwhile, and what a job waits for might be up to
 * that very thread. So
 *
 *   1. only codelets are run at once of which a job has been seen to end, and that take less than THRUM__BRIEF_NS;
 *   2. not while whoever inserts has other things to do: more than a third of the jobs' time, and not just insertions;
 *   3. not jobs below THRUM__AT_ONCE_NS: those run in batches (exec/stream.c), for which a place is taken once.
 *
 * Roles
 *   Whoever runs a job asks whether to time it, and notes how long it took. That is one thread at a time but for
 *   moments in which the place changes hands; those who meet there may lose a count. What they write is atomic, and
 *   relaxed: an estimate.
 *   Where there are more places a thread that takes part (exec/seat.h) wants to know how long jobs take, and decides by
 *   itself whether it runs some at once. Workers then time a few, and do not ask.
 *   Whoever inserts looks and decides; what belongs to that is its own.
 */
#ifndef THRUM_SCHED_AT_ONCE_H
#define THRUM_SCHED_AT_ONCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { THRUM__AT_ONCE_NS = 700, THRUM__BRIEF_NS = 4000000 };
enum { THRUM__KNOWN_CODELETS = 8 };
/* In a row that say the same. Few where invariants are checked, so that tests see it change. */
#ifdef THRUM_CHECKS
enum { THRUM__AT_ONCE_LOOKS = 2 };
#else
enum { THRUM__AT_ONCE_LOOKS = 8 };
#endif

/* What is known of a codelet; a later one may take its room. */
typedef struct thrum__known_codelet {
    _Atomic(const void *) codelet;
    _Atomic int64_t ns; /* a job's time; 0: none has ended */
    _Atomic uint32_t calls;
} thrum__known_codelet;

typedef struct thrum__at_once {
    thrum__known_codelet known[THRUM__KNOWN_CODELETS];
    _Atomic int64_t spent;  /* in jobs */
    _Atomic uint64_t calls; /* jobs that have ended; of short ones so many at a time as one that was timed stands for */
    /* Of whoever inserts: */
    bool on;            /* it runs them */
    int64_t since;      /* when it last looked; 0: it has waited since */
    int64_t spent_then; /* and what there was then */
    uint64_t calls_then;
    uint32_t against;       /* looks in a row that say that it should not be as it is */
    uint32_t pause, pauses; /* looks until it tries again, and how many it was the last time */
} thrum__at_once;

/* ---- Codelets: inline, since it is asked for every job ----------------------------------------------------------- */

/* Of those that are shorter one in so many is timed, and counts for all. A prime: programs go by blocks of 2, 4 or
 * 8. */
enum { THRUM__TIMED_EACH = 29, THRUM__TIMED_ALL_NS = 64000 };

static inline int64_t thrum__known_ns(const thrum__known_codelet *known)
{
    return atomic_load_explicit(&known->ns, memory_order_relaxed);
}

static inline bool thrum__known_is_of(const thrum__known_codelet *known, const void *codelet)
{
    return atomic_load_explicit(&known->codelet, memory_order_relaxed) == codelet;
}

/* Whether all jobs that take so long are timed; 0: it is not known. */
static inline bool thrum__known_is_long(int64_t ns)
{
    return ns == 0 || ns >= THRUM__TIMED_ALL_NS;
}

/* Where the codelet is, or else where there is room for it: a free one, or its first. Codelets mostly lie side by side,
 * so that neighbours differ in these bits. */
uint32_t thrum__at_once_search(const thrum__at_once *once, const void *codelet, uint32_t first);
static inline uint32_t thrum__at_once_room(const thrum__at_once *once, const void *codelet)
{
    uintptr_t address = (uintptr_t)codelet;
    uint32_t first = (uint32_t)(address >> 4 ^ address >> 7) % THRUM__KNOWN_CODELETS;
    if (__builtin_expect(thrum__known_is_of(&once->known[first], codelet), 1))
        return first;
    return thrum__at_once_search(once, codelet, first);
}

/* A job of the codelet is about to be called: whether to time it. */
static inline bool thrum__at_once_times(thrum__at_once *once, const void *codelet)
{
    thrum__known_codelet *known = &once->known[thrum__at_once_room(once, codelet)];
    if (!thrum__known_is_of(known, codelet) || thrum__known_is_long(thrum__known_ns(known)))
        return true;
    uint32_t calls = atomic_load_explicit(&known->calls, memory_order_relaxed) + 1;
    atomic_store_explicit(&known->calls, calls, memory_order_relaxed);
    return calls % THRUM__TIMED_EACH == 0;
}

void thrum__at_once_note(thrum__at_once *once, const void *codelet, int64_t ns);

/* How long the codelet's jobs take; 0: none is known to have ended. Read in the other order than written, and a wrong
 * answer would be an estimate still. */
static inline int64_t thrum__at_once_ns(const thrum__at_once *once, const void *codelet)
{
    const thrum__known_codelet *known = &once->known[thrum__at_once_room(once, codelet)];
    int64_t ns = thrum__known_ns(known);
    return thrum__known_is_of(known, codelet) ? ns : 0;
}

/* How long one takes on average, of all that were timed; 0: none was. */
int64_t thrum__at_once_mean_ns(const thrum__at_once *once);

/* Rule 1. */
static inline bool thrum__at_once_is_brief(const thrum__at_once *once, const void *codelet)
{
    int64_t ns = thrum__at_once_ns(once, codelet);
    return ns > 0 && ns < THRUM__BRIEF_NS;
}

/* After so many insertions since the last look. It takes some looks in a row to change: any may have been interrupted.
 * CATCH_UP: running at once would be right, but jobs that were inserted before have to end first; tell by
 * thrum__at_once_caught_up whether they have. */
enum thrum__at_once_way { THRUM__LEAVE_TO_OTHERS, THRUM__CATCH_UP, THRUM__RUN_AT_ONCE };
enum thrum__at_once_way thrum__at_once_look(thrum__at_once *once, int64_t now, int insertions);
void thrum__at_once_caught_up(thrum__at_once *once, bool success);

/* Whoever inserts had to wait, or its flow has begun anew: the time since the last look says nothing. */
void thrum__at_once_waited(thrum__at_once *once);

/* How long nothing may end while it catches up. */
int64_t thrum__at_once_patience(const thrum__at_once *once);

#endif
