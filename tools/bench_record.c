/* SPDX-License-Identifier: MIT
 *
 * thrum bench: the record of a run. The whole file is written again after each row, so a run that is ended early leaves
 * one that can be read.
 */
#define _GNU_SOURCE

#include "bench.h"
#include "common.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* The first line that a command prints, or "" when there is none. */
static void first_line_of(const char *command, char *line, size_t size)
{
    FILE *pipe = popen(command, "r");
    line[0] = 0;
    if (!pipe)
        return;
    if (!fgets(line, (int)size, pipe))
        line[0] = 0;
    line[strcspn(line, "\n")] = 0;
    pclose(pipe);
}

static void processor_model(char *model, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(model, size, "unknown");
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, "model name", 10) != 0)
            continue;
        line[strcspn(line, "\n")] = 0;
        snprintf(model, size, "%s", colon + 2);
        break;
    }
    if (file)
        fclose(file);
}

static json_t *versions_json(const struct bench *b)
{
    json_t *versions = json_object();
    for (int which = 0; which < IMPLEMENTATIONS; which++)
        if (!b->missing[which])
            json_object_set_new(versions, bench_implementations[which].name, json_string(b->about[which]));
    return versions;
}

static json_t *heading_json(const struct bench *b, const char *stamp)
{
    char commit[64], model[128];
    struct utsname kernel;
    first_line_of("git rev-parse HEAD 2>/dev/null", commit, sizeof commit);
    processor_model(model, sizeof model);
    uname(&kernel);
    return json_pack("{s:s, s:s, s:s, s:I, s:s, s:i, s:b, s:o, s:[]}", "date", stamp, "commit", commit, "processor",
                     model, "processors", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "kernel", kernel.release, "passes",
                     b->passes, "quick", b->quick, "versions", versions_json(b), "rows");
}

static int save(const struct bench *b)
{
    FILE *file = fopen(b->path, "w");
    bool saved = file && json_dumpf(b->record, file, BENCH_JSON) == 0 && fputc('\n', file) != EOF;
    if (file && fclose(file) != 0)
        saved = false;
    return saved ? TOOL_GO_ON : tool_fail(BENCH, "the samples cannot be written to %s: %s", b->path, strerror(errno));
}

/* Two runs may begin in the same second: then the second one's has a number. */
static void name_file(struct bench *b, const char *stamp)
{
    snprintf(b->path, sizeof b->path, "%s/%s.json", b->out, stamp);
    for (int number = 2; number < 100 && access(b->path, F_OK) == 0; number++)
        snprintf(b->path, sizeof b->path, "%s/%s-%d.json", b->out, stamp, number);
}

int bench_open_record(struct bench *b)
{
    char stamp[32];
    time_t now = time(NULL);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H-%M-%SZ", gmtime(&now));
    name_file(b, stamp);
    tool_make_folders(b->path); /* or else it cannot be saved, and that is said */
    b->record = heading_json(b, stamp);
    return b->record ? save(b) : tool_fail(BENCH, "no memory for the samples.");
}

static json_t *numbers_json(const double *values, int count)
{
    json_t *numbers = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(numbers, bench_number(values[i]));
    return numbers;
}

static json_t *samples_json(const struct bench *b, int w)
{
    json_t *all = json_object();
    for (int which = 0; which < IMPLEMENTATIONS; which++) {
        const struct bench_samples *samples = &b->samples[which][w];
        if (!samples->none)
            json_object_set_new(all, bench_implementations[which].name, numbers_json(samples->value, samples->count));
    }
    return all;
}

int bench_record_row(struct bench *b, const struct bench_row *row, int w)
{
    json_t *object = bench_result_json(b, row, w);
    const struct bench_pairs *pairs = &b->pairs[w];
    json_object_set_new(object, "samples", samples_json(b, w));
    if (pairs->count)
        json_object_set_new(object, "to_one_worker_samples", numbers_json(pairs->ratio, pairs->count));
    json_array_append_new(json_object_get(b->record, "rows"), object);
    return save(b);
}

int bench_close_record(struct bench *b)
{
    json_object_set_new(b->record, "taken", json_integer(b->taken));
    json_object_set_new(b->record, "disturbed", json_integer(b->disturbed));
    int code = save(b);
    json_decref(b->record);
    if (b->disturbed)
        fprintf(stderr,
                "thrum bench: of %d samples the host disturbed some, %d times; they were taken again, up to %d times "
                "each\n",
                b->taken, b->disturbed, QUIET_TRIES - 1);
    if (code == TOOL_GO_ON)
        fprintf(stderr, "thrum bench: the samples are in %s\n", b->path);
    return code;
}
