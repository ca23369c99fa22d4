/* SPDX-License-Identifier: MIT
 *
 * The runs of one graph, one at a time and in order.
 *
 * graph->run is the handle of the run under way; its low bit says that others are queued behind it. Changes:
 *
 *   0 -> handle              starting, nothing under way: one exchange
 *   handle -> 0              ending, nothing queued: one exchange
 *   handle -> handle | 1     starting, something under way: under the lock, then the queue is appended to
 *   handle | 1 -> next [| 1] ending, others queued: under the lock
 *
 * So while the bit is set the word changes only under the lock, and the handle under way cannot end without it. An
 * ending run does not touch the graph after its change: the graph may be freed at once. Starting is an acquire and
 * ending a release: each run sees the graph as the one before left it.
 */
#include "exec/exec_int.h"

static const uintptr_t queued = 1;

static bool swap(thrum_graph *graph, uintptr_t seen, uintptr_t next)
{
    return atomic_compare_exchange_strong_explicit(&graph->run, &seen, next, memory_order_acq_rel,
                                                   memory_order_acquire);
}

/* Marks the run under way as having followers: false if there is none (any more). */
static bool mark_queued_locked(thrum_graph *graph)
{
    for (;;) {
        uintptr_t seen = atomic_load_explicit(&graph->run, memory_order_acquire);
        if (seen == 0)
            return false;
        if ((seen & queued) || swap(graph, seen, seen | queued))
            return true;
    }
}

static void append_locked(thrum_graph *graph, thrum_handle *handle)
{
    handle->next = NULL;
    if (graph->first_queued)
        ((thrum_handle *)graph->last_queued)->next = handle;
    else
        graph->first_queued = handle;
    graph->last_queued = handle;
}

/* Acquire, with the release of whoever froze it. */
static bool is_frozen(const thrum_graph *graph)
{
    return atomic_load_explicit(&graph->state, memory_order_acquire) == THRUM__FROZEN;
}

int thrum__graph_enqueue(thrum_handle *handle, bool *now)
{
    thrum_graph *graph = handle->graph;
    *now = true;
    if (!handle->firings && is_frozen(graph) && swap(graph, 0, (uintptr_t)handle))
        return 0;
    thrum__lock_take(&graph->lock);
    int err = thrum__graph_prepare(graph);
    if (!err && handle->firings)
        err = thrum__lanes_prepare(graph);
    while (!err && !swap(graph, 0, (uintptr_t)handle)) {
        if (!mark_queued_locked(graph))
            continue;
        append_locked(graph, handle);
        *now = false;
        break;
    }
    thrum__lock_give(&graph->lock);
    return err;
}

bool thrum__graph_try_begin(thrum_handle *handle)
{
    thrum_graph *graph = handle->graph;
    return is_frozen(graph) && swap(graph, 0, (uintptr_t)handle);
}

bool thrum__graph_try_end(thrum_handle *handle)
{
    return swap(handle->graph, (uintptr_t)handle, 0);
}

int thrum__graph_claim(thrum_handle *handle)
{
    thrum_graph *graph = handle->graph;
    if (thrum__graph_try_begin(handle))
        return 0;
    thrum__lock_take(&graph->lock);
    int err = thrum__graph_prepare(graph);
    if (!err && !swap(graph, 0, (uintptr_t)handle))
        err = THRUM_EBUSY;
    thrum__lock_give(&graph->lock);
    return err;
}

thrum_handle *thrum__graph_end_run(thrum_handle *handle)
{
    thrum_graph *graph = handle->graph;
    if (thrum__root_code(&handle->object.root))
        thrum__graph_keep_message(graph, thrum__root_text(&handle->object.root));
    if (swap(graph, (uintptr_t)handle, 0))
        return NULL;
    thrum__lock_take(&graph->lock);
    thrum__assert(atomic_load_explicit(&graph->run, memory_order_relaxed) == ((uintptr_t)handle | queued));
    thrum_handle *next = graph->first_queued;
    graph->first_queued = next->next;
    atomic_store_explicit(&graph->run, (uintptr_t)next | (next->next ? queued : 0), memory_order_release);
    thrum__lock_give(&graph->lock);
    return next;
}
