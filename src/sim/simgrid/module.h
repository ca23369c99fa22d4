/* SPDX-License-Identifier: MIT
 *
 * The wall between libthrum and its module libthrum-simgrid.so: one symbol, a table of functions. The module is loaded
 * into a process of its own (sim/simgrid.c) and calls nothing of thrum but what it is handed, so that it works with the
 * static library as well as with the shared one.
 */
#ifndef THRUM_SIM_SIMGRID_MODULE_H
#define THRUM_SIM_SIMGRID_MODULE_H

#include "sim/engine.h"
#include "sim/simgrid.h"

THRUM_BEGIN_C

#define THRUM__SIMGRID_MODULE "libthrum-simgrid.so"
#define THRUM__SIMGRID_SYMBOL "thrum_simgrid_module"
/* Both sides are of the same version of thrum: the structs that they share are nobody else's business. */
#define THRUM__SIMGRID_VERSION (THRUM_VERSION_MAJOR * 1000000u + THRUM_VERSION_MINOR * 1000u + THRUM_VERSION_PATCH)

/* What the module may call: thrum/schedule.h. */
typedef struct thrum__simgrid_thrum {
    int (*next)(thrum_schedule *schedule, uint32_t worker, double now, thrum_chunk *chunk);
    void (*finished)(thrum_schedule *schedule, uint32_t worker, uint64_t iterations, double time, double cost);
} thrum__simgrid_thrum;

/* Runs as an actor: the simulator of tasks, on the one engine that `ops` gives. */
typedef void thrum__tasks_body(void *ctx, const thrum__engine_ops *ops);

typedef struct thrum__simgrid_module {
    uint32_t version; /* THRUM__SIMGRID_VERSION of the build that it belongs to */
    /* Once in a process: SimGrid and the platform. */
    void (*prepare)(const thrum__simgrid_job *job);
    /* Once in a process, after `prepare`: one run, from the clock's 0. */
    void (*run)(const thrum__simgrid_job *job, const thrum__simgrid_thrum *thrum, thrum_schedule *schedule,
                thrum__simgrid_run *result);
    /* Once in a process, without the others: SimGrid and the platform of the layout, and `body` on it. */
    void (*tasks)(const thrum__layout *layout, thrum__tasks_body *body, void *ctx);
} thrum__simgrid_module;

/* Inside the module. */
void thrum__tasks_simulate(const thrum__layout *layout, thrum__tasks_body *body, void *ctx);

THRUM_END_C

#endif
