/* SPDX-License-Identifier: MIT
 *
 * thrum bench: the processes of others, and of thrum (bench/common/runner.h tells what they read and answer). One that
 * is not asked is stopped by a signal: some runtimes spin for a while after their work is done, and would do so on the
 * processor of the next one.
 */
#define _GNU_SOURCE

#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_SECONDS = 120 };

static void become_runner(const char *path, int requests, int answers, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a stopped runner would not notice that the driver is gone */
    if (getppid() != parent)
        _exit(1);
    signal(SIGPIPE, SIG_DFL);
    dup2(requests, STDIN_FILENO);
    dup2(answers, STDOUT_FILENO);
    execl(path, path, (char *)NULL);
    _exit(127);
}

static bool start_runner(const struct bench *b, int which, struct bench_runner *runner)
{
    char path[sizeof b->folder + 32];
    int requests[2], answers[2];
    snprintf(path, sizeof path, "%s/%s", b->folder, bench_implementations[which].file);
    if (pipe2(requests, O_CLOEXEC) != 0)
        return false;
    if (pipe2(answers, O_CLOEXEC) != 0) {
        close(requests[0]);
        close(requests[1]);
        return false;
    }
    pid_t parent = getpid();
    fflush(NULL);
    runner->pid = fork();
    if (runner->pid == 0)
        become_runner(path, requests[0], answers[1], parent);
    close(requests[0]);
    close(answers[1]);
    runner->requests = requests[1];
    runner->answers = fdopen(answers[0], "r");
    if (runner->pid < 0) {
        runner->pid = 0;
        close(requests[1]);
        fclose(runner->answers);
        return false;
    }
    return true;
}

void bench_end_runner(struct bench_runner *runner)
{
    if (!runner->pid)
        return;
    kill(runner->pid, SIGKILL);
    waitpid(runner->pid, NULL, 0);
    close(runner->requests);
    fclose(runner->answers);
    runner->pid = 0;
}

static bool answer_in_time(struct bench_runner *runner)
{
    struct pollfd fd = {.fd = fileno(runner->answers), .events = POLLIN};
    int ready;
    do {
        ready = poll(&fd, 1, ANSWER_SECONDS * 1000);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

bool bench_ask(struct bench_runner *runner, const char *request, char *answer, size_t size)
{
    char line[128];
    int length = snprintf(line, sizeof line, "%s\n", request);
    kill(runner->pid, SIGCONT);
    bool answered = write(runner->requests, line, (size_t)length) == length && answer_in_time(runner) &&
                    fgets(answer, (int)size, runner->answers);
    if (!answered) {
        bench_end_runner(runner);
        return false;
    }
    kill(runner->pid, SIGSTOP);
    answer[strcspn(answer, "\n")] = 0;
    return true;
}

struct bench_runner *bench_runner_of(struct bench *b, int which, int w)
{
    struct bench_runner *runner = &b->runners[which][w];
    return runner->pid || start_runner(b, which, runner) ? runner : NULL;
}

void bench_end_all_runners(struct bench *b)
{
    for (int which = 0; which < IMPLEMENTATIONS; which++)
        for (int w = 0; w < b->worker_count; w++)
            bench_end_runner(&b->runners[which][w]);
}

void bench_meet_runners(struct bench *b)
{
    for (int which = 0; which < IMPLEMENTATIONS; which++) {
        char path[sizeof b->folder + 32], answer[256];
        snprintf(path, sizeof path, "%s/%s", b->folder, bench_implementations[which].file);
        b->missing[which] = true;
        if (access(path, X_OK) != 0) {
            fprintf(stderr, "thrum bench: %s is left out: there is no %s\n", bench_implementations[which].name, path);
            continue;
        }
        struct bench_runner *runner = bench_runner_of(b, which, 0);
        if (runner && bench_ask(runner, "about", answer, sizeof answer) && strncmp(answer, "about ", 6) == 0) {
            snprintf(b->about[which], sizeof b->about[which], "%s", answer + 6);
            b->missing[which] = false;
        } else {
            b->failures++;
            fprintf(stderr, "thrum bench: %s is left out: %s does not answer\n", bench_implementations[which].name,
                    path);
        }
    }
}
