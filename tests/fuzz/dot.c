/* SPDX-License-Identifier: MIT
 *
 * Texts that may be graphs in DOT: any is read or refused with a sentence and a line of the text.
 */
#include "dot_read.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static size_t count_lines(const uint8_t *data, size_t size)
{
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n';
    return lines;
}

static void count_task(const thrum_task *task, const thrum_task *const *successors, size_t count, void *arg)
{
    must(task && (successors || count == 0), "a task that is none");
    ++*(size_t *)arg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dot_graph graph;
    struct dot_error error;
    if (dot_read((const char *)data, size, &graph, &error) != 0) {
        must(error.text[0] && error.line >= 1 && error.line <= count_lines(data, size), "no sentence, or no such line");
        return 0;
    }
    size_t tasks = 0;
    if (thrum_graph_visit(graph.graph, count_task, &tasks) == 0) /* it may have a circle */
        must(tasks == graph.tasks, "not as many tasks as are told");
    for (size_t i = 0; i < graph.tasks; i++)
        must(graph.work[i] >= 0, "work that is no number, or negative");
    dot_free(&graph);
    return 0;
}
