/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L

#include "common.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void say(const char *verb, const char *format, va_list list)
{
    fflush(stdout); /* so that the sentence stands behind what was printed before it */
    fprintf(stderr, verb ? "thrum %s: " : "thrum: ", verb);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
}

int tool_fail(const char *verb, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(verb, format, list);
    va_end(list);
    return TOOL_FAILED;
}

int tool_misuse(const char *verb, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(verb, format, list);
    va_end(list);
    fprintf(stderr, "Try 'thrum %s%s--help'.\n", verb ? verb : "", verb ? " " : "");
    return TOOL_USAGE;
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

enum { LONGEST_WORD = 63 };

/* How many letters must be added, left out or changed to get from one word to the other. */
static size_t distance(const char *from, const char *to)
{
    size_t row[LONGEST_WORD + 1], width = strlen(to);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 0; from[i]; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            size_t change = diagonal + (from[i] != to[j]);
            diagonal = row[j + 1];
            size_t add = (row[j] < diagonal ? row[j] : diagonal) + 1;
            row[j + 1] = change < add ? change : add;
        }
    }
    return row[width];
}

const char *tool_nearest(const char *word, const char *const *words, size_t count)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 2 + 1; /* half of the letters wrong is no typing mistake any more */
    for (size_t i = 0; i < count; i++) {
        if (strlen(words[i]) > LONGEST_WORD)
            continue;
        size_t d = distance(word, words[i]);
        if (d < best_distance) {
            best = words[i];
            best_distance = d;
        }
    }
    return best;
}

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

static int unknown_option(const struct tool_arguments *arguments, const char *word)
{
    const char *names[33] = {"help"};
    size_t count = 1;
    for (size_t i = 0; i < arguments->option_count && count < sizeof names / sizeof *names; i++)
        names[count++] = arguments->options[i].name + 2;
    const char *nearest = tool_nearest(word + strspn(word, "-"), names, count);
    if (nearest)
        return tool_misuse(arguments->verb, "unknown option '%s'; did you mean '--%s'?", word, nearest);
    return tool_misuse(arguments->verb, "unknown option '%s'.", word);
}

/* Whether `word` is this option; `value` is then what follows its "=", or NULL. */
static bool is_option(const struct tool_option *option, const char *word, const char **value)
{
    size_t length = strlen(option->name);
    *value = NULL;
    if (strncmp(word, option->name, length) == 0 && word[length] == '=') {
        *value = word + length + 1;
        return true;
    }
    return strcmp(word, option->name) == 0 || (option->letter && strcmp(word, option->letter) == 0);
}

static int take_option(const struct tool_arguments *arguments, int argc, char **argv, int *index)
{
    for (size_t i = 0; i < arguments->option_count; i++) {
        const struct tool_option *option = &arguments->options[i];
        const char *value;
        if (!is_option(option, argv[*index], &value))
            continue;
        if (option->flag) {
            if (value)
                return tool_misuse(arguments->verb, "option '%s' takes no value.", option->name);
            *option->flag = true;
            return TOOL_GO_ON;
        }
        if (!value && *index + 1 < argc)
            value = argv[++*index];
        if (!value || !*value)
            return tool_misuse(arguments->verb, "option '%s' needs a value behind it.", option->name);
        *option->value = value;
        return TOOL_GO_ON;
    }
    return unknown_option(arguments, argv[*index]);
}

int tool_parse(struct tool_arguments *arguments, int argc, char **argv)
{
    bool only_words = false;
    arguments->word_count = 0;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (only_words || word[0] != '-' || word[1] == 0) {
            arguments->words[arguments->word_count++] = word;
        } else if (strcmp(word, "--") == 0) {
            only_words = true;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            fputs(arguments->help, stdout);
            return TOOL_DONE;
        } else {
            int code = take_option(arguments, argc, argv, &i);
            if (code != TOOL_GO_ON)
                return code;
        }
    }
    return TOOL_GO_ON;
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

int tool_read_count(const char *verb, const char *option, const char *text, uint64_t *count)
{
    char *end, *end_of_power;
    long double number = strtold(text, &end), power = 1;
    bool known = end != text && *text >= '0' && *text <= '9';
    if (known && *end == '^') {
        power = strtold(end + 1, &end_of_power);
        known = end_of_power != end + 1 && end[1] >= '0' && end[1] <= '9';
        end = end_of_power;
        number = known ? powl(number, power) : number;
    }
    if (!known || *end || number != floorl(number))
        return tool_misuse(verb, "%s is '%s'; it must be a whole number, such as 1000, 1e6 or 2^19.", option, text);
    if (number >= 0x1p63L)
        return tool_misuse(verb, "%s is '%s', which is beyond 2^63 - 1.", option, text);
    *count = (uint64_t)number;
    return TOOL_GO_ON;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static char *read_stream(FILE *in, size_t *size)
{
    size_t room = 1 << 16, used = 0;
    char *text = malloc(room);
    while (text) {
        used += fread(text + used, 1, room - used - 1, in);
        if (used < room - 1)
            break;
        char *more = realloc(text, room *= 2);
        if (!more)
            free(text);
        text = more;
    }
    if (!text) {
        errno = ENOMEM;
        return NULL;
    }
    if (ferror(in)) {
        free(text);
        return NULL;
    }
    text[used] = 0;
    *size = used;
    return text;
}

char *tool_read_file(const char *path, size_t *size, char *why, size_t why_size)
{
    bool standard = strcmp(path, "-") == 0;
    errno = 0;
    FILE *in = standard ? stdin : fopen(path, "rb");
    char *text = in ? read_stream(in, size) : NULL;
    if (!text)
        snprintf(why, why_size, "cannot read %s: %s", standard ? "standard input" : path, strerror(errno));
    if (in && !standard)
        fclose(in);
    return text;
}

bool tool_write_file(const char *path, const char *text, size_t size, char *why, size_t why_size)
{
    bool standard = strcmp(path, "-") == 0;
    errno = 0;
    FILE *out = standard ? stdout : fopen(path, "wb");
    bool good = out && fwrite(text, 1, size, out) == size;
    if (out)
        good = (standard ? fflush(out) : fclose(out)) == 0 && good;
    if (!good)
        snprintf(why, why_size, "cannot write %s: %s", standard ? "standard output" : path, strerror(errno));
    return good;
}

bool tool_make_folders(const char *path)
{
    char *copy = strdup(path);
    bool good = copy != NULL;
    for (char *slash = copy; good && (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        good = mkdir(copy, 0777) == 0 || errno == EEXIST;
        *slash = '/';
    }
    free(copy);
    return good;
}

/* FOLDER/NAME. False when it does not fit. */
static bool join_path(char *path, size_t size, const char *folder, size_t length, const char *name)
{
    size_t name_size = strlen(name) + 1;
    if (size < name_size + 1 || length > size - name_size - 1)
        return false;
    memcpy(path, folder, length);
    path[length] = '/';
    memcpy(path + length + 1, name, name_size);
    return true;
}

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

bool tool_find_program(const char *name, char *path, size_t size)
{
    const char *folders = getenv("PATH");
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        if (join_path(path, size, folders, length, name) && is_program(path))
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

/* ---- Time -------------------------------------------------------------------------------------------------------- */

double tool_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

const char *tool_time(double seconds, char buffer[TOOL_TIME_SIZE])
{
    static const struct {
        double size;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    if (seconds < 0.5e-9) { /* less than the clock can tell, or what rounding has left over */
        snprintf(buffer, TOOL_TIME_SIZE, "0 ns");
        return buffer;
    }
    size_t unit = 0;
    while (unit < 3 && seconds < units[unit].size)
        unit++;
    snprintf(buffer, TOOL_TIME_SIZE, "%.4g %s", seconds / units[unit].size, units[unit].name);
    return buffer;
}

const char *tool_bytes(double bytes, char buffer[TOOL_TIME_SIZE])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    for (; bytes >= 1024 && unit < 4; unit++)
        bytes /= 1024;
    snprintf(buffer, TOOL_TIME_SIZE, "%.4g %s", bytes, units[unit]);
    return buffer;
}
