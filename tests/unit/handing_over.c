/* SPDX-License-Identifier: MIT
 *
 * A searching worker that stands at the domain's hand-over is given functions without queueing. The executor has no
 * threads, so that every step is the test's.
 */
#include "exec/exec_int.h"
#include "tasks.h"

struct stage {
    thrum_executor *ex;
    domain *d;
    worker *w;
    int count;
};

static void raise_stage(struct stage *stage)
{
    *stage = (struct stage){.ex = executor_threadless()};
    stage->d = &stage->ex->cpu;
    stage->w = thrum__guest_enter(stage->ex, true);
    assert_non_null(stage->w);
    thrum__stand(stage->w);
    assert_true(stage->w->stands);
}

static void leave_stage(struct stage *stage)
{
    thrum__guest_leave(stage->w);
    assert_int_equal(thrum_executor_free(stage->ex), 0);
}

static thrum_handle *submit_on(struct stage *stage)
{
    thrum_handle *handle = thrum_submit(stage->ex, plain_count_up, &stage->count);
    assert_non_null(handle);
    return handle;
}

static void expect_queued(const struct stage *stage, unsigned count)
{
    assert_int_equal(atomic_load(&stage->d->waiting), count);
}

static void expect_ended(thrum_handle *handle)
{
    assert_true(thrum_done(handle));
    assert_int_equal(thrum_wait(handle), 0);
    thrum_release(handle);
}

TEST(who_stands_there_is_handed_a_function)
{
    struct stage stage;
    found f;
    raise_stage(&stage);
    assert_false(thrum__handed(stage.w, &f));
    thrum_handle *handle = submit_on(&stage);
    expect_queued(&stage, 0);
    assert_true(thrum__handed(stage.w, &f));
    assert_ptr_equal(f.handle, handle);
    assert_false(stage.w->stands);
    assert_false(thrum__stand_down(stage.w, &f));
    thrum__perform(stage.w, &f);
    assert_int_equal(stage.count, 1);
    expect_ended(handle);
    leave_stage(&stage);
}

TEST(who_leaves_takes_along_what_it_was_handed)
{
    struct stage stage;
    found f;
    raise_stage(&stage);
    thrum_handle *handle = submit_on(&stage);
    assert_true(thrum__stand_down(stage.w, &f));
    assert_ptr_equal(f.handle, handle);
    thrum__perform(stage.w, &f);
    expect_ended(handle);
    leave_stage(&stage);
}

TEST(who_leaves_for_other_work_queues_what_it_was_handed)
{
    struct stage stage;
    found f;
    raise_stage(&stage);
    thrum_handle *handle = submit_on(&stage);
    thrum__stand_down_busy(stage.w);
    expect_queued(&stage, 1);
    assert_true(thrum__find(stage.w, &f));
    assert_ptr_equal(f.handle, handle);
    thrum__perform(stage.w, &f);
    expect_ended(handle);
    leave_stage(&stage);
}

TEST(a_waiter_takes_back_what_was_not_fetched)
{
    struct stage stage;
    found f;
    raise_stage(&stage);
    thrum_handle *handle = submit_on(&stage);
    assert_int_equal(thrum_wait(handle), 0);
    assert_int_equal(stage.count, 1);
    expect_ended(handle);
    assert_true(stage.w->stands);
    assert_false(thrum__stand_down(stage.w, &f));
    leave_stage(&stage);
}

TEST(what_comes_after_a_queued_function_is_queued_too)
{
    struct stage stage;
    found f;
    thrum_handle *handles[3];
    raise_stage(&stage);
    handles[0] = submit_on(&stage);
    handles[1] = submit_on(&stage);
    expect_queued(&stage, 1);
    assert_true(thrum__handed(stage.w, &f));
    assert_ptr_equal(f.handle, handles[0]);
    thrum__perform(stage.w, &f);
    thrum__stand(stage.w);
    handles[2] = submit_on(&stage);
    expect_queued(&stage, 2);
    thrum__stand_down_busy(stage.w);
    for (int i = 1; i < 3; i++) {
        assert_true(thrum__find(stage.w, &f));
        assert_ptr_equal(f.handle, handles[i]);
        thrum__perform(stage.w, &f);
    }
    for (int i = 0; i < 3; i++)
        expect_ended(handles[i]);
    leave_stage(&stage);
}

TEST(one_stands_there_at_a_time)
{
    struct stage stage;
    found f;
    raise_stage(&stage);
    worker *other = thrum__guest_enter(stage.ex, true);
    assert_non_null(other);
    thrum__stand(other);
    assert_false(other->stands);
    assert_false(thrum__stand_down(stage.w, &f));
    thrum__stand(other);
    assert_true(other->stands);
    assert_false(thrum__stand_down(other, &f));
    thrum__guest_leave(other);
    leave_stage(&stage);
}

TEST(who_is_asked_to_move_may_still_run_wherever_it_might_before)
{
    struct stage stage;
    found f;
    cpu_set_t before, after;
    raise_stage(&stage);
    assert_false(thrum__stand_down(stage.w, &f));
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    atomic_store(&stage.d->move_asked, true);
    thrum__stand(stage.w);
    assert_false(atomic_load(&stage.d->move_asked));
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    assert_false(thrum__stand_down(stage.w, &f));
    leave_stage(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_stands_there_is_handed_a_function),
        cmocka_unit_test(who_leaves_takes_along_what_it_was_handed),
        cmocka_unit_test(who_leaves_for_other_work_queues_what_it_was_handed),
        cmocka_unit_test(a_waiter_takes_back_what_was_not_fetched),
        cmocka_unit_test(what_comes_after_a_queued_function_is_queued_too),
        cmocka_unit_test(one_stands_there_at_a_time),
        cmocka_unit_test(who_is_asked_to_move_may_still_run_wherever_it_might_before),
    };
    return RUN_TESTS(tests, 60);
}
