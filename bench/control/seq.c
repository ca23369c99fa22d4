/* SPDX-License-Identifier: MIT
 *
 * What loops inside a graph are compared with: for "condition" a plain loop over two calls; for the others thrum
 * itself, running the body from outside and waiting for it each time.
 */
#include "thrum_body.h"

typedef struct repeating {
    const control_loop *loop;
    uint32_t turns;
    thrum_body *body;
} repeating;

static void *open_repeating(const bench_request *request)
{
    repeating *r = bench_alloc(1, sizeof *r);
    r->loop = &control_loops[request->variant];
    r->turns = r->loop->turns / request->shrink;
    r->body = body_open(r->loop, request->workers, 0, 0);
    return r;
}

static void run_often(const repeating *r, uint32_t turns)
{
    for (uint32_t i = 0; i < turns; i++)
        if (thrum_run(r->body->executor, r->body->graph) != 0)
            bench_bad("run: %s", thrum_message(r->body->graph));
}

/* Read through volatile, so that the compiler does not know what it calls. */
static int (*volatile condition)(void *arg) = body_goes_on;

static void call_often(const repeating *r, uint32_t turns)
{
    bench_body *body = r->body->cells->body;
    void *cell = bench_cell(r->body->cells, 0);
    int (*goes_on)(void *arg) = condition;
    r->body->left = turns;
    do
        body(cell);
    while (goes_on(r->body) == 0);
}

static double pass_repeating(void *state)
{
    const repeating *r = state;
    void (*run)(const repeating *, uint32_t) = r->loop == &control_loops[CONTROL_CONDITION] ? call_often : run_often;
    uint32_t first = r->turns / 10;
    run(r, first);
    control_verify(r->body->cells, first);
    double begin = bench_now();
    run(r, r->turns);
    double time = bench_now() - begin;
    control_verify(r->body->cells, r->turns);
    return control_unit(r->loop, r->body->shape, r->turns, time);
}

static void close_repeating(void *state)
{
    repeating *r = state;
    body_close(r->body);
    free(r);
}

static bench_work works[] = {
    {"condition", CONTROL_CONDITION, open_repeating, pass_repeating, close_repeating, NULL},
    {"condition-body", CONTROL_BODY, open_repeating, pass_repeating, close_repeating, NULL},
    {"iterate", CONTROL_ITERATE, open_repeating, pass_repeating, close_repeating, NULL},
    {"iterate-chain", CONTROL_ITERATE_CHAIN, open_repeating, pass_repeating, close_repeating, NULL},
};

BENCH_WORKS(works)
