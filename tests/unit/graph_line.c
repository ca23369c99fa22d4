/* SPDX-License-Identifier: MIT
 *
 * Graphs that are run in the order of their tasks' creation (src/model/line.c, src/exec/line.c): which can be, what is
 * left where such a line is broken off, and that others get their part of it.
 */
#include "tasks.h"

#include "base/alloc.h"
#include "exec/exec_int.h"
#include "random.h"
#include "sys/clock.h"

enum { TASKS = 1500, BEFORE_MOST = 4 };

struct scene;

/* A task, which looks whether those before it have run as often as itself. Plain numbers: the order is thrum's to
 * make. */
struct piece {
    struct scene *scene;
    int number, runs;
    int before[BEFORE_MOST], before_count;
};

struct scene {
    thrum_executor *ex;
    thrum_graph *graph, *inner;
    thrum_task *tasks[TASKS];
    struct piece pieces[TASKS];
    int order[TASKS], called; /* of one worker */
    int waits;                /* the task with this number goes on when the last one has run; -1: none does */
    int fails, nests;         /* likewise: it fails; it runs the inner graph */
    atomic_int last_runs;
    atomic_int wrong;
};

static void visit_place(struct scene *scene, int number, int runs)
{
    if (number == scene->waits)
        while (atomic_load(&scene->last_runs) < runs)
            sched_yield();
    if (number == scene->nests && thrum_run(scene->ex, scene->inner))
        atomic_fetch_add(&scene->wrong, 1);
    if (number == scene->fails)
        thrum_fail(47, "on purpose");
}

static void run_piece(void *arg)
{
    struct piece *piece = arg;
    struct scene *scene = piece->scene;
    int runs = ++piece->runs;
    for (int i = 0; i < piece->before_count; i++)
        if (scene->pieces[piece->before[i]].runs != runs)
            atomic_fetch_add(&scene->wrong, 1);
    if (piece->number == TASKS - 1)
        atomic_store(&scene->last_runs, runs);
    visit_place(scene, piece->number, runs);
}

static void run_in_order(void *arg)
{
    struct piece *piece = arg;
    struct scene *scene = piece->scene;
    scene->order[scene->called++] = piece->number;
    run_piece(arg);
}

/* Edges from older tasks to younger ones, most of them near; the last task has none. */
static struct scene *scene_new(int workers, uint64_t seed, thrum_fn *fn)
{
    struct scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    struct random random = random_new(seed);
    scene->ex = executor_with(workers);
    scene->graph = thrum_graph_new("line");
    scene->waits = scene->fails = scene->nests = -1;
    for (int i = 0; i < TASKS; i++) {
        struct piece *piece = &scene->pieces[i];
        *piece = (struct piece){.scene = scene, .number = i};
        scene->tasks[i] = thrum_task_new(scene->graph, fn, piece);
        piece->before_count = i == 0 || i == TASKS - 1 ? 0 : (int)random_below(&random, BEFORE_MOST + 1);
        for (int j = 0; j < piece->before_count; j++) {
            int reach = random_below(&random, 8) ? 20 : i;
            piece->before[j] = i - 1 - (int)random_below(&random, (uint32_t)(reach < i ? reach : i));
            assert_int_equal(thrum_edge(scene->tasks[piece->before[j]], scene->tasks[i]), 0);
        }
    }
    return scene;
}

static void scene_free(struct scene *scene)
{
    assert_int_equal(atomic_load(&scene->wrong), 0);
    assert_int_equal(thrum_graph_free(scene->graph), 0);
    assert_int_equal(thrum_graph_free(scene->inner), 0);
    assert_int_equal(thrum_executor_free(scene->ex), 0);
    free(scene);
}

/* However long it took: it is known for being faster in line. */
static void know_line(thrum_graph *graph)
{
    graph->line.graph_runs = graph->line.line_runs = UINT32_MAX;
    graph->line.graph_ps = 1000;
    graph->line.line_ps = 999;
}

static void run_known(struct scene *scene)
{
    know_line(scene->graph);
    assert_int_equal(thrum_run(scene->ex, scene->graph), 0);
}

/* Nobody counts as having something that others might want. */
static void expect_nothing_hidden(const thrum_executor *ex)
{
    for (int i = 0; i < atomic_load(&ex->cpu.count); i++)
        assert_int_equal(atomic_load(&ex->cpu.workers[i]->hidden_sources), 0);
}

static void expect_runs(const struct scene *scene, int runs)
{
    expect_nothing_hidden(scene->ex);
    assert_true(thrum__graph_check(scene->graph));
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(scene->pieces[i].runs, runs);
}

/* ---- What can be run in line ------------------------------------------------------------------------------------- */

static bool possible(struct scene *scene)
{
    assert_int_equal(thrum_graph_freeze(scene->graph), 0);
    bool is = thrum__line_possible(scene->graph);
    assert_true(is == (scene->graph->line.rest != NULL));
    return is;
}

static void in_scope(thrum_scope *scope, void *arg)
{
    (void)scope;
    run_piece(arg);
}

TEST(a_graph_of_plain_functions_whose_edges_lead_to_younger_tasks_can)
{
    struct scene *scene = scene_new(1, 1, run_piece);
    assert_true(possible(scene));
    scene_free(scene);
}

TEST(an_edge_to_an_older_task_forbids_it)
{
    struct scene *scene = scene_new(1, 1, run_piece);
    assert_true(possible(scene));
    assert_int_equal(thrum_edge(scene->tasks[TASKS - 1], scene->tasks[0]), 0);
    assert_false(possible(scene));
    scene_free(scene);
}

TEST(so_does_a_task_that_is_more_than_a_function)
{
    struct scene *scene = scene_new(1, 1, run_piece);
    assert_true(possible(scene));
    assert_int_equal(thrum_task_set_scope(scene->tasks[5], in_scope, &scene->pieces[5]), 0);
    assert_null(scene->graph->line.rest);
    assert_false(possible(scene));
    assert_int_equal(thrum_task_set(scene->tasks[5], run_piece, &scene->pieces[5]), 0);
    assert_true(possible(scene));
    assert_int_equal(thrum_task_set_priority(scene->tasks[5], THRUM_HIGH), 0);
    assert_false(possible(scene));
    scene_free(scene);
}

TEST(without_memory_it_is_run_by_its_edges)
{
    struct scene *scene = scene_new(1, 1, run_piece);
    assert_int_equal(thrum_run(scene->ex, scene->graph), 0);
    know_line(scene->graph);
    thrum__alloc_fail_after(0);
    int code = thrum_run(scene->ex, scene->graph);
    thrum__alloc_fail_after(-1);
    assert_int_equal(code, 0);
    assert_null(scene->graph->line.rest);
    expect_runs(scene, 2);
    scene_free(scene);
}

/* ---- What is left of a line -------------------------------------------------------------------------------------- */

/* Plays the run of what is left, by the counters: tasks that became ready, in a list. */
struct rest {
    thrum_task *ready[TASKS];
    size_t count;
};

static void play_completion(struct rest *rest, const thrum_task *task)
{
    uintptr_t one;
    const uintptr_t *word = thrum__successors(task, &one);
    for (; word; word = *word & THRUM__LAST ? NULL : word + 1) {
        thrum_task *successor = thrum__word_task(*word);
        uint32_t missing = atomic_load(&successor->pending);
        assert_true(missing > 0);
        bool ready = missing == 1;
        atomic_store(&successor->pending, ready ? successor->strong & THRUM__STRONG_MASK : missing - 1);
        if (ready)
            rest->ready[rest->count++] = successor;
    }
}

static void play_rest(struct scene *scene, int begun)
{
    static struct rest rest;
    rest.count = thrum__line_break(scene->graph, (uint64_t)begun);
    memcpy(rest.ready, scene->graph->line.rest, rest.count * sizeof *rest.ready);
    play_completion(&rest, scene->tasks[begun - 1]);
    for (size_t i = 0; i < rest.count; i++) {
        int64_t number = thrum_task_number(rest.ready[i]);
        assert_true(number >= begun);
        run_piece(&scene->pieces[number]);
        play_completion(&rest, rest.ready[i]);
    }
    assert_int_equal(rest.count, TASKS - begun);
}

TEST(wherever_a_line_is_broken_off_the_rest_runs_once_and_in_order)
{
    struct scene *scene = scene_new(1, 2, run_piece);
    assert_true(possible(scene));
    for (int begun = 1, runs = 1; begun <= TASKS; begun += begun < 100 ? 1 : 37, runs++) {
        for (int i = 0; i < begun; i++)
            run_piece(&scene->pieces[i]);
        play_rest(scene, begun);
        expect_runs(scene, runs);
    }
    scene_free(scene);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

TEST(what_is_known_to_pay_is_run_in_the_order_of_creation)
{
    struct scene *scene = scene_new(1, 3, run_in_order);
    run_known(scene);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(scene->order[i], i);
    expect_runs(scene, 1);
    scene_free(scene);
}

TEST(what_is_not_is_run_by_its_edges)
{
    struct scene *scene = scene_new(1, 3, run_piece);
    assert_int_equal(thrum_run(scene->ex, scene->graph), 0);
    know_line(scene->graph);
    scene->graph->line.line_ps = 1000;
    assert_int_equal(thrum_run(scene->ex, scene->graph), 0);
    assert_null(scene->graph->line.rest);
    expect_runs(scene, 2);
    scene_free(scene);
}

TEST(it_is_tried_when_the_graph_was_run_twice)
{
    struct scene *scene = scene_new(1, 3, run_piece);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(thrum_run(scene->ex, scene->graph), 0);
        assert_int_equal(scene->graph->line.line_runs, i == 3);
        scene->graph->line.graph_ps = 1;
    }
    expect_runs(scene, 3);
    scene_free(scene);
}

TEST(a_task_that_waits_for_a_later_one_waits_not_for_ever)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct scene *scene = scene_new(2, seed, run_piece);
        struct random random = random_new(seed);
        for (int runs = 1; runs <= 5; runs++) {
            scene->waits = runs == 5 ? 0 : (int)random_below(&random, TASKS - 1);
            run_known(scene);
            expect_runs(scene, runs);
        }
        scene_free(scene);
    }
}

/* ---- Dozing ------------------------------------------------------------------------------------------------------ */

static void wait_until_dozing_is(const thrum_executor *ex, bool dozing)
{
    while (atomic_load(&ex->cpu.dozing) != dozing)
        thrum__sleep_ns(20000);
}

static uint64_t times_woken(thrum_executor *ex)
{
    thrum_worker_stats stats;
    assert_int_equal(thrum_executor_stats(ex, -1, &stats), 0);
    return stats.wakes;
}

/* A run wakes somebody, who dozes when there is nothing more to do. */
static void make_somebody_doze(struct scene *scene)
{
    scene->waits = -1;
    while (!atomic_load(&scene->ex->cpu.dozing)) {
        run_known(scene);
        thrum__sleep_ns(300000);
    }
}

TEST(whoever_dozes_sleeps_in_earnest_when_nothing_has_begun_for_a_while)
{
    struct scene *scene = scene_new(2, 7, run_piece);
    for (int i = 0; i < 5; i++) {
        make_somebody_doze(scene);
        wait_until_dozing_is(scene->ex, false);
    }
    scene_free(scene);
}

/* On a busy machine the dozer may have gone to sleep meanwhile, so a try may show nothing; but not all of them. */
TEST(while_somebody_dozes_a_run_in_line_wakes_nobody)
{
    struct scene *scene = scene_new(2, 8, run_piece);
    bool shown = false;
    for (int i = 0; i < 1000 && !shown; i++) {
        make_somebody_doze(scene);
        uint64_t before = times_woken(scene->ex);
        run_known(scene);
        shown = atomic_load(&scene->ex->cpu.dozing) && times_woken(scene->ex) == before;
    }
    assert_true(shown);
    scene_free(scene);
}

TEST(a_task_that_waits_is_noticed_whether_others_doze_or_sleep)
{
    struct scene *scene = scene_new(2, 9, run_piece);
    struct random random = random_new(9);
    for (int i = 0; i < 20; i++) {
        make_somebody_doze(scene);
        thrum__sleep_ns(random_below(&random, 5000000));
        scene->waits = (int)random_below(&random, TASKS - 1);
        run_known(scene);
    }
    scene_free(scene);
}

/* ---- Iterations, failures, nesting ------------------------------------------------------------------------------- */

TEST(each_of_many_iterations_begins_anew)
{
    struct scene *scene = scene_new(2, 5, run_piece);
    scene->waits = TASKS / 2;
    know_line(scene->graph);
    assert_int_equal(thrum_run_n(scene->ex, scene->graph, 20), 0);
    expect_runs(scene, 20);
    scene_free(scene);
}

TEST(after_a_failure_nothing_more_is_called_and_the_next_run_is_whole)
{
    struct scene *scene = scene_new(1, 6, run_piece);
    scene->fails = 700;
    know_line(scene->graph);
    assert_int_equal(thrum_run(scene->ex, scene->graph), 47);
    assert_non_null(scene->graph->line.rest);
    assert_int_equal(scene->graph->line.line_ps, 999);
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(scene->pieces[i].runs, i <= 700);
        scene->pieces[i].runs = 1;
    }
    scene->fails = -1;
    run_known(scene);
    expect_runs(scene, 2);
    scene_free(scene);
}

TEST(a_run_in_the_middle_of_a_line_may_be_one_in_line)
{
    struct scene *scene = scene_new(2, 7, run_piece), *inner = scene_new(2, 8, run_piece);
    assert_int_equal(thrum_executor_free(inner->ex), 0);
    inner->ex = NULL;
    scene->nests = 300;
    scene->inner = inner->graph;
    inner->graph = NULL;
    for (int runs = 1; runs <= 10; runs++) {
        scene->waits = runs % 2 ? -1 : 900;
        inner->waits = runs % 3 ? -1 : 900;
        know_line(scene->inner);
        run_known(scene);
        expect_runs(scene, runs);
        assert_true(thrum__graph_check(scene->inner));
        for (int i = 0; i < TASKS; i++)
            assert_int_equal(inner->pieces[i].runs, runs);
    }
    assert_int_equal(atomic_load(&inner->wrong), 0);
    scene_free(scene);
    free(inner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_of_plain_functions_whose_edges_lead_to_younger_tasks_can),
        cmocka_unit_test(an_edge_to_an_older_task_forbids_it),
        cmocka_unit_test(so_does_a_task_that_is_more_than_a_function),
        cmocka_unit_test(without_memory_it_is_run_by_its_edges),
        cmocka_unit_test(wherever_a_line_is_broken_off_the_rest_runs_once_and_in_order),
        cmocka_unit_test(what_is_known_to_pay_is_run_in_the_order_of_creation),
        cmocka_unit_test(what_is_not_is_run_by_its_edges),
        cmocka_unit_test(it_is_tried_when_the_graph_was_run_twice),
        cmocka_unit_test(a_task_that_waits_for_a_later_one_waits_not_for_ever),
        cmocka_unit_test(whoever_dozes_sleeps_in_earnest_when_nothing_has_begun_for_a_while),
        cmocka_unit_test(while_somebody_dozes_a_run_in_line_wakes_nobody),
        cmocka_unit_test(a_task_that_waits_is_noticed_whether_others_doze_or_sleep),
        cmocka_unit_test(each_of_many_iterations_begins_anew),
        cmocka_unit_test(after_a_failure_nothing_more_is_called_and_the_next_run_is_whole),
        cmocka_unit_test(a_run_in_the_middle_of_a_line_may_be_one_in_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
