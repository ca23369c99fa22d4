/* SPDX-License-Identifier: MIT
 *
 * The system wakes a sleeper late: by its slack, 50 microseconds unless told otherwise, and by what waking takes, 5 to
 * 50 more. So the slack is taken away for the time of the sleep, and the sleep ends earlier by what waking takes; what
 * is then missing is waited for, in calls that let others run.
 */
#include "sys/sleep.h"

#include "sys/clock.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Waking takes a microsecond or fifty, the more the longer the core was idle. Two estimates: a third of them wake
 * earlier than the first, nine tenths earlier than the second. Who goes by the second is hardly ever late, but waits
 * longer awake: while sleepers are few, that is right, and where many share a core it would take it from those who have
 * something to do. Each goes up when somebody wakes later and down when earlier. Relaxed: any thread's estimate will
 * do. */
typedef struct estimate {
    _Atomic int64_t late;
    int64_t up, down, most;
} estimate;
static estimate third = {10000, 250, 500, 50000}, nine_tenths = {10000, 900, 100, 100000};

enum { FEW_FOR_A_CORE = 3 };
static _Atomic int sleepers; /* relaxed: a hint */

static void learn(estimate *e, int64_t late)
{
    int64_t usual = atomic_load_explicit(&e->late, memory_order_relaxed);
    usual += late > usual ? e->up : -e->down;
    usual = usual < 0 ? 0 : usual > e->most ? e->most : usual;
    atomic_store_explicit(&e->late, usual, memory_order_relaxed);
}

static int cores(void)
{
    static _Atomic int known; /* relaxed: all that find it out find the same */
    int count = atomic_load_explicit(&known, memory_order_relaxed);
    if (count == 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        count = online < 1 ? 1 : online > 100000 ? 100000 : (int)online;
        atomic_store_explicit(&known, count, memory_order_relaxed);
    }
    return count;
}

static void sleep_without_slack(int64_t moment)
{
    struct timespec time = {moment / 1000000000, moment % 1000000000};
    int slack = prctl(PR_GET_TIMERSLACK);
    prctl(PR_SET_TIMERSLACK, 1UL);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    prctl(PR_SET_TIMERSLACK, slack > 0 ? (unsigned long)slack : 0UL);
}

static int64_t plan(int64_t moment, int others)
{
    const estimate *e = others < FEW_FOR_A_CORE * cores() ? &nine_tenths : &third;
    return moment - atomic_load_explicit(&e->late, memory_order_relaxed);
}

void thrum__sleep_until(int64_t moment)
{
    int64_t early = plan(moment, atomic_fetch_add_explicit(&sleepers, 1, memory_order_relaxed));
    int64_t now = thrum__now();
    if (now < early) {
        sleep_without_slack(early);
        now = thrum__now();
        if (now >= early) { /* else a signal came */
            learn(&third, now - early);
            learn(&nine_tenths, now - early);
        }
    }
    while (now < moment) {
        sched_yield();
        now = thrum__now();
    }
    atomic_fetch_sub_explicit(&sleepers, 1, memory_order_relaxed);
}
