/* SPDX-License-Identifier: MIT
 *
 * thrum sim: what came out, for people, as JSON and as CSV.
 */
#include "sim.h"

#include "common.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *engine_name(const struct sim_plan *plan)
{
    return plan->engine == THRUM_ENGINE_SIMGRID ? "simgrid" : "native";
}

static double gigabytes(uint64_t bytes)
{
    return (double)bytes * 1e-9;
}

/* Of nothing, everything is 0. */
static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

/* ---- One, in full ------------------------------------------------------------------------------------------------ */

static void print_head(FILE *out, const struct sim_plan *plan, const struct sim_row *row)
{
    thrum_machine_size m;
    const thrum_workload_size *w = &row->work->size;
    thrum_machine_measure(row->machine->machine, &m);
    fprintf(out, "machine    %s: %d cores, %d device%s, %d workers, %d memory node%s\n", row->machine->name, m.cores,
            m.devices, m.devices == 1 ? "" : "s", m.workers, m.nodes, m.nodes == 1 ? "" : "s");
    fprintf(out, "work       %s: %d tasks, %" PRIu64 " edges, %d pieces of data, %.3g GB, longest path %d tasks\n",
            row->work->name, w->tasks, w->edges, w->data, w->bytes * 1e-9, w->depth);
    fprintf(out, "policy     %s, seed %" PRIu64 ", engine %s\n", row->policy, row->seed, engine_name(plan));
}

/* The workers from `first` on that are cores of the same machine or workers of the same device. */
static int group_size(const struct sim_row *row, int first)
{
    thrum_place a, b;
    int size = 1;
    thrum_machine_worker(row->machine->machine, first, &a, NULL);
    while (first + size < row->result->worker_count &&
           thrum_machine_worker(row->machine->machine, first + size, &b, NULL) == 0 && b.node == a.node &&
           b.device == a.device)
        size++;
    return size;
}

static void print_group(FILE *out, const struct sim_row *row, int first, int size)
{
    struct sim_times sum = sim_row_times(row, first, size);
    double all = row->result->makespan * size;
    char name[64], label[96];
    thrum_machine_worker(row->machine->machine, first, NULL, name);
    snprintf(label, sizeof label, size > 1 ? "%s and %d more" : "%s", name, size - 1);
    fprintf(out, "%-28s %8" PRIu64 " %7.1f%% %7.1f%% %7.1f%% %7.1f%% %7.1f%% %7.1f%%\n", label, sum.tasks,
            percent(sum.busy, all), percent(sum.waiting - sum.crowded, all), percent(sum.crowded, all),
            percent(sum.held, all), percent(sum.starved, all), percent(sum.finished, all));
}

static void print_workers(FILE *out, const struct sim_row *row)
{
    fprintf(out, "\n%-28s %8s %8s %8s %8s %8s %8s %8s\n", "workers", "tasks", "busy", "data", "memory", "held",
            "starved", "end");
    for (int first = 0, size; first < row->result->worker_count; first += size) {
        size = group_size(row, first);
        print_group(out, row, first, size);
    }
    fputs(
        "busy: in tasks; data, memory: with a task in hand, waiting for its data, or for room for it; held: a task was\n"
        "ready that it could have run; starved: none was; end: nothing was left for it.\n",
        out);
}

static void print_links(FILE *out, const thrum_sim_result *r)
{
    if (r->link_count)
        fprintf(out, "\n%-18s %8s %12s %8s\n", "from node to node", "copies", "GB", "busy");
    for (int i = 0; i < r->link_count; i++) {
        const thrum_sim_link *l = &r->links[i];
        char name[48];
        snprintf(name, sizeof name, "%d -> %d", l->from, l->to);
        fprintf(out, "%-18s %8" PRIu64 " %12.4f %7.1f%%\n", name, l->copies, gigabytes(l->bytes),
                percent(l->busy, r->makespan));
    }
}

static void print_numbers(FILE *out, const struct sim_row *row)
{
    if (row->number_count)
        fputs("\nthe policy has counted\n", out);
    for (size_t i = 0; i < row->number_count; i++)
        fprintf(out, "  %-28s %.10g\n", row->numbers[i].key, row->numbers[i].value);
}

static void print_steals(FILE *out, const struct sim_row *row)
{
    const thrum_sim_result *r = row->result;
    struct sim_steals counts = sim_row_steal_counts(row);
    fprintf(out, "steals     %.0f, and %.0f attempts in vain\n", counts.steals, counts.wasted);
    if (sim_row_steals(row))
        fprintf(
            out,
            "           at most %.3f of what theory allows in vain; %d searched at once at most; the rule about who "
            "searches was kept\n",
            r->worst_waste, r->most_searching);
}

void sim_print_one(FILE *out, const struct sim_plan *plan, const struct sim_row *row)
{
    const thrum_sim_result *r = row->result;
    print_head(out, plan, row);
    fprintf(out, "\nmakespan   %.9g s, %.3f of the bound\n", r->makespan, sim_row_ratio(row));
    fprintf(out, "bounds     %.9g s: longest path %.9g s, work over all workers %.9g s\n", r->bound, r->critical_path,
            r->area);
    fprintf(out, "moved      %.6g GB in %" PRIu64 " copies\n", gigabytes(r->bytes), r->copies);
    fprintf(out, "idle       %.1f %%\n", 100 * r->idle);
    print_steals(out, row);
    print_workers(out, row);
    print_links(out, r);
    print_numbers(out, row);
}

/* ---- Many, a line each ------------------------------------------------------------------------------------------- */

void sim_print_table(FILE *out, const struct sim_plan *plan)
{
    int width = 6;
    for (size_t i = 0; i < plan->row_count; i++)
        width = (int)strlen(plan->rows[i].policy) > width ? (int)strlen(plan->rows[i].policy) : width;
    fprintf(out, "%-12s %4s %-12s %7s %5s %-*s %6s %11s %6s %10s %6s %6s %6s %8s %9s\n", "machine", "gpus", "work", "n",
            "tile", width, "policy", "seed", "makespan s", "/bound", "moved GB", "idle", "data", "held", "steals",
            "wasted");
    for (size_t i = 0; i < plan->row_count; i++) {
        const struct sim_row *row = &plan->rows[i];
        char gpus[24] = "";
        if (row->machine->gpus >= 0)
            snprintf(gpus, sizeof gpus, "%ld", row->machine->gpus);
        fprintf(out, "%-12s %4s %-12.12s %7" PRIu64 " %5" PRIu64 " %-*s %6" PRIu64 " ", row->machine->name, gpus,
                row->work->name, row->work->n, row->work->tile, width, row->policy, row->seed);
        if (row->error) {
            fprintf(out, "%s\n", row->sentence ? row->sentence : "no memory");
            continue;
        }
        const thrum_sim_result *r = row->result;
        struct sim_times t = sim_row_times(row, 0, row->result->worker_count);
        struct sim_steals counts = sim_row_steal_counts(row);
        double all = r->makespan * r->worker_count;
        fprintf(out, "%11.6g %6.3f %10.4f %5.1f%% %5.1f%% %5.1f%% %8.0f %9.0f\n", r->makespan, sim_row_ratio(row),
                gigabytes(r->bytes), 100 * r->idle, percent(t.waiting, all), percent(t.held, all), counts.steals,
                counts.wasted);
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_t *worker_json(const struct sim_row *row, int i)
{
    const thrum_sim_worker *w = &row->result->workers[i];
    char name[64] = "";
    thrum_machine_worker(row->machine->machine, i, NULL, name);
    return json_pack("{s:s, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "name", name, "tasks", (json_int_t)w->tasks,
                     "refused", (json_int_t)w->refused, "busy", w->busy, "waiting", w->waiting, "crowded", w->crowded,
                     "held", w->held, "starved", w->starved, "finished", w->finished);
}

static json_t *idle_json(const struct sim_row *row)
{
    struct sim_times t = sim_row_times(row, 0, row->result->worker_count);
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "data", t.waiting - t.crowded, "memory", t.crowded, "held", t.held,
                     "starved", t.starved, "end", t.finished);
}

static json_t *links_json(const thrum_sim_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->link_count; i++) {
        const thrum_sim_link *l = &r->links[i];
        json_array_append_new(list, json_pack("{s:i, s:i, s:I, s:I, s:f}", "from", l->from, "to", l->to, "copies",
                                              (json_int_t)l->copies, "bytes", (json_int_t)l->bytes, "busy", l->busy));
    }
    return list;
}

static json_t *nodes_json(const thrum_sim_result *r)
{
    json_t *list = json_array();
    for (int i = 0; i < r->node_count; i++) {
        const thrum_sim_node *n = &r->nodes[i];
        json_array_append_new(list, json_pack("{s:I, s:I, s:I}", "evictions", (json_int_t)n->evictions, "written_back",
                                              (json_int_t)n->written_back, "most_used", (json_int_t)n->most_used));
    }
    return list;
}

/* JSON has no word for what is infinite. */
static json_t *real_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* What begins with `prefix`, under the rest of its key. */
static json_t *numbers_json(const struct sim_row *row, const char *prefix, bool with)
{
    json_t *all = json_object();
    size_t length = strlen(prefix);
    for (size_t i = 0; i < row->number_count; i++) {
        const char *key = row->numbers[i].key;
        if ((strncmp(key, prefix, length) == 0) == with)
            json_object_set_new(all, with ? key + length : key, real_json(row->numbers[i].value));
    }
    return all;
}

static void add_steals(json_t *json, const struct sim_row *row)
{
    const thrum_sim_result *r = row->result;
    struct sim_steals counts = sim_row_steal_counts(row);
    json_object_update_new(
        json, json_pack("{s:I, s:I}", "steals", (json_int_t)counts.steals, "wasted_steals", (json_int_t)counts.wasted));
    if (sim_row_steals(row))
        json_object_update_new(
            json, json_pack("{s:i, s:f}", "most_searching", r->most_searching, "worst_waste", r->worst_waste));
}

static void add_result(json_t *json, const struct sim_row *row)
{
    const thrum_sim_result *r = row->result;
    json_t *workers = json_array();
    for (int i = 0; i < r->worker_count; i++)
        json_array_append_new(workers, worker_json(row, i));
    json_object_update_new(
        json,
        json_pack("{s:f, s:f, s:o, s:f, s:f, s:I, s:I, s:I, s:I, s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "makespan",
                  r->makespan, "bound", r->bound, "ratio", real_json(sim_row_ratio(row)), "critical_path",
                  r->critical_path, "area", r->area, "tasks", (json_int_t)r->tasks, "copies", (json_int_t)r->copies,
                  "bytes", (json_int_t)r->bytes, "events", (json_int_t)r->events, "idle", r->idle, "idle_by_cause",
                  idle_json(row), "links", links_json(r), "nodes", nodes_json(r), "workers", workers, "bmd",
                  numbers_json(row, "bmd.", true), "policy_counts", numbers_json(row, "bmd.", false)));
    add_steals(json, row);
}

static json_t *row_json(const struct sim_plan *plan, const struct sim_row *row)
{
    json_t *json = json_pack("{s:s, s:s, s:I, s:I, s:s, s:I, s:s}", "machine", row->machine->name, "work",
                             row->work->name, "n", (json_int_t)row->work->n, "tile", (json_int_t)row->work->tile,
                             "policy", row->policy, "seed", (json_int_t)row->seed, "engine", engine_name(plan));
    if (row->machine->gpus >= 0)
        json_object_set_new(json, "gpus", json_integer(row->machine->gpus));
    if (sim_row_steals(row))
        json_object_set_new(json, "rule_broken", json_boolean(sim_row_broke_rule(row)));
    if (row->error)
        json_object_set_new(json, "error", json_string(row->sentence ? row->sentence : ""));
    else
        add_result(json, row);
    return json;
}

void sim_print_json(FILE *out, const struct sim_plan *plan)
{
    json_t *all = json_array();
    for (size_t i = 0; i < plan->row_count; i++)
        json_array_append_new(all, row_json(plan, &plan->rows[i]));
    json_dumpf(plan->row_count == 1 ? json_array_get(all, 0) : all, out, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    fputc('\n', out);
    json_decref(all);
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

static const char *const formulas[] = {"laru", "mc", "ls_sdh", "ls_sdh2", "ls_sdhb", "lc_smwb"};
enum { FORMULAS = sizeof formulas / sizeof *formulas, RESULTS = 15 /* from makespan to evictions */ };

static void csv_head(FILE *out)
{
    fputs(
        "machine,gpus,work,n,tile,tasks,policy,seed,engine,makespan,bound,critical_path,area,copies,bytes,idle,busy,data,memory,"
        "held,starved,end,refused,evictions",
        out);
    for (int i = 0; i < FORMULAS; i++)
        fprintf(out, ",bmd_%s", formulas[i]);
    fputs(",steals,wasted_steals,worst_waste,rule_broken,error\n", out);
}

/* Up to, and with, the comma before the last column. */
static void csv_steals(FILE *out, const struct sim_row *row)
{
    if (row->error) {
        fprintf(out, ",,,,%s,", sim_row_broke_rule(row) ? "1" : "");
        return;
    }
    struct sim_steals counts = sim_row_steal_counts(row);
    fprintf(out, ",%.0f,%.0f", counts.steals, counts.wasted);
    if (sim_row_steals(row))
        fprintf(out, ",%.9g,0,", row->result->worst_waste);
    else
        fputs(",,,", out);
}

static void csv_result(FILE *out, const struct sim_row *row)
{
    const thrum_sim_result *r = row->result;
    struct sim_times t = sim_row_times(row, 0, row->result->worker_count);
    uint64_t evictions = 0;
    for (int i = 0; i < r->node_count; i++)
        evictions += r->nodes[i].evictions;
    fprintf(out,
            "%.17g,%.17g,%.17g,%.17g,%" PRIu64 ",%" PRIu64 ",%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%" PRIu64 ",%" PRIu64,
            r->makespan, r->bound, r->critical_path, r->area, r->copies, r->bytes, r->idle, t.busy,
            t.waiting - t.crowded, t.crowded, t.held, t.starved, t.finished, t.refused, evictions);
    for (int i = 0; i < FORMULAS; i++) {
        char key[32];
        snprintf(key, sizeof key, "bmd.%s", formulas[i]);
        double count = sim_row_number(row, key);
        fputc(',', out);
        if (!isnan(count))
            fprintf(out, "%.0f", count);
    }
}

/* A text in quotes, quotes in it twice. */
static void csv_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputs("\"", out);
}

static void csv_row(FILE *out, const struct sim_plan *plan, const struct sim_row *row)
{
    csv_text(out, row->machine->name);
    fputc(',', out);
    if (row->machine->gpus >= 0)
        fprintf(out, "%ld", row->machine->gpus);
    fputc(',', out);
    csv_text(out, row->work->name);
    fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%d,", row->work->n, row->work->tile, row->work->size.tasks);
    csv_text(out, row->policy);
    fprintf(out, ",%" PRIu64 ",%s,", row->seed, engine_name(plan));
    if (!row->error)
        csv_result(out, row);
    for (int i = 1; row->error && i < RESULTS + FORMULAS; i++)
        fputc(',', out);
    csv_steals(out, row);
    if (row->error)
        csv_text(out, row->sentence ? row->sentence : "no memory");
    fputc('\n', out);
}

int sim_write_csv(const char *path, const struct sim_plan *plan)
{
    char *text = NULL, why[4200];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tool_fail(SIM, "no memory");
    csv_head(out);
    for (size_t i = 0; i < plan->row_count; i++)
        csv_row(out, plan, &plan->rows[i]);
    fclose(out);
    bool written = tool_write_file(path, text, size, why, sizeof why);
    free(text);
    return written ? TOOL_DONE : tool_fail(SIM, "%s", why);
}
