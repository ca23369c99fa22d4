/* SPDX-License-Identifier: MIT
 *
 * Parking and the lock of one word.
 */
#include "tasks.h"

#include "sys/clock.h"
#include "sys/park.h"

static double seconds_since(int64_t begin)
{
    return (double)(thrum__now() - begin) * 1e-9;
}

TEST(an_unpark_that_comes_first_is_not_lost)
{
    thrum__parker parker = {0};
    thrum__unpark(&parker);
    thrum__park(&parker);
    assert_int_equal(atomic_load(&parker.token), 0);
}

TEST(a_parker_holds_one_token)
{
    thrum__parker parker = {0};
    thrum__unpark(&parker);
    thrum__unpark(&parker);
    assert_int_equal(atomic_load(&parker.token), 1);
    thrum__park(&parker);
    assert_int_equal(atomic_load(&parker.token), 0);
}

/* Two threads hand one plain number to and fro: each writes only when it has the token. */
struct rally {
    thrum__parker left, right;
    int strokes, mistakes;
};

enum { STROKES = 20000 };

static void *play_right(void *arg)
{
    struct rally *rally = arg;
    for (int i = 0; i < STROKES; i++) {
        thrum__park(&rally->right);
        rally->mistakes += rally->strokes != 2 * i + 1;
        rally->strokes++;
        thrum__unpark(&rally->left);
    }
    return NULL;
}

TEST(what_was_written_before_an_unpark_is_seen_after_the_park)
{
    struct rally rally = {.strokes = 0};
    pthread_t right;
    assert_int_equal(pthread_create(&right, NULL, play_right, &rally), 0);
    for (int i = 0; i < STROKES; i++) {
        rally.mistakes += rally.strokes != 2 * i;
        rally.strokes++;
        thrum__unpark(&rally.right);
        thrum__park(&rally.left);
    }
    assert_int_equal(pthread_join(right, NULL), 0);
    assert_int_equal(rally.mistakes, 0);
    assert_int_equal(rally.strokes, 2 * STROKES);
}

TEST(a_futex_wait_ends_at_once_when_the_word_has_changed)
{
    _Atomic uint32_t word = 1;
    int64_t begin = thrum__now();
    thrum__futex_wait(&word, 0, -1);
    thrum__futex_wait(&word, 2, 5000000000);
    assert_true(seconds_since(begin) < 4);
}

TEST(a_futex_wait_ends_after_its_time)
{
    _Atomic uint32_t word = 0;
    int64_t begin = thrum__now();
    thrum__futex_wait(&word, 0, 2000000);
    assert_true(seconds_since(begin) < 5);
}

/* ---- The lock ---------------------------------------------------------------------------------------------------- */

TEST(a_lock_can_be_taken_again_after_it_was_given_back)
{
    thrum__lock lock = {0};
    for (int i = 0; i < 3; i++) {
        thrum__lock_take(&lock);
        assert_int_not_equal(atomic_load(&lock.state), 0);
        thrum__lock_give(&lock);
        assert_int_equal(atomic_load(&lock.state), 0);
    }
}

struct counter {
    thrum__lock lock;
    int value, inside, mistakes;
};

enum { THREADS = 4, ROUNDS = 30000 };

static void count_under_lock(void *arg)
{
    struct counter *counter = arg;
    for (int i = 0; i < ROUNDS; i++) {
        thrum__lock_take(&counter->lock);
        counter->mistakes += counter->inside++ != 0;
        counter->value++;
        if (i % 1000 == 0)
            sched_yield();
        counter->inside--;
        thrum__lock_give(&counter->lock);
    }
}

TEST(one_thread_at_a_time_holds_the_lock)
{
    struct counter counter = {.value = 0};
    in_threads(THREADS, count_under_lock, &counter);
    assert_int_equal(counter.mistakes, 0);
    assert_int_equal(counter.value, THREADS * ROUNDS);
    assert_int_equal(atomic_load(&counter.lock.state), 0);
}

static void *take_and_give(void *arg)
{
    thrum__lock_take(arg);
    thrum__lock_give(arg);
    return NULL;
}

TEST(who_waits_for_the_lock_in_the_kernel_is_woken)
{
    thrum__lock lock = {0};
    pthread_t threads[3];
    thrum__lock_take(&lock);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, &lock), 0);
    while (atomic_load(&lock.state) != 2)
        sched_yield();
    pause_ms(5);
    thrum__lock_give(&lock);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unpark_that_comes_first_is_not_lost),
        cmocka_unit_test(a_parker_holds_one_token),
        cmocka_unit_test(what_was_written_before_an_unpark_is_seen_after_the_park),
        cmocka_unit_test(a_futex_wait_ends_at_once_when_the_word_has_changed),
        cmocka_unit_test(a_futex_wait_ends_after_its_time),
        cmocka_unit_test(a_lock_can_be_taken_again_after_it_was_given_back),
        cmocka_unit_test(one_thread_at_a_time_holds_the_lock),
        cmocka_unit_test(who_waits_for_the_lock_in_the_kernel_is_woken),
    };
    return RUN_TESTS(tests, 60);
}
