/* SPDX-License-Identifier: MIT
 *
 * Options: the table, the environment, the configuration, the machine.
 */
#include "tasks.h"

#include <unistd.h>

/* An executor made while the environment has one more variable. */
static thrum_executor *executor_under(const char *name, const char *value, const thrum_config *config)
{
    setenv(name, value, 1);
    thrum_executor *ex = thrum_executor_new(config);
    unsetenv(name);
    return ex;
}

TEST(the_default_executor_says_what_is_wrong_and_works_when_it_is_put_right)
{
    int count = 0;
    thrum_graph *graph = thrum_graph_new("early");
    thrum_task_new(graph, plain_count_up, &count);
    setenv("THRUM_WORKERS", "a dozen", 1);
    assert_null(thrum_executor_default());
    assert_contains(thrum_message(NULL), "THRUM_WORKERS");
    assert_error(thrum_run(NULL, graph), THRUM_EOPTION, "THRUM_WORKERS");
    assert_error(thrum_async(NULL, plain_count_up, &count), THRUM_EOPTION, "THRUM_WORKERS");
    unsetenv("THRUM_WORKERS");
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(count, 1);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(every_option_has_a_name_a_default_a_range_and_help)
{
    thrum_option option;
    size_t count = 0;
    for (; thrum_option_get(count, &option) == 0; count++) {
        assert_int_equal(strncmp(option.name, "THRUM_", 6), 0);
        assert_string_equal(option.value, option.initial);
        assert_true(strlen(option.range) > 0);
        assert_true(strlen(option.help) > 0);
        assert_null(strchr(option.help, '\n'));
        assert_false(option.from_environment);
    }
    assert_true(count >= 4);
    assert_int_equal(thrum_option_get(count, &option), -1);
    assert_int_equal(thrum_option_get(SIZE_MAX, &option), -1);
}

TEST(the_table_tells_what_the_environment_says)
{
    thrum_option option;
    size_t index = 0;
    setenv("THRUM_WORKERS", "3", 1);
    while (thrum_option_get(index, &option) == 0 && strcmp(option.name, "THRUM_WORKERS") != 0)
        index++;
    assert_string_equal(option.name, "THRUM_WORKERS");
    assert_string_equal(option.value, "3");
    assert_true(option.from_environment);
    assert_int_equal(thrum_options_check(), 0);
    unsetenv("THRUM_WORKERS");
    assert_int_equal(thrum_option_get(index, &option), 0);
    assert_false(option.from_environment);
}

TEST(the_environment_sets_the_workers_and_the_configuration_overrides_it)
{
    thrum_executor *ex = executor_under("THRUM_WORKERS", "3", NULL);
    assert_non_null(ex);
    assert_int_equal(thrum_executor_workers(ex), 3);
    assert_int_equal(thrum_executor_free(ex), 0);
    ex = executor_under("THRUM_WORKERS", "3", &(thrum_config){.workers = 2});
    assert_non_null(ex);
    assert_int_equal(thrum_executor_workers(ex), 2);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(zero_workers_in_the_environment_means_no_threads)
{
    thrum_executor *ex = executor_under("THRUM_WORKERS", "0", NULL);
    assert_non_null(ex);
    assert_int_equal(thrum_executor_workers(ex), 1);
    int count = 0;
    assert_int_equal(thrum_async(ex, plain_count_up, &count), 0);
    assert_int_equal(thrum_executor_wait(ex), 0);
    assert_int_equal(count, 1);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void note_caller(void *arg)
{
    *(pthread_t *)arg = pthread_self();
}

TEST(the_environment_can_make_callers_block)
{
    thrum_executor *ex = executor_under("THRUM_CALLERS", "block", &(thrum_config){.workers = 2});
    assert_non_null(ex);
    for (int i = 0; i < 50; i++) {
        pthread_t thread = pthread_self();
        thrum_handle *handle = thrum_submit(ex, note_caller, &thread);
        assert_int_equal(thrum_wait(handle), 0);
        assert_false(pthread_equal(thread, pthread_self()));
        thrum_release(handle);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_bad_value_in_the_environment_is_an_error_that_names_it)
{
    static const char *const bad[][2] = {
        {"THRUM_WORKERS", "three"},   {"THRUM_WORKERS", "-1"},   {"THRUM_WORKERS", "2.5"},
        {"THRUM_WORKERS", "1000000"}, {"THRUM_WORKERS", ""},     {"THRUM_WORKERS", "99999999999999999999"},
        {"THRUM_CALLERS", "maybe"},   {"THRUM_BIND", "tightly"},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_null(executor_under(bad[i][0], bad[i][1], NULL));
        assert_contains(thrum_message(NULL), bad[i][0]);
        assert_contains(thrum_message(NULL), bad[i][1]);
        setenv(bad[i][0], bad[i][1], 1);
        assert_error(thrum_options_check(), THRUM_EOPTION, bad[i][0]);
        unsetenv(bad[i][0]);
    }
    assert_int_equal(thrum_options_check(), 0);
}

TEST(an_unknown_variable_is_an_error_that_names_it)
{
    assert_null(executor_under("THRUM_WORKRES", "2", &(thrum_config){.workers = 2}));
    assert_contains(thrum_message(NULL), "THRUM_WORKRES");
    assert_contains(thrum_message(NULL), "THRUM_WORKERS");
    setenv("THRUM_", "", 1);
    assert_int_equal(thrum_options_check(), THRUM_EOPTION);
    unsetenv("THRUM_");
    setenv("THRUMMING", "is fine", 1);
    assert_int_equal(thrum_options_check(), 0);
    unsetenv("THRUMMING");
    thrum_executor *ex = executor_with(2);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_bad_word_in_the_configuration_is_an_error_that_names_it)
{
    assert_null(thrum_executor_new(&(thrum_config){.workers = 2, .bind = "glue"}));
    assert_contains(thrum_message(NULL), "glue");
    assert_null(thrum_executor_new(&(thrum_config){.workers = 2, .callers = (enum thrum_callers)77}));
    assert_true(strlen(thrum_message(NULL)) > 0);
}

TEST(every_way_of_binding_works)
{
    static const char *const ways[] = {"auto", "core", "numa", "off"};
    for (size_t i = 0; i < COUNT_OF(ways); i++)
        for (int workers = 1; workers <= 5; workers += 2) {
            thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = workers, .bind = ways[i]});
            assert_non_null(ex);
            atomic_int count = 0;
            for (int n = 0; n < 20; n++)
                assert_int_equal(thrum_async(ex, count_up, &count), 0);
            assert_int_equal(thrum_executor_free(ex), 0);
            assert_int_equal(count, 20);
        }
}

TEST(the_machine_is_described)
{
    thrum_machine_info info;
    assert_int_equal(thrum_machine_get(&info), 0);
    assert_true(info.machine_cpus >= info.affinity_cpus && info.affinity_cpus >= 1);
    assert_true(info.usable >= 1 && info.usable <= info.affinity_cpus);
    assert_true(info.cores >= 1 && info.numa_nodes >= 1);
    bool known = false;
    static const char *const deciders[] = {"affinity", "quota", "slurm"};
    for (size_t i = 0; i < COUNT_OF(deciders); i++)
        known = known || strcmp(info.decided_by, deciders[i]) == 0;
    assert_true(known);
}

TEST(slurm_lowers_the_number_of_workers)
{
    thrum_machine_info info;
    setenv("SLURM_CPUS_PER_TASK", "1", 1);
    assert_int_equal(thrum_machine_get(&info), 0);
    assert_int_equal(info.slurm_cpus, 1);
    assert_int_equal(info.usable, 1);
    thrum_executor *ex = thrum_executor_new(NULL);
    unsetenv("SLURM_CPUS_PER_TASK");
    assert_non_null(ex);
    assert_int_equal(thrum_executor_workers(ex), 1);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_trace_is_written_when_the_executor_is_freed)
{
    char path[] = "trace-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2, .trace = path});
    assert_non_null(ex);
    thrum_graph *graph = thrum_graph_new("traced");
    atomic_int count = 0;
    thrum_task_set_name(thrum_task_new(graph, count_up, &count), "the \"traced\" task");
    assert_int_equal(thrum_run_n(ex, graph, 3), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
    char text[65536];
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    unlink(path);
    assert_true(length > 0);
    text[length] = 0;
    assert_contains(text, "the \\\"traced\\\" task");
    assert_true(text[0] == '[' || text[0] == '{');
}

TEST(a_trace_that_cannot_be_written_is_reported)
{
    const char *path = "no-such-folder/trace.json";
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 1, .trace = path});
    int code = ex ? thrum_executor_free(ex) : THRUM_ESYSTEM; /* it may say so at once or in the end */
    assert_error(code, THRUM_ESYSTEM, path);
}

TEST(the_version_of_the_library_is_that_of_the_headers)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", THRUM_VERSION_MAJOR, THRUM_VERSION_MINOR, THRUM_VERSION_PATCH);
    assert_string_equal(thrum_version(), text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_executor_says_what_is_wrong_and_works_when_it_is_put_right),
        cmocka_unit_test(every_option_has_a_name_a_default_a_range_and_help),
        cmocka_unit_test(the_table_tells_what_the_environment_says),
        cmocka_unit_test(the_environment_sets_the_workers_and_the_configuration_overrides_it),
        cmocka_unit_test(zero_workers_in_the_environment_means_no_threads),
        cmocka_unit_test(the_environment_can_make_callers_block),
        cmocka_unit_test(a_bad_value_in_the_environment_is_an_error_that_names_it),
        cmocka_unit_test(an_unknown_variable_is_an_error_that_names_it),
        cmocka_unit_test(a_bad_word_in_the_configuration_is_an_error_that_names_it),
        cmocka_unit_test(every_way_of_binding_works),
        cmocka_unit_test(the_machine_is_described),
        cmocka_unit_test(slurm_lowers_the_number_of_workers),
        cmocka_unit_test(a_trace_is_written_when_the_executor_is_freed),
        cmocka_unit_test(a_trace_that_cannot_be_written_is_reported),
        cmocka_unit_test(the_version_of_the_library_is_that_of_the_headers),
    };
    /* These tests say for themselves what the environment holds. */
    unsetenv("SLURM_CPUS_PER_TASK");
    thrum_option option;
    for (size_t i = 0; thrum_option_get(i, &option) == 0; i++)
        unsetenv(option.name);
    return RUN_TESTS(tests, 60);
}
