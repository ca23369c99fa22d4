/* SPDX-License-Identifier: MIT
 *
 * thrum sim --calibrate: a description of the machine that it runs on, from what is measured with one tile size, 128.
 * No application is run with another one.
 *
 * Kernels are called alone, on the whole tile and on blocks of it (apps/common/probe.h), and what came out is fitted by
 * a formula (sim_fit.h). What that says of larger tiles is extrapolated: for that, work and bytes must be told apart,
 * so some blocks are long and narrow. The kernels of QR have one rate each, from a run of the application.
 *
 * What a task costs besides its kernel is measured with flows of tasks that do next to nothing (sim_flow.h), with few
 * accesses and with many. In timing mode kernels take what the machine `timing` says: only these costs are looked for.
 *
 * Last, Cholesky and life run as a whole, with that tile, on one worker of each kind, on all cores, and on a core and a
 * device (sim_anchor.h). What a core does there outside of kernels says how much more tasks cost in a run, where
 * nothing of what the runtime needs is in a near cache. The description is simulated doing the same as the runs, and
 * what bytes take that kernels touch, their crowding on cores, and what copies and a device's new memory take are
 * changed until both take equally long. So caches are what they are in a run. An emulated device's kernels are the
 * processor's own, as fast, and crowd others as much.
 *
 * All of that is measured several times, and the least counts: others on the same host make things longer, for seconds
 * or for a minute, and never shorter.
 *
 * Kernels and applications run in processes of their own (this program as `thrum cholesky`, ...).
 */
#define _GNU_SOURCE

#include "common.h"
#include "sim.h"
#include "sim_anchor.h"
#include "sim_calibrate.h"
#include "sim_fit.h"
#include "sim_flow.h"

#include <thrum/thrum.h>

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHAPES = 160, QR_TILES = 8 };
enum {
    SWEEPS = 6,
    TIMING_SWEEPS = 15,
    QUICK_SWEEPS = 1
};                 /* through all that is measured; in timing mode that is little */
enum { RUNS = 3 }; /* of each flow */
enum kind { CPU, EMU, KINDS };
enum { FEW = 3, MANY = 34, LAYERS = 3 }; /* accesses: of Cholesky's tasks, of life's; layers of life's scratch memory */

/* What was measured of a whole run: the time of its best pass, and, if one worker did all, what a task took outside of
 * kernels in the median one. */
struct anchor_run {
    double seconds, other;
};

enum anchor_number {
    CHOLESKY_CORE,
    LIFE_CORE,
    CHOLESKY_CORES,
    LIFE_CORES,
    CHOLESKY_BOTH,
    LIFE_BOTH,
    LIFE_DEVICE,
    ANCHORS
};

struct measured {
    int tile, cores;
    bool quick, timing;
    struct sim_shape shapes[SHAPES];
    int count;
    double fresh, scratch, copy;  /* of a device's memory, for each byte; of whoever asks for a copy */
    double word_copy, block_copy; /* how long a copy takes: of a few bytes, of a block of life */
    /* From whole runs, by application: what each byte of a kernel's data takes longer than it did alone, where it was
     * in a cache; or else how many times as long kernels take; by how much each other worker makes that longer; and
     * what each byte of copies takes from workers. */
    double cold[ANCHOR_APPS], slow[ANCHOR_APPS], crowd[ANCHOR_APPS], moved[ANCHOR_APPS];
    /* Of a task beside its kernel: on one core, on all, on an emulated device. */
    struct flow_costs few, many, few_device, many_device, with_scratch, beside_one, beside_two;
    struct anchor_run runs[ANCHORS];
};

/* The least so far; 0: there was none. */
static double lesser(double before, double now)
{
    return before > 0 && before < now ? before : now;
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

enum { WORDS = ANCHOR_WORDS };

/* In the child. */
_Noreturn static void become(const char *folder, int output, char *const words[WORDS])
{
    setenv("THRUM_MODELS", folder, 1);
    if (dup2(output, STDOUT_FILENO) >= 0)
        execv("/proc/self/exe", words);
    _exit(127);
}

/* This program with other words: the JSON object that it prints. NULL after a sentence. */
static json_t *run_self(const char *folder, char *const words[WORDS])
{
    int ends[2], status = -1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return tool_fail(SIM, "no pipe to 'thrum %s'.", words[1]), NULL;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become(folder, ends[1], words);
    close(ends[1]);
    json_t *object = child < 0 ? NULL : json_loadfd(ends[0], 0, NULL);
    close(ends[0]);
    if (child > 0)
        waitpid(child, &status, 0);
    if (object && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return object;
    json_decref(object);
    return tool_fail(SIM, "'thrum %s' failed, by which this machine was to be measured.", words[1]), NULL;
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

static bool take_kernel(struct measured *m, const json_t *row)
{
    const char *codelet = json_string_value(json_object_get(row, "codelet"));
    if (!codelet || m->count == SHAPES)
        return false;
    struct sim_shape *shape = &m->shapes[m->count++];
    snprintf(shape->codelet, sizeof shape->codelet, "%s", codelet);
    shape->work = json_number_value(json_object_get(row, "work"));
    shape->bytes = json_number_value(json_object_get(row, "bytes"));
    shape->read = json_number_value(json_object_get(row, "read"));
    shape->seconds = lesser(shape->seconds, json_number_value(json_object_get(row, "seconds")));
    return shape->work > 0 && shape->seconds > 0;
}

static char *number_word(char text[16], int number)
{
    snprintf(text, 16, "%d", number);
    return text;
}

/* False after a sentence. */
static bool run_kernels(struct measured *m, const char *folder, const char *verb, const char *tile_option)
{
    const char how[] = "quick";
    char tile[16];
    char *words[WORDS] = {(char *)"thrum",     (char *)(size_t)verb,        (char *)"--kernels",
                          (char *)(size_t)how, (char *)(size_t)tile_option, number_word(tile, m->tile)};
    json_t *object = run_self(folder, words), *row;
    const json_t *rows = json_object_get(object, "kernels");
    bool good = rows != NULL;
    size_t i;
    json_array_foreach(rows, i, row) good = good && take_kernel(m, row);
    if (object && !good)
        tool_fail(SIM, "'thrum %s --kernels %s' said nothing that could be used.", verb, how);
    json_decref(object);
    return good;
}

/* ---- QR ---------------------------------------------------------------------------------------------------------- */

/* Of several rows that one with the most bytes: whole tiles. */
static double mean_of(const json_t *rows, const char *codelet)
{
    double most = 0, seconds = 0;
    size_t number;
    const json_t *row;
    json_array_foreach(rows, number, row)
    {
        const char *of = json_string_value(json_object_get(row, "codelet"));
        double bytes = json_number_value(json_object_get(row, "bytes"));
        if (!of || strcmp(of, codelet) != 0 || bytes < most)
            continue;
        most = bytes;
        seconds = json_number_value(json_object_get(row, "mean"));
    }
    return seconds;
}

static void take_qr(struct measured *m, const json_t *rows)
{
    const double cube = (double)m->tile * m->tile * m->tile;
    const struct {
        const char *codelet;
        double work;
    } kernels[] = {{"qr-geqrt", 4 * cube / 3}, {"qr-unmqr", 2 * cube}, {"qr-tsqrt", 2 * cube}, {"qr-tsmqr", 4 * cube}};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels && m->count < SHAPES; i++) {
        struct sim_shape *shape = &m->shapes[m->count];
        snprintf(shape->codelet, sizeof shape->codelet, "%s", kernels[i].codelet);
        shape->work = kernels[i].work;
        shape->seconds = lesser(shape->seconds, mean_of(rows, kernels[i].codelet));
        m->count += shape->seconds > 0;
    }
}

static bool run_qr(struct measured *m, const char *folder)
{
    char n[16], tile[16];
    char *words[WORDS] = {(char *)"thrum",     (char *)"qr",
                          (char *)"--json",    (char *)"--no-check",
                          (char *)"--policy",  (char *)"prio",
                          (char *)"--workers", (char *)"1",
                          (char *)"--repeat",  (char *)"1",
                          (char *)"--n",       number_word(n, QR_TILES * m->tile),
                          (char *)"--tile",    number_word(tile, m->tile)};
    char *info[WORDS] = {(char *)"thrum", (char *)"info", (char *)"--models", (char *)"--json"};
    json_t *ran = run_self(folder, words), *models = ran ? run_self(folder, info) : NULL;
    if (models)
        take_qr(m, json_object_get(models, "models"));
    bool good = models != NULL;
    json_decref(ran);
    json_decref(models);
    return good;
}

static const char *const codelets[] = {"cholesky-potrf", "cholesky-trsm", "cholesky-syrk", "cholesky-gemm", "qr-geqrt",
                                       "qr-unmqr",       "qr-tsqrt",      "qr-tsmqr",      "life-step"};

static int apply(thrum_machine *machine, const char *format, ...) TOOL_PRINTF(2, 3);
static int apply(thrum_machine *machine, const char *format, ...)
{
    char line[512];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    return thrum_machine_apply(machine, line, "what was measured");
}

/* ---- What thrum takes -------------------------------------------------------------------------------------------- */

static bool measure_flow(const struct flow_case *it, struct flow_costs *costs)
{
    struct flow_costs now = {0};
    if (!sim_flow_measure(it, RUNS, &now)) {
        tool_fail(SIM, "%s.", thrum_message(NULL));
        return false;
    }
    costs->insert = lesser(costs->insert, now.insert);
    costs->other = lesser(costs->other, now.other);
    costs->copy = lesser(costs->copy, now.copy);
    return true;
}

static size_t block_bytes(const struct measured *m)
{
    return (size_t)m->tile * (size_t)m->tile * (size_t)m->tile;
}

enum { WORD = 64 };
static const char device[] = "cpu:1,emu:1";

static size_t scratch_bytes(const struct measured *m)
{
    return (size_t)(m->tile + 2) * (size_t)(m->tile + 2) * LAYERS;
}

static bool run_flows(struct measured *m)
{
    const size_t tile = (size_t)m->tile * (size_t)m->tile * sizeof(double);
    m->fresh = lesser(m->fresh, sim_fresh_measure(tile));
    m->copy = lesser(m->copy, sim_copy_measure());
    m->word_copy = lesser(m->word_copy, sim_link_measure(WORD));
    m->block_copy = lesser(m->block_copy, sim_link_measure(block_bytes(m)));
    return measure_flow(&(struct flow_case){NULL, 1, false, false, FEW, WORD, 0, 0}, &m->few) &&
           measure_flow(&(struct flow_case){NULL, 1, false, false, MANY, WORD, 0, 0}, &m->many) &&
           measure_flow(&(struct flow_case){device, 1, true, false, FEW, WORD, 0, 0}, &m->few_device) &&
           measure_flow(&(struct flow_case){device, 1, true, false, MANY, WORD, 0, 0}, &m->many_device) &&
           measure_flow(&(struct flow_case){device, 1, true, false, FEW, WORD, scratch_bytes(m), 0}, &m->with_scratch);
}

/* In timing mode kernels pretend to take as long as one of a small tile does. */
static const double pretended = 20e-6;

/* A device and one core or two at work beside each other, each with data of its own. Few accesses: with many, what is
 * measured is how fast tasks can be inserted for so many workers. */
static bool run_crowded_flows(struct measured *m)
{
    static const char one[] = "cpu:1,emu:1;mode=timing", two[] = "cpu:2,emu:1;mode=timing";
    return measure_flow(&(struct flow_case){one, 2, false, true, FEW, WORD, 0, pretended}, &m->beside_one) &&
           measure_flow(&(struct flow_case){two, 3, false, true, FEW, WORD, 0, pretended}, &m->beside_two);
}

static bool run_timing_flows(struct measured *m)
{
    static const char devices[] = "cpu:1,emu:1;mode=timing";
    m->copy = sim_copy_measure();
    return measure_flow(&(struct flow_case){devices, 1, false, false, FEW, WORD, 0, pretended}, &m->few) &&
           measure_flow(&(struct flow_case){devices, 1, false, false, MANY, WORD, 0, pretended}, &m->many) &&
           measure_flow(&(struct flow_case){devices, 1, true, false, FEW, WORD, 0, pretended}, &m->few_device) &&
           measure_flow(&(struct flow_case){devices, 1, true, false, MANY, WORD, 0, pretended}, &m->many_device) &&
           run_crowded_flows(m);
}

/* A number of each sweep, by where it is in a struct measured. */
static double middle_at(const struct measured *sweeps, int count, size_t offset)
{
    double numbers[TIMING_SWEEPS];
    for (int i = 0; i < count; i++)
        memcpy(&numbers[i], (const char *)&sweeps[i] + offset, sizeof numbers[i]);
    return sim_flow_median(numbers, count);
}

/* Nothing is computed there, and what is measured are wake-ups, some of which are late and some early: so it is not the
 * least that counts. A sweep takes a second, in which anything may come between. */
static bool measure_timing(struct measured *m)
{
    static const size_t costs[] = {offsetof(struct measured, few),        offsetof(struct measured, many),
                                   offsetof(struct measured, few_device), offsetof(struct measured, many_device),
                                   offsetof(struct measured, beside_one), offsetof(struct measured, beside_two)};
    struct measured *sweeps = calloc(TIMING_SWEEPS, sizeof *sweeps);
    int count = m->quick ? QUICK_SWEEPS : TIMING_SWEEPS, done = 0;
    if (!sweeps)
        tool_fail(SIM, "no memory to measure this machine.");
    while (sweeps && done < count && run_timing_flows(&sweeps[done]))
        done++;
    for (size_t i = 0; done == count && i < sizeof costs / sizeof *costs; i++) {
        struct flow_costs *to = (struct flow_costs *)((char *)m + costs[i]);
        to->insert = middle_at(sweeps, count, costs[i] + offsetof(struct flow_costs, insert));
        to->other = middle_at(sweeps, count, costs[i] + offsetof(struct flow_costs, other));
        to->copy = middle_at(sweeps, count, costs[i] + offsetof(struct flow_costs, copy));
    }
    if (done == count)
        m->copy = middle_at(sweeps, count, offsetof(struct measured, copy));
    free(sweeps);
    return done == count;
}

/* What grows with accesses, and what does not. */
static void split(double few, double many, double *task, double *access)
{
    *access = fmax(0, (many - few) / (MANY - FEW));
    *task = fmax(0, few - FEW * *access);
}

/* By how much a task is longer beside the others, of which all but one are cores. */
static double slowdown(const struct measured *m, const struct flow_costs *beside, int others)
{
    double alone = (others * m->few.other + m->few_device.other) / (others + 1);
    return alone > 0 ? beside->other / alone - 1 : 0;
}

/* For each other worker: the line through nothing that is nearest to what was measured beside one and beside two. In
 * timing mode alone: where kernels compute there is none to be seen. */
static double crowding_of_tasks(const struct measured *m)
{
    return m->timing ? fmax(0, (slowdown(m, &m->beside_one, 1) + 2 * slowdown(m, &m->beside_two, 2)) / 5) : 0;
}

static int apply_overhead(thrum_machine *machine, const struct measured *m, const char *kind, double few, double many)
{
    double task, access;
    split(few, many, &task, &access);
    return apply(machine, "overhead %s=%.0fns access.%s=%.0fns crowd.%s=%.3g", kind, task * 1e9, kind, access * 1e9,
                 kind, crowding_of_tasks(m));
}

/* The window is that of flows if nothing else is said (THRUM_WINDOW). */
static int apply_costs(thrum_machine *machine, const struct measured *m)
{
    double task, access;
    split(m->few.insert, m->many.insert, &task, &access);
    int err = apply(machine, "insert task=%.0fns access=%.0fns window=8192", task * 1e9, access * 1e9);
    if (!err && m->timing)
        err = apply(machine, "device emu latency=%.0fns", fmax(5e-6, m->few_device.copy) * 1e9);
    if (!err)
        err = apply_overhead(machine, m, "cpu", m->few.other, m->many.other);
    if (!err)
        err = apply_overhead(machine, m, "emu", m->few_device.other, m->many_device.other);
    return err ? err
               : apply(machine, "overhead copy.cpu=%.0fns copy.emu=%.0fns", fmax(0, m->copy) * 1e9,
                       fmax(0, m->copy) * 1e9);
}

/* ---- The description --------------------------------------------------------------------------------------------- */

static const char *const kind_names[KINDS] = {"cpu", "emu"};

/* Whose codelet it is; ANCHOR_APPS: another's. */
static enum anchor_app app_of(const char *codelet)
{
    int app = 0;
    while (app < ANCHOR_APPS && strncmp(codelet, sim_anchor_verb(app), strlen(sim_anchor_verb(app))) != 0)
        app++;
    return app;
}

static int apply_speed(thrum_machine *machine, const struct measured *m, const char *codelet, const struct sim_fit *f,
                       enum kind k)
{
    const char *kind = kind_names[k];
    enum anchor_app app = app_of(codelet);
    bool known = app < ANCHOR_APPS;
    double slow = known ? m->slow[app] : 1, crowd = known ? m->crowd[app] : 0, cold = known ? m->cold[app] : 0;
    double moved = known ? m->moved[app] : 0;
    char small[80] = "";
    if (f->small_rate > 0)
        snprintf(small, sizeof small, "small.%s=%.5g:%.3g:%.4fns", kind, f->small_rate / slow, f->small_work,
                 (f->small_per_byte * slow + cold) * 1e9);
    return apply(
        machine,
        "speed %s %s=%.5g %s fixed.%s=%.0fns per-byte.%s=%.4fns per-read.%s=%.4fns crowd.%s=%.3g moved.%s=%.4fns",
        codelet, kind, f->rate / slow, small, kind, f->fixed * slow * 1e9, kind, (f->per_byte * slow + cold) * 1e9,
        kind, f->per_read * slow * 1e9, kind, crowd, kind, moved * 1e9);
}

static int apply_speeds(thrum_machine *machine, const struct measured *m)
{
    struct sim_fit f;
    int err = 0;
    for (size_t i = 0; i < sizeof codelets / sizeof *codelets && !err; i++) {
        if (!sim_fit(m->shapes, m->count, codelets[i], &f))
            continue;
        err = apply_speed(machine, m, codelets[i], &f, CPU);
        if (!err)
            err = apply_speed(machine, m, codelets[i], &f, EMU);
    }
    return err;
}

/* The device's link as it is seen by small copies and by large ones: its thread has to be woken, and copying itself may
 * take longer than the link that is emulated. */
static const double link_latency = 5e-6, link_bandwidth = 8e9;

static double seconds_per_byte(const struct measured *m)
{
    double bytes = (double)block_bytes(m), least = fmax(link_latency, m->word_copy);
    return fmax(1 / link_bandwidth, (m->block_copy - least) / bytes);
}

static int apply_link(thrum_machine *machine, const struct measured *m)
{
    return apply(machine, "device emu count=0 memory=1GiB bandwidth=%.4gGB/s latency=%.0fns",
                 1e-9 / seconds_per_byte(m), fmax(link_latency, m->word_copy) * 1e9);
}

static int describe_real(thrum_machine *machine, const struct measured *m)
{
    int err = apply(machine, "about this machine, as thrum sim --calibrate has measured it with tiles of %d", m->tile);
    if (!err)
        err = apply(machine, "cores count=%d", m->cores);
    if (!err)
        err = apply_link(machine, m);
    if (!err)
        err = apply_speeds(machine, m);
    if (!err)
        err = apply_costs(machine, m);
    if (!err)
        err = apply(machine, "overhead scratch.emu=%.5fns fresh.emu=%.5fns", m->scratch * 1e9, fmax(0, m->fresh) * 1e9);
    return err;
}

/* Takes the machine. */
static int write_and_free(thrum_machine *machine, int err, const char *path)
{
    if (!err)
        err = thrum_machine_write(machine, path);
    thrum_machine_free(machine);
    return err ? tool_fail(SIM, "%s.", thrum_message(NULL)) : TOOL_GO_ON;
}

static thrum_machine *machine_to_begin_with(bool timing)
{
    static const char empty[] = "thrum-machine 1\n";
    return timing ? thrum_machine_open("timing") : thrum_machine_parse(empty, sizeof empty - 1, NULL);
}

/* NULL after an error. */
static thrum_machine *describe(const struct measured *m)
{
    thrum_machine *machine = machine_to_begin_with(m->timing);
    int err = machine ? apply(machine, "name %s", m->timing ? "timing" : "this") : THRUM_ENOMEM;
    if (!err)
        err = m->timing ? apply_costs(machine, m) : describe_real(machine, m);
    if (!err)
        return machine;
    thrum_machine_free(machine);
    return NULL;
}

static int finish(const struct measured *m, const char *path)
{
    thrum_machine *machine = describe(m);
    int code = write_and_free(machine, machine ? 0 : THRUM_ENOMEM, path);
    return code == TOOL_GO_ON ? TOOL_DONE : code;
}

/* ---- Whole runs -------------------------------------------------------------------------------------------------- */

/* Others on the same host, whom no counter here shows, make passes longer, by half for some seconds; none is shorter
 * than it should be. */
static struct anchor_run read_run(const json_t *object)
{
    const json_t *best = json_array_get(json_object_get(object, "samples"), 0); /* they are sorted */
    struct anchor_run run = {json_number_value(best), 0};
    double busy = 0, median = json_number_value(json_object_get(object, "seconds"));
    size_t i;
    const json_t *worker;
    json_array_foreach(json_object_get(object, "workers"), i, worker) busy +=
        json_number_value(json_object_get(worker, "busy"));
    double tasks = json_number_value(json_object_get(object, "tasks"));
    run.other = tasks > 0 ? (median - busy) / tasks : 0;
    return run;
}

/* Without seconds after a sentence. */
static struct anchor_run run_anchor(const struct anchor *a, const char *folder)
{
    char *words[ANCHOR_WORDS], numbers[4][16];
    sim_anchor_words(a, words, numbers);
    json_t *object = run_self(folder, words);
    struct anchor_run run = object ? read_run(object) : (struct anchor_run){0, 0};
    json_decref(object);
    return run;
}

static double simulate_anchor(const struct measured *m, const struct anchor *a)
{
    thrum_machine *machine = describe(m);
    double seconds = machine ? sim_anchor_simulate(a, machine) : -1;
    thrum_machine_free(machine);
    if (seconds < 0)
        tool_fail(SIM, "%s.", thrum_message(NULL));
    return seconds;
}

/* Finds the number, not below 0, with which the simulation takes as long as the run did. It grows with it, nearly in
 * line. */
static bool solve_anchor(const struct measured *m, const struct anchor *a, double seconds, double *number, double step)
{
    for (int i = 0; i < 4; i++) {
        double here = simulate_anchor(m, a), before = *number;
        *number += step;
        double there = simulate_anchor(m, a);
        *number = before;
        if (here < 0 || there < 0)
            return false;
        if (there > here)
            *number = fmax(0, before + step * (seconds - here) / (there - here));
    }
    return true;
}

static struct anchor anchor_of(const struct measured *m, enum anchor_number number)
{
    static const struct {
        enum anchor_app app;
        enum anchor_where where;
    } anchors[] = {[CHOLESKY_CORE] = {ANCHOR_CHOLESKY, ANCHOR_CORE},   [LIFE_CORE] = {ANCHOR_LIFE, ANCHOR_CORE},
                   [CHOLESKY_CORES] = {ANCHOR_CHOLESKY, ANCHOR_CORES}, [LIFE_CORES] = {ANCHOR_LIFE, ANCHOR_CORES},
                   [CHOLESKY_BOTH] = {ANCHOR_CHOLESKY, ANCHOR_BOTH},   [LIFE_BOTH] = {ANCHOR_LIFE, ANCHOR_BOTH},
                   [LIFE_DEVICE] = {ANCHOR_LIFE, ANCHOR_DEVICE}};
    return (struct anchor){anchors[number].app, anchors[number].where, m->tile, m->cores};
}

static bool run_anchors(struct measured *m, const char *folder)
{
    for (int i = 0; i < ANCHORS; i++) {
        const struct anchor a = anchor_of(m, i);
        struct anchor_run run = run_anchor(&a, folder);
        if (!(run.seconds > 0))
            return false;
        m->runs[i] = (struct anchor_run){lesser(m->runs[i].seconds, run.seconds), lesser(m->runs[i].other, run.other)};
    }
    return true;
}

/* What is to be changed until a simulation takes as long as the run did. */
static bool match(struct measured *m, enum anchor_number anchor, double *number, double step)
{
    const struct anchor a = anchor_of(m, anchor);
    return solve_anchor(m, &a, m->runs[anchor].seconds, number, step);
}

/* How many times as much as in flows of next to nothing. Kernels on a tile of 128 leave nothing of what the runtime
 * needs in a near cache, those on smaller ones some: it lies between. A run that was disturbed may say anything. */
static double growth(double in_run, double in_flow)
{
    return in_flow > 0 ? sqrt(fmin(10, fmax(1, in_run / in_flow))) : 1;
}

/* Tasks of Cholesky have few accesses, those of life many. */
static void grow_costs(struct measured *m)
{
    double few = growth(m->runs[CHOLESKY_CORE].other, m->few.other),
           many = growth(m->runs[LIFE_CORE].other, m->many.other);
    m->few.other *= few;
    m->few_device.other *= few;
    m->many.other *= many;
    m->many_device.other *= many;
}

/* Kernels are slower in a run than alone since their data comes from farther away: so that is a matter of bytes. Should
 * they be faster there, that is a matter of chance. */
static bool match_core(struct measured *m, enum anchor_app app)
{
    enum anchor_number run = app == ANCHOR_LIFE ? LIFE_CORE : CHOLESKY_CORE;
    return match(m, run, &m->cold[app], 0.01e-9) && (m->cold[app] > 0 || match(m, run, &m->slow[app], 0.05));
}

static bool match_cores(struct measured *m)
{
    bool good = true;
    for (int app = 0; app < ANCHOR_APPS && good; app++)
        good = match_core(m, app) &&
               (m->cores == 1 || match(m, app == ANCHOR_LIFE ? LIFE_CORES : CHOLESKY_CORES, &m->crowd[app], 0.05));
    return good;
}

/* Life has the most data for a device. */
static bool match_device(struct measured *m)
{
    return match(m, LIFE_DEVICE, &m->fresh, 0.05e-9);
}

/* The link's thread needs a processor for as long as bytes take, which is the workers' where they have them all; and
 * what it copies is in its cache, not in theirs. But a device's data also spares a core's cache. So it differs from
 * application to application: more than the bytes themselves take, or nothing. */
static bool match_links(struct measured *m)
{
    for (int app = 0; app < ANCHOR_APPS; app++)
        m->moved[app] = seconds_per_byte(m);
    return match_device(m) && match(m, CHOLESKY_BOTH, &m->moved[ANCHOR_CHOLESKY], 0.05e-9) &&
           match(m, LIFE_BOTH, &m->moved[ANCHOR_LIFE], 0.05e-9) && match_device(m);
}

/* Before anything is measured, so that nobody waits for what cannot be written. */
static int try_to_write(const char *path)
{
    thrum_machine *machine = machine_to_begin_with(false);
    return write_and_free(machine, machine ? 0 : THRUM_ENOMEM, path);
}

static void remove_folder(const char *folder)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder); /* its name is ours */
    if (system(command) != 0)
        tool_fail(SIM, "the folder %s could not be removed.", folder);
}

static int read_tile(const char *text, int *tile)
{
    uint64_t number = 128;
    int code = text ? tool_read_count(SIM, "--tile", text, &number) : TOOL_GO_ON;
    if (code == TOOL_GO_ON && (number < 16 || number > 512))
        code = tool_misuse(SIM, "--tile '%s': to calibrate, a tile is from 16 to 512.", text);
    *tile = (int)number;
    return code;
}

/* Shapes come in the same order each time. */
static bool sweep(struct measured *m, const char *folder)
{
    m->count = 0;
    return run_kernels(m, folder, "cholesky", "--tile") && run_kernels(m, folder, "life", "--block") &&
           run_qr(m, folder) && run_flows(m) && run_anchors(m, folder);
}

static bool measure_real(struct measured *m, const char *folder)
{
    for (int i = 0; i < (m->quick ? QUICK_SWEEPS : SWEEPS); i++)
        if (!sweep(m, folder))
            return false;
    for (int app = 0; app < ANCHOR_APPS; app++)
        m->slow[app] = 1;
    m->scratch = fmax(0, m->with_scratch.other - m->few_device.other) / (double)scratch_bytes(m);
    grow_costs(m);
    return match_cores(m) && match_links(m);
}

static int measure_and_write(struct measured *m, const struct sim_calibration *c)
{
    char folder[] = "/tmp/thrum-calibrate-XXXXXX";
    thrum_machine_info info;
    if (thrum_machine_get(&info) != 0 || !mkdtemp(folder))
        return tool_fail(SIM, "no folder in /tmp, or no topology, to measure this machine.");
    m->cores = info.usable;
    bool good = c->timing ? measure_timing(m) : measure_real(m, folder);
    remove_folder(folder);
    return good ? finish(m, c->path) : TOOL_FAILED;
}

int sim_calibrate(const struct sim_calibration *c)
{
    struct measured *m = calloc(1, sizeof *m);
    int code = m ? read_tile(c->tile, &m->tile) : tool_fail(SIM, "no memory to measure this machine.");
    if (code == TOOL_GO_ON)
        code = try_to_write(c->path);
    if (code == TOOL_GO_ON) {
        m->quick = c->quick;
        m->timing = c->timing;
        code = measure_and_write(m, c);
    }
    free(m);
    return code;
}
