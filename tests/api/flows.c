/* SPDX-License-Identifier: MIT
 *
 * Flows on executors that steal: the order that follows from accesses.
 */
#include "test.h"

#include <sched.h>
#include <unistd.h>

static void add_one(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[0].ptr += 1;
}

static void times(const thrum_buffer *b, const void *arg)
{
    *(unsigned long *)b[0].ptr *= *(const unsigned long *)arg; /* wraps around */
}

static void copy(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[1].ptr = *(const long *)b[0].ptr;
}

static void add_to(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[1].ptr += *(const long *)b[0].ptr;
}

static void set_zero(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    memset(b[0].ptr, 0, b[0].elem * (b[0].dims ? b[0].extent[0] : 1));
}

static const thrum_codelet increment = {.name = "increment", .cpu = add_one};
static const thrum_codelet multiply = {.name = "multiply", .cpu = times};
static const thrum_codelet duplicate = {.name = "duplicate", .cpu = copy};
static const thrum_codelet accumulate = {.name = "accumulate", .cpu = add_to};
static const thrum_codelet clear = {.name = "clear", .cpu = set_zero};

static void writers_of_one_handle_run_in_the_order_of_insertion(void **state)
{
    (void)state;
    for (int workers = 0; workers <= 4; workers++) {
        thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = workers, .threadless = workers == 0});
        thrum_flow *flow = thrum_flow_new(ex);
        long x = 1, expected = 1;
        thrum_data *data = thrum_data_variable(ex, &x, sizeof x);
        for (int i = 0; i < 1000; i++) {
            long factor = 3;
            assert_int_equal(thrum_insert(flow, &multiply, THRUM_RW(data), THRUM_ARG(factor)), 0);
            assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(data)), 0);
            expected = (long)((unsigned long)expected * 3 + 1);
        }
        assert_int_equal(thrum_flow_wait(flow), 0);
        assert_int_equal(thrum_data_unregister(data), 0);
        assert_int_equal(x, expected);
        assert_int_equal(thrum_flow_count(flow), 2000);
        assert_int_equal(thrum_flow_free(flow), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void readers_see_what_was_written_before_them_and_nothing_later(void **state)
{
    (void)state;
    enum { COPIES = 20, ROUNDS = 50 };
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 3});
    thrum_flow *flow = thrum_flow_new(ex);
    long x = 0, copies[ROUNDS][COPIES];
    thrum_data *data = thrum_data_variable(ex, &x, sizeof x), *copy_of[ROUNDS][COPIES];
    for (int r = 0; r < ROUNDS; r++) {
        assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(data)), 0);
        for (int c = 0; c < COPIES; c++) {
            copy_of[r][c] = thrum_data_variable(ex, &copies[r][c], sizeof(long));
            assert_int_equal(thrum_insert(flow, &duplicate, THRUM_R(data), THRUM_W(copy_of[r][c])), 0);
        }
    }
    assert_int_equal(thrum_flow_wait(flow), 0);
    for (int r = 0; r < ROUNDS; r++)
        for (int c = 0; c < COPIES; c++) {
            assert_int_equal(thrum_data_unregister(copy_of[r][c]), 0);
            assert_int_equal(copies[r][c], r + 1);
        }
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static _Atomic int inside, most_inside;

static atomic_bool reader_is_there, reader_may_go;

static void read_at_leisure(const thrum_buffer *b, const void *arg)
{
    const long before = *(const long *)b[0].ptr;
    (void)arg;
    atomic_store(&reader_is_there, true);
    while (!atomic_load(&reader_may_go))
        sched_yield();
    *(long *)b[1].ptr = before == *(const long *)b[0].ptr;
}

static const thrum_codelet leisure = {.name = "leisure", .cpu = read_at_leisure};

/* The reader waits for what its inserter does next: so that one must not run it (thrum/flow.h). */
static void a_writer_waits_for_readers_though_no_other_writer_is_left(void **state)
{
    (void)state;
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2, .callers = THRUM_CALLERS_BLOCK});
    thrum_flow *flow = thrum_flow_new(ex);
    long x = 0, same = 0;
    thrum_data *data = thrum_data_variable(ex, &x, sizeof x), *result = thrum_data_variable(ex, &same, sizeof same);
    for (int i = 1; i <= 3; i++) {
        atomic_store(&reader_is_there, false);
        atomic_store(&reader_may_go, false);
        assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(data)), 0);
        assert_int_equal(thrum_insert(flow, &leisure, THRUM_R(data), THRUM_W(result)), 0);
        while (!atomic_load(&reader_is_there))
            sched_yield();
        assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(data)), 0);
        usleep(5000);
        atomic_store(&reader_may_go, true);
        assert_int_equal(thrum_flow_wait(flow), 0);
        assert_int_equal(same, 1);
        assert_int_equal(x, 2 * i);
    }
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_int_equal(thrum_data_unregister(result), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void alone(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    int now = atomic_fetch_add(&inside, 1) + 1;
    int most = atomic_load(&most_inside);
    while (now > most && !atomic_compare_exchange_weak(&most_inside, &most, now))
        ;
    *(long *)b[0].ptr += 1;
    atomic_fetch_sub(&inside, 1);
}

static void commuting_tasks_exclude_each_other(void **state)
{
    (void)state;
    static const thrum_codelet exclusive = {.name = "exclusive", .cpu = alone};
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 4});
    thrum_flow *flow = thrum_flow_new(ex);
    long x = 0, y = 0, copied = 0;
    thrum_data *a = thrum_data_variable(ex, &x, sizeof x), *b = thrum_data_variable(ex, &y, sizeof y);
    thrum_data *c = thrum_data_variable(ex, &copied, sizeof copied);
    atomic_store(&most_inside, 0);
    for (int i = 0; i < 2000; i++)
        assert_int_equal(i % 2 ? thrum_insert(flow, &exclusive, THRUM_COMMUTE(a), THRUM_COMMUTE(b))
                               : thrum_insert(flow, &exclusive, THRUM_COMMUTE(b), THRUM_COMMUTE(a)),
                         0);
    assert_int_equal(thrum_insert(flow, &duplicate, THRUM_R(a), THRUM_W(c)), 0);
    assert_int_equal(thrum_insert(flow, &accumulate, THRUM_R(b), THRUM_RW(c)), 0);
    assert_int_equal(thrum_flow_wait(flow), 0);
    assert_int_equal(thrum_data_unregister(a), 0);
    assert_int_equal(thrum_data_unregister(b), 0);
    assert_int_equal(thrum_data_unregister(c), 0);
    assert_int_equal(atomic_load(&most_inside), 1);
    assert_int_equal(x + y, 2000);
    assert_int_equal(copied, 2000);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void add_second(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[0].ptr += *(const long *)b[1].ptr;
}

static void reducing_tasks_add_up_with_what_was_there(void **state)
{
    (void)state;
    static const thrum_codelet add = {.name = "add", .cpu = add_second};
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 4});
    thrum_flow *flow = thrum_flow_new(ex);
    long x = 100, copied = 0;
    thrum_data *a = thrum_data_variable(ex, &x, sizeof x), *b = thrum_data_variable(ex, NULL, sizeof x);
    thrum_data *c = thrum_data_variable(ex, &copied, sizeof copied);
    assert_int_equal(thrum_data_set_reduction(a, &clear, &add), 0);
    assert_int_equal(thrum_data_set_reduction(b, &clear, &add), 0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 500; i++) {
            assert_int_equal(thrum_insert(flow, &increment, THRUM_REDUX(a)), 0);
            assert_int_equal(thrum_insert(flow, &increment, THRUM_REDUX(b)), 0);
        }
        assert_int_equal(thrum_insert(flow, &accumulate, THRUM_R(a), THRUM_RW(c)), 0);
        assert_int_equal(thrum_insert(flow, &accumulate, THRUM_R(b), THRUM_RW(c)), 0);
    }
    assert_int_equal(thrum_flow_wait(flow), 0);
    assert_int_equal(thrum_data_unregister(a), 0);
    assert_int_equal(thrum_data_unregister(b), 0);
    assert_int_equal(thrum_data_unregister(c), 0);
    assert_int_equal(x, 1600);
    assert_int_equal(copied, 600 + 1100 + 1600 + 500 + 1000 + 1500);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void add_to_all(const thrum_buffer *b, const void *arg)
{
    long *v = b[0].ptr;
    for (size_t j = 0; j < b[0].extent[1]; j++)
        for (size_t i = 0; i < b[0].extent[0]; i++)
            v[i + j * b[0].stride[1]] += *(const long *)arg;
}

static void parts_are_views_of_their_whole(void **state)
{
    (void)state;
    enum { N = 13, M = 9 };
    static const thrum_codelet add_all = {.name = "add_all", .cpu = add_to_all};
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2});
    thrum_flow *flow = thrum_flow_new(ex);
    long m[M][N] = {{0}}, one = 1, hundred = 100;
    thrum_data *whole = thrum_data_matrix(ex, m, N, N, M, sizeof(long));
    for (int round = 0; round < 10; round++) {
        assert_int_equal(thrum_insert(flow, &add_all, THRUM_RW(whole), THRUM_ARG(one)), 0);
        assert_int_equal(thrum_partition(flow, whole, &(thrum_cut){.pieces = {3, 2}}), 0);
        assert_int_equal(thrum_data_parts(whole), 6);
        for (size_t p = 0; p < 6; p++)
            assert_int_equal(thrum_insert(flow, &add_all, THRUM_RW(thrum_data_part(whole, p)), THRUM_ARG(hundred)), 0);
        assert_int_equal(thrum_unpartition(flow, whole), 0);
    }
    assert_int_equal(thrum_flow_wait(flow), 0);
    assert_int_equal(thrum_data_unregister(whole), 0);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < M; j++)
            assert_int_equal(m[j][i], 1010);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void the_main_program_acquires_between_tasks(void **state)
{
    (void)state;
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2});
    thrum_flow *flow = thrum_flow_new(ex);
    long x = 0;
    void *at = NULL;
    thrum_data *data = thrum_data_variable(ex, &x, sizeof x);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(data)), 0);
        assert_int_equal(thrum_data_acquire(data, THRUM_MODE_RW, &at), 0);
        assert_ptr_equal(at, &x);
        assert_int_equal(x, 11 * i + 1);
        assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(data)), 0);
        x += 9;
        assert_int_equal(thrum_data_release(data), 0);
    }
    assert_int_equal(thrum_flow_wait(flow), 0);
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_int_equal(x, 1100);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void a_flow_of_many_tasks_stays_within_its_window(void **state)
{
    (void)state;
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2});
    thrum_flow *flow = thrum_flow_new(ex);
    long x[64] = {0};
    thrum_data *data[64];
    for (int i = 0; i < 64; i++)
        data[i] = thrum_data_variable(ex, &x[i], sizeof x[i]);
    assert_int_equal(thrum_flow_set_window(flow, 100), 0);
    for (int i = 0; i < 200000; i++)
        assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(data[i % 64]), THRUM_R(data[(i + 7) % 64])), 0);
    assert_int_equal(thrum_flow_wait(flow), 0);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(thrum_data_unregister(data[i]), 0);
        assert_int_equal(x[i], 200000 / 64);
    }
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writers_of_one_handle_run_in_the_order_of_insertion),
        cmocka_unit_test(readers_see_what_was_written_before_them_and_nothing_later),
        cmocka_unit_test(a_writer_waits_for_readers_though_no_other_writer_is_left),
        cmocka_unit_test(commuting_tasks_exclude_each_other),
        cmocka_unit_test(reducing_tasks_add_up_with_what_was_there),
        cmocka_unit_test(parts_are_views_of_their_whole),
        cmocka_unit_test(the_main_program_acquires_between_tasks),
        cmocka_unit_test(a_flow_of_many_tasks_stays_within_its_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
