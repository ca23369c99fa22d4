/* SPDX-License-Identifier: MIT
 *
 * An application: what is timed, what is checked, and what is told about it.
 *
 *   app_measure:  open the executor; for each repetition: prepare, run (timed), home (timed), check; report; perhaps
 *                 prepare and run once more with flows that record, for --workload; free
 */
#ifndef THRUM_APPS_APP_H
#define THRUM_APPS_APP_H

#include "setup.h"

/* A number that belongs to the application: a size, or something that came out. */
struct app_fact {
    const char *name; /* letters and '_' */
    double value;
};

/* What a check found. `text` says in words what was compared. */
struct app_check {
    bool good;
    double residual, limit; /* good: residual <= limit; 0 and 0 where results must be equal */
    char text[160];
};

struct app {
    const char *verb;
    struct app_setup *setup;
    void *self;             /* handed to all functions */
    struct app_fact *facts; /* the functions may change values */
    size_t fact_count;
    const char *rate, *rate_key;        /* the name of amount(self) / seconds: "cells/s"; in JSON "cells_per_second" */
    double (*amount)(const void *self); /* of work that a run did */
    uint64_t tasks;                     /* of a run, as far as is known */

    /* Each returns 0 or an error, with thrum_message(NULL). `prepare` sets the memory to what it is in the beginning
     * and registers it; `run` computes and waits; `home` unregisters, by which results come home (`failed`: they need
     * not). */
    int (*prepare)(void *self, thrum_executor *ex);
    int (*run)(void *self, thrum_executor *ex);
    int (*home)(void *self, bool failed);
    void (*check)(void *self, struct app_check *check);
};

/* Does all of it and prints. An exit code. */
int app_measure(const struct app *app);

/* Each kernel of an application begins with it: which worker runs how many, on executors that steal, where it is not
 * counted. */
void app_count_task(void);

/* Seconds that `work` takes on a worker, for models: at `cpu` or `emu` units of work a second, with what beginning
 * costs. */
double app_model_seconds(const thrum_place *place, double work, double cpu, double emu);

#endif
