/* SPDX-License-Identifier: MIT
 *
 * thrum sim --calibrate: a description of the machine that it runs on.
 */
#ifndef THRUM_TOOLS_SIM_CALIBRATE_H
#define THRUM_TOOLS_SIM_CALIBRATE_H

#include <stdbool.h>

/* Runs the applications, with tiles of this size ("128"; NULL: 128), for some seconds, and writes what they show to a file;
 * `timing`: of emulated devices in timing mode. An exit code. */
int sim_calibrate(const char *path, const char *tile, bool timing);

#endif
