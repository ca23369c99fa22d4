/* SPDX-License-Identifier: MIT
 *
 * With one worker, jobs are timed in order to know which of them whoever inserts should run at once. Tiny ones are run
 * in batches, and reading the clock would cost as much as they do: so these are not timed.
 */
#include "test.h"

#include "front/flow_int.h"
#include "sys/clock.h"

enum { MANY = 400000, TINY_NS = 400 };

static void add_one(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    ++*(long *)b[0].ptr;
}

static const thrum_codelet tiny = {.name = "tiny", .cpu = add_one};

static bool is_timed(const thrum_flow *flow)
{
    return atomic_load_explicit(&flow->owner.times, memory_order_relaxed) != NULL;
}

TEST(tiny_jobs_are_not_timed)
{
    long count = 0;
    int inserted = 0;
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 1});
    thrum_flow *flow = thrum_flow_new(ex);
    thrum_data *data = thrum_data_variable(ex, &count, sizeof count);
    int64_t began = thrum__now();
    do
        assert_int_equal(thrum_insert(flow, &tiny, THRUM_RW(data)), 0);
    while (++inserted < MANY && is_timed(flow));
    bool timed = is_timed(flow), slow = thrum__now() - began > (int64_t)inserted * TINY_NS;
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(count, inserted);
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
    if (slow && timed) /* a sanitizer, or a busy machine: nothing was tiny */
        skip();
    assert_false(timed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_jobs_are_not_timed),
    };
    return RUN_TESTS(tests, 60);
}
