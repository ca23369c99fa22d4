/* SPDX-License-Identifier: MIT
 *
 * Wrong use: each gives a code and a sentence that names the thing, leaks nothing and never hangs.
 */
#include "tasks.h"

static void do_nothing_in_scope(thrum_scope *scope, void *arg)
{
    (void)scope;
    (void)arg;
}

/* ---- Null handles ------------------------------------------------------------------------------------------------ */

static void visit_nothing(const thrum_task *task, const thrum_task *const *successors, size_t count, void *arg)
{
    (void)task, (void)successors, (void)count, (void)arg;
}

TEST(a_null_graph_is_an_error_of_every_call_that_takes_one)
{
    thrum_graph_stats stats;
    assert_null(thrum_task_new(NULL, do_nothing, NULL));
    assert_contains(thrum_message(NULL), "graph");
    assert_null(thrum_scope_task_new(NULL, do_nothing_in_scope, NULL));
    assert_null(thrum_placeholder_new(NULL));
    assert_error(thrum_graph_reserve(NULL, 1), THRUM_EINVAL, "graph");
    assert_error(thrum_graph_freeze(NULL), THRUM_EINVAL, "graph");
    assert_error(thrum_graph_thaw(NULL), THRUM_EINVAL, "graph");
    assert_error(thrum_run(NULL, NULL), THRUM_EINVAL, "graph");
    assert_error(thrum_run_n(NULL, NULL, 3), THRUM_EINVAL, "graph");
    assert_error(thrum_graph_measure(NULL, NULL, NULL, &stats), THRUM_EINVAL, "graph");
    assert_error(thrum_graph_visit(NULL, visit_nothing, NULL), THRUM_EINVAL, "graph");
    assert_error(thrum_graph_dot(NULL, stderr), THRUM_EINVAL, "graph");
    thrum_fail(1, "another sentence");
    assert_null(thrum_start(NULL, NULL));
    assert_contains(thrum_message(NULL), "graph");
    assert_null(thrum_start_n(NULL, NULL, 3));
}

TEST(a_null_task_is_an_error_of_every_call_that_takes_one)
{
    assert_error(thrum_task_set(NULL, do_nothing, NULL), THRUM_EINVAL, "task");
    assert_error(thrum_task_set_scope(NULL, do_nothing_in_scope, NULL), THRUM_EINVAL, "task");
    assert_error(thrum_task_set_name(NULL, "name"), THRUM_EINVAL, "task");
    assert_error(thrum_edge(NULL, NULL), THRUM_EINVAL, "task");
    assert_error(thrum_precede(NULL, NULL), THRUM_EINVAL, "task");
    assert_error(thrum_succeed(NULL, NULL), THRUM_EINVAL, "task");
    assert_int_equal(thrum_task_number(NULL), -1);
    assert_string_equal(thrum_task_name(NULL), "");
}

TEST(a_null_handle_is_an_error_of_every_call_that_takes_one)
{
    assert_error(thrum_wait(NULL), THRUM_EINVAL, "handle");
    assert_error(thrum_then(NULL, do_nothing, NULL), THRUM_EINVAL, "handle");
    thrum_done(NULL);
    thrum_release(NULL);
}

TEST(a_null_function_is_an_error_of_every_call_that_takes_one)
{
    static thrum_graph *graphs[4];
    for (int i = 0; i < 4; i++)
        graphs[i] = thrum_graph_new("no function");
    assert_null(thrum_task_new(graphs[0], NULL, NULL));
    assert_contains(thrum_message(graphs[0]), "function");
    assert_null(thrum_scope_task_new(graphs[1], NULL, NULL));
    assert_error(thrum_task_set(thrum_placeholder_new(graphs[2]), NULL, NULL), THRUM_EINVAL, "function");
    assert_error(thrum_task_set_scope(thrum_placeholder_new(graphs[3]), NULL, NULL), THRUM_EINVAL, "function");
    for (int i = 0; i < 4; i++) {
        assert_error(thrum_run(NULL, graphs[i]), THRUM_EINVAL, "function");
        assert_int_equal(thrum_graph_free(graphs[i]), 0);
    }
    assert_error(thrum_async(NULL, NULL, NULL), THRUM_EINVAL, "function");
    assert_null(thrum_submit(NULL, NULL, NULL));
    assert_contains(thrum_message(NULL), "function");
    assert_error(thrum_scope_run(NULL, NULL, NULL), THRUM_EINVAL, "function");
    atomic_int count = 0;
    thrum_handle *handle = thrum_submit(NULL, count_up, &count);
    assert_error(thrum_then(handle, NULL, NULL), THRUM_EINVAL, "function");
    assert_int_equal(thrum_wait(handle), 0);
    thrum_release(handle);
}

TEST(a_null_place_for_the_result_is_an_error)
{
    thrum_graph *graph = thrum_graph_new("results");
    thrum_option option;
    assert_int_equal(thrum_graph_measure(graph, NULL, NULL, NULL), THRUM_EINVAL);
    assert_int_equal(thrum_graph_visit(graph, NULL, NULL), THRUM_EINVAL);
    assert_int_equal(thrum_graph_dot(graph, NULL), THRUM_EINVAL);
    assert_int_not_equal(thrum_machine_get(NULL), 0);
    assert_int_not_equal(thrum_option_get(0, NULL), 0);
    assert_int_equal(thrum_option_get(0, &option), 0);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_list_of_edges_without_a_list_is_an_error)
{
    thrum_graph *graph = thrum_graph_new("no list");
    thrum_task *task = thrum_task_new(graph, do_nothing, NULL);
    assert_int_equal(thrum_edges_out(task, NULL, 2), THRUM_EINVAL);
    assert_int_equal(thrum_run(NULL, graph), THRUM_EINVAL);
    assert_int_equal(thrum_graph_free(graph), 0);
}

/* ---- Edges ------------------------------------------------------------------------------------------------------- */

TEST(a_self_edge_names_the_task)
{
    thrum_graph *graph = thrum_graph_new("kitchen");
    thrum_task *task = thrum_task_new(graph, do_nothing, NULL);
    thrum_task_set_name(task, "whisk");
    assert_error(thrum_precede(task, task), THRUM_EINVAL, "whisk");
    assert_contains(thrum_message(graph), "whisk");
    assert_contains(thrum_message(graph), "kitchen");
    assert_error(thrum_run(NULL, graph), THRUM_EINVAL, "whisk");
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(an_edge_between_two_graphs_names_both)
{
    thrum_graph *kitchen = thrum_graph_new("kitchen"), *garden = thrum_graph_new("garden");
    thrum_task *whisk = thrum_task_new(kitchen, do_nothing, NULL), *dig = thrum_task_new(garden, do_nothing, NULL);
    thrum_task_set_name(whisk, "whisk");
    thrum_task_set_name(dig, "dig");
    assert_error(thrum_edge(whisk, dig), THRUM_EINVAL, "whisk");
    assert_contains(thrum_message(NULL), "dig");
    assert_contains(thrum_message(NULL), "kitchen");
    assert_contains(thrum_message(NULL), "garden");
    assert_int_equal(thrum_run(NULL, kitchen), THRUM_EINVAL);
    assert_int_equal(thrum_graph_free(kitchen), 0);
    assert_int_equal(thrum_graph_free(garden), 0);
}

/* ---- Cycles ------------------------------------------------------------------------------------------------------ */

TEST(a_cycle_is_found_and_its_tasks_are_listed)
{
    thrum_graph *graph = thrum_graph_new("dance");
    atomic_int count = 0;
    static const char *const names[] = {"start", "alice", "bob", "carol", "behind"};
    thrum_task *tasks[5];
    for (int i = 0; i < 5; i++) {
        tasks[i] = thrum_task_new(graph, count_up, &count);
        thrum_task_set_name(tasks[i], names[i]);
    }
    thrum_precede(tasks[0], tasks[1]);
    thrum_precede(tasks[1], tasks[2]);
    thrum_precede(tasks[2], tasks[3]);
    thrum_precede(tasks[3], tasks[1], tasks[4]);
    for (int i = 0; i < 2; i++) {
        assert_error(i ? thrum_run(NULL, graph) : thrum_graph_freeze(graph), THRUM_ECYCLE, "alice");
        assert_contains(thrum_message(NULL), "bob");
        assert_contains(thrum_message(NULL), "carol");
        assert_contains(thrum_message(NULL), "dance");
        assert_null(strstr(thrum_message(NULL), "behind"));
        assert_null(strstr(thrum_message(NULL), "start"));
    }
    assert_contains(thrum_message(graph), "alice");
    assert_null(thrum_start(NULL, graph));
    assert_int_equal(count, 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_graph_without_a_source_is_found_and_named)
{
    thrum_graph *graph = thrum_graph_new("chicken and egg");
    atomic_int count = 0;
    thrum_task *chicken = thrum_task_new(graph, count_up, &count), *egg = thrum_task_new(graph, count_up, &count);
    thrum_task_set_name(chicken, "chicken");
    thrum_precede(chicken, egg);
    thrum_precede(egg, chicken);
    assert_error(thrum_graph_freeze(graph), THRUM_ENOSOURCE, "chicken and egg");
    assert_error(thrum_run(NULL, graph), THRUM_ENOSOURCE, "'chicken'");
    assert_contains(thrum_message(NULL), "task 1");
    assert_int_equal(count, 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_very_long_cycle_is_named_in_a_sentence)
{
    enum { TASKS = 100000 };
    thrum_graph *graph = thrum_graph_new("ring");
    thrum_task *first = thrum_placeholder_new(graph), *start = thrum_placeholder_new(graph), *last = first;
    thrum_edge(start, first);
    for (int i = 0; i < TASKS; i++) {
        thrum_task *next = thrum_placeholder_new(graph);
        thrum_edge(last, next);
        last = next;
    }
    thrum_edge(last, first);
    assert_error(thrum_run(NULL, graph), THRUM_ECYCLE, "ring");
    assert_contains(thrum_message(NULL), "->");
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_cycle_of_long_names_is_cut_and_not_overrun)
{
    thrum_graph *graph = thrum_graph_new("names");
    thrum_task *tasks[30];
    char name[400];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    for (int i = 0; i < 30; i++) {
        tasks[i] = thrum_placeholder_new(graph);
        thrum_task_set_name(tasks[i], name);
    }
    for (int i = 0; i < 30; i++)
        thrum_edge(tasks[i], tasks[(i + 1) % 30]);
    assert_error(thrum_run(NULL, graph), THRUM_ENOSOURCE, "nnnn");
    assert_int_equal(thrum_graph_free(graph), 0);
}

/* ---- A running graph --------------------------------------------------------------------------------------------- */

/* What calls on a running graph said; looked at when the run has ended, so that a failing test leaves none behind. */
struct answers {
    int count, codes[32];
    bool named[32];
};

static void answer(struct answers *answers, int code)
{
    answers->codes[answers->count] = code;
    answers->named[answers->count++] = strstr(thrum_message(NULL), "busy") != NULL;
}

static void answer_made(struct answers *answers, const void *made)
{
    answer(answers, made ? 0 : THRUM_EBUSY);
}

TEST(a_running_graph_can_be_neither_changed_nor_freed)
{
    thrum_executor *ex = executor_with(2);
    struct gate gate = {0};
    struct answers answers = {0};
    int after = 0;
    thrum_graph *graph = thrum_graph_new("busy"), *other = thrum_graph_new("other");
    thrum_task *a = thrum_task_new(graph, stay_at_gate, &gate), *b = thrum_task_new(graph, plain_count_up, &after);
    thrum_task *stranger = thrum_task_new(other, do_nothing, NULL);
    thrum_precede(a, b);
    thrum_handle *handle = thrum_start(ex, graph);
    await_entered(&gate);
    answer(&answers, thrum_graph_free(graph));
    answer_made(&answers, thrum_task_new(graph, do_nothing, NULL));
    answer_made(&answers, thrum_scope_task_new(graph, do_nothing_in_scope, NULL));
    answer_made(&answers, thrum_placeholder_new(graph));
    answer(&answers, thrum_edge(a, b));
    answer(&answers, thrum_edge(a, a));
    answer(&answers, thrum_edge(a, stranger));
    answer(&answers, thrum_precede(a, NULL));
    answer(&answers, thrum_succeed(a, NULL));
    answer(&answers, thrum_edges_out(a, NULL, 2));
    answer(&answers, thrum_task_set(b, do_nothing, NULL));
    answer(&answers, thrum_task_set_scope(b, do_nothing_in_scope, NULL));
    answer(&answers, thrum_task_set_name(b, "b"));
    answer(&answers, thrum_graph_reserve(graph, 10));
    answer(&answers, thrum_graph_thaw(graph));
    open_gate(&gate);
    assert_int_equal(thrum_wait(handle), 0);
    assert_int_equal(after, 1);
    thrum_release(handle);
    for (int i = 0; i < answers.count; i++) {
        if (answers.codes[i] != THRUM_EBUSY || !answers.named[i])
            print_error("call %d did not say that the graph is busy\n", i);
        assert_int_equal(answers.codes[i], THRUM_EBUSY);
        assert_true(answers.named[i]);
    }
    /* The graph has taken no harm. */
    assert_int_equal(thrum_task_set_name(b, "b"), 0);
    assert_int_equal(thrum_edge(b, thrum_task_new(graph, plain_count_up, &after)), 0);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(after, 3);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_graph_free(other), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_graph_with_a_queued_run_can_be_neither_changed_nor_freed)
{
    thrum_executor *ex = executor_with(1);
    struct gate gate = {0};
    int count = 0;
    thrum_graph *first = thrum_graph_new("first"), *queued = thrum_graph_new("queued");
    thrum_task_new(first, stay_at_gate, &gate);
    thrum_task *task = thrum_task_new(queued, plain_count_up, &count);
    thrum_handle *one = thrum_start(ex, first);
    await_entered(&gate);
    thrum_handle *two = thrum_start(ex, queued);
    assert_error(thrum_graph_free(queued), THRUM_EBUSY, "queued");
    assert_error(thrum_task_set_name(task, "name"), THRUM_EBUSY, "queued");
    open_gate(&gate);
    assert_int_equal(thrum_wait(two), 0);
    assert_int_equal(thrum_wait(one), 0);
    assert_int_equal(count, 1);
    thrum_release(one);
    thrum_release(two);
    assert_int_equal(thrum_graph_free(first), 0);
    assert_int_equal(thrum_graph_free(queued), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

struct saboteur {
    thrum_graph *graph;
    int free_code, edge_code;
    thrum_task *a, *b;
};

static void sabotage(void *arg)
{
    struct saboteur *saboteur = arg;
    saboteur->free_code = thrum_graph_free(saboteur->graph);
    saboteur->edge_code = thrum_edge(saboteur->a, saboteur->b);
}

TEST(a_task_can_neither_change_nor_free_its_own_graph)
{
    struct saboteur saboteur = {.graph = thrum_graph_new("victim")};
    saboteur.a = thrum_task_new(saboteur.graph, sabotage, &saboteur);
    saboteur.b = thrum_task_new(saboteur.graph, do_nothing, NULL);
    assert_int_equal(thrum_run(NULL, saboteur.graph), 0);
    assert_int_equal(saboteur.free_code, THRUM_EBUSY);
    assert_int_equal(saboteur.edge_code, THRUM_EBUSY);
    assert_int_equal(thrum_graph_free(saboteur.graph), 0);
}

TEST(an_observer_is_not_changed_while_something_runs)
{
    thrum_executor *ex = executor_with(2);
    struct gate gate = {0};
    thrum_handle *handle = thrum_submit(ex, stay_at_gate, &gate);
    await_entered(&gate);
    assert_int_equal(thrum_executor_observe(ex, &(thrum_observer){0}), THRUM_EBUSY);
    assert_true(strlen(thrum_message(NULL)) > 0);
    assert_int_equal(thrum_executor_observe(ex, NULL), THRUM_EBUSY);
    open_gate(&gate);
    assert_int_equal(thrum_wait(handle), 0);
    thrum_release(handle);
    assert_int_equal(thrum_executor_wait(ex), 0);
    assert_int_equal(thrum_executor_observe(ex, NULL), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Waiting for oneself ----------------------------------------------------------------------------------------- */

struct self_wait {
    thrum_executor *ex;
    thrum_graph *graph;
    _Atomic(thrum_handle *) handle;
    int code;
    char message[256];
};

static void wait_for_own_run(void *arg)
{
    struct self_wait *self = arg;
    thrum_handle *handle;
    while (!(handle = atomic_load(&self->handle)))
        sched_yield();
    self->code = thrum_wait(handle);
    snprintf(self->message, sizeof self->message, "%s", thrum_message(NULL));
}

static void wait_for_own_run_in_scope(thrum_scope *scope, void *arg)
{
    (void)scope;
    wait_for_own_run(arg);
}

static void spawn_a_waiter(thrum_scope *scope, void *arg)
{
    thrum_spawn(scope, wait_for_own_run_in_scope, arg);
}

static void open_a_scope_with_a_waiter(void *arg)
{
    thrum_scope scope;
    thrum_scope_open(&scope, NULL);
    thrum_spawn(&scope, wait_for_own_run_in_scope, arg);
    thrum_join(&scope);
}

static void expect_deadlock(struct self_wait *self, thrum_handle *handle)
{
    assert_non_null(handle);
    atomic_store(&self->handle, handle);
    assert_int_equal(thrum_wait(handle), 0);
    assert_int_equal(self->code, THRUM_EDEADLOCK);
    assert_true(strlen(self->message) > 0);
    thrum_release(handle);
    atomic_store(&self->handle, NULL);
}

TEST(a_task_that_waits_for_its_own_run_gets_an_error)
{
    for (int workers = 1; workers <= 2; workers++) {
        thrum_executor *ex = executor_with(workers);
        struct self_wait self = {0};
        thrum_graph *plain = thrum_graph_new("plain"), *spawning = thrum_graph_new("spawning");
        thrum_graph *opening = thrum_graph_new("opening");
        thrum_task_new(plain, wait_for_own_run, &self);
        thrum_scope_task_new(spawning, spawn_a_waiter, &self);
        thrum_task_new(opening, open_a_scope_with_a_waiter, &self);
        expect_deadlock(&self, thrum_start(ex, plain));
        expect_deadlock(&self, thrum_start(ex, spawning));
        expect_deadlock(&self, thrum_start(ex, opening));
        expect_deadlock(&self, thrum_submit(ex, wait_for_own_run, &self));
        expect_deadlock(&self, thrum_submit(ex, open_a_scope_with_a_waiter, &self));
        assert_int_equal(thrum_graph_free(plain), 0);
        assert_int_equal(thrum_graph_free(spawning), 0);
        assert_int_equal(thrum_graph_free(opening), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void run_inside_a_run(void *arg)
{
    struct self_wait *self = arg;
    thrum_graph *inner = thrum_graph_new("inner");
    thrum_task_new(inner, wait_for_own_run, self);
    thrum_run(self->ex, inner);
    thrum_graph_free(inner);
}

TEST(a_task_of_a_nested_run_that_waits_for_the_outer_run_gets_an_error)
{
    for (int workers = 1; workers <= 2; workers++) {
        struct self_wait self = {.ex = executor_with(workers)};
        thrum_graph *outer = thrum_graph_new("outer");
        thrum_task_new(outer, run_inside_a_run, &self);
        for (int i = 0; i < 100; i++)
            expect_deadlock(&self, thrum_start(self.ex, outer));
        assert_int_equal(thrum_graph_free(outer), 0);
        assert_int_equal(thrum_executor_free(self.ex), 0);
    }
}

static void run_own_graph(void *arg)
{
    struct self_wait *self = arg;
    if (self->code) /* the run that was left in the queue */
        return;
    self->code = thrum_run(self->ex, self->graph);
    snprintf(self->message, sizeof self->message, "%s", thrum_message(NULL));
}

TEST(a_task_that_runs_its_own_graph_and_waits_gets_an_error)
{
    for (int workers = 1; workers <= 2; workers++) {
        struct self_wait self = {.ex = executor_with(workers), .graph = thrum_graph_new("snake")};
        thrum_task_new(self.graph, run_own_graph, &self);
        assert_int_equal(thrum_run(self.ex, self.graph), 0);
        assert_int_equal(thrum_executor_wait(self.ex), 0);
        assert_int_equal(self.code, THRUM_EDEADLOCK);
        assert_contains(self.message, "snake");
        assert_int_equal(thrum_graph_free(self.graph), 0);
        assert_int_equal(thrum_executor_free(self.ex), 0);
    }
}

static void wait_for_own_executor(void *arg)
{
    struct self_wait *self = arg;
    self->code = thrum_executor_wait(self->ex);
}

static void free_own_executor(void *arg)
{
    struct self_wait *self = arg;
    self->code = thrum_executor_free(self->ex);
}

TEST(a_task_can_neither_wait_for_its_executor_nor_free_it)
{
    for (int workers = 0; workers <= 2; workers++) {
        struct self_wait self = {.ex = workers ? executor_with(workers) : executor_threadless()};
        thrum_fn *fns[] = {wait_for_own_executor, free_own_executor};
        for (int i = 0; i < 2; i++) {
            self.code = 0;
            thrum_handle *handle = thrum_submit(self.ex, fns[i], &self);
            assert_int_equal(thrum_wait(handle), 0);
            assert_int_equal(self.code, THRUM_EDEADLOCK);
            thrum_release(handle);
            assert_int_equal(thrum_async(self.ex, fns[i], &self), 0);
            assert_int_equal(thrum_executor_wait(self.ex), 0);
            assert_int_equal(self.code, THRUM_EDEADLOCK);
        }
        assert_int_equal(thrum_executor_free(self.ex), 0);
    }
}

/* ---- Limits and options ------------------------------------------------------------------------------------------ */

TEST(more_tasks_than_thrum_can_count_are_refused)
{
    static const uint64_t counts[] = {UINT64_C(1) << 31, (UINT64_C(1) << 31) + 1, UINT64_C(1) << 40, UINT64_MAX};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        thrum_graph *graph = thrum_graph_new("universe");
        char number[32];
        snprintf(number, sizeof number, "%llu", (unsigned long long)counts[i]);
        thrum_task_new(graph, do_nothing, NULL);
        assert_error(thrum_graph_reserve(graph, counts[i]), THRUM_ELIMIT, "universe");
        assert_contains(thrum_message(NULL), number);
        assert_int_equal(thrum_run(NULL, graph), THRUM_ELIMIT);
        assert_int_equal(thrum_graph_free(graph), 0);
    }
}

TEST(a_negative_worker_count_is_refused)
{
    assert_null(thrum_executor_new(&(thrum_config){.workers = -1}));
    assert_contains(thrum_message(NULL), "-1");
    assert_null(thrum_executor_new(&(thrum_config){.workers = -2147483647 - 1}));
    assert_contains(thrum_message(NULL), "workers");
}

TEST(a_worker_count_beyond_all_reason_is_refused)
{
    assert_null(thrum_executor_new(&(thrum_config){.workers = 2147483647}));
    assert_contains(thrum_message(NULL), "2147483647");
}

TEST(an_unknown_option_in_the_environment_is_refused)
{
    setenv("THRUM_WROKERS", "2", 1);
    assert_null(thrum_executor_new(NULL));
    assert_contains(thrum_message(NULL), "THRUM_WROKERS");
    unsetenv("THRUM_WROKERS");
}

TEST(a_bad_value_in_the_environment_is_refused)
{
    setenv("THRUM_BIND", "string", 1);
    assert_null(thrum_executor_new(NULL));
    assert_contains(thrum_message(NULL), "THRUM_BIND");
    assert_contains(thrum_message(NULL), "string");
    unsetenv("THRUM_BIND");
}

TEST(the_message_of_something_else_is_a_sentence)
{
    uintptr_t nothing[8] = {0};
    assert_true(strlen(thrum_message(nothing)) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_null_graph_is_an_error_of_every_call_that_takes_one),
        cmocka_unit_test(a_null_task_is_an_error_of_every_call_that_takes_one),
        cmocka_unit_test(a_null_handle_is_an_error_of_every_call_that_takes_one),
        cmocka_unit_test(a_null_function_is_an_error_of_every_call_that_takes_one),
        cmocka_unit_test(a_null_place_for_the_result_is_an_error),
        cmocka_unit_test(a_list_of_edges_without_a_list_is_an_error),
        cmocka_unit_test(a_self_edge_names_the_task),
        cmocka_unit_test(an_edge_between_two_graphs_names_both),
        cmocka_unit_test(a_cycle_is_found_and_its_tasks_are_listed),
        cmocka_unit_test(a_graph_without_a_source_is_found_and_named),
        cmocka_unit_test(a_very_long_cycle_is_named_in_a_sentence),
        cmocka_unit_test(a_cycle_of_long_names_is_cut_and_not_overrun),
        cmocka_unit_test(a_running_graph_can_be_neither_changed_nor_freed),
        cmocka_unit_test(a_graph_with_a_queued_run_can_be_neither_changed_nor_freed),
        cmocka_unit_test(a_task_can_neither_change_nor_free_its_own_graph),
        cmocka_unit_test(an_observer_is_not_changed_while_something_runs),
        cmocka_unit_test(a_task_that_waits_for_its_own_run_gets_an_error),
        cmocka_unit_test(a_task_of_a_nested_run_that_waits_for_the_outer_run_gets_an_error),
        cmocka_unit_test(a_task_that_runs_its_own_graph_and_waits_gets_an_error),
        cmocka_unit_test(a_task_can_neither_wait_for_its_executor_nor_free_it),
        cmocka_unit_test(more_tasks_than_thrum_can_count_are_refused),
        cmocka_unit_test(a_negative_worker_count_is_refused),
        cmocka_unit_test(a_worker_count_beyond_all_reason_is_refused),
        cmocka_unit_test(an_unknown_option_in_the_environment_is_refused),
        cmocka_unit_test(a_bad_value_in_the_environment_is_refused),
        cmocka_unit_test(the_message_of_something_else_is_a_sentence),
    };
    return RUN_TESTS(tests, 60);
}
