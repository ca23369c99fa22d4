/* SPDX-License-Identifier: MIT
 *
 * A body as thrum has it: alone, to be run from outside, or with a condition behind it that leads back.
 */
#ifndef BENCH_CONTROL_THRUM_BODY_H
#define BENCH_CONTROL_THRUM_BODY_H

#include "control.h"

#include <thrum/thrum.h>

#include <stdlib.h>

typedef struct thrum_body {
    bench_shape *shape;
    bench_cells *cells;
    thrum_executor *executor;
    thrum_graph *graph;
    uint32_t left; /* turns of the loop */
} thrum_body;

static int body_goes_on(void *arg)
{
    thrum_body *body = arg;
    return --body->left > 0 ? 0 : THRUM_STOP;
}

static inline void body_build(thrum_body *body, int loops)
{
    const bench_shape *shape = body->shape;
    thrum_task **tasks = bench_alloc(shape->tasks, sizeof(thrum_task *));
    body->graph = thrum_graph_new("body");
    thrum_task *begin = loops ? thrum_placeholder_new(body->graph) : NULL;
    for (uint32_t i = 0; i < shape->tasks; i++)
        tasks[i] = thrum_task_new(body->graph, body->cells->body, bench_cell(body->cells, i));
    for (size_t i = 0; i < shape->edge_count; i++)
        thrum_edge(tasks[shape->edges[i].before], tasks[shape->edges[i].after]);
    if (loops) {
        thrum_task *condition = thrum_condition_new(body->graph, body_goes_on, body);
        thrum_edge(begin, tasks[0]);
        thrum_edge(tasks[shape->tasks - 1], condition);
        thrum_edge(condition, tasks[0]);
    }
    if (thrum_graph_freeze(body->graph))
        bench_bad("freeze: %s", thrum_message(body->graph));
    free(tasks);
}

static inline void body_close(void *arg)
{
    thrum_body *body = arg;
    thrum_graph_free(body->graph);
    thrum_executor_free(body->executor);
    bench_cells_free(body->cells);
    bench_shape_free(body->shape);
    free(body);
}

static inline thrum_body *body_open(const control_loop *loop, int workers, int ordered, int loops)
{
    thrum_body *body = bench_alloc(1, sizeof *body);
    body->shape = bench_shape_new(loop->kind, loop->tasks);
    body->cells = ordered ? bench_ordered_cells_new(body->shape) : bench_cells_new(body->shape->tasks);
    body->executor = thrum_executor_new(&(thrum_config){.workers = workers});
    if (!body->executor)
        bench_bad("no executor: %s", thrum_message(NULL));
    body_build(body, loops);
    return body;
}

#endif
