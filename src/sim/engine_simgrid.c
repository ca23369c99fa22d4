/* SPDX-License-Identifier: MIT
 *
 * Simulations of tasks in the process of SimGrid. The engine itself is in the module (simgrid/tasks.cpp).
 */
#include "engine_simgrid.h"

struct stay {
    const thrum__tasks_job *job;
    const thrum__keeper *keeper;
};

/* Does not return to SimGrid, which would let everything end that is still under way. */
static void simulate(void *ctx, const thrum__engine_ops *ops)
{
    const struct stay *stay = ctx;
    thrum__keeper_reset_signals();
    stay->job->simulate(stay->job->ctx, ops, stay->keeper);
    thrum__keeper_done(stay->keeper);
}

static void keep(const thrum__keeper *keeper, void *ctx)
{
    const thrum__tasks_job *job = ctx;
    keeper->module->tasks(job->layout, simulate, &(struct stay){job, keeper});
}

static int hear(void *ctx, const void *said, size_t length)
{
    const thrum__tasks_job *job = ctx;
    return job->heard(job->ctx, said, length);
}

int thrum__tasks_in_simgrid(const thrum__tasks_job *job)
{
    return thrum__simgrid_process(&(thrum__keeping){keep, hear, (void *)job});
}
