/* SPDX-License-Identifier: MIT
 *
 * Subgraphs built in a scope: the join runs them once and frees them.
 */
#include "tasks.h"

static void build_chain(thrum_graph *graph, int length, int *value)
{
    thrum_task *last = NULL;
    for (int i = 0; i < length; i++) {
        thrum_task *next = thrum_task_new(graph, plain_count_up, value);
        if (last)
            thrum_edge(last, next);
        last = next;
    }
}

struct plan {
    int chains, length, *values, mistakes;
};

static void build_in_given_scope(thrum_scope *scope, void *arg)
{
    struct plan *plan = arg;
    for (int i = 0; i < plan->chains; i++) {
        thrum_graph *graph = thrum_scope_graph(scope, "chain");
        build_chain(graph, plan->length, &plan->values[i]);
        plan->mistakes += plan->values[i] != 0;
    }
}

static void build_in_own_scope(thrum_scope *up, void *arg)
{
    struct plan *plan = arg;
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    build_in_given_scope(&scope, plan);
    plan->mistakes += thrum_join(&scope) != 0;
    for (int i = 0; i < plan->chains; i++)
        plan->mistakes += plan->values[i] != plan->length;
}

static void run_plan(thrum_executor *ex, thrum_scope_fn *build)
{
    int values[20] = {0};
    struct plan plan = {20, 30, values, 0};
    assert_int_equal(thrum_scope_run(ex, build, &plan), 0);
    assert_int_equal(plan.mistakes, 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(values[i], 30);
}

TEST(the_join_runs_every_subgraph_once)
{
    for (int workers = 0; workers <= 4; workers++) {
        thrum_executor *ex = workers ? executor_with(workers) : executor_threadless();
        run_plan(ex, build_in_given_scope);
        run_plan(ex, build_in_own_scope);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_scope_opened_outside_tasks_runs_subgraphs)
{
    int value = 0;
    thrum_scope scope;
    thrum_scope_open(&scope, NULL);
    build_chain(thrum_scope_graph(&scope, NULL), 50, &value);
    assert_int_equal(thrum_join(&scope), 0);
    assert_int_equal(value, 50);
}

TEST(a_graph_task_builds_a_subgraph_in_every_run)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("outer");
    int values[5] = {0};
    struct plan plan = {5, 10, values, 0};
    thrum_scope_task_new(graph, build_in_own_scope, &plan);
    for (int round = 0; round < 100; round++) {
        memset(values, 0, sizeof values);
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(plan.mistakes, 0);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

struct nest {
    int depth;
    atomic_int *leaves;
};

static void build_nest(thrum_scope *scope, void *arg)
{
    struct nest *nest = arg;
    if (nest->depth == 0) {
        count_up(nest->leaves);
        return;
    }
    struct nest *next = &nest[1];
    thrum_graph *graph = thrum_scope_graph(scope, "nest");
    thrum_task *a = thrum_scope_task_new(graph, build_nest, next), *b = thrum_scope_task_new(graph, build_nest, next);
    thrum_precede(a, b);
    thrum_spawn(scope, build_nest, next);
}

TEST(subgraphs_nest_and_mix_with_spawned_children)
{
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        atomic_int leaves = 0;
        struct nest nest[6];
        for (int i = 0; i < 6; i++)
            nest[i] = (struct nest){5 - i, &leaves};
        assert_int_equal(thrum_scope_run(ex, build_nest, nest), 0);
        assert_int_equal(leaves, 243);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void build_cycle(thrum_scope *scope, void *arg)
{
    (void)arg;
    thrum_graph *graph = thrum_scope_graph(scope, "round");
    thrum_task *start = thrum_task_new(graph, do_nothing, NULL);
    thrum_task *a = thrum_task_new(graph, do_nothing, NULL), *b = thrum_task_new(graph, do_nothing, NULL);
    thrum_task_set_name(a, "chicken");
    thrum_task_set_name(b, "egg");
    thrum_precede(start, a);
    thrum_precede(a, b);
    thrum_precede(b, a);
}

TEST(an_error_of_the_subgraph_is_an_error_of_the_scope)
{
    assert_int_equal(thrum_scope_run(NULL, build_cycle, NULL), THRUM_ECYCLE);
    assert_contains(thrum_message(NULL), "chicken");
    thrum_scope scope;
    thrum_scope_open(&scope, NULL);
    build_cycle(&scope, NULL);
    assert_int_equal(thrum_join(&scope), THRUM_ECYCLE);
}

static void build_self_edge(thrum_scope *scope, void *arg)
{
    (void)arg;
    thrum_task *task = thrum_task_new(thrum_scope_graph(scope, "bad"), do_nothing, NULL);
    thrum_edge(task, task);
}

TEST(the_sticky_error_of_a_subgraph_is_an_error_of_the_run)
{
    thrum_graph *graph = thrum_graph_new("outer");
    int after = 0;
    thrum_precede(thrum_scope_task_new(graph, build_self_edge, NULL), thrum_task_new(graph, plain_count_up, &after));
    for (int i = 0; i < 3; i++)
        assert_int_equal(thrum_run(NULL, graph), THRUM_EINVAL);
    assert_int_equal(after, 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

static void fail_thirteen(void *arg)
{
    (void)arg;
    thrum_fail(13, "in the subgraph");
}

static void build_failing(thrum_scope *scope, void *arg)
{
    thrum_graph *graph = thrum_scope_graph(scope, "failing");
    thrum_precede(thrum_task_new(graph, fail_thirteen, NULL), thrum_task_new(graph, count_up, arg));
}

TEST(a_failure_in_a_subgraph_fails_the_run)
{
    thrum_executor *ex = executor_with(2);
    atomic_int after = 0;
    for (int i = 0; i < 50; i++)
        assert_int_equal(thrum_scope_run(ex, build_failing, &after), 13);
    assert_contains(thrum_message(NULL), "in the subgraph");
    assert_int_equal(after, 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void fail_before_building(thrum_scope *scope, void *arg)
{
    thrum_fail(14, "before building");
    thrum_graph *graph = thrum_scope_graph(scope, "never run");
    thrum_task_new(graph, count_up, arg);
}

TEST(a_subgraph_of_a_failed_scope_is_freed_without_running)
{
    atomic_int ran = 0;
    assert_int_equal(thrum_scope_run(NULL, fail_before_building, &ran), 14);
    assert_int_equal(ran, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_join_runs_every_subgraph_once),
        cmocka_unit_test(a_scope_opened_outside_tasks_runs_subgraphs),
        cmocka_unit_test(a_graph_task_builds_a_subgraph_in_every_run),
        cmocka_unit_test(subgraphs_nest_and_mix_with_spawned_children),
        cmocka_unit_test(an_error_of_the_subgraph_is_an_error_of_the_scope),
        cmocka_unit_test(the_sticky_error_of_a_subgraph_is_an_error_of_the_run),
        cmocka_unit_test(a_failure_in_a_subgraph_fails_the_run),
        cmocka_unit_test(a_subgraph_of_a_failed_scope_is_freed_without_running),
    };
    return RUN_TESTS(tests, 60);
}
