/* SPDX-License-Identifier: MIT
 *
 * Loops: the same sum by three rules, and by one that is picked from trying.
 *
 * The chain from i (half of it if it is even, 3i + 1 if not, until 1 is reached) may be short or long, so equal blocks
 * of numbers are unequal work. A rule says in which chunks iterations are handed out; what comes out is the same by
 * all.
 */
#include <thrum/thrum.h>

#include <stdio.h>

enum { NUMBERS = 100000, STEPS = 10753840 };

static long chain_length(size_t i)
{
    long steps = 0;
    for (; i != 1; steps++)
        i = i % 2 ? 3 * i + 1 : i / 2;
    return steps;
}

struct chains {
    long steps, chunks;
};

/* What the numbers from lo up to hi amount to. */
static void measure(size_t lo, size_t hi, void *into, void *ctx)
{
    struct chains sum = {.chunks = 1};
    (void)ctx;
    for (size_t i = lo; i < hi; i++)
        sum.steps += chain_length(i);
    *(struct chains *)into = sum;
}

static void add(void *into, const void *from, void *ctx)
{
    struct chains *sum = into;
    const struct chains *more = from;
    (void)ctx;
    sum->steps += more->steps;
    sum->chunks += more->chunks;
}

static long measure_by(thrum_technique schedule)
{
    struct chains sum = {0};
    if (thrum_for_reduce(NULL, 1, NUMBERS + 1, measure, add, NULL, &sum, sizeof sum, .schedule = schedule)) {
        fprintf(stderr, "loops: %s\n", thrum_message(NULL));
        return -1;
    }
    printf("%-5s %ld steps, in %ld chunks\n", thrum_technique_name(schedule), sum.steps, sum.chunks);
    return sum.steps;
}

int main(void)
{
    const thrum_technique rules[] = {THRUM_STAT, THRUM_FAC2, THRUM_SS, THRUM_AUTO, THRUM_AUTO, THRUM_AUTO};
    int wrong = 0;
    /* AUTO tries another rule each time, until it knows which is the fastest. */
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        wrong += measure_by(rules[i]) != STEPS;
    return wrong != 0;
}
