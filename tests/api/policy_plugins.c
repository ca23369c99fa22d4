/* SPDX-License-Identifier: MIT
 *
 * Executors whose policy is a user's shared library (tests/plugins): a good one gives the right result; one that breaks
 * its contract fails the run with a sentence, and nothing hangs.
 */
#include "test.h"

#include <fnmatch.h>

/* ---- Codelets ---------------------------------------------------------------------------------------------------- */

enum { N = 50 };

/* b[0] = 3 b[0] + b[1] */
static void mix(const thrum_buffer *b, const void *arg)
{
    uint32_t *to = b[0].ptr;
    const uint32_t *from = b[1].ptr;
    (void)arg;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        to[i] = 3 * to[i] + from[i];
}

static void increment(const thrum_buffer *b, const void *arg)
{
    uint32_t *x = b[0].ptr;
    (void)arg;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        x[i]++;
}

static bool on_worker_0(const thrum_place *place, const void *arg)
{
    (void)arg;
    return place->worker == 0;
}

/* Its first task goes on until it is let go. */
static atomic_int held;
static atomic_bool let_go;

static void hold(const thrum_buffer *b, const void *arg)
{
    (void)b, (void)arg;
    if (atomic_fetch_add(&held, 1) > 0)
        return;
    while (!atomic_load(&let_go))
        sched_yield();
}

static const thrum_codelet mixes[] = {
    {.name = "mix", .cpu = mix, .emu = mix}, {.name = "mix_cpu", .cpu = mix}, {.name = "mix_emu", .emu = mix}};
static const thrum_codelet inc = {.name = "inc", .cpu = increment, .emu = increment};
static const thrum_codelet inc_cpu = {.name = "inc_cpu", .cpu = increment};
static const thrum_codelet inc_emu = {.name = "inc_emu", .emu = increment};
static const thrum_codelet inc_first = {.name = "inc_first", .cpu = increment, .can_run = on_worker_0};
static const thrum_codelet holding = {.name = "holding", .cpu = hold};

/* ---- Executors --------------------------------------------------------------------------------------------------- */

static const char processors[] = "cpu:2", and_devices[] = "cpu:1,emu:2";

/* Tests run in the folder of the build. `rest`: of the policy's text, behind the path. */
static thrum_executor *try_executor(const char *plugin, const char *rest, const char *devices)
{
    char policy[200];
    snprintf(policy, sizeof policy, "tests/plugins/plugin_%s.so%s", plugin, rest);
    return thrum_executor_new(&(thrum_config){.policy = policy, .devices = devices});
}

static thrum_executor *executor_with(const char *plugin, const char *devices)
{
    thrum_executor *ex = try_executor(plugin, "", devices);
    if (!ex)
        print_error("%s\n", thrum_message(NULL));
    assert_non_null(ex);
    return ex;
}

static void end(thrum_executor *ex)
{
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- The right result -------------------------------------------------------------------------------------------- */

enum { HANDLES = 4, STEPS = 60 };

/* Of each step: what it changes, what it reads, which codelet. */
static int changed(int step)
{
    return step % HANDLES;
}

static int read_by(int step)
{
    return (step * 7 + 1) % HANDLES == changed(step) ? (step + 1) % HANDLES : (step * 7 + 1) % HANDLES;
}

static void assert_computes(thrum_executor *ex, int codelets)
{
    static uint32_t x[HANDLES][N];
    uint32_t expected[HANDLES] = {1, 2, 3, 4};
    thrum_data *data[HANDLES];
    thrum_flow *flow = thrum_flow_new(ex);
    for (int h = 0; h < HANDLES; h++) {
        for (int i = 0; i < N; i++)
            x[h][i] = expected[h];
        data[h] = thrum_data_vector(ex, x[h], N, sizeof x[h][0]);
    }
    for (int s = 0; s < STEPS; s++) {
        thrum_insert(flow, &mixes[s % codelets], THRUM_RW(data[changed(s)]), THRUM_R(data[read_by(s)]));
        expected[changed(s)] = 3 * expected[changed(s)] + expected[read_by(s)];
    }
    assert_int_equal(thrum_flow_free(flow), 0);
    for (int h = 0; h < HANDLES; h++) {
        assert_int_equal(thrum_data_unregister(data[h]), 0);
        assert_int_equal(x[h][0], expected[h]);
        assert_int_equal(x[h][N - 1], expected[h]);
    }
}

static void assert_plugin_computes(const char *plugin)
{
    for (int turn = 0; turn < 5; turn++) {
        thrum_executor *ex = executor_with(plugin, processors), *other = executor_with(plugin, and_devices);
        assert_computes(ex, 2);
        assert_computes(other, 3);
        assert_computes(ex, 2);
        end(ex);
        assert_computes(other, 3);
        end(other);
    }
}

TEST(a_library_that_keeps_its_contract_gives_the_right_result)
{
    assert_plugin_computes("good");
}

TEST(a_library_that_wakes_nobody_gives_the_right_result)
{
    assert_plugin_computes("asleep");
}

/* There is nobody to whom it could give them wrongly. */
TEST(a_library_that_picks_wrong_workers_gives_the_right_result_where_all_are_right)
{
    thrum_executor *ex = executor_with("wrong_worker", processors);
    assert_computes(ex, 2);
    end(ex);
}

/* ---- Broken contracts -------------------------------------------------------------------------------------------- */

/* In the pattern [0-9] stands for any number, and @(a|b) for one of two. */
static void assert_sentence(const char *pattern)
{
    const char *sentence = thrum_message(NULL);
    if (fnmatch(pattern, sentence, FNM_EXTMATCH) != 0) {
        print_error("the sentence is\n    %s\nand not\n    %s\n", sentence, pattern);
        fail();
    }
}

static void assert_run_fails(thrum_executor *ex, const thrum_codelet *codelet, int tasks, const char *pattern)
{
    static uint32_t x[10][N];
    thrum_data *data[10];
    thrum_flow *flow = thrum_flow_new(ex);
    for (int i = 0; i < tasks; i++) {
        data[i] = thrum_data_vector(ex, x[i], N, sizeof x[i][0]);
        thrum_insert(flow, codelet, THRUM_RW(data[i]));
    }
    assert_int_equal(thrum_flow_wait(flow), THRUM_EPOLICY);
    assert_sentence(pattern);
    assert_int_equal(thrum_flow_free(flow), 0);
    for (int i = 0; i < tasks; i++)
        assert_int_equal(thrum_data_unregister(data[i]), 0);
}

/* So do later runs, with the same sentence: the policy is not called again. */
static void assert_plugin_fails(const char *plugin, const char *devices, const thrum_codelet *codelet, int tasks,
                                const char *pattern)
{
    thrum_executor *ex = executor_with(plugin, devices);
    for (int run = 0; run < 3; run++)
        assert_run_fails(ex, codelet, tasks, pattern);
    end(ex);
}

/* What one worker is busy with is given to the other. */
TEST(a_library_that_pops_a_task_twice_fails_the_run)
{
    thrum_executor *ex = executor_with("twice", processors);
    thrum_flow *flow = thrum_flow_new(ex);
    atomic_store(&held, 0);
    atomic_store(&let_go, false);
    assert_int_equal(thrum_insert(flow, &holding, THRUM_NONE), 0);
    while (atomic_load(&held) == 0)
        sched_yield();
    assert_run_fails(ex, &inc, 5, "policy 'twice' popped task 'holding' twice");
    atomic_store(&let_go, true);
    assert_int_equal(thrum_flow_free(flow), 0);
    end(ex);
}

/* A device takes the next job before it begins the first. */
TEST(a_library_that_pops_a_task_twice_for_devices_fails_the_run)
{
    assert_plugin_fails("twice", and_devices, &inc_emu, 5, "policy 'twice' popped task 'inc_emu' twice");
}

TEST(a_library_that_pops_a_task_again_when_it_has_ended_fails_the_run)
{
    static uint32_t x[N];
    thrum_executor *ex = executor_with("twice", "cpu:1");
    thrum_data *data = thrum_data_vector(ex, x, N, sizeof x[0]);
    thrum_flow *flow = thrum_flow_new(ex);
    atomic_store(&held, 0);
    atomic_store(&let_go, false);
    assert_int_equal(thrum_insert(flow, &holding, THRUM_RW(data)), 0);
    while (atomic_load(&held) == 0)
        sched_yield();
    for (int i = 0; i < 2; i++)
        assert_int_equal(thrum_insert(flow, &inc, THRUM_RW(data)), 0);
    atomic_store(&let_go, true);
    assert_int_equal(thrum_flow_wait(flow), THRUM_EPOLICY);
    assert_sentence("policy 'twice' gave worker 0, which is a processor, a task that was never pushed, or has been "
                    "popped before and has ended");
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_data_unregister(data), 0);
    end(ex);
}

TEST(a_library_that_never_gives_a_task_fails_the_run)
{
    static const char *const devices[] = {processors, and_devices};
    for (size_t i = 0; i < COUNT_OF(devices); i++) {
        assert_plugin_fails("never", devices[i], &inc, 1,
                            "policy 'never' keeps 1 task, the first 'inc', and gives it to no worker");
        assert_plugin_fails("never", devices[i], &inc, 5,
                            "policy 'never' keeps @(1 task|[2-5] tasks), the first 'inc', and gives @(it|them) to no "
                            "worker");
    }
}

TEST(a_library_that_gives_what_was_never_pushed_fails_the_run)
{
    assert_plugin_fails("stranger", processors, &inc, 3,
                        "policy 'stranger' gave worker [01], which is a processor, a task that was never pushed, or "
                        "has been popped before and has ended");
    assert_plugin_fails("stranger", and_devices, &inc_emu, 3,
                        "policy 'stranger' gave worker [12], which is emu [01], a task that was never pushed, or has "
                        "been popped before and has ended");
}

TEST(a_library_that_gives_a_task_to_who_cannot_run_it_fails_the_run)
{
    assert_plugin_fails("wrong_worker", processors, &inc_first, 1,
                        "policy 'wrong-worker' popped task 'inc_first' for worker 1, which is a processor and cannot "
                        "run it");
    assert_plugin_fails("wrong_worker", and_devices, &inc_emu, 3,
                        "policy 'wrong-worker' popped task 'inc_emu' for worker 0, which is a processor and cannot "
                        "run it");
    assert_plugin_fails("wrong_worker", and_devices, &inc_cpu, 3,
                        "policy 'wrong-worker' popped task 'inc_cpu' for worker [12], which is emu [01] and cannot "
                        "run it");
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

/* One task after the other increments the same. */
static void assert_graph(const char *plugin, int expected, const char *sentence)
{
    enum { TASKS = 6 };
    static uint32_t x[N];
    thrum_executor *ex = executor_with(plugin, and_devices);
    thrum_data *data = thrum_data_vector(ex, x, N, sizeof x[0]);
    thrum_graph *graph = thrum_graph_new("increments");
    thrum_task *task[TASKS];
    for (int i = 0; i < TASKS; i++) {
        task[i] = thrum_codelet_task(graph, &inc, THRUM_RW(data));
        if (i > 0)
            thrum_precede(task[i - 1], task[i]);
    }
    memset(x, 0, sizeof x);
    for (int run = 0; run < 3; run++) {
        assert_int_equal(thrum_run(ex, graph), expected);
        if (expected)
            assert_string_equal(thrum_message(graph), sentence);
    }
    thrum_graph_free(graph);
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_int_equal(x[N - 1], expected ? 0 : 3 * TASKS); /* three runs */
    end(ex);
}

TEST(tasks_of_graphs_go_through_a_library_too)
{
    assert_graph("good", 0, NULL);
    assert_graph("asleep", 0, NULL);
    assert_graph("never", THRUM_EPOLICY, "policy 'never' keeps 1 task, the first 'inc', and gives it to no worker");
}

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

static void keep_depth(void *arg, const char *key, double value)
{
    if (strcmp(key, "depth") == 0)
        *(double *)arg = value;
}

TEST(settings_behind_a_path_are_the_librarys)
{
    double depth = 0;
    thrum_executor *ex = try_executor("tuned", ";depth=3", and_devices);
    assert_non_null(ex);
    assert_computes(ex, 3);
    assert_int_equal(thrum_executor_policy_report(ex, keep_depth, &depth), 0);
    assert_true(depth == 3);
    end(ex);
}

static void assert_refused(const char *plugin, const char *rest, const char *sentence)
{
    assert_null(try_executor(plugin, rest, processors));
    assert_string_equal(thrum_message(NULL), sentence);
}

TEST(wrong_settings_behind_a_path_are_refused)
{
    assert_refused("good", ";depth=3", "the policy 'newest-first' has no settings, but 'depth' is given");
    assert_refused("tuned", ";dept=3", "the policy 'tuned' has no setting 'dept'; it has: depth");
    assert_refused("tuned", ";depth=3;depth=4", "the setting 'depth' of the policy 'tuned' is given twice");
    assert_refused("tuned", ";", "nothing stands behind the semicolon of 'tuned;': settings are key=value;key=value");
    assert_refused("tuned", ";depth=10",
                   "thrum_executor_new: the policy 'tuned' could not begin: depth is '10', but must be 1 to 9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_that_keeps_its_contract_gives_the_right_result),
        cmocka_unit_test(a_library_that_wakes_nobody_gives_the_right_result),
        cmocka_unit_test(a_library_that_picks_wrong_workers_gives_the_right_result_where_all_are_right),
        cmocka_unit_test(a_library_that_pops_a_task_twice_fails_the_run),
        cmocka_unit_test(a_library_that_pops_a_task_twice_for_devices_fails_the_run),
        cmocka_unit_test(a_library_that_pops_a_task_again_when_it_has_ended_fails_the_run),
        cmocka_unit_test(a_library_that_never_gives_a_task_fails_the_run),
        cmocka_unit_test(a_library_that_gives_what_was_never_pushed_fails_the_run),
        cmocka_unit_test(a_library_that_gives_a_task_to_who_cannot_run_it_fails_the_run),
        cmocka_unit_test(tasks_of_graphs_go_through_a_library_too),
        cmocka_unit_test(settings_behind_a_path_are_the_librarys),
        cmocka_unit_test(wrong_settings_behind_a_path_are_refused),
    };
    return RUN_TESTS(tests, 60);
}
