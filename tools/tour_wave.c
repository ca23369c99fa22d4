/* SPDX-License-Identifier: MIT
 *
 * A stop of the tour: a wavefront, recorded and shown as a timeline.
 */
#include "tour.h"
#include "trace_read.h"

#include <thrum/thrum.h>

enum { SIDE = 12, BLOCK_ROUNDS = 60000, PASSES = 5 };

struct block {
    struct block *above, *left;
    unsigned long long ways, noise;
};

/* Counts the ways from the corner to this block, and computes a while so that there is something to see. */
static void compute_block(void *arg)
{
    struct block *block = arg;
    unsigned long long noise = 1;
    for (int i = 0; i < BLOCK_ROUNDS; i++)
        noise = noise * 6364136223846793005ull + 1442695040888963407ull;
    block->noise = noise;
    if (block->above || block->left)
        block->ways = (block->above ? block->above->ways : 0) + (block->left ? block->left->ways : 0);
}

static void build_wavefront(thrum_graph *graph, struct block blocks[SIDE][SIDE])
{
    thrum_task *tasks[SIDE][SIDE];
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            char name[32];
            snprintf(name, sizeof name, "diagonal %d", i + j);
            blocks[i][j] = (struct block){i ? &blocks[i - 1][j] : NULL, j ? &blocks[i][j - 1] : NULL, 1, 0};
            tasks[i][j] = thrum_task_new(graph, compute_block, &blocks[i][j]);
            thrum_task_set_name(tasks[i][j], name);
            if (i)
                thrum_precede(tasks[i - 1][j], tasks[i][j]);
            if (j)
                thrum_precede(tasks[i][j - 1], tasks[i][j]);
        }
}

static int run_once(thrum_executor *ex, void *graph)
{
    return thrum_run(ex, graph) != 0 ? tour_stop("the wavefront failed: %s", thrum_message(graph)) : 0;
}

static void show_timeline(struct page *page, const struct trace *trace, const thrum_graph_stats *stats)
{
    char makespan[TOOL_TIME_SIZE], mean[TOOL_TIME_SIZE];
    page_facts_open(page);
    page_fact(page, "tasks", "%zu", trace->event_count);
    page_fact(page, "makespan", "%s", tool_time(trace->makespan, makespan));
    page_fact(page, "a task, on average", "%s", tool_time(trace->busy / (double)trace->event_count, mean));
    page_fact(page, "blocks at work, on average", "%.2f", trace->busy / trace->makespan);
    page_fact(page, "parallelism of the graph", "%.2f", stats->work / stats->span_work);
    page_facts_close(page);
    page_gantt(page, trace, trace->makespan,
               "The quickest of five runs: a lane per worker with its share of busy time, a colour per diagonal.");
}

static int record(thrum_graph *graph, struct trace *trace)
{
    int code = tour_record(&(thrum_config){0}, run_once, graph, trace);
    if (code == 0 && trace->event_count != SIDE * SIDE) {
        code = tour_stop("the trace of the wavefront holds %zu tasks, not %d", trace->event_count, SIDE * SIDE);
        trace_free(trace);
    }
    return code;
}

/* Other programs may take a processor away for a while, so the quickest of a few runs is shown. */
static int show_recorded(struct page *page, thrum_graph *graph)
{
    struct trace best = {0};
    thrum_graph_stats stats;
    int code = 0;
    if (thrum_graph_measure(graph, NULL, NULL, &stats) != 0)
        return tour_stop("the wavefront cannot be measured: %s", thrum_message(NULL));
    for (int pass = 0; pass < PASSES && code == 0; pass++) {
        struct trace trace;
        code = record(graph, &trace);
        if (code != 0)
            break;
        if (best.event_count && best.makespan <= trace.makespan) {
            trace_free(&trace);
        } else {
            trace_free(&best);
            best = trace;
        }
    }
    if (code == 0)
        show_timeline(page, &best, &stats);
    trace_free(&best);
    return code;
}

int tour_show_wavefront(struct page *page)
{
    static struct block blocks[SIDE][SIDE];
    thrum_graph *graph = thrum_graph_new("wavefront");
    build_wavefront(graph, blocks);
    page_text(page,
              "%d by %d blocks; each waits for the one above and the one to its left, as in dynamic programming."
              " The work runs through the grid as a wave: narrow at both ends, wide in the middle.",
              SIDE, SIDE);
    page_code(page, "if (i) thrum_precede(task[i - 1][j], task[i][j]);\n"
                    "if (j) thrum_precede(task[i][j - 1], task[i][j]);\n"
                    "...\n"
                    "thrum_executor *ex = thrum_executor_new(&(thrum_config){.trace = \"wave.json\"});\n"
                    "thrum_run(ex, g);\n"
                    "thrum_executor_free(ex);          /* writes the trace */\n");
    int code = show_recorded(page, graph);
    const unsigned long long ways = 705432; /* 22 choose 11 */
    if (code == 0 && blocks[SIDE - 1][SIDE - 1].ways != ways)
        code = tour_stop("the wavefront counted %llu ways, not %llu", blocks[SIDE - 1][SIDE - 1].ways, ways);
    page_text(page,
              "The blocks counted the ways through the grid: %llu, as it must be. Any program records with "
              "`THRUM_TRACE=run.json`; `thrum trace summary run.json` sums it up, Perfetto and speedscope open "
              "it.",
              blocks[SIDE - 1][SIDE - 1].ways);
    thrum_graph_free(graph);
    return code;
}
