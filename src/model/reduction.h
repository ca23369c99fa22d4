/* SPDX-License-Identifier: MIT
 *
 * Reductions: private copies of a handle, one for each worker that adds to it.
 *
 * A copy is a handle of its own, like the one it is a copy of, made when a worker first needs it and kept for the next
 * group of reducing tasks. While a group is under way a copy belongs to its worker; combining begins when the group has
 * ended.
 */
#ifndef THRUM_MODEL_REDUCTION_H
#define THRUM_MODEL_REDUCTION_H

#include "model/data.h"

typedef struct thrum__private {
    thrum_data *data;
    int worker;
    bool begun; /* it holds something of the present group: `init` has been called */
} thrum__private;

typedef struct thrum__reduction {
    const thrum_codelet *init, *combine;
    thrum__lock lock; /* the list; an entry's `begun` is its worker's, then the combining task's */
    thrum__private **copies;
    size_t count, room;
    bool begun_by_graph; /* copies may hold something of a run that failed; graphs and flows take turns with it */
} thrum__reduction;

/* No copy holds anything. None is in use. */
void thrum__reduction_reset(thrum__reduction *reduction);

/* The worker's copy of the handle: made if it has none. NULL without memory. Any thread, for different workers at
 * once. */
thrum__private *thrum__reduction_copy(thrum_data *data, int worker);

/* The handle can be reduced into from now on: 0 or THRUM_ENOMEM. Copies that are there already are kept. */
int thrum__reduction_set(thrum_data *data, const thrum_codelet *init, const thrum_codelet *combine);

/* Drops the copies; `data` is going. The copies' replicas must be gone. */
void thrum__reduction_free(thrum_data *data);
/* The same where all handles go at once: the copies are left to who frees those. */
void thrum__reduction_drop(thrum_data *data);

#endif
