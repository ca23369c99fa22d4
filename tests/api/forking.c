/* SPDX-License-Identifier: MIT
 *
 * The child of a fork: the parent's executors give it an error and no hang; its own work.
 */
#include "tasks.h"

#include <sys/wait.h>
#include <unistd.h>

/* ThreadSanitizer cannot follow a child of a program with threads that makes threads of its own. */
enum { CHILD_HAS_THREADS = !SANITIZED_THREAD };

static thrum_executor *executor_of_the_child(void)
{
    return thrum_executor_new(&(thrum_config){.workers = CHILD_HAS_THREADS ? 2 : 0, .threadless = !CHILD_HAS_THREADS});
}

/* Calls fn in a child and returns its exit status; the number tells which step went wrong, 0 none. */
static int in_child(int (*fn)(void *), void *arg)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        watchdog_start_in_child(20);
        _exit(fn(arg));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status))
        print_error("the child was ended by signal %d\n", WTERMSIG(status));
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

struct parent {
    thrum_executor *ex;
    thrum_graph *graph;
    thrum_handle *handle;
    atomic_int *count;
};

static int use_executor_of_the_parent(void *arg)
{
    struct parent *parent = arg;
    if (thrum_run(parent->ex, parent->graph) != THRUM_EFORK)
        return 1;
    if (strlen(thrum_message(NULL)) == 0)
        return 2;
    if (thrum_start(parent->ex, parent->graph) != NULL)
        return 3;
    if (thrum_async(parent->ex, count_up, parent->count) != THRUM_EFORK)
        return 4;
    if (thrum_submit(parent->ex, count_up, parent->count) != NULL)
        return 5;
    if (thrum_executor_wait(parent->ex) != THRUM_EFORK)
        return 6;
    if (thrum_scope_run(parent->ex, count_up_in_scope, parent->count) != THRUM_EFORK)
        return 7;
    return 0;
}

static int free_executor_of_the_parent(void *arg)
{
    struct parent *parent = arg;
    thrum_executor_free(parent->ex);
    return 0;
}

static int open_scope_of_the_parent(void *arg)
{
    struct parent *parent = arg;
    thrum_scope scope;
    thrum_scope_open_on(&scope, parent->ex);
    thrum_spawn(&scope, count_up_in_scope, parent->count);
    thrum_join(&scope); /* an error or spawned functions that ran at once: but it returns */
    return 0;
}

static int make_own_executor(void *arg)
{
    struct parent *parent = arg;
    atomic_int count = 0;
    thrum_executor *ex = executor_of_the_child();
    if (!ex)
        return 1;
    thrum_graph *graph = thrum_graph_new("child");
    for (int i = 0; i < 100; i++)
        thrum_task_new(graph, count_up, &count);
    if (thrum_run(ex, graph) || count != 100)
        return 2;
    if (thrum_graph_free(graph))
        return 3;
    if (thrum_executor_free(ex))
        return 4;
    return parent->graph ? 0 : 5;
}

static int run_graph_of_the_parent_on_own_executor(void *arg)
{
    struct parent *parent = arg;
    thrum_executor *ex = executor_of_the_child();
    int before = *parent->count;
    if (!ex || thrum_run(ex, parent->graph) || *parent->count != before + 50)
        return 1;
    return thrum_executor_free(ex) ? 2 : 0;
}

static int use_default_executor(void *arg)
{
    struct parent *parent = arg;
    if (!CHILD_HAS_THREADS)
        return 0;
    int code = thrum_run(NULL, parent->graph);
    return code == THRUM_EFORK || code == 0 ? 0 : 1;
}

/* Until every thread of the executor has come up and has nothing to do. A thread that starts allocates, and the memory
 * allocator of AddressSanitizer hangs in the child of a process that was forked meanwhile. */
static void await_threads(thrum_executor *ex)
{
    static struct gate gates[64];
    int count = thrum_executor_workers(ex);
    assert_in_range(count, 1, 64);
    memset(gates, 0, sizeof gates);
    for (int i = 0; i < count; i++)
        assert_int_equal(thrum_async(ex, stay_at_gate, &gates[i]), 0);
    for (int i = 0; i < count; i++)
        await_entered(&gates[i]);
    for (int i = 0; i < count; i++)
        open_gate(&gates[i]);
    assert_int_equal(thrum_executor_wait(ex), 0);
    pause_ms(20);
}

static void with_parent(int (*fn)(void *))
{
    atomic_int count = 0;
    struct parent parent = {.ex = executor_with(2), .graph = thrum_graph_new("parent"), .count = &count};
    for (int i = 0; i < 50; i++)
        thrum_task_new(parent.graph, count_up, &count);
    assert_int_equal(thrum_run(parent.ex, parent.graph), 0);
    assert_int_equal(thrum_run(NULL, parent.graph), 0);
    await_threads(parent.ex);
    await_threads(thrum_executor_default());
    for (int i = 1; i <= 3; i++)
        assert_int_equal(in_child(fn, &parent), 0);
    assert_int_equal(thrum_run(parent.ex, parent.graph), 0);
    assert_int_equal(count, 150);
    assert_int_equal(thrum_graph_free(parent.graph), 0);
    assert_int_equal(thrum_executor_free(parent.ex), 0);
}

TEST(the_executor_of_the_parent_is_an_error_in_the_child)
{
    with_parent(use_executor_of_the_parent);
}

TEST(the_child_can_give_back_the_executor_of_the_parent)
{
    with_parent(free_executor_of_the_parent);
}

TEST(a_scope_on_the_executor_of_the_parent_does_not_hang_the_child)
{
    with_parent(open_scope_of_the_parent);
}

TEST(the_child_makes_an_executor_of_its_own)
{
    with_parent(make_own_executor);
}

TEST(the_child_runs_a_graph_of_the_parent_on_its_own_executor)
{
    with_parent(run_graph_of_the_parent_on_own_executor);
}

TEST(the_default_executor_does_not_hang_the_child)
{
    with_parent(use_default_executor);
}

static int wait_for_run_of_the_parent(void *arg)
{
    struct parent *parent = arg;
    if (thrum_wait(parent->handle) != THRUM_EFORK)
        return 1;
    return thrum_executor_wait(parent->ex) == THRUM_EFORK ? 0 : 2;
}

TEST(waiting_in_the_child_for_a_run_of_the_parent_is_an_error)
{
    struct gate gate = {0};
    struct parent parent = {.ex = executor_with(2), .graph = thrum_graph_new("parent")};
    await_threads(parent.ex);
    thrum_task_new(parent.graph, stay_at_gate, &gate);
    parent.handle = thrum_start(parent.ex, parent.graph);
    await_entered(&gate);
    int status = in_child(wait_for_run_of_the_parent, &parent);
    open_gate(&gate);
    assert_int_equal(thrum_wait(parent.handle), 0);
    assert_int_equal(status, 0);
    thrum_release(parent.handle);
    assert_int_equal(thrum_graph_free(parent.graph), 0);
    assert_int_equal(thrum_executor_free(parent.ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_executor_of_the_parent_is_an_error_in_the_child),
        cmocka_unit_test(the_child_can_give_back_the_executor_of_the_parent),
        cmocka_unit_test(a_scope_on_the_executor_of_the_parent_does_not_hang_the_child),
        cmocka_unit_test(the_child_makes_an_executor_of_its_own),
        cmocka_unit_test(the_child_runs_a_graph_of_the_parent_on_its_own_executor),
        cmocka_unit_test(the_default_executor_does_not_hang_the_child),
        cmocka_unit_test(waiting_in_the_child_for_a_run_of_the_parent_is_an_error),
    };
    return RUN_TESTS(tests, 90);
}
