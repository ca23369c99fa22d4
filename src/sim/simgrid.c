/* SPDX-License-Identifier: MIT
 *
 * The process of SimGrid: a child that loads the module and forks again for each run.
 *
 *     caller ── fork ──> keeper: loads SimGrid, builds the platform ── fork ──> run 0, 1, 2, ... at most `processes` at once
 *        <───────────────────────────── pipe: a message for each run, or for an error ────┘
 *
 * The first fork comes from a process that may have threads. The child goes on with what is safe there with the C library of
 * GNU and others that make malloc and the loader safe across fork: it takes none of thrum's locks and uses no executor.
 * The keeper ends with its parent, runs end with the keeper. Both are out of the terminal's process group, so that an
 * interrupt meets the caller alone. What SimGrid prints goes to a file in memory, of which an error quotes the first line.
 */
#include "simgrid.h"

#include "base/fault.h"
#include "simgrid/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Not larger than PIPE_BUF, so that messages of several writers do not mix. */
struct message {
    enum { LOADED, RUN_DONE, FAILED } kind;
    thrum__simgrid_run run;
    char text[512];
};

/* What the keeper and its runs have of the caller. */
struct keeper {
    const thrum__simgrid_job *job;
    const thrum__simgrid_module *module;
    int pipe;
};

/* ---- In the keeper and its runs ----------------------------------------------------------------------------------- */

static void tell(const struct keeper *keeper, const struct message *message)
{
    while (write(keeper->pipe, message, sizeof *message) < 0 && errno == EINTR)
        ;
}

_Noreturn static void give_up(const struct keeper *keeper, const char *text)
{
    struct message message = {.kind = FAILED};
    snprintf(message.text, sizeof message.text, "%s", text);
    tell(keeper, &message);
    _exit(1);
}

/* A child does not outlive the thread that has forked it, which waits for it. */
static void settle(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
}

/* What the caller has printed and not written yet is not this process's business, should SimGrid call exit. */
static void silence(int output)
{
    __fpurge(stdout);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
}

/* Nor are its files, but for the pipe: somebody may wait for the end of one. */
static void close_others(int pipe)
{
    syscall(SYS_close_range, STDERR_FILENO + 1, pipe - 1, 0);
    syscall(SYS_close_range, pipe + 1, ~0U, 0);
}

static void reset_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The module lies beside the library (or the program that has it inside), or where the system looks for libraries. The path
 * is made here and is not left to $ORIGIN, which is the sanitizers' where they stand between libthrum and dlopen. */
static void *open_module(void)
{
    Dl_info self;
    char path[4096];
    static const char here;
    const char *slash = dladdr(&here, &self) && self.dli_fname ? strrchr(self.dli_fname, '/') : NULL;
    if (slash) {
        snprintf(path, sizeof path, "%.*s/%s", (int)(slash - self.dli_fname), self.dli_fname, THRUM__SIMGRID_MODULE);
        if (access(path, R_OK) == 0)
            return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return dlopen(THRUM__SIMGRID_MODULE, RTLD_NOW | RTLD_LOCAL);
}

static void load(struct keeper *keeper)
{
    char text[400];
    void *handle = open_module();
    keeper->module = handle ? dlsym(handle, THRUM__SIMGRID_SYMBOL) : NULL;
    if (!keeper->module)
        snprintf(text, sizeof text,
                 "this build has no SimGrid engine (%s); it takes SimGrid, on Debian the package libsimgrid-dev, and "
                 "another build of thrum",
                 dlerror());
    else if (keeper->module->version != THRUM__SIMGRID_VERSION)
        snprintf(text, sizeof text, "this build has no SimGrid engine: the %s that was found is of another version",
                 THRUM__SIMGRID_MODULE);
    else
        return;
    give_up(keeper, text);
}

_Noreturn static void simulate_one(const struct keeper *keeper, uint64_t run)
{
    static const thrum__simgrid_thrum thrum = {thrum_schedule_next, thrum_schedule_finished};
    const thrum__simgrid_job *job = keeper->job;
    struct message message = {.kind = RUN_DONE, .run.run = run};
    keeper->module->run(job, &thrum, job->begin(job->ctx, run), &message.run);
    tell(keeper, &message);
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

static void start_run(const struct keeper *keeper, uint64_t run)
{
    pid_t self = getpid(), child = fork();
    if (child < 0)
        give_up(keeper, "the system refuses a process for a run with SimGrid");
    if (child == 0) {
        settle(self);
        simulate_one(keeper, run);
    }
}

_Noreturn static void keep(struct keeper *keeper, int output)
{
    const thrum__simgrid_job *job = keeper->job;
    uint64_t most = job->processes ? job->processes : 1;
    reset_signals();
    keeper->pipe =
        fcntl(keeper->pipe, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); /* a caller may have closed its standard files */
    silence(output);
    close_others(keeper->pipe);
    load(keeper);
    tell(keeper, &(struct message){.kind = LOADED});
    if (job->runs > 0)
        keeper->module->prepare(job);
    reset_signals(); /* SimGrid has handlers of its own, which print and call exit */
    for (uint64_t run = 0; run < job->runs; run++) {
        if (run >= most)
            wait_for_run();
        start_run(keeper, run);
    }
    for (uint64_t left = job->runs < most ? job->runs : most; left > 0; left--)
        wait_for_run();
    _exit(0);
}

/* ---- In the caller ------------------------------------------------------------------------------------------------ */

/* The next message; false: there are no more. */
static bool hear(int pipe, struct message *message)
{
    size_t have = 0;
    while (have < sizeof *message) {
        ssize_t got = read(pipe, (char *)message + have, sizeof *message - have);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        if (got > 0)
            have += (size_t)got;
    }
    return true;
}

static int early_end(int output)
{
    char line[300];
    ssize_t length = pread(output, line, sizeof line - 1, 0);
    line[length > 0 ? length : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return thrum__fault(THRUM_ESYSTEM, "the process of the SimGrid engine ended too early%s%s", *line ? ": " : "",
                        line);
}

/* Takes in what the keeper and its runs say until all is done or something is wrong. */
static int listen_to(const thrum__simgrid_job *job, int pipe, int output)
{
    struct message message;
    uint64_t awaited = 1 + job->runs;
    while (awaited > 0 && hear(pipe, &message)) {
        int code = 0;
        if (message.kind == FAILED)
            code = thrum__fault(THRUM_ESYSTEM, "%s", message.text);
        else if (message.kind == RUN_DONE)
            code = job->done(job->ctx, &message.run);
        if (code != 0)
            return code;
        awaited--;
    }
    return awaited == 0 ? 0 : early_end(output);
}

/* A program that ignores SIGCHLD, or waits for any child, may have been quicker: that is no harm. */
static void end(pid_t keeper, int code)
{
    if (code != 0)
        kill(-keeper, SIGKILL);
    while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Closes the writing end, so that the reading one comes to an end when the keeper and its runs have. */
static int fork_and_listen(const thrum__simgrid_job *job, const int pipe[2], int output)
{
    pid_t self = getpid(), child = fork();
    if (child < 0) {
        close(pipe[1]);
        return thrum__fault(THRUM_ESYSTEM, "the system refuses a process for the SimGrid engine: %s", strerror(errno));
    }
    if (child == 0) {
        setpgid(0, 0);
        settle(self);
        keep(&(struct keeper){job, NULL, pipe[1]}, output);
    }
    setpgid(child, child); /* both sides do, so that it is done whoever comes first */
    close(pipe[1]);
    int code = listen_to(job, pipe[0], output);
    end(child, code);
    return code;
}

int thrum__simgrid_simulate(const thrum__simgrid_job *job)
{
    int ends[2];
    int output = memfd_create("thrum-simgrid", MFD_CLOEXEC);
    if (output < 0)
        return thrum__fault(THRUM_ESYSTEM, "the system refuses a file in memory: %s", strerror(errno));
    if (pipe2(ends, O_CLOEXEC) != 0) {
        close(output);
        return thrum__fault(THRUM_ESYSTEM, "the system refuses a pipe: %s", strerror(errno));
    }
    int code = fork_and_listen(job, ends, output);
    close(ends[0]);
    close(output);
    return code;
}

int thrum_sim_engine_check(thrum_sim_engine engine)
{
    if (engine == THRUM_ENGINE_NATIVE)
        return 0;
    if (engine != THRUM_ENGINE_SIMGRID)
        return thrum__fault(THRUM_EINVAL, "%d is no engine of the simulator", (int)engine);
    return thrum__simgrid_simulate(&(thrum__simgrid_job){.runs = 0});
}
