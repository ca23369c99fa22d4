/* SPDX-License-Identifier: MIT
 *
 * thrum bench: what is measured, with whom, and what it may take.
 */
#include "bench.h"

const char *const bench_groups[GROUPS] = {"base", "control", "loops", "data"};

#define CORUN(count) MORE | NOT_ONE | COSTS | PROCESSES(count)
#define AUTO FEW | COSTS | THRUM_ONLY | NOT_ONE

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

const struct bench_row bench_rows[] = {
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
     "the same, each block counted into one of four copies of the bins by COMMUTE"},
    {DATA, "rw-histogram", "ns", NO_LIMIT, 0, 0,
     "the same by RW, one task after the other: what REDUX and COMMUTE gain"},
    {DATA, "policy-fifo", "ns", NO_LIMIT, 0, COSTS | THRUM_ONLY,
     "what the policy takes to push and pop a job, with 10 buckets, 24 workers and 5 memory nodes"},
    {DATA, "policy-dmda", "ns", NO_LIMIT, 0, COSTS | THRUM_ONLY, "the same of dmda"},
    {DATA, "policy-heteroprio", "ns", NO_LIMIT, 0, COSTS | THRUM_ONLY, "of heteroprio"},
    {DATA, "policy-laheteroprio", "ns", ABSOLUTE, 500, COSTS | THRUM_ONLY, "of laheteroprio"},
};

const int bench_row_count = sizeof bench_rows / sizeof *bench_rows;
_Static_assert(sizeof bench_rows / sizeof *bench_rows <= MOST_ROWS, "MOST_ROWS is too small");

const struct bench_implementation bench_implementations[IMPLEMENTATIONS] = {
    {"thrum", "bench-thrum"},    {"oneTBB", "bench-tbb"},
    {"libgomp", "bench-gomp"},   {"libomp", "bench-libomp"},
    {"StarPU", "bench-starpu"},  {"StarPU-dmda", "bench-starpu-dmda"},
    {"sequential", "bench-seq"}, {"thrum-dmda", "bench-thrum-dmda"},
};

double bench_peer_limit(enum bench_group group, int which)
{
    /* Of self scheduling, and of inserting tasks. */
    static const double limits[GROUPS][IMPLEMENTATIONS] = {
        [LOOPS] = {[ONETBB] = 0.5, [LIBGOMP] = 0.5, [LIBOMP] = 0.125},
        [DATA] = {[LIBGOMP] = 1.0, [STARPU] = 0.15, [STARPU_DMDA] = 0.15},
    };
    return limits[group][which];
}

bool bench_takes_part(enum bench_group group, int which)
{
    return which == THRUM || which == LIBGOMP || which == LIBOMP || which == SEQUENTIAL ||
           (group == DATA) == (which != ONETBB);
}

const char *bench_second_name(const struct bench_row *row)
{
    return row->flags & RATE ? "gflops" : row->flags & ALONE ? "insertion" : NULL;
}
