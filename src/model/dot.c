/* SPDX-License-Identifier: MIT
 *
 * Drawing a graph in Graphviz' DOT language.
 *
 * A task is a node named after its number: t3. A module is a cluster with the tasks of its graph (t3_0, t3_1, ...)
 * between two points, where it begins (t3) and ends (t3_end): edges to the module lead to the one, edges from it part
 * from the other. So the text also reads as a graph without modules that does the same. A graph that is in two modules
 * is drawn twice.
 */
#include "model/graph_int.h"
#include "model/next.h"

#include <string.h>

enum {
    DEEPEST = 32,         /* clusters in each other; each costs stack */
    MOST_CLUSTERS = 1000, /* in all: a graph may hold another twice, that one a third twice, and so on */
};

struct picture {
    FILE *out;
    unsigned clusters;
    int err; /* the last one */
};

/* The graph at hand: the whole one, or that of a module. */
struct level {
    struct picture *picture;
    const struct level *outer; /* the graph around, or NULL */
    int64_t module;            /* the module's number in that */
    int depth;
    bool has_end; /* a task leads to the module's end */
};

static void indent(const struct level *level)
{
    fprintf(level->picture->out, "%*s", 4 * (level->depth + 1), "");
}

/* The name of the node for the task with that number. */
static void put_id(const struct level *level, int64_t number)
{
    if (level->outer) {
        put_id(level->outer, level->module);
        putc('_', level->picture->out);
    } else {
        putc('t', level->picture->out);
    }
    fprintf(level->picture->out, "%lld", (long long)number);
}

static void put_quoted(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\n') {
            fputs("\\n", out);
            continue;
        }
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        putc(*text, out);
    }
}

static void put_name(FILE *out, const thrum_task *task)
{
    const char *name = thrum_task_name(task);
    if (*name)
        put_quoted(out, name);
    else
        fprintf(out, "%lld", (long long)thrum_task_number(task));
}

static const char *shape_of(const thrum_task *task)
{
    switch (thrum__kind_of(task)) {
    case THRUM__IS_SCOPE:
        return ", shape=box, peripheries=2";
    case THRUM__IS_CONDITION:
        return ", shape=diamond, style=solid";
    case THRUM__IS_CHOICE:
        return ", shape=diamond, style=solid, peripheries=2";
    case THRUM__IS_MODULE:
        return ", shape=tab, style=solid";
    default:
        return "";
    }
}

static void put_node(const struct level *level, const thrum_task *task)
{
    FILE *out = level->picture->out;
    indent(level);
    put_id(level, thrum_task_number(task));
    fputs(" [label=\"", out);
    put_name(out, task);
    if (thrum__kind_of(task) == THRUM__IS_MODULE) {
        fputs("\\n(not drawn: ", out);
        put_quoted(out, ((const thrum_graph *)task->arg)->names->graph);
        putc(')', out);
    }
    fprintf(out, "\"%s];\n", shape_of(task));
}

/* ---- Modules ----------------------------------------------------------------------------------------------------- */

static void put_task(const thrum_task *task, const thrum_task *const *successors, size_t count, void *arg);

/* It has no say in what stands above what: all tasks shown are of one iteration. */
static void put_edge_to_next_iteration(int64_t from, int64_t to, void *arg)
{
    const struct level *level = arg;
    indent(level);
    put_id(level, from);
    fputs(" -> ", level->picture->out);
    put_id(level, to);
    fputs(" [style=dashed, color=blue, constraint=false, label=\"next\"];\n", level->picture->out);
}

static void put_graph(struct level *level, thrum_graph *graph)
{
    int err = thrum_graph_visit(graph, put_task, level);
    if (err)
        level->picture->err = err;
    thrum__nexts_visit(graph, put_edge_to_next_iteration, level);
}

static void put_cluster_label(FILE *out, const thrum_task *task)
{
    const char *name = thrum_task_name(task), *graph = ((const thrum_graph *)task->arg)->names->graph;
    bool both = *name && *graph && strcmp(name, graph) != 0;
    fputs("label=\"", out);
    put_quoted(out, *name ? name : graph);
    fputs(both ? ": " : "", out);
    put_quoted(out, both ? graph : "");
    fputs("\";\n", out);
}

/* Where the module begins and ends. */
static void put_points(const struct level *level, const thrum_task *task)
{
    FILE *out = level->picture->out;
    static const char *const begins[] = {" [label=\"", "_end [label=\"end of "};
    for (int i = 0; i < 2; i++) {
        indent(level);
        put_id(level->outer, level->module);
        fputs(begins[i], out);
        put_name(out, task);
        fputs("\", shape=point, color=gray50];\n", out);
    }
}

/* From where the module begins to a task that its graph begins with. */
static void put_begin(const struct level *level, int64_t to)
{
    indent(level);
    put_id(level->outer, level->module);
    fputs(" -> ", level->picture->out);
    put_id(level, to);
    fputs(" [color=gray50];\n", level->picture->out);
}

/* From a task that nothing follows to where the module ends; `suffix` makes it the end of the task. */
static void put_end(struct level *level, const struct level *of, int64_t from, const char *suffix)
{
    level->has_end = true;
    indent(level);
    put_id(of, from);
    fprintf(level->picture->out, "%s -> ", suffix);
    put_id(level->outer, level->module);
    fputs("_end [color=gray50];\n", level->picture->out);
}

/* False: there are too many already, or the module's graph is not in order. */
static bool put_cluster(const struct level *outer, const thrum_task *task)
{
    struct picture *picture = outer->picture;
    struct level inner = {
        .picture = picture, .outer = outer, .module = thrum_task_number(task), .depth = outer->depth + 1};
    if (outer->depth == DEEPEST || picture->clusters == MOST_CLUSTERS)
        return false;
    int err = thrum_graph_freeze(task->arg);
    if (err) {
        picture->err = err;
        return false;
    }
    picture->clusters++;
    indent(outer);
    fputs("subgraph cluster_", picture->out);
    put_id(outer, inner.module);
    fputs(" {\n", picture->out);
    indent(&inner);
    put_cluster_label(picture->out, task);
    put_points(&inner, task);
    put_graph(&inner, task->arg);
    if (!inner.has_end) /* empty, or a loop that a condition ends by naming nobody */
        put_end(&inner, outer, inner.module, "");
    indent(outer);
    fputs("}\n", picture->out);
    return true;
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

static void put_task(const thrum_task *task, const thrum_task *const *successors, size_t count, void *arg)
{
    struct level *level = arg;
    FILE *out = level->picture->out;
    int64_t number = thrum_task_number(task);
    bool weak = thrum__is_condition(task), is_source = !(task->strong & (THRUM__STRONG_MASK | THRUM__WEAK_IN));
    bool open = thrum__kind_of(task) == THRUM__IS_MODULE && put_cluster(level, task);
    const char *suffix = open ? "_end" : "";
    if (!open)
        put_node(level, task);
    if (level->outer && is_source)
        put_begin(level, number);
    for (size_t i = 0; i < count; i++) {
        int64_t to = thrum_task_number(successors[i]);
        indent(level);
        put_id(level, number);
        fprintf(out, "%s -> ", suffix);
        put_id(level, to);
        if (weak) /* a way back has no say in what stands above what */
            fprintf(out, " [style=dashed, label=%zu%s]", i, to <= number ? ", constraint=false" : "");
        fputs(";\n", out);
    }
    if (level->outer && count == 0)
        put_end(level, level, number, suffix);
}

int thrum_graph_dot(thrum_graph *graph, FILE *out)
{
    if (!graph || !out)
        return thrum__fault(THRUM_EINVAL, "thrum_graph_dot: %s is NULL", graph ? "the file" : "the graph");
    int err = thrum_graph_freeze(graph);
    if (err)
        return err;
    struct picture picture = {.out = out};
    struct level top = {.picture = &picture};
    fputs("digraph \"", out);
    put_quoted(out, graph->names->graph);
    fputs("\" {\n    graph [fontname=\"sans-serif\", style=rounded, color=gray50, labeljust=l];\n"
          "    node [shape=box, style=rounded, fontname=\"sans-serif\"];\n",
          out);
    put_graph(&top, graph);
    fputs("}\n", out);
    if (!picture.err && ferror(out))
        picture.err = thrum__fault(THRUM_ESYSTEM, "thrum_graph_dot: the file cannot be written");
    return picture.err;
}
