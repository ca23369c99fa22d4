/* SPDX-License-Identifier: MIT */
#include "base/options.h"

#include "base/device_list.h"
#include "base/fault.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* `words`: the values allowed besides numbers, separated by '|'; a number counts only where low <= high. "text" takes
 * any value. */
static const struct row {
    const char *name, *initial, *range, *words;
    int64_t low, high;
    const char *help;
} table[THRUM__OPTIONS] = {
    [THRUM__OPT_WORKERS] = {"THRUM_WORKERS", "auto", "auto, 0 to 1024", "auto", 0, 1024,
                            "workers of an executor that does not say; auto: one per usable core; 0: no threads"},
    [THRUM__OPT_CALLERS] = {"THRUM_CALLERS", "help", "help, block", "help|block", 1, 0,
                            "whether a thread that waits outside tasks runs tasks of what it waits for"},
    [THRUM__OPT_BIND] = {"THRUM_BIND", "auto", "auto, core, numa, off", "auto|core|numa|off", 1, 0,
                         "bind workers to a core or a NUMA node; off when there are more workers than cores"},
    [THRUM__OPT_SPIN] = {"THRUM_SPIN_US", "20", "0 to 1000000", "", 0, 1000000,
                         "microseconds that a worker without work looks for some before it sleeps"},
    [THRUM__OPT_SPARES] = {"THRUM_SPARES", "64", "0 to 1024", "", 0, 1024,
                           "threads that may stand in for workers which are parked in a join or a wait"},
    [THRUM__OPT_SPAWNS] = {"THRUM_SPAWNS", "1048576", "16 to 16777216", "", 16, 16777216,
                           "spawned and not yet started tasks that a worker can hold; beyond that they run at once"},
    [THRUM__OPT_STACK] = {"THRUM_STACK_MB", "64", "system, 1 to 4096", "system", 1, 4096,
                          "megabytes of address space for the stack of each thread; system: its own default"},
    [THRUM__OPT_SCHEDULE] = {"THRUM_SCHEDULE", "steal", "fac2, or fac2,16 for chunks of 16 at least", "schedule", 1, 0,
                             "how loops with .schedule = THRUM_RUNTIME are handed out"},
    [THRUM__OPT_POLICY] = {"THRUM_POLICY", "steal",
                           "steal, a policy's name, or the path of a library with a '/' in it; ;key=value", "text", 1,
                           0, "who runs which codelet task; steal: built-in stealing, or dmda where there are devices"},
    [THRUM__OPT_DEVICES] = {"THRUM_DEVICES", "cpu", "like cpu,emu:3;memory=64MiB;link=2GB/s", "devices", 1, 0,
                            "processors and devices that run codelet tasks"},
    [THRUM__OPT_WINDOW] = {"THRUM_WINDOW", "8192", "2 to 1073741824", "", 2, 1073741824,
                           "tasks of a flow that may have been inserted and not have ended"},
    [THRUM__OPT_MODELS] = {"THRUM_MODELS", "auto", "auto, off, or a folder with a '/' in it", "auto|off", 1, 0,
                           "where measured times of codelets are kept; auto: thrum/models in the user's cache folder"},
    [THRUM__OPT_TRACE] = {"THRUM_TRACE", "", "a file name", "text", 1, 0,
                          "write a trace in Chrome's format to this file when an executor is freed"},
    [THRUM__OPT_TRACE_EVENTS] = {"THRUM_TRACE_EVENTS", "65536", "16 to 16777216", "", 16, 16777216,
                                 "tasks that a trace keeps per worker, and copies per link: the last ones"},
};

const char *thrum__option_text(enum thrum__option_id id)
{
    const char *value = getenv(table[id].name);
    return value ? value : table[id].initial;
}

static int find_word(const char *words, const char *value)
{
    size_t length = strlen(value);
    int position = 0;
    for (const char *w = words; *w; position++) {
        size_t n = strcspn(w, "|");
        if (n == length && memcmp(w, value, n) == 0)
            return position;
        w += n + (w[n] == '|');
    }
    return -1;
}

static int parse_number(const struct row *row, const char *value, int64_t *number)
{
    char *end;
    errno = 0;
    long long n = strtoll(value, &end, 10);
    if (end == value || *end || errno || n < row->low || n > row->high)
        return -1;
    *number = n;
    return 0;
}

/* The sentence of the check ends in the names that there are. */
static int wrong_schedule(const struct row *row, const char *value)
{
    char sentence[512];
    snprintf(sentence, sizeof sentence, "%s", thrum__last_fault());
    return thrum__fault(THRUM_EOPTION, "%s is '%s', but it must be like: %s. %s", row->name, value, row->range,
                        sentence);
}

/* Which kinds of devices there are is known above: here the text is taken apart, no more. */
static int check_devices(const struct row *row, const char *value)
{
    thrum__device_list *list = NULL;
    int err = thrum__device_list_parse(value, &list);
    thrum__device_list_free(list);
    if (!err)
        return 0;
    char sentence[512];
    snprintf(sentence, sizeof sentence, "%s", thrum__last_fault());
    return thrum__fault(err, "%s is '%.80s', but it must be %s: %.300s", row->name, value, row->range, sentence);
}

int thrum__option_parse(enum thrum__option_id id, const char *value, int64_t *number)
{
    const struct row *row = &table[id];
    int64_t n = 0;
    int position = find_word(row->words, value);
    if (id == THRUM__OPT_SCHEDULE) {
        if (thrum__schedule_option_check(value))
            return wrong_schedule(row, value);
    } else if (id == THRUM__OPT_DEVICES) {
        int err = check_devices(row, value);
        if (err)
            return err;
    } else if (strcmp(row->words, "text") == 0 || (id == THRUM__OPT_MODELS && strchr(value, '/')))
        n = 0;
    else if (position >= 0)
        n = row->low <= row->high ? -1 : position;
    else if (row->low > row->high || parse_number(row, value, &n))
        return thrum__fault(THRUM_EOPTION, "%s is '%s', but it must be one of: %s", row->name, value, row->range);
    if (number)
        *number = n;
    return 0;
}

int64_t thrum__option_number(enum thrum__option_id id)
{
    int64_t number = 0;
    thrum__option_parse(id, thrum__option_text(id), &number);
    return number;
}

int thrum_option_get(size_t index, thrum_option *option)
{
    if (index >= THRUM__OPTIONS || !option)
        return -1;
    const struct row *row = &table[index];
    option->name = row->name;
    option->value = thrum__option_text((enum thrum__option_id)index);
    option->initial = row->initial;
    option->range = row->range;
    option->help = row->help;
    option->from_environment = getenv(row->name) != NULL;
    return 0;
}

static size_t distance(const char *a, const char *b)
{
    size_t rows[2][64], n = strlen(b);
    if (n >= 63 || strlen(a) >= 63)
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = j;
    for (size_t i = 0; a[i]; i++) {
        size_t *old = rows[i & 1], *now = rows[~i & 1];
        now[0] = i + 1;
        for (size_t j = 0; j < n; j++) {
            size_t best = old[j] + (a[i] != b[j]);
            best = old[j + 1] + 1 < best ? old[j + 1] + 1 : best;
            now[j + 1] = now[j] + 1 < best ? now[j] + 1 : best;
        }
    }
    return rows[strlen(a) & 1][n];
}

/* Twice the letters to change; but a name cut short or drawn out is never further away than one and a half. */
static size_t unlikeness(const char *a, const char *b)
{
    size_t shared = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    size_t changes = distance(a, b);
    size_t twice = changes > SIZE_MAX / 2 ? SIZE_MAX : 2 * changes;
    return strncmp(a, b, shared) == 0 && twice > 3 ? 3 : twice;
}

static int unknown_option(const char *name)
{
    size_t nearest = 0, least = SIZE_MAX;
    for (size_t i = 0; i < THRUM__OPTIONS; i++) {
        size_t d = unlikeness(name, table[i].name);
        if (d < least) {
            least = d;
            nearest = i;
        }
    }
    return thrum__fault(THRUM_EOPTION,
                        "%s is in the environment, but there is no such option: the nearest is %s, and 'thrum info' "
                        "lists them all",
                        name, table[nearest].name);
}

static int check_name(const char *entry)
{
    char name[64];
    size_t length = strcspn(entry, "=");
    if (strncmp(entry, "THRUM_", 6) != 0)
        return 0;
    if (length >= sizeof name)
        length = sizeof name - 1;
    memcpy(name, entry, length);
    name[length] = '\0';
    for (size_t i = 0; i < THRUM__OPTIONS; i++)
        if (strcmp(name, table[i].name) == 0)
            return 0;
    return unknown_option(name);
}

int thrum_options_check(void)
{
    for (char **e = environ; e && *e; e++) {
        int err = check_name(*e);
        if (err)
            return err;
    }
    for (size_t i = 0; i < THRUM__OPTIONS; i++) {
        enum thrum__option_id id = (enum thrum__option_id)i;
        int err = thrum__option_parse(id, thrum__option_text(id), NULL);
        if (err)
            return err;
    }
    return 0;
}
