/* SPDX-License-Identifier: MIT
 *
 * Tasks of graphs and partitions: a whole and its parts are not used at the same time, whoever has partitioned it, and
 * in whatever order graphs are made and run.
 */
#include "test.h"

#include <sched.h>

enum { N = 40, PIECES = 4 };

static const thrum_config configs[] = {
    {.workers = 2},
    {.threadless = true},
    {.policy = "fifo", .devices = "cpu:2"},
    {.policy = "dmda", .devices = "cpu:1,emu:2"},
};

static thrum_executor *ex;
static int memory[N];
static thrum_data *vector;
static atomic_bool trouble;

static void add_one(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    for (size_t i = 0; i < b[0].extent[0]; i++)
        ((int *)b[0].ptr)[i]++;
}

static void look(const thrum_buffer *b, const void *arg)
{
    (void)b;
    (void)arg;
}

static void add_one_or_fail(const thrum_buffer *b, const void *arg)
{
    if (trouble)
        thrum_fail(7, "in trouble");
    else
        add_one(b, arg);
}

static const thrum_codelet add = {.name = "add", .cpu = add_one, .emu = add_one};
static const thrum_codelet shaky = {.name = "shaky", .cpu = add_one_or_fail, .emu = add_one_or_fail};
static const thrum_codelet reads = {.name = "reads", .cpu = look, .emu = look};

static const thrum_cut in_pieces = {.pieces = {PIECES}}, overlapping = {.pieces = {PIECES}, .shadow = {1}};

static void begin(const thrum_config *config)
{
    ex = thrum_executor_new(config);
    assert_non_null(ex);
    memset(memory, 0, sizeof memory);
    vector = thrum_data_vector(ex, memory, N, sizeof(int));
    assert_int_equal(thrum_data_set_name(vector, "vector"), 0);
}

/* Each element has been raised so many times. */
static void end(int times)
{
    assert_int_equal(thrum_data_unregister(vector), 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(memory[i], times);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void assert_runs(thrum_graph *graph)
{
    int err = thrum_run(ex, graph);
    if (err)
        print_error("%s\n", thrum_message(NULL));
    assert_int_equal(err, 0);
}

static void partition(const thrum_cut *cut)
{
    thrum_flow *flow = thrum_flow_new(ex);
    assert_int_equal(thrum_partition(flow, vector, cut), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
}

static void unpartition(void)
{
    thrum_flow *flow = thrum_flow_new(ex);
    assert_int_equal(thrum_unpartition(flow, vector), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
}

/* A graph of one task. */
static thrum_graph *graph_of(const char *name, const thrum_codelet *codelet, thrum_item access)
{
    thrum_graph *graph = thrum_graph_new(name);
    assert_non_null(thrum_codelet_task(graph, codelet, access));
    return graph;
}

static void assert_refused(const thrum_codelet *codelet, thrum_item access, const char *says)
{
    thrum_graph *graph = thrum_graph_new("refused");
    assert_null(thrum_codelet_task(graph, codelet, access));
    assert_contains(thrum_message(graph), says);
    assert_int_equal(thrum_run(ex, graph), THRUM_EDATA);
    assert_int_equal(thrum_graph_free(graph), 0);
}

/* Recordings: what they insert depends on how far they go. */
enum { CUTS = 1, USES_PARTS = 2, ENDS = 4 };

static thrum_graph *record(const thrum_codelet *codelet, unsigned what)
{
    thrum_graph *graph = thrum_graph_new("recorded");
    thrum_flow *flow = thrum_flow_record(ex, graph);
    if (what & CUTS)
        assert_int_equal(thrum_partition(flow, vector, &in_pieces), 0);
    for (size_t i = 0; what & USES_PARTS && i < PIECES; i++)
        assert_int_equal(thrum_insert(flow, codelet, THRUM_RW(thrum_data_part(vector, i))), 0);
    if (what & ENDS)
        assert_int_equal(thrum_unpartition(flow, vector), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    return graph;
}

/* Calls it for each kind of executor. */
static void on_each(void (*test)(void), int times)
{
    for (size_t i = 0; i < COUNT_OF(configs); i++) {
        begin(&configs[i]);
        test();
        end(times);
    }
}

/* ---- When the task is made --------------------------------------------------------------------------------------- */

static void make_of_whole(void)
{
    partition(&in_pieces);
    assert_refused(&add, THRUM_RW(vector), "thrum_codelet_task of 'add': 'vector' is partitioned; use its parts");
    assert_refused(&reads, THRUM_R(vector), "'vector' is partitioned");
    thrum_graph *graph = graph_of("part", &add, THRUM_RW(thrum_data_part(vector, 0)));
    for (size_t i = 1; i < PIECES; i++)
        assert_non_null(thrum_codelet_task(graph, &add, THRUM_RW(thrum_data_part(vector, i))));
    assert_runs(graph);
    assert_int_equal(thrum_graph_free(graph), 0);
    unpartition();
}

TEST(a_whole_is_not_for_tasks_while_it_is_partitioned)
{
    on_each(make_of_whole, 1);
}

static void make_of_shadows(void)
{
    partition(&overlapping);
    thrum_data *part = thrum_data_part(vector, 1);
    assert_refused(&add, THRUM_RW(part), "is a part with a shadow, which overlaps its neighbours: it can be read, but");
    assert_refused(&add, THRUM_W(part), "is a part with a shadow");
    thrum_graph *graph = graph_of("shadow", &reads, THRUM_R(part));
    assert_runs(graph);
    assert_int_equal(thrum_graph_free(graph), 0);
    unpartition();
}

TEST(parts_that_overlap_are_only_read_by_tasks_of_graphs)
{
    on_each(make_of_shadows, 0);
}

static void make_of_ended(void)
{
    thrum_graph *graph = thrum_graph_new("recorded");
    thrum_flow *flow = thrum_flow_record(ex, graph);
    assert_int_equal(thrum_partition(flow, vector, &in_pieces), 0);
    thrum_data *part = thrum_data_part(vector, 2);
    assert_int_equal(thrum_insert(flow, &add, THRUM_RW(part)), 0);
    assert_int_equal(thrum_unpartition(flow, vector), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_refused(&add, THRUM_RW(part), "is a part of a partition that has ended");
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_part_is_not_for_tasks_that_are_made_when_its_partition_has_ended)
{
    on_each(make_of_ended, 0);
}

static void bind_to_parts(void)
{
    thrum_data *quarter = thrum_data_vector(ex, NULL, N / PIECES + 2, sizeof(int));
    thrum_graph *writes = graph_of("writes", &add, THRUM_W(quarter)),
                *looks = graph_of("looks", &reads, THRUM_R(quarter));
    partition(&overlapping);
    thrum_data *part = thrum_data_part(vector, 1);
    assert_error(thrum_graph_bind(writes, quarter, part), THRUM_EDATA,
                 "is a part with a shadow, which can only be read");
    assert_int_equal(thrum_graph_bind(looks, quarter, part), 0);
    assert_runs(looks);
    assert_int_equal(thrum_graph_free(writes), 0);
    assert_int_equal(thrum_graph_free(looks), 0);
    assert_int_equal(thrum_data_unregister(quarter), 0);
    unpartition();
}

TEST(a_graph_that_writes_is_not_bound_to_a_part_that_overlaps)
{
    on_each(bind_to_parts, 0);
}

/* ---- When the task runs ------------------------------------------------------------------------------------------ */

static void run_on_whole(void)
{
    thrum_graph *graph = graph_of("whole", &add, THRUM_RW(vector));
    assert_runs(graph);
    partition(&in_pieces);
    assert_error(thrum_run(ex, graph), THRUM_EDATA,
                 "task 'add': 'vector' is partitioned; use its parts, or unpartition it");
    unpartition();
    assert_runs(graph);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_run_on_a_whole_that_has_been_partitioned_since_fails)
{
    on_each(run_on_whole, 2);
}

static void run_recorded_on_whole(void)
{
    thrum_graph *graph = thrum_graph_new("recorded");
    thrum_flow *flow = thrum_flow_record(ex, graph);
    assert_int_equal(thrum_insert(flow, &add, THRUM_RW(vector), THRUM_NAME("my own name")), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    partition(&in_pieces);
    assert_error(thrum_run(ex, graph), THRUM_EDATA, "task 'my own name': 'vector' is partitioned");
    unpartition();
    assert_runs(graph);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(so_does_that_of_a_recording)
{
    on_each(run_recorded_on_whole, 1);
}

static void run_while_recording_is_open(void)
{
    thrum_graph *whole = graph_of("whole", &add, THRUM_RW(vector)), *parts = record(&add, CUTS | USES_PARTS);
    assert_runs(whole); /* nothing has been cut yet, but in the recording */
    assert_runs(parts);
    assert_error(thrum_run(ex, whole), THRUM_EDATA, "task 'add': 'vector' is partitioned");
    assert_error(thrum_run(ex, parts), THRUM_EDATA, "'vector' is partitioned already; unpartition it first");
    thrum_graph *together = record(&add, ENDS);
    assert_runs(together);
    assert_runs(whole);
    assert_int_equal(thrum_graph_free(whole), 0);
    assert_int_equal(thrum_graph_free(parts), 0);
    assert_int_equal(thrum_graph_free(together), 0);
}

TEST(what_a_recording_has_cut_is_cut_when_it_has_run)
{
    on_each(run_while_recording_is_open, 3);
}

static void run_on_ended_part(void)
{
    partition(&in_pieces);
    thrum_graph *parts = record(&add, USES_PARTS), *together = record(&add, ENDS);
    assert_runs(parts); /* they have not been put together yet, but in the recording */
    assert_runs(together);
    assert_error(thrum_run(ex, parts), THRUM_EDATA, "is a part of a partition that has ended");
    assert_contains(thrum_message(NULL), "task 'add': 'vector[");
    assert_int_equal(thrum_graph_free(parts), 0);
    assert_int_equal(thrum_graph_free(together), 0);
}

TEST(a_run_on_parts_that_a_run_has_put_together_fails)
{
    on_each(run_on_ended_part, 1);
}

/* ---- At the same time -------------------------------------------------------------------------------------------- */

static atomic_bool held, released;

static void hold(const thrum_buffer *b, const void *arg)
{
    (void)b;
    (void)arg;
    for (held = true; !released;)
        sched_yield();
}

static const thrum_codelet holds = {.name = "holds", .cpu = hold};

/* The second comes while the first is at work. */
static int run_both(thrum_graph *first, thrum_graph *second)
{
    held = released = false;
    thrum_handle *handle = thrum_start(ex, first);
    assert_non_null(handle);
    while (!held)
        sched_yield();
    int err = thrum_run(ex, second);
    released = true;
    assert_int_equal(thrum_wait(handle), 0);
    thrum_release(handle);
    return err;
}

/* A recording that has not run yet puts them together: so tasks of the whole can be made, and of its parts run. */
TEST(a_whole_and_its_part_in_use_at_once_fail_the_run_where_there_is_a_policy)
{
    begin(&(thrum_config){.policy = "fifo", .devices = "cpu:2"});
    partition(&in_pieces);
    thrum_data *part = thrum_data_part(vector, 0);
    thrum_graph *part_held = graph_of("p", &holds, THRUM_RW(part)), *part_seen = graph_of("q", &holds, THRUM_R(part)),
                *part_read = graph_of("r", &reads, THRUM_R(part)), *together = record(&add, ENDS);
    thrum_graph *held_whole = graph_of("v", &holds, THRUM_RW(vector)),
                *whole_read = graph_of("w", &reads, THRUM_R(vector)),
                *whole_written = graph_of("x", &add, THRUM_RW(vector));
    assert_error(
        run_both(part_held, whole_read), THRUM_EDATA,
        "task 'reads' uses 'vector' at the same time as others use parts of it, and at least one of them writes");
    assert_error(run_both(part_seen, whole_written), THRUM_EDATA,
                 "task 'add' uses 'vector' at the same time as others");
    assert_error(
        run_both(held_whole, part_read), THRUM_EDATA,
        "tasks 'holds' and 'reads' use 'vector' and its part 'vector[0]' at the same time, and at least one of");
    assert_int_equal(run_both(part_seen, whole_read), 0);
    assert_int_equal(run_both(part_held, together), THRUM_EDATA);
    assert_runs(together);
    thrum_graph *graphs[] = {part_held, part_seen, part_read, together, held_whole, whole_read, whole_written};
    for (size_t i = 0; i < COUNT_OF(graphs); i++)
        assert_int_equal(thrum_graph_free(graphs[i]), 0);
    end(0);
}

/* ---- Right use --------------------------------------------------------------------------------------------------- */

static void run_in_turns(void)
{
    thrum_graph *whole = graph_of("whole", &add, THRUM_RW(vector));
    thrum_graph *parts = record(&add, CUTS | USES_PARTS), *together = record(&add, ENDS);
    thrum_graph *all = thrum_graph_new("all");
    thrum_task *modules[] = {thrum_module_new(all, whole), thrum_module_new(all, parts),
                             thrum_module_new(all, together), thrum_codelet_task(all, &add, THRUM_RW(vector))};
    for (size_t i = 1; i < COUNT_OF(modules); i++)
        thrum_precede(modules[i - 1], modules[i]);
    assert_int_equal(thrum_run_n(ex, all, 3), 0);
    assert_int_equal(thrum_graph_free(all), 0);
    assert_int_equal(thrum_graph_free(whole), 0);
    assert_int_equal(thrum_graph_free(parts), 0);
    assert_int_equal(thrum_graph_free(together), 0);
}

TEST(modules_can_partition_and_put_together_again_and_again)
{
    on_each(run_in_turns, 9);
}

static void run_after_failure(void)
{
    thrum_graph *graph = thrum_graph_new("recorded");
    thrum_flow *flow = thrum_flow_record(ex, graph);
    assert_int_equal(thrum_insert(flow, &reads, THRUM_R(vector)), 0);
    assert_int_equal(thrum_partition(flow, vector, &in_pieces), 0);
    for (size_t i = 0; i < PIECES; i++)
        assert_int_equal(thrum_insert(flow, &shaky, THRUM_RW(thrum_data_part(vector, i))), 0);
    assert_int_equal(thrum_unpartition(flow, vector), 0);
    assert_int_equal(thrum_insert(flow, &add, THRUM_RW(vector)), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    trouble = true;
    assert_error(thrum_run(ex, graph), 7, "in trouble");
    trouble = false;
    assert_runs(graph);
    assert_runs(graph);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_recording_that_failed_between_cutting_and_putting_together_can_run_again)
{
    on_each(run_after_failure, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_is_not_for_tasks_while_it_is_partitioned),
        cmocka_unit_test(parts_that_overlap_are_only_read_by_tasks_of_graphs),
        cmocka_unit_test(a_part_is_not_for_tasks_that_are_made_when_its_partition_has_ended),
        cmocka_unit_test(a_graph_that_writes_is_not_bound_to_a_part_that_overlaps),
        cmocka_unit_test(a_run_on_a_whole_that_has_been_partitioned_since_fails),
        cmocka_unit_test(so_does_that_of_a_recording),
        cmocka_unit_test(what_a_recording_has_cut_is_cut_when_it_has_run),
        cmocka_unit_test(a_run_on_parts_that_a_run_has_put_together_fails),
        cmocka_unit_test(a_whole_and_its_part_in_use_at_once_fail_the_run_where_there_is_a_policy),
        cmocka_unit_test(modules_can_partition_and_put_together_again_and_again),
        cmocka_unit_test(a_recording_that_failed_between_cutting_and_putting_together_can_run_again),
    };
    return RUN_TESTS(tests, 60);
}
