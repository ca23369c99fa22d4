/* SPDX-License-Identifier: MIT
 *
 * What thrum itself takes for a task of a flow: inserting it, and all that a worker does beside running its kernel. For
 * `thrum sim --calibrate`.
 */
#ifndef THRUM_TOOLS_SIM_FLOW_H
#define THRUM_TOOLS_SIM_FLOW_H

#include <stdbool.h>
#include <stddef.h>

struct flow_case {
    const char *devices; /* of the executor; NULL: none, and it has `workers` */
    int workers;         /* that run tasks */
    bool on_device;
    bool pinned;  /* `workers` are all there are, cores and device: each has pieces of its own, and nothing is copied */
    int accesses; /* 3 at least */
    size_t data;  /* bytes of each piece of data */
    size_t scratch;   /* of scratch memory; 0: none */
    double pretended; /* in timing mode: the seconds that each kernel is said to take; else 0 */
};

/* Seconds for each task; of copies to a device for each of them, while it is at work. Medians over runs. */
struct flow_costs {
    double insert, other, copy;
};

/* Seconds for each byte of memory that a device of kind "emu" gives out for the first time, in pieces of so many;
 * negative after an error. */
double sim_fresh_measure(size_t bytes);

/* Seconds that asking such a device for a copy takes, whose link has to be woken for it: the median. Negative after an
 * error. */
double sim_copy_measure(void);

/* Seconds until a copy of so many bytes to such a device has ended, with nothing else to do: the median. Negative after
 * an error. */
double sim_link_measure(size_t bytes);

/* The median, the larger of the two in the middle; sorts them. */
double sim_flow_median(double *numbers, int count);

/* Up to 32 runs. False after an error, with a sentence in thrum_message(NULL). */
bool sim_flow_measure(const struct flow_case *it, int runs, struct flow_costs *costs);

#endif
