/* SPDX-License-Identifier: MIT
 *
 * What a run is given (contexts), copies of graphs, functions that come after others, and warnings.
 */
#include "tasks.h"

/* ---- Contexts and clones ----------------------------------------------------------------------------------------- */

struct data {
    atomic_int sum;
};

static void add_one(void *arg)
{
    (void)arg;
    struct data *data = thrum_context();
    atomic_fetch_add(&data->sum, 1);
}

static void add_in_scope(thrum_scope *scope, void *arg)
{
    (void)scope;
    add_one(arg);
}

static void spawn_adding(thrum_scope *scope, void *arg)
{
    for (int i = 0; i < 10; i++)
        thrum_spawn(scope, add_in_scope, arg);
}

static thrum_graph *adding_graph(int tasks)
{
    thrum_graph *graph = thrum_graph_new("adding");
    thrum_task *first = thrum_scope_task_new(graph, spawn_adding, NULL);
    for (int i = 0; i < tasks; i++)
        thrum_precede(first, thrum_task_new(graph, add_one, NULL));
    return graph;
}

TEST(tasks_find_the_context_of_their_run)
{
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = adding_graph(50);
        struct data data[3] = {0};
        assert_null(thrum_context());
        for (int i = 0; i < 3; i++)
            assert_int_equal(thrum_run_with(ex, graph, &data[i]), 0);
        thrum_handle *handles[3];
        for (int i = 0; i < 3; i++)
            handles[i] = thrum_start_with(ex, graph, &data[i]);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(thrum_wait(handles[i]), 0);
            thrum_release(handles[i]);
            assert_int_equal(data[i].sum, 120);
        }
        assert_null(thrum_context());
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void expect_no_context(void *arg)
{
    if (thrum_context())
        *(int *)arg = 1;
}

TEST(a_run_without_a_context_has_none)
{
    thrum_executor *ex = executor_with(1);
    thrum_graph *graph = thrum_graph_new("g");
    int wrong = 0;
    thrum_task_new(graph, expect_no_context, &wrong);
    struct data data = {0};
    thrum_graph *other = thrum_graph_new("h");
    thrum_task_new(other, add_one, NULL);
    assert_int_equal(thrum_run_with(ex, other, &data), 0);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_run_n(ex, graph, 2), 0);
    assert_int_equal(wrong, 0);
    assert_int_equal(data.sum, 1);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_graph_free(other), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(clones_run_at_the_same_time)
{
    thrum_executor *ex = executor_with(3);
    thrum_graph *graph = adding_graph(100);
    enum { CLONES = 8 };
    thrum_graph *clones[CLONES];
    thrum_handle *handles[CLONES];
    struct data data[CLONES] = {0};
    for (int i = 0; i < CLONES; i++)
        assert_non_null(clones[i] = thrum_graph_clone(graph));
    assert_int_equal(thrum_graph_free(graph), 0);
    for (int round = 1; round <= 20; round++) {
        for (int i = 0; i < CLONES; i++)
            assert_non_null(handles[i] = thrum_start_with(ex, clones[i], &data[i]));
        for (int i = 0; i < CLONES; i++) {
            assert_int_equal(thrum_wait(handles[i]), 0);
            thrum_release(handles[i]);
            assert_int_equal(data[i].sum, round * 110);
        }
    }
    for (int i = 0; i < CLONES; i++)
        assert_int_equal(thrum_graph_free(clones[i]), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static int stop(void *arg)
{
    (void)arg;
    return THRUM_STOP;
}

static void dot_of(thrum_graph *graph, char **text)
{
    size_t size;
    FILE *out = open_memstream(text, &size);
    assert_non_null(out);
    assert_int_equal(thrum_graph_dot(graph, out), 0);
    fclose(out);
}

TEST(a_clone_is_the_same_graph_with_names_kinds_and_owned_arguments)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("original");
    int values[100] = {0}, seven = 7, count = 0;
    char *one, *other;
    thrum_task *fill = thrum_fill_task_new(graph, values, 100, sizeof values[0], &seven);
    thrum_task *condition = thrum_condition_new(graph, stop, NULL),
               *last = thrum_task_new(graph, plain_count_up, &count);
    thrum_task_set_name(condition, "the end?");
    thrum_precede(fill, condition);
    thrum_precede(condition, last);
    thrum_graph *clone = thrum_graph_clone(graph);
    assert_non_null(clone);
    dot_of(graph, &one);
    dot_of(clone, &other);
    assert_string_equal(one, other);
    free(one);
    free(other);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_run(ex, clone), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(values[i], 7);
    assert_int_equal(count, 0);
    assert_int_equal(thrum_graph_free(clone), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
    assert_null(thrum_graph_clone(NULL));
}

/* ---- After others ------------------------------------------------------------------------------------------------ */

struct order {
    atomic_int next;
    int at[100];
};

struct place {
    struct order *order;
    int number;
};

static void note_place(void *arg)
{
    struct place *place = arg;
    place->order->at[place->number] = atomic_fetch_add(&place->order->next, 1) + 1;
}

TEST(a_function_begins_after_those_that_it_is_to_come_after)
{
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        enum { COUNT = 60 };
        struct order order = {0};
        struct place places[COUNT];
        thrum_handle *handles[COUNT];
        for (int i = 0; i < COUNT; i++) {
            places[i] = (struct place){&order, i};
            int before = i < 3 ? i : 3;
            handles[i] = thrum_submit_after(ex, note_place, &places[i], handles + i - before, (size_t)before);
            assert_non_null(handles[i]);
        }
        for (int i = COUNT - 1; i >= 0; i--) {
            assert_int_equal(thrum_wait(handles[i]), 0);
            for (int before = i < 3 ? i : 3; before > 0; before--)
                assert_true(order.at[i] > order.at[i - before]);
            thrum_release(handles[i]);
        }
        assert_int_equal(order.next, COUNT);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(what_comes_after_may_come_after_runs_and_failures_and_be_forgotten)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = adding_graph(10);
    struct data data = {0};
    atomic_int count = 0;
    struct gate gate = {0};
    thrum_handle *before[2] = {thrum_start_with(ex, graph, &data), thrum_submit(ex, stay_at_gate, &gate)};
    assert_int_equal(thrum_async_after(ex, count_up, &count, before, 2), 0);
    thrum_handle *after = thrum_submit_after(ex, count_up, &count, before, 2);
    await_entered(&gate);
    assert_int_equal(thrum_wait(before[0]), 0);
    assert_int_equal(count, 0);
    thrum_release(before[0]);
    thrum_release(before[1]);
    open_gate(&gate);
    assert_int_equal(thrum_wait(after), 0);
    thrum_release(after);
    assert_int_equal(thrum_executor_wait(ex), 0);
    assert_int_equal(count, 2);
    assert_int_equal(thrum_async_after(ex, count_up, &count, NULL, 0), 0);
    assert_int_equal(thrum_executor_wait(ex), 0);
    assert_int_equal(count, 3);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(wrong_lists_of_handles_are_told)
{
    thrum_executor *ex = executor_with(1);
    atomic_int count = 0;
    thrum_handle *handles[2] = {thrum_submit(ex, count_up, &count), NULL};
    assert_null(thrum_submit_after(ex, count_up, &count, handles, 2));
    assert_contains(thrum_message(NULL), "handle 1 of 2 is NULL");
    assert_int_equal(thrum_async_after(ex, count_up, &count, NULL, 1), THRUM_EINVAL);
    assert_contains(thrum_message(NULL), "the list of handles is NULL");
    assert_int_equal(thrum_async_after(ex, NULL, &count, handles, 1), THRUM_EINVAL);
    assert_int_equal(thrum_wait(handles[0]), 0);
    thrum_release(handles[0]);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Warnings ---------------------------------------------------------------------------------------------------- */

static void nothing(void *arg)
{
    (void)arg;
}

TEST(a_condition_that_races_with_other_predecessors_is_warned_of)
{
    thrum_executor *ex = executor_with(1);
    thrum_graph *graph = thrum_graph_new("pitfall");
    thrum_task *condition = thrum_condition_new(graph, stop, NULL), *other = thrum_task_new(graph, nothing, NULL);
    thrum_task *both = thrum_task_new(graph, nothing, NULL);
    thrum_task_set_name(condition, "c");
    thrum_task_set_name(both, "f");
    thrum_precede(condition, both);
    thrum_precede(other, both);
    assert_contains(thrum_graph_warning(graph), "condition 'c' may name 'f'");
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_graph_strict(graph, true), 0);
    assert_int_equal(thrum_run(ex, graph), THRUM_ERACE);
    assert_contains(thrum_message(graph), "condition 'c' may name 'f'");
    assert_null(thrum_graph_warning(graph));
    assert_int_equal(thrum_graph_strict(graph, false), 0);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(ordinary_loops_are_not_warned_of)
{
    thrum_graph *graph = thrum_graph_new("loops");
    thrum_task *start = thrum_task_new(graph, nothing, NULL), *body = thrum_task_new(graph, nothing, NULL);
    thrum_task *inner = thrum_task_new(graph, nothing, NULL), *inner_end = thrum_condition_new(graph, stop, NULL);
    thrum_task *end = thrum_condition_new(graph, stop, NULL), *done = thrum_task_new(graph, nothing, NULL);
    thrum_precede(start, body);
    thrum_precede(body, inner);
    thrum_precede(inner, inner_end);
    thrum_precede(inner_end, inner, end);
    thrum_precede(end, body, done);
    assert_string_equal(thrum_graph_warning(graph), "");
    assert_int_equal(thrum_graph_strict(graph, true), 0);
    assert_int_equal(thrum_graph_freeze(graph), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_null(thrum_graph_warning(NULL));
    assert_int_equal(thrum_graph_strict(NULL, true), THRUM_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_find_the_context_of_their_run),
        cmocka_unit_test(a_run_without_a_context_has_none),
        cmocka_unit_test(clones_run_at_the_same_time),
        cmocka_unit_test(a_clone_is_the_same_graph_with_names_kinds_and_owned_arguments),
        cmocka_unit_test(a_function_begins_after_those_that_it_is_to_come_after),
        cmocka_unit_test(what_comes_after_may_come_after_runs_and_failures_and_be_forgotten),
        cmocka_unit_test(wrong_lists_of_handles_are_told),
        cmocka_unit_test(a_condition_that_races_with_other_predecessors_is_warned_of),
        cmocka_unit_test(ordinary_loops_are_not_warned_of),
    };
    return RUN_TESTS(tests, 30);
}
