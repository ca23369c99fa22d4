/* SPDX-License-Identifier: MIT
 *
 * The pattern of accesses, what the tasks do, and the works. Nanoseconds per task; the second number of a sample is the
 * time until the last task was inserted, per task as well.
 *
 * After each pass every cell must have been raised as often as tasks write it. That says little about the order, so the
 * first tasks of the same pattern are run once with bodies that check that each datum they read has been written
 * exactly as often as by the tasks in front of them.
 */
#include "insert.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- The pattern ------------------------------------------------------------------------------------------------- */

static uint32_t random_handle(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 40) % INSERT_HANDLES;
}

static int is_among(const uint16_t *handles, int count, uint32_t handle)
{
    for (int i = 0; i < count; i++)
        if (handles[i] == handle)
            return 1;
    return 0;
}

static void choose_handles(insert_flow *flow)
{
    uint64_t random = UINT64_C(88172645463325252);
    uint16_t *next = flow->handles;
    for (uint32_t task = 0; task < flow->tasks; task++, next += flow->accesses) {
        for (int i = 0; i < flow->accesses; i++) {
            uint32_t handle = task % INSERT_HANDLES;
            while (flow->accesses > 1 && is_among(next, i, handle = random_handle(&random)))
                continue;
            next[i] = (uint16_t)handle;
        }
    }
}

static insert_flow *flow_with(uint32_t tasks, int accesses, insert_body *body)
{
    insert_flow *flow = bench_alloc(1, sizeof *flow);
    flow->tasks = tasks;
    flow->accesses = accesses;
    flow->body = body;
    flow->handles = bench_alloc((size_t)tasks * (size_t)accesses, sizeof *flow->handles);
    flow->cells = aligned_alloc(64, INSERT_HANDLES * sizeof *flow->cells);
    if (!flow->cells)
        abort();
    memset(flow->cells, 0, INSERT_HANDLES * sizeof *flow->cells);
    choose_handles(flow);
    return flow;
}

void insert_flow_free(insert_flow *flow)
{
    free(flow->cells);
    free(flow->handles);
    free(flow);
}

static uint32_t written_handle(const insert_flow *flow, uint32_t task)
{
    return insert_accesses(flow, task)[flow->accesses - 1];
}

void insert_flow_verify(insert_flow *flow)
{
    uint64_t *expected = bench_alloc(INSERT_HANDLES, sizeof *expected);
    for (uint32_t task = 0; task < flow->tasks; task++)
        expected[written_handle(flow, task)]++;
    for (uint32_t i = 0; i < INSERT_HANDLES; i++) {
        if (flow->cells[i].value != expected[i])
            bench_bad("handle %u was written %llu times instead of %llu", i, (unsigned long long)flow->cells[i].value,
                      (unsigned long long)expected[i]);
        flow->cells[i].value = 0;
    }
    free(expected);
}

/* ---- The order --------------------------------------------------------------------------------------------------- */

/* What the checking bodies know. A cell counts its writers, so it tells which task is the next that writes it. */
static struct {
    const insert_flow *flow;
    uint32_t *first;    /* for each handle, where its writers begin */
    uint32_t *writers;  /* tasks, by the handle that they write */
    uint64_t *expected; /* for each access of each task, how often its datum has been written before */
    atomic_uint wrong;
} order;

static void check_order(uint32_t task)
{
    const uint16_t *handles = insert_accesses(order.flow, task);
    const uint64_t *expected = order.expected + (handles - order.flow->handles);
    for (int i = 0; i < order.flow->accesses; i++)
        if (order.flow->cells[handles[i]].value != expected[i])
            atomic_fetch_add(&order.wrong, 1);
}

static void raise_cell(void *written)
{
    ++*(uint64_t *)written;
}

static void raise_checked_cell(void *written)
{
    ptrdiff_t handle = (insert_cell *)written - order.flow->cells;
    uint64_t at = order.first[handle] + ((insert_cell *)written)->value;
    if (at < order.first[handle + 1])
        check_order(order.writers[at]);
    else
        atomic_fetch_add(&order.wrong, 1);
    raise_cell(written);
}

static void know_order(const insert_flow *flow)
{
    uint64_t *counts = bench_alloc(INSERT_HANDLES, sizeof *counts);
    order.flow = flow;
    order.first = bench_alloc(INSERT_HANDLES + 1, sizeof *order.first);
    order.writers = bench_alloc(flow->tasks, sizeof *order.writers);
    order.expected = bench_alloc((size_t)flow->tasks * (size_t)flow->accesses, sizeof *order.expected);
    for (uint32_t task = 0; task < flow->tasks; task++)
        order.first[written_handle(flow, task) + 1]++;
    for (uint32_t i = 0; i < INSERT_HANDLES; i++)
        order.first[i + 1] += order.first[i];
    for (uint32_t task = 0; task < flow->tasks; task++) {
        const uint16_t *handles = insert_accesses(flow, task);
        for (int i = 0; i < flow->accesses; i++)
            order.expected[handles - flow->handles + i] = counts[handles[i]];
        uint32_t written = written_handle(flow, task);
        order.writers[order.first[written] + counts[written]++] = task;
    }
    free(counts);
}

static void forget_order(void)
{
    free(order.first);
    free(order.writers);
    free(order.expected);
}

/* ---- The works --------------------------------------------------------------------------------------------------- */

typedef struct insert_state {
    insert_flow *flow;
    insert_runtime *runtime;
} insert_state;

/* Read through volatile, so that no compiler knows which function the tasks will call. */
static insert_body *volatile plain_body = raise_cell;
static insert_body *volatile checked_body = raise_checked_cell;

insert_flow *insert_flow_new(uint32_t tasks, int accesses)
{
    return flow_with(tasks, accesses, plain_body);
}

static void check_small_flow(int accesses, int workers)
{
    insert_flow *flow = flow_with(INSERT_CHECKED_TASKS, accesses, checked_body);
    know_order(flow);
    insert_runtime *runtime = insert_begin(flow, workers);
    if (runtime) {
        insert_run(runtime);
        insert_end(runtime);
        insert_flow_verify(flow);
        if (atomic_load(&order.wrong))
            bench_bad("%u accesses were out of order", atomic_load(&order.wrong));
    }
    forget_order();
    insert_flow_free(flow);
}

static void close_insert(void *arg)
{
    insert_state *state = arg;
    if (state->runtime)
        insert_end(state->runtime);
    insert_flow_free(state->flow);
    free(state);
}

static void *open_insert(const bench_request *request)
{
    insert_state *state = bench_alloc(1, sizeof *state);
    check_small_flow(request->variant, request->workers);
    uint32_t divisor = insert_divisor(request->variant, request->workers);
    if (divisor < request->shrink)
        divisor = request->shrink;
    state->flow = insert_flow_new(INSERT_TASKS / divisor, request->variant);
    state->runtime = bench_is_bad() ? NULL : insert_begin(state->flow, request->workers);
    if (state->runtime)
        return state;
    close_insert(state);
    return NULL;
}

static double pass_insert(void *arg)
{
    insert_state *state = arg;
    double begin = bench_now();
    double inserted = insert_run(state->runtime);
    double end = bench_now();
    insert_flow_verify(state->flow);
    bench_second((inserted - begin) / state->flow->tasks);
    return (end - begin) / state->flow->tasks;
}

static bench_work works[] = {
    {"insert-1", 1, open_insert, pass_insert, close_insert, NULL},
    {"insert-3", 3, open_insert, pass_insert, close_insert, NULL},
    {"insert-8", 8, open_insert, pass_insert, close_insert, NULL},
};

BENCH_WORKS(works)
