/* SPDX-License-Identifier: MIT
 *
 * The check of replicas and memory notices what is wrong.
 */
#include "exec/place_int.h"

#include "test.h"

enum { N = 100 };

static void touch(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    ((int *)b[0].ptr)[0]++;
}
static const thrum_codelet touch_emu = {.name = "touch", .emu = touch};

static int x[N], y[N];
static thrum_executor *ex;
static thrum_data *changed, *untouched;
static thrum__places *places;

/* One handle has been changed on the device. */
static int set_up(void **state)
{
    (void)state;
    ex = thrum_executor_new(&(thrum_config){.policy = "fifo", .devices = "cpu:1,emu:2"});
    assert_non_null(ex);
    places = ex->space.places;
    changed = thrum_data_vector(ex, x, N, sizeof(int));
    untouched = thrum_data_vector(ex, y, N, sizeof(int));
    thrum_data_set_name(changed, "changed");
    thrum_flow *flow = thrum_flow_new(ex);
    thrum_insert(flow, &touch_emu, THRUM_RW(changed), THRUM_ON_WORKER(1));
    assert_int_equal(thrum_flow_free(flow), 0);
    while (atomic_load(&places->inside) || atomic_load(&places->busy))
        sched_yield();
    assert_int_equal(thrum__places_check(places, true), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(thrum__places_check(places, true), 0);
    assert_int_equal(thrum_data_unregister(changed), 0);
    assert_int_equal(thrum_data_unregister(untouched), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
    return 0;
}

static void assert_found(const char *part)
{
    assert_int_equal(thrum__places_check(places, true), THRUM_EDATA);
    if (!strstr(thrum_message(NULL), part))
        print_error("'%s' is not in: %s\n", part, thrum_message(NULL));
    assert_non_null(strstr(thrum_message(NULL), part));
}

TEST(a_replica_that_should_have_been_invalidated_is_found)
{
    assert_int_equal(thrum_data_state(changed, 1), THRUM_MODIFIED);
    changed->replicas->of[0].state = THRUM_SHARED;
    assert_found("replicas of 'changed': one is modified, and another is up to date too");
    changed->replicas->of[0].state = THRUM_MODIFIED;
    assert_found("replicas of 'changed': two are modified");
    changed->replicas->of[0].state = THRUM_INVALID;
}

TEST(content_without_memory_is_found)
{
    changed->replicas->of[1].state = THRUM_INVALID;
    changed->replicas->of[2].state = THRUM_SHARED;
    assert_found("one is up to date and has no memory");
    changed->replicas->of[1].state = THRUM_MODIFIED;
    changed->replicas->of[2].state = THRUM_INVALID;
}

TEST(what_policies_are_told_wrong_is_found)
{
    uint64_t where = atomic_load(&changed->replicas->where);
    assert_int_equal(where, 1u << 1);
    atomic_store(&changed->replicas->where, where | 1);
    assert_found("replicas of 'changed': policies are told of other nodes than those where it is");
    atomic_store(&changed->replicas->where, where);
}

TEST(users_that_nobody_is_are_found)
{
    changed->replicas->of[1].users++;
    assert_found("one is in use, but nothing is under way");
    changed->replicas->of[1].users--;
    untouched->replicas->writing++;
    assert_found("it is in use, but nothing is under way");
    untouched->replicas->writing--;
    places->node[1].users++;
    assert_found("node 1: its users are not counted right");
    places->node[1].users--;
}

TEST(memory_that_is_not_counted_right_is_found)
{
    places->node[1].used += 8;
    assert_found("node 1: 400 bytes are in replicas, but 408 count as used");
    places->node[1].used -= 8;
    size_t memory = places->device[0].info.memory;
    places->device[0].info.memory = 399;
    assert_found("node 1: 400 bytes are used of 399");
    places->device[0].info.memory = memory;
}

TEST(copies_that_are_not_counted_right_are_found)
{
    untouched->replicas->of[2].arriving = true;
    assert_found("one arrives and is not in use");
    untouched->replicas->of[2].users++;
    assert_found("the copies under way are not counted right");
    untouched->replicas->of[2].users--;
    untouched->replicas->of[2].arriving = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_replica_that_should_have_been_invalidated_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(content_without_memory_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_policies_are_told_wrong_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(users_that_nobody_is_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memory_that_is_not_counted_right_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copies_that_are_not_counted_right_are_found, set_up, tear_down),
    };
    return RUN_TESTS(tests, 60);
}
