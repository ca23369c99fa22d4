/* SPDX-License-Identifier: MIT
 *
 * thrum graph: checks, measures or draws a graph of tasks that is written in DOT.
 */
#define _POSIX_C_SOURCE 200809L

#include "commands.h"
#include "common.h"
#include "dot_read.h"
#include "graphviz.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char help[] = "usage: thrum graph check FILE\n"
                           "       thrum graph stats FILE [--json]\n"
                           "       thrum graph draw FILE [-o PICTURE]\n\n"
                           "FILE is a digraph in Graphviz' DOT language, written by hand or by thrum_graph_dot;\n"
                           "'-' reads standard input. A node's label names the task; work=NUMBER is its weight\n"
                           "(1 without it); shape=diamond makes it a condition, which may lead back: a loop.\n"
                           "An edge with label=next leads into the next iteration of the graph.\n\n"
                           "  check    builds the graph and has thrum check it: tasks that wait for each other\n"
                           "           in a circle and graphs in which no task can start are reported\n"
                           "  stats    tasks, edges, sources, sinks, work (sum of weights), span (heaviest path)\n"
                           "           and parallelism (work divided by span)\n"
                           "  draw     a picture as SVG, by Graphviz' program dot; a graph with a circle is\n"
                           "           drawn and reported as well\n\n"
                           "options:\n"
                           "  --json              stats: one JSON object instead of a table\n"
                           "  -o, --out PICTURE   draw: where the picture goes; '-' is standard output.\n"
                           "                      Default: FILE with the ending .svg\n"
                           "  --help              this text\n";

struct request {
    const char *path, *shown; /* as given; as named in messages */
    const char *out;
    bool json;
    char *text;
    size_t size;
    struct dot_graph graph;
};

static double work_of(const thrum_task *task, void *arg)
{
    const struct dot_graph *graph = arg;
    return graph->work[thrum_task_number(task)];
}

static int report_graph_error(const struct request *request)
{
    return tool_fail("graph", "%s: %s", request->shown, thrum_message(NULL));
}

static int check(struct request *request)
{
    thrum_graph_stats stats;
    if (thrum_graph_measure(request->graph.graph, NULL, NULL, &stats) != 0)
        return report_graph_error(request);
    printf("%s: good: %llu tasks, %llu edges, %llu sources, %llu sinks\n", request->shown,
           (unsigned long long)stats.tasks, (unsigned long long)stats.edges, (unsigned long long)stats.sources,
           (unsigned long long)stats.sinks);
    return TOOL_DONE;
}

static double parallelism(const thrum_graph_stats *stats)
{
    return stats->span_work > 0 ? stats->work / stats->span_work : 0;
}

static int print_stats_json(const struct request *request, const thrum_graph_stats *stats)
{
    json_t *object = json_pack(
        "{s:s%, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:I}", "graph", request->graph.name,
        strlen(request->graph.name), "tasks", (json_int_t)stats->tasks, "edges", (json_int_t)stats->edges, "sources",
        (json_int_t)stats->sources, "sinks", (json_int_t)stats->sinks, "span_tasks", (json_int_t)stats->span, "work",
        stats->work, "span", stats->span_work, "parallelism", parallelism(stats), "bytes", (json_int_t)stats->bytes);
    if (!object)
        return tool_fail("graph", "%s: the graph's name cannot be written as JSON: it is not UTF-8", request->shown);
    json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(12));
    putchar('\n');
    json_decref(object);
    return TOOL_DONE;
}

static int stats(struct request *request)
{
    thrum_graph_stats s;
    if (thrum_graph_measure(request->graph.graph, work_of, &request->graph, &s) != 0)
        return report_graph_error(request);
    if (request->json)
        return print_stats_json(request, &s);
    printf("graph        %s\n", *request->graph.name ? request->graph.name : "(no name)");
    printf("tasks        %llu\n", (unsigned long long)s.tasks);
    printf("edges        %llu\n", (unsigned long long)s.edges);
    printf("sources      %llu\n", (unsigned long long)s.sources);
    printf("sinks        %llu\n", (unsigned long long)s.sinks);
    printf("work         %-12.6g sum of all weights\n", s.work);
    printf("span         %-12.6g weight of the heaviest path\n", s.span_work);
    printf("longest path %-12llu tasks one after the other\n", (unsigned long long)s.span);
    printf("parallelism  %-12.4g work / span: more workers than this cannot help\n", parallelism(&s));
    printf("memory       %zu bytes\n", s.bytes);
    return TOOL_DONE;
}

/* FILE.dot becomes FILE.svg; to be freed. */
static char *picture_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t stem = dot && dot > (slash ? slash + 1 : path) ? (size_t)(dot - path) : strlen(path);
    if (strcmp(path + stem, ".svg") == 0) /* never over the file that was read */
        stem = strlen(path);
    char *picture = malloc(stem + sizeof ".svg");
    if (picture) {
        memcpy(picture, path, stem);
        strcpy(picture + stem, ".svg");
    }
    return picture;
}

static int draw(struct request *request)
{
    char why[600];
    size_t size;
    int checked = thrum_graph_freeze(request->graph.graph) == 0 ? TOOL_DONE : report_graph_error(request);
    bool to_stdout = request->out ? strcmp(request->out, "-") == 0 : strcmp(request->path, "-") == 0;
    char *picture = to_stdout ? strdup("-") : request->out ? strdup(request->out) : picture_path(request->path);
    char *svg = graphviz_svg(request->text, request->size, &size, why, sizeof why);
    int code = TOOL_DONE;
    if (!picture)
        code = tool_fail("graph", "no memory");
    else if (!svg || !tool_write_file(picture, svg, size, why, sizeof why))
        code = tool_fail("graph", "%s", why);
    else if (!to_stdout)
        printf("%s written\n", picture);
    free(svg);
    free(picture);
    return code == TOOL_DONE ? checked : code;
}

static const char *const action_names[] = {"check", "stats", "draw"};
static int (*const actions[])(struct request *) = {check, stats, draw};

static int find_action(const char *name)
{
    for (int i = 0; i < 3; i++)
        if (strcmp(action_names[i], name) == 0)
            return i;
    return -1;
}

static int read_and_run(struct request *request, int action)
{
    char why[600];
    request->shown = strcmp(request->path, "-") == 0 ? "standard input" : request->path;
    request->text = tool_read_file(request->path, &request->size, why, sizeof why);
    if (!request->text)
        return tool_fail("graph", "%s", why);
    struct dot_error error;
    int code;
    if (dot_read(request->text, request->size, &request->graph, &error) == 0) {
        code = actions[action](request);
        dot_free(&request->graph);
    } else if (error.line) {
        fprintf(stderr, "%s:%zu: %s\n", request->shown, error.line, error.text);
        code = TOOL_FAILED;
    } else {
        code = tool_fail("graph", "%s", error.text);
    }
    free(request->text);
    return code;
}

static int check_words(const struct tool_arguments *arguments, const struct request *request, int *action)
{
    if (arguments->word_count == 0)
        return tool_misuse("graph", "what is to be done with the graph is missing: check, stats or draw.");
    const char *word = arguments->words[0];
    *action = find_action(word);
    if (*action < 0) {
        const char *nearest = tool_nearest(word, action_names, 3);
        return tool_misuse("graph", "cannot '%s' a graph; %s%s%s", word, nearest ? "did you mean '" : "",
                           nearest ? nearest : "check, stats and draw are what there is.", nearest ? "'?" : "");
    }
    if (arguments->word_count < 2)
        return tool_misuse("graph", "'%s' needs a FILE ('-' for standard input).", word);
    if (arguments->word_count > 2)
        return tool_misuse("graph", "'%s' is one argument too many: '%s' takes one FILE.", arguments->words[2], word);
    if (request->json && actions[*action] != stats)
        return tool_misuse("graph", "'--json' belongs to 'stats', not to '%s'.", word);
    if (request->out && actions[*action] != draw)
        return tool_misuse("graph", "'--out' belongs to 'draw', not to '%s'.", word);
    return TOOL_GO_ON;
}

int thrum_cmd_graph(int argc, char **argv)
{
    struct request request = {0};
    const struct tool_option options[] = {{"--json", NULL, &request.json, NULL}, {"--out", "-o", NULL, &request.out}};
    const char **words = calloc((size_t)argc + 1, sizeof *words);
    if (!words)
        return tool_fail("graph", "no memory");
    struct tool_arguments arguments = {"graph", help, options, 2, words, 0};
    int action = -1;
    int code = tool_parse(&arguments, argc, argv);
    if (code == TOOL_GO_ON)
        code = check_words(&arguments, &request, &action);
    if (code == TOOL_GO_ON) {
        request.path = words[1];
        code = read_and_run(&request, action);
    }
    free(words);
    return code;
}
