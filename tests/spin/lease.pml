/* SPDX-License-Identifier: MIT
 *
 * A lease of the only place: src/sys/lease.h, and its use in src/exec/worker.c, executor.c and stream.c. Two threads outside, each
 * with a lease of its own, run jobs at once if they get the place, by their lease or otherwise, and post them if not; and they post
 * functions. One worker sleeps until it is woken for that. Nobody is ever inside together with another, and nothing that was posted
 * is left when all have come to rest.
 *
 * A lessee's stores of `inside` are plain: each waits in its thread's store buffer, of one place, and comes out whenever it likes. A
 * heavy barrier empties the buffers of all, a read-modify-write its thread's own. To the life cycle a leased place is free.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=900
 * run: -m1000000
 */
#define THREADS 2
#define ROUNDS 3

#ifdef WITHOUT_BARRIER
#define BARRIER skip
#else
#define BARRIER heavy_barrier()
#endif
#ifdef WITHOUT_LOOKING
#define IS_INSIDE(t) false
#else
#define IS_INSIDE(t) inside[t]
#endif
#ifdef FORGETS
#define GIVE_UP leased = 0
#else
#define GIVE_UP skip
#endif
#ifdef KEEPS_PLACE
#define FREE_TO_OTHERS false
#else
#define FREE_TO_OTHERS true
#endif

bool awake = false;           /* the place is taken, as far as the life cycle knows */
bool asleep = true;           /* the worker */
bool token = false;           /* to wake it; the place is its own then */
byte posted = 0;
byte leased = 0;              /* a thread's number plus one; 0: none */
bool granted[THREADS], inside[THREADS];
byte buffer[THREADS];         /* 0: empty; 1: inside = false; 2: inside = true */
byte holders = 0;

inline empty_buffer(t)
{
    if
    :: buffer[t] != 0 -> inside[t] = (buffer[t] == 2); buffer[t] = 0
    :: else
    fi
}

inline heavy_barrier()
{
    d_step { empty_buffer(0); empty_buffer(1) }
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
    od
}

/* Whoever does this has the place in the other way; whether it is its own. */
inline end_lease()
{
    if
    :: leased == 0 -> own = true
    :: else ->
        if
        :: granted[leased - 1] -> granted[leased - 1] = false; BARRIER
        :: else
        fi;
        if
        :: IS_INSIDE(leased - 1) -> own = false
        :: else -> leased = 0; own = true
        fi
    fi
}

inline wake()
{
    atomic {
        if
        :: asleep && !awake -> asleep = false; awake = true; token = true
        :: else
        fi
    }
}

inline post()
{
    d_step { empty_buffer(me); posted++ };
    wake()
}

inline leave_place()
{
    d_step { empty_buffer(me); awake = false };
    if
    :: posted > 0 -> wake()
    :: else
    fi
}

inline enter_otherwise()
{
    entered = false;
    atomic {
        if
        :: !awake -> awake = true; entered = true; empty_buffer(me)
        :: else
        fi
    };
    if
    :: entered ->
        end_lease();
        if
        :: own -> hold()
        :: else -> GIVE_UP; leave_place(); entered = false
        fi
    :: else
    fi
}

inline run_job()
{
    entered = false;
    if
    :: granted[me] ->
        say_inside(1);
        if
        :: granted[me] -> entered = true; hold()
        :: else
        fi;
        say_inside(0)
    :: else
    fi;
    if
    :: !entered ->
        enter_otherwise();
        if
        :: !entered -> post()
        :: entered ->
            if
            :: granted[me] = true; leased = me + 1;
                if
                :: FREE_TO_OTHERS -> leave_place()
                :: else
                fi
            :: leave_place()
            fi
        fi
    :: else
    fi
}

proctype thread(byte me)
{
    byte round = 0;
    bool entered, own;
    do
    :: round < ROUNDS ->
        round++;
        if
        :: run_job()
        :: post()
        :: granted[me] = false /* given up, outside */
        fi
    :: else -> break
    od
}

/* A heavy barrier comes before its last look. */
proctype worker()
{
    bool own;
end:
    do
    :: token ->
        token = false;
        own = false;
        do
        :: !own -> end_lease()
        :: own -> break
        od;
        hold();
        do
        :: posted > 0 -> posted--
        :: posted == 0 -> break
        od;
        atomic { asleep = true; awake = false };
        heavy_barrier();
        if
        :: posted > 0 -> wake()
        :: else
        fi
    od
}

active proctype rest()
{
end:
    do
    :: timeout -> assert(posted == 0)
    od
}

init { atomic { run thread(0); run thread(1); run worker() } }
