/* SPDX-License-Identifier: MIT
 *
 * Random numbers by their place: number i, j of a seed, without those before it. So a check can ask for an input again
 * that has been overwritten.
 */
#ifndef THRUM_APPS_RANDOM_H
#define THRUM_APPS_RANDOM_H

#include <stdint.h>

/* A bijection that spreads every bit over all (the finisher of splitmix64). */
static inline uint64_t app_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* 64 random bits. */
static inline uint64_t app_bits(uint64_t seed, uint64_t i, uint64_t j)
{
    return app_mix(app_mix(app_mix(seed) ^ i) ^ j);
}

/* Evenly from -0.5 to below 0.5. */
static inline double app_centered(uint64_t seed, uint64_t i, uint64_t j)
{
    return (double)(app_bits(seed, i, j) >> 11) * 0x1p-53 - 0.5;
}

#endif
