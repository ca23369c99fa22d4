/* SPDX-License-Identifier: MIT
 *
 * A work-stealing deque of words, most of it private to its owner.
 *
 *      top              shown             bottom
 *       | can be taken    | the owner's own  |
 *
 * The part from top to shown is Chase and Lev's deque ("Dynamic circular work-stealing deque", SPAA 2005), with shown
 * in the place of their bottom and orders after Lê, Pop, Cohen and Zappa Nardelli (PPoPP 2013); where they use fences,
 * this uses sequentially consistent accesses, which say the same of the same variables and which ThreadSanitizer
 * understands. The part from shown to bottom is a stack that nobody else touches: pushing and popping there takes no
 * read-modify-write and no fence. (A deque that is split this way: van Dijk and van de Pol, "Lace", 2014; Acar,
 * Charguéraud and Rainey, PPoPP 2013. What is new here is that the rest can be had while the owner is away: see
 * exec/door.c.)
 *
 * Roles
 *   The owner (names end in _owner) pushes and pops at the bottom.
 *   Any number of thieves take from the top. A thief works in two steps, so that it can get ready for what it is about
 *   to take: `peek` reads the oldest word, `take` gets it if it is still there.
 *   Whoever holds the door (names end in _locked; the caller sees to it that there is one at a time) moves shown. If
 *   that is not the owner, it must first put up the bar and pass a heavy barrier (sys/barrier.h).
 *
 * The bar is what the owner compares with before it takes a word as its own: shown, or THRUM__DEQUE_ASK, above all
 * numbers, when the owner is to hold the door for every word. Anybody may put it up.
 *
 * Progress: push and pop are wait-free but for growing, peek is wait-free, take is lock-free (one taker wins).
 *
 * Invariants (thrum__deque_check)
 *   1. top never decreases; top <= shown <= bottom outside of the _locked functions.
 *   2. The words with numbers top to bottom - 1 are in the deque; number n is in slots[n & mask] of the newest buffer.
 *   3. A slot with number n is overwritten only by number n + capacity, which is pushed only when top > n.
 *   4. The bar is never below shown, seen from the owner.
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
    _Alignas(64) _Atomic int64_t top;    /* written by whoever takes the word there; read by all */
    _Alignas(64) _Atomic int64_t shown;  /* written by the holder of the door, read by thieves */
    _Atomic int64_t bar;                 /* read by the owner at every pop, written seldom */
    _Atomic bool asked;                  /* the bar is THRUM__DEQUE_ASK */
    _Alignas(64) _Atomic int64_t bottom; /* written by the owner; others only look whether there is something */
    _Atomic uintptr_t *slots;            /* owner only: of the newest buffer, and its mask */
    int64_t mask;
    int64_t room;                          /* owner only: numbers below it have a slot; from a top that was true once */
    _Atomic(thrum__deque_buffer *) buffer; /* written by the owner, read by all */
} thrum__deque;

enum { THRUM__DEQUE_FIRST = 1024 };

#define THRUM__DEQUE_ASK INT64_MAX

/* 0, or -1 without memory. */
int thrum__deque_init(thrum__deque *deque);
void thrum__deque_fini(thrum__deque *deque);

/* Makes room for one more word: false without memory. */
__attribute__((cold)) bool thrum__deque_grow_owner(thrum__deque *deque);

bool thrum__deque_check(const thrum__deque *deque);

/* Adds a word that is not 0. False, and nothing is added, when the deque is full and cannot grow. The release publishes
 * the word and what it points to, to whoever shows it. Relaxed loads: the owner's own writes. */
static inline bool thrum__deque_push_owner(thrum__deque *deque, uintptr_t word)
{
    int64_t b = atomic_load_explicit(&deque->bottom, memory_order_relaxed);
    if (__builtin_expect(b >= deque->room, 0) && !thrum__deque_grow_owner(deque))
        return false;
    atomic_store_explicit(&deque->slots[b & deque->mask], word, memory_order_relaxed);
    atomic_store_explicit(&deque->bottom, b + 1, memory_order_release);
    return true;
}

/* The newest word with a number of at least `base`, or 0. With *ask there may be one, but not without holding the door:
 * thrum__deque_pop_locked.
 *
 * Lowering bottom and then looking at the bar is one half of Dekker's pattern; putting up the bar, passing the heavy
 * barrier and then looking at bottom is the other. So either the owner sees the bar, or the holder of the door sees the
 * lowered bottom and leaves that word to the owner. Release: the holder reads bottom, and with it all that came
 * before. */
static inline uintptr_t thrum__deque_pop_owner(thrum__deque *deque, int64_t base, bool *ask)
{
    int64_t b = atomic_load_explicit(&deque->bottom, memory_order_relaxed) - 1;
    if (b < base)
        return 0;
    atomic_store_explicit(&deque->bottom, b, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(b >= atomic_load_explicit(&deque->bar, memory_order_relaxed), 1))
        return atomic_load_explicit(&deque->slots[b & deque->mask], memory_order_relaxed);
    atomic_store_explicit(&deque->bottom, b + 1, memory_order_release);
    *ask = true;
    return 0;
}

/* The same by the owner with the door held. If all that is left has been shown, it takes back the newest word, and with
 * `half` the newer half of what is left. */
uintptr_t thrum__deque_pop_locked(thrum__deque *deque, int64_t base, bool half);

/* Shows up to `most` more words, the oldest first. */
void thrum__deque_show_locked(thrum__deque *deque, int64_t most);

/* Puts up the bar, and takes it down to where it must be. */
static inline void thrum__deque_ask(thrum__deque *deque)
{
    atomic_store_explicit(&deque->asked, true, memory_order_relaxed);
    atomic_store_explicit(&deque->bar, THRUM__DEQUE_ASK, memory_order_relaxed);
}

static inline void thrum__deque_unask_locked(thrum__deque *deque)
{
    int64_t shown = atomic_load_explicit(&deque->shown, memory_order_relaxed);
    atomic_store_explicit(&deque->asked, false, memory_order_relaxed);
    atomic_store_explicit(&deque->bar, shown, memory_order_relaxed);
}

static inline bool thrum__deque_is_asked(const thrum__deque *deque)
{
    return atomic_load_explicit(&deque->asked, memory_order_relaxed);
}

/* The number that the next pushed word will have. */
static inline int64_t thrum__deque_bottom_owner(const thrum__deque *deque)
{
    return atomic_load_explicit(&deque->bottom, memory_order_relaxed);
}

/* The oldest word that is shown, with its number in *number, or 0. The acquire in the load of shown (it is seq_cst)
 * makes the slot and the buffer that the owner wrote before it visible. */
static inline uintptr_t thrum__deque_peek(thrum__deque *deque, int64_t *number)
{
    int64_t t = atomic_load_explicit(&deque->top, memory_order_seq_cst);
    int64_t s = atomic_load_explicit(&deque->shown, memory_order_seq_cst);
    if (t >= s)
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

/* Glances, as good as old news: whether there is anything, something that anybody can take, something that only the
 * owner can. */
static inline bool thrum__deque_has_words(const thrum__deque *deque)
{
    return atomic_load_explicit(&deque->top, memory_order_relaxed) <
           atomic_load_explicit(&deque->bottom, memory_order_relaxed);
}

static inline int64_t thrum__deque_words(const thrum__deque *deque)
{
    return atomic_load_explicit(&deque->bottom, memory_order_relaxed) -
           atomic_load_explicit(&deque->top, memory_order_relaxed);
}

static inline int64_t thrum__deque_shown(const thrum__deque *deque)
{
    return atomic_load_explicit(&deque->shown, memory_order_relaxed) -
           atomic_load_explicit(&deque->top, memory_order_relaxed);
}

static inline bool thrum__deque_shows(const thrum__deque *deque)
{
    return atomic_load_explicit(&deque->top, memory_order_relaxed) <
           atomic_load_explicit(&deque->shown, memory_order_relaxed);
}

static inline bool thrum__deque_has_hidden(const thrum__deque *deque)
{
    return atomic_load_explicit(&deque->shown, memory_order_relaxed) <
           atomic_load_explicit(&deque->bottom, memory_order_relaxed);
}

#endif
