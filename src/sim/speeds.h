/* SPDX-License-Identifier: MIT
 *
 * Speeds of simulated workers, constant between moments at which they change: when is work done that is begun now?
 */
#ifndef THRUM_SIM_SPEEDS_H
#define THRUM_SIM_SPEEDS_H

#include <thrum/sim.h>

/* From this time on, until the next one of the same worker. */
typedef struct thrum__speed {
    double from, speed;
} thrum__speed;

typedef struct thrum__speeds {
    thrum__speed *all; /* worker by worker, each from the time 0 on; NULL: all have the speed 1 for ever */
    size_t *first;     /* where in `all` a worker's begin: p + 1 of them */
} thrum__speeds;

/* `base` may be NULL: 1 for all. Perturbations of one worker that overlap multiply. 0, or an error with a sentence:
 * something is not a number, negative, or there is no such worker; or a worker would stand still for ever. */
int thrum__speeds_begin(thrum__speeds *speeds, uint32_t workers, const double *base,
                        const thrum_perturbation *perturbations, size_t count);
void thrum__speeds_end(thrum__speeds *speeds);

/* When `work`, which takes that long at speed 1, is done by the worker if it begins at the time `begin`. */
double thrum__speeds_done(const thrum__speeds *speeds, uint32_t worker, double begin, double work);

#endif
