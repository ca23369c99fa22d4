/* SPDX-License-Identifier: MIT
 *
 * Building: tasks, names and edges. Freezing is in freeze.c, reading (visit, measure, DOT) in inspect.c.
 */
#include "model/graph_int.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

static uint32_t state_of(const thrum_graph *graph)
{
    /* Relaxed: the builder set it, or must not build while runs set it; the check is a help, not a lock. */
    return atomic_load_explicit(&graph->state, memory_order_relaxed);
}

static const char *graph_name(const thrum_graph *graph)
{
    return graph->names->graph;
}

/* ---- Errors ------------------------------------------------------------------------------------------------------- */

int thrum__graph_fail(thrum_graph *graph, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    thrum__vfault(code, format, args);
    va_end(args);
    thrum__root_fail(&graph->object.root, code, thrum__last_fault());
    atomic_fetch_or_explicit(&graph->state, THRUM__FAILED, memory_order_relaxed);
    return code;
}

const char *thrum__graph_message(const thrum__object *object)
{
    const thrum_graph *graph = (const thrum_graph *)object;
    const char *run_message = atomic_load_explicit(&graph->run_message, memory_order_acquire);
    return thrum__root_code(&object->root) || !run_message ? thrum__root_text(&object->root) : run_message;
}

int thrum__graph_open(thrum_graph *graph, const char *what)
{
    uint32_t state = state_of(graph);
    if (thrum__graph_runs(graph))
        return thrum__fault(THRUM_EBUSY, "%s: graph '%s' is running; wait for its runs to end before changing it", what,
                            graph_name(graph));
    if (state & THRUM__FAILED)
        return thrum__fault(thrum__root_code(&graph->object.root), "%s", thrum__root_text(&graph->object.root));
    return state & THRUM__FROZEN ? thrum_graph_thaw(graph) : 0;
}

static int null_task(thrum_graph *graph, const char *what)
{
    const char *text = "%s: a task is NULL; was it made in a graph that had failed?";
    int err = graph ? thrum__graph_open(graph, what) : 0;
    if (err)
        return err;
    return graph ? thrum__graph_fail(graph, THRUM_EINVAL, text, what) : thrum__fault(THRUM_EINVAL, text, what);
}

const char *thrum__task_label(const thrum_task *task, char *room, size_t size)
{
    const char *name = thrum_task_name(task);
    if (*name)
        snprintf(room, size, "'%s'", name);
    else
        snprintf(room, size, "task %lld", (long long)thrum_task_number(task));
    return room;
}

/* ---- Names -------------------------------------------------------------------------------------------------------- */

static thrum__names *names_new(const char *graph)
{
    thrum__names *names = thrum__zalloc(sizeof *names);
    if (names)
        names->graph = thrum__copy_text(graph);
    if (names && !names->graph) {
        thrum__free(names);
        return NULL;
    }
    if (names)
        atomic_init(&names->holders, 1);
    return names;
}

thrum__names *thrum__names_hold(thrum__names *names)
{
    /* Relaxed: the caller holds it already, so it cannot vanish meanwhile. */
    atomic_fetch_add_explicit(&names->holders, 1, memory_order_relaxed);
    return names;
}

/* Release and acquire: what each holder read happens before the last one frees. */
void thrum__names_drop(thrum__names *names)
{
    if (!names || atomic_fetch_sub_explicit(&names->holders, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < names->capacity; i++)
        thrum__free(names->tasks[i]);
    thrum__free(names->tasks);
    thrum__free(names->graph);
    thrum__free(names);
}

const char *thrum__names_task(const thrum__names *names, int64_t number)
{
    const char *name = number >= 0 && (size_t)number < names->capacity ? names->tasks[number] : NULL;
    return name ? name : "";
}

static int names_reserve(thrum__names *names, size_t number)
{
    if (number < names->capacity)
        return 0;
    size_t capacity = names->capacity * 2 > number + 1 ? names->capacity * 2 : number + 16;
    char **tasks = thrum__zalloc(capacity * sizeof *tasks);
    if (!tasks)
        return THRUM_ENOMEM;
    if (names->capacity)
        memcpy(tasks, names->tasks, names->capacity * sizeof *tasks);
    thrum__free(names->tasks);
    names->tasks = tasks;
    names->capacity = capacity;
    return 0;
}

int thrum_task_set_name(thrum_task *task, const char *name)
{
    if (!task)
        return null_task(NULL, "thrum_task_set_name");
    thrum_graph *graph = thrum__chunk_of(task)->graph;
    if (thrum__graph_runs(graph) || (state_of(graph) & THRUM__FAILED))
        return thrum__graph_open(graph, "thrum_task_set_name");
    size_t number = (size_t)thrum_task_number(task);
    char *copy = name ? thrum__copy_text(name) : NULL;
    if ((name && !copy) || names_reserve(graph->names, number)) {
        thrum__free(copy);
        return thrum__graph_fail(graph, THRUM_ENOMEM,
                                 "thrum_task_set_name: no memory for the name of task %zu of graph '%s'", number,
                                 graph_name(graph));
    }
    thrum__free(graph->names->tasks[number]);
    graph->names->tasks[number] = copy;
    return 0;
}

const char *thrum_task_name(const thrum_task *task)
{
    return task ? thrum__names_task(thrum__chunk_of(task)->graph->names, thrum_task_number(task)) : "";
}

/* ---- The graph ---------------------------------------------------------------------------------------------------- */

thrum_graph *thrum_graph_new(const char *name)
{
    thrum_graph *graph = thrum__zalloc(sizeof *graph);
    thrum__names *names = graph ? names_new(name ? name : "") : NULL;
    if (!names) {
        thrum__free(graph);
        thrum__fault(THRUM_ENOMEM, "thrum_graph_new: no memory for graph '%s'", name ? name : "");
        return NULL;
    }
    graph->object.kind = THRUM__KIND_GRAPH;
    graph->names = names;
    return graph;
}

void thrum__graph_destroy(thrum_graph *graph)
{
    thrum__log_drop(graph);
    thrum__layout_drop(graph);
    while (graph->slabs) {
        thrum__slab *older = graph->slabs->older;
        thrum__pages_free(graph->slabs->memory, graph->slabs->bytes);
        thrum__free(graph->slabs);
        graph->slabs = older;
    }
    while (graph->kept) {
        thrum__kept *older = graph->kept->older;
        thrum__free(graph->kept);
        graph->kept = older;
    }
    thrum__names_drop(graph->names);
    thrum__free(graph->chunks);
    thrum__free(atomic_load_explicit(&graph->run_message, memory_order_relaxed));
    thrum__root_clear(&graph->object.root);
    graph->object.kind = 0;
    thrum__free(graph);
}

int thrum_graph_free(thrum_graph *graph)
{
    if (!graph)
        return 0;
    if (thrum__graph_runs(graph))
        return thrum__fault(THRUM_EBUSY, "thrum_graph_free: graph '%s' is running; wait for its runs to end",
                            graph_name(graph));
    thrum__graph_destroy(graph);
    return 0;
}

/* ---- Tasks -------------------------------------------------------------------------------------------------------- */

enum { HUGE_BYTES = 1 << 21 };
static const uint64_t most_tasks = UINT64_C(1) << 31;

/* Slabs double in size, from 1 MiB to 8 MiB: few for a large graph, and little address space for a small one. */
static int slab_add(thrum_graph *graph, size_t bytes)
{
    thrum__slab *slab = thrum__alloc(sizeof *slab);
    size_t align = bytes >= (size_t)HUGE_BYTES ? HUGE_BYTES : THRUM__CHUNK_BYTES;
    void *memory = slab ? thrum__pages(bytes, align, THRUM__PAGES_PLAIN) : NULL;
    if (!memory) {
        thrum__free(slab);
        return THRUM_ENOMEM;
    }
    *slab = (thrum__slab){graph->slabs, memory, bytes};
    graph->slabs = slab;
    graph->unused = memory;
    graph->unused_end = (thrum__chunk *)((char *)memory + bytes);
    graph->slab_bytes = bytes;
    return 0;
}

static int chunk_table_reserve(thrum_graph *graph, size_t count)
{
    if (count <= graph->chunk_capacity)
        return 0;
    size_t capacity = graph->chunk_capacity ? graph->chunk_capacity * 2 : 4;
    capacity = capacity < count ? count : capacity;
    thrum__chunk **chunks = thrum__alloc(capacity * sizeof *chunks);
    if (!chunks)
        return THRUM_ENOMEM;
    if (graph->chunk_count)
        memcpy(chunks, graph->chunks, graph->chunk_count * sizeof *chunks);
    thrum__free(graph->chunks);
    graph->chunks = chunks;
    graph->chunk_capacity = (uint32_t)capacity;
    return 0;
}

static int chunk_add(thrum_graph *graph)
{
    size_t bytes = graph->slab_bytes ? graph->slab_bytes * 2 : THRUM__CHUNK_BYTES;
    if (bytes > (size_t)8 << 20)
        bytes = (size_t)8 << 20;
    if (chunk_table_reserve(graph, (size_t)graph->chunk_count + 1))
        return THRUM_ENOMEM;
    if (graph->unused == graph->unused_end && slab_add(graph, bytes))
        return THRUM_ENOMEM;
    thrum__chunk *chunk = graph->unused;
    graph->unused = (thrum__chunk *)((char *)chunk + THRUM__CHUNK_BYTES);
    chunk->graph = graph;
    chunk->first = graph->chunk_count * THRUM__CHUNK_PLACES;
    graph->chunks[graph->chunk_count++] = chunk;
    graph->next = (thrum_task *)chunk + THRUM__CHUNK_HEAD;
    graph->end = (thrum_task *)chunk + THRUM__CHUNK_PLACES;
    return 0;
}

uint64_t thrum__task_count(const thrum_graph *graph)
{
    uint64_t per_chunk = THRUM__CHUNK_PLACES - THRUM__CHUNK_HEAD;
    return graph->chunk_count ? graph->chunk_count * per_chunk - (uint64_t)(graph->end - graph->next) : 0;
}

thrum_task *thrum__task_grow(thrum_graph *graph)
{
    if (thrum__graph_open(graph, "thrum_task_new"))
        return NULL;
    if (graph->next == graph->end && graph->chunk_count == most_tasks / THRUM__CHUNK_PLACES) {
        thrum__graph_fail(graph, THRUM_ELIMIT,
                          "thrum_task_new: graph '%s' has as many tasks as a graph can have (2^31)", graph_name(graph));
        return NULL;
    }
    if (graph->next == graph->end && chunk_add(graph)) {
        thrum__graph_fail(graph, THRUM_ENOMEM, "thrum_task_new: no memory for task %llu of graph '%s'",
                          (unsigned long long)thrum__task_count(graph), graph_name(graph));
        return NULL;
    }
    return graph->next++;
}

void thrum__nothing(void *arg)
{
    (void)arg;
}

/* The record's other fields are zero: its pages are fresh, and a graph never uses a record twice. */
static inline thrum_task *task_new(thrum_graph *graph)
{
    if (__builtin_expect(state_of(graph) == 0 && graph->next != graph->end, 1))
        return graph->next++;
    return thrum__task_grow(graph);
}

static thrum_task *null_argument(thrum_graph *graph, const char *what)
{
    if (!graph)
        thrum__fault(THRUM_EINVAL, "%s: the graph is NULL", what);
    else if (!thrum__graph_open(graph, what))
        thrum__graph_fail(graph, THRUM_EINVAL,
                          "%s: the function is NULL; thrum_placeholder_new makes a task without one", what);
    return NULL;
}

thrum_task *thrum_task_new(thrum_graph *graph, thrum_fn *fn, void *arg)
{
    if (__builtin_expect(!graph || !fn, 0))
        return null_argument(graph, "thrum_task_new");
    thrum_task *task = task_new(graph);
    if (__builtin_expect(task != NULL, 1)) {
        task->fn.plain = fn;
        task->arg = arg;
    }
    return task;
}

thrum_task *thrum_scope_task_new(thrum_graph *graph, thrum_scope_fn *fn, void *arg)
{
    if (!graph || !fn)
        return null_argument(graph, "thrum_scope_task_new");
    thrum_task *task = task_new(graph);
    if (task) {
        task->fn.scope = fn;
        task->arg = arg;
        task->strong = THRUM__IS_SCOPE;
    }
    return task;
}

thrum_task *thrum__scope_task_copy(thrum_graph *graph, const char *what, int err, thrum_scope_fn *fn, const void *arg,
                                   size_t size)
{
    char sentence[512];
    snprintf(sentence, sizeof sentence, "%s", thrum__last_fault());
    if (!graph)
        return null_argument(NULL, what);
    if (thrum__graph_open(graph, what))
        return NULL;
    if (err) {
        thrum__graph_fail(graph, err, "%s", sentence);
        return NULL;
    }
    thrum__kept *kept = thrum__alloc(sizeof *kept + size);
    if (!kept) {
        thrum__graph_fail(graph, THRUM_ENOMEM, "%s: no memory for a task of graph '%s'", what, graph_name(graph));
        return NULL;
    }
    kept->older = graph->kept;
    kept->size = size;
    memcpy(kept->bytes, arg, size);
    graph->kept = kept;
    return thrum_scope_task_new(graph, fn, kept->bytes);
}

thrum_task *thrum_placeholder_new(thrum_graph *graph)
{
    return thrum_task_new(graph, thrum__nothing, NULL);
}

/* Setting the work leaves the layout alone, so a frozen graph stays frozen. */
static int may_set(thrum_task *task, bool has_fn, const char *what)
{
    if (!task)
        return null_task(NULL, what);
    thrum_graph *graph = thrum__chunk_of(task)->graph;
    if (thrum__graph_runs(graph) || (state_of(graph) & THRUM__FAILED))
        return thrum__graph_open(graph, what);
    if (!has_fn) {
        char room[80];
        return thrum__graph_fail(graph, THRUM_EINVAL, "%s: the function for %s is NULL", what,
                                 thrum__task_label(task, room, sizeof room));
    }
    return 0;
}

int thrum_task_set(thrum_task *task, thrum_fn *fn, void *arg)
{
    int err = may_set(task, fn != NULL, "thrum_task_set");
    if (err)
        return err;
    task->fn.plain = fn;
    task->arg = arg;
    task->strong &= ~THRUM__IS_SCOPE;
    return 0;
}

int thrum_task_set_scope(thrum_task *task, thrum_scope_fn *fn, void *arg)
{
    int err = may_set(task, fn != NULL, "thrum_task_set_scope");
    if (err)
        return err;
    task->fn.scope = fn;
    task->arg = arg;
    task->strong |= THRUM__IS_SCOPE;
    return 0;
}

int64_t thrum_task_number(const thrum_task *task)
{
    if (!task)
        return -1;
    uint32_t place = thrum__place_of(task);
    uint32_t chunk = place / THRUM__CHUNK_PLACES;
    return (int64_t)place - (int64_t)(chunk + 1) * THRUM__CHUNK_HEAD;
}

/* One slab for all that is missing, so that creating the tasks asks for no memory. */
int thrum_graph_reserve(thrum_graph *graph, uint64_t tasks)
{
    if (!graph)
        return thrum__fault(THRUM_EINVAL, "thrum_graph_reserve: the graph is NULL");
    int err = thrum__graph_open(graph, "thrum_graph_reserve");
    if (err)
        return err;
    if (tasks >= most_tasks || tasks + thrum__task_count(graph) >= most_tasks)
        return thrum__graph_fail(
            graph, THRUM_ELIMIT,
            "thrum_graph_reserve: %llu tasks were asked for in graph '%s', but a graph holds fewer "
            "than 2^31",
            (unsigned long long)tasks, graph_name(graph));
    uint64_t per_chunk = THRUM__CHUNK_PLACES - THRUM__CHUNK_HEAD, have = (uint64_t)(graph->end - graph->next);
    uint64_t chunks = tasks > have ? (tasks - have + per_chunk - 1) / per_chunk : 0;
    bool fits = chunks * THRUM__CHUNK_BYTES <= (uint64_t)((char *)graph->unused_end - (char *)graph->unused);
    if (chunk_table_reserve(graph, graph->chunk_count + chunks) ||
        (!fits && slab_add(graph, chunks * THRUM__CHUNK_BYTES)))
        return thrum__graph_fail(graph, THRUM_ENOMEM, "thrum_graph_reserve: no memory for %llu tasks in graph '%s'",
                                 (unsigned long long)tasks, graph_name(graph));
    return 0;
}

/* The last chunk is filled up to graph->next, the others are full. */
static const thrum_task *chunk_end(const thrum_graph *graph, const thrum__chunk *chunk)
{
    if (chunk == graph->chunks[graph->chunk_count - 1])
        return graph->next;
    return (const thrum_task *)chunk + THRUM__CHUNK_PLACES;
}

thrum_task *thrum__task_first(const thrum_graph *graph)
{
    return graph->chunk_count ? (thrum_task *)graph->chunks[0] + THRUM__CHUNK_HEAD : NULL;
}

thrum_task *thrum__task_after(const thrum_graph *graph, const thrum_task *task)
{
    const thrum__chunk *chunk = thrum__chunk_of(task);
    if (++task != chunk_end(graph, chunk))
        return (thrum_task *)task;
    uint32_t number = chunk->first / THRUM__CHUNK_PLACES + 1;
    return number < graph->chunk_count ? (thrum_task *)graph->chunks[number] + THRUM__CHUNK_HEAD : NULL;
}

/* ---- Edges -------------------------------------------------------------------------------------------------------- */

static size_t log_bytes(const thrum__log *log)
{
    return (size_t)((char *)log->end - (char *)log);
}

void thrum__log_drop(thrum_graph *graph)
{
    while (graph->log) {
        thrum__log *older = graph->log->older;
        thrum__array_free(graph->log, log_bytes(graph->log));
        graph->log = older;
    }
}

static int log_grow(thrum_graph *graph)
{
    const thrum__log *newest = graph->log;
    size_t bytes = !newest ? THRUM__LOG_FIRST : newest->older ? THRUM__LOG_FURTHER : THRUM__LOG_SECOND;
    thrum__log *log = thrum__array(bytes);
    if (!log)
        return thrum__graph_fail(graph, THRUM_ENOMEM, "thrum_edge: no memory for edge %llu of graph '%s'",
                                 (unsigned long long)graph->edges, graph_name(graph));
    log->older = graph->log;
    log->next = log->edges;
    log->end = (thrum__log_edge *)((char *)log + bytes);
    graph->log = log;
    return 0;
}

int thrum__log_append(thrum_graph *graph, uint32_t from, uint32_t to)
{
    if (__builtin_expect(!graph->log || graph->log->next == graph->log->end, 0)) {
        int err = log_grow(graph);
        if (err)
            return err;
    }
    *graph->log->next++ = (thrum__log_edge){from, to};
    graph->edges++;
    graph->backward |= from > to;
    return 0;
}

int thrum__edge_slow(thrum_task *before, thrum_task *after)
{
    char room[80];
    if (!before || !after)
        return null_task(before  ? thrum__chunk_of(before)->graph
                         : after ? thrum__chunk_of(after)->graph
                                 : NULL,
                         "thrum_edge");
    thrum_graph *graph = thrum__chunk_of(before)->graph, *other = thrum__chunk_of(after)->graph;
    int err = thrum__graph_open(graph, "thrum_edge");
    if (err)
        return err;
    if (before == after)
        return thrum__graph_fail(graph, THRUM_EINVAL, "thrum_edge: %s of graph '%s' cannot come before itself",
                                 thrum__task_label(before, room, sizeof room), graph_name(graph));
    if (graph != other) {
        char other_room[80];
        return thrum__graph_fail(graph, THRUM_EINVAL,
                                 "thrum_edge: %s is in graph '%s' and %s in graph '%s'; an edge stays in one graph",
                                 thrum__task_label(before, room, sizeof room), graph_name(graph),
                                 thrum__task_label(after, other_room, sizeof other_room), graph_name(other));
    }
    return thrum__log_append(graph, thrum__place_of(before), thrum__place_of(after));
}

static inline int edge(thrum_task *before, thrum_task *after)
{
    if (__builtin_expect(!before || !after || before == after, 0))
        return thrum__edge_slow(before, after);
    thrum_graph *graph = thrum__chunk_of(before)->graph;
    if (__builtin_expect(graph != thrum__chunk_of(after)->graph || state_of(graph) != 0, 0))
        return thrum__edge_slow(before, after);
    return thrum__log_append(graph, thrum__place_of(before), thrum__place_of(after));
}

int thrum_edge(thrum_task *before, thrum_task *after)
{
    return edge(before, after);
}

static int null_list(thrum_task *task, const char *what)
{
    const char *text = "%s: the list of tasks is NULL";
    int err = task ? thrum__graph_open(thrum__chunk_of(task)->graph, what) : 0;
    if (err)
        return err;
    return task ? thrum__graph_fail(thrum__chunk_of(task)->graph, THRUM_EINVAL, text, what)
                : thrum__fault(THRUM_EINVAL, text, what);
}

int thrum_edges_out(thrum_task *before, thrum_task *const *after, size_t count)
{
    int err = 0;
    if (!after && count)
        return null_list(before, "thrum_edges_out");
    for (size_t i = 0; i < count && !err; i++)
        err = edge(before, after[i]);
    return err;
}

int thrum_edges_in(thrum_task *after, thrum_task *const *before, size_t count)
{
    int err = 0;
    if (!before && count)
        return null_list(after, "thrum_edges_in");
    for (size_t i = 0; i < count && !err; i++)
        err = edge(before[i], after);
    return err;
}
