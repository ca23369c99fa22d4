/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "trace_read.h"
#include "common.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct trace *trace;
    const char *path;
    char *why;
    size_t why_size;
    json_t *lane_of, *name_of, *link_of; /* from a thread's number and from a name to the index */
};

static int fail(struct reader *r, const char *format, ...)
{
    int length = snprintf(r->why, r->why_size, "%s", strcmp(r->path, "-") == 0 ? "standard input" : r->path);
    if (length >= 0 && (size_t)length < r->why_size) {
        va_list list;
        va_start(list, format);
        vsnprintf(r->why + length, r->why_size - (size_t)length, format, list);
        va_end(list);
    }
    return -1;
}

static int no_memory(struct reader *r)
{
    return fail(r, ": no memory for the trace");
}

/* The index that the map has for the key; the map's size, which it enters, when the key is new. */
static size_t index_of(json_t *map, const char *key)
{
    json_t *known = json_object_get(map, key);
    if (known)
        return (size_t)json_integer_value(known);
    size_t index = json_object_size(map);
    json_object_set_new_nocheck(map, key, json_integer((json_int_t)index));
    return index;
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static long long thread_of(const json_t *event, char key[32])
{
    long long thread = json_integer_value(json_object_get(event, "tid"));
    snprintf(key, 32, "%lld", thread);
    return thread;
}

static int find_lane(struct reader *r, const json_t *event, size_t *lane)
{
    char key[32];
    long long thread = thread_of(event, key);
    *lane = index_of(r->lane_of, key);
    if (*lane < r->trace->lane_count)
        return 0;
    char label[48];
    snprintf(label, sizeof label, "worker %lld", thread);
    struct trace_lane *lanes = realloc(r->trace->lanes, (*lane + 1) * sizeof *lanes);
    if (!lanes)
        return no_memory(r);
    r->trace->lanes = lanes;
    lanes[*lane] = (struct trace_lane){.thread = thread, .label = strdup(label)};
    r->trace->lane_count++;
    return lanes[*lane].label ? 0 : no_memory(r);
}

static int find_name(struct reader *r, const json_t *event, size_t *name)
{
    const char *text = json_string_value(json_object_get(event, "name"));
    if (!text || !*text)
        text = "(no name)";
    *name = index_of(r->name_of, text);
    if (*name < r->trace->name_count)
        return 0;
    if ((*name & (*name + 1)) == 0) { /* full at one less than each power of two: room for twice as many */
        struct trace_name *names = realloc(r->trace->names, (2 * *name + 2) * sizeof *names);
        if (!names)
            return no_memory(r);
        r->trace->names = names;
    }
    r->trace->names[*name] = (struct trace_name){.text = strdup(text)};
    r->trace->name_count++;
    return r->trace->names[*name].text ? 0 : no_memory(r);
}

static int read_times(struct reader *r, const json_t *event, size_t number, double *begins, double *lasts)
{
    const json_t *begin = json_object_get(event, "ts"), *length = json_object_get(event, "dur");
    if (!json_is_number(begin) || !json_is_number(length))
        return fail(r, " is damaged: event %zu of traceEvents has no number in '%s'", number,
                    json_is_number(begin) ? "dur" : "ts");
    *begins = 1e-6 * json_number_value(begin);
    *lasts = 1e-6 * json_number_value(length);
    return *lasts < 0 ? fail(r, " is damaged: event %zu of traceEvents has a negative 'dur'", number) : 0;
}

static int read_task(struct reader *r, const json_t *event, size_t number)
{
    struct trace_event *e = &r->trace->events[r->trace->event_count];
    *e = (struct trace_event){0};
    if (read_times(r, event, number, &e->begin, &e->length) != 0)
        return -1;
    if (find_lane(r, event, &e->lane) != 0 || find_name(r, event, &e->name) != 0)
        return -1;
    r->trace->event_count++;
    return 0;
}

static int read_lane_label(struct reader *r, const json_t *event)
{
    const char *label = json_string_value(json_object_get(json_object_get(event, "args"), "name"));
    size_t lane;
    if (!label)
        return 0;
    if (find_lane(r, event, &lane) != 0)
        return -1;
    char *copy = strdup(label);
    if (!copy)
        return no_memory(r);
    free(r->trace->lanes[lane].label);
    r->trace->lanes[lane].label = copy;
    return 0;
}

static long long count_in(const json_t *counts, const char *name)
{
    return json_integer_value(json_object_get(counts, name));
}

static int read_stats(struct reader *r, const json_t *event)
{
    const json_t *counts = json_object_get(event, "args");
    size_t lane;
    if (find_lane(r, event, &lane) != 0)
        return -1;
    r->trace->lanes[lane].stats = (struct trace_stats){
        true,
        count_in(counts, "steals"),
        count_in(counts, "wasted_steals"),
        count_in(counts, "sleeps"),
        count_in(counts, "wakes"),
        count_in(counts, "naps"),
    };
    return 0;
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* The link whose thread the event is in; NULL: it is no link's. Its metadata comes before its copies. */
static struct trace_link *link_of(const struct reader *r, const json_t *event)
{
    char key[32];
    if (r->trace->link_count == 0)
        return NULL;
    thread_of(event, key);
    const json_t *known = json_object_get(r->link_of, key);
    return known ? &r->trace->links[json_integer_value(known)] : NULL;
}

static int read_link(struct reader *r, const json_t *event)
{
    char key[32];
    const json_t *args = json_object_get(event, "args");
    if (link_of(r, event))
        return 0;
    struct trace_link *links = realloc(r->trace->links, (r->trace->link_count + 1) * sizeof *links);
    if (!links)
        return no_memory(r);
    r->trace->links = links;
    links[r->trace->link_count] = (struct trace_link){
        .thread = thread_of(event, key), .from = count_in(args, "from"), .to = count_in(args, "to")};
    r->trace->link_count = index_of(r->link_of, key) + 1;
    return 0;
}

static bool has_reason(const json_t *event, const char *reason)
{
    const char *text = json_string_value(json_object_get(json_object_get(event, "args"), "reason"));
    return text && strcmp(text, reason) == 0;
}

static int read_copy(struct reader *r, const json_t *event, size_t number, struct trace_link *link)
{
    struct trace_copy *copy = &r->trace->copies[r->trace->copy_count];
    double bytes = json_number_value(json_object_get(json_object_get(event, "args"), "bytes"));
    if (read_times(r, event, number, &copy->begin, &copy->length) != 0)
        return -1;
    copy->link = (size_t)(link - r->trace->links);
    r->trace->copy_count++;
    link->copies++;
    link->bytes += bytes > 0 ? bytes : 0;
    link->prefetched += has_reason(event, "prefetched");
    link->written_back += has_reason(event, "written back");
    return 0;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

static int read_link_event(struct reader *r, const json_t *event, size_t number, struct trace_link *link)
{
    const char *kind = json_string_value(json_object_get(event, "ph"));
    if (strcmp(kind, "X") == 0)
        return read_copy(r, event, number, link);
    link->thrown_out += strcmp(kind, "i") == 0 && has_reason(event, "thrown out");
    return 0;
}

/* Other kinds of event are for other programs. */
static int read_event(struct reader *r, const json_t *event, size_t number)
{
    const char *kind = json_string_value(json_object_get(event, "ph"));
    if (!kind)
        return fail(r, " is not a trace: event %zu of traceEvents has no text in 'ph'", number);
    struct trace_link *link = link_of(r, event);
    if (link)
        return read_link_event(r, event, number, link);
    if (strcmp(kind, "X") == 0)
        return read_task(r, event, number);
    const char *name = json_string_value(json_object_get(event, "name"));
    if (strcmp(kind, "M") == 0 && name && strcmp(name, "thrum_link") == 0)
        return read_link(r, event);
    if (strcmp(kind, "M") == 0 && name && strcmp(name, "thread_name") == 0)
        return read_lane_label(r, event);
    if (strcmp(kind, "M") == 0 && name && strcmp(name, "thrum_stats") == 0)
        return read_stats(r, event);
    return 0;
}

/* What other programs write has no format of thrum's, and need have none. */
static int check_format(struct reader *r, const json_t *root)
{
    const json_t *about = json_object_get(root, "otherData");
    const char *format = json_string_value(json_object_get(about, "format")), *thrum;
    if (!format || strcmp(format, "1") == 0 || !(thrum = json_string_value(json_object_get(about, "thrum"))))
        return 0;
    return fail(r, ":1: a trace in format %s, written by thrum %s; this thrum reads format 1", format, thrum);
}

static int read_root(struct reader *r, const json_t *root)
{
    if (check_format(r, root) != 0)
        return -1;
    const json_t *events = json_is_array(root) ? root : json_object_get(root, "traceEvents");
    if (!json_is_array(events))
        return fail(r, " is JSON but no trace: it has no list 'traceEvents'");
    const json_t *lost = json_object_get(json_object_get(root, "otherData"), "lost_events");
    r->trace->lost = json_is_string(lost) ? atoll(json_string_value(lost)) : json_integer_value(lost);
    r->trace->events = calloc(json_array_size(events) + 1, sizeof *r->trace->events);
    r->trace->copies = calloc(json_array_size(events) + 1, sizeof *r->trace->copies);
    if (!r->trace->events || !r->trace->copies)
        return no_memory(r);
    for (size_t i = 0; i < json_array_size(events); i++)
        if (read_event(r, json_array_get(events, i), i) != 0)
            return -1;
    return 0;
}

/* ---- Sums -------------------------------------------------------------------------------------------------------- */

struct order {
    long long thread;
    size_t from;
};

static int by_thread(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

static int sort_lanes(struct reader *r)
{
    struct trace *trace = r->trace;
    struct order *order = calloc(trace->lane_count + 1, sizeof *order);
    struct trace_lane *lanes = calloc(trace->lane_count + 1, sizeof *lanes);
    size_t *to = calloc(trace->lane_count + 1, sizeof *to);
    bool good = order && lanes && to;
    if (good) {
        for (size_t i = 0; i < trace->lane_count; i++)
            order[i] = (struct order){trace->lanes[i].thread, i};
        qsort(order, trace->lane_count, sizeof *order, by_thread);
        for (size_t i = 0; i < trace->lane_count; i++) {
            lanes[i] = trace->lanes[order[i].from];
            to[order[i].from] = i;
        }
        for (size_t i = 0; i < trace->event_count; i++)
            trace->events[i].lane = to[trace->events[i].lane];
        free(trace->lanes);
        trace->lanes = lanes;
        lanes = NULL;
    }
    free(order);
    free(lanes);
    free(to);
    return good ? 0 : no_memory(r);
}

/* At the same begin the longer event comes first: it is the one that holds the other. */
static int by_lane_and_begin(const void *a, const void *b)
{
    const struct trace_event *x = a, *y = b;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->length < y->length) - (x->length > y->length);
}

static int by_link_and_begin(const void *a, const void *b)
{
    const struct trace_copy *x = a, *y = b;
    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static void widen(double begin, double length, double *first, double *last)
{
    *first = begin < *first ? begin : *first;
    *last = begin + length > *last ? begin + length : *last;
}

static void count_from_zero(struct trace *trace)
{
    double first = INFINITY, last = -INFINITY;
    for (size_t i = 0; i < trace->event_count; i++)
        widen(trace->events[i].begin, trace->events[i].length, &first, &last);
    for (size_t i = 0; i < trace->copy_count; i++)
        widen(trace->copies[i].begin, trace->copies[i].length, &first, &last);
    for (size_t i = 0; i < trace->event_count; i++)
        trace->events[i].begin -= first;
    for (size_t i = 0; i < trace->copy_count; i++)
        trace->copies[i].begin -= first;
    trace->makespan = trace->event_count + trace->copy_count ? last - first : 0;
}

/* Walks along each lane. What ends after `covered` was not counted yet. Times in the file are rounded to nanoseconds,
 * so an event may seem to begin just before the one in front of it ends: that is no nesting. */
static void sum_up(struct trace *trace)
{
    const double rounding = 2e-9;
    double covered = 0;
    for (size_t i = 0; i < trace->event_count; i++) {
        struct trace_event *e = &trace->events[i];
        double end = e->begin + e->length;
        struct trace_lane *lane = &trace->lanes[e->lane];
        if (lane->events++ == 0)
            covered = 0;
        e->nested = end <= covered + rounding && e->begin < covered - rounding;
        trace->nested |= e->nested;
        if (end > covered) {
            lane->busy += end - (e->begin > covered ? e->begin : covered);
            covered = end;
        }
        struct trace_name *name = &trace->names[e->name];
        name->count++;
        name->total += e->length;
        name->longest = e->length > name->longest ? e->length : name->longest;
    }
    for (size_t i = 0; i < trace->lane_count; i++)
        trace->busy += trace->lanes[i].busy;
}

/* As of lanes: what other programs have written may overlap. */
static void sum_up_links(struct trace *trace)
{
    double covered = 0;
    for (size_t i = 0; i < trace->copy_count; i++) {
        const struct trace_copy *copy = &trace->copies[i];
        double end = copy->begin + copy->length;
        if (i == 0 || copy->link != copy[-1].link)
            covered = 0;
        if (end <= covered)
            continue;
        trace->links[copy->link].busy += end - (copy->begin > covered ? copy->begin : covered);
        covered = end;
    }
}

static void sum_up_stats(struct trace *trace)
{
    struct trace_stats *sum = &trace->stats;
    for (size_t i = 0; i < trace->lane_count; i++) {
        const struct trace_stats *s = &trace->lanes[i].stats;
        sum->known |= s->known;
        sum->steals += s->steals;
        sum->wasted += s->wasted;
        sum->sleeps += s->sleeps;
        sum->wakes += s->wakes;
        sum->naps += s->naps;
    }
}

/* "worker 3", and with a domain or a device before it "emu 0 worker 1". */
static bool names_worker(const char *label)
{
    static const char word[] = "worker";
    const char *number = strrchr(label, ' ');
    size_t length = number ? (size_t)(number - label) : strlen(label), size = sizeof word - 1;
    if (length < size || strncmp(label + length - size, word, size) != 0)
        return false;
    return length == size || label[length - size - 1] == ' ';
}

/* Where workers are named as such, every other lane is a helper; those that did nothing are left out. */
static void tell_helpers(struct trace *trace)
{
    for (size_t i = 0; i < trace->lane_count; i++)
        trace->workers += names_worker(trace->lanes[i].label);
    if (trace->workers == 0)
        trace->workers = trace->lane_count;
    else
        for (size_t i = 0; i < trace->lane_count; i++)
            trace->lanes[i].helper = !names_worker(trace->lanes[i].label);
}

static bool uses_lane(const struct trace *trace, size_t lane)
{
    return !trace->lanes[lane].helper || trace->lanes[lane].events > 0;
}

static void drop_idle_helpers(struct trace *trace)
{
    size_t kept = 0;
    size_t event = 0;
    for (size_t i = 0; i < trace->lane_count; i++) {
        if (!uses_lane(trace, i)) {
            free(trace->lanes[i].label);
            continue;
        }
        for (; event < trace->event_count && trace->events[event].lane == i; event++)
            trace->events[event].lane = kept;
        trace->lanes[kept++] = trace->lanes[i];
    }
    trace->lane_count = kept;
}

static int finish(struct reader *r)
{
    if (sort_lanes(r) != 0)
        return -1;
    count_from_zero(r->trace);
    qsort(r->trace->events, r->trace->event_count, sizeof *r->trace->events, by_lane_and_begin);
    qsort(r->trace->copies, r->trace->copy_count, sizeof *r->trace->copies, by_link_and_begin);
    tell_helpers(r->trace);
    sum_up(r->trace);
    sum_up_links(r->trace);
    sum_up_stats(r->trace);
    drop_idle_helpers(r->trace);
    return 0;
}

static json_t *load(struct reader *r, const char *text, size_t size)
{
    json_error_t error;
    json_t *root = json_loadb(text, size, 0, &error);
    if (!root && strspn(text, " \t\r\n") == size)
        fail(r, " is empty; a trace is written when its executor is freed or the program ends");
    else if (!root && json_error_code(&error) == json_error_premature_end_of_input)
        fail(r, " is cut off in line %d: its writer was stopped or is not done yet", error.line);
    else if (!root)
        fail(r, ":%d: not a trace, nor any JSON: %s", error.line, error.text);
    return root;
}

int trace_read_text(const char *text, size_t size, const char *path, struct trace *trace, char *why, size_t why_size)
{
    *trace = (struct trace){0};
    struct reader r = {trace, path, why, why_size, json_object(), json_object(), json_object()};
    json_t *root = load(&r, text, size);
    int code = root && read_root(&r, root) == 0 && finish(&r) == 0 ? 0 : -1;
    json_decref(root);
    json_decref(r.lane_of);
    json_decref(r.name_of);
    json_decref(r.link_of);
    if (code != 0)
        trace_free(trace);
    return code;
}

int trace_read(const char *path, struct trace *trace, char *why, size_t why_size)
{
    size_t size;
    char *text = tool_read_file(path, &size, why, why_size);
    if (!text)
        return -1;
    int code = trace_read_text(text, size, path, trace, why, why_size);
    free(text);
    return code;
}

void trace_free(struct trace *trace)
{
    for (size_t i = 0; i < trace->lane_count; i++)
        free(trace->lanes[i].label);
    for (size_t i = 0; i < trace->name_count; i++)
        free(trace->names[i].text);
    free(trace->events);
    free(trace->lanes);
    free(trace->names);
    free(trace->copies);
    free(trace->links);
    *trace = (struct trace){0};
}

static void add_to_slices(double begin, double end, double width, double *slices, size_t count)
{
    for (size_t s = (size_t)(begin / width); s < count && (double)s * width < end; s++) {
        double from = fmax(begin, (double)s * width), to = fmin(end, (double)(s + 1) * width);
        slices[s] = fmin(1, slices[s] + fmax(0, to - from) / width);
    }
}

void trace_slices(const struct trace *trace, size_t lane, double *slices, size_t count)
{
    memset(slices, 0, count * sizeof *slices);
    double width = trace->makespan / (double)count;
    for (size_t i = 0; i < trace->event_count && width > 0; i++) {
        const struct trace_event *e = &trace->events[i];
        if (e->lane == lane && !e->nested)
            add_to_slices(e->begin, e->begin + e->length, width, slices, count);
    }
}

void trace_link_slices(const struct trace *trace, size_t link, double *slices, size_t count)
{
    memset(slices, 0, count * sizeof *slices);
    double width = trace->makespan / (double)count;
    for (size_t i = 0; i < trace->copy_count && width > 0; i++) {
        const struct trace_copy *copy = &trace->copies[i];
        if (copy->link == link)
            add_to_slices(copy->begin, copy->begin + copy->length, width, slices, count);
    }
}

static int by_total(const void *a, const void *b)
{
    const struct trace_name *const *x = a, *const *y = b;
    if ((*x)->total != (*y)->total)
        return (*x)->total < (*y)->total ? 1 : -1;
    return strcmp((*x)->text, (*y)->text);
}

size_t *trace_ranking(const struct trace *trace)
{
    const struct trace_name **sorted = calloc(trace->name_count + 1, sizeof *sorted);
    size_t *ranking = calloc(trace->name_count + 1, sizeof *ranking);
    if (sorted && ranking) {
        for (size_t i = 0; i < trace->name_count; i++)
            sorted[i] = &trace->names[i];
        qsort(sorted, trace->name_count, sizeof *sorted, by_total);
        for (size_t i = 0; i < trace->name_count; i++)
            ranking[i] = (size_t)(sorted[i] - trace->names);
    } else {
        free(ranking);
        ranking = NULL;
    }
    free(sorted);
    return ranking;
}
