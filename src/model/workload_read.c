/* SPDX-License-Identifier: MIT
 *
 * Reads workloads; workload_file.h has what they look like. Whoever wrote the file, nothing in it is trusted.
 */
#include "model/workload_file.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "base/nearest.h"
#include "base/quantity.h"
#include "model/arch.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct reader {
    thrum_workload *workload;
    const char *path;
    int line;
    thrum__wl_names codelets, data;
    thrum_workload_access *accesses; /* of the task at hand */
    size_t access_count, access_room;
} reader;

static int wrong(const reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int wrong(const reader *r, const char *format, ...)
{
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return thrum__fault(THRUM_EINVAL, "%.100s:%d: %s", r->path, r->line, text);
}

/* The last sentence, with the place before it. */
static int wrong_there(const reader *r, int err)
{
    return thrum__fault(err, "%.100s:%d: %s", r->path, r->line, thrum__last_fault());
}

static int no_memory(const reader *r)
{
    return thrum__fault(THRUM_ENOMEM, "no memory to read %.100s", r->path);
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

/* Where the word ends: at one of these letters outside of quotes, or at the end of the text. */
static char *end_of(char *text, const char *letters)
{
    bool quoted = false;
    for (; *text && (quoted || !strchr(letters, *text)); text++) {
        if (quoted && *text == '\\' && text[1])
            text++;
        else if (*text == '"')
            quoted = !quoted;
    }
    return text;
}

/* Cuts the next word of a line off; NULL: there is none, or the rest is a comment. */
static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t\r\v\f");
    if (!*word || *word == '#')
        return NULL;
    char *end = end_of(word, " \t\r\v\f");
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* What stands behind a backslash; *from goes behind it. 0: nothing sensible. */
static char unescape(const char **from)
{
    static const char written[] = "\"\\nrt", meant[] = "\"\\\n\r\t";
    const char *found = **from ? strchr(written, **from) : NULL;
    if (found) {
        (*from)++;
        return meant[found - written];
    }
    int high = **from == 'x' ? hex_digit((*from)[1]) : -1, low = high < 0 ? -1 : hex_digit((*from)[2]);
    *from += low < 0 ? 0 : 3;
    return low < 0 ? 0 : (char)(high * 16 + low);
}

/* Takes quotes and escapes away, in place. */
static int unquote(const reader *r, char *word)
{
    if (*word != '"')
        return strchr(word, '"') ? wrong(r, "'%.60s': quotes stand around a whole name", word) : 0;
    char *to = word;
    const char *from = word + 1;
    while (*from && *from != '"') {
        char c = *from++;
        if (c == '\\' && !(c = unescape(&from)))
            return wrong(r, "behind a backslash in quotes stands one of \" \\ n r t, or x and two digits, but not 00");
        *to++ = c;
    }
    if (!*from)
        return wrong(r, "the quotes around a name that begins with '%.*s' do not end",
                     (int)(to - word < 60 ? to - word : 60), word);
    if (from[1])
        return wrong(r, "'%.60s' stands right behind a name in quotes", from + 1);
    *to = '\0';
    return 0;
}

/* A name; `none` is what a lone - stands for, if it may. */
static int read_name(const reader *r, char *word, bool may_miss, const char **name)
{
    bool missing = may_miss && strcmp(word, "-") == 0;
    int err = unquote(r, word);
    *name = missing ? NULL : word;
    return err;
}

static bool is_number(const char *word)
{
    return *word && strspn(word, "0123456789") == strlen(word);
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

static int read_integer(const reader *r, const char *key, const char *word, int least, int *number)
{
    char *end;
    errno = 0;
    long read = strtol(word, &end, 10);
    if (!*word || strspn(word, "+-0123456789") != strlen(word) || *end || errno || read < least || read > INT_MAX)
        return wrong(r, "%s is '%.40s'; it must be a whole number from %d to %d", key, word, least, INT_MAX);
    *number = (int)read;
    return 0;
}

static int read_amount(const reader *r, const char *key, const char *word, double *number)
{
    char *end;
    double read = strtod(word, &end);
    if (!*word || strspn(word, "+-0123456789.eE") != strlen(word) || *end || !isfinite(read) || read < 0)
        return wrong(r, "%s is '%.40s'; it must be a number that is not negative, such as 2e9", key, word);
    *number = read;
    return 0;
}

static int read_bytes(const reader *r, const char *word, size_t *bytes)
{
    char *end;
    if (!is_number(word)) {
        int err = thrum__size_parse(word, bytes);
        return err ? wrong_there(r, THRUM_EINVAL) : 0;
    }
    errno = 0;
    unsigned long long read = strtoull(word, &end, 10);
    if (errno || read > SIZE_MAX)
        return wrong(r, "'%.40s' bytes are too many", word);
    *bytes = (size_t)read;
    return 0;
}

/* ---- Things by name or number ------------------------------------------------------------------------------------ */

static int find_thing(const reader *r, const char *kind, const thrum__wl_names *names, int count, char *word,
                      int *number)
{
    if (is_number(word)) {
        int err = read_integer(r, kind, word, 0, number);
        return err               ? err
               : *number < count ? 0
                                 : wrong(r, "there is no %s %d here; %d are above this line", kind, *number, count);
    }
    int err = unquote(r, word);
    if (err)
        return err;
    *number = thrum__wl_names_find(names, word);
    if (*number == THRUM__WL_SEVERAL)
        return wrong(r, "there is more than one %s named '%.60s': say its number, from 0 on in the order of the lines",
                     kind, word);
    return *number >= 0 ? 0 : wrong(r, "there is no %s '%.60s' above this line", kind, word);
}

static int unknown_codelet(const reader *r, const char *name)
{
    enum { MOST = 64 };
    const char *names[MOST];
    char meant[THRUM__MEANT_TEXT];
    int count = 0;
    for (; count < r->workload->codelet_count && count < MOST; count++)
        names[count] = r->workload->codelets[count].name;
    return wrong(r, "there is no codelet '%.60s' above this line%s", name,
                 thrum__meant(name, names, (size_t)count, meant));
}

static int find_codelet(const reader *r, char *word, int *number)
{
    int err = find_thing(r, "codelet", &r->codelets, r->workload->codelet_count, word, number);
    return err && *number == THRUM__WL_UNKNOWN ? unknown_codelet(r, word) : err;
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

static int nothing_more(const reader *r, char **rest)
{
    const char *word = next_word(rest);
    return word ? wrong(r, "'%.60s' is too much in this line", word) : 0;
}

static int read_archs(const reader *r, char *list, unsigned *archs)
{
    *archs = 0;
    for (char *word = list, *end = word; word; word = end) {
        end = strchr(word, ',');
        if (end)
            *end++ = '\0';
        int arch = thrum__arch_named(word);
        if (arch < 0)
            return wrong(r, "'%.40s' is no kind of worker; there are cpu and emu", word);
        *archs |= 1u << arch;
    }
    return 0;
}

static int take_codelet(reader *r, char *rest)
{
    char *word = next_word(&rest), *list = next_word(&rest);
    const char *name = NULL;
    unsigned archs = 0;
    int before = r->workload->codelet_count;
    if (!list)
        return wrong(r, "a codelet has a name and kinds of workers: codelet gemm cpu,emu");
    int err = read_name(r, word, false, &name);
    if (!err)
        err = read_archs(r, list, &archs);
    if (!err)
        err = nothing_more(r, &rest);
    if (err)
        return err;
    int number = thrum_workload_add_codelet(r->workload, name, archs);
    if (number < 0)
        return wrong_there(r, number);
    if (number < before)
        return wrong(r, "codelet '%.60s' is there already, with the same kinds of workers", name);
    return thrum__wl_names_add(&r->codelets, r->workload->codelets[number].name, number) ? 0 : no_memory(r);
}

static int take_data(reader *r, char *rest)
{
    char *word = next_word(&rest), *size = next_word(&rest), *written = next_word(&rest);
    const char *name = NULL;
    size_t bytes = 0;
    if (!size)
        return wrong(r, "data has a name, or - for none, and a size: data A 1MiB written");
    int err = read_name(r, word, true, &name);
    if (!err)
        err = read_bytes(r, size, &bytes);
    if (!err && written && strcmp(written, "written") != 0)
        err = wrong(r, "'%.60s' stands behind the size of data; only 'written' can", written);
    if (!err)
        err = nothing_more(r, &rest);
    if (err)
        return err;
    int number = thrum_workload_add_data(r->workload, name, bytes, written != NULL);
    if (number < 0)
        return wrong_there(r, number);
    return thrum__wl_names_add(&r->data, r->workload->data[number].name, number) ? 0 : no_memory(r);
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

static int take_accesses(reader *r, enum thrum_mode mode, char *list)
{
    for (char *word = list, *rest = word; rest; word = rest) {
        char *end = end_of(word, ",");
        int data = 0;
        rest = *end ? end + 1 : NULL;
        *end = '\0';
        int err = find_thing(r, "data", &r->data, r->workload->data_count, word, &data);
        if (err)
            return err;
        if (!thrum__wl_grow((void **)&r->accesses, &r->access_room, r->access_count, 1, sizeof *r->accesses))
            return no_memory(r);
        r->accesses[r->access_count++] = (thrum_workload_access){data, mode};
    }
    return 0;
}

static enum thrum_mode mode_of(const char *key)
{
    for (int mode = THRUM_MODE_R; mode <= THRUM_MODE_COMMUTE; mode++)
        if (strcmp(key, thrum__wl_mode_keys[mode]) == 0)
            return (enum thrum_mode)mode;
    return (enum thrum_mode)0;
}

static int unknown_key(const reader *r, const char *key)
{
    static const char *const keys[] = {"name", "work", "priority", "bucket",  "worker", "seconds.cpu", "seconds.emu",
                                       "r",    "w",    "rw",       "scratch", "redux",  "commute"};
    char meant[THRUM__MEANT_TEXT];
    return wrong(
        r,
        "tasks have no key '%.40s'%s They have name, work, priority, bucket, worker, seconds.cpu, seconds.emu, "
        "r, w, rw, scratch, redux and commute",
        key, *thrum__meant(key, keys, sizeof keys / sizeof *keys, meant) ? meant : ".");
}

static int take_seconds(const reader *r, const char *key, const char *value, thrum_workload_task *task)
{
    int arch = thrum__arch_named(key + strlen("seconds."));
    return arch < 0 ? unknown_key(r, key) : read_amount(r, key, value, &task->seconds[arch]);
}

static int take_pair(reader *r, const char *key, char *value, thrum_workload_task *task)
{
    enum thrum_mode mode = mode_of(key);
    if (mode)
        return take_accesses(r, mode, value);
    if (strcmp(key, "name") == 0)
        return read_name(r, value, false, &task->name);
    if (strcmp(key, "work") == 0)
        return read_amount(r, key, value, &task->work);
    if (strcmp(key, "priority") == 0)
        return read_integer(r, key, value, INT_MIN, &task->priority);
    if (strcmp(key, "bucket") == 0)
        return read_integer(r, key, value, THRUM_NO_BUCKET, &task->bucket);
    if (strcmp(key, "worker") == 0)
        return read_integer(r, key, value, -1, &task->worker);
    if (strncmp(key, "seconds.", strlen("seconds.")) == 0)
        return take_seconds(r, key, value, task);
    return unknown_key(r, key);
}

static int take_task(reader *r, char *rest)
{
    thrum_workload_task task = {.bucket = THRUM_NO_BUCKET, .worker = -1};
    char *word = next_word(&rest);
    if (!word)
        return wrong(r, "a task has a codelet: task gemm work=2e9 rw=A");
    int err = find_codelet(r, word, &task.codelet);
    r->access_count = 0;
    while (!err && (word = next_word(&rest))) {
        char *equals = end_of(word, "=");
        if (!*equals || equals == word)
            err = wrong(r, "'%.60s' is no setting of a task, KEY=VALUE", word);
        else
            err = (*equals = '\0', take_pair(r, word, equals + 1, &task));
    }
    if (err)
        return err;
    if (r->access_count > INT_MAX)
        return wrong(r, "the task has too many accesses");
    task.access = r->accesses;
    task.access_count = (int)r->access_count;
    int number = thrum_workload_add_task(r->workload, &task);
    if (number < 0)
        return wrong_there(r, number);
    r->workload->tasks[number].line = r->line;
    return 0;
}

static int take_edge(reader *r, char *rest)
{
    const char *before = next_word(&rest), *after = next_word(&rest);
    int from = 0, to = 0;
    if (!after)
        return wrong(r, "an edge has two numbers of tasks: edge 0 1");
    int err = read_integer(r, "a task's number", before, 0, &from);
    if (!err)
        err = read_integer(r, "a task's number", after, 0, &to);
    if (!err)
        err = nothing_more(r, &rest);
    if (err)
        return err;
    if ((err = thrum_workload_add_edge(r->workload, from, to)))
        return wrong_there(r, err);
    r->workload->edges[r->workload->edge_count - 1].line = r->line;
    return 0;
}

static int set_name(const reader *r, const char *name)
{
    char *copy = thrum__copy_text(name);
    if (!copy)
        return no_memory(r);
    thrum__free(r->workload->name);
    r->workload->name = copy;
    return 0;
}

static int take_name(reader *r, char *rest)
{
    char *word = next_word(&rest);
    const char *name = NULL;
    if (!word)
        return wrong(r, "the name is missing");
    int err = read_name(r, word, false, &name);
    if (!err)
        err = nothing_more(r, &rest);
    return err ? err : set_name(r, name);
}

/* ---- Texts ------------------------------------------------------------------------------------------------------- */

static int take_head(const reader *r, char *line)
{
    const char *word = next_word(&line), *version = next_word(&line);
    if (!word || strcmp(word, THRUM__WL_HEAD) != 0)
        return wrong(r, "'%.40s' stands where a workload begins: its first line is '%s %d'", word ? word : "",
                     THRUM__WL_HEAD, THRUM__WL_VERSION);
    if (!version || strcmp(version, "1") != 0)
        return wrong(r, "this is version '%.20s' of workloads; this thrum reads version %d", version ? version : "",
                     THRUM__WL_VERSION);
    return nothing_more(r, &line);
}

static int take_line(reader *r, char *line)
{
    static const char *const words[] = {"name", "codelet", "data", "task", "edge"};
    static int (*const take[])(reader *, char *) = {take_name, take_codelet, take_data, take_task, take_edge};
    char meant[THRUM__MEANT_TEXT];
    const char *word = next_word(&line);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(word, words[i]) == 0)
            return take[i](r, line);
    return wrong(r,
                 "'%.40s' is nothing that a workload is made of%s Lines begin with name, codelet, data, task or edge",
                 word, *thrum__meant(word, words, sizeof words / sizeof *words, meant) ? meant : ".");
}

static bool says_nothing(const char *line)
{
    line += strspn(line, " \t\r\v\f");
    return !*line || *line == '#';
}

/* Goes through the text, which it cuts to pieces; there is room for one byte behind it. */
static int take_lines(reader *r, char *text, size_t length)
{
    bool begun = false;
    int err = 0;
    for (char *at = text, *end; at <= text + length && !err; at = end + 1) {
        end = memchr(at, '\n', (size_t)(text + length - at));
        end = end ? end : text + length;
        *end = '\0';
        r->line++;
        if (strlen(at) != (size_t)(end - at))
            err = wrong(r, "there is a byte 0 in this line: it is no text");
        else if (says_nothing(at))
            continue;
        else
            err = begun ? take_line(r, at) : take_head(r, at);
        begun = true;
    }
    if (!err && !begun)
        return thrum__fault(THRUM_EINVAL, "%.100s: it is empty; the first line of a workload is '%s %d'", r->path,
                            THRUM__WL_HEAD, THRUM__WL_VERSION);
    return err;
}

/* "graphs/qr.workload" is named qr, unless it says something else. */
static int name_by_path(const reader *r)
{
    const char *slash = strrchr(r->path, '/'), *name = slash ? slash + 1 : r->path;
    char text[128];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(name, "."), name);
    return set_name(r, text);
}

/* `text` is cut to pieces. */
static thrum_workload *read_text(char *text, size_t length, const char *path)
{
    reader r = {.workload = thrum_workload_new(""), .path = path ? path : "the text"};
    thrum__wl_locale locale;
    if (!r.workload)
        return NULL;
    r.workload->path = thrum__copy_text(r.path);
    int err = !r.workload->path ? no_memory(&r) : path ? name_by_path(&r) : 0;
    if (!err) {
        thrum__wl_locale_begin(&locale);
        err = take_lines(&r, text, length);
        thrum__wl_locale_end(&locale);
    }
    thrum__wl_names_drop(&r.codelets);
    thrum__wl_names_drop(&r.data);
    thrum__free(r.accesses);
    if (!err)
        return r.workload;
    thrum_workload_free(r.workload);
    return NULL;
}

thrum_workload *thrum_workload_parse(const char *text, size_t length, const char *path)
{
    if (!text) {
        thrum__fault(THRUM_EINVAL, "thrum_workload_parse: the text is NULL");
        return NULL;
    }
    char *copy = thrum__alloc(length + 1);
    if (!copy) {
        thrum__fault(THRUM_ENOMEM, "no memory to read %.100s", path ? path : "the text");
        return NULL;
    }
    memcpy(copy, text, length);
    thrum_workload *workload = read_text(copy, length, path);
    thrum__free(copy);
    return workload;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static void cannot_read(const char *path)
{
    thrum__fault(THRUM_ESYSTEM, "the workload file '%.200s' cannot be read: %s", path, strerror(errno));
}

static thrum_workload *read_open(FILE *file, const char *path)
{
    struct stat about;
    if (fstat(fileno(file), &about) != 0) {
        cannot_read(path);
        return NULL;
    }
    if (!S_ISREG(about.st_mode)) {
        thrum__fault(THRUM_EINVAL, "'%.200s' cannot be a workload: it is no file", path);
        return NULL;
    }
    size_t size = (size_t)about.st_size;
    char *text = thrum__alloc(size + 1);
    if (!text) {
        thrum__fault(THRUM_ENOMEM, "no memory to read '%.200s'", path);
        return NULL;
    }
    errno = 0;
    size_t length = fread(text, 1, size, file);
    thrum_workload *workload = NULL;
    if (ferror(file))
        cannot_read(path);
    else
        workload = read_text(text, length, path);
    thrum__free(text);
    return workload;
}

thrum_workload *thrum_workload_read(const char *path)
{
    if (!path) {
        thrum__fault(THRUM_EINVAL, "thrum_workload_read: the path is NULL");
        return NULL;
    }
    FILE *file = fopen(path, "re");
    if (!file) {
        cannot_read(path);
        return NULL;
    }
    thrum_workload *workload = read_open(file, path);
    fclose(file);
    return workload;
}
