/* SPDX-License-Identifier: MIT
 *
 * Stops of the tour: a graph, its runs, its errors.
 */
#define _POSIX_C_SOURCE 200809L

#include "tour.h"
#include "graphviz.h"

#include <thrum/thrum.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- The diamond ------------------------------------------------------------------------------------------------- */

struct letters {
    atomic_int count;
    char order[8];
};

struct letter {
    struct letters *all;
    char letter;
};

static void note_letter(void *arg)
{
    struct letter *l = arg;
    l->all->order[atomic_fetch_add(&l->all->count, 1)] = l->letter;
}

void tour_show_graph(struct page *page, thrum_graph *graph)
{
    char *dot = NULL, why[600];
    size_t size = 0, svg_size;
    FILE *out = open_memstream(&dot, &size);
    if (out) {
        thrum_graph_dot(graph, out);
        fclose(out);
    }
    char *svg = dot ? graphviz_svg(dot, size, &svg_size, why, sizeof why) : NULL;
    if (svg) {
        page_picture(page, svg, "Written by `thrum_graph_dot`, laid out by Graphviz.");
    } else if (dot) {
        page_text(page, "%s. This is the graph as text:", why);
        page_code(page, dot);
    }
    free(svg);
    free(dot);
}

int tour_show_diamond(struct page *page)
{
    struct letters all = {0};
    struct letter letters[4];
    thrum_task *tasks[4];
    thrum_graph *graph = thrum_graph_new("diamond");
    for (int i = 0; i < 4; i++) {
        letters[i] = (struct letter){&all, (char)('A' + i)};
        tasks[i] = thrum_task_new(graph, note_letter, &letters[i]);
        thrum_task_set_name(tasks[i], (char[]){letters[i].letter, 0});
    }
    thrum_precede(tasks[0], tasks[1], tasks[2]);
    thrum_succeed(tasks[3], tasks[1], tasks[2]);
    int code = thrum_run(NULL, graph);
    bool right = strcmp(all.order, "ABCD") == 0 || strcmp(all.order, "ACBD") == 0;
    if (code != 0)
        tour_stop("the diamond failed: %s", thrum_message(graph));
    else if (!right)
        tour_stop("the diamond ran in the order %s", all.order);
    page_text(page,
              "Four tasks and four edges. A comes first, D last; B and C have no order between them and may run "
              "at the same time. This time they began in the order %.1s, %.1s, %.1s, %.1s.",
              all.order, all.order + 1, all.order + 2, all.order + 3);
    page_code(page, "thrum_graph *g = thrum_graph_new(\"diamond\");\n"
                    "thrum_task *a = thrum_task_new(g, say, \"A\"), *b = thrum_task_new(g, say, \"B\");\n"
                    "thrum_task *c = thrum_task_new(g, say, \"C\"), *d = thrum_task_new(g, say, \"D\");\n"
                    "thrum_precede(a, b, c);           /* A before B and C */\n"
                    "thrum_succeed(d, b, c);           /* D after both */\n"
                    "int err = thrum_run(NULL, g);     /* NULL: the default executor */\n");
    tour_show_graph(page, graph);
    page_text(page, "Run it alone: `build/examples/01-hello`.");
    thrum_graph_free(graph);
    return code == 0 && right ? 0 : -1;
}

/* ---- Runs and callbacks ------------------------------------------------------------------------------------------ */

enum { RUNS = 10000 };

static void count_up(void *arg)
{
    atomic_fetch_add_explicit((atomic_int *)arg, 1, memory_order_relaxed);
}

int tour_show_runs(struct page *page)
{
    atomic_int tasks = 0, ended = 0;
    char text[TOOL_TIME_SIZE];
    thrum_graph *graph = thrum_graph_new("again");
    thrum_task *first = thrum_task_new(graph, count_up, &tasks);
    for (int i = 0; i < 3; i++)
        thrum_precede(first, thrum_task_new(graph, count_up, &tasks));
    double begin = tool_now();
    thrum_handle *handle = thrum_start_n(NULL, graph, RUNS);
    if (handle)
        thrum_then(handle, count_up, &ended);
    int code = handle ? thrum_wait(handle) : -1;
    double took = tool_now() - begin;
    if (code != 0)
        code = tour_stop("the runs failed: %s", handle ? thrum_message(handle) : thrum_message(NULL));
    else if (tasks != 4 * RUNS || ended != 1)
        code = tour_stop("%d runs of four tasks ran %d tasks and %d callbacks", RUNS, (int)tasks, (int)ended);
    thrum_release(handle);
    thrum_graph_free(graph);
    page_text(page, "A graph is built and checked once and run as often as wanted. Starting gives a handle: wait for "
                    "it, ask whether it is done, or have a function called at the end.");
    page_code(page, "thrum_handle *h = thrum_start_n(NULL, g, 10000);\n"
                    "thrum_then(h, tell_me, &ended);   /* called once all runs have ended */\n"
                    "int err = thrum_wait(h);\n"
                    "thrum_release(h);\n");
    page_facts_open(page);
    page_fact(page, "runs, one after the other", "%d", RUNS);
    page_fact(page, "tasks in all", "%d", (int)tasks);
    page_fact(page, "per run of four tasks", "%s", tool_time(took / RUNS, text));
    page_facts_close(page);
    page_text(page, "Run it alone: `build/examples/03-rerun`.");
    return code;
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

static void fail_on_purpose(void *arg)
{
    thrum_fail(42, "cell %d is not a number", *(int *)arg);
}

static int show_cycle(struct page *page)
{
    thrum_graph *graph = thrum_graph_new("bakery");
    thrum_task *grain = thrum_placeholder_new(graph), *flour = thrum_placeholder_new(graph);
    thrum_task *bread = thrum_placeholder_new(graph), *miller = thrum_placeholder_new(graph);
    thrum_task_set_name(grain, "grain");
    thrum_task_set_name(flour, "flour");
    thrum_task_set_name(bread, "bread");
    thrum_task_set_name(miller, "miller");
    thrum_precede(grain, flour);
    thrum_precede(flour, bread);
    thrum_precede(bread, miller);
    thrum_precede(miller, flour);
    int code = thrum_run(NULL, graph);
    page_text(page,
              "Bread needs flour, flour needs a miller, and the miller wants bread first. A graph is checked "
              "before it runs, so this is no hang but an error with the names of the tasks, `%s`:",
              thrum_error_name(code));
    page_code(page, "thrum_precede(grain, flour);\n"
                    "thrum_precede(flour, bread);\n"
                    "thrum_precede(bread, miller);\n"
                    "thrum_precede(miller, flour);\n"
                    "if (thrum_run(NULL, g) != 0) puts(thrum_message(g));\n");
    page_quote(page, thrum_message(graph));
    printf("      %s\n", thrum_message(graph));
    thrum_graph_free(graph);
    return code == THRUM_ECYCLE ? 0 : tour_stop("a cycle gave %d, not THRUM_ECYCLE", code);
}

int tour_show_errors(struct page *page)
{
    int cell = 17;
    if (show_cycle(page) != 0)
        return -1;
    thrum_graph *graph = thrum_graph_new("cells");
    thrum_task_set_name(thrum_task_new(graph, fail_on_purpose, &cell), "solve");
    int code = thrum_run(NULL, graph);
    page_text(page,
              "A task fails with a code and a sentence of its own. What has not started will not start, and the "
              "wait returns the code, here %d:",
              code);
    page_code(page, "thrum_fail(42, \"cell %d is not a number\", cell);\n");
    page_quote(page, thrum_message(graph));
    page_text(page, "Run it alone: `build/examples/07-errors`.");
    thrum_graph_free(graph);
    return code == 42 ? 0 : tour_stop("a task that failed with 42 gave %d", code);
}
