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
#include "model/arch.h"
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

enum { LOCK_TRIES = 200, LOCK_PAUSE_NS = 5000000 };

uint64_t thrum__perf_stat_number(const thrum__perf_stat *stat)
{
    thrum__perf_shape sum = {0};
    thrum__perf_shape_add(&sum, stat->count, 0);
    thrum__perf_shape_add(&sum, stat->dropped, 0);
    thrum__perf_shape_add(&sum, (uint64_t)llround(stat->mean * THRUM__PERF_PICOSECONDS), 0);
    for (int i = 0; i < stat->asides; i++)
        thrum__perf_shape_add(&sum, (uint64_t)llround(stat->aside[i] * THRUM__PERF_PICOSECONDS), 0);
    return sum.footprint | 1;
}

int thrum__perf_cannot(const char *what, const char *path)
{
    return thrum__fault(THRUM_ESYSTEM, "performance models: '%s' cannot be %s: %s", path, what, strerror(errno));
}

/* ---- Where it is ------------------------------------------------------------------------------------------------- */

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

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static int make_folders(const char *path)
{
    char folder[THRUM__PERF_PATH];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(folder, 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
            return thrum__perf_cannot("made", folder);
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
    return (unsigned long long)llround(seconds * THRUM__PERF_PICOSECONDS);
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
    fprintf(w->file, " %s %llx %llu %llu %llu %llu %llu", thrum__arch_name(row->family->arch),
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
    row->kept = thrum__perf_stat_number(&stat);
}

/* To a name of its own, which is then renamed. */
static int write_all(const char *path)
{
    char temporary[THRUM__PERF_PATH + 8];
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    int number = mkstemp(temporary);
    if (number < 0)
        return thrum__perf_cannot("written", path);
    writing w = {.file = fdopen(number, "w")};
    if (!w.file) {
        close(number);
        unlink(temporary);
        return thrum__perf_cannot("written", path);
    }
    fputs(THRUM__PERF_FIRST_LINE, w.file);
    fputs("# codelet arch footprint bytes samples dropped mean deviation first-samples (picoseconds)\n", w.file);
    thrum__perf_each(write_row, &w);
    fprintf(w.file, "end %llu\n", w.rows);
    bool failed = ferror(w.file) != 0;
    failed |= fclose(w.file) != 0;
    if (failed || rename(temporary, path) != 0) {
        int err = thrum__perf_cannot("written", path);
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
        return thrum__perf_cannot("written", path);
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
