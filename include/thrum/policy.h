/* SPDX-License-Identifier: MIT
 *
 * Policies: where ready tasks wait, and who gets which. docs/writing-a-policy.md shows one being written.
 *
 * Without a policy an executor steals work, the fastest way where all workers are processors. With one
 * (thrum_config.policy, THRUM_POLICY), codelet tasks, of flows and of graphs, go through it: a task that has become
 * ready is *pushed*; a worker that has nothing to do *pops*. Other tasks are not concerned.
 *
 * A policy has no threads and no locks: the runtime calls its functions one at a time. It sees workers, data, clock and
 * random numbers only through the `thrum_world` that it is given, so the same policy runs on a simulated machine.
 *
 * A policy may have settings: behind its name in thrum_config.policy, separated by semicolons,
 *
 *     "laheteroprio;formula=ls_sdh2;l=3,1;alpha=0.5"
 *
 * `thrum info` lists them. A setting that the policy does not have, one that is given twice, and a bad value are
 * errors.
 */
#ifndef THRUM_POLICY_H
#define THRUM_POLICY_H

#include <thrum/codelet.h>
#include <thrum/setting.h>

THRUM_BEGIN_C

/* One access of a job. */
typedef struct thrum_job_data {
    thrum_data *data;
    enum thrum_mode mode;
    size_t bytes;
} thrum_job_data;

/* A task that is ready, as policies see it. They may write `link`, `key` and `mark` while they have it; what `key` and
 * `mark` are when it is popped they still are when it is done. */
typedef struct thrum_job {
    const thrum_codelet *codelet;
    const char *name; /* of the task, else of the codelet */
    int priority;
    int bucket;      /* from 0 on; THRUM_NO_BUCKET: none was given */
    uint64_t number; /* jobs are numbered in the order in which they became ready */
    const thrum_job_data *data;
    int data_count;
    struct thrum_job *link; /* for lists; NULL when it is pushed */
    double key;             /* 0 when it is pushed */
    int64_t mark;           /* 0 when it is pushed */
} thrum_job;

enum { THRUM_ANY_WORKER = -1 };

typedef struct thrum_world thrum_world;
struct thrum_world {
    int workers, nodes;
    const thrum_place *place; /* by worker */
    const char *settings;     /* "key=value;key=value" or "" (NULL is ""), all of them keys of the policy, each once */

    double (*now)(const thrum_world *world);      /* seconds since some moment */
    uint64_t (*random)(const thrum_world *world); /* 64 random bits */

    /* Whether this worker could run the job, which does not change while it waits, and at least one can; and how long
     * it would take, in seconds; negative: nobody knows yet. */
    bool (*can_run)(const thrum_world *world, const thrum_job *job, int worker);
    double (*seconds)(const thrum_world *world, const thrum_job *job, int worker);

    /* How long it would take to bring what the job reads and is not there to this memory node, if its links had nothing
     * else to do (what is on its way there already counts as there); whether one piece of data is there, up to date; on
     * which of the first 64 nodes it is, a bit each (may be NULL: then is_on has to be asked); and how long this many
     * bytes take between two nodes. */
    double (*transfer_seconds)(const thrum_world *world, const thrum_job *job, int node);
    bool (*is_on)(const thrum_world *world, const thrum_data *data, int node);
    uint64_t (*where)(const thrum_world *world, const thrum_data *data);
    double (*link_seconds)(const thrum_world *world, int from, int to, size_t bytes);

    /* Whether this worker, which pops or is done just now, has other jobs that it will begin before anything else: then
     * it asks ahead of time, so that data comes while it works. May be NULL: nobody asks ahead. */
    bool (*is_ahead)(const thrum_world *world, int worker);

    /* The job's data will be wanted on this node. */
    void (*prefetch)(const thrum_world *world, thrum_job *job, int node);

    /* This worker should pop soon, or with THRUM_ANY_WORKER some idle one that is not about to. A worker that was
     * refused does not pop again until it is woken, nor does one pop before it is woken for the first time; one that
     * has got a job pops again when it is done. So a push must wake whoever is to take the job. Waking one that is busy
     * does no harm. */
    void (*wake)(const thrum_world *world, int worker);

    /* The policy will not have the job that is being pushed, and forgets it: its run fails with this code and sentence.
     * May be NULL: then all jobs have to be taken. */
    void (*refuse)(const thrum_world *world, const thrum_job *job, int code, const char *sentence);
};

/* Something that a policy has counted: key and value. */
typedef void thrum_report_fn(void *arg, const char *key, double value);

typedef struct thrum_policy {
    const char *name;   /* as in thrum_config.policy: letters, digits, '-' and '_' */
    const char *about;  /* one line, for `thrum info` */
    size_t state_bytes; /* the runtime allocates this much, all zeros, for each executor */

    int (*begin)(void *state, const thrum_world *world); /* 0, or an error: then end is not called; may be NULL */
    void (*end)(void *state, const thrum_world *world);  /* may be NULL; nothing is queued any more */

    /* `from` is the worker that made it ready, THRUM_ANY_WORKER if none did. */
    void (*push)(void *state, const thrum_world *world, thrum_job *job, int from);
    /* A job that was pushed and has not been popped, which `worker` can run; NULL: nothing for this worker now. */
    thrum_job *(*pop)(void *state, const thrum_world *world, int worker);
    /* The job, popped by this worker, has run and took this long; negative: it did not run, its flow having failed.
     * Once for each job that was popped; may be NULL. */
    void (*done)(void *state, const thrum_world *world, const thrum_job *job, int worker, double seconds);

    /* Up to one whose key is NULL; may be NULL: it has none. A key "order.ARCH", with capitals behind a point, stands
     * for all keys that begin with "order.". Values are read by `begin`. */
    const thrum_setting *settings;
    /* Tells what it has counted so far; may be NULL. */
    void (*report)(const void *state, const thrum_world *world, thrum_report_fn *tell, void *arg);
} thrum_policy;

/* Makes a policy known by its name, for executors made from now on. `policy` must stay. THRUM_EINVAL: no name, a name
 * that is taken, push or pop missing. A policy can also live in a shared library that exports `const thrum_policy
 * thrum_policy_plugin`: then thrum_config.policy is the path of the library, with a '/' in it. */
THRUM_API int thrum_policy_register(const thrum_policy *policy);

/* Those that are known: number 0, 1, ...; NULL after the last. And one by its name, with settings or without, of which
 * the keys are checked; or NULL with a message. */
THRUM_API const thrum_policy *thrum_policy_at(int number);
THRUM_API const thrum_policy *thrum_policy_find(const char *name);

/* What the executor's policy has counted so far: calls `tell`, which must not call thrum, for each number. 0 (without a
 * policy, and if it counts nothing, nothing is told) or THRUM_EINVAL. */
THRUM_API int thrum_executor_policy_report(const thrum_executor *ex, thrum_report_fn *tell, void *arg);

THRUM_END_C

#endif
