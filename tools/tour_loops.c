/* SPDX-License-Identifier: MIT
 *
 * A stop of the tour: one loop whose iterations get shorter and shorter, by several rules; and the same rules on 64
 * workers that are only simulated.
 */
#include "tour.h"

#include <thrum/thrum.h>

#include <stdatomic.h>
#include <stdlib.h>

enum { ITERATIONS = 3000, MOST_CHUNKS = 2 * ITERATIONS, STEPS = 30, EXECUTIONS = 5 };

struct chunk {
    double begin, end;
    int worker;
};

struct record {
    double start;
    _Atomic size_t count;
    _Atomic uint64_t steps; /* of work, to be checked */
    struct chunk chunks[MOST_CHUNKS];
};

/* Iteration i takes ITERATIONS - i times as long as the last one. */
static void work(size_t lo, size_t hi, void *ctx)
{
    struct record *record = ctx;
    size_t place = atomic_fetch_add(&record->count, 1);
    struct chunk chunk = {tool_now() - record->start, 0, thrum_worker_index()};
    uint64_t steps = 0;
    for (size_t i = lo; i < hi; i++)
        for (volatile size_t left = (ITERATIONS - i) * STEPS / 10; left > 0; left--)
            steps++;
    chunk.end = tool_now() - record->start;
    atomic_fetch_add(&record->steps, steps);
    if (place < MOST_CHUNKS)
        record->chunks[place] = chunk;
}

static uint64_t expected_steps(void)
{
    uint64_t steps = 0;
    for (size_t i = 0; i < ITERATIONS; i++)
        steps += (ITERATIONS - i) * STEPS / 10;
    return steps;
}

/* The best of some executions stays in the record: its seconds, or -1. */
static double execute(struct record *record, thrum_technique technique)
{
    struct record *best = malloc(sizeof *best);
    double least = -1;
    for (int i = 0; i < EXECUTIONS && best; i++) {
        record->start = tool_now();
        atomic_store(&record->count, 0);
        atomic_store(&record->steps, 0);
        if (thrum_for(NULL, 0, ITERATIONS, work, record, .schedule = technique)) {
            free(best);
            return tour_stop("the loop failed: %s", thrum_message(NULL));
        }
        double took = tool_now() - record->start;
        if (atomic_load(&record->steps) != expected_steps()) {
            free(best);
            return tour_stop("%s did another amount of work than the loop has", thrum_technique_name(technique));
        }
        if (least < 0 || took < least) {
            least = took;
            *best = *record;
        }
    }
    if (!best)
        return tour_stop("no memory");
    *record = *best;
    free(best);
    return least;
}

/* ---- Pictures ---------------------------------------------------------------------------------------------------- */

static int by_worker_then_time(const void *a, const void *b)
{
    const struct chunk *x = a, *y = b;
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

enum { MOST_LANES = 64 };

/* The record as a trace: a lane for each worker, an event for each chunk. */
static void draw(struct page *page, struct record *record, const char *caption)
{
    static char label[MOST_LANES][32], name[] = "chunk";
    static struct trace_event events[MOST_CHUNKS];
    struct trace_lane lanes[MOST_LANES] = {{0}};
    struct trace_name names[] = {{name, 0, 0, 0}};
    struct trace trace = {.events = events, .lanes = lanes, .names = names, .name_count = 1};
    size_t count = atomic_load(&record->count);
    qsort(record->chunks, count, sizeof *record->chunks, by_worker_then_time);
    for (size_t i = 0; i < count && i < MOST_CHUNKS; i++) {
        const struct chunk *chunk = &record->chunks[i];
        if (i == 0 || chunk->worker != record->chunks[i - 1].worker) {
            if (trace.lane_count == MOST_LANES)
                break;
            snprintf(label[trace.lane_count], sizeof *label, "worker %d", chunk->worker);
            lanes[trace.lane_count].label = label[trace.lane_count];
            trace.lane_count++;
        }
        double length = chunk->end - chunk->begin;
        events[trace.event_count++] =
            (struct trace_event){.begin = chunk->begin, .length = length, .lane = trace.lane_count - 1};
        lanes[trace.lane_count - 1].busy += length;
        trace.makespan = chunk->end > trace.makespan ? chunk->end : trace.makespan;
    }
    page_gantt(page, &trace, trace.makespan, caption);
}

/* ---- The stop ---------------------------------------------------------------------------------------------------- */

static int show_measured(struct page *page, struct record *record)
{
    static const thrum_technique techniques[] = {THRUM_STAT, THRUM_SS, THRUM_GSS, THRUM_FAC2, THRUM_AF, THRUM_STEAL};
    char text[TOOL_TIME_SIZE];
    page_table_open(page);
    for (size_t i = 0; i < sizeof techniques / sizeof *techniques; i++) {
        double took = execute(record, techniques[i]);
        if (took < 0)
            return -1;
        page_row(page, thrum_technique_name(techniques[i]), "%s, in %zu chunks: %s", tool_time(took, text),
                 atomic_load(&record->count), thrum_technique_text(techniques[i]));
    }
    page_table_close(page);
    return 0;
}

static int show_simulated(struct page *page)
{
    static const thrum_technique techniques[] = {THRUM_STAT, THRUM_SS, THRUM_GSS, THRUM_TSS, THRUM_FAC2, THRUM_BOLD};
    page_table_open(page);
    for (size_t i = 0; i < sizeof techniques / sizeof *techniques; i++) {
        thrum_loop_sim sim = {.technique = techniques[i],
                              .facts = {.iterations = 65536, .workers = 64, .cost = 0.5},
                              .times = "exp:1",
                              .runs = 100,
                              .seed = 1};
        thrum_loop_sim_result result;
        if (thrum_loop_simulate(NULL, &sim, &result))
            return tour_stop("the simulation failed: %s", thrum_message(NULL));
        page_row(page, thrum_technique_name(techniques[i]), "wasted time %.1f ± %.1f, %.0f chunks", result.mean,
                 result.standard_error, result.chunks);
    }
    page_table_close(page);
    return 0;
}

static int show_pictures(struct page *page, struct record *record)
{
    if (execute(record, THRUM_STAT) < 0)
        return -1;
    draw(page, record, "STAT: a block for each worker. The first blocks have the long iterations.");
    if (execute(record, THRUM_FAC2) < 0)
        return -1;
    draw(page, record, "FAC2: batches of chunks, each half of what is left.");
    return 0;
}

int tour_show_loops(struct page *page)
{
    struct record *record = calloc(1, sizeof *record);
    if (!record)
        return tour_stop("no memory");
    page_text(page,
              "A loop is handed out in chunks, and how large those are is a question with some twenty-five published "
              "answers. Here iterations get shorter and shorter; each answer is a word in the call.");
    page_code(page, "thrum_for(NULL, 0, n, body, &ctx, .schedule = THRUM_FAC2);\n");
    int code = show_pictures(page, record);
    if (code == 0)
        code = show_measured(page, record);
    if (code == 0)
        page_text(
            page,
            "The same rules on 64 workers that are only simulated: 65,536 iterations of random length, mean 1, and "
            "0.5 for handing out a chunk.");
    if (code == 0)
        code = show_simulated(page);
    if (code == 0)
        page_text(page, "Run it alone: `build/examples/23-loops`, and "
                        "`thrum loop-sim --technique FAC2 --n 65536 --p 64 --dist exp:1 --h 0.5`.");
    free(record);
    return code;
}
