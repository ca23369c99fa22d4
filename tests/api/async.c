/* SPDX-License-Identifier: MIT
 *
 * Functions that are called soon on some worker: thrum_async and thrum_submit.
 */
#include "tasks.h"

TEST(a_submitted_function_is_called_once)
{
    thrum_executor *kinds[] = {executor_with(1), executor_with(2), executor_threadless(), executor_blocking(1), NULL};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        int count = 0;
        for (int round = 1; round <= 100; round++) {
            thrum_handle *handle = thrum_submit(kinds[i], plain_count_up, &count);
            assert_non_null(handle);
            assert_int_equal(thrum_wait(handle), 0);
            assert_true(thrum_done(handle));
            assert_int_equal(count, round);
            thrum_release(handle);
        }
        assert_int_equal(thrum_executor_free(kinds[i]), 0);
    }
}

TEST(waiting_for_the_executor_waits_for_all_async_functions)
{
    thrum_executor *kinds[] = {executor_with(1), executor_with(2), executor_with(8), executor_threadless()};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        atomic_int count = 0;
        for (int round = 1; round <= 5; round++) {
            for (int n = 0; n < 1000; n++)
                assert_int_equal(thrum_async(kinds[i], count_up, &count), 0);
            assert_int_equal(thrum_executor_wait(kinds[i]), 0);
            assert_int_equal(count, 1000 * round);
        }
        assert_int_equal(thrum_executor_free(kinds[i]), 0);
    }
}

struct flood {
    thrum_executor *ex;
    atomic_int calls, failures;
};

static void flood_from_a_thread(void *arg)
{
    struct flood *flood = arg;
    for (int i = 0; i < 500; i++) {
        if (thrum_async(flood->ex, count_up, &flood->calls))
            count_up(&flood->failures);
        thrum_handle *handle = thrum_submit(flood->ex, count_up, &flood->calls);
        if (!handle || (i % 2 && thrum_wait(handle)))
            count_up(&flood->failures);
        thrum_release(handle);
    }
}

TEST(many_threads_submit_at_once)
{
    thrum_executor *kinds[] = {executor_with(1), executor_with(2), executor_threadless(), executor_blocking(2)};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct flood flood = {.ex = kinds[i]};
        in_threads(6, flood_from_a_thread, &flood);
        assert_int_equal(thrum_executor_wait(kinds[i]), 0);
        assert_int_equal(flood.failures, 0);
        assert_int_equal(flood.calls, 6 * 1000);
        assert_int_equal(thrum_executor_free(kinds[i]), 0);
    }
}

struct chain {
    thrum_executor *ex;
    int left;
    atomic_int *failures;
};

static void call_the_next(void *arg)
{
    struct chain *chain = arg;
    if (chain->left-- > 0 && thrum_async(chain->ex, call_the_next, chain))
        count_up(chain->failures);
}

TEST(an_async_function_calls_the_next_one)
{
    thrum_executor *kinds[] = {executor_with(1), executor_with(2), executor_threadless()};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        atomic_int failures = 0;
        struct chain chain = {kinds[i], 1000, &failures};
        assert_int_equal(thrum_async(kinds[i], call_the_next, &chain), 0);
        assert_int_equal(thrum_executor_wait(kinds[i]), 0);
        assert_int_equal(chain.left, -1);
        assert_int_equal(failures, 0);
        assert_int_equal(thrum_executor_free(kinds[i]), 0);
    }
}

struct down {
    thrum_executor *ex;
    int depth, value;
};

static void submit_and_wait_inside(void *arg)
{
    struct down *down = arg;
    if (down->depth == 0) {
        down->value = 1;
        return;
    }
    struct down left = {down->ex, down->depth - 1, 0}, right = left;
    thrum_handle *handle = thrum_submit(down->ex, submit_and_wait_inside, &left);
    submit_and_wait_inside(&right);
    int err = thrum_wait(handle);
    thrum_release(handle);
    down->value = err ? -1000000 : left.value + right.value;
}

TEST(a_function_submits_functions_and_waits_for_them)
{
    thrum_executor *kinds[] = {executor_with(1), executor_with(2), executor_threadless(), executor_blocking(1)};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct down down = {kinds[i], 8, 0};
        thrum_handle *handle = thrum_submit(kinds[i], submit_and_wait_inside, &down);
        assert_int_equal(thrum_wait(handle), 0);
        assert_int_equal(down.value, 256);
        thrum_release(handle);
        assert_int_equal(thrum_executor_free(kinds[i]), 0);
    }
}

static void fail_with_six(void *arg)
{
    (void)arg;
    thrum_fail(6, "six is too many");
}

TEST(a_submitted_function_fails_through_its_handle_alone)
{
    thrum_executor *ex = executor_with(2);
    int count = 0;
    thrum_handle *bad = thrum_submit(ex, fail_with_six, NULL), *good = thrum_submit(ex, plain_count_up, &count);
    assert_int_equal(thrum_wait(bad), 6);
    assert_contains(thrum_message(bad), "six is too many");
    assert_int_equal(thrum_wait(good), 0);
    assert_string_equal(thrum_message(good), "");
    assert_int_equal(count, 1);
    thrum_release(bad);
    thrum_release(good);
    assert_int_equal(thrum_executor_wait(ex), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(the_first_error_of_async_functions_comes_back_once_from_the_executor)
{
    thrum_executor *ex = executor_with(2);
    atomic_int count = 0;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(thrum_async(ex, fail_with_six, NULL), 0);
        assert_int_equal(thrum_async(ex, count_up, &count), 0);
    }
    assert_int_equal(thrum_executor_wait(ex), 6);
    assert_contains(thrum_message(ex), "six is too many");
    assert_int_equal(count, 20);
    assert_int_equal(thrum_executor_wait(ex), 0);
    assert_int_equal(thrum_async(ex, fail_with_six, NULL), 0);
    assert_int_equal(thrum_executor_wait(ex), 6);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void note_index(void *arg)
{
    *(int *)arg = thrum_worker_index();
}

TEST(a_submitted_function_knows_its_worker)
{
    thrum_executor *ex = executor_blocking(2);
    int index = -2;
    thrum_handle *handle = thrum_submit(ex, note_index, &index);
    assert_int_equal(thrum_wait(handle), 0);
    assert_in_range(index, 0, 1);
    thrum_release(handle);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_submitted_function_is_called_once),
        cmocka_unit_test(waiting_for_the_executor_waits_for_all_async_functions),
        cmocka_unit_test(many_threads_submit_at_once),
        cmocka_unit_test(an_async_function_calls_the_next_one),
        cmocka_unit_test(a_function_submits_functions_and_waits_for_them),
        cmocka_unit_test(a_submitted_function_fails_through_its_handle_alone),
        cmocka_unit_test(the_first_error_of_async_functions_comes_back_once_from_the_executor),
        cmocka_unit_test(a_submitted_function_knows_its_worker),
    };
    return RUN_TESTS(tests, 60);
}
