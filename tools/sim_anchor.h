/* SPDX-License-Identifier: MIT
 *
 * Runs of applications with the tile of calibration, and simulations of the same: what is left between the two is what
 * a description made of kernels alone does not know. For `thrum sim --calibrate`.
 */
#ifndef THRUM_TOOLS_SIM_ANCHOR_H
#define THRUM_TOOLS_SIM_ANCHOR_H

#include <thrum/thrum.h>

#include <stdbool.h>

/* Where it runs: on a core, on all cores, on an emulated device, on a core and a device. */
enum anchor_where { ANCHOR_CORE, ANCHOR_CORES, ANCHOR_DEVICE, ANCHOR_BOTH };

enum anchor_app { ANCHOR_CHOLESKY, ANCHOR_LIFE, ANCHOR_APPS };

struct anchor {
    enum anchor_app app;
    enum anchor_where where;
    int tile, cores;
};

const char *sim_anchor_verb(enum anchor_app app);

enum { ANCHOR_WORDS = 28 };

/* The words of the run, which is repeated and prints JSON. They may point into `numbers`. */
void sim_anchor_words(const struct anchor *a, char *words[ANCHOR_WORDS], char numbers[4][16]);

/* Seconds of the same run by a simulation of this machine; negative after an error, with a sentence in
 * thrum_message(NULL). */
double sim_anchor_simulate(const struct anchor *a, const thrum_machine *machine);

#endif
