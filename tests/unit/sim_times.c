/* SPDX-License-Identifier: MIT
 *
 * Times of iterations: texts, right and wrong; and the time of a chunk at once against that of its iterations one by
 * one.
 */
#include "test.h"
#include "statistics.h"

#include "sim/times.h"

#include <unistd.h>

enum { SOME = 40000 };

static double at_once[SOME], one_by_one[SOME];

static void expect_known(const char *text, double mean, double deviation)
{
    thrum__times times;
    assert_int_equal(thrum__times_begin(&times, text), 0);
    if (!(fabs(times.mean - mean) < 1e-12 && fabs(times.deviation - deviation) < 1e-12))
        print_error("%s: mean %g, deviation %g\n", text, times.mean, times.deviation);
    assert_true(fabs(times.mean - mean) < 1e-12 && fabs(times.deviation - deviation) < 1e-12);
    thrum__times_end(&times);
}

TEST(each_distribution_knows_its_mean_and_deviation)
{
    expect_known("const:2.5", 2.5, 0);
    expect_known("uniform:0,2", 1, 1 / sqrt(3));
    expect_known("uniform:3,3", 3, 0);
    expect_known("exp:0.25", 0.25, 0.25);
    expect_known("twopoint:0.1", 1, 3);
    expect_known("twopoint:1", 1, 0);
    expect_known("normal:10,2", 10, 2);
    expect_known("gamma:4,0.5", 2, 1);
}

static void expect_wrong(const char *text, const char *part)
{
    thrum__times times;
    int error = thrum__times_begin(&times, text);
    if (error != THRUM_EINVAL)
        print_error("\"%s\" gives %d\n", text ? text : "(null)", error);
    assert_error(error, THRUM_EINVAL, part);
    if (text)
        assert_contains(thrum_message(NULL), text);
}

TEST(a_wrong_text_is_refused_with_a_sentence)
{
    expect_wrong(NULL, "missing");
    expect_wrong("", "there are const:TIME, uniform:A,B, exp:MEAN");
    expect_wrong("exp", "is no distribution");
    expect_wrong("expo:1", "is no distribution");
    expect_wrong("weibull:1,2", "is no distribution");
    expect_wrong("exp:", "as in exp:MEAN");
    expect_wrong("exp:x", "as in exp:MEAN");
    expect_wrong("exp:1,2", "one finite number is needed");
    expect_wrong("exp:1 ", "one finite number is needed");
    expect_wrong("exp:nan", "one finite number is needed");
    expect_wrong("exp:inf", "one finite number is needed");
    expect_wrong("exp:0", "more than 0");
    expect_wrong("exp:-1", "more than 0");
    expect_wrong("const:-1", "0 or more");
    expect_wrong("uniform:1", "two finite numbers are needed");
    expect_wrong("uniform:2,1", "0 <= A <= B");
    expect_wrong("uniform:-1,1", "0 <= A <= B");
    expect_wrong("twopoint:0", "probability");
    expect_wrong("twopoint:1.5", "probability");
    expect_wrong("normal:1,-1", "deviation");
    expect_wrong("gamma:0,1", "shape");
}

/* ---- Sums -------------------------------------------------------------------------------------------------------- */

static void draw_both(const thrum__times *times, uint64_t count)
{
    thrum__stream first = thrum__stream_of(11, count), second = thrum__stream_of(12, count);
    thrum__sum sum = thrum__sum_of(times, 0, count), one = thrum__sum_of(times, 0, 1);
    for (int i = 0; i < SOME; i++) {
        at_once[i] = thrum__sum_draw(times, &sum, &first);
        one_by_one[i] = 0;
        for (uint64_t j = 0; j < count; j++)
            one_by_one[i] += thrum__sum_draw(times, &one, &second);
    }
}

static void expect_same_sums(const char *text, uint64_t count)
{
    thrum__times times;
    assert_int_equal(thrum__times_begin(&times, text), 0);
    draw_both(&times, count);
    struct moments m = moments_of(at_once, SOME);
    double k = (double)count, error = sqrt(k) * times.deviation / sqrt(SOME);
    double distance = distance_between(at_once, one_by_one, SOME);
    if (!(fabs(m.mean - k * times.mean) < 4 * error && distance < 1.95))
        print_error("%s, %g times: mean %g, deviation %g, distance %g\n", text, k, m.mean, m.deviation, distance);
    assert_true(fabs(m.mean - k * times.mean) < 4 * error);
    assert_true(fabs(m.deviation / (sqrt(k) * times.deviation) - 1) < 4 * 1.5 / sqrt(SOME));
    assert_true(distance < 1.95); /* once in 1000 */
    thrum__times_end(&times);
}

TEST(a_sum_at_once_is_distributed_as_iterations_one_by_one)
{
    static const char *const texts[] = {"exp:2", "twopoint:0.1", "gamma:0.5,2", "gamma:3,1", "normal:20,2"};
    static const uint64_t counts[] = {2, 4, 17, 150};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        for (size_t j = 0; j < COUNT_OF(counts); j++)
            expect_same_sums(texts[i], counts[j]);
}

TEST(the_normal_limit_of_uniform_times_is_close_where_it_begins)
{
    expect_same_sums("uniform:1,3", THRUM__UNIFORM_EXACT); /* exact on both sides: the test itself */
    expect_same_sums("uniform:1,3", THRUM__UNIFORM_EXACT + 1);
    expect_same_sums("uniform:1,3", 2 * THRUM__UNIFORM_EXACT);
    expect_same_sums("uniform:1,3", 300);
}

/* The fourth cumulant and the tail tell the limit with its correction from the bare limit. */
TEST(the_normal_limit_of_uniform_times_has_their_flatter_tails)
{
    enum { DRAWS = 30 * SOME, COUNT = THRUM__UNIFORM_EXACT + 1 };
    thrum__times times;
    assert_int_equal(thrum__times_begin(&times, "uniform:0,1"), 0);
    thrum__stream stream = thrum__stream_of(13, 0), exact_stream = thrum__stream_of(14, 0);
    thrum__sum sum = thrum__sum_of(&times, 0, COUNT), one = thrum__sum_of(&times, 0, 1);
    double fourth = 0, beyond = 0, exact_beyond = 0, deviation = sqrt(COUNT / 12.0);
    for (int i = 0; i < DRAWS; i++) {
        double z = (thrum__sum_draw(&times, &sum, &stream) - COUNT / 2.0) / deviation, exact = -COUNT / 2.0;
        for (int j = 0; j < COUNT; j++)
            exact += thrum__sum_draw(&times, &one, &exact_stream);
        fourth += z * z * z * z / DRAWS;
        beyond += fabs(z) > 3.5;
        exact_beyond += fabs(exact / deviation) > 3.5;
    }
    assert_true(fabs(fourth - 3 + 1.2 / COUNT) < 4 * sqrt(96.0 / DRAWS));
    assert_true(fabs(beyond - exact_beyond) < 4 * sqrt(beyond + exact_beyond));
    thrum__times_end(&times);
}

TEST(constant_times_add_up)
{
    thrum__times times;
    thrum__stream stream = {5};
    assert_int_equal(thrum__times_begin(&times, "const:0.5"), 0);
    assert_true(thrum__times_sum(&times, &stream, 7, UINT64_C(1) << 40) == 0x1p39);
    assert_true(stream.state == 5); /* nothing is drawn */
    thrum__times_end(&times);
}

TEST(times_are_never_negative)
{
    static const char *const texts[] = {"normal:1,2", "uniform:0,1", "gamma:0.01,1", "exp:1e-300", "twopoint:1e-9"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        thrum__times times;
        assert_int_equal(thrum__times_begin(&times, texts[i]), 0);
        thrum__stream stream = thrum__stream_of(15, i);
        for (uint64_t j = 0; j < 20000; j++)
            assert_true(thrum__times_sum(&times, &stream, 0, 1 + j % 40) >= 0);
        thrum__times_end(&times);
    }
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static const char *write_times(const char *content)
{
    static char text[64];
    char path[] = "/tmp/thrum-times-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    close(fd);
    snprintf(text, sizeof text, "file:%s", path);
    return text;
}

static const char *path_in(const char *text)
{
    return text + strlen("file:");
}

TEST(a_file_gives_each_iteration_its_line_and_begins_again)
{
    const char *text = write_times("# seconds\n1\n2.5\n\n 4e0 # the slow one\r\n");
    thrum__times times;
    thrum__stream stream = {5};
    assert_int_equal(thrum__times_begin(&times, text), 0);
    assert_true(fabs(times.mean - 2.5) < 1e-12 && fabs(times.deviation - sqrt(1.5)) < 1e-12);
    assert_true(thrum__times_sum(&times, &stream, 0, 1) == 1);
    assert_true(thrum__times_sum(&times, &stream, 1, 1) == 2.5);
    assert_true(thrum__times_sum(&times, &stream, 1, 2) == 6.5);
    assert_true(thrum__times_sum(&times, &stream, 2, 2) == 5);
    assert_true(thrum__times_sum(&times, &stream, 3, 7) == 16);
    assert_true(thrum__times_sum(&times, &stream, (UINT64_C(1) << 62) / 3 * 3 + 2, 1) == 4);
    assert_true(stream.state == 5);
    thrum__times_end(&times);
    unlink(path_in(text));
}

/* The sentence begins with the file and goes on with `part`. */
static void expect_wrong_file(const char *content, const char *part)
{
    char sentence[200];
    const char *text = write_times(content);
    thrum__times times;
    snprintf(sentence, sizeof sentence, "%s:%s", path_in(text), part);
    assert_error(thrum__times_begin(&times, text), THRUM_EINVAL, sentence);
    unlink(path_in(text));
}

TEST(a_wrong_file_of_times_is_refused_with_file_and_line)
{
    thrum__times times;
    assert_error(thrum__times_begin(&times, "file:/nowhere/times"), THRUM_ESYSTEM, "'/nowhere/times' cannot be opened");
    assert_error(thrum__times_begin(&times, "file:/"), THRUM_ESYSTEM, "'/' cannot be read");
    expect_wrong_file("", " it is empty");
    expect_wrong_file("# nothing\n\n", " it is empty");
    expect_wrong_file("1\n2\nthree\n", "3: 'three' is no number; a file of times has one in each line");
    expect_wrong_file("1 2\n", "1: '1 2' is no number");
    expect_wrong_file("1\n-2\n", "2: -2 is no time: it must be 0 or more, and finite");
    expect_wrong_file("1\nnan\n", "2: nan is no time");
    expect_wrong_file("inf\n", "1: inf is no time");
    expect_wrong_file("1\n1e200\n", "2: 1e+200 is too long a time to be added up with those before it");
    expect_wrong_file("1e308\n1e308\n", "2: 1e+308 is too long");
}

TEST(a_byte_0_in_a_file_of_times_is_no_text)
{
    char path[] = "/tmp/thrum-times-XXXXXX", text[64];
    thrum__times times;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "1\n2\0junk\n", 9), 9);
    close(fd);
    snprintf(text, sizeof text, "file:%s", path);
    assert_error(thrum__times_begin(&times, text), THRUM_EINVAL, ":2: there is a byte 0");
    unlink(path);
}

TEST(a_long_file_is_summed_without_loss)
{
    enum { LINES = 100000 };
    char *content = malloc(LINES * 4 + 1);
    for (int i = 0; i < LINES; i++)
        memcpy(content + 4L * i, "0.1\n", 5);
    const char *text = write_times(content);
    thrum__times times;
    thrum__stream stream = {5};
    assert_int_equal(thrum__times_begin(&times, text), 0);
    assert_true(fabs(thrum__times_sum(&times, &stream, 0, LINES) - 10000) < 1e-9);
    assert_true(times.deviation < 1e-9);
    thrum__times_end(&times);
    unlink(path_in(text));
    free(content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_distribution_knows_its_mean_and_deviation),
        cmocka_unit_test(a_wrong_text_is_refused_with_a_sentence),
        cmocka_unit_test(a_sum_at_once_is_distributed_as_iterations_one_by_one),
        cmocka_unit_test(the_normal_limit_of_uniform_times_is_close_where_it_begins),
        cmocka_unit_test(the_normal_limit_of_uniform_times_has_their_flatter_tails),
        cmocka_unit_test(constant_times_add_up),
        cmocka_unit_test(times_are_never_negative),
        cmocka_unit_test(a_file_gives_each_iteration_its_line_and_begins_again),
        cmocka_unit_test(a_wrong_file_of_times_is_refused_with_file_and_line),
        cmocka_unit_test(a_byte_0_in_a_file_of_times_is_no_text),
        cmocka_unit_test(a_long_file_is_summed_without_loss),
    };
    return RUN_TESTS(tests, 60);
}
