/* SPDX-License-Identifier: MIT
 *
 * Spawn, steal and join: src/exec/scope.c. One owner, who spawns and joins in any order that a stack has, and thieves.
 *
 * A place has a state and the bit WAITING, which change together, as in the code's compare-and-swap and exchange.
 * Each child has a number; it must have run exactly once when its join ends. The owner that waits for a thief parks at
 * once. A thief may give a child back without need: one that helps does, when whom it helps has finished.
 *
 * Children are the owner's own until they are shown, which may happen at any time. That the owner and whoever shows do not
 * meet at the same place is the door's business (door.pml): here each of their steps is one.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define PLACES 3
#define SPAWNS 5
#define THIEVES 2

#define EMPTY 0
#define READY 1
#define CLAIMED 2
#define RUNNING 3
#define FINISHED 4

byte state[PLACES + 1];     /* the place behind the last one stays empty */
bool waiting[PLACES + 1];
byte child[PLACES + 1];
byte top = 0, bottom = 0, shown = 0;
bool door = false;          /* held by the owner */
bool token = false;         /* of the owner's join_parker; may come late */
byte runs[SPAWNS];
byte spawned = 0;
bool ended = false;

#define SETTLED(p) (state[p] == READY || state[p] == FINISHED)
#define HIDDEN(p) (p < bottom && state[p] == READY)

inline spawn()
{
    assert(bottom <= shown && shown <= top);                /* invariant 1 */
    assert(state[top] == EMPTY && !waiting[top]);           /* invariants 1 and 3 */
    child[top] = spawned;
    spawned++;
    top++
}

/* park_for_thief. The bit is set before each parking: a thief that gives the child back takes it along, and the next
 * one to claim the child knows nothing of it. */
inline wait_for_thief(p)
{
    do
    :: SETTLED(p) -> break
    :: atomic { !SETTLED(p) -> waiting[p] = true }
       atomic { token -> token = false }
#ifdef WAITING_SET_ONCE
       do
       :: SETTLED(p) -> break
       :: else -> atomic { token -> token = false }
       od
#endif
    od
}

/* The newest child, until it has been joined: one that is private is taken back as it is, others with the door held. */
inline join()
{
    place = top - 1;
    do
    :: atomic { place >= shown -> top = place }
       runs[child[place]]++;
       break
    :: atomic { place < shown -> door = true }
       if
       :: atomic { state[place] == READY -> assert(!waiting[place]); state[place] = EMPTY }
          top = place;
          shown = place;
          door = false;
          runs[child[place]]++;
          break
       :: atomic { state[place] == FINISHED -> state[place] = EMPTY }
          top = place;
          shown = place;
          bottom = place;
          door = false;
          break
       :: state[place] != READY && state[place] != FINISHED -> door = false; wait_for_thief(place)
       fi
    od;
    assert(runs[child[place]] == 1);
    place = 0
}

active proctype owner()
{
    byte place;
    do
    :: spawned < SPAWNS && top < PLACES -> spawn()
    :: top > 0 -> join()
    :: spawned == SPAWNS && top == 0 -> break
    od;
    assert(bottom == 0 && shown == 0);
    ended = true
}

/* Asking and raiding, as far as it matters here. */
active proctype shower()
{
end_nothing_to_show:
    do
    :: atomic { !door && shown < top -> assert(state[shown] == EMPTY); state[shown] = READY; shown++ }
    od
}

/* The place is settled in one exchange, which also shows whether the owner waits. */
inline settle(p, to)
{
#ifdef WAITING_LOST
    seen = waiting[p];
    d_step { waiting[p] = false; state[p] = to }
#else
    d_step { seen = waiting[p]; waiting[p] = false; state[p] = to }
#endif
    if
    :: seen -> token = true
    :: else -> skip
    fi;
    seen = false
}

active [THIEVES] proctype thief()
{
    byte p;
    bool seen;
end_nothing_to_steal:
    do
    :: state[0] == READY || state[1] == READY || state[2] == READY ->
        p = bottom;                                         /* may be old news from here on */
        if
        :: atomic { state[p] == READY -> state[p] = CLAIMED }
#ifdef NO_SECOND_LOOK
           if
           :: true ->
#else
           if
           :: bottom != p -> settle(p, READY)
           :: true -> settle(p, READY)                      /* it only wanted to help, and that is over */
           :: bottom == p ->
#endif
              bottom = p + 1;
              state[p] = RUNNING;
              runs[child[p]]++;
              settle(p, FINISHED)
           fi
        :: state[p] != READY -> skip
        fi;
        p = 0
    od
}

/* Invariant 2: a child below bottom is hidden from all thieves. */
active proctype nothing_is_hidden()
{
end_watch:
    atomic { HIDDEN(0) || HIDDEN(1) || HIDDEN(2) -> assert(false) }
}

/* Everything rests: the owner has come to its end. */
active proctype monitor()
{
    timeout;
    assert(ended)
}
