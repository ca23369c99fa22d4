/* SPDX-License-Identifier: MIT
 *
 * Devices: memory and workers beside the machine's own. A *driver* is what thrum needs to use one kind of device.
 *
 * Which devices an executor has is a text (thrum_config.devices, THRUM_DEVICES): kinds separated by commas, each with
 * how many after a colon, and settings after semicolons:
 *
 *     "cpu"                                          the processors only
 *     "cpu,emu:3"                                    and three emulated devices
 *     "cpu:2,emu:1;memory=64MiB;link=2GB/s;latency=10us;workers=2;mode=real;fail=100"
 *
 * Sizes have units B, KiB, MiB, GiB, KB, MB, GB; rates the same with /s; times ns, us, ms, s. "cpu:N" is the number of
 * processors' workers (as thrum_config.workers); without "cpu" in the list no processor runs codelets, but its memory
 * is node 0 still. Memory nodes are numbered in the order of the devices, from 1 on.
 *
 * The *emulated* device ("emu") is made of ordinary memory and threads. It behaves as a device does: its memory is
 * separate, limited, and reached only by copies that take time. Settings: memory (1 GiB), link (bandwidth in each
 * direction, 8GB/s), latency (of each copy, 5us), workers (1), mode, peer (whether copies from one emulated device to
 * another need not go through the machine's memory: no), fail (the kernel with this number, from 1 on, on the device
 * fails with THRUM_EDEVICE, and all operations after it: a device that breaks; 0: never). Copies in one direction are
 * served one after the other. In mode "real" (the default) kernels compute; in mode "timing" every kernel of the
 * executor, those of processors too, sleeps for as long as its model says instead of computing, and copies sleep
 * without copying: so few cores can play many workers. Then results mean nothing, and each codelet needs a model that
 * knows.
 */
#ifndef THRUM_DEVICE_H
#define THRUM_DEVICE_H

#include <thrum/codelet.h>
#include <thrum/setting.h>

THRUM_BEGIN_C

typedef struct thrum_device thrum_device; /* a driver's own */

typedef struct thrum_device_info {
    char name[64];
    enum thrum_arch arch;
    int workers;         /* kernels that may run at once */
    size_t memory;       /* bytes that may be allocated */
    double bandwidth;    /* bytes per second, each way */
    double latency;      /* seconds */
    bool timing;         /* kernels and copies take their time and do nothing else */
    bool reaches_others; /* copies between two devices of this driver need not go through node 0 */
} thrum_device_info;

/* `planes` times `rows` times `bytes` contiguous bytes; the steps from one row and one plane to the next, in bytes, on
 * each side, which matter only where there is a next one. All three counts are at least 1. `device` is the device whose
 * memory `to` or `from` is; between two devices of one driver it is that of `to`, and `from_device` that of `from`. */
enum thrum_direction { THRUM_COPY_IN, THRUM_COPY_OUT, THRUM_COPY_ACROSS }; /* to the device, from it, between two */
typedef struct thrum_copy {
    void *to;
    const void *from;
    size_t bytes, rows, planes;
    size_t to_row, to_plane, from_row, from_plane;
    enum thrum_direction direction;
    thrum_device *from_device;
} thrum_copy;

/* Called once when an operation has ended: 0, or an error of which thrum_message(NULL) of the calling thread tells. In
 * any thread, possibly before the call that started the operation returns. Must not block. */
typedef void thrum_done_fn(void *ctx, int err);

typedef struct thrum_launch {
    thrum_kernel_fn *kernel;
    const thrum_buffer *buffers; /* ptr is device memory */
    int count;
    const void *arg;
    double seconds; /* in timing mode: how long it takes */
} thrum_launch;

/* All functions may be called by several threads at once, but for open and close. Operations of one device may overlap:
 * whoever needs an order waits for the first before starting the second. */
typedef struct thrum_driver {
    const char *kind; /* as in the text */
    enum thrum_arch arch;
    const char *help;              /* a few words on what it is */
    const thrum_setting *settings; /* up to one whose key is NULL */

    /* The device with this number (from 0 on within the kind). `settings` is "key=value;key=value" or "". NULL with a
     * message. */
    thrum_device *(*open)(int number, const char *settings);
    void (*close)(thrum_device *device); /* nothing is under way; memory that is still allocated is freed */
    void (*describe)(const thrum_device *device, thrum_device_info *info);

    /* Memory that begins at a multiple of 64; what is in it is anything. Addresses inside of it are good for copies and
     * buffers, though the processor need not be able to read them. THRUM_ENOMEM when the device is full; no message is
     * needed then. 0 bytes: THRUM_EINVAL. A device that has failed: THRUM_EDEVICE; release works still. */
    int (*alloc)(thrum_device *device, size_t bytes, void **memory);
    void (*release)(thrum_device *device, void *memory, size_t bytes);

    /* Both return 0 and call `done` later (or before returning), or return an error and never call it. A copy of
     * nothing, one between devices that do not reach each other, and a worker that is not there are refused with
     * THRUM_EINVAL. `launch` is called by the worker with this number among the device's, and may do all of the work
     * before it returns. */
    int (*copy)(thrum_device *device, const thrum_copy *copy, thrum_done_fn *done, void *ctx);
    int (*launch)(thrum_device *device, int worker, const thrum_launch *launch, thrum_done_fn *done, void *ctx);
} thrum_driver;

/* The drivers that this build has: number 0, 1, ...; NULL after the last. */
THRUM_API const thrum_driver *thrum_driver_at(int number);

/* ---- What happened ----------------------------------------------------------------------------------------------- */

/* Since the executor was made. */
typedef struct thrum_link_stats {
    int from, to; /* memory nodes */
    uint64_t copies, bytes;
    double busy; /* seconds in which something was under way */
} thrum_link_stats;

typedef struct thrum_node_stats {
    size_t memory, used, most_used;   /* bytes; of node 0 memory is 0: not limited */
    uint64_t evictions, written_back; /* replicas thrown out; those of them that had to be copied home first */
    uint64_t prefetches;
} thrum_node_stats;

typedef struct thrum_place_stats {
    thrum_place place;
    char name[64]; /* "cpu 0", "emu 1", ... */
    uint64_t tasks;
    double busy, waiting; /* seconds in kernels; in waiting for data with a task in hand */
} thrum_place_stats;

/* How many memory nodes (1 without devices) and workers for codelets there are; and each by its number. 0 or
 * THRUM_EINVAL. A link that nothing went over has zeros. */
THRUM_API int thrum_executor_nodes(const thrum_executor *ex);
THRUM_API int thrum_executor_places(const thrum_executor *ex);
THRUM_API int thrum_executor_place(const thrum_executor *ex, int worker, thrum_place_stats *stats);
THRUM_API int thrum_executor_node(const thrum_executor *ex, int node, thrum_node_stats *stats);
THRUM_API int thrum_executor_link(const thrum_executor *ex, int from, int to, thrum_link_stats *stats);

THRUM_END_C

#endif
