/* SPDX-License-Identifier: MIT
 *
 * Workloads as files: writing, and what reading (workload_read.c) and writing share.
 */
#include "model/workload_file.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "model/arch.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const thrum__wl_mode_keys[THRUM_MODE_COMMUTE + 1] = {
    [THRUM_MODE_R] = "r",         [THRUM_MODE_W] = "w",
    [THRUM_MODE_RW] = "rw",       [THRUM_MODE_SCRATCH] = "scratch",
    [THRUM_MODE_REDUX] = "redux", [THRUM_MODE_COMMUTE] = "commute",
};

/* ---- Names ------------------------------------------------------------------------------------------------------- */

bool thrum__wl_is_plain(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+.:/()[]*";
    return *name && strspn(name, letters) == strlen(name) && strspn(name, "0123456789") != strlen(name) &&
           strcmp(name, "-") != 0;
}

static struct thrum__wl_named *slot_of(struct thrum__wl_named *slots, size_t room, const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    size_t at = (hash ^ hash >> 32) & (room - 1);
    while (slots[at].name && strcmp(slots[at].name, name) != 0)
        at = (at + 1) & (room - 1);
    return &slots[at];
}

static bool grow(thrum__wl_names *names)
{
    size_t room = names->room ? 2 * names->room : 64;
    struct thrum__wl_named *slots = thrum__zalloc(room * sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < names->room; i++)
        if (names->slots[i].name)
            *slot_of(slots, room, names->slots[i].name) = names->slots[i];
    thrum__free(names->slots);
    names->slots = slots;
    names->room = room;
    return true;
}

bool thrum__wl_names_add(thrum__wl_names *names, const char *name, int number)
{
    if (!name)
        return true;
    if (2 * (names->count + 1) > names->room && !grow(names))
        return false;
    struct thrum__wl_named *slot = slot_of(names->slots, names->room, name);
    names->count += !slot->name;
    *slot = (struct thrum__wl_named){name, slot->name ? THRUM__WL_SEVERAL : number};
    return true;
}

int thrum__wl_names_find(const thrum__wl_names *names, const char *name)
{
    const struct thrum__wl_named *slot = names->room ? slot_of(names->slots, names->room, name) : NULL;
    return slot && slot->name ? slot->number : THRUM__WL_UNKNOWN;
}

void thrum__wl_names_drop(thrum__wl_names *names)
{
    thrum__free(names->slots);
    *names = (thrum__wl_names){0};
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

void thrum__wl_locale_begin(thrum__wl_locale *locale)
{
    locale->plain = newlocale(LC_ALL_MASK, "C", NULL);
    locale->own = locale->plain ? uselocale(locale->plain) : NULL;
}

void thrum__wl_locale_end(thrum__wl_locale *locale)
{
    if (!locale->plain)
        return;
    uselocale(locale->own);
    freelocale(locale->plain);
}

/* The shortest way to write it that is read as the same number. */
static void write_number(FILE *out, const char *key, double number)
{
    char text[40];
    for (int digits = 6; digits <= 17; digits += digits < 15 ? 9 : 1) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    fprintf(out, " %s=%s", key, text);
}

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

typedef struct writer {
    const thrum_workload *workload;
    FILE *out;
    thrum__wl_names codelets, data;
} writer;

static void write_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (const char *c = text; *c; c++) {
        static const char special[] = "\"\\\n\r\t", written[] = "\"\\nrt";
        const char *escaped = strchr(special, *c);
        if (escaped)
            fprintf(out, "\\%c", written[escaped - special]);
        else if ((unsigned char)*c < ' ' || *c == 127)
            fprintf(out, "\\x%02x", (unsigned)(unsigned char)*c);
        else
            fputc(*c, out);
    }
    fputc('"', out);
}

static void write_name(FILE *out, const char *name)
{
    if (thrum__wl_is_plain(name))
        fputs(name, out);
    else
        write_quoted(out, name);
}

/* By its name, if that is its own alone. */
static void write_reference(FILE *out, const thrum__wl_names *names, const char *name, int number)
{
    if (name && thrum__wl_names_find(names, name) == number)
        write_name(out, name);
    else
        fprintf(out, "%d", number);
}

static void write_codelet(FILE *out, const thrum__wl_codelet *codelet)
{
    const char *between = " ";
    fputs("codelet ", out);
    write_name(out, codelet->name);
    for (int arch = 0; arch < THRUM_ARCHS; arch++)
        if (codelet->archs & 1u << arch) {
            fprintf(out, "%s%s", between, thrum__arch_name((enum thrum_arch)arch));
            between = ",";
        }
    fputc('\n', out);
}

static void write_data(FILE *out, const thrum__wl_data *data)
{
    fputs("data ", out);
    if (data->name)
        write_name(out, data->name);
    else
        fputc('-', out);
    fprintf(out, " %zu%s\n", data->bytes, data->written ? " written" : "");
}

static void write_accesses(writer *w, const thrum__wl_task *task)
{
    enum thrum_mode mode = (enum thrum_mode)0;
    for (size_t i = task->first; i < task->first + (size_t)task->count; i++) {
        const thrum_workload_access *access = &w->workload->accesses[i];
        if (access->mode == mode)
            fputc(',', w->out);
        else
            fprintf(w->out, " %s=", thrum__wl_mode_keys[access->mode]);
        mode = access->mode;
        write_reference(w->out, &w->data, w->workload->data[access->data].name, access->data);
    }
}

static void write_task(writer *w, const thrum__wl_task *task)
{
    fputs("task ", w->out);
    write_reference(w->out, &w->codelets, w->workload->codelets[task->codelet].name, task->codelet);
    if (task->work != 0)
        write_number(w->out, "work", task->work);
    write_accesses(w, task);
    if (task->priority)
        fprintf(w->out, " priority=%d", task->priority);
    if (task->bucket != THRUM_NO_BUCKET)
        fprintf(w->out, " bucket=%d", task->bucket);
    if (task->worker >= 0)
        fprintf(w->out, " worker=%d", task->worker);
    for (int arch = 0; arch < THRUM_ARCHS; arch++) {
        char key[32];
        snprintf(key, sizeof key, "seconds.%s", thrum__arch_name((enum thrum_arch)arch));
        if (task->seconds[arch] > 0)
            write_number(w->out, key, task->seconds[arch]);
    }
    if (task->name) {
        fputs(" name=", w->out);
        write_name(w->out, task->name);
    }
    fputc('\n', w->out);
}

static bool find_names(writer *w)
{
    const thrum_workload *workload = w->workload;
    bool good = true;
    for (int i = 0; i < workload->codelet_count && good; i++)
        good = thrum__wl_names_add(&w->codelets, workload->codelets[i].name, i);
    for (int i = 0; i < workload->data_count && good; i++)
        good = thrum__wl_names_add(&w->data, workload->data[i].name, i);
    return good;
}

static void write_all(writer *w)
{
    const thrum_workload *workload = w->workload;
    fprintf(w->out, "%s %d\n", THRUM__WL_HEAD, THRUM__WL_VERSION);
    fputs("name ", w->out);
    write_name(w->out, workload->name);
    fputc('\n', w->out);
    for (int i = 0; i < workload->codelet_count; i++)
        write_codelet(w->out, &workload->codelets[i]);
    for (int i = 0; i < workload->data_count; i++)
        write_data(w->out, &workload->data[i]);
    for (int i = 0; i < workload->task_count; i++)
        write_task(w, &workload->tasks[i]);
    for (size_t i = 0; i < workload->edge_count; i++)
        fprintf(w->out, "edge %d %d\n", workload->edges[i].before, workload->edges[i].after);
}

static int cannot_write(const char *path)
{
    return thrum__fault(THRUM_ESYSTEM, "the workload file '%.200s' cannot be written: %s", path, strerror(errno));
}

int thrum_workload_write(const thrum_workload *workload, const char *path)
{
    writer w = {.workload = workload};
    thrum__wl_locale locale;
    if (!workload || !path)
        return thrum__fault(THRUM_EINVAL, "thrum_workload_write: the %s is NULL", workload ? "path" : "workload");
    int err = find_names(&w) ? 0 : thrum__fault(THRUM_ENOMEM, "no memory to write '%.200s'", path);
    if (!err && !(w.out = fopen(path, "we")))
        err = cannot_write(path);
    if (!err) {
        thrum__wl_locale_begin(&locale);
        write_all(&w);
        thrum__wl_locale_end(&locale);
        bool failed = ferror(w.out) != 0;
        if (fclose(w.out) != 0 || failed)
            err = cannot_write(path);
    }
    thrum__wl_names_drop(&w.codelets);
    thrum__wl_names_drop(&w.data);
    return err;
}
