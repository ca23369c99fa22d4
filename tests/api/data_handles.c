/* SPDX-License-Identifier: MIT
 *
 * Registering handles: what they look like, and each thing that cannot be registered with the sentence that tells why.
 */
#include "test.h"

#include <sys/wait.h>
#include <unistd.h>

static thrum_executor *ex;

static int begin(void **state)
{
    (void)state;
    ex = thrum_executor_new(&(thrum_config){.workers = 1});
    return ex ? 0 : -1;
}

/* Handles that nobody unregistered go with their executor. */
static int end(void **state)
{
    (void)state;
    return thrum_executor_free(ex);
}

/* Asserts that no handle was made and why. */
#define assert_refused(call, part)                                                                                     \
    do {                                                                                                               \
        assert_null(call);                                                                                             \
        assert_contains(thrum_message(NULL), part);                                                                    \
    } while (0)

static thrum_buffer described(const thrum_data *data)
{
    thrum_buffer buffer;
    assert_non_null(data);
    assert_int_equal(thrum_data_describe(data, &buffer), 0);
    assert_ptr_equal(buffer.data, data);
    assert_int_equal(buffer.node, 0);
    return buffer;
}

/* ---- What they look like ----------------------------------------------------------------------------------------- */

TEST(a_variable_is_one_element_without_dimensions)
{
    double x = 1;
    thrum_data *data = thrum_data_variable(ex, &x, sizeof x);
    thrum_buffer buffer = described(data);
    assert_ptr_equal(buffer.ptr, &x);
    assert_int_equal(buffer.dims, 0);
    assert_int_equal(buffer.elem, sizeof x);
    assert_int_equal(thrum_data_bytes(data), sizeof x);
}

TEST(a_vector_has_one_dimension)
{
    float x[10];
    thrum_data *data = thrum_data_vector(NULL, x, 10, sizeof(float)); /* of the default executor */
    thrum_buffer buffer = described(data);
    assert_int_equal(buffer.dims, 1);
    assert_int_equal(buffer.extent[0], 10);
    assert_int_equal(buffer.stride[0], 1);
    assert_int_equal(thrum_data_bytes(data), 40);
}

TEST(a_matrix_has_a_leading_dimension)
{
    double x[12 * 5];
    thrum_data *data = thrum_data_matrix(ex, x, 12, 10, 5, sizeof(double));
    thrum_buffer buffer = described(data);
    assert_int_equal(buffer.dims, 2);
    assert_int_equal(buffer.extent[0], 10);
    assert_int_equal(buffer.extent[1], 5);
    assert_int_equal(buffer.stride[1], 12);
    assert_int_equal(thrum_data_bytes(data), 10 * 5 * 8);
}

TEST(a_block_has_lines_and_planes)
{
    static char x[1000];
    thrum_buffer buffer = described(thrum_data_block(ex, x, 6, 6 * 7, 5, 4, 3, 1));
    assert_int_equal(buffer.dims, 3);
    assert_int_equal(buffer.extent[2], 3);
    assert_int_equal(buffer.stride[2], 42);
    /* Planes may overlap in address as long as elements do not. */
    assert_non_null(thrum_data_block(ex, x, 6, 3 * 6 + 5, 5, 4, 3, 1));
}

TEST(a_tensor_has_up_to_eight_dimensions)
{
    static char x[1000];
    thrum_buffer buffer = described(thrum_data_tensor(ex, x, 8, (size_t[]){2, 2, 2, 2, 2, 2, 2, 2}, NULL, 1));
    assert_int_equal(buffer.dims, 8);
    assert_int_equal(buffer.stride[7], 128);
    assert_int_equal(thrum_data_bytes(buffer.data), 256);
}

TEST(a_sparse_matrix_has_values_and_rows)
{
    uint64_t row_start[] = {0, 1, 3}, columns[] = {0, 0, 1};
    float values[] = {1, 2, 3};
    thrum_buffer buffer = described(thrum_data_csr(ex, 2, 3, row_start, columns, values, sizeof(float), 8));
    assert_ptr_equal(buffer.ptr, values);
    assert_ptr_equal(buffer.row_start, row_start);
    assert_ptr_equal(buffer.columns, columns);
    assert_int_equal(buffer.extent[0], 3);
    assert_int_equal(buffer.extent[1], 2);
}

TEST(memory_that_thrum_allocates_is_packed_and_not_there_yet)
{
    thrum_buffer buffer = described(thrum_data_matrix(ex, NULL, 0, 10, 5, 8));
    assert_null(buffer.ptr);
    assert_int_equal(buffer.stride[1], 10);
    buffer = described(thrum_data_csr(ex, 2, 3, NULL, NULL, NULL, 8, 4));
    assert_null(buffer.row_start);
}

TEST(names_are_copied)
{
    char x, name[] = "left";
    thrum_data *data = thrum_data_variable(ex, &x, 1);
    assert_string_equal(thrum_data_name(data), "");
    assert_int_equal(thrum_data_set_name(data, name), 0);
    name[0] = 'w';
    assert_string_equal(thrum_data_name(data), "left");
    assert_int_equal(thrum_data_set_name(data, NULL), 0);
    assert_string_equal(thrum_data_name(data), "");
}

/* ---- What cannot be ---------------------------------------------------------------------------------------------- */

TEST(a_size_of_zero_is_refused_by_its_name)
{
    static char x[64];
    static size_t zeros[3] = {2, 0, 2};
    assert_refused(thrum_data_variable(ex, x, 0), "thrum_data_variable: bytes is zero");
    assert_refused(thrum_data_vector(ex, x, 0, 4), "thrum_data_vector: count is zero");
    assert_refused(thrum_data_vector(ex, x, 4, 0), "elem is zero");
    assert_refused(thrum_data_matrix(ex, x, 4, 0, 4, 4), "thrum_data_matrix: rows is zero");
    assert_refused(thrum_data_matrix(ex, x, 4, 4, 0, 4), "columns is zero");
    assert_refused(thrum_data_matrix(ex, NULL, 0, 4, 4, 0), "elem is zero");
    assert_refused(thrum_data_block(ex, x, 4, 16, 0, 4, 4, 1), "thrum_data_block: nx is zero");
    assert_refused(thrum_data_block(ex, x, 4, 16, 4, 0, 4, 1), "ny is zero");
    assert_refused(thrum_data_block(ex, x, 4, 16, 4, 4, 0, 1), "nz is zero");
    assert_refused(thrum_data_tensor(ex, x, 3, zeros, NULL, 1), "thrum_data_tensor: extent[1] is zero");
    assert_refused(thrum_data_csr(ex, 0, 4, NULL, NULL, NULL, 8, 4), "thrum_data_csr: rows is zero");
    assert_refused(thrum_data_csr(ex, 4, 0, NULL, NULL, NULL, 8, 4), "values_count is zero");
    assert_refused(thrum_data_csr(ex, 4, 4, NULL, NULL, NULL, 0, 4), "elem is zero");
}

TEST(a_stride_that_is_too_small_is_refused_by_its_name)
{
    static char x[64];
    assert_refused(thrum_data_matrix(ex, x, 7, 8, 4, 1), "ld is 7, but must be at least 8");
    assert_contains(thrum_message(NULL), "rows");
    assert_refused(thrum_data_matrix(ex, x, 0, 8, 4, 1), "ld is 0");
    assert_refused(thrum_data_block(ex, x, 3, 16, 4, 4, 4, 1), "ldy is 3, but must be at least 4");
    assert_refused(thrum_data_block(ex, x, 5, 18, 4, 4, 4, 1), "ldz is 18, but must be at least 19");
    assert_refused(thrum_data_tensor(ex, x, 2, (size_t[]){2, 2}, (size_t[]){2, 4}, 1), "stride[0] is 2");
    assert_refused(thrum_data_tensor(ex, x, 3, (size_t[]){2, 2, 2}, (size_t[]){1, 2, 3}, 1), "stride[2] is 3");
    assert_contains(thrum_message(NULL), "extent[1]");
}

TEST(a_size_beyond_memory_is_refused_by_what_makes_it_so)
{
    static char x[64];
    size_t big = SIZE_MAX / 2, four_gib = (size_t)1 << 32;
    assert_refused(thrum_data_variable(ex, x, SIZE_MAX), "bytes");
    assert_refused(thrum_data_vector(ex, NULL, big, 4), "count");
    assert_refused(thrum_data_matrix(ex, NULL, 0, four_gib, four_gib, 1), "columns (4294967296)");
    assert_refused(thrum_data_matrix(ex, x, SIZE_MAX, 2, 3, 1), "ld (18446744073709551615)");
    assert_refused(thrum_data_matrix(ex, x, big, 2, 3, 1), "ld");
    assert_refused(thrum_data_block(ex, NULL, 0, 0, four_gib, 1 << 30, 1 << 30, 1), "nz (1073741824)");
    assert_refused(thrum_data_tensor(ex, x, 4, (size_t[]){four_gib, 2, four_gib, 1}, NULL, 8), "extent[2]");
    assert_refused(thrum_data_csr(ex, SIZE_MAX, 1, NULL, NULL, NULL, 8, 4), "rows (18446744073709551615)");
    assert_refused(thrum_data_csr(ex, 1, big, NULL, NULL, NULL, 1, 8), "values_count");
    /* As large as can be counted is a handle like any other. */
    assert_non_null(thrum_data_vector(ex, x, big, 1));
    assert_non_null(thrum_data_matrix(ex, NULL, 0, four_gib, four_gib / 16, 4));
}

TEST(dimensions_that_no_tensor_has_are_refused)
{
    size_t one[1] = {1};
    assert_refused(thrum_data_tensor(ex, NULL, 0, one, NULL, 1), "dims is 0");
    assert_refused(thrum_data_tensor(ex, NULL, 9, one, NULL, 1), "dims is 9");
    assert_refused(thrum_data_tensor(ex, NULL, 1, NULL, NULL, 1), "extent is NULL");
}

TEST(indices_have_4_or_8_bytes_that_divide_their_addresses)
{
    static _Alignas(8) char x[64];
    assert_refused(thrum_data_csr(ex, 1, 1, x, x, x, 8, 3), "index_bytes is 3, but can be 4 or 8");
    assert_refused(thrum_data_csr(ex, 1, 1, x, x, x, 8, 0), "index_bytes is 0");
    assert_refused(thrum_data_csr(ex, 1, 1, x + 2, x, x, 8, 4), "row_start is not a multiple of index_bytes, 4");
    assert_refused(thrum_data_csr(ex, 1, 1, x, x + 4, x, 8, 8), "columns is not a multiple of index_bytes, 8");
    assert_refused(thrum_data_csr(ex, 1, 1, NULL, x, x, 8, 8), "row_start is NULL");
    assert_refused(thrum_data_csr(ex, 1, 1, x, NULL, x, 8, 8), "columns is NULL");
    assert_refused(thrum_data_csr(ex, 1, 1, x, x, NULL, 8, 8), "values is NULL");
}

/* ---- Layouts of one's own ---------------------------------------------------------------------------------------- */

static size_t list_bytes(const void *home, void *ctx)
{
    (void)home;
    return *(size_t *)ctx;
}

static void list_pack(const void *home, void *packed, void *ctx)
{
    memcpy(packed, home, *(size_t *)ctx);
}

static void list_unpack(void *home, const void *packed, void *ctx)
{
    memcpy(home, packed, *(size_t *)ctx);
}

static void *list_make(void *ctx)
{
    return calloc(1, *(size_t *)ctx);
}

static void list_drop(void *home, void *ctx)
{
    (void)ctx;
    free(home);
}

static size_t list_size = 24;
static const thrum_layout list = {"list", list_bytes, list_pack, list_unpack, list_make, list_drop, &list_size};

TEST(a_layout_of_ones_own_is_as_large_as_it_says)
{
    char home[24];
    thrum_buffer buffer = described(thrum_data_custom(ex, &list, home));
    assert_ptr_equal(buffer.ptr, home);
    assert_int_equal(buffer.dims, 0);
    assert_int_equal(buffer.elem, 24);
    assert_int_equal(thrum_data_bytes(buffer.data), 24);
    assert_null(described(thrum_data_custom(ex, &list, NULL)).ptr);
}

TEST(a_layout_that_lacks_something_is_refused_by_its_name)
{
    char home[24];
    size_t zero = 0;
    thrum_layout layout = list;
    assert_refused(thrum_data_custom(ex, NULL, home), "layout is NULL");
    layout.bytes = NULL;
    assert_refused(thrum_data_custom(ex, &layout, home), "the layout 'list' has no function `bytes`");
    layout = list;
    layout.pack = NULL;
    assert_refused(thrum_data_custom(ex, &layout, home), "`pack`");
    layout = list;
    layout.unpack = NULL;
    assert_refused(thrum_data_custom(ex, &layout, home), "`unpack`");
    layout = list;
    layout.drop = NULL;
    assert_refused(thrum_data_custom(ex, &layout, home), "no `drop`");
    layout = list;
    layout.make = NULL;
    assert_refused(thrum_data_custom(ex, &layout, NULL), "home is NULL");
    layout = list;
    layout.ctx = &zero;
    assert_refused(thrum_data_custom(ex, &layout, home), "returned 0");
}

/* ---- Other wrong use --------------------------------------------------------------------------------------------- */

TEST(null_handles_are_refused)
{
    thrum_buffer buffer;
    size_t offset[THRUM_DIMS_MOST];
    char x;
    assert_error(thrum_data_describe(NULL, &buffer), THRUM_EINVAL, "thrum_data_describe: the data handle is NULL");
    assert_error(thrum_data_describe(thrum_data_variable(ex, &x, 1), NULL), THRUM_EINVAL, "buffer is NULL");
    assert_error(thrum_data_set_name(NULL, "a"), THRUM_EINVAL, "thrum_data_set_name");
    assert_string_equal(thrum_data_name(NULL), "");
    assert_int_equal(thrum_data_bytes(NULL), 0);
    assert_int_equal(thrum_data_parts(NULL), 0);
    assert_null(thrum_data_part(NULL, 0));
    assert_error(thrum_data_offset(NULL, offset), THRUM_EINVAL, "thrum_data_offset");
    assert_error(thrum_data_set_reduction(NULL, NULL, NULL), THRUM_EINVAL, "thrum_data_set_reduction");
}

TEST(what_is_not_partitioned_has_no_parts)
{
    char x;
    size_t offset[THRUM_DIMS_MOST];
    thrum_data *data = thrum_data_variable(ex, &x, 1);
    assert_int_equal(thrum_data_parts(data), 0);
    assert_refused(thrum_data_part(data, 0), "not partitioned");
    assert_error(thrum_data_offset(data, offset), THRUM_EINVAL, "no part");
}

static void kernel(const thrum_buffer *buffers, const void *arg)
{
    (void)buffers;
    (void)arg;
}

TEST(reductions_need_two_codelets_for_processors)
{
    static const thrum_codelet good = {.name = "good", .cpu = kernel}, nameless = {.cpu = kernel},
                               away = {.name = "away", .emu = kernel};
    char x[24];
    thrum_data *data = thrum_data_variable(ex, x, 1);
    assert_error(thrum_data_set_reduction(data, NULL, &good), THRUM_EINVAL, "init is NULL");
    assert_error(thrum_data_set_reduction(data, &good, NULL), THRUM_EINVAL, "combine is NULL");
    assert_error(thrum_data_set_reduction(data, &nameless, &good), THRUM_EINVAL, "init has no name");
    assert_error(thrum_data_set_reduction(data, &good, &away), THRUM_EINVAL, "'away' (combine)");
    assert_int_equal(thrum_data_set_reduction(data, &good, &good), 0);
    assert_int_equal(thrum_data_set_reduction(data, &good, &good), 0);
    thrum_layout layout = list;
    layout.make = NULL;
    assert_error(thrum_data_set_reduction(thrum_data_custom(ex, &layout, x), &good, &good), THRUM_EINVAL, "`make`");
}

TEST(in_the_child_of_a_fork_the_parents_executors_register_nothing)
{
    char x;
    assert_non_null(thrum_data_variable(NULL, &x, 1));
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool own = thrum_data_variable(ex, &x, 1) == NULL && strstr(thrum_message(NULL), "fork");
        bool defaults = thrum_data_variable(NULL, &x, 1) == NULL && strstr(thrum_message(NULL), "fork");
        _exit(own && defaults ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_variable_is_one_element_without_dimensions),
        cmocka_unit_test(a_vector_has_one_dimension),
        cmocka_unit_test(a_matrix_has_a_leading_dimension),
        cmocka_unit_test(a_block_has_lines_and_planes),
        cmocka_unit_test(a_tensor_has_up_to_eight_dimensions),
        cmocka_unit_test(a_sparse_matrix_has_values_and_rows),
        cmocka_unit_test(memory_that_thrum_allocates_is_packed_and_not_there_yet),
        cmocka_unit_test(names_are_copied),
        cmocka_unit_test(a_size_of_zero_is_refused_by_its_name),
        cmocka_unit_test(a_stride_that_is_too_small_is_refused_by_its_name),
        cmocka_unit_test(a_size_beyond_memory_is_refused_by_what_makes_it_so),
        cmocka_unit_test(dimensions_that_no_tensor_has_are_refused),
        cmocka_unit_test(indices_have_4_or_8_bytes_that_divide_their_addresses),
        cmocka_unit_test(a_layout_of_ones_own_is_as_large_as_it_says),
        cmocka_unit_test(a_layout_that_lacks_something_is_refused_by_its_name),
        cmocka_unit_test(null_handles_are_refused),
        cmocka_unit_test(what_is_not_partitioned_has_no_parts),
        cmocka_unit_test(reductions_need_two_codelets_for_processors),
        cmocka_unit_test(in_the_child_of_a_fork_the_parents_executors_register_nothing),
    };
    watchdog_start(30);
    return cmocka_run_group_tests(tests, begin, end);
}
