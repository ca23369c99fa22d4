/* SPDX-License-Identifier: MIT
 *
 * Priorities and pins.
 */
#include "tasks.h"

/* ---- Priorities -------------------------------------------------------------------------------------------------- */

enum { TASKS = 300 };

struct order {
    atomic_int next;
    int priority[TASKS], at[TASKS];
    struct order_entry {
        struct order *order;
        int number;
    } entries[TASKS];
};

static void note_order(void *arg)
{
    struct order_entry *entry = arg;
    entry->order->at[entry->number] = atomic_fetch_add(&entry->order->next, 1);
}

static void check_order(const struct order *order, int count)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            if (order->priority[i] > order->priority[j])
                assert_true(order->at[i] < order->at[j]);
}

static thrum_task *order_task(thrum_graph *graph, struct order *order, int number)
{
    order->entries[number] = (struct order_entry){order, number};
    order->priority[number] = (number * 7) % 3 - 1;
    thrum_task *task = thrum_task_new(graph, note_order, &order->entries[number]);
    assert_int_equal(thrum_task_set_priority(task, (enum thrum_priority)order->priority[number]), 0);
    return task;
}

TEST(one_worker_runs_ready_tasks_in_the_order_of_their_priorities)
{
    for (int callers = THRUM_CALLERS_HELP; callers <= THRUM_CALLERS_BLOCK; callers++)
        for (int behind = 0; behind < 2; behind++) {
            thrum_executor *ex =
                thrum_executor_new(&(thrum_config){.workers = 1, .callers = (enum thrum_callers)callers});
            thrum_graph *graph = thrum_graph_new("ordered");
            struct order *order = calloc(1, sizeof *order);
            thrum_task *first = behind ? thrum_placeholder_new(graph) : NULL;
            for (int i = 0; i < TASKS; i++) {
                thrum_task *task = order_task(graph, order, i);
                if (first)
                    thrum_precede(first, task);
            }
            for (int round = 0; round < 3; round++) {
                atomic_store(&order->next, 0);
                assert_int_equal(thrum_run(ex, graph), 0);
                assert_int_equal(atomic_load(&order->next), TASKS);
                check_order(order, TASKS);
            }
            free(order);
            assert_int_equal(thrum_graph_free(graph), 0);
            assert_int_equal(thrum_executor_free(ex), 0);
        }
}

/* A high task that becomes ready in the middle runs before the normal ones that were ready before it. */
TEST(a_high_task_overtakes_normal_ones_that_wait)
{
    thrum_executor *ex = executor_with(1);
    thrum_graph *graph = thrum_graph_new("overtaking");
    struct order *order = calloc(1, sizeof *order);
    thrum_task *start = thrum_placeholder_new(graph), *urgent = NULL;
    for (int i = 0; i < 100; i++) {
        order->entries[i] = (struct order_entry){order, i};
        thrum_task *task = thrum_task_new(graph, note_order, &order->entries[i]);
        thrum_precede(start, task);
        if (i == 50) {
            order->entries[100] = (struct order_entry){order, 100};
            urgent = thrum_task_new(graph, note_order, &order->entries[100]);
            thrum_task_set_priority(urgent, THRUM_HIGH);
            thrum_precede(task, urgent);
        }
    }
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(order->at[100], order->at[50] + 1);
    free(order);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(priorities_change_nothing_but_the_order)
{
    enum { WIDTH = 20, DEPTH = 15 };
    static atomic_int counts[WIDTH * DEPTH];
    for (int workers = 0; workers <= 4; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("layers");
        thrum_task *tasks[DEPTH][WIDTH];
        for (int d = 0; d < DEPTH; d++)
            for (int i = 0; i < WIDTH; i++) {
                tasks[d][i] = thrum_task_new(graph, count_up, &counts[d * WIDTH + i]);
                atomic_store(&counts[d * WIDTH + i], 0);
                thrum_task_set_priority(tasks[d][i], (enum thrum_priority)((d * 5 + i * 3) % 3 - 1));
                for (int j = 0; d > 0 && j < 3; j++)
                    thrum_precede(tasks[d - 1][(i + j * 7) % WIDTH], tasks[d][i]);
            }
        assert_int_equal(thrum_run_n(ex, graph, 50), 0);
        for (int i = 0; i < WIDTH * DEPTH; i++)
            assert_int_equal(atomic_load(&counts[i]), 50);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* ---- Pins -------------------------------------------------------------------------------------------------------- */

struct pinned {
    int worker;
    atomic_int right, wrong;
};

static void check_worker(void *arg)
{
    struct pinned *pinned = arg;
    atomic_fetch_add(thrum_worker_index() == pinned->worker ? &pinned->right : &pinned->wrong, 1);
}

TEST(a_pinned_task_runs_on_its_worker)
{
    enum { PINS = 40 };
    for (int workers = 1; workers <= 4; workers++)
        for (int callers = THRUM_CALLERS_HELP; callers <= THRUM_CALLERS_BLOCK; callers++) {
            thrum_executor *ex =
                thrum_executor_new(&(thrum_config){.workers = workers, .callers = (enum thrum_callers)callers});
            thrum_graph *graph = thrum_graph_new("pinned");
            static struct pinned pins[PINS];
            atomic_int plain = 0;
            thrum_task *before = NULL;
            for (int i = 0; i < PINS; i++) {
                pins[i] = (struct pinned){.worker = i % workers};
                thrum_task *task = thrum_task_new(graph, check_worker, &pins[i]);
                assert_int_equal(thrum_task_pin_worker(task, i % workers), 0);
                thrum_task *next = thrum_task_new(graph, count_up, &plain);
                thrum_precede(task, next);
                if (before && i % 3)
                    thrum_precede(before, task);
                before = i % 2 ? task : next;
            }
            assert_int_equal(thrum_run_n(ex, graph, 20), 0);
            for (int i = 0; i < PINS; i++) {
                assert_int_equal(atomic_load(&pins[i].wrong), 0);
                assert_int_equal(atomic_load(&pins[i].right), 20);
            }
            assert_int_equal(atomic_load(&plain), 20 * PINS);
            assert_int_equal(thrum_graph_free(graph), 0);
            assert_int_equal(thrum_executor_free(ex), 0);
        }
}

/* Each run wakes one worker out of many that sleep, another one each time. */
TEST(the_right_sleeper_is_woken)
{
    enum { WORKERS = 6 };
    thrum_executor *ex = executor_with(WORKERS);
    thrum_graph *graphs[WORKERS];
    struct pinned pins[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        pins[i] = (struct pinned){.worker = i};
        graphs[i] = thrum_graph_new("one");
        thrum_task_pin_worker(thrum_task_new(graphs[i], check_worker, &pins[i]), i);
    }
    for (int round = 0; round < 60; round++) {
        int i = (round * 5) % WORKERS;
        if (round % 7 == 0)
            pause_ms(1);
        assert_int_equal(thrum_run(ex, graphs[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(atomic_load(&pins[i].right), 10);
        assert_int_equal(atomic_load(&pins[i].wrong), 0);
        assert_int_equal(thrum_graph_free(graphs[i]), 0);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* A task waits for a run that has a task for the very worker that waits: at once, or after others. */
struct nested {
    thrum_executor *ex;
    thrum_graph *graph;
    int err;
};

static void run_nested(void *arg)
{
    struct nested *nested = arg;
    nested->err = thrum_run(nested->ex, nested->graph);
}

static void rest(void *arg)
{
    (void)arg;
    pause_ms(2);
}

TEST(a_worker_that_waits_runs_what_is_pinned_to_it_of_what_it_waits_for)
{
    for (int workers = 1; workers <= 3; workers++)
        for (int steps = 0; steps < 3; steps++)
            for (int on = 0; on < workers; on++) {
                struct pinned pinned = {.worker = on};
                struct nested nested = {.ex = executor_with(workers), .graph = thrum_graph_new("inner")};
                thrum_graph *outer = thrum_graph_new("outer");
                thrum_task *last = thrum_task_new(nested.graph, check_worker, &pinned);
                thrum_task_pin_worker(last, on);
                for (int i = 0; i < steps; i++) {
                    thrum_task *step = thrum_task_new(nested.graph, rest, NULL);
                    thrum_task_pin_worker(step, (on + 1 + i) % workers);
                    thrum_precede(step, last);
                }
                thrum_task_pin_worker(thrum_task_new(outer, run_nested, &nested), on);
                assert_int_equal(thrum_run_n(nested.ex, outer, 5), 0);
                assert_int_equal(nested.err, 0);
                assert_int_equal(atomic_load(&pinned.right), 5);
                assert_int_equal(atomic_load(&pinned.wrong), 0);
                assert_int_equal(thrum_graph_free(outer), 0);
                assert_int_equal(thrum_graph_free(nested.graph), 0);
                assert_int_equal(thrum_executor_free(nested.ex), 0);
            }
}

/* ---- Together with the rest -------------------------------------------------------------------------------------- */

struct loop {
    int rounds;
    struct pinned pinned;
};

static int ten_times(void *arg)
{
    struct loop *loop = arg;
    return ++loop->rounds < 10 ? 0 : THRUM_STOP;
}

TEST(terms_work_in_loops_and_modules)
{
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        struct loop loop = {.pinned = {.worker = workers - 1}};
        thrum_graph *inner = thrum_graph_new("inner"), *outer = thrum_graph_new("outer");
        thrum_task *a = thrum_task_new(inner, check_worker, &loop.pinned), *b = thrum_placeholder_new(inner);
        thrum_precede(a, b);
        thrum_task_pin_worker(a, workers - 1);
        thrum_task_set_priority(b, THRUM_LOW);
        thrum_task *start = thrum_placeholder_new(outer), *module = thrum_module_new(outer, inner);
        thrum_task *again = thrum_condition_new(outer, ten_times, &loop);
        thrum_task_set_priority(again, THRUM_HIGH);
        thrum_precede(start, module);
        thrum_precede(module, again);
        thrum_precede(again, module);
        assert_int_equal(thrum_run(ex, outer), 0);
        assert_int_equal(loop.rounds, 10);
        assert_int_equal(atomic_load(&loop.pinned.right), 10);
        thrum_graph *clone = thrum_graph_clone(inner);
        assert_int_equal(thrum_run(ex, clone), 0);
        assert_int_equal(atomic_load(&loop.pinned.right), 11);
        assert_int_equal(atomic_load(&loop.pinned.wrong), 0);
        assert_int_equal(thrum_graph_free(clone), 0);
        assert_int_equal(thrum_graph_free(outer), 0);
        assert_int_equal(thrum_graph_free(inner), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void fail_here(void *arg)
{
    (void)arg;
    thrum_fail(9, "on purpose");
}

TEST(a_failed_run_with_terms_ends_and_leaves_the_graph_unharmed)
{
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("failing");
        atomic_int count = 0;
        thrum_task *failing = thrum_task_new(graph, fail_here, NULL);
        for (int i = 0; i < 50; i++) {
            thrum_task *task = thrum_task_new(graph, count_up, &count);
            thrum_precede(failing, task);
            if (i % 3 == 0)
                thrum_task_set_priority(task, i % 2 ? THRUM_LOW : THRUM_HIGH);
            else if (i % 3 == 1)
                thrum_task_pin_worker(task, i % workers);
        }
        assert_int_equal(thrum_run(ex, graph), 9);
        assert_int_equal(atomic_load(&count), 0);
        thrum_task_set(failing, do_nothing, NULL);
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(atomic_load(&count), 50);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* ---- Wrong use --------------------------------------------------------------------------------------------------- */

TEST(a_pin_to_a_worker_that_does_not_exist_is_refused)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("pins"), *outer = thrum_graph_new("outer");
    atomic_int count = 0;
    thrum_task *task = thrum_task_new(graph, count_up, &count);
    thrum_task_set_name(task, "far");
    assert_int_equal(thrum_task_pin_worker(task, 7), 0);
    assert_int_equal(thrum_run(ex, graph), THRUM_EINVAL);
    assert_contains(thrum_message(graph),
                    "'far' of graph 'pins' is pinned to worker 7, but the executor has 2 workers");
    thrum_module_new(outer, graph);
    assert_int_equal(thrum_run(ex, outer), THRUM_EINVAL);
    assert_contains(thrum_message(outer), "worker 7");
    assert_int_equal(thrum_task_pin_worker(task, -1), 0);
    assert_int_equal(thrum_task_pin_domain(task, 3), 0);
    assert_int_equal(thrum_run(ex, graph), THRUM_EINVAL);
    assert_contains(thrum_message(graph), "pinned to domain 3, but the executor has 1 domain");
    assert_int_equal(thrum_task_pin_domain(task, 0), 0);
    assert_int_equal(atomic_load(&count), 0);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_run(ex, outer), 0);
    assert_int_equal(atomic_load(&count), 2);
    assert_int_equal(thrum_graph_free(outer), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(wrong_terms_are_named)
{
    thrum_graph *graph = thrum_graph_new("wrong");
    thrum_graph *other = thrum_graph_new("other");
    assert_error(thrum_task_set_priority(NULL, THRUM_HIGH), THRUM_EINVAL, "thrum_task_set_priority: a task is NULL");
    thrum_task *task = thrum_placeholder_new(graph);
    assert_error(thrum_task_pin_worker(task, -2), THRUM_EINVAL, "cannot be pinned to -2");
    assert_int_equal(thrum_graph_free(graph), 0);
    graph = thrum_graph_new("wrong");
    assert_error(thrum_task_set_priority(thrum_placeholder_new(graph), (enum thrum_priority)5), THRUM_EINVAL,
                 "5 is not one of");
    assert_int_equal(thrum_graph_free(graph), 0);
    graph = thrum_graph_new("wrong");
    assert_error(thrum_task_pin_domain(thrum_module_new(graph, other), 0), THRUM_EINVAL, "is a module");
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_graph_free(other), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_worker_runs_ready_tasks_in_the_order_of_their_priorities),
        cmocka_unit_test(a_high_task_overtakes_normal_ones_that_wait),
        cmocka_unit_test(priorities_change_nothing_but_the_order),
        cmocka_unit_test(a_pinned_task_runs_on_its_worker),
        cmocka_unit_test(the_right_sleeper_is_woken),
        cmocka_unit_test(a_worker_that_waits_runs_what_is_pinned_to_it_of_what_it_waits_for),
        cmocka_unit_test(terms_work_in_loops_and_modules),
        cmocka_unit_test(a_failed_run_with_terms_ends_and_leaves_the_graph_unharmed),
        cmocka_unit_test(a_pin_to_a_worker_that_does_not_exist_is_refused),
        cmocka_unit_test(wrong_terms_are_named),
    };
    return RUN_TESTS(tests, 60);
}
