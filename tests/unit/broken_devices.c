/* SPDX-License-Identifier: MIT
 *
 * Devices that break at moments that no test can choose from outside: the kernels of these tests break the device that
 * they run on, and end well.
 */
#include "exec/exec_int.h"
#include "exec/place_int.h"

#include "test.h"

enum { N = 100 };

static thrum_executor *ex;

static thrum_executor *executor_of(const char *devices)
{
    ex = thrum_executor_new(&(thrum_config){.policy = "fifo", .devices = devices});
    if (!ex)
        print_error("%s\n", thrum_message(NULL));
    assert_non_null(ex);
    return ex;
}

static void set_to_2(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        ((int *)b[0].ptr)[i] = 2;
}

/* As if another worker's kernel had failed, or a copy. */
static void set_and_break(const thrum_buffer *b, const void *arg)
{
    thrum__places *places = ex->space.places;
    set_to_2(b, arg);
    thrum__device_break(places, places->node[b[0].node].device, "it smells of smoke");
}

static const thrum_codelet breaking = {.name = "breaking", .emu = set_and_break};
static const thrum_codelet setting = {.name = "setting", .cpu = set_to_2, .emu = set_to_2};

/* What was there before is out of date, though it is all that is left. */
TEST(what_a_task_has_written_is_lost_with_its_device_and_what_was_before_does_not_come_back)
{
    int x[N] = {0};
    executor_of("cpu:1,emu:1");
    thrum_data *data = thrum_data_vector(ex, x, N, sizeof x[0]);
    thrum_flow *flow = thrum_flow_new(ex);
    assert_int_equal(thrum_data_set_name(data, "x"), 0);
    assert_int_equal(thrum_insert(flow, &breaking, THRUM_RW(data)), 0);
    assert_int_equal(thrum_flow_wait(flow), 0);
    assert_error(thrum_data_acquire(data, THRUM_MODE_R, NULL), THRUM_EDEVICE,
                 "the content of 'x' was on emu 0 only and is lost: it smells of smoke");
    assert_int_equal(thrum__places_check(ex->space.places, true), 0);
    assert_int_equal(thrum_insert(flow, &setting, THRUM_W(data)), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_int_equal(x[0], 2);
    assert_int_equal(x[N - 1], 2);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_task_has_written_is_lost_with_its_device_and_what_was_before_does_not_come_back),
    };
    return RUN_TESTS(tests, 60);
}
