/* SPDX-License-Identifier: MIT */
#include "models.h"

#include "common.h"

#include <thrum/codelet.h>
#include <thrum/options.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *arch_name(enum thrum_arch arch)
{
    return arch == THRUM_ARCH_CPU ? "cpu" : arch == THRUM_ARCH_EMU ? "emu" : "?";
}

static const char *bytes_text(size_t bytes, char text[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    int unit = 0;
    for (; value >= 1024 && unit < 6; unit++)
        value /= 1024;
    snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

/* ---- For people -------------------------------------------------------------------------------------------------- */

/* The width of the longest name, of a table that is gone through twice. */
static void measure(const thrum_model_row *row, void *arg)
{
    int *width = arg, length = (int)strlen(row->codelet);
    if (length > *width)
        *width = length < 40 ? length : 40;
}

static void print_row(const thrum_model_row *row, void *arg)
{
    char bytes[32], mean[TOOL_TIME_SIZE];
    printf("%-*.40s  %-6s  %16llx  %10s  %8llu  %8llu  %10s  %7.1f %%\n", *(const int *)arg, row->codelet,
           arch_name(row->arch), (unsigned long long)row->footprint, bytes_text(row->bytes, bytes),
           (unsigned long long)row->count, (unsigned long long)row->dropped, tool_time(row->mean, mean),
           row->mean > 0 ? 100 * row->deviation / row->mean : 0);
}

static int print_table(const thrum_models_info *info)
{
    int width = 7;
    int rows = thrum_models_visit(measure, &width);
    if (rows < 0)
        return tool_fail("info", "%s", thrum_message(NULL));
    printf("kept in      %s\n", *info->file ? info->file : "no file");
    if (rows == 0) {
        printf("\nNothing has been measured yet. Executors with a policy measure the codelets that they run.\n");
        return TOOL_DONE;
    }
    printf("\n%-*s  %-6s  %16s  %10s  %8s  %8s  %10s  %9s\n", width, "codelet", "worker", "footprint", "bytes",
           "samples", "dropped", "mean", "deviation");
    thrum_models_visit(print_row, &width);
    printf(
        "\nDropped: samples far off the others, which do not count. With less than 8 samples nothing is expected yet.\n");
    return TOOL_DONE;
}

/* ---- For programs ------------------------------------------------------------------------------------------------ */

/* Null for what is empty, or no UTF-8. */
static json_t *text_or_null(const char *text)
{
    json_t *string = *text ? json_string(text) : NULL;
    return string ? string : json_null();
}

static void append_row(const thrum_model_row *row, void *arg)
{
    char footprint[20];
    snprintf(footprint, sizeof footprint, "%016llx", (unsigned long long)row->footprint);
    json_array_append_new(arg,
                          json_pack("{s:o, s:s, s:s, s:I, s:I, s:I, s:f, s:f}", "codelet", text_or_null(row->codelet),
                                    "worker", arch_name(row->arch), "footprint", footprint, "bytes",
                                    (json_int_t)row->bytes, "samples", (json_int_t)row->count, "dropped",
                                    (json_int_t)row->dropped, "mean", row->mean, "deviation", row->deviation));
}

static int print_json(const thrum_models_info *info)
{
    json_t *rows = json_array();
    if (thrum_models_visit(append_row, rows) < 0) {
        json_decref(rows);
        return tool_fail("info", "%s", thrum_message(NULL));
    }
    json_t *object = json_pack("{s:o, s:o, s:o}", "file", text_or_null(info->file), "problem",
                               text_or_null(info->problem), "models", rows);
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(object);
    return TOOL_DONE;
}

int models_print(bool json)
{
    thrum_models_info info;
    if (thrum_options_check() != 0 || thrum_models_get(&info) != 0)
        return tool_fail("info", "%s", thrum_message(NULL));
    int code = json ? print_json(&info) : print_table(&info);
    return code == TOOL_DONE && *info.problem ? tool_fail("info", "%s", info.problem) : code;
}
