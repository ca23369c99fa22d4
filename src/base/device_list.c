/* SPDX-License-Identifier: MIT */
#include "base/device_list.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "base/quantity.h"

#include <stdio.h>
#include <string.h>

/* A stretch of a text. */
struct span {
    const char *begin, *end;
};

static size_t length_of(struct span span)
{
    return (size_t)(span.end - span.begin);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static struct span trim(struct span span)
{
    while (span.begin < span.end && is_space(*span.begin))
        span.begin++;
    while (span.begin < span.end && is_space(span.end[-1]))
        span.end--;
    return span;
}

/* From `*rest` up to the separator or the end; *rest becomes what comes behind the separator, or NULL. */
static struct span cut(const char **rest, const char *end, char separator)
{
    const char *found = memchr(*rest, separator, (size_t)(end - *rest));
    struct span span = {*rest, found ? found : end};
    *rest = found ? found + 1 : NULL;
    return span;
}

static bool is_word(struct span span)
{
    for (const char *c = span.begin; c < span.end; c++)
        if (!(*c >= 'a' && *c <= 'z') && !(*c >= '0' && *c <= '9') && *c != '-' && *c != '_')
            return false;
    return span.begin < span.end;
}

/* A word, or a word, a point and a name: order.cpu, factor.GEMM. */
static bool is_key(struct span span)
{
    const char *point = span.begin;
    while (point < span.end && *point != '.')
        point++;
    if (point == span.end)
        return is_word(span);
    for (const char *c = point + 1; c < span.end; c++)
        if (*c <= ' ' || *c > '~')
            return false;
    return point + 1 < span.end && is_word((struct span){span.begin, point});
}

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

static int no_setting(struct span span)
{
    if (span.begin == span.end)
        return thrum__fault(THRUM_EOPTION,
                            "a setting is empty: between semicolons stands key=value, like memory=64MiB");
    return thrum__fault(THRUM_EOPTION, "'%.*s' is no setting: it must be key=value, like memory=64MiB",
                        length_of(span) < 60 ? (int)length_of(span) : 60, span.begin);
}

static int read_setting(struct span span, thrum__setting *setting)
{
    span = trim(span);
    const char *rest = span.begin;
    struct span key = trim(cut(&rest, span.end, '='));
    if (!rest || !is_key(key) || length_of(key) >= sizeof setting->key)
        return no_setting(span);
    struct span value = trim((struct span){rest, span.end});
    if (value.begin == value.end || length_of(value) >= sizeof setting->value)
        return no_setting(span);
    snprintf(setting->key, sizeof setting->key, "%.*s", (int)length_of(key), key.begin);
    snprintf(setting->value, sizeof setting->value, "%.*s", (int)length_of(value), value.begin);
    return 0;
}

bool thrum__setting_next(const char **rest, thrum__setting *setting, int *err)
{
    *err = 0;
    if (!*rest || !**rest)
        return false;
    const char *end = *rest + strlen(*rest);
    *err = read_setting(cut(rest, end, ';'), setting);
    if (!*err && *rest && !**rest) /* a separator at the very end */
        *err = no_setting((struct span){*rest, *rest});
    return !*err;
}

/* ---- The list ---------------------------------------------------------------------------------------------------- */

/* Names the place: which device, and where in the text it begins. The last sentence says what is wrong. */
static int wrong_at(const char *text, const char *place)
{
    char sentence[512];
    snprintf(sentence, sizeof sentence, "%s", thrum__last_fault());
    return thrum__fault(THRUM_EOPTION, "in the list of devices '%.120s', at character %zu: %.300s", text,
                        (size_t)(place - text) + 1, sentence);
}

static bool has_key(const char *settings, const char *key)
{
    thrum__setting other;
    int err;
    while (thrum__setting_next(&settings, &other, &err))
        if (strcmp(other.key, key) == 0)
            return true;
    return false;
}

/* Appends the settings that begin at `rest` to `settings`, which has room for all of the text. */
static int read_settings(const char *text, const char *rest, const char *end, char *settings)
{
    char *to = settings;
    *to = '\0';
    while (rest) {
        struct span span = cut(&rest, end, ';');
        thrum__setting setting;
        if (read_setting(span, &setting))
            return wrong_at(text, span.begin);
        if (has_key(settings, setting.key)) {
            thrum__fault(THRUM_EOPTION, "'%s' is set twice", setting.key);
            return wrong_at(text, span.begin);
        }
        to += sprintf(to, "%s%s=%s", to > settings ? ";" : "", setting.key, setting.value);
    }
    return 0;
}

static int read_count(struct span span, thrum__device_entry *entry)
{
    char number[24];
    long count;
    span = trim(span);
    snprintf(number, sizeof number, "%.*s", length_of(span) < sizeof number ? (int)length_of(span) : 23, span.begin);
    if (thrum__count_parse(number, 1, THRUM__DEVICES_MOST, &count))
        return thrum__fault(THRUM_EOPTION, "'%s' cannot be how many '%s' there are: that is a number from 1 to %d",
                            number, entry->kind, THRUM__DEVICES_MOST);
    entry->count = (int)count;
    entry->counted = true;
    return 0;
}

static int read_kind(struct span span, thrum__device_entry *entry)
{
    span = trim(span);
    if (span.begin == span.end)
        return thrum__fault(THRUM_EOPTION, "a kind of device is missing: it must be like cpu,emu:3;memory=64MiB");
    if (!is_word(span) || length_of(span) >= sizeof entry->kind)
        return thrum__fault(THRUM_EOPTION, "'%.*s' is no kind of device: it must be like cpu,emu:3;memory=64MiB",
                            length_of(span) < 60 ? (int)length_of(span) : 60, span.begin);
    snprintf(entry->kind, sizeof entry->kind, "%.*s", (int)length_of(span), span.begin);
    return 0;
}

static int read_entry(const char *text, struct span span, thrum__device_entry *entry, char *settings)
{
    const char *after_head = span.begin;
    struct span head = cut(&after_head, span.end, ';');
    const char *after_kind = head.begin;
    struct span kind = cut(&after_kind, head.end, ':');
    *entry = (thrum__device_entry){.count = 1, .settings = settings};
    if (read_kind(kind, entry))
        return wrong_at(text, kind.begin);
    if (after_kind && read_count((struct span){after_kind, head.end}, entry))
        return wrong_at(text, after_kind);
    return read_settings(text, after_head, span.end, settings);
}

/* One block: the entries, and behind them their settings, which are never longer than the text. */
static thrum__device_list *list_new(const char *text, size_t entries, char **settings)
{
    size_t size = sizeof(thrum__device_list) + entries * sizeof(thrum__device_entry);
    thrum__device_list *list = thrum__zalloc(size + strlen(text) + entries);
    if (list)
        *settings = (char *)list + size;
    return list;
}

static size_t count_entries(const char *text)
{
    size_t entries = 1;
    for (const char *c = text; *c; c++)
        entries += *c == ',';
    return entries;
}

int thrum__device_list_parse(const char *text, thrum__device_list **result)
{
    char *settings = NULL;
    thrum__device_list *list = list_new(text, count_entries(text), &settings);
    if (!list)
        return thrum__fault(THRUM_ENOMEM, "no memory for the list of devices");
    const char *rest = text, *end = text + strlen(text);
    int err = 0;
    while (rest && !err) {
        struct span span = cut(&rest, end, ',');
        err = read_entry(text, span, &list->entries[list->count++], settings);
        settings += strlen(settings) + 1;
    }
    if (err)
        thrum__device_list_free(list);
    else
        *result = list;
    return err;
}

void thrum__device_list_free(thrum__device_list *list)
{
    thrum__free(list);
}
