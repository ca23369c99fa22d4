/* SPDX-License-Identifier: MIT
 *
 * What policies are made of: lists and heaps of jobs, and a note of who is idle. No memory is needed for a push, so a
 * push cannot fail: a job that waits is linked by its own fields, `link` and `mark` (`key` is left to the policy).
 *
 * **Shelves.** Where all workers look for jobs in one place, those that cannot run what lies in front would have to
 * step over it, again at each pop. So a shelf has a place for each set of architectures: there lie the jobs whose
 * codelets have implementations for just those. A worker looks at the places with its own architecture in them, and
 * steps over jobs only where something rarer forbids them: a pin, or the codelet's own can_run.
 *
 * **Idlers.** A worker that was refused does not come again until it is woken; nobody has popped at the beginning, so
 * all begin idle. What holds: *for each job that waits, one of the workers that may take it is not idle*, so it pops
 * again and the job is not forgotten. A push keeps this by waking one that could take the job, if any is idle. A pop
 * keeps it, since a worker becomes idle only when nothing is left that it may take. That much loses no job; so that no
 * worker sleeps beside work for long, a pop that leaves jobs behind wakes one more. A worker may ask for another job
 * before it is done with the first: if it is refused it is idle too, but others are woken rather. While nobody is idle
 * all of this is one comparison.
 */
#ifndef THRUM_SCHED_POLICY_QUEUE_H
#define THRUM_SCHED_POLICY_QUEUE_H

#include <thrum/policy.h>

enum { THRUM__ARCH_SETS = 1 << THRUM_ARCHS };

/* The architectures that the job's codelet is implemented for, a bit each. */
static inline unsigned thrum__arch_set(const thrum_job *job)
{
    return (job->codelet->cpu ? 1u << THRUM_ARCH_CPU : 0) | (job->codelet->emu ? 1u << THRUM_ARCH_EMU : 0);
}

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

/* Doubly linked: `link` is the next job, `mark` the one before. */
typedef struct thrum__list {
    thrum_job *first, *last;
    uint64_t of_arch[THRUM_ARCHS]; /* how many have an implementation for it */
} thrum__list;

void thrum__list_prepend(thrum__list *list, thrum_job *job);
void thrum__list_append(thrum__list *list, thrum_job *job);
/* Into a list that is in the order of priorities, the highest first, behind those of the same. Looks for the place from
 * the end on: a step for each that is less urgent, unless the job is more urgent than all. */
void thrum__list_add_by_priority(thrum__list *list, thrum_job *job);
void thrum__list_remove(thrum__list *list, thrum_job *job);

/* The first, and the last, that the worker can run; NULL if there is none. They stay in the list. */
thrum_job *thrum__list_first_for(const thrum__list *list, const thrum_world *world, int worker);
thrum_job *thrum__list_last_for(const thrum__list *list, const thrum_world *world, int worker);

/* ---- Heaps ------------------------------------------------------------------------------------------------------- */

static inline bool thrum__older(const thrum_job *a, const thrum_job *b)
{
    return a->number < b->number;
}

static inline bool thrum__more_urgent(const thrum_job *a, const thrum_job *b)
{
    return a->priority != b->priority ? a->priority > b->priority : thrum__older(a, b);
}

/* Pairing heaps (conc/pairing.h): `link` is the next child of the same parent, `mark` the first child. On top is the
 * most urgent, the oldest among equals, or `by_age` the oldest. */
typedef struct thrum__heap {
    thrum_job *top;
    bool by_age;
} thrum__heap;

void thrum__heap_add(thrum__heap *heap, thrum_job *job);
thrum_job *thrum__heap_take(thrum__heap *heap); /* the top; NULL if there is none */

/* ---- Shelves ----------------------------------------------------------------------------------------------------- */

/* Of lists, for what is taken by age. */
typedef struct thrum__shelf {
    thrum__list of[THRUM__ARCH_SETS];
} thrum__shelf;

static inline void thrum__shelf_append(thrum__shelf *shelf, thrum_job *job)
{
    thrum__list_append(&shelf->of[thrum__arch_set(job)], job);
}
/* The oldest, by number, that the worker can run; NULL if there is none. */
thrum_job *thrum__shelf_take_for(thrum__shelf *shelf, const thrum_world *world, int worker);

/* Of heaps. */
typedef struct thrum__heaps {
    thrum__heap of[THRUM__ARCH_SETS];
} thrum__heaps;

static inline void thrum__heaps_add(thrum__heaps *heaps, thrum_job *job)
{
    thrum__heap_add(&heaps->of[thrum__arch_set(job)], job);
}
/* The first in the heaps' order that the worker can run; NULL if there is none. */
thrum_job *thrum__heaps_take_for(thrum__heaps *heaps, const thrum_world *world, int worker);

/* ---- Idlers ------------------------------------------------------------------------------------------------------ */

typedef struct thrum__idler {
    bool idle;    /* it was refused, and has not been woken since */
    int in_hands; /* jobs that it has popped and not done */
} thrum__idler;

typedef struct thrum__idlers {
    thrum__idler *of; /* by worker */
    int count;        /* how many are idle */
    int next;         /* where to look first, so that not always the same one is woken */
} thrum__idlers;

int thrum__idlers_begin(thrum__idlers *idlers, const thrum_world *world); /* 0 or THRUM_ENOMEM */
void thrum__idlers_end(thrum__idlers *idlers);

/* The worker has popped this, or was refused with NULL; and it is done with a job. */
void thrum__idlers_popped(thrum__idlers *idlers, int worker, const thrum_job *job);
void thrum__idlers_done(thrum__idlers *idlers, int worker);

/* An idle worker that can run the job, if possible one that has nothing in hand; THRUM_ANY_WORKER if there is none. */
int thrum__idlers_find(thrum__idlers *idlers, const thrum_world *world, const thrum_job *job);

/* Wakes this worker if it is idle; and one idle worker that can run the job, if there is one. False: there is none. */
bool thrum__idlers_wake(thrum__idlers *idlers, const thrum_world *world, int worker);
bool thrum__idlers_wake_for(thrum__idlers *idlers, const thrum_world *world, const thrum_job *job);

/* Wakes one for the first job in each place of a shelf. */
void thrum__idlers_wake_for_shelf(thrum__idlers *idlers, const thrum_world *world, const thrum__shelf *shelf);
void thrum__idlers_wake_for_heaps(thrum__idlers *idlers, const thrum_world *world, const thrum__heaps *heaps);

#endif
