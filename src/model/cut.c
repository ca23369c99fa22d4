/* SPDX-License-Identifier: MIT
 *
 * Parts: handles whose homes lie in that of another.
 *
 * A part of a dense handle has the strides of its whole and begins somewhere in it. A part of CSR is a run of rows: its
 * values and columns are a stretch of the whole's, but its row_start begins at 0, and so is a copy from which the first
 * row's beginning has been taken off.
 */
#include "base/alloc.h"
#include "base/fault.h"
#include "model/data_int.h"

#include <stdio.h>
#include <string.h>

/* ---- Which cuts can be ------------------------------------------------------------------------------------------- */

static int check_dimension(const thrum_data *data, const thrum_cut *cut, uint32_t d, const char *what)
{
    char text[THRUM__DATA_TEXT];
    size_t pieces = cut->pieces[d];
    if (d >= data->home.dims && (pieces > 1 || cut->shadow[d]))
        return thrum__fault(THRUM_EDATA, "%s: %s[%u] is %zu, but %s has %u dimension%s", what,
                            pieces > 1 ? "pieces" : "shadow", d, pieces > 1 ? pieces : cut->shadow[d],
                            thrum__data_text(data, text), data->home.dims, data->home.dims == 1 ? "" : "s");
    if (d < data->home.dims && pieces > data->form->extent[d])
        return thrum__fault(THRUM_EDATA, "%s: %s cannot be cut into pieces[%u] = %zu: dimension %u has %zu elements",
                            what, thrum__data_text(data, text), d, pieces, d, data->form->extent[d]);
    return 0;
}

static int check_sparse(const thrum_data *data, const thrum_cut *cut, const char *what)
{
    char text[THRUM__DATA_TEXT];
    if (cut->pieces[0] > 1 || cut->shadow[0])
        return thrum__fault(THRUM_EDATA, "%s: %s is cut by rows: pieces[1] and shadow[1], but %s[0] is %zu", what,
                            thrum__data_text(data, text), cut->pieces[0] > 1 ? "pieces" : "shadow",
                            cut->pieces[0] > 1 ? cut->pieces[0] : cut->shadow[0]);
    if (!data->home.ptr)
        return thrum__fault(THRUM_EDATA,
                            "%s: %s has no content yet, and where its parts are depends on where its rows begin", what,
                            thrum__data_text(data, text));
    return 0;
}

static int check_cut(const thrum_data *data, const thrum_cut *cut, const char *what)
{
    char text[THRUM__DATA_TEXT];
    if (!cut)
        return thrum__fault(THRUM_EINVAL, "%s: the cut is NULL", what);
    if (data->parts)
        return thrum__fault(THRUM_EDATA, "%s: %s is partitioned already", what, thrum__data_text(data, text));
    if (data->layout == THRUM__VARIABLE || data->layout == THRUM__CUSTOM)
        return thrum__fault(THRUM_EDATA, "%s: %s cannot be cut: it has no dimensions", what,
                            thrum__data_text(data, text));
    for (uint32_t d = 0; d < THRUM_DIMS_MOST; d++) {
        int err = check_dimension(data, cut, d, what);
        if (err)
            return err;
    }
    return data->layout == THRUM__CSR ? check_sparse(data, cut, what) : 0;
}

/* ---- Rows of CSR ------------------------------------------------------------------------------------------------- */

static uint64_t index_at(const thrum_data *data, size_t number)
{
    const void *row_start = data->home.row_start;
    return data->index_bytes == 4 ? ((const uint32_t *)row_start)[number] : ((const uint64_t *)row_start)[number];
}

static void *rebased_rows(const thrum_data *data, size_t first_row, size_t rows)
{
    uint64_t base = index_at(data, first_row);
    void *memory = thrum__alloc((rows + 1) * data->index_bytes);
    for (size_t i = 0; memory && i <= rows; i++) {
        uint64_t index = index_at(data, first_row + i) - base;
        if (data->index_bytes == 4)
            ((uint32_t *)memory)[i] = (uint32_t)index;
        else
            ((uint64_t *)memory)[i] = index;
    }
    return memory;
}

/* Parts reach where these numbers say: wrong ones would lead out of the memory. */
static int check_rows(const thrum_data *data, const char *what)
{
    char text[THRUM__DATA_TEXT];
    size_t rows = data->form->extent[1];
    uint64_t last = 0;
    for (size_t i = 0; i <= rows; i++) {
        uint64_t index = index_at(data, i);
        bool wrong = i == 0 ? index != 0 : index < last;
        if (wrong || (i == rows && index != data->form->extent[0]))
            return thrum__fault(
                THRUM_EDATA,
                "%s: row_start[%zu] of %s is %llu; they begin with 0, do not decrease, and end with the "
                "number of values, %zu",
                what, i, thrum__data_text(data, text), (unsigned long long)index, data->form->extent[0]);
        last = index;
    }
    return 0;
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

struct range {
    size_t first, count;
};

/* The first ones have one more where it does not come out even; then the shadow, as far as there is something. */
static struct range piece_of(size_t extent, size_t pieces, size_t number, size_t shadow)
{
    size_t each = extent / pieces, larger = extent % pieces;
    size_t first = number * each + (number < larger ? number : larger), end = first + each + (number < larger);
    size_t before = shadow < first ? shadow : first, after = shadow < extent - end ? shadow : extent - end;
    return (struct range){first - before, end + after - (first - before)};
}

static int place_dense(thrum_data *part, const thrum_data *whole, const struct range *ranges)
{
    thrum__shape shape = {
        .layout = (enum thrum__layout_kind)whole->layout, .dims = whole->home.dims, .elem = whole->home.elem};
    size_t offset = 0;
    for (uint32_t d = 0; d < whole->home.dims; d++) {
        shape.extent[d] = ranges[d].count;
        shape.stride[d] = whole->form->stride[d];
        part->offset[d] = ranges[d].first;
        offset += ranges[d].first * whole->form->stride[d];
    }
    part->home.ptr = (char *)whole->home.ptr + offset * whole->home.elem;
    return thrum__data_shape(part, &shape, false);
}

static int place_sparse(thrum_data *part, const thrum_data *whole, struct range rows)
{
    size_t first = index_at(whole, rows.first), values = index_at(whole, rows.first + rows.count) - first;
    if (thrum__data_shape_sparse(part, rows.count, values, whole->home.elem, whole->index_bytes) ||
        !(part->home.row_start = rebased_rows(whole, rows.first, rows.count)))
        return THRUM_ENOMEM;
    part->owns_rows = true;
    part->home.ptr = (char *)whole->home.ptr + first * whole->home.elem;
    part->home.columns = (char *)whole->home.columns + first * whole->index_bytes;
    part->offset[0] = first;
    part->offset[1] = rows.first;
    return 0;
}

/* "A[2,0]" for a part of "A"; of CSR, "A[2]". */
static int name_part(thrum_data *part, const thrum_data *whole, const size_t *at)
{
    if (!whole->name)
        return 0;
    size_t room = strlen(whole->name) + 24 * (size_t)whole->home.dims + 2;
    if (!(part->name = thrum__alloc(room)))
        return THRUM_ENOMEM;
    const char *between = "[";
    int used = snprintf(part->name, room, "%s", whole->name);
    for (uint32_t d = whole->layout == THRUM__CSR; d < whole->home.dims; d++, between = ",")
        used += snprintf(part->name + used, room - (size_t)used, "%s%zu", between, at[d]);
    snprintf(part->name + used, room - (size_t)used, "]");
    return 0;
}

/* The part at this place among the pieces: not entered yet. NULL without memory. */
static thrum_data *make_part(const thrum_data *whole, const size_t *at, bool overlaps)
{
    struct range ranges[THRUM_DIMS_MOST];
    thrum_data *part = thrum__data_blank(whole->space);
    if (!part)
        return NULL;
    for (uint32_t d = 0; d < whole->home.dims; d++)
        ranges[d] = piece_of(whole->form->extent[d], whole->cut.pieces[d], at[d], whole->cut.shadow[d]);
    part->whole = (thrum_data *)(uintptr_t)whole;
    part->overlaps = overlaps;
    int err = name_part(part, whole, at);
    if (!err)
        err = whole->layout == THRUM__CSR ? place_sparse(part, whole, ranges[1]) : place_dense(part, whole, ranges);
    if (!err)
        return part;
    thrum__data_scrap(part);
    return NULL;
}

/* To the next place: dimension 0 runs fastest. */
static void step(const thrum_data *whole, size_t *at)
{
    for (uint32_t d = 0; d < whole->home.dims && ++at[d] == whole->cut.pieces[d]; d++)
        at[d] = 0;
}

/* Parts are entered when all of them are there, so that nobody sees some. Returns how many could be made. */
static size_t make_parts(thrum_data *data, thrum_data **parts, size_t count, bool overlaps)
{
    size_t at[THRUM_DIMS_MOST] = {0}, made = 0;
    for (; made < count && (parts[made] = make_part(data, at, overlaps)); made++)
        step(data, at);
    if (made == count)
        for (size_t i = 0; i < count; i++)
            thrum__data_enter(parts[i]);
    else
        for (size_t i = 0; i < made; i++)
            thrum__data_scrap(parts[i]);
    return made;
}

/* Notes the cut with 1 for 0, and how many parts that is: no more than elements, so it does not overflow. */
static size_t note_cut(thrum_data *data, const thrum_cut *cut, bool *overlaps)
{
    size_t count = 1;
    *overlaps = data->overlaps;
    data->cut = *cut;
    for (uint32_t d = 0; d < THRUM_DIMS_MOST; d++) {
        if (data->cut.pieces[d] == 0)
            data->cut.pieces[d] = 1;
        *overlaps |= data->cut.pieces[d] > 1 && data->cut.shadow[d] > 0;
        count *= data->cut.pieces[d];
    }
    return count;
}

int thrum__data_cut(thrum_data *data, const thrum_cut *cut, const char *what)
{
    bool overlaps;
    int err = check_cut(data, cut, what);
    if (!err)
        err = thrum__data_make_home(data);
    if (!err && data->layout == THRUM__CSR)
        err = check_rows(data, what);
    if (err)
        return err;
    size_t count = note_cut(data, cut, &overlaps);
    thrum_data **parts = count <= PTRDIFF_MAX / sizeof *parts ? thrum__alloc(count * sizeof *parts) : NULL;
    if (!parts || make_parts(data, parts, count, overlaps) < count) {
        thrum__free(parts);
        return thrum__fault(THRUM_ENOMEM, "%s: no memory for %zu parts", what, count);
    }
    data->parts = parts;
    data->in_parts = true;
    atomic_store_explicit(&data->space->was_cut, true, memory_order_relaxed);
    data->part_count = count;
    return 0;
}

void thrum__data_uncut(thrum_data *data, bool keep)
{
    thrum_data **parts = data->parts;
    size_t count = data->part_count;
    data->parts = NULL;
    data->in_parts = false;
    data->part_count = 0;
    if (keep)
        return;
    for (size_t i = 0; i < count; i++)
        thrum__data_retire(parts[i]);
    thrum__free(parts);
}

void thrum__data_parts_free(thrum_data **parts)
{
    thrum__free(parts);
}
