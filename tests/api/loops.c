/* SPDX-License-Identifier: MIT
 *
 * Loops: every technique, as a call, in tasks, nested, side by side, as a task of a graph, as a reduction.
 */
#include "test.h"

#include <math.h>

static thrum_executor *ex;

enum { N = 5000 };

static atomic_uchar seen[N];
static atomic_int chunks;

static void mark(size_t lo, size_t hi, void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&chunks, 1);
    for (size_t i = lo; i < hi; i++)
        atomic_fetch_add_explicit(&seen[i], 1, memory_order_relaxed);
}

static void forget(void)
{
    memset(seen, 0, sizeof seen);
    atomic_store(&chunks, 0);
}

static void assert_each_once(size_t lo, size_t hi)
{
    for (size_t i = 0; i < N; i++)
        assert_int_equal(seen[i], i >= lo && i < hi);
}

static void count_indices(size_t lo, size_t hi, void *into, void *ctx)
{
    (void)ctx;
    int64_t sum = 0;
    for (size_t i = lo; i < hi; i++)
        sum += (int64_t)i;
    *(int64_t *)into = sum;
}

static void add_int64(void *into, const void *from, void *ctx)
{
    (void)ctx;
    *(int64_t *)into += *(const int64_t *)from;
}

/* ---- Every technique --------------------------------------------------------------------------------------------- */

TEST(every_technique_does_each_iteration_once)
{
    static const size_t sizes[] = {0, 1, 2, 3, 7, 100, N};
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            forget();
            assert_int_equal(thrum_for(ex, 0, sizes[s], mark, NULL, .schedule = (thrum_technique)t), 0);
            assert_each_once(0, sizes[s]);
        }
    }
}

/* The first execution of a rule that needs measurements goes by another one; so several are tried. */
TEST(every_technique_does_so_again_and_again)
{
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        for (int i = 0; i < 5; i++) {
            forget();
            assert_int_equal(thrum_for(ex, 10, 3000, mark, NULL, .schedule = (thrum_technique)t, .seed = (uint64_t)i),
                             0);
            assert_each_once(10, 3000);
        }
    }
}

TEST(facts_can_be_given)
{
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        forget();
        assert_int_equal(thrum_for(ex, 0, N, mark, NULL, .schedule = (thrum_technique)t, .mean = 1e-6,
                                   .deviation = 1e-6, .cost = 1e-7, .least = 3),
                         0);
        assert_each_once(0, N);
    }
}

TEST(auto_and_runtime_pick_a_technique)
{
    for (int i = 0; i < 100; i++) {
        forget();
        assert_int_equal(thrum_for(ex, 0, N, mark, NULL, .schedule = i % 2 ? THRUM_AUTO : THRUM_RUNTIME), 0);
        assert_each_once(0, N);
    }
}

TEST(chunks_have_the_sizes_of_the_rule)
{
    forget();
    assert_int_equal(thrum_for(ex, 0, N, mark, NULL, .schedule = THRUM_SS), 0);
    assert_int_equal(atomic_load(&chunks), N);
    forget();
    assert_int_equal(thrum_for(ex, 0, N, mark, NULL, .schedule = THRUM_STAT), 0);
    assert_int_equal(atomic_load(&chunks), thrum_executor_workers(ex));
    forget();
    assert_int_equal(thrum_for(ex, 0, N, mark, NULL, .schedule = THRUM_SS, .least = 10), 0);
    assert_in_range(atomic_load(&chunks), N / 10,
                    N / 10 + 40); /* blocks and stolen halves may end with fewer than 10 */
}

static void count_chunks_of_one(size_t lo, size_t hi, void *ctx)
{
    (void)ctx;
    atomic_fetch_add(&chunks, hi - lo == 1);
}

/* GSS with p = 1 is one chunk; FAC2 with n = 16 and p = 1: 8, 4, 2, 1, 1. */
TEST(one_worker_gets_the_sequence_of_the_rule)
{
    thrum_executor *one = thrum_executor_new(&(thrum_config){.workers = 1});
    forget();
    assert_int_equal(thrum_for(one, 0, 16, count_chunks_of_one, NULL, .schedule = THRUM_FAC2), 0);
    assert_int_equal(atomic_load(&chunks), 2);
    forget();
    assert_int_equal(thrum_for(one, 0, 16, mark, NULL, .schedule = THRUM_GSS), 0);
    assert_int_equal(atomic_load(&chunks), 1);
    assert_int_equal(thrum_executor_free(one), 0);
}

/* ---- Anywhere ---------------------------------------------------------------------------------------------------- */

static void inner(size_t lo, size_t hi, void *ctx)
{
    atomic_fetch_add((atomic_int *)ctx, (int)(hi - lo));
}

static void middle(size_t lo, size_t hi, void *ctx)
{
    for (size_t i = lo; i < hi; i++)
        if (thrum_for(NULL, 0, 20 + i, inner, ctx, .schedule = THRUM_AF))
            atomic_fetch_add((atomic_int *)ctx, 1000000);
}

static void outer(size_t lo, size_t hi, void *ctx)
{
    for (size_t i = lo; i < hi; i++)
        if (thrum_for(NULL, 0, 10, middle, ctx, .schedule = THRUM_GSS))
            atomic_fetch_add((atomic_int *)ctx, 1000000);
}

TEST(loops_nest_three_deep_with_different_schedules)
{
    atomic_int count = 0;
    assert_int_equal(thrum_for(ex, 0, 30, outer, &count, .schedule = THRUM_FAC2), 0);
    assert_int_equal(atomic_load(&count), 30 * (10 * 20 + 45));
}

struct side {
    thrum_technique technique;
    atomic_int count;
    int err;
};

static void one_of_many(void *arg)
{
    struct side *side = arg;
    for (int i = 0; i < 20; i++)
        side->err |= thrum_for(ex, 0, 777, inner, &side->count, .schedule = side->technique);
}

TEST(loops_side_by_side_do_not_disturb_each_other)
{
    struct side sides[THRUM_TECHNIQUES] = {0};
    thrum_handle *handles[THRUM_TECHNIQUES];
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        sides[t].technique = (thrum_technique)t;
        handles[t] = thrum_submit(ex, one_of_many, &sides[t]);
        assert_non_null(handles[t]);
    }
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        assert_int_equal(thrum_wait(handles[t]), 0);
        thrum_release(handles[t]);
        assert_int_equal(sides[t].err, 0);
        assert_int_equal(atomic_load(&sides[t].count), 20 * 777);
    }
}

TEST(a_loop_is_a_task_of_a_graph_too)
{
    thrum_graph *graph = thrum_graph_new("loops");
    thrum_task *first = thrum_for_task_new(graph, 0, 2000, mark, NULL, .schedule = THRUM_TSS);
    thrum_task *second = thrum_for_task_new(graph, 2000, N, mark, NULL);
    thrum_precede(first, second);
    for (int i = 0; i < 3; i++) {
        forget();
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_each_once(0, N);
    }
    thrum_graph_free(graph);
}

/* ---- Reductions -------------------------------------------------------------------------------------------------- */

TEST(every_technique_reduces)
{
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        int64_t sum = 5;
        assert_int_equal(thrum_for_reduce(ex, 1, 1001, count_indices, add_int64, NULL, &sum, sizeof sum,
                                          .schedule = (thrum_technique)t),
                         0);
        assert_int_equal(sum, 5 + 500500);
    }
}

static void fill_bytes(size_t lo, size_t hi, void *into, void *ctx)
{
    (void)ctx;
    memset(into, 0, 3000);
    for (size_t i = lo; i < hi; i++)
        ((unsigned char *)into)[i % 3000] = 1;
}

static void or_bytes(void *into, const void *from, void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 3000; i++)
        ((unsigned char *)into)[i] |= ((const unsigned char *)from)[i];
}

TEST(values_may_be_large)
{
    unsigned char bytes[3000] = {0};
    assert_int_equal(thrum_for_reduce(ex, 0, 2999, fill_bytes, or_bytes, NULL, bytes, sizeof bytes), 0);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(bytes[i], i < 2999);
}

TEST(a_loop_without_iterations_leaves_the_result)
{
    int64_t sum = 7;
    assert_int_equal(thrum_for_reduce(ex, 3, 3, count_indices, add_int64, NULL, &sum, sizeof sum), 0);
    assert_int_equal(sum, 7);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

static void fail_at_100(size_t lo, size_t hi, void *ctx)
{
    mark(lo, hi, ctx);
    if (lo <= 100 && hi > 100)
        thrum_fail(42, "iteration 100 does not like it");
}

TEST(a_failing_body_stops_the_loop)
{
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        forget();
        assert_int_equal(thrum_for(ex, 0, N, fail_at_100, NULL, .schedule = (thrum_technique)t), 42);
        assert_string_equal(thrum_message(NULL), "iteration 100 does not like it");
    }
}

static void refuse(const char *sentence, int err)
{
    assert_int_equal(err, THRUM_EINVAL);
    if (!strstr(thrum_message(NULL), sentence))
        fail_msg("\"%s\" does not contain \"%s\"", thrum_message(NULL), sentence);
}

TEST(wrong_use_gets_a_sentence)
{
    int64_t sum = 0;
    double weights[1024] = {0.5};
    size_t p = (size_t)thrum_executor_workers(ex);
    forget();
    refuse("the loop goes from 5 to 4", thrum_for(ex, 5, 4, mark, NULL));
    refuse("the body is NULL", thrum_for(ex, 0, 4, NULL, NULL));
    refuse("technique number 77", thrum_for(ex, 0, 4, mark, NULL, .schedule = (thrum_technique)77));
    refuse("mean", thrum_for(ex, 0, 4, mark, NULL, .schedule = THRUM_FAC, .mean = NAN));
    refuse("mean", thrum_for(ex, 0, 4, mark, NULL, .schedule = THRUM_FAC, .mean = -1));
    refuse("weights", thrum_for(ex, 0, 4, mark, NULL, .schedule = THRUM_WF, .weights = weights, .weight_count = p + 1));
    refuse("weight", thrum_for(ex, 0, 4, mark, NULL, .schedule = THRUM_WF, .weights = weights, .weight_count = p));
    refuse("2^63", thrum_for(ex, 0, SIZE_MAX, mark, NULL));
    refuse("size of a value", thrum_for_reduce(ex, 0, 4, count_indices, add_int64, NULL, &sum, 0));
    refuse("the result is NULL", thrum_for_reduce(ex, 0, 4, count_indices, add_int64, NULL, NULL, 8));
    refuse("combines", thrum_for_reduce(ex, 0, 4, count_indices, NULL, NULL, &sum, 8));
    refuse("the loop is NULL", thrum_loop_run(NULL));
    assert_int_equal(atomic_load(&chunks), 0);
}

TEST(a_wrong_loop_is_an_error_of_the_graph)
{
    thrum_graph *graph = thrum_graph_new("wrong");
    assert_null(thrum_for_task_new(graph, 5, 4, mark, NULL));
    assert_int_equal(thrum_run(ex, graph), THRUM_EINVAL);
    thrum_graph_free(graph);
    graph = thrum_graph_new("wrong when it runs");
    assert_non_null(thrum_for_task_new(graph, 0, 4, mark, NULL, .schedule = THRUM_FAC, .mean = -1));
    assert_int_equal(thrum_run(ex, graph), THRUM_EINVAL);
    assert_non_null(strstr(thrum_message(graph), "mean"));
    thrum_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_technique_does_each_iteration_once),
        cmocka_unit_test(every_technique_does_so_again_and_again),
        cmocka_unit_test(facts_can_be_given),
        cmocka_unit_test(auto_and_runtime_pick_a_technique),
        cmocka_unit_test(chunks_have_the_sizes_of_the_rule),
        cmocka_unit_test(one_worker_gets_the_sequence_of_the_rule),
        cmocka_unit_test(loops_nest_three_deep_with_different_schedules),
        cmocka_unit_test(loops_side_by_side_do_not_disturb_each_other),
        cmocka_unit_test(a_loop_is_a_task_of_a_graph_too),
        cmocka_unit_test(every_technique_reduces),
        cmocka_unit_test(values_may_be_large),
        cmocka_unit_test(a_loop_without_iterations_leaves_the_result),
        cmocka_unit_test(a_failing_body_stops_the_loop),
        cmocka_unit_test(wrong_use_gets_a_sentence),
        cmocka_unit_test(a_wrong_loop_is_an_error_of_the_graph),
    };
    const thrum_config configs[] = {
        {.workers = 1},
        {.workers = 2},
        {.workers = 9},
        {.threadless = true},
        {.workers = 3, .callers = THRUM_CALLERS_BLOCK},
    };
    watchdog_start(60);
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        ex = thrum_executor_new(&configs[i]);
        int failed = ex ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
        if (thrum_executor_free(ex) || failed)
            return 1;
    }
    return 0;
}
