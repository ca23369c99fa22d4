/* SPDX-License-Identifier: MIT
 *
 * The task simulator from inside. A run is the executor's placing (src/exec/place.h) on a virtual clock and in one
 * thread, where nothing races and nothing fails but memory: what happens, and in which order, is what happens there.
 * Reading order: this file, task_sim.c (a run from its beginning to its end), task_worker.c (how tasks get to workers;
 * compare exec/place.c), task_world.c (what policies see and must not do; exec/world.c, contract.c), task_data.c (how
 * data gets to nodes; exec/stage.c, transfer.c), task_memory.c (room for it; exec/memory.c), task_times.c (how long
 * tasks take), task_bounds.c (how fast it could be at all), task_result.c (idle times, statistics), task_trace.c (the
 * trace), task_simgrid.c (another engine, in another process), task_steal.c (the policy "steal").
 *
 * Glossary
 *   kind      of workers: 0 are cores, 1 + k the devices of the machine's kind k.
 *   piece     of data; its address stands for the handle that policies see.
 *   replica   what a memory node has of a piece.
 *   use       one access of a task.
 *   admitted  has its memory; from then on it needs nothing that others hold.
 */
#ifndef THRUM_SIM_TASK_INT_H
#define THRUM_SIM_TASK_INT_H

#include "sim/engine.h"

#include "model/workload.h"

#include <thrum/observer.h>
#include <thrum/sim.h>

typedef struct thrum__task_run task_run;
typedef struct task task;
typedef struct piece piece;

/* ---- Data -------------------------------------------------------------------------------------------------------- */

/* All zeros: nothing is there. So a large table of them costs no memory where it is not touched. */
typedef struct replica {
    struct replica *older, *newer; /* those of the node that have memory, by last use */
    uint32_t users; /* admitted uses, and copies under way from and to it: while there are some, it stays */
    int piece;      /* written with `memory` */
    bool valid;
    bool memory;            /* of a device: it has some */
    bool arriving, leaving; /* a copy to it is under way; a copy home, after which it is to be thrown out */
    bool wanted;            /* it was prefetched, and nobody has used it yet */
    bool prefetched_on;     /* the content is on its way to a stop, and is to go on to here */
} replica;

typedef struct use {
    task *of;
    piece *data;
    struct use *next_waiter;
    uint8_t mode;  /* R, W, RW or SCRATCH; of reductions W */
    bool repeated; /* the task has used it before: counts once */
} use;

struct piece {
    size_t bytes;
    use *waiters, *last_waiter; /* those that wait for a copy of it */
    task *commuters, *last_commuter;
    uint32_t under_way; /* copies */
    uint32_t going_on;  /* replicas with `prefetched_on` */
    uint32_t writing;   /* admitted uses that write: nobody begins to copy it, or throws it out */
    int valid;          /* replicas */
    uint64_t where;     /* which of them, of the first 64 nodes, as bits */
    bool taken;         /* by a task that commutes */
};

typedef struct node {
    bool device;
    int home; /* where it copies to what is thrown out: the memory of its host */
    size_t memory, used, leaving;
    size_t fresh; /* given to data since a task began there */
    replica *oldest, *newest;
    task *first, *last; /* the line: those that wait for memory */
    thrum_sim_node stats;
} node;

typedef struct transfer {
    int piece, from, to;
    int reason; /* enum thrum_copy_reason */
    double begin;
    int next; /* among those that are free; NO_TRANSFER */
} transfer;
enum { NO_TRANSFER = -1 };

/* Between two nodes, both stops of a way with a stop together. */
typedef struct road {
    double latency, per_byte;
    uint64_t copies, bytes;
    uint32_t under_way;
    double busy, since;
    double free_since;     /* when the last copy ended */
    uint64_t trace_events; /* with a trace */
} road;

/* For the trace: a copy, or that content was thrown out without one. */
typedef struct trace_copy {
    int piece, road, what; /* as thrum__copy_number has it */
    double begin, end;
} trace_copy;

/* ---- Tasks and workers ------------------------------------------------------------------------------------------- */

enum task_state { TASK_WAITS, TASK_QUEUED, TASK_TAKEN, TASK_DONE };

struct task {
    thrum_job shown;  /* first: it is what the policy has */
    use *uses;        /* as many as shown.data_count */
    task *next;       /* in a line, a list of arrived ones or of commuters: it is in one of them at most */
    uint64_t kinds;   /* that can run it, as bits */
    double begin;     /* of its kernel */
    int pin;          /* the only worker; -1: any */
    int worker;       /* that popped it */
    int waits;        /* for so many tasks */
    uint32_t missing; /* uses that are waited for */
    uint8_t state;
    bool commutes;
};

enum worker_state { WORKER_IDLE, WORKER_CROWDED, WORKER_WAITING, WORKER_BUSY };

typedef struct worker {
    int kind, node, number;
    bool device;
    bool refused;         /* it will not pop again before it is woken */
    bool called;          /* it is in the line of those that look whether there is something to do */
    int staged, admitted; /* popped and not begun; those of them that have their memory */
    int copies;           /* that it has asked for since it began a task, */
    size_t moved;         /* and their bytes */
    task *running;
    task *arrived, *last_arrived;
    /* Where its time goes. */
    uint8_t state;
    double since, held_since; /* when it came into this state; what `held` of its kind, and its own, was then */
    int pinned_ready;         /* tasks that wait for it alone */
    bool pinned_on;           /* there are some, and none for its whole kind */
    double pinned_held, pinned_since, last_pinned;
    thrum_sim_worker stats;
    thrum_worker_stats counts; /* for the trace, of "steal" */
} worker;

/* A kind of workers: `held` is for how long something was ready that it could run, up to `since` if something is. */
typedef struct kind {
    int workers, units; /* units: cores, or devices */
    size_t memory;      /* of its devices; SIZE_MAX: no limit */
    enum thrum_arch arch;
    uint32_t ready;
    double held, since, last_begin;
} kind;

struct thrum__task_run {
    thrum_world world; /* first */
    const thrum_sim *sim;
    const thrum_workload *workload;
    thrum__layout layout;
    thrum__wl_order order;
    bool has_layout, has_order;
    int depth; /* tasks that a worker of a device has popped before it begins one */

    const thrum__engine_ops *ops;
    thrum__engine *engine;

    const thrum_policy *policy;
    void *policy_state;
    bool begun; /* its `begin` has been called */
    const thrum_job *pushed;
    int pusher; /* the worker that pushes it; THRUM_ANY_WORKER: none, or nobody pushes */
    int next_any;
    bool last_call; /* all workers have been called once more, since nobody took what is queued */
    uint64_t next_number, random;
    uint32_t queued;

    thrum_codelet *codelets;
    task *tasks;
    thrum_job_data *job_data;
    use *uses;
    piece *pieces;
    replica *replicas; /* [piece * nodes + node] */
    node *nodes;
    road *links; /* [from * nodes + to] */
    transfer *transfers;
    int transfer_room, free_transfer;

    worker *workers;
    int *sharers; /* by worker: how many workers its device has */
    kind *kinds;
    int kind_count;
    int *called; /* a ring of workers */
    int called_first, called_count;
    bool pinned; /* some task is */

    double *expected, *seconds; /* [task * kinds + kind]: the mean, and as drawn; INFINITY: it cannot run there */
    double *moved;              /* [codelet * kinds + kind]: seconds for each byte of copies asked for before */

    int inserted; /* tasks; those behind are not known yet */
    bool no_room; /* the window is full, and nobody inserts before there is room for half of it */
    int done;
    uint64_t events, copies, bytes;
    int *trace_order; /* with a trace: tasks in the order of their ends, and when they ended */
    double *trace_end;
    trace_copy *trace_copies;
    size_t trace_copy_room, trace_copy_count;
    int err;
};

static inline double run_now(const task_run *run)
{
    return run->ops->now(run->engine);
}

static inline replica *run_replica(const task_run *run, const piece *p, int number)
{
    return &run->replicas[(size_t)(p - run->pieces) * (size_t)run->world.nodes + (size_t)number];
}

/* The replica on this node has the content, or not any more. */
static inline void run_set_valid(const task_run *run, piece *p, int number, bool valid)
{
    replica *r = run_replica(run, p, number);
    p->valid += valid - r->valid;
    r->valid = valid;
    if (number < 64)
        p->where = (p->where & ~(UINT64_C(1) << number)) | (uint64_t)valid << number;
}

static inline int run_node_of(const task_run *run, const task *t)
{
    return run->workers[t->worker].node;
}

static inline bool use_writes(const use *u)
{
    return u->mode == THRUM_MODE_W || u->mode == THRUM_MODE_RW;
}

/* Tickets of the engine: kernels have even ones, copies odd ones; the last is of an insertion. */
#define INSERTION_TICKET UINT64_MAX
static inline uint64_t ticket_of(uint64_t number, bool copy)
{
    return number << 1 | copy;
}

/* The first error counts; its sentence is the calling thread's. */
static inline void run_fail(task_run *run, int err)
{
    if (!run->err)
        run->err = err;
}

/* ---- task_sim.c, task_simgrid.c ---------------------------------------------------------------------------------- */

/* From the first event to the last, of a run that is laid out and has found its policy. */
int thrum__sim_run(task_run *run, const thrum__engine_ops *ops, thrum_sim_result **result);
/* The same in a process of SimGrid's. */
int thrum__sim_run_in_simgrid(task_run *run, thrum_sim_result **result);

/* ---- task_times.c ------------------------------------------------------------------------------------------------ */

/* Who can run what, and how long it takes: fills in expected, seconds and the tasks' kinds. 0, or an error with a
 * sentence about a task that nobody can run. */
int thrum__sim_times(task_run *run);
/* Whether heteroprio's settings go with the workload, whose tasks are all known here: 0, or THRUM_EOPTION with a
 * sentence about a bucket whose fastest architecture cannot run it. */
int thrum__sim_check_buckets(const task_run *run);

/* ---- task_worker.c ----------------------------------------------------------------------------------------------- */

/* The worker is to look whether there is something to do. */
void thrum__sim_call(task_run *run, worker *w);
/* All that were called look. */
void thrum__sim_serve_called(task_run *run);
/* Goes on inserting tasks: all that take no time and find room in the window; or begins with the next one. */
void thrum__sim_insert(task_run *run);
/* The insertion that was begun is done. */
void thrum__sim_inserted(task_run *run);
/* The task's data has arrived. */
void thrum__sim_deliver(task_run *run, task *t);
/* A kernel has ended. */
void thrum__sim_ended(task_run *run, task *t);
/* Nothing is under way any more. False: nor will there be. */
bool thrum__sim_last_call(task_run *run);

/* ---- task_world.c ------------------------------------------------------------------------------------------------ */

void thrum__sim_world_init(task_run *run);
bool thrum__sim_can_run(const task_run *run, const task *t, int number);
/* How long so many bytes take on an empty way. */
double thrum__sim_link_seconds(const task_run *run, int from, int to, double bytes);
/* The task that the policy gave, if it may have; else NULL, and the run has failed. */
task *thrum__sim_check_popped(task_run *run, const worker *w, const thrum_job *job);
void thrum__sim_keeps(task_run *run);

/* ---- task_data.c ------------------------------------------------------------------------------------------------- */

/* Begins to bring the task's data to the node of its worker: it is delivered when it is there. */
void thrum__sim_stage(task_run *run, task *t);
/* The task has run. */
void thrum__sim_unstage(task_run *run, task *t);
void thrum__sim_admit(task_run *run, task *t);
void thrum__sim_prefetch(task_run *run, const task *t, int to);
/* False: the run has failed. */
bool thrum__sim_transfer_begin(task_run *run, piece *p, int from, int to, int reason);
void thrum__sim_transfer_ended(task_run *run, int number);

/* ---- task_memory.c ----------------------------------------------------------------------------------------------- */

void thrum__sim_serve_line(task_run *run, int number);
void thrum__sim_enter_line(task_run *run, task *t, int number);
void thrum__sim_drop(task_run *run, int number, replica *r);
void thrum__sim_is_newest(task_run *run, int number, replica *r);
void thrum__sim_is_oldest(task_run *run, int number, replica *r);
bool thrum__sim_prefetch_memory(task_run *run, int number, piece *p);
void thrum__sim_free_scratch(task_run *run, int number, size_t bytes);

/* ---- task_bounds.c ----------------------------------------------------------------------------------------------- */

/* The longest path, each task as fast as can be. Uses `finish`, a number for each task. */
double thrum__sim_critical_path(const task_run *run, double *finish);
/* The least time in which `units` of each kind could do all tasks, if they could be cut into parts: seconds[task *
 * kinds + kind], INFINITY where it cannot run. Exact for up to two kinds that have units; beyond, the highest that was
 * found of bounds that hold. Negative: no memory. */
double thrum__area_bound(const double *seconds, int tasks, int kinds, const int *units);

/* ---- task_steal.c ------------------------------------------------------------------------------------------------ */

/* The whole run, with a result, for the policy "steal". Tables and times have been filled in; there is no engine. */
int thrum__sim_steal(task_run *run, thrum_sim_result **result);

/* ---- task_result.c ----------------------------------------------------------------------------------------------- */

/* Notes in which state the worker is from now on. */
void thrum__sim_account(task_run *run, worker *w);
/* One more, or one less, is ready. */
void thrum__sim_count_ready(task_run *run, const task *t, int one);
void thrum__sim_count_begin(task_run *run, const task *t);
void thrum__sim_account_all(task_run *run);
thrum_sim_result *thrum__sim_result_make(const task_run *run);

/* ---- task_trace.c ------------------------------------------------------------------------------------------------ */

/* With a trace: a copy has ended; content was thrown out of a node, that is elsewhere too. */
void thrum__sim_trace_copy(task_run *run, const transfer *t);
void thrum__sim_trace_thrown_out(task_run *run, const piece *p, int node);
int thrum__sim_trace_write(const task_run *run);

#endif
