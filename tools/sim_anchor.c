/* SPDX-License-Identifier: MIT */
#include "sim_anchor.h"

#include "apps/workloads.h"

#include <stdio.h>
#include <string.h>

/* So many that a run takes some tenths of a second, and that data is larger than most caches, as that of an application
 * is. */
enum { TILES = 28, BLOCKS = 4, STEPS = 8 };

static int extent(const struct anchor *a)
{
    return a->tile * (a->app == ANCHOR_LIFE ? BLOCKS : TILES);
}

/* Where workers differ, and data moves, it is up to the policy how much. */
static const char *policy_of(const struct anchor *a)
{
    return a->where == ANCHOR_BOTH ? "dmda" : "prio";
}

const char *sim_anchor_verb(enum anchor_app app)
{
    return app == ANCHOR_LIFE ? "life" : "cholesky";
}

static const char *const devices[] = {
    [ANCHOR_CORE] = NULL, [ANCHOR_CORES] = NULL, [ANCHOR_DEVICE] = "cpu:1,emu:1", [ANCHOR_BOTH] = "cpu:1,emu:1"};

static char **add(char **to, const char *first, const char *second)
{
    *to++ = (char *)(size_t)first;
    if (second)
        *to++ = (char *)(size_t)second;
    return to;
}

static const char *number(char text[16], int value)
{
    snprintf(text, 16, "%d", value);
    return text;
}

void sim_anchor_words(const struct anchor *a, char *words[ANCHOR_WORDS], char numbers[4][16])
{
    bool life = a->app == ANCHOR_LIFE;
    char **at = add(words, "thrum", sim_anchor_verb(a->app));
    memset(at, 0, (ANCHOR_WORDS - 2) * sizeof *at);
    at = add(add(at, "--json", "--no-check"), "--policy", policy_of(a));
    at = add(at, "--n", number(numbers[0], extent(a)));
    at = add(at, life ? "--block" : "--tile", number(numbers[1], a->tile));
    at = add(at, "--repeat", "5"); /* the first one pays for new memory, and others may be disturbed */
    if (life)
        at = add(at, "--steps", number(numbers[2], STEPS));
    if (devices[a->where])
        at = add(at, "--devices", devices[a->where]);
    else
        at = add(at, "--workers", number(numbers[3], a->where == ANCHOR_CORES ? a->cores : 1));
    if (devices[a->where] && !life)
        at = add(at, "--on-device", "all");
    if (a->where == ANCHOR_DEVICE)
        add(at, "--device-only", NULL);
}

/* The machine's workers in that run. */
static int set_workers(const struct anchor *a, thrum_machine *machine)
{
    char line[64];
    snprintf(line, sizeof line, "cores count=%d", a->where == ANCHOR_CORES ? a->cores : a->where != ANCHOR_DEVICE);
    int err = thrum_machine_apply(machine, line, "calibration");
    snprintf(line, sizeof line, "device emu count=%d", devices[a->where] != NULL);
    return err ? err : thrum_machine_apply(machine, line, "calibration");
}

static thrum_workload *workload_of(const struct anchor *a)
{
    const char *on_device = devices[a->where] ? "all" : "none";
    return app_workload(sim_anchor_verb(a->app), &(struct app_workload_size){.n = (uint64_t)extent(a),
                                                                             .tile = (uint64_t)a->tile,
                                                                             .steps = STEPS,
                                                                             .on_device = on_device});
}

double sim_anchor_simulate(const struct anchor *a, const thrum_machine *machine)
{
    thrum_machine *copy = thrum_machine_copy(machine);
    thrum_workload *workload = workload_of(a);
    thrum_sim sim = {.machine = copy, .workload = workload, .policy = policy_of(a), .seed = 1, .ahead = 1};
    thrum_sim_result *result = NULL;
    double seconds = -1;
    if (copy && workload && set_workers(a, copy) == 0 && thrum_simulate(&sim, &result) == 0) {
        seconds = result->makespan;
        thrum_sim_result_free(result);
    }
    thrum_workload_free(workload);
    thrum_machine_free(copy);
    return seconds;
}
