/* SPDX-License-Identifier: MIT
 *
 * thrum bench: takes samples. Each implementation is a program of its own, and there is one process of it for each
 * number of workers. A work's passes go round all of these processes, so that whatever else the machine does hits all
 * of them alike; each work starts new processes, so that no work meets the heap that another has left behind, and where
 * data's place in memory decides, so does each pass.
 */
#define _GNU_SOURCE

#include "bench.h"
#include "common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FEW_PASSES = 3, WARM_UPS = 3, ANSWERS = 3 };
/* In which as many pairs as can be begun are taken. */
#define PAIRS_SECONDS 0.25

/* The order of a pass, there and in the next pass back: beside thrum stands what it is compared with most closely. */
static const int turns[IMPLEMENTATIONS] = {STARPU, STARPU_DMDA, THRUM_DMDA, LIBOMP, SEQUENTIAL, THRUM, LIBGOMP, ONETBB};

static void report_progress(const struct bench *b, const struct bench_row *row, int pass, int passes, int which, int w)
{
    if (b->progress)
        fprintf(stderr, "\r\033[K%s: pass %d of %d, %s with %d workers", row->work, pass + 1, passes,
                bench_implementations[which].name, b->worker_counts[w]);
}

static void clear_progress(const struct bench *b)
{
    if (b->progress)
        fputs("\r\033[K", stderr);
}

static void complain(struct bench *b, const struct bench_row *row, int which, int w, const char *what)
{
    clear_progress(b);
    fprintf(stderr, "thrum bench: %s, %s with %d workers: %s\n", row->work, bench_implementations[which].name,
            b->worker_counts[w], what);
    b->failures++;
}

/* What one pass takes. False: not known, and if that is new, it is said. */
static bool ask_for_sample(struct bench *b, const struct bench_row *row, int which, int w, double *value,
                           double *second)
{
    char request[128], answer[512];
    *second = NAN;
    if (row->flags & FRESH)
        bench_end_runner(&b->runners[which][w]);
    struct bench_runner *runner = bench_runner_of(b, which, w);
    snprintf(request, sizeof request, "%s %d %d", row->work, b->worker_counts[w], b->quick ? 10 : 1);
    bool answered = runner && bench_ask(runner, request, answer, sizeof answer);
    if (answered && sscanf(answer, "ok %lf %lf", value, second) >= 1)
        return true;
    b->samples[which][w].none = true;
    if (!answered)
        complain(b, row, which, w, "the runner ended or did not answer in time");
    else if (strcmp(answer, "none") != 0)
        complain(b, row, which, w, answer);
    return false;
}

/* What a hypervisor has had of the processors that it lets us have, in seconds of one of them, since the computer was
 * started. */
static double stolen_seconds(void)
{
    double stolen = 0;
    FILE *file = fopen("/proc/stat", "r");
    if (file && fscanf(file, "cpu %*s %*s %*s %*s %*s %*s %*s %lf", &stolen) != 1)
        stolen = 0;
    if (file)
        fclose(file);
    return stolen / (double)sysconf(_SC_CLK_TCK);
}

/* A sample during which a hypervisor had more than a thirtieth of the processors is taken again, whoever's it is; but
 * not for ever. Those that are so short that it cannot be told are taken as they are. */
static bool ask_quietly(struct bench *b, const struct bench_row *row, int which, int w, double *value, double *second)
{
    double processors = (double)sysconf(_SC_NPROCESSORS_ONLN), share = 1.0 / 30, least = 0.1;
    for (int tries = 0; tries < QUIET_TRIES; tries++) {
        double began = tool_now(), stolen = stolen_seconds();
        if (!ask_for_sample(b, row, which, w, value, second))
            return false;
        double seconds = tool_now() - began;
        if (seconds < least || stolen_seconds() - stolen <= seconds * processors * share)
            break;
        b->disturbed++;
    }
    b->taken++;
    return true;
}

static void keep_sample(struct bench_samples *samples, double value, double second)
{
    samples->second[samples->count] = second;
    samples->value[samples->count++] = value;
}

static void take_sample(struct bench *b, const struct bench_row *row, int which, int w, bool keep)
{
    double value, second;
    if ((keep ? ask_quietly : ask_for_sample)(b, row, which, w, &value, &second) && keep)
        keep_sample(&b->samples[which][w], value, second);
}

struct answer {
    double value, second;
};

static int by_value(const void *a, const void *b)
{
    double x = ((const struct answer *)a)->value, y = ((const struct answer *)b)->value;
    return (x > y) - (x < y);
}

/* Processes of one program differ by some per cent, for as long as they live, by which pages they were given. So each
 * pass has a new one; of three answers the middle one counts, which is seldom the first, while it warms up. */
static void take_renewed_sample(struct bench *b, const struct bench_row *row, int which, int w)
{
    struct answer answers[ANSWERS];
    bench_end_runner(&b->runners[which][w]);
    for (int i = 0; i < ANSWERS; i++)
        if (!ask_quietly(b, row, which, w, &answers[i].value, &answers[i].second))
            return;
    qsort(answers, ANSWERS, sizeof *answers, by_value);
    keep_sample(&b->samples[which][w], answers[ANSWERS / 2].value, answers[ANSWERS / 2].second);
}

bool bench_is_measured(const struct bench *b, const struct bench_row *row, int w)
{
    return !(row->flags & NOT_ONE) || b->worker_counts[w] > 1;
}

/* ---- Comparing numbers of workers -------------------------------------------------------------------------------- */

/* -1: it was not measured. */
static int one_worker(const struct bench *b)
{
    for (int w = 0; w < b->worker_count; w++)
        if (b->worker_counts[w] == 1)
            return w;
    return -1;
}

bool bench_is_compared(const struct bench *b, const struct bench_row *row, int w)
{
    int one = one_worker(b);
    return !(row->flags & COSTS) && b->worker_counts[w] != 1 && one >= 0 && !b->samples[THRUM][one].none &&
           !b->samples[THRUM][w].none;
}

static void add_pair(struct bench_pairs *pairs, double more, double one)
{
    pairs->ratio[pairs->count++] = more / one;
}

/* Where a graph lies in memory changes its time by a tenth, for as long as its process lives: so these live for one
 * pass. */
static bool renew(struct bench *b, const struct bench_row *row, int w)
{
    double value, second;
    bench_end_runner(&b->runners[THRUM][w]);
    for (int i = 0; i < WARM_UPS; i++)
        if (!ask_for_sample(b, row, THRUM, w, &value, &second))
            return false;
    return true;
}

/* The pass has a sample of each; where they are short more are taken, and either is first in turn. */
static void compare_workers(struct bench *b, const struct bench_row *row, int w)
{
    struct bench_samples *all = b->samples[THRUM];
    int one = one_worker(b);
    add_pair(&b->pairs[w], all[w].value[all[w].count - 1], all[one].value[all[one].count - 1]);
    if (row->group != BASE || !renew(b, row, one) || !renew(b, row, w))
        return;
    double value[2], second, until = tool_now() + PAIRS_SECONDS;
    for (int i = 1; i < MOST_PAIRS && tool_now() < until; i++) {
        int order[2] = {i % 2 ? w : one, i % 2 ? one : w};
        for (int k = 0; k < 2; k++)
            if (!ask_for_sample(b, row, THRUM, order[k], &value[order[k] == w], &second))
                return;
        add_pair(&b->pairs[w], value[1], value[0]);
    }
}

static void compare_all_workers(struct bench *b, const struct bench_row *row)
{
    for (int w = 0; w < b->worker_count; w++)
        if (bench_is_compared(b, row, w))
            compare_workers(b, row, w);
}

/* ---- A work ------------------------------------------------------------------------------------------------------ */

static void forget_samples(struct bench *b, const struct bench_row *row)
{
    for (int w = 0; w < b->worker_count; w++) {
        b->pairs[w].count = 0;
        for (int which = 0; which < IMPLEMENTATIONS; which++) {
            b->samples[which][w].count = 0;
            b->samples[which][w].none = b->missing[which] || !bench_is_measured(b, row, w) ||
                                        ((row->flags & THRUM_ONLY) && which != THRUM) ||
                                        (which == THRUM_DMDA && row->group != DATA);
        }
    }
}

/* All implementations, one after the other. */
static void take_turns(struct bench *b, const struct bench_row *row, int pass, int passes, int w)
{
    for (int turn = 0; turn < IMPLEMENTATIONS; turn++) {
        int which = turns[pass % 2 ? IMPLEMENTATIONS - 1 - turn : turn];
        if (b->samples[which][w].none)
            continue;
        report_progress(b, row, pass, passes, which, w);
        if (row->flags & RENEWED)
            take_renewed_sample(b, row, which, w);
        else
            take_sample(b, row, which, w, pass >= 0);
    }
}

void bench_measure(struct bench *b, const struct bench_row *row)
{
    bool few = row->flags & FEW, warm_up = !(row->flags & (FEW | RENEWED));
    int passes = few && b->passes > FEW_PASSES ? FEW_PASSES : b->passes;
    forget_samples(b, row);
    for (int pass = warm_up ? -1 : 0; pass < passes; pass++) { /* pass -1 warms up */
        for (int w = 0; w < b->worker_count; w++)
            take_turns(b, row, pass, passes, w);
        if (pass >= 0)
            compare_all_workers(b, row);
    }
    clear_progress(b);
    bench_end_all_runners(b);
    bench_summarize(b);
}
