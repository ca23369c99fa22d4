/* SPDX-License-Identifier: MIT
 *
 * Another number of workers between runs.
 */
#include "tasks.h"

struct pinned {
    int worker;
    atomic_int right, wrong;
};

static void check_worker(void *arg)
{
    struct pinned *pinned = arg;
    atomic_fetch_add(thrum_worker_index() == pinned->worker ? &pinned->right : &pinned->wrong, 1);
}

/* As many tasks as there are workers must be there at the same time. */
struct meeting {
    atomic_int there;
    int expected;
};

static void meet(void *arg)
{
    struct meeting *meeting = arg;
    int all = (atomic_fetch_add(&meeting->there, 1) / meeting->expected + 1) * meeting->expected;
    while (atomic_load(&meeting->there) < all)
        sched_yield();
}

static void meet_in_scope(thrum_scope *scope, void *arg)
{
    (void)scope;
    meet(arg);
}

static void call_meeting(thrum_scope *scope, void *arg)
{
    const struct meeting *meeting = arg;
    for (int i = 0; i < meeting->expected; i++)
        thrum_spawn(scope, meet_in_scope, arg);
}

static void check_size(thrum_executor *ex, int workers)
{
    assert_int_equal(thrum_executor_workers(ex), workers);
    struct meeting meeting = {.expected = workers};
    thrum_graph *graph = thrum_graph_new("meeting");
    for (int i = 0; i < workers; i++)
        thrum_task_new(graph, meet, &meeting);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_scope_run(ex, call_meeting, &meeting), 0);
    thrum_handle *handles[64];
    for (int i = 0; i < workers; i++)
        assert_non_null(handles[i] = thrum_submit(ex, meet, &meeting));
    assert_int_equal(thrum_executor_wait(ex), 0);
    for (int i = 0; i < workers; i++) {
        assert_int_equal(thrum_wait(handles[i]), 0);
        thrum_release(handles[i]);
    }
    assert_int_equal(atomic_load(&meeting.there), 3 * workers);
    assert_int_equal(thrum_graph_free(graph), 0);
}

static void check_pins(thrum_executor *ex, int workers)
{
    struct pinned *pins = calloc((size_t)workers, sizeof *pins);
    thrum_graph *graph = thrum_graph_new("pins");
    for (int i = 0; i < workers; i++) {
        pins[i].worker = i;
        thrum_task_pin_worker(thrum_task_new(graph, check_worker, &pins[i]), i);
    }
    assert_int_equal(thrum_run_n(ex, graph, 5), 0);
    for (int i = 0; i < workers; i++) {
        assert_int_equal(atomic_load(&pins[i].right), 5);
        assert_int_equal(atomic_load(&pins[i].wrong), 0);
    }
    thrum_task_pin_worker(thrum_task_new(graph, do_nothing, NULL), workers);
    assert_int_equal(thrum_run(ex, graph), THRUM_EINVAL);
    assert_contains(thrum_message(graph), "but the executor has");
    free(pins);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(an_executor_grows_and_shrinks)
{
    static const int sizes[] = {2, 5, 1, 8, 8, 3, 1, 2, 20, 4};
    for (int callers = THRUM_CALLERS_HELP; callers <= THRUM_CALLERS_BLOCK; callers++) {
        thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 3, .callers = (enum thrum_callers)callers});
        assert_non_null(ex);
        for (size_t i = 0; i < COUNT_OF(sizes); i++) {
            assert_int_equal(thrum_executor_resize(ex, sizes[i]), 0);
            check_size(ex, sizes[i]);
            check_pins(ex, sizes[i]);
        }
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(resizing_needs_no_run_in_between)
{
    thrum_executor *ex = executor_with(1);
    for (int i = 0; i < 60; i++)
        assert_int_equal(thrum_executor_resize(ex, 1 + (i * 7) % 10), 0);
    check_size(ex, 1 + (59 * 7) % 10);
    assert_int_equal(thrum_executor_free(ex), 0);
    ex = executor_with(4);
    assert_int_equal(thrum_executor_resize(ex, 2), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_run_right_after_resizing_is_whole)
{
    thrum_executor *ex = executor_with(1);
    thrum_graph *graph = thrum_graph_new("right after");
    atomic_int count = 0;
    thrum_task *first = thrum_placeholder_new(graph);
    for (int i = 0; i < 100; i++)
        thrum_precede(first, thrum_task_new(graph, count_up, &count));
    for (int round = 1; round <= 60; round++) {
        assert_int_equal(thrum_executor_resize(ex, 1 + round % 4), 0);
        thrum_handle *handle = thrum_start(ex, graph);
        assert_int_equal(thrum_wait(handle), 0);
        thrum_release(handle);
        assert_int_equal(atomic_load(&count), 100 * round);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* A worker that has just ended a function stands ready for the next one. It may be told to end in that moment. */
TEST(no_function_is_handed_to_a_worker_that_has_gone)
{
    thrum_executor *ex = executor_blocking(1);
    atomic_int count = 0;
    for (int round = 1; round <= 300; round++) {
        thrum_handle *handle = thrum_submit(ex, count_up, &count);
        assert_int_equal(thrum_wait(handle), 0);
        thrum_release(handle);
        assert_int_equal(atomic_load(&count), round);
        assert_int_equal(thrum_executor_resize(ex, 1 + round % 2), 0);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* With guests and stand-ins, which are used again. */
static void wait_inside(void *arg)
{
    thrum_executor *ex = *(thrum_executor **)arg;
    thrum_handle *handle = thrum_submit(ex, do_nothing, NULL);
    thrum_wait(handle);
    thrum_release(handle);
    pause_ms(1);
}

static void use_from_outside(void *arg)
{
    thrum_executor *ex = *(thrum_executor **)arg;
    thrum_graph *graph = thrum_graph_new("outside");
    for (int i = 0; i < 4; i++)
        thrum_task_new(graph, wait_inside, arg);
    thrum_run(ex, graph);
    thrum_graph_free(graph);
}

static size_t memory_kb(void)
{
    char line[200];
    size_t kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %zu", &kb) == 1)
            break;
    if (file)
        fclose(file);
    return kb;
}

TEST(memory_stays_flat)
{
    thrum_executor *ex = executor_with(2);
    size_t before = 0;
    for (int round = 0; round < 120; round++) {
        in_threads(3, use_from_outside, &ex);
        assert_int_equal(thrum_executor_wait(ex), 0);
        assert_int_equal(thrum_executor_resize(ex, 1 + (round * 5) % 12), 0);
        if (round == 40)
            before = memory_kb();
    }
#if !SANITIZED_THREAD && !SANITIZED_ADDRESS
    assert_true(memory_kb() < before + 4000);
#else
    (void)before;
#endif
    check_size(ex, 1 + (119 * 5) % 12);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* What workers that have gone counted is not forgotten. */
static void start_another(void *arg)
{
    struct meeting *meeting = arg;
    thrum_async(thrum_context(), do_nothing, NULL);
    atomic_fetch_add(&meeting->there, 1);
}

TEST(everything_is_waited_for_after_many_workers_have_gone)
{
    enum { MANY = 120 };
    thrum_executor *ex = executor_with(MANY);
    thrum_graph *graph = thrum_graph_new("many");
    struct meeting meeting = {.expected = MANY};
    for (int i = 0; i < MANY; i++)
        thrum_task_pin_worker(thrum_task_new(graph, start_another, &meeting), i);
    assert_int_equal(thrum_run_with(ex, graph, ex), 0);
    assert_int_equal(thrum_executor_wait(ex), 0);
    assert_int_equal(thrum_executor_resize(ex, 1), 0);
    assert_int_equal(thrum_executor_wait(ex), 0);
    check_size(ex, 1);
    assert_int_equal(thrum_executor_resize(ex, 3), 0);
    check_size(ex, 3);
    assert_int_equal(atomic_load(&meeting.there), MANY);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Other domains, sources, traces ------------------------------------------------------------------------------ */

static void check_domain(void *arg)
{
    struct pinned *pinned = arg; /* `worker` is the domain here */
    atomic_fetch_add(thrum_domain_index() == pinned->worker ? &pinned->right : &pinned->wrong, 1);
}

TEST(other_domains_stay_as_they_are)
{
    thrum_domain_config domains[] = {{"one", 1}, {"two", 2}};
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2, .domains = domains, .domain_count = 2});
    assert_non_null(ex);
    thrum_graph *graph = thrum_graph_new("through all");
    struct pinned pins[30];
    thrum_task *before = NULL;
    for (int i = 0; i < 30; i++) {
        pins[i] = (struct pinned){.worker = i % 3};
        thrum_task *task = thrum_task_new(graph, check_domain, &pins[i]);
        thrum_task_pin_domain(task, i % 3);
        if (before)
            thrum_precede(before, task);
        before = task;
    }
    for (int round = 1; round <= 40; round++) {
        assert_int_equal(thrum_executor_resize(ex, 1 + round % 5), 0);
        assert_int_equal(thrum_executor_domains(ex), 3);
        assert_int_equal(thrum_executor_domain_workers(ex, 2), 2);
        assert_int_equal(thrum_run_n(ex, graph, 2), 0);
        for (int i = 0; i < 30; i++)
            assert_int_equal(atomic_load(&pins[i].right), 2 * round);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static int count_in_file(const char *path, const char *part)
{
    FILE *file = fopen(path, "r");
    static char line[4000];
    int count = 0;
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, part) != NULL;
    if (file)
        fclose(file);
    return count;
}

TEST(a_trace_keeps_the_events_of_workers_that_have_gone)
{
    enum { ROUNDS = 12, TASKS = 50 };
    char path[] = "resizing-trace-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 90, .trace = path});
    assert_non_null(ex);
    thrum_graph *graph = thrum_graph_new("traced");
    struct pinned pin = {.worker = 89};
    thrum_task *task = thrum_task_new(graph, check_worker, &pin);
    thrum_task_set_name(task, "on the last");
    thrum_task_pin_worker(task, 89);
    assert_int_equal(thrum_run(ex, graph), 0);
    thrum_task_pin_worker(task, -1);
    thrum_task_set(task, do_nothing, NULL);
    for (int i = 1; i < TASKS; i++)
        thrum_task_set_name(thrum_task_new(graph, do_nothing, NULL), "plain");
    for (int round = 0; round < ROUNDS; round++) {
        assert_int_equal(thrum_executor_resize(ex, round % 3 == 2 ? 80 : 1 + round), 0);
        assert_int_equal(thrum_run(ex, graph), 0);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_resize(ex, 1), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
    assert_int_equal(atomic_load(&pin.right), 1);
    assert_int_equal(count_in_file(path, "\"plain\""), ROUNDS * (TASKS - 1));
    assert_int_equal(count_in_file(path, "\"on the last\""), ROUNDS + 1);
    assert_int_equal(fclose(fdopen(fd, "r")), 0);
    assert_int_equal(remove(path), 0);
}

/* ---- Wrong use --------------------------------------------------------------------------------------------------- */

struct inside {
    thrum_executor *ex;
    int err;
};

static void resize_inside(void *arg)
{
    struct inside *inside = arg;
    inside->err = thrum_executor_resize(inside->ex, 3);
}

TEST(a_busy_executor_is_not_resized)
{
    thrum_executor *ex = executor_with(2);
    struct gate gate = {false, false};
    thrum_handle *handle = thrum_submit(ex, stay_at_gate, &gate);
    await_entered(&gate);
    assert_error(thrum_executor_resize(ex, 3), THRUM_EBUSY, "something runs on the executor");
    open_gate(&gate);
    assert_int_equal(thrum_wait(handle), 0);
    thrum_release(handle);
    struct inside inside = {ex, 0};
    thrum_graph *graph = thrum_graph_new("inside");
    thrum_task_new(graph, resize_inside, &inside);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(inside.err, THRUM_EBUSY);
    assert_int_equal(thrum_graph_free(graph), 0);
    thrum_scope scope;
    thrum_scope_open_on(&scope, ex);
    assert_error(thrum_executor_resize(ex, 3), THRUM_EBUSY, "a task cannot change");
    assert_int_equal(thrum_join(&scope), 0);
    assert_int_equal(thrum_executor_workers(ex), 2);
    assert_int_equal(thrum_executor_resize(ex, 3), 0);
    check_size(ex, 3);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(wrong_numbers_are_refused)
{
    thrum_executor *ex = executor_with(2);
    assert_error(thrum_executor_resize(ex, 0), THRUM_EINVAL, "workers is 0");
    assert_error(thrum_executor_resize(ex, -3), THRUM_EINVAL, "workers is -3");
    assert_error(thrum_executor_resize(ex, 1025), THRUM_EINVAL, "from 1 to 1024");
    check_size(ex, 2);
    assert_int_equal(thrum_executor_free(ex), 0);
    ex = executor_threadless();
    assert_error(thrum_executor_resize(ex, 2), THRUM_EINVAL, "no threads");
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(the_default_executor_is_resized)
{
    int before = thrum_executor_workers(NULL);
    assert_int_equal(thrum_executor_resize(NULL, before + 2), 0);
    check_size(NULL, before + 2);
    assert_int_equal(thrum_executor_resize(NULL, before), 0);
    check_size(NULL, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_executor_grows_and_shrinks),
        cmocka_unit_test(resizing_needs_no_run_in_between),
        cmocka_unit_test(a_run_right_after_resizing_is_whole),
        cmocka_unit_test(no_function_is_handed_to_a_worker_that_has_gone),
        cmocka_unit_test(memory_stays_flat),
        cmocka_unit_test(everything_is_waited_for_after_many_workers_have_gone),
        cmocka_unit_test(other_domains_stay_as_they_are),
        cmocka_unit_test(a_trace_keeps_the_events_of_workers_that_have_gone),
        cmocka_unit_test(a_busy_executor_is_not_resized),
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(the_default_executor_is_resized),
    };
    return RUN_TESTS(tests, 100);
}
