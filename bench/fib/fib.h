/* SPDX-License-Identifier: MIT
 *
 * Fibonacci numbers by spawning every first call, with no cut-off: nanoseconds per spawn, the rest being next to none.
 */
#ifndef BENCH_FIB_H
#define BENCH_FIB_H

#include "../common/runner.h"

enum { FIB_NUMBER = 35, FIB_SLOW_NUMBER = 30 }; /* the second for OpenMP, whose spawns are long */

static inline long fib_value(int n)
{
    long low = 0, high = 1;
    for (; n > 0; n--) {
        long next = low + high;
        low = high;
        high = next;
    }
    return low;
}

/* Shrinking by ten takes about five off the number. */
static inline int fib_number(const bench_request *request, int full)
{
    int n = full;
    for (uint32_t shrink = request->shrink; shrink > 1 && n > 10; shrink /= 2)
        n -= n > 20 ? 2 : 1;
    return n;
}

/* The time per spawn, having checked the result; fib(n) spawns fib(n + 1) - 1 times. */
static inline double fib_result(int n, long value, double time)
{
    if (value != fib_value(n))
        bench_bad("fib(%d) gave %ld instead of %ld", n, value, fib_value(n));
    return time / (double)(fib_value(n + 1) - 1);
}

#endif
