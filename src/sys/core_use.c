/* SPDX-License-Identifier: MIT */
#include "sys/core_use.h"

#include <sys/resource.h>
#include <time.h>

/* The times in rusage are those of the last tick, which may be milliseconds ago; the clock's is of now. */
thrum__core_use thrum__core_use_now(void)
{
    struct rusage use;
    struct timespec ran;
    getrusage(RUSAGE_THREAD, &use);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
    return (thrum__core_use){(int64_t)ran.tv_sec * 1000000000 + ran.tv_nsec, use.ru_nvcsw, use.ru_nivcsw};
}
