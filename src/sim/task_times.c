/* SPDX-License-Identifier: MIT
 *
 * How long the tasks of a simulated run take, on each kind of workers, and who can run them at all. The numbers of a
 * task are drawn from a stream that follows from the seed and the task's number: so they do not depend on when and
 * where it runs, and policies can be compared task by task.
 */
#include "sim/task_int.h"

#include "base/device_list.h"
#include "base/fault.h"
#include "base/quantity.h"
#include "model/arch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double bytes_of(const task *t)
{
    double bytes = 0;
    for (int i = 0; i < t->shown.data_count; i++)
        bytes += (double)t->shown.data[i].bytes;
    return bytes;
}

/* Of accesses of one mode. */
static double bytes_with(const task *t, enum thrum_mode mode)
{
    double bytes = 0;
    for (int i = 0; i < t->shown.data_count; i++)
        bytes += t->shown.data[i].mode == mode ? (double)t->shown.data[i].bytes : 0;
    return bytes;
}

/* What it takes of a device's memory at once. */
static size_t room_for(const task *t)
{
    size_t bytes = 0;
    for (int i = 0; i < t->shown.data_count; i++)
        bytes += t->uses[i].repeated ? 0 : t->uses[i].data->bytes;
    return bytes;
}

/* ---- Speeds ------------------------------------------------------------------------------------------------------ */

/* The kinds of workers on which some task of the codelet does not say itself how long it takes, as bits of
 * architectures. */
static unsigned archs_to_ask(const task_run *run, int codelet)
{
    const thrum_workload *w = run->workload;
    unsigned asked = 0;
    for (int i = 0; i < w->task_count && asked != w->codelets[codelet].archs; i++)
        for (int arch = 0; arch < THRUM_ARCHS && w->tasks[i].codelet == codelet; arch++)
            asked |= w->tasks[i].seconds[arch] > 0 ? 0 : w->codelets[codelet].archs & 1u << arch;
    return asked;
}

static int check_speeds(const task_run *run)
{
    int err = 0;
    for (int i = 0; i < run->workload->codelet_count && !err; i++)
        err = thrum__machine_check_speed(run->layout.machine, run->workload->codelets[i].name, archs_to_ask(run, i));
    return err;
}

/* ---- Times ------------------------------------------------------------------------------------------------------- */

static void set_times(const task_run *run, int number, int k)
{
    const thrum__wl_task *about = &run->workload->tasks[number];
    const char *codelet = run->workload->codelets[about->codelet].name;
    const thrum_machine *machine = run->layout.machine;
    size_t at = (size_t)number * (size_t)run->kind_count + (size_t)k;
    thrum__stream stream = thrum__stream_of(run->sim->seed, (uint64_t)number);
    double known = about->seconds[run->kinds[k].arch];
    if (known > 0) {
        run->expected[at] = known;
        run->seconds[at] = known * thrum__machine_noise(machine, &stream);
        return;
    }
    const thrum__speed_row *row = thrum__machine_speed(machine, codelet, k - 1);
    const task *t = &run->tasks[number];
    const thrum__amount amount = {about->work, bytes_of(t), bytes_with(t, THRUM_MODE_R),
                                  bytes_with(t, THRUM_MODE_SCRATCH), about->count};
    run->expected[at] = thrum__machine_seconds(machine, row, &amount, k - 1);
    run->seconds[at] = thrum__machine_draw(machine, row, &amount, k - 1, &stream);
}

/* What each byte of a copy takes from whoever has asked for it, if a task of the codelet comes next. */
static double moved_seconds(const thrum_machine *machine, const char *codelet, int kind)
{
    const thrum__speed_row *row = thrum__machine_speed(machine, codelet, kind);
    const thrum__overhead *each = kind == THRUM__CORE ? &machine->core_overhead : &machine->kind_overhead[kind];
    return each->moved + (row ? row->moved : 0);
}

static void set_moved(task_run *run)
{
    for (int i = 0; i < run->workload->codelet_count; i++)
        for (int k = 0; k < run->kind_count; k++)
            run->moved[i * run->kind_count + k] =
                moved_seconds(run->layout.machine, run->workload->codelets[i].name, k - 1);
}

/* ---- Who can run it ---------------------------------------------------------------------------------------------- */

static bool has_kernel(const task_run *run, int number, const kind *k)
{
    return run->workload->codelets[run->workload->tasks[number].codelet].archs >> k->arch & 1;
}

static bool is_for(const task_run *run, const task *t, int k)
{
    return run->kinds[k].workers > 0 && has_kernel(run, (int)(t - run->tasks), &run->kinds[k]) &&
           room_for(t) <= run->kinds[k].memory && (t->pin < 0 || run->workers[t->pin].kind == k);
}

static int too_large(const task_run *run, const task *t, const kind *k)
{
    char has[THRUM__SIZE_TEXT], needs[THRUM__SIZE_TEXT];
    return thrum__fault(THRUM_EDEVICE,
                        "task '%s' needs %s of memory at once, but %s has %s, and no other worker can run it",
                        t->shown.name, thrum__size_text(room_for(t), needs),
                        run->layout.machine->kinds[k - run->kinds - 1].name, thrum__size_text(k->memory, has));
}

static int nobody_can_run(const task_run *run, const task *t)
{
    if (t->pin >= run->world.workers)
        return thrum__fault(THRUM_EINVAL,
                            "task '%s' is to run on worker %d, but the machine '%s' has those from 0 to %d",
                            t->shown.name, t->pin, run->layout.machine->name, run->world.workers - 1);
    for (int k = 1; k < run->kind_count; k++)
        if (run->kinds[k].workers > 0 && has_kernel(run, (int)(t - run->tasks), &run->kinds[k]) &&
            room_for(t) > run->kinds[k].memory && (t->pin < 0 || run->workers[t->pin].kind == k))
            return too_large(run, t, &run->kinds[k]);
    if (t->pin >= 0)
        return thrum__fault(THRUM_EINVAL,
                            "task '%s' is to run on worker %d of the machine '%s', which cannot run it: its "
                            "codelet '%s' is not for such workers",
                            t->shown.name, t->pin, run->layout.machine->name, t->shown.codelet->name);
    return thrum__fault(THRUM_EINVAL,
                        "the machine '%s' has no worker that can run task '%s': its codelet '%s' is for %s",
                        run->layout.machine->name, t->shown.name, t->shown.codelet->name,
                        t->shown.codelet->cpu   ? "cores"
                        : t->shown.codelet->emu ? "devices"
                                                : "nobody");
}

static int set_task(task_run *run, int number)
{
    task *t = &run->tasks[number];
    for (int k = 0; k < run->kind_count; k++) {
        size_t at = (size_t)number * (size_t)run->kind_count + (size_t)k;
        run->expected[at] = run->seconds[at] = INFINITY;
        if (t->pin >= run->world.workers || !is_for(run, t, k))
            continue;
        t->kinds |= UINT64_C(1) << k;
        set_times(run, number, k);
    }
    return t->kinds ? 0 : nobody_can_run(run, t);
}

/* ---- Settings that concern it ------------------------------------------------------------------------------------ */

static bool is_in_bucket(const task_run *run, const thrum__wl_task *about, const char *bucket)
{
    char number[16];
    if (about->bucket < 0)
        return strcmp(run->workload->codelets[about->codelet].name, bucket) == 0;
    snprintf(number, sizeof number, "%d", about->bucket);
    return strcmp(number, bucket) == 0;
}

static int check_bucket(const task_run *run, const char *bucket, const char *arch_name)
{
    int arch = thrum__arch_named(arch_name);
    for (int i = 0; arch >= 0 && i < run->workload->task_count; i++) {
        const thrum__wl_task *about = &run->workload->tasks[i];
        const thrum__wl_codelet *codelet = &run->workload->codelets[about->codelet];
        if (!(codelet->archs >> arch & 1) && is_in_bucket(run, about, bucket))
            return thrum__fault(THRUM_EOPTION,
                                "'fastest.%s=%s', but codelet '%s' of that bucket is not for %s: an architecture that "
                                "cannot run a bucket cannot be its fastest",
                                bucket, arch_name, codelet->name, arch_name);
    }
    return 0;
}

int thrum__sim_check_buckets(const task_run *run)
{
    static const char key[] = "fastest.";
    const char *rest = run->world.settings;
    thrum__setting setting;
    int err = 0;
    if (strcmp(run->policy->name, "heteroprio") != 0 && strcmp(run->policy->name, "laheteroprio") != 0)
        return 0;
    while (!err && thrum__setting_next(&rest, &setting, &err))
        if (strncmp(setting.key, key, sizeof key - 1) == 0)
            err = check_bucket(run, setting.key + sizeof key - 1, setting.value);
    return err;
}

int thrum__sim_times(task_run *run)
{
    int err = check_speeds(run);
    set_moved(run);
    for (int i = 0; i < run->workload->task_count && !err; i++)
        err = set_task(run, i);
    return err;
}
