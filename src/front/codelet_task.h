/* SPDX-License-Identifier: MIT
 *
 * Codelets as tasks of graphs.
 */
#ifndef THRUM_FRONT_CODELET_TASK_H
#define THRUM_FRONT_CODELET_TASK_H

#include "front/flow_int.h"

/* One access: the handle that was named, and the one that is used instead (thrum_graph_bind). */
typedef struct thrum__use {
    thrum_data *data, *named;
    enum thrum_mode mode;
} thrum__use;

/* What a task of a graph runs: the graph's own, copied with it, so it holds no pointer into itself. The argument follows. */
typedef struct thrum__codelet_task {
    const thrum_codelet *codelet; /* NULL: brings its accesses home, and no more */
    thrum__space *space;          /* of its handles; NULL: it has none */
    const char *name;             /* or NULL */
    int32_t priority, bucket, worker;
    uint32_t count;
    uint32_t arg_bytes;
    uint8_t kind; /* enum thrum__job_kind */
    bool first_content;
    thrum__use use[];
} thrum__codelet_task;

/* A task of this kind in the graph, with so many accesses (to be filled in) and this argument (or NULL). NULL: the graph or the
 * thread has the error. `space` may be NULL. */
typedef struct thrum__codelet_plan {
    const thrum_codelet *codelet;
    thrum__space *space;
    const thrum__terms_of_job *terms; /* or NULL */
    const thrum__use *uses;
    uint32_t count;
    enum thrum__job_kind kind;
    bool first_content;
} thrum__codelet_plan;
thrum_task *thrum__codelet_task_add(thrum_graph *graph, const thrum__codelet_plan *plan, const char *what);

#endif
