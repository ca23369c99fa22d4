/* SPDX-License-Identifier: MIT
 *
 * The rows of all codelets, in one table for the process, and what is asked of them.
 */
#include "sched/perf_int.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "sys/park.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_SIZE = 64, FAMILY_LISTS = 64 };

/* All of it with the lock. */
static struct {
    thrum__perf_row **rows; /* lists by hash; a power of two of them */
    size_t size, count;
    thrum__perf_family *families[FAMILY_LISTS]; /* lists by hash */
    bool loaded;
    thrum_models_info info;
} store;
static thrum__lock store_lock;

/* ---- Rows and families ------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const char *codelet, enum thrum_arch arch)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325) + (uint64_t)arch; /* FNV-1a */
    for (const char *c = codelet; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    return hash;
}

static bool is_of(const thrum__perf_family *family, const char *codelet, enum thrum_arch arch)
{
    return family->arch == arch && strcmp(family->name, codelet) == 0;
}

static size_t slot_of(uint64_t hash, uint64_t footprint)
{
    return (size_t)((hash ^ footprint * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (store.size - 1);
}

static thrum__perf_row *find_row(const char *codelet, enum thrum_arch arch, uint64_t hash, uint64_t footprint)
{
    thrum__perf_row *row = store.size ? store.rows[slot_of(hash, footprint)] : NULL;
    while (row && (row->footprint != footprint || !is_of(row->family, codelet, arch)))
        row = row->next;
    return row;
}

static thrum__perf_family *find_family(const char *codelet, enum thrum_arch arch, uint64_t hash)
{
    thrum__perf_family *family = store.families[hash % FAMILY_LISTS];
    while (family && !is_of(family, codelet, arch))
        family = family->next;
    return family;
}

static thrum__perf_family *make_family(const char *codelet, enum thrum_arch arch, uint64_t hash)
{
    thrum__perf_family *family = thrum__zalloc(sizeof *family);
    if (family)
        family->name = thrum__copy_text(codelet);
    if (!family || !family->name) {
        thrum__free(family);
        return NULL;
    }
    family->arch = arch;
    family->next = store.families[hash % FAMILY_LISTS];
    store.families[hash % FAMILY_LISTS] = family;
    return family;
}

static void put(thrum__perf_row *row)
{
    thrum__perf_row **list = &store.rows[slot_of(hash_of(row->family->name, row->family->arch), row->footprint)];
    row->next = *list;
    *list = row;
}

/* Without memory for a larger one the old one goes on being used. */
static bool grow(void)
{
    size_t old_size = store.size, size = old_size ? 2 * old_size : FIRST_SIZE;
    thrum__perf_row **old = store.rows, **rows = thrum__zalloc(size * sizeof(thrum__perf_row *));
    if (!rows)
        return old_size > 0;
    store.rows = rows;
    store.size = size;
    for (size_t i = 0; i < old_size; i++)
        for (thrum__perf_row *row = old[i], *next; row; row = next) {
            next = row->next;
            put(row);
        }
    thrum__free(old);
    return true;
}

static thrum__perf_row *make_row(thrum__perf_family *family, uint64_t footprint)
{
    if (store.count >= store.size && !grow())
        return NULL;
    thrum__perf_row *row = thrum__zalloc(sizeof *row);
    if (!row)
        return NULL;
    row->family = family;
    row->footprint = footprint;
    row->sibling = family->rows;
    family->rows = row;
    store.count++;
    put(row);
    return row;
}

thrum__perf_row *thrum__perf_row_of(const char *codelet, enum thrum_arch arch, uint64_t footprint)
{
    uint64_t hash = hash_of(codelet, arch);
    thrum__perf_row *row = find_row(codelet, arch, hash, footprint);
    if (row)
        return row;
    thrum__perf_family *family = find_family(codelet, arch, hash);
    if (!family)
        family = make_family(codelet, arch, hash);
    return family ? make_row(family, footprint) : NULL;
}

void thrum__perf_each(void (*each)(thrum__perf_row *row, void *ctx), void *ctx)
{
    for (int i = 0; i < FAMILY_LISTS; i++)
        for (thrum__perf_family *family = store.families[i]; family; family = family->next)
            for (thrum__perf_row *row = family->rows; row; row = row->sibling)
                each(row, ctx);
}

void thrum__perf_forget(void)
{
    thrum__lock_take(&store_lock);
    for (int i = 0; i < FAMILY_LISTS; i++)
        for (thrum__perf_family *family = store.families[i], *next; family; family = next) {
            next = family->next;
            for (thrum__perf_row *row = family->rows, *sibling; row; row = sibling) {
                sibling = row->sibling;
                thrum__free(row);
            }
            thrum__free(family->name);
            thrum__free(family);
        }
    thrum__free(store.rows);
    memset(&store, 0, sizeof store);
    thrum__lock_give(&store_lock);
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

static int note_problem(int err)
{
    snprintf(store.info.problem, sizeof store.info.problem, "%s", err ? thrum__last_fault() : "");
    return err;
}

static void lock_and_load(void)
{
    thrum__lock_take(&store_lock);
    if (store.loaded)
        return;
    store.loaded = true;
    if (note_problem(thrum__perf_path(store.info.file)) == 0 && *store.info.file)
        note_problem(thrum__perf_read(store.info.file));
}

static void find_noted(thrum__perf_row *row, void *ctx)
{
    *(bool *)ctx |= row->noted > 0;
}

/* The path, if there is something to write. */
static bool has_news(char path[THRUM__PERF_PATH])
{
    bool noted = false;
    thrum__lock_take(&store_lock);
    thrum__perf_each(find_noted, &noted);
    memcpy(path, store.info.file, THRUM__PERF_PATH);
    thrum__lock_give(&store_lock);
    return noted && *path;
}

/* Other processes are waited for without the lock on the rows, which are needed meanwhile. */
int thrum__perf_save(void)
{
    char path[THRUM__PERF_PATH];
    int file_lock;
    if (!has_news(path))
        return 0;
    int err = thrum__perf_lock_file(path, &file_lock);
    thrum__lock_take(&store_lock);
    if (!err)
        err = thrum__perf_write(path);
    note_problem(err);
    thrum__lock_give(&store_lock);
    if (file_lock >= 0)
        close(file_lock);
    return err;
}

int thrum_models_get(thrum_models_info *info)
{
    if (!info)
        return thrum__fault(THRUM_EINVAL, "thrum_models_get: the struct is NULL");
    lock_and_load();
    *info = store.info;
    thrum__lock_give(&store_lock);
    return 0;
}

/* ---- Noting ------------------------------------------------------------------------------------------------------ */

/* Eight classes to a power of two: the place of the highest bit, and the three bits below it. */
static uint64_t class_of(size_t bytes)
{
    uint64_t n = bytes;
    if (n < 8)
        return n;
    unsigned high = 63 - (unsigned)__builtin_clzll(n);
    return 8 * (uint64_t)high + (n >> (high - 3) & 7);
}

static uint64_t footprint_of(const thrum_codelet *codelet, const thrum__perf_shape *shape)
{
    if (codelet->model == THRUM_BY_SIZE)
        return class_of(shape->bytes);
    return shape->footprint < THRUM__PERF_CLASSES ? shape->footprint + THRUM__PERF_CLASSES : shape->footprint;
}

void thrum__perf_note(const thrum_codelet *codelet, enum thrum_arch arch, const thrum__perf_shape *shape,
                      double seconds)
{
    if (codelet->model == THRUM_BY_FUNCTION || !isfinite(seconds) || seconds < 0)
        return;
    lock_and_load();
    thrum__perf_row *row = thrum__perf_row_of(codelet->name, arch, footprint_of(codelet, shape));
    if (row) {
        uint64_t samples = thrum__perf_stat_sum(&row->stat).count + 1;
        row->bytes += ((double)shape->bytes - row->bytes) / (double)samples;
        thrum__perf_stat_note(&row->stat, fmax(seconds, 1e-9)); /* clocks are no finer */
        row->noted++;
        row->family->samples++;
    }
    thrum__lock_give(&store_lock);
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

static double row_seconds(const char *codelet, enum thrum_arch arch, uint64_t hash, uint64_t footprint)
{
    const thrum__perf_row *row = find_row(codelet, arch, hash, footprint);
    return row && row->stat.count ? row->stat.mean : -1;
}

static void fit(thrum__perf_family *family)
{
    int count = 0;
    thrum__perf_point *points = thrum__alloc(THRUM__PERF_CLASSES * sizeof *points);
    family->samples_at_fit = family->samples;
    family->has_curve = false;
    if (!points)
        return;
    for (const thrum__perf_row *row = family->rows; row; row = row->sibling) {
        thrum__perf_summary sum = thrum__perf_stat_sum(&row->stat);
        if (row->footprint < THRUM__PERF_CLASSES && row->bytes > 0 && sum.count)
            points[count++] = (thrum__perf_point){row->bytes, sum.mean, (double)sum.count};
    }
    family->has_curve = thrum__perf_fit(points, count, &family->curve);
    thrum__free(points);
}

/* With enough samples a curve is made, and again when there is an eighth more of them. */
static double curve_seconds(const char *codelet, enum thrum_arch arch, uint64_t hash, size_t bytes)
{
    thrum__perf_family *family = find_family(codelet, arch, hash);
    if (!family || family->samples < THRUM__PERF_ASIDE)
        return -1;
    if (family->samples > family->samples_at_fit + family->samples_at_fit / 8)
        fit(family);
    if (family->has_curve && bytes > 0)
        return thrum__perf_curve_at(&family->curve, (double)bytes);
    return row_seconds(codelet, arch, hash, class_of(bytes));
}

double thrum__perf_expect(const thrum_codelet *codelet, const thrum_place *place, const thrum__perf_shape *shape,
                          const thrum_buffer *buffers, int count, const void *arg)
{
    if (codelet->model == THRUM_BY_FUNCTION) {
        double seconds = codelet->seconds ? codelet->seconds(place, buffers, count, arg) : -1;
        return seconds >= 0 ? seconds : -1; /* no NaN */
    }
    uint64_t hash = hash_of(codelet->name, place->arch);
    lock_and_load();
    double seconds = codelet->model == THRUM_BY_SIZE
                         ? curve_seconds(codelet->name, place->arch, hash, shape->bytes)
                         : row_seconds(codelet->name, place->arch, hash, footprint_of(codelet, shape));
    thrum__lock_give(&store_lock);
    return seconds;
}

/* ---- Looking ----------------------------------------------------------------------------------------------------- */

typedef struct listing {
    thrum_model_row *rows; /* NULL: only count */
    int count;
} listing;

static void list_row(thrum__perf_row *row, void *ctx)
{
    listing *l = ctx;
    thrum__perf_summary sum = thrum__perf_stat_sum(&row->stat);
    if (l->rows)
        l->rows[l->count] = (thrum_model_row){.codelet = row->family->name,
                                              .arch = row->family->arch,
                                              .footprint = row->footprint,
                                              .bytes = (size_t)llround(row->bytes),
                                              .count = sum.count,
                                              .dropped = row->stat.dropped,
                                              .mean = sum.mean,
                                              .deviation = sum.deviation};
    l->count++;
}

static int compare(const void *left, const void *right)
{
    const thrum_model_row *a = left, *b = right;
    int by_name = strcmp(a->codelet, b->codelet);
    if (by_name)
        return by_name;
    if (a->arch != b->arch)
        return a->arch < b->arch ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return a->footprint < b->footprint ? -1 : a->footprint > b->footprint;
}

int thrum_models_visit(thrum_model_fn *visit, void *arg)
{
    if (!visit)
        return thrum__fault(THRUM_EINVAL, "thrum_models_visit: the function is NULL");
    lock_and_load();
    listing list = {.rows = thrum__alloc((store.count + 1) * sizeof *list.rows)};
    if (list.rows)
        thrum__perf_each(list_row, &list);
    thrum__lock_give(&store_lock);
    if (!list.rows)
        return thrum__fault(THRUM_ENOMEM, "thrum_models_visit: no memory for a list of the rows");
    qsort(list.rows, (size_t)list.count, sizeof *list.rows, compare);
    for (int i = 0; i < list.count; i++)
        visit(&list.rows[i], arg);
    thrum__free(list.rows);
    return list.count;
}
