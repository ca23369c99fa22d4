/* SPDX-License-Identifier: MIT
 *
 * By hand: a loop over the blocks in which each worker has a copy of its own, and the caller adds those up.
 */
#include "redux.h"

#include <thrum/loop.h>
#include <thrum/thrum.h>

#include <stdlib.h>
#include <string.h>

enum { COPIES = 64 };

typedef struct private_copy {
    int used;
    double dot;
    uint64_t bins[REDUX_BINS];
} private_copy;

struct redux_runtime {
    redux *r;
    thrum_executor *executor;
    private_copy *copies[COPIES]; /* by the number of the worker; made by it, so that memory is near */
};

redux_runtime *redux_begin(redux *r, int workers)
{
    redux_runtime *runtime = bench_alloc(1, sizeof *runtime);
    runtime->r = r;
    runtime->executor = thrum_executor_new(&(thrum_config){.workers = workers});
    if (runtime->executor)
        return runtime;
    bench_bad("no executor: %s", thrum_message(NULL));
    free(runtime);
    return NULL;
}

static private_copy *copy_here(redux_runtime *runtime)
{
    private_copy **copy = &runtime->copies[thrum_worker_index() % COPIES];
    if (!*copy)
        *copy = bench_alloc(1, sizeof **copy);
    if (!(*copy)->used)
        memset(*copy, 0, sizeof **copy);
    (*copy)->used = 1;
    return *copy;
}

static void do_blocks(size_t lo, size_t hi, void *ctx)
{
    redux_runtime *runtime = ctx;
    const redux *r = runtime->r;
    private_copy *copy = copy_here(runtime);
    for (size_t i = lo * r->block; i < hi * r->block; i += r->block) {
        if (r->variant == REDUX_DOT)
            copy->dot += redux_dot(r->x + i, r->y + i, r->block);
        else
            redux_histogram(r->keys + i, r->block, copy->bins);
    }
}

static void add(redux *r, private_copy *copy)
{
    r->dot += copy->dot;
    for (int bin = 0; r->variant != REDUX_DOT && bin < REDUX_BINS; bin++)
        r->bins[bin] += copy->bins[bin];
    copy->used = 0;
}

void redux_run(redux_runtime *runtime)
{
    redux *r = runtime->r;
    if (thrum_for(runtime->executor, 0, r->blocks, do_blocks, runtime, .schedule = THRUM_GSS) != 0)
        bench_bad("loop: %s", thrum_message(NULL));
    r->dot = 0;
    memset(r->bins, 0, sizeof r->bins);
    for (int i = 0; i < COPIES; i++)
        if (runtime->copies[i] && runtime->copies[i]->used)
            add(r, runtime->copies[i]);
}

void redux_end(redux_runtime *runtime)
{
    for (int i = 0; i < COPIES; i++)
        free(runtime->copies[i]);
    thrum_executor_free(runtime->executor);
    free(runtime);
}
