/* SPDX-License-Identifier: MIT
 *
 * Workloads of graphs: recorded flows, codelet tasks, and what cannot be one.
 */
#include "test.h"

#include <unistd.h>

static thrum_executor *ex;

static void nothing(const thrum_buffer *buffers, const void *arg)
{
    (void)buffers, (void)arg;
}

static void nothing_plain(void *arg)
{
    (void)arg;
}

/* Elements of the last access times the argument, if there is one; nobody may look at memory. */
static double elements(const thrum_buffer *buffers, int count, const void *arg)
{
    double product = arg ? *(const int *)arg : 1;
    for (int i = 0; i < count; i++)
        if (buffers[i].ptr)
            return -1;
    for (uint32_t d = 0; d < buffers[count - 1].dims; d++)
        product *= (double)buffers[count - 1].extent[d];
    return product;
}

static const thrum_codelet both = {.name = "both", .cpu = nothing, .emu = nothing, .work = elements},
                           alone = {.name = "alone", .cpu = nothing};

static int open_executor(void **state)
{
    (void)state;
    ex = thrum_executor_new(&(thrum_config){.workers = 1});
    return ex ? 0 : -1;
}

static int close_executor(void **state)
{
    (void)state;
    return thrum_executor_free(ex);
}

static char *text_of(const thrum_workload *w)
{
    char path[] = "workload-XXXXXX", *text = calloc(1, 1 << 16);
    int fd = mkstemp(path);
    assert_int_equal(thrum_workload_write(w, path), 0);
    FILE *file = fdopen(fd, "r");
    assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
    fclose(file);
    unlink(path);
    return text;
}

/* The workload of the graph is written like this. Both are freed. */
static void expect_text(thrum_graph *graph, const char *text)
{
    thrum_workload *w = thrum_workload_of_graph(graph, false);
    if (!w)
        fail_msg("%s", thrum_message(NULL));
    char *own = text_of(w);
    assert_string_equal(own, text);
    assert_int_equal(thrum_workload_check(w), 0);
    free(own);
    thrum_workload_free(w);
    thrum_graph_free(graph);
}

TEST(a_recorded_flow_becomes_a_workload)
{
    thrum_graph *g = thrum_graph_new("recorded");
    thrum_flow *flow = thrum_flow_record(ex, g);
    double memory[12] = {0};
    int three = 3;
    thrum_data *a = thrum_data_matrix(ex, memory, 3, 2, 4, sizeof(double)), *b = thrum_data_vector(ex, NULL, 5, 8),
               *scratch = thrum_data_vector(ex, NULL, 7, 1);
    thrum_data_set_name(a, "A");
    thrum_insert(flow, &both, THRUM_RW(a), THRUM_PRIORITY(4), THRUM_ARG(three));
    thrum_insert(flow, &alone, THRUM_R(a), THRUM_W(b), THRUM_SCRATCH(scratch), THRUM_NAME("copy"), THRUM_BUCKET(2));
    thrum_insert(flow, &alone, THRUM_COMMUTE(b), THRUM_ON_WORKER(0));
    assert_int_equal(thrum_flow_free(flow), 0);
    expect_text(g, "thrum-workload 1\n"
                   "name recorded\n"
                   "codelet both cpu,emu\n"
                   "codelet alone cpu\n"
                   "data A 64 written\n"
                   "data - 40\n"
                   "data - 7\n"
                   "task both work=24 rw=A priority=4\n"
                   "task alone work=111 r=A w=1 scratch=2 bucket=2 name=copy\n"
                   "task alone work=40 rw=1 worker=0\n");
    thrum_data_unregister(a);
    thrum_data_unregister(b);
    thrum_data_unregister(scratch);
}

TEST(edges_that_accesses_do_not_tell_are_added_and_numbers_follow_them)
{
    thrum_graph *g = thrum_graph_new("by hand");
    int x = 0;
    thrum_data *data = thrum_data_variable(ex, &x, sizeof x);
    thrum_task *last = thrum_codelet_task(g, &alone, THRUM_R(data));
    thrum_task *first = thrum_codelet_task(g, &alone, THRUM_W(data)), *plain = thrum_task_new(g, nothing_plain, NULL);
    thrum_precede(first, last, plain);
    thrum_precede(plain, last);
    expect_text(g, "thrum-workload 1\n"
                   "name \"by hand\"\n"
                   "codelet alone cpu\n"
                   "codelet task cpu\n"
                   "data - 4\n"
                   "task alone work=4 w=0\n"
                   "task task\n"
                   "task alone work=4 r=0\n"
                   "edge 0 1\n"
                   "edge 1 2\n");
    thrum_data_unregister(data);
}

static bool is_not_first(const thrum_place *place, const void *arg)
{
    (void)arg;
    return place->worker > 0;
}

static const thrum_codelet picky = {.name = "picky", .cpu = nothing, .can_run = is_not_first};

TEST(the_worker_that_is_found_for_a_picky_codelet_is_not_described)
{
    thrum_graph *g = thrum_graph_new("picky");
    int x = 0;
    thrum_executor *two = thrum_executor_new(&(thrum_config){.workers = 2});
    thrum_data *data = thrum_data_variable(two, &x, sizeof x);
    thrum_precede(thrum_codelet_task(g, &picky, THRUM_RW(data)),
                  thrum_codelet_task(g, &picky, THRUM_RW(data), THRUM_ON_WORKER(1)));
    expect_text(g, "thrum-workload 1\n"
                   "name picky\n"
                   "codelet picky cpu\n"
                   "data - 4 written\n"
                   "task picky work=4 rw=0\n"
                   "task picky work=4 rw=0 worker=1\n");
    thrum_data_unregister(data);
    assert_int_equal(thrum_executor_free(two), 0);
}

static void set_zero(const thrum_buffer *buffers, const void *arg)
{
    (void)arg;
    *(double *)buffers[0].ptr = 0;
}

TEST(reductions_and_partitions_are_part_of_it)
{
    static const thrum_codelet zero = {.name = "zero", .cpu = set_zero}, join = {.name = "join", .cpu = nothing};
    thrum_graph *g = thrum_graph_new("redux");
    thrum_flow *flow = thrum_flow_record(ex, g);
    double sum = 0, vector[4] = {0};
    thrum_data *total = thrum_data_variable(ex, &sum, sizeof sum), *whole = thrum_data_vector(ex, vector, 4, 8);
    thrum_data_set_reduction(total, &zero, &join);
    thrum_partition(flow, whole, &(thrum_cut){.pieces = {2}});
    for (size_t i = 0; i < 2; i++)
        thrum_insert(flow, &alone, THRUM_R(thrum_data_part(whole, i)), THRUM_REDUX(total));
    thrum_unpartition(flow, whole);
    thrum_insert(flow, &alone, THRUM_R(total), THRUM_R(whole));
    assert_int_equal(thrum_flow_free(flow), 0);
    thrum_workload *w = thrum_workload_of_graph(g, false);
    assert_non_null(w);
    thrum_workload_size size;
    assert_int_equal(thrum_workload_measure(w, &size), 0);
    assert_int_equal(size.tasks, 7); /* cut, begin, two, end of the cut, join, last */
    assert_int_equal(size.data, 4);
    char *text = text_of(w);
    assert_contains(text, "task fetch rw=0 w=1,2\n");
    assert_contains(text, " redux=3\n");
    assert_contains(text, "task join work=8 rw=3\n");
    free(text);
    thrum_workload_free(w);
    thrum_graph_free(g);
    thrum_data_unregister(total);
    thrum_data_unregister(whole);
}

static int choose(void *arg)
{
    (void)arg;
    return 0;
}

TEST(conditions_modules_and_bad_work_are_refused)
{
    thrum_graph *g = thrum_graph_new("g"), *inner = thrum_graph_new("inner");
    thrum_task *condition = thrum_condition_new(g, choose, NULL);
    thrum_task_set_name(condition, "near enough");
    thrum_precede(condition, thrum_placeholder_new(g));
    assert_null(thrum_workload_of_graph(g, false));
    assert_contains(thrum_message(NULL), "task 0 'near enough' is a condition: what it chooses is known at run time");
    thrum_graph_free(g);
    g = thrum_graph_new("g");
    thrum_module_new(g, inner);
    assert_null(thrum_workload_of_graph(g, false));
    assert_contains(thrum_message(NULL), "task 0 is a module");
    thrum_graph_free(g);
    thrum_graph_free(inner);
    assert_null(thrum_workload_of_graph(NULL, false));
    assert_contains(thrum_message(NULL), "the graph is NULL");

    int x = 0, minus = -1;
    g = thrum_graph_new("g");
    thrum_data *data = thrum_data_vector(ex, &x, 1, sizeof x);
    thrum_codelet_task(g, &both, THRUM_RW(data), THRUM_ARG(minus));
    assert_null(thrum_workload_of_graph(g, false));
    assert_contains(thrum_message(NULL), "task 0: its work is -1");
    thrum_graph_free(g);
    thrum_data_unregister(data);
}

static void pause_a_little(const thrum_buffer *buffers, const void *arg)
{
    (void)buffers, (void)arg;
    usleep(2000);
}

TEST(measured_seconds_come_from_performance_models)
{
    static const thrum_codelet slow = {.name = "slow", .cpu = pause_a_little};
    thrum_executor *own = thrum_executor_new(&(thrum_config){.workers = 1, .policy = "fifo"});
    double x = 0;
    thrum_data *data = thrum_data_variable(own, &x, sizeof x);
    thrum_flow *flow = thrum_flow_new(own);
    for (int i = 0; i < 12; i++)
        thrum_insert(flow, &slow, THRUM_RW(data));
    assert_int_equal(thrum_flow_free(flow), 0);
    thrum_graph *g = thrum_graph_new("slow");
    thrum_codelet_task(g, &slow, THRUM_RW(data));
    thrum_workload *w = thrum_workload_of_graph(g, true), *without = thrum_workload_of_graph(g, false);
    char *text = text_of(w), *text_without = text_of(without);
    assert_contains(text, " seconds.cpu=0.0");
    assert_null(strstr(text_without, "seconds"));
    free(text);
    free(text_without);
    thrum_workload_free(w);
    thrum_workload_free(without);
    thrum_graph_free(g);
    thrum_data_unregister(data);
    thrum_executor_free(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_flow_becomes_a_workload),
        cmocka_unit_test(edges_that_accesses_do_not_tell_are_added_and_numbers_follow_them),
        cmocka_unit_test(the_worker_that_is_found_for_a_picky_codelet_is_not_described),
        cmocka_unit_test(reductions_and_partitions_are_part_of_it),
        cmocka_unit_test(conditions_modules_and_bad_work_are_refused),
        cmocka_unit_test(measured_seconds_come_from_performance_models),
    };
    watchdog_start(60);
    return cmocka_run_group_tests(tests, open_executor, close_executor);
}
