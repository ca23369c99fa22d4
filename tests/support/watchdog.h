/* SPDX-License-Identifier: MIT
 *
 * A hang is a failure: after some seconds a sentence is printed and the program aborts.
 *
 * The alarm's signal is blocked everywhere and taken by one thread with sigwait, because a sanitizer may keep a signal
 * from a handler for as long as the interrupted thread sleeps in the kernel, which is just the case that matters.
 */
#ifndef TESTS_SUPPORT_WATCHDOG_H
#define TESTS_SUPPORT_WATCHDOG_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char watchdog_hint[256]; /* how to repeat what hung; set by the stress tests */
static unsigned watchdog_seconds;
static atomic_bool watchdog_is_there;

static inline void watchdog_say(const char *text)
{
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

static inline void *watchdog_thread(void *signals)
{
    int signal_number;
    atomic_store(&watchdog_is_there, true);
    while (sigwait(signals, &signal_number) != 0 || signal_number != SIGALRM)
        ;
    char sentence[512];
    snprintf(sentence, sizeof sentence, "\nwatchdog: the test still runs after %u s, so it hangs. %s\n",
             watchdog_seconds, watchdog_hint);
    watchdog_say(sentence);
    abort();
    return NULL;
}

/* To be called once, before other threads are made. Waits until the thread is there: while it begins a sanitizer may
 * hold locks, which the child of a fork would never see given back. */
static inline void watchdog_start(unsigned seconds)
{
    static sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    watchdog_seconds = seconds;
    pthread_t thread;
    if (pthread_create(&thread, NULL, watchdog_thread, &signals) != 0)
        abort();
    pthread_detach(thread);
    while (!atomic_load(&watchdog_is_there))
        sched_yield();
    alarm(seconds);
}

/* Counts anew: what runs is alive. */
static inline void watchdog_put_off(unsigned seconds)
{
    watchdog_seconds = seconds;
    alarm(seconds);
}

/* In the child of a fork, which has neither the thread nor the alarm: the signal's default action ends the process. */
static inline void watchdog_start_in_child(unsigned seconds)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGALRM);
    signal(SIGALRM, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    alarm(seconds);
}

#endif
