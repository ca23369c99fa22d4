/* SPDX-License-Identifier: MIT
 *
 * thrum sim --calibrate: a description of the machine that it runs on.
 *
 * The applications are run at one tile size, 128 (life: blocks of 32; kmeans not at all): once with whole tiles, and with sizes that
 * are no multiple of it, so that there are thinner tiles at the edge, and each kernel is seen with several ratios of work to bytes.
 * What performance models have measured of these shapes, each compared with whole tiles of the same run, is fitted by
 *
 *     seconds = fixed + bytes * per_byte + work / rate,       none of them negative,
 *
 * so that relative errors are least, and scaled so that whole tiles come out as measured. Libraries have other kernels for small
 * matrices: if one rate for the smaller shapes and another for the rest fit much better, small work has its own. That is the whole
 * model: it says what other tile sizes take as far as what a kernel takes beside its operations grows with its data.
 *
 * What a task costs besides its kernel: a worker's time that was in no kernel, less what the simulator says that it waits for data,
 * divided by its tasks. Life, whose tasks access 34 pieces of data, has what it takes more as a part of its kernel. Crowding is how
 * much longer whole tiles take while all cores are at work. An emulated device runs kernels on a core of this machine: the same,
 * with all kernels on it. In timing mode kernels take what the machine `timing` says: only overheads are looked for.
 *
 * Each run is a process of its own (this program as `thrum cholesky`, `thrum life`, ...), whose models go to a folder that is
 * removed in the end.
 */
#define _GNU_SOURCE

#include "common.h"
#include "sim.h"
#include "sim_calibrate.h"

#include "apps/workloads.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TILES = 16, EDGE_TILES = 8, EDGES = 4, LIFE_BLOCK = 32, LIFE_BLOCKS = 3, LIFE_STEPS = 20, SHAPES = 160 };
enum { AGAIN = 5 }; /* runs of which the quickest counts: who was disturbed says nothing about the runtime */

/* A kernel with data of certain extents, and what was measured of it. */
struct shape {
    const char *codelet;
    double work, bytes;
    bool whole;
    double
        seconds; /* 0: not seen often enough. Of whole ones the mean over runs, of others relative to a whole one's */
    int runs;
};

/* One way of running: on one core, on all, on an emulated device. */
struct setting {
    const char *arch; /* of the rows of its models */
    const char *devices;
    bool timing;
    int workers, tile;
    struct run {
        double seconds, busy, tasks;
        double copies, bytes, link_busy; /* to devices */
    } cholesky, life;                    /* with whole tiles */
    double life_fixed;                   /* of its kernel, as fitted */
    struct shape shapes[SHAPES];
    int count;
};

struct fit {
    double rate, per_byte, fixed, small_rate, small_work;
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
        s->shapes[s->count++] = (struct shape){codelet, work, bytes, whole, 0, 0};
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

enum { WORDS = 28 };

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

static int add_devices(const struct setting *s, char *words[WORDS], int count)
{
    if (!s->devices)
        return count;
    words[count++] = (char *)"--devices";
    words[count++] = (char *)(size_t)s->devices;
    words[count++] = (char *)"--mode";
    words[count++] = (char *)(s->timing ? "timing" : "real");
    if (strcmp(s->arch, "emu") == 0)
        words[count++] = (char *)"--device-only";
    return count;
}

static struct run run_of(const json_t *object)
{
    const json_t *workers = json_object_get(object, "workers"), *worker;
    struct run run = {.seconds = json_number_value(json_object_get(object, "seconds"))};
    size_t i;
    json_array_foreach(workers, i, worker)
    {
        run.busy += json_number_value(json_object_get(worker, "busy"));
        run.tasks += json_number_value(json_object_get(worker, "tasks"));
    }
    const json_t *link = json_array_get(json_object_get(object, "links"), 0);
    run.copies = json_number_value(json_object_get(link, "copies"));
    run.bytes = json_number_value(json_object_get(link, "bytes"));
    run.link_busy = json_number_value(json_object_get(link, "busy"));
    return run;
}

/* Runs an application so many times, with words behind it up to NULL. *run is the median one, if it was quicker than the one that is
 * there. False after a sentence. */
static bool run_app(const struct setting *s, const char *folder, int repeats, struct run *run, const char *app, ...)
{
    char workers[16], times[16];
    char *words[WORDS] = {
        (char *)"thrum", (char *)(size_t)app, (char *)"--json", (char *)"--no-check", (char *)"--policy",
        (char *)"prio",  (char *)"--workers", workers,          (char *)"--repeat",   times};
    int count = add_devices(s, words, 10);
    va_list list;
    snprintf(workers, sizeof workers, "%d", s->workers);
    snprintf(times, sizeof times, "%d", repeats);
    va_start(list, app);
    for (char *word; (word = va_arg(list, char *)) && count < WORDS - 1;)
        words[count++] = word;
    va_end(list);
    json_t *object = run_self(folder, words);
    bool good = object != NULL;
    struct run this_run = object ? run_of(object) : (struct run){0};
    if (good && run && (run->tasks == 0 || this_run.seconds < run->seconds))
        *run = this_run;
    json_decref(object);
    return good;
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

/* What this run's models say of the shape; 0: nothing. Of several rows the one with the most bytes. */
static double measured(const struct shape *shape, const struct setting *s, const json_t *rows)
{
    double most = 0, seconds = 0;
    size_t number;
    const json_t *row;
    json_array_foreach(rows, number, row)
    {
        double bytes = json_number_value(json_object_get(row, "bytes"));
        if (!fits(shape, s, row) || bytes < most)
            continue;
        most = bytes;
        seconds = json_number_value(json_object_get(row, "mean"));
    }
    return seconds;
}

static struct shape *whole_of(struct setting *s, const char *codelet)
{
    for (int i = 0; i < s->count; i++)
        if (s->shapes[i].whole && strcmp(s->shapes[i].codelet, codelet) == 0)
            return &s->shapes[i];
    return NULL;
}

/* Whole tiles are summed up, others divided by the whole ones of the same run. */
static void take_rows(struct setting *s, const json_t *rows)
{
    for (int i = 0; i < s->count; i++) {
        struct shape *shape = &s->shapes[i];
        const struct shape *whole = whole_of(s, shape->codelet);
        double seconds = measured(shape, s, rows), of_whole = whole ? measured(whole, s, rows) : 0;
        if (seconds > 0 && of_whole > 0) {
            shape->seconds += shape->whole ? seconds : seconds / of_whole;
            shape->runs++;
        }
    }
}

static bool take_models(struct setting *s, const char *folder)
{
    char *words[WORDS] = {(char *)"thrum", (char *)"info", (char *)"--models", (char *)"--json"};
    json_t *object = run_self(folder, words);
    if (object)
        take_rows(s, json_object_get(object, "models"));
    bool good = object != NULL;
    json_decref(object);
    return good;
}

/* All runs are over: seconds of all shapes. */
static void settle(struct setting *s)
{
    for (int i = 0; i < s->count; i++)
        s->shapes[i].seconds /= s->shapes[i].runs ? s->shapes[i].runs : 1;
    for (int i = 0; i < s->count; i++)
        if (!s->shapes[i].whole)
            s->shapes[i].seconds *= whole_of(s, s->shapes[i].codelet)->seconds;
}

static char *number_word(char text[16], int number)
{
    snprintf(text, 16, "%d", number);
    return text;
}

/* ---- Runs of one setting ------------------------------------------------------------------------------------------- */

/* A folder for each run, so that what runs say can be told apart. */
static const char *folder_of(char path[80], const char *folder, const struct setting *s, int run)
{
    snprintf(path, 80, "%.40s/%s%d-%d/", folder, s->arch, s->workers, run);
    return path;
}

static bool run_cholesky(struct setting *s, const char *folder)
{
    char n[16], tile[16], path[80];
    number_word(tile, s->tile);
    for (int edge = 0; edge < EDGES; edge++) {
        int last = s->tile * edge / EDGES, repeats = edge ? 16 : 3;
        number_word(n, (edge ? EDGE_TILES : TILES) * s->tile + last);
        folder_of(path, folder, s, edge);
        for (int again = 0; again < (edge ? 1 : AGAIN); again++)
            if (!run_app(s, path, repeats, edge ? NULL : &s->cholesky, "cholesky", "--n", n, "--tile", tile,
                         "--on-device", "all", NULL))
                return false;
        add_cholesky(s, edge ? last : s->tile);
        if (s->timing)
            return true;
        if (!take_models(s, path))
            return false;
    }
    return true;
}

static bool run_qr(struct setting *s, const char *folder)
{
    char n[16], tile[16], path[80];
    add_qr(s);
    number_word(n, EDGE_TILES * s->tile);
    number_word(tile, s->tile);
    folder_of(path, folder, s, EDGES);
    return run_app(s, path, 5, NULL, "qr", "--n", n, "--tile", tile, NULL) && take_models(s, path);
}

static bool run_life(struct setting *s, const char *folder)
{
    char n[16], block[16], steps[16], path[80];
    number_word(block, LIFE_BLOCK);
    number_word(steps, LIFE_STEPS);
    for (int edge = 0; edge < 2; edge++) {
        int last = edge ? LIFE_BLOCK / 2 : LIFE_BLOCK;
        number_word(n, (LIFE_BLOCKS - 1) * LIFE_BLOCK + last);
        folder_of(path, folder, s, EDGES + 1 + edge);
        for (int again = 0; again < (edge ? 1 : AGAIN); again++)
            if (!run_app(s, path, 3, edge ? NULL : &s->life, "life", "--n", n, "--block", block, "--steps", steps,
                         NULL))
                return false;
        add_life(s, last);
        if (s->timing)
            return true;
        if (!take_models(s, path))
            return false;
    }
    return true;
}

static bool measure(struct setting *s, const char *folder)
{
    if (!run_cholesky(s, folder) || (!s->timing && !run_qr(s, folder)) || !run_life(s, folder))
        return false;
    settle(s);
    return true;
}

/* ---- Fitting ------------------------------------------------------------------------------------------------------- */

enum { UNKNOWNS = 3 };

/* Solves the normal equations for those unknowns that are in `used`; false if it cannot. */
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

/* Shapes of a codelet with more than `above` units of work. */
struct selection {
    const struct setting *s;
    const char *codelet;
    double above;
};

static bool is_chosen(const struct selection *chosen, int i)
{
    const struct shape *shape = &chosen->s->shapes[i];
    return strcmp(shape->codelet, chosen->codelet) == 0 && shape->seconds > 0 && shape->work > chosen->above;
}

static double weight_of(const struct shape *shape)
{
    return shape->whole ? 3 : 1;
}

/* Numbers of about 1, so that the equations are well-behaved: per million of work, per kilobyte, in microseconds. */
static double predict_terms(const struct shape *shape, const double x[UNKNOWNS], double t[UNKNOWNS])
{
    t[0] = shape->work / 1e6;
    t[1] = shape->bytes / 1e3;
    t[2] = 1;
    return x[0] * t[0] + x[1] * t[1] + x[2] * t[2];
}

static double error_of(const struct selection *chosen, const double x[UNKNOWNS])
{
    double error = 0, t[UNKNOWNS];
    for (int i = 0; i < chosen->s->count; i++)
        if (is_chosen(chosen, i)) {
            const struct shape *shape = &chosen->s->shapes[i];
            double off = predict_terms(shape, x, t) / (shape->seconds * 1e6) - 1;
            error += weight_of(shape) * off * off;
        }
    return x[0] > 0 && x[1] >= 0 && x[2] >= 0 ? error : INFINITY;
}

/* Least squares of relative errors with some of the terms. */
static double try_terms(const struct selection *chosen, unsigned used, double x[UNKNOWNS])
{
    double m[UNKNOWNS][UNKNOWNS + 1] = {{0}}, t[UNKNOWNS];
    for (int i = 0; i < chosen->s->count; i++) {
        const struct shape *shape = &chosen->s->shapes[i];
        if (!is_chosen(chosen, i))
            continue;
        double y = shape->seconds * 1e6, weight = weight_of(shape) / (y * y);
        predict_terms(shape, x, t);
        for (int a = 0; a < UNKNOWNS; a++) {
            for (int b = 0; b < UNKNOWNS; b++)
                m[a][b] += weight * t[a] * t[b];
            m[a][UNKNOWNS] += weight * t[a] * y;
        }
    }
    return solve(m, used, x) ? error_of(chosen, x) : INFINITY;
}

/* The best of all ways to leave terms out; fewer terms than shapes, but one. */
static double fit_terms(const struct selection *chosen, double best[UNKNOWNS])
{
    double least = INFINITY, x[UNKNOWNS] = {0};
    int shapes = 0;
    for (int i = 0; i < chosen->s->count; i++)
        shapes += is_chosen(chosen, i);
    for (unsigned used = 1; used < 1u << UNKNOWNS; used += 2) {
        bool enough = used == 1 || __builtin_popcount(used) < shapes;
        double error = enough ? try_terms(chosen, used, x) : INFINITY;
        if (error < least * 0.999) { /* more terms must be worth it */
            least = error;
            memcpy(best, x, sizeof x);
        }
    }
    return least;
}

/* Of shapes up to `limit`: their mean rate, without what is fixed (microseconds), and the error of taking it for all of them. */
static double fit_small(const struct selection *all, double limit, double fixed, double *rate)
{
    double sum = 0, error = 0;
    int count = 0;
    for (int i = 0; i < all->s->count; i++)
        if (is_chosen(all, i) && all->s->shapes[i].work <= limit) {
            sum += all->s->shapes[i].work / fmax(all->s->shapes[i].seconds - fixed * 1e-6, 1e-9);
            count++;
        }
    *rate = count ? sum / count : 0;
    for (int i = 0; i < all->s->count && count; i++)
        if (is_chosen(all, i) && all->s->shapes[i].work <= limit) {
            double off = (fixed * 1e-6 + all->s->shapes[i].work / *rate) / all->s->shapes[i].seconds - 1;
            error += off * off;
        }
    return count ? error : INFINITY;
}

/* Whether the shape with this much work takes less than the terms say. */
static bool is_faster(const struct selection *all, double work, const double x[UNKNOWNS])
{
    double t[UNKNOWNS];
    for (int i = 0; i < all->s->count; i++)
        if (is_chosen(all, i) && all->s->shapes[i].work == work)
            return predict_terms(&all->s->shapes[i], x, t) > 1.03e6 * all->s->shapes[i].seconds;
    return false;
}

/* The next larger shape's work, or 0. */
static double next_work(const struct selection *all, double work)
{
    double next = 0;
    for (int i = 0; i < all->s->count; i++) {
        double other = all->s->shapes[i].work;
        if (is_chosen(all, i) && other > work && (next == 0 || other < next))
            next = other;
    }
    return next;
}

/* Two rates where that fits much better and small matrices are the faster ones. Two shapes are left for the rest at least. */
static void fit_two_rates(const struct selection *all, double error, double x[UNKNOWNS], struct fit *f)
{
    const double bad = 0.02;
    if (error < bad)
        return;
    for (double limit = next_work(all, 0), next; (next = next_work(all, limit)) > 0; limit = next) {
        struct selection rest = *all;
        double large[UNKNOWNS] = {0}, rate;
        rest.above = limit;
        double of_rest = fit_terms(&rest, large), both = of_rest + fit_small(all, limit, large[2], &rate);
        if (both < error / 2 && next_work(all, next) > 0 && is_faster(all, limit, large)) {
            error = both;
            memcpy(x, large, sizeof large);
            f->small_rate = rate;
            f->small_work = sqrt(limit * next);
        }
    }
}

/* Whole tiles come out as measured. */
static bool fit(struct setting *s, const char *codelet, struct fit *f)
{
    const struct shape *whole = whole_of(s, codelet);
    struct selection all = {s, codelet, 0};
    double x[UNKNOWNS] = {0}, t[UNKNOWNS];
    *f = (struct fit){0};
    if (!whole || !(whole->seconds > 0))
        return false;
    double error = fit_terms(&all, x);
    fit_two_rates(&all, error, x, f);
    double scale = whole->seconds * 1e6 / predict_terms(whole, x, t);
    f->rate = 1e12 / (scale * x[0]);
    f->per_byte = scale * x[1] / 1e9;
    f->fixed = scale * x[2] / 1e6;
    return isfinite(f->rate) && f->rate > 0;
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
static double crowding(struct setting *alone, struct setting *crowded, const char *codelet)
{
    const struct shape *a = whole_of(alone, codelet), *b = whole_of(crowded, codelet);
    int others = crowded->workers - alone->workers;
    if (!a || !b || others < 1 || !(a->seconds > 0) || !(b->seconds > 0))
        return 0;
    return fmax(0, (b->seconds / a->seconds - 1) / others);
}

static int apply_speed(thrum_machine *machine, const char *codelet, const char *kind, const struct fit *f, double crowd)
{
    char small[80] = "";
    if (f->small_rate > 0)
        snprintf(small, sizeof small, "small.%s=%.5g:%.3g", kind, f->small_rate, f->small_work);
    return apply(machine, "speed %s %s=%.5g %s fixed.%s=%.0fns per-byte.%s=%.4fns crowd.%s=%.3g", codelet, kind,
                 f->rate, small, kind, f->fixed * 1e9, kind, f->per_byte * 1e9, kind, crowd);
}

static int apply_fit(thrum_machine *machine, struct setting *s, const char *codelet, double crowd)
{
    struct fit f;
    if (!fit(s, codelet, &f))
        return 0;
    if (strcmp(codelet, "life-step") == 0)
        s->life_fixed = f.fixed;
    return apply_speed(machine, codelet, s->arch, &f, crowd);
}

static int apply_speeds(thrum_machine *machine, struct setting *alone, struct setting *all, struct setting *device)
{
    int err = 0;
    for (size_t i = 0; i < sizeof codelets / sizeof *codelets && !err; i++) {
        err = apply_fit(machine, alone, codelets[i], crowding(alone, all, codelets[i]));
        if (!err)
            err = apply_fit(machine, device, codelets[i], 0);
    }
    return err;
}

/* ---- Overheads ----------------------------------------------------------------------------------------------------- */

/* The run as the simulator sees it, with only the worker that was there. False after an error. */
static bool simulate(const thrum_machine *base, const struct setting *s, const char *app,
                     const struct app_workload_size *size, struct run *run)
{
    bool device = strcmp(s->arch, "emu") == 0;
    thrum_sim_result *result = NULL;
    thrum_workload *workload = app_workload(app, size);
    thrum_machine *machine = workload ? thrum_machine_copy(base) : NULL;
    int err = machine ? apply(machine, "cores count=%d", !device) : THRUM_ENOMEM;
    if (!err)
        err = apply(machine, "device emu count=%d", device);
    if (!err)
        err = thrum_simulate(&(thrum_sim){.machine = machine, .workload = workload, .policy = "prio", .ahead = 1},
                             &result);
    if (!err)
        *run = (struct run){result->makespan, result->workers[0].busy, (double)result->tasks, 0, 0, 0};
    thrum_sim_result_free(result);
    thrum_machine_free(machine);
    thrum_workload_free(workload);
    return !err;
}

/* What a task cost, on average, that the simulator does not know of. It knows how long its worker waits for data. Kernels that were
 * interrupted are the machine's business and not the runtime's; but those that only sleep wake up late, and that is. */
static double unknown_cost(const struct setting *s, const struct run *real, const struct run *simulated)
{
    double known = s->timing ? simulated->seconds : simulated->seconds - simulated->busy + real->busy;
    return real->tasks > 0 ? fmax(0, (real->seconds - known) / real->tasks) : 0;
}

/* Life's more than Cholesky's goes to its kernel. */
static int apply_overheads(thrum_machine *machine, const struct setting *s)
{
    const struct app_workload_size of_cholesky = {.n = (uint64_t)(TILES * s->tile),
                                                  .tile = (uint64_t)s->tile,
                                                  .on_device = "all"},
                                   of_life = {.n = LIFE_BLOCKS * LIFE_BLOCK,
                                              .tile = LIFE_BLOCK,
                                              .steps = LIFE_STEPS,
                                              .on_device = "all"};
    struct run cholesky, life;
    if (!simulate(machine, s, "cholesky", &of_cholesky, &cholesky) || !simulate(machine, s, "life", &of_life, &life))
        return THRUM_EINVAL;
    double overhead = unknown_cost(s, &s->cholesky, &cholesky);
    double more = fmax(0, unknown_cost(s, &s->life, &life) - overhead);
    int err = apply(machine, "overhead %s=%.0fns", s->arch, overhead * 1e9);
    if (!err)
        err = apply(machine, "speed life-step fixed.%s=%.0fns", s->arch, (s->life_fixed + more) * 1e9);
    if (!err && s->timing) /* cores sleep as long too late as devices */
        err = apply(machine, "overhead cpu=%.0fns", overhead * 1e9);
    return err;
}

/* ---- All of it ----------------------------------------------------------------------------------------------------- */

/* The device's link as it is seen: its thread has to be woken, and copies where no other core is free wait for one. */
static double latency_of(const struct run *run)
{
    const double least = 5e-6, bandwidth = 8e9;
    return run->copies > 0 ? fmax(least, (run->link_busy - run->bytes / bandwidth) / run->copies) : least;
}

static int describe_real(thrum_machine *machine, struct setting settings[3])
{
    int err = apply(machine, "about this machine, as thrum sim --calibrate has measured it with tiles of %d",
                    settings[0].tile);
    if (!err)
        err = apply(machine, "cores count=%d", settings[1].workers);
    if (!err)
        err = apply(machine, "device emu count=0 memory=1GiB bandwidth=8GB/s latency=%.0fns",
                    latency_of(&settings[2].cholesky) * 1e9);
    if (!err)
        err = apply_speeds(machine, &settings[0], &settings[1], &settings[2]);
    if (!err)
        err = apply_overheads(machine, &settings[0]);
    return err ? err : apply_overheads(machine, &settings[2]);
}

static int finish(thrum_machine *machine, struct setting settings[3], const char *path)
{
    bool timing = settings[0].timing;
    int err = machine ? apply(machine, "name %s", timing ? "timing" : "this") : THRUM_ENOMEM;
    if (!err && timing)
        err = apply_overheads(machine, &settings[0]);
    else if (!err)
        err = describe_real(machine, settings);
    if (!err)
        err = thrum_machine_write(machine, path);
    thrum_machine_free(machine);
    return err ? tool_fail(SIM, "%s.", thrum_message(NULL)) : TOOL_DONE;
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

int sim_calibrate(const char *path, const char *tile_text, bool timing)
{
    static const char empty[] = "thrum-machine 1\n";
    char folder[] = "/tmp/thrum-calibrate-XXXXXX";
    thrum_machine_info info;
    int tile, code = read_tile(tile_text, &tile);
    if (code != TOOL_GO_ON)
        return code;
    if (thrum_machine_get(&info) != 0)
        return tool_fail(SIM, "%s.", thrum_message(NULL));
    struct setting *settings = calloc(3, sizeof *settings);
    if (!settings || !mkdtemp(folder)) {
        free(settings);
        return tool_fail(SIM, "no folder in /tmp, or no memory, to measure this machine.");
    }
    settings[0] = (struct setting){.arch = "cpu", .workers = 1, .tile = tile};
    settings[1] = (struct setting){.arch = "cpu", .workers = info.usable, .tile = tile};
    settings[2] = (struct setting){.arch = "emu", .workers = 1, .tile = tile, .devices = "cpu:1,emu:1"};
    if (timing) {
        settings[0] = settings[2];
        settings[0].timing = true;
        settings[0].life_fixed = 8e-6; /* as the machine `timing` has it */
    }
    bool good = true;
    for (int i = 0; i < (timing ? 1 : 3) && good; i++)
        good = measure(&settings[i], folder);
    remove_folder(folder);
    code = TOOL_FAILED;
    if (good)
        code = finish(timing ? thrum_machine_open("timing") : thrum_machine_parse(empty, sizeof empty - 1, NULL),
                      settings, path);
    free(settings);
    return code;
}
