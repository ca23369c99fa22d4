/* SPDX-License-Identifier: MIT
 *
 * Random numbers of the simulator: known answers of the generator, moments, tails and shapes of what is made from it.
 */
#include "test.h"
#include "statistics.h"

#include "sim/draw.h"

enum { MANY = 400000, SOME = 100000 };

static thrum__draw_tables tables;
static double numbers[MANY];

/* Within five standard errors. */
static void expect_near(const char *what, double found, double right, double error)
{
    if (!(fabs(found - right) <= 5 * error))
        print_error("%s is %.8g, not %.8g (standard error %.3g)\n", what, found, right, error);
    assert_true(fabs(found - right) <= 5 * error);
}

static void expect_moments(size_t n, double mean, double deviation, double skewness, double kurtosis)
{
    struct moments m = moments_of(numbers, n);
    double root = sqrt((double)n);
    expect_near("the mean", m.mean, mean, deviation / root);
    expect_near("the deviation", m.deviation, deviation, deviation * sqrt((kurtosis + 2) / 4) / root);
    /* The last two have errors that hang on higher moments; generous for distributions no more skewed than the
     * exponential. */
    expect_near("the skewness", m.skewness, skewness, (1 + 8 * fabs(skewness)) * 2.5 / root);
}

static void expect_distance(double distance)
{
    if (distance > 2)
        print_error("the distance from the distribution is %g\n", distance);
    assert_true(distance <= 2);
}

static double exponential_below(double x, const void *ctx __attribute__((unused)))
{
    return -expm1(-x);
}

static double normal_below(double x, const void *ctx __attribute__((unused)))
{
    return 0.5 * erfc(-x / sqrt(2));
}

TEST(the_stream_of_a_run_is_known)
{
    static const uint64_t right[][5] = {
        {0, 0, 0xfc0415bd76a1fb9c, 0xa4323f8ab4758681, 0x04ba3b239866fafe},
        {1, 0, 0xfa72c05a754f82d5, 0xc8875d882da8d887, 0xb8d924ce34af68e3},
        {1, 1, 0xda5645c89b7908d6, 0xe11973eb6adc259a, 0x6b28dc8b7db59432},
        {7, 99999, 0x35f09e4be8930346, 0xd83f862236fba377, 0x71a1577085b01262},
    };
    for (size_t i = 0; i < COUNT_OF(right); i++) {
        thrum__stream stream = thrum__stream_of(right[i][0], right[i][1]);
        for (int j = 2; j < 5; j++)
            assert_true(thrum__draw_bits(&stream) == right[i][j]);
    }
    thrum__stream zero = {0}; /* as the generator's authors have it */
    assert_true(thrum__draw_bits(&zero) == 0xe220a8397b1dcdaf);
}

TEST(units_are_never_0_and_never_1)
{
    assert_true(thrum__unit(0) > 0 && thrum__unit(0) < 1e-15);
    assert_true(thrum__unit(UINT64_MAX) < 1 && thrum__unit(UINT64_MAX) > 1 - 1e-15);
}

static void expect_closed(const thrum__ziggurat *z)
{
    double area = z->x[0] * z->f[1];
    for (int i = 1; i < THRUM__LAYERS; i++)
        assert_true(fabs(z->x[i] * (z->f[i + 1] - z->f[i]) / area - 1) < 1e-9);
}

TEST(the_layers_of_a_ziggurat_have_one_area)
{
    expect_closed(&tables.exponential);
    expect_closed(&tables.normal);
}

TEST(exponential_numbers_have_their_moments_shape_and_tail)
{
    thrum__stream stream = thrum__stream_of(1, 1);
    double beyond = 0;
    for (int i = 0; i < MANY; i++) {
        numbers[i] = thrum__draw_exponential(&tables, &stream);
        beyond += numbers[i] > 7.8; /* in the tail of the ziggurat */
    }
    double right = MANY * exp(-7.8);
    expect_near("numbers beyond 7.8", beyond, right, sqrt(right));
    expect_moments(MANY, 1, 1, 2, 6);
    expect_distance(distance_from(numbers, MANY, exponential_below, NULL));
}

TEST(exponential_numbers_reach_far_beyond_the_tail)
{
    thrum__stream stream = thrum__stream_of(2, 1);
    int beyond = 0;
    for (int i = 0; i < 20 * MANY; i++)
        beyond += thrum__draw_exponential(&tables, &stream) > 12;
    expect_near("numbers beyond 12", beyond, 20 * MANY * exp(-12), sqrt(20 * MANY * exp(-12)));
}

TEST(normal_numbers_have_their_moments_shape_and_tail)
{
    thrum__stream stream = thrum__stream_of(3, 1);
    double above = 0, below = 0, right = MANY * 0.5 * erfc(3.7 / sqrt(2));
    for (int i = 0; i < MANY; i++) {
        numbers[i] = thrum__draw_normal(&tables, &stream);
        above += numbers[i] > 3.7;
        below += numbers[i] < -3.7;
    }
    expect_near("numbers above 3.7", above, right, sqrt(right));
    expect_near("numbers below -3.7", below, right, sqrt(right));
    expect_moments(MANY, 0, 1, 0, 0);
    expect_distance(distance_from(numbers, MANY, normal_below, NULL));
}

TEST(gamma_numbers_have_their_moments_whatever_the_shape)
{
    static const double shapes[] = {0.3, 0.9, 1, 1.5, 4, 30, 1000, 2147483648.0};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        thrum__stream stream = thrum__stream_of(4, i);
        thrum__gamma gamma = thrum__gamma_of(shapes[i]);
        for (int j = 0; j < SOME; j++)
            numbers[j] = thrum__draw_gamma(&tables, &stream, &gamma);
        expect_moments(SOME, shapes[i], sqrt(shapes[i]), 2 / sqrt(shapes[i]), 6 / shapes[i]);
    }
}

/* The chance that a gamma number of whole shape is below x: that of a Poisson process having had so many events. */
static double gamma_below(double x, const void *ctx)
{
    int shape = *(const int *)ctx;
    double term = exp(-x), sum = 0;
    for (int i = 0; i < shape; i++, term *= x / i)
        sum += term;
    return 1 - sum;
}

TEST(gamma_numbers_have_their_shape)
{
    for (int shape = 1; shape <= 64; shape *= 4) {
        thrum__stream stream = thrum__stream_of(5, (uint64_t)shape);
        thrum__gamma gamma = thrum__gamma_of(shape);
        for (int i = 0; i < SOME; i++)
            numbers[i] = thrum__draw_gamma(&tables, &stream, &gamma);
        expect_distance(distance_from(numbers, SOME, gamma_below, &shape));
    }
}

static double log_binomial(double n, double p, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p);
}

/* Pearson's sum over all k of which 10 and more are expected, against its mean and deviation. */
static void expect_binomial(double n, double p, const double *seen, double draws)
{
    double sum = 0, cells = 0;
    for (int k = 0; k <= (int)n; k++) {
        double right = draws * exp(log_binomial(n, p, k));
        if (right < 10)
            continue;
        sum += (seen[k] - right) * (seen[k] - right) / right;
        cells++;
    }
    if (!(sum < cells + 4 * sqrt(2 * cells)))
        print_error("binomial(%g, %g): chi square is %g in %g cells\n", n, p, sum, cells);
    assert_true(sum < cells + 4 * sqrt(2 * cells));
}

TEST(binomial_numbers_are_as_likely_as_they_should)
{
    static const double cases[][2] = {{1, 0.1},   {10, 0.9},        {30, 0.01},  {64, 0.1},  {99, 0.1},
                                      {101, 0.1}, {1000, 0.3},      {40, 0.5},   {21, 0.5},  {4096, 0.1},
                                      {300, 0.7}, {2000, 1 / 101.}, {900, 1e-3}, {3000, 0.9}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        double n = cases[i][0], seen[4097] = {0};
        thrum__stream stream = thrum__stream_of(6, i);
        thrum__binomial binomial = thrum__binomial_of(n, cases[i][1]);
        for (int j = 0; j < MANY; j++) {
            double k = thrum__draw_binomial(&tables, &stream, &binomial);
            assert_true(k >= 0 && k <= n && k == floor(k));
            seen[(int)k]++;
        }
        expect_binomial(n, cases[i][1], seen, MANY);
    }
}

TEST(binomial_numbers_from_a_table_are_as_likely_as_they_should)
{
    static const double cases[][2] = {{1, 0.1},  {1, 1},    {9, 1},    {3, 0.99},
                                      {17, 0.5}, {64, 0.1}, {96, 0.1}, {90, 1 / 101.}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        double n = cases[i][0], seen[THRUM__ALIAS_COLUMNS + 40] = {0};
        thrum__stream stream = thrum__stream_of(8, i);
        thrum__alias alias;
        thrum__alias_make_binomial(&alias, (uint64_t)n, cases[i][1]);
        for (int j = 0; j < MANY; j++)
            seen[(int)thrum__draw_alias(&alias, &stream)]++;
        if (cases[i][1] == 1)
            assert_true(seen[(int)n] == MANY);
        else
            expect_binomial(n, cases[i][1], seen, MANY);
    }
}

TEST(a_table_keeps_the_least_likely_numbers)
{
    double probabilities[THRUM__ALIAS_COLUMNS] = {0.5, 0.4999, 0.0001}, seen[THRUM__ALIAS_COLUMNS] = {0};
    thrum__stream stream = thrum__stream_of(9, 0);
    thrum__alias alias;
    thrum__alias_make(&alias, probabilities);
    for (int j = 0; j < MANY; j++)
        seen[(int)thrum__draw_alias(&alias, &stream)]++;
    expect_near("the rare number", seen[2], 0.0001 * MANY, sqrt(0.0001 * MANY));
    expect_near("the first number", seen[0], 0.5 * MANY, sqrt(0.25 * MANY));
    assert_true(seen[0] + seen[1] + seen[2] == MANY);
}

TEST(binomial_numbers_of_many_attempts_have_their_moments)
{
    static const double attempts[] = {1e5, 2147483648.0, 1e15};
    for (size_t i = 0; i < COUNT_OF(attempts); i++) {
        double n = attempts[i], p = 0.1, deviation = sqrt(n * p * (1 - p));
        thrum__stream stream = thrum__stream_of(7, i);
        thrum__binomial binomial = thrum__binomial_of(n, p);
        for (int j = 0; j < SOME; j++)
            numbers[j] = (thrum__draw_binomial(&tables, &stream, &binomial) - n * p) / deviation;
        expect_moments(SOME, 0, 1, (1 - 2 * p) / deviation, 0);
    }
}

TEST(binomial_numbers_with_certain_success_are_all)
{
    thrum__stream stream = {1};
    thrum__binomial binomial = thrum__binomial_of(1000, 1);
    assert_true(thrum__draw_binomial(&tables, &stream, &binomial) == 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stream_of_a_run_is_known),
        cmocka_unit_test(units_are_never_0_and_never_1),
        cmocka_unit_test(the_layers_of_a_ziggurat_have_one_area),
        cmocka_unit_test(exponential_numbers_have_their_moments_shape_and_tail),
        cmocka_unit_test(exponential_numbers_reach_far_beyond_the_tail),
        cmocka_unit_test(normal_numbers_have_their_moments_shape_and_tail),
        cmocka_unit_test(gamma_numbers_have_their_moments_whatever_the_shape),
        cmocka_unit_test(gamma_numbers_have_their_shape),
        cmocka_unit_test(binomial_numbers_are_as_likely_as_they_should),
        cmocka_unit_test(binomial_numbers_from_a_table_are_as_likely_as_they_should),
        cmocka_unit_test(a_table_keeps_the_least_likely_numbers),
        cmocka_unit_test(binomial_numbers_of_many_attempts_have_their_moments),
        cmocka_unit_test(binomial_numbers_with_certain_success_are_all),
    };
    thrum__draw_tables_make(&tables);
    return RUN_TESTS(tests, 60);
}
