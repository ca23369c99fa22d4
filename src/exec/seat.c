/* SPDX-License-Identifier: MIT
 *
 * The seat: the place of a worker that makes way for a thread which inserts.
 *
 * Why: whoever inserts jobs into a stream faster than they are run must wait for room, again and again. If it sleeps
 * meanwhile there are N + 1 threads for N cores: it is woken late, or where a worker is in the middle of a job, and
 * workers run dry; and it inserts from one core what is run on another. If it runs jobs itself while it waits, and one
 * worker rests for that long, there are N threads, nobody is woken, and jobs may be few that wait: so they are run
 * nearly in the order of insertion, with what they touch and their records still in the caches.
 *
 * Roles
 *   One thread of those that insert, the *sitter*, has the seat, and a worker, the *lender*, has given its place for
 *   it. Between waits for room the sitter is away: it inserts, or does something else altogether.
 *   The lender looks now and then, and takes the place back if the sitter was away all the time between two looks. A
 *   sitter that runs one brief job now and again in between stays away for that, and only counts its *visits*, for the
 *   lender: changing the word twice right after a kernel costs more than all else that it does for the job. If the
 *   lender takes its place back just then there is one at work beyond the limit until that job has ended.
 *
 * The word holds a state, and above it how often the sitter went away: so equal words mean that it has not been back.
 *
 *   FREE  -> ASKED  sitter: it is at work now, beyond the limit for a moment
 *   ASKED -> USED   lender, between two jobs: counts no longer as awake
 *   ASKED -> FREE   sitter: nobody has made way, and it is at work no longer
 *   USED  -> AWAY   sitter
 *   AWAY  -> USED   sitter
 *   AWAY  -> FREE   lender: the place, which still counts as awake, is its own again
 *   USED  -> BACK   sitter, for good, also from AWAY; the place is the lender's, which takes it: BACK -> FREE
 *   USED  -> ASKED  lender: something is pinned to it, so it goes back to work and another one may make way
 *
 * Each is one compare-and-swap, so of two who want to leave a state one does. The place is counted in the life cycle
 * once, whoever has it; only where there is one seat for two (ASKED) it counts twice.
 *
 * What becomes of the promise of sched/life.h: while the sitter is away one of those who count as awake does not look
 * for work. It does again, at the latest, when the lender has looked twice.
 *
 * Orders: acquire and release; nothing but the place is handed over. The bell is rung after what it is about, and read
 * before that is looked at.
 */
#include "exec/seat.h"

#include "exec/exec_int.h"

enum { STATE_MASK = 7, ONE_MORE = 8 };
enum { LOOK_FIRST_NS = 1000000, LOOK_MOST_NS = 16000000 };

static uint32_t state_of(uint32_t word)
{
    return word & STATE_MASK;
}

static uint32_t with_state(uint32_t word, uint32_t state)
{
    return (word & ~(uint32_t)STATE_MASK) | state;
}

static bool change(seat *seat, uint32_t *word, uint32_t to)
{
    return atomic_compare_exchange_strong_explicit(&seat->word, word, to, memory_order_acq_rel, memory_order_acquire);
}

/* From one state to another, whatever the count is. */
static bool move(seat *seat, enum seat_state from, enum seat_state to)
{
    uint32_t word = atomic_load_explicit(&seat->word, memory_order_acquire);
    while (state_of(word) == from)
        if (change(seat, &word, with_state(word, to)))
            return true;
    return false;
}

void thrum__seat_ring(seat *seat)
{
    atomic_fetch_add_explicit(&seat->bell, 1, memory_order_release);
    thrum__futex_wake(&seat->bell, 1);
}

/* ---- The sitter -------------------------------------------------------------------------------------------------- */

bool thrum__seat_ask(domain *d)
{
    if (!move(&d->seat, SEAT_FREE, SEAT_ASKED))
        return false;
    thrum__life_enter_anyway(&d->life);
    return true;
}

bool thrum__seat_pause(worker *sitter, uint32_t *ticket)
{
    seat *seat = &sitter->domain->seat;
    uint32_t word = atomic_load_explicit(&seat->word, memory_order_acquire);
    for (;;) {
        bool lent = state_of(word) == SEAT_USED;
        uint32_t to = lent ? with_state(word + ONE_MORE, SEAT_AWAY) : with_state(word, SEAT_FREE);
        atomic_store_explicit(&seat->sitter, &thrum__self, memory_order_relaxed); /* published by the change */
        if (!change(seat, &word, to))
            continue;
        *ticket = to;
        if (!lent)
            thrum__step_aside(sitter);
        return lent;
    }
}

bool thrum__seat_resume(domain *d, uint32_t ticket)
{
    return change(&d->seat, &ticket, with_state(ticket, SEAT_USED));
}

/* Acquire: the next sitter, if this one has lost the seat, may write `visits` after it. Relaxed: a hint for the
 * lender. */
bool thrum__seat_visit(domain *d, uint32_t ticket)
{
    seat *seat = &d->seat;
    if (atomic_load_explicit(&seat->word, memory_order_acquire) != ticket)
        return false;
    uint32_t visits = atomic_load_explicit(&seat->visits, memory_order_relaxed);
    atomic_store_explicit(&seat->visits, visits + 1, memory_order_relaxed);
    return true;
}

void thrum__seat_return(worker *sitter)
{
    seat *seat = &sitter->domain->seat;
    for (;;) {
        if (move(seat, SEAT_ASKED, SEAT_FREE)) {
            thrum__step_aside(sitter);
            return;
        }
        if (move(seat, SEAT_USED, SEAT_BACK)) {
            thrum__seat_ring(seat);
            return;
        }
    }
}

/* Nobody else stores this thread's address, so if it is there this thread is the sitter, or was the last one. */
void thrum__seat_leave(domain *d)
{
    seat *seat = &d->seat;
    uint32_t word = atomic_load_explicit(&seat->word, memory_order_acquire);
    if (state_of(word) != SEAT_AWAY || atomic_load_explicit(&seat->sitter, memory_order_relaxed) != &thrum__self)
        return;
    if (change(seat, &word, with_state(word, SEAT_BACK)))
        thrum__seat_ring(seat);
}

/* ---- The lender -------------------------------------------------------------------------------------------------- */

/* Leaving looks whether there is work, as whoever leaves does. Mostly the sitter has taken the place already; but there
 * may have been one too many meanwhile, and then another worker has gone to sleep and left what it saw to those two.
 * The sitter looks after its stream alone. tests/spin/lend.pml is a model of it. */
bool thrum__seat_lend(worker *w)
{
    seat *seat = &w->domain->seat;
    w->lends = w->kind == WORKER_OWN && move(seat, SEAT_ASKED, SEAT_USED);
    if (!w->lends)
        return false;
    thrum__core_leave(w);
    thrum__leave_place(w->domain);
    return true;
}

/* Something that only this worker may do. */
static bool is_called(const worker *w)
{
    return atomic_load_explicit(&w->posts.count, memory_order_relaxed) > 0 ||
           atomic_load_explicit(&w->domain->stop, memory_order_relaxed);
}

/* Whether the place could be taken back. Where the sitter is at work there is none: the worker is one too many for a
 * while, and another one may make way. */
static bool go_back(domain *d)
{
    if (move(&d->seat, SEAT_AWAY, SEAT_FREE) || move(&d->seat, SEAT_BACK, SEAT_FREE))
        return true;
    if (!move(&d->seat, SEAT_USED, SEAT_ASKED))
        return false;
    thrum__life_enter_anyway(&d->life);
    return true;
}

/* Sequentially consistent, with the count of pinned posts (thrum__post_to): either the poster sees that the worker
 * rests, or the worker sees the post. */
void thrum__seat_await(worker *w)
{
    seat *seat = &w->domain->seat;
    int64_t ns = LOOK_FIRST_NS;
    atomic_store_explicit(&w->rests, true, memory_order_seq_cst);
    for (;;) {
        uint32_t bell = atomic_load_explicit(&seat->bell, memory_order_acquire);
        uint32_t seen = atomic_load_explicit(&seat->word, memory_order_seq_cst), now = seen;
        uint32_t visits = atomic_load_explicit(&seat->visits, memory_order_relaxed);
        if ((state_of(seen) == SEAT_BACK || is_called(w)) && go_back(w->domain))
            break;
        thrum__futex_wait(&seat->bell, bell, ns);
        if (state_of(seen) == SEAT_AWAY && atomic_load_explicit(&seat->visits, memory_order_relaxed) == visits &&
            change(seat, &now, with_state(seen, SEAT_FREE)))
            break;
        if (ns < LOOK_MOST_NS)
            ns *= 2;
    }
    atomic_store_explicit(&w->rests, false, memory_order_relaxed);
    w->lends = false;
    thrum__core_take(w);
}
