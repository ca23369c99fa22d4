/* SPDX-License-Identifier: MIT
 *
 * The geometry of handles: sizes, strides, packed memory, the copies between the two, footprints. Known answers; random
 * shapes are in stress/data_layouts.c.
 */
#include "copies.h"

#include <pthread.h>
#include <sys/mman.h>

static thrum__space space;

static int begin(void **state)
{
    (void)state;
    thrum__space_init(&space, NULL, 1);
    return 0;
}

static int end(void **state)
{
    (void)state;
    thrum__space_fini(&space);
    return 0;
}

/* Without what other tests have left. */
static int end_and_begin(void **state)
{
    return end(state) || begin(state);
}

static thrum_data *matrix(void *ptr, size_t ld, size_t rows, size_t columns, size_t elem)
{
    return thrum__data_dense(&space, &(thrum__shape){THRUM__MATRIX, 2, elem, {rows, columns}, {1, ld}}, ptr, "test");
}

static thrum_data *tensor(void *ptr, uint32_t dims, const size_t *extent, const size_t *stride, size_t elem)
{
    thrum__shape shape = {.layout = THRUM__TENSOR, .dims = dims, .elem = elem};
    memcpy(shape.extent, extent, dims * sizeof extent[0]);
    if (stride)
        memcpy(shape.stride, stride, dims * sizeof stride[0]);
    return thrum__data_dense(&space, &shape, ptr, "test");
}

static thrum_data *sparse(size_t rows, size_t values, void *row_start, void *columns, void *ptr, size_t elem,
                          size_t index_bytes)
{
    thrum_buffer home = {
        .ptr = ptr, .elem = elem, .extent = (size_t[]){values, rows}, .row_start = row_start, .columns = columns};
    return thrum__data_sparse(&space, &home, index_bytes, "test");
}

/* ---- Sizes and strides ------------------------------------------------------------------------------------------- */

TEST(a_matrix_knows_its_strides_at_home_and_packed)
{
    double memory[10 * 4];
    thrum_data *data = matrix(memory, 10, 7, 4, sizeof(double));
    assert_non_null(data);
    assert_int_equal(thrum__data_packed_bytes(data), 7 * 4 * 8);
    assert_ptr_equal(data->home.ptr, memory);
    assert_int_equal(data->home.stride[1], 10);
    thrum_buffer buffer;
    thrum__data_packed_buffer(data, memory, 3, &buffer);
    assert_int_equal(buffer.dims, 2);
    assert_int_equal(buffer.node, 3);
    assert_int_equal(buffer.elem, 8);
    assert_int_equal(buffer.extent[0], 7);
    assert_int_equal(buffer.extent[1], 4);
    assert_int_equal(buffer.stride[0], 1);
    assert_int_equal(buffer.stride[1], 7);
    assert_ptr_equal(buffer.data, data);
}

TEST(without_memory_it_is_packed_whatever_the_strides)
{
    thrum_data *data = matrix(NULL, 0, 7, 4, 2);
    assert_non_null(data);
    assert_null(data->home.ptr);
    assert_int_equal(data->home.stride[1], 7);
    assert_int_equal(thrum__data_make_home(data), 0);
    assert_non_null(data->home.ptr);
    assert_true((uintptr_t)data->home.ptr % 64 == 0);
    memset(data->home.ptr, 1, 56);
    void *home = data->home.ptr;
    assert_int_equal(thrum__data_make_home(data), 0);
    assert_ptr_equal(data->home.ptr, home);
}

TEST(homes_of_megabytes_are_made_and_dropped)
{
    thrum_data *data = matrix(NULL, 0, 1024, 1024, 5);
    assert_int_equal(thrum__data_make_home(data), 0);
    memset(data->home.ptr, 1, data->bytes);
    thrum__data_retire(data);
}

static void *move_in(void *data)
{
    thrum_data *d = data;
    return thrum__data_make_home(d) ? NULL : d->home.row_start;
}

TEST(threads_that_need_its_memory_at_once_get_the_same)
{
    for (int round = 0; round < 100; round++) {
        thrum_data *data = sparse(1000, 1000, NULL, NULL, NULL, 8, 4);
        pthread_t other;
        void *there, *here;
        assert_int_equal(pthread_create(&other, NULL, move_in, data), 0);
        here = move_in(data);
        pthread_join(other, &there);
        assert_non_null(here);
        assert_ptr_equal(here, there);
        thrum__data_retire(data);
    }
}

TEST(a_variable_has_no_dimensions)
{
    long memory = 5, packed = 0;
    thrum_data *data =
        thrum__data_dense(&space, &(thrum__shape){.layout = THRUM__VARIABLE, .elem = sizeof memory}, &memory, "test");
    assert_int_equal(data->home.dims, 0);
    assert_int_equal(data->home.elem, sizeof memory);
    assert_int_equal(data->bytes, sizeof memory);
    assert_int_equal(copy_out(data, &packed), 1);
    assert_int_equal(packed, 5);
}

TEST(packed_csr_has_its_three_parts_at_multiples_of_64)
{
    uint32_t row_start[] = {0, 2, 2, 3}, columns[] = {1, 4, 0};
    double values[] = {1, 2, 3};
    _Alignas(64) char packed[256];
    thrum_data *data = sparse(3, 3, row_start, columns, values, sizeof(double), 4);
    assert_int_equal(data->bytes, 128 + 12);
    assert_int_equal(data->home.extent[0], 3);
    assert_int_equal(data->home.extent[1], 3);
    thrum_buffer buffer;
    thrum__data_packed_buffer(data, packed, 1, &buffer);
    assert_ptr_equal(buffer.row_start, packed + 64);
    assert_ptr_equal(buffer.columns, packed + 128);
    assert_int_equal(copy_out(data, packed), 3);
    assert_memory_equal(packed, values, sizeof values);
    assert_memory_equal(buffer.row_start, row_start, sizeof row_start);
    assert_memory_equal(buffer.columns, columns, sizeof columns);
    memset(values, 0, sizeof values);
    memset(columns, 0, sizeof columns);
    memset(row_start, 0, sizeof row_start);
    copy_back(data, packed);
    assert_true(values[2] == 3 && columns[1] == 4 && row_start[3] == 3);
}

TEST(csr_without_memory_gets_all_three_arrays)
{
    thrum_data *data = sparse(3, 5, NULL, NULL, NULL, 8, 8);
    assert_int_equal(thrum__data_make_home(data), 0);
    memset(data->home.ptr, 1, 40);
    memset(data->home.row_start, 1, 32);
    memset(data->home.columns, 1, 40);
    assert_int_equal((char *)data->home.columns + 40 - (char *)data->home.ptr, data->bytes);
}

/* ---- Copies ------------------------------------------------------------------------------------------------------ */

/* Notes the only copy that there is. */
static int note(const thrum_copy *copy, void *ctx)
{
    *(thrum_copy *)ctx = *copy;
    return 0;
}

static thrum_copy only_copy(const thrum_data *data)
{
    static char packed[4096];
    thrum_copy copy = {.planes = 0};
    size_t count = copy_out(data, packed);
    assert_int_equal(count, 1);
    assert_int_equal(thrum__data_copies(data, packed, true, data->home.ptr, false, note, &copy), 0);
    return copy;
}

TEST(columns_without_gaps_are_one_row)
{
    char memory[64] = {0};
    thrum_copy copy = only_copy(matrix(memory, 8, 8, 8, 1));
    assert_int_equal(copy.bytes, 64);
    assert_int_equal(copy.rows, 1);
    assert_int_equal(copy.planes, 1);
}

TEST(columns_with_gaps_are_rows_of_one_copy)
{
    char memory[160] = {0};
    thrum_copy copy = only_copy(matrix(memory, 10, 8, 8, 2));
    assert_int_equal(copy.bytes, 16);
    assert_int_equal(copy.rows, 8);
    assert_int_equal(copy.planes, 1);
    assert_int_equal(copy.from_row, 20);
    assert_int_equal(copy.to_row, 16);
}

TEST(a_block_with_gaps_is_one_copy_of_planes)
{
    char memory[2000] = {0};
    thrum_data *data =
        thrum__data_dense(&space, &(thrum__shape){THRUM__BLOCK, 3, 2, {4, 3, 5}, {1, 6, 20}}, memory, "test");
    thrum_copy copy = only_copy(data);
    assert_int_equal(copy.bytes, 8);
    assert_int_equal(copy.rows, 3);
    assert_int_equal(copy.planes, 5);
    assert_int_equal(copy.from_row, 12);
    assert_int_equal(copy.from_plane, 40);
    assert_int_equal(copy.to_row, 8);
    assert_int_equal(copy.to_plane, 24);
}

TEST(dimensions_that_go_on_where_the_one_before_ends_are_no_levels)
{
    static char memory[4096];
    /* 2, 3 and 4 are contiguous; 5 and 2 go on with the same step; one has a single element. */
    thrum_copy copy = only_copy(tensor(memory, 6, (size_t[]){2, 3, 4, 1, 5, 2}, (size_t[]){1, 2, 6, 25, 30, 150}, 1));
    assert_int_equal(copy.bytes, 24);
    assert_int_equal(copy.rows, 10);
    assert_int_equal(copy.from_row, 30);
    assert_int_equal(copy.planes, 1);
}

TEST(beyond_three_levels_there_are_several_copies)
{
    static char memory[1 << 16], packed[2 * 2 * 2 * 3 * 2];
    thrum_data *data = tensor(memory, 5, (size_t[]){2, 2, 2, 3, 2}, (size_t[]){1, 3, 7, 17, 60}, 1);
    assert_int_equal(copy_out(data, packed), 3 * 2);
}

TEST(packed_to_packed_is_one_copy)
{
    static char a[4096], b[4096];
    thrum_data *data = tensor(a, 4, (size_t[]){2, 2, 2, 3}, (size_t[]){1, 3, 7, 17}, 3);
    thrum_copy copy;
    assert_int_equal(thrum__data_copies(data, b, true, a, true, note, &copy), 0);
    assert_int_equal(copy.bytes, 72);
    assert_int_equal(copy.rows * copy.planes, 1);
}

static int fail_second(const thrum_copy *copy, void *ctx)
{
    (void)copy;
    return ++*(int *)ctx == 2 ? THRUM_EDEVICE : 0;
}

TEST(the_first_copy_that_fails_is_the_last)
{
    static char memory[1 << 16], packed[256];
    int calls = 0;
    thrum_data *data = tensor(memory, 5, (size_t[]){2, 2, 2, 3, 2}, (size_t[]){1, 3, 7, 17, 60}, 1);
    assert_int_equal(thrum__data_copies(data, packed, true, memory, false, fail_second, &calls), THRUM_EDEVICE);
    assert_int_equal(calls, 2);
    uint32_t index[] = {0, 1, 1};
    calls = 0;
    data = sparse(1, 1, index, index + 2, memory, 1, 4);
    assert_int_equal(thrum__data_copies(data, packed, true, memory, false, fail_second, &calls), THRUM_EDEVICE);
    assert_int_equal(calls, 2);
}

/* ---- Shapes as numbers ------------------------------------------------------------------------------------------- */

TEST(a_footprint_goes_by_layout_and_shape_not_by_strides)
{
    static char memory[4096];
    uint64_t one = thrum__data_footprint(matrix(memory, 10, 7, 4, 8));
    assert_true(one == thrum__data_footprint(matrix(memory, 20, 7, 4, 8)));
    assert_true(one != thrum__data_footprint(matrix(memory, 20, 4, 7, 8)));
    assert_true(one != thrum__data_footprint(matrix(memory, 20, 7, 4, 4)));
    assert_true(one != thrum__data_footprint(tensor(memory, 2, (size_t[]){7, 4}, (size_t[]){1, 7}, 8)));
    /* Files are kept by it. */
    assert_true(one == UINT64_C(0x34d865da241203b9));
}

TEST(alike_are_those_with_the_same_layout_extents_and_elements)
{
    static char memory[4096];
    thrum_data *data = matrix(memory, 10, 7, 4, 8);
    assert_true(thrum__data_alike(data, matrix(NULL, 0, 7, 4, 8)));
    assert_false(thrum__data_alike(data, matrix(NULL, 0, 7, 5, 8)));
    assert_false(thrum__data_alike(data, matrix(NULL, 0, 7, 4, 4)));
    assert_false(thrum__data_alike(data, tensor(NULL, 2, (size_t[]){7, 4}, NULL, 8)));
    assert_true(thrum__data_alike(sparse(3, 5, NULL, NULL, NULL, 8, 8), sparse(3, 5, NULL, NULL, NULL, 8, 8)));
    assert_false(thrum__data_alike(sparse(3, 5, NULL, NULL, NULL, 8, 8), sparse(3, 5, NULL, NULL, NULL, 8, 4)));
}

TEST(a_handle_like_another_has_its_shape_and_name_and_no_memory)
{
    static char memory[4096];
    thrum_data *data = matrix(memory, 10, 7, 4, 8);
    assert_int_equal(thrum__data_set_name(data, "A"), 0);
    thrum_data *like = thrum__data_like(data);
    assert_non_null(like);
    assert_true(thrum__data_alike(data, like));
    assert_null(like->home.ptr);
    assert_string_equal(like->name, "A");
    assert_int_equal(like->form->stride[1], 7);
    like = thrum__data_like(sparse(3, 5, NULL, NULL, NULL, 8, 4));
    assert_int_equal(like->form->extent[1], 3);
    assert_int_equal(like->index_bytes, 4);
}

/* ---- Forms ------------------------------------------------------------------------------------------------------- */

static size_t form_count(void)
{
    size_t count = 0;
    for (const thrum__form *form = space.forms; form; form = form->next)
        count++;
    return count;
}

TEST(handles_that_look_alike_have_one_form)
{
    static char memory[4096];
    thrum_data *one = matrix(memory, 10, 7, 4, 8), *other = matrix(memory + 800, 10, 7, 4, 8);
    assert_ptr_equal(one->form, other->form);
    assert_int_equal(one->form->users, 2);
    assert_ptr_equal(one->home.extent, other->home.extent);
    assert_int_equal(form_count(), 1);
    assert_ptr_equal(thrum__data_like(matrix(NULL, 0, 7, 4, 8))->form, matrix(memory, 7, 7, 4, 8)->form);
}

TEST(handles_that_differ_in_anything_have_forms_of_their_own)
{
    static char memory[4096];
    const thrum_data *data[] = {matrix(memory, 10, 7, 4, 8), matrix(memory, 11, 7, 4, 8), matrix(memory, 10, 6, 4, 8),
                                matrix(memory, 10, 7, 5, 8), matrix(memory, 10, 7, 4, 4)};
    const size_t ld[] = {10, 11, 10, 10, 10}, rows[] = {7, 7, 6, 7, 7}, columns[] = {4, 4, 4, 5, 4};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(data[i]->home.stride[1], ld[i]);
        assert_int_equal(data[i]->home.extent[0], rows[i]);
        assert_int_equal(data[i]->home.extent[1], columns[i]);
        assert_int_equal(data[i]->home.elem, i == 4 ? 4 : 8);
    }
    assert_int_equal(form_count(), 5);
}

/* A gone handle can still be complained about; as many as are kept for that have a form. */
TEST(forms_go_when_the_memory_of_their_handles_is_used_again)
{
    char text[THRUM__DATA_TEXT];
    for (size_t i = 1; i <= 5000; i++) {
        thrum_data *data = matrix(NULL, 0, i, 3, 1);
        assert_non_null(data);
        thrum__data_retire(data);
        if (i == 77)
            assert_non_null(strstr(thrum__data_text(data, text), "77 x 3"));
    }
    assert_true(form_count() <= 1100);
}

TEST(a_form_stays_as_long_as_one_of_its_handles)
{
    thrum_data *stays = matrix(NULL, 0, 7, 4, 8), *goes = matrix(NULL, 0, 7, 4, 8);
    thrum__data_retire(goes);
    for (size_t i = 0; i < 3000; i++)
        thrum__data_retire(matrix(NULL, 0, 1 + i % 2, 3, 1));
    const thrum__form *form = space.forms;
    while (form && form != stays->form)
        form = form->next;
    assert_ptr_equal(form, stays->form);
    assert_int_equal(form->users, 1);
}

/* ---- Sizes beyond 32 bits ---------------------------------------------------------------------------------------- */

enum { PIECES = 8192, COLUMNS = 2 };
#define FIVE_GIB (UINT64_C(5) << 30)

/* Only what is written takes memory. */
static char *five_gib(void)
{
    char *memory = mmap(NULL, FIVE_GIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

TEST(the_far_end_of_five_gibibytes_is_copied_and_nothing_else)
{
    char *memory = five_gib();
    /* Columns of 5 MiB, of which all but the last 4 KiB are the matrix. */
    size_t ld = 5 << 20, rows = ld - 4096, columns = 1024;
    thrum_data *data = matrix(memory, ld, rows, columns, 1);
    assert_int_equal(data->bytes, rows * columns);
    assert_int_equal(thrum__data_cut(data, &(thrum_cut){{PIECES, COLUMNS}, {0}}, "test"), 0);
    assert_int_equal(data->part_count, PIECES * COLUMNS);
    thrum_data *part = data->parts[data->part_count - 1];
    assert_int_equal(part->offset[1], columns / COLUMNS);
    assert_int_equal(part->offset[0] + part->form->extent[0], rows);
    assert_ptr_equal((char *)part->home.ptr + 511 * ld + part->form->extent[0], memory + FIVE_GIB - 4096);
    memory[FIVE_GIB - 4097] = 'x';
    static char packed[400000];
    assert_in_range(part->bytes, 1, sizeof packed);
    assert_int_equal(copy_out(part, packed), 1);
    assert_int_equal(packed[part->bytes - 1], 'x');
    memset(packed, 'y', sizeof packed);
    assert_int_equal(copy_back(part, packed), 1);
    assert_int_equal(memory[FIVE_GIB - 4097], 'y');
    assert_int_equal(memory[FIVE_GIB - 4096], 0);
    assert_int_equal(*((char *)part->home.ptr - 1), 0);
    thrum__data_retire(data);
    munmap(memory, FIVE_GIB);
}

TEST(a_vector_of_five_gibibytes_is_one_copy)
{
    char *memory = five_gib();
    thrum_data *data =
        thrum__data_dense(&space, &(thrum__shape){THRUM__VECTOR, 1, 8, {FIVE_GIB / 8}, {1}}, memory, "test");
    thrum_copy copy;
    assert_int_equal(thrum__data_copies(data, memory, true, memory, false, note, &copy), 0);
    assert_int_equal(copy.bytes, FIVE_GIB);
    assert_int_equal(thrum__data_cut(data, &(thrum_cut){{5}, {0}}, "test"), 0);
    assert_ptr_equal(data->parts[4]->home.ptr, memory + (UINT64_C(4) << 30));
    thrum__data_retire(data);
    munmap(memory, FIVE_GIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_matrix_knows_its_strides_at_home_and_packed),
        cmocka_unit_test(without_memory_it_is_packed_whatever_the_strides),
        cmocka_unit_test(homes_of_megabytes_are_made_and_dropped),
        cmocka_unit_test(threads_that_need_its_memory_at_once_get_the_same),
        cmocka_unit_test(a_variable_has_no_dimensions),
        cmocka_unit_test(packed_csr_has_its_three_parts_at_multiples_of_64),
        cmocka_unit_test(csr_without_memory_gets_all_three_arrays),
        cmocka_unit_test(columns_without_gaps_are_one_row),
        cmocka_unit_test(columns_with_gaps_are_rows_of_one_copy),
        cmocka_unit_test(a_block_with_gaps_is_one_copy_of_planes),
        cmocka_unit_test(dimensions_that_go_on_where_the_one_before_ends_are_no_levels),
        cmocka_unit_test(beyond_three_levels_there_are_several_copies),
        cmocka_unit_test(packed_to_packed_is_one_copy),
        cmocka_unit_test(the_first_copy_that_fails_is_the_last),
        cmocka_unit_test(a_footprint_goes_by_layout_and_shape_not_by_strides),
        cmocka_unit_test(alike_are_those_with_the_same_layout_extents_and_elements),
        cmocka_unit_test(a_handle_like_another_has_its_shape_and_name_and_no_memory),
        cmocka_unit_test_setup_teardown(handles_that_look_alike_have_one_form, end_and_begin, NULL),
        cmocka_unit_test_setup_teardown(handles_that_differ_in_anything_have_forms_of_their_own, end_and_begin, NULL),
        cmocka_unit_test_setup_teardown(forms_go_when_the_memory_of_their_handles_is_used_again, end_and_begin, NULL),
        cmocka_unit_test_setup_teardown(a_form_stays_as_long_as_one_of_its_handles, end_and_begin, NULL),
        cmocka_unit_test(the_far_end_of_five_gibibytes_is_copied_and_nothing_else),
        cmocka_unit_test(a_vector_of_five_gibibytes_is_one_copy),
    };
    watchdog_start(30);
    return cmocka_run_group_tests(tests, begin, end);
}
