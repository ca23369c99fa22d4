/* SPDX-License-Identifier: MIT
 *
 * Lost wake-ups: work arrives one piece at a time, with pauses in which workers fall asleep, in all the ways in which
 * work can arrive. A wake-up that is lost shows as a hang, which the watchdog ends.
 */
#include "random.h"
#include "stress.h"
#include "tasks.h"

static struct stress stress;

/* From no pause at all to one that outlasts a worker's search for work. */
static void random_pause(struct random *random)
{
    switch (random_below(random, 8)) {
    case 0:
        pause_ms(1);
        break;
    case 1:
    case 2: {
        struct timespec time = {.tv_nsec = (long)random_below(random, 120000)};
        nanosleep(&time, NULL);
        break;
    }
    case 3:
    case 4:
        for (volatile size_t i = 0, n = random_below(random, 3000); i < n; i++)
            ;
        break;
    default:
        break;
    }
}

TEST(one_function_at_a_time_is_always_called)
{
    struct stress_course course = stress_course(&stress);
    thrum_executor *ex[] = {executor_with(1), executor_with(2), executor_blocking(1), executor_blocking(3)};
    int count = 0, expected = 0;
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        for (int i = 0; i < 50; i++) {
            thrum_handle *handle = thrum_submit(ex[random_below(&random, COUNT_OF(ex))], plain_count_up, &count);
            random_pause(&random);
            stress_check(&course, thrum_wait(handle) == 0);
            thrum_release(handle);
            expected++;
            stress_check(&course, count == expected);
            random_pause(&random);
        }
    }
    for (size_t i = 0; i < COUNT_OF(ex); i++)
        assert_int_equal(thrum_executor_free(ex[i]), 0);
    stress_report(&course, "times fifty functions");
}

/* Nobody waits: only the executor's own threads can do it. */
TEST(a_function_that_nobody_waits_for_is_called_all_the_same)
{
    struct stress_course course = stress_course(&stress);
    thrum_executor *ex[] = {executor_with(1), executor_with(2), executor_with(4)};
    atomic_int count = 0;
    int expected = 0;
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        for (int i = 0; i < 50; i++) {
            random_pause(&random);
            stress_check(&course, thrum_async(ex[random_below(&random, COUNT_OF(ex))], count_up, &count) == 0);
            expected++;
            while (atomic_load_explicit(&count, memory_order_relaxed) != expected)
                sched_yield();
        }
    }
    for (size_t i = 0; i < COUNT_OF(ex); i++)
        assert_int_equal(thrum_executor_free(ex[i]), 0);
    stress_report(&course, "times fifty functions");
}

/* A child that its parent waits for without joining: it must be stolen. */
struct stolen {
    atomic_bool begun;
    struct random *random;
};

static void say_begun(thrum_scope *scope, void *arg)
{
    (void)scope;
    struct stolen *stolen = arg;
    atomic_store_explicit(&stolen->begun, true, memory_order_relaxed);
}

static void spawn_one_and_spin(thrum_scope *scope, void *arg)
{
    struct stolen *stolen = arg;
    for (int i = 0; i < 20; i++) {
        atomic_store_explicit(&stolen->begun, false, memory_order_relaxed);
        thrum_scope inner;
        thrum_scope_open(&inner, scope);
        random_pause(stolen->random);
        thrum_spawn(&inner, say_begun, stolen);
        while (!atomic_load_explicit(&stolen->begun, memory_order_relaxed))
            sched_yield();
        thrum_join(&inner);
    }
}

TEST(a_single_spawned_child_is_stolen)
{
    struct stress_course course = stress_course(&stress);
    thrum_executor *ex[] = {executor_with(2), executor_with(3), executor_with(8), executor_blocking(2)};
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        struct stolen stolen = {.random = &random};
        thrum_executor *chosen = ex[random_below(&random, COUNT_OF(ex))];
        stress_check(&course, thrum_scope_run(chosen, spawn_one_and_spin, &stolen) == 0);
    }
    for (size_t i = 0; i < COUNT_OF(ex); i++)
        assert_int_equal(thrum_executor_free(ex[i]), 0);
    stress_report(&course, "times twenty children");
}

/* The same from a thread that is no worker until it opens a scope. */
TEST(a_child_spawned_outside_tasks_is_stolen)
{
    struct stress_course course = stress_course(&stress);
    thrum_executor *ex[] = {executor_with(2), executor_with(4)};
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        struct stolen stolen = {.random = &random};
        thrum_scope scope;
        thrum_scope_open_on(&scope, ex[random_below(&random, COUNT_OF(ex))]);
        random_pause(&random);
        thrum_spawn(&scope, say_begun, &stolen);
        while (!atomic_load_explicit(&stolen.begun, memory_order_relaxed))
            sched_yield();
        random_pause(&random);
        stress_check(&course, thrum_join(&scope) == 0);
    }
    for (size_t i = 0; i < COUNT_OF(ex); i++)
        assert_int_equal(thrum_executor_free(ex[i]), 0);
    stress_report(&course, "children");
}

/* Tasks of a graph that must run at the same time. */
struct meeting {
    atomic_int here;
    int guests;
    unsigned pause;
};

static void meet(void *arg)
{
    struct meeting *meeting = arg;
    atomic_fetch_add_explicit(&meeting->here, 1, memory_order_relaxed);
    while (atomic_load_explicit(&meeting->here, memory_order_relaxed) < meeting->guests)
        sched_yield();
}

static void idle_first(void *arg)
{
    struct meeting *meeting = arg;
    for (volatile unsigned i = 0; i < meeting->pause; i++)
        ;
}

/* A single task first, during which all other workers fall asleep; then as many at once as there are workers. */
static void meet_in_graph(struct stress_course *course, thrum_executor *ex, struct random *random)
{
    int guests = thrum_executor_workers(ex);
    struct meeting meeting = {.guests = guests, .pause = (unsigned)random_below(random, 100000)};
    thrum_graph *graph = thrum_graph_new("meeting");
    thrum_task *first = thrum_task_new(graph, idle_first, &meeting);
    for (int i = 0; i < guests; i++)
        thrum_edge(first, thrum_task_new(graph, meet, &meeting));
    for (int i = 0; i < 5; i++) {
        atomic_store(&meeting.here, 0);
        stress_check(course, thrum_run(ex, graph) == 0);
        random_pause(random);
    }
    stress_check(course, thrum_graph_free(graph) == 0);
}

TEST(tasks_that_must_meet_do_meet)
{
    struct stress_course course = stress_course(&stress);
    thrum_executor *ex[] = {executor_with(2), executor_with(3), executor_blocking(2), executor_blocking(4)};
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        meet_in_graph(&course, ex[random_below(&random, COUNT_OF(ex))], &random);
    }
    for (size_t i = 0; i < COUNT_OF(ex); i++)
        assert_int_equal(thrum_executor_free(ex[i]), 0);
    stress_report(&course, "times five meetings");
}

/* A join parks while a thief is busy, and must be woken by the thief's end. */
static void be_busy(thrum_scope *scope, void *arg)
{
    (void)scope;
    struct stolen *stolen = arg;
    atomic_store_explicit(&stolen->begun, true, memory_order_relaxed);
    random_pause(stolen->random);
    pause_ms(random_chance(stolen->random, 10));
}

static void join_a_busy_child(thrum_scope *scope, void *arg)
{
    struct stolen *stolen = arg;
    atomic_store_explicit(&stolen->begun, false, memory_order_relaxed);
    thrum_scope inner;
    thrum_scope_open(&inner, scope);
    thrum_spawn(&inner, be_busy, stolen);
    while (!atomic_load_explicit(&stolen->begun, memory_order_relaxed))
        sched_yield();
    thrum_join(&inner);
}

TEST(a_join_that_parks_is_woken)
{
    struct stress_course course = stress_course(&stress);
    thrum_executor *ex[] = {executor_with(2), executor_with(4), executor_blocking(2)};
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        struct stolen stolen = {.random = &random};
        thrum_executor *chosen = ex[random_below(&random, COUNT_OF(ex))];
        stress_check(&course, thrum_scope_run(chosen, join_a_busy_child, &stolen) == 0);
    }
    for (size_t i = 0; i < COUNT_OF(ex); i++)
        assert_int_equal(thrum_executor_free(ex[i]), 0);
    stress_report(&course, "joins");
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_function_at_a_time_is_always_called),
        cmocka_unit_test(a_function_that_nobody_waits_for_is_called_all_the_same),
        cmocka_unit_test(a_single_spawned_child_is_stolen),
        cmocka_unit_test(a_child_spawned_outside_tasks_is_stolen),
        cmocka_unit_test(tasks_that_must_meet_do_meet),
        cmocka_unit_test(a_join_that_parks_is_woken),
    };
    stress = stress_begin(argv[0], 0.6);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
