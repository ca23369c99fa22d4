/* SPDX-License-Identifier: MIT
 *
 * The graph as data: tasks, edges, and their frozen layout. No threads in here: who may call what is the graph's state,
 * which src/exec sets while it runs a graph.
 *
 * A task is a record of 32 bytes; what is rare (its name) lives elsewhere. Records sit in *chunks* of 1 MiB, aligned to
 * 1 MiB, so that a task's address leads to its chunk's head and from there to its graph. The head lies a little further
 * into the chunk from one chunk to the next: heads a megabyte apart would compete for the same few places in the
 * caches, and adding an edge needs two of them. Only what is touched of a chunk takes memory. Records never move. A
 * task's *place* is 32 bits: the chunk's number and the position among its tasks; places are what the edge log holds.
 *
 * While building, edges are appended to the log of the chunk that they come from. Freezing counts them, lays out each
 * task's successors as consecutive words and drops the logs; thawing writes them anew from the lists. Until a graph is
 * frozen, `next` and `pending` are 0 and `strong` has the kind only. A word is the successor's address with flags in
 * its low five bits:
 *
 *   THRUM__LAST  the list ends here
 *   THRUM__SOLE  the successor has this one predecessor only: it is ready at once and its counter is not used
 *   THRUM__NEAR  of the list's members this one is nearest in memory to the task: the one to run next if it is ready
 *
 * A task with exactly one successor has the word itself in its record (flag THRUM__ONE) and no list. The address of a
 * list all of whose words are SOLE has that flag too; that of a list with special tasks among its members has
 * THRUM__SPECIAL_IN instead.
 *
 * Invariants of a frozen graph (thrum__graph_check):
 *   1. strong = number of words that lead to the task from others than conditions; pending = strong while no run is
 *      under way. Words that part from a condition are weak: WEAK_IN is set where one leads.
 *   2. A word is flagged SOLE exactly if its task's strong is 1.
 *   3. sources holds the tasks with strong = 0 and without WEAK_IN, in the order of creation, or of their priorities if
 *      there are such; in a graph without edges or priorities, where that is every task, it is NULL.
 *   4. The lists lie in the order of their tasks and fill `list` exactly; each has one word flagged NEAR.
 */
#ifndef THRUM_MODEL_GRAPH_H
#define THRUM_MODEL_GRAPH_H

#include <thrum/event.h>

#include "base/fault.h"
#include "sys/park.h"

#include <stdatomic.h>

enum {
    THRUM__LAST = 1,
    THRUM__SOLE = 2,
    THRUM__ONE = 4,
    THRUM__NEAR = 8,
    THRUM__SPECIAL_IN = 1, /* in the address of a list, which is a multiple of 8 */
    THRUM__FLAGS = 31,

    THRUM__CHUNK_BYTES = 1 << 20,
    THRUM__CHUNK_PLACES = THRUM__CHUNK_BYTES / 32,
    THRUM__CHUNK_SHIFTS = 32, /* as many beginnings of heads, a cache line apart */
    THRUM__CHUNK_HEAD =
        THRUM__CHUNK_SHIFTS * 2, /* places that are no tasks: those before the head, the head's, the last */
};

/* The kind of a task is in the top bits of `strong`: all but plain functions have the sign bit. Below it, whether the
 * task is special (it has terms: model/terms.h; then it has the sign bit too), whether a condition has an edge to it,
 * and the number of its strong predecessors. */
#define THRUM__SLOW UINT32_C(0x80000000)
#define THRUM__KIND_MASK UINT32_C(0xf0000000)
#define THRUM__IS_SCOPE UINT32_C(0x90000000)
#define THRUM__IS_CONDITION UINT32_C(0xa0000000)
#define THRUM__IS_CHOICE UINT32_C(0xb0000000)
#define THRUM__IS_MODULE UINT32_C(0xc0000000) /* the argument is the graph */
#define THRUM__IS_EVENT UINT32_C(0xd0000000)
#define THRUM__SPECIAL UINT32_C(0x08000000)
#define THRUM__WEAK_IN UINT32_C(0x04000000)
#define THRUM__STRONG_MASK UINT32_C(0x03ffffff)

struct thrum_task {
    union {
        thrum_fn *plain;
        thrum_scope_fn *scope;
        thrum_condition_fn *condition;
        thrum_choice_fn *choice;
        thrum_event_fn *event;
    } fn;
    void *arg;
    uintptr_t next;           /* frozen: 0, a successor | THRUM__ONE, or the address of the list; else scratch */
    _Atomic uint32_t pending; /* predecessors that have not completed; restored as the task is scheduled */
    uint32_t strong;          /* all predecessors, and the kind */
};

_Static_assert(sizeof(struct thrum_task) == 32, "the hot record is half a cache line");

struct thrum__log;
struct thrum__log_edge;

/* A chunk's head; its tasks follow. */
typedef struct thrum__chunk {
    thrum_graph *graph;
    uint32_t number;
    struct thrum__log_edge *edge, *edge_end; /* room in the newest block of the chunk's log */
    struct thrum__log *log;                  /* that block */
} __attribute__((aligned(64))) thrum__chunk;

/* Names outlive their graph while a trace needs them. */
typedef struct thrum__names {
    _Atomic uint32_t holders;
    char *graph;  /* never NULL */
    char **tasks; /* by task number; NULL where there is no name */
    size_t capacity;
} thrum__names;

/* All that is needed of a task which is just a function, and has neither predecessors nor successors: see calls.c. */
typedef struct thrum__bare_call {
    thrum_fn *fn;
    void *arg;
} thrum__bare_call;

struct thrum__kept;
struct thrum__terms_table;
struct thrum__nexts;
struct thrum__lanes;

/* Bits of the state. 0: may be built on without further question. A graph that runs is frozen. */
enum { THRUM__FROZEN = 1, THRUM__FAILED = 2 };

struct thrum_graph {
    thrum__object object;
    _Atomic uint32_t state;
    thrum_task *next, *end; /* free records of the newest chunk */
    bool strict;            /* what thrum_graph_warning tells is an error */
    char *warning;          /* its last sentence */
    bool backward;          /* some edge leads from a younger task to an older one: only then can there be a cycle */

    thrum__chunk **chunks; /* their heads */
    uint32_t chunk_count, chunk_capacity;
    struct thrum__slab *slabs;
    char *unused, *unused_end; /* chunks of the newest slab that have no task yet */
    size_t slab_bytes;
    struct thrum__log_room *log_room; /* memory for logs, the newest */
    uint64_t edges;
    uint64_t conditions; /* tasks that are or were one */
    thrum__names *names;
    struct thrum__kept *kept; /* arguments that the graph owns, the newest first */
    struct thrum__kept_room *kept_room;
    struct thrum__terms_table *terms; /* of special tasks; NULL: there are none */

    uintptr_t *list;
    size_t list_words;
    thrum_task **sources;
    size_t source_count;
    thrum__bare_call *calls; /* by task number; NULL: none were made */
    size_t call_count;
    bool calls_tried; /* if so, there is a reason */
    bool counted;     /* some task waits for more than one */
    bool crowded;     /* some task waits for more than can be counted */

    struct thrum__nexts
        *nexts; /* edges into the next iteration, and what pipelined runs need: see next.h. NULL: none */
    struct thrum__lanes *lanes;
    unsigned depth; /* of pipelined runs; 0: not set */

    /* For src/exec. `run` is the run under way, 0 for none, with the low bit set when others are queued: who starts a
     * run or ends one without a queue needs one exchange and no lock (exec/queue.c). */
    _Atomic uintptr_t run;
    thrum__lock lock; /* for what follows and for freezing: any thread may start a run */
    void *first_queued, *last_queued;
    _Atomic(char *) run_message; /* the sentence of the last run or freeze that failed */
    int64_t
        task_ns; /* how long a task takes on average, by the runs that were timed; 0: not known. Runs come in turn */
    struct {
        int64_t graph_ps, line_ps;      /* of a run by the edges and of one in line: its time for each task */
        uint32_t graph_runs, line_runs; /* that were timed, up to some */
        bool tried;                     /* whether it can be run in line: if so, there is `rest` */
        thrum_task **rest;              /* room for all tasks: see model/line.c */
    } line;
};

/* What a graph owns besides its tasks: an argument that is copied with the graph and freed with it. `counted` is told:
 * +1 for a copy, -1 for one that goes. `rest` is how much more belongs to it that is seldom looked at. NULL without
 * memory. The content is the caller's to write; no pointers into itself. It begins 8 bytes into a cache line. */
typedef void thrum__kept_fn(void *bytes, int by);
void *thrum__graph_keep_room(thrum_graph *graph, size_t size, size_t rest, thrum__kept_fn *counted);
/* That rest, aligned to 16. */
void *thrum__kept_rest(const void *bytes);
/* Calls `each` for those that were made with this function. */
void thrum__graph_each_kept(thrum_graph *graph, thrum__kept_fn *counted, void (*each)(void *bytes, void *arg),
                            void *arg);

/* For building calls of other folders: the graph keeps the thread's last error, or one for want of memory. */
void thrum__graph_keep_error(thrum_graph *graph, int code);
void thrum__graph_fail_memory(thrum_graph *graph, const char *what);
/* 0, or THRUM_EBUSY while it runs. */
int thrum__graph_idle(thrum_graph *graph, const char *what);

/* The head of the chunk that this address lies in: any address from the chunk's beginning on. */
static inline thrum__chunk *thrum__chunk_head(uintptr_t address)
{
    uintptr_t shift = address / THRUM__CHUNK_BYTES % THRUM__CHUNK_SHIFTS * sizeof(thrum__chunk);
    return (thrum__chunk *)((address & ~(uintptr_t)(THRUM__CHUNK_BYTES - 1)) | shift);
}

static inline thrum__chunk *thrum__chunk_of(const thrum_task *task)
{
    return thrum__chunk_head((uintptr_t)task);
}

static inline thrum_task *thrum__chunk_tasks(const thrum__chunk *chunk)
{
    return (thrum_task *)(chunk + 1);
}

static inline uint32_t thrum__place_in(const thrum__chunk *chunk, const thrum_task *task)
{
    return chunk->number * THRUM__CHUNK_PLACES + (uint32_t)(task - thrum__chunk_tasks(chunk));
}

static inline uint32_t thrum__place_of(const thrum_task *task)
{
    return thrum__place_in(thrum__chunk_of(task), task);
}

static inline thrum_task *thrum__task_at(const thrum_graph *graph, uint32_t place)
{
    return thrum__chunk_tasks(graph->chunks[place / THRUM__CHUNK_PLACES]) + place % THRUM__CHUNK_PLACES;
}

static inline uint32_t thrum__kind_of(const thrum_task *task)
{
    return task->strong & THRUM__KIND_MASK;
}

/* Whether its edges are weak. */
static inline bool thrum__is_condition(const thrum_task *task)
{
    return thrum__kind_of(task) == THRUM__IS_CONDITION || thrum__kind_of(task) == THRUM__IS_CHOICE;
}

static inline bool thrum__is_special(const thrum_task *task)
{
    return task->strong & THRUM__SPECIAL;
}

static inline thrum_task *thrum__word_task(uintptr_t word)
{
    return (thrum_task *)(word & ~(uintptr_t)THRUM__FLAGS);
}

/* The words of a frozen task's successors: the first one; *one is room for the word of a task with a single one. NULL:
 * none. The last has the flag THRUM__LAST. */
static inline const uintptr_t *thrum__successors(const thrum_task *task, uintptr_t *one)
{
    if (!(task->next & THRUM__ONE))
        return (const uintptr_t *)(task->next & ~(uintptr_t)(THRUM__SOLE | THRUM__SPECIAL_IN));
    *one = task->next;
    return one;
}

/* The task with this number; the tasks after it are its neighbours in memory up to the chunk's end, *run of them with
 * it. */
static inline thrum_task *thrum__task_number_at(const thrum_graph *graph, uint64_t number, size_t *run)
{
    enum { PER_CHUNK = THRUM__CHUNK_PLACES - THRUM__CHUNK_HEAD };
    *run = PER_CHUNK - number % PER_CHUNK;
    return thrum__chunk_tasks(graph->chunks[number / PER_CHUNK]) + number % PER_CHUNK;
}

/* Tasks in the order of creation: thrum__task_first, then thrum__task_after until NULL. */
thrum_task *thrum__task_first(const thrum_graph *graph);
thrum_task *thrum__task_after(const thrum_graph *graph, const thrum_task *task);
uint64_t thrum__task_count(const thrum_graph *graph);

/* Copies the calls of a frozen graph, which nobody else looks at meanwhile, if it has nothing but calls and there is
 * memory. And forgets them: they are not what they were. */
void thrum__calls_make(thrum_graph *graph);
void thrum__calls_drop(thrum_graph *graph);

/* Whether a frozen graph, which nobody else looks at meanwhile, can be run in the order of its tasks' creation
 * (line.c); and forgets it: tasks are not what they were. */
bool thrum__line_possible(thrum_graph *graph);
void thrum__line_drop(thrum_graph *graph);
/* The first `begun` tasks, at least one, have run in line, the last of them perhaps not to its end, and none of their
 * successors has been told. Makes counters what they would be if all but that last one had completed. Those of the rest
 * that are ready are in line.rest then: how many. */
size_t thrum__line_break(thrum_graph *graph, uint64_t begun);

/* "'name'" or "task 5 of graph 'g'", for messages. */
const char *thrum__task_label(const thrum_task *task, char *room, size_t size);

/* Lays the graph out if it is not; the graph's error otherwise. With the graph's lock held. */
int thrum__graph_prepare(thrum_graph *graph);

/* The sentence for thrum_graph_warning about a graph that is laid out, in *text; to be freed, NULL for none. -1 without
 * memory. */
int thrum__graph_find_race(const thrum_graph *graph, char **text);

/* For thrum_message. Not a sticky error: the graph can be run again. Any thread. */
void thrum__graph_keep_message(thrum_graph *graph, const char *text);

/* A scope task for `what`, a building call, whose argument is a copy of `size` bytes that lives as long as the graph.
 * With `err`, the caller found an argument wrong and has said so in the thread's last sentence: the graph keeps it, and
 * there is no task. */
thrum_task *thrum__scope_task_copy(thrum_graph *graph, const char *what, int err, thrum_scope_fn *fn, const void *arg,
                                   size_t size);

/* Gives counters their full value again, after a run in which conditions may have left some half-way. */
void thrum__graph_restore(thrum_graph *graph);

/* The function of a placeholder without work. */
void thrum__nothing(void *arg);

thrum__names *thrum__names_hold(thrum__names *names);
void thrum__names_drop(thrum__names *names);
const char *thrum__names_task(const thrum__names *names, int64_t number);

/* Acquire, with the release by which the last run lets go: what it did to the graph happens before. */
static inline bool thrum__graph_runs(const thrum_graph *graph)
{
    return atomic_load_explicit(&graph->run, memory_order_acquire) != 0;
}

/* Frees everything, whatever the state. */
void thrum__graph_destroy(thrum_graph *graph);

bool thrum__graph_check(const thrum_graph *graph);

#endif
