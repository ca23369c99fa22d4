/* SPDX-License-Identifier: MIT
 *
 * Random numbers of the simulator: a stream of bits for each run, and from it uniform, exponential, normal, gamma and
 * binomial numbers.
 *
 * A stream is a counter in steps of an odd constant, whose values are mixed until nothing of the counter can be seen
 * (the SplitMix64 generator of Steele, Lea and Flood). All streams are stretches of one cycle of 2^64 numbers, begun at
 * places that follow from the seed and the number of the run: that two of 100,000 runs with a million numbers each
 * overlap anywhere has a probability of about 1 in 2000, and were harmless.
 *
 * Exponential and normal numbers are drawn by the ziggurat method of Marsaglia and Tsang with 256 layers: nearly always
 * one number of 64 bits, one multiplication and one comparison. Gamma numbers follow from normal ones by the method of
 * the same authors, with a tighter quick test (see draw.c); binomial ones from a table (Walker's alias method) for few
 * attempts, by counting gaps while few successes are expected, and by Hoermann's rejection from a transformed triangle
 * (BTRS) beyond. All are exact, up to rounding.
 */
#ifndef THRUM_SIM_DRAW_H
#define THRUM_SIM_DRAW_H

#include <stdint.h>

typedef struct thrum__stream {
    uint64_t state;
} thrum__stream;

/* The stream of run number `run`. */
thrum__stream thrum__stream_of(uint64_t seed, uint64_t run);

static inline uint64_t thrum__mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint64_t thrum__draw_bits(thrum__stream *stream)
{
    return thrum__mix(stream->state += UINT64_C(0x9e3779b97f4a7c15));
}

/* The middle of one of 2^52 equal parts of the interval from 0 to 1, so never either end. */
static inline double thrum__unit(uint64_t bits)
{
    return ((double)(int64_t)(bits >> 12) + 0.5) * 0x1p-52;
}

static inline double thrum__draw_unit(thrum__stream *stream)
{
    return thrum__unit(thrum__draw_bits(stream));
}

enum { THRUM__LAYERS = 256 };

/* The layers of a ziggurat: layer i reaches from 0 to x[i], and what lies left of x[i + 1] is under the curve. f[i] is
 * the curve at x[i]. Layer 0 is the one with the tail; its x is that of a rectangle of the same area. */
typedef struct thrum__ziggurat {
    double x[THRUM__LAYERS + 1], f[THRUM__LAYERS + 1];
} thrum__ziggurat;

/* Constant once made, so that any number of threads draw with one. */
typedef struct thrum__draw_tables {
    thrum__ziggurat exponential, normal;
} thrum__draw_tables;

void thrum__draw_tables_make(thrum__draw_tables *tables);

/* The rare cases: the tail, and the edge of a layer. */
double thrum__draw_exponential_rest(const thrum__draw_tables *tables, thrum__stream *stream, uint64_t bits);
double thrum__draw_normal_rest(const thrum__draw_tables *tables, thrum__stream *stream, uint64_t bits);

/* With mean 1. */
static inline double thrum__draw_exponential(const thrum__draw_tables *tables, thrum__stream *stream)
{
    uint64_t bits = thrum__draw_bits(stream), layer = bits & (THRUM__LAYERS - 1);
    double x = thrum__unit(bits) * tables->exponential.x[layer];
    if (__builtin_expect(x < tables->exponential.x[layer + 1], 1))
        return x;
    return thrum__draw_exponential_rest(tables, stream, bits);
}

/* With mean 0 and deviation 1. */
static inline double thrum__draw_normal(const thrum__draw_tables *tables, thrum__stream *stream)
{
    uint64_t bits = thrum__draw_bits(stream), layer = bits & (THRUM__LAYERS - 1);
    double x = thrum__unit(bits) * tables->normal.x[layer];
    if (__builtin_expect(x < tables->normal.x[layer + 1], 1))
        return bits & THRUM__LAYERS ? -x : x;
    return thrum__draw_normal_rest(tables, stream, bits);
}

/* What drawing gamma numbers of one shape needs; worth keeping where many are drawn. */
typedef struct thrum__gamma {
    double d, c;  /* d = shape - 1/3, c = 1/sqrt(9 d) */
    double power; /* for shapes below 1: 1/shape; else 0 */
} thrum__gamma;

/* shape > 0; the scale is 1. */
thrum__gamma thrum__gamma_of(double shape);
double thrum__draw_gamma(const thrum__draw_tables *tables, thrum__stream *stream, const thrum__gamma *gamma);

/* The same for binomial numbers: successes in n attempts, each with probability p, 0 < p <= 1. */
typedef struct thrum__binomial {
    double n, p, q; /* p <= 1/2: if it was above, failures are counted */
    double gap;     /* few expected: 1/-ln(1 - p), else 0 */
    double a, b, center, fast, alpha;
    int flipped;
} thrum__binomial;

thrum__binomial thrum__binomial_of(double n, double p);
double thrum__draw_binomial(const thrum__draw_tables *tables, thrum__stream *stream, const thrum__binomial *binomial);

/* A table for numbers below 64, each with a probability of its own: 64 columns of equal height, each shared by two of
 * the numbers. */
enum { THRUM__ALIAS_COLUMNS = 64 };

typedef struct thrum__alias {
    uint64_t share[THRUM__ALIAS_COLUMNS]; /* how much of column i is i's own, out of 2^64 */
    uint8_t other[THRUM__ALIAS_COLUMNS];  /* whose the rest is */
} thrum__alias;

/* The probabilities sum up to 1, but for rounding. */
void thrum__alias_make(thrum__alias *alias, const double probabilities[THRUM__ALIAS_COLUMNS]);

/* For binomial numbers with so few attempts that 64 and more successes cannot happen: n p < 10. */
void thrum__alias_make_binomial(thrum__alias *alias, uint64_t n, double p);

static inline double thrum__draw_alias(const thrum__alias *alias, thrum__stream *stream)
{
    uint64_t bits = thrum__draw_bits(stream), column = bits % THRUM__ALIAS_COLUMNS;
    uint64_t rest = bits & -(uint64_t)THRUM__ALIAS_COLUMNS; /* 58 bits */
    return (double)(int64_t)(rest < alias->share[column] ? column : alias->other[column]);
}

#endif
