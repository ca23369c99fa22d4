/* SPDX-License-Identifier: MIT
 *
 * Terms on which a task of a graph runs: how urgent it is, where it may run, and what it needs besides its
 * predecessors.
 *
 * A task without terms costs nothing for this; one with terms takes a slower way through the executor, some tenths of a
 * microsecond. The calls build a graph: they are allowed while it does not run, and the graph keeps the first error.
 */
#ifndef THRUM_TERMS_H
#define THRUM_TERMS_H

#include <thrum/graph.h>

THRUM_BEGIN_C

/* ---- Priorities -------------------------------------------------------------------------------------------------- */

/* Among tasks that are ready, high ones are taken before normal ones and those before low ones, by each worker when it
 * comes to its next task. A task that runs is not interrupted; and of several runs at the same time, a worker that is
 * at one of them goes on with that one before it looks at the high tasks of others. */
enum thrum_priority { THRUM_LOW = -1, THRUM_NORMAL = 0, THRUM_HIGH = 1 };
THRUM_API int thrum_task_set_priority(thrum_task *task, enum thrum_priority priority);

/* ---- Places ------------------------------------------------------------------------------------------------------ */

/* The task runs on the executor's worker with this number only (0 to thrum_executor_workers - 1), for what is bound to
 * a thread. It begins when that worker is through with what it is at, waits for other things included. -1: on any. A
 * run on an executor that has no such worker is refused with THRUM_EINVAL. Numbers count within the task's domain: for
 * one that is pinned to domain 2, worker 0 is the first of domain 2. */
THRUM_API int thrum_task_pin_worker(thrum_task *task, int worker);

/* The task runs on the workers of this domain only (executor.h: thrum_executor_domain). Tasks without a pin run in
 * domain 0. A run on an executor that has no such domain is refused with THRUM_EINVAL. A module has no place of its
 * own: pin its tasks. What the task spawns, and the scopes that it opens, stay in its domain; a run that it starts
 * begins in domain 0, as all runs do. */
THRUM_API int thrum_task_pin_domain(thrum_task *task, int domain);

/* ---- Semaphores -------------------------------------------------------------------------------------------------- */

/* A semaphore has a number of tokens. A task that lists it takes tokens before it begins, and a task that lists it
 * gives them back when it has completed: with one token, such tasks exclude each other; with n, at most n of them run
 * at once. A semaphore is not tied to a graph or an executor: whatever runs at the same time may share it.
 *
 * A task that cannot have all its tokens at once takes none and waits; no worker waits with it. It begins when its turn
 * comes: of those that wait at one semaphore the more urgent first (see priorities), then the one that came first. A
 * task that lists several semaphores waits at one that lacks tokens, then perhaps at another: those that need fewer may
 * overtake it again and again. But it holds nothing while it waits, so tasks that list the same semaphores in different
 * orders do not block each other.
 *
 * Tokens belong to the run of the task's graph. The graph of a module has its own run; each of the n of thrum_run_n is
 * one, but all iterations of a pipelined run together. One task may take tokens and another of the same graph give them
 * back, for a region of several tasks: but then a task inside the region that waits for more tokens can wait for ever,
 * as with locks. Let the first task take all.
 *
 * A task that gives back more than its run holds fails the run with THRUM_ESEMAPHORE. So does the end of a run that
 * holds tokens still. A run that failed or was cancelled takes no more tokens, what waits for some leaves at once, and
 * tasks that had begun give back when they complete. All that a run holds at its end, however it ended, comes back. In
 * the child of a fork, where no run goes on, all tokens are free. */
typedef struct thrum_semaphore thrum_semaphore;

/* NULL on failure: no tokens, no memory. The name is for messages; NULL for none. */
THRUM_API thrum_semaphore *thrum_semaphore_new(const char *name, uint64_t tokens);

/* THRUM_EBUSY while tokens are held or awaited. Graphs that list it may be freed before or after. NULL is accepted. */
THRUM_API int thrum_semaphore_free(thrum_semaphore *semaphore);

/* How many are free at this moment. 0 for NULL. */
THRUM_API uint64_t thrum_semaphore_tokens(const thrum_semaphore *semaphore);

/* The task takes a token before it begins; listed k times, k tokens. A module takes it before the first of its tasks
 * begins. THRUM_EINVAL if the semaphore does not have as many. */
THRUM_API int thrum_task_acquire(thrum_task *task, thrum_semaphore *semaphore);

/* A token comes back when the task has completed (a module: all of its tasks; an event task: its events have been
 * released), before tasks behind it begin. Listed k times, k tokens. */
THRUM_API int thrum_task_release(thrum_task *task, thrum_semaphore *semaphore);

THRUM_END_C

#endif
