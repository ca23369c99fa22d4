/* SPDX-License-Identifier: MIT
 *
 * Sorting numbers, by their digits.
 *
 * A number becomes an unsigned key that is ordered as numbers are. Many keys are dealt out by their highest digit that
 * differs at all, into as many parts as make a part fit into a core's cache: workers count the digits of chunks, the
 * counts say where each chunk's keys of each value go, and workers put them there, none in another's place. The parts
 * are sorted on their own, at the same time: again like that if one is large, else from the lowest digit up, digits
 * that are the same in all keys being left out. Going through the keys first tells which bits differ, and whether there
 * is anything to do.
 *
 * Without memory for a copy keys are sorted in place, dealt in two by one bit after the other.
 */
#include "front/algorithm_int.h"

#include "base/alloc.h"

#include <string.h>

/* The arrays hold int32_t, int64_t or double; looked at as keys they are still those. */
typedef uint32_t __attribute__((may_alias)) key32;
typedef uint64_t __attribute__((may_alias)) key64;

enum {
    INSERTION = 32,    /* keys that are sorted by insertion */
    BLOCK = 1 << 16,   /* keys that fit into a core's second cache, twice */
    CHUNKS = 32,       /* at most, that are counted and dealt at the same time */
    FEWEST_DIGITS = 8, /* bits of the digit that keys are dealt by */
    MOST_DIGITS = 11,  /* with more, dealing misses the caches */
};

struct numbers {
    void *base;
    size_t n;
};

static thrum__pieces chunks_of(size_t n)
{
    size_t grain = n / CHUNKS + 1;
    return thrum__pieces_of(n, grain < BLOCK ? BLOCK : grain);
}

/* Enough bits that a part has half a block, if keys are spread evenly. */
static unsigned digits_for(size_t n, unsigned bits)
{
    unsigned digits = FEWEST_DIGITS;
    while (digits < MOST_DIGITS && n >> digits > BLOCK / 2)
        digits++;
    return digits < bits ? digits : bits;
}

/* ---- Integers: the sign turned around ---------------------------------------------------------------------------- */

#define SIGN32 UINT32_C(0x80000000)
#define SIGN64 UINT64_C(0x8000000000000000)

#define KEY key32
#define NAME(x) x##_int32
#define ENCODE(raw) ((raw) ^ SIGN32)
#define DECODE(key) ((key) ^ SIGN32)
#include "algorithm_radix_int.h"

#define KEY key64
#define NAME(x) x##_int64
#define ENCODE(raw) ((raw) ^ SIGN64)
#define DECODE(key) ((key) ^ SIGN64)
#include "algorithm_radix_int.h"

/* ---- Doubles ----------------------------------------------------------------------------------------------------- */

/* The bits of positive doubles are ordered as the doubles are, those of negative ones the other way round. With the
 * sign turned and the others' bits inverted, negative NaNs come first, then everything from -infinity to infinity, then
 * positive NaNs. Counting from -infinity instead, the negative NaNs fall off the front and come back at the end. */
#define MINUS_INFINITY UINT64_C(0x000fffffffffffff)

/* By arithmetic: a branch on the sign would be wrong half of the time. */
static inline key64 encode_double(key64 raw)
{
    return (raw ^ ((0 - (raw >> 63)) | SIGN64)) - MINUS_INFINITY;
}

static inline key64 decode_double(key64 key)
{
    key64 turned = key + MINUS_INFINITY;
    return turned ^ (((turned >> 63) - 1) | SIGN64);
}

#define KEY key64
#define NAME(x) x##_double
#define ENCODE(raw) encode_double(raw)
#define DECODE(key) decode_double(key)
#include "algorithm_radix_int.h"

/* ---- Calls and tasks --------------------------------------------------------------------------------------------- */

int thrum_sort_int32(thrum_executor *ex, int32_t *base, size_t n)
{
    struct numbers job = {base, n};
    int err = thrum__check_array("thrum_sort_int32", base, "the array", n, sizeof *base);
    return thrum__job_perform(ex, err, run_int32, &job);
}

int thrum_sort_int64(thrum_executor *ex, int64_t *base, size_t n)
{
    struct numbers job = {base, n};
    int err = thrum__check_array("thrum_sort_int64", base, "the array", n, sizeof *base);
    return thrum__job_perform(ex, err, run_int64, &job);
}

int thrum_sort_double(thrum_executor *ex, double *base, size_t n)
{
    struct numbers job = {base, n};
    int err = thrum__check_array("thrum_sort_double", base, "the array", n, sizeof *base);
    return thrum__job_perform(ex, err, run_double, &job);
}

thrum_task *thrum_sort_int32_task_new(thrum_graph *graph, int32_t *base, size_t n)
{
    const char *what = "thrum_sort_int32_task_new";
    struct numbers job = {base, n};
    int err = thrum__check_array(what, base, "the array", n, sizeof *base);
    return thrum__scope_task_copy(graph, what, err, run_int32, &job, sizeof job);
}

thrum_task *thrum_sort_int64_task_new(thrum_graph *graph, int64_t *base, size_t n)
{
    const char *what = "thrum_sort_int64_task_new";
    struct numbers job = {base, n};
    int err = thrum__check_array(what, base, "the array", n, sizeof *base);
    return thrum__scope_task_copy(graph, what, err, run_int64, &job, sizeof job);
}

thrum_task *thrum_sort_double_task_new(thrum_graph *graph, double *base, size_t n)
{
    const char *what = "thrum_sort_double_task_new";
    struct numbers job = {base, n};
    int err = thrum__check_array(what, base, "the array", n, sizeof *base);
    return thrum__scope_task_copy(graph, what, err, run_double, &job, sizeof job);
}
