/* SPDX-License-Identifier: MIT
 *
 * Tasks that many tests use, executors made in one line, and threads.
 */
#ifndef TESTS_SUPPORT_TASKS_H
#define TESTS_SUPPORT_TASKS_H

#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

static inline void pause_ms(unsigned milliseconds)
{
    struct timespec time = {.tv_sec = milliseconds / 1000, .tv_nsec = (long)(milliseconds % 1000) * 1000000};
    nanosleep(&time, NULL);
}

static inline void do_nothing(void *arg)
{
    (void)arg;
}

/* Adds one to an atomic_int. Relaxed: the wait makes the order, and a test must not make it in thrum's place. */
static inline void count_up(void *counter)
{
    atomic_fetch_add_explicit((atomic_int *)counter, 1, memory_order_relaxed);
}

static inline void count_up_in_scope(thrum_scope *scope, void *counter)
{
    (void)scope;
    count_up(counter);
}

/* Adds one to a plain int: for tasks that thrum must keep apart. */
static inline void plain_count_up(void *counter)
{
    ++*(int *)counter;
}

/* A task that says that it has begun, and goes on only when the test opens the gate. */
struct gate {
    atomic_bool entered, open;
};

static inline void stay_at_gate(void *arg)
{
    struct gate *gate = arg;
    atomic_store(&gate->entered, true);
    while (!atomic_load(&gate->open))
        sched_yield();
}

static inline void await_entered(struct gate *gate)
{
    while (!atomic_load(&gate->entered))
        sched_yield();
}

static inline void open_gate(struct gate *gate)
{
    atomic_store(&gate->open, true);
}

static inline thrum_executor *executor_with(int workers)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = workers});
    if (!ex)
        print_error("no executor of %d workers: %s\n", workers, thrum_message(NULL));
    assert_non_null(ex);
    return ex;
}

static inline thrum_executor *executor_threadless(void)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.threadless = true});
    assert_non_null(ex);
    return ex;
}

static inline thrum_executor *executor_blocking(int workers)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = workers, .callers = THRUM_CALLERS_BLOCK});
    assert_non_null(ex);
    return ex;
}

/* Calls fn(arg) in `count` threads at once and waits for them. */
struct thread_call {
    thrum_fn *fn;
    void *arg;
};

static inline void *thread_call_run(void *arg)
{
    struct thread_call *call = arg;
    call->fn(call->arg);
    return NULL;
}

static inline void in_threads(int count, thrum_fn *fn, void *arg)
{
    enum { MOST = 64 };
    pthread_t threads[MOST];
    struct thread_call call = {.fn = fn, .arg = arg};
    assert_true(count <= MOST);
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, thread_call_run, &call), 0);
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

#endif
