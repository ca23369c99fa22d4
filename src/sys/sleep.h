/* SPDX-License-Identifier: MIT
 *
 * Sleeping to the microsecond, for what takes its time instead of doing something: the kernels and copies of timing
 * mode.
 */
#ifndef THRUM_SYS_SLEEP_H
#define THRUM_SYS_SLEEP_H

#include <stdint.h>

/* Returns at this moment of thrum__now or a little later, never earlier; at once where it has passed. The core is free
 * for others meanwhile. */
void thrum__sleep_until(int64_t moment);

/* The moment so many seconds after another; what is no number above 0 counts as 0, what is beyond all clocks as their
 * end. */
static inline int64_t thrum__moment_after(int64_t start, double seconds)
{
    double room = (double)(INT64_MAX / 2 - start);
    double ns = seconds > 0 ? seconds * 1e9 + 0.999 : 0;
    return start + (int64_t)(ns < room ? ns : room);
}

#endif
