/* SPDX-License-Identifier: MIT
 *
 * What a worker keeps to itself: src/exec/door.c, src/conc/deque.h. An owner that begins a run alone, pushes the run's
 * tasks to its deque, takes them back and runs them; and thieves that ask, raid and steal.
 *
 * Each task counts up `arrived`, as tasks count down in their successors: with a plain load and a plain store while the
 * owner has the run alone, in one step otherwise. A count that is lost shows at the end. A task must run once, and the run
 * end once, when all tasks have run. In the middle of a task the owner may wait until all others have run: so what it has
 * pushed by then must be had without it.
 *
 * The owner's stores to bottom, inside and arrived go through a store buffer and come out whenever they like, in their
 * order; a heavy barrier empties it, and so does a read-modify-write of the owner's (which waits until it is empty). What
 * the owner does with the door held it writes to memory at once: giving the door back is a read-modify-write.
 *
 * What is left out: sources (their cursor is changed like `arrived`), growing, and spawned children, whose top and bar do
 * what bottom and bar do here.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#ifndef TASKS
#define TASKS 4
#endif
#ifndef THIEVES
#define THIEVES 2
#endif
#define ASK 99
#define NONE 9

mtype = { BOTTOM, INSIDE, ARRIVED };
chan buffer = [3] of { mtype, byte };   /* the owner's stores on their way to memory */
byte own_bottom = 0, own_arrived = 0;   /* as the owner sees them */
byte arrivals_buffered = 0;

/* As the others see them. */
byte top = 0, shown = 0, bar = 0, bottom = 0, arrived = 0;
bool asked = false, open = false, inside = false, door = false;
byte slot[TASKS + 1];                   /* written together with bottom */
bool linked = true, shared = false;     /* the run is in its owner's list; its `sharing` */
short strands = 0;

byte pushed = 0, done = 0;
bool ran[TASKS];
bool ended = false;

inline to_memory()
{
    buffer ? what, value;
    if
    :: what == BOTTOM -> bottom = value
    :: what == INSIDE -> inside = value
    :: what == ARRIVED -> arrived = value; arrivals_buffered--
    fi;
    what = 0; value = 0
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

inline run_once(task)
{
    atomic { assert(task < TASKS && !ran[task]); ran[task] = true }
}

inline end_run()
{
    atomic { assert(!ended); ended = true; assert(done == TASKS) }
}

/* share_runs_locked. Strands come last. */
inline share_run()
{
    if
    :: linked -> linked = false; shared = true; strands = 1
    :: else -> skip
    fi
}

/* ---- The owner ---------------------------------------------------------------------------------------------------- */

inline take_door() { atomic { empty(buffer) && !door -> door = true } }
inline give_door() { atomic { empty(buffer) -> door = false } }

inline alone_enter()
{
    entered = false;
    if
    :: !shared ->
        buffer ! INSIDE, 1;
        if
        :: !asked -> entered = true
        :: asked -> buffer ! INSIDE, 0
        fi
    :: shared -> skip
    fi
}

inline unask()
{
    asked = false;
    bar = shown
}

/* thrum__door_give: serves whoever asked. Whether being open still pays is a matter of time: anything may be. */
inline serve_and_give_door()
{
    if
    :: open ->
        if
        :: open = false
        :: skip
        fi;
        share_run();
        shown = (own_bottom > shown -> own_bottom : shown)
    :: !open && asked ->
        share_run();
        shown = (own_bottom > shown -> shown + (own_bottom - shown) - (own_bottom - shown) / 2 : shown)
    :: else -> skip
    fi;
    if
    :: !open -> unask()
    :: else -> skip
    fi;
    give_door()
}

/* The task counts up, and pushes the next one if there is one to come and the owner feels like it. */
inline complete()
{
    alone_enter();
    if
    :: entered ->
        seen = (arrivals_buffered > 0 -> own_arrived : arrived);
        atomic { own_arrived = seen + 1; arrivals_buffered++; buffer ! ARRIVED, seen + 1 }
    :: !entered -> atomic { empty(buffer) -> arrived++ }
    fi;
    done++;
    do
    :: pushed < TASKS ->
        atomic {
            slot[own_bottom] = pushed;
            pushed++;
            own_bottom++;
            buffer ! BOTTOM, own_bottom
        }
        if
        :: !entered && asked -> take_door(); serve_and_give_door()
        :: else -> skip
        fi
    :: break
    od;
    if
    :: entered -> buffer ! INSIDE, 0
    :: else -> skip
    fi;
    atomic { entered = false; seen = 0 }
}

/* Taking back what has been shown, from number b on. */
inline take_back()
{
    t = top;
    low = (!open && t < b -> t + (b + 1 - t) / 2 : b);
    shown = low;
    t = top;
    if
    :: t > b -> shown = t
    :: t == b ->
        atomic {
            if
            :: top == b -> top = b + 1; task = slot[b]
            :: else -> skip
            fi
        }
        shown = b + 1
    :: t < b ->
#ifndef OLDEST_NOT_LEFT
        if
        :: t >= low -> shown = t + 1    /* a thief may be about to take number t */
        :: else -> skip
        fi;
#endif
        atomic { own_bottom = b; bottom = b; task = slot[b] }
    fi;
    atomic { t = 0; low = 0 }
}

inline pop_slow()
{
    take_door();
    if
    :: b < shown -> take_back()
    :: else -> atomic { own_bottom = b; bottom = b; task = slot[b] }
    fi;
    serve_and_give_door()
}

/* thrum__deque_pop_owner: lowers bottom, then looks at the bar. */
inline pop()
{
    task = NONE;
    b = own_bottom - 1;
#ifdef LOOK_BEFORE
    seen = bar;
#endif
    atomic { own_bottom = b; buffer ! BOTTOM, b }
#ifndef LOOK_BEFORE
    seen = bar;
#endif
    if
    :: b >= seen -> task = slot[b]
    :: else ->
        atomic { own_bottom = b + 1; buffer ! BOTTOM, b + 1 }
        pop_slow()
    fi;
    atomic { b = 0; seen = 0 }
}

/* lower in run.c: the owner has nothing left to do in the run. */
inline lower()
{
    seen = false;
    if
    :: !shared ->
        buffer ! INSIDE, 1;
        entered = !asked;
        if
        :: !entered -> buffer ! INSIDE, 0; take_door()
        :: else -> skip
        fi;
        atomic { seen = !shared; linked = linked && shared }
        if
        :: entered -> buffer ! INSIDE, 0
        :: else -> give_door()
        fi;
        entered = false
    :: shared -> skip
    fi;
    if
    :: seen -> end_run()
    :: !seen ->
#ifdef SHARING_TELLS
        skip;
#else
        if
        :: strands > 0 -> skip
        :: else -> take_door(); share_run(); give_door()
        fi;
#endif
        atomic { empty(buffer) -> strands--; seen = (strands == 0) }
        if
        :: seen -> end_run()
        :: else -> skip
        fi
    fi
}

active proctype owner()
{
    byte b, t, low, task, seen;
    bool entered;

    pushed = 1;                         /* the first task is the run's source */
    task = 0;
    do
    :: task != NONE ->
        run_once(task);
        if
        :: skip
        :: done == pushed - 1           /* a long task: it goes on when all others have run */
        fi;
        complete();
        task = NONE
    :: task == NONE && own_bottom > 0 ->
        pop();
        if
        :: task == NONE -> break        /* thieves have the rest */
        :: else -> skip
        fi
    :: task == NONE && own_bottom == 0 -> break
    od;
    /* Tasks that nobody came to push: the run is smaller then. */
    atomic { done = done + (TASKS - pushed); pushed = TASKS }
    lower();
end_of_owner:
    skip
}

active proctype store_buffer()
{
    mtype what; byte value;
end_empty:
    do
    :: atomic { nempty(buffer) -> to_memory() }
    od
}

/* ---- The others --------------------------------------------------------------------------------------------------- */

inline leave_run()
{
    atomic { strands--; last = (strands == 0) }
    if
    :: last -> end_run(); last = false
    :: else -> skip
    fi
}

inline steal()
{
    number = top;
    if
    :: number < shown ->
        task = slot[number];
        atomic {
            if
            :: strands > 0 -> strands++; mine = true
            :: else -> mine = false
            fi
        }
        if
        :: mine ->
            atomic {
                if
                :: top == number -> top = number + 1
                :: else -> mine = false
                fi
            }
            if
            :: mine -> run_once(task); atomic { arrived++ } done++
            :: else -> skip
            fi;
            leave_run()
        :: else -> skip
        fi
    :: else -> skip
    fi;
    atomic { number = 0; task = 0; mine = false }
}

inline raid()
{
    asked = true;
    bar = ASK;
    heavy_barrier();
    if
#ifdef WITHOUT_INSIDE
    :: true ->
#else
    :: !inside ->
#endif
        share_run();
        number = bottom;
        if
        :: number > shown -> shown = number
        :: else -> skip
        fi;
        number = 0;
        open = true
#ifndef WITHOUT_INSIDE
    :: inside -> skip
#endif
    fi;
#ifdef BAR_TAKEN_DOWN
    open = false;
    asked = false;
    bar = shown;
#endif
    door = false
}

#define HIDES (bottom > shown)

active [THIEVES] proctype thief()
{
    byte number, task, value;
    bool mine, last;
    mtype what;
end_nothing_to_do:
    do
    :: top < shown -> steal()
    :: HIDES && !asked -> asked = true; bar = ASK
    :: atomic { HIDES && !door -> door = true } raid()
    od
}

/* Everything rests. */
active proctype monitor()
{
    byte i = 0;
    timeout;
    assert(ended && !door && !linked && strands == 0);
    assert(top <= shown && shown <= bottom && bottom == own_bottom && top == bottom || bottom == 0);
    do
    :: i < TASKS && ran[i] -> i++; arrived--
    :: i < TASKS && !ran[i] -> i++
    :: i == TASKS -> break
    od;
    assert(arrived == 0)
}
