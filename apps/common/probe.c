/* SPDX-License-Identifier: MIT */
#include "probe.h"

#include "tools/common.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MOST = 63, QUICK_ROUNDS = 31, CALLS_LEAST = 2 };
static const double batch_seconds = 3e-3, quick_batch_seconds = 2e-3;

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

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

/* ---- Telling ----------------------------------------------------------------------------------------------------- */

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

/* Who is disturbed takes longer and never less. Not the ratio to the whole tile in the same round: those who share the
 * host's memory slow down what is large, and hardly what is small. */
static double seconds_of(const double *rounds, int count)
{
    return quantile(rounds, count, 0.1);
}

static void print_case(const struct app_probe_case *it, const double *rounds, int count)
{
    printf("    {\"codelet\": \"%s\", \"extents\": [%d, %d, %d], \"work\": %.9g, \"bytes\": %.9g, "
           "\"read\": %.9g, \"seconds\": %.6g}",
           it->codelet, it->extent[0], it->extent[1], it->extent[2], it->work, it->bytes, it->read,
           seconds_of(rounds, count));
}

/* `seconds`: [case * rounds + round]. */
static void print_cases(const struct app_probe *probe, const double *seconds, int rounds)
{
    printf("{\n  \"verb\": \"%s\",\n  \"kernels\": [\n", probe->verb);
    for (int i = 0; i < probe->count; i++) {
        print_case(&probe->cases[i], &seconds[i * rounds], rounds);
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
