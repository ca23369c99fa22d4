/* SPDX-License-Identifier: MIT
 *
 * Runs in line: one worker runs a graph's tasks one after the other as they were created (model/line.c), and tells no
 * successor. Of an empty task that leaves the call: no counter, no list, no deque, and the next record is the next in
 * memory.
 *
 * When. By the graph's edges several workers may share a run, so in line is for tasks which cost less than finding out
 * which of them may run. How long they take is not known but by trying: a graph that was run by its edges some times,
 * in so little time that it may pay, is run in line; from then on that way is taken which took less. What is known of a
 * run in line fades with every run by the edges, so that it is tried again, but rarely if it was much slower.
 *
 * How others get their part. A run in line is alone (door.c), and its tasks are hidden sources. `line`, the number of
 * tasks that have begun, is changed like counters of a run that is alone: by the owner while it is inside. Whoever
 * makes the run a shared one, which is the owner when somebody asks or when it is going to wait in a task, or a raider
 * while the owner is in the middle of one, breaks the line: the last task that has begun is the owner's to complete,
 * all before it have completed, and of the rest those that are ready are the run's sources from then on. That takes as
 * long as going through the edges of what has run, which is less than what was saved by not doing so before.
 *
 * A cancelled run ends where it is: no counter has been touched.
 */
#include "exec/exec_int.h"

/* Runs of each kind before they are compared: the first may find its memory in no cache, and what is in line may be
 * held up. */
enum { TRIED = 2, TRIED_IN_LINE = 3 };
enum { MOST_NS = 1024, MOST_OF_OTHERS_NS = 256 }; /* by the edges for each task, and that times the other workers */
enum { FADES = 64 };     /* its part that what is known of a run in line loses with each other run */
enum { TIMES_LEFT = 4 }; /* the expected time, after which others look whether it is slower than thought */
enum { AHEAD = 2048, ARGUMENTS_AHEAD = 8 }; /* bytes of records; tasks */

/* ---- Whether ----------------------------------------------------------------------------------------------------- */

static bool may_pay(const domain *d, const thrum_graph *graph)
{
    int64_t by_edges = graph->line.graph_ps / 1000;
    return graph->line.graph_runs >= TRIED && by_edges < MOST_NS &&
           by_edges * (d->life.limit - 1) < MOST_OF_OTHERS_NS &&
           (graph->line.line_runs < TRIED_IN_LINE || graph->line.line_ps < graph->line.graph_ps);
}

bool thrum__line_pays(const worker *w, const thrum__run *run)
{
    thrum_graph *graph = run->handle->graph;
    return may_pay(w->domain, graph) && __atomic_load_n(run->attention, __ATOMIC_RELAXED) == 0 &&
           thrum__line_possible(graph);
}

int64_t thrum__line_left_ns(const thrum_graph *graph)
{
    int64_t task_ps = graph->line.line_ps ? graph->line.line_ps : graph->line.graph_ps;
    return TIMES_LEFT * task_ps * (int64_t)thrum__task_count(graph) / 1000;
}

/* Runs may be held up by others, so a slower one counts little, and a faster one at once. */
static int64_t learn(int64_t known, int64_t now)
{
    return known == 0 || now < known + known / 4 ? now : known + known / 4;
}

void thrum__line_note(thrum_graph *graph, bool in_line, int64_t ns)
{
    int64_t *known = in_line ? &graph->line.line_ps : &graph->line.graph_ps;
    uint32_t *runs = in_line ? &graph->line.line_runs : &graph->line.graph_runs;
    *known = learn(*known, 1 + ns * 1000 / (int64_t)thrum__task_count(graph));
    *runs += *runs < TRIED_IN_LINE;
    if (!in_line)
        graph->line.line_ps -= graph->line.line_ps / FADES;
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

/* False: the run is a shared one, and the line broken. Whoever asks is served by that. */
static bool enter(worker *w, const thrum__run *run)
{
    while (!thrum__alone_enter(w, run)) {
        if (atomic_load_explicit(&run->sharing, memory_order_acquire) != RUN_ALONE)
            return false;
        thrum__push_slow(w);
    }
    return true;
}

/* The tasks from *number on that lie side by side. False: not all of them were called. *last is the last that has
 * begun. */
static bool run_neighbours(worker *w, thrum__run *run, uint64_t *number, uint64_t count, thrum_task **last)
{
    size_t neighbours;
    const uint32_t *attention = run->attention;
    thrum_task *task = thrum__task_number_at(run->handle->graph, *number, &neighbours);
    const thrum_task *end = task + (neighbours < count - *number ? neighbours : count - *number);
    for (; task < end; task++) {
        __builtin_prefetch((const char *)task + AHEAD);
        if (task + ARGUMENTS_AHEAD < end)
            __builtin_prefetch(task[ARGUMENTS_AHEAD].arg);
        if (!enter(w, run))
            return false;
        atomic_store_explicit(&run->line, ++*number, memory_order_relaxed);
        thrum__alone_leave(w);
        *last = task;
        if (__builtin_expect(__atomic_load_n(attention, __ATOMIC_RELAXED) != 0, 0))
            return false;
        task->fn.plain(task->arg);
    }
    return true;
}

/* Where the line has come to its end, nothing is left to be taken, and where the run is cancelled nothing is called any
 * more. */
static bool end_line(worker *w, thrum__run *run)
{
    if (!enter(w, run))
        return false;
    atomic_store_explicit(&run->in_line, false, memory_order_relaxed);
    thrum__unhide_sources(w);
    thrum__alone_leave(w);
    return true;
}

thrum_task *thrum__line_run(worker *w, thrum__run *run)
{
    uint64_t count = thrum__task_count(run->handle->graph), number = 0;
    thrum_task *last = NULL;
    while (number < count && run_neighbours(w, run, &number, count, &last))
        ;
    return end_line(w, run) ? NULL : last;
}

void thrum__line_break_off(thrum__run *run)
{
    thrum_graph *graph = run->handle->graph;
    uint64_t begun = atomic_load_explicit(&run->line, memory_order_relaxed);
    atomic_store_explicit(&run->in_line, false, memory_order_relaxed);
    atomic_store_explicit(&run->cursor, 0, memory_order_relaxed);
    if (begun == 0)
        return;
    run->count = thrum__line_break(graph, begun);
    run->sources = graph->line.rest;
}
