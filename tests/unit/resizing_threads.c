/* SPDX-License-Identifier: MIT
 *
 * Another number of workers where the system gives too few threads: this program's pthread_create stands before the
 * system's.
 */
#include "exec/exec_int.h"
#include "tasks.h"

#include <dlfcn.h>
#include <errno.h>

#if SANITIZED_THREAD || SANITIZED_ADDRESS
#define INTERPOSES false /* the sanitizers have a pthread_create of their own */
#else
#define INTERPOSES true
#endif

static atomic_int allowed = 1000; /* threads at the same time */

#if !SANITIZED_THREAD && !SANITIZED_ADDRESS
struct call {
    void *(*fn)(void *);
    void *arg;
};

static void *run_counted(void *arg)
{
    struct call call = *(struct call *)arg;
    free(arg);
    void *result = call.fn(call.arg);
    atomic_fetch_add(&allowed, 1);
    return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    struct call *call = malloc(sizeof *call);
    if (!call || atomic_fetch_sub(&allowed, 1) <= 0) {
        atomic_fetch_add(&allowed, 1);
        free(call);
        return EAGAIN;
    }
    *call = (struct call){fn, arg};
    return real(thread, attributes, run_counted, call);
}
#endif

static void check_run(thrum_executor *ex)
{
    thrum_graph *graph = thrum_graph_new("still there");
    atomic_int count = 0;
    thrum_task *first = thrum_placeholder_new(graph);
    for (int i = 0; i < 50; i++)
        thrum_precede(first, thrum_task_new(graph, count_up, &count));
    assert_int_equal(thrum_run_n(ex, graph, 3), 0);
    assert_int_equal(atomic_load(&count), 150);
    assert_int_equal(thrum_async(ex, count_up, &count), 0);
    assert_int_equal(thrum_executor_wait(ex), 0);
    assert_int_equal(atomic_load(&count), 151);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(it_goes_on_with_the_threads_that_there_are)
{
    if (!INTERPOSES)
        skip();
    thrum_executor *ex = executor_with(2);
    int before = atomic_exchange(&allowed, 1); /* and the two that end */
    assert_error(thrum_executor_resize(ex, 6), THRUM_ESYSTEM, "no thread for worker 3 of 6");
    assert_contains(thrum_message(NULL), "goes on with fewer");
    assert_int_equal(thrum_executor_workers(ex), 3);
    check_run(ex);
    atomic_fetch_add(&allowed, before - 1);
    assert_int_equal(thrum_executor_resize(ex, 4), 0);
    assert_int_equal(thrum_executor_workers(ex), 4);
    check_run(ex);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(without_any_thread_waiting_threads_do_the_work)
{
    if (!INTERPOSES)
        skip();
    thrum_executor *ex = executor_with(2);
    int before = atomic_exchange(&allowed, -2); /* not even the two that end */
    assert_error(thrum_executor_resize(ex, 3), THRUM_ESYSTEM, "goes on without threads");
    atomic_fetch_add(&allowed, before);
    check_run(ex);
    assert_error(thrum_executor_resize(ex, 3), THRUM_EINVAL, "no threads");
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* A worker that ends while it stands at the hand-over: the next function must not be given to it. */
TEST(nobody_stands_at_the_hand_over_afterwards)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2, .callers = THRUM_CALLERS_BLOCK});
    assert_non_null(ex);
    domain *d = &ex->cpu;
    while (thrum__life_look(&d->life).awake > 0)
        sched_yield();
    d->workers[1]->stands = true;
    atomic_store(&d->handover, 1);
    assert_int_equal(thrum_executor_resize(ex, 3), 0);
    assert_false(d->workers[1]->stands);
    assert_int_equal(atomic_load(&d->handover), 0);
    check_run(ex);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_on_with_the_threads_that_there_are),
        cmocka_unit_test(without_any_thread_waiting_threads_do_the_work),
        cmocka_unit_test(nobody_stands_at_the_hand_over_afterwards),
    };
    return RUN_TESTS(tests, 60);
}
