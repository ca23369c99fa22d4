/* SPDX-License-Identifier: MIT
 *
 * One execution of a loop, while it is under way.
 */
#ifndef THRUM_FRONT_LOOP_INT_H
#define THRUM_FRONT_LOOP_INT_H

#include "front/loop_site.h"

#include "conc/range.h"
#include "sched/loop.h"

enum { THRUM__LOOP_ROWS = 64, THRUM__LOOP_ROOM = 2048 };

/* Written before the parts begin, except where it says otherwise. */
struct loop {
    const thrum_loop *job;
    uint64_t n;
    uint64_t least;                         /* as given, or 1 */
    uint32_t places;                        /* p of the rules */
    enum thrum__loop_order order;           /* how chunks are taken */
    thrum_technique technique;              /* by which it goes, once AUTO and the like are resolved */
    bool measures;                          /* for the site */
    bool weighs;                            /* by what the site knows of the workers' speeds */
    bool picked;                            /* by AUTO */
    bool timed;                             /* as a whole: for AUTO, or because the rule asks when it began */
    thrum__site *site;                      /* NULL: none needed, or none to be had */
    thrum_schedule schedule;                /* BY_STATE: changed under the lock */
    thrum__loop_row rows[THRUM__LOOP_ROWS]; /* BY_NUMBER */
    uint32_t row_count;
    uint64_t grain; /* BY_OWNER: how many are taken at a time */
    bool steals;    /* BY_OWNER: blocks are cut up; else they go as a whole */
    int64_t begun, ended;
    const thrum__worker *caller; /* the worker of the calling part, and */
    int caller_cpu;              /* where the calling part began; -1: not known */

    /* One for each place; in `room` if they fit. NULL: not needed. */
    _Atomic uint8_t *taken;    /* whether the place (BY_OWNER: the block) is somebody's */
    thrum__range *ranges;      /* BY_OWNER: by the part's number */
    thrum__measured *measured; /* written by the part that has the place */
    double *weights;           /* as measured so far */
    char *values;              /* reductions: by the part's number, two values each: its own, and room for a chunk's */
    uint8_t *has_value;        /* reductions: written by the part */
    size_t value_room;
    void *heap;

    _Alignas(64) _Atomic uint64_t next; /* BY_NUMBER: the next request's number; BY_REST: how many are left */
    _Atomic uint32_t entered;           /* parts so far */
    _Atomic uint32_t moving;            /* BY_OWNER: steals under way */
    thrum__lock lock;                   /* BY_STATE: for `schedule` */
    _Alignas(64) char room[THRUM__LOOP_ROOM];
};

/* A worker's part in it. */
typedef struct part {
    struct loop *loop;
    thrum_scope *scope;
    uint32_t number; /* 0, 1, ... in the order of coming */
    uint32_t place;  /* p: it came too late for one */
    bool has_value;
    char *value, *spare;
    int64_t last_end; /* of its last chunk */
    double cost;      /* of getting the chunk at hand */
    thrum__measured measured;
    uint64_t piece;            /* iterations that are measured at a time */
    uint64_t piece_iterations; /* of the piece that is not long enough yet */
    double piece_time;
} part;

/* A scope function: does the loop that `arg` points to, with as many workers as come. */
void thrum__loop_take_all(thrum_scope *scope, void *arg);

#endif
