/* SPDX-License-Identifier: MIT
 *
 * The seat of a domain: the place of a worker, lent to a thread that inserts. How it works is in seat.c. */
#ifndef THRUM_EXEC_SEAT_H
#define THRUM_EXEC_SEAT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum seat_state { SEAT_FREE, SEAT_ASKED, SEAT_USED, SEAT_AWAY, SEAT_BACK };

typedef struct seat {
    _Alignas(64) _Atomic uint32_t word;   /* looked at between jobs, changed seldom */
    _Atomic uint32_t bell;                /* a futex: there is something to do for the lender */
    _Atomic(const void *) sitter;         /* while it is away: the address of its thread's thrum__self */
    _Alignas(64) _Atomic uint32_t visits; /* by the sitter, which alone writes it, for the lender; wraps around */
} seat;

struct domain;
struct worker;

/* The sitter's side. `sitter` is the worker that the thread is while it sits.
 *
 * Somebody is asked to make way; the caller is at work from now on. False: another one has the seat. */
bool thrum__seat_ask(struct domain *d);
/* It is not at work for a while. True: it keeps the seat, and may be back with that ticket. False: nobody had made way
 * yet; the seat is free. */
bool thrum__seat_pause(struct worker *sitter, uint32_t *ticket);
/* It is back. False: it has been away for too long, and the seat is gone. */
bool thrum__seat_resume(struct domain *d, uint32_t ticket);
/* It is about to run one brief job, and away again then: this costs less than to be back and to pause. The lender may
 * take its place back meanwhile. False: it has. */
bool thrum__seat_visit(struct domain *d, uint32_t ticket);
/* It is at work, and leaves. */
void thrum__seat_return(struct worker *sitter);

/* The calling thread is going to wait for something else in the domain: if the seat is its own, it gives it back. */
void thrum__seat_leave(struct domain *d);

/* The worker's side, between jobs. */
static inline bool thrum__seat_is_asked(const seat *seat)
{
    return (atomic_load_explicit(&seat->word, memory_order_relaxed) & 7) == SEAT_ASKED;
}
/* Makes way, if nobody else does: the worker has no place then, and no jobs either soon. */
bool thrum__seat_lend(struct worker *w);
/* Until it has its place back. */
void thrum__seat_await(struct worker *w);

/* Something was posted to a worker that may be resting. */
void thrum__seat_ring(seat *seat);

#endif
