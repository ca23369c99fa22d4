/* SPDX-License-Identifier: MIT */
#include "sys/core_use.h"

#include <sys/resource.h>

static int64_t nanoseconds(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

thrum__core_use thrum__core_use_now(void)
{
    struct rusage use;
    getrusage(RUSAGE_THREAD, &use);
    return (thrum__core_use){nanoseconds(use.ru_utime) + nanoseconds(use.ru_stime), use.ru_nvcsw, use.ru_nivcsw};
}
