/* SPDX-License-Identifier: MIT
 *
 * Texts that may be workloads: any is read, or refused with file and line, and so is its order, which may be
 * circular; what was read, written and read again is the same.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <thrum/error.h>
#include <thrum/workload.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Files in memory, made once. */
static const char *memory_file(int number)
{
    static char paths[2][64];
    if (!*paths[number])
        snprintf(paths[number], sizeof paths[number], "/proc/self/fd/%d", memfd_create("workload", 0));
    return paths[number];
}

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", what, thrum_message(NULL));
    abort();
}

static char *content(const char *path, size_t *size)
{
    FILE *file = fopen(path, "r");
    must(file != NULL && fseek(file, 0, SEEK_END) == 0, "a file that was written cannot be opened");
    *size = (size_t)ftell(file);
    char *text = malloc(*size + 1);
    rewind(file);
    must(fread(text, 1, *size, file) == *size, "a file that was written cannot be read");
    fclose(file);
    return text;
}

/* "fuzz.workload:LINE: ...", but for a text without lines. */
static void is_a_sentence(void)
{
    static const char place[] = "fuzz.workload:", empty[] = " it is empty";
    char *end;
    const char *sentence = thrum_message(NULL);
    must(strncmp(sentence, place, strlen(place)) == 0, "the sentence does not begin with the file");
    if (strncmp(sentence + strlen(place), empty, strlen(empty)) == 0)
        return;
    must(strtoul(sentence + strlen(place), &end, 10) > 0 && strncmp(end, ": ", 2) == 0,
         "it does not say in which line");
}

/* The size is known if, and only if, there is an order. */
static int has_order(const thrum_workload *workload)
{
    thrum_workload_size measured;
    int err = thrum_workload_check(workload);
    must(err == 0 || err == THRUM_ECYCLE || err == THRUM_EDATA, "its order is refused for another reason");
    if (err)
        is_a_sentence();
    must(thrum_workload_measure(workload, &measured) == err, "its size is known, and its order is not");
    return err == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    thrum_workload *workload = thrum_workload_parse((const char *)bytes, size, "fuzz.workload");
    if (!workload) {
        is_a_sentence();
        return 0;
    }
    int ordered = has_order(workload);
    must(thrum_workload_write(workload, memory_file(0)) == 0, "it cannot be written");
    thrum_workload *again = thrum_workload_read(memory_file(0));
    must(again != NULL, "what was written cannot be read");
    must((thrum_workload_check(again) == 0) == ordered, "it has another order when it is read again");
    must(thrum_workload_write(again, memory_file(1)) == 0, "it cannot be written again");
    size_t one_size, other_size;
    char *one = content(memory_file(0), &one_size), *other = content(memory_file(1), &other_size);
    must(one_size == other_size && memcmp(one, other, one_size) == 0, "it is written differently the second time");
    free(one);
    free(other);
    thrum_workload_free(workload);
    thrum_workload_free(again);
    return 0;
}
