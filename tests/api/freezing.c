/* SPDX-License-Identifier: MIT
 *
 * Freezing a graph, thawing it, and changing it between runs.
 */
#include "tasks.h"

TEST(a_frozen_graph_runs)
{
    thrum_graph *graph = thrum_graph_new("frozen");
    int value = 0;
    thrum_task *a = thrum_task_new(graph, plain_count_up, &value), *b = thrum_task_new(graph, plain_count_up, &value);
    thrum_precede(a, b);
    assert_int_equal(thrum_graph_freeze(graph), 0);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(value, 2);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(freezing_and_thawing_twice_is_allowed)
{
    thrum_graph *graph = thrum_graph_new("twice");
    int value = 0;
    thrum_task_new(graph, plain_count_up, &value);
    assert_int_equal(thrum_graph_thaw(graph), 0);
    assert_int_equal(thrum_graph_freeze(graph), 0);
    assert_int_equal(thrum_graph_freeze(graph), 0);
    assert_int_equal(thrum_graph_thaw(graph), 0);
    assert_int_equal(thrum_graph_thaw(graph), 0);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(value, 1);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(an_empty_graph_can_be_frozen)
{
    thrum_graph *graph = thrum_graph_new("empty");
    assert_int_equal(thrum_graph_freeze(graph), 0);
    assert_int_equal(thrum_graph_thaw(graph), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_building_call_thaws_the_graph_by_itself)
{
    thrum_graph *graph = thrum_graph_new("growing chain");
    int value = 0;
    thrum_task *last = thrum_task_new(graph, plain_count_up, &value);
    for (int tasks = 1; tasks <= 60; tasks++) {
        value = 0;
        assert_int_equal(thrum_graph_freeze(graph), 0);
        assert_int_equal(thrum_run_n(NULL, graph, 2), 0);
        assert_int_equal(value, 2 * tasks);
        thrum_task *next = thrum_task_new(graph, plain_count_up, &value);
        assert_int_equal(thrum_edge(last, next), 0);
        last = next;
    }
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(tasks_stay_what_they_are_when_the_graph_is_frozen_and_thawed)
{
    enum { TASKS = 3000 };
    thrum_graph *graph = thrum_graph_new("stable");
    static thrum_task *tasks[TASKS];
    atomic_int count = 0;
    for (int i = 0; i < TASKS; i++)
        tasks[i] = thrum_task_new(graph, count_up, &count);
    thrum_task_set_name(tasks[17], "seventeen");
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(thrum_graph_thaw(graph), 0);
    for (int i = 1; i < TASKS; i++)
        assert_int_equal(thrum_edge(tasks[(i - 1) / 2], tasks[i]), 0);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(thrum_task_number(tasks[i]), i);
    assert_string_equal(thrum_task_name(tasks[17]), "seventeen");
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(count, 2 * TASKS);
    assert_int_equal(thrum_graph_free(graph), 0);
}

struct order {
    atomic_int *clock;
    int at;
};

static void note(void *arg)
{
    struct order *order = arg;
    order->at = atomic_fetch_add_explicit(order->clock, 1, memory_order_relaxed);
}

TEST(an_edge_added_between_runs_holds_in_the_next_run)
{
    thrum_graph *graph = thrum_graph_new("new edges");
    atomic_int clock = 0;
    struct order order[10];
    thrum_task *tasks[10];
    for (int i = 0; i < 10; i++) {
        order[i] = (struct order){&clock, 0};
        tasks[i] = thrum_task_new(graph, note, &order[i]);
    }
    for (int edges = 0; edges < 10; edges++) {
        assert_int_equal(thrum_run(NULL, graph), 0);
        for (int i = 1; i < edges; i++)
            assert_true(order[10 - i].at < order[9 - i].at);
        if (edges)
            assert_int_equal(thrum_edge(tasks[10 - edges], tasks[9 - edges]), 0);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_cycle_does_not_spoil_the_graph_for_further_building)
{
    thrum_graph *graph = thrum_graph_new("round");
    thrum_task *start = thrum_task_new(graph, do_nothing, NULL);
    thrum_task *a = thrum_task_new(graph, do_nothing, NULL), *b = thrum_task_new(graph, do_nothing, NULL);
    thrum_precede(start, a);
    thrum_precede(a, b);
    thrum_precede(b, a);
    assert_int_equal(thrum_graph_freeze(graph), THRUM_ECYCLE);
    assert_non_null(thrum_task_new(graph, do_nothing, NULL));
    assert_int_equal(thrum_task_set_name(a, "one that is in the circle"), 0);
    assert_int_equal(thrum_graph_freeze(graph), THRUM_ECYCLE);
    assert_contains(thrum_message(NULL), "one that is in the circle");
    assert_int_equal(thrum_graph_free(graph), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frozen_graph_runs),
        cmocka_unit_test(freezing_and_thawing_twice_is_allowed),
        cmocka_unit_test(an_empty_graph_can_be_frozen),
        cmocka_unit_test(a_building_call_thaws_the_graph_by_itself),
        cmocka_unit_test(tasks_stay_what_they_are_when_the_graph_is_frozen_and_thawed),
        cmocka_unit_test(an_edge_added_between_runs_holds_in_the_next_run),
        cmocka_unit_test(a_cycle_does_not_spoil_the_graph_for_further_building),
    };
    return RUN_TESTS(tests, 60);
}
