/* SPDX-License-Identifier: MIT
 *
 * Loops at the edges: the largest numbers, other domains, cancelling, resizing, many callers at once.
 */
#include "tasks.h"

enum { N = 3000 };

static atomic_uchar seen[N];
static atomic_int strange; /* chunks that cannot be */

static void mark(size_t lo, size_t hi, void *ctx)
{
    (void)ctx;
    if (lo >= hi || hi > N) {
        atomic_fetch_add(&strange, 1);
        thrum_fail(7, "a chunk from %zu to %zu", lo, hi);
        return;
    }
    for (size_t i = lo; i < hi; i++)
        atomic_fetch_add_explicit(&seen[i], 1, memory_order_relaxed);
}

/* And forgets them. */
static void assert_each_once(void)
{
    int wrong = 0;
    for (size_t i = 0; i < N; i++)
        wrong += seen[i] != 1;
    memset(seen, 0, sizeof seen);
    assert_int_equal(atomic_exchange(&strange, 0), 0);
    assert_int_equal(wrong, 0);
}

/* ---- Large numbers ----------------------------------------------------------------------------------------------- */

TEST(the_least_size_of_a_chunk_may_be_any_number)
{
    static const size_t sizes[] = {1, N, (size_t)1 << 32, SIZE_MAX / 2, SIZE_MAX / 2 + 1, SIZE_MAX};
    thrum_executor *ex = executor_with(4);
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            assert_int_equal(thrum_for(ex, 0, N, mark, NULL, .schedule = (thrum_technique)t, .least = sizes[i]), 0);
            assert_each_once();
        }
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void mark_and_watch_size(size_t lo, size_t hi, void *least)
{
    mark(lo, hi, NULL);
    if (hi < N && hi - lo < *(const size_t *)least)
        atomic_fetch_add(&strange, 1);
}

/* Where blocks belong to workers, their ends may be smaller. */
TEST(only_the_last_chunk_is_smaller_than_the_least_size)
{
    size_t least = 17;
    thrum_executor *ex = executor_with(3);
    for (int t = THRUM_SS + 1; t < THRUM_TECHNIQUES; t++) {
        for (int i = 0; i < 5; i++) {
            assert_int_equal(
                thrum_for(ex, 0, N, mark_and_watch_size, &least, .schedule = (thrum_technique)t, .least = least), 0);
            assert_each_once();
        }
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* Iterations so far, and the sum of their numbers: which, as 64 bits wrap around, is right or almost surely not. */
struct sums {
    _Atomic uint64_t count, numbers;
};

static void sum_up(size_t lo, size_t hi, void *ctx)
{
    struct sums *sums = ctx;
    uint64_t a = hi - lo, b = lo + (hi - 1); /* a b/2 without the bit that is lost: one of them is even */
    atomic_fetch_add(&sums->count, hi - lo);
    if (hi - 1 < lo)
        atomic_fetch_add(&strange, 1);
    atomic_fetch_add(&sums->numbers,
                     a % 2 ? a * (b / 2 + (lo > UINT64_MAX - (hi - 1) ? UINT64_C(1) << 63 : 0)) : a / 2 * b);
}

TEST(there_may_be_as_many_iterations_as_2_to_63)
{
    static const size_t begins[] = {0, 12345, SIZE_MAX - INT64_MAX};
    thrum_executor *ex = executor_with(3);
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        for (size_t i = 0; i < 2 * COUNT_OF(begins); i++) {
            struct sums sums = {0}, expected = {0};
            size_t lo = begins[i % COUNT_OF(begins)], hi = lo + INT64_MAX;
            sum_up(lo, hi, &expected);
            assert_int_equal(thrum_for(ex, lo, hi, sum_up, &sums, .schedule = (thrum_technique)t,
                                       .least = i < COUNT_OF(begins) ? (size_t)1 << 53 : (size_t)INT64_MAX / 5),
                             0);
            assert_true(sums.count == INT64_MAX);
            assert_true(sums.numbers == expected.numbers);
        }
    }
    assert_int_equal(atomic_load(&strange), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- What is given ----------------------------------------------------------------------------------------------- */

/* Whichever rule is picked, and not only when one is that looks at them. */
TEST(weights_that_do_not_sum_up_are_refused_in_each_execution)
{
    thrum_executor *ex = executor_with(2);
    double wrong[] = {1, 3}, right[] = {0.5, 1.5};
    for (int i = 0; i < 20; i++) {
        assert_int_equal(thrum_for(ex, 0, N, mark, NULL, .schedule = THRUM_AUTO, .weights = wrong, .weight_count = 2),
                         THRUM_EINVAL);
        assert_contains(thrum_message(NULL), "sum up");
        assert_int_equal(thrum_for(ex, 0, N, mark, NULL, .schedule = THRUM_AUTO, .weights = right, .weight_count = 2),
                         0);
        assert_each_once();
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void count_chunks(size_t lo, size_t hi, void *chunks)
{
    mark(lo, hi, NULL);
    atomic_fetch_add((atomic_int *)chunks, 1);
}

/* FSC needs no mean. With n = 3000, p = 2, sigma = 1e-3 and h = 1e-6 its size is
 * (1.4142 * 3000 * 1e-6/(1e-3 * 2 * 0.83255))^(2/3) = 1.87, rounded up to 2. */
TEST(a_deviation_can_be_given_without_the_mean)
{
    thrum_executor *ex = executor_with(2);
    for (int i = 0; i < 3; i++) {
        atomic_int chunks = 0;
        assert_int_equal(
            thrum_for(ex, 0, N, count_chunks, &chunks, .schedule = THRUM_FSC, .deviation = 1e-3, .cost = 1e-6), 0);
        assert_each_once();
        assert_int_equal(atomic_load(&chunks), N / 2);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Other domains ----------------------------------------------------------------------------------------------- */

static const thrum_domain_config domains[] = {{"left", 1}, {"right", 3}};

struct guide {
    int domain; /* where all chunks have to be done */
    atomic_int elsewhere, errors;
};

static void mark_in_domain(size_t lo, size_t hi, void *ctx)
{
    struct guide *guide = ctx;
    mark(lo, hi, NULL);
    atomic_fetch_add(&guide->elsewhere, thrum_domain_index() != guide->domain);
}

static void all_techniques(void *arg)
{
    struct guide *guide = arg;
    for (int t = 0; t < THRUM_TECHNIQUES; t++)
        if (thrum_for(NULL, 0, N, mark_in_domain, guide, .schedule = (thrum_technique)t))
            atomic_fetch_add(&guide->errors, 1);
}

TEST(a_loop_in_a_task_of_another_domain_is_done_there)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2, .domains = domains, .domain_count = 2});
    for (int domain = 0; domain < 3; domain++) {
        struct guide guide = {.domain = domain};
        thrum_graph *graph = thrum_graph_new("elsewhere");
        assert_int_equal(thrum_task_pin_domain(thrum_task_new(graph, all_techniques, &guide), domain), 0);
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(atomic_load(&guide.errors), 0);
        assert_int_equal(atomic_load(&guide.elsewhere), 0);
        for (size_t i = 0; i < N; i++)
            assert_int_equal(seen[i], THRUM_TECHNIQUES);
        memset(seen, 0, sizeof seen);
        thrum_graph_free(graph);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* All workers of the domain are in their first chunks at once; of which size these are tells whose weights they go
 * by. */
struct first_chunks {
    atomic_int there;
    int expected;
    struct {
        int worker;
        size_t size;
    } chunks[8];
};

static void note_first_chunk(size_t lo, size_t hi, void *ctx)
{
    static _Thread_local const void *noted;
    struct first_chunks *first = ctx;
    if (noted == ctx)
        return;
    noted = ctx;
    int number = atomic_fetch_add(&first->there, 1);
    first->chunks[number].worker = thrum_worker_index();
    first->chunks[number].size = hi - lo;
    while (atomic_load(&first->there) < first->expected)
        sched_yield();
}

static int by_worker(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b; /* the first member of each */
}

static void loop_with_weights(void *arg)
{
    static const double weights[] = {0.25, 0.75, 2};
    if (thrum_for(NULL, 0, 6000, note_first_chunk, arg, .schedule = THRUM_WF, .weights = weights, .weight_count = 3))
        thrum_fail(9, "%s", thrum_message(NULL));
}

static void check_weights(int home)
{
    static struct first_chunks firsts[5];
    struct first_chunks *first = &firsts[home];
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = home, .domains = domains, .domain_count = 2});
    thrum_graph *graph = thrum_graph_new("weights");
    first->expected = 3;
    assert_int_equal(thrum_task_pin_domain(thrum_task_new(graph, loop_with_weights, first), 2), 0);
    assert_int_equal(thrum_run(ex, graph), 0);
    qsort(first->chunks, 3, sizeof *first->chunks, by_worker);
    assert_int_equal(first->chunks[0].size, 250);
    assert_int_equal(first->chunks[1].size, 750);
    assert_int_equal(first->chunks[2].size, 2000);
    thrum_graph_free(graph);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* FAC2 gives ceil(6000/(2 * 3)) = 1000 to each in the first batch. The numbers of a domain's workers begin anywhere. */
TEST(weights_are_those_of_the_workers_of_the_domain_in_their_order)
{
    for (int home = 1; home < 5; home++)
        check_weights(home);
}

/* ---- Cancelling -------------------------------------------------------------------------------------------------- */

struct cancelled {
    thrum_executor *ex;
    thrum_technique technique;
    struct gate gate;
    atomic_int behind;
    int err;
};

/* The chunks that are under way stay at the gate, so that no other can begin before the run is cancelled. */
static void wait_at_gate(size_t lo, size_t hi, void *ctx)
{
    struct cancelled *cancelled = ctx;
    (void)lo, (void)hi;
    if (atomic_load(&cancelled->gate.open))
        atomic_fetch_add(&cancelled->behind, 1);
    stay_at_gate(&cancelled->gate);
}

static void cancelled_loop(void *arg)
{
    struct cancelled *cancelled = arg;
    cancelled->err = thrum_for(NULL, 0, N, wait_at_gate, cancelled, .schedule = cancelled->technique, .mean = 1,
                               .deviation = 1, .cost = 1);
}

TEST(a_cancelled_loop_begins_no_more_chunks)
{
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        for (int t = 0; t < THRUM_TECHNIQUES; t++) {
            struct cancelled cancelled = {.technique = (thrum_technique)t};
            thrum_handle *handle = thrum_submit(ex, cancelled_loop, &cancelled);
            await_entered(&cancelled.gate);
            assert_int_equal(thrum_cancel(handle), 0);
            open_gate(&cancelled.gate);
            assert_int_equal(thrum_wait(handle), THRUM_ECANCELLED);
            assert_int_equal(cancelled.err, THRUM_ECANCELLED);
            assert_in_range(atomic_load(&cancelled.behind), 0, workers); /* those that began before it was seen */
            thrum_release(handle);
        }
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void sum_numbers(size_t lo, size_t hi, void *into, void *ctx)
{
    uint64_t sum = 0;
    for (size_t i = lo; i < hi; i++)
        sum += i;
    *(uint64_t *)into = sum;
    if (ctx)
        thrum_fail(5, "no sum today");
}

static void add(void *into, const void *from, void *ctx)
{
    (void)ctx;
    *(uint64_t *)into += *(const uint64_t *)from;
}

TEST(a_reduction_that_fails_leaves_the_result)
{
    thrum_executor *ex = executor_with(2);
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        uint64_t sum = 77;
        assert_int_equal(
            thrum_for_reduce(ex, 0, N, sum_numbers, add, &sum, &sum, sizeof sum, .schedule = (thrum_technique)t), 5);
        assert_int_equal(sum, 77);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Executors that change, and callers -------------------------------------------------------------------------- */

TEST(a_loop_goes_on_after_its_executor_was_resized)
{
    static const int sizes[] = {2, 5, 1, 40, 2, 3};
    thrum_executor *ex = executor_with(3);
    for (size_t i = 0; i < 3 * COUNT_OF(sizes); i++) {
        assert_int_equal(thrum_executor_resize(ex, sizes[i % COUNT_OF(sizes)]), 0);
        for (int t = 0; t <= THRUM_TECHNIQUES; t++) {
            thrum_technique technique = t < THRUM_TECHNIQUES ? (thrum_technique)t : THRUM_AUTO;
            uint64_t sum = 0;
            assert_int_equal(
                thrum_for_reduce(ex, 0, N, sum_numbers, add, NULL, &sum, sizeof sum, .schedule = technique), 0);
            assert_int_equal(sum, (uint64_t)N * (N - 1) / 2);
            assert_int_equal(thrum_for(ex, 0, N, mark, NULL, .schedule = technique), 0);
            assert_each_once();
        }
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

struct caller {
    thrum_executor *ex;
    int wrong;
};

static void *call_loops(void *arg)
{
    struct caller *caller = arg;
    for (int i = 0; i < 10 * THRUM_TECHNIQUES; i++) {
        thrum_technique technique = i % 5 ? (thrum_technique)(i % THRUM_TECHNIQUES) : THRUM_AUTO;
        uint64_t sum = 0;
        int err = thrum_for_reduce(caller->ex, 0, N, sum_numbers, add, NULL, &sum, sizeof sum, .schedule = technique);
        caller->wrong += err || sum != (uint64_t)N * (N - 1) / 2;
    }
    return NULL;
}

/* More threads than workers, on executors of all kinds, at one place in the source. */
TEST(any_number_of_threads_may_call_the_same_loop)
{
    static const thrum_config configs[] = {
        {.workers = 1}, {.workers = 2}, {.threadless = true}, {.workers = 2, .callers = THRUM_CALLERS_BLOCK}};
    for (size_t c = 0; c < COUNT_OF(configs); c++) {
        pthread_t threads[5];
        struct caller callers[5];
        thrum_executor *ex = thrum_executor_new(&configs[c]);
        for (size_t i = 0; i < COUNT_OF(threads); i++) {
            callers[i] = (struct caller){ex, 0};
            assert_int_equal(pthread_create(&threads[i], NULL, call_loops, &callers[i]), 0);
        }
        for (size_t i = 0; i < COUNT_OF(threads); i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(callers[i].wrong, 0);
        }
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void stat_in_a_task(void *chunks)
{
    if (thrum_for(NULL, 0, N, count_chunks, chunks, .schedule = THRUM_STAT))
        atomic_fetch_add(&strange, 1);
}

/* Inside tasks and outside. */
TEST(an_executor_without_threads_counts_as_one_worker)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.threadless = true});
    atomic_int outside = 0, inside = 0;
    assert_int_equal(thrum_for(ex, 0, N, count_chunks, &outside, .schedule = THRUM_STAT), 0);
    assert_each_once();
    thrum_handle *handle = thrum_submit(ex, stat_in_a_task, &inside);
    assert_int_equal(thrum_wait(handle), 0);
    thrum_release(handle);
    assert_each_once();
    assert_int_equal(atomic_load(&outside), 1);
    assert_int_equal(atomic_load(&inside), 1);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* A task of one executor calls a loop on another. */
static void loop_elsewhere(void *arg)
{
    struct caller *caller = arg;
    for (int t = 0; t < THRUM_TECHNIQUES; t++) {
        uint64_t sum = 0;
        int err = thrum_for_reduce(caller->ex, 0, N, sum_numbers, add, NULL, &sum, sizeof sum,
                                   .schedule = (thrum_technique)t);
        caller->wrong += err || sum != (uint64_t)N * (N - 1) / 2;
    }
}

TEST(a_task_may_call_a_loop_on_another_executor)
{
    thrum_executor *here = executor_with(2), *there = executor_with(3);
    struct caller caller = {there, 0};
    thrum_handle *handle = thrum_submit(here, loop_elsewhere, &caller);
    assert_int_equal(thrum_wait(handle), 0);
    thrum_release(handle);
    assert_int_equal(caller.wrong, 0);
    assert_int_equal(thrum_executor_free(here), 0);
    assert_int_equal(thrum_executor_free(there), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_size_of_a_chunk_may_be_any_number),
        cmocka_unit_test(only_the_last_chunk_is_smaller_than_the_least_size),
        cmocka_unit_test(there_may_be_as_many_iterations_as_2_to_63),
        cmocka_unit_test(weights_that_do_not_sum_up_are_refused_in_each_execution),
        cmocka_unit_test(a_deviation_can_be_given_without_the_mean),
        cmocka_unit_test(a_loop_in_a_task_of_another_domain_is_done_there),
        cmocka_unit_test(weights_are_those_of_the_workers_of_the_domain_in_their_order),
        cmocka_unit_test(a_cancelled_loop_begins_no_more_chunks),
        cmocka_unit_test(a_reduction_that_fails_leaves_the_result),
        cmocka_unit_test(a_loop_goes_on_after_its_executor_was_resized),
        cmocka_unit_test(any_number_of_threads_may_call_the_same_loop),
        cmocka_unit_test(an_executor_without_threads_counts_as_one_worker),
        cmocka_unit_test(a_task_may_call_a_loop_on_another_executor),
    };
    watchdog_start(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
