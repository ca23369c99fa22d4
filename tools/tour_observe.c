/* SPDX-License-Identifier: MIT
 *
 * A stop of the tour: observers.
 */
#include "tour.h"

#include <thrum/thrum.h>

#include <stdatomic.h>

enum { OBSERVED_TASKS = 1000, OBSERVED_RUNS = 10, OBSERVED_WORKERS = 64 };

struct census {
    atomic_int begun, ended, by_worker[OBSERVED_WORKERS];
};

static void observe_begin(void *context, const thrum_task_info *info)
{
    struct census *census = context;
    atomic_fetch_add(&census->begun, 1);
    atomic_fetch_add(&census->by_worker[(info->worker < 0 ? 0 : info->worker) % OBSERVED_WORKERS], 1);
}

static void observe_end(void *context, const thrum_task_info *info)
{
    (void)info;
    atomic_fetch_add(&((struct census *)context)->ended, 1);
}

/* Long enough for other workers to come and take a share. */
static void count_up(void *arg)
{
    for (volatile int i = 0; i < 2000; i++)
        continue;
    atomic_fetch_add_explicit((atomic_int *)arg, 1, memory_order_relaxed);
}

static int run_observed(struct census *census, atomic_int *count)
{
    thrum_graph *graph = thrum_graph_new("observed");
    for (int i = 0; i < OBSERVED_TASKS; i++)
        thrum_task_new(graph, count_up, count);
    thrum_executor *ex = thrum_executor_new(NULL);
    int code = ex ? thrum_executor_observe(
                        ex, &(thrum_observer){.begin = observe_begin, .end = observe_end, .context = census})
                  : -1;
    if (code != 0)
        tour_stop("the observer was refused: %s", thrum_message(NULL));
    else if (thrum_run_n(ex, graph, OBSERVED_RUNS) != 0)
        code = tour_stop("the observed run failed: %s", thrum_message(graph));
    thrum_executor_free(ex);
    thrum_graph_free(graph);
    return code;
}

int tour_show_observers(struct page *page)
{
    static struct census census;
    static atomic_int count;
    if (run_observed(&census, &count) != 0)
        return -1;
    page_text(page,
              "An observer is called before and after every task of its executor. Without one, nothing is paid "
              "for it. This one counted %d runs of %d tasks:",
              OBSERVED_RUNS, OBSERVED_TASKS);
    page_code(page, "static void begin(void *context, const thrum_task_info *info)\n"
                    "{\n"
                    "    atomic_fetch_add(&((struct census *)context)->by_worker[info->worker], 1);\n"
                    "}\n"
                    "...\n"
                    "thrum_executor_observe(ex, &(thrum_observer){.begin = begin, .end = end, .context = &census});\n");
    page_facts_open(page);
    page_fact(page, "tasks begun", "%d", (int)census.begun);
    page_fact(page, "tasks ended", "%d", (int)census.ended);
    for (int i = 0; i < OBSERVED_WORKERS; i++)
        if (census.by_worker[i]) {
            char label[64];
            snprintf(label, sizeof label, "by worker %d", i);
            page_fact(page, label, "%d", (int)census.by_worker[i]);
        }
    page_facts_close(page);
    page_text(page, "A thread that waits lends a hand and has a number above those of the executor's own threads. "
                    "Run it alone: `build/examples/09-observer`.");
    if (census.begun != OBSERVED_TASKS * OBSERVED_RUNS || census.ended != census.begun || count != census.begun)
        return tour_stop("%d tasks ran, but the observer saw %d begin and %d end", (int)count, (int)census.begun,
                         (int)census.ended);
    return 0;
}
