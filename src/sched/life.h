/* SPDX-License-Identifier: MIT
 *
 * The life cycle of a domain's workers: active, searching, asleep. A state machine in one word, without threads: it
 * says who sleeps and whom to wake; parking and waking are the caller's.
 *
 * After the adaptive work stealing of Taskflow (Huang, Lin, Lin and Lin, TPDS 2022), which keeps one thief awake while
 * any worker is active. Here the promise is about work instead, which costs no processor time while one long task runs:
 *
 *   While there is work that could be taken, a worker is searching for it or has been woken to, unless `limit` workers
 *   are awake already, all of which look for work before they sleep.
 *
 * Who keeps it: whoever adds work calls for a waking when nobody searches (thrum__life_wants_wake); the last searcher
 * that finds work calls for the next one if there is more; a worker that goes to sleep announces it, passes a heavy
 * barrier (sys/barrier.h) and looks a last time; a worker that leaves (a caller that helped, a join that parks) looks
 * whether its place should be taken. tests/spin/sleep.pml is a model of it.
 *
 * Those who search with naps in between lend their places to guests meanwhile (exec/worker.c). To the life cycle they
 * are there.
 *
 * A waker takes the sleeper off the stack and counts it as searching in one step, so that the pushes that follow see a
 * searcher and do not wake again.
 *
 * The word, from its lowest bit: the sleepers' stack (12 bits: the index of the one on top plus one, 0 for none; the
 * rest of the stack is linked through `below`), searching (12 bits), awake including those searching (12 bits), a count
 * of changes of the stack (27 bits), and in the sign bit whether a waking is wanted. Each change is one
 * compare-and-swap of the whole word, so every field is true at the same moment. The count is there because the swap
 * that takes a sleeper off relies on what is below it: the stack must not have changed and changed back in between.
 */
#ifndef THRUM_SCHED_LIFE_H
#define THRUM_SCHED_LIFE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { THRUM__LIFE_MOST = 4000 }; /* workers of one domain, guests and stand-ins included */

typedef struct thrum__life {
    _Alignas(64) int64_t word; /* shared with the inline functions of scope.h, so a plain type with atomic accesses */
    int limit;                 /* as many may be awake; constant while somebody looks */
    _Atomic uint16_t *below;   /* for each worker asleep: the index + 1 of the one under it in the stack */
} thrum__life;

typedef struct thrum__life_view {
    int top, searching, awake; /* top: index of the sleeper that would be woken, -1 for none */
    bool wake_wanted;
} thrum__life_view;

/* `most` workers at most; `awake` of them start as searching. 0, or -1 without memory. */
int thrum__life_init(thrum__life *life, int limit, int most, int awake);
/* The same without memory, for as many at most as before, while nobody looks at it. */
void thrum__life_reset(thrum__life *life, int limit, int awake);
void thrum__life_fini(thrum__life *life);
thrum__life_view thrum__life_look(const thrum__life *life);

/* Whether new work should wake somebody: nobody searches, somebody sleeps, and there is a place. Relaxed: see the
 * barriers of those who go to sleep. */
static inline bool thrum__life_wants_wake(const thrum__life *life)
{
    return __atomic_load_n(&life->word, __ATOMIC_RELAXED) < 0;
}

/* Takes a sleeper, who counts as searching from now on: its index, to be unparked by the caller. -1: not wanted. */
int thrum__life_wake(thrum__life *life);

/* The same whether wanted or not, as long as somebody sleeps: for ending and for stand-ins. */
int thrum__life_wake_any(thrum__life *life);

void thrum__life_start_search(thrum__life *life);      /* active -> searching */
bool thrum__life_end_search(thrum__life *life);        /* searching -> active; true: it was the last one searching */
void thrum__life_sleep(thrum__life *life, int worker); /* searching -> asleep; then: heavy barrier, look, park */
bool thrum__life_enter(thrum__life *life);             /* a guest becomes active, if there is a place */
void thrum__life_enter_anyway(thrum__life *life);      /* the same without asking: parked ones that go on */
thrum__life_view thrum__life_leave(thrum__life *life); /* active -> gone; how it is from then on */

#endif
