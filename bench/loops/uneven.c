/* SPDX-License-Identifier: MIT */
#include "uneven.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The i-th number of a fixed random sequence, 0 < x <= 1. */
static double uniform(uint64_t i)
{
    return (double)((mixed((i + 1) * UINT64_C(0x9e3779b97f4a7c15)) >> 11) + 1) * 0x1p-53;
}

static uint64_t steps_of(enum uneven_shape shape, size_t i, size_t n, double mean)
{
    switch (shape) {
    case UNEVEN_UP:
        return (uint64_t)(2 * mean * ((double)i + 0.5) / (double)n);
    case UNEVEN_DOWN:
        return (uint64_t)(2 * mean * ((double)(n - i) - 0.5) / (double)n);
    case UNEVEN_RANDOM:
        return (uint64_t)(-log(uniform(i)) * mean);
    case UNEVEN_ONE:
        return (uint64_t)(mean * 2 / 3);
    default:
        return (uint64_t)mean;
    }
}

static uint64_t spin(uint64_t x, uint64_t steps)
{
    for (; steps; steps--) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
        __asm__("" : "+r"(x)); /* no two steps in one */
    }
    return x;
}

static uint64_t read_words(const uint64_t *words, uint64_t count)
{
    uint64_t sum = 0;
    for (uint64_t k = 0; k < count; k++)
        sum += words[k];
    return sum;
}

static volatile uint64_t nothing; /* 0, which compilers do not know */

static __thread uint64_t latest; /* what this thread's last iteration came to */

/* Waits for `last`, what the iteration before it came to, in a chunk before perhaps. Otherwise the processor would do
 * several short iterations at once, and time would not be in proportion to steps. */
static uint64_t iteration(const uneven_loop *loop, size_t i, uint64_t last)
{
    if (loop->words)
        return read_words(loop->words + i * loop->steps[i], loop->steps[i]);
    return spin(i + last, loop->steps[i]);
}

static void fill_words(uneven_loop *loop, uint64_t count)
{
    loop->words = bench_alloc(count, sizeof *loop->words);
    for (uint64_t k = 0; k < count; k++)
        loop->words[k] = mixed(k);
}

static void add_up(uneven_loop *loop)
{
    for (size_t i = 0; i < loop->n; i++)
        loop->before[i + 1] = loop->before[i] + loop->steps[i];
}

uneven_loop *uneven_new(enum uneven_shape shape, size_t n, uint64_t mean)
{
    uneven_loop *loop = bench_alloc(1, sizeof *loop);
    loop->shape = shape;
    loop->n = n;
    loop->steps = bench_alloc(n, sizeof *loop->steps);
    loop->before = bench_alloc(n + 1, sizeof *loop->before);
    loop->result = bench_alloc(n, sizeof *loop->result);
    loop->expected = bench_alloc(n, sizeof *loop->expected);
    for (size_t i = 0; i < n; i++)
        loop->steps[i] = steps_of(shape, i, n, (double)mean);
    if (shape == UNEVEN_MEMORY)
        fill_words(loop, n * mean);
    for (size_t i = 0; i < n; i++)
        loop->expected[i] = iteration(loop, i, 0);
    add_up(loop);
    if (shape == UNEVEN_ONE)
        uneven_move(loop, 0);
    return loop;
}

void uneven_free(uneven_loop *loop)
{
    if (!loop)
        return;
    free(loop->steps);
    free(loop->before);
    free(loop->words);
    free(loop->result);
    free(loop->expected);
    free(loop);
}

static void set_steps(uneven_loop *loop, size_t i, uint64_t steps)
{
    loop->steps[i] = steps;
    loop->expected[i] = iteration(loop, i, 0);
}

void uneven_move(uneven_loop *loop, uint64_t turn)
{
    uint64_t light = loop->steps[loop->heavy == 0 ? loop->n - 1 : 0];
    set_steps(loop, loop->heavy, light);
    loop->heavy = (size_t)(uniform(turn + (UINT64_C(1) << 40)) * (double)(loop->n - 1));
    set_steps(loop, loop->heavy, light * loop->n / 2); /* and all others together twice that */
    add_up(loop);
}

void uneven_do(uneven_loop *loop, size_t lo, size_t hi)
{
    uint64_t last = latest, zero = nothing;
    for (size_t i = lo; i < hi; i++) {
        last = iteration(loop, i, last & zero);
        loop->result[i] += last;
    }
    latest = last;
}

void uneven_verify(uneven_loop *loop)
{
    for (size_t i = 0; i < loop->n; i++)
        if (loop->result[i] != loop->expected[i]) {
            bench_bad("iteration %zu has not been done exactly once", i);
            break;
        }
    memset(loop->result, 0, loop->n * sizeof *loop->result);
}

/* ---- Speed ------------------------------------------------------------------------------------------------------- */

typedef struct thread_share {
    const uneven_loop *loop;
    size_t first, stride;
    uint64_t part;     /* steps of the heavy iteration */
    int processor;     /* -1: wherever the system puts it */
    atomic_int *ready; /* threads that have not come yet */
    double speed;
    volatile uint64_t sink;
} thread_share;

static void *do_share(void *arg)
{
    thread_share *share = arg;
    const uneven_loop *loop = share->loop;
    uint64_t last = 0, zero = nothing, steps = share->part;
    if (share->processor >= 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(share->processor, &one);
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
    }
    atomic_fetch_sub(share->ready, 1);
    while (atomic_load(share->ready) > 0)
        sched_yield();
    double begin = bench_now();
    for (size_t i = share->first; i < loop->n; i += share->stride) {
        if (loop->shape == UNEVEN_ONE && i == loop->heavy)
            continue;
        last = iteration(loop, i, last & zero);
        steps += loop->steps[i];
    }
    share->sink = spin(last, share->part);
    share->speed = (double)steps / (bench_now() - begin);
    return NULL;
}

static int usable_processors(cpu_set_t *set)
{
    CPU_ZERO(set);
    return sched_getaffinity(0, sizeof *set, set) == 0 ? CPU_COUNT(set) : 0;
}

int uneven_processors(void)
{
    cpu_set_t set;
    int count = usable_processors(&set);
    return count > 0 ? count : 1;
}

/* The number of the k-th processor of the set; -1: there is none. */
static int processor_of(const cpu_set_t *set, int k)
{
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, set) && k-- == 0)
            return i;
    return -1;
}

double uneven_speed(const uneven_loop *loop, int threads, unsigned fraction)
{
    enum { MOST = 256 };
    static thread_share shares[MOST];
    pthread_t ids[MOST];
    cpu_set_t set;
    double speed = 0;
    int count = usable_processors(&set), started = 0;
    threads = threads > uneven_processors() ? uneven_processors() : threads;
    threads = threads > MOST ? MOST : threads;
    atomic_int ready = threads;
    uint64_t heavy = loop->shape == UNEVEN_ONE ? loop->steps[loop->heavy] : 0;
    for (; started < threads; started++) {
        shares[started] = (thread_share){.loop = loop,
                                         .first = (size_t)started,
                                         .stride = (size_t)threads * fraction,
                                         .part = heavy / (uint64_t)threads / fraction,
                                         .processor = count ? processor_of(&set, started) : -1,
                                         .ready = &ready};
        if (pthread_create(&ids[started], NULL, do_share, &shares[started]) != 0)
            break;
    }
    if (started < threads) {
        atomic_store(&ready, 0);
        bench_bad("only %d threads could be started", started);
    }
    for (int t = 0; t < started; t++) {
        pthread_join(ids[t], NULL);
        speed += shares[t].speed;
    }
    return speed;
}
