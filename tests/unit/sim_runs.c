/* SPDX-License-Identifier: MIT
 *
 * Runs of a simulated loop from inside: chunks from a list are those of the schedule, and memory may be short at any
 * place.
 */
#include "test.h"

#include "base/alloc.h"
#include "sim/loop_int.h"

static thrum_loop_sim simulation(thrum_technique technique, const char *times)
{
    return (thrum_loop_sim){
        .technique = technique,
        .facts = {.iterations = 5003, .workers = 7, .mean = 1, .deviation = 1, .cost = 0.25},
        .times = times,
        .runs = 3,
        .seed = 21,
    };
}

static thrum__loop_run run_at(thrum__desk *desk, uint64_t number)
{
    thrum__desks_run(desk, 1, number);
    return desk->run;
}

/* The same run twice: from the list, and, the list being hidden, from the schedule. */
static void expect_same_runs(const thrum_loop_sim *sim)
{
    thrum__loop_setting setting;
    thrum__desk from_list, from_schedule;
    assert_int_equal(thrum__loop_setting_begin(&setting, sim), 0);
    assert_non_null(setting.rows);
    thrum__loop_setting bare = setting;
    bare.rows = NULL;
    assert_int_equal(thrum__desk_begin(&from_list, &setting), 0);
    assert_int_equal(thrum__desk_begin(&from_schedule, &bare), 0);
    assert_null(from_list.schedule);
    for (uint64_t i = 0; i < 20; i++) {
        thrum__loop_run a = run_at(&from_list, i), b = run_at(&from_schedule, i);
        if (a.makespan != b.makespan || a.work != b.work || a.chunks != b.chunks)
            print_error("%s, %s: makespan %.17g and %.17g, chunks %g and %g\n", thrum_technique_name(sim->technique),
                        sim->times, a.makespan, b.makespan, (double)a.chunks, (double)b.chunks);
        assert_true(a.makespan == b.makespan && a.work == b.work && a.chunks == b.chunks);
    }
    thrum__desk_end(&from_list);
    thrum__desk_end(&from_schedule);
    thrum__loop_setting_end(&setting);
}

TEST(chunks_from_a_list_are_those_of_the_schedule)
{
    static const thrum_technique techniques[] = {THRUM_SS,  THRUM_FSC,  THRUM_MFSC, THRUM_GSS,  THRUM_TSS,  THRUM_FAC,
                                                 THRUM_TAP, THRUM_FAC2, THRUM_TFSS, THRUM_FISS, THRUM_VISS, THRUM_PLS};
    static const char *const times[] = {"exp:1", "twopoint:0.1", "uniform:0,2", "const:1", "normal:2,1", "gamma:2,1"};
    for (size_t i = 0; i < COUNT_OF(techniques); i++)
        for (size_t j = 0; j < COUNT_OF(times); j++) {
            thrum_loop_sim sim = simulation(techniques[i], times[j]);
            expect_same_runs(&sim);
        }
}

TEST(a_list_knows_where_in_a_file_each_chunk_is)
{
    char path[] = "/tmp/thrum-times-XXXXXX", text[64];
    FILE *file = fdopen(mkstemp(path), "w");
    for (int i = 0; i < 100; i++)
        fprintf(file, "%d\n", i * i % 37);
    fclose(file);
    snprintf(text, sizeof text, "file:%s", path);
    thrum_loop_sim sim = simulation(THRUM_FAC2, text);
    expect_same_runs(&sim);
    sim.technique = THRUM_SS;
    expect_same_runs(&sim);
    remove(path);
}

TEST(a_run_works_through_all_iterations_whatever_the_technique)
{
    for (int technique = 0; technique < THRUM_TECHNIQUES; technique++) {
        thrum_loop_sim sim = simulation((thrum_technique)technique, "const:0.5");
        thrum__loop_setting setting;
        thrum__desk desk;
        assert_int_equal(thrum__loop_setting_begin(&setting, &sim), 0);
        assert_int_equal(thrum__desk_begin(&desk, &setting), 0);
        for (uint64_t i = 0; i < 3; i++)
            assert_true(run_at(&desk, i).work == 5003 * 0.5);
        thrum__desk_end(&desk);
        thrum__loop_setting_end(&setting);
    }
}

TEST(runs_side_by_side_are_those_that_are_done_alone)
{
    static const thrum_technique techniques[] = {THRUM_GSS, THRUM_BOLD, THRUM_AF, THRUM_STEAL, THRUM_RND};
    for (size_t i = 0; i < COUNT_OF(techniques); i++) {
        thrum_loop_sim sim = simulation(techniques[i], "exp:1");
        thrum__loop_setting setting;
        thrum__desk desks[THRUM__DESK_LANES], alone;
        assert_int_equal(thrum__loop_setting_begin(&setting, &sim), 0);
        assert_int_equal(thrum__desk_begin(&alone, &setting), 0);
        for (int lane = 0; lane < THRUM__DESK_LANES; lane++)
            assert_int_equal(thrum__desk_begin(&desks[lane], &setting), 0);
        for (uint64_t first = 0; first < 20; first++) {
            thrum__desks_run(desks, THRUM__DESK_LANES, first);
            for (uint32_t lane = 0; lane < THRUM__DESK_LANES; lane++) {
                thrum__loop_run run = run_at(&alone, first + lane);
                assert_memory_equal(&run, &desks[lane].run, sizeof run);
            }
        }
        for (int lane = 0; lane < THRUM__DESK_LANES; lane++)
            thrum__desk_end(&desks[lane]);
        thrum__desk_end(&alone);
        thrum__loop_setting_end(&setting);
    }
}

TEST(random_sizes_differ_from_run_to_run)
{
    thrum_loop_sim sim = simulation(THRUM_RND, "const:1");
    thrum__loop_setting setting;
    thrum__desk desk;
    assert_int_equal(thrum__loop_setting_begin(&setting, &sim), 0);
    assert_int_equal(thrum__desk_begin(&desk, &setting), 0);
    assert_true(run_at(&desk, 0).makespan != run_at(&desk, 1).makespan);
    thrum__desk_end(&desk);
    thrum__loop_setting_end(&setting);
}

TEST(a_simulation_that_lacks_memory_says_so_and_leaves_nothing_behind)
{
    static const thrum_technique techniques[] = {THRUM_FAC2, THRUM_AF};
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.threadless = true});
    thrum_loop_sim_result result;
    assert_non_null(ex);
    for (size_t i = 0; i < COUNT_OF(techniques); i++) {
        thrum_loop_sim sim = simulation(techniques[i], "exp:1");
        sim.speeds = (double[]){1, 1, 1, 2, 1, 1, 1};
        int failed = 0;
        for (long after = 0;; after++) {
            thrum__alloc_fail_after(after);
            int error = thrum_loop_simulate(ex, &sim, &result);
            long count = thrum__alloc_count();
            thrum__alloc_fail_after(-1);
            if (error) {
                assert_int_equal(error, THRUM_ENOMEM);
                failed++;
            } else if (count <= after) {
                break;
            }
        }
        assert_true(failed >= 3);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_from_a_list_are_those_of_the_schedule),
        cmocka_unit_test(a_list_knows_where_in_a_file_each_chunk_is),
        cmocka_unit_test(a_run_works_through_all_iterations_whatever_the_technique),
        cmocka_unit_test(runs_side_by_side_are_those_that_are_done_alone),
        cmocka_unit_test(random_sizes_differ_from_run_to_run),
        cmocka_unit_test(a_simulation_that_lacks_memory_says_so_and_leaves_nothing_behind),
    };
    return RUN_TESTS(tests, 60);
}
