/* SPDX-License-Identifier: MIT
 *
 * Control flow inside a graph: conditions, choices, weak edges, loops.
 */
#include "tasks.h"

/* A condition that names the successor in `pick`. */
struct branch {
    int pick, asked;
};

static int take_branch(void *arg)
{
    struct branch *branch = arg;
    branch->asked++;
    return branch->pick;
}

/* A condition at the end of a loop: 0, the way back, until it was asked `times` times; then 1. It begins anew after
 * that, so that the graph can be run again. */
struct loop {
    int times, count;
};

static int go_round(void *arg)
{
    struct loop *loop = arg;
    if (++loop->count < loop->times)
        return 0;
    loop->count = 0;
    return 1;
}

/* A choice that names the first `count` of `picks`. */
struct pick_list {
    int picks[64];
    size_t count, room; /* room: what it was told */
};

static size_t take_picks(int *picks, size_t room, void *arg)
{
    struct pick_list *list = arg;
    list->room = room;
    for (size_t i = 0; i < list->count && i < room; i++)
        picks[i] = list->picks[i];
    return list->count;
}

static int stop(void *arg)
{
    (void)arg;
    return THRUM_STOP;
}

static thrum_task *named(thrum_task *task, const char *name)
{
    assert_int_equal(thrum_task_set_name(task, name), 0);
    return task;
}

/* ---- Branches ---------------------------------------------------------------------------------------------------- */

TEST(a_condition_names_the_one_successor_that_runs)
{
    thrum_graph *graph = thrum_graph_new("if");
    struct branch branch = {0};
    int ran[3] = {0};
    thrum_task *condition = thrum_condition_new(graph, take_branch, &branch);
    for (int i = 0; i < 3; i++)
        thrum_precede(condition, thrum_task_new(graph, plain_count_up, &ran[i]));
    static const int picks[] = {0, 2, 1, 2, 2};
    for (size_t i = 0; i < COUNT_OF(picks); i++) {
        branch.pick = picks[i];
        assert_int_equal(thrum_run(NULL, graph), 0);
    }
    assert_int_equal(ran[0], 1);
    assert_int_equal(ran[1], 1);
    assert_int_equal(ran[2], 3);
    assert_int_equal(branch.asked, 5);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(the_number_is_that_of_the_edge_and_not_of_the_task)
{
    thrum_graph *graph = thrum_graph_new("order");
    struct branch branch = {.pick = 0};
    int early = 0, late = 0;
    thrum_task *first_made = thrum_task_new(graph, plain_count_up, &early);
    thrum_task *condition = thrum_condition_new(graph, take_branch, &branch);
    thrum_task *last_made = thrum_task_new(graph, plain_count_up, &late);
    thrum_precede(condition, last_made, first_made);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(late, 1);
    assert_int_equal(early, 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(stopping_names_nothing_and_the_rest_of_the_graph_goes_on)
{
    thrum_graph *graph = thrum_graph_new("stop");
    int behind = 0, beside = 0;
    thrum_task *condition = thrum_condition_new(graph, stop, NULL);
    thrum_precede(condition, thrum_task_new(graph, plain_count_up, &behind));
    thrum_precede(thrum_placeholder_new(graph), thrum_task_new(graph, plain_count_up, &beside));
    assert_int_equal(thrum_run_n(NULL, graph, 10), 0);
    assert_int_equal(behind, 0);
    assert_int_equal(beside, 10);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_condition_without_successors_may_only_stop)
{
    for (int edges = 0; edges < 2; edges++) {
        thrum_graph *graph = thrum_graph_new("leaf");
        struct branch branch = {.pick = THRUM_STOP};
        thrum_task *condition = named(thrum_condition_new(graph, take_branch, &branch), "lonely");
        if (edges) /* with an edge somewhere the graph runs in another way than without any */
            thrum_precede(thrum_placeholder_new(graph), condition);
        assert_int_equal(thrum_run(NULL, graph), 0);
        assert_int_equal(branch.asked, 1);
        branch.pick = 0;
        assert_error(thrum_run(NULL, graph), THRUM_ECHOICE, "'lonely'");
        assert_contains(thrum_message(graph), "it has none");
        assert_contains(thrum_message(graph), "'leaf'");
        assert_int_equal(thrum_graph_free(graph), 0);
    }
}

TEST(a_wrong_number_fails_the_run_and_says_what_would_be_right)
{
    static const int wrong[] = {3, -2, 1000000, INT32_MIN, INT32_MAX};
    for (int workers = 1; workers <= 2; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("weaving");
        struct branch branch = {0};
        int ran = 0;
        thrum_task *condition = named(thrum_condition_new(graph, take_branch, &branch), "which shed");
        for (int i = 0; i < 3; i++)
            thrum_precede(condition, thrum_task_new(graph, plain_count_up, &ran));
        for (size_t i = 0; i < COUNT_OF(wrong); i++) {
            char number[40];
            branch.pick = wrong[i];
            assert_error(thrum_run(ex, graph), THRUM_ECHOICE, "'which shed'");
            snprintf(number, sizeof number, "named successor %d,", wrong[i]);
            assert_contains(thrum_message(graph), number);
            assert_contains(thrum_message(graph), "from 0 to 2");
            assert_contains(thrum_message(graph), "THRUM_STOP");
            assert_contains(thrum_message(graph), "'weaving'");
            assert_int_equal(ran, 0);
        }
        branch.pick = 1;
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(ran, 1);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_condition_without_a_name_is_told_by_its_number)
{
    thrum_graph *graph = thrum_graph_new("nameless");
    struct branch branch = {.pick = 1};
    thrum_task *target = thrum_placeholder_new(graph);
    thrum_precede(thrum_condition_new(graph, take_branch, &branch), target);
    thrum_handle *handle = thrum_start(NULL, graph);
    assert_int_equal(thrum_wait(handle), THRUM_ECHOICE);
    assert_contains(thrum_message(handle), "task 1 ");
    assert_contains(thrum_message(handle), "from 0 to 0");
    thrum_release(handle);
    assert_int_equal(thrum_graph_free(graph), 0);
}

/* ---- Loops ------------------------------------------------------------------------------------------------------- */

TEST(a_way_back_through_a_condition_is_a_loop)
{
    for (int workers = 1; workers <= 4; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("loop");
        struct loop loop = {.times = 100};
        int begun = 0, rounds = 0, done = 0;
        thrum_task *init = thrum_task_new(graph, plain_count_up, &begun);
        thrum_task *body = thrum_task_new(graph, plain_count_up, &rounds);
        thrum_task *condition = thrum_condition_new(graph, go_round, &loop);
        thrum_task *end = thrum_task_new(graph, plain_count_up, &done);
        thrum_precede(init, body);
        thrum_precede(body, condition);
        thrum_precede(condition, body, end);
        for (int run = 1; run <= 20; run++) {
            assert_int_equal(thrum_run(ex, graph), 0);
            assert_int_equal(begun, run);
            assert_int_equal(rounds, 100 * run);
            assert_int_equal(done, run);
        }
        assert_int_equal(thrum_run_n(ex, graph, 30), 0);
        assert_int_equal(rounds, 100 * 50);
        assert_int_equal(done, 50);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_condition_may_name_itself)
{
    thrum_graph *graph = thrum_graph_new("again");
    struct loop loop = {.times = 1000};
    int done = 0;
    thrum_task *start = thrum_placeholder_new(graph);
    thrum_task *condition = thrum_condition_new(graph, go_round, &loop);
    thrum_precede(start, condition);
    assert_int_equal(thrum_edge(condition, condition), 0);
    thrum_precede(condition, thrum_task_new(graph, plain_count_up, &done));
    assert_int_equal(thrum_run_n(NULL, graph, 3), 0);
    assert_int_equal(done, 3);
    assert_int_equal(loop.count, 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(loops_nest)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("nested");
    struct loop inner = {.times = 7}, middle = {.times = 5}, outer = {.times = 3};
    int innermost = 0, between = 0, outermost = 0, done = 0;
    thrum_task *start = thrum_placeholder_new(graph);
    thrum_task *a = thrum_task_new(graph, plain_count_up, &outermost);
    thrum_task *b = thrum_task_new(graph, plain_count_up, &between);
    thrum_task *c = thrum_task_new(graph, plain_count_up, &innermost);
    thrum_task *inner_end = thrum_condition_new(graph, go_round, &inner);
    thrum_task *middle_end = thrum_condition_new(graph, go_round, &middle);
    thrum_task *outer_end = thrum_condition_new(graph, go_round, &outer);
    thrum_task *end = thrum_task_new(graph, plain_count_up, &done);
    thrum_precede(start, a);
    thrum_precede(a, b);
    thrum_precede(b, c);
    thrum_precede(c, inner_end);
    thrum_precede(inner_end, c, middle_end);
    thrum_precede(middle_end, b, outer_end);
    thrum_precede(outer_end, a, end);
    assert_int_equal(thrum_run_n(ex, graph, 4), 0);
    assert_int_equal(outermost, 4 * 3);
    assert_int_equal(between, 4 * 3 * 5);
    assert_int_equal(innermost, 4 * 3 * 5 * 7);
    assert_int_equal(done, 4);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* The body is a diamond: its last task counts two predecessors, in each round anew. */
TEST(the_body_of_a_loop_may_be_a_graph_that_several_workers_run)
{
    enum { WIDTH = 16, ROUNDS = 200 };
    static int middle[WIDTH];
    for (int workers = 1; workers <= 4; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("wide");
        struct loop loop = {.times = ROUNDS};
        int first = 0, last = 0;
        memset(middle, 0, sizeof middle);
        thrum_task *start = thrum_placeholder_new(graph);
        thrum_task *head = thrum_task_new(graph, plain_count_up, &first);
        thrum_task *tail = thrum_task_new(graph, plain_count_up, &last);
        thrum_task *condition = thrum_condition_new(graph, go_round, &loop);
        thrum_precede(start, head);
        for (int i = 0; i < WIDTH; i++) {
            thrum_task *task = thrum_task_new(graph, plain_count_up, &middle[i]);
            thrum_precede(head, task);
            thrum_precede(task, tail);
        }
        thrum_precede(tail, condition);
        thrum_precede(condition, head);
        thrum_precede(condition, thrum_placeholder_new(graph));
        assert_int_equal(thrum_run_n(ex, graph, 3), 0);
        assert_int_equal(first, 3 * ROUNDS);
        assert_int_equal(last, 3 * ROUNDS);
        for (int i = 0; i < WIDTH; i++)
            assert_int_equal(middle[i], 3 * ROUNDS);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static int until_set(void *flag)
{
    return atomic_load_explicit((atomic_int *)flag, memory_order_relaxed) ? 1 : 0;
}

/* A condition that goes round and round never looks into its worker's deque; what waits there must be had all the
 * same. */
TEST(others_take_what_waits_behind_a_worker_that_goes_round)
{
    thrum_executor *ex = executor_with(2);
    for (int round = 0; round < 50; round++) {
        thrum_graph *graph = thrum_graph_new("waiting for a neighbour");
        atomic_int flag = 0;
        int done = 0;
        thrum_task *start = thrum_placeholder_new(graph);
        thrum_task *spin = thrum_condition_new(graph, until_set, &flag);
        thrum_precede(start, spin, thrum_task_new(graph, count_up, &flag), thrum_placeholder_new(graph));
        thrum_precede(spin, spin, thrum_task_new(graph, plain_count_up, &done));
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(done, 1);
        assert_int_equal(thrum_graph_free(graph), 0);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(others_take_the_sources_that_a_worker_leaves_while_it_goes_round)
{
    thrum_executor *ex = executor_with(2);
    for (int round = 0; round < 50; round++) {
        thrum_graph *graph = thrum_graph_new("waiting for a source");
        atomic_int flag = 0;
        for (int side = 0; side < 2; side++) {
            thrum_task *start = thrum_placeholder_new(graph), *spin = thrum_condition_new(graph, until_set, &flag);
            thrum_precede(start, spin);
            thrum_precede(spin, spin, thrum_placeholder_new(graph));
            if (side == 0)
                thrum_task_new(graph, count_up, &flag);
        }
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(thrum_graph_free(graph), 0);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Weak and strong edges --------------------------------------------------------------------------------------- */

TEST(a_task_that_only_conditions_lead_to_does_not_start_by_itself)
{
    thrum_graph *graph = thrum_graph_new("weak");
    struct branch branch = {.pick = THRUM_STOP};
    int ran = 0;
    thrum_task *condition = thrum_condition_new(graph, take_branch, &branch);
    thrum_precede(condition, thrum_task_new(graph, plain_count_up, &ran));
    thrum_graph_stats stats;
    assert_int_equal(thrum_graph_measure(graph, NULL, NULL, &stats), 0);
    assert_int_equal(stats.sources, 1);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(ran, 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

/* `both` waits for `left` and `right`, of which one is not named in each run. What was counted must be forgotten. */
TEST(a_branch_that_was_not_taken_leaves_nothing_behind_for_the_next_run)
{
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("half");
        struct branch branch = {0};
        int left = 0, right = 0, both = 0;
        thrum_task *condition = thrum_condition_new(graph, take_branch, &branch);
        thrum_task *l = thrum_task_new(graph, plain_count_up, &left);
        thrum_task *r = thrum_task_new(graph, plain_count_up, &right);
        thrum_precede(condition, l, r);
        thrum_succeed(thrum_task_new(graph, plain_count_up, &both), l, r);
        for (int run = 0; run < 10; run++) {
            branch.pick = run % 2;
            assert_int_equal(thrum_run(ex, graph), 0);
            assert_int_equal(both, 0);
        }
        assert_int_equal(thrum_run_n(ex, graph, 10), 0);
        assert_int_equal(left, 5);
        assert_int_equal(right, 15);
        assert_int_equal(both, 0);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* Named by a condition, a task runs although its strong predecessor never does. */
TEST(a_condition_does_not_wait_for_the_strong_predecessors_of_what_it_names)
{
    thrum_graph *graph = thrum_graph_new("direct");
    struct branch branch = {.pick = 0};
    int ran = 0, never = 0;
    thrum_task *condition = thrum_condition_new(graph, take_branch, &branch);
    thrum_task *target = thrum_task_new(graph, plain_count_up, &ran);
    thrum_task *skipped = thrum_task_new(graph, plain_count_up, &never);
    thrum_precede(condition, target, skipped);
    thrum_precede(skipped, target);
    assert_int_equal(thrum_run_n(NULL, graph, 5), 0);
    assert_int_equal(ran, 5);
    branch.pick = 1;
    assert_int_equal(thrum_run_n(NULL, graph, 5), 0);
    assert_int_equal(ran, 10);
    assert_int_equal(never, 5);
    assert_int_equal(thrum_graph_free(graph), 0);
}

/* The same, but it does not begin anew. */
static int go_round_once(void *arg)
{
    struct loop *loop = arg;
    return ++loop->count < loop->times ? 0 : 1;
}

/* `target` waits for `half` and for one that never runs. Each time `half` has completed, a condition names `target` all
 * the same: from then on it counts anew, and two times half are not a whole. */
TEST(a_task_that_was_named_counts_its_predecessors_anew)
{
    thrum_executor *ex = executor_with(1);
    thrum_graph *graph = thrum_graph_new("anew");
    struct branch always = {.pick = 0}, never = {.pick = THRUM_STOP};
    struct loop loop = {.times = 5};
    int halves = 0, ran = 0;
    thrum_task *start = thrum_placeholder_new(graph), *half = thrum_task_new(graph, plain_count_up, &halves);
    thrum_task *target = thrum_task_new(graph, plain_count_up, &ran), *missing = thrum_placeholder_new(graph);
    thrum_task *to_target = thrum_condition_new(graph, take_branch, &always);
    thrum_task *again = thrum_condition_new(graph, go_round_once, &loop);
    thrum_precede(start, half);
    thrum_precede(half, target, to_target);
    thrum_precede(to_target, target);
    thrum_precede(target, again);
    thrum_precede(again, half, thrum_placeholder_new(graph));
    thrum_precede(thrum_condition_new(graph, take_branch, &never), missing);
    thrum_precede(missing, target);
    for (int run = 1; run <= 3; run++) {
        loop.count = 0;
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(halves, 5 * run);
        assert_int_equal(ran, 5 * run);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_strong_cycle_is_still_reported_beside_a_loop)
{
    thrum_graph *graph = thrum_graph_new("two circles");
    thrum_task *start = thrum_placeholder_new(graph), *body = thrum_placeholder_new(graph);
    thrum_task *hen = named(thrum_placeholder_new(graph), "hen"), *egg = named(thrum_placeholder_new(graph), "egg");
    struct loop loop = {.times = 2};
    thrum_task *condition = named(thrum_condition_new(graph, go_round, &loop), "condition");
    thrum_precede(start, body);
    thrum_precede(body, condition);
    thrum_precede(condition, body, hen);
    assert_int_equal(thrum_graph_freeze(graph), 0);
    thrum_precede(hen, egg);
    thrum_precede(egg, hen);
    assert_error(thrum_graph_freeze(graph), THRUM_ECYCLE, "'hen'");
    assert_contains(thrum_message(graph), "'egg'");
    assert_null(strstr(thrum_message(graph), "'condition'"));
    assert_int_equal(thrum_run(NULL, graph), THRUM_ECYCLE);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_graph_in_which_only_conditions_lead_to_the_first_tasks_cannot_start)
{
    thrum_graph *graph = thrum_graph_new("no beginning");
    struct loop loop = {.times = 2};
    int rounds = 0;
    thrum_task *body = thrum_task_new(graph, plain_count_up, &rounds);
    thrum_task *condition = thrum_condition_new(graph, go_round, &loop);
    thrum_precede(body, condition);
    thrum_precede(condition, body);
    assert_error(thrum_run(NULL, graph), THRUM_ENOSOURCE, "'no beginning'");
    assert_contains(thrum_message(graph), "without any edge");
    thrum_precede(condition, thrum_placeholder_new(graph));
    thrum_precede(thrum_placeholder_new(graph), body); /* what the sentence asks for */
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(rounds, 2);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_graph_of_one_condition_that_names_itself_cannot_start)
{
    thrum_graph *graph = thrum_graph_new("alone");
    thrum_task *condition = thrum_condition_new(graph, stop, NULL);
    assert_int_equal(thrum_edge(condition, condition), 0);
    assert_error(thrum_run(NULL, graph), THRUM_ENOSOURCE, "'alone'");
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_task_that_is_no_condition_cannot_come_before_itself)
{
    thrum_graph *graph = thrum_graph_new("self");
    thrum_task *task = named(thrum_placeholder_new(graph), "snake");
    assert_error(thrum_edge(task, task), THRUM_EINVAL, "'snake'");
    assert_contains(thrum_message(NULL), "condition");
    assert_int_equal(thrum_graph_free(graph), 0);
}

/* ---- Changing what a task is ------------------------------------------------------------------------------------- */

TEST(a_placeholder_becomes_a_condition_and_a_task_again)
{
    thrum_graph *graph = thrum_graph_new("change");
    struct branch branch = {.pick = 1};
    int ran[2] = {0}, plain = 0;
    thrum_task *changing = thrum_placeholder_new(graph);
    for (int i = 0; i < 2; i++)
        thrum_precede(changing, thrum_task_new(graph, plain_count_up, &ran[i]));
    for (int round = 1; round <= 3; round++) {
        thrum_graph_stats stats;
        assert_int_equal(thrum_task_set(changing, plain_count_up, &plain), 0);
        assert_int_equal(thrum_run(NULL, graph), 0); /* strong edges: both run */
        assert_int_equal(plain, round);
        assert_int_equal(ran[0], round);
        assert_int_equal(ran[1], 2 * round - 1);
        assert_int_equal(thrum_graph_measure(graph, NULL, NULL, &stats), 0);
        assert_int_equal(stats.span, 2);
        assert_int_equal(thrum_task_set_condition(changing, take_branch, &branch), 0);
        assert_int_equal(thrum_run(NULL, graph), 0); /* weak ones: the named one */
        assert_int_equal(ran[0], round);
        assert_int_equal(ran[1], 2 * round);
        assert_int_equal(stats.edges, 2);
    }
    struct pick_list list = {.picks = {1, 0}, .count = 2};
    assert_int_equal(thrum_task_set_choice(changing, take_picks, &list), 0);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(ran[0], 4);
    assert_int_equal(ran[1], 7);
    assert_int_equal(thrum_task_set_scope(changing, count_up_in_scope, &plain), 0);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(ran[0], 5);
    assert_int_equal(ran[1], 8);
    assert_int_equal(plain, 4);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_loop_whose_condition_becomes_a_plain_task_is_a_cycle)
{
    thrum_graph *graph = thrum_graph_new("closed");
    struct loop loop = {.times = 3};
    int rounds = 0;
    thrum_task *start = thrum_placeholder_new(graph);
    thrum_task *body = named(thrum_task_new(graph, plain_count_up, &rounds), "body");
    thrum_task *turn = named(thrum_condition_new(graph, go_round, &loop), "turn");
    thrum_precede(start, body);
    thrum_precede(body, turn);
    thrum_precede(turn, body, thrum_placeholder_new(graph));
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(thrum_task_set(turn, do_nothing, NULL), 0);
    assert_error(thrum_run(NULL, graph), THRUM_ECYCLE, "'turn'");
    assert_int_equal(thrum_task_set_condition(turn, go_round, &loop), 0);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(rounds, 6);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_condition_that_named_itself_and_becomes_a_plain_task_is_a_cycle)
{
    thrum_graph *graph = thrum_graph_new("closed at once");
    thrum_task *turn = named(thrum_condition_new(graph, stop, NULL), "turn");
    thrum_precede(thrum_placeholder_new(graph), turn);
    thrum_precede(turn, turn);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(thrum_task_set(turn, do_nothing, NULL), 0);
    assert_error(thrum_run(NULL, graph), THRUM_ECYCLE, "'turn'");
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(the_function_of_a_condition_changes_without_thawing)
{
    thrum_graph *graph = thrum_graph_new("other question");
    struct branch first = {.pick = 0}, second = {.pick = 1};
    int ran[2] = {0};
    thrum_task *condition = thrum_condition_new(graph, take_branch, &first);
    for (int i = 0; i < 2; i++)
        thrum_precede(condition, thrum_task_new(graph, plain_count_up, &ran[i]));
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(thrum_task_set_condition(condition, take_branch, &second), 0);
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(ran[0], 1);
    assert_int_equal(ran[1], 1);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(what_is_null_is_named)
{
    thrum_graph *graph = thrum_graph_new("nulls");
    assert_null(thrum_condition_new(NULL, stop, NULL));
    assert_contains(thrum_message(NULL), "thrum_condition_new: the graph is NULL");
    assert_null(thrum_choice_new(NULL, take_picks, NULL));
    assert_contains(thrum_message(NULL), "thrum_choice_new: the graph is NULL");
    assert_error(thrum_task_set_condition(NULL, stop, NULL), THRUM_EINVAL, "thrum_task_set_condition");
    assert_error(thrum_task_set_choice(NULL, take_picks, NULL), THRUM_EINVAL, "thrum_task_set_choice");
    assert_null(thrum_condition_new(graph, NULL, NULL));
    assert_contains(thrum_message(graph), "thrum_condition_new: the function is NULL");
    assert_int_equal(thrum_run(NULL, graph), THRUM_EINVAL);
    assert_int_equal(thrum_graph_free(graph), 0);
    graph = thrum_graph_new("nulls");
    assert_null(thrum_choice_new(graph, NULL, NULL));
    assert_contains(thrum_message(graph), "thrum_choice_new: the function is NULL");
    assert_int_equal(thrum_graph_free(graph), 0);
    graph = thrum_graph_new("nulls");
    thrum_task *task = named(thrum_placeholder_new(graph), "empty");
    assert_error(thrum_task_set_condition(task, NULL, NULL), THRUM_EINVAL, "'empty'");
    assert_int_equal(thrum_graph_free(graph), 0);
}

/* ---- Choices ----------------------------------------------------------------------------------------------------- */

TEST(a_choice_names_none_some_or_all)
{
    enum { SUCCESSORS = 40 };
    for (int workers = 1; workers <= 4; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("choice");
        struct pick_list list = {0};
        static int ran[SUCCESSORS];
        memset(ran, 0, sizeof ran);
        thrum_task *choice = thrum_choice_new(graph, take_picks, &list);
        for (int i = 0; i < SUCCESSORS; i++)
            thrum_precede(choice, thrum_task_new(graph, plain_count_up, &ran[i]));
        for (size_t count = 0; count <= SUCCESSORS; count++) {
            list.count = count; /* the last `count` of them, backwards */
            for (size_t i = 0; i < count; i++)
                list.picks[i] = (int)(SUCCESSORS - 1 - i);
            assert_int_equal(thrum_run(ex, graph), 0);
            assert_int_equal(list.room, SUCCESSORS);
        }
        for (int i = 0; i < SUCCESSORS; i++)
            assert_int_equal(ran[i], i + 1);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_choice_that_names_too_many_or_wrong_ones_fails_the_run)
{
    for (int successors = 0; successors <= 20; successors += 2) {
        thrum_graph *graph = thrum_graph_new("too much");
        struct pick_list list = {.count = (size_t)successors + 1};
        atomic_int ran = 0;
        thrum_task *choice = named(thrum_choice_new(graph, take_picks, &list), "greedy");
        for (int i = 0; i < successors; i++)
            thrum_precede(choice, thrum_task_new(graph, count_up, &ran));
        char sentence[64];
        assert_error(thrum_run(NULL, graph), THRUM_ECHOICE, "'greedy'");
        snprintf(sentence, sizeof sentence, "named %d successors, but it has %d", successors + 1, successors);
        assert_contains(thrum_message(graph), sentence);
        assert_int_equal(ran, 0);
        if (successors == 0) {
            assert_int_equal(thrum_graph_free(graph), 0);
            continue;
        }
        list = (struct pick_list){.picks = {successors}, .count = 1};
        assert_error(thrum_run(NULL, graph), THRUM_ECHOICE, "'greedy'");
        snprintf(sentence, sizeof sentence, "from 0 to %d", successors - 1);
        assert_contains(thrum_message(graph), sentence);
        list = (struct pick_list){.picks = {0, THRUM_STOP}, .count = 2};
        assert_error(thrum_run(NULL, graph), THRUM_ECHOICE, "named successor -1,");
        assert_contains(thrum_message(graph), "naming none is to write none"); /* a choice needs no THRUM_STOP */
        list = (struct pick_list){.picks = {successors - 1}, .count = 1};
        ran = 0;
        assert_int_equal(thrum_run(NULL, graph), 0);
        assert_int_equal(ran, 1);
        assert_int_equal(thrum_graph_free(graph), 0);
    }
}

/* Those that a choice names may meet again: the task behind them counts as in any graph. */
TEST(what_a_choice_names_runs_at_the_same_time_and_meets_again)
{
    enum { WIDTH = 24, ROUNDS = 100 };
    for (int workers = 1; workers <= 4; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("fork and join");
        struct pick_list list = {.count = WIDTH};
        struct loop loop = {.times = ROUNDS};
        static int ran[WIDTH];
        int met = 0;
        memset(ran, 0, sizeof ran);
        thrum_task *start = thrum_placeholder_new(graph), *choice = thrum_choice_new(graph, take_picks, &list);
        thrum_task *meeting = thrum_task_new(graph, plain_count_up, &met);
        thrum_task *condition = thrum_condition_new(graph, go_round, &loop);
        thrum_precede(start, choice);
        for (int i = 0; i < WIDTH; i++) {
            thrum_task *task = thrum_task_new(graph, plain_count_up, &ran[i]);
            list.picks[i] = i;
            thrum_precede(choice, task);
            thrum_precede(task, meeting);
        }
        thrum_precede(meeting, condition);
        thrum_precede(condition, choice, thrum_placeholder_new(graph));
        assert_int_equal(thrum_run_n(ex, graph, 2), 0);
        assert_int_equal(met, 2 * ROUNDS);
        for (int i = 0; i < WIDTH; i++)
            assert_int_equal(ran[i], 2 * ROUNDS);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* ---- Failing ----------------------------------------------------------------------------------------------------- */

static int for_ever(void *arg)
{
    (void)arg;
    return 0;
}

struct fuse {
    int left;
};

static void burn(void *arg)
{
    struct fuse *fuse = arg;
    if (--fuse->left == 0)
        thrum_fail(77, "burnt down");
}

static int burn_and_go_on(void *arg)
{
    burn(arg);
    return 0;
}

TEST(a_failure_in_the_body_ends_a_loop_without_end)
{
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        for (int in_condition = 0; in_condition < 2; in_condition++) {
            thrum_graph *graph = thrum_graph_new("endless");
            struct fuse fuse = {0};
            int after = 0;
            thrum_task *start = thrum_placeholder_new(graph);
            thrum_task *body = in_condition ? thrum_placeholder_new(graph) : thrum_task_new(graph, burn, &fuse);
            thrum_task *condition = in_condition ? thrum_condition_new(graph, burn_and_go_on, &fuse)
                                                 : thrum_condition_new(graph, for_ever, NULL);
            thrum_precede(start, body);
            thrum_precede(body, condition);
            thrum_precede(condition, body, thrum_task_new(graph, plain_count_up, &after));
            for (int run = 0; run < 5; run++) {
                fuse.left = 100 + run;
                assert_int_equal(thrum_run_n(ex, graph, 3), 77);
                assert_int_equal(fuse.left, 0); /* nothing was called after it */
            }
            assert_int_equal(after, 0);
            assert_int_equal(thrum_graph_free(graph), 0);
        }
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(cancelling_ends_a_loop_without_end)
{
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("endless");
        atomic_int rounds = 0;
        thrum_task *start = thrum_placeholder_new(graph), *body = thrum_task_new(graph, count_up, &rounds);
        thrum_task *condition = thrum_condition_new(graph, for_ever, NULL);
        thrum_precede(start, body);
        thrum_precede(body, condition);
        thrum_precede(condition, body);
        for (int run = 0; run < 5; run++) {
            int before = rounds;
            thrum_handle *handle = thrum_start(ex, graph);
            while (rounds < before + 10)
                sched_yield();
            assert_int_equal(thrum_cancel(handle), 0);
            assert_int_equal(thrum_wait(handle), THRUM_ECANCELLED);
            thrum_release(handle);
        }
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* ---- Looking at such graphs -------------------------------------------------------------------------------------- */

struct picture {
    thrum_graph *graph;
    struct loop loop;
    struct pick_list list;
};

/* start -> body -> turn; turn -> body, pick; pick -> left, right. */
static void picture_build(struct picture *picture)
{
    thrum_graph *graph = picture->graph = thrum_graph_new("picture");
    thrum_task *start = named(thrum_placeholder_new(graph), "start");
    thrum_task *body = named(thrum_placeholder_new(graph), "body");
    thrum_task *turn = named(thrum_condition_new(graph, go_round, &picture->loop), "turn");
    thrum_task *pick = named(thrum_choice_new(graph, take_picks, &picture->list), "pick");
    thrum_precede(start, body);
    thrum_precede(body, turn);
    thrum_precede(turn, body, pick);
    thrum_precede(pick, thrum_placeholder_new(graph), thrum_placeholder_new(graph));
}

TEST(measuring_counts_weak_edges_but_does_not_follow_them)
{
    struct picture picture = {0};
    thrum_graph_stats stats;
    picture_build(&picture);
    assert_int_equal(thrum_graph_measure(picture.graph, NULL, NULL, &stats), 0);
    assert_int_equal(stats.tasks, 6);
    assert_int_equal(stats.edges, 6);
    assert_int_equal(stats.sources, 1);
    assert_int_equal(stats.sinks, 2);
    assert_int_equal(stats.span, 3); /* start, body, turn */
    assert_true(stats.work == 6.0);
    assert_int_equal(thrum_graph_free(picture.graph), 0);
}

static void sum_edges(const thrum_task *task, const thrum_task *const *successors, size_t count, void *arg)
{
    int *seen = arg;
    if (strcmp(thrum_task_name(task), "turn") == 0 && count == 2 &&
        strcmp(thrum_task_name(successors[0]), "body") == 0 && strcmp(thrum_task_name(successors[1]), "pick") == 0)
        seen[1]++;
    seen[0] += (int)count;
}

TEST(visits_give_the_successors_of_conditions_in_the_order_of_their_numbers)
{
    struct picture picture = {.loop.times = 4};
    int seen[2] = {0};
    picture_build(&picture);
    assert_int_equal(thrum_graph_visit(picture.graph, sum_edges, seen), 0);
    assert_int_equal(thrum_run(NULL, picture.graph), 0);
    assert_int_equal(thrum_graph_visit(picture.graph, sum_edges, seen), 0);
    assert_int_equal(thrum_graph_thaw(picture.graph), 0);
    assert_int_equal(thrum_graph_visit(picture.graph, sum_edges, seen), 0);
    assert_int_equal(seen[0], 3 * 6);
    assert_int_equal(seen[1], 3);
    assert_int_equal(thrum_graph_free(picture.graph), 0);
}

TEST(pictures_have_diamonds_and_numbered_dashed_edges)
{
    struct picture picture = {0};
    char *text = NULL;
    size_t size;
    picture_build(&picture);
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(thrum_graph_dot(picture.graph, out), 0);
    fclose(out);
    assert_contains(text, "t2 [label=\"turn\", shape=diamond");
    assert_contains(text, "t3 [label=\"pick\", shape=diamond, style=solid, peripheries=2");
    assert_contains(text, "t2 -> t1 [style=dashed, label=0, constraint=false]");
    assert_contains(text, "t2 -> t3 [style=dashed, label=1]");
    assert_contains(text, "t3 -> t5 [style=dashed, label=1]");
    assert_contains(text, "t1 -> t2;");
    free(text);
    assert_int_equal(thrum_graph_free(picture.graph), 0);
}

static void note_begin(void *counter, const thrum_task_info *info)
{
    (void)info;
    count_up(counter);
}

TEST(observers_see_every_round_of_a_loop)
{
    thrum_executor *ex = executor_with(2);
    atomic_int begun = 0;
    struct picture picture = {.loop.times = 10, .list = {.picks = {1}, .count = 1}};
    picture_build(&picture);
    assert_int_equal(thrum_executor_observe(ex, &(thrum_observer){.begin = note_begin, .context = &begun}), 0);
    assert_int_equal(thrum_run(ex, picture.graph), 0);
    assert_int_equal(begun, 1 + 10 + 10 + 1 + 1);
    assert_int_equal(thrum_graph_free(picture.graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void build_loop_inside(thrum_scope *scope, void *arg)
{
    struct loop *loop = arg;
    thrum_graph *graph = thrum_scope_graph(scope, "inner");
    thrum_task *start = thrum_placeholder_new(graph), *body = thrum_task_new(graph, plain_count_up, loop + 1);
    thrum_task *condition = thrum_condition_new(graph, go_round, loop);
    thrum_precede(start, body);
    thrum_precede(body, condition);
    thrum_precede(condition, body, thrum_placeholder_new(graph));
}

TEST(a_graph_that_is_built_in_a_scope_may_loop)
{
    thrum_graph *graph = thrum_graph_new("outer");
    struct loop loops[2] = {{.times = 50}, {0}}; /* the second one's first number counts rounds */
    int after = 0;
    thrum_precede(thrum_scope_task_new(graph, build_loop_inside, loops), thrum_task_new(graph, plain_count_up, &after));
    assert_int_equal(thrum_run_n(NULL, graph, 4), 0);
    assert_int_equal(loops[1].times, 200);
    assert_int_equal(after, 4);
    assert_int_equal(thrum_graph_free(graph), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_condition_names_the_one_successor_that_runs),
        cmocka_unit_test(the_number_is_that_of_the_edge_and_not_of_the_task),
        cmocka_unit_test(stopping_names_nothing_and_the_rest_of_the_graph_goes_on),
        cmocka_unit_test(a_condition_without_successors_may_only_stop),
        cmocka_unit_test(a_wrong_number_fails_the_run_and_says_what_would_be_right),
        cmocka_unit_test(a_condition_without_a_name_is_told_by_its_number),
        cmocka_unit_test(a_way_back_through_a_condition_is_a_loop),
        cmocka_unit_test(a_condition_may_name_itself),
        cmocka_unit_test(loops_nest),
        cmocka_unit_test(the_body_of_a_loop_may_be_a_graph_that_several_workers_run),
        cmocka_unit_test(others_take_what_waits_behind_a_worker_that_goes_round),
        cmocka_unit_test(others_take_the_sources_that_a_worker_leaves_while_it_goes_round),
        cmocka_unit_test(a_task_that_only_conditions_lead_to_does_not_start_by_itself),
        cmocka_unit_test(a_branch_that_was_not_taken_leaves_nothing_behind_for_the_next_run),
        cmocka_unit_test(a_condition_does_not_wait_for_the_strong_predecessors_of_what_it_names),
        cmocka_unit_test(a_task_that_was_named_counts_its_predecessors_anew),
        cmocka_unit_test(a_strong_cycle_is_still_reported_beside_a_loop),
        cmocka_unit_test(a_graph_in_which_only_conditions_lead_to_the_first_tasks_cannot_start),
        cmocka_unit_test(a_graph_of_one_condition_that_names_itself_cannot_start),
        cmocka_unit_test(a_task_that_is_no_condition_cannot_come_before_itself),
        cmocka_unit_test(a_placeholder_becomes_a_condition_and_a_task_again),
        cmocka_unit_test(a_loop_whose_condition_becomes_a_plain_task_is_a_cycle),
        cmocka_unit_test(a_condition_that_named_itself_and_becomes_a_plain_task_is_a_cycle),
        cmocka_unit_test(the_function_of_a_condition_changes_without_thawing),
        cmocka_unit_test(what_is_null_is_named),
        cmocka_unit_test(a_choice_names_none_some_or_all),
        cmocka_unit_test(a_choice_that_names_too_many_or_wrong_ones_fails_the_run),
        cmocka_unit_test(what_a_choice_names_runs_at_the_same_time_and_meets_again),
        cmocka_unit_test(a_failure_in_the_body_ends_a_loop_without_end),
        cmocka_unit_test(cancelling_ends_a_loop_without_end),
        cmocka_unit_test(measuring_counts_weak_edges_but_does_not_follow_them),
        cmocka_unit_test(visits_give_the_successors_of_conditions_in_the_order_of_their_numbers),
        cmocka_unit_test(pictures_have_diamonds_and_numbered_dashed_edges),
        cmocka_unit_test(observers_see_every_round_of_a_loop),
        cmocka_unit_test(a_graph_that_is_built_in_a_scope_may_loop),
    };
    return RUN_TESTS(tests, 60);
}
