/* SPDX-License-Identifier: MIT */
#include "device/emu_int.h"

#include "base/device_list.h"
#include "base/fault.h"
#include "base/quantity.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { WORKERS_MOST = 1024 };

const thrum_setting thrum__emu_settings[] = {
    {"memory", "1GiB", "a size like 64MiB", "bytes that may be allocated"},
    {"link", "8GB/s", "a rate like 2GB/s", "bandwidth of copies, each way"},
    {"latency", "5us", "a time like 10us", "what each copy takes before its first byte"},
    {"workers", "1", "1 to 1024", "kernels that may run at once"},
    {"mode", "real", "real, timing", "timing: kernels and copies take their time and do nothing else"},
    {"peer", "no", "yes, no", "whether copies between such devices need not go through the machine's memory"},
    {"fail", "0", "0 or a number", "the kernel that fails, and the device with it; 0: none"},
    {NULL, NULL, NULL, NULL},
};

static int parse_memory(const char *value, emu_settings *settings)
{
    size_t bytes = 0;
    int err = thrum__size_parse(value, &bytes);
    if (!err && bytes == 0)
        err = thrum__fault(THRUM_EOPTION, "'%s' is no size of a memory: it must be above 0", value);
    settings->memory = bytes;
    return err;
}

static int parse_link(const char *value, emu_settings *settings)
{
    return thrum__rate_parse(value, &settings->bandwidth);
}

static int parse_latency(const char *value, emu_settings *settings)
{
    return thrum__time_parse(value, &settings->latency);
}

static int parse_workers(const char *value, emu_settings *settings)
{
    return thrum__count_parse(value, 1, WORKERS_MOST, &settings->workers);
}

static int parse_fail(const char *value, emu_settings *settings)
{
    return thrum__count_parse(value, 0, LONG_MAX, &settings->fail);
}

static int parse_either(const char *value, const char *no, const char *yes, bool *chosen)
{
    *chosen = strcmp(value, yes) == 0;
    if (*chosen || strcmp(value, no) == 0)
        return 0;
    return thrum__fault(THRUM_EOPTION, "'%s' must be %s or %s", value, no, yes);
}

static int parse_mode(const char *value, emu_settings *settings)
{
    return parse_either(value, "real", "timing", &settings->timing);
}

static int parse_peer(const char *value, emu_settings *settings)
{
    return parse_either(value, "no", "yes", &settings->peer);
}

/* In the order of the table. */
static int (*const parsers[])(const char *value, emu_settings *settings) = {
    parse_memory, parse_link, parse_latency, parse_workers, parse_mode, parse_peer, parse_fail};

static int unknown_key(const char *key)
{
    char keys[256] = "";
    for (const thrum_setting *s = thrum__emu_settings; s->key; s++) {
        strcat(keys, s == thrum__emu_settings ? "" : ", ");
        strcat(keys, s->key);
    }
    return thrum__fault(THRUM_EOPTION, "emu has no setting '%s': there are %s", key, keys);
}

static int apply(const char *key, const char *value, emu_settings *settings)
{
    int i = 0;
    while (thrum__emu_settings[i].key && strcmp(thrum__emu_settings[i].key, key) != 0)
        i++;
    if (!thrum__emu_settings[i].key)
        return unknown_key(key);
    int err = parsers[i](value, settings);
    if (!err)
        return 0;
    char sentence[512];
    snprintf(sentence, sizeof sentence, "%s", thrum__last_fault());
    return thrum__fault(err, "the setting %s=%s of emu is wrong: %.350s", key, value, sentence);
}

int thrum__emu_settings_read(const char *text, emu_settings *settings)
{
    int err = 0;
    for (const thrum_setting *s = thrum__emu_settings; s->key && !err; s++)
        err = apply(s->key, s->initial, settings);
    thrum__setting setting;
    const char *rest = text;
    while (!err && thrum__setting_next(&rest, &setting, &err))
        err = apply(setting.key, setting.value, settings);
    return err;
}
