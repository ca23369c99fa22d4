/* SPDX-License-Identifier: MIT
 *
 * The task simulator from inside: the area bound against known answers and a search, and simulations without memory.
 */
#include "scarcity.h"
#include "random.h"

#include "sim/task_int.h"

#include <math.h>

#define NOT INFINITY

static double bound(const double *seconds, int tasks, int kinds, const int *units)
{
    return thrum__area_bound(seconds, tasks, kinds, units);
}

static void assert_near(double a, double b, double tolerance)
{
    if (fabs(a - b) > tolerance * (1 + fabs(b)))
        print_error("%.12g is not %.12g\n", a, b);
    assert_true(fabs(a - b) <= tolerance * (1 + fabs(b)));
}

/* ---- The area bound, by hand ------------------------------------------------------------------------------------- */

TEST(one_kind_divides_all_by_its_units)
{
    assert_near(bound((double[]){3, 4, 5}, 3, 1, (int[]){2}), 6, 1e-12);
    assert_near(bound((double[]){3, NOT, 4, NOT}, 2, 2, (int[]){1, 0}), 7, 1e-12);
    assert_near(bound((double[]){NOT, 3, NOT, 4}, 2, 2, (int[]){0, 7}), 1, 1e-12);
    assert_true(bound((double[]){0}, 0, 1, (int[]){3}) == 0);
}

/* One task of 6 s here or 3 s there: a third of it here and two thirds there take 2 s. */
TEST(two_kinds_share_a_task)
{
    assert_near(bound((double[]){6, 3}, 1, 2, (int[]){1, 1}), 2, 1e-12);
    assert_near(bound((double[]){6, 3}, 1, 2, (int[]){2, 1}), 1.5, 1e-12);
    assert_true(bound((double[]){0}, 0, 2, (int[]){1, 1}) == 0);
}

/* Each does what it is best at: 4 s against 4 s, and nothing is to be shared. */
TEST(each_kind_does_what_it_is_best_at)
{
    double seconds[] = {10, 4, 4, 10};
    assert_near(bound(seconds, 2, 2, (int[]){1, 1}), 4, 1e-12);
}

/* What only one can do fills it first: 5 s. The others' 4 s all go to the second. */
TEST(what_only_one_kind_can_do_is_its_own)
{
    double seconds[] = {5, NOT, 1, 4, NOT, 0.5};
    assert_near(bound(seconds, 3, 2, (int[]){1, 1}), 5, 1e-12);
    seconds[0] = 0; /* now 4 (1 - x) + 0.5 = x */
    assert_near(bound(seconds, 3, 2, (int[]){1, 1}), 0.9, 1e-12);
}

TEST(tasks_that_take_no_time_do_not_count)
{
    double seconds[] = {0, 0, 0, 4, 4, 0, 2, 2};
    assert_near(bound(seconds, 4, 2, (int[]){1, 1}), 1, 1e-12);
}

/* One task, three kinds: they share it in proportion to their speeds, 1/6 + 1/3 + 1/2. */
TEST(three_kinds_share_a_task)
{
    assert_near(bound((double[]){6, 3, 2}, 1, 3, (int[]){1, 1, 1}), 1, 1e-6);
    assert_near(bound((double[]){6, 3, 2}, 1, 3, (int[]){1, 2, 3}), 1 / (1.0 / 6 + 2.0 / 3 + 3.0 / 2), 1e-6);
    double own[] = {4, NOT, NOT, NOT, 4, NOT, NOT, NOT, 6};
    assert_near(bound(own, 3, 3, (int[]){1, 1, 2}), 4, 1e-6);
}

/* ---- ... and against a search ------------------------------------------------------------------------------------ */

enum { TASKS = 7 };

/* The time of the best way to give whole tasks to units that are as fast as all of a kind together: no better than
 * parts. */
static double best_whole(const double *seconds, int kinds, const int *units, int task, double *loads)
{
    double best = INFINITY, longest = 0;
    for (int k = 0; k < kinds; k++)
        longest = fmax(longest, loads[k]);
    if (task == TASKS)
        return longest;
    for (int k = 0; k < kinds; k++) {
        double more = seconds[task * kinds + k] / units[k];
        if (isinf(more))
            continue;
        loads[k] += more;
        best = fmin(best, best_whole(seconds, kinds, units, task + 1, loads));
        loads[k] -= more;
    }
    return best;
}

static double at_prices(const double *seconds, int kinds, const double *prices)
{
    double sum = 0;
    for (int task = 0; task < TASKS; task++) {
        double least = INFINITY;
        for (int k = 0; k < kinds; k++)
            if (!isinf(seconds[task * kinds + k]))
                least = fmin(least, prices[k] * seconds[task * kinds + k]);
        sum += least;
    }
    return sum;
}

/* The best prices by trying many: of two kinds, and of three. */
static double best_of_two(const double *seconds, const int *units)
{
    enum { TRIES = 20000 };
    double best = 0;
    for (int i = 0; i <= TRIES; i++) {
        double share = (double)i / TRIES;
        best = fmax(best, at_prices(seconds, 2, (double[]){share / units[0], (1 - share) / units[1]}));
    }
    return best;
}

static double best_of_three(const double *seconds, const int *units)
{
    enum { TRIES = 100 };
    double best = 0;
    for (int i = 0; i <= TRIES; i++)
        for (int j = 0; i + j <= TRIES; j++) {
            double a = (double)i / TRIES, b = (double)j / TRIES;
            best = fmax(best, at_prices(seconds, 3, (double[]){a / units[0], b / units[1], (1 - a - b) / units[2]}));
        }
    return best;
}

static void random_tasks(struct random *random, double *seconds, int kinds)
{
    for (int task = 0; task < TASKS; task++) {
        int able = (int)random_below(random, (size_t)kinds);
        for (int k = 0; k < kinds; k++)
            seconds[task * kinds + k] =
                k != able && random_chance(random, 25) ? NOT : (double)random_between(random, 0, 20);
    }
}

TEST(the_bound_is_that_of_the_best_prices_and_below_every_schedule)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct random random = random_new(seed);
        double seconds[TASKS * 3], loads[3] = {0};
        int units[3] = {(int)random_between(&random, 1, 4), (int)random_between(&random, 1, 4), 2};
        random_tasks(&random, seconds, 2);
        double of_two = bound(seconds, TASKS, 2, units);
        assert_near(of_two, best_of_two(seconds, units), 2e-3);
        assert_true(of_two <= best_whole(seconds, 2, units, 0, loads) * (1 + 1e-9));
        random_tasks(&random, seconds, 3);
        double of_three = bound(seconds, TASKS, 3, units);
        assert_true(of_three <= best_whole(seconds, 3, units, 0, loads) * (1 + 1e-9));
        assert_true(of_three >= best_of_three(seconds, units) * (1 - 1e-6));
    }
}

/* A third kind that can do nothing does not matter, and then the answer for two is known. */
TEST(more_kinds_come_to_the_same_where_they_are_two)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct random random = random_new(seed);
        double two[TASKS * 2], three[TASKS * 3];
        random_tasks(&random, two, 2);
        for (int task = 0; task < TASKS; task++) {
            memcpy(&three[3 * task], &two[2 * task], 2 * sizeof *two);
            three[3 * task + 2] = NOT;
        }
        double exact = bound(two, TASKS, 2, (int[]){2, 3}), found = bound(three, TASKS, 3, (int[]){2, 3, 1});
        assert_true(found <= exact * (1 + 1e-9));
        assert_near(found, exact, 1e-5);
    }
}

/* ---- Without memory ---------------------------------------------------------------------------------------------- */

static const char machine_text[] =
    "thrum-machine 1\ncores count=2\ndevice gpu count=2 arch=emu workers=2 bandwidth=1MB/s latency=1ms memory=3KB\n"
    "speed * cpu=1000 gpu=5000\nnoise normal:1,0.1\n";

static thrum_machine *machine;
static thrum_workload *workload;
static const char *policy, *trace;

static void workload_make(void)
{
    workload = thrum_workload_new("scarce");
    int kinds[] = {thrum_workload_add_codelet(workload, "cpu", 1), thrum_workload_add_codelet(workload, "both", 3)};
    for (int i = 0; i < 100; i++)
        thrum_workload_add_data(workload, NULL, 1000, true);
    for (int i = 0; i < 120; i++) {
        thrum_workload_access access[] = {{i * 7 % 100, THRUM_MODE_R}, {(i * 7 + 1) % 100, THRUM_MODE_RW}};
        thrum_workload_add_task(workload, &(thrum_workload_task){.codelet = kinds[i % 3 > 0],
                                                                 .work = 10,
                                                                 .bucket = -1,
                                                                 .worker = -1,
                                                                 .access = access,
                                                                 .access_count = 2});
    }
}

static enum outcome simulation(void)
{
    thrum_sim_result *result = NULL;
    int err = thrum_simulate(
        &(thrum_sim){.machine = machine, .workload = workload, .policy = policy, .ahead = 2, .trace = trace}, &result);
    bool right = !err && result->tasks == 120;
    thrum_sim_result_free(result);
    return outcome_of(err, right);
}

TEST(without_memory_an_error_is_told)
{
    static const char *const policies[] = {"fifo", "dmda", "laheteroprio"};
    machine = thrum_machine_parse(machine_text, strlen(machine_text), NULL);
    assert_non_null(machine);
    workload_make();
    trace = "/dev/null";
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        policy = policies[i];
        exhaust(simulation);
    }
    thrum_workload_free(workload);
    thrum_machine_free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_kind_divides_all_by_its_units),
        cmocka_unit_test(two_kinds_share_a_task),
        cmocka_unit_test(each_kind_does_what_it_is_best_at),
        cmocka_unit_test(what_only_one_kind_can_do_is_its_own),
        cmocka_unit_test(tasks_that_take_no_time_do_not_count),
        cmocka_unit_test(three_kinds_share_a_task),
        cmocka_unit_test(the_bound_is_that_of_the_best_prices_and_below_every_schedule),
        cmocka_unit_test(more_kinds_come_to_the_same_where_they_are_two),
        cmocka_unit_test(without_memory_an_error_is_told),
    };
    return RUN_TESTS(tests, 60);
}
