/* SPDX-License-Identifier: MIT
 *
 * Random numbers (draw.h): the tables of the ziggurats, their rare cases, and the rejection methods.
 */
#include "draw.h"

#include <math.h>

thrum__stream thrum__stream_of(uint64_t seed, uint64_t run)
{
    /* Mixing twice: neighbouring seeds with neighbouring runs must not meet. */
    uint64_t place = thrum__mix(seed + UINT64_C(0x9e3779b97f4a7c15));
    return (thrum__stream){thrum__mix(place ^ thrum__mix(run ^ UINT64_C(0xd1b54a32d192ed03)))};
}

/* ---- Ziggurats --------------------------------------------------------------------------------------------------- */

/* Where the lowest of 256 layers of equal area ends, for exp(-x) and exp(-x x/2). The area follows from it. */
#define EXPONENTIAL_RIGHT 7.69711747013104972
#define NORMAL_RIGHT 3.6541528853610088

static double exponential_curve(double x)
{
    return exp(-x);
}

static double exponential_place(double f)
{
    return -log(f);
}

static double normal_curve(double x)
{
    return exp(-0.5 * x * x);
}

static double normal_place(double f)
{
    return sqrt(-2 * log(f));
}

static void make_layers(thrum__ziggurat *z, double right, double area, double (*curve)(double), double (*place)(double))
{
    z->x[0] = area / curve(right);
    z->x[1] = right;
    for (int i = 2; i < THRUM__LAYERS; i++)
        z->x[i] = place(curve(z->x[i - 1]) + area / z->x[i - 1]);
    z->x[THRUM__LAYERS] = 0;
    for (int i = 0; i <= THRUM__LAYERS; i++)
        z->f[i] = curve(z->x[i]);
}

void thrum__draw_tables_make(thrum__draw_tables *tables)
{
    double tail = exp(-EXPONENTIAL_RIGHT);
    make_layers(&tables->exponential, EXPONENTIAL_RIGHT, EXPONENTIAL_RIGHT * tail + tail, exponential_curve,
                exponential_place);
    tail = sqrt(acos(-1) / 2) * erfc(NORMAL_RIGHT / sqrt(2));
    make_layers(&tables->normal, NORMAL_RIGHT, NORMAL_RIGHT * normal_curve(NORMAL_RIGHT) + tail, normal_curve,
                normal_place);
}

/* A place in layer `i` at `x`, right of what is surely under the curve: is it under it? */
static int under_curve(const thrum__ziggurat *z, thrum__stream *stream, uint64_t i, double at_x)
{
    return z->f[i] + thrum__draw_unit(stream) * (z->f[i + 1] - z->f[i]) < at_x;
}

double thrum__draw_exponential_rest(const thrum__draw_tables *tables, thrum__stream *stream, uint64_t bits)
{
    const thrum__ziggurat *z = &tables->exponential;
    for (double beyond = 0;;) {
        uint64_t i = bits & (THRUM__LAYERS - 1);
        double x = thrum__unit(bits) * z->x[i];
        if (x < z->x[i + 1] || (i > 0 && under_curve(z, stream, i, exponential_curve(x))))
            return beyond + x;
        if (i == 0) /* the tail looks like the whole */
            beyond += EXPONENTIAL_RIGHT;
        bits = thrum__draw_bits(stream);
    }
}

/* Marsaglia's way to draw from the tail. */
static double normal_tail(thrum__stream *stream)
{
    double x, y;
    do {
        x = -log(thrum__draw_unit(stream)) / NORMAL_RIGHT;
        y = -log(thrum__draw_unit(stream));
    } while (2 * y < x * x);
    return NORMAL_RIGHT + x;
}

double thrum__draw_normal_rest(const thrum__draw_tables *tables, thrum__stream *stream, uint64_t bits)
{
    const thrum__ziggurat *z = &tables->normal;
    for (;; bits = thrum__draw_bits(stream)) {
        uint64_t i = bits & (THRUM__LAYERS - 1);
        double sign = bits & THRUM__LAYERS ? -1 : 1, x = thrum__unit(bits) * z->x[i];
        if (x < z->x[i + 1])
            return sign * x;
        if (i == 0)
            return sign * normal_tail(stream);
        if (under_curve(z, stream, i, normal_curve(x)))
            return sign * x;
    }
}

/* ---- Gamma ------------------------------------------------------------------------------------------------------- */

thrum__gamma thrum__gamma_of(double shape)
{
    double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
    return (thrum__gamma){.d = d, .c = 1 / sqrt(9 * d), .power = shape < 1 ? 1 / shape : 0};
}

/* Marsaglia and Tsang: with a normal x, t = c x and v = (1 + t)^3, d v is taken with the probability exp(g), g = x x/2
 * + d (1 - v + ln v). The series of the logarithm gives g = 3 d (-t^4/4 + t^5/5 - ...), the terms up to the third
 * cancelling each other. For t > 0 this is above -3/4 d t^4; for -1/3 < t < 0 the terms are below a geometric series
 * with the factor 1/3, so g > -9/8 d t^4 = -c c x^4/8, by 9 d c c = 1. And exp(g) >= 1 + g: the quick test, which for
 * large shapes hardly ever fails. */
static double draw_cube(const thrum__draw_tables *tables, thrum__stream *stream, const thrum__gamma *gamma)
{
    for (;;) {
        double x = thrum__draw_normal(tables, stream), t = gamma->c * x;
        double u = thrum__draw_unit(stream), v = (1 + t) * (1 + t) * (1 + t);
        if (t > -1.0 / 3 && u < 1 - 0.125 * t * t * x * x)
            return gamma->d * v;
        if (t > -1 && log(u) < 0.5 * x * x + gamma->d * (1 - v + 3 * log1p(t)))
            return gamma->d * v;
    }
}

double thrum__draw_gamma(const thrum__draw_tables *tables, thrum__stream *stream, const thrum__gamma *gamma)
{
    double x = draw_cube(tables, stream, gamma);
    return gamma->power > 0 ? x * pow(thrum__draw_unit(stream), gamma->power) : x;
}

/* ---- Binomial ---------------------------------------------------------------------------------------------------- */

enum { FEW = 10 }; /* as many are expected at least where BTRS is used, whose constants hold from there on */

thrum__binomial thrum__binomial_of(double n, double p)
{
    thrum__binomial it = {.n = n, .flipped = p > 0.5};
    it.p = it.flipped ? 1 - p : p;
    it.q = 1 - it.p;
    if (n * it.p < FEW) {
        it.gap = -1 / log1p(-it.p);
        return it;
    }
    double deviation = sqrt(n * it.p * it.q);
    it.b = 1.15 + 2.53 * deviation;
    it.a = -0.0873 + 0.0248 * it.b + 0.01 * it.p;
    it.center = n * it.p + 0.5;
    it.fast = 0.92 - 4.2 / it.b;
    it.alpha = (2.83 + 5.1 / it.b) * deviation;
    return it;
}

/* Failures between two successes are geometric: an exponential number, cut into steps of -ln(1 - p). */
static double count_gaps(const thrum__draw_tables *tables, thrum__stream *stream, const thrum__binomial *it)
{
    double successes = 0;
    if (it->p <= 0)
        return 0;
    for (double place = 0;; successes++) {
        place += floor(thrum__draw_exponential(tables, stream) * it->gap) + 1;
        if (place > it->n)
            return successes;
    }
}

/* ln k! less Stirling's (k + 1/2) ln(k + 1) - (k + 1) + ln(2 pi)/2. */
static double stirling_rest(double k)
{
    static const double factorials[] = {1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880};
    double z = 1 / (k + 1), zz = z * z;
    if (k < 10)
        return log(factorials[(int)k]) - (k + 0.5) * log(k + 1) + (k + 1) - 0.91893853320467274178;
    return z * (1.0 / 12 - zz * (1.0 / 360 - zz * (1.0 / 1260 - zz / 1680)));
}

/* ln of the probability of k successes less that of m, the most likely number. */
static double log_ratio(const thrum__binomial *it, double k)
{
    double n = it->n, m = floor((n + 1) * it->p), j = k - m;
    return j * log(it->p * (n - m + 1) / (it->q * (m + 1))) - (k + 0.5) * log1p(j / (m + 1)) -
           (n - k + 0.5) * log1p(-j / (n - m + 1)) + stirling_rest(m) + stirling_rest(n - m) - stirling_rest(k) -
           stirling_rest(n - k);
}

static double draw_transformed(thrum__stream *stream, const thrum__binomial *it)
{
    for (;;) {
        double v = thrum__draw_unit(stream), u = thrum__draw_unit(stream) - 0.5, us = 0.5 - fabs(u);
        double k = floor((2 * it->a / us + it->b) * u + it->center);
        if (us >= 0.07 && v <= it->fast)
            return k;
        if (k < 0 || k > it->n)
            continue;
        if (log(v * it->alpha / (it->a / (us * us) + it->b)) <= log_ratio(it, k))
            return k;
    }
}

double thrum__draw_binomial(const thrum__draw_tables *tables, thrum__stream *stream, const thrum__binomial *it)
{
    double k = it->gap > 0 || it->p <= 0 ? count_gaps(tables, stream, it) : draw_transformed(stream, it);
    return it->flipped ? it->n - k : k;
}

/* ---- Tables ------------------------------------------------------------------------------------------------------ */

/* Vose's way to share columns out: one that is too low is filled up by one that is too high, as long as there are
 * both. */
void thrum__alias_make(thrum__alias *alias, const double probabilities[THRUM__ALIAS_COLUMNS])
{
    double height[THRUM__ALIAS_COLUMNS];
    int low[THRUM__ALIAS_COLUMNS], high[THRUM__ALIAS_COLUMNS], lows = 0, highs = 0;
    for (int i = 0; i < THRUM__ALIAS_COLUMNS; i++) {
        height[i] = probabilities[i] * THRUM__ALIAS_COLUMNS;
        alias->share[i] = UINT64_MAX; /* what is left at the end is full, but for rounding */
        alias->other[i] = (uint8_t)i;
        if (height[i] < 1)
            low[lows++] = i;
        else
            high[highs++] = i;
    }
    while (lows > 0 && highs > 0) {
        int filled = low[--lows], giver = high[highs - 1];
        alias->share[filled] = (uint64_t)(height[filled] * 0x1p64);
        alias->other[filled] = (uint8_t)giver;
        height[giver] -= 1 - height[filled];
        if (height[giver] < 1) {
            highs--;
            low[lows++] = giver;
        }
    }
}

void thrum__alias_make_binomial(thrum__alias *alias, uint64_t n, double p)
{
    double probabilities[THRUM__ALIAS_COLUMNS] = {0}, attempts = (double)n;
    double log_odds = log(p) - log1p(-p), log_probability = attempts * log1p(-p);
    for (int k = 0; k < THRUM__ALIAS_COLUMNS && k <= attempts; k++) {
        probabilities[k] = p < 1 ? exp(log_probability) : k == attempts;
        log_probability += log_odds + log((attempts - k) / (k + 1));
    }
    thrum__alias_make(alias, probabilities);
}
