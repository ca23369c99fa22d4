/* SPDX-License-Identifier: MIT */
#ifndef THRUM_TOOLS_GRAPHVIZ_H
#define THRUM_TOOLS_GRAPHVIZ_H

#include <stddef.h>

/* Has Graphviz' `dot` lay out a graph. Returns the SVG text, to be freed, a zero byte behind it; on failure NULL and a
 * sentence in `why`. */
char *graphviz_svg(const char *dot, size_t dot_size, size_t *svg_size, char *why, size_t why_size);

#endif
