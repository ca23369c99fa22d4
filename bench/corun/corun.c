/* SPDX-License-Identifier: MIT
 *
 * Co-running: several processes at once, each with its own workers, run the same random graph again and again.
 *
 * The work's runner starts as many more runners of its own kind, its *parts*, and talks to them as `thrum bench` talks
 * to it. A pass measures each part alone, one after the other, and then all of them together; parts that are not
 * measured are stopped by a signal, because some runtimes spin after their work. The answer is the weighted speed-up:
 * for each part the time that a run takes alone divided by the time that it takes together with the others, added up.
 * More is better.
 *
 * Alone, a run of "corun" is a plain loop over the tasks in one thread: the same baseline for every runtime, so that
 * the sums can be compared. One means that the processes might as well have run one after the other without any
 * runtime; the number of cores is the most that can be. Alone, a run of "corun-own" is one by the runtime itself with
 * its workers. That says what a process loses by having company, and nothing of how fast it is: a runtime whose workers
 * are in each other's way has more to gain from company than one whose workers are not.
 *
 * A part runs the graph for a fixed time, counted from a moment that all parts know beforehand (in memory that they
 * share), and goes on with it after that until the others have measured too: nobody is measured while others rest.
 *
 * This file knows no runtime: graph/thrum.c, graph/tbb.cpp and graph/omp.c say how a graph is run.
 */
#include "../graph/graph.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TASKS = 20000, ELEMENTS = 1000, MOST_PARTS = 4, ANSWER_SECONDS = 30 };

#define WINDOW_NS 100e6  /* of a measurement together; alone the parts share it */
#define LEAD_NS 2e6      /* from the last arrival to the common start: long enough for everybody to hear of it */
#define PATIENCE_NS 10e9 /* for other parts, which may have died */

/* What the parts of one pass share. */
typedef struct meeting {
    int expected;          /* parts; this and the next two are written by the work's runner while all of them rest */
    bool loop;             /* measure a plain loop over the tasks, not runs of the graph */
    double window;         /* for so many nanoseconds */
    _Atomic int arrived;   /* parts that are ready */
    _Atomic int measured;  /* parts that have their time */
    _Atomic int64_t start; /* when all begin, by CLOCK_MONOTONIC; 0: not known yet */
} meeting;

/* Where a part finds the meeting: the number of an open file, in its environment. */
static const char meeting_variable[] = "BENCH_CORUN_MEETING";

static meeting *map_meeting(int file)
{
    void *memory = mmap(NULL, sizeof(meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* ---- A part ------------------------------------------------------------------------------------------------------ */

/* The task of the Taskflow paper's micro-benchmarks: y = a x + y over 1000 elements. The arrays are the thread's own,
 * and lie side by side so that where they lie makes no difference from thread to thread. x is written, so that the
 * compiler does not take it for constant. */
static _Thread_local struct {
    _Alignas(64) float x[ELEMENTS];
    float y[ELEMENTS];
} arrays;

static void saxpy(void *arg)
{
    uint32_t *done = arg;
    arrays.x[*done % ELEMENTS] = 1;
    for (int i = 0; i < ELEMENTS; i++)
        arrays.y[i] = 0.5f * arrays.x[i] + arrays.y[i];
    ++*done;
}

static bench_body *volatile saxpy_body = saxpy; /* no compiler knows which function the tasks will call */

typedef struct part {
    meeting *meeting;
    bench_shape *shape;
    bench_cells *cells;
    bench_graph *graph;
} part;

static void close_part(void *state)
{
    part *p = state;
    if (p->graph) {
        bench_graph_destroy(p->graph);
        bench_graph_free(p->graph);
    }
    bench_cells_free(p->cells);
    bench_shape_free(p->shape);
    munmap(p->meeting, sizeof *p->meeting);
    free(p);
}

static void *open_part(const bench_request *request)
{
    const char *file = getenv(meeting_variable);
    meeting *shared = file ? map_meeting(atoi(file)) : NULL;
    if (!shared) {
        bench_bad("a part of a co-run is started by the work 'corun', not by itself");
        return NULL;
    }
    part *p = bench_alloc(1, sizeof *p);
    p->meeting = shared;
    p->shape = bench_shape_new(BENCH_RANDOM_DAG, TASKS / request->shrink);
    p->cells = bench_cells_new(p->shape->tasks);
    p->cells->body = saxpy_body;
    p->graph = bench_graph_new(p->shape, p->cells, request->workers);
    if (!p->graph) {
        close_part(p);
        return NULL;
    }
    bench_graph_build(p->graph);
    return p;
}

/* What the tasks wrote is looked at when all has been measured. */
static void run_once(part *p)
{
    if (p->meeting->loop)
        for (uint32_t i = 0; i < p->cells->count; i++)
            p->cells->body(bench_cell(p->cells, i));
    else
        bench_graph_run(p->graph);
    p->cells->rounds++;
}

/* The last one to arrive says when to start. 0: somebody did not come. */
static double meet(meeting *m)
{
    double arrival = bench_now();
    if (atomic_fetch_add(&m->arrived, 1) + 1 == m->expected)
        atomic_store(&m->start, (int64_t)(arrival + LEAD_NS));
    while (atomic_load(&m->start) == 0) {
        bench_sleep(100e3);
        if (bench_now() - arrival > PATIENCE_NS) {
            bench_bad("the other processes did not come");
            return 0;
        }
    }
    double start = (double)atomic_load(&m->start);
    while (bench_now() < start)
        bench_sleep(start - bench_now());
    return start;
}

/* Nanoseconds per task. */
static double pass_part(void *state)
{
    part *p = state;
    run_once(p);
    double start = meet(p->meeting), end = start;
    uint32_t runs = 0;
    while (end - start < p->meeting->window && !bench_is_bad()) {
        run_once(p);
        runs++;
        end = bench_now();
    }
    atomic_fetch_add(&p->meeting->measured, 1);
    while (atomic_load(&p->meeting->measured) < p->meeting->expected && bench_now() - end < PATIENCE_NS &&
           !bench_is_bad())
        run_once(p);
    p->cells->rounds--; /* verifying counts the last run */
    bench_cells_verify(p->cells);
    return (end - start) / runs / p->shape->tasks;
}

/* ---- All parts --------------------------------------------------------------------------------------------------- */

typedef struct process {
    pid_t id;
    int requests;
    FILE *answers;
} process;

typedef struct corun {
    int parts;
    bool own; /* the baseline is the runtime itself */
    char request[64];
    meeting *meeting;
    process process[MOST_PARTS];
} corun;

static void become_part(int requests, int answers, int file, pid_t parent)
{
    char number[16];
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a stopped part would not notice that its starter is gone */
    if (getppid() != parent)
        _exit(1);
    snprintf(number, sizeof number, "%d", file);
    setenv(meeting_variable, number, 1);
    dup2(requests, STDIN_FILENO);
    dup2(answers, STDOUT_FILENO);
    execl("/proc/self/exe", "corun-part", (char *)NULL);
    _exit(127);
}

static int start_part(process *process, int file)
{
    int requests[2], answers[2];
    if (pipe2(requests, O_CLOEXEC) != 0)
        return -1;
    if (pipe2(answers, O_CLOEXEC) != 0) {
        close(requests[0]);
        close(requests[1]);
        return -1;
    }
    pid_t parent = getpid();
    process->id = fork();
    if (process->id == 0)
        become_part(requests[0], answers[1], file, parent);
    close(requests[0]);
    close(answers[1]);
    process->requests = requests[1];
    process->answers = fdopen(answers[0], "r");
    return process->id > 0 && process->answers ? 0 : -1;
}

static void end_part(process *process)
{
    if (process->id > 0) {
        kill(process->id, SIGKILL);
        waitpid(process->id, NULL, 0);
    }
    if (process->answers) {
        fclose(process->answers);
        close(process->requests);
    }
}

static void close_corun(void *state)
{
    corun *c = state;
    for (int i = 0; i < c->parts; i++)
        end_part(&c->process[i]);
    munmap(c->meeting, sizeof *c->meeting);
    free(c);
}

/* A work's variant is the number of parts, negative for "corun-own". */
static void *open_corun(const bench_request *request)
{
    int file = memfd_create("corun", 0);
    meeting *shared = file >= 0 && ftruncate(file, sizeof *shared) == 0 ? map_meeting(file) : NULL;
    if (!shared) {
        bench_bad("no memory to share: %s", strerror(errno));
        return NULL;
    }
    corun *c = bench_alloc(1, sizeof *c);
    c->parts = abs(request->variant);
    c->own = request->variant < 0;
    c->meeting = shared;
    snprintf(c->request, sizeof c->request, "corun-part %d %u\n", request->workers, (unsigned)request->shrink);
    int failed = 0;
    fflush(NULL);
    for (int i = 0; i < c->parts && !failed; i++)
        failed = start_part(&c->process[i], file);
    close(file);
    if (failed) {
        bench_bad("a process could not be started: %s", strerror(errno));
        close_corun(c);
        return NULL;
    }
    return c;
}

static void ask(corun *c, const process *process)
{
    size_t length = strlen(c->request);
    kill(process->id, SIGCONT);
    if (write(process->requests, c->request, length) != (ssize_t)length)
        bench_bad("a process has ended: %s", strerror(errno));
}

static double answer_of(const process *process)
{
    struct pollfd fd = {.fd = fileno(process->answers), .events = POLLIN};
    char line[512];
    double ns;
    int ready;
    do
        ready = poll(&fd, 1, ANSWER_SECONDS * 1000);
    while (ready < 0 && errno == EINTR);
    if (ready <= 0 || !fgets(line, sizeof line, process->answers))
        bench_bad("a process did not answer");
    else if (sscanf(line, "ok %lf", &ns) == 1)
        return ns;
    else
        bench_bad("a process says: %.*s", (int)strcspn(line, "\n"), line);
    return 1;
}

/* Parts number `from` to `to` - 1 at once: what a task took in each of them. */
static void measure(corun *c, int from, int to, bool loop, double *ns)
{
    c->meeting->expected = to - from;
    c->meeting->loop = loop;
    c->meeting->window = WINDOW_NS * (to - from) / c->parts;
    atomic_store(&c->meeting->arrived, 0);
    atomic_store(&c->meeting->measured, 0);
    atomic_store(&c->meeting->start, 0);
    for (int i = from; i < to; i++)
        ask(c, &c->process[i]);
    for (int i = from; i < to && !bench_is_bad(); i++)
        ns[i] = answer_of(&c->process[i]);
    for (int i = from; i < to; i++)
        kill(c->process[i].id, SIGSTOP);
}

static double pass_corun(void *state)
{
    corun *c = state;
    double alone[MOST_PARTS], together[MOST_PARTS], speedup = 0;
    for (int i = 0; i < c->parts && !bench_is_bad(); i++)
        measure(c, i, i + 1, !c->own, alone);
    if (!bench_is_bad())
        measure(c, 0, c->parts, false, together);
    for (int i = 0; i < c->parts && !bench_is_bad(); i++)
        speedup += alone[i] / together[i];
    return speedup;
}

static bench_work works[] = {
    {"corun-part", 0, open_part, pass_part, close_part, NULL},
    {"corun-1", 1, open_corun, pass_corun, close_corun, NULL},
    {"corun-2", 2, open_corun, pass_corun, close_corun, NULL},
    {"corun-3", 3, open_corun, pass_corun, close_corun, NULL},
    {"corun-4", 4, open_corun, pass_corun, close_corun, NULL},
    {"corun-own-2", -2, open_corun, pass_corun, close_corun, NULL},
    {"corun-own-3", -3, open_corun, pass_corun, close_corun, NULL},
    {"corun-own-4", -4, open_corun, pass_corun, close_corun, NULL},
};

BENCH_WORKS(works)
