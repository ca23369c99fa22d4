/* SPDX-License-Identifier: MIT
 *
 * The geometry of layouts: which shapes can be, how large they are, and what it takes to copy them.
 */
#include "base/fault.h"
#include "model/data_int.h"

#include <stdio.h>
#include <string.h>

enum { PART_ALIGN = 64 }; /* of the three parts of packed CSR */

/* ---- Checking ---------------------------------------------------------------------------------------------------- */

enum { ARGUMENT_NAME = 24 };

/* What the public call calls the extent or the stride of a dimension. */
static const char *argument(const thrum__shape *shape, uint32_t d, bool stride, char name[ARGUMENT_NAME])
{
    static const char *const extents[][3] = {
        [THRUM__VECTOR] = {"count"}, [THRUM__MATRIX] = {"rows", "columns"}, [THRUM__BLOCK] = {"nx", "ny", "nz"}};
    static const char *const strides[][3] = {
        [THRUM__VECTOR] = {""}, [THRUM__MATRIX] = {"", "ld"}, [THRUM__BLOCK] = {"", "ldy", "ldz"}};
    if (shape->layout != THRUM__TENSOR)
        return stride ? strides[shape->layout][d] : extents[shape->layout][d];
    snprintf(name, ARGUMENT_NAME, stride ? "stride[%u]" : "extent[%u]", d);
    return name;
}

static int check_zeros(const thrum__shape *shape, const char *what)
{
    char name[ARGUMENT_NAME];
    const char *zero = shape->elem ? NULL : shape->layout == THRUM__VARIABLE ? "bytes" : "elem";
    for (uint32_t d = 0; d < shape->dims && !zero; d++)
        if (shape->extent[d] == 0)
            zero = argument(shape, d, false, name);
    return zero ? thrum__fault(THRUM_EINVAL, "%s: %s is zero, but must be at least 1", what, zero) : 0;
}

static int too_large(const thrum__shape *shape, uint32_t d, bool stride, const char *what)
{
    char name[ARGUMENT_NAME];
    return thrum__fault(THRUM_EINVAL, "%s: with %s (%zu) and elem (%zu) the size is beyond what memory can have", what,
                        argument(shape, d, stride, name), stride ? shape->stride[d] : shape->extent[d], shape->elem);
}

/* Elements from the first to the last one, both included, when `count` steps more of size `stride` are to be made. */
static bool reach_further(size_t *reach, size_t count, size_t stride, size_t elem)
{
    size_t steps, bytes;
    return !__builtin_mul_overflow(count, stride, &steps) && !__builtin_add_overflow(*reach, steps, reach) &&
           !__builtin_mul_overflow(*reach, elem, &bytes) && bytes <= PTRDIFF_MAX;
}

static int check_packed(const thrum__shape *shape, const char *what)
{
    size_t count = 1;
    for (uint32_t d = 0; d < shape->dims; d++)
        if (!reach_further(&count, shape->extent[d] - 1, count, shape->elem))
            return too_large(shape, d, false, what);
    return 0;
}

static int check_strides(const thrum__shape *shape, const char *what)
{
    char name[ARGUMENT_NAME], before[ARGUMENT_NAME];
    size_t reach = 1;
    if (shape->dims && shape->stride[0] != 1)
        return thrum__fault(THRUM_EINVAL, "%s: %s is %zu, but dimension 0 is contiguous: it must be 1", what,
                            argument(shape, 0, true, name), shape->stride[0]);
    for (uint32_t d = 0; d < shape->dims; d++) {
        if (shape->stride[d] < reach)
            return thrum__fault(THRUM_EINVAL,
                                "%s: %s is %zu, but must be at least %zu, what the dimensions up to %s cover: elements "
                                "would overlap",
                                what, argument(shape, d, true, name), shape->stride[d], reach,
                                argument(shape, d - 1, false, before));
        if (!reach_further(&reach, shape->extent[d] - 1, shape->stride[d], shape->elem))
            return too_large(shape, d, d > 0, what);
    }
    return 0;
}

int thrum__shape_check(const thrum__shape *shape, bool packed, const char *what)
{
    int err = check_zeros(shape, what);
    if (!err && shape->elem > PTRDIFF_MAX)
        err = thrum__fault(THRUM_EINVAL, "%s: %s (%zu) is beyond what memory can have", what,
                           shape->dims ? "elem" : "bytes", shape->elem);
    if (!err)
        err = check_packed(shape, what);
    return err || packed ? err : check_strides(shape, what);
}

/* ---- Sizes ------------------------------------------------------------------------------------------------------- */

int thrum__data_shape(thrum_data *data, const thrum__shape *shape, bool packed)
{
    thrum__form form = {.elem = shape->elem, .dims = shape->dims};
    size_t count = 1;
    for (uint32_t d = 0; d < shape->dims; d++) {
        form.extent[d] = shape->extent[d];
        form.packed[d] = count;
        form.stride[d] = packed ? count : shape->stride[d];
        count *= shape->extent[d];
    }
    data->layout = (uint8_t)shape->layout;
    data->bytes = count * shape->elem;
    return thrum__data_set_form(data, &form);
}

static bool round_up(size_t *bytes)
{
    if (*bytes > PTRDIFF_MAX - PART_ALIGN)
        return false;
    *bytes = (*bytes + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
    return true;
}

/* Adds a part of CSR behind what there is. */
static bool add_part(size_t *bytes, size_t count, size_t size)
{
    size_t more;
    return round_up(bytes) && !__builtin_mul_overflow(count, size, &more) && more <= PTRDIFF_MAX - *bytes &&
           (*bytes += more, true);
}

int thrum__data_shape_sparse(thrum_data *data, size_t rows, size_t values, size_t elem, size_t index_bytes)
{
    size_t bytes = 0;
    if (rows == SIZE_MAX || !add_part(&bytes, values, elem) || !add_part(&bytes, rows + 1, index_bytes) ||
        !add_part(&bytes, values, index_bytes))
        return THRUM_EINVAL;
    data->layout = THRUM__CSR;
    data->index_bytes = (uint8_t)index_bytes;
    data->bytes = bytes;
    return thrum__data_set_form(
        data, &(thrum__form){.elem = elem, .dims = 2, .extent = {values, rows}, .stride = {1}, .packed = {1}});
}

/* Both are within `bytes`, so nothing overflows. */
size_t thrum__packed_row_start(const thrum_data *data)
{
    size_t bytes = data->form->extent[0] * data->home.elem;
    return (bytes + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
}

size_t thrum__packed_columns(const thrum_data *data)
{
    size_t bytes = thrum__packed_row_start(data) + (data->form->extent[1] + 1) * data->index_bytes;
    return (bytes + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN;
}

size_t thrum__data_packed_bytes(const thrum_data *data)
{
    return data->bytes;
}

void thrum__data_packed_buffer(const thrum_data *data, void *ptr, int node, thrum_buffer *buffer)
{
    /* Not what may be written meanwhile: the pointers at home. */
    *buffer = (thrum_buffer){.ptr = ptr,
                             .elem = data->home.elem,
                             .extent = data->home.extent,
                             .stride = data->form->packed,
                             .dims = data->home.dims,
                             .node = (uint32_t)node,
                             .data = data->home.data};
    if (data->layout == THRUM__CSR) {
        buffer->row_start = (char *)ptr + thrum__packed_row_start(data);
        buffer->columns = (char *)ptr + thrum__packed_columns(data);
    }
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* A dimension of a copy: how often, and the steps on both sides in bytes. */
struct level {
    size_t count, to, from;
};

struct levels {
    size_t bytes; /* contiguous on both sides */
    uint32_t count;
    struct level level[THRUM_DIMS_MOST];
};

/* Puts a dimension around those that are there; one that goes on where they end is no dimension of its own. */
static void wrap(struct levels *levels, struct level outer)
{
    if (outer.count == 1)
        return;
    struct level *inner = levels->count ? &levels->level[levels->count - 1] : NULL;
    if (!inner && outer.to == levels->bytes && outer.from == levels->bytes)
        levels->bytes *= outer.count;
    else if (inner && outer.to == inner->to * inner->count && outer.from == inner->from * inner->count)
        inner->count *= outer.count;
    else
        levels->level[levels->count++] = outer;
}

static struct levels dense_levels(const thrum_data *data, bool to_packed, bool from_packed)
{
    size_t elem = data->home.elem;
    const size_t *to = to_packed ? data->form->packed : data->form->stride,
                 *from = from_packed ? data->form->packed : data->form->stride;
    struct levels levels = {.bytes = elem};
    for (uint32_t d = 0; d < data->home.dims; d++)
        wrap(&levels, (struct level){data->form->extent[d], to[d] * elem, from[d] * elem});
    return levels;
}

/* The two innermost levels are one copy. */
static int copy_planes(const struct levels *levels, char *to, const char *from, thrum__copy_fn *each, void *ctx)
{
    struct level one = {.count = 1};
    const struct level *rows = levels->count > 0 ? &levels->level[0] : &one;
    const struct level *planes = levels->count > 1 ? &levels->level[1] : &one;
    thrum_copy copy = {.to = to,
                       .from = from,
                       .bytes = levels->bytes,
                       .rows = rows->count,
                       .planes = planes->count,
                       .to_row = rows->to,
                       .from_row = rows->from,
                       .to_plane = planes->to,
                       .from_plane = planes->from};
    return each(&copy, ctx);
}

static int copy_levels(const struct levels *levels, char *to, const char *from, thrum__copy_fn *each, void *ctx)
{
    size_t at[THRUM_DIMS_MOST] = {0};
    for (;;) {
        int err = copy_planes(levels, to, from, each, ctx);
        if (err)
            return err;
        uint32_t l = 2;
        for (; l < levels->count; l++) {
            const struct level *level = &levels->level[l];
            to += level->to;
            from += level->from;
            if (++at[l] < level->count)
                break;
            to -= level->to * level->count;
            from -= level->from * level->count;
            at[l] = 0;
        }
        if (l >= levels->count)
            return 0;
    }
}

static int copy_bytes(void *to, const void *from, size_t bytes, thrum__copy_fn *each, void *ctx)
{
    struct levels levels = {.bytes = bytes};
    return bytes ? copy_planes(&levels, to, from, each, ctx) : 0;
}

static int copy_sparse(const thrum_data *data, const thrum_buffer *to, const thrum_buffer *from, thrum__copy_fn *each,
                       void *ctx)
{
    int err = copy_bytes(to->ptr, from->ptr, data->form->extent[0] * data->home.elem, each, ctx);
    if (!err)
        err = copy_bytes(to->row_start, from->row_start, (data->form->extent[1] + 1) * data->index_bytes, each, ctx);
    if (!err)
        err = copy_bytes(to->columns, from->columns, data->form->extent[0] * data->index_bytes, each, ctx);
    return err;
}

static thrum_buffer sparse_side(const thrum_data *data, void *ptr, bool packed)
{
    thrum_buffer side = data->home;
    if (packed)
        thrum__data_packed_buffer(data, ptr, 0, &side);
    else
        side.ptr = ptr;
    return side;
}

int thrum__data_copies(const thrum_data *data, void *to, bool to_packed, const void *from, bool from_packed,
                       thrum__copy_fn *each, void *ctx)
{
    if (to_packed && from_packed)
        return copy_bytes(to, from, data->bytes, each, ctx);
    if (data->layout == THRUM__CSR) {
        thrum_buffer to_side = sparse_side(data, to, to_packed);
        thrum_buffer from_side = sparse_side(data, (void *)(uintptr_t)from, from_packed);
        return copy_sparse(data, &to_side, &from_side, each, ctx);
    }
    struct levels levels = dense_levels(data, to_packed, from_packed);
    return copy_levels(&levels, to, from, each, ctx);
}

/* ---- Shapes as numbers ------------------------------------------------------------------------------------------- */

/* Kept in files: the same in every process. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

uint64_t thrum__data_footprint(const thrum_data *data)
{
    uint64_t hash = mix(UINT64_C(0x7468726d), data->layout);
    hash = mix(hash, data->home.elem);
    hash = mix(hash, data->index_bytes);
    for (uint32_t d = 0; d < data->home.dims; d++)
        hash = mix(hash, data->form->extent[d]);
    for (const char *c = data->custom ? data->custom->name : ""; *c; c++)
        hash = mix(hash, (unsigned char)*c);
    return hash;
}

static bool same_custom(const thrum_layout *a, const thrum_layout *b)
{
    return a == b || (a && b && a->pack == b->pack && a->unpack == b->unpack);
}

bool thrum__data_alike(const thrum_data *a, const thrum_data *b)
{
    return a->layout == b->layout && a->home.dims == b->home.dims && a->home.elem == b->home.elem &&
           a->index_bytes == b->index_bytes && same_custom(a->custom, b->custom) &&
           memcmp(a->form->extent, b->form->extent, sizeof a->form->extent) == 0;
}
