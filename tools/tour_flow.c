/* SPDX-License-Identifier: MIT
 *
 * A stop of the tour: control flow inside a graph, and what a turn of a loop costs.
 */
#include "tour.h"

#include <thrum/thrum.h>

enum { SEARCH_STEPS = 31, TURNS = 1000000, RUNS = 20000 };

/* Halves the distance to the square root of two. */
struct search {
    double low, high;
    int steps;
};

static void begin(void *arg)
{
    *(struct search *)arg = (struct search){.low = 0, .high = 2, .steps = 0};
}

static void halve(void *arg)
{
    struct search *s = arg;
    double middle = (s->low + s->high) / 2;
    if (middle * middle < 2)
        s->low = middle;
    else
        s->high = middle;
    s->steps++;
}

static int is_found(void *arg)
{
    const struct search *s = arg;
    return s->high - s->low > 1e-9 ? 0 : 1;
}

static int show_search(struct page *page, struct search *search)
{
    static const char *const names[] = {"begin", "halve", "found?", "tell"};
    thrum_graph *graph = thrum_graph_new("search");
    thrum_task *tasks[] = {thrum_task_new(graph, begin, search), thrum_task_new(graph, halve, search),
                           thrum_condition_new(graph, is_found, search), thrum_placeholder_new(graph)};
    thrum_precede(tasks[0], tasks[1]);
    thrum_precede(tasks[1], tasks[2]);
    thrum_precede(tasks[2], tasks[1], tasks[3]);
    for (int i = 0; i < 4; i++)
        thrum_task_set_name(tasks[i], names[i]);
    int code = thrum_run(NULL, graph);
    if (code != 0)
        code = tour_stop("the loop failed: %s", thrum_message(graph));
    else if (search->steps != SEARCH_STEPS)
        code = tour_stop("the loop took %d steps, not %d", search->steps, (int)SEARCH_STEPS);
    tour_show_graph(page, graph);
    thrum_graph_free(graph);
    return code;
}

static void count_up(void *arg)
{
    ++*(int *)arg;
}

static int goes_on(void *arg)
{
    return *(int *)arg < TURNS ? 0 : THRUM_STOP;
}

/* A body and a condition: seconds for a turn, or -1. */
static double time_turn(void)
{
    int turns = 0;
    thrum_graph *graph = thrum_graph_new("turns");
    thrum_task *first = thrum_placeholder_new(graph), *body = thrum_task_new(graph, count_up, &turns);
    thrum_task *condition = thrum_condition_new(graph, goes_on, &turns);
    thrum_precede(first, body);
    thrum_precede(body, condition);
    thrum_precede(condition, body);
    double start = tool_now();
    int code = thrum_run(NULL, graph);
    double took = tool_now() - start;
    thrum_graph_free(graph);
    if (code != 0 || turns != TURNS)
        return tour_stop("a loop of %d turns made %d: %s", (int)TURNS, turns, thrum_message(NULL));
    return took / TURNS;
}

/* The same body, run from outside each time. */
static double time_run(void)
{
    int turns = 0, code = 0;
    thrum_graph *graph = thrum_graph_new("runs");
    thrum_precede(thrum_placeholder_new(graph), thrum_task_new(graph, count_up, &turns));
    double start = tool_now();
    for (int i = 0; i < RUNS && code == 0; i++)
        code = thrum_run(NULL, graph);
    double took = tool_now() - start;
    thrum_graph_free(graph);
    if (code != 0 || turns != RUNS)
        return tour_stop("%d runs made %d turns: %s", (int)RUNS, turns, thrum_message(NULL));
    return took / RUNS;
}

int tour_show_loop(struct page *page)
{
    struct search search;
    char text[TOOL_TIME_SIZE];
    page_text(
        page,
        "A condition's value names the successor that runs next; a way back through it is a loop. So an iterative "
        "method is one graph and one run, and the workers stay at it until it has converged. Here the square "
        "root of two is searched by halving.");
    page_code(page, "int is_found(void *s) { ... return width > 1e-9 ? 0 : 1; }\n"
                    "...\n"
                    "thrum_task *found = thrum_condition_new(g, is_found, &search);\n"
                    "thrum_precede(begin, halve);\n"
                    "thrum_precede(halve, found);\n"
                    "thrum_precede(found, halve, tell);   /* 0: back to the body, 1: on */\n");
    int code = show_search(page, &search);
    double turn = code == 0 ? time_turn() : -1, run = code == 0 ? time_run() : -1;
    if (turn < 0 || run < 0)
        return -1;
    page_facts_open(page);
    page_fact(page, "the root", "%.6f", search.low);
    page_fact(page, "turns that it took", "%d", search.steps);
    page_fact(page, "a turn, body and condition", "%s", tool_time(turn, text));
    page_fact(page, "a run from outside instead", "%s", tool_time(run, text));
    page_facts_close(page);
    page_text(page,
              "Dashed edges are weak: nobody waits for them, the condition picks one by its number. Run it alone: "
              "`build/examples/13-loop`.");
    return 0;
}
