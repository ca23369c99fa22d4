/* SPDX-License-Identifier: MIT
 *
 * The formulas of LAHeteroprio against table 1 of its paper, and what the table does not show.
 */
#include "fake_world.h"

#include "sched/locality.h"
#include "sched/policy_int.h"

static fake_world fake;

/* Three memory nodes: the machine's and two devices'. */
static int machine(void **state)
{
    (void)state;
    fake_begin(&fake, thrum_policy_find("fifo"), 1, 2, 1);
    return 0;
}

static int machine_end(void **state)
{
    (void)state;
    fake_end(&fake);
    return 0;
}

/* "A/R/1 B/W/1", and what the nodes host: "A", "AB", ... One letter a piece. */
static fake_job job_of(const char *accesses, const char *const hosts[3])
{
    fake_job job = fake_job_of(&fake_both, 0, 1);
    memset(fake.on, 0, sizeof fake.on);
    for (const char *at = accesses; *at; at += strspn(at, " ")) {
        char piece, mode;
        int bytes, used;
        assert_int_equal(sscanf(at, "%c/%c/%d%n", &piece, &mode, &bytes, &used), 3);
        fake.bytes[piece - 'A'] = (size_t)bytes;
        fake_access(&fake, &job, piece - 'A',
                    mode == 'R'   ? THRUM_MODE_R
                    : mode == 'W' ? THRUM_MODE_W
                    : mode == 'S' ? THRUM_MODE_SCRATCH
                    : mode == 'C' ? THRUM_MODE_COMMUTE
                    : mode == 'X' ? THRUM_MODE_REDUX
                                  : THRUM_MODE_RW);
        at += used;
    }
    for (int node = 0; node < 3; node++)
        for (const char *c = hosts[node]; *c; c++)
            fake.on[*c - 'A'][node] = true;
    return job;
}

static thrum__nodes winners_of(const thrum__locality *locality, enum thrum__formula formula)
{
    thrum__nodes winners[THRUM__FORMULAS] = {0};
    thrum__locality_all(locality, 1000, winners);
    return winners[formula];
}

static thrum__nodes winners(const char *accesses, const char *const hosts[3], enum thrum__formula formula)
{
    thrum__locality locality;
    fake_job job = job_of(accesses, hosts);
    job.job.data = job.data;
    thrum__locality_look(&locality, &fake.world, &job.job);
    return winners_of(&locality, formula);
}

enum { MN0 = 1, MN1 = 2, MN2 = 4, MN12 = 6, MN012 = 7 };

/* The table calls LS_SDH "LS_DH". In its fifth row it prints MN2 for it; by the formula nodes 1 and 2 have 4 bytes
 * both: a misprint. All other entries are the paper's. */
TEST(table_1_of_the_paper)
{
    static const struct {
        const char *accesses, *hosts[3];
        uint64_t sdh, sdh2, sdhb, smwb;
    } rows[] = {
        {"A/R/1 B/W/1", {"A", "A", "B"}, MN012, MN012, MN2, MN2},
        {"A/R/1 B/W/1", {"A", "AB", "B"}, MN1, MN1, MN1, MN1},
        {"A/W/1 B/W/1 C/W/2", {"AB", "C", "AC"}, MN2, MN2, MN2, MN2},
        {"A/W/1 B/W/1 C/W/1", {"AB", "AB", "AC"}, MN012, MN012, MN012, MN012},
        {"A/R/2 B/R/1 C/W/2 D/W/2", {"AB", "AC", "CD"}, MN12, MN2, MN2, MN2},
        {"A/W/10 B/W/11 C/W/18 D/W/11", {"AD", "C", "BD"}, MN2, MN1, MN2, MN2},
        {"A/W/10 B/W/11 C/W/22 D/W/11", {"AD", "C", "BD"}, MN12, MN1, MN2, MN12},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(winners(rows[i].accesses, rows[i].hosts, THRUM__LS_SDH), rows[i].sdh);
        assert_int_equal(winners(rows[i].accesses, rows[i].hosts, THRUM__LS_SDH2), rows[i].sdh2);
        assert_int_equal(winners(rows[i].accesses, rows[i].hosts, THRUM__LS_SDHB), rows[i].sdhb);
        assert_int_equal(winners(rows[i].accesses, rows[i].hosts, THRUM__LC_SMWB), rows[i].smwb);
    }
}

/* W, RW and COMMUTE are writes; SCRATCH and REDUX are nothing, not even one of the N pieces of LC_SMWB: with one more,
 * its factor would be 2 - 1/3 and node 1 would lose. */
TEST(modes_count_as_reads_as_writes_or_not_at_all)
{
    static const char *const hosts[3] = {"S", "A", "B"};
    static const char *const writes[] = {"A/R/3 B/W/2 S/S/900", "A/R/3 B/M/2 S/S/900", "A/R/3 B/C/2 S/X/900"};
    for (size_t i = 0; i < COUNT_OF(writes); i++) {
        assert_int_equal(winners(writes[i], hosts, THRUM__LS_SDH), MN1);
        assert_int_equal(winners(writes[i], hosts, THRUM__LS_SDH2), MN2);
        assert_int_equal(winners(writes[i], hosts, THRUM__LS_SDHB), MN2);
        assert_int_equal(winners(writes[i], hosts, THRUM__LC_SMWB), MN12); /* 1.5 times 2 is 3 */
    }
}

TEST(a_world_that_cannot_tell_all_nodes_at_once_is_asked_for_each)
{
    static const char *const hosts[3] = {"A", "AB", "B"};
    fake.world.where = NULL;
    assert_int_equal(winners("A/R/1 B/W/1", hosts, THRUM__LS_SDH2), MN1);
    fake.world.where = fake_where;
}

TEST(sets_of_nodes_have_128_places)
{
    for (int node = 0; node < THRUM__NODES_MOST; node++) {
        thrum__nodes one = thrum__node_bit(node);
        assert_int_equal(thrum__nodes_first(one), node);
        assert_true(thrum__nodes_single(one));
        assert_true(thrum__nodes_have(one, node));
        for (int other = 0; other < node; other++) {
            thrum__nodes two = one | thrum__node_bit(other);
            assert_false(thrum__nodes_have(one, other));
            assert_false(thrum__nodes_single(two));
            assert_int_equal(thrum__nodes_first(two), other);
            assert_int_equal(thrum__nodes_next(two, other), other);
            assert_int_equal(thrum__nodes_next(two, other + 1), node);
            assert_int_equal(thrum__nodes_next(two, (node + 1) % THRUM__NODES_MOST), other);
        }
        assert_true(thrum__nodes_have(thrum__nodes_up_to(node + 1), node));
        assert_true(node == 0 || !thrum__nodes_have(thrum__nodes_up_to(node), node));
    }
}

static bool is_on_3_and_90(const thrum_world *world, const thrum_data *data, int node)
{
    (void)world;
    return node == 90 || (node == 3 && (const char *)data == &fake.pieces[0]);
}

static uint64_t is_on_3(const thrum_world *world, const thrum_data *data)
{
    (void)world;
    return (const char *)data == &fake.pieces[0] ? 1 << 3 : 0;
}

/* The first piece is on nodes 3 and 90, the second on node 90. */
TEST(of_many_nodes_those_beyond_the_64th_are_asked_about_one_by_one)
{
    thrum_world world = fake.world;
    thrum__locality locality;
    fake_job job = fake_job_of(&fake_both, 0, -1);
    fake.bytes[0] = 8, fake.bytes[1] = 4;
    fake_access(&fake, &job, 0, THRUM_MODE_R);
    fake_access(&fake, &job, 1, THRUM_MODE_RW);
    job.job.data = job.data;
    world.nodes = 100;
    world.is_on = is_on_3_and_90;
    world.where = is_on_3;
    thrum__locality_look(&locality, &world, &job.job);
    for (int formula = THRUM__LS_SDH; formula < THRUM__FORMULAS; formula++)
        assert_true(winners_of(&locality, (enum thrum__formula)formula) == thrum__node_bit(90));
    job.job.data_count = 1;
    thrum__locality_look(&locality, &world, &job.job);
    assert_true(winners_of(&locality, THRUM__LS_SDH) == (thrum__node_bit(3) | thrum__node_bit(90)));
}

TEST(data_that_was_never_written_is_on_no_node)
{
    static const char *const nowhere[3] = {"", "", ""}, *const partly[3] = {"", "A", ""};
    for (int formula = THRUM__LS_SDH; formula < THRUM__FORMULAS; formula++) {
        assert_int_equal(winners("B/W/5", nowhere, (enum thrum__formula)formula), MN012);
        assert_int_equal(winners("", nowhere, (enum thrum__formula)formula), MN012);
        assert_int_equal(winners("A/R/1 B/W/5", partly, (enum thrum__formula)formula), MN1);
    }
}

/* Two of three are written, so what is not there of them costs 4/3, which is no exact number: a last bit is not a
 * difference, a byte is. Node 0 lacks C, node 1 lacks A and B. */
TEST(costs_are_compared_with_a_tolerance)
{
    static const char *const hosts[3] = {"AB", "C", ""};
    for (int a = 1; a < 100; a++)
        for (int k = 1; k < 100; k++) {
            char text[80];
            snprintf(text, sizeof text, "A/W/%d B/R/%d C/W/%d", a, 4 * k, a + 3 * k);
            assert_int_equal(winners(text, hosts, THRUM__LC_SMWB), MN0 | MN1);
            snprintf(text, sizeof text, "A/W/%d B/R/%d C/W/%d", a, 4 * k, a + 3 * k + 1);
            assert_int_equal(winners(text, hosts, THRUM__LC_SMWB), MN1);
        }
}

TEST(squares_of_large_sizes_do_not_overflow)
{
    static const char *const hosts[3] = {"B", "A", ""};
    fake_job job = job_of("A/W/1 B/W/1", hosts);
    thrum__locality locality;
    job.job.data = job.data;
    job.data[0].bytes = (size_t)1 << 40;
    job.data[1].bytes = (size_t)1 << 39;
    thrum__locality_look(&locality, &fake.world, &job.job);
    assert_int_equal(winners_of(&locality, THRUM__LS_SDH2), MN1);
}

TEST(mc_takes_the_nodes_with_the_shortest_transfers)
{
    static const char *const hosts[3] = {"A", "B", ""};
    fake_job job = job_of("A/R/10 B/R/20", hosts);
    job.job.data = job.data;
    assert_int_equal(thrum__locality_cheapest(&fake.world, &job.job), MN1);
    fake.second_per_byte[1][0] = 0.5; /* 10 seconds either way */
    assert_int_equal(thrum__locality_cheapest(&fake.world, &job.job), MN0 | MN1);
}

TEST(the_steadiest_formula_has_the_lowest_count_and_equals_have_an_order)
{
    uint64_t counts[THRUM__FORMULAS] = {0};
    assert_int_equal(thrum__locality_steadiest(counts), THRUM__LS_SDH2);
    counts[THRUM__LS_SDH2] = 1;
    assert_int_equal(thrum__locality_steadiest(counts), THRUM__LS_SDHB);
    counts[THRUM__LS_SDHB] = 1;
    assert_int_equal(thrum__locality_steadiest(counts), THRUM__LC_SMWB);
    counts[THRUM__LC_SMWB] = 2;
    assert_int_equal(thrum__locality_steadiest(counts), THRUM__LS_SDH);
    counts[THRUM__LS_SDH] = 1;
    assert_int_equal(thrum__locality_steadiest(counts), THRUM__LS_SDH2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_1_of_the_paper),
        cmocka_unit_test(modes_count_as_reads_as_writes_or_not_at_all),
        cmocka_unit_test(a_world_that_cannot_tell_all_nodes_at_once_is_asked_for_each),
        cmocka_unit_test(sets_of_nodes_have_128_places),
        cmocka_unit_test(of_many_nodes_those_beyond_the_64th_are_asked_about_one_by_one),
        cmocka_unit_test(data_that_was_never_written_is_on_no_node),
        cmocka_unit_test(costs_are_compared_with_a_tolerance),
        cmocka_unit_test(squares_of_large_sizes_do_not_overflow),
        cmocka_unit_test(mc_takes_the_nodes_with_the_shortest_transfers),
        cmocka_unit_test(the_steadiest_formula_has_the_lowest_count_and_equals_have_an_order),
    };
    machine(NULL);
    int failed = RUN_TESTS(tests, 20);
    machine_end(NULL);
    return failed;
}
