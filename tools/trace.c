/* SPDX-License-Identifier: MIT
 *
 * thrum trace: sums up what a run recorded.
 */
#include "commands.h"
#include "common.h"
#include "trace_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: thrum trace summary FILE [--json] [--top N]\n\n"
    "FILE is a trace in Chrome's format, as THRUM_TRACE=FILE makes any program of thrum's\n"
    "write it; '-' reads standard input. (The same file opens in Perfetto and speedscope.)\n\n"
    "  summary   makespan (first begin to last end), how much of it each worker was busy\n"
    "            and idle, a bar over time per worker, how often it stole from others and slept,\n"
    "            copies and bytes over each way between memories, and the tasks that took most time\n\n"
    "options:\n"
    "  --json    one JSON object instead of tables\n"
    "  --top N   how many names of tasks to list (default 10; 0 lists all)\n"
    "  --help    this text\n";

enum { BAR = 50 };

static double share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* Microseconds with three digits behind the point: what the file itself has. */
static double micro(double seconds)
{
    return round(1e9 * seconds) / 1e3;
}

static double capacity(const struct trace *trace)
{
    return trace->makespan * (double)trace->workers;
}

/* ---- For people -------------------------------------------------------------------------------------------------- */

static void print_bar(const double slices[BAR])
{
    static const char shades[] = " .:+*#";
    putchar('|');
    for (int i = 0; i < BAR; i++)
        putchar(shades[slices[i] <= 0 ? 0 : slices[i] >= 0.999 ? 5 : 1 + (int)(slices[i] * 4)]);
    putchar('|');
}

static int label_width(const struct trace *trace)
{
    int width = 6;
    for (size_t i = 0; i < trace->lane_count; i++)
        if ((int)strlen(trace->lanes[i].label) > width)
            width = (int)strlen(trace->lanes[i].label);
    return width;
}

static void print_lanes(const struct trace *trace)
{
    double slices[BAR];
    char busy[TOOL_TIME_SIZE], idle[TOOL_TIME_SIZE];
    int width = label_width(trace);
    printf("\n%-*s %9s %10s %10s %10s\n", width, "worker", "tasks", "busy", "idle", "occupancy");
    for (size_t i = 0; i < trace->lane_count; i++) {
        const struct trace_lane *lane = &trace->lanes[i];
        printf("%-*s %9zu %10s %10s %8.1f %%  ", width, lane->label, lane->events, tool_time(lane->busy, busy),
               tool_time(trace->makespan - lane->busy, idle), 100 * share(lane->busy, trace->makespan));
        trace_slices(trace, i, slices, BAR);
        print_bar(slices);
        putchar('\n');
    }
}

/* Where content was thrown out, a line more says how often. */
static void print_thrown_out(const struct trace *trace)
{
    for (size_t i = 0; i < trace->link_count; i++) {
        const struct trace_link *link = &trace->links[i];
        if (link->thrown_out + link->written_back)
            printf("thrown out of memory %lld: %zu times, %zu after a copy back\n", link->from,
                   link->thrown_out + link->written_back, link->written_back);
    }
}

static void print_links(const struct trace *trace)
{
    double slices[BAR];
    char label[48], bytes[TOOL_TIME_SIZE], busy[TOOL_TIME_SIZE];
    int width = label_width(trace);
    if (!trace->link_count)
        return;
    printf("\n%-*s %9s %10s %10s %10s\n", width, "link", "copies", "bytes", "busy", "occupancy");
    for (size_t i = 0; i < trace->link_count; i++) {
        const struct trace_link *link = &trace->links[i];
        snprintf(label, sizeof label, "%lld>%lld", link->from, link->to);
        printf("%-*s %9zu %10s %10s %8.1f %%  ", width, label, link->copies, tool_bytes(link->bytes, bytes),
               tool_time(link->busy, busy), 100 * share(link->busy, trace->makespan));
        trace_link_slices(trace, i, slices, BAR);
        print_bar(slices);
        putchar('\n');
    }
    print_thrown_out(trace);
}

static void print_counts(const char *label, int width, const struct trace_stats *s)
{
    printf("%-*s %9lld %10lld %10lld %10lld %10lld\n", width, label, s->steals, s->wasted, s->sleeps, s->wakes,
           s->naps);
}

/* What workers did for want of work, where the recorder has written it. */
static void print_stats(const struct trace *trace)
{
    int width = label_width(trace);
    if (!trace->stats.known)
        return;
    printf("\n%-*s %9s %10s %10s %10s %10s\n", width, "worker", "steals", "wasted", "slept", "woken", "napped");
    for (size_t i = 0; i < trace->lane_count; i++)
        if (trace->lanes[i].stats.known)
            print_counts(trace->lanes[i].label, width, &trace->lanes[i].stats);
    print_counts("all", width, &trace->stats);
}

static void print_top(const struct trace *trace, const size_t *ranking, size_t top)
{
    char total[TOOL_TIME_SIZE], mean[TOOL_TIME_SIZE], longest[TOOL_TIME_SIZE];
    size_t shown = top && top < trace->name_count ? top : trace->name_count;
    printf("\n%9s %10s %10s %10s   %s\n", "count", "total", "mean", "longest", "task");
    for (size_t i = 0; i < shown; i++) {
        const struct trace_name *name = &trace->names[ranking[i]];
        printf("%9zu %10s %10s %10s   %s\n", name->count, tool_time(name->total, total),
               tool_time(name->total / (double)name->count, mean), tool_time(name->longest, longest), name->text);
    }
    if (shown < trace->name_count)
        printf("and %zu more; --top 0 lists all\n", trace->name_count - shown);
    if (trace->nested)
        printf("Some tasks ran inside others that waited for them: their time counts for both here.\n");
}

static void print_lost(const struct trace *trace)
{
    if (trace->lost > 0)
        printf("\n%lld events were overwritten, the oldest first, so the beginning is missing here:\n"
               "THRUM_TRACE_EVENTS sets how many a worker can keep.\n",
               trace->lost);
}

static void print_tables(const struct trace *trace, const size_t *ranking, size_t top)
{
    char makespan[TOOL_TIME_SIZE], busy[TOOL_TIME_SIZE], idle[TOOL_TIME_SIZE];
    printf("makespan   %s\n", tool_time(trace->makespan, makespan));
    size_t helpers = trace->lane_count - trace->workers;
    printf("tasks      %zu on %zu worker%s", trace->event_count, trace->workers, trace->workers == 1 ? "" : "s");
    if (helpers)
        printf(", in whose place %zu other thread%s helped", helpers, helpers == 1 ? "" : "s");
    putchar('\n');
    printf("busy       %s, %.1f %% of the workers' time\n", tool_time(trace->busy, busy),
           100 * share(trace->busy, capacity(trace)));
    printf("idle       %s\n", tool_time(capacity(trace) - trace->busy, idle));
    if (trace->event_count) {
        print_lanes(trace);
        print_links(trace);
        print_stats(trace);
        print_top(trace, ranking, top);
    } else {
        printf("\nNo task ran while this was recorded.\n");
        print_links(trace);
        print_stats(trace);
    }
    print_lost(trace);
}

/* ---- For programs ------------------------------------------------------------------------------------------------ */

static void add_stats(json_t *object, const struct trace_stats *s)
{
    if (!s->known)
        return;
    json_t *counts =
        json_pack("{s:I, s:I, s:I, s:I, s:I}", "steals", (json_int_t)s->steals, "wasted_steals", (json_int_t)s->wasted,
                  "sleeps", (json_int_t)s->sleeps, "wakes", (json_int_t)s->wakes, "naps", (json_int_t)s->naps);
    json_object_update_missing(object, counts);
    json_decref(counts);
}

static json_t *lanes_json(const struct trace *trace)
{
    json_t *list = json_array();
    for (size_t i = 0; i < trace->lane_count; i++) {
        const struct trace_lane *lane = &trace->lanes[i];
        json_array_append_new(list,
                              json_pack("{s:I, s:s, s:b, s:I, s:f, s:f, s:f}", "tid", (json_int_t)lane->thread, "name",
                                        lane->label, "helper", lane->helper, "tasks", (json_int_t)lane->events,
                                        "busy_us", micro(lane->busy), "idle_us", micro(trace->makespan - lane->busy),
                                        "occupancy", share(lane->busy, trace->makespan)));
        add_stats(json_array_get(list, i), &lane->stats);
    }
    return list;
}

static json_t *links_json(const struct trace *trace)
{
    json_t *list = json_array();
    for (size_t i = 0; i < trace->link_count; i++) {
        const struct trace_link *link = &trace->links[i];
        json_array_append_new(
            list, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "from", (json_int_t)link->from, "to",
                            (json_int_t)link->to, "copies", (json_int_t)link->copies, "bytes",
                            (json_int_t)fmin(link->bytes, 0x1p62), "prefetched", (json_int_t)link->prefetched,
                            "written_back", (json_int_t)link->written_back, "thrown_out", (json_int_t)link->thrown_out,
                            "busy_us", micro(link->busy), "occupancy", share(link->busy, trace->makespan)));
    }
    return list;
}

static json_t *top_json(const struct trace *trace, const size_t *ranking, size_t top)
{
    json_t *list = json_array();
    for (size_t i = 0; i < trace->name_count && (!top || i < top); i++) {
        const struct trace_name *name = &trace->names[ranking[i]];
        json_array_append_new(list,
                              json_pack("{s:s, s:I, s:f, s:f, s:f}", "name", name->text, "count",
                                        (json_int_t)name->count, "total_us", micro(name->total), "mean_us",
                                        micro(name->total / (double)name->count), "max_us", micro(name->longest)));
    }
    return list;
}

static void print_json(const struct trace *trace, const size_t *ranking, size_t top)
{
    json_t *object = json_pack("{s:f, s:I, s:f, s:f, s:f, s:I, s:o, s:o, s:o}", "makespan_us", micro(trace->makespan),
                               "tasks", (json_int_t)trace->event_count, "busy_us", micro(trace->busy), "idle_us",
                               micro(capacity(trace) - trace->busy), "occupancy", share(trace->busy, capacity(trace)),
                               "lost_events", (json_int_t)trace->lost, "workers", lanes_json(trace), "links",
                               links_json(trace), "top", top_json(trace, ranking, top));
    add_stats(object, &trace->stats);
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(object);
}

static int summary(const char *path, bool json, size_t top)
{
    struct trace trace;
    char why[600];
    if (trace_read(path, &trace, why, sizeof why) != 0)
        return tool_fail("trace", "%s", why);
    size_t *ranking = trace_ranking(&trace);
    if (!ranking) {
        trace_free(&trace);
        return tool_fail("trace", "no memory");
    }
    if (json)
        print_json(&trace, ranking, top);
    else
        print_tables(&trace, ranking, top);
    free(ranking);
    trace_free(&trace);
    return TOOL_DONE;
}

static int check_words(const struct tool_arguments *arguments, const char *top_text, size_t *top)
{
    if (arguments->word_count == 0)
        return tool_misuse("trace", "what is to be done with the trace is missing: summary.");
    if (strcmp(arguments->words[0], "summary") != 0)
        return tool_misuse("trace", "cannot '%s' a trace; 'summary' is what there is.", arguments->words[0]);
    if (arguments->word_count < 2)
        return tool_misuse("trace", "'summary' needs a FILE ('-' for standard input).");
    if (arguments->word_count > 2)
        return tool_misuse("trace", "'%s' is one argument too many: 'summary' takes one FILE.", arguments->words[2]);
    if (top_text) {
        if (strspn(top_text, "0123456789") != strlen(top_text) || strlen(top_text) > 9)
            return tool_misuse("trace", "'--top %s' is wrong: a number from 0 to 999999999 must follow.", top_text);
        *top = strtoul(top_text, NULL, 10);
    }
    return TOOL_GO_ON;
}

int thrum_cmd_trace(int argc, char **argv)
{
    bool json = false;
    const char *top_text = NULL;
    size_t top = 10;
    const struct tool_option options[] = {{"--json", NULL, &json, NULL}, {"--top", NULL, NULL, &top_text}};
    const char **words = calloc((size_t)argc + 1, sizeof *words);
    if (!words)
        return tool_fail("trace", "no memory");
    struct tool_arguments arguments = {"trace", help, options, 2, words, 0};
    int code = tool_parse(&arguments, argc, argv);
    if (code == TOOL_GO_ON)
        code = check_words(&arguments, top_text, &top);
    if (code == TOOL_GO_ON)
        code = summary(words[1], json, top);
    free(words);
    return code;
}
