/* SPDX-License-Identifier: MIT
 *
 * Runs that are started inside tasks and waited for there.
 */
#include "tasks.h"

static thrum_executor *executor_of_kind(int kind)
{
    switch (kind) {
    case 0:
        return executor_threadless();
    case 1:
        return executor_with(1);
    case 2:
        return executor_with(2);
    case 3:
        return executor_blocking(1);
    default:
        return executor_blocking(2);
    }
}

enum { KINDS = 5 };

/* A task that builds and runs a graph of tasks that do the same, one level further down. */
struct level {
    thrum_executor *ex;
    int depth, width;
    atomic_int *leaves, *failures;
};

static void go_down(void *arg)
{
    const struct level *level = arg;
    if (level->depth == 0) {
        count_up(level->leaves);
        return;
    }
    struct level next = *level;
    next.depth--;
    thrum_graph *graph = thrum_graph_new("one level down");
    for (int i = 0; i < level->width; i++)
        thrum_task_new(graph, go_down, &next);
    if (thrum_run(level->ex, graph) || thrum_graph_free(graph))
        count_up(level->failures);
}

TEST(a_task_runs_graphs_and_so_do_their_tasks)
{
    for (int kind = 0; kind < KINDS; kind++) {
        atomic_int leaves = 0, failures = 0;
        struct level top = {executor_of_kind(kind), 4, 4, &leaves, &failures};
        thrum_graph *graph = thrum_graph_new("top");
        thrum_task_new(graph, go_down, &top);
        assert_int_equal(thrum_run(top.ex, graph), 0);
        assert_int_equal(failures, 0);
        assert_int_equal(leaves, 4 * 4 * 4 * 4);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(top.ex), 0);
    }
}

TEST(runs_nest_a_hundred_levels_deep)
{
    for (int kind = 0; kind < KINDS; kind++) {
        atomic_int leaves = 0, failures = 0;
        struct level top = {executor_of_kind(kind), 100, 1, &leaves, &failures};
        thrum_graph *graph = thrum_graph_new("top");
        thrum_task_new(graph, go_down, &top);
        assert_int_equal(thrum_run(top.ex, graph), 0);
        assert_int_equal(failures, 0);
        assert_int_equal(leaves, 1);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(top.ex), 0);
    }
}

/* Waiting inside a task for something that was started outside of it. */
struct wait_for {
    thrum_handle *handle;
    int code;
};

static void wait_for_handle(void *arg)
{
    struct wait_for *wait = arg;
    wait->code = thrum_wait(wait->handle);
}

TEST(a_task_waits_for_a_run_that_was_started_elsewhere)
{
    for (int kind = 0; kind < KINDS; kind++) {
        thrum_executor *ex = executor_of_kind(kind);
        thrum_graph *first = thrum_graph_new("first"), *second = thrum_graph_new("second");
        int value = 0;
        thrum_precede(thrum_task_new(first, plain_count_up, &value), thrum_task_new(first, plain_count_up, &value));
        struct wait_for wait = {thrum_start_n(ex, first, 100), -1};
        thrum_task_new(second, wait_for_handle, &wait);
        assert_int_equal(thrum_run(ex, second), 0);
        assert_int_equal(wait.code, 0);
        assert_int_equal(value, 200);
        thrum_release(wait.handle);
        assert_int_equal(thrum_graph_free(first), 0);
        assert_int_equal(thrum_graph_free(second), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

struct pair {
    thrum_executor *mine, *other;
    thrum_graph *inner;
    atomic_int failures;
};

static void run_on_the_other(void *arg)
{
    struct pair *pair = arg;
    if (thrum_run(pair->other, pair->inner))
        count_up(&pair->failures);
}

TEST(a_task_runs_a_graph_on_another_executor)
{
    for (int mine = 0; mine < KINDS; mine++)
        for (int other = 0; other < KINDS; other++) {
            struct pair pair = {.mine = executor_of_kind(mine), .other = executor_of_kind(other)};
            thrum_graph *outer = thrum_graph_new("outer");
            int value = 0;
            pair.inner = thrum_graph_new("inner");
            thrum_task_new(pair.inner, plain_count_up, &value);
            for (int i = 0; i < 20; i++)
                thrum_task_new(outer, run_on_the_other, &pair);
            assert_int_equal(thrum_run(pair.mine, outer), 0);
            assert_int_equal(pair.failures, 0);
            assert_int_equal(value, 20);
            assert_int_equal(thrum_graph_free(outer), 0);
            assert_int_equal(thrum_graph_free(pair.inner), 0);
            assert_int_equal(thrum_executor_free(pair.mine), 0);
            assert_int_equal(thrum_executor_free(pair.other), 0);
        }
}

/* A run on one executor that waits for one on another that waits for one on the first. */
struct ping_pong {
    thrum_executor *ex[2];
    int left;
    atomic_int *failures;
};

static void hit_back(void *arg)
{
    struct ping_pong *here = arg, next = *here;
    if (next.left-- == 0)
        return;
    thrum_graph *graph = thrum_graph_new("ball");
    thrum_task_new(graph, hit_back, &next);
    if (thrum_run(next.ex[next.left % 2], graph) || thrum_graph_free(graph))
        count_up(here->failures);
}

TEST(two_executors_wait_for_each_other_in_turn)
{
    for (int one = 0; one < KINDS; one++)
        for (int other = 0; other < KINDS; other++) {
            atomic_int failures = 0;
            struct ping_pong game = {{executor_of_kind(one), executor_of_kind(other)}, 7, &failures};
            hit_back(&game);
            assert_int_equal(failures, 0);
            assert_int_equal(thrum_executor_free(game.ex[0]), 0);
            assert_int_equal(thrum_executor_free(game.ex[1]), 0);
        }
}

/* A task that starts runs and does not wait; the test waits for the executor. */
struct starter {
    thrum_executor *ex;
    thrum_graph *graph;
    atomic_int failures;
};

static void start_and_go(void *arg)
{
    struct starter *starter = arg;
    thrum_handle *handle = thrum_start(starter->ex, starter->graph);
    if (!handle)
        count_up(&starter->failures);
    thrum_release(handle);
}

TEST(a_task_starts_runs_and_leaves_them_behind)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct starter starter = {.ex = executor_of_kind(kind), .graph = thrum_graph_new("left behind")};
        thrum_graph *outer = thrum_graph_new("outer");
        int value = 0;
        thrum_task_new(starter.graph, plain_count_up, &value);
        for (int i = 0; i < 100; i++)
            thrum_task_new(outer, start_and_go, &starter);
        assert_int_equal(thrum_run(starter.ex, outer), 0);
        assert_int_equal(thrum_executor_wait(starter.ex), 0);
        assert_int_equal(starter.failures, 0);
        assert_int_equal(value, 100);
        assert_int_equal(thrum_graph_free(outer), 0);
        assert_int_equal(thrum_graph_free(starter.graph), 0);
        assert_int_equal(thrum_executor_free(starter.ex), 0);
    }
}

/* A waiting task runs tasks of what it waits for, and no others: here the others would take its lock again. */
struct locked {
    thrum_executor *ex;
    atomic_int entered_twice, failures;
};

static void hold_lock_and_run(void *arg)
{
    static _Thread_local bool holding;
    struct locked *locked = arg;
    if (holding)
        count_up(&locked->entered_twice);
    holding = true;
    atomic_int count = 0;
    thrum_graph *graph = thrum_graph_new("inner");
    for (int i = 0; i < 10; i++)
        thrum_task_new(graph, count_up, &count);
    if (thrum_run(locked->ex, graph) || thrum_graph_free(graph) || count != 10)
        count_up(&locked->failures);
    holding = false;
}

TEST(a_waiting_task_does_not_run_its_neighbours)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct locked locked = {.ex = executor_of_kind(kind)};
        thrum_graph *graph = thrum_graph_new("neighbours");
        for (int i = 0; i < 100; i++)
            thrum_task_new(graph, hold_lock_and_run, &locked);
        assert_int_equal(thrum_run_n(locked.ex, graph, 3), 0);
        assert_int_equal(locked.failures, 0);
        assert_int_equal(locked.entered_twice, 0);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(locked.ex), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_runs_graphs_and_so_do_their_tasks),
        cmocka_unit_test(runs_nest_a_hundred_levels_deep),
        cmocka_unit_test(a_task_waits_for_a_run_that_was_started_elsewhere),
        cmocka_unit_test(a_task_runs_a_graph_on_another_executor),
        cmocka_unit_test(two_executors_wait_for_each_other_in_turn),
        cmocka_unit_test(a_task_starts_runs_and_leaves_them_behind),
        cmocka_unit_test(a_waiting_task_does_not_run_its_neighbours),
    };
    return RUN_TESTS(tests, 30);
}
