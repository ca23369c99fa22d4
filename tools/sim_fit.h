/* SPDX-License-Identifier: MIT
 *
 * How long a kernel takes, by what it does and what it touches. For `thrum sim --calibrate`.
 *
 *     seconds = fixed + bytes * per_byte + bytes that are only read * per_read + work / rate,   none of them negative,
 *
 * so that relative errors are least. Libraries have other kernels for small matrices: if two rates, one for small work
 * and one for the rest, and two times for a byte, fit much better, there are two.
 */
#ifndef THRUM_TOOLS_SIM_FIT_H
#define THRUM_TOOLS_SIM_FIT_H

#include <stdbool.h>

/* A kernel with data of certain extents, and what was measured of it. The first of a codelet is the whole tile. */
struct sim_shape {
    char codelet[24];
    double work, bytes, read, seconds;
};

struct sim_fit {
    double rate, per_byte, per_read, fixed;
    double small_work, small_rate, small_per_byte; /* 0: there is no other rate for small work */
};

/* False: there is no shape of the codelet, or no formula for what was measured. */
bool sim_fit(const struct sim_shape *shapes, int count, const char *codelet, struct sim_fit *f);

#endif
