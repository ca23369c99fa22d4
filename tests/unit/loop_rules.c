/* SPDX-License-Identifier: MIT
 *
 * Loop schedules that learn nothing: chunk sizes computed by hand for each rule. R: iterations left; n, p, mu, sigma, h
 * as in thrum/schedule.h.
 */
#include "loop_sizes.h"

#include "base/alloc.h"
#include "sched/loop.h"

static thrum_schedule *new_schedule(thrum_technique technique, thrum_loop_facts facts)
{
    thrum_schedule *schedule = thrum_schedule_new(technique, &facts);
    assert_non_null(schedule);
    return schedule;
}

static void expect_chunk(thrum_schedule *schedule, uint32_t worker, uint64_t begin, uint64_t size)
{
    thrum_chunk chunk = {0, 0};
    assert_int_equal(thrum_schedule_next(schedule, worker, 0, &chunk), size > 0);
    assert_int_equal(chunk.begin, begin);
    assert_int_equal(chunk.size, size);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

TEST(stat_gives_each_worker_its_block_once)
{
    /* 10 = 4 * 2 + 2: the first two have one more. In whatever order they ask. */
    thrum_schedule *schedule = new_schedule(THRUM_STAT, (thrum_loop_facts){.iterations = 10, .workers = 4});
    expect_chunk(schedule, 2, 6, 2);
    expect_chunk(schedule, 0, 0, 3);
    expect_chunk(schedule, 0, 0, 0);
    expect_chunk(schedule, 3, 8, 2);
    expect_chunk(schedule, 1, 3, 3);
    expect_chunk(schedule, 2, 0, 0);
    thrum_schedule_restart(schedule);
    expect_chunk(schedule, 1, 3, 3);
    thrum_schedule_free(schedule);
}

TEST(stat_has_nothing_for_workers_beyond_the_iterations)
{
    thrum_schedule *schedule = new_schedule(THRUM_STAT, (thrum_loop_facts){.iterations = 2, .workers = 4, .least = 9});
    expect_chunk(schedule, 3, 0, 0);
    expect_chunk(schedule, 1, 1, 1);
    expect_chunk(schedule, 0, 0, 1);
    thrum_schedule_free(schedule);
}

TEST(steal_takes_the_back_half_of_the_largest_rest)
{
    /* Blocks [0, 5) and [5, 10). With its own done, worker 0 finds [5, 10): the back half, rounded up, is [7, 10). Then
     * worker 1 has [5, 7), and after that takes what is left of worker 0's: [9, 10), whose back half is all of it. */
    thrum_schedule *schedule =
        new_schedule(THRUM_STEAL, (thrum_loop_facts){.iterations = 10, .workers = 2, .least = 2});
    expect_chunk(schedule, 0, 0, 2);
    expect_chunk(schedule, 0, 2, 2);
    expect_chunk(schedule, 0, 4, 1);
    expect_chunk(schedule, 0, 7, 2);
    expect_chunk(schedule, 1, 5, 2);
    expect_chunk(schedule, 1, 9, 1);
    expect_chunk(schedule, 0, 0, 0);
    expect_chunk(schedule, 1, 0, 0);
    thrum_schedule_free(schedule);
}

TEST(steal_looks_for_the_largest_rest_of_all)
{
    /* Blocks [0, 4), [4, 8), [8, 12). Rests when worker 0 has done its own: 1 and 4. It takes [10, 12) and one chunk of
     * it; then worker 1's is done too, and [8, 10) is larger than [11, 12). */
    thrum_schedule *schedule = new_schedule(THRUM_STEAL, (thrum_loop_facts){.iterations = 12, .workers = 3});
    for (uint64_t i = 0; i < 3; i++) {
        expect_chunk(schedule, 0, i, 1);
        expect_chunk(schedule, 1, 4 + i, 1);
    }
    expect_chunk(schedule, 0, 3, 1);
    expect_chunk(schedule, 0, 10, 1);
    expect_chunk(schedule, 1, 7, 1);
    expect_chunk(schedule, 1, 9, 1);
    thrum_schedule_free(schedule);
}

TEST(steal_takes_a_block_in_1024_chunks_by_default)
{
    thrum_schedule *schedule = new_schedule(THRUM_STEAL, (thrum_loop_facts){.iterations = 1 << 20, .workers = 2});
    expect_chunk(schedule, 0, 0, 512); /* 2^20/(1024 * 2) */
    expect_chunk(schedule, 1, 1 << 19, 512);
    thrum_schedule_free(schedule);
}

/* ---- One size ---------------------------------------------------------------------------------------------------- */

TEST(ss_gives_one_at_a_time_or_the_least)
{
    expect_sizes(THRUM_SS, (thrum_loop_facts){.iterations = 4, .workers = 3}, "1*4");
    expect_sizes(THRUM_SS, (thrum_loop_facts){.iterations = 7, .workers = 2, .least = 3}, "3*2 1");
}

TEST(fsc_weighs_the_cost_against_the_deviation)
{
    /* sqrt(2) * 100 * 0.5 = 70.711; 1 * 2 * sqrt(ln 2) = 1.6651; (70.711/1.6651)^(2/3) = 42.467^(2/3) = 12.17. */
    expect_sizes(THRUM_FSC, (thrum_loop_facts){.iterations = 100, .workers = 2, .deviation = 1, .cost = 0.5}, "13*7 9");
    /* sqrt(2) * 1000 * 2 = 2828.4; 3 * 4 * sqrt(ln 4) = 14.129; 200.19^(2/3) = 34.22. */
    expect_sizes(THRUM_FSC, (thrum_loop_facts){.iterations = 1000, .workers = 4, .deviation = 3, .cost = 2},
                 "35*28 20");
}

TEST(mfsc_makes_log2_chunks_of_a_block)
{
    /* t = 25: 0.55 + 25 ln 2/ln 25 = 5.93. */
    expect_sizes(THRUM_MFSC, (thrum_loop_facts){.iterations = 100, .workers = 4}, "5*20");
    /* t = 512: 0.55 + 512/9 = 57.44. */
    expect_sizes(THRUM_MFSC, (thrum_loop_facts){.iterations = 1024, .workers = 2}, "57*17 55");
    /* t = 1, whose logarithm is 0. */
    expect_sizes(THRUM_MFSC, (thrum_loop_facts){.iterations = 3, .workers = 4}, "1*3");
}

/* ---- Sizes that follow the rest ---------------------------------------------------------------------------------- */

TEST(gss_gives_a_share_of_the_rest)
{
    /* R = 20, 15, 11, 8, 6, 4, 3, 2, 1, a quarter of each, rounded up. */
    expect_sizes(THRUM_GSS, (thrum_loop_facts){.iterations = 20, .workers = 4}, "5 4 3 2*2 1*4");
    /* R = 20, 15, 11, 8, 5, 2. */
    expect_sizes(THRUM_GSS, (thrum_loop_facts){.iterations = 20, .workers = 4, .least = 3}, "5 4 3*3 2");
    expect_sizes(THRUM_GSS, (thrum_loop_facts){.iterations = 20, .workers = 1}, "20");
}

TEST(tap_gives_less_than_a_share)
{
    /* v = 1: T + 0.5 - sqrt(2T + 0.25) with T = R/4.
     * R = 100: 18.41, 81: 14.37, 66: 11.23, 54: 8.78, 45: 6.98, 38: 5.61, 32: 4.47, 27: 3.54, 23: 2.82, 20: 2.30, 17:
     * 1.79, 15: 1.47, 13: 1.15, 11: 0.85, and less from there on. */
    expect_sizes(THRUM_TAP, (thrum_loop_facts){.iterations = 100, .workers = 4, .mean = 2, .deviation = 2, .alpha = 1},
                 "19 15 12 9 7 6 5 4 3*2 2*3 1*11");
    /* Nothing deviates: as GSS. */
    expect_sizes(THRUM_TAP, (thrum_loop_facts){.iterations = 20, .workers = 4, .mean = 2}, "5 4 3 2*2 1*4");
}

TEST(tap_is_careful_by_1_3)
{
    /* v = 1.3: 25 + 0.845 - 1.3 sqrt(50.4225) = 16.61. */
    thrum_schedule *schedule =
        new_schedule(THRUM_TAP, (thrum_loop_facts){.iterations = 100, .workers = 4, .mean = 1, .deviation = 1});
    expect_chunk(schedule, 0, 0, 17);
    thrum_schedule_free(schedule);
}

TEST(pls_gives_half_in_blocks_and_then_as_gss)
{
    /* ceil(100/8) = 13, four times; then a quarter of R = 48, 36, 27, 20, 15, 11, 8, 6, 4, 3, 2, 1. */
    expect_sizes(THRUM_PLS, (thrum_loop_facts){.iterations = 100, .workers = 4}, "13*4 12 9 7 5 4 3 2*2 1*4");
    /* ceil(7/4) = 2 is raised to 3, for both of the first two. */
    expect_sizes(THRUM_PLS, (thrum_loop_facts){.iterations = 7, .workers = 2, .least = 3}, "3*2 1");
    expect_sizes(THRUM_PLS, (thrum_loop_facts){.iterations = 3, .workers = 2, .least = 2}, "2 1");
}

TEST(rnd_stays_within_its_bound)
{
    expect_sizes(THRUM_RND, (thrum_loop_facts){.iterations = 5, .workers = 2, .bound = 1, .seed = 7}, "1*5");
    /* n/p is 0: sizes of 1. */
    expect_sizes(THRUM_RND, (thrum_loop_facts){.iterations = 3, .workers = 4, .seed = 9}, "1*3");
}

TEST(rnd_draws_all_sizes_equally_often)
{
    /* 1 to 10: a million iterations make about 181818 chunks; each size is drawn 18182 times, give or take 128. */
    thrum_schedule *schedule =
        new_schedule(THRUM_RND, (thrum_loop_facts){.iterations = 1000000, .workers = 2, .bound = 10, .seed = 1});
    long drawn[12] = {0};
    thrum_chunk chunk;
    while (thrum_schedule_next(schedule, 0, 0, &chunk))
        drawn[chunk.size < 12 ? chunk.size : 11]++;
    for (int size = 1; size <= 10; size++)
        assert_in_range(drawn[size], 18182 - 640, 18182 + 640);
    assert_int_equal(drawn[0] + drawn[11], 0);
    thrum_schedule_free(schedule);
}

TEST(rnd_draws_others_with_another_seed)
{
    char first[2000], second[2000];
    for (uint64_t seed = 1; seed <= 2; seed++) {
        thrum_loop_facts facts = {.iterations = 1000, .workers = 4, .bound = 100, .seed = seed};
        thrum_schedule *schedule = new_schedule(THRUM_RND, facts);
        sizes_in_turn(schedule, 4, seed == 1 ? first : second, sizeof first);
        thrum_schedule_free(schedule);
    }
    assert_string_not_equal(first, second);
}

/* ---- Trapezoids -------------------------------------------------------------------------------------------------- */

TEST(tss_goes_down_by_a_fraction)
{
    /* f = 13, N = ceil(200/14) = 15, delta = 12/14: 13, 12.14, 11.29, 10.43, 9.57, 8.71, 7.86, 7, 6.14, 5.29, and 4 of
     * 4.43 are left. */
    expect_sizes(THRUM_TSS, (thrum_loop_facts){.iterations = 100, .workers = 4}, "13*2 12 11 10 9 8 7*2 6 4");
    /* f = 2, N = ceil(16/3) = 6, delta = 1/5: 2, 1.8, 1.6, 1.4. */
    expect_sizes(THRUM_TSS, (thrum_loop_facts){.iterations = 8, .workers = 2}, "2*4");
    /* f = 1, N = 1: there is no step. */
    expect_sizes(THRUM_TSS, (thrum_loop_facts){.iterations = 1, .workers = 2}, "1");
}

TEST(tss_can_round_to_the_nearest)
{
    /* The same numbers; then 3.57, and 1 of 2.71 is left. */
    expect_sizes(THRUM_TSS, (thrum_loop_facts){.iterations = 100, .workers = 4, .nearest = 1},
                 "13 12 11 10*2 9 8 7 6 5 4*2 1");
    /* 2, 1.8, 1.6, 1.4, 1.2. */
    expect_sizes(THRUM_TSS, (thrum_loop_facts){.iterations = 8, .workers = 2, .nearest = 1}, "2*3 1*2");
    /* f = 3, N = ceil(12/4) = 3, delta = 1: 3, 2, 1. */
    expect_sizes(THRUM_TSS, (thrum_loop_facts){.iterations = 6, .workers = 1, .nearest = 1}, "3 2 1");
    /* f = 4, N = ceil(14/5) = 3, delta = 1.5: 4, 2.5 (which is rounded up), 1. */
    expect_sizes(THRUM_TSS, (thrum_loop_facts){.iterations = 7, .workers = 1, .nearest = 1}, "4 3");
}

TEST(tfss_takes_means_of_tss)
{
    /* (13 + 13 + 12 + 11)/4 = 12.25; (10 + 9 + 8 + 7)/4 = 8.5; (7 + 6 + 5 + 4)/4 = 5.5, of which two. */
    expect_sizes(THRUM_TFSS, (thrum_loop_facts){.iterations = 100, .workers = 4}, "13*4 9*4 6*2");
    /* f = 125, N = 16, delta = 124/15: (125 + 117 + 109 + 101)/4 = 113, (92 + 84 + 76 + 68)/4 = 80,
     * (59 + 51 + 43 + 35)/4 = 47, (26 + 18 + 10 + 1)/4 = 13.75. */
    expect_sizes(THRUM_TFSS, (thrum_loop_facts){.iterations = 1000, .workers = 4}, "113*4 80*4 47*4 14*2 12");
}

/* ---- Batches ----------------------------------------------------------------------------------------------------- */

TEST(fac_follows_the_deviation)
{
    /* p sigma/(2 mu) = 1, so b = 1/sqrt(R).
     * R = 100: b = 0.1, x = 1 + 0.01 + 0.1 sqrt(2.01) = 1.1518, 100/(2x) = 43.41.
     * R = 12: b = 0.28868, x = 2 + 0.08333 + 0.28868 sqrt(4.08333) = 2.6667, 12/(2x) = 2.25.
     * R = 6: x = 2 + 1/6 + sqrt(1/6) sqrt(25/6) = 3, 6/6 = 1; and less from there on. */
    expect_sizes(THRUM_FAC, (thrum_loop_facts){.iterations = 100, .workers = 2, .mean = 1, .deviation = 1},
                 "44*2 3*2 1*6");
    /* p sigma/(2 mu) = 6.
     * R = 1000: b = 0.18974, x = 1.036 + 0.18974 sqrt(2.036) = 1.30673, R/(4x) = 191.3.
     * R = 232: b = 0.39392, x = 2.15517 + 0.39392 sqrt(4.15517) = 2.95815, 19.61.
     * R = 152: b = 0.48666, x = 2.23684 + 0.48666 sqrt(4.23684) = 3.23857, 11.73.
     * R = 104: b = 0.58835, x = 2.34615 + 0.58835 sqrt(4.34615) = 3.57271, 7.28.
     * R = 72: b = 0.70711, x = 2.5 + 0.70711 sqrt(4.5) = 4, 4.5.
     * R = 52: b = 0.83205, x = 2.69231 + 0.83205 sqrt(4.69231) = 4.49467, 2.89.
     * R = 40: b = 0.94868, x = 2.9 + 0.94868 sqrt(4.9) = 5, 2 exactly.
     * R = 32: b = 1.06066, x = 3.125 + 1.06066 sqrt(5.125) = 5.52617, 1.45.
     * R = 24: b = 1.22474, x = 3.5 + 1.22474 sqrt(5.5) = 6.37228, 0.94; and less from there on. */
    expect_sizes(THRUM_FAC, (thrum_loop_facts){.iterations = 1000, .workers = 4, .mean = 2, .deviation = 6},
                 "192*4 20*4 12*4 8*4 5*4 3*4 2*8 1*24");
    /* b = 0: all of it in the first batch. */
    expect_sizes(THRUM_FAC, (thrum_loop_facts){.iterations = 10, .workers = 4, .mean = 2}, "3*3 1");
}

TEST(fac2_halves)
{
    /* An eighth of R = 100, 48, 24, 12, 4. */
    expect_sizes(THRUM_FAC2, (thrum_loop_facts){.iterations = 100, .workers = 4}, "13*4 6*4 3*4 2*4 1*4");
    /* A quarter of R = 7, 3, 1. */
    expect_sizes(THRUM_FAC2, (thrum_loop_facts){.iterations = 7, .workers = 2}, "2*2 1*3");
}

TEST(fiss_grows_by_equal_steps)
{
    /* B = 3, X = 5: c0 = 1000/20 = 50, delta = 2000 * 0.4/(4 * 3 * 2) = 33.3; after the stages 4 of 149 are left. */
    expect_sizes(THRUM_FISS, (thrum_loop_facts){.iterations = 1000, .workers = 4}, "50*4 83*4 116*4 4");
    /* B = 2, X = 4: c0 = 100/8 = 12.5, delta = 200 * 0.5/(2 * 2 * 1) = 25. */
    expect_sizes(THRUM_FISS, (thrum_loop_facts){.iterations = 100, .workers = 2}, "12*2 37*2 2");
    expect_sizes(THRUM_FISS, (thrum_loop_facts){.iterations = 100, .workers = 2, .stages = 1}, "12*2 37*2 2");
    /* B = 4, X = 6: c0 = 100/12 = 8.3, delta = 200 * (1/3)/(2 * 4 * 3) = 2.8. */
    expect_sizes(THRUM_FISS, (thrum_loop_facts){.iterations = 100, .workers = 2, .stages = 4}, "8*2 10*2 12*2 14*2 12");
    /* c0 = 0, delta = 0. */
    expect_sizes(THRUM_FISS, (thrum_loop_facts){.iterations = 9, .workers = 4, .least = 2}, "2*4 1");
}

TEST(viss_grows_by_half_as_much_each_time)
{
    /* c0 = 1000/16 = 62.5: 62, 62 * 0.75/0.5 = 93, 62 * 0.875/0.5 = 108.5, of which 56 are left for the last. */
    expect_sizes(THRUM_VISS, (thrum_loop_facts){.iterations = 1000, .workers = 4}, "62*4 93*4 108*3 56");
    /* c0 = 30/4 = 7.5: 7, 10.5. */
    expect_sizes(THRUM_VISS, (thrum_loop_facts){.iterations = 30, .workers = 2}, "7*2 10 6");
    expect_sizes(THRUM_VISS, (thrum_loop_facts){.iterations = 30, .workers = 1}, "30");
}

/* ---- Given weights ----------------------------------------------------------------------------------------------- */

TEST(wf_weighs_what_fac2_gives)
{
    /* 13 (of R = 100): 5.2, 7.8, 13, 26. 6 (of 47): 2.4, 3.6, 6, 12. 3 (of 22): 1.2, 1.8, 3, 6. 2 (of 9): 0.8, 1.2, 2,
     * 4. */
    thrum_loop_facts facts = {.iterations = 100, .workers = 4, .weights = (double[]){0.4, 0.6, 1, 2}};
    expect_sizes(THRUM_WF, facts, "6 8 13 26 3 4 6 12 2*2 3 6 1 2*2 4");
    expect_sizes(THRUM_AWF, facts, "6 8 13 26 3 4 6 12 2*2 3 6 1 2*2 4");
    expect_sizes(THRUM_WF, (thrum_loop_facts){.iterations = 100, .workers = 4}, "13*4 6*4 3*4 2*4 1*4");
}

TEST(wf_does_not_round_up_what_is_whole_but_for_its_last_digit)
{
    /* 1.1 * 10 is 11.000000000000002 in floating point. R = 40, 20, 9, 2: 10, 5, 3, 1. */
    expect_sizes(THRUM_WF, (thrum_loop_facts){.iterations = 40, .workers = 2, .weights = (double[]){1.1, 0.9}},
                 "11 9 6 5 4 3 2");
}

/* ---- Bounds ------------------------------------------------------------------------------------------------------ */

/* Each rule on its own: FAC and TSS are checked by what they have to sum up to in loop_invariants.c. */
TEST(bounds_have_64_bits)
{
    uint64_t n = INT64_MAX; /* 9223372036854775807 */
    expect_sizes(THRUM_GSS, (thrum_loop_facts){.iterations = n, .workers = 1}, "9223372036854775807");
    /* n = 2 * 4611686018427387903 + 1. */
    expect_sizes(THRUM_GSS, (thrum_loop_facts){.iterations = n, .workers = 2, .least = n / 2},
                 "4611686018427387904 4611686018427387903");
    expect_sizes(THRUM_SS, (thrum_loop_facts){.iterations = n, .workers = 2, .least = UINT64_MAX},
                 "9223372036854775807");
    /* (n + 1)/8 = 2^60, four times; then R = 2^62 - 1, of which 2^62/8 = 2^59 is less than the least size. */
    expect_sizes(THRUM_FAC2, (thrum_loop_facts){.iterations = n, .workers = 4, .least = UINT64_C(1) << 60},
                 "1152921504606846976*7 1152921504606846975");
    thrum_schedule *schedule = new_schedule(THRUM_STAT, (thrum_loop_facts){.iterations = n, .workers = 3});
    expect_chunk(schedule, 2, UINT64_C(6148914691236517205), UINT64_C(3074457345618258602));
    thrum_schedule_free(schedule);
}

TEST(a_loop_without_iterations_has_no_chunks)
{
    thrum_chunk chunk;
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        thrum_schedule *schedule =
            new_schedule((thrum_technique)t, (thrum_loop_facts){.workers = 3, .mean = 1, .deviation = 1, .cost = 1});
        for (uint32_t worker = 0; worker < 3; worker++)
            assert_int_equal(thrum_schedule_next(schedule, worker, 0, &chunk), 0);
        thrum__loop_row row;
        if (thrum__rule_of((thrum_technique)t)->order == THRUM__BY_NUMBER)
            assert_int_equal(thrum__loop_rows(schedule, &row, 1), 0);
        thrum_schedule_free(schedule);
    }
}

TEST(a_schedule_without_memory_is_not_made)
{
    thrum__alloc_fail_after(0);
    assert_null(thrum_schedule_new(THRUM_AF, &(thrum_loop_facts){.iterations = 10, .workers = 2}));
    thrum__alloc_fail_after(-1);
    assert_contains(thrum_message(NULL), "memory");
}

/* ---- For several threads ----------------------------------------------------------------------------------------- */

TEST(rows_hold_chunks_of_one_size)
{
    thrum__loop_row rows[8];
    thrum_schedule *schedule = new_schedule(THRUM_FAC2, (thrum_loop_facts){.iterations = 100, .workers = 4});
    /* "13*4 6*4 3*4 2*4 1*4" */
    static const thrum__loop_row expected[] = {{0, 0, 13}, {4, 52, 6}, {8, 76, 3}, {12, 88, 2}, {16, 96, 1}};
    assert_int_equal(thrum__loop_rows(schedule, rows, 5), 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(rows[i].first, expected[i].first);
        assert_int_equal(rows[i].begin, expected[i].begin);
        assert_int_equal(rows[i].size, expected[i].size);
    }
    assert_int_equal(thrum__loop_rows(schedule, rows, 4), 0);
    expect_chunk(schedule, 0, 0, 13);
    thrum_schedule_free(schedule);
}

TEST(one_row_is_enough_for_one_size)
{
    thrum__loop_row row;
    thrum_schedule *schedule = new_schedule(THRUM_SS, (thrum_loop_facts){.iterations = INT64_MAX, .workers = 4});
    assert_int_equal(thrum__loop_rows(schedule, &row, 1), 1);
    assert_int_equal(row.size, 1);
    thrum_schedule_free(schedule);
}

TEST(rows_of_equal_batches_are_one)
{
    thrum__loop_row row;
    thrum_loop_facts facts = {.iterations = 1000000, .workers = 4, .least = 200000};
    thrum_schedule *schedule = new_schedule(THRUM_FAC2, facts);
    assert_int_equal(thrum__loop_rows(schedule, &row, 1), 1);
    assert_int_equal(row.size, 200000);
    thrum_schedule_free(schedule);
}

TEST(a_schedule_in_memory_of_the_callers_is_the_same)
{
    thrum_schedule schedule;
    thrum__loop_worker workers[2];
    memset(workers, 0xff, sizeof workers);
    thrum_loop_facts facts = {.iterations = 40, .workers = 2, .weights = (double[]){1.1, 0.9}};
    assert_int_equal(thrum__schedule_begin(&schedule, THRUM_WF, &facts, workers), 0);
    expect_chunk(&schedule, 0, 0, 11);
    expect_chunk(&schedule, 1, 11, 9);
    assert_int_equal(thrum__schedule_begin(&schedule, THRUM_GSS, &facts, NULL), 0);
    assert_int_equal(thrum__size_of_rest(&schedule, 40), 20);
    assert_int_equal(thrum__size_of_rest(&schedule, 0), 0);
    expect_chunk(&schedule, 1, 0, 20);
    facts.workers = 0;
    assert_error(thrum__schedule_begin(&schedule, THRUM_GSS, &facts, NULL), THRUM_EINVAL, "0 workers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_gives_each_worker_its_block_once),
        cmocka_unit_test(stat_has_nothing_for_workers_beyond_the_iterations),
        cmocka_unit_test(steal_takes_the_back_half_of_the_largest_rest),
        cmocka_unit_test(steal_looks_for_the_largest_rest_of_all),
        cmocka_unit_test(steal_takes_a_block_in_1024_chunks_by_default),
        cmocka_unit_test(ss_gives_one_at_a_time_or_the_least),
        cmocka_unit_test(fsc_weighs_the_cost_against_the_deviation),
        cmocka_unit_test(mfsc_makes_log2_chunks_of_a_block),
        cmocka_unit_test(gss_gives_a_share_of_the_rest),
        cmocka_unit_test(tap_gives_less_than_a_share),
        cmocka_unit_test(tap_is_careful_by_1_3),
        cmocka_unit_test(pls_gives_half_in_blocks_and_then_as_gss),
        cmocka_unit_test(rnd_stays_within_its_bound),
        cmocka_unit_test(rnd_draws_all_sizes_equally_often),
        cmocka_unit_test(rnd_draws_others_with_another_seed),
        cmocka_unit_test(tss_goes_down_by_a_fraction),
        cmocka_unit_test(tss_can_round_to_the_nearest),
        cmocka_unit_test(tfss_takes_means_of_tss),
        cmocka_unit_test(fac_follows_the_deviation),
        cmocka_unit_test(fac2_halves),
        cmocka_unit_test(fiss_grows_by_equal_steps),
        cmocka_unit_test(viss_grows_by_half_as_much_each_time),
        cmocka_unit_test(wf_weighs_what_fac2_gives),
        cmocka_unit_test(wf_does_not_round_up_what_is_whole_but_for_its_last_digit),
        cmocka_unit_test(bounds_have_64_bits),
        cmocka_unit_test(a_loop_without_iterations_has_no_chunks),
        cmocka_unit_test(a_schedule_without_memory_is_not_made),
        cmocka_unit_test(rows_hold_chunks_of_one_size),
        cmocka_unit_test(one_row_is_enough_for_one_size),
        cmocka_unit_test(rows_of_equal_batches_are_one),
        cmocka_unit_test(a_schedule_in_memory_of_the_callers_is_the_same),
    };
    return RUN_TESTS(tests, 30);
}
