/* SPDX-License-Identifier: MIT
 *
 * Codelet tasks on executors with a policy and devices: they run where they can, with the right data.
 */
#include "test.h"

#include <sys/resource.h>

/* ---- Codelets ---------------------------------------------------------------------------------------------------- */

static void fill(const thrum_buffer *b, const void *arg)
{
    double *x = b[0].ptr, value = *(const double *)arg;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        x[i] = value;
}

static void add(const thrum_buffer *b, const void *arg)
{
    double *to = b[0].ptr;
    const double *from = b[1].ptr;
    (void)arg;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        to[i] += from[i];
}

static void twice(const thrum_buffer *b, const void *arg)
{
    double *x = b[0].ptr;
    (void)arg;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        x[i] *= 2;
}

static void expect(const thrum_buffer *b, const void *arg)
{
    const double *x = b[0].ptr, value = *(const double *)arg;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        if (x[i] != value) {
            thrum_fail(77, "element %zu is %g, not %g", i, x[i], value);
            return;
        }
}

static const thrum_codelet fill_any = {.name = "fill", .cpu = fill, .emu = fill};
static const thrum_codelet fill_cpu = {.name = "fill_cpu", .cpu = fill};
static const thrum_codelet fill_emu = {.name = "fill_emu", .emu = fill};
static const thrum_codelet add_any = {.name = "add", .cpu = add, .emu = add};
static const thrum_codelet add_cpu = {.name = "add_cpu", .cpu = add};
static const thrum_codelet add_emu = {.name = "add_emu", .emu = add};
static const thrum_codelet twice_any = {.name = "twice", .cpu = twice, .emu = twice};
static const thrum_codelet twice_emu = {.name = "twice_emu", .emu = twice};
static const thrum_codelet expect_any = {.name = "expect", .cpu = expect, .emu = expect};
static const thrum_codelet expect_emu = {.name = "expect_emu", .emu = expect};

enum { N = 1000 };

static thrum_executor *executor_of(const char *policy, const char *devices)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.policy = policy, .devices = devices});
    if (!ex)
        print_error("%s\n", thrum_message(NULL));
    assert_non_null(ex);
    return ex;
}

static void end(thrum_executor *ex)
{
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void assert_flow(thrum_flow *flow)
{
    int err = thrum_flow_wait(flow);
    if (err)
        print_error("%s\n", thrum_message(NULL));
    assert_int_equal(err, 0);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

TEST(a_policy_gives_tasks_to_processors)
{
    thrum_executor *ex = executor_of("fifo", "cpu:2");
    assert_int_equal(thrum_executor_nodes(ex), 1);
    assert_int_equal(thrum_executor_places(ex), 2);
    double x[N], one = 1;
    thrum_data *data = thrum_data_vector(ex, x, N, sizeof x[0]);
    thrum_flow *flow = thrum_flow_new(ex);
    assert_int_equal(thrum_insert(flow, &fill_any, THRUM_W(data), THRUM_ARG(one)), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(thrum_insert(flow, &twice_any, THRUM_RW(data)), 0);
    assert_flow(flow);
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_int_equal(x[0], 1024);
    thrum_flow_free(flow);
    uint64_t tasks = 0;
    for (int i = 0; i < 2; i++) {
        thrum_place_stats stats;
        assert_int_equal(thrum_executor_place(ex, i, &stats), 0);
        tasks += stats.tasks;
    }
    assert_int_equal(tasks, 11);
    end(ex);
}

static atomic_int begun;
static atomic_bool let_go;

static void hold(const thrum_buffer *b, const void *arg)
{
    (void)b, (void)arg;
    atomic_fetch_add(&begun, 1);
    while (!atomic_load(&let_go))
        sched_yield();
}

static void begin(const thrum_buffer *b, const void *arg)
{
    (void)b, (void)arg;
    atomic_fetch_add(&begun, 1);
}

static bool on_worker_0(const thrum_place *place, const void *arg)
{
    (void)arg;
    return place->worker == 0;
}

/* While worker 0 is busy, the other one comes by and takes what is behind the task, but not the task. */
static void assert_is_for_worker_0(const thrum_codelet *codelet, thrum_item where)
{
    static const thrum_codelet holding = {.name = "holding", .cpu = hold}, other = {.name = "other", .cpu = fill};
    thrum_executor *ex = executor_of("fifo", "cpu:2");
    double x[N], one = 1;
    thrum_data *data = thrum_data_vector(ex, x, N, sizeof x[0]);
    thrum_flow *flow = thrum_flow_new(ex), *behind = thrum_flow_new(ex);
    atomic_store(&begun, 0);
    atomic_store(&let_go, false);
    assert_int_equal(thrum_insert(flow, &holding, THRUM_ON_WORKER(0)), 0);
    while (atomic_load(&begun) == 0)
        sched_yield();
    assert_int_equal(thrum_insert(flow, codelet, where), 0);
    assert_int_equal(thrum_insert(behind, &other, THRUM_W(data), THRUM_ARG(one)), 0);
    assert_flow(behind);
    assert_int_equal(atomic_load(&begun), 1);
    atomic_store(&let_go, true);
    assert_flow(flow);
    assert_int_equal(atomic_load(&begun), 2);
    assert_int_equal(thrum_data_unregister(data), 0);
    thrum_flow_free(flow);
    thrum_flow_free(behind);
    end(ex);
}

TEST(a_task_waits_for_the_worker_that_it_is_for)
{
    static const thrum_codelet anywhere = {.name = "anywhere", .cpu = begin},
                               picky = {.name = "picky", .cpu = begin, .can_run = on_worker_0};
    assert_is_for_worker_0(&anywhere, THRUM_ON_WORKER(0));
    assert_is_for_worker_0(&picky, THRUM_NONE);
}

TEST(data_goes_to_a_device_and_comes_back)
{
    thrum_executor *ex = executor_of("fifo", "cpu:1,emu:1");
    assert_int_equal(thrum_executor_nodes(ex), 2);
    assert_int_equal(thrum_executor_places(ex), 2);
    double x[N], y[N], one = 1, three = 3;
    thrum_data *a = thrum_data_vector(ex, x, N, sizeof x[0]), *b = thrum_data_vector(ex, y, N, sizeof y[0]);
    thrum_flow *flow = thrum_flow_new(ex);
    thrum_insert(flow, &fill_cpu, THRUM_W(a), THRUM_ARG(one));
    thrum_insert(flow, &fill_emu, THRUM_W(b), THRUM_ARG(one));
    thrum_insert(flow, &twice_emu, THRUM_RW(a));
    thrum_insert(flow, &add_cpu, THRUM_RW(b), THRUM_R(a));
    thrum_insert(flow, &expect_emu, THRUM_R(b), THRUM_ARG(three));
    thrum_insert(flow, &expect_any, THRUM_R(b), THRUM_ARG(three));
    assert_flow(flow);
    thrum_link_stats in, out;
    assert_int_equal(thrum_executor_link(ex, 0, 1, &in), 0);
    assert_int_equal(thrum_executor_link(ex, 1, 0, &out), 0);
    assert_int_equal(in.copies, 2);
    assert_int_equal(in.bytes, 2 * sizeof x);
    assert_int_equal(out.copies, 2);
    assert_int_equal(thrum_data_state(b, 0), THRUM_SHARED);
    assert_int_equal(thrum_data_state(b, 1), THRUM_SHARED);
    void *ptr;
    assert_int_equal(thrum_data_acquire(b, THRUM_MODE_RW, &ptr), 0);
    assert_ptr_equal(ptr, y);
    assert_int_equal(y[N - 1], 3);
    assert_int_equal(thrum_data_state(b, 0), THRUM_MODIFIED);
    assert_int_equal(thrum_data_state(b, 1), THRUM_INVALID);
    assert_int_equal(thrum_data_release(b), 0);
    assert_int_equal(thrum_data_unregister(a), 0);
    assert_int_equal(thrum_data_unregister(b), 0);
    assert_int_equal(x[0], 2);
    thrum_flow_free(flow);
    end(ex);
}

TEST(results_stay_on_a_device_while_nobody_else_wants_them)
{
    thrum_executor *ex = executor_of("fifo", "emu:1");
    double x[N], one = 1;
    thrum_data *a = thrum_data_vector(ex, x, N, sizeof x[0]);
    thrum_flow *flow = thrum_flow_new(ex);
    thrum_insert(flow, &fill_any, THRUM_W(a), THRUM_ARG(one));
    for (int i = 0; i < 10; i++)
        thrum_insert(flow, &twice_any, THRUM_RW(a));
    assert_flow(flow);
    thrum_link_stats stats;
    assert_int_equal(thrum_executor_link(ex, 0, 1, &stats), 0);
    assert_int_equal(stats.copies, 0);
    assert_int_equal(thrum_data_state(a, 1), THRUM_MODIFIED);
    assert_int_equal(thrum_data_unregister(a), 0);
    assert_int_equal(x[5], 1024);
    thrum_flow_free(flow);
    end(ex);
}

/* Six vectors, of which the device holds two. */
TEST(what_does_not_fit_together_runs_one_after_the_other)
{
    thrum_executor *ex = executor_of("fifo", "cpu:1,emu:1;memory=17KB;workers=2");
    static double x[6][N];
    thrum_data *data[6];
    double one = 1;
    thrum_flow *flow = thrum_flow_new(ex);
    for (int i = 0; i < 6; i++) {
        data[i] = thrum_data_vector(ex, x[i], N, sizeof(double));
        thrum_insert(flow, &fill_emu, THRUM_W(data[i]), THRUM_ARG(one));
    }
    for (int round = 0; round < 10; round++)
        for (int i = 0; i < 6; i++)
            thrum_insert(flow, &add_emu, THRUM_RW(data[i]), THRUM_R(data[(i + 1) % 6]));
    assert_flow(flow);
    double y[6] = {1, 1, 1, 1, 1, 1};
    for (int round = 0; round < 10; round++)
        for (int i = 0; i < 6; i++)
            y[i] += y[(i + 1) % 6];
    thrum_node_stats stats;
    assert_int_equal(thrum_executor_node(ex, 1, &stats), 0);
    assert_in_range(stats.most_used, 1, 17000);
    assert_true(stats.evictions > 0 && stats.written_back > 0);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(thrum_data_unregister(data[i]), 0);
        assert_true(x[i][0] == y[i] && x[i][N - 1] == y[i]);
    }
    thrum_flow_free(flow);
    end(ex);
}

/* Of two that fit, the one that was not looked at since goes; what nobody has changed needs no copy home. */
TEST(what_was_used_longest_ago_is_thrown_out_first)
{
    thrum_executor *ex = executor_of("fifo", "emu:1;memory=17KB");
    static double x[3][N];
    thrum_data *data[3];
    thrum_node_stats stats;
    double one = 1;
    thrum_flow *flow = thrum_flow_new(ex);
    for (int i = 0; i < 3; i++)
        data[i] = thrum_data_vector(ex, x[i], N, sizeof(double));
    thrum_insert(flow, &fill_emu, THRUM_W(data[0]), THRUM_ARG(one));
    assert_flow(flow);
    thrum_insert(flow, &fill_emu, THRUM_W(data[1]), THRUM_ARG(one));
    assert_flow(flow);
    thrum_insert(flow, &expect_emu, THRUM_R(data[0]), THRUM_ARG(one));
    assert_flow(flow);
    thrum_insert(flow, &fill_emu, THRUM_W(data[2]), THRUM_ARG(one));
    assert_flow(flow);
    assert_int_equal(thrum_data_state(data[0], 1), THRUM_MODIFIED);
    assert_int_equal(thrum_data_state(data[1], 1), THRUM_INVALID);
    assert_int_equal(thrum_data_state(data[1], 0), THRUM_SHARED);
    assert_int_equal(thrum_data_state(data[2], 1), THRUM_MODIFIED);
    assert_int_equal(thrum_executor_node(ex, 1, &stats), 0);
    assert_int_equal(stats.evictions, 1);
    assert_int_equal(stats.written_back, 1);
    assert_int_equal(stats.used, 16000);
    assert_int_equal(thrum_data_acquire(data[0], THRUM_MODE_R, NULL), 0);
    assert_int_equal(thrum_data_release(data[0]), 0);
    thrum_insert(flow, &expect_emu, THRUM_R(data[1]), THRUM_ARG(one));
    assert_flow(flow);
    assert_int_equal(thrum_executor_node(ex, 1, &stats), 0);
    assert_int_equal(stats.evictions, 2);
    assert_int_equal(stats.written_back, 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(thrum_data_unregister(data[i]), 0);
    assert_int_equal(thrum_executor_node(ex, 1, &stats), 0);
    assert_int_equal(stats.used, 0);
    thrum_flow_free(flow);
    end(ex);
}

TEST(a_task_that_can_never_fit_is_refused_with_its_bytes)
{
    thrum_executor *ex = executor_of("fifo", "cpu:1,emu:1;memory=10KB");
    double x[N], y[N], one = 1;
    thrum_data *a = thrum_data_vector(ex, x, N, sizeof x[0]), *b = thrum_data_vector(ex, y, N, sizeof y[0]);
    thrum_flow *flow = thrum_flow_new(ex);
    thrum_insert(flow, &fill_any, THRUM_W(a), THRUM_ARG(one));
    thrum_insert(flow, &fill_emu, THRUM_W(b), THRUM_ARG(one));
    thrum_insert(flow, &add_any, THRUM_RW(b), THRUM_R(a)); /* on the processor, then */
    assert_flow(flow);
    thrum_insert(flow, &add_emu, THRUM_RW(b), THRUM_R(a));
    assert_int_equal(thrum_flow_wait(flow), THRUM_EDEVICE);
    assert_string_equal(thrum_message(NULL), "task 'add_emu' needs 16000 bytes of memory at once, but emu 0 has 10000, "
                                             "and no other worker can run it");
    assert_int_equal(thrum_data_unregister(a), 0);
    assert_int_equal(thrum_data_unregister(b), 0);
    assert_int_equal(y[7], 2);
    thrum_flow_free(flow);
    end(ex);
}

/* ---- Layouts ----------------------------------------------------------------------------------------------------- */

/* A matrix with room between its columns: on the device it is packed. */
static void add_matrix(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    for (size_t j = 0; j < b[0].extent[1]; j++)
        for (size_t i = 0; i < b[0].extent[0]; i++)
            ((double *)b[0].ptr)[i + j * b[0].stride[1]] += (double)(i + 10 * j);
}
static const thrum_codelet add_matrix_emu = {.name = "add_matrix", .emu = add_matrix};

TEST(a_matrix_keeps_what_lies_between_its_columns)
{
    thrum_executor *ex = executor_of("fifo", "cpu:1,emu:1");
    double x[5 * 8];
    for (int i = 0; i < 40; i++)
        x[i] = 1000;
    thrum_data *data = thrum_data_matrix(ex, x, 8, 3, 5, sizeof(double));
    thrum_flow *flow = thrum_flow_new(ex);
    thrum_insert(flow, &add_matrix_emu, THRUM_RW(data));
    assert_flow(flow);
    assert_int_equal(thrum_data_unregister(data), 0);
    for (int i = 0; i < 40; i++)
        assert_true(x[i] == 1000 + (i % 8 < 3 ? i % 8 + 10 * (i / 8) : 0));
    thrum_flow_free(flow);
    end(ex);
}

/* A list of numbers, which travels as an array. */
typedef struct cell {
    struct cell *next;
    int value;
} cell;

enum { CELLS = 5 };

static size_t list_bytes(const void *home, void *ctx)
{
    (void)home;
    (void)ctx;
    return CELLS * sizeof(int);
}

static void list_pack(const void *home, void *packed, void *ctx)
{
    const cell *c = home;
    (void)ctx;
    for (int i = 0; i < CELLS; i++, c = c->next)
        ((int *)packed)[i] = c->value;
}

static void list_unpack(void *home, const void *packed, void *ctx)
{
    cell *c = home;
    (void)ctx;
    for (int i = 0; i < CELLS; i++, c = c->next)
        c->value = ((const int *)packed)[i];
}

static void list_twice_cpu(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    for (cell *c = b[0].ptr; c; c = c->next)
        c->value *= 2;
}

static void list_twice_emu(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    for (int i = 0; i < CELLS; i++)
        ((int *)b[0].ptr)[i] *= 2;
}

static const thrum_codelet list_cpu = {.name = "list_cpu", .cpu = list_twice_cpu};
static const thrum_codelet list_emu = {.name = "list_emu", .emu = list_twice_emu};

TEST(a_layout_of_the_users_own_is_packed_to_travel)
{
    thrum_executor *ex = executor_of("fifo", "cpu:1,emu:2");
    thrum_layout layout = {.name = "list", .bytes = list_bytes, .pack = list_pack, .unpack = list_unpack};
    cell cells[CELLS];
    for (int i = 0; i < CELLS; i++)
        cells[i] = (cell){i + 1 < CELLS ? &cells[i + 1] : NULL, i};
    thrum_data *data = thrum_data_custom(ex, &layout, cells);
    thrum_flow *flow = thrum_flow_new(ex);
    for (int i = 0; i < 5; i++) {
        thrum_insert(flow, &list_emu, THRUM_RW(data), THRUM_ON_WORKER(1 + i % 2));
        thrum_insert(flow, &list_cpu, THRUM_RW(data));
        thrum_insert(flow, &list_emu, THRUM_RW(data));
    }
    assert_flow(flow);
    assert_int_equal(thrum_data_unregister(data), 0);
    for (int i = 0; i < CELLS; i++)
        assert_int_equal(cells[i].value, i << 15);
    thrum_flow_free(flow);
    end(ex);
}

/* ---- Several devices --------------------------------------------------------------------------------------------- */

static void pass_around(const char *devices, uint64_t expected_across, uint64_t expected_home)
{
    thrum_executor *ex = executor_of("fifo", devices);
    double x[N], one = 1;
    thrum_data *data = thrum_data_vector(ex, x, N, sizeof x[0]);
    thrum_flow *flow = thrum_flow_new(ex);
    thrum_insert(flow, &fill_any, THRUM_W(data), THRUM_ARG(one), THRUM_ON_WORKER(0));
    for (int i = 1; i <= 4; i++)
        thrum_insert(flow, &twice_any, THRUM_RW(data), THRUM_ON_WORKER(i % 2));
    assert_flow(flow);
    thrum_link_stats across, home;
    assert_int_equal(thrum_executor_link(ex, 1, 2, &across), 0);
    assert_int_equal(thrum_executor_link(ex, 1, 0, &home), 0);
    assert_int_equal(across.copies, expected_across);
    assert_int_equal(home.copies, expected_home);
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_int_equal(x[0], 16);
    thrum_flow_free(flow);
    end(ex);
}

TEST(data_goes_from_device_to_device_through_home_unless_they_reach_each_other)
{
    pass_around("emu:2", 0, 2);
    pass_around("emu:2;peer=yes", 2, 0);
}

/* ---- Scratch memory ---------------------------------------------------------------------------------------------- */

enum { SCRATCH_BYTES = 8 << 20, PAGE_BYTES = 4096, SCRATCH_TASKS = 40 };

static void touch_scratch(const thrum_buffer *b, const void *arg)
{
    char *x = b[1].ptr;
    (void)arg;
    for (size_t i = 0; i < SCRATCH_BYTES; i += PAGE_BYTES)
        x[i] = 1;
}

static long page_faults(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_minflt;
}

/* A page that is new to the process costs a fault, and more than most tasks do with it. */
TEST(scratch_memory_at_home_is_used_again)
{
    static const thrum_codelet touches = {.name = "touches", .cpu = touch_scratch};
    thrum_executor *ex = executor_of("prio", "cpu:1");
    double x = 0;
    thrum_data *of_x = thrum_data_variable(ex, &x, sizeof x);
    thrum_data *room = thrum_data_vector(ex, NULL, SCRATCH_BYTES, 1);
    thrum_flow *flow = thrum_flow_new(ex);
    long before = page_faults();
    for (int i = 0; i < SCRATCH_TASKS; i++)
        assert_int_equal(thrum_insert(flow, &touches, THRUM_RW(of_x), THRUM_SCRATCH(room)), 0);
    assert_flow(flow);
    assert_in_range(page_faults() - before, 0, SCRATCH_TASKS / 4 * (SCRATCH_BYTES / PAGE_BYTES));
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_data_unregister(of_x), 0);
    assert_int_equal(thrum_data_unregister(room), 0);
    end(ex);
}

/* ---- Waiting inside of kernels ----------------------------------------------------------------------------------- */

static thrum_executor *nested_on;

static void run_flow_inside(const thrum_buffer *b, const void *arg)
{
    double x[8] = {0}, one = 1;
    const thrum_codelet *inner = *(const thrum_codelet *const *)arg;
    thrum_data *data = thrum_data_vector(nested_on, NULL, 8, sizeof x[0]);
    thrum_flow *flow = thrum_flow_new(nested_on);
    thrum_insert(flow, &fill_any, THRUM_W(data), THRUM_ARG(one));
    for (int i = 0; i < 3; i++)
        thrum_insert(flow, inner, THRUM_RW(data));
    if (thrum_flow_free(flow) == 0)
        ((double *)b[0].ptr)[0] += 1;
}
static const thrum_codelet nesting = {.name = "nesting", .cpu = run_flow_inside};

/* Whoever waits does what was put aside for it. */
TEST(kernels_on_processors_may_wait_for_flows_of_their_own)
{
    static const char *const policies[] = {"fifo", "prio",  "random",     "ws",          "lws",
                                           "dmda", "dmdas", "heteroprio", "laheteroprio"};
    for (size_t p = 0; p < sizeof policies / sizeof policies[0]; p++) {
        thrum_executor *ex = executor_of(policies[p], "cpu:1,emu:1");
        nested_on = ex;
        static double x[8][N];
        thrum_data *data[8];
        const thrum_codelet *inner[] = {&twice_any, &twice_emu};
        thrum_flow *flow = thrum_flow_new(ex);
        for (int i = 0; i < 8; i++) {
            x[i][0] = 0;
            data[i] = thrum_data_vector(ex, x[i], N, sizeof(double));
            thrum_insert(flow, &nesting, THRUM_RW(data[i]), THRUM_ARG(inner[i % 2]));
        }
        assert_flow(flow);
        for (int i = 0; i < 8; i++) {
            assert_int_equal(thrum_data_unregister(data[i]), 0);
            assert_int_equal(x[i][0], 1);
        }
        thrum_flow_free(flow);
        end(ex);
    }
}

/* ---- Timing mode ------------------------------------------------------------------------------------------------- */

static double ten_ms(const thrum_place *place, const thrum_buffer *buffers, int count, const void *arg)
{
    (void)buffers;
    (void)count;
    (void)arg;
    return place->arch == THRUM_ARCH_CPU ? 0.010 : 0.005;
}

static void must_not_run(const thrum_buffer *b, const void *arg)
{
    (void)b;
    (void)arg;
    thrum_fail(88, "a kernel ran");
}

static const thrum_codelet timed = {
    .name = "timed", .cpu = must_not_run, .emu = must_not_run, .model = THRUM_BY_FUNCTION, .seconds = ten_ms};
static const thrum_codelet untimed = {.name = "untimed", .cpu = must_not_run, .emu = must_not_run};

TEST(in_timing_mode_kernels_only_take_their_time)
{
    thrum_executor *ex = executor_of("fifo", "cpu:2,emu:1;mode=timing");
    double x[N];
    thrum_data *data[8];
    thrum_flow *flow = thrum_flow_new(ex);
    for (int i = 0; i < 8; i++) {
        data[i] = thrum_data_vector(ex, x, 10, sizeof x[0]);
        thrum_insert(flow, &timed, THRUM_RW(data[i]));
    }
    assert_flow(flow);
    for (int i = 0; i < 3; i++) {
        thrum_place_stats stats;
        assert_int_equal(thrum_executor_place(ex, i, &stats), 0);
        assert_true(stats.busy >= (double)stats.tasks * (i < 2 ? 0.010 : 0.005));
    }
    thrum_insert(flow, &untimed, THRUM_RW(data[0]));
    assert_int_equal(thrum_flow_wait(flow), THRUM_EINVAL);
    assert_non_null(strstr(thrum_message(NULL), "nobody knows how long codelet 'untimed' takes on "));
    for (int i = 0; i < 8; i++)
        assert_int_equal(thrum_data_unregister(data[i]), 0);
    thrum_flow_free(flow);
    end(ex);
}

/* ---- What policies are told -------------------------------------------------------------------------------------- */

/* fifo, but what is pushed is fetched to node 1, and how long that would take is asked before and after. */
static struct {
    const thrum_policy *inner;
    double before, after;
} fetching;

static int fetching_begin(void *state, const thrum_world *world)
{
    return fetching.inner->begin ? fetching.inner->begin(state, world) : 0;
}

static void fetching_end(void *state, const thrum_world *world)
{
    if (fetching.inner->end)
        fetching.inner->end(state, world);
}

static void fetching_push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    fetching.before = world->transfer_seconds(world, job, 1);
    world->prefetch(world, job, 1);
    fetching.after = world->transfer_seconds(world, job, 1);
    fetching.inner->push(state, world, job, from);
}

static thrum_job *fetching_pop(void *state, const thrum_world *world, int worker)
{
    return fetching.inner->pop(state, world, worker);
}

static void fetching_done(void *state, const thrum_world *world, const thrum_job *job, int worker, double seconds)
{
    if (fetching.inner->done)
        fetching.inner->done(state, world, job, worker, seconds);
}

TEST(what_is_on_its_way_to_a_node_counts_as_there)
{
    static thrum_policy policy = {.name = "fetching",
                                  .begin = fetching_begin,
                                  .end = fetching_end,
                                  .push = fetching_push,
                                  .pop = fetching_pop,
                                  .done = fetching_done};
    static double x[N];
    fetching.inner = thrum_policy_find("fifo");
    policy.state_bytes = fetching.inner->state_bytes;
    assert_int_equal(thrum_policy_register(&policy), 0);
    thrum_executor *ex = executor_of("fetching", "cpu:1,emu:1;link=1MB/s;latency=1ms");
    thrum_data *data = thrum_data_vector(ex, x, N, sizeof *x);
    thrum_flow *flow = thrum_flow_new(ex);
    assert_true(data && flow);
    assert_int_equal(thrum_insert(flow, &twice_emu, THRUM_RW(data)), 0);
    assert_flow(flow);
    thrum_flow_free(flow);
    assert_true(fetching.before > 0.008 && fetching.before < 0.010); /* 1 ms, and 8000 bytes */
    assert_true(fetching.after == 0);
    assert_int_equal(thrum_data_unregister(data), 0);
    end(ex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_gives_tasks_to_processors),
        cmocka_unit_test(a_task_waits_for_the_worker_that_it_is_for),
        cmocka_unit_test(what_is_on_its_way_to_a_node_counts_as_there),
        cmocka_unit_test(data_goes_to_a_device_and_comes_back),
        cmocka_unit_test(results_stay_on_a_device_while_nobody_else_wants_them),
        cmocka_unit_test(what_does_not_fit_together_runs_one_after_the_other),
        cmocka_unit_test(what_was_used_longest_ago_is_thrown_out_first),
        cmocka_unit_test(a_task_that_can_never_fit_is_refused_with_its_bytes),
        cmocka_unit_test(a_matrix_keeps_what_lies_between_its_columns),
        cmocka_unit_test(a_layout_of_the_users_own_is_packed_to_travel),
        cmocka_unit_test(data_goes_from_device_to_device_through_home_unless_they_reach_each_other),
        cmocka_unit_test(scratch_memory_at_home_is_used_again),
        cmocka_unit_test(kernels_on_processors_may_wait_for_flows_of_their_own),
        cmocka_unit_test(in_timing_mode_kernels_only_take_their_time),
    };
    return RUN_TESTS(tests, 60);
}
