/* SPDX-License-Identifier: MIT */
#include "sched/at_once.h"

enum { INSERTING_NS = 1000 }; /* no more than that for a job is taken for insertions */
enum { FIRST_PAUSE = 16, PAUSE_MOST = 1024 };
enum { WAKING_NS = 1000000 }; /* for whoever is to run what is left */

/* ---- Codelets ---------------------------------------------------------------------------------------------------- */

uint32_t thrum__at_once_search(const thrum__at_once *once, const void *codelet, uint32_t first)
{
    uint32_t at = first;
    do {
        const void *there = atomic_load_explicit(&once->known[at].codelet, memory_order_relaxed);
        if (__builtin_expect(there == codelet, 1) || !there)
            return at;
        at = (at + 1) % THRUM__KNOWN_CODELETS;
    } while (at != first);
    return first;
}

static void raise_spent(thrum__at_once *once, int64_t ns, int jobs)
{
    int64_t spent = atomic_load_explicit(&once->spent, memory_order_relaxed);
    uint64_t calls = atomic_load_explicit(&once->calls, memory_order_relaxed);
    atomic_store_explicit(&once->spent, spent + ns * jobs, memory_order_relaxed);
    atomic_store_explicit(&once->calls, calls + (uint64_t)jobs, memory_order_relaxed);
}

/* What was shorter than expected counts more: whoever was interrupted took longer than he should have. */
static int64_t mixed(int64_t known, int64_t ns)
{
    return known == 0 ? ns : ns < known ? (known + ns) / 2 : known + (ns - known) / 4;
}

void thrum__at_once_note(thrum__at_once *once, const void *codelet, int64_t ns)
{
    thrum__known_codelet *known = &once->known[thrum__at_once_room(once, codelet)];
    if (ns <= 0)
        ns = 1;
    bool same = thrum__known_is_of(known, codelet);
    int64_t before = same ? thrum__known_ns(known) : 0;
    raise_spent(once, ns, thrum__known_is_long(before) ? 1 : THRUM__TIMED_EACH);
    if (!same)
        atomic_store_explicit(&known->codelet, codelet, memory_order_relaxed);
    atomic_store_explicit(&known->ns, mixed(before, ns), memory_order_relaxed);
}

/* ---- Deciding ---------------------------------------------------------------------------------------------------- */

/* What a job took since the last look, or else ever; 0: nobody knows. */
static int64_t mean(int64_t spent, uint64_t calls)
{
    return calls ? spent / (int64_t)calls : 0;
}

int64_t thrum__at_once_mean_ns(const thrum__at_once *once)
{
    return mean(atomic_load_explicit(&once->spent, memory_order_relaxed),
                atomic_load_explicit(&once->calls, memory_order_relaxed));
}

static bool is_right(int64_t job_ns, int64_t elsewhere_ns, int insertions)
{
    int64_t each = elsewhere_ns / insertions;
    return job_ns >= THRUM__AT_ONCE_NS && job_ns < THRUM__BRIEF_NS && (each < INSERTING_NS || each < job_ns / 3);
}

static enum thrum__at_once_way decide(thrum__at_once *once, bool right)
{
    once->against = right == once->on ? 0 : once->against + 1;
    if (once->against >= THRUM__AT_ONCE_LOOKS && once->on) {
        once->on = false;
        once->against = 0;
    }
    if (once->on)
        return THRUM__RUN_AT_ONCE;
    if (once->pause > 0)
        once->pause--;
    else if (once->against >= THRUM__AT_ONCE_LOOKS)
        return THRUM__CATCH_UP;
    return THRUM__LEAVE_TO_OTHERS;
}

enum thrum__at_once_way thrum__at_once_look(thrum__at_once *once, int64_t now, int insertions)
{
    int64_t spent = atomic_load_explicit(&once->spent, memory_order_relaxed), in_jobs = spent - once->spent_then;
    uint64_t calls = atomic_load_explicit(&once->calls, memory_order_relaxed), ended = calls - once->calls_then;
    int64_t job_ns = ended ? mean(in_jobs, ended) : mean(spent, calls), since = once->since;
    once->since = now;
    once->spent_then = spent;
    once->calls_then = calls;
    if (since == 0)
        return once->on ? THRUM__RUN_AT_ONCE : THRUM__LEAVE_TO_OTHERS;
    return decide(once, is_right(job_ns, now - since - (once->on ? in_jobs : 0), insertions));
}

void thrum__at_once_caught_up(thrum__at_once *once, bool success)
{
    uint32_t pauses = once->pauses ? 2 * once->pauses : FIRST_PAUSE;
    once->on = success;
    once->against = 0;
    once->pauses = once->pause = success ? 0 : pauses < PAUSE_MOST ? pauses : PAUSE_MOST;
    thrum__at_once_waited(once);
}

void thrum__at_once_waited(thrum__at_once *once)
{
    once->since = 0;
}

int64_t thrum__at_once_patience(const thrum__at_once *once)
{
    return WAKING_NS + 4 * thrum__at_once_mean_ns(once);
}
