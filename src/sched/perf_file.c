/* SPDX-License-Identifier: MIT
 *
 * Performance models in a file, one for each machine: FOLDER/HOST.txt.
 *
 *     thrum models 1
 *     # codelet arch footprint bytes samples dropped mean deviation first-samples (picoseconds)
 *     gemm cpu 8f3a... 6291456 412 3 10234567890 34567890
 *     trsm emu 1b77... 4194304 0 0 0 0 1234567890 1234567999
 *     end 2
 *
 * Words are separated by single blanks; a codelet's name has its blanks and the like as %20. Times are whole numbers,
 * so that no locale's decimal point matters. A row that knows nothing yet has its first samples behind it. The last
 * line counts the rows: a file without it was cut short.
 *
 * **Several processes.** Nobody changes a file: who has something new writes all of it to another name and renames
 * that, so who reads finds the old or the new one, and whole. Before that it reads the file again and puts together
 * what it has and what others have added, while it has a lock on FILE.lock, so that nothing is lost between its reading
 * and its renaming.
 *
 * **Files that are none.** A file is taken in as a whole or not at all. One that cannot be understood is left alone
 * until there is something to write, and is then renamed to FILE.broken: somebody may want to see what it was.
 */
#include "sched/perf_int.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "base/options.h"
#include "sys/clock.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char first_line[] = "thrum models 1\n";
static const char *const arch_names[THRUM_ARCHS] = {[THRUM_ARCH_CPU] = "cpu", [THRUM_ARCH_EMU] = "emu"};

enum { MOST_BYTES = 1 << 28, LOCK_TRIES = 200, LOCK_PAUSE_NS = 5000000 };
static const double picoseconds = 1e12;

/* ---- Where it is -------------------------------------------------------------------------------------------------- */

static int folder_of(char folder[THRUM__PERF_PATH])
{
    const char *option = thrum__option_text(THRUM__OPT_MODELS), *cache = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    int length;
    if (strchr(option, '/'))
        length = snprintf(folder, THRUM__PERF_PATH, "%s", option);
    else if (cache && *cache == '/')
        length = snprintf(folder, THRUM__PERF_PATH, "%s/thrum/models", cache);
    else if (home && *home == '/')
        length = snprintf(folder, THRUM__PERF_PATH, "%s/.cache/thrum/models", home);
    else
        return thrum__fault(THRUM_ESYSTEM,
                            "performance models are not kept: neither XDG_CACHE_HOME nor HOME is the path of a "
                            "folder; THRUM_MODELS can name one");
    if (length >= THRUM__PERF_PATH)
        return thrum__fault(THRUM_ESYSTEM,
                            "performance models are not kept: the path of their folder is %d characters long", length);
    return 0;
}

static void host_name(char host[64])
{
    if (gethostname(host, 64) != 0 || !*host)
        snprintf(host, 64, "machine");
    host[63] = '\0';
    for (char *c = host; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_' && *c != '.')
            *c = '_';
}

int thrum__perf_path(char path[THRUM__PERF_PATH])
{
    char folder[THRUM__PERF_PATH], host[64];
    *path = '\0';
    if (strcmp(thrum__option_text(THRUM__OPT_MODELS), "off") == 0)
        return 0;
    int err = folder_of(folder);
    if (err)
        return err;
    host_name(host);
    if (strlen(folder) + strlen(host) + sizeof "/.txt.broken.XXXXXX" > THRUM__PERF_PATH)
        return thrum__fault(THRUM_ESYSTEM,
                            "performance models are not kept: the path of their folder, '%.100s...', is too long",
                            folder);
    snprintf(path, THRUM__PERF_PATH, "%.*s/%s.txt", (int)strlen(folder), folder, host);
    return 0;
}

/* ---- Reading ------------------------------------------------------------------------------------------------------ */

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
    for (int i = 0; word && i < THRUM_ARCHS; i++)
        if (strcmp(word, arch_names[i]) == 0) {
            *arch = (enum thrum_arch)i;
            return true;
        }
    return false;
}

static uint64_t number_of(const thrum__perf_stat *stat)
{
    thrum__perf_shape sum = {0};
    thrum__perf_shape_add(&sum, stat->count, 0);
    thrum__perf_shape_add(&sum, stat->dropped, 0);
    thrum__perf_shape_add(&sum, (uint64_t)llround(stat->mean * picoseconds), 0);
    for (int i = 0; i < stat->asides; i++)
        thrum__perf_shape_add(&sum, (uint64_t)llround(stat->aside[i] * picoseconds), 0);
    return sum.footprint | 1;
}

static bool read_samples(char *rest, thrum__perf_stat *stat)
{
    uint64_t sample;
    while (rest && *rest) {
        if (stat->asides == THRUM__PERF_ASIDE - 1 || !read_number(&rest, 10, &sample) || sample == 0)
            return false;
        stat->aside[stat->asides++] = (double)sample / picoseconds;
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
    l->stat.mean = (double)mean / picoseconds;
    l->stat.variance = (double)deviation / picoseconds * ((double)deviation / picoseconds);
    if (!read_samples(text, &l->stat))
        return "first samples that are none";
    l->number = number_of(&l->stat);
    return NULL;
}

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
    if (strncmp(text, first_line, sizeof first_line - 1) != 0)
        return thrum__fault(THRUM_ESYSTEM, "'%s' is ignored: it does not begin with '%.14s'", path, first_line);
    for (char *at = text + sizeof first_line - 1, *end; (end = strchr(at, '\n')); at = end + 1) {
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

static int cannot(const char *what, const char *path)
{
    return thrum__fault(THRUM_ESYSTEM, "performance models: '%s' cannot be %s: %s", path, what, strerror(errno));
}

/* The file's content, as text: *text is NULL if there is no file. */
static int read_all(const char *path, char **text)
{
    *text = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : cannot("read", path);
    struct stat about;
    int err = 0;
    size_t size = 0, done = 0;
    if (fstat(file, &about) != 0)
        err = cannot("read", path);
    else if (!S_ISREG(about.st_mode) || about.st_size > MOST_BYTES)
        err = thrum__fault(THRUM_ESYSTEM, "'%s' is ignored: it is no file, or larger than %d bytes", path, MOST_BYTES);
    else
        size = (size_t)about.st_size;
    char *content = err ? NULL : thrum__alloc(size + 1);
    if (!err && !content)
        err = thrum__fault(THRUM_ENOMEM, "no memory to read '%s'", path);
    while (!err && done < size) {
        ssize_t got = read(file, content + done, size - done);
        if (got < 0 && errno != EINTR)
            err = cannot("read", path);
        else if (got == 0)
            size = done;
        else if (got > 0)
            done += (size_t)got;
    }
    close(file);
    if (err) {
        thrum__free(content);
        return err;
    }
    content[done] = '\0';
    *text = content;
    return 0;
}

int thrum__perf_read(const char *path)
{
    for (int use = 0; use < 2; use++) { /* first all of it is looked at */
        char *text;
        int err = read_all(path, &text);
        if (err || !text)
            return err;
        err = go_through(path, text, use);
        thrum__free(text);
        if (err)
            return err;
    }
    return 0;
}

/* ---- Writing ------------------------------------------------------------------------------------------------------ */

static int make_folders(const char *path)
{
    char folder[THRUM__PERF_PATH];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
            return cannot("made", folder);
        *slash = '/';
    }
    return 0;
}

static void write_name(FILE *file, const char *name)
{
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == '%' || *c == 127)
            fprintf(file, "%%%02x", (unsigned char)*c);
        else
            fputc(*c, file);
}

static unsigned long long in_picoseconds(double seconds)
{
    return (unsigned long long)llround(seconds * picoseconds);
}

typedef struct writing {
    FILE *file;
    unsigned long long rows;
} writing;

static void write_row(thrum__perf_row *row, void *ctx)
{
    writing *w = ctx;
    const thrum__perf_stat *stat = &row->stat;
    if (stat->count + (uint64_t)stat->asides == 0)
        return;
    write_name(w->file, row->family->name);
    fprintf(w->file, " %s %llx %llu %llu %llu %llu %llu", arch_names[row->family->arch],
            (unsigned long long)row->footprint, (unsigned long long)llround(row->bytes),
            (unsigned long long)stat->count, (unsigned long long)stat->dropped,
            stat->count ? in_picoseconds(stat->mean) : 0, stat->count ? in_picoseconds(sqrt(stat->variance)) : 0);
    for (int i = 0; stat->count == 0 && i < stat->asides; i++)
        fprintf(w->file, " %llu", in_picoseconds(stat->aside[i]));
    fputc('\n', w->file);
    w->rows++;
}

static void row_is_kept(thrum__perf_row *row, void *ctx)
{
    (void)ctx;
    thrum__perf_stat stat = row->stat;
    stat.asides = stat.count ? 0 : stat.asides;
    row->noted = 0;
    row->kept = number_of(&stat);
}

/* To a name of its own, which is then renamed. */
static int write_all(const char *path)
{
    char temporary[THRUM__PERF_PATH + 8];
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    int number = mkstemp(temporary);
    if (number < 0)
        return cannot("written", path);
    writing w = {.file = fdopen(number, "w")};
    if (!w.file) {
        close(number);
        unlink(temporary);
        return cannot("written", path);
    }
    fputs(first_line, w.file);
    fputs("# codelet arch footprint bytes samples dropped mean deviation first-samples (picoseconds)\n", w.file);
    thrum__perf_each(write_row, &w);
    fprintf(w.file, "end %llu\n", w.rows);
    bool failed = ferror(w.file) != 0;
    failed |= fclose(w.file) != 0;
    if (failed || rename(temporary, path) != 0) {
        int err = cannot("written", path);
        unlink(temporary);
        return err;
    }
    thrum__perf_each(row_is_kept, NULL);
    return 0;
}

/* Others have the lock for milliseconds. Where there are no such locks, processes that end at the same moment may lose
 * each other's samples, and nothing worse. */
int thrum__perf_lock_file(const char *path, int *lock)
{
    char name[THRUM__PERF_PATH + 8];
    int err = make_folders(path);
    *lock = -1;
    if (err)
        return err;
    snprintf(name, sizeof name, "%s.lock", path);
    *lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*lock < 0)
        return cannot("written", path);
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(*lock, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR))
            return 0;
        thrum__sleep_ns(LOCK_PAUSE_NS);
    }
    return thrum__fault(THRUM_ESYSTEM,
                        "performance models are not written: somebody has had a lock on '%s' for a second", name);
}

/* A file that cannot be read as one is moved aside. */
static int read_or_move(const char *path)
{
    char aside[THRUM__PERF_PATH + 8];
    int err = thrum__perf_read(path);
    if (err != THRUM_ESYSTEM)
        return err;
    snprintf(aside, sizeof aside, "%s.broken", path);
    return rename(path, aside) == 0 ? 0 : err;
}

int thrum__perf_write(const char *path)
{
    int err = read_or_move(path);
    return err ? err : write_all(path);
}
