/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE = 1 << 21 }; /* what is aligned to this may come in huge pages, where the system has them on request */

/* Both relaxed: tests set them while nothing else runs, and threads made later see them through thread creation. */
static _Atomic long count;
static _Atomic long fail_after = -1;

void thrum__alloc_fail_after(long n)
{
    atomic_store_explicit(&count, 0, memory_order_relaxed);
    atomic_store_explicit(&fail_after, n, memory_order_relaxed);
}

long thrum__alloc_count(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed);
}

static int refused(void)
{
    long number = atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    long limit = atomic_load_explicit(&fail_after, memory_order_relaxed);
    return limit >= 0 && number >= limit;
}

void *thrum__alloc(size_t size)
{
    return refused() ? NULL : malloc(size);
}

void *thrum__zalloc(size_t size)
{
    return refused() ? NULL : calloc(1, size);
}

void *thrum__zalloc_aligned(size_t size)
{
    if (refused())
        return NULL;
    size_t whole = (size + 63) / 64 * 64;
    void *memory = aligned_alloc(64, whole);
    if (memory)
        memset(memory, 0, whole);
    return memory;
}

char *thrum__copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = thrum__alloc(size);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

void thrum__free(void *memory)
{
    free(memory);
}

void *thrum__pages(size_t size, size_t align, enum thrum__pages_kind kind)
{
    if (refused())
        return NULL;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | (kind == THRUM__PAGES_LAZY ? MAP_NORESERVE : 0);
    size_t page = 4096, asked = size + (align > page ? align : 0);
    char *raw = mmap(NULL, asked, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (raw == MAP_FAILED)
        return NULL;
    if (align <= page)
        return raw;
    char *aligned = (char *)(((uintptr_t)raw + align - 1) & ~(uintptr_t)(align - 1));
    if (aligned > raw)
        munmap(raw, (size_t)(aligned - raw));
    if (aligned + size < raw + asked)
        munmap(aligned + size, (size_t)(raw + asked - aligned) - size);
    if (align >= HUGE)
        madvise(aligned, size, MADV_HUGEPAGE);
    return aligned;
}

void thrum__pages_free(void *memory, size_t size)
{
    if (memory)
        munmap(memory, size);
}

static size_t whole_huge(size_t size)
{
    return (size + HUGE - 1) / HUGE * HUGE;
}

void *thrum__array(size_t size)
{
    return size < HUGE ? thrum__alloc(size) : thrum__pages(whole_huge(size), HUGE, THRUM__PAGES_PLAIN);
}

void thrum__array_free(void *memory, size_t size)
{
    if (size < HUGE)
        thrum__free(memory);
    else
        thrum__pages_free(memory, whole_huge(size));
}
