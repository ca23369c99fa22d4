/* SPDX-License-Identifier: MIT
 *
 * A work-stealing deque of words.
 *
 * Chase and Lev, "Dynamic circular work-stealing deque" (SPAA 2005), with orders after Lê, Pop, Cohen and Zappa Nardelli
 * (PPoPP 2013); where they use fences, this uses sequentially consistent accesses, which say the same of the same
 * variables and which ThreadSanitizer understands.
 *
 * Roles: one owner (names end in _owner) pushes and pops at the bottom; any number of thieves take from the top. A thief
 * works in two steps, so that it can get ready for what it is about to take: `peek` reads the oldest word, `take` gets it
 * if it is still there.
 *
 * Progress: push and pop are wait-free but for growing, peek is wait-free, take is lock-free (one taker wins).
 *
 * Invariants (thrum__deque_check):
 *   1. top never decreases; bottom >= top - 1, and bottom >= top outside of a pop.
 *   2. The words with numbers top to bottom - 1 are in the deque; number n is in slots[n & mask] of the newest buffer.
 *   3. A slot with number n is overwritten only by number n + capacity, which is pushed only when top > n.
 *
 * Buffers grow and never shrink. Old ones are kept until the deque is freed: a thief may still be reading one; what it
 * reads there is right if its take succeeds, since a grown buffer holds the same words.
 */
#ifndef THRUM_CONC_DEQUE_H
#define THRUM_CONC_DEQUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct thrum__deque_buffer {
    struct thrum__deque_buffer *older;
    int64_t mask;
    _Atomic uintptr_t slots[];
} thrum__deque_buffer;

typedef struct thrum__deque {
    _Alignas(64) _Atomic int64_t top;      /* written by whoever takes the word there; read by all */
    _Alignas(64) _Atomic int64_t bottom;   /* written by the owner, read by all */
    _Atomic(thrum__deque_buffer *) buffer; /* written by the owner, read by all */
    int64_t seen_top;                      /* owner only: a top that was true once; the real one is not less */
} thrum__deque;

enum { THRUM__DEQUE_FIRST = 1024 };

/* 0, or -1 without memory. */
int thrum__deque_init(thrum__deque *deque);
void thrum__deque_fini(thrum__deque *deque);

/* Makes room for one more word: false without memory. */
__attribute__((cold)) bool thrum__deque_grow_owner(thrum__deque *deque);

bool thrum__deque_check(const thrum__deque *deque);

/* Adds a word that is not 0. False, and nothing is added, when the deque is full and cannot grow. The release publishes
 * the word and what it points to; its partner is the load of bottom in peek. Relaxed loads: the owner's own writes. */
static inline bool thrum__deque_push_owner(thrum__deque *deque, uintptr_t word)
{
    int64_t b = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
    thrum__deque_buffer *buffer = atomic_load_explicit(&deque->buffer, memory_order_relaxed);
    if (__builtin_expect(b - deque->seen_top > buffer->mask, 0)) {
        if (!thrum__deque_grow_owner(deque))
            return false;
        buffer = atomic_load_explicit(&deque->buffer, memory_order_relaxed);
    }
    atomic_store_explicit(&buffer->slots[b & buffer->mask], word, memory_order_relaxed);
    atomic_store_explicit(&deque->bottom, b + 1, memory_order_release);
    return true;
}

/* The newest word with a number of at least `base`, or 0. The store to bottom and the load of top are sequentially
 * consistent, as are the load of top, the load of bottom and the exchange of top in a thief: either the thief sees the
 * lowered bottom, or the owner sees the raised top. When one word is left both go for it by exchanging top. */
static inline uintptr_t thrum__deque_pop_owner(thrum__deque *deque, int64_t base)
{
    int64_t b = atomic_load_explicit(&deque->bottom, memory_order_relaxed) - 1;
    if (b < base || b < deque->seen_top)
        return 0;
    thrum__deque_buffer *buffer = atomic_load_explicit(&deque->buffer, memory_order_relaxed);
    atomic_store_explicit(&deque->bottom, b, memory_order_seq_cst);
    int64_t t = atomic_load_explicit(&deque->top, memory_order_seq_cst);
    uintptr_t word = 0;
    if (t <= b) {
        word = atomic_load_explicit(&buffer->slots[b & buffer->mask], memory_order_relaxed);
        if (t < b)
            return word;
        if (!atomic_compare_exchange_strong_explicit(&deque->top, &t, t + 1, memory_order_seq_cst,
                                                     memory_order_relaxed))
            word = 0;
    }
    /* Nothing is left. bottom goes back to top, which nobody can raise while there is nothing to take. */
    atomic_store_explicit(&deque->bottom, b + 1, memory_order_relaxed);
    deque->seen_top = b + 1;
    return word;
}

/* The same where nobody can be stealing meanwhile: no two threads use the deque at once, and whatever hands it from one
 * to the next orders them. */
static inline uintptr_t thrum__deque_pop_alone(thrum__deque *deque, int64_t base)
{
    int64_t b = atomic_load_explicit(&deque->bottom, memory_order_relaxed) - 1;
    if (b < base || b < atomic_load_explicit(&deque->top, memory_order_relaxed))
        return 0;
    thrum__deque_buffer *buffer = atomic_load_explicit(&deque->buffer, memory_order_relaxed);
    atomic_store_explicit(&deque->bottom, b, memory_order_relaxed);
    return atomic_load_explicit(&buffer->slots[b & buffer->mask], memory_order_relaxed);
}

/* The number that the next pushed word will have. */
static inline int64_t thrum__deque_bottom_owner(const thrum__deque *deque)
{
    return atomic_load_explicit(&deque->bottom, memory_order_relaxed);
}

/* The oldest word, with its number in *number, or 0. The acquire in the load of bottom (it is seq_cst) makes the slot and
 * the buffer that the owner wrote before it visible. */
static inline uintptr_t thrum__deque_peek(thrum__deque *deque, int64_t *number)
{
    int64_t t = atomic_load_explicit(&deque->top, memory_order_seq_cst);
    int64_t b = atomic_load_explicit(&deque->bottom, memory_order_seq_cst);
    if (t >= b)
        return 0;
    thrum__deque_buffer *buffer = atomic_load_explicit(&deque->buffer, memory_order_acquire);
    *number = t;
    return atomic_load_explicit(&buffer->slots[t & buffer->mask], memory_order_relaxed);
}

/* Takes the word that peek showed. False: somebody else has it, and what peek gave means nothing. */
static inline bool thrum__deque_take(thrum__deque *deque, int64_t number)
{
    return atomic_compare_exchange_strong_explicit(&deque->top, &number, number + 1, memory_order_seq_cst,
                                                   memory_order_relaxed);
}

/* Whether there seems to be something to take: a glance, as good as old news. */
static inline bool thrum__deque_has_words(const thrum__deque *deque)
{
    return atomic_load_explicit(&deque->top, memory_order_relaxed) <
           atomic_load_explicit(&deque->bottom, memory_order_relaxed);
}

#endif
