/* SPDX-License-Identifier: MIT
 *
 * The seat: src/exec/seat.c.
 *
 * SITTERS threads insert, each into a stream of its own, and want the one seat; WORKERS workers make way for it when they are
 * asked. `at_work` counts threads that run jobs, `awake` is what the life cycle counts. Nobody is too many but until somebody has
 * made way, no place is lost, and a lender comes back when the seat is given back or something is pinned to it: waiting for the bell
 * for ever is an end that is not valid. Its looks now and then are there only while the sitter is away, which is what they are
 * for.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define WORKERS 2
#define SITTERS 2
#define TURNS 2
#define COUNTS 8

#define FREE 0
#define ASKED 1
#define USED 2
#define AWAY 3
#define BACK 4

#ifdef TAKES_ANYWAY
#define STILL_AWAY true
#else
#define STILL_AWAY state == AWAY && count == seen_count && visits == seen_visits
#endif
#ifdef WITHOUT_RING
#define RING skip
#else
#define RING bell = (bell + 1) % COUNTS
#endif
#ifdef COUNTS_ONCE
#define PLACE_TOO skip
#else
#define PLACE_TOO awake++
#endif

byte state = FREE, count = 0, bell = 0, visits = 0;
byte visiting = 0; /* at a brief job, while the seat says away */
byte at_work = WORKERS, awake = WORKERS;
bool pinned[WORKERS];
byte sitters_left = SITTERS;

inline check() { assert(at_work <= WORKERS + (state == ASKED) + visiting) }

active [WORKERS] proctype worker()
{
    byte heard, seen, seen_count, seen_visits;
work:
end_work:
    do
    :: atomic { state == ASKED -> state = USED; at_work--; awake--; goto rest }
    :: atomic { pinned[_pid] -> pinned[_pid] = false }
    od;
rest:
    atomic { heard = bell }
    atomic { seen = state; seen_count = count; seen_visits = visits }
    if
    :: seen == BACK || pinned[_pid] ->
        atomic {
            if
            :: state == AWAY || state == BACK -> state = FREE; at_work++; check(); goto work
            :: state == USED -> state = ASKED; PLACE_TOO; at_work++; check(); goto work
            :: else -> skip
            fi
        }
    :: else -> skip
    fi;
    if
    :: bell != heard -> skip
    :: state == AWAY -> skip                    /* it looks */
    fi;
    atomic {
        if
        :: seen == AWAY && STILL_AWAY -> state = FREE; at_work++; check(); goto work
        :: else -> skip
        fi
    }
    goto rest
}

active [SITTERS] proctype sitter()
{
    byte turns = 0, ticket;
    bool seated = false, sits = false, had;
    do
    :: turns < TURNS && seated ->               /* a visit: it looks, and then begins */
        turns++;
        atomic { had = (state == AWAY && count == ticket) }
        if
        :: had ->
            atomic { visits = (visits + 1) % COUNTS; visiting++; at_work++; check() }
            atomic { visiting--; at_work-- }
        :: else -> seated = false
        fi
    :: turns < TURNS ->
        turns++;
        atomic {
            sits = false;
            if
            :: seated && state == AWAY && count == ticket -> state = USED; sits = true
            :: else ->
                seated = false;
                if
                :: state == FREE -> state = ASKED; awake++; sits = true
                :: else -> skip
                fi
            fi;
            if
            :: sits -> at_work++; check()
            :: else -> skip
            fi
        }
        if
        :: sits ->
            if
            :: atomic { state == USED -> state = AWAY; count = (count + 1) % COUNTS; ticket = count; seated = true; at_work-- }
            :: atomic { state == ASKED -> state = FREE; awake--; seated = false; at_work-- }
            fi
        :: else -> skip
        fi
    :: else -> break
    od;
    /* The flow's end, or something else that the thread waits for. */
    atomic {
        if
        :: seated && state == AWAY && count == ticket -> state = BACK; sits = true
        :: else -> sits = false
        fi
    }
    if
    :: sits -> RING
    :: else -> skip
    fi;
    sitters_left--
}

active proctype poster()
{
    if
    :: pinned[0] = true
    :: pinned[1] = true
    fi;
    bell = (bell + 1) % COUNTS;
    sitters_left == 0 && at_work == WORKERS;
    assert(awake == WORKERS && state == FREE)
}
