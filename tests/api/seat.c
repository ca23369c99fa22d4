/* SPDX-License-Identifier: MIT
 *
 * Whoever inserts into a flow faster than its tasks are run takes the place of a worker, runs some of them, and goes
 * away again; and whatever it does then, nobody waits for it.
 */
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 2, CELLS = 8, MANY = SANITIZED_THREAD ? 1000 : 3000, ROUNDS = SANITIZED_THREAD ? 15 : 60 };
enum { BODY_NS = 15000, MEET_NS = 2000000 };

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

static pthread_t inserter;
static atomic_int here, inside, most_inside, met, pinned, wrong_worker, unknown_here;

static void note_most(int count)
{
    int most = atomic_load(&most_inside);
    while (count > most && !atomic_compare_exchange_weak(&most_inside, &most, count))
        continue;
}

static void spend(int64_t ns)
{
    for (int64_t until = now() + ns; now() < until;)
        continue;
}

static void run_brief(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    note_most(atomic_fetch_add(&inside, 1) + 1);
    if (pthread_equal(pthread_self(), inserter))
        atomic_fetch_add(&here, 1);
    spend(BODY_NS);
    *(long *)b[0].ptr += 1;
    atomic_fetch_sub(&inside, 1);
}

/* Two of them have to be at work at the same time. They are too long for whoever inserts: one waits for what comes
 * behind it. */
static void run_meet(const thrum_buffer *b, const void *arg)
{
    (void)b;
    spend(MEET_NS);
    int both = 2 * *(const int *)arg;
    atomic_fetch_add(&met, 1);
    while (atomic_load(&met) < both)
        sched_yield();
}

static void run_pinned(const thrum_buffer *b, const void *arg)
{
    (void)b;
    if (thrum_worker_index() != *(const int *)arg)
        atomic_fetch_add(&wrong_worker, 1);
    atomic_fetch_add(&pinned, 1);
}

/* Of a codelet of its own, of which nothing is known. */
static void run_unknown(const thrum_buffer *b, const void *arg)
{
    (void)b;
    (void)arg;
    if (pthread_equal(pthread_self(), inserter))
        atomic_fetch_add(&unknown_here, 1);
    spend(BODY_NS);
}

static void run_failing(const thrum_buffer *b, const void *arg)
{
    (void)b;
    (void)arg;
    thrum_fail(THRUM_EINVAL, "as asked");
}

static const thrum_codelet brief = {.name = "brief", .cpu = run_brief};
static const thrum_codelet meet = {.name = "meet", .cpu = run_meet};
static const thrum_codelet stay = {.name = "stay", .cpu = run_pinned};
static const thrum_codelet failing = {.name = "failing", .cpu = run_failing};

/* ---- What all tests begin with ----------------------------------------------------------------------------------- */

typedef struct world {
    thrum_executor *ex;
    thrum_flow *flow;
    thrum_data *data[CELLS];
    long cells[CELLS], inserted;
} world;

static void begin(world *w)
{
    *w = (world){.ex = thrum_executor_new(&(thrum_config){.workers = WORKERS})};
    w->flow = thrum_flow_new(w->ex);
    for (int i = 0; i < CELLS; i++)
        assert_non_null(w->data[i] = thrum_data_variable(w->ex, &w->cells[i], sizeof(long)));
    inserter = pthread_self();
    atomic_int *counters[] = {&here, &inside, &most_inside, &met, &pinned, &wrong_worker, &unknown_here};
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        atomic_store(counters[i], 0);
}

static void end(world *w)
{
    long sum = 0;
    assert_int_equal(thrum_flow_free(w->flow), 0);
    for (int i = 0; i < CELLS; i++) {
        assert_int_equal(thrum_data_unregister(w->data[i]), 0);
        sum += w->cells[i];
    }
    assert_int_equal(sum, w->inserted);
    assert_int_equal(thrum_executor_free(w->ex), 0);
}

static void insert_brief(world *w, int tasks)
{
    for (int i = 0; i < tasks; i++)
        assert_int_equal(thrum_insert(w->flow, &brief, THRUM_RW(w->data[w->inserted++ % CELLS])), 0);
}

/* Not by any call that would let this thread help. */
static void await(atomic_int *count, int enough)
{
    while (atomic_load(count) < enough)
        usleep(200);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

/* There may be one too many until a worker has made way. */
TEST(whoever_inserts_is_one_of_the_workers)
{
    world w;
    begin(&w);
    assert_int_equal(thrum_flow_set_window(w.flow, MANY / 4),
                     0); /* here it waits at the latest, until workers have begun */
    insert_brief(&w, MANY);
    assert_true(atomic_load(&here) > 0);
    end(&w);
    assert_in_range(atomic_load(&most_inside), 1, WORKERS + 1);
}

TEST(the_worker_is_back_when_nobody_inserts)
{
    world w;
    begin(&w);
    for (int round = 1; round <= ROUNDS; round++) {
        insert_brief(&w, 100 + 20 * (round % 10));
        for (int i = 0; i < 2; i++)
            assert_int_equal(thrum_insert(w.flow, &meet, THRUM_ARG(round)), 0);
        await(&met, 2 * round);
    }
    end(&w);
}

TEST(what_is_pinned_to_the_worker_is_run)
{
    world w;
    int expected = 0;
    begin(&w);
    for (int round = 0; round < ROUNDS; round++) {
        insert_brief(&w, 60 + round % 7 * 30);
        for (int worker = 0; worker < WORKERS; worker++, expected++)
            assert_int_equal(thrum_insert(w.flow, &stay, THRUM_ON_WORKER(worker), THRUM_ARG(worker)), 0);
        if (round % 3 == 0)
            await(&pinned, expected);
    }
    end(&w);
    assert_int_equal(atomic_load(&pinned), expected);
    assert_int_equal(atomic_load(&wrong_worker), 0);
}

/* It may wait for what this thread does next. */
TEST(whoever_inserts_runs_nothing_that_it_does_not_know)
{
    enum { CODELETS = 150, BETWEEN = 40 }; /* fewer tasks than the window: where that is full any may be run */
    static thrum_codelet unknown[CODELETS];
    world w;
    begin(&w);
    assert_int_equal(thrum_flow_set_window(w.flow, 2 * CODELETS * BETWEEN), 0);
    for (int i = 0; i < CODELETS; i++) {
        unknown[i] = (thrum_codelet){.name = "unknown", .cpu = run_unknown};
        insert_brief(&w, BETWEEN);
        assert_int_equal(thrum_insert(w.flow, &unknown[i], THRUM_NONE), 0);
    }
    int taken = atomic_load(&unknown_here); /* where it waits for all of them it may run any */
    end(&w);
    assert_int_equal(taken, 0);
}

TEST(data_is_had_in_between)
{
    world w;
    begin(&w);
    for (int round = 0; round < ROUNDS; round++) {
        insert_brief(&w, 10 * CELLS + round % 5 * CELLS);
        long *cell;
        assert_int_equal(thrum_data_acquire(w.data[round % CELLS], THRUM_MODE_R, (void **)&cell), 0);
        assert_int_equal(*cell, w.inserted / CELLS);
        assert_int_equal(thrum_data_release(w.data[round % CELLS]), 0);
    }
    end(&w);
}

/* Those that a job has made ready, after which whoever inserts goes on with that. */
TEST(urgent_tasks_are_not_left_behind)
{
    world w;
    begin(&w);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 40; i++, w.inserted++)
            assert_int_equal(
                thrum_insert(w.flow, &brief, THRUM_RW(w.data[w.inserted % CELLS]), THRUM_PRIORITY(1 + i % 3)), 0);
        long *cell;
        assert_int_equal(thrum_data_acquire(w.data[(round * 3) % CELLS], THRUM_MODE_R, (void **)&cell), 0);
        assert_int_equal(thrum_data_release(w.data[(round * 3) % CELLS]), 0);
    }
    end(&w);
}

TEST(a_failure_ends_it)
{
    world w;
    begin(&w);
    insert_brief(&w, MANY / 2);
    assert_int_equal(thrum_insert(w.flow, &failing, THRUM_NONE), 0);
    int err = 0;
    for (int i = 0; i < MANY && !err; i++)
        err = thrum_insert(w.flow, &brief, THRUM_RW(w.data[i % CELLS]));
    assert_int_equal(thrum_flow_wait(w.flow), THRUM_EINVAL);
    w.inserted = 0;
    for (int i = 0; i < CELLS; i++)
        w.inserted += w.cells[i];
    insert_brief(&w, MANY / 4);
    end(&w);
}

static int index_after_wait;

static void end_flow_in_task(void *arg)
{
    world *w = arg;
    assert_int_equal(thrum_flow_wait(w->flow), 0);
    index_after_wait = thrum_worker_index();
}

/* Begun by a thread that is no worker, ended by one of another executor, which stays what it is. */
TEST(a_worker_of_another_executor_goes_on_with_it)
{
    thrum_executor *other = thrum_executor_new(&(thrum_config){.workers = 1});
    world w;
    begin(&w);
    for (int round = 0; round < 10; round++) {
        insert_brief(&w, MANY / 4);
        index_after_wait = -1;
        thrum_handle *handle = thrum_submit(other, end_flow_in_task, &w);
        assert_int_equal(thrum_wait(handle), 0);
        thrum_release(handle);
        assert_true(index_after_wait >= 0);
    }
    end(&w);
    assert_int_equal(thrum_executor_free(other), 0);
}

static void *insert_elsewhere(void *arg)
{
    insert_brief(arg, MANY / 2);
    return NULL;
}

TEST(of_several_that_insert_one_has_the_seat)
{
    world w, others[2];
    pthread_t threads[2];
    long sum = 0;
    begin(&w);
    for (int i = 0; i < 2; i++) {
        others[i] = (world){.ex = w.ex, .flow = thrum_flow_new(w.ex)};
        for (int j = 0; j < CELLS; j++)
            others[i].data[j] = thrum_data_variable(w.ex, &others[i].cells[j], sizeof(long));
        assert_int_equal(pthread_create(&threads[i], NULL, insert_elsewhere, &others[i]), 0);
    }
    insert_brief(&w, MANY / 2);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(thrum_flow_free(others[i].flow), 0); /* begun by one thread, ended by another */
        for (int j = 0; j < CELLS; j++) {
            assert_int_equal(thrum_data_unregister(others[i].data[j]), 0);
            sum += others[i].cells[j];
        }
    }
    assert_int_equal(sum, 2 * (MANY / 2));
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_inserts_is_one_of_the_workers),
        cmocka_unit_test(the_worker_is_back_when_nobody_inserts),
        cmocka_unit_test(what_is_pinned_to_the_worker_is_run),
        cmocka_unit_test(whoever_inserts_runs_nothing_that_it_does_not_know),
        cmocka_unit_test(data_is_had_in_between),
        cmocka_unit_test(urgent_tasks_are_not_left_behind),
        cmocka_unit_test(a_failure_ends_it),
        cmocka_unit_test(a_worker_of_another_executor_goes_on_with_it),
        cmocka_unit_test(of_several_that_insert_one_has_the_seat),
    };
    return RUN_TESTS(tests, 30);
}
