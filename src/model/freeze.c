/* SPDX-License-Identifier: MIT
 *
 * Freezing: from the log of edges to successor lists, with the checks before a run; and back.
 *
 * Four walks: over the log, counting each task's successors (in `next`) and predecessors (in `strong`); over the tasks,
 * handing out room; over the log from its end, filling each list from its end, so that the cursor arrives at the list's
 * beginning and the order of adding is kept; over the tasks, marking where each list ends and
 * which member is nearest. Only the walks over the log
 * jump about in memory.
 */
#include "model/graph_int.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

/* Lists of successors with one member need no room: this mark stands in `next` until the member is known. */
static const uintptr_t one_to_come = THRUM__ONE;

static uint32_t strong_of(const thrum_task *task)
{
    return task->strong & THRUM__STRONG_MASK;
}

/* Tasks in blocks of neighbours: the inner loop runs over plain memory. */
#define FOR_EACH_TASK(graph, task)                                                                                     \
    for (uint32_t c_ = 0; c_ < (graph)->chunk_count; c_++)                                                             \
        for (thrum_task *task = (thrum_task *)(graph)->chunks[c_] + THRUM__CHUNK_HEAD,                                 \
                        *end_ = c_ + 1 == (graph)->chunk_count ? (graph)->next                                         \
                                                               : (thrum_task *)(graph)->chunks[c_] + THRUM__CHUNK_PLACES; \
             task < end_; task++)

static void reset_counts(thrum_graph *graph)
{
    FOR_EACH_TASK(graph, task)
    {
        task->next = 0;
        task->strong &= ~THRUM__STRONG_MASK;
    }
}

/* The log is read in order, so what it will lead to can be fetched well before. */
enum { FETCH_AHEAD = 24 };

static inline void fetch(const thrum_graph *graph, const thrum__log *log, const thrum__log_edge *e)
{
    if (e < log->edges || e >= log->next)
        return;
    __builtin_prefetch(thrum__task_at(graph, e->from), 1);
    __builtin_prefetch(thrum__task_at(graph, e->to), 1);
}

static void count_edges(thrum_graph *graph)
{
    for (const thrum__log *log = graph->log; log; log = log->older)
        for (const thrum__log_edge *e = log->edges; e < log->next; e++) {
            fetch(graph, log, e + FETCH_AHEAD);
            thrum__task_at(graph, e->from)->next++;
            thrum__task_at(graph, e->to)->strong++;
        }
}

/* Words that the lists need, and sources. */
static void count_room(thrum_graph *graph, size_t *words, size_t *sources)
{
    size_t w = 0, s = 0;
    FOR_EACH_TASK(graph, task)
    {
        w += task->next > 1 ? task->next : 0;
        s += strong_of(task) == 0;
    }
    *words = w;
    *sources = s;
}

static void hand_out_room(thrum_graph *graph)
{
    uintptr_t *end = graph->list;
    thrum_task **source = graph->sources;
    FOR_EACH_TASK(graph, task)
    {
        if (strong_of(task) == 0)
            *source++ = task;
        atomic_store_explicit(&task->pending, strong_of(task), memory_order_relaxed);
        if (task->next > 1) {
            end += task->next;
            task->next = (uintptr_t)end;
        } else if (task->next == 1) {
            task->next = one_to_come;
        }
    }
}

/* The record has come meanwhile; its list has not. */
static inline void fetch_list(const thrum_graph *graph, const thrum__log *log, const thrum__log_edge *e)
{
    if (e < log->edges)
        return;
    uintptr_t next = thrum__task_at(graph, e->from)->next;
    if (!(next & THRUM__ONE))
        __builtin_prefetch((const uintptr_t *)next - 1, 1);
}

static void fill_lists(thrum_graph *graph)
{
    for (const thrum__log *log = graph->log; log; log = log->older)
        for (const thrum__log_edge *e = log->next; e-- > log->edges;) {
            fetch(graph, log, e - FETCH_AHEAD);
            fetch_list(graph, log, e - FETCH_AHEAD / 2);
            thrum_task *from = thrum__task_at(graph, e->from), *to = thrum__task_at(graph, e->to);
            uintptr_t word = (uintptr_t)to | (strong_of(to) == 1 ? THRUM__SOLE : 0);
            if (from->next == one_to_come) {
                from->next = word | THRUM__ONE | THRUM__LAST;
            } else {
                uintptr_t *place = (uintptr_t *)from->next - 1;
                *place = word;
                from->next = (uintptr_t)place;
            }
        }
}

static uintptr_t distance(const thrum_task *a, const thrum_task *b)
{
    return a < b ? (uintptr_t)b - (uintptr_t)a : (uintptr_t)a - (uintptr_t)b;
}

static void mark_nearest(const thrum_task *task, uintptr_t *begin, const uintptr_t *end)
{
    uintptr_t *nearest = begin;
    for (uintptr_t *at = begin + 1; at < end; at++)
        if (distance(task, thrum__word_task(*at)) < distance(task, thrum__word_task(*nearest)))
            nearest = at;
    *nearest |= THRUM__NEAR;
}

/* The lists lie one behind the other: where one begins, the one before has ended. */
static void mark_lists(thrum_graph *graph)
{
    const thrum_task *before = NULL;
    uintptr_t *end = graph->list + graph->list_words;
    FOR_EACH_TASK(graph, task)
    {
        uintptr_t *begin = (uintptr_t *)task->next;
        if (!begin || (task->next & THRUM__ONE))
            continue;
        if (before) {
            begin[-1] |= THRUM__LAST;
            mark_nearest(before, (uintptr_t *)before->next, begin);
        }
        before = task;
    }
    if (before) {
        end[-1] |= THRUM__LAST;
        mark_nearest(before, (uintptr_t *)before->next, end);
    }
}

/* ---- The check for cycles ----------------------------------------------------------------------------------------- */

/* Takes away tasks without predecessors until none is left to take; `pending` serves as the count of predecessors not
 * yet taken. What is left lies on a cycle or behind one. */
static size_t take_away_ready(thrum_graph *graph, thrum_task **queue)
{
    size_t head = 0, tail = graph->source_count;
    memcpy(queue, graph->sources, tail * sizeof *queue);
    while (head < tail) {
        uintptr_t one;
        const uintptr_t *word = thrum__successors(queue[head++], &one);
        for (; word; word = *word & THRUM__LAST ? NULL : word + 1) {
            thrum_task *to = thrum__word_task(*word);
            if (atomic_fetch_sub_explicit(&to->pending, 1, memory_order_relaxed) == 1)
                queue[tail++] = to;
        }
    }
    return tail;
}

static bool is_left(const thrum_task *task)
{
    return atomic_load_explicit(&task->pending, memory_order_relaxed) > 0;
}

/* Each task that is left has a predecessor that is left. Walking back from one to the next must come round. */
static thrum_task *find_cycle(thrum_graph *graph, thrum_task **back)
{
    thrum_task *at = NULL;
    FOR_EACH_TASK(graph, task)
    {
        if (!is_left(task))
            continue;
        uintptr_t one;
        const uintptr_t *word = thrum__successors(task, &one);
        for (; word; word = *word & THRUM__LAST ? NULL : word + 1)
            if (is_left(thrum__word_task(*word)))
                back[thrum_task_number(thrum__word_task(*word))] = task;
        at = task;
    }
    for (uint64_t i = thrum__task_count(graph); i > 0; i--)
        at = back[thrum_task_number(at)];
    return at;
}

/* "a -> b -> c -> a", shortened in the middle when it is long. */
static void describe_cycle(thrum_task *const *back, thrum_task *start, char *text, size_t size)
{
    enum { SHOWN = 12 };
    thrum_task *shown[SHOWN];
    size_t count = 0, used;
    char room[64];
    thrum_task *at = start;
    do {
        shown[count++ % SHOWN] = at; /* backwards, so the last ones seen come first */
        at = back[thrum_task_number(at)];
    } while (at != start);
    size_t show = count < SHOWN ? count : SHOWN;
    used = (size_t)snprintf(text, size, "%s", thrum__task_label(start, room, sizeof room));
    if (count > SHOWN && used < size)
        used += (size_t)snprintf(text + used, size - used, " -> (%zu more)", count - SHOWN);
    for (size_t i = 0; i < show && used < size; i++) {
        thrum_task *task = shown[(count - 1 - i) % SHOWN];
        used += (size_t)snprintf(text + used, size - used, " -> %s", thrum__task_label(task, room, sizeof room));
    }
}

static int cycle_error(thrum_graph *graph, thrum_task **back)
{
    char text[420];
    describe_cycle(back, find_cycle(graph, back), text, sizeof text);
    if (graph->source_count == 0)
        return thrum__fault(THRUM_ENOSOURCE, "graph '%s' has no task that could start: %s", graph->names->graph, text);
    return thrum__fault(THRUM_ECYCLE, "graph '%s' has tasks that wait for each other: %s", graph->names->graph, text);
}

static int check_cycles(thrum_graph *graph)
{
    uint64_t count = thrum__task_count(graph);
    if (!graph->backward)
        return 0;
    thrum_task **scratch = thrum__alloc((count + 1) * sizeof *scratch);
    if (!scratch)
        return thrum__fault(THRUM_ENOMEM, "thrum_graph_freeze: no memory to look for cycles in graph '%s'",
                            graph->names->graph);
    int err = take_away_ready(graph, scratch) < count ? cycle_error(graph, scratch) : 0;
    FOR_EACH_TASK(graph, task)
    {
        atomic_store_explicit(&task->pending, strong_of(task), memory_order_relaxed);
    }
    thrum__free(scratch);
    return err;
}

/* ---- Freeze and thaw ---------------------------------------------------------------------------------------------- */

static void drop_layout(thrum_graph *graph)
{
    thrum__free(graph->list);
    thrum__free(graph->sources);
    graph->list = NULL;
    graph->sources = NULL;
    graph->list_words = 0;
    graph->source_count = 0;
}

static int lay_out(thrum_graph *graph)
{
    size_t words, sources;
    reset_counts(graph);
    count_edges(graph);
    count_room(graph, &words, &sources);
    graph->list = thrum__alloc((words + 1) * sizeof *graph->list);
    graph->sources = thrum__alloc((sources + 1) * sizeof *graph->sources);
    if (!graph->list || !graph->sources)
        return thrum__fault(THRUM_ENOMEM, "thrum_graph_freeze: no memory to lay out graph '%s'", graph->names->graph);
    graph->list_words = words;
    graph->source_count = sources;
    hand_out_room(graph);
    fill_lists(graph);
    mark_lists(graph);
    return check_cycles(graph);
}

/* For thrum_message. Not a sticky error: the graph can be mended. */
static void keep_message(thrum_graph *graph)
{
    char *text = thrum__copy_text(thrum__last_fault());
    if (!text)
        return;
    thrum__free(graph->run_message);
    graph->run_message = text;
}

int thrum__graph_prepare(thrum_graph *graph)
{
    uint32_t state = atomic_load_explicit(&graph->state, memory_order_relaxed);
    if (state & THRUM__FAILED)
        return thrum__fault(thrum__root_code(&graph->object.root), "%s", thrum__root_text(&graph->object.root));
    if (state & THRUM__FROZEN)
        return 0;
    int err = lay_out(graph);
    if (err) {
        drop_layout(graph);
        keep_message(graph);
        return err;
    }
    thrum__log_drop(graph);
    atomic_fetch_or_explicit(&graph->state, THRUM__FROZEN, memory_order_relaxed);
    return 0;
}

int thrum_graph_freeze(thrum_graph *graph)
{
    if (!graph)
        return thrum__fault(THRUM_EINVAL, "thrum_graph_freeze: the graph is NULL");
    thrum__lock_take(&graph->lock);
    int err = thrum__graph_prepare(graph);
    thrum__lock_give(&graph->lock);
    return err;
}

/* The lists go back into the log, task by task: the order of each task's successors is what matters and is kept. */
int thrum_graph_thaw(thrum_graph *graph)
{
    if (!graph)
        return thrum__fault(THRUM_EINVAL, "thrum_graph_thaw: the graph is NULL");
    uint32_t state = atomic_load_explicit(&graph->state, memory_order_relaxed);
    if (thrum__graph_runs(graph) || (state & THRUM__FAILED))
        return thrum__graph_open(graph, "thrum_graph_thaw");
    if (!(state & THRUM__FROZEN))
        return 0;
    uint64_t edges = graph->edges;
    graph->edges = 0;
    int err = 0;
    FOR_EACH_TASK(graph, task)
    {
        uintptr_t one;
        const uintptr_t *word = thrum__successors(task, &one);
        for (; word && !err; word = *word & THRUM__LAST ? NULL : word + 1)
            err = thrum__log_append(graph, thrum__place_of(task), thrum__place_of(thrum__word_task(*word)));
    }
    if (err) {
        /* Out of memory half way: the graph has failed, but stays as it was. */
        thrum__log_drop(graph);
        graph->edges = edges;
        return err;
    }
    drop_layout(graph);
    atomic_fetch_and_explicit(&graph->state, ~(uint32_t)THRUM__FROZEN, memory_order_relaxed);
    return 0;
}

/* ---- Invariants --------------------------------------------------------------------------------------------------- */

static bool words_agree(const thrum_graph *graph)
{
    uint64_t edges = 0;
    size_t words = 0;
    FOR_EACH_TASK(graph, task)
    {
        uintptr_t one;
        const uintptr_t *word = thrum__successors(task, &one);
        if (word && word != &one && word != graph->list + words)
            return false;
        for (; word; word = *word & THRUM__LAST ? NULL : word + 1) {
            if (!(*word & THRUM__SOLE) != (strong_of(thrum__word_task(*word)) != 1))
                return false;
            words += word != &one;
            edges++;
        }
    }
    return edges == graph->edges && words == graph->list_words;
}

bool thrum__graph_check(const thrum_graph *graph)
{
    if (!(atomic_load_explicit(&graph->state, memory_order_relaxed) & THRUM__FROZEN))
        return true;
    size_t sources = 0;
    uint64_t strong = 0;
    FOR_EACH_TASK(graph, task)
    {
        if (strong_of(task) == 0 && (sources >= graph->source_count || graph->sources[sources++] != task))
            return false;
        if (atomic_load_explicit(&task->pending, memory_order_relaxed) != strong_of(task))
            return false;
        strong += strong_of(task);
    }
    return sources == graph->source_count && strong == graph->edges && words_agree(graph);
}
