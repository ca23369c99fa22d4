/* SPDX-License-Identifier: MIT
 *
 * Endless flows need bounded memory: so many tasks through a small window leave the process as large as a few of them
 * do. Ten million where workers steal, which is a second's work; less where a task costs more. STRESS_TASKS says
 * another number for all, of which those with devices get a tenth: a copy takes as long as ten tasks.
 */
#include "test.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

enum { HANDLES = 256, WINDOW = 1000, SETTLED = 50000 };

#if SANITIZED_THREAD || SANITIZED_ADDRESS
enum { SIZE_COUNTS = 0, STOLEN = 100000, PLACED = 100000, MOVED = 10000 }; /* memory is the sanitizer's own matter */
#elif defined(THRUM_CHECKS)
enum { SIZE_COUNTS = 1, STOLEN = 1000000, PLACED = 1000000, MOVED = 50000 };
#else
enum { SIZE_COUNTS = 1, STOLEN = 10000000, PLACED = 1000000, MOVED = 300000 };
#endif

enum { GROWTH_MOST = 1024 }; /* KiB: a task has some 300 bytes, and windows and memories may fill later than at first */

typedef struct cell {
    uint64_t value;
    char apart[56];
} cell;

static void raise_first(const thrum_buffer *buffers, const void *arg)
{
    (void)arg;
    ++*(uint64_t *)buffers[0].ptr;
}

static const thrum_codelet add_one = {.name = "add-one", .cpu = raise_first, .emu = raise_first};
static const thrum_codelet add_one_there = {.name = "add-one-there", .emu = raise_first};

static uint64_t task_count(uint64_t usually, unsigned part)
{
    const char *text = getenv("STRESS_TASKS");
    return text ? strtoull(text, NULL, 10) / part : usually;
}

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Where there are devices, one task in so many has to run there, so that data keeps moving. */
enum { ON_DEVICE = 8 };

static void insert(thrum_flow *flow, thrum_data *const *data, uint64_t from, uint64_t to, bool devices)
{
    int failed = 0;
    for (uint64_t i = from; i < to; i++)
        failed |= thrum_insert(flow, devices && i % ON_DEVICE == 0 ? &add_one_there : &add_one,
                               THRUM_RW(data[i % HANDLES]), THRUM_R(data[(i * 7 + 1) % HANDLES]), THRUM_ARG(i));
    assert_int_equal(failed, 0);
}

static void check_that_data_moves(const thrum_executor *ex)
{
    thrum_link_stats in;
    thrum_node_stats node;
    assert_int_equal(thrum_executor_link(ex, 0, 1, &in) | thrum_executor_node(ex, 1, &node), 0);
    print_message("%" PRIu64 " copies to the device, %" PRIu64 " replicas thrown out\n", in.copies, node.evictions);
    assert_true(in.copies > HANDLES && node.evictions > HANDLES);
}

static void check_growth(const thrum_config *config, uint64_t tasks)
{
    static cell cells[HANDLES];
    thrum_data *data[HANDLES];
    thrum_executor *ex = thrum_executor_new(config);
    thrum_flow *flow = thrum_flow_new(ex);
    uint64_t settled = tasks / 2 < SETTLED ? tasks / 2 : SETTLED;
    assert_non_null(flow);
    memset(cells, 0, sizeof cells);
    for (int i = 0; i < HANDLES; i++)
        data[i] = thrum_data_variable(ex, &cells[i].value, sizeof(uint64_t));
    assert_int_equal(thrum_flow_set_window(flow, WINDOW), 0);
    insert(flow, data, 0, settled, config->devices);
    long before = resident_kib();
    insert(flow, data, settled, tasks, config->devices);
    long after = resident_kib();
    assert_int_equal(thrum_flow_wait(flow), 0);
    print_message("%" PRIu64 " tasks: resident %ld KiB after %" PRIu64 " of them, %ld KiB after all\n", tasks, before,
                  settled, after);
    if (SIZE_COUNTS)
        assert_in_range(after > before ? after - before : 0, 0, GROWTH_MOST);
    assert_int_equal(thrum_flow_count(flow), tasks);
    for (uint64_t i = 0; i < HANDLES; i++) {
        assert_int_equal(thrum_data_unregister(data[i]), 0);
        assert_int_equal(cells[i].value, tasks / HANDLES + (i < tasks % HANDLES));
    }
    assert_int_equal(thrum_flow_free(flow), 0);
    if (config->devices)
        check_that_data_moves(ex);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(memory_stays_flat_with_one_worker)
{
    check_growth(&(thrum_config){.workers = 1}, task_count(STOLEN, 1));
}

TEST(memory_stays_flat_with_two_workers)
{
    check_growth(&(thrum_config){.workers = 2}, task_count(STOLEN, 1));
}

TEST(memory_stays_flat_with_a_policy)
{
    check_growth(&(thrum_config){.workers = 2, .policy = "lws"}, task_count(PLACED, 1));
}

/* It holds an eighth of the handles, so what comes throws others out. */
TEST(memory_stays_flat_with_a_device)
{
    check_growth(&(thrum_config){.policy = "dmda", .devices = "cpu:1,emu:1;memory=256B;latency=0"},
                 task_count(MOVED, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_stays_flat_with_one_worker),
        cmocka_unit_test(memory_stays_flat_with_two_workers),
        cmocka_unit_test(memory_stays_flat_with_a_policy),
        cmocka_unit_test(memory_stays_flat_with_a_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
