/* SPDX-License-Identifier: MIT
 *
 * thrum bench: measures thrum beside its peers, in one run.
 *
 * Each implementation is a program of its own (bench/common/runner.h tells what they read and answer), and there is one
 * process of it for each number of workers. A work's passes go round all of these processes, so that whatever else the
 * machine does hits all of them alike; each work starts new processes, so that no work meets the heap that another has
 * left behind, and where data's place in memory decides, so does each pass. A process that is not being measured is
 * stopped by a signal: some runtimes spin for a while after their work is done, and would do so on the processor of the
 * next one.
 */
#define _GNU_SOURCE

#include "commands.h"
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- What is measured -------------------------------------------------------------------------------------------- */

enum limit_kind {
    NO_LIMIT,
    OF_ONETBB,     /* at most so many times what oneTBB takes */
    OF_SEQUENTIAL, /* at most so many times what sequential code takes */
    ABSOLUTE,      /* at most so much, in the row's unit */
    OF_PEERS,      /* where more is better: the best peer's at most so many times thrum's */
    OF_BEST,       /* at most so many times what the best peer takes */
    OF_EACH,       /* at most `limit` times each peer's own limit: peer_limits */
};

enum row_flags {
    FEW = 1,        /* a pass takes long or hardly varies: three passes, no warm-up */
    FRESH = 2,      /* needs a heap that nobody has used: a new process for every pass */
    THRUM_ONLY = 4, /* a question to thrum alone */
    SHARED = 16,    /* the limit is for two workers or more */
    COSTS = 8,      /* does not run tasks, or has threads hand over to each other: no comparison of workers */
    MORE = 32,      /* more is better */
    NOT_ONE = 64,   /* with two workers or more only */
    RATE = 128,     /* samples have a second number: GFLOP/s */
    ALONE = 256,    /* samples have a second number: the time until the last task was inserted */
    SCALES = 512,   /* a second limit: SCALE of the workers times sequential code */
    RENEWED = 1024, /* where data lies in memory decides: a new process for every pass, asked several times */
};

/* In the flags of a row for co-running processes, whose name ends in "-" and this number. */
#define PROCESSES(count) ((unsigned)(count) << 12)
#define CORUN(count) MORE | NOT_ONE | COSTS | PROCESSES(count)

/* Rows of loops by four techniques, over the least time that they could take. */
#define RAMP(name, kind, technique, help)                                                                              \
    {                                                                                                                  \
        LOOPS, name "-" technique, "of-bound", kind, 1.03, COSTS | THRUM_ONLY, help                                    \
    }
#define FOUR(name, kind, help)                                                                                         \
    RAMP(name, kind, "fac2", help), RAMP(name, kind, "awf-c", help), RAMP(name, kind, "af", help),                     \
        RAMP(name, kind, "auto", help)
#define RAMPS(name, help) FOUR(name, ABSOLUTE, help)
#define SHARES(name, help) FOUR(name, NO_LIMIT, help)
#define AUTO FEW | COSTS | THRUM_ONLY | NOT_ONE

/* Works come in groups; the first one is measured when nothing is asked for. */
static const char *const groups[] = {"base", "control", "loops", "data"};

enum group { BASE, CONTROL, LOOPS, DATA, GROUPS };

struct row {
    enum group group;
    const char *work, *unit;
    enum limit_kind limit_kind;
    double limit;
    unsigned flags;
    const char *help;
};

static const struct row rows[] = {
    {BASE, "create", "ns", OF_ONETBB, 0.15, COSTS, "make a task, 1 M in one graph"},
    {BASE, "edge-chain", "ns", OF_ONETBB, 0.3, COSTS, "add an edge, 1 M in a chain"},
    {BASE, "edge-chain-freeze", "ns", OF_ONETBB, 0.9, COSTS, "the same with the freeze"},
    {BASE, "edge-random-freeze", "ns", OF_ONETBB, 0.2, COSTS, "add an edge with random ends, 1 M, with the freeze"},
    {BASE, "destroy", "ns", OF_ONETBB, 0.05, COSTS, "destroy a graph of 1 M tasks and 1 M random edges, per task"},
    {BASE, "destroy-chain", "ns", OF_ONETBB, 0.05, COSTS, "destroy a chain of 1 M tasks, per task"},
    {BASE, "independent", "ns", OF_ONETBB, 0.02, 0, "run 1 M independent tasks again, per task"},
    {BASE, "independent-arena", "ns", NO_LIMIT, 0, 0, "the same; oneTBB's are started inside of an arena"},
    {BASE, "chain", "ns", OF_ONETBB, 0.2, 0, "run a chain of 1 M tasks again"},
    {BASE, "tree", "ns", OF_ONETBB, 0.06, 0, "run a binary tree of 2^20 tasks again"},
    {BASE, "wavefront", "ns", OF_ONETBB, 0.12, 0, "run a wavefront of 1000 x 1000 again; right neighbour added first"},
    {BASE, "wavefront-swapped", "ns", OF_ONETBB, 0.12, 0, "the same; lower neighbour added first"},
    {BASE, "random", "ns", OF_ONETBB, 0.15, 0, "run 100 k tasks with two random predecessors each again"},
    {BASE, "fib", "ns", OF_ONETBB, 0.13, 0, "fib(35) without cut-off, per spawn; calls into the shared library"},
    {BASE, "fib-inline", "ns", OF_ONETBB, 0.10, 0, "the same with the header's inline functions"},
    {BASE, "submit-hot", "ns", OF_ONETBB, 0.5, COSTS, "submit one function to a worker and wait, over and over"},
    {BASE, "submit-hot-spin", "ns", NO_LIMIT, 0, COSTS, "the same; oneTBB's caller spins on a flag"},
    {BASE, "submit-idle", "ns", OF_ONETBB, 1.0, COSTS, "the same after 1 ms of quiet"},
    {BASE, "submit-caller", "ns", ABSOLUTE, 100, COSTS, "submit and wait where the caller may run it"},
    {BASE, "idle", "ns", ABSOLUTE, 100000, COSTS | FEW, "processor time used in 2 s with nothing to do"},
    {BASE, "small-independent", "ns", NO_LIMIT, 0, 0, "10,000 independent tasks, run again, per task"},
    {BASE, "small-chain", "ns", NO_LIMIT, 0, 0, "a chain of 10,000"},
    {BASE, "small-tree", "ns", NO_LIMIT, 0, 0, "a binary tree of 10,000"},
    {BASE, "small-wavefront", "ns", NO_LIMIT, 0, 0, "a wavefront of 100 x 100"},
    {BASE, "small-wavefront-swapped", "ns", NO_LIMIT, 0, 0, "the same; lower neighbour added first"},
    {BASE, "small-random", "ns", NO_LIMIT, 0, 0, "10,000 tasks with two random predecessors each"},
    {BASE, "memory-task", "bytes", ABSOLUTE, 64, COSTS | FEW | FRESH,
     "resident memory of a task, 1 M in a frozen graph"},
    {BASE, "memory-edge", "bytes", ABSOLUTE, 8, COSTS | FEW | FRESH, "what an edge adds to that, four for each task"},
    {BASE, "scale-10m", "ns", NO_LIMIT, 0, FEW | THRUM_ONLY, "build and run 10 M independent tasks, per task"},
    {BASE, "rerun-memory", "bytes", ABSOLUTE, 65536, COSTS | FEW | FRESH | THRUM_ONLY,
     "memory growth over 1 M re-runs of 10 tasks"},
    {CONTROL, "condition", "ns", OF_ONETBB, 0.25, 0,
     "a loop of a task and a condition, 1 M turns, per turn; oneTBB: a chain of 1 M nodes, per node"},
    {CONTROL, "condition-body", "ns", OF_SEQUENTIAL, 1.1, 0,
     "a loop around a wavefront of 32 x 32, per task; sequential: thrum runs it again from outside"},
    {CONTROL, "iterate", "ns", OF_SEQUENTIAL, 1 / 3.0, 0,
     "100,000 turns of a loop around 10 tasks (1, 8, 1), per turn; sequential: thrum_run each time"},
    {CONTROL, "iterate-chain", "ns", OF_SEQUENTIAL, 1 / 3.0, 0, "the same with 10 tasks one after the other"},
    {CONTROL, "stencil", "ns", OF_SEQUENTIAL, 1.0, SHARED,
     "2,000 steps of a stencil of 8 x 8 blocks, pipelined, per block; sequential: thrum with a barrier behind each step"},
    {CONTROL, "stencil-uneven", "ns", OF_SEQUENTIAL, 1.0, SHARED,
     "the same where each step has a block that takes eight times as long"},
    {CONTROL, "sort", "ns", OF_ONETBB, 1.0, 0, "sort 10 M random int32, per element; oneTBB: parallel_sort"},
    {CONTROL, "sort-int64", "ns", OF_ONETBB, 1.0, 0, "the same with int64"},
    {CONTROL, "sort-double", "ns", OF_ONETBB, 1.0, 0, "the same with doubles"},
    {CONTROL, "sort-compare", "ns", OF_SEQUENTIAL, 1 / 1.8, SHARED,
     "sort 10 M random int32 with a comparison through a pointer; sequential: qsort"},
    {CONTROL, "reduce", "ns", OF_ONETBB, 1.0, SHARED, "add up 100 M doubles, per element; oneTBB: parallel_reduce"},
    {CONTROL, "scan", "ns", OF_ONETBB, 1.0, SHARED, "inclusive scan of 50 M doubles; oneTBB: parallel_scan"},
    {CONTROL, "pipeline", "ns", OF_ONETBB, 1.0, 0,
     "2^20 tokens through 8 serial stages on 8 lines, per stage of a token; oneTBB: parallel_pipeline"},
    {CONTROL, "corun-1", "weighted-speedup", OF_PEERS, 1.0, CORUN(1),
     "a process runs a random graph of 20,000 small tasks; over a loop without a runtime; more is better"},
    {CONTROL, "corun-2", "weighted-speedup", OF_PEERS, 1.0, CORUN(2), "two processes at once do, added up"},
    {CONTROL, "corun-3", "weighted-speedup", OF_PEERS, 1.0, CORUN(3), "three"},
    {CONTROL, "corun-4", "weighted-speedup", OF_PEERS, 1.0, CORUN(4), "four"},
    {CONTROL, "corun-own-2", "weighted-speedup", OF_PEERS, 1.0, CORUN(2),
     "the same over a process of the same runtime alone: what company costs, not how fast it is"},
    {CONTROL, "corun-own-3", "weighted-speedup", OF_PEERS, 1.0, CORUN(3), "three"},
    {CONTROL, "corun-own-4", "weighted-speedup", OF_PEERS, 1.0, CORUN(4), "four"},
    {LOOPS, "loop-stat", "ns", OF_BEST, 1.1, 0,
     "10 M trivial iterations by STAT; OpenMP: static, oneTBB: static_partitioner; per iteration"},
    {LOOPS, "loop-gss", "ns", OF_BEST, 1.1, 0, "by GSS; OpenMP: guided, oneTBB: auto_partitioner"},
    {LOOPS, "loop-ss", "ns", OF_EACH, 1.0, SHARED,
     "by SS, one at a time; OpenMP: dynamic,1, oneTBB: grain 1 and simple_partitioner"},
    {LOOPS, "loop-fork", "ns", NO_LIMIT, 0, COSTS,
     "a loop with one trivial iteration for each worker by STAT, per loop"},
    RAMPS("ramp-up", "20,000 iterations that take longer and longer"),
    RAMPS("ramp-down", "that take less and less"),
    RAMPS("ramp-random", "that take exponentially distributed times"),
    RAMPS("ramp-one", "of which one, at a random place, has a third of the work"),
    SHARES("ramp-down-share", "as ramp-down, over work/p alone"),
    SHARES("ramp-one-share", "as ramp-one, over work/p alone"),
    {LOOPS, "auto-uniform", "of-best", ABSOLUTE, 1.05, AUTO,
     "a loop by AUTO, after 20 executions, over the best technique: iterations of 80 ns"},
    {LOOPS, "auto-up", "of-best", ABSOLUTE, 1.05, AUTO, "that take longer and longer"},
    {LOOPS, "auto-down", "of-best", ABSOLUTE, 1.05, AUTO, "that take less and less"},
    {LOOPS, "auto-random", "of-best", ABSOLUTE, 1.05, AUTO, "that take exponentially distributed times"},
    {LOOPS, "auto-one", "of-best", ABSOLUTE, 1.05, AUTO, "of which one has a third of the work"},
    {LOOPS, "auto-memory", "of-best", ABSOLUTE, 1.05, AUTO, "that read memory"},
    {LOOPS, "auto-change", "of-best", ABSOLUTE, 1.05, AUTO,
     "20 executions after each change from one of these to the next"},
    {DATA, "insert-1", "ns", OF_EACH, 1.0, ALONE, "insert and run 50,000 empty tasks with one access each, per task"},
    {DATA, "insert-3", "ns", OF_EACH, 1.0, ALONE, "with three accesses each: two read, one reads and writes"},
    {DATA, "insert-8", "ns", OF_EACH, 1.0, ALONE, "with eight"},
    {DATA, "cholesky-256", "ns", OF_BEST, 1.0, RATE | SCALES | RENEWED,
     "Cholesky factorisation of 4096 x 4096 doubles in tiles of 256 x 256, per task"},
    {DATA, "cholesky-128", "ns", OF_BEST, 1.0, RATE | SCALES | RENEWED, "in tiles of 128 x 128"},
    {DATA, "cholesky-64", "ns", OF_BEST, 1.0, RATE | SCALES | RENEWED, "in tiles of 64 x 64"},
    {DATA, "cholesky-32", "ns", OF_BEST, 1.0, RATE | RENEWED, "in tiles of 32 x 32"},
    {DATA, "replay", "ns", OF_SEQUENTIAL, 1 / 3.0, 0,
     "run a recorded flow of the tasks of insert-3 again, per task; sequential: thrum inserts them"},
    {DATA, "redux-dot", "ns", OF_SEQUENTIAL, 1.05, 0,
     "a dot product of 4 M doubles in 256 tasks by REDUX, per element; sequential: a loop with private copies by hand"},
    {DATA, "redux-histogram", "ns", OF_SEQUENTIAL, 1.05, 0, "a histogram of 16 M numbers in 64 tasks by REDUX"},
    {DATA, "commute-histogram", "ns", OF_SEQUENTIAL, 1.05, 0,
     "the same, counted for each block and added to four parts of the bins by COMMUTE"},
    {DATA, "policy-fifo", "ns", NO_LIMIT, 0, COSTS | THRUM_ONLY,
     "what the policy takes to push and pop a job, with 10 buckets, 24 workers and 5 memory nodes"},
    {DATA, "policy-dmda", "ns", NO_LIMIT, 0, COSTS | THRUM_ONLY, "the same of dmda"},
    {DATA, "policy-heteroprio", "ns", NO_LIMIT, 0, COSTS | THRUM_ONLY, "of heteroprio"},
    {DATA, "policy-laheteroprio", "ns", ABSOLUTE, 500, COSTS | THRUM_ONLY, "of laheteroprio"},
};

enum { ROWS = sizeof rows / sizeof *rows };

enum { THRUM, ONETBB, LIBGOMP, LIBOMP, STARPU, STARPU_DMDA, SEQUENTIAL, THRUM_DMDA, IMPLEMENTATIONS };

static const struct {
    const char *name, *file;
} implementations[IMPLEMENTATIONS] = {
    {"thrum", "bench-thrum"},    {"oneTBB", "bench-tbb"},
    {"libgomp", "bench-gomp"},   {"libomp", "bench-libomp"},
    {"StarPU", "bench-starpu"},  {"StarPU-dmda", "bench-starpu-dmda"},
    {"sequential", "bench-seq"}, {"thrum-dmda", "bench-thrum-dmda"},
};

/* Peers are those between thrum and sequential code; not all of them have a part in each group. thrum with a policy is shown
 * beside them where there is data, and has no limits. */
enum { FIRST_PEER = ONETBB, LAST_PEER = STARPU_DMDA };

/* The order of a pass, there and in the next pass back: beside thrum stands what it is compared with most closely. */
static const int turns[IMPLEMENTATIONS] = {STARPU, STARPU_DMDA, THRUM_DMDA, LIBOMP, SEQUENTIAL, THRUM, LIBGOMP, ONETBB};

/* OF_EACH: of self scheduling, and of inserting tasks. 0: no limit. */
static const double peer_limits[GROUPS][IMPLEMENTATIONS] = {
    [LOOPS] = {[ONETBB] = 0.5, [LIBGOMP] = 0.5, [LIBOMP] = 0.125},
    [DATA] = {[LIBGOMP] = 1.0, [STARPU] = 0.15, [STARPU_DMDA] = 0.15},
};

/* SCALES: at least so much of the workers times the speed of sequential code. */
#define SCALE 0.97

enum { MOST_WORKER_COUNTS = 8, MOST_PASSES = 999, FEW_PASSES = 3, ANSWER_SECONDS = 120, QUIET_TRIES = 4 };
/* Pairs of samples for the comparison of workers in a pass: as many as can be begun in that time. */
enum { PAIRS = 24, WARM_UPS = 3 };
#define PAIRS_SECONDS 0.25

struct runner {
    pid_t pid; /* 0: not started */
    int requests;
    FILE *answers;
};

struct samples {
    bool none; /* the implementation has no such work, or is not here, or failed */
    int count;
    double value[MOST_PASSES];
    double second[MOST_PASSES]; /* RATE and ALONE; NAN: not known */
    double median, least, most; /* once all passes are done */
    double second_median;
};

/* Thrum with more workers / with one, of samples that are next to each other in time: what else the machine does changes both. */
struct pairs {
    int count;
    double ratio[MOST_PASSES * PAIRS];
    double median;
};

struct bench {
    bool json, quick;
    const char *out;
    char folder[4096]; /* of the runners */
    int passes;
    int worker_counts[MOST_WORKER_COUNTS], worker_count;
    bool selected[ROWS];
    bool progress;
    int failures;
    int taken, disturbed; /* samples that count; and how often one was taken while a hypervisor had the processors */
    bool missing[IMPLEMENTATIONS];
    char about[IMPLEMENTATIONS][256];
    struct runner runners[IMPLEMENTATIONS][MOST_WORKER_COUNTS];
    struct samples samples[IMPLEMENTATIONS][MOST_WORKER_COUNTS]; /* of the current work */
    struct pairs pairs[MOST_WORKER_COUNTS];                      /* the same */
    FILE *record;                                                /* the file of raw samples */
    int recorded;
};

/* ---- Runners ----------------------------------------------------------------------------------------------------- */

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

static bool start_runner(const struct bench *b, int which, struct runner *runner)
{
    char path[sizeof b->folder + 32];
    int requests[2], answers[2];
    snprintf(path, sizeof path, "%s/%s", b->folder, implementations[which].file);
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

static void end_runner(struct runner *runner)
{
    if (!runner->pid)
        return;
    kill(runner->pid, SIGKILL);
    waitpid(runner->pid, NULL, 0);
    close(runner->requests);
    fclose(runner->answers);
    runner->pid = 0;
}

static bool answer_in_time(struct runner *runner)
{
    struct pollfd fd = {.fd = fileno(runner->answers), .events = POLLIN};
    int ready;
    do {
        ready = poll(&fd, 1, ANSWER_SECONDS * 1000);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

/* Lets the runner go on until it has answered. False: it died or did not answer, and has been ended. */
static bool ask(struct runner *runner, const char *request, char *answer, size_t size)
{
    char line[128];
    int length = snprintf(line, sizeof line, "%s\n", request);
    kill(runner->pid, SIGCONT);
    bool answered = write(runner->requests, line, (size_t)length) == length && answer_in_time(runner) &&
                    fgets(answer, (int)size, runner->answers);
    if (!answered) {
        end_runner(runner);
        return false;
    }
    kill(runner->pid, SIGSTOP);
    answer[strcspn(answer, "\n")] = 0;
    return true;
}

static struct runner *runner_of(struct bench *b, int which, int w)
{
    struct runner *runner = &b->runners[which][w];
    return runner->pid || start_runner(b, which, runner) ? runner : NULL;
}

static void end_all_runners(struct bench *b)
{
    for (int which = 0; which < IMPLEMENTATIONS; which++)
        for (int w = 0; w < b->worker_count; w++)
            end_runner(&b->runners[which][w]);
}

/* Which implementations are here, and of which version. */
static void meet_runners(struct bench *b)
{
    for (int which = 0; which < IMPLEMENTATIONS; which++) {
        char path[sizeof b->folder + 32], answer[256];
        snprintf(path, sizeof path, "%s/%s", b->folder, implementations[which].file);
        b->missing[which] = true;
        if (access(path, X_OK) != 0) {
            fprintf(stderr, "thrum bench: %s is left out: there is no %s\n", implementations[which].name, path);
            continue;
        }
        struct runner *runner = runner_of(b, which, 0);
        if (runner && ask(runner, "about", answer, sizeof answer) && strncmp(answer, "about ", 6) == 0) {
            snprintf(b->about[which], sizeof b->about[which], "%s", answer + 6);
            b->missing[which] = false;
        } else {
            b->failures++;
            fprintf(stderr, "thrum bench: %s is left out: %s does not answer\n", implementations[which].name, path);
        }
    }
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

static void report_progress(const struct bench *b, const struct row *row, int pass, int passes, int which, int w)
{
    if (b->progress)
        fprintf(stderr, "\r\033[K%s: pass %d of %d, %s with %d workers", row->work, pass + 1, passes,
                implementations[which].name, b->worker_counts[w]);
}

static void clear_progress(const struct bench *b)
{
    if (b->progress)
        fputs("\r\033[K", stderr);
}

static void complain(struct bench *b, const struct row *row, int which, int w, const char *what)
{
    clear_progress(b);
    fprintf(stderr, "thrum bench: %s, %s with %d workers: %s\n", row->work, implementations[which].name,
            b->worker_counts[w], what);
    b->failures++;
}

/* What one pass takes. False: not known, and if that is new, it is said. */
static bool ask_for_sample(struct bench *b, const struct row *row, int which, int w, double *value, double *second)
{
    char request[128], answer[512];
    *second = NAN;
    if (row->flags & FRESH)
        end_runner(&b->runners[which][w]);
    struct runner *runner = runner_of(b, which, w);
    snprintf(request, sizeof request, "%s %d %d", row->work, b->worker_counts[w], b->quick ? 10 : 1);
    bool answered = runner && ask(runner, request, answer, sizeof answer);
    if (answered && sscanf(answer, "ok %lf %lf", value, second) >= 1)
        return true;
    b->samples[which][w].none = true;
    if (!answered)
        complain(b, row, which, w, "the runner ended or did not answer in time");
    else if (strcmp(answer, "none") != 0)
        complain(b, row, which, w, answer);
    return false;
}

/* What a hypervisor has had of the processors that it lets us have, in seconds of one of them, since the computer was started. */
static double stolen_seconds(void)
{
    double stolen = 0;
    FILE *file = fopen("/proc/stat", "r");
    if (file && fscanf(file, "cpu %*s %*s %*s %*s %*s %*s %*s %lf", &stolen) != 1)
        stolen = 0;
    if (file)
        fclose(file);
    return stolen / (double)sysconf(_SC_CLK_TCK);
}

/* A sample during which a hypervisor had more than a thirtieth of the processors is taken again, whoever's it is; but not for ever. Those
 * that are so short that it cannot be told are taken as they are. */
static bool ask_quietly(struct bench *b, const struct row *row, int which, int w, double *value, double *second)
{
    double processors = (double)sysconf(_SC_NPROCESSORS_ONLN), share = 1.0 / 30, least = 0.1;
    for (int tries = 0; tries < QUIET_TRIES; tries++) {
        double began = tool_now(), stolen = stolen_seconds();
        if (!ask_for_sample(b, row, which, w, value, second))
            return false;
        double seconds = tool_now() - began;
        if (seconds < least || stolen_seconds() - stolen <= seconds * processors * share)
            break;
        b->disturbed++;
    }
    b->taken++;
    return true;
}

static void keep_sample(struct samples *samples, double value, double second)
{
    samples->second[samples->count] = second;
    samples->value[samples->count++] = value;
}

static void take_sample(struct bench *b, const struct row *row, int which, int w, bool keep)
{
    double value, second;
    if ((keep ? ask_quietly : ask_for_sample)(b, row, which, w, &value, &second) && keep)
        keep_sample(&b->samples[which][w], value, second);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Processes of one program differ by some per cent, for as long as they live, by which pages they were given. So each pass has a new one; of
 * three answers the middle one counts, which is seldom the first, while it warms up. */
static void take_renewed_sample(struct bench *b, const struct row *row, int which, int w)
{
    double answers[3][2]; /* value and second number */
    end_runner(&b->runners[which][w]);
    for (int i = 0; i < 3; i++)
        if (!ask_quietly(b, row, which, w, &answers[i][0], &answers[i][1]))
            return;
    qsort(answers, 3, sizeof *answers, by_size); /* by their values, which come first */
    keep_sample(&b->samples[which][w], answers[1][0], answers[1][1]);
}

/* Sorts into `sorted`, and returns the median. */
static double sort_samples(const double *values, int count, double *sorted)
{
    memcpy(sorted, values, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static void summarize(struct samples *samples)
{
    int count = samples->count;
    if (samples->none || count == 0) {
        samples->none = true;
        samples->median = samples->least = samples->most = samples->second_median = NAN;
        return;
    }
    double sorted[MOST_PASSES];
    samples->second_median = sort_samples(samples->second, count, sorted);
    samples->median = sort_samples(samples->value, count, sorted);
    samples->least = sorted[0];
    samples->most = sorted[count - 1];
}

/* A median over passes, and the range in which the true one lies with 95 % certainty, whatever the distribution. NAN: not known. */
struct spread {
    double median, low, high;
};

static const struct spread unknown = {NAN, NAN, NAN};

static struct spread scaled(struct spread spread, double factor)
{
    return (struct spread){spread.median * factor, spread.low * factor, spread.high * factor};
}

/* How far from either end of the sorted samples the range begins: the number of those below the true median is binomially distributed. */
static int certain_rank(int count)
{
    double rank = floor((count - 1.96 * sqrt(count)) / 2);
    return rank > 1 ? (int)rank - 1 : 0;
}

/* What one took divided by what the other took in the same pass: a computer's speed may change from second to second, and the two are
 * next to each other. */
static struct spread ratio_between(const struct samples *one, const struct samples *other)
{
    double ratios[MOST_PASSES], sorted[MOST_PASSES];
    int count = one->count < other->count ? one->count : other->count;
    if (one->none || other->none || count == 0)
        return unknown;
    for (int i = 0; i < count; i++)
        ratios[i] = one->value[i] / other->value[i];
    double median = sort_samples(ratios, count, sorted);
    int rank = certain_rank(count);
    return isfinite(median) ? (struct spread){median, sorted[rank], sorted[count - 1 - rank]} : unknown;
}

static bool is_measured(const struct bench *b, const struct row *row, int w)
{
    return !(row->flags & NOT_ONE) || b->worker_counts[w] > 1;
}

/* ---- Comparing numbers of workers --------------------------------------------------------------------------------- */

/* -1: it was not measured. */
static int one_worker(const struct bench *b)
{
    for (int w = 0; w < b->worker_count; w++)
        if (b->worker_counts[w] == 1)
            return w;
    return -1;
}

static bool is_compared(const struct bench *b, const struct row *row, int w)
{
    int one = one_worker(b);
    return !(row->flags & COSTS) && b->worker_counts[w] != 1 && one >= 0 && !b->samples[THRUM][one].none &&
           !b->samples[THRUM][w].none;
}

static void add_pair(struct pairs *pairs, double more, double one)
{
    pairs->ratio[pairs->count++] = more / one;
}

/* Where a graph lies in memory changes its time by a tenth, for as long as its process lives: so these live for one pass. */
static bool renew(struct bench *b, const struct row *row, int w)
{
    double value, second;
    end_runner(&b->runners[THRUM][w]);
    for (int i = 0; i < WARM_UPS; i++)
        if (!ask_for_sample(b, row, THRUM, w, &value, &second))
            return false;
    return true;
}

/* The pass has a sample of each; where they are short more are taken, and either is first in turn. */
static void compare_workers(struct bench *b, const struct row *row, int w)
{
    struct samples *all = b->samples[THRUM];
    int one = one_worker(b);
    add_pair(&b->pairs[w], all[w].value[all[w].count - 1], all[one].value[all[one].count - 1]);
    if (row->group != BASE || !renew(b, row, one) || !renew(b, row, w))
        return;
    double value[2], second, until = tool_now() + PAIRS_SECONDS;
    for (int i = 1; i < PAIRS && tool_now() < until; i++) {
        int order[2] = {i % 2 ? w : one, i % 2 ? one : w};
        for (int k = 0; k < 2; k++)
            if (!ask_for_sample(b, row, THRUM, order[k], &value[order[k] == w], &second))
                return;
        add_pair(&b->pairs[w], value[1], value[0]);
    }
}

static void compare_all_workers(struct bench *b, const struct row *row)
{
    for (int w = 0; w < b->worker_count; w++)
        if (is_compared(b, row, w))
            compare_workers(b, row, w);
}

static void summarize_pairs(struct pairs *pairs)
{
    static double sorted[MOST_PASSES * PAIRS];
    pairs->median = pairs->count ? sort_samples(pairs->ratio, pairs->count, sorted) : NAN;
}

/* ---- A work ------------------------------------------------------------------------------------------------------- */

static void forget_samples(struct bench *b, const struct row *row)
{
    for (int w = 0; w < b->worker_count; w++) {
        b->pairs[w].count = 0;
        for (int which = 0; which < IMPLEMENTATIONS; which++) {
            b->samples[which][w].count = 0;
            b->samples[which][w].none = b->missing[which] || !is_measured(b, row, w) ||
                                        ((row->flags & THRUM_ONLY) && which != THRUM) ||
                                        (which == THRUM_DMDA && row->group != DATA);
        }
    }
}

/* All implementations, one after the other. */
static void take_turns(struct bench *b, const struct row *row, int pass, int passes, int w)
{
    for (int turn = 0; turn < IMPLEMENTATIONS; turn++) {
        int which = turns[pass % 2 ? IMPLEMENTATIONS - 1 - turn : turn];
        if (b->samples[which][w].none)
            continue;
        report_progress(b, row, pass, passes, which, w);
        if (row->flags & RENEWED)
            take_renewed_sample(b, row, which, w);
        else
            take_sample(b, row, which, w, pass >= 0);
    }
}

static void measure(struct bench *b, const struct row *row)
{
    bool few = row->flags & FEW, warm_up = !(row->flags & (FEW | RENEWED));
    int passes = few && b->passes > FEW_PASSES ? FEW_PASSES : b->passes;
    forget_samples(b, row);
    for (int pass = warm_up ? -1 : 0; pass < passes; pass++) { /* pass -1 warms up */
        for (int w = 0; w < b->worker_count; w++)
            take_turns(b, row, pass, passes, w);
        if (pass >= 0)
            compare_all_workers(b, row);
    }
    clear_progress(b);
    end_all_runners(b);
    for (int w = 0; w < b->worker_count; w++) {
        summarize_pairs(&b->pairs[w]);
        for (int which = 0; which < IMPLEMENTATIONS; which++)
            summarize(&b->samples[which][w]);
    }
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */

struct result {
    double thrum, thrum_best; /* NAN: not known, here and below */
    struct spread ratio;      /* to oneTBB, or to the peer that the row's limit is about */
    struct spread scaling;    /* SCALES: the speed over the workers times that of sequential code */
    double to_one_worker;     /* thrum with these workers / with one; NAN where that says nothing */
    int best_peer;            /* -1: none */
    const char *verdict;      /* "ok", "level", "over", "below" or "" */
};

static bool has_limit(const struct bench *b, const struct row *row, int w)
{
    return row->limit_kind != NO_LIMIT && (!(row->flags & SHARED) || b->worker_counts[w] > 1);
}

/* What the row's limit is about: a ratio, or the time itself. */
static struct spread limited_value(const struct bench *b, const struct row *row, const struct result *result, int w)
{
    if (row->limit_kind == OF_SEQUENTIAL)
        return ratio_between(&b->samples[THRUM][w], &b->samples[SEQUENTIAL][w]);
    return row->limit_kind == ABSOLUTE ? (struct spread){result->thrum, result->thrum, result->thrum} : result->ratio;
}

/* "level": beyond the limit, but by less than the passes can tell. */
static const char *verdict_of(const struct bench *b, const struct row *row, const struct result *result, int w)
{
    struct spread value = limited_value(b, row, result, w);
    if (!has_limit(b, row, w) || isnan(value.median))
        return "";
    if (result->scaling.high < SCALE)
        return "below";
    if (value.low > row->limit)
        return row->flags & MORE ? "below" : "over";
    return value.median > row->limit || result->scaling.median < SCALE ? "level" : "ok";
}

/* Thrum's time over a peer's, pass by pass. Less is better: where more is, it is the other way round. */
static struct spread ratio_to(const struct bench *b, const struct row *row, int w, int which)
{
    const struct samples *thrum = &b->samples[THRUM][w], *peer = &b->samples[which][w];
    return row->flags & MORE ? ratio_between(peer, thrum) : ratio_between(thrum, peer);
}

/* The one to which thrum's ratio is the worst. */
static int best_peer(const struct bench *b, const struct row *row, int w)
{
    int best = -1;
    for (int which = FIRST_PEER; which <= LAST_PEER; which++) {
        double ratio = ratio_to(b, row, w, which).median;
        if (!isnan(ratio) && (best < 0 || ratio > ratio_to(b, row, w, best).median))
            best = which;
    }
    return best;
}

/* By how much thrum is nearest to, or over, the limit that is set for one of the peers. */
static struct spread ratio_to_limits(const struct bench *b, const struct row *row, int w)
{
    struct spread worst = unknown;
    for (int which = FIRST_PEER; which <= LAST_PEER; which++) {
        double limit = peer_limits[row->group][which];
        struct spread share = limit > 0 ? scaled(ratio_to(b, row, w, which), 1 / limit) : unknown;
        if (!isnan(share.median) && !(share.median <= worst.median))
            worst = share;
    }
    return worst;
}

static struct spread ratio_of(const struct bench *b, const struct row *row, int w, int best)
{
    if (row->limit_kind == OF_EACH && has_limit(b, row, w))
        return ratio_to_limits(b, row, w);
    bool of_best = row->limit_kind == OF_PEERS || row->limit_kind == OF_BEST || row->limit_kind == OF_EACH;
    int which = of_best ? best : ONETBB;
    return which < 0 ? unknown : ratio_to(b, row, w, which);
}

static struct result result_of(const struct bench *b, const struct row *row, int w)
{
    const struct samples *thrum = &b->samples[THRUM][w];
    struct result result = {.thrum = thrum->median,
                            .thrum_best = row->flags & MORE ? thrum->most : thrum->least,
                            .scaling = unknown,
                            .to_one_worker = NAN,
                            .best_peer = best_peer(b, row, w)};
    result.ratio = ratio_of(b, row, w, result.best_peer);
    if (is_compared(b, row, w))
        result.to_one_worker = b->pairs[w].median;
    if (row->flags & SCALES)
        result.scaling = scaled(ratio_between(&b->samples[SEQUENTIAL][w], thrum), 1.0 / b->worker_counts[w]);
    result.verdict = verdict_of(b, row, &result, w);
    return result;
}

/* The table has columns for those that have works in the group. */
static bool has_column(enum group group, int which)
{
    return which == LIBGOMP || which == LIBOMP || which == SEQUENTIAL || (group == DATA) == (which != ONETBB);
}

static void print_heading(enum group group)
{
    printf("%-24s %7s %22s", "work", "workers", "thrum median (best)");
    for (int which = FIRST_PEER; which < IMPLEMENTATIONS; which++)
        if (has_column(group, which))
            printf(" %11s", implementations[which].name);
    printf(" %8s %8s %-5s %s\n", "ratio", "limit", "",
           group == DATA ? "/1 worker, /workers x sequential" : "/1 worker");
}

static const char *number(double value, char buffer[32])
{
    if (isnan(value))
        return "-";
    snprintf(buffer, 32, value < 1000 ? "%.2f" : "%.0f", value);
    return buffer;
}

static const char *limit_text(const struct bench *b, const struct row *row, int w, char buffer[32])
{
    if (!has_limit(b, row, w))
        return "";
    static const char *const formats[] = {"", "%g", "%.2g seq", "%g abs", "%g peer", "%g best", "%g each"};
    snprintf(buffer, 32, formats[row->limit_kind], row->limit);
    return buffer;
}

/* What stands at the end of a line: thrum against itself, and against sequential code. */
static void print_comparisons(const struct result *result)
{
    if (!isnan(result->to_one_worker))
        printf(" %.2f%s", result->to_one_worker, result->to_one_worker > 1.05 ? " slower" : "");
    if (!isnan(result->scaling.median))
        printf(" %s%.3f", isnan(result->to_one_worker) ? "- " : "", result->scaling.median);
    putchar('\n');
    fflush(stdout);
}

static void print_result(const struct bench *b, const struct row *row, int w)
{
    struct result result = result_of(b, row, w);
    char cell[2][32], mine[80];
    snprintf(mine, sizeof mine, "%s (%s) %s", number(result.thrum, cell[0]), number(result.thrum_best, cell[1]),
             row->unit);
    printf("%-24s %7d %22s", row->work, b->worker_counts[w], mine);
    for (int which = FIRST_PEER; which < IMPLEMENTATIONS; which++)
        if (has_column(row->group, which))
            printf(" %11s", number(b->samples[which][w].median, cell[0]));
    snprintf(cell[0], 32, isnan(result.ratio.median) ? "-" : "%.3f", result.ratio.median);
    printf(" %8s %8s %-5s", cell[0], limit_text(b, row, w, cell[1]), result.verdict);
    print_comparisons(&result);
}

/* The second numbers, below their row. */
static const char *second_name(const struct row *row)
{
    return row->flags & RATE ? "gflops" : row->flags & ALONE ? "insertion" : NULL;
}

static void print_seconds(const struct bench *b, const struct row *row, int w)
{
    char cell[32];
    if (!second_name(row))
        return;
    printf("%24s %7s %22s", second_name(row), "", number(b->samples[THRUM][w].second_median, cell));
    for (int which = FIRST_PEER; which < IMPLEMENTATIONS; which++)
        if (has_column(row->group, which))
            printf(" %11s", number(b->samples[which][w].second_median, cell));
    putchar('\n');
}

static void put_number(FILE *out, const char *name, double value)
{
    if (isnan(value))
        fprintf(out, "\"%s\":null", name);
    else
        fprintf(out, "\"%s\":%.6g", name, value);
}

/* "NAME" and "NAME_range". */
static void put_spread(FILE *out, const char *name, struct spread spread)
{
    put_number(out, name, spread.median);
    if (isnan(spread.median))
        fprintf(out, ",\"%s_range\":null", name);
    else
        fprintf(out, ",\"%s_range\":[%.6g,%.6g]", name, spread.low, spread.high);
}

static void put_text(FILE *out, const char *name, const char *text)
{
    fprintf(out, "\"%s\":\"", name);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        if ((unsigned char)*text >= ' ')
            fputc(*text, out);
    }
    fputc('"', out);
}

static void put_peers(FILE *out, const struct bench *b, int w)
{
    const char *comma = "";
    fputs("\"peers\":{", out);
    for (int which = FIRST_PEER; which <= LAST_PEER; which++) {
        if (b->samples[which][w].none)
            continue;
        fputs(comma, out);
        put_number(out, implementations[which].name, b->samples[which][w].median);
        comma = ",";
    }
    fputs("}", out);
}

/* Co-running processes have a member for their number. */
static void put_work(FILE *out, const struct row *row)
{
    unsigned processes = row->flags / PROCESSES(1);
    char work[64];
    snprintf(work, sizeof work, "%s", row->work);
    if (processes)
        *strrchr(work, '-') = 0;
    put_text(out, "work", work);
    if (processes)
        fprintf(out, ",\"processes\":%u", processes);
}

static const char *limit_of(enum limit_kind kind)
{
    switch (kind) {
    case ABSOLUTE:
        return "thrum";
    case OF_SEQUENTIAL:
        return "thrum/sequential";
    default:
        return "ratio";
    }
}

/* The limits that `ratio` is relative to, where each peer has one. */
static void put_peer_limits(FILE *out, enum group group)
{
    const char *comma = "";
    fputs(",\"peer_limits\":{", out);
    for (int which = FIRST_PEER; which <= LAST_PEER; which++) {
        if (peer_limits[group][which] == 0)
            continue;
        fputs(comma, out);
        put_number(out, implementations[which].name, peer_limits[group][which]);
        comma = ",";
    }
    fputs("}", out);
}

/* The second numbers of all who have some, thrum and sequential code with the peers. */
static void put_seconds(FILE *out, const struct bench *b, const struct row *row, int w)
{
    const char *comma = "";
    if (!second_name(row))
        return;
    fprintf(out, ",\"%s\":{", second_name(row));
    for (int which = 0; which < IMPLEMENTATIONS; which++) {
        if (isnan(b->samples[which][w].second_median))
            continue;
        fputs(comma, out);
        put_number(out, implementations[which].name, b->samples[which][w].second_median);
        comma = ",";
    }
    fputs("}", out);
}

/* The members of a row's object, without its braces. */
static void put_result(FILE *out, const struct bench *b, const struct row *row, int w)
{
    struct result result = result_of(b, row, w);
    put_work(out, row);
    fprintf(out, ",\"workers\":%d,", b->worker_counts[w]);
    put_text(out, "unit", row->unit);
    fputc(',', out);
    put_text(out, "better", row->flags & MORE ? "more" : "less");
    fputc(',', out);
    put_number(out, "thrum", result.thrum);
    fputc(',', out);
    put_peers(out, b, w);
    if (result.best_peer < 0) {
        fputs(",\"best_peer\":null,", out);
    } else {
        fputc(',', out);
        put_text(out, "best_peer", implementations[result.best_peer].name);
        fputc(',', out);
    }
    put_spread(out, "ratio", result.ratio);
    fputc(',', out);
    put_number(out, "limit", has_limit(b, row, w) ? row->limit : NAN);
    fputc(',', out);
    put_text(out, "limit_of", limit_of(row->limit_kind));
    if (row->limit_kind == OF_EACH && has_limit(b, row, w))
        put_peer_limits(out, row->group);
    fputc(',', out);
    put_number(out, "thrum_best", result.thrum_best);
    fputc(',', out);
    put_number(out, "to_one_worker", result.to_one_worker);
    fputc(',', out);
    put_text(out, "verdict", result.verdict);
    fputc(',', out);
    put_number(out, "sequential", b->samples[SEQUENTIAL][w].median);
    if (!b->samples[THRUM_DMDA][w].none) {
        fputc(',', out);
        put_number(out, "thrum_dmda", b->samples[THRUM_DMDA][w].median);
    }
    put_seconds(out, b, row, w);
    if (!(row->flags & SCALES))
        return;
    fputc(',', out);
    put_spread(out, "of_workers_times_sequential", result.scaling);
    fputc(',', out);
    put_number(out, "scaling_limit", SCALE);
}

/* ---- The record of a run ----------------------------------------------------------------------------------------- */

/* The first line that a command prints, or "" when there is none. */
static void first_line_of(const char *command, char *line, size_t size)
{
    FILE *pipe = popen(command, "r");
    line[0] = 0;
    if (!pipe)
        return;
    if (!fgets(line, (int)size, pipe))
        line[0] = 0;
    line[strcspn(line, "\n")] = 0;
    pclose(pipe);
}

static void processor_model(char *model, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(model, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10) != 0)
            continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(model, size, "%s", colon + 2);
        break;
    }
    if (file)
        fclose(file);
}

static void put_versions(FILE *out, const struct bench *b)
{
    const char *comma = "";
    fputs("\"versions\":{", out);
    for (int which = 0; which < IMPLEMENTATIONS; which++) {
        if (b->missing[which])
            continue;
        fputs(comma, out);
        put_text(out, implementations[which].name, b->about[which]);
        comma = ",";
    }
    fputs("}", out);
}

static int open_record(struct bench *b, char *path, size_t size)
{
    char stamp[32], commit[64], model[128];
    struct utsname kernel;
    time_t now = time(NULL);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H-%M-%SZ", gmtime(&now));
    snprintf(path, size, "%s/%s.json", b->out, stamp);
    if (!tool_make_folders(path) || !(b->record = fopen(path, "w")))
        return tool_fail("bench", "the samples cannot be written to %s: %s", path, strerror(errno));
    first_line_of("git rev-parse HEAD 2>/dev/null", commit, sizeof commit);
    processor_model(model, sizeof model);
    uname(&kernel);
    fputs("{", b->record);
    put_text(b->record, "date", stamp);
    fputs(",", b->record);
    put_text(b->record, "commit", commit);
    fputs(",", b->record);
    put_text(b->record, "processor", model);
    fprintf(b->record, ",\"processors\":%ld,", sysconf(_SC_NPROCESSORS_ONLN));
    put_text(b->record, "kernel", kernel.release);
    fprintf(b->record, ",\"passes\":%d,\"quick\":%s,\n", b->passes, b->quick ? "true" : "false");
    put_versions(b->record, b);
    fputs(",\n\"rows\":[", b->record);
    return TOOL_GO_ON;
}

static void put_samples(FILE *out, const struct bench *b, int w)
{
    const char *comma = "";
    fputs("\"samples\":{", out);
    for (int which = 0; which < IMPLEMENTATIONS; which++) {
        const struct samples *samples = &b->samples[which][w];
        if (samples->none)
            continue;
        fprintf(out, "%s\"%s\":[", comma, implementations[which].name);
        for (int i = 0; i < samples->count; i++)
            fprintf(out, "%s%.6g", i ? "," : "", samples->value[i]);
        fputs("]", out);
        comma = ",";
    }
    fputs("}", out);
}

static void put_pairs(FILE *out, const struct pairs *pairs)
{
    if (!pairs->count)
        return;
    fputs(",\"to_one_worker_samples\":[", out);
    for (int i = 0; i < pairs->count; i++)
        fprintf(out, "%s%.6g", i ? "," : "", pairs->ratio[i]);
    fputs("]", out);
}

static void record_row(struct bench *b, const struct row *row, int w)
{
    fputs(b->recorded++ ? ",\n{" : "\n{", b->record);
    put_result(b->record, b, row, w);
    fputs(",", b->record);
    put_samples(b->record, b, w);
    put_pairs(b->record, &b->pairs[w]);
    fputs("}", b->record);
}

static int close_record(struct bench *b, const char *path)
{
    fprintf(b->record, "\n],\"taken\":%d,\"disturbed\":%d}\n", b->taken, b->disturbed);
    if (b->disturbed)
        fprintf(
            stderr,
            "thrum bench: of %d samples the host disturbed some, %d times; they were taken again, up to %d times each\n",
            b->taken, b->disturbed, QUIET_TRIES - 1);
    if (fclose(b->record) != 0)
        return tool_fail("bench", "the samples cannot be written to %s: %s", path, strerror(errno));
    fprintf(stderr, "thrum bench: the samples are in %s\n", path);
    return TOOL_DONE;
}

/* ---- The command ------------------------------------------------------------------------------------------------- */

static const char help[] =
    "Usage: thrum bench [OPTION]... [WORK]...\n"
    "\n"
    "Measures thrum beside oneTBB, libgomp, libomp and StarPU (those that were found when thrum was built), pass by\n"
    "pass in turn, and prints medians; a ratio is the median of the ratios of all passes. A WORK is the name of one, of a\n"
    "group ('base', 'control', 'loops', 'data'), or the beginning of several names ('small'). Without a WORK, the group\n"
    "'base'.\n"
    "\n"
    "  --workers LIST   numbers of workers to measure with (default 1,2)\n"
    "  --passes N       passes per work, after one to warm up (default 11; a few works take 3). Each pass of Cholesky\n"
    "                   has new processes, asked three times, and the middle answer counts\n"
    "  --quick          a tenth of the size and 3 passes: to see that it works\n"
    "  --json           one JSON object per work and number of workers, one a line\n"
    "  --out DIR        where the raw samples go, in a file named after the time (default out/bench)\n"
    "  --runners DIR    where the programs bench-thrum, bench-tbb, ... are (default: beside this command, in bench/)\n"
    "  --list           list the works\n"
    "  -h, --help       show this help\n"
    "\n"
    "'ratio' and 'limit' are relative to oneTBB; with 'abs' the limit is in the row's own unit; with 'seq' relative to\n"
    "sequential code; with 'best' both are relative to the best peer. With 'each', there is a limit for each peer (half of\n"
    "oneTBB and libgomp, an eighth of libomp), and 'ratio' is the worst of thrum's shares of these. OpenMP's numbers\n"
    "include making the tasks. Of 'data' the limits are 0.15 of StarPU, with either policy, and 1 of libgomp; a Cholesky\n"
    "factorisation has a second one, 0.97 of the workers times the speed of sequential code. Of a weighted speed-up (corun)\n"
    "more is better: there 'ratio' is the best peer's divided by thrum's, so that less is better in that column everywhere.\n"
    "It is measured with two workers or more. 'over' and 'below' are said where the passes leave no doubt (95 %); 'level'\n"
    "is beyond the limit by less than they can tell: take more passes. In JSON, 'ratio_range' is that of certainty.\n";

static int list_works(void)
{
    for (int i = 0; i < ROWS; i++)
        printf("%-24s %-8s %-16s %s\n", rows[i].work, groups[rows[i].group], rows[i].unit, rows[i].help);
    return TOOL_DONE;
}

static int unknown_work(const char *word)
{
    const char *names[ROWS];
    for (int i = 0; i < ROWS; i++)
        names[i] = rows[i].work;
    const char *nearest = tool_nearest(word, names, ROWS);
    fprintf(stderr, "thrum bench: there is no work '%s'", word);
    if (nearest)
        fprintf(stderr, "; did you mean '%s'? The works are:\n", nearest);
    else
        fputs("; the works are:\n", stderr);
    for (int i = 0; i < ROWS; i++)
        fprintf(stderr, "  %s\n", rows[i].work);
    return TOOL_USAGE;
}

static bool select_group(struct bench *b, const char *word)
{
    int group = 0;
    while (group < GROUPS && strcmp(groups[group], word) != 0)
        group++;
    for (int i = 0; i < ROWS && group < GROUPS; i++)
        b->selected[i] = b->selected[i] || rows[i].group == (enum group)group;
    return group < GROUPS;
}

/* A group, a work by its name, or all works whose name begins with the word and a hyphen. */
static int select_work(struct bench *b, const char *word)
{
    size_t length = strlen(word);
    bool found = false;
    if (select_group(b, word))
        return TOOL_GO_ON;
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].work, word) == 0)
            found = b->selected[i] = true;
    for (int i = 0; i < ROWS && !found; i++)
        if (strncmp(rows[i].work, word, length) == 0 && rows[i].work[length] == '-')
            b->selected[i] = true;
    for (int i = 0; i < ROWS; i++)
        found = found || (b->selected[i] && strncmp(rows[i].work, word, length) == 0);
    return found ? TOOL_GO_ON : unknown_work(word);
}

static int select_works(struct bench *b, const char **words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int code = select_work(b, words[i]);
        if (code != TOOL_GO_ON)
            return code;
    }
    if (count == 0)
        select_group(b, groups[0]);
    return TOOL_GO_ON;
}

static int parse_workers(struct bench *b, const char *list)
{
    for (const char *at = list; b->worker_count < MOST_WORKER_COUNTS; at++) {
        char *end;
        long count = strtol(at, &end, 10);
        if (end == at || count < 1 || count > 1024 || (*end && *end != ','))
            break;
        b->worker_counts[b->worker_count++] = (int)count;
        at = end;
        if (!*at)
            return TOOL_GO_ON;
    }
    return tool_misuse("bench", "--workers '%s' is not a list of at most %d numbers from 1 to 1024, as in 1,2,8.", list,
                       MOST_WORKER_COUNTS);
}

static int parse_passes(struct bench *b, const char *text)
{
    char *end;
    long passes = strtol(text, &end, 10);
    if (end == text || *end || passes < 1 || passes > MOST_PASSES)
        return tool_misuse("bench", "--passes '%s' is not a number from 1 to %d.", text, MOST_PASSES);
    b->passes = (int)passes;
    return TOOL_GO_ON;
}

static int find_folder(struct bench *b, const char *given)
{
    char probe[sizeof b->folder + 32];
    if (given) {
        snprintf(b->folder, sizeof b->folder, "%s", given);
    } else {
        char self[sizeof b->folder - 8];
        ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
        self[length > 0 ? length : 0] = 0;
        char *slash = strrchr(self, '/');
        snprintf(b->folder, sizeof b->folder, "%.*s/bench", slash ? (int)(slash - self) : 0, self);
    }
    for (int which = 0; which < IMPLEMENTATIONS; which++) {
        snprintf(probe, sizeof probe, "%s/%s", b->folder, implementations[which].file);
        if (access(probe, X_OK) == 0)
            return TOOL_GO_ON;
    }
    return tool_fail("bench",
                     "there are no runners (bench-thrum, bench-tbb, ...) in %s. They are built with thrum but not "
                     "installed: use the thrum of the build folder, or say --runners DIR.",
                     b->folder);
}

static int run_bench(struct bench *b)
{
    char path[4200];
    signal(SIGPIPE, SIG_IGN); /* a runner that died is told as such */
    b->progress = isatty(STDERR_FILENO);
    meet_runners(b);
    int code = open_record(b, path, sizeof path);
    if (code == TOOL_GO_ON) {
        enum group group = GROUPS;
        for (int i = 0; i < ROWS; i++) {
            if (!b->selected[i])
                continue;
            if (!b->json && rows[i].group != group)
                print_heading(group = rows[i].group);
            measure(b, &rows[i]);
            for (int w = 0; w < b->worker_count; w++) {
                if (!is_measured(b, &rows[i], w))
                    continue;
                record_row(b, &rows[i], w);
                if (b->json) {
                    putchar('{');
                    put_result(stdout, b, &rows[i], w);
                    puts("}");
                    fflush(stdout);
                } else {
                    print_result(b, &rows[i], w);
                    print_seconds(b, &rows[i], w);
                }
            }
        }
        code = close_record(b, path);
    }
    end_all_runners(b);
    return code == TOOL_DONE && b->failures ? TOOL_FAILED : code;
}

int thrum_cmd_bench(int argc, char **argv)
{
    static struct bench bench; /* too large for a stack */
    struct bench *b = &bench;
    bool list = false;
    const char *workers = "1,2", *passes = NULL, *runners = NULL;
    b->out = "out/bench";
    const struct tool_option options[] = {
        {"--workers", NULL, NULL, &workers}, {"--passes", NULL, NULL, &passes}, {"--quick", NULL, &b->quick, NULL},
        {"--json", NULL, &b->json, NULL},    {"--out", NULL, NULL, &b->out},    {"--runners", NULL, NULL, &runners},
        {"--list", NULL, &list, NULL},
    };
    const char **words = calloc((size_t)argc + 1, sizeof *words);
    if (!words)
        return tool_fail("bench", "no memory.");
    struct tool_arguments arguments = {.verb = "bench",
                                       .help = help,
                                       .options = options,
                                       .option_count = sizeof options / sizeof *options,
                                       .words = words};
    int code = tool_parse(&arguments, argc, argv);
    if (code == TOOL_GO_ON && list)
        code = list_works();
    if (code == TOOL_GO_ON)
        code = parse_workers(b, workers);
    if (code == TOOL_GO_ON)
        code = parse_passes(b, passes ? passes : b->quick ? "3" : "11");
    if (code == TOOL_GO_ON)
        code = select_works(b, words, arguments.word_count);
    if (code == TOOL_GO_ON)
        code = find_folder(b, runners);
    free(words);
    return code == TOOL_GO_ON ? run_bench(b) : code;
}
