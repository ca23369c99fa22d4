/* SPDX-License-Identifier: MIT
 *
 * Sleeping and waking across domains: src/exec/post.c, src/exec/domain.c, src/exec/worker.c.
 *
 * Two domains, the first with one worker and the second with two. A run begins in the first; its tasks make tasks of the
 * other domain ready, which are posted there, and so back and forth, several chains at a time. Whoever lowers the run's
 * strands to zero begins the next iteration, which only the first domain may do: a worker of the other one publishes it.
 *
 * A worker sleeps when it finds nothing. Only a post can wake it, so a wake-up that is lost leaves something behind: the
 * monitor sees it, when everything rests. What else it sees: an iteration that ended before its tasks did, or twice.
 *
 * Posts are changed under a lock and the count of them is raised by a sequentially consistent step, so posting is one step
 * here and looking whom to wake is another. What is left out: deques, whose owner wakes its own domain (sleep.pml).
 *
 * cc: -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m200000
 */
#define WORKERS 3       /* worker 0 is the first domain's */
#define DOMAIN(w) (w > 0)
#define LIMIT(d) (1 + d)
#ifndef CHAINS
#define CHAINS 2
#endif
#ifndef HOPS
#define HOPS 2          /* of each chain, after its first task */
#endif
#ifndef ITERATIONS
#define ITERATIONS 2
#endif
#define START 9         /* posted at home: an iteration to begin */

#ifdef WITHOUT_LAST_LOOK
#define SLEEPER_SEES false
#else
#define SLEEPER_SEES (waiting[d] > 0)
#endif

/* Per domain: the life word, the sleepers' stack and the posts. */
byte searching[2], awake[2], sleepers[2], waiting[2];
byte stack[4];          /* two places for each domain */
#define STACK(d, i) stack[2 * (d) + (i)]
chan posts[2] = [4] of { byte };
#define WAKE_WANTED(d) (sleepers[d] > 0 && searching[d] == 0 && awake[d] < LIMIT(d))

bool token[WORKERS];    /* of the parkers */

byte strands = 1;       /* of the run; the first is the published beginning's */
byte iteration = 0, done = 0;
bool ended = false;

inline wake_one(dom)
{
    atomic {
        if
        :: WAKE_WANTED(dom) ->
            sleepers[dom]--;
            sleeper = STACK(dom, sleepers[dom]);
            searching[dom]++;
            awake[dom]++;
            woke = true
        :: else -> woke = false
        fi
    }
    if
    :: woke -> atomic { assert(!token[sleeper]); token[sleeper] = true; woke = false; sleeper = 0 }
    :: else
    fi
}

/* thrum__post_put: the lock is held from the first step to the second, which sleepers do not need. */
inline put(dom, what)
{
#ifdef LOOKS_FIRST
    /* The poster looks for sleepers before its post can be seen. */
    atomic { wanted = WAKE_WANTED(dom) }
    atomic { posts[dom]!what; waiting[dom]++ }
    if
    :: wanted -> wake_one(dom)
    :: else -> skip
    fi;
    wanted = false
#else
    atomic { posts[dom]!what; waiting[dom]++ }
    wake_one(dom)
#endif
}

inline find()
{
    if
    :: atomic { posts[d]?task -> waiting[d]--; found = true }
    :: atomic { empty(posts[d]) -> found = false }
    fi
}

/* The worker has the strand of what it found. */
inline perform()
{
    if
    :: task == START ->
        assert(d == 0);
        chains = CHAINS;
        do
        :: chains > 0 -> strands++; put(1, HOPS); chains--
        :: else -> break
        od
    :: task != START ->
        assert(!ended);
        done++;
        if
        :: task > 0 ->
#ifndef WITHOUT_STRAND
            strands++;
#endif
            put(1 - d, task - 1)
        :: else -> skip
        fi
    fi;
    atomic { strands--; last = strands == 0 }
    if
    :: last -> end_iteration()
    :: else -> skip
    fi;
    atomic { last = false; task = 0 }
}

inline end_iteration()
{
    atomic {
        assert(!ended && done == CHAINS * (HOPS + 1));
        iteration++;
        if
        :: iteration == ITERATIONS -> ended = true
        :: else -> done = 0; strands = 1
        fi
    }
    if
    :: !ended -> put(0, START)      /* thrum__run_begin_published */
    :: else -> skip
    fi
}

proctype worker(byte me)
{
    byte d = DOMAIN(me), sleeper, task, chains;
    bool woke, found, last, wanted;

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
        assert(searching[d] > 0 && awake[d] > 0);
        STACK(d, sleepers[d]) = me;
        sleepers[d]++;
        searching[d]--;
        awake[d]--
    }
    if
    :: SLEEPER_SEES -> wake_one(d)
    :: else -> skip
    fi;
end_parked:
    atomic { token[me] -> token[me] = false }
    goto search;

work:
    /* work_while_there_is_some */
    found = false;
    atomic { searching[d]--; last = searching[d] == 0 }
    if
    :: last && WAKE_WANTED(d) ->
        if
        :: waiting[d] > 0 -> wake_one(d)
        :: else -> skip
        fi
    :: else -> skip
    fi;
    last = false;
    do
    :: perform(); find();
       if
       :: found -> found = false
       :: else -> break
       fi
    od;
    searching[d]++;
    goto search
}

init
{
    byte w = 0;
    atomic {
        searching[0] = 1; awake[0] = 1;
        searching[1] = 2; awake[1] = 2;
        posts[0]!START;
        waiting[0] = 1;
        run worker(0);
        run worker(1);
        run worker(2)
    }
    /* Everything rests: then nothing is left, everybody sleeps, and no wake-up is under way. */
    timeout;
    assert(ended && iteration == ITERATIONS && strands == 0);
    assert(waiting[0] == 0 && waiting[1] == 0);
    assert(sleepers[0] == 1 && sleepers[1] == 2);
    assert(awake[0] == 0 && awake[1] == 0 && searching[0] == 0 && searching[1] == 0);
    do
    :: w < WORKERS -> assert(!token[w]); w++
    :: else -> break
    od
}
