/* SPDX-License-Identifier: MIT
 *
 * Texts that may be files of times (`file:PATH`): any is read or refused with file and line, and of what was read the
 * times of iterations add up.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "base/fault.h"
#include "sim/times.h"

#include <thrum/error.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", what, thrum_message(NULL));
    abort();
}

/* A file in memory, made once, with this content. */
static const char *text_of(const uint8_t *bytes, size_t size)
{
    static char text[64];
    static int file = -1;
    if (file < 0) {
        file = memfd_create("times", 0);
        snprintf(text, sizeof text, "file:/proc/self/fd/%d", file);
    }
    must(file >= 0 && ftruncate(file, 0) == 0 && pwrite(file, bytes, size, 0) == (ssize_t)size, "no file in memory");
    return text;
}

/* "PATH:LINE: ...", but for a file without times. */
static void is_a_sentence(const char *path)
{
    static const char empty[] = ": it is empty";
    char *end;
    const char *sentence = thrum_message(NULL);
    size_t length = strlen(path);
    must(strncmp(sentence, path, length) == 0 && sentence[length] == ':', "the sentence does not begin with the file");
    if (strncmp(sentence + length, empty, strlen(empty)) == 0)
        return;
    must(strtoul(sentence + length + 1, &end, 10) > 0 && strncmp(end, ": ", 2) == 0, "it does not say in which line");
}

static void adds_up(const thrum__times *times)
{
    thrum__stream stream = {1};
    double all = thrum__times_sum(times, &stream, 0, times->lines);
    must(times->lines > 0 && isfinite(times->mean) && times->mean >= 0, "the mean is none");
    must(isfinite(times->deviation) && times->deviation >= 0, "the deviation is none");
    must(isfinite(all) && fabs(all - times->mean * (double)times->lines) <= 1e-6 * all + 1e-300,
         "the mean is not that of the sum");
    for (uint64_t i = 0; i < 2 * times->lines; i++)
        must(thrum__times_sum(times, &stream, i, 1) >= 0, "a time is below 0");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    thrum__times times;
    const char *text = text_of(bytes, size);
    if (thrum__times_begin(&times, text) == 0) {
        adds_up(&times);
        thrum__times_end(&times);
    } else {
        must(thrum__last_code() == THRUM_EINVAL, "it is refused for another reason");
        is_a_sentence(text + strlen("file:"));
    }
    return 0;
}
