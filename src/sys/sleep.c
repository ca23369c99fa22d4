/* SPDX-License-Identifier: MIT
 *
 * The system wakes a sleeper late: by its slack, 50 microseconds unless told otherwise, and by what waking takes, 5 to 50 more. So
 * the slack is taken away for the time of the sleep, and the sleep ends earlier by what waking usually takes; what is then
 * missing is waited for, in calls that let others run.
 */
#include "sys/sleep.h"

#include "sys/clock.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>

/* How late sleepers wake: nine tenths of them by less. It goes up by nine steps when somebody wakes later and down by one when earlier.
 * Waking takes a microsecond or fifty, the longer the longer the core was idle: with the usual one alone, a fifth of the sleeps of
 * 100 microseconds end 20 too late or more.
 * Relaxed: any thread's estimate will do. */
enum { STEP_NS = 100, UP = 9, LATE_MOST_NS = 100000 };
static _Atomic int64_t usual_lateness = 10000;

static void learn(int64_t late)
{
    int64_t usual = atomic_load_explicit(&usual_lateness, memory_order_relaxed);
    usual += late > usual ? UP * STEP_NS : -STEP_NS;
    usual = usual < 0 ? 0 : usual > LATE_MOST_NS ? LATE_MOST_NS : usual;
    atomic_store_explicit(&usual_lateness, usual, memory_order_relaxed);
}

static void sleep_without_slack(int64_t moment)
{
    struct timespec time = {moment / 1000000000, moment % 1000000000};
    int slack = prctl(PR_GET_TIMERSLACK);
    prctl(PR_SET_TIMERSLACK, 1UL);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    prctl(PR_SET_TIMERSLACK, slack > 0 ? (unsigned long)slack : 0UL);
}

void thrum__sleep_until(int64_t moment)
{
    int64_t early = moment - atomic_load_explicit(&usual_lateness, memory_order_relaxed);
    int64_t now = thrum__now();
    if (now < early) {
        sleep_without_slack(early);
        now = thrum__now();
        if (now >= early) /* else a signal came */
            learn(now - early);
    }
    while (now < moment) {
        sched_yield();
        now = thrum__now();
    }
}
