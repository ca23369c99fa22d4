/* SPDX-License-Identifier: MIT
 *
 * Writing a trace in the JSON format that Chrome's tracing page and Perfetto read: one track per worker, one complete
 * event per task.
 */
#ifndef THRUM_TRACE_CHROME_H
#define THRUM_TRACE_CHROME_H

#include "conc/ring.h"

#include <stddef.h>

typedef struct thrum__track {
    const char *domain, *kind; /* domain: "" for the first */
    int index;                 /* in its domain */
    int number;                /* in the executor; each track has another */
    const thrum__ring *ring;
} thrum__track;

/* Times are written relative to `begin`. 0, or THRUM_ESYSTEM with a sentence that names the file. */
int thrum__chrome_write(const char *path, const thrum__track *tracks, size_t count, int64_t begin);

#endif
