/* SPDX-License-Identifier: MIT
 *
 * What is kept of loops: which loops are the same one, and what follows from measurements, made-up ones with known
 * answers and those of real loops.
 */
#include "tasks.h"

#include "front/loop_site.h"

#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

static void body(size_t lo, size_t hi, void *ctx)
{
    (void)lo, (void)hi, (void)ctx;
}

static void another_body(size_t lo, size_t hi, void *ctx)
{
    (void)lo, (void)hi, (void)ctx;
}

static thrum__site *site_named(const char *name, uint32_t workers)
{
    thrum__site *site = thrum__site_of(&(thrum_loop){.body = body, .site = name}, workers);
    assert_non_null(site);
    return site;
}

static void assert_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g is not %.12g", value, expected);
}

/* ---- Which loops are the same ------------------------------------------------------------------------------------ */

TEST(a_site_is_a_place_a_body_and_a_number_of_workers)
{
    char same[] = "there.c:7";
    thrum_loop loop = {.body = body, .here_ = "there.c:7"};
    thrum__site *site = thrum__site_of(&loop, 4);
    assert_non_null(site);
    assert_ptr_equal(thrum__site_of(&loop, 4), site);
    assert_ptr_not_equal(thrum__site_of(&loop, 5), site);
    loop.here_ = same;
    assert_ptr_equal(thrum__site_of(&loop, 4), site);
    loop.here_ = "there.c:8";
    assert_ptr_not_equal(thrum__site_of(&loop, 4), site);
    loop = (thrum_loop){.body = another_body, .here_ = "there.c:7"};
    assert_ptr_not_equal(thrum__site_of(&loop, 4), site);
}

TEST(a_name_counts_for_more_than_the_place)
{
    thrum_loop here = {.body = body, .here_ = "a.c:1", .site = "the loop"};
    thrum_loop there = {.body = body, .here_ = "b.c:2", .site = "the loop"};
    assert_ptr_equal(thrum__site_of(&here, 2), thrum__site_of(&there, 2));
    there.site = NULL;
    assert_ptr_not_equal(thrum__site_of(&here, 2), thrum__site_of(&there, 2));
}

static void map(size_t lo, size_t hi, void *into, void *ctx)
{
    (void)lo, (void)hi, (void)ctx;
    *(char *)into = 0;
}

TEST(a_reduction_has_its_map_as_body)
{
    thrum_loop loop = {.body = body, .here_ = "c.c:3"}, reduction = {.map = map, .here_ = "c.c:3"};
    assert_ptr_equal(thrum__site_of(&reduction, 2), thrum__site_of(&reduction, 2));
    assert_ptr_not_equal(thrum__site_of(&reduction, 2), thrum__site_of(&loop, 2));
}

/* ---- Mean, deviation, cost --------------------------------------------------------------------------------------- */

/* Adds a piece that is a chunk as well. */
static void add_piece(thrum__measured *m, uint64_t iterations, double time, double cost)
{
    thrum__measured_add(m, &(thrum__measured){.chunks = 1,
                                              .iterations = iterations,
                                              .time = time,
                                              .cost = cost,
                                              .pieces = 1,
                                              .piece_iterations = iterations,
                                              .piece_time = time,
                                              .piece_squares = time * time / (double)iterations});
}

static thrum_loop_facts facts_of(thrum__site *site)
{
    thrum_loop_facts facts = {0};
    assert_true(thrum__site_facts(site, &facts));
    return facts;
}

TEST(nothing_is_known_before_something_took_time)
{
    thrum__site *site = site_named("nothing", 2);
    thrum_loop_facts facts = {.mean = 5, .deviation = 6, .cost = 7};
    assert_false(thrum__site_facts(site, &facts));
    thrum__site_learn(site, &(thrum__measured){.chunks = 3, .iterations = 10}, NULL);
    assert_false(thrum__site_facts(site, &facts));
    assert_true(facts.mean == 5 && facts.deviation == 6 && facts.cost == 7);
}

/* Times 1, 2, 3, 4: the mean is 2.5, the deviation the root of (2.25 + 0.25 + 0.25 + 2.25)/3. */
TEST(mean_deviation_and_cost_of_single_iterations)
{
    thrum__site *site = site_named("singles", 2);
    thrum__measured all = {0};
    for (int i = 1; i <= 4; i++)
        add_piece(&all, 1, i, 0.25 * i);
    thrum__site_learn(site, &all, NULL);
    assert_near(facts_of(site).mean, 2.5);
    assert_near(facts_of(site).deviation, sqrt(5.0 / 3));
    assert_near(facts_of(site).cost, 0.625);
}

/* Pieces of 4 iterations, in 4 and in 8: means of 1 and 2 around 1.5, which vary by sigma/2; sigma^2 = 4 (0.25 +
 * 0.25)/1. */
TEST(the_deviation_of_an_iteration_follows_from_longer_pieces)
{
    thrum__site *site = site_named("fours", 2);
    thrum__measured all = {0};
    add_piece(&all, 4, 4, 0);
    add_piece(&all, 4, 8, 0);
    thrum__site_learn(site, &all, NULL);
    assert_near(facts_of(site).mean, 1.5);
    assert_near(facts_of(site).deviation, sqrt(2));
    assert_true(facts_of(site).cost == 0);
}

/* Times drawn with a known deviation, seen in pieces of different lengths only. */
TEST(pieces_of_any_lengths_show_about_the_same_deviation)
{
    thrum__site *site = site_named("lengths", 2);
    thrum__measured all = {0};
    uint64_t state = 1;
    for (int i = 0; i < 4000; i++) {
        uint64_t length = 1 + (uint64_t)i % 50;
        double time = 0;
        for (uint64_t k = 0; k < length; k++) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            time += 10 + (state >> 63 ? 3 : -3);
        }
        add_piece(&all, length, time, 0);
    }
    thrum__site_learn(site, &all, NULL);
    assert_true(fabs(facts_of(site).mean - 10) < 0.05);
    assert_true(fabs(facts_of(site).deviation - 3) < 0.15); /* its own deviation is 3/sqrt(8000) */
}

TEST(one_piece_has_no_deviation)
{
    thrum__site *site = site_named("one piece", 2);
    thrum__measured all = {0};
    add_piece(&all, 3, 6, 1);
    thrum__site_learn(site, &all, NULL);
    assert_near(facts_of(site).mean, 2);
    assert_true(facts_of(site).deviation == 0);
}

/* What is left of an execution after the next one is 0.87 of it. */
TEST(older_executions_count_for_less)
{
    thrum__site *site = site_named("older", 2);
    thrum__measured slow = {0}, fast = {0};
    add_piece(&slow, 10, 30, 3);
    add_piece(&fast, 10, 10, 1);
    thrum__site_learn(site, &slow, NULL);
    assert_near(facts_of(site).mean, 3);
    thrum__site_learn(site, &fast, NULL);
    assert_near(facts_of(site).mean, (0.87 * 30 + 10) / (0.87 * 10 + 10));
    assert_near(facts_of(site).cost, (0.87 * 3 + 1) / (0.87 + 1));
    for (int i = 0; i < 60; i++)
        thrum__site_learn(site, &fast, NULL);
    assert_true(fabs(facts_of(site).mean - 1) < 0.001);
    assert_true(fabs(facts_of(site).cost - 1) < 0.001);
    assert_true(facts_of(site).deviation < 0.1);
}

/* ---- Weights ----------------------------------------------------------------------------------------------------- */

enum { WORKERS = 4 };

/* An execution in which each worker does 100 iterations in its time. */
static void execute(thrum__site *site, const double times[WORKERS])
{
    thrum__measured parts[WORKERS] = {0}, all = {0};
    for (int i = 0; i < WORKERS; i++) {
        if (times[i] > 0)
            add_piece(&parts[i], 100, times[i], 0);
        thrum__measured_add(&all, &parts[i]);
    }
    thrum__site_learn(site, &all, parts);
}

static void assert_weights(thrum__site *site, double others, double last)
{
    double weights[WORKERS], sum = 0;
    thrum__site_weights(site, weights);
    for (int i = 0; i < WORKERS; i++) {
        assert_near(weights[i], i < WORKERS - 1 ? others : last);
        sum += weights[i];
    }
    assert_near(sum, WORKERS);
}

static const double even[WORKERS] = {1, 1, 1, 1}, one_slow[WORKERS] = {1, 1, 1, 2}, one_idle[WORKERS] = {1, 1, 1, 0};

TEST(weights_are_one_at_first)
{
    assert_weights(site_named("fresh", WORKERS), 1, 1);
}

/* Speeds 1, 1, 1, 1/2: shares of 3.5. */
TEST(a_slow_worker_gets_less_and_keeps_getting_less)
{
    thrum__site *site = site_named("slow", WORKERS);
    for (int i = 0; i < 10; i++) {
        execute(site, one_slow);
        assert_weights(site, 4 / 3.5, 2 / 3.5);
    }
}

/* Later executions count for more: pi = (1 * 2 + 2 * 1)/(1 * 100 + 2 * 100) = 4/3 of the others', so speeds 1, 1, 1,
 * 3/4. */
TEST(a_worker_that_is_no_longer_slow_catches_up)
{
    thrum__site *site = site_named("slow once", WORKERS);
    execute(site, one_slow);
    execute(site, even);
    assert_weights(site, 4 / 3.75, 3 / 3.75);
    for (int i = 0; i < 100; i++)
        execute(site, even);
    double weights[WORKERS];
    thrum__site_weights(site, weights);
    assert_true(weights[WORKERS - 1] > 0.999 && weights[WORKERS - 1] < 1);
}

TEST(a_worker_that_did_nothing_keeps_what_it_has)
{
    thrum__site *site = site_named("idle", WORKERS);
    execute(site, one_idle);
    assert_weights(site, 1, 1);
    execute(site, one_slow);
    execute(site, one_idle);
    assert_weights(site, 4 / 3.5, 2 / 3.5);
}

TEST(executions_by_other_rules_leave_the_weights)
{
    thrum__site *site = site_named("other rules", WORKERS);
    thrum__measured all = {0};
    add_piece(&all, 100, 5, 0);
    execute(site, one_slow);
    thrum__site_learn(site, &all, NULL);
    assert_weights(site, 4 / 3.5, 2 / 3.5);
}

/* ---- Real loops -------------------------------------------------------------------------------------------------- */

/* At least so long: what else runs on the machine makes it longer. */
static void pause_each(size_t lo, size_t hi, void *nanoseconds)
{
    struct timespec time = {.tv_nsec = *(const long *)nanoseconds};
    for (size_t i = lo; i < hi; i++)
        nanosleep(&time, NULL);
}

TEST(a_loop_measures_what_its_rule_needs)
{
    thrum_executor *ex = executor_with(2);
    thrum_loop loop = {.executor = ex, .hi = 100, .body = pause_each, .ctx = &(long){200000}, .site = "measured"};
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        loop.schedule = (thrum_technique)t;
        thrum_loop_facts facts = {0};
        bool needs = thrum_technique_needs(loop.schedule) & (THRUM_NEEDS_MEAN | THRUM_NEEDS_COST);
        loop.site = thrum_technique_name(loop.schedule);
        assert_int_equal(thrum_loop_run(&loop), 0);
        bool weighs = loop.schedule == THRUM_WF || loop.schedule == THRUM_AWF;
        assert_int_equal(thrum__site_facts(thrum__site_of(&loop, 2), &facts), needs || weighs);
        if (needs)
            assert_true(facts.mean >= 200e-6 && facts.mean < 0.05 && facts.cost > 0 && facts.deviation < 0.1);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void pause_longer_in_worker_1(size_t lo, size_t hi, void *ctx)
{
    (void)ctx;
    pause_each(lo, hi, &(long){thrum_worker_index() == 1 ? 2000000 : 100000});
}

TEST(awf_gives_less_to_a_worker_that_is_slow)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2, .callers = THRUM_CALLERS_BLOCK});
    thrum_loop loop = {ex, 0, 60, pause_longer_in_worker_1, NULL, .schedule = THRUM_AWF, .site = "slow worker"};
    double weights[2];
    for (int i = 0; i < 5; i++)
        assert_int_equal(thrum_loop_run(&loop), 0);
    thrum__site_weights(thrum__site_of(&loop, 2), weights);
    assert_true(weights[0] > 1.1 && weights[1] < 0.9);
    assert_near(weights[0] + weights[1], 2);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Many -------------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, SHARED = 50, ROUNDS = 40 };

static char shared_names[SHARED][24];
static thrum__site *found[THREADS][SHARED];

static void *ask_and_tell(void *arg)
{
    thrum__site **mine = arg;
    thrum__measured parts[WORKERS] = {0}, all = {0};
    for (int i = 0; i < WORKERS; i++) {
        add_piece(&parts[i], 10, 20, 1);
        thrum__measured_add(&all, &parts[i]);
    }
    for (int i = 0; i < ROUNDS * SHARED; i++) {
        thrum_loop loop = {.body = body, .site = shared_names[i % SHARED]};
        thrum__site *site = thrum__site_of(&loop, WORKERS);
        double weights[WORKERS];
        thrum__site_learn(site, &all, parts);
        thrum__site_weights(site, weights);
        thrum__site_learn_time(site, thrum__site_pick(site), 1);
        mine[i % SHARED] = site;
    }
    return NULL;
}

TEST(threads_that_come_at_once_find_the_same_sites)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < SHARED; i++)
        snprintf(shared_names[i], sizeof shared_names[i], "shared %d", i);
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, ask_and_tell, found[t]), 0);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int i = 0; i < SHARED; i++) {
        for (int t = 1; t < THREADS; t++)
            assert_ptr_equal(found[t][i], found[0][i]);
        assert_near(facts_of(found[0][i]).mean, 2);
        assert_weights(found[0][i], 1, 1);
    }
}

static atomic_bool over;

static void *ask_and_tell_until_over(void *arg)
{
    while (!atomic_load(&over))
        ask_and_tell(arg);
    return NULL;
}

/* Whatever the parent's other threads are at when it is made. */
static int use_sites_in_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        watchdog_start_in_child(10);
        ask_and_tell(found[0]);
        double weights[WORKERS], sum = 0;
        thrum__site_weights(found[0][0], weights);
        for (int i = 0; i < WORKERS; i++)
            sum += weights[i];
        _exit(fabs(sum - WORKERS) > 1e-6);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child ? status : -1;
}

TEST(a_child_of_a_fork_has_its_parents_sites)
{
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, ask_and_tell_until_over, found[t]), 0);
    for (int i = 0; i < 30; i++)
        assert_int_equal(use_sites_in_child(), 0);
    atomic_store(&over, true);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
}

enum { MOST = 4096 };

static char many_names[MOST + 10][24];

static thrum__site *numbered_site(int number)
{
    thrum_loop loop = {.body = body, .site = many_names[number]};
    snprintf(many_names[number], sizeof many_names[number], "number %d", number);
    return thrum__site_of(&loop, 1);
}

/* The last test: from here on there is no place for another site in this program. */
TEST(loops_beyond_the_last_place_go_on_without)
{
    int first_missing = 0;
    thrum__site *first = numbered_site(0);
    while (first_missing < MOST + 10 && numbered_site(first_missing))
        first_missing++;
    assert_in_range(first_missing, MOST / 2, MOST);
    assert_ptr_equal(numbered_site(0), first);
    assert_null(numbered_site(first_missing));
    for (int t = 0; t <= THRUM_TECHNIQUES; t++) {
        thrum_technique technique = t < THRUM_TECHNIQUES ? (thrum_technique)t : THRUM_AUTO;
        for (int i = 0; i < 3; i++)
            assert_int_equal(thrum_for(NULL, 0, 1000, another_body, NULL, .schedule = technique), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_site_is_a_place_a_body_and_a_number_of_workers),
        cmocka_unit_test(a_name_counts_for_more_than_the_place),
        cmocka_unit_test(a_reduction_has_its_map_as_body),
        cmocka_unit_test(nothing_is_known_before_something_took_time),
        cmocka_unit_test(mean_deviation_and_cost_of_single_iterations),
        cmocka_unit_test(the_deviation_of_an_iteration_follows_from_longer_pieces),
        cmocka_unit_test(pieces_of_any_lengths_show_about_the_same_deviation),
        cmocka_unit_test(one_piece_has_no_deviation),
        cmocka_unit_test(older_executions_count_for_less),
        cmocka_unit_test(weights_are_one_at_first),
        cmocka_unit_test(a_slow_worker_gets_less_and_keeps_getting_less),
        cmocka_unit_test(a_worker_that_is_no_longer_slow_catches_up),
        cmocka_unit_test(a_worker_that_did_nothing_keeps_what_it_has),
        cmocka_unit_test(executions_by_other_rules_leave_the_weights),
        cmocka_unit_test(a_loop_measures_what_its_rule_needs),
        cmocka_unit_test(awf_gives_less_to_a_worker_that_is_slow),
        cmocka_unit_test(threads_that_come_at_once_find_the_same_sites),
        cmocka_unit_test(a_child_of_a_fork_has_its_parents_sites),
        cmocka_unit_test(loops_beyond_the_last_place_go_on_without),
    };
    watchdog_start(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
