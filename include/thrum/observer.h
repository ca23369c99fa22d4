/* SPDX-License-Identifier: MIT
 *
 * Observers: functions that the executor calls around every task, and behind every copy between memory nodes.
 *
 * Those around tasks run in the worker's thread, several workers at once; they must be quick and must not change
 * graphs. An executor with an observer (or a trace) runs tasks on a slower path; one without pays nothing.
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

enum thrum_copy_reason {
    THRUM_COPY_NEEDED,      /* somebody waits for it */
    THRUM_COPY_PREFETCHED,  /* a task that is queued will */
    THRUM_COPY_WRITTEN_BACK /* it was the only content, and has to make room for other data where it was */
};

/* The content of a handle has been copied from one memory node to another, which needs a device. */
typedef struct thrum_copy_info {
    const char *data; /* the handle's name, or ""; as long as the call lasts; of a long name the beginning */
    size_t bytes;     /* as thrum_data_bytes, and as thrum_link_stats counts them */
    int from, to;     /* memory nodes: device.h */
    enum thrum_copy_reason reason;
    double seconds; /* that it took, from when the copies before it on this way had ended */
} thrum_copy_info;

/* Each function may be NULL. `copied` is called once for each copy that thrum_link_stats counts, by the thread that
 * learns of its end, which may be a driver's, so several at once: before whoever waits for the content goes on. It must
 * be quick, and must not call anything of thrum's that waits. */
typedef struct thrum_observer {
    void (*begin)(void *context, const thrum_task_info *info);
    void (*end)(void *context, const thrum_task_info *info);
    void *context;
    void (*copied)(void *context, const thrum_copy_info *info);
} thrum_observer;

/* Sets the observer, which is copied; NULL takes it away. Only while nothing runs on the executor: else THRUM_EBUSY.
 * Copies that nobody waits for are waited for. */
THRUM_API int thrum_executor_observe(thrum_executor *ex, const thrum_observer *observer);

THRUM_END_C

#endif
