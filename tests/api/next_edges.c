/* SPDX-License-Identifier: MIT
 *
 * Building with edges into the next iteration: what is refused and how, what is copied, drawn and measured.
 */
#include "tasks.h"

static int stop(void *arg)
{
    (void)arg;
    return THRUM_STOP;
}

static thrum_graph *named(const char *name, thrum_task **a, thrum_task **b)
{
    thrum_graph *graph = thrum_graph_new(name);
    *a = thrum_placeholder_new(graph);
    *b = thrum_placeholder_new(graph);
    thrum_task_set_name(*a, "first");
    thrum_task_set_name(*b, "second");
    return graph;
}

TEST(a_task_that_is_null_is_refused)
{
    thrum_task *a, *b;
    assert_error(thrum_precede_next(NULL, NULL), THRUM_EINVAL, "thrum_precede_next: a task is NULL");
    thrum_graph *graph = named("g", &a, &b);
    assert_error(thrum_precede_next(a, NULL), THRUM_EINVAL, "thrum_precede_next: a task is NULL");
    assert_error(thrum_precede_next(a, b), THRUM_EINVAL, "a task is NULL"); /* the first error stays */
    assert_error(thrum_run_pipelined(NULL, graph, 1), THRUM_EINVAL, "a task is NULL");
    assert_contains(thrum_message(graph), "a task is NULL");
    thrum_graph_free(graph);
    graph = named("g", &a, &b);
    assert_error(thrum_precede_next(NULL, b), THRUM_EINVAL, "thrum_precede_next: a task is NULL");
    thrum_graph_free(graph);
}

TEST(an_edge_stays_in_one_graph)
{
    thrum_task *a, *b, *c, *d;
    thrum_graph *left = named("left", &a, &b), *right = named("right", &c, &d);
    assert_error(thrum_precede_next(a, d), THRUM_EINVAL,
                 "'first' is in graph 'left' and 'second' in graph 'right'; an edge stays in one graph");
    thrum_graph_free(left);
    thrum_graph_free(right);
}

TEST(iteration_distance_across_a_condition_is_refused)
{
    for (int way = 0; way < 2; way++) {
        thrum_task *a, *b;
        thrum_graph *graph = named("branching", &a, &b);
        thrum_task *condition = thrum_condition_new(graph, stop, NULL);
        thrum_task_set_name(condition, "which");
        int err = way ? thrum_precede_next(a, condition) : thrum_precede_next(condition, a);
        assert_error(err, THRUM_EINVAL, "iteration distance across a condition: 'which' of graph 'branching'");
        thrum_graph_free(graph);
    }
}

TEST(a_condition_cannot_run_pipelined)
{
    thrum_task *a, *b;
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = named("branching", &a, &b);
    thrum_precede_next(a, b);
    assert_int_equal(thrum_task_set_condition(b, stop, NULL), 0);
    assert_error(thrum_run_pipelined(ex, graph, 3), THRUM_EINVAL, "'second' of graph 'branching' is a condition");
    assert_contains(thrum_message(NULL), "into a module");
    assert_contains(thrum_message(graph), "is a condition");
    assert_null(thrum_start_pipelined(ex, graph, 3));
    assert_contains(thrum_message(NULL), "is a condition");
    /* It is no error of the graph: it runs otherwise, and pipelined when it has been mended. */
    assert_int_equal(thrum_run_n(ex, graph, 3), 0);
    assert_int_equal(thrum_task_set(b, do_nothing, NULL), 0);
    assert_int_equal(thrum_run_pipelined(ex, graph, 3), 0);
    thrum_graph_free(graph);
    thrum_executor_free(ex);
}

TEST(the_depth_has_limits)
{
    assert_error(thrum_graph_set_depth(NULL, 2), THRUM_EINVAL, "thrum_graph_set_depth: the graph is NULL");
    unsigned wrong[] = {0, 1, THRUM_DEPTH_MOST + 1};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        thrum_graph *graph = thrum_graph_new("deep");
        char sentence[80];
        snprintf(sentence, sizeof sentence, "the depth of graph 'deep' cannot be %u; it is from 2 to 16", wrong[i]);
        assert_error(thrum_graph_set_depth(graph, wrong[i]), THRUM_EINVAL, sentence);
        thrum_graph_free(graph);
    }
    thrum_graph *graph = thrum_graph_new("deep");
    assert_int_equal(thrum_graph_set_depth(graph, 2), 0);
    assert_int_equal(thrum_graph_set_depth(graph, THRUM_DEPTH_MOST), 0);
    thrum_graph_free(graph);
}

TEST(null_is_refused_by_runs)
{
    assert_error(thrum_run_pipelined(NULL, NULL, 1), THRUM_EINVAL, "the graph is NULL");
    assert_null(thrum_start_pipelined(NULL, NULL, 1));
    assert_contains(thrum_message(NULL), "the graph is NULL");
}

TEST(a_running_graph_cannot_be_changed)
{
    thrum_executor *ex = executor_with(1);
    struct gate gate = {0};
    thrum_graph *graph = thrum_graph_new("busy");
    thrum_task *a = thrum_task_new(graph, stay_at_gate, &gate), *b = thrum_placeholder_new(graph);
    thrum_handle *run = thrum_start_pipelined(ex, graph, 3);
    await_entered(&gate);
    assert_error(thrum_precede_next(a, b), THRUM_EBUSY, "thrum_precede_next: graph 'busy' is running");
    assert_error(thrum_graph_set_depth(graph, 3), THRUM_EBUSY, "thrum_graph_set_depth: graph 'busy' is running");
    assert_error(thrum_edge(a, b), THRUM_EBUSY, "is running");
    open_gate(&gate);
    assert_int_equal(thrum_wait(run), 0);
    thrum_release(run);
    assert_int_equal(thrum_precede_next(a, b), 0);
    thrum_graph_free(graph);
    thrum_executor_free(ex);
}

TEST(a_strong_circle_is_found_and_one_through_next_edges_is_none)
{
    thrum_task *a, *b;
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = named("circle", &a, &b);
    thrum_precede(a, b);
    thrum_precede_next(b, a);
    thrum_precede_next(a, a);
    assert_int_equal(thrum_run_pipelined(ex, graph, 5), 0);
    assert_int_equal(thrum_run_n(ex, graph, 5), 0);
    thrum_precede(b, a);
    assert_error(thrum_run_pipelined(ex, graph, 5), THRUM_ENOSOURCE, "'first' -> 'second'");
    thrum_graph_free(graph);
    thrum_executor_free(ex);
}

TEST(next_edges_are_drawn)
{
    thrum_task *a, *b;
    thrum_graph *graph = named("drawn", &a, &b);
    thrum_precede(a, b);
    thrum_precede_next(b, a);
    thrum_precede_next(a, a); /* says nothing new */
    char text[1024] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    assert_int_equal(thrum_graph_dot(graph, out), 0);
    fclose(out);
    assert_contains(text, "t0 -> t1;");
    assert_contains(text, "t1 -> t0 [style=dashed, color=blue, constraint=false, label=\"next\"];");
    assert_null(strstr(text, "t0 -> t0"));
    thrum_graph_free(graph);
}

struct ahead {
    atomic_int first, second;
    struct gate gate;
};

static void count_first(void *arg)
{
    count_up(&((struct ahead *)arg)->first);
}

static void gate_second(void *arg)
{
    stay_at_gate(&((struct ahead *)arg)->gate);
    count_up(&((struct ahead *)arg)->second);
}

/* While `second` stands at a gate in iteration 0, `first` comes to this many firings and no further. */
static void comes_to(thrum_graph *graph, struct ahead *ahead, int firings)
{
    thrum_executor *ex = executor_with(2);
    ahead->first = ahead->second = 0;
    ahead->gate.open = ahead->gate.entered = false;
    thrum_handle *run = thrum_start_pipelined(ex, graph, 40);
    await_entered(&ahead->gate);
    while (ahead->first < firings && !thrum_done(run))
        sched_yield();
    pause_ms(3);
    assert_int_equal(ahead->first, firings);
    open_gate(&ahead->gate);
    assert_int_equal(thrum_wait(run), 0);
    thrum_release(run);
    assert_int_equal(ahead->first, 40);
    assert_int_equal(ahead->second, 40);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(the_depth_limits_how_far_a_task_runs_ahead)
{
    struct ahead ahead = {0};
    thrum_graph *graph = thrum_graph_new("ahead");
    thrum_task *first = thrum_task_new(graph, count_first, &ahead);
    thrum_precede(first, thrum_task_new(graph, gate_second, &ahead));
    comes_to(graph, &ahead, 2);
    for (unsigned depth = 2; depth <= THRUM_DEPTH_MOST; depth++) {
        assert_int_equal(thrum_graph_set_depth(graph, depth), 0);
        comes_to(graph, &ahead, (int)depth);
    }
    thrum_graph_free(graph);
}

/* What `first` hands over in iteration i is used in iteration i + 1. */
TEST(a_next_edge_limits_it_too)
{
    struct ahead ahead = {0};
    thrum_graph *graph = thrum_graph_new("ahead");
    thrum_task *first = thrum_task_new(graph, count_first, &ahead);
    thrum_precede_next(first, thrum_task_new(graph, gate_second, &ahead));
    for (unsigned depth = 2; depth <= 5; depth++) {
        assert_int_equal(thrum_graph_set_depth(graph, depth), 0);
        comes_to(graph, &ahead, (int)depth - 1);
    }
    thrum_graph_free(graph);
}

TEST(without_an_edge_nothing_limits_it_and_an_edge_can_be_added)
{
    struct ahead ahead = {0};
    thrum_graph *graph = thrum_graph_new("ahead");
    thrum_task *first = thrum_task_new(graph, count_first, &ahead);
    thrum_task *second = thrum_task_new(graph, gate_second, &ahead);
    comes_to(graph, &ahead, 40);
    thrum_precede_next(first, second);
    comes_to(graph, &ahead, 1);
    thrum_precede(first, second);
    comes_to(graph, &ahead, 1);
    thrum_graph_thaw(graph);
    comes_to(graph, &ahead, 1);
    thrum_graph_free(graph);
}

TEST(a_clone_has_the_same_next_edges_and_depth)
{
    struct ahead ahead = {0};
    thrum_graph *graph = thrum_graph_new("original");
    thrum_task *first = thrum_task_new(graph, count_first, &ahead);
    thrum_precede_next(first, thrum_task_new(graph, gate_second, &ahead));
    thrum_graph_set_depth(graph, 4);
    thrum_graph *clone = thrum_graph_clone(graph);
    assert_non_null(clone);
    thrum_graph_free(graph);
    comes_to(clone, &ahead, 3);
    thrum_graph_free(clone);
}

TEST(memory_for_pipelined_runs_is_counted_and_given_back)
{
    thrum_executor *ex = executor_with(1);
    thrum_task *a, *b;
    thrum_graph *graph = named("measured", &a, &b);
    thrum_graph_stats built, edge, ran, deep, thawed;
    assert_int_equal(thrum_graph_measure(graph, NULL, NULL, &built), 0);
    thrum_precede_next(a, b);
    assert_int_equal(thrum_graph_measure(graph, NULL, NULL, &edge), 0);
    assert_int_equal(thrum_run_pipelined(ex, graph, 3), 0);
    assert_int_equal(thrum_graph_measure(graph, NULL, NULL, &ran), 0);
    thrum_graph_set_depth(graph, 16);
    assert_int_equal(thrum_run_pipelined(ex, graph, 3), 0);
    assert_int_equal(thrum_graph_measure(graph, NULL, NULL, &deep), 0);
    thrum_graph_thaw(graph);
    assert_int_equal(thrum_graph_measure(graph, NULL, NULL, &thawed), 0);
    assert_true(built.bytes < edge.bytes && edge.bytes < ran.bytes && ran.bytes < deep.bytes);
    assert_int_equal(thawed.bytes, edge.bytes);
    assert_int_equal(edge.edges, 0); /* of one iteration */
    thrum_graph_free(graph);
    thrum_executor_free(ex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_that_is_null_is_refused),
        cmocka_unit_test(an_edge_stays_in_one_graph),
        cmocka_unit_test(iteration_distance_across_a_condition_is_refused),
        cmocka_unit_test(a_condition_cannot_run_pipelined),
        cmocka_unit_test(the_depth_has_limits),
        cmocka_unit_test(null_is_refused_by_runs),
        cmocka_unit_test(a_running_graph_cannot_be_changed),
        cmocka_unit_test(a_strong_circle_is_found_and_one_through_next_edges_is_none),
        cmocka_unit_test(next_edges_are_drawn),
        cmocka_unit_test(the_depth_limits_how_far_a_task_runs_ahead),
        cmocka_unit_test(a_next_edge_limits_it_too),
        cmocka_unit_test(without_an_edge_nothing_limits_it_and_an_edge_can_be_added),
        cmocka_unit_test(a_clone_has_the_same_next_edges_and_depth),
        cmocka_unit_test(memory_for_pipelined_runs_is_counted_and_given_back),
    };
    return RUN_TESTS(tests, 60);
}
