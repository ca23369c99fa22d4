/* SPDX-License-Identifier: MIT
 *
 * The end of a stream (src/exec/stream.c, src/front/flow_run.c): a run whose jobs come one by one ends when, and only when, all of
 * them have.
 *
 * One flow has four jobs. FIRST is ready when it is inserted, and goes to the feeder's deque. SECOND waits for it. EMPTY does
 * nothing, and waits for a job of another flow: it holds a strand from its insertion on. LAST does nothing either, and waits for
 * EMPTY, of the same flow: it holds none until it is kept in the list of those that are to be ended.
 *
 * The main program inserts, and gives its token back: after draining the feeder's deque itself, or by a post with which somebody
 * else does. Workers join by taking from the deque, raising strands before. Another thread, which has no strand, ends the other
 * flow's job, and so EMPTY and LAST.
 *
 * Whoever lowers strands to zero ends the run. Each of the following makes that wrong:
 *   FOREIGN_WITHOUT_STRAND  EMPTY holds no strand
 *   LISTED_WITHOUT_STRAND   LAST holds none in the list
 *   TOKEN_EARLY             the token is given back before the deque has been drained
 *
 * cc: -O2 -DSAFETY
 * run: -m100000
 */
#define FIRST 0
#define SECOND 1
#define EMPTY 2
#define LAST 3
#define JOBS 4

short strands = 1;       /* the token */
bool in_feeder, posted; /* FIRST is in the feeder's deque; the token is in the post */
bool inserted[JOBS], ended[JOBS], held[JOBS];
bool other_ended;
byte ends;

/* Whoever comes to zero ends the run, and the flow may be gone. */
inline lower()
{
    d_step {
        strands--;
        assert(strands >= 0);
        if
        :: strands == 0 ->
           ends++;
           assert(ends == 1);
           assert(ended[FIRST] && ended[SECOND] && ended[EMPTY] && ended[LAST])
        :: else
        fi
    }
}

/* A worker with a strand runs FIRST, and then SECOND, which comes to its own deque. */
inline run_first()
{
    assert(ends == 0);
    ended[FIRST] = true;
    if
    :: inserted[SECOND] && !ended[SECOND] -> ended[SECOND] = true
    :: else
    fi
}

inline drain()
{
    atomic { mine = in_feeder; in_feeder = false };
    if
    :: mine -> run_first()
    :: else
    fi
}

active proctype main_program()
{
    bool mine;
    atomic { inserted[FIRST] = true; in_feeder = true };
    /* SECOND finds FIRST ended, or waits for it; then it is whoever runs FIRST that runs it. */
    atomic {
        inserted[SECOND] = true;
        if
        :: ended[FIRST] -> ended[SECOND] = true /* ready at once: the inserter runs it while it drains */
        :: else
        fi
    };
    /* EMPTY waits for the other flow's job, unless that has ended. */
    atomic {
        inserted[EMPTY] = true;
        if
        :: other_ended -> ended[EMPTY] = true
        :: else ->
#ifndef FOREIGN_WITHOUT_STRAND
           held[EMPTY] = true;
           strands++
#endif
        fi
    };
    atomic {
        inserted[LAST] = true;
        if
        :: ended[EMPTY] -> ended[LAST] = true
        :: else
        fi
    };
    if
    :: skip -> /* as a worker */
#ifdef TOKEN_EARLY
       lower();
       drain()
#else
       drain();
       lower()
#endif
    :: skip -> /* the token goes with a post */
       posted = true
    fi
}

/* Takes from the deque as a thief, or takes the post. */
active [2] proctype worker()
{
    bool mine, joined;
    do
    :: ends > 0 -> break
    :: in_feeder ->
       joined = false;
       d_step { /* strands are raised unless they are zero */
           if
           :: strands > 0 -> strands++; joined = true
           :: else
           fi
       };
       if
       :: joined -> drain(); lower()
       :: else
       fi
    :: atomic { posted -> posted = false };
       drain();
       lower()
    od
}

active proctype other_thread()
{
    bool listed;
    atomic {
        other_ended = true;
        if
        :: !inserted[EMPTY] -> goto through
        :: else
        fi
    };
    /* EMPTY ends at once. Its end makes LAST ready, if that waits, which is put into the list: */
    assert(ends == 0);
    atomic {
        ended[EMPTY] = true;
        if
        :: inserted[LAST] && !ended[LAST] ->
           listed = true;
#ifndef LISTED_WITHOUT_STRAND
           held[LAST] = true;
           strands++
#endif
        :: else
        fi
    };
    /* then EMPTY lets go of its own. */
    if
    :: held[EMPTY] -> lower()
    :: else
    fi;
    if
    :: listed ->
       assert(ends == 0); /* LAST is there still */
       ended[LAST] = true;
       if
       :: held[LAST] -> lower()
       :: else
       fi
    :: else
    fi;
through:
    skip
}
