/* SPDX-License-Identifier: MIT
 *
 * thrum loop-sim: what its files share. loop_sim.c reads the command line, loop_row.c simulates and prints,
 * loop_paper.c knows the experiments of the paper, loop_plot.c draws.
 */
#ifndef THRUM_TOOLS_LOOP_SIM_H
#define THRUM_TOOLS_LOOP_SIM_H

#include <thrum/thrum.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#define LOOP_SIM "loop-sim"

/* A simulation and what came out. */
struct loop_row {
    thrum_loop_sim sim;
    thrum_loop_sim_result result;
};

/* ---- loop_row.c -------------------------------------------------------------------------------------------------- */

const char *loop_model_name(thrum_loop_model model);
const char *loop_engine_name(thrum_sim_engine engine);

/* A bar on standard error, if that is a terminal, for simulations one after the other. */
struct loop_progress;
struct loop_progress *loop_progress_begin(const struct loop_row *rows, size_t count);
void loop_progress_end(struct loop_progress *progress);

/* Simulates row number `index`. False, and a sentence in thrum_message(NULL): it cannot be done. The progress may be
 * NULL. */
bool loop_row_run(struct loop_row *rows, size_t index, struct loop_progress *progress);

/* One for a person, on one line or on several. */
void loop_row_print_head(FILE *out);
void loop_row_print(FILE *out, const struct loop_row *row);
void loop_row_print_long(FILE *out, const struct loop_row *row);
json_t *loop_row_json(const struct loop_row *row);
void loop_csv_head(FILE *out);
void loop_csv_row(FILE *out, const struct loop_row *row);

/* ---- loop_paper.c ------------------------------------------------------------------------------------------------ */

/* What the command line says about an experiment of the paper; zero: as the paper has it. */
struct loop_paper_request {
    const char *name;                  /* "set-a" to "set-f", "table-vi" */
    const char *folder;                /* where CSV and plot go */
    const thrum_technique *techniques; /* others than the paper's */
    size_t technique_count;
    bool models[2];
    thrum_sim_engine engine;
    uint64_t runs, seed;
};

int loop_paper_run(const struct loop_paper_request *request);

/* ---- loop_plot.c ------------------------------------------------------------------------------------------------- */

/* Rows as curves of mean wasted time, one for each technique, in panels side by side. */
struct loop_plot {
    const char *title, *path; /* path without its ending: .gp and .svg are made */
    const char *x_label;
    double (*x)(const struct loop_row *row);
    void (*panel)(const struct loop_row *row, char *text, size_t size); /* rows with the same text share a panel */
    thrum_loop_model model;
};

/* Exit code; where there is no gnuplot, its script is left and a line on standard error says so. */
int loop_plot_draw(const struct loop_plot *plot, const struct loop_row *rows, size_t count);

#endif
