/* SPDX-License-Identifier: MIT
 *
 * can_run: a codelet's task is run by workers that its can_run accepts, whoever brings it to them; and refused where
 * there is none.
 */
#include "test.h"

#include <sched.h>

enum { N = 16, TASKS = 120 };

static const char *const policies[] = {"fifo", "prio",  "random",     "ws",          "lws",
                                       "dmda", "dmdas", "heteroprio", "laheteroprio"};

/* ---- Codelets ---------------------------------------------------------------------------------------------------- */

/* Who ran tasks of the codelets below: by worker, and those who should not have. */
static atomic_int ran_by[64], on_cpu, on_emu, astray;

static void forget(void)
{
    for (size_t i = 0; i < COUNT_OF(ran_by); i++)
        ran_by[i] = 0;
    on_cpu = on_emu = astray = 0;
}

static int ran(void)
{
    int sum = 0;
    for (size_t i = 0; i < COUNT_OF(ran_by); i++)
        sum += ran_by[i];
    return sum;
}

static void note(const thrum_buffer *b, bool right)
{
    int worker = thrum_worker_index();
    ran_by[worker >= 0 && worker < 64 ? worker : 63]++;
    astray += !right;
    ++*(int *)b[0].ptr;
}

static bool has_even_number(const thrum_place *place, const void *arg)
{
    (void)arg;
    return place->worker % 2 == 0;
}

static void run_even(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    note(b, thrum_worker_index() % 2 == 0);
}

static bool is_not_first(const thrum_place *place, const void *arg)
{
    (void)arg;
    return place->worker != 0;
}

static void run_not_first(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    note(b, thrum_worker_index() > 0);
}

static bool has_number(const thrum_place *place, const void *arg)
{
    return place->worker == *(const int *)arg;
}

static void run_as_told(const thrum_buffer *b, const void *arg)
{
    note(b, thrum_worker_index() == *(const int *)arg);
}

static bool is_processor(const thrum_place *place, const void *arg)
{
    (void)arg;
    return place->arch == THRUM_ARCH_CPU && place->node == 0 && place->device == -1;
}

static bool is_second_device(const thrum_place *place, const void *arg)
{
    (void)arg;
    return place->arch == THRUM_ARCH_EMU && place->device == 1 && place->node == 2;
}

static void run_on_cpu(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    on_cpu++;
    ++*(int *)b[0].ptr;
}

static void run_on_emu(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    on_emu++;
    astray += b[0].node != 2;
    ++*(int *)b[0].ptr;
}

static bool nowhere(const thrum_place *place, const void *arg)
{
    (void)place;
    (void)arg;
    return false;
}

static bool anywhere(const thrum_place *place, const void *arg)
{
    (void)place;
    (void)arg;
    return true;
}

static void run_plain(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    ++*(int *)b[0].ptr;
}

static const thrum_codelet even = {.name = "even", .cpu = run_even, .can_run = has_even_number};
static const thrum_codelet not_first = {.name = "not_first", .cpu = run_not_first, .can_run = is_not_first};
static const thrum_codelet told = {.name = "told", .cpu = run_as_told, .can_run = has_number};
static const thrum_codelet home = {.name = "home", .cpu = run_on_cpu, .emu = run_on_emu, .can_run = is_processor};
static const thrum_codelet away = {.name = "away", .cpu = run_on_cpu, .emu = run_on_emu, .can_run = is_second_device};
static const thrum_codelet nobody = {.name = "nobody", .cpu = run_plain, .emu = run_plain, .can_run = nowhere};
static const thrum_codelet nobody_cpu = {.name = "nobody_cpu", .cpu = run_plain, .can_run = nowhere};
static const thrum_codelet all = {.name = "all", .cpu = run_plain, .can_run = anywhere};
static const thrum_codelet plain = {.name = "plain", .cpu = run_plain, .emu = run_plain};

static thrum_executor *executor_of(const thrum_config *config)
{
    thrum_executor *ex = thrum_executor_new(config);
    if (!ex)
        print_error("%s\n", thrum_message(NULL));
    assert_non_null(ex);
    return ex;
}

static void assert_ran(int err)
{
    if (err)
        print_error("%s\n", thrum_message(NULL));
    assert_int_equal(err, 0);
}

/* ---- Programs ---------------------------------------------------------------------------------------------------- */

/* Counters, and the handles that tasks raise them by. */
typedef struct counters {
    int value[N];
    thrum_data *data[N];
} counters;

static void begin(counters *c, thrum_executor *ex)
{
    memset(c, 0, sizeof *c);
    for (int i = 0; i < N; i++)
        c->data[i] = thrum_data_variable(ex, &c->value[i], sizeof c->value[i]);
}

static int end(counters *c)
{
    int sum = 0;
    for (int i = 0; i < N; i++) {
        assert_int_equal(thrum_data_unregister(c->data[i]), 0);
        sum += c->value[i];
    }
    return sum;
}

/* Chains of tasks with a can_run and tasks without, so that workers of either kind make them ready; and urgent ones. */
static void insert_even_and_told(thrum_flow *flow, const counters *c, int workers)
{
    for (int i = 0; i < TASKS; i++) {
        int worker = i % workers;
        thrum_data *data = c->data[i % N], *next = c->data[(i + 1) % N];
        thrum_insert(flow, &even, THRUM_RW(data));
        thrum_insert(flow, &plain, THRUM_RW(data), THRUM_R(next));
        thrum_insert(flow, &told, THRUM_COMMUTE(data), THRUM_ARG(worker), THRUM_PRIORITY(i % 3 - 1));
    }
}

/* The same as tasks of a graph: a chain for each handle. */
static void add_even_and_told(thrum_graph *graph, const counters *c, int workers)
{
    thrum_task *last[N] = {0};
    for (int i = 0; i < TASKS; i++) {
        int worker = i % workers;
        thrum_data *data = c->data[i % N];
        thrum_task *tasks[] = {thrum_codelet_task(graph, &even, THRUM_RW(data)),
                               thrum_codelet_task(graph, &plain, THRUM_RW(data)),
                               thrum_codelet_task(graph, &told, THRUM_RW(data), THRUM_ARG(worker))};
        if (last[i % N])
            thrum_precede(last[i % N], tasks[0]);
        thrum_precede(tasks[0], tasks[1]);
        thrum_precede(tasks[1], tasks[2]);
        last[i % N] = tasks[2];
    }
}

static void run_flow(thrum_executor *ex, int workers)
{
    counters c;
    forget();
    begin(&c, ex);
    thrum_flow *flow = thrum_flow_new(ex);
    insert_even_and_told(flow, &c, workers);
    assert_ran(thrum_flow_free(flow));
    assert_int_equal(end(&c), 3 * TASKS);
    assert_int_equal(ran(), 2 * TASKS);
    assert_int_equal(astray, 0);
}

static void run_graph(thrum_executor *ex, int workers, bool recorded)
{
    enum { TIMES = 3 };
    counters c;
    forget();
    begin(&c, ex);
    thrum_graph *graph = thrum_graph_new("can_run");
    thrum_flow *flow = recorded ? thrum_flow_record(ex, graph) : NULL;
    if (recorded) {
        insert_even_and_told(flow, &c, workers);
        assert_ran(thrum_flow_free(flow));
    } else {
        add_even_and_told(graph, &c, workers);
    }
    assert_ran(thrum_run_n(ex, graph, TIMES));
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(end(&c), 3 * TASKS * TIMES);
    assert_int_equal(ran(), 2 * TASKS * TIMES);
    assert_int_equal(astray, 0);
}

static void run_all_ways(thrum_executor *ex, int workers)
{
    run_flow(ex, workers);
    run_graph(ex, workers, true);
    run_graph(ex, workers, false);
}

/* ---- Where workers steal ----------------------------------------------------------------------------------------- */

TEST(thieves_and_helpers_run_what_can_run_lets_them)
{
    static const thrum_config configs[] = {
        {.workers = 2}, {.workers = 3}, {.workers = 5}, {.workers = 2, .callers = THRUM_CALLERS_BLOCK}};
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        thrum_executor *ex = executor_of(&configs[i]);
        run_all_ways(ex, configs[i].workers);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* Many tiny tasks in a row: those without a can_run are run at once by the thread that inserts them. */
TEST(what_is_run_at_once_is_what_no_worker_is_refused)
{
    enum { MANY = 5000 };
    for (int workers = 1; workers <= 2; workers++) {
        thrum_executor *ex = executor_of(&(thrum_config){.workers = workers});
        counters c;
        forget();
        begin(&c, ex);
        thrum_flow *flow = thrum_flow_new(ex);
        for (int i = 0; i < MANY; i++) {
            thrum_insert(flow, i % 2 ? &plain : &all, THRUM_RW(c.data[i % N]));
            if (i % 16 == 0)
                thrum_insert(flow, &even, THRUM_RW(c.data[i % N]));
        }
        assert_ran(thrum_flow_free(flow));
        assert_int_equal(end(&c), MANY + (MANY + 15) / 16);
        if (workers > 1) /* else it is for any number */
            assert_int_equal(astray, 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(those_who_may_run_it_take_turns)
{
    thrum_executor *ex = executor_of(&(thrum_config){.workers = 4});
    counters c;
    forget();
    begin(&c, ex);
    thrum_flow *flow = thrum_flow_new(ex);
    for (int i = 0; i < TASKS; i++)
        thrum_insert(flow, &not_first, THRUM_RW(c.data[i % N]));
    assert_ran(thrum_flow_free(flow));
    end(&c);
    for (int worker = 0; worker < 4; worker++)
        assert_int_equal(ran_by[worker], worker == 0 ? 0 : TASKS / 3);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(without_threads_the_caller_is_worker_0)
{
    static const int zero = 0, one = 1;
    thrum_executor *ex = executor_of(&(thrum_config){.threadless = true});
    counters c;
    begin(&c, ex);
    thrum_flow *flow = thrum_flow_new(ex);
    thrum_insert(flow, &told, THRUM_RW(c.data[0]), THRUM_ARG(zero));
    assert_ran(thrum_flow_wait(flow));
    assert_error(thrum_insert(flow, &told, THRUM_RW(c.data[0]), THRUM_ARG(one)), THRUM_EINVAL,
                 "codelet 'told': its can_run refuses every worker of this executor");
    assert_int_equal(thrum_flow_free(flow), THRUM_EINVAL);
    thrum_graph *graph = thrum_graph_new("threadless");
    assert_non_null(thrum_codelet_task(graph, &told, THRUM_RW(c.data[0]), THRUM_ARG(zero)));
    assert_ran(thrum_run(ex, graph));
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(end(&c), 2);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* A loop of conditions sends its tasks again and again. */
static int turn(void *arg)
{
    return ++*(int *)arg % 20 == 0;
}

TEST(a_loop_of_a_graph_brings_its_task_to_the_same_worker)
{
    static const int last = 2;
    thrum_executor *ex = executor_of(&(thrum_config){.workers = 3});
    counters c;
    int turns = 0;
    forget();
    begin(&c, ex);
    thrum_graph *graph = thrum_graph_new("loop");
    thrum_task *first = thrum_placeholder_new(graph), *end_of_loop = thrum_placeholder_new(graph);
    thrum_task *body = thrum_codelet_task(graph, &told, THRUM_RW(c.data[0]), THRUM_ARG(last));
    thrum_task *again = thrum_condition_new(graph, turn, &turns);
    thrum_precede(first, body);
    thrum_precede(body, again);
    thrum_precede(again, body, end_of_loop);
    assert_ran(thrum_run_n(ex, graph, 2));
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(end(&c), 40);
    assert_int_equal(ran_by[2], 40);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* Two workers are in the middle of tasks and wait for what they have made there. */
static thrum_executor *nested_on;
static thrum_data *nested_data[2][2];
static atomic_int nesting;

static void run_nest(const thrum_buffer *b, const void *arg)
{
    int which = *(const int *)arg;
    thrum_flow *flow = thrum_flow_new(nested_on);
    for (int i = 0; i < 2; i++)
        thrum_insert(flow, &not_first, THRUM_RW(nested_data[which][i]));
    for (nesting++; nesting < 2;)
        sched_yield();
    if (thrum_flow_free(flow))
        thrum_fail(THRUM_EINVAL, "nested");
    ++*(int *)b[0].ptr;
}

static const thrum_codelet nest = {.name = "nest", .cpu = run_nest};

TEST(workers_that_wait_in_tasks_do_not_wait_for_each_other)
{
    thrum_executor *ex = nested_on = executor_of(&(thrum_config){.workers = 3});
    counters c;
    forget();
    nesting = 0;
    begin(&c, ex);
    thrum_flow *flow = thrum_flow_new(ex);
    for (int which = 0; which < 2; which++) {
        nested_data[which][0] = c.data[2 + 2 * which];
        nested_data[which][1] = c.data[3 + 2 * which];
        thrum_insert(flow, &nest, THRUM_RW(c.data[which]), THRUM_ARG(which), THRUM_ON_WORKER(1 + which));
    }
    assert_ran(thrum_flow_free(flow));
    assert_int_equal(end(&c), 6);
    assert_int_equal(astray, 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Under policies ---------------------------------------------------------------------------------------------- */

TEST(every_policy_gives_tasks_to_workers_that_can_run_accepts)
{
    for (size_t p = 0; p < COUNT_OF(policies); p++) {
        thrum_executor *ex = executor_of(&(thrum_config){.policy = policies[p], .devices = "cpu:3"});
        run_all_ways(ex, 3);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void count_home_and_away(int times)
{
    assert_int_equal(on_cpu, times * TASKS);
    assert_int_equal(on_emu, times * TASKS);
    assert_int_equal(astray, 0);
}

static void run_home_and_away(thrum_executor *ex)
{
    counters c;
    forget();
    begin(&c, ex);
    thrum_graph *recorded = thrum_graph_new("recorded"), *graph = thrum_graph_new("graph");
    thrum_flow *flows[] = {thrum_flow_new(ex), thrum_flow_record(ex, recorded)};
    for (int i = 0; i < 2 * TASKS; i++)
        for (size_t f = 0; f < COUNT_OF(flows); f++)
            thrum_insert(flows[f], i % 2 ? &home : &away, THRUM_RW(c.data[i % N]));
    for (int i = 0; i < N; i++)
        thrum_precede(thrum_codelet_task(graph, &home, THRUM_RW(c.data[i])),
                      thrum_codelet_task(graph, &away, THRUM_RW(c.data[i])));
    assert_ran(thrum_flow_free(flows[0]));
    count_home_and_away(1);
    assert_ran(thrum_flow_free(flows[1]));
    assert_ran(thrum_run(ex, recorded));
    count_home_and_away(2);
    assert_ran(thrum_run(ex, graph));
    assert_int_equal(on_cpu, 2 * TASKS + N);
    assert_int_equal(on_emu, 2 * TASKS + N);
    assert_int_equal(astray, 0);
    assert_int_equal(thrum_graph_free(recorded), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(end(&c), 4 * TASKS + 2 * N);
}

TEST(every_policy_goes_by_kind_of_worker_and_by_device)
{
    for (size_t p = 0; p < COUNT_OF(policies); p++) {
        thrum_executor *ex = executor_of(&(thrum_config){.policy = policies[p], .devices = "cpu:1,emu:2"});
        run_home_and_away(ex);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* ---- Refused ----------------------------------------------------------------------------------------------------- */

/* In a flow, in a recording and as a task of a graph. */
static void assert_refused(thrum_executor *ex, const thrum_codelet *codelet, thrum_item setting, const char *says)
{
    counters c;
    begin(&c, ex);
    for (int recorded = 0; recorded <= 1; recorded++) {
        thrum_graph *graph = thrum_graph_new("refused");
        thrum_flow *flow = recorded ? thrum_flow_record(ex, graph) : thrum_flow_new(ex);
        assert_error(thrum_insert(flow, codelet, THRUM_RW(c.data[0]), setting), THRUM_EINVAL, says);
        assert_int_equal(thrum_flow_free(flow), THRUM_EINVAL);
        assert_null(thrum_codelet_task(graph, codelet, THRUM_RW(c.data[0]), setting));
        assert_contains(thrum_message(graph), says);
        assert_int_equal(thrum_run(ex, graph), THRUM_EINVAL);
        assert_int_equal(thrum_graph_free(graph), 0);
    }
    assert_int_equal(end(&c), 0);
}

TEST(a_codelet_whose_can_run_refuses_everybody_is_refused_with_a_sentence_of_its_own)
{
    static const thrum_config configs[] = {
        {.workers = 2}, {.threadless = true}, {.policy = "fifo", .devices = "cpu:2"}};
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        thrum_executor *ex = executor_of(&configs[i]);
        assert_refused(ex, &nobody, THRUM_NONE, "codelet 'nobody': its can_run refuses every worker of this executor");
        assert_int_equal(thrum_executor_free(ex), 0);
    }
    thrum_executor *ex = executor_of(&(thrum_config){.policy = "fifo", .devices = "cpu:1,emu:1"});
    assert_refused(ex, &nobody, THRUM_NONE, "codelet 'nobody': its can_run refuses every worker of this executor");
    assert_refused(ex, &nobody_cpu, THRUM_NONE,
                   "its can_run refuses every worker of this executor that it has an implementation for");
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_worker_that_is_named_and_refused_is_an_error)
{
    static const thrum_config configs[] = {{.workers = 3}, {.policy = "ws", .devices = "cpu:3"}};
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        thrum_executor *ex = executor_of(&configs[i]);
        assert_refused(ex, &even, THRUM_ON_WORKER(1), "codelet 'even' is to run on worker 1");
        assert_refused(ex, &even, THRUM_ON_WORKER(1), "which its can_run refuses");
        counters c;
        begin(&c, ex);
        forget();
        thrum_flow *flow = thrum_flow_new(ex);
        thrum_insert(flow, &even, THRUM_RW(c.data[0]), THRUM_ON_WORKER(2));
        assert_ran(thrum_flow_free(flow));
        assert_int_equal(end(&c), 1);
        assert_int_equal(ran_by[2], 1);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_task_that_is_pinned_anew_to_a_refused_worker_fails_the_run)
{
    thrum_executor *ex = executor_of(&(thrum_config){.workers = 3});
    counters c;
    begin(&c, ex);
    thrum_graph *graph = thrum_graph_new("pinned");
    thrum_task *task = thrum_codelet_task(graph, &even, THRUM_RW(c.data[0]));
    assert_int_equal(thrum_task_pin_worker(task, 1), 0);
    assert_error(thrum_run(ex, graph), THRUM_EINVAL, "task 'even' came to worker 1, which its can_run refuses");
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(end(&c), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(can_run_is_not_for_tasks_without_data_nor_for_reductions)
{
    thrum_executor *ex = executor_of(&(thrum_config){.workers = 2});
    counters c;
    begin(&c, ex);
    thrum_graph *graph = thrum_graph_new("without data");
    assert_null(thrum_codelet_task(graph, &even, THRUM_NONE));
    assert_contains(thrum_message(graph), "'even' has a can_run, which is asked about the workers of the executor");
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_error(thrum_data_set_reduction(c.data[0], &plain, &even), THRUM_EINVAL,
                 "'even' (combine) has a can_run, but every worker that reduces must be able to run it");
    assert_int_equal(end(&c), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thieves_and_helpers_run_what_can_run_lets_them),
        cmocka_unit_test(what_is_run_at_once_is_what_no_worker_is_refused),
        cmocka_unit_test(those_who_may_run_it_take_turns),
        cmocka_unit_test(without_threads_the_caller_is_worker_0),
        cmocka_unit_test(a_loop_of_a_graph_brings_its_task_to_the_same_worker),
        cmocka_unit_test(workers_that_wait_in_tasks_do_not_wait_for_each_other),
        cmocka_unit_test(every_policy_gives_tasks_to_workers_that_can_run_accepts),
        cmocka_unit_test(every_policy_goes_by_kind_of_worker_and_by_device),
        cmocka_unit_test(a_codelet_whose_can_run_refuses_everybody_is_refused_with_a_sentence_of_its_own),
        cmocka_unit_test(a_worker_that_is_named_and_refused_is_an_error),
        cmocka_unit_test(a_task_that_is_pinned_anew_to_a_refused_worker_fails_the_run),
        cmocka_unit_test(can_run_is_not_for_tasks_without_data_nor_for_reductions),
    };
    return RUN_TESTS(tests, 60);
}
