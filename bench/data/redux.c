/* SPDX-License-Identifier: MIT
 *
 * The data, the kernels, the check and the works. Nanoseconds per element.
 */
#include "redux.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct redux_state {
    redux r;
    redux_runtime *runtime;
    double dot;
    uint64_t bins[REDUX_BINS]; /* what is expected */
} redux_state;

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

/* Four sums, as no compiler may make them of one. */
double redux_dot(const double *x, const double *y, size_t count)
{
    double sum[4] = {0, 0, 0, 0};
    for (size_t i = 0; i + 4 <= count; i += 4)
        for (size_t k = 0; k < 4; k++)
            sum[k] += x[i + k] * y[i + k];
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

void redux_histogram(const uint16_t *keys, size_t count, uint64_t *bins)
{
    for (size_t i = 0; i < count; i++)
        bins[keys[i]]++;
}

/* ---- The works --------------------------------------------------------------------------------------------------- */

static uint32_t random_next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static void make_vectors(redux_state *s)
{
    uint32_t random = 1;
    s->r.x = bench_alloc(s->r.count, sizeof(double));
    s->r.y = bench_alloc(s->r.count, sizeof(double));
    for (size_t i = 0; i < s->r.count; i++) {
        s->r.x[i] = (double)(random_next(&random) % 16);
        s->r.y[i] = (double)(random_next(&random) % 16);
    }
    s->dot = redux_dot(s->r.x, s->r.y, s->r.count);
}

static void make_keys(redux_state *s)
{
    uint32_t random = 1;
    s->r.keys = bench_alloc(s->r.count, sizeof *s->r.keys);
    for (size_t i = 0; i < s->r.count; i++)
        s->r.keys[i] = (uint16_t)(random_next(&random) % REDUX_BINS);
    redux_histogram(s->r.keys, s->r.count, s->bins);
}

static void close_redux(void *arg)
{
    redux_state *s = arg;
    if (s->runtime)
        redux_end(s->runtime);
    free(s->r.x);
    free(s->r.y);
    free(s->r.keys);
    free(s);
}

static void *open_redux(const bench_request *request)
{
    redux_state *s = bench_alloc(1, sizeof *s);
    s->r.variant = request->variant;
    bool dot = request->variant == REDUX_DOT;
    s->r.block = dot ? REDUX_BLOCK : REDUX_KEYS;
    s->r.blocks = (size_t)(dot ? REDUX_COUNT : REDUX_KEY_COUNT) / request->shrink / s->r.block;
    s->r.count = s->r.blocks * s->r.block;
    if (dot)
        make_vectors(s);
    else
        make_keys(s);
    s->runtime = redux_begin(&s->r, request->workers);
    if (s->runtime)
        return s;
    close_redux(s);
    return NULL;
}

static double pass_redux(void *arg)
{
    redux_state *s = arg;
    double begin = bench_now();
    redux_run(s->runtime);
    double time = bench_now() - begin;
    if (s->r.dot != s->dot || memcmp(s->r.bins, s->bins, sizeof s->bins) != 0)
        bench_bad("the result is wrong");
    return time / (double)s->r.count;
}

static bench_work works[] = {
    {"redux-dot", REDUX_DOT, open_redux, pass_redux, close_redux, NULL},
    {"redux-histogram", REDUX_HISTOGRAM, open_redux, pass_redux, close_redux, NULL},
    {"commute-histogram", REDUX_COMMUTE, open_redux, pass_redux, close_redux, NULL},
    {"rw-histogram", REDUX_RW, open_redux, pass_redux, close_redux, NULL},
};

BENCH_WORKS(works)
