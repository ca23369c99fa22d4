/* SPDX-License-Identifier: MIT
 *
 * The loop simulator from inside: a setting, which all threads read, and desks, at which single runs are done.
 */
#ifndef THRUM_SIM_LOOP_INT_H
#define THRUM_SIM_LOOP_INT_H

#include "events.h"
#include "speeds.h"
#include "times.h"

#include "sched/loop.h"

#include <thrum/sim.h>

/* Equal chunks that are handed out one after the other, whoever asks. */
typedef struct thrum__sim_row {
    uint64_t chunks;
    thrum__sum sum; /* how the time of one is drawn */
} thrum__sim_row;

/* Everything that is the same for all runs. Constant once made. */
typedef struct thrum__loop_setting {
    thrum_technique technique;
    thrum_loop_facts facts; /* with mean and deviation filled in */
    thrum_loop_model model;
    uint64_t seed, runs;
    double delay; /* what a chunk costs on the time line: h in Hagerup's model, else 0 */
    thrum__times times;
    thrum__speeds speeds;
    unsigned needs; /* THRUM_NEEDS_... of the technique */
    /* All chunks, where they follow from the number of the request alone and are not too many different ones; else
     * NULL. */
    thrum__sim_row *rows;
    uint32_t row_count;
} thrum__loop_setting;

/* 0, or an error with a sentence. */
int thrum__loop_setting_begin(thrum__loop_setting *setting, const thrum_loop_sim *sim);
void thrum__loop_setting_end(thrum__loop_setting *setting);

/* What one run gave. */
typedef struct thrum__loop_run {
    double makespan, work; /* work: the sum of all times, at speed 1 */
    uint64_t chunks;
} thrum__loop_run;

/* By the formula of the model; see thrum/sim.h. */
double thrum__loop_wasted(const thrum__loop_setting *setting, const thrum__loop_run *run);

/* The chunk that a worker is at: told to rules that learn. */
typedef struct thrum__desk_chunk {
    uint64_t size;
    double time;
} thrum__desk_chunk;

/* What a thread needs for runs, one after the other. */
typedef struct thrum__desk {
    const thrum__loop_setting *setting;
    thrum_schedule *schedule; /* NULL where the setting has rows */
    thrum__events events;     /* a worker asks for a chunk; the payload is its number */
    thrum__desk_chunk *under_way;
    thrum__stream stream;
    thrum__loop_run run;
} thrum__desk;

/* 0, or an error with a sentence. */
int thrum__desk_begin(thrum__desk *desk, const thrum__loop_setting *setting);
void thrum__desk_end(thrum__desk *desk);

/* So many runs side by side are the fastest. */
enum { THRUM__DESK_LANES = 2 };

/* Does the runs first, first + 1, ..., one at each desk, at most THRUM__DESK_LANES of them, of one setting. What they
 * gave is in `run` of the desks; it does not depend on what else is done side by side. */
void thrum__desks_run(thrum__desk *desks, uint32_t lanes, uint64_t first);

/* The schedule at the beginning of run number `number`, and the stream of its times. */
thrum__stream thrum__loop_run_begin(const thrum__loop_setting *setting, thrum_schedule *schedule, uint64_t number);

/* All runs by the SimGrid engine, so many at the same time: runs[i] is what run number i gave. 0, or an error with a
 * sentence. */
int thrum__loop_simgrid(const thrum_loop_sim *sim, const thrum__loop_setting *setting, uint32_t processes,
                        thrum__loop_run *runs);

#endif
