/* SPDX-License-Identifier: MIT
 *
 * The trace ring: what it keeps, and what it counts as lost.
 */
#include "test.h"

#include "base/alloc.h"
#include "conc/ring.h"

static void put_numbers(thrum__ring *ring, int64_t from, int64_t to)
{
    for (int64_t number = from; number <= to; number++)
        thrum__ring_put(ring, &(thrum__event){.begin = 10 * number, .end = 10 * number + 5, .number = number});
}

static void expect_numbers(const thrum__ring *ring, int64_t from, int64_t to)
{
    assert_int_equal(thrum__ring_count(ring), to - from + 1);
    for (int64_t number = from; number <= to; number++) {
        const thrum__event *event = thrum__ring_get(ring, (uint64_t)(number - from));
        assert_int_equal(event->number, number);
        assert_int_equal(event->begin, 10 * number);
        assert_int_equal(event->end, 10 * number + 5);
    }
}

TEST(a_new_ring_is_empty)
{
    thrum__ring ring;
    assert_int_equal(thrum__ring_init(&ring, 16), 0);
    assert_int_equal(thrum__ring_count(&ring), 0);
    assert_int_equal(thrum__ring_lost(&ring), 0);
    thrum__ring_fini(&ring);
}

TEST(the_capacity_is_rounded_up_to_a_power_of_two)
{
    static const uint64_t asked[] = {1, 2, 3, 16, 17, 1000}, given[] = {1, 2, 4, 16, 32, 1024};
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        thrum__ring ring;
        assert_int_equal(thrum__ring_init(&ring, asked[i]), 0);
        assert_int_equal(ring.capacity, given[i]);
        thrum__ring_fini(&ring);
    }
}

TEST(events_come_out_in_the_order_in_which_they_went_in)
{
    thrum__ring ring;
    assert_int_equal(thrum__ring_init(&ring, 16), 0);
    put_numbers(&ring, 1, 16);
    expect_numbers(&ring, 1, 16);
    assert_int_equal(thrum__ring_lost(&ring), 0);
    thrum__ring_fini(&ring);
}

TEST(a_full_ring_loses_the_oldest_event_and_counts_it)
{
    thrum__ring ring;
    assert_int_equal(thrum__ring_init(&ring, 16), 0);
    put_numbers(&ring, 1, 17);
    expect_numbers(&ring, 2, 17);
    assert_int_equal(thrum__ring_lost(&ring), 1);
    put_numbers(&ring, 18, 1000);
    expect_numbers(&ring, 985, 1000);
    assert_int_equal(thrum__ring_lost(&ring), 984);
    thrum__ring_fini(&ring);
}

TEST(a_ring_without_memory_is_not_made)
{
    thrum__ring ring;
    thrum__alloc_fail_after(0);
    assert_int_equal(thrum__ring_init(&ring, 16), -1);
    thrum__alloc_fail_after(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_ring_is_empty),
        cmocka_unit_test(the_capacity_is_rounded_up_to_a_power_of_two),
        cmocka_unit_test(events_come_out_in_the_order_in_which_they_went_in),
        cmocka_unit_test(a_full_ring_loses_the_oldest_event_and_counts_it),
        cmocka_unit_test(a_ring_without_memory_is_not_made),
    };
    return RUN_TESTS(tests, 30);
}
