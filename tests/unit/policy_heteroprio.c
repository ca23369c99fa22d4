/* SPDX-License-Identifier: MIT
 *
 * heteroprio and laheteroprio on a machine that does not exist.
 */
#include "fake_world.h"

#include "sched/policy_int.h"

static fake_world fake;

static void begin(const char *policy, int cpus, int devices, const char *settings)
{
    fake_make(&fake, thrum_policy_find(policy), cpus, devices, 1);
    assert_int_equal(fake_begin_with(&fake, settings), 0);
}

static fake_job in_bucket(const thrum_codelet *codelet, int bucket)
{
    fake_job job = fake_job_of(codelet, 0, -1);
    job.job.bucket = bucket;
    return job;
}

static void empty(void)
{
    for (int w = 0; w < fake.world.workers; w++)
        for (fake_job *job; (job = fake_pop(&fake, w));)
            fake_done(&fake, job);
    fake_end(&fake);
}

struct wanted {
    const char *key;
    double value;
};

static void keep(void *arg, const char *key, double value)
{
    struct wanted *wanted = arg;
    if (strcmp(wanted->key, key) == 0)
        wanted->value = value;
}

static double reported(const char *key)
{
    struct wanted wanted = {key, -1000};
    fake.policy->report(fake.state, &fake.world, keep, &wanted);
    assert_true(wanted.value != -1000);
    return wanted.value;
}

/* ---- heteroprio -------------------------------------------------------------------------------------------------- */

static const char *const both_policies[] = {"heteroprio", "laheteroprio"};

/* The paper's example: three devices, each twice as fast as a processor. */
TEST(a_slower_worker_takes_a_job_if_there_are_six_or_more)
{
    for (size_t p = 0; p < COUNT_OF(both_policies); p++) {
        fake_job jobs[7];
        begin(both_policies[p], 1, 3, "fastest.0=emu;factor.0=2");
        for (int i = 0; i < 7; i++)
            jobs[i] = in_bucket(&fake_both, 0);
        for (int i = 0; i < 5; i++)
            fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
        assert_int_equal(fake.life[0], FAKE_ASLEEP);
        assert_null(fake_pop(&fake, 0));
        fake_push(&fake, &jobs[5], THRUM_ANY_WORKER);
        assert_int_equal(fake.life[0], FAKE_WOKEN);
        assert_non_null(fake_pop(&fake, 0));
        assert_null(fake_pop(&fake, 0));
        assert_non_null(fake_pop(&fake, 1));
        fake_push(&fake, &jobs[6], THRUM_ANY_WORKER);
        assert_null(fake_pop(&fake, 0));
        for (int i = 0; i < 5; i++)
            assert_non_null(fake_pop(&fake, 1 + i % 3));
        fake_end(&fake);
    }
}

/* Section "Multi-priorities": T_B, in bucket 1, is for processors alone. */
TEST(each_architecture_has_its_order_of_buckets)
{
    begin("heteroprio", 1, 1, "order.cpu=0,1,2,3;order.emu=3,2,0");
    fake_job jobs[8];
    for (int i = 0; i < 8; i++) {
        jobs[i] = in_bucket(i % 4 == 1 ? &fake_cpu : &fake_both, i % 4);
        fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
    }
    static const int expected[][2] = {{1, 3}, {0, 0}, {1, 7}, {1, 2}, {0, 4}, {0, 1}, {0, 5}, {1, 6}};
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_ptr_equal(fake_pop(&fake, expected[i][0]), &jobs[expected[i][1]]);
    fake_end(&fake);
}

TEST(what_the_fastest_cannot_run_is_not_bounded)
{
    for (size_t p = 0; p < COUNT_OF(both_policies); p++) {
        begin(both_policies[p], 2, 2, "fastest.0=emu;factor.0=100");
        fake_job jobs[] = {in_bucket(&fake_both, 0), in_bucket(&fake_cpu, 0), in_bucket(&fake_both, 0),
                           in_bucket(&fake_both, 0)};
        jobs[2].forbidden[2] = jobs[2].forbidden[3] = true; /* has an implementation, and cannot run there */
        jobs[3].forbidden[2] = true;                        /* can, on the other device */
        for (size_t i = 0; i < COUNT_OF(jobs); i++)
            fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
        assert_non_null(fake_pop(&fake, 1));
        assert_non_null(fake_pop(&fake, 0));
        assert_null(fake_pop(&fake, 0));
        assert_int_equal(jobs[1].stage, FAKE_POPPED);
        assert_int_equal(jobs[2].stage, FAKE_POPPED);
        assert_ptr_equal(fake_pop(&fake, 2), &jobs[0]);
        assert_null(fake_pop(&fake, 2));
        assert_ptr_equal(fake_pop(&fake, 3), &jobs[3]);
        fake_end(&fake);
    }
}

TEST(settings_are_refused_with_a_sentence)
{
    static const struct {
        const char *settings, *sentence;
        bool both;
    } bad[] = {
        {"fastest.1=emu;order.emu=3,2,0", "order.emu leaves the bucket '1' out", true}, /* the paper's own array */
        {"fastest.1=gpu", "there is no architecture 'gpu'", true},
        {"order.gpu=1", "there is no architecture 'gpu'", true},
        {"order.cpu=1,2,1", "the bucket '1' is in the order twice", true},
        {"order.cpu=1,,2", "cannot be a bucket", true},
        {"factor.gemm=-1", "'factor.gemm=-1'", true},
        {"factor.gemm=fast", "from 0 to 1e+06", true},
        {"lists=random", "'lists=random': what is taken first out of a list can be the oldest, the newest, or", true},
        {"lists=", "'lists='", true},
        {"formula=ls_sdh3", "there is no such formula; there are: auto, laru, mc, ls_sdh,", false},
        {"l=0", "'l=0': that must be a whole number from 1", false},
        {"l=1,0", "'l=0'", false},
        {"l=1.5", "a whole number", false},
        {"l=1,2,3", "more than 2 numbers", false},
        {"s=few", "'s=few'", false},
        {"alpha=1.01", "'alpha=1.01': that must be a number from 0 to 1", false},
        {"alpha=-0.1", "alpha", false},
        {"theta=", "theta", false},
        {"theta=1e3", "theta", false},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        for (size_t p = bad[i].both ? 0 : 1; p < COUNT_OF(both_policies); p++) {
            fake_make(&fake, thrum_policy_find(both_policies[p]), 1, 2, 1);
            assert_error(fake_begin_with(&fake, bad[i].settings), THRUM_EOPTION, bad[i].sentence);
            free(fake.state);
        }
}

TEST(laheteroprio_says_how_many_memory_nodes_it_is_for)
{
    fake_make(&fake, thrum_policy_find("laheteroprio"), 1, 2, 1);
    fake.world.nodes = 129;
    assert_error(fake_begin_with(&fake, ""), THRUM_ELIMIT, "is for 128 memory nodes at most; there are 129");
    free(fake.state);
}

static const thrum_codelet gemm = {.name = "gemm", .cpu = fake_kernel, .emu = fake_kernel},
                           potrf = {.name = "potrf", .cpu = fake_kernel, .emu = fake_kernel};

/* A gemm takes 10 seconds on a processor and 2 on a device, a potrf 3 and 6. */
static fake_job known_job(const thrum_codelet *codelet)
{
    fake_job job = fake_job_of(codelet, 0, 0);
    for (int w = 0; w < FAKE_WORKERS; w++)
        job.seconds[w] = fake.place[w].arch == THRUM_ARCH_CPU ? codelet == &gemm ? 10 : 3 : codelet == &gemm ? 2 : 6;
    return job;
}

TEST(orders_and_factors_follow_from_measured_times)
{
    for (size_t p = 0; p < COUNT_OF(both_policies); p++) {
        fake_job jobs[30];
        begin(both_policies[p], 1, 1, "");
        for (int i = 0; i < 30; i++)
            jobs[i] = known_job(i % 2 ? &gemm : &potrf);
        for (int i = 0; i < 4; i++) { /* nothing is known: by age, and no bound */
            fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
            fake_done(&fake, fake_pop(&fake, i % 2));
        }
        assert_true(reported("fastest.gemm") == THRUM_ARCH_EMU);
        assert_true(reported("factor.gemm") == 5);
        assert_true(reported("fastest.potrf") == THRUM_ARCH_CPU);
        assert_true(reported("factor.potrf") == 2);
        for (int i = 4; i < 12; i++)
            fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
        for (int i = 4; i < 8; i++) {
            assert_ptr_equal(((fake_job *)fake_pop(&fake, 0))->job.codelet, &potrf);
            assert_ptr_equal(((fake_job *)fake_pop(&fake, 1))->job.codelet, &gemm);
        }
        for (int i = 12; i < 21; i++) /* four gemms and five potrfs */
            fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
        for (int i = 0; i < 5; i++)
            assert_non_null(fake_pop(&fake, 0));
        assert_null(fake_pop(&fake, 0)); /* four gemms are left to the device */
        fake_push(&fake, &jobs[21], THRUM_ANY_WORKER);
        assert_non_null(fake_pop(&fake, 0));
        assert_null(fake_pop(&fake, 0));
        empty();
    }
}

TEST(what_the_user_says_counts_more_than_what_is_measured)
{
    begin("heteroprio", 1, 1, "order.emu=potrf,gemm;factor.gemm=2");
    fake_job jobs[6];
    for (int i = 0; i < 6; i++)
        jobs[i] = known_job(i % 2 ? &gemm : &potrf);
    for (int i = 0; i < 2; i++) {
        fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
        fake_done(&fake, fake_pop(&fake, 1));
    }
    assert_true(reported("factor.gemm") == 2);
    assert_true(reported("fastest.gemm") == THRUM_ARCH_EMU);
    fake_push(&fake, &jobs[3], THRUM_ANY_WORKER);
    fake_push(&fake, &jobs[2], THRUM_ANY_WORKER);
    fake_push(&fake, &jobs[4], THRUM_ANY_WORKER);
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[2]);
    empty();
}

/* A codelet that turns out to be faster elsewhere: who slept because of the bound is woken. */
TEST(who_becomes_the_fastest_is_woken)
{
    begin("heteroprio", 1, 1, "");
    fake_job jobs[200];
    for (int i = 0; i < 200; i++) {
        jobs[i] = known_job(&gemm);
        for (int w = 0; w < FAKE_WORKERS && i >= 1; w++)
            jobs[i].seconds[w] = w == 0 ? 1 : 50;
    }
    fake_push(&fake, &jobs[0], THRUM_ANY_WORKER);
    fake_done(&fake, fake_pop(&fake, 1));
    assert_true(reported("fastest.gemm") == THRUM_ARCH_EMU);
    fake_push(&fake, &jobs[1], THRUM_ANY_WORKER);
    fake_push(&fake, &jobs[2], THRUM_ANY_WORKER);
    assert_null(fake_pop(&fake, 0));
    fake.life[0] = FAKE_ASLEEP;
    fake_done(&fake, fake_pop(&fake, 1));
    assert_true(reported("fastest.gemm") == THRUM_ARCH_CPU);
    assert_int_equal(fake.life[0], FAKE_WOKEN);
    assert_ptr_equal(fake_pop(&fake, 0), &jobs[2]);
    empty();
}

/* More kinds than there are buckets, and numbers of all sizes: nothing is lost. */
TEST(there_may_be_more_kinds_of_jobs_than_buckets)
{
    enum { KINDS = 100 };
    static char names[KINDS][20];
    static thrum_codelet codelets[KINDS];
    static fake_job jobs[2 * KINDS];
    for (size_t p = 0; p < COUNT_OF(both_policies); p++) {
        begin(both_policies[p], 1, 1, "");
        for (int i = 0; i < KINDS; i++) {
            snprintf(names[i], sizeof names[i], "kind%d", i);
            codelets[i] = (thrum_codelet){.name = names[i], .cpu = fake_kernel, .emu = fake_kernel};
            jobs[2 * i] = fake_job_of(&codelets[i], 0, 1);
            jobs[2 * i + 1] = in_bucket(&fake_both, i * 1000);
        }
        for (int i = 0; i < 2 * KINDS; i++)
            fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
        empty();
        for (int i = 0; i < 2 * KINDS; i++)
            assert_int_equal(jobs[i].stage, FAKE_DONE);
    }
}

/* ---- laheteroprio ------------------------------------------------------------------------------------------------ */

/* A job that reads these bytes on one node and writes those on another; -1: nowhere. */
static fake_job reader_and_writer(int first_piece, int read, int read_on, int written, int written_on)
{
    fake_job job = fake_job_of(&fake_both, 0, -1);
    fake.bytes[first_piece] = (size_t)read;
    fake.bytes[first_piece + 1] = (size_t)written;
    memset(fake.on[first_piece], 0, 2 * sizeof fake.on[0]);
    if (read_on >= 0)
        fake.on[first_piece][read_on] = true;
    if (written_on >= 0)
        fake.on[first_piece + 1][written_on] = true;
    fake_access(&fake, &job, first_piece, THRUM_MODE_R);
    fake_access(&fake, &job, first_piece + 1, THRUM_MODE_RW);
    return job;
}

TEST(a_worker_takes_first_what_is_on_its_node_and_the_oldest_of_it)
{
    begin("laheteroprio", 1, 2, "formula=ls_sdh");
    fake_job jobs[6];
    for (int i = 0; i < 6; i++) {
        jobs[i] = reader_and_writer(2 * i, 10, i % 3, 5, i % 3);
        fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
    }
    assert_ptr_equal(fake_pop(&fake, 2), &jobs[2]);
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[1]);
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[4]);
    assert_ptr_equal(fake_pop(&fake, 0), &jobs[0]);
    assert_ptr_equal(fake_pop(&fake, 2), &jobs[5]);
    assert_true(reported("stolen") == 0);
    assert_ptr_equal(fake_pop(&fake, 2), &jobs[3]);
    assert_true(reported("stolen") == 1);
    fake_end(&fake);
}

/* One job on each of three nodes: three in the row, and one in each list. */
TEST(the_bound_counts_the_whole_row)
{
    begin("laheteroprio", 1, 2, "fastest.both=emu;factor.both=1.5;formula=ls_sdh");
    fake_job jobs[3];
    for (int i = 0; i < 3; i++) {
        assert_null(fake_pop(&fake, 0));
        jobs[i] = reader_and_writer(2 * i, 10, i, 5, i);
        fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
    }
    assert_ptr_equal(fake_pop(&fake, 0), &jobs[0]);
    empty();
}

TEST(every_formula_puts_the_job_where_it_says)
{
    static const struct {
        const char *settings;
        int node;
    } cases[] = {{"formula=laru", 0},    {"formula=mc", 1},      {"formula=ls_sdh", 1},          {"formula=ls_sdh2", 2},
                 {"formula=ls_sdhb", 2}, {"formula=lc_smwb", 1}, {"formula=ls_sdhb;theta=1", 1}, {"formula=auto", 2}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        begin("laheteroprio", 1, 2, cases[i].settings);
        fake_job job = reader_and_writer(0, 50, 1, 10, 2);
        fake_push(&fake, &job, 0);
        for (int w = 0; w < 3; w++)
            if (w != cases[i].node)
                assert_int_equal(fake.life[w], FAKE_ASLEEP);
        assert_ptr_equal(fake_pop(&fake, cases[i].node), &job);
        assert_true(reported("stolen") == 0);
        fake_end(&fake);
    }
}

TEST(ties_go_to_the_pushers_node_and_else_are_spread)
{
    begin("laheteroprio", 1, 3, "formula=ls_sdh");
    fake_job jobs[8];
    for (int i = 0; i < 8; i++)
        jobs[i] = fake_job_of(i < 6 ? &fake_both : &fake_emu, 0, -1);
    fake_push(&fake, &jobs[0], 2);
    fake_push(&fake, &jobs[1], 2);
    assert_ptr_equal(fake_pop(&fake, 2), &jobs[0]);
    assert_ptr_equal(fake_pop(&fake, 2), &jobs[1]);
    assert_true(reported("stolen") == 0);
    for (int i = 2; i < 6; i++)
        fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
    for (int i = 0; i < 4; i++)
        assert_ptr_equal(fake_pop(&fake, i), &jobs[2 + i]);
    assert_true(reported("stolen") == 0);
    fake_push(&fake, &jobs[6], THRUM_ANY_WORKER); /* not to node 0, where nobody could run it */
    fake_push(&fake, &jobs[7], THRUM_ANY_WORKER);
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[6]);
    assert_ptr_equal(fake_pop(&fake, 2), &jobs[7]);
    assert_true(reported("stolen") == 0);
    fake_end(&fake);
}

static void moves(int piece, int from, int to)
{
    fake.on[piece][from] = false;
    fake.on[piece][to] = true;
}

/* Reads 50 bytes on node 1, writes 10 on node 2. Those formulas that look at what is written first choose node 2; when
 * that piece has moved to node 1 before the pop, their choice is stale, and `auto` leaves them. Then what is read moves
 * to node 0, and so on. */
TEST(a_formula_whose_choice_goes_stale_is_left_by_auto)
{
    begin("laheteroprio", 1, 2, "");
    fake_job jobs[4];
    jobs[0] = reader_and_writer(0, 50, 1, 10, 2);
    fake_push(&fake, &jobs[0], 0);
    assert_true(reported("used.ls_sdh2") == 1);
    moves(1, 2, 1);
    assert_ptr_equal(fake_pop(&fake, 2), &jobs[0]);
    assert_true(reported("bmd.ls_sdh2") == 1);
    assert_true(reported("bmd.ls_sdhb") == 1);
    assert_true(reported("bmd.lc_smwb") == 0);
    assert_true(reported("bmd.ls_sdh") == 0);
    assert_true(reported("bmd.laru") == 1); /* pushed on node 0, popped on node 2 */

    jobs[1] = reader_and_writer(2, 14, 1, 10, 2); /* 14 against 10; what is not there: 15 against 14 */
    fake_push(&fake, &jobs[1], 0);
    assert_true(reported("used.lc_smwb") == 1);
    moves(3, 2, 1); /* all on node 1 */
    assert_ptr_equal(fake_pop(&fake, 2), &jobs[1]);
    assert_true(reported("bmd.lc_smwb") == 1);
    assert_true(reported("bmd.ls_sdh") == 0);

    jobs[2] = reader_and_writer(4, 14, 1, 10, 2);
    fake_push(&fake, &jobs[2], 0);
    assert_true(reported("used.ls_sdh") == 1);
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[2]); /* from its own list */
    assert_true(reported("bmd.ls_sdh") == 0);
    fake_end(&fake);
}

/* What was read on one node alone comes to others too: they have become as good, and the choice is still one. */
TEST(a_mere_tie_is_no_change)
{
    begin("laheteroprio", 1, 2, "formula=ls_sdh");
    fake_job job = reader_and_writer(0, 50, 1, 10, 1);
    fake_push(&fake, &job, 0);
    for (int piece = 0; piece < 2; piece++)
        fake.on[piece][0] = fake.on[piece][2] = true;
    assert_ptr_equal(fake_pop(&fake, 1), &job);
    for (int i = 0; i < 4; i++)
        assert_true(reported((const char *[]){"bmd.ls_sdh", "bmd.ls_sdh2", "bmd.ls_sdhb", "bmd.lc_smwb"}[i]) == 0);
    fake_end(&fake);
}

/* Of MC predictions are asked only where it is in use; then it has a count of its own. */
TEST(mc_is_counted_where_it_is_used)
{
    begin("laheteroprio", 1, 2, "formula=mc");
    fake_job job = reader_and_writer(0, 50, 1, 10, 2);
    fake_push(&fake, &job, 0);
    moves(0, 1, 2);
    assert_ptr_equal(fake_pop(&fake, 1), &job);
    assert_true(reported("bmd.mc") == 1);
    fake_end(&fake);
}

/* Devices with l = all empty their own column first; with l = 1 they go by buckets. */
TEST(l_decides_between_locality_and_priority)
{
    for (int i = 0; i < 2; i++) {
        begin("laheteroprio", 1, 1, i ? "l=1,1;s=all;order.emu=0,1;formula=ls_sdh" : "order.emu=0,1;formula=ls_sdh");
        fake_job near = reader_and_writer(0, 10, 1, 10, 1), urgent = reader_and_writer(2, 10, 0, 10, 0);
        near.job.bucket = 1;
        urgent.job.bucket = 0;
        fake_push(&fake, &near, THRUM_ANY_WORKER);
        fake_push(&fake, &urgent, THRUM_ANY_WORKER);
        assert_ptr_equal(fake_pop(&fake, 1), i ? &urgent : &near);
        assert_ptr_equal(fake_pop(&fake, 1), i ? &near : &urgent);
        fake_end(&fake);
    }
}

/* Nodes 2 and 3 are as far from node 1 as each other, home is nearer. */
TEST(of_lists_that_are_as_near_the_one_with_the_oldest_job_comes_first)
{
    static const int nodes[] = {3, 2, 3, 0};
    begin("laheteroprio", 1, 3, "formula=ls_sdh");
    fake_job jobs[4];
    for (int i = 0; i < 4; i++) {
        jobs[i] = reader_and_writer(2 * i, 10, nodes[i], 5, nodes[i]);
        fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
    }
    assert_ptr_equal(fake_pop(&fake, 1), &jobs[3]);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(fake_pop(&fake, 1), &jobs[i]);
    fake_end(&fake);
}

/* Worker 1, of node 1, has something to begin first. */
TEST(who_asks_ahead_of_time_leaves_to_others_what_is_far)
{
    begin("laheteroprio", 1, 2, "formula=ls_sdh");
    fake_job far = reader_and_writer(0, 10, 2, 5, 2), home = reader_and_writer(2, 10, 0, 5, 0);
    fake_job own = reader_and_writer(4, 10, 1, 5, 1), other = own;
    fake.in_hand[1][0] = &other;
    fake_push(&fake, &far, THRUM_ANY_WORKER);
    fake_push(&fake, &home, THRUM_ANY_WORKER);
    fake_push(&fake, &own, THRUM_ANY_WORKER);
    assert_ptr_equal(fake_pop(&fake, 1), &own);
    assert_ptr_equal(fake_pop(&fake, 1), &home);
    assert_null(fake_pop(&fake, 1));
    fake.in_hand[1][0] = NULL;
    assert_ptr_equal(fake_pop(&fake, 1), &far);
    fake_end(&fake);
}

/* Nobody but worker 1 can run what is pushed. */
TEST(who_was_refused_ahead_of_time_is_woken_for_what_is_near_and_when_it_is_done)
{
    begin("laheteroprio", 1, 2, "formula=ls_sdh");
    fake_job first = reader_and_writer(0, 10, 1, 5, 1), far = reader_and_writer(2, 10, 2, 5, 2);
    fake_job home = reader_and_writer(4, 10, 0, 5, 0);
    far.forbidden[0] = far.forbidden[2] = home.forbidden[0] = home.forbidden[2] = true;
    fake_push(&fake, &first, THRUM_ANY_WORKER);
    assert_ptr_equal(fake_pop(&fake, 1), &first);
    fake.in_hand[1][0] = &first;
    assert_null(fake_pop(&fake, 1));
    fake.life[1] = FAKE_ASLEEP;
    fake_push(&fake, &far, THRUM_ANY_WORKER);
    assert_int_equal(fake.life[1], FAKE_ASLEEP);
    fake_push(&fake, &home, THRUM_ANY_WORKER);
    assert_int_equal(fake.life[1], FAKE_WOKEN);
    assert_ptr_equal(fake_pop(&fake, 1), &home);
    assert_null(fake_pop(&fake, 1));
    fake.life[1] = FAKE_ASLEEP;
    fake_done(&fake, &home); /* it has another still */
    assert_int_equal(fake.life[1], FAKE_ASLEEP);
    fake.in_hand[1][0] = NULL;
    fake_done(&fake, &first);
    assert_int_equal(fake.life[1], FAKE_WOKEN);
    assert_ptr_equal(fake_pop(&fake, 1), &far);
    fake_end(&fake);
}

TEST(where_nobody_knows_who_asks_ahead_of_time_nobody_does)
{
    begin("laheteroprio", 1, 2, "formula=ls_sdh");
    fake_job far = reader_and_writer(0, 10, 2, 5, 2);
    fake.world.is_ahead = NULL;
    fake_push(&fake, &far, THRUM_ANY_WORKER);
    assert_ptr_equal(fake_pop(&fake, 1), &far);
    fake_done(&fake, &far);
    fake_end(&fake);
}

/* ---- Both, with settings and buckets at random ------------------------------------------------------------------- */

static void random_settings(struct random *random, char *text, size_t size)
{
    static const char *const archs[] = {"cpu", "emu"}, *const lists[] = {"oldest", "newest", "priority"};
    int used =
        snprintf(text, size, "factor.0=%zu;factor.both=0.%zu", random_below(random, 20), random_below(random, 9));
    if (random_chance(random, 50))
        used += snprintf(text + used, size - (size_t)used, ";fastest.0=%s;fastest.1=%s", archs[random_below(random, 2)],
                         archs[random_below(random, 2)]);
    else if (random_chance(random, 50))
        used += snprintf(text + used, size - (size_t)used, ";order.cpu=3,emu,1;order.emu=both,0");
    if (random_chance(random, 50))
        snprintf(text + used, size - (size_t)used, ";fastest.both=%s", archs[random_below(random, 2)]);
    if (strstr(text, "order.emu") && strstr(text, "fastest.both=cpu"))
        *strstr(text, ";fastest.both") = '\0'; /* order.cpu leaves it out */
    used = (int)strlen(text);
    snprintf(text + used, size - (size_t)used, ";lists=%s", lists[random_below(random, 3)]);
}

static void one_random_program(uint64_t seed)
{
    static fake_job jobs[100];
    static const thrum_codelet *const codelets[] = {&fake_both, &fake_cpu, &fake_emu};
    struct random random = random_new(seed);
    char settings[200];
    int cpus = (int)random_between(&random, 1, 4), devices = (int)random_between(&random, 1, 3), count = 100;
    random_settings(&random, settings, sizeof settings);
    fake_make(&fake, thrum_policy_find(both_policies[seed % 2]), cpus, devices, seed);
    assert_int_equal(fake_begin_with(&fake, settings), 0);
    for (int i = 0; i < count; i++) {
        jobs[i] = fake_job_of(codelets[random_below(&random, 3)], (int)random_below(&random, 4), 0);
        jobs[i].job.bucket = (int)random_below(&random, 5) - 1;
        if (random_chance(&random, 50)) {
            fake.bytes[i % 8] = 1;
            fake.on[i % 8][random_below(&random, (size_t)devices + 1)] = true;
            fake_access(&fake, &jobs[i], i % 8, THRUM_MODE_RW);
        }
        for (int w = 0; w < FAKE_WORKERS; w++)
            jobs[i].seconds[w] = (double)random_below(&random, 50) - (random_chance(&random, 10) ? 100 : 0);
        if (random_chance(&random, 20)) /* pinned */
            for (int w = 0, keep = jobs[i].job.codelet->emu ? cpus : 0; w < FAKE_WORKERS; w++)
                jobs[i].forbidden[w] = w != keep;
        if (i > 0 && random_chance(&random, 60) && jobs[i / 2].after_count < FAKE_AFTER) {
            jobs[i / 2].after[jobs[i / 2].after_count++] = i;
            jobs[i].waits_for++;
        }
    }
    fake_run(&fake, jobs, count, NULL);
    fake_end(&fake);
}

TEST(with_any_settings_each_job_is_handed_out_once)
{
    for (uint64_t seed = 0; seed < 4000; seed++)
        one_random_program(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slower_worker_takes_a_job_if_there_are_six_or_more),
        cmocka_unit_test(each_architecture_has_its_order_of_buckets),
        cmocka_unit_test(what_the_fastest_cannot_run_is_not_bounded),
        cmocka_unit_test(settings_are_refused_with_a_sentence),
        cmocka_unit_test(laheteroprio_says_how_many_memory_nodes_it_is_for),
        cmocka_unit_test(orders_and_factors_follow_from_measured_times),
        cmocka_unit_test(what_the_user_says_counts_more_than_what_is_measured),
        cmocka_unit_test(who_becomes_the_fastest_is_woken),
        cmocka_unit_test(there_may_be_more_kinds_of_jobs_than_buckets),
        cmocka_unit_test(a_worker_takes_first_what_is_on_its_node_and_the_oldest_of_it),
        cmocka_unit_test(the_bound_counts_the_whole_row),
        cmocka_unit_test(every_formula_puts_the_job_where_it_says),
        cmocka_unit_test(ties_go_to_the_pushers_node_and_else_are_spread),
        cmocka_unit_test(a_formula_whose_choice_goes_stale_is_left_by_auto),
        cmocka_unit_test(a_mere_tie_is_no_change),
        cmocka_unit_test(mc_is_counted_where_it_is_used),
        cmocka_unit_test(l_decides_between_locality_and_priority),
        cmocka_unit_test(of_lists_that_are_as_near_the_one_with_the_oldest_job_comes_first),
        cmocka_unit_test(who_asks_ahead_of_time_leaves_to_others_what_is_far),
        cmocka_unit_test(who_was_refused_ahead_of_time_is_woken_for_what_is_near_and_when_it_is_done),
        cmocka_unit_test(where_nobody_knows_who_asks_ahead_of_time_nobody_does),
        cmocka_unit_test(with_any_settings_each_job_is_handed_out_once),
    };
    return RUN_TESTS(tests, 60);
}
