/* SPDX-License-Identifier: MIT
 *
 * One token after the other; each stage a call through a pointer.
 */
#include "pipeline.h"

#include <stdlib.h>

static void (*volatile body)(pipeline_cell *, uint64_t) = pipeline_body;

static void *open_cells(const bench_request *request)
{
    pipeline_cells *cells = bench_alloc(1, sizeof *cells);
    pipeline_open(cells, request);
    return cells;
}

static double pass(void *arg)
{
    pipeline_cells *cells = arg;
    pipeline_begin(cells);
    double begin = bench_now();
    for (uint64_t token = 0; token < cells->tokens; token++)
        for (int s = 0; s < PIPELINE_STAGES; s++)
            body(&cells->stage[s], token);
    return pipeline_result(cells, bench_now() - begin);
}

static bench_work works[] = {
    {"pipeline", 0, open_cells, pass, free, NULL},
};

BENCH_WORKS(works)
