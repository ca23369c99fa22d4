/* SPDX-License-Identifier: MIT
 *
 * Reads a trace in Chrome's format and sums it up.
 *
 * A lane is one thread of the trace: a worker, or a thread that helped while a worker slept. A worker that waits in a
 * task runs other tasks inside it, so the events of a lane may be nested; `busy` counts such time once.
 *
 * A link is the way from one memory node to another, with the copies over it. What was thrown out of a node belongs to
 * its way home.
 */
#ifndef THRUM_TOOLS_TRACE_READ_H
#define THRUM_TOOLS_TRACE_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct trace_event {
    double begin, length; /* seconds; begin is counted from the first event of the trace */
    size_t lane, name;    /* indices into lanes and names */
    bool nested;          /* ran inside another event of its lane */
};

/* What a worker did for want of work, as in thrum_worker_stats. */
struct trace_stats {
    bool known; /* the recorder has written it */
    long long steals, wasted, sleeps, wakes, naps;
};

struct trace_lane {
    long long thread;
    char *label;
    double busy; /* seconds */
    size_t events;
    bool helper; /* no worker: took the place of one, so it does not add to what could have been done */
    struct trace_stats stats;
};

/* All events with one name. The times include what was nested in them. */
struct trace_name {
    char *text;
    size_t count;
    double total, longest;
};

struct trace_copy {
    double begin, length; /* as of events */
    size_t link;
};

struct trace_link {
    long long thread, from, to;
    size_t copies, prefetched, written_back; /* the last two are among the first */
    size_t thrown_out;                       /* at once: the content was elsewhere too */
    double bytes, busy;
};

struct trace {
    struct trace_event *events; /* by lane, then by begin */
    struct trace_lane *lanes;   /* by thread */
    struct trace_name *names;   /* in order of first appearance */
    struct trace_copy *copies;  /* by link, then by begin */
    struct trace_link *links;   /* as in the file */
    size_t event_count, lane_count, name_count, copy_count, link_count;
    double makespan; /* from the first begin to the last end, of tasks and copies */
    double busy;     /* of all lanes */
    size_t workers;  /* lanes that are no helpers */
    bool nested;
    long long lost;           /* events that the recorder overwrote */
    struct trace_stats stats; /* of all lanes */
};

/* 0, or -1 with a sentence in `why`; then there is nothing to free. */
int trace_read(const char *path, struct trace *trace, char *why, size_t why_size);
/* The same with the file's content, which a zero follows; sentences name `path`. */
int trace_read_text(const char *text, size_t size, const char *path, struct trace *trace, char *why, size_t why_size);
void trace_free(struct trace *trace);

/* The share of the whole that lane `lane`, or link `link`, was busy in each of `count` equal slices of the makespan,
 * 0 to 1. */
void trace_slices(const struct trace *trace, size_t lane, double *slices, size_t count);
void trace_link_slices(const struct trace *trace, size_t link, double *slices, size_t count);

/* The indices of the names by falling total time, to be freed; NULL without memory. */
size_t *trace_ranking(const struct trace *trace);

#endif
