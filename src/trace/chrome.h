/* SPDX-License-Identifier: MIT
 *
 * Writing a trace in the JSON format that Chrome's tracing page and Perfetto read: one track per worker, one complete
 * event per task; and one track per way between two memory nodes, one complete event per copy, and an instant event
 * where content was thrown out that was elsewhere too. What a worker did for want of work, and which nodes a way
 * connects, is in metadata events of their tracks, "thrum_stats" and "thrum_link", which are for `thrum trace`; other
 * programs pass over them.
 */
#ifndef THRUM_TRACE_CHROME_H
#define THRUM_TRACE_CHROME_H

#include <thrum/executor.h>

#include "conc/ring.h"

#include <stddef.h>

typedef struct thrum__track {
    const char *domain, *kind; /* domain: "" for the first */
    int index;                 /* in its domain */
    int number;                /* in the executor; each track has another */
    const thrum__ring *ring;
    thrum_worker_stats stats;
} thrum__track;

/* Those without events are left out. What is thrown out of a node is in its way home. */
typedef struct thrum__link_track {
    int from, to; /* memory nodes */
    int number;   /* as of workers, another */
    const thrum__ring *ring;
} thrum__link_track;

typedef struct thrum__trace {
    const thrum__track *tracks;
    const thrum__link_track *links;
    size_t track_count, link_count;
    int64_t begin; /* times are written relative to it */
} thrum__trace;

/* 0, or THRUM_ESYSTEM with a sentence that names the file. */
int thrum__chrome_write(const char *path, const thrum__trace *trace);

#endif
