/* SPDX-License-Identifier: MIT
 *
 * dmda and dmdas: whom they choose, in cases worked out by hand.
 */
#include "fake_world.h"

/* One worker on each of three nodes: 0 is a processor, 1 and 2 are devices. */
static void three_workers(fake_world *fake, const char *policy)
{
    fake_begin(fake, thrum_policy_find(policy), 1, 2, 1);
}

static fake_job job_taking(double on_0, double on_1, double on_2)
{
    fake_job job = fake_job_of(&fake_both, 0, 0);
    job.seconds[0] = on_0;
    job.seconds[1] = on_1;
    job.seconds[2] = on_2;
    return job;
}

/* Pushes it; it must be for this worker, and data be fetched there. */
static void expect_place(fake_world *fake, fake_job *job, int worker)
{
    fake_push(fake, job, THRUM_ANY_WORKER);
    assert_int_equal(job->prefetched_to, fake->place[worker].node);
}

/* Pops and does all that waits for a worker, each job in the time that it is said to take: how many there were. */
static int drain(fake_world *fake, int worker)
{
    int count = 0;
    for (fake_job *job; (job = fake_pop(fake, worker)); count++) {
        fake->now += job->seconds[worker] < 0 ? 0 : job->seconds[worker];
        fake_done(fake, job);
    }
    return count;
}

TEST(a_job_goes_to_the_worker_that_finishes_it_first)
{
    fake_world fake;
    three_workers(&fake, "dmda");
    fake_job jobs[] = {job_taking(5, 2, 9), job_taking(5, 2, 9), job_taking(5, 2, 9), job_taking(5, 2, 9),
                       job_taking(5, 2, 9)};
    expect_place(&fake, &jobs[0], 1); /* ends: 5, 2, 9 */
    expect_place(&fake, &jobs[1], 1); /* 5, 4, 9 */
    expect_place(&fake, &jobs[2], 0); /* 5, 6, 9 */
    expect_place(&fake, &jobs[3], 1); /* 10, 6, 9 */
    expect_place(&fake, &jobs[4], 1); /* 10, 8, 9 */
    assert_int_equal(drain(&fake, 0), 1);
    assert_int_equal(drain(&fake, 1), 4);
    fake_end(&fake);
}

/* The example of the HEFT paper (Topcuoglu and others 2002, figure 2) after its first task, which ended at 9 on the
 * third processor: tasks 3, 4, 2, 5 and 6 in the order of their ranks. HEFT lets transfers pass each other and has 6 on
 * the second processor, done at 42; here the data of 6 comes to it behind that of 4, at 32 instead of 23, so it would
 * end at 48, and on the third at 47. */
TEST(the_example_of_the_heft_paper)
{
    static const struct {
        double seconds[3];
        size_t from_first;
        int worker;
    } tasks[] = {
        {{11, 13, 19}, 12, 2}, {{13, 8, 17}, 9, 1}, {{13, 19, 18}, 18, 0}, {{12, 13, 10}, 11, 2}, {{13, 16, 9}, 14, 2}};
    fake_world fake;
    fake_job jobs[COUNT_OF(tasks)];
    three_workers(&fake, "dmda");
    fake.now = 9;
    for (size_t i = 0; i < COUNT_OF(tasks); i++) {
        const double *s = tasks[i].seconds;
        fake.bytes[i] = tasks[i].from_first;
        fake.on[i][2] = true;
        jobs[i] = job_taking(s[0], s[1], s[2]);
        fake_access(&fake, &jobs[i], (int)i, THRUM_MODE_R);
        expect_place(&fake, &jobs[i], tasks[i].worker);
    }
    for (int w = 0; w < 3; w++)
        drain(&fake, w);
    fake_end(&fake);
}

TEST(a_transfer_is_hidden_behind_what_the_worker_has)
{
    fake_world fake;
    three_workers(&fake, "dmda");
    fake.bytes[0] = 10;
    fake.on[0][0] = true;
    fake_job first = job_taking(40, 20, 100), second = job_taking(27, 5, 100), third = job_taking(27, 5, 100);
    expect_place(&fake, &first, 1);
    fake_access(&fake, &second, 0, THRUM_MODE_R);
    expect_place(&fake, &second, 1); /* data at 10, begins at 20: 25 against 27 */
    fake_access(&fake, &third, 0, THRUM_MODE_R);
    expect_place(&fake, &third, 0); /* 30 against 27 */
    drain(&fake, 0);
    drain(&fake, 1);
    fake_end(&fake);
}

TEST(a_link_with_much_to_do_makes_a_node_far)
{
    fake_world fake;
    three_workers(&fake, "dmda");
    fake_job jobs[3];
    for (int i = 0; i < 3; i++) {
        fake.bytes[i] = 10;
        fake.on[i][0] = true;
        jobs[i] = job_taking(12, 1, 90);
        fake_access(&fake, &jobs[i], i, THRUM_MODE_RW);
    }
    expect_place(&fake, &jobs[0], 1); /* 11 against 12 */
    expect_place(&fake, &jobs[1], 0); /* 21 against 12 */
    expect_place(&fake, &jobs[2], 1); /* 21 against 24 */
    drain(&fake, 0);
    drain(&fake, 1);
    fake_end(&fake);
}

TEST(a_job_follows_its_data)
{
    fake_world fake;
    three_workers(&fake, "dmda");
    fake.bytes[0] = 100;
    fake.on[0][2] = true;
    fake_job reads = job_taking(10, 10, 50), writes = job_taking(10, 9, 50);
    fake_access(&fake, &reads, 0, THRUM_MODE_R);
    fake_access(&fake, &writes, 0, THRUM_MODE_W);
    expect_place(&fake, &reads, 2);
    expect_place(&fake, &writes, 1);
    drain(&fake, 1);
    drain(&fake, 2);
    fake_end(&fake);
}

TEST(what_takes_longer_than_expected_counts_when_it_does)
{
    fake_world fake;
    three_workers(&fake, "dmda");
    fake_job late = job_taking(99, 4, 99), next = job_taking(99, 3, 5), last = job_taking(99, 3, 5);
    expect_place(&fake, &late, 1);
    assert_ptr_equal(fake_pop(&fake, 1), &late);
    fake.now = 3;
    expect_place(&fake, &next, 1); /* at 4 it ought to be done: 7 against 8 */
    fake.now = 20;
    expect_place(&fake, &last, 2); /* it is not: 20 + 3 + 3 against 25 */
    fake_done(&fake, &late);
    assert_ptr_equal(fake_pop(&fake, 1), &next);
    drain(&fake, 2);
    fake_end(&fake);
}

TEST(what_is_done_early_makes_the_worker_free_early)
{
    fake_world fake;
    three_workers(&fake, "dmda");
    fake_job early = job_taking(99, 50, 99), next = job_taking(10, 8, 99);
    expect_place(&fake, &early, 1);
    assert_ptr_equal(fake_pop(&fake, 1), &early);
    fake.now = 1;
    fake_done(&fake, &early);
    expect_place(&fake, &next, 1);
    drain(&fake, 1);
    fake_end(&fake);
}

/* ---- Times that nobody knows ------------------------------------------------------------------------------------- */

TEST(a_job_of_unknown_time_is_for_whoever_comes_first)
{
    fake_world fake;
    three_workers(&fake, "dmda");
    fake_job jobs[6];
    for (int i = 0; i < 6; i++) {
        jobs[i] = job_taking(1, -1, 1);
        fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
        assert_int_equal(jobs[i].prefetched_to, -1);
    }
    assert_int_equal(fake.woken, 3);
    for (int i = 0; i < 6; i++)
        assert_ptr_equal(fake_pop(&fake, (i + 2) % 3), &jobs[i]);
    assert_null(fake_pop(&fake, 0));
    fake_end(&fake);
}

TEST(a_job_whose_time_has_become_known_is_placed)
{
    fake_world fake;
    three_workers(&fake, "dmda");
    fake_job jobs[5];
    for (int i = 0; i < 5; i++) {
        jobs[i] = job_taking(10, -1, 10);
        fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
    }
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[0]);
    assert_ptr_equal(fake_pop(&fake, 0), &jobs[1]);
    fake_done(&fake, &jobs[0]);
    fake.life[1] = FAKE_ASLEEP;
    for (int i = 2; i < 5; i++)
        jobs[i].seconds[1] = 1;
    assert_null(fake_pop(&fake, 2)); /* all three are better off on worker 1 */
    for (int i = 2; i < 5; i++) {
        assert_int_equal(jobs[i].prefetched_to, 1);
        assert_ptr_equal(fake_pop(&fake, 1), &jobs[i]);
    }
    fake_end(&fake);
}

TEST(a_worker_that_sleeps_is_woken_for_what_has_been_placed_with_it)
{
    fake_world fake;
    three_workers(&fake, "dmda");
    fake_job unknown = job_taking(10, -1, 10);
    fake_push(&fake, &unknown, THRUM_ANY_WORKER);
    unknown.seconds[1] = 1;
    for (int w = 0; w < 3; w++)
        fake.life[w] = FAKE_ASLEEP;
    assert_null(fake_pop(&fake, 2));
    assert_int_equal(fake.life[1], FAKE_WOKEN);
    assert_ptr_equal(fake_pop(&fake, 1), &unknown);
    fake_end(&fake);
}

TEST(known_and_unknown_jobs_take_turns_by_age)
{
    fake_world fake;
    three_workers(&fake, "dmda");
    fake_job known = job_taking(1, 99, 99), unknown = job_taking(-1, 99, 99), later = job_taking(1, 99, 99);
    fake_push(&fake, &known, THRUM_ANY_WORKER);
    fake_push(&fake, &unknown, THRUM_ANY_WORKER);
    fake_push(&fake, &later, THRUM_ANY_WORKER);
    assert_ptr_equal(fake_pop(&fake, 0), &known);
    assert_ptr_equal(fake_pop(&fake, 0), &unknown);
    assert_ptr_equal(fake_pop(&fake, 0), &later);
    fake_end(&fake);
}

/* ---- dmdas ------------------------------------------------------------------------------------------------------- */

static fake_job urgent(int priority, double seconds)
{
    fake_job job = job_taking(99, seconds, 99);
    job.job.priority = priority;
    return job;
}

TEST(dmdas_takes_the_most_urgent_and_the_oldest_among_equals)
{
    fake_world fake;
    three_workers(&fake, "dmdas");
    fake_job jobs[] = {urgent(0, 1), urgent(5, 1), urgent(-3, 1), urgent(5, 1), urgent(7, 1)};
    static const int order[] = {4, 1, 3, 0, 2};
    for (size_t i = 0; i < COUNT_OF(jobs); i++)
        expect_place(&fake, &jobs[i], 1);
    for (size_t i = 0; i < COUNT_OF(jobs); i++)
        assert_ptr_equal(fake_pop(&fake, 1), &jobs[order[i]]);
    assert_null(fake_pop(&fake, 1));
    fake_end(&fake);
}

TEST(dmdas_takes_those_first_whose_data_is_there)
{
    fake_world fake;
    three_workers(&fake, "dmdas");
    fake_job jobs[] = {urgent(1, 1), urgent(1, 1), urgent(1, 1), urgent(0, 1), urgent(2, 1)};
    for (int i = 0; i < 5; i++) {
        fake.bytes[i] = i == 1 ? 2 : 4;
        fake.on[i][0] = true;
        fake_access(&fake, &jobs[i], i, i == 2 ? THRUM_MODE_W : THRUM_MODE_RW);
        expect_place(&fake, &jobs[i], 1);
    }
    fake.on[3][1] = true;
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[4]); /* urgent, wherever its data is */
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[2]); /* what is overwritten need not be there */
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[1]); /* two bytes are missing, of the other four */
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[0]);
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[3]);
    fake_end(&fake);
}

TEST(dmdas_takes_an_urgent_job_of_unknown_time_first)
{
    fake_world fake;
    three_workers(&fake, "dmdas");
    fake_job known = urgent(1, 1), unknown = urgent(2, -1), lower = urgent(0, -1);
    fake_push(&fake, &lower, THRUM_ANY_WORKER);
    fake_push(&fake, &known, THRUM_ANY_WORKER);
    fake_push(&fake, &unknown, THRUM_ANY_WORKER);
    assert_ptr_equal(fake_pop(&fake, 1), &unknown);
    assert_ptr_equal(fake_pop(&fake, 1), &known);
    assert_ptr_equal(fake_pop(&fake, 1), &lower);
    fake_end(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_goes_to_the_worker_that_finishes_it_first),
        cmocka_unit_test(the_example_of_the_heft_paper),
        cmocka_unit_test(a_transfer_is_hidden_behind_what_the_worker_has),
        cmocka_unit_test(a_link_with_much_to_do_makes_a_node_far),
        cmocka_unit_test(a_job_follows_its_data),
        cmocka_unit_test(what_takes_longer_than_expected_counts_when_it_does),
        cmocka_unit_test(what_is_done_early_makes_the_worker_free_early),
        cmocka_unit_test(a_job_of_unknown_time_is_for_whoever_comes_first),
        cmocka_unit_test(a_job_whose_time_has_become_known_is_placed),
        cmocka_unit_test(a_worker_that_sleeps_is_woken_for_what_has_been_placed_with_it),
        cmocka_unit_test(known_and_unknown_jobs_take_turns_by_age),
        cmocka_unit_test(dmdas_takes_the_most_urgent_and_the_oldest_among_equals),
        cmocka_unit_test(dmdas_takes_those_first_whose_data_is_there),
        cmocka_unit_test(dmdas_takes_an_urgent_job_of_unknown_time_first),
    };
    return RUN_TESTS(tests, 20);
}
