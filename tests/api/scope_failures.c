/* SPDX-License-Identifier: MIT
 *
 * Failures in spawned tasks: they belong to the run or to the outermost scope.
 */
#include "tasks.h"

static void fail_nine(thrum_scope *scope, void *arg)
{
    (void)scope;
    (void)arg;
    thrum_fail(9, "the %s broke", "ninth egg");
}

TEST(the_join_returns_the_failure_of_a_child)
{
    for (int workers = 1; workers <= 2; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_scope scope;
        thrum_scope_open_on(&scope, ex);
        thrum_spawn(&scope, fail_nine, NULL);
        assert_int_equal(thrum_join(&scope), 9);
        assert_contains(thrum_message(NULL), "the ninth egg broke");
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(the_next_scope_is_clean_again)
{
    atomic_int count = 0;
    thrum_scope scope;
    for (int i = 1; i <= 100; i++) {
        thrum_scope_open(&scope, NULL);
        thrum_spawn(&scope, fail_nine, NULL);
        assert_int_equal(thrum_join(&scope), 9);
        thrum_scope_open(&scope, NULL);
        thrum_spawn(&scope, count_up_in_scope, &count);
        assert_int_equal(thrum_join(&scope), 0);
        assert_int_equal(count, i);
    }
}

TEST(scope_run_returns_the_failure)
{
    assert_int_equal(thrum_scope_run(NULL, fail_nine, NULL), 9);
    assert_contains(thrum_message(NULL), "the ninth egg broke");
}

struct late {
    atomic_int *ran;
    int inner_code;
};

static void fail_then_spawn(thrum_scope *up, void *arg)
{
    struct late *late = arg;
    thrum_fail(9, "before the children");
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    for (int i = 0; i < 10; i++)
        thrum_spawn(&scope, count_up_in_scope, late->ran);
    late->inner_code = thrum_join(&scope);
    for (int i = 0; i < 10; i++)
        thrum_spawn(up, count_up_in_scope, late->ran);
}

TEST(children_spawned_after_the_failure_are_not_run)
{
    for (int workers = 1; workers <= 2; workers++) {
        thrum_executor *ex = executor_with(workers);
        atomic_int ran = 0;
        struct late late = {&ran, 0};
        assert_int_equal(thrum_scope_run(ex, fail_then_spawn, &late), 9);
        assert_int_equal(late.inner_code, 9);
        assert_int_equal(ran, 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void fail_deep(thrum_scope *scope, void *arg)
{
    int left = *(int *)arg;
    if (left == 0) {
        thrum_fail(31, "at the bottom");
        return;
    }
    left--;
    thrum_spawn_copy(scope, fail_deep, &left, sizeof left);
}

TEST(a_failure_far_down_comes_back_from_the_run_of_the_graph)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("deep");
    int depth = 20;
    atomic_int after = 0;
    thrum_precede(thrum_scope_task_new(graph, fail_deep, &depth), thrum_task_new(graph, count_up, &after));
    for (int i = 0; i < 20; i++) {
        assert_int_equal(thrum_run(ex, graph), 31);
        assert_contains(thrum_message(graph), "at the bottom");
        assert_int_equal(after, 0);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void spawn_copies_and_fail(thrum_scope *scope, void *arg)
{
    char big[4000] = {0};
    for (int i = 0; i < 20; i++)
        thrum_spawn_copy(scope, fail_deep, big, sizeof big);
    (void)arg;
    thrum_fail(32, "with copies outstanding");
}

TEST(copies_of_children_that_never_ran_are_given_back)
{
    for (int workers = 1; workers <= 2; workers++) {
        thrum_executor *ex = executor_with(workers);
        for (int i = 0; i < 20; i++) {
            int code = thrum_scope_run(ex, spawn_copies_and_fail, NULL);
            assert_true(code == 31 || code == 32);
        }
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void fail_some(thrum_scope *scope, void *arg)
{
    (void)scope;
    int number = *(int *)arg;
    if (number % 7 == 3)
        thrum_fail(number, "number %d.", number);
}

TEST(one_of_many_failures_in_a_scope_is_kept_whole)
{
    thrum_executor *ex = executor_with(4);
    int numbers[200];
    for (int round = 0; round < 50; round++) {
        thrum_scope scope;
        thrum_scope_open_on(&scope, ex);
        for (int i = 0; i < 200; i++) {
            numbers[i] = i;
            thrum_spawn(&scope, fail_some, &numbers[i]);
        }
        int code = thrum_join(&scope);
        char sentence[32];
        snprintf(sentence, sizeof sentence, "number %d.", code);
        assert_int_equal(code % 7, 3);
        assert_contains(thrum_message(NULL), sentence);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_join_returns_the_failure_of_a_child),
        cmocka_unit_test(the_next_scope_is_clean_again),
        cmocka_unit_test(scope_run_returns_the_failure),
        cmocka_unit_test(children_spawned_after_the_failure_are_not_run),
        cmocka_unit_test(a_failure_far_down_comes_back_from_the_run_of_the_graph),
        cmocka_unit_test(copies_of_children_that_never_ran_are_given_back),
        cmocka_unit_test(one_of_many_failures_in_a_scope_is_kept_whole),
    };
    return RUN_TESTS(tests, 60);
}
