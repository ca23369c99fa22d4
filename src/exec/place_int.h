/* SPDX-License-Identifier: MIT
 *
 * Placing from the inside. Reading order: this file, plan.c (what there is), place.c (how jobs get to workers),
 * contract.c (what a policy must not do), world.c (what it sees), stage.c (how a job's data gets to its node), memory.c
 * (room for it), transfer.c (copies), copies.c (who watches them), replica.c (handles, and a check of everything),
 * kernel.c (running a job), broken.c (devices that fail).
 *
 * Glossary
 *   place     a worker that runs codelets. `thrum_place` is what users see of it.
 *   node      a memory: 0 is the machine's, each device has one more.
 *   placing   the part of a job that belongs here, from its push to its end.
 *   use       one access of a job, with the data that is really worked on (of a reduction, a private copy).
 *   staging   reserving memory for all uses on a node, and bringing what is read.
 *   admitted  has its memory; from then on it needs nothing that others hold, so it will end.
 *   in hand   popped, and not ended.
 *
 * Locks, in this order; none is held while a kernel, a copy, an `ended` or another function of a user's runs, but for
 * the policy's own functions and codelets' can_run and seconds, which are called with the first:
 *   places->policy_lock   the policy, the table of jobs, who was refused
 *   places->lock          replicas, memory, lines, what waits for transfers, statistics of nodes and links
 *   place->lock           the list of jobs whose data has arrived
 *   ex->lock              names that are kept for the trace
 * What must not be done with places->lock held is noted in a `todo` and carried out after it has been given back.
 */
#ifndef THRUM_EXEC_PLACE_INT_H
#define THRUM_EXEC_PLACE_INT_H

#include <thrum/device.h>

#include "exec/exec_int.h"
#include "exec/place.h"
#include "exec/stream.h"
#include "model/reduction.h"
#include "sched/perf.h"

typedef struct thrum__placing placing;
typedef struct thrum__replicas replicas;
typedef struct place place;

/* ---- Devices and nodes ------------------------------------------------------------------------------------------- */

typedef struct device {
    const thrum_driver *driver;
    thrum_device *handle;
    thrum_device_info info;
    int number, node, first_place;
    atomic_bool broken;    /* set once, with places->lock */
    char sentence[256];    /* why; written before */
    uint64_t broken_since; /* jobs with numbers from this on are not for it; 0: all are. With the policy's lock */
} device;

/* What is known of a handle on one node. All with places->lock. */
typedef struct replica {
    replicas *all;
    void *memory;                  /* on a device; NULL: none. At home it is that of the handle */
    struct replica *older, *newer; /* those of the node that have memory, by last use */
    uint32_t users;         /* admitted uses, and copies under way from and to it: while there are some, it stays */
    uint8_t state;          /* enum thrum_replica */
    bool arriving, leaving; /* a copy to it is under way; a copy home, after which it is to be thrown out */
    bool wanted;            /* it was prefetched, and nobody has used it yet */
    int node;
} replica;

typedef struct node {
    device *device;                           /* NULL for node 0, which has no limit */
    size_t used, most_used, scratch, leaving; /* bytes; `leaving` will be free when copies home have ended */
    uint32_t users;                           /* of all its replicas, and admitted scratch */
    uint32_t admitted, suspended, copies; /* jobs; those of them whose kernels wait for others; transfers under way */
    replica *oldest, *newest;
    placing *first, *last; /* the line: those that wait for memory */
    uint64_t evictions, written_back, prefetches;
} node;

typedef struct link_stats {
    uint64_t copies, bytes;
    int64_t busy, since; /* nanoseconds; the moment when the first of those under way began */
    uint32_t under_way;
    int64_t free_since; /* of an executor that is watched: when the last copy ended */
    thrum__ring ring;   /* with a trace; events == NULL: nothing was noted yet */
} link_stats;

/* ---- Uses and placings ------------------------------------------------------------------------------------------- */

typedef struct use {
    placing *of;
    thrum_data *data;
    thrum__private *copy; /* the private copy that it works on; NULL: no reduction */
    void *scratch;        /* of SCRATCH: its memory */
    struct use *next_waiter;
    struct use *next, **link; /* among the users of the handle; link NULL: it is not there */
    uint8_t mode;             /* R, W, RW or SCRATCH */
    bool counts_as_writer;    /* in replicas.writing */
} use;

enum placing_state { PLACING_OUT, PLACING_QUEUED, PLACING_TAKEN };

struct thrum__placing {
    thrum_job shown; /* first: it is what the policy has */
    thrum__job *job;
    place *place; /* that popped it; NULL: nobody, and for jobs that need no worker */
    placing *next_in_table;
    placing *next; /* in a line, a list of arrived ones or a todo: it is in one of them at most */
    int node;
    uint8_t state;  /* with the policy's lock */
    bool elsewhere; /* places of more than one node can run it */
    bool homeless;  /* it cannot be here: the device is broken, or its memory cannot be had */
    bool admitted;  /* with places->lock */
    bool shaped;    /* `shape` is known */
    bool initial;   /* of COMBINE: the handle is to be initialized */
    int fault;      /* what is wrong with it, 0: nothing */
    char *fault_text;
    uint32_t missing; /* uses that are waited for; with places->lock */
    uint64_t nodes_excluded;
    size_t bytes; /* of all uses on a device */
    thrum__perf_shape shape;
    thrum__private *combining; /* of COMBINE: the copy that is added now */
    uint32_t use_count;
    use *uses;
    thrum_job_data *data;
    thrum_buffer *buffers;
};

static inline placing *thrum__placing_of(thrum_job *job)
{
    return (placing *)job;
}

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

struct thrum__replicas {
    thrum_data *data;
    replicas *next, **link;     /* all of the executor's */
    size_t bytes;               /* on a device */
    use *users;                 /* staged or running */
    uint32_t below;             /* likewise of its parts, and of theirs; */
    uint32_t below_writing;     /* those of them that write */
    use *waiters;               /* those that wait for a transfer of it */
    _Atomic uint32_t under_way; /* transfers; atomic for whoever waits without the lock */
    uint32_t writing;           /* admitted uses that write: nobody begins to copy it, or throws it out */
    uint64_t prefetched_on; /* nodes that it is to go on to, as bits: it is on its way home, and that is half of it */
    const device *lost;     /* the device that had the only content, and broke */
    _Atomic uint64_t where; /* the nodes where it is up to date, as bits; atomic for policies, who have no lock */
    replica of[];           /* by node */
};

/* ---- Transfers --------------------------------------------------------------------------------------------------- */

typedef struct transfer {
    struct thrum__places *places;
    replicas *data;
    struct transfer *next; /* in a todo */
    int from, to;
    enum thrum_copy_reason reason;
    /* Of an executor that is watched: when it was started; then how long it took its link (0: it failed), and what of
     * the handle is told. */
    int64_t begun, noted;
    size_t bytes;
    char name[64];
    void *buffer; /* of custom layouts: the packed form */
    _Atomic uint32_t pending;
    _Atomic int err;
    char sentence[256];
} transfer;

/* What is to be done once places->lock has been given back. */
typedef struct todo {
    transfer *transfers;
    placing *arrived;
    bool broke; /* some device has */
} todo;

/* ---- Places ------------------------------------------------------------------------------------------------------ */

/* See place.c. */
enum place_state { PLACE_IDLE, PLACE_CALLED, PLACE_SERVING, PLACE_AGAIN };

struct place {
    struct thrum__places *all;
    const thrum_place *shown;
    device *device; /* NULL for processors */
    int domain, number;
    thrum__call call;
    _Atomic uint32_t state; /* enum place_state */
    place *next_called;     /* among those that are to be called; by whoever made it CALLED */
    bool refused;           /* with the policy's lock: it will not pop again before it is woken */
    /* The worker's own. */
    int staged;    /* popped and not begun */
    int serving;   /* calls of `serve` that it is in: a kernel may wait, and be called on top of */
    int nested;    /* kernels that it is in the middle of */
    int suspended; /* how many of them wait for others, with places->lock; and what the innermost waits for: */
    const thrum__root *awaited;
    int64_t idle_since; /* with something staged; 0: it was not */
    /* The worker writes, others look. */
    _Atomic uint64_t tasks, busy_ns, waiting_ns;
    thrum__lock lock;
    placing *arrived, *last_arrived;
    _Atomic uint32_t arrivals; /* a futex */
};

struct thrum__places {
    thrum_world world; /* first */
    thrum_executor *ex;
    bool timing;
    int count, cpu_count, node_count, device_count;
    int first_domain; /* of devices */
    thrum_place *shown;
    place *place;
    device *device;
    node *node;
    link_stats *link;

    _Atomic uint32_t busy;   /* places that are not idle */
    _Atomic uint32_t inside; /* threads that must leave before all of this can go */

    thrum__lock policy_lock;
    const thrum_policy *policy;
    char *settings;
    void *policy_state;
    bool begun;     /* its `begin` has been called */
    bool dismissed; /* it broke its contract, and is not called any more */
    char verdict[256];
    bool last_call; /* all places have been called once more, since nobody took what is queued */
    uint64_t next_number, random;
    uint32_t queued, taken;
    placing **table; /* all that were pushed and have not ended, by address */
    size_t table_size, table_count;
    place *to_call;          /* those that became CALLED, until the lock is given back */
    todo to_do;              /* likewise: prefetches */
    const thrum_job *pushed; /* the job whose push is under way */
    int next_any;

    thrum__lock lock;
    replicas *all;
    uint32_t changes;
};

static inline link_stats *thrum__link(thrum__places *places, int from, int to)
{
    return &places->link[from * places->node_count + to];
}

static inline bool thrum__is_broken(const device *device)
{
    return device && atomic_load_explicit(&device->broken, memory_order_acquire);
}

static inline bool thrum__job_is_cancelled(const thrum__job *job)
{
    return thrum__is_cancelled(__atomic_load_n(&job->owner->root->attention, __ATOMIC_RELAXED));
}

static inline thrum_kernel_fn *thrum__kernel_for(const thrum_codelet *codelet, enum thrum_arch arch)
{
    return arch == THRUM_ARCH_CPU ? codelet->cpu : arch == THRUM_ARCH_EMU ? codelet->emu : NULL;
}

/* ---- plan.c ------------------------------------------------------------------------------------------------------ */

struct thrum__places_plan {
    const thrum_policy *policy;
    char *settings; /* the policy's */
    bool has_cpu;
    int cpu_workers, device_count;
    device *devices; /* open */
    thrum_domain_config *domains;
};

void thrum__device_close_all(device *devices, int count);

/* ---- place.c ----------------------------------------------------------------------------------------------------- */

/* The place of the calling thread; NULL if it has none here. */
place *thrum__place_self(const thrum__places *places);
/* The place is to look whether there is something to do. The first with the policy's lock: it is called when that is
 * given back by thrum__policy_unlock. The second without. */
void thrum__place_wake_locked(place *pl);
void thrum__place_wake(place *pl);
void thrum__policy_lock(thrum__places *places);
void thrum__policy_unlock(thrum__places *places);
/* A job's data has arrived. */
void thrum__place_deliver(place *pl, placing *p);
/* Pushes a job (again): it is in nobody's hand. */
void thrum__place_push_placing(thrum__places *places, placing *p);
/* It is in hand, and through: the policy is told how long it took (negative: it did not run). It is not ended yet. */
void thrum__place_done(placing *p, double seconds);
/* Ends it. */
void thrum__placing_end(thrum__places *places, placing *p);
void thrum__placing_fail(const placing *p, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- world.c ----------------------------------------------------------------------------------------------------- */

void thrum__world_init(thrum__places *places);
/* Whether the place can run it, whatever has been broken meanwhile. With the policy's lock. */
bool thrum__place_can_run(const place *pl, const placing *p);
/* Whether any can; and whether those of several nodes can. */
bool thrum__placing_find_places(thrum__places *places, placing *p);
double thrum__placing_seconds(placing *p, const thrum_codelet *codelet, const thrum_place *shown);
void thrum__placing_shape(placing *p);

/* ---- contract.c -------------------------------------------------------------------------------------------------- */

/* All with the policy's lock. */
void thrum__table_put(thrum__places *places, placing *p);
void thrum__table_remove(thrum__places *places, placing *p);
bool thrum__table_has(const thrum__places *places, const thrum_job *job);
/* The placing of a job that was popped by the place, if it may have been; else NULL, and the policy is dismissed. */
placing *thrum__contract_check(place *pl, thrum_job *job);
/* Takes out what a dismissed policy had; to be failed and ended, linked by `next`. */
placing *thrum__table_take_queued(thrum__places *places);

/* Without locks: ends what a dismissed policy had. */
void thrum__contract_carry_out(thrum__places *places);
/* Without locks: whether the policy keeps jobs that it gives to nobody. */
void thrum__contract_look(thrum__places *places);

/* ---- stage.c ----------------------------------------------------------------------------------------------------- */

/* Begins to bring the job's data to the node: it is delivered to its place when it is there. */
void thrum__stage_begin(thrum__places *places, placing *p, int node);
/* The job does not need its uses any more. `wrote`: it has run. */
void thrum__stage_end(thrum__places *places, placing *p, bool wrote);
/* Of COMBINE: another copy may be next. */
bool thrum__combine_next(placing *p);
void thrum__combine_forget(thrum__places *places, const placing *p);
/* With places->lock. */
void thrum__stage_admit(thrum__places *places, placing *p, todo *todo);
void thrum__stage_go_on(thrum__places *places, replicas *r, todo *todo);
void thrum__stage_deliver(placing *p, todo *todo);
void thrum__stage_fault(placing *p, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
void thrum__stage_fail(const placing *p); /* its flow or run fails with that */
void thrum__todo_carry_out(thrum__places *places, todo *todo);
/* The job's data will be wanted on the node. */
void thrum__stage_prefetch(thrum__places *places, placing *p, int node, todo *todo);
void thrum__stage_prefetch_on(thrum__places *places, replicas *r, todo *todo);

static inline bool thrum__use_writes(const use *u)
{
    return u->mode == THRUM_MODE_W || u->mode == THRUM_MODE_RW;
}

/* ---- memory.c: with places->lock --------------------------------------------------------------------------------- */

/* Those in the node's line that can have their memory now are admitted. */
void thrum__node_serve_line(thrum__places *places, node *n, todo *todo);
void thrum__node_append(node *n, placing *p);
placing *thrum__node_take_first(node *n);
void thrum__replica_pin(thrum__places *places, replica *r);
void thrum__replica_unpin(thrum__places *places, replica *r);
/* Frees its memory, whatever is in it. */
void thrum__replica_drop(thrum__places *places, replica *r);
/* Memory that nobody has to leave for, but for what is not wanted and need not be copied. */
bool thrum__replica_prefetch_memory(thrum__places *places, replica *r);
void thrum__scratch_free(thrum__places *places, node *n, use *u);
/* The next to be thrown out; the last: it has just been used. */
void thrum__replica_is_oldest(thrum__places *places, replica *r);
void thrum__replica_is_newest(thrum__places *places, replica *r);

/* ---- transfer.c -------------------------------------------------------------------------------------------------- */

/* With places->lock. False without memory. */
bool thrum__transfer_begin(thrum__places *places, replicas *r, int from, int to, enum thrum_copy_reason reason,
                           todo *todo);
void thrum__transfer_start(transfer *t);

/* ---- copies.c ---------------------------------------------------------------------------------------------------- */

/* With places->lock. A copy has ended well, on an executor that is watched; content is thrown out that is elsewhere
 * too, with a trace. */
void thrum__copy_note(thrum__places *places, transfer *t);
void thrum__copy_note_thrown_out(thrum__places *places, const replica *r);
/* Without, after the first: tells the observer. */
void thrum__copy_tell(const transfer *t);
void thrum__copies_forget(thrum__places *places);

/* ---- replica.c --------------------------------------------------------------------------------------------------- */

bool thrum__replica_is_last(const replicas *r, int node, int nodes);
/* Its state on some node has changed: tells policies, and checks what must be true (THRUM_CHECKS). `note` tells
 * policies alone. */
void thrum__replicas_changed(thrum__places *places, replicas *r);
void thrum__replicas_note(const thrum__places *places, replicas *r);
/* 0, or THRUM_EDATA with a sentence about what is not as it should be; `at_rest`: no job and no copy is under way. */
int thrum__places_check(thrum__places *places, bool at_rest);
void thrum__replicas_free_all(thrum__places *places, bool foreign);

/* ---- kernel.c ---------------------------------------------------------------------------------------------------- */

/* The job's data has arrived at the calling worker's place. */
void thrum__perform_job(place *pl, placing *p);

/* ---- broken.c ---------------------------------------------------------------------------------------------------- */

/* With places->lock. */
void thrum__device_break_locked(thrum__places *places, device *d, const char *sentence, todo *todo);
void thrum__device_break(thrum__places *places, device *d, const char *sentence);
/* Without: what a todo says. */
void thrum__device_announce(thrum__places *places);

#endif
