/* SPDX-License-Identifier: MIT
 *
 * The memory of an emulated device: the machine's, in pieces that are counted against the device's size.
 */
#include "device/emu_int.h"

#include "base/alloc.h"
#include "base/fault.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

/* What is in memory that nothing was copied to: no number that a program would take for one of its own. */
enum { UNWRITTEN = 0xa5 };

/* In front of each piece of memory that is given out, so that closing finds it. A cache line, as pieces are aligned to
 * one. */
typedef struct emu_block {
    _Alignas(64) struct emu_block *next;
    struct emu_block **link; /* what points to it */
    size_t bytes;
} emu_block;

static void put_in_list_locked(thrum_device *device, emu_block *block)
{
    block->next = device->blocks;
    block->link = &device->blocks;
    if (block->next)
        block->next->link = &block->next;
    device->blocks = block;
}

static void take_from_list_locked(emu_block *block)
{
    *block->link = block->next;
    if (block->next)
        block->next->link = block->link;
}

static bool reserve(thrum_device *device, size_t bytes)
{
    thrum__lock_take(&device->memory_lock);
    bool fits = bytes <= device->settings.memory - device->used;
    if (fits)
        device->used += bytes;
    thrum__lock_give(&device->memory_lock);
    return fits;
}

static void unreserve(thrum_device *device, size_t bytes)
{
    thrum__lock_take(&device->memory_lock);
    device->used -= bytes;
    thrum__lock_give(&device->memory_lock);
}

/* ---- Memory that came back --------------------------------------------------------------------------------------- */

/* Scratch memory comes and goes with each task, and memory that is new to the process costs a fault a page: for a task
 * with megabytes of it that is milliseconds. So some is kept. Not where checks or sanitizers look for memory that is
 * used after it was given back. */
#if defined(THRUM_CHECKS) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { KEPT_MOST = 0 };
#else
enum { KEPT_MOST = 64 << 20 };
#endif
enum { KEPT_LEAST = 64 << 10 }; /* smaller ones the allocator keeps itself */

static emu_block *take_kept(thrum_device *device, size_t bytes)
{
    thrum__lock_take(&device->memory_lock);
    emu_block **at = &device->kept, *block;
    while (*at && (*at)->bytes != bytes)
        at = &(*at)->next;
    block = *at;
    if (block) {
        *at = block->next;
        device->kept_bytes -= bytes;
    }
    thrum__lock_give(&device->memory_lock);
    return block;
}

/* False: it is to be freed. */
static bool keep_locked(thrum_device *device, emu_block *block)
{
    if (block->bytes < KEPT_LEAST || block->bytes > KEPT_MOST || device->kept_bytes > KEPT_MOST - block->bytes)
        return false;
    block->next = device->kept;
    device->kept = block;
    device->kept_bytes += block->bytes;
    return true;
}

/* ---- Giving out and taking back ---------------------------------------------------------------------------------- */

/* In timing mode nobody looks into the memory: untouched, it takes none of the machine's. */
static emu_block *block_new(thrum_device *device, size_t bytes)
{
    emu_block *block = take_kept(device, bytes);
    if (!block)
        block = bytes > SIZE_MAX - sizeof *block ? NULL : thrum__alloc_aligned(sizeof *block + bytes);
    if (!block)
        return NULL;
    block->bytes = bytes;
    if (!device->settings.timing)
        memset(block + 1, UNWRITTEN, bytes);
    thrum__lock_take(&device->memory_lock);
    put_in_list_locked(device, block);
    thrum__lock_give(&device->memory_lock);
    return block;
}

int thrum__emu_alloc(thrum_device *device, size_t bytes, void **memory)
{
    int err = thrum__emu_check(device);
    if (err)
        return err;
    if (bytes == 0)
        return thrum__fault(THRUM_EINVAL, "0 bytes of memory are asked of emu %d: it must be at least 1",
                            device->number);
    if (!reserve(device, bytes))
        return THRUM_ENOMEM;
    emu_block *block = block_new(device, bytes);
    if (!block) {
        unreserve(device, bytes);
        return THRUM_ENOMEM;
    }
    *memory = block + 1;
    return 0;
}

void thrum__emu_release(thrum_device *device, void *memory, size_t bytes)
{
    if (!memory || device->process != getpid())
        return;
    emu_block *block = (emu_block *)memory - 1;
    assert(block->bytes == bytes);
    thrum__lock_take(&device->memory_lock);
    take_from_list_locked(block);
    device->used -= bytes;
    bool kept = keep_locked(device, block);
    thrum__lock_give(&device->memory_lock);
    if (!kept)
        thrum__free(block);
}

static void free_list(emu_block *block)
{
    for (emu_block *next; block; block = next) {
        next = block->next;
        thrum__free(block);
    }
}

void thrum__emu_memory_free(thrum_device *device)
{
    free_list(device->blocks);
    free_list(device->kept);
}

#ifdef THRUM_CHECKS

static bool is_inside(const emu_block *block, const char *address, size_t bytes)
{
    const char *begin = (const char *)(block + 1);
    return address >= begin && address <= begin + block->bytes && bytes <= (size_t)(begin + block->bytes - address);
}

int thrum__emu_memory_check(thrum_device *device, const void *address, size_t bytes)
{
    bool inside = false;
    thrum__lock_take(&device->memory_lock);
    for (const emu_block *block = device->blocks; block && !inside; block = block->next)
        inside = is_inside(block, address, bytes);
    thrum__lock_give(&device->memory_lock);
    return inside ? 0
                  : thrum__fault(THRUM_EINVAL, "%zu bytes at %p are not in the memory of emu %d", bytes, address,
                                 device->number);
}

#else

int thrum__emu_memory_check(thrum_device *device, const void *address, size_t bytes)
{
    (void)device, (void)address, (void)bytes;
    return 0;
}

#endif
