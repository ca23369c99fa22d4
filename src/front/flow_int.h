/* SPDX-License-Identifier: MIT
 *
 * Flows from the inside. Reading order: this file, flow.c (inserting, waiting), flow_jobs.c (their memory), flow_run.c
 * (what happens to a job that is ready), flow_parts.c (partitions), data_use.c (the main program's own access).
 */
#ifndef THRUM_FRONT_FLOW_INT_H
#define THRUM_FRONT_FLOW_INT_H

#include <thrum/flow.h>

#include "base/fault.h"
#include "exec/stream.h"
#include "model/order.h"

/* Jobs lie side by side in chunks, in the order of insertion. A chunk can be used again when all of its jobs have
 * ended. */
typedef struct thrum__job_chunk {
    struct thrum__job_chunk *next; /* the newer one; of free ones any other */
    size_t size, used;             /* bytes behind this head */
    size_t limit;                  /* how far it is used before somebody looks which jobs have ended: size or 0 */
    size_t seen;                   /* jobs that begin before it are known to have ended */
    _Alignas(64) char room[];
} thrum__job_chunk;

/* Jobs that were made by one thread after the other. */
typedef struct thrum__job_store {
    thrum__job_chunk *oldest, *newest; /* in use */
    thrum__job_chunk *free;
    size_t free_count;
    size_t open;     /* jobs that are not known to have ended */
    uint32_t number; /* of the next one; wraps around */
} thrum__job_store;

struct thrum_flow {
    thrum__object object; /* the last error's text */
    /* What workers look at; */
    _Alignas(64) thrum__job_owner owner;
    thrum__space *space;
    thrum_handle *arrival; /* of an acquisition: ends when the data is there (data_use.c) */
    /* and whoever inserts. */
    _Alignas(64) thrum__stream *stream;
    const bool *runs_at_once; /* the stream's */
    bool begun;               /* the stream takes jobs */
    bool reduces;             /* some of its jobs since then have reduced */
    bool entered;             /* how the space's lock was taken; while it is held */
    int code;                 /* the first error of an insertion */
    size_t window;
    size_t room;     /* up to so many jobs may be open until one looks again; at most the window */
    int64_t wait_ns; /* how long room was waited for, the last times */
    uint64_t count;
    thrum__job_store store;
    thrum__job *ready, *last_ready;     /* inserted and ready; while the lock is held */
    thrum__job *acquisition;            /* its job, where that is all that it is for (data_use.c) */
    struct thrum__recording *recording; /* NULL: tasks run */
};

static inline thrum_flow *thrum__flow_of(const thrum__job *job)
{
    return (thrum_flow *)((char *)job->owner - offsetof(thrum_flow, owner));
}

/* Accesses of the most common jobs: see thrum__flow_run_plain. */
enum { THRUM__PLAIN_MOST = 8 };

/* ---- flow_jobs.c ------------------------------------------------------------------------------------------------- */

/* Where in a job with so many accesses that begins which may come behind them and its rest: aligned to 16. */
static inline size_t thrum__job_head(size_t accesses)
{
    return (sizeof(thrum__job) + accesses * sizeof(thrum__access) + sizeof(thrum__job_rest) + 15) / 16 * 16;
}

/* What it takes, with so many bytes there. No cache line has parts of two jobs, which different cores may have at the
 * same time. */
static inline size_t thrum__job_bytes(size_t accesses, size_t bytes)
{
    return (thrum__job_head(accesses) + bytes + THRUM__JOB_UNIT - 1) / THRUM__JOB_UNIT * THRUM__JOB_UNIT;
}

static inline size_t thrum__job_size(const thrum__job *job)
{
    return (job->task.next & UINT32_MAX) * THRUM__JOB_UNIT;
}

/* Memory for a job of that size: only that, until thrum__store_commit; the next call gives the same. NULL without
 * memory. With the space's lock: jobs may be forgotten. */
thrum__job *thrum__store_reserve_more(thrum__job_store *store, size_t bytes);
static inline thrum__job *thrum__store_reserve(thrum__job_store *store, size_t bytes)
{
    thrum__job_chunk *chunk = store->newest;
    if (__builtin_expect(!chunk || chunk->used + bytes > chunk->limit, 0))
        return thrum__store_reserve_more(store, bytes);
    return (thrum__job *)(chunk->room + chunk->used);
}

/* The job is this large, and counts. */
static inline void thrum__store_commit(thrum__job_store *store, thrum__job *job, size_t bytes)
{
    job->task.next = (uintptr_t)store->number++ << THRUM__JOB_NUMBER_SHIFT | bytes / THRUM__JOB_UNIT;
    atomic_store_explicit(&job->ended, 0, memory_order_relaxed);
    store->newest->used += bytes;
    store->open++;
}

/* A job that has ended, and that nothing names any more: if it is the newest its memory is what the next one gets. */
static inline void thrum__store_take_back(thrum__job_store *store, const thrum__job *job)
{
    thrum__job_chunk *chunk = store->newest;
    size_t size = thrum__job_size(job);
    if (__builtin_expect((const char *)job + size != chunk->room + chunk->used, 0))
        return;
    chunk->used -= size;
    store->open--;
}

/* All jobs may have ended: the next reservation looks. */
void thrum__store_may_rest(thrum__job_store *store);
/* Looks which jobs have ended since the last look. */
void thrum__store_look(thrum__job_store *store);
/* All jobs have ended: forgets them. `all`: gives the memory back too. With the space's lock. */
void thrum__store_clear(thrum__job_store *store, bool all);

/* ---- flow_run.c -------------------------------------------------------------------------------------------------- */

/* The job is ready; or just inserted by the calling thread, and ready. */
void thrum__flow_ready(thrum__job *job);
void thrum__flow_ready_at_once(thrum_flow *flow, thrum__job *job);
/* owner->ended of flows. */
void thrum__flow_ended(thrum__job *job);
/* The rest of it, where that was kept back (job->kept). */
void thrum__flow_end_kept(thrum__job *job);
/* The function that deques carry for jobs; and the one for the most common ones: a few accesses that read or write what
 * is at home, and nothing else is special. */
void thrum__flow_run(void *job);
void thrum__flow_run_plain(void *job);

/* Where all data is at home: what a kernel is given for one access, in the calling worker, whose task fails where
 * something is missing; and giving it back. 0 or an error. */
int thrum__buffer_apart(thrum_data *data, enum thrum_mode mode, thrum_buffer *buffer);
void thrum__buffer_leave_home(enum thrum_mode mode, const thrum_buffer *buffer);
static inline bool thrum__is_at_home(const thrum_data *data, enum thrum_mode mode)
{
    return mode != THRUM_MODE_SCRATCH && mode != THRUM_MODE_REDUX && data->home.ptr;
}
static inline int thrum__buffer_at_home(thrum_data *data, enum thrum_mode mode, thrum_buffer *buffer)
{
    if (__builtin_expect(!thrum__is_at_home(data, mode), 0))
        return thrum__buffer_apart(data, mode, buffer);
    *buffer = data->home;
    return 0;
}
/* Puts the private copies of a handle together; it had no content before if `first`. */
void thrum__combine_at_home(thrum_data *data, bool first);

/* ---- flow.c ------------------------------------------------------------------------------------------------------ */

/* The space's lock has been taken, by somebody who is going to look at fronts: a fleeting job is put into them
 * (model/order.h). */
void thrum__fleeting_record(thrum__space *space);
static inline void thrum__fleeting_settle(thrum__space *space)
{
    if (__builtin_expect(space->fleeting != NULL, 0))
        thrum__fleeting_record(space);
}

/* A flow without a stream: NULL with a sentence. */
thrum_flow *thrum__flow_alloc(thrum_executor *ex, const char *what);
/* The flow takes jobs: 0 or an error. */
int thrum__flow_begin(thrum_flow *flow);
/* The flow keeps the thread's last error; returns the code. */
int thrum__flow_fail(thrum_flow *flow, int code);
/* Before a change: the flow's first error, if it has one, with its sentence. */
int thrum__flow_error(const thrum_flow *flow);
/* Takes the space's lock, to insert; waits before where the window is full. Or the flow's error. */
int thrum__flow_enter(thrum_flow *flow);
/* Gives it back, and lets go what was inserted meanwhile and is ready. */
void thrum__flow_unlock(thrum_flow *flow);
/* In between: closes the group that the access would end: 0 or THRUM_ENOMEM. */
int thrum__flow_close_group(thrum_flow *flow, thrum_data *data, enum thrum_mode mode);
/* A job of a kind without codelet, with so many accesses to be filled in: reserved. NULL without memory. Then
 * committed, with the argument that is copied (or NULL), and put into order. */
thrum__job *thrum__flow_job(thrum_flow *flow, enum thrum__job_kind kind, size_t accesses);
void thrum__flow_commit(thrum_flow *flow, thrum__job *job, const thrum_item *arg);
void thrum__flow_order(thrum_flow *flow, thrum__job *job);

/* ---- record.c ---------------------------------------------------------------------------------------------------- */

int thrum__record_insert(thrum_flow *flow, const thrum_codelet *codelet, const thrum_item *items, size_t count);
int thrum__record_partition(thrum_flow *flow, thrum_data *data, const thrum_cut *cut);
int thrum__record_unpartition(thrum_flow *flow, thrum_data *data);
int thrum__record_end(thrum_flow *flow);

/* ---- items.c ----------------------------------------------------------------------------------------------------- */

/* What the items of an insertion say. */
typedef struct thrum__terms_of_job {
    const thrum_item *arg;
    const char *name;
    int32_t priority, bucket, worker;
    int32_t pin; /* `worker`, or the one that was found for it (workers.c); -1: any */
    uint32_t accesses;
    bool commutes, reduces;
} thrum__terms_of_job;

/* Bytes of an argument: more is refused with THRUM_ELIMIT. */
enum { THRUM__ARG_MOST = 1 << 30 };

/* Reads the items: accesses are counted and written to `access` (room for as many as there are items). 0, or an error
 * with a sentence in the name of `what`: of those that need not know what was inserted before. */
int thrum__items_read(const thrum__space *space, const thrum_codelet *codelet, const thrum_item *items, size_t count,
                      const char *what, thrum__terms_of_job *terms, thrum__access *access);

/* Whether a handle is named twice in ways that exclude each other. */
int thrum__items_check_pairs(const thrum_codelet *codelet, const thrum__access *access, uint32_t count,
                             const char *what);

/* Whether an access is allowed by the partitions that there are; and by what was inserted before. With the space's
 * lock, where flows may be about. */
int thrum__parts_check(const thrum_codelet *codelet, const thrum_data *data, enum thrum_mode mode, const char *what);
int thrum__access_check(const thrum_codelet *codelet, const thrum_data *data, enum thrum_mode mode, const char *what);

/* The same at a glance: false means that thrum__access_check has to be asked. */
static inline bool thrum__access_is_plain(const thrum_data *data)
{
    return data->front.written && !data->in_parts && !data->dissolved && !data->overlaps;
}

/* ---- workers.c --------------------------------------------------------------------------------------------------- */

/* Whether somebody can run the codelet: 0 or an error with a sentence in the name of `what`. Where workers steal and
 * its can_run does not let all of them do it, terms->pin is one who may, afterwards. */
int thrum__find_worker(thrum__space *space, const thrum_codelet *codelet, thrum__terms_of_job *terms, const char *what);

/* Where workers steal: whether a codelet that has a can_run may be run by whoever calls. */
bool thrum__codelet_runs_here(const thrum__space *space, const thrum_codelet *codelet, const void *arg);

#endif
