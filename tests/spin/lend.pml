/* SPDX-License-Identifier: MIT
 *
 * A worker makes way for a sitter (src/exec/seat.c) while there is work that is not the sitter's: somebody must come for it.
 *
 * Two workers may be awake. While the sitter asks there is one too many, and a worker that goes to sleep then leaves what it sees to the
 * two others (src/sched/life.h). One of these makes way, and the sitter looks after its own stream alone, and ends up asleep. When all
 * have come to rest no work may be left. (Barriers are not part of this: each step is seen by all.)
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define WORKERS 2
#define LIMIT 2
#define JOBS 2

#define FREE 0
#define ASKED 1
#define USED 2

byte seat = FREE, work = 0, awake = WORKERS, searching = 0;
bool asleep[WORKERS];

inline wake_one()
{
    atomic {
        if
        :: searching == 0 && awake < LIMIT && asleep[0] -> asleep[0] = false; awake++; searching++
        :: searching == 0 && awake < LIMIT && asleep[1] -> asleep[1] = false; awake++; searching++
        :: else
        fi
    }
}

/* Leaves a place: thrum__leave_place. */
inline leave()
{
    atomic { awake--; looks = searching == 0 && (asleep[0] || asleep[1]) && awake + 1 >= LIMIT }
    if
    :: looks && work > 0 -> wake_one()
    :: else
    fi
}

active [WORKERS] proctype worker()
{
    bool looks;
active_:
    do
    :: atomic { work > 0 -> work-- }
    :: atomic {
           seat == ASKED -> seat = USED
#ifdef LENDER_LOOKS_NOT
           ; awake--
#endif
       }
#ifndef LENDER_LOOKS_NOT
       leave();
#endif
       goto rest
    :: atomic { searching++ } goto search
    od;
search: /* finds work, or has looked long enough, or too many are awake */
    if
    :: atomic { work > 0 -> work--; searching-- }
       if
       :: searching == 0 && work > 0 -> wake_one()
       :: else
       fi;
       goto active_
    :: atomic { searching--; awake--; asleep[_pid] = true }
    fi;
    if
    :: work > 0 -> wake_one()
    :: else
    fi;
end_asleep:
    !asleep[_pid];
    goto search;
rest:
end_rest:
    false
}

active proctype sitter()
{
    bool looks;
    atomic { seat = ASKED; awake++ }
    /* runs some of its own */
    if
    :: atomic { seat == ASKED -> seat = FREE }
    :: seat == USED
    fi;
    leave()
}

active proctype inserter()
{
    byte i;
    for (i : 1 .. JOBS) {
        work++;
        wake_one()
    }
}

active proctype at_the_end()
{
    timeout -> assert(work == 0)
}
