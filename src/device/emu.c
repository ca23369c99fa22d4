/* SPDX-License-Identifier: MIT */
#include "device/emu_int.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "device/drivers.h"
#include "sys/clock.h"
#include "sys/sleep.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

static int open_links(thrum_device *device)
{
    int err = thrum__emu_link_open(&device->in, device);
    if (err)
        return err;
    err = thrum__emu_link_open(&device->out, device);
    if (err)
        thrum__emu_link_close(&device->in);
    return err;
}

static thrum_device *emu_open(int number, const char *settings)
{
    emu_settings read;
    if (thrum__emu_settings_read(settings ? settings : "", &read))
        return NULL;
    thrum_device *device = thrum__zalloc_aligned(sizeof *device);
    if (!device) {
        thrum__fault(THRUM_ENOMEM, "no memory for the device emu %d", number);
        return NULL;
    }
    device->settings = read;
    device->number = number;
    device->process = getpid();
    if (open_links(device)) {
        thrum__free(device);
        return NULL;
    }
    return device;
}

/* In the child of a fork the links' threads are not there, and a lock may have been held by one of the parent's: all is
 * left as it is, for the parent's copy to be closed. */
static void emu_close(thrum_device *device)
{
    if (!device || device->process != getpid())
        return;
    thrum__emu_link_close(&device->in);
    thrum__emu_link_close(&device->out);
    thrum__emu_memory_free(device);
    thrum__free(device);
}

static void emu_describe(const thrum_device *device, thrum_device_info *info)
{
    const emu_settings *settings = &device->settings;
    *info = (thrum_device_info){.arch = THRUM_ARCH_EMU,
                                .workers = (int)settings->workers,
                                .memory = settings->memory,
                                .bandwidth = settings->bandwidth,
                                .latency = settings->latency,
                                .timing = settings->timing,
                                .reaches_others = settings->peer};
    snprintf(info->name, sizeof info->name, "emu %d", device->number);
}

/* ---- Failing ----------------------------------------------------------------------------------------------------- */

static int failed(const thrum_device *device)
{
    return thrum__fault(THRUM_EDEVICE, "emu %d has failed, at its kernel number %ld, as its setting fail says",
                        device->number, device->settings.fail);
}

int thrum__emu_check(const thrum_device *device)
{
    if (atomic_load_explicit(&device->broken, memory_order_relaxed))
        return failed(device);
    if (device->process != getpid())
        return thrum__fault(THRUM_EFORK, "emu %d belongs to the parent of this process", device->number);
    return 0;
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

static int copy_bytes(const thrum_device *device, const thrum_copy *copy, size_t *bytes)
{
    if (copy->bytes == 0 || copy->rows == 0 || copy->planes == 0)
        return thrum__fault(THRUM_EINVAL, "a copy of emu %d has %zu planes of %zu rows of %zu bytes: none may be 0",
                            device->number, copy->planes, copy->rows, copy->bytes);
    if (__builtin_mul_overflow(copy->bytes, copy->rows, bytes) || __builtin_mul_overflow(*bytes, copy->planes, bytes))
        return thrum__fault(THRUM_EINVAL,
                            "a copy of emu %d has %zu planes of %zu rows of %zu bytes: that is beyond 64 bits",
                            device->number, copy->planes, copy->rows, copy->bytes);
    return 0;
}

/* Between two devices, the slower of the two links counts. */
static double copy_seconds(const thrum_device *device, const thrum_copy *copy, size_t bytes)
{
    double latency = device->settings.latency, bandwidth = device->settings.bandwidth;
    if (copy->direction == THRUM_COPY_ACROSS) {
        const emu_settings *other = &copy->from_device->settings;
        latency = other->latency > latency ? other->latency : latency;
        bandwidth = other->bandwidth < bandwidth ? other->bandwidth : bandwidth;
    }
    return latency + (double)bytes / bandwidth;
}

static int check_across(const thrum_device *device, const thrum_copy *copy)
{
    if (!copy->from_device)
        return thrum__fault(THRUM_EINVAL, "a copy from another device to emu %d does not say which", device->number);
    if (!device->settings.peer || !copy->from_device->settings.peer)
        return thrum__fault(THRUM_EINVAL, "emu %d and emu %d do not reach each other: that takes peer=yes for both",
                            device->number, copy->from_device->number);
    return thrum__emu_check(copy->from_device);
}

static size_t reach(const thrum_copy *copy, size_t row, size_t plane)
{
    return (copy->planes - 1) * plane + (copy->rows - 1) * row + copy->bytes;
}

static int check_addresses(thrum_device *device, const thrum_copy *copy)
{
    int err = 0;
    if (copy->direction != THRUM_COPY_OUT)
        err = thrum__emu_memory_check(device, copy->to, reach(copy, copy->to_row, copy->to_plane));
    if (!err && copy->direction != THRUM_COPY_IN)
        err = thrum__emu_memory_check(copy->direction == THRUM_COPY_OUT ? device : copy->from_device, copy->from,
                                      reach(copy, copy->from_row, copy->from_plane));
    return err;
}

static int emu_copy(thrum_device *device, const thrum_copy *copy, thrum_done_fn *done, void *ctx)
{
    size_t bytes = 0;
    int err = thrum__emu_check(device);
    if (!err)
        err = copy_bytes(device, copy, &bytes);
    if (!err && copy->direction == THRUM_COPY_ACROSS)
        err = check_across(device, copy);
    if (!err)
        err = check_addresses(device, copy);
    if (err)
        return err;
    emu_link *link = copy->direction == THRUM_COPY_OUT ? &device->out : &device->in;
    return thrum__emu_link_carry(link, copy, copy_seconds(device, copy, bytes), done, ctx);
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static int check_buffers(thrum_device *device, const thrum_launch *launch)
{
    int err = 0;
    for (int i = 0; i < launch->count && !err; i++)
        err = thrum__emu_memory_check(device, launch->buffers[i].ptr, launch->buffers[i].elem);
    return err;
}

static int check_launch(thrum_device *device, int worker, const thrum_launch *launch)
{
    if (worker < 0 || worker >= device->settings.workers)
        return thrum__fault(THRUM_EINVAL, "emu %d has no worker %d: its workers are 0 to %ld", device->number, worker,
                            device->settings.workers - 1);
    if (!device->settings.timing && !launch->kernel)
        return thrum__fault(THRUM_EINVAL, "a launch on emu %d has no kernel", device->number);
    return check_buffers(device, launch);
}

static void run(const thrum_device *device, const thrum_launch *launch)
{
    if (!device->settings.timing)
        launch->kernel(launch->buffers, launch->arg);
    else
        thrum__sleep_until(thrum__moment_after(thrum__now(), launch->seconds));
}

static int emu_launch(thrum_device *device, int worker, const thrum_launch *launch, thrum_done_fn *done, void *ctx)
{
    int err = thrum__emu_check(device);
    if (!err)
        err = check_launch(device, worker, launch);
    if (err)
        return err;
    long number = atomic_fetch_add_explicit(&device->launches, 1, memory_order_relaxed) + 1;
    if (number == device->settings.fail) {
        atomic_store_explicit(&device->broken, true, memory_order_relaxed);
        err = failed(device);
    } else {
        run(device, launch);
        err = thrum__emu_check(device); /* the device may have failed under it */
    }
    done(ctx, err);
    return 0;
}

const thrum_driver thrum__emu_driver = {.kind = "emu",
                                        .arch = THRUM_ARCH_EMU,
                                        .help = "emulated devices, of ordinary memory and threads",
                                        .settings = thrum__emu_settings,
                                        .open = emu_open,
                                        .close = emu_close,
                                        .describe = emu_describe,
                                        .alloc = thrum__emu_alloc,
                                        .release = thrum__emu_release,
                                        .copy = emu_copy,
                                        .launch = emu_launch};
