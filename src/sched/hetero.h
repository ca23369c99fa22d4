/* SPDX-License-Identifier: MIT
 *
 * What heteroprio and laheteroprio share: buckets of jobs, an order of them for each architecture, and bounds on what
 * slower workers may take.
 *
 * **Buckets.** A job is in the bucket that its task names, or else in one of its codelet's own (by name). They come
 * into being when the first job turns up. Those beyond THRUM__BUCKETS share the last one.
 *
 * **The grid.** A bucket is a row of lists, one for each *column*: heteroprio has one, laheteroprio one for each memory
 * node. Each list is a shelf, with a place for each set of architectures, here those that have a worker that can run
 * the job, pins and devices that are too small considered. So what follows is exact. Lists are first in, first out,
 * unless the setting `lists` says otherwise; their first job is always the one to be taken.
 *
 * **The bound.** A bucket may have a *fastest* architecture F and factors. A worker of another architecture A takes a
 * job that F could run only if at least N_F * S such jobs wait in the row, N_F being the workers of F and S the factor
 * for A: so long would the workers of F need for them while A works at one. What F cannot run at all is not bounded.
 *
 * **Nobody starves.** The *entitled* workers of a job are those of F if F can run it, else all that can: they may take
 * it whatever the bound. For each job that waits, one of the entitled is not idle (policy_queue.h): a push wakes one
 * if all that could take it are idle; one becomes idle only when refused, so when there is nothing that it is entitled
 * to. When a bucket's F changes, the idle workers of the new one are woken. A worker that asks ahead of time
 * (thrum_world.is_ahead) may be refused what it would get later, in columns that it did not look into (`looks`). To the
 * others it counts as not idle: as soon as it is done with what it had, it is woken and looks into all.
 *
 * **Automatic settings.** For what the user does not say, F is the architecture that is expected to be the quickest,
 * and S how much quicker; an architecture's order begins with the buckets in which it has the greatest advantage over
 * the others, among equals with those of higher priority, then with the older ones. Times are asked of the world for
 * some of the jobs that have run, for all architectures of a bucket at once; as long as some are unknown, there is no
 * bound, so that all kinds of workers get samples.
 */
#ifndef THRUM_SCHED_HETERO_H
#define THRUM_SCHED_HETERO_H

#include "sched/node_set.h"
#include "sched/policy_queue.h"

#define THRUM__ALL_COLUMNS (~(thrum__nodes)0)

enum { THRUM__BUCKETS = 64, THRUM__BUCKET_NAME = 32, THRUM__NO_ARCH = -1 };

/* Which job of a list, and of lists that count as one, is taken first. */
enum thrum__lists { THRUM__LISTS_OLDEST, THRUM__LISTS_NEWEST, THRUM__LISTS_PRIORITY };

typedef struct thrum__bucket {
    char name[THRUM__BUCKET_NAME]; /* a number, or a codelet's name */
    unsigned archs;                /* that could run a job of it so far, or are said to */
    uint64_t waiting[THRUM_ARCHS]; /* in the whole row: jobs that the architecture could run */
    uint64_t of_set[THRUM__ARCH_SETS];
    int fastest;                /* or THRUM__NO_ARCH */
    double factor[THRUM_ARCHS]; /* of the others; 0: no bound */
    /* Settings. */
    int given_fastest;            /* or THRUM__NO_ARCH */
    double given_factor;          /* or negative */
    int given_place[THRUM_ARCHS]; /* in the order; -1: not said */
    /* Measured. */
    uint64_t pushed, done;
    double priorities;           /* of all that were pushed, added */
    double seconds[THRUM_ARCHS]; /* expected for the samples, added */
    int samples;
} thrum__bucket;

typedef struct thrum__hetero {
    thrum__bucket *buckets;
    int count;
    int columns;
    thrum__shelf *lists; /* bucket * columns + column */
    uint32_t *waiting;   /* by list and architecture: jobs that it could run */
    enum thrum__lists first_out;
    int order[THRUM_ARCHS][THRUM__BUCKETS], order_count[THRUM_ARCHS];
    unsigned version;           /* counts changes of orders */
    int *workers;               /* by architecture */
    int first[THRUM_ARCHS + 1]; /* where those of an architecture begin */
    bool given_order[THRUM_ARCHS];
    thrum__idlers idlers;
    thrum__nodes *looks;              /* by worker: the columns that it would look into if it were woken */
    int8_t by_number[THRUM__BUCKETS]; /* bucket + 1 of a number; 0: not there yet */
    struct {
        const thrum_codelet *codelet;
        int bucket;
    } cache[THRUM__BUCKETS]; /* by address */
} thrum__hetero;

/* The settings of both. */
#define THRUM__HETERO_SETTINGS                                                                                         \
    {"order.ARCH", "by advantage", "buckets, like gemm,trsm",                                                          \
     "in which order cpu or emu looks into buckets; others follow"},                                                   \
        {"fastest.BUCKET", "measured", "cpu, emu", "who is the fastest in a bucket"},                                  \
        {"factor.BUCKET", "measured", "0 to 1000000",                                                                  \
         "slower workers take from a bucket if it holds the fastest's workers times this; 0: always"},                 \
    {                                                                                                                  \
        "lists", "oldest", "oldest, newest, priority", "which task of a list is taken first"                           \
    }

/* 0 or an error; then nothing is to be ended. */
int thrum__hetero_begin(thrum__hetero *h, const thrum_world *world, int columns);
void thrum__hetero_end(thrum__hetero *h);

/* The job's bucket, by number; and the architectures that have a worker that can run it, a bit each. */
int thrum__hetero_bucket(thrum__hetero *h, const thrum_job *job);
unsigned thrum__hetero_able(const thrum__hetero *h, const thrum_world *world, const thrum_job *job);

/* Puts the job into a list of its bucket and wakes who is to take it. Columns, if there are several, are memory nodes:
 * a worker of the column's is woken rather than one of another. The world is told, and nothing is put, if the setting
 * fastest.BUCKET names who has no kernel for it. */
void thrum__hetero_put(thrum__hetero *h, const thrum_world *world, thrum_job *job, int column);
/* Whether workers of the architecture could run something in the list. */
static inline bool thrum__hetero_has(const thrum__hetero *h, int bucket, int column, int arch)
{
    return h->waiting[(bucket * h->columns + column) * THRUM_ARCHS + arch];
}

/* Whether job a is to be taken before b, both being in lists of one bucket. */
static inline bool thrum__hetero_before(const thrum__hetero *h, const thrum_job *a, const thrum_job *b)
{
    return h->first_out == THRUM__LISTS_OLDEST   ? thrum__older(a, b)
           : h->first_out == THRUM__LISTS_NEWEST ? thrum__older(b, a)
                                                 : thrum__more_urgent(a, b);
}

/* The first job in the list that the worker can run and may take; and the same, taken out of it. NULL: there is
 * none. */
const thrum_job *thrum__hetero_find(const thrum__hetero *h, const thrum_world *world, int worker, int bucket,
                                    int column);
thrum_job *thrum__hetero_take(thrum__hetero *h, const thrum_world *world, int worker, int bucket, int column);
/* The worker has got this, or was refused with NULL, after it had looked into these columns. */
void thrum__hetero_popped(thrum__hetero *h, const thrum_world *world, int worker, const thrum_job *job,
                          thrum__nodes columns);
void thrum__hetero_done(thrum__hetero *h, const thrum_world *world, const thrum_job *job, int worker, double seconds);

/* The bucket of this name; it is made if it is not there. */
int thrum__hetero_named(thrum__hetero *h, const char *name);
/* hetero_settle.c: reads the settings; and finds orders and bounds anew, for something new is known. */
int thrum__hetero_read(thrum__hetero *h, const thrum_world *world);
void thrum__hetero_settle(thrum__hetero *h, const thrum_world *world);

/* Of each bucket: jobs.NAME, fastest.NAME (the number of the architecture) and factor.NAME (the largest). */
void thrum__hetero_report(const thrum__hetero *h, thrum_report_fn *tell, void *arg);

#endif
