/* SPDX-License-Identifier: MIT
 *
 * The native engine of the task simulator: known answers for kernels that share a device and copies that share
 * channels, and what must be true of any of them, on random machines.
 */
#include "scarcity.h"
#include "random.h"

#include "sim/engine.h"

#include <math.h>

static const thrum__engine_ops *const native = &thrum__engine_native;

/* ---- A machine --------------------------------------------------------------------------------------------------- */

/* Two cores (workers 0 and 1), device 0 (workers 2, 3 and 4, node 1), device 1 (worker 5, node 2). Each device has a
 * line up and a line down of 10 bytes a second and a latency of 1 s; all ways down share a root of 15, all up one of
 * 100. Devices reach each other directly, which takes the line up of the one and the line down of the other. */
enum { UP1, DOWN1, UP2, DOWN2, ROOT_DOWN, ROOT_UP, CHANNELS };
enum { WORKERS = 6, NODES = 3 };
static thrum__channel channels[CHANNELS];
static thrum__site sites[WORKERS];
static thrum__way ways[NODES * NODES];
static thrum__layout machine;

static void set_way(int from, int to, double latency, int first, int second)
{
    thrum__way *way = &ways[from * NODES + to];
    *way = (thrum__way){.latency = latency, .via = -1};
    if (first >= 0)
        way->channel[way->count++] = first;
    if (second >= 0)
        way->channel[way->count++] = second;
}

static void machine_make(void)
{
    for (int i = UP1; i <= DOWN2; i++)
        channels[i] = (thrum__channel){10, true};
    channels[ROOT_DOWN] = (thrum__channel){15, false};
    channels[ROOT_UP] = (thrum__channel){100, false};
    for (int i = 0; i < WORKERS; i++)
        sites[i] = (thrum__site){.kind = i < 2 ? THRUM__CORE : 0, .core_of = i < 2 ? -1 : i < 5 ? 0 : 1};
    set_way(0, 1, 1, DOWN1, ROOT_DOWN);
    set_way(0, 2, 1, DOWN2, ROOT_DOWN);
    set_way(1, 0, 1, UP1, ROOT_UP);
    set_way(2, 0, 1, UP2, ROOT_UP);
    set_way(1, 2, 1, UP1, DOWN2);
    set_way(2, 1, 1, UP2, DOWN1);
    machine = (thrum__layout){.worker_count = WORKERS,
                              .node_count = NODES,
                              .device_count = 2,
                              .channel_count = CHANNELS,
                              .workers = sites,
                              .channels = channels,
                              .ways = ways};
}

static thrum__engine *engine_new(void)
{
    machine_make();
    thrum__engine *engine = native->open(&machine);
    assert_non_null(engine);
    assert_true(native->now(engine) == 0);
    return engine;
}

static void expect(thrum__engine *engine, uint64_t ticket, double time)
{
    uint64_t ended = 0;
    assert_true(native->next(engine, &ended));
    if (ended != ticket || fabs(native->now(engine) - time) > 1e-12 * (1 + time))
        print_error("%d ended at %.17g, not %d at %.17g\n", (int)ended, native->now(engine), (int)ticket, time);
    assert_int_equal(ended, ticket);
    assert_true(fabs(native->now(engine) - time) <= 1e-12 * (1 + time));
}

static void expect_rest(thrum__engine *engine)
{
    uint64_t ticket = 77;
    assert_false(native->next(engine, &ticket));
    assert_int_equal(ticket, 77);
    native->close(engine);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

TEST(nothing_is_under_way_at_first)
{
    thrum__engine *engine = engine_new();
    assert_string_equal(native->name, "native");
    expect_rest(engine);
    native->close(NULL);
}

TEST(cores_do_not_disturb_each_other)
{
    thrum__engine *engine = engine_new();
    native->kernel(engine, 0, 3, 10);
    native->kernel(engine, 1, 2, 11);
    expect(engine, 11, 2);
    native->kernel(engine, 1, 0.5, 12);
    expect(engine, 12, 2.5);
    expect(engine, 10, 3);
    expect_rest(engine);
}

TEST(a_timer_disturbs_nobody)
{
    thrum__engine *engine = engine_new();
    native->kernel(engine, 0, 3, 10);
    native->kernel(engine, 5, 1, 11);
    native->timer(engine, 2, UINT64_MAX);
    expect(engine, 11, 1);
    expect(engine, UINT64_MAX, 2);
    native->timer(engine, 1, 7); /* began after the kernel that ends at the same time */
    native->copy(engine, 0, 1, 20, 12);
    expect(engine, 10, 3);
    expect(engine, 7, 3);
    expect(engine, 12, 5);
    expect_rest(engine);
}

/* 4 s and 2 s begin together: at half speed the shorter ends at 4, having had 2; the other has 2 s left and is
 * alone. */
TEST(two_kernels_share_a_device_evenly)
{
    thrum__engine *engine = engine_new();
    native->kernel(engine, 2, 4, 1);
    native->kernel(engine, 3, 2, 2);
    expect(engine, 2, 4);
    expect(engine, 1, 6);
    expect_rest(engine);
}

/* Alone until 1, which leaves 2 of 3 s. With another of 1 s until that is done at 3, which leaves 1 s: done at 4. */
TEST(a_kernel_that_comes_later_slows_the_first_one_down)
{
    thrum__engine *engine = engine_new();
    native->kernel(engine, 2, 3, 1);
    native->kernel(engine, 0, 1, 2);
    expect(engine, 2, 1);
    native->kernel(engine, 3, 1, 3);
    expect(engine, 3, 3);
    expect(engine, 1, 4);
    expect_rest(engine);
}

TEST(devices_do_not_disturb_each_other)
{
    thrum__engine *engine = engine_new();
    for (int worker = 2; worker < 6; worker++)
        native->kernel(engine, worker, 2, (uint64_t)worker);
    expect(engine, 5, 2);
    for (uint64_t worker = 2; worker < 5; worker++)
        expect(engine, worker, 6);
    expect_rest(engine);
}

/* A device's clock begins anew when it has been idle, and equal kernels end in the order of their beginning. */
TEST(what_ends_at_the_same_time_ends_in_the_order_of_beginning)
{
    thrum__engine *engine = engine_new();
    native->kernel(engine, 3, 0.1, 1);
    expect(engine, 1, 0.1);
    native->kernel(engine, 4, 0.7, 2);
    native->kernel(engine, 2, 0.7, 3);
    native->kernel(engine, 0, 1.4, 4);
    native->kernel(engine, 3, 0, 5);
    expect(engine, 5, 0.1);
    expect(engine, 2, 1.5);
    expect(engine, 3, 1.5);
    expect(engine, 4, 1.5);
    expect_rest(engine);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

TEST(a_copy_takes_its_latency_and_its_bytes)
{
    thrum__engine *engine = engine_new();
    native->copy(engine, 0, 1, 50, 1);
    expect(engine, 1, 6);
    native->copy(engine, 1, 0, 0, 2);
    expect(engine, 2, 7);
    expect_rest(engine);
}

/* The second waits for the first one's end, and then for its own latency; the other way is free. */
TEST(copies_on_a_line_come_one_after_the_other)
{
    thrum__engine *engine = engine_new();
    native->copy(engine, 0, 1, 50, 1);
    native->copy(engine, 0, 1, 20, 2);
    native->copy(engine, 1, 0, 70, 3);
    native->copy(engine, 0, 1, 10, 4);
    expect(engine, 1, 6);
    expect(engine, 3, 8);
    expect(engine, 2, 9);
    expect(engine, 4, 11);
    expect_rest(engine);
}

/* Two of 60 bytes share 15 a second: both are through at 1 + 60/7.5. */
TEST(copies_to_two_devices_share_the_root)
{
    thrum__engine *engine = engine_new();
    native->copy(engine, 0, 1, 60, 1);
    native->copy(engine, 0, 2, 60, 2);
    expect(engine, 1, 9);
    expect(engine, 2, 9);
    expect_rest(engine);
}

/* From 1 on both have 7.5 a second. At 3 the smaller is through, with 15 bytes, and the other has 45 left, at 10 a
 * second. */
TEST(the_rest_of_a_copy_has_what_another_leaves)
{
    thrum__engine *engine = engine_new();
    native->copy(engine, 0, 1, 60, 1);
    native->copy(engine, 0, 2, 15, 2);
    expect(engine, 2, 3);
    expect(engine, 1, 7.5);
    expect_rest(engine);
}

/* On a slow line of 4 a copy has those 4, and the other one the rest of the root: 10 of 11, by its own line. */
TEST(shares_are_max_min_fair)
{
    thrum__engine *engine = engine_new();
    channels[DOWN1].bandwidth = 4;
    native->copy(engine, 0, 1, 40, 1);
    native->copy(engine, 0, 2, 70, 2);
    expect(engine, 2, 8);
    expect(engine, 1, 11);
    channels[ROOT_DOWN].bandwidth = 12; /* 4 and 8 */
    native->copy(engine, 0, 1, 40, 3);
    native->copy(engine, 0, 2, 72, 4);
    expect(engine, 4, 21);
    expect(engine, 3, 22);
    expect_rest(engine);
}

/* A copy between devices needs two lines at once. The one behind it on either of them waits, though the other may be
 * free. */
TEST(a_copy_waits_for_all_of_its_lines)
{
    thrum__engine *engine = engine_new();
    native->copy(engine, 0, 2, 40, 1); /* has DOWN2 until 5 */
    native->copy(engine, 1, 2, 20, 2); /* waits for DOWN2, until 8 */
    native->copy(engine, 1, 0, 30, 3); /* behind it on UP1, until 12 */
    native->copy(engine, 2, 0, 30, 4); /* has UP2, until 4 */
    expect(engine, 4, 4);
    expect(engine, 1, 5);
    expect(engine, 2, 8);
    expect(engine, 3, 12);
    expect_rest(engine);
}

TEST(without_channels_there_is_only_the_latency)
{
    thrum__engine *engine = engine_new();
    set_way(0, 1, 2, -1, -1);
    for (uint64_t i = 0; i < 1000; i++)
        native->copy(engine, 0, 1, 1e9, i);
    for (uint64_t i = 0; i < 1000; i++)
        expect(engine, i, 2);
    expect_rest(engine);
}

TEST(a_channel_without_a_limit_takes_no_time)
{
    thrum__engine *engine = engine_new();
    channels[DOWN1].bandwidth = channels[ROOT_DOWN].bandwidth = INFINITY;
    native->copy(engine, 0, 1, 1e9, 1);
    native->copy(engine, 0, 1, 1e9, 2);
    native->copy(engine, 0, 2, 20, 3);
    expect(engine, 1, 1);
    expect(engine, 2, 2);
    expect(engine, 3, 3);
    expect_rest(engine);
}

/* Many that share one channel and no line: each has an equal part of it. */
TEST(any_number_of_copies_shares_a_channel)
{
    enum { COPIES = 300 };
    thrum__engine *engine = engine_new();
    set_way(0, 1, 0, ROOT_DOWN, -1);
    for (uint64_t i = 0; i < COPIES; i++)
        native->copy(engine, 0, 1, 15.0 * (double)(i + 1), i);
    double time = 0;
    for (uint64_t i = 0; i < COPIES; i++) {
        time += (double)(COPIES - i); /* each has 15 bytes to go less than the next */
        expect(engine, i, time);
    }
    expect_rest(engine);
}

TEST(kernels_and_copies_do_not_disturb_each_other)
{
    thrum__engine *engine = engine_new();
    native->copy(engine, 0, 1, 50, 1);
    native->kernel(engine, 2, 6, 2);
    native->kernel(engine, 0, 6, 3);
    expect(engine, 1, 6);
    expect(engine, 2, 6);
    expect(engine, 3, 6);
    expect_rest(engine);
}

/* ---- Anything ---------------------------------------------------------------------------------------------------- */

enum { SEEDS = 60, STEPS = 400, OPERATIONS = 2000 };

struct operation {
    int from, to; /* of a copy; of a kernel from is its worker, to -1 */
    double size, begun, ended;
};

struct load {
    struct operation of[OPERATIONS];
    int count, under_way;
    bool busy[WORKERS];
};

static void begin_something(thrum__engine *engine, struct load *load, struct random *random)
{
    struct operation *o = &load->of[load->count];
    o->begun = native->now(engine);
    o->ended = -1;
    o->size = (double)random_below(random, 40);
    if (random_chance(random, 50)) {
        int worker = (int)random_below(random, WORKERS);
        if (load->busy[worker])
            return;
        load->busy[worker] = true;
        o->from = worker;
        o->to = -1;
        native->kernel(engine, worker, o->size, (uint64_t)load->count);
    } else {
        o->from = (int)random_below(random, NODES);
        o->to = (o->from + 1 + (int)random_below(random, NODES - 1)) % NODES;
        native->copy(engine, o->from, o->to, o->size, (uint64_t)load->count);
    }
    load->count++;
    load->under_way++;
}

static double least_seconds(const struct operation *o)
{
    return o->to < 0 ? o->size : 1 + o->size / 10;
}

static bool end_something(thrum__engine *engine, struct load *load)
{
    uint64_t ticket;
    double before = native->now(engine);
    if (!native->next(engine, &ticket))
        return false;
    struct operation *o = &load->of[ticket];
    assert_true(ticket < (uint64_t)load->count && o->ended < 0);
    o->ended = native->now(engine);
    assert_true(o->ended >= before && o->ended - o->begun >= least_seconds(o) * (1 - 1e-9));
    if (o->to < 0)
        load->busy[o->from] = false;
    load->under_way--;
    return true;
}

/* Work is neither lost nor done faster than the device can: in the time from the first beginning to the last end the
 * kernels of a device have had at least their sum, and so have copies on a line. */
static void check_load(const struct load *load, bool copies, int from, int to)
{
    double sum = 0, first = INFINITY, last = 0;
    for (int i = 0; i < load->count; i++) {
        const struct operation *o = &load->of[i];
        bool counts = copies ? o->from == from && o->to == to : o->to < 0 && o->from >= from && o->from < to;
        if (!counts)
            continue;
        sum += least_seconds(o);
        first = fmin(first, o->begun);
        last = fmax(last, o->ended);
    }
    assert_true(sum == 0 || last - first >= sum * (1 - 1e-9));
}

TEST(everything_that_begins_ends_once_and_not_too_early)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct random random = random_new(seed);
        static struct load load;
        load = (struct load){0};
        thrum__engine *engine = engine_new();
        for (int i = 0; i < STEPS; i++) {
            if (random_chance(&random, 55) && load.count < OPERATIONS)
                begin_something(engine, &load, &random);
            else
                end_something(engine, &load);
        }
        while (end_something(engine, &load))
            ;
        assert_int_equal(load.under_way, 0);
        check_load(&load, false, 2, 5);
        check_load(&load, false, 5, 6);
        for (int from = 0; from < NODES; from++)
            for (int to = 0; to < NODES; to++)
                check_load(&load, true, from, to);
        native->close(engine);
    }
}

/* ---- Without memory ---------------------------------------------------------------------------------------------- */

static enum outcome copies_in_scarcity(void)
{
    machine_make();
    thrum__engine *engine = native->open(&machine);
    int err = engine ? 0 : THRUM_ENOMEM, ended = 0;
    uint64_t ticket;
    set_way(0, 1, 1, -1, -1);
    for (uint64_t i = 0; i < 200 && !err; i++)
        err = native->copy(engine, 0, i % 2 ? 1 : 2, 10, i);
    while (engine && !err && native->next(engine, &ticket))
        ended++;
    native->close(engine);
    return outcome_of(err, ended == 200);
}

TEST(without_memory_an_error_is_told)
{
    exhaust(copies_in_scarcity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_under_way_at_first),
        cmocka_unit_test(cores_do_not_disturb_each_other),
        cmocka_unit_test(a_timer_disturbs_nobody),
        cmocka_unit_test(two_kernels_share_a_device_evenly),
        cmocka_unit_test(a_kernel_that_comes_later_slows_the_first_one_down),
        cmocka_unit_test(devices_do_not_disturb_each_other),
        cmocka_unit_test(what_ends_at_the_same_time_ends_in_the_order_of_beginning),
        cmocka_unit_test(a_copy_takes_its_latency_and_its_bytes),
        cmocka_unit_test(copies_on_a_line_come_one_after_the_other),
        cmocka_unit_test(copies_to_two_devices_share_the_root),
        cmocka_unit_test(the_rest_of_a_copy_has_what_another_leaves),
        cmocka_unit_test(shares_are_max_min_fair),
        cmocka_unit_test(a_copy_waits_for_all_of_its_lines),
        cmocka_unit_test(without_channels_there_is_only_the_latency),
        cmocka_unit_test(a_channel_without_a_limit_takes_no_time),
        cmocka_unit_test(any_number_of_copies_shares_a_channel),
        cmocka_unit_test(kernels_and_copies_do_not_disturb_each_other),
        cmocka_unit_test(everything_that_begins_ends_once_and_not_too_early),
        cmocka_unit_test(without_memory_an_error_is_told),
    };
    return RUN_TESTS(tests, 60);
}
