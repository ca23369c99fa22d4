/* SPDX-License-Identifier: MIT */
#include "probe.h"

#include "tools/common.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MOST = 31, ROUNDS_OF_ONE = 15, CALLS_LEAST = 3 };
static const double batch_seconds = 3e-3, only_batch_seconds = 9e-3; /* of several cases; of one */

struct probe_run {
    const struct app_probe *probe;
    pthread_barrier_t barrier;
    double *alone, *crowded; /* [case * rounds + round]: seconds a call */
    double *of_thread;       /* while all are at work */
    int rounds;              /* fewer of one case, which takes longer each time */
    bool failed;
};

struct probe_thread {
    struct probe_run *run;
    int number;
    pthread_t thread;
};

/* ---- Measuring ---------------------------------------------------------------------------------------------------- */

/* Seconds of a call, on average over a few milliseconds. */
static double measure_batch(const struct app_probe *probe, void *state, const struct app_probe_case *it)
{
    double sum = 0, begun = tool_now(), enough = probe->count > 1 ? batch_seconds : only_batch_seconds;
    int calls = 0;
    do {
        sum += probe->call(state, it);
        calls++;
    } while (calls < CALLS_LEAST || tool_now() - begun < enough);
    return sum / calls;
}

/* The first thread alone, then all at once; the first notes what came out. Barriers separate one from the other. */
static void measure_case(const struct probe_thread *t, void *state, int number, int round)
{
    struct probe_run *run = t->run;
    const struct app_probe_case *it = &run->probe->cases[number];
    if (t->number == 0)
        run->alone[number * run->rounds + round] = measure_batch(run->probe, state, it);
    pthread_barrier_wait(&run->barrier);
    run->of_thread[t->number] = measure_batch(run->probe, state, it);
    pthread_barrier_wait(&run->barrier);
    double sum = 0;
    for (int i = 0; i < run->probe->threads; i++)
        sum += run->of_thread[i];
    if (t->number == 0)
        run->crowded[number * run->rounds + round] = sum / run->probe->threads;
    pthread_barrier_wait(&run->barrier);
}

static void *measure_all(void *arg)
{
    const struct probe_thread *t = arg;
    const struct app_probe *probe = t->run->probe;
    void *state = probe->begin(probe->self, t->number);
    if (!state)
        __atomic_store_n(&t->run->failed, true, __ATOMIC_RELAXED); /* the barrier orders it */
    pthread_barrier_wait(&t->run->barrier);
    for (int round = 0; round < t->run->rounds && !__atomic_load_n(&t->run->failed, __ATOMIC_RELAXED); round++)
        for (int i = 0; i < probe->count; i++)
            measure_case(t, state, i, round);
    if (state)
        probe->end(state);
    return NULL;
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

/* Of what is left when both are disturbed least: all cores together are disturbed more often than one of them. */
static double crowded_of(const double *crowded, const double *alone, int rounds)
{
    return quantile(crowded, rounds, 0.1) / quantile(alone, rounds, 0.1);
}

static double mean_of(const double *numbers, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += numbers[i];
    return sum / count;
}

static void print_case(const struct app_probe_case *it, const double *alone, const double *crowded,
                       const double *of_whole, int rounds)
{
    printf("    {\"codelet\": \"%s\", \"extents\": [%d, %d, %d], \"work\": %.9g, \"bytes\": %.9g, ", it->codelet,
           it->extent[0], it->extent[1], it->extent[2], it->work, it->bytes);
    printf("\"seconds\": %.6g, \"crowded\": %.4g, \"mean\": %.6g, \"mean_of_all\": %.6g}",
           seconds_of(alone, of_whole, rounds), crowded_of(crowded, alone, rounds), mean_of(alone, rounds),
           mean_of(crowded, rounds));
}

static void print_cases(const struct probe_run *run)
{
    const struct app_probe *probe = run->probe;
    int whole = 0, rounds = run->rounds;
    printf("{\n  \"verb\": \"%s\",\n  \"kernels\": [\n", probe->verb);
    for (int i = 0; i < probe->count; i++) {
        if (probe->cases[i].kernel != probe->cases[whole].kernel)
            whole = i;
        print_case(&probe->cases[i], &run->alone[i * rounds], &run->crowded[i * rounds], &run->alone[whole * rounds],
                   rounds);
        printf("%s\n", i + 1 < probe->count ? "," : "");
    }
    printf("  ]\n}\n");
}

/* ---- All of it ---------------------------------------------------------------------------------------------------- */

/* Threads wait for each other, so all of them or none. */
static bool run_threads(struct probe_run *run, struct probe_thread *threads)
{
    int started = 1;
    if (pthread_barrier_init(&run->barrier, NULL, (unsigned)run->probe->threads) != 0)
        return false;
    for (int i = 0; i < run->probe->threads; i++)
        threads[i] = (struct probe_thread){.run = run, .number = i};
    while (started < run->probe->threads &&
           pthread_create(&threads[started].thread, NULL, measure_all, &threads[started]) == 0)
        started++;
    if (started < run->probe->threads)
        return false; /* those that have started wait until the process ends, which is soon */
    measure_all(&threads[0]);
    for (int i = 1; i < run->probe->threads; i++)
        pthread_join(threads[i].thread, NULL);
    pthread_barrier_destroy(&run->barrier);
    return !run->failed;
}

int app_probe(const struct app_probe *probe)
{
    struct probe_run run = {.probe = probe, .rounds = probe->count > 1 ? ROUNDS_MOST : ROUNDS_OF_ONE};
    size_t places = (size_t)probe->count * (size_t)run.rounds;
    struct probe_thread *threads = calloc((size_t)probe->threads, sizeof *threads);
    run.alone = calloc(places, sizeof *run.alone);
    run.crowded = calloc(places, sizeof *run.crowded);
    run.of_thread = calloc((size_t)probe->threads, sizeof *run.of_thread);
    bool good = threads && run.alone && run.crowded && run.of_thread && run_threads(&run, threads);
    if (good)
        print_cases(&run);
    free(threads);
    free(run.alone);
    free(run.crowded);
    free(run.of_thread);
    return good ? TOOL_DONE : tool_fail(probe->verb, "no memory or no threads to measure kernels.");
}
