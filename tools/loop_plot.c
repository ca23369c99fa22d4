/* SPDX-License-Identifier: MIT
 *
 * thrum loop-sim: curves, drawn by gnuplot. The script holds its data, so it can be kept and changed.
 */
#include "loop_sim.h"
#include "common.h"
#include "gnuplot.h"

#include <stdlib.h>
#include <string.h>

enum { PANEL_SIZE = 64, MOST_PANELS = 64 };

/* The different panels, in the order of the rows. */
struct panels {
    char texts[MOST_PANELS][PANEL_SIZE];
    size_t count;
};

static void find_panels(const struct loop_plot *plot, const struct loop_row *rows, size_t count, struct panels *panels)
{
    panels->count = 0;
    for (size_t i = 0; i < count; i++) {
        char text[PANEL_SIZE];
        size_t at = 0;
        plot->panel(&rows[i], text, sizeof text);
        while (at < panels->count && strcmp(panels->texts[at], text) != 0)
            at++;
        if (at == panels->count && at < MOST_PANELS)
            strcpy(panels->texts[panels->count++], text);
    }
}

/* Techniques in the order of the rows: bit by bit, for the numbers are small. */
static bool is_first_of_technique(const struct loop_row *rows, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (rows[i].sim.technique == rows[index].sim.technique)
            return false;
    return true;
}

static void write_curve(FILE *out, const struct loop_plot *plot, const struct loop_row *rows, size_t count,
                        thrum_technique technique, const char *panel, size_t panel_index)
{
    fprintf(out, "$t%d_%zu << end\n", (int)technique, panel_index);
    for (size_t i = 0; i < count; i++) {
        char text[PANEL_SIZE];
        plot->panel(&rows[i], text, sizeof text);
        if (rows[i].sim.technique == technique && rows[i].sim.model == plot->model && strcmp(text, panel) == 0)
            fprintf(out, "%.9g %.9g %.9g\n", plot->x(&rows[i]), rows[i].result.mean, rows[i].result.standard_error);
    }
    fputs("end\n", out);
}

static void write_panel(FILE *out, const struct loop_row *rows, size_t count, const char *panel, size_t panel_index)
{
    fprintf(out, "set title '%s'\n", panel);
    const char *before = "plot ";
    int style = 1;
    for (size_t i = 0; i < count; i++) {
        if (!is_first_of_technique(rows, i))
            continue;
        fprintf(out, "%s$t%d_%zu using 1:2:3 with yerrorlines notitle linestyle %d", before, (int)rows[i].sim.technique,
                panel_index, style++);
        before = ", \\\n     ";
    }
    fputc('\n', out);
}

/* What the lines mean, in a panel of its own. */
static void write_key(FILE *out, const struct loop_row *rows, size_t count)
{
    fputs("unset title\nunset xlabel\nunset ylabel\nunset tics\nunset grid\nunset border\nunset logscale\n"
          "set key center center samplen 3 maxrows 12\n",
          out);
    const char *before = "plot [0:1] [0:1] ";
    int style = 1;
    for (size_t i = 0; i < count; i++) {
        if (!is_first_of_technique(rows, i))
            continue;
        fprintf(out, "%sNaN with linespoints linestyle %d title '%s'", before, style++,
                thrum_technique_name(rows[i].sim.technique));
        before = ", \\\n     ";
    }
    fputc('\n', out);
}

static void write_script(FILE *out, const struct loop_plot *plot, const struct loop_row *rows, size_t count)
{
    enum { MOST_ACROSS = 3 };
    struct panels panels;
    find_panels(plot, rows, count, &panels);
    int cells = (int)panels.count + 1, across = cells < MOST_ACROSS ? cells : MOST_ACROSS;
    int down = (cells + across - 1) / across;
    for (size_t j = 0; j < panels.count; j++)
        for (size_t i = 0; i < count; i++)
            if (is_first_of_technique(rows, i))
                write_curve(out, plot, rows, count, rows[i].sim.technique, panels.texts[j], j);
    fprintf(out, "set terminal svg size %d,%d font 'sans,12' background '#ffffff'\n", 380 * across, 300 * down + 40);
    fprintf(out, "set output '%s.svg'\n", plot->path);
    fputs("set logscale xy\nset grid\nunset key\nset tics nomirror\nset border 3\nset format xy '%g'\n", out);
    gnuplot_write_styles(out, THRUM_TECHNIQUES);
    fprintf(out, "set xlabel '%s'\nset ylabel 'wasted time'\n", plot->x_label);
    fprintf(out, "set multiplot layout %d,%d title '%s'\n", down, across, plot->title);
    for (size_t j = 0; j < panels.count; j++)
        write_panel(out, rows, count, panels.texts[j], j);
    write_key(out, rows, count);
    fputs("unset multiplot\n", out);
}

int loop_plot_draw(const struct loop_plot *plot, const struct loop_row *rows, size_t count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tool_fail(LOOP_SIM, "no memory");
    write_script(out, plot, rows, count);
    fclose(out);
    int code = gnuplot_draw(LOOP_SIM, plot->path, text, size);
    free(text);
    return code;
}
