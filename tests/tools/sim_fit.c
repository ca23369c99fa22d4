/* SPDX-License-Identifier: MIT
 *
 * From times of kernels back to the numbers that made them.
 */
#include "test.h"

#include "random.h"
#include "sim_fit.h"

#include <math.h>

enum { MOST = 64 };

static struct sim_shape shapes[MOST];
static int count;

/* What two matrices of rows x columns take by the formula; the second one is only read. */
static double by_formula(const struct sim_fit *f, double work, double bytes, double read)
{
    bool small = f->small_rate > 0 && work <= f->small_work;
    double per_byte = small ? f->small_per_byte : f->per_byte;
    return f->fixed + bytes * per_byte + read * f->per_read + work / (small ? f->small_rate : f->rate);
}

static void add(const char *codelet, const struct sim_fit *f, double rows, double columns, double noise)
{
    struct sim_shape *shape = &shapes[count++];
    snprintf(shape->codelet, sizeof shape->codelet, "%s", codelet);
    shape->work = 2 * rows * columns * columns;
    shape->read = 8 * rows * columns;
    shape->bytes = shape->read + 8 * columns * columns;
    shape->seconds = by_formula(f, shape->work, shape->bytes, shape->read) * (1 + noise);
}

/* The whole tile first; then blocks of it, square ones and flat ones. */
static void add_blocks(const char *codelet, const struct sim_fit *f, double noise, struct random *random)
{
    static const double sides[] = {128, 96, 80, 64, 48, 40, 32};
    enum { SIDES = sizeof sides / sizeof *sides };
    for (int i = 0; i < SIDES; i++)
        for (int j = 0; j < 3; j++)
            add(codelet, f, sides[i], sides[(i + 2 * j) % SIDES],
                noise * ((double)random_below(random, 2001) / 1000 - 1));
}

static void assert_near(double number, double expected, double tolerance)
{
    if (!(fabs(number - expected) <= tolerance * fabs(expected)))
        fail_msg("%g is not within %g of %g", number, tolerance, expected);
}

TEST(numbers_that_made_the_times_are_found_again)
{
    const struct sim_fit one = {.rate = 40e9, .per_byte = 0.2e-9, .fixed = 300e-9},
                         other = {.rate = 2e9, .per_read = 1.3e-9};
    struct random random = random_new(1);
    struct sim_fit found;
    count = 0;
    add_blocks("one", &one, 0, &random);
    add_blocks("other", &other, 0, &random);
    assert_true(sim_fit(shapes, count, "one", &found));
    assert_near(found.rate, 40e9, 1e-4);
    assert_near(found.per_byte, 0.2e-9, 1e-2);
    assert_near(found.fixed, 300e-9, 1e-2);
    assert_true(sim_fit(shapes, count, "other", &found));
    assert_near(found.rate, 2e9, 1e-4);
    assert_near(found.per_read, 1.3e-9, 1e-2);
}

TEST(small_work_has_a_rate_of_its_own_where_that_explains_more)
{
    const struct sim_fit two = {.rate = 50e9, .per_byte = 0.1e-9, .small_work = 3e5, .small_rate = 20e9};
    struct random random = random_new(2);
    struct sim_fit found;
    count = 0;
    add_blocks("two", &two, 0.01, &random);
    assert_true(sim_fit(shapes, count, "two", &found));
    assert_near(found.rate, 50e9, 0.05);
    assert_near(found.small_rate, 20e9, 0.1);
    assert_near(found.small_work, 3e5, 0.5);
}

/* A tile twice as large each way as any that was measured. (By chance a second rate may seem to explain noise; the
 * first one is then made of larger blocks alone, so it does little harm.) */
TEST(noise_of_a_per_cent_is_one_of_few_per_cent_where_it_is_extrapolated)
{
    const struct sim_fit one = {.rate = 40e9, .per_byte = 0.1e-9, .fixed = 200e-9};
    const double work = 2.0 * 256 * 256 * 256, read = 8.0 * 256 * 256, bytes = 2 * read;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct random random = random_new(seed);
        struct sim_fit found;
        count = 0;
        add_blocks("one", &one, 0.01, &random);
        assert_true(sim_fit(shapes, count, "one", &found));
        assert_near(by_formula(&found, work, bytes, read), by_formula(&one, work, bytes, read), 0.05);
    }
}

TEST(no_number_is_negative)
{
    struct random random = random_new(3);
    struct sim_fit found;
    for (int tries = 0; tries < 100; tries++) {
        const struct sim_fit one = {.rate = 40e9, .fixed = tries % 2 ? -50e-9 : 0, .per_byte = tries % 3 ? 0 : -1e-12};
        count = 0;
        add_blocks("one", &one, 0.05, &random);
        assert_true(sim_fit(shapes, count, "one", &found));
        assert_true(found.rate > 0 && found.per_byte >= 0 && found.per_read >= 0 && found.fixed >= 0);
        assert_true(found.small_rate >= 0 && found.small_per_byte >= 0);
    }
}

TEST(a_codelet_without_shapes_has_no_formula)
{
    struct sim_fit found = {.rate = 1};
    count = 0;
    assert_false(sim_fit(shapes, count, "none", &found));
    assert_true(found.rate == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_that_made_the_times_are_found_again),
        cmocka_unit_test(small_work_has_a_rate_of_its_own_where_that_explains_more),
        cmocka_unit_test(noise_of_a_per_cent_is_one_of_few_per_cent_where_it_is_extrapolated),
        cmocka_unit_test(no_number_is_negative),
        cmocka_unit_test(a_codelet_without_shapes_has_no_formula),
    };
    return RUN_TESTS(tests, 60);
}
