/* SPDX-License-Identifier: MIT
 *
 * Times of iterations: a distribution, read from a text, and the sum of the times of a whole chunk drawn at once.
 *
 * Engines draw from one stream for each run, one sum for each chunk, in the order in which chunks are handed out: so
 * the j-th chunk of run r takes the same time in every engine, whoever works on it.
 */
#ifndef THRUM_SIM_TIMES_H
#define THRUM_SIM_TIMES_H

#include "draw.h"

#include <stddef.h>

enum thrum__times_kind {
    THRUM__TIMES_CONST,
    THRUM__TIMES_UNIFORM,
    THRUM__TIMES_EXP,
    THRUM__TIMES_TWOPOINT,
    THRUM__TIMES_NORMAL,
    THRUM__TIMES_GAMMA,
    THRUM__TIMES_FILE,
};

/* Uniform times: a sum of up to so many is drawn number by number, a sum of more from its normal limit, with the term
 * for the flatter tails (Cornish and Fisher). tests/unit/sim_times.c compares the two. */
enum { THRUM__UNIFORM_EXACT = 24 };

typedef struct thrum__times {
    enum thrum__times_kind kind;
    double mean, deviation; /* of one iteration's time */
    double a, b;            /* what the text says: const a, uniform a,b, exp a, twopoint a, normal a,b, gamma a,b */
    double *sums;           /* file: sums[i] is the time of the first i lines */
    uint64_t lines;
    thrum__alias *few; /* twopoint: few[i] is for i + 1 iterations */
    uint64_t few_count;
    thrum__draw_tables tables;
} thrum__times;

/* Reads "exp:1" and the like (thrum/sim.h lists them). 0; or an error with a sentence, and nothing is to be freed. */
int thrum__times_begin(thrum__times *times, const char *text);
void thrum__times_end(thrum__times *times);

/* The time of `count` iterations from number `begin` on, all together. Reads `times` only: any thread. */
double thrum__times_sum(const thrum__times *times, thrum__stream *stream, uint64_t begin, uint64_t count);

/* The same in two steps, for sizes that are drawn again and again. `begin` matters with a file only. */
typedef struct thrum__sum {
    uint64_t begin, count;
    double shift, scale; /* time = shift + scale * (a number that is drawn) */
    union {
        thrum__gamma gamma;
        thrum__binomial binomial;
    } how;
} thrum__sum;

thrum__sum thrum__sum_of(const thrum__times *times, uint64_t begin, uint64_t count);
double thrum__sum_draw(const thrum__times *times, const thrum__sum *sum, thrum__stream *stream);

#endif
