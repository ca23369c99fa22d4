/* SPDX-License-Identifier: MIT
 *
 * The contract between a runner and the problems that are linked into it.
 *
 * A runner is one implementation (thrum, oneTBB, an OpenMP, plain sequential code) of all problems that it can express.
 * It reads requests from its standard input, one a line, and answers each with one line:
 *
 *     about                       about NAME AND VERSIONS
 *     WORK WORKERS [SHRINK]       ok NUMBER [SECOND] | none | bad REASON
 *     drop                        ok 0
 *
 * A work is opened at its first request (untimed: a graph is built here) and stays open until another work, another
 * number of workers or "drop" is asked for. Each request then is one pass: timed, verified, and answered with the
 * nanoseconds (or bytes) per unit. SHRINK divides the sizes, for quick looks. Some works tell a second number about the
 * same pass; the driver's table says what it is.
 */
#ifndef BENCH_RUNNER_H
#define BENCH_RUNNER_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bench_request {
    int variant;     /* from the work's row: which of the works that share these functions */
    int workers;     /* how many tasks may run at once */
    uint32_t shrink; /* 1, or what sizes are to be divided by */
} bench_request;

typedef struct bench_work {
    const char *name;
    int variant;
    void *(*open)(const bench_request *request); /* NULL: failed, and bench_bad was called */
    double (*pass)(void *state);                 /* per unit; a wrong result is told to bench_bad */
    void (*close)(void *state);
    struct bench_work *next; /* filled in by bench_register */
} bench_work;

void bench_register(bench_work *works, size_t count);

/* Registers a table of works before main begins, so that linking a problem's file into a runner is all it takes. */
#define BENCH_WORKS(table)                                                                                             \
    __attribute__((constructor)) static void register_works(void)                                                      \
    {                                                                                                                  \
        bench_register(table, sizeof(table) / sizeof((table)[0]));                                                     \
    }

/* The name and versions of what the runner measures; one definition in each runner. */
const char *bench_about(void);

/* The current request has failed: the reason becomes its answer. The first reason is kept. */
void bench_bad(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Whether bench_bad was called in this request. */
int bench_is_bad(void);

/* The second number of the current pass. */
void bench_second(double value);

/* Memory that must be there for the measurement to mean anything: ends the runner when it is not. */
void *bench_alloc(size_t count, size_t size);

static inline double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The processor time that all threads of this process have used, in nanoseconds. */
static inline double bench_processor_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline void bench_sleep(double ns)
{
    struct timespec t;
    t.tv_sec = (time_t)(ns / 1e9);
    t.tv_nsec = (long)(ns - (double)t.tv_sec * 1e9);
    nanosleep(&t, NULL);
}

/* The middle of `count` numbers, which are sorted in place. */
double bench_median(double *numbers, size_t count);

/* Resident memory of this process in bytes, counted by the kernel page by page. */
double bench_resident(void);

/* Calls measure(arg) in a child of this process and returns what it returned, so that one measurement of memory does
 * not see the heap that another has left behind. */
double bench_in_child(double (*measure)(void *arg), void *arg);

#ifdef __cplusplus
}
#endif

#endif
