/* SPDX-License-Identifier: MIT
 *
 * Which tasks of a workload wait for which: by hand, and compared with the definition for random ones.
 */
#include "test.h"

#include "model/workload.h"
#include "random.h"
#include "scarcity.h"

static const unsigned both = 1u << THRUM_ARCH_CPU | 1u << THRUM_ARCH_EMU;

static thrum_workload *empty_workload(int pieces, bool written)
{
    thrum_workload *w = thrum_workload_new("test");
    assert_int_equal(thrum_workload_add_codelet(w, "work", both), 0);
    for (int i = 0; i < pieces; i++)
        assert_int_equal(thrum_workload_add_data(w, NULL, 8, written), i);
    return w;
}

static int add(thrum_workload *w, int count, const thrum_workload_access *access)
{
    return thrum_workload_add_task(
        w, &(thrum_workload_task){.work = 1, .bucket = -1, .worker = -1, .access = access, .access_count = count});
}

static int use(thrum_workload *w, int data, enum thrum_mode mode)
{
    return add(w, 1, &(thrum_workload_access){data, mode});
}

static bool is_edge(const thrum__wl_order *order, int before, int after)
{
    for (size_t i = order->first[before]; i < order->first[before + 1]; i++)
        if (order->after[i] == after)
            return true;
    return false;
}

/* The order has exactly these edges, `count` pairs of numbers. */
static void expect_edges(const thrum_workload *w, const int (*edges)[2], size_t count)
{
    thrum__wl_order order;
    assert_int_equal(thrum__wl_order_make(w, &order), 0);
    for (size_t i = 0; i < count; i++)
        if (!is_edge(&order, edges[i][0], edges[i][1]))
            fail_msg("no edge from %d to %d", edges[i][0], edges[i][1]);
    assert_int_equal(order.first[w->task_count], count);
    thrum__wl_order_drop(&order);
}

#define EDGES(...) (const int[][2]){__VA_ARGS__}, COUNT_OF(((const int[][2]){__VA_ARGS__}))

/* ---- By hand ----------------------------------------------------------------------------------------------------- */

TEST(a_reader_waits_for_the_writer_and_a_writer_for_the_readers_alone)
{
    thrum_workload *w = empty_workload(1, false);
    use(w, 0, THRUM_MODE_W);
    use(w, 0, THRUM_MODE_R);
    use(w, 0, THRUM_MODE_R);
    use(w, 0, THRUM_MODE_RW);
    use(w, 0, THRUM_MODE_W);
    expect_edges(w, EDGES({0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4}));
    thrum_workload_free(w);
}

TEST(commuting_tasks_have_no_edges_among_each_other)
{
    thrum_workload *w = empty_workload(1, true);
    use(w, 0, THRUM_MODE_RW);
    use(w, 0, THRUM_MODE_COMMUTE);
    use(w, 0, THRUM_MODE_COMMUTE);
    use(w, 0, THRUM_MODE_R);
    expect_edges(w, EDGES({0, 1}, {0, 2}, {1, 3}, {2, 3}));
    thrum_workload_free(w);
}

TEST(reductions_run_at_the_same_time_and_write_what_was_never_written)
{
    thrum_workload *w = empty_workload(1, false);
    use(w, 0, THRUM_MODE_REDUX);
    use(w, 0, THRUM_MODE_REDUX);
    use(w, 0, THRUM_MODE_COMMUTE);
    use(w, 0, THRUM_MODE_REDUX);
    expect_edges(w, EDGES({0, 2}, {1, 2}, {2, 3}));
    thrum_workload_free(w);
}

TEST(scratch_memory_orders_nothing)
{
    thrum_workload *w = empty_workload(1, false);
    use(w, 0, THRUM_MODE_SCRATCH);
    use(w, 0, THRUM_MODE_W);
    use(w, 0, THRUM_MODE_SCRATCH);
    use(w, 0, THRUM_MODE_R);
    expect_edges(w, EDGES({1, 3}));
    thrum_workload_free(w);
}

TEST(each_pair_comes_once_however_often_it_is_said)
{
    thrum_workload *w = empty_workload(2, true);
    const thrum_workload_access two[] = {{0, THRUM_MODE_RW}, {1, THRUM_MODE_RW}};
    add(w, 2, two);
    add(w, 2, two);
    thrum_workload_add_edge(w, 0, 1);
    thrum_workload_add_edge(w, 0, 1);
    expect_edges(w, EDGES({0, 1}));
    thrum_workload_free(w);
}

TEST(the_sequence_has_the_smallest_number_first_that_is_free)
{
    thrum_workload *w = empty_workload(0, false);
    thrum__wl_order order;
    for (int i = 0; i < 6; i++)
        add(w, 0, NULL);
    thrum_workload_add_edge(w, 5, 0);
    thrum_workload_add_edge(w, 4, 1);
    thrum_workload_add_edge(w, 0, 3);
    assert_int_equal(thrum__wl_order_make(w, &order), 0);
    assert_memory_equal(order.sequence, ((const int[]){2, 4, 1, 5, 0, 3}), sizeof(int[6]));
    assert_int_equal(order.waits[0], 1);
    assert_int_equal(order.waits[2], 0);
    thrum__wl_order_drop(&order);
    thrum_workload_free(w);
}

TEST(a_workload_without_tasks_has_an_order)
{
    thrum_workload *w = empty_workload(0, false);
    expect_edges(w, NULL, 0);
    assert_int_equal(thrum_workload_check(w), 0);
    thrum_workload_free(w);
}

/* ---- What is wrong ----------------------------------------------------------------------------------------------- */

TEST(a_circle_is_found_and_named)
{
    thrum_workload *w = empty_workload(1, true);
    use(w, 0, THRUM_MODE_RW);
    use(w, 0, THRUM_MODE_RW);
    use(w, 0, THRUM_MODE_RW);
    use(w, 0, THRUM_MODE_RW);
    thrum_workload_add_edge(w, 2, 1);
    assert_error(thrum_workload_check(w), THRUM_ECYCLE,
                 "workload 'test' has tasks that wait for each other: task 1 'work' waits for task 2 'work', that for "
                 "task 1 'work'");
    thrum_workload_free(w);
}

TEST(a_long_circle_is_named_in_part)
{
    thrum_workload *w = empty_workload(1, true);
    for (int i = 0; i < 100; i++)
        use(w, 0, THRUM_MODE_RW);
    thrum_workload_add_edge(w, 99, 0);
    assert_error(thrum_workload_check(w), THRUM_ECYCLE, ", that for task ..., that for task ");
    thrum_workload_free(w);
}

TEST(what_is_read_must_have_been_written)
{
    thrum_workload *w = empty_workload(1, false);
    use(w, 0, THRUM_MODE_R);
    assert_error(thrum_workload_check(w), THRUM_EDATA, "task 0 'work' reads data 0, but nothing was written to it");
    thrum_workload_free(w);
}

/* ---- Compared with the definition -------------------------------------------------------------------------------- */

enum { TASKS = 24, PIECES = 4 };

static bool conflict(const thrum_workload *w, int before, int after)
{
    const thrum__wl_task *a = &w->tasks[before], *b = &w->tasks[after];
    for (int i = 0; i < a->count; i++)
        for (int j = 0; j < b->count; j++) {
            const thrum_workload_access *x = &w->accesses[a->first + (size_t)i],
                                        *y = &w->accesses[b->first + (size_t)j];
            if (x->data != y->data || x->mode == THRUM_MODE_SCRATCH || y->mode == THRUM_MODE_SCRATCH)
                continue;
            if (x->mode != y->mode || x->mode == THRUM_MODE_W || x->mode == THRUM_MODE_RW)
                return true;
        }
    return false;
}

static thrum_workload *random_workload(struct random *random)
{
    thrum_workload *w = empty_workload(PIECES, true);
    for (int i = 0; i < TASKS; i++) {
        thrum_workload_access access[PIECES];
        int count = 0;
        for (int d = 0; d < PIECES; d++)
            if (random_chance(random, 40))
                access[count++] = (thrum_workload_access){d, (enum thrum_mode)random_between(random, 1, 6)};
        add(w, count, access);
    }
    for (int i = 0; i < 5; i++) {
        int one = (int)random_below(random, TASKS), other = (int)random_below(random, TASKS);
        if (one != other)
            thrum_workload_add_edge(w, one < other ? one : other, one < other ? other : one);
    }
    return w;
}

static void close_over(bool reach[TASKS][TASKS])
{
    for (int k = 0; k < TASKS; k++)
        for (int i = 0; i < TASKS; i++)
            for (int j = 0; j < TASKS; j++)
                reach[i][j] |= reach[i][k] && reach[k][j];
}

static bool is_given(const thrum_workload *w, int before, int after)
{
    for (size_t i = 0; i < w->edge_count; i++)
        if (w->edges[i].before == before && w->edges[i].after == after)
            return true;
    return false;
}

TEST(random_workloads_are_ordered_as_the_definition_says)
{
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct random random = random_new(seed);
        thrum_workload *w = random_workload(&random);
        bool reach[TASKS][TASKS] = {{false}}, wanted[TASKS][TASKS] = {{false}};
        thrum__wl_order order;
        assert_int_equal(thrum__wl_order_make(w, &order), 0);
        for (int i = 0; i < TASKS; i++)
            for (int j = i + 1; j < TASKS; j++) {
                wanted[i][j] = conflict(w, i, j) || is_given(w, i, j);
                reach[i][j] = is_edge(&order, i, j);
                if (reach[i][j] && !wanted[i][j])
                    fail_msg("seed %d: %d waits for %d without a reason", (int)seed, j, i);
            }
        close_over(reach);
        close_over(wanted);
        assert_memory_equal(reach, wanted, sizeof reach);
        thrum__wl_order_drop(&order);
        thrum_workload_free(w);
    }
}

/* ---- Without memory ---------------------------------------------------------------------------------------------- */

static enum outcome make_and_measure(void)
{
    thrum_workload *w = thrum_workload_new("scarce");
    thrum_workload_size size = {0};
    int err = w ? 0 : THRUM_ENOMEM, number = 0;
    if (!err && (number = thrum_workload_add_codelet(w, "work", both)) < 0)
        err = number;
    for (int i = 0; i < 40 && !err; i++)
        if ((number = thrum_workload_add_data(w, "A", 8, true)) < 0)
            err = number;
    for (int i = 0; i < 40 && !err; i++)
        if ((number = add(w, 1, &(thrum_workload_access){i / 2, THRUM_MODE_RW})) < 0)
            err = number;
    if (!err)
        err = thrum_workload_add_edge(w, 39, 0);
    if (!err)
        err = thrum_workload_measure(w, &size);
    thrum_workload_free(w);
    return outcome_of(err, size.edges == 21 && size.depth == 4);
}

TEST(without_memory_there_is_an_error_and_no_leak)
{
    exhaust(make_and_measure);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_waits_for_the_writer_and_a_writer_for_the_readers_alone),
        cmocka_unit_test(commuting_tasks_have_no_edges_among_each_other),
        cmocka_unit_test(reductions_run_at_the_same_time_and_write_what_was_never_written),
        cmocka_unit_test(scratch_memory_orders_nothing),
        cmocka_unit_test(each_pair_comes_once_however_often_it_is_said),
        cmocka_unit_test(the_sequence_has_the_smallest_number_first_that_is_free),
        cmocka_unit_test(a_workload_without_tasks_has_an_order),
        cmocka_unit_test(a_circle_is_found_and_named),
        cmocka_unit_test(a_long_circle_is_named_in_part),
        cmocka_unit_test(what_is_read_must_have_been_written),
        cmocka_unit_test(random_workloads_are_ordered_as_the_definition_says),
        cmocka_unit_test(without_memory_there_is_an_error_and_no_leak),
    };
    return RUN_TESTS(tests, 60);
}
