/* SPDX-License-Identifier: MIT
 *
 * Endless flows need bounded memory: so many tasks through a small window leave the process as large as a few of them
 * do. STRESS_TASKS says how many, a million if it is not set; make test-long takes ten million.
 */
#include "test.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

enum { HANDLES = 256, WINDOW = 1000, SETTLED = 50000 };

#if SANITIZED_THREAD || SANITIZED_ADDRESS
enum { SIZE_COUNTS = 0, USUALLY = 100000 }; /* memory is the sanitizer's own matter */
#else
enum { SIZE_COUNTS = 1, USUALLY = 1000000 };
#endif

enum { GROWTH_MOST = 512 }; /* KiB: a task has some 300 bytes, and the window may have filled later than at first */

typedef struct cell {
    uint64_t value;
    char apart[56];
} cell;

static void raise_first(const thrum_buffer *buffers, const void *arg)
{
    (void)arg;
    ++*(uint64_t *)buffers[0].ptr;
}

static const thrum_codelet add_one = {.name = "add-one", .cpu = raise_first};

static uint64_t task_count(void)
{
    const char *text = getenv("STRESS_TASKS");
    return text ? strtoull(text, NULL, 10) : USUALLY;
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

static void insert(thrum_flow *flow, thrum_data *const *data, uint64_t from, uint64_t to)
{
    int failed = 0;
    for (uint64_t i = from; i < to; i++)
        failed |= thrum_insert(flow, &add_one, THRUM_RW(data[i % HANDLES]), THRUM_R(data[(i * 7 + 1) % HANDLES]),
                               THRUM_ARG(i));
    assert_int_equal(failed, 0);
}

static void check_growth(const thrum_config *config)
{
    static cell cells[HANDLES];
    thrum_data *data[HANDLES];
    thrum_executor *ex = thrum_executor_new(config);
    thrum_flow *flow = thrum_flow_new(ex);
    uint64_t tasks = task_count();
    memset(cells, 0, sizeof cells);
    for (int i = 0; i < HANDLES; i++)
        data[i] = thrum_data_variable(ex, &cells[i].value, sizeof(uint64_t));
    assert_int_equal(thrum_flow_set_window(flow, WINDOW), 0);
    insert(flow, data, 0, SETTLED);
    long before = resident_kib();
    insert(flow, data, SETTLED, tasks);
    long after = resident_kib();
    assert_int_equal(thrum_flow_wait(flow), 0);
    print_message("%" PRIu64 " tasks: resident %ld KiB after %d of them, %ld KiB after all\n", tasks, before, SETTLED,
                  after);
    if (SIZE_COUNTS)
        assert_in_range(after > before ? after - before : 0, 0, GROWTH_MOST);
    assert_int_equal(thrum_flow_count(flow), tasks);
    for (uint64_t i = 0; i < HANDLES; i++) {
        assert_int_equal(thrum_data_unregister(data[i]), 0);
        assert_int_equal(cells[i].value, tasks / HANDLES + (i < tasks % HANDLES));
    }
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void memory_stays_flat_with_one_worker(void **state)
{
    (void)state;
    check_growth(&(thrum_config){.workers = 1});
}

static void memory_stays_flat_with_two_workers(void **state)
{
    (void)state;
    check_growth(&(thrum_config){.workers = 2});
}

static void memory_stays_flat_with_a_policy(void **state)
{
    (void)state;
    check_growth(&(thrum_config){.workers = 2, .policy = "lws"});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_stays_flat_with_one_worker),
        cmocka_unit_test(memory_stays_flat_with_two_workers),
        cmocka_unit_test(memory_stays_flat_with_a_policy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
