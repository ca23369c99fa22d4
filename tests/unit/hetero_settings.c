/* SPDX-License-Identifier: MIT
 *
 * What settings of heteroprio and laheteroprio change: which job is popped, on a machine that does not exist.
 */
#include "fake_world.h"

#include "sched/policy_int.h"

static fake_world fake;

static const char *const both_policies[] = {"heteroprio", "laheteroprio"};

static void make(const char *policy, int cpus, int devices)
{
    fake_make(&fake, thrum_policy_find(policy), cpus, devices, 1);
}

/* All of these in this order, popped by this worker, and then nothing. */
static void check_pops(int worker, const fake_job *jobs, const int *expected, int count)
{
    for (int i = 0; i < count; i++)
        assert_ptr_equal(fake_pop(&fake, worker), &jobs[expected[i]]);
    assert_null(fake_pop(&fake, worker));
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *settings;
    int order[6];
} lists[] = {
    {"", {0, 1, 2, 3, 4, 5}},
    {"lists=oldest", {0, 1, 2, 3, 4, 5}},
    {"lists=newest", {5, 4, 3, 2, 1, 0}},
    {"lists=priority", {3, 1, 2, 5, 4, 0}},
};

/* Jobs that only devices can run are among them: they have a place of their own in the list. */
TEST(lists_says_which_job_of_a_list_comes_first)
{
    static const int priorities[] = {-1, 4, 3, 5, 0, 3};
    for (size_t p = 0; p < COUNT_OF(both_policies); p++)
        for (size_t i = 0; i < COUNT_OF(lists); i++) {
            fake_job jobs[6];
            make(both_policies[p], 1, 1);
            assert_int_equal(fake_begin_with(&fake, lists[i].settings), 0);
            for (int k = 0; k < 6; k++) {
                jobs[k] = fake_job_of(k % 3 ? &fake_both : &fake_emu, priorities[k], -1);
                jobs[k].job.bucket = 0;
                fake_push(&fake, &jobs[k], 1);
            }
            check_pops(1, jobs, lists[i].order, 6);
            fake_end(&fake);
        }
}

static void put_on(fake_job *job, int piece, int node)
{
    fake.bytes[piece] = 10;
    memset(fake.on[piece], 0, sizeof fake.on[piece]);
    fake.on[piece][node] = true;
    fake_access(&fake, job, piece, THRUM_MODE_RW);
}

/* Nodes 2 and 3 are as far from node 1 as each other. */
TEST(lists_says_which_of_lists_that_are_as_near_comes_first)
{
    static const int priorities[] = {-1, 4, 3, 5, 0, 3};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        fake_job jobs[6];
        make("laheteroprio", 1, 3);
        assert_int_equal(fake_begin_with(&fake, lists[i].settings), 0);
        for (int k = 0; k < 6; k++) {
            jobs[k] = fake_job_of(&fake_emu, priorities[k], -1);
            put_on(&jobs[k], k, 2 + k % 2);
            fake_push(&fake, &jobs[k], THRUM_ANY_WORKER);
        }
        check_pops(1, jobs, lists[i].order, 6);
        fake_end(&fake);
    }
}

/* ---- alpha and s ------------------------------------------------------------------------------------------------- */

/* Three devices, nodes 1 to 3. From node 1 the link to node 2 is quick, that to home slow; but the processors at home
 * look into the buckets in another order, and node 2's worker in the same. Node 3 is far whatever counts. */
static void make_four_nodes(const char *settings)
{
    make("laheteroprio", 1, 3);
    fake.second_per_byte[2][1] = 0.1;
    fake.second_per_byte[0][1] = 0.9;
    assert_int_equal(fake_begin_with(&fake, settings), 0);
}

static fake_job job_on(int bucket, int node, int piece)
{
    fake_job job = fake_job_of(&fake_both, 0, -1);
    job.job.bucket = bucket;
    put_on(&job, piece, node);
    return job;
}

static void check_four_nodes(const char *settings, const int *buckets, const int *nodes, const int *expected, int count)
{
    fake_job jobs[4];
    make_four_nodes(settings);
    for (int i = 0; i < count; i++) {
        jobs[i] = job_on(buckets[i], nodes[i], i);
        fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
    }
    check_pops(1, jobs, expected, count);
    fake_end(&fake);
}

/* One job each at home, on node 2 and on node 3, all in one bucket. */
TEST(alpha_decides_whether_links_or_priorities_make_a_node_near)
{
    static const struct {
        const char *alpha;
        int order[3];
    } cases[] = {{"alpha=0", {1, 0, 2}}, {"alpha=1", {0, 1, 2}}, {"alpha=0.1", {1, 0, 2}}, {"alpha=0.9", {0, 1, 2}}};
    static const int buckets[] = {0, 0, 0}, nodes[] = {0, 2, 3};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char settings[100];
        snprintf(settings, sizeof settings, "formula=ls_sdh;order.cpu=1,0;order.emu=0,1;l=1;s=1;%s", cases[i].alpha);
        check_four_nodes(settings, buckets, nodes, cases[i].order, 3);
    }
}

/* Bucket 0 comes first: a job of it is on the nearest node and one on the farthest; one of bucket 1 is on the own. */
TEST(s_says_how_many_nodes_are_looked_into_beside_the_own)
{
    static const struct {
        const char *near;
        int order[3];
    } cases[] = {{"s=0", {2, 1, 0}}, {"s=1", {1, 2, 0}}, {"s=2", {1, 2, 0}}, {"s=3", {1, 0, 2}}, {"s=all", {1, 0, 2}}};
    static const int buckets[] = {0, 0, 1}, nodes[] = {3, 2, 1};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char settings[100];
        snprintf(settings, sizeof settings, "formula=ls_sdh;order.cpu=1,0;order.emu=0,1;l=1;alpha=0;%s", cases[i].near);
        check_four_nodes(settings, buckets, nodes, cases[i].order, 3);
    }
}

/* ---- Factors ----------------------------------------------------------------------------------------------------- */

/* Two devices with two workers each: a factor of 2 holds back what four workers need for two of theirs. */
TEST(the_bound_counts_workers_not_devices)
{
    for (size_t p = 0; p < COUNT_OF(both_policies); p++) {
        fake_job jobs[8];
        make(both_policies[p], 1, 4);
        fake.world.nodes = 3;
        for (int w = 1; w < 5; w++)
            fake.place[w] = (thrum_place){w, THRUM_ARCH_EMU, 1 + (w - 1) / 2, (w - 1) / 2};
        assert_int_equal(fake_begin_with(&fake, "fastest.both=emu;factor.both=2"), 0);
        for (int i = 0; i < 8; i++) {
            assert_null(fake_pop(&fake, 0));
            jobs[i] = fake_job_of(&fake_both, 0, -1);
            fake_push(&fake, &jobs[i], THRUM_ANY_WORKER);
        }
        assert_non_null(fake_pop(&fake, 0));
        assert_null(fake_pop(&fake, 0));
        for (int i = 0; i < 7; i++)
            assert_non_null(fake_pop(&fake, 1 + i % 4));
        fake_end(&fake);
    }
}

/* ---- Who cannot be the fastest ----------------------------------------------------------------------------------- */

static char refused[300];

static void note_refused(const thrum_world *world, const thrum_job *job, int code, const char *sentence)
{
    (void)world;
    assert_ptr_equal(job->codelet, &fake_cpu);
    assert_int_equal(code, THRUM_EOPTION);
    snprintf(refused, sizeof refused, "%s", sentence);
}

/* By number and by the codelet's name. What is refused is not in any list afterwards, and others go on. */
TEST(a_job_that_the_given_fastest_has_no_kernel_for_is_refused)
{
    static const struct {
        const char *settings, *sentence;
        int bucket;
    } cases[] = {{"fastest.3=emu", "'fastest.3=emu', but codelet 'cpu' of that bucket is not for emu", 3},
                 {"fastest.cpu=emu", "'fastest.cpu=emu', but codelet 'cpu' of that bucket", THRUM_NO_BUCKET}};
    for (size_t p = 0; p < COUNT_OF(both_policies); p++)
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            make(both_policies[p], 1, 1);
            fake.world.refuse = note_refused;
            assert_int_equal(fake_begin_with(&fake, cases[i].settings), 0);
            fake_job jobs[] = {fake_job_of(&fake_cpu, 0, -1), fake_job_of(&fake_both, 0, -1)};
            jobs[0].job.bucket = jobs[1].job.bucket = cases[i].bucket;
            refused[0] = '\0';
            fake_push(&fake, &jobs[0], THRUM_ANY_WORKER);
            assert_contains(refused, cases[i].sentence);
            assert_null(fake_pop(&fake, 0));
            fake_push(&fake, &jobs[1], THRUM_ANY_WORKER);
            assert_ptr_equal(fake_pop(&fake, 1), &jobs[1]);
            fake_end(&fake);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_says_which_job_of_a_list_comes_first),
        cmocka_unit_test(lists_says_which_of_lists_that_are_as_near_comes_first),
        cmocka_unit_test(alpha_decides_whether_links_or_priorities_make_a_node_near),
        cmocka_unit_test(s_says_how_many_nodes_are_looked_into_beside_the_own),
        cmocka_unit_test(the_bound_counts_workers_not_devices),
        cmocka_unit_test(a_job_that_the_given_fastest_has_no_kernel_for_is_refused),
    };
    return RUN_TESTS(tests, 20);
}
