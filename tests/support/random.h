/* SPDX-License-Identifier: MIT
 *
 * Random numbers that a seed replays: splitmix64. One generator belongs to one thread.
 */
#ifndef TESTS_SUPPORT_RANDOM_H
#define TESTS_SUPPORT_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

/* Scrambles 64 bits; different inputs give different outputs. */
static inline uint64_t random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline struct random random_new(uint64_t seed)
{
    return (struct random){.state = seed};
}

static inline uint64_t random_next(struct random *random)
{
    random->state += UINT64_C(0x9e3779b97f4a7c15);
    return random_mix(random->state);
}

/* 0 to bound - 1; 0 for a bound of 0. The slight bias does not matter to tests. */
static inline size_t random_below(struct random *random, size_t bound)
{
    return bound ? (size_t)(random_next(random) % bound) : 0;
}

/* lowest to highest, both included. */
static inline size_t random_between(struct random *random, size_t lowest, size_t highest)
{
    return lowest + random_below(random, highest - lowest + 1);
}

/* True in `percent` of a hundred cases. */
static inline bool random_chance(struct random *random, unsigned percent)
{
    return random_below(random, 100) < percent;
}

#endif
