/* SPDX-License-Identifier: MIT
 *
 * thrum sim: what its files share. sim.c reads the command line, sim_plan.c makes the rows of a sweep out of it,
 * sim_rows.c simulates them on all cores, sim_print.c tells what came out, sim_plot.c draws.
 */
#ifndef THRUM_TOOLS_SIM_H
#define THRUM_TOOLS_SIM_H

#include <thrum/thrum.h>

#include <stdbool.h>
#include <stdio.h>

#define SIM "sim"

/* What the command line says. A text that can be a list has its values with '+' between. */
struct sim_request {
    const char *machine, *gpus, *cores, *set;                          /* lists: machine, gpus */
    const char *app, *n, *tile, *steps, *on_device, *workload, *shape; /* lists: app, n, tile */
    const char *policy, *formula, *l;                                  /* lists */
    const char *seed, *runs, *ahead, *engine;
    const char *trace, *csv, *plot, *write_workload;
    bool json, machines;
};

/* ---- sim_plan.c: what is to be simulated ------------------------------------------------------------------------- */

/* A machine as it is used, and a workload; several rows share one. */
struct sim_machine {
    char *name; /* as given */
    long gpus;  /* -1: as the description has it */
    thrum_machine *machine;
};

struct sim_work {
    char *name;
    uint64_t n, tile; /* 0: has none */
    thrum_workload *workload;
    thrum_workload_size size;
};

/* A simulation, and what came out. */
struct sim_row {
    const struct sim_machine *machine;
    const struct sim_work *work;
    char *policy; /* with all settings */
    uint64_t seed;
    int error; /* and */
    char *sentence;
    thrum_sim_result *result;
    size_t number_count, number_room; /* what the policy has counted */
    struct sim_number {
        char *key;
        double value;
    } * numbers;
    bool number_lost; /* there was no memory for it */
};

struct sim_plan {
    thrum_sim_engine engine;
    int ahead;
    const char *trace; /* of the only row */
    struct sim_machine *machines;
    struct sim_work *works;
    struct sim_row *rows; /* machine by machine, work by work, policy by policy, seed by seed */
    size_t machine_count, work_count, policy_count, row_count, runs;
};

/* TOOL_GO_ON, or an exit code after a sentence; drop it in any case. */
int sim_plan_make(const struct sim_request *request, struct sim_plan *plan);
void sim_plan_drop(struct sim_plan *plan);

/* ---- sim_rows.c -------------------------------------------------------------------------------------------------- */

/* Simulates all rows, spread over the cores, with a bar on standard error if that is a terminal. How many failed; each
 * of them has a sentence, if there was memory for it. */
size_t sim_rows_run(struct sim_plan *plan);

/* The policy's number with this key; NAN: there is none. */
double sim_row_number(const struct sim_row *row, const char *key);

/* Its policy is the executor's own work stealing; and that has broken its rule about who searches, or tried in vain
 * more often than theory allows, which was an error. */
bool sim_row_steals(const struct sim_row *row);
bool sim_row_broke_rule(const struct sim_row *row);

/* Tasks that workers have taken from others, and looks at others that found nothing; 0 where a policy has no such
 * thing. Of laheteroprio: from lists of other memory nodes, and looks into lists that gave nothing. */
struct sim_steals {
    double steals, wasted;
};
struct sim_steals sim_row_steal_counts(const struct sim_row *row);

/* Makespan over bound; 1 if there was nothing to do, INFINITY if only what the bound leaves out took time. */
double sim_row_ratio(const struct sim_row *row);

/* Seconds of `count` workers from `first` on together, by what they did. */
struct sim_times {
    double busy, waiting, crowded, held, starved, finished;
    uint64_t tasks, refused;
};
struct sim_times sim_row_times(const struct sim_row *row, int first, int count);

/* ---- sim_print.c ------------------------------------------------------------------------------------------------- */

void sim_print_one(FILE *out, const struct sim_plan *plan, const struct sim_row *row);
void sim_print_table(FILE *out, const struct sim_plan *plan);
void sim_print_json(FILE *out, const struct sim_plan *plan);
/* An exit code. */
int sim_write_csv(const char *path, const struct sim_plan *plan);

/* ---- sim_plot.c -------------------------------------------------------------------------------------------------- */

/* Makespan (mean, least and most over the seeds) and bytes, by policy, a panel for each work: PATH.gp and PATH.svg. An
 * exit code. */
int sim_plot_draw(const char *path, const struct sim_plan *plan);

#endif
