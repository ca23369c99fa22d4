/* SPDX-License-Identifier: MIT
 *
 * Loops inside a graph: one run, in which a condition leads back to the body.
 */
#include "thrum_body.h"

typedef struct looping {
    const control_loop *loop;
    uint32_t turns;
    thrum_body *body;
} looping;

static void run_loop(thrum_body *body, uint32_t turns)
{
    body->left = turns;
    if (thrum_run(body->executor, body->graph) != 0)
        bench_bad("run: %s", thrum_message(body->graph));
}

static void check_order(const control_loop *loop, int workers)
{
    thrum_body *body = body_open(loop, workers, 1, 1);
    run_loop(body, CONTROL_CHECK_TURNS);
    control_verify(body->cells, CONTROL_CHECK_TURNS);
    body_close(body);
}

static void *open_loop(const bench_request *request)
{
    looping *l = bench_alloc(1, sizeof *l);
    l->loop = &control_loops[request->variant];
    l->turns = l->loop->turns / request->shrink;
    check_order(l->loop, request->workers);
    l->body = body_open(l->loop, request->workers, 0, 1);
    return l;
}

static double pass_loop(void *state)
{
    looping *l = state;
    uint32_t first = l->turns / 10; /* brings the graph back into the caches */
    run_loop(l->body, first);
    control_verify(l->body->cells, first);
    double begin = bench_now();
    run_loop(l->body, l->turns);
    double time = bench_now() - begin;
    control_verify(l->body->cells, l->turns);
    return control_unit(l->loop, l->body->shape, l->turns, time);
}

static void close_loop(void *state)
{
    looping *l = state;
    body_close(l->body);
    free(l);
}

static bench_work works[] = {
    {"condition", CONTROL_CONDITION, open_loop, pass_loop, close_loop, NULL},
    {"condition-body", CONTROL_BODY, open_loop, pass_loop, close_loop, NULL},
    {"iterate", CONTROL_ITERATE, open_loop, pass_loop, close_loop, NULL},
    {"iterate-chain", CONTROL_ITERATE_CHAIN, open_loop, pass_loop, close_loop, NULL},
};

BENCH_WORKS(works)
