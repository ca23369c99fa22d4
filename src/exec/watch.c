/* SPDX-License-Identifier: MIT
 *
 * Observers and the trace: what happens around tasks of an executor that is watched.
 */
#include "exec/exec_int.h"

#include "base/alloc.h"
#include "sys/clock.h"
#include "trace/chrome.h"

void thrum__watch_begin(worker *w, watch *watch, const thrum_task *task, int64_t number)
{
    const thrum__names *names = task ? thrum__chunk_of(task)->graph->names : NULL;
    watch->info = (thrum_task_info){.task = task,
                                    .name = names ? thrum__names_task(names, number) : "",
                                    .graph = names ? names->graph : "",
                                    .number = number,
                                    .worker = w->index};
    if (w->ex->observer.begin) {
        thrum_task_info shown = watch->info;
        shown.number = number < 0 ? -1 : number;
        w->ex->observer.begin(w->ex->observer.context, &shown);
    }
    watch->begin = w->ring.events ? thrum__now() : 0;
}

void thrum__watch_end(worker *w, const watch *watch)
{
    const thrum_task *task = watch->info.task;
    if (w->ring.events) {
        const thrum__names *names = task ? thrum__chunk_of(task)->graph->names : NULL;
        thrum__event event = {watch->begin, thrum__now(), names, watch->info.number};
        thrum__ring_put(&w->ring, &event);
    }
    if (w->ex->observer.end) {
        thrum_task_info shown = watch->info;
        shown.number = shown.number < 0 ? -1 : shown.number;
        w->ex->observer.end(w->ex->observer.context, &shown);
    }
}

/* Names are looked up when the trace is written, maybe after the graph is gone: the executor holds them. */
int thrum__watch_hold_names(thrum_executor *ex, thrum_graph *graph)
{
    thrum__lock_take(&ex->lock);
    bool held = false;
    for (const thrum__held_names *h = ex->held_names; h && !held; h = h->next)
        held = h->names == graph->names;
    thrum__held_names *node = held ? NULL : thrum__alloc(sizeof *node);
    if (node) {
        *node = (thrum__held_names){ex->held_names, thrum__names_hold(graph->names)};
        ex->held_names = node;
    }
    thrum__lock_give(&ex->lock);
    return held || node ? 0
                        : thrum__fault(THRUM_ENOMEM, "no memory to keep the names of graph '%s' for the trace",
                                       graph->names->graph);
}

int thrum__trace_write(thrum_executor *ex)
{
    domain *d = &ex->cpu;
    int count = atomic_load_explicit(&d->count, memory_order_acquire);
    thrum__track *tracks = thrum__alloc((size_t)count * sizeof *tracks);
    if (!tracks)
        return thrum__fault(THRUM_ENOMEM, "no memory to write the trace '%s'", ex->trace);
    static const char *const kinds[] = {"worker", "stand-in", "caller"};
    for (int i = 0; i < count; i++)
        tracks[i] =
            (thrum__track){kinds[d->workers[i]->kind], i, &d->workers[i]->ring, thrum__worker_stats(d->workers[i])};
    int err = thrum__chrome_write(ex->trace, tracks, (size_t)count, ex->trace_begin);
    thrum__free(tracks);
    return err;
}

int thrum_executor_observe(thrum_executor *ex, const thrum_observer *observer)
{
    ex = thrum__executor_or_default(ex);
    int err = ex ? thrum__executor_usable(ex, "thrum_executor_observe") : thrum__last_code();
    if (err)
        return err;
    if (!thrum__executor_comes_to_rest(ex, 10000000))
        return thrum__fault(THRUM_EBUSY, "thrum_executor_observe: something runs on the executor; wait for it to end");
    ex->observer = observer ? *observer : (thrum_observer){NULL, NULL, NULL};
    ex->watched = observer || ex->trace;
    return 0;
}
