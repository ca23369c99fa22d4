/* SPDX-License-Identifier: MIT */
#ifndef THRUM_MODEL_GRAPH_INT_H
#define THRUM_MODEL_GRAPH_INT_H

#include "model/graph.h"

/* Memory for logs comes in rooms: sizes of the first, the second and all further ones. A chunk's log takes a block of
 * LOG_BLOCK from the newest room, or the rest if there is less. */
enum { THRUM__LOG_FIRST = 1 << 11, THRUM__LOG_SECOND = 1 << 17, THRUM__LOG_FURTHER = 1 << 21 };
enum { THRUM__LOG_BLOCK = 1 << 14, THRUM__LOG_LEAST = 1 << 8 };

typedef struct thrum__log_edge {
    uint32_t from, to; /* places */
} thrum__log_edge;

/* A block of a chunk's log; older blocks are full, the newest one up to chunk->edge. */
typedef struct thrum__log {
    struct thrum__log *older;
    thrum__log_edge *end;
    thrum__log_edge edges[];
} thrum__log;

typedef struct thrum__log_room {
    struct thrum__log_room *older;
    char *next, *end;
} thrum__log_room;

typedef struct thrum__slab {
    struct thrum__slab *older;
    void *memory;
    size_t bytes;
} thrum__slab;

/* An argument that the graph owns. Of those that are counted, which are run by the thousand, what a run needs lies side
 * by side in rooms of their own, and this, with what a run does not need, elsewhere. */
typedef struct thrum__kept {
    struct thrum__kept *older;
    size_t size, rest_size;
    thrum__kept_fn *counted; /* NULL: nobody wants to know, and the argument is in `rest` */
    void *bytes;
    _Alignas(16) char rest[];
} thrum__kept;

/* Where arguments lie side by side: each begins a cache line, with the address of its thrum__kept. */
typedef struct thrum__kept_room {
    struct thrum__kept_room *older;
    char *memory;
    size_t size, used;
} thrum__kept_room;

/* A copy that the graph owns, or NULL. */
void *thrum__graph_keep(thrum_graph *graph, const void *bytes, size_t size);

/* Keeps the graph's first error; returns `code`. */
int thrum__graph_fail(thrum_graph *graph, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Whether the graph may be changed now, thawing it if needed: 0 or an error. */
int thrum__graph_open(thrum_graph *graph, const char *what);

thrum_task *thrum__task_grow(thrum_graph *graph);
int thrum__edge_slow(thrum_task *before, thrum_task *after);
int thrum__log_append(thrum_graph *graph, thrum__chunk *chunk, uint32_t from, uint32_t to);
void thrum__log_drop(thrum_graph *graph);
void thrum__layout_drop(thrum_graph *graph);

#endif
