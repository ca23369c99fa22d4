/* SPDX-License-Identifier: MIT
 *
 * Several runs at a time: of one graph, which queue up; of several graphs, which overlap.
 */
#include "tasks.h"

#include <sched.h>

struct notes {
    int length, list[200];
};

struct noted_run {
    struct notes *notes;
    int number;
};

static void note_end(void *arg)
{
    struct noted_run *run = arg;
    run->notes->list[run->notes->length++] = run->number;
}

TEST(runs_of_one_graph_end_in_the_order_in_which_they_were_started)
{
    enum { RUNS = 100 };
    thrum_executor *ex = executor_with(4);
    thrum_graph *graph = thrum_graph_new("queued");
    int value = 0;
    thrum_precede(thrum_task_new(graph, plain_count_up, &value), thrum_task_new(graph, plain_count_up, &value));
    struct notes notes = {0};
    struct noted_run runs[RUNS];
    thrum_handle *handles[RUNS];
    for (int i = 0; i < RUNS; i++) {
        runs[i] = (struct noted_run){&notes, i};
        handles[i] = i % 3 ? thrum_start(ex, graph) : thrum_start_n(ex, graph, 2);
        assert_non_null(handles[i]);
        assert_int_equal(thrum_then(handles[i], note_end, &runs[i]), 0);
    }
    for (int i = RUNS - 1; i >= 0; i--) {
        assert_int_equal(thrum_wait(handles[i]), 0);
        thrum_release(handles[i]);
    }
    assert_int_equal(value, 2 * (RUNS + (RUNS + 2) / 3));
    assert_int_equal(notes.length, RUNS);
    for (int i = 0; i < RUNS; i++)
        assert_int_equal(notes.list[i], i);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_queued_run_waits_for_the_one_before)
{
    thrum_executor *ex = executor_with(2);
    struct gate gate = {0};
    int value = 0;
    thrum_graph *graph = thrum_graph_new("queued");
    thrum_precede(thrum_task_new(graph, stay_at_gate, &gate), thrum_task_new(graph, plain_count_up, &value));
    thrum_handle *first = thrum_start(ex, graph), *second = thrum_start(ex, graph);
    await_entered(&gate);
    pause_ms(2);
    assert_false(thrum_done(first));
    assert_false(thrum_done(second));
    open_gate(&gate);
    assert_int_equal(thrum_wait(second), 0);
    assert_true(thrum_done(first));
    assert_int_equal(value, 2);
    thrum_release(first);
    thrum_release(second);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_long_queue_of_runs_of_nothing_ends)
{
    enum { RUNS = 100000 };
    thrum_executor *ex = executor_with(2);
    struct gate gate = {0};
    thrum_graph *graph = thrum_graph_new("queued");
    thrum_task_new(graph, stay_at_gate, &gate);
    thrum_handle *first = thrum_start(ex, graph);
    await_entered(&gate);
    for (int i = 0; i < RUNS; i++)
        thrum_release(thrum_start_n(ex, graph, 0));
    open_gate(&gate);
    assert_int_equal(thrum_wait(first), 0);
    assert_int_equal(thrum_executor_wait(ex), 0);
    thrum_release(first);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(runs_of_one_graph_queue_up_across_executors)
{
    thrum_executor *ex[2] = {executor_with(1), executor_with(2)};
    thrum_graph *graph = thrum_graph_new("shared");
    int value = 0;
    thrum_task_new(graph, plain_count_up, &value);
    thrum_handle *handles[200];
    for (int i = 0; i < 200; i++)
        assert_non_null(handles[i] = thrum_start(ex[i % 2], graph));
    for (int i = 0; i < 200; i++) {
        assert_int_equal(thrum_wait(handles[i]), 0);
        thrum_release(handles[i]);
    }
    assert_int_equal(value, 200);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex[0]), 0);
    assert_int_equal(thrum_executor_free(ex[1]), 0);
}

/* Each of two tasks goes on only when the other has begun. */
struct meeting {
    atomic_bool here;
    struct meeting *other;
};

static void meet(void *arg)
{
    struct meeting *meeting = arg;
    atomic_store(&meeting->here, true);
    while (!atomic_load(&meeting->other->here))
        sched_yield();
}

TEST(runs_of_two_graphs_overlap)
{
    thrum_executor *ex = executor_with(2);
    struct meeting sides[2];
    thrum_graph *graphs[2];
    thrum_handle *handles[2];
    for (int i = 0; i < 2; i++) {
        graphs[i] = thrum_graph_new("one side");
        thrum_task_new(graphs[i], meet, &sides[i]);
        sides[i].other = &sides[1 - i];
    }
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 2; i++)
            atomic_store(&sides[i].here, false);
        for (int i = 0; i < 2; i++)
            assert_non_null(handles[i] = thrum_start(ex, graphs[i]));
        for (int i = 0; i < 2; i++) {
            assert_int_equal(thrum_wait(handles[i]), 0);
            thrum_release(handles[i]);
        }
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(thrum_graph_free(graphs[i]), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(many_graphs_run_at_once_and_each_is_right)
{
    enum { GRAPHS = 50, TASKS = 40 };
    thrum_executor *ex = executor_with(3);
    thrum_graph *graphs[GRAPHS];
    thrum_handle *handles[GRAPHS];
    int values[GRAPHS] = {0};
    for (int i = 0; i < GRAPHS; i++) {
        graphs[i] = thrum_graph_new(NULL);
        thrum_task *last = thrum_task_new(graphs[i], plain_count_up, &values[i]);
        for (int t = 1; t < TASKS; t++) {
            thrum_task *next = thrum_task_new(graphs[i], plain_count_up, &values[i]);
            thrum_edge(last, next);
            last = next;
        }
    }
    for (int i = 0; i < GRAPHS; i++)
        assert_non_null(handles[i] = thrum_start_n(ex, graphs[i], 1 + (uint64_t)i % 4));
    for (int i = 0; i < GRAPHS; i++) {
        assert_int_equal(thrum_wait(handles[i]), 0);
        assert_int_equal(values[i], TASKS * (1 + i % 4));
        thrum_release(handles[i]);
        assert_int_equal(thrum_graph_free(graphs[i]), 0);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

struct shared_graph {
    thrum_executor *ex;
    thrum_graph *graph;
    int value;
    atomic_int failures;
};

static void run_shared_graph(void *arg)
{
    struct shared_graph *shared = arg;
    for (int i = 0; i < 200; i++)
        if (thrum_run(shared->ex, shared->graph))
            count_up(&shared->failures);
}

TEST(many_threads_run_one_graph)
{
    struct shared_graph shared = {.ex = executor_with(2), .graph = thrum_graph_new("shared")};
    thrum_task_new(shared.graph, plain_count_up, &shared.value);
    in_threads(6, run_shared_graph, &shared);
    assert_int_equal(shared.failures, 0);
    assert_int_equal(shared.value, 1200);
    assert_int_equal(thrum_graph_free(shared.graph), 0);
    assert_int_equal(thrum_executor_free(shared.ex), 0);
}

/* One lays the graph out; the other may find it so and begin before the first one does. */
enum { NEW_GRAPHS = 2000, NEW_THREADS = 2 };

struct new_graphs {
    thrum_executor *ex;
    thrum_graph *graphs[NEW_GRAPHS];
    int values[NEW_GRAPHS];
    atomic_int came, here, failures;
};

static void spin(int times)
{
    for (volatile int i = 0; i < times; i++)
        continue;
}

static void run_new_graphs(void *arg)
{
    struct new_graphs *all = arg;
    bool first = atomic_fetch_add(&all->came, 1) == 0;
    for (int i = 0; i < NEW_GRAPHS; i++) {
        atomic_fetch_add(&all->here, 1);
        while (atomic_load(&all->here) < NEW_THREADS * (i + 1))
            sched_yield();
        if (first && thrum_graph_freeze(all->graphs[i]) != 0)
            atomic_fetch_add(&all->failures, 1);
        spin(first ? 1000 : i % 100 * 10);
        if (thrum_run(all->ex, all->graphs[i]) != 0)
            atomic_fetch_add(&all->failures, 1);
    }
}

TEST(threads_may_run_a_new_graph_at_the_same_time)
{
    struct new_graphs all = {.ex = executor_with(2)};
    for (int i = 0; i < NEW_GRAPHS; i++)
        thrum_task_new(all.graphs[i] = thrum_graph_new("new"), plain_count_up, &all.values[i]);
    in_threads(NEW_THREADS, run_new_graphs, &all);
    assert_int_equal(all.failures, 0);
    for (int i = 0; i < NEW_GRAPHS; i++) {
        assert_int_equal(all.values[i], NEW_THREADS);
        assert_int_equal(thrum_graph_free(all.graphs[i]), 0);
    }
    assert_int_equal(thrum_executor_free(all.ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_one_graph_end_in_the_order_in_which_they_were_started),
        cmocka_unit_test(a_queued_run_waits_for_the_one_before),
        cmocka_unit_test(a_long_queue_of_runs_of_nothing_ends),
        cmocka_unit_test(runs_of_one_graph_queue_up_across_executors),
        cmocka_unit_test(runs_of_two_graphs_overlap),
        cmocka_unit_test(many_graphs_run_at_once_and_each_is_right),
        cmocka_unit_test(many_threads_run_one_graph),
        cmocka_unit_test(threads_may_run_a_new_graph_at_the_same_time),
    };
    return RUN_TESTS(tests, 60);
}
