/* SPDX-License-Identifier: MIT
 *
 * Writes one HTML page that needs nothing beside itself: no script, no font, no picture from elsewhere.
 */
#ifndef THRUM_TOOLS_PAGE_H
#define THRUM_TOOLS_PAGE_H

#include "common.h"
#include "trace_read.h"

struct page {
    FILE *out;
    int sections;
};

void page_open(struct page *page, const char *title, const char *subtitle);
void page_close(struct page *page);

/* A section with its heading; the page ends the one before by itself. `id` is for links. */
void page_section(struct page *page, const char *id, const char *title);

/* A paragraph. What is between backquotes becomes code; everything else is escaped. */
void page_text(struct page *page, const char *format, ...) TOOL_PRINTF(2, 3);

/* A sentence that the library gave, set apart. */
void page_quote(struct page *page, const char *sentence);

void page_code(struct page *page, const char *code);

/* Big numbers side by side. */
void page_facts_open(struct page *page);
void page_fact(struct page *page, const char *label, const char *format, ...) TOOL_PRINTF(3, 4);
void page_facts_close(struct page *page);

/* A table with a row at a time; the first column is a heading. */
void page_table_open(struct page *page);
void page_row(struct page *page, const char *label, const char *format, ...) TOOL_PRINTF(3, 4);
void page_table_close(struct page *page);

/* An SVG text as Graphviz writes it, without what stands before its first tag. */
void page_picture(struct page *page, const char *svg, const char *caption);

/* A Gantt chart: a lane per worker, a colour per name of task, with a key to the colours if names are few. It is `span`
 * seconds wide: the trace's makespan, or that of a longer one to compare with. */
void page_gantt(struct page *page, const struct trace *trace, double span, const char *caption);

#endif
