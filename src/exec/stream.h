/* SPDX-License-Identifier: MIT
 *
 * Streams: runs without a graph, whose tasks come one by one; and calling one worker.
 *
 * A stream is what a flow's jobs run in on an executor that steals (front/flow.c). It has a deque of its own, of which
 * whoever inserts is the owner, and thieves take from it as from a worker's.
 */
#ifndef THRUM_EXEC_STREAM_H
#define THRUM_EXEC_STREAM_H

#include "model/job.h"

typedef struct thrum__stream thrum__stream;

/* Jobs that take so long on average are run in the order of insertion. Tests change it, before they begin: 0, and all
 * are. */
extern int64_t thrum__stream_long_ns;

/* NULL without memory. A stream is closed when everything in it has ended. */
thrum__stream *thrum__stream_new(thrum_executor *ex);
void thrum__stream_free(thrum__stream *stream);

/* Begins to take jobs: owner->run and owner->root are set. 0 or THRUM_ENOMEM. */
int thrum__stream_begin(thrum__stream *stream, thrum__job_owner *owner);

/* A job is ready. By the thread that inserts, which may run it here and now. */
void thrum__stream_put(thrum__stream *stream, thrum__job *job);

/* The same for one that has no terms. Before that, while *thrum__stream_runs_at_once (sched/at_once.h): runs it here
 * and now, true, or false: it is to be put. */
void thrum__stream_put_plain(thrum__stream *stream, thrum__job *job);
bool thrum__stream_run(thrum__stream *stream, thrum__job *job);
const bool *thrum__stream_runs_at_once(const thrum__stream *stream);

/* The same in parts: the thread is a worker now, for this job, which is ready, true; then the job is run and ended, and
 * the thread is again what it was, after it has run what the job has made ready. */
typedef struct thrum__visit {
    struct worker *worker;
    thrum__root *root; /* what the worker was at before */
    void *run;
    int64_t base; /* of its deque, what is there already */
    bool entered; /* it is one for this job only */
} thrum__visit;
bool thrum__stream_visit(thrum__stream *stream, const thrum__job *job, thrum__visit *visit);
void thrum__stream_end_visit(thrum__stream *stream, const thrum__visit *visit);

/* A job is ready, made so by another that has just ended in this thread, or by anything else. It goes to the worker's
 * own deque if that is at work for the same run; else it is posted. For the latter it must hold a strand. */
void thrum__stream_ready(thrum__job *job);

/* A strand for a job that will be made ready by somebody who may have none; given back where the job is run. */
void thrum__stream_hold(thrum__job *job);
void thrum__stream_let_go(thrum__job_owner *owner);

/* Runs some of the stream's jobs in the calling thread, if it may (and on an executor without threads any others, for
 * those may be waited for): false if there was none, or it may not. */
bool thrum__stream_help(thrum__stream *stream);

/* The same as one of the workers, one of which makes way for the calling thread (exec/seat.h), so many at most: how
 * many. 0: there is none to be run now, or it may not: the caller is a worker, callers do not help, or another one has
 * the seat. */
size_t thrum__stream_work_some(thrum__stream *stream, size_t most);

/* The thread that inserts sleeps. If it is a worker, others take its place meanwhile. */
void thrum__stream_nap(const thrum__stream *stream, int64_t ns);

/* The same only if very many are ready, which is better than inserting more, or they are small. They have about so many
 * accesses. After so many insertions since the last time. True: jobs would be run at once from now on
 * (sched/at_once.h), if those that were inserted before had ended: the caller waits for that, and says by
 * thrum__stream_caught_up whether they have. */
bool thrum__stream_lighten(thrum__stream *stream, uint32_t accesses, int insertions);
void thrum__stream_caught_up(thrum__stream *stream, bool success);
/* Meanwhile: how many have ended, as far as they are counted, and for how long nothing may end until the caller gives
 * up. */
uint64_t thrum__stream_progress(const thrum__stream *stream);
int64_t thrum__stream_patience(const thrum__stream *stream);
/* How long a job of the codelet takes; 0: nobody knows. */
int64_t thrum__stream_known_ns(const thrum__stream *stream, const thrum_codelet *codelet);
/* The caller has waited for room. */
void thrum__stream_waited(thrum__stream *stream);

/* Whether the caller may wait for its end: 0, or THRUM_EDEADLOCK in a job of the same stream. */
int thrum__stream_may_end(thrum__stream *stream, const char *what);

/* No more jobs until the next begin: waits until all have ended. */
void thrum__stream_end(thrum__stream *stream);

/* Afterwards, once: 0 or the first error, whose text is then the thread's message. */
int thrum__stream_outcome(thrum__stream *stream);

/* Calls a job's kernel in the calling worker: not if the owner's root is cancelled; errors go there; observers and the
 * trace see it. */
void thrum__job_call(thrum__job *job, thrum_kernel_fn *kernel, const thrum_buffer *buffers);

/* ---- Promises ---------------------------------------------------------------------------------------------------- */

/* A handle that ends when somebody says so, once, from any thread: for thrum_wait, and to be released. NULL without
 * memory. */
thrum_handle *thrum__promise_new(thrum_executor *ex);
void thrum__promise_keep(thrum_handle *promise);

/* ---- Calling one worker ------------------------------------------------------------------------------------------ */

/* A function that one worker of the executor is to call soon, in a domain; memory of the caller's, zeros at first. */
typedef struct thrum__call {
    thrum__post post;
    thrum_task task;
} thrum__call;

/* The worker with this number in the domain calls fn(arg) when it has nothing more urgent. Once for each call; the
 * structure may be used again as soon as fn has begun. The executor does not wait for it when it is freed: the caller
 * sees to that. */
void thrum__call_worker(thrum_executor *ex, int domain, int worker, thrum__call *call, thrum_fn *fn, void *arg);

#endif
