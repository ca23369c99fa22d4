/* SPDX-License-Identifier: MIT
 *
 * The tasks of insert.h as thrum has them: an executor, a handle for each cell, a codelet for each number of accesses.
 */
#ifndef BENCH_DATA_THRUM_FLOW_H
#define BENCH_DATA_THRUM_FLOW_H

#include "insert.h"

#include <thrum/thrum.h>

typedef struct flow_cells {
    const insert_flow *flow;
    thrum_executor *executor;
    thrum_data *handles[INSERT_HANDLES];
} flow_cells;

/* NULL: failed, and bench_bad was called. */
thrum_executor *flow_executor(int workers);
int flow_cells_begin(flow_cells *cells, const insert_flow *flow, int workers);
void flow_cells_end(flow_cells *cells);

/* Inserts all tasks into a flow, which runs or records them. */
void flow_cells_insert(flow_cells *cells, thrum_flow *into);

#endif
