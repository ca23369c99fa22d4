/* SPDX-License-Identifier: MIT
 *
 * Cycles are found before a run, and the tasks on them are named in their order.
 */
#include "tasks.h"

#include "model/graph.h"

enum { MOST = THRUM__CHUNK_PLACES + 3000 }; /* more than a chunk */

static thrum_task *tasks[MOST];

/* Tasks named t0, t1, ... */
static thrum_graph *graph_of(size_t count)
{
    thrum_graph *graph = thrum_graph_new("round");
    assert_true(count <= MOST);
    for (size_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "t%zu", i);
        assert_non_null(tasks[i] = thrum_task_new(graph, do_nothing, NULL));
        assert_int_equal(thrum_task_set_name(tasks[i], name), 0);
    }
    return graph;
}

/* The message shows the cycle `texts` from any of its tasks on: one of the rotations. */
static void expect_one_of(const char *message, const char *const *rotations, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strstr(message, rotations[i]))
            return;
    print_error("\"%s\" does not show the cycle\n", message);
    fail();
}

TEST(two_tasks_that_wait_for_each_other_are_named)
{
    static const char *const rotations[] = {"'t0' -> 't1' -> 't0'", "'t1' -> 't0' -> 't1'"};
    thrum_graph *graph = graph_of(2);
    thrum_edge(tasks[0], tasks[1]);
    thrum_edge(tasks[1], tasks[0]);
    assert_error(thrum_graph_freeze(graph), THRUM_ENOSOURCE, "'round'");
    expect_one_of(thrum_message(NULL), rotations, 2);
    expect_one_of(thrum_message(graph), rotations, 2);
    thrum_graph_free(graph);
}

TEST(only_the_tasks_on_the_cycle_are_named_in_their_order)
{
    static const char *const rotations[] = {"'t2' -> 't4' -> 't1' -> 't2'", "'t4' -> 't1' -> 't2' -> 't4'",
                                            "'t1' -> 't2' -> 't4' -> 't1'"};
    thrum_graph *graph = graph_of(7);
    thrum_edge(tasks[0], tasks[1]); /* before the cycle */
    thrum_edge(tasks[1], tasks[2]);
    thrum_edge(tasks[2], tasks[4]);
    thrum_edge(tasks[4], tasks[1]);
    thrum_edge(tasks[4], tasks[5]); /* behind it */
    thrum_edge(tasks[5], tasks[6]);
    thrum_edge(tasks[0], tasks[3]); /* beside it */
    assert_error(thrum_graph_freeze(graph), THRUM_ECYCLE, "'round'");
    expect_one_of(thrum_message(NULL), rotations, 3);
    static const char *const others[] = {"'t0'", "'t3'", "'t5'", "'t6'"};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_null(strstr(thrum_message(NULL), others[i]));
    thrum_graph_free(graph);
}

TEST(a_long_cycle_is_shortened)
{
    thrum_graph *graph = graph_of(MOST);
    for (size_t i = 0; i + 1 < MOST; i++)
        thrum_edge(tasks[i], tasks[i + 1]);
    thrum_edge(tasks[MOST - 1], tasks[1]);
    assert_error(thrum_graph_freeze(graph), THRUM_ECYCLE, " more)");
    char text[32];
    snprintf(text, sizeof text, "%d more", MOST - 1 - 12);
    assert_contains(thrum_message(NULL), text);
    thrum_graph_free(graph);
}

TEST(a_backward_edge_alone_is_no_cycle)
{
    thrum_graph *graph = graph_of(MOST);
    for (size_t i = 1; i < MOST; i++)
        thrum_edge(tasks[i], tasks[i - 1]);
    assert_int_equal(thrum_graph_freeze(graph), 0);
    assert_true(thrum__graph_check(graph));
    assert_int_equal(graph->source_count, 1);
    assert_ptr_equal(graph->sources[0], tasks[MOST - 1]);
    thrum_graph_free(graph);
}

TEST(a_cycle_that_is_closed_after_thawing_is_found)
{
    thrum_graph *graph = graph_of(4);
    thrum_edge(tasks[0], tasks[1]);
    thrum_edge(tasks[1], tasks[2]);
    assert_int_equal(thrum_graph_freeze(graph), 0);
    thrum_edge(tasks[2], tasks[1]);
    assert_int_equal(thrum_graph_freeze(graph), THRUM_ECYCLE);
    assert_int_equal(thrum_graph_freeze(graph), THRUM_ECYCLE);
    thrum_graph_free(graph);
}

TEST(a_cycle_across_chunks_is_found)
{
    thrum_graph *graph = graph_of(MOST);
    thrum_edge(tasks[10], tasks[MOST - 10]);
    thrum_edge(tasks[MOST - 10], tasks[10]);
    assert_error(thrum_graph_freeze(graph), THRUM_ECYCLE, "'t10'");
    assert_contains(thrum_message(NULL), thrum_task_name(tasks[MOST - 10]));
    thrum_graph_free(graph);
}

TEST(a_graph_with_a_cycle_is_not_run)
{
    thrum_graph *graph = thrum_graph_new("never");
    atomic_int runs = 0;
    thrum_task *a = thrum_task_new(graph, count_up, &runs), *b = thrum_task_new(graph, count_up, &runs);
    thrum_task *c = thrum_task_new(graph, count_up, &runs);
    thrum_precede(a, b);
    thrum_precede(b, c);
    thrum_precede(c, b);
    thrum_executor *ex = executor_with(2);
    assert_int_equal(thrum_run(ex, graph), THRUM_ECYCLE);
    assert_int_equal(runs, 0);
    assert_int_equal(thrum_executor_free(ex), 0);
    thrum_graph_free(graph);
}

TEST(a_cycle_is_found_again_by_the_next_freeze)
{
    thrum_graph *graph = thrum_graph_new("again");
    thrum_task *a = thrum_task_new(graph, do_nothing, NULL), *b = thrum_task_new(graph, do_nothing, NULL);
    thrum_task *c = thrum_task_new(graph, do_nothing, NULL);
    thrum_precede(a, b);
    thrum_precede(b, c);
    thrum_precede(c, b);
    for (int round = 0; round < 3; round++) {
        assert_error(thrum_graph_freeze(graph), THRUM_ECYCLE, "task 1");
        for (const thrum_task *t = a; t; t = thrum__task_after(graph, t))
            assert_true(t->next == 0 && t->pending == 0 && t->strong == 0);
        assert_int_equal(thrum_edge(a, c), 0);
    }
    thrum_graph_free(graph);
}

TEST(nameless_tasks_on_a_cycle_are_named_by_number)
{
    thrum_graph *graph = thrum_graph_new("numbers");
    thrum_task *a = thrum_task_new(graph, do_nothing, NULL), *b = thrum_task_new(graph, do_nothing, NULL);
    thrum_edge(a, b);
    thrum_edge(b, a);
    assert_error(thrum_graph_freeze(graph), THRUM_ENOSOURCE, "task 0");
    assert_contains(thrum_message(NULL), "task 1");
    thrum_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_tasks_that_wait_for_each_other_are_named),
        cmocka_unit_test(only_the_tasks_on_the_cycle_are_named_in_their_order),
        cmocka_unit_test(a_long_cycle_is_shortened),
        cmocka_unit_test(a_backward_edge_alone_is_no_cycle),
        cmocka_unit_test(a_cycle_that_is_closed_after_thawing_is_found),
        cmocka_unit_test(a_cycle_across_chunks_is_found),
        cmocka_unit_test(a_graph_with_a_cycle_is_not_run),
        cmocka_unit_test(a_cycle_is_found_again_by_the_next_freeze),
        cmocka_unit_test(nameless_tasks_on_a_cycle_are_named_by_number),
    };
    return RUN_TESTS(tests, 30);
}
