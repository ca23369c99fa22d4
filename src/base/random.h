/* SPDX-License-Identifier: MIT
 *
 * A small fast generator (xorshift64*), for picking victims: quality beyond "not the same order each time" is not
 * needed.
 */
#ifndef THRUM_BASE_RANDOM_H
#define THRUM_BASE_RANDOM_H

#include <stdint.h>

static inline uint32_t thrum__random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return (uint32_t)((x * UINT64_C(0x2545f4914f6cdd1d)) >> 32);
}

/* A state that is never zero, from which the generator could not leave. */
static inline uint64_t thrum__random_seed(uint64_t number)
{
    return (number + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

#endif
