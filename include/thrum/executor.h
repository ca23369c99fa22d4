/* SPDX-License-Identifier: MIT
 *
 * The executor: the workers that run tasks.
 *
 * An executor for N workers has N threads and lets at most N tasks run at once. A thread that calls `thrum_run` or
 * `thrum_wait` lends a hand: while fewer than N workers are awake it takes the place of a sleeping one and runs tasks
 * of what it waits for. So a short run needs no switch of threads, and N stays N. (`callers = THRUM_CALLERS_BLOCK`
 * turns this off, for programs whose threads have small stacks or must not run tasks.)
 * Two things go beyond N for a while: a scope opened outside tasks, and a task that goes on after it was parked in a
 * wait and somebody stood in for it. With N = 1 they wait for their turn instead.
 *
 * Where a call takes an executor, NULL means the default one: made at first use with a worker per usable core, freed
 * when the program ends.
 *
 * Every function here may be called from any thread and from inside tasks, unless it says otherwise.
 */
#ifndef THRUM_EXECUTOR_H
#define THRUM_EXECUTOR_H

#include <thrum/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

THRUM_BEGIN_C

typedef struct thrum_executor thrum_executor;
typedef struct thrum_handle thrum_handle; /* one run, or one submitted function */
typedef void thrum_fn(void *arg);

enum thrum_callers { THRUM_CALLERS_DEFAULT = 0, THRUM_CALLERS_HELP, THRUM_CALLERS_BLOCK };

/* A domain: workers of their own for tasks that are pinned to it (thrum_task_pin_domain in terms.h), such as those that
 * keep a device busy or mostly wait. At least one worker; names are not empty and differ, and none is "cpu". */
typedef struct thrum_domain_config {
    const char *name;
    int workers;
} thrum_domain_config;

/* Zero in a field means: as the option in the environment says, else its default (`thrum info` lists them). */
typedef struct thrum_config {
    int workers;                        /* how many tasks may run at once (THRUM_WORKERS); negative is an error */
    bool threadless;                    /* no threads at all: tasks run in the threads that wait for them */
    enum thrum_callers callers;         /* whether waiting threads help (THRUM_CALLERS) */
    const char *bind;                   /* "auto", "core", "numa" or "off" (THRUM_BIND) */
    const char *trace;                  /* write a trace to this file when the executor is freed (THRUM_TRACE) */
    const thrum_domain_config *domains; /* domains beside the first, which is the processor cores: numbers 1, 2, ... */
    int domain_count;                   /* at most 63; none on an executor without threads */
    const char *policy;                 /* who runs which codelet task (THRUM_POLICY): policy.h; NULL: stealing */
    const char *devices;                /* "cpu,emu:3" and the like (THRUM_DEVICES): device.h; NULL: processors only */
} thrum_config;

/* NULL: all defaults. Returns NULL on failure; `thrum_message(NULL)` says why. */
THRUM_API thrum_executor *thrum_executor_new(const thrum_config *config);

/* Waits until everything that was started on it has ended, writes the trace if one was asked for, and frees it. From
 * one of its own tasks: THRUM_EDEADLOCK, and nothing is freed. NULL is allowed and does nothing. In the child of a fork
 * the executor's memory is given back, its threads being the parent's. */
THRUM_API int thrum_executor_free(thrum_executor *ex);

/* The default executor, or NULL with a message when it could not be made. It must not be freed. */
THRUM_API thrum_executor *thrum_executor_default(void);

/* How many tasks may run at once; 1 for a threadless executor, though there each waiting thread runs what it waits for.
 * 0 when there is no executor. */
THRUM_API int thrum_executor_workers(const thrum_executor *ex);

/* Another number of workers, 1 to 1024, of domain 0, while nothing runs on the executor: THRUM_EBUSY otherwise, also
 * from one of its own tasks. Other threads must not use the executor meanwhile. Without memory nothing changes; where
 * the system gives too few threads (THRUM_ESYSTEM) it goes on with those. THRUM_EINVAL for a wrong number, and for an
 * executor without threads. Workers may have other numbers afterwards. */
THRUM_API int thrum_executor_resize(thrum_executor *ex, int workers);

/* Waits until everything that was started on it has ended. The errors of runs and submitted functions belong to their
 * handles; of functions without one (thrum_async) the first error is returned here, once, and `thrum_message(ex)` tells
 * it. From one of its own tasks: THRUM_EDEADLOCK. */
THRUM_API int thrum_executor_wait(thrum_executor *ex);

/* The number of the worker that runs the calling task: 0 to thrum_executor_workers - 1 for the executor's threads,
 * above that for helping callers and stand-ins, and above all of those for workers of other domains. No two workers of
 * an executor have the same number. -1 outside tasks. */
THRUM_API int thrum_worker_index(void);

/* What a worker did for want of work, counted since the executor was made. A steal is a look at what another worker has
 * to offer: with success, or wasted. A search that ends with neither work nor company puts the worker to sleep; the
 * beginning counts as sleep, so a worker with more sleeps than wakes is asleep. Naps are short pauses while others have
 * work that is better left to them. Looks at queues that belong to no worker are not counted. */
typedef struct thrum_worker_stats {
    uint64_t steals, wasted_steals;
    uint64_t sleeps, wakes, naps;
} thrum_worker_stats;

/* Of one worker, by its number, or with -1 of all together, those above thrum_executor_workers included. While the
 * executor works, the numbers are those of some recent moment, not the same one for each. THRUM_EINVAL: there is no
 * such worker (yet, if the number is above: helpers get theirs when they first come). */
THRUM_API int thrum_executor_stats(thrum_executor *ex, int worker, thrum_worker_stats *stats);

/* Domains. Domain 0, "cpu", is the processor cores, with `workers` of the configuration. Runs begin there, and all runs
 * there that is not pinned elsewhere: tasks, submitted functions, helping callers. Another domain runs the tasks that
 * are pinned to it, what those spawn, and nothing else. Each domain lets as many tasks run at once as it has workers.
 *
 * The number of the domain with this name, or THRUM_EINVAL. */
THRUM_API int thrum_executor_domain(const thrum_executor *ex, const char *name);

/* How many domains there are, at least 1; 0 when there is no executor. And the workers of one, or THRUM_EINVAL. */
THRUM_API int thrum_executor_domains(const thrum_executor *ex);
THRUM_API int thrum_executor_domain_workers(const thrum_executor *ex, int domain);

/* The number of the domain that the calling task runs in. -1 outside tasks. */
THRUM_API int thrum_domain_index(void);

/* Calls fn(arg) soon on some worker. `thrum_async` forgets it, `thrum_submit` returns a handle (NULL on failure). */
THRUM_API int thrum_async(thrum_executor *ex, thrum_fn *fn, void *arg);
THRUM_API thrum_handle *thrum_submit(thrum_executor *ex, thrum_fn *fn, void *arg);

/* The same once what the handles in `after` stand for has ended, whether it failed or not. The handles may be released
 * as soon as the call returns; a NULL among them is an error. */
THRUM_API int thrum_async_after(thrum_executor *ex, thrum_fn *fn, void *arg, thrum_handle *const *after, size_t count);
THRUM_API thrum_handle *thrum_submit_after(thrum_executor *ex, thrum_fn *fn, void *arg, thrum_handle *const *after,
                                           size_t count);

/* Handles. `thrum_wait` returns 0 or the first error; it may be called many times, from many threads. In a task it
 * runs tasks of what it waits for and parks when there is none; waiting in a task for the run that the task is part of
 * returns THRUM_EDEADLOCK. */
THRUM_API int thrum_wait(thrum_handle *handle);

/* The same, but open to other work, as thrum_join_open is, which see for the price: in a task it runs whatever the
 * task's executor has while there is nothing to do of what it waits for; outside tasks it does so where callers
 * help. */
THRUM_API int thrum_wait_open(thrum_handle *handle);
THRUM_API bool thrum_done(const thrum_handle *handle);

/* Calls fn(arg) once what the handle stands for has ended: in the thread that ended it, before waiting returns; or here
 * and now when it has ended already. Callbacks run in the order in which they were attached. A callback may start new
 * runs; waiting in it for its own handle returns THRUM_EDEADLOCK. */
THRUM_API int thrum_then(thrum_handle *handle, thrum_fn *fn, void *arg);

/* Nothing of what the handle stands for that has not started will start; waiting for it returns when what runs has
 * ended, with THRUM_ECANCELLED unless something failed before. No effect on what has ended. */
THRUM_API int thrum_cancel(thrum_handle *handle);

/* Gives the handle back; what it stands for goes on. Each handle is released once. NULL is allowed. */
THRUM_API void thrum_release(thrum_handle *handle);

THRUM_END_C

#endif
