/* SPDX-License-Identifier: MIT
 *
 * The kinds of executor that random programs run on. One of each is made when first asked for and kept for all later
 * seeds.
 */
#ifndef TESTS_SUPPORT_EXECUTORS_H
#define TESTS_SUPPORT_EXECUTORS_H

#include "test.h"

static const thrum_domain_config two_domains[] = {{"left", 1}, {"right", 2}};

static const thrum_config executor_kinds[] = {
    {.threadless = true},
    {.workers = 1},
    {.workers = 2},
    {.workers = 3},
    {.workers = 4},
    {.workers = 8},
    {.workers = 1, .callers = THRUM_CALLERS_BLOCK},
    {.workers = 2, .callers = THRUM_CALLERS_BLOCK},
    {.workers = 1, .domains = two_domains, .domain_count = 2},
    {.workers = 2, .domains = two_domains, .domain_count = 2},
};
enum { EXECUTOR_KINDS = COUNT_OF(executor_kinds) };

static thrum_executor *executors_kept[EXECUTOR_KINDS];

/* A new one, the caller's to free. */
static inline thrum_executor *executor_of_kind(size_t kind)
{
    thrum_executor *ex = thrum_executor_new(&executor_kinds[kind]);
    if (!ex)
        print_error("no executor of kind %zu: %s\n", kind, thrum_message(NULL));
    assert_non_null(ex);
    return ex;
}

static inline thrum_executor *executor_kept(size_t kind)
{
    if (!executors_kept[kind])
        executors_kept[kind] = executor_of_kind(kind);
    return executors_kept[kind];
}

static inline void executors_free_kept(void)
{
    for (size_t i = 0; i < EXECUTOR_KINDS; i++) {
        assert_int_equal(thrum_executor_free(executors_kept[i]), 0);
        executors_kept[i] = NULL;
    }
}

#endif
