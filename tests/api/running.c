/* SPDX-License-Identifier: MIT
 *
 * Running graphs: order, repetition, how many at once, where.
 */
#include "tasks.h"

#include "random.h"

/* A task that checks that all it waits for has been done in this round, and then does its own part. */
struct cell {
    const struct cell *before[3];
    int rounds, mistakes;
};

static void fill_cell(void *arg)
{
    struct cell *cell = arg;
    for (int i = 0; i < 3; i++)
        if (cell->before[i] && cell->before[i]->rounds != cell->rounds + 1)
            cell->mistakes++;
    cell->rounds++;
}

static void expect_rounds(const struct cell *cells, size_t count, int rounds)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(cells[i].mistakes, 0);
        assert_int_equal(cells[i].rounds, rounds);
    }
}

static void run_wavefront(thrum_executor *ex, bool down_first)
{
    enum { SIDE = 40 };
    static struct cell cells[SIDE][SIDE];
    static thrum_task *tasks[SIDE][SIDE];
    memset(cells, 0, sizeof cells);
    thrum_graph *graph = thrum_graph_new("wavefront");
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            tasks[y][x] = thrum_task_new(graph, fill_cell, &cells[y][x]);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            cells[y][x].before[0] = y ? &cells[y - 1][x] : NULL;
            cells[y][x].before[1] = x ? &cells[y][x - 1] : NULL;
            if (down_first && y + 1 < SIDE)
                thrum_edge(tasks[y][x], tasks[y + 1][x]);
            if (x + 1 < SIDE)
                thrum_edge(tasks[y][x], tasks[y][x + 1]);
            if (!down_first && y + 1 < SIDE)
                thrum_edge(tasks[y][x], tasks[y + 1][x]);
        }
    for (int round = 1; round <= 20; round++) {
        assert_int_equal(thrum_run(ex, graph), 0);
        expect_rounds(&cells[0][0], SIDE * SIDE, round);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_wavefront_keeps_its_order_in_every_run)
{
    run_wavefront(NULL, false);
    run_wavefront(NULL, true);
}

TEST(a_wavefront_keeps_its_order_with_more_workers_than_cores)
{
    thrum_executor *ex = executor_with(8);
    run_wavefront(ex, true);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(random_edges_keep_their_order)
{
    enum { TASKS = 1000 };
    static struct cell cells[TASKS];
    static thrum_task *tasks[TASKS];
    thrum_executor *ex = executor_with(4);
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct random random = random_new(seed);
        memset(cells, 0, sizeof cells);
        thrum_graph *graph = thrum_graph_new("random");
        for (size_t i = 0; i < TASKS; i++) {
            tasks[i] = thrum_task_new(graph, fill_cell, &cells[i]);
            size_t edges = i ? random_below(&random, 4) : 0;
            for (size_t e = 0; e < edges; e++) {
                size_t other = random_below(&random, i);
                cells[i].before[e] = &cells[other];
                thrum_edge(tasks[other], tasks[i]);
            }
        }
        assert_int_equal(thrum_run_n(ex, graph, 5), 0);
        expect_rounds(cells, TASKS, 5);
        assert_int_equal(thrum_graph_free(graph), 0);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_long_chain_runs_in_order_and_needs_no_stack)
{
    enum { TASKS = 200000 };
    struct cell *cells = calloc(TASKS, sizeof *cells);
    thrum_graph *graph = thrum_graph_new("chain");
    thrum_task *last = NULL;
    for (int i = 0; i < TASKS; i++) {
        thrum_task *task = thrum_task_new(graph, fill_cell, &cells[i]);
        if (last)
            thrum_edge(last, task);
        cells[i].before[0] = i ? &cells[i - 1] : NULL;
        last = task;
    }
    assert_int_equal(thrum_run_n(NULL, graph, 2), 0);
    expect_rounds(cells, TASKS, 2);
    assert_int_equal(thrum_graph_free(graph), 0);
    free(cells);
}

TEST(run_n_runs_n_times_one_after_the_other)
{
    thrum_graph *graph = thrum_graph_new("again and again");
    struct cell cells[3] = {0};
    thrum_task *a = thrum_task_new(graph, fill_cell, &cells[0]), *b = thrum_task_new(graph, fill_cell, &cells[1]);
    thrum_task *c = thrum_task_new(graph, fill_cell, &cells[2]);
    cells[1].before[0] = cells[2].before[0] = &cells[0];
    thrum_precede(a, b, c);
    assert_int_equal(thrum_run_n(NULL, graph, 10000), 0);
    expect_rounds(cells, 3, 10000);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(zero_times_runs_nothing)
{
    thrum_graph *graph = thrum_graph_new("never");
    int value = 0;
    thrum_task_new(graph, plain_count_up, &value);
    assert_int_equal(thrum_run_n(NULL, graph, 0), 0);
    thrum_handle *handle = thrum_start_n(NULL, graph, 0);
    assert_non_null(handle);
    assert_int_equal(thrum_wait(handle), 0);
    thrum_release(handle);
    assert_int_equal(value, 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_graph_runs_thousands_of_times)
{
    thrum_graph *graph = thrum_graph_new("small");
    struct cell cells[2] = {0};
    cells[1].before[0] = &cells[0];
    thrum_precede(thrum_task_new(graph, fill_cell, &cells[0]), thrum_task_new(graph, fill_cell, &cells[1]));
    for (int i = 0; i < 5000; i++)
        assert_int_equal(thrum_run(NULL, graph), 0);
    expect_rounds(cells, 2, 5000);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(what_tasks_wrote_is_seen_after_the_run)
{
    enum { TASKS = 20000 };
    static int values[TASKS];
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("independent");
    for (int i = 0; i < TASKS; i++)
        thrum_task_new(graph, plain_count_up, &values[i]);
    for (int round = 1; round <= 5; round++) {
        assert_int_equal(thrum_run(ex, graph), 0);
        for (int i = 0; i < TASKS; i++)
            assert_int_equal(values[i], round);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

struct crowd {
    thrum_executor *ex;
    atomic_int inside, most, wrong_index;
};

static void stay_in_crowd(void *arg)
{
    struct crowd *crowd = arg;
    int inside = atomic_fetch_add(&crowd->inside, 1) + 1;
    int most = atomic_load(&crowd->most);
    while (inside > most && !atomic_compare_exchange_weak(&crowd->most, &most, inside))
        ;
    if (thrum_worker_index() < 0)
        count_up(&crowd->wrong_index);
    for (volatile int i = 0; i < 500; i++)
        ;
    atomic_fetch_sub(&crowd->inside, 1);
}

static void run_crowd(void *arg)
{
    struct crowd *crowd = arg;
    thrum_graph *graph = thrum_graph_new("crowd");
    for (int i = 0; i < 100; i++)
        thrum_task_new(graph, stay_in_crowd, crowd);
    if (thrum_run_n(crowd->ex, graph, 10) || thrum_graph_free(graph))
        count_up(&crowd->wrong_index);
}

TEST(no_more_tasks_run_at_once_than_there_are_workers)
{
    for (int workers = 1; workers <= 3; workers++) {
        struct crowd crowd = {.ex = executor_with(workers)};
        in_threads(6, run_crowd, &crowd);
        assert_true(crowd.most >= 1);
        assert_true(crowd.most <= workers);
        assert_int_equal(crowd.wrong_index, 0);
        assert_int_equal(thrum_executor_free(crowd.ex), 0);
    }
}

TEST(the_worker_index_is_minus_one_outside_tasks)
{
    assert_int_equal(thrum_worker_index(), -1);
    struct crowd crowd = {.ex = NULL};
    run_crowd(&crowd);
    assert_int_equal(crowd.wrong_index, 0);
    assert_int_equal(thrum_worker_index(), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wavefront_keeps_its_order_in_every_run),
        cmocka_unit_test(a_wavefront_keeps_its_order_with_more_workers_than_cores),
        cmocka_unit_test(random_edges_keep_their_order),
        cmocka_unit_test(a_long_chain_runs_in_order_and_needs_no_stack),
        cmocka_unit_test(run_n_runs_n_times_one_after_the_other),
        cmocka_unit_test(zero_times_runs_nothing),
        cmocka_unit_test(a_graph_runs_thousands_of_times),
        cmocka_unit_test(what_tasks_wrote_is_seen_after_the_run),
        cmocka_unit_test(no_more_tasks_run_at_once_than_there_are_workers),
        cmocka_unit_test(the_worker_index_is_minus_one_outside_tasks),
    };
    return RUN_TESTS(tests, 60);
}
