/* SPDX-License-Identifier: MIT
 *
 * Emulated devices seen from inside: out of memory (scarcity.h), and, in builds with checks, addresses that are not
 * theirs.
 */
#include "scarcity.h"
#include "tasks.h"

#include "base/fault.h"
#include "device/drivers.h"

static const thrum_driver *const emu = &thrum__emu_driver;

struct ending {
    atomic_bool ended;
    int err;
};

static void note_ending(void *ctx, int err)
{
    struct ending *ending = ctx;
    ending->err = err;
    atomic_store(&ending->ended, true);
}

static int copy_and_wait(thrum_device *device, enum thrum_direction direction, void *to, const void *from, size_t bytes)
{
    thrum_copy copy = {.to = to, .from = from, .bytes = bytes, .rows = 1, .planes = 1, .direction = direction};
    struct ending ending = {0};
    int err = emu->copy(device, &copy, note_ending, &ending);
    while (!err && !atomic_load(&ending.ended))
        sched_yield();
    return err ? err : ending.err;
}

static void add_one(const thrum_buffer *buffers, const void *arg)
{
    (void)arg;
    ++*(int *)buffers->ptr;
}

static int launch_and_wait(thrum_device *device, void *memory)
{
    thrum_buffer buffer = {.ptr = memory, .elem = sizeof(int)};
    struct ending ending = {0};
    int err = emu->launch(device, 0, &(thrum_launch){.kernel = add_one, .buffers = &buffer, .count = 1}, note_ending,
                          &ending);
    return err ? err : ending.err;
}

static enum outcome use_scenario(void)
{
    thrum_device *device = emu->open(0, "latency=0");
    if (!device)
        return outcome_of(thrum__last_code(), false);
    void *memory = NULL;
    int home = 41, err = emu->alloc(device, sizeof home, &memory);
    if (!err)
        err = copy_and_wait(device, THRUM_COPY_IN, memory, &home, sizeof home);
    if (!err)
        err = launch_and_wait(device, memory);
    if (!err)
        err = copy_and_wait(device, THRUM_COPY_OUT, &home, memory, sizeof home);
    emu->close(device);
    return outcome_of(err, home == 42);
}

TEST(a_device_without_memory_is_an_error)
{
    exhaust(use_scenario);
}

TEST(what_was_not_allocated_does_not_count)
{
    thrum_device *device = emu->open(0, "memory=100B");
    void *memory = NULL;
    thrum__alloc_fail_after(0);
    int err = emu->alloc(device, 100, &memory);
    thrum__alloc_fail_after(-1);
    assert_int_equal(err, THRUM_ENOMEM);
    assert_int_equal(emu->alloc(device, 100, &memory), 0);
    emu->close(device);
}

/* Some that comes back is kept, but not more than 64 MiB, and nobody can tell. */
TEST(memory_that_came_back_is_as_new)
{
    enum { PIECES = 80, BYTES = 1 << 20 };
    thrum_device *device = emu->open(0, "memory=80MiB");
    void *memory[PIECES];
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < PIECES; i++) {
            assert_int_equal(emu->alloc(device, BYTES, &memory[i]), 0);
            for (int k = 0; k < BYTES; k += 997)
                assert_int_equal(((unsigned char *)memory[i])[k], 0xa5);
            memset(memory[i], 1, BYTES);
        }
        assert_int_equal(emu->alloc(device, BYTES, &(void *){NULL}), THRUM_ENOMEM);
        for (int i = 0; i < PIECES; i++)
            emu->release(device, memory[i], BYTES);
    }
    void *all = NULL;
    assert_int_equal(emu->alloc(device, (size_t)PIECES * BYTES, &all), 0); /* what is kept does not count */
    emu->release(device, all, (size_t)PIECES * BYTES);
    emu->close(device);
}

/* Only builds with checks look. */
TEST(addresses_that_are_not_the_devices_are_noticed)
{
#ifdef THRUM_CHECKS
    thrum_device *device = emu->open(0, "latency=0"), *other = emu->open(1, "latency=0");
    char home[100] = {0}, *end;
    void *memory = NULL, *elsewhere = NULL;
    assert_int_equal(emu->alloc(device, 100, &memory), 0);
    assert_int_equal(emu->alloc(other, 100, &elsewhere), 0);
    end = (char *)memory + 100;
    assert_int_equal(copy_and_wait(device, THRUM_COPY_IN, end - 10, home, 10), 0);
    assert_error(copy_and_wait(device, THRUM_COPY_IN, end - 10, home, 11), THRUM_EINVAL, "not in the memory of emu 0");
    assert_error(copy_and_wait(device, THRUM_COPY_IN, home, home, 1), THRUM_EINVAL, "not in the memory");
    assert_error(copy_and_wait(device, THRUM_COPY_OUT, home, elsewhere, 1), THRUM_EINVAL, "not in the memory");
    assert_error(launch_and_wait(device, home), THRUM_EINVAL, "not in the memory");
    assert_error(launch_and_wait(device, elsewhere), THRUM_EINVAL, "not in the memory");
    emu->close(other);
    emu->close(device);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_without_memory_is_an_error),
        cmocka_unit_test(what_was_not_allocated_does_not_count),
        cmocka_unit_test(memory_that_came_back_is_as_new),
        cmocka_unit_test(addresses_that_are_not_the_devices_are_noticed),
    };
    return RUN_TESTS(tests, 60);
}
