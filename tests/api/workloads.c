/* SPDX-License-Identifier: MIT
 *
 * Workloads: making and measuring them, and what is refused.
 */
#include "test.h"

#include <math.h>

static const unsigned both = 1u << THRUM_ARCH_CPU | 1u << THRUM_ARCH_EMU;

/* A workload with one codelet and two pieces of data. */
static thrum_workload *small(void)
{
    thrum_workload *w = thrum_workload_new("small");
    assert_int_equal(thrum_workload_add_codelet(w, "gemm", both), 0);
    assert_int_equal(thrum_workload_add_data(w, "A", 100, true), 0);
    assert_int_equal(thrum_workload_add_data(w, NULL, 50, false), 1);
    return w;
}

static thrum_workload_task plain(void)
{
    return (thrum_workload_task){.work = 2, .worker = -1, .bucket = THRUM_NO_BUCKET};
}

TEST(a_codelet_is_made_once_for_each_set_of_workers)
{
    thrum_workload *w = small();
    assert_int_equal(thrum_workload_add_codelet(w, "gemm", both), 0);
    assert_int_equal(thrum_workload_add_codelet(w, "gemm", 1u << THRUM_ARCH_CPU), 1);
    assert_int_equal(thrum_workload_add_codelet(w, "potrf", both), 2);
    thrum_workload_free(w);
}

TEST(sizes_are_measured)
{
    thrum_workload *w = small();
    const thrum_workload_access accesses[] = {{0, THRUM_MODE_R}, {1, THRUM_MODE_W}};
    thrum_workload_task task = plain();
    task.access = accesses;
    task.access_count = 2;
    for (int i = 0; i < 3; i++)
        assert_int_equal(thrum_workload_add_task(w, &task), i);
    assert_int_equal(thrum_workload_add_edge(w, 0, 2), 0);
    thrum_workload_size size;
    assert_int_equal(thrum_workload_measure(w, &size), 0);
    assert_int_equal(size.codelets, 1);
    assert_int_equal(size.data, 2);
    assert_int_equal(size.tasks, 3);
    assert_int_equal(size.accesses, 6);
    assert_int_equal(size.edges, 3); /* 0 1, 1 2, and the one that was given */
    assert_int_equal(size.depth, 3);
    assert_true(size.work == 6 && size.bytes == 150);
    assert_string_equal(thrum_workload_name(w), "small");
    thrum_workload_free(w);
}

TEST(a_name_that_is_not_given_is_empty)
{
    thrum_workload *w = thrum_workload_new(NULL);
    assert_string_equal(thrum_workload_name(w), "");
    thrum_workload_free(w);
    thrum_workload_free(NULL);
}

TEST(wrong_codelets_and_data_are_refused)
{
    thrum_workload *w = small();
    assert_error(thrum_workload_add_codelet(NULL, "x", 1), THRUM_EINVAL, "workload is NULL");
    assert_error(thrum_workload_add_codelet(w, NULL, 1), THRUM_EINVAL, "without a name");
    assert_error(thrum_workload_add_codelet(w, "", 1), THRUM_EINVAL, "without a name");
    assert_error(thrum_workload_add_codelet(w, "x", 0), THRUM_EINVAL, "0x0 is no set of kinds of workers");
    assert_error(thrum_workload_add_codelet(w, "x", 1u << THRUM_ARCHS), THRUM_EINVAL, "no set of kinds of workers");
    assert_error(thrum_workload_add_data(NULL, "x", 1, true), THRUM_EINVAL, "workload is NULL");
    thrum_workload_free(w);
}

/* The task with one field changed is refused, and the same one is taken when it is put right. */
static void refuse(thrum_workload *w, thrum_workload_task task, int code, const char *part)
{
    assert_error(thrum_workload_add_task(w, &task), code, part);
}

TEST(wrong_tasks_are_refused)
{
    thrum_workload *w = small();
    thrum_workload_task task = plain();
    task.codelet = 7;
    refuse(w, task, THRUM_EINVAL, "task 0: there is no codelet 7; there are 1");
    task = plain();
    task.work = -1;
    refuse(w, task, THRUM_EINVAL, "its work is -1");
    task.work = (double)NAN;
    refuse(w, task, THRUM_EINVAL, "its work is");
    task = plain();
    task.bucket = -2;
    refuse(w, task, THRUM_EINVAL, "its bucket is -2");
    task = plain();
    task.worker = -3;
    refuse(w, task, THRUM_EINVAL, "its worker is -3");
    task = plain();
    task.seconds[THRUM_ARCH_EMU] = -0.5;
    refuse(w, task, THRUM_EINVAL, "it takes -0.5 seconds");
    task = plain();
    task.access_count = 1;
    refuse(w, task, THRUM_EINVAL, "the list is NULL");
    assert_error(thrum_workload_add_task(w, NULL), THRUM_EINVAL, "the task is NULL");
    assert_error(thrum_workload_add_task(NULL, &task), THRUM_EINVAL, "the workload is NULL");
    thrum_workload_free(w);
}

TEST(wrong_accesses_are_refused)
{
    thrum_workload *w = small();
    const struct {
        thrum_workload_access access[2];
        int code;
        const char *part;
    } cases[] = {
        {{{0, THRUM_MODE_R}, {2, THRUM_MODE_R}}, THRUM_EINVAL, "there is no data 2; there are 2"},
        {{{0, THRUM_MODE_R}, {1, (enum thrum_mode)9}}, THRUM_EINVAL, "9 is no mode"},
        {{{0, THRUM_MODE_R}, {0, THRUM_MODE_W}}, THRUM_EDATA, "data 0 'A' is used twice, as R and as W"},
        {{{1, THRUM_MODE_W}, {1, THRUM_MODE_W}}, THRUM_EDATA, "data 1 is used twice, as W and as W"},
    };
    thrum_workload_task task = plain();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        task.access = cases[i].access;
        task.access_count = 2;
        refuse(w, task, cases[i].code, cases[i].part);
    }
    const thrum_workload_access twice[] = {{0, THRUM_MODE_R}, {0, THRUM_MODE_R}, {0, THRUM_MODE_SCRATCH}};
    task.access = twice;
    task.access_count = 3;
    assert_int_equal(thrum_workload_add_task(w, &task), 0);
    thrum_workload_free(w);
}

TEST(wrong_edges_are_refused)
{
    thrum_workload *w = small();
    thrum_workload_task task = plain();
    thrum_workload_add_task(w, &task);
    assert_error(thrum_workload_add_edge(w, 0, 1), THRUM_EINVAL, "there is no task 1; there are 1");
    assert_error(thrum_workload_add_edge(w, -1, 0), THRUM_EINVAL, "there is no task -1");
    assert_error(thrum_workload_add_edge(w, 0, 0), THRUM_EINVAL, "an edge from task 0 to itself");
    assert_error(thrum_workload_add_edge(NULL, 0, 1), THRUM_EINVAL, "workload is NULL");
    assert_error(thrum_workload_check(NULL), THRUM_EINVAL, "workload is NULL");
    assert_error(thrum_workload_measure(w, NULL), THRUM_EINVAL, "size is NULL");
    thrum_workload_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_codelet_is_made_once_for_each_set_of_workers),
        cmocka_unit_test(sizes_are_measured),
        cmocka_unit_test(a_name_that_is_not_given_is_empty),
        cmocka_unit_test(wrong_codelets_and_data_are_refused),
        cmocka_unit_test(wrong_tasks_are_refused),
        cmocka_unit_test(wrong_accesses_are_refused),
        cmocka_unit_test(wrong_edges_are_refused),
    };
    return RUN_TESTS(tests, 60);
}
