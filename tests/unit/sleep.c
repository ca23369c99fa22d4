/* SPDX-License-Identifier: MIT
 *
 * Sleeping until a moment: never back early, and the thread's slack is as it was.
 */
#include "test.h"

#include "sys/clock.h"
#include "sys/sleep.h"

#include <math.h>
#include <sys/prctl.h>

TEST(nobody_is_back_early)
{
    static const int64_t times[] = {0, 1, 1000, 5000, 20000, 50000, 100000, 1000000, 5000000};
    for (int round = 0; round < 10; round++)
        for (size_t i = 0; i < COUNT_OF(times); i++) {
            int64_t moment = thrum__now() + times[i];
            thrum__sleep_until(moment);
            assert_true(thrum__now() >= moment);
        }
}

TEST(a_moment_that_has_passed_is_not_waited_for)
{
    thrum__sleep_until(0);
    thrum__sleep_until(INT64_MIN / 2);
    thrum__sleep_until(thrum__now());
}

TEST(the_slack_of_the_thread_stays)
{
    int before = prctl(PR_GET_TIMERSLACK);
    thrum__sleep_until(thrum__now() + 200000);
    assert_int_equal(prctl(PR_GET_TIMERSLACK), before);
    prctl(PR_SET_TIMERSLACK, 12345UL);
    thrum__sleep_until(thrum__now() + 200000);
    assert_int_equal(prctl(PR_GET_TIMERSLACK), 12345);
    prctl(PR_SET_TIMERSLACK, 0UL);
}

TEST(moments_come_from_seconds)
{
    assert_int_equal(thrum__moment_after(100, 0), 100);
    assert_int_equal(thrum__moment_after(100, 1e-6), 1100);
    assert_int_equal(thrum__moment_after(100, 2), 2000000100);
    assert_int_equal(thrum__moment_after(100, 1.5e-9), 102); /* not a moment too early */
    assert_int_equal(thrum__moment_after(100, -1), 100);
    assert_int_equal(thrum__moment_after(100, NAN), 100);
    assert_true(thrum__moment_after(100, 1e300) > INT64_MAX / 4);
    assert_true(thrum__moment_after(100, INFINITY) > INT64_MAX / 4);
    assert_true(thrum__moment_after(INT64_MAX / 2, INFINITY) <= INT64_MAX / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_back_early),
        cmocka_unit_test(a_moment_that_has_passed_is_not_waited_for),
        cmocka_unit_test(the_slack_of_the_thread_stays),
        cmocka_unit_test(moments_come_from_seconds),
    };
    return RUN_TESTS(tests, 20);
}
