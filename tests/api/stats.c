/* SPDX-License-Identifier: MIT
 *
 * thrum_executor_stats: what workers did for want of work.
 */
#include "tasks.h"

static thrum_worker_stats stats_of(thrum_executor *ex, int worker)
{
    thrum_worker_stats stats;
    assert_int_equal(thrum_executor_stats(ex, worker, &stats), 0);
    return stats;
}

static bool all_asleep(thrum_executor *ex)
{
    bool asleep = true;
    for (int i = 0; i < thrum_executor_workers(ex); i++) {
        thrum_worker_stats stats = stats_of(ex, i);
        asleep = asleep && stats.sleeps == stats.wakes + 1;
    }
    return asleep;
}

static void await_sleep(thrum_executor *ex)
{
    while (!all_asleep(ex))
        pause_ms(1);
}

TEST(workers_without_work_fall_asleep)
{
    thrum_executor *ex = executor_with(4);
    await_sleep(ex);
    thrum_worker_stats all = stats_of(ex, -1);
    assert_int_equal(all.steals, 0);
    assert_int_equal(all.sleeps, 4);
    assert_int_equal(all.wakes, 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_worker_that_is_woken_is_counted)
{
    thrum_executor *ex = executor_with(2);
    await_sleep(ex);
    assert_int_equal(thrum_async(ex, do_nothing, NULL), 0);
    assert_int_equal(thrum_executor_wait(ex), 0);
    await_sleep(ex);
    thrum_worker_stats all = stats_of(ex, -1);
    assert_true(all.wakes >= 1);
    assert_true(all.sleeps >= 3);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* The child is called by another worker, since this one waits for it before it joins. */
static void wait_for_child_to_be_stolen(thrum_scope *scope, void *arg)
{
    atomic_int *called = arg;
    int before = atomic_load(called);
    thrum_spawn(scope, count_up_in_scope, called);
    while (atomic_load(called) == before)
        sched_yield();
    thrum_join(scope);
}

TEST(stolen_work_is_counted)
{
    enum { TIMES = 10 };
    thrum_executor *ex = executor_with(2);
    atomic_int called = 0;
    for (int i = 0; i < TIMES; i++)
        assert_int_equal(thrum_scope_run(ex, wait_for_child_to_be_stolen, &called), 0);
    assert_int_equal(called, TIMES);
    thrum_worker_stats all = stats_of(ex, -1);
    assert_true(all.steals >= TIMES);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(looking_in_vain_is_counted)
{
    thrum_executor *ex = executor_with(3);
    await_sleep(ex);
    assert_int_equal(thrum_async(ex, do_nothing, NULL), 0);
    assert_int_equal(thrum_executor_wait(ex), 0);
    await_sleep(ex);
    assert_true(stats_of(ex, -1).wasted_steals >= 2); /* whoever called it looked at the two others before it slept */
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(the_sum_is_that_of_the_workers)
{
    thrum_executor *ex = executor_blocking(3);
    atomic_int called = 0;
    for (int i = 0; i < 5; i++)
        assert_int_equal(thrum_scope_run(ex, wait_for_child_to_be_stolen, &called), 0);
    await_sleep(ex);
    thrum_worker_stats sum = {0}, all = stats_of(ex, -1);
    for (int i = 0; i < 3; i++) {
        thrum_worker_stats one = stats_of(ex, i);
        sum.steals += one.steals;
        sum.wasted_steals += one.wasted_steals;
        sum.sleeps += one.sleeps;
        sum.wakes += one.wakes;
        sum.naps += one.naps;
    }
    assert_memory_equal(&sum, &all, sizeof sum);
    assert_int_equal(thrum_executor_free(ex), 0);
}

struct reader {
    thrum_executor *ex;
    atomic_bool stop;
    atomic_int shrank, impossible;
};

static void read_over_and_over(void *arg)
{
    struct reader *reader = arg;
    thrum_worker_stats before = {0}, now;
    while (!atomic_load(&reader->stop)) {
        if (thrum_executor_stats(reader->ex, 0, &now) != 0 || now.wakes > now.sleeps)
            count_up(&reader->impossible);
        if (now.steals < before.steals || now.wasted_steals < before.wasted_steals || now.sleeps < before.sleeps ||
            now.wakes < before.wakes || now.naps < before.naps)
            count_up(&reader->shrank);
        before = now;
    }
}

static void work_and_stop(void *arg)
{
    struct reader *reader = arg;
    atomic_int called = 0;
    for (int i = 0; i < 200; i++) {
        thrum_scope_run(reader->ex, wait_for_child_to_be_stolen, &called);
        thrum_async(reader->ex, count_up, &called);
        thrum_executor_wait(reader->ex);
    }
    atomic_store(&reader->stop, true);
}

static void read_or_work(void *arg)
{
    static atomic_int number;
    if (atomic_fetch_add(&number, 1) == 0)
        work_and_stop(arg);
    else
        read_over_and_over(arg);
}

TEST(numbers_can_be_read_while_workers_work)
{
    struct reader reader = {.ex = executor_blocking(2)};
    in_threads(2, read_or_work, &reader);
    assert_int_equal(reader.shrank, 0);
    assert_int_equal(reader.impossible, 0);
    assert_int_equal(thrum_executor_free(reader.ex), 0);
}

TEST(an_executor_without_threads_has_numbers_too)
{
    thrum_executor *ex = executor_threadless();
    assert_int_equal(thrum_async(ex, do_nothing, NULL), 0);
    assert_int_equal(thrum_executor_wait(ex), 0);
    thrum_worker_stats all = stats_of(ex, -1);
    assert_int_equal(all.steals, 0);
    assert_int_equal(all.sleeps, 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_worker_that_does_not_exist_is_named)
{
    thrum_executor *ex = executor_with(2);
    thrum_worker_stats stats = {.steals = 7};
    assert_int_equal(thrum_executor_stats(ex, 99, &stats), THRUM_EINVAL);
    assert_non_null(strstr(thrum_message(NULL), "no worker 99"));
    assert_int_equal(thrum_executor_stats(ex, -2, &stats), THRUM_EINVAL);
    assert_non_null(strstr(thrum_message(NULL), "no worker -2"));
    assert_int_equal(stats.steals, 7);
    assert_int_equal(thrum_executor_stats(ex, 0, NULL), THRUM_EINVAL);
    assert_non_null(strstr(thrum_message(NULL), "stats is NULL"));
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(without_an_executor_it_is_the_default_one)
{
    thrum_worker_stats stats;
    assert_int_equal(thrum_executor_stats(NULL, 0, &stats), 0);
    assert_true(stats.sleeps >= stats.wakes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_without_work_fall_asleep),
        cmocka_unit_test(a_worker_that_is_woken_is_counted),
        cmocka_unit_test(stolen_work_is_counted),
        cmocka_unit_test(looking_in_vain_is_counted),
        cmocka_unit_test(the_sum_is_that_of_the_workers),
        cmocka_unit_test(numbers_can_be_read_while_workers_work),
        cmocka_unit_test(an_executor_without_threads_has_numbers_too),
        cmocka_unit_test(a_worker_that_does_not_exist_is_named),
        cmocka_unit_test(without_an_executor_it_is_the_default_one),
    };
    return RUN_TESTS(tests, 60);
}
