/* SPDX-License-Identifier: MIT
 *
 * The sticky error: a graph keeps the first mistake made in building it, and running it returns that one.
 */
#include "tasks.h"

TEST(the_first_building_error_is_what_running_returns)
{
    thrum_graph *graph = thrum_graph_new("bread");
    int count = 0;
    thrum_task *a = thrum_task_new(graph, plain_count_up, &count);
    thrum_task_set_name(a, "knead");
    assert_error(thrum_edge(a, a), THRUM_EINVAL, "knead");
    assert_int_equal(thrum_run(NULL, graph), THRUM_EINVAL);
    assert_contains(thrum_message(graph), "knead");
    assert_contains(thrum_message(NULL), "knead");
    assert_null(thrum_start(NULL, graph));
    assert_int_equal(thrum_graph_freeze(graph), THRUM_EINVAL);
    assert_int_equal(count, 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(later_building_calls_do_nothing_and_do_not_hide_the_first_error)
{
    thrum_graph *graph = thrum_graph_new("bread"), *other = thrum_graph_new("soup");
    thrum_task *a = thrum_task_new(graph, do_nothing, NULL), *b = thrum_task_new(graph, do_nothing, NULL);
    thrum_task *stranger = thrum_task_new(other, do_nothing, NULL);
    thrum_task_set_name(a, "knead");
    assert_int_equal(thrum_edge(a, a), THRUM_EINVAL);
    char first[256];
    snprintf(first, sizeof first, "%s", thrum_message(graph));
    assert_null(thrum_task_new(graph, do_nothing, NULL));
    assert_null(thrum_placeholder_new(graph));
    assert_int_not_equal(thrum_edge(a, b), 0);
    assert_int_not_equal(thrum_edge(a, stranger), 0);
    assert_int_not_equal(thrum_task_set_name(b, "bake"), 0);
    assert_string_equal(thrum_task_name(b), "");
    assert_string_equal(thrum_message(graph), first);
    assert_int_equal(thrum_run(NULL, graph), THRUM_EINVAL);
    assert_string_equal(thrum_message(graph), first);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_graph_free(other), 0);
}

TEST(a_task_that_could_not_be_made_does_not_crash_the_next_lines)
{
    thrum_graph *graph = thrum_graph_new("bread");
    thrum_task *a = thrum_task_new(graph, do_nothing, NULL);
    assert_int_equal(thrum_graph_reserve(graph, UINT64_C(1) << 40), THRUM_ELIMIT);
    thrum_task *b = thrum_task_new(graph, do_nothing, NULL);
    assert_null(b);
    thrum_task_set_name(b, "b");
    thrum_task_set(b, do_nothing, NULL);
    thrum_task_set_scope(b, count_up_in_scope, NULL);
    thrum_precede(a, b);
    thrum_succeed(b, a);
    assert_int_equal(thrum_run(NULL, graph), THRUM_ELIMIT);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(an_edge_to_null_is_an_error_of_the_other_tasks_graph)
{
    thrum_graph *graph = thrum_graph_new("bread");
    thrum_task *a = thrum_task_new(graph, do_nothing, NULL);
    assert_int_equal(thrum_precede(a, NULL), THRUM_EINVAL);
    assert_int_equal(thrum_run(NULL, graph), THRUM_EINVAL);
    assert_true(strlen(thrum_message(graph)) > 0);
    assert_int_equal(thrum_graph_free(graph), 0);

    graph = thrum_graph_new("soup");
    a = thrum_task_new(graph, do_nothing, NULL);
    assert_int_equal(thrum_edge(NULL, a), THRUM_EINVAL);
    assert_int_equal(thrum_run(NULL, graph), THRUM_EINVAL);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(an_error_in_one_graph_leaves_others_alone)
{
    thrum_graph *bad = thrum_graph_new("bad"), *good = thrum_graph_new("good");
    int count = 0;
    thrum_task *a = thrum_task_new(bad, plain_count_up, &count);
    thrum_edge(a, a);
    thrum_task_new(good, plain_count_up, &count);
    assert_int_equal(thrum_run(NULL, good), 0);
    assert_int_equal(thrum_run(NULL, bad), THRUM_EINVAL);
    assert_int_equal(count, 1);
    assert_string_equal(thrum_message(good), "");
    assert_int_equal(thrum_graph_free(bad), 0);
    assert_int_equal(thrum_graph_free(good), 0);
}

static void *ask_for_message(void *arg)
{
    (void)arg;
    return strlen(thrum_message(NULL)) == 0 ? "empty" : NULL;
}

TEST(the_message_of_null_belongs_to_the_thread)
{
    assert_int_not_equal(thrum_graph_freeze(NULL), 0);
    assert_true(strlen(thrum_message(NULL)) > 0);
    pthread_t thread;
    void *answer;
    assert_int_equal(pthread_create(&thread, NULL, ask_for_message, NULL), 0);
    pthread_join(thread, &answer);
    assert_non_null(answer);
    assert_true(strlen(thrum_message(NULL)) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_building_error_is_what_running_returns),
        cmocka_unit_test(later_building_calls_do_nothing_and_do_not_hide_the_first_error),
        cmocka_unit_test(a_task_that_could_not_be_made_does_not_crash_the_next_lines),
        cmocka_unit_test(an_edge_to_null_is_an_error_of_the_other_tasks_graph),
        cmocka_unit_test(an_error_in_one_graph_leaves_others_alone),
        cmocka_unit_test(the_message_of_null_belongs_to_the_thread),
    };
    return RUN_TESTS(tests, 60);
}
