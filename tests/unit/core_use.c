/* SPDX-License-Identifier: MIT
 *
 * How much of its core a thread has had (src/sys/core_use.c).
 */
#include "tasks.h"

#include "sys/clock.h"
#include "sys/core_use.h"

TEST(a_thread_that_computes_uses_its_core_and_one_that_sleeps_is_blocked)
{
    thrum__core_use before = thrum__core_use_now(), after = before;
    int64_t begin = thrum__now();
    while (after.ns - before.ns < 2000000 && thrum__now() - begin < 10000000000)
        after = thrum__core_use_now();
    assert_true(after.ns - before.ns >= 2000000);
    assert_true(after.ns - before.ns <= thrum__now() - begin + 1000000);
    thrum__sleep_ns(2000000);
    thrum__core_use slept = thrum__core_use_now();
    assert_true(slept.blocked > after.blocked);
    assert_true(slept.ns - after.ns < 2000000);
    assert_true(slept.put_aside >= after.put_aside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_computes_uses_its_core_and_one_that_sleeps_is_blocked),
    };
    return RUN_TESTS(tests, 60);
}
