/* SPDX-License-Identifier: MIT
 *
 * Data for random programs: objects of every layout, views of them (the whole, its parts, parts of parts), and what a
 * task does to the views that it names. The same function computes the effect in the kernel, on what it is given, and
 * in the oracle, one task after the other in the order of insertion.
 *
 * All content is words of 64 bits. What a task writes depends on all that it reads: a wrong order, a missing transfer
 * or a stale replica changes everything after it. Commuting and reducing tasks add, so that their order does not
 * matter.
 */
#ifndef TESTS_SUPPORT_DATA_MODEL_H
#define TESTS_SUPPORT_DATA_MODEL_H

#include "random.h"
#include "test.h"

enum { WORDS_MOST = 128, ACCESSES_MOST = 5, ROWS_MOST = 8, PARTS_MOST = 12, DIMS = 4 };

enum object_kind { VARIABLE, VECTOR, MATRIX, BLOCK, TENSOR, CSR, CUSTOM, OBJECT_KINDS };

#define CANARY UINT64_C(0x6361696e61727921)

/* A custom layout's home. */
struct box {
    uint64_t word[WORDS_MOST];
};

struct object {
    enum object_kind kind;
    uint32_t dims;
    size_t extent[DIMS], stride[DIMS]; /* in elements; of user memory */
    size_t elem_words, words;
    uint64_t value[WORDS_MOST]; /* what the oracle says */
    uint64_t *memory;           /* the user's own; NULL: thrum's */
    size_t memory_words;
    size_t row_start[ROWS_MOST + 1], index_bytes; /* of CSR */
    void *rows, *columns;
    struct box box;
    bool reducible;
    struct view *whole;
};

/* An object or a part of it. */
struct view {
    struct object *object;
    thrum_data *data;
    struct view *whole; /* of a part; else NULL */
    size_t extent[DIMS], offset[DIMS];
    size_t words;
    uint16_t index[WORDS_MOST]; /* its words among those of the object */
    bool written, overlaps, gone;
    struct view *part[PARTS_MOST];
    size_t parts;
    size_t first_row, rows, first_value; /* of CSR */
};

/* ---- Layouts ----------------------------------------------------------------------------------------------------- */

static inline size_t box_bytes(const void *home, void *ctx)
{
    (void)home;
    return ((const struct object *)ctx)->words * sizeof(uint64_t);
}

static inline void box_pack(const void *home, void *packed, void *ctx)
{
    memcpy(packed, ((const struct box *)home)->word, ((const struct object *)ctx)->words * sizeof(uint64_t));
}

static inline void box_unpack(void *home, const void *packed, void *ctx)
{
    memcpy(((struct box *)home)->word, packed, ((const struct object *)ctx)->words * sizeof(uint64_t));
}

static inline void *box_make(void *ctx)
{
    (void)ctx;
    return malloc(sizeof(struct box));
}

static inline void box_drop(void *home, void *ctx)
{
    (void)ctx;
    free(home);
}

/* Where word number k of an access is: elements in their order, dimension 0 running fastest. */
static inline uint64_t *word_at(const thrum_buffer *b, const struct object *object, size_t k)
{
    size_t element = k / object->elem_words, at = 0;
    if (object->kind == CUSTOM && b->node == 0)
        return &((struct box *)b->ptr)->word[k];
    if (object->kind == CUSTOM || object->kind == VARIABLE || object->kind == CSR)
        return (uint64_t *)b->ptr + k;
    for (uint32_t d = 0; d < b->dims; d++) {
        at += element % b->extent[d] * (d ? b->stride[d] : 1);
        element /= b->extent[d];
    }
    return (uint64_t *)b->ptr + at * object->elem_words + k % object->elem_words;
}

static inline uint64_t index_at(const void *indices, size_t bytes, size_t k)
{
    return bytes == 4 ? ((const uint32_t *)indices)[k] : ((const uint64_t *)indices)[k];
}

static inline void index_set(void *indices, size_t bytes, size_t k, uint64_t index)
{
    if (bytes == 4)
        ((uint32_t *)indices)[k] = (uint32_t)index;
    else
        ((uint64_t *)indices)[k] = index;
}

static inline uint64_t column_of(size_t value)
{
    return value * 7 % 23;
}

static inline void write_structure(const thrum_buffer *b, const struct view *view)
{
    const struct object *object = view->object;
    size_t first = object->row_start[view->first_row];
    for (size_t r = 0; r <= view->rows; r++)
        index_set(b->row_start, object->index_bytes, r, object->row_start[view->first_row + r] - first);
    for (size_t k = 0; k < view->words / object->elem_words; k++)
        index_set(b->columns, object->index_bytes, k, column_of(view->first_value + k));
}

static inline bool has_structure(const thrum_buffer *b, const struct view *view)
{
    const struct object *object = view->object;
    size_t first = object->row_start[view->first_row];
    for (size_t r = 0; r <= view->rows; r++)
        if (index_at(b->row_start, object->index_bytes, r) != object->row_start[view->first_row + r] - first)
            return false;
    for (size_t k = 0; k < view->words / object->elem_words; k++)
        if (index_at(b->columns, object->index_bytes, k) != column_of(view->first_value + k))
            return false;
    return true;
}

/* Whether a kernel was given what the view is. */
static inline bool has_shape(const thrum_buffer *b, const struct view *view)
{
    const struct object *object = view->object;
    if (object->kind == CUSTOM || object->kind == VARIABLE)
        return b->dims == 0 && b->elem == 8 * view->words && b->ptr;
    if (object->kind == CSR)
        return b->elem == 8 * object->elem_words && b->extent[0] * object->elem_words == view->words &&
               b->extent[1] == view->rows && b->row_start && (b->columns || !view->words);
    for (uint32_t d = 0; d < object->dims; d++)
        if (b->extent[d] != view->extent[d])
            return false;
    return b->dims == object->dims && b->elem == 8 * object->elem_words && b->ptr && !b->row_start;
}

/* ---- What tasks do ----------------------------------------------------------------------------------------------- */

struct model_use {
    struct view *view;
    enum thrum_mode mode;
};

typedef uint64_t words_of_uses[ACCESSES_MOST][WORDS_MOST];

static inline bool mode_reads(enum thrum_mode mode)
{
    return mode == THRUM_MODE_R || mode == THRUM_MODE_RW;
}

static inline bool mode_adds(enum thrum_mode mode)
{
    return mode == THRUM_MODE_COMMUTE || mode == THRUM_MODE_REDUX;
}

static inline bool mode_writes(enum thrum_mode mode)
{
    return mode != THRUM_MODE_R && mode != THRUM_MODE_SCRATCH;
}

static inline uint64_t hash_of_reads(const struct model_use *use, size_t uses, uint64_t seed, words_of_uses value)
{
    uint64_t hash = seed;
    for (size_t i = 0; i < uses; i++)
        for (size_t k = 0; mode_reads(use[i].mode) && k < use[i].view->words; k++)
            hash = random_mix(hash + value[i][k]) + i;
    return hash;
}

/* Changes what was read into what is written; returns what stands for all that was read. */
static inline uint64_t effect(const struct model_use *use, size_t uses, uint64_t seed, words_of_uses value)
{
    uint64_t hash = hash_of_reads(use, uses, seed, value);
    for (size_t i = 0; i < uses; i++)
        for (size_t k = 0; k < use[i].view->words; k++) {
            uint64_t fresh = random_mix(hash + 1000 * i + k);
            if (use[i].mode == THRUM_MODE_W)
                value[i][k] = fresh;
            else if (use[i].mode == THRUM_MODE_RW)
                value[i][k] = random_mix(value[i][k] ^ fresh);
            else if (mode_adds(use[i].mode))
                value[i][k] += fresh;
        }
    return hash;
}

/* The oracle's way: `instead` stands for the object `of`, where a graph has been bound so. */
static inline uint64_t oracle_step(const struct model_use *use, size_t uses, uint64_t seed, const struct object *of,
                                   struct object *instead)
{
    words_of_uses value;
    for (size_t i = 0; i < uses; i++) {
        const struct object *object = use[i].view->object == of ? instead : use[i].view->object;
        for (size_t k = 0; k < use[i].view->words; k++)
            value[i][k] =
                use[i].mode == THRUM_MODE_REDUX && !use[i].view->written ? 0 : object->value[use[i].view->index[k]];
    }
    uint64_t hash = effect(use, uses, seed, value);
    for (size_t i = 0; i < uses; i++) {
        struct object *object = use[i].view->object == of ? instead : use[i].view->object;
        if (use[i].mode == THRUM_MODE_R || use[i].mode == THRUM_MODE_SCRATCH)
            continue;
        for (size_t k = 0; k < use[i].view->words; k++)
            object->value[use[i].view->index[k]] = value[i][k];
        use[i].view->written = true;
    }
    return hash;
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

static inline void pick_extents(struct object *object, struct random *random)
{
    static const size_t most[OBJECT_KINDS] = {6, 40, 6, 4, 3, 0, 20};
    object->elem_words = random_chance(random, 25) ? 2 : 1;
    object->dims = object->kind == TENSOR ? (uint32_t)random_between(random, 1, DIMS) : (uint32_t)object->kind;
    if (object->kind == VARIABLE || object->kind == CUSTOM) {
        object->elem_words = 1;
        object->dims = 0;
        object->words = random_between(random, 1, most[object->kind]);
        return;
    }
    if (object->kind == TENSOR)
        object->elem_words = 1;
    object->words = object->elem_words;
    for (uint32_t d = 0; d < object->dims; d++) {
        object->extent[d] = random_between(random, 1, most[object->kind]);
        object->words *= object->extent[d];
    }
}

static inline void pick_rows(struct object *object, struct random *random)
{
    object->dims = 2;
    object->elem_words = random_chance(random, 25) ? 2 : 1;
    object->index_bytes = random_chance(random, 50) ? 4 : 8;
    size_t rows = random_between(random, 1, ROWS_MOST);
    for (size_t r = 0; r < rows; r++)
        object->row_start[r + 1] = object->row_start[r] + random_below(random, 6);
    object->row_start[rows] += object->row_start[rows] == 0;
    object->extent[0] = object->row_start[rows];
    object->extent[1] = rows;
    object->words = object->extent[0] * object->elem_words;
}

static inline void pick_strides(struct object *object, struct random *random)
{
    bool padded = random_chance(random, 50);
    size_t step = 1;
    for (uint32_t d = 0; d < object->dims; d++) {
        object->stride[d] = step + (padded && d ? random_below(random, 3) : 0);
        step = object->stride[d] * object->extent[d];
    }
    object->memory_words = object->dims && object->kind != CSR ? step * object->elem_words : object->words;
}

static inline thrum_buffer buffer_of_memory(struct object *object)
{
    return (thrum_buffer){.ptr = object->kind == CUSTOM ? (void *)&object->box : object->memory,
                          .elem = 8 * object->elem_words,
                          .dims = object->dims,
                          .extent = object->extent,
                          .stride = object->stride,
                          .row_start = object->rows,
                          .columns = object->columns};
}

static inline void fill_memory(struct object *object)
{
    thrum_buffer b = buffer_of_memory(object);
    for (size_t k = 0; k < object->memory_words; k++)
        object->memory[k] = CANARY;
    for (size_t k = 0; k < object->words; k++)
        *word_at(&b, object, k) = object->value[k];
    if (object->kind == CSR)
        write_structure(&b, object->whole);
}

/* Exactly as large as needed, so that a sanitizer sees who goes beyond. */
static inline void give_memory(struct object *object)
{
    object->memory = malloc(object->memory_words * sizeof(uint64_t));
    if (object->kind == CSR) {
        object->rows = malloc((object->extent[1] + 1) * object->index_bytes);
        object->columns = malloc(object->extent[0] * object->index_bytes);
    }
    fill_memory(object);
}

static inline void free_memory(struct object *object)
{
    free(object->memory);
    free(object->rows);
    free(object->columns);
    object->memory = NULL;
    object->rows = object->columns = NULL;
}

/* User memory after it has been given back: the oracle's content, and nothing else touched. */
static inline bool memory_is_right(struct object *object)
{
    thrum_buffer b = buffer_of_memory(object);
    size_t untouched = 0;
    if (object->kind == CSR && !has_structure(&b, object->whole))
        return false;
    for (size_t k = 0; k < object->words; k++) {
        if (*word_at(&b, object, k) != object->value[k])
            return false;
        *word_at(&b, object, k) = CANARY;
    }
    for (size_t k = 0; k < object->memory_words; k++)
        untouched += object->memory[k] == CANARY;
    return untouched == object->memory_words;
}

static inline void init_whole(struct object *object, struct view *view)
{
    *view = (struct view){.object = object, .words = object->words, .written = object->memory != NULL};
    for (uint32_t d = 0; d < object->dims; d++)
        view->extent[d] = object->extent[d];
    for (size_t k = 0; k < object->words; k++)
        view->index[k] = (uint16_t)k;
    view->rows = object->kind == CSR ? object->extent[1] : 0;
    object->whole = view;
}

static inline thrum_data *register_custom(thrum_executor *ex, struct object *object)
{
    return thrum_data_custom(ex,
                             &(thrum_layout){.name = "box",
                                             .bytes = box_bytes,
                                             .pack = box_pack,
                                             .unpack = box_unpack,
                                             .make = box_make,
                                             .drop = box_drop,
                                             .ctx = object},
                             object->memory ? &object->box : NULL);
}

static inline thrum_data *register_object(thrum_executor *ex, struct object *object)
{
    const size_t *n = object->extent, *s = object->stride, elem = 8 * object->elem_words;
    void *memory = object->memory;
    switch (object->kind) {
    case VARIABLE:
        return thrum_data_variable(ex, memory, 8 * object->words);
    case VECTOR:
        return thrum_data_vector(ex, memory, n[0], elem);
    case MATRIX:
        return thrum_data_matrix(ex, memory, s[1], n[0], n[1], elem);
    case BLOCK:
        return thrum_data_block(ex, memory, s[1], s[2], n[0], n[1], n[2], elem);
    case TENSOR:
        return thrum_data_tensor(ex, memory, object->dims, n, s, elem);
    case CSR:
        return thrum_data_csr(ex, n[1], n[0], object->rows, object->columns, memory, elem, object->index_bytes);
    default:
        return register_custom(ex, object);
    }
}

/* A new object and its whole view: with user memory that has content, or with neither. NULL data: it could not be
 * registered. */
static inline void object_new(struct object *object, struct view *view, struct random *random, thrum_executor *ex)
{
    *object = (struct object){.kind = (enum object_kind)random_below(random, OBJECT_KINDS)};
    if (object->kind == CSR)
        pick_rows(object, random);
    else
        pick_extents(object, random);
    pick_strides(object, random);
    for (size_t k = 0; k < object->words; k++)
        object->value[k] = random_next(random);
    init_whole(object, view);
    if (random_chance(random, 60)) {
        give_memory(object);
        view->written = true;
    }
    view->data = register_object(ex, object);
}

/* One more like it, with memory and content of its own. */
static inline void object_twin(struct object *twin, struct view *view, const struct object *object,
                               struct random *random, thrum_executor *ex)
{
    *twin = *object;
    twin->memory = NULL;
    twin->rows = twin->columns = NULL;
    for (size_t k = 0; k < twin->words; k++)
        twin->value[k] = random_next(random);
    init_whole(twin, view);
    give_memory(twin);
    view->written = true;
    view->data = register_object(ex, twin);
}

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

struct model_range {
    size_t first, count;
};

/* As data.h says: nearly equal, the first ones larger by one; the shadow as far as there is something. */
static inline struct model_range model_piece(size_t extent, size_t pieces, size_t number, size_t shadow)
{
    size_t first = 0, count = 0;
    for (size_t p = 0; p <= number; p++) {
        first += count;
        count = extent / pieces + (p < extent % pieces ? 1 : 0);
    }
    size_t before = shadow < first ? shadow : first, rest = extent - first - count;
    return (struct model_range){first - before, count + before + (shadow < rest ? shadow : rest)};
}

static inline void init_dense_part(struct view *part, const struct view *whole, const struct model_range *range)
{
    const struct object *object = whole->object;
    size_t elements = 1;
    for (uint32_t d = 0; d < object->dims; d++) {
        part->extent[d] = range[d].count;
        part->offset[d] = range[d].first;
        elements *= range[d].count;
    }
    part->words = elements * object->elem_words;
    for (size_t k = 0; k < part->words; k++) {
        size_t element = k / object->elem_words, at = 0, step = 1;
        for (uint32_t d = 0; d < object->dims; d++) {
            at += (range[d].first + element % range[d].count) * step;
            element /= range[d].count;
            step *= whole->extent[d];
        }
        part->index[k] = whole->index[at * object->elem_words + k % object->elem_words];
    }
}

static inline void init_sparse_part(struct view *part, const struct view *whole, struct model_range rows)
{
    const struct object *object = whole->object;
    part->first_row = whole->first_row + rows.first;
    part->rows = rows.count;
    part->first_value = object->row_start[part->first_row];
    size_t values = object->row_start[part->first_row + part->rows] - part->first_value;
    part->extent[0] = values;
    part->extent[1] = rows.count;
    part->offset[0] = part->first_value - whole->first_value;
    part->offset[1] = rows.first;
    part->words = values * object->elem_words;
    for (size_t k = 0; k < part->words; k++)
        part->index[k] = whole->index[part->offset[0] * object->elem_words + k];
}

/* The part with this number; its handle is not set. */
static inline void init_part(struct view *part, struct view *whole, const thrum_cut *cut, size_t number)
{
    const struct object *object = whole->object;
    struct model_range range[DIMS];
    *part =
        (struct view){.object = whole->object, .whole = whole, .written = whole->written, .overlaps = whole->overlaps};
    for (uint32_t d = 0; d < object->dims; d++) {
        size_t pieces = cut->pieces[d] ? cut->pieces[d] : 1;
        range[d] = model_piece(whole->extent[d], pieces, number % pieces, cut->shadow[d]);
        number /= pieces;
        part->overlaps |= pieces > 1 && cut->shadow[d] > 0;
    }
    if (object->kind == CSR)
        init_sparse_part(part, whole, range[1]);
    else
        init_dense_part(part, whole, range);
}

#endif
