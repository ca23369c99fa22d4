/* SPDX-License-Identifier: MIT
 *
 * A job: one codelet task, of a flow or of a graph, on its way from being ready to having ended.
 *
 * It begins with the record that deques carry (model/graph.h), so that built-in stealing runs it as any other task. Where the
 * executor has a policy, the job goes through exec/place.h instead.
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

/* Somebody waits for a job to end: part of what waits or of what it waits for, whichever has room (model/order.h). */
typedef struct thrum__edge {
    struct thrum__job *after;
    struct thrum__edge *next;
} thrum__edge;

/* One access. All but `data` and `mode` belongs to order. */
typedef struct thrum__access {
    thrum_data *data;
    uint8_t mode;                /* enum thrum_mode */
    bool in_front;               /* its handle's front has it; with the space's lock */
    uint32_t number;             /* in its job */
    struct thrum__access *older; /* in its handle's front */
    thrum__edge in, out;         /* it waits for the front's last access; one that waits for this member of a group */
} thrum__access;

/* What a job comes from. */
typedef struct thrum__job_owner {
    thrum_executor *ex;
    thrum__root *root; /* where its errors go, and whether it is cancelled; changes only while it has no jobs */
    void *run;         /* a thrum__run, for built-in stealing */
    /* How long its jobs take (sched/at_once.h); NULL: nobody asks. Written by whoever inserts, read by whoever runs jobs: relaxed,
     * what it points to is there as long as there are jobs. */
    _Atomic(struct thrum__at_once *) times;
    /* The job's work is done, or was left out; nobody touches it any more but the owner. Called once, by any thread. */
    void (*ended)(struct thrum__job *job);
} thrum__job_owner;

typedef struct thrum__job {
    thrum_task task;                /* first. `pending` counts what it waits for */
    _Atomic(thrum__edge *) waiters; /* those that wait for it, or &thrum__ended: see model/order.h */
    const thrum_codelet *codelet;
    thrum__job_owner *owner;
    void *arg; /* the job's own copy, or NULL */
    const char *name;
    int32_t priority, bucket, worker; /* worker: -1 for any */
    uint32_t count;                   /* accesses */
    uint32_t bytes;                   /* of all of it, where jobs lie side by side */
    uint8_t kind;                     /* enum thrum__job_kind */
    bool holds_strand;                /* it may be made ready by others than strands of its run: see exec/stream.h */
    bool commutes;                    /* some access does */
    bool kept;                        /* of FETCH: others wait on until the main program gives the data back */
    bool dissolves;                   /* of FETCH: its accesses but the first are parts, which end with it */
    bool unregisters;                 /* of FETCH: its first access does */
    bool first_content;               /* of COMBINE: there was no content before */
    _Atomic uint8_t ended;            /* nobody touches it any more: its memory can be used again */
    struct thrum__placing *placing;   /* the part of exec/place.h; NULL where there is no policy */
    thrum__post post;
    struct thrum__job *next; /* in lists of whoever has it */
    thrum__access access[];
} thrum__job;

static inline const char *thrum__job_name(const thrum__job *job)
{
    return job->name ? job->name : job->codelet ? job->codelet->name : "fetch";
}

#endif
