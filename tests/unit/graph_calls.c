/* SPDX-License-Identifier: MIT
 *
 * The calls of graphs without edges (src/model/calls.c): made when such a graph of minute tasks is run again, and
 * forgotten when it changes.
 */
#include "tasks.h"

#include "base/alloc.h"
#include "model/graph.h"

enum { TASKS = 1 << 16 };

struct scene {
    thrum_executor *ex;
    thrum_graph *graph;
    thrum_task *first;
    uint32_t cells[TASKS];
};

static void raise_cell(void *arg)
{
    ++*(uint32_t *)arg;
}

static void raise_by_ten(void *arg)
{
    *(uint32_t *)arg += 10;
}

static struct scene *scene_new(int workers)
{
    struct scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    scene->ex = executor_with(workers);
    scene->graph = thrum_graph_new("calls");
    for (int i = 0; i < TASKS; i++) {
        thrum_task *task = thrum_task_new(scene->graph, raise_cell, &scene->cells[i]);
        scene->first = i ? scene->first : task;
    }
    return scene;
}

static void scene_free(struct scene *scene)
{
    assert_int_equal(thrum_graph_free(scene->graph), 0);
    assert_int_equal(thrum_executor_free(scene->ex), 0);
    free(scene);
}

/* However long it took: the graph is known for minute tasks. */
static void run_known_minute(struct scene *scene)
{
    scene->graph->task_ns = 1;
    assert_int_equal(thrum_run(scene->ex, scene->graph), 0);
}

static void expect_cells(const struct scene *scene, uint32_t first, uint32_t others)
{
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(scene->cells[i], i ? others : first);
}

TEST(calls_are_made_only_when_the_tasks_are_known_to_be_minute)
{
    struct scene *scene = scene_new(1);
    assert_int_equal(thrum_run(scene->ex, scene->graph), 0);
    assert_null(scene->graph->calls);
    scene->graph->task_ns = 1000;
    assert_int_equal(thrum_run(scene->ex, scene->graph), 0);
    assert_null(scene->graph->calls);
    run_known_minute(scene);
    assert_non_null(scene->graph->calls);
    expect_cells(scene, 3, 3);
    scene_free(scene);
}

TEST(two_workers_call_each_once)
{
    struct scene *scene = scene_new(2);
    for (int i = 0; i < 50; i++)
        run_known_minute(scene);
    assert_non_null(scene->graph->calls);
    expect_cells(scene, 50, 50);
    scene_free(scene);
}

TEST(a_task_whose_work_is_set_is_called_with_that)
{
    struct scene *scene = scene_new(1);
    run_known_minute(scene);
    assert_non_null(scene->graph->calls);
    assert_int_equal(thrum_task_set(scene->first, raise_by_ten, &scene->cells[0]), 0);
    assert_null(scene->graph->calls);
    run_known_minute(scene);
    assert_non_null(scene->graph->calls);
    expect_cells(scene, 11, 2);
    scene_free(scene);
}

static void raise_in_scope(thrum_scope *scope, void *arg)
{
    (void)scope;
    raise_by_ten(arg);
}

TEST(a_graph_with_a_task_that_is_more_than_a_call_has_none)
{
    struct scene *scene = scene_new(1);
    run_known_minute(scene);
    assert_int_equal(thrum_task_set_scope(scene->first, raise_in_scope, &scene->cells[0]), 0);
    run_known_minute(scene);
    assert_null(scene->graph->calls);
    expect_cells(scene, 11, 2);
    scene_free(scene);
}

TEST(tasks_and_edges_that_are_added_count)
{
    struct scene *scene = scene_new(1);
    uint32_t late = 0;
    run_known_minute(scene);
    thrum_task *task = thrum_task_new(scene->graph, raise_cell, &late);
    assert_null(scene->graph->calls);
    run_known_minute(scene);
    assert_non_null(scene->graph->calls);
    assert_int_equal(late, 1);
    assert_int_equal(thrum_edge(task, scene->first), 0);
    run_known_minute(scene);
    assert_null(scene->graph->calls);
    assert_int_equal(late, 2);
    expect_cells(scene, 3, 3);
    scene_free(scene);
}

static void fail_on_purpose(void *arg)
{
    raise_cell(arg);
    thrum_fail(47, "on purpose");
}

TEST(after_a_failure_nothing_more_is_called)
{
    struct scene *scene = scene_new(1);
    assert_int_equal(thrum_task_set(scene->first, fail_on_purpose, &scene->cells[0]), 0);
    scene->graph->task_ns = 1;
    assert_int_equal(thrum_run(scene->ex, scene->graph), 47);
    assert_non_null(scene->graph->calls);
    expect_cells(scene, 1, 0);
    scene_free(scene);
}

TEST(without_memory_it_goes_by_the_records)
{
    struct scene *scene = scene_new(1);
    assert_int_equal(thrum_run(scene->ex, scene->graph), 0);
    scene->graph->task_ns = 1;
    thrum__alloc_fail_after(0);
    int code = thrum_run(scene->ex, scene->graph);
    thrum__alloc_fail_after(-1);
    assert_int_equal(code, 0);
    assert_null(scene->graph->calls);
    expect_cells(scene, 2, 2);
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_made_only_when_the_tasks_are_known_to_be_minute),
        cmocka_unit_test(two_workers_call_each_once),
        cmocka_unit_test(a_task_whose_work_is_set_is_called_with_that),
        cmocka_unit_test(a_graph_with_a_task_that_is_more_than_a_call_has_none),
        cmocka_unit_test(tasks_and_edges_that_are_added_count),
        cmocka_unit_test(after_a_failure_nothing_more_is_called),
        cmocka_unit_test(without_memory_it_goes_by_the_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
