/* SPDX-License-Identifier: MIT */
#include "sys/barrier.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

bool thrum__has_membarrier;

static int membarrier(int command)
{
    return (int)syscall(SYS_membarrier, command, 0, 0);
}

static void probe(void)
{
    int commands = membarrier(MEMBARRIER_CMD_QUERY);
    thrum__has_membarrier = commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) &&
                            membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

void thrum__barrier_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, probe);
}

/* The fence orders the caller's own accesses; membarrier need not do that for the thread that calls it. */
void thrum__barrier_heavy(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (thrum__has_membarrier)
        membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}
