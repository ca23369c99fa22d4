/* SPDX-License-Identifier: MIT
 *
 * Two engines, one result: what the native engine of the loop simulator says, SimGrid says too, in every run.
 *
 * They share the rules and the random times; who asks when, and what that makes of a run, each works out by itself.
 * Where times meet exactly (const, two-point), all numbers of a setting are such that sums of them are exact: else
 * which of two workers is first would be decided by a rounding, and not by the same one.
 */
#include "test.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

/* With sanitizers processes are slow to start. */
#if SANITIZED_THREAD || SANITIZED_ADDRESS
enum { RUNS = 2, EVERY = 9, LEAST_SETTINGS = 20 };
#else
enum { RUNS = 3, EVERY = 3, LEAST_SETTINGS = 60 };
#endif
#define CLOSE 1e-9

struct shape {
    uint64_t n;
    uint32_t p;
    const char *times;
    double h;
    const double *speeds;
    const double *weights;
    size_t perturbed; /* so many of the list below */
};

static const double speeds_of_two[] = {1, 0.5};
static const double weights_of_two[] = {1.25, 0.75};
static const double speeds_of_five[] = {1, 0.75, 1.3, 0.2, 2};
static const double weights_of_five[] = {1, 0.5, 1.5, 0.25, 1.75};

/* Overlapping, from the beginning, and to a stop. */
static const thrum_perturbation perturbations[] = {
    {0, 8, 24, 0.25}, {1, 0, 12.5, 0.5}, {1, 4, 9, 0.5}, {0, 64, INFINITY, 0.5}, {1, 30, 34, 0},
};

static const struct shape shapes[] = {
    {1024, 2, "exp:1", 0.5, NULL, NULL, 0},
    {600, 7, "twopoint:0.1", 2, NULL, NULL, 0},
    {777, 5, "uniform:0.5,1.5", 0.1, NULL, NULL, 0},
    {512, 2, "const:0.25", 0.125, speeds_of_two, weights_of_two, 3},
    {2048, 16, "gamma:2,0.5", 0.3, NULL, NULL, 0},
    {100, 3, "twopoint:0.25", 0, NULL, NULL, 0},
    {400, 5, "exp:3", 0.7, speeds_of_five, weights_of_five, 5},
    {900, 64, "normal:2,1", 1, NULL, NULL, 0},
    {3, 8, "exp:1", 0.5, NULL, NULL, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static thrum_loop_sim simulation_of(thrum_technique technique, const struct shape *shape, thrum_loop_model model)
{
    return (thrum_loop_sim){
        .technique = technique,
        .facts = {.iterations = shape->n, .workers = shape->p, .cost = shape->h, .weights = shape->weights},
        .times = shape->times,
        .model = model,
        .runs = RUNS,
        .seed = 7,
        .speeds = shape->speeds,
        .perturbations = perturbations,
        .perturbation_count = shape->perturbed,
    };
}

static void simulate(thrum_loop_sim sim, thrum_sim_engine engine, double wasted[RUNS], thrum_loop_sim_result *result)
{
    sim.engine = engine;
    sim.wasted_times = wasted;
    if (thrum_loop_simulate(NULL, &sim, result) != 0)
        fail_msg("%s, %s: %s", thrum_technique_name(sim.technique), sim.times, thrum_message(NULL));
}

static bool is_close(double a, double b)
{
    return fabs(a - b) <= CLOSE * fmax(1, fabs(a));
}

static void compare(const thrum_loop_sim *sim)
{
    double native[RUNS], simgrid[RUNS];
    thrum_loop_sim_result ours, theirs;
    simulate(*sim, THRUM_ENGINE_NATIVE, native, &ours);
    simulate(*sim, THRUM_ENGINE_SIMGRID, simgrid, &theirs);
    for (int i = 0; i < RUNS; i++)
        if (!is_close(native[i], simgrid[i]))
            fail_msg("%s, n = %llu, p = %u, %s, h = %g, model %d, run %d: native %.17g, SimGrid %.17g",
                     thrum_technique_name(sim->technique), (unsigned long long)sim->facts.iterations,
                     (unsigned)sim->facts.workers, sim->times, sim->facts.cost, (int)sim->model, i, native[i],
                     simgrid[i]);
    assert_true(is_close(ours.chunks, theirs.chunks) && is_close(ours.makespan, theirs.makespan));
}

static bool can_be(thrum_technique technique, const struct shape *shape)
{
    unsigned needs = thrum_technique_needs(technique);
    bool steady = strncmp(shape->times, "const", 5) == 0;
    return !((needs & THRUM_NEEDS_DEVIATION) && steady) && !((needs & THRUM_NEEDS_COST) && shape->h == 0);
}

/* Each rule with a part of the shapes, and so each shape with a part of the rules, by turns in both models. */
static void both_engines_agree_in_every_run(void **state)
{
    (void)state;
    int settings = 0;
    for (int technique = 0; technique < THRUM_TECHNIQUES; technique++)
        for (int i = technique % EVERY; i < SHAPES; i += EVERY) {
            if (!can_be((thrum_technique)technique, &shapes[i]))
                continue;
            thrum_loop_sim sim = simulation_of((thrum_technique)technique, &shapes[i],
                                               (technique + i) / EVERY % 2 ? THRUM_MODEL_MSG : THRUM_MODEL_HAGERUP);
            compare(&sim);
            settings++;
        }
    assert_true(settings >= LEAST_SETTINGS);
}

/* From 1/b to 1/a by adding the difference: the sum is one unit in the last place above, or below. A clock that goes so
 * must not lose what happens at 1/a. */
static void a_date_that_the_clock_misses_by_a_rounding_is_not_lost(void **state)
{
    (void)state;
    static const double above[] = {0.14333232286678507, 0.9425669331266162};
    static const double below[] = {0.17562125249467478, 0.8283752969789083};
    thrum_loop_sim sim = {.technique = THRUM_SS, .facts = {.iterations = 2, .workers = 2}, .times = "const:1"};
    sim.runs = RUNS;
    sim.speeds = above;
    compare(&sim);
    sim.speeds = below;
    compare(&sim);
    /* The same after a change of speed, which makes the date a later one than it was. */
    static const double slowed[] = {0.9102980912160161, 0.5698826115633904};
    static const thrum_perturbation later[] = {{0, 0.5, INFINITY, 0.001}};
    sim.speeds = slowed;
    sim.perturbations = later;
    sim.perturbation_count = 1;
    compare(&sim);
}

static void the_number_of_processes_does_not_matter(void **state)
{
    (void)state;
    double one[RUNS], more[RUNS];
    thrum_loop_sim_result first, second;
    thrum_loop_sim sim = simulation_of(THRUM_AF, &shapes[0], THRUM_MODEL_MSG);
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 1});
    simulate(sim, THRUM_ENGINE_SIMGRID, more, &second);
    sim.engine = THRUM_ENGINE_SIMGRID;
    sim.wasted_times = one;
    assert_int_equal(thrum_loop_simulate(ex, &sim, &first), 0);
    assert_memory_equal(one, more, sizeof one);
    assert_memory_equal(&first, &second, sizeof first);
    thrum_executor_free(ex);
}

/* The other simulation is begun by the first run of this one, and ends before it. */
static int simulate_inside(uint64_t done, uint64_t runs, void *ctx)
{
    (void)runs;
    double wasted[RUNS];
    thrum_loop_sim_result result;
    if (done == 1)
        simulate(*(const thrum_loop_sim *)ctx, THRUM_ENGINE_SIMGRID, wasted, &result);
    return 0;
}

static void two_simulations_at_once_do_not_wait_for_each_other(void **state)
{
    (void)state;
    thrum_loop_sim_result result;
    thrum_loop_sim inner = simulation_of(THRUM_FAC2, &shapes[0], THRUM_MODEL_MSG), outer = inner;
    outer.engine = THRUM_ENGINE_SIMGRID;
    outer.runs = 200;
    outer.progress = simulate_inside;
    outer.ctx = &inner;
    assert_int_equal(thrum_loop_simulate(NULL, &outer, &result), 0);
}

static bool has_child(void)
{
    return !(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static int stop_at_once(uint64_t done, uint64_t runs, void *ctx)
{
    (void)done, (void)runs;
    ++*(int *)ctx;
    return 1;
}

static void a_simulation_that_is_stopped_fails_and_leaves_no_process(void **state)
{
    (void)state;
    int calls = 0;
    thrum_loop_sim_result result = {.mean = -1};
    thrum_loop_sim sim = simulation_of(THRUM_SS, &shapes[0], THRUM_MODEL_MSG);
    sim.engine = THRUM_ENGINE_SIMGRID;
    sim.runs = 100000;
    sim.progress = stop_at_once;
    sim.ctx = &calls;
    assert_int_equal(thrum_loop_simulate(NULL, &sim, &result), THRUM_ECANCELLED);
    assert_non_null(strstr(thrum_message(NULL), "stopped after 1 of 100000 runs"));
    assert_int_equal(calls, 1);
    assert_true(result.mean == -1);
    assert_false(has_child());
}

/* The one child that this thread has. */
static int kill_child(uint64_t done, uint64_t runs, void *ctx)
{
    (void)runs, (void)ctx;
    int pid = 0;
    FILE *children = fopen("/proc/thread-self/children", "r");
    if (done == 1 && children && fscanf(children, "%d", &pid) == 1)
        kill(pid, SIGKILL);
    if (children)
        fclose(children);
    return 0;
}

static void a_process_of_simgrid_that_dies_is_an_error(void **state)
{
    (void)state;
    thrum_loop_sim_result result = {.mean = -1};
    thrum_loop_sim sim = simulation_of(THRUM_SS, &shapes[0], THRUM_MODEL_MSG);
    sim.engine = THRUM_ENGINE_SIMGRID;
    sim.runs = 100000;
    sim.progress = kill_child;
    assert_int_equal(thrum_loop_simulate(NULL, &sim, &result), THRUM_ESYSTEM);
    assert_non_null(strstr(thrum_message(NULL), "SimGrid engine ended too early"));
    assert_true(result.mean == -1);
    assert_false(has_child());
}

static void engines_that_are_none_are_refused(void **state)
{
    (void)state;
    assert_int_equal(thrum_sim_engine_check(THRUM_ENGINE_NATIVE), 0);
    assert_int_equal(thrum_sim_engine_check(THRUM_ENGINE_SIMGRID), 0);
    assert_int_equal(thrum_sim_engine_check((thrum_sim_engine)17), THRUM_EINVAL);
    assert_non_null(strstr(thrum_message(NULL), "17"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_engines_agree_in_every_run),
        cmocka_unit_test(a_date_that_the_clock_misses_by_a_rounding_is_not_lost),
        cmocka_unit_test(the_number_of_processes_does_not_matter),
        cmocka_unit_test(two_simulations_at_once_do_not_wait_for_each_other),
        cmocka_unit_test(a_simulation_that_is_stopped_fails_and_leaves_no_process),
        cmocka_unit_test(a_process_of_simgrid_that_dies_is_an_error),
        cmocka_unit_test(engines_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
