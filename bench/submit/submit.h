/* SPDX-License-Identifier: MIT
 *
 * One function, submitted from outside and waited for, in nanoseconds.
 *
 *     submit-hot      a worker thread runs it, having run another a moment ago
 *     submit-hot-spin the same; where the runtime lets the caller choose how to wait, it spins on a flag
 *     submit-idle     a worker thread runs it after a millisecond of quiet; the median of a pass
 *     submit-caller   the waiting thread may run it itself
 */
#ifndef BENCH_SUBMIT_H
#define BENCH_SUBMIT_H

#include "../common/runner.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SUBMIT_HOT, SUBMIT_HOT_SPIN, SUBMIT_IDLE, SUBMIT_CALLER };
enum { SUBMIT_OWN_LINE = 128 }; /* alignment of what the function writes: no line of what its caller reads */
enum { SUBMIT_HOT_COUNT = 5000, SUBMIT_IDLE_COUNT = 60, SUBMIT_CALLER_COUNT = 200000, SUBMIT_WARM_UP = 200 };

/* Calls once(arg), which submits and waits, as often as the variant asks for and returns the time of one call. Each
 * call must have raised *done by one. */
double submit_pass(int variant, uint32_t shrink, void (*once)(void *arg), void *arg, const volatile uint64_t *done);

#ifdef __cplusplus
}
#endif

#endif
