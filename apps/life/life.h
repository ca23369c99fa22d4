/* SPDX-License-Identifier: MIT
 *
 * Life by blocks: what its tasks (tasks.c), and the program that runs them (life.c), share.
 */
#ifndef THRUM_APPS_LIFE_H
#define THRUM_APPS_LIFE_H

#include "kernel.h"

#include "common/app.h"

struct block {
    size_t from[3], extent[3];
    uint8_t *cells;
    uint8_t *faces[2][LIFE_FACES]; /* before and after a step, in turns */
    thrum_data *cells_data, *faces_data[2][LIFE_FACES];
};

struct life {
    struct app_setup setup;
    uint64_t n, side, steps, density;
    const char *rule_text;
    struct life_rule rule;
    thrum_codelet codelet;
    size_t count; /* blocks each way */
    struct block *blocks;
    uint8_t *memory; /* cells and faces of all blocks */
    thrum_data *room;
    size_t untouched;    /* bytes of `memory` if it is addresses that nobody touches (common/memory.h) */
    const char *kernels; /* "all", "quick": they alone are measured */
    bool steals;         /* priorities say nothing */
    bool buckets;        /* tasks have the bucket 0 */
};

static inline size_t life_blocks(const struct life *life)
{
    return life->count * life->count * life->count;
}

/* Blocks of n and side. `untouched`: cells and faces have addresses, but nobody may read or write them. False without
 * memory; to be released in any case. */
bool life_allocate(struct life *life, bool untouched);
void life_release(struct life *life);
/* All handles. 0 or an error. Of unregistering, only cells come home. */
int life_register(struct life *life, thrum_executor *ex);
int life_unregister(struct life *life, bool discard);
/* Inserts all tasks. The flow keeps the first error. */
void life_insert(const struct life *life, thrum_flow *flow);

/* The kernel alone, on parts of a block (probe.c): prints how long it takes. An exit code. */
int life_probe(struct life *life);

#endif
