/* SPDX-License-Identifier: MIT
 *
 * The lock that is cheap for one thread: src/sys/favour.h.
 *
 * Each thread takes the lock again and again, as the favourite or in the ordinary way. The favourite's stores to `inside` wait
 * in its store buffer, in order (`pending` of them, the next value in `first`, the last in `second`), and come out whenever they like; it
 * reads `favourite` before that. A heavy barrier empties all buffers. So does taking and giving the ordinary lock one's own.
 *
 * What is left out: how long somebody must have been alone before it is made the favourite; here it may be so at any time.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define THREADS 3

#ifdef WITHOUT_BARRIER
#define BARRIER skip
#else
#define BARRIER heavy_barrier()
#endif
#ifdef WITHOUT_SECOND_LOOK
#define STILL true
#else
#define STILL (favourite == _pid)
#endif
#ifdef MANY_OWNERS
#define MAY_OWN true
#else
#define MAY_OWN (owner == NOBODY || owner == _pid)
#endif
#define NOBODY 255

byte favourite = NOBODY, owner = NOBODY;
bool inside;
bool locked;
byte in_section = 0;

byte pending[THREADS];
bool first[THREADS], second[THREADS];

inline flush(t)
{
    if
    :: pending[t] == 1 -> inside = first[t]
    :: pending[t] == 2 -> inside = second[t]
    :: else -> skip
    fi;
    pending[t] = 0;
    first[t] = false;
    second[t] = false
}

inline heavy_barrier()
{
    d_step { flush(0); flush(1); flush(2) }
}

/* Where there is no room, the oldest has come out. */
inline store_inside(value)
{
    d_step {
        if
        :: pending[_pid] == 0 -> first[_pid] = value; pending[_pid] = 1
        :: pending[_pid] == 1 -> second[_pid] = value; pending[_pid] = 2
        :: else -> inside = first[_pid]; first[_pid] = second[_pid]; second[_pid] = value
        fi
    }
}

inline section()
{
    in_section++;
    assert(in_section == 1);
    in_section--
}

active [THREADS] proctype thread()
{
end_again:
    if
    :: favourite == _pid ->
        store_inside(true);
        if
        :: STILL -> section(); store_inside(false); goto end_again
        :: !STILL -> store_inside(false)
        fi
    :: else -> skip
    fi;
    atomic { !locked -> locked = true; flush(_pid) }
    if
    :: favourite != NOBODY && favourite != _pid ->
        favourite = NOBODY;
        BARRIER;
        !inside
    :: else -> skip
    fi;
    if
    :: MAY_OWN -> owner = _pid; favourite = _pid
    :: skip
    fi;
    section();
    atomic { flush(_pid); locked = false }
    goto end_again
}

active proctype store_buffers()
{
    byte t;
end_empty:
    do
    :: atomic {
        select (t : 0 .. 2);
        if
        :: pending[t] > 0 ->
            inside = first[t];
            first[t] = second[t];
            second[t] = false;
            pending[t]--
        :: else -> skip
        fi;
        t = 0
    }
    od
}
