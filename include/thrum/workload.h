/* SPDX-License-Identifier: MIT
 *
 * Workloads: task graphs as a description, to be simulated, looked at and kept in files. Kinds of tasks, pieces of data
 * with sizes, and tasks that access them; no functions and no memory.
 *
 *     thrum_workload *w = thrum_workload_new("two");
 *     int gemm = thrum_workload_add_codelet(w, "gemm", 1u << THRUM_ARCH_CPU | 1u << THRUM_ARCH_EMU);
 *     int a = thrum_workload_add_data(w, "A", 1 << 20, true);
 *     thrum_workload_add_task(w, &(thrum_workload_task){.codelet = gemm, .work = 2e9, .worker = -1, .bucket = -1,
 *                                 .access = (thrum_workload_access[]){{a, THRUM_MODE_RW}}, .access_count = 1});
 *
 * Tasks are in the order of their numbers, from 0 on, as if a flow had inserted them: a task waits for the last one
 * before it that wrote what it reads, and for all since then that read what it writes. Commuting tasks exclude each
 * other in no order; reductions run at the same time. Edges add to that, in any direction: so there may be a cycle,
 * which thrum_workload_check finds.
 *
 * A workload is filled by one thread; any number may read it, and simulate it, at the same time.
 *
 * In a file (docs/guide/workloads.md has the whole format) there is a line for each thing, in any sensible order:
 *
 *     thrum-workload 1
 *     codelet gemm cpu,emu
 *     data A 1048576 written
 *     task gemm work=2e9 rw=A priority=3 name="gemm(0,0)"
 *     edge 0 1
 */
#ifndef THRUM_WORKLOAD_H
#define THRUM_WORKLOAD_H

#include <thrum/codelet.h>
#include <thrum/setting.h>

THRUM_BEGIN_C

typedef struct thrum_workload thrum_workload;

typedef struct thrum_workload_access {
    int data;
    enum thrum_mode mode;
} thrum_workload_access;

typedef struct thrum_workload_task {
    const char *name; /* NULL: that of its codelet */
    int codelet;
    /* In units of which machines do so many a second: operations, cells, bytes. 0: it takes no time, unless the machine
     * says how long such tasks take whatever their work. */
    double work;
    int priority, bucket;        /* as in codelet.h; THRUM_NO_BUCKET */
    int worker;                  /* the only one that may run it; -1: any */
    double seconds[THRUM_ARCHS]; /* measured on workers of this kind; 0: not known, the machine says */
    const thrum_workload_access *access;
    int access_count;
} thrum_workload_task;

/* ---- Making ------------------------------------------------------------------------------------------------------ */

/* NULL without memory. What is given is copied. */
THRUM_API thrum_workload *thrum_workload_new(const char *name);
THRUM_API void thrum_workload_free(thrum_workload *workload); /* NULL does nothing */

/* Each returns its number, from 0 on; or a negative error with a sentence. A codelet that is there with the same kinds
 * of workers (bits 1u << arch) is not made again. Names of data need not be unique, nor given (NULL). `written`: it has
 * content in the beginning, in the memory of the machine. */
THRUM_API int thrum_workload_add_codelet(thrum_workload *workload, const char *name, unsigned archs);
THRUM_API int thrum_workload_add_data(thrum_workload *workload, const char *name, size_t bytes, bool written);
THRUM_API int thrum_workload_add_task(thrum_workload *workload, const thrum_workload_task *task);
/* 0 or an error. The tasks are there. */
THRUM_API int thrum_workload_add_edge(thrum_workload *workload, int before, int after);

/* What the codelet tasks of a graph do (a flow that records makes such graphs: flow.h), in an order that its edges
 * allow; edges that do not follow from accesses are added. Tasks without a codelet become kinds of their own that take
 * no time. The work of a task is what its codelet's `work` says, or else its bytes; whether `can_run` refuses workers
 * is not looked at. `measured`: seconds are what performance models expect here, as far as they know something.
 * Conditions and modules are an error: what they run is not known before. The graph is frozen. NULL with a sentence. */
THRUM_API thrum_workload *thrum_workload_of_graph(thrum_graph *graph, bool measured);

/* 0; THRUM_ECYCLE and a sentence that names tasks of the cycle; THRUM_EDATA: something is read that was never
 * written. */
THRUM_API int thrum_workload_check(const thrum_workload *workload);

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* NULL with a sentence, "FILE:LINE: ...". Writing: 0 or THRUM_ESYSTEM. `path` NULL in parse: "the text". */
THRUM_API thrum_workload *thrum_workload_read(const char *path);
THRUM_API thrum_workload *thrum_workload_parse(const char *text, size_t length, const char *path);
THRUM_API int thrum_workload_write(const thrum_workload *workload, const char *path);

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */

/* Workloads made by rule, "SHAPE;key=value;key=value":
 *   layered   layers of tasks, each after some of the layer before        tasks, width, degree
 *   random    a random DAG: edges from earlier to later tasks             tasks, degree
 *   stencil   a grid of points, each after its neighbours a step before   width, steps
 *   fork-join phases of tasks that do not depend on each other            tasks, width
 *   fft       butterflies                                                  points
 * All: work (mean, 1e6), spread (0.5: from half to one and a half), bytes (of each piece of data, 1MiB; 0: edges
 * without data), device (share of tasks that only devices can run, 0), both (share of those that both can, 1 less
 * `device`), seed. NULL with a sentence. */
THRUM_API thrum_workload *thrum_workload_generate(const char *text);
/* Number 0, 1, ...: the name of a shape and its settings; NULL after the last. */
THRUM_API const char *thrum_workload_shape(int number, const thrum_setting **settings);

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

typedef struct thrum_workload_size {
    int codelets, data, tasks;
    uint64_t edges; /* without those that follow from others of the same kind: as simulated */
    uint64_t accesses;
    double work, bytes; /* of all tasks; of all data */
    int depth;          /* tasks on the longest path */
} thrum_workload_size;
/* 0, or the error of thrum_workload_check. */
THRUM_API int thrum_workload_measure(const thrum_workload *workload, thrum_workload_size *size);
THRUM_API const char *thrum_workload_name(const thrum_workload *workload);

THRUM_END_C

#endif
