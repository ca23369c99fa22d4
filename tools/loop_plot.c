/* SPDX-License-Identifier: MIT
 *
 * thrum loop-sim: curves, drawn by gnuplot. The script holds its data, so it can be kept and changed.
 */
#include "loop_sim.h"
#include "common.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static void write_panel(FILE *out, const struct loop_plot *plot, const struct loop_row *rows, size_t count,
                        const char *panel, size_t panel_index)
{
    fprintf(out, "set title '%s%s'\n", plot->panel_label, panel);
    const char *before = "plot ";
    int style = 1;
    for (size_t i = 0; i < count; i++) {
        if (!is_first_of_technique(rows, i))
            continue;
        fprintf(out, "%s$t%d_%zu using 1:2:3 with yerrorlines title '%s' linestyle %d", before,
                (int)rows[i].sim.technique, panel_index, thrum_technique_name(rows[i].sim.technique), style++);
        before = ", \\\n     ";
    }
    fputc('\n', out);
}

static void write_script(FILE *out, const struct loop_plot *plot, const struct loop_row *rows, size_t count)
{
    struct panels panels;
    find_panels(plot, rows, count, &panels);
    int across = panels.count < 3 ? (int)panels.count : 3;
    int down = across ? ((int)panels.count + across - 1) / across : 1;
    for (size_t j = 0; j < panels.count; j++)
        for (size_t i = 0; i < count; i++)
            if (is_first_of_technique(rows, i))
                write_curve(out, plot, rows, count, rows[i].sim.technique, panels.texts[j], j);
    fprintf(out, "set terminal svg size %d,%d font 'sans,12' background '#ffffff'\n", 420 * across, 340 * down + 40);
    fprintf(out, "set output '%s.svg'\n", plot->path);
    fputs("set logscale xy\nset grid\nset key below\nset tics nomirror\nset border 3\n", out);
    for (int i = 1; i <= THRUM_TECHNIQUES; i++)
        fprintf(out, "set style line %d linewidth 1.5 pointtype %d pointsize 0.6\n", i, i);
    fprintf(out, "set xlabel '%s'\nset ylabel 'wasted time'\n", plot->x_label);
    fprintf(out, "set multiplot layout %d,%d title '%s'\n", down, across, plot->title);
    for (size_t j = 0; j < panels.count; j++)
        write_panel(out, plot, rows, count, panels.texts[j], j);
    fputs("unset multiplot\n", out);
}

int loop_plot_run(const char *script)
{
    char program[4096];
    if (!tool_find_program("gnuplot", program, sizeof program)) {
        fprintf(stderr, "thrum " LOOP_SIM ": there is no gnuplot here, so no picture; 'gnuplot %s' draws it.\n",
                script);
        return TOOL_DONE;
    }
    pid_t child = fork();
    if (child == 0) {
        execv(program, (char *[]){(char *)"gnuplot", (char *)(size_t)script, NULL});
        _exit(127);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return tool_fail(LOOP_SIM, "gnuplot could not draw %s", script);
    return TOOL_DONE;
}

int loop_plot_draw(const struct loop_plot *plot, const struct loop_row *rows, size_t count)
{
    char *text = NULL, why[4200], path[4096];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tool_fail(LOOP_SIM, "no memory");
    write_script(out, plot, rows, count);
    fclose(out);
    snprintf(path, sizeof path, "%s.gp", plot->path);
    bool written = tool_write_file(path, text, size, why, sizeof why);
    free(text);
    return written ? loop_plot_run(path) : tool_fail(LOOP_SIM, "%s", why);
}
