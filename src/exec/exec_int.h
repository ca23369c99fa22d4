/* SPDX-License-Identifier: MIT
 *
 * The executor from the inside. Reading order: this file, run.c (how a graph runs), sources.c (where it begins),
 * module.c (graphs in graphs), pipelined.c (iterations that overlap), post.c (tasks that go elsewhere), semaphore.c,
 * event.c and event_source.c (what tasks wait for), start.c (how runs are started), queue.c (one run after the other),
 * scope.c (spawn and join), door.c (what a worker keeps to itself, and how others get it), worker.c (finding work,
 * sleeping), handle.c (waiting), executor.c (making and ending it all), domain.c (more than one domain), resize.c.
 *
 * Glossary
 *   worker   what a thread needs to run tasks: a deque for graph tasks, a stack for spawned ones, a place in the
 *            domain.
 *            The executor's own threads have one each; a thread from outside that waits becomes a *guest*; a thread
 *            that stands in for a worker parked in a join is a *spare*.
 *   handle   one run of a graph (or n in a row), or one submitted function: what the user waits for.
 *   run      the part of a graph's run that thieves touch. Runs are recycled but never freed before the executor, so a
 *            thief may look at one that has ended.
 *   strand   one worker's part in a run: from joining it to having neither deque entries nor sources left. A run counts
 *            strands, not tasks (run.c).
 *   domain   the workers of one kind, with their life cycle, queue and posts. The first is the processor cores, *home*
 *            to runs and functions; the others run what is pinned to them (domain.c).
 *
 * Locks, none of which is held while a user's function runs. None is held while another is taken, but for the first,
 * under which domain->lock may be taken:
 *   worker->door (what of a worker's work is shown),
 *   graph->lock (a graph's queue of runs), domain->lock (shared queue), ex->lock (pools, new workers), handle->lock
 *   (callbacks; in thrum_cancel semaphores' locks and domain->lock are taken under it), the locks of semaphores
 *   (semaphore.c has rules for those), ex->polling and ex->watch_lock (event_source.c: the source's functions are
 *   called with them), the lock of free slots in event.c, and default_lock in executor.c, which is held while the
 *   default executor is made.
 */
#ifndef THRUM_EXEC_INT_H
#define THRUM_EXEC_INT_H

#include <thrum/observer.h>

#include "base/fault.h"
#include "conc/deque.h"
#include "conc/ring.h"
#include "exec/seat.h"
#include "model/data.h"
#include "model/graph.h"
#include "model/terms.h"
#include "model/next.h"
#include "sched/life.h"
#include "sys/core_use.h"
#include "sys/lease.h"
#include "sys/park.h"
#include "sys/topology.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#ifdef THRUM_CHECKS
#include <assert.h>
#define thrum__assert(condition) assert(condition)
#else
#define thrum__assert(condition) ((void)0)
#endif

typedef struct thrum__run thrum__run;
typedef struct worker worker;
typedef struct domain domain;

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

typedef struct callback {
    struct callback *next;
    thrum_fn *fn;
    void *arg;
} callback;

/* Bits of thrum_handle.state. */
enum {
    DONE = 1,      /* ended; the last touch of the one who ended it, unless RELEASED was there before */
    AWAITED = 2,   /* somebody sleeps on it */
    RELEASED = 4,  /* the user is through with it: whoever ends it frees it */
    CALLBACKS = 8, /* the list of callbacks is not empty */
    POKED = 16,    /* whoever sleeps on it may have something to do: see post.c */
};

enum handle_work { WORK_GRAPH, WORK_FN, WORK_SCOPE, WORK_STREAM };

/* The first line is all that a worker touches of a submitted function (WORK_FN): it goes to the worker's core and
 * back. */
struct thrum_handle {
    _Alignas(64) thrum__object object; /* root.run is the handle itself */
    _Atomic uint32_t state;            /* a futex */
    _Atomic uint32_t pending;          /* the work itself, and each detached function */
    union {
        thrum_fn *plain;
        thrum_scope_fn *scope;
        thrum_until_fn *until; /* of graphs: NULL to go by `left` */
    } fn;
    void *arg;
    uint8_t work;   /* enum handle_work */
    bool quiet;     /* no handle was given out: errors go to the executor */
    bool frees_arg; /* of scope functions: the argument is a copy */

    _Alignas(64) thrum__root *root; /* where its tasks' errors go: its own, or its owner's; of functions its own */
    thrum_executor *ex;
    worker *borrower;    /* only the call that runs it sees it, in this worker: never released, no callbacks */
    thrum_handle *owner; /* of detached functions: the handle in whose `pending` they count */
    thrum_graph *graph;
    void *context;                        /* of graphs: what thrum_context gives its tasks */
    thrum__run *parent;                   /* of modules: the run that the module's task is part of, */
    thrum_task *module_task;              /* that task, */
    _Atomic uint32_t module;              /* and enum module_state */
    uint64_t left;                        /* runs to go; only whoever ended the last one touches it */
    uint64_t iteration;                   /* the one under way, likewise; of modules and the like: their task's */
    uint64_t firings;                     /* of pipelined runs: iterations, in one run; else 0 */
    _Atomic(thrum__run *) run;            /* of graphs: while it runs, else NULL */
    _Atomic(const void *) ender;          /* the thread that calls the callbacks: the address of its thrum__self */
    _Atomic(thrum_handle *) awaited_from; /* a handle one of whose tasks waits for this one */
    thrum_handle *next, *previous; /* in the graph's queue or the domain's; the first one's previous is the last */
    _Atomic uint32_t queued;       /* of functions: in the domain's queue; whoever takes it from there runs it */
    thrum__lock lock;              /* callbacks */
    callback *callbacks, *last_callback;
    thrum__post post; /* of modules that ended in another domain: see run.c */
};

/* Who goes on with the parent's run when a module's graph has ended: the worker that began it, if it is still there;
 * else whoever ends it. Each says by an exchange that it has come; the second one goes on. */
enum module_state { MODULE_GOING, MODULE_LEFT, MODULE_ENDED };

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

/* In a deque a task's word carries the run's number in its top 16 bits: a thief must reach the run before it has the
 * task, when the task's memory may be gone already. User addresses have at most 48 bits unless a program asks the
 * kernel for more, which thrum does not. */
enum { RUN_SHIFT = 48, RUN_MOST = 0xffff };
#define TASK_MASK ((UINT64_C(1) << RUN_SHIFT) - 1)

struct thrum__run {
    _Alignas(
        64) _Atomic int64_t strands; /* see run.c; written by all who join and leave; 0 while one worker has it all */
    _Alignas(64) _Atomic size_t cursor; /* the first source that nobody has; written by all who take sources */
    _Atomic uint64_t line;              /* of a run in line: tasks that have begun; see line.c */
    _Alignas(64) thrum_handle *handle;  /* the rest is constant while strands > 0, but for the list links */
    thrum__root *root;                  /* where errors go and cancelling is asked */
    const uint32_t *attention;          /* of the root; of a pipelined run a word that always asks for some */
    const thrum__lanes *lanes;          /* of pipelined runs; else NULL */
    thrum_task **sources;
    size_t count;
    uint64_t tag;             /* its number, shifted */
    size_t divisor;           /* a take is the rest divided by this */
    _Atomic uint32_t sharing; /* enum run_sharing; see door.c */
    _Atomic bool in_line;     /* it is alone, and its tasks are run as they were created */
    bool began_in_line;       /* it was so when the iteration began */
    bool has_token;           /* its sources were put in the open list */
    bool careful;             /* some of its tasks are more urgent than others */
    bool stream;              /* it has no graph: see stream.c */
    int64_t began;            /* when the iteration began; 0: not timed */
    _Atomic int64_t turn;     /* when a condition last found nobody else in it, while it was shared */
    _Atomic bool in_order;    /* of streams: what is ready is run in the order of insertion: goes_in_order */
    thrum__post *ready;       /* domain->lock; a heap of posts in order, for which one stands in a list: */
    thrum__post stand_in;
    thrum__run *outer_alone;               /* in its worker's list of runs that are its alone */
    thrum__run *next_open, *previous_open; /* domain->lock */
    thrum__run *next_free;                 /* ex->lock */
};

/* ALONE: one worker has all of it, and needs no read-modify-writes while nobody asks. SHARED: others may join. */
enum run_sharing { RUN_ALONE, RUN_SHARED };

/* ---- Workers ----------------------------------------------------------------------------------------------------- */

/* How long a thread that looks for something keeps its core to itself. */
enum { THRUM__POLITE_NS = 2000 };

/* What those who look for work remember of a worker that hides some: see thrum__door_look. */
typedef struct watched_door {
    _Atomic int64_t not_before; /* the next look; whoever moves it on looks. Looking takes lines away from the victim */
    _Atomic uint32_t begun, inside, shares;
    _Atomic int64_t first_seen, seen, asked; /* moments; asked: 0 for not yet */
    uint32_t dozed;                          /* `begun` when the domain's dozer last looked: only that one uses it */
} watched_door;

/* Posts that wait, the oldest first; changed under the domain's lock. See post.c. */
typedef struct post_list {
    thrum__post *first, *last;
    _Atomic uint32_t count;
} post_list;

enum post_level { POST_HIGH, POST_NORMAL, POST_LOW, POST_LEVELS };

/* Work that an open join or wait has picked up runs on top of a task: what that task was. On the stack of the join. */
typedef struct beneath {
    struct beneath *outer;
    thrum__root *root;
    thrum__run *run;
} beneath;

/* A feeder has no thread: it is the deque of a stream. */
enum worker_kind { WORKER_OWN, WORKER_SPARE, WORKER_GUEST, WORKER_FEEDER };

/* As thrum_worker_stats. Only the worker writes them, and only where it has nothing to do. */
typedef struct tally {
    _Atomic uint64_t steals, wasted, sleeps, wakes, naps;
} tally;

struct worker {
    thrum__worker spawn;       /* first: a scope points to it */
    thrum__root *root;         /* of the task that runs; NULL between tasks */
    thrum__run *run;           /* of the graph's task that runs; NULL outside such */
    thrum__lease *leases;      /* guests: their place is the only one, by this lease; NULL: not by a lease */
    uint32_t strands;          /* times that it took up jobs of streams; wraps around */
    uint32_t calls;            /* of jobs that may be timed; likewise */
    struct thrum__job *urgent; /* jobs that it has made ready and does next: see stream.c */
    worker *victim; /* from whom it has the task that it is about to begin; NULL: from nobody: see stream.c */
    domain *domain;
    _Atomic uint32_t taken; /* guests: in use by a thread */
    int depth;              /* modules that it is in the middle of */
    int on_top;             /* open joins and waits that have picked up work, one on top of the other: */
    beneath *beneath;       /* what they wait in, the innermost first */
    thrum_executor *ex;
    uint64_t iteration; /* of the task that runs, in a pipelined run */
    uint64_t random;
    thrum__ring ring;     /* events == NULL: no trace */
    thrum_handle *single; /* guests: for the next run of a thread outside; see run_at_hand */
    thrum__run *kept_run; /* for the next run that starts here */
    bool stands;          /* at the domain's hand-over: see handle.c */
    bool at_home;         /* its domain is the first: where sources and tasks without terms run */
    bool borrows;         /* guests: their place is that of a worker that naps */
    bool lends;           /* its place to a thread that inserts: see seat.c */
    int index;
    enum worker_kind kind;
    worker *outer;        /* guests: what the thread was before, in an executor that it works for */
    thrum__spawn *spawns; /* the stack itself */
    size_t spawn_bytes;
    thrum__spawn *spawns_end;
    pthread_t thread;
    int cpu;           /* where it is at work, as far as it says; -1: nowhere. See cores.c, also for the following */
    int slept_on;      /* where it fell asleep */
    pid_t system_id;   /* its thread's; 0: not known yet */
    bool sent;         /* to a core, by whoever has woken it; it was */
    cpu_set_t allowed; /* on these before */

    /* Written by the owner all the time, looked at by others now and then. */
    _Alignas(64) _Atomic uint32_t inside; /* odd: the owner is at something that it has alone. See door.c */
    _Atomic uint32_t shares;              /* sources of runs that it took, times two; both wrap around */
    _Atomic uint32_t begun;               /* runs that it began with nothing else at hand; wraps around */
    _Atomic uint32_t alone_runs;          /* length of `alone` */
    _Atomic uint32_t hidden_sources;      /* runs in `alone` that have sources left */
    _Atomic int began_on;                 /* the processor on which it began the outermost of them; -1: not known */
    _Atomic int64_t left_ns; /* how long others leave that one to it, by what is known of it; 0: nothing is */
    thrum__run *alone;       /* runs that it has alone, the innermost first */

    _Atomic uint64_t started, ended; /* handles, by this worker, which alone writes them: see thrum__all_ended */

    thrum__deque deque;                          /* graph tasks; aligned by itself */
    _Alignas(64) thrum__lock door;               /* see door.c */
    _Atomic bool open;                           /* the owner shows everything at once */
    uint32_t slow_steps;                         /* with the door held; to find out whether open pays */
    int64_t slow_since;                          /* likewise */
    _Atomic(thrum__spawn *) spawns_shown;        /* spawned tasks below it are public: see scope.c */
    _Alignas(64) _Atomic(thrum__spawn *) bottom; /* the oldest spawned task that nobody has: see scope.c */
    _Atomic(thrum__spawn *) strangers;           /* from here on of work that an open join picked up: see nest.c */
    _Alignas(64) watched_door watched;           /* by others */
    _Alignas(64) thrum__lease lease;             /* feeders: of the only place, for whoever inserts; see executor.c */
    worker *leasing;                             /* feeders: the guest that this one is then */
    _Alignas(64) thrum__parker sleep_parker;     /* a token comes only from who took it off the sleepers' stack */
    thrum__parker join_parker;                   /* tokens may come late: whoever parks here looks again */
    _Atomic bool watches, called;                /* it waits in a source; it is to come: see event_source.c */
    _Atomic bool asleep;                         /* or about to be; for those who want this very worker */
    _Atomic bool rests;                          /* likewise, since it lends its place: see seat.c */
    post_list posts;                             /* tasks that are pinned to it */
    int64_t use_began; /* when a run began in which it looks at what it has of its core: see crowd.c */
    thrum__core_use use;
    _Alignas(64) tally tally;
};

/* How many of the threads that work for a domain say that they are on each processor: see cores.c. */
typedef struct core_map {
    int end; /* processors below it are known; 0: nobody asks */
    _Atomic uint8_t busy[CPU_SETSIZE];
} core_map;

struct domain {
    thrum__life life;
    worker **workers; /* `count` of them are there; grows up to `most`, entries change in thrum_executor_resize only */
    _Atomic int count;
    int most, own;
    int base;              /* added to a worker's index it gives its number in the executor */
    _Atomic uint32_t stop; /* its threads are to end */
    char *name;
    int64_t spin_ns;               /* see thrum__spin_ns */
    int cores;                     /* that its workers may use; 0: enough for all */
    int spares, spares_most;       /* ex->lock */
    _Atomic uint32_t napping;      /* workers that search with long pauses */
    _Atomic uint32_t published;    /* a futex to wake them by */
    _Atomic uint32_t offered;      /* places that are not needed just then: see worker.c */
    _Atomic uint32_t placeless;    /* workers that have been woken and wait for such a place */
    atomic_bool dozing;            /* a worker that sleeps looks up now and then: see worker.c */
    atomic_bool dozer_missed;      /* somebody had to be woken since nobody dozed, and that more than once: */
    _Atomic int64_t missed_at;     /* this is when it was last so */
    thrum__leased leased;          /* the only place, to whoever inserts: see worker.c */
    _Atomic uint32_t returning;    /* threads that want their place back: see thrum__enter_anyway */
    _Atomic int64_t crowded_until; /* a moment, or 0: see crowd.c */
    /* Where a searching worker waits to be handed a function: see handle.c. */
    _Alignas(64) _Atomic uintptr_t handover;
    _Atomic int stander_cpu; /* where it ran when it came to stand there */
    atomic_bool move_asked;  /* it shares its core with whoever waits for it */
    /* The queue, on a line of its own: it goes from core to core. */
    _Alignas(64) thrum__lock lock;
    _Atomic uint32_t waiting; /* how many of those that follow, pinned ones aside: to look at without the lock */
    thrum_handle *first;      /* functions that nobody has, the newest last */
    thrum__run *open;         /* runs with sources that nobody has, the newest last */
    post_list posts[POST_LEVELS];
    _Atomic uint32_t pinned; /* posts in the workers' own lists */
    seat seat;
    core_map map;
};

/* Names of graphs that ran, kept for the trace. */
typedef struct thrum__held_names {
    struct thrum__held_names *next;
    thrum__names *names;
} thrum__held_names;

/* Names of jobs and of data, likewise. */
typedef struct thrum__kept_text {
    struct thrum__kept_text *next;
    char text[];
} thrum__kept_text;
enum { THRUM__KEPT_LISTS = 256 };

struct thrum_executor {
    thrum__object object;
    domain cpu;
    domain *more; /* the other domains, from number 1 on */
    int domains;  /* all of them */
    int workers_in[THRUM__DOMAINS_MOST];
    _Alignas(64) _Atomic uint64_t started, ended; /* handles, by threads that are no workers of this executor */
    _Alignas(64) _Atomic uint32_t awaited;        /* somebody sleeps until all have ended; a futex */
    uint32_t generation;                          /* of the process: a fork's child has another */
    bool callers_help, threadless, watched;
    atomic_bool resizing;
    int workers;
    enum thrum__bind bind, bind_asked;
    worker *retired; /* kept for their traces, linked by `outer`: see resize.c */
    thrum__lock lock;
    thrum__run *free_runs;
    _Atomic(thrum__run *) *runs; /* by number; an entry is written once, before its number is used */
    uint32_t run_count;
    _Atomic(worker *) last_guest; /* a guess at one that is free */
    size_t spawns;
    size_t stack_bytes; /* of threads; 0: as the system has it */
    thrum_observer observer;
    char *trace;
    uint64_t trace_events;
    int64_t trace_begin;
    thrum__held_names *held_names;                   /* ex->lock */
    thrum__kept_text *kept_texts[THRUM__KEPT_LISTS]; /* likewise */
    /* Sources of events: see event_source.c. */
    _Alignas(64) _Atomic uint32_t held; /* events that are not released */
    _Atomic uint32_t source_count;
    _Atomic(worker *) watcher; /* who waits in a source */
    _Atomic int64_t last_poll;
    _Atomic uint32_t changing;    /* threads that add or remove a source */
    thrum__lock watch_lock;       /* whether wake may be called */
    thrum__lock polling;          /* held by whoever polls or waits */
    _Atomic(const void *) poller; /* that thread: the address of its thrum__self */
    thrum_source *sources;        /* the list; changed with both locks, read with either */

    thrum__space space;                  /* data handles, and where codelets run */
    struct thrum__places_plan *plan;     /* while it is made */
    thrum__run *service;                 /* of thrum__call_worker; NULL where nobody needs it */
    int feeders;                         /* ex->lock */
    _Atomic uint32_t streams, streaming; /* streams that are there; those that take jobs, or have some left */
};

/* The calling thread's worker; NULL outside. */
extern _Thread_local worker *thrum__self;

/* ---- executor.c -------------------------------------------------------------------------------------------------- */

thrum_executor *thrum__executor_or_default(thrum_executor *ex);
/* 0, or THRUM_EFORK in the child of the process that made it. */
int thrum__executor_usable(const thrum_executor *ex, const char *what);
bool thrum__executor_foreign(const thrum_executor *ex);
/* Nothing runs, nothing waits to run, nobody is inside. */
bool thrum__executor_rests(const thrum_executor *ex);
/* The same after at most `ns`: whoever ended the last run may still be on its way out when the run's waiter asks. */
bool thrum__executor_comes_to_rest(const thrum_executor *ex, int64_t ns);
/* A handle is there, borrowed ones aside; it has ended. */
void thrum__count_start(thrum_executor *ex);
void thrum__count_end(thrum_executor *ex);

/* Makes the calling thread a worker of the executor: NULL if all places are taken (unless `anyway`) or without
 * memory. */
worker *thrum__guest_enter(thrum_executor *ex, bool anyway);
void thrum__guest_leave(worker *guest);
/* Where there is one place: the same for whoever inserts into the stream of this feeder, and is no worker, by a lease
 * of the place (worker.c): NULL if it has none. The guest leaves by it if it still `leases`; and otherwise, with a
 * lease for the next time. */
worker *thrum__guest_enter_by_lease(worker *feeder);
void thrum__guest_leave_by_lease(worker *guest);
void thrum__guest_leave_to_lease(worker *guest, worker *feeder);
/* Where there is one place: waits until it is free, or can be borrowed, so long at most; whoever is only looking for
 * work makes way. By a thread that is no worker of the executor. */
bool thrum__place_comes_free(thrum_executor *ex, int64_t ns);

/* Starts a spare thread if a worker just parked and nobody is left who could take its place. */
void thrum__spare_start(domain *d);

enum { THRUM__GUESTS_MOST = 64, THRUM__FEEDERS_MOST = 64 };

/* A new worker of the domain, which is not in its list yet; NULL without memory. */
worker *thrum__worker_new(domain *d, thrum_executor *ex);
void thrum__worker_free(worker *w);
/* Puts it into the list, for any thread to see. With ex->lock held or while there are no others. */
void thrum__worker_add(domain *d, worker *w, enum worker_kind kind);
/* Makes one and puts it into the list, with ex->lock held; NULL without memory or room. */
worker *thrum__worker_add_new(domain *d, thrum_executor *ex, enum worker_kind kind);
/* The domain has no threads: its workers count as asleep. */
void thrum__domain_lay_to_sleep(domain *d);
/* Starts the threads of the domain's own workers: how many it could; *err is the system's reason if not all. */
int thrum__threads_start(domain *d, int *err);
/* Ends `own_started` of those, and the stand-ins. */
void thrum__threads_stop(domain *d, int own_started);
/* What depends on how many workers there are beside the machine's processors. */
int thrum__set_pace(thrum_executor *ex);
/* Works in one of its tasks, however deep in other executors' waits the thread is. */
bool thrum__works_for(const thrum_executor *ex);

/* ---- domain.c ---------------------------------------------------------------------------------------------------- */

/* By its number, from 0 (the processor cores) to ex->domains - 1. */
static inline domain *thrum__domain(thrum_executor *ex, int number)
{
    return number == 0 ? &ex->cpu : &ex->more[number - 1];
}

/* The domains that the configuration asks for: checked, without workers. 0 or an error. */
int thrum__domains_read(thrum_executor *ex, const thrum_config *config);
/* A domain's workers, asleep and without threads. 0, or -1 without memory. */
int thrum__domain_init(thrum_executor *ex, int number, int workers);
void thrum__domain_fini(domain *d);
/* Gives the workers of all domains their numbers in the executor. */
void thrum__domains_number(thrum_executor *ex);

/* ---- worker.c ---------------------------------------------------------------------------------------------------- */

enum found_kind {
    FOUND_NOTHING,
    FOUND_WHOLE_RUN,
    FOUND_RUN,
    FOUND_TASK,
    FOUND_COMPLETED, /* a task of a run that has run; what comes behind it is the finder's */
    FOUND_FUNCTION,
    FOUND_SPAWN
};

typedef struct found {
    enum found_kind kind;
    thrum__run
        *run; /* FOUND_RUN, FOUND_TASK, FOUND_COMPLETED: with a strand for the finder; FOUND_WHOLE_RUN: all of it is
                        the finder's */
    thrum_task *task;
    thrum_handle *handle; /* FOUND_FUNCTION: claimed; FOUND_COMPLETED: of a module, to be returned */
    thrum__spawn *place;  /* FOUND_SPAWN: claimed */
    worker *victim;
    thrum_scope_fn *spawn_fn;
    bool frees_arg;
} found;

bool thrum__find(worker *w, found *f);
void thrum__perform(worker *w, const found *f);
bool thrum__steal_task(worker *victim, const thrum__run *only, found *f);
bool thrum__find_in(worker *w, const thrum__run *only, found *f);
void thrum__wake_one(domain *d);
/* One that has been taken off the stack. */
void thrum__wake_sleeper(worker *sleeper);
/* Under the domain's lock, after adding to its queue: whom to wake once the lock is given back; NULL for nobody.
 * Without that the domain must not be touched then: what was added may have ended, and the executor with it. (A sleeper
 * that was taken off the stack keeps it: the executor's end waits for its thread.) */
worker *thrum__wake_later_locked(domain *d);
bool thrum__work_visible(const domain *d);
/* The worker parks inside a task, or a guest leaves: its place can be taken. And back. */
void thrum__step_aside(worker *w);
void thrum__step_back(worker *w);
/* The calling thread, which is the worker's, goes to another core if there may be one for it. */
void thrum__leave_core(const worker *w);
/* Who is on which core: cores.c. The calling thread, which is that worker just now, says where it is; the same, and it
 * goes to another core if somebody else is on this one; it is at work no more. */
void thrum__core_mark(worker *w);
void thrum__core_take(worker *w);
void thrum__core_leave(worker *w);
/* It is about to sleep; it is about to be woken, by the caller; it has been. */
void thrum__core_sleep(worker *w);
void thrum__core_wake(worker *sleeper);
void thrum__core_woken(worker *w);
/* Before the domain's workers begin, or while they are at rest: whether it is worth knowing. */
void thrum__core_map_set(domain *d, bool known);
/* A place for a guest that a worker does not need while it naps (false: there is none), and giving it back, as stepping
 * aside does. */
bool thrum__borrow_place(domain *d);
void thrum__give_place_back(domain *d);
/* A lessee has left the only place, and others want it. */
void thrum__lease_left(domain *d);
/* The place of one that has just become active is its own: false while a lessee is inside. Giving it back: as stepping
 * aside does. */
static inline bool thrum__place_is_own(domain *d)
{
    return thrum__lease_end(&d->leased);
}
void thrum__leave_place(domain *d);
/* Waits until it is. */
void thrum__await_lessee(domain *d);
/* Becomes active whether there is a place or not. */
void thrum__enter_anyway(domain *d);
void thrum__live(worker *w);
/* Parks until it has been taken off the stack of sleepers. */
void thrum__sleep_counted(worker *w);

/* How long a thread that is awake looks for something before it sleeps. Looking is for machines where the one looked at
 * can run meanwhile: not while more workers are awake than there are cores. */
static inline int64_t thrum__spin_ns(const domain *d)
{
    return d->cores && thrum__life_look(&d->life).awake > d->cores ? 0 : d->spin_ns;
}

/* ---- crowd.c ----------------------------------------------------------------------------------------------------- */

/* The worker begins a run that is timed; it is about to leave one. */
void thrum__crowd_begin(worker *w, const thrum__run *run);
void thrum__crowd_end(worker *w, const thrum__run *run);
bool thrum__crowd_lasts(domain *d);

/* Whether others want the domain's cores too, as far as is known. */
static inline bool thrum__crowded(domain *d)
{
    return __builtin_expect(atomic_load_explicit(&d->crowded_until, memory_order_relaxed) != 0, 0) &&
           thrum__crowd_lasts(d);
}

/* ---- door.c ------------------------------------------------------------------------------------------------------ */

/* Until somebody who is woken takes part. */
enum { WAKING_NS = 40000 };

/* Whether a run of the graph is over before that, by what the runs before took. */
static inline bool thrum__is_short(const thrum_graph *graph)
{
    return graph->task_ns && graph->task_ns * (int64_t)thrum__task_count(graph) < WAKING_NS;
}

enum look { LOOK_NOTHING, LOOK_WAIT, LOOK_SOON, LOOK_SHOWN };

/* Whether there is a spawned task that others can take, and one that they cannot: glances. */
static inline bool thrum__spawn_visible(const worker *w)
{
    const thrum__spawn *place = atomic_load_explicit(&w->bottom, memory_order_acquire);
    return __atomic_load_n(&place->state, __ATOMIC_RELAXED) & THRUM__READY;
}

static inline bool thrum__spawn_has_hidden(const worker *w)
{
    return __atomic_load_n(&w->spawn.top, __ATOMIC_RELAXED) >
           atomic_load_explicit(&w->spawns_shown, memory_order_relaxed);
}

/* Whether the worker keeps work to itself: a glance. */
static inline bool thrum__door_hides(const worker *victim)
{
    return thrum__deque_has_hidden(&victim->deque) || thrum__spawn_has_hidden(victim) ||
           atomic_load_explicit(&victim->hidden_sources, memory_order_relaxed) > 0;
}
/* Looks for work that others keep to themselves, and asks for it, now or later, or goes and gets it. LOOK_WAIT: there
 * is some, look again now and then; LOOK_SOON: in a moment (an answer may be due); LOOK_SHOWN: some has been shown just
 * now. */
enum look thrum__door_look(worker *w, int64_t now);
enum look thrum__door_look_at(worker *victim, int64_t now);
/* Whether the calling thread, which is the worker's, is on the core of one that has a run alone. A hint. */
bool thrum__door_shares_core(const worker *w);
/* For a new worker, where there is no membarrier. */
void thrum__door_open_for_ever(worker *w);
/* The owner keeps to itself what it pushes from now on, though somebody has come and got some: what it has now is
 * small. */
void thrum__door_close(worker *w);
/* The owner shows all it has: it is going to be away. */
void thrum__door_show_all(worker *w);

/* Tasks below MINUTE are not worth sharing, in a crowd those below SMALL; those below TINY only if there are many;
 * those from LONG on are at once. */
enum { THRUM__MINUTE_NS = 16, THRUM__TINY_NS = 64, THRUM__SMALL_NS = 512, THRUM__LONG_NS = 2000 };

/* The owner begins a run, alone: false if it is to be shared from the beginning. */
bool thrum__alone_begin(worker *w, thrum__run *run);
/* It ends it: false if others are in it by now, or may be. */
bool thrum__alone_end(worker *w, thrum__run *run);
/* A shared run in which the caller's strand is the only one becomes its alone again: false if it is not so, or the
 * caller shows work. */
bool thrum__alone_again(worker *w, thrum__run *run);
/* A share of a run's sources while it is alone: false if it no longer is. */
bool thrum__alone_take_sources(worker *w, thrum__run *run, size_t *from, size_t *to);
/* By a worker that is part of the run: makes it a shared one if it is not yet, and returns when it is one
 * altogether. */
void thrum__alone_share(worker *w, thrum__run *run);

/* By the owner, inside: the sources of a run, or its line, have come to an end. */
void thrum__unhide_sources(worker *w);

/* The slow ways of the owner, when the bar is up or all is shown. */
uintptr_t thrum__pop_slow(worker *w, int64_t base);
void thrum__push_slow(worker *w);
/* Between these two the owner, in scope.c, does something with the door held. */
void thrum__door_take(worker *w);
void thrum__door_give(worker *w);

/* What the owner does between these two nobody else does at the same time: true if the run is its alone and nobody
 * asks. See door.c for why. `inside` counts on, so that others can see how fast the owner goes. */
static inline bool thrum__alone_enter(worker *w, const thrum__run *run)
{
    if (atomic_load_explicit(&run->sharing, memory_order_acquire) != RUN_ALONE)
        return false;
    uint32_t inside = atomic_load_explicit(&w->inside, memory_order_relaxed);
    atomic_store_explicit(&w->inside, inside + 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(!thrum__deque_is_asked(&w->deque), 1))
        return true;
    atomic_store_explicit(&w->inside, inside, memory_order_release);
    return false;
}

static inline void thrum__alone_leave(worker *w)
{
    uint32_t inside = atomic_load_explicit(&w->inside, memory_order_relaxed);
    atomic_store_explicit(&w->inside, inside + 1, memory_order_release);
}

/* ---- run.c ------------------------------------------------------------------------------------------------------- */

bool thrum__run_raise(thrum__run *run);
void thrum__run_work(worker *w, thrum__run *run, thrum_task *first);
/* The same behind a task that has completed; `module`: its handle if it was one. */
void thrum__run_work_behind(worker *w, thrum__run *run, thrum_task *completed, thrum_handle *module);
void thrum__run_whole(worker *w, thrum__run *run);
/* A task that is ready and may stay: to the worker's deque, or where that would hide how urgent it is. */
void thrum__run_put(worker *w, thrum__run *run, thrum_task *task);
/* An iteration has ended, detached functions too: whether there is another one. */
bool thrum__run_goes_on(thrum_handle *handle);
/* Everything of the run has ended. If it was a module's, and the worker that began it has left: its handle, with which
 * the caller goes on in the parent's run. */
thrum_handle *thrum__run_end(worker *w, thrum__run *run);
/* How long a task takes, as far as is known (0: not at all), after a run in which it was between the other two. */
int64_t thrum__pace(int64_t known, int64_t least, int64_t most);
/* Whether the only task of a graph that has but one is just a call; and calling it, without a run. */
bool thrum__is_call(const thrum_graph *graph);
void thrum__call_only_task(worker *w, thrum_handle *handle);

/* ---- line.c ------------------------------------------------------------------------------------------------------ */

/* Whether an iteration that begins is to be run in line if it begins alone. */
bool thrum__line_pays(const worker *w, const thrum__run *run);
/* How long others leave such a run to its worker. */
int64_t thrum__line_left_ns(const thrum_graph *graph);
/* An iteration of the graph took so long. */
void thrum__line_note(thrum_graph *graph, bool in_line, int64_t ns);
/* Runs the line, until it ends or is broken off. Then a task that is to be completed may be returned: it has run, or
 * the run is cancelled. */
thrum_task *thrum__line_run(worker *w, thrum__run *run);
/* What is left of the line are sources from now on. By whoever makes the run a shared one, before it is. */
void thrum__line_break_off(thrum__run *run);

/* ---- pipelined.c ------------------------------------------------------------------------------------------------- */

/* What `complete` of run.c is, for a run with lanes. As there, NULL means that nothing has been pushed either: the
 * caller may be about to leave the run. */
thrum_task *thrum__pipelined_complete(worker *w, thrum__run *run, const thrum_task *task);
/* The iteration of a task of the run that is under way. */
uint64_t thrum__iteration_of(const thrum__run *run, const thrum_task *task);

/* Whether the run is that of the handle, or of a module in it, to any depth. For a run that cannot end meanwhile. */
bool thrum__is_part_of(const thrum__run *run, const thrum_handle *handle);
/* The handle that somebody may wait for, of a run or of one that it is a module in. */
thrum_handle *thrum__outermost_handle(const thrum__run *run);

/* ---- stream.c ---------------------------------------------------------------------------------------------------- */

/* What thrum__run_work is for a run without a graph. */
void thrum__stream_work(worker *w, thrum__run *run, thrum_task *first);
/* There are streams. */
bool thrum__has_streams(const thrum_executor *ex);
/* The run of thrum__call_worker. */
int thrum__service_begin(thrum_executor *ex);
void thrum__service_end(thrum_executor *ex);

/* ---- sources.c --------------------------------------------------------------------------------------------------- */

/* A share of the sources that are left, for a strand of the run or the worker that has it alone. */
bool thrum__run_take_sources(worker *w, thrum__run *run, size_t *from, size_t *to);
/* The sources that are left are for all to take, and the run has that many strands: the token, and the caller's if it
 * is in the run. */
void thrum__run_publish(domain *d, thrum__run *run, int64_t strands);
/* How many sources to take at once. */
size_t thrum__run_share(const thrum__run *run, size_t at);
/* Joins a run that has sources left; with `awaited`, only one that this handle waits for. */
bool thrum__run_join_open(domain *d, const thrum_handle *awaited, found *f);
/* ---- start.c ----------------------------------------------------------------------------------------------------- */

thrum__run *thrum__run_take(worker *w, thrum_executor *ex);
void thrum__run_recycle(worker *w, thrum_executor *ex, thrum__run *run);
void thrum__run_init(thrum__run *run, thrum_handle *handle);
/* Whether the executor has the workers and domains that the handle's graph, which is frozen, asks for: 0 or an
 * error. */
int thrum__may_run_here(const thrum_handle *handle);
/* Begins a run for whoever finds it. From then on it may end at any moment, and the executor with it. */
void thrum__run_begin_published(thrum__run *run, thrum_executor *ex);
/* Starts the handle's run; with `w`, the caller is its first strand and this returns when the caller has nothing more
 * to do in it. */
void thrum__run_begin(thrum_handle *handle, worker *w);
/* The same for the next in a queue. False: it has nothing to do, and is to be ended. */
bool thrum__run_begin_queued(thrum_handle *handle);
/* The last detached function of an iteration has ended, after its graph. */
void thrum__run_detached_ended(thrum_handle *handle);
/* Runs a graph once as part of the calling task; errors go to `root`. `open`: as thrum__wait_open_as. */
void thrum__run_inside(worker *w, thrum_graph *graph, thrum__root *root, bool open);

/* ---- post.c ------------------------------------------------------------------------------------------------------ */

/* A strand of the run for something that waits: while nobody works there on its behalf. By a worker that has one. */
void thrum__keep_strand(worker *w, thrum__run *run);
/* Whether the worker that has the ready task in hand may begin it now: else it has been sent to where it belongs, or
 * waits for what it needs. */
bool thrum__admit(worker *w, thrum__run *run, thrum_task *task);
/* It will not begin: the run is cancelled. */
void thrum__skip(const thrum_task *task);
/* A task has become ready. Whether the worker may keep it, to run it next or push it; else it has been sent. */
bool thrum__may_stay(worker *w, thrum__run *run, thrum_task *task);
/* Sends a special task that is ready: to its worker, or to all of its domain. */
void thrum__send(worker *w, thrum__run *run, thrum_task *task);
/* A special task is going to wait: with a strand kept, and its post is the caller's to put somewhere. False: it waits
 * already, and the run has failed. */
bool thrum__begin_waiting(worker *w, thrum__run *run, thrum_task *task);
/* A task that has waited is sent to where it belongs. Any thread. */
void thrum__post_woken(thrum__post *post);
/* The same to a worker that has a strand in the same run, and needs none from the post: false if it may not run it. */
bool thrum__take_woken(const worker *w, thrum__run *run, const thrum__post *post);
/* The same for one that has not gone anywhere. */
void thrum__end_waiting(thrum__run *run, const thrum__post *post);
/* Puts a post, with a strand kept, where the domain's workers find it. Any thread. From then on the run may end at any
 * moment, and the executor with it. */
void thrum__post_put(domain *d, enum post_level level, thrum__post *post);
/* The same for the worker with this number in the domain. */
void thrum__post_to(domain *d, int number, thrum__post *post);
/* Takes one: the worker's own, or from this level of its domain. With `awaited`, only what is part of that. */
bool thrum__post_take_own(worker *w, const thrum_handle *awaited, found *f);
bool thrum__post_take(domain *d, enum post_level level, const thrum_handle *awaited, found *f);
bool thrum__has_own_posts(worker *w, const thrum_handle *awaited);
/* Of high priority and of this run, in which the caller is: without a strand of its own. NULL: none. */
thrum_task *thrum__post_take_some_urgent(worker *w, thrum__run *run);
static inline thrum_task *thrum__post_take_urgent(worker *w, thrum__run *run)
{
    /* Relaxed: as in post.c, where the lock is taken before anything is. */
    if (__builtin_expect(atomic_load_explicit(&w->domain->posts[POST_HIGH].count, memory_order_relaxed) == 0, 1))
        return NULL;
    return thrum__post_take_some_urgent(w, run);
}
/* Wakes those who sleep although tasks are pinned to them. */
void thrum__wake_pinned(domain *d);
int thrum__priority_of(const thrum_task *task);

/* ---- semaphore.c ------------------------------------------------------------------------------------------------- */

/* Before a special task that lists tokens begins: false if it waits for them. */
bool thrum__tokens_acquire(worker *w, thrum__run *run, thrum_task *task);
/* After it has completed, if it lists some to be given back. A task of the run that got tokens by this may be returned:
 * for the caller to run. */
thrum_task *thrum__tokens_release(worker *w, thrum__run *run, const thrum_task *task);
/* It is skipped in a cancelled run: if it was sent with tokens, it gives them back. */
void thrum__tokens_skip(const thrum_task *task);
/* A run of a graph that uses semaphores has ended, or one of several in a row. */
void thrum__tokens_end(const thrum__run *run);
/* What waits for tokens and belongs to the root leaves. */
void thrum__tokens_cancel(thrum__root *root);

/* ---- event.c ----------------------------------------------------------------------------------------------------- */

/* Calls an event task's function. True: its events have been released, and the task has completed. */
bool thrum__event_call(worker *w, thrum__run *run, thrum_task *task);

/* ---- event_source.c ---------------------------------------------------------------------------------------------- */

/* Looks at the executor's sources if events are held and nobody else looks, or has done so just now. */
void thrum__sources_poll(thrum_executor *ex);
/* Whether events are held and sources are there, but nobody waits in one. */
bool thrum__sources_unwatched(const thrum_executor *ex);
/* A worker that goes to sleep is to wait in a source: to be said before it can be woken. And doing so: until it is
 * woken, or there is nothing to wait for. */
bool thrum__sources_claim(worker *w);
void thrum__sources_watch(worker *w);
/* By whoever wakes such a worker. */
void thrum__sources_call(worker *sleeper);

/* ---- module.c ---------------------------------------------------------------------------------------------------- */

/* Runs the module's graph, or as much of it as comes this worker's way. True: the task has completed (or failed), and
 * the worker goes on behind it. False: whoever ends the module's run does. */
bool thrum__module_run(worker *w, thrum__run *run, thrum_task *task);

/* ---- queue.c ----------------------------------------------------------------------------------------------------- */

/* Freezes the handle's graph if need be and puts the handle in line. *now: it is the first, and the caller begins
 * it. */
int thrum__graph_enqueue(thrum_handle *handle, bool *now);
/* The common cases alone: the graph is frozen and nothing of it runs; nothing is queued behind. Else false, and nothing
 * has been done. */
bool thrum__graph_try_begin(thrum_handle *handle);
bool thrum__graph_try_end(thrum_handle *handle);
/* The same for a module, which cannot wait in line: THRUM_EBUSY if it would have to. */
int thrum__graph_claim(thrum_handle *handle);
/* Takes an ended run out of the line: the next one, which is to begin, or NULL. */
thrum_handle *thrum__graph_end_run(thrum_handle *handle);

/* ---- handle.c ---------------------------------------------------------------------------------------------------- */

/* Once, before the first executor. */
void thrum__handles_init(void);
thrum_handle *thrum__handle_new(thrum_executor *ex, enum handle_work work);
/* One that the executor's end does not wait for. */
thrum_handle *thrum__handle_uncounted(thrum_executor *ex, enum handle_work work);
/* Whether the caller may wait for it: 0, or THRUM_EDEADLOCK and the like. */
int thrum__may_wait(const worker *self, const thrum_handle *handle, const char *what);
/* A handle for a graph's run that only the borrowing call sees. */
thrum_handle *thrum__handle_borrow(worker *w);
void thrum__handle_return(worker *w, thrum_handle *handle);
/* Nobody will release it: it is freed when it ends. Before it starts. */
void thrum__handle_leave_alone(thrum_handle *handle);
int thrum__handle_outcome(const thrum_handle *handle);
void thrum__handle_abandon(thrum_handle *handle); /* one that was never started */
/* The graph of a module has ended. True: the caller goes on with the parent's run, and frees the handle. */
bool thrum__module_end(thrum_handle *handle);
bool thrum__pending_lower(thrum_handle *handle); /* one of its pending parts has ended; true: it was the last */
void thrum__handle_lower(thrum_handle *handle);  /* the same, and ends it if it was the last */
void thrum__handle_end(thrum_handle *handle);    /* all have */
void thrum__handle_run(worker *w, thrum_handle *handle);
void thrum__handle_call(worker *w, thrum_handle *handle);    /* the function alone: thrum__handle_lower is to follow */
bool thrum__handle_ends_quietly(const thrum_handle *handle); /* ending it calls no user's function */
void thrum__queue_put(domain *d, thrum_handle *handle);
/* A handle for a function, not submitted yet; and submitting it. */
thrum_handle *thrum__function_new(thrum_executor *ex, thrum_fn *fn, void *arg, const char *what);
void thrum__hand_over_or_queue(thrum_executor *ex, thrum_handle *handle);
/* The callback is called, and freed, when the handle has ended, or now. */
void thrum__attach(thrum_handle *handle, callback *c);
thrum_handle *thrum__queue_take(domain *d, const thrum_handle *owner);
/* A searching worker comes to stand at the hand-over, if nobody does; looks whether it has been handed a function;
 * leaves. True: it has, and does not stand there any more. */
void thrum__stand(worker *w);
bool thrum__handed(worker *w, found *f);
bool thrum__stand_down(worker *w, found *f);
/* Leaves for something else that it has found: what it may have been handed goes to the queue. */
void thrum__stand_down_busy(worker *w);
void thrum__wait_as(worker *w, thrum_handle *handle, bool in_task);
/* The same for one thing that there is to do; false: nothing. */
bool thrum__help_once(worker *w, thrum_handle *handle, bool in_task);
/* Some of what the handle stands for. */
bool thrum__find_for(worker *w, thrum_handle *handle, found *f);
/* The same with whatever there is to do. */
void thrum__wait_open_as(worker *w, thrum_handle *handle, bool in_task);
/* The task that `self` runs, if any, is going to wait for the handle. */
void thrum__note_awaited(thrum_handle *handle, const worker *self);
bool thrum__is_done(const thrum_handle *handle);

/* ---- scope.c ----------------------------------------------------------------------------------------------------- */

bool thrum__spawn_steal(worker *thief, worker *victim, const thrum__spawn *helped, found *f);
void thrum__spawn_run(worker *w, const found *f);
/* With the door held, and the bar up if not by the owner: shows up to `most` more spawned tasks. */
void thrum__spawn_show_locked(worker *w, size_t most);
void thrum__call_scope(worker *w, thrum__root *root, thrum_scope_fn *fn, void *arg);

/* ---- nest.c ------------------------------------------------------------------------------------------------------ */

/* Whether the calling thread, which is the worker's (NULL: it is none), has so little of its stack left that it must
 * not call another task. And the sentence for it; and failing a root with that, if it is so. */
bool thrum__stack_spent(worker *w);
int thrum__too_deep(void);
bool thrum__fails_too_deep(worker *w, thrum__root *root);
/* In an open join or wait: does something, whatever it is, on top of the calling task. False: there is nothing, or it
 * would go too deep, or others want the worker's place. */
bool thrum__help_with_any(worker *w);

/* ---- stats.c ----------------------------------------------------------------------------------------------------- */

/* Relaxed: whoever reads it wants a number, and learns nothing else from it. */
static inline void thrum__count_owner(_Atomic uint64_t *count, uint64_t more)
{
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + more, memory_order_relaxed);
}

thrum_worker_stats thrum__worker_stats(const worker *w);

/* ---- watch.c ----------------------------------------------------------------------------------------------------- */

typedef struct watch {
    thrum_task_info info;
    int64_t begin;
} watch;

void thrum__watch_begin(worker *w, watch *watch, const thrum_task *task, int64_t number);
/* The same of a job, with its name. */
void thrum__watch_begin_job(worker *w, watch *watch, const char *name);
void thrum__watch_end(worker *w, const watch *watch);
int thrum__watch_hold_names(thrum_executor *ex, thrum_graph *graph);
/* A copy that stays as long as the executor: names of jobs and data may be gone when the trace is written. NULL without
 * memory. */
const char *thrum__watch_keep_text(thrum_executor *ex, const char *text);
int thrum__trace_write(thrum_executor *ex);

#endif
