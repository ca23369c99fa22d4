/* SPDX-License-Identifier: MIT
 *
 * Algorithms used wrongly: a code, a sentence that names the call and the argument, and nothing touched; in a graph an
 * error that the graph keeps.
 */
#include "test.h"

static int values[8] = {3, 1, 2}, others[8], big[16];

static int compare(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    return *(const int *)a - *(const int *)b;
}

static void each(size_t lo, size_t hi, void *ctx)
{
    (void)lo, (void)hi, (void)ctx;
}

static void op(const void *in, void *out, size_t count, void *ctx)
{
    (void)in, (void)out, (void)count, (void)ctx;
}

static void fold(void *into, const void *elements, size_t count, void *ctx)
{
    (void)into, (void)elements, (void)count, (void)ctx;
}

static void map(size_t lo, size_t hi, void *into, void *ctx)
{
    (void)lo, (void)hi, (void)into, (void)ctx;
}

static void combine(void *into, const void *from, void *ctx)
{
    (void)into, (void)from, (void)ctx;
}

static size_t find(size_t lo, size_t hi, void *ctx)
{
    (void)lo, (void)ctx;
    return hi;
}

#define REFUSED(call, part) assert_error(call, THRUM_EINVAL, part)

TEST(null_functions_are_refused)
{
    int sum = 0;
    size_t index = 0;
    REFUSED(thrum_for_each(NULL, 8, 0, NULL, NULL), "thrum_for_each: the body is NULL");
    REFUSED(thrum_transform(NULL, values, 4, others, 4, 8, 0, NULL, NULL), "thrum_transform: the operator is NULL");
    REFUSED(thrum_find_if(NULL, 8, 0, NULL, NULL, &index), "thrum_find_if: the operator is NULL");
    REFUSED(thrum_min_element(NULL, values, 8, 4, NULL, NULL, &index), "thrum_min_element: the comparison is NULL");
    REFUSED(thrum_max_element(NULL, values, 8, 4, NULL, NULL, &index), "thrum_max_element: the comparison is NULL");
    REFUSED(thrum_reduce(NULL, values, 8, 4, 0, &sum, NULL, NULL), "thrum_reduce: the operator is NULL");
    REFUSED(thrum_transform_reduce(NULL, 8, 0, &sum, 4, NULL, combine, NULL), "makes a value is NULL");
    REFUSED(thrum_transform_reduce(NULL, 8, 0, &sum, 4, map, NULL, NULL), "combines values is NULL");
    REFUSED(thrum_inclusive_scan(NULL, values, others, 8, 4, 0, &sum, NULL, NULL, NULL), "the operator is NULL");
    REFUSED(thrum_exclusive_scan(NULL, values, others, 8, 4, 0, &sum, NULL, NULL, NULL), "thrum_exclusive_scan: ");
    REFUSED(thrum_merge(NULL, values, 8, others, 8, big, 4, NULL, NULL), "thrum_merge: the comparison is NULL");
    REFUSED(thrum_sort(NULL, values, 8, 4, NULL, NULL), "thrum_sort: the comparison is NULL");
}

TEST(null_arrays_and_results_are_refused)
{
    int sum = 0;
    size_t index = 0;
    REFUSED(thrum_transform(NULL, NULL, 4, others, 4, 8, 0, op, NULL), "the input is NULL, but should have 8 elements");
    REFUSED(thrum_transform(NULL, values, 4, NULL, 4, 8, 0, op, NULL), "the output is NULL, but should have 8");
    REFUSED(thrum_fill(NULL, NULL, 8, 4, values), "the output is NULL");
    REFUSED(thrum_fill(NULL, values, 8, 4, NULL), "the value is NULL");
    REFUSED(thrum_find_if(NULL, 8, 0, find, NULL, NULL), "the index is NULL");
    REFUSED(thrum_min_element(NULL, NULL, 8, 4, compare, NULL, &index), "the input is NULL");
    REFUSED(thrum_max_element(NULL, values, 8, 4, compare, NULL, NULL), "the index is NULL");
    REFUSED(thrum_reduce(NULL, NULL, 8, 4, 0, &sum, fold, NULL), "the input is NULL");
    REFUSED(thrum_reduce(NULL, values, 8, 4, 0, NULL, fold, NULL), "the result is NULL");
    REFUSED(thrum_transform_reduce(NULL, 8, 0, NULL, 4, map, combine, NULL), "the result is NULL");
    REFUSED(thrum_inclusive_scan(NULL, NULL, others, 8, 4, 0, &sum, fold, NULL, NULL), "the input is NULL");
    REFUSED(thrum_inclusive_scan(NULL, values, others, 8, 4, 0, NULL, fold, NULL, NULL), "the total is NULL");
    REFUSED(thrum_merge(NULL, NULL, 8, others, 8, big, 4, compare, NULL), "the first array is NULL");
    REFUSED(thrum_merge(NULL, values, 8, NULL, 8, big, 4, compare, NULL), "the second array is NULL");
    REFUSED(thrum_sort(NULL, NULL, 8, 4, compare, NULL), "the array is NULL, but should have 8 elements");
    REFUSED(thrum_sort_int32(NULL, NULL, 8), "thrum_sort_int32: the array is NULL");
    REFUSED(thrum_sort_int64(NULL, NULL, 8), "thrum_sort_int64: the array is NULL");
    REFUSED(thrum_sort_double(NULL, NULL, 8), "thrum_sort_double: the array is NULL");
    assert_int_equal(values[0], 3);
}

TEST(elements_of_no_size_are_refused)
{
    int sum = 0;
    size_t index = 0;
    REFUSED(thrum_transform(NULL, values, 0, others, 4, 8, 0, op, NULL), "an element of the input is 0");
    REFUSED(thrum_transform(NULL, values, 4, others, 0, 8, 0, op, NULL), "an element of the output is 0");
    REFUSED(thrum_fill(NULL, values, 8, 0, others), "is 0");
    REFUSED(thrum_min_element(NULL, values, 8, 0, compare, NULL, &index), "is 0");
    REFUSED(thrum_reduce(NULL, values, 8, 0, 0, &sum, fold, NULL), "is 0");
    REFUSED(thrum_transform_reduce(NULL, 8, 0, &sum, 0, map, combine, NULL), "the size of a value is 0");
    REFUSED(thrum_inclusive_scan(NULL, values, others, 8, 0, 0, &sum, fold, NULL, NULL), "is 0");
    REFUSED(thrum_merge(NULL, values, 8, others, 8, big, 0, compare, NULL), "is 0");
    REFUSED(thrum_sort(NULL, values, 8, 0, compare, NULL), "is 0");
}

TEST(more_elements_than_addresses_are_refused)
{
    int sum = 0;
    REFUSED(thrum_fill(NULL, values, SIZE_MAX / 2, 4, others), "more than there are addresses");
    REFUSED(thrum_reduce(NULL, values, SIZE_MAX, 4, 0, &sum, fold, NULL), "more than there are addresses");
    REFUSED(thrum_merge(NULL, values, SIZE_MAX / 10, others, SIZE_MAX / 10, big, 4, compare, NULL), "the output has");
    REFUSED(thrum_sort(NULL, values, 8, SIZE_MAX, compare, NULL), "more than there are addresses");
    REFUSED(thrum_sort_int64(NULL, (int64_t *)(void *)values, SIZE_MAX / 8), "more than there are addresses");
}

TEST(arrays_that_overlap_are_refused)
{
    int sum = 0;
    REFUSED(thrum_transform(NULL, values, 4, values + 1, 4, 7, 0, op, NULL), "the input and the output overlap");
    REFUSED(thrum_transform(NULL, values, 4, values, 2, 8, 0, op, NULL), "overlap");
    REFUSED(thrum_fill(NULL, values, 8, 4, values + 3), "the output and the value overlap");
    REFUSED(thrum_exclusive_scan(NULL, values + 1, values, 7, 4, 0, &sum, fold, NULL, NULL), "overlap");
    REFUSED(thrum_merge(NULL, big, 8, values, 8, big, 4, compare, NULL), "the first array and the output overlap");
    REFUSED(thrum_merge(NULL, values, 8, big + 8, 1, big, 4, compare, NULL), "the second array and the output");
}

TEST(a_graph_keeps_the_mistake)
{
    thrum_graph *graph = thrum_graph_new("wrong");
    assert_null(thrum_sort_task_new(graph, values, 8, 0, compare, NULL));
    assert_contains(thrum_message(graph), "thrum_sort_task_new: the size of an element of the array is 0");
    assert_null(thrum_for_each_task_new(graph, 8, 0, each, NULL));
    assert_error(thrum_run(NULL, graph), THRUM_EINVAL, "thrum_sort_task_new");
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_task_needs_a_graph)
{
    size_t index;
    int sum = 0;
    assert_null(thrum_for_each_task_new(NULL, 8, 0, each, NULL));
    assert_contains(thrum_message(NULL), "thrum_for_each_task_new: the graph is NULL");
    assert_null(thrum_find_if_task_new(NULL, 8, 0, find, NULL, &index));
    assert_null(thrum_reduce_task_new(NULL, values, 8, 4, 0, &sum, fold, NULL));
    assert_null(thrum_sort_double_task_new(NULL, NULL, 0));
    assert_contains(thrum_message(NULL), "thrum_sort_double_task_new: the graph is NULL");
}

static thrum_graph *running;
static thrum_task *added;

static void add_to_own_graph(void *arg)
{
    (void)arg;
    added = thrum_sort_int32_task_new(running, values, 8);
}

TEST(a_graph_that_runs_gets_no_task)
{
    running = thrum_graph_new("running");
    thrum_task_new(running, add_to_own_graph, NULL);
    assert_int_equal(thrum_run(NULL, running), 0);
    assert_null(added);
    assert_non_null(thrum_sort_int32_task_new(running, values, 8));
    assert_int_equal(thrum_graph_free(running), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_functions_are_refused),
        cmocka_unit_test(null_arrays_and_results_are_refused),
        cmocka_unit_test(elements_of_no_size_are_refused),
        cmocka_unit_test(more_elements_than_addresses_are_refused),
        cmocka_unit_test(arrays_that_overlap_are_refused),
        cmocka_unit_test(a_graph_keeps_the_mistake),
        cmocka_unit_test(a_task_needs_a_graph),
        cmocka_unit_test(a_graph_that_runs_gets_no_task),
    };
    return RUN_TESTS(tests, 30);
}
