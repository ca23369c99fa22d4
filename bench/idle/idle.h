/* SPDX-License-Identifier: MIT
 *
 * The processor time, in nanoseconds, that a process uses in two seconds in which it has nothing to do, right after it
 * had something to do.
 */
#ifndef BENCH_IDLE_H
#define BENCH_IDLE_H

#include "../common/runner.h"

enum { IDLE_TASKS = 1000 };

static inline double idle_pass(uint32_t shrink)
{
    double before = bench_processor_time();
    bench_sleep(2e9 / shrink);
    return bench_processor_time() - before;
}

#endif
