/* SPDX-License-Identifier: MIT
 *
 * Runs `dot -Tsvg` as a child with three pipes, and no shell: a file's name or text can never become a command.
 */
#define _POSIX_C_SOURCE 200809L

#include "graphviz.h"
#include "common.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct bytes {
    char *text;
    size_t used, room;
};

static void close_pipe(int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

static void become_dot(const char *program, int in[2], int out[2], int err[2])
{
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    close_pipe(in);
    close_pipe(out);
    close_pipe(err);
    execvp(program, (char *[]){(char *)"dot", (char *)"-Tsvg", NULL});
    _exit(127);
}

/* Reads what there is. False at the end. */
static bool take(int fd, struct bytes *bytes)
{
    if (bytes->room - bytes->used < 4096) {
        size_t room = bytes->room ? bytes->room * 2 : 16384;
        char *more = realloc(bytes->text, room);
        if (!more)
            return false;
        bytes->text = more;
        bytes->room = room;
    }
    ssize_t got = read(fd, bytes->text + bytes->used, bytes->room - bytes->used - 1);
    if (got < 0)
        return errno == EINTR;
    bytes->used += (size_t)got;
    bytes->text[bytes->used] = 0;
    return got > 0;
}

/* Writes as much as the pipe takes. False when nothing is left or nobody reads any more. */
static bool give(int fd, const char **text, size_t *left)
{
    /* At most PIPE_BUF bytes are sure not to block after poll has said yes. */
    ssize_t put = write(fd, *text, *left < 512 ? *left : 512);
    if (put < 0)
        return errno == EINTR;
    *text += put;
    *left -= (size_t)put;
    return *left > 0;
}

/* All three pipes at once: a child that blocks on a full one would never read the rest of its input. */
static void converse(int in, int out, int err, const char *text, size_t left, struct bytes *svg, struct bytes *said)
{
    struct pollfd pipes[3] = {{in, POLLOUT, 0}, {out, POLLIN, 0}, {err, POLLIN, 0}};
    while (pipes[0].fd >= 0 || pipes[1].fd >= 0 || pipes[2].fd >= 0) {
        if (poll(pipes, 3, -1) < 0) {
            if (errno == EINTR)
                continue;
            break;
        }
        for (int i = 0; i < 3; i++) {
            if (pipes[i].fd < 0 || !pipes[i].revents)
                continue;
            bool more = i == 0 ? give(pipes[i].fd, &text, &left) : take(pipes[i].fd, i == 1 ? svg : said);
            if (!more) {
                close(pipes[i].fd);
                pipes[i].fd = -1;
            }
        }
    }
    for (int i = 0; i < 3; i++)
        if (pipes[i].fd >= 0)
            close(pipes[i].fd);
}

static int wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Starts the child and leaves the parent's ends in ends[0..2]. The child's number, or -1. */
static pid_t start_dot(const char *program, int ends[3])
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
    pid_t child = -1;
    if (pipe(in) == 0 && pipe(out) == 0 && pipe(err) == 0)
        child = fork();
    if (child == 0)
        become_dot(program, in, out, err);
    if (child < 0) {
        int reason = errno;
        close_pipe(in);
        close_pipe(out);
        close_pipe(err);
        errno = reason;
        return -1;
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    ends[0] = in[1];
    ends[1] = out[0];
    ends[2] = err[0];
    return child;
}

char *graphviz_svg(const char *dot, size_t dot_size, size_t *svg_size, char *why, size_t why_size)
{
    char program[4096];
    if (!tool_find_program("dot", program, sizeof program)) {
        snprintf(why, why_size, "drawing needs the program 'dot', which is not here: install the package graphviz");
        return NULL;
    }
    /* A child that ends early must show up as a failed write, not as a signal that ends this program. */
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigaction(SIGPIPE, &ignore, &before);
    int ends[3];
    pid_t child = start_dot(program, ends);
    struct bytes svg = {0}, said = {0};
    int code = -1;
    if (child >= 0) {
        converse(ends[0], ends[1], ends[2], dot, dot_size, &svg, &said);
        code = wait_for(child);
    } else {
        snprintf(why, why_size, "cannot start %s: %s", program, strerror(errno));
    }
    sigaction(SIGPIPE, &before, NULL);
    if (child >= 0 && (code != 0 || !svg.text || !svg.used)) {
        snprintf(why, why_size, "%s could not draw it: %.*s", program, said.text ? (int)strcspn(said.text, "\n") : 0,
                 said.text ? said.text : "");
        free(svg.text);
        svg.text = NULL;
    }
    free(said.text);
    *svg_size = svg.used;
    return svg.text;
}
