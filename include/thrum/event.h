/* SPDX-License-Identifier: MIT
 *
 * Events: work that goes on after a task's function has returned. A request to the kernel, a message to another
 * machine, an operation on a device: something else does it, and nobody should sit and wait for it.
 *
 * An *event task* is given an event. It starts what is to happen, hands the event on to whoever will know when it has
 * happened, and returns. The task is complete, and its successors may run, when the function has returned *and* its
 * events have been released, by any thread, at any time, in any order. No worker waits meanwhile.
 *
 *     static void read_block(thrum_event event, void *block)
 *     {
 *         start_reading(block, when_read, event);       // when_read calls thrum_event_release(event)
 *     }
 *
 * Each event is released once. A second release is an error, and harmless: it is found out however late it comes.
 * A run that failed or was cancelled still waits for the events that are held: what was started must have ended.
 */
#ifndef THRUM_EVENT_H
#define THRUM_EVENT_H

#include <thrum/graph.h>

THRUM_BEGIN_C

/* A value, to be copied freely. All zeros is no event. */
typedef struct thrum_event {
    struct thrum__event_slot *slot;
    uint64_t number;
} thrum_event;

typedef void thrum_event_fn(thrum_event event, void *arg);

/* A task that calls fn(event, arg). Returns NULL on failure, and the graph keeps the error. */
THRUM_API thrum_task *thrum_event_task_new(thrum_graph *graph, thrum_event_fn *fn, void *arg);
THRUM_API int thrum_task_set_event(thrum_task *task, thrum_event_fn *fn, void *arg);

/* One more event of the same task, to be released as well. The given one must be held. Fails with an event of all zeros
 * without memory, or if the given one is not held: `thrum_message(NULL)` says which. */
THRUM_API thrum_event thrum_event_hold(thrum_event event);

/* The event has happened. THRUM_EEVENT if it was released before. */
THRUM_API int thrum_event_release(thrum_event event);

/* The same, and the task's run fails with this code and sentence, as by thrum_fail. */
THRUM_API int thrum_event_fail(thrum_event event, int code, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* ---- Sources ----------------------------------------------------------------------------------------------------- */

/* Where nobody calls when something has happened, somebody must look. A *source* is such a place to look: the workers
 * of an executor poll its sources between tasks while events of its runs are held, and the last one to go to sleep
 * waits in a source instead. While no event is held, sources cost nothing.
 *
 *   poll   looks what has happened, and releases events. Must not block. Returns how many it released, or a negative
 *          error, which fails nothing but ends the polling of this source (see thrum_source_remove).
 *   wait   the same after waiting until there is something to release, `ns` have passed, or `wake` was called, also if
 *          that was before the wait began.
 *   wake   ends a wait that is under way, or the next one. From any thread. May be NULL: then waits are kept short.
 *
 * `poll` and `wait` are called by one thread at a time, `wake` at any time. `wake` must not call thrum; the others may
 * release events, but neither add nor remove sources. */
typedef struct thrum_source_config {
    int (*poll)(void *ctx);
    int (*wait)(void *ctx, int64_t ns);
    void (*wake)(void *ctx);
    void *ctx;
} thrum_source_config;

typedef struct thrum_source thrum_source;

/* The executor looks at the source from now on. NULL on failure: `poll` or `wait` missing, no memory. */
THRUM_API thrum_source *thrum_source_add(thrum_executor *ex, const thrum_source_config *config);

/* No longer: when this returns, none of its functions runs or will be called. The first error that poll or wait
 * returned, or
 * 0. Must be called before the executor is freed; THRUM_EDEADLOCK from inside the source's functions. */
THRUM_API int thrum_source_remove(thrum_source *source);

THRUM_END_C

#endif
