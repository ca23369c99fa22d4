/* SPDX-License-Identifier: MIT
 *
 * Data, flows and recordings used wrongly: a code, a sentence that names the thing, and nothing is lost.
 */
#include "test.h"

static thrum_executor *ex, *other;
static long memory[64];
static thrum_data *x, *never, *vector;

static void add_one(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[0].ptr += 1;
}

static void set_one(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    *(long *)b[0].ptr = 1;
}

static const thrum_codelet increment = {.name = "increment", .cpu = add_one};
static const thrum_codelet set = {.name = "set", .cpu = set_one};
static const thrum_codelet nowhere = {.name = "nowhere"};
static const thrum_codelet unnamed = {.cpu = add_one};

static int prepare(void **state)
{
    (void)state;
    ex = thrum_executor_new(&(thrum_config){.workers = 2});
    other = thrum_executor_new(&(thrum_config){.workers = 1});
    x = thrum_data_variable(ex, &memory[0], sizeof(long));
    never = thrum_data_variable(ex, NULL, sizeof(long));
    vector = thrum_data_vector(ex, &memory[8], 10, sizeof(long));
    thrum_data_set_name(x, "x");
    thrum_data_set_name(never, "never");
    thrum_data_set_name(vector, "vector");
    return !x || !never || !vector;
}

/* Whatever was done wrong, handles can go and executors end. */
static int clean(void **state)
{
    (void)state;
    int err = thrum_data_unregister(x);
    err |= thrum_data_unregister(never);
    err |= thrum_data_unregister(vector);
    err |= thrum_executor_free(ex);
    return err | thrum_executor_free(other);
}

/* ---- Inserting --------------------------------------------------------------------------------------------------- */

/* One insertion that must be refused; the flow keeps the error, does nothing more, and is as new after the wait. */
static void refused(const thrum_codelet *codelet, const thrum_item *items, size_t count, int code, const char *says)
{
    long before = memory[0];
    thrum_flow *flow = thrum_flow_new(ex);
    assert_error(thrum_insert_items(flow, codelet, items, count), code, says);
    assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(x)), code);
    assert_error(thrum_flow_wait(flow), code, says);
    assert_contains(thrum_message(flow), says);
    assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(x)), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(memory[0], before + 1);
}

#define REFUSED(codelet, code, says, ...)                                                                              \
    refused(codelet, THRUM_ITEMS_(__VA_ARGS__), THRUM_ITEM_COUNT_(__VA_ARGS__), code, says)

TEST(an_insertion_names_what_is_wrong_with_its_codelet)
{
    REFUSED(NULL, THRUM_EINVAL, "the codelet is NULL", THRUM_RW(x));
    REFUSED(&unnamed, THRUM_EINVAL, "the codelet has no name", THRUM_RW(x));
    REFUSED(&nowhere, THRUM_EINVAL, "'nowhere' has no implementation", THRUM_RW(x));
    refused(&increment, NULL, 1, THRUM_EINVAL, "the items are NULL");
    assert_error(thrum_insert(NULL, &increment, THRUM_RW(x)), THRUM_EINVAL, "the flow is NULL");
}

TEST(an_insertion_names_the_handle_that_it_cannot_use)
{
    long y = 0;
    thrum_data *foreign = thrum_data_variable(other, &y, sizeof y), *gone = thrum_data_variable(ex, &y, sizeof y);
    thrum_data_set_name(foreign, "foreign");
    thrum_data_set_name(gone, "gone");
    assert_int_equal(thrum_data_unregister(gone), 0);
    REFUSED(&increment, THRUM_EINVAL, "access 1: the data handle is NULL", THRUM_R(x), THRUM_RW(NULL));
    REFUSED(&increment, THRUM_EINVAL, "'foreign' belongs to another executor", THRUM_RW(foreign));
    REFUSED(&increment, THRUM_EINVAL, "'gone' has been unregistered", THRUM_RW(gone));
    REFUSED(&increment, THRUM_EDATA, "'never' is read, but nothing was written", THRUM_R(never));
    REFUSED(&increment, THRUM_EDATA, "'never' is read, but nothing was written", THRUM_RW(never));
    REFUSED(&increment, THRUM_EDATA, "'never' is read, but nothing was written", THRUM_COMMUTE(never));
    REFUSED(&increment, THRUM_EDATA, "'x' has no reduction", THRUM_REDUX(x));
    assert_int_equal(thrum_data_unregister(foreign), 0);
}

TEST(a_handle_is_named_once_if_it_is_written)
{
    static const enum thrum_mode modes[] = {THRUM_MODE_W, THRUM_MODE_RW, THRUM_MODE_COMMUTE};
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        REFUSED(&increment, THRUM_EDATA, "'x' is used twice", THRUM_ACCESS(modes[i], x), THRUM_R(x));
        REFUSED(&increment, THRUM_EDATA, "'x' is used twice", THRUM_R(x), THRUM_ACCESS(modes[i], x));
        REFUSED(&increment, THRUM_EDATA, "'x' is used twice", THRUM_ACCESS(modes[i], x), THRUM_ACCESS(modes[i], x));
    }
    thrum_flow *flow = thrum_flow_new(ex);
    assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(vector), THRUM_R(x), THRUM_R(x)), 0);
    assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(x), THRUM_SCRATCH(x)), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
}

TEST(settings_of_an_insertion_are_checked)
{
    long one = 1;
    REFUSED(&increment, THRUM_EINVAL, "THRUM_ARG is given twice", THRUM_RW(x), THRUM_ARG(one), THRUM_ARG(one));
    REFUSED(&increment, THRUM_EINVAL, "the argument is NULL", THRUM_RW(x), THRUM_ARG_BYTES(NULL, 4));
    REFUSED(&increment, THRUM_ELIMIT, "an argument of 5368709120 bytes", THRUM_RW(x),
            THRUM_ARG_BYTES(&one, (size_t)5 << 30));
    REFUSED(&increment, THRUM_EINVAL, "worker -3", THRUM_RW(x), THRUM_ON_WORKER(-3));
    REFUSED(&increment, THRUM_EINVAL, "worker 2, but the executor has those from 0 to 1", THRUM_RW(x),
            THRUM_ON_WORKER(2));
    REFUSED(&increment, THRUM_EINVAL, "an item of kind 99", THRUM_RW(x), THRUM_ITEM_(99, 0, NULL, 0));
    REFUSED(&increment, THRUM_EINVAL, "an item of kind 0", THRUM_ITEM_(0, 0, x, 0));
}

TEST(an_executor_without_threads_has_no_workers_to_be_sent_to)
{
    long y = 0;
    thrum_executor *threadless = thrum_executor_new(&(thrum_config){.threadless = true});
    thrum_data *data = thrum_data_variable(threadless, &y, sizeof y);
    thrum_flow *flow = thrum_flow_new(threadless);
    assert_error(thrum_insert(flow, &increment, THRUM_RW(data), THRUM_ON_WORKER(0)), THRUM_EINVAL, "has no threads");
    assert_int_equal(thrum_flow_free(flow), THRUM_EINVAL);
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_int_equal(thrum_executor_free(threadless), 0);
}

/* ---- Flows ------------------------------------------------------------------------------------------------------- */

static _Atomic int code_in_task, code_of_free;

static void wait_for_own(const thrum_buffer *b, const void *arg)
{
    thrum_flow *flow = *(thrum_flow *const *)arg;
    (void)b;
    code_in_task = thrum_flow_wait(flow);
    code_of_free = thrum_flow_free(flow);
}

TEST(a_task_cannot_wait_for_its_own_flow)
{
    static const thrum_codelet waits = {.name = "waits", .cpu = wait_for_own};
    thrum_flow *flow = thrum_flow_new(ex);
    assert_int_equal(thrum_insert(flow, &waits, THRUM_RW(x), THRUM_ARG(flow)), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(code_in_task, THRUM_EDEADLOCK);
    assert_int_equal(code_of_free, THRUM_EDEADLOCK);
}

TEST(null_flows_and_small_windows_are_refused)
{
    thrum_flow *flow = thrum_flow_new(ex);
    assert_error(thrum_flow_set_window(flow, 1), THRUM_EINVAL, "window of 1");
    assert_error(thrum_flow_set_window(flow, 0), THRUM_EINVAL, "window of 0");
    assert_error(thrum_flow_set_window(NULL, 5), THRUM_EINVAL, "the flow is NULL");
    assert_error(thrum_flow_wait(NULL), THRUM_EINVAL, "the flow is NULL");
    assert_int_equal(thrum_flow_free(NULL), 0);
    assert_int_equal(thrum_flow_count(NULL), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
}

TEST(an_executor_with_flows_is_not_freed)
{
    thrum_flow *flow = thrum_flow_new(ex);
    assert_error(thrum_executor_free(ex), THRUM_EBUSY, "flow");
    assert_error(thrum_executor_resize(ex, 3), THRUM_EBUSY, "flow");
    assert_int_equal(thrum_flow_free(flow), 0);
}

static void fail_77(const thrum_buffer *b, const void *arg)
{
    (void)b;
    (void)arg;
    thrum_fail(77, "the first sentence");
}

/* Each error has its own sentence, also in a flow that had one before. */
TEST(a_flow_tells_each_of_its_errors)
{
    static const thrum_codelet fails = {.name = "fails", .cpu = fail_77};
    thrum_flow *flow = thrum_flow_new(ex);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(thrum_insert(flow, &fails, THRUM_RW(x)), 0);
        assert_error(thrum_flow_wait(flow), 77, "the first sentence");
        assert_int_equal(thrum_insert(flow, &increment, THRUM_R(never)), THRUM_EDATA);
        assert_error(thrum_flow_wait(flow), THRUM_EDATA, "'never' is read");
        assert_contains(thrum_message(flow), "'never' is read");
        assert_int_equal(thrum_insert(flow, &nowhere, THRUM_RW(x)), THRUM_EINVAL);
        assert_error(thrum_flow_wait(flow), THRUM_EINVAL, "'nowhere'");
    }
    assert_int_equal(thrum_insert(flow, &fails, THRUM_RW(x)), 0);
    assert_error(thrum_flow_free(flow), 77, "the first sentence");
}

/* ---- Partitions -------------------------------------------------------------------------------------------------- */

static void cut_refused(thrum_data *data, const thrum_cut *cut, int code, const char *says)
{
    thrum_flow *flow = thrum_flow_new(ex);
    assert_error(thrum_partition(flow, data, cut), code, says);
    assert_error(thrum_flow_free(flow), code, says);
}

TEST(a_partition_that_cannot_be_is_refused)
{
    const thrum_cut two = {.pieces = {2}}, eleven = {.pieces = {11}}, square = {.pieces = {2, 2}};
    cut_refused(x, &two, THRUM_EDATA, "'x'");
    cut_refused(vector, &eleven, THRUM_EDATA, "'vector' cannot be cut into pieces[0] = 11");
    cut_refused(vector, &square, THRUM_EDATA, "pieces[1] is 2");
    cut_refused(vector, NULL, THRUM_EINVAL, "the cut is NULL");
    cut_refused(NULL, &two, THRUM_EINVAL, "NULL");
    assert_error(thrum_partition(NULL, vector, &two), THRUM_EINVAL, "the flow is NULL");
    assert_error(thrum_unpartition(NULL, vector), THRUM_EINVAL, "the flow is NULL");
    assert_int_equal(thrum_data_acquire(vector, THRUM_MODE_R, NULL), 0);
    cut_refused(vector, &two, THRUM_EDATA, "'vector' is acquired");
    assert_int_equal(thrum_data_release(vector), 0);
    assert_int_equal(thrum_data_parts(vector), 0);
}

TEST(what_is_partitioned_is_used_by_its_parts)
{
    const thrum_cut two = {.pieces = {2}};
    thrum_flow *flow = thrum_flow_new(ex);
    assert_int_equal(thrum_partition(flow, vector, &two), 0);
    thrum_data *part = thrum_data_part(vector, 1);
    REFUSED(&increment, THRUM_EDATA, "'vector' is partitioned; use its parts", THRUM_R(vector));
    cut_refused(vector, &two, THRUM_EDATA, "'vector' is partitioned already");
    assert_error(thrum_data_acquire(vector, THRUM_MODE_R, NULL), THRUM_EDATA, "'vector' is partitioned");
    assert_error(thrum_data_unregister(vector), THRUM_EBUSY, "'vector' is partitioned");
    assert_error(thrum_data_unregister(part), THRUM_EINVAL, "'vector[1]' is a part");
    assert_int_equal(thrum_partition(flow, part, &two), 0);
    assert_error(thrum_unpartition(flow, vector), THRUM_EDATA, "part 1 of 'vector' is partitioned itself");
    assert_int_equal(thrum_flow_wait(flow), THRUM_EDATA);
    assert_int_equal(thrum_unpartition(flow, part), 0);
    assert_int_equal(thrum_data_acquire(part, THRUM_MODE_R, NULL), 0);
    assert_error(thrum_unpartition(flow, vector), THRUM_EDATA, "part 1 of 'vector' is acquired itself");
    assert_int_equal(thrum_data_release(part), 0);
    assert_int_equal(thrum_flow_wait(flow), THRUM_EDATA);
    assert_int_equal(thrum_unpartition(flow, vector), 0);
    assert_error(thrum_unpartition(flow, vector), THRUM_EDATA, "'vector' is not partitioned");
    assert_int_equal(thrum_flow_free(flow), THRUM_EDATA);
    REFUSED(&increment, THRUM_EINVAL, "'vector[1]' has been unregistered with the partition", THRUM_RW(part));
}

/* While the unpartition waits for a task. */
TEST(a_partition_that_ends_is_over_for_its_parts)
{
    thrum_flow *flow = thrum_flow_new(ex), *second = thrum_flow_new(ex);
    assert_int_equal(thrum_partition(flow, vector, &(thrum_cut){.pieces = {2}}), 0);
    thrum_data *part = thrum_data_part(vector, 1);
    assert_int_equal(thrum_data_acquire(x, THRUM_MODE_RW, NULL), 0);
    assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(part), THRUM_R(x)), 0);
    assert_int_equal(thrum_unpartition(flow, vector), 0);
    assert_error(thrum_insert(second, &increment, THRUM_RW(part)), THRUM_EDATA, "'vector[1]' is a part of a partition");
    assert_error(thrum_data_acquire(part, THRUM_MODE_R, NULL), THRUM_EDATA, "'vector[1]' is a part of a partition");
    assert_int_equal(thrum_data_release(x), 0);
    assert_int_equal(thrum_flow_free(second), THRUM_EDATA);
    assert_int_equal(thrum_flow_free(flow), 0);
}

TEST(parts_that_overlap_are_only_read)
{
    thrum_flow *flow = thrum_flow_new(ex);
    assert_int_equal(thrum_partition(flow, vector, &(thrum_cut){.pieces = {3}, .shadow = {1}}), 0);
    thrum_data *part = thrum_data_part(vector, 1);
    static const enum thrum_mode modes[] = {THRUM_MODE_W, THRUM_MODE_RW, THRUM_MODE_COMMUTE};
    for (size_t i = 0; i < COUNT_OF(modes); i++)
        REFUSED(&increment, THRUM_EDATA, "'vector[1]' is a part with a shadow", THRUM_ACCESS(modes[i], part));
    assert_error(thrum_data_acquire(part, THRUM_MODE_RW, NULL), THRUM_EDATA, "shadow");
    assert_error(thrum_data_set_reduction(part, &set, &increment), THRUM_EDATA, "overlaps");
    assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(x), THRUM_R(part), THRUM_SCRATCH(part)), 0);
    assert_int_equal(thrum_unpartition(flow, vector), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
}

/* ---- The main program's own access ------------------------------------------------------------------------------- */

static _Atomic int acquired_in_task, unregistered_in_task;

static void acquire_in_task(const thrum_buffer *b, const void *arg)
{
    (void)b;
    (void)arg;
    acquired_in_task = thrum_data_acquire(vector, THRUM_MODE_R, NULL);
    unregistered_in_task = thrum_data_unregister(vector);
}

TEST(acquiring_is_not_for_tasks_and_not_twice)
{
    static const thrum_codelet acquires = {.name = "acquires", .cpu = acquire_in_task};
    thrum_flow *flow = thrum_flow_new(ex);
    assert_int_equal(thrum_insert(flow, &acquires, THRUM_RW(x)), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(acquired_in_task, THRUM_EDEADLOCK);
    assert_int_equal(unregistered_in_task, THRUM_EDEADLOCK);
    assert_int_equal(thrum_data_acquire(x, THRUM_MODE_RW, NULL), 0);
    assert_error(thrum_data_acquire(x, THRUM_MODE_R, NULL), THRUM_EBUSY, "'x' is acquired already");
    assert_error(thrum_data_unregister(x), THRUM_EBUSY, "'x' is acquired");
    assert_int_equal(thrum_data_release(x), 0);
    assert_error(thrum_data_release(x), THRUM_EINVAL, "'x' is not acquired");
    assert_error(thrum_data_acquire(never, THRUM_MODE_R, NULL), THRUM_EDATA, "'never' is to be read");
    assert_error(thrum_data_acquire(x, THRUM_MODE_COMMUTE, NULL), THRUM_EINVAL, "R, W or RW");
    assert_error(thrum_data_acquire(x, (enum thrum_mode)0, NULL), THRUM_EINVAL, "R, W or RW");
    assert_error(thrum_data_acquire(NULL, THRUM_MODE_R, NULL), THRUM_EINVAL, "NULL");
    assert_error(thrum_data_state(x, 7), THRUM_EINVAL, "no memory node 7");
    assert_int_equal(thrum_data_unregister(NULL), 0);
}

TEST(a_handle_that_is_gone_is_noticed)
{
    thrum_data *gone = thrum_data_variable(ex, &memory[1], sizeof(long));
    thrum_data_set_name(gone, "gone");
    assert_int_equal(thrum_data_unregister(gone), 0);
    assert_error(thrum_data_unregister(gone), THRUM_EINVAL, "'gone' has been unregistered");
    assert_error(thrum_data_acquire(gone, THRUM_MODE_R, NULL), THRUM_EINVAL, "'gone' has been unregistered");
    assert_error(thrum_data_release(gone), THRUM_EINVAL, "'gone' has been unregistered");
    assert_error(thrum_data_state(gone, 0), THRUM_EINVAL, "'gone' has been unregistered");
    cut_refused(gone, &(thrum_cut){.pieces = {1}}, THRUM_EINVAL, "'gone' has been unregistered");
}

/* ---- Recording --------------------------------------------------------------------------------------------------- */

TEST(recording_needs_a_graph_and_is_not_waited_for)
{
    thrum_graph *graph = thrum_graph_new("recorded");
    assert_null(thrum_flow_record(ex, NULL));
    assert_contains(thrum_message(NULL), "the graph is NULL");
    thrum_flow *flow = thrum_flow_record(ex, graph);
    assert_error(thrum_insert(flow, &increment, THRUM_R(never)), THRUM_EDATA, "'never' is read");
    assert_error(thrum_insert(flow, &increment, THRUM_RW(x)), THRUM_EDATA, "'never' is read");
    assert_error(thrum_flow_wait(flow), THRUM_EINVAL, "records");
    assert_error(thrum_flow_free(flow), THRUM_EDATA, "'never' is read");
    flow = thrum_flow_record(ex, graph);
    assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(x)), 0);
    assert_error(thrum_data_acquire(x, THRUM_MODE_R, NULL), THRUM_EINVAL, "record");
    assert_int_equal(thrum_data_acquire(vector, THRUM_MODE_R, NULL), 0);
    assert_int_equal(thrum_data_release(vector), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(thrum_data_acquire(x, THRUM_MODE_R, NULL), 0);
    assert_int_equal(thrum_data_release(x), 0);
    assert_error(thrum_data_unregister(x), THRUM_EBUSY, "a task of a graph uses 'x'");
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(binding_is_to_what_is_alike_and_used)
{
    long y[3] = {0};
    thrum_data *two = thrum_data_vector(ex, y, 2, sizeof(long)), *same = thrum_data_variable(ex, &y[2], sizeof(long));
    thrum_data *foreign = thrum_data_variable(other, &y[0], sizeof(long));
    thrum_graph *graph = thrum_graph_new("bound");
    assert_non_null(thrum_codelet_task(graph, &increment, THRUM_RW(x)));
    assert_error(thrum_graph_bind(NULL, x, same), THRUM_EINVAL, "the graph is NULL");
    assert_error(thrum_graph_bind(graph, NULL, same), THRUM_EINVAL, "NULL");
    assert_error(thrum_graph_bind(graph, x, NULL), THRUM_EINVAL, "NULL");
    assert_error(thrum_graph_bind(graph, x, two), THRUM_EINVAL, "differ in layout");
    assert_error(thrum_graph_bind(graph, x, foreign), THRUM_EINVAL, "another executor");
    assert_error(thrum_graph_bind(graph, vector, vector), THRUM_EINVAL, "no task of the graph uses 'vector'");
    assert_int_equal(thrum_graph_bind(graph, x, same), 0);
    assert_error(thrum_data_unregister(same), THRUM_EBUSY, "graph");
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_error(thrum_run(other, graph), THRUM_EINVAL, "another executor");
    assert_int_equal(y[2], 1);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_data_unregister(two) | thrum_data_unregister(same) | thrum_data_unregister(foreign), 0);
}

TEST(what_is_reduced_into_is_exchanged_for_what_can_be)
{
    long y = 0;
    thrum_data *plain = thrum_data_variable(ex, &y, sizeof y);
    thrum_data_set_name(plain, "plain");
    thrum_graph *graph = thrum_graph_new("reduces");
    thrum_flow *flow = thrum_flow_record(ex, graph);
    assert_int_equal(thrum_data_set_reduction(x, &set, &increment), 0);
    assert_int_equal(thrum_insert(flow, &increment, THRUM_REDUX(x)), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_error(thrum_graph_bind(graph, x, plain), THRUM_EINVAL, "'plain' has no reduction");
    assert_int_equal(thrum_data_set_reduction(plain, &set, &increment), 0);
    assert_int_equal(thrum_graph_bind(graph, x, plain), 0);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_data_unregister(plain), 0);
}

/* Parts lie in the memory of the handle that was cut: another cannot stand in for it. */
TEST(a_handle_that_a_graph_partitions_is_not_exchanged)
{
    long y[10] = {0};
    thrum_data *alike = thrum_data_vector(ex, y, 10, sizeof(long));
    thrum_graph *graph = thrum_graph_new("cut");
    thrum_flow *flow = thrum_flow_record(ex, graph);
    assert_int_equal(thrum_partition(flow, vector, &(thrum_cut){.pieces = {2}}), 0);
    assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(thrum_data_part(vector, 0))), 0);
    assert_int_equal(thrum_unpartition(flow, vector), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_error(thrum_graph_bind(graph, vector, alike), THRUM_EINVAL, "'vector'");
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_data_unregister(alike), 0);
}

TEST(parts_that_a_graph_uses_do_not_end)
{
    thrum_graph *graph = thrum_graph_new("parts");
    thrum_flow *flow = thrum_flow_record(ex, graph);
    assert_int_equal(thrum_partition(flow, vector, &(thrum_cut){.pieces = {2}}), 0);
    assert_int_equal(thrum_insert(flow, &increment, THRUM_RW(thrum_data_part(vector, 0))), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
    flow = thrum_flow_new(ex);
    assert_error(thrum_unpartition(flow, vector), THRUM_EBUSY, "a task of a graph uses part 0 of 'vector'");
    assert_int_equal(thrum_flow_wait(flow), THRUM_EBUSY);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_unpartition(flow, vector), 0);
    assert_int_equal(thrum_flow_free(flow), 0);
}

TEST(codelet_tasks_of_handles_that_are_gone_are_refused)
{
    thrum_data *gone = thrum_data_variable(ex, &memory[1], sizeof(long));
    thrum_graph *graph = thrum_graph_new("gone");
    assert_int_equal(thrum_data_unregister(gone), 0);
    assert_null(thrum_codelet_task(graph, &increment, THRUM_RW(gone)));
    assert_contains(thrum_message(graph), "unregistered");
    assert_int_equal(thrum_run(ex, graph), THRUM_EINVAL);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_task_of_a_graph_that_reads_what_nobody_wrote_fails_the_run)
{
    static const enum thrum_mode modes[] = {THRUM_MODE_R, THRUM_MODE_RW};
    for (size_t i = 0; i < COUNT_OF(modes); i++) {
        thrum_graph *graph = thrum_graph_new("unwritten");
        assert_non_null(thrum_codelet_task(graph, &increment, THRUM_ACCESS(modes[i], never)));
        assert_error(thrum_run(ex, graph), THRUM_EDATA,
                     "task 'increment': 'never' is read, but nothing was written to it before");
        assert_int_equal(thrum_graph_free(graph), 0);
    }
    thrum_graph *graph = thrum_graph_new("written");
    thrum_precede(thrum_codelet_task(graph, &set, THRUM_W(never)),
                  thrum_codelet_task(graph, &increment, THRUM_RW(never)));
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, prepare, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_insertion_names_what_is_wrong_with_its_codelet),
        CASE(an_insertion_names_the_handle_that_it_cannot_use),
        CASE(a_handle_is_named_once_if_it_is_written),
        CASE(settings_of_an_insertion_are_checked),
        CASE(an_executor_without_threads_has_no_workers_to_be_sent_to),
        CASE(a_task_cannot_wait_for_its_own_flow),
        CASE(null_flows_and_small_windows_are_refused),
        CASE(an_executor_with_flows_is_not_freed),
        CASE(a_flow_tells_each_of_its_errors),
        CASE(a_partition_that_cannot_be_is_refused),
        CASE(what_is_partitioned_is_used_by_its_parts),
        CASE(a_partition_that_ends_is_over_for_its_parts),
        CASE(parts_that_overlap_are_only_read),
        CASE(acquiring_is_not_for_tasks_and_not_twice),
        CASE(a_handle_that_is_gone_is_noticed),
        CASE(recording_needs_a_graph_and_is_not_waited_for),
        CASE(binding_is_to_what_is_alike_and_used),
        CASE(what_is_reduced_into_is_exchanged_for_what_can_be),
        CASE(a_handle_that_a_graph_partitions_is_not_exchanged),
        CASE(parts_that_a_graph_uses_do_not_end),
        CASE(codelet_tasks_of_handles_that_are_gone_are_refused),
        CASE(a_task_of_a_graph_that_reads_what_nobody_wrote_fails_the_run),
    };
    return RUN_TESTS(tests, 60);
}
