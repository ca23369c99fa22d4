/* SPDX-License-Identifier: MIT
 *
 * Copies between memory nodes: observers are told of each, and traces show them, of real runs and of simulated ones.
 */
#include "test.h"

#include <unistd.h>

enum { N = 1000, VECTORS = 6, ROUNDS = 10, TASKS = (ROUNDS + 2) * VECTORS, NODES = 3, MOST = 4000 };

/* ---- A run that copies and throws out ---------------------------------------------------------------------------- */

static void add(const thrum_buffer *b, const void *arg)
{
    double *to = b[0].ptr;
    const double *from = b[1].ptr;
    (void)arg;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        to[i] += from[i];
}

static bool is_first_device(const thrum_place *place, const void *arg)
{
    (void)arg;
    return place->device == 0;
}

static const thrum_codelet add_emu = {.name = "add", .emu = add}, add_any = {.name = "add", .cpu = add, .emu = add},
                           add_first = {.name = "add", .emu = add, .can_run = is_first_device};

/* Memories of 25 KB hold three vectors. */
static const char *const devices[] = {"cpu:1,emu:1;memory=25KB,emu:1;memory=1MiB", "cpu:1,emu:2;memory=25KB",
                                      "cpu:1,emu:2;memory=25KB;peer=yes;workers=2"};

static thrum_executor *executor_of(const char *policy, const char *devices, const char *trace)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.policy = policy, .devices = devices, .trace = trace});
    if (!ex)
        print_error("%s\n", thrum_message(NULL));
    assert_non_null(ex);
    return ex;
}

/* Which vectors task number i changes and reads: each in turn, and in the last two rounds only the first is changed. So
 * some of what is thrown out has to be copied home before, and some not. */
static int changed_by(int i)
{
    return i < ROUNDS * VECTORS ? i % VECTORS : 0;
}

static int read_by(int i)
{
    return i < ROUNDS * VECTORS ? (i + 1) % VECTORS : 1 + i % (VECTORS - 1);
}

/* Vectors "v0", "v1", ...; when it returns they are home. */
static void run_on(thrum_executor *ex, const thrum_codelet *codelet)
{
    static double x[VECTORS][N];
    thrum_data *data[VECTORS];
    thrum_flow *flow = thrum_flow_new(ex);
    for (int i = 0; i < VECTORS; i++) {
        char name[16];
        data[i] = thrum_data_vector(ex, x[i], N, sizeof(double));
        snprintf(name, sizeof name, "v%d", i);
        assert_int_equal(thrum_data_set_name(data[i], name), 0);
    }
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(thrum_insert(flow, codelet, THRUM_RW(data[changed_by(i)]), THRUM_R(data[read_by(i)])), 0);
    assert_int_equal(thrum_flow_wait(flow), 0);
    for (int i = 0; i < VECTORS; i++)
        assert_int_equal(thrum_data_unregister(data[i]), 0);
    thrum_flow_free(flow);
}

struct counts {
    uint64_t copies[NODES][NODES], bytes[NODES][NODES], evictions[NODES], written_back[NODES];
};

static struct counts counts_of(const thrum_executor *ex)
{
    struct counts counts = {0};
    for (int i = 0; i < NODES * NODES; i++) {
        thrum_link_stats link;
        assert_int_equal(thrum_executor_link(ex, i / NODES, i % NODES, &link), 0);
        counts.copies[i / NODES][i % NODES] = link.copies;
        counts.bytes[i / NODES][i % NODES] = link.bytes;
    }
    for (int i = 0; i < NODES; i++) {
        thrum_node_stats node;
        assert_int_equal(thrum_executor_node(ex, i, &node), 0);
        counts.evictions[i] = node.evictions;
        counts.written_back[i] = node.written_back;
    }
    return counts;
}

/* ---- Observers --------------------------------------------------------------------------------------------------- */

static struct seen {
    _Atomic uint64_t copies[NODES][NODES], bytes[NODES][NODES], reasons[3], prefetched_to[NODES], written_back[NODES];
    atomic_int wrong, tasks;
} seen;

static void note_copy(void *context, const thrum_copy_info *info)
{
    bool good = context == &seen && info->from >= 0 && info->from < NODES && info->to >= 0 && info->to < NODES &&
                info->seconds > 0 && info->bytes == N * sizeof(double) && info->data[0] == 'v' &&
                info->data[1] >= '0' && info->data[1] < '0' + VECTORS && (unsigned)info->reason < 3;
    if (!good) {
        atomic_fetch_add(&seen.wrong, 1);
        return;
    }
    atomic_fetch_add(&seen.copies[info->from][info->to], 1);
    atomic_fetch_add(&seen.bytes[info->from][info->to], info->bytes);
    atomic_fetch_add(&seen.reasons[info->reason], 1);
    if (info->reason == THRUM_COPY_PREFETCHED)
        atomic_fetch_add(&seen.prefetched_to[info->to], 1);
    if (info->reason == THRUM_COPY_WRITTEN_BACK)
        atomic_fetch_add(&seen.written_back[info->from], 1);
}

static void note_task(void *context, const thrum_task_info *info)
{
    (void)context, (void)info;
    atomic_fetch_add(&seen.tasks, 1);
}

static thrum_observer observer(void)
{
    memset(&seen, 0, sizeof seen);
    return (thrum_observer){.end = note_task, .context = &seen, .copied = note_copy};
}

static void assert_seen(const struct counts *counts)
{
    assert_int_equal(seen.wrong, 0);
    for (int from = 0; from < NODES; from++)
        for (int to = 0; to < NODES; to++) {
            assert_int_equal(seen.copies[from][to], counts->copies[from][to]);
            assert_int_equal(seen.bytes[from][to], counts->bytes[from][to]);
        }
    for (int i = 0; i < NODES; i++)
        assert_int_equal(seen.written_back[i], counts->written_back[i]);
}

TEST(an_observer_is_told_of_each_copy)
{
    for (size_t i = 0; i < COUNT_OF(devices); i++) {
        thrum_executor *ex = executor_of("ws", devices[i], NULL);
        thrum_observer watch = observer();
        assert_int_equal(thrum_executor_observe(ex, &watch), 0);
        run_on(ex, &add_emu);
        assert_int_equal(thrum_executor_observe(ex, NULL), 0);
        struct counts counts = counts_of(ex);
        assert_seen(&counts);
        assert_true(seen.tasks >= TASKS && seen.reasons[THRUM_COPY_NEEDED] > 0);
        run_on(ex, &add_emu); /* not watched any more */
        assert_seen(&counts);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(an_observer_learns_what_was_prefetched)
{
    thrum_executor *ex = executor_of("dmda", "emu:1", NULL);
    thrum_observer watch = observer();
    thrum_node_stats node;
    run_on(ex, &add_emu); /* now it is known how long they take */
    assert_int_equal(thrum_executor_observe(ex, &watch), 0);
    run_on(ex, &add_emu);
    assert_int_equal(thrum_executor_node(ex, 1, &node), 0);
    assert_int_equal(thrum_executor_observe(ex, NULL), 0);
    assert_int_equal(seen.wrong, 0);
    assert_int_equal(seen.copies[0][1], VECTORS);
    assert_int_equal(seen.copies[1][0], VECTORS);
    assert_in_range(seen.prefetched_to[1], 1, node.prefetches);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Traces ------------------------------------------------------------------------------------------------------ */

/* A file of a name of its own. */
static void new_path(char path[64])
{
    snprintf(path, 64, "/tmp/thrum-watching-copies-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
}

struct traced {
    struct counts counts;
    int copies_without_name, tasks;
    double ends[MOST]; /* by track: of the last copy */
    int from[MOST], to[MOST];
};

static struct traced traced;

static bool says(const char *line, const char *text)
{
    return strstr(line, text) != NULL;
}

static double number_of(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    assert_non_null(at);
    return strtod(at + strlen(key), NULL);
}

/* Times in the file are rounded to nanoseconds. */
static void read_copy(const char *line, int track)
{
    int from = traced.from[track], to = traced.to[track];
    double begin = number_of(line, "\"ts\":"), end = begin + number_of(line, "\"dur\":");
    assert_true(begin >= traced.ends[track] - 0.002);
    traced.ends[track] = end;
    traced.counts.copies[from][to]++;
    traced.counts.bytes[from][to] += (uint64_t)number_of(line, "\"bytes\":");
    traced.counts.evictions[from] += says(line, "\"reason\":\"written back\"");
    traced.counts.written_back[from] += says(line, "\"reason\":\"written back\"");
    traced.copies_without_name += !says(line, "\"name\":\"v");
}

static void read_line(const char *line)
{
    if (!says(line, "\"tid\":"))
        return;
    int track = (int)number_of(line, "\"tid\":");
    assert_in_range(track, 0, MOST - 1);
    if (says(line, "\"thrum_link\"")) {
        traced.from[track] = (int)number_of(line, "\"from\":");
        traced.to[track] = (int)number_of(line, "\"to\":");
        traced.ends[track] = 0;
    } else if (says(line, "\"ph\":\"X\"") && says(line, "\"cat\":\"copy\"")) {
        read_copy(line, track);
    } else if (says(line, "\"ph\":\"i\"") && says(line, "\"reason\":\"thrown out\"")) {
        traced.counts.evictions[traced.from[track]]++;
        assert_int_equal(traced.to[track], 0);
    } else {
        traced.tasks += says(line, "\"ph\":\"X\"");
    }
}

/* One line for each event; and the file is gone. */
static void read_trace(const char *path)
{
    char line[1000];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    memset(&traced, 0, sizeof traced);
    while (fgets(line, sizeof line, file))
        read_line(line);
    fclose(file);
    unlink(path);
}

TEST(a_trace_shows_each_copy_and_what_was_thrown_out)
{
    for (size_t i = 0; i < COUNT_OF(devices); i++) {
        char path[64];
        new_path(path);
        thrum_executor *ex = executor_of("random", devices[i], path);
        run_on(ex, &add_any);
        run_on(ex, &add_emu);
        struct counts counts = counts_of(ex);
        assert_int_equal(thrum_executor_free(ex), 0);
        read_trace(path);
        assert_memory_equal(&traced.counts, &counts, sizeof counts);
        assert_int_equal(traced.copies_without_name, 0);
        assert_in_range(traced.tasks, 2 * TASKS, 4 * TASKS);
    }
}

TEST(a_trace_tells_what_was_copied_home_to_make_room_from_what_was_dropped)
{
    char path[64];
    new_path(path);
    thrum_executor *ex = executor_of("fifo", devices[0], path);
    run_on(ex, &add_first);
    assert_int_equal(thrum_executor_free(ex), 0);
    read_trace(path);
    assert_in_range(traced.counts.written_back[1], 1, traced.counts.evictions[1] - 1);
}

TEST(without_devices_a_trace_has_no_copies)
{
    char path[64];
    new_path(path);
    thrum_executor *ex = executor_of("prio", "cpu:2", path);
    run_on(ex, &add_any);
    assert_int_equal(thrum_executor_free(ex), 0);
    read_trace(path);
    const struct counts none = {0};
    assert_memory_equal(&traced.counts, &none, sizeof none);
    assert_true(traced.tasks >= TASKS);
}

/* Names may change while copies look at them. */
TEST(a_trace_has_the_name_that_a_handle_has_when_it_is_copied)
{
    static double x[N], y[N];
    char path[64];
    new_path(path);
    thrum_executor *ex = executor_of("ws", "cpu:1,emu:2", path);
    thrum_flow *flow = thrum_flow_new(ex);
    thrum_data *a = thrum_data_vector(ex, x, N, sizeof(double)), *b = thrum_data_vector(ex, y, N, sizeof(double));
    assert_int_equal(thrum_data_set_name(a, "v0"), 0);
    assert_int_equal(thrum_data_set_name(b, "v-other"), 0);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(thrum_insert(flow, &add_any, THRUM_RW(a), THRUM_R(b)), 0);
        assert_int_equal(thrum_insert(flow, &add_emu, THRUM_RW(b), THRUM_R(a)), 0);
        assert_int_equal(thrum_data_set_name(i % 2 ? a : b, i % 3 ? "v1" : "v-a-longer-name"), 0);
    }
    assert_int_equal(thrum_flow_wait(flow), 0);
    assert_int_equal(thrum_data_discard(a), 0);
    assert_int_equal(thrum_data_discard(b), 0);
    thrum_flow_free(flow);
    struct counts counts = counts_of(ex);
    assert_int_equal(thrum_executor_free(ex), 0);
    read_trace(path);
    assert_memory_equal(traced.counts.copies, counts.copies, sizeof counts.copies);
    assert_int_equal(traced.copies_without_name, 0);
}

/* ---- Simulated --------------------------------------------------------------------------------------------------- */

/* The same tasks on two devices that hold three vectors each. */
static thrum_workload *workload_of_adds(void)
{
    thrum_workload *workload = thrum_workload_new("adds");
    int codelet = thrum_workload_add_codelet(workload, "add", 1u << THRUM_ARCH_EMU);
    for (int i = 0; i < VECTORS; i++) {
        char name[16];
        snprintf(name, sizeof name, "v%d", i);
        assert_int_equal(thrum_workload_add_data(workload, name, N * sizeof(double), true), i);
    }
    for (int i = 0; i < TASKS; i++) {
        const thrum_workload_access access[] = {{changed_by(i), THRUM_MODE_RW}, {read_by(i), THRUM_MODE_R}};
        thrum_workload_task task = {.codelet = codelet,
                                    .work = 1,
                                    .worker = -1,
                                    .bucket = THRUM_NO_BUCKET,
                                    .access = access,
                                    .access_count = 2};
        assert_int_equal(thrum_workload_add_task(workload, &task), i);
    }
    return workload;
}

TEST(the_trace_of_a_simulated_run_shows_copies_alike)
{
    char path[64];
    new_path(path);
    thrum_workload *workload = workload_of_adds();
    static const char two[] = "thrum-machine 1\ncores count=1\n"
                              "device gpu count=2 arch=emu workers=1 bandwidth=1GB/s latency=10us memory=25KB peer=no\n"
                              "speed * gpu=1e3\n";
    thrum_machine *machine = thrum_machine_parse(two, sizeof two - 1, NULL);
    assert_non_null(machine);
    thrum_sim_result *result = NULL;
    assert_int_equal(
        thrum_simulate(
            &(thrum_sim){.machine = machine, .workload = workload, .policy = "ws", .ahead = 1, .trace = path}, &result),
        0);
    read_trace(path);
    struct counts counts = {0};
    for (int i = 0; i < result->link_count; i++) {
        counts.copies[result->links[i].from][result->links[i].to] = result->links[i].copies;
        counts.bytes[result->links[i].from][result->links[i].to] = result->links[i].bytes;
    }
    for (int i = 0; i < result->node_count; i++) {
        counts.evictions[i] = result->nodes[i].evictions;
        counts.written_back[i] = result->nodes[i].written_back;
    }
    assert_memory_equal(&traced.counts, &counts, sizeof counts);
    assert_in_range(counts.written_back[1], 1, counts.evictions[1] - 1);
    assert_int_equal(traced.copies_without_name, 0);
    assert_int_equal(traced.tasks, TASKS);
    thrum_sim_result_free(result);
    thrum_workload_free(workload);
    thrum_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_observer_is_told_of_each_copy),
        cmocka_unit_test(an_observer_learns_what_was_prefetched),
        cmocka_unit_test(a_trace_shows_each_copy_and_what_was_thrown_out),
        cmocka_unit_test(a_trace_tells_what_was_copied_home_to_make_room_from_what_was_dropped),
        cmocka_unit_test(without_devices_a_trace_has_no_copies),
        cmocka_unit_test(a_trace_has_the_name_that_a_handle_has_when_it_is_copied),
        cmocka_unit_test(the_trace_of_a_simulated_run_shows_copies_alike),
    };
    return RUN_TESTS(tests, 60);
}
