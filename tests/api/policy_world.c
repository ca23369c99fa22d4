/* SPDX-License-Identifier: MIT
 *
 * What a policy is told of the real machine: who can run a task, where its data is, and how long that would take to
 * come.
 */
#include "test.h"

enum { N = 1000, WORKERS = 3, NODES = 3 }; /* a processor and two devices, or what comes first of them */

/* ---- A policy that asks ------------------------------------------------------------------------------------------ */

/* Of the last push. */
static struct told {
    bool can_run[WORKERS], is_on[NODES];
    uint64_t where;
    double transfer[NODES];
    bool beyond; /* something that is not there seems to be */
} told;

static void ask(const thrum_world *world, const thrum_job *job)
{
    told = (struct told){0};
    for (int worker = 0; worker < world->workers && worker < WORKERS; worker++)
        told.can_run[worker] = world->can_run(world, job, worker);
    for (int node = 0; node < world->nodes && node < NODES; node++) {
        told.is_on[node] = world->is_on(world, job->data[0].data, node);
        told.transfer[node] = world->transfer_seconds(world, job, node);
    }
    told.where = world->where(world, job->data[0].data);
    static const int beyond[] = {-1, 100};
    for (size_t i = 0; i < COUNT_OF(beyond); i++)
        told.beyond |= world->can_run(world, job, beyond[i]) || world->is_on(world, job->data[0].data, beyond[i]) ||
                       world->seconds(world, job, beyond[i]) >= 0 ||
                       world->transfer_seconds(world, job, beyond[i]) != 0 ||
                       world->link_seconds(world, 0, beyond[i], N) != 0;
}

typedef struct stack {
    thrum_job *top;
} stack;

static void push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    stack *s = state;
    (void)from;
    ask(world, job);
    job->link = s->top;
    s->top = job;
    for (int worker = 0; worker < world->workers; worker++)
        world->wake(world, worker);
    world->wake(world, 100); /* nobody */
}

static thrum_job *pop(void *state, const thrum_world *world, int worker)
{
    stack *s = state;
    thrum_job *job = s->top;
    if (!job || !world->can_run(world, job, worker))
        return NULL;
    s->top = job->link;
    return job;
}

static const thrum_policy asking = {.name = "asking", .state_bytes = sizeof(stack), .push = push, .pop = pop};

/* ---- Tasks, one at a time ---------------------------------------------------------------------------------------- */

static void set(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    memset(b[0].ptr, 1, b[0].extent[0]);
}

static const thrum_codelet setting = {.name = "setting", .cpu = set, .emu = set};
static const thrum_codelet setting_emu = {.name = "setting_emu", .emu = set};

static thrum_executor *ex;
static thrum_flow *flow;
static thrum_data *data;
static char memory[N];

static void begin(const char *devices)
{
    ex = thrum_executor_new(&(thrum_config){.policy = "asking", .devices = devices});
    if (!ex)
        print_error("%s\n", thrum_message(NULL));
    assert_non_null(ex);
    data = thrum_data_vector(ex, memory, N, 1);
    flow = thrum_flow_new(ex);
    assert_true(data && flow);
}

static void end(void)
{
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void run(const thrum_codelet *codelet, enum thrum_mode mode, thrum_item where)
{
    assert_int_equal(thrum_insert(flow, codelet, THRUM_ACCESS(mode, data), where), 0);
    assert_int_equal(thrum_flow_wait(flow), 0);
    assert_false(told.beyond);
}

static void assert_can_run(bool processor, bool first_device, bool second_device)
{
    assert_int_equal(told.can_run[0], processor);
    assert_int_equal(told.can_run[1], first_device);
    assert_int_equal(told.can_run[2], second_device);
}

/* ---- Who can run it ---------------------------------------------------------------------------------------------- */

TEST(all_that_have_an_implementation_can_run_it)
{
    begin("cpu:1,emu:2");
    run(&setting, THRUM_MODE_RW, THRUM_NONE);
    assert_can_run(true, true, true);
    run(&setting_emu, THRUM_MODE_RW, THRUM_NONE);
    assert_can_run(false, true, true);
    end();
}

TEST(only_the_worker_that_it_is_for_can_run_it)
{
    begin("cpu:1,emu:2");
    for (int worker = 0; worker < WORKERS; worker++) {
        run(&setting, THRUM_MODE_RW, THRUM_ON_WORKER(worker));
        assert_can_run(worker == 0, worker == 1, worker == 2);
    }
    end();
}

TEST(a_device_with_too_little_memory_cannot_run_it)
{
    begin("cpu:1,emu:1;memory=999B,emu:1;memory=1000B");
    run(&setting, THRUM_MODE_RW, THRUM_NONE);
    assert_can_run(true, false, true);
    end();
}

TEST(a_device_that_has_failed_cannot_run_what_comes_later)
{
    begin("cpu:1,emu:1;fail=1,emu:1");
    assert_int_equal(thrum_insert(flow, &setting, THRUM_W(data), THRUM_ON_WORKER(1)), 0);
    assert_error(thrum_flow_wait(flow), THRUM_EDEVICE, "task 'setting' failed with its device: emu 0 has failed");
    assert_can_run(false, true, false);
    run(&setting, THRUM_MODE_W, THRUM_NONE);
    assert_can_run(true, false, true);
    end();
}

/* ---- Where its data is ------------------------------------------------------------------------------------------- */

static void assert_where(bool home, bool first_device, bool second_device)
{
    assert_int_equal(told.is_on[0], home);
    assert_int_equal(told.is_on[1], first_device);
    assert_int_equal(told.is_on[2], second_device);
    assert_int_equal(told.where, (uint64_t)home | (uint64_t)first_device << 1 | (uint64_t)second_device << 2);
}

TEST(where_data_is_follows_what_tasks_do_with_it)
{
    begin("cpu:1,emu:2");
    run(&setting, THRUM_MODE_R, THRUM_ON_WORKER(1));
    assert_where(true, false, false);
    run(&setting, THRUM_MODE_RW, THRUM_ON_WORKER(2));
    assert_where(true, true, false);
    run(&setting, THRUM_MODE_R, THRUM_ON_WORKER(2));
    assert_where(false, false, true);
    run(&setting, THRUM_MODE_R, THRUM_ON_WORKER(1)); /* by way of home */
    assert_where(false, false, true);
    run(&setting, THRUM_MODE_R, THRUM_ON_WORKER(0));
    assert_where(true, true, true);
    end();
}

/* ---- How long it takes ------------------------------------------------------------------------------------------- */

static void assert_seconds(double home, double first_device, double second_device)
{
    const double expected[NODES] = {home, first_device, second_device};
    for (int node = 0; node < NODES; node++)
        if (told.transfer[node] < expected[node] - 1e-9 || told.transfer[node] > expected[node] + 1e-9) {
            print_error("to node %d it takes %g s, and not %g\n", node, told.transfer[node], expected[node]);
            fail();
        }
}

/* The first device's link: 1 ms and 1000 bytes at 1 MB/s; the other's: 3 ms and 2 ms. */
TEST(a_transfer_takes_what_the_links_on_its_way_do)
{
    static const char *const two[] = {"cpu:1,emu:1;link=1MB/s;latency=1ms,emu:1;link=0.5MB/s;latency=3ms",
                                      "cpu:1,emu:1;link=1MB/s;latency=1ms;peer=yes,emu:1;link=0.5MB/s;latency=3ms;"
                                      "peer=yes"};
    for (int peer = 0; peer < 2; peer++) {
        begin(two[peer]);
        run(&setting, THRUM_MODE_W, THRUM_ON_WORKER(1));
        assert_seconds(0, 0, 0); /* nothing is read */
        run(&setting, THRUM_MODE_RW, THRUM_ON_WORKER(1));
        assert_seconds(0.002, 0, peer ? 0.005 : 0.007);
        run(&setting, THRUM_MODE_R, THRUM_ON_WORKER(0));
        assert_seconds(0.002, 0, peer ? 0.005 : 0.007);
        run(&setting, THRUM_MODE_R, THRUM_ON_WORKER(1));
        assert_seconds(0, 0, 0.005);
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_have_an_implementation_can_run_it),
        cmocka_unit_test(only_the_worker_that_it_is_for_can_run_it),
        cmocka_unit_test(a_device_with_too_little_memory_cannot_run_it),
        cmocka_unit_test(a_device_that_has_failed_cannot_run_what_comes_later),
        cmocka_unit_test(where_data_is_follows_what_tasks_do_with_it),
        cmocka_unit_test(a_transfer_takes_what_the_links_on_its_way_do),
    };
    if (thrum_policy_register(&asking))
        return 1;
    return RUN_TESTS(tests, 60);
}
