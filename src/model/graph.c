/* SPDX-License-Identifier: MIT
 *
 * Building: tasks, names and edges. Freezing is in freeze.c, reading (visit, measure, DOT) in inspect.c.
 */
#include "model/graph_int.h"
#include "model/next.h"

#include "base/alloc.h"
#include "model/terms.h"

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

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

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

/* ---- Names ------------------------------------------------------------------------------------------------------- */

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

/* ---- Slabs ------------------------------------------------------------------------------------------------------- */

/* From two megabytes on in huge pages. */
static bool slab_is_array(size_t bytes)
{
    return bytes > THRUM__CHUNK_BYTES;
}

static void *slab_memory(size_t bytes)
{
    return slab_is_array(bytes) ? thrum__array(bytes) : thrum__pages(bytes, THRUM__CHUNK_BYTES, THRUM__PAGES_PLAIN);
}

static void slab_free(const thrum__slab *slab)
{
    if (slab_is_array(slab->bytes))
        thrum__array_keep(slab->memory, slab->bytes);
    else
        thrum__pages_free(slab->memory, slab->bytes);
}

/* ---- The graph --------------------------------------------------------------------------------------------------- */

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

static void kept_drop(thrum_graph *graph)
{
    while (graph->kept) {
        thrum__kept *older = graph->kept->older;
        if (graph->kept->counted)
            graph->kept->counted(graph->kept->bytes, -1);
        thrum__free(graph->kept);
        graph->kept = older;
    }
    while (graph->kept_room) {
        thrum__kept_room *older = graph->kept_room->older;
        thrum__array_keep(graph->kept_room->memory, graph->kept_room->size);
        thrum__free(graph->kept_room);
        graph->kept_room = older;
    }
}

void thrum__graph_destroy(thrum_graph *graph)
{
    thrum__free(graph->warning);
    thrum__log_drop(graph);
    thrum__layout_drop(graph);
    thrum__nexts_drop(graph);
    while (graph->slabs) {
        thrum__slab *older = graph->slabs->older;
        slab_free(graph->slabs);
        thrum__free(graph->slabs);
        graph->slabs = older;
    }
    kept_drop(graph);
    thrum__terms_drop(graph);
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

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

static const uint64_t most_tasks = UINT64_C(1) << 31;

/* Slabs double in size, from 1 MiB to 8 MiB: few for a large graph, and little address space for a small one. */
static int slab_add(thrum_graph *graph, size_t bytes)
{
    thrum__slab *slab = thrum__alloc(sizeof *slab);
    void *memory = slab ? slab_memory(bytes) : NULL;
    if (!memory) {
        thrum__free(slab);
        return THRUM_ENOMEM;
    }
    *slab = (thrum__slab){graph->slabs, memory, bytes};
    graph->slabs = slab;
    graph->unused = memory;
    graph->unused_end = graph->unused + bytes;
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
    thrum__chunk *chunk = thrum__chunk_head((uintptr_t)graph->unused);
    graph->unused += THRUM__CHUNK_BYTES;
    *chunk = (thrum__chunk){.graph = graph, .number = graph->chunk_count};
    graph->chunks[graph->chunk_count++] = chunk;
    graph->next = thrum__chunk_tasks(chunk);
    graph->end = graph->next + THRUM__CHUNK_PLACES - THRUM__CHUNK_HEAD;
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
    if (__builtin_expect(task != NULL, 1))
        *task = (thrum_task){.fn.plain = fn, .arg = arg};
    return task;
}

thrum_task *thrum_scope_task_new(thrum_graph *graph, thrum_scope_fn *fn, void *arg)
{
    if (!graph || !fn)
        return null_argument(graph, "thrum_scope_task_new");
    thrum_task *task = task_new(graph);
    if (task)
        *task = (thrum_task){.fn.scope = fn, .arg = arg, .strong = THRUM__IS_SCOPE};
    return task;
}

/* Sizes of rooms for arguments: of the first, the second and all further ones, which come in huge pages if the system
 * has them. What is larger than such a room has one of its own. */
enum { KEPT_FIRST = 1 << 12, KEPT_SECOND = 1 << 17, KEPT_FURTHER = 1 << 21 };

static thrum__kept_room *kept_room_new(const thrum__kept_room *newest, size_t bytes)
{
    size_t size = !newest ? KEPT_FIRST : newest->size < KEPT_SECOND ? KEPT_SECOND : KEPT_FURTHER;
    size = size < bytes ? (bytes + KEPT_FURTHER - 1) / KEPT_FURTHER * KEPT_FURTHER : size;
    thrum__kept_room *room = thrum__alloc(sizeof *room);
    char *memory = !room ? NULL : size < KEPT_FURTHER ? thrum__alloc_aligned(size) : thrum__array(size);
    if (!memory) {
        thrum__free(room);
        return NULL;
    }
    *room = (thrum__kept_room){.memory = memory, .size = size};
    return room;
}

/* So many bytes from a line's second word on, with the kept's address before them. */
static void *kept_place(thrum_graph *graph, thrum__kept *kept, size_t size)
{
    size_t bytes = (sizeof kept + size + 63) / 64 * 64;
    thrum__kept_room *room = graph->kept_room;
    if (!room || room->size - room->used < bytes) {
        room = kept_room_new(graph->kept_room, bytes);
        if (!room)
            return NULL;
        room->older = graph->kept_room;
        graph->kept_room = room;
    }
    thrum__kept **place = (thrum__kept **)(room->memory + room->used);
    room->used += bytes;
    *place = kept;
    return place + 1;
}

void *thrum__graph_keep_room(thrum_graph *graph, size_t size, size_t rest, thrum__kept_fn *counted)
{
    thrum__kept *kept = thrum__alloc(sizeof *kept + (counted ? rest : size));
    void *bytes = !kept ? NULL : counted ? kept_place(graph, kept, size) : kept->rest;
    if (!bytes) {
        thrum__free(kept);
        return NULL;
    }
    kept->older = graph->kept;
    kept->size = size;
    kept->rest_size = rest;
    kept->counted = counted;
    kept->bytes = bytes;
    graph->kept = kept;
    return bytes;
}

void *thrum__kept_rest(const void *bytes)
{
    return ((thrum__kept *const *)bytes)[-1]->rest;
}

void *thrum__graph_keep(thrum_graph *graph, const void *bytes, size_t size)
{
    void *copy = thrum__graph_keep_room(graph, size, 0, NULL);
    if (copy)
        memcpy(copy, bytes, size);
    return copy;
}

void thrum__graph_each_kept(thrum_graph *graph, thrum__kept_fn *counted, void (*each)(void *bytes, void *arg),
                            void *arg)
{
    for (thrum__kept *kept = graph->kept; kept; kept = kept->older)
        if (kept->counted == counted)
            each(kept->bytes, arg);
}

void thrum__graph_keep_error(thrum_graph *graph, int code)
{
    char *sentence = thrum__copy_text(thrum__last_fault());
    thrum__graph_fail(graph, code, "%s", sentence ? sentence : "");
    thrum__free(sentence);
}

void thrum__graph_fail_memory(thrum_graph *graph, const char *what)
{
    thrum__graph_fail(graph, THRUM_ENOMEM, "%s: no memory for a task of graph '%s'", what, graph_name(graph));
}

int thrum__graph_idle(thrum_graph *graph, const char *what)
{
    if (thrum__graph_runs(graph))
        return thrum__fault(THRUM_EBUSY, "%s: graph '%s' is running; wait for its runs to end", what,
                            graph_name(graph));
    return 0;
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
    void *copy = thrum__graph_keep(graph, arg, size);
    if (!copy) {
        thrum__graph_fail(graph, THRUM_ENOMEM, "%s: no memory for a task of graph '%s'", what, graph_name(graph));
        return NULL;
    }
    return thrum_scope_task_new(graph, fn, copy);
}

thrum_task *thrum_condition_new(thrum_graph *graph, thrum_condition_fn *fn, void *arg)
{
    if (!graph || !fn)
        return null_argument(graph, "thrum_condition_new");
    thrum_task *task = task_new(graph);
    if (task) {
        *task = (thrum_task){.fn.condition = fn, .arg = arg, .strong = THRUM__IS_CONDITION};
        graph->conditions++;
    }
    return task;
}

thrum_task *thrum_choice_new(thrum_graph *graph, thrum_choice_fn *fn, void *arg)
{
    if (!graph || !fn)
        return null_argument(graph, "thrum_choice_new");
    thrum_task *task = task_new(graph);
    if (task) {
        *task = (thrum_task){.fn.choice = fn, .arg = arg, .strong = THRUM__IS_CHOICE};
        graph->conditions++;
    }
    return task;
}

thrum_task *thrum_event_task_new(thrum_graph *graph, thrum_event_fn *fn, void *arg)
{
    if (!graph || !fn)
        return null_argument(graph, "thrum_event_task_new");
    thrum_task *task = task_new(graph);
    if (task)
        *task = (thrum_task){.fn.event = fn, .arg = arg, .strong = THRUM__IS_EVENT};
    return task;
}

thrum_task *thrum_module_new(thrum_graph *graph, thrum_graph *module)
{
    if (!graph)
        return null_argument(NULL, "thrum_module_new");
    if (thrum__graph_open(graph, "thrum_module_new"))
        return NULL;
    if (!module || module == graph) {
        thrum__graph_fail(graph, THRUM_EINVAL,
                          module ? "thrum_module_new: graph '%s' cannot be a module of itself"
                                 : "thrum_module_new: the module for graph '%s' is NULL",
                          graph_name(graph));
        return NULL;
    }
    thrum_task *task = task_new(graph);
    if (task)
        *task = (thrum_task){.fn.plain = thrum__nothing, .arg = module, .strong = THRUM__IS_MODULE};
    return task;
}

thrum_task *thrum_placeholder_new(thrum_graph *graph)
{
    return thrum_task_new(graph, thrum__nothing, NULL);
}

/* Setting the work leaves the layout alone, so a frozen graph stays frozen; but not when weak edges become strong or
 * the other way round. */
static int set_kind(thrum_task *task, uint32_t kind, bool has_fn, const char *what)
{
    if (!task)
        return null_task(NULL, what);
    thrum_graph *graph = thrum__chunk_of(task)->graph;
    bool condition = kind == THRUM__IS_CONDITION || kind == THRUM__IS_CHOICE;
    int err = 0;
    if (thrum__graph_runs(graph) || (state_of(graph) & THRUM__FAILED) || condition != thrum__is_condition(task))
        err = thrum__graph_open(graph, what);
    if (err)
        return err;
    if (!has_fn) {
        char room[80];
        return thrum__graph_fail(graph, THRUM_EINVAL, "%s: the function for %s is NULL", what,
                                 thrum__task_label(task, room, sizeof room));
    }
    thrum__calls_drop(graph);
    thrum__line_drop(graph);
    graph->conditions += condition;
    task->strong = (task->strong & ~THRUM__KIND_MASK) | kind | (thrum__is_special(task) ? THRUM__SLOW : 0);
    return 0;
}

int thrum_task_set(thrum_task *task, thrum_fn *fn, void *arg)
{
    int err = set_kind(task, 0, fn != NULL, "thrum_task_set");
    if (err)
        return err;
    task->fn.plain = fn;
    task->arg = arg;
    return 0;
}

int thrum_task_set_scope(thrum_task *task, thrum_scope_fn *fn, void *arg)
{
    int err = set_kind(task, THRUM__IS_SCOPE, fn != NULL, "thrum_task_set_scope");
    if (err)
        return err;
    task->fn.scope = fn;
    task->arg = arg;
    return 0;
}

int thrum_task_set_condition(thrum_task *task, thrum_condition_fn *fn, void *arg)
{
    int err = set_kind(task, THRUM__IS_CONDITION, fn != NULL, "thrum_task_set_condition");
    if (err)
        return err;
    task->fn.condition = fn;
    task->arg = arg;
    return 0;
}

int thrum_task_set_choice(thrum_task *task, thrum_choice_fn *fn, void *arg)
{
    int err = set_kind(task, THRUM__IS_CHOICE, fn != NULL, "thrum_task_set_choice");
    if (err)
        return err;
    task->fn.choice = fn;
    task->arg = arg;
    return 0;
}

int thrum_task_set_event(thrum_task *task, thrum_event_fn *fn, void *arg)
{
    int err = set_kind(task, THRUM__IS_EVENT, fn != NULL, "thrum_task_set_event");
    if (err)
        return err;
    task->fn.event = fn;
    task->arg = arg;
    return 0;
}

int64_t thrum_task_number(const thrum_task *task)
{
    if (!task)
        return -1;
    uint32_t place = thrum__place_of(task);
    return (int64_t)place - (int64_t)(place / THRUM__CHUNK_PLACES) * THRUM__CHUNK_HEAD;
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
    bool fits = chunks * THRUM__CHUNK_BYTES <= (uint64_t)(graph->unused_end - graph->unused);
    if (chunk_table_reserve(graph, graph->chunk_count + chunks) ||
        (!fits && slab_add(graph, chunks * THRUM__CHUNK_BYTES)))
        return thrum__graph_fail(graph, THRUM_ENOMEM, "thrum_graph_reserve: no memory for %llu tasks in graph '%s'",
                                 (unsigned long long)tasks, graph_name(graph));
    return 0;
}

/* The last chunk is filled up to graph->next, the others are full. */
static const thrum_task *chunk_end(const thrum_graph *graph, const thrum__chunk *chunk)
{
    if (chunk->number + 1 == graph->chunk_count)
        return graph->next;
    return thrum__chunk_tasks(chunk) + THRUM__CHUNK_PLACES - THRUM__CHUNK_HEAD;
}

thrum_task *thrum__task_first(const thrum_graph *graph)
{
    return graph->chunk_count ? thrum__chunk_tasks(graph->chunks[0]) : NULL;
}

thrum_task *thrum__task_after(const thrum_graph *graph, const thrum_task *task)
{
    const thrum__chunk *chunk = thrum__chunk_of(task);
    if (++task != chunk_end(graph, chunk))
        return (thrum_task *)task;
    uint32_t number = chunk->number + 1;
    return number < graph->chunk_count ? thrum__chunk_tasks(graph->chunks[number]) : NULL;
}

/* ---- Edges ------------------------------------------------------------------------------------------------------- */

void thrum__log_drop(thrum_graph *graph)
{
    for (uint32_t c = 0; c < graph->chunk_count && graph->log_room; c++) {
        graph->chunks[c]->edge = graph->chunks[c]->edge_end = NULL;
        graph->chunks[c]->log = NULL;
    }
    while (graph->log_room) {
        thrum__log_room *room = graph->log_room;
        graph->log_room = room->older;
        thrum__array_free(room, (size_t)(room->end - (char *)room));
    }
}

static int log_room_add(thrum_graph *graph)
{
    const thrum__log_room *newest = graph->log_room;
    size_t bytes = !newest ? THRUM__LOG_FIRST : newest->older ? THRUM__LOG_FURTHER : THRUM__LOG_SECOND;
    thrum__log_room *room = thrum__array(bytes);
    if (!room)
        return THRUM_ENOMEM;
    *room = (thrum__log_room){graph->log_room, (char *)(room + 1), (char *)room + bytes};
    graph->log_room = room;
    return 0;
}

static size_t log_room_left(const thrum_graph *graph)
{
    return graph->log_room ? (size_t)(graph->log_room->end - graph->log_room->next) : 0;
}

static int log_grow(thrum_graph *graph, thrum__chunk *chunk)
{
    if (log_room_left(graph) < THRUM__LOG_LEAST && log_room_add(graph))
        return thrum__graph_fail(graph, THRUM_ENOMEM, "thrum_edge: no memory for edge %llu of graph '%s'",
                                 (unsigned long long)graph->edges, graph_name(graph));
    size_t left = log_room_left(graph), bytes = left < THRUM__LOG_BLOCK ? left : THRUM__LOG_BLOCK;
    thrum__log *log = (thrum__log *)(void *)graph->log_room->next;
    graph->log_room->next += bytes;
    log->older = chunk->log;
    log->end = (thrum__log_edge *)(void *)graph->log_room->next;
    chunk->log = log;
    chunk->edge = log->edges;
    chunk->edge_end = log->end;
    return 0;
}

/* Edges that come from everywhere write to as many logs as there are chunks: what each of them will need next is asked
 * for early, or every eighth edge would wait for memory. */
static inline void log_put(thrum_graph *graph, thrum__chunk *chunk, uint32_t from, uint32_t to)
{
    enum { AHEAD = 16 };
    thrum__log_edge *edge = chunk->edge;
    __builtin_prefetch(edge + AHEAD, 1);
    *edge = (thrum__log_edge){from, to};
    chunk->edge = edge + 1;
    graph->edges++;
    graph->backward |= from > to;
}

int thrum__log_append(thrum_graph *graph, thrum__chunk *chunk, uint32_t from, uint32_t to)
{
    int err = chunk->edge == chunk->edge_end ? log_grow(graph, chunk) : 0;
    if (!err)
        log_put(graph, chunk, from, to);
    return err;
}

/* What is wrong, or that the log is full. */
__attribute__((noinline)) int thrum__edge_slow(thrum_task *before, thrum_task *after)
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
    if (before == after && !thrum__is_condition(before))
        return thrum__graph_fail(
            graph, THRUM_EINVAL,
            "thrum_edge: %s of graph '%s' cannot come before itself; only a condition can name itself",
            thrum__task_label(before, room, sizeof room), graph_name(graph));
    graph->backward |= before == after;
    if (graph != other) {
        char other_room[80];
        return thrum__graph_fail(graph, THRUM_EINVAL,
                                 "thrum_edge: %s is in graph '%s' and %s in graph '%s'; an edge stays in one graph",
                                 thrum__task_label(before, room, sizeof room), graph_name(graph),
                                 thrum__task_label(after, other_room, sizeof other_room), graph_name(other));
    }
    return thrum__log_append(graph, thrum__chunk_of(before), thrum__place_of(before), thrum__place_of(after));
}

static inline int edge(thrum_task *before, thrum_task *after)
{
    if (__builtin_expect(!before || !after || before == after, 0))
        return thrum__edge_slow(before, after);
    thrum__chunk *from = thrum__chunk_of(before), *to = thrum__chunk_of(after);
    thrum_graph *graph = from->graph;
    if (__builtin_expect(graph != to->graph || state_of(graph) != 0 || from->edge == from->edge_end, 0))
        return thrum__edge_slow(before, after);
    log_put(graph, from, thrum__place_in(from, before), thrum__place_in(to, after));
    return 0;
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
