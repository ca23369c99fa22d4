/* SPDX-License-Identifier: MIT
 *
 * The terms of special tasks: kept beside the graph, by task number, since few tasks have any.
 */
#ifndef THRUM_MODEL_TERMS_H
#define THRUM_MODEL_TERMS_H

#include <thrum/terms.h>

#include "model/graph.h"

enum { THRUM__DOMAINS_MOST = 64 }; /* of one executor */

/* A ready task, or one whose events have been released, while it waits for a worker: see exec/post.c. */
typedef struct thrum__post {
    struct thrum__post *next;
    void *run; /* a thrum__run, in which it keeps a strand */
    thrum_task *task;
    bool completed; /* it has run: what is left is what comes behind it */
    void *module;   /* then, for a module: its handle */
    bool owned;     /* whoever takes it out frees it */
    bool
        in_order; /* it is taken when it is the first of its run's posts of that kind, by `order`, which wraps around */
    uint32_t order;
    struct thrum__post *child; /* of those: a heap */
} thrum__post;

/* AWAY: it is in a list. BACK: it has been taken out, and its worker decides whether it may begin. In the bits above,
 * how often it has become ready again meanwhile. */
enum thrum__post_state { THRUM__NOT_POSTED, THRUM__AWAY, THRUM__BACK, THRUM__POST_STATE = 3, THRUM__ONCE_MORE = 4 };

typedef struct thrum__terms {
    thrum__post post;       /* a task waits in one place at a time */
    _Atomic uint32_t state; /* enum thrum__post_state */
    int8_t priority;        /* enum thrum_priority */
    _Atomic bool granted;   /* it has waited for its tokens, and has them: see exec/semaphore.c */
    int worker, domain;     /* -1: any worker */
    struct thrum__demand *acquires, *releases;
    size_t acquire_count, release_count;
} thrum__terms;

typedef struct thrum__terms_table {
    thrum__terms **of; /* by task number; NULL where there are none */
    size_t capacity;
    struct thrum__use *uses;        /* of semaphores, the newest first */
    struct thrum__use **use_slots;  /* the same, to be found by their semaphores */
    size_t use_capacity, use_count; /* the former is a power of two */
    bool priorities;                /* some task is not of normal priority */
    int most_domain;                /* the largest that some task is pinned to; 0 for none */
    const thrum_task *at_domain;    /* and such a task */
    struct {
        int worker; /* the largest that some task of this domain is pinned to; -1 for none */
        const thrum_task *at;
    } most[THRUM__DOMAINS_MOST];
} thrum__terms_table;

/* Of a special task. */
static inline thrum__terms *thrum__terms_of(const thrum_task *task)
{
    return thrum__chunk_of(task)->graph->terms->of[thrum_task_number(task)];
}

static inline bool thrum__has_priorities(const thrum_graph *graph)
{
    return graph->terms && graph->terms->priorities;
}

/* The task's terms, to be changed, for the building call `what`: new ones if it had none. NULL: the graph or the thread
 * has the error. Thaws the graph. */
thrum__terms *thrum__terms_change(thrum_task *task, const char *what);

void thrum__terms_drop(thrum_graph *graph);

/* A graph's table, made if there is none; NULL without memory. */
thrum__terms_table *thrum__terms_table_of(thrum_graph *graph);

/* The same terms for the task with the same number in a clone. 0 or THRUM_ENOMEM. */
int thrum__terms_copy(const thrum_task *task, thrum_task *copy);

/* For freezing: flags lists that have special members, and puts sources in the order of their priorities. */
int thrum__terms_lay_out(thrum_graph *graph);

/* The sentence for a graph that is to run where there are fewer workers (of each domain) or domains than its tasks are
 * pinned to; 0. */
int thrum__terms_check(const thrum_graph *graph, const int *workers, int domains);

#endif
