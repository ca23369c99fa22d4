/* SPDX-License-Identifier: MIT
 *
 * Fuzz target of the reader of machine files: any text is read or refused with a sentence, what is read is laid out,
 * and what is written of it is read again.
 */
#include <thrum/thrum.h>

#include "base/fault.h"
#include "sim/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Files of times are read from wherever they say: not for random paths. What is in them is for times.c. */
static int names_a_file(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 5 <= size; i++)
        if (memcmp(data + i, "file:", 5) == 0)
            return 1;
    return 0;
}

static void expect(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", what, thrum_message(NULL));
    abort();
}

/* Written and read again, and that written: both files are the same. */
static char *written(const thrum_machine *machine, size_t *length)
{
    static char text[1 << 20];
    char path[] = "/tmp/thrum-fuzz-machine-XXXXXX";
    int number = mkstemp(path);
    expect(number >= 0, "a temporary file");
    expect(thrum_machine_write(machine, path) == 0, "writing");
    FILE *file = fdopen(number, "r");
    expect(file != NULL, "opening");
    *length = fread(text, 1, sizeof text, file);
    fclose(file);
    unlink(path);
    return text;
}

static void come_back(const thrum_machine *machine)
{
    size_t length, again_length;
    char *text = written(machine, &length), *first = malloc(length + 1);
    if (!first)
        return;
    memcpy(first, text, length);
    thrum_machine *again = thrum_machine_parse(first, length, "again.machine");
    expect(again != NULL, "what was written is not read");
    text = written(again, &again_length);
    expect(again_length == length && memcmp(text, first, length) == 0, "what was written twice differs");
    thrum_machine_free(again);
    free(first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    thrum__layout layout;
    thrum_machine_size about;
    if (size > 20000 || names_a_file(data, size))
        return 0;
    thrum_machine *machine = thrum_machine_parse((const char *)data, size, "fuzz.machine");
    if (!machine) {
        expect(thrum__last_code() < 0 && strstr(thrum_message(NULL), "fuzz.machine") != NULL, "no sentence");
        return 0;
    }
    thrum_machine_measure(machine, &about);
    int err = about.nodes < 64 ? thrum__machine_layout_make(machine, &layout) : 1;
    expect(err >= 0 || about.workers == 0, "laying out");
    if (!err)
        thrum__machine_layout_drop(&layout);
    come_back(machine);
    thrum_machine_free(machine);
    return 0;
}
