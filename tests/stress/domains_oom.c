/* SPDX-License-Identifier: MIT
 *
 * Out of memory with several domains, and while the number of workers changes: each scenario is run with the first
 * allocation failing, then the second, and so on. Each time it must end with an error code or with the right result.
 */
#include "scarcity.h"
#include "tasks.h"

static const thrum_domain_config configs[] = {{"one", 1}, {"two", 2}};

static enum outcome executor_scenario(void)
{
    thrum_executor *own =
        thrum_executor_new(&(thrum_config){.workers = 2, .domains = configs, .domain_count = 2, .trace = "/dev/null"});
    if (!own)
        return strlen(thrum_message(NULL)) ? REPORTED : WRONG;
    int code = thrum_executor_free(own);
    return outcome_of(code, true);
}

TEST(making_and_freeing_executors_with_domains)
{
    exhaust(executor_scenario);
}

static void wait_for_function(void *arg)
{
    thrum_handle *handle = thrum_submit(ex, count_up, arg);
    if (!handle || thrum_wait(handle))
        thrum_fail(THRUM_ENOMEM, "no handle");
    thrum_release(handle);
}

static enum outcome build_and_run(thrum_graph *graph, thrum_graph *module)
{
    atomic_int count = 0;
    thrum_task *before = NULL;
    for (int i = 0; i < 12; i++) {
        thrum_task *task = thrum_task_new(i < 3 ? module : graph, i % 4 == 2 ? wait_for_function : count_up, &count);
        thrum_task_pin_domain(task, i % 3);
        if (before && i != 3)
            thrum_precede(before, task);
        before = task;
    }
    thrum_precede(thrum_module_new(graph, module), thrum_task_new(graph, count_up, &count));
    int code = thrum_run_n(ex, graph, 2);
    return outcome_of(code, atomic_load(&count) == 2 * 13);
}

static enum outcome graph_scenario(void)
{
    thrum_graph *graph = thrum_graph_new("hungry"), *module = thrum_graph_new("module");
    enum outcome outcome = graph && module ? build_and_run(graph, module) : REPORTED;
    thrum_graph_free(graph);
    thrum_graph_free(module);
    return outcome;
}

TEST(running_a_graph_in_several_domains)
{
    exhaust(graph_scenario);
}

static enum outcome resize_scenario(void)
{
    int before = thrum_executor_workers(ex), asked = before == 2 ? 7 : 2;
    int code = thrum_executor_resize(ex, asked);
    if (thrum_executor_workers(ex) != (code == 0 ? asked : before))
        return WRONG;
    thrum__alloc_fail_after(-1);
    enum outcome outcome = graph_scenario();
    return outcome == DONE ? outcome_of(code, true) : WRONG;
}

/* Counts its own allocations: the run at the end of the scenario has memory. */
TEST(resizing)
{
    for (long n = 0; n < 60; n++) {
        thrum__alloc_fail_after(n);
        assert_int_not_equal(resize_scenario(), WRONG);
        assert_int_equal(resize_scenario(), DONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(making_and_freeing_executors_with_domains),
        cmocka_unit_test(running_a_graph_in_several_domains),
        cmocka_unit_test(resizing),
    };
    watchdog_start(90);
    for (int workers = 1; workers <= 2; workers++) {
        ex = thrum_executor_new(&(thrum_config){.workers = workers, .domains = configs, .domain_count = 2});
        int failed = ex ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
        if (thrum_executor_free(ex) || failed)
            return 1;
    }
    return 0;
}
