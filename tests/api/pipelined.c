/* SPDX-License-Identifier: MIT
 *
 * Running many iterations of a graph with no barrier between them.
 */
#include "tasks.h"

enum { MOST_WORKERS = 4 };

/* ---- Counts and order -------------------------------------------------------------------------------------------- */

struct counter {
    uint64_t next;
    atomic_int mistakes;
};

/* Plain: the iterations of one task are one after the other. */
static void expect_next(void *arg)
{
    struct counter *counter = arg;
    if (thrum_iteration() != counter->next++)
        count_up(&counter->mistakes);
}

/* Two rows of tasks; the second follows the first, the first of the next iteration follows a neighbour. */
static void rows(thrum_executor *ex, uint64_t n)
{
    enum { WIDTH = 20 };
    struct counter counters[2][WIDTH] = {0};
    thrum_task *tasks[2][WIDTH];
    thrum_graph *graph = thrum_graph_new("rows");
    for (int i = 0; i < WIDTH; i++) {
        for (int row = 0; row < 2; row++)
            tasks[row][i] = thrum_task_new(graph, expect_next, &counters[row][i]);
        thrum_precede(tasks[0][i], tasks[1][i]);
        if (i > 0)
            thrum_precede_next(tasks[1][i], tasks[0][i - 1]);
    }
    assert_int_equal(thrum_run_pipelined(ex, graph, n), 0);
    assert_int_equal(thrum_run_pipelined(ex, graph, 0), 0);
    for (int i = 0; i < 2 * WIDTH; i++) {
        assert_int_equal(counters[i / WIDTH][i % WIDTH].next, n);
        assert_int_equal(counters[i / WIDTH][i % WIDTH].mistakes, 0);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(each_task_runs_once_in_each_iteration)
{
    for (int workers = 1; workers <= MOST_WORKERS; workers++) {
        thrum_executor *ex = executor_with(workers), *blocking = executor_blocking(workers);
        for (uint64_t n = 0; n < 8; n++) {
            rows(ex, n);
            rows(blocking, n);
        }
        rows(ex, 2000);
        rows(blocking, 2000);
        assert_int_equal(thrum_executor_free(ex), 0);
        assert_int_equal(thrum_executor_free(blocking), 0);
    }
    thrum_executor *threadless = executor_threadless();
    rows(threadless, 100);
    assert_int_equal(thrum_executor_free(threadless), 0);
}

TEST(graphs_of_one_task_or_none_run_pipelined)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("small");
    struct counter counter = {0};
    assert_int_equal(thrum_run_pipelined(ex, graph, 5), 0);
    thrum_task_new(graph, expect_next, &counter);
    assert_int_equal(thrum_run_pipelined(ex, graph, 1), 0);
    counter.next = 0;
    assert_int_equal(thrum_run_pipelined(ex, graph, 1000), 0);
    assert_int_equal(counter.next, 1000);
    assert_int_equal(counter.mistakes, 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* A chain in which the last task of iteration 0 goes on only when the first is in iteration 2. */
static void say_two(void *arg)
{
    if (thrum_iteration() == 2)
        atomic_store((atomic_bool *)arg, true);
}

static void await_two(void *arg)
{
    while (!atomic_load((atomic_bool *)arg))
        sched_yield();
}

TEST(iterations_overlap)
{
    thrum_executor *ex = executor_with(2);
    atomic_bool said = false;
    thrum_graph *graph = thrum_graph_new("overlap");
    thrum_task *first = thrum_task_new(graph, say_two, &said), *middle = thrum_placeholder_new(graph);
    thrum_precede(first, middle);
    thrum_precede(middle, thrum_task_new(graph, await_two, &said));
    assert_int_equal(thrum_run_pipelined(ex, graph, 10), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- A stencil --------------------------------------------------------------------------------------------------- */

enum { SIDE = 24, BLOCK = 6, ACROSS = SIDE / BLOCK, STEPS = 300 };

struct plate {
    double at[2][SIDE + 2][SIDE + 2];
};

struct block {
    struct plate *plate;
    int row, column;
};

static void spread(const struct block *b, uint64_t step)
{
    double(*from)[SIDE + 2] = b->plate->at[step % 2], (*to)[SIDE + 2] = b->plate->at[(step + 1) % 2];
    for (int i = b->row; i < b->row + BLOCK; i++)
        for (int j = b->column; j < b->column + BLOCK; j++)
            to[i][j] = 0.3 * from[i][j] + 0.2 * (from[i - 1][j] + from[i][j - 1]) + 0.1 * from[i + 1][j] +
                       0.17 * from[i][j + 1];
}

static void step_block(void *arg)
{
    spread(arg, thrum_iteration());
}

static void plate_begin(struct plate *plate)
{
    memset(plate, 0, sizeof *plate);
    for (int i = 0; i < SIDE + 2; i++)
        for (int j = 0; j < SIDE + 2; j++)
            plate->at[0][i][j] = plate->at[1][i][j] = (i * 7919 + j * 104729) % 1000 / 7.0;
}

static void connect(thrum_task *a, thrum_task *b)
{
    thrum_precede_next(a, b);
    thrum_precede_next(b, a);
}

static thrum_graph *stencil(struct plate *plate, struct block blocks[ACROSS][ACROSS])
{
    thrum_graph *graph = thrum_graph_new("stencil");
    thrum_task *tasks[ACROSS][ACROSS];
    for (int i = 0; i < ACROSS; i++)
        for (int j = 0; j < ACROSS; j++) {
            blocks[i][j] = (struct block){plate, 1 + i * BLOCK, 1 + j * BLOCK};
            tasks[i][j] = thrum_task_new(graph, step_block, &blocks[i][j]);
            if (i > 0)
                connect(tasks[i - 1][j], tasks[i][j]);
            if (j > 0)
                connect(tasks[i][j - 1], tasks[i][j]);
        }
    return graph;
}

TEST(a_stencil_gives_every_bit_as_step_by_step)
{
    static struct plate plate, expected;
    struct block blocks[ACROSS][ACROSS];
    thrum_graph *graph = stencil(&plate, blocks);
    plate_begin(&expected);
    for (uint64_t step = 0; step < STEPS; step++)
        for (int i = 0; i < ACROSS * ACROSS; i++)
            spread(&(struct block){&expected, 1 + i / ACROSS * BLOCK, 1 + i % ACROSS * BLOCK}, step);
    for (int workers = 1; workers <= MOST_WORKERS; workers++) {
        thrum_executor *ex = executor_with(workers);
        for (int run = 0; run < 10; run++) {
            plate_begin(&plate);
            assert_int_equal(thrum_run_pipelined(ex, graph, STEPS), 0);
            assert_memory_equal(&plate, &expected, sizeof plate);
        }
        plate_begin(&plate);
        assert_int_equal(thrum_run_n(ex, graph, STEPS), 0); /* with barriers */
        assert_memory_equal(&plate, &expected, sizeof plate);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
}

/* ---- Modules, scopes, detached functions ------------------------------------------------------------------------- */

struct looping {
    int turns, all;
    struct counter counter;
};

static void turn(void *arg)
{
    struct looping *looping = arg;
    looping->turns++;
    looping->all++;
}

static int three_turns(void *arg)
{
    struct looping *looping = arg;
    if (looping->turns < 3)
        return 0;
    looping->turns = 0;
    return THRUM_STOP;
}

/* A loop in a module is one firing of the outer graph. */
TEST(a_module_counts_as_one_task_whatever_happens_in_it)
{
    thrum_executor *ex = executor_with(3);
    thrum_graph *inner[2], *outer = thrum_graph_new("outer");
    struct looping looping[2] = {0};
    struct counter before = {0}, after = {0};
    thrum_task *first = thrum_task_new(outer, expect_next, &before), *last = thrum_task_new(outer, expect_next, &after);
    for (int i = 0; i < 2; i++) {
        inner[i] = thrum_graph_new("loop");
        thrum_task *begin = thrum_task_new(inner[i], expect_next, &looping[i].counter);
        thrum_task *body = thrum_task_new(inner[i], turn, &looping[i]);
        thrum_task *again = thrum_condition_new(inner[i], three_turns, &looping[i]);
        thrum_precede(begin, body);
        thrum_precede(body, again);
        thrum_precede(again, body);
        thrum_task *module = thrum_module_new(outer, inner[i]);
        thrum_precede(first, module);
        thrum_precede(module, last);
    }
    assert_int_equal(thrum_run_pipelined(ex, outer, 500), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(looping[i].all, 1500);
        assert_int_equal(looping[i].counter.next, 500);
        assert_int_equal(looping[i].counter.mistakes, 0);
    }
    assert_int_equal(after.next, 500);
    assert_int_equal(before.mistakes + after.mistakes, 0);
    assert_int_equal(thrum_graph_free(outer), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(thrum_graph_free(inner[i]), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* The worker that begins a module goes on when another is at the module's second task, and has left by the time that
 * one ends it. No task waits for the module in the same iteration; what it makes ready, several tasks of the next, must
 * not be left behind. */
static void await_other(void *arg)
{
    while (atomic_load((atomic_int *)arg) <= (int)thrum_iteration())
        sched_yield();
}

static void come_and_stay(void *arg)
{
    count_up(arg);
    for (int i = 0; i < 50; i++)
        sched_yield();
}

TEST(what_comes_after_a_module_is_not_left_behind)
{
    enum { FOLLOWERS = 6, ITERATIONS = 300 };
    thrum_executor *ex = executor_with(2);
    thrum_graph *inner = thrum_graph_new("inner"), *outer = thrum_graph_new("outer");
    atomic_int come = 0;
    struct counter followers[FOLLOWERS] = {0};
    thrum_task_new(inner, await_other, &come);
    thrum_task_new(inner, come_and_stay, &come);
    thrum_task *module = thrum_module_new(outer, inner);
    for (int i = 0; i < FOLLOWERS; i++) {
        thrum_task *follower = thrum_task_new(outer, expect_next, &followers[i]);
        thrum_precede_next(module, follower);
        thrum_precede(follower, module); /* so the module itself is not what can run next */
    }
    assert_int_equal(thrum_run_pipelined(ex, outer, ITERATIONS), 0);
    assert_int_equal(come, ITERATIONS);
    for (int i = 0; i < FOLLOWERS; i++)
        assert_int_equal(followers[i].next, ITERATIONS);
    assert_int_equal(thrum_graph_free(outer), 0);
    assert_int_equal(thrum_graph_free(inner), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

struct family {
    struct counter counter;
    int children; /* plain: one firing at a time, and one child of each */
    atomic_int detached, inside;
};

static void count_child(thrum_scope *scope, void *arg)
{
    (void)scope;
    ((struct family *)arg)->children++;
}

static void count_detached(thrum_scope *scope, void *arg)
{
    (void)scope;
    count_up(&((struct family *)arg)->detached);
}

static void count_inside(void *arg)
{
    struct family *family = arg;
    if (thrum_iteration() + 1 != family->counter.next)
        count_up(&family->counter.mistakes);
    count_up(&family->inside);
}

/* A child and a graph that are joined when the firing ends, and a function that is not. */
static void spawn_some(thrum_scope *scope, void *arg)
{
    struct family *family = arg;
    if (family->children != (int)family->counter.next || family->inside != 2 * (int)family->counter.next)
        count_up(&family->counter.mistakes);
    expect_next(&family->counter);
    thrum_scope later;
    thrum_scope_open(&later, scope);
    thrum_scope_detach(&later);
    thrum_spawn(&later, count_detached, family);
    thrum_join(&later);
    thrum_graph *graph = thrum_scope_graph(scope, "inside");
    thrum_precede(thrum_task_new(graph, count_inside, family), thrum_task_new(graph, count_inside, family));
    thrum_spawn(scope, count_child, family);
}

static void look_at_children(void *arg)
{
    const struct family *family = arg;
    if (family->children <= (int)thrum_iteration())
        count_up(&((struct family *)arg)->counter.mistakes);
}

TEST(a_scope_is_joined_in_its_iteration_and_what_is_detached_at_the_end)
{
    enum { ITERATIONS = 300 };
    for (int workers = 1; workers <= MOST_WORKERS; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("family");
        struct family family = {0};
        thrum_task *task = thrum_scope_task_new(graph, spawn_some, &family);
        thrum_task *look = thrum_task_new(graph, look_at_children, &family);
        thrum_precede(task, look);
        thrum_precede_next(look, task); /* it looks at what the next firing changes */
        assert_int_equal(thrum_run_pipelined(ex, graph, ITERATIONS), 0);
        assert_int_equal(family.counter.mistakes, 0);
        assert_int_equal(family.children, ITERATIONS);
        assert_int_equal(family.inside, 2 * ITERATIONS);
        assert_int_equal(family.detached, ITERATIONS);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* ---- Failing and cancelling -------------------------------------------------------------------------------------- */

enum { LENGTH = 10, FAILS_AT = 37 };

struct failing {
    _Atomic uint64_t last[LENGTH]; /* the last iteration of each task, and one */
    bool fails;
};

struct link {
    struct failing *failing;
    int number;
};

static void pass_or_fail(void *arg)
{
    struct link *link = arg;
    link->failing->last[link->number] = thrum_iteration() + 1;
    if (link->number == LENGTH / 2 && link->failing->fails && thrum_iteration() == FAILS_AT)
        thrum_fail(99, "link %d broke in iteration %d", link->number, FAILS_AT);
}

static thrum_graph *chain(struct failing *failing, struct link links[LENGTH])
{
    thrum_graph *graph = thrum_graph_new("chain");
    thrum_task *before = NULL;
    for (int i = 0; i < LENGTH; i++) {
        links[i] = (struct link){failing, i};
        thrum_task *task = thrum_task_new(graph, pass_or_fail, &links[i]);
        if (before)
            thrum_precede(before, task);
        before = task;
    }
    return graph;
}

TEST(a_failure_in_the_middle_stops_the_run_and_leaves_no_traces)
{
    for (int workers = 1; workers <= MOST_WORKERS; workers++) {
        thrum_executor *ex = executor_with(workers);
        struct failing failing = {.fails = true};
        struct link links[LENGTH];
        thrum_graph *graph = chain(&failing, links);
        for (int run = 0; run < 20; run++) {
            failing.fails = run % 2 == 0;
            int code = thrum_run_pipelined(ex, graph, 200);
            assert_int_equal(code, failing.fails ? 99 : 0);
            if (code)
                assert_contains(thrum_message(graph), "link 5 broke in iteration 37");
            for (int i = 0; i < LENGTH && code; i++) /* behind it nobody, and before it nobody further than the depth */
                assert_in_range(failing.last[i], 0, i > LENGTH / 2 ? FAILS_AT : FAILS_AT + 1 + 2 * (LENGTH / 2 - i));
            for (int i = 0; i < LENGTH && !code; i++)
                assert_int_equal(failing.last[i], 200);
        }
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_run_of_very_many_iterations_can_be_cancelled)
{
    for (int workers = 1; workers <= MOST_WORKERS; workers++) {
        thrum_executor *ex = executor_with(workers);
        struct failing failing = {0};
        struct link links[LENGTH];
        thrum_graph *graph = chain(&failing, links);
        thrum_handle *run = thrum_start_pipelined(ex, graph, UINT64_MAX);
        while (failing.last[LENGTH - 1] < 100 && !thrum_done(run))
            sched_yield();
        assert_int_equal(thrum_cancel(run), 0);
        assert_int_equal(thrum_wait(run), THRUM_ECANCELLED);
        thrum_release(run);
        assert_int_equal(thrum_run_pipelined(ex, graph, 7), 0);
        assert_int_equal(failing.last[LENGTH - 1], 7);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* ---- With other runs --------------------------------------------------------------------------------------------- */

TEST(runs_of_all_kinds_queue_up)
{
    enum { RUNS = 30 };
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("queued");
    int counts[3] = {0};
    thrum_task *tasks[3];
    for (int i = 0; i < 3; i++)
        tasks[i] = thrum_task_new(graph, plain_count_up, &counts[i]);
    thrum_precede(tasks[0], tasks[1]);
    thrum_precede_next(tasks[1], tasks[2]);
    thrum_handle *runs[RUNS];
    for (int i = 0; i < RUNS; i++)
        runs[i] = i % 3 == 2 ? thrum_start_n(ex, graph, 10) : thrum_start_pipelined(ex, graph, 10);
    for (int i = 0; i < RUNS; i++) {
        assert_int_equal(thrum_wait(runs[i]), 0);
        thrum_release(runs[i]);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(counts[i], RUNS * 10);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

struct nested {
    thrum_executor *ex;
    thrum_graph *inner[2];
    struct counter counters[2], inner_counters[2];
};

struct nested_at {
    struct nested *nested;
    int number;
};

/* While it waits, its worker may be at another task of the run, in another iteration. */
static void run_inner(void *arg)
{
    struct nested_at *at = arg;
    struct nested *nested = at->nested;
    nested->inner_counters[at->number].next = 0;
    if (thrum_run_pipelined(nested->ex, nested->inner[at->number], 5))
        count_up(&nested->counters[at->number].mistakes);
    expect_next(&nested->counters[at->number]);
}

TEST(tasks_of_pipelined_runs_run_graphs_pipelined)
{
    for (int workers = 1; workers <= MOST_WORKERS; workers++) {
        struct nested nested = {.ex = executor_with(workers)};
        struct nested_at at[2];
        thrum_graph *outer = thrum_graph_new("outer");
        for (int i = 0; i < 2; i++) {
            at[i] = (struct nested_at){&nested, i};
            nested.inner[i] = thrum_graph_new("inner");
            thrum_task_new(nested.inner[i], expect_next, &nested.inner_counters[i]);
            thrum_task_new(nested.inner[i], do_nothing, NULL);
            thrum_task_new(outer, run_inner, &at[i]);
        }
        assert_int_equal(thrum_run_pipelined(nested.ex, outer, 200), 0);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(nested.counters[i].next, 200);
            assert_int_equal(nested.counters[i].mistakes + nested.inner_counters[i].mistakes, 0);
            assert_int_equal(thrum_graph_free(nested.inner[i]), 0);
        }
        assert_int_equal(thrum_graph_free(outer), 0);
        assert_int_equal(thrum_executor_free(nested.ex), 0);
    }
}

static bool after_twelve(void *arg)
{
    return ((struct counter *)arg)->next == 12;
}

TEST(ordinary_runs_tell_the_iteration_too)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("ordinary"), *inner = thrum_graph_new("inner");
    struct counter counter = {0}, in_module = {0};
    assert_int_equal(thrum_iteration(), 0);
    thrum_task *task = thrum_task_new(graph, expect_next, &counter);
    thrum_task_new(inner, expect_next, &in_module);
    assert_int_equal(thrum_run(ex, graph), 0);
    counter.next = 0;
    assert_int_equal(thrum_run_n(ex, graph, 10), 0);
    thrum_precede(task, thrum_module_new(graph, inner));
    counter.next = 0;
    assert_int_equal(thrum_run_n(ex, graph, 10), 0);
    counter.next = in_module.next = 0;
    assert_int_equal(thrum_run_until(ex, graph, after_twelve, &counter), 0);
    assert_int_equal(counter.next, 12);
    assert_int_equal(counter.mistakes + in_module.mistakes, 0);
    assert_int_equal(thrum_iteration(), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_graph_free(inner), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void count_begin(void *context, const thrum_task_info *info)
{
    if (info->task)
        count_up(context);
}

TEST(observers_see_each_firing)
{
    thrum_executor *ex = executor_with(2);
    atomic_int seen = 0;
    struct failing failing = {0};
    struct link links[LENGTH];
    thrum_graph *graph = chain(&failing, links);
    assert_int_equal(thrum_executor_observe(ex, &(thrum_observer){.begin = count_begin, .context = &seen}), 0);
    assert_int_equal(thrum_run_pipelined(ex, graph, 50), 0);
    assert_int_equal(seen, 50 * LENGTH);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_task_runs_once_in_each_iteration),
        cmocka_unit_test(graphs_of_one_task_or_none_run_pipelined),
        cmocka_unit_test(iterations_overlap),
        cmocka_unit_test(a_stencil_gives_every_bit_as_step_by_step),
        cmocka_unit_test(a_module_counts_as_one_task_whatever_happens_in_it),
        cmocka_unit_test(what_comes_after_a_module_is_not_left_behind),
        cmocka_unit_test(a_scope_is_joined_in_its_iteration_and_what_is_detached_at_the_end),
        cmocka_unit_test(a_failure_in_the_middle_stops_the_run_and_leaves_no_traces),
        cmocka_unit_test(a_run_of_very_many_iterations_can_be_cancelled),
        cmocka_unit_test(runs_of_all_kinds_queue_up),
        cmocka_unit_test(tasks_of_pipelined_runs_run_graphs_pipelined),
        cmocka_unit_test(ordinary_runs_tell_the_iteration_too),
        cmocka_unit_test(observers_see_each_firing),
    };
    return RUN_TESTS(tests, 60);
}
