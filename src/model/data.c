/* SPDX-License-Identifier: MIT
 *
 * The life of handles: made, found out to be usable or not, retired, and used again.
 *
 * A retired handle lies in its space's list of gone ones until QUARANTINE others have followed it. Until then whoever
 * uses it is told so; a program that uses a handle still later finds another one in its place.
 */
#include "base/alloc.h"
#include "base/fault.h"
#include "model/data_int.h"
#include "model/reduction.h"

#include <stdio.h>
#include <string.h>

enum { QUARANTINE = 1024, WHOLE_PAGES = 1 << 21 };

/* ---- Memory at home ---------------------------------------------------------------------------------------------- */

/* Kernels like whole cache lines; what is large comes in pages, and those that are given back are kept for a while. */
void *thrum__data_memory(const thrum_data *data)
{
    if (data->custom)
        return data->custom->make ? data->custom->make(data->custom->ctx) : NULL;
    return data->bytes < WHOLE_PAGES ? thrum__alloc_aligned(data->bytes) : thrum__array(data->bytes);
}

void thrum__data_memory_free(const thrum_data *data, void *memory)
{
    if (!data->custom)
        thrum__array_keep(memory, data->bytes);
    else if (data->custom->drop)
        data->custom->drop(memory, data->custom->ctx);
}

/* False if somebody was faster. */
static bool move_in(thrum_data *data, void *memory)
{
    thrum__lock_take(&data->space->home_lock);
    bool empty = !data->home.ptr;
    if (empty) {
        data->owns_home = true;
        if (data->layout == THRUM__CSR) {
            data->home.row_start = (char *)memory + thrum__packed_row_start(data);
            data->home.columns = (char *)memory + thrum__packed_columns(data);
        }
        __atomic_store_n(&data->home.ptr, memory, __ATOMIC_RELEASE); /* partner: thrum__data_make_home */
    }
    thrum__lock_give(&data->space->home_lock);
    return empty;
}

/* The memory is got without the lock: a custom layout's `make` is the user's. */
int thrum__data_make_new_home(thrum_data *data)
{
    char text[THRUM__DATA_TEXT];
    if (data->custom && !data->custom->make)
        return thrum__fault(THRUM_EINVAL, "%s has no memory, and its layout no function `make`",
                            thrum__data_text(data, text));
    void *memory = thrum__data_memory(data);
    if (!memory)
        return thrum__fault(THRUM_ENOMEM, "no memory for the %zu bytes of %s", data->bytes,
                            thrum__data_text(data, text));
    if (!move_in(data, memory))
        thrum__data_memory_free(data, memory);
    return 0;
}

/* ---- Spaces and lists -------------------------------------------------------------------------------------------- */

static void append_gone_locked(thrum__space *space, thrum_data *data)
{
    data->next = NULL;
    data->previous = space->gone_last;
    *(space->gone_last ? &space->gone_last->next : &space->gone_first) = data;
    space->gone_last = data;
    space->gone++;
}

static thrum_data *take_gone_locked(thrum__space *space)
{
    thrum_data *data = space->gone_first;
    if (!data || space->gone <= QUARANTINE)
        return NULL;
    space->gone_first = data->next;
    space->gone_first->previous = NULL;
    space->gone--;
    return data;
}

static void link_live_locked(thrum__space *space, thrum_data *data)
{
    data->previous = NULL;
    data->next = space->first;
    if (space->first)
        space->first->previous = data;
    space->first = data;
    space->live++;
}

static void unlink_live_locked(thrum__space *space, thrum_data *data)
{
    *(data->previous ? &data->previous->next : &space->first) = data->next;
    if (data->next)
        data->next->previous = data->previous;
    space->live--;
}

/* What belongs to the handle alone, but for its name: an error may want to tell that still. */
static void drop_contents(thrum_data *data)
{
    if (data->owns_home && data->home.ptr)
        thrum__data_memory_free(data, data->home.ptr);
    if (data->owns_rows)
        thrum__free(data->home.row_start);
    thrum__free((void *)(uintptr_t)data->custom);
    thrum__free(data->parts);
    data->home.ptr = data->home.row_start = data->home.columns = data->near = NULL;
    data->owns_home = data->owns_rows = false;
    data->custom = NULL;
    data->parts = NULL;
    data->in_parts = false;
    data->part_count = 0;
}

static void drop_all(thrum_data *data)
{
    for (; data; data = data->next) {
        drop_contents(data);
        thrum__free(data->name);
    }
}

/* ---- Forms ------------------------------------------------------------------------------------------------------- */

/* How many of the newest are looked at: tiles of a matrix have four, those at its edges included. Two forms may be
 * equal; that is waste, and no more. */
enum { FORMS_TO_LOOK_AT = 8 };

static bool is_form(const thrum__form *a, const thrum__form *b)
{
    return a->elem == b->elem && a->dims == b->dims && memcmp(a->extent, b->extent, sizeof a->extent) == 0 &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0 && memcmp(a->packed, b->packed, sizeof a->packed) == 0;
}

static thrum__form *find_form_locked(const thrum__space *space, const thrum__form *like)
{
    thrum__form *form = space->forms;
    for (int i = 1; form && !is_form(form, like); i++)
        form = i < FORMS_TO_LOOK_AT ? form->next : NULL;
    return form;
}

static thrum__form *new_form_locked(thrum__space *space, const thrum__form *like)
{
    thrum__form *form = thrum__alloc_aligned(sizeof *form);
    if (!form)
        return NULL;
    *form = *like;
    form->users = 0;
    form->previous = NULL;
    form->next = space->forms;
    if (space->forms)
        space->forms->previous = form;
    space->forms = form;
    return form;
}

int thrum__data_set_form(thrum_data *data, const thrum__form *like)
{
    thrum__space *space = data->space;
    thrum__favour_take_lock(&space->lock);
    thrum__form *form = find_form_locked(space, like);
    if (!form)
        form = new_form_locked(space, like);
    if (form)
        form->users++;
    thrum__favour_give_lock(&space->lock);
    if (!form)
        return THRUM_ENOMEM;
    data->form = form;
    data->home.elem = form->elem;
    data->home.dims = form->dims;
    data->home.extent = form->extent;
    data->home.stride = form->stride;
    return 0;
}

/* A gone handle keeps it, since complaints tell what the handle was, until the handle's memory is used again. */
static void drop_form_locked(thrum_data *data)
{
    thrum__form *form = (thrum__form *)(uintptr_t)data->form;
    data->form = NULL;
    if (!form || --form->users > 0)
        return;
    *(form->previous ? &form->previous->next : &data->space->forms) = form->next;
    if (form->next)
        form->next->previous = form->previous;
    thrum__free(form);
}

static void forms_free(thrum__form *form)
{
    for (thrum__form *next; form; form = next) {
        next = form->next;
        thrum__free(form);
    }
}

/* ---- Slabs ------------------------------------------------------------------------------------------------------- */

/* Handles lie side by side: a program with thousands of them goes through a few at each insertion, and pages are what
 * it would run out of first. So slabs grow, from a page to what the system gives in one large page. */
enum { SLAB_FIRST = 1 << 12, SLAB_SMALL = 1 << 18, SLAB_LARGE = 1 << 21 };

typedef struct thrum__data_slab {
    struct thrum__data_slab *next;
    size_t bytes, used, count; /* handles */
    thrum_data data[];
} thrum__data_slab;

static size_t next_slab_bytes(const thrum__data_slab *newest)
{
    return !newest ? SLAB_FIRST : newest->bytes < SLAB_SMALL ? 2 * newest->bytes : SLAB_LARGE;
}

static thrum__data_slab *slab_new(size_t bytes)
{
    thrum__data_slab *slab = bytes < SLAB_LARGE ? thrum__alloc_aligned(bytes) : thrum__array(bytes);
    if (slab)
        *slab = (thrum__data_slab){.bytes = bytes, .count = (bytes - sizeof *slab) / sizeof(thrum_data)};
    return slab;
}

static void slabs_free(thrum__data_slab *slab)
{
    while (slab) {
        thrum__data_slab *next = slab->next;
        if (slab->bytes < SLAB_LARGE)
            thrum__free(slab);
        else
            thrum__array_free(slab, slab->bytes);
        slab = next;
    }
}

static thrum_data *new_memory_locked(thrum__space *space)
{
    thrum_data *data = space->scrapped;
    if (data) {
        space->scrapped = data->next;
        return data;
    }
    thrum__data_slab *slab = space->slabs;
    if (!slab || slab->used == slab->count) {
        slab = slab_new(next_slab_bytes(slab));
        if (!slab)
            return NULL;
        slab->next = space->slabs;
        space->slabs = slab;
    }
    return &slab->data[slab->used++];
}

/* ---- The space --------------------------------------------------------------------------------------------------- */

void thrum__space_init(thrum__space *space, thrum_executor *ex, int nodes)
{
    *space = (thrum__space){.ex = ex, .nodes = nodes};
}

/* Without the lock: nobody else is there, and in the child of a fork it may be held for ever. */
void thrum__space_fini(thrum__space *space)
{
    for (thrum_data *data = space->first; data; data = data->next)
        thrum__reduction_drop(data);
    drop_all(space->first);
    drop_all(space->gone_first);
    slabs_free(space->slabs);
    forms_free(space->forms);
    *space = (thrum__space){.ex = space->ex};
}

/* ---- Making and retiring ----------------------------------------------------------------------------------------- */

thrum_data *thrum__data_blank(thrum__space *space)
{
    thrum__favour_take_lock(&space->lock);
    thrum_data *gone = take_gone_locked(space), *data = gone ? gone : new_memory_locked(space);
    if (gone)
        drop_form_locked(gone);
    thrum__favour_give_lock(&space->lock);
    if (!data)
        return NULL;
    if (gone)
        thrum__free(gone->name);
    memset(data, 0, sizeof *data);
    data->space = space;
    data->home.data = data;
    return data;
}

void thrum__data_enter(thrum_data *data)
{
    data->of_user = data->front.written = data->home.ptr != NULL;
    atomic_store_explicit(&data->kind, THRUM__DATA_LIVE, memory_order_relaxed);
    thrum__favour_take_lock(&data->space->lock);
    link_live_locked(data->space, data);
    thrum__favour_give_lock(&data->space->lock);
}

void thrum__data_scrap(thrum_data *data)
{
    thrum__space *space = data->space;
    drop_contents(data);
    thrum__free(data->name);
    thrum__favour_take_lock(&space->lock);
    drop_form_locked(data);
    data->next = space->scrapped;
    space->scrapped = data;
    thrum__favour_give_lock(&space->lock);
}

void thrum__data_retire(thrum_data *data)
{
    thrum__reduction_free(data);
    if (data->parts)
        thrum__data_uncut(data, false);
    atomic_store_explicit(&data->kind, THRUM__DATA_GONE, memory_order_relaxed);
    drop_contents(data);
    thrum__favour_take_lock(&data->space->lock);
    unlink_live_locked(data->space, data);
    append_gone_locked(data->space, data);
    thrum__favour_give_lock(&data->space->lock);
}

/* ---- Kinds of handles -------------------------------------------------------------------------------------------- */

static thrum_data *no_memory(const char *what)
{
    thrum__fault(THRUM_ENOMEM, "%s: no memory", what);
    return NULL;
}

thrum_data *thrum__data_dense(thrum__space *space, const thrum__shape *shape, void *ptr, const char *what)
{
    if (thrum__shape_check(shape, !ptr, what))
        return NULL;
    thrum_data *data = thrum__data_blank(space);
    if (!data)
        return no_memory(what);
    if (thrum__data_shape(data, shape, !ptr)) {
        thrum__data_scrap(data);
        return no_memory(what);
    }
    data->home.ptr = ptr;
    thrum__data_enter(data);
    return data;
}

/* Indices are read here too, when it is cut; and no kernel could use others. */
static int check_indices(const thrum_buffer *home, size_t index_bytes, const char *what)
{
    if (index_bytes != 4 && index_bytes != 8)
        return thrum__fault(THRUM_EINVAL, "%s: index_bytes is %zu, but can be 4 or 8", what, index_bytes);
    int given = !!home->ptr + !!home->row_start + !!home->columns;
    if (given != 0 && given != 3)
        return thrum__fault(
            THRUM_EINVAL, "%s: %s is NULL and others of row_start, columns and values are not; give all three or none",
            what,
            !home->row_start ? "row_start"
            : !home->columns ? "columns"
                             : "values");
    bool rows_fit = (uintptr_t)home->row_start % index_bytes == 0;
    if (!rows_fit || (uintptr_t)home->columns % index_bytes != 0)
        return thrum__fault(THRUM_EINVAL, "%s: the address of %s is not a multiple of index_bytes, %zu", what,
                            rows_fit ? "columns" : "row_start", index_bytes);
    return 0;
}

static int check_sparse(const thrum_buffer *home, size_t index_bytes, const char *what)
{
    const char *zero = !home->elem ? "elem" : !home->extent[1] ? "rows" : !home->extent[0] ? "values_count" : NULL;
    if (zero)
        return thrum__fault(THRUM_EINVAL, "%s: %s is zero, but must be at least 1", what, zero);
    return check_indices(home, index_bytes, what);
}

thrum_data *thrum__data_sparse(thrum__space *space, const thrum_buffer *home, size_t index_bytes, const char *what)
{
    if (check_sparse(home, index_bytes, what))
        return NULL;
    thrum_data *data = thrum__data_blank(space);
    if (!data)
        return no_memory(what);
    int err = thrum__data_shape_sparse(data, home->extent[1], home->extent[0], home->elem, index_bytes);
    if (err) {
        thrum__data_scrap(data);
        if (err == THRUM_ENOMEM)
            return no_memory(what);
        thrum__fault(err,
                     "%s: rows (%zu) and values_count (%zu) with elem (%zu) make a size beyond what memory can have",
                     what, home->extent[1], home->extent[0], home->elem);
        return NULL;
    }
    data->home.ptr = home->ptr;
    data->home.row_start = home->row_start;
    data->home.columns = home->columns;
    thrum__data_enter(data);
    return data;
}

static thrum_layout *copy_layout(const thrum_layout *layout)
{
    const char *name = layout->name ? layout->name : "";
    size_t length = strlen(name) + 1;
    thrum_layout *copy = thrum__alloc(sizeof *copy + length);
    if (!copy)
        return NULL;
    *copy = *layout;
    copy->name = memcpy(copy + 1, name, length);
    return copy;
}

static int check_layout(const thrum_layout *layout, const void *home, const char *what)
{
    if (!layout)
        return thrum__fault(THRUM_EINVAL, "%s: layout is NULL", what);
    const char *missing = !layout->bytes ? "bytes" : !layout->pack ? "pack" : !layout->unpack ? "unpack" : NULL;
    const char *name = layout->name ? layout->name : "";
    if (missing)
        return thrum__fault(THRUM_EINVAL, "%s: the layout '%s' has no function `%s`", what, name, missing);
    if (layout->make && !layout->drop)
        return thrum__fault(THRUM_EINVAL, "%s: the layout '%s' has a function `make`, but no `drop`", what, name);
    if (!home && !layout->make)
        return thrum__fault(THRUM_EINVAL,
                            "%s: home is NULL, and the layout '%s' has no function `make` that could make one", what,
                            name);
    return 0;
}

static thrum_data *new_custom(thrum__space *space, const thrum_layout *layout, size_t bytes)
{
    thrum_data *data = thrum__data_blank(space);
    if (!data)
        return NULL;
    data->custom = copy_layout(layout);
    if (!data->custom || thrum__data_shape(data, &(thrum__shape){.layout = THRUM__CUSTOM, .elem = bytes}, true)) {
        thrum__data_scrap(data);
        return NULL;
    }
    return data;
}

thrum_data *thrum__data_own_layout(thrum__space *space, const thrum_layout *layout, void *home, const char *what)
{
    if (check_layout(layout, home, what))
        return NULL;
    size_t bytes = layout->bytes(home, layout->ctx);
    if (bytes == 0 || bytes > PTRDIFF_MAX) {
        thrum__fault(THRUM_EINVAL, "%s: `bytes` of the layout '%s' returned %zu, which is no size", what,
                     layout->name ? layout->name : "", bytes);
        return NULL;
    }
    thrum_data *data = new_custom(space, layout, bytes);
    if (!data)
        return no_memory(what);
    data->home.ptr = home;
    thrum__data_enter(data);
    return data;
}

static thrum_data *blank_like(const thrum_data *data)
{
    if (data->custom)
        return new_custom(data->space, data->custom, data->bytes);
    thrum_data *like = thrum__data_blank(data->space);
    if (!like)
        return NULL;
    thrum__shape shape = {
        .layout = (enum thrum__layout_kind)data->layout, .dims = data->home.dims, .elem = data->home.elem};
    memcpy(shape.extent, data->form->extent, sizeof shape.extent);
    if (data->layout == THRUM__CSR
            ? thrum__data_shape_sparse(like, shape.extent[1], shape.extent[0], shape.elem, data->index_bytes)
            : thrum__data_shape(like, &shape, true)) {
        thrum__data_scrap(like);
        return NULL;
    }
    return like;
}

thrum_data *thrum__data_like(const thrum_data *data)
{
    thrum_data *like = blank_like(data);
    if (!like)
        return no_memory("a copy of a handle");
    if (data->name && !(like->name = thrum__copy_text(data->name))) {
        thrum__data_scrap(like);
        return no_memory("a copy of a handle");
    }
    thrum__data_enter(like);
    return like;
}

/* ---- Names and complaints ---------------------------------------------------------------------------------------- */

int thrum__data_set_name(thrum_data *data, const char *name)
{
    char *copy = NULL;
    if (name && *name && !(copy = thrum__copy_text(name)))
        return thrum__fault(THRUM_ENOMEM, "no memory for the name '%s' of a handle", name);
    thrum__free(data->name);
    data->name = copy;
    return 0;
}

static const char *const kinds[] = {"variable", "vector", "matrix", "block", "tensor", "CSR matrix"};

static void write_extents(const thrum_data *data, char *text, size_t size)
{
    int used = snprintf(text, size, "a %s of", kinds[data->layout]);
    for (uint32_t d = 0; d < data->home.dims && used < (int)size; d++)
        used += snprintf(text + used, size - (size_t)used, d ? " x %zu" : " %zu", data->form->extent[d]);
    if (used < (int)size)
        snprintf(text + used, size - (size_t)used, " elements");
}

char *thrum__data_text(const thrum_data *data, char text[THRUM__DATA_TEXT])
{
    if (data->name)
        snprintf(text, THRUM__DATA_TEXT, "'%s'", data->name);
    else if (data->custom)
        snprintf(text, THRUM__DATA_TEXT, "a handle of the layout '%s'", data->custom->name);
    else if (data->home.dims == 0)
        snprintf(text, THRUM__DATA_TEXT, "a variable of %zu bytes", data->bytes);
    else if (data->layout == THRUM__CSR)
        snprintf(text, THRUM__DATA_TEXT, "a CSR matrix of %zu rows and %zu values", data->form->extent[1],
                 data->form->extent[0]);
    else
        write_extents(data, text, THRUM__DATA_TEXT);
    return text;
}

int thrum__data_refuse(const thrum_data *data, const thrum__space *space, const char *what)
{
    char text[THRUM__DATA_TEXT];
    if (!data)
        return thrum__fault(THRUM_EINVAL, "%s: the data handle is NULL", what);
    uint32_t kind = atomic_load_explicit(&data->kind, memory_order_relaxed);
    if (kind == THRUM__DATA_GONE)
        return thrum__fault(THRUM_EINVAL, "%s: %s has been unregistered%s", what,
                            data->name ? thrum__data_text(data, text) : "the data handle",
                            data->whole ? " with the partition that it was a part of" : "");
    if (kind != THRUM__DATA_LIVE)
        return thrum__fault(THRUM_EINVAL, "%s: this is not a data handle", what);
    (void)space;
    return thrum__fault(THRUM_EINVAL, "%s: %s belongs to another executor", what, thrum__data_text(data, text));
}
