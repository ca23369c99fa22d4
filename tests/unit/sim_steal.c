/* SPDX-License-Identifier: MIT
 *
 * Simulated work stealing: tasks in their order, each once; who searches and who sleeps by the rules, and what happens
 * if they do not keep them.
 */
#include "random.h"
#include "sim/steal.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A random graph: each task after up to `degree` earlier ones. */
typedef struct program {
    thrum__wl_order order;
    int tasks, *domain;
    double *seconds;
    double *begin, *end; /* filled in by a run */
    int *times;
} program;

static void make_program(program *p, int tasks, int degree, int domains, double second, struct random *random)
{
    size_t n = (size_t)tasks, edges = 0;
    *p = (program){.tasks = tasks};
    int *before = calloc(n * (size_t)(degree + 1), sizeof *before), *count = calloc(n + 1, sizeof *count);
    p->order.first = calloc(n + 2, sizeof *p->order.first);
    p->order.waits = calloc(n, sizeof *p->order.waits);
    p->domain = calloc(n, sizeof *p->domain);
    p->seconds = calloc(3 * n, sizeof *p->seconds);
    p->begin = p->seconds + n;
    p->end = p->begin + n;
    p->times = calloc(n, sizeof *p->times);
    for (int i = 0; i < tasks; i++) {
        p->domain[i] = (int)(random_next(random) % (uint64_t)domains);
        p->seconds[i] = second * (0.5 + (double)(random_next(random) % 1000) / 1000);
        for (int j = 0; i > 0 && j < (int)(random_next(random) % (uint64_t)(degree + 1)); j++) {
            int other = (int)(random_next(random) % (uint64_t)i);
            before[i * degree + p->order.waits[i]++] = other;
            count[other]++;
            edges++;
        }
    }
    p->order.after = calloc(edges + 1, sizeof *p->order.after);
    for (int i = 0; i < tasks; i++)
        p->order.first[i + 1] = p->order.first[i] + (size_t)count[i];
    memset(count, 0, (n + 1) * sizeof *count);
    for (int i = 0; i < tasks; i++)
        for (int j = 0; j < p->order.waits[i]; j++) {
            int other = before[i * degree + j];
            p->order.after[p->order.first[other] + (size_t)count[other]++] = i;
        }
    free(before);
    free(count);
}

static void drop_program(program *p)
{
    free(p->order.first);
    free(p->order.waits);
    free(p->order.after);
    free(p->domain);
    free(p->seconds);
    free(p->times);
}

static void note_run(void *ctx, int worker, int task, double begin, double end)
{
    program *p = ctx;
    (void)worker;
    p->begin[task] = begin;
    p->end[task] = end;
    p->times[task]++;
}

static thrum__steal_job job_of(program *p, enum thrum__steal_rule rule, const int *workers, int domains, uint64_t seed)
{
    static const char *const names[] = {"cpu", "gpu"};
    thrum__steal_job job = {.order = &p->order,
                            .tasks = p->tasks,
                            .domains = domains,
                            .names = names,
                            .workers = workers,
                            .domain = p->domain,
                            .seconds = p->seconds,
                            .seed = seed,
                            .ran = note_run,
                            .ctx = p};
    assert_int_equal(thrum__steal_read("", &job.setting), 0);
    job.setting.rule = rule;
    return job;
}

/* What each worker has counted is what all have, and its time is the run's. */
static void check_counts(const thrum__steal_worker *counts, int workers, const thrum__steal_result *result)
{
    thrum__steal_worker sum = {0};
    for (int i = 0; i < workers; i++) {
        double seconds = counts[i].busy + counts[i].searching + counts[i].asleep;
        assert_true(seconds > result->makespan - 1e-9 - 1e-9 * result->makespan);
        assert_int_equal(counts[i].sleeps, counts[i].wakes + 1); /* all sleep at the end */
        sum.steals += counts[i].steals;
        sum.wasted += counts[i].wasted;
        sum.wakes += counts[i].wakes;
    }
    assert_int_equal(sum.steals, result->steals);
    assert_int_equal(sum.wasted, result->wasted);
    assert_int_equal(sum.wakes, result->wakes);
}

static thrum__steal_result run_program(program *p, enum thrum__steal_rule rule, const int *workers, int domains,
                                       uint64_t seed)
{
    thrum__steal_worker counts[64] = {{0}};
    thrum__steal_result result;
    thrum__steal_job job = job_of(p, rule, workers, domains, seed);
    memset(p->times, 0, (size_t)p->tasks * sizeof *p->times);
    int err = thrum__steal_run(&job, &result, counts);
    if (err)
        print_error("seed %d: %s\n", (int)seed, thrum_message(NULL));
    assert_int_equal(err, 0);
    check_counts(counts, workers[0] + (domains > 1 ? workers[1] : 0), &result);
    assert_true(result.worst_waste <= 1);
    return result;
}

static void check_order(const program *p)
{
    for (int i = 0; i < p->tasks; i++) {
        assert_int_equal(p->times[i], 1);
        for (size_t j = p->order.first[i]; j < p->order.first[i + 1]; j++)
            assert_true(p->end[i] <= p->begin[p->order.after[j]]);
    }
}

TEST(random_graphs_under_both_rules)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct random random = {seed};
        int domains = 1 + (int)(seed % 2), workers[2] = {1 + (int)(seed % 9), 1 + (int)(seed % 4)};
        program p;
        make_program(&p, 1 + (int)(random_next(&random) % 400), (int)(seed % 4), domains, seed % 3 ? 20e-6 : 2e-6,
                     &random);
        for (int rule = 0; rule < 2; rule++) {
            run_program(&p, (enum thrum__steal_rule)rule, workers, domains, seed);
            check_order(&p);
        }
        drop_program(&p);
    }
}

/* The micro-benchmark of the Taskflow paper: 40 cores and 4 devices, tasks of both kinds at random. */
static void run_micro_benchmark(int tasks, uint64_t seed)
{
    struct random random = {seed};
    int workers[2] = {40, 4};
    program p;
    make_program(&p, tasks, 1 + (int)(seed % 4), 2, seed % 5 ? 10e-6 : 100e-6, &random);
    thrum__steal_result taskflow = run_program(&p, THRUM__STEAL_TASKFLOW, workers, 2, seed);
    check_order(&p);
    thrum__steal_result again = run_program(&p, THRUM__STEAL_TASKFLOW, workers, 2, seed);
    thrum__steal_result own = run_program(&p, THRUM__STEAL_THRUM, workers, 2, seed);
    check_order(&p);
    assert_memory_equal(&taskflow, &again, sizeof again);
    assert_true(own.wasted < taskflow.wasted);
    drop_program(&p);
}

TEST(forty_cores_and_four_devices)
{
    run_micro_benchmark(5000, 7);
    for (uint64_t seed = 1; seed <= 60; seed++)
        run_micro_benchmark(300, seed);
}

/* One long task: under Taskflow's rule one thief keeps searching, under thrum's all others sleep. */
TEST(a_long_task_alone)
{
    size_t first[2] = {0, 0};
    int after[1] = {0}, waits[1] = {0}, domain[1] = {0}, times[1], workers[1] = {4};
    double seconds[3] = {1e-3, 0, 0};
    program p = {{first, after, waits, NULL}, 1, domain, seconds, seconds + 1, seconds + 2, times};
    thrum__steal_result own = run_program(&p, THRUM__STEAL_THRUM, workers, 1, 1);
    thrum__steal_result taskflow = run_program(&p, THRUM__STEAL_TASKFLOW, workers, 1, 1);
    assert_true(own.wasted <= 2 * 40 + 40);
    assert_true(taskflow.wasted > 9000); /* 1 ms of 100 ns each */
    assert_true(taskflow.worst_waste > 0.9 && taskflow.worst_waste <= 1);
}

/* ---- Rules that are broken --------------------------------------------------------------------------------------- */

TEST(what_is_against_a_rule_is_told_with_rule_domain_and_time)
{
    thrum__steal_view view = {.rule = THRUM__STEAL_THRUM, .domain = "gpu", .now = 0.25, .workers = 4, .allowed = 10};
    view.active = 1;
    assert_int_equal(thrum__steal_check(&view), 0);
    view.available = 2;
    assert_error(
        thrum__steal_check(&view), THRUM_EPOLICY,
        "work stealing broke the rule 'thrum' in the domain 'gpu' at 0.25 s: tasks wait (2), workers sleep (3 of "
        "4), and nobody searches; that is a fault of thrum's");
    view.searching = 1;
    assert_int_equal(thrum__steal_check(&view), 0);
    view.searching = 0;
    view.active = 4;
    assert_int_equal(thrum__steal_check(&view), 0);
    view.rule = THRUM__STEAL_TASKFLOW;
    assert_int_equal(thrum__steal_check(&view), 0);
    view.active = 3;
    assert_error(
        thrum__steal_check(&view), THRUM_EPOLICY,
        "the rule 'taskflow' in the domain 'gpu' at 0.25 s: workers are active (3 of 4), and nobody searches (lemma 1)");
    view.searching = 1;
    view.in_vain = 10;
    assert_int_equal(thrum__steal_check(&view), 0);
    view.in_vain = 11;
    assert_error(thrum__steal_check(&view), THRUM_EPOLICY,
                 "at 0.25 s: 11 attempts in vain, of 10 that are allowed while nothing is to be found (theorem 3)");
}

/* The second of two tasks takes as long as was said only until the first has run; then it takes a hundred times as
 * long, and whoever searches meanwhile does so for longer than the longest task could have kept it. */
static void make_next_longer(void *ctx, int worker, int task, double begin, double end)
{
    program *p = ctx;
    note_run(ctx, worker, task, begin, end);
    p->seconds[1] = 100e-3;
}

TEST(a_run_that_breaks_a_rule_fails)
{
    size_t first[3] = {0, 1, 1};
    int after[1] = {1}, waits[2] = {0, 1}, domain[2] = {0, 0}, times[2] = {0, 0}, workers[1] = {4};
    double seconds[6] = {1e-3, 1e-3, 0, 0, 0, 0};
    program p = {{first, after, waits, NULL}, 2, domain, seconds, seconds + 2, seconds + 4, times};
    thrum__steal_worker counts[4] = {{0}};
    thrum__steal_result result;
    thrum__steal_job job = job_of(&p, THRUM__STEAL_TASKFLOW, workers, 1, 1);
    job.ran = make_next_longer;
    assert_error(thrum__steal_run(&job, &result, counts), THRUM_EPOLICY,
                 "the rule 'taskflow' in the domain 'cpu' at 0.0");
    assert_contains(thrum_message(NULL), "10201 attempts in vain, of 10200 that are allowed");
    assert_contains(thrum_message(NULL), "(theorem 3)");
    assert_int_equal(times[1], 0); /* it ends there */
}

TEST(settings)
{
    thrum__steal_setting setting;
    assert_int_equal(thrum__steal_read("rule=taskflow;attempts=7;attempt=50ns;wake=1us", &setting), 0);
    assert_int_equal(setting.rule, THRUM__STEAL_TASKFLOW);
    assert_int_equal(setting.attempts, 7);
    assert_true(fabs(setting.attempt - 50e-9) < 1e-15 && fabs(setting.wake - 1e-6) < 1e-12);
    assert_int_equal(thrum__steal_read("rule=other", &setting), THRUM_EOPTION);
    assert_non_null(strstr(thrum_message(NULL), "thrum or taskflow"));
    assert_int_equal(thrum__steal_read("rules=thrum", &setting), THRUM_EOPTION);
    assert_non_null(strstr(thrum_message(NULL), "there are rule"));
    assert_int_equal(thrum__steal_read("attempt=0", &setting), THRUM_EOPTION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_under_both_rules),
        cmocka_unit_test(forty_cores_and_four_devices),
        cmocka_unit_test(a_long_task_alone),
        cmocka_unit_test(what_is_against_a_rule_is_told_with_rule_domain_and_time),
        cmocka_unit_test(a_run_that_breaks_a_rule_fails),
        cmocka_unit_test(settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
