/* SPDX-License-Identifier: MIT
 *
 * What every driver of devices must do, whatever its devices are made of: the promises of thrum/device.h, and nothing
 * besides.
 *
 * A driver's test program includes this file, fills in a `struct conformance` for each kind of settings that it has,
 * and calls conformance_run for each. Kernels differ from driver to driver, so the program brings the three that are
 * asked for.
 *
 * Devices in timing mode do not compute: of them everything is asked but content.
 */
#ifndef TESTS_SUPPORT_CONFORMANCE_H
#define TESTS_SUPPORT_CONFORMANCE_H

#include "random.h"
#include "stress.h"
#include "tasks.h"

/* All buffers have up to three dimensions and elements of type uint32_t; arithmetic is modulo 2^32. */
struct conformance_kernels {
    thrum_kernel_fn *bump;    /* each element x of buffer 0 becomes x * 1664525 + *(const uint32_t *)arg */
    thrum_kernel_fn *combine; /* each x of buffer 0, with y at the same place of buffer 1, becomes x * 31 + y */
    thrum_kernel_fn
        *stamp; /* each element of buffer 0 becomes *(const uint32_t *)arg + i0 + 1000 * i1 + 1000000 * i2 */
};

struct conformance {
    const char *kind;           /* of the driver */
    const char *settings;       /* of the devices */
    const char *failing;        /* with these, the third launch fails; NULL: there are no such settings */
    const char *const *refused; /* settings that are wrong, up to NULL */
    const struct conformance_kernels *kernels;
    int devices; /* how many can be opened at once; at most CONFORMANCE_DEVICES */
    const struct stress *stress;
};

enum { CONFORMANCE_DEVICES = 3, CONFORMANCE_LIMIT = 64 << 20 };

static const struct conformance *subject; /* of the group that runs */

static inline const thrum_driver *conformance_driver(const char *kind)
{
    const thrum_driver *driver = NULL;
    for (int i = 0; (driver = thrum_driver_at(i)) && strcmp(driver->kind, kind) != 0; i++)
        ;
    return driver;
}

static inline const thrum_driver *driver_under_test(void)
{
    const thrum_driver *driver = conformance_driver(subject->kind);
    assert_non_null(driver);
    return driver;
}

static inline thrum_device *open_device(int number, const char *settings)
{
    thrum_device *device = driver_under_test()->open(number, settings);
    if (!device)
        print_error("%s %d did not open with \"%s\": %s\n", subject->kind, number, settings, thrum_message(NULL));
    assert_non_null(device);
    return device;
}

static inline thrum_device_info info_of(const thrum_device *device)
{
    thrum_device_info info;
    memset(&info, 0x5a, sizeof info);
    driver_under_test()->describe(device, &info);
    return info;
}

/* ---- Operations and their ends ----------------------------------------------------------------------------------- */

struct ending {
    atomic_int calls; /* of done */
    atomic_bool ended;
    int err;
    char message[256];
};

static inline void note_ending(void *ctx, int err)
{
    struct ending *ending = ctx;
    ending->err = err;
    snprintf(ending->message, sizeof ending->message, "%s", err ? thrum_message(NULL) : "");
    atomic_fetch_add_explicit(&ending->calls, 1, memory_order_relaxed);
    atomic_store_explicit(&ending->ended, true, memory_order_release); /* with await_ending */
}

static inline int await_ending(struct ending *ending)
{
    for (int i = 0; !atomic_load_explicit(&ending->ended, memory_order_acquire); i++)
        if (i < 100)
            sched_yield();
        else
            nanosleep(&(struct timespec){0, 20000}, NULL);
    return ending->err;
}

/* Each starts an operation and waits for its end. */
static inline int copy_now(thrum_device *device, const thrum_copy *copy)
{
    struct ending ending = {0};
    int err = conformance_driver(subject->kind)->copy(device, copy, note_ending, &ending);
    return err ? err : await_ending(&ending);
}

static inline int launch_now(thrum_device *device, int worker, const thrum_launch *launch)
{
    struct ending ending = {0};
    int err = conformance_driver(subject->kind)->launch(device, worker, launch, note_ending, &ending);
    return err ? err : await_ending(&ending);
}

static inline thrum_copy plain_copy(enum thrum_direction direction, void *to, const void *from, size_t bytes)
{
    return (thrum_copy){.to = to, .from = from, .bytes = bytes, .rows = 1, .planes = 1, .direction = direction};
}

static inline int copy_in(thrum_device *device, void *to, const void *from, size_t bytes)
{
    thrum_copy copy = plain_copy(THRUM_COPY_IN, to, from, bytes);
    return copy_now(device, &copy);
}

static inline int copy_out(thrum_device *device, void *to, const void *from, size_t bytes)
{
    thrum_copy copy = plain_copy(THRUM_COPY_OUT, to, from, bytes);
    return copy_now(device, &copy);
}

static inline void *alloc_on(thrum_device *device, size_t bytes)
{
    void *memory = NULL;
    assert_int_equal(driver_under_test()->alloc(device, bytes, &memory), 0);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % 64, 0);
    return memory;
}

static inline void fill_random(struct random *random, void *memory, size_t bytes)
{
    unsigned char *at = memory;
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)random_next(random);
}

/* ---- The oracle -------------------------------------------------------------------------------------------------- */

static inline void oracle_copy(const thrum_copy *copy, void *to, const void *from)
{
    for (size_t plane = 0; plane < copy->planes; plane++)
        for (size_t row = 0; row < copy->rows; row++)
            memcpy((char *)to + plane * copy->to_plane + row * copy->to_row,
                   (const char *)from + plane * copy->from_plane + row * copy->from_row, copy->bytes);
}

enum kernel { BUMP, COMBINE, STAMP, KERNELS };

static inline thrum_kernel_fn *kernel_of(enum kernel kernel)
{
    const struct conformance_kernels *kernels = subject->kernels;
    return kernel == BUMP ? kernels->bump : kernel == COMBINE ? kernels->combine : kernels->stamp;
}

/* Up to three dimensions of uint32_t; of a shape with fewer, the others have extent 1. */
struct shape {
    size_t extent[3], stride[3];
    uint32_t dims;
};

static inline uint32_t *element(uint32_t *base, const struct shape *shape, size_t i, size_t j, size_t k)
{
    return base + i + j * shape->stride[1] + k * shape->stride[2];
}

static inline void oracle_kernel(enum kernel kernel, uint32_t *x, const struct shape *xs, uint32_t *y,
                                 const struct shape *ys, uint32_t arg)
{
    for (size_t k = 0; k < xs->extent[2]; k++)
        for (size_t j = 0; j < xs->extent[1]; j++)
            for (size_t i = 0; i < xs->extent[0]; i++) {
                uint32_t *at = element(x, xs, i, j, k);
                *at = kernel == BUMP      ? *at * 1664525u + arg
                      : kernel == COMBINE ? *at * 31u + *element(y, ys, i, j, k)
                                          : arg + (uint32_t)(i + 1000 * j + 1000000 * k);
            }
}

static inline thrum_buffer buffer_at(void *ptr, const struct shape *shape)
{
    return (thrum_buffer){
        .ptr = ptr, .elem = 4, .extent = shape->extent, .stride = shape->stride, .dims = shape->dims, .node = 1};
}

/* ---- Describing, opening, closing -------------------------------------------------------------------------------- */

TEST(a_device_describes_itself)
{
    const thrum_driver *driver = driver_under_test();
    thrum_device *device = open_device(0, subject->settings);
    thrum_device_info info = info_of(device);
    assert_non_null(memchr(info.name, '\0', sizeof info.name));
    assert_true(strlen(info.name) > 0);
    assert_int_equal(info.arch, driver->arch);
    assert_true(info.arch > THRUM_ARCH_CPU && info.arch < THRUM_ARCHS);
    assert_true(info.workers >= 1);
    assert_true(info.memory > 0);
    assert_true(info.bandwidth > 0);
    assert_true(info.latency >= 0);
    driver->close(device);
}

TEST(devices_of_a_kind_have_names_of_their_own)
{
    thrum_device *devices[CONFORMANCE_DEVICES];
    for (int i = 0; i < subject->devices; i++)
        devices[i] = open_device(i, subject->settings);
    for (int i = 1; i < subject->devices; i++)
        assert_string_not_equal(info_of(devices[0]).name, info_of(devices[i]).name);
    for (int i = 0; i < subject->devices; i++)
        driver_under_test()->close(devices[i]);
}

TEST(a_device_opens_and_closes_again_and_again)
{
    for (int i = 0; i < 50; i++)
        driver_under_test()->close(open_device(i % subject->devices, subject->settings));
}

TEST(settings_are_listed_and_their_defaults_are_values)
{
    const thrum_driver *driver = driver_under_test();
    assert_true(driver->help && *driver->help);
    for (const thrum_setting *setting = driver->settings; setting->key; setting++) {
        char text[128];
        assert_true(*setting->key && setting->initial && setting->range && setting->help);
        snprintf(text, sizeof text, "%s=%s", setting->key, setting->initial);
        driver->close(open_device(0, text));
    }
}

static inline void assert_refused(const char *settings)
{
    thrum_device *device = driver_under_test()->open(0, settings);
    if (device)
        print_error("\"%s\" was not refused\n", settings);
    assert_null(device);
    assert_true(strlen(thrum_message(NULL)) > 0);
}

TEST(wrong_settings_are_refused_with_a_sentence)
{
    const thrum_driver *driver = driver_under_test();
    assert_refused("no-such-setting=1");
    assert_contains(thrum_message(NULL), "no-such-setting");
    for (const thrum_setting *setting = driver->settings; setting->key; setting++)
        assert_contains(thrum_message(NULL), setting->key);
    static const char *const no_settings[] = {";", "=", "=1", "word", ";;", "1", NULL};
    for (int i = 0; no_settings[i]; i++)
        assert_refused(no_settings[i]);
    for (int i = 0; subject->refused[i]; i++)
        assert_refused(subject->refused[i]);
}

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

/* Pieces until no more fits. Returns how many. */
enum { PIECES = 64 };
static inline int allocate_all(thrum_device *device, size_t bytes, void *pieces[PIECES])
{
    int count = 0, err = 0;
    while (count < PIECES && !err) {
        pieces[count] = NULL;
        err = driver_under_test()->alloc(device, bytes, &pieces[count]);
        count += !err;
    }
    assert_true(count == PIECES || err == THRUM_ENOMEM);
    return count;
}

TEST(memory_is_limited_and_comes_back)
{
    const thrum_driver *driver = driver_under_test();
    thrum_device *device = open_device(0, subject->settings);
    size_t memory = info_of(device).memory, bytes = memory / 7;
    assert_true(memory <= CONFORMANCE_LIMIT); /* the settings of a test are to be small */
    void *pieces[PIECES], *again[PIECES];
    int count = allocate_all(device, bytes, pieces);
    assert_true(count >= 6 && count <= 7);
    driver->release(device, pieces[2], bytes);
    pieces[2] = alloc_on(device, bytes);
    for (int i = 0; i < count; i++)
        driver->release(device, pieces[i], bytes);
    assert_int_equal(allocate_all(device, bytes, again), count);
    for (int i = 0; i < count; i++)
        driver->release(device, again[i], bytes);
    driver->close(device);
}

TEST(what_can_never_fit_is_refused)
{
    const thrum_driver *driver = driver_under_test();
    thrum_device *device = open_device(0, subject->settings);
    void *memory = &device;
    assert_int_equal(driver->alloc(device, info_of(device).memory + 1, &memory), THRUM_ENOMEM);
    assert_int_equal(driver->alloc(device, SIZE_MAX, &memory), THRUM_ENOMEM);
    assert_int_equal(driver->alloc(device, SIZE_MAX - 100, &memory), THRUM_ENOMEM);
    assert_int_equal(driver->alloc(device, 0, &memory), THRUM_EINVAL);
    assert_ptr_equal(memory, &device);
    driver->close(device);
}

TEST(memory_that_is_still_allocated_ends_with_the_device)
{
    thrum_device *device = open_device(0, subject->settings);
    for (int i = 0; i < 10; i++)
        alloc_on(device, 1 + (size_t)i * 100);
    driver_under_test()->close(device);
}

TEST(pieces_of_memory_do_not_overlap)
{
    enum { COUNT = 40, BYTES = 3000 };
    thrum_device *device = open_device(0, subject->settings);
    bool timing = info_of(device).timing;
    struct random random = random_new(1);
    unsigned char content[BYTES], back[BYTES];
    void *pieces[COUNT];
    size_t sizes[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        sizes[i] = random_between(&random, 1, BYTES);
        pieces[i] = alloc_on(device, sizes[i]);
        memset(content, (int)i, sizes[i]);
        assert_int_equal(copy_in(device, pieces[i], content, sizes[i]), 0);
    }
    for (size_t i = 0; i < COUNT; i++) {
        memset(content, (int)i, sizes[i]);
        assert_int_equal(copy_out(device, back, pieces[i], sizes[i]), 0);
        assert_true(timing || memcmp(content, back, sizes[i]) == 0);
        driver_under_test()->release(device, pieces[i], sizes[i]);
    }
    driver_under_test()->close(device);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

enum { ARENA = 16384 };

/* One side of a copy: from where to where it reaches, in bytes. */
static inline size_t reach(const thrum_copy *copy, size_t row, size_t plane)
{
    return (copy->planes - 1) * plane + (copy->rows - 1) * row + copy->bytes;
}

/* Random steps for one side, so that nothing overlaps; sometimes packed. */
static inline void random_steps(struct random *random, const thrum_copy *copy, size_t *row, size_t *plane)
{
    *row = copy->bytes + (random_chance(random, 40) ? 0 : random_below(random, 40));
    *plane = copy->rows * *row + (random_chance(random, 40) ? 0 : random_below(random, 60));
}

/* A copy of random shape that fits into `to_size` and `from_size` bytes, with its offsets there. */
static inline thrum_copy random_copy(struct random *random, size_t to_size, size_t from_size, size_t *to, size_t *from)
{
    size_t least = to_size < from_size ? to_size : from_size;
    thrum_copy copy = {.bytes = random_between(random, 1, least < 300 ? least : 300),
                       .rows = random_between(random, 1, 8),
                       .planes = random_between(random, 1, 5)};
    if (random_chance(random, 10))
        copy.bytes = random_between(random, 1, least);
    for (int attempt = 0;; attempt++) {
        random_steps(random, &copy, &copy.to_row, &copy.to_plane);
        random_steps(random, &copy, &copy.from_row, &copy.from_plane);
        size_t to_reach = reach(&copy, copy.to_row, copy.to_plane);
        size_t from_reach = reach(&copy, copy.from_row, copy.from_plane);
        if (to_reach <= to_size && from_reach <= from_size) {
            *to = random_below(random, to_size - to_reach + 1);
            *from = random_below(random, from_size - from_reach + 1);
            return copy;
        }
        copy.planes = attempt > 0 ? 1 : copy.planes;
        copy.rows = attempt > 1 ? 1 : copy.rows;
    }
}

/* In, out, and what lies between the rows stays as it was: with memory of known content on both sides. */
TEST(copies_of_all_shapes_arrive_and_touch_nothing_else)
{
    thrum_device *device = open_device(0, subject->settings);
    bool timing = info_of(device).timing;
    char *memory = alloc_on(device, ARENA);
    static unsigned char home[ARENA], there[ARENA], back[ARENA], expected[ARENA];
    struct random random = random_new(2);
    for (int i = 0; i < 200; i++) {
        fill_random(&random, home, ARENA);
        fill_random(&random, there, ARENA);
        assert_int_equal(copy_in(device, memory, there, ARENA), 0);
        size_t to, from;
        bool in = i % 2;
        thrum_copy copy = random_copy(&random, ARENA, ARENA, &to, &from);
        copy.direction = in ? THRUM_COPY_IN : THRUM_COPY_OUT;
        memcpy(expected, in ? there : home, ARENA);
        oracle_copy(&copy, expected + to, (in ? home : there) + from);
        copy.to = in ? (void *)(memory + to) : home + to;
        copy.from = in ? (void *)(home + from) : memory + from;
        assert_int_equal(copy_now(device, &copy), 0);
        assert_int_equal(copy_out(device, back, memory, ARENA), 0);
        assert_true(timing || memcmp(in ? back : home, expected, ARENA) == 0);
        assert_true(timing || !(!in && memcmp(back, there, ARENA) != 0));
    }
    driver_under_test()->close(device);
}

TEST(copies_between_devices_arrive_or_are_refused)
{
    if (subject->devices < 2)
        return;
    thrum_device *one = open_device(0, subject->settings), *two = open_device(1, subject->settings);
    bool reaches = info_of(one).reaches_others, timing = info_of(one).timing;
    char *to_memory = alloc_on(one, ARENA), *from_memory = alloc_on(two, ARENA);
    static unsigned char a[ARENA], b[ARENA], back[ARENA];
    struct random random = random_new(3);
    fill_random(&random, a, ARENA);
    fill_random(&random, b, ARENA);
    assert_int_equal(copy_in(one, to_memory, a, ARENA), 0);
    assert_int_equal(copy_in(two, from_memory, b, ARENA), 0);
    for (int i = 0; i < 100; i++) {
        size_t to, from;
        thrum_copy copy = random_copy(&random, ARENA, ARENA, &to, &from);
        copy.direction = THRUM_COPY_ACROSS;
        copy.to = to_memory + to;
        copy.from = from_memory + from;
        copy.from_device = two;
        assert_int_equal(copy_now(one, &copy), reaches ? 0 : THRUM_EINVAL);
        if (reaches)
            oracle_copy(&copy, a + to, b + from);
    }
    assert_int_equal(copy_out(one, back, to_memory, ARENA), 0);
    assert_true(timing || memcmp(back, a, ARENA) == 0);
    driver_under_test()->close(two);
    driver_under_test()->close(one);
}

TEST(a_copy_of_nothing_is_refused)
{
    thrum_device *device = open_device(0, subject->settings);
    char *memory = alloc_on(device, 100), home[100] = {0};
    for (int i = 0; i < 4; i++) {
        thrum_copy copy = plain_copy(THRUM_COPY_IN, memory, home, 10);
        copy.bytes = i == 0 ? 0 : i == 3 ? SIZE_MAX : 10;
        copy.rows = i == 1 ? 0 : i == 3 ? 3 : 1;
        copy.planes = i == 2 ? 0 : 1;
        struct ending ending = {0};
        assert_int_equal(driver_under_test()->copy(device, &copy, note_ending, &ending), THRUM_EINVAL);
        assert_true(strlen(thrum_message(NULL)) > 0);
        assert_int_equal(atomic_load(&ending.calls), 0);
    }
    driver_under_test()->close(device);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static inline size_t elements_of(const struct shape *shape)
{
    return shape->extent[0] + (shape->extent[1] - 1) * shape->stride[1] + (shape->extent[2] - 1) * shape->stride[2];
}

static inline void random_strides(struct random *random, struct shape *shape)
{
    shape->stride[0] = 1;
    shape->stride[1] = shape->extent[0] + random_below(random, 4);
    shape->stride[2] = shape->extent[1] * shape->stride[1] + random_below(random, 4);
}

/* A shape that reaches no further than `room` elements. */
static inline struct shape random_shape(struct random *random, size_t room)
{
    struct shape shape = {.extent = {1, 1, 1}, .dims = (uint32_t)random_between(random, 1, 3)};
    size_t most = shape.dims == 1 ? room : shape.dims == 2 ? 20 : 8;
    for (uint32_t d = 0; d < shape.dims; d++)
        shape.extent[d] = random_between(random, 1, most < room ? most : room);
    random_strides(random, &shape);
    return elements_of(&shape) <= room ? shape : (struct shape){{room, 1, 1}, {1, room, room}, 1};
}

/* The same extents with other strides, if that fits into `room` elements. */
static inline struct shape other_strides(struct random *random, const struct shape *shape, size_t room)
{
    struct shape other = *shape;
    random_strides(random, &other);
    return elements_of(&other) <= room ? other : *shape;
}

TEST(kernels_compute_on_buffers_of_all_shapes)
{
    enum { ELEMENTS = 2048, BYTES = 4 * ELEMENTS };
    thrum_device *device = open_device(0, subject->settings);
    thrum_device_info info = info_of(device);
    uint32_t *memory[2] = {alloc_on(device, BYTES), alloc_on(device, BYTES)};
    static uint32_t home[2][ELEMENTS], back[ELEMENTS];
    struct random random = random_new(4);
    for (int i = 0; i < 2; i++) {
        fill_random(&random, home[i], BYTES);
        assert_int_equal(copy_in(device, memory[i], home[i], BYTES), 0);
    }
    for (int i = 0; i < 200; i++) {
        struct shape xs = random_shape(&random, ELEMENTS), ys = other_strides(&random, &xs, ELEMENTS);
        size_t x = random_below(&random, ELEMENTS - elements_of(&xs) + 1);
        size_t y = random_below(&random, ELEMENTS - elements_of(&ys) + 1);
        uint32_t arg = (uint32_t)random_next(&random);
        enum kernel kernel = (enum kernel)random_below(&random, KERNELS);
        thrum_buffer buffers[2] = {buffer_at(memory[0] + x, &xs), buffer_at(memory[1] + y, &ys)};
        thrum_launch launch = {.kernel = kernel_of(kernel), .buffers = buffers, .count = 2, .arg = &arg};
        assert_int_equal(launch_now(device, i % info.workers, &launch), 0);
        oracle_kernel(kernel, home[0] + x, &xs, home[1] + y, &ys, arg);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(copy_out(device, back, memory[i], BYTES), 0);
        assert_true(info.timing || memcmp(back, home[i], BYTES) == 0);
    }
    driver_under_test()->close(device);
}

TEST(a_worker_that_is_not_there_is_refused)
{
    thrum_device *device = open_device(0, subject->settings);
    uint32_t *memory = alloc_on(device, 4), arg = 1;
    struct shape shape = {{1, 1, 1}, {1, 1, 1}, 1};
    thrum_buffer buffer = buffer_at(memory, &shape);
    thrum_launch launch = {.kernel = subject->kernels->stamp, .buffers = &buffer, .count = 1, .arg = &arg};
    assert_int_equal(launch_now(device, info_of(device).workers, &launch), THRUM_EINVAL);
    assert_int_equal(launch_now(device, -1, &launch), THRUM_EINVAL);
    assert_true(strlen(thrum_message(NULL)) > 0);
    driver_under_test()->close(device);
}

/* ---- Failing ----------------------------------------------------------------------------------------------------- */

static inline void assert_all_fails(thrum_device *device, void *memory, const thrum_launch *launch)
{
    char home[64] = {0};
    void *more = NULL;
    assert_int_equal(launch_now(device, 0, launch), THRUM_EDEVICE);
    assert_int_equal(copy_in(device, memory, home, sizeof home), THRUM_EDEVICE);
    assert_int_equal(copy_out(device, home, memory, sizeof home), THRUM_EDEVICE);
    assert_int_equal(driver_under_test()->alloc(device, 64, &more), THRUM_EDEVICE);
    assert_true(strlen(thrum_message(NULL)) > 0);
}

TEST(a_device_that_has_failed_fails_in_all)
{
    if (!subject->failing)
        return;
    thrum_device *device = open_device(0, subject->failing);
    uint32_t *memory = alloc_on(device, 64), arg = 1;
    struct shape shape = {{16, 1, 1}, {1, 16, 16}, 1};
    thrum_buffer buffer = buffer_at(memory, &shape);
    thrum_launch launch = {.kernel = subject->kernels->stamp, .buffers = &buffer, .count = 1, .arg = &arg};
    assert_int_equal(launch_now(device, 0, &launch), 0);
    assert_int_equal(launch_now(device, 0, &launch), 0);
    struct ending ending = {0};
    int err = driver_under_test()->launch(device, 0, &launch, note_ending, &ending);
    const char *message = err ? thrum_message(NULL) : (err = await_ending(&ending), ending.message);
    assert_int_equal(err, THRUM_EDEVICE);
    assert_true(strlen(message) > 0);
    for (int i = 0; i < 3; i++)
        assert_all_fails(device, memory, &launch);
    driver_under_test()->release(device, memory, 64);
    driver_under_test()->close(device);
}

/* Each copy that was queued ends, one way or the other. */
TEST(copies_that_are_under_way_end_when_the_device_fails)
{
    enum { COPIES = 50, BYTES = 1000 };
    if (!subject->failing)
        return;
    const thrum_driver *driver = driver_under_test();
    thrum_device *device = open_device(0, subject->failing);
    static char home[COPIES][BYTES];
    static struct ending endings[COPIES];
    memset(endings, 0, sizeof endings);
    char *memory = alloc_on(device, COPIES * BYTES);
    uint32_t arg = 1;
    struct shape shape = {{1, 1, 1}, {1, 1, 1}, 1};
    uint32_t *other = alloc_on(device, 64);
    thrum_buffer buffer = buffer_at(other, &shape);
    thrum_launch launch = {.kernel = subject->kernels->stamp, .buffers = &buffer, .count = 1, .arg = &arg};
    int started = 0;
    for (int i = 0; i < COPIES; i++) {
        thrum_copy copy = plain_copy(THRUM_COPY_IN, memory + i * BYTES, home[i], BYTES);
        started += driver->copy(device, &copy, note_ending, &endings[started]) == 0;
        if (i == 20 || i == 25 || i == 30)
            launch_now(device, 0, &launch);
    }
    for (int i = 0; i < started; i++)
        assert_true(await_ending(&endings[i]) == 0 || (endings[i].err == THRUM_EDEVICE && endings[i].message[0]));
    driver->close(device);
    for (int i = 0; i < started; i++)
        assert_int_equal(atomic_load(&endings[i].calls), 1);
}

/* ---- Random programs --------------------------------------------------------------------------------------------- */

/* A program starts operations on the devices as a runtime does: many at once, and one that needs another's result waits
 * for it. The oracle does the same at once. Nothing here may assert, since several threads run programs of their own at
 * the same time. */
enum { HOMES = 4, HOME_BYTES = 4096, BLOCKS = 12, BLOCK_BYTES = 4096, PENDING = 16 };

/* A piece of memory: the program's own or a device's. */
struct piece {
    int device; /* -1: home */
    char *memory;
    size_t bytes;
    unsigned char *shadow; /* what its content should be */
};

struct operation {
    struct ending ending;
    struct piece *writes, *reads; /* reads may be NULL */
    bool busy;
    uint32_t arg;
    struct shape shapes[2]; /* of its buffers: they live as long as it is under way */
    thrum_buffer buffers[2];
};

struct program {
    const thrum_driver *driver;
    thrum_device **devices;
    int device_count, worker; /* the worker that it is, on all devices; -1: launches nothing */
    bool timing, reaches;
    struct random random;
    struct piece homes[HOMES], blocks[BLOCKS];
    struct operation operations[PENDING];
    char wrong[256]; /* the first thing that went wrong */
};

static inline void program_wrong(struct program *program, const char *what, const char *why)
{
    if (!program->wrong[0])
        snprintf(program->wrong, sizeof program->wrong, "%s: %s", what, why);
}

static inline void finish(struct program *program, struct operation *operation)
{
    if (!operation->busy)
        return;
    if (await_ending(&operation->ending))
        program_wrong(program, "an operation failed", operation->ending.message);
    if (atomic_load_explicit(&operation->ending.calls, memory_order_relaxed) != 1)
        program_wrong(program, "done", "was called more than once");
    operation->busy = false;
}

/* Waits for what must come before an access to the piece. */
static inline void finish_users(struct program *program, const struct piece *piece, bool writes)
{
    for (int i = 0; i < PENDING; i++) {
        struct operation *operation = &program->operations[i];
        if (operation->busy && (operation->writes == piece || (writes && operation->reads == piece)))
            finish(program, operation);
    }
}

static inline struct operation *begin(struct program *program, struct piece *writes, struct piece *reads)
{
    struct operation *operation = &program->operations[random_below(&program->random, PENDING)];
    finish_users(program, writes, true);
    if (reads)
        finish_users(program, reads, false);
    finish(program, operation);
    *operation = (struct operation){.writes = writes, .reads = reads, .busy = true};
    return operation;
}

static inline void begun(struct program *program, struct operation *operation, int err)
{
    if (!err)
        return;
    operation->busy = false;
    program_wrong(program, "an operation was refused", thrum_message(NULL));
}

static inline void start_copy(struct program *program, struct piece *to, struct piece *from, thrum_copy copy,
                              size_t to_offset, size_t from_offset)
{
    struct operation *operation = begin(program, to, from);
    oracle_copy(&copy, to->shadow + to_offset, from->shadow + from_offset);
    copy.to = to->memory + to_offset;
    copy.from = from->memory + from_offset;
    copy.direction = to->device < 0 ? THRUM_COPY_OUT : from->device < 0 ? THRUM_COPY_IN : THRUM_COPY_ACROSS;
    copy.from_device = copy.direction == THRUM_COPY_ACROSS ? program->devices[from->device] : NULL;
    int device = to->device < 0 ? from->device : to->device;
    begun(program, operation, program->driver->copy(program->devices[device], &copy, note_ending, &operation->ending));
}

static inline void copy_whole(struct program *program, struct piece *to, struct piece *from, size_t bytes)
{
    start_copy(program, to, from, (thrum_copy){.bytes = bytes, .rows = 1, .planes = 1}, 0, 0);
}

static inline struct piece *random_block(struct program *program)
{
    struct piece *block = &program->blocks[random_below(&program->random, BLOCKS)];
    return block->memory ? block : NULL;
}

static inline void drop_block(struct program *program, struct piece *block)
{
    finish_users(program, block, true);
    program->driver->release(program->devices[block->device], block->memory, block->bytes);
    free(block->shadow);
    block->memory = NULL;
}

/* A place that is empty gets memory, filled from home; one that is not loses it. */
static inline void change_block(struct program *program)
{
    struct piece *block = &program->blocks[random_below(&program->random, BLOCKS)];
    if (block->memory) {
        if (random_chance(&program->random, 30))
            drop_block(program, block);
        return;
    }
    void *memory = NULL;
    block->device = (int)random_below(&program->random, (size_t)program->device_count);
    block->bytes = random_between(&program->random, 1, BLOCK_BYTES);
    int err = program->driver->alloc(program->devices[block->device], block->bytes, &memory);
    if (err && err != THRUM_ENOMEM)
        program_wrong(program, "no memory for another reason than being full", thrum_message(NULL));
    if (err)
        return;
    block->memory = memory;
    block->shadow = calloc(1, block->bytes);
    copy_whole(program, block, &program->homes[random_below(&program->random, HOMES)], block->bytes);
}

static inline void random_transfer(struct program *program)
{
    struct piece *block = random_block(program), *other = random_block(program);
    struct piece *home = &program->homes[random_below(&program->random, HOMES)];
    if (!block)
        return;
    bool across = other && other->device != block->device && program->reaches && random_chance(&program->random, 30);
    bool in = across || random_chance(&program->random, 50);
    struct piece *to = in ? block : home, *from = across ? other : in ? home : block;
    size_t to_offset, from_offset;
    thrum_copy copy = random_copy(&program->random, to->bytes, from->bytes, &to_offset, &from_offset);
    start_copy(program, to, from, copy, to_offset, from_offset);
}

static inline void random_launch(struct program *program)
{
    struct piece *x = random_block(program), *y = random_block(program);
    if (!x || x->bytes < 4 || program->worker < 0)
        return;
    enum kernel kernel = (enum kernel)random_below(&program->random, KERNELS);
    bool two = kernel == COMBINE;
    if (two && (!y || y == x || y->device != x->device || y->bytes < x->bytes))
        return;
    size_t room = x->bytes / 4;
    struct operation *operation = begin(program, x, two ? y : NULL);
    operation->shapes[0] = operation->shapes[1] = random_shape(&program->random, room);
    operation->arg = (uint32_t)random_next(&program->random);
    size_t at = random_below(&program->random, room - elements_of(&operation->shapes[0]) + 1);
    uint32_t *memory = (uint32_t *)(void *)x->memory, *other = two ? (uint32_t *)(void *)y->memory : NULL;
    operation->buffers[0] = buffer_at(memory + at, &operation->shapes[0]);
    operation->buffers[1] = buffer_at(other, &operation->shapes[1]);
    oracle_kernel(kernel, (uint32_t *)(void *)x->shadow + at, &operation->shapes[0],
                  two ? (uint32_t *)(void *)y->shadow : NULL, &operation->shapes[1], operation->arg);
    thrum_launch launch = {.kernel = kernel_of(kernel),
                           .buffers = operation->buffers,
                           .count = two ? 2 : 1,
                           .arg = &operation->arg,
                           .seconds = 1e-6};
    begun(program, operation,
          program->driver->launch(program->devices[x->device], program->worker, &launch, note_ending,
                                  &operation->ending));
}

/* Whole blocks come home, into a place of their own, and are compared. */
static inline void check_block(struct program *program, struct piece *block)
{
    unsigned char content[BLOCK_BYTES], shadow[BLOCK_BYTES];
    struct piece back = {-1, (char *)content, block->bytes, shadow};
    copy_whole(program, &back, block, block->bytes);
    finish_users(program, &back, true);
    if (!program->timing && memcmp(content, block->shadow, block->bytes) != 0)
        program_wrong(program, "content", "a block of a device is not what it should be");
}

static inline void check_homes(struct program *program)
{
    for (int i = 0; i < PENDING; i++)
        finish(program, &program->operations[i]);
    for (int i = 0; i < HOMES && !program->timing; i++)
        if (memcmp(program->homes[i].memory, program->homes[i].shadow, HOME_BYTES) != 0)
            program_wrong(program, "content", "memory at home is not what it should be");
}

static inline void program_step(struct program *program)
{
    size_t what = random_below(&program->random, 100);
    struct piece *block = random_block(program);
    if (what < 15)
        change_block(program);
    else if (what < 60)
        random_transfer(program);
    else if (what < 95)
        random_launch(program);
    else if (block)
        check_block(program, block);
}

static inline void program_begin(struct program *program)
{
    for (int i = 0; i < HOMES; i++) {
        unsigned char *memory = malloc(HOME_BYTES), *shadow = malloc(HOME_BYTES);
        fill_random(&program->random, memory, HOME_BYTES);
        memcpy(shadow, memory, HOME_BYTES);
        program->homes[i] = (struct piece){-1, (char *)memory, HOME_BYTES, shadow};
    }
}

static inline void program_end(struct program *program)
{
    check_homes(program);
    for (int i = 0; i < BLOCKS; i++)
        if (program->blocks[i].memory) {
            check_block(program, &program->blocks[i]);
            drop_block(program, &program->blocks[i]);
        }
    for (int i = 0; i < HOMES; i++) {
        free(program->homes[i].memory);
        free(program->homes[i].shadow);
    }
}

static inline void *program_run(void *arg)
{
    enum { STEPS = 400 };
    struct program *program = arg;
    program_begin(program);
    for (int i = 0; i < STEPS && !program->wrong[0]; i++)
        program_step(program);
    program_end(program);
    return NULL;
}

static inline struct program *program_new(thrum_device **devices, int count, uint64_t seed, int thread)
{
    struct program *program = calloc(1, sizeof *program);
    thrum_device_info info = info_of(devices[0]);
    program->driver = driver_under_test();
    program->devices = devices;
    program->device_count = count;
    program->worker = thread < info.workers ? thread : -1;
    program->timing = info.timing;
    program->reaches = info.reaches_others;
    program->random = random_new(random_mix(seed) + (uint64_t)thread);
    return program;
}

/* As many programs at once as there are threads. */
static inline void run_programs(struct stress_course *course, thrum_device **devices, int count, int threads)
{
    enum { THREADS = 4 };
    pthread_t ids[THREADS];
    struct program *programs[THREADS];
    char wrong[256] = "";
    for (int i = 0; i < threads; i++)
        programs[i] = program_new(devices, count, course->seed, i);
    for (int i = 1; i < threads; i++)
        assert_int_equal(pthread_create(&ids[i], NULL, program_run, programs[i]), 0);
    program_run(programs[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
    for (int i = 0; i < threads; i++) {
        if (programs[i]->wrong[0])
            snprintf(wrong, sizeof wrong, "%s", programs[i]->wrong);
        free(programs[i]);
    }
    if (wrong[0])
        stress_fail(course, wrong);
}

static inline void run_courses(int threads)
{
    struct stress_course course = stress_course(subject->stress);
    while (stress_next(&course)) {
        thrum_device *devices[CONFORMANCE_DEVICES];
        int count = 1 + (int)(course.seed % (uint64_t)subject->devices);
        for (int i = 0; i < count; i++)
            devices[i] = open_device(i, subject->settings);
        run_programs(&course, devices, count, threads);
        for (int i = 0; i < count; i++)
            driver_under_test()->close(devices[i]);
    }
    stress_report(&course, threads > 1 ? "rounds, each of four programs at once" : "programs");
}

TEST(random_programs_compute_what_the_oracle_does)
{
    run_courses(1);
}

TEST(random_programs_of_several_threads_do_not_disturb_each_other)
{
    run_courses(4);
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

/* Returns how many tests failed. */
static inline int conformance_run(const struct conformance *conformance)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_describes_itself),
        cmocka_unit_test(devices_of_a_kind_have_names_of_their_own),
        cmocka_unit_test(a_device_opens_and_closes_again_and_again),
        cmocka_unit_test(settings_are_listed_and_their_defaults_are_values),
        cmocka_unit_test(wrong_settings_are_refused_with_a_sentence),
        cmocka_unit_test(memory_is_limited_and_comes_back),
        cmocka_unit_test(what_can_never_fit_is_refused),
        cmocka_unit_test(memory_that_is_still_allocated_ends_with_the_device),
        cmocka_unit_test(pieces_of_memory_do_not_overlap),
        cmocka_unit_test(copies_of_all_shapes_arrive_and_touch_nothing_else),
        cmocka_unit_test(copies_between_devices_arrive_or_are_refused),
        cmocka_unit_test(a_copy_of_nothing_is_refused),
        cmocka_unit_test(kernels_compute_on_buffers_of_all_shapes),
        cmocka_unit_test(a_worker_that_is_not_there_is_refused),
        cmocka_unit_test(a_device_that_has_failed_fails_in_all),
        cmocka_unit_test(copies_that_are_under_way_end_when_the_device_fails),
        cmocka_unit_test(random_programs_compute_what_the_oracle_does),
        cmocka_unit_test(random_programs_of_several_threads_do_not_disturb_each_other),
    };
    char name[160];
    snprintf(name, sizeof name, "%s;%s", conformance->kind, conformance->settings);
    print_message("\n%s\n", name);
    subject = conformance;
    watchdog_put_off((unsigned)conformance->stress->patience);
    return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}

#endif
