/* SPDX-License-Identifier: MIT
 *
 * Tasks that fail: the first failure cancels the run, comes back from the wait, and leaves the graph as good as new.
 */
#include "tasks.h"

struct failure {
    int code;
    const char *text;
};

static void fail_once(void *arg)
{
    const struct failure *failure = arg;
    if (failure->code || failure->text)
        thrum_fail(failure->code, "%s", failure->text);
}

static void fail_with_seven(void *arg)
{
    (void)arg;
    thrum_fail(7, "the %s is %d degrees too hot", "oven", 40);
}

TEST(the_wait_returns_the_code_and_every_message_tells_the_sentence)
{
    thrum_graph *graph = thrum_graph_new("bread");
    thrum_task_new(graph, fail_with_seven, NULL);
    assert_int_equal(thrum_run(NULL, graph), 7);
    assert_contains(thrum_message(NULL), "the oven is 40 degrees too hot");
    assert_contains(thrum_message(graph), "the oven is 40 degrees too hot");
    thrum_handle *handle = thrum_start(NULL, graph);
    assert_non_null(handle);
    assert_int_equal(thrum_wait(handle), 7);
    assert_int_equal(thrum_wait(handle), 7);
    assert_contains(thrum_message(handle), "the oven is 40 degrees too hot");
    thrum_release(handle);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_handle_without_an_error_has_an_empty_message)
{
    thrum_graph *graph = thrum_graph_new("fine");
    thrum_task_new(graph, do_nothing, NULL);
    thrum_handle *handle = thrum_start(NULL, graph);
    assert_int_equal(thrum_wait(handle), 0);
    assert_string_equal(thrum_message(handle), "");
    assert_string_equal(thrum_message(graph), "");
    thrum_release(handle);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_code_of_zero_counts_as_an_invalid_argument)
{
    thrum_graph *graph = thrum_graph_new("zero");
    struct failure failure = {0, "nothing, really"};
    thrum_task_new(graph, fail_once, &failure);
    assert_int_equal(thrum_run(NULL, graph), THRUM_EINVAL);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_task_may_fail_with_one_of_thrums_codes)
{
    thrum_graph *graph = thrum_graph_new("system");
    struct failure failure = {THRUM_ESYSTEM, "the disk is full"};
    thrum_task_new(graph, fail_once, &failure);
    assert_int_equal(thrum_run(NULL, graph), THRUM_ESYSTEM);
    assert_contains(thrum_message(graph), "the disk is full");
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_very_long_sentence_does_no_harm)
{
    char *text = malloc(100001);
    memset(text, 'x', 100000);
    text[100000] = 0;
    thrum_graph *graph = thrum_graph_new("long");
    struct failure failure = {3, text};
    thrum_task_new(graph, fail_once, &failure);
    assert_int_equal(thrum_run(NULL, graph), 3);
    assert_contains(thrum_message(graph), "xxxxxxxxxxxxxxxx");
    assert_int_equal(thrum_graph_free(graph), 0);
    free(text);
}

TEST(what_waits_for_the_failed_task_is_not_started)
{
    for (int workers = 1; workers <= 2; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("cancelled");
        atomic_int before = 0, after = 0;
        thrum_task *bad = thrum_task_new(graph, fail_with_seven, NULL);
        thrum_edge(thrum_task_new(graph, count_up, &before), bad);
        for (int i = 0; i < 100; i++)
            thrum_edge(bad, thrum_task_new(graph, count_up, &after));
        for (int round = 1; round <= 50; round++) {
            assert_int_equal(thrum_run(ex, graph), 7);
            assert_int_equal(before, round);
            assert_int_equal(after, 0);
        }
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(later_rounds_of_a_failed_run_are_not_started)
{
    thrum_graph *graph = thrum_graph_new("rounds");
    int count = 0;
    thrum_precede(thrum_task_new(graph, plain_count_up, &count), thrum_task_new(graph, fail_with_seven, NULL));
    assert_int_equal(thrum_run_n(NULL, graph, 1000), 7);
    assert_int_equal(count, 1);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_failed_run_does_not_fail_the_runs_queued_behind_it)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("queue");
    struct gate gate = {0};
    struct failure failure = {11, "only the first"};
    int count = 0;
    thrum_task *gatekeeper = thrum_task_new(graph, stay_at_gate, &gate);
    thrum_task *judge = thrum_task_new(graph, fail_once, &failure);
    thrum_precede(gatekeeper, judge);
    thrum_precede(judge, thrum_task_new(graph, plain_count_up, &count));
    thrum_handle *first = thrum_start(ex, graph);
    thrum_handle *second = thrum_start(ex, graph);
    open_gate(&gate);
    assert_int_equal(thrum_wait(first), 11);
    assert_int_equal(thrum_wait(second), 11);
    failure = (struct failure){0, NULL};
    thrum_handle *third = thrum_start(ex, graph);
    assert_int_equal(thrum_wait(third), 0);
    assert_int_equal(count, 1);
    thrum_release(first);
    thrum_release(second);
    thrum_release(third);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* A wavefront in which one task fails; the next run must find every counter as it was. */
enum { SIDE = 12 };

struct place {
    atomic_int *ran;
    bool bad;
};

static void visit_place(void *arg)
{
    struct place *place = arg;
    count_up(place->ran);
    if (place->bad)
        thrum_fail(5, "a bad place");
}

TEST(a_graph_runs_again_after_a_failure_anywhere)
{
    static struct place places[SIDE][SIDE];
    static thrum_task *tasks[SIDE][SIDE];
    atomic_int ran = 0;
    thrum_executor *ex = executor_with(3);
    thrum_graph *graph = thrum_graph_new("wavefront");
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            places[y][x] = (struct place){&ran, false};
            tasks[y][x] = thrum_task_new(graph, visit_place, &places[y][x]);
            if (x)
                thrum_edge(tasks[y][x - 1], tasks[y][x]);
            if (y)
                thrum_edge(tasks[y - 1][x], tasks[y][x]);
        }
    for (int bad = 0; bad < SIDE * SIDE; bad++) {
        struct place *place = &places[bad / SIDE][bad % SIDE];
        place->bad = true;
        assert_int_equal(thrum_run(ex, graph), 5);
        place->bad = false;
        ran = 0;
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(ran, SIDE * SIDE);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void fail_with_number(void *arg)
{
    int number = *(int *)arg;
    thrum_fail(number, "failure number %d.", number);
}

TEST(only_the_first_of_many_failures_is_kept)
{
    enum { TASKS = 64 };
    thrum_executor *ex = executor_with(4);
    thrum_graph *graph = thrum_graph_new("many");
    int numbers[TASKS];
    for (int i = 0; i < TASKS; i++) {
        numbers[i] = i + 1;
        thrum_task_new(graph, fail_with_number, &numbers[i]);
    }
    for (int round = 0; round < 100; round++) {
        char sentence[64];
        thrum_handle *handle = thrum_start(ex, graph);
        int code = thrum_wait(handle);
        assert_true(code >= 1 && code <= TASKS);
        snprintf(sentence, sizeof sentence, "failure number %d.", code);
        assert_contains(thrum_message(handle), sentence);
        assert_int_equal(thrum_wait(handle), code);
        thrum_release(handle);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void fail_twice(void *arg)
{
    (void)arg;
    thrum_fail(21, "the first sentence");
    thrum_fail(22, "the second sentence");
}

TEST(the_second_failure_of_a_task_is_not_kept)
{
    thrum_graph *graph = thrum_graph_new("twice");
    thrum_task_new(graph, fail_twice, NULL);
    assert_int_equal(thrum_run(NULL, graph), 21);
    assert_contains(thrum_message(graph), "the first sentence");
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(failing_outside_a_task_sets_the_threads_message_only)
{
    thrum_fail(4, "nobody runs %s", "here");
    assert_contains(thrum_message(NULL), "nobody runs here");
    thrum_graph *graph = thrum_graph_new("unharmed");
    thrum_task_new(graph, do_nothing, NULL);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_failed_run_calls_its_callbacks)
{
    thrum_graph *graph = thrum_graph_new("failing");
    atomic_int called = 0;
    thrum_task_new(graph, fail_with_seven, NULL);
    thrum_handle *handle = thrum_start(NULL, graph);
    assert_int_equal(thrum_then(handle, count_up, &called), 0);
    assert_int_equal(thrum_wait(handle), 7);
    assert_int_equal(called, 1);
    thrum_release(handle);
    assert_int_equal(thrum_graph_free(graph), 0);
}

struct inner_run {
    thrum_graph *graph;
    int code;
};

static void run_inner(void *arg)
{
    struct inner_run *inner = arg;
    inner->code = thrum_run(NULL, inner->graph);
}

TEST(the_failure_of_a_nested_run_belongs_to_that_run_alone)
{
    thrum_graph *outer = thrum_graph_new("outer");
    struct inner_run inner = {thrum_graph_new("inner"), 0};
    int count = 0;
    thrum_task_new(inner.graph, fail_with_seven, NULL);
    thrum_precede(thrum_task_new(outer, run_inner, &inner), thrum_task_new(outer, plain_count_up, &count));
    assert_int_equal(thrum_run(NULL, outer), 0);
    assert_int_equal(inner.code, 7);
    assert_int_equal(count, 1);
    assert_int_equal(thrum_graph_free(outer), 0);
    assert_int_equal(thrum_graph_free(inner.graph), 0);
}

TEST(every_code_has_a_name_and_a_text)
{
    assert_string_equal(thrum_error_name(0), "THRUM_OK");
    assert_string_equal(thrum_error_name(THRUM_ECYCLE), "THRUM_ECYCLE");
    for (int code = THRUM_ECANCELLED; code <= 0; code++) {
        assert_int_equal(strncmp(thrum_error_name(code), "THRUM_", 6), 0);
        assert_true(strlen(thrum_error_text(code)) > 0);
    }
    assert_string_equal(thrum_error_name(42), "user error");
    assert_non_null(thrum_error_text(42));
    assert_non_null(thrum_error_name(-1000));
    assert_non_null(thrum_error_text(-1000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wait_returns_the_code_and_every_message_tells_the_sentence),
        cmocka_unit_test(a_handle_without_an_error_has_an_empty_message),
        cmocka_unit_test(a_code_of_zero_counts_as_an_invalid_argument),
        cmocka_unit_test(a_task_may_fail_with_one_of_thrums_codes),
        cmocka_unit_test(a_very_long_sentence_does_no_harm),
        cmocka_unit_test(what_waits_for_the_failed_task_is_not_started),
        cmocka_unit_test(later_rounds_of_a_failed_run_are_not_started),
        cmocka_unit_test(a_failed_run_does_not_fail_the_runs_queued_behind_it),
        cmocka_unit_test(a_graph_runs_again_after_a_failure_anywhere),
        cmocka_unit_test(only_the_first_of_many_failures_is_kept),
        cmocka_unit_test(the_second_failure_of_a_task_is_not_kept),
        cmocka_unit_test(failing_outside_a_task_sets_the_threads_message_only),
        cmocka_unit_test(a_failed_run_calls_its_callbacks),
        cmocka_unit_test(the_failure_of_a_nested_run_belongs_to_that_run_alone),
        cmocka_unit_test(every_code_has_a_name_and_a_text),
    };
    return RUN_TESTS(tests, 60);
}
