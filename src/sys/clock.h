/* SPDX-License-Identifier: MIT */
#ifndef THRUM_SYS_CLOCK_H
#define THRUM_SYS_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since some fixed moment. */
static inline int64_t thrum__now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void thrum__sleep_ns(long ns)
{
    struct timespec t = {0, ns};
    nanosleep(&t, NULL);
}

#endif
