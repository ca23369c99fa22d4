/* SPDX-License-Identifier: MIT
 *
 * Freezing: from the log of edges to successor lists, with the checks before a run; and back.
 *
 * Edges may lead anywhere in a graph that is larger than the caches. Their log is sorted by the chunk that they come
 * from already, so the lists are filled chunk by chunk, in what a core's cache holds. Predecessors are counted, as
 * successors are, in a table with a byte for each task, of which the cache holds many more than of records; the records
 * themselves are walked once.
 *
 * The filling goes through a chunk's log from its end and fills each list from its end: so each list has its members in
 * the order in which they were added.
 */
#include "model/graph_int.h"
#include "model/next.h"

#include "base/alloc.h"
#include "model/terms.h"

#include <stdio.h>
#include <string.h>

static uint32_t strong_of(const thrum_task *task)
{
    return task->strong & THRUM__STRONG_MASK;
}

static thrum_task *chunk_begin(const thrum_graph *graph, uint32_t chunk)
{
    return thrum__chunk_tasks(graph->chunks[chunk]);
}

static thrum_task *chunk_end(const thrum_graph *graph, uint32_t chunk)
{
    size_t per_chunk = THRUM__CHUNK_PLACES - THRUM__CHUNK_HEAD;
    return chunk + 1 == graph->chunk_count ? graph->next : chunk_begin(graph, chunk) + per_chunk;
}

/* Tasks in blocks of neighbours: the inner loop runs over plain memory. */
#define FOR_EACH_TASK(graph, task)                                                                                     \
    for (uint32_t c_ = 0; c_ < (graph)->chunk_count; c_++)                                                             \
        for (thrum_task *task = chunk_begin(graph, c_), *end_ = chunk_end(graph, c_); task < end_; task++)

/* ---- Counting ---------------------------------------------------------------------------------------------------- */

/* Edges into and out of each task, by place. A byte that is full is halved, and the other half added to `pending` or
 * `next` of the task: so 0 means none and 1 means one, always. */
struct tally {
    uint8_t *in, *out;
    uintptr_t *next; /* while a chunk's lists are filled: what will be `next` of its tasks */
};

enum { HALF = 128 };

static uint32_t predecessors_of(const thrum_task *task, uint8_t in)
{
    return in < HALF ? in : in + atomic_load_explicit(&task->pending, memory_order_relaxed);
}

static size_t successors_of(const thrum_task *task, uint8_t out)
{
    return out < HALF ? out : out + task->next;
}

/* The last chunk's tasks have the last places. */
static size_t places(const thrum_graph *graph)
{
    return thrum__task_count(graph) + (graph->chunk_count - 1) * (size_t)THRUM__CHUNK_HEAD;
}

static size_t most_in_a_chunk(const thrum_graph *graph)
{
    return graph->chunk_count > 1 ? THRUM__CHUNK_PLACES : places(graph);
}

static int tally_alloc(const thrum_graph *graph, struct tally *tally)
{
    size_t bytes = 2 * places(graph);
    tally->in = thrum__array(bytes);
    tally->next = thrum__alloc(most_in_a_chunk(graph) * sizeof *tally->next);
    if (!tally->in || !tally->next)
        return THRUM_ENOMEM;
    memset(tally->in, 0, bytes);
    tally->out = tally->in + places(graph);
    return 0;
}

static void tally_free(const thrum_graph *graph, struct tally *tally)
{
    thrum__array_free(tally->in, 2 * places(graph));
    thrum__free(tally->next);
}

/* What an older block of a log holds goes to its end; the newest is filled up to where the chunk says. */
static const thrum__log_edge *filled_to(const thrum__chunk *chunk, const thrum__log *log)
{
    return log == chunk->log ? chunk->edge : log->end;
}

static __attribute__((noinline)) void carry_in(thrum_task *task, uint8_t *count)
{
    *count = HALF;
    atomic_fetch_add_explicit(&task->pending, HALF, memory_order_relaxed);
}

static __attribute__((noinline)) void carry_out(thrum_task *task, uint8_t *count)
{
    *count = HALF;
    task->next += HALF;
}

/* Weak edges do not count as edges in. */
static bool counts_in(const thrum_graph *graph, const thrum__log_edge *e)
{
    if (__builtin_expect(graph->conditions == 0, 1) || !thrum__is_condition(thrum__task_at(graph, e->from)))
        return true;
    thrum__task_at(graph, e->to)->strong |= THRUM__WEAK_IN;
    return false;
}

static void count_edges(const thrum_graph *graph, const thrum__chunk *chunk, const struct tally *tally)
{
    for (const thrum__log *log = chunk->log; log; log = log->older)
        for (const thrum__log_edge *e = log->edges, *end = filled_to(chunk, log); e < end; e++) {
            if (counts_in(graph, e) && __builtin_expect(++tally->in[e->to] == 0, 0))
                carry_in(thrum__task_at(graph, e->to), &tally->in[e->to]);
            if (__builtin_expect(++tally->out[e->from] == 0, 0))
                carry_out(thrum__task_at(graph, e->from), &tally->out[e->from]);
        }
}

static size_t count_of(const uint8_t *bytes, size_t size, uint8_t value)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += bytes[i] == value;
    return count;
}

static size_t count_sources(const thrum_graph *graph, uint32_t chunk, const uint8_t *in)
{
    size_t count = 0;
    for (thrum_task *task = chunk_begin(graph, chunk), *stop = chunk_end(graph, chunk); task < stop; task++)
        count += *in++ == 0 && !(task->strong & THRUM__WEAK_IN);
    return count;
}

/* Tasks without a predecessor, and tasks with one successor. */
static void count_tasks(const thrum_graph *graph, const struct tally *tally, size_t *sources, size_t *ones)
{
    for (uint32_t c = 0; c < graph->chunk_count; c++) {
        size_t tasks = (size_t)(chunk_end(graph, c) - chunk_begin(graph, c)), first = (size_t)c * THRUM__CHUNK_PLACES;
        *sources +=
            graph->conditions ? count_sources(graph, c, tally->in + first) : count_of(tally->in + first, tasks, 0);
        *ones += count_of(tally->out + first, tasks, 1);
    }
}

/* ---- Filling ----------------------------------------------------------------------------------------------------- */

/* Without a branch, which random edges would make unpredictable. */
static inline uintptr_t either(bool first, uintptr_t a, uintptr_t b)
{
    uintptr_t mask = -(uintptr_t)first;
    return (a & mask) | (b & ~mask);
}

/* Has `next` point to the end of the room for each task's list, with the flags of the word that will be written first:
 * the last. A single successor needs no room. */
static void hand_out_room(const thrum_graph *graph, uint32_t chunk, const struct tally *tally, uintptr_t *end)
{
    const uint8_t *out = tally->out + (size_t)chunk * THRUM__CHUNK_PLACES;
    uintptr_t *next = tally->next;
    for (thrum_task *task = chunk_begin(graph, chunk), *stop = chunk_end(graph, chunk); task < stop; task++) {
        size_t successors = successors_of(task, *out++);
        end += either(successors > 1, successors, 0);
        *next++ = either(successors > 1, (uintptr_t)end | THRUM__LAST, successors * (THRUM__ONE | THRUM__LAST));
    }
}

static void fill_lists(const thrum_graph *graph, const thrum__chunk *chunk, const struct tally *tally)
{
    for (const thrum__log *log = chunk->log; log; log = log->older)
        for (const thrum__log_edge *e = filled_to(chunk, log); e-- > log->edges;) {
            uintptr_t *next = &tally->next[e->from % THRUM__CHUNK_PLACES], flags = *next & (THRUM__ONE | THRUM__LAST);
            uintptr_t sole = tally->in[e->to] == 1 ? THRUM__SOLE : 0;
            uintptr_t word = (uintptr_t)thrum__task_at(graph, e->to) | flags | sole;
            uintptr_t place = either((flags & THRUM__ONE) != 0, (uintptr_t)next, *next - flags - sizeof word);
            *(uintptr_t *)place = word; /* a single successor's word is written to the same place twice */
            *next = either((flags & THRUM__ONE) != 0, word, place);
        }
}

static uintptr_t distance(const thrum_task *a, const thrum_task *b)
{
    return a < b ? (uintptr_t)b - (uintptr_t)a : (uintptr_t)a - (uintptr_t)b;
}

/* Marks the nearest member. THRUM__SOLE if that is what all are. */
static uintptr_t mark_list(const thrum_task *task, uintptr_t *list, size_t count)
{
    uintptr_t *nearest = list, all = *list;
    for (uintptr_t *at = list + 1; at < list + count; at++) {
        all &= *at;
        if (distance(task, thrum__word_task(*at)) < distance(task, thrum__word_task(*nearest)))
            nearest = at;
    }
    *nearest |= THRUM__NEAR;
    return all & THRUM__SOLE;
}

/* The records get what was found. Behind the last source there is room for one that is none: so no branch is needed. */
static uintptr_t *write_records(thrum_graph *graph, uint32_t chunk, const struct tally *tally, uintptr_t *end,
                                thrum_task ***source)
{
    size_t place = (size_t)chunk * THRUM__CHUNK_PLACES;
    const uintptr_t *next = tally->next;
    thrum_task **to = *source;
    uint32_t most = 0; /* or more */
    for (thrum_task *task = chunk_begin(graph, chunk), *stop = chunk_end(graph, chunk); task < stop; task++, place++) {
        uint32_t strong = predecessors_of(task, tally->in[place]);
        size_t successors = successors_of(task, tally->out[place]);
        task->strong |= strong & THRUM__STRONG_MASK;
        most |= strong;
        atomic_store_explicit(&task->pending, strong, memory_order_relaxed);
        task->next = *next++;
        *to = task;
        to += (task->strong & (THRUM__STRONG_MASK | THRUM__WEAK_IN)) == 0;
        if (successors > 1) {
            task->next |= mark_list(task, end, successors);
            end += successors;
        }
    }
    *source = to;
    graph->counted |= most > 1;
    graph->crowded |= most > THRUM__STRONG_MASK;
    return end;
}

/* ---- The check for cycles ---------------------------------------------------------------------------------------- */

/* The words of a task's strong edges; NULL if it has none. */
static const uintptr_t *strong_words(const thrum_task *task, uintptr_t *one)
{
    return thrum__is_condition(task) ? NULL : thrum__successors(task, one);
}

/* Takes away tasks without predecessors until none is left to take; `pending` serves as the count of predecessors not
 * yet taken. What is left lies on a cycle or behind one. */
static size_t take_away_ready(thrum_graph *graph, thrum_task **queue)
{
    size_t head = 0, tail = 0;
    FOR_EACH_TASK(graph, task)
    {
        if (strong_of(task) == 0)
            queue[tail++] = task;
    }
    while (head < tail) {
        uintptr_t one;
        const uintptr_t *word = strong_words(queue[head++], &one);
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
        const uintptr_t *word = strong_words(task, &one);
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
    thrum__graph_restore(graph);
    thrum__free(scratch);
    if (!err && graph->source_count == 0)
        err = thrum__fault(THRUM_ENOSOURCE,
                           "graph '%s' has no task that could start: conditions have edges to all tasks that wait for "
                           "none; a first task without any edge to it is needed",
                           graph->names->graph);
    return err;
}

void thrum__graph_restore(thrum_graph *graph)
{
    FOR_EACH_TASK(graph, task)
    {
        atomic_store_explicit(&task->pending, strong_of(task), memory_order_relaxed);
    }
}

/* ---- Freeze and thaw --------------------------------------------------------------------------------------------- */

static size_t sources_bytes(const thrum_graph *graph)
{
    return (graph->source_count + 1) * sizeof *graph->sources;
}

/* Leaves the records as they are while a graph is built. */
static void layout_undo(thrum_graph *graph)
{
    FOR_EACH_TASK(graph, task)
    {
        task->next = 0;
        task->strong &= THRUM__KIND_MASK | THRUM__SPECIAL;
        atomic_store_explicit(&task->pending, 0, memory_order_relaxed);
    }
    thrum__layout_drop(graph);
}

void thrum__layout_drop(thrum_graph *graph)
{
    thrum__lanes_drop(graph);
    thrum__calls_drop(graph);
    thrum__line_drop(graph);
    thrum__array_keep(graph->list, graph->list_words * sizeof *graph->list);
    if (graph->sources)
        thrum__array_keep(graph->sources, sources_bytes(graph));
    graph->list = NULL;
    graph->sources = NULL;
    graph->list_words = 0;
    graph->source_count = 0;
}

static int room_alloc(thrum_graph *graph, size_t words, size_t sources)
{
    graph->list_words = words;
    graph->source_count = sources;
    graph->list = thrum__array(words * sizeof *graph->list);
    graph->sources = thrum__array(sources_bytes(graph));
    return (graph->list || !words) && graph->sources ? 0 : THRUM_ENOMEM;
}

static int lay_out_tallied(thrum_graph *graph, const struct tally *tally)
{
    size_t ones = 0, sources = 0;
    for (uint32_t c = 0; c < graph->chunk_count; c++)
        count_edges(graph, graph->chunks[c], tally);
    count_tasks(graph, tally, &sources, &ones);
    if (room_alloc(graph, graph->edges - ones, sources))
        return THRUM_ENOMEM;
    uintptr_t *end = graph->list;
    thrum_task **source = graph->sources;
    for (uint32_t c = 0; c < graph->chunk_count; c++) {
        hand_out_room(graph, c, tally, end);
        fill_lists(graph, graph->chunks[c], tally);
        end = write_records(graph, c, tally, end, &source);
    }
    return 0;
}

/* The count of predecessors shares its word with the task's kind. */
static int too_many_edges(const thrum_graph *graph)
{
    return thrum__fault(THRUM_ELIMIT,
                        "thrum_graph_freeze: graph '%s' has a task with 2^26 predecessors or more; let them meet in "
                        "placeholders first",
                        graph->names->graph);
}

static int lay_out(thrum_graph *graph)
{
    graph->counted = graph->crowded = false;
    if (graph->edges == 0) {
        graph->source_count = thrum__task_count(graph);
        return 0;
    }
    struct tally tally;
    int err = tally_alloc(graph, &tally);
    if (!err)
        err = lay_out_tallied(graph, &tally);
    tally_free(graph, &tally);
    if (err)
        return thrum__fault(err, "thrum_graph_freeze: no memory to lay out graph '%s'", graph->names->graph);
    return graph->crowded ? too_many_edges(graph) : check_cycles(graph);
}

void thrum__graph_keep_message(thrum_graph *graph, const char *text)
{
    char *copy = thrum__copy_text(text);
    if (copy)
        thrum__free(atomic_exchange_explicit(&graph->run_message, copy, memory_order_acq_rel));
}

static int refuse_races(const thrum_graph *graph)
{
    char *text = NULL;
    if (thrum__graph_find_race(graph, &text))
        return thrum__fault(THRUM_ENOMEM, "thrum_graph_freeze: no memory to look for races in graph '%s'",
                            graph->names->graph);
    int err = text ? thrum__fault(THRUM_ERACE, "%s", text) : 0;
    thrum__free(text);
    return err;
}

int thrum__graph_prepare(thrum_graph *graph)
{
    uint32_t state = atomic_load_explicit(&graph->state, memory_order_relaxed);
    if (state & THRUM__FAILED)
        return thrum__fault(thrum__root_code(&graph->object.root), "%s", thrum__root_text(&graph->object.root));
    if (state & THRUM__FROZEN)
        return 0;
    int err = lay_out(graph);
    if (!err)
        err = thrum__terms_lay_out(graph);
    if (!err && graph->strict)
        err = refuse_races(graph);
    if (err) {
        layout_undo(graph);
        thrum__graph_keep_message(graph, thrum__last_fault());
        return err;
    }
    thrum__log_drop(graph);
    /* Release, with the acquire of those who begin a run without the lock (exec/queue.c): the first of them may come
     * before the run of whoever froze the graph, which would be what tells them otherwise. */
    atomic_fetch_or_explicit(&graph->state, THRUM__FROZEN, memory_order_release);
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
            err = thrum__log_append(graph, thrum__chunk_of(task), thrum__place_of(task),
                                    thrum__place_of(thrum__word_task(*word)));
    }
    if (err) {
        /* Out of memory half way: the graph has failed, but stays as it was. */
        thrum__log_drop(graph);
        graph->edges = edges;
        return err;
    }
    layout_undo(graph);
    atomic_fetch_and_explicit(&graph->state, ~(uint32_t)THRUM__FROZEN, memory_order_relaxed);
    return 0;
}

/* ---- Invariants -------------------------------------------------------------------------------------------------- */

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

static bool is_source(const thrum_graph *graph, size_t number, const thrum_task *task)
{
    return number < graph->source_count &&
           (!graph->sources || thrum__has_priorities(graph) || graph->sources[number] == task);
}

static uint64_t weak_words(const thrum_task *task)
{
    uintptr_t one;
    uint64_t count = 0;
    const uintptr_t *word = thrum__is_condition(task) ? thrum__successors(task, &one) : NULL;
    for (; word; word = *word & THRUM__LAST ? NULL : word + 1)
        count++;
    return count;
}

bool thrum__graph_check(const thrum_graph *graph)
{
    if (!(atomic_load_explicit(&graph->state, memory_order_relaxed) & THRUM__FROZEN))
        return true;
    size_t sources = 0;
    uint64_t strong = 0, weak = 0;
    FOR_EACH_TASK(graph, task)
    {
        if (strong_of(task) == 0 && !(task->strong & THRUM__WEAK_IN) && !is_source(graph, sources++, task))
            return false;
        if (atomic_load_explicit(&task->pending, memory_order_relaxed) != strong_of(task))
            return false;
        strong += strong_of(task);
        weak += weak_words(task);
    }
    return sources == graph->source_count && strong + weak == graph->edges && words_agree(graph);
}
