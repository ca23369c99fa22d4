/* SPDX-License-Identifier: MIT
 *
 * Flows that are recorded into graphs, and codelets as tasks of graphs.
 */
#include "test.h"

static void add_one(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[0].ptr += 1;
}

/* Without a sign: in long programs numbers wrap around. */
static void add_first(const thrum_buffer *b, const void *arg)
{
    unsigned long *to = b[1].ptr;
    *to = *to * *(const unsigned long *)arg + *(const unsigned long *)b[0].ptr;
}

static void set_zero(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[0].ptr = 0;
}

static void add_second(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[0].ptr += *(const long *)b[1].ptr;
}

static void add_to_all(const thrum_buffer *b, const void *arg)
{
    for (size_t i = 0; i < b[0].extent[0]; i++)
        ((long *)b[0].ptr)[i] += *(const long *)arg;
}

static const thrum_codelet increment = {.name = "increment", .cpu = add_one};
static const thrum_codelet mix = {.name = "mix", .cpu = add_first};
static const thrum_codelet clear = {.name = "clear", .cpu = set_zero};
static const thrum_codelet sum = {.name = "sum", .cpu = add_second};
static const thrum_codelet add_all = {.name = "add_all", .cpu = add_to_all};

enum { N = 8, STEPS = 60 };

/* The same tasks whether they run or are recorded. */
static void insert_program(thrum_flow *flow, thrum_data *const *data)
{
    for (int i = 0; i < STEPS; i++) {
        long factor = i % 3 + 1;
        int from = i * 5 % N, to = (i * 3 + 1) % N;
        if (from != to)
            assert_int_equal(thrum_insert(flow, &mix, THRUM_R(data[from]), THRUM_RW(data[to]), THRUM_ARG(factor)), 0);
        assert_int_equal(thrum_insert(flow, &increment, THRUM_COMMUTE(data[(i * 7) % N])), 0);
    }
}

static void make(thrum_executor *ex, long *values, thrum_data **data)
{
    for (int i = 0; i < N; i++) {
        values[i] = i + 1;
        data[i] = thrum_data_variable(ex, &values[i], sizeof(long));
    }
}

static void drop(thrum_data **data)
{
    for (int i = 0; i < N; i++)
        assert_int_equal(thrum_data_unregister(data[i]), 0);
}

static void a_recorded_flow_computes_what_the_flow_does(void **state)
{
    (void)state;
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 3});
    long direct[N], replayed[N], bound[N];
    thrum_data *a[N], *b[N], *c[N];
    make(ex, direct, a);
    make(ex, replayed, b);
    make(ex, bound, c);
    thrum_flow *flow = thrum_flow_new(ex);
    for (int i = 0; i < 3; i++)
        insert_program(flow, a);
    assert_int_equal(thrum_flow_free(flow), 0);
    thrum_graph *graph = thrum_graph_new("recorded");
    flow = thrum_flow_record(ex, graph);
    insert_program(flow, b);
    assert_int_equal(thrum_flow_wait(flow), THRUM_EINVAL);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(replayed[0], 1);
    assert_int_equal(thrum_run_n(ex, graph, 3), 0);
    thrum_graph *copy = thrum_graph_clone(graph);
    for (int i = 0; i < N; i++)
        assert_int_equal(thrum_graph_bind(copy, b[i], c[i]), 0);
    assert_int_equal(thrum_data_unregister(b[0]), THRUM_EBUSY);
    assert_int_equal(thrum_run_n(ex, copy, 3), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_graph_free(copy), 0);
    drop(a);
    drop(b);
    drop(c);
    assert_memory_equal(direct, replayed, sizeof direct);
    assert_memory_equal(direct, bound, sizeof direct);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void insert_long_program(thrum_flow *flow, thrum_data *const *data)
{
    for (int i = 0; i < 20; i++)
        insert_program(flow, data);
}

/* So long, and of so short tasks, that after some runs it is no longer run by its edges. */
static void a_long_recording_computes_the_same_every_time(void **state)
{
    (void)state;
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2});
    long direct[N], replayed[N], bound[N];
    thrum_data *a[N], *b[N], *c[N];
    make(ex, direct, a);
    make(ex, replayed, b);
    make(ex, bound, c);
    thrum_graph *graph = thrum_graph_new("long");
    thrum_flow *flow = thrum_flow_new(ex), *recording = thrum_flow_record(ex, graph);
    insert_long_program(recording, b);
    assert_int_equal(thrum_flow_free(recording), 0);
    for (int run = 0; run < 12; run++) {
        insert_long_program(flow, a);
        assert_int_equal(thrum_flow_wait(flow), 0);
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_memory_equal(direct, replayed, sizeof direct);
    }
    for (int i = 0; i < N; i++) {
        bound[i] = replayed[i];
        assert_int_equal(thrum_graph_bind(graph, b[i], c[i]), 0);
    }
    insert_long_program(flow, a);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    drop(a);
    drop(b);
    drop(c);
    assert_memory_equal(direct, bound, sizeof direct);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void reductions_and_partitions_are_recorded(void **state)
{
    (void)state;
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 3});
    long total = 5, vector[10] = {0}, ten = 10;
    thrum_data *t = thrum_data_variable(ex, &total, sizeof total), *v = thrum_data_vector(ex, vector, 10, sizeof(long));
    assert_int_equal(thrum_data_set_reduction(t, &clear, &sum), 0);
    thrum_graph *graph = thrum_graph_new("parts");
    thrum_flow *flow = thrum_flow_record(ex, graph);
    assert_int_equal(thrum_partition(flow, v, &(thrum_cut){.pieces = {3}}), 0);
    for (size_t p = 0; p < 3; p++) {
        assert_int_equal(thrum_insert(flow, &add_all, THRUM_RW(thrum_data_part(v, p)), THRUM_ARG(ten)), 0);
        assert_int_equal(thrum_insert(flow, &increment, THRUM_REDUX(t)), 0);
    }
    assert_int_equal(thrum_unpartition(flow, v), 0);
    assert_int_equal(thrum_insert(flow, &add_all, THRUM_RW(v), THRUM_ARG(ten)), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_run_n(ex, graph, 4), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_data_unregister(v), 0);
    assert_int_equal(thrum_data_unregister(t), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(vector[i], 80);
    assert_int_equal(total, 5 + 12);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static int below(void *arg)
{
    return *(long *)arg < 50 ? 0 : 1;
}

static void codelet_tasks_turn_in_a_loop_of_the_graph(void **state)
{
    (void)state;
    long x = 0, y = 0, one = 1;
    thrum_data *a = thrum_data_variable(NULL, &x, sizeof x), *b = thrum_data_variable(NULL, &y, sizeof y);
    thrum_graph *graph = thrum_graph_new("loop");
    thrum_task *begin = thrum_placeholder_new(graph);
    thrum_task *body = thrum_codelet_task(graph, &increment, THRUM_RW(a));
    thrum_task *count = thrum_codelet_task(graph, &mix, THRUM_R(a), THRUM_RW(b), THRUM_ARG(one));
    thrum_task *again = thrum_condition_new(graph, below, &x), *end = thrum_placeholder_new(graph);
    thrum_precede(begin, body);
    thrum_precede(body, count);
    thrum_precede(count, again);
    thrum_precede(again, body, end);
    assert_string_equal(thrum_task_name(body), "increment");
    assert_int_equal(thrum_run(NULL, graph), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_data_unregister(a), 0);
    assert_int_equal(thrum_data_unregister(b), 0);
    assert_int_equal(x, 50);
    assert_int_equal(y, 50 * 51 / 2);
}

static void wrong_codelet_tasks_are_the_graphs_error(void **state)
{
    (void)state;
    long x = 0;
    thrum_data *a = thrum_data_variable(NULL, &x, sizeof x);
    static const thrum_codelet nothing = {.name = "nothing"};
    struct {
        const thrum_codelet *codelet;
        thrum_item item;
        const char *says;
    } wrong[] = {{&increment, THRUM_COMMUTE(a), "COMMUTE"},
                 {&nothing, THRUM_RW(a), "no implementation"},
                 {&increment, THRUM_RW(NULL), "NULL"},
                 {NULL, THRUM_RW(a), "codelet is NULL"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        thrum_graph *graph = thrum_graph_new("wrong");
        assert_null(thrum_codelet_task(graph, wrong[i].codelet, wrong[i].item));
        assert_non_null(strstr(thrum_message(graph), wrong[i].says));
        assert_int_not_equal(thrum_run(NULL, graph), 0);
        assert_int_equal(thrum_graph_free(graph), 0);
    }
    assert_int_equal(thrum_data_unregister(a), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_flow_computes_what_the_flow_does),
        cmocka_unit_test(a_long_recording_computes_the_same_every_time),
        cmocka_unit_test(reductions_and_partitions_are_recorded),
        cmocka_unit_test(codelet_tasks_turn_in_a_loop_of_the_graph),
        cmocka_unit_test(wrong_codelet_tasks_are_the_graphs_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
