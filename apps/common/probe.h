/* SPDX-License-Identifier: MIT
 *
 * Kernels alone, without tasks: how long they take on parts of a tile. For `thrum sim --calibrate`.
 *
 * Cases are measured in turns, many rounds of them, and each is compared with the first case of its codelet in the same
 * round: a machine that is disturbed for a while is slower for all of them. Medians over rounds are told.
 */
#ifndef THRUM_APPS_PROBE_H
#define THRUM_APPS_PROBE_H

#include <stdbool.h>
#include <stddef.h>

enum { APP_PROBE_EXTENTS = 3 };

/* Of the cases of a codelet the first is the whole tile. */
struct app_probe_case {
    const char *codelet;
    int kernel;
    int extent[APP_PROBE_EXTENTS]; /* what they are is the application's business */
    double work, bytes, read;      /* as in a task with data of these extents; bytes that are only read */
};

struct app_probe {
    const char *verb;
    const struct app_probe_case *cases;
    int count;
    bool quick; /* few rounds */
    void *self;
    void *(*begin)(void *self); /* what calls need; NULL without memory */
    void (*end)(void *state);
    /* Runs the kernel once, on data that it has not touched for long: the seconds that it took. */
    double (*call)(void *state, const struct app_probe_case *it);
};

/* Prints one JSON object: an array "kernels" of objects with codelet, extents, work, bytes, seconds. An exit code. */
int app_probe(const struct app_probe *probe);

#endif
