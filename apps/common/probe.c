/* SPDX-License-Identifier: MIT */
#include "probe.h"

#include "tools/common.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MOST = 63, QUICK_ROUNDS = 31, CALLS_LEAST = 2 };
static const double batch_seconds = 3e-3, quick_batch_seconds = 2e-3;

/* ---- Measuring ---------------------------------------------------------------------------------------------------- */

/* Seconds of a call, on average over a few milliseconds. */
static double measure_batch(const struct app_probe *probe, void *state, const struct app_probe_case *it)
{
    double sum = 0, begun = tool_now(), enough = probe->quick ? quick_batch_seconds : batch_seconds;
    int calls = 0;
    do {
        sum += probe->call(state, it);
        calls++;
    } while (calls < CALLS_LEAST || tool_now() - begun < enough);
    return sum / calls;
}

/* ---- Telling ------------------------------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* That of which so large a share is below it. */
static double quantile(const double *numbers, int count, double share)
{
    double sorted[ROUNDS_MOST];
    memcpy(sorted, numbers, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_size);
    return sorted[(int)(share * count)];
}

/* The whole tile's lower quartile, since who is disturbed takes longer and never less; times the median of what this one is compared
 * with it in the same round. */
static double seconds_of(const double *alone, const double *of_whole, int rounds)
{
    double ratios[ROUNDS_MOST];
    for (int i = 0; i < rounds; i++)
        ratios[i] = alone[i] / of_whole[i];
    return quantile(of_whole, rounds, 0.25) * quantile(ratios, rounds, 0.5);
}

static void print_case(const struct app_probe_case *it, const double *alone, const double *of_whole, int rounds)
{
    printf("    {\"codelet\": \"%s\", \"extents\": [%d, %d, %d], \"work\": %.9g, \"bytes\": %.9g, "
           "\"read\": %.9g, \"seconds\": %.6g}",
           it->codelet, it->extent[0], it->extent[1], it->extent[2], it->work, it->bytes, it->read,
           seconds_of(alone, of_whole, rounds));
}

/* `seconds`: [case * rounds + round]. */
static void print_cases(const struct app_probe *probe, const double *seconds, int rounds)
{
    int whole = 0;
    printf("{\n  \"verb\": \"%s\",\n  \"kernels\": [\n", probe->verb);
    for (int i = 0; i < probe->count; i++) {
        if (probe->cases[i].kernel != probe->cases[whole].kernel)
            whole = i;
        print_case(&probe->cases[i], &seconds[i * rounds], &seconds[whole * rounds], rounds);
        printf("%s\n", i + 1 < probe->count ? "," : "");
    }
    printf("  ]\n}\n");
}

int app_probe(const struct app_probe *probe)
{
    int rounds = probe->quick ? QUICK_ROUNDS : ROUNDS_MOST;
    void *state = probe->begin(probe->self);
    double *seconds = calloc((size_t)probe->count * (size_t)rounds, sizeof *seconds);
    for (int round = 0; state && seconds && round < rounds; round++)
        for (int i = 0; i < probe->count; i++)
            seconds[i * rounds + round] = measure_batch(probe, state, &probe->cases[i]);
    bool good = state && seconds;
    if (good)
        print_cases(probe, seconds, rounds);
    if (state)
        probe->end(state);
    free(seconds);
    return good ? TOOL_DONE : tool_fail(probe->verb, "no memory to measure kernels.");
}
