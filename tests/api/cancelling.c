/* SPDX-License-Identifier: MIT
 *
 * Ending runs early and running them until enough: thrum_cancel, thrum_run_until, thrum_start_until.
 */
#include "tasks.h"

/* ---- Cancelling runs --------------------------------------------------------------------------------------------- */

/* A task at a gate and one behind it. */
struct gated {
    thrum_executor *ex;
    thrum_graph *graph;
    struct gate gate;
    int behind;
};

static void gated_open(struct gated *gated, int workers)
{
    gated->ex = executor_with(workers);
    gated->graph = thrum_graph_new("gated");
    thrum_precede(thrum_task_new(gated->graph, stay_at_gate, &gated->gate),
                  thrum_task_new(gated->graph, plain_count_up, &gated->behind));
}

static void gated_close(struct gated *gated)
{
    assert_int_equal(thrum_graph_free(gated->graph), 0);
    assert_int_equal(thrum_executor_free(gated->ex), 0);
}

TEST(what_has_not_started_does_not_start_and_what_runs_is_waited_for)
{
    for (int workers = 1; workers <= 3; workers++) {
        struct gated gated = {0};
        gated_open(&gated, workers);
        thrum_handle *handle = thrum_start_n(gated.ex, gated.graph, 1000);
        await_entered(&gated.gate);
        assert_int_equal(thrum_cancel(handle), 0);
        assert_false(thrum_done(handle));
        open_gate(&gated.gate);
        assert_int_equal(thrum_wait(handle), THRUM_ECANCELLED);
        assert_int_equal(thrum_wait(handle), THRUM_ECANCELLED);
        assert_contains(thrum_message(handle), "cancelled");
        assert_contains(thrum_message(gated.graph), "cancelled");
        assert_int_equal(gated.behind, 0);
        assert_int_equal(thrum_cancel(handle), 0);
        thrum_release(handle);
        assert_int_equal(thrum_run_n(gated.ex, gated.graph, 3), 0); /* the graph is unharmed */
        assert_int_equal(gated.behind, 3);
        gated_close(&gated);
    }
}

TEST(a_queued_run_is_cancelled_alone)
{
    struct gated gated = {0};
    gated_open(&gated, 2);
    thrum_handle *handles[4];
    for (int i = 0; i < 4; i++)
        handles[i] = thrum_start(gated.ex, gated.graph);
    await_entered(&gated.gate);
    assert_int_equal(thrum_cancel(handles[1]), 0);
    assert_int_equal(thrum_cancel(handles[2]), 0);
    open_gate(&gated.gate);
    static const int codes[] = {0, THRUM_ECANCELLED, THRUM_ECANCELLED, 0};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(thrum_wait(handles[i]), codes[i]);
        thrum_release(handles[i]);
    }
    assert_int_equal(gated.behind, 2);
    gated_close(&gated);
}

TEST(cancelling_what_has_ended_changes_nothing)
{
    thrum_graph *graph = thrum_graph_new("ended");
    int count = 0;
    thrum_task_new(graph, plain_count_up, &count);
    thrum_handle *handle = thrum_start(NULL, graph);
    assert_int_equal(thrum_wait(handle), 0);
    assert_int_equal(thrum_cancel(handle), 0);
    assert_int_equal(thrum_wait(handle), 0);
    assert_string_equal(thrum_message(handle), "");
    thrum_release(handle);
    assert_int_equal(count, 1);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_null_handle_is_named)
{
    assert_error(thrum_cancel(NULL), THRUM_EINVAL, "thrum_cancel: the handle is NULL");
}

static void fail_then_stay(void *arg)
{
    thrum_fail(19, "before it was cancelled");
    stay_at_gate(arg);
}

static void stay_then_fail(void *arg)
{
    stay_at_gate(arg);
    thrum_fail(23, "after it was cancelled");
}

TEST(the_first_of_failing_and_cancelling_counts)
{
    thrum_executor *ex = executor_with(2);
    thrum_fn *const tasks[] = {fail_then_stay, stay_then_fail};
    static const int codes[] = {19, THRUM_ECANCELLED};
    for (int i = 0; i < 2; i++) {
        struct gate gate = {0};
        thrum_graph *graph = thrum_graph_new("race");
        thrum_task_new(graph, tasks[i], &gate);
        thrum_handle *handle = thrum_start(ex, graph);
        await_entered(&gate);
        assert_int_equal(thrum_cancel(handle), 0);
        open_gate(&gate);
        assert_int_equal(thrum_wait(handle), codes[i]);
        thrum_release(handle);
        assert_int_equal(thrum_graph_free(graph), 0);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_cancelled_run_calls_its_callbacks)
{
    struct gated gated = {0};
    atomic_int called = 0;
    gated_open(&gated, 1);
    thrum_handle *handle = thrum_start(gated.ex, gated.graph);
    await_entered(&gated.gate);
    assert_int_equal(thrum_then(handle, count_up, &called), 0);
    assert_int_equal(thrum_cancel(handle), 0);
    assert_int_equal(thrum_then(handle, count_up, &called), 0);
    open_gate(&gated.gate);
    assert_int_equal(thrum_wait(handle), THRUM_ECANCELLED);
    assert_int_equal(called, 2);
    thrum_release(handle);
    gated_close(&gated);
}

struct waiting {
    thrum_handle *handle;
    atomic_int waits, codes;
};

/* The fourth to come cancels what the others wait for. */
static void wait_or_cancel(void *arg)
{
    struct waiting *waiting = arg;
    if (atomic_fetch_add(&waiting->waits, 1) == 3) {
        pause_ms(5); /* by now they sleep, or help */
        if (thrum_cancel(waiting->handle))
            return;
    }
    if (thrum_wait(waiting->handle) == THRUM_ECANCELLED)
        count_up(&waiting->codes);
}

static int for_ever(void *arg)
{
    (void)arg;
    return 0;
}

static thrum_graph *endless_loop(atomic_int *rounds)
{
    thrum_graph *graph = thrum_graph_new("endless");
    thrum_task *start = thrum_placeholder_new(graph), *body = thrum_task_new(graph, count_up, rounds);
    thrum_task *again = thrum_condition_new(graph, for_ever, NULL);
    thrum_precede(start, body);
    thrum_precede(body, again);
    thrum_precede(again, body);
    return graph;
}

TEST(waiting_threads_return_when_another_one_cancels)
{
    thrum_executor *executors[] = {executor_with(1), executor_with(2), executor_blocking(2)};
    for (size_t i = 0; i < COUNT_OF(executors); i++) {
        atomic_int rounds = 0;
        thrum_graph *graph = endless_loop(&rounds);
        struct waiting waiting = {.handle = thrum_start(executors[i], graph)};
        in_threads(4, wait_or_cancel, &waiting);
        assert_int_equal(waiting.codes, 4);
        thrum_release(waiting.handle);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(executors[i]), 0);
    }
}

TEST(on_an_executor_without_threads_a_cancelled_run_ends_in_the_wait)
{
    thrum_executor *ex = executor_threadless();
    atomic_int rounds = 0;
    thrum_graph *graph = endless_loop(&rounds);
    thrum_handle *handle = thrum_start(ex, graph);
    assert_int_equal(thrum_cancel(handle), 0);
    assert_int_equal(thrum_wait(handle), THRUM_ECANCELLED);
    assert_int_equal(rounds, 0);
    thrum_release(handle);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- From inside a task ------------------------------------------------------------------------------------------ */

struct inside {
    _Atomic(thrum_handle *) handle;
    atomic_int code, later, children;
};

static void cancel_own_run(void *arg)
{
    struct inside *inside = arg;
    thrum_handle *handle;
    while (!(handle = atomic_load(&inside->handle)))
        sched_yield();
    inside->code = thrum_cancel(handle);
}

TEST(a_task_cancels_the_run_that_it_is_part_of)
{
    for (int workers = 1; workers <= 2; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("enough");
        struct inside inside = {.code = 1};
        thrum_task *task = thrum_task_new(graph, cancel_own_run, &inside);
        for (int i = 0; i < 10; i++)
            thrum_precede(task, thrum_task_new(graph, count_up, &inside.later));
        thrum_handle *handle = thrum_start_n(ex, graph, 50);
        atomic_store(&inside.handle, handle);
        assert_int_equal(thrum_wait(handle), THRUM_ECANCELLED);
        assert_int_equal(inside.code, 0);
        assert_int_equal(inside.later, 0);
        thrum_release(handle);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void cancel_and_spawn(thrum_scope *scope, void *arg)
{
    struct inside *inside = arg;
    cancel_own_run(inside);
    for (int i = 0; i < 10; i++)
        thrum_spawn(scope, count_up_in_scope, &inside->children);
}

TEST(what_a_scope_spawns_after_the_run_was_cancelled_does_not_start)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("scope");
    struct inside inside = {.code = 1};
    thrum_precede(thrum_scope_task_new(graph, cancel_and_spawn, &inside),
                  thrum_task_new(graph, count_up, &inside.later));
    thrum_handle *handle = thrum_start(ex, graph);
    atomic_store(&inside.handle, handle);
    assert_int_equal(thrum_wait(handle), THRUM_ECANCELLED);
    assert_int_equal(inside.children, 0);
    assert_int_equal(inside.later, 0);
    thrum_release(handle);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Submitted functions ----------------------------------------------------------------------------------------- */

TEST(a_submitted_function_that_has_not_started_is_never_called)
{
    thrum_executor *ex = executor_blocking(1);
    struct gate gate = {0};
    atomic_int called = 0, told = 0;
    thrum_handle *first = thrum_submit(ex, stay_at_gate, &gate);
    await_entered(&gate);
    thrum_handle *second = thrum_submit(ex, count_up, &called), *third = thrum_submit(ex, count_up, &called);
    assert_int_equal(thrum_then(second, count_up, &told), 0);
    assert_int_equal(thrum_cancel(second), 0);
    open_gate(&gate);
    assert_int_equal(thrum_wait(first), 0);
    assert_int_equal(thrum_wait(second), THRUM_ECANCELLED);
    assert_contains(thrum_message(second), "cancelled");
    assert_int_equal(thrum_wait(third), 0);
    assert_int_equal(called, 1);
    assert_int_equal(told, 1);
    thrum_release(first);
    thrum_release(second);
    thrum_release(third);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_submitted_function_that_runs_goes_on_to_its_end)
{
    thrum_executor *ex = executor_with(1);
    struct gate gate = {0};
    thrum_handle *handle = thrum_submit(ex, stay_at_gate, &gate);
    await_entered(&gate);
    assert_int_equal(thrum_cancel(handle), 0);
    assert_false(thrum_done(handle));
    open_gate(&gate);
    assert_int_equal(thrum_wait(handle), THRUM_ECANCELLED);
    thrum_release(handle);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_submitted_function_that_has_ended_stays_as_it_is)
{
    atomic_int called = 0;
    thrum_handle *handle = thrum_submit(NULL, count_up, &called);
    assert_int_equal(thrum_wait(handle), 0);
    assert_int_equal(thrum_cancel(handle), 0);
    assert_int_equal(thrum_wait(handle), 0);
    assert_int_equal(called, 1);
    thrum_release(handle);
}

/* ---- Until ------------------------------------------------------------------------------------------------------- */

/* Plain numbers: asked by one thread at a time, and never while the graph runs. */
struct until {
    int asked, enough, ran;
};

static bool is_enough(void *arg)
{
    struct until *until = arg;
    until->asked++;
    return until->ran >= until->enough;
}

static void run_once_more(void *arg)
{
    ((struct until *)arg)->ran++;
}

static thrum_graph *until_graph(struct until *until)
{
    thrum_graph *graph = thrum_graph_new("until");
    thrum_task *first = thrum_placeholder_new(graph), *last = thrum_task_new(graph, run_once_more, until);
    for (int i = 0; i < 4; i++) {
        thrum_task *task = thrum_placeholder_new(graph);
        thrum_precede(first, task);
        thrum_precede(task, last);
    }
    return graph;
}

TEST(the_function_is_asked_before_each_run_the_first_one_too)
{
    thrum_executor *executors[] = {executor_with(1),     executor_with(2),      executor_with(4),
                                   executor_blocking(2), executor_threadless(), executor_blocking(1)};
    for (size_t i = 0; i < COUNT_OF(executors); i++) {
        struct until until = {.enough = 0};
        thrum_graph *graph = until_graph(&until);
        assert_int_equal(thrum_run_until(executors[i], graph, is_enough, &until), 0);
        assert_int_equal(until.asked, 1);
        assert_int_equal(until.ran, 0);
        until.enough = 100;
        assert_int_equal(thrum_run_until(executors[i], graph, is_enough, &until), 0);
        assert_int_equal(until.asked, 102);
        assert_int_equal(until.ran, 100);
        until.enough = 150;
        thrum_handle *handle = thrum_start_until(executors[i], graph, is_enough, &until);
        assert_int_equal(thrum_wait(handle), 0);
        thrum_release(handle);
        assert_int_equal(until.asked, 153);
        assert_int_equal(until.ran, 150);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(executors[i]), 0);
    }
}

TEST(a_graph_of_one_task_runs_until_enough)
{
    struct until until = {.enough = 1000};
    thrum_graph *graph = thrum_graph_new("one");
    thrum_task_new(graph, run_once_more, &until);
    assert_int_equal(thrum_run_until(NULL, graph, is_enough, &until), 0);
    assert_int_equal(until.ran, 1000);
    assert_int_equal(until.asked, 1001);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(without_a_function_or_a_graph_nothing_runs)
{
    struct until until = {.enough = 1};
    thrum_graph *graph = until_graph(&until);
    assert_error(thrum_run_until(NULL, graph, NULL, NULL), THRUM_EINVAL, "thrum_run_until: the function is NULL");
    assert_null(thrum_start_until(NULL, graph, NULL, NULL));
    assert_contains(thrum_message(NULL), "thrum_start_until: the function is NULL");
    assert_error(thrum_run_until(NULL, NULL, is_enough, &until), THRUM_EINVAL, "the graph is NULL");
    assert_null(thrum_start_until(NULL, NULL, is_enough, &until));
    assert_int_equal(until.asked, 0);
    assert_int_equal(until.ran, 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

static bool is_never_enough(void *arg)
{
    (void)arg;
    return false;
}

TEST(an_empty_graph_is_enough_at_once)
{
    thrum_graph *graph = thrum_graph_new("empty");
    assert_int_equal(thrum_run_until(NULL, graph, is_never_enough, NULL), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(cancelling_ends_what_would_never_be_enough)
{
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("never enough");
        atomic_int ran = 0;
        thrum_precede(thrum_placeholder_new(graph), thrum_task_new(graph, count_up, &ran));
        thrum_handle *handle = thrum_start_until(ex, graph, is_never_enough, NULL);
        while (ran < 10)
            sched_yield();
        assert_int_equal(thrum_cancel(handle), 0);
        assert_int_equal(thrum_wait(handle), THRUM_ECANCELLED);
        thrum_release(handle);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void fail_in_fifth(void *arg)
{
    struct until *until = arg;
    if (++until->ran == 5)
        thrum_fail(55, "the fifth");
}

TEST(a_failure_ends_the_runs_and_the_function_is_not_asked_again)
{
    struct until until = {.enough = 1000};
    thrum_graph *graph = thrum_graph_new("fifth");
    thrum_precede(thrum_placeholder_new(graph), thrum_task_new(graph, fail_in_fifth, &until));
    assert_int_equal(thrum_run_until(NULL, graph, is_enough, &until), 55);
    assert_contains(thrum_message(graph), "the fifth");
    assert_int_equal(until.ran, 5);
    assert_int_equal(until.asked, 5);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_queued_run_is_asked_when_its_turn_comes_and_a_cancelled_one_never)
{
    struct gated gated = {0};
    struct until asked = {.enough = 0}, cancelled = {.enough = 1};
    gated_open(&gated, 2);
    thrum_handle *first = thrum_start(gated.ex, gated.graph);
    await_entered(&gated.gate);
    thrum_handle *second = thrum_start_until(gated.ex, gated.graph, is_enough, &asked);
    thrum_handle *third = thrum_start_until(gated.ex, gated.graph, is_enough, &cancelled);
    assert_int_equal(asked.asked, 0);
    assert_int_equal(thrum_cancel(third), 0);
    open_gate(&gated.gate);
    assert_int_equal(thrum_wait(first), 0);
    assert_int_equal(thrum_wait(second), 0);
    assert_int_equal(thrum_wait(third), THRUM_ECANCELLED);
    assert_int_equal(asked.asked, 1);
    assert_int_equal(cancelled.asked, 0);
    assert_int_equal(gated.behind, 1);
    thrum_release(first);
    thrum_release(second);
    thrum_release(third);
    gated_close(&gated);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_has_not_started_does_not_start_and_what_runs_is_waited_for),
        cmocka_unit_test(a_queued_run_is_cancelled_alone),
        cmocka_unit_test(cancelling_what_has_ended_changes_nothing),
        cmocka_unit_test(a_null_handle_is_named),
        cmocka_unit_test(the_first_of_failing_and_cancelling_counts),
        cmocka_unit_test(a_cancelled_run_calls_its_callbacks),
        cmocka_unit_test(waiting_threads_return_when_another_one_cancels),
        cmocka_unit_test(on_an_executor_without_threads_a_cancelled_run_ends_in_the_wait),
        cmocka_unit_test(a_task_cancels_the_run_that_it_is_part_of),
        cmocka_unit_test(what_a_scope_spawns_after_the_run_was_cancelled_does_not_start),
        cmocka_unit_test(a_submitted_function_that_has_not_started_is_never_called),
        cmocka_unit_test(a_submitted_function_that_runs_goes_on_to_its_end),
        cmocka_unit_test(a_submitted_function_that_has_ended_stays_as_it_is),
        cmocka_unit_test(the_function_is_asked_before_each_run_the_first_one_too),
        cmocka_unit_test(a_graph_of_one_task_runs_until_enough),
        cmocka_unit_test(without_a_function_or_a_graph_nothing_runs),
        cmocka_unit_test(an_empty_graph_is_enough_at_once),
        cmocka_unit_test(cancelling_ends_what_would_never_be_enough),
        cmocka_unit_test(a_failure_ends_the_runs_and_the_function_is_not_asked_again),
        cmocka_unit_test(a_queued_run_is_asked_when_its_turn_comes_and_a_cancelled_one_never),
    };
    return RUN_TESTS(tests, 60);
}
