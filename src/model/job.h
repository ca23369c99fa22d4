/* SPDX-License-Identifier: MIT
 *
 * A job: one codelet task, of a flow or of a graph, on its way from being ready to having ended.
 *
 * It begins with the record that deques carry (model/graph.h), so that built-in stealing runs it as any other task.
 * Where the executor has a policy, the job goes through exec/place.h instead.
 */
#ifndef THRUM_MODEL_JOB_H
#define THRUM_MODEL_JOB_H

#include "base/fault.h"
#include "model/data.h"
#include "model/terms.h"

enum thrum__job_kind {
    THRUM__JOB_CODELET, /* runs its codelet on some worker */
    THRUM__JOB_FETCH,   /* brings its accesses to node 0 in their modes, and no more: acquiring, partitions */
    THRUM__JOB_JOIN,    /* nothing: order's own, between groups */
    THRUM__JOB_COMBINE  /* puts the private copies of its one access together: model/reduction.h */
};

struct thrum__job;
struct thrum__at_once;

/* Somebody waits for a job to end. The word names the access in whose record the next one of the list is
 * (model/order.h):
 *   the waiting one's own,        its job waits;
 *   or, with THRUM__OUT, that of the job which is waited for, and its `follower` waits. */
typedef uintptr_t thrum__edge;

enum { THRUM__OUT = 1 };

/* One access. All but `data` and `mode` belongs to order. */
typedef struct thrum__access {
    thrum_data *data;
    uint8_t mode;    /* enum thrum_mode */
    bool in_front;   /* its handle's front has it; with the space's lock */
    uint32_t number; /* in its job */
    union {
        struct thrum__access *older; /* of a member of a group, while the front has it: the one before */
        struct thrum__job *follower; /* and then: what waits for the group */
    };
    thrum__edge next_in, next_out; /* the next that waits for what this one waits for; for what this one is part of */
} thrum__access;

/* What a job comes from. */
typedef struct thrum__job_owner {
    thrum_executor *ex;
    thrum__root *root; /* where its errors go, and whether it is cancelled; changes only while it has no jobs */
    void *run;         /* a thrum__run, for built-in stealing */
    /* How long its jobs take (sched/at_once.h); NULL: nobody asks. Written by whoever inserts, read by whoever runs
     * jobs: relaxed, what it points to is there as long as there are jobs. */
    _Atomic(struct thrum__at_once *) times;
    /* The job's work is done, or was left out; nobody touches it any more but the owner. Called once, by any thread. */
    void (*ended)(struct thrum__job *job);
} thrum__job_owner;

/* What is touched of every job is a cache line, and less than one for each access: jobs are inserted by one core and
 * run by another, and each line goes from the one to the other and back, or to memory and back if kernels need the
 * caches. What most jobs do not need is behind the accesses (thrum__job_rest). */
typedef struct thrum__job {
    thrum_task task;              /* first. `pending` counts what it waits for; `next`: see thrum__job_number */
    _Atomic(thrum__edge) waiters; /* those that wait for it, or THRUM__ENDED: see model/order.h */
    const thrum_codelet *codelet;
    thrum__job_owner *owner;
    uint32_t count; /* accesses */
    uint8_t kind;   /* enum thrum__job_kind */
    union {
        uint8_t traits; /* all of the following, which are set before it is inserted */
        struct {
            bool has_rest : 1;      /* its rest means something; else only `post` may be used */
            bool commutes : 1;      /* some access does */
            bool kept : 1;          /* of FETCH: others wait on until the main program gives the data back */
            bool dissolves : 1;     /* of FETCH: its accesses but the first are parts, which end with it */
            bool unregisters : 1;   /* of FETCH: its first access does */
            bool first_content : 1; /* of COMBINE: there was no content before */
        };
    };
    bool holds_strand;     /* it may be made ready by others than strands of its run: see exec/stream.h */
    _Atomic uint8_t ended; /* nobody touches it any more: its memory can be used again */
    thrum__access access[];
} thrum__job;

_Static_assert(sizeof(thrum__job) == 64 && sizeof(thrum__access) == 40, "three accesses make three cache lines");

typedef struct thrum__job_rest {
    void *arg; /* the job's own copy, or NULL */
    const char *name;
    int32_t priority, bucket, worker; /* worker: -1 for any */
    struct thrum__placing *placing;   /* the part of exec/place.h; NULL where there is no policy */
    thrum__post post;
    thrum__job *next; /* in lists of whoever has it */
} thrum__job_rest;

/* Where jobs lie side by side in a flow's memory, `next` says of each how large it is, in units of 64 bytes, and above
 * 32 bits which one of the flow's it is; that wraps around. */
enum { THRUM__JOB_UNIT = 64, THRUM__JOB_NUMBER_SHIFT = 32 };

static inline uint32_t thrum__job_number(const thrum__job *job)
{
    return (uint32_t)(job->task.next >> THRUM__JOB_NUMBER_SHIFT);
}

static inline thrum__job_rest *thrum__job_rest_of(const thrum__job *job)
{
    return (thrum__job_rest *)(uintptr_t)&job->access[job->count];
}

/* What it is where there is no rest. */
static inline void *thrum__job_arg(const thrum__job *job)
{
    return job->has_rest ? thrum__job_rest_of(job)->arg : NULL;
}

static inline int32_t thrum__job_priority(const thrum__job *job)
{
    return job->has_rest ? thrum__job_rest_of(job)->priority : 0;
}

static inline int32_t thrum__job_worker(const thrum__job *job)
{
    return job->has_rest ? thrum__job_rest_of(job)->worker : -1;
}

static inline const char *thrum__job_name(const thrum__job *job)
{
    const char *name = job->has_rest ? thrum__job_rest_of(job)->name : NULL;
    return name ? name : job->codelet ? job->codelet->name : "fetch";
}

#endif
