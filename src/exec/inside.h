/* SPDX-License-Identifier: MIT
 *
 * What the layers above may ask about the calling thread and about executors.
 */
#ifndef THRUM_EXEC_INSIDE_H
#define THRUM_EXEC_INSIDE_H

#include <thrum/executor.h>
#include <thrum/scope.h>

#include <stdatomic.h>
#include <stdint.h>

/* Whether the caller is in a task, or in a scope opened outside tasks, of this executor; with NULL: of any. Then
 * thrum_scope_open_on opens a scope that is part of it. */
bool thrum__inside(const thrum_executor *ex);

/* The handles of an executor (with NULL: of the default one), for the call `what`: NULL if it cannot be used, and the
 * thread's message tells why. */
struct thrum__space;
struct thrum__space *thrum__executor_space(thrum_executor *ex, const char *what);

/* How many workers can take part in what the caller spawns with this executor: those of the calling task's domain if it
 * is inside, else the executor's (with NULL: the default one's). 0: there is no such executor, and the thread's message
 * tells why. */
uint32_t thrum__team_size(thrum_executor *ex);

/* The executor's own workers of domain 0, to which work can be pinned: none where it has no threads. */
int thrum__own_workers(const thrum_executor *ex);

/* The calling worker's number among those of its domain, from 0 on; helping callers and stand-ins come after the
 * domain's own. 0 outside. */
uint32_t thrum__team_index(void);

/* Where errors of the calling task go; NULL outside tasks. */
thrum__root *thrum__root_now(void);

/* The calling task of a graph: which worker runs it and for which run. Good until the task returns. */
typedef struct thrum__here {
    void *worker;
    const void *run;
    const uint32_t *attention; /* the run's; see base/fault.h */
} thrum__here;

thrum__here thrum__here_now(void);

/* A counter of things that a piece of work waits for, all of which are tasks of one run. The last arrival gives it its
 * full value again, before the work begins. */
typedef struct thrum__count {
    _Atomic uint32_t missing;
    uint32_t full;
} thrum__count;

/* Arrives at the counter: true if it has come to zero. What the callers did before they arrived happens before what the
 * last of them does next. While the worker has the run alone there are no read-modify-writes. */
bool thrum__arrive(const thrum__here *here, thrum__count *count);

/* Arrives at one counter, which may be NULL, and then at another. Bit 0: the first has come to zero, bit 1: the
 * second. */
unsigned thrum__arrive_at_two(const thrum__here *here, thrum__count *first, thrum__count *second);

#endif
