/* SPDX-License-Identifier: MIT
 *
 * Codelet tasks of graphs on executors with policies and devices: loops, modules, many at once; and flows of several
 * threads.
 */
#include "test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 100 };

static void increment(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        ((long *)b[0].ptr)[i]++;
}

static void accumulate(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        ((long *)b[0].ptr)[i] += ((const long *)b[1].ptr)[i];
}

static const thrum_codelet inc = {.name = "inc", .cpu = increment, .emu = increment};
static const thrum_codelet inc_cpu = {.name = "inc_cpu", .cpu = increment};
static const thrum_codelet inc_emu = {.name = "inc_emu", .emu = increment};
static const thrum_codelet acc = {.name = "acc", .cpu = accumulate, .emu = accumulate};

static const char *const policies[] = {"fifo", "prio",  "random",     "ws",          "lws",
                                       "dmda", "dmdas", "heteroprio", "laheteroprio"};
enum { POLICIES = sizeof policies / sizeof policies[0] };

static thrum_executor *executor_of(const char *policy, const char *devices)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.policy = policy, .devices = devices});
    if (!ex)
        print_error("%s\n", thrum_message(NULL));
    assert_non_null(ex);
    return ex;
}

static void assert_ran(int err)
{
    if (err)
        print_error("%s\n", thrum_message(NULL));
    assert_int_equal(err, 0);
}

struct loop {
    int times, count;
};

static int go_round(void *arg)
{
    struct loop *loop = arg;
    if (++loop->count < loop->times)
        return 0;
    loop->count = 0;
    return 1;
}

static void nothing(void *arg)
{
    (void)arg;
}

/* One step of the loop is on a device and one on a processor. */
TEST(a_loop_in_a_graph_can_hold_codelet_tasks)
{
    for (int p = 0; p < POLICIES; p++) {
        thrum_executor *ex = executor_of(policies[p], "cpu:2,emu:2;memory=2000B");
        static long x[N], y[N];
        memset(x, 0, sizeof x);
        memset(y, 0, sizeof y);
        thrum_data *a = thrum_data_vector(ex, x, N, sizeof(long)), *b = thrum_data_vector(ex, y, N, sizeof(long));
        thrum_graph *graph = thrum_graph_new("loop");
        struct loop loop = {.times = 10};
        thrum_task *first = thrum_task_new(graph, nothing, NULL);
        thrum_task *on_device = thrum_codelet_task(graph, &inc_emu, THRUM_RW(a));
        thrum_task *on_cpu = thrum_codelet_task(graph, &inc_cpu, THRUM_RW(b));
        thrum_task *both = thrum_codelet_task(graph, &acc, THRUM_RW(b), THRUM_R(a));
        thrum_task *more = thrum_condition_new(graph, go_round, &loop);
        thrum_precede(first, on_device);
        thrum_precede(on_device, on_cpu);
        thrum_precede(on_cpu, both);
        thrum_precede(both, more);
        thrum_precede(more, on_device);
        thrum_precede(more, thrum_task_new(graph, nothing, NULL));
        assert_ran(thrum_run_n(ex, graph, 3));
        thrum_graph_free(graph);
        assert_int_equal(thrum_data_unregister(a), 0);
        assert_int_equal(thrum_data_unregister(b), 0);
        assert_int_equal(x[N - 1], 30);
        assert_int_equal(y[N - 1], 30 + 30 * 31 / 2);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_module_can_hold_codelet_tasks_and_many_run_at_once)
{
    thrum_executor *ex = executor_of("fifo", "cpu:2,emu:1;memory=3000B;workers=2");
    static long x[20][N];
    thrum_data *data[20];
    thrum_graph *graph = thrum_graph_new("whole"), *part = thrum_graph_new("part");
    for (int i = 0; i < 20; i++) {
        memset(x[i], 0, sizeof x[i]);
        data[i] = thrum_data_vector(ex, x[i], N, sizeof(long));
        thrum_codelet_task(part, i % 3 ? &inc : &inc_emu, THRUM_RW(data[i]));
    }
    thrum_task *module = thrum_module_new(graph, part),
               *sum = thrum_codelet_task(graph, &acc, THRUM_RW(data[0]), THRUM_R(data[1]));
    thrum_precede(module, sum);
    assert_ran(thrum_run_n(ex, graph, 5));
    thrum_graph_free(graph);
    thrum_graph_free(part);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(thrum_data_unregister(data[i]), 0);
        assert_int_equal(x[i][3], i == 0 ? 5 + 15 : 5);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void *insert_many(void *arg)
{
    thrum_data **data = arg;
    thrum_flow *flow = thrum_flow_new(*(thrum_executor **)&data[3]);
    for (int i = 0; i < 200; i++)
        thrum_insert(flow, i % 3 == 0 ? &inc : i % 3 == 1 ? &inc_cpu : &inc_emu, THRUM_RW(data[i % 3]));
    return (void *)(intptr_t)thrum_flow_free(flow);
}

TEST(flows_of_several_threads_share_handles)
{
    for (int p = 0; p < POLICIES; p++) {
        thrum_executor *ex = executor_of(policies[p], "cpu:1,emu:2;memory=1700B");
        static long x[3][N];
        void *data[4];
        pthread_t threads[3];
        memset(x, 0, sizeof x);
        for (int i = 0; i < 3; i++)
            data[i] = thrum_data_vector(ex, x[i], N, sizeof(long));
        data[3] = ex;
        for (int i = 0; i < 3; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, insert_many, data), 0);
        for (int i = 0; i < 3; i++) {
            void *err;
            pthread_join(threads[i], &err);
            assert_null(err);
        }
        long sum = 0;
        for (int i = 0; i < 3; i++) {
            assert_int_equal(thrum_data_unregister(data[i]), 0);
            sum += x[i][N / 2];
        }
        assert_int_equal(sum, 600);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* With tasks and copies of the parent under way, where that can be. */
TEST(a_child_gives_back_the_memory_of_an_executor_with_devices)
{
    thrum_executor *ex = executor_of("dmda", "cpu:1,emu:2;latency=2ms");
    static long x[N];
    thrum_data *data = thrum_data_vector(ex, x, N, sizeof(long));
    thrum_flow *flow = thrum_flow_new(ex);
    memset(x, 0, sizeof x);
    for (int i = 0; i < 20; i++)
        thrum_insert(flow, i % 2 ? &inc_emu : &inc_cpu, THRUM_RW(data));
    if (!FORK_AMID_ALLOCATIONS)
        assert_ran(thrum_flow_wait(flow));
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        watchdog_start_in_child(20);
        _exit(thrum_executor_free(ex) ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_ran(thrum_flow_free(flow));
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_int_equal(x[0], 20);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_in_a_graph_can_hold_codelet_tasks),
        cmocka_unit_test(a_module_can_hold_codelet_tasks_and_many_run_at_once),
        cmocka_unit_test(flows_of_several_threads_share_handles),
        cmocka_unit_test(a_child_gives_back_the_memory_of_an_executor_with_devices),
    };
    return RUN_TESTS(tests, 60);
}
