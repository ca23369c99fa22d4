/* SPDX-License-Identifier: MIT
 *
 * What goes wrong with policies and devices: a sentence each, and everything under way ends.
 */
#include "test.h"

/* ---- Codelets ---------------------------------------------------------------------------------------------------- */

static void increment(const thrum_buffer *b, const void *arg)
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

static void complain(const thrum_buffer *b, const void *arg)
{
    (void)b;
    (void)arg;
    thrum_fail(5, "not today");
}

/* Its first task goes on until it is let go. */
static atomic_int held;
static atomic_bool let_go;

static void hold(const thrum_buffer *b, const void *arg)
{
    (void)b;
    (void)arg;
    if (atomic_fetch_add(&held, 1) > 0)
        return;
    while (!atomic_load(&let_go))
        sched_yield();
}

static bool never(const thrum_place *place, const void *arg)
{
    (void)place;
    (void)arg;
    return false;
}

static const thrum_codelet inc = {.name = "inc", .cpu = increment, .emu = increment};
static const thrum_codelet inc_cpu = {.name = "inc_cpu", .cpu = increment};
static const thrum_codelet inc_emu = {.name = "inc_emu", .emu = increment};
static const thrum_codelet look_any = {.name = "look", .cpu = look, .emu = look};
static const thrum_codelet holding = {.name = "holding", .cpu = hold};
static const thrum_codelet complain_emu = {.name = "complain", .emu = complain};
static const thrum_codelet nobody = {.name = "nobody", .cpu = increment, .emu = increment, .can_run = never};

enum { N = 100 };

static thrum_executor *executor_of(const char *policy, const char *devices)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.policy = policy, .devices = devices});
    if (!ex)
        print_error("%s\n", thrum_message(NULL));
    assert_non_null(ex);
    return ex;
}

static void assert_message(const char *part)
{
    if (!strstr(thrum_message(NULL), part))
        print_error("'%s' is not in: %s\n", part, thrum_message(NULL));
    assert_non_null(strstr(thrum_message(NULL), part));
}

static void end(thrum_executor *ex)
{
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Policies that break their contract -------------------------------------------------------------------------- */

/* A stack, with a twist. */
typedef struct stack {
    thrum_job *top, *given;
    int pushed;
} stack;

static void push_and_wake(void *state, const thrum_world *world, thrum_job *job, int from)
{
    stack *s = state;
    (void)from;
    job->link = s->top;
    s->top = job;
    s->pushed++;
    for (int i = 0; i < world->workers; i++)
        world->wake(world, i);
}

static void push_quietly(void *state, const thrum_world *world, thrum_job *job, int from)
{
    stack *s = state;
    (void)world;
    (void)from;
    job->link = s->top;
    s->top = job;
}

static thrum_job *pop_any(void *state, const thrum_world *world, int worker)
{
    stack *s = state;
    (void)world;
    (void)worker;
    thrum_job *job = s->top;
    if (job)
        s->top = job->link;
    return job;
}

static thrum_job *pop_if_it_can(void *state, const thrum_world *world, int worker)
{
    stack *s = state;
    return s->top && world->can_run(world, s->top, worker) ? pop_any(state, world, worker) : NULL;
}

static thrum_job *pop_again(void *state, const thrum_world *world, int worker)
{
    stack *s = state;
    if (s->given)
        return s->given;
    return s->given = pop_any(state, world, worker);
}

static thrum_job *pop_once(void *state, const thrum_world *world, int worker)
{
    stack *s = state;
    return s->given ? NULL : (s->given = pop_any(state, world, worker));
}

static thrum_job *pop_nothing(void *state, const thrum_world *world, int worker)
{
    (void)state;
    (void)world;
    (void)worker;
    return NULL;
}

static thrum_job *pop_stranger(void *state, const thrum_world *world, int worker)
{
    static thrum_job stranger;
    const stack *s = state;
    (void)world;
    (void)worker;
    return s->top ? &stranger : NULL;
}

static const thrum_policy wrong_policies[] = {
    {.name = "test-twice", .state_bytes = sizeof(stack), .push = push_and_wake, .pop = pop_again},
    {.name = "test-misfit", .state_bytes = sizeof(stack), .push = push_and_wake, .pop = pop_any},
    {.name = "test-keeper", .state_bytes = sizeof(stack), .push = push_and_wake, .pop = pop_nothing},
    {.name = "test-quiet-keeper", .state_bytes = sizeof(stack), .push = push_quietly, .pop = pop_nothing},
    {.name = "test-once", .state_bytes = sizeof(stack), .push = push_and_wake, .pop = pop_once},
    {.name = "test-stranger", .state_bytes = sizeof(stack), .push = push_and_wake, .pop = pop_stranger},
    {.name = "test-quiet", .state_bytes = sizeof(stack), .push = push_quietly, .pop = pop_if_it_can},
    {.name = "test-stack", .state_bytes = sizeof(stack), .push = push_and_wake, .pop = pop_if_it_can},
};

/* Inserts `tasks` of them on handles of their own, and waits. */
static int run_tasks(thrum_executor *ex, const thrum_codelet *codelet, int tasks)
{
    static int memory[10][N];
    thrum_data *data[10];
    thrum_flow *flow = thrum_flow_new(ex);
    for (int i = 0; i < tasks; i++) {
        data[i] = thrum_data_vector(ex, memory[i], N, sizeof(int));
        thrum_insert(flow, codelet, THRUM_RW(data[i]));
    }
    int err = thrum_flow_wait(flow);
    char sentence[512];
    snprintf(sentence, sizeof sentence, "%s", thrum_message(NULL));
    for (int i = 0; i < tasks; i++)
        thrum_data_unregister(data[i]);
    thrum_flow_free(flow);
    thrum_fail(err, "%s", sentence); /* outside a task: sets the thread's message */
    return err;
}

/* A flow with a task that some worker is in the middle of until it is let go. */
static thrum_flow *held_worker(thrum_executor *ex)
{
    thrum_flow *flow = thrum_flow_new(ex);
    atomic_store(&held, 0);
    atomic_store(&let_go, false);
    assert_int_equal(thrum_insert(flow, &holding, THRUM_NONE), 0);
    while (atomic_load(&held) == 0)
        sched_yield();
    return flow;
}

/* What one worker is in the middle of is given to the other. Others fail; the task itself does not, for one worker had
 * it by right. */
TEST(a_policy_that_pops_a_task_twice_fails_the_run)
{
    thrum_executor *ex = executor_of("test-twice", "cpu:2");
    thrum_flow *flow = held_worker(ex);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run_tasks(ex, &inc, 5), THRUM_EPOLICY);
        assert_string_equal(thrum_message(NULL), "policy 'test-twice' popped task 'holding' twice");
    }
    atomic_store(&let_go, true);
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(atomic_load(&held), 1);
    end(ex);
}

TEST(a_policy_that_pops_for_a_worker_that_cannot_run_it_fails_the_run)
{
    thrum_executor *ex = executor_of("test-misfit", "cpu:1,emu:1");
    assert_int_equal(run_tasks(ex, &nobody, 1), THRUM_EINVAL);
    int err = 0;
    for (int i = 0; i < 100 && !err; i++)
        err = run_tasks(ex, i % 2 ? &inc_emu : &inc_cpu, 5);
    assert_int_equal(err, THRUM_EPOLICY);
    assert_message("policy 'test-misfit' popped task 'inc_");
    assert_message("and cannot run it");
    end(ex);
}

TEST(a_policy_that_keeps_tasks_fails_the_run)
{
    thrum_executor *ex = executor_of("test-keeper", "cpu:2");
    assert_int_equal(run_tasks(ex, &inc, 3), THRUM_EPOLICY);
    assert_message("policy 'test-keeper' keeps ");
    assert_message("the first 'inc', and gives ");
    end(ex);
    ex = executor_of("test-quiet-keeper", "cpu:1,emu:1");
    assert_int_equal(run_tasks(ex, &inc, 1), THRUM_EPOLICY);
    assert_message("policy 'test-quiet-keeper' keeps 1 task, the first 'inc', and gives it to no worker");
    end(ex);
}

/* They become ready while the only worker is busy, so all are there when it asks. */
TEST(the_first_of_the_tasks_that_a_policy_keeps_is_named)
{
    thrum_executor *ex = executor_of("test-once", "cpu:1");
    thrum_flow *flow = held_worker(ex);
    thrum_insert(flow, &look_any, THRUM_NAME("first"));
    thrum_insert(flow, &look_any, THRUM_NAME("second"));
    thrum_insert(flow, &look_any, THRUM_NAME("third"));
    atomic_store(&let_go, true);
    assert_int_equal(thrum_flow_wait(flow), THRUM_EPOLICY);
    assert_string_equal(thrum_message(NULL),
                        "policy 'test-once' keeps 3 tasks, the first 'first', and gives them to no worker");
    thrum_flow_free(flow);
    end(ex);
}

TEST(a_policy_that_gives_what_was_never_pushed_fails_the_run)
{
    thrum_executor *ex = executor_of("test-stranger", "cpu:2");
    assert_int_equal(run_tasks(ex, &inc, 3), THRUM_EPOLICY);
    assert_message("policy 'test-stranger' gave worker ");
    assert_message(", which is a processor, a task that was never pushed, or has been popped before and has ended");
    end(ex);
}

TEST(a_policy_that_wakes_nobody_is_asked_all_the_same)
{
    thrum_executor *ex = executor_of("test-quiet", "cpu:2,emu:1");
    for (int i = 0; i < 20; i++)
        assert_int_equal(run_tasks(ex, i % 2 ? &inc_emu : &inc_cpu, 10), 0);
    end(ex);
}

static void push_refusing(void *state, const thrum_world *world, thrum_job *job, int from)
{
    if (strcmp(job->name, "inc_cpu") == 0)
        world->refuse(world, job, 77, "this one not");
    else
        push_and_wake(state, world, job, from);
}

static const thrum_policy choosy = {
    .name = "test-choosy", .state_bytes = sizeof(stack), .push = push_refusing, .pop = pop_if_it_can};

/* All that came before has run; and the next flow goes on as if nothing had been. */
TEST(a_task_that_the_policy_refuses_fails_its_flow)
{
    static int numbers[N];
    assert_int_equal(thrum_policy_register(&choosy), 0);
    thrum_executor *ex = executor_of("test-choosy", "cpu:2,emu:1");
    thrum_data *data = thrum_data_vector(ex, numbers, N, sizeof *numbers);
    for (int i = 0; i < 3; i++) {
        thrum_flow *flow = thrum_flow_new(ex);
        thrum_insert(flow, &inc, THRUM_RW(data));
        thrum_insert(flow, i % 2 ? &inc_cpu : &inc, THRUM_RW(data));
        assert_int_equal(thrum_flow_wait(flow), i % 2 ? 77 : 0);
        if (i % 2)
            assert_message("this one not");
        thrum_flow_free(flow);
    }
    assert_int_equal(thrum_data_unregister(data), 0);
    assert_int_equal(numbers[0], 5);
    end(ex);
}

TEST(an_architecture_that_cannot_run_a_bucket_cannot_be_its_fastest)
{
    static const char *const policies[] = {"heteroprio;fastest.inc_cpu=emu", "laheteroprio;fastest.inc_cpu=emu"};
    static int numbers[N];
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        thrum_executor *ex = executor_of(policies[i], "cpu:1,emu:1");
        thrum_data *data = thrum_data_vector(ex, numbers, N, sizeof *numbers);
        thrum_flow *flow = thrum_flow_new(ex);
        thrum_insert(flow, &inc_cpu, THRUM_RW(data));
        assert_int_equal(thrum_flow_wait(flow), THRUM_EOPTION);
        assert_message("'fastest.inc_cpu=emu', but codelet 'inc_cpu' of that bucket is not for emu: an architecture "
                       "that cannot run a bucket cannot be its fastest");
        thrum_flow_free(flow);
        assert_int_equal(thrum_data_unregister(data), 0);
        end(ex);
    }
}

TEST(a_policy_of_a_users_own_is_found_by_its_name)
{
    thrum_executor *ex = executor_of("test-stack", "cpu:2,emu:2");
    for (int i = 0; i < 20; i++)
        assert_int_equal(run_tasks(ex, i % 3 == 0 ? &inc_emu : i % 3 == 1 ? &inc_cpu : &inc, 10), 0);
    end(ex);
}

/* ---- Devices that fail ------------------------------------------------------------------------------------------- */

TEST(a_kernel_on_a_device_fails_its_flow)
{
    thrum_executor *ex = executor_of("fifo", "cpu:1,emu:1");
    assert_int_equal(run_tasks(ex, &complain_emu, 3), 5);
    assert_string_equal(thrum_message(NULL), "not today");
    assert_int_equal(run_tasks(ex, &inc_emu, 3), 0);
    end(ex);
}

TEST(a_device_that_breaks_fails_the_flow_and_others_go_on)
{
    static const char *const policies[] = {"fifo", "prio",  "random",     "ws",           "lws",
                                           "dmda", "dmdas", "heteroprio", "laheteroprio", "test-stack"};
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        thrum_executor *ex = executor_of(policies[i], "cpu:2,emu:2;fail=3");
        int err = 0;
        for (int round = 0; round < 40; round++) {
            err = run_tasks(ex, &inc_emu, 10);
            if (err && round > 30)
                break;
        }
        assert_int_equal(err, THRUM_EDEVICE);
        assert_message("emu ");
        assert_int_equal(run_tasks(ex, &inc_cpu, 10), 0);
        assert_int_equal(run_tasks(ex, &inc, 10), 0);
        assert_int_equal(run_tasks(ex, &inc_emu, 10), THRUM_EDEVICE);
        assert_message("no worker is left that can run task 'inc_emu': emu ");
        end(ex);
    }
}

/* The only content was there. */
TEST(content_that_is_lost_with_a_device_is_said_to_be)
{
    thrum_executor *ex = executor_of("fifo", "cpu:1,emu:1;fail=2");
    int x[N] = {0}, y[N] = {0};
    thrum_data *data = thrum_data_vector(ex, x, N, sizeof(int)), *other = thrum_data_vector(ex, y, N, sizeof(int));
    assert_int_equal(thrum_data_set_name(data, "precious"), 0);
    thrum_flow *flow = thrum_flow_new(ex);
    thrum_insert(flow, &inc_emu, THRUM_RW(data));
    assert_int_equal(thrum_flow_wait(flow), 0);
    thrum_insert(flow, &inc_emu, THRUM_RW(other));
    assert_int_equal(thrum_flow_wait(flow), THRUM_EDEVICE);
    thrum_insert(flow, &inc, THRUM_RW(data));
    assert_int_equal(thrum_flow_wait(flow), THRUM_EDEVICE);
    assert_message("the content of 'precious' was on emu 0 only and is lost: emu 0 has failed");
    assert_int_equal(thrum_data_unregister(data), THRUM_EDEVICE);
    thrum_insert(flow, &look_any, THRUM_R(other));
    thrum_flow_wait(flow);
    thrum_data_unregister(other);
    thrum_flow_free(flow);
    end(ex);
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

static void slow(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    for (int i = 0; i < 20000; i++)
        ((volatile int *)b[0].ptr)[i % N]++;
}
static const thrum_codelet slow_codelet = {.name = "slow", .cpu = slow, .emu = slow};

TEST(tasks_of_a_graph_that_use_a_handle_at_once_fail_the_run)
{
    thrum_executor *ex = executor_of("fifo", "cpu:1,emu:1");
    static int x[N];
    thrum_data *data = thrum_data_vector(ex, x, N, sizeof(int));
    thrum_data_set_name(data, "shared");
    thrum_graph *graph = thrum_graph_new("g");
    for (int i = 0; i < 50; i++)
        assert_non_null(thrum_codelet_task(graph, &slow_codelet, THRUM_RW(data), THRUM_NAME(i % 2 ? "odd" : "even")));
    int err = 0;
    for (int i = 0; i < 100 && !err; i++)
        err = thrum_run(ex, graph);
    assert_int_equal(err, THRUM_EDATA);
    assert_message("use 'shared' at the same time, and at least one of them writes it");
    thrum_graph_free(graph);
    assert_int_equal(thrum_data_unregister(data), 0);
    end(ex);
}

TEST(a_task_of_a_graph_that_reads_what_nobody_wrote_fails_the_run)
{
    thrum_executor *ex = executor_of("fifo", "cpu:1,emu:1");
    thrum_data *data = thrum_data_vector(ex, NULL, N, sizeof(int));
    thrum_graph *graph = thrum_graph_new("g");
    assert_non_null(thrum_codelet_task(graph, &inc_emu, THRUM_RW(data)));
    assert_int_equal(thrum_run(ex, graph), THRUM_EDATA);
    assert_message("task 'inc_emu' reads ");
    assert_message("which nobody has written");
    thrum_graph_free(graph);
    thrum_data_unregister(data);
    end(ex);
}

/* ---- Kernels that wait ------------------------------------------------------------------------------------------- */

static thrum_executor *nested_on;
static thrum_graph *nested_graph;
static int nested_code[2];

static void nothing(void *arg)
{
    (void)arg;
}

static void wait_inside(const thrum_buffer *b, const void *arg)
{
    (void)b;
    (void)arg;
    thrum_flow *flow = thrum_flow_new(nested_on);
    nested_code[0] = flow ? 0 : strstr(thrum_message(NULL), "a kernel on a device cannot have a flow") != NULL;
    nested_code[1] = thrum_run(nested_on, nested_graph);
    thrum_flow_free(flow);
}

/* It would hold memory that what it waits for may need: waits could go round in circles. */
TEST(a_kernel_on_a_device_cannot_wait_for_other_tasks)
{
    static const thrum_codelet waiting = {.name = "waiting", .emu = wait_inside};
    static int x[N];
    thrum_executor *ex = executor_of("fifo", "cpu:1,emu:1");
    nested_on = ex;
    nested_graph = thrum_graph_new("nested");
    thrum_task_new(nested_graph, nothing, NULL);
    thrum_data *data = thrum_data_vector(ex, x, N, sizeof(int));
    thrum_flow *flow = thrum_flow_new(ex);
    thrum_insert(flow, &waiting, THRUM_RW(data));
    assert_int_equal(thrum_flow_free(flow), 0);
    assert_int_equal(nested_code[0], 1);
    assert_int_equal(nested_code[1], THRUM_EDEADLOCK);
    thrum_graph_free(nested_graph);
    thrum_data_unregister(data);
    end(ex);
}

/* ---- Configurations ---------------------------------------------------------------------------------------------- */

static void assert_refused(const thrum_config *config, int code, const char *part)
{
    assert_null(thrum_executor_new(config));
    assert_message(part);
    (void)code;
}

TEST(configurations_that_cannot_be_are_refused)
{
    assert_refused(&(thrum_config){.policy = "nonesuch"}, THRUM_EINVAL, "there is no policy 'nonesuch'");
    assert_refused(&(thrum_config){.devices = "cpu,gpu"}, THRUM_EOPTION, "there are no devices of the kind 'gpu'");
    assert_refused(&(thrum_config){.devices = "cpu,cpu"}, THRUM_EOPTION, "'cpu' is twice in the list of devices");
    assert_refused(&(thrum_config){.devices = "cpu;memory=1GiB"}, THRUM_EOPTION, "'cpu' has no settings");
    assert_refused(&(thrum_config){.devices = "emu:70"}, THRUM_EOPTION, "more than 63 devices");
    assert_refused(&(thrum_config){.devices = "emu:1;memory=0"}, THRUM_EOPTION, "memory");
    assert_refused(&(thrum_config){.policy = "fifo", .threadless = true}, THRUM_EINVAL,
                   "an executor without threads has neither a policy nor devices");
    assert_refused(
        &(thrum_config){.devices = "emu:1", .domains = &(thrum_domain_config){"emu 0", 1}, .domain_count = 1},
        THRUM_EINVAL, "are both named 'emu 0'");
    thrum_executor *ex = executor_of("fifo", "cpu:2");
    assert_int_equal(thrum_executor_resize(ex, 3), THRUM_EBUSY);
    thrum_place_stats place;
    thrum_node_stats node;
    thrum_link_stats link;
    assert_int_equal(thrum_executor_place(ex, 2, &place), THRUM_EINVAL);
    assert_message("there is no worker for codelets 2; the executor has 2");
    assert_int_equal(thrum_executor_node(ex, 1, &node), THRUM_EINVAL);
    assert_int_equal(thrum_executor_link(ex, 0, 1, &link), THRUM_EINVAL);
    assert_int_equal(thrum_executor_node(ex, 0, NULL), THRUM_EINVAL);
    end(ex);
}

TEST(a_codelet_that_nobody_can_run_is_refused_when_it_is_inserted)
{
    thrum_executor *ex = executor_of("fifo", "cpu:2");
    assert_int_equal(run_tasks(ex, &inc_emu, 1), THRUM_EINVAL);
    assert_message("codelet 'inc_emu' has no implementation that a worker of the executor can run: it has processors");
    end(ex);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_that_pops_a_task_twice_fails_the_run),
        cmocka_unit_test(a_policy_that_pops_for_a_worker_that_cannot_run_it_fails_the_run),
        cmocka_unit_test(a_policy_that_keeps_tasks_fails_the_run),
        cmocka_unit_test(the_first_of_the_tasks_that_a_policy_keeps_is_named),
        cmocka_unit_test(a_policy_that_gives_what_was_never_pushed_fails_the_run),
        cmocka_unit_test(a_policy_that_wakes_nobody_is_asked_all_the_same),
        cmocka_unit_test(a_task_that_the_policy_refuses_fails_its_flow),
        cmocka_unit_test(an_architecture_that_cannot_run_a_bucket_cannot_be_its_fastest),
        cmocka_unit_test(a_policy_of_a_users_own_is_found_by_its_name),
        cmocka_unit_test(a_kernel_on_a_device_fails_its_flow),
        cmocka_unit_test(a_device_that_breaks_fails_the_flow_and_others_go_on),
        cmocka_unit_test(content_that_is_lost_with_a_device_is_said_to_be),
        cmocka_unit_test(tasks_of_a_graph_that_use_a_handle_at_once_fail_the_run),
        cmocka_unit_test(a_task_of_a_graph_that_reads_what_nobody_wrote_fails_the_run),
        cmocka_unit_test(a_kernel_on_a_device_cannot_wait_for_other_tasks),
        cmocka_unit_test(configurations_that_cannot_be_are_refused),
        cmocka_unit_test(a_codelet_that_nobody_can_run_is_refused_when_it_is_inserted),
    };
    for (size_t i = 0; i < sizeof wrong_policies / sizeof wrong_policies[0]; i++)
        if (thrum_policy_register(&wrong_policies[i]))
            return 1;
    return RUN_TESTS(tests, 60);
}
