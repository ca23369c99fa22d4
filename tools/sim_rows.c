/* SPDX-License-Identifier: MIT
 *
 * thrum sim: the rows of a sweep, simulated on all cores. Each row is one run on one thread and has its own random
 * numbers, so what comes out does not depend on how many there are.
 */
#include "sim.h"

#include "common.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How far it is: a bar on the terminal. */
struct progress {
    pthread_mutex_t lock;
    bool shown;
    double begun, last;
    size_t done;
    const struct sim_plan *plan;
};

static void show(const struct progress *progress)
{
    enum { WIDTH = 40 };
    double share = (double)progress->done / (double)progress->plan->row_count;
    double left = (tool_now() - progress->begun) * (1 / share - 1);
    char bar[WIDTH + 1] = "";
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < share * WIDTH ? '#' : '.';
    fprintf(stderr, "\r[%s] %zu of %zu, %.0f s left   ", bar, progress->done, progress->plan->row_count, left);
}

static void step(struct progress *progress)
{
    pthread_mutex_lock(&progress->lock);
    double now = tool_now();
    progress->done++;
    if (progress->shown && now - progress->last > 0.2) {
        progress->last = now;
        show(progress);
    }
    pthread_mutex_unlock(&progress->lock);
}

static bool make_room(struct sim_row *row)
{
    if (row->number_count < row->number_room)
        return true;
    size_t room = row->number_room ? 2 * row->number_room : 32;
    struct sim_number *more = realloc(row->numbers, room * sizeof *more);
    if (!more)
        return false;
    row->numbers = more;
    row->number_room = room;
    return true;
}

static void note(void *arg, const char *key, double value)
{
    struct sim_row *row = arg;
    char *copy = strdup(key);
    if (!copy || !make_room(row)) {
        free(copy);
        row->number_lost = true;
        return;
    }
    row->numbers[row->number_count++] = (struct sim_number){copy, value};
}

struct work {
    struct sim_plan *plan;
    struct progress *progress;
};

static void set_error(struct sim_row *row, int error, const char *sentence)
{
    row->error = error;
    row->sentence = strdup(sentence);
}

static void simulate_row(const struct work *work, size_t index)
{
    struct sim_row *row = &work->plan->rows[index];
    int error = thrum_simulate(&(thrum_sim){.machine = row->machine->machine,
                                            .workload = row->work->workload,
                                            .policy = row->policy,
                                            .seed = row->seed,
                                            .ahead = work->plan->ahead,
                                            .engine = work->plan->engine,
                                            .trace = work->plan->trace,
                                            .report = note,
                                            .ctx = row},
                               &row->result);
    if (error)
        set_error(row, error, thrum_message(NULL));
    else if (row->number_lost)
        set_error(row, THRUM_ENOMEM, "no memory for what the policy has counted");
    step(work->progress);
}

static void simulate(size_t begin, size_t end, void *ctx)
{
    for (size_t i = begin; i < end; i++)
        simulate_row(ctx, i);
}

/* The loop itself has failed: those that it did not come to have its error. */
static void fail_undone(struct sim_plan *plan, int error)
{
    for (size_t i = 0; i < plan->row_count; i++)
        if (!plan->rows[i].result && !plan->rows[i].error)
            set_error(&plan->rows[i], error, thrum_message(NULL));
}

size_t sim_rows_run(struct sim_plan *plan)
{
    struct progress progress = {
        .shown = isatty(STDERR_FILENO) && plan->row_count > 1, .begun = tool_now(), .plan = plan};
    struct work work = {plan, &progress};
    size_t failed = 0;
    pthread_mutex_init(&progress.lock, NULL);
    int error = thrum_for(NULL, 0, plan->row_count, simulate, &work, .schedule = THRUM_SS);
    if (error)
        fail_undone(plan, error);
    pthread_mutex_destroy(&progress.lock);
    if (progress.shown)
        fprintf(stderr, "\r%79s\r", "");
    for (size_t i = 0; i < plan->row_count; i++)
        failed += plan->rows[i].error != 0;
    return failed;
}

double sim_row_number(const struct sim_row *row, const char *key)
{
    for (size_t i = 0; i < row->number_count; i++)
        if (strcmp(row->numbers[i].key, key) == 0)
            return row->numbers[i].value;
    return NAN;
}

bool sim_row_steals(const struct sim_row *row)
{
    return strcmp(row->policy, "steal") == 0 || strncmp(row->policy, "steal;", strlen("steal;")) == 0;
}

bool sim_row_broke_rule(const struct sim_row *row)
{
    return sim_row_steals(row) && row->error == THRUM_EPOLICY;
}

struct sim_steals sim_row_steal_counts(const struct sim_row *row)
{
    double steals = sim_row_number(row, "steals"), stolen = sim_row_number(row, "stolen");
    double wasted = sim_row_number(row, "wasted_steals");
    if (sim_row_steals(row))
        return (struct sim_steals){(double)row->result->steals, (double)row->result->wasted_steals};
    if (!isnan(stolen) && isnan(wasted))
        wasted = (double)sim_row_times(row, 0, row->result->worker_count).refused;
    return (struct sim_steals){!isnan(steals) ? steals : !isnan(stolen) ? stolen : 0, isnan(wasted) ? 0 : wasted};
}

double sim_row_ratio(const struct sim_row *row)
{
    const thrum_sim_result *r = row->result;
    if (r->bound > 0)
        return r->makespan / r->bound;
    return r->makespan > 0 ? INFINITY : 1;
}

struct sim_times sim_row_times(const struct sim_row *row, int first, int count)
{
    struct sim_times sum = {0};
    for (int i = first; i < first + count; i++) {
        const thrum_sim_worker *w = &row->result->workers[i];
        sum.tasks += w->tasks;
        sum.busy += w->busy;
        sum.waiting += w->waiting;
        sum.crowded += w->crowded;
        sum.held += w->held;
        sum.starved += w->starved;
        sum.finished += w->finished;
        sum.refused += w->refused;
    }
    return sum;
}
