/* SPDX-License-Identifier: MIT
 *
 * Handles: waiting, asking, callbacks, releasing.
 */
#include "tasks.h"

/* A graph of one task that stays at a gate, so that a test decides how long its run goes on. */
struct held {
    thrum_executor *ex;
    thrum_graph *graph;
    struct gate gate;
    thrum_handle *handle;
    atomic_int waited;
};

static void held_start(struct held *held)
{
    held->ex = executor_with(2);
    held->graph = thrum_graph_new("held");
    thrum_task_new(held->graph, stay_at_gate, &held->gate);
    held->handle = thrum_start(held->ex, held->graph);
    assert_non_null(held->handle);
}

static void held_end(struct held *held)
{
    assert_int_equal(thrum_executor_free(held->ex), 0);
    assert_int_equal(thrum_graph_free(held->graph), 0);
}

TEST(a_run_is_done_when_its_last_task_has_ended)
{
    struct held held = {0};
    held_start(&held);
    await_entered(&held.gate);
    assert_false(thrum_done(held.handle));
    open_gate(&held.gate);
    assert_int_equal(thrum_wait(held.handle), 0);
    assert_true(thrum_done(held.handle));
    thrum_release(held.handle);
    held_end(&held);
}

TEST(done_becomes_true_without_anybody_waiting)
{
    struct held held = {0};
    held_start(&held);
    open_gate(&held.gate);
    while (!thrum_done(held.handle))
        sched_yield();
    thrum_release(held.handle);
    held_end(&held);
}

static void wait_for_held(void *arg)
{
    struct held *held = arg;
    for (int i = 0; i < 3; i++)
        if (thrum_wait(held->handle) == 0 && thrum_done(held->handle))
            count_up(&held->waited);
}

static void open_soon(void *gate)
{
    pause_ms(5);
    open_gate(gate);
}

TEST(many_threads_wait_for_one_run_many_times)
{
    struct held held = {0};
    held_start(&held);
    pthread_t opener;
    struct thread_call call = {open_soon, &held.gate};
    assert_int_equal(pthread_create(&opener, NULL, thread_call_run, &call), 0);
    in_threads(8, wait_for_held, &held);
    assert_int_equal(held.waited, 24);
    pthread_join(opener, NULL);
    thrum_release(held.handle);
    held_end(&held);
}

struct note {
    int *length, *list;
    int mine;
};

static void add_note(void *arg)
{
    struct note *note = arg;
    note->list[(*note->length)++] = note->mine;
}

TEST(callbacks_run_in_order_before_the_wait_returns)
{
    struct held held = {0};
    int list[10], length = 0;
    struct note notes[10];
    held_start(&held);
    for (int i = 0; i < 10; i++) {
        notes[i] = (struct note){&length, list, i};
        assert_int_equal(thrum_then(held.handle, add_note, &notes[i]), 0);
    }
    open_gate(&held.gate);
    assert_int_equal(thrum_wait(held.handle), 0);
    assert_int_equal(length, 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(list[i], i);
    thrum_release(held.handle);
    held_end(&held);
}

static void note_thread(void *thread)
{
    *(pthread_t *)thread = pthread_self();
}

TEST(a_callback_on_an_ended_run_is_called_here_and_now)
{
    struct held held = {0};
    pthread_t thread;
    held_start(&held);
    open_gate(&held.gate);
    assert_int_equal(thrum_wait(held.handle), 0);
    assert_int_equal(thrum_then(held.handle, note_thread, &thread), 0);
    assert_true(pthread_equal(thread, pthread_self()));
    thrum_release(held.handle);
    held_end(&held);
}

TEST(a_handle_may_be_released_before_its_run_has_ended)
{
    struct held held = {0};
    atomic_int called = 0;
    held_start(&held);
    assert_int_equal(thrum_then(held.handle, count_up, &called), 0);
    thrum_release(held.handle);
    thrum_release(NULL);
    open_gate(&held.gate);
    assert_int_equal(thrum_executor_wait(held.ex), 0);
    assert_int_equal(called, 1);
    held_end(&held);
}

TEST(thousands_of_handles_are_released_early)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("early");
    int value = 0;
    thrum_task_new(graph, plain_count_up, &value);
    for (int i = 0; i < 2000; i++) {
        thrum_handle *handle = thrum_start(ex, graph);
        assert_non_null(handle);
        thrum_release(handle);
    }
    assert_int_equal(thrum_executor_wait(ex), 0);
    assert_int_equal(value, 2000);
    assert_int_equal(thrum_executor_free(ex), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

struct relay {
    thrum_executor *ex;
    thrum_graph *graph;
    int left;
    atomic_int failures; /* the next callback may run before this one has returned */
};

static void start_the_next(void *arg)
{
    struct relay *relay = arg;
    if (relay->left-- == 0)
        return;
    thrum_handle *next = thrum_start(relay->ex, relay->graph);
    if (!next || thrum_then(next, start_the_next, relay))
        count_up(&relay->failures);
    thrum_release(next);
}

TEST(a_callback_may_start_new_runs)
{
    struct relay relay = {.ex = executor_with(2), .graph = thrum_graph_new("relay"), .left = 50};
    int value = 0;
    thrum_task_new(relay.graph, plain_count_up, &value);
    start_the_next(&relay);
    assert_int_equal(thrum_executor_wait(relay.ex), 0);
    assert_int_equal(value, 50);
    assert_int_equal(relay.failures, 0);
    assert_int_equal(thrum_executor_free(relay.ex), 0);
    assert_int_equal(thrum_graph_free(relay.graph), 0);
}

struct self_wait {
    thrum_handle *handle;
    int code;
};

static void wait_for_myself(void *arg)
{
    struct self_wait *self = arg;
    self->code = thrum_wait(self->handle);
}

TEST(a_callback_that_waits_for_its_own_handle_gets_an_error)
{
    struct held held = {0};
    held_start(&held);
    struct self_wait self = {held.handle, 0};
    assert_int_equal(thrum_then(held.handle, wait_for_myself, &self), 0);
    open_gate(&held.gate);
    assert_int_equal(thrum_wait(held.handle), 0);
    assert_int_equal(self.code, THRUM_EDEADLOCK);
    thrum_release(held.handle);
    held_end(&held);
}

static void attach_another(void *arg)
{
    struct held *held = arg;
    if (thrum_then(held->handle, count_up, &held->waited) == 0)
        count_up(&held->waited);
}

TEST(a_callback_may_attach_a_callback)
{
    struct held held = {0};
    held_start(&held);
    assert_int_equal(thrum_then(held.handle, attach_another, &held), 0);
    open_gate(&held.gate);
    assert_int_equal(thrum_wait(held.handle), 0);
    assert_int_equal(held.waited, 2);
    thrum_release(held.handle);
    held_end(&held);
}

struct race {
    thrum_executor *ex;
    atomic_int calls;
};

static void race_then_with_the_end(void *arg)
{
    struct race *race = arg;
    atomic_int nothing = 0;
    for (int i = 0; i < 500; i++) {
        thrum_handle *handle = thrum_submit(race->ex, count_up, &nothing);
        thrum_then(handle, count_up, &race->calls);
        thrum_wait(handle);
        thrum_release(handle);
    }
}

TEST(each_callback_is_called_once_however_it_races_with_the_end)
{
    struct race race = {.ex = executor_with(2)};
    in_threads(4, race_then_with_the_end, &race);
    assert_int_equal(race.calls, 2000);
    assert_int_equal(thrum_executor_free(race.ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_done_when_its_last_task_has_ended),
        cmocka_unit_test(done_becomes_true_without_anybody_waiting),
        cmocka_unit_test(many_threads_wait_for_one_run_many_times),
        cmocka_unit_test(callbacks_run_in_order_before_the_wait_returns),
        cmocka_unit_test(a_callback_on_an_ended_run_is_called_here_and_now),
        cmocka_unit_test(a_handle_may_be_released_before_its_run_has_ended),
        cmocka_unit_test(thousands_of_handles_are_released_early),
        cmocka_unit_test(a_callback_may_start_new_runs),
        cmocka_unit_test(a_callback_that_waits_for_its_own_handle_gets_an_error),
        cmocka_unit_test(a_callback_may_attach_a_callback),
        cmocka_unit_test(each_callback_is_called_once_however_it_races_with_the_end),
    };
    return RUN_TESTS(tests, 60);
}
