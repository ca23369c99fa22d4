/* SPDX-License-Identifier: MIT
 *
 * The option table: every option's default, range and wrong values, and names that do not exist.
 */
#include "test.h"

#include "base/options.h"

/* The ends of each range, and values just outside or not of the kind. NULL ends a list. */
static const struct expectation {
    const char *name;
    const char *good[6];
    int64_t numbers[6];
    const char *bad[8];
} expectations[THRUM__OPTIONS] = {
    [THRUM__OPT_WORKERS] = {"THRUM_WORKERS",
                            {"auto", "0", "1", "1024"},
                            {-1, 0, 1, 1024},
                            {"-1", "1025", "many", "", "2 ", "1.5", "automatic"}},
    [THRUM__OPT_CALLERS] = {"THRUM_CALLERS",
                            {"help", "block"},
                            {0, 1},
                            {"", "hel", "helpful", "0", "help|block", "HELP"}},
    [THRUM__OPT_BIND] = {"THRUM_BIND", {"auto", "core", "numa", "off"}, {0, 1, 2, 3}, {"", "on", "0", "cores", "|"}},
    [THRUM__OPT_SPIN] = {"THRUM_SPIN_US",
                         {"0", "50", "1000000"},
                         {0, 50, 1000000},
                         {"-1", "1000001", "auto", "", "5us"}},
    [THRUM__OPT_SPARES] = {"THRUM_SPARES", {"0", "1024"}, {0, 1024}, {"-1", "1025", "", "99999999999999999999"}},
    [THRUM__OPT_SPAWNS] = {"THRUM_SPAWNS", {"16", "16777216"}, {16, 16777216}, {"15", "16777217", "0", "-16", ""}},
    [THRUM__OPT_STACK] = {"THRUM_STACK_MB",
                          {"system", "1", "4096"},
                          {-1, 1, 4096},
                          {"0", "4097", "-1", "", "64M", "auto"}},
    [THRUM__OPT_SCHEDULE] = {"THRUM_SCHEDULE",
                             {"steal", "FAC2", "awf-c,16", "auto"},
                             {0, 0, 0, 0},
                             {"", "runtime", "fac3", "fac2,", "fac2,0", "fac2,-1", "ss 1"}},
    [THRUM__OPT_POLICY] = {"THRUM_POLICY", {"steal", "dmda", "./own.so"}, {0, 0, 0}, {NULL}},
    [THRUM__OPT_DEVICES] = {"THRUM_DEVICES",
                            {"cpu", "cpu:2,emu:3;memory=64MiB;link=2GB/s", "unknown"},
                            {0, 0, 0},
                            {"", "cpu,", "emu:0", "emu:many", "emu;memory", "emu;memory=", "CPU"}},
    [THRUM__OPT_WINDOW] = {"THRUM_WINDOW", {"2", "1073741824"}, {2, 1073741824}, {"1", "1073741825", "", "auto"}},
    [THRUM__OPT_MODELS] = {"THRUM_MODELS", {"auto", "off", "./models"}, {0, 1, 0}, {"models", "", NULL}},
    [THRUM__OPT_TRACE] = {"THRUM_TRACE", {"", "a.json", "text"}, {0, 0, 0}, {NULL}},
    [THRUM__OPT_TRACE_EVENTS] = {"THRUM_TRACE_EVENTS",
                                 {"16", "16777216"},
                                 {16, 16777216},
                                 {"15", "16777217", "0x20", ""}},
};

static thrum_option option_of(enum thrum__option_id id)
{
    thrum_option option;
    assert_int_equal(thrum_option_get((size_t)id, &option), 0);
    return option;
}

TEST(the_table_has_every_option_with_a_name_a_range_and_help)
{
    for (int id = 0; id < THRUM__OPTIONS; id++) {
        thrum_option option = option_of((enum thrum__option_id)id);
        assert_string_equal(option.name, expectations[id].name);
        assert_string_not_equal(option.range, "");
        assert_string_not_equal(option.help, "");
        assert_string_equal(option.value, option.initial);
        assert_false(option.from_environment);
    }
    thrum_option beyond;
    assert_int_equal(thrum_option_get(THRUM__OPTIONS, &beyond), -1);
    assert_int_equal(thrum_option_get(0, NULL), -1);
}

TEST(every_default_is_in_its_own_range)
{
    for (int id = 0; id < THRUM__OPTIONS; id++) {
        thrum_option option = option_of((enum thrum__option_id)id);
        assert_int_equal(thrum__option_parse((enum thrum__option_id)id, option.initial, NULL), 0);
    }
    assert_int_equal(thrum_options_check(), 0);
}

TEST(every_range_includes_its_ends)
{
    for (int id = 0; id < THRUM__OPTIONS; id++)
        for (int i = 0; i < 6 && expectations[id].good[i]; i++) {
            int64_t number = -77;
            assert_int_equal(thrum__option_parse((enum thrum__option_id)id, expectations[id].good[i], &number), 0);
            assert_int_equal(number, expectations[id].numbers[i]);
        }
}

TEST(a_wrong_value_is_refused_with_the_option_the_value_and_the_range)
{
    for (int id = 0; id < THRUM__OPTIONS; id++)
        for (int i = 0; i < 8 && expectations[id].bad[i]; i++) {
            const char *bad = expectations[id].bad[i];
            char quoted[64];
            int64_t number = -77;
            snprintf(quoted, sizeof quoted, "'%s'", bad);
            assert_error(thrum__option_parse((enum thrum__option_id)id, bad, &number), THRUM_EOPTION, quoted);
            assert_contains(thrum_message(NULL), expectations[id].name);
            assert_contains(thrum_message(NULL), option_of((enum thrum__option_id)id).range);
            assert_int_equal(number, -77);
        }
}

TEST(the_environment_comes_before_the_default)
{
    for (int id = 0; id < THRUM__OPTIONS; id++) {
        const struct expectation *e = &expectations[id];
        assert_int_equal(setenv(e->name, e->good[1], 1), 0);
        thrum_option option = option_of((enum thrum__option_id)id);
        assert_true(option.from_environment);
        assert_string_equal(option.value, e->good[1]);
        assert_int_equal(thrum__option_number((enum thrum__option_id)id), e->numbers[1]);
        assert_int_equal(thrum_options_check(), 0);
        unsetenv(e->name);
        assert_false(option_of((enum thrum__option_id)id).from_environment);
    }
}

TEST(a_wrong_value_in_the_environment_is_found)
{
    for (int id = 0; id < THRUM__OPTIONS; id++) {
        const struct expectation *e = &expectations[id];
        if (!e->bad[0])
            continue;
        setenv(e->name, e->bad[0], 1);
        assert_error(thrum_options_check(), THRUM_EOPTION, e->name);
        unsetenv(e->name);
    }
    assert_int_equal(thrum_options_check(), 0);
}

TEST(an_unknown_name_is_refused_with_the_nearest_one)
{
    static const char *const pairs[][2] = {
        {"THRUM_WORKER", "the nearest is THRUM_WORKERS"},  {"THRUM_WORKRES", "the nearest is THRUM_WORKERS"},
        {"THRUM_CALLER", "the nearest is THRUM_CALLERS"},  {"THRUM_BINDING", "the nearest is THRUM_BIND"},
        {"THRUM_SPIN_MS", "the nearest is THRUM_SPIN_US"}, {"THRUM_SPIN", "the nearest is THRUM_SPIN_US"},
        {"THRUM_SPARE", "the nearest is THRUM_SPARES"},    {"THRUM_SPAWN", "the nearest is THRUM_SPAWNS"},
        {"THRUM_TRACES", "the nearest is THRUM_TRACE"},    {"THRUM_TRACE_EVENT", "the nearest is THRUM_TRACE_EVENTS"},
        {"THRUM_STACK", "the nearest is THRUM_STACK_MB"},  {"THRUM_STACK_KB", "the nearest is THRUM_STACK_MB"},
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        setenv(pairs[i][0], "1", 1);
        int err = thrum_options_check();
        unsetenv(pairs[i][0]);
        assert_error(err, THRUM_EOPTION, pairs[i][1]);
        assert_contains(thrum_message(NULL), pairs[i][0]);
    }
    assert_int_equal(thrum_options_check(), 0);
}

TEST(an_unknown_name_may_be_long)
{
    char name[400] = "THRUM_";
    memset(name + 6, 'X', sizeof name - 7);
    setenv(name, "1", 1);
    assert_error(thrum_options_check(), THRUM_EOPTION, "THRUM_XXXX");
    unsetenv(name);
}

TEST(names_of_others_are_left_alone)
{
    setenv("THRUMMING", "1", 1);
    setenv("MY_THRUM_WORKERS", "x", 1);
    setenv("thrum_workers", "x", 1);
    assert_int_equal(thrum_options_check(), 0);
    unsetenv("THRUMMING");
    unsetenv("MY_THRUM_WORKERS");
    unsetenv("thrum_workers");
}

int main(void)
{
    for (int id = 0; id < THRUM__OPTIONS; id++)
        unsetenv(expectations[id].name);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_has_every_option_with_a_name_a_range_and_help),
        cmocka_unit_test(every_default_is_in_its_own_range),
        cmocka_unit_test(every_range_includes_its_ends),
        cmocka_unit_test(a_wrong_value_is_refused_with_the_option_the_value_and_the_range),
        cmocka_unit_test(the_environment_comes_before_the_default),
        cmocka_unit_test(a_wrong_value_in_the_environment_is_found),
        cmocka_unit_test(an_unknown_name_is_refused_with_the_nearest_one),
        cmocka_unit_test(an_unknown_name_may_be_long),
        cmocka_unit_test(names_of_others_are_left_alone),
    };
    return RUN_TESTS(tests, 30);
}
