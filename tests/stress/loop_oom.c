/* SPDX-License-Identifier: MIT
 *
 * Loops out of memory (scarcity.h), on few workers and on so many that a loop needs memory for them. A loop that cannot
 * have it says so and leaves the result; one that cannot have a place to keep measurements in goes on without.
 */
#include "scarcity.h"

enum { N = 3000, LARGE = 3000, NAMES = 3000, MANY = 33 };

/* Sites are kept for good, so each execution is one of a new loop. */
static const char *new_name(void)
{
    static char names[NAMES][24];
    static int count;
    assert_in_range(count, 0, NAMES - 1);
    snprintf(names[count], sizeof names[count], "oom %d", count);
    return names[count++];
}

static void sum_numbers(size_t lo, size_t hi, void *into, void *ctx)
{
    int64_t sum = 0;
    (void)ctx;
    for (size_t i = lo; i < hi; i++)
        sum += (int64_t)i;
    *(int64_t *)into = sum;
}

static void add(void *into, const void *from, void *ctx)
{
    (void)ctx;
    *(int64_t *)into += *(const int64_t *)from;
}

static enum outcome check_sum(int err, int64_t sum)
{
    assert_int_equal(sum, err ? 5 : 5 + (int64_t)N * (N - 1) / 2);
    if (err)
        assert_contains(thrum_message(NULL), "memory");
    return err == THRUM_ESYSTEM ? WRONG : outcome_of(err, err == 0);
}

static thrum_technique technique;
static thrum_executor *executor;

static enum outcome reduce(thrum_executor *on, size_t size)
{
    union {
        int64_t sum;
        char bytes[LARGE];
    } value = {.sum = 5};
    int err =
        thrum_for_reduce(on, 0, N, sum_numbers, add, NULL, &value, size, .schedule = technique, .site = new_name());
    return check_sum(err, value.sum);
}

static enum outcome small_values(void)
{
    return reduce(executor, sizeof(int64_t));
}

static enum outcome large_values(void)
{
    return reduce(executor, LARGE);
}

static void exhaust_techniques(scenario_fn *scenario, bool all)
{
    static const thrum_technique some[] = {THRUM_STEAL, THRUM_GSS, THRUM_AWF, THRUM_FAC, THRUM_AUTO};
    for (int t = 0; t < (all ? THRUM_TECHNIQUES : (int)COUNT_OF(some)); t++) {
        technique = all ? (thrum_technique)t : some[t];
        exhaust(scenario);
    }
}

TEST(every_technique_is_right_or_says_that_there_is_no_memory)
{
    executor = ex;
    exhaust_techniques(small_values, true);
}

TEST(large_values_need_memory)
{
    executor = ex;
    exhaust_techniques(large_values, false);
}

/* Whatever `ex` is: once is enough. */
TEST(many_workers_need_memory)
{
    if (thrum_executor_workers(ex) > 1)
        return;
    executor = thrum_executor_new(&(thrum_config){.workers = MANY});
    assert_non_null(executor);
    exhaust_techniques(small_values, true);
    exhaust_techniques(large_values, false);
    assert_int_equal(thrum_executor_free(executor), 0);
}

/* ---- Again and again, nested, and in graphs ---------------------------------------------------------------------- */

/* What was measured before is known in later executions, or not. */
static enum outcome repeated(void)
{
    enum outcome outcome = DONE;
    const char *name = new_name();
    for (int i = 0; i < 8 && outcome == DONE; i++) {
        int64_t sum = 5;
        int err = thrum_for_reduce(executor, 0, N, sum_numbers, add, NULL, &sum, sizeof sum, .schedule = technique,
                                   .site = name);
        outcome = check_sum(err, sum);
    }
    return outcome;
}

TEST(loops_that_lack_a_site_go_on)
{
    executor = ex;
    exhaust_techniques(repeated, false);
}

static void inner_loops(size_t lo, size_t hi, void *into, void *ctx)
{
    int64_t total = 0;
    (void)ctx;
    for (size_t i = lo; i < hi; i++) {
        int64_t sum = 0;
        if (thrum_for_reduce(NULL, 0, 100, sum_numbers, add, NULL, &sum, sizeof sum, .schedule = THRUM_AF))
            thrum_fail(THRUM_ENOMEM, "%s", thrum_message(NULL));
        total += sum;
    }
    *(int64_t *)into = total;
}

static enum outcome nested_in_a_graph(void)
{
    int64_t sum = 0;
    thrum_graph *graph = thrum_graph_new("loops");
    if (!graph)
        return REPORTED;
    thrum_loop_task_new(graph, &(thrum_loop){.hi = 10,
                                             .map = inner_loops,
                                             .combine = add,
                                             .result = &sum,
                                             .size = sizeof sum,
                                             .schedule = technique,
                                             .site = new_name()});
    int err = thrum_run(executor, graph);
    assert_int_equal(sum, err ? 0 : 10 * 4950);
    assert_int_equal(thrum_graph_free(graph), 0);
    return err == THRUM_ESYSTEM ? WRONG : outcome_of(err, err == 0);
}

TEST(loops_in_loops_in_a_graph_are_right_or_the_graph_has_the_error)
{
    executor = thrum_executor_new(&(thrum_config){.workers = 20});
    assert_non_null(executor);
    exhaust_techniques(nested_in_a_graph, false);
    assert_int_equal(thrum_executor_free(executor), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_technique_is_right_or_says_that_there_is_no_memory),
        cmocka_unit_test(large_values_need_memory),
        cmocka_unit_test(many_workers_need_memory),
        cmocka_unit_test(loops_that_lack_a_site_go_on),
        cmocka_unit_test(loops_in_loops_in_a_graph_are_right_or_the_graph_has_the_error),
    };
    return run_in_scarcity(tests, COUNT_OF(tests));
}
