/* SPDX-License-Identifier: MIT
 *
 * The process of SimGrid: a child that loads the module.
 *
 *     caller ── fork ──> keeper: loads SimGrid ── fork ──> runs, if it wants to
 *        <──────────── pipe: messages ───┘──────────────────┘
 *
 * The first fork comes from a process that may have threads. The child goes on with what is safe there with the C
 * library of GNU and others that make malloc and the loader safe across fork: it takes none of thrum's locks and uses
 * no executor. The keeper ends with its parent, its children end with the keeper. All are out of the terminal's process
 * group, so that an interrupt meets the caller alone. What SimGrid prints goes to a file in memory, of which an error
 * quotes the first line.
 */
#include "simgrid_process.h"

#include "base/fault.h"

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

struct message {
    enum { SAID, DONE, FAILED } kind;
    uint32_t length;
    char data[THRUM__SAY_MOST];
};
enum { HEAD = offsetof(struct message, data) };
_Static_assert(sizeof(struct message) <= PIPE_BUF, "messages of several writers do not mix");

/* ---- In the keeper and its children ------------------------------------------------------------------------------ */

static void tell(const thrum__keeper *keeper, int kind, const void *data, size_t length)
{
    struct message message = {.kind = kind, .length = (uint32_t)length};
    if (length > 0)
        memcpy(message.data, data, length);
    while (write(keeper->pipe, &message, HEAD + length) < 0 && errno == EINTR)
        ;
}

void thrum__keeper_say(const thrum__keeper *keeper, const void *data, size_t length)
{
    tell(keeper, SAID, data, length);
}

void thrum__keeper_done(const thrum__keeper *keeper)
{
    tell(keeper, DONE, NULL, 0);
    _exit(0);
}

void thrum__keeper_fail(const thrum__keeper *keeper, const char *sentence)
{
    tell(keeper, FAILED, sentence, strlen(sentence) + 1);
    _exit(1);
}

void thrum__keeper_settle(pid_t parent)
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

void thrum__keeper_reset_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The module lies beside the library (or the program that has it inside), or where the system looks for libraries. The
 * path is made here and is not left to $ORIGIN, which is the sanitizers' where they stand between libthrum and
 * dlopen. */
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

static void load(thrum__keeper *keeper)
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
    thrum__keeper_fail(keeper, text);
}

_Noreturn static void live(const thrum__keeping *keeping, int pipe, int output)
{
    /* A caller may have closed its standard files, and the pipe have the number of one. */
    thrum__keeper keeper = {NULL, fcntl(pipe, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
    thrum__keeper_reset_signals();
    silence(output);
    close_others(keeper.pipe);
    load(&keeper);
    if (keeping->keep)
        keeping->keep(&keeper, keeping->ctx);
    thrum__keeper_done(&keeper);
}

/* ---- In the caller ----------------------------------------------------------------------------------------------- */

static bool take(int pipe, void *data, size_t length)
{
    size_t have = 0;
    while (have < length) {
        ssize_t got = read(pipe, (char *)data + have, length - have);
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        if (got > 0)
            have += (size_t)got;
    }
    return true;
}

/* The next message; false: there are no more. */
static bool hear(int pipe, struct message *message)
{
    return take(pipe, message, HEAD) && take(pipe, message->data, message->length);
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

/* Takes in what the keeper and its children say until all is done or something is wrong. */
static int listen_to(const thrum__keeping *keeping, int pipe, int output)
{
    struct message message;
    while (hear(pipe, &message)) {
        if (message.kind == DONE)
            return 0;
        if (message.kind == FAILED)
            return thrum__fault(THRUM_ESYSTEM, "%s", message.data);
        int code = keeping->heard(keeping->ctx, message.data, message.length);
        if (code != 0)
            return code;
    }
    return early_end(output);
}

/* A program that ignores SIGCHLD, or waits for any child, may have been quicker: that is no harm. */
static void end(pid_t keeper, int code)
{
    if (code != 0)
        kill(-keeper, SIGKILL);
    while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Closes the writing end, so that the reading one comes to an end when the keeper and its children have. */
static int fork_and_listen(const thrum__keeping *keeping, const int pipe[2], int output)
{
    pid_t self = getpid(), child = fork();
    if (child < 0) {
        close(pipe[1]);
        return thrum__fault(THRUM_ESYSTEM, "the system refuses a process for the SimGrid engine: %s", strerror(errno));
    }
    if (child == 0) {
        setpgid(0, 0);
        thrum__keeper_settle(self);
        live(keeping, pipe[1], output);
    }
    setpgid(child, child); /* both sides do, so that it is done whoever comes first */
    close(pipe[1]);
    int code = listen_to(keeping, pipe[0], output);
    end(child, code);
    return code;
}

int thrum__simgrid_process(const thrum__keeping *keeping)
{
    int ends[2];
    int output = memfd_create("thrum-simgrid", MFD_CLOEXEC);
    if (output < 0)
        return thrum__fault(THRUM_ESYSTEM, "the system refuses a file in memory: %s", strerror(errno));
    if (pipe2(ends, O_CLOEXEC) != 0) {
        close(output);
        return thrum__fault(THRUM_ESYSTEM, "the system refuses a pipe: %s", strerror(errno));
    }
    int code = fork_and_listen(keeping, ends, output);
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
    return thrum__simgrid_process(&(thrum__keeping){.keep = NULL});
}
