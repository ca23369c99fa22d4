/* SPDX-License-Identifier: MIT
 *
 * Building graphs: tasks, placeholders, names, numbers, edges, room.
 */
#include "tasks.h"

static void scope_sets_seven(thrum_scope *scope, void *arg)
{
    (void)scope;
    *(int *)arg = 7;
}

TEST(an_empty_graph_runs_and_does_nothing)
{
    thrum_graph *graph = thrum_graph_new("empty");
    assert_non_null(graph);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(thrum_run_n(NULL, graph, 3), 0);
    assert_string_equal(thrum_message(graph), "");
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_graph_needs_no_name)
{
    thrum_graph *graph = thrum_graph_new(NULL);
    atomic_int count = 0;
    assert_non_null(thrum_task_new(graph, count_up, &count));
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(count, 1);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_graph_that_never_ran_can_be_freed)
{
    thrum_graph *graph = thrum_graph_new("built, not run");
    thrum_task *a = thrum_task_new(graph, do_nothing, NULL), *b = thrum_placeholder_new(graph);
    assert_int_equal(thrum_precede(a, b), 0);
    assert_int_equal(thrum_task_set_name(a, "a name that is longer than any room inside a task"), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_graph_free(NULL), 0);
}

TEST(tasks_are_numbered_in_the_order_of_creation)
{
    enum { TASKS = 5000 };
    thrum_graph *graph = thrum_graph_new("numbers");
    thrum_task *tasks[TASKS];
    for (int i = 0; i < TASKS; i++)
        tasks[i] = i % 3 ? thrum_task_new(graph, do_nothing, NULL) : thrum_placeholder_new(graph);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(thrum_task_number(tasks[i]), i);
    assert_int_equal(thrum_task_number(NULL), -1);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(the_text_of_a_name_is_copied)
{
    char graph_name[] = "flour", task_name[] = "knead";
    thrum_graph *graph = thrum_graph_new(graph_name);
    thrum_task *task = thrum_task_new(graph, do_nothing, NULL);
    assert_int_equal(thrum_task_set_name(task, task_name), 0);
    memset(task_name, 'x', sizeof task_name - 1);
    memset(graph_name, 'x', sizeof graph_name - 1);
    assert_string_equal(thrum_task_name(task), "knead");
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_task_without_a_name_has_the_empty_one)
{
    thrum_graph *graph = thrum_graph_new("nameless");
    thrum_task *a = thrum_task_new(graph, do_nothing, NULL), *b = thrum_task_new(graph, do_nothing, NULL);
    assert_int_equal(thrum_task_set_name(a, "a"), 0);
    assert_string_equal(thrum_task_name(b), "");
    assert_string_equal(thrum_task_name(NULL), "");
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_name_can_be_given_again)
{
    thrum_graph *graph = thrum_graph_new("renamed");
    thrum_task *task = thrum_task_new(graph, do_nothing, NULL);
    assert_int_equal(thrum_task_set_name(task, "first"), 0);
    assert_int_equal(thrum_task_set_name(task, "second"), 0);
    assert_string_equal(thrum_task_name(task), "second");
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(thrum_task_set_name(task, "third"), 0);
    assert_string_equal(thrum_task_name(task), "third");
    assert_int_equal(thrum_graph_free(graph), 0);
}

static const char long_text[] = "and on and on and on and on and on and on and on and on and on";

TEST(every_task_of_many_keeps_its_own_name)
{
    enum { TASKS = 2000 };
    thrum_graph *graph = thrum_graph_new("names");
    thrum_task *tasks[TASKS];
    char name[200];
    for (int i = 0; i < TASKS; i++)
        tasks[i] = thrum_task_new(graph, do_nothing, NULL);
    for (int i = TASKS - 1; i >= 0; i -= 3) {
        snprintf(name, sizeof name, "%d %.*s", i, i % 60, long_text);
        assert_int_equal(thrum_task_set_name(tasks[i], name), 0);
    }
    for (int i = 0; i < TASKS; i++) {
        snprintf(name, sizeof name, "%d %.*s", i, i % 60, long_text);
        assert_string_equal(thrum_task_name(tasks[i]), (TASKS - 1 - i) % 3 ? "" : name);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_placeholder_without_work_is_a_meeting_point)
{
    thrum_graph *graph = thrum_graph_new("meeting point");
    int before[3] = {0}, after[3] = {0};
    thrum_task *meet = thrum_placeholder_new(graph);
    for (int i = 0; i < 3; i++) {
        thrum_succeed(meet, thrum_task_new(graph, plain_count_up, &before[i]));
        thrum_precede(meet, thrum_task_new(graph, plain_count_up, &after[i]));
    }
    assert_int_equal(thrum_run(NULL, graph), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(before[i], 1);
        assert_int_equal(after[i], 1);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(the_work_of_a_placeholder_is_set_later)
{
    thrum_graph *graph = thrum_graph_new("later");
    int first = 0, second = 0;
    thrum_task *task = thrum_placeholder_new(graph);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(thrum_task_set(task, plain_count_up, &first), 0);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(thrum_task_set(task, plain_count_up, &second), 0);
    assert_int_equal(thrum_run_n(NULL, graph, 2), 0);
    assert_int_equal(first, 1);
    assert_int_equal(second, 2);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_task_becomes_a_scope_task_and_a_plain_one_again)
{
    thrum_graph *graph = thrum_graph_new("both kinds");
    int value = 0;
    thrum_task *task = thrum_placeholder_new(graph);
    assert_int_equal(thrum_task_set_scope(task, scope_sets_seven, &value), 0);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(value, 7);
    assert_int_equal(thrum_task_set(task, plain_count_up, &value), 0);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(value, 8);
    assert_int_equal(thrum_graph_free(graph), 0);
}

static void note_order(void *arg)
{
    static atomic_int ticket;
    *(int *)arg = atomic_fetch_add_explicit(&ticket, 1, memory_order_relaxed);
}

TEST(precede_and_succeed_put_tasks_in_order)
{
    thrum_graph *graph = thrum_graph_new("diamond");
    int at[4];
    thrum_task *d = thrum_task_new(graph, note_order, &at[3]), *c = thrum_task_new(graph, note_order, &at[2]);
    thrum_task *b = thrum_task_new(graph, note_order, &at[1]), *a = thrum_task_new(graph, note_order, &at[0]);
    assert_int_equal(thrum_precede(a, b, c), 0);
    assert_int_equal(thrum_succeed(d, b, c), 0);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(thrum_run(NULL, graph), 0);
        assert_true(at[0] < at[1] && at[0] < at[2] && at[1] < at[3] && at[2] < at[3]);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(an_edge_added_twice_counts_once_for_each)
{
    thrum_graph *graph = thrum_graph_new("twice");
    int value = 0;
    thrum_task *a = thrum_task_new(graph, plain_count_up, &value), *b = thrum_task_new(graph, plain_count_up, &value);
    assert_int_equal(thrum_precede(a, b, b), 0);
    assert_int_equal(thrum_edge(a, b), 0);
    thrum_graph_stats stats;
    assert_int_equal(thrum_graph_measure(graph, NULL, NULL, &stats), 0);
    assert_int_equal(stats.edges, 3);
    assert_int_equal(thrum_run_n(NULL, graph, 10), 0);
    assert_int_equal(value, 20);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(lists_of_no_edges_do_nothing)
{
    thrum_graph *graph = thrum_graph_new("no edges");
    thrum_task *task = thrum_task_new(graph, do_nothing, NULL);
    assert_int_equal(thrum_edges_out(task, NULL, 0), 0);
    assert_int_equal(thrum_edges_in(task, NULL, 0), 0);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(reserved_room_changes_nothing_but_the_room)
{
    thrum_graph *graph = thrum_graph_new("room");
    atomic_int count = 0;
    assert_int_equal(thrum_graph_reserve(graph, 0), 0);
    assert_int_equal(thrum_graph_reserve(graph, 1000), 0);
    for (int i = 0; i < 1500; i++)
        assert_int_equal(thrum_task_number(thrum_task_new(graph, count_up, &count)), i);
    assert_int_equal(thrum_graph_reserve(graph, 7), 0);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(count, 1500);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_hub_has_a_hundred_thousand_successors_and_predecessors)
{
    enum { SPOKES = 100000 };
    thrum_graph *graph = thrum_graph_new("hub");
    atomic_int count = 0;
    int last = 0;
    thrum_task *first = thrum_task_new(graph, plain_count_up, &last);
    thrum_task *end = thrum_task_new(graph, plain_count_up, &last);
    for (int i = 0; i < SPOKES; i++) {
        thrum_task *spoke = thrum_task_new(graph, count_up, &count);
        thrum_edge(first, spoke);
        thrum_edge(spoke, end);
    }
    assert_int_equal(thrum_run_n(NULL, graph, 2), 0);
    assert_int_equal(count, 2 * SPOKES);
    assert_int_equal(last, 4);
    assert_int_equal(thrum_graph_free(graph), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_graph_runs_and_does_nothing),
        cmocka_unit_test(a_graph_needs_no_name),
        cmocka_unit_test(a_graph_that_never_ran_can_be_freed),
        cmocka_unit_test(tasks_are_numbered_in_the_order_of_creation),
        cmocka_unit_test(the_text_of_a_name_is_copied),
        cmocka_unit_test(a_task_without_a_name_has_the_empty_one),
        cmocka_unit_test(a_name_can_be_given_again),
        cmocka_unit_test(every_task_of_many_keeps_its_own_name),
        cmocka_unit_test(a_placeholder_without_work_is_a_meeting_point),
        cmocka_unit_test(the_work_of_a_placeholder_is_set_later),
        cmocka_unit_test(a_task_becomes_a_scope_task_and_a_plain_one_again),
        cmocka_unit_test(precede_and_succeed_put_tasks_in_order),
        cmocka_unit_test(an_edge_added_twice_counts_once_for_each),
        cmocka_unit_test(lists_of_no_edges_do_nothing),
        cmocka_unit_test(reserved_room_changes_nothing_but_the_room),
        cmocka_unit_test(a_hub_has_a_hundred_thousand_successors_and_predecessors),
    };
    return RUN_TESTS(tests, 60);
}
