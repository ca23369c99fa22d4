/* SPDX-License-Identifier: MIT
 *
 * Observers: called around every task.
 */
#include "tasks.h"

struct watch {
    atomic_int begins, ends, unnumbered, named, other_graph, bad_worker, unpaired;
};

static _Thread_local int depth;

static void watch_begin(void *context, const thrum_task_info *info)
{
    struct watch *watch = context;
    depth++;
    count_up(&watch->begins);
    if (!info->task) {
        if (info->number != -1 || strcmp(info->name, ""))
            count_up(&watch->unpaired);
        count_up(&watch->unnumbered);
    } else {
        if (info->number != thrum_task_number(info->task) || strcmp(info->name, thrum_task_name(info->task)))
            count_up(&watch->unpaired);
        if (strcmp(info->name, "named") == 0)
            count_up(&watch->named);
        if (strcmp(info->graph, "observed"))
            count_up(&watch->other_graph);
    }
    if (info->worker < 0 || info->worker != thrum_worker_index())
        count_up(&watch->bad_worker);
}

static void watch_end(void *context, const thrum_task_info *info)
{
    struct watch *watch = context;
    (void)info;
    if (--depth < 0)
        count_up(&watch->unpaired);
    count_up(&watch->ends);
}

static thrum_observer observer_of(struct watch *watch)
{
    return (thrum_observer){.begin = watch_begin, .end = watch_end, .context = watch};
}

static void expect_seen(const struct watch *watch, int tasks, int unnumbered)
{
    assert_int_equal(watch->begins, tasks);
    assert_int_equal(watch->ends, tasks);
    assert_int_equal(watch->unnumbered, unnumbered);
    assert_int_equal(watch->unpaired, 0);
    assert_int_equal(watch->bad_worker, 0);
}

TEST(every_task_of_a_graph_is_seen)
{
    for (int workers = 1; workers <= 4; workers++) {
        thrum_executor *ex = executor_with(workers);
        struct watch watch = {0};
        atomic_int count = 0;
        thrum_graph *graph = thrum_graph_new("observed");
        thrum_task *last = NULL;
        for (int i = 0; i < 300; i++) {
            thrum_task *task = thrum_task_new(graph, count_up, &count);
            if (i % 10 == 0)
                thrum_task_set_name(task, "named");
            if (i % 3)
                thrum_edge(last, task);
            last = task;
        }
        thrum_observer observer = observer_of(&watch);
        assert_int_equal(thrum_executor_observe(ex, &observer), 0);
        assert_int_equal(thrum_run_n(ex, graph, 3), 0);
        expect_seen(&watch, 900, 0);
        assert_int_equal(watch.named, 90);
        assert_int_equal(watch.other_graph, 0);
        assert_int_equal(count, 900);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void spawn_three(thrum_scope *scope, void *arg)
{
    int left = *(int *)arg - 1;
    for (int i = 0; left > 0 && i < 3; i++)
        thrum_spawn_copy(scope, spawn_three, &left, sizeof left);
}

TEST(spawned_tasks_are_seen_too)
{
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        struct watch watch = {0};
        thrum_observer observer = observer_of(&watch);
        assert_int_equal(thrum_executor_observe(ex, &observer), 0);
        thrum_graph *graph = thrum_graph_new("observed");
        int levels = 4;
        thrum_scope_task_new(graph, spawn_three, &levels);
        assert_int_equal(thrum_run(ex, graph), 0);
        expect_seen(&watch, 40, 39);

        watch = (struct watch){0};
        thrum_scope scope;
        thrum_scope_open_on(&scope, ex);
        thrum_spawn(&scope, spawn_three, &levels);
        assert_int_equal(thrum_join(&scope), 0);
        expect_seen(&watch, 40, 40);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(submitted_functions_are_seen_too)
{
    thrum_executor *ex = executor_with(2);
    struct watch watch = {0};
    atomic_int count = 0;
    thrum_observer observer = observer_of(&watch);
    assert_int_equal(thrum_executor_observe(ex, &observer), 0);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(thrum_async(ex, count_up, &count), 0);
        thrum_handle *handle = thrum_submit(ex, count_up, &count);
        assert_int_equal(thrum_wait(handle), 0);
        thrum_release(handle);
    }
    assert_int_equal(thrum_executor_wait(ex), 0);
    expect_seen(&watch, 100, 100);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(an_observer_can_be_taken_away)
{
    thrum_executor *ex = executor_with(2);
    struct watch watch = {0};
    atomic_int count = 0;
    thrum_graph *graph = thrum_graph_new("observed");
    thrum_task_new(graph, count_up, &count);
    thrum_observer observer = observer_of(&watch);
    assert_int_equal(thrum_executor_observe(ex, &observer), 0);
    observer = (thrum_observer){0};
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_executor_observe(ex, NULL), 0);
    assert_int_equal(thrum_run(ex, graph), 0);
    expect_seen(&watch, 1, 0);
    assert_int_equal(count, 2);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void count_begin(void *context, const thrum_task_info *info)
{
    (void)info;
    count_up(&((struct watch *)context)->begins);
}

static void count_end(void *context, const thrum_task_info *info)
{
    (void)info;
    count_up(&((struct watch *)context)->ends);
}

TEST(either_function_may_be_missing)
{
    thrum_executor *ex = executor_with(2);
    struct watch watch = {0};
    atomic_int count = 0;
    thrum_graph *graph = thrum_graph_new("observed");
    thrum_task_new(graph, count_up, &count);
    assert_int_equal(thrum_executor_observe(ex, &(thrum_observer){.begin = count_begin, .context = &watch}), 0);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(watch.begins, 1);
    assert_int_equal(watch.ends, 0);
    assert_int_equal(thrum_executor_observe(ex, &(thrum_observer){.end = count_end, .context = &watch}), 0);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(watch.begins, 1);
    assert_int_equal(watch.ends, 1);
    assert_int_equal(thrum_executor_observe(ex, &(thrum_observer){0}), 0);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(count, 3);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void fail_watched(void *arg)
{
    (void)arg;
    thrum_fail(8, "watched and failed");
}

TEST(an_observed_run_fails_as_any_other)
{
    thrum_executor *ex = executor_with(2);
    struct watch watch = {0};
    atomic_int after = 0;
    thrum_graph *graph = thrum_graph_new("observed");
    thrum_precede(thrum_task_new(graph, fail_watched, NULL), thrum_task_new(graph, count_up, &after));
    thrum_observer observer = observer_of(&watch);
    assert_int_equal(thrum_executor_observe(ex, &observer), 0);
    for (int i = 1; i <= 10; i++) {
        assert_int_equal(thrum_run(ex, graph), 8);
        expect_seen(&watch, i, 0);
    }
    assert_int_equal(after, 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_of_a_graph_is_seen),    cmocka_unit_test(spawned_tasks_are_seen_too),
        cmocka_unit_test(submitted_functions_are_seen_too), cmocka_unit_test(an_observer_can_be_taken_away),
        cmocka_unit_test(either_function_may_be_missing),   cmocka_unit_test(an_observed_run_fails_as_any_other),
    };
    return RUN_TESTS(tests, 60);
}
