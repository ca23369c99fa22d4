/* SPDX-License-Identifier: MIT
 *
 * Ranges: the owner's end, the thieves' end, and both at once.
 */
#include "test.h"

#include "conc/range.h"
#include "sys/clock.h"

#include <pthread.h>

static thrum__range range;

static thrum__span taken;

static bool take(uint64_t count)
{
    taken = thrum__range_take_owner(&range, count);
    return taken.lo < taken.hi;
}

static bool steal(void)
{
    taken = thrum__range_steal(&range);
    return taken.lo < taken.hi;
}

static void assert_taken(uint64_t from, uint64_t to)
{
    assert_int_equal(taken.lo, from);
    assert_int_equal(taken.hi, to);
}

static void fill(uint64_t from, uint64_t to)
{
    thrum__range_init(&range);
    thrum__range_fill_owner(&range, from, to);
}

TEST(the_owner_takes_from_the_front)
{
    fill(10, 15);
    assert_true(take(2));
    assert_taken(10, 12);
    assert_true(take(2));
    assert_taken(12, 14);
    assert_true(take(2));
    assert_taken(14, 15);
    assert_false(take(2));
    assert_false(take(2));
    assert_int_equal(thrum__range_left(&range), 0);
}

TEST(a_thief_takes_the_back_half_rounded_up)
{
    fill(10, 15);
    assert_true(steal());
    assert_taken(12, 15);
    assert_int_equal(thrum__range_left(&range), 2);
    assert_true(steal());
    assert_taken(11, 12);
    assert_true(steal());
    assert_taken(10, 11);
    assert_false(steal());
    assert_false(take(1));
}

TEST(an_empty_range_is_filled_anew)
{
    fill(0, 1);
    assert_true(take(1));
    assert_false(take(1));
    thrum__range_fill_owner(&range, 100, 102);
    assert_true(steal());
    assert_taken(101, 102);
    assert_true(take(5));
    assert_taken(100, 101);
    assert_false(steal());
}

TEST(numbers_up_to_2_63_fit)
{
    uint64_t most = INT64_MAX;
    fill(most - 3, most);
    assert_true(take(most));
    assert_taken(most - 3, most);
    fill(0, most);
    assert_true(steal());
    assert_taken(most / 2, most);
}

/* ---- Both at once ------------------------------------------------------------------------------------------------ */

enum { NUMBERS = SANITIZED_THREAD ? 20000 : 200000, THIEVES = 2, ROUNDS = 60 };

static const int64_t ENOUGH_NS = 2000000000; /* where barriers are slow, fewer rounds have to do */

static atomic_uchar seen[NUMBERS];
static atomic_bool over;

static bool note(thrum__span span)
{
    for (uint64_t i = span.lo; i < span.hi; i++)
        atomic_fetch_add_explicit(&seen[i], 1, memory_order_relaxed);
    return span.lo < span.hi;
}

static void *be_a_thief(void *arg)
{
    (void)arg;
    while (!atomic_load(&over))
        note(thrum__range_steal(&range));
    return NULL;
}

/* The owner's range is small each time, so that both ends meet often. */
static void be_the_owner(uint64_t longest)
{
    for (uint64_t begin = 0, length = 1; begin < NUMBERS; begin += length, length = length % longest + 1) {
        uint64_t end = begin + length < NUMBERS ? begin + length : NUMBERS;
        thrum__range_fill_owner(&range, begin, end);
        while (note(thrum__range_take_owner(&range, 1 + begin % 3))) {
        }
    }
}

TEST(every_number_is_had_exactly_once)
{
    pthread_t thieves[THIEVES];
    int64_t begun = thrum__now();
    thrum__barrier_init();
    for (int round = 0; round < ROUNDS && thrum__now() - begun < ENOUGH_NS; round++) {
        memset(seen, 0, sizeof seen);
        thrum__range_init(&range);
        atomic_store(&over, false);
        for (int i = 0; i < THIEVES; i++)
            assert_int_equal(pthread_create(&thieves[i], NULL, be_a_thief, NULL), 0);
        be_the_owner(round % 2 ? 37 : 5);
        atomic_store(&over, true);
        for (int i = 0; i < THIEVES; i++)
            pthread_join(thieves[i], NULL);
        for (int i = 0; i < NUMBERS; i++)
            assert_int_equal(atomic_load_explicit(&seen[i], memory_order_relaxed), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_takes_from_the_front),   cmocka_unit_test(a_thief_takes_the_back_half_rounded_up),
        cmocka_unit_test(an_empty_range_is_filled_anew),    cmocka_unit_test(numbers_up_to_2_63_fit),
        cmocka_unit_test(every_number_is_had_exactly_once),
    };
    watchdog_start(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
