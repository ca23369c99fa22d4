/* SPDX-License-Identifier: MIT
 *
 * All policies on a machine that does not exist: nothing is lost, nothing is run twice or by who cannot, nobody sleeps
 * for ever.
 */
#include "fake_world.h"

#include "base/alloc.h"
#include "sched/policy_int.h"

static const char *const all[] = {"fifo", "prio", "random", "ws", "lws", "dmda", "dmdas", "heteroprio", "laheteroprio"};

/* ---- Random jobs ------------------------------------------------------------------------------------------------- */

enum { MOST_JOBS = 120 };

/* A fifth may run on one worker only, or on some. */
static void restrict_workers(fake_world *fake, fake_job *job, struct random *random)
{
    int keep = (int)random_below(random, (size_t)fake->world.workers);
    while (!fake_can_run(&fake->world, &job->job, keep))
        keep = (keep + 1) % fake->world.workers;
    bool alone = random_chance(random, 50);
    for (int w = 0; w < fake->world.workers; w++)
        job->forbidden[w] = w != keep && (alone || random_chance(random, 50));
}

static const thrum_codelet *random_codelet(const fake_world *fake, struct random *random)
{
    const thrum_codelet *any[] = {&fake_both, &fake_cpu, &fake_emu};
    bool cpus = fake->place[0].arch == THRUM_ARCH_CPU, devices = fake->world.nodes > 1;
    const thrum_codelet *codelet = any[random_below(random, COUNT_OF(any))];
    return (codelet->cpu && cpus) || (codelet->emu && devices) ? codelet : &fake_both;
}

static void random_jobs(fake_world *fake, fake_job *jobs, int count, bool pins, struct random *random)
{
    for (int p = 0; p < FAKE_PIECES; p++) {
        fake->bytes[p] = random_between(random, 1, 100);
        fake->on[p][random_below(random, (size_t)fake->world.nodes)] = true;
    }
    bool known = random_chance(random, 50);
    for (int i = 0; i < count; i++) {
        jobs[i] = fake_job_of(random_codelet(fake, random), (int)random_below(random, 5) - 2, 0);
        for (int w = 0; w < FAKE_WORKERS; w++)
            jobs[i].seconds[w] = known || random_chance(random, 70) ? (double)random_below(random, 50) : -1;
        while (jobs[i].job.data_count < FAKE_ACCESSES && random_chance(random, 50))
            fake_access(fake, &jobs[i], (int)random_below(random, FAKE_PIECES),
                        random_chance(random, 70) ? THRUM_MODE_R : THRUM_MODE_RW);
        if (pins && random_chance(random, 20))
            restrict_workers(fake, &jobs[i], random);
        for (int tries = (int)random_below(random, 4); i > 0 && tries > 0; tries--) {
            fake_job *before = &jobs[random_below(random, (size_t)i)];
            if (before->after_count == FAKE_AFTER)
                continue;
            before->after[before->after_count++] = i;
            jobs[i].waits_for++;
        }
    }
}

static void run_seed(const char *name, uint64_t seed, bool pins, void (*look)(const fake_world *fake))
{
    static fake_job jobs[MOST_JOBS];
    static fake_world fake;
    struct random random = random_new(seed);
    int cpus = (int)random_between(&random, 0, 5), devices = (int)random_between(&random, cpus == 0, 3);
    int count = (int)random_between(&random, 0, MOST_JOBS);
    fake_begin(&fake, thrum_policy_find(name), cpus, devices, seed);
    random_jobs(&fake, jobs, count, pins, &random);
    fake_run(&fake, jobs, count, look);
    fake_end(&fake);
}

static uint64_t present_seed;
static const char *present_policy;

/* A failing assertion jumps out of the test; what ran is told behind it. */
static int tell(void **state)
{
    (void)state;
    if (present_policy)
        print_message("the last that ran: policy %s, seed %llu\n", present_policy, (unsigned long long)present_seed);
    present_policy = NULL;
    return 0;
}

TEST(every_policy_hands_out_each_job_once_to_one_who_can_run_it)
{
    for (size_t p = 0; p < COUNT_OF(all); p++)
        for (uint64_t seed = 0; seed < 1500; seed++) {
            present_policy = all[p];
            present_seed = seed;
            run_seed(all[p], seed, true, NULL);
        }
    present_policy = NULL;
}

/* Where architectures alone decide who can run what: when all who were woken have popped, nobody sleeps beside a
 * job. */
static void nobody_sleeps_beside_work(const fake_world *fake)
{
    for (int w = 0; w < fake->world.workers; w++)
        if (fake->life[w] == FAKE_WOKEN)
            return;
    for (int i = 0; i < fake->count; i++)
        for (int w = 0; w < fake->world.workers && fake->jobs[i].stage == FAKE_PUSHED; w++)
            assert_false(fake->life[w] == FAKE_ASLEEP && fake_can_run(&fake->world, &fake->jobs[i].job, w));
}

TEST(policies_that_share_work_let_nobody_sleep_beside_it)
{
    static const char *const sharing[] = {"fifo", "prio", "ws", "lws"};
    for (size_t p = 0; p < COUNT_OF(sharing); p++)
        for (uint64_t seed = 0; seed < 500; seed++) {
            present_policy = sharing[p];
            present_seed = seed;
            run_seed(sharing[p], seed, false, nobody_sleeps_beside_work);
        }
    present_policy = NULL;
}

TEST(a_policy_without_memory_does_not_begin)
{
    for (size_t p = 0; p < COUNT_OF(all); p++) {
        const thrum_policy *policy = thrum_policy_find(all[p]);
        fake_world fake;
        fake_begin(&fake, policy, 2, 1, 1);
        fake_end(&fake);
        thrum__alloc_fail_after(-1);
        void *state = calloc(1, policy->state_bytes);
        int err = policy->begin(state, &fake.world);
        long allocations = thrum__alloc_count();
        assert_int_equal(err, 0);
        policy->end(state, &fake.world);
        for (long i = 0; i < allocations; i++) {
            memset(state, 0, policy->state_bytes);
            thrum__alloc_fail_after(i);
            err = policy->begin(state, &fake.world);
            thrum__alloc_fail_after(-1);
            assert_error(err, THRUM_ENOMEM, "no memory");
        }
        free(state);
    }
}

/* ---- fifo, prio, random ------------------------------------------------------------------------------------------ */

TEST(fifo_gives_the_oldest_that_the_worker_can_run)
{
    fake_world fake;
    fake_begin(&fake, thrum_policy_find("fifo"), 2, 1, 1);
    fake_job jobs[] = {fake_job_of(&fake_cpu, 0, 1), fake_job_of(&fake_emu, 0, 1), fake_job_of(&fake_both, 9, 1),
                       fake_job_of(&fake_cpu, 0, 1), fake_job_of(&fake_both, 0, 1)};
    jobs[0].forbidden[1] = true;
    for (size_t i = 0; i < COUNT_OF(jobs); i++)
        fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[2]);
    assert_ptr_equal(fake_pop(&fake, 2), &jobs[1]);
    assert_ptr_equal(fake_pop(&fake, 2), &jobs[4]);
    assert_null(fake_pop(&fake, 2));
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[3]);
    assert_null(fake_pop(&fake, 1));
    assert_ptr_equal(fake_pop(&fake, 0), &jobs[0]);
    assert_null(fake_pop(&fake, 0));
    fake_end(&fake);
}

TEST(a_push_wakes_one_idle_worker_that_can_run_it)
{
    fake_world fake;
    fake_begin(&fake, thrum_policy_find("fifo"), 2, 2, 1);
    fake_job jobs[] = {fake_job_of(&fake_emu, 0, 1), fake_job_of(&fake_emu, 0, 1), fake_job_of(&fake_emu, 0, 1),
                       fake_job_of(&fake_cpu, 0, 1)};
    for (int i = 0; i < 3; i++)
        fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
    assert_int_equal(fake.woken, 2);
    assert_int_equal(fake.life[2], FAKE_WOKEN);
    assert_int_equal(fake.life[3], FAKE_WOKEN);
    fake_push(&fake, &jobs[3], THRUM_ANY_WORKER);
    assert_int_equal(fake.woken, 3);
    for (int w = 0; w < 4; w++)
        for (fake_job *job; (job = fake_pop(&fake, w));)
            fake_done(&fake, job);
    fake_end(&fake);
}

static const fake_job *most_urgent(const fake_job *jobs, int count)
{
    const fake_job *best = NULL;
    for (int i = 0; i < count; i++)
        if (jobs[i].stage == FAKE_PUSHED &&
            (!best || jobs[i].job.priority > best->job.priority ||
             (jobs[i].job.priority == best->job.priority && jobs[i].job.number < best->job.number)))
            best = &jobs[i];
    return best;
}

TEST(prio_gives_the_most_urgent_and_the_oldest_among_equals)
{
    static fake_job jobs[400];
    for (uint64_t seed = 0; seed < 50; seed++) {
        fake_world fake;
        int pushed = 0;
        struct random random = random_new(seed);
        fake_begin(&fake, thrum_policy_find("prio"), 1, 0, seed);
        for (int popped = 0; popped < (int)COUNT_OF(jobs);) {
            if (pushed < (int)COUNT_OF(jobs) && random_chance(&random, 60)) {
                jobs[pushed] = fake_job_of(random_chance(&random, 50) ? &fake_cpu : &fake_both,
                                           (int)random_below(&random, 20) - 10, 1);
                fake_push(&fake, &jobs[pushed++], THRUM_ANY_WORKER);
            } else {
                const fake_job *expected = most_urgent(jobs, pushed);
                assert_ptr_equal(fake_pop(&fake, 0), expected);
                popped += expected != NULL;
            }
        }
        fake_end(&fake);
    }
}

TEST(prio_steps_over_what_the_worker_cannot_run)
{
    fake_world fake;
    fake_begin(&fake, thrum_policy_find("prio"), 2, 1, 1);
    fake_job jobs[] = {fake_job_of(&fake_emu, 9, 1), fake_job_of(&fake_both, 1, 1), fake_job_of(&fake_cpu, 3, 1),
                       fake_job_of(&fake_cpu, 2, 1), fake_job_of(&fake_both, 5, 1)};
    jobs[2].forbidden[1] = jobs[4].forbidden[1] = true;
    for (size_t i = 0; i < COUNT_OF(jobs); i++)
        fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[3]);
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[1]);
    assert_null(fake_pop(&fake, 1));
    assert_ptr_equal(fake_pop(&fake, 2), &jobs[0]);
    assert_ptr_equal(fake_pop(&fake, 0), &jobs[4]);
    assert_ptr_equal(fake_pop(&fake, 0), &jobs[2]);
    fake_end(&fake);
}

TEST(random_gives_each_worker_that_can_run_it_the_same_share)
{
    enum { JOBS = 6000 };
    static fake_job jobs[JOBS];
    fake_world fake;
    int shares[4] = {0};
    fake_begin(&fake, thrum_policy_find("random"), 3, 1, 7);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = fake_job_of(&fake_both, 0, 1);
        jobs[i].forbidden[1] = true;
        fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
    }
    for (int w = 0; w < 4; w++)
        while (fake_pop(&fake, w))
            shares[w]++;
    assert_int_equal(shares[1], 0);
    for (int w = 0; w < 4; w++)
        if (w != 1)
            assert_in_range(shares[w], JOBS / 3 - 200, JOBS / 3 + 200); /* five standard deviations */
    fake_end(&fake);
}

/* ---- ws, lws ----------------------------------------------------------------------------------------------------- */

TEST(ws_takes_its_own_newest_then_what_others_brought_and_thieves_the_last_of_these)
{
    fake_world fake;
    fake_begin(&fake, thrum_policy_find("ws"), 2, 0, 1);
    fake_job jobs[6];
    for (int i = 0; i < 6; i++)
        jobs[i] = fake_job_of(&fake_cpu, 0, 1);
    for (int i = 2; i < 6; i++)
        jobs[i].forbidden[1] = i != 3;
    fake_push(&fake, &jobs[4], THRUM_ANY_WORKER); /* to worker 0, the only one that can */
    fake_push(&fake, &jobs[5], THRUM_ANY_WORKER);
    for (int i = 0; i < 4; i++)
        fake_push(&fake, &jobs[i], 0);
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[0]); /* the oldest that it can run */
    assert_ptr_equal(fake_pop(&fake, 0), &jobs[3]);
    assert_ptr_equal(fake_pop(&fake, 0), &jobs[2]);
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[1]);
    assert_null(fake_pop(&fake, 1));
    assert_ptr_equal(fake_pop(&fake, 0), &jobs[4]); /* then those from elsewhere, the oldest first */
    assert_ptr_equal(fake_pop(&fake, 0), &jobs[5]);
    assert_null(fake_pop(&fake, 0));
    fake_end(&fake);
}

TEST(ws_gives_a_job_from_elsewhere_to_an_idle_worker)
{
    fake_world fake;
    fake_begin(&fake, thrum_policy_find("ws"), 4, 0, 1);
    fake_job jobs[4];
    for (int i = 0; i < 4; i++) {
        jobs[i] = fake_job_of(&fake_cpu, 0, 1);
        fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
    }
    for (int w = 0; w < 4; w++) {
        assert_int_equal(fake.life[w], FAKE_WOKEN);
        assert_ptr_equal(fake_pop(&fake, w), &jobs[w]);
    }
    fake_end(&fake);
}

/* Workers 0 and 1 are on node 0, the devices 2, 3, 4 on nodes 1, 2, 3. */
TEST(lws_steals_from_its_own_node_first_then_over_the_quickest_links)
{
    fake_world fake;
    const thrum_policy *lws = thrum_policy_find("lws");
    fake_begin(&fake, lws, 2, 3, 1);
    fake.second_per_byte[1][0] = 3;
    fake.second_per_byte[2][0] = 1;
    fake.second_per_byte[3][0] = 2;
    lws->end(fake.state, &fake.world);
    memset(fake.state, 0, lws->state_bytes);
    lws->begin(fake.state, &fake.world);
    fake_job jobs[FAKE_WORKERS];
    for (int w = 1; w < 5; w++) {
        jobs[w] = fake_job_of(&fake_both, 0, 1);
        fake_push(&fake, &jobs[w], w);
    }
    assert_ptr_equal(fake_pop(&fake, 0), &jobs[1]);
    assert_ptr_equal(fake_pop(&fake, 0), &jobs[3]);
    assert_ptr_equal(fake_pop(&fake, 0), &jobs[4]);
    assert_ptr_equal(fake_pop(&fake, 0), &jobs[2]);
    assert_null(fake_pop(&fake, 0));
    fake_end(&fake);
}

static void keep_count(void *arg, const char *key, double value)
{
    double *counts = arg;
    if (strcmp(key, "steals") == 0)
        counts[0] = value;
    if (strcmp(key, "wasted_steals") == 0)
        counts[1] = value;
}

TEST(ws_and_lws_count_what_they_steal_and_how_often_they_try_in_vain)
{
    static const char *const stealing[] = {"ws", "lws"};
    for (size_t p = 0; p < COUNT_OF(stealing); p++) {
        fake_world fake;
        fake_begin(&fake, thrum_policy_find(stealing[p]), 3, 0, 1);
        fake_job jobs[3];
        double counts[2] = {-1, -1};
        for (int i = 0; i < 3; i++) {
            jobs[i] = fake_job_of(&fake_cpu, 0, 1);
            fake_push(&fake, &jobs[i], 0);
        }
        assert_non_null(fake_pop(&fake, 0)); /* its own */
        assert_non_null(fake_pop(&fake, 1));
        assert_non_null(fake_pop(&fake, 2));
        assert_null(fake_pop(&fake, 1));
        fake.policy->report(fake.state, &fake.world, keep_count, counts);
        assert_true(counts[0] == 2 && counts[1] == 1);
        fake_end(&fake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_policy_hands_out_each_job_once_to_one_who_can_run_it, tell),
        cmocka_unit_test_teardown(policies_that_share_work_let_nobody_sleep_beside_it, tell),
        cmocka_unit_test(a_policy_without_memory_does_not_begin),
        cmocka_unit_test(fifo_gives_the_oldest_that_the_worker_can_run),
        cmocka_unit_test(a_push_wakes_one_idle_worker_that_can_run_it),
        cmocka_unit_test(prio_gives_the_most_urgent_and_the_oldest_among_equals),
        cmocka_unit_test(prio_steps_over_what_the_worker_cannot_run),
        cmocka_unit_test(random_gives_each_worker_that_can_run_it_the_same_share),
        cmocka_unit_test(ws_takes_its_own_newest_then_what_others_brought_and_thieves_the_last_of_these),
        cmocka_unit_test(ws_gives_a_job_from_elsewhere_to_an_idle_worker),
        cmocka_unit_test(lws_steals_from_its_own_node_first_then_over_the_quickest_links),
        cmocka_unit_test(ws_and_lws_count_what_they_steal_and_how_often_they_try_in_vain),
    };
    return RUN_TESTS(tests, 60);
}
