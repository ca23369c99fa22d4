/* SPDX-License-Identifier: MIT
 *
 * thrum sim: pictures of a sweep, drawn by gnuplot. The script holds its data, so it can be kept and changed.
 *
 * A row of two panels for each work: makespan and gigabytes moved, over the machines, a line for each policy; of
 * several seeds the mean, and the least and the most as bars.
 */
#include "sim.h"

#include "common.h"
#include "gnuplot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct summary {
    double mean, least, most;
    size_t count;
};

static void add(struct summary *sum, double value)
{
    sum->least = sum->count == 0 || value < sum->least ? value : sum->least;
    sum->most = sum->count == 0 || value > sum->most ? value : sum->most;
    sum->mean += (value - sum->mean) / (double)++sum->count;
}

/* Rows are machine by machine, work by work, policy by policy, seed by seed. */
static const struct sim_row *rows_of(const struct sim_plan *plan, size_t machine, size_t work, size_t policy)
{
    return &plan->rows[((machine * plan->work_count + work) * plan->policy_count + policy) * plan->runs];
}

static void write_points(FILE *out, const struct sim_plan *plan, size_t work, size_t policy)
{
    fprintf(out, "$w%zu_p%zu << end\n", work, policy);
    for (size_t m = 0; m < plan->machine_count; m++) {
        const struct sim_row *rows = rows_of(plan, m, work, policy);
        struct summary time = {0}, moved = {0};
        for (size_t i = 0; i < plan->runs; i++)
            if (!rows[i].error) {
                add(&time, rows[i].result->makespan);
                add(&moved, (double)rows[i].result->bytes * 1e-9);
            }
        if (time.count)
            fprintf(out, "%zu %.9g %.9g %.9g %.9g %.9g %.9g\n", m, time.mean, time.least, time.most, moved.mean,
                    moved.least, moved.most);
    }
    fputs("end\n", out);
}

static void write_tics(FILE *out, const struct sim_plan *plan)
{
    fputs("set xtics (", out);
    for (size_t m = 0; m < plan->machine_count; m++) {
        const struct sim_machine *machine = &plan->machines[m];
        const char *name = strrchr(machine->name, '/') ? strrchr(machine->name, '/') + 1 : machine->name;
        if (machine->gpus >= 0)
            fprintf(out, "%s'%s, %ld' %zu", m ? ", " : "", name, machine->gpus, m);
        else
            fprintf(out, "%s'%s' %zu", m ? ", " : "", name, m);
    }
    fprintf(out, ")\nset xrange [-0.5:%zu.5]\n", plan->machine_count - 1);
}

static void write_panel(FILE *out, const struct sim_plan *plan, size_t work, int first_column, const char *what)
{
    fprintf(out, "set title '%s: %s' noenhanced\n", plan->works[work].name, what);
    for (size_t p = 0; p < plan->policy_count; p++)
        fprintf(out, "%s$w%zu_p%zu using ($1+%.3f):%d:%d:%d with yerrorlines linestyle %zu title '%s' noenhanced",
                p ? ", \\\n     " : "plot ", work, p, 0.3 * ((double)p + 0.5) / (double)plan->policy_count - 0.15,
                first_column, first_column + 1, first_column + 2, p + 1, rows_of(plan, 0, work, p)->policy);
    fputc('\n', out);
}

static void write_script(FILE *out, const char *path, const struct sim_plan *plan)
{
    for (size_t w = 0; w < plan->work_count; w++)
        for (size_t p = 0; p < plan->policy_count; p++)
            write_points(out, plan, w, p);
    fprintf(out, "set terminal svg size 1100,%zu font 'sans,12' background '#ffffff'\nset output '%s.svg'\n",
            380 * plan->work_count + 20 * plan->policy_count, path);
    fputs("set grid\nset tics nomirror\nset border 3\nset yrange [0:*]\nset key below\n", out);
    gnuplot_write_styles(out, (int)plan->policy_count);
    write_tics(out, plan);
    fprintf(out, "set multiplot layout %zu,2\n", plan->work_count);
    for (size_t w = 0; w < plan->work_count; w++) {
        write_panel(out, plan, w, 2, "makespan, seconds");
        write_panel(out, plan, w, 5, "moved, GB");
    }
    fputs("unset multiplot\n", out);
}

int sim_plot_draw(const char *path, const struct sim_plan *plan)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tool_fail(SIM, "no memory");
    write_script(out, path, plan);
    fclose(out);
    int code = gnuplot_draw(SIM, path, text, size);
    free(text);
    return code;
}
