/* SPDX-License-Identifier: MIT */
#include "thrum_flow.h"

#ifndef BENCH_THRUM_POLICY
#define BENCH_THRUM_POLICY NULL /* stealing */
#endif

thrum_executor *flow_executor(int workers)
{
    thrum_executor *executor = thrum_executor_new(&(thrum_config){.workers = workers, .policy = BENCH_THRUM_POLICY});
    if (!executor)
        bench_bad("no executor: %s", thrum_message(NULL));
    return executor;
}

/* ---- Tasks: the last of their data is the one that they write ---------------------------------------------------- */

static insert_body *body; /* of the flow in use */

static void run_1(const thrum_buffer *buffers, const void *arg)
{
    (void)arg;
    body(buffers[0].ptr);
}

static void run_3(const thrum_buffer *buffers, const void *arg)
{
    (void)arg;
    body(buffers[2].ptr);
}

static void run_8(const thrum_buffer *buffers, const void *arg)
{
    (void)arg;
    body(buffers[7].ptr);
}

static const thrum_codelet one = {.name = "one", .cpu = run_1};
static const thrum_codelet three = {.name = "three", .cpu = run_3};
static const thrum_codelet eight = {.name = "eight", .cpu = run_8};

static int insert_1(thrum_flow *into, thrum_data *const *h, const uint16_t *at)
{
    return thrum_insert(into, &one, THRUM_RW(h[at[0]]));
}

static int insert_3(thrum_flow *into, thrum_data *const *h, const uint16_t *at)
{
    return thrum_insert(into, &three, THRUM_R(h[at[0]]), THRUM_R(h[at[1]]), THRUM_RW(h[at[2]]));
}

static int insert_8(thrum_flow *into, thrum_data *const *h, const uint16_t *at)
{
    return thrum_insert(into, &eight, THRUM_R(h[at[0]]), THRUM_R(h[at[1]]), THRUM_R(h[at[2]]), THRUM_R(h[at[3]]),
                        THRUM_R(h[at[4]]), THRUM_R(h[at[5]]), THRUM_R(h[at[6]]), THRUM_RW(h[at[7]]));
}

void flow_cells_insert(flow_cells *cells, thrum_flow *into)
{
    const insert_flow *flow = cells->flow;
    int (*insert)(thrum_flow *, thrum_data *const *, const uint16_t *) = flow->accesses == 1   ? insert_1
                                                                         : flow->accesses == 3 ? insert_3
                                                                                               : insert_8;
    int failed = 0;
    body = flow->body;
    for (uint32_t task = 0; task < flow->tasks; task++)
        failed |= insert(into, cells->handles, insert_accesses(flow, task));
    if (failed)
        bench_bad("insert: %s", thrum_message(NULL));
}

/* ---- Handles ----------------------------------------------------------------------------------------------------- */

int flow_cells_begin(flow_cells *cells, const insert_flow *flow, int workers)
{
    cells->flow = flow;
    cells->executor = flow_executor(workers);
    for (int i = 0; cells->executor && i < INSERT_HANDLES; i++)
        cells->handles[i] = thrum_data_variable(cells->executor, &flow->cells[i].value, sizeof(uint64_t));
    if (cells->executor && !cells->handles[INSERT_HANDLES - 1])
        bench_bad("no handle: %s", thrum_message(NULL));
    return bench_is_bad() ? -1 : 0;
}

void flow_cells_end(flow_cells *cells)
{
    for (int i = 0; i < INSERT_HANDLES; i++)
        if (thrum_data_unregister(cells->handles[i]) != 0)
            bench_bad("unregister: %s", thrum_message(NULL));
    thrum_executor_free(cells->executor);
}
