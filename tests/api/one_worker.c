/* SPDX-License-Identifier: MIT
 *
 * Flows on an executor with one worker: whoever inserts runs tasks itself, those of codelets that it knows as brief,
 * while it has nothing else to do; and it never runs those that may wait for it.
 */
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

/* A sanitizer makes inserting slow too; bodies take longer than that. */
enum { MANY = SANITIZED_THREAD ? 2000 : 6000, BODY_NS = SANITIZED_THREAD ? 40000 : 6000 };

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

static pthread_t inserter;
static atomic_int here, elsewhere, overlaps, inside;
static atomic_bool gate;

static void note_thread(void)
{
    atomic_fetch_add(pthread_equal(pthread_self(), inserter) ? &here : &elsewhere, 1);
}

static void work(const thrum_buffer *b, const void *arg)
{
    int64_t until = now() + BODY_NS;
    (void)arg;
    if (atomic_exchange(&inside, 1))
        atomic_fetch_add(&overlaps, 1);
    note_thread();
    while (now() < until)
        continue;
    *(long *)b[0].ptr += 1;
    atomic_store(&inside, 0);
}

static void wait_at_gate(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    while (!atomic_load(&gate))
        sched_yield();
    *(long *)b[0].ptr += 1;
}

static void set_flag(const thrum_buffer *b, const void *arg)
{
    (void)b;
    (void)arg;
    atomic_store(&gate, true);
}

static void fail_at_last(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    if (++*(long *)b[0].ptr == 2 * MANY)
        thrum_fail(THRUM_EINVAL, "as asked");
    usleep(2);
}

static const thrum_codelet brief = {.name = "brief", .cpu = work};
static const thrum_codelet waits = {.name = "waits", .cpu = wait_at_gate};
static const thrum_codelet sets = {.name = "sets", .cpu = set_flag};
static const thrum_codelet fails = {.name = "fails", .cpu = fail_at_last};

/* ---- What all tests begin with ----------------------------------------------------------------------------------- */

typedef struct world {
    thrum_executor *ex;
    thrum_flow *flow;
    thrum_data *data;
    long count;
} world;

static void begin(world *w, const thrum_config *config)
{
    inserter = pthread_self();
    w->count = 0;
    w->ex = thrum_executor_new(config);
    w->flow = thrum_flow_new(w->ex);
    w->data = thrum_data_variable(w->ex, &w->count, sizeof w->count);
    assert_non_null(w->data);
    atomic_store(&gate, false);
}

static void end(world *w)
{
    assert_int_equal(thrum_flow_free(w->flow), 0);
    assert_int_equal(thrum_data_unregister(w->data), 0);
    assert_int_equal(thrum_executor_free(w->ex), 0);
}

static void insert(world *w, int tasks, int pause_us)
{
    atomic_store(&here, 0);
    atomic_store(&elsewhere, 0);
    for (int i = 0; i < tasks; i++) {
        assert_int_equal(thrum_insert(w->flow, &brief, THRUM_RW(w->data)), 0);
        if (pause_us)
            usleep((useconds_t)pause_us);
    }
}

/* Until whoever inserts runs most of them: after some thousands, or more if the machine has other things to do. Where
 * these leave it no peace there is nothing to be seen, for then it is right to leave tasks to the worker. */
static void learn(world *w)
{
    for (int tries = 0; tries < 30; tries++) {
        insert(w, MANY, 0);
        if (atomic_load(&here) > MANY / 2)
            return;
    }
    assert_int_equal(thrum_flow_wait(w->flow), 0);
    end(w);
    skip();
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

TEST(whoever_inserts_runs_brief_tasks)
{
    world w;
    begin(&w, &(thrum_config){.workers = 1});
    learn(&w);
    assert_int_equal(thrum_flow_wait(w.flow), 0);
    long before = w.count;
    insert(&w, MANY, 0);
    assert_int_equal(thrum_flow_wait(w.flow), 0);
    assert_int_equal(w.count, before + MANY);
    assert_int_equal(atomic_load(&here) + atomic_load(&elsewhere), MANY);
    assert_int_equal(atomic_load(&overlaps), 0);
    end(&w);
}

TEST(callers_that_must_not_run_tasks_run_none)
{
    world w;
    begin(&w, &(thrum_config){.workers = 1, .callers = THRUM_CALLERS_BLOCK});
    insert(&w, MANY, 0);
    assert_int_equal(thrum_flow_wait(w.flow), 0);
    assert_int_equal(atomic_load(&here), 0);
    assert_int_equal(w.count, MANY);
    end(&w);
}

/* The task is of a codelet of which none has ended, so it is left to the worker; and whoever inserts does not wait for
 * it. */
TEST(a_task_may_wait_for_what_comes_after_its_insertion)
{
    world w;
    begin(&w, &(thrum_config){.workers = 1});
    learn(&w);
    assert_int_equal(thrum_flow_wait(w.flow), 0);
    assert_int_equal(thrum_insert(w.flow, &waits, THRUM_RW(w.data)), 0);
    insert(&w, 2000, 0);
    assert_int_equal(atomic_load(&here) + atomic_load(&elsewhere), 0);
    atomic_store(&gate, true);
    assert_int_equal(thrum_flow_wait(w.flow), 0);
    assert_int_equal(atomic_load(&here) + atomic_load(&elsewhere), 2000);
    end(&w);
}

/* After a time in which it had other things to do, it would first wait until all that was left to the worker has
 * ended. */
TEST(whoever_catches_up_does_not_wait_for_those_who_wait_for_it)
{
    world w;
    begin(&w, &(thrum_config){.workers = 1});
    learn(&w);
    insert(&w, 16 * 64, 200);
    assert_int_equal(thrum_flow_wait(w.flow), 0);
    assert_int_equal(thrum_insert(w.flow, &waits, THRUM_RW(w.data)), 0);
    insert(&w, 4000, 0);
    assert_int_equal(atomic_load(&here) + atomic_load(&elsewhere), 0);
    atomic_store(&gate, true);
    assert_int_equal(thrum_flow_wait(w.flow), 0);
    assert_int_equal(atomic_load(&here) + atomic_load(&elsewhere), 4000);
    end(&w);
}

TEST(tasks_begin_though_whoever_inserted_them_does_not_come_back)
{
    world w;
    begin(&w, &(thrum_config){.workers = 1});
    for (int round = 0; round < 20; round++) {
        if (round == 10)
            learn(&w);
        atomic_store(&gate, false);
        assert_int_equal(thrum_insert(w.flow, &brief, THRUM_RW(w.data)), 0);
        assert_int_equal(thrum_insert(w.flow, &sets, THRUM_R(w.data)), 0);
        while (!atomic_load(&gate))
            usleep(100);
    }
    assert_int_equal(thrum_flow_wait(w.flow), 0);
    end(&w);
}

TEST(whoever_has_other_things_to_do_leaves_tasks_to_the_worker)
{
    world w;
    begin(&w, &(thrum_config){.workers = 1});
    learn(&w);
    insert(&w, 8 * 64, 200); /* that many it takes to see */
    for (int tries = 0; tries < 100; tries++) {
        insert(&w, 64, 200);
        assert_int_equal(thrum_flow_wait(w.flow), 0);
        if (atomic_load(&elsewhere) > 32)
            break;
    }
    assert_true(atomic_load(&elsewhere) > 32); /* perhaps with one that was inserted before */
    end(&w);
}

static void add_one(void *arg)
{
    ++*(long *)arg;
}

typedef struct submitter {
    pthread_t thread;
    thrum_executor *ex;
    long count;
} submitter;

static void *submit(void *arg)
{
    submitter *s = arg;
    for (int i = 0; i < 200; i++) {
        thrum_handle *handle = thrum_submit(s->ex, add_one, &s->count);
        thrum_wait(handle);
        thrum_release(handle);
        usleep(20);
    }
    return NULL;
}

TEST(others_get_their_turn_meanwhile)
{
    world w;
    submitter s;
    begin(&w, &(thrum_config){.workers = 1});
    learn(&w);
    s = (submitter){.ex = w.ex};
    assert_int_equal(pthread_create(&s.thread, NULL, submit, &s), 0);
    insert(&w, 4 * MANY, 0);
    pthread_join(s.thread, NULL);
    assert_int_equal(thrum_flow_wait(w.flow), 0);
    assert_int_equal(s.count, 200);
    assert_int_equal(atomic_load(&overlaps), 0);
    end(&w);
}

static void check_overlap(void *arg)
{
    if (atomic_exchange(&inside, 1))
        atomic_fetch_add(&overlaps, 1);
    ++*(long *)arg;
    atomic_store(&inside, 0);
}

static void *submit_checked(void *arg)
{
    submitter *s = arg;
    for (int i = 0; i < 400; i++) {
        thrum_handle *handle = thrum_submit(s->ex, check_overlap, &s->count);
        if (i % 2)
            thrum_wait(handle);
        while (!thrum_done(handle))
            usleep(10);
        thrum_release(handle);
    }
    return NULL;
}

static void *insert_elsewhere(void *arg)
{
    submitter *s = arg;
    thrum_flow *flow = thrum_flow_new(s->ex);
    thrum_data *data = thrum_data_variable(s->ex, &s->count, sizeof s->count);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(thrum_insert(flow, &brief, THRUM_RW(data)), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_data_unregister(data), 0);
    return NULL;
}

/* Whoever inserts has the place for a row of tasks; the worker, those who wait and others who insert take it away. */
TEST(one_thread_at_a_time_has_the_place)
{
    world w;
    submitter s, other;
    begin(&w, &(thrum_config){.workers = 1});
    learn(&w);
    s = other = (submitter){.ex = w.ex};
    assert_int_equal(pthread_create(&s.thread, NULL, submit_checked, &s), 0);
    insert(&w, 2 * MANY, 0);
    assert_int_equal(pthread_create(&other.thread, NULL, insert_elsewhere, &other), 0);
    insert(&w, 2 * MANY, 0);
    pthread_join(s.thread, NULL);
    pthread_join(other.thread, NULL);
    assert_int_equal(thrum_flow_wait(w.flow), 0);
    assert_int_equal(s.count, 400);
    assert_int_equal(other.count, MANY);
    assert_int_equal(atomic_load(&overlaps), 0);
    end(&w);
}

static thrum_executor *at_home, *abroad;
static atomic_bool departs;

static void open_gate(void *arg)
{
    (void)arg;
    atomic_store(&gate, true);
}

static void await_gate(void *arg)
{
    (void)arg;
    while (!atomic_load(&gate))
        sched_yield();
}

/* Brief until it is told to leave: then it waits on another executor for what only its own one's place can do. It
 * closes the gate itself: whoever inserts may be rounds ahead, and would close it before those who wait have seen it
 * open. */
static void depart(const thrum_buffer *b, const void *arg)
{
    ++*(long *)b[0].ptr;
    (void)arg;
    for (int64_t until = now() + BODY_NS; now() < until;)
        continue;
    note_thread();
    if (!atomic_exchange(&departs, false))
        return;
    atomic_store(&gate, false);
    thrum_handle *here_then = thrum_submit(at_home, open_gate, NULL);
    thrum_handle *there = thrum_submit(abroad, await_gate, NULL);
    thrum_wait(there);
    thrum_wait(here_then);
    thrum_release(there);
    thrum_release(here_then);
}

static const thrum_codelet departing = {.name = "departing", .cpu = depart};

TEST(a_task_that_leaves_its_executor_leaves_the_place_to_others)
{
    world w;
    begin(&w, &(thrum_config){.workers = 1});
    at_home = w.ex;
    abroad = thrum_executor_new(&(thrum_config){.workers = 1});
    atomic_store(&here, 0);
    for (int i = 0; i < 30 * MANY && atomic_load(&here) < MANY / 2; i++)
        assert_int_equal(thrum_insert(w.flow, &departing, THRUM_RW(w.data)), 0);
    for (int round = 0; round < 50; round++) {
        atomic_store(&departs, true);
        for (int i = 0; i < 100; i++)
            assert_int_equal(thrum_insert(w.flow, &departing, THRUM_RW(w.data)), 0);
    }
    assert_int_equal(thrum_flow_wait(w.flow), 0);
    assert_true(atomic_load(&gate));
    assert_int_equal(thrum_executor_free(abroad), 0);
    end(&w);
}

TEST(handles_acquired_elsewhere_are_waited_for)
{
    world w;
    begin(&w, &(thrum_config){.workers = 1});
    learn(&w);
    for (int i = 0; i < 100; i++) {
        insert(&w, 3, 0);
        assert_int_equal(thrum_data_acquire(w.data, THRUM_MODE_RW, NULL), 0);
        long before = w.count;
        insert(&w, 100, 0);
        assert_int_equal(w.count, before);
        assert_int_equal(thrum_data_release(w.data), 0);
        assert_int_equal(thrum_flow_wait(w.flow), 0);
        assert_int_equal(w.count, before + 100);
    }
    end(&w);
}

/* Works on the first, and notes in it what it has read of the second. */
static void note_other(const thrum_buffer *b, const void *arg)
{
    work(b, arg);
    *(long *)b[0].ptr = *(const long *)b[1].ptr;
}

static const thrum_codelet notes = {.name = "notes", .cpu = note_other};

/* A reader of x waits, since the main program has what it writes. One behind it is run at once and forgotten; then
 * comes a writer of x. */
TEST(a_writer_waits_for_readers_that_were_there_before_one_that_was_run_at_once)
{
    world w;
    long of_x = 0, of_y = 0;
    begin(&w, &(thrum_config){.workers = 1});
    thrum_data *x = thrum_data_variable(w.ex, &of_x, sizeof of_x), *y = thrum_data_variable(w.ex, &of_y, sizeof of_y);
    learn(&w);
    for (int i = 0; i < MANY; i++) /* so that these are known, too */
        assert_int_equal(thrum_insert(w.flow, &notes, THRUM_RW(w.data), THRUM_R(x)), 0);
    for (int round = 0; round < 20; round++) {
        long before = of_x;
        assert_int_equal(thrum_data_acquire(y, THRUM_MODE_RW, NULL), 0);
        assert_int_equal(thrum_insert(w.flow, &notes, THRUM_RW(y), THRUM_R(x)), 0);
        assert_int_equal(thrum_insert(w.flow, &notes, THRUM_RW(w.data), THRUM_R(x)), 0);
        assert_int_equal(thrum_insert(w.flow, &brief, THRUM_RW(x)), 0);
        assert_int_equal(thrum_data_release(y), 0);
        assert_int_equal(thrum_flow_wait(w.flow), 0);
        assert_int_equal(of_x, before + 1);
        assert_int_equal(of_y, before);
    }
    assert_int_equal(thrum_data_unregister(x), 0);
    assert_int_equal(thrum_data_unregister(y), 0);
    end(&w);
}

static void insert_inside(const thrum_buffer *b, const void *arg)
{
    world *w = *(world *const *)arg;
    thrum_flow *flow = thrum_flow_new(w->ex);
    (void)b;
    for (int i = 0; i < MANY; i++)
        thrum_insert(flow, &brief, THRUM_RW(w->data));
    if (thrum_flow_wait(flow))
        thrum_fail(THRUM_EINVAL, "%s", thrum_message(NULL));
    thrum_flow_free(flow);
}

static const thrum_codelet inserts = {.name = "inserts", .cpu = insert_inside};

TEST(tasks_insert_too)
{
    world w, *argument = &w;
    long outer = 0;
    begin(&w, &(thrum_config){.workers = 1});
    thrum_data *own = thrum_data_variable(w.ex, &outer, sizeof outer);
    for (int i = 0; i < 4; i++)
        assert_int_equal(thrum_insert(w.flow, &inserts, THRUM_RW(own), THRUM_ARG(argument)), 0);
    assert_int_equal(thrum_flow_wait(w.flow), 0);
    assert_int_equal(w.count, 4 * MANY);
    assert_int_equal(atomic_load(&overlaps), 0);
    assert_int_equal(thrum_data_unregister(own), 0);
    end(&w);
}

TEST(a_task_that_fails_fails_the_flow_whoever_runs_it)
{
    world w;
    int err = 0;
    begin(&w, &(thrum_config){.workers = 1});
    for (int i = 0; i < 4 * MANY && !err; i++)
        err = thrum_insert(w.flow, &fails, THRUM_RW(w.data));
    assert_int_equal(thrum_flow_wait(w.flow), THRUM_EINVAL);
    assert_string_equal(thrum_message(NULL), "as asked");
    assert_int_equal(w.count, 2 * MANY);
    end(&w);
}

TEST(an_executor_without_threads_does_it_too)
{
    world w;
    begin(&w, &(thrum_config){.threadless = true});
    learn(&w);
    assert_int_equal(thrum_flow_wait(w.flow), 0);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_inserts_runs_brief_tasks),
        cmocka_unit_test(callers_that_must_not_run_tasks_run_none),
        cmocka_unit_test(a_task_may_wait_for_what_comes_after_its_insertion),
        cmocka_unit_test(whoever_catches_up_does_not_wait_for_those_who_wait_for_it),
        cmocka_unit_test(tasks_begin_though_whoever_inserted_them_does_not_come_back),
        cmocka_unit_test(whoever_has_other_things_to_do_leaves_tasks_to_the_worker),
        cmocka_unit_test(others_get_their_turn_meanwhile),
        cmocka_unit_test(one_thread_at_a_time_has_the_place),
        cmocka_unit_test(a_task_that_leaves_its_executor_leaves_the_place_to_others),
        cmocka_unit_test(handles_acquired_elsewhere_are_waited_for),
        cmocka_unit_test(a_writer_waits_for_readers_that_were_there_before_one_that_was_run_at_once),
        cmocka_unit_test(tasks_insert_too),
        cmocka_unit_test(a_task_that_fails_fails_the_flow_whoever_runs_it),
        cmocka_unit_test(an_executor_without_threads_does_it_too),
    };
    return RUN_TESTS(tests, 60);
}
