/* SPDX-License-Identifier: MIT
 *
 * Dozing: src/exec/worker.c. The life cycle itself is in sleep.pml; here it is one word for each worker.
 *
 * An owner begins runs in line, one after the other. It makes each known by plain stores (`begun`, `hides`), which wait in its store
 * buffer, and then reads `dozing` and whether somebody sleeps. Each run ends by itself, or its task waits until somebody
 * has looked after it. WORKERS others search, doze and sleep. If nobody looks the owner waits for ever, which is an end that is not
 * valid. A dozer's time-out may come at any moment.
 *
 * What is left out: other work that a dozer is woken for, but that it may be woken at any moment (`stranger`).
 *
 * cc: -DSAFETY -DCOLLAPSE -DMEMLIM=512
 * run: -m100000
 */
#define WORKERS 2
#define RUNS 3

#ifdef WITHOUT_DOZE_BARRIER
#define DOZE_BARRIER skip
#else
#define DOZE_BARRIER flush()
#endif
#ifdef WITHOUT_LAST_LOOK
#define DOZER_SEES false
#else
#define DOZER_SEES hides
#endif
#ifdef STAYS_DOZING
#define STOP_DOZING skip
#else
#define STOP_DOZING dozing = false
#endif

bool hides, hides_stored;       /* as others see it, and as the owner has stored it */
byte begun, begun_stored;
bool looked;                    /* somebody is at the run that stands still */
bool dozing;
byte dozed;

byte searching = WORKERS;
bool asleep[WORKERS], token[WORKERS];
byte sleepers = 0;

inline flush()
{
    d_step { begun = begun_stored; hides = hides_stored }
}

/* Somebody, whichever it is, if nobody searches. */
inline wake_one()
{
    atomic {
        if
        :: searching == 0 && asleep[0] -> asleep[0] = false; token[0] = true; searching++; sleepers--
        :: searching == 0 && asleep[1] -> asleep[1] = false; token[1] = true; searching++; sleepers--
        :: else -> skip
        fi
    }
}

active [WORKERS] proctype worker()
{
    bool moves, stands;

search:
    if
    :: hides -> looked = true           /* it asks, and at last raids */
    :: skip
    fi;
    if
    :: goto search
    :: skip
    fi;

    atomic { asleep[_pid] = true; searching--; sleepers++ }
    flush();
    if
    :: hides -> wake_one()
    :: else -> skip
    fi;

    atomic {
        if
        :: !dozing -> dozing = true; dozed = begun
        :: else -> goto deep
        fi
    }
doze:
    if
    :: token[_pid] -> dozing = false; goto deep
    :: !token[_pid] -> skip                     /* its time is over */
    fi;
    atomic { stands = hides && begun == dozed; moves = begun != dozed; dozed = begun }
    if
    :: stands -> wake_one(); goto doze
    :: !stands && moves -> goto doze
    :: else -> skip
    fi;
    STOP_DOZING;
    DOZE_BARRIER;
    if
    :: DOZER_SEES -> wake_one()
    :: else -> skip
    fi;
deep:
end_deep:
    atomic { token[_pid] -> token[_pid] = false; moves = false; stands = false }
    goto search
}

active proctype owner()
{
    byte runs = 0;
    do
    :: runs < RUNS ->
        runs++;
        atomic { begun_stored = runs; hides_stored = true }
        if
        :: dozing -> skip
        :: !dozing ->
            if
            :: searching == 0 -> wake_one()
            :: else -> skip
            fi
        fi;
        if
        :: skip                                 /* it ends by itself */
        :: true -> looked         /* a task waits, and so does this */
        fi;
        atomic { hides_stored = false; hides = false; begun = begun_stored; looked = false }
    :: else -> break
    od
}

active proctype store_buffer()
{
end_empty:
    do
    :: atomic { begun != begun_stored -> begun = begun_stored }
    :: atomic { hides != hides_stored && begun == begun_stored -> hides = hides_stored }
    od
}

/* Other work, for which somebody is woken. */
active proctype stranger()
{
    wake_one()
}
