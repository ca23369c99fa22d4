/* SPDX-License-Identifier: MIT
 *
 * Workloads of the applications: as many tasks, operations and bytes as the algorithms have.
 */
#include "test.h"

#include "apps/workloads.h"

#include <math.h>
#include <unistd.h>

static thrum_workload *make(const char *app, struct app_workload_size size)
{
    thrum_workload *w = app_workload(app, &size);
    if (!w)
        fail_msg("%s", thrum_message(NULL));
    return w;
}

static thrum_workload_size measure(const thrum_workload *w)
{
    thrum_workload_size size;
    assert_int_equal(thrum_workload_measure(w, &size), 0);
    return size;
}

static char *text_of(const thrum_workload *w)
{
    char path[] = "workload-XXXXXX", *text = calloc(1, 1 << 22);
    int fd = mkstemp(path);
    assert_int_equal(thrum_workload_write(w, path), 0);
    FILE *file = fdopen(fd, "r");
    assert_true(fread(text, 1, (1 << 22) - 1, file) > 0);
    fclose(file);
    unlink(path);
    return text;
}

static bool near(double number, double expected, double share)
{
    return fabs(number - expected) <= share * expected;
}

TEST(cholesky_has_the_operations_of_the_factorization)
{
    thrum_workload *w = make("cholesky", (struct app_workload_size){.n = 20000, .tile = 400});
    thrum_workload_size size = measure(w);
    assert_int_equal(size.tasks, 50 * 51 * 52 / 6);
    assert_int_equal(size.data, 50 * 51 / 2);
    assert_int_equal(size.depth, 3 * 50 - 2);
    assert_true(near(size.work, 20000.0 * 20000 * 20000 / 3, 0.02));
    assert_true(size.bytes == 1275.0 * 400 * 400 * 8);
    char *text = text_of(w);
    assert_contains(text, "codelet cholesky-potrf cpu\n");
    assert_contains(text, "codelet cholesky-gemm cpu,emu\n");
    assert_contains(text, "data \"A(49,0)\" 1280000 written\n");
    assert_contains(text, "task cholesky-gemm work=1.28e+08 ");
    assert_null(strstr(text, "bucket"));
    free(text);
    thrum_workload_free(w);
}

TEST(tiles_need_not_divide_the_matrix)
{
    thrum_workload *w = make("cholesky", (struct app_workload_size){.n = 1000, .tile = 300});
    assert_true(measure(w).bytes == 8.0 * (6 * 300 * 300 + 3 * 300 * 100 + 100 * 100));
    thrum_workload_free(w);
}

TEST(qr_has_the_operations_of_the_factorization)
{
    thrum_workload *w = make("qr", (struct app_workload_size){.n = 16000, .tile = 400});
    thrum_workload_size size = measure(w);
    assert_int_equal(size.tasks, 40 * 41 * 81 / 6);
    assert_true(near(size.work, 4.0 / 3 * 16000.0 * 16000 * 16000, 0.02));
    char *text = text_of(w);
    assert_contains(text, "codelet qr-geqrt cpu\n");
    assert_contains(text, "codelet qr-tsmqr cpu,emu\n");
    free(text);
    thrum_workload_free(w);
}

TEST(life_has_a_task_for_each_block_and_step)
{
    thrum_workload *w = make("life", (struct app_workload_size){.n = 1024, .tile = 128, .steps = 32});
    thrum_workload_size size = measure(w);
    assert_int_equal(size.tasks, 512 * 32);
    assert_int_equal(size.depth, 32);
    assert_true(size.work == 32.0 * 1024 * 1024 * 1024);
    assert_int_equal(size.accesses, size.tasks * 34);
    thrum_workload_free(w);
}

TEST(kmeans_has_the_turns_of_its_loop)
{
    thrum_workload *w = make("kmeans", (struct app_workload_size){.n = 1000, .tile = 100, .steps = 3});
    thrum_workload_size size = measure(w);
    assert_int_equal(size.tasks, 1 + 3 * 11);
    assert_int_equal(size.depth, 1 + 3 * 2);
    thrum_workload_free(w);
}

TEST(kernels_of_devices_and_buckets_are_chosen)
{
    thrum_workload *w =
        make("cholesky", (struct app_workload_size){.n = 8, .tile = 2, .on_device = "syrk,trsm", .buckets = true});
    char *text = text_of(w);
    assert_contains(text, "codelet cholesky-potrf cpu\n");
    assert_contains(text, "codelet cholesky-trsm cpu,emu\n");
    assert_contains(text, "codelet cholesky-gemm cpu\n");
    assert_contains(text, "bucket=3\n");
    free(text);
    thrum_workload_free(w);
    w = make("qr", (struct app_workload_size){.n = 8, .tile = 2, .on_device = "all"});
    text = text_of(w);
    assert_contains(text, "codelet qr-geqrt cpu,emu\n");
    free(text);
    thrum_workload_free(w);
    w = make("life", (struct app_workload_size){.on_device = "none"});
    text = text_of(w);
    assert_contains(text, "codelet life-step cpu\n");
    free(text);
    thrum_workload_free(w);
}

TEST(the_same_is_made_each_time)
{
    thrum_workload *one = make("qr", (struct app_workload_size){.n = 100, .tile = 30}),
                   *other = make("qr", (struct app_workload_size){.n = 100, .tile = 30});
    char *text = text_of(one), *other_text = text_of(other);
    assert_string_equal(text, other_text);
    free(text);
    free(other_text);
    thrum_workload_free(one);
    thrum_workload_free(other);
}

static void refuse(const char *app, struct app_workload_size size, const char *sentence)
{
    assert_null(app_workload(app, &size));
    assert_contains(thrum_message(NULL), sentence);
}

TEST(wrong_sizes_are_refused)
{
    refuse("lu", (struct app_workload_size){0},
           "there is no application 'lu'; there are cholesky, qr, life and kmeans");
    refuse("qr", (struct app_workload_size){.n = 1 << 21}, "qr: n is 2097152; it can be 1048576 at most");
    refuse("cholesky", (struct app_workload_size){.n = 1 << 20, .tile = 16}, "tasks; 5e+07 are the most");
    refuse("cholesky", (struct app_workload_size){.on_device = "gemm,gem"},
           "cholesky has no kernel 'gem' that devices could have; its kernels are potrf,trsm,syrk,gemm");
}

TEST(applications_are_listed)
{
    const char *kernels = NULL;
    assert_string_equal(app_workload_at(0, &kernels), "cholesky");
    assert_string_equal(kernels, "potrf,trsm,syrk,gemm");
    assert_string_equal(app_workload_at(3, NULL), "kmeans");
    assert_null(app_workload_at(4, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cholesky_has_the_operations_of_the_factorization),
        cmocka_unit_test(tiles_need_not_divide_the_matrix),
        cmocka_unit_test(qr_has_the_operations_of_the_factorization),
        cmocka_unit_test(life_has_a_task_for_each_block_and_step),
        cmocka_unit_test(kmeans_has_the_turns_of_its_loop),
        cmocka_unit_test(kernels_of_devices_and_buckets_are_chosen),
        cmocka_unit_test(the_same_is_made_each_time),
        cmocka_unit_test(wrong_sizes_are_refused),
        cmocka_unit_test(applications_are_listed),
    };
    return RUN_TESTS(tests, 100);
}
