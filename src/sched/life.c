/* SPDX-License-Identifier: MIT */
#include "sched/life.h"

#include "base/alloc.h"

#include <stddef.h>

enum { TOP_SHIFT = 0, SEARCH_SHIFT = 12, AWAKE_SHIFT = 24, CHANGE_SHIFT = 36, FIELD = 0xfff, CHANGES = 0x7ffffff };

struct fields {
    unsigned top, searching, awake, changes;
};

static struct fields unpack(int64_t word)
{
    uint64_t w = (uint64_t)word;
    return (struct fields){(unsigned)(w >> TOP_SHIFT) & FIELD, (unsigned)(w >> SEARCH_SHIFT) & FIELD,
                           (unsigned)(w >> AWAKE_SHIFT) & FIELD, (unsigned)(w >> CHANGE_SHIFT) & CHANGES};
}

static bool wanted(const thrum__life *life, struct fields f)
{
    return f.top != 0 && f.searching == 0 && (int)f.awake < life->limit;
}

static int64_t pack(const thrum__life *life, struct fields f)
{
    uint64_t w = (uint64_t)f.top << TOP_SHIFT | (uint64_t)f.searching << SEARCH_SHIFT |
                 (uint64_t)f.awake << AWAKE_SHIFT | (uint64_t)(f.changes & CHANGES) << CHANGE_SHIFT |
                 (uint64_t)wanted(life, f) << 63;
    return (int64_t)w;
}

/* Every change of the word is sequentially consistent: it stands between what its caller did before (published work, an
 * emptied deque) and what it does next (look for work, park), and it is far from the hot path. */
static bool swap(thrum__life *life, int64_t *seen, struct fields f)
{
    return __atomic_compare_exchange_n(&life->word, seen, pack(life, f), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static int64_t load(const thrum__life *life)
{
    return __atomic_load_n(&life->word, __ATOMIC_SEQ_CST);
}

int thrum__life_init(thrum__life *life, int limit, int most, int awake)
{
    life->below = thrum__zalloc((size_t)most * sizeof life->below[0]);
    if (!life->below)
        return -1;
    thrum__life_reset(life, limit, awake);
    return 0;
}

void thrum__life_reset(thrum__life *life, int limit, int awake)
{
    life->limit = limit;
    life->word = pack(life, (struct fields){0, (unsigned)awake, (unsigned)awake, 0});
}

void thrum__life_fini(thrum__life *life)
{
    thrum__free(life->below);
}

static thrum__life_view view_of(const thrum__life *life, struct fields f)
{
    return (thrum__life_view){(int)f.top - 1, (int)f.searching, (int)f.awake, wanted(life, f)};
}

thrum__life_view thrum__life_look(const thrum__life *life)
{
    return view_of(life, unpack(load(life)));
}

static int wake_if(thrum__life *life, bool anyway)
{
    int64_t seen = load(life);
    for (;;) {
        struct fields f = unpack(seen);
        if (f.top == 0 || (!anyway && !wanted(life, f)))
            return -1;
        int sleeper = (int)f.top - 1;
        /* May be old news if the sleeper was woken meanwhile; then `changes` differs and the swap fails. */
        f.top = atomic_load_explicit(&life->below[sleeper], memory_order_relaxed);
        f.searching++;
        f.awake++;
        f.changes++;
        if (swap(life, &seen, f))
            return sleeper;
    }
}

int thrum__life_wake(thrum__life *life)
{
    return wake_if(life, false);
}

int thrum__life_wake_any(thrum__life *life)
{
    return wake_if(life, true);
}

void thrum__life_start_search(thrum__life *life)
{
    int64_t seen = load(life);
    struct fields f;
    do {
        f = unpack(seen);
        f.searching++;
    } while (!swap(life, &seen, f));
}

bool thrum__life_end_search(thrum__life *life)
{
    int64_t seen = load(life);
    struct fields f;
    do {
        f = unpack(seen);
        f.searching--;
    } while (!swap(life, &seen, f));
    return f.searching == 0;
}

void thrum__life_sleep(thrum__life *life, int worker)
{
    int64_t seen = load(life);
    struct fields f;
    do {
        f = unpack(seen);
        /* Relaxed: published by the swap. */
        atomic_store_explicit(&life->below[worker], (uint16_t)f.top, memory_order_relaxed);
        f.top = (unsigned)worker + 1;
        f.searching--;
        f.awake--;
        f.changes++;
    } while (!swap(life, &seen, f));
}

/* The word with that many more awake, or fewer: as unpack, change and pack, in fewer steps. Callers come and go
 * often. */
static int64_t with_awake(const thrum__life *life, int64_t word, int change)
{
    uint64_t w = ((uint64_t)word & (UINT64_MAX >> 1)) + ((uint64_t)(int64_t)change << AWAKE_SHIFT);
    bool sleepers = w >> TOP_SHIFT & FIELD, searchers = w >> SEARCH_SHIFT & FIELD;
    bool place = (int)(w >> AWAKE_SHIFT & FIELD) < life->limit;
    return (int64_t)(w | (uint64_t)(sleepers && !searchers && place) << 63);
}

static int64_t change_awake(thrum__life *life, int change)
{
    int64_t seen = load(life), next;
    do
        next = with_awake(life, seen, change);
    while (!__atomic_compare_exchange_n(&life->word, &seen, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return next;
}

bool thrum__life_enter(thrum__life *life)
{
    int64_t seen = load(life);
    do {
        if ((int)((uint64_t)seen >> AWAKE_SHIFT & FIELD) >= life->limit)
            return false;
    } while (!__atomic_compare_exchange_n(&life->word, &seen, with_awake(life, seen, 1), false, __ATOMIC_SEQ_CST,
                                          __ATOMIC_SEQ_CST));
    return true;
}

void thrum__life_enter_anyway(thrum__life *life)
{
    change_awake(life, 1);
}

thrum__life_view thrum__life_leave(thrum__life *life)
{
    return view_of(life, unpack(change_awake(life, -1)));
}
