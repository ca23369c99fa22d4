/* SPDX-License-Identifier: MIT
 *
 * Ranges of numbers: src/conc/range.h. An owner that fills its range twice and takes it from the front, one or two numbers at a
 * time; and thieves that halve it from the back. Each number must be had once, and nothing be left.
 *
 * The owner's stores to front go through a store buffer and come out whenever they like, in their order; a heavy barrier
 * empties it, and so does taking or giving the lock, a read-modify-write. Thieves read nothing between a store of theirs and
 * the barrier or the lock that follows it: a store that comes out late is one that is made late.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define NUMBERS 6
#define CUT 2               /* the range is filled with the numbers from here on, and then with those below */
#ifndef THIEVES
#define THIEVES 2
#endif

chan buffer = [2] of { byte };  /* the owner's stores to front on their way to memory */
byte own_front = 0;             /* as the owner sees it */
byte front = 0, back = 0;       /* as the others see them */
bool lock = false;

bool had[NUMBERS];
bool over = false;

inline to_memory()
{
    buffer ? front
}

inline heavy_barrier()
{
#ifdef WITHOUT_BARRIER
    skip
#else
    atomic {
        do
        :: nempty(buffer) -> to_memory()
        :: empty(buffer) -> break
        od
    }
#endif
}

/* All of from <= i < to. */
inline have(from, to)
{
    atomic {
        i = from;
        do
        :: i < to -> assert(i < NUMBERS && !had[i]); had[i] = true; i++
        :: else -> break
        od;
        i = 0
    }
}

/* ---- The owner ---------------------------------------------------------------------------------------------------- */

inline take_lock() { atomic { empty(buffer) && !lock -> lock = true } }
inline give_lock() { atomic { empty(buffer) -> lock = false } }

inline fill(from, to)
{
#ifdef FILLS_UNLOCKED
    atomic { empty(buffer) -> own_front = from; front = from }
    back = to
#else
    take_lock();
    atomic { own_front = from; front = from }
    back = to;
    give_lock()
#endif
}

/* Numbers from `begin` on: front has been raised, but back is lower. */
inline settle()
{
#ifdef SETTLES_UNLOCKED
    empty(buffer);
#else
    take_lock();
#endif
    seen = back;
    end = (seen < begin + count -> seen : begin + count);
    atomic { own_front = end; front = end }
#ifndef SETTLES_UNLOCKED
    give_lock();
#endif
    skip
}

/* thrum__range_take_owner: raises front, then looks at back. */
inline take()
{
    atomic {
        if
        :: count = 1
        :: count = 2
        fi
    }
    begin = own_front;
    end = begin + count;
#ifdef LOOKS_BEFORE
    seen = back;
#endif
    atomic { own_front = end; buffer ! end }
#ifndef LOOKS_BEFORE
    seen = back;
#endif
    if
    :: end > seen -> settle()
    :: else -> skip
    fi;
    have(begin, end);
    atomic { seen = 0; count = 0 }
}

inline take_all()
{
    do
    :: take();
        if
        :: begin == end -> break
        :: else -> skip
        fi
    od;
    atomic { begin = 0; end = 0 }
}

active proctype owner()
{
    byte begin, end, count, seen, i;
    fill(CUT, NUMBERS);
    take_all();
    fill(0, CUT);
    take_all();
    over = true
}

active proctype store_buffer()
{
end_empty:
    do
    :: atomic { nempty(buffer) -> to_memory() }
    od
}

/* ---- The others --------------------------------------------------------------------------------------------------- */

/* steal_locked, with the lock given back before the numbers are looked at: by then they must be the thief's. */
inline steal()
{
    low = front;
    high = back;
    if
    :: low >= high -> lock = false
    :: else ->
        middle = low + (high - low) / 2;
        back = middle;
        heavy_barrier();
#ifndef NEVER_LOOKS_AGAIN
        if
        :: front <= middle -> mine = true
        :: else ->
#ifndef KEEPS_IT_BACK
            back = high;
#endif
            skip
        fi;
#else
        mine = true;
#endif
        lock = false;
        if
        :: mine -> have(middle, high)
        :: else -> skip
        fi
    fi;
    atomic { low = 0; high = 0; middle = 0; mine = false }
}

/* Without the lock it sees that something is left, or takes it to be. */
active [THIEVES] proctype thief()
{
    byte low, high, middle, i;
    bool mine;
end_nothing_left:
    do
    :: atomic { front < back && !lock -> lock = true } steal()
    od
}

/* Everything rests. */
active proctype monitor()
{
    byte i = 0;
    timeout;
    assert(over && !lock && front == back && own_front == front);
    do
    :: i < NUMBERS -> assert(had[i]); i++
    :: else -> break
    od
}
