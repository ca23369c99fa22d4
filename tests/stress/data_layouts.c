/* SPDX-License-Identifier: MIT
 *
 * Handles of every layout survive cutting, packing and unpacking: random shapes, strides and cuts, against
 * element-by-element copies. Arrays are exactly as large as they must be, for AddressSanitizer to see what goes beyond
 * them.
 */
#include "copies.h"
#include "random.h"
#include "stress.h"

static struct stress stress;
static thrum__space space;

/* ---- Arrays ------------------------------------------------------------------------------------------------------ */

enum { GAP = 0xee, DEEP = 2 };

struct array {
    thrum__shape shape;
    size_t bytes; /* from the first to the last element */
    unsigned char *memory;
};

static unsigned char *random_bytes(struct random *random, size_t bytes)
{
    unsigned char *memory = malloc(bytes ? bytes : 1);
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (unsigned char)random_below(random, GAP);
    return memory;
}

static enum thrum__layout_kind random_layout(struct random *random, uint32_t dims)
{
    static const enum thrum__layout_kind kinds[] = {THRUM__VARIABLE, THRUM__VECTOR, THRUM__MATRIX, THRUM__BLOCK};
    return dims == 0 || (dims <= 3 && random_chance(random, 70)) ? kinds[dims] : THRUM__TENSOR;
}

static thrum__shape random_shape(struct random *random, uint32_t least_dims)
{
    static const size_t most[] = {0, 200, 40, 16, 8, 5, 4, 3, 3};
    uint32_t dims = (uint32_t)random_between(random, least_dims, THRUM_DIMS_MOST);
    thrum__shape shape = {.layout = random_layout(random, dims), .dims = dims, .elem = random_between(random, 1, 17)};
    for (uint32_t d = 0; d < dims; d++)
        shape.extent[d] = random_chance(random, 15) ? 1 : random_between(random, 1, most[dims]);
    return shape;
}

/* The strides are random, and so are the gaps between elements. */
static struct array random_array(struct random *random, const thrum__shape *shape)
{
    struct array array = {.shape = *shape};
    size_t reach = 1;
    for (uint32_t d = 0; d < shape->dims; d++) {
        size_t kind = random_below(random, 3);
        array.shape.stride[d] = d == 0      ? 1
                                : kind == 0 ? array.shape.stride[d - 1] * shape->extent[d - 1]
                                            : reach + (kind == 1 ? 0 : random_below(random, 4));
        if (array.shape.stride[d] < reach)
            array.shape.stride[d] = reach;
        reach += (shape->extent[d] - 1) * array.shape.stride[d];
    }
    array.bytes = reach * shape->elem;
    array.memory = random_bytes(random, array.bytes);
    return array;
}

/* To the next element, dimension 0 first: false after the last. */
static bool next_element(size_t *at, uint32_t dims, const size_t *extent)
{
    for (uint32_t d = 0; d < dims; d++) {
        if (++at[d] < extent[d])
            return true;
        at[d] = 0;
    }
    return false;
}

static size_t offset_of(const size_t *at, uint32_t dims, const size_t *stride)
{
    size_t offset = 0;
    for (uint32_t d = 0; d < dims; d++)
        offset += at[d] * stride[d];
    return offset;
}

/* What `array` holds from `first` on, one element after the other. */
static unsigned char *gathered(const struct array *array, const size_t *first, const size_t *extent)
{
    size_t at[THRUM_DIMS_MOST] = {0}, count = 1, elem = array->shape.elem;
    size_t base = offset_of(first, array->shape.dims, array->shape.stride);
    for (uint32_t d = 0; d < array->shape.dims; d++)
        count *= extent[d];
    unsigned char *memory = malloc(count * elem), *to = memory;
    do {
        size_t offset = base + offset_of(at, array->shape.dims, array->shape.stride);
        memcpy(to, array->memory + offset * elem, elem);
        to += elem;
    } while (next_element(at, array->shape.dims, extent));
    return memory;
}

/* What `to` has to look like when the content of `from` has come: gaps are as they were. */
static unsigned char *expected_in(const struct array *to, const struct array *from)
{
    size_t at[THRUM_DIMS_MOST] = {0}, elem = to->shape.elem;
    unsigned char *memory = malloc(to->bytes);
    memcpy(memory, to->memory, to->bytes);
    do {
        memcpy(memory + offset_of(at, to->shape.dims, to->shape.stride) * elem,
               from->memory + offset_of(at, to->shape.dims, from->shape.stride) * elem, elem);
    } while (next_element(at, to->shape.dims, to->shape.extent));
    return memory;
}

static thrum_data *handle_of(const struct array *array)
{
    return thrum__data_dense(&space, &array->shape, array->memory, "test");
}

static thrum_cut random_cut(struct random *random, const thrum_data *data, bool shadows)
{
    thrum_cut cut = {.pieces = {0}};
    for (uint32_t d = data->layout == THRUM__CSR; d < data->home.dims; d++) {
        size_t most = data->form->extent[d] < 6 ? data->form->extent[d] : 6;
        cut.pieces[d] = random_chance(random, 60) ? random_between(random, 0, most) : 0;
        cut.shadow[d] = shadows && random_chance(random, 70) ? random_below(random, 5) : 0;
    }
    return cut;
}

/* ---- There and back ---------------------------------------------------------------------------------------------- */

/* Packed memory in the middle, as large as it is said to be. */
static void carry(thrum_data *from, thrum_data *to)
{
    size_t bytes = thrum__data_packed_bytes(from);
    unsigned char *packed = malloc(bytes);
    memset(packed, GAP, bytes);
    copy_out(from, packed);
    copy_back(to, packed);
    free(packed);
}

/* Brings the content of one to the other, whole or in parts, which may go in parts in turn. */
static void carry_somehow(struct random *random, thrum_data *from, thrum_data *to, int depth)
{
    if (depth == DEEP || from->layout == THRUM__VARIABLE || random_chance(random, 20)) {
        carry(from, to);
        return;
    }
    thrum_cut cut = random_cut(random, from, false);
    assert_int_equal(thrum__data_cut(from, &cut, "test"), 0);
    assert_int_equal(thrum__data_cut(to, &cut, "test"), 0);
    assert_int_equal(from->part_count, to->part_count);
    size_t begin = random_below(random, from->part_count);
    for (size_t i = 0; i < from->part_count; i++) {
        size_t number = (begin + i) % from->part_count;
        carry_somehow(random, from->parts[number], to->parts[number], depth + 1);
    }
    thrum__data_uncut(from, false);
    thrum__data_uncut(to, false);
}

TEST(arrays_come_through_cuts_and_packed_memory)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        thrum__shape shape = random_shape(&random, 0);
        struct array from = random_array(&random, &shape), to = random_array(&random, &shape);
        memset(to.memory, GAP, to.bytes);
        unsigned char *before = malloc(from.bytes), *expected = expected_in(&to, &from);
        memcpy(before, from.memory, from.bytes);
        thrum_data *source = handle_of(&from), *target = handle_of(&to);
        stress_check(&course, source && target && thrum__data_alike(source, target));
        carry_somehow(&random, source, target, 0);
        stress_check(&course, memcmp(to.memory, expected, to.bytes) == 0);
        stress_check(&course, memcmp(from.memory, before, from.bytes) == 0);
        thrum__data_retire(source);
        thrum__data_retire(target);
        free(before);
        free(expected);
        free(from.memory);
        free(to.memory);
    }
    stress_report(&course, "arrays");
}

/* ---- Shadows ----------------------------------------------------------------------------------------------------- */

/* Where the pieces of one dimension begin, by dealing the elements out one by one. */
static void deal_out(size_t extent, size_t pieces, size_t *firsts)
{
    size_t counts[8] = {0};
    for (size_t i = 0; i < extent; i++)
        counts[i % pieces]++;
    firsts[0] = 0;
    for (size_t i = 0; i < pieces; i++)
        firsts[i + 1] = firsts[i] + counts[i];
}

static bool right_place(const thrum_data *part, size_t number)
{
    const thrum_data *whole = part->whole;
    for (uint32_t d = 0; d < whole->home.dims; d++) {
        size_t firsts[8], pieces = whole->cut.pieces[d], shadow = whole->cut.shadow[d];
        deal_out(whole->form->extent[d], pieces, firsts);
        size_t first = firsts[number % pieces], end = firsts[number % pieces + 1];
        for (size_t i = 0; i < shadow; i++) {
            first -= first > 0;
            end += end < whole->form->extent[d];
        }
        if (part->offset[d] != first || part->form->extent[d] != end - first)
            return false;
        number /= pieces;
    }
    return true;
}

static bool holds(const thrum_data *part, const struct array *array)
{
    unsigned char *expected = gathered(array, part->offset, part->form->extent);
    unsigned char *packed = malloc(part->bytes);
    copy_out(part, packed);
    bool same = memcmp(packed, expected, part->bytes) == 0;
    free(packed);
    free(expected);
    return same;
}

TEST(parts_with_shadows_are_where_they_should_be_and_hold_what_is_there)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        thrum__shape shape = random_shape(&random, 1);
        struct array array = random_array(&random, &shape);
        thrum_data *data = handle_of(&array);
        thrum_cut cut = random_cut(&random, data, true);
        stress_check(&course, thrum__data_cut(data, &cut, "test") == 0);
        for (size_t i = 0; i < data->part_count; i++) {
            stress_check(&course, right_place(data->parts[i], i));
            stress_check(&course, holds(data->parts[i], &array));
        }
        thrum__data_retire(data);
        free(array.memory);
    }
    stress_report(&course, "cuts");
}

/* ---- Sparse matrices --------------------------------------------------------------------------------------------- */

struct sparse {
    size_t rows, count, elem, index_bytes;
    unsigned char *row_start, *columns, *values;
};

static void set_index(const struct sparse *sparse, size_t number, uint64_t index)
{
    uint32_t narrow = (uint32_t)index;
    memcpy(sparse->row_start + number * sparse->index_bytes,
           sparse->index_bytes == 4 ? (void *)&narrow : (void *)&index, sparse->index_bytes);
}

static struct sparse random_sparse(struct random *random)
{
    struct sparse sparse = {.rows = random_between(random, 1, 30),
                            .elem = random_between(random, 1, 17),
                            .index_bytes = random_chance(random, 50) ? 4 : 8};
    sparse.row_start = malloc((sparse.rows + 1) * sparse.index_bytes);
    set_index(&sparse, 0, 0);
    for (size_t row = 0; row < sparse.rows; row++) {
        sparse.count += row == 0 ? 1 : random_chance(random, 50) ? 0 : random_below(random, 6);
        set_index(&sparse, row + 1, sparse.count);
    }
    sparse.columns = random_bytes(random, sparse.count * sparse.index_bytes);
    sparse.values = random_bytes(random, sparse.count * sparse.elem);
    return sparse;
}

/* With the same rows, and nothing in them. */
static struct sparse empty_like(const struct sparse *from)
{
    struct sparse sparse = *from;
    sparse.row_start = malloc((from->rows + 1) * from->index_bytes);
    memcpy(sparse.row_start, from->row_start, (from->rows + 1) * from->index_bytes);
    sparse.columns = memset(malloc(from->count * from->index_bytes), GAP, from->count * from->index_bytes);
    sparse.values = memset(malloc(from->count * from->elem), GAP, from->count * from->elem);
    return sparse;
}

static thrum_data *sparse_handle(const struct sparse *sparse)
{
    thrum_buffer home = {.ptr = sparse->values,
                         .elem = sparse->elem,
                         .extent = (size_t[]){sparse->count, sparse->rows},
                         .row_start = sparse->row_start,
                         .columns = sparse->columns};
    return thrum__data_sparse(&space, &home, sparse->index_bytes, "test");
}

static void sparse_free(struct sparse *sparse)
{
    free(sparse->row_start);
    free(sparse->columns);
    free(sparse->values);
}

TEST(sparse_matrices_come_through_cuts_and_packed_memory)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        struct sparse from = random_sparse(&random), to = empty_like(&from);
        thrum_data *source = sparse_handle(&from), *target = sparse_handle(&to);
        stress_check(&course, source && target);
        carry_somehow(&random, source, target, 0);
        stress_check(&course, memcmp(from.values, to.values, from.count * from.elem) == 0);
        stress_check(&course, memcmp(from.columns, to.columns, from.count * from.index_bytes) == 0);
        stress_check(&course, memcmp(from.row_start, to.row_start, (from.rows + 1) * from.index_bytes) == 0);
        thrum__data_retire(source);
        thrum__data_retire(target);
        sparse_free(&from);
        sparse_free(&to);
    }
    stress_report(&course, "sparse matrices");
}

/* Each row of a part has as many values as in the whole, and the same ones, on a device too. */
static bool has_rows(const thrum_data *part, const struct sparse *sparse)
{
    _Alignas(64) static char packed[1 << 15];
    thrum_buffer buffer;
    thrum__data_packed_buffer(part, packed, 1, &buffer);
    assert_in_range(thrum__data_packed_bytes(part), 1, sizeof packed);
    copy_out(part, packed);
    for (size_t row = 0; row <= part->form->extent[1]; row++) {
        uint64_t in_part = 0, in_whole = 0;
        memcpy(&in_part, (char *)buffer.row_start + row * sparse->index_bytes, sparse->index_bytes);
        memcpy(&in_whole, sparse->row_start + (part->offset[1] + row) * sparse->index_bytes, sparse->index_bytes);
        if (in_part != in_whole - part->offset[0])
            return false;
    }
    size_t first = part->offset[0], count = part->form->extent[0];
    return memcmp(buffer.ptr, sparse->values + first * sparse->elem, count * sparse->elem) == 0 &&
           memcmp(buffer.columns, sparse->columns + first * sparse->index_bytes, count * sparse->index_bytes) == 0;
}

TEST(parts_of_sparse_matrices_have_the_rows_that_they_should)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        struct sparse sparse = random_sparse(&random);
        thrum_data *data = sparse_handle(&sparse);
        thrum_cut cut = random_cut(&random, data, true);
        stress_check(&course, thrum__data_cut(data, &cut, "test") == 0);
        for (size_t i = 0; i < data->part_count; i++)
            stress_check(&course, has_rows(data->parts[i], &sparse));
        thrum__data_retire(data);
        sparse_free(&sparse);
    }
    stress_report(&course, "sparse cuts");
}

/* ---- Layouts of one's own ---------------------------------------------------------------------------------------- */

struct cell {
    struct cell *next;
    int number;
};

/* A list as long as ctx says. */
static void *list_make(void *ctx)
{
    struct cell *first = NULL;
    for (size_t i = 0; i < *(size_t *)ctx; i++) {
        struct cell *cell = malloc(sizeof *cell);
        *cell = (struct cell){first, 0};
        first = cell;
    }
    return first;
}

static void list_drop(void *home, void *ctx)
{
    (void)ctx;
    for (struct cell *cell = home, *next; cell; cell = next) {
        next = cell->next;
        free(cell);
    }
}

static size_t list_bytes(const void *home, void *ctx)
{
    (void)home;
    return *(size_t *)ctx * sizeof(int);
}

static void list_pack(const void *home, void *packed, void *ctx)
{
    (void)ctx;
    int *to = packed;
    for (const struct cell *cell = home; cell; cell = cell->next)
        *to++ = cell->number;
}

static void list_unpack(void *home, const void *packed, void *ctx)
{
    (void)ctx;
    const int *from = packed;
    for (struct cell *cell = home; cell; cell = cell->next)
        cell->number = *from++;
}

TEST(layouts_of_ones_own_come_through_packed_memory)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        size_t length = random_between(&random, 1, 50);
        thrum_layout layout = {"list", list_bytes, list_pack, list_unpack, list_make, list_drop, &length};
        struct cell *home = list_make(&length);
        for (struct cell *cell = home; cell; cell = cell->next)
            cell->number = (int)random_below(&random, 1000);
        thrum_data *source = thrum__data_own_layout(&space, &layout, home, "test");
        thrum_data *target = thrum__data_like(source);
        stress_check(&course, source && target && thrum__data_make_home(target) == 0);
        int *here = malloc(source->bytes), *there = malloc(source->bytes);
        source->custom->pack(home, here, &length);
        stress_check(&course, thrum__data_copies(source, there, true, here, true, copy_now, NULL) == 0);
        target->custom->unpack(target->home.ptr, there, &length);
        const struct cell *copy = target->home.ptr;
        for (struct cell *cell = home; cell; cell = cell->next, copy = copy->next)
            stress_check(&course, copy && cell->number == copy->number);
        thrum__data_retire(source);
        thrum__data_retire(target);
        list_drop(home, NULL);
        free(here);
        free(there);
    }
    stress_report(&course, "lists");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_come_through_cuts_and_packed_memory),
        cmocka_unit_test(parts_with_shadows_are_where_they_should_be_and_hold_what_is_there),
        cmocka_unit_test(sparse_matrices_come_through_cuts_and_packed_memory),
        cmocka_unit_test(parts_of_sparse_matrices_have_the_rows_that_they_should),
        cmocka_unit_test(layouts_of_ones_own_come_through_packed_memory),
    };
    stress = stress_begin(argv[0], 0.5);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    thrum__space_init(&space, NULL, 1);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    thrum__space_fini(&space);
    return failed;
}
