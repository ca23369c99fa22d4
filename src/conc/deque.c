/* SPDX-License-Identifier: MIT */
#include "conc/deque.h"

#include "base/alloc.h"

#include <stddef.h>

static thrum__deque_buffer *buffer_new(int64_t capacity)
{
    thrum__deque_buffer *buffer = thrum__alloc(sizeof *buffer + (size_t)capacity * sizeof buffer->slots[0]);
    if (!buffer)
        return NULL;
    buffer->older = NULL;
    buffer->mask = capacity - 1;
    return buffer;
}

int thrum__deque_init(thrum__deque *deque)
{
    thrum__deque_buffer *buffer = buffer_new(THRUM__DEQUE_FIRST);
    if (!buffer)
        return -1;
    atomic_init(&deque->top, 0);
    atomic_init(&deque->bottom, 0);
    atomic_init(&deque->buffer, buffer);
    deque->seen_top = 0;
    return 0;
}

void thrum__deque_fini(thrum__deque *deque)
{
    thrum__deque_buffer *buffer = atomic_load_explicit(&deque->buffer, memory_order_relaxed);
    while (buffer) {
        thrum__deque_buffer *older = buffer->older;
        thrum__free(buffer);
        buffer = older;
    }
}

/* The acquire pairs with the exchange of top in thieves: a slot is written again only after its taker has read it. */
bool thrum__deque_grow_owner(thrum__deque *deque)
{
    int64_t t = atomic_load_explicit(&deque->top, memory_order_acquire);
    int64_t b = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
    thrum__deque_buffer *old = atomic_load_explicit(&deque->buffer, memory_order_relaxed);
    deque->seen_top = t;
    if (b - t <= old->mask)
        return true;
    thrum__deque_buffer *grown = buffer_new((old->mask + 1) * 2);
    if (!grown)
        return false;
    for (int64_t n = t; n < b; n++) {
        uintptr_t word = atomic_load_explicit(&old->slots[n & old->mask], memory_order_relaxed);
        atomic_store_explicit(&grown->slots[n & grown->mask], word, memory_order_relaxed);
    }
    grown->older = old;
    atomic_store_explicit(&deque->buffer, grown, memory_order_release);
    return true;
}

bool thrum__deque_check(const thrum__deque *deque)
{
    int64_t t = atomic_load_explicit(&deque->top, memory_order_seq_cst);
    int64_t b = atomic_load_explicit(&deque->bottom, memory_order_seq_cst);
    thrum__deque_buffer *buffer = atomic_load_explicit(&deque->buffer, memory_order_acquire);
    int64_t capacity = buffer->mask + 1;
    return t >= 0 && b >= t - 1 && deque->seen_top <= t && (capacity & buffer->mask) == 0;
}
