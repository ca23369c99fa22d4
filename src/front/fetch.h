/* SPDX-License-Identifier: MIT
 *
 * What a kernel is about to touch is asked for while it is being called.
 *
 * A processor sees by itself where a kernel goes that runs along memory. But a matrix that is written is often gone
 * through a few elements of each column at a time, which no processor foresees. So it is asked for as a whole, where it
 * fits into a small part of a core's own cache, the kernel is known to take much longer than asking, and the thread has
 * not written the same just before.
 *
 * A hint: nothing depends on it. docs/benchmarking.md has what it brings.
 */
#ifndef THRUM_FRONT_FETCH_H
#define THRUM_FRONT_FETCH_H

#include "exec/stream.h"
#include "model/job.h"

/* What the thread's last job wrote of this kind: an address to compare with, no more. */
extern _Thread_local const thrum_data *thrum__last_written;

/* Of two dimensions or more, and written. */
void thrum__fetch_written(const thrum__stream *stream, const thrum_codelet *codelet, const thrum_buffer *buffer);

/* The job's accesses read or write, and its buffers are filled in. */
static inline void thrum__fetch_ahead(const thrum__stream *stream, const thrum__job *job, const thrum_codelet *codelet,
                                      const thrum_buffer *buffers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (buffers[i].dims > 1 && job->access[i].mode != THRUM_MODE_R && buffers[i].data != thrum__last_written)
            thrum__fetch_written(stream, codelet, &buffers[i]);
}

#endif
