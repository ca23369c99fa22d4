/* SPDX-License-Identifier: MIT
 *
 * What policies are made of: lists and heaps of jobs, and a note of who is idle. No memory is needed for a push, so a push cannot
 * fail: a job that waits is linked by its own fields, `link` and `mark` (`key` is left to the policy).
 *
 * **Shelves.** Where all workers look for jobs in one place, those that cannot run what lies in front would have to step over it,
 * again at each pop. So a shelf has a place for each set of architectures: there lie the jobs whose codelets have implementations
 * for just those. A worker looks at the places with its own architecture in them, and steps over jobs only where something rarer
 * forbids them: a pin, or the codelet's own can_run.
 *
 * **Idlers.** A worker that was refused sleeps until it is woken; nobody has popped at the beginning, so all begin idle. What holds:
 * *for each job that waits, one of the workers that may take it is not idle*, so it pops again and the job is not forgotten. A
 * push keeps this by waking one that could take the job, if any is idle. A pop keeps it, since a worker becomes idle only when
 * nothing is left that it may take. That much loses no job; so that no worker sleeps beside work for long, a pop that leaves jobs
 * behind wakes one more. While everybody is busy all of this is one comparison.
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

/* ---- Lists -------------------------------------------------------------------------------------------------------- */

/* Doubly linked: `link` is the next job, `mark` the one before. */
typedef struct thrum__list {
    thrum_job *first, *last;
    uint64_t of_arch[THRUM_ARCHS]; /* how many have an implementation for it */
} thrum__list;

void thrum__list_prepend(thrum__list *list, thrum_job *job);
void thrum__list_append(thrum__list *list, thrum_job *job);
void thrum__list_remove(thrum__list *list, thrum_job *job);

/* The first, and the last, that the worker can run; NULL if there is none. They stay in the list. */
thrum_job *thrum__list_first_for(const thrum__list *list, const thrum_world *world, int worker);
thrum_job *thrum__list_last_for(const thrum__list *list, const thrum_world *world, int worker);

/* ---- Heaps -------------------------------------------------------------------------------------------------------- */

/* The most urgent on top: by priority, then the oldest. */
static inline bool thrum__more_urgent(const thrum_job *a, const thrum_job *b)
{
    return a->priority != b->priority ? a->priority > b->priority : a->number < b->number;
}

/* A pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986), which needs two pointers a job: `link` is the next child of the
 * same parent, `mark` the first child. Adding is O(1), taking O(log n) amortised. */
typedef struct thrum__heap {
    thrum_job *top;
} thrum__heap;

void thrum__heap_add(thrum__heap *heap, thrum_job *job);
thrum_job *thrum__heap_take(thrum__heap *heap); /* the most urgent; NULL if there is none */
/* The most urgent that the worker can run; NULL if there is none. */
thrum_job *thrum__heap_take_for(thrum__heap *heap, const thrum_world *world, int worker);

/* ---- Shelves ------------------------------------------------------------------------------------------------------ */

typedef struct thrum__shelf {
    thrum__list of[THRUM__ARCH_SETS];
} thrum__shelf;

/* The oldest, by number, that the worker can run; NULL if there is none. It stays in its list. */
thrum_job *thrum__shelf_first_for(const thrum__shelf *shelf, const thrum_world *world, int worker);
static inline void thrum__shelf_append(thrum__shelf *shelf, thrum_job *job)
{
    thrum__list_append(&shelf->of[thrum__arch_set(job)], job);
}
static inline void thrum__shelf_remove(thrum__shelf *shelf, thrum_job *job)
{
    thrum__list_remove(&shelf->of[thrum__arch_set(job)], job);
}

/* ---- Idlers ------------------------------------------------------------------------------------------------------- */

typedef struct thrum__idlers {
    bool *idle; /* by worker */
    int count;  /* how many are */
    int next;   /* where to look first, so that not always the same one is woken */
} thrum__idlers;

int thrum__idlers_begin(thrum__idlers *idlers, const thrum_world *world); /* 0 or THRUM_ENOMEM */
void thrum__idlers_end(thrum__idlers *idlers);

/* The worker was refused, or has got something. */
void thrum__idlers_note(thrum__idlers *idlers, int worker, bool idle);

/* Wakes this worker if it is idle; and one idle worker that can run the job, if there is one. False: there is none. */
bool thrum__idlers_wake(thrum__idlers *idlers, const thrum_world *world, int worker);
bool thrum__idlers_wake_for(thrum__idlers *idlers, const thrum_world *world, const thrum_job *job);

/* Wakes one for the first job in each place of the shelf. */
void thrum__idlers_wake_for_shelf(thrum__idlers *idlers, const thrum_world *world, const thrum__shelf *shelf);

#endif
