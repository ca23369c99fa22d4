/* SPDX-License-Identifier: MIT
 *
 * What happened in a repetition: times, and the differences of what the executor counts.
 */
#ifndef THRUM_APPS_MEASURE_H
#define THRUM_APPS_MEASURE_H

#include "app.h"

/* What the policy has counted, under its own keys; more than the most are left out. */
enum { APP_NUMBERS_MOST = 256 };
struct app_number {
    char key[56];
    double value;
};

/* What the executor has counted. */
struct app_counts {
    int nodes, places;
    thrum_link_stats *links;    /* [from * nodes + to] */
    thrum_node_stats *node;     /* by node */
    thrum_place_stats *place;   /* by worker */
    uint64_t others;            /* tasks that threads ran which are no workers: those that wait help */
    struct app_number *numbers; /* the policy's, of all repetitions so far */
    int number_count;
};

struct app_sample {
    double seconds, home_seconds;
    struct app_counts counts; /* of this repetition alone; but for most_used, which is of all so far */
};

/* False without memory. */
bool app_counts_take(struct app_counts *counts, const thrum_executor *ex, bool steals);
void app_counts_subtract(struct app_counts *counts, const struct app_counts *before);
void app_counts_drop(struct app_counts *counts);
uint64_t app_counts_tasks(const struct app_counts *counts); /* of all together */

/* ---- report.c ---------------------------------------------------------------------------------------------------- */

/* Prints about the samples, sorted by time; `check` is NULL where nothing was checked. */
void app_report(const struct app *app, const struct app_sample *samples, size_t count, const struct app_check *check);

/* ---- progress.c -------------------------------------------------------------------------------------------------- */

/* A line on standard error, if that is a terminal, from the third second on. NULL: no line. */
struct app_progress;
struct app_progress *app_progress_begin(const struct app *app, const thrum_executor *ex);
void app_progress_end(struct app_progress *progress);

#endif
