/* SPDX-License-Identifier: MIT
 *
 * Graphs inside of graphs.
 */
#include "tasks.h"

struct trail {
    atomic_int next;
    int at[64];
};

struct mark {
    struct trail *trail;
    int id;
};

static void leave_mark(void *arg)
{
    struct mark *mark = arg;
    mark->trail->at[mark->id] = ++mark->trail->next;
}

TEST(a_module_runs_between_its_task_s_neighbours)
{
    thrum_executor *ex = executor_with(2);
    struct trail trail = {0};
    struct mark marks[4];
    for (int i = 0; i < 4; i++)
        marks[i] = (struct mark){&trail, i};
    thrum_graph *inner = thrum_graph_new("inner"), *outer = thrum_graph_new("outer");
    thrum_precede(thrum_task_new(inner, leave_mark, &marks[1]), thrum_task_new(inner, leave_mark, &marks[2]));
    thrum_task *first = thrum_task_new(outer, leave_mark, &marks[0]),
               *last = thrum_task_new(outer, leave_mark, &marks[3]);
    thrum_task *module = thrum_module_new(outer, inner);
    thrum_precede(first, module);
    thrum_precede(module, last);
    for (int run = 0; run < 100; run++) {
        trail.next = 0;
        assert_int_equal(thrum_run(ex, outer), 0);
        for (int i = 0; i < 4; i++)
            assert_int_equal(trail.at[i], i + 1);
    }
    assert_int_equal(thrum_graph_free(outer), 0);
    assert_int_equal(thrum_graph_free(inner), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* Each graph has a task and a module task for the next one. */
static void nest(int depth, int workers, int runs)
{
    thrum_executor *ex = executor_with(workers);
    thrum_graph **graphs = calloc((size_t)depth, sizeof *graphs);
    atomic_int count = 0;
    assert_non_null(graphs);
    for (int i = 0; i < depth; i++) {
        graphs[i] = thrum_graph_new("nested");
        assert_non_null(thrum_task_new(graphs[i], count_up, &count));
    }
    for (int i = 0; i + 1 < depth; i++)
        thrum_precede(thrum_module_new(graphs[i], graphs[i + 1]), thrum_task_new(graphs[i], count_up, &count));
    for (int run = 1; run <= runs; run++) {
        assert_int_equal(thrum_run(ex, graphs[0]), 0);
        assert_int_equal(count, run * (2 * depth - 1));
    }
    for (int i = 0; i < depth; i++)
        assert_int_equal(thrum_graph_free(graphs[i]), 0);
    free(graphs);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(modules_nest_to_any_depth)
{
    enum { DEEP = SANITIZED_THREAD ? 1000 : 10000 };
    nest(3, 1, 20);
    nest(200, 1, 3);
    nest(200, 2, 3);
    nest(DEEP, 1, 1);
    nest(DEEP, 2, 1);
    nest(DEEP, 4, 1);
}

/* Who waits in a task helps with the modules of what it waits for: where there are no threads, nobody else does. */
struct nested_run {
    thrum_executor *ex;
    thrum_graph *graph;
    int err;
};

static void run_and_wait(void *arg)
{
    struct nested_run *nested = arg;
    nested->err = thrum_run(nested->ex, nested->graph);
}

TEST(a_task_waits_for_a_run_with_modules_in_modules)
{
    enum { DEEP = 200 };
    for (int workers = 0; workers <= 2; workers++) {
        thrum_graph *graphs[DEEP], *outer = thrum_graph_new("outer");
        atomic_int count = 0;
        for (int i = 0; i < DEEP; i++) {
            graphs[i] = thrum_graph_new("level");
            if (i == 0)
                thrum_task_new(graphs[i], count_up, &count);
            else
                thrum_module_new(graphs[i], graphs[i - 1]);
        }
        struct nested_run nested = {.graph = graphs[DEEP - 1]};
        nested.ex = workers ? executor_with(workers) : executor_threadless();
        thrum_task_new(outer, run_and_wait, &nested);
        assert_int_equal(thrum_run_n(nested.ex, outer, 3), 0);
        assert_int_equal(nested.err, 0);
        assert_int_equal(atomic_load(&count), 3);
        assert_int_equal(thrum_graph_free(outer), 0);
        for (int i = DEEP; i-- > 0;)
            assert_int_equal(thrum_graph_free(graphs[i]), 0);
        assert_int_equal(thrum_executor_free(nested.ex), 0);
    }
}

TEST(many_modules_run_one_after_the_other_and_side_by_side)
{
    enum { MODULES = 2000, TASKS = 5 };
    static thrum_graph *modules[MODULES];
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *outer = thrum_graph_new("outer");
        atomic_int count = 0;
        thrum_task *before = NULL;
        for (int i = 0; i < MODULES; i++) {
            modules[i] = thrum_graph_new("module");
            for (int t = 0; t < TASKS; t++)
                thrum_task_new(modules[i], count_up, &count);
            thrum_task *module = thrum_module_new(outer, modules[i]);
            if (before && i % 2)
                thrum_precede(before, module);
            before = module;
        }
        for (int run = 1; run <= 5; run++) {
            assert_int_equal(thrum_run(ex, outer), 0);
            assert_int_equal(count, run * MODULES * TASKS);
        }
        assert_int_equal(thrum_graph_free(outer), 0);
        for (int i = 0; i < MODULES; i++)
            assert_int_equal(thrum_graph_free(modules[i]), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(one_graph_may_be_a_module_of_several_tasks_that_do_not_overlap)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *inner = thrum_graph_new("inner"), *outer = thrum_graph_new("outer");
    atomic_int count = 0;
    for (int i = 0; i < 10; i++)
        thrum_task_new(inner, count_up, &count);
    thrum_task *before = thrum_module_new(outer, inner);
    for (int i = 0; i < 20; i++) {
        thrum_task *next = thrum_module_new(outer, inner);
        thrum_precede(before, next);
        before = next;
    }
    assert_int_equal(thrum_run(ex, outer), 0);
    assert_int_equal(count, 210);
    assert_int_equal(thrum_run(ex, inner), 0);
    assert_int_equal(thrum_graph_free(outer), 0);
    assert_int_equal(thrum_graph_free(inner), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_module_whose_graph_runs_already_fails_the_run_and_is_named)
{
    thrum_executor *ex = executor_with(3);
    thrum_graph *inner = thrum_graph_new("inner"), *outer = thrum_graph_new("outer");
    struct gate gate = {0};
    thrum_task_new(inner, stay_at_gate, &gate);
    thrum_handle *other = thrum_start(ex, inner);
    await_entered(&gate);
    thrum_task *module = thrum_module_new(outer, inner);
    thrum_task_set_name(module, "the second");
    assert_int_equal(thrum_run(ex, outer), THRUM_EBUSY);
    assert_contains(thrum_message(outer),
                    "module 'the second' of graph 'outer' cannot run graph 'inner', which is running already");
    open_gate(&gate);
    assert_int_equal(thrum_wait(other), 0);
    thrum_release(other);
    assert_int_equal(thrum_run(ex, outer), 0);
    assert_int_equal(thrum_graph_free(outer), 0);
    assert_int_equal(thrum_graph_free(inner), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(graphs_that_contain_each_other_are_found)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *a = thrum_graph_new("a"), *b = thrum_graph_new("b");
    thrum_module_new(a, b);
    thrum_module_new(b, a);
    assert_int_equal(thrum_run(ex, a), THRUM_EBUSY);
    assert_contains(thrum_message(a), "task 0 of graph 'b'");
    assert_int_equal(thrum_graph_free(a), 0);
    assert_int_equal(thrum_graph_free(b), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_graph_cannot_be_a_module_of_itself_or_of_nothing)
{
    thrum_graph *graph = thrum_graph_new("g");
    assert_null(thrum_module_new(NULL, graph));
    assert_null(thrum_module_new(graph, graph));
    assert_contains(thrum_message(graph), "graph 'g' cannot be a module of itself");
    assert_int_equal(thrum_graph_free(graph), 0);
    graph = thrum_graph_new("g");
    assert_null(thrum_module_new(graph, NULL));
    assert_contains(thrum_message(graph), "the module for graph 'g' is NULL");
    assert_int_equal(thrum_graph_free(graph), 0);
}

static void fail_with_7(void *arg)
{
    (void)arg;
    thrum_fail(7, "seven");
}

TEST(an_error_in_a_module_is_one_of_the_run)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *inner = thrum_graph_new("inner"), *outer = thrum_graph_new("outer");
    atomic_int count = 0;
    thrum_precede(thrum_task_new(inner, fail_with_7, NULL), thrum_task_new(inner, count_up, &count));
    thrum_precede(thrum_module_new(outer, inner), thrum_task_new(outer, count_up, &count));
    for (int i = 0; i < 10; i++)
        assert_int_equal(thrum_run(ex, outer), 7);
    assert_int_equal(count, 0);
    assert_contains(thrum_message(outer), "seven");
    assert_int_equal(thrum_graph_free(outer), 0);
    assert_int_equal(thrum_graph_free(inner), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

struct loop {
    int rounds, limit;
};

static int again(void *arg)
{
    struct loop *loop = arg;
    return ++loop->rounds < loop->limit ? 0 : THRUM_STOP;
}

TEST(a_module_in_a_loop_runs_once_a_round)
{
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *inner = thrum_graph_new("inner"), *outer = thrum_graph_new("outer");
        atomic_int count = 0;
        struct loop loop = {0, 1000};
        for (int i = 0; i < 7; i++)
            thrum_task_new(inner, count_up, &count);
        thrum_task *start = thrum_placeholder_new(outer), *module = thrum_module_new(outer, inner);
        thrum_task *condition = thrum_condition_new(outer, again, &loop);
        thrum_precede(start, module);
        thrum_precede(module, condition);
        thrum_precede(condition, module);
        assert_int_equal(thrum_run(ex, outer), 0);
        assert_int_equal(count, 7000);
        assert_int_equal(thrum_graph_free(outer), 0);
        assert_int_equal(thrum_graph_free(inner), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

struct inside {
    thrum_executor *ex;
    thrum_graph *graph;
    int code;
};

static void run_own_module(void *arg)
{
    struct inside *inside = arg;
    inside->code = thrum_run(inside->ex, inside->graph);
}

TEST(a_task_of_a_module_that_runs_the_module_is_told_that_it_cannot)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *inner = thrum_graph_new("inner"), *outer = thrum_graph_new("outer");
    struct inside inside = {ex, inner, 0};
    thrum_task_new(inner, run_own_module, &inside);
    thrum_module_new(outer, inner);
    assert_int_equal(thrum_run(ex, outer), 0);
    assert_int_equal(inside.code, THRUM_EDEADLOCK);
    inside.graph = outer;
    assert_int_equal(thrum_run(ex, outer), 0);
    assert_int_equal(inside.code, THRUM_EDEADLOCK);
    assert_int_equal(thrum_graph_free(outer), 0);
    assert_int_equal(thrum_graph_free(inner), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_module_without_tasks_does_nothing)
{
    thrum_executor *ex = executor_with(1);
    thrum_graph *inner = thrum_graph_new("inner"), *outer = thrum_graph_new("outer");
    atomic_int count = 0;
    thrum_precede(thrum_module_new(outer, inner), thrum_task_new(outer, count_up, &count));
    assert_int_equal(thrum_run_n(ex, outer, 5), 0);
    assert_int_equal(count, 5);
    assert_int_equal(thrum_graph_free(outer), 0);
    assert_int_equal(thrum_graph_free(inner), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_runs_between_its_task_s_neighbours),
        cmocka_unit_test(modules_nest_to_any_depth),
        cmocka_unit_test(a_task_waits_for_a_run_with_modules_in_modules),
        cmocka_unit_test(many_modules_run_one_after_the_other_and_side_by_side),
        cmocka_unit_test(one_graph_may_be_a_module_of_several_tasks_that_do_not_overlap),
        cmocka_unit_test(a_module_whose_graph_runs_already_fails_the_run_and_is_named),
        cmocka_unit_test(graphs_that_contain_each_other_are_found),
        cmocka_unit_test(a_graph_cannot_be_a_module_of_itself_or_of_nothing),
        cmocka_unit_test(an_error_in_a_module_is_one_of_the_run),
        cmocka_unit_test(a_module_in_a_loop_runs_once_a_round),
        cmocka_unit_test(a_task_of_a_module_that_runs_the_module_is_told_that_it_cannot),
        cmocka_unit_test(a_module_without_tasks_does_nothing),
    };
    return RUN_TESTS(tests, 60);
}
