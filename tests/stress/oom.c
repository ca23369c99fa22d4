/* SPDX-License-Identifier: MIT
 *
 * Executors, graphs, scopes and functions out of memory; see scarcity.h.
 */
#include "scarcity.h"
#include "tasks.h"

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

static enum outcome build_and_run(thrum_graph *graph, int tasks)
{
    atomic_int count = 0;
    thrum_task *last = NULL;
    for (int i = 0; i < tasks; i++) {
        thrum_task *task = thrum_task_new(graph, count_up, &count);
        if (i % 50 == 0)
            thrum_task_set_name(task, "one with a name");
        if (i)
            thrum_edge(last, task);
        if (i % 3 != 2)
            last = task;
    }
    int code = thrum_run_n(ex, graph, 2);
    return outcome_of(code, count == 2 * tasks);
}

static enum outcome graph_scenario(void)
{
    thrum_graph *graph = thrum_graph_new("hungry");
    if (!graph)
        return REPORTED;
    enum outcome outcome = build_and_run(graph, 2500);
    return thrum_graph_free(graph) ? WRONG : outcome;
}

TEST(building_and_running_a_graph)
{
    exhaust(graph_scenario);
}

/* Edges that lead back, so that the check for cycles needs memory too. */
static enum outcome backward_scenario(void)
{
    thrum_graph *graph = thrum_graph_new("backward");
    if (!graph)
        return REPORTED;
    int count = 0;
    thrum_task *a = thrum_task_new(graph, plain_count_up, &count), *b = thrum_task_new(graph, plain_count_up, &count);
    thrum_task *c = thrum_task_new(graph, plain_count_up, &count);
    thrum_precede(c, b, a);
    thrum_precede(b, a);
    int code = thrum_graph_freeze(graph);
    if (code == 0)
        code = thrum_run(ex, graph);
    enum outcome outcome = outcome_of(code, count == 3);
    return thrum_graph_free(graph) ? WRONG : outcome;
}

TEST(freezing_a_graph_that_needs_the_check_for_cycles)
{
    exhaust(backward_scenario);
}

/* ---- Control flow ------------------------------------------------------------------------------------------------ */

static int rounds;

static int three_rounds(void *arg)
{
    (void)arg;
    return ++rounds % 3 ? 0 : THRUM_STOP;
}

/* More successors than fit without memory. */
static size_t name_all(int *picks, size_t room, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < room; i++)
        picks[i] = (int)i;
    return room;
}

static enum outcome run_both(thrum_graph *inner, thrum_graph *outer, atomic_int *count)
{
    for (int i = 0; i < 4; i++)
        thrum_task_new(inner, count_up, count);
    thrum_task *begin = thrum_placeholder_new(outer), *module = thrum_module_new(outer, inner);
    thrum_task *again = thrum_condition_new(outer, three_rounds, NULL), *all = thrum_choice_new(outer, name_all, NULL);
    thrum_precede(begin, module, all);
    thrum_precede(module, again);
    thrum_precede(again, module);
    for (int i = 0; i < 20; i++)
        thrum_edge(all, thrum_task_new(outer, count_up, count));
    rounds = 0;
    int code = thrum_run(ex, outer);
    if (code)
        return outcome_of(code, false);
    thrum_graph *clone = thrum_graph_clone(outer);
    code = clone ? thrum_run(ex, clone) : THRUM_ENOMEM;
    enum outcome outcome = outcome_of(code, *count == 2 * (12 + 20));
    if (outcome == DONE && !thrum_graph_warning(clone))
        outcome = REPORTED;
    return thrum_graph_free(clone) ? WRONG : outcome;
}

static enum outcome control_scenario(void)
{
    thrum_graph *inner = thrum_graph_new("inner"), *outer = thrum_graph_new("outer");
    atomic_int count = 0;
    enum outcome outcome = inner && outer ? run_both(inner, outer, &count) : REPORTED;
    return thrum_graph_free(outer) || thrum_graph_free(inner) ? WRONG : outcome;
}

TEST(conditions_choices_modules_and_clones)
{
    exhaust(control_scenario);
}

static enum outcome after_scenario(void)
{
    atomic_int count = 0;
    thrum_handle *first[2] = {thrum_submit(ex, count_up, &count), thrum_submit(ex, count_up, &count)};
    bool given = first[0] && first[1];
    thrum_handle *after = given ? thrum_submit_after(ex, count_up, &count, first, 2) : NULL;
    int code = after ? thrum_wait(after) : THRUM_ENOMEM;
    enum outcome outcome = outcome_of(code, count == 3);
    for (int i = 0; i < 2; i++) {
        if (first[i] && thrum_wait(first[i]))
            outcome = WRONG;
        thrum_release(first[i]);
    }
    thrum_release(after);
    return outcome;
}

TEST(functions_that_come_after_others)
{
    exhaust(after_scenario);
}

static enum outcome thaw_scenario(void)
{
    thrum_graph *graph = thrum_graph_new("thawed");
    if (!graph)
        return REPORTED;
    atomic_int count = 0;
    thrum_task *first = thrum_task_new(graph, count_up, &count);
    for (int i = 1; i < 600; i++)
        thrum_edge(first, thrum_task_new(graph, count_up, &count));
    int code = thrum_run(ex, graph);
    if (code == 0)
        code = thrum_graph_thaw(graph);
    if (code == 0)
        thrum_edge(first, thrum_task_new(graph, count_up, &count));
    if (code == 0)
        code = thrum_run(ex, graph);
    enum outcome outcome = outcome_of(code, count == 1201);
    return thrum_graph_free(graph) ? WRONG : outcome;
}

TEST(thawing_a_graph)
{
    exhaust(thaw_scenario);
}

/* A freeze that failed for want of memory can be repeated when there is some. */
TEST(a_freeze_that_failed_is_repeated)
{
    atomic_int count = 0;
    for (long n = 0; n < 10; n++) {
        count = 0;
        thrum_graph *graph = thrum_graph_new("again");
        thrum_task *a = thrum_task_new(graph, count_up, &count), *b = thrum_task_new(graph, count_up, &count);
        thrum_precede(b, a);
        thrum__alloc_fail_after(n);
        int code = thrum_graph_freeze(graph);
        thrum__alloc_fail_after(-1);
        assert_true(code == 0 || code == THRUM_ENOMEM);
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(count, 2);
        assert_int_equal(thrum_graph_free(graph), 0);
    }
}

/* A run that could not be started leaves the graph as it was. */
TEST(a_run_that_could_not_start_is_repeated)
{
    atomic_int count = 0;
    thrum_graph *graph = thrum_graph_new("again");
    thrum_precede(thrum_task_new(graph, count_up, &count), thrum_task_new(graph, count_up, &count));
    assert_int_equal(thrum_graph_freeze(graph), 0);
    for (long n = 0; n < 10; n++) {
        count = 0;
        thrum__alloc_fail_after(n);
        int code = thrum_run(ex, graph);
        thrum_handle *handle = thrum_start(ex, graph);
        thrum__alloc_fail_after(-1);
        assert_true(code == 0 || code == THRUM_ENOMEM);
        int started = handle ? thrum_wait(handle) : THRUM_ENOMEM;
        assert_true(started == 0 || started == THRUM_ENOMEM);
        int expected = (code == 0 ? 2 : 0) + (started == 0 ? 2 : 0);
        thrum_release(handle);
        assert_int_equal(count, expected);
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(count, expected + 2);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(reserved_tasks_are_made_without_memory)
{
    for (int before = 0; before < 20000; before += 1000)
        for (uint64_t more = 1; more < 10000; more += 1777) {
            thrum_graph *graph = thrum_graph_new("reserved");
            for (int i = 0; i < before; i++)
                thrum_task_new(graph, do_nothing, NULL);
            assert_int_equal(thrum_graph_reserve(graph, more), 0);
            thrum__alloc_fail_after(0);
            uint64_t made = 0;
            while (made < more && thrum_task_new(graph, do_nothing, NULL))
                made++;
            thrum__alloc_fail_after(-1);
            assert_int_equal(made, more);
            assert_int_equal(thrum_graph_free(graph), 0);
        }
}

static enum outcome handles_scenario(void)
{
    atomic_int count = 0, called = 0;
    thrum_graph *graph = thrum_graph_new("handles");
    if (!graph)
        return REPORTED;
    thrum_task_new(graph, count_up, &count);
    bool reported = false;
    int expected = 0, expected_calls = 0;
    for (int i = 0; i < 10; i++) {
        thrum_handle *handle = thrum_start(ex, graph);
        bool attached = handle && thrum_then(handle, count_up, &called) == 0;
        reported = reported || (handle && !attached);
        expected_calls += attached;
        /* A handle may be had and the run still find no memory, while the one before has not given back all of its
         * own. */
        bool ran = handle && thrum_wait(handle) == 0;
        reported = reported || !ran;
        expected += ran;
        thrum_release(handle);
    }
    bool right = count == expected && called == expected_calls;
    if (thrum_graph_free(graph) || !right)
        return WRONG;
    return reported ? REPORTED : DONE;
}

TEST(starting_runs_and_attaching_callbacks)
{
    exhaust(handles_scenario);
}

static void fail_now(void *arg)
{
    (void)arg;
    thrum_fail(5, "no memory for this sentence, perhaps");
}

static enum outcome failing_scenario(void)
{
    thrum_graph *graph = thrum_graph_new("failing");
    if (!graph)
        return REPORTED;
    thrum_task_new(graph, fail_now, NULL);
    int code = thrum_run(ex, graph);
    thrum_message(graph);
    enum outcome outcome = code == 5 ? DONE : code == THRUM_ENOMEM ? REPORTED : WRONG;
    return thrum_graph_free(graph) ? WRONG : outcome;
}

TEST(failing_tasks)
{
    exhaust(failing_scenario);
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

static enum outcome submit_scenario(void)
{
    atomic_int count = 0;
    int expected = 0, asked = 0;
    for (int i = 0; i < 40; i++, asked += 2) {
        thrum_handle *handle = thrum_submit(ex, count_up, &count);
        expected += handle != NULL;
        if (handle && thrum_wait(handle))
            return WRONG;
        thrum_release(handle);
        expected += thrum_async(ex, count_up, &count) == 0;
    }
    if (thrum_executor_wait(ex) || count != expected)
        return WRONG;
    return expected == asked ? DONE : REPORTED;
}

TEST(submitting_functions)
{
    exhaust(submit_scenario);
}

/* ---- Scopes ------------------------------------------------------------------------------------------------------ */

struct big {
    atomic_int *count;
    char bytes[2000];
};

static void use_big(thrum_scope *scope, void *arg)
{
    struct big *big = arg;
    if (big->bytes[0] == 'a' && big->bytes[sizeof big->bytes - 1] == 'z')
        count_up(big->count);
    if (big->bytes[1]) {
        struct big next = *big;
        next.bytes[1]--;
        thrum_spawn_copy(scope, use_big, &next, sizeof next);
    }
}

/* Spawning cannot fail, so neither does this, once it runs. */
static void spawn_big_copies(thrum_scope *scope, void *arg)
{
    struct big big = {.count = arg};
    big.bytes[0] = 'a';
    big.bytes[sizeof big.bytes - 1] = 'z';
    big.bytes[1] = 3;
    for (int i = 0; i < 50; i++)
        thrum_spawn_copy(scope, use_big, &big, sizeof big);
    memset(&big, 0, sizeof big);
}

static enum outcome copies_scenario(void)
{
    atomic_int count = 0;
    int code = thrum_scope_run(ex, spawn_big_copies, &count);
    return outcome_of(code, count == 200);
}

TEST(spawning_with_big_copies)
{
    exhaust(copies_scenario);
}

static enum outcome open_scenario(void)
{
    atomic_int count = 0;
    thrum_scope scope;
    thrum_scope_open_on(&scope, ex);
    spawn_big_copies(&scope, &count);
    for (int i = 0; i < 100; i++)
        thrum_spawn(&scope, count_up_in_scope, &count);
    int code = thrum_join(&scope);
    return outcome_of(code, count == 300);
}

TEST(opening_a_scope_outside_tasks)
{
    exhaust(open_scenario);
}

static void build_subgraph(thrum_scope *scope, void *count)
{
    thrum_graph *graph = thrum_scope_graph(scope, "sub");
    thrum_task *a = thrum_task_new(graph, count_up, count), *b = thrum_task_new(graph, count_up, count);
    thrum_precede(b, a);
    thrum_task_set_name(a, "a");
    thrum_spawn(scope, count_up_in_scope, count);
}

static enum outcome subgraph_scenario(void)
{
    atomic_int count = 0;
    thrum_graph *graph = thrum_graph_new("outer");
    if (!graph)
        return REPORTED;
    for (int i = 0; i < 10; i++)
        thrum_scope_task_new(graph, build_subgraph, &count);
    int code = thrum_run(ex, graph);
    enum outcome outcome = outcome_of(code, count == 30);
    return thrum_graph_free(graph) ? WRONG : outcome;
}

TEST(building_subgraphs)
{
    exhaust(subgraph_scenario);
}

static void detach_and_spawn(thrum_scope *scope, void *count)
{
    if (thrum_scope_detach(scope))
        thrum_fail(THRUM_ENOMEM, "could not detach");
    spawn_big_copies(scope, count);
    for (int i = 0; i < 10; i++)
        thrum_spawn(scope, count_up_in_scope, count);
}

static enum outcome detach_scenario(void)
{
    atomic_int count = 0;
    int code = thrum_scope_run(ex, detach_and_spawn, &count);
    return outcome_of(code, count == 210);
}

TEST(detaching)
{
    exhaust(detach_scenario);
}

/* ---- Executors --------------------------------------------------------------------------------------------------- */

static enum outcome executor_scenario_with(const thrum_config *config)
{
    thrum_executor *own = thrum_executor_new(config);
    if (!own)
        return strlen(thrum_message(NULL)) ? REPORTED : WRONG;
    atomic_int count = 0;
    int code = thrum_async(own, count_up, &count);
    enum outcome outcome = outcome_of(code, true);
    int freed = thrum_executor_free(own);
    if (count != (code == 0))
        return WRONG;
    return freed ? outcome_of(freed, true) : outcome;
}

static enum outcome executor_scenario(void)
{
    return executor_scenario_with(&(thrum_config){.workers = 3});
}

static enum outcome threadless_scenario(void)
{
    return executor_scenario_with(&(thrum_config){.threadless = true});
}

static enum outcome traced_scenario(void)
{
    return executor_scenario_with(&(thrum_config){.workers = 2, .trace = "/dev/null"});
}

TEST(making_and_freeing_executors)
{
    exhaust(executor_scenario);
}

TEST(making_and_freeing_executors_without_threads)
{
    exhaust(threadless_scenario);
}

TEST(making_and_freeing_executors_with_a_trace)
{
    exhaust(traced_scenario);
}

static void ignore_task(void *context, const thrum_task_info *info)
{
    (void)context;
    (void)info;
}

static enum outcome observed_scenario(void)
{
    int code = thrum_executor_observe(ex, &(thrum_observer){.begin = ignore_task});
    if (code)
        return outcome_of(code, true);
    enum outcome outcome = graph_scenario();
    return thrum_executor_observe(ex, NULL) ? WRONG : outcome;
}

TEST(running_with_an_observer)
{
    exhaust(observed_scenario);
}

/* ---- Reading a graph --------------------------------------------------------------------------------------------- */

static void count_visit(const thrum_task *task, const thrum_task *const *successors, size_t count, void *arg)
{
    (void)task, (void)successors, (void)count;
    ++*(int *)arg;
}

static enum outcome inspect_scenario(void)
{
    thrum_graph *graph = thrum_graph_new("inspected"), *module = thrum_graph_new("module");
    if (!graph || !module) {
        thrum_graph_free(graph);
        thrum_graph_free(module);
        return REPORTED;
    }
    thrum_precede(thrum_placeholder_new(module), thrum_placeholder_new(module));
    thrum_task *a = thrum_placeholder_new(graph), *b = thrum_placeholder_new(graph);
    thrum_task_set_name(a, "a name");
    thrum_precede(b, a);
    thrum_module_new(graph, module);
    thrum_graph_stats stats = {0};
    int visits = 0;
    FILE *nowhere = fopen("/dev/null", "w");
    int codes[] = {thrum_graph_measure(graph, NULL, NULL, &stats), thrum_graph_visit(graph, count_visit, &visits),
                   thrum_graph_dot(graph, nowhere)};
    fclose(nowhere);
    bool right = stats.tasks == 3 && stats.edges == 1 && visits == 3;
    enum outcome outcome = DONE;
    for (size_t i = 0; i < COUNT_OF(codes) && outcome == DONE; i++)
        outcome = outcome_of(codes[i], true);
    if (outcome == DONE && !right)
        outcome = WRONG;
    return thrum_graph_free(graph) || thrum_graph_free(module) ? WRONG : outcome;
}

TEST(measuring_visiting_and_drawing)
{
    exhaust(inspect_scenario);
}

static enum outcome semaphore_scenario(void)
{
    thrum_semaphore *s = thrum_semaphore_new("one", 1), *t = thrum_semaphore_new("two", 2);
    thrum_graph *graph = thrum_graph_new("semaphores"), *clone = NULL;
    enum outcome outcome = REPORTED;
    atomic_int count = 0;
    if (s && t && graph) {
        thrum_task *first = thrum_task_new(graph, count_up, &count), *last = thrum_task_new(graph, count_up, &count);
        thrum_precede(first, last);
        thrum_task_acquire(first, t);
        thrum_task_acquire(first, t);
        thrum_task_release(last, t);
        thrum_task_release(last, t);
        for (int i = 0; i < 10; i++) {
            thrum_task *task = thrum_task_new(graph, count_up, &count);
            thrum_task_acquire(task, s);
            thrum_task_acquire(task, t);
            thrum_task_release(task, t);
            thrum_task_release(task, s);
        }
        int code = thrum_run(ex, graph);
        outcome = outcome_of(code, atomic_load(&count) == 12);
        clone = outcome == DONE ? thrum_graph_clone(graph) : NULL;
        code = clone ? thrum_run(ex, clone) : THRUM_ENOMEM;
        if (outcome == DONE)
            outcome = outcome_of(code, atomic_load(&count) == 24);
    }
    bool back = (!s || thrum_semaphore_tokens(s) == 1) && (!t || thrum_semaphore_tokens(t) == 2);
    int codes[] = {clone ? thrum_graph_free(clone) : 0, graph ? thrum_graph_free(graph) : 0, thrum_semaphore_free(s),
                   thrum_semaphore_free(t)};
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        back = back && codes[i] == 0;
    return back ? outcome : WRONG;
}

TEST(tasks_that_take_and_give_back_tokens)
{
    exhaust(semaphore_scenario);
}

/* ---- Pipelined runs ---------------------------------------------------------------------------------------------- */

static enum outcome run_pipelined(thrum_graph *graph, thrum_graph *inner, atomic_int *count)
{
    enum { TASKS = 40, ITERATIONS = 5 };
    thrum_task *tasks[TASKS];
    for (int i = 0; i < 3; i++)
        thrum_task_new(inner, count_up, count);
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = i % 10 == 9 ? thrum_module_new(graph, inner) : thrum_task_new(graph, count_up, count);
        if (i > 0)
            thrum_precede_next(tasks[i], tasks[i - 1]);
        if (i > 0 && i % 5)
            thrum_edge(tasks[i - 1], tasks[i]);
        if (i >= 19 && i % 10 == 9) /* one graph in four modules: they must not overlap, */
            thrum_edge(tasks[i - 10], tasks[i]);
    }
    thrum_precede_next(tasks[TASKS - 1], tasks[9]); /* nor may their iterations */
    thrum_graph_set_depth(graph, 3);
    int code = thrum_run_pipelined(ex, graph, ITERATIONS);
    if (code)
        return outcome_of(code, false);
    thrum_graph *clone = thrum_graph_clone(graph);
    code = clone ? thrum_run_pipelined(ex, clone, ITERATIONS) : THRUM_ENOMEM;
    return thrum_graph_free(clone) ? WRONG : outcome_of(code, *count == 2 * ITERATIONS * (TASKS - 4 + 4 * 3));
}

static enum outcome pipelined_scenario(void)
{
    atomic_int count = 0;
    thrum_graph *graph = thrum_graph_new("pipelined"), *inner = thrum_graph_new("inner");
    enum outcome outcome = graph && inner ? run_pipelined(graph, inner, &count) : REPORTED;
    return thrum_graph_free(graph) || thrum_graph_free(inner) ? WRONG : outcome;
}

TEST(running_pipelined)
{
    exhaust(pipelined_scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(building_and_running_a_graph),
        cmocka_unit_test(freezing_a_graph_that_needs_the_check_for_cycles),
        cmocka_unit_test(conditions_choices_modules_and_clones),
        cmocka_unit_test(functions_that_come_after_others),
        cmocka_unit_test(thawing_a_graph),
        cmocka_unit_test(a_freeze_that_failed_is_repeated),
        cmocka_unit_test(a_run_that_could_not_start_is_repeated),
        cmocka_unit_test(reserved_tasks_are_made_without_memory),
        cmocka_unit_test(starting_runs_and_attaching_callbacks),
        cmocka_unit_test(failing_tasks),
        cmocka_unit_test(submitting_functions),
        cmocka_unit_test(spawning_with_big_copies),
        cmocka_unit_test(opening_a_scope_outside_tasks),
        cmocka_unit_test(building_subgraphs),
        cmocka_unit_test(detaching),
        cmocka_unit_test(making_and_freeing_executors),
        cmocka_unit_test(making_and_freeing_executors_without_threads),
        cmocka_unit_test(making_and_freeing_executors_with_a_trace),
        cmocka_unit_test(running_with_an_observer),
        cmocka_unit_test(measuring_visiting_and_drawing),
        cmocka_unit_test(tasks_that_take_and_give_back_tokens),
        cmocka_unit_test(running_pipelined),
    };
    return run_in_scarcity(tests, COUNT_OF(tests));
}
