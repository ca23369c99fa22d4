/* SPDX-License-Identifier: MIT
 *
 * Freezing: from the log of edges to successor lists, with the checks before a run; and back.
 *
 * Edges may lead anywhere in a graph that is larger than the caches, so they are first dealt out by chunk: once by the
 * chunk they lead to, to count predecessors, and once by the chunk they come from, to count successors and to fill the
 * lists. Then every jump stays within a chunk's records (a megabyte), which a core's cache holds. What the filling must
 * know of the task at the other end, whether it has one predecessor only, is one bit, in a table of its own.
 *
 * Dealing goes through the log from its end and fills each share from its end, and so does the filling of the lists: so
 * each list has its members in the order in which they were added.
 */
#include "model/graph_int.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

static uint32_t strong_of(const thrum_task *task)
{
    return task->strong & THRUM__STRONG_MASK;
}

static thrum_task *chunk_begin(const thrum_graph *graph, uint32_t chunk)
{
    return (thrum_task *)graph->chunks[chunk] + THRUM__CHUNK_HEAD;
}

static thrum_task *chunk_end(const thrum_graph *graph, uint32_t chunk)
{
    return chunk + 1 == graph->chunk_count ? graph->next : (thrum_task *)graph->chunks[chunk] + THRUM__CHUNK_PLACES;
}

/* Tasks in blocks of neighbours: the inner loop runs over plain memory. */
#define FOR_EACH_TASK(graph, task)                                                                                     \
    for (uint32_t c_ = 0; c_ < (graph)->chunk_count; c_++)                                                             \
        for (thrum_task *task = chunk_begin(graph, c_), *end_ = chunk_end(graph, c_); task < end_; task++)

/* ---- Dealing the edges out ---------------------------------------------------------------------------------------- */

/* The share of chunk c: places begin[c] to begin[c + 1] - 1 of each array. */
struct deal {
    uint32_t *to;           /* the edges' ends, by the chunk of the end */
    thrum__log_edge *edges; /* the edges, by the chunk of the beginning */
    uint64_t *to_begin, *edges_begin;
    uint64_t *sole; /* a bit for each place: the task there has one predecessor */
};

static size_t places(const thrum_graph *graph)
{
    return (size_t)graph->chunk_count * THRUM__CHUNK_PLACES;
}

static void deal_free(const thrum_graph *graph, struct deal *deal)
{
    thrum__array_free(deal->to, graph->edges * sizeof *deal->to);
    thrum__array_free(deal->edges, graph->edges * sizeof *deal->edges);
    thrum__free(deal->to_begin);
    thrum__free(deal->edges_begin);
    thrum__free(deal->sole);
}

static int deal_alloc(const thrum_graph *graph, struct deal *deal)
{
    size_t shares = (size_t)graph->chunk_count + 1;
    deal->to = thrum__array(graph->edges * sizeof *deal->to);
    deal->edges = thrum__array(graph->edges * sizeof *deal->edges);
    deal->to_begin = thrum__zalloc(shares * sizeof *deal->to_begin);
    deal->edges_begin = thrum__zalloc(shares * sizeof *deal->edges_begin);
    deal->sole = thrum__zalloc(places(graph) / 8 + 8);
    bool ok = (deal->to && deal->edges) || graph->edges == 0;
    return ok && deal->to_begin && deal->edges_begin && deal->sole ? 0 : THRUM_ENOMEM;
}

static uint32_t chunk_of_place(uint32_t place)
{
    return place / THRUM__CHUNK_PLACES;
}

/* First each share's size, then the place behind its end, which the dealing moves down to its beginning. */
static void deal_out(const thrum_graph *graph, struct deal *deal)
{
    for (const thrum__log *log = graph->log; log; log = log->older)
        for (const thrum__log_edge *e = log->edges; e < log->next; e++) {
            deal->to_begin[chunk_of_place(e->to)]++;
            deal->edges_begin[chunk_of_place(e->from)]++;
        }
    for (uint32_t c = 1; c <= graph->chunk_count; c++) {
        deal->to_begin[c] += deal->to_begin[c - 1];
        deal->edges_begin[c] += deal->edges_begin[c - 1];
    }
    for (const thrum__log *log = graph->log; log; log = log->older)
        for (const thrum__log_edge *e = log->next; e-- > log->edges;) {
            deal->to[--deal->to_begin[chunk_of_place(e->to)]] = e->to;
            deal->edges[--deal->edges_begin[chunk_of_place(e->from)]] = *e;
        }
}

/* ---- Counting ----------------------------------------------------------------------------------------------------- */

static void count_in(thrum_graph *graph, uint32_t chunk, const struct deal *deal, size_t *sources)
{
    for (thrum_task *task = chunk_begin(graph, chunk), *stop = chunk_end(graph, chunk); task < stop; task++)
        task->strong &= ~THRUM__STRONG_MASK;
    for (uint64_t i = deal->to_begin[chunk]; i < deal->to_begin[chunk + 1]; i++)
        thrum__task_at(graph, deal->to[i])->strong++;
    uint32_t place = chunk * THRUM__CHUNK_PLACES + THRUM__CHUNK_HEAD;
    for (thrum_task *task = chunk_begin(graph, chunk), *stop = chunk_end(graph, chunk); task < stop; task++, place++) {
        uint32_t strong = strong_of(task);
        atomic_store_explicit(&task->pending, strong, memory_order_relaxed);
        task->next = 0;
        *sources += strong == 0;
        deal->sole[place / 64] |= (uint64_t)(strong == 1) << place % 64;
    }
}

static void count_out(thrum_graph *graph, uint32_t chunk, const struct deal *deal, size_t *words)
{
    for (uint64_t i = deal->edges_begin[chunk]; i < deal->edges_begin[chunk + 1]; i++)
        thrum__task_at(graph, deal->edges[i].from)->next++;
    for (thrum_task *task = chunk_begin(graph, chunk), *stop = chunk_end(graph, chunk); task < stop; task++)
        *words += task->next > 1 ? task->next : 0;
}

/* ---- Filling ------------------------------------------------------------------------------------------------------ */

/* Lists of successors with one member need no room: this mark stands in `next` until the member is known. */
static const uintptr_t one_to_come = THRUM__ONE;

static uintptr_t *hand_out_room(thrum_graph *graph, uint32_t chunk, uintptr_t *end, thrum_task ***source)
{
    for (thrum_task *task = chunk_begin(graph, chunk), *stop = chunk_end(graph, chunk); task < stop; task++) {
        if (strong_of(task) == 0 && *source)
            *(*source)++ = task;
        if (task->next > 1) {
            end += task->next;
            task->next = (uintptr_t)end;
        } else if (task->next == 1) {
            task->next = one_to_come;
        }
    }
    return end;
}

static void fill_lists(thrum_graph *graph, uint32_t chunk, const struct deal *deal)
{
    for (uint64_t i = deal->edges_begin[chunk + 1]; i-- > deal->edges_begin[chunk];) {
        uint32_t to = deal->edges[i].to;
        thrum_task *from = thrum__task_at(graph, deal->edges[i].from);
        uintptr_t word = (uintptr_t)thrum__task_at(graph, to) | (deal->sole[to / 64] >> to % 64 & 1 ? THRUM__SOLE : 0);
        /* Without a branch, which random edges would make unpredictable: a single successor's word is written to the
         * record itself, twice. */
        bool one = from->next == one_to_come;
        word |= one ? THRUM__ONE | THRUM__LAST : 0;
        uintptr_t *place = one ? &from->next : (uintptr_t *)from->next - 1;
        *place = word;
        from->next = one ? word : (uintptr_t)place;
    }
}

static uintptr_t distance(const thrum_task *a, const thrum_task *b)
{
    return a < b ? (uintptr_t)b - (uintptr_t)a : (uintptr_t)a - (uintptr_t)b;
}

static void mark_list(const thrum_task *task, uintptr_t *end)
{
    uintptr_t *nearest = (uintptr_t *)task->next;
    for (uintptr_t *at = nearest + 1; at < end; at++)
        if (distance(task, thrum__word_task(*at)) < distance(task, thrum__word_task(*nearest)))
            nearest = at;
    *nearest |= THRUM__NEAR;
    end[-1] |= THRUM__LAST;
}

/* The lists lie one behind the other: where one begins, the one before has ended. */
static void mark_lists(thrum_graph *graph, uint32_t chunk, uintptr_t *end)
{
    const thrum_task *before = NULL;
    for (thrum_task *task = chunk_begin(graph, chunk), *stop = chunk_end(graph, chunk); task < stop; task++) {
        if (!task->next || (task->next & THRUM__ONE))
            continue;
        if (before)
            mark_list(before, (uintptr_t *)task->next);
        before = task;
    }
    if (before)
        mark_list(before, end);
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

void thrum__layout_drop(thrum_graph *graph)
{
    thrum__array_free(graph->list, graph->list_words * sizeof *graph->list);
    thrum__array_free(graph->sources, graph->source_count * sizeof *graph->sources);
    graph->list = NULL;
    graph->sources = NULL;
    graph->list_words = 0;
    graph->source_count = 0;
}

static int room_alloc(thrum_graph *graph, size_t words, size_t sources)
{
    graph->list = thrum__array(words * sizeof *graph->list);
    graph->sources = graph->edges ? thrum__array(sources * sizeof *graph->sources) : NULL;
    graph->list_words = words;
    graph->source_count = sources;
    return (graph->list || !words) && (graph->sources || !graph->edges) ? 0 : THRUM_ENOMEM;
}

static int lay_out_dealt(thrum_graph *graph, struct deal *deal)
{
    size_t words = 0, sources = 0;
    deal_out(graph, deal);
    for (uint32_t c = 0; c < graph->chunk_count; c++) {
        count_in(graph, c, deal, &sources);
        count_out(graph, c, deal, &words);
    }
    if (room_alloc(graph, words, sources))
        return THRUM_ENOMEM;
    uintptr_t *end = graph->list;
    thrum_task **source = graph->sources;
    for (uint32_t c = 0; c < graph->chunk_count; c++) {
        end = hand_out_room(graph, c, end, &source);
        fill_lists(graph, c, deal);
        mark_lists(graph, c, end);
    }
    return 0;
}

/* The count of predecessors shares its word with the task's kind. */
static int too_many_edges(const thrum_graph *graph)
{
    return thrum__fault(THRUM_ELIMIT,
                        "thrum_graph_freeze: graph '%s' has %llu edges, but fewer than 2^28 is what thrum can count",
                        graph->names->graph, (unsigned long long)graph->edges);
}

static int lay_out(thrum_graph *graph)
{
    struct deal deal = {0};
    if (graph->edges > THRUM__STRONG_MASK)
        return too_many_edges(graph);
    int err = deal_alloc(graph, &deal);
    if (!err)
        err = lay_out_dealt(graph, &deal);
    deal_free(graph, &deal);
    if (err)
        return thrum__fault(err, "thrum_graph_freeze: no memory to lay out graph '%s'", graph->names->graph);
    return check_cycles(graph);
}

void thrum__graph_keep_message(thrum_graph *graph, const char *text)
{
    char *copy = thrum__copy_text(text);
    if (copy)
        thrum__free(atomic_exchange_explicit(&graph->run_message, copy, memory_order_acq_rel));
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
        thrum__layout_drop(graph);
        thrum__graph_keep_message(graph, thrum__last_fault());
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
    thrum__layout_drop(graph);
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

static bool is_source(const thrum_graph *graph, size_t number, const thrum_task *task)
{
    return number < graph->source_count && (!graph->sources || graph->sources[number] == task);
}

bool thrum__graph_check(const thrum_graph *graph)
{
    if (!(atomic_load_explicit(&graph->state, memory_order_relaxed) & THRUM__FROZEN))
        return true;
    size_t sources = 0;
    uint64_t strong = 0;
    FOR_EACH_TASK(graph, task)
    {
        if (strong_of(task) == 0 && !is_source(graph, sources++, task))
            return false;
        if (atomic_load_explicit(&task->pending, memory_order_relaxed) != strong_of(task))
            return false;
        strong += strong_of(task);
    }
    return sources == graph->source_count && strong == graph->edges && words_agree(graph);
}
