/* SPDX-License-Identifier: MIT
 *
 * Somebody stands in for workers that are parked in a wait, whoever was the last to leave.
 */
#include "exec/exec_int.h"
#include "tasks.h"
#include "test.h"

struct guest {
    thrum_executor *ex;
    struct gate gate;
};

/* Takes a worker's place until the gate opens. */
static void *visit(void *arg)
{
    struct guest *guest = arg;
    worker *w = thrum__guest_enter(guest->ex, true);
    stay_at_gate(&guest->gate);
    thrum__guest_leave(w);
    return NULL;
}

/* Parks in a wait for `handle` once the gate is open. */
struct sleeper {
    thrum_handle *handle;
    struct gate gate;
};

static void wait_after_gate(void *arg)
{
    struct sleeper *sleeper = arg;
    stay_at_gate(&sleeper->gate);
    thrum_wait(sleeper->handle);
}

static void await_awake(const thrum_executor *ex, int awake)
{
    while (thrum__life_look(&ex->cpu.life).awake != awake)
        pause_ms(1);
}

/* Both workers park while two guests are awake, so that no place is free and nobody stands in; then the guests
 * leave. */
TEST(guests_that_leave_see_to_it_that_parked_workers_are_stood_in_for)
{
    thrum_executor *ex = executor_with(2), *other = executor_blocking(1);
    struct gate gate = {0};
    struct guest guests[2] = {{.ex = ex}, {.ex = ex}};
    struct sleeper sleepers[2] = {{0}, {0}};
    pthread_t threads[2];
    atomic_int ran = 0;
    thrum_handle *late = thrum_submit(other, stay_at_gate, &gate);
    await_entered(&gate);
    for (int i = 0; i < 2; i++) {
        sleepers[i].handle = late;
        assert_int_equal(thrum_async(ex, wait_after_gate, &sleepers[i]), 0);
        await_entered(&sleepers[i].gate);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, visit, &guests[i]), 0);
        await_entered(&guests[i].gate);
    }
    for (int i = 0; i < 2; i++)
        open_gate(&sleepers[i].gate);
    await_awake(ex, 2);
    for (int i = 0; i < 2; i++) {
        open_gate(&guests[i].gate);
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(thrum_async(ex, count_up, &ran), 0);
    while (ran == 0)
        pause_ms(1);
    open_gate(&gate);
    assert_int_equal(thrum_wait(late), 0);
    assert_int_equal(thrum_executor_wait(ex), 0);
    thrum_release(late);
    assert_int_equal(thrum_executor_free(ex), 0);
    assert_int_equal(thrum_executor_free(other), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(guests_that_leave_see_to_it_that_parked_workers_are_stood_in_for),
    };
    return RUN_TESTS(tests, 15);
}
