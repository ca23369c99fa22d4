/* SPDX-License-Identifier: MIT
 *
 * thrum bench: results as a table, and as JSON.
 */
#include "bench.h"

#include <math.h>
#include <string.h>

void bench_print_heading(enum bench_group group)
{
    printf("%-24s %7s %22s", "work", "workers", "thrum median (best)");
    for (int which = FIRST_PEER; which < IMPLEMENTATIONS; which++)
        if (bench_takes_part(group, which))
            printf(" %11s", bench_implementations[which].name);
    printf(" %8s %8s %-5s %s\n", "ratio", "limit", "",
           group == DATA ? "/1 worker, /workers x sequential" : "/1 worker");
}

static const char *number(double value, char buffer[32])
{
    if (isnan(value))
        return "-";
    snprintf(buffer, 32, value < 1000 ? "%.2f" : "%.0f", value);
    return buffer;
}

static const char *limit_text(const struct bench *b, const struct bench_row *row, int w, char buffer[32])
{
    if (!bench_has_limit(b, row, w))
        return "";
    static const char *const formats[] = {"", "%g", "%.2g seq", "%g abs", "%g peer", "%g best", "%g each"};
    snprintf(buffer, 32, formats[row->limit_kind], row->limit);
    return buffer;
}

/* What stands at the end of a line: thrum against itself, and against sequential code. */
static void print_comparisons(const struct bench_result *result)
{
    if (!isnan(result->to_one_worker))
        printf(" %.2f%s", result->to_one_worker, result->to_one_worker > 1.05 ? " slower" : "");
    if (!isnan(result->scaling.median))
        printf(" %s%.3f", isnan(result->to_one_worker) ? "- " : "", result->scaling.median);
    putchar('\n');
    fflush(stdout);
}

static void print_row(const struct bench *b, const struct bench_row *row, int w)
{
    struct bench_result result = bench_result_of(b, row, w);
    char cell[2][32], mine[80];
    snprintf(mine, sizeof mine, "%s (%s) %s", number(result.thrum, cell[0]), number(result.thrum_best, cell[1]),
             row->unit);
    printf("%-24s %7d %22s", row->work, b->worker_counts[w], mine);
    for (int which = FIRST_PEER; which < IMPLEMENTATIONS; which++)
        if (bench_takes_part(row->group, which))
            printf(" %11s", number(b->samples[which][w].median, cell[0]));
    snprintf(cell[0], 32, isnan(result.ratio.median) ? "-" : "%.3f", result.ratio.median);
    printf(" %8s %8s %-5s", cell[0], limit_text(b, row, w, cell[1]), result.verdict);
    print_comparisons(&result);
}

static void print_seconds(const struct bench *b, const struct bench_row *row, int w)
{
    char cell[32];
    if (!bench_second_name(row))
        return;
    printf("%24s %7s %22s", bench_second_name(row), "", number(b->samples[THRUM][w].second_median, cell));
    for (int which = FIRST_PEER; which < IMPLEMENTATIONS; which++)
        if (bench_takes_part(row->group, which))
            printf(" %11s", number(b->samples[which][w].second_median, cell));
    putchar('\n');
}

void bench_print_result(const struct bench *b, const struct bench_row *row, int w)
{
    print_row(b, row, w);
    print_seconds(b, row, w);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

json_t *bench_number(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

/* "NAME" and "NAME_range". */
static void set_spread(json_t *object, const char *name, struct bench_spread spread)
{
    char range[64];
    snprintf(range, sizeof range, "%s_range", name);
    json_object_set_new(object, name, bench_number(spread.median));
    json_object_set_new(object, range,
                        isnan(spread.median) ? json_null() : json_pack("[f,f]", spread.low, spread.high));
}

static json_t *peers_json(const struct bench *b, int w)
{
    json_t *peers = json_object();
    for (int which = FIRST_PEER; which <= LAST_PEER; which++)
        if (!b->samples[which][w].none)
            json_object_set_new(peers, bench_implementations[which].name, bench_number(b->samples[which][w].median));
    return peers;
}

/* Co-running processes have a member for their number. */
static void set_work(json_t *object, const struct bench_row *row)
{
    unsigned processes = row->flags / PROCESSES(1);
    const char *hyphen = strrchr(row->work, '-');
    size_t length = processes && hyphen ? (size_t)(hyphen - row->work) : strlen(row->work);
    json_object_set_new(object, "work", json_stringn(row->work, length));
    if (processes)
        json_object_set_new(object, "processes", json_integer(processes));
}

static const char *limit_of(enum bench_limit kind)
{
    switch (kind) {
    case ABSOLUTE:
        return "thrum";
    case OF_SEQUENTIAL:
        return "thrum/sequential";
    default:
        return "ratio";
    }
}

/* The limits that `ratio` is relative to, where each peer has one. */
static json_t *peer_limits_json(enum bench_group group)
{
    json_t *limits = json_object();
    for (int which = FIRST_PEER; which <= LAST_PEER; which++)
        if (bench_peer_limit(group, which) > 0)
            json_object_set_new(limits, bench_implementations[which].name, json_real(bench_peer_limit(group, which)));
    return limits;
}

/* The second numbers of all who have some, thrum and sequential code with the peers. */
static json_t *seconds_json(const struct bench *b, int w)
{
    json_t *seconds = json_object();
    for (int which = 0; which < IMPLEMENTATIONS; which++)
        if (!isnan(b->samples[which][w].second_median))
            json_object_set_new(seconds, bench_implementations[which].name,
                                json_real(b->samples[which][w].second_median));
    return seconds;
}

static void set_limit(json_t *object, const struct bench *b, const struct bench_row *row, int w)
{
    bool limited = bench_has_limit(b, row, w);
    json_object_set_new(object, "limit", bench_number(limited ? row->limit : NAN));
    json_object_set_new(object, "limit_of", json_string(limit_of(row->limit_kind)));
    if (row->limit_kind == OF_EACH && limited)
        json_object_set_new(object, "peer_limits", peer_limits_json(row->group));
}

/* What thrum is compared with that is no peer. */
static void set_others(json_t *object, const struct bench *b, const struct bench_row *row, int w)
{
    json_object_set_new(object, "sequential", bench_number(b->samples[SEQUENTIAL][w].median));
    if (!b->samples[THRUM_DMDA][w].none)
        json_object_set_new(object, "thrum_dmda", bench_number(b->samples[THRUM_DMDA][w].median));
    if (bench_second_name(row))
        json_object_set_new(object, bench_second_name(row), seconds_json(b, w));
}

json_t *bench_result_json(const struct bench *b, const struct bench_row *row, int w)
{
    struct bench_result result = bench_result_of(b, row, w);
    const char *best = result.best_peer < 0 ? NULL : bench_implementations[result.best_peer].name;
    json_t *object = json_object();
    set_work(object, row);
    json_object_set_new(object, "workers", json_integer(b->worker_counts[w]));
    json_object_set_new(object, "unit", json_string(row->unit));
    json_object_set_new(object, "better", json_string(row->flags & MORE ? "more" : "less"));
    json_object_set_new(object, "thrum", bench_number(result.thrum));
    json_object_set_new(object, "peers", peers_json(b, w));
    json_object_set_new(object, "best_peer", best ? json_string(best) : json_null());
    set_spread(object, "ratio", result.ratio);
    set_limit(object, b, row, w);
    json_object_set_new(object, "thrum_best", bench_number(result.thrum_best));
    json_object_set_new(object, "to_one_worker", bench_number(result.to_one_worker));
    json_object_set_new(object, "verdict", json_string(result.verdict));
    set_others(object, b, row, w);
    if (row->flags & SCALES) {
        set_spread(object, "of_workers_times_sequential", result.scaling);
        json_object_set_new(object, "scaling_limit", json_real(BENCH_SCALE));
    }
    return object;
}
