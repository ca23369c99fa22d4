/* SPDX-License-Identifier: MIT
 *
 * Out of memory with policies and devices (scarcity.h): executors are made or not, flows end with the right result or
 * an error.
 */
#include "scarcity.h"

enum { N = 64 };

static void fill(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        ((int *)b[0].ptr)[i] = 1;
}

static void add(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        ((int *)b[0].ptr)[i] += ((const int *)b[1].ptr)[i];
}

static void add_one(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    ((int *)b[0].ptr)[0]++;
}

static void zero(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    memset(b[0].ptr, 0, N * sizeof(int));
}

static const thrum_codelet fill_any = {.name = "fill", .cpu = fill, .emu = fill};
static const thrum_codelet add_any = {.name = "add", .cpu = add, .emu = add};
static const thrum_codelet add_emu = {.name = "add_emu", .emu = add};
static const thrum_codelet one_any = {.name = "one", .cpu = add_one, .emu = add_one};
static const thrum_codelet zero_any = {.name = "zero", .cpu = zero, .emu = zero};

static enum outcome executor_scenario(void)
{
    thrum_executor *own = thrum_executor_new(&(thrum_config){.policy = "dmda", .devices = "cpu:1,emu:2;memory=1MiB"});
    if (!own)
        return strlen(thrum_message(NULL)) ? REPORTED : WRONG;
    return outcome_of(thrum_executor_free(own), true);
}

TEST(making_and_freeing_executors_with_devices)
{
    exhaust(executor_scenario);
}

static thrum_executor *with_devices;

static bool insert_all(thrum_flow *flow, thrum_data **data)
{
    bool ok = true;
    for (int i = 0; i < 3; i++)
        ok = ok && thrum_insert(flow, &fill_any, THRUM_W(data[i])) == 0;
    for (int i = 0; i < 3; i++)
        ok = ok && thrum_insert(flow, i == 1 ? &add_any : &add_emu, THRUM_RW(data[i]), THRUM_R(data[(i + 1) % 3])) == 0;
    for (int i = 0; i < 3; i++)
        ok = ok && thrum_insert(flow, &one_any, THRUM_REDUX(data[2]), THRUM_SCRATCH(data[0])) == 0;
    return ok && thrum_insert(flow, &add_any, THRUM_RW(data[0]), THRUM_R(data[2])) == 0;
}

/* A device that has no room for what it is to hold, since the machine has none, is a device that is too small. */
static enum outcome outcome_of_flow(int err, bool right)
{
    return outcome_of(err == THRUM_EDEVICE ? THRUM_ENOMEM : err, right);
}

/* A handle that there is no memory to unregister stays until the executor goes; so does its memory. */
static int (*next_memory(void))[N]
{
    static int memory[1000][2][N];
    static int next;
    return memory[next++ % 1000];
}

static enum outcome flow_scenario(void)
{
    int(*memory)[N] = next_memory();
    thrum_data *data[3];
    thrum_flow *flow = thrum_flow_new(with_devices);
    bool made = flow != NULL;
    for (int i = 0; i < 3; i++) {
        data[i] = thrum_data_vector(with_devices, i < 2 ? memory[i] : NULL, N, sizeof(int));
        made = made && data[i];
    }
    made = made && thrum_data_set_reduction(data[2], &zero_any, &add_any) == 0;
    int err = made ? (insert_all(flow, data) ? 0 : THRUM_ENOMEM) : THRUM_ENOMEM;
    int waited = flow ? thrum_flow_wait(flow) : THRUM_ENOMEM;
    err = err ? err : waited;
    for (int i = 0; i < 3; i++) {
        int gone = thrum_data_unregister(data[i]);
        err = err ? err : gone;
    }
    waited = thrum_flow_free(flow);
    err = err ? err : waited;
    /* After an error a copy home may still be under way, of a handle that stays. */
    return outcome_of_flow(err, err == 0 && memory[0][0] == 8 && memory[0][1] == 5);
}

static void run_flows(const char *policy)
{
    with_devices = thrum_executor_new(&(thrum_config){.policy = policy, .devices = "cpu:1,emu:1;memory=1000B"});
    assert_non_null(with_devices);
    exhaust(flow_scenario);
    assert_int_equal(thrum_executor_free(with_devices), 0);
}

TEST(flows_on_devices_by_fifo)
{
    run_flows("fifo");
}

TEST(flows_on_devices_by_dmda)
{
    run_flows("dmda");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(making_and_freeing_executors_with_devices),
        cmocka_unit_test(flows_on_devices_by_fifo),
        cmocka_unit_test(flows_on_devices_by_dmda),
    };
    return run_in_scarcity(tests, sizeof tests / sizeof tests[0]);
}
