/* SPDX-License-Identifier: MIT
 *
 * Flows: tasks in program order, each with the data it touches; the runtime finds out which of them can run at the same
 * time.
 *
 *     thrum_flow *flow = thrum_flow_new(NULL);
 *     thrum_data *x = thrum_data_vector(NULL, memory, n, sizeof(double));
 *     thrum_insert(flow, &fill, THRUM_W(x));
 *     thrum_insert(flow, &scale, THRUM_RW(x), THRUM_ARG(factor));
 *     int err = thrum_flow_wait(flow);
 *     thrum_data_unregister(x);
 *     thrum_flow_free(flow);
 *
 * The result is that of running the tasks one after the other in the order of insertion. A task waits for the last task
 * before it that wrote what it reads, and for all that read or wrote what it writes. Tasks of different flows that
 * share a handle are ordered the same way, by the order of the calls.
 *
 * One thread at a time inserts into a flow; several flows may be filled at the same time. A task may have a flow of its
 * own, but not a kernel on a device: it holds memory there, and what it waited for might need some (THRUM_EDEADLOCK).
 */
#ifndef THRUM_FLOW_H
#define THRUM_FLOW_H

#include <thrum/codelet.h>

THRUM_BEGIN_C

typedef struct thrum_flow thrum_flow;

/* NULL on failure. */
THRUM_API thrum_flow *thrum_flow_new(thrum_executor *ex);

/* Adds a task: thrum_insert(flow, &codelet, item, ...), items as in codelet.h. It may begin at once, and if callers
 * help (executor.h) an insertion may run it or others of the flow in the calling thread: small ones; on an executor
 * with one worker those of codelets whose tasks in this flow have taken less than 4 ms so far; and, from when more than
 * 128 tasks a worker were under way until the thread stays away for some milliseconds, those of codelets whose tasks
 * have taken less than 0.2 ms so far. So a task that waits for what the inserting thread does later needs a codelet of
 * its own, or callers that do not help. Where too many tasks are under way (the window), it first waits, and runs any
 * of them meanwhile if it may.
 *
 * 0 or an error, which the flow keeps: later insertions do nothing and waiting returns it. Errors found here: a handle
 * of another executor or NULL, the same handle twice with one of them writing, reading what nobody has written, writing
 * parts that overlap, a handle that is partitioned, a codelet without an implementation for any worker, no memory. */
THRUM_API int thrum_insert_items(thrum_flow *flow, const thrum_codelet *codelet, const thrum_item *items, size_t count);
#ifndef __cplusplus
#define thrum_insert(flow, codelet, ...)                                                                               \
    thrum_insert_items((flow), (codelet), THRUM_ITEMS_(__VA_ARGS__), THRUM_ITEM_COUNT_(__VA_ARGS__))
#endif

/* Waits until all tasks that were inserted have ended: 0, or the first error of a task or an insertion, after which
 * tasks that had not begun were left out. The flow is then as new. In a task of the same flow: THRUM_EDEADLOCK. */
THRUM_API int thrum_flow_wait(thrum_flow *flow);

/* Waits, and frees the flow. The same return value as waiting. NULL does nothing. */
THRUM_API int thrum_flow_free(thrum_flow *flow);

/* How many tasks may have been inserted and not have ended, so that endless flows need bounded memory. THRUM_WINDOW
 * says how many without this call. At least 2. */
THRUM_API int thrum_flow_set_window(thrum_flow *flow, size_t tasks);

/* How many tasks have been inserted since it was made. */
THRUM_API uint64_t thrum_flow_count(const thrum_flow *flow);

/* ---- Partitions, in the flow's order ----------------------------------------------------------------------------- */

/* From here on the handle's parts are used instead of it (data.h: thrum_cut, thrum_data_part), until the unpartition.
 * Nothing waits: tasks on parts run after those on the whole that were inserted before. Both keep errors as an
 * insertion does. Errors: the handle is partitioned already, is acquired, cannot be cut that way (more pieces than
 * elements); for the unpartition, a part is partitioned itself. */
THRUM_API int thrum_partition(thrum_flow *flow, thrum_data *data, const thrum_cut *cut);
THRUM_API int thrum_unpartition(thrum_flow *flow, thrum_data *data);

/* ---- Recording --------------------------------------------------------------------------------------------------- */

/* A flow that runs nothing: what is inserted becomes tasks of the graph, with the edges that follow from the accesses.
 * The graph can be run as often as wanted, without finding them out again, and extended by other tasks and edges.
 * thrum_flow_free ends the recording; waiting for such a flow, and acquiring a handle that it uses, is THRUM_EINVAL.
 * Partitions are recorded too: parts stay valid as long as the graph lives. Handles can be exchanged for others with
 * thrum_graph_bind. */
THRUM_API thrum_flow *thrum_flow_record(thrum_executor *ex, thrum_graph *graph);

THRUM_END_C

#ifdef __cplusplus
template <class... Items> inline int thrum_insert(thrum_flow *flow, const thrum_codelet *codelet, Items... items)
{
    const thrum_item list[] = {items...};
    return thrum_insert_items(flow, codelet, list, sizeof...(items));
}
#endif

#endif
