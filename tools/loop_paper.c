/* SPDX-License-Identifier: MIT
 *
 * thrum loop-sim --paper: the experiments of Hoffeins, Ciorba and Banicescu (Towards the Reproducibility of Using
 * Dynamic Loop Scheduling Techniques in Scientific Applications), who repeated in SimGrid-MSG what Hagerup had
 * published in 1997 (Allocating Independent Tasks to Parallel Processors), and the rows of their table VI.
 *
 * In the model `msg` TSS rounds to the nearest whole number, as that study's implementation did; in `hagerup` it rounds
 * up.
 */
#include "loop_sim.h"
#include "common.h"
#include "gnuplot.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* ---- The sets ---------------------------------------------------------------------------------------------------- */

/* Table IV of the study. D4 has the deviation 3: the 10 in its text is a slip. */
static const struct times {
    const char *text, *label;
} all_times[] = {
    {"uniform:0.65358983848622454,1.34641016151377546", "D1: uniform, deviation 0.2"},
    {"uniform:0.13397459621556135,1.86602540378443865", "D2: uniform, deviation 0.5"},
    {"exp:1", "D3: exponential, deviation 1"},
    {"twopoint:0.1", "D4: two points, deviation 3"},
    {"twopoint:0.00990099009900990099", "D5: two points, deviation 10"},
};

enum { D3 = 2, D4 = 3 };
enum { MOST = 8 };

/* Lists end with 0. */
struct set {
    const char *name, *title;
    uint64_t counts[MOST]; /* n; or n/p if `per_worker` */
    bool per_worker;
    uint32_t workers[MOST];
    size_t first_times, last_times;
    double costs[MOST];
    uint64_t runs;
    thrum_technique techniques[MOST];
    size_t technique_count;
};

#define WORKERS                                                                                                        \
    {                                                                                                                  \
        2, 8, 64, 256, 1024                                                                                            \
    }
#define COSTS                                                                                                          \
    {                                                                                                                  \
        0.1, 0.5, 2, 5, 10                                                                                             \
    }

static const struct set sets[] = {
    {"set-a",
     "many iterations, exponential times, h = 0.5",
     {1 << 10, 1 << 13, 1 << 16, 1 << 19},
     false,
     WORKERS,
     D3,
     D3,
     {0.5},
     1000,
     {THRUM_STAT, THRUM_SS, THRUM_FSC, THRUM_GSS, THRUM_TSS, THRUM_FAC, THRUM_FAC2, THRUM_BOLD},
     8},
    {"set-b",
     "iterations per worker, exponential times, h = 0.5",
     {4, 16, 64, 256},
     true,
     WORKERS,
     D3,
     D3,
     {0.5},
     10000,
     {THRUM_FSC, THRUM_GSS, THRUM_TSS, THRUM_BOLD},
     4},
    {"set-c",
     "n = 128, p = 8, five distributions",
     {1 << 7},
     false,
     {8},
     0,
     4,
     COSTS,
     100000,
     {THRUM_FSC, THRUM_GSS, THRUM_TSS, THRUM_BOLD},
     4},
    {"set-d",
     "iterations per worker, two-point times D4, h = 2",
     {4, 16, 64, 256},
     true,
     WORKERS,
     D4,
     D4,
     {2},
     10000,
     {THRUM_FSC, THRUM_GSS, THRUM_TSS, THRUM_BOLD},
     4},
    {"set-e",
     "very many iterations, exponential times, h = 0.5",
     {1 << 22, 1 << 25, 1 << 28, UINT64_C(1) << 31},
     false,
     WORKERS,
     D3,
     D3,
     {0.5},
     1000,
     {THRUM_FAC, THRUM_FAC2, THRUM_BOLD},
     3},
    {"set-f",
     "n = 2^{19}, p = 64, five distributions",
     {1 << 19},
     false,
     {64},
     0,
     4,
     COSTS,
     100000,
     {THRUM_FAC, THRUM_FAC2, THRUM_BOLD},
     3},
};

static const char *const models[] = {"hagerup", "msg"};

struct list {
    struct loop_row *rows;
    size_t count;
};

static void add_row(struct list *list, const struct loop_paper_request *request, thrum_technique technique, uint64_t n,
                    uint32_t p, const char *times, double cost, uint64_t runs)
{
    for (int model = 0; model < 2; model++) {
        if (!request->models[model])
            continue;
        list->rows[list->count++].sim = (thrum_loop_sim){
            .technique = technique,
            .facts = {.iterations = n, .workers = p, .cost = cost, .nearest = model == THRUM_MODEL_MSG},
            .times = times,
            .model = (thrum_loop_model)model,
            .engine = request->engine,
            .runs = request->runs ? request->runs : runs,
            .seed = request->seed,
        };
    }
}

static void add_technique(struct list *list, const struct loop_paper_request *request, const struct set *set,
                          thrum_technique technique)
{
    for (size_t t = set->first_times; t <= set->last_times; t++)
        for (size_t w = 0; set->workers[w]; w++)
            for (size_t c = 0; set->counts[c]; c++)
                for (size_t h = 0; set->costs[h] > 0; h++)
                    add_row(list, request, technique, set->counts[c] * (set->per_worker ? set->workers[w] : 1),
                            set->workers[w], all_times[t].text, set->costs[h], set->runs);
}

static struct list list_set(const struct loop_paper_request *request, const struct set *set)
{
    bool own = request->technique_count > 0;
    size_t techniques = own ? request->technique_count : set->technique_count;
    struct list list = {calloc(techniques * 5 * 4 * 5 * 2, sizeof *list.rows), 0};
    for (size_t i = 0; list.rows && i < techniques; i++)
        add_technique(&list, request, set, own ? request->techniques[i] : set->techniques[i]);
    return list;
}

/* ---- Simulating, writing, drawing -------------------------------------------------------------------------------- */

static int run_rows(const struct list *list)
{
    struct loop_progress *progress = loop_progress_begin(list->rows, list->count);
    int code = TOOL_DONE;
    loop_row_print_head(stdout);
    for (size_t i = 0; i < list->count && code == TOOL_DONE; i++) {
        if (loop_row_run(list->rows, i, progress)) {
            loop_row_print(stdout, &list->rows[i]);
            fflush(stdout);
        } else {
            code = tool_fail(LOOP_SIM, "%s", thrum_message(NULL));
        }
    }
    loop_progress_end(progress);
    return code;
}

static double x_count(const struct loop_row *row)
{
    return (double)row->sim.facts.iterations;
}

static double x_share(const struct loop_row *row)
{
    return (double)row->sim.facts.iterations / row->sim.facts.workers;
}

static double x_cost(const struct loop_row *row)
{
    return row->sim.facts.cost;
}

static void panel_workers(const struct loop_row *row, char *text, size_t size)
{
    snprintf(text, size, "p = %" PRIu32, row->sim.facts.workers);
}

static void panel_times(const struct loop_row *row, char *text, size_t size)
{
    for (size_t i = 0; i < COUNT_OF(all_times); i++)
        if (all_times[i].text == row->sim.times)
            snprintf(text, size, "%s", all_times[i].label);
}

static int draw_set(const struct loop_paper_request *request, const struct set *set, const struct list *list, int model)
{
    char path[4096], title[200];
    bool by_times = set->first_times != set->last_times;
    snprintf(path, sizeof path, "%s/%s-%s", request->folder, set->name, models[model]);
    snprintf(title, sizeof title, "%s: %s (model %s)", set->name, set->title, models[model]);
    struct loop_plot plot = {
        .title = title,
        .path = path,
        .x_label = by_times          ? "h"
                   : set->per_worker ? "n/p"
                                     : "n",
        .x = by_times          ? x_cost
             : set->per_worker ? x_share
                               : x_count,
        .panel = by_times ? panel_times : panel_workers,
        .model = (thrum_loop_model)model,
    };
    return loop_plot_draw(&plot, list->rows, list->count);
}

static int write_text(const char *path, char *text, size_t size)
{
    char why[4200];
    bool written = tool_write_file(path, text, size, why, sizeof why);
    free(text);
    return written ? TOOL_DONE : tool_fail(LOOP_SIM, "%s", why);
}

static int write_csv(const struct loop_paper_request *request, const char *name, const struct list *list)
{
    char *text = NULL, path[4096];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tool_fail(LOOP_SIM, "no memory");
    loop_csv_head(out);
    for (size_t i = 0; i < list->count; i++)
        loop_csv_row(out, &list->rows[i]);
    fclose(out);
    snprintf(path, sizeof path, "%s/%s.csv", request->folder, name);
    return write_text(path, text, size);
}

static int run_set(const struct loop_paper_request *request, const struct set *set)
{
    double begun = tool_now();
    char time[TOOL_TIME_SIZE];
    struct list list = list_set(request, set);
    if (!list.rows)
        return tool_fail(LOOP_SIM, "no memory");
    int code = run_rows(&list);
    if (code == TOOL_DONE)
        code = write_csv(request, set->name, &list);
    for (int model = 0; model < 2 && code == TOOL_DONE; model++)
        if (request->models[model])
            code = draw_set(request, set, &list, model);
    free(list.rows);
    if (code == TOOL_DONE)
        fprintf(stderr, "%s: %zu simulations in %s; the numbers and the plot are in %s.\n", set->name, list.count,
                tool_time(tool_now() - begun, time), request->folder);
    return code;
}

/* ---- Table VI ---------------------------------------------------------------------------------------------------- */

/* The rows of table VI, all of GSS, with the discrepancy from Hagerup's values; and the one of TSS that the text names,
 * for which no deviation is given. Both had 10,000 runs. */
static const struct known {
    thrum_technique technique;
    uint32_t p;
    uint64_t n;
    size_t times;
    double cost, discrepancy, mean, min, max, deviation;
} table_vi[] = {
    {THRUM_GSS, 2, 1 << 7, D3, 0.5, 0.1715, 4.58, 2.00, 20.61, 3.10},
    {THRUM_GSS, 2, 1 << 5, D4, 2, 0.2024, 10.73, 6.00, 36.00, 4.65},
    {THRUM_GSS, 2, 1 << 7, D4, 2, 0.2084, 16.33, 8.00, 73.00, 8.84},
    {THRUM_GSS, 2, 1 << 9, D4, 2, 0.1822, 25.57, 10.00, 120.00, 18.22},
    {THRUM_GSS, 8, 1 << 7, D4, 2, 0.1515, 18.46, 6.50, 60.25, 7.19},
    {THRUM_GSS, 8, 1 << 9, D4, 2, 0.1980, 27.52, 9.00, 130.25, 12.93},
    {THRUM_GSS, 8, 1 << 11, D4, 2, 0.1592, 39.27, 11.50, 171.50, 24.50},
    {THRUM_GSS, 64, 1 << 10, D4, 2, 0.1563, 30.99, 11.88, 69.84, 7.73},
    {THRUM_GSS, 64, 1 << 12, D4, 2, 0.1672, 49.36, 17.25, 125.69, 13.82},
    {THRUM_TSS, 2, 1 << 3, D4, 2, 0.2114, 7.26, NAN, NAN, NAN},
};

enum { TABLE_VI_RUNS = 100000, THEIR_RUNS = 10000 };

/* What was published for the row: the study's own mean, or the value of Hagerup's that it was compared with. */
static double published(const struct known *known, thrum_loop_model model)
{
    if (known->technique == THRUM_TSS) /* both values are in the text */
        return model == THRUM_MODEL_MSG ? 7.26 : 5.99;
    return model == THRUM_MODEL_MSG ? known->mean : known->mean / (1 + known->discrepancy);
}

/* How far the two means are apart, in standard errors of their difference: what was published is random too. */
static double errors_apart(const struct known *known, const struct loop_row *row)
{
    const thrum_loop_sim_result *r = &row->result;
    double theirs = r->deviation * r->deviation / THEIR_RUNS;
    return (r->mean - published(known, row->sim.model)) / sqrt(theirs + r->standard_error * r->standard_error);
}

/* The row of the table that a simulation belongs to. */
static const struct known *known_of(const struct loop_paper_request *request, size_t index)
{
    return &table_vi[index / ((size_t)request->models[0] + request->models[1])];
}

static void print_table_vi(const struct loop_paper_request *request, const struct list *list)
{
    printf("%-9s %5s %4s %-12s %4s %-8s %10s %9s %8s %7s %9s %9s %9s\n", "technique", "n", "p", "times", "h", "model",
           "published", "wasted", "+-", "errors", "deviation", "least", "most");
    for (size_t i = 0; i < list->count; i++) {
        const struct loop_row *row = &list->rows[i];
        const thrum_loop_sim_result *r = &row->result;
        printf("%-9s %5" PRIu64 " %4" PRIu32 " %-12s %4g %-8s %10.3f %9.3f %8.3f %+7.2f %9.2f %9.2f %9.2f\n",
               thrum_technique_name(row->sim.technique), row->sim.facts.iterations, row->sim.facts.workers,
               row->sim.times, row->sim.facts.cost, models[row->sim.model],
               published(known_of(request, i), row->sim.model), r->mean, r->standard_error,
               errors_apart(known_of(request, i), row), r->deviation, r->min, r->max);
    }
}

static void number_or_nothing(FILE *out, double number)
{
    fprintf(out, isnan(number) ? "," : ",%.9g", number);
}

static int write_table_vi(const struct loop_paper_request *request, const struct list *list)
{
    char *text = NULL, path[4096];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tool_fail(LOOP_SIM, "no memory");
    fputs("technique,n,p,h,dist,model,runs,mean,stderr,sd,min,max,published,published_min,published_max,published_sd,"
          "errors\n",
          out);
    for (size_t i = 0; i < list->count; i++) {
        const struct loop_row *row = &list->rows[i];
        const struct known *known = known_of(request, i);
        bool msg = row->sim.model == THRUM_MODEL_MSG;
        fprintf(out, "%s,%" PRIu64 ",%" PRIu32 ",%g,%s,%s,%" PRIu64 ",%.9g,%.9g,%.9g,%.9g,%.9g,%.9g",
                thrum_technique_name(row->sim.technique), known->n, known->p, known->cost, row->sim.times,
                models[row->sim.model], row->sim.runs, row->result.mean, row->result.standard_error,
                row->result.deviation, row->result.min, row->result.max, published(known, row->sim.model));
        number_or_nothing(out, msg ? known->min : NAN);
        number_or_nothing(out, msg ? known->max : NAN);
        number_or_nothing(out, msg ? known->deviation : NAN);
        fprintf(out, ",%.4f\n", errors_apart(known, row));
    }
    fclose(out);
    snprintf(path, sizeof path, "%s/table-vi.csv", request->folder);
    return write_text(path, text, size);
}

static void write_table_vi_points(FILE *out, const struct loop_paper_request *request, const struct list *list,
                                  int model)
{
    size_t each = (size_t)request->models[0] + request->models[1];
    fprintf(out, "$%s << end\n", models[model]);
    for (size_t i = 0; i < list->count; i++) {
        const struct loop_row *row = &list->rows[i];
        double right = published(known_of(request, i), row->sim.model);
        double error = fabs((row->result.mean - right) / errors_apart(known_of(request, i), row));
        if ((int)row->sim.model == model)
            fprintf(out, "%g %.6g %.6g \"%s p=%" PRIu32 " n=%" PRIu64 "\"\n", (double)(i / each) + 0.15 * model,
                    100 * (row->result.mean / right - 1), 300 * error / right, thrum_technique_name(row->sim.technique),
                    row->sim.facts.workers, row->sim.facts.iterations);
    }
    fputs("end\n", out);
}

static int draw_table_vi(const struct loop_paper_request *request, const struct list *list)
{
    char *text = NULL, path[4096];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tool_fail(LOOP_SIM, "no memory");
    for (int model = 0; model < 2; model++)
        if (request->models[model])
            write_table_vi_points(out, request, list, model);
    fprintf(out, "set terminal svg size 760,440 font 'sans,12' background '#ffffff'\nset output '%s/table-vi.svg'\n",
            request->folder);
    fputs(
        "set title 'table VI: simulated against published, with three standard errors'\nset grid\nset key below\n"
        "set ylabel 'difference in %'\nset xtics rotate by -35\nset xrange [-0.5:9.7]\nset tics nomirror\nset border 3\n"
        "plot 0 notitle linecolor 'gray'",
        out);
    for (int model = 0; model < 2; model++)
        if (request->models[model])
            fprintf(out, ", \\\n     $%s using 1:2:3%s with yerrorbars pointtype 7 pointsize 0.6 title '%s'",
                    models[model], model == 0 || !request->models[0] ? ":xticlabels(4)" : "", models[model]);
    fputc('\n', out);
    fclose(out);
    snprintf(path, sizeof path, "%s/table-vi", request->folder);
    int code = gnuplot_draw(LOOP_SIM, path, text, size);
    free(text);
    return code;
}

static int run_table_vi(const struct loop_paper_request *request)
{
    struct list list = {calloc(2 * COUNT_OF(table_vi), sizeof *list.rows), 0};
    if (!list.rows)
        return tool_fail(LOOP_SIM, "no memory");
    for (size_t i = 0; i < COUNT_OF(table_vi); i++)
        add_row(&list, request, table_vi[i].technique, table_vi[i].n, table_vi[i].p, all_times[table_vi[i].times].text,
                table_vi[i].cost, TABLE_VI_RUNS);
    struct loop_progress *progress = loop_progress_begin(list.rows, list.count);
    int code = TOOL_DONE;
    for (size_t i = 0; i < list.count && code == TOOL_DONE; i++)
        if (!loop_row_run(list.rows, i, progress))
            code = tool_fail(LOOP_SIM, "%s", thrum_message(NULL));
    loop_progress_end(progress);
    if (code == TOOL_DONE) {
        print_table_vi(request, &list);
        code = write_table_vi(request, &list);
    }
    if (code == TOOL_DONE)
        code = draw_table_vi(request, &list);
    free(list.rows);
    return code;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static int make_folder(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/", folder);
    return tool_make_folders(path) ? TOOL_DONE : tool_fail(LOOP_SIM, "cannot make the folder '%s'", folder);
}

int loop_paper_run(const struct loop_paper_request *request)
{
    bool table = strcmp(request->name, "table-vi") == 0;
    if (table && request->technique_count)
        return tool_misuse(LOOP_SIM, "table VI is of GSS and TSS: --technique does not go with it.");
    for (size_t i = 0; i < COUNT_OF(sets); i++) {
        if (!table && strcmp(sets[i].name, request->name) != 0)
            continue;
        int code = make_folder(request->folder);
        return code != TOOL_DONE ? code : table ? run_table_vi(request) : run_set(request, &sets[i]);
    }
    return tool_misuse(LOOP_SIM, "there is no experiment '%s' in the paper: set-a to set-f, or table-vi.",
                       request->name);
}
