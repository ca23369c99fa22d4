/* SPDX-License-Identifier: MIT
 *
 * Who sleeps is woken when there is work: by every way in which work appears, from all workers asleep.
 *
 * The work is a meeting: functions that wait for each other, for a while. As many must be there as there are workers,
 * so they wait in vain when a waking is missing.
 */
#include "tasks.h"

#include "exec/exec_int.h"
#include "sys/clock.h"

enum { WORKERS = 3, ROUNDS = 20 };
static const int64_t patience_ns = INT64_C(3000000000);

/* Ends the program, like the watchdog: who waits for a waking that is lost cannot be brought back. */
static void be_patient(int64_t begin, const char *what)
{
    if (thrum__now() - begin > patience_ns) {
        fprintf(stderr, "\nwaited for 3 s in vain: %s\n", what);
        abort();
    }
    sched_yield();
}

struct meeting {
    int expected;
    atomic_int arrived;
};

static void meet(void *arg)
{
    struct meeting *meeting = arg;
    int64_t begin = thrum__now();
    atomic_fetch_add(&meeting->arrived, 1);
    while (atomic_load(&meeting->arrived) < meeting->expected)
        be_patient(begin, "not all came to the meeting");
}

static void meet_in_scope(thrum_scope *scope, void *arg)
{
    (void)scope;
    meet(arg);
}

static void meet_by_copy(thrum_scope *scope, void *arg)
{
    (void)scope;
    meet(*(struct meeting **)arg);
}

static void expect_met(struct meeting *meeting)
{
    assert_int_equal(atomic_load(&meeting->arrived), meeting->expected);
    atomic_store(&meeting->arrived, 0);
}

static void await_rest(thrum_executor *ex)
{
    int64_t begin = thrum__now();
    while (thrum__life_look(&ex->cpu.life).awake > 0)
        be_patient(begin, "not all workers went to sleep, or a place stayed taken");
}

TEST(sources_wake_as_many_as_there_are_places)
{
    thrum_executor *ex = executor_with(WORKERS);
    struct meeting meeting = {.expected = WORKERS};
    thrum_graph *graph = thrum_graph_new("sources");
    for (int i = 0; i < WORKERS; i++)
        thrum_task_new(graph, meet, &meeting);
    for (int round = 0; round < ROUNDS; round++) {
        await_rest(ex);
        assert_int_equal(thrum_run(ex, graph), 0);
        expect_met(&meeting);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
    thrum_graph_free(graph);
}

TEST(sources_of_a_started_graph_wake_the_workers)
{
    thrum_executor *ex = executor_blocking(WORKERS);
    struct meeting meeting = {.expected = WORKERS};
    thrum_graph *graph = thrum_graph_new("started");
    for (int i = 0; i < WORKERS; i++)
        thrum_task_new(graph, meet, &meeting);
    for (int round = 0; round < ROUNDS; round++) {
        await_rest(ex);
        thrum_handle *handle = thrum_start(ex, graph);
        assert_int_equal(thrum_wait(handle), 0);
        thrum_release(handle);
        expect_met(&meeting);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
    thrum_graph_free(graph);
}

TEST(tasks_that_become_ready_wake_the_workers)
{
    thrum_executor *ex = executor_with(WORKERS);
    struct meeting meeting = {.expected = WORKERS};
    thrum_graph *graph = thrum_graph_new("fan");
    thrum_task *first = thrum_task_new(graph, do_nothing, NULL);
    for (int i = 0; i < WORKERS; i++)
        thrum_edge(first, thrum_task_new(graph, meet, &meeting));
    for (int round = 0; round < ROUNDS; round++) {
        await_rest(ex);
        assert_int_equal(thrum_run(ex, graph), 0);
        expect_met(&meeting);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
    thrum_graph_free(graph);
}

TEST(submitted_functions_wake_the_workers)
{
    thrum_executor *ex = executor_blocking(WORKERS);
    struct meeting meeting = {.expected = WORKERS};
    for (int round = 0; round < ROUNDS; round++) {
        await_rest(ex);
        for (int i = 0; i < WORKERS; i++)
            assert_int_equal(thrum_async(ex, meet, &meeting), 0);
        assert_int_equal(thrum_executor_wait(ex), 0);
        expect_met(&meeting);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void spawn_and_meet(thrum_scope *up, void *arg)
{
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    for (int i = 1; i < WORKERS; i++)
        thrum_spawn(&scope, meet_in_scope, arg);
    meet(arg);
    thrum_join(&scope);
}

static void spawn_copies_and_meet(thrum_scope *up, void *arg)
{
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    for (int i = 1; i < WORKERS; i++)
        thrum_spawn_copy(&scope, meet_by_copy, &arg, sizeof arg);
    meet(arg);
    thrum_join(&scope);
}

static void run_scope_from_rest(thrum_scope_fn *fn)
{
    thrum_executor *ex = executor_with(WORKERS);
    struct meeting meeting = {.expected = WORKERS};
    for (int round = 0; round < ROUNDS; round++) {
        await_rest(ex);
        assert_int_equal(thrum_scope_run(ex, fn, &meeting), 0);
        expect_met(&meeting);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(spawned_children_wake_the_workers)
{
    run_scope_from_rest(spawn_and_meet);
}

TEST(children_spawned_with_a_copy_wake_the_workers)
{
    run_scope_from_rest(spawn_copies_and_meet);
}

/* All in one scope: children are stolen and joined, and the places are used again. */
struct rounds {
    struct meeting meetings[ROUNDS];
};

static void meet_again_and_again(thrum_scope *up, void *arg)
{
    struct rounds *rounds = arg;
    for (int round = 0; round < ROUNDS; round++)
        spawn_and_meet(up, &rounds->meetings[round]);
}

TEST(children_can_be_stolen_again_after_a_stolen_one_was_joined)
{
    struct rounds rounds;
    for (int round = 0; round < ROUNDS; round++)
        rounds.meetings[round] = (struct meeting){.expected = WORKERS};
    thrum_executor *ex = executor_with(WORKERS);
    assert_int_equal(thrum_scope_run(ex, meet_again_and_again, &rounds), 0);
    for (int round = 0; round < ROUNDS; round++)
        expect_met(&rounds.meetings[round]);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Waiting inside tasks ---------------------------------------------------------------------------------------- */

struct slow_child {
    atomic_bool begun;
    int value; /* plain: the join orders it */
};

static void be_slow(thrum_scope *scope, void *arg)
{
    struct slow_child *child = arg;
    (void)scope;
    atomic_store(&child->begun, true);
    pause_ms(20);
    child->value = 42;
}

static void join_slow_child(thrum_scope *up, void *arg)
{
    struct slow_child *child = arg;
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    thrum_spawn(&scope, be_slow, child);
    int64_t begin = thrum__now();
    while (!atomic_load(&child->begun))
        be_patient(begin, "nobody stole the child");
    thrum_join(&scope);
    child->value++;
}

/* Not by thrum_wait: the test is not to hang with the run. */
static void await_end(const thrum_handle *handle)
{
    int64_t begin = thrum__now();
    while (!thrum_done(handle))
        be_patient(begin, "the run did not end");
}

TEST(a_join_that_parks_is_woken_when_the_stolen_child_is_done)
{
    struct slow_child child;
    thrum_executor *ex = executor_blocking(WORKERS);
    thrum_graph *graph = thrum_graph_new("slow");
    thrum_scope_task_new(graph, join_slow_child, &child);
    for (int round = 0; round < 5; round++) {
        child.value = 0;
        atomic_store(&child.begun, false);
        thrum_handle *handle = thrum_start(ex, graph);
        await_end(handle);
        assert_int_equal(child.value, 43);
        thrum_release(handle);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
    thrum_graph_free(graph);
}

static void wait_for_handle(void *handle)
{
    thrum_wait(handle);
}

/* Both workers are taken: one is at the gate, one waits for it. Who opens the gate needs a place. */
TEST(a_worker_that_waits_inside_a_task_lends_its_place)
{
    thrum_executor *ex = executor_blocking(2);
    struct meeting meeting = {.expected = 2};
    thrum_handle *guest = thrum_submit(ex, meet, &meeting);
    while (atomic_load(&meeting.arrived) == 0)
        sched_yield();
    thrum_handle *waiter = thrum_submit(ex, wait_for_handle, guest);
    pause_ms(10);
    thrum_handle *second = thrum_submit(ex, meet, &meeting);
    assert_int_equal(thrum_wait(second), 0);
    assert_int_equal(thrum_wait(waiter), 0);
    assert_int_equal(thrum_wait(guest), 0);
    expect_met(&meeting);
    thrum_release(guest);
    thrum_release(waiter);
    thrum_release(second);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(everybody_sleeps_after_the_last_run_and_no_place_stays_taken)
{
    thrum_executor *ex = executor_with(WORKERS);
    atomic_int count = 0;
    thrum_graph *graph = thrum_graph_new("often");
    for (int i = 0; i < 10; i++)
        thrum_task_new(graph, count_up, &count);
    for (int round = 0; round < 100; round++)
        assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(count, 1000);
    await_rest(ex);
    thrum__life_view view = thrum__life_look(&ex->cpu.life);
    assert_int_equal(view.awake, 0);
    assert_int_equal(view.searching, 0);
    assert_true(view.top >= 0);
    assert_int_equal(thrum_executor_free(ex), 0);
    thrum_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_join_that_parks_is_woken_when_the_stolen_child_is_done),
        cmocka_unit_test(sources_wake_as_many_as_there_are_places),
        cmocka_unit_test(sources_of_a_started_graph_wake_the_workers),
        cmocka_unit_test(tasks_that_become_ready_wake_the_workers),
        cmocka_unit_test(submitted_functions_wake_the_workers),
        cmocka_unit_test(spawned_children_wake_the_workers),
        cmocka_unit_test(children_spawned_with_a_copy_wake_the_workers),
        cmocka_unit_test(children_can_be_stolen_again_after_a_stolen_one_was_joined),
        cmocka_unit_test(a_worker_that_waits_inside_a_task_lends_its_place),
        cmocka_unit_test(everybody_sleeps_after_the_last_run_and_no_place_stays_taken),
    };
    return RUN_TESTS(tests, 30);
}
