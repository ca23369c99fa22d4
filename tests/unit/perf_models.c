/* SPDX-License-Identifier: MIT
 *
 * Performance models: what samples make known, which of them are left out, and curves with known answers.
 */
#include "random.h"
#include "test.h"

#include "base/alloc.h"
#include "sched/perf_int.h"

#include <math.h>

static void assert_near(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected))) {
        print_error("%.9g is not %.9g\n", value, expected);
        fail();
    }
}

static thrum__perf_stat stat_of(const double *samples, size_t count)
{
    thrum__perf_stat stat = {0};
    for (size_t i = 0; i < count; i++)
        thrum__perf_stat_note(&stat, samples[i]);
    return stat;
}

static void note_times(thrum__perf_stat *stat, double seconds, int times)
{
    for (int i = 0; i < times; i++)
        thrum__perf_stat_note(stat, seconds);
}

/* ---- Samples ----------------------------------------------------------------------------------------------------- */

TEST(mean_and_deviation_are_those_of_all_samples)
{
    static const double samples[] = {4, 5, 6, 5, 4, 6, 5, 5, 7, 3};
    thrum__perf_stat stat = stat_of(samples, COUNT_OF(samples));
    assert_int_equal(stat.count, 10);
    assert_int_equal(stat.dropped, 0);
    assert_near(stat.mean, 5, 1e-12);
    assert_near(stat.variance, 1.2, 1e-12);
}

TEST(nothing_is_known_before_eight_samples)
{
    static const double samples[] = {1, 1, 1, 1, 1, 1, 1};
    thrum__perf_stat stat = stat_of(samples, COUNT_OF(samples));
    assert_int_equal(stat.count, 0);
    thrum__perf_summary sum = thrum__perf_stat_sum(&stat);
    assert_int_equal(sum.count, 7);
    assert_near(sum.mean, 1, 1e-12);
    thrum__perf_stat_note(&stat, 1);
    assert_int_equal(stat.count, 8);
}

TEST(a_slow_first_call_does_not_count)
{
    static const double samples[] = {400, 10, 11, 10, 9, 10, 11, 9};
    thrum__perf_stat stat = stat_of(samples, COUNT_OF(samples));
    assert_int_equal(stat.count, 7);
    assert_int_equal(stat.dropped, 1);
    assert_near(stat.mean, 10, 1e-12);
}

TEST(three_of_the_first_eight_are_no_exceptions)
{
    static const double samples[] = {10, 10, 10, 10, 10, 50, 50, 50};
    thrum__perf_stat stat = stat_of(samples, COUNT_OF(samples));
    assert_int_equal(stat.count, 8);
    assert_near(stat.mean, 25, 1e-12);
}

TEST(a_sample_far_off_is_dropped)
{
    thrum__perf_stat stat = {0};
    note_times(&stat, 10, 20);
    thrum__perf_stat_note(&stat, 14.9); /* five tenths of the mean are allowed */
    assert_int_equal(stat.count, 21);
    double mean = stat.mean;
    thrum__perf_stat_note(&stat, 100);
    thrum__perf_stat_note(&stat, 0.1);
    assert_near(stat.mean, mean, 0);
    thrum__perf_stat_note(&stat, 10);
    assert_int_equal(stat.count, 22);
    assert_int_equal(stat.dropped, 2);
}

TEST(a_change_that_lasts_is_followed)
{
    thrum__perf_stat stat = {0};
    note_times(&stat, 10, 1000);
    note_times(&stat, 30, 7);
    assert_near(stat.mean, 10, 1e-9);
    note_times(&stat, 30, 1);
    assert_near(stat.mean, 30, 1e-9);
    assert_int_equal(stat.count, 8);
    assert_int_equal(stat.dropped, 0);
    note_times(&stat, 31, 2000);
    assert_true(stat.mean > 30.9); /* slow changes too */
}

TEST(two_speeds_end_as_one_mean_with_a_large_deviation)
{
    struct random random = random_new(5);
    thrum__perf_stat stat = {0};
    note_times(&stat, 10, 8);
    for (int i = 0; i < 1000; i++)
        thrum__perf_stat_note(&stat, random_chance(&random, 50) ? 10 : 40);
    assert_near(stat.mean, 25, 0.15);
    assert_near(sqrt(stat.variance), 15, 0.15);
}

TEST(noise_with_rare_exceptions_gives_the_mean_of_the_noise)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct random random = random_new(seed);
        thrum__perf_stat stat = {0};
        int exceptions = 0;
        for (int i = 0; i < 2000; i++) {
            double noise = 0;
            for (int k = 0; k < 12; k++)
                noise += (double)random_below(&random, 1000) / 1000 - 0.5;
            bool exception = i >= THRUM__PERF_ASIDE && random_chance(&random, 3);
            exceptions += exception;
            thrum__perf_stat_note(&stat, exception ? 50 : 1 + 0.05 * noise);
        }
        assert_near(stat.mean, 1, 0.02);
        assert_near(sqrt(stat.variance), 0.05, 0.3);
        assert_in_range(stat.dropped + (uint64_t)stat.asides, exceptions, exceptions);
    }
}

TEST(rows_of_two_processes_are_put_together)
{
    thrum__perf_stat own = {0}, other = {0};
    note_times(&own, 10, 30);
    note_times(&other, 11, 10);
    thrum__perf_stat_merge(&other, &own, 30);
    assert_int_equal(other.count, 40);
    assert_near(other.mean, 10.25, 1e-12);
    assert_near(other.variance, 0.1875, 1e-9);
    thrum__perf_stat changed = {0};
    note_times(&changed, 90, 9);
    thrum__perf_stat_merge(&other, &changed, 9);
    assert_near(other.mean, 90, 1e-12);
    thrum__perf_stat three = {0}, six = {0};
    note_times(&three, 2, 3);
    note_times(&six, 2, 6);
    thrum__perf_stat_merge(&six, &three, 3);
    assert_int_equal(six.count, 9);
    assert_int_equal(six.asides, 0);
}

/* ---- Curves ------------------------------------------------------------------------------------------------------ */

static void fit_known(double a, double b, double c, const double *bytes, int count, double *worst)
{
    thrum__perf_point points[64];
    thrum__perf_curve curve;
    for (int i = 0; i < count; i++)
        points[i] = (thrum__perf_point){bytes[i], a * pow(bytes[i], b) + c, 10};
    assert_true(thrum__perf_fit(points, count, &curve));
    *worst = 0;
    for (int i = 0; i < count; i++)
        *worst = fmax(*worst, fabs(thrum__perf_curve_at(&curve, bytes[i]) / (a * pow(bytes[i], b) + c) - 1));
}

TEST(a_curve_is_found_again)
{
    static const double bytes[] = {8e3, 3.2e4, 1.28e5, 5.12e5, 2.048e6, 8.192e6};
    static const struct {
        double a, b, c;
    } curves[] = {{1e-9, 1, 0}, {1e-9, 1, 1e-4}, {1e-12, 1.5, 2e-6}, {3e-16, 2, 1e-6}, {1e-5, 0.5, 0}, {0, 1, 1e-3}};
    for (size_t i = 0; i < COUNT_OF(curves); i++) {
        double worst;
        fit_known(curves[i].a, curves[i].b, curves[i].c, bytes, COUNT_OF(bytes), &worst);
        if (worst > 1e-4)
            print_error("curve %zu: %g\n", i, worst);
        assert_true(worst < 1e-4);
    }
}

TEST(the_numbers_of_a_curve_are_those_it_was_made_of)
{
    thrum__perf_point points[7];
    thrum__perf_curve curve;
    for (int i = 0; i < 7; i++) {
        double bytes = 1e4 * pow(3, i);
        points[i] = (thrum__perf_point){bytes, 2e-13 * pow(bytes, 1.5) + 3e-7, 1};
    }
    assert_true(thrum__perf_fit(points, 7, &curve));
    assert_near(curve.a, 2e-13, 1e-3);
    assert_near(curve.b, 1.5, 1e-4);
    assert_near(curve.c, 3e-7, 1e-3);
}

TEST(a_curve_through_two_sizes_is_a_power)
{
    thrum__perf_point points[] = {{100, 1, 5}, {400, 8, 5}};
    thrum__perf_curve curve;
    assert_true(thrum__perf_fit(points, 2, &curve));
    assert_near(curve.b, 1.5, 1e-12);
    assert_near(thrum__perf_curve_at(&curve, 200), pow(2, 1.5), 1e-12);
    assert_near(thrum__perf_curve_at(&curve, 800), 8 * pow(2, 1.5), 1e-12);
    assert_true(thrum__perf_curve_at(&curve, 801) < 0); /* too far from what was measured */
    assert_true(thrum__perf_curve_at(&curve, 49) < 0);
}

TEST(more_is_never_quicker)
{
    thrum__perf_point points[] = {{100, 5, 1}, {200, 4, 1}, {400, 3, 1}};
    thrum__perf_curve curve;
    assert_true(thrum__perf_fit(points, 3, &curve));
    assert_true(thrum__perf_curve_at(&curve, 400) >= thrum__perf_curve_at(&curve, 100));
    assert_false(thrum__perf_fit(points, 1, &curve));
    assert_false(thrum__perf_fit(points, 0, &curve));
}

TEST(a_point_far_off_the_curve_is_left_out)
{
    thrum__perf_point points[9];
    thrum__perf_curve curve;
    for (int i = 0; i < 9; i++)
        points[i] = (thrum__perf_point){1000.0 * (1 << i), 1000.0 * (1 << i) * (i == 4 ? 20 : 1), 1};
    assert_true(thrum__perf_fit(points, 9, &curve));
    assert_near(thrum__perf_curve_at(&curve, 16000), 16000, 1e-3);
}

/* ---- Asking and noting ------------------------------------------------------------------------------------------- */

static const thrum_place cpu = {0, THRUM_ARCH_CPU, 0, -1}, emu = {1, THRUM_ARCH_EMU, 1, 0};

static double expect(const thrum_codelet *codelet, const thrum_place *place, uint64_t footprint, size_t bytes)
{
    thrum__perf_shape shape = {footprint, bytes};
    return thrum__perf_expect(codelet, place, &shape, NULL, 0, NULL);
}

static void note(const thrum_codelet *codelet, enum thrum_arch arch, uint64_t footprint, size_t bytes, double seconds)
{
    thrum__perf_shape shape = {footprint, bytes};
    thrum__perf_note(codelet, arch, &shape, seconds);
}

TEST(history_is_by_codelet_kind_of_worker_and_footprint)
{
    static const thrum_codelet gemm = {.name = "gemm"}, trsm = {.name = "trsm"};
    thrum_codelet same_name = {.name = (char[]){"gemm"}};
    thrum__perf_forget();
    for (int i = 0; i < 8; i++) {
        assert_true(expect(&gemm, &cpu, 5, 100) < 0);
        note(&gemm, THRUM_ARCH_CPU, 5, 100, 2);
    }
    assert_near(expect(&gemm, &cpu, 5, 100), 2, 1e-12);
    assert_near(expect(&same_name, &cpu, 5, 100), 2, 1e-12);
    assert_true(expect(&gemm, &emu, 5, 100) < 0);
    assert_true(expect(&gemm, &cpu, 6, 100) < 0);
    assert_true(expect(&trsm, &cpu, 5, 100) < 0);
    note(&gemm, THRUM_ARCH_CPU, 5, 100, NAN);
    note(&gemm, THRUM_ARCH_CPU, 5, 100, -1);
    assert_near(expect(&gemm, &cpu, 5, 100), 2, 1e-12);
}

TEST(shapes_differ_by_order_and_number_of_accesses)
{
    thrum__perf_shape a = {0}, b = {0}, c = {0};
    thrum__perf_shape_add(&a, 1, 10);
    thrum__perf_shape_add(&a, 2, 20);
    thrum__perf_shape_add(&b, 2, 20);
    thrum__perf_shape_add(&b, 1, 10);
    thrum__perf_shape_add(&c, 1, 10);
    assert_true(a.footprint != b.footprint);
    assert_true(a.footprint != c.footprint);
    assert_int_equal(a.bytes, 30);
}

TEST(a_model_by_size_knows_sizes_that_never_came)
{
    static const thrum_codelet axpy = {.name = "axpy", .model = THRUM_BY_SIZE};
    thrum__perf_forget();
    for (size_t bytes = 1000; bytes <= 128000; bytes *= 2)
        note(&axpy, THRUM_ARCH_CPU, bytes, bytes, 1e-6 + 1e-9 * (double)bytes);
    assert_near(expect(&axpy, &cpu, 77, 12345), 1e-6 + 1e-9 * 12345, 0.01);
    assert_true(expect(&axpy, &cpu, 77, 1000000) < 0);
    assert_true(expect(&axpy, &emu, 77, 12345) < 0);
}

TEST(a_model_by_size_with_one_size_is_a_history)
{
    static const thrum_codelet dot = {.name = "dot", .model = THRUM_BY_SIZE},
                               empty = {.name = "no", .model = THRUM_BY_SIZE};
    thrum__perf_forget();
    for (int i = 0; i < 8; i++) {
        note(&dot, THRUM_ARCH_CPU, 1, 1 << 20, 3);
        note(&empty, THRUM_ARCH_CPU, 1, 0, 4);
    }
    assert_near(expect(&dot, &cpu, 1, 1 << 20), 3, 1e-12);
    assert_true(expect(&dot, &cpu, 1, 1 << 10) < 0);
    assert_near(expect(&empty, &cpu, 1, 0), 4, 1e-12);
}

static void count_rows(const thrum_model_row *row, void *arg)
{
    (void)row;
    ++*(int *)arg;
}

TEST(a_model_by_size_has_few_rows)
{
    static const thrum_codelet any = {.name = "any", .model = THRUM_BY_SIZE};
    struct random random = random_new(3);
    int rows = 0;
    thrum__perf_forget();
    for (int i = 0; i < 20000; i++) {
        size_t bytes = (size_t)random_next(&random) >> random_below(&random, 64);
        note(&any, THRUM_ARCH_CPU, bytes, bytes, 1e-9 * (double)bytes + 1e-6);
    }
    int visited = thrum_models_visit(count_rows, &rows);
    assert_int_equal(visited, rows);
    assert_in_range(rows, 100, 512);
    for (size_t bytes = 1; bytes < SIZE_MAX / 2; bytes *= 3)
        assert_near(expect(&any, &cpu, 0, bytes), 1e-9 * (double)bytes + 1e-6, 0.2);
}

static double by_function(const thrum_place *place, const thrum_buffer *buffers, int count, const void *arg)
{
    (void)buffers;
    return place->arch == THRUM_ARCH_EMU ? NAN : count * *(const double *)arg;
}

TEST(a_model_by_function_is_asked_and_learns_nothing)
{
    static const thrum_codelet told = {.name = "told", .model = THRUM_BY_FUNCTION, .seconds = by_function},
                               mute = {.name = "mute", .model = THRUM_BY_FUNCTION};
    double factor = 1.5;
    thrum_buffer buffers[3] = {{0}};
    thrum__perf_shape shape = {0};
    int rows = 0;
    thrum__perf_forget();
    assert_near(thrum__perf_expect(&told, &cpu, &shape, buffers, 3, &factor), 4.5, 1e-12);
    assert_true(thrum__perf_expect(&told, &emu, &shape, buffers, 3, &factor) == -1);
    assert_true(thrum__perf_expect(&mute, &cpu, &shape, buffers, 3, &factor) == -1);
    note(&told, THRUM_ARCH_CPU, 1, 1, 1);
    assert_int_equal(thrum_models_visit(count_rows, &rows), 0);
}

static void remember_row(const thrum_model_row *row, void *arg)
{
    thrum_model_row **next = arg;
    *(*next)++ = *row;
}

TEST(rows_are_visited_in_order)
{
    static const thrum_codelet b = {.name = "b"}, a = {.name = "a"};
    thrum_model_row rows[4], *next = rows;
    thrum__perf_forget();
    note(&b, THRUM_ARCH_CPU, 1, 70, 1);
    note(&a, THRUM_ARCH_EMU, 2, 90, 2);
    note(&a, THRUM_ARCH_CPU, 3, 80, 3);
    note(&a, THRUM_ARCH_CPU, 4, 60, 4);
    note(&a, THRUM_ARCH_CPU, 4, 60, 6);
    assert_int_equal(thrum_models_visit(remember_row, &next), 4);
    assert_string_equal(rows[0].codelet, "a");
    assert_int_equal(rows[0].bytes, 60);
    assert_int_equal(rows[0].count, 2);
    assert_near(rows[0].mean, 5, 1e-12);
    assert_near(rows[0].deviation, 1, 1e-12);
    assert_int_equal(rows[1].bytes, 80);
    assert_int_equal(rows[2].arch, THRUM_ARCH_EMU);
    assert_string_equal(rows[3].codelet, "b");
    assert_error(thrum_models_visit(NULL, NULL), THRUM_EINVAL, "NULL");
}

TEST(without_memory_samples_are_lost_and_nothing_else)
{
    static const thrum_codelet poor = {.name = "poor", .model = THRUM_BY_SIZE};
    for (long allocations = 0; allocations < 6; allocations++) {
        int rows = 0;
        thrum__perf_forget();
        thrum__alloc_fail_after(allocations);
        for (size_t i = 1; i <= 100; i++)
            note(&poor, THRUM_ARCH_CPU, i, i << 12, 1e-6 * (double)i);
        double seconds = expect(&poor, &cpu, 50, 50 << 12);
        int visited = thrum_models_visit(count_rows, &rows);
        thrum__alloc_fail_after(-1);
        assert_true(seconds < 0 || fabs(seconds / 50e-6 - 1) < 0.1);
        assert_true(visited == THRUM_ENOMEM || visited == rows);
    }
    thrum__perf_forget();
}

int main(void)
{
    setenv("THRUM_MODELS", "off", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean_and_deviation_are_those_of_all_samples),
        cmocka_unit_test(nothing_is_known_before_eight_samples),
        cmocka_unit_test(a_slow_first_call_does_not_count),
        cmocka_unit_test(three_of_the_first_eight_are_no_exceptions),
        cmocka_unit_test(a_sample_far_off_is_dropped),
        cmocka_unit_test(a_change_that_lasts_is_followed),
        cmocka_unit_test(two_speeds_end_as_one_mean_with_a_large_deviation),
        cmocka_unit_test(noise_with_rare_exceptions_gives_the_mean_of_the_noise),
        cmocka_unit_test(rows_of_two_processes_are_put_together),
        cmocka_unit_test(a_curve_is_found_again),
        cmocka_unit_test(the_numbers_of_a_curve_are_those_it_was_made_of),
        cmocka_unit_test(a_curve_through_two_sizes_is_a_power),
        cmocka_unit_test(more_is_never_quicker),
        cmocka_unit_test(a_point_far_off_the_curve_is_left_out),
        cmocka_unit_test(history_is_by_codelet_kind_of_worker_and_footprint),
        cmocka_unit_test(shapes_differ_by_order_and_number_of_accesses),
        cmocka_unit_test(a_model_by_size_knows_sizes_that_never_came),
        cmocka_unit_test(a_model_by_size_with_one_size_is_a_history),
        cmocka_unit_test(a_model_by_size_has_few_rows),
        cmocka_unit_test(a_model_by_function_is_asked_and_learns_nothing),
        cmocka_unit_test(rows_are_visited_in_order),
        cmocka_unit_test(without_memory_samples_are_lost_and_nothing_else),
    };
    return RUN_TESTS(tests, 60);
}
