/* SPDX-License-Identifier: MIT
 *
 * Errors, explained once.
 *
 * A call that can fail returns 0 or a negative code from the list below; a call that makes something returns NULL. What
 * such a call would have written stays untouched. Each failure also leaves a sentence that names what was wrong:
 * `thrum_message(NULL)` gives the sentence of the last call that failed in this thread.
 *
 * Calls that build a graph (tasks, edges, names) need no check at each line: the graph keeps its first error and the
 * sentence, later building calls on it do nothing, and running it returns that error. A NULL task is accepted by every
 * building call and is an error of the same kind, so a task that could not be made does not crash the next line.
 *
 * A task fails with `thrum_fail`. The first failure in a run cancels it: nothing of it that has not started will start,
 * and waiting for it returns the code.
 *
 * The library never ends the program and never prints.
 */
#ifndef THRUM_ERROR_H
#define THRUM_ERROR_H

#include <thrum/version.h>

THRUM_BEGIN_C

enum thrum_error {
    THRUM_OK = 0,
    THRUM_EINVAL = -1,      /* an argument is wrong: a null handle, a self edge, two graphs, a negative count */
    THRUM_ENOMEM = -2,      /* no memory */
    THRUM_EBUSY = -3,       /* a graph is changed or freed while it runs */
    THRUM_ECYCLE = -4,      /* tasks wait for each other in a circle */
    THRUM_ENOSOURCE = -5,   /* every task waits for another one, so none can start */
    THRUM_EDEADLOCK = -6,   /* a task would wait for itself */
    THRUM_EFORK = -7,       /* the executor belongs to the parent of this process */
    THRUM_ELIMIT = -8,      /* more of something than thrum can count, or nested too deeply for the stack */
    THRUM_EOPTION = -9,     /* an unknown option or a bad value in the environment or the configuration */
    THRUM_ESYSTEM = -10,    /* the operating system refused: a thread, a file */
    THRUM_ECHOICE = -11,    /* a condition named a successor that it does not have */
    THRUM_ECANCELLED = -12, /* somebody called thrum_cancel */
    THRUM_ERACE = -13,      /* a condition and other predecessors race for a task, in a strict graph */
    THRUM_ESEMAPHORE = -14, /* a run gave back more tokens of a semaphore than it had taken, or fewer */
    THRUM_EEVENT = -15,     /* an event was released twice, or is none */
    THRUM_EDATA = -16,      /* data is used against its rules: read before it was written, parts that overlap, a cut */
    THRUM_EDEVICE = -17,    /* a device failed, or data does not fit into its memory */
    THRUM_EPOLICY = -18,    /* a policy broke its contract */
};

/* "THRUM_ECYCLE" and a few words on it; for a code of the user's own, "user error" and the same. Never NULL. */
THRUM_API const char *thrum_error_name(int code);
THRUM_API const char *thrum_error_text(int code);

/* The sentence of the first error of a graph, a flow, a handle or an executor; of NULL, of the last failed call of the
 * calling thread. Empty where there was none; a flow has that of a task once a wait has returned it. Valid until the
 * object is freed or fails again; with NULL until the thread's next failing call. */
THRUM_API const char *thrum_message(const void *object);

/* Called in a task: the task's run (or, in a spawned task, the scope it descends from) has failed. `code` is the
 * caller's own: a positive number that the wait returns as it is, or a THRUM_E... code. 0 counts as THRUM_EINVAL. Only
 * the first failure of a run is kept. The task itself goes on: return after calling this. Called outside a task it
 * only sets the calling thread's message. */
THRUM_API void thrum_fail(int code, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

THRUM_END_C

#endif
