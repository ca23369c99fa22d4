/* SPDX-License-Identifier: MIT */
#include "setup.h"

#include "tools/common.h"

#include <stdlib.h>
#include <string.h>

void app_setup_options(struct app_setup *setup, struct app_option options[APP_SETUP_OPTIONS])
{
    const struct app_option table[] = {
        {.kind = APP_TITLE, .help = "the machine"},
        {APP_TEXT, "--policy", "NAME", NULL,
         "who runs which task: a policy that `thrum info` lists, a library with one (a path\n"
         "with '/'), or steal (THRUM_POLICY: steal; dmda where there are devices)",
         &setup->policy, 0, 0, NULL},
        {APP_TEXT, "--devices", "LIST", NULL,
         "processors and devices, such as cpu,emu:3 or 'cpu:2,emu:1;memory=64MiB'\n"
         "(THRUM_DEVICES: cpu)",
         &setup->devices, 0, 0, NULL},
        {APP_TEXT, "--link", "RATE", NULL, "bandwidth to each device, such as 2GB/s (8GB/s)", &setup->link, 0, 0, NULL},
        {APP_TEXT, "--latency", "TIME", NULL, "of each copy to or from a device, such as 10us (5us)", &setup->latency,
         0, 0, NULL},
        {APP_TEXT, "--memory", "SIZE", NULL, "of each device, such as 64MiB (1GiB)", &setup->memory, 0, 0, NULL},
        {APP_WORD, "--mode", "MODE", NULL,
         "real, or timing: kernels and copies sleep as long as a model says and compute\n"
         "nothing; --devices needs a device then (real)",
         &setup->mode, 0, 0, "real|timing"},
        {APP_FLAG, "--device-only", NULL, NULL, "kernels that devices have run on devices and nowhere else",
         &setup->device_only, 0, 0, NULL},
        {APP_COUNT, "--workers", "COUNT", NULL, "processors' workers (one for each usable core)", &setup->workers, 1,
         1024, NULL},
        {APP_COUNT, "--window", "COUNT", NULL, "tasks that may be under way in a flow (THRUM_WINDOW: 8192)",
         &setup->window, 2, 1u << 30, NULL},
        {.kind = APP_TITLE, .help = "the run"},
        {APP_COUNT, "--seed", "NUMBER", "1", "of the random numbers", &setup->seed, 0, UINT64_MAX >> 1, NULL},
        {APP_COUNT, "--repeat", "COUNT", "1", "run it that many times, and tell of the median one", &setup->repeat, 1,
         1000000, NULL},
        {APP_FLAG, "--check", NULL, NULL, "check the result (it is, if nothing else is said)", &setup->check, 0, 0,
         NULL},
        {APP_FLAG, "--no-check", NULL, NULL, "do not check the result", &setup->no_check, 0, 0, NULL},
        {APP_TEXT, "--trace", "FILE", NULL, "write a trace in Chrome's format (none)", &setup->trace, 0, 0, NULL},
        {APP_TEXT, "--workload", "FILE", NULL,
         "write what the tasks of a run are, with measured times where there is a policy, for\nsimulation (none)",
         &setup->workload, 0, 0, NULL},
        {APP_FLAG, "--json", NULL, NULL, "print one JSON object", &setup->json, 0, 0, NULL},
    };
    _Static_assert(sizeof table / sizeof *table == APP_SETUP_OPTIONS, "the number in the header");
    memcpy(options, table, sizeof table);
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

/* Blanks around words do not count, as in the library. */
static bool is_cpu(const char *item, size_t length)
{
    size_t blanks = strspn(item, " \t"), word = strcspn(item + blanks, " \t:;,");
    return blanks + word <= length && word == 3 && strncmp(item + blanks, "cpu", 3) == 0;
}

static bool has_device(const char *devices)
{
    for (const char *item = devices; item && *item;) {
        size_t length = strcspn(item, ",");
        if (!is_cpu(item, length))
            return true;
        item += length + (item[length] == ',');
    }
    return false;
}

/* Whether this part of a device is key=value; with any value, if that is NULL. */
static bool is_setting(const char *part, size_t length, const char *key, const char *value)
{
    char text[64], its_key[16], its_value[16];
    snprintf(text, sizeof text, "%.*s", (int)length, part);
    if (sscanf(text, " %15[^= \t] = %15s", its_key, its_value) != 2)
        return false;
    return strcmp(its_key, key) == 0 && (!value || strcmp(its_value, value) == 0);
}

static bool is_timing(const char *devices)
{
    for (const char *part = devices; *part;) {
        size_t length = strcspn(part, ";,");
        if (is_setting(part, length, "mode", "timing"))
            return true;
        part += length + (part[length] != 0);
    }
    return false;
}

/* What an option sets on all devices; the value is NULL where the option is not there. */
struct own_setting {
    const char *key, *value;
};
enum { OWN_SETTINGS = 4 };

/* Its number, if an option sets this too; -1. */
static int find_own(const struct own_setting *own, const char *part, size_t length)
{
    for (int i = 0; i < OWN_SETTINGS; i++)
        if (own[i].value && is_setting(part, length, own[i].key, NULL))
            return i;
    return -1;
}

/* What the list says of a device itself stands, unless the list is the environment's: then options win. */
static void spell_device(FILE *out, const char *item, size_t length, const struct own_setting *own, bool own_wins)
{
    size_t size = strcspn(item, ";,");
    bool said[OWN_SETTINGS] = {false}, cpu = is_cpu(item, length);
    fwrite(item, 1, size, out);
    for (const char *part = item + size; part < item + length; part += 1 + size) {
        size = strcspn(part + 1, ";,");
        int number = cpu ? -1 : find_own(own, part + 1, size);
        if (number < 0 || !own_wins)
            fwrite(part, 1, 1 + size, out);
        if (number >= 0)
            said[number] = !own_wins;
    }
    for (int i = 0; i < OWN_SETTINGS && !cpu; i++)
        if (own[i].value && !said[i])
            fprintf(out, ";%s=%s", own[i].key, own[i].value);
}

/* Writes the list of devices, each with all of its settings. False if it is too long. */
static bool spell_devices(struct app_setup *setup, bool own_wins)
{
    const struct own_setting own[OWN_SETTINGS] = {
        {"link", setup->link}, {"latency", setup->latency}, {"memory", setup->memory}, {"mode", setup->mode}};
    FILE *out = fmemopen(setup->all_devices, sizeof setup->all_devices, "w");
    if (!out)
        return false;
    for (const char *item = setup->devices; *item;) {
        size_t length = strcspn(item, ",");
        spell_device(out, item, length, own, own_wins);
        item += length;
        if (*item)
            fputc(*item++, out);
    }
    fputc(0, out);
    return fclose(out) == 0;
}

/* ---- The executor ------------------------------------------------------------------------------------------------ */

/* What the executor would take from the environment is taken here, so that all that depends on it knows. True: the list
 * of devices is from there. */
static bool take_environment(struct app_setup *setup)
{
    bool devices = !setup->devices;
    if (devices)
        setup->devices = getenv("THRUM_DEVICES");
    if (!setup->policy)
        setup->policy = getenv("THRUM_POLICY");
    return devices;
}

int app_setup_check(const char *verb, struct app_setup *setup)
{
    bool from_environment = take_environment(setup);
    const struct {
        const char *option, *value;
    } settings[] = {{"--link", setup->link},
                    {"--latency", setup->latency},
                    {"--memory", setup->memory},
                    {"--device-only", setup->device_only ? "" : NULL},
                    {"--mode timing", setup->mode && strcmp(setup->mode, "timing") == 0 ? setup->mode : NULL}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (settings[i].value && !has_device(setup->devices))
            return tool_misuse(verb, "%s is for devices, and there are none: say --devices cpu,emu:1, for example.",
                               settings[i].option);
    if (setup->check && setup->no_check)
        return tool_misuse(verb, "--check and --no-check exclude each other.");
    const char *own = setup->policy;
    if (own && !strchr(own, '/') && strcmp(own, "steal") != 0 && !thrum_policy_find(own))
        return tool_misuse(verb, "%s.", thrum_message(NULL));
    if (setup->devices && !spell_devices(setup, from_environment))
        return tool_misuse(verb, "%s is too long.", from_environment ? "THRUM_DEVICES" : "--devices");
    setup->timing = is_timing(setup->all_devices);
    return TOOL_GO_ON;
}

thrum_executor *app_setup_open(const char *verb, const struct app_setup *setup, int *code)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = (int)setup->workers,
                                                            .policy = setup->policy,
                                                            .devices = setup->devices ? setup->all_devices : NULL,
                                                            .trace = setup->trace});
    if (!ex) /* what the options say can be wrong in ways that only the library knows */
        *code = setup->devices || setup->policy ? tool_misuse(verb, "%s.", thrum_message(NULL))
                                                : tool_fail(verb, "%s.", thrum_message(NULL));
    return ex;
}

thrum_flow *app_setup_flow(const struct app_setup *setup, thrum_executor *ex)
{
    if (setup->record)
        return thrum_flow_record(ex, setup->record);
    thrum_flow *flow = thrum_flow_new(ex);
    if (flow && setup->window && thrum_flow_set_window(flow, setup->window) != 0) {
        thrum_flow_free(flow);
        return NULL;
    }
    return flow;
}

bool app_setup_steals(const struct app_setup *setup)
{
    return !has_device(setup->devices) && (!setup->policy || strcmp(setup->policy, "steal") == 0);
}

thrum_codelet app_setup_codelet(const struct app_setup *setup, const thrum_codelet *codelet, bool on_device)
{
    thrum_codelet copy = *codelet;
    copy.model = setup->timing ? THRUM_BY_FUNCTION : THRUM_BY_HISTORY;
    if (!on_device)
        copy.emu = NULL;
    else if (setup->device_only && copy.emu)
        copy.cpu = NULL;
    return copy;
}
