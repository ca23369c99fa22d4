/* SPDX-License-Identifier: MIT
 *
 * Detached scopes: what they spawn is joined at the end of the run.
 */
#include "tasks.h"

struct outing {
    struct gate *gate;
    atomic_int *ended;
};

static void stay_out(thrum_scope *scope, void *arg)
{
    (void)scope;
    struct outing outing = *(struct outing *)arg;
    stay_at_gate(outing.gate);
    count_up(outing.ended);
}

static void send_out(thrum_scope *scope, void *arg)
{
    if (thrum_scope_detach(scope))
        thrum_fail(1, "could not detach");
    thrum_spawn_copy(scope, stay_out, arg, sizeof(struct outing));
}

static void open_the_gate(void *gate)
{
    open_gate(gate);
}

TEST(the_task_completes_before_its_detached_children_and_the_run_after)
{
    thrum_executor *ex = executor_with(2);
    for (int round = 0; round < 20; round++) {
        thrum_graph *graph = thrum_graph_new("detached");
        struct gate gate = {0};
        atomic_int ended = 0;
        struct outing outing = {&gate, &ended};
        thrum_precede(thrum_scope_task_new(graph, send_out, &outing), thrum_task_new(graph, open_the_gate, &gate));
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(ended, 1);
        assert_int_equal(thrum_graph_free(graph), 0);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

struct counted {
    atomic_int *ended;
    int depth;
};

static void scatter(thrum_scope *scope, void *arg)
{
    struct counted here = *(struct counted *)arg;
    count_up(here.ended);
    if (here.depth == 0)
        return;
    struct counted next = {here.ended, here.depth - 1};
    thrum_spawn_copy(scope, scatter, &next, sizeof next);
    if (thrum_scope_detach(scope))
        thrum_fail(1, "could not detach");
    thrum_spawn_copy(scope, scatter, &next, sizeof next);
    thrum_spawn_copy(scope, scatter, &next, sizeof next);
}

TEST(the_run_waits_for_all_that_detached_children_spawned)
{
    for (int workers = 0; workers <= 4; workers++) {
        thrum_executor *ex = workers ? executor_with(workers) : executor_threadless();
        thrum_graph *graph = thrum_graph_new("scattered");
        atomic_int ended = 0;
        struct counted top = {&ended, 5};
        thrum_scope_task_new(graph, scatter, &top);
        thrum_scope_task_new(graph, scatter, &top);
        for (int round = 1; round <= 10; round++) {
            assert_int_equal(thrum_run(ex, graph), 0);
            assert_int_equal(ended, 2 * 364 * round);
        }
        ended = 0;
        assert_int_equal(thrum_run_n(ex, graph, 5), 0);
        assert_int_equal(ended, 2 * 364 * 5);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_scope_run_waits_for_detached_children)
{
    for (int workers = 0; workers <= 2; workers++) {
        thrum_executor *ex = workers ? executor_with(workers) : executor_threadless();
        atomic_int ended = 0;
        struct counted top = {&ended, 6};
        assert_int_equal(thrum_scope_run(ex, scatter, &top), 0);
        assert_int_equal(ended, 1093);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* Opened scopes are detached as well as given ones, with and without children of either kind. */
static void detach_opened_scopes(thrum_scope *up, void *count)
{
    for (int joined = 0; joined < 3; joined++)
        for (int detached = 0; detached < 3; detached++) {
            thrum_scope scope, inner;
            thrum_scope_open(&scope, joined == 1 ? NULL : up);
            for (int i = 0; i < joined; i++)
                thrum_spawn(&scope, count_up_in_scope, count);
            if (thrum_scope_detach(&scope))
                thrum_fail(1, "could not detach");
            for (int i = 0; i < detached; i++)
                thrum_spawn(&scope, count_up_in_scope, count);
            thrum_scope_open(&inner, &scope);
            thrum_spawn(&inner, count_up_in_scope, count);
            thrum_join(&inner);
            thrum_join(&scope);
        }
}

TEST(an_opened_scope_can_be_detached)
{
    for (int workers = 0; workers <= 4; workers++) {
        thrum_executor *ex = workers ? executor_with(workers) : executor_threadless();
        atomic_int count = 0;
        for (int round = 1; round <= 20; round++) {
            assert_int_equal(thrum_scope_run(ex, detach_opened_scopes, &count), 0);
            assert_int_equal(count, 27 * round);
        }
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void fail_later(thrum_scope *scope, void *arg)
{
    (void)scope;
    (void)arg;
    thrum_fail(17, "far from home");
}

static void detach_a_failure(thrum_scope *scope, void *arg)
{
    (void)arg;
    thrum_scope_detach(scope);
    thrum_spawn(scope, fail_later, NULL);
}

TEST(the_failure_of_a_detached_child_goes_to_the_run)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("far");
    thrum_scope_task_new(graph, detach_a_failure, NULL);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(thrum_run(ex, graph), 17);
        assert_contains(thrum_message(graph), "far from home");
    }
    assert_int_equal(thrum_scope_run(ex, detach_a_failure, NULL), 17);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void detach_much_and_fail(thrum_scope *scope, void *arg)
{
    (void)arg;
    char big[3000] = {0};
    thrum_scope_detach(scope);
    for (int i = 0; i < 100; i++)
        thrum_spawn_copy(scope, fail_later, big, sizeof big);
    thrum_fail(17, "at home");
}

TEST(detached_children_of_a_failed_run_are_given_back)
{
    for (int workers = 1; workers <= 2; workers++) {
        thrum_executor *ex = executor_with(workers);
        for (int i = 0; i < 20; i++)
            assert_int_equal(thrum_scope_run(ex, detach_much_and_fail, NULL), 17);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_scope_that_is_not_part_of_a_run_cannot_be_detached)
{
    atomic_int count = 0;
    thrum_scope scope;
    thrum_scope_open(&scope, NULL);
    assert_int_equal(thrum_scope_detach(&scope), THRUM_EINVAL);
    assert_true(strlen(thrum_message(NULL)) > 0);
    thrum_spawn(&scope, count_up_in_scope, &count);
    assert_int_equal(thrum_join(&scope), 0);
    assert_int_equal(count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_task_completes_before_its_detached_children_and_the_run_after),
        cmocka_unit_test(the_run_waits_for_all_that_detached_children_spawned),
        cmocka_unit_test(a_scope_run_waits_for_detached_children),
        cmocka_unit_test(an_opened_scope_can_be_detached),
        cmocka_unit_test(the_failure_of_a_detached_child_goes_to_the_run),
        cmocka_unit_test(detached_children_of_a_failed_run_are_given_back),
        cmocka_unit_test(a_scope_that_is_not_part_of_a_run_cannot_be_detached),
    };
    return RUN_TESTS(tests, 60);
}
