/* SPDX-License-Identifier: MIT
 *
 * Writing a trace in the JSON format that Chrome's tracing page and Perfetto read: one track per worker, one complete
 * event per task. What a worker did for want of work is in a metadata event of its track, "thrum_stats", which is for
 * `thrum trace`; other programs pass over it.
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

/* Times are written relative to `begin`. 0, or THRUM_ESYSTEM with a sentence that names the file. */
int thrum__chrome_write(const char *path, const thrum__track *tracks, size_t count, int64_t begin);

#endif
