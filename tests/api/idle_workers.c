/* SPDX-License-Identifier: MIT
 *
 * One long task, and workers with nothing to do: they look for work for a while and then sleep, however long the task
 * is.
 *
 * The Taskflow paper (Huang, Lin, Lin and Lin, TPDS 2022; theorem 3) bounds wasted steals by MAX_STEALS * (|W| + |D| *
 * E / e): every worker tries MAX_STEALS times, and one thief per domain goes on trying as long as the longest task
 * takes, E. Here no thief does, so there is no term with E. A search that finds nothing, nor anybody who keeps work to
 * himself, ends THRUM_SPIN_US after it began (at once, while more are awake than there are cores), or at most WATCH_US
 * later if somebody has been watched just before. It goes in rounds of LOOKS looks at every other worker, and a round
 * takes ROUND_NS at least: it has eight pauses of the processor and a look at the clock. Who has been woken searches
 * once, and so does who has nothing more to do. So with s searches among w workers
 *
 *     wasted steals <= s * LOOKS * (w - 1) * (2 + (THRUM_SPIN_US + WATCH_US) / ROUND_NS)
 */
#include "tasks.h"

enum {
    LOOKS = 4,
    SPIN_US = 200,
    WATCH_US = 50,
    ROUND_NS = 50,
    SHORT_MS = 20,
    LONG_MS = 200,
    LITTLE_ONES = 40,
    TRIES = 3
};
#define SPIN_TEXT "200"

static int64_t time_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* A task that takes long, after others that have the workers awake and looking for more when it begins. */
struct long_task {
    thrum_executor *ex;
    int workers, ms;
    bool sleeps;
    int64_t own_ns;                   /* processor time of the task itself, */
    int64_t all_ns;                   /* and of the whole process meanwhile */
    thrum_worker_stats before, after; /* of all workers */
};

static void stay_for(int64_t ns)
{
    int64_t until = time_of(CLOCK_MONOTONIC) + ns;
    while (time_of(CLOCK_MONOTONIC) < until)
        continue;
}

static void take_long(void *arg)
{
    struct long_task *task = arg;
    thrum_executor_stats(task->ex, -1, &task->before);
    int64_t own = time_of(CLOCK_THREAD_CPUTIME_ID), all = time_of(CLOCK_PROCESS_CPUTIME_ID);
    if (task->sleeps)
        pause_ms((unsigned)task->ms);
    else
        stay_for(task->ms * INT64_C(1000000));
    task->all_ns = time_of(CLOCK_PROCESS_CPUTIME_ID) - all;
    task->own_ns = time_of(CLOCK_THREAD_CPUTIME_ID) - own;
    thrum_executor_stats(task->ex, -1, &task->after);
}

static void take_a_little(void *arg)
{
    (void)arg;
    stay_for(50000);
}

static void take_a_little_in_scope(thrum_scope *scope, void *arg)
{
    (void)scope;
    take_a_little(arg);
}

static void take_long_in_scope(thrum_scope *scope, void *arg)
{
    for (int i = 0; i < LITTLE_ONES; i++)
        thrum_spawn(scope, take_a_little_in_scope, NULL);
    thrum_join(scope);
    take_long(arg);
}

static void run_submitted(thrum_executor *ex, struct long_task *task)
{
    for (int i = 0; i < LITTLE_ONES; i++)
        assert_int_equal(thrum_async(ex, take_a_little, NULL), 0);
    thrum_handle *handle = thrum_submit(ex, take_long, task);
    assert_int_equal(thrum_wait(handle), 0);
    thrum_release(handle);
}

static void run_in_graph(thrum_executor *ex, struct long_task *task)
{
    thrum_graph *graph = thrum_graph_new("long");
    thrum_task *first = thrum_task_new(graph, do_nothing, NULL), *slow = thrum_task_new(graph, take_long, task);
    for (int i = 0; i < LITTLE_ONES; i++) {
        thrum_task *little = thrum_task_new(graph, take_a_little, NULL);
        thrum_edge(first, little);
        thrum_edge(little, slow);
    }
    thrum_edge(slow, thrum_task_new(graph, do_nothing, NULL));
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

enum way { SUBMITTED, IN_A_GRAPH, IN_A_SCOPE, WAYS };

static struct long_task run_long(enum way way, int workers, int ms, bool sleeps)
{
    assert_int_equal(setenv("THRUM_SPIN_US", SPIN_TEXT, 1), 0);
    struct long_task task = {.ex = executor_with(workers), .workers = workers, .ms = ms, .sleeps = sleeps};
    if (way == SUBMITTED)
        run_submitted(task.ex, &task);
    else if (way == IN_A_GRAPH)
        run_in_graph(task.ex, &task);
    else
        assert_int_equal(thrum_scope_run(task.ex, take_long_in_scope, &task), 0);
    assert_int_equal(thrum_executor_free(task.ex), 0);
    return task;
}

static uint64_t wasted_in(const struct long_task *task)
{
    return task->after.wasted_steals - task->before.wasted_steals;
}

/* Everybody may be looking when the task begins, the caller too, and those who wake have been woken before. */
static uint64_t most_wasted_in(const struct long_task *task)
{
    uint64_t workers = (uint64_t)task->workers, searches = workers + 1 + (task->after.wakes - task->before.wakes);
    return searches * LOOKS * workers * (2 + (SPIN_US + WATCH_US) * 1000 / ROUND_NS);
}

static uint64_t wakes_in(const struct long_task *task)
{
    return task->after.wakes - task->before.wakes;
}

static bool few_are_wasted(enum way way, int workers)
{
    struct long_task brief = run_long(way, workers, SHORT_MS, false), lengthy = run_long(way, workers, LONG_MS, false);
    print_message("way %d, %d workers: %llu wasted steals in %d ms, %llu in %d ms, of at most %llu; %llu wakes\n",
                  (int)way, workers, (unsigned long long)wasted_in(&brief), SHORT_MS,
                  (unsigned long long)wasted_in(&lengthy), LONG_MS, (unsigned long long)most_wasted_in(&lengthy),
                  (unsigned long long)wakes_in(&lengthy));
    return wakes_in(&lengthy) <= (uint64_t)workers && wasted_in(&brief) <= most_wasted_in(&brief) &&
           wasted_in(&lengthy) <= most_wasted_in(&lengthy);
}

/* Whoever looks for ever does so each time. But time that the host of a virtual machine takes away counts as used, and
 * whoever is interrupted between two looks at the clock seems to have looked for long: so a single try says nothing. */
static void expect(bool (*holds)(enum way way, int workers), enum way way, int workers)
{
    for (int tries = 0; tries < TRIES; tries++)
        if (holds(way, workers))
            return;
    fail();
}

/* With more workers than cores too: while more are awake than there are cores, they sleep after a few looks. */
TEST(wasted_steals_do_not_grow_with_the_length_of_a_task)
{
    for (enum way way = 0; way < WAYS; way++)
        for (int workers = 2; workers <= 4; workers += 2)
            expect(few_are_wasted, way, workers);
}

static bool little_time_is_used(enum way way, int workers)
{
    struct long_task asleep = run_long(way, workers, LONG_MS, true), busy = run_long(way, workers, LONG_MS, false);
    int64_t beside_sleep = asleep.all_ns - asleep.own_ns, beside_work = busy.all_ns - busy.own_ns;
    print_message("way %d, %d workers: %lld us beside a task that sleeps, %lld us beside one that computes\n", (int)way,
                  workers, (long long)beside_sleep / 1000, (long long)beside_work / 1000);
    return beside_sleep < LONG_MS * INT64_C(1000000) / 10 && beside_work < LONG_MS * INT64_C(1000000) / 10;
}

/* A single thief that never sleeps would use LONG_MS; all that look for SPIN_US, a few milliseconds. */
TEST(idle_workers_use_no_processor_time)
{
    for (enum way way = 0; way < WAYS; way++)
        for (int workers = 2; workers <= 4; workers += 2)
            expect(little_time_is_used, way, workers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wasted_steals_do_not_grow_with_the_length_of_a_task),
        cmocka_unit_test(idle_workers_use_no_processor_time),
    };
    return RUN_TESTS(tests, 60);
}
