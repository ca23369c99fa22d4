/* SPDX-License-Identifier: MIT
 *
 * 2^20 tokens through eight serial stages, eight tokens at a time. A stage counts its tokens in a cell of its own, and
 * notes whether they came in their order.
 */
#ifndef BENCH_PIPELINE_H
#define BENCH_PIPELINE_H

#include "../common/runner.h"

enum { PIPELINE_STAGES = 8, PIPELINE_LINES = 8, PIPELINE_TOKENS = 1 << 20 };

typedef struct pipeline_cell {
    uint64_t tokens, misplaced;
    char rest[112]; /* a stage's cell shares no cache line with another's, nor one that is fetched along with it */
} pipeline_cell;

typedef struct pipeline_cells {
    pipeline_cell stage[PIPELINE_STAGES];
    uint64_t tokens; /* to come */
} pipeline_cells;

static inline void pipeline_open(pipeline_cells *cells, const bench_request *request)
{
    cells->tokens = PIPELINE_TOKENS / request->shrink;
}

static inline void pipeline_begin(pipeline_cells *cells)
{
    for (int s = 0; s < PIPELINE_STAGES; s++)
        cells->stage[s].tokens = cells->stage[s].misplaced = 0;
}

static inline void pipeline_body(pipeline_cell *cell, uint64_t token)
{
    cell->misplaced += cell->tokens != token;
    cell->tokens++;
}

/* Time for each stage of each token. */
static inline double pipeline_result(const pipeline_cells *cells, double time)
{
    for (int s = 0; s < PIPELINE_STAGES; s++)
        if (cells->stage[s].tokens != cells->tokens || cells->stage[s].misplaced != 0)
            bench_bad("stage %d had %llu tokens instead of %llu, and %llu not in their order", s,
                      (unsigned long long)cells->stage[s].tokens, (unsigned long long)cells->tokens,
                      (unsigned long long)cells->stage[s].misplaced);
    return time / ((double)cells->tokens * PIPELINE_STAGES);
}

#endif
