/* SPDX-License-Identifier: MIT
 *
 * When whoever inserts runs its jobs itself: what has to be known of codelets, and how many looks it takes to change.
 */
#include "test.h"

#include "sched/at_once.h"

enum { EACH = 64, LOOKS = THRUM__AT_ONCE_LOOKS, JOB = 10000 };

static const char codelets[16 * THRUM__KNOWN_CODELETS];

static const void *codelet(int number)
{
    return &codelets[16 * number];
}

/* Somebody inserts and runs, or has others run, that many of a codelet, with so much time in between; then it looks. */
static enum thrum__at_once_way insert(thrum__at_once *once, int64_t *now, int64_t job_ns, int64_t between_ns)
{
    for (int i = 0; i < EACH; i++) {
        if (thrum__at_once_times(once, codelet(0)))
            thrum__at_once_note(once, codelet(0), job_ns);
        *now += between_ns + (once->on ? job_ns : 0);
    }
    return thrum__at_once_look(once, *now, EACH);
}

/* After the first look, from which time counts. */
static int looks_until(thrum__at_once *once, enum thrum__at_once_way way, int64_t job_ns, int64_t between_ns)
{
    int64_t now = 1000000;
    thrum__at_once_waited(once);
    insert(once, &now, job_ns, between_ns);
    for (int looks = 1; looks < 10000; looks++)
        if (insert(once, &now, job_ns, between_ns) == way)
            return looks;
    return -1;
}

static void turn_on(thrum__at_once *once)
{
    assert_int_equal(looks_until(once, THRUM__CATCH_UP, JOB, 100), LOOKS);
    thrum__at_once_caught_up(once, true);
    assert_true(once->on);
}

TEST(a_codelet_is_brief_once_a_short_job_of_it_has_ended)
{
    thrum__at_once once = {.on = false};
    assert_false(thrum__at_once_is_brief(&once, codelet(0)));
    assert_true(thrum__at_once_times(&once, codelet(0)));
    assert_false(thrum__at_once_is_brief(&once, codelet(0)));
    thrum__at_once_note(&once, codelet(0), 1000);
    assert_true(thrum__at_once_is_brief(&once, codelet(0)));
    assert_false(thrum__at_once_is_brief(&once, codelet(1)));
    thrum__at_once_note(&once, codelet(1), 2 * THRUM__BRIEF_NS);
    assert_false(thrum__at_once_is_brief(&once, codelet(1)));
}

TEST(a_codelet_that_takes_longer_and_longer_is_brief_no_more)
{
    thrum__at_once once = {.on = false};
    thrum__at_once_note(&once, codelet(0), 1000);
    for (int i = 0; i < 10; i++)
        thrum__at_once_note(&once, codelet(0), 3 * THRUM__BRIEF_NS);
    assert_false(thrum__at_once_is_brief(&once, codelet(0)));
}

TEST(as_many_codelets_are_known_as_there_is_room_for_wherever_they_lie)
{
    thrum__at_once once = {.on = false};
    for (int i = 0; i < THRUM__KNOWN_CODELETS; i++)
        thrum__at_once_note(&once, codelet(i), 1000 + i);
    for (int i = 0; i < THRUM__KNOWN_CODELETS; i++)
        assert_true(thrum__at_once_is_brief(&once, codelet(i)));
    thrum__at_once_note(&once, codelets + 8, 5); /* one more takes the room of another */
    int known = 0;
    for (int i = 0; i < THRUM__KNOWN_CODELETS; i++)
        known += thrum__at_once_is_brief(&once, codelet(i));
    assert_int_equal(known, THRUM__KNOWN_CODELETS - 1);
    assert_true(thrum__at_once_is_brief(&once, codelets + 8));
}

TEST(of_short_jobs_some_are_timed_and_stand_for_all)
{
    thrum__at_once once = {.on = false};
    int timed = 0;
    for (int i = 0; i < 29001; i++)
        if (thrum__at_once_times(&once, codelet(0))) {
            thrum__at_once_note(&once, codelet(0), 1000);
            timed++;
        }
    assert_int_equal(timed, 1001);
    assert_int_equal(once.calls, 29001);
    assert_int_equal(once.spent, 29001000);
    assert_true(thrum__at_once_times(&once, codelet(1)));
}

TEST(it_takes_some_looks_in_a_row_to_begin)
{
    thrum__at_once once = {.on = false};
    int64_t now = 1;
    turn_on(&once);
    thrum__at_once_caught_up(&once, true);
    assert_int_equal(insert(&once, &now, JOB, 100), THRUM__RUN_AT_ONCE);

    thrum__at_once again = {.on = false};
    for (int i = 0; i < 100; i++)
        assert_int_equal(insert(&again, &now, JOB, i % LOOKS ? 100 : JOB), THRUM__LEAVE_TO_OTHERS);
}

TEST(whoever_has_other_things_to_do_leaves_jobs_to_others)
{
    thrum__at_once once = {.on = false};
    turn_on(&once);
    assert_int_equal(looks_until(&once, THRUM__LEAVE_TO_OTHERS, JOB, JOB), LOOKS);
    assert_false(once.on);
    assert_int_equal(looks_until(&once, THRUM__CATCH_UP, JOB, JOB), -1);
}

TEST(an_interruption_changes_nothing)
{
    thrum__at_once once = {.on = false};
    int64_t now = 1;
    turn_on(&once);
    for (int i = 0; i < 100; i++)
        assert_int_equal(insert(&once, &now, JOB, i % LOOKS ? 100 : 100 * JOB), THRUM__RUN_AT_ONCE);
}

TEST(tiny_jobs_and_long_ones_are_left_to_others)
{
    thrum__at_once tiny = {.on = false}, longer = {.on = false};
    assert_int_equal(looks_until(&tiny, THRUM__CATCH_UP, THRUM__AT_ONCE_NS - 1, 100), -1);
    assert_int_equal(looks_until(&longer, THRUM__CATCH_UP, THRUM__BRIEF_NS, 100), -1);
}

TEST(what_was_tried_in_vain_is_tried_again_later_and_later)
{
    thrum__at_once once = {.on = false};
    int before = looks_until(&once, THRUM__CATCH_UP, JOB, 100);
    for (int i = 0; i < 4; i++) {
        thrum__at_once_caught_up(&once, false);
        assert_false(once.on);
        int looks = looks_until(&once, THRUM__CATCH_UP, JOB, 100);
        assert_in_range(looks, before + 1, 3 * before + 16);
        before = looks;
    }
    thrum__at_once_caught_up(&once, true);
    once.on = false; /* somebody else has taken the place */
    assert_int_equal(looks_until(&once, THRUM__CATCH_UP, JOB, 100), LOOKS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_codelet_is_brief_once_a_short_job_of_it_has_ended),
        cmocka_unit_test(a_codelet_that_takes_longer_and_longer_is_brief_no_more),
        cmocka_unit_test(as_many_codelets_are_known_as_there_is_room_for_wherever_they_lie),
        cmocka_unit_test(of_short_jobs_some_are_timed_and_stand_for_all),
        cmocka_unit_test(it_takes_some_looks_in_a_row_to_begin),
        cmocka_unit_test(whoever_has_other_things_to_do_leaves_jobs_to_others),
        cmocka_unit_test(an_interruption_changes_nothing),
        cmocka_unit_test(tiny_jobs_and_long_ones_are_left_to_others),
        cmocka_unit_test(what_was_tried_in_vain_is_tried_again_later_and_later),
    };
    return RUN_TESTS(tests, 30);
}
