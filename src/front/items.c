/* SPDX-License-Identifier: MIT
 *
 * The items of an insertion: what they say, and what is wrong with them.
 */
#include "front/flow_int.h"

#include <stdio.h>

static const char *mode_name(uint32_t mode)
{
    static const char *const names[] = {"", "R", "W", "RW", "SCRATCH", "REDUX", "COMMUTE"};
    return names[mode];
}

/* ---- One by one -------------------------------------------------------------------------------------------------- */

static int read_access(const thrum__space *space, const thrum_codelet *codelet, const thrum_item *item,
                       const char *what, thrum__terms_of_job *terms, thrum__access *access)
{
    char room[THRUM__DATA_TEXT];
    thrum_data *data = (thrum_data *)(uintptr_t)item->ptr;
    if (__builtin_expect(!data || data->space != space ||
                             atomic_load_explicit(&data->kind, memory_order_relaxed) != THRUM__DATA_LIVE,
                         0)) {
        snprintf(room, sizeof room, "%s of '%.40s': access %u", what, codelet->name, terms->accesses);
        return thrum__data_check(data, space, room);
    }
    if (item->kind == THRUM_MODE_REDUX && !data->reduction)
        return thrum__fault(THRUM_EDATA, "%s of '%s': %s has no reduction; thrum_data_set_reduction gives it one", what,
                            codelet->name, thrum__data_text(data, room));
    access->data = data;
    access->mode = (uint8_t)item->kind;
    terms->accesses++;
    terms->commutes |= item->kind == THRUM_MODE_COMMUTE;
    terms->reduces |= item->kind == THRUM_MODE_REDUX;
    return 0;
}

static int read_setting(const thrum_codelet *codelet, const thrum_item *item, const char *what,
                        thrum__terms_of_job *terms)
{
    switch ((enum thrum_item_kind)item->kind) {
    case THRUM_ITEM_ARG:
        if (terms->arg)
            return thrum__fault(THRUM_EINVAL, "%s of '%s': THRUM_ARG is given twice; put both into one struct", what,
                                codelet->name);
        if (!item->ptr && item->bytes)
            return thrum__fault(THRUM_EINVAL, "%s of '%s': the argument is NULL, but has %zu bytes", what,
                                codelet->name, item->bytes);
        if (item->bytes > THRUM__ARG_MOST)
            return thrum__fault(THRUM_ELIMIT, "%s of '%s': an argument of %zu bytes; what is that large is data", what,
                                codelet->name, item->bytes);
        terms->arg = item;
        return 0;
    case THRUM_ITEM_PRIORITY:
        terms->priority = item->number;
        return 0;
    case THRUM_ITEM_BUCKET:
        terms->bucket = item->number;
        return 0;
    case THRUM_ITEM_NAME:
        terms->name = item->ptr;
        return 0;
    case THRUM_ITEM_WORKER:
        if (item->number < 0)
            return thrum__fault(THRUM_EINVAL, "%s of '%s': worker %d, but they are counted from 0", what, codelet->name,
                                item->number);
        terms->worker = item->number;
        return 0;
    case THRUM_ITEM_NONE:
        return 0;
    }
    return thrum__fault(THRUM_EINVAL, "%s of '%s': an item of kind %u, which is none of codelet.h", what, codelet->name,
                        item->kind);
}

/* ---- Together ---------------------------------------------------------------------------------------------------- */

static bool shares(enum thrum_mode mode)
{
    return mode == THRUM_MODE_R || mode == THRUM_MODE_SCRATCH;
}

static int check_pair(const thrum_codelet *codelet, const thrum__access *a, const thrum__access *b, const char *what)
{
    char room[THRUM__DATA_TEXT];
    if (a->data != b->data || (shares(a->mode) && shares(b->mode)) || a->mode == THRUM_MODE_SCRATCH ||
        b->mode == THRUM_MODE_SCRATCH)
        return 0;
    return thrum__fault(THRUM_EDATA,
                        "%s of '%s': %s is used twice, as %s and as %s; name it once, with the mode that "
                        "covers both",
                        what, codelet->name, thrum__data_text(a->data, room), mode_name(a->mode), mode_name(b->mode));
}

int thrum__items_check_pairs(const thrum_codelet *codelet, const thrum__access *access, uint32_t count,
                             const char *what)
{
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (__builtin_expect(access[i].data == access[j].data, 0)) {
                int err = check_pair(codelet, &access[j], &access[i], what);
                if (err)
                    return err;
            }
    return 0;
}

int thrum__items_read(const thrum__space *space, const thrum_codelet *codelet, const thrum_item *items, size_t count,
                      const char *what, thrum__terms_of_job *terms, thrum__access *access)
{
    *terms = (thrum__terms_of_job){.bucket = THRUM_NO_BUCKET, .worker = -1, .pin = -1};
    if (!codelet || !codelet->name)
        return thrum__fault(THRUM_EINVAL, "%s: the codelet %s", what, codelet ? "has no name" : "is NULL");
    if (!items && count)
        return thrum__fault(THRUM_EINVAL, "%s of '%s': the items are NULL", what, codelet->name);
    for (size_t i = 0; i < count; i++) {
        int err = items[i].kind >= THRUM_MODE_R && items[i].kind <= THRUM_MODE_COMMUTE
                      ? read_access(space, codelet, &items[i], what, terms, &access[terms->accesses])
                      : read_setting(codelet, &items[i], what, terms);
        if (__builtin_expect(err, 0))
            return err;
    }
    return 0;
}

/* ---- By what was inserted before --------------------------------------------------------------------------------- */

static int not_allowed(const thrum_codelet *codelet, const thrum_data *data, enum thrum_mode mode, const char *what)
{
    char room[THRUM__DATA_TEXT];
    const char *label = thrum__data_text(data, room);
    if (data->dissolved)
        return thrum__fault(THRUM_EDATA, "%s of '%s': %s is a part of a partition that has ended", what, codelet->name,
                            label);
    if (data->parts)
        return thrum__fault(THRUM_EDATA, "%s of '%s': %s is partitioned; use its parts, or unpartition it", what,
                            codelet->name, label);
    if (data->overlaps && !shares(mode))
        return thrum__fault(
            THRUM_EDATA,
            "%s of '%s': %s is a part with a shadow, which overlaps its neighbours: it can be read, but "
            "not written",
            what, codelet->name, label);
    return thrum__fault(THRUM_EDATA, "%s of '%s': %s is read, but nothing was written to it before", what,
                        codelet->name, label);
}

int thrum__parts_check(const thrum_codelet *codelet, const thrum_data *data, enum thrum_mode mode, const char *what)
{
    bool wrong = data->parts || data->dissolved || (data->overlaps && !shares(mode));
    return __builtin_expect(wrong, 0) ? not_allowed(codelet, data, mode, what) : 0;
}

int thrum__access_check(const thrum_codelet *codelet, const thrum_data *data, enum thrum_mode mode, const char *what)
{
    bool reads = mode == THRUM_MODE_R || mode == THRUM_MODE_RW || mode == THRUM_MODE_COMMUTE;
    if (__builtin_expect(reads && !data->front.written, 0))
        return not_allowed(codelet, data, mode, what);
    return thrum__parts_check(codelet, data, mode, what);
}
