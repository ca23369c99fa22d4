/* SPDX-License-Identifier: MIT
 *
 * Distances between memory nodes and walks through the grid, against tables 2 and 3 of LAHeteroprio's paper.
 */
#include "fake_world.h"

#include "sched/distance.h"
#include "sched/policy_int.h"

/* Priorities by bucket, aligned at the high one: missing low buckets are 0. The paper prints the fractions cut off
 * after two digits, not rounded. */
TEST(table_2_of_the_paper)
{
    static const struct {
        int a[4], b[4], hundredths;
    } rows[] = {
        {{0, 0, 1, 2}, {0, 2, 1, 0}, 40}, {{0, 0, 1, 2}, {0, 0, 0, 1}, 20}, {{0, 0, 1, 2}, {0, 0, 1, 2}, 0},
        {{0, 3, 1, 2}, {0, 1, 2, 3}, 26}, {{0, 3, 1, 2}, {0, 1, 3, 2}, 26}, {{0, 3, 1, 2}, {0, 3, 2, 1}, 13},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double fraction = 1 - thrum__priority_distance(rows[i].a, rows[i].b, 4);
        assert_int_equal((int)(fraction * 100 + 1e-9), rows[i].hundredths);
        assert_true(thrum__priority_distance(rows[i].a, rows[i].b, 4) ==
                    thrum__priority_distance(rows[i].b, rows[i].a, 4));
    }
}

TEST(priority_distances_are_from_0_to_1)
{
    static const int none[8] = {0}, high[8] = {7, 7, 7, 7, 7, 7, 7, 7};
    assert_true(thrum__priority_distance(none, none, 8) == 1);
    assert_true(thrum__priority_distance(none, high, 8) == 0); /* 56 / 45 would be more than the whole */
    assert_true(thrum__priority_distance(none, none, 0) == 1);
}

TEST(transfer_distances_are_parts_of_the_longest)
{
    fake_world fake;
    double distances[9];
    fake_begin(&fake, thrum_policy_find("fifo"), 1, 2, 1);
    fake.second_per_byte[2][0] = 4; /* from 2 to 0: the distance of 0 to 2 */
    fake.second_per_byte[1][2] = 2;
    thrum__transfer_distances(&fake.world, distances);
    static const double expected[9] = {0, 0.25, 1, 0.25, 0, 0.25, 0.25, 0.5, 0};
    for (int i = 0; i < 9; i++)
        assert_true(distances[i] == expected[i]);
    memset(fake.second_per_byte, 0, sizeof fake.second_per_byte);
    thrum__transfer_distances(&fake.world, distances);
    for (int i = 0; i < 9; i++)
        assert_true(distances[i] == 0);
    assert_true(thrum__distance(1, 0.5, 0.5) == 0.75);
    assert_true(thrum__distance(1, 0.5, 0) == 0.5);
    fake_end(&fake);
}

/* steps[bucket][node] is when the walk comes to the list; -1: never. */
static void check_walk(const thrum__walk *walk, const int (*steps)[3])
{
    thrum__cell cells[12] = {{0}};
    int expected = 0;
    thrum__walk_lay(walk, cells);
    for (int step = 0; step < walk->buckets * walk->nodes; step++)
        assert_int_equal(steps[cells[step].bucket][cells[step].node], step);
    for (int bucket = 0; bucket < 4; bucket++)
        for (int node = 0; node < 3; node++)
            expected += steps[bucket][node] >= 0;
    assert_int_equal(walk->buckets * walk->nodes, expected);
}

static const int upwards[] = {0, 1, 2, 3}, downwards[] = {3, 2, 1};

/* 3B is printed as if GPU-1 were nearer to the processors than GPU-0, which 3A contradicts: here with that distance. */
TEST(table_3b_of_the_paper)
{
    static const double distance[] = {0, 1, 0.5};
    static const int steps[4][3] = {{0, 3, 2}, {1, 5, 4}, {6, 9, 8}, {7, 11, 10}};
    check_walk(&(thrum__walk){3, 0, distance, upwards, 4, 2, 2}, steps);
}

TEST(table_3b_with_the_distances_of_table_3a)
{
    static const double distance[] = {0, 0.5, 1};
    static const int steps[4][3] = {{0, 2, 3}, {1, 4, 5}, {6, 8, 9}, {7, 10, 11}};
    check_walk(&(thrum__walk){3, 0, distance, upwards, 4, 2, 2}, steps);
}

TEST(tables_3c_and_3d_of_the_paper)
{
    static const double from_0[] = {0.5, 0, 1}, from_1[] = {0.5, 1, 0};
    static const int steps_0[4][3] = {{-1, -1, -1}, {5, 4, 8}, {3, 1, 7}, {2, 0, 6}};
    static const int steps_1[4][3] = {{-1, -1, -1}, {5, 8, 4}, {3, 7, 1}, {2, 6, 0}};
    check_walk(&(thrum__walk){3, 1, from_0, downwards, 3, 1, 2}, steps_0);
    check_walk(&(thrum__walk){3, 2, from_1, downwards, 3, 1, 2}, steps_1);
}

TEST(extreme_walks_go_row_by_row_and_column_by_column)
{
    static const double distance[] = {0, 0.5, 1};
    static const int rows[4][3] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}};
    static const int column[4][3] = {{0, 4, 5}, {1, 6, 7}, {2, 8, 9}, {3, 10, 11}};
    check_walk(&(thrum__walk){3, 0, distance, upwards, 4, 1000000, 1}, rows);
    check_walk(&(thrum__walk){3, 0, distance, upwards, 4, 1000000, 1000000}, column);
    check_walk(&(thrum__walk){3, 0, distance, upwards, 4, 0, 1}, column); /* nobody is near */
}

/* Node 1's walk: home alone is near, 2 and 3 are as far as each other, 4 is farther. */
TEST(lists_of_one_bucket_are_tied_where_nodes_are_as_near)
{
    static const double distance[] = {0.5, 0, 1, 1, 2};
    static const bool tied[] = {false, false, false, false, false, true, false, false, true, false};
    thrum__cell cells[COUNT_OF(tied)];
    thrum__walk_lay(&(thrum__walk){5, 1, distance, upwards, 2, 1, 1}, cells);
    for (size_t i = 0; i < COUNT_OF(tied); i++)
        assert_int_equal(cells[i].tied, tied[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_2_of_the_paper),
        cmocka_unit_test(priority_distances_are_from_0_to_1),
        cmocka_unit_test(transfer_distances_are_parts_of_the_longest),
        cmocka_unit_test(table_3b_of_the_paper),
        cmocka_unit_test(table_3b_with_the_distances_of_table_3a),
        cmocka_unit_test(tables_3c_and_3d_of_the_paper),
        cmocka_unit_test(lists_of_one_bucket_are_tied_where_nodes_are_as_near),
        cmocka_unit_test(extreme_walks_go_row_by_row_and_column_by_column),
    };
    return RUN_TESTS(tests, 20);
}
