/* SPDX-License-Identifier: MIT
 *
 * One line of the description of a machine: words, values with units, and what each kind of line changes.
 *
 * Whoever wrote it, nothing in it is trusted: a line that cannot be understood is refused with its place and with what
 * would be right.
 */
#include "sim/machine_int.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "base/nearest.h"
#include "base/quantity.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    thrum_machine *machine;
    const char *where;
    char *rest; /* of the line */
};

static int wrong(const struct reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int wrong(const struct reader *reader, const char *format, ...)
{
    char sentence[400];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return thrum__fault(THRUM_EINVAL, "%.100s: %s", reader->where, sentence);
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

int thrum__plain_locale_begin(thrum__plain_locale *locale)
{
    locale->own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!locale->own)
        return thrum__fault(THRUM_ENOMEM, "no memory for the locale in which numbers are read");
    locale->before = uselocale(locale->own);
    return 0;
}

void thrum__plain_locale_end(thrum__plain_locale *locale)
{
    uselocale(locale->before);
    freelocale(locale->own);
}

/* A number, in any form that C knows but as infinity or in hexadecimal, and what follows it; NULL: it is none. */
static const char *read_number(const char *text, double *number)
{
    char *end;
    const char *digits = text + (*text == '-' || *text == '+');
    if (!(*digits >= '0' && *digits <= '9') || digits[1] == 'x' || digits[1] == 'X')
        return NULL;
    *number = strtod(text, &end);
    return isfinite(*number) ? end : NULL;
}

int thrum__machine_time(const char *text, double *seconds)
{
    double number;
    const char *unit = read_number(text, &number);
    if (!unit || strcmp(unit, "s") != 0 || number < 0)
        return thrum__time_parse(text, seconds);
    *seconds = number;
    return 0;
}

int thrum__machine_rate(const char *text, double *bytes_per_second)
{
    double number;
    const char *unit = read_number(text, &number);
    if (strcmp(text, "unlimited") == 0)
        number = INFINITY;
    else if (!unit || strcmp(unit, "B/s") != 0 || number <= 0)
        return thrum__rate_parse(text, bytes_per_second);
    *bytes_per_second = number;
    return 0;
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Takes the quotes off a word that begins with one: what stands between them, in which \ makes the next character an
 * ordinary one. NULL: the second one is missing, or something follows it. */
static char *unquote(char *word, char **rest)
{
    char *to = word, *from = word + 1;
    for (; *from && *from != '"'; from++) {
        from += *from == '\\' && from[1];
        *to++ = *from;
    }
    if (*from != '"' || (from[1] && !is_blank(from[1])))
        return NULL;
    *rest = from[1] ? from + 2 : from + 1;
    *to = '\0';
    return word;
}

/* Cuts the next word off; *word is NULL at the end of the line and before a comment. */
static int next_word(struct reader *reader, char **word)
{
    char *begin = reader->rest;
    *word = NULL;
    while (is_blank(*begin))
        begin++;
    reader->rest = begin;
    if (!*begin || *begin == '#')
        return 0;
    if (*begin == '"') {
        *word = unquote(begin, &reader->rest);
        return *word ? 0 : wrong(reader, "%.60s has no quote at its end, or something right behind it", begin);
    }
    char *end = begin;
    while (*end && !is_blank(*end))
        end++;
    reader->rest = *end ? end + 1 : end;
    *end = '\0';
    *word = begin;
    return 0;
}

/* The next word as key=value; *key is NULL at the end. */
static int next_setting(struct reader *reader, char **key, char **value)
{
    int err = next_word(reader, key);
    if (err || !*key)
        return err;
    *value = strchr(*key, '=');
    if (!*value || *value == *key || !(*value)[1])
        return wrong(reader, "'%.60s' is no setting: it must be key=value, like count=4", *key);
    *(*value)++ = '\0';
    return 0;
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

enum value { COUNT, SIZE, RATE, TIME, EITHER, ARCH };

/* A key of a line, and where its value is to go. */
struct key {
    const char *name;
    enum value value;
    size_t offset;
    long least, most; /* of COUNT */
};

static int wrong_value(const struct reader *reader, const struct key *key, const char *value)
{
    char sentence[300];
    snprintf(sentence, sizeof sentence, "%s", thrum__last_fault());
    return wrong(reader, "%s=%.60s: %s", key->name, value, sentence);
}

static int read_count(const struct key *key, const char *text, int *to)
{
    long count = 0;
    int err = thrum__count_parse(text, key->least, key->most, &count);
    if (!err)
        *to = (int)count;
    return err;
}

static int read_size(const char *text, size_t *to)
{
    size_t bytes = 0;
    if (strcmp(text, "unlimited") != 0) {
        int err = thrum__size_parse(text, &bytes);
        if (err)
            return err;
        if (bytes == 0)
            return thrum__fault(THRUM_EINVAL, "a memory of 0 bytes holds nothing: it must be above 0, like 11GiB, or "
                                              "'unlimited'");
    }
    *to = bytes;
    return 0;
}

static int read_either(const char *text, bool *to)
{
    if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        return thrum__fault(THRUM_EINVAL, "it must be yes or no");
    *to = *text == 'y';
    return 0;
}

const char *const thrum__machine_archs[THRUM_ARCHS] = {[THRUM_ARCH_CPU] = "cpu", [THRUM_ARCH_EMU] = "emu"};

static int read_arch(const char *text, enum thrum_arch *to)
{
    char meant[THRUM__MEANT_TEXT];
    for (int arch = 0; arch < THRUM_ARCHS; arch++)
        if (strcmp(text, thrum__machine_archs[arch]) == 0) {
            *to = (enum thrum_arch)arch;
            return 0;
        }
    return thrum__fault(THRUM_EINVAL, "there is no architecture '%.40s'%s there are cpu and emu", text,
                        thrum__meant(text, thrum__machine_archs, THRUM_ARCHS, meant));
}

static int read_value(const struct reader *reader, const struct key *key, const char *text, void *base)
{
    void *to = (char *)base + key->offset;
    int err = 0;
    switch (key->value) {
    case COUNT:
        err = read_count(key, text, to);
        break;
    case SIZE:
        err = read_size(text, to);
        break;
    case RATE:
        err = thrum__machine_rate(text, to);
        break;
    case TIME:
        err = thrum__machine_time(text, to);
        break;
    case EITHER:
        err = read_either(text, to);
        break;
    case ARCH:
        err = read_arch(text, to);
        break;
    }
    return err ? wrong_value(reader, key, text) : 0;
}

/* ---- Lines with fixed keys --------------------------------------------------------------------------------------- */

enum { KEYS_MOST = 8 };

#define IN_MACHINE(field) offsetof(thrum_machine, field)
#define IN_KIND(field) offsetof(thrum__device_kind, field)

static const struct key host_keys[] = {{"count", COUNT, IN_MACHINE(hosts), 1, THRUM__MACHINE_NODES_MOST}, {0}};
static const struct key core_keys[] = {
    {"count", COUNT, IN_MACHINE(cores), 0, THRUM__MACHINE_WORKERS_MOST},
    {"lost-per-device", COUNT, IN_MACHINE(lost_per_device), 0, 1024},
    {0},
};
static const struct key root_keys[] = {{"bandwidth", RATE, IN_MACHINE(root_bandwidth), 0, 0}, {0}};
static const struct key network_keys[] = {
    {"bandwidth", RATE, IN_MACHINE(network_bandwidth), 0, 0},
    {"latency", TIME, IN_MACHINE(network_latency), 0, 0},
    {0},
};
static const struct key insert_keys[] = {
    {"task", TIME, IN_MACHINE(insert_task), 0, 0},
    {"access", TIME, IN_MACHINE(insert_access), 0, 0},
    {"window", COUNT, IN_MACHINE(window), 0, 1 << 30},
    {0},
};
static const struct key device_keys[] = {
    {"count", COUNT, IN_KIND(count), 0, THRUM__MACHINE_NODES_MOST},
    {"arch", ARCH, IN_KIND(arch), 0, 0},
    {"workers", COUNT, IN_KIND(workers), 1, 1024},
    {"memory", SIZE, IN_KIND(memory), 0, 0},
    {"bandwidth", RATE, IN_KIND(bandwidth), 0, 0},
    {"latency", TIME, IN_KIND(latency), 0, 0},
    {"peer", EITHER, IN_KIND(peer), 0, 0},
    {0},
};

static int unknown_key(const struct reader *reader, const char *line, const struct key *keys, const char *word)
{
    const char *names[KEYS_MOST];
    char meant[THRUM__MEANT_TEXT], list[160] = "";
    size_t count = 0;
    for (; keys[count].name; count++) {
        size_t used = strlen(list);
        names[count] = keys[count].name;
        snprintf(list + used, sizeof list - used, "%s%s", count ? ", " : "", keys[count].name);
    }
    return wrong(reader, "a line '%s' has no key '%.40s'%s it has: %s", line, word,
                 thrum__meant(word, names, count, meant), list);
}

static int take_settings(struct reader *reader, const char *line, const struct key *keys, void *base)
{
    char *word, *value;
    int err, taken = 0;
    while (!(err = next_setting(reader, &word, &value)) && word) {
        const struct key *key = keys;
        while (key->name && strcmp(key->name, word) != 0)
            key++;
        err = key->name ? read_value(reader, key, value, base) : unknown_key(reader, line, keys, word);
        if (err)
            return err;
        taken++;
    }
    return err || taken ? err : wrong(reader, "a line '%s' needs settings, like %s=...", line, keys->name);
}

static int take_hosts(struct reader *reader)
{
    return take_settings(reader, "hosts", host_keys, reader->machine);
}

static int take_cores(struct reader *reader)
{
    int err = take_settings(reader, "cores", core_keys, reader->machine);
    return err ? err : thrum__machine_set_text(&reader->machine->cores_where, reader->where);
}

static int take_root(struct reader *reader)
{
    return take_settings(reader, "root", root_keys, reader->machine);
}

static int take_network(struct reader *reader)
{
    return take_settings(reader, "network", network_keys, reader->machine);
}

static int take_insert(struct reader *reader)
{
    return take_settings(reader, "insert", insert_keys, reader->machine);
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

enum { KIND_NAME = 16 };

static bool is_kind_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    return length > 0 && length <= KIND_NAME && !name[length] && strcmp(name, "cpu") != 0;
}

static int take_device(struct reader *reader)
{
    char *name;
    int err = next_word(reader, &name);
    if (err)
        return err;
    if (!name || strchr(name, '='))
        return wrong(reader, "a line 'device' begins with a name for this kind of device, like 'device gpu count=2'");
    if (!is_kind_name(name))
        return wrong(reader,
                     "'%.40s' cannot be the name of a device: that is up to %d letters, digits, '-' and '_', and not "
                     "'cpu', which stands for the cores",
                     name, KIND_NAME);
    int kind = thrum__machine_kind(reader->machine, name);
    if (kind == THRUM__NO_KIND)
        kind = thrum__machine_add_kind(reader->machine, name, reader->where);
    return kind < 0 ? kind : take_settings(reader, "device", device_keys, &reader->machine->kinds[kind]);
}

static int find_kind(const struct reader *reader, const char *name, int *kind)
{
    const char *names[16] = {"cpu"};
    char meant[THRUM__MEANT_TEXT];
    size_t count = 1;
    *kind = thrum__machine_kind(reader->machine, name);
    if (*kind != THRUM__NO_KIND)
        return 0;
    for (int i = 0; i < reader->machine->kind_count && count < 16; i++)
        names[count++] = reader->machine->kinds[i].name;
    return wrong(reader, "there is no device '%.40s' on the lines before%s 'cpu' stands for the cores", name,
                 thrum__meant(name, names, count, meant));
}

/* ---- Speeds ------------------------------------------------------------------------------------------------------ */

/* "30e9", "30G", "30G/s": units of work a second. */
static int read_speed(const struct reader *reader, const char *text, double *speed)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"", 1},      {"/s", 1},  {"k", 1e3},   {"k/s", 1e3}, {"M", 1e6},
                 {"M/s", 1e6}, {"G", 1e9}, {"G/s", 1e9}, {"T", 1e12},  {"T/s", 1e12}};
    double number;
    const char *unit = read_number(text, &number);
    if (strcmp(text, "unlimited") == 0) {
        *speed = INFINITY;
        return 0;
    }
    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++)
        if (strcmp(unit, units[i].name) == 0) {
            *speed = number * units[i].factor;
            return *speed > 0
                       ? 0
                       : wrong(reader, "the speed '%.40s' must be above 0: so many units of work are done a second",
                               text);
        }
    return wrong(reader, "'%.40s' is no speed: it must be units of work a second, like 30e9 or 30G/s", text);
}

static int read_crowd(const struct reader *reader, const char *text, double *crowd)
{
    const char *end = read_number(text, crowd);
    if (end && !*end && *crowd >= 0)
        return 0;
    return wrong(reader, "'%.40s' is no crowd: it is by how much each other worker of a host slows this one, like 0.1",
                 text);
}

/* "40e9:1.5e6": work of up to 1.5e6 units is done at 40e9 a second. "40e9:1.5e6:0.1ns": and so much each of its bytes
 * takes. */
static int read_small(const struct reader *reader, const char *key, char *text, thrum__speed_row *row)
{
    const struct key time_key = {.name = key, .value = TIME};
    char *colon = strchr(text, ':'), *second = colon ? strchr(colon + 1, ':') : NULL;
    double rate, work, per_byte = -1;
    const char *end = colon ? read_number(colon + 1, &work) : NULL;
    if (!end || (*end && end != second) || work < 0)
        return wrong(
            reader,
            "'%.40s' must be a speed, a colon, and up to how much work it holds, like 40e9:1.5e6; behind another "
            "colon may stand what a byte takes then, like 40e9:1.5e6:0.1ns",
            text);
    int err = second ? read_value(reader, &time_key, second + 1, &per_byte) : 0;
    *colon = '\0';
    if (!err)
        err = read_speed(reader, text, &rate);
    if (err)
        return err;
    row->small_rate = rate;
    row->small_work = work;
    row->small_per_byte = per_byte;
    return 0;
}

static const char *listed(const char *const *names, int count, char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < count && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "", names[i]);
    return text;
}

/* The kind behind the point in "fixed.gpu", and which of `names`, from 1 on, stands before it; without a point it is
 * 0. */
static int read_key_of_kind(const struct reader *reader, const char *line, const char *key, const char *const *names,
                            int count, int *part, int *kind)
{
    char word[24] = "", meant[THRUM__MEANT_TEXT], all[80];
    const char *point = strchr(key, '.');
    *part = 0;
    if (!point)
        return find_kind(reader, key, kind);
    snprintf(word, sizeof word, "%.*s", (int)(point - key < 23 ? point - key : 23), key);
    for (int i = 1; i < count; i++)
        if (strcmp(names[i], word) == 0) {
            *part = i;
            return find_kind(reader, point + 1, kind);
        }
    return wrong(reader,
                 "a line '%s' has no key '%.40s'%s it has: cpu or a device, and with its name behind a point %s", line,
                 key, thrum__meant(word, names + 1, count - 1, meant), listed(names + 1, count - 1, all, sizeof all));
}

/* Of "speed"; without a point it is a rate. */
enum part { RATE_PART, SMALL_PART, FIXED_PART, BYTE_PART, READ_PART, MOVED_PART, CROWD_PART, PARTS };

static int read_part(const struct reader *reader, const char *key, int *part, int *kind)
{
    static const char *const names[PARTS] = {"", "small", "fixed", "per-byte", "per-read", "moved", "crowd"};
    return read_key_of_kind(reader, "speed", key, names, PARTS, part, kind);
}

static int set_part(const struct reader *reader, thrum__speed_row *row, int part, const char *key, char *value)
{
    const struct key time_key = {.name = key, .value = TIME};
    thrum__law_drop(row->law);
    row->law = NULL;
    switch (part) {
    case RATE_PART:
        return read_speed(reader, value, &row->rate);
    case SMALL_PART:
        return read_small(reader, key, value, row);
    case FIXED_PART:
        return read_value(reader, &time_key, value, &row->fixed);
    case BYTE_PART:
        return read_value(reader, &time_key, value, &row->per_byte);
    case READ_PART:
        return read_value(reader, &time_key, value, &row->per_read);
    case MOVED_PART:
        return read_value(reader, &time_key, value, &row->moved);
    default:
        return read_crowd(reader, value, &row->crowd);
    }
}

static int take_speed(struct reader *reader, const char *codelet)
{
    char *key, *value;
    int err, kind, taken = 0;
    int part;
    while (!(err = next_setting(reader, &key, &value)) && key) {
        err = read_part(reader, key, &part, &kind);
        thrum__speed_row *row = err ? NULL : thrum__machine_row(reader->machine, codelet, kind);
        if (!row)
            return err ? err : THRUM_ENOMEM;
        err = set_part(reader, row, part, key, value);
        if (err)
            return err;
        taken++;
    }
    return err || taken ? err : wrong(reader, "the speed of '%.40s' is missing: cpu=30e9, for example", codelet);
}

/* ---- Times and noise --------------------------------------------------------------------------------------------- */

/* The numbers of a distribution may have units of time; the text becomes one without, in seconds. */
static bool without_units(const char *text, char *plain, size_t room)
{
    size_t used = strcspn(text, ":");
    used += text[used] == ':';
    if (used >= room)
        return false;
    memcpy(plain, text, used);
    for (const char *at = text + used; used < room;) {
        size_t length = strcspn(at, ",");
        char number[64];
        double seconds, unused;
        snprintf(number, sizeof number, "%.*s", (int)(length < 63 ? length : 63), at);
        const char *unit = read_number(number, &unused);
        if (unit && *unit && !thrum__machine_time(number, &seconds))
            snprintf(number, sizeof number, "%.17g", seconds);
        used += (size_t)snprintf(plain + used, room - used, "%s%s", number, at[length] ? "," : "");
        if (!at[length])
            return used < room;
        at += length + 1;
    }
    return false;
}

static int read_law(const struct reader *reader, const char *text, thrum__law **law)
{
    char plain[256];
    bool from_file = strncmp(text, "file:", 5) == 0;
    if (!from_file && !without_units(text, plain, sizeof plain))
        return wrong(reader, "'%.60s...' is too long for a distribution", text);
    thrum__law *made = thrum__zalloc(sizeof *made);
    if (!made)
        return thrum__fault(THRUM_ENOMEM, "no memory for the times '%s'", text);
    made->users = 1;
    made->text = thrum__copy_text(text);
    int err = made->text ? thrum__times_begin(&made->times, from_file ? text : plain) : THRUM_ENOMEM;
    if (!err) {
        thrum__law_drop(*law);
        *law = made;
        return 0;
    }
    thrum__free(made->text);
    thrum__free(made);
    char sentence[300];
    snprintf(sentence, sizeof sentence, "%s", thrum__last_fault());
    return err == THRUM_ENOMEM ? err : wrong(reader, "%s", sentence);
}

static int take_time(struct reader *reader, const char *codelet)
{
    char *key, *value;
    int err, kind, taken = 0;
    while (!(err = next_setting(reader, &key, &value)) && key) {
        err = find_kind(reader, key, &kind);
        thrum__speed_row *row = err ? NULL : thrum__machine_row(reader->machine, codelet, kind);
        if (!row)
            return err ? err : THRUM_ENOMEM;
        err = read_law(reader, value, &row->law);
        if (err)
            return err;
        row->rate = INFINITY; /* what a speed said before is forgotten */
        row->fixed = row->per_byte = row->per_read = row->crowd = row->moved = 0;
        row->small_work = row->small_per_byte = -1;
        taken++;
    }
    return err || taken ? err : wrong(reader, "the time of '%.40s' is missing: cpu=const:5us, for example", codelet);
}

/* Both name a codelet first. */
static int take_of_codelet(struct reader *reader, const char *line,
                           int (*take)(struct reader *reader, const char *codelet))
{
    char *codelet;
    bool quoted = reader->rest[strspn(reader->rest, " \t\r\v\f")] == '"';
    int err = next_word(reader, &codelet);
    if (err)
        return err;
    if (!codelet || !*codelet || (!quoted && strchr(codelet, '=')))
        return wrong(reader,
                     "a line '%s' begins with the name of a codelet, or with * for all others: '%s gemm cpu=...'", line,
                     line);
    return take(reader, codelet);
}

static int take_speed_line(struct reader *reader)
{
    return take_of_codelet(reader, "speed", take_speed);
}

static int take_time_line(struct reader *reader)
{
    return take_of_codelet(reader, "time", take_time);
}

/* ---- Overheads --------------------------------------------------------------------------------------------------- */

enum overhead_part {
    TASK_PART,
    ACCESS_PART,
    SCRATCH_PART,
    FRESH_PART,
    COPY_PART,
    OVERHEAD_MOVED_PART,
    OVERHEAD_CROWD_PART,
    OVERHEAD_PARTS
};

/* "cpu" is of each task, "access.cpu" of each of its accesses, and so on. */
static int read_overhead_key(const struct reader *reader, const char *key, int *part, int *kind)
{
    static const char *const names[OVERHEAD_PARTS] = {"", "access", "scratch", "fresh", "copy", "moved", "crowd"};
    return read_key_of_kind(reader, "overhead", key, names, OVERHEAD_PARTS, part, kind);
}

static int set_overhead(const struct reader *reader, thrum__overhead *to, int part, const char *key, const char *value)
{
    const struct key time_key = {.name = key, .value = TIME};
    double *const seconds[OVERHEAD_PARTS] = {&to->task, &to->access, &to->scratch, &to->fresh,
                                             &to->copy, &to->moved,  NULL};
    return part == OVERHEAD_CROWD_PART ? read_crowd(reader, value, &to->crowd)
                                       : read_value(reader, &time_key, value, seconds[part]);
}

static int take_overhead(struct reader *reader)
{
    char *key, *value;
    int err, kind, taken = 0;
    int part;
    while (!(err = next_setting(reader, &key, &value)) && key) {
        thrum_machine *machine = reader->machine;
        err = read_overhead_key(reader, key, &part, &kind);
        if (err)
            return err;
        err = set_overhead(reader, kind == THRUM__CORE ? &machine->core_overhead : &machine->kind_overhead[kind], part,
                           key, value);
        if (err)
            return err;
        taken++;
    }
    return err || taken ? err : wrong(reader, "a line 'overhead' needs times, like cpu=2us");
}

static int take_noise(struct reader *reader)
{
    char *text, *more;
    int err = next_word(reader, &text);
    if (!err)
        err = next_word(reader, &more);
    if (err)
        return err;
    if (!text || more)
        return wrong(reader, "a line 'noise' has one distribution, like normal:1,0.05, or 'none'");
    if (strcmp(text, "none") != 0)
        return read_law(reader, text, &reader->machine->noise);
    thrum__law_drop(reader->machine->noise);
    reader->machine->noise = NULL;
    return 0;
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

static int take_name(struct reader *reader)
{
    char *name, *more;
    int err = next_word(reader, &name);
    if (!err)
        err = next_word(reader, &more);
    if (err)
        return err;
    if (!name || !*name || more)
        return wrong(reader, "a line 'name' has one word, or one in quotes");
    return thrum__machine_set_text(&reader->machine->name, name);
}

/* All of the line, up to a comment. */
static int take_about(struct reader *reader)
{
    char *begin = reader->rest, *end;
    while (is_blank(*begin))
        begin++;
    for (end = begin; *end && !(*end == '#' && (end == begin || is_blank(end[-1]))); end++)
        ;
    while (end > begin && is_blank(end[-1]))
        end--;
    *end = '\0';
    return thrum__machine_set_text(&reader->machine->about, begin);
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

static const struct line_kind {
    const char *name;
    int (*take)(struct reader *reader);
} line_kinds[] = {
    {"name", take_name},      {"about", take_about},       {"hosts", take_hosts},     {"cores", take_cores},
    {"device", take_device},  {"root", take_root},         {"network", take_network}, {"speed", take_speed_line},
    {"time", take_time_line}, {"overhead", take_overhead}, {"insert", take_insert},   {"noise", take_noise},
};
enum { LINE_KINDS = sizeof line_kinds / sizeof *line_kinds };

static int unknown_line(const struct reader *reader, const char *word)
{
    const char *names[LINE_KINDS];
    char meant[THRUM__MEANT_TEXT];
    for (int i = 0; i < LINE_KINDS; i++)
        names[i] = line_kinds[i].name;
    return wrong(reader,
                 "there is no line '%.40s'%s lines begin with name, about, hosts, cores, device, root, network, speed, "
                 "time, overhead, insert or noise",
                 word, thrum__meant(word, names, LINE_KINDS, meant));
}

int thrum__machine_take(thrum_machine *machine, char *line, const char *where)
{
    struct reader reader = {.machine = machine, .where = where, .rest = line};
    char *word;
    int err = next_word(&reader, &word);
    if (err || !word)
        return err;
    for (int i = 0; i < LINE_KINDS; i++)
        if (strcmp(line_kinds[i].name, word) == 0)
            return line_kinds[i].take(&reader);
    return unknown_line(&reader, word);
}
