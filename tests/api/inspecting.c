/* SPDX-License-Identifier: MIT
 *
 * Reading a graph: measuring, visiting, drawing.
 */
#include "tasks.h"

struct five {
    thrum_graph *graph;
    thrum_task *tasks[5];
};

/* a -> b, c;  b, c -> d;  e alone. */
static struct five make_five(void)
{
    struct five made = {.graph = thrum_graph_new("five")};
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    for (int i = 0; i < 5; i++) {
        made.tasks[i] = thrum_task_new(made.graph, do_nothing, NULL);
        thrum_task_set_name(made.tasks[i], names[i]);
    }
    thrum_precede(made.tasks[0], made.tasks[2], made.tasks[1]);
    thrum_succeed(made.tasks[3], made.tasks[1], made.tasks[2]);
    return made;
}

TEST(a_graph_is_counted)
{
    struct five made = make_five();
    thrum_graph_stats stats;
    assert_int_equal(thrum_graph_measure(made.graph, NULL, NULL, &stats), 0);
    assert_int_equal(stats.tasks, 5);
    assert_int_equal(stats.edges, 4);
    assert_int_equal(stats.sources, 2);
    assert_int_equal(stats.sinks, 2);
    assert_int_equal(stats.span, 3);
    assert_true(stats.work == 5.0 && stats.span_work == 3.0);
    assert_true(stats.bytes >= 5 * 32);
    assert_int_equal(thrum_graph_free(made.graph), 0);
}

static double weight_by_number(const thrum_task *task, void *arg)
{
    return *(double *)arg * (double)(thrum_task_number(task) + 1);
}

TEST(weights_give_work_and_span)
{
    struct five made = make_five();
    thrum_graph_stats stats;
    double factor = 2;
    assert_int_equal(thrum_graph_measure(made.graph, weight_by_number, &factor, &stats), 0);
    assert_true(stats.work == 30.0);
    assert_true(stats.span_work == 2.0 * (1 + 3 + 4));
    assert_int_equal(stats.span, 3);
    assert_int_equal(thrum_graph_free(made.graph), 0);
}

TEST(an_empty_graph_is_counted)
{
    thrum_graph *graph = thrum_graph_new("empty");
    thrum_graph_stats stats;
    assert_int_equal(thrum_graph_measure(graph, NULL, NULL, &stats), 0);
    assert_int_equal(stats.tasks + stats.edges + stats.sources + stats.sinks + stats.span, 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(measuring_a_graph_with_a_cycle_leaves_the_result_untouched)
{
    struct five made = make_five();
    thrum_graph_stats stats = {.tasks = 77};
    thrum_edge(made.tasks[3], made.tasks[1]);
    assert_int_equal(thrum_graph_measure(made.graph, NULL, NULL, &stats), THRUM_ECYCLE);
    assert_int_equal(stats.tasks, 77);
    assert_int_equal(thrum_graph_free(made.graph), 0);
}

struct tour {
    int visits, mistakes;
    size_t edges;
    const struct five *made;
};

static void visit(const thrum_task *task, const thrum_task *const *successors, size_t count, void *arg)
{
    struct tour *tour = arg;
    tour->mistakes += thrum_task_number(task) != tour->visits;
    tour->mistakes += task != tour->made->tasks[tour->visits];
    tour->edges += count;
    if (tour->visits == 0)
        tour->mistakes += count != 2 || successors[0] != tour->made->tasks[2] || successors[1] != tour->made->tasks[1];
    tour->visits++;
}

TEST(visits_follow_the_order_of_creation_and_of_adding)
{
    struct five made = make_five();
    for (int frozen = 0; frozen < 3; frozen++) {
        struct tour tour = {.made = &made};
        assert_int_equal(thrum_graph_visit(made.graph, visit, &tour), 0);
        assert_int_equal(tour.visits, 5);
        assert_int_equal(tour.mistakes, 0);
        assert_int_equal(tour.edges, 4);
        assert_int_equal(frozen ? thrum_graph_thaw(made.graph) : thrum_run(NULL, made.graph), 0);
    }
    assert_int_equal(thrum_graph_free(made.graph), 0);
}

static char *dot_of(thrum_graph *graph)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(thrum_graph_dot(graph, out), 0);
    fclose(out);
    return text;
}

/* Not with strstr: AddressSanitizer's measures the rest of the text each time, and some texts are long. */
static int count_in(const char *text, const char *part)
{
    int count = 0;
    for (size_t size = strlen(part); *text; text++)
        count += *text == *part && strncmp(text, part, size) == 0;
    return count;
}

TEST(a_picture_names_every_task_and_every_edge)
{
    struct five made = make_five();
    char *text = dot_of(made.graph);
    assert_contains(text, "digraph");
    assert_contains(text, "five");
    static const char *const names[] = {"\"a\"", "\"b\"", "\"c\"", "\"d\"", "\"e\""};
    for (int i = 0; i < 5; i++)
        assert_contains(text, names[i]);
    assert_int_equal(count_in(text, "->"), 4);
    assert_int_equal(count_in(text, "{"), count_in(text, "}"));
    free(text);
    assert_int_equal(thrum_graph_free(made.graph), 0);
}

TEST(names_with_quotes_stay_inside_their_quotes)
{
    thrum_graph *graph = thrum_graph_new("the \"best\" graph");
    thrum_task *task = thrum_task_new(graph, do_nothing, NULL);
    thrum_task_set_name(task, "say \"hi\"\\ on\ntwo lines");
    char *text = dot_of(graph);
    assert_contains(text, "the \\\"best\\\" graph");
    assert_contains(text, "say \\\"hi\\\"");
    assert_null(strstr(text, "on\ntwo"));
    free(text);
    assert_int_equal(thrum_graph_free(graph), 0);
}

/* Two tasks, one after the other. */
static thrum_graph *make_pair(const char *name)
{
    thrum_graph *graph = thrum_graph_new(name);
    thrum_task *first = thrum_task_new(graph, do_nothing, NULL), *second = thrum_task_new(graph, do_nothing, NULL);
    thrum_task_set_name(first, "first");
    thrum_precede(first, second);
    return graph;
}

TEST(modules_are_clusters_with_the_tasks_of_their_graphs_between_two_points)
{
    thrum_graph *pair = make_pair("pair"), *outer = thrum_graph_new("outer");
    thrum_task *before = thrum_task_new(outer, do_nothing, NULL), *module = thrum_module_new(outer, pair);
    thrum_task *after = thrum_task_new(outer, do_nothing, NULL);
    thrum_task_set_name(module, "twice");
    thrum_precede(before, module);
    thrum_precede(module, after);
    char *text = dot_of(outer);
    assert_contains(text, "subgraph cluster_t1 {");
    assert_contains(text, "label=\"twice: pair\"");
    assert_contains(text, " t1_0 [label=\"first\"];");
    static const char *const edges[] = {"t0 -> t1;", "t1 -> t1_0 [", "t1_0 -> t1_1;", "t1_1 -> t1_end [",
                                        "t1_end -> t2;"};
    for (size_t i = 0; i < COUNT_OF(edges); i++)
        assert_contains(text, edges[i]);
    assert_int_equal(count_in(text, "->"), COUNT_OF(edges));
    free(text);
    assert_int_equal(thrum_graph_free(outer), 0);
    assert_int_equal(thrum_graph_free(pair), 0);
}

TEST(a_graph_that_is_a_module_twice_is_drawn_twice_with_nodes_of_its_own)
{
    thrum_graph *pair = make_pair("pair"), *middle = thrum_graph_new("middle"), *outer = thrum_graph_new("outer");
    thrum_module_new(middle, pair);
    thrum_task *first = thrum_module_new(outer, middle), *second = thrum_module_new(outer, middle);
    thrum_precede(first, second);
    thrum_module_new(outer, pair);
    char *text = dot_of(outer);
    static const char *const parts[] = {"subgraph cluster_t0 {", "subgraph cluster_t0_0 {", "t0_0_0 [label=\"first\"]",
                                        "subgraph cluster_t1 {", "subgraph cluster_t1_0 {", "t1_0_0 [label=\"first\"]",
                                        "subgraph cluster_t2 {", "t2_0 [label=\"first\"]",  "t1_0 -> t1_0_0 ["};
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        assert_int_equal(count_in(text, parts[i]), 1);
    assert_int_equal(count_in(text, "\"first\""), 3);
    assert_int_equal(count_in(text, "t0_end -> t1;"), 1);
    assert_int_equal(count_in(text, "{"), count_in(text, "}"));
    free(text);
    assert_int_equal(thrum_graph_free(outer), 0);
    assert_int_equal(thrum_graph_free(middle), 0);
    assert_int_equal(thrum_graph_free(pair), 0);
}

static int stop_at_once(void *arg)
{
    (void)arg;
    return THRUM_STOP;
}

TEST(a_module_without_tasks_or_without_a_last_task_has_an_end_too)
{
    thrum_graph *empty = thrum_graph_new("empty"), *loop = thrum_graph_new("loop"), *outer = thrum_graph_new("outer");
    thrum_task *begin = thrum_task_new(loop, do_nothing, NULL), *again = thrum_condition_new(loop, stop_at_once, NULL);
    thrum_precede(begin, again);
    thrum_precede(again, again);
    thrum_module_new(outer, empty);
    thrum_module_new(outer, loop);
    char *text = dot_of(outer);
    assert_contains(text, "t0 -> t0_end");
    assert_contains(text, "t1 -> t1_end");
    assert_contains(text, "t1_1 -> t1_1 [style=dashed, label=0");
    assert_int_equal(count_in(text, "t1 -> t1_1"), 0);
    free(text);
    assert_int_equal(thrum_graph_free(outer), 0);
    assert_int_equal(thrum_graph_free(loop), 0);
    assert_int_equal(thrum_graph_free(empty), 0);
}

/* Each graph has the one before it as a module, `times` times. */
static void draw_nested(int depth, int times, int clusters, bool all)
{
    thrum_graph **graphs = calloc((size_t)depth + 1, sizeof *graphs);
    assert_non_null(graphs);
    graphs[0] = make_pair("innermost");
    for (int i = 1; i <= depth; i++) {
        graphs[i] = thrum_graph_new("nested");
        for (int t = 0; t < times; t++)
            assert_non_null(thrum_module_new(graphs[i], graphs[i - 1]));
    }
    char *text = dot_of(graphs[depth]);
    assert_int_equal(count_in(text, "subgraph"), clusters);
    assert_int_equal(count_in(text, "not drawn") == 0, all);
    assert_int_equal(count_in(text, "{"), count_in(text, "}"));
    free(text);
    for (int i = depth; i >= 0; i--)
        assert_int_equal(thrum_graph_free(graphs[i]), 0);
    free(graphs);
}

TEST(a_picture_of_ever_so_many_modules_ends_with_nodes_that_say_so)
{
    draw_nested(31, 1, 31, true);
    draw_nested(32, 1, 32, true);
    draw_nested(33, 1, 32, false);
    draw_nested(10000, 1, 32, false);
    draw_nested(9, 2, 1000, false);
    draw_nested(64, 10, 1000, false);
}

TEST(graphs_that_contain_each_other_are_drawn_to_some_depth)
{
    thrum_graph *hen = thrum_graph_new("hen"), *egg = thrum_graph_new("egg");
    thrum_module_new(hen, egg);
    thrum_module_new(egg, hen);
    char *text = dot_of(hen);
    assert_int_equal(count_in(text, "subgraph"), 32);
    free(text);
    assert_int_equal(thrum_graph_free(hen), 0);
    assert_int_equal(thrum_graph_free(egg), 0);
}

TEST(a_module_whose_graph_is_no_good_is_a_node_and_an_error)
{
    struct five made = make_five();
    thrum_graph *outer = thrum_graph_new("outer");
    thrum_edge(made.tasks[3], made.tasks[1]);
    thrum_precede(thrum_module_new(outer, made.graph), thrum_task_new(outer, do_nothing, NULL));
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_error(thrum_graph_dot(outer, out), THRUM_ECYCLE, "five");
    fclose(out);
    assert_contains(text, "(not drawn: five)");
    assert_int_equal(count_in(text, "->"), 1);
    assert_int_equal(count_in(text, "{"), count_in(text, "}"));
    free(text);
    assert_int_equal(thrum_graph_free(outer), 0);
    assert_int_equal(thrum_graph_free(made.graph), 0);
}

TEST(a_graph_can_be_read_while_it_is_between_runs_and_run_again)
{
    struct five made = make_five();
    int count = 0;
    thrum_task_set(made.tasks[3], plain_count_up, &count);
    for (int i = 1; i <= 3; i++) {
        thrum_graph_stats stats;
        assert_int_equal(thrum_run(NULL, made.graph), 0);
        assert_int_equal(thrum_graph_measure(made.graph, NULL, NULL, &stats), 0);
        free(dot_of(made.graph));
        assert_int_equal(count, i);
    }
    assert_int_equal(thrum_graph_free(made.graph), 0);
}

TEST(a_file_that_cannot_be_written_is_reported)
{
    struct five made = make_five();
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(thrum_graph_dot(made.graph, full), THRUM_ESYSTEM);
    fclose(full);
    assert_int_equal(thrum_graph_free(made.graph), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_is_counted),
        cmocka_unit_test(weights_give_work_and_span),
        cmocka_unit_test(an_empty_graph_is_counted),
        cmocka_unit_test(measuring_a_graph_with_a_cycle_leaves_the_result_untouched),
        cmocka_unit_test(visits_follow_the_order_of_creation_and_of_adding),
        cmocka_unit_test(a_picture_names_every_task_and_every_edge),
        cmocka_unit_test(names_with_quotes_stay_inside_their_quotes),
        cmocka_unit_test(modules_are_clusters_with_the_tasks_of_their_graphs_between_two_points),
        cmocka_unit_test(a_graph_that_is_a_module_twice_is_drawn_twice_with_nodes_of_its_own),
        cmocka_unit_test(a_module_without_tasks_or_without_a_last_task_has_an_end_too),
        cmocka_unit_test(a_picture_of_ever_so_many_modules_ends_with_nodes_that_say_so),
        cmocka_unit_test(graphs_that_contain_each_other_are_drawn_to_some_depth),
        cmocka_unit_test(a_module_whose_graph_is_no_good_is_a_node_and_an_error),
        cmocka_unit_test(a_graph_can_be_read_while_it_is_between_runs_and_run_again),
        cmocka_unit_test(a_file_that_cannot_be_written_is_reported),
    };
    return RUN_TESTS(tests, 60);
}
