/* SPDX-License-Identifier: MIT
 *
 * Machines as texts and files: reading, one line more, writing, and those that come with thrum.
 */
#include "sim/machine_int.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "base/nearest.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { WHERE_TEXT = 96, MOST_BYTES = 1 << 24 };

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* The first line that says something: "thrum-machine 1". */
static int take_version(const char *line, const char *where)
{
    char word[24] = "", version[24] = "";
    int words = sscanf(line, "%23s %23s", word, version);
    if (words < 1 || strcmp(word, "thrum-machine") != 0)
        return thrum__fault(THRUM_EINVAL,
                            "%s: '%.23s' stands where a description of a machine begins: its first line is "
                            "'thrum-machine 1'",
                            where, word);
    if (strcmp(version, "1") != 0)
        return thrum__fault(THRUM_EINVAL,
                            "%s: this is version '%s' of descriptions of machines; this thrum reads version 1", where,
                            version);
    return 0;
}

static bool says_nothing(const char *line)
{
    line += strspn(line, " \t\r\v\f");
    return !*line || *line == '#';
}

static int bad_byte(const char *where)
{
    return thrum__fault(THRUM_EINVAL, "%s: there is a byte 0 in this line: it is no text", where);
}

/* Goes through a text, which it cuts to pieces. */
static int take_lines(thrum_machine *machine, char *text, size_t length, const char *path)
{
    char where[WHERE_TEXT] = "";
    bool begun = false;
    int err = 0;
    unsigned long number = 1;
    for (char *at = text, *end; at <= text + length && !err; at = end + 1, number++) {
        end = memchr(at, '\n', (size_t)(text + length - at));
        end = end ? end : text + length;
        *end = '\0';
        snprintf(where, sizeof where, "%.70s:%lu", path, number);
        if (strlen(at) != (size_t)(end - at))
            err = bad_byte(where);
        else if (says_nothing(at))
            continue;
        else if (!begun)
            err = take_version(at, where);
        else
            err = thrum__machine_take(machine, at, where);
        begun = true;
    }
    if (!err && !begun)
        err = thrum__fault(THRUM_EINVAL,
                           "%s: it is empty; the first line of a description of a machine is "
                           "'thrum-machine 1'",
                           path);
    return err ? err : thrum__machine_check(machine);
}

/* "machines/k40.machine" is named k40. */
static int name_by_path(thrum_machine *machine, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    char text[64];
    if (length > 8 && strcmp(name + length - 8, ".machine") == 0)
        length -= 8;
    snprintf(text, sizeof text, "%.*s", (int)(length < 63 ? length : 63), name);
    return *text ? thrum__machine_set_text(&machine->name, text) : 0;
}

/* `text` has room for one byte more than `length`. */
static thrum_machine *read_text(char *text, size_t length, const char *path, bool named)
{
    thrum__plain_locale locale;
    thrum_machine *machine = thrum__machine_new(path);
    if (!machine)
        return NULL;
    int err = named ? name_by_path(machine, path) : 0;
    if (!err)
        err = thrum__plain_locale_begin(&locale);
    if (!err) {
        err = take_lines(machine, text, length, path);
        thrum__plain_locale_end(&locale);
    }
    if (!err)
        return machine;
    thrum_machine_free(machine);
    return NULL;
}

static thrum_machine *read_copy(const char *text, size_t length, const char *path, bool named)
{
    char *copy = thrum__alloc(length + 1);
    if (!copy) {
        thrum__fault(THRUM_ENOMEM, "no memory to read %s", path);
        return NULL;
    }
    memcpy(copy, text, length);
    thrum_machine *machine = read_text(copy, length, path, named);
    thrum__free(copy);
    return machine;
}

thrum_machine *thrum_machine_parse(const char *text, size_t length, const char *path)
{
    if (text)
        return read_copy(text, length, path ? path : "the text", path != NULL);
    thrum__fault(THRUM_EINVAL, "thrum_machine_parse: the text is NULL");
    return NULL;
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static int cannot(const char *what, const char *path)
{
    return thrum__fault(THRUM_ESYSTEM, "the machine file '%.200s' cannot be %s: %s", path, what, strerror(errno));
}

/* All of it, with one byte more than there is; NULL with a sentence. */
static char *read_all(FILE *file, const char *path, size_t *length)
{
    struct stat about;
    if (fstat(fileno(file), &about) != 0) {
        cannot("read", path);
        return NULL;
    }
    if (!S_ISREG(about.st_mode) || about.st_size > MOST_BYTES) {
        thrum__fault(THRUM_EINVAL, "'%.200s' cannot be a machine file: it is no file, or larger than %d bytes", path,
                     MOST_BYTES);
        return NULL;
    }
    char *text = thrum__alloc((size_t)about.st_size + 1);
    if (!text) {
        thrum__fault(THRUM_ENOMEM, "no memory to read '%s'", path);
        return NULL;
    }
    *length = fread(text, 1, (size_t)about.st_size, file);
    if (!ferror(file))
        return text;
    cannot("read", path);
    thrum__free(text);
    return NULL;
}

static thrum_machine *open_file(const char *path)
{
    size_t length = 0;
    FILE *file = fopen(path, "re");
    if (!file) {
        cannot("read", path);
        return NULL;
    }
    char *text = read_all(file, path, &length);
    fclose(file);
    thrum_machine *machine = text ? read_text(text, length, path, true) : NULL;
    thrum__free(text);
    return machine;
}

/* ---- By name ----------------------------------------------------------------------------------------------------- */

const char *thrum_machine_at(int number, const char **text)
{
    for (int i = 0; thrum__shipped_machines[i].name; i++)
        if (i == number) {
            if (text)
                *text = thrum__shipped_machines[i].text;
            return thrum__shipped_machines[i].name;
        }
    return NULL;
}

static void unknown_machine(const char *name)
{
    const char *names[32];
    char meant[THRUM__MEANT_TEXT], list[240] = "";
    size_t count = 0;
    for (; count < 32 && thrum__shipped_machines[count].name; count++) {
        size_t used = strlen(list);
        names[count] = thrum__shipped_machines[count].name;
        snprintf(list + used, sizeof list - used, "%s%s", count ? ", " : "", names[count]);
    }
    thrum__fault(THRUM_EINVAL, "there is no machine '%.60s'%s there are: %s; a file has a '/' or a '.' in its name",
                 name, thrum__meant(name, names, count, meant), list);
}

thrum_machine *thrum_machine_open(const char *name)
{
    char path[80];
    if (!name || !*name) {
        thrum__fault(THRUM_EINVAL, "thrum_machine_open: a machine has a name, like 'k40', or is in a file");
        return NULL;
    }
    if (strpbrk(name, "/."))
        return open_file(name);
    for (const thrum__shipped *machine = thrum__shipped_machines; machine->name; machine++)
        if (strcmp(machine->name, name) == 0) {
            snprintf(path, sizeof path, "%s.machine", name);
            return read_copy(machine->text, strlen(machine->text), path, true);
        }
    unknown_machine(name);
    return NULL;
}

/* ---- One line more ----------------------------------------------------------------------------------------------- */

static int take_in_copy(thrum_machine *copy, const char *line, const char *where)
{
    thrum__plain_locale locale;
    char *text = thrum__copy_text(line);
    if (!text)
        return thrum__fault(THRUM_ENOMEM, "no memory for a line about a machine");
    int err = thrum__plain_locale_begin(&locale);
    if (!err) {
        err = thrum__machine_take(copy, text, where);
        thrum__plain_locale_end(&locale);
    }
    thrum__free(text);
    return err ? err : thrum__machine_check(copy);
}

int thrum_machine_apply(thrum_machine *machine, const char *line, const char *where)
{
    if (!machine || !line)
        return thrum__fault(THRUM_EINVAL, "thrum_machine_apply: the %s is NULL", machine ? "line" : "machine");
    where = where ? where : "the line";
    if (strchr(line, '\n'))
        return thrum__fault(THRUM_EINVAL, "%.100s: one line is taken at a time, and this has a line end in it", where);
    thrum_machine *copy = thrum_machine_copy(machine);
    if (!copy)
        return thrum__last_code();
    int err = take_in_copy(copy, line, where);
    if (!err) {
        thrum_machine before = *machine;
        *machine = *copy;
        *copy = before;
    }
    thrum_machine_free(copy);
    return err;
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

/* Numbers are written so that reading them gives the same to the last bit: with a unit if that does, else with all
 * digits. */
static void write_seconds(FILE *file, double seconds)
{
    static const struct {
        const char *name;
        double scale;
    } units[] = {{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}};
    char text[64];
    double read;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double number = seconds * units[i].scale;
        snprintf(text, sizeof text, "%.6g%s", number, units[i].name);
        if ((number >= 1 || i == 3) && !strchr(text, 'e') && !thrum__machine_time(text, &read) && read == seconds) {
            fputs(text, file);
            return;
        }
    }
    fprintf(file, "%.17gs", seconds);
}

static void write_time(FILE *file, const char *key, double seconds)
{
    fprintf(file, " %s=", key);
    write_seconds(file, seconds);
}

static void write_rate(FILE *file, const char *key, double rate)
{
    char text[64];
    double read;
    snprintf(text, sizeof text, "%.6gGB/s", rate / 1e9);
    if (!isfinite(rate))
        fprintf(file, " %s=unlimited", key);
    else if (!strchr(text, 'e') && !thrum__machine_rate(text, &read) && read == rate)
        fprintf(file, " %s=%s", key, text);
    else
        fprintf(file, " %s=%.17gB/s", key, rate);
}

static void write_number(FILE *file, double number)
{
    char text[64];
    if (!isfinite(number)) {
        fputs("unlimited", file);
        return;
    }
    double read = 0;
    snprintf(text, sizeof text, "%.9g", number);
    sscanf(text, "%lf", &read);
    fprintf(file, read == number ? "%.9g" : "%.17g", number);
}

static void write_quoted(FILE *file, const char *text)
{
    for (; *text; text++)
        fprintf(file, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

/* A word of one or two parts, in quotes where it needs them. */
static void write_word(FILE *file, const char *part, const char *text)
{
    bool plain = *text && !strpbrk(text, " \t\r\v\f\"#\\") && (*part || !strchr(text, '='));
    if (!plain)
        fputc('"', file);
    fputs(part, file);
    if (plain) {
        fputs(text, file);
        return;
    }
    write_quoted(file, text);
    fputc('"', file);
}

static void write_size(FILE *file, const char *key, size_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;
    for (; unit < 3 && bytes && bytes % 1024 == 0; unit++)
        bytes /= 1024;
    fprintf(file, " %s=%zu%s", key, bytes, units[unit]);
}

static void write_kind(FILE *file, const thrum__device_kind *kind)
{
    fprintf(file, "device %s count=%d arch=%s workers=%d", kind->name, kind->count, thrum__machine_archs[kind->arch],
            kind->workers);
    if (kind->memory)
        write_size(file, "memory", kind->memory);
    if (kind->bandwidth > 0)
        write_rate(file, "bandwidth", kind->bandwidth);
    write_time(file, "latency", kind->latency);
    fprintf(file, " peer=%s\n", kind->peer ? "yes" : "no");
}

static void write_part(FILE *file, const char *part, const char *kind, double seconds)
{
    char key[40];
    snprintf(key, sizeof key, "%s.%s", part, kind);
    if (seconds > 0)
        write_time(file, key, seconds);
}

static void write_crowd(FILE *file, const char *kind, double crowd)
{
    if (crowd <= 0)
        return;
    fprintf(file, " crowd.%s=", kind);
    write_number(file, crowd);
}

static void write_row(FILE *file, const thrum_machine *machine, const thrum__speed_row *row)
{
    const char *kind = thrum__machine_kind_name(machine, row->kind);
    char key[40];
    snprintf(key, sizeof key, "%s=", kind);
    fputs(row->law ? "time " : "speed ", file);
    write_word(file, "", row->codelet);
    fputc(' ', file);
    if (row->law) {
        write_word(file, key, row->law->text);
        fputc('\n', file);
        return;
    }
    fputs(key, file);
    write_number(file, row->rate);
    if (row->small_work >= 0) {
        fprintf(file, " small.%s=", kind);
        write_number(file, row->small_rate);
        fputc(':', file);
        write_number(file, row->small_work);
        if (row->small_per_byte >= 0) {
            fputc(':', file);
            write_seconds(file, row->small_per_byte);
        }
    }
    write_part(file, "fixed", kind, row->fixed);
    write_part(file, "per-byte", kind, row->per_byte);
    write_part(file, "per-read", kind, row->per_read);
    write_part(file, "moved", kind, row->moved);
    write_crowd(file, kind, row->crowd);
    fputc('\n', file);
}

static void write_overhead(FILE *file, const char *kind, const thrum__overhead *overhead)
{
    write_time(file, kind, overhead->task);
    write_part(file, "access", kind, overhead->access);
    write_part(file, "scratch", kind, overhead->scratch);
    write_part(file, "fresh", kind, overhead->fresh);
    write_part(file, "copy", kind, overhead->copy);
    write_part(file, "moved", kind, overhead->moved);
    write_crowd(file, kind, overhead->crowd);
}

static void write_overheads(FILE *file, const thrum_machine *machine)
{
    fputs("overhead", file);
    write_overhead(file, "cpu", &machine->core_overhead);
    for (int i = 0; i < machine->kind_count; i++)
        write_overhead(file, machine->kinds[i].name, &machine->kind_overhead[i]);
    fputc('\n', file);
}

/* A window alone is worth a line too: tasks that take no time to insert come in their order. */
static void write_insert(FILE *file, const thrum_machine *machine)
{
    if (machine->insert_task == 0 && machine->insert_access == 0 && machine->window == 0)
        return;
    fputs("insert", file);
    write_time(file, "task", machine->insert_task);
    write_time(file, "access", machine->insert_access);
    fprintf(file, " window=%d\n", machine->window);
}

static void write_machine(FILE *file, const thrum_machine *machine)
{
    fputs("thrum-machine 1\nname ", file);
    write_word(file, "", machine->name);
    fprintf(file, "\nabout %s\nhosts count=%d\ncores count=%d lost-per-device=%d\n", machine->about, machine->hosts,
            machine->cores, machine->lost_per_device);
    for (int i = 0; i < machine->kind_count; i++)
        write_kind(file, &machine->kinds[i]);
    fputs("root", file);
    write_rate(file, "bandwidth", machine->root_bandwidth);
    if (machine->network_bandwidth > 0) {
        fputs("\nnetwork", file);
        write_rate(file, "bandwidth", machine->network_bandwidth);
        write_time(file, "latency", machine->network_latency);
    }
    fputc('\n', file);
    for (int i = 0; i < machine->speed_count; i++)
        write_row(file, machine, &machine->speeds[i]);
    write_overheads(file, machine);
    write_insert(file, machine);
    if (machine->noise) {
        fputs("noise ", file);
        write_word(file, "", machine->noise->text);
        fputc('\n', file);
    }
}

int thrum_machine_write(const thrum_machine *machine, const char *path)
{
    thrum__plain_locale locale;
    if (!machine || !path)
        return thrum__fault(THRUM_EINVAL, "thrum_machine_write: the %s is NULL", machine ? "path" : "machine");
    int err = thrum__plain_locale_begin(&locale);
    if (err)
        return err;
    FILE *file = fopen(path, "we");
    if (file)
        write_machine(file, machine);
    thrum__plain_locale_end(&locale);
    if (!file)
        return cannot("written", path);
    bool failed = ferror(file) != 0;
    failed |= fclose(file) != 0;
    return failed ? cannot("written", path) : 0;
}
