/* SPDX-License-Identifier: MIT
 *
 * Algorithms out of memory (scarcity.h). Sorting does without and stays right and stable; the others are right or say
 * THRUM_ENOMEM; a graph keeps that error.
 */
#include "random.h"
#include "scarcity.h"

enum { N = 100000 };

struct pair {
    int key, place;
};

static int compare_keys(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    int x = ((const struct pair *)a)->key, y = ((const struct pair *)b)->key;
    return (x > y) - (x < y);
}

static void add(void *into, const void *elements, size_t count, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++)
        *(int64_t *)into += ((const int64_t *)elements)[i];
}

static struct pair pairs[N];
static int64_t longs[N], sums[N];
static double doubles[N];

/* A scenario checks its own result when there is no error. */
static enum outcome outcome_of_error(int err)
{
    return err == THRUM_ESYSTEM ? WRONG : outcome_of(err, err == 0);
}

static enum outcome sort_scenario(void)
{
    struct random random = random_new(1);
    for (int i = 0; i < N; i++)
        pairs[i] = (struct pair){(int)random_below(&random, 1000), i};
    int err = thrum_sort(ex, pairs, N, sizeof *pairs, compare_keys, NULL);
    for (int i = 1; i < N && !err; i++)
        assert_true(pairs[i - 1].key < pairs[i].key ||
                    (pairs[i - 1].key == pairs[i].key && pairs[i - 1].place < pairs[i].place));
    return outcome_of_error(err);
}

static enum outcome numbers_scenario(void)
{
    struct random random = random_new(2);
    for (int i = 0; i < N; i++) {
        longs[i] = (int64_t)random_next(&random);
        doubles[i] = (double)(int64_t)random_next(&random);
    }
    int err = thrum_sort_int64(ex, longs, N);
    for (int i = 1; i < N && !err; i++)
        assert_true(longs[i - 1] <= longs[i]);
    int err2 = thrum_sort_double(ex, doubles, N);
    for (int i = 1; i < N && !err2; i++)
        assert_true(doubles[i - 1] <= doubles[i]);
    return outcome_of_error(err ? err : err2);
}

static enum outcome sums_scenario(void)
{
    int64_t sum = 5, total = 5;
    for (int i = 0; i < N; i++)
        longs[i] = i;
    int err = thrum_reduce(ex, longs, N, sizeof *longs, 0, &sum, add, NULL);
    assert_int_equal(sum, err ? 5 : 5 + (int64_t)N * (N - 1) / 2);
    if (err)
        assert_contains(thrum_message(NULL), "memory");
    int err2 = thrum_inclusive_scan(ex, longs, sums, N, sizeof *longs, 0, &total, add, NULL, NULL);
    assert_int_equal(total, err2 ? 5 : 5 + (int64_t)N * (N - 1) / 2);
    if (!err2)
        assert_int_equal(sums[N - 1], total);
    return outcome_of_error(err ? err : err2);
}

static enum outcome graph_scenario(void)
{
    int64_t sum = 0;
    for (int i = 0; i < N; i++)
        longs[i] = N - 1 - i;
    thrum_graph *graph = thrum_graph_new("hungry");
    if (!graph)
        return REPORTED;
    thrum_precede(thrum_sort_int64_task_new(graph, longs, N),
                  thrum_reduce_task_new(graph, longs, N, sizeof *longs, 0, &sum, add, NULL));
    int err = thrum_run(ex, graph);
    if (!err) {
        assert_int_equal(sum, (int64_t)N * (N - 1) / 2);
        assert_int_equal(longs[7], 7);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
    return outcome_of_error(err);
}

TEST(sorting_does_without_memory)
{
    exhaust(sort_scenario);
}

TEST(sorting_numbers_does_without_memory)
{
    exhaust(numbers_scenario);
}

TEST(reducing_and_scanning_say_that_there_is_no_memory)
{
    exhaust(sums_scenario);
}

TEST(a_graph_keeps_that_there_was_no_memory)
{
    exhaust(graph_scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorting_does_without_memory),
        cmocka_unit_test(sorting_numbers_does_without_memory),
        cmocka_unit_test(reducing_and_scanning_say_that_there_is_no_memory),
        cmocka_unit_test(a_graph_keeps_that_there_was_no_memory),
    };
    return run_in_scarcity(tests, COUNT_OF(tests));
}
