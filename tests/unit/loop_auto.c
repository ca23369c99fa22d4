/* SPDX-License-Identifier: MIT
 *
 * THRUM_AUTO's choice, fed with made-up times.
 */
#include "random.h"
#include "test.h"

#include "sched/auto.h"

/* What each technique takes on a made-up load, and how much that varies, in percent. */
struct load {
    double time[THRUM_TECHNIQUES];
    unsigned noise;
};

static struct load load_where(thrum_technique best, double others)
{
    struct load load = {.noise = 0};
    for (int i = 0; i < THRUM_TECHNIQUES; i++)
        load.time[i] = others;
    load.time[best] = 1;
    return load;
}

static struct random random_;

static thrum_technique execute(thrum__auto *choice, const struct load *load)
{
    thrum_technique technique = thrum__auto_pick(choice);
    double noise = load->noise ? (double)random_below(&random_, load->noise) / 100 : 0;
    thrum__auto_learn(choice, technique, load->time[technique] * (1 + noise));
    return technique;
}

static void execute_times(thrum__auto *choice, const struct load *load, int times)
{
    for (int i = 0; i < times; i++)
        execute(choice, load);
}

static const thrum_technique candidates[] = {THRUM_STEAL, THRUM_STAT, THRUM_FAC2, THRUM_AWF_C, THRUM_SS};

TEST(the_fastest_is_found_within_20_executions)
{
    for (size_t i = 0; i < COUNT_OF(candidates); i++) {
        thrum__auto choice = {0};
        struct load load = load_where(candidates[i], 1.2);
        execute_times(&choice, &load, 20);
        assert_int_equal(thrum__auto_pick(&choice), candidates[i]);
    }
}

TEST(noise_of_a_few_percent_does_not_matter)
{
    random_ = random_new(1);
    for (size_t i = 0; i < COUNT_OF(candidates); i++) {
        thrum__auto choice = {0};
        struct load load = load_where(candidates[i], 1.3);
        load.noise = 8;
        execute_times(&choice, &load, 20);
        for (int j = 0; j < 15; j++)
            assert_int_equal(execute(&choice, &load), candidates[i]);
    }
}

TEST(a_hopeless_rule_is_tried_once)
{
    thrum__auto choice = {0};
    struct load load = load_where(THRUM_STEAL, 1.01);
    int tries = 0;
    load.time[THRUM_STAT] = 2;
    for (int i = 0; i < 20; i++)
        tries += execute(&choice, &load) == THRUM_STAT;
    assert_int_equal(tries, 1);
}

TEST(when_the_load_changes_the_choice_is_open_again)
{
    thrum__auto choice = {0};
    struct load before = load_where(THRUM_STAT, 1.5), after = load_where(THRUM_FAC2, 1.5);
    execute_times(&choice, &before, 20);
    assert_int_equal(thrum__auto_pick(&choice), THRUM_STAT);
    execute_times(&choice, &after, 20);
    assert_int_equal(thrum__auto_pick(&choice), THRUM_FAC2);
}

/* All have a good time now and then; what counts is what a rule mostly takes. */
TEST(times_that_vary_are_compared_by_their_medians)
{
    static const double luck[] = {1, 1.6, 1.5};
    thrum__auto choice = {0};
    for (int i = 0; i < 20; i++) {
        thrum_technique technique = thrum__auto_pick(&choice);
        int turn = i / THRUM__AUTO_RULES % 3;
        thrum__auto_learn(&choice, technique, technique == THRUM_AWF_C ? 1.05 : luck[turn]);
    }
    assert_int_equal(thrum__auto_pick(&choice), THRUM_AWF_C);
}

/* So little more that no single execution tells, and another rule is better by a tenth. */
TEST(a_small_change_that_stays_is_noticed)
{
    thrum__auto choice = {0};
    struct load before = load_where(THRUM_FAC2, 1.2), after = load_where(THRUM_STEAL, 1.2);
    after.time[THRUM_FAC2] = 1.07;
    execute_times(&choice, &before, 20);
    assert_int_equal(thrum__auto_pick(&choice), THRUM_FAC2);
    execute_times(&choice, &after, 20);
    assert_int_equal(thrum__auto_pick(&choice), THRUM_STEAL);
}

TEST(a_load_that_became_lighter_is_a_change_too)
{
    thrum__auto choice = {0};
    struct load before = load_where(THRUM_STAT, 1.5), after = load_where(THRUM_STEAL, 1.5);
    for (int i = 0; i < THRUM_TECHNIQUES; i++)
        after.time[i] /= 2;
    execute_times(&choice, &before, 20);
    execute_times(&choice, &after, 20);
    assert_int_equal(thrum__auto_pick(&choice), THRUM_STEAL);
}

/* Neither among the first of the kept rule nor later. */
TEST(one_slow_execution_changes_nothing)
{
    for (int before = 10; before < 17; before++) {
        thrum__auto choice = {0};
        struct load load = load_where(THRUM_AWF_C, 1.2);
        execute_times(&choice, &load, before);
        thrum__auto_learn(&choice, THRUM_AWF_C, 30);
        for (int i = 0; i < 15; i++)
            assert_int_equal(execute(&choice, &load), THRUM_AWF_C);
    }
}

/* The best of its tries is far from what it takes mostly. */
TEST(a_lucky_try_does_not_open_the_choice_again)
{
    thrum__auto choice = {0};
    struct load load = load_where(THRUM_AWF_C, 1.2), lucky = load;
    lucky.time[THRUM_AWF_C] = 0.7;
    execute_times(&choice, &lucky, THRUM__AUTO_RULES); /* each is tried once */
    execute_times(&choice, &load, 15);
    for (int i = 0; i < 15; i++)
        assert_int_equal(execute(&choice, &load), THRUM_AWF_C);
}

/* When the choice is made, executions by other rules are still under way. */
TEST(executions_side_by_side_come_to_a_choice_that_stands)
{
    enum { SIDES = 4 };
    thrum__auto choice = {0};
    struct load load = load_where(THRUM_FAC2, 1.2);
    thrum_technique under_way[SIDES];
    int others = 0;
    for (int i = 0; i < SIDES; i++)
        under_way[i] = thrum__auto_pick(&choice);
    for (int i = 0; i < 200; i++) {
        thrum_technique done = under_way[i % SIDES];
        thrum__auto_learn(&choice, done, load.time[done]);
        under_way[i % SIDES] = thrum__auto_pick(&choice);
        others += i >= 40 && done != THRUM_FAC2;
    }
    assert_in_range(others, 0, 200 / 32 * SIDES);
}

/* Its only try came while something else ran on the machine. */
TEST(a_rule_that_had_bad_luck_gets_another_chance)
{
    thrum__auto choice = {0};
    struct load load = load_where(THRUM_SS, 1.2), unlucky = load;
    unlucky.time[THRUM_SS] = 1.3;
    execute_times(&choice, &unlucky, 20);
    execute_times(&choice, &load, 200);
    assert_int_equal(thrum__auto_pick(&choice), THRUM_SS);
}

TEST(nonsense_is_not_learned)
{
    thrum__auto choice = {0}, before;
    struct load load = load_where(THRUM_STEAL, 1.2);
    execute_times(&choice, &load, 20);
    before = choice;
    thrum__auto_learn(&choice, THRUM_BOLD, 0.1);
    thrum__auto_learn(&choice, THRUM_STEAL, 0);
    thrum__auto_learn(&choice, THRUM_STEAL, -1);
    assert_memory_equal(&choice, &before, sizeof choice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fastest_is_found_within_20_executions),
        cmocka_unit_test(noise_of_a_few_percent_does_not_matter),
        cmocka_unit_test(a_hopeless_rule_is_tried_once),
        cmocka_unit_test(when_the_load_changes_the_choice_is_open_again),
        cmocka_unit_test(times_that_vary_are_compared_by_their_medians),
        cmocka_unit_test(a_small_change_that_stays_is_noticed),
        cmocka_unit_test(a_load_that_became_lighter_is_a_change_too),
        cmocka_unit_test(one_slow_execution_changes_nothing),
        cmocka_unit_test(a_lucky_try_does_not_open_the_choice_again),
        cmocka_unit_test(executions_side_by_side_come_to_a_choice_that_stands),
        cmocka_unit_test(a_rule_that_had_bad_luck_gets_another_chance),
        cmocka_unit_test(nonsense_is_not_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
