/* SPDX-License-Identifier: MIT
 *
 * Workloads from the inside: arrays that simulators read.
 */
#ifndef THRUM_MODEL_WORKLOAD_H
#define THRUM_MODEL_WORKLOAD_H

#include <thrum/workload.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct thrum__wl_codelet {
    char *name;
    unsigned archs;
} thrum__wl_codelet;

typedef struct thrum__wl_data {
    char *name; /* or NULL */
    size_t bytes;
    bool written;
    /* For finding pieces that a task names twice: the last call of thrum_workload_add_task that named it, and how. */
    uint32_t named_by;
    uint8_t named_as;
} thrum__wl_data;

typedef struct thrum__wl_task {
    char *name; /* or NULL */
    int codelet, priority, bucket, worker;
    double work;
    double seconds[THRUM_ARCHS]; /* 0: not known */
    size_t first;                /* of its accesses */
    int count;
    int line; /* in the file that it was read from; 0: none */
} thrum__wl_task;

typedef struct thrum__wl_edge {
    int before, after;
    int line;
} thrum__wl_edge;

struct thrum_workload {
    char *name, *path; /* path: of the file that it was read from, or NULL */
    thrum__wl_codelet *codelets;
    thrum__wl_data *data;
    thrum__wl_task *tasks;
    thrum_workload_access *accesses; /* of all tasks, one after the other */
    thrum__wl_edge *edges;           /* that were given */
    int codelet_count, data_count, task_count;
    size_t access_count, edge_count;
    /* Room in the arrays. */
    size_t codelet_room, data_room, task_room, access_room, edge_room;
    uint32_t calls; /* of thrum_workload_add_task */
};

/* "3 'gemm'", for messages: its number, and its name or that of its codelet. */
enum { THRUM__WL_TEXT = 96 };
const char *thrum__wl_task_text(const thrum_workload *workload, int task, char text[THRUM__WL_TEXT]);
/* "1 'A'", or "1" if it has no name. */
const char *thrum__wl_data_text(const thrum_workload *workload, int data, char text[THRUM__WL_TEXT]);

/* Room for `more` entries behind `count`, of `size` bytes each, in an array of the workload: false without memory. */
bool thrum__wl_grow(void **array, size_t *room, size_t count, size_t more, size_t size);

/* All edges, those that follow from accesses too, each pair once: the tasks after task i are after[first[i]] to
 * after[first[i + 1]
 * - 1], in the order of their numbers; waits[i] is how many i waits for. Commuting tasks have no edges among each
 *   other. */
typedef struct thrum__wl_order {
    size_t *first; /* tasks + 1 */
    int *after;
    int *waits;
    int *sequence; /* all tasks, each behind those that it waits for, else in the order of their numbers */
} thrum__wl_order;

/* 0, THRUM_ECYCLE, THRUM_EDATA or THRUM_ENOMEM with a sentence; then there is nothing to drop. */
int thrum__wl_order_make(const thrum_workload *workload, thrum__wl_order *order);
void thrum__wl_order_drop(thrum__wl_order *order);

#endif
