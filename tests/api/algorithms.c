/* SPDX-License-Identifier: MIT
 *
 * Algorithms: what each does, as a call, in a task and as a task of a graph. Random sizes against oracles are in
 * stress/algorithms.c.
 */
#include "test.h"

enum { N = 20000 };

static thrum_executor *ex;

static int compare_int(const void *a, const void *b, void *ctx)
{
    (void)ctx;
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void add_ints(void *into, const void *elements, size_t count, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++)
        *(int *)into += ((const int *)elements)[i];
}

static void mark(size_t lo, size_t hi, void *ctx)
{
    for (size_t i = lo; i < hi; i++)
        atomic_fetch_add(&((atomic_int *)ctx)[i], 1);
}

static void square(const void *in, void *out, size_t count, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++)
        ((int64_t *)out)[i] = (int64_t)((const int *)in)[i] * ((const int *)in)[i];
}

static void negate(const void *in, void *out, size_t count, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++)
        ((int *)out)[i] = -((const int *)in)[i];
}

static void sum_indices(size_t lo, size_t hi, void *into, void *ctx)
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

static size_t find_value(size_t lo, size_t hi, void *ctx)
{
    const int *values = ctx;
    while (lo < hi && values[lo] != 7)
        lo++;
    return lo;
}

static int *numbers(size_t n)
{
    int *values = malloc(n * sizeof *values);
    for (size_t i = 0; i < n; i++)
        values[i] = (int)(i * 7919 % 10007);
    return values;
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

TEST(for_each_goes_over_every_index_once)
{
    static atomic_int seen[N];
    memset(seen, 0, sizeof seen);
    for (size_t grain = 0; grain < 3; grain++)
        assert_int_equal(thrum_for_each(ex, N, grain * 333, mark, seen), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(seen[i], 3);
    assert_int_equal(thrum_for_each(ex, 0, 0, mark, NULL), 0);
}

struct lengths {
    size_t grain;
    atomic_int longer, empty;
};

static void note_length(size_t lo, size_t hi, void *ctx)
{
    struct lengths *lengths = ctx;
    atomic_fetch_add(&lengths->longer, hi - lo > lengths->grain);
    atomic_fetch_add(&lengths->empty, lo >= hi);
}

TEST(pieces_have_as_many_elements_as_the_grain_says)
{
    struct lengths lengths = {.grain = 17};
    assert_int_equal(thrum_for_each(ex, N, 17, note_length, &lengths), 0);
    assert_int_equal(lengths.longer, 0);
    assert_int_equal(lengths.empty, 0);
}

TEST(transform_changes_sizes_and_works_in_place)
{
    int *in = numbers(N);
    int64_t *out = malloc(N * sizeof *out);
    assert_int_equal(thrum_transform(ex, in, sizeof *in, out, sizeof *out, N, 0, square, NULL), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(out[i], (int64_t)in[i] * in[i]);
    int before = in[5];
    assert_int_equal(thrum_transform(ex, in, sizeof *in, in, sizeof *in, N, 100, negate, NULL), 0);
    assert_int_equal(in[5], -before);
    free(in);
    free(out);
}

TEST(fill_copies_the_value)
{
    struct {
        char text[7];
    } values[3001], value = {"thrums"};
    assert_int_equal(thrum_fill(ex, values, COUNT_OF(values), sizeof value, &value), 0);
    for (size_t i = 0; i < COUNT_OF(values); i++)
        assert_memory_equal(&values[i], &value, sizeof value);
    char *bytes = malloc(1 << 20);
    assert_int_equal(thrum_fill(ex, bytes, 1 << 20, 1, "x"), 0);
    assert_int_equal(bytes[0] == 'x' && bytes[(1 << 20) - 1] == 'x', 1);
    free(bytes);
}

TEST(find_if_gives_the_lowest_index_or_n)
{
    int *values = calloc(N, sizeof *values);
    size_t index = 1;
    assert_int_equal(thrum_find_if(ex, N, 0, find_value, values, &index), 0);
    assert_int_equal(index, N);
    values[12345] = values[12346] = values[N - 1] = 7;
    assert_int_equal(thrum_find_if(ex, N, 0, find_value, values, &index), 0);
    assert_int_equal(index, 12345);
    assert_int_equal(thrum_find_if(ex, 0, 0, find_value, values, &index), 0);
    assert_int_equal(index, 0);
    free(values);
}

struct hunt {
    atomic_int pieces;
};

static size_t find_at_once(size_t lo, size_t hi, void *ctx)
{
    (void)hi;
    atomic_fetch_add(&((struct hunt *)ctx)->pieces, 1);
    return lo;
}

TEST(find_if_stops_early)
{
    struct hunt hunt = {0};
    size_t index = 99;
    thrum_executor *one = thrum_executor_new(&(thrum_config){.workers = 1});
    assert_int_equal(thrum_find_if(one, 1000000, 1, find_at_once, &hunt, &index), 0);
    assert_int_equal(index, 0);
    assert_int_equal(hunt.pieces, 1);
    thrum_executor_free(one);
}

TEST(the_first_of_the_smallest_and_of_the_largest)
{
    int values[] = {5, 2, 9, 2, 9, 5};
    size_t index = 99;
    assert_int_equal(thrum_min_element(ex, values, 6, sizeof *values, compare_int, NULL, &index), 0);
    assert_int_equal(index, 1);
    assert_int_equal(thrum_max_element(ex, values, 6, sizeof *values, compare_int, NULL, &index), 0);
    assert_int_equal(index, 2);
    assert_int_equal(thrum_max_element(ex, NULL, 0, sizeof *values, compare_int, NULL, &index), 0);
    assert_int_equal(index, 0);
}

TEST(reduce_begins_with_the_result)
{
    int *values = numbers(N), sum = 100, expected = 100;
    for (int i = 0; i < N; i++)
        expected += values[i];
    assert_int_equal(thrum_reduce(ex, values, N, sizeof *values, 0, &sum, add_ints, NULL), 0);
    assert_int_equal(sum, expected);
    assert_int_equal(thrum_reduce(ex, NULL, 0, sizeof *values, 0, &sum, add_ints, NULL), 0);
    assert_int_equal(sum, expected);
    int64_t total = 1;
    assert_int_equal(thrum_transform_reduce(ex, N, 0, &total, sizeof total, sum_indices, add_int64, NULL), 0);
    assert_int_equal(total, 1 + (int64_t)N * (N - 1) / 2);
    free(values);
}

/* The operator is associative but not commutative: text put together. */
struct word {
    char letters[32];
};

static void join_words(void *into, const void *elements, size_t count, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++)
        strncat(((struct word *)into)->letters, ((const struct word *)elements)[i].letters,
                sizeof(struct word) - 1 - strlen(((struct word *)into)->letters));
}

TEST(reduce_and_scan_keep_the_order)
{
    struct word words[26], sums[26], all = {""};
    for (int i = 0; i < 26; i++)
        words[i] = (struct word){{(char)('a' + i)}};
    for (size_t grain = 0; grain < 8; grain++) {
        all = (struct word){">"};
        assert_int_equal(thrum_reduce(ex, words, 26, sizeof *words, grain, &all, join_words, NULL), 0);
        assert_string_equal(all.letters, ">abcdefghijklmnopqrstuvwxyz");
        all = (struct word){">"};
        assert_int_equal(thrum_inclusive_scan(ex, words, sums, 26, sizeof *words, grain, &all, join_words, NULL, NULL),
                         0);
        assert_string_equal(all.letters, ">abcdefghijklmnopqrstuvwxyz");
        assert_string_equal(sums[0].letters, ">a");
        assert_string_equal(sums[9].letters, ">abcdefghij");
        all = (struct word){">"};
        assert_int_equal(thrum_exclusive_scan(ex, words, sums, 26, sizeof *words, grain, &all, join_words, NULL, NULL),
                         0);
        assert_string_equal(all.letters, ">abcdefghijklmnopqrstuvwxyz");
        assert_string_equal(sums[0].letters, ">");
        assert_string_equal(sums[9].letters, ">abcdefghi");
    }
}

static void add_doubles(void *into, const void *elements, size_t count, void *ctx)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++)
        *(double *)into += ((const double *)elements)[i];
}

static void scan_doubles(void *carry, const void *in, void *out, size_t count, void *ctx)
{
    (void)ctx;
    double sum = *(double *)carry;
    for (size_t i = 0; i < count; i++)
        ((double *)out)[i] = sum += ((const double *)in)[i];
    *(double *)carry = sum;
}

TEST(sums_of_doubles_are_the_same_with_any_number_of_workers)
{
    enum { MANY = 200000 };
    double *in = malloc(MANY * sizeof *in), *out[3], sum[3] = {0}, total[3] = {0};
    for (int i = 0; i < MANY; i++)
        in[i] = 1.0 / (i + 1);
    for (int k = 0; k < 3; k++) {
        thrum_executor *some = thrum_executor_new(&(thrum_config){.workers = 1 + 2 * k});
        out[k] = malloc(MANY * sizeof *in);
        assert_int_equal(thrum_reduce(some, in, MANY, sizeof *in, 0, &sum[k], add_doubles, NULL), 0);
        assert_int_equal(
            thrum_inclusive_scan(some, in, out[k], MANY, sizeof *in, 0, &total[k], add_doubles, scan_doubles, NULL), 0);
        assert_memory_equal(&sum[k], &sum[0], sizeof *sum);
        assert_memory_equal(&total[k], &total[0], sizeof *total);
        assert_memory_equal(out[k], out[0], MANY * sizeof *in);
        thrum_executor_free(some);
    }
    for (int k = 0; k < 3; k++)
        free(out[k]);
    free(in);
}

/* x -> factor x + term, modulo 2^32. Doing one after the other is such a function again; the order matters. */
struct affine {
    uint32_t factor, term;
};

struct affine_calls {
    size_t fails_at;
    _Atomic size_t calls;
};

static void follow(void *into, const void *elements, size_t count, void *ctx)
{
    struct affine *all = into;
    struct affine_calls *calls = ctx;
    for (size_t i = 0; i < count; i++) {
        struct affine next = ((const struct affine *)elements)[i];
        *all = (struct affine){next.factor * all->factor, next.factor * all->term + next.term};
    }
    if (atomic_fetch_add(&calls->calls, 1) + 1 == calls->fails_at)
        thrum_fail(47, "enough");
}

/* So many that no cache holds them: reduce hands them out in blocks of 128. */
TEST(reduce_of_a_large_array_keeps_the_order_and_stops_after_a_failure)
{
    enum { MANY = 4500001 };
    struct affine *in = malloc(MANY * sizeof *in), all = {1, 7}, expected = all, before;
    struct affine_calls calls = {0};
    for (uint32_t i = 0; i < MANY; i++)
        in[i] = (struct affine){2 * i + 1, i};
    follow(&expected, in, MANY, &calls);
    assert_int_equal(thrum_reduce(ex, in, MANY, sizeof *in, 0, &all, follow, &calls), 0);
    assert_memory_equal(&all, &expected, sizeof all);
    before = all;
    calls = (struct affine_calls){.fails_at = 3};
    thrum_executor *one = thrum_executor_new(&(thrum_config){.workers = 1});
    assert_error(thrum_reduce(one, in, MANY, sizeof *in, 0, &all, follow, &calls), 47, "enough");
    assert_memory_equal(&all, &before, sizeof all);
    assert_int_equal(calls.calls, 3);
    thrum_executor_free(one);
    free(in);
}

TEST(merge_takes_equal_elements_from_the_first_array_first)
{
    int a[] = {1, 3, 3, 5}, b[] = {3, 4, 6}, out[7];
    assert_int_equal(thrum_merge(ex, a, 4, b, 3, out, sizeof *a, compare_int, NULL), 0);
    int expected[] = {1, 3, 3, 3, 4, 5, 6};
    assert_memory_equal(out, expected, sizeof out);
    assert_int_equal(thrum_merge(ex, NULL, 0, b, 3, out, sizeof *a, compare_int, NULL), 0);
    assert_memory_equal(out, b, sizeof b);
    assert_int_equal(thrum_merge(ex, a, 4, NULL, 0, out, sizeof *a, compare_int, NULL), 0);
    assert_memory_equal(out, a, sizeof a);
    assert_int_equal(thrum_merge(ex, NULL, 0, NULL, 0, NULL, sizeof *a, compare_int, NULL), 0);
}

static int compare_at_random(const void *a, const void *b, void *ctx)
{
    (void)a, (void)b;
    unsigned x = atomic_fetch_add((atomic_uint *)ctx, 0x9e3779b9u);
    return (int)(((x ^ x >> 15) * 0x2c1b3c6du) >> 30) - 1;
}

/* The order is anybody's guess then, but nothing beyond the arrays is touched (AddressSanitizer looks). */
TEST(a_comparison_that_contradicts_itself_does_no_harm)
{
    atomic_uint state = 1;
    for (size_t size = 4; size <= 16; size += 4) {
        char *values = calloc(N, size), *out = malloc(N * size);
        assert_int_equal(thrum_sort(ex, values, N, size, compare_at_random, &state), 0);
        assert_int_equal(
            thrum_merge(ex, values, N / 3, values + N / 3 * size, N - N / 3, out, size, compare_at_random, &state), 0);
        free(values);
        free(out);
    }
}

TEST(doubles_are_sorted_with_nans_at_the_end)
{
    double zero = 0, nan = __builtin_nan(""), inf = __builtin_inf();
    double values[] = {nan, 1, -inf, -nan, -0.0, zero, inf, -1, -5e-324};
    assert_int_equal(thrum_sort_double(ex, values, COUNT_OF(values)), 0);
    double expected[] = {-inf, -1, -5e-324, -0.0, zero, 1, inf};
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_memory_equal(&values[i], &expected[i], sizeof *values);
    assert_true(values[7] != values[7] && values[8] != values[8]);
    assert_true(__builtin_signbit(values[8]) && !__builtin_signbit(values[7]));
}

/* ---- In tasks and as tasks --------------------------------------------------------------------------------------- */

static bool is_sorted(const int *values, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (values[i - 1] > values[i])
            return false;
    return true;
}

struct nested {
    int *values;
    int err;
};

static void sort_here(thrum_scope *scope, void *arg)
{
    struct nested *nested = arg;
    (void)scope;
    nested->err = thrum_sort(NULL, nested->values, N, sizeof(int), compare_int, NULL);
}

TEST(an_algorithm_in_a_task_takes_part_in_it)
{
    struct nested nested[4];
    thrum_scope scope;
    for (int i = 0; i < 4; i++)
        nested[i] = (struct nested){numbers(N), -1};
    thrum_scope_open_on(&scope, ex);
    for (int i = 0; i < 4; i++)
        thrum_spawn(&scope, sort_here, &nested[i]);
    assert_int_equal(thrum_join(&scope), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(nested[i].err, 0);
        assert_true(is_sorted(nested[i].values, N));
        free(nested[i].values);
    }
}

static void sort_row(size_t lo, size_t hi, void *ctx)
{
    int **rows = ctx;
    for (size_t i = lo; i < hi; i++)
        thrum_sort_int32(NULL, rows[i], N);
}

TEST(an_algorithm_in_an_algorithm)
{
    int *rows[6];
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        rows[i] = numbers(N);
    assert_int_equal(thrum_for_each(ex, COUNT_OF(rows), 1, sort_row, rows), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_true(is_sorted(rows[i], N));
        free(rows[i]);
    }
}

static void refill(void *arg)
{
    int *values = arg;
    for (int i = 0; i < N; i++)
        values[i] = (int)((unsigned)(i * 7919) % 10007u) - 5000;
}

static void add_up(size_t lo, size_t hi, void *into, void *ctx)
{
    int64_t sum = 0;
    for (size_t i = lo; i < hi; i++)
        sum += ((const int *)ctx)[i];
    *(int64_t *)into = sum;
}

TEST(every_algorithm_is_a_task_too)
{
    static int values[N], merged[2 * N], typed[N], sums[N], negated[N], filled[N], value = 3;
    static int64_t longs[N];
    static double doubles[N];
    static atomic_int seen[N];
    int64_t total = 0;
    int sum = 0, carry = 0, carry2 = 0;
    size_t lowest = 99, highest = 99, found = 99;
    for (int i = 0; i < N; i++) {
        longs[i] = N - i;
        doubles[i] = N - i;
        seen[i] = 0;
    }
    thrum_graph *graph = thrum_graph_new("algorithms");
    thrum_task *first = thrum_task_new(graph, refill, values), *copy = thrum_task_new(graph, refill, typed);
    thrum_task *sort = thrum_sort_task_new(graph, values, N, sizeof *values, compare_int, NULL);
    thrum_task *sort_typed = thrum_sort_int32_task_new(graph, typed, N);
    thrum_task *merge = thrum_merge_task_new(graph, values, N, typed, N, merged, sizeof *values, compare_int, NULL);
    thrum_task *after[] = {
        thrum_for_each_task_new(graph, N, 0, mark, seen),
        thrum_transform_task_new(graph, values, sizeof *values, negated, sizeof *values, N, 0, negate, NULL),
        thrum_fill_task_new(graph, filled, N, sizeof value, &value),
        thrum_find_if_task_new(graph, N, 0, find_value, values, &found),
        thrum_min_element_task_new(graph, values, N, sizeof *values, compare_int, NULL, &lowest),
        thrum_max_element_task_new(graph, values, N, sizeof *values, compare_int, NULL, &highest),
        thrum_reduce_task_new(graph, values, N, sizeof *values, 0, &sum, add_ints, NULL),
        thrum_transform_reduce_task_new(graph, N, 0, &total, sizeof total, add_up, add_int64, values),
        thrum_inclusive_scan_task_new(graph, values, sums, N, sizeof *values, 0, &carry, add_ints, NULL, NULL),
        thrum_sort_int64_task_new(graph, longs, N),
        thrum_sort_double_task_new(graph, doubles, N),
    };
    thrum_task *last =
        thrum_exclusive_scan_task_new(graph, filled, filled, N, sizeof value, 0, &carry2, add_ints, NULL, NULL);
    thrum_precede(first, sort);
    thrum_precede(copy, sort_typed);
    thrum_precede(sort_typed, merge);
    thrum_precede(sort, merge);
    for (size_t i = 0; i < COUNT_OF(after); i++) {
        thrum_precede(sort, after[i]);
        thrum_precede(after[i], last);
    }
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_run(ex, graph), 0);
    int64_t expected = 0;
    for (int i = 0; i < N; i++) {
        expected += values[i];
        assert_int_equal(negated[i], -values[i]);
        assert_int_equal(filled[i], 3 * N + 3 * i); /* the second run goes on from the first one's total */
        assert_int_equal(seen[i], 2);
        assert_int_equal(longs[i], i + 1);
        assert_true(doubles[i] == i + 1);
    }
    assert_true(is_sorted(values, N) && is_sorted(merged, 2 * N));
    assert_memory_equal(values, typed, sizeof values);
    assert_int_equal(lowest, 0);
    assert_int_equal(values[highest], values[N - 1]);
    assert_int_equal(values[found], 7);
    assert_int_equal(sum, 2 * expected);
    assert_int_equal(total, 2 * expected);
    assert_int_equal(carry, 2 * expected);
    assert_int_equal(carry2, 2 * 3 * N);
    assert_int_equal(thrum_graph_free(graph), 0);
}

/* ---- Failing ----------------------------------------------------------------------------------------------------- */

struct failing {
    atomic_int calls;
    atomic_bool failed;
};

/* The others wait for the first: on a busy machine they could be done before it begins. */
static void fail_once(size_t lo, size_t hi, void *ctx)
{
    (void)hi;
    struct failing *failing = ctx;
    atomic_fetch_add(&failing->calls, 1);
    if (lo == 0) {
        thrum_fail(42, "the first one is no good");
        atomic_store(&failing->failed, true);
    }
    while (!atomic_load(&failing->failed))
        sched_yield();
}

TEST(a_failing_body_stops_the_rest)
{
    struct failing failing = {0};
    thrum_executor *one = thrum_executor_new(&(thrum_config){.workers = 1});
    assert_error(thrum_for_each(one, 100000, 1, fail_once, &failing), 42, "no good");
    assert_int_equal(failing.calls, 1);
    thrum_executor_free(one);
    atomic_store(&failing.failed, false);
    assert_error(thrum_for_each(ex, 100000, 1, fail_once, &failing), 42, "no good");
    assert_true(failing.calls < 1000);
}

static void fail_fold(void *into, const void *elements, size_t count, void *ctx)
{
    (void)elements, (void)count, (void)ctx;
    *(int *)into = 99;
    thrum_fail(43, "no folding");
}

static int fail_compare(const void *a, const void *b, void *ctx)
{
    (void)a, (void)b, (void)ctx;
    thrum_fail(44, "no comparing");
    return -1;
}

static size_t fail_find(size_t lo, size_t hi, void *ctx)
{
    (void)hi, (void)ctx;
    thrum_fail(45, "no finding");
    return lo;
}

TEST(after_a_failure_results_are_as_before)
{
    int *values = numbers(N), result = 5;
    size_t index = 77;
    assert_error(thrum_reduce(ex, values, N, sizeof *values, 0, &result, fail_fold, NULL), 43, "no folding");
    assert_error(thrum_inclusive_scan(ex, values, values, N, sizeof *values, 0, &result, fail_fold, NULL, NULL), 43,
                 "no folding");
    assert_error(thrum_min_element(ex, values, N, sizeof *values, fail_compare, NULL, &index), 44, "no comparing");
    assert_error(thrum_find_if(ex, N, 0, fail_find, NULL, &index), 45, "no finding");
    assert_error(thrum_sort(ex, values, N, sizeof *values, fail_compare, NULL), 44, "no comparing");
    assert_int_equal(result, 5);
    assert_int_equal(index, 77);
    free(values);
}

static void sort_after_failing(void *arg)
{
    struct nested *nested = arg;
    thrum_fail(46, "given up");
    nested->err = thrum_sort_int32(NULL, nested->values, N);
}

TEST(in_a_run_that_has_failed_nothing_more_is_done)
{
    struct nested nested = {numbers(N), 0};
    thrum_graph *graph = thrum_graph_new("failed");
    thrum_task_new(graph, sort_after_failing, &nested);
    assert_int_equal(thrum_run(ex, graph), 46);
    assert_int_equal(nested.err, 46);
    assert_int_equal(nested.values[1], 7919);
    thrum_graph_free(graph);
    free(nested.values);
}

TEST(a_failure_in_a_task_of_a_graph_is_the_runs)
{
    static int values[N];
    struct failing failing = {0};
    thrum_graph *graph = thrum_graph_new("failing");
    thrum_precede(thrum_for_each_task_new(graph, 1000, 0, fail_once, &failing),
                  thrum_sort_task_new(graph, values, N, sizeof *values, fail_compare, NULL));
    assert_int_equal(thrum_run(ex, graph), 42);
    assert_contains(thrum_message(graph), "no good");
    assert_int_equal(thrum_graph_free(graph), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(for_each_goes_over_every_index_once),
        cmocka_unit_test(pieces_have_as_many_elements_as_the_grain_says),
        cmocka_unit_test(transform_changes_sizes_and_works_in_place),
        cmocka_unit_test(fill_copies_the_value),
        cmocka_unit_test(find_if_gives_the_lowest_index_or_n),
        cmocka_unit_test(find_if_stops_early),
        cmocka_unit_test(the_first_of_the_smallest_and_of_the_largest),
        cmocka_unit_test(reduce_begins_with_the_result),
        cmocka_unit_test(reduce_and_scan_keep_the_order),
        cmocka_unit_test(sums_of_doubles_are_the_same_with_any_number_of_workers),
        cmocka_unit_test(reduce_of_a_large_array_keeps_the_order_and_stops_after_a_failure),
        cmocka_unit_test(merge_takes_equal_elements_from_the_first_array_first),
        cmocka_unit_test(a_comparison_that_contradicts_itself_does_no_harm),
        cmocka_unit_test(doubles_are_sorted_with_nans_at_the_end),
        cmocka_unit_test(an_algorithm_in_a_task_takes_part_in_it),
        cmocka_unit_test(an_algorithm_in_an_algorithm),
        cmocka_unit_test(every_algorithm_is_a_task_too),
        cmocka_unit_test(a_failing_body_stops_the_rest),
        cmocka_unit_test(after_a_failure_results_are_as_before),
        cmocka_unit_test(in_a_run_that_has_failed_nothing_more_is_done),
        cmocka_unit_test(a_failure_in_a_task_of_a_graph_is_the_runs),
    };
    const thrum_config configs[] = {
        {.workers = 1},
        {.workers = 2},
        {.threadless = true},
        {.workers = 2, .callers = THRUM_CALLERS_BLOCK},
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
