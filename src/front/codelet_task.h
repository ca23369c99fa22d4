/* SPDX-License-Identifier: MIT
 *
 * Codelets as tasks of graphs.
 */
#ifndef THRUM_FRONT_CODELET_TASK_H
#define THRUM_FRONT_CODELET_TASK_H

#include "front/flow_int.h"

/* One access, for building: the handle that was named, and the one that is used instead (thrum_graph_bind). */
typedef struct thrum__use {
    thrum_data *data, *named;
    enum thrum_mode mode;
} thrum__use;

/* What a task of a graph runs: the graph's own, copied with it, so it holds no pointer into itself. Behind it comes the
 * argument. It is what a run needs where workers steal, in one cache line if there are three accesses at most and no
 * argument, and such records lie side by side: recorded flows are large. Elsewhere is the rest (thrum__kept_rest). */
typedef struct thrum__codelet_task {
    const thrum_codelet *codelet; /* NULL: brings its accesses home, and no more */
    thrum__space *space;          /* of its handles; NULL: it has none */
    uint32_t count;
    uint32_t arg_bytes;
    uint8_t kind; /* enum thrum__job_kind */
    bool first_content;
    int32_t worker;
    uintptr_t use[]; /* the handles that are used, with the modes in their low bits */
} thrum__codelet_task;

/* What policies and binding need. */
typedef struct thrum__codelet_rest {
    const char *name; /* or NULL */
    int32_t priority, bucket;
    thrum_data *named[];
} thrum__codelet_rest;

enum { THRUM__MODE_BITS = 7 }; /* handles are aligned to more */

static inline thrum_data *thrum__used_data(const thrum__codelet_task *task, uint32_t i)
{
    return (thrum_data *)(task->use[i] & ~(uintptr_t)THRUM__MODE_BITS);
}

static inline enum thrum_mode thrum__used_mode(const thrum__codelet_task *task, uint32_t i)
{
    return (enum thrum_mode)(task->use[i] & THRUM__MODE_BITS);
}

/* A task of this kind in the graph, with these accesses; its argument is in the terms. NULL: the graph or the thread
 * has the error. `space` may be NULL. */
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

/* What the task runs; NULL: no codelet and nothing of a flow's. And the parts that lie behind it. */
const thrum__codelet_task *thrum__codelet_task_of(const thrum_task *task);
const void *thrum__codelet_task_arg(const thrum__codelet_task *task);
const thrum__codelet_rest *thrum__codelet_task_rest(const thrum__codelet_task *task);

#endif
