/* SPDX-License-Identifier: MIT
 *
 * Observers and the trace: what happens around tasks of an executor that is watched.
 */
#include "exec/exec_int.h"

#include "base/alloc.h"
#include "exec/place.h"
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

/* There are few of jobs, but as many of data as a program has handles. FNV-1a. */
static thrum__kept_text **kept_list(thrum_executor *ex, const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return &ex->kept_texts[hash % THRUM__KEPT_LISTS];
}

const char *thrum__watch_keep_text(thrum_executor *ex, const char *text)
{
    thrum__kept_text **list = kept_list(ex, text);
    thrum__lock_take(&ex->lock);
    thrum__kept_text *kept = *list;
    while (kept && strcmp(kept->text, text) != 0)
        kept = kept->next;
    if (!kept && (kept = thrum__alloc(sizeof *kept + strlen(text) + 1))) {
        strcpy(kept->text, text);
        kept->next = *list;
        *list = kept;
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
            names = thrum__watch_keep_text(w->ex, watch->info.name);
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

/* Tracks have numbers below `next_number`, and those of workers that were put away from there on. */
static size_t all_tracks(thrum_executor *ex, thrum__track *tracks, int next_number)
{
    size_t count = 0;
    for (int number = 0; number < ex->domains; number++)
        count += domain_tracks(thrum__domain(ex, number), tracks + count);
    return count + retired_tracks(ex, tracks + count, next_number);
}

static size_t all_link_tracks(const thrum_executor *ex, thrum__link_track *links, int next_number)
{
    const thrum__places *places = ex->space.places;
    return places ? thrum__places_link_tracks(places, links, next_number) : 0;
}

int thrum__trace_write(thrum_executor *ex)
{
    int workers = 0, retired = (int)retired_tracks(ex, NULL, 0);
    for (int number = 0; number < ex->domains; number++)
        workers += thrum__domain(ex, number)->most;
    size_t links = all_link_tracks(ex, NULL, 0);
    thrum__track *tracks = thrum__alloc((size_t)(workers + retired) * sizeof *tracks);
    thrum__link_track *link_tracks = thrum__alloc((links + 1) * sizeof *link_tracks);
    int err = tracks && link_tracks ? 0 : thrum__fault(THRUM_ENOMEM, "no memory to write the trace '%s'", ex->trace);
    if (!err) {
        size_t count = all_tracks(ex, tracks, workers);
        all_link_tracks(ex, link_tracks, workers + retired);
        err = thrum__chrome_write(ex->trace, &(thrum__trace){tracks, link_tracks, count, links, ex->trace_begin});
    }
    thrum__free(tracks);
    thrum__free(link_tracks);
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
    if (ex->space.places)
        thrum__places_stop(ex->space.places);
    ex->observer = observer ? *observer : (thrum_observer){.context = NULL};
    ex->watched = observer || ex->trace;
    return 0;
}
