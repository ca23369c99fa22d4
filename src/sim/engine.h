/* SPDX-License-Identifier: MIT
 *
 * Engines of the task simulator: a clock, kernels that share devices, copies that share channels. Chosen at run time by
 * a table of operations; what is above (task_*.c: policies, replicas, memory) is the same for all.
 *
 * An engine is told what begins and says what ends next. Kernels of one device that run at the same time share it
 * evenly: a kernel of `seconds` alone on the device ends later if others are there. A core has one kernel at a time.
 * Copies: see thrum__way; a copy waits for the lines of its way (in the order in which copies were begun), then for the
 * latency, then has the largest share of all its channels that is fair (max-min).
 *
 * There is one timer: something besides kernels and copies that takes a while and slows nothing down.
 *
 * Of things that end at the same time the one that began first ends first.
 */
#ifndef THRUM_SIM_ENGINE_H
#define THRUM_SIM_ENGINE_H

#include "sim/machine.h"

typedef struct thrum__engine thrum__engine;

typedef struct thrum__engine_ops {
    const char *name;
    /* NULL without memory, or with a sentence. The layout stays. */
    thrum__engine *(*open)(const thrum__layout *layout);
    void (*close)(thrum__engine *engine);
    double (*now)(const thrum__engine *engine);
    /* Each has a ticket, by which its end is told. `bytes` is a whole number. 0 or THRUM_ENOMEM. */
    int (*kernel)(thrum__engine *engine, int worker, double seconds, uint64_t ticket);
    int (*copy)(thrum__engine *engine, int from, int to, double bytes, uint64_t ticket);
    /* One at a time: the last one has ended before the next one begins. */
    int (*timer)(thrum__engine *engine, double seconds, uint64_t ticket);
    /* Moves the clock to the next end: true and its ticket. False: nothing is under way. */
    bool (*next)(thrum__engine *engine, uint64_t *ticket);
} thrum__engine_ops;

extern const thrum__engine_ops thrum__engine_native;

#endif
