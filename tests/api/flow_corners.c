/* SPDX-License-Identifier: MIT
 *
 * Corners of flows: windows where nobody else helps, flows behind each other, flows in tasks, failures, and what graphs
 * find.
 */
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

static void add_one(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[0].ptr += 1;
}

static void set_zero(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[0].ptr = 0;
}

static void add_second(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[0].ptr += *(const long *)b[1].ptr;
}

static const thrum_codelet increment = {.name = "increment", .cpu = add_one};
static const thrum_codelet clear = {.name = "clear", .cpu = set_zero};
static const thrum_codelet add = {.name = "add", .cpu = add_second};

/* A task that takes until it is told, or for a while. */
static atomic_bool gate;

static void wait_at_gate(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    while (!atomic_load(&gate))
        sched_yield();
    *(long *)b[0].ptr += 1;
}

static void open_gate(void *arg)
{
    (void)arg;
    usleep(300);
    atomic_store(&gate, true);
}

static const thrum_codelet slow = {.name = "slow", .cpu = wait_at_gate};

/* ---- Windows ----------------------------------------------------------------------------------------------------- */

static void fill_window(thrum_executor *ex)
{
    long x = 0;
    thrum_flow *one = thrum_flow_new(ex), *two = thrum_flow_new(ex);
    thrum_data *data = thrum_data_variable(ex, &x, sizeof x);
    assert_int_equal(thrum_flow_set_window(one, 2) | thrum_flow_set_window(two, 3), 0);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(thrum_insert(one, &increment, THRUM_RW(data), THRUM_PRIORITY(i % 3 - 1)), 0);
        assert_int_equal(thrum_insert(two, &increment, THRUM_RW(data), THRUM_PRIORITY(i % 2)), 0);
    }
    assert_int_equal(thrum_flow_free(two), 0);
    assert_int_equal(thrum_flow_free(one), 0);
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_int_equal(x, 400);
}

/* Where there are no threads, a full window is emptied by whoever fills it: also of what was posted, and of what the
 * flow's tasks wait for in another. */
TEST(a_window_is_emptied_by_who_fills_it)
{
    static const thrum_config configs[] = {
        {.threadless = true}, {.workers = 1}, {.workers = 1, .callers = THRUM_CALLERS_BLOCK}, {.workers = 3}};
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        thrum_executor *ex = thrum_executor_new(&configs[i]);
        fill_window(ex);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

struct inside {
    thrum_executor *ex;
    thrum_data *data;
    atomic_int code;
};

static void flow_in_task(const thrum_buffer *b, const void *arg)
{
    struct inside *inside = *(struct inside *const *)arg;
    thrum_flow *flow = thrum_flow_new(inside->ex);
    int code = thrum_flow_set_window(flow, 2);
    (void)b;
    for (int i = 0; i < 20 && !code; i++)
        code = thrum_insert(flow, &increment, THRUM_RW(inside->data), THRUM_PRIORITY(i % 2));
    int end = thrum_flow_free(flow);
    inside->code = code ? code : end;
}

TEST(a_task_fills_a_window_of_its_own)
{
    static const thrum_codelet outer = {.name = "outer", .cpu = flow_in_task};
    static const thrum_config configs[] = {{.threadless = true},
                                           {.workers = 1},
                                           {.workers = 1, .callers = THRUM_CALLERS_BLOCK},
                                           {.workers = 2, .callers = THRUM_CALLERS_BLOCK},
                                           {.workers = 2, .policy = "fifo"},
                                           {.workers = 1, .policy = "lws"}};
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        long x = 0, y = 0;
        struct inside inside = {.ex = thrum_executor_new(&configs[i])}, *arg = &inside;
        assert_non_null(inside.ex);
        inside.data = thrum_data_variable(inside.ex, &x, sizeof x);
        thrum_data *other = thrum_data_variable(inside.ex, &y, sizeof y);
        thrum_flow *flow = thrum_flow_new(inside.ex);
        for (int n = 0; n < 5; n++)
            assert_int_equal(thrum_insert(flow, &outer, THRUM_RW(other), THRUM_ARG(arg)), 0);
        assert_int_equal(thrum_flow_free(flow), 0);
        assert_int_equal(inside.code, 0);
        assert_int_equal(thrum_data_unregister(inside.data) | thrum_data_unregister(other), 0);
        assert_int_equal(x, 100);
        assert_int_equal(thrum_executor_free(inside.ex), 0);
    }
}

/* What a task waits for may wait in turn for tasks of another flow, which nobody has begun. */
TEST(a_flow_in_a_task_waits_for_tasks_outside)
{
    static const thrum_codelet outer = {.name = "outer", .cpu = flow_in_task};
    static const thrum_config configs[] = {{.threadless = true},
                                           {.workers = 1},
                                           {.workers = 1, .callers = THRUM_CALLERS_BLOCK},
                                           {.workers = 2},
                                           {.workers = 1, .policy = "fifo"}};
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        long x = 0, y = 0;
        struct inside inside = {.ex = thrum_executor_new(&configs[i])}, *arg = &inside;
        inside.data = thrum_data_variable(inside.ex, &x, sizeof x);
        thrum_data *other = thrum_data_variable(inside.ex, &y, sizeof y);
        thrum_flow *flow = thrum_flow_new(inside.ex);
        for (int n = 0; n < 5; n++) {
            assert_int_equal(thrum_insert(flow, &outer, THRUM_RW(other), THRUM_ARG(arg)), 0);
            assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(inside.data), THRUM_PRIORITY(-(n % 2))), 0);
        }
        assert_int_equal(thrum_flow_free(flow), 0);
        assert_int_equal(inside.code, 0);
        assert_int_equal(thrum_data_unregister(inside.data) | thrum_data_unregister(other), 0);
        assert_int_equal(x, 105);
        assert_int_equal(thrum_executor_free(inside.ex), 0);
    }
}

/* ---- Flows behind each other ------------------------------------------------------------------------------------- */

/* A partition and its end wait for another flow's task, and end in a thread that has nothing to do with their flow. */
TEST(jobs_that_do_nothing_end_before_their_flow_does)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2});
    for (int round = 0; round < 300; round++) {
        long x[8] = {0};
        thrum_data *data = thrum_data_vector(ex, x, 8, sizeof(long));
        thrum_flow *first = thrum_flow_new(ex), *second = thrum_flow_new(ex);
        atomic_store(&gate, round % 3 == 0);
        assert_int_equal(thrum_insert(first, &slow, THRUM_RW(data)), 0);
        for (int i = 0; i < 4; i++) {
            assert_int_equal(thrum_partition(second, data, &(thrum_cut){.pieces = {4}}), 0);
            assert_int_equal(thrum_unpartition(second, data), 0);
        }
        atomic_store(&gate, true);
        assert_int_equal(thrum_flow_free(second), 0);
        assert_int_equal(thrum_flow_free(first), 0);
        assert_int_equal(thrum_data_unregister(data), 0);
        assert_int_equal(x[0], 1);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Handles that go --------------------------------------------------------------------------------------------- */

static size_t bytes_of_longs(const void *home, void *ctx)
{
    (void)home;
    (void)ctx;
    return 64 * sizeof(long);
}

static void copy_longs(const void *home, void *packed, void *ctx)
{
    (void)ctx;
    memcpy(packed, home, 64 * sizeof(long));
}

static void copy_back_longs(void *home, const void *packed, void *ctx)
{
    copy_longs(packed, home, ctx);
}

/* One behind them tells who made it. */
static void *make_longs(void *ctx)
{
    long *made = calloc(65, sizeof(long));
    made[64] = 12345;
    (void)ctx;
    return made;
}

static void drop_longs(void *home, void *ctx)
{
    (void)ctx;
    free(home);
}

static const thrum_layout longs = {"longs", bytes_of_longs, copy_longs, copy_back_longs, make_longs, drop_longs, NULL};

static void fill_scratch(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[0].ptr += ((long *)b[1].ptr)[64] == 12345 ? 1 : 1000;
}

/* Scratch memory has no order, but it has a layout, which goes with the handle. */
TEST(a_handle_stays_for_those_who_want_memory_like_it)
{
    static const thrum_codelet scratch = {.name = "scratch", .cpu = fill_scratch};
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2});
    for (int round = 0; round < 100; round++) {
        long x = 0, y[64] = {0};
        thrum_data *one = thrum_data_variable(ex, &x, sizeof x), *like = thrum_data_custom(ex, &longs, y);
        thrum_flow *flow = thrum_flow_new(ex);
        atomic_store(&gate, false);
        assert_int_equal(thrum_insert(flow, &slow, THRUM_RW(one)), 0);
        for (int i = 0; i < 5; i++)
            assert_int_equal(thrum_insert(flow, &scratch, THRUM_RW(one), THRUM_SCRATCH(like)), 0);
        thrum_handle *opener = thrum_submit(ex, open_gate, NULL);
        assert_int_equal(thrum_data_unregister(like), 0);
        assert_int_equal(thrum_wait(opener), 0);
        thrum_release(opener);
        assert_int_equal(thrum_flow_free(flow), 0);
        assert_int_equal(thrum_data_unregister(one), 0);
        assert_int_equal(x, 6);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Reductions -------------------------------------------------------------------------------------------------- */

static void reduce_and_fail(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[0].ptr += 1000;
    thrum_fail(77, "after adding");
}

/* What was added by tasks of a flow, or a run, that failed is not found by the next. */
TEST(copies_of_a_reduction_that_failed_are_forgotten)
{
    static const thrum_codelet fails = {.name = "fails", .cpu = reduce_and_fail};
    static const char *const policies[] = {NULL, "fifo"};
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2, .policy = policies[i]});
        long x = 5;
        thrum_data *data = thrum_data_variable(ex, &x, sizeof x);
        assert_int_equal(thrum_data_set_reduction(data, &clear, &add), 0);
        thrum_flow *flow = thrum_flow_new(ex);
        for (int n = 0; n < 10 && !thrum_insert(flow, &fails, THRUM_REDUX(data)); n++)
            ;
        assert_int_equal(thrum_flow_wait(flow), 77);
        assert_int_equal(thrum_insert(flow, &clear, THRUM_W(data)), 0);
        for (int n = 0; n < 10; n++)
            assert_int_equal(thrum_insert(flow, &increment, THRUM_REDUX(data)), 0);
        assert_int_equal(thrum_flow_free(flow), 0);
        assert_int_equal(thrum_data_unregister(data), 0);
        assert_int_equal(x, 10);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static atomic_int failures_left;

static void reduce_and_fail_once(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[0].ptr += 1;
    if (atomic_fetch_sub(&failures_left, 1) > 0)
        thrum_fail(77, "after adding");
}

TEST(copies_of_a_recorded_reduction_that_failed_are_forgotten)
{
    static const thrum_codelet once = {.name = "once", .cpu = reduce_and_fail_once};
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2});
    long x = 0;
    thrum_data *data = thrum_data_variable(ex, &x, sizeof x);
    assert_int_equal(thrum_data_set_reduction(data, &clear, &add), 0);
    thrum_graph *graph = thrum_graph_new("reduces");
    thrum_flow *flow = thrum_flow_record(ex, graph);
    assert_int_equal(thrum_insert(flow, &clear, THRUM_W(data)), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(thrum_insert(flow, &once, THRUM_REDUX(data)), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    atomic_store(&failures_left, 1);
    assert_int_equal(thrum_run(ex, graph), 77);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(x, 10);
    atomic_store(&failures_left, 1);
    assert_int_equal(thrum_run(ex, graph), 77);
    assert_int_equal(thrum_graph_free(graph), 0);
    flow = thrum_flow_new(ex);
    assert_int_equal(thrum_insert(flow, &clear, THRUM_W(data)), 0);
    assert_int_equal(thrum_insert(flow, &increment, THRUM_REDUX(data)), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_int_equal(x, 1);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* A graph does not know of groups: what flows have reduced is there when they have been waited for. */
TEST(a_graph_finds_what_flows_have_reduced)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2});
    long x = 0, y = 0;
    thrum_data *data = thrum_data_variable(ex, &x, sizeof x), *sum = thrum_data_variable(ex, &y, sizeof y);
    assert_int_equal(thrum_data_set_reduction(data, &clear, &add), 0);
    thrum_graph *graph = thrum_graph_new("reads");
    thrum_codelet_task(graph, &add, THRUM_RW(sum), THRUM_R(data));
    thrum_flow *one = thrum_flow_new(ex), *two = thrum_flow_new(ex);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 10; i++) {
            assert_int_equal(thrum_insert(one, &increment, THRUM_REDUX(data)), 0);
            assert_int_equal(thrum_insert(two, &increment, THRUM_REDUX(data)), 0);
        }
        assert_int_equal(thrum_flow_wait(round % 2 ? one : two) | thrum_flow_wait(round % 2 ? two : one), 0);
        assert_int_equal(thrum_run(ex, graph), 0);
    }
    assert_int_equal(thrum_flow_free(one) | thrum_flow_free(two) | thrum_graph_free(graph), 0);
    assert_int_equal(thrum_data_unregister(data) | thrum_data_unregister(sum), 0);
    assert_int_equal(y, 20 + 40 + 60);
    assert_int_equal(thrum_executor_free(ex), 0);
}

enum { LONGS = 100 };

static void clear_longs(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    memset(b[0].ptr, 0, LONGS * sizeof(long));
}

static void increment_longs(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    for (int i = 0; i < LONGS; i++)
        ((long *)b[0].ptr)[i] += 1;
}

static void add_longs(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    for (int i = 0; i < LONGS; i++)
        ((long *)b[0].ptr)[i] += ((const long *)b[1].ptr)[i];
}

/* On a device that has room for two of three. */
TEST(a_copy_that_was_thrown_out_is_brought_back)
{
    static const thrum_codelet init = {.name = "init", .cpu = clear_longs, .emu = clear_longs};
    static const thrum_codelet count = {.name = "count", .cpu = increment_longs, .emu = increment_longs};
    static const thrum_codelet combine = {.name = "combine", .cpu = add_longs, .emu = add_longs};
    thrum_executor *ex =
        thrum_executor_new(&(thrum_config){.policy = "fifo", .devices = "cpu:1,emu:1;memory=2KiB;latency=0us"});
    static long values[3][LONGS];
    thrum_data *data[3];
    assert_non_null(ex);
    memset(values, 0, sizeof values);
    for (int i = 0; i < 3; i++)
        data[i] = thrum_data_vector(ex, values[i], LONGS, sizeof(long));
    assert_int_equal(thrum_data_set_reduction(data[0], &init, &combine), 0);
    thrum_flow *flow = thrum_flow_new(ex);
    for (int round = 0; round < 20; round++) {
        assert_int_equal(thrum_insert(flow, &count, THRUM_REDUX(data[0]), THRUM_ON_WORKER(1)), 0);
        assert_int_equal(thrum_insert(flow, &combine, THRUM_RW(data[1]), THRUM_R(data[2]), THRUM_ON_WORKER(1)), 0);
    }
    assert_int_equal(thrum_flow_free(flow), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(thrum_data_unregister(data[i]), 0);
    assert_int_equal(values[0][0], 20);
    assert_int_equal(values[0][LONGS - 1], 20);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Recorded partitions ----------------------------------------------------------------------------------------- */

TEST(a_copy_of_a_graph_keeps_the_parts)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2});
    long x[8] = {0};
    thrum_data *data = thrum_data_vector(ex, x, 8, sizeof(long));
    thrum_graph *graph = thrum_graph_new("cut");
    thrum_flow *flow = thrum_flow_record(ex, graph);
    assert_int_equal(thrum_partition(flow, data, &(thrum_cut){.pieces = {8}}), 0);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(thrum_data_part(data, i))), 0);
    assert_int_equal(thrum_unpartition(flow, data), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    thrum_graph *copy = thrum_graph_clone(graph);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    for (int i = 0; i < 2000; i++) /* handles that are gone are used again */
        assert_int_equal(thrum_data_unregister(thrum_data_variable(ex, NULL, 8)), 0);
    assert_int_equal(thrum_run(ex, copy), 0);
    assert_error(thrum_data_unregister(data), THRUM_EBUSY, "graph");
    assert_int_equal(thrum_graph_free(copy), 0);
    assert_int_equal(thrum_data_unregister(data), 0);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(x[i], 2);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- One place --------------------------------------------------------------------------------------------------- */

static atomic_int inside, overlaps;
static atomic_bool enough;

static void be_alone(int turns)
{
    if (atomic_fetch_add(&inside, 1) != 0)
        atomic_fetch_add(&overlaps, 1);
    for (volatile int i = 0; i < turns; i++)
        continue;
    atomic_fetch_sub(&inside, 1);
}

static void raise_alone(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    be_alone(20);
    ++*(long *)b[0].ptr;
}

static void count_alone(void *count)
{
    be_alone(5000);
    ++*(long *)count;
}

static const thrum_codelet raise_one = {.name = "raise-one", .cpu = raise_alone};

enum { SMALL_TASKS = 20000 };

static void *insert_small_tasks(void *ex)
{
    long x[16] = {0};
    thrum_data *data[16];
    thrum_flow *flow = thrum_flow_new(ex);
    for (int i = 0; i < 16; i++)
        data[i] = thrum_data_variable(ex, &x[i], sizeof x[i]);
    long rounds = 0;
    for (; !atomic_load(&enough); rounds++) {
        for (int i = 0; i < SMALL_TASKS; i++)
            thrum_insert(flow, &raise_one, THRUM_RW(data[i % 16]));
        if (thrum_flow_wait(flow) != 0)
            atomic_fetch_add(&overlaps, 1000);
    }
    for (int i = 0; i < 16; i++)
        if (thrum_data_unregister(data[i]) != 0 || x[i] != rounds * SMALL_TASKS / 16)
            atomic_fetch_add(&overlaps, 1000);
    thrum_flow_free(flow);
    return NULL;
}

/* Whoever inserts runs small tasks itself, in the place of the only worker while that naps. What others want done
 * meanwhile comes to its turn, and nothing runs beside anything else. */
static void one_worker_runs_one_thing_at_a_time(void **state)
{
    (void)state;
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 1});
    thrum_graph *graph = thrum_graph_new("pinned");
    long count = 0, pinned = 0, most = 500;
    assert_int_equal(thrum_task_pin_worker(thrum_task_new(graph, count_alone, &pinned), 0), 0);
    pthread_t inserter;
    atomic_store(&overlaps, 0);
    atomic_store(&enough, false);
    assert_int_equal(pthread_create(&inserter, NULL, insert_small_tasks, ex), 0);
    for (long i = 0; i < most; i++) {
        thrum_handle *handle = thrum_submit(ex, count_alone, &count);
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(thrum_wait(handle), 0);
        thrum_release(handle);
        usleep(50);
    }
    atomic_store(&enough, true);
    pthread_join(inserter, NULL);
    assert_int_equal(count, most);
    assert_int_equal(pinned, most);
    assert_int_equal(atomic_load(&overlaps), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_is_emptied_by_who_fills_it),
        cmocka_unit_test(a_task_fills_a_window_of_its_own),
        cmocka_unit_test(a_flow_in_a_task_waits_for_tasks_outside),
        cmocka_unit_test(jobs_that_do_nothing_end_before_their_flow_does),
        cmocka_unit_test(a_handle_stays_for_those_who_want_memory_like_it),
        cmocka_unit_test(copies_of_a_reduction_that_failed_are_forgotten),
        cmocka_unit_test(copies_of_a_recorded_reduction_that_failed_are_forgotten),
        cmocka_unit_test(a_graph_finds_what_flows_have_reduced),
        cmocka_unit_test(a_copy_that_was_thrown_out_is_brought_back),
        cmocka_unit_test(a_copy_of_a_graph_keeps_the_parts),
        cmocka_unit_test(one_worker_runs_one_thing_at_a_time),
    };
    return RUN_TESTS(tests, 60);
}
