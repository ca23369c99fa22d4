/* SPDX-License-Identifier: MIT
 *
 * Recursion a hundred thousand levels deep: it works, or there is a sentence that says how it does not. Plain calls
 * here, inline ones in deep_scopes_inline.c.
 */
#include "tasks.h"

#include <sys/resource.h>
#include <ucontext.h>

#if SANITIZED_THREAD || SANITIZED_ADDRESS || !defined(__OPTIMIZE__)
#define LARGE_FRAMES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LARGE_FRAMES 1
#endif
#endif

/* ThreadSanitizer keeps a stack of its own, of 65,536 calls, and crashes beyond: there the stacks are small, so that
 * thrum's end comes first. */
#if SANITIZED_THREAD
static const char stack_megabytes[] = "2";

static void limit_first_stack(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    limit.rlim_cur = 2 << 20;
    setrlimit(RLIMIT_STACK, &limit);
}
#else
static const char stack_megabytes[] = "64";

static void limit_first_stack(void)
{
}
#endif

enum { LEVELS = 100000 };

struct level {
    int left, value;
};

/* value becomes the number of levels from here on. */
static void descend(thrum_scope *up, void *arg)
{
    struct level *level = arg;
    struct level next = {level->left - 1, 0};
    thrum_scope scope;
    if (level->left > 0) {
        thrum_scope_open(&scope, up);
        thrum_spawn(&scope, descend, &next);
        thrum_join(&scope);
    }
    level->value = next.value + 1;
}

static atomic_int visited;

/* The same without open and join. */
static void descend_in_given_scope(thrum_scope *scope, void *arg)
{
    int left = *(const int *)arg - 1;
    count_up(&visited);
    if (left >= 0)
        thrum_spawn_copy(scope, descend_in_given_scope, &left, sizeof left);
}

static void assert_all_or_sentence(int err, int levels)
{
    if (err)
        assert_error(err, THRUM_ELIMIT, "nested too deeply");
    else
        assert_int_equal(levels, LEVELS + 1);
}

static void descend_on(thrum_executor *ex, bool must_work)
{
    struct level top = {LEVELS, 0}, again = {100, 0};
    int levels = LEVELS;
    int err = thrum_scope_run(ex, descend, &top);
    assert_all_or_sentence(err, top.value);
    assert_true(!must_work || !err);
    visited = 0;
    err = thrum_scope_run(ex, descend_in_given_scope, &levels);
    assert_all_or_sentence(err, visited);
    assert_true(!must_work || !err);
    /* It is as good as before. */
    assert_int_equal(thrum_scope_run(ex, descend, &again), 0);
    assert_int_equal(again.value, 101);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_hundred_thousand_levels_in_the_executors_threads)
{
#ifdef LARGE_FRAMES
    bool must_work = false;
#else
    bool must_work = true;
#endif
    descend_on(executor_blocking(1), must_work);
    descend_on(executor_blocking(2), must_work);
}

TEST(a_hundred_thousand_levels_in_the_programs_first_thread)
{
    descend_on(executor_with(1), false);
    descend_on(executor_with(2), false);
    descend_on(executor_threadless(), false);
}

TEST(a_hundred_thousand_levels_in_a_scope_opened_outside)
{
    for (int workers = 1; workers <= 2; workers++) {
        thrum_executor *ex = executor_with(workers);
        struct level top = {LEVELS, 0};
        thrum_scope scope;
        thrum_scope_open_on(&scope, ex);
        thrum_spawn(&scope, descend, &top);
        int err = thrum_join(&scope);
        assert_all_or_sentence(err, top.value);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void in_thread_with_stack(size_t bytes, thrum_fn *fn, void *arg)
{
    struct thread_call call = {.fn = fn, .arg = arg};
    pthread_t thread;
    pthread_attr_t attributes;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, bytes), 0);
    assert_int_equal(pthread_create(&thread, &attributes, thread_call_run, &call), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}

/* What a thread of the test saw; assertions are for the test's own. */
struct outcome {
    int err, value;
    char message[300];
};

static void descend_here(void *arg)
{
    struct outcome *outcome = arg;
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.threadless = true});
    struct level top = {LEVELS, 0};
    outcome->err = ex ? thrum_scope_run(ex, descend, &top) : THRUM_ENOMEM;
    outcome->value = top.value;
    snprintf(outcome->message, sizeof outcome->message, "%s", thrum_message(NULL));
    thrum_executor_free(ex);
}

TEST(the_sentence_names_the_size_of_the_stack)
{
    struct outcome outcome = {0, 0, ""};
    in_thread_with_stack(1 << 20, descend_here, &outcome);
    assert_int_equal(outcome.err, THRUM_ELIMIT);
    assert_true(outcome.value > 100 && outcome.value < LEVELS);
    /* The system may count a page or two as its own, or give a larger one that it has. */
    const char *size = strstr(outcome.message, "for the ");
    assert_non_null(size);
    int kib = atoi(size + strlen("for the "));
    assert_true(kib >= 1000 && kib <= 4096);
    assert_contains(outcome.message, "KiB stack of this thread");
}

static void set_stack_megabytes(const char *value)
{
    assert_int_equal(setenv("THRUM_STACK_MB", value, 1), 0);
}

TEST(the_option_sets_the_size_of_the_executors_stacks)
{
    static const char *const sizes[] = {"1", "4"};
    int values[2];
    for (int i = 0; i < 2; i++) {
        set_stack_megabytes(sizes[i]);
        thrum_executor *ex = executor_blocking(1);
        struct level top = {LEVELS, 0};
        assert_error(thrum_scope_run(ex, descend, &top), THRUM_ELIMIT, "nested too deeply");
        values[i] = top.value;
        assert_int_equal(thrum_executor_free(ex), 0);
    }
    set_stack_megabytes(stack_megabytes);
    assert_true(values[1] > values[0] + values[0] / 2);
}

/* ---- Other kinds of nesting -------------------------------------------------------------------------------------- */

#ifndef THRUM_INLINE

struct nest {
    thrum_executor *ex;
    int depth, deepest, err;
};

/* One level: the step fails at some depth, and the levels above fail with it or note what they were told. */
static void note(struct nest *nest, int err)
{
    if (nest->depth > nest->deepest)
        nest->deepest = nest->depth;
    if (err && !nest->err)
        nest->err = err;
    nest->depth--;
}

static void run_graph_in_graph(void *arg)
{
    struct nest *nest = arg;
    nest->depth++;
    thrum_graph *graph = thrum_graph_new("nested");
    thrum_task *first = thrum_task_new(graph, do_nothing, NULL);
    thrum_precede(first, thrum_task_new(graph, run_graph_in_graph, nest));
    int err = nest->depth < LEVELS ? thrum_run(nest->ex, graph) : 0;
    thrum_graph_free(graph);
    note(nest, err);
}

static void start_graph_in_graph(void *arg)
{
    struct nest *nest = arg;
    nest->depth++;
    thrum_graph *graph = thrum_graph_new("nested");
    thrum_task_new(graph, start_graph_in_graph, nest);
    thrum_task_new(graph, do_nothing, nest);
    thrum_handle *handle = nest->depth < LEVELS ? thrum_start(nest->ex, graph) : NULL;
    int err = handle ? thrum_wait(handle) : 0;
    thrum_release(handle);
    thrum_graph_free(graph);
    note(nest, err);
}

static void submit_and_wait(void *arg)
{
    struct nest *nest = arg;
    nest->depth++;
    thrum_handle *handle = nest->depth < LEVELS ? thrum_submit(nest->ex, submit_and_wait, nest) : NULL;
    int err = handle ? thrum_wait(handle) : 0;
    thrum_release(handle);
    note(nest, err);
}

static void scope_run_in_scope_run(thrum_scope *scope, void *arg)
{
    (void)scope;
    struct nest *nest = arg;
    nest->depth++;
    note(nest, nest->depth < LEVELS ? thrum_scope_run(nest->ex, scope_run_in_scope_run, nest) : 0);
}

static void run_scope(void *arg)
{
    struct nest *nest = arg;
    note(nest, thrum_scope_run(nest->ex, scope_run_in_scope_run, nest));
}

static void graph_in_scope(thrum_scope *scope, void *arg)
{
    struct nest *nest = arg;
    if (++nest->depth == LEVELS)
        return;
    thrum_graph *graph = thrum_scope_graph(scope, "inner");
    thrum_scope_task_new(graph, graph_in_scope, nest);
}

static void run_graphs_in_scopes(void *arg)
{
    struct nest *nest = arg;
    nest->err = thrum_scope_run(nest->ex, graph_in_scope, nest);
    nest->deepest = nest->depth;
}

TEST(work_nested_in_other_ways_fails_with_a_sentence_too)
{
    static thrum_fn *const steps[] = {run_graph_in_graph, start_graph_in_graph, submit_and_wait, run_scope,
                                      run_graphs_in_scopes};
    set_stack_megabytes("1");
    assert_int_equal(setenv("THRUM_SPARES", "0", 1), 0);
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        struct nest nest = {.ex = executor_blocking(1)};
        thrum_handle *handle = thrum_submit(nest.ex, steps[i], &nest);
        assert_int_equal(thrum_wait(handle), 0);
        thrum_release(handle);
        assert_int_equal(nest.err, THRUM_ELIMIT);
        assert_true(nest.deepest > 100 && nest.deepest < LEVELS);
        assert_int_equal(thrum_executor_free(nest.ex), 0);
    }
    unsetenv("THRUM_SPARES");
    set_stack_megabytes(stack_megabytes);
}

#endif

/* ---- Stacks that are not the thread's own ------------------------------------------------------------------------ */

#if !SANITIZED_THREAD
static ucontext_t outside, on_other_stack;
static struct level other_top;
static int other_err;

static void descend_a_little(void)
{
    thrum_scope scope;
    thrum_scope_open(&scope, NULL);
    thrum_spawn(&scope, descend, &other_top);
    other_err = thrum_join(&scope);
}

static void switch_stacks(void *stack, size_t bytes)
{
    other_top = (struct level){100, 0};
    other_err = -1;
    assert_int_equal(getcontext(&on_other_stack), 0);
    on_other_stack.uc_stack.ss_sp = stack;
    on_other_stack.uc_stack.ss_size = bytes;
    on_other_stack.uc_link = &outside;
    makecontext(&on_other_stack, descend_a_little, 0);
    assert_int_equal(swapcontext(&outside, &on_other_stack), 0);
    assert_int_equal(other_err, 0);
    assert_int_equal(other_top.value, 101);
}

TEST(on_a_stack_of_the_programs_own_nothing_is_too_deep)
{
    enum { BYTES = 1 << 20 };
    static char low[BYTES];
    void *high = malloc(BYTES);
    assert_non_null(high);
    switch_stacks(low, BYTES);
    switch_stacks(high, BYTES);
    free(high);
}
#endif

static void descend_by_heap(thrum_scope *up, void *arg)
{
    struct level *level = arg;
    struct level next = {level->left - 1, 0};
    thrum_scope *scope = malloc(sizeof *scope);
    if (level->left > 0 && scope) {
        thrum_scope_open(scope, up);
        thrum_spawn(scope, descend_by_heap, &next);
        thrum_join(scope);
    }
    free(scope);
    level->value = next.value + 1;
}

TEST(a_scope_that_does_not_lie_on_the_stack_is_judged_by_the_stack)
{
    thrum_executor *ex = executor_blocking(1);
    struct level little = {100, 0}, much = {LEVELS, 0};
    assert_int_equal(thrum_scope_run(ex, descend_by_heap, &little), 0);
    assert_int_equal(little.value, 101);
    int err = thrum_scope_run(ex, descend_by_heap, &much);
    assert_all_or_sentence(err, much.value);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_thousand_levels_in_the_executors_threads),
        cmocka_unit_test(a_hundred_thousand_levels_in_the_programs_first_thread),
        cmocka_unit_test(a_hundred_thousand_levels_in_a_scope_opened_outside),
        cmocka_unit_test(the_sentence_names_the_size_of_the_stack),
        cmocka_unit_test(the_option_sets_the_size_of_the_executors_stacks),
#ifndef THRUM_INLINE
        cmocka_unit_test(work_nested_in_other_ways_fails_with_a_sentence_too),
#endif
#if !SANITIZED_THREAD
        cmocka_unit_test(on_a_stack_of_the_programs_own_nothing_is_too_deep),
#endif
        cmocka_unit_test(a_scope_that_does_not_lie_on_the_stack_is_judged_by_the_stack),
    };
    limit_first_stack();
    setenv("THRUM_STACK_MB", stack_megabytes, 1);
    return RUN_TESTS(tests, 60);
}
