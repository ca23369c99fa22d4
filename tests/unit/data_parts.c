/* SPDX-License-Identifier: MIT
 *
 * Parts of handles: where they begin and end, shadows, the rows of CSR; and handles that are gone.
 */
#include "copies.h"
#include "model/reduction.h"

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

static thrum_data *vector(void *ptr, size_t count, size_t elem)
{
    return thrum__data_dense(&space, &(thrum__shape){THRUM__VECTOR, 1, elem, {count}, {1}}, ptr, "test");
}

static thrum_data *matrix(void *ptr, size_t ld, size_t rows, size_t columns)
{
    return thrum__data_dense(&space, &(thrum__shape){THRUM__MATRIX, 2, 1, {rows, columns}, {1, ld}}, ptr, "test");
}

static thrum_data *sparse(size_t rows, size_t values, uint32_t *row_start, uint32_t *columns, double *ptr)
{
    thrum_buffer home = {.ptr = ptr,
                         .elem = sizeof *ptr,
                         .extent = (size_t[]){values, rows},
                         .row_start = row_start,
                         .columns = columns};
    return thrum__data_sparse(&space, &home, 4, "test");
}

static int cut(thrum_data *data, const thrum_cut *how)
{
    return thrum__data_cut(data, how, "cut");
}

/* ---- Where parts are --------------------------------------------------------------------------------------------- */

TEST(the_first_parts_are_larger_by_one)
{
    char memory[11];
    thrum_data *data = vector(memory, 11, 1);
    assert_int_equal(cut(data, &(thrum_cut){.pieces = {4}}), 0);
    assert_int_equal(data->part_count, 4);
    const size_t counts[] = {3, 3, 3, 2};
    size_t at = 0;
    for (size_t i = 0; i < 4; i++) {
        thrum_data *part = data->parts[i];
        assert_int_equal(part->form->extent[0], counts[i]);
        assert_int_equal(part->offset[0], at);
        assert_ptr_equal(part->home.ptr, memory + at);
        assert_ptr_equal(part->whole, data);
        assert_int_equal(part->layout, THRUM__VECTOR);
        assert_false(part->overlaps);
        at += counts[i];
    }
    thrum__data_uncut(data, false);
    assert_null(data->parts);
    assert_int_equal(data->part_count, 0);
}

TEST(dimension_0_runs_fastest)
{
    char memory[8 * 6];
    thrum_data *data = matrix(memory, 8, 6, 6);
    assert_int_equal(thrum__data_set_name(data, "A"), 0);
    assert_int_equal(cut(data, &(thrum_cut){.pieces = {3, 2}}), 0);
    assert_int_equal(data->part_count, 6);
    thrum_data *part = data->parts[2 + 3 * 1];
    assert_ptr_equal(part->home.ptr, memory + 4 + 8 * 3);
    assert_int_equal(part->form->stride[1], 8);
    assert_int_equal(part->form->packed[1], 2);
    assert_int_equal(part->bytes, 6);
    assert_string_equal(part->name, "A[2,1]");
}

TEST(zero_pieces_count_as_one)
{
    char memory[36];
    thrum_data *data = matrix(memory, 6, 6, 6);
    assert_int_equal(cut(data, &(thrum_cut){.pieces = {0, 2}}), 0);
    assert_int_equal(data->part_count, 2);
    assert_int_equal(data->parts[1]->form->extent[0], 6);
    assert_int_equal(data->cut.pieces[0], 1);
}

TEST(shadows_reach_into_neighbours_as_far_as_there_are_any)
{
    char memory[10];
    thrum_data *data = vector(memory, 10, 1);
    assert_int_equal(cut(data, &(thrum_cut){.pieces = {5}, .shadow = {3}}), 0);
    const size_t firsts[] = {0, 0, 1, 3, 5}, ends[] = {5, 7, 9, 10, 10};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(data->parts[i]->offset[0], firsts[i]);
        assert_int_equal(data->parts[i]->form->extent[0], ends[i] - firsts[i]);
        assert_true(data->parts[i]->overlaps);
    }
    /* What is cut from a part that overlaps does so too. */
    assert_int_equal(cut(data->parts[1], &(thrum_cut){.pieces = {2}}), 0);
    assert_true(data->parts[1]->parts[0]->overlaps);
    thrum__data_uncut(data->parts[1], false);
}

TEST(a_shadow_as_large_as_can_be_is_the_whole)
{
    char memory[10];
    thrum_data *data = vector(memory, 10, 1);
    assert_int_equal(cut(data, &(thrum_cut){.pieces = {5}, .shadow = {SIZE_MAX}}), 0);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(data->parts[i]->form->extent[0], 10);
}

TEST(where_there_is_one_piece_there_is_no_neighbour_to_reach_into)
{
    char memory[36];
    thrum_data *data = matrix(memory, 6, 6, 6);
    assert_int_equal(cut(data, &(thrum_cut){.pieces = {1, 2}, .shadow = {2, 0}}), 0);
    assert_false(data->parts[0]->overlaps);
    assert_int_equal(data->parts[0]->form->extent[0], 6);
}

TEST(parts_of_parts_are_views_of_the_same_memory)
{
    char memory[64];
    thrum_data *data = matrix(memory, 8, 8, 8);
    assert_int_equal(cut(data, &(thrum_cut){.pieces = {2, 2}}), 0);
    thrum_data *part = data->parts[3];
    assert_int_equal(cut(part, &(thrum_cut){.pieces = {4, 4}}), 0);
    thrum_data *inner = part->parts[15];
    assert_ptr_equal(inner->home.ptr, memory + 63);
    assert_int_equal(inner->offset[0], 3);
    thrum__data_retire(data); /* and all that is in it */
    assert_int_equal(thrum__data_check(inner, &space, "test"), THRUM_EINVAL);
    assert_contains(thrum_message(NULL), "partition");
}

TEST(cutting_gives_memory_to_what_has_none)
{
    thrum_data *data = matrix(NULL, 0, 8, 8);
    assert_int_equal(cut(data, &(thrum_cut){.pieces = {2, 2}}), 0);
    assert_non_null(data->home.ptr);
    assert_ptr_equal(data->parts[3]->home.ptr, (char *)data->home.ptr + 4 * 8 + 4);
    assert_false(data->parts[3]->owns_home);
}

TEST(parts_that_are_kept_stay_alive)
{
    char memory[8];
    thrum_data *data = vector(memory, 8, 1);
    assert_int_equal(cut(data, &(thrum_cut){.pieces = {2}}), 0);
    thrum_data **parts = data->parts;
    thrum__data_uncut(data, true);
    assert_null(data->parts);
    assert_int_equal(thrum__data_check(parts[1], &space, "test"), 0);
    assert_int_equal(cut(data, &(thrum_cut){.pieces = {4}}), 0);
    assert_int_equal(parts[1]->form->extent[0], 4);
    thrum__data_retire(parts[0]);
    thrum__data_retire(parts[1]);
    free(parts);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static uint32_t row_start[] = {0, 2, 2, 2, 5, 6}, columns[] = {0, 3, 1, 2, 4, 4};
static double values[] = {1, 2, 3, 4, 5, 6};

TEST(rows_of_a_part_begin_with_0_and_its_values_are_those_of_the_whole)
{
    thrum_data *data = sparse(5, 6, row_start, columns, values);
    assert_int_equal(thrum__data_set_name(data, "S"), 0);
    assert_int_equal(cut(data, &(thrum_cut){.pieces = {0, 3}}), 0);
    thrum_data *part = data->parts[1];
    assert_string_equal(part->name, "S[1]");
    assert_int_equal(part->form->extent[1], 2);
    assert_int_equal(part->form->extent[0], 3);
    assert_int_equal(part->offset[0], 2);
    assert_int_equal(part->offset[1], 2);
    assert_memory_equal(part->home.row_start, ((uint32_t[]){0, 0, 3}), 12);
    assert_ptr_equal(part->home.ptr, values + 2);
    assert_ptr_equal(part->home.columns, columns + 2);
    assert_ptr_not_equal(part->home.row_start, row_start + 2);
    thrum__data_uncut(data, false);
}

TEST(a_part_may_have_no_values)
{
    _Alignas(64) char packed[64];
    thrum_data *data = sparse(5, 6, row_start, columns, values);
    assert_int_equal(cut(data, &(thrum_cut){.pieces = {1, 5}}), 0);
    thrum_data *part = data->parts[1];
    assert_int_equal(part->form->extent[0], 0);
    assert_int_equal(copy_out(part, packed), 1);
    assert_memory_equal(packed, ((uint32_t[]){0, 0}), 8);
    assert_int_equal(copy_back(part, packed), 1);
    thrum_data *like = thrum__data_like(part);
    assert_int_equal(thrum__data_make_home(like), 0);
}

TEST(what_is_written_to_rows_of_a_part_ends_with_it)
{
    thrum_data *data = sparse(5, 6, row_start, columns, values);
    assert_int_equal(cut(data, &(thrum_cut){.pieces = {1, 5}}), 0);
    ((uint32_t *)data->parts[3]->home.row_start)[1] = 77;
    thrum__data_uncut(data, false);
    assert_int_equal(row_start[4], 5);
}

TEST(rows_of_parts_can_be_cut_again_and_may_have_shadows)
{
    thrum_data *data = sparse(5, 6, row_start, columns, values);
    assert_int_equal(cut(data, &(thrum_cut){.pieces = {1, 2}, .shadow = {0, 1}}), 0);
    thrum_data *part = data->parts[1]; /* rows 2 to 4 */
    assert_int_equal(part->form->extent[1], 3);
    assert_true(part->overlaps);
    assert_int_equal(cut(part, &(thrum_cut){.pieces = {1, 3}}), 0);
    thrum_data *inner = part->parts[2];
    assert_int_equal(inner->form->extent[0], 1);
    assert_ptr_equal(inner->home.ptr, values + 5);
    assert_memory_equal(inner->home.row_start, ((uint32_t[]){0, 1}), 8);
    thrum__data_uncut(part, false);
}

TEST(rows_that_make_no_sense_are_not_followed)
{
    uint32_t wrong[][4] = {{1, 2, 3, 4}, {0, 3, 2, 4}, {0, 1, 2, 5}, {0, 1, 2, 3}};
    const char *parts[] = {"row_start[0]", "row_start[2]", "row_start[3]", "row_start[3]"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        thrum_data *data = sparse(3, 4, wrong[i], columns, values);
        assert_error(cut(data, &(thrum_cut){.pieces = {1, 2}}), THRUM_EDATA, parts[i]);
        assert_null(data->parts);
    }
}

TEST(without_content_it_is_not_known_where_rows_begin)
{
    thrum_data *data = sparse(3, 4, NULL, NULL, NULL);
    assert_error(cut(data, &(thrum_cut){.pieces = {1, 2}}), THRUM_EDATA, "no content");
}

/* ---- Cuts that cannot be ----------------------------------------------------------------------------------------- */

static size_t four_bytes(const void *home, void *ctx)
{
    (void)home;
    (void)ctx;
    return 4;
}

static void pack(const void *home, void *packed, void *ctx)
{
    (void)ctx;
    memcpy(packed, home, 4);
}

static void unpack(void *home, const void *packed, void *ctx)
{
    (void)ctx;
    memcpy(home, packed, 4);
}

TEST(cuts_that_cannot_be_are_refused_with_a_sentence)
{
    static char memory[64];
    thrum_data *data = matrix(memory, 8, 8, 8);
    thrum__data_set_name(data, "A");
    assert_error(cut(data, NULL), THRUM_EINVAL, "NULL");
    assert_error(cut(data, &(thrum_cut){.pieces = {9}}), THRUM_EDATA, "'A' cannot be cut into pieces[0] = 9");
    assert_error(cut(data, &(thrum_cut){.pieces = {1, 1, 2}}), THRUM_EDATA, "pieces[2] is 2, but 'A' has 2 dimensions");
    assert_error(cut(data, &(thrum_cut){.shadow = {0, 0, 0, 1}}), THRUM_EDATA, "shadow[3] is 1");
    thrum_data *variable =
        thrum__data_dense(&space, &(thrum__shape){.layout = THRUM__VARIABLE, .elem = 8}, memory, "test");
    assert_error(cut(variable, &(thrum_cut){.pieces = {1}}), THRUM_EDATA, "a variable of 8 bytes cannot be cut");
    thrum_layout layout = {.name = "list", .bytes = four_bytes, .pack = pack, .unpack = unpack};
    thrum_data *custom = thrum__data_own_layout(&space, &layout, memory, "test");
    assert_error(cut(custom, &(thrum_cut){.pieces = {2}}), THRUM_EDATA, "the layout 'list' cannot be cut");
    thrum_data *csr = sparse(5, 6, row_start, columns, values);
    assert_error(cut(csr, &(thrum_cut){.pieces = {2}}), THRUM_EDATA, "cut by rows");
    assert_error(cut(csr, &(thrum_cut){.pieces = {1, 6}}), THRUM_EDATA, "dimension 1 has 5 elements");
    assert_int_equal(cut(data, &(thrum_cut){.pieces = {2}}), 0);
    assert_error(cut(data, &(thrum_cut){.pieces = {2}}), THRUM_EDATA, "'A' is partitioned already");
}

/* ---- Handles that are gone --------------------------------------------------------------------------------------- */

TEST(a_retired_handle_says_so_until_many_others_have_followed)
{
    char memory[8];
    thrum_data *data = vector(memory, 8, 1);
    thrum__data_set_name(data, "v");
    thrum__data_retire(data);
    assert_error(thrum__data_check(data, &space, "use"), THRUM_EINVAL, "use: 'v' has been unregistered");
    for (int i = 0; i < 1000; i++) {
        thrum_data *other = vector(memory, 8, 1);
        assert_ptr_not_equal(other, data);
        thrum__data_retire(other);
    }
    assert_int_equal(thrum__data_check(data, &space, "use"), THRUM_EINVAL);
    /* For ever it does not last: memory stays bounded. */
    size_t most = space.live + space.gone + 200;
    for (int i = 0; i < 5000; i++)
        thrum__data_retire(vector(memory, 8, 1));
    assert_in_range(space.live + space.gone, 1, most);
}

TEST(what_cannot_be_used_is_refused_with_a_sentence)
{
    char memory[8];
    thrum__space other;
    thrum__space_init(&other, NULL, 1);
    thrum_data *data = vector(memory, 8, 1);
    assert_int_equal(thrum__data_check(data, &space, "use"), 0);
    assert_int_equal(thrum__data_check(data, NULL, "use"), 0);
    assert_error(thrum__data_check(NULL, &space, "use"), THRUM_EINVAL, "use: the data handle is NULL");
    assert_error(thrum__data_check(data, &other, "use"), THRUM_EINVAL, "a vector of 8 elements belongs to another");
    assert_error(thrum__data_check((void *)&(thrum_data){.kind = 5}, &space, "use"), THRUM_EINVAL, "not a data handle");
    thrum__space_fini(&other);
}

/* ---- Reductions -------------------------------------------------------------------------------------------------- */

static const thrum_codelet nothing = {.name = "nothing"};

TEST(each_worker_has_one_private_copy)
{
    double sum[4] = {0};
    thrum_data *data = vector(sum, 4, sizeof(double));
    assert_int_equal(thrum__reduction_set(data, &nothing, &nothing), 0);
    thrum__private *copies[20];
    for (int i = 0; i < 20; i++) {
        copies[i] = thrum__reduction_copy(data, 3 * i);
        assert_non_null(copies[i]);
        assert_int_equal(copies[i]->worker, 3 * i);
        assert_false(copies[i]->begun);
        assert_true(thrum__data_alike(copies[i]->data, data));
    }
    for (int i = 0; i < 20; i++)
        assert_ptr_equal(thrum__reduction_copy(data, 3 * i), copies[i]);
    assert_int_equal(data->reduction->count, 20);
    assert_int_equal(thrum__data_make_home(copies[7]->data), 0);
    assert_int_equal(thrum__reduction_set(data, &nothing, &nothing), 0);
    assert_int_equal(data->reduction->count, 20);
    size_t live = space.live;
    thrum__data_retire(data);
    assert_int_equal(space.live, live - 21);
}

TEST(copies_that_nobody_retired_end_with_the_space)
{
    double sum = 0;
    thrum__space own;
    thrum__space_init(&own, NULL, 1);
    thrum_data *data =
        thrum__data_dense(&own, &(thrum__shape){.layout = THRUM__VARIABLE, .elem = sizeof sum}, &sum, "test");
    assert_int_equal(thrum__reduction_set(data, &nothing, &nothing), 0);
    assert_int_equal(thrum__data_make_home(thrum__reduction_copy(data, 0)->data), 0);
    thrum__space_fini(&own);
    assert_null(own.first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_parts_are_larger_by_one),
        cmocka_unit_test(dimension_0_runs_fastest),
        cmocka_unit_test(zero_pieces_count_as_one),
        cmocka_unit_test(shadows_reach_into_neighbours_as_far_as_there_are_any),
        cmocka_unit_test(a_shadow_as_large_as_can_be_is_the_whole),
        cmocka_unit_test(where_there_is_one_piece_there_is_no_neighbour_to_reach_into),
        cmocka_unit_test(parts_of_parts_are_views_of_the_same_memory),
        cmocka_unit_test(cutting_gives_memory_to_what_has_none),
        cmocka_unit_test(parts_that_are_kept_stay_alive),
        cmocka_unit_test(rows_of_a_part_begin_with_0_and_its_values_are_those_of_the_whole),
        cmocka_unit_test(a_part_may_have_no_values),
        cmocka_unit_test(what_is_written_to_rows_of_a_part_ends_with_it),
        cmocka_unit_test(rows_of_parts_can_be_cut_again_and_may_have_shadows),
        cmocka_unit_test(rows_that_make_no_sense_are_not_followed),
        cmocka_unit_test(without_content_it_is_not_known_where_rows_begin),
        cmocka_unit_test(cuts_that_cannot_be_are_refused_with_a_sentence),
        cmocka_unit_test(a_retired_handle_says_so_until_many_others_have_followed),
        cmocka_unit_test(what_cannot_be_used_is_refused_with_a_sentence),
        cmocka_unit_test(each_worker_has_one_private_copy),
        cmocka_unit_test(copies_that_nobody_retired_end_with_the_space),
    };
    watchdog_start(30);
    return cmocka_run_group_tests(tests, begin, end);
}
