/* SPDX-License-Identifier: MIT
 *
 * Texts that may be files of performance models: any is taken in or refused with a sentence, what was taken in can be
 * asked for, and what is written of it is read again.
 */
#include "base/fault.h"
#include "sched/perf_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", what, thrum_message(NULL));
    abort();
}

/* In a folder of its own, made once. */
static const char *path_of(const char *name)
{
    static char folder[] = "/tmp/thrum-fuzz-models-XXXXXX", path[64];
    static int made;
    if (!made) {
        must(mkdtemp(folder) != NULL, "no folder");
        setenv("THRUM_MODELS", "off", 1); /* the files here and no other */
    }
    made = 1;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void put(const char *path, const uint8_t *data, size_t size)
{
    FILE *file = fopen(path, "w");
    must(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0, "the input cannot be written");
}

static void count_row(thrum__perf_row *row, void *ctx)
{
    *(size_t *)ctx += row->stat.count + (uint64_t)row->stat.asides > 0;
}

static size_t rows(void)
{
    size_t count = 0;
    thrum__perf_each(count_row, &count);
    return count;
}

static double ask(const char *name, enum thrum_arch arch, enum thrum_model_kind model, uint64_t footprint, size_t bytes)
{
    const thrum_codelet codelet = {.name = name, .model = model};
    const thrum_place place = {.arch = arch};
    const thrum__perf_shape shape = {footprint, bytes};
    return thrum__perf_expect(&codelet, &place, &shape, NULL, 0, NULL);
}

static void ask_for_row(const thrum_model_row *row, void *arg)
{
    (void)arg;
    must(!isnan(row->mean) && !isnan(row->deviation) && row->mean > 0, "a row is no number");
    must(!isnan(ask(row->codelet, row->arch, THRUM_BY_HISTORY, row->footprint, row->bytes)), "an expectation is none");
    for (size_t bytes = row->bytes / 2; bytes < row->bytes * 2; bytes += row->bytes / 2 + 1)
        must(!isnan(ask(row->codelet, row->arch, THRUM_BY_SIZE, 0, bytes)), "a curve gives no number");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    put(path_of("given"), data, size);
    thrum__perf_forget();
    (void)ask("nobody", THRUM_ARCH_CPU, THRUM_BY_HISTORY, 1, 1); /* reads what there is: no file */
    if (thrum__perf_read(path_of("given"))) {
        must(rows() == 0 && strstr(thrum_message(NULL), "/given") != NULL, "refused, but not properly");
        return 0;
    }
    size_t count = rows();
    must(thrum_models_visit(ask_for_row, NULL) >= 0, "they cannot be listed");
    unlink(path_of("written"));
    must(thrum__perf_write(path_of("written")) == 0, "it cannot be written");
    thrum__perf_forget();
    must(thrum__perf_read(path_of("written")) == 0, "what was written cannot be read");
    must(rows() == count, "what was written has other rows");
    return 0;
}
