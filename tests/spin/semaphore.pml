/* SPDX-License-Identifier: MIT
 *
 * Semaphores: taking all tokens or none, waiting, handing over, cancelling. See src/exec/semaphore.c.
 *
 * Each task takes its tokens or waits until it is sent off, is inside, and gives them back one semaphore after the other. A canceller cancels one of the tasks at any moment: that one ends its waiting at once, and takes
 * nothing any more. Locks are bits; what is done with a lock held is one step, for nobody else can see it half done. (It is
 * several steps where locks are taken in between.)
 *
 * Found: a task that waits for ever (the end is invalid), tokens that are lost or appear from nowhere, too many inside.
 *
 * With HOLDER_WAITS task 0 leaves only when that many others have ended: who is cancelled, waits behind one that is, or behind
 * one that has to wait elsewhere, must not need anybody to give something back.
 *
 * cc: -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=1500
 * run: -m200000
 */
#ifndef TASKS
#define TASKS 3
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif

#define NOBODY 255
#define SEMAPHORES 2

byte need[TASKS * SEMAPHORES];
#define NEED(t, s) need[(t) * SEMAPHORES + (s)]
byte first_listed[TASKS]; /* in which order the task lists them */

byte free_tokens[SEMAPHORES];
chan line[SEMAPHORES] = [TASKS] of { byte };
bit lock[SEMAPHORES], several;

bit cancelled[TASKS], sent[TASKS], granted[TASKS];
byte inside[SEMAPHORES];
byte ended;

#define BOTH(t) (NEED(t, 0) > 0 && NEED(t, 1) > 0)
#define TAKE(l) atomic { l == 0 -> l = 1 }
#define GIVE(l) l = 0

/* Where the task would have to wait; `at` is where it is the first in line. */
inline find_lacking(t, at) {
    byte which = 0;
    lacking = NOBODY;
    do
    :: which == SEMAPHORES || lacking != NOBODY -> break
    :: else ->
        byte s_ = (first_listed[t] + which) % SEMAPHORES;
        if
        :: NEED(t, s_) > 0 && (free_tokens[s_] < NEED(t, s_) || (s_ != at && len(line[s_]) > 0)) -> lacking = s_
        :: else
        fi;
        which++
    od;
    which = 0;
    s_ = 0
}

inline take_all(t) {
    free_tokens[0] = free_tokens[0] - NEED(t, 0);
    free_tokens[1] = free_tokens[1] - NEED(t, 1)
}

inline lock_all(t) {
    if
    :: BOTH(t) -> TAKE(several); TAKE(lock[first_listed[t]]); TAKE(lock[1 - first_listed[t]])
    :: else -> TAKE(lock[first_listed[t]])
    fi
}

inline unlock_all(t) {
    if
    :: BOTH(t) -> GIVE(lock[first_listed[t]]); GIVE(lock[1 - first_listed[t]]); GIVE(several)
    :: else -> GIVE(lock[first_listed[t]])
    fi
}

inline send_off(s, t) {
    line[s]?eval(t);
    if
    :: !cancelled[t] -> take_all(t); granted[t] = 1
    :: else
    fi;
    mine = mine | (1 << t)
}

/* With `several` and the semaphore's lock held. */
inline settle_all_locked(s) {
    do
    :: atomic { len(line[s]) > 0 -> line[s]?<first>;
        if
        :: free_tokens[s] < NEED(first, s) -> first = NOBODY; break
        :: else
        fi }
        if
        :: BOTH(first) -> TAKE(lock[1 - (s)])
        :: else
        fi;
        atomic {
            find_lacking(first, s);
            if
            :: lacking != NOBODY -> line[s]?eval(first); line[lacking]!first
            :: else -> send_off(s, first)
            fi;
            if
            :: BOTH(first) -> GIVE(lock[1 - (s)])
            :: else
            fi;
            first = NOBODY
        }
#ifdef STOPS_AFTER_MOVE
        if
        :: lacking != NOBODY -> lacking = NOBODY; break
        :: else
        fi
#endif
        lacking = NOBODY
    :: atomic { len(line[s]) == 0 -> break }
    od
}

inline settle(s) {
    TAKE(lock[s]);
    atomic {
        more = 0;
        do
        :: len(line[s]) > 0 ->
            line[s]?<first>;
            if
            :: free_tokens[s] < NEED(first, s) -> break
            :: free_tokens[s] >= NEED(first, s) && BOTH(first) -> more = 1; break
            :: else -> send_off(s, first)
            fi
        :: len(line[s]) == 0 -> break
        od;
        first = NOBODY;
        GIVE(lock[s])
    }
    if
    :: more -> more = 0; TAKE(several); TAKE(lock[s]); settle_all_locked(s); GIVE(lock[s]); GIVE(several)
    :: else
    fi
}

inline give_back(s, t) {
    if
    :: NEED(t, s) > 0 ->
        TAKE(lock[s]);
        atomic {
            free_tokens[s] = free_tokens[s] + NEED(t, s);
            awaited = len(line[s]) > 0;
            GIVE(lock[s])
        }
        if
        :: awaited -> settle(s)
        :: else
        fi
    :: else
    fi
}

inline deliver() {
    atomic {
        which_ = 0;
        do
        :: which_ == TASKS -> break
        :: else ->
            if
            :: mine & (1 << which_) -> assert(!sent[which_]); sent[which_] = 1
            :: else
            fi;
            which_++
        od;
        which_ = 0;
        mine = 0
    }
}

inline be_inside(t) {
    atomic {
        inside[0] = inside[0] + NEED(t, 0);
        inside[1] = inside[1] + NEED(t, 1);
        assert(inside[0] <= 2 && inside[1] <= 1)
    }
#ifdef HOLDER_WAITS
    if
    :: t == 0 -> ended >= HOLDER_WAITS
    :: else
    fi;
#endif
    atomic {
        inside[0] = inside[0] - NEED(t, 0);
        inside[1] = inside[1] - NEED(t, 1)
    }
}

proctype Task(byte me)
{
    byte round, lacking = NOBODY, first = NOBODY, mine, which_;
    bit more, awaited, waits, has;
    do
    :: round == ROUNDS || cancelled[me] -> break
    :: else ->
        waits = 0;
        has = 0;
        lock_all(me);
        atomic {
            find_lacking(me, NOBODY);
            if
            :: lacking == NOBODY -> take_all(me); has = 1
#ifndef WITHOUT_LOOKING
            :: lacking != NOBODY && cancelled[me] -> skip
            :: lacking != NOBODY && !cancelled[me] -> line[lacking]!me; waits = 1
#else
            :: lacking != NOBODY -> line[lacking]!me; waits = 1
#endif
            fi;
            lacking = NOBODY
        }
        unlock_all(me);
        if
        :: waits -> atomic { sent[me] -> sent[me] = 0; has = granted[me]; granted[me] = 0 }
        :: else
        fi;
        if
        :: has && !cancelled[me] -> be_inside(me)
        :: else
        fi;
        if
        :: has ->
            give_back(first_listed[me], me);
            give_back(1 - first_listed[me], me);
            deliver()
        :: else
        fi;
        round++
    od;
    atomic {
        ended++;
        if
        :: ended == TASKS ->
            assert(free_tokens[0] == 2 && free_tokens[1] == 1);
            assert(len(line[0]) == 0 && len(line[1]) == 0)
        :: else
        fi
    }
}

inline remove_of(s, t) {
    byte turns = len(line[s]), other;
    do
    :: turns == 0 -> break
    :: else ->
        line[s]?other;
        if
        :: other == t -> mine = mine | (1 << t)
        :: else -> line[s]!other
        fi;
        turns--
    od;
    other = 0
}

proctype Canceller(byte whom)
{
    byte lacking = NOBODY, first = NOBODY, mine, which_, s;
    cancelled[whom] = 1;
#ifndef LETS_GO_BETWEEN
    TAKE(several);
#endif
    do
    :: s == SEMAPHORES -> break
    :: else ->
#ifdef LETS_GO_BETWEEN
        TAKE(several);
#endif
        TAKE(lock[s]);
        atomic { remove_of(s, whom) }
#ifndef WITHOUT_SETTLING
        settle_all_locked(s);
#endif
        GIVE(lock[s]);
#ifdef LETS_GO_BETWEEN
        GIVE(several);
#endif
        s++
    od;
#ifndef LETS_GO_BETWEEN
    GIVE(several);
#endif
    deliver()
}

init {
    atomic {
        free_tokens[0] = 2;
        free_tokens[1] = 1;
#ifdef PASSING
        NEED(0, 1) = 1; first_listed[0] = 1;
        NEED(1, 0) = 2;
        NEED(2, 0) = 1; NEED(2, 1) = 1;
        NEED(3, 0) = 1;
#elif defined(HOLDER_WAITS)
        NEED(0, 0) = 1;
        NEED(1, 0) = 2; NEED(1, 1) = 1; first_listed[1] = 1;
        NEED(2, 0) = 1; NEED(2, 1) = 1; first_listed[2] = 1;
#else
        NEED(0, 0) = 1; NEED(0, 1) = 1;
        NEED(1, 0) = 2;
        NEED(2, 0) = 1; NEED(2, 1) = 1;
        first_listed[2] = 1;
#endif
        byte t = 0;
        do
        :: t == TASKS -> break
        :: else -> run Task(t); t++
        od;
#ifdef HOLDER_WAITS
        run Canceller(1)
#else
        if
        :: run Canceller(0)
        :: run Canceller(1)
        :: run Canceller(2)
        fi
#endif
    }
}
