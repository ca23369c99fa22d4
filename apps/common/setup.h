/* SPDX-License-Identifier: MIT
 *
 * What all applications are told: the machine that they run on, how often, and what to print.
 */
#ifndef THRUM_APPS_SETUP_H
#define THRUM_APPS_SETUP_H

#include "options.h"

#include <thrum/thrum.h>

struct app_setup {
    const char *policy, *devices, *link, *latency, *memory, *mode; /* NULL: not said */
    const char *trace, *workload;
    uint64_t workers, window, seed, repeat; /* workers, window: 0 is the library's own default */
    bool device_only, check, no_check, json;
    /* What follows is set by app_setup_check. */
    bool timing; /* the mode: kernels and copies take their time and do nothing else; content is not even filled in */
    char all_devices[512]; /* the list of devices, with their settings */
    thrum_graph *record;   /* while it is not NULL, flows record into it and nothing runs: for --workload */
};

/* The options for this. Write them behind those of the application. */
enum { APP_SETUP_OPTIONS = 18 };
void app_setup_options(struct app_setup *setup, struct app_option options[APP_SETUP_OPTIONS]);

/* What no option says is taken from THRUM_POLICY and THRUM_DEVICES, and the parts that belong together are checked.
 * TOOL_GO_ON, or an exit code after a sentence. */
int app_setup_check(const char *verb, struct app_setup *setup);

/* The executor that was asked for, or NULL after a sentence, with the exit code in *code. */
thrum_executor *app_setup_open(const char *verb, const struct app_setup *setup, int *code);

/* A flow with the window that was asked for, or one that records; NULL with thrum_message(NULL). */
thrum_flow *app_setup_flow(const struct app_setup *setup, thrum_executor *ex);

/* Whether ready tasks wait in the built-in deques, where of priorities only the sign counts. */
bool app_setup_steals(const struct app_setup *setup);

/* A codelet as it is to be used here: its model is its function in timing mode; not for devices if `on_device` is
 * false; only for them, if they have it, where that was asked for. */
thrum_codelet app_setup_codelet(const struct app_setup *setup, const thrum_codelet *codelet, bool on_device);

#endif
