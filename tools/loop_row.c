/* SPDX-License-Identifier: MIT
 *
 * thrum loop-sim: one simulation after the other, with a bar that tells how far it is, and their results as text, JSON
 * and CSV.
 */
#include "loop_sim.h"
#include "common.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *loop_model_name(thrum_loop_model model)
{
    return model == THRUM_MODEL_MSG ? "msg" : "hagerup";
}

const char *loop_engine_name(thrum_sim_engine engine)
{
    return engine == THRUM_ENGINE_SIMGRID ? "simgrid" : "native";
}

/* ---- How far it is ----------------------------------------------------------------------------------------------- */

struct loop_progress {
    pthread_mutex_t lock; /* around what follows, and the terminal */
    const struct loop_row *rows;
    double *until; /* until[i]: what rows before i take, in chunks, out of until[count] */
    size_t count, index;
    double begun, shown;
};

/* Chunks of a run, about: the schedule is asked by all workers in turn, as if no time passed. */
static double guess_chunks(const thrum_loop_sim *sim)
{
    thrum_loop_facts facts = sim->facts;
    if (facts.mean == 0)
        facts.mean = facts.deviation = 1;
    if (sim->technique == THRUM_SS)
        return (double)facts.iterations;
    thrum_schedule *schedule = thrum_schedule_new(sim->technique, &facts);
    double chunks = 1;
    thrum_chunk chunk;
    for (uint32_t i = 0; schedule && thrum_schedule_next(schedule, i, 0, &chunk); i = (i + 1) % facts.workers)
        chunks++;
    thrum_schedule_free(schedule);
    return chunks;
}

struct loop_progress *loop_progress_begin(const struct loop_row *rows, size_t count)
{
    struct loop_progress *progress = isatty(STDERR_FILENO) ? calloc(1, sizeof *progress) : NULL;
    if (!progress)
        return NULL;
    progress->until = calloc(count + 1, sizeof *progress->until);
    if (!progress->until) {
        free(progress);
        return NULL;
    }
    pthread_mutex_init(&progress->lock, NULL);
    progress->rows = rows;
    progress->count = count;
    progress->begun = tool_now();
    for (size_t i = 0; i < count; i++)
        progress->until[i + 1] = progress->until[i] + (double)rows[i].sim.runs * guess_chunks(&rows[i].sim);
    return progress;
}

void loop_progress_end(struct loop_progress *progress)
{
    if (!progress)
        return;
    fprintf(stderr, "\r%79s\r", "");
    pthread_mutex_destroy(&progress->lock);
    free(progress->until);
    free(progress);
}

static void show(const struct loop_progress *progress, double share_of_row)
{
    enum { WIDTH = 30 };
    const thrum_loop_sim *sim = &progress->rows[progress->index].sim;
    double from = progress->until[progress->index], to = progress->until[progress->index + 1];
    double share = (from + share_of_row * (to - from)) / progress->until[progress->count];
    double left = share > 0.02 ? (tool_now() - progress->begun) * (1 / share - 1) : NAN;
    char bar[WIDTH + 1] = "", time[32] = "", text[80];
    for (int i = 0; i < WIDTH; i++)
        bar[i] = i < share * WIDTH ? '#' : '.';
    if (left >= 0)
        snprintf(time, sizeof time, ", %.0f s left", left);
    snprintf(text, sizeof text, "[%s] %3.0f %%  %zu/%zu %s p=%" PRIu32 "%s", bar, 100 * share, progress->index + 1,
             progress->count, thrum_technique_name(sim->technique), sim->facts.workers, time);
    fprintf(stderr, "\r%-79s", text);
}

static int on_progress(uint64_t done, uint64_t runs, void *ctx)
{
    struct loop_progress *progress = ctx;
    pthread_mutex_lock(&progress->lock);
    double now = tool_now();
    if (now - progress->shown > 0.1) {
        progress->shown = now;
        show(progress, (double)done / (double)runs);
    }
    pthread_mutex_unlock(&progress->lock);
    return 0;
}

bool loop_row_run(struct loop_row *rows, size_t index, struct loop_progress *progress)
{
    struct loop_row *row = &rows[index];
    if (progress) {
        progress->index = index;
        row->sim.progress = on_progress;
        row->sim.ctx = progress;
    }
    int error = thrum_loop_simulate(NULL, &row->sim, &row->result);
    if (progress && isatty(STDOUT_FILENO))
        fprintf(stderr, "\r%79s\r", "");
    return error == 0;
}

/* ---- For people -------------------------------------------------------------------------------------------------- */

void loop_row_print_head(FILE *out)
{
    fprintf(out, "%-9s %11s %6s %-22s %5s %-8s %11s %10s %10s %11s %11s %11s %13s\n", "technique", "n", "p", "times",
            "h", "model", "wasted", "+-", "deviation", "least", "most", "chunks", "makespan");
}

void loop_row_print(FILE *out, const struct loop_row *row)
{
    const thrum_loop_sim_result *r = &row->result;
    fprintf(out, "%-9s %11" PRIu64 " %6" PRIu32 " %-22.22s %5g %-8s %11.5g %10.3g %10.4g %11.5g %11.5g %11.6g %13.7g\n",
            thrum_technique_name(row->sim.technique), row->sim.facts.iterations, row->sim.facts.workers, row->sim.times,
            row->sim.facts.cost, loop_model_name(row->sim.model), r->mean, r->standard_error, r->deviation, r->min,
            r->max, r->chunks, r->makespan);
}

void loop_row_print_long(FILE *out, const struct loop_row *row)
{
    const thrum_loop_sim *sim = &row->sim;
    const thrum_loop_sim_result *r = &row->result;
    fprintf(out,
            "%s, n = %" PRIu64 ", p = %" PRIu32 ", times %s, h = %g; model %s, engine %s, %" PRIu64
            " runs, seed %" PRIu64 "\n",
            thrum_technique_name(sim->technique), sim->facts.iterations, sim->facts.workers, sim->times,
            sim->facts.cost, loop_model_name(sim->model), loop_engine_name(sim->engine), sim->runs, sim->seed);
    fprintf(out, "wasted time   %.6g +- %.3g (standard error), deviation %.6g, between %.6g and %.6g\n", r->mean,
            r->standard_error, r->deviation, r->min, r->max);
    fprintf(out, "chunks        %.6g\n", r->chunks);
    fprintf(out, "makespan      %.9g\n", r->makespan);
}

/* ---- For programs ------------------------------------------------------------------------------------------------ */

json_t *loop_row_json(const struct loop_row *row)
{
    const thrum_loop_sim *sim = &row->sim;
    const thrum_loop_sim_result *r = &row->result;
    return json_pack("{s:s, s:I, s:I, s:f, s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "technique",
                     thrum_technique_name(sim->technique), "n", (json_int_t)sim->facts.iterations, "p",
                     (json_int_t)sim->facts.workers, "h", sim->facts.cost, "dist", sim->times, "model",
                     loop_model_name(sim->model), "engine", loop_engine_name(sim->engine), "runs",
                     (json_int_t)sim->runs, "seed", (json_int_t)sim->seed, "mean", r->mean, "stderr", r->standard_error,
                     "sd", r->deviation, "min", r->min, "max", r->max, "chunks", r->chunks, "makespan", r->makespan);
}

void loop_csv_head(FILE *out)
{
    fputs("technique,n,p,h,dist,model,engine,runs,seed,mean,stderr,sd,min,max,chunks,makespan\n", out);
}

/* Texts with a comma in quotes, quotes in them twice. */
static void csv_text(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

void loop_csv_row(FILE *out, const struct loop_row *row)
{
    const thrum_loop_sim *sim = &row->sim;
    const thrum_loop_sim_result *r = &row->result;
    fprintf(out, "%s,%" PRIu64 ",%" PRIu32 ",%.17g,", thrum_technique_name(sim->technique), sim->facts.iterations,
            sim->facts.workers, sim->facts.cost);
    csv_text(out, sim->times);
    fprintf(out, ",%s,%s,%" PRIu64 ",%" PRIu64 ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n",
            loop_model_name(sim->model), loop_engine_name(sim->engine), sim->runs, sim->seed, r->mean,
            r->standard_error, r->deviation, r->min, r->max, r->chunks, r->makespan);
}
