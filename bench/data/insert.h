/* SPDX-License-Identifier: MIT
 *
 * Empty tasks whose order follows from the data that they access, from the first insertion until all have run.
 *
 * There are 1024 handles of 8 bytes. A task reads and writes one of them and reads the others of its accesses, in a
 * fixed pseudo-random pattern that is the same for everybody; with one access, task t has handle t mod 1024. Its body
 * is called through a pointer that the compiler cannot see through, with the data that it writes as the runtime handed
 * it over, and raises it by one. insert.c makes the pattern, checks and times; an implementation defines the functions
 * below.
 */
#ifndef BENCH_INSERT_H
#define BENCH_INSERT_H

#include "../common/runner.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { INSERT_HANDLES = 1024, INSERT_TASKS = 50000, INSERT_CHECKED_TASKS = 20000, INSERT_MOST_ACCESSES = 8 };

/* The data of a handle, in a line of its own: what is measured is the runtime, not who shares whose line. */
typedef struct insert_cell {
    uint64_t value;
    char apart[56];
} insert_cell;

typedef void insert_body(void *written);

typedef struct insert_flow {
    uint32_t tasks;
    int accesses;      /* 1, 3 or 8 */
    uint16_t *handles; /* `accesses` for each task, all different; the last one is written as well */
    insert_cell *cells;
    insert_body *body;
} insert_flow;

/* The handles that a task accesses. */
static inline const uint16_t *insert_accesses(const insert_flow *flow, uint32_t task)
{
    return flow->handles + (size_t)task * (size_t)flow->accesses;
}

/* A pattern whose bodies raise cells; the check of the cells after one run, which also clears them for the next. */
insert_flow *insert_flow_new(uint32_t tasks, int accesses);
void insert_flow_verify(insert_flow *flow);
void insert_flow_free(insert_flow *flow);

typedef struct insert_runtime insert_runtime;

/* Normally 1: what the number of tasks is divided by where the implementation would not end with all of them. */
uint32_t insert_divisor(int accesses, int workers);

/* Threads, and a handle for each cell. NULL: failed, and bench_bad was called. */
insert_runtime *insert_begin(const insert_flow *flow, int workers);

/* Inserts all tasks, in order, and waits for them. Returns bench_now() of the moment when the last one was inserted. */
double insert_run(insert_runtime *runtime);
void insert_end(insert_runtime *runtime);

#ifdef __cplusplus
}
#endif

#endif
