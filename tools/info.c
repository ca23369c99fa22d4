/* SPDX-License-Identifier: MIT
 *
 * thrum info: what thrum knows of the machine, and all its options.
 */
#include "commands.h"
#include "common.h"
#include "describe.h"
#include "models.h"

#include <thrum/policy.h>
#include <thrum/thrum.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char help[] = "usage: thrum info [--models] [--json]\n\n"
                           "Prints the version, the processors that thrum may use and how the number of workers\n"
                           "follows from them, optional programs, the policies, every option with its value, its\n"
                           "default, its range and what it is for, and the settings of policies and devices.\n"
                           "Options are variables of the environment; devices and their settings go into\n"
                           "THRUM_DEVICES, a policy and its settings into THRUM_POLICY.\n\n"
                           "A variable that begins with THRUM_ and is unknown or has a bad value is reported\n"
                           "behind the table, and the exit code is 1.\n\n"
                           "options:\n"
                           "  --models  instead of all that, how long codelets have been measured to take\n"
                           "  --json    one JSON object instead of a table\n"
                           "  --help    this text\n";

static const char *text_or(const char *text, const char *otherwise)
{
    return text && *text ? text : otherwise;
}

/* ---- For people -------------------------------------------------------------------------------------------------- */

static void print_machine(const thrum_machine_info *machine)
{
    char text[DESCRIBE_SIZE];
    printf("thrum        %s\n", thrum_version());
    printf("processors   %d in the machine, %d by affinity, %d cores among the usable\n", machine->machine_cpus,
           machine->affinity_cpus, machine->cores);
    printf("quota        %s\n", describe_quota(machine, text));
    printf("Slurm        %s\n", describe_slurm(machine, text));
    printf("NUMA nodes   %d\n", machine->numa_nodes);
    printf("workers      %s\n", describe_workers(machine, text));
    printf("binding      %s\n", describe_binding(machine, text));
    printf("membarrier   %s\n", describe_membarrier(machine));
    printf("trace        %s\n", describe_trace(text));
    printf("Graphviz     %s\n", describe_graphviz(text));
    printf("gnuplot      %s\n", describe_gnuplot(text));
    printf("SimGrid      %s\n", describe_simgrid());
}

static void widen(int *width, const char *text)
{
    int length = (int)strlen(text_or(text, "-"));
    if (length > *width)
        *width = length;
}

static void print_policies(void)
{
    const thrum_policy *policy;
    int name = 6;
    for (int i = 0; (policy = thrum_policy_at(i)); i++)
        widen(&name, policy->name);
    printf("\n  %-*s  what it does\n", name, "policy");
    printf("  %-*s  %s\n", name, "steal", "built-in stealing; with devices dmda is used instead");
    for (int i = 0; (policy = thrum_policy_at(i)); i++)
        printf("  %-*s  %s\n", name, policy->name, text_or(policy->about, ""));
}

/* Two lines for each: what it is, and what it could be. */
static void print_option(const thrum_option *option, int name, int value)
{
    printf("%c %-*s  %-*s  %s\n", option->from_environment ? '*' : ' ', name, option->name, value,
           text_or(option->value, "-"), text_or(option->help, ""));
    printf("  %-*s  %-*s  %s (default: %s)\n", name, "", value, "", text_or(option->range, "-"),
           text_or(option->initial, "none"));
}

static void print_options(void)
{
    thrum_option option;
    int name = 6, value = 5;
    for (size_t i = 0; thrum_option_get(i, &option) == 0; i++) {
        widen(&name, option.name);
        widen(&value, option.value);
    }
    printf("\n  %-*s  %-*s  %s\n", name, "option", value, "value", "what for, and what it can be");
    for (size_t i = 0; thrum_option_get(i, &option) == 0; i++)
        print_option(&option, name, value);
    printf("\nA star: set in the environment.\n");
}

static void print_settings(const thrum_setting *settings)
{
    int key = 7, initial = 7, range = 5;
    for (const thrum_setting *s = settings; s->key; s++) {
        widen(&key, s->key);
        widen(&initial, s->initial);
        widen(&range, s->range);
    }
    printf("  %-*s  %-*s  %-*s  %s\n", key, "setting", initial, "default", range, "range", "what for");
    for (const thrum_setting *s = settings; s->key; s++)
        printf("  %-*s  %-*s  %-*s  %s\n", key, s->key, initial, text_or(s->initial, "-"), range,
               text_or(s->range, "-"), s->help);
}

static void print_driver(const thrum_driver *driver)
{
    printf("\nDevices \"%s\": %s\n", driver->kind, driver->help);
    print_settings(driver->settings);
}

static void print_policy_settings(void)
{
    const thrum_policy *policy;
    for (int i = 0; (policy = thrum_policy_at(i)); i++)
        if (policy->settings) {
            printf("\nPolicy \"%s\": %s\n", policy->name, text_or(policy->about, ""));
            print_settings(policy->settings);
        }
}

static void print_drivers(void)
{
    const thrum_driver *driver;
    for (int i = 0; (driver = thrum_driver_at(i)); i++)
        print_driver(driver);
}

/* ---- For programs ------------------------------------------------------------------------------------------------ */

/* Values come from the environment and may be any bytes; JSON takes UTF-8 alone. */
static json_t *json_text(const char *text)
{
    json_t *string = text ? json_string(text) : NULL;
    return string ? string : json_null();
}

static json_t *machine_json(const thrum_machine_info *machine)
{
    return json_pack("{s:i, s:i, s:i, s:f, s:i, s:i, s:i, s:i, s:s, s:b}", "machine_cpus", machine->machine_cpus,
                     "affinity_cpus", machine->affinity_cpus, "quota_cpus", machine->quota_cpus, "quota",
                     machine->quota, "slurm_cpus", machine->slurm_cpus, "numa_nodes", machine->numa_nodes, "cores",
                     machine->cores, "usable", machine->usable, "decided_by", text_or(machine->decided_by, ""),
                     "membarrier", machine->membarrier);
}

static json_t *options_json(void)
{
    json_t *list = json_array();
    thrum_option option;
    for (size_t i = 0; thrum_option_get(i, &option) == 0; i++)
        json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o, s:o, s:b}", "name", option.name, "value",
                                              json_text(option.value), "default", json_text(option.initial), "range",
                                              json_text(option.range), "help", json_text(option.help),
                                              "from_environment", option.from_environment));
    return list;
}

static json_t *settings_json(const thrum_setting *settings)
{
    json_t *list = json_array();
    for (const thrum_setting *s = settings; s && s->key; s++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "key", s->key, "default", s->initial, "range",
                                              s->range, "help", s->help));
    return list;
}

static json_t *policies_json(void)
{
    json_t *list = json_array();
    const thrum_policy *policy;
    for (int i = 0; (policy = thrum_policy_at(i)); i++)
        json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "name", policy->name, "about",
                                              json_text(policy->about), "settings", settings_json(policy->settings)));
    return list;
}

static json_t *drivers_json(void)
{
    json_t *list = json_array();
    const thrum_driver *driver;
    for (int i = 0; (driver = thrum_driver_at(i)); i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "kind", driver->kind, "help", driver->help, "settings",
                                              settings_json(driver->settings)));
    return list;
}

static void print_json(const thrum_machine_info *machine, const char *problem)
{
    char text[DESCRIBE_SIZE], dot[4096], gnuplot[4096];
    bool has_dot = tool_find_program("dot", dot, sizeof dot);
    bool has_gnuplot = tool_find_program("gnuplot", gnuplot, sizeof gnuplot);
    json_t *object =
        json_pack("{s:s, s:o, s:o, s:o, s:{s:o, s:o}, s:{s:b}, s:o, s:o, s:o, s:o}", "version", thrum_version(),
                  "machine", machine_json(machine), "workers", json_text(describe_workers(machine, text)), "binding",
                  json_text(describe_binding(machine, text)), "programs", "dot", json_text(has_dot ? dot : NULL),
                  "gnuplot", json_text(has_gnuplot ? gnuplot : NULL), "engines", "simgrid",
                  thrum_sim_engine_check(THRUM_ENGINE_SIMGRID) == 0, "policies", policies_json(), "options",
                  options_json(), "devices", drivers_json(), "problem", json_text(problem));
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(object);
}

static int inform(bool json)
{
    char problem[512] = "";
    thrum_machine_info machine = {0};
    bool known = thrum_machine_get(&machine) == 0;
    if (!known)
        snprintf(problem, sizeof problem, "%s", thrum_message(NULL));
    else if (thrum_options_check() != 0)
        snprintf(problem, sizeof problem, "%s", thrum_message(NULL));
    if (json) {
        print_json(&machine, *problem ? problem : NULL);
    } else {
        if (known)
            print_machine(&machine);
        print_policies();
        print_options();
        print_policy_settings();
        print_drivers();
    }
    return *problem ? tool_fail("info", "%s", problem) : TOOL_DONE;
}

int thrum_cmd_info(int argc, char **argv)
{
    bool json = false, models = false;
    const struct tool_option options[] = {{"--json", NULL, &json, NULL}, {"--models", NULL, &models, NULL}};
    const char **words = calloc((size_t)argc + 1, sizeof *words);
    if (!words)
        return tool_fail("info", "no memory");
    struct tool_arguments arguments = {"info", help, options, 2, words, 0};
    int code = tool_parse(&arguments, argc, argv);
    if (code == TOOL_GO_ON)
        code = arguments.word_count ? tool_misuse("info", "'%s' is too much: info takes no words.", words[0])
               : models             ? models_print(json)
                                    : inform(json);
    free(words);
    return code;
}
