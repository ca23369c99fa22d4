/* SPDX-License-Identifier: MIT
 *
 * Terms on which a task of a graph runs: how urgent it is, where it may run, and what it needs besides its predecessors.
 *
 * A task without terms costs nothing for this; one with terms takes a slower way through the executor, some tenths of a
 * microsecond. The calls build a graph: they are allowed while it does not run, and the graph keeps the first error.
 */
#ifndef THRUM_TERMS_H
#define THRUM_TERMS_H

#include <thrum/graph.h>

THRUM_BEGIN_C

/* ---- Priorities --------------------------------------------------------------------------------------------------- */

/* Among tasks that are ready, high ones are taken before normal ones and those before low ones, by each worker when it
 * comes to its next task. A task that runs is not interrupted; and of several runs at the same time, a worker that is at
 * one of them goes on with that one before it looks at the high tasks of others. */
enum thrum_priority { THRUM_LOW = -1, THRUM_NORMAL = 0, THRUM_HIGH = 1 };
THRUM_API int thrum_task_set_priority(thrum_task *task, enum thrum_priority priority);

/* ---- Places ------------------------------------------------------------------------------------------------------- */

/* The task runs on the executor's worker with this number only (0 to thrum_executor_workers - 1), for what is bound to a
 * thread. It begins when that worker is through with what it is at. -1: on any. A run on an executor that has no such
 * worker is refused with THRUM_EINVAL. */
THRUM_API int thrum_task_pin_worker(thrum_task *task, int worker);

/* The task runs on the workers of this domain only. Tasks without a pin run in domain 0. A run on an executor that has no
 * such domain is refused with THRUM_EINVAL. A module has no place of its own: pin its tasks. */
THRUM_API int thrum_task_pin_domain(thrum_task *task, int domain);

THRUM_END_C

#endif
