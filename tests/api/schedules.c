/* SPDX-License-Identifier: MIT
 *
 * Schedules of loops as a user sees them: names, what techniques need, and every wrong use.
 */
#include "test.h"

#include <math.h>

static const char *const names[THRUM_TECHNIQUES] = {
    [THRUM_STEAL] = "STEAL", [THRUM_STAT] = "STAT",   [THRUM_SS] = "SS",       [THRUM_FSC] = "FSC",
    [THRUM_MFSC] = "mFSC",   [THRUM_GSS] = "GSS",     [THRUM_TSS] = "TSS",     [THRUM_FAC] = "FAC",
    [THRUM_FAC2] = "FAC2",   [THRUM_TAP] = "TAP",     [THRUM_TFSS] = "TFSS",   [THRUM_BOLD] = "BOLD",
    [THRUM_WF] = "WF",       [THRUM_AWF] = "AWF",     [THRUM_AWF_B] = "AWF-B", [THRUM_AWF_C] = "AWF-C",
    [THRUM_AWF_D] = "AWF-D", [THRUM_AWF_E] = "AWF-E", [THRUM_AF] = "AF",       [THRUM_MAF] = "mAF",
    [THRUM_FISS] = "FISS",   [THRUM_VISS] = "VISS",   [THRUM_PLS] = "PLS",     [THRUM_RND] = "RND",
};

/* Facts that all techniques are content with. */
static thrum_loop_facts good_facts(void)
{
    return (thrum_loop_facts){.iterations = 100, .workers = 4, .mean = 1, .deviation = 1, .cost = 1};
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

TEST(every_technique_has_a_name_and_a_text)
{
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        assert_string_equal(thrum_technique_name((thrum_technique)t), names[t]);
        assert_true(strlen(thrum_technique_text((thrum_technique)t)) > 20);
    }
    assert_string_equal(thrum_technique_name(THRUM_AUTO), "AUTO");
    assert_string_equal(thrum_technique_name(THRUM_RUNTIME), "RUNTIME");
    assert_non_null(thrum_technique_text(THRUM_AUTO));
    assert_non_null(thrum_technique_text(THRUM_RUNTIME));
}

TEST(other_numbers_have_none)
{
    static const int numbers[] = {-1, THRUM_TECHNIQUES, 99, 102, 1 << 30};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        assert_null(thrum_technique_name((thrum_technique)numbers[i]));
        assert_null(thrum_technique_text((thrum_technique)numbers[i]));
        assert_int_equal(thrum_technique_needs((thrum_technique)numbers[i]), 0);
    }
}

TEST(techniques_say_what_they_need)
{
    assert_int_equal(thrum_technique_needs(THRUM_GSS), 0);
    assert_int_equal(thrum_technique_needs(THRUM_FSC), THRUM_NEEDS_DEVIATION | THRUM_NEEDS_COST);
    assert_int_equal(thrum_technique_needs(THRUM_FAC), THRUM_NEEDS_MEAN | THRUM_NEEDS_DEVIATION);
    assert_int_equal(thrum_technique_needs(THRUM_TAP), THRUM_NEEDS_MEAN | THRUM_NEEDS_DEVIATION);
    assert_int_equal(thrum_technique_needs(THRUM_BOLD), THRUM_NEEDS_MEAN | THRUM_NEEDS_DEVIATION | THRUM_NEEDS_COST);
    assert_int_equal(thrum_technique_needs(THRUM_WF), THRUM_NEEDS_WEIGHTS);
    assert_int_equal(thrum_technique_needs(THRUM_AWF_E), THRUM_NEEDS_WEIGHTS | THRUM_NEEDS_TIMES);
    assert_int_equal(thrum_technique_needs(THRUM_MAF), THRUM_NEEDS_TIMES);
    assert_int_equal(thrum_technique_needs(THRUM_AUTO), 0);
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

static void expect_parsed(const char *text, thrum_technique technique, size_t least)
{
    thrum_technique parsed = THRUM_RUNTIME;
    size_t size = 77;
    if (thrum_schedule_parse(text, &parsed, &size))
        print_error("\"%s\": %s\n", text, thrum_message(NULL));
    assert_int_equal(parsed, technique);
    assert_int_equal(size, least);
}

TEST(every_name_is_understood)
{
    for (int t = 0; t < THRUM_TECHNIQUES; t++)
        expect_parsed(names[t], (thrum_technique)t, 0);
    expect_parsed("AUTO", THRUM_AUTO, 0);
}

TEST(names_are_understood_in_any_case_and_with_any_separator)
{
    expect_parsed("fac2", THRUM_FAC2, 0);
    expect_parsed("Fac", THRUM_FAC, 0);
    expect_parsed("awf", THRUM_AWF, 0);
    expect_parsed("awf-c", THRUM_AWF_C, 0);
    expect_parsed("AWF_C", THRUM_AWF_C, 0);
    expect_parsed("awfc", THRUM_AWF_C, 0);
    expect_parsed("m-fsc", THRUM_MFSC, 0);
    expect_parsed("MAF", THRUM_MAF, 0);
    expect_parsed("auto", THRUM_AUTO, 0);
}

TEST(a_least_size_follows_a_comma)
{
    expect_parsed("fac2,16", THRUM_FAC2, 16);
    expect_parsed("awf-b,1", THRUM_AWF_B, 1);
    expect_parsed("auto,007", THRUM_AUTO, 7);
    expect_parsed("gss,9223372036854775807", THRUM_GSS, INT64_MAX);
}

static void expect_refused(const char *text, const char *part)
{
    thrum_technique technique = THRUM_RUNTIME;
    size_t least = 77;
    if (thrum_schedule_parse(text, &technique, &least) != THRUM_EINVAL)
        print_error("\"%s\" is taken\n", text);
    assert_int_equal(technique, THRUM_RUNTIME);
    assert_int_equal(least, 77);
    assert_error(thrum_schedule_parse(text, &technique, &least), THRUM_EINVAL, part);
}

TEST(unknown_names_get_the_list_of_the_right_ones)
{
    static const char *const texts[] = {"",      "fac3",   "guided", "runtime", "fac2 ",  " fac2", "-fac2",
                                        "fac2-", "f--ac2", "fa",     "awf-",    "awf-b-", "auto2", "fac2;16"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        expect_refused(texts[i], texts[i]);
        expect_refused(texts[i],
                       "STEAL, STAT, SS, FSC, mFSC, GSS, TSS, FAC, FAC2, TAP, TFSS, BOLD, WF, AWF, AWF-B, AWF-C, "
                       "AWF-D, AWF-E, AF, mAF, FISS, VISS, PLS, RND and AUTO");
    }
}

TEST(wrong_least_sizes_are_refused)
{
    static const char *const texts[] = {"fac2,",    "fac2,0",   "fac2,-1",  "fac2,x",   "fac2,16x",
                                        "fac2, 16", "fac2,16 ", "fac2,1,2", "fac2,+16", "fac2,9223372036854775808"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        expect_refused(texts[i], texts[i]);
        expect_refused(texts[i], "as in 'fac2,16'");
    }
}

TEST(a_long_text_is_cut_and_the_names_are_not)
{
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    expect_refused(text, "RND and AUTO");
}

TEST(parsing_needs_places_for_its_results)
{
    thrum_technique technique;
    size_t least;
    assert_error(thrum_schedule_parse(NULL, &technique, &least), THRUM_EINVAL, "thrum_schedule_parse");
    assert_error(thrum_schedule_parse("ss", NULL, &least), THRUM_EINVAL, "thrum_schedule_parse");
    assert_error(thrum_schedule_parse("ss", &technique, NULL), THRUM_EINVAL, "thrum_schedule_parse");
}

/* ---- Wrong facts ------------------------------------------------------------------------------------------------- */

static void expect_no_schedule(thrum_technique technique, const thrum_loop_facts *facts, const char *part)
{
    thrum_schedule *schedule = thrum_schedule_new(technique, facts);
    if (schedule)
        print_error("%s takes it\n", thrum_technique_name(technique));
    assert_null(schedule);
    assert_contains(thrum_message(NULL), part);
}

TEST(good_facts_are_taken)
{
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        thrum_loop_facts facts = good_facts();
        thrum_schedule *schedule = thrum_schedule_new((thrum_technique)t, &facts);
        assert_non_null(schedule);
        thrum_schedule_free(schedule);
    }
}

TEST(no_technique_makes_do_without_workers_or_facts)
{
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        thrum_loop_facts facts = good_facts();
        facts.workers = 0;
        expect_no_schedule((thrum_technique)t, &facts, "0 workers");
        expect_no_schedule((thrum_technique)t, &facts, names[t]);
        expect_no_schedule((thrum_technique)t, NULL, "NULL");
    }
}

TEST(no_technique_counts_beyond_63_bits)
{
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        thrum_loop_facts facts = good_facts();
        facts.iterations = UINT64_C(1) << 63;
        expect_no_schedule((thrum_technique)t, &facts, "9223372036854775808 iterations");
        expect_no_schedule((thrum_technique)t, &facts, "2^63 - 1");
        facts.iterations--;
        thrum_schedule *schedule = thrum_schedule_new((thrum_technique)t, &facts);
        assert_non_null(schedule);
        thrum_schedule_free(schedule);
    }
}

TEST(no_technique_takes_numbers_that_are_none)
{
    static const double wrong[] = {-1, -INFINITY, INFINITY, NAN};
    static const struct {
        size_t place;
        const char *name;
    } fields[] = {
        {offsetof(thrum_loop_facts, mean), "mean"},
        {offsetof(thrum_loop_facts, deviation), "deviation"},
        {offsetof(thrum_loop_facts, cost), "cost"},
        {offsetof(thrum_loop_facts, alpha), "alpha"},
    };
    for (int t = 0; t < THRUM_TECHNIQUES; t++)
        for (size_t f = 0; f < COUNT_OF(fields); f++)
            for (size_t i = 0; i < COUNT_OF(wrong); i++) {
                thrum_loop_facts facts = good_facts();
                memcpy((char *)&facts + fields[f].place, &wrong[i], sizeof wrong[i]);
                expect_no_schedule((thrum_technique)t, &facts, fields[f].name);
                expect_no_schedule((thrum_technique)t, &facts, names[t]);
            }
}

TEST(a_mean_of_0_is_not_known)
{
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        thrum_loop_facts facts = good_facts();
        facts.mean = 0;
        thrum_schedule *schedule = thrum_schedule_new((thrum_technique)t, &facts);
        bool needed = t == THRUM_FAC || t == THRUM_TAP || t == THRUM_BOLD;
        assert_int_equal(schedule == NULL, needed);
        if (needed)
            assert_contains(thrum_message(NULL), "needs the mean time of an iteration, and it is 0");
        thrum_schedule_free(schedule);
    }
}

TEST(a_cost_of_0_is_not_known)
{
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        thrum_loop_facts facts = good_facts();
        facts.cost = 0;
        thrum_schedule *schedule = thrum_schedule_new((thrum_technique)t, &facts);
        bool needed = t == THRUM_FSC || t == THRUM_BOLD;
        assert_int_equal(schedule == NULL, needed);
        if (needed)
            assert_contains(thrum_message(NULL), "needs the cost of a chunk, and it is 0");
        thrum_schedule_free(schedule);
    }
}

TEST(a_deviation_of_0_is_refused_only_where_it_is_divided_by)
{
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        thrum_loop_facts facts = good_facts();
        facts.deviation = 0;
        thrum_schedule *schedule = thrum_schedule_new((thrum_technique)t, &facts);
        assert_int_equal(schedule == NULL, t == THRUM_FSC);
        if (t == THRUM_FSC)
            assert_contains(thrum_message(NULL), "FSC divides by the deviation");
        thrum_schedule_free(schedule);
    }
}

TEST(one_worker_is_too_few_for_fsc_alone)
{
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        thrum_loop_facts facts = good_facts();
        facts.workers = 1;
        thrum_schedule *schedule = thrum_schedule_new((thrum_technique)t, &facts);
        assert_int_equal(schedule == NULL, t == THRUM_FSC);
        if (t == THRUM_FSC)
            assert_contains(thrum_message(NULL), "two or more");
        thrum_schedule_free(schedule);
    }
}

static void expect_wrong_weights(const double *weights, const char *part)
{
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        if (!(thrum_technique_needs((thrum_technique)t) & THRUM_NEEDS_WEIGHTS))
            continue;
        thrum_loop_facts facts = good_facts();
        facts.weights = weights;
        expect_no_schedule((thrum_technique)t, &facts, part);
        expect_no_schedule((thrum_technique)t, &facts, names[t]);
    }
}

TEST(wrong_weights_are_refused)
{
    expect_wrong_weights((double[]){1, 1, 1, 1.1}, "sum up to 4.1: they must sum up to the number of workers, 4");
    expect_wrong_weights((double[]){1, 1, 1, 1 + 8e-6}, "sum up");
    expect_wrong_weights((double[]){1, 1, 2, 0}, "weight of worker 3");
    expect_wrong_weights((double[]){-1, 2, 2, 1}, "weight of worker 0");
    expect_wrong_weights((double[]){1, NAN, 1, 1}, "weight of worker 1");
    expect_wrong_weights((double[]){1, 1, INFINITY, 1}, "weight of worker 2");
}

TEST(weights_may_miss_their_sum_by_rounding)
{
    thrum_loop_facts facts = good_facts();
    facts.weights = (double[]){1, 1, 1, 1 + 2e-6};
    thrum_schedule *schedule = thrum_schedule_new(THRUM_WF, &facts);
    assert_non_null(schedule);
    thrum_schedule_free(schedule);
}

TEST(ways_to_pick_a_technique_are_none)
{
    thrum_loop_facts facts = good_facts();
    expect_no_schedule(THRUM_AUTO, &facts, "AUTO is a way to pick a technique");
    expect_no_schedule(THRUM_RUNTIME, &facts, "RUNTIME is a way to pick a technique");
    expect_no_schedule((thrum_technique)-1, &facts, "-1 is the number of no technique");
    expect_no_schedule(THRUM_TECHNIQUES, &facts, "no technique");
}

/* ---- Wrong requests ---------------------------------------------------------------------------------------------- */

TEST(workers_that_do_not_exist_get_nothing)
{
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        thrum_loop_facts facts = good_facts();
        thrum_schedule *schedule = thrum_schedule_new((thrum_technique)t, &facts);
        thrum_chunk chunk = {7, 7};
        assert_int_equal(thrum_schedule_next(schedule, 4, 0, &chunk), 0);
        assert_int_equal(thrum_schedule_next(schedule, UINT32_MAX, 0, &chunk), 0);
        assert_int_equal(thrum_schedule_next(schedule, 0, 0, NULL), 0);
        assert_int_equal(thrum_schedule_next(NULL, 0, 0, &chunk), 0);
        assert_int_equal(chunk.size, 7);
        thrum_schedule_finished(schedule, 4, 10, 1, 1);
        assert_int_equal(thrum_schedule_next(schedule, 3, 0, &chunk), 1);
        thrum_schedule_free(schedule);
    }
}

TEST(times_that_are_none_do_not_lead_astray)
{
    static const double times[] = {NAN, -1e300, INFINITY, 1e300, -INFINITY, 0};
    thrum_loop_facts facts = good_facts();
    facts.iterations = 1000;
    thrum_schedule *schedule = thrum_schedule_new(THRUM_BOLD, &facts);
    thrum_chunk chunk;
    uint64_t sum = 0;
    for (uint32_t i = 0; thrum_schedule_next(schedule, i % 4, times[i % COUNT_OF(times)], &chunk); i++) {
        assert_int_equal(chunk.begin, sum);
        sum += chunk.size;
    }
    assert_int_equal(sum, 1000);
    thrum_schedule_free(schedule);
}

TEST(nothing_is_done_to_nothing)
{
    thrum_schedule_free(NULL);
    thrum_schedule_restart(NULL);
    thrum_schedule_finished(NULL, 0, 1, 1, 1);
    thrum_awf_step(NULL, 1, 1, NULL, NULL, NULL);
    assert_contains(thrum_message(NULL), "thrum_awf_step");
}

/* ---- Use --------------------------------------------------------------------------------------------------------- */

TEST(schedules_do_not_disturb_each_other)
{
    /* FAC2 of 100 and 4: 13*4 6*4 3*4 2*4 1*4. Two of them in turn, with a third of another kind between them. */
    static const uint64_t sizes[] = {13, 13, 13, 13, 6, 6, 6, 6, 3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1};
    thrum_loop_facts facts = good_facts();
    thrum_schedule *one = thrum_schedule_new(THRUM_FAC2, &facts), *other = thrum_schedule_new(THRUM_FAC2, &facts);
    thrum_schedule *third = thrum_schedule_new(THRUM_FAC, &facts);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        thrum_chunk chunk;
        assert_int_equal(thrum_schedule_next(one, 0, 0, &chunk), 1);
        assert_int_equal(chunk.size, sizes[i]);
        thrum_schedule_next(third, 1, 0, &chunk);
        assert_int_equal(thrum_schedule_next(other, 2, 0, &chunk), 1);
        assert_int_equal(chunk.size, sizes[i]);
    }
    thrum_schedule_free(one);
    thrum_schedule_free(other);
    thrum_schedule_free(third);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_technique_has_a_name_and_a_text),
        cmocka_unit_test(other_numbers_have_none),
        cmocka_unit_test(techniques_say_what_they_need),
        cmocka_unit_test(every_name_is_understood),
        cmocka_unit_test(names_are_understood_in_any_case_and_with_any_separator),
        cmocka_unit_test(a_least_size_follows_a_comma),
        cmocka_unit_test(unknown_names_get_the_list_of_the_right_ones),
        cmocka_unit_test(wrong_least_sizes_are_refused),
        cmocka_unit_test(a_long_text_is_cut_and_the_names_are_not),
        cmocka_unit_test(parsing_needs_places_for_its_results),
        cmocka_unit_test(good_facts_are_taken),
        cmocka_unit_test(no_technique_makes_do_without_workers_or_facts),
        cmocka_unit_test(no_technique_counts_beyond_63_bits),
        cmocka_unit_test(no_technique_takes_numbers_that_are_none),
        cmocka_unit_test(a_mean_of_0_is_not_known),
        cmocka_unit_test(a_cost_of_0_is_not_known),
        cmocka_unit_test(a_deviation_of_0_is_refused_only_where_it_is_divided_by),
        cmocka_unit_test(one_worker_is_too_few_for_fsc_alone),
        cmocka_unit_test(wrong_weights_are_refused),
        cmocka_unit_test(weights_may_miss_their_sum_by_rounding),
        cmocka_unit_test(ways_to_pick_a_technique_are_none),
        cmocka_unit_test(workers_that_do_not_exist_get_nothing),
        cmocka_unit_test(times_that_are_none_do_not_lead_astray),
        cmocka_unit_test(nothing_is_done_to_nothing),
        cmocka_unit_test(schedules_do_not_disturb_each_other),
    };
    return RUN_TESTS(tests, 30);
}
