/* SPDX-License-Identifier: MIT */
#include "setup.h"

#include "tools/common.h"

#include <string.h>

void app_setup_options(struct app_setup *setup, struct app_option options[APP_SETUP_OPTIONS])
{
    const struct app_option table[] = {
        {.kind = APP_TITLE, .help = "the machine"},
        {APP_TEXT, "--policy", "NAME", NULL,
         "who runs which task: a policy that `thrum info` lists, a library with one (a path\n"
         "with '/'), or steal (steal; dmda where there are devices)",
         &setup->policy, 0, 0, NULL},
        {APP_TEXT, "--devices", "LIST", NULL,
         "processors and devices, such as cpu,emu:3 or 'cpu:2,emu:1;memory=64MiB' (cpu)", &setup->devices, 0, 0, NULL},
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

static bool is_cpu(const char *item, size_t length)
{
    return strncmp(item, "cpu", 3) == 0 && (length == 3 || item[3] == ':' || item[3] == ';');
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

/* Whether "link=", say, is among the settings of the device that begins at `item`. */
static bool says(const char *item, size_t length, const char *key)
{
    size_t size = strlen(key);
    for (const char *at = memchr(item, ';', length); at; at = memchr(at, ';', length - (size_t)(at - item))) {
        at++;
        if ((size_t)(item + length - at) > size && strncmp(at, key, size) == 0 && at[size] == '=')
            return true;
    }
    return false;
}

/* Writes the list of devices, each with the settings that it does not say itself. False if it is too long. */
static bool spell_devices(struct app_setup *setup)
{
    const struct {
        const char *key, *value;
    } settings[] = {
        {"link", setup->link}, {"latency", setup->latency}, {"memory", setup->memory}, {"mode", setup->mode}};
    FILE *out = fmemopen(setup->all_devices, sizeof setup->all_devices, "w");
    if (!out)
        return false;
    for (const char *item = setup->devices; *item;) {
        size_t length = strcspn(item, ",");
        fwrite(item, 1, length, out);
        for (size_t i = 0; i < 4 && !is_cpu(item, length); i++)
            if (settings[i].value && !says(item, length, settings[i].key))
                fprintf(out, ";%s=%s", settings[i].key, settings[i].value);
        item += length;
        if (*item)
            fputc(*item++, out);
    }
    fputc(0, out);
    return fclose(out) == 0;
}

/* ---- The executor ------------------------------------------------------------------------------------------------ */

int app_setup_check(const char *verb, struct app_setup *setup)
{
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
    if (setup->devices && !spell_devices(setup))
        return tool_misuse(verb, "--devices is too long.");
    setup->timing = strstr(setup->all_devices, "mode=timing") != NULL;
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
