/* SPDX-License-Identifier: MIT
 *
 * Graphs: tasks with explicit edges, built once and run as often as wanted.
 *
 * A graph owns its tasks; a task's handle stays valid until the graph is freed. One thread at a time may build a graph.
 * Before its first run a graph is checked and *frozen*: its successor lists are laid out for speed. A later building
 * call thaws it again by itself; `thrum_graph_freeze` and `thrum_graph_thaw` do it at a moment of the user's choice.
 *
 * Any thread may start runs. Several runs of one graph queue up in the order in which they were started; runs of
 * different graphs overlap. While a run is under way or queued, the graph can be neither changed nor freed:
 * THRUM_EBUSY, and the run is not disturbed.
 */
#ifndef THRUM_GRAPH_H
#define THRUM_GRAPH_H

#include <thrum/executor.h>
#include <thrum/scope.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

THRUM_BEGIN_C

typedef struct thrum_task thrum_task;

/* A new, empty graph. The name is copied and may be NULL. NULL when there is no memory. */
THRUM_API thrum_graph *thrum_graph_new(const char *name);

/* Frees the graph and its tasks. THRUM_EBUSY while it runs: nothing is freed. NULL does nothing. */
THRUM_API int thrum_graph_free(thrum_graph *graph);

/* A task that calls fn(arg). Returns NULL on failure, and the graph keeps the error. */
THRUM_API thrum_task *thrum_task_new(thrum_graph *graph, thrum_fn *fn, void *arg);

/* A task that is given a scope to spawn tasks or build a subgraph in; the scope is joined before the task completes. */
THRUM_API thrum_task *thrum_scope_task_new(thrum_graph *graph, thrum_scope_fn *fn, void *arg);

/* A condition calls fn(arg), whose value names the successor that runs next: 0 for the one whose edge was added first,
 * and so on; THRUM_STOP for none. Any other value fails the run. Edges that part from a condition are *weak*: the task
 * that they lead to does not wait for them. It runs when its other predecessors have completed, or when a condition
 * names it; and then its counting of predecessors begins anew, so a way back to a task that has run is a loop. A
 * condition may name itself. A run starts with the tasks that no edge leads to. */
enum { THRUM_STOP = -1 };
typedef int thrum_condition_fn(void *arg);
THRUM_API thrum_task *thrum_condition_new(thrum_graph *graph, thrum_condition_fn *fn, void *arg);

/* A condition that may name several successors, which then run at the same time: fn writes their numbers to `picks`,
 * where there is room for `room` of them (as many as it has successors), and returns how many it wrote. Each is named
 * once: one that is named twice runs twice, perhaps at the same time. */
typedef size_t thrum_choice_fn(int *picks, size_t room, void *arg);
THRUM_API thrum_task *thrum_choice_new(thrum_graph *graph, thrum_choice_fn *fn, void *arg);

/* A task that runs another graph as part of this one: it completes when all of that graph has. The graph is not copied:
 * it must live as long as this one runs, can be a module of several graphs or tasks, and can be run by itself; but not
 * at the same time: a module that is to run while its graph is running fails the run with THRUM_EBUSY. An error in it
 * is an error of the run. Modules may be nested to any depth. */
THRUM_API thrum_task *thrum_module_new(thrum_graph *graph, thrum_graph *module);

/* A task made first, its work set later. Without work it does nothing when it runs: a meeting point. */
THRUM_API thrum_task *thrum_placeholder_new(thrum_graph *graph);
THRUM_API int thrum_task_set(thrum_task *task, thrum_fn *fn, void *arg);
THRUM_API int thrum_task_set_scope(thrum_task *task, thrum_scope_fn *fn, void *arg);
THRUM_API int thrum_task_set_condition(thrum_task *task, thrum_condition_fn *fn, void *arg);
THRUM_API int thrum_task_set_choice(thrum_task *task, thrum_choice_fn *fn, void *arg);

/* Names a task, for messages, pictures and traces; the text is copied. `thrum_task_name` gives it, or "". */
THRUM_API int thrum_task_set_name(thrum_task *task, const char *name);
THRUM_API const char *thrum_task_name(const thrum_task *task);

/* The task's number in its graph, counted from 0 in the order of creation; -1 for NULL. */
THRUM_API int64_t thrum_task_number(const thrum_task *task);

/* Makes room for `tasks` more tasks, so that creating them cannot fail. A graph holds fewer than 2^31 tasks. */
THRUM_API int thrum_graph_reserve(thrum_graph *graph, uint64_t tasks);

/* `before` runs before `after`. The same edge added twice counts once for each. */
THRUM_API int thrum_edge(thrum_task *before, thrum_task *after);
THRUM_API int thrum_edges_out(thrum_task *before, thrum_task *const *after, size_t count);
THRUM_API int thrum_edges_in(thrum_task *after, thrum_task *const *before, size_t count);

/* thrum_precede(a, b, c): a before b and c.  thrum_succeed(d, b, c): d after b and c. */
#ifndef __cplusplus
#define THRUM_TASKS_(...) ((thrum_task *[]){__VA_ARGS__})
#define THRUM_COUNT_(...) (sizeof THRUM_TASKS_(__VA_ARGS__) / sizeof(thrum_task *))
#define thrum_precede(task, ...) thrum_edges_out((task), THRUM_TASKS_(__VA_ARGS__), THRUM_COUNT_(__VA_ARGS__))
#define thrum_succeed(task, ...) thrum_edges_in((task), THRUM_TASKS_(__VA_ARGS__), THRUM_COUNT_(__VA_ARGS__))
#endif

/* Checks the graph and lays it out. Tasks that wait for each other in a circle (one of strong edges) or a graph in
 * which none can start are errors that name tasks, and the graph can be changed and frozen again afterwards. */
THRUM_API int thrum_graph_freeze(thrum_graph *graph);
THRUM_API int thrum_graph_thaw(thrum_graph *graph);

/* Runs the graph once, or n times one after the other, and waits. 0 or the first error. n = 0 runs nothing. */
THRUM_API int thrum_run(thrum_executor *ex, thrum_graph *graph);
THRUM_API int thrum_run_n(thrum_executor *ex, thrum_graph *graph, uint64_t n);

/* Runs the graph one time after the other until done(arg) is true, which is asked before each of them, the first one
 * too: by the calling thread and by workers, never by two at once. */
typedef bool thrum_until_fn(void *arg);
THRUM_API int thrum_run_until(thrum_executor *ex, thrum_graph *graph, thrum_until_fn *done, void *arg);

/* The same without waiting: a handle, to be released. NULL on failure; `thrum_message(NULL)` says why. */
THRUM_API thrum_handle *thrum_start(thrum_executor *ex, thrum_graph *graph);
THRUM_API thrum_handle *thrum_start_n(thrum_executor *ex, thrum_graph *graph, uint64_t n);
THRUM_API thrum_handle *thrum_start_until(thrum_executor *ex, thrum_graph *graph, thrum_until_fn *done, void *arg);

/* The same with a context for this run, which its tasks get from `thrum_context`: so one graph serves many data sets,
 * one after the other, or at the same time by clones. NULL outside tasks and where none was given. */
THRUM_API int thrum_run_with(thrum_executor *ex, thrum_graph *graph, void *context);
THRUM_API thrum_handle *thrum_start_with(thrum_executor *ex, thrum_graph *graph, void *context);
THRUM_API void *thrum_context(void);

/* Iteration distance: an edge may lead into the next iteration of the graph. After thrum_precede_next(a, b), b of
 * iteration i + 1 waits for a of iteration i; a and b may be one task, which says nothing new: every task waits for its
 * own previous iteration. thrum_run_pipelined runs n iterations without a barrier between them: each task runs n times,
 * once for each iteration and in their order, as soon as what it waits for has been done. A circle of such edges is no
 * mistake.
 *
 * How far tasks run ahead is limited by the graph's depth K: a task begins iteration i only when all tasks that wait
 * for its iteration i - K have done with it. So what a task hands to another, by an edge of either kind, needs K
 * places: i % K. Tasks that no edge connects may be any number of iterations apart. thrum_graph_set_depth sets K, from
 * 2 to THRUM_DEPTH_MOST; without it K is 2.
 *
 * In a pipelined run a module counts as one task, a scope is joined before its task's iteration ends, and detached
 * functions are joined at the end of the run. Conditions can only be in modules: else the run is refused with
 * THRUM_EINVAL, as is an edge into the next iteration from or to one. thrum_run, thrum_run_n and thrum_run_until have a
 * barrier between iterations, by which these edges hold already. */
enum { THRUM_DEPTH_MOST = 16 };
THRUM_API int thrum_precede_next(thrum_task *before, thrum_task *after);
THRUM_API int thrum_graph_set_depth(thrum_graph *graph, unsigned depth);
THRUM_API int thrum_run_pipelined(thrum_executor *ex, thrum_graph *graph, uint64_t n);
THRUM_API thrum_handle *thrum_start_pipelined(thrum_executor *ex, thrum_graph *graph, uint64_t n);

/* The iteration that the calling task is in, counted from 0, in runs of every kind; in a module's graph and in a graph
 * built in a scope it is that of the task it belongs to. 0 outside tasks. Functions that a task spawns should be handed
 * it: in pipelined runs they are not told. */
THRUM_API uint64_t thrum_iteration(void);

/* A graph with the same tasks, edges and names, to be run at the same time. Arguments are the same pointers; modules
 * run the same graphs. Freezes the graph. NULL on failure. */
THRUM_API thrum_graph *thrum_graph_clone(thrum_graph *graph);

/* A sentence on what is allowed and yet suspect in the graph, freezing it; empty if there is nothing, NULL on failure:
 * a task that waits for others and to which a condition has an edge that can be reached without passing the task. Then
 * the condition and the others race: the task may run twice or with its counting disturbed. A loop back to a task that
 * has run is not meant. Valid until the next call with this graph. `thrum_graph_strict` makes it an error of
 * freezing. */
THRUM_API const char *thrum_graph_warning(thrum_graph *graph);
THRUM_API int thrum_graph_strict(thrum_graph *graph, bool strict);

typedef struct thrum_graph_stats {
    uint64_t tasks, edges, sources, sinks;
    uint64_t span;          /* tasks on the longest path */
    double work, span_work; /* sum of all weights; weight of the heaviest path */
    size_t bytes;           /* memory the graph holds */
} thrum_graph_stats;

/* Counts the graph, freezing it first. `weight` gives a task's weight; NULL: 1 each. */
THRUM_API int thrum_graph_measure(thrum_graph *graph, double (*weight)(const thrum_task *task, void *arg), void *arg,
                                  thrum_graph_stats *stats);

/* Calls `visit` for every task in the order of creation, with its successors in the order in which they were added. */
typedef void thrum_visit_fn(const thrum_task *task, const thrum_task *const *successors, size_t count, void *arg);
THRUM_API int thrum_graph_visit(thrum_graph *graph, thrum_visit_fn *visit, void *arg);

/* Writes the graph in Graphviz' DOT language. Conditions are diamonds with dashed edges; a module is a cluster with the
 * tasks of its graph, which is frozen and read too and so must be alive, and so on inward. Of modules that are in each
 * other, 32 levels are drawn, of all modules the first 1000; the others, and those whose graph has failed, are single
 * nodes. */
THRUM_API int thrum_graph_dot(thrum_graph *graph, FILE *out);

THRUM_END_C

#ifdef __cplusplus
template <class... Tasks> inline int thrum_precede(thrum_task *task, Tasks... after)
{
    thrum_task *list[] = {after...};
    return thrum_edges_out(task, list, sizeof...(after));
}
template <class... Tasks> inline int thrum_succeed(thrum_task *task, Tasks... before)
{
    thrum_task *list[] = {before...};
    return thrum_edges_in(task, list, sizeof...(before));
}
#endif

#endif
