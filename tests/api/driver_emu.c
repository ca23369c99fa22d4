/* SPDX-License-Identifier: MIT
 *
 * The emulated driver: it conforms, in several settings; copies take their time; timing mode does nothing else; a child
 * of a fork can close its parent's devices.
 */
#include "conformance.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- What the conformance suite asks for ------------------------------------------------------------------------- */

static size_t extent_of(const thrum_buffer *buffer, uint32_t dimension)
{
    return dimension < buffer->dims ? buffer->extent[dimension] : 1;
}

static uint32_t *element_of(const thrum_buffer *buffer, size_t i, size_t j, size_t k)
{
    size_t second = buffer->dims > 1 ? buffer->stride[1] : 0, third = buffer->dims > 2 ? buffer->stride[2] : 0;
    return (uint32_t *)buffer->ptr + i + j * second + k * third;
}

#define FOR_EACH_ELEMENT(buffer)                                                                                       \
    for (size_t k = 0; k < extent_of(buffer, 2); k++)                                                                  \
        for (size_t j = 0; j < extent_of(buffer, 1); j++)                                                              \
            for (size_t i = 0; i < extent_of(buffer, 0); i++)

static void bump(const thrum_buffer *buffers, const void *arg)
{
    FOR_EACH_ELEMENT(buffers)
    *element_of(buffers, i, j, k) = *element_of(buffers, i, j, k) * 1664525u + *(const uint32_t *)arg;
}

static void combine(const thrum_buffer *buffers, const void *arg)
{
    (void)arg;
    FOR_EACH_ELEMENT(buffers)
    *element_of(&buffers[0], i, j, k) = *element_of(&buffers[0], i, j, k) * 31u + *element_of(&buffers[1], i, j, k);
}

static void stamp(const thrum_buffer *buffers, const void *arg)
{
    FOR_EACH_ELEMENT(buffers)
    *element_of(buffers, i, j, k) = *(const uint32_t *)arg + (uint32_t)(i + 1000 * j + 1000000 * k);
}

static const struct conformance_kernels kernels = {bump, combine, stamp};

static const char *const refused[] = {"memory=0",
                                      "memory=64",
                                      "memory=-1MiB",
                                      "memory=64 MiB",
                                      "link=0GB/s",
                                      "link=fast",
                                      "link=2GB",
                                      "latency=10",
                                      "latency=-1us",
                                      "workers=0",
                                      "workers=1025",
                                      "workers=2.5",
                                      "mode=",
                                      "mode=dream",
                                      "peer=maybe",
                                      "fail=-1",
                                      "fail=often",
                                      "memory",
                                      "memory=1MiB;",
                                      ";memory=1MiB",
                                      "memory=1MiB;;peer=no",
                                      "Memory=1MiB",
                                      "memory=1MiB,link=2GB/s",
                                      NULL};

/* ---- Time -------------------------------------------------------------------------------------------------------- */

static const thrum_driver *emu;

static thrum_device *open_emu(const char *settings)
{
    thrum_device *device = emu->open(0, settings);
    assert_non_null(device);
    return device;
}

static void assert_took(double begin, double seconds)
{
    double took = stress_now() - begin;
    if (took < seconds)
        print_error("it took %g s, and should have taken at least %g s\n", took, seconds);
    assert_true(took >= seconds);
}

/* Latency and bytes over bandwidth, for one row or many. */
static void copies_take_their_time(const char *settings)
{
    enum { BYTES = 20000 };
    thrum_device *device = open_emu(settings);
    thrum_device_info info = info_of(device);
    static char home[BYTES];
    char *memory = alloc_on(device, BYTES);
    for (int i = 0; i < 40; i++) {
        thrum_copy copy = i % 2 ? plain_copy(THRUM_COPY_IN, memory, home, 1 + (size_t)i * 100)
                                : plain_copy(THRUM_COPY_OUT, home, memory, 1 + (size_t)i * 100);
        copy.rows = i % 3 == 0 ? 4 : 1;
        copy.to_row = copy.from_row = 4500;
        double begin = stress_now();
        assert_int_equal(copy_now(device, &copy), 0);
        assert_took(begin, info.latency + (double)(copy.bytes * copy.rows) / info.bandwidth);
    }
    emu->close(device);
}

TEST(a_copy_takes_latency_and_bytes_over_bandwidth)
{
    copies_take_their_time("link=100MB/s;latency=20us");
    copies_take_their_time("link=20MB/s;latency=0");
    copies_take_their_time("link=100MB/s;latency=300us;mode=timing");
}

static void queued_copies_take_turns(const char *settings, enum thrum_direction direction)
{
    enum { COPIES = 20, BYTES = 10000 };
    thrum_device *devices[2] = {open_emu(settings), open_emu(settings)};
    thrum_device_info info = info_of(devices[0]);
    static char home[COPIES][BYTES];
    static struct ending endings[COPIES];
    memset(endings, 0, sizeof endings);
    char *memory = alloc_on(devices[0], COPIES * BYTES), *other = alloc_on(devices[1], BYTES);
    double begin = stress_now(), one = info.latency + BYTES / info.bandwidth;
    for (int i = 0; i < COPIES; i++) {
        char *there = memory + i * BYTES;
        thrum_copy copy = direction == THRUM_COPY_OUT ? plain_copy(direction, home[i], there, BYTES)
                                                      : plain_copy(direction, there, home[i], BYTES);
        if (direction == THRUM_COPY_ACROSS) {
            copy.from = other;
            copy.from_device = devices[1];
        }
        assert_int_equal(emu->copy(devices[0], &copy, note_ending, &endings[i]), 0);
    }
    for (int i = 0; i < COPIES; i++) {
        assert_int_equal(await_ending(&endings[i]), 0);
        assert_took(begin, (i + 1) * one * 0.999999);
    }
    emu->close(devices[1]);
    emu->close(devices[0]);
}

TEST(copies_in_one_direction_are_served_one_after_the_other)
{
    static const char *const settings[] = {"link=50MB/s;latency=50us;peer=yes",
                                           "link=50MB/s;latency=50us;peer=yes;mode=timing"};
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        queued_copies_take_turns(settings[i], THRUM_COPY_IN);
        queued_copies_take_turns(settings[i], THRUM_COPY_OUT);
        queued_copies_take_turns(settings[i], THRUM_COPY_ACROSS);
    }
}

TEST(between_two_devices_the_slower_link_counts)
{
    thrum_device *quick = open_emu("link=1GB/s;latency=1us;peer=yes");
    thrum_device *slow = open_emu("link=1MB/s;latency=1ms;peer=yes");
    char *to = alloc_on(quick, 1000), *from = alloc_on(slow, 1000);
    thrum_copy copy = plain_copy(THRUM_COPY_ACROSS, to, from, 1000);
    copy.from_device = slow;
    double begin = stress_now();
    assert_int_equal(copy_now(quick, &copy), 0);
    assert_took(begin, 0.002 * 0.999999);
    emu->close(slow);
    emu->close(quick);
}

/* A short copy one way overtakes a long one the other way. Whoever is late by half a second learns nothing and tries
 * again. */
TEST(directions_do_not_wait_for_each_other)
{
    bool overtaken = false;
    for (int attempt = 0; attempt < 10 && !overtaken; attempt++) {
        thrum_device *device = open_emu("link=2KB/s;latency=0;mode=timing");
        struct ending ending = {0};
        char home[1000], *memory = alloc_on(device, 1000);
        thrum_copy in = plain_copy(THRUM_COPY_IN, memory, home, 1000);
        assert_int_equal(emu->copy(device, &in, note_ending, &ending), 0);
        assert_int_equal(copy_out(device, home, memory, 1), 0);
        overtaken = !atomic_load(&ending.ended);
        assert_int_equal(await_ending(&ending), 0);
        emu->close(device);
    }
    assert_true(overtaken);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static pthread_t kernel_thread;
static int kernel_calls;

static void note_thread(const thrum_buffer *buffers, const void *arg)
{
    (void)buffers, (void)arg;
    kernel_thread = pthread_self();
    kernel_calls++;
}

TEST(a_kernel_runs_in_the_worker_that_launches_it)
{
    thrum_device *device = open_emu("");
    thrum_launch launch = {.kernel = note_thread};
    kernel_calls = 0;
    assert_int_equal(launch_now(device, 0, &launch), 0);
    assert_int_equal(kernel_calls, 1);
    assert_true(pthread_equal(kernel_thread, pthread_self()));
    launch.kernel = NULL;
    assert_error(launch_now(device, 0, &launch), THRUM_EINVAL, "no kernel");
    emu->close(device);
}

TEST(in_timing_mode_a_kernel_sleeps_and_is_not_called)
{
    thrum_device *device = open_emu("mode=timing");
    assert_true(info_of(device).timing);
    static const double times[] = {0, 20e-6, 100e-6, 2e-3, -1};
    kernel_calls = 0;
    for (size_t i = 0; i < COUNT_OF(times); i++) {
        thrum_launch launch = {.kernel = i % 2 ? note_thread : NULL, .seconds = times[i]};
        double begin = stress_now();
        assert_int_equal(launch_now(device, 0, &launch), 0);
        assert_took(begin, times[i] * 0.999999);
    }
    assert_int_equal(kernel_calls, 0);
    emu->close(device);
}

TEST(in_timing_mode_nothing_is_copied)
{
    thrum_device *device = open_emu("mode=timing");
    char home[100];
    char *memory = alloc_on(device, sizeof home);
    memset(home, 1, sizeof home);
    assert_int_equal(copy_out(device, home, memory, sizeof home), 0);
    for (size_t i = 0; i < sizeof home; i++)
        assert_int_equal(home[i], 1);
    emu->close(device);
}

/* Nobody touches it, so it takes nothing of the machine's; a sanitizer has an eighth of it for itself. */
TEST(in_timing_mode_memory_takes_none)
{
    enum { MIB = 1 << 20 };
    struct rusage before, after;
    thrum_device *device = open_emu("mode=timing;memory=2GiB");
    getrusage(RUSAGE_SELF, &before);
    alloc_on(device, (size_t)1000 * MIB);
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss - before.ru_maxrss < 500 * 1024); /* KiB */
    emu->close(device);
}

TEST(new_memory_holds_a_pattern)
{
    thrum_device *device = open_emu("");
    unsigned char home[1000] = {0}, *memory = alloc_on(device, sizeof home);
    assert_int_equal(copy_out(device, home, memory, sizeof home), 0);
    for (size_t i = 0; i < sizeof home; i++)
        assert_int_equal(home[i], 0xa5);
    emu->close(device);
}

TEST(the_first_kernel_can_fail)
{
    thrum_device *device = open_emu("fail=1");
    thrum_launch launch = {.kernel = note_thread};
    kernel_calls = 0;
    struct ending ending = {0};
    assert_int_equal(emu->launch(device, 0, &launch, note_ending, &ending), 0);
    assert_int_equal(await_ending(&ending), THRUM_EDEVICE);
    assert_contains(ending.message, "emu 0 has failed");
    assert_int_equal(kernel_calls, 0);
    assert_error(launch_now(device, 0, &launch), THRUM_EDEVICE, "kernel number 1");
    emu->close(device);
}

/* ---- The process ------------------------------------------------------------------------------------------------- */

static double processor_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

TEST(devices_without_work_sleep)
{
    thrum_device *devices[4];
    for (int i = 0; i < 4; i++)
        devices[i] = open_emu("workers=8");
    double begin = processor_seconds();
    pause_ms(300);
    assert_true(processor_seconds() - begin < 0.15); /* of at least 0.3 s that one thread would burn */
    for (int i = 0; i < 4; i++)
        emu->close(devices[i]);
}

static int use_in_child(thrum_device *device, void *memory)
{
    char home[10];
    void *more;
    thrum_copy copy = plain_copy(THRUM_COPY_OUT, home, memory, sizeof home);
    struct ending ending = {0};
    if (emu->copy(device, &copy, note_ending, &ending) != THRUM_EFORK)
        return 1;
    if (emu->alloc(device, 10, &more) != THRUM_EFORK)
        return 2;
    emu->release(device, memory, 10);
    emu->close(device);
    return 0;
}

TEST(the_child_of_a_fork_can_close_its_parents_devices)
{
    thrum_device *device = open_emu("");
    void *memory = alloc_on(device, 10);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        watchdog_start_in_child(20);
        _exit(use_in_child(device, memory));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    char home[10];
    assert_int_equal(copy_out(device, home, memory, sizeof home), 0);
    emu->close(device);
}

TEST(messages_name_the_setting_and_what_would_be_right)
{
    assert_null(emu->open(0, "memory=lots"));
    assert_contains(thrum_message(NULL), "memory=lots");
    assert_contains(thrum_message(NULL), "MiB");
    assert_null(emu->open(0, "mode=fast"));
    assert_contains(thrum_message(NULL), "real or timing");
    assert_null(emu->open(0, "memroy=1MiB"));
    assert_contains(thrum_message(NULL), "memory, link, latency, workers, mode, peer, fail");
}

TEST(drivers_end_with_null)
{
    int count = 0;
    while (thrum_driver_at(count))
        count++;
    assert_true(count >= 1);
    assert_null(thrum_driver_at(count + 1));
    assert_null(thrum_driver_at(-1));
}

static int run_own_tests(const struct conformance *any)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_takes_latency_and_bytes_over_bandwidth),
        cmocka_unit_test(copies_in_one_direction_are_served_one_after_the_other),
        cmocka_unit_test(between_two_devices_the_slower_link_counts),
        cmocka_unit_test(directions_do_not_wait_for_each_other),
        cmocka_unit_test(a_kernel_runs_in_the_worker_that_launches_it),
        cmocka_unit_test(in_timing_mode_a_kernel_sleeps_and_is_not_called),
        cmocka_unit_test(in_timing_mode_nothing_is_copied),
        cmocka_unit_test(in_timing_mode_memory_takes_none),
        cmocka_unit_test(new_memory_holds_a_pattern),
        cmocka_unit_test(the_first_kernel_can_fail),
        cmocka_unit_test(devices_without_work_sleep),
        cmocka_unit_test(the_child_of_a_fork_can_close_its_parents_devices),
        cmocka_unit_test(messages_name_the_setting_and_what_would_be_right),
        cmocka_unit_test(drivers_end_with_null),
    };
    subject = any;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    struct stress stress = stress_begin(argv[0], 0.4);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    emu = conformance_driver("emu");
    const struct conformance all[] = {
        {"emu", "memory=1MiB;link=100GB/s;latency=0", "link=100GB/s;fail=3", refused, &kernels, 3, &stress},
        {"emu", "memory=80KiB;link=2GB/s;latency=2us;workers=2;peer=yes", "latency=100us;fail=3", refused, &kernels, 3,
         &stress},
        {"emu", "memory=4MiB;workers=4", "workers=4;fail=3", refused, &kernels, 1, &stress},
        {"emu", "memory=80KiB;latency=0;workers=2;peer=yes;mode=timing", "mode=timing;fail=3", refused, &kernels, 3,
         &stress},
    };
    int failed = run_own_tests(&all[0]);
    for (size_t i = 0; i < COUNT_OF(all); i++)
        failed += conformance_run(&all[i]);
    return failed;
}
