/* SPDX-License-Identifier: MIT
 *
 * The event queue of the simulator: the earliest first, of equal times what was scheduled first.
 */
#include "test.h"
#include "random.h"

#include "sim/events.h"

static void expect_take(thrum__events *events, double time, uint64_t payload)
{
    double taken_time = -1;
    uint64_t taken = 0;
    assert_true(thrum__events_take(events, &taken_time, &taken));
    if (taken_time != time || taken != payload)
        print_error("taken: %g at %g, not %g at %g\n", (double)taken, taken_time, (double)payload, time);
    assert_true(taken_time == time && taken == payload && events->now == time);
}

static void expect_none(thrum__events *events)
{
    double time = 5;
    uint64_t payload = 6;
    assert_false(thrum__events_take(events, &time, &payload));
    assert_true(time == 5 && payload == 6 && events->count == 0);
}

TEST(events_come_in_the_order_of_their_times)
{
    static const double times[] = {3, 1, 4, 1.5, 9, 2.6, 5};
    static const int order[] = {1, 3, 5, 0, 2, 6, 4};
    thrum__events events;
    assert_int_equal(thrum__events_begin(&events, COUNT_OF(times)), 0);
    for (size_t i = 0; i < COUNT_OF(times); i++)
        thrum__events_schedule(&events, times[i], 100 + i);
    for (size_t i = 0; i < COUNT_OF(times); i++)
        expect_take(&events, times[order[i]], 100 + (uint64_t)order[i]);
    expect_none(&events);
    thrum__events_end(&events);
}

TEST(events_of_one_time_come_in_the_order_in_which_they_were_scheduled)
{
    thrum__events events;
    assert_int_equal(thrum__events_begin(&events, 4), 0);
    for (uint64_t i = 0; i < 4; i++)
        thrum__events_schedule(&events, i == 3 ? -0.0 : 0.0, 9 - i);
    expect_take(&events, 0, 9);
    thrum__events_schedule(&events, 0, 1); /* into the place that is free now, which is the first */
    for (uint64_t i = 1; i < 4; i++)
        expect_take(&events, 0, 9 - i);
    expect_take(&events, 0, 1);
    expect_none(&events);
    thrum__events_end(&events);
}

TEST(a_reset_queue_hands_out_its_payloads_in_order)
{
    thrum__events events;
    assert_int_equal(thrum__events_begin(&events, 5), 0);
    thrum__events_schedule(&events, 7, 7);
    thrum__events_reset(&events, 5);
    for (uint64_t i = 0; i < 5; i++)
        expect_take(&events, 0, i);
    expect_none(&events);
    thrum__events_end(&events);
}

TEST(the_first_event_can_come_again_later)
{
    thrum__events events;
    assert_int_equal(thrum__events_begin(&events, 3), 0);
    thrum__events_reset(&events, 3);
    thrum__events_again(&events, 2); /* 0 */
    thrum__events_again(&events, 1); /* 1 */
    thrum__events_again(&events, 0); /* 2: took no time */
    assert_true(thrum__events_first_payload(&events) == 2 && thrum__events_first_time(&events) == 0);
    thrum__events_again(&events, 2);
    thrum__events_again(&events, 2);
    expect_take(&events, 2, 0);
    expect_take(&events, 2, 2);
    expect_take(&events, 2, 1);
    expect_none(&events);
    thrum__events_end(&events);
}

TEST(a_queue_for_one_event_works)
{
    thrum__events events;
    for (uint32_t room = 0; room < 2; room++) {
        assert_int_equal(thrum__events_begin(&events, room), 0);
        expect_none(&events);
        thrum__events_schedule(&events, 1, 3);
        thrum__events_again(&events, 2);
        expect_take(&events, 2, 3);
        expect_none(&events);
        thrum__events_end(&events);
    }
}

TEST(too_many_events_at_once_are_refused)
{
    thrum__events events;
    assert_error(thrum__events_begin(&events, UINT32_MAX), THRUM_ELIMIT, "4294967295 events");
}

/* Against a list that is searched from end to end. */
struct listed {
    double time;
    uint64_t payload;
};

static size_t first_of(const struct listed *list, size_t count)
{
    size_t first = 0;
    for (size_t i = 1; i < count; i++)
        if (list[i].time < list[first].time)
            first = i;
    return first;
}

TEST(random_events_come_as_from_a_list)
{
    enum { ROOM = 37, STEPS = 20000 };
    struct listed list[ROOM];
    size_t count = 0;
    thrum__events events;
    struct random random = random_new(5);
    assert_int_equal(thrum__events_begin(&events, ROOM), 0);
    for (uint64_t step = 0; step < STEPS; step++) {
        double later = events.now + (double)random_below(&random, 8) * 0.25;
        if (count < ROOM && (count == 0 || random_below(&random, 100) < 52)) {
            thrum__events_schedule(&events, later, step);
            list[count++] = (struct listed){later, step};
            continue;
        }
        size_t first = first_of(list, count);
        struct listed next = list[first];
        memmove(list + first, list + first + 1, (--count - first) * sizeof *list);
        if (random_below(&random, 2)) {
            expect_take(&events, next.time, next.payload);
        } else {
            later = next.time + (double)random_below(&random, 8) * 0.25;
            thrum__events_again(&events, later);
            list[count++] = (struct listed){later, next.payload};
        }
    }
    thrum__events_end(&events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_in_the_order_of_their_times),
        cmocka_unit_test(events_of_one_time_come_in_the_order_in_which_they_were_scheduled),
        cmocka_unit_test(a_reset_queue_hands_out_its_payloads_in_order),
        cmocka_unit_test(the_first_event_can_come_again_later),
        cmocka_unit_test(a_queue_for_one_event_works),
        cmocka_unit_test(too_many_events_at_once_are_refused),
        cmocka_unit_test(random_events_come_as_from_a_list),
    };
    return RUN_TESTS(tests, 60);
}
