/* SPDX-License-Identifier: MIT
 *
 * The text that says which devices there are, taken apart; errors name the place.
 */
#include "test.h"

#include "base/alloc.h"
#include "base/device_list.h"

static thrum__device_list *parse(const char *text)
{
    thrum__device_list *list = NULL;
    if (thrum__device_list_parse(text, &list))
        print_error("%s\n", thrum_message(NULL));
    assert_non_null(list);
    return list;
}

static void assert_entry(const thrum__device_list *list, size_t i, const char *kind, int count, const char *settings)
{
    assert_true(i < list->count);
    assert_string_equal(list->entries[i].kind, kind);
    assert_int_equal(list->entries[i].count, count < 0 ? 1 : count);
    assert_int_equal(list->entries[i].counted, count >= 0);
    assert_string_equal(list->entries[i].settings, settings);
}

TEST(one_kind_alone)
{
    thrum__device_list *list = parse("cpu");
    assert_int_equal(list->count, 1);
    assert_entry(list, 0, "cpu", -1, "");
    thrum__device_list_free(list);
}

TEST(several_kinds_with_counts_and_settings)
{
    thrum__device_list *list = parse("cpu:2,emu:3;memory=64MiB;link=2GB/s,emu;mode=timing,x-2:1024");
    assert_int_equal(list->count, 4);
    assert_entry(list, 0, "cpu", 2, "");
    assert_entry(list, 1, "emu", 3, "memory=64MiB;link=2GB/s");
    assert_entry(list, 2, "emu", -1, "mode=timing");
    assert_entry(list, 3, "x-2", 1024, "");
    thrum__device_list_free(list);
}

TEST(spaces_may_stand_around_words)
{
    thrum__device_list *list = parse(" cpu : 2 , emu:1 ; memory = 1 MiB ;\tlink=x ");
    assert_int_equal(list->count, 2);
    assert_entry(list, 0, "cpu", 2, "");
    assert_entry(list, 1, "emu", 1, "memory=1 MiB;link=x");
    thrum__device_list_free(list);
}

TEST(errors_name_the_place)
{
    static const struct {
        const char *text, *place, *what;
    } rows[] = {
        {"", "at character 1:", "a kind of device is missing"},
        {"cpu,,emu", "at character 5:", "a kind of device is missing"},
        {"cpu,", "at character 5:", "a kind of device is missing"},
        {":2", "at character 1:", "a kind of device is missing"},
        {"cpu,Emu", "at character 5:", "'Emu' is no kind of device"},
        {"memory=64MiB", "at character 1:", "'memory=64MiB' is no kind of device"},
        {"emu:", "at character 5:", "'' cannot be how many 'emu' there are"},
        {"emu:0", "at character 5:", "a number from 1 to 1024"},
        {"emu:1025", "at character 5:", "'1025' cannot"},
        {"cpu,emu:two", "at character 9:", "'two' cannot"},
        {"emu:-1", "at character 5:", "'-1' cannot"},
        {"emu:1:2", "at character 5:", "'1:2' cannot"},
        {"emu:11111111111111111111111111111111", "at character 5:", "cannot"},
        {"emu;", "at character 5:", "a setting is empty"},
        {"emu;memory=1B;;link=1", "at character 15:", "a setting is empty"},
        {"emu;memory", "at character 5:", "'memory' is no setting"},
        {"emu;memory=", "at character 5:", "'memory=' is no setting"},
        {"emu;=64MiB", "at character 5:", "'=64MiB' is no setting"},
        {"cpu,emu:2;memory=1B;memory=2B", "at character 21:", "'memory' is set twice"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        thrum__device_list *list = NULL;
        assert_error(thrum__device_list_parse(rows[i].text, &list), THRUM_EOPTION, rows[i].place);
        assert_contains(thrum_message(NULL), rows[i].what);
        assert_contains(thrum_message(NULL), rows[i].text);
        assert_null(list);
    }
}

TEST(words_that_are_too_long_are_refused)
{
    char text[512];
    thrum__device_list *list = NULL;
    snprintf(text, sizeof text, "%0100d", 1);
    assert_error(thrum__device_list_parse(text, &list), THRUM_EOPTION, "is no kind of device");
    snprintf(text, sizeof text, "emu;%0100d=1", 1);
    assert_error(thrum__device_list_parse(text, &list), THRUM_EOPTION, "is no setting");
    snprintf(text, sizeof text, "emu;memory=%0400d", 1);
    assert_error(thrum__device_list_parse(text, &list), THRUM_EOPTION, "is no setting");
    assert_null(list);
}

TEST(no_memory_is_an_error)
{
    thrum__device_list *list = NULL;
    thrum__alloc_fail_after(0);
    int err = thrum__device_list_parse("cpu", &list);
    thrum__alloc_fail_after(-1);
    assert_error(err, THRUM_ENOMEM, "list of devices");
    assert_null(list);
}

TEST(settings_come_one_after_the_other)
{
    const char *rest = "memory=64MiB;link=2GB/s";
    thrum__setting setting;
    int err;
    assert_true(thrum__setting_next(&rest, &setting, &err));
    assert_string_equal(setting.key, "memory");
    assert_string_equal(setting.value, "64MiB");
    assert_true(thrum__setting_next(&rest, &setting, &err));
    assert_string_equal(setting.key, "link");
    assert_string_equal(setting.value, "2GB/s");
    assert_false(thrum__setting_next(&rest, &setting, &err));
    assert_int_equal(err, 0);
}

TEST(what_is_no_setting_ends_them)
{
    static const char *const texts[] = {"memory", ";", "a=1;", "=1", "a=", "A=1", ";a=1"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const char *rest = texts[i];
        thrum__setting setting;
        int err = 0;
        while (thrum__setting_next(&rest, &setting, &err))
            ;
        assert_int_equal(err, THRUM_EOPTION);
        assert_contains(thrum_message(NULL), "key=value");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_kind_alone),
        cmocka_unit_test(several_kinds_with_counts_and_settings),
        cmocka_unit_test(spaces_may_stand_around_words),
        cmocka_unit_test(errors_name_the_place),
        cmocka_unit_test(words_that_are_too_long_are_refused),
        cmocka_unit_test(no_memory_is_an_error),
        cmocka_unit_test(settings_come_one_after_the_other),
        cmocka_unit_test(what_is_no_setting_ends_them),
    };
    return RUN_TESTS(tests, 20);
}
