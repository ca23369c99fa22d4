/* SPDX-License-Identifier: MIT
 *
 * The emulated device: memory that is kept apart, links that take their time, kernels that run in the worker that
 * launches them.
 *
 * Roles
 *   Callers   any threads: alloc, release, copy, launch
 *   Links     two threads of each device, one for each direction; they sleep while there is nothing to carry
 *
 * Locks: `memory_lock` of a device and `lock` of a link are never held together, nor while a kernel or a `done` is
 * called.
 */
#ifndef THRUM_DEVICE_EMU_INT_H
#define THRUM_DEVICE_EMU_INT_H

#include <thrum/device.h>

#include "sys/park.h"

#include <pthread.h>

/* ---- Settings (emu_settings.c) ----------------------------------------------------------------------------------- */

typedef struct emu_settings {
    size_t memory;
    double bandwidth, latency; /* bytes per second, seconds */
    long workers;
    bool timing, peer;
    long fail; /* the number of the launch that fails, from 1 on; 0: none */
} emu_settings;

extern const thrum_setting thrum__emu_settings[];

/* Defaults and then what the text says: 0, or an error with a sentence. */
int thrum__emu_settings_read(const char *text, emu_settings *settings);

/* ---- Memory (emu_memory.c) --------------------------------------------------------------------------------------- */

int thrum__emu_alloc(thrum_device *device, size_t bytes, void **memory);
void thrum__emu_release(thrum_device *device, void *memory, size_t bytes);
void thrum__emu_memory_free(thrum_device *device); /* all that is given out; nobody else uses the device */

/* In builds with checks: THRUM_EINVAL with a sentence for bytes that are not the device's. The processor could use them
 * all the same, and nobody would notice a copy that is missing. */
int thrum__emu_memory_check(thrum_device *device, const void *address, size_t bytes);

/* ---- Links (emu_link.c) ------------------------------------------------------------------------------------------ */

typedef struct emu_request {
    struct emu_request *next;
    thrum_copy copy;
    int64_t finish; /* when a link of this speed is through with it */
    thrum_done_fn *done;
    void *ctx;
} emu_request;

typedef struct emu_link {
    thrum_device *device;
    pthread_t thread;
    thrum__parker parker; /* where its thread sleeps; callers unpark */
    thrum__lock lock;     /* for what follows */
    emu_request *first, **last;
    int64_t free_at; /* when all that is queued will be through */
    bool closing;
} emu_link;

/* Starts the thread: 0 or THRUM_ESYSTEM with a sentence. */
int thrum__emu_link_open(emu_link *link, thrum_device *device);
void thrum__emu_link_close(emu_link *link); /* nothing is queued */

/* Queues a copy that takes so many seconds once the link is free: 0 or THRUM_ENOMEM with a sentence. */
int thrum__emu_link_carry(emu_link *link, const thrum_copy *copy, double seconds, thrum_done_fn *done, void *ctx);

/* ---- The device (emu.c) ------------------------------------------------------------------------------------------ */

struct thrum_device {
    emu_settings settings; /* constant */
    int number;            /* constant */
    pid_t process;         /* constant: in the child of a fork there are no links' threads */
    emu_link in, out;

    thrum__lock memory_lock;
    size_t used;              /* with memory_lock */
    struct emu_block *blocks; /* with memory_lock: all memory that is given out */
    struct emu_block *kept;   /* with memory_lock: some that came back, for the next who asks for as much */
    size_t kept_bytes;        /* with memory_lock: of them */

    _Atomic long launches;
    _Atomic bool
        broken; /* goes up once. Relaxed: it is a fact of its own, and those who see it late were a little earlier */
};

/* 0, or THRUM_EDEVICE with a sentence once the device has failed. */
int thrum__emu_check(const thrum_device *device);

#endif
