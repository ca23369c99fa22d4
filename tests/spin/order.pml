/* SPDX-License-Identifier: MIT
 *
 * Order (src/model/order.c): insertion against the end of what is waited for.
 *
 * A writes; B and C read; D writes. B and C wait for A by edges of their own (`in`), D for B and C by edges of theirs (`out`). One
 * process inserts, two run what is ready. An insertion counts down from INSERTING, so that nobody who arrives in the middle of it
 * makes the job ready. Whoever ends a job takes its list of waiters and arrives at each; the memory of a job may be used for
 * another as soon as it has said that it has ended, and nobody may touch it then.
 *
 * Without NO_INSERTING and EDGE_READ_LATE: every job runs once, after all that it waits for, and nothing is touched that is gone.
 *
 * cc: -O2 -DSAFETY
 * run: -m100000
 */
#define JOBS 4
#define EDGES 4
#define INSERTING 10
#define NOBODY 255 /* an empty list */
#define ENDED 254

#define A 0
#define B 1
#define C 2
#define D 3

byte pending[JOBS], waiters[JOBS], runs[JOBS];
bool ready[JOBS], done[JOBS];  /* done: its work */
bool ended[JOBS], gone[JOBS];  /* it has told those who wait; its memory is used again */
byte after[EDGES], next[EDGES];
byte memory_of[EDGES] = {B, C, B, C};
byte finished;

inline touch(edge)
{
    assert(!gone[memory_of[edge]]);
}

/* The compare-and-exchange on the list; `taken` is false if the job has ended. */
inline add_edge(job, edge, taken)
{
    do
    :: first = waiters[job];
       if
       :: first == ENDED -> taken = false; break
       :: else ->
          next[edge] = first;
          atomic {
              if
              :: waiters[job] == first -> waiters[job] = edge; taken = true
              :: else -> taken = false
              fi
          }
          if
          :: taken -> break
          :: else
          fi
       fi
    od
}

inline count_down(job, by)
{
    d_step {
        pending[job] = pending[job] - (by);
        if
        :: pending[job] == 0 -> assert(!ready[job]); ready[job] = true
        :: else
        fi
    }
}

inline begin_insertion(job)
{
    edges = 0;
    waiters[job] = NOBODY;
#ifdef NO_INSERTING
    pending[job] = 0
#else
    pending[job] = INSERTING
#endif
}

inline wait_for(job, before, edge)
{
    after[edge] = job;
    add_edge(before, edge, taken);
    if
    :: taken ->
       edges++;
#ifdef NO_INSERTING
       pending[job]++
#endif
    :: else
    fi
}

inline end_insertion(job)
{
    if
    :: edges == 0 -> assert(!ready[job]); ready[job] = true
    :: else ->
#ifdef NO_INSERTING
       skip
#else
       count_down(job, INSERTING - edges)
#endif
    fi
}

active proctype inserter()
{
    byte edges, first;
    bool taken;
    begin_insertion(A);
    end_insertion(A);
    begin_insertion(B);
    wait_for(B, A, 0);
    end_insertion(B);
    begin_insertion(C);
    wait_for(C, A, 1);
    end_insertion(C);
    begin_insertion(D);
    wait_for(D, B, 2);
    wait_for(D, C, 3);
    end_insertion(D);
    /* All have ended: their memory is used again, each as soon as it says so. */
    do
    :: ended[A] && !gone[A] -> gone[A] = true
    :: ended[B] && !gone[B] -> gone[B] = true
    :: ended[C] && !gone[C] -> gone[C] = true
    :: ended[D] && !gone[D] -> gone[D] = true
    :: gone[A] && gone[B] && gone[C] && gone[D] -> break
    od
}

inline run_job(job)
{
    runs[job]++;
    assert(runs[job] == 1);
    assert(job == A || done[A]);
    assert(job != D || (done[B] && done[C]))
}

inline end_job(job)
{
    done[job] = true;
    atomic { edge = waiters[job]; waiters[job] = ENDED };
    do
    :: edge == NOBODY -> break
    :: else ->
       touch(edge);
       waiting = after[edge];
#ifdef EDGE_READ_LATE
       count_down(waiting, 1);
       touch(edge);
       edge = next[edge]
#else
       following = next[edge];
       edge = following;
       count_down(waiting, 1)
#endif
    od;
    ended[job] = true;
    finished++
}

active [2] proctype worker()
{
    byte edge, following, waiting, job;
    do
    :: finished == JOBS -> break
    :: else ->
       atomic {
           if
           :: ready[A] && runs[A] == 0 -> job = A
           :: ready[B] && runs[B] == 0 -> job = B
           :: ready[C] && runs[C] == 0 -> job = C
           :: ready[D] && runs[D] == 0 -> job = D
           :: finished == JOBS -> goto through
           fi;
           run_job(job)
       }
       end_job(job)
    od;
through:
    skip
}
