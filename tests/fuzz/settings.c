/* SPDX-License-Identifier: MIT
 *
 * Texts that may be lists of devices or settings of policies: any is taken apart or refused with a sentence, what was
 * taken apart and put together again is the same, and policies open with their settings or refuse them.
 */
#include "base/device_list.h"
#include "base/fault.h"

#include <thrum/sim.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", what, thrum_message(NULL));
    abort();
}

/* ---- Devices ----------------------------------------------------------------------------------------------------- */

static void walk(const char *settings)
{
    thrum__setting setting;
    int err;
    while (thrum__setting_next(&settings, &setting, &err))
        must(setting.key[0] && setting.value[0], "an empty setting");
    must(!err, "what was a setting is none");
}

static char *put_together(const thrum__device_list *list)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    must(file != NULL, "no memory");
    for (size_t i = 0; i < list->count; i++) {
        const thrum__device_entry *e = &list->entries[i];
        fprintf(file, "%s%s", i ? "," : "", e->kind);
        if (e->counted)
            fprintf(file, ":%d", e->count);
        fprintf(file, "%s%s", *e->settings ? ";" : "", e->settings);
        walk(e->settings);
    }
    fclose(file);
    return text;
}

static void take_devices(const char *text)
{
    thrum__device_list *list, *again;
    if (thrum__device_list_parse(text, &list)) {
        must(strstr(thrum_message(NULL), "list of devices") != NULL, "no sentence");
        return;
    }
    char *one = put_together(list);
    must(thrum__device_list_parse(one, &again) == 0, "what was put together is refused");
    char *other = put_together(again);
    must(strcmp(one, other) == 0, "what was put together twice differs");
    free(one);
    free(other);
    thrum__device_list_free(list);
    thrum__device_list_free(again);
}

/* ---- Policies ---------------------------------------------------------------------------------------------------- */

static const char machine_text[] = "thrum-machine 1\ncores count=1\n"
                                   "device gpu count=1 arch=emu workers=1 bandwidth=10B/s latency=1s peer=no\n"
                                   "speed * cpu=1 gpu=1\n";
static const char workload_text[] = "thrum-workload 1\ncodelet a cpu,emu\ncodelet b cpu\ndata x 4 written\n"
                                    "task a rw=x work=1 bucket=1\ntask b r=x work=1\ntask a r=x work=1\n";

static void run_with(const char *policy, const char *settings)
{
    static thrum_machine *machine;
    static thrum_workload *workload;
    char text[4200];
    if (!machine) {
        machine = thrum_machine_parse(machine_text, sizeof machine_text - 1, NULL);
        must(machine != NULL, "the machine");
        workload = thrum_workload_parse(workload_text, sizeof workload_text - 1, NULL);
        must(workload != NULL, "the workload");
    }
    snprintf(text, sizeof text, "%s;%s", policy, settings);
    const thrum_sim sim = {.machine = machine, .workload = workload, .policy = text};
    thrum_sim_result *result = NULL;
    int err = thrum_simulate(&sim, &result);
    must(err != THRUM_EPOLICY, "a policy has lost its way");
    must(err ? *thrum_message(NULL) != 0 : result->tasks == 3, "not all tasks have run");
    thrum_sim_result_free(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const policies[] = {"steal", "dmda", "heteroprio", "laheteroprio"};
    char *text = malloc(size + 1);
    must(text != NULL, "no memory");
    memcpy(text, data, size);
    text[size] = 0;
    take_devices(text);
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        run_with(policies[i], text);
    free(text);
    return 0;
}
