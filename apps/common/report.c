/* SPDX-License-Identifier: MIT
 *
 * What is printed about a measured application: for people, or as one JSON object.
 */
#include "measure.h"

#include "tools/common.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

/* The executor takes steal for dmda where there are devices. */
static const char *policy_of(const struct app *app)
{
    const char *policy = app->setup->policy;
    if (policy && strcmp(policy, "steal") != 0)
        return policy;
    return app_setup_steals(app->setup) ? "steal" : "dmda";
}

/* ---- For people -------------------------------------------------------------------------------------------------- */

static void print_places(const struct app_counts *counts)
{
    char busy[TOOL_TIME_SIZE], waiting[TOOL_TIME_SIZE];
    for (int i = 0; i < counts->places; i++) {
        const thrum_place_stats *place = &counts->place[i];
        printf("%-10s %" PRIu64 " tasks", place->name, place->tasks);
        if (place->busy > 0)
            printf(", %s in them, %s waiting for data", tool_time(place->busy, busy),
                   tool_time(place->waiting, waiting));
        putchar('\n');
    }
    if (counts->others)
        printf("others     %" PRIu64 " tasks, by the thread that waits\n", counts->others);
}

static void print_nodes(const struct app_counts *counts)
{
    char used[TOOL_TIME_SIZE], memory[TOOL_TIME_SIZE];
    for (int i = 1; i < counts->nodes; i++) {
        const thrum_node_stats *node = &counts->node[i];
        printf("memory %-3d %s used of %s", i, tool_bytes((double)node->most_used, used),
               tool_bytes((double)node->memory, memory));
        printf(", %" PRIu64 " evictions (%" PRIu64 " written back), %" PRIu64 " prefetches\n", node->evictions,
               node->written_back, node->prefetches);
    }
}

static void print_links(const struct app_counts *counts)
{
    char bytes[TOOL_TIME_SIZE];
    for (int i = 0; i < counts->nodes * counts->nodes; i++) {
        const thrum_link_stats *link = &counts->links[i];
        if (!link->copies)
            continue;
        printf("link %d>%d   %s in %" PRIu64 " copies\n", i / counts->nodes, i % counts->nodes,
               tool_bytes((double)link->bytes, bytes), link->copies);
    }
}

static void print_head(const struct app *app, const struct app_counts *counts)
{
    printf("%-11s", app->verb);
    for (size_t i = 0; i < app->fact_count; i++)
        printf("%s%s %.10g", i ? ", " : "", app->facts[i].name, app->facts[i].value);
    printf("; seed %" PRIu64 "\n", app->setup->seed);
    printf("machine    %d workers, %d memory nodes; policy %s, devices %s%s\n", counts->places, counts->nodes,
           policy_of(app), app->setup->devices ? app->setup->all_devices : "cpu",
           app->setup->timing ? ", timing mode" : "");
}

static void print_text(const struct app *app, const struct app_sample *samples, size_t count,
                       const struct app_check *check)
{
    const struct app_sample *middle = &samples[count / 2];
    char seconds[TOOL_TIME_SIZE], home[TOOL_TIME_SIZE], least[TOOL_TIME_SIZE], most[TOOL_TIME_SIZE];
    print_head(app, &middle->counts);
    printf("time       %s", tool_time(middle->seconds, seconds));
    if (count > 1)
        printf(" (median of %zu: %s to %s)", count, tool_time(samples[0].seconds, least),
               tool_time(samples[count - 1].seconds, most));
    printf(", %.4g %s; then %s until the result was home\n", app->amount(app->self) / middle->seconds, app->rate,
           tool_time(middle->home_seconds, home));
    print_places(&middle->counts);
    print_nodes(&middle->counts);
    print_links(&middle->counts);
    printf("check      %s%s\n", !check ? "none" : check->good ? "ok: " : "WRONG: ", check ? check->text : "");
}

/* ---- For programs ------------------------------------------------------------------------------------------------ */

static json_t *number(double value)
{
    return value == floor(value) && fabs(value) < 0x1p53 ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *links_json(const struct app_counts *counts)
{
    json_t *list = json_array();
    for (int i = 0; i < counts->nodes * counts->nodes; i++) {
        const thrum_link_stats *link = &counts->links[i];
        if (i / counts->nodes != i % counts->nodes)
            json_array_append_new(list, json_pack("{s:i, s:i, s:I, s:I, s:f}", "from", i / counts->nodes, "to",
                                                  i % counts->nodes, "bytes", (json_int_t)link->bytes, "copies",
                                                  (json_int_t)link->copies, "busy", link->busy));
    }
    return list;
}

static json_t *nodes_json(const struct app_counts *counts)
{
    json_t *list = json_array();
    for (int i = 0; i < counts->nodes; i++) {
        const thrum_node_stats *node = &counts->node[i];
        json_array_append_new(
            list, json_pack("{s:I, s:I, s:I, s:I, s:I}", "memory", (json_int_t)node->memory, "most_used",
                            (json_int_t)node->most_used, "evictions", (json_int_t)node->evictions, "written_back",
                            (json_int_t)node->written_back, "prefetches", (json_int_t)node->prefetches));
    }
    return list;
}

static json_t *places_json(const struct app_counts *counts)
{
    json_t *list = json_array();
    for (int i = 0; i < counts->places; i++) {
        const thrum_place_stats *place = &counts->place[i];
        json_array_append_new(list, json_pack("{s:s, s:i, s:I, s:f, s:f}", "name", place->name, "node",
                                              place->place.node, "tasks", (json_int_t)place->tasks, "busy", place->busy,
                                              "waiting", place->waiting));
    }
    return list;
}

static json_t *numbers_json(const struct app_counts *counts)
{
    json_t *object = json_object();
    for (int i = 0; i < counts->number_count; i++)
        json_object_set_new(object, counts->numbers[i].key, number(counts->numbers[i].value));
    return object;
}

/* What was given. */
static json_t *app_json(const struct app *app)
{
    json_t *object = json_pack("{s:s}", "app", app->verb);
    for (size_t i = 0; i < app->fact_count; i++)
        json_object_set_new(object, app->facts[i].name, number(app->facts[i].value));
    json_object_set_new(object, "policy", json_string(policy_of(app)));
    json_object_set_new(object, "devices", json_string(app->setup->devices ? app->setup->all_devices : "cpu"));
    json_object_set_new(object, "mode", json_string(app->setup->timing ? "timing" : "real"));
    json_object_set_new(object, "seed", json_integer((json_int_t)app->setup->seed));
    return object;
}

static json_t *samples_json(const struct app_sample *samples, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_real(samples[i].seconds));
    return list;
}

static void add_counts(json_t *object, const struct app_counts *counts)
{
    uint64_t bytes = 0;
    for (int i = 0; i < counts->nodes * counts->nodes; i++)
        bytes += counts->links[i].bytes;
    json_object_set_new(object, "bytes", json_integer((json_int_t)bytes));
    json_object_set_new(object, "tasks", json_integer((json_int_t)app_counts_tasks(counts)));
    json_object_set_new(object, "tasks_of_others", json_integer((json_int_t)counts->others));
    json_object_set_new(object, "workers", places_json(counts));
    json_object_set_new(object, "links", links_json(counts));
    json_object_set_new(object, "nodes", nodes_json(counts));
    json_object_set_new(object, "policy_counts", numbers_json(counts));
}

static void add_check(json_t *object, const struct app_check *check)
{
    json_object_set_new(object, "check", json_string(!check ? "none" : check->good ? "ok" : "wrong"));
    if (!check)
        return;
    json_object_set_new(object, "residual", isfinite(check->residual) ? json_real(check->residual) : json_null());
    json_object_set_new(object, "limit", json_real(check->limit));
    json_object_set_new(object, "checked", json_string(check->text));
}

static void print_json(const struct app *app, const struct app_sample *samples, size_t count,
                       const struct app_check *check)
{
    const struct app_sample *middle = &samples[count / 2];
    json_t *object = app_json(app);
    json_object_set_new(object, "seconds", json_real(middle->seconds));
    json_object_set_new(object, "samples", samples_json(samples, count));
    json_object_set_new(object, "home_seconds", json_real(middle->home_seconds));
    json_object_set_new(object, app->rate_key, json_real(app->amount(app->self) / middle->seconds));
    add_counts(object, &middle->counts);
    add_check(object, check);
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(10));
    putchar('\n');
    json_decref(object);
}

void app_report(const struct app *app, const struct app_sample *samples, size_t count, const struct app_check *check)
{
    (app->setup->json ? print_json : print_text)(app, samples, count, check);
}
