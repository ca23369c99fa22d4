/* SPDX-License-Identifier: MIT
 *
 * A process for SimGrid: a child of the caller, the *keeper*, which loads the module libthrum-simgrid.so and does what
 * it is given to do. What it says, and what children of its own say, comes back through a pipe. See docs/decisions,
 * 0021.
 */
#ifndef THRUM_SIM_SIMGRID_PROCESS_H
#define THRUM_SIM_SIMGRID_PROCESS_H

#include "simgrid/module.h"

#include <limits.h>
#include <sys/types.h>

/* What the keeper and its children have of the caller. */
typedef struct thrum__keeper {
    const thrum__simgrid_module *module;
    int pipe;
} thrum__keeper;

typedef struct thrum__keeping {
    /* In the keeper. All is done when it returns. NULL: the module is loaded, and that is all. */
    void (*keep)(const thrum__keeper *keeper, void *ctx);
    /* In the calling process, by the calling thread: something was said. Not 0: stop, and that is what
     * thrum__simgrid_process returns; a sentence is there. */
    int (*heard)(void *ctx, const void *said, size_t length);
    void *ctx;
} thrum__keeping;

/* 0; what `heard` returned; THRUM_ESYSTEM with a sentence: there is no SimGrid engine here, or it failed. */
int thrum__simgrid_process(const thrum__keeping *keeping);

/* ---- In the keeper and its children ------------------------------------------------------------------------------ */

/* So much is said at once: with its head it fits into what a pipe takes whole, so that several may speak. */
enum { THRUM__SAY_MOST = PIPE_BUF - 2 * sizeof(uint32_t) };

/* At most THRUM__SAY_MOST bytes. */
void thrum__keeper_say(const thrum__keeper *keeper, const void *data, size_t length);
/* An error, which ends the process. */
_Noreturn void thrum__keeper_fail(const thrum__keeper *keeper, const char *sentence);
/* The same as to return from `keep`. */
_Noreturn void thrum__keeper_done(const thrum__keeper *keeper);

/* To be called once SimGrid has its engine: it has handlers of its own, which print and call exit. */
void thrum__keeper_reset_signals(void);

/* A child does not outlive the thread that has forked it, which waits for it. */
void thrum__keeper_settle(pid_t parent);

#endif
