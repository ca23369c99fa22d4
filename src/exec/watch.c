/* SPDX-License-Identifier: MIT
 *
 * Observers and the trace: what happens around tasks of an executor that is watched.
 */
#include "exec/exec_int.h"

#include "base/alloc.h"
#include "sys/clock.h"
#include "trace/chrome.h"

#include <string.h>

void thrum__watch_begin(worker *w, watch *watch, const thrum_task *task, int64_t number)
{
    const thrum__names *names = task ? thrum__chunk_of(task)->graph->names : NULL;
    watch->info = (thrum_task_info){.task = task,
                                    .name = names ? thrum__names_task(names, number) : "",
                                    .graph = names ? names->graph : "",
                                    .number = number,
                                    .worker = w->domain->base + w->index};
    if (w->ex->observer.begin) {
        thrum_task_info shown = watch->info;
        shown.number = number < 0 ? -1 : number;
        w->ex->observer.begin(w->ex->observer.context, &shown);
    }
    watch->begin = w->ring.events ? thrum__now() : 0;
}

/* A copy that stays as long as the executor: names of jobs may be gone when the trace is written. There are few. NULL
 * without memory. */
static const char *kept_text(thrum_executor *ex, const char *text)
{
    thrum__lock_take(&ex->lock);
    thrum__kept_text *kept = ex->kept_texts;
    while (kept && strcmp(kept->text, text) != 0)
        kept = kept->next;
    if (!kept && (kept = thrum__alloc(sizeof *kept + strlen(text) + 1))) {
        strcpy(kept->text, text);
        kept->next = ex->kept_texts;
        ex->kept_texts = kept;
    }
    thrum__lock_give(&ex->lock);
    return kept ? kept->text : NULL;
}

void thrum__watch_begin_job(worker *w, watch *watch, const char *name)
{
    watch->info =
        (thrum_task_info){.name = name, .graph = "", .number = THRUM__EVENT_JOB, .worker = w->domain->base + w->index};
    if (w->ex->observer.begin) {
        thrum_task_info shown = watch->info;
        shown.number = -1;
        w->ex->observer.begin(w->ex->observer.context, &shown);
    }
    watch->begin = w->ring.events ? thrum__now() : 0;
}

void thrum__watch_end(worker *w, const watch *watch)
{
    const thrum_task *task = watch->info.task;
    if (w->ring.events) {
        int64_t end = thrum__now();
        const void *names = task ? thrum__chunk_of(task)->graph->names : NULL;
        if (watch->info.number == THRUM__EVENT_JOB)
            names = kept_text(w->ex, watch->info.name);
        thrum__event event = {watch->begin, end, names, watch->info.number};
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

static size_t domain_tracks(const domain *d, thrum__track *tracks)
{
    static const char *const kinds[] = {"worker", "stand-in", "caller", "flow"};
    int count = atomic_load_explicit(&d->count, memory_order_acquire);
    for (int i = 0; i < count; i++)
        tracks[i] = (thrum__track){d->name ? d->name : "", kinds[d->workers[i]->kind],        i, d->base + i,
                                   &d->workers[i]->ring,   thrum__worker_stats(d->workers[i])};
    return (size_t)count;
}

/* Workers that thrum_executor_resize has put away: their numbers follow behind all others. */
static size_t retired_tracks(const thrum_executor *ex, thrum__track *tracks, int next_number)
{
    size_t count = 0;
    for (const worker *w = ex->retired; w; w = w->outer, count++)
        if (tracks)
            tracks[count] = (thrum__track){"",       "former worker",       (int)count, next_number + (int)count,
                                           &w->ring, thrum__worker_stats(w)};
    return count;
}

int thrum__trace_write(thrum_executor *ex)
{
    size_t most = retired_tracks(ex, NULL, 0), count = 0;
    int next_number = 0;
    for (int number = 0; number < ex->domains; number++)
        next_number += thrum__domain(ex, number)->most;
    most += (size_t)next_number;
    thrum__track *tracks = thrum__alloc(most * sizeof *tracks);
    if (!tracks)
        return thrum__fault(THRUM_ENOMEM, "no memory to write the trace '%s'", ex->trace);
    for (int number = 0; number < ex->domains; number++)
        count += domain_tracks(thrum__domain(ex, number), tracks + count);
    count += retired_tracks(ex, tracks + count, next_number);
    int err = thrum__chrome_write(ex->trace, tracks, count, ex->trace_begin);
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
