/* SPDX-License-Identifier: MIT */
#include "measure.h"

#include "tools/common.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Counts ------------------------------------------------------------------------------------------------------ */

/* Tasks by the number of their worker, a cache line each; high numbers share. Relaxed: it is read when they have
 * ended. */
enum { COUNTERS = 256 };
static struct {
    _Alignas(64) _Atomic uint64_t tasks;
} counters[COUNTERS];

void app_count_task(void)
{
    atomic_fetch_add_explicit(&counters[(unsigned)thrum_worker_index() % COUNTERS].tasks, 1, memory_order_relaxed);
}

/* For an executor that has not counted itself. */
static void count_by_hand(struct app_counts *counts)
{
    for (int i = 0; i < COUNTERS; i++) {
        uint64_t tasks = atomic_load_explicit(&counters[i].tasks, memory_order_relaxed);
        if (i < counts->places)
            counts->place[i].tasks = tasks;
        else
            counts->others += tasks;
    }
}

static void add_number(void *arg, const char *key, double value)
{
    struct app_counts *counts = arg;
    if (counts->number_count == APP_NUMBERS_MOST)
        return;
    struct app_number *number = &counts->numbers[counts->number_count++];
    snprintf(number->key, sizeof number->key, "%s", key);
    number->value = value;
}

bool app_counts_take(struct app_counts *counts, const thrum_executor *ex, bool steals)
{
    size_t nodes = (size_t)thrum_executor_nodes(ex), places = (size_t)thrum_executor_places(ex);
    *counts = (struct app_counts){.nodes = (int)nodes, .places = (int)places};
    counts->links = calloc(nodes * nodes + 1, sizeof *counts->links);
    counts->node = calloc(nodes + 1, sizeof *counts->node);
    counts->place = calloc(places + 1, sizeof *counts->place);
    counts->numbers = calloc(APP_NUMBERS_MOST, sizeof *counts->numbers);
    if (!counts->links || !counts->node || !counts->place || !counts->numbers)
        return false;
    thrum_executor_policy_report(ex, add_number, counts);
    for (size_t i = 0; i < nodes * nodes; i++)
        thrum_executor_link(ex, (int)(i / nodes), (int)(i % nodes), &counts->links[i]);
    for (size_t i = 0; i < nodes; i++)
        thrum_executor_node(ex, (int)i, &counts->node[i]);
    for (size_t i = 0; i < places; i++)
        thrum_executor_place(ex, (int)i, &counts->place[i]);
    if (steals)
        count_by_hand(counts);
    return true;
}

void app_counts_subtract(struct app_counts *counts, const struct app_counts *before)
{
    for (int i = 0; i < counts->nodes * counts->nodes; i++) {
        counts->links[i].copies -= before->links[i].copies;
        counts->links[i].bytes -= before->links[i].bytes;
        counts->links[i].busy -= before->links[i].busy;
    }
    for (int i = 0; i < counts->nodes; i++) {
        counts->node[i].evictions -= before->node[i].evictions;
        counts->node[i].written_back -= before->node[i].written_back;
        counts->node[i].prefetches -= before->node[i].prefetches;
    }
    for (int i = 0; i < counts->places; i++) {
        counts->place[i].tasks -= before->place[i].tasks;
        counts->place[i].busy -= before->place[i].busy;
        counts->place[i].waiting -= before->place[i].waiting;
    }
    counts->others -= before->others;
}

uint64_t app_counts_tasks(const struct app_counts *counts)
{
    uint64_t tasks = counts->others;
    for (int i = 0; i < counts->places; i++)
        tasks += counts->place[i].tasks;
    return tasks;
}

void app_counts_drop(struct app_counts *counts)
{
    free(counts->links);
    free(counts->node);
    free(counts->place);
    free(counts->numbers);
}

/* ---- Models ------------------------------------------------------------------------------------------------------ */

double app_model_seconds(const thrum_place *place, double work, double cpu, double emu)
{
    static const double begin_cpu = 1e-6, begin_emu = 8e-6; /* of a call; of a launch */
    return place->arch == THRUM_ARCH_CPU ? begin_cpu + work / cpu : begin_emu + work / emu;
}

/* ---- Repetitions ------------------------------------------------------------------------------------------------- */

static int failure(const struct app *app)
{
    return tool_fail(app->verb, "%s.", thrum_message(NULL));
}

/* Runs and brings home, with the clock on. 0, or an error. */
static int time_run(const struct app *app, thrum_executor *ex, struct app_sample *sample)
{
    struct app_progress *progress = app_progress_begin(app, ex);
    double begun = tool_now();
    int err = app->run(app->self, ex);
    double ended = tool_now();
    app_progress_end(progress);
    if (err)
        return err;
    err = app->home(app->self, false);
    sample->seconds = ended - begun;
    sample->home_seconds = tool_now() - ended;
    return err;
}

/* TOOL_GO_ON, or an exit code after a sentence. */
static int take_sample(const struct app *app, thrum_executor *ex, struct app_sample *sample)
{
    struct app_counts before = {0};
    bool steals = app_setup_steals(app->setup);
    int code = TOOL_GO_ON;
    if (app->prepare(app->self, ex) != 0 || !app_counts_take(&before, ex, steals) || time_run(app, ex, sample) != 0) {
        code = failure(app);
        app->home(app->self, true);
    } else if (app_counts_take(&sample->counts, ex, steals)) {
        app_counts_subtract(&sample->counts, &before);
    } else {
        code = tool_fail(app->verb, "no memory");
    }
    app_counts_drop(&before);
    return code;
}

static int by_seconds(const void *a, const void *b)
{
    double x = ((const struct app_sample *)a)->seconds, y = ((const struct app_sample *)b)->seconds;
    return (x > y) - (x < y);
}

/* All repetitions; of the checks the worst is kept. */
static int take_samples(const struct app *app, thrum_executor *ex, struct app_sample *samples, struct app_check *worst)
{
    size_t count = app->setup->repeat;
    for (size_t i = 0; i < count; i++) {
        struct app_check check = {0};
        int code = take_sample(app, ex, &samples[i]);
        if (code != TOOL_GO_ON)
            return code;
        if (!worst)
            continue;
        app->check(app->self, &check);
        if (i == 0 || !check.good || (worst->good && check.residual > worst->residual))
            *worst = check;
    }
    qsort(samples, count, sizeof *samples, by_seconds);
    return TOOL_GO_ON;
}

/* ---- The workload ------------------------------------------------------------------------------------------------ */

static int write_graph(const struct app *app, thrum_graph *graph)
{
    thrum_workload *workload = thrum_workload_of_graph(graph, true);
    int err = workload ? thrum_workload_write(workload, app->setup->workload) : THRUM_EINVAL;
    thrum_workload_free(workload);
    return err;
}

/* The insertions once more, into a graph. */
static int write_workload(const struct app *app, thrum_executor *ex)
{
    thrum_graph *graph = app->setup->record = thrum_graph_new(app->verb);
    int code = TOOL_GO_ON;
    if (!graph || app->prepare(app->self, ex) != 0 || app->run(app->self, ex) != 0 || write_graph(app, graph) != 0)
        code = failure(app);
    thrum_graph_free(graph);
    app->home(app->self, true);
    app->setup->record = NULL;
    return code;
}

static int measure(const struct app *app, thrum_executor *ex, struct app_sample *samples)
{
    bool checked = !app->setup->no_check && !app->setup->timing;
    struct app_check check;
    int code = take_samples(app, ex, samples, checked ? &check : NULL);
    if (code != TOOL_GO_ON)
        return code;
    app_report(app, samples, app->setup->repeat, checked ? &check : NULL);
    if (app->setup->workload && (code = write_workload(app, ex)) != TOOL_GO_ON)
        return code;
    return !checked || check.good ? TOOL_DONE : tool_fail(app->verb, "the result is wrong: %s.", check.text);
}

int app_measure(const struct app *app)
{
    int code = TOOL_DONE;
    size_t count = app->setup->repeat;
    thrum_executor *ex = app_setup_open(app->verb, app->setup, &code);
    if (!ex)
        return code;
    struct app_sample *samples = calloc(count, sizeof *samples);
    code = samples ? measure(app, ex, samples) : tool_fail(app->verb, "no memory");
    for (size_t i = 0; samples && i < count; i++)
        app_counts_drop(&samples[i].counts);
    free(samples);
    if (thrum_executor_free(ex) != 0 && code == TOOL_DONE) /* a trace that cannot be written */
        code = failure(app);
    return code;
}
