/* SPDX-License-Identifier: MIT
 *
 * Curves drawn by gnuplot, for the verbs that simulate.
 */
#ifndef THRUM_TOOLS_GNUPLOT_H
#define THRUM_TOOLS_GNUPLOT_H

#include <stdio.h>

/* Line styles 1 to `count`: colours that most people can tell apart (Okabe and Ito), again with dashes where there are
 * more. */
void gnuplot_write_styles(FILE *out, int count);

/* Writes the script to PATH.gp and runs gnuplot on it, which makes what the script says. An exit code; where there is
 * no gnuplot, the script is left and a line on standard error says so. */
int gnuplot_draw(const char *verb, const char *path, const char *script, size_t size);

#endif
