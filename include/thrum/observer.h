/* SPDX-License-Identifier: MIT
 *
 * Observers: functions that the executor calls around every task.
 *
 * They run in the worker's thread, several workers at once; they must be quick and must not change graphs. An executor
 * with an observer (or a trace) runs tasks on a slower path; one without pays nothing.
 */
#ifndef THRUM_OBSERVER_H
#define THRUM_OBSERVER_H

#include <thrum/graph.h>

THRUM_BEGIN_C

typedef struct thrum_task_info {
    const thrum_task *task; /* NULL for spawned and submitted functions */
    const char *name;       /* the task's name, or "" */
    const char *graph;      /* the graph's name, or "" */
    int64_t number;         /* of the task in its graph, or -1 */
    int worker;             /* as thrum_worker_index() */
} thrum_task_info;

typedef struct thrum_observer {
    void (*begin)(void *context, const thrum_task_info *info); /* may be NULL */
    void (*end)(void *context, const thrum_task_info *info);   /* may be NULL */
    void *context;
} thrum_observer;

/* Sets the observer, which is copied; NULL takes it away. Only while nothing runs on the executor: else THRUM_EBUSY. */
THRUM_API int thrum_executor_observe(thrum_executor *ex, const thrum_observer *observer);

THRUM_END_C

#endif
