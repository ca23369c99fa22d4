/* SPDX-License-Identifier: MIT
 *
 * Executors: how many workers, which threads, several at once, and their end.
 */
#include "tasks.h"

static thrum_graph *graph_of_counters(int tasks, atomic_int *count)
{
    thrum_graph *graph = thrum_graph_new("counters");
    for (int i = 0; i < tasks; i++)
        thrum_task_new(graph, count_up, count);
    return graph;
}

TEST(an_executor_has_as_many_workers_as_asked_for)
{
    static const int sizes[] = {1, 2, 3, 8, 33};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        thrum_executor *ex = executor_with(sizes[i]);
        atomic_int count = 0;
        thrum_graph *graph = graph_of_counters(1000, &count);
        assert_int_equal(thrum_executor_workers(ex), sizes[i]);
        assert_int_equal(thrum_run_n(ex, graph, 3), 0);
        assert_int_equal(count, 3000);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(without_a_configuration_there_is_a_worker_per_usable_core)
{
    thrum_machine_info machine;
    assert_int_equal(thrum_machine_get(&machine), 0);
    thrum_executor *ex = thrum_executor_new(NULL);
    assert_non_null(ex);
    assert_int_equal(thrum_executor_workers(ex), machine.usable);
    assert_int_equal(thrum_executor_free(ex), 0);
    ex = thrum_executor_new(&(thrum_config){0});
    assert_non_null(ex);
    assert_int_equal(thrum_executor_workers(ex), machine.usable);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(the_default_executor_is_always_the_same)
{
    thrum_executor *ex = thrum_executor_default();
    assert_non_null(ex);
    assert_ptr_equal(thrum_executor_default(), ex);
    assert_int_equal(thrum_executor_workers(NULL), thrum_executor_workers(ex));
    atomic_int count = 0;
    assert_int_equal(thrum_async(NULL, count_up, &count), 0);
    assert_int_equal(thrum_executor_wait(ex), 0);
    assert_int_equal(count, 1);
    assert_int_equal(thrum_executor_wait(NULL), 0);
}

struct threads_seen {
    pthread_t caller;
    atomic_int in_caller, elsewhere;
};

static void note_thread(void *arg)
{
    struct threads_seen *seen = arg;
    count_up(pthread_equal(pthread_self(), seen->caller) ? &seen->in_caller : &seen->elsewhere);
}

TEST(without_threads_the_waiting_thread_does_all_the_work)
{
    thrum_executor *ex = executor_threadless();
    struct threads_seen seen = {.caller = pthread_self()};
    thrum_graph *graph = thrum_graph_new("here");
    for (int i = 0; i < 100; i++)
        thrum_task_new(graph, note_thread, &seen);
    assert_int_equal(thrum_executor_workers(ex), 1);
    assert_int_equal(thrum_run(ex, graph), 0);
    thrum_handle *handle = thrum_start(ex, graph);
    assert_int_equal(thrum_wait(handle), 0);
    thrum_release(handle);
    assert_int_equal(thrum_async(ex, note_thread, &seen), 0);
    assert_int_equal(thrum_executor_wait(ex), 0);
    assert_int_equal(seen.in_caller, 201);
    assert_int_equal(seen.elsewhere, 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(without_threads_nothing_runs_until_somebody_waits)
{
    thrum_executor *ex = executor_threadless();
    atomic_int count = 0;
    thrum_graph *graph = graph_of_counters(10, &count);
    thrum_handle *handle = thrum_start(ex, graph);
    pause_ms(5);
    assert_int_equal(count, 0);
    assert_false(thrum_done(handle));
    assert_int_equal(thrum_wait(handle), 0);
    assert_int_equal(count, 10);
    thrum_release(handle);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(blocking_callers_run_no_tasks)
{
    for (int workers = 1; workers <= 2; workers++) {
        thrum_executor *ex = executor_blocking(workers);
        struct threads_seen seen = {.caller = pthread_self()};
        thrum_graph *graph = thrum_graph_new("elsewhere");
        for (int i = 0; i < 100; i++)
            thrum_task_new(graph, note_thread, &seen);
        for (int i = 0; i < 20; i++)
            assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(thrum_async(ex, note_thread, &seen), 0);
        assert_int_equal(thrum_executor_wait(ex), 0);
        assert_int_equal(seen.in_caller, 0);
        assert_int_equal(seen.elsewhere, 2001);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(several_executors_work_side_by_side)
{
    enum { EXECUTORS = 6 };
    thrum_executor *ex[EXECUTORS];
    thrum_graph *graphs[EXECUTORS];
    thrum_handle *handles[EXECUTORS];
    atomic_int count = 0;
    for (int i = 0; i < EXECUTORS; i++) {
        ex[i] = i % 3 == 2 ? executor_threadless() : executor_with(1 + i % 3);
        graphs[i] = graph_of_counters(500, &count);
    }
    for (int i = 0; i < EXECUTORS; i++)
        assert_non_null(handles[i] = thrum_start_n(ex[i], graphs[i], 4));
    for (int i = 0; i < EXECUTORS; i++) {
        assert_int_equal(thrum_wait(handles[i]), 0);
        thrum_release(handles[i]);
        assert_int_equal(thrum_graph_free(graphs[i]), 0);
        assert_int_equal(thrum_executor_free(ex[i]), 0);
    }
    assert_int_equal(count, EXECUTORS * 2000);
}

TEST(one_graph_runs_on_one_executor_after_the_other)
{
    atomic_int count = 0;
    thrum_graph *graph = graph_of_counters(100, &count);
    for (int i = 0; i < 10; i++) {
        thrum_executor *ex = i % 2 ? executor_with(2) : executor_threadless();
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
    assert_int_equal(count, 1000);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(freeing_an_executor_waits_for_what_was_started)
{
    for (int round = 0; round < 20; round++) {
        thrum_executor *ex = round % 3 ? executor_with(round % 3) : executor_threadless();
        atomic_int count = 0;
        thrum_graph *graph = graph_of_counters(200, &count);
        for (int i = 0; i < 10; i++) {
            thrum_release(thrum_start(ex, graph));
            assert_int_equal(thrum_async(ex, count_up, &count), 0);
        }
        assert_int_equal(thrum_executor_free(ex), 0);
        assert_int_equal(count, 2010);
        assert_int_equal(thrum_graph_free(graph), 0);
    }
}

TEST(a_handle_outlives_its_executor)
{
    thrum_executor *ex = executor_with(2);
    atomic_int count = 0;
    thrum_graph *graph = graph_of_counters(10, &count);
    thrum_handle *handle = thrum_start(ex, graph);
    assert_int_equal(thrum_executor_free(ex), 0);
    assert_true(thrum_done(handle));
    assert_int_equal(thrum_wait(handle), 0);
    thrum_release(handle);
    assert_int_equal(count, 10);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(executors_come_and_go)
{
    for (int i = 0; i < 200; i++) {
        thrum_executor *ex = executor_with(1 + i % 4);
        if (i % 2) {
            atomic_int count = 0;
            assert_int_equal(thrum_async(ex, count_up, &count), 0);
            assert_int_equal(thrum_executor_wait(ex), 0);
            assert_int_equal(count, 1);
        }
        assert_int_equal(thrum_executor_free(ex), 0);
    }
    assert_int_equal(thrum_executor_free(NULL), 0);
}

/* Tasks that can only end when all of them run at once. */
struct party {
    int guests;
    atomic_int here;
};

static void wait_for_all_guests(void *arg)
{
    struct party *party = arg;
    atomic_fetch_add(&party->here, 1);
    while (atomic_load(&party->here) < party->guests)
        sched_yield();
}

TEST(as_many_tasks_run_at_once_as_there_are_workers)
{
    static const int sizes[] = {2, 3, 8};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        thrum_executor *kinds[] = {executor_with(sizes[i]), executor_blocking(sizes[i])};
        for (int kind = 0; kind < 2; kind++) {
            struct party party = {.guests = sizes[i]};
            thrum_graph *graph = thrum_graph_new("party");
            for (int guest = 0; guest < sizes[i]; guest++)
                thrum_task_new(graph, wait_for_all_guests, &party);
            for (int round = 0; round < 20; round++) {
                atomic_store(&party.here, 0);
                assert_int_equal(thrum_run(kinds[kind], graph), 0);
            }
            assert_int_equal(thrum_graph_free(graph), 0);
            assert_int_equal(thrum_executor_free(kinds[kind]), 0);
        }
    }
}

static double process_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Processor time in a pause; the least of several, since on a loaded machine it may take workers a while until they
 * sleep. */
static double seconds_in_a_pause(void)
{
    double least = 1;
    for (int i = 0; i < 10 && least > 0.0025; i++) {
        double before = process_seconds();
        pause_ms(100);
        double used = process_seconds() - before;
        least = used < least ? used : least;
    }
    return least;
}

TEST(an_idle_executor_uses_no_processor_time)
{
    thrum_executor *ex = executor_with(4);
    atomic_int count = 0;
    thrum_graph *graph = graph_of_counters(100, &count);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_true(seconds_in_a_pause() <= 0.0025);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_executor_has_as_many_workers_as_asked_for),
        cmocka_unit_test(without_a_configuration_there_is_a_worker_per_usable_core),
        cmocka_unit_test(the_default_executor_is_always_the_same),
        cmocka_unit_test(without_threads_the_waiting_thread_does_all_the_work),
        cmocka_unit_test(without_threads_nothing_runs_until_somebody_waits),
        cmocka_unit_test(blocking_callers_run_no_tasks),
        cmocka_unit_test(several_executors_work_side_by_side),
        cmocka_unit_test(one_graph_runs_on_one_executor_after_the_other),
        cmocka_unit_test(freeing_an_executor_waits_for_what_was_started),
        cmocka_unit_test(a_handle_outlives_its_executor),
        cmocka_unit_test(executors_come_and_go),
        cmocka_unit_test(as_many_tasks_run_at_once_as_there_are_workers),
        cmocka_unit_test(an_idle_executor_uses_no_processor_time),
    };
    return RUN_TESTS(tests, 60);
}
