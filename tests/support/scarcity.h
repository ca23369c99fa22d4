/* SPDX-License-Identifier: MIT
 *
 * Out of memory: a scenario is run with the first allocation failing, then the second, and so on until nothing fails
 * any more. Each time it must end with an error code or with the right result, without a crash, a hang or a leak (the
 * latter is AddressSanitizer's to say), and afterwards everything must work again. For tests that see src/.
 */
#ifndef TESTS_SUPPORT_SCARCITY_H
#define TESTS_SUPPORT_SCARCITY_H

#include "base/alloc.h"
#include "test.h"

enum { MOST_ALLOCATIONS = 5000 };

/* What a scenario says: it did all of its work, or an error was reported. Anything else is a mistake. */
enum outcome { DONE, REPORTED, WRONG };

typedef enum outcome scenario_fn(void);

/* The executor of all scenarios that do not make their own: made while there is memory. */
static thrum_executor *ex;

static inline enum outcome outcome_of(int code, bool right)
{
    if (code == 0 && right)
        return DONE;
    if (code == THRUM_ENOMEM || code == THRUM_ESYSTEM)
        return REPORTED;
    print_error("%s, with the code %d\n", right ? "the result is right" : "the result is not right", code);
    return WRONG;
}

static inline void exhaust(scenario_fn *scenario)
{
    for (long n = 0; n < MOST_ALLOCATIONS; n += SANITIZED_THREAD && n > 30 ? 3 : 1) { /* else it takes too long */
        thrum__alloc_fail_after(n);
        enum outcome outcome = scenario();
        long asked = thrum__alloc_count();
        thrum__alloc_fail_after(-1);
        enum outcome after = scenario();
        if (outcome == WRONG || after != DONE)
            print_error("allocation %ld fails, and then the outcome is %d, and %d afterwards (%s)\n", n, (int)outcome,
                        (int)after, thrum_message(NULL));
        assert_int_not_equal(outcome, WRONG);
        assert_int_equal(after, DONE);
        if (asked <= n) {
            assert_int_equal(outcome, DONE);
            return;
        }
    }
    fail_msg("the scenario needs more than %d allocations, or never the same number", MOST_ALLOCATIONS);
}

/* Runs the array `tests` with an executor of one worker, and then of two. */
static inline int run_in_scarcity(const struct CMUnitTest *tests, size_t count)
{
    watchdog_start(240); /* a sanitizer on a busy machine takes its time */
    for (int workers = 1; workers <= 2; workers++) {
        ex = thrum_executor_new(&(thrum_config){.workers = workers});
        int failed = ex ? _cmocka_run_group_tests("tests", tests, count, NULL, NULL) : 1;
        if (thrum_executor_free(ex) || failed)
            return 1;
    }
    return 0;
}

#endif
