/* SPDX-License-Identifier: MIT */
#include "submit.h"

static void repeat(void (*once)(void *arg), void *arg, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        once(arg);
}

static double mean_of(void (*once)(void *arg), void *arg, uint32_t count)
{
    double begin = bench_now();
    repeat(once, arg, count);
    return (bench_now() - begin) / count;
}

static double median_after_quiet(void (*once)(void *arg), void *arg)
{
    double times[SUBMIT_IDLE_COUNT];
    for (int i = 0; i < SUBMIT_IDLE_COUNT; i++) {
        bench_sleep(1e6);
        double begin = bench_now();
        once(arg);
        times[i] = bench_now() - begin;
    }
    return bench_median(times, SUBMIT_IDLE_COUNT);
}

double submit_pass(int variant, uint32_t shrink, void (*once)(void *arg), void *arg, const volatile uint64_t *done)
{
    uint32_t count = SUBMIT_IDLE_COUNT;
    uint64_t before = *done;
    double time;
    repeat(once, arg, SUBMIT_WARM_UP);
    if (variant == SUBMIT_IDLE) {
        time = median_after_quiet(once, arg);
    } else {
        count = (variant == SUBMIT_CALLER ? SUBMIT_CALLER_COUNT : SUBMIT_HOT_COUNT) / shrink + 1;
        time = mean_of(once, arg, count);
    }
    if (*done != before + count + SUBMIT_WARM_UP)
        bench_bad("of %u functions %llu were run when waiting ended", count + SUBMIT_WARM_UP,
                  (unsigned long long)(*done - before));
    return time;
}
