/* SPDX-License-Identifier: MIT
 *
 * The SimGrid engine of the task simulator. SimGrid owns its process, and the simulator has to run inside it: so the
 * whole of a simulation is done by a child, from the first event to the last, and what came out is said through a pipe
 * (simgrid_process.h).
 */
#ifndef THRUM_SIM_ENGINE_SIMGRID_H
#define THRUM_SIM_ENGINE_SIMGRID_H

#include "engine.h"
#include "simgrid_process.h"

typedef struct thrum__tasks_job {
    const thrum__layout *layout;
    /* In the child, which ends when it returns: what it writes, but for files, is gone then. `ops` have one engine, of
     * the layout above. It takes no lock that another thread of the caller may have held when it forked: policies are
     * looked up before. */
    void (*simulate)(void *ctx, const thrum__engine_ops *ops, const thrum__keeper *keeper);
    /* In the caller: see thrum__keeping. */
    int (*heard)(void *ctx, const void *said, size_t length);
    void *ctx;
} thrum__tasks_job;

/* As thrum__simgrid_process. */
int thrum__tasks_in_simgrid(const thrum__tasks_job *job);

#endif
