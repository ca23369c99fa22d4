/* SPDX-License-Identifier: MIT
 *
 * Pipelined runs: src/model/next.h and src/exec/pipelined.c. All graphs of three tasks with up to EDGES edges: strong ones, from
 * lower to higher numbers, and next edges, from any to any other. They run ITERATIONS iterations with a depth of K.
 *
 * A process is a task: its firings come one after the other, and a worker that is not there yet is a process that does not
 * move. Completing arrives at one link after the other, each arrival in as many steps as in the code: a look, then a
 * subtraction unless one was missing; then the slot's full value, with what follows from it.
 *
 * What must hold: a firing begins after all that it waits for; an arrival finds the slot counting for the firing that it is
 * meant for (invariant 2 of pipelined.c); a firing is made ready once (invariant 1); everything comes to its end.
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#ifndef K
#define K 2
#endif
#ifndef ITERATIONS
#define ITERATIONS 3
#endif
#define TASKS 3
#ifndef EDGES
#define EDGES 3
#endif

#define AT(a, b) ((a) * TASKS + (b))
#define SLOT(t, firing) ((t) * K + (firing) % K)

bool strong[TASKS * TASKS], follows[TASKS * TASKS];
byte whole[TASKS];
byte missing[TASKS * K];
byte counts_for[TASKS * K]; /* the firing that a slot counts for: not in the code */
byte scheduled[TASKS];      /* firings made ready */
byte done[TASKS];
bool ready[TASKS];

/* Arrives at a firing in two steps: `seen` is what the first has seen. */
inline look(to, firing)
{
    assert(counts_for[SLOT(to, firing)] == firing);
    seen = missing[SLOT(to, firing)];
    assert(seen > 0)
}

inline arrive(to, firing)
{
    if
    :: seen != 1 ->
       seen = missing[SLOT(to, firing)];
       missing[SLOT(to, firing)] = seen - 1
    :: else -> skip
    fi;
    if
    :: seen == 1 ->
       missing[SLOT(to, firing)] = whole[to];
       counts_for[SLOT(to, firing)] = firing + K;
       assert(!ready[to] && scheduled[to] == firing && done[to] == firing);
       if
       :: firing == ITERATIONS -> skip
       :: else ->
          scheduled[to] = firing + 1;
          ready[to] = true
       fi
    :: else -> skip
    fi;
    seen = 0
}

/* The links of a task, by number: to each other task as strong successor, next successor, strong predecessor, next predecessor;
 * and last to itself. `other` is the task at the other end, `at` the firing there. */
#ifdef NO_CREDITS
#define LINKS (2 * TASKS)
#else
#define LINKS (4 * TASKS)
#endif
#define HAS(link)                                                                                                      \
    ((link / TASKS == 0 && strong[AT(t, link % TASKS)]) || (link / TASKS == 1 && follows[AT(t, link % TASKS)]) ||      \
     (link / TASKS == 2 && strong[AT(link % TASKS, t)]) || (link / TASKS == 3 && follows[AT(link % TASKS, t)]))

inline find_link()
{
    do
    :: link < LINKS && !HAS(link) -> link++
    :: else -> break
    od;
    if
    :: link == LINKS -> other = t; at = i + 1
    :: else ->
       other = link % TASKS;
       if
       :: link / TASKS == 0 -> at = i
       :: link / TASKS == 1 -> at = i + 1
       :: link / TASKS == 2 -> at = i + K
       :: else -> at = i + K - 1
       fi
    fi
}

/* What firing i of t must have waited for. */
inline check_begin()
{
    other = 0;
    do
    :: other < TASKS ->
       assert(!strong[AT(other, t)] || done[other] > i);
       assert(!follows[AT(other, t)] || done[other] >= i);
       assert(!strong[AT(t, other)] || done[other] + K > i);
       assert(!follows[AT(t, other)] || done[other] + K > i + 1);
       other++
    :: else -> break
    od
}

proctype task(byte t)
{
    byte i, link, other, at, seen;
    do
    :: i == ITERATIONS -> break
    :: else ->
       atomic { ready[t] -> ready[t] = false; check_begin(); other = 0 }
       atomic { done[t]++; link = 0; find_link(); look(other, at) }
       do
       :: link == LINKS -> break
       :: else ->
          atomic { arrive(other, at); link++ }
          atomic { find_link(); look(other, at) }
       od;
       atomic { arrive(other, at); other = 0; at = 0; link = 0; i++ }
    od
}

/* thrum__lanes_begin; `bits` choose the edges. */
inline begin()
{
    a = 0;
    do
    :: a < TASKS ->
       whole[a] = 1;
       b = 0;
       do
       :: b < TASKS ->
          whole[a] = whole[a] + strong[AT(b, a)] + follows[AT(b, a)];
#ifndef NO_CREDITS
          whole[a] = whole[a] + strong[AT(a, b)] + follows[AT(a, b)];
#endif
          missing[SLOT(a, 0)] = missing[SLOT(a, 0)] + strong[AT(b, a)];
          j = 1;
          do
          :: j < K ->
             missing[SLOT(a, j)] = missing[SLOT(a, j)] + strong[AT(b, a)] + follows[AT(b, a)];
             j++
          :: else -> break
          od;
#ifndef NO_CREDITS
          missing[SLOT(a, K - 1)] = missing[SLOT(a, K - 1)] + follows[AT(a, b)];
#endif
          b++
       :: else -> break
       od;
       counts_for[SLOT(a, 0)] = 0;
       j = 1;
       do
       :: j < K ->
          missing[SLOT(a, j)] = missing[SLOT(a, j)] + 1;
          counts_for[SLOT(a, j)] = j;
          j++
       :: else -> break
       od;
       if
       :: missing[SLOT(a, 0)] == 0 ->
          missing[SLOT(a, 0)] = whole[a];
          counts_for[SLOT(a, 0)] = K;
          scheduled[a] = 1;
          ready[a] = true
       :: else -> skip
       fi;
       a++
    :: else -> break
    od
}

init
{
    byte a, b, j;
    atomic {
        do
        :: a < TASKS ->
           b = 0;
           do
           :: b < TASKS ->
              if
              :: a < b && j < EDGES -> strong[AT(a, b)] = true; j++
              :: true -> skip
              fi;
              if
              :: a != b && j < EDGES -> follows[AT(a, b)] = true; j++
              :: true -> skip
              fi;
              b++
           :: else -> break
           od;
           a++
        :: else -> break
        od;
        begin();
        a = 0;
        b = 0;
        j = 0;
        run task(0);
        run task(1);
        run task(2)
    }
}
