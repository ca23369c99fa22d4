/* SPDX-License-Identifier: MIT
 *
 * Sleeping and waking: src/sched/life.h, src/exec/worker.c, src/sys/barrier.h.
 *
 * A guest holds a place, pushes tasks into its deque and then works on something long: it does not come back to its
 * deque before all tasks have started. The tasks wait for each other in the same way, and there are just enough places:
 * a wake-up that is lost, or merely comes too late, is a deadlock.
 *
 * A push is a plain store followed by a plain load of the life word: the store waits in the pusher's store buffer
 * (pushed > visible) and comes out whenever it likes. A heavy barrier empties the buffers of all. The look of the last
 * searcher that finds work needs one too: a push that saw it searching may still be in its buffer.
 *
 * What is left out: the life word is changed in atomic steps, as its compare-and-swap does. Looking for work goes from
 * deque to deque and is not atomic.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef GUESTS
#define GUESTS 1
#endif
#ifndef TASKS
#define TASKS 2         /* pushed by each guest */
#endif
#ifndef LIMIT
#define LIMIT 3
#endif
#define TOTAL (GUESTS * TASKS)

#ifdef WITHOUT_SLEEP_BARRIER
#define SLEEP_BARRIER skip
#else
#define SLEEP_BARRIER heavy_barrier()
#endif
#ifdef WITHOUT_SEARCH_BARRIER
#define SEARCH_BARRIER skip
#else
#define SEARCH_BARRIER heavy_barrier()
#endif
#ifdef WITHOUT_LAST_LOOK
#define SLEEPER_SEES false
#else
#define SLEEPER_SEES seen
#endif
#ifdef WITHOUT_LOOK_ASIDE
#define LEAVER_SEES false
#else
#define LEAVER_SEES seen
#endif

/* The life word, and the sleepers' stack. */
byte searching = WORKERS, awake = WORKERS + GUESTS;
byte stack[WORKERS];
byte sleepers = 0;
#define WAKE_WANTED (sleepers > 0 && searching == 0 && awake < LIMIT)

bool token[WORKERS];    /* of the parkers */
bool asleep[WORKERS];   /* on the stack */

byte pushed[GUESTS];    /* as the owner sees its deque */
byte visible[GUESTS];   /* as the others do */
byte taken[GUESTS];
byte started = 0;
byte guests_inside = GUESTS;

inline heavy_barrier()
{
    d_step {
        g = 0;
        do
        :: g < GUESTS -> visible[g] = pushed[g]; g++
        :: else -> break
        od;
        g = 0
    }
}

/* thrum__wake_one: the sleeper is off the stack and counts as searching in one step; its token comes later. */
inline wake_one()
{
    atomic {
        if
        :: WAKE_WANTED ->
            sleepers--;
            sleeper = stack[sleepers];
            assert(asleep[sleeper]);
            asleep[sleeper] = false;
            searching++;
            awake++;
            woke = true
        :: else -> woke = false
        fi
    }
    if
    :: woke -> atomic { assert(!token[sleeper]); token[sleeper] = true; woke = false; sleeper = 0 }
    :: else
    fi
}

/* thrum__work_visible: one deque after the other. */
inline look()
{
    seen = false;
    g = 0;
    do
    :: g < GUESTS && taken[g] < visible[g] -> seen = true; break
    :: g < GUESTS && taken[g] >= visible[g] -> g++
    :: g == GUESTS -> break
    od;
    g = 0
}

/* thrum__find: the same, taking the task. */
inline find()
{
    found = false;
    g = 0;
    do
    :: atomic { g < GUESTS && taken[g] < visible[g] -> taken[g]++; found = true; break }
    :: g < GUESTS && taken[g] >= visible[g] -> g++
    :: g == GUESTS -> break
    od;
    g = 0
}

/* A task is done when all have started. */
inline perform()
{
    started++;
    started == TOTAL
}

active [WORKERS] proctype worker()
{
    byte g, sleeper;
    bool woke, seen, found;

search:
    find();
    if
    :: found -> goto work
    :: else -> skip
    fi;
    if
    :: goto search                      /* looks a while */
    :: skip
    fi;

    /* sleep_until_woken */
    atomic {
        assert(searching > 0 && awake > 0);
        stack[sleepers] = _pid;
        sleepers++;
        asleep[_pid] = true;
        searching--;
        awake--
    }
    SLEEP_BARRIER;
    look();
    if
    :: SLEEPER_SEES -> wake_one()
    :: else -> skip
    fi;
    seen = false;
end_parked:
    atomic { token[_pid] -> token[_pid] = false; assert(!asleep[_pid]) }
    goto search;

work:
    /* work_while_there_is_some */
    found = false;
    atomic { assert(searching > 0); searching--; seen = searching == 0 }
    if
    :: seen && WAKE_WANTED ->
        SEARCH_BARRIER;
        look();
        if
        :: seen -> wake_one()
        :: else -> skip
        fi
    :: else -> skip
    fi;
    seen = false;
    do
    :: perform(); find();
       if
       :: found -> found = false
       :: else -> break
       fi
    od;
    searching++;
    goto search
}

/* thrum__step_aside. Changing the word empties the guest's own buffer. */
inline step_aside()
{
    atomic { assert(awake > 0); visible[me] = pushed[me]; awake--; seen = WAKE_WANTED; others = awake > 0 }
    if
    :: seen ->
        if
        :: others -> heavy_barrier()
        :: else -> skip
        fi;
        look();
        if
        :: LEAVER_SEES -> wake_one()
        :: else -> skip
        fi
    :: else -> skip
    fi;
    atomic { seen = false; others = false }
}

active [GUESTS] proctype guest()
{
    byte g, sleeper, me = _pid - WORKERS;
    bool woke, seen, others;

    do
    :: pushed[me] < TASKS ->
        pushed[me]++;                   /* into the store buffer */
        if
        :: WAKE_WANTED -> wake_one()
        :: else -> skip
        fi
    :: else -> break
    od;
#ifdef PARKS
    /* The guest waits inside a task, with tasks in its deque: it lends its place. */
    step_aside();
    started == TOTAL;
    awake++;
#else
    started == TOTAL;
#endif
    step_aside();
    guests_inside--
}

/* The store buffers. They empty themselves sooner or later, each in the order of the stores. */
active proctype store_buffers()
{
end_empty:
    do
    :: atomic { visible[0] < pushed[0] -> visible[0]++ }
#if GUESTS > 1
    :: atomic { visible[1] < pushed[1] -> visible[1]++ }
#endif
    od
}

/* Everything rests: then nothing is left, everybody sleeps, and no wake-up is under way. */
active proctype monitor()
{
    byte w = 0;
    timeout;
    assert(started == TOTAL);
    assert(guests_inside == 0);
    assert(sleepers == WORKERS && awake == 0 && searching == 0);
    do
    :: w < WORKERS -> assert(!token[w] && asleep[w]); w++
    :: else -> break
    od
}
