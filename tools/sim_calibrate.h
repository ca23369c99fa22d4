/* SPDX-License-Identifier: MIT
 *
 * thrum sim --calibrate: a description of the machine that it runs on.
 */
#ifndef THRUM_TOOLS_SIM_CALIBRATE_H
#define THRUM_TOOLS_SIM_CALIBRATE_H

#include <stdbool.h>

struct sim_calibration {
    const char *path; /* of the file to be written */
    const char *tile; /* "128"; NULL: that */
    bool timing;      /* of emulated devices in timing mode */
    bool quick;       /* fewer repetitions */
};

/* Measures kernels and tasks for some seconds, and writes what they show to the file. An exit code. */
int sim_calibrate(const struct sim_calibration *c);

#endif
