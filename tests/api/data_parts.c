/* SPDX-License-Identifier: MIT
 *
 * Handles of every layout, and parts of them, in the hands of tasks.
 */
#include "test.h"

static thrum_executor *ex;
static thrum_flow *flow;

static int begin(void **state)
{
    (void)state;
    ex = thrum_executor_new(&(thrum_config){.workers = 2});
    flow = ex ? thrum_flow_new(ex) : NULL;
    return flow ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return thrum_flow_free(flow) || thrum_executor_free(ex) ? -1 : 0;
}

/* ---- Dense ------------------------------------------------------------------------------------------------------- */

/* Adds the argument to every element, whatever the dimensions. */
static void add_everywhere(const thrum_buffer *b, const void *arg)
{
    size_t at[THRUM_DIMS_MOST] = {0};
    uint32_t d;
    do {
        size_t offset = 0;
        for (d = 0; d < b->dims; d++)
            offset += at[d] * b->stride[d];
        ((int *)b->ptr)[offset] += *(const int *)arg;
        for (d = 0; d < b->dims && ++at[d] == b->extent[d]; d++)
            at[d] = 0;
    } while (d < b->dims);
}

static const thrum_codelet adds = {.name = "add", .cpu = add_everywhere};

static void add_to_each_part(thrum_data *data)
{
    for (size_t i = 0; i < thrum_data_parts(data); i++) {
        int number = (int)i + 1;
        thrum_insert(flow, &adds, THRUM_RW(thrum_data_part(data, i)), THRUM_ARG(number));
    }
}

TEST(tiles_of_a_matrix_are_its_own_elements)
{
    int x[6][8] = {{0}}; /* columns of 7 elements, 8 apart */
    thrum_data *data = thrum_data_matrix(ex, x, 8, 7, 6, sizeof(int));
    int hundred = 100;
    thrum_insert(flow, &adds, THRUM_RW(data), THRUM_ARG(hundred));
    assert_int_equal(thrum_partition(flow, data, &(thrum_cut){.pieces = {2, 3}}), 0);
    assert_int_equal(thrum_data_parts(data), 6);
    add_to_each_part(data);
    size_t offset[THRUM_DIMS_MOST];
    assert_int_equal(thrum_data_offset(thrum_data_part(data, 5), offset), 0);
    assert_int_equal(offset[0], 4);
    assert_int_equal(offset[1], 4);
    assert_null(thrum_data_part(data, 6));
    assert_contains(thrum_message(NULL), "no part 6");
    assert_int_equal(thrum_unpartition(flow, data), 0);
    thrum_insert(flow, &adds, THRUM_RW(data), THRUM_ARG(hundred));
    assert_int_equal(thrum_flow_wait(flow), 0);
    for (int column = 0; column < 6; column++)
        for (int row = 0; row < 8; row++)
            assert_int_equal(x[column][row], row == 7 ? 0 : 201 + (row >= 4) + 2 * (column / 2));
    assert_int_equal(thrum_data_unregister(data), 0);
}

TEST(blocks_and_tensors_are_cut_in_every_dimension)
{
    static int block[4][4][4], tensor[3][3][3][3];
    thrum_data *b = thrum_data_block(ex, block, 4, 16, 4, 4, 4, sizeof(int));
    thrum_data *t = thrum_data_tensor(ex, tensor, 4, (size_t[]){3, 3, 3, 3}, NULL, sizeof(int));
    assert_int_equal(thrum_partition(flow, b, &(thrum_cut){.pieces = {2, 2, 2}}), 0);
    assert_int_equal(thrum_partition(flow, t, &(thrum_cut){.pieces = {3, 1, 0, 3}}), 0);
    add_to_each_part(b);
    add_to_each_part(t);
    assert_int_equal(thrum_unpartition(flow, b), 0);
    assert_int_equal(thrum_unpartition(flow, t), 0);
    assert_int_equal(thrum_flow_wait(flow), 0);
    assert_int_equal(block[0][0][0], 1);
    assert_int_equal(block[0][0][3], 2);
    assert_int_equal(block[3][1][2], 6);
    assert_int_equal(block[3][3][3], 8);
    assert_int_equal(tensor[0][2][1][2], 3);
    assert_int_equal(tensor[2][0][0][0], 7);
    assert_int_equal(thrum_data_unregister(b), 0);
    assert_int_equal(thrum_data_unregister(t), 0);
}

/* ---- Sparse ------------------------------------------------------------------------------------------------------ */

/* Each value becomes ten times its row in the part, plus its column. */
static void number_values(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    const uint32_t *row_start = b->row_start, *columns = b->columns;
    for (size_t row = 0; row < b->extent[1]; row++)
        for (uint32_t i = row_start[row]; i < row_start[row + 1]; i++)
            ((double *)b->ptr)[i] = 10.0 * (double)row + columns[i];
}

static const thrum_codelet numbers = {.name = "number", .cpu = number_values};

TEST(rows_of_a_sparse_matrix_count_from_0_in_each_part)
{
    uint32_t row_start[] = {0, 2, 2, 3, 5}, columns[] = {0, 3, 1, 0, 2};
    double values[5] = {0};
    thrum_data *data = thrum_data_csr(ex, 4, 5, row_start, columns, values, sizeof(double), 4);
    assert_int_equal(thrum_partition(flow, data, &(thrum_cut){.pieces = {0, 2}}), 0);
    for (size_t i = 0; i < 2; i++)
        thrum_insert(flow, &numbers, THRUM_RW(thrum_data_part(data, i)));
    assert_int_equal(thrum_unpartition(flow, data), 0);
    assert_int_equal(thrum_flow_wait(flow), 0);
    assert_memory_equal(values, ((double[]){0, 3, 1, 10, 12}), sizeof values);
    assert_memory_equal(row_start, ((uint32_t[]){0, 2, 2, 3, 5}), sizeof row_start);
    assert_int_equal(thrum_data_unregister(data), 0);
}

/* Two rows, of one and two values. */
static void write_rows(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    memcpy(b->row_start, (uint32_t[]){0, 1, 3}, 12);
    memcpy(b->columns, (uint32_t[]){5, 6, 7}, 12);
    memcpy(b->ptr, (double[]){1, 2, 3}, 24);
}

static const thrum_codelet writes = {.name = "write", .cpu = write_rows};

TEST(a_sparse_matrix_that_a_task_writes_is_cut_when_it_is_written)
{
    thrum_data *data = thrum_data_csr(ex, 2, 3, NULL, NULL, NULL, sizeof(double), 4);
    thrum_insert(flow, &writes, THRUM_W(data));
    assert_int_equal(thrum_partition(flow, data, &(thrum_cut){.pieces = {1, 2}}), 0);
    thrum_buffer part;
    assert_int_equal(thrum_data_describe(thrum_data_part(data, 1), &part), 0);
    assert_int_equal(part.extent[0], 2);
    assert_int_equal(thrum_unpartition(flow, data), 0);
    assert_int_equal(thrum_flow_wait(flow), 0);
    assert_int_equal(thrum_data_unregister(data), 0);
}

TEST(a_sparse_matrix_that_cannot_be_cut_that_way_can_be_used_on)
{
    uint32_t row_start[] = {0, 2, 5}, columns[] = {0, 3, 1, 0, 2};
    double values[5] = {0};
    thrum_data *data = thrum_data_csr(ex, 2, 5, row_start, columns, values, sizeof(double), 4);
    assert_error(thrum_partition(flow, data, &(thrum_cut){.pieces = {1, 3}}), THRUM_EDATA, "dimension 1 has 2");
    assert_int_equal(thrum_flow_wait(flow), THRUM_EDATA);
    assert_int_equal(thrum_data_acquire(data, THRUM_MODE_RW, NULL), 0);
    assert_int_equal(thrum_data_release(data), 0);
    assert_int_equal(thrum_data_unregister(data), 0);
}

/* ---- Reductions -------------------------------------------------------------------------------------------------- */

static void zero(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(int *)b->ptr = 0;
}

static void add(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(int *)b[0].ptr += *(int *)b[1].ptr;
}

static const thrum_codelet zeros = {.name = "zero", .cpu = zero}, sums = {.name = "sum", .cpu = add};

TEST(a_reduction_is_not_changed_while_it_is_under_way)
{
    int x = 5, one = 1;
    thrum_data *data = thrum_data_vector(ex, &x, 1, sizeof x);
    assert_int_equal(thrum_data_set_reduction(data, &zeros, &sums), 0);
    for (int i = 0; i < 10; i++)
        thrum_insert(flow, &adds, THRUM_REDUX(data), THRUM_ARG(one));
    assert_error(thrum_data_set_reduction(data, &zeros, &sums), THRUM_EBUSY, "being reduced into");
    assert_int_equal(thrum_data_acquire(data, THRUM_MODE_R, NULL), 0);
    assert_int_equal(x, 15);
    assert_int_equal(thrum_data_release(data), 0);
    assert_int_equal(thrum_data_set_reduction(data, &zeros, &sums), 0);
    assert_int_equal(thrum_flow_wait(flow), 0);
    assert_int_equal(thrum_data_unregister(data), 0);
}

TEST(what_overlaps_is_not_reduced_into)
{
    int x[4] = {0};
    thrum_data *data = thrum_data_vector(ex, x, 4, sizeof x[0]);
    assert_int_equal(thrum_partition(flow, data, &(thrum_cut){.pieces = {2}, .shadow = {1}}), 0);
    assert_error(thrum_data_set_reduction(thrum_data_part(data, 0), &zeros, &sums), THRUM_EDATA, "overlaps");
    assert_int_equal(thrum_unpartition(flow, data), 0);
    assert_int_equal(thrum_flow_wait(flow), 0);
    assert_int_equal(thrum_data_unregister(data), 0);
}

/* ---- Layouts of one's own, and handles that are gone ------------------------------------------------------------- */

static int made;

static size_t pair_bytes(const void *home, void *ctx)
{
    (void)home;
    (void)ctx;
    return 2 * sizeof(int);
}

static void pair_pack(const void *home, void *packed, void *ctx)
{
    memcpy(packed, home, pair_bytes(home, ctx));
}

static void pair_unpack(void *home, const void *packed, void *ctx)
{
    memcpy(home, packed, pair_bytes(home, ctx));
}

static void *pair_make(void *ctx)
{
    made++;
    return calloc(1, pair_bytes(NULL, ctx));
}

static void pair_drop(void *home, void *ctx)
{
    (void)ctx;
    made--;
    free(home);
}

static void fill_pair(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    ((int *)b->ptr)[1] = 7;
}

TEST(a_home_of_a_layout_of_ones_own_is_made_when_it_is_written_and_dropped_at_the_end)
{
    static const thrum_codelet fills = {.name = "fill", .cpu = fill_pair};
    thrum_layout pair = {"pair", pair_bytes, pair_pack, pair_unpack, pair_make, pair_drop, NULL};
    thrum_data *data = thrum_data_custom(ex, &pair, NULL);
    void *home;
    assert_int_equal(made, 0);
    thrum_insert(flow, &fills, THRUM_W(data));
    assert_int_equal(thrum_data_acquire(data, THRUM_MODE_R, &home), 0);
    assert_int_equal(((int *)home)[1], 7);
    assert_int_equal(made, 1);
    assert_int_equal(thrum_data_release(data), 0);
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_int_equal(made, 0);
    assert_int_equal(thrum_flow_wait(flow), 0);
}

TEST(handles_that_are_gone_say_so)
{
    int x = 0;
    thrum_buffer buffer;
    thrum_data *data = thrum_data_variable(ex, &x, sizeof x);
    thrum_data_set_name(data, "x");
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_error(thrum_data_describe(data, &buffer), THRUM_EINVAL, "'x' has been unregistered");
    assert_error(thrum_data_unregister(data), THRUM_EINVAL, "'x' has been unregistered");
    assert_int_equal(thrum_data_bytes(data), 0);
    assert_string_equal(thrum_data_name(data), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_of_a_matrix_are_its_own_elements),
        cmocka_unit_test(blocks_and_tensors_are_cut_in_every_dimension),
        cmocka_unit_test(rows_of_a_sparse_matrix_count_from_0_in_each_part),
        cmocka_unit_test(a_sparse_matrix_that_a_task_writes_is_cut_when_it_is_written),
        cmocka_unit_test(a_sparse_matrix_that_cannot_be_cut_that_way_can_be_used_on),
        cmocka_unit_test(a_reduction_is_not_changed_while_it_is_under_way),
        cmocka_unit_test(what_overlaps_is_not_reduced_into),
        cmocka_unit_test(a_home_of_a_layout_of_ones_own_is_made_when_it_is_written_and_dropped_at_the_end),
        cmocka_unit_test(handles_that_are_gone_say_so),
    };
    watchdog_start(30);
    return cmocka_run_group_tests(tests, begin, end);
}
