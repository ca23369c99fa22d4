/* SPDX-License-Identifier: MIT
 *
 * The end of a run: what its tasks wrote is there for whoever learns of the end, by whichever way. The variables are
 * plain, so that a sanitizer sees a missing order even where the processor hides it.
 */
#include "tasks.h"

#include "exec/exec_int.h"

enum { WORKERS = 2, TASKS = 64, ROUNDS = 50 };

struct numbers {
    int values[TASKS];
};

static thrum_graph *graph_of(struct numbers *numbers)
{
    thrum_graph *graph = thrum_graph_new("numbers");
    for (int i = 0; i < TASKS; i++)
        thrum_task_new(graph, plain_count_up, &numbers->values[i]);
    return graph;
}

static void expect_all(const struct numbers *numbers, int value)
{
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(numbers->values[i], value);
}

TEST(who_asks_until_it_is_done_sees_what_the_tasks_wrote)
{
    struct numbers numbers = {{0}};
    thrum_executor *ex = executor_blocking(WORKERS);
    thrum_graph *graph = graph_of(&numbers);
    for (int round = 1; round <= ROUNDS; round++) {
        thrum_handle *handle = thrum_start(ex, graph);
        while (!thrum_done(handle))
            sched_yield();
        expect_all(&numbers, round);
        thrum_release(handle);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
    thrum_graph_free(graph);
}

TEST(who_waits_and_sleeps_sees_what_the_tasks_wrote)
{
    struct numbers numbers = {{0}};
    thrum_executor *ex = executor_blocking(WORKERS);
    thrum_graph *graph = graph_of(&numbers);
    for (int round = 1; round <= ROUNDS; round++) {
        assert_int_equal(thrum_run(ex, graph), 0);
        expect_all(&numbers, round);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
    thrum_graph_free(graph);
}

TEST(who_helps_sees_what_the_tasks_of_others_wrote)
{
    struct numbers numbers = {{0}};
    thrum_executor *ex = executor_with(WORKERS);
    thrum_graph *graph = graph_of(&numbers);
    for (int round = 1; round <= ROUNDS; round++) {
        assert_int_equal(thrum_run(ex, graph), 0);
        expect_all(&numbers, round);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
    thrum_graph_free(graph);
}

TEST(who_waits_for_the_executor_sees_what_the_functions_wrote)
{
    struct numbers numbers = {{0}};
    thrum_executor *ex = executor_blocking(WORKERS);
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < TASKS; i++)
            assert_int_equal(thrum_async(ex, plain_count_up, &numbers.values[i]), 0);
        assert_int_equal(thrum_executor_wait(ex), 0);
        expect_all(&numbers, round);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void check_all(void *arg)
{
    struct numbers *numbers = arg;
    for (int i = 1; i < TASKS; i++)
        if (numbers->values[i] != numbers->values[0])
            numbers->values[0] = -1000000;
}

TEST(a_callback_sees_what_the_tasks_wrote)
{
    struct numbers numbers = {{0}};
    thrum_executor *ex = executor_blocking(WORKERS);
    thrum_graph *graph = graph_of(&numbers);
    for (int round = 1; round <= ROUNDS; round++) {
        thrum_handle *handle = thrum_start(ex, graph);
        assert_int_equal(thrum_then(handle, check_all, &numbers), 0);
        assert_int_equal(thrum_wait(handle), 0);
        expect_all(&numbers, round);
        thrum_release(handle);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
    thrum_graph_free(graph);
}

TEST(the_next_iteration_sees_what_the_last_one_wrote)
{
    struct numbers numbers = {{0}};
    thrum_executor *ex = executor_with(WORKERS);
    thrum_graph *graph = graph_of(&numbers);
    assert_int_equal(thrum_run_n(ex, graph, ROUNDS), 0);
    expect_all(&numbers, ROUNDS);
    assert_true(thrum__graph_check(graph));
    assert_int_equal(thrum_executor_free(ex), 0);
    thrum_graph_free(graph);
}

/* The child has begun elsewhere when the owner joins, and ends at once: mostly the owner sees it without parking. */
struct stolen_child {
    atomic_bool begun;
    int value;
};

static void write_value(thrum_scope *scope, void *arg)
{
    struct stolen_child *child = arg;
    (void)scope;
    atomic_store_explicit(&child->begun, true, memory_order_relaxed);
    child->value = 1;
}

static void join_stolen_children(thrum_scope *up, void *sum)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct stolen_child child = {.value = 0};
        thrum_scope scope;
        thrum_scope_open(&scope, up);
        thrum_spawn(&scope, write_value, &child);
        while (!atomic_load_explicit(&child.begun, memory_order_relaxed))
            sched_yield();
        thrum_join(&scope);
        *(int *)sum += child.value;
    }
}

TEST(a_join_sees_what_a_stolen_child_wrote)
{
    int sum = 0;
    thrum_executor *ex = executor_with(WORKERS);
    assert_int_equal(thrum_scope_run(ex, join_stolen_children, &sum), 0);
    assert_int_equal(sum, ROUNDS);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_until_it_is_done_sees_what_the_tasks_wrote),
        cmocka_unit_test(who_waits_and_sleeps_sees_what_the_tasks_wrote),
        cmocka_unit_test(who_helps_sees_what_the_tasks_of_others_wrote),
        cmocka_unit_test(who_waits_for_the_executor_sees_what_the_functions_wrote),
        cmocka_unit_test(a_callback_sees_what_the_tasks_wrote),
        cmocka_unit_test(the_next_iteration_sees_what_the_last_one_wrote),
        cmocka_unit_test(a_join_sees_what_a_stolen_child_wrote),
    };
    return RUN_TESTS(tests, 60);
}
