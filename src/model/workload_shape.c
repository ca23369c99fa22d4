/* SPDX-License-Identifier: MIT
 *
 * Workloads made by rule. Tasks have a piece of data each, which they write and those behind them read; or, where data
 * has no bytes, edges. Random numbers belong to a task: work, kind and edges of task i do not depend on how many tasks
 * there are.
 */
#include "model/workload_file.h"

#include "base/alloc.h"
#include "base/device_list.h"
#include "base/fault.h"
#include "base/nearest.h"
#include "base/quantity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TASKS = 20 * 1000 * 1000, MOST_BEFORE = 4096 };

/* What is said of it. */
typedef struct numbers {
    double tasks, width, degree, steps, points, work, spread, bytes, device, both, seed;
} numbers;

typedef struct shaper {
    const numbers *say;
    thrum_workload *workload;
    int codelets[3]; /* for both, for devices, for processors; -1: not used yet */
    int tasks;
    int *before; /* of the task at hand */
    int before_count;
    thrum_workload_access *accesses;
} shaper;

#define COMMON_SETTINGS                                                                                                \
    {"work", "1e6", "number", "mean work of a task"},                                                                  \
        {"spread", "0.5", "0 to 1", "share by which work differs from its mean at most"},                              \
        {"bytes", "1MiB", "size", "of each piece of data; 0: edges without data"},                                     \
        {"device", "0", "0 to 1", "share of tasks that only devices can run"},                                         \
        {"both", "1 less device", "0 to 1", "share of tasks that devices and processors can run"},                     \
        {"seed", "1", "number", "of the random numbers"},                                                              \
    {                                                                                                                  \
        NULL, NULL, NULL, NULL                                                                                         \
    }

/* ---- Random numbers ---------------------------------------------------------------------------------------------- */

/* The finisher of splitmix64. */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* From 0 to below 1; number `which` of task `task`. */
static double drawn(const shaper *s, int task, unsigned which)
{
    uint64_t bits = mix(mix(mix((uint64_t)s->say->seed) ^ (uint64_t)task) ^ which);
    return (double)(bits >> 11) * 0x1p-53;
}

enum { DRAW_WORK, DRAW_KIND, DRAW_DEGREE, DRAW_EDGES };

static int drawn_below(const shaper *s, int task, unsigned which, int bound)
{
    int number = (int)(drawn(s, task, which) * bound);
    return number < bound ? number : bound - 1;
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

static int codelet_of(shaper *s, int task)
{
    static const struct {
        const char *name;
        unsigned archs;
    } kinds[] = {{"work", 1u << THRUM_ARCH_CPU | 1u << THRUM_ARCH_EMU},
                 {"work-device", 1u << THRUM_ARCH_EMU},
                 {"work-cpu", 1u << THRUM_ARCH_CPU}};
    double where = drawn(s, task, DRAW_KIND);
    int kind = where < s->say->device ? 1 : where < s->say->device + s->say->both ? 0 : 2;
    if (s->codelets[kind] < 0)
        s->codelets[kind] = thrum_workload_add_codelet(s->workload, kinds[kind].name, kinds[kind].archs);
    return s->codelets[kind];
}

/* The task at hand comes behind this one. */
static void comes_behind(shaper *s, int before)
{
    for (int i = 0; i < s->before_count; i++)
        if (s->before[i] == before)
            return;
    s->before[s->before_count++] = before;
}

static int add_edges(shaper *s, int task)
{
    int err = 0;
    for (int i = 0; i < s->before_count && !err; i++)
        err = thrum_workload_add_edge(s->workload, s->before[i], task);
    return err;
}

/* Its data has its number. */
static int add_data(shaper *s, thrum_workload_task *task)
{
    int own = thrum_workload_add_data(s->workload, NULL, (size_t)s->say->bytes, false);
    if (own < 0)
        return own;
    for (int i = 0; i < s->before_count; i++)
        s->accesses[i] = (thrum_workload_access){s->before[i], THRUM_MODE_R};
    s->accesses[s->before_count] = (thrum_workload_access){own, THRUM_MODE_W};
    task->access = s->accesses;
    task->access_count = s->before_count + 1;
    return 0;
}

/* Adds the task at hand, and the next one is at hand. */
static int finish_task(shaper *s)
{
    const numbers *say = s->say;
    bool by_data = say->bytes >= 1;
    double factor = 1 + say->spread * (2 * drawn(s, s->tasks, DRAW_WORK) - 1);
    thrum_workload_task task = {
        .codelet = codelet_of(s, s->tasks), .work = say->work * factor, .bucket = THRUM_NO_BUCKET, .worker = -1};
    if (task.codelet < 0)
        return task.codelet;
    int err = by_data ? add_data(s, &task) : 0, number = err ? err : thrum_workload_add_task(s->workload, &task);
    if (number < 0)
        return number;
    err = by_data ? 0 : add_edges(s, number);
    s->before_count = 0;
    s->tasks++;
    return err;
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */

static int make_layered(shaper *s)
{
    int width = (int)s->say->width, err = 0;
    for (int i = 0; i < (int)s->say->tasks && !err; i++) {
        int layer = i / width;
        for (int e = 0; layer > 0 && e < (int)s->say->degree; e++)
            comes_behind(s, (layer - 1) * width + drawn_below(s, i, DRAW_EDGES + (unsigned)e, width));
        err = finish_task(s);
    }
    return err;
}

/* A task has from 0 to twice `degree` tasks before it. */
static int make_random(shaper *s)
{
    int err = 0;
    for (int i = 0; i < (int)s->say->tasks && !err; i++) {
        int edges = drawn_below(s, i, DRAW_DEGREE, 2 * (int)s->say->degree + 1);
        for (int e = 0; i > 0 && e < edges; e++)
            comes_behind(s, drawn_below(s, i, DRAW_EDGES + (unsigned)e, i));
        err = finish_task(s);
    }
    return err;
}

static int make_stencil(shaper *s)
{
    int width = (int)s->say->width, steps = (int)s->say->steps, err = 0;
    for (int step = 0; step < steps && !err; step++)
        for (int x = 0; x < width && !err; x++) {
            for (int side = -1; step > 0 && side <= 1; side++)
                if (x + side >= 0 && x + side < width)
                    comes_behind(s, (step - 1) * width + x + side);
            err = finish_task(s);
        }
    return err;
}

/* One task, then `width` tasks behind it, then one behind those, and so on. */
static int make_fork_join(shaper *s)
{
    int width = (int)s->say->width, err = 0;
    for (int i = 0; i < (int)s->say->tasks && !err; i++) {
        int place = i % (width + 1), phase = i - place;
        if (place > 0)
            comes_behind(s, phase);
        for (int before = 1; place == 0 && i > 0 && before <= width; before++)
            s->before[s->before_count++] = i - before;
        err = finish_task(s);
    }
    return err;
}

static int make_fft(shaper *s)
{
    int points = (int)s->say->points, err = 0;
    for (int x = 0; x < points && !err; x++)
        err = finish_task(s);
    for (int stage = 1; 1 << stage <= points && !err; stage++)
        for (int x = 0; x < points && !err; x++) {
            comes_behind(s, (stage - 1) * points + x);
            comes_behind(s, (stage - 1) * points + (x ^ 1 << (stage - 1)));
            err = finish_task(s);
        }
    return err;
}

static double tasks_by_count(const numbers *say)
{
    return say->tasks;
}

static double tasks_by_steps(const numbers *say)
{
    return say->width * say->steps;
}

static double tasks_by_points(const numbers *say)
{
    return say->points * (1 + log2(say->points));
}

static const thrum_setting layered_settings[] = {{"tasks", "1000", "1 to 2e7", "how many"},
                                                 {"width", "32", "1 to 2e7", "tasks of a layer"},
                                                 {"degree", "3", "0 to 2047", "tasks of the layer before, at most"},
                                                 COMMON_SETTINGS};
static const thrum_setting random_settings[] = {
    {"tasks", "1000", "1 to 2e7", "how many"},
    {"degree", "3", "0 to 2047", "earlier tasks that one waits for, on average"},
    COMMON_SETTINGS};
static const thrum_setting stencil_settings[] = {
    {"width", "32", "1 to 2e7", "points"}, {"steps", "32", "1 to 2e7", "tasks of each point"}, COMMON_SETTINGS};
static const thrum_setting fork_join_settings[] = {
    {"tasks", "1000", "1 to 2e7", "how many"}, {"width", "32", "1 to 4096", "tasks of a phase"}, COMMON_SETTINGS};
static const thrum_setting fft_settings[] = {{"points", "1024", "a power of two to 2^19", "tasks of a stage"},
                                             COMMON_SETTINGS};

static const struct shape {
    const char *name;
    const thrum_setting *settings;
    double (*tasks)(const numbers *say);
    int (*make)(shaper *s);
} shapes[] = {
    {"layered", layered_settings, tasks_by_count, make_layered},
    {"random", random_settings, tasks_by_count, make_random},
    {"stencil", stencil_settings, tasks_by_steps, make_stencil},
    {"fork-join", fork_join_settings, tasks_by_count, make_fork_join},
    {"fft", fft_settings, tasks_by_points, make_fft},
};

enum { SHAPES = sizeof shapes / sizeof *shapes };

const char *thrum_workload_shape(int number, const thrum_setting **settings)
{
    if (number < 0 || number >= SHAPES)
        return NULL;
    if (settings)
        *settings = shapes[number].settings;
    return shapes[number].name;
}

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

static const struct key {
    const char *name;
    size_t offset;
    double least, most;
    bool whole;
} keys[] = {
    {"tasks", offsetof(numbers, tasks), 1, MOST_TASKS, true},
    {"width", offsetof(numbers, width), 1, MOST_TASKS, true},
    {"degree", offsetof(numbers, degree), 0, MOST_BEFORE / 2 - 1, true},
    {"steps", offsetof(numbers, steps), 1, MOST_TASKS, true},
    {"points", offsetof(numbers, points), 1, 1 << 19, true},
    {"work", offsetof(numbers, work), 0, 1e300, false},
    {"spread", offsetof(numbers, spread), 0, 1, false},
    {"bytes", offsetof(numbers, bytes), 0, 0x1p62, true},
    {"device", offsetof(numbers, device), 0, 1, false},
    {"both", offsetof(numbers, both), 0, 1, false},
    {"seed", offsetof(numbers, seed), 0, 0x1p53, true},
};

/* The key of this name that the shape has; NULL with a sentence. */
static const struct key *key_named(const struct shape *shape, const char *name)
{
    char list[200] = "";
    const char *known[16];
    size_t count = 0;
    for (const thrum_setting *s = shape->settings; s->key; s++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", count ? ", " : "", s->key);
        known[count++] = s->key;
        for (size_t i = 0; strcmp(s->key, name) == 0 && i < sizeof keys / sizeof *keys; i++)
            if (strcmp(keys[i].name, name) == 0)
                return &keys[i];
    }
    char meant[THRUM__MEANT_TEXT];
    thrum__fault(THRUM_EOPTION, "the shape '%s' has no setting '%s'%s It has %s", shape->name, name,
                 *thrum__meant(name, known, count, meant) ? meant : ".", list);
    return NULL;
}

static int read_value(const struct key *key, const char *value, numbers *say)
{
    char *end;
    size_t bytes;
    double number = strtod(value, &end);
    bool good = *value && strspn(value, "0123456789.eE+") == strlen(value) && !*end;
    if (!good && strcmp(key->name, "bytes") == 0) {
        int err = thrum__size_parse(value, &bytes);
        if (err)
            return err;
        number = (double)bytes;
        good = true;
    }
    if (!good || !(number >= key->least && number <= key->most) || (key->whole && number != floor(number)))
        return thrum__fault(THRUM_EOPTION, "'%s=%.60s': that must be a %snumber from %g to %g", key->name, value,
                            key->whole ? "whole " : "", key->least, key->most);
    *(double *)((char *)say + key->offset) = number;
    return 0;
}

static int read_settings(const struct shape *shape, const char *text, numbers *say)
{
    thrum__setting setting;
    int err = 0;
    while (thrum__setting_next(&text, &setting, &err)) {
        const struct key *key = key_named(shape, setting.key);
        if (!key || (err = read_value(key, setting.value, say)))
            return key ? err : THRUM_EOPTION;
    }
    return err;
}

static int settle(const struct shape *shape, numbers *say)
{
    if (say->both < 0)
        say->both = 1 - say->device;
    if (say->device + say->both > 1 + 1e-9)
        return thrum__fault(THRUM_EOPTION, "device=%g and both=%g are shares of all tasks, and more than all together",
                            say->device, say->both);
    if (shape->make == make_fft && exp2(floor(log2(say->points))) != say->points)
        return thrum__fault(THRUM_EOPTION, "'points=%g': that must be a power of two", say->points);
    if (shape->make == make_fork_join && say->width > MOST_BEFORE)
        return thrum__fault(THRUM_EOPTION, "'width=%g': that must be a whole number from 1 to %d", say->width,
                            MOST_BEFORE);
    if (shape->tasks(say) > MOST_TASKS)
        return thrum__fault(THRUM_ELIMIT, "that would be %.3g tasks; %d are the most", shape->tasks(say), MOST_TASKS);
    return 0;
}

static const struct shape *shape_named(const char *text)
{
    size_t length = strcspn(text, ";");
    char name[48] = "", meant[THRUM__MEANT_TEXT];
    const char *names[SHAPES];
    snprintf(name, sizeof name, "%.*s", (int)(length < 40 ? length : 40), text);
    for (int i = 0; i < SHAPES; i++) {
        names[i] = shapes[i].name;
        if (strcmp(names[i], name) == 0)
            return &shapes[i];
    }
    thrum__fault(THRUM_EOPTION, "there is no shape '%s'%s There are layered, random, stencil, fork-join and fft", name,
                 *thrum__meant(name, names, SHAPES, meant) ? meant : ".");
    return NULL;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static thrum_workload *make(const struct shape *shape, const numbers *say)
{
    shaper s = {.say = say, .codelets = {-1, -1, -1}, .workload = thrum_workload_new(shape->name)};
    s.before = thrum__alloc((MOST_BEFORE + 1) * sizeof *s.before);
    s.accesses = thrum__alloc((MOST_BEFORE + 1) * sizeof *s.accesses);
    bool room = s.workload && s.before && s.accesses;
    int err = room ? shape->make(&s) : thrum__fault(THRUM_ENOMEM, "no memory for the workload");
    thrum__free(s.before);
    thrum__free(s.accesses);
    if (!err)
        return s.workload;
    thrum_workload_free(s.workload);
    return NULL;
}

thrum_workload *thrum_workload_generate(const char *text)
{
    numbers say = {.tasks = 1000,
                   .width = 32,
                   .degree = 3,
                   .steps = 32,
                   .points = 1024,
                   .work = 1e6,
                   .spread = 0.5,
                   .bytes = 1 << 20,
                   .both = -1,
                   .seed = 1};
    thrum__wl_locale locale;
    if (!text) {
        thrum__fault(THRUM_EINVAL, "thrum_workload_generate: the text is NULL");
        return NULL;
    }
    const struct shape *shape = shape_named(text);
    if (!shape)
        return NULL;
    const char *semicolon = strchr(text, ';');
    thrum__wl_locale_begin(&locale);
    int err = semicolon ? read_settings(shape, semicolon + 1, &say) : 0;
    thrum__wl_locale_end(&locale);
    if (!err)
        err = settle(shape, &say);
    return err ? NULL : make(shape, &say);
}
