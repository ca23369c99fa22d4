/* SPDX-License-Identifier: MIT
 *
 * Memory that nobody touches: addresses for handles whose tasks never run, of any size. Touching it is a crash.
 */
#ifndef THRUM_APPS_MEMORY_H
#define THRUM_APPS_MEMORY_H

#include <stddef.h>
#include <sys/mman.h>

/* NULL: not even as many addresses are left. */
static inline void *app_addresses(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static inline void app_addresses_free(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

#endif
