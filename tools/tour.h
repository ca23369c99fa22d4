/* SPDX-License-Identifier: MIT
 *
 * The stops of the tour. Each runs something for real, checks what came out, and writes its section of the page. It
 * returns 0, or what tour_stop returns after having said what went wrong.
 */
#ifndef THRUM_TOOLS_TOUR_H
#define THRUM_TOOLS_TOUR_H

#include "page.h"

#include <thrum/executor.h>
#include <thrum/graph.h>

/* Keeps the sentence that the tour will end with; the first one counts. Returns -1. */
int tour_stop(const char *format, ...) TOOL_PRINTF(1, 2);

/* The graph as a picture, or as text where there is no Graphviz. */
void tour_show_graph(struct page *page, thrum_graph *graph);

/* Makes an executor that records, has `run` use it, and reads the trace, which is to be freed. `run` returns 0 or what
 * tour_stop returned. */
typedef int tour_run_fn(thrum_executor *ex, void *arg);
int tour_record(const thrum_config *config, tour_run_fn *run, void *arg, struct trace *trace);

int tour_show_diamond(struct page *page);
int tour_show_wavefront(struct page *page);
int tour_show_fib(struct page *page);
int tour_show_runs(struct page *page);
int tour_show_loop(struct page *page);
int tour_show_loops(struct page *page);
int tour_show_data(struct page *page);
int tour_show_sim(struct page *page);
int tour_show_errors(struct page *page);
int tour_show_observers(struct page *page);

#endif
