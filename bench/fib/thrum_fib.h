/* SPDX-License-Identifier: MIT
 *
 * Included by thrum.c and, with THRUM_INLINE defined, by thrum_inline.c: one program, called and inlined. The including
 * file defines FIB_WORK, the work's name.
 */
#include "fib.h"

#include <thrum/thrum.h>

#include <stdlib.h>

typedef struct fib_call {
    long n, value;
} fib_call;

typedef struct fib_state {
    thrum_executor *executor;
    int n;
} fib_state;

static void fib(thrum_scope *up, void *arg)
{
    fib_call *f = arg;
    if (f->n < 2) {
        f->value = f->n;
        return;
    }
    fib_call x = {f->n - 1, 0}, y = {f->n - 2, 0};
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    thrum_spawn(&scope, fib, &x);
    fib(&scope, &y);
    thrum_join(&scope);
    f->value = x.value + y.value;
}

static void *open_fib(const bench_request *request)
{
    fib_state *state = bench_alloc(1, sizeof *state);
    state->n = fib_number(request, FIB_NUMBER);
    state->executor = thrum_executor_new(&(thrum_config){.workers = request->workers});
    if (!state->executor) {
        bench_bad("no executor: %s", thrum_message(NULL));
        free(state);
        return NULL;
    }
    return state;
}

static double pass_fib(void *arg)
{
    fib_state *state = arg;
    fib_call root = {state->n, 0};
    double begin = bench_now();
    int err = thrum_scope_run(state->executor, fib, &root);
    double time = bench_now() - begin;
    if (err)
        bench_bad("scope: %s", thrum_message(NULL));
    return fib_result(state->n, root.value, time);
}

static void close_fib(void *arg)
{
    fib_state *state = arg;
    thrum_executor_free(state->executor);
    free(state);
}

static bench_work works[] = {{FIB_WORK, 0, open_fib, pass_fib, close_fib, NULL}};

BENCH_WORKS(works)
