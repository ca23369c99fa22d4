/* SPDX-License-Identifier: MIT
 *
 * thrum sim --calibrate: a description of the machine that it runs on.
 *
 * The applications are run at one tile size, 128 (life: blocks of 32, kmeans not at all), with a size of the problem that is no
 * multiple of it: so besides whole tiles there are thinner ones at the edge, and each kernel is seen with several ratios of work to
 * bytes. What performance models have measured of these shapes is fitted by
 *
 *     seconds = fixed + bytes * per_byte + work / rate,       none of them negative,
 *
 * so that relative errors are least, and scaled so that whole tiles come out as measured. That is the whole model: it says what other
 * tile sizes will take, as far as what a kernel takes beside its operations grows with its data.
 *
 * - What a task costs besides its kernel: one worker's time that no kernel used, divided by its tasks.
 * - Crowding: how much longer whole tiles take while all cores are at work.
 * - An emulated device runs kernels on a core of this machine: the same, with all kernels on it.
 *
 * Each run is a process of its own (this program as `thrum cholesky`, `thrum life`, ...), whose models go to a folder that is
 * removed in the end.
 */
#define _GNU_SOURCE

#include "common.h"
#include "sim.h"
#include "sim_calibrate.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TILES = 8, EDGE_STEPS = 4, REPEATS = 16, LIFE_BLOCK = 32, LIFE_BLOCKS = 3, SHAPES = 160 };

/* A kernel with data of certain extents, and what was measured of it. */
struct shape {
    const char *codelet;
    double work, bytes;
    bool whole;
    double seconds; /* 0: not seen often enough */
};

/* One way of running: on one core, on all, on an emulated device. */
struct setting {
    const char *arch; /* of the rows of its models */
    const char *devices;
    int workers, tile;
    double overhead;
    struct shape shapes[SHAPES];
    int count;
};

struct fit {
    double per_work, per_byte, fixed;
};

/* ---- Shapes -------------------------------------------------------------------------------------------------------- */

static void add_shape(struct setting *s, const char *codelet, double work, double bytes, bool whole)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->shapes[i].codelet, codelet) == 0 && s->shapes[i].bytes == bytes) {
            if (s->shapes[i].work != work) /* two that cannot be told apart by their bytes */
                s->shapes[i].work = NAN;
            return;
        }
    if (s->count < SHAPES)
        s->shapes[s->count++] = (struct shape){codelet, work, bytes, whole, 0};
}

/* Tiles at the lower edge have r rows; those whole have b. */
static void add_cholesky(struct setting *s, double r)
{
    const double b = s->tile, number = sizeof(double);
    bool whole = r == b;
    add_shape(s, "cholesky-potrf", r * r * r / 3, number * r * r, whole);
    add_shape(s, "cholesky-trsm", r * b * b, number * (b * b + r * b), whole);
    add_shape(s, "cholesky-syrk", r * r * b, number * (r * b + r * r), whole);
    add_shape(s, "cholesky-gemm", 2 * r * b * b, number * (2 * r * b + b * b), whole);
}

/* Of QR whole tiles only: 0 bytes stands for those with the most. */
static void add_qr(struct setting *s)
{
    const double cube = (double)s->tile * s->tile * s->tile;
    add_shape(s, "qr-geqrt", 4 * cube / 3, 0, true);
    add_shape(s, "qr-unmqr", 2 * cube, 0, true);
    add_shape(s, "qr-tsqrt", 2 * cube, 0, true);
    add_shape(s, "qr-tsmqr", 4 * cube, 0, true);
}

/* A block's cells, the room of a whole one, its faces, and those of its 26 neighbours. */
static void add_block(struct setting *s, const double extent[LIFE_BLOCKS], const int at[3])
{
    const double side = LIFE_BLOCK + 2;
    double own[3], cells = 1, bytes = side * side * side;
    for (int axis = 0; axis < 3; axis++)
        cells *= own[axis] = extent[at[axis]];
    bytes += cells + 2 * cells * (1 / own[0] + 1 / own[1] + 1 / own[2]);
    for (int d = 0; d < 27; d++) {
        const int step[3] = {d % 3 - 1, d / 3 % 3 - 1, d / 9 - 1};
        double face = 0, area = 1;
        for (int axis = 0; axis < 3; axis++)
            area *= extent[(at[axis] + step[axis] + LIFE_BLOCKS) % LIFE_BLOCKS];
        for (int axis = 2; axis >= 0; axis--)
            if (step[axis])
                face = area / extent[(at[axis] + step[axis] + LIFE_BLOCKS) % LIFE_BLOCKS];
        bytes += face;
    }
    add_shape(s, "life-step", cells, bytes, cells == (double)LIFE_BLOCK * LIFE_BLOCK * LIFE_BLOCK);
}

static void add_life(struct setting *s, double last)
{
    const double extent[LIFE_BLOCKS] = {LIFE_BLOCK, LIFE_BLOCK, last};
    for (int i = 0; i < LIFE_BLOCKS * LIFE_BLOCKS * LIFE_BLOCKS; i++)
        add_block(s, extent, (const int[3]){i % 3, i / 3 % 3, i / 9});
}

/* ---- Runs ---------------------------------------------------------------------------------------------------------- */

enum { WORDS = 24 };

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

static double median_overhead(const json_t *object)
{
    const json_t *workers = json_object_get(object, "workers"), *worker;
    double busy = 0, waiting = 0, tasks = 0;
    size_t i;
    json_array_foreach(workers, i, worker)
    {
        busy += json_number_value(json_object_get(worker, "busy"));
        waiting += json_number_value(json_object_get(worker, "waiting"));
        tasks += json_number_value(json_object_get(worker, "tasks"));
    }
    double seconds = json_number_value(json_object_get(object, "seconds"));
    return tasks > 0 ? fmax(0, (seconds - busy - waiting) / tasks) : 0;
}

/* Runs an application, `rest` being "--key\0value\0" pairs ended by NULL. Its overhead per task, or negative after a sentence. */
static double run_app(const struct setting *s, const char *folder, const char *app, ...)
{
    char workers[16], repeats[16];
    char *words[WORDS] = {
        (char *)"thrum", (char *)(size_t)app, (char *)"--json", (char *)"--no-check", (char *)"--policy",
        (char *)"prio",  (char *)"--workers", workers,          (char *)"--repeat",   repeats};
    int count = 10;
    va_list list;
    snprintf(workers, sizeof workers, "%d", s->workers);
    snprintf(repeats, sizeof repeats, "%d", REPEATS);
    if (s->devices) {
        words[count++] = (char *)"--devices";
        words[count++] = (char *)(size_t)s->devices;
        words[count++] = (char *)"--device-only";
    }
    va_start(list, app);
    for (char *word; (word = va_arg(list, char *)) && count < WORDS - 1;)
        words[count++] = word;
    va_end(list);
    json_t *object = run_self(folder, words);
    double overhead = object ? median_overhead(object) : -1;
    json_decref(object);
    return overhead;
}

/* ---- What was measured --------------------------------------------------------------------------------------------- */

enum { SAMPLES_LEAST = 8 };

static bool fits(const struct shape *shape, const struct setting *s, const json_t *row)
{
    const char *codelet = json_string_value(json_object_get(row, "codelet"));
    const char *worker = json_string_value(json_object_get(row, "worker"));
    double bytes = json_number_value(json_object_get(row, "bytes"));
    return codelet && worker && strcmp(codelet, shape->codelet) == 0 && strcmp(worker, s->arch) == 0 &&
           (shape->bytes == 0 || shape->bytes == bytes) &&
           json_integer_value(json_object_get(row, "samples")) >= SAMPLES_LEAST;
}

static void read_rows(struct setting *s, const json_t *rows)
{
    size_t number;
    const json_t *row;
    for (int i = 0; i < s->count; i++) {
        double most = 0;
        json_array_foreach(rows, number, row)
        {
            double bytes = json_number_value(json_object_get(row, "bytes"));
            if (!fits(&s->shapes[i], s, row) || bytes < most)
                continue;
            most = bytes;
            s->shapes[i].seconds = json_number_value(json_object_get(row, "mean"));
        }
    }
}

static bool read_models(struct setting *s, const char *folder)
{
    char *words[WORDS] = {(char *)"thrum", (char *)"info", (char *)"--models", (char *)"--json"};
    json_t *object = run_self(folder, words);
    if (object)
        read_rows(s, json_object_get(object, "models"));
    json_decref(object);
    return object != NULL;
}

static char *number_word(char text[16], int number)
{
    snprintf(text, 16, "%d", number);
    return text;
}

/* All applications in one setting: whole tiles and those at the edge. */
static bool measure(struct setting *s, const char *folder, bool dense)
{
    char n[16], tile[16], block[16];
    number_word(tile, s->tile);
    number_word(block, LIFE_BLOCK);
    for (int step = 1; step <= EDGE_STEPS && dense; step++) {
        int edge = s->tile * step / EDGE_STEPS;
        double overhead = run_app(s, folder, "cholesky", "--n", number_word(n, (TILES - 1) * s->tile + edge), "--tile",
                                  tile, "--on-device", "all", NULL);
        if (overhead < 0)
            return false;
        s->overhead = overhead; /* the last one is of whole tiles */
        add_cholesky(s, edge);
    }
    if (dense && run_app(s, folder, "qr", "--n", number_word(n, TILES / 2 * s->tile), "--tile", tile, NULL) < 0)
        return false;
    for (int last = LIFE_BLOCK / 2; last <= LIFE_BLOCK; last += LIFE_BLOCK / 2) {
        double overhead = run_app(s, folder, "life", "--n", number_word(n, (LIFE_BLOCKS - 1) * LIFE_BLOCK + last),
                                  "--block", block, "--steps", "10", NULL);
        if (overhead < 0)
            return false;
        s->overhead = dense ? s->overhead : overhead;
        add_life(s, last);
    }
    add_qr(s);
    return read_models(s, folder);
}

/* ---- Fitting ------------------------------------------------------------------------------------------------------- */

enum { UNKNOWNS = 3 };

/* Solves the normal equations for those unknowns that are in `used`; false if it cannot. Gauss, with the largest pivot. */
static bool solve(double m[UNKNOWNS][UNKNOWNS + 1], unsigned used, double x[UNKNOWNS])
{
    int rows[UNKNOWNS], count = 0;
    for (int i = 0; i < UNKNOWNS; i++) {
        x[i] = 0;
        if (used >> i & 1)
            rows[count++] = i;
    }
    for (int i = 0; i < count; i++) {
        double *pivot = m[rows[i]];
        if (!(fabs(pivot[rows[i]]) > 1e-30))
            return false;
        for (int j = 0; j < count; j++) {
            double factor = m[rows[j]][rows[i]] / pivot[rows[i]];
            for (int k = 0; k <= UNKNOWNS && j != i; k++)
                m[rows[j]][k] -= factor * pivot[k];
        }
    }
    for (int i = 0; i < count; i++)
        x[rows[i]] = m[rows[i]][UNKNOWNS] / m[rows[i]][rows[i]];
    return true;
}

static bool is_seen(const struct shape *shape, const char *codelet)
{
    return strcmp(shape->codelet, codelet) == 0 && shape->seconds > 0 && shape->work > 0;
}

/* Numbers of about 1, so that the equations are well-behaved: per million of work, per kilobyte, in microseconds. */
static void terms(const struct shape *shape, double t[UNKNOWNS])
{
    t[0] = shape->work / 1e6;
    t[1] = shape->bytes / 1e3;
    t[2] = 1;
}

static double try_fit(const struct setting *s, const char *codelet, unsigned used, double x[UNKNOWNS])
{
    double m[UNKNOWNS][UNKNOWNS + 1] = {{0}}, t[UNKNOWNS], error = 0;
    for (int i = 0; i < s->count; i++) {
        if (!is_seen(&s->shapes[i], codelet))
            continue;
        terms(&s->shapes[i], t);
        double y = s->shapes[i].seconds * 1e6, weight = (s->shapes[i].whole ? 3 : 1) / (y * y);
        for (int a = 0; a < UNKNOWNS; a++) {
            for (int b = 0; b < UNKNOWNS; b++)
                m[a][b] += weight * t[a] * t[b];
            m[a][UNKNOWNS] += weight * t[a] * y;
        }
    }
    if (!solve(m, used, x))
        return INFINITY;
    for (int i = 0; i < s->count; i++) {
        if (!is_seen(&s->shapes[i], codelet))
            continue;
        terms(&s->shapes[i], t);
        double y = s->shapes[i].seconds * 1e6, off = (x[0] * t[0] + x[1] * t[1] + x[2] * t[2] - y) / y;
        error += (s->shapes[i].whole ? 3 : 1) * off * off;
    }
    return x[0] > 0 && x[1] >= 0 && x[2] >= 0 ? error : INFINITY;
}

static const struct shape *whole_shape(const struct setting *s, const char *codelet)
{
    for (int i = 0; i < s->count; i++)
        if (is_seen(&s->shapes[i], codelet) && s->shapes[i].whole)
            return &s->shapes[i];
    return NULL;
}

/* The best of all ways to leave terms out, none being negative; whole tiles as measured. */
static bool fit(const struct setting *s, const char *codelet, struct fit *f)
{
    const struct shape *whole = whole_shape(s, codelet);
    double best = INFINITY, x[UNKNOWNS], chosen[UNKNOWNS] = {0}, t[UNKNOWNS];
    if (!whole)
        return false;
    for (unsigned used = 1; used < 1u << UNKNOWNS; used += 2) {
        double error = try_fit(s, codelet, used, x);
        if (error < best * 0.999) { /* more terms must be worth it */
            best = error;
            memcpy(chosen, x, sizeof x);
        }
    }
    terms(whole, t);
    double predicted = chosen[0] * t[0] + chosen[1] * t[1] + chosen[2] * t[2];
    double scale = predicted > 0 ? whole->seconds * 1e6 / predicted : 0;
    *f = (struct fit){scale * chosen[0] / 1e12, scale * chosen[1] / 1e9, scale * chosen[2] / 1e6};
    return scale > 0;
}

/* ---- The description ----------------------------------------------------------------------------------------------- */

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

/* How much longer a whole tile takes in `crowded`, for each other worker. */
static double crowding(const struct setting *alone, const struct setting *crowded, const char *codelet)
{
    const struct shape *a = whole_shape(alone, codelet), *b = whole_shape(crowded, codelet);
    int others = crowded->workers - alone->workers;
    return a && b && others > 0 ? fmax(0, (b->seconds / a->seconds - 1) / others) : 0;
}

static int apply_speed(thrum_machine *machine, const char *codelet, const char *kind, const struct fit *f, double crowd)
{
    return apply(machine, "speed %s %s=%.6g fixed.%s=%.6es per-byte.%s=%.6es crowd.%s=%.4g", codelet, kind,
                 1 / f->per_work, kind, f->fixed, kind, f->per_byte, kind, crowd);
}

static int describe(thrum_machine *machine, const struct setting *alone, const struct setting *all,
                    const struct setting *device)
{
    struct fit f;
    int err = apply(machine, "name this");
    if (!err)
        err = apply(machine, "about this machine, as `thrum sim --calibrate` has measured it with tiles of %d",
                    alone->tile);
    if (!err)
        err = apply(machine, "cores count=%d", all->workers);
    if (!err)
        err = apply(machine, "device emu count=0 memory=1GiB bandwidth=8GB/s latency=5us");
    for (size_t i = 0; i < sizeof codelets / sizeof *codelets && !err; i++) {
        double crowd = crowding(alone, all, codelets[i]);
        if (fit(alone, codelets[i], &f))
            err = apply_speed(machine, codelets[i], "cpu", &f, crowd);
        if (!err && fit(device, codelets[i], &f))
            err = apply_speed(machine, codelets[i], "emu", &f, crowd);
    }
    return err ? err : apply(machine, "overhead cpu=%.4es emu=%.4es", alone->overhead, device->overhead);
}

static int write_description(const char *path, const struct setting *alone, const struct setting *all,
                             const struct setting *device)
{
    static const char empty[] = "thrum-machine 1\n";
    thrum_machine *machine = thrum_machine_parse(empty, sizeof empty - 1, NULL);
    int err = machine ? describe(machine, alone, all, device) : THRUM_ENOMEM;
    if (!err)
        err = thrum_machine_write(machine, path);
    thrum_machine_free(machine);
    return err ? tool_fail(SIM, "%s.", thrum_message(NULL)) : TOOL_DONE;
}

/* ---- All of it ----------------------------------------------------------------------------------------------------- */

static bool measure_all(struct setting settings[3], const char *folder, bool dense)
{
    char own[64];
    for (int i = 0; i < 3; i++) {
        snprintf(own, sizeof own, "%.40s/%d/", folder, i);
        if (!measure(&settings[i], own, dense))
            return false;
    }
    return true;
}

static void remove_folder(const char *folder)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder); /* its name is ours */
    if (system(command) != 0)
        tool_fail(SIM, "the folder %s could not be removed.", folder);
}

int sim_calibrate(const char *path, const char *tile_text)
{
    uint64_t tile = 128;
    char folder[] = "/tmp/thrum-calibrate-XXXXXX";
    thrum_machine_info info;
    int code = tile_text ? tool_read_count(SIM, "--tile", tile_text, &tile) : TOOL_GO_ON;
    if (code != TOOL_GO_ON)
        return code;
    if (tile < 16 || tile > 1024)
        return tool_misuse(SIM, "--tile '%s' is not from 16 to 1024, which calibrating needs.", tile_text);
    if (thrum_machine_get(&info) != 0)
        return tool_fail(SIM, "%s.", thrum_message(NULL));
    struct setting *settings = calloc(3, sizeof *settings);
    if (!settings || !mkdtemp(folder)) {
        free(settings);
        return tool_fail(SIM, "no folder in /tmp, or no memory, to measure this machine.");
    }
    settings[0] = (struct setting){.arch = "cpu", .workers = 1, .tile = (int)tile};
    settings[1] = (struct setting){.arch = "cpu", .workers = info.usable, .tile = (int)tile};
    settings[2] = (struct setting){.arch = "emu", .workers = 1, .tile = (int)tile, .devices = "cpu:1,emu:1"};
    bool good = measure_all(settings, folder, true);
    remove_folder(folder);
    code = good ? write_description(path, &settings[0], &settings[1], &settings[2]) : TOOL_FAILED;
    free(settings);
    return code;
}
