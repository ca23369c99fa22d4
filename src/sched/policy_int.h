/* SPDX-License-Identifier: MIT
 *
 * The policies that come with the library, and what those of a family share.
 */
#ifndef THRUM_SCHED_POLICY_INT_H
#define THRUM_SCHED_POLICY_INT_H

#include "sched/policy_queue.h"

extern const thrum_policy thrum__policy_fifo, thrum__policy_prio, thrum__policy_random, thrum__policy_ws,
    thrum__policy_lws, thrum__policy_dmda, thrum__policy_dmdas, thrum__policy_heteroprio, thrum__policy_laheteroprio;

/* ---- ws and lws: policy_ws.c ------------------------------------------------------------------------------------- */

typedef struct thrum__ws {
    thrum__list *queues; /* by worker: the newest of its own first, what others brought behind */
    int *victims; /* of worker w the others, nearest first, from w * (workers - 1) on; NULL: from a random one on */
    thrum__idlers idlers;
    int next;                /* where a job goes that nobody's worker made ready */
    uint64_t steals, wasted; /* jobs from another's queue; looks into all of them that found nothing */
} thrum__ws;

int thrum__ws_begin(void *state, const thrum_world *world);
void thrum__ws_end(void *state, const thrum_world *world);
void thrum__ws_push(void *state, const thrum_world *world, thrum_job *job, int from);
thrum_job *thrum__ws_pop(void *state, const thrum_world *world, int worker);
void thrum__ws_done(void *state, const thrum_world *world, const thrum_job *job, int worker, double seconds);
void thrum__ws_report(const void *state, const thrum_world *world, thrum_report_fn *tell, void *arg);

/* ---- dmda and dmdas: policy_dmda.c ------------------------------------------------------------------------------- */

/* What one worker has before it. A job's cost (its `key`) is by how many seconds it was expected, when it was placed,
 * to make the worker's end later: the kernel's time, and what of its transfers is not hidden behind the jobs before
 * it. */
typedef struct thrum__lane {
    thrum__list line;    /* of dmda: what waits, the oldest first */
    thrum__heap sorted;  /* of dmdas */
    double waiting_cost; /* of all that wait */
    double hand_cost;    /* of those that were popped and are not done */
    double since;        /* when it began with what it has in hand */
    int waiting;
} thrum__lane;

typedef struct thrum__dmda {
    thrum__lane *lanes;     /* by worker */
    double *link_free;      /* by memory node: when all that was to be fetched to it will be there */
    thrum__heaps undecided; /* jobs of which nobody knows how long they take */
    thrum__idlers idlers;
} thrum__dmda;

/* What dmdas does otherwise. `first` is what would be taken next, or NULL; `take` takes it out, or one that is as
 * good. */
typedef struct thrum__lane_order {
    void (*add)(thrum__lane *lane, thrum_job *job);
    thrum_job *(*first)(const thrum__lane *lane);
    thrum_job *(*take)(thrum__lane *lane, const thrum_world *world, int worker);
    bool (*sooner)(const thrum_job *a, const thrum_job *b);
} thrum__lane_order;

int thrum__dmda_begin(void *state, const thrum_world *world);
void thrum__dmda_end(void *state, const thrum_world *world);
void thrum__dmda_push(thrum__dmda *d, const thrum__lane_order *order, const thrum_world *world, thrum_job *job);
thrum_job *thrum__dmda_pop(thrum__dmda *d, const thrum__lane_order *order, const thrum_world *world, int worker);
void thrum__dmda_done(void *state, const thrum_world *world, const thrum_job *job, int worker, double seconds);

#endif
