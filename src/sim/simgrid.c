/* SPDX-License-Identifier: MIT
 *
 * Runs of loops in the process of SimGrid, which builds the platform and forks again for each run.
 */
#include "simgrid.h"

#include "simgrid_process.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- In the keeper and its runs ---------------------------------------------------------------------------------- */

_Noreturn static void simulate_one(const thrum__keeper *keeper, const thrum__simgrid_job *job, uint64_t number)
{
    static const thrum__simgrid_thrum thrum = {thrum_schedule_next, thrum_schedule_finished};
    thrum__simgrid_run run = {.run = number};
    keeper->module->run(job, &thrum, job->begin(job->ctx, number), &run);
    thrum__keeper_say(keeper, &run, sizeof run);
    _exit(0);
}

/* Waits for a run to end; one that has failed has said so, or has died. */
static void wait_for_run(void)
{
    int status;
    pid_t pid;
    while ((pid = wait(&status)) < 0 && errno == EINTR)
        ;
    if (pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        _exit(1);
}

static void start_run(const thrum__keeper *keeper, const thrum__simgrid_job *job, uint64_t run)
{
    pid_t self = getpid(), child = fork();
    if (child < 0)
        thrum__keeper_fail(keeper, "the system refuses a process for a run with SimGrid");
    if (child == 0) {
        thrum__keeper_settle(self);
        simulate_one(keeper, job, run);
    }
}

static void keep(const thrum__keeper *keeper, void *ctx)
{
    const thrum__simgrid_job *job = ctx;
    uint64_t most = job->processes ? job->processes : 1;
    keeper->module->prepare(job);
    thrum__keeper_reset_signals();
    for (uint64_t run = 0; run < job->runs; run++) {
        if (run >= most)
            wait_for_run();
        start_run(keeper, job, run);
    }
    for (uint64_t left = job->runs < most ? job->runs : most; left > 0; left--)
        wait_for_run();
}

/* ---- In the caller ----------------------------------------------------------------------------------------------- */

static int take_run(void *ctx, const void *said, size_t length)
{
    const thrum__simgrid_job *job = ctx;
    thrum__simgrid_run run;
    (void)length;
    memcpy(&run, said, sizeof run);
    return job->done(job->ctx, &run);
}

int thrum__simgrid_simulate(const thrum__simgrid_job *job)
{
    return thrum__simgrid_process(&(thrum__keeping){keep, take_run, (void *)job});
}
