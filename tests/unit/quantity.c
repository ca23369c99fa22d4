/* SPDX-License-Identifier: MIT
 *
 * Sizes, rates and times with units, and what is refused.
 */
#include "test.h"

#include "base/quantity.h"

TEST(sizes_have_units)
{
    static const struct {
        const char *text;
        size_t bytes;
    } rows[] = {{"1B", 1},
                {"3KiB", 3072},
                {"64MiB", 67108864},
                {"2GiB", 2147483648},
                {"5KB", 5000},
                {"7MB", 7000000},
                {"9GB", 9000000000},
                {"1.5GiB", 1610612736},
                {"0.25KB", 250},
                {"2.50KB", 2500},
                {"0", 0},
                {"0B", 0},
                {"0.0", 0},
                {"18446744073709551615B", SIZE_MAX},
                {"17179869183GiB", SIZE_MAX - (1 << 30) + 1},
                {"007B", 7}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t bytes = 77;
        assert_int_equal(thrum__size_parse(rows[i].text, &bytes), 0);
        assert_int_equal(bytes, rows[i].bytes);
    }
}

TEST(rates_are_sizes_in_a_second)
{
    static const struct {
        const char *text;
        double rate;
    } rows[] = {{"2GB/s", 2e9}, {"8GiB/s", 8589934592.0}, {"100B/s", 100}, {"1.5MB/s", 1.5e6}, {"0.5KiB/s", 512}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double rate = 0;
        assert_int_equal(thrum__rate_parse(rows[i].text, &rate), 0);
        assert_true(rate > 0.999999999 * rows[i].rate && rate < 1.000000001 * rows[i].rate);
    }
}

TEST(times_have_units)
{
    static const struct {
        const char *text;
        double seconds;
    } rows[] = {{"10us", 1e-5}, {"3ns", 3e-9}, {"1.5ms", 1.5e-3}, {"2s", 2}, {"0.125s", 0.125}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double seconds = 0;
        assert_int_equal(thrum__time_parse(rows[i].text, &seconds), 0);
        assert_true(seconds > 0.999999999 * rows[i].seconds && seconds < 1.000000001 * rows[i].seconds);
    }
    double seconds = 1;
    assert_int_equal(thrum__time_parse("0", &seconds), 0);
    assert_true(seconds == 0);
}

TEST(what_is_no_size_is_refused_with_the_units)
{
    static const char *const texts[] = {
        "",       "MiB",  "64",     "64mib", "64Mib", "64 MiB", "-1B",
        "+1B",    ".5KB", "1.KB",   "1e3B",  "0x10B", "64MiBs", "1B/s",
        "1,5GiB", "nanB", "1..5KB", " 1B",   "1B ",   "1s",     "100000000000000000000B"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        size_t bytes = 77;
        assert_error(thrum__size_parse(texts[i], &bytes), THRUM_EOPTION, "KiB, MiB, GiB, KB, MB, GB");
        assert_contains(thrum_message(NULL), texts[i]);
        assert_int_equal(bytes, 77);
    }
}

TEST(sizes_beyond_64_bits_are_refused)
{
    size_t bytes = 77;
    assert_error(thrum__size_parse("17179869184GiB", &bytes), THRUM_EOPTION, "more bytes than can be counted");
    assert_error(thrum__size_parse("18446744073709551615KB", &bytes), THRUM_EOPTION, "more bytes");
    assert_int_equal(bytes, 77);
}

TEST(what_is_no_rate_or_time_is_refused)
{
    double number = 7;
    assert_error(thrum__rate_parse("2GB", &number), THRUM_EOPTION, "'2GB' is no rate");
    assert_contains(thrum_message(NULL), "GB/s");
    assert_error(thrum__rate_parse("0GB/s", &number), THRUM_EOPTION, "above 0");
    assert_error(thrum__rate_parse("0", &number), THRUM_EOPTION, "above 0");
    assert_error(thrum__rate_parse("2GB/", &number), THRUM_EOPTION, "no rate");
    assert_error(thrum__time_parse("10", &number), THRUM_EOPTION, "'10' is no time");
    assert_contains(thrum_message(NULL), "ns, us, ms, s");
    assert_error(thrum__time_parse("10MB", &number), THRUM_EOPTION, "no time");
    assert_error(thrum__time_parse("1m", &number), THRUM_EOPTION, "no time");
    assert_true(number == 7);
}

TEST(counts_have_bounds_and_no_unit)
{
    long count = 77;
    assert_int_equal(thrum__count_parse("12", 1, 12, &count), 0);
    assert_int_equal(count, 12);
    static const char *const texts[] = {
        "", "0", "13", "2.0", "2B", "-1", "99999999999999999999", "9223372036854775808"};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_error(thrum__count_parse(texts[i], 1, 12, &count), THRUM_EOPTION, "from 1 to 12");
    assert_int_equal(count, 12);
}

TEST(sizes_become_texts)
{
    char text[THRUM__SIZE_TEXT];
    assert_string_equal(thrum__size_text(100, text), "100 B");
    assert_string_equal(thrum__size_text(64 << 20, text), "64 MiB");
    assert_string_equal(thrum__size_text(1536, text), "1.5 KiB");
    assert_string_equal(thrum__size_text((size_t)5 << 30, text), "5 GiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(rates_are_sizes_in_a_second),
        cmocka_unit_test(times_have_units),
        cmocka_unit_test(what_is_no_size_is_refused_with_the_units),
        cmocka_unit_test(sizes_beyond_64_bits_are_refused),
        cmocka_unit_test(what_is_no_rate_or_time_is_refused),
        cmocka_unit_test(counts_have_bounds_and_no_unit),
        cmocka_unit_test(sizes_become_texts),
    };
    return RUN_TESTS(tests, 20);
}
