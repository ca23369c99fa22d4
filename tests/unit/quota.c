/* SPDX-License-Identifier: MIT
 *
 * What a control group's quota file says.
 */
#include "test.h"

#include "sys/topology.h"

static void expect_quota(const char *text, double processors)
{
    double parsed = thrum__quota_parse(text);
    if (parsed != processors)
        print_error("\"%s\" gives %g, not %g\n", text, parsed, processors);
    assert_true(parsed == processors);
}

TEST(a_quota_is_the_time_divided_by_the_period)
{
    expect_quota("200000 100000", 2);
    expect_quota("150000 100000", 1.5);
    expect_quota("50000 100000", 0.5);
    expect_quota("1000 1000", 1);
    expect_quota("25000 200000", 0.125);
}

TEST(the_text_may_end_with_a_line_break)
{
    expect_quota("300000 100000\n", 3);
    expect_quota("max 100000\n", 0);
}

TEST(max_means_no_quota)
{
    expect_quota("max 100000", 0);
    expect_quota("max", 0);
}

TEST(minus_one_of_version_1_means_no_quota)
{
    expect_quota("-1 100000", 0);
}

TEST(a_text_that_is_not_understood_means_no_quota)
{
    static const char *const texts[] = {"", " ", "100000", "0 100000", "100000 0", "100000 -1", "a b", "100000 b"};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        expect_quota(texts[i], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quota_is_the_time_divided_by_the_period),
        cmocka_unit_test(the_text_may_end_with_a_line_break),
        cmocka_unit_test(max_means_no_quota),
        cmocka_unit_test(minus_one_of_version_1_means_no_quota),
        cmocka_unit_test(a_text_that_is_not_understood_means_no_quota),
    };
    return RUN_TESTS(tests, 30);
}
