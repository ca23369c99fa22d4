/* SPDX-License-Identifier: MIT
 *
 * Loop schedules that follow what workers show: BOLD, which looks at the times of requests, and those that are told how
 * long chunks took. Sizes are computed by hand. R: iterations left; n, p, mu, sigma, h as in thrum/schedule.h.
 */
#include "loop_sizes.h"

#include <math.h>

/* A worker has done so many iterations (0: it comes for the first time), which took `time`, and `cost` besides; then it
 * asks at `now` and gets a chunk of this size. */
struct step {
    uint32_t worker;
    uint64_t done;
    double time, cost, now;
    uint64_t size;
};

static void follow(thrum_technique technique, thrum_loop_facts facts, const struct step *steps, size_t count)
{
    thrum_schedule *schedule = thrum_schedule_new(technique, &facts);
    assert_non_null(schedule);
    for (int round = 0; round < 2; round++) {
        for (const struct step *step = steps; step < steps + count; step++) {
            thrum_chunk chunk = {0, 0};
            thrum_schedule_finished(schedule, step->worker, step->done, step->time, step->cost);
            thrum_schedule_next(schedule, step->worker, step->now, &chunk);
            if (chunk.size != step->size)
                print_error("%s, step %td, round %d\n", thrum_technique_name(technique), step - steps, round);
            assert_int_equal(chunk.size, step->size);
        }
        thrum_schedule_restart(schedule); /* forgets what workers have shown */
    }
    thrum_schedule_free(schedule);
}

/* ---- BOLD -------------------------------------------------------------------------------------------------------- */

TEST(bold_follows_hagerups_formula)
{
    /* a = 2, b = 16 ln 16 = 44.3614, ln b = 3.79237, c1 = 0.5/ln 2 = 0.721348, c2 = 1.80815, c3 = 0.592304.
     * First: Q = 500, ln Q = 6.21461, v = 500/544.3614 = 0.918507, d = 1000/(1 + 0.160911 - 0.918507) = 4125.35,
     * s = 2 (8.32491 - 0.592304)(1 + 1000/2000) = 23.1978, w = ln(0.918507 * 6.21461) + 3.79237 = 5.53427,
     * 500 + 3.99213 + 11.5989 - sqrt(23.1978 * 505.799) = 407.27.
     * Second: R = 592, but N = 1000 still. s = 20.9254, w = 5.39150: 500 + 3.88914 + 10.4627 - 102.821 = 411.53. Third,
     * at 400: N = 1000 - 400 (408/408.5 + 412/412.5) - 408 + 400 * 408/408.5 = 1000 - 400 * 412/412.5 - 408 = 192.48, M
     * = 592, R = 180: s = 26.3632, w = 4.89568: 96.2424 + 3.53149 + 13.1816 - 52.0674 = 60.89.
     * The others go on in the same way: 43.58, 23.61, 17.60, 13.27, 7.49, 3.67, 3.55; and for the last, d = 1.51 < c2,
     * so it is N/p = 3.06. */
    static const struct step steps[] = {
        {.worker = 0, .now = 0, .size = 408},  {.worker = 1, .now = 0, .size = 412},
        {.worker = 0, .now = 400, .size = 61}, {.worker = 1, .now = 450, .size = 44},
        {.worker = 0, .now = 500, .size = 24}, {.worker = 1, .now = 520, .size = 18},
        {.worker = 0, .now = 530, .size = 14}, {.worker = 1, .now = 540, .size = 8},
        {.worker = 0, .now = 550, .size = 4},  {.worker = 1, .now = 551, .size = 4},
        {.worker = 0, .now = 552, .size = 3},  {.worker = 1, .now = 553, .size = 0},
    };
    follow(THRUM_BOLD, (thrum_loop_facts){.iterations = 1000, .workers = 2, .mean = 1, .deviation = 1, .cost = 0.5},
           steps, COUNT_OF(steps));
}

TEST(bold_has_a_b_below_0_when_little_deviates)
{
    /* a = 0.08, b = 0.64 ln 0.64 = -0.285624, c1 = 1/(2 ln 2) = 0.721348.
     * First: Q = 25, v = 25/24.714376 = 1.01156, d = 100/(1 + 0.310668 - 1.01156) = 334.32,
     * s = 0.08 (5.81211 - 0.592304)(1.25) = 0.521981, w = ln ln 25 = 1.16903: 25 + 0.84328 + 0.26099 - 3.62183 = 22.48.
     * R = 77, 54, 31, with N = 100 still: 22.52, 22.58, 22.68. At 40, R = 8, N = 18.28, w < 0: 3.70. From R = 4 on
     * 1. */
    static const struct step steps[] = {
        {.worker = 0, .now = 0, .size = 23}, {.worker = 1, .now = 0, .size = 23}, {.worker = 2, .now = 0, .size = 23},
        {.worker = 3, .now = 0, .size = 23}, {.worker = 0, .now = 40, .size = 4}, {.worker = 1, .now = 45, .size = 1},
        {.worker = 2, .now = 50, .size = 1}, {.worker = 3, .now = 55, .size = 1}, {.worker = 0, .now = 56, .size = 1},
    };
    follow(THRUM_BOLD, (thrum_loop_facts){.iterations = 100, .workers = 4, .mean = 2, .deviation = 0.4, .cost = 1},
           steps, COUNT_OF(steps));
}

TEST(bold_gives_all_at_once_when_nothing_deviates_or_chunks_are_dear)
{
    /* s = 0: N/p, and N is 10 for the second too. */
    expect_sizes(THRUM_BOLD, (thrum_loop_facts){.iterations = 10, .workers = 2, .mean = 1, .cost = 0.5}, "5*2");
    /* c2 = 180.8; b = 715.65, so v = 0.0428 and d = 64/(1 + 0.2885 - 0.0428) = 51.4 is less. */
    expect_sizes(THRUM_BOLD, (thrum_loop_facts){.iterations = 64, .workers = 2, .mean = 1, .deviation = 3, .cost = 50},
                 "32*2");
}

/* ---- Weights within the loop ------------------------------------------------------------------------------------- */

/* Batches of R = 100 and 50: 25 and 13. Worker 0 alone has shown something: it keeps its weight, 1.
 * Worker 1: pi = 3 to 1, the weight 2 (1/3)/(1 + 1/3) = 0.5, of 13: 6.5.
 * R = 30: 8. Worker 0: pi = (25 + 2 * 39)/(25 + 2 * 13) = 2.01961; 2 * 0.495146/(0.495146 + 0.333333) = 1.19531, 9.56.
 * Worker 1: pi = (75 + 2 * 7)/(25 + 2 * 7) = 2.28205; 2 * 0.438202/(0.438202 + 0.495146) = 0.93899, 7.51. R = 12: 3.
 * Worker 0: 30 more of 10, pi = (103 + 90)/(51 + 30) = 2.38272; 2 * 0.419689/(0.419689 + 0.438202) = 0.97842, 2.94. */
static const struct step awf_b_steps[] = {
    {.worker = 0, .size = 25},
    {.worker = 1, .size = 25},
    {.worker = 0, .done = 25, .time = 25, .size = 13},
    {.worker = 1, .done = 25, .time = 75, .size = 7},
    {.worker = 0, .done = 13, .time = 39, .size = 10},
    {.worker = 1, .done = 7, .time = 7, .size = 8},
    {.worker = 0, .done = 10, .time = 30, .size = 3},
};

/* R = 100: 25; R = 75: 19; R = 56: 14; R = 42: 11, of which 0.5 is 5.5. R = 36: 9, worker 0: pi = (25 + 2 * 42)/(25 + 2
 * * 14) = 2.0566; 2 * 0.486239/(0.486239 + 0.333333) = 1.18657, 10.68. */
static const struct step awf_c_steps[] = {
    {.worker = 0, .size = 25},
    {.worker = 1, .size = 19},
    {.worker = 0, .done = 25, .time = 25, .size = 14},
    {.worker = 1, .done = 19, .time = 57, .size = 6},
    {.worker = 0, .done = 14, .time = 42, .size = 11},
};

static const thrum_loop_facts hundred_for_two = {.iterations = 100, .workers = 2};

TEST(awf_b_weighs_batches)
{
    follow(THRUM_AWF_B, hundred_for_two, awf_b_steps, COUNT_OF(awf_b_steps));
}

TEST(awf_c_weighs_what_is_left)
{
    follow(THRUM_AWF_C, hundred_for_two, awf_c_steps, COUNT_OF(awf_c_steps));
}

/* With `moved`, so much of each time is said to be the cost; and with `noise`, each cost is raised by it. */
static void follow_with_costs(thrum_technique technique, const struct step *steps, size_t count, double moved,
                              double noise)
{
    struct step changed[16];
    for (size_t i = 0; i < count; i++) {
        changed[i] = steps[i];
        changed[i].time -= steps[i].done ? moved : 0;
        changed[i].cost += steps[i].done ? moved + noise : 0;
    }
    follow(technique, hundred_for_two, changed, count);
}

TEST(awf_d_and_e_count_costs_and_the_others_do_not)
{
    follow_with_costs(THRUM_AWF_D, awf_b_steps, COUNT_OF(awf_b_steps), 5, 0);
    follow_with_costs(THRUM_AWF_E, awf_c_steps, COUNT_OF(awf_c_steps), 5, 0);
    follow_with_costs(THRUM_AWF_B, awf_b_steps, COUNT_OF(awf_b_steps), 0, 50);
    follow_with_costs(THRUM_AWF_C, awf_c_steps, COUNT_OF(awf_c_steps), 0, 50);
}

TEST(given_weights_hold_until_workers_have_shown_something)
{
    /* 13: 0.5, 1, 1, 1.5 of it. Then workers 0 and 3 are known, as equally fast: they share 0.5 + 1.5, a weight of 1
     * each. R = 47: 6. Workers 1 and 2 still have the weight 1. */
    static const struct step steps[] = {
        {.worker = 0, .size = 7},
        {.worker = 1, .size = 13},
        {.worker = 2, .size = 13},
        {.worker = 3, .done = 4, .time = 8, .size = 20},
        {.worker = 0, .done = 7, .time = 14, .size = 6},
        {.worker = 3, .done = 20, .time = 40, .size = 6},
        {.worker = 1, .size = 6},
    };
    follow(THRUM_AWF_B, (thrum_loop_facts){.iterations = 100, .workers = 4, .weights = (double[]){0.5, 1, 1, 1.5}},
           steps, COUNT_OF(steps));
}

TEST(chunks_that_take_no_time_leave_weights_as_they_were)
{
    /* R = 100, 75, 50 (13 a batch), ...: FAC2's sizes, as long as worker 0 alone has shown something else than 0. */
    static const struct step steps[] = {
        {.worker = 0, .size = 25},
        {.worker = 1, .size = 25},
        {.worker = 0, .done = 25, .time = 0, .size = 13},
        {.worker = 1, .done = 25, .time = 0, .size = 13},
        {.worker = 0, .done = 13, .time = 26, .size = 6},
        {.worker = 1, .done = 13, .time = 0, .size = 6},
    };
    follow(THRUM_AWF_B, hundred_for_two, steps, COUNT_OF(steps));
}

/* ---- Weights between executions ---------------------------------------------------------------------------------- */

static void expect_weights(const double *weights, const double *expected, int count)
{
    for (int i = 0; i < count; i++) {
        if (fabs(weights[i] - expected[i]) > 1e-12)
            print_error("weight %d is %.17g, not %.17g\n", i, weights[i], expected[i]);
        assert_true(fabs(weights[i] - expected[i]) <= 1e-12);
    }
}

TEST(later_executions_count_for_more)
{
    double sums[4] = {0}, weights[2];
    /* pi = 1 and 3. */
    thrum_awf_step(sums, 2, 1, (uint64_t[]){10, 10}, (double[]){10, 30}, weights);
    expect_weights(weights, (double[]){1.5, 0.5}, 2);
    /* pi = (10 + 2 * 30)/(10 + 2 * 15) = 7/4 and (30 + 2 * 10)/(10 + 2 * 5) = 5/2: 2 (4/7)/(4/7 + 2/5) = 20/17. */
    thrum_awf_step(sums, 2, 2, (uint64_t[]){15, 5}, (double[]){30, 10}, weights);
    expect_weights(weights, (double[]){20.0 / 17, 14.0 / 17}, 2);
}

TEST(workers_that_have_done_nothing_have_the_weight_1)
{
    double sums[6] = {0}, weights[3];
    thrum_awf_step(sums, 3, 1, (uint64_t[]){10, 0, 10}, (double[]){10, 0, 30}, weights);
    expect_weights(weights, (double[]){1.5, 1, 0.5}, 3);
    thrum_awf_step(sums, 3, 2, (uint64_t[]){0, 10, 0}, (double[]){0, 0, 0}, weights); /* in no time at all */
    expect_weights(weights, (double[]){1.5, 1, 0.5}, 3);
    thrum_awf_step(sums, 3, 3, (uint64_t[]){5, 5, 5}, (double[]){NAN, -1, INFINITY}, weights);
    expect_weights(weights, (double[]){1.5, 1, 0.5}, 3);
}

TEST(the_slowest_worker_still_has_a_weight_that_a_schedule_takes)
{
    double sums[4] = {0}, weights[2];
    thrum_awf_step(sums, 2, 1, (uint64_t[]){1, 1}, (double[]){1e-150, 1e150}, weights);
    thrum_schedule *schedule =
        thrum_schedule_new(THRUM_AWF, &(thrum_loop_facts){.iterations = 10, .workers = 2, .weights = weights});
    assert_non_null(schedule);
    thrum_schedule_free(schedule);
}

/* ---- AF ---------------------------------------------------------------------------------------------------------- */

/* First 0.1 * 1000/2 = 50 each.
 * Worker 0: mu = 1, and sigma = mu while nobody has shown more; worker 1 counts with the same. D = 2, T = 1/2, R = 900:
 * (2 + 900 - sqrt(4 + 3600))/2 = 420.98.
 * Worker 1: mu = 2. D = 1 + 2, T = 1/(1 + 1/2), R = 479: (3 + 638.67 - sqrt(9 + 3832))/4 = 144.92. Worker 0: means 1 of
 * 50 and 2 of 421. mu = 892/471 = 1.89384, squares 50 * 421/471 = 44.6921, so (sigma/mu)^2 = 12.4607 with one degree of
 * freedom, which all count with. D = 12.4607 (1.89384 + 2) = 48.5201, T = 1/(0.528027 + 0.5) = 0.972737, R = 334:
 * (48.5201 + 649.788 - sqrt(2354.2 + 63055.5))/3.78769 = 116.84. */
static const struct step af_steps[] = {
    {.worker = 0, .size = 50},
    {.worker = 1, .size = 50},
    {.worker = 0, .done = 50, .time = 50, .size = 421},
    {.worker = 1, .done = 50, .time = 100, .size = 145},
    {.worker = 0, .done = 421, .time = 842, .size = 117},
};

TEST(af_follows_means_and_variances)
{
    follow(THRUM_AF, (thrum_loop_facts){.iterations = 1000, .workers = 2}, af_steps, COUNT_OF(af_steps));
}

TEST(maf_counts_costs_and_af_does_not)
{
    struct step changed[COUNT_OF(af_steps)];
    for (size_t i = 0; i < COUNT_OF(af_steps); i++) {
        changed[i] = af_steps[i];
        changed[i].cost = af_steps[i].done ? 20 : 0;
    }
    follow(THRUM_AF, (thrum_loop_facts){.iterations = 1000, .workers = 2}, changed, COUNT_OF(changed));
    for (size_t i = 0; i < COUNT_OF(af_steps); i++)
        changed[i].time -= changed[i].cost;
    follow(THRUM_MAF, (thrum_loop_facts){.iterations = 1000, .workers = 2}, changed, COUNT_OF(changed));
}

TEST(af_has_a_variance_of_the_workers_own_from_four_chunks_on)
{
    /* Chunks of 10 with the means 1, 2, 1, 2: mu = 1.5, sigma^2 = 4 * 10 * 0.25/3 = 3.3333. D = 2.2222, T = 1.5, R =
     * 900: (2.2222 + 2700 - sqrt(4.938 + 12000))/3 = 864.22. */
    thrum_schedule *schedule = thrum_schedule_new(THRUM_AF, &(thrum_loop_facts){.iterations = 1000, .workers = 1});
    thrum_chunk chunk;
    assert_true(thrum_schedule_next(schedule, 0, 0, &chunk));
    assert_int_equal(chunk.size, 100);
    for (int i = 0; i < 4; i++)
        thrum_schedule_finished(schedule, 0, 10, i % 2 ? 20 : 10, 0);
    assert_true(thrum_schedule_next(schedule, 0, 0, &chunk));
    assert_int_equal(chunk.size, 865);
    thrum_schedule_free(schedule);
}

TEST(af_shares_equally_when_nothing_deviates)
{
    /* sigma = 0: T R/mu = R/p. R = 900: with one chunk each sigma = mu still, D = 4, T = 1/4: (4 + 450 - sqrt(16 +
     * 3600))/2 = 196.93. Worker 0 again: its second chunk shows that nothing deviates, R = 703: 175.75. */
    static const struct step steps[] = {
        {.worker = 0, .size = 25},
        {.worker = 1, .size = 25},
        {.worker = 2, .size = 25},
        {.worker = 3, .size = 25},
        {.worker = 0, .done = 25, .time = 25, .size = 197},
        {.worker = 0, .done = 197, .time = 197, .size = 176},
    };
    follow(THRUM_AF, (thrum_loop_facts){.iterations = 1000, .workers = 4}, steps, COUNT_OF(steps));
}

TEST(af_counts_workers_whose_chunks_take_no_time_as_the_others)
{
    /* While nobody has taken any time, chunks are as the first ones. Worker 1: mu = 2, worker 0 counts with the same. D
     * = 4, T = 1, R = 850: (4 + 1700 - sqrt(16 + 13600))/4 = 396.83. Worker 0 counts with worker 1's: R = 453: (4 + 906
     * - sqrt(16 + 7248))/4 = 206.19. */
    static const struct step steps[] = {
        {.worker = 0, .size = 50},
        {.worker = 1, .size = 50},
        {.worker = 0, .done = 50, .time = 0, .size = 50},
        {.worker = 1, .done = 50, .time = 100, .size = 397},
        {.worker = 0, .done = 50, .time = 0, .size = 207},
    };
    follow(THRUM_AF, (thrum_loop_facts){.iterations = 1000, .workers = 2}, steps, COUNT_OF(steps));
}

TEST(what_is_no_measurement_is_ignored)
{
    static const double wrong[] = {-1, NAN, INFINITY, -INFINITY};
    thrum_schedule *schedule = thrum_schedule_new(THRUM_MAF, &(thrum_loop_facts){.iterations = 1000, .workers = 2});
    thrum_chunk chunk;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        thrum_schedule_finished(schedule, 0, 50, wrong[i], 0);
        thrum_schedule_finished(schedule, 0, 50, 0, wrong[i]);
    }
    thrum_schedule_finished(schedule, 0, 0, 5, 0);
    thrum_schedule_finished(schedule, 0, 1001, 5, 0);
    thrum_schedule_finished(schedule, 0, UINT64_MAX, 5, 0);
    thrum_schedule_finished(schedule, 2, 50, 5, 0);
    thrum_schedule_finished(NULL, 0, 50, 5, 0);
    assert_true(thrum_schedule_next(schedule, 0, 0, &chunk));
    assert_int_equal(chunk.size, 50);
    thrum_schedule_free(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bold_follows_hagerups_formula),
        cmocka_unit_test(bold_has_a_b_below_0_when_little_deviates),
        cmocka_unit_test(bold_gives_all_at_once_when_nothing_deviates_or_chunks_are_dear),
        cmocka_unit_test(awf_b_weighs_batches),
        cmocka_unit_test(awf_c_weighs_what_is_left),
        cmocka_unit_test(awf_d_and_e_count_costs_and_the_others_do_not),
        cmocka_unit_test(given_weights_hold_until_workers_have_shown_something),
        cmocka_unit_test(chunks_that_take_no_time_leave_weights_as_they_were),
        cmocka_unit_test(later_executions_count_for_more),
        cmocka_unit_test(workers_that_have_done_nothing_have_the_weight_1),
        cmocka_unit_test(the_slowest_worker_still_has_a_weight_that_a_schedule_takes),
        cmocka_unit_test(af_follows_means_and_variances),
        cmocka_unit_test(maf_counts_costs_and_af_does_not),
        cmocka_unit_test(af_has_a_variance_of_the_workers_own_from_four_chunks_on),
        cmocka_unit_test(af_shares_equally_when_nothing_deviates),
        cmocka_unit_test(af_counts_workers_whose_chunks_take_no_time_as_the_others),
        cmocka_unit_test(what_is_no_measurement_is_ignored),
    };
    return RUN_TESTS(tests, 30);
}
