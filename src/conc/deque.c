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
    atomic_init(&deque->shown, 0);
    atomic_init(&deque->bar, 0);
    atomic_init(&deque->asked, false);
    atomic_init(&deque->bottom, 0);
    atomic_init(&deque->buffer, buffer);
    deque->slots = buffer->slots;
    deque->mask = buffer->mask;
    deque->room = THRUM__DEQUE_FIRST;
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
    deque->room = t + old->mask + 1;
    if (b < deque->room)
        return true;
    thrum__deque_buffer *grown = buffer_new((old->mask + 1) * 2);
    if (!grown)
        return false;
    for (int64_t n = t; n < b; n++) {
        uintptr_t word = atomic_load_explicit(&old->slots[n & old->mask], memory_order_relaxed);
        atomic_store_explicit(&grown->slots[n & grown->mask], word, memory_order_relaxed);
    }
    grown->older = old;
    deque->slots = grown->slots;
    deque->mask = grown->mask;
    deque->room = t + grown->mask + 1;
    atomic_store_explicit(&deque->buffer, grown, memory_order_release);
    return true;
}

static uintptr_t word_at(const thrum__deque *deque, int64_t number)
{
    return atomic_load_explicit(&deque->slots[number & deque->mask], memory_order_relaxed);
}

static void set_shown(thrum__deque *deque, int64_t shown)
{
    atomic_store_explicit(&deque->shown, shown, memory_order_release);
}

/* The last word that is left, which a thief may be about to take: both go for it by exchanging top. */
static uintptr_t race_for_last(thrum__deque *deque, int64_t number)
{
    uintptr_t word = word_at(deque, number);
    int64_t t = number;
    bool won = atomic_compare_exchange_strong_explicit(&deque->top, &t, number + 1, memory_order_seq_cst,
                                                       memory_order_relaxed);
    set_shown(deque, number + 1); /* nothing is left: top, shown and bottom meet here */
    return won ? word : 0;
}

/* Everything is shown; `b` is the newest number. Lowers shown to take back b and perhaps more.
 *
 * The store to shown and the load of top are sequentially consistent, as are the loads of top and shown and the
 * exchange of top in a thief. A thief that takes number n has read top as n and then a shown above n. If it read shown
 * before it was lowered, it read top before that too, so the load of top below gives n or more. So of the words that
 * are no longer shown only number t is at risk, and it stays shown, unless it is the very word that is wanted. */
static uintptr_t take_back(thrum__deque *deque, int64_t b, bool half)
{
    int64_t t = atomic_load_explicit(&deque->top, memory_order_relaxed);
    int64_t lowered = half && t < b ? t + (b + 1 - t) / 2 : b;
    atomic_store_explicit(&deque->shown, lowered, memory_order_seq_cst);
    t = atomic_load_explicit(&deque->top, memory_order_seq_cst);
    if (t > b) {
        set_shown(deque, t);
        return 0;
    }
    if (t == b)
        return race_for_last(deque, b);
    if (t >= lowered)
        set_shown(deque, t + 1);
    atomic_store_explicit(&deque->bottom, b, memory_order_release);
    return word_at(deque, b);
}

uintptr_t thrum__deque_pop_locked(thrum__deque *deque, int64_t base, bool half)
{
    int64_t b = atomic_load_explicit(&deque->bottom, memory_order_relaxed) - 1;
    if (b < base)
        return 0;
    if (b < atomic_load_explicit(&deque->shown, memory_order_relaxed))
        return take_back(deque, b, half);
    atomic_store_explicit(&deque->bottom, b, memory_order_release);
    return word_at(deque, b);
}

/* The acquire pairs with the owner's releases in push and pop; the release hands on to thieves what it brought. */
void thrum__deque_show_locked(thrum__deque *deque, int64_t most)
{
    int64_t b = atomic_load_explicit(&deque->bottom, memory_order_acquire);
    int64_t s = atomic_load_explicit(&deque->shown, memory_order_relaxed);
    if (b > s)
        set_shown(deque, b - s > most ? s + most : b);
}

bool thrum__deque_check(const thrum__deque *deque)
{
    int64_t t = atomic_load_explicit(&deque->top, memory_order_seq_cst);
    int64_t s = atomic_load_explicit(&deque->shown, memory_order_seq_cst);
    int64_t b = atomic_load_explicit(&deque->bottom, memory_order_seq_cst);
    thrum__deque_buffer *buffer = atomic_load_explicit(&deque->buffer, memory_order_acquire);
    int64_t capacity = buffer->mask + 1;
    return t >= 0 && t <= s && s <= b && deque->room <= t + capacity && (capacity & buffer->mask) == 0;
}
