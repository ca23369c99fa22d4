/* SPDX-License-Identifier: MIT
 *
 * Reads the file of performance models; what it looks like is in perf_file.c. Whoever wrote it, nothing in it is
 * trusted.
 */
#include "sched/perf_int.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "model/arch.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 28 };

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

/* A row as it is in the file. */
typedef struct line {
    char *name;
    enum thrum_arch arch;
    uint64_t footprint, bytes;
    thrum__perf_stat stat;
    uint64_t number; /* stands for the numbers of the line; never 0 */
} line;

/* Cuts the next word off: NULL if there is none. */
static char *next_word(char **rest)
{
    char *word = *rest;
    if (!word || !*word)
        return NULL;
    char *blank = strchr(word, ' ');
    if (blank)
        *blank = '\0';
    *rest = blank ? blank + 1 : word + strlen(word);
    return word;
}

static bool read_number(char **rest, int base, uint64_t *number)
{
    char *word = next_word(rest), *end;
    if (!word || !isxdigit((unsigned char)*word))
        return false;
    errno = 0;
    *number = strtoull(word, &end, base);
    return !errno && !*end;
}

static int hex_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place. */
static bool decode_name(char *name)
{
    char *to = name;
    for (const char *from = name; *from; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        int high = hex_digit(from[1]), low = high < 0 ? -1 : hex_digit(from[2]);
        if (low < 0 || (high == 0 && low == 0))
            return false;
        *to++ = (char)(high * 16 + low);
        from += 2;
    }
    *to = '\0';
    return true;
}

static bool read_arch(const char *word, enum thrum_arch *arch)
{
    int named = word ? thrum__arch_named(word) : -1;
    if (named >= 0)
        *arch = (enum thrum_arch)named;
    return named >= 0;
}

static bool read_samples(char *rest, thrum__perf_stat *stat)
{
    uint64_t sample;
    while (rest && *rest) {
        if (stat->asides == THRUM__PERF_ASIDE - 1 || !read_number(&rest, 10, &sample) || sample == 0)
            return false;
        stat->aside[stat->asides++] = (double)sample / THRUM__PERF_PICOSECONDS;
    }
    return (stat->count == 0) == (stat->asides > 0);
}

/* What is wrong with it, or NULL. */
static const char *read_line(char *text, line *l)
{
    uint64_t mean, deviation;
    *l = (line){.name = next_word(&text)};
    if (!l->name || !decode_name(l->name))
        return "no name of a codelet";
    if (!read_arch(next_word(&text), &l->arch))
        return "no kind of worker";
    if (!read_number(&text, 16, &l->footprint) || !read_number(&text, 10, &l->bytes) ||
        !read_number(&text, 10, &l->stat.count) || !read_number(&text, 10, &l->stat.dropped) ||
        !read_number(&text, 10, &mean) || !read_number(&text, 10, &deviation))
        return "not the six numbers that follow";
    if ((l->stat.count == 0) != (mean == 0))
        return "samples without a time";
    l->stat.mean = (double)mean / THRUM__PERF_PICOSECONDS;
    l->stat.variance = (double)deviation / THRUM__PERF_PICOSECONDS * ((double)deviation / THRUM__PERF_PICOSECONDS);
    if (!read_samples(text, &l->stat))
        return "first samples that are none";
    l->number = thrum__perf_stat_number(&l->stat);
    return NULL;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* Rows of others count; own ones that they do not know are added to theirs. */
static int take_in(const line *l)
{
    thrum__perf_row *row = thrum__perf_row_of(l->name, l->arch, l->footprint);
    if (!row)
        return thrum__fault(THRUM_ENOMEM, "no memory for the performance model of '%s'", l->name);
    if (row->noted == 0 || row->kept != l->number) {
        thrum__perf_stat stat = l->stat;
        if (row->noted)
            thrum__perf_stat_merge(&stat, &row->stat, row->noted);
        else
            row->family->samples += thrum__perf_stat_sum(&stat).count;
        row->stat = stat;
        row->bytes = row->noted ? row->bytes : (double)l->bytes;
    }
    row->kept = l->number;
    return 0;
}

/* Goes through all lines of a text, which it cuts to pieces; with `use` the rows are taken in. */
static int go_through(const char *path, char *text, bool use)
{
    uint64_t rows = 0, number = 1, counted;
    if (strncmp(text, THRUM__PERF_FIRST_LINE, sizeof THRUM__PERF_FIRST_LINE - 1) != 0)
        return thrum__fault(THRUM_ESYSTEM, "'%s' is ignored: it does not begin with '%.14s'", path,
                            THRUM__PERF_FIRST_LINE);
    for (char *at = text + sizeof THRUM__PERF_FIRST_LINE - 1, *end; (end = strchr(at, '\n')); at = end + 1) {
        line l;
        *end = '\0';
        number++;
        if (*at == '#')
            continue;
        if (strncmp(at, "end ", 4) == 0) {
            char *rest = at + 4;
            if (read_number(&rest, 10, &counted) && counted == rows && !end[1])
                return 0;
            break;
        }
        const char *wrong = read_line(at, &l);
        if (wrong)
            return thrum__fault(THRUM_ESYSTEM, "'%s' is ignored: line %llu has %s", path, (unsigned long long)number,
                                wrong);
        int err = use ? take_in(&l) : 0;
        if (err)
            return err;
        rows++;
    }
    return thrum__fault(THRUM_ESYSTEM, "'%s' is ignored: it has no last line 'end %llu', so it was cut short", path,
                        (unsigned long long)rows);
}

/* Opens it and tells its size; *file is negative if there is none. */
static int open_to_read(const char *path, int *file, size_t *size)
{
    struct stat about;
    *file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*file < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : thrum__perf_cannot("read", path);
    if (fstat(*file, &about) != 0)
        return thrum__perf_cannot("read", path);
    if (!S_ISREG(about.st_mode) || about.st_size > MOST_BYTES)
        return thrum__fault(THRUM_ESYSTEM, "'%s' is ignored: it is no file, or larger than %d bytes", path, MOST_BYTES);
    *size = (size_t)about.st_size;
    return 0;
}

/* As text. NULL with a sentence. */
static char *read_content(const char *path, int file, size_t size)
{
    char *content = thrum__alloc(size + 1);
    size_t done = 0;
    ssize_t got = 1;
    if (!content) {
        thrum__fault(THRUM_ENOMEM, "no memory to read '%s'", path);
        return NULL;
    }
    while (done < size && got != 0) {
        got = read(file, content + done, size - done);
        if (got < 0 && errno != EINTR) {
            thrum__perf_cannot("read", path);
            thrum__free(content);
            return NULL;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    content[done] = '\0';
    return content;
}

/* Once to see whether all of it is right, and once to take it in. */
static int read_once(const char *path, bool use)
{
    int file;
    size_t size = 0;
    int err = open_to_read(path, &file, &size);
    if (file < 0)
        return err;
    char *text = err ? NULL : read_content(path, file, size);
    close(file);
    if (!text)
        return thrum__last_code();
    err = go_through(path, text, use);
    thrum__free(text);
    return err;
}

int thrum__perf_read(const char *path)
{
    int err = read_once(path, false);
    return err ? err : read_once(path, true);
}
