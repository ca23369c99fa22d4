/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
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

/* posix_memalign takes any size: a tool that watches the bounds of memory sees the true end. */
void *thrum__alloc_aligned(size_t size)
{
    void *memory;
    return refused() || posix_memalign(&memory, 64, size) ? NULL : memory;
}

void *thrum__zalloc_aligned(size_t size)
{
    void *memory = thrum__alloc_aligned(size);
    if (memory)
        memset(memory, 0, size);
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

static void *map_pages(size_t size, size_t align, enum thrum__pages_kind kind)
{
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
    return aligned;
}

void *thrum__pages(size_t size, size_t align, enum thrum__pages_kind kind)
{
    return refused() ? NULL : map_pages(size, align, kind);
}

void thrum__pages_free(void *memory, size_t size)
{
    if (memory)
        munmap(memory, size);
}

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

/* What is kept: an address each, with the size in units of HUGE in the bits that are zero in it. Who exchanges a word
 * for 0 owns the memory: acquire, with the release of who put it there. */
enum { KEPT_PLACES = 32, KEPT_MOST = (64 << 20) / HUGE };
static _Atomic uintptr_t kept[KEPT_PLACES];

/* In units. Relaxed, both: they only say how much to keep. */
static _Atomic size_t kept_units; /* that lie in `kept` */
static _Atomic size_t lent_units; /* taken from there and in use */

static size_t units_of(size_t size)
{
    return (size + HUGE - 1) / HUGE;
}

static void unmap_units(uintptr_t address, size_t units)
{
    thrum__pages_free((void *)address, units * HUGE);
}

static bool put_away(uintptr_t address, size_t units)
{
    for (int i = 0; i < KEPT_PLACES; i++) {
        uintptr_t empty = 0;
        if (atomic_load_explicit(&kept[i], memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong_explicit(&kept[i], &empty, address | units, memory_order_release,
                                                    memory_order_relaxed)) {
            atomic_fetch_add_explicit(&kept_units, units, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

/* A piece of exactly this size, or, with `larger`, the beginning of a larger one, whose rest is put away again. */
static uintptr_t take_kept(size_t units, bool larger)
{
    for (int i = 0; i < KEPT_PLACES; i++) {
        uintptr_t word = atomic_load_explicit(&kept[i], memory_order_relaxed);
        size_t has = word % HUGE;
        if (word == 0 || (larger ? has < units : has != units) ||
            !atomic_compare_exchange_strong_explicit(&kept[i], &word, 0, memory_order_acquire, memory_order_relaxed))
            continue;
        uintptr_t address = word - has, rest = address + units * HUGE;
        atomic_fetch_sub_explicit(&kept_units, has, memory_order_relaxed);
        atomic_fetch_add_explicit(&lent_units, units, memory_order_relaxed);
        if (has > units && !put_away(rest, has - units))
            unmap_units(rest, has - units);
        return address;
    }
    return 0;
}

static bool give_back_lent(size_t units)
{
    size_t lent = atomic_load_explicit(&lent_units, memory_order_relaxed);
    while (lent >= units)
        if (atomic_compare_exchange_weak_explicit(&lent_units, &lent, lent - units, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    return false;
}

static bool may_keep_more(size_t units)
{
    return atomic_load_explicit(&kept_units, memory_order_relaxed) +
               atomic_load_explicit(&lent_units, memory_order_relaxed) + units <=
           KEPT_MOST;
}

static void array_release(void *memory, size_t size, bool keep)
{
    size_t units = units_of(size);
    bool keeps = give_back_lent(units) || (keep && may_keep_more(units));
    if (!keeps || !put_away((uintptr_t)memory, units))
        unmap_units((uintptr_t)memory, units);
}

/* Huge pages for all but the end: of that only what is used should take memory. */
static void *map_array(size_t size)
{
    void *memory = map_pages(units_of(size) * HUGE, HUGE, THRUM__PAGES_PLAIN);
    if (memory)
        madvise(memory, size / HUGE * HUGE, MADV_HUGEPAGE);
    return memory;
}

void *thrum__array(size_t size)
{
    if (size < HUGE)
        return thrum__alloc(size);
    if (refused())
        return NULL;
    size_t units = units_of(size);
    uintptr_t address = take_kept(units, false);
    if (!address)
        address = take_kept(units, true);
    return address ? (void *)address : map_array(size);
}

void thrum__array_free(void *memory, size_t size)
{
    if (size < HUGE)
        thrum__free(memory);
    else if (memory)
        array_release(memory, size, false);
}

void thrum__array_keep(void *memory, size_t size)
{
    if (size < HUGE)
        thrum__free(memory);
    else if (memory)
        array_release(memory, size, true);
}
