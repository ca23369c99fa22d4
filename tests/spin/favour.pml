/* SPDX-License-Identifier: MIT
 *
 * A lock with a favourite: src/sys/favour.h. Threads take it in both ways; the owner may become the favourite whenever it holds the
 * lock, and others take that away. Nobody is ever inside together with another.
 *
 * The favourite's stores of `inside` are plain: each waits in its thread's store buffer, of one place, and comes out whenever it likes.
 * A heavy barrier empties the buffers of all, a read-modify-write its thread's own.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define THREADS 3
#define ROUNDS 2

#ifdef WITHOUT_BARRIER
#define BARRIER skip
#else
#define BARRIER heavy_barrier()
#endif
#ifdef WITHOUT_WAITING
#define LEFT true
#else
#define LEFT (!inside)
#endif
#ifdef ANY_OWNER
#define MAY_OWN(t) true
#else
#define MAY_OWN(t) (owner == 0 || owner == t + 1)
#endif

byte favourite = 0, owner = 0; /* a thread's number plus one; 0: none */
bool lock = false, inside = false;
byte buffer[THREADS]; /* 0: empty; 1: inside = false; 2: inside = true */
byte holders = 0;

inline empty_buffer(t)
{
    if
    :: buffer[t] != 0 -> inside = (buffer[t] == 2); buffer[t] = 0
    :: else
    fi
}

inline heavy_barrier()
{
    d_step { empty_buffer(0); empty_buffer(1); empty_buffer(2) }
}

inline say_inside(yes)
{
    atomic { buffer[me] == 0 -> buffer[me] = 1 + yes }
}

inline hold()
{
    holders++;
    assert(holders == 1);
    holders--
}

active proctype memory()
{
end:
    do
    :: d_step { buffer[0] != 0 -> empty_buffer(0) }
    :: d_step { buffer[1] != 0 -> empty_buffer(1) }
    :: d_step { buffer[2] != 0 -> empty_buffer(2) }
    od
}

inline take_lock()
{
    atomic { !lock -> lock = true; empty_buffer(me) }
    if
    :: favourite != 0 && favourite != me + 1 ->
        favourite = 0;
        BARRIER;
        LEFT
    :: else
    fi;
    hold();
    if
    :: MAY_OWN(me) -> owner = me + 1; favourite = me + 1
    :: true
    fi;
    d_step { empty_buffer(me); lock = false }
}

proctype thread(byte me)
{
    byte round = 0;
    bool entered;
    do
    :: round < ROUNDS ->
        round++;
        entered = false;
        if
        :: favourite == me + 1 ->
            say_inside(1);
            if
            :: favourite == me + 1 -> entered = true; hold()
            :: else
            fi;
            say_inside(0)
        :: else
        fi;
        if
        :: !entered -> take_lock()
        :: else
        fi
    :: else -> break
    od
}

init { atomic { run thread(0); run thread(1); run thread(2) } }
