/* SPDX-License-Identifier: MIT
 *
 * The SimGrid engine of the task simulator: known answers, and that it agrees with the native engine about anything.
 *
 * A script is a list of operations, each of which begins when another has ended: so it does not matter to what happens
 * in which order an engine tells of ends at the same time, unless a test asks for it. The engines are run by the same
 * lines, SimGrid's in its process.
 */
#include "test.h"

#include "sim/draw.h"
#include "sim/engine_simgrid.h"

#include <math.h>

/* With sanitizers processes are slow to start. */
#if SANITIZED_THREAD || SANITIZED_ADDRESS
enum { SEEDS = 3 };
#else
enum { SEEDS = 30 };
#endif
enum { AT_BEGIN = -1, MOST = 400, PER_SAYING = 100 };

struct op {
    int after; /* an operation, or AT_BEGIN */
    enum { KERNEL, COPY, TIMER } kind;
    int who, to; /* a worker; or from one node to another; or nothing */
    double amount;
};

struct script {
    const thrum__layout *layout;
    const struct op *ops;
    int count;
};

struct outcome {
    double ends[MOST];
    int order[MOST]; /* place in which its end was told */
};

/* ---- Running a script -------------------------------------------------------------------------------------------- */

static void begin_all(const struct script *script, const thrum__engine_ops *ops, thrum__engine *engine, int after)
{
    for (int i = 0; i < script->count; i++) {
        const struct op *op = &script->ops[i];
        if (op->after != after)
            continue;
        int error = op->kind == KERNEL  ? ops->kernel(engine, op->who, op->amount, (uint64_t)i)
                    : op->kind == TIMER ? ops->timer(engine, op->amount, (uint64_t)i)
                                        : ops->copy(engine, op->who, op->to, op->amount, (uint64_t)i);
        if (error)
            abort();
    }
}

static void play(const struct script *script, const thrum__engine_ops *ops, struct outcome *outcome)
{
    thrum__engine *engine = ops->open(script->layout);
    uint64_t ticket;
    int told = 0;
    begin_all(script, ops, engine, AT_BEGIN);
    while (ops->next(engine, &ticket)) {
        outcome->ends[ticket] = ops->now(engine);
        outcome->order[ticket] = told++;
        begin_all(script, ops, engine, (int)ticket);
    }
    if (told != script->count)
        abort();
    ops->close(engine);
}

struct saying {
    int first, count;
    double ends[PER_SAYING];
    int order[PER_SAYING];
};
_Static_assert(sizeof(struct saying) <= THRUM__SAY_MOST, "it can be said");

struct job {
    const struct script *script;
    struct outcome *outcome;
};

static void play_in_simgrid(void *ctx, const thrum__engine_ops *ops, const thrum__keeper *keeper)
{
    const struct job *job = ctx;
    static struct outcome outcome;
    play(job->script, ops, &outcome);
    for (int first = 0; first < job->script->count; first += PER_SAYING) {
        int left = job->script->count - first;
        struct saying saying = {.first = first, .count = left < PER_SAYING ? left : PER_SAYING};
        memcpy(saying.ends, &outcome.ends[first], (size_t)saying.count * sizeof *saying.ends);
        memcpy(saying.order, &outcome.order[first], (size_t)saying.count * sizeof *saying.order);
        thrum__keeper_say(keeper, &saying, sizeof saying);
    }
}

static int hear_outcome(void *ctx, const void *said, size_t length)
{
    const struct job *job = ctx;
    struct saying saying;
    assert_int_equal(length, sizeof saying);
    memcpy(&saying, said, sizeof saying);
    memcpy(&job->outcome->ends[saying.first], saying.ends, (size_t)saying.count * sizeof *saying.ends);
    memcpy(&job->outcome->order[saying.first], saying.order, (size_t)saying.count * sizeof *saying.order);
    return 0;
}

static void simulate(const struct script *script, struct outcome *outcome)
{
    struct job job = {script, outcome};
    memset(outcome, 0, sizeof *outcome);
    if (thrum__tasks_in_simgrid(&(thrum__tasks_job){script->layout, play_in_simgrid, hear_outcome, &job}) != 0)
        fail_msg("%s", thrum_message(NULL));
}

/* ---- A machine by hand ------------------------------------------------------------------------------------------- */

/* Two cores at node 0, two devices at nodes 1 and 2 with three workers each. Links of 10 bytes a second are lines, in
 * each direction, and share roots of 15; from device to device it goes over both links, and the latency is 0.5
 * longer. */
enum { UP, DOWN = 2, ROOT_UP = 4, ROOT_DOWN, CHANNELS };
static thrum_place places[] = {
    {0, THRUM_ARCH_CPU, 0, -1}, {1, THRUM_ARCH_CPU, 0, -1}, {2, THRUM_ARCH_EMU, 1, 0}, {3, THRUM_ARCH_EMU, 1, 0},
    {4, THRUM_ARCH_EMU, 1, 0},  {5, THRUM_ARCH_EMU, 2, 1},  {6, THRUM_ARCH_EMU, 2, 1}, {7, THRUM_ARCH_EMU, 2, 1},
};
enum { WORKERS = sizeof places / sizeof *places, NODES = 3 };
static thrum__site sites[WORKERS];
static int node_kinds[] = {THRUM__CORE, 0, 0};
static thrum__channel channels[] = {{10, true}, {10, true}, {10, true}, {10, true}, {15, false}, {15, false}};
static thrum__way ways[NODES * NODES] = {
    [0 * NODES + 1] = {{ROOT_DOWN, DOWN}, 2, 0.25, -1}, [0 * NODES + 2] = {{ROOT_DOWN, DOWN + 1}, 2, 0.25, -1},
    [1 * NODES + 0] = {{UP, ROOT_UP}, 2, 0.25, -1},     [2 * NODES + 0] = {{UP + 1, ROOT_UP}, 2, 0.25, -1},
    [1 * NODES + 2] = {{UP, DOWN + 1}, 2, 0.75, -1},    [2 * NODES + 1] = {{UP + 1, DOWN}, 2, 0.75, -1},
};
static const thrum__layout machine = {
    .worker_count = WORKERS,
    .node_count = NODES,
    .device_count = 2,
    .channel_count = CHANNELS,
    .workers = sites,
    .places = places,
    .node_kind = node_kinds,
    .channels = channels,
    .ways = ways,
};

static int fill_sites(void **state)
{
    (void)state;
    for (int i = 0; i < WORKERS; i++)
        sites[i] = (thrum__site){places[i], 0, places[i].device >= 0 ? 0 : THRUM__CORE, places[i].device};
    return 0;
}

static void expect(const struct op *ops, int count, const double *ends)
{
    struct outcome outcome;
    simulate(&(struct script){&machine, ops, count}, &outcome);
    for (int i = 0; i < count; i++)
        if (fabs(outcome.ends[i] - ends[i]) > 1e-12 * ends[i])
            fail_msg("operation %d ended at %.17g, not at %.17g", i, outcome.ends[i], ends[i]);
}

#define EXPECT(ops, ...) expect(ops, (int)(sizeof(ops) / sizeof *(ops)), (const double[]){__VA_ARGS__})

/* ---- Known answers ----------------------------------------------------------------------------------------------- */

static void nothing_under_way_is_the_end(void **state)
{
    (void)state;
    struct outcome outcome;
    simulate(&(struct script){&machine, NULL, 0}, &outcome);
}

static void cores_do_not_share(void **state)
{
    (void)state;
    static const struct op ops[] = {{AT_BEGIN, KERNEL, 0, 0, 3}, {AT_BEGIN, KERNEL, 1, 0, 5}, {0, KERNEL, 0, 0, 1}};
    EXPECT(ops, 3, 5, 4);
}

static void a_timer_disturbs_nobody(void **state)
{
    (void)state;
    static const struct op ops[] = {{AT_BEGIN, KERNEL, 0, 0, 3}, {AT_BEGIN, KERNEL, 1, 0, 5},
                                    {AT_BEGIN, TIMER, 0, 0, 2},  {2, TIMER, 0, 0, 2},
                                    {3, TIMER, 0, 0, 0},         {AT_BEGIN, KERNEL, 2, 0, 4.5}};
    EXPECT(ops, 3, 5, 2, 4, 4, 4.5);
}

/* Of device 0: 2 and 3 seconds share from 0, the first ends at 4; one second more comes at 4 and shares with the last
 * second of the other. A kernel of device 1 meets none of them. */
static void kernels_of_a_device_share_it(void **state)
{
    (void)state;
    static const struct op ops[] = {
        {AT_BEGIN, KERNEL, 2, 0, 2}, {AT_BEGIN, KERNEL, 3, 0, 3}, {0, KERNEL, 4, 0, 2}, {AT_BEGIN, KERNEL, 5, 0, 2.5}};
    EXPECT(ops, 4, 6, 7, 2.5);
}

static void a_copy_takes_latency_and_bytes(void **state)
{
    (void)state;
    static const struct op ops[] = {{AT_BEGIN, COPY, 0, 1, 20}, {AT_BEGIN, COPY, 1, 0, 5}};
    EXPECT(ops, 2.25, 0.75); /* directions have nothing of each other */
}

static void copies_of_a_line_wait_for_each_other_with_their_latency(void **state)
{
    (void)state;
    static const struct op ops[] = {
        {AT_BEGIN, COPY, 0, 1, 20}, {AT_BEGIN, COPY, 0, 1, 10}, {1, COPY, 0, 1, 5}, {AT_BEGIN, COPY, 0, 1, 0}};
    EXPECT(ops, 2.25, 3.5, 4.5, 3.75); /* the last of them is third in the line, for it was there when the third came */
}

/* 7.5 each while both are there. */
static void two_links_share_a_root(void **state)
{
    (void)state;
    static const struct op ops[] = {{AT_BEGIN, COPY, 0, 1, 15}, {AT_BEGIN, COPY, 0, 2, 25}};
    EXPECT(ops, 2.25, 3.25);
}

/* From device 1 to 0: it has the link up of one and the link down of the other, over no root. So what goes up from
 * device 1 waits, and so does what goes down to device 0. Those that come after wait too, though one of their lines is
 * free. */
static void a_copy_over_two_links_has_both(void **state)
{
    (void)state;
    static const struct op ops[] = {
        {AT_BEGIN, COPY, 2, 1, 20}, {AT_BEGIN, COPY, 2, 0, 10}, {AT_BEGIN, COPY, 1, 2, 10}, {AT_BEGIN, COPY, 0, 1, 10}};
    EXPECT(ops, 2.75, 4, 1.75, 4);
}

/* Device to device has 0.75 of latency, the others 0.25, on one channel that is made to be shared: the longer latency
 * is no smaller share. */
static void latency_does_not_change_shares(void **state)
{
    (void)state;
    static const struct op ops[] = {{AT_BEGIN, COPY, 0, 1, 10}, {AT_BEGIN, COPY, 2, 1, 10}};
    channels[DOWN].line = false;
    /* 5 bytes until 0.75 by the first alone; 5 each until 1.75; and 5 more of the second alone */
    EXPECT(ops, 1.75, 2.25);
    channels[DOWN].line = true;
}

static void a_channel_without_limit_takes_the_latency_alone(void **state)
{
    (void)state;
    static const struct op ops[] = {{AT_BEGIN, COPY, 0, 1, 1e9}, {AT_BEGIN, COPY, 0, 1, 1e9}, {1, COPY, 0, 2, 10}};
    channels[DOWN].bandwidth = channels[ROOT_DOWN].bandwidth = INFINITY;
    EXPECT(ops, 0.25, 0.5, 1.75);
    channels[DOWN].bandwidth = 10;
    channels[ROOT_DOWN].bandwidth = 15;
}

/* In the order of their beginning: also what takes no time, behind all that have begun before. */
static void ends_of_one_moment_come_in_the_order_of_beginning(void **state)
{
    (void)state;
    static const struct op ops[] = {
        {AT_BEGIN, COPY, 0, 1, 20},      /* 2.25 */
        {AT_BEGIN, KERNEL, 0, 0, 2.25},  /* 2.25 */
        {AT_BEGIN, KERNEL, 2, 0, 1.125}, /* 2.25: shared */
        {AT_BEGIN, KERNEL, 3, 0, 1.125}, /* 2.25 */
        {0, KERNEL, 1, 0, 0},            /* 2.25, after 3 */
        {4, COPY, 1, 0, 0},              /* 2.5 */
        {3, KERNEL, 3, 0, 0.25},         /* 2.5, but began before 5 */
    };
    static const int order[] = {0, 1, 2, 3, 4, 6, 5};
    struct outcome outcome;
    simulate(&(struct script){&machine, ops, 7}, &outcome);
    for (int i = 0; i < 7; i++) {
        assert_true(outcome.ends[i] == (i < 5 ? 2.25 : 2.5));
        if (outcome.order[i] != order[i])
            fail_msg("operation %d was told in place %d", i, outcome.order[i]);
    }
}

/* The clock is exact for long simulations, and for short times in them. */
static void short_times_after_long_ones_are_kept(void **state)
{
    (void)state;
    static const struct op ops[] = {{AT_BEGIN, KERNEL, 0, 0, 1e6}, {0, KERNEL, 0, 0, 1e-6}, {1, KERNEL, 0, 0, 1e-6}};
    EXPECT(ops, 1e6, 1e6 + 1e-6, 1e6 + 2e-6);
    struct outcome outcome;
    simulate(&(struct script){&machine, ops, 3}, &outcome);
    assert_true(outcome.ends[1] > outcome.ends[0] && outcome.ends[2] > outcome.ends[1]);
}

static void die(void *ctx, const thrum__engine_ops *ops, const thrum__keeper *keeper)
{
    (void)ctx, (void)ops, (void)keeper;
    fprintf(stderr, "the sky fell\nin pieces\n");
    abort();
}

static void give_up(void *ctx, const thrum__engine_ops *ops, const thrum__keeper *keeper)
{
    (void)ctx, (void)ops;
    thrum__keeper_fail(keeper, "nothing to be done");
}

static void a_simulation_that_fails_says_why(void **state)
{
    (void)state;
    assert_int_equal(thrum__tasks_in_simgrid(&(thrum__tasks_job){&machine, die, hear_outcome, NULL}), THRUM_ESYSTEM);
    assert_string_equal(thrum_message(NULL), "the process of the SimGrid engine ended too early: the sky fell");
    assert_int_equal(thrum__tasks_in_simgrid(&(thrum__tasks_job){&machine, give_up, hear_outcome, NULL}),
                     THRUM_ESYSTEM);
    assert_string_equal(thrum_message(NULL), "nothing to be done");
}

/* ---- Both engines ------------------------------------------------------------------------------------------------ */

enum { RANDOM_WORKERS = 14, RANDOM_NODES = 6, RANDOM_CHANNELS = 9 };

static struct {
    thrum__stream stream;
    thrum_place places[RANDOM_WORKERS];
    thrum__site sites[RANDOM_WORKERS];
    int kinds[RANDOM_NODES];
    thrum__channel channels[RANDOM_CHANNELS];
    thrum__way ways[RANDOM_NODES * RANDOM_NODES];
    struct op ops[MOST];
    thrum__layout layout;
} random_machine;

static int below(int count)
{
    return (int)(thrum__draw_bits(&random_machine.stream) % (uint64_t)count);
}

static double unit(void)
{
    return thrum__draw_unit(&random_machine.stream);
}

/* Over one to four channels, each once. Some have no latency. */
static thrum__way random_way(void)
{
    thrum__way way = {.count = 1 + below(4), .latency = below(4) ? unit() : 0, .via = -1};
    for (int i = 0, first = below(RANDOM_CHANNELS); i < way.count; i++)
        way.channel[i] = (first + 2 * i) % RANDOM_CHANNELS;
    return way;
}

/* Two memories with cores, and devices: workers are dealt to them in turns. */
static void draw_machine(void)
{
    for (int i = 0; i < RANDOM_NODES; i++)
        random_machine.kinds[i] = i < 2 ? THRUM__CORE : 0;
    for (int i = 0; i < RANDOM_WORKERS; i++) {
        int node = i % RANDOM_NODES;
        random_machine.places[i] =
            (thrum_place){i, node < 2 ? THRUM_ARCH_CPU : THRUM_ARCH_EMU, node, node < 2 ? -1 : node - 2};
        random_machine.sites[i] =
            (thrum__site){random_machine.places[i], 0, random_machine.kinds[node], random_machine.places[i].device};
    }
    for (int i = 0; i < RANDOM_CHANNELS; i++)
        random_machine.channels[i] = (thrum__channel){below(8) ? 1e9 * (0.1 + unit()) : INFINITY, below(3) == 0};
    for (int i = 0; i < RANDOM_NODES * RANDOM_NODES; i++)
        random_machine.ways[i] = random_way();
    random_machine.layout = (thrum__layout){
        .worker_count = RANDOM_WORKERS,
        .node_count = RANDOM_NODES,
        .device_count = RANDOM_NODES - 2,
        .channel_count = RANDOM_CHANNELS,
        .workers = random_machine.sites,
        .places = random_machine.places,
        .node_kind = random_machine.kinds,
        .channels = random_machine.channels,
        .ways = random_machine.ways,
    };
}

static struct op random_copy(int after)
{
    int from = below(RANDOM_NODES), to = (from + 1 + below(RANDOM_NODES - 1)) % RANDOM_NODES;
    return (struct op){after, COPY, from, to, below(10) ? floor(1e9 * unit()) : 0};
}

/* Each worker does one thing after another, kernels and now and then a copy; others are begun by anything. */
static void draw_script(void)
{
    int last[RANDOM_WORKERS];
    for (int i = 0; i < RANDOM_WORKERS; i++)
        last[i] = AT_BEGIN;
    for (int i = 0; i < MOST; i++) {
        int worker = below(RANDOM_WORKERS);
        struct op *op = &random_machine.ops[i];
        if (below(3) == 0) {
            *op = random_copy(i ? below(i) : AT_BEGIN);
            continue;
        }
        *op =
            below(3) ? (struct op){last[worker], KERNEL, worker, 0, below(10) ? unit() : 0} : random_copy(last[worker]);
        last[worker] = i;
    }
}

/* What ends at the same time by adding different numbers is told in an order that a rounding decides. */
static void compare_orders(const struct outcome *native, const struct outcome *simgrid, uint64_t seed)
{
    int told[MOST];
    for (int i = 0; i < MOST; i++)
        told[simgrid->order[i]] = i;
    for (int i = 1; i < MOST; i++) {
        int before = told[i - 1], after = told[i];
        if (native->order[before] > native->order[after] && native->ends[before] > native->ends[after] * (1 + 1e-12))
            fail_msg("seed %d: SimGrid tells of operation %d before %d", (int)seed, before, after);
    }
}

static void compare_engines(uint64_t seed)
{
    static struct outcome native, simgrid;
    random_machine.stream = thrum__stream_of(seed, 0);
    draw_machine();
    draw_script();
    struct script script = {&random_machine.layout, random_machine.ops, MOST};
    play(&script, &thrum__engine_native, &native);
    simulate(&script, &simgrid);
    for (int i = 0; i < MOST; i++)
        if (!(fabs(native.ends[i] - simgrid.ends[i]) <= 1e-12 * native.ends[i]))
            fail_msg("seed %d: operation %d ends at %.17g, with SimGrid at %.17g", (int)seed, i, native.ends[i],
                     simgrid.ends[i]);
    compare_orders(&native, &simgrid, seed);
}

static void both_engines_agree_on_random_operations(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        compare_engines(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_under_way_is_the_end),
        cmocka_unit_test(cores_do_not_share),
        cmocka_unit_test(a_timer_disturbs_nobody),
        cmocka_unit_test(kernels_of_a_device_share_it),
        cmocka_unit_test(a_copy_takes_latency_and_bytes),
        cmocka_unit_test(copies_of_a_line_wait_for_each_other_with_their_latency),
        cmocka_unit_test(two_links_share_a_root),
        cmocka_unit_test(a_copy_over_two_links_has_both),
        cmocka_unit_test(latency_does_not_change_shares),
        cmocka_unit_test(a_channel_without_limit_takes_the_latency_alone),
        cmocka_unit_test(ends_of_one_moment_come_in_the_order_of_beginning),
        cmocka_unit_test(short_times_after_long_ones_are_kept),
        cmocka_unit_test(a_simulation_that_fails_says_why),
        cmocka_unit_test(both_engines_agree_on_random_operations),
    };
    return cmocka_run_group_tests(tests, fill_sites, NULL);
}
