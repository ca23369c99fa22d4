/* SPDX-License-Identifier: MIT
 *
 * Handles of more than 4 GiB in the hands of flows: they are cut, put together and moved as small ones are. Memory is
 * reserved, and little of it touched, so that the tests need some megabytes.
 */
#include "test.h"

#include <sys/mman.h>
#include <sys/resource.h>

enum { PIECES = 5, AT_THE_END = 3, KIB = 1 << 10 };

#define FIVE_GIB (UINT64_C(5) << 30)
#define CELLS ((size_t)(FIVE_GIB / sizeof(uint64_t) + 3)) /* does not divide by the pieces */

static uint64_t *cells;
static thrum_executor *ex;
static thrum_flow *flow;

static void begin(const char *devices)
{
    cells =
        mmap(NULL, CELLS * sizeof *cells, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(cells != MAP_FAILED);
    ex = thrum_executor_new(&(thrum_config){.devices = devices});
    flow = thrum_flow_new(ex);
    assert_non_null(flow);
}

static void end(void)
{
    int err = thrum_flow_free(flow);
    if (err)
        print_error("%s\n", thrum_message(NULL));
    assert_int_equal(err, 0);
    assert_int_equal(thrum_executor_free(ex), 0);
    munmap(cells, CELLS * sizeof *cells);
}

static uint64_t bytes_of_link(int from, int to)
{
    thrum_link_stats link;
    assert_int_equal(thrum_executor_link(ex, from, to, &link), 0);
    return link.bytes;
}

/* ---- Kernels ----------------------------------------------------------------------------------------------------- */

/* The last cells of a vector get their numbers in the whole, which begins with 1; `arg` is the number of the first. */
static void write_numbers(const thrum_buffer *b, const void *arg)
{
    uint64_t first = *(const uint64_t *)arg;
    for (size_t i = b->extent[0] - AT_THE_END; i < b->extent[0]; i++)
        ((uint64_t *)b->ptr)[i] = first + i;
}

static void raise_all(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    size_t lines = b->dims > 1 ? b->extent[1] : 1, planes = b->dims > 2 ? b->extent[2] : 1;
    for (size_t k = 0; k < planes; k++)
        for (size_t j = 0; j < lines; j++)
            for (size_t i = 0; i < b->extent[0]; i++)
                ((uint64_t *)b->ptr)[i + (lines > 1 ? j * b->stride[1] : 0) + (planes > 1 ? k * b->stride[2] : 0)] += 7;
}

static double at_once(const thrum_place *place, const thrum_buffer *buffers, int count, const void *arg)
{
    (void)place, (void)buffers, (void)count, (void)arg;
    return 1e-6;
}

static const thrum_codelet numbers = {.name = "numbers", .cpu = write_numbers};
static const thrum_codelet raises = {.name = "raise", .emu = raise_all};
static const thrum_codelet timed = {.name = "timed", .emu = raise_all, .model = THRUM_BY_FUNCTION, .seconds = at_once};

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

static uint64_t first_number(const thrum_data *part)
{
    size_t offset[THRUM_DIMS_MOST];
    assert_int_equal(thrum_data_offset(part, offset), 0);
    return offset[0] + 1;
}

static void number_the_ends_of_parts(thrum_data *data)
{
    assert_int_equal(thrum_partition(flow, data, &(thrum_cut){.pieces = {PIECES}}), 0);
    assert_int_equal(thrum_data_parts(data), PIECES);
    for (size_t i = 0; i < PIECES; i++) {
        uint64_t first = first_number(thrum_data_part(data, i));
        thrum_insert(flow, &numbers, THRUM_W(thrum_data_part(data, i)), THRUM_ARG(first));
    }
    assert_int_equal(thrum_unpartition(flow, data), 0);
}

/* Behind the end comes what nobody has written. */
static void check_end(size_t after)
{
    for (size_t i = after - AT_THE_END; i < after; i++)
        assert_int_equal(cells[i], i + 1);
    assert_int_equal(cells[after - AT_THE_END - 1], 0);
    assert_true(after == CELLS || cells[after] == 0);
}

TEST(five_gibibytes_are_cut_written_in_parts_and_put_together)
{
    void *home;
    begin(NULL);
    thrum_data *data = thrum_data_vector(ex, cells, CELLS, sizeof *cells);
    assert_int_equal(thrum_data_bytes(data), FIVE_GIB + 24);
    number_the_ends_of_parts(data);
    assert_int_equal(thrum_data_acquire(data, THRUM_MODE_R, &home), 0);
    assert_ptr_equal(home, cells);
    size_t after = 0;
    for (size_t i = 0; i < PIECES; i++) {
        after += CELLS / PIECES + (i < CELLS % PIECES);
        check_end(after);
    }
    assert_int_equal(after, CELLS);
    assert_int_equal(thrum_data_release(data), 0);
    assert_int_equal(thrum_data_unregister(data), 0);
    end();
}

/* ---- Transfers --------------------------------------------------------------------------------------------------- */

/* The last 128 KiB or so, which are a part of a part. */
TEST(what_is_behind_four_gibibytes_goes_to_a_device_and_comes_back)
{
    enum { SMALL_PIECES = 8192 };
    begin("cpu:1,emu:1;memory=1MiB");
    thrum_data *data = thrum_data_vector(ex, cells, CELLS, sizeof *cells);
    number_the_ends_of_parts(data);
    thrum_partition(flow, data, &(thrum_cut){.pieces = {PIECES}});
    thrum_data *part = thrum_data_part(data, PIECES - 1);
    thrum_partition(flow, part, &(thrum_cut){.pieces = {SMALL_PIECES}});
    thrum_data *last = thrum_data_part(part, SMALL_PIECES - 1);
    size_t bytes = thrum_data_bytes(last);
    assert_in_range(bytes, 100 * KIB, 200 * KIB);
    thrum_insert(flow, &raises, THRUM_RW(last));
    thrum_unpartition(flow, part);
    thrum_unpartition(flow, data);
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_int_equal(bytes_of_link(0, 1), bytes);
    assert_int_equal(bytes_of_link(1, 0), bytes);
    for (size_t i = CELLS - AT_THE_END; i < CELLS; i++)
        assert_int_equal(cells[i], i + 1 + 7);
    size_t first = CELLS - bytes / sizeof *cells;
    assert_int_equal(cells[first], 7);
    assert_int_equal(cells[first - 1], 0);
    end();
}

TEST(columns_and_planes_five_gibibytes_apart_go_to_a_device_and_come_back)
{
    enum { LINE = 1 << 20 };
    const size_t far = CELLS - LINE - 3;
    for (int planes = 0; planes < 2; planes++) {
        begin("emu:1;memory=1MiB");
        thrum_data *data = planes ? thrum_data_block(ex, cells, LINE, far, 3, 2, 2, sizeof *cells)
                                  : thrum_data_matrix(ex, cells, far, 3, 2, sizeof *cells);
        assert_int_equal(thrum_data_bytes(data), (planes ? 12 : 6) * sizeof *cells);
        cells[far + 2] = 100;
        cells[far + 3] = 100;
        thrum_insert(flow, &raises, THRUM_RW(data));
        assert_int_equal(thrum_data_unregister(data), 0);
        assert_int_equal(cells[0], 7);
        assert_int_equal(cells[LINE], planes ? 7 : 0);
        assert_int_equal(cells[far], 7);
        assert_int_equal(cells[far + 2], 107);
        assert_int_equal(cells[far + 3], 100);
        assert_int_equal(cells[far + LINE], planes ? 7 : 0);
        end();
    }
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

/* An emulated device allocates what it has, and systems differ in how much may be asked of them that is not there. */
static bool can_be_reserved(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory != MAP_FAILED && munmap(memory, bytes) == 0;
}

static long most_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

/* Timing mode, in which nobody looks into the memory: but for AddressSanitizer, which wants an eighth of it. */
TEST(five_gibibytes_go_over_a_link_to_a_device_and_come_back)
{
    enum { WHOLE, IN_PARTS, WAYS };
    if (SANITIZED_ADDRESS || !can_be_reserved(CELLS * sizeof *cells))
        skip();
    long before = most_kib();
    for (int way = 0; way < WAYS; way++) {
        begin("emu:1;memory=6GiB;mode=timing;link=100GB/s");
        thrum_data *data = thrum_data_vector(ex, cells, CELLS, sizeof *cells);
        if (way == IN_PARTS)
            thrum_partition(flow, data, &(thrum_cut){.pieces = {PIECES}});
        for (size_t i = 0; i < thrum_data_parts(data); i++)
            thrum_insert(flow, &timed, THRUM_RW(thrum_data_part(data, i)));
        if (way == IN_PARTS)
            thrum_unpartition(flow, data);
        else
            thrum_insert(flow, &timed, THRUM_RW(data));
        assert_int_equal(thrum_data_unregister(data), 0);
        assert_int_equal(bytes_of_link(0, 1), FIVE_GIB + 24);
        assert_int_equal(bytes_of_link(1, 0), FIVE_GIB + 24);
        thrum_node_stats node;
        assert_int_equal(thrum_executor_node(ex, 1, &node), 0);
        assert_in_range(node.most_used, FIVE_GIB + 24, UINT64_C(6) << 30);
        end();
    }
    assert_true(most_kib() - before < 100 * KIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five_gibibytes_are_cut_written_in_parts_and_put_together),
        cmocka_unit_test(what_is_behind_four_gibibytes_goes_to_a_device_and_comes_back),
        cmocka_unit_test(columns_and_planes_five_gibibytes_apart_go_to_a_device_and_come_back),
        cmocka_unit_test(five_gibibytes_go_over_a_link_to_a_device_and_come_back),
    };
    return RUN_TESTS(tests, 60);
}
