/* SPDX-License-Identifier: MIT
 *
 * Reads a graph that is written in Graphviz' DOT language and builds it with thrum's own calls.
 *
 * Understood: digraph, node and edge statements, chains (a -> b -> c), sets (a -> {b c}), ports, subgraphs and clusters
 * (what is in them is read, the grouping is not), quoted and HTML names, the three kinds of comment. Of the attributes,
 * a node's `label` names the task, `work` weighs it and `shape=diamond` makes it a condition, whose edges are weak; all
 * others are passed over, and so are default attributes.
 */
#ifndef THRUM_TOOLS_DOT_READ_H
#define THRUM_TOOLS_DOT_READ_H

#include <thrum/graph.h>

#include <stddef.h>

struct dot_graph {
    thrum_graph *graph;
    char *name;
    double *work; /* by the task's number; 1 where the file says nothing */
    size_t tasks;
};

struct dot_error {
    size_t line; /* 0: not in the text but in the making, such as no memory */
    char text[512];
};

/* 0, or -1 with the error told; then there is nothing to free. */
int dot_read(const char *text, size_t size, struct dot_graph *graph, struct dot_error *error);
void dot_free(struct dot_graph *graph);

#endif
