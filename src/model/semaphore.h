/* SPDX-License-Identifier: MIT
 *
 * Semaphores as data: their tokens, who waits, and what the tasks of a graph take and give back. How tasks come to have
 * tokens is in exec/semaphore.c, with the rules for the locks.
 *
 * A graph runs once at a time, so "the tokens that a run holds" are counted for the graph: in a *use*, one for each
 * semaphore that its tasks list. A *demand* is a line of a task's list: so many tokens of that use.
 *
 * A semaphore lives until its user has freed it and no graph lists it any more.
 */
#ifndef THRUM_MODEL_SEMAPHORE_H
#define THRUM_MODEL_SEMAPHORE_H

#include "model/terms.h"

/* Tasks that wait, by their posts, the oldest first. */
typedef struct thrum__waiting {
    thrum__post *first, *last;
} thrum__waiting;

enum { THRUM__WAITING_LEVELS = THRUM_HIGH - THRUM_LOW + 1 };

struct thrum_semaphore {
    thrum__lock lock;                              /* for what follows up to `waiting`, and the `held` of its uses */
    _Atomic uint64_t free;                         /* tokens that nobody holds; read without the lock too */
    thrum__waiting waiting[THRUM__WAITING_LEVELS]; /* the most urgent first */
    uint64_t tokens;                               /* constant: all of them */
    _Atomic uint32_t references;                   /* the user's, and one for each use */
    thrum_semaphore *next, *previous;              /* of all semaphores; thrum__semaphores_lock */
    char *name;
};

typedef struct thrum__use {
    struct thrum__use *next; /* of the same graph */
    thrum_semaphore *semaphore;
    uint64_t held; /* by the graph's run; the semaphore's lock, or while nothing of the graph runs */
} thrum__use;

typedef struct thrum__demand {
    thrum__use *use;
    uint64_t count;
} thrum__demand;

/* For the list of all semaphores, and for whoever takes the locks of several of them. */
extern thrum__lock thrum__semaphores_lock;
extern thrum_semaphore *thrum__semaphores;

void thrum__demands_drop(thrum__terms *terms);
void thrum__uses_drop(thrum__terms_table *table);
/* 0 or THRUM_ENOMEM. */
int thrum__demands_copy(const thrum__terms *from, thrum__terms *to);

#endif
