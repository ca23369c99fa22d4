/* SPDX-License-Identifier: MIT */
#include "front/fetch.h"

enum { LINE = 64, LINES_MOST = 1024 };
enum { LINE_NS = 8 }; /* the kernel takes at least so long for each: asking for one that is there takes half a ns */

_Thread_local const thrum_data *thrum__last_written;

static void fetch_column(const char *column, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch(column + at, 1);
}

/* Of three dimensions or more the first two. */
void thrum__fetch_written(const thrum__stream *stream, const thrum_codelet *codelet, const thrum_buffer *buffer)
{
    size_t columns = buffer->extent[1], bytes = buffer->elem * buffer->extent[0], lines;
    thrum__last_written = buffer->data;
    if (__builtin_mul_overflow(columns, (bytes - 1) / LINE + 1, &lines) || lines > LINES_MOST ||
        thrum__stream_known_ns(stream, codelet) < (int64_t)(lines * LINE_NS))
        return;
    const char *column = buffer->ptr;
    for (size_t i = 0; i < columns; i++, column += buffer->elem * buffer->stride[1])
        fetch_column(column, bytes);
}
