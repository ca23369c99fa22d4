/* SPDX-License-Identifier: MIT
 *
 * Events: tasks that are complete when their events have been released, and sources of events.
 */
#include "fd_source.h"

#include <sys/resource.h>

/* ---- Holding and releasing --------------------------------------------------------------------------------------- */

struct held {
    thrum_event events[8];
    atomic_int count, behind;
    int more; /* events to hold beyond the first */
};

static void hold_on(thrum_event event, void *arg)
{
    struct held *held = arg;
    held->events[0] = event;
    for (int i = 0; i < held->more; i++)
        held->events[i + 1] = thrum_event_hold(event);
    atomic_store(&held->count, held->more + 1);
}

static void note_behind(void *arg)
{
    struct held *held = arg;
    atomic_fetch_add(&held->behind, 1);
}

static thrum_graph *held_graph(struct held *held)
{
    thrum_graph *graph = thrum_graph_new("held");
    thrum_task *task = thrum_event_task_new(graph, hold_on, held);
    thrum_precede(task, thrum_task_new(graph, note_behind, held));
    return graph;
}

static void await_held(struct held *held)
{
    while (atomic_load(&held->count) == 0)
        sched_yield();
}

TEST(a_task_completes_when_its_last_event_is_released)
{
    for (int workers = 1; workers <= 3; workers++)
        for (int more = 0; more < 4; more++) {
            thrum_executor *ex = executor_with(workers);
            struct held held = {.more = more};
            thrum_graph *graph = held_graph(&held);
            thrum_handle *handle = thrum_start(ex, graph);
            await_held(&held);
            for (int i = more; i >= 0; i--) {
                pause_ms(1);
                assert_false(thrum_done(handle));
                assert_int_equal(atomic_load(&held.behind), 0);
                assert_int_equal(thrum_event_release(held.events[i]), 0);
            }
            assert_int_equal(thrum_wait(handle), 0);
            assert_int_equal(atomic_load(&held.behind), 1);
            thrum_release(handle);
            assert_int_equal(thrum_graph_free(graph), 0);
            assert_int_equal(thrum_executor_free(ex), 0);
        }
}

static void release_at_once(thrum_event event, void *arg)
{
    thrum_event second = thrum_event_hold(event);
    if (thrum_event_release(event) == 0 && thrum_event_release(second) == 0)
        count_up(arg);
}

TEST(events_released_inside_the_function_cost_no_detour)
{
    for (int workers = 0; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("at once");
        atomic_int count = 0;
        thrum_task *before = thrum_event_task_new(graph, release_at_once, &count);
        for (int i = 0; i < 10; i++) {
            thrum_task *task = thrum_event_task_new(graph, release_at_once, &count);
            thrum_precede(before, task);
        }
        assert_int_equal(thrum_run_n(ex, graph, 100), 0);
        assert_int_equal(atomic_load(&count), 1100);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* ---- Many, from other threads ------------------------------------------------------------------------------------ */

enum { BOX_ROOM = 1 << 14 };

struct box {
    _Alignas(64) atomic_size_t put;
    _Atomic(uint64_t) numbers[BOX_ROOM];
    thrum_event events[BOX_ROOM];
    size_t most;
    atomic_int order_broken;
};

struct step {
    struct box *box;
    const int *before;
    int done; /* plain: thrum must make the order */
};

static void put_in_box(thrum_event event, void *arg)
{
    struct step *step = arg;
    struct box *box = step->box;
    if (step->before && *step->before == 0)
        atomic_fetch_add(&box->order_broken, 1);
    step->done = 0;
    size_t at = atomic_fetch_add(&box->put, 1);
    box->events[at] = event;
    atomic_store_explicit(&box->numbers[at], (uint64_t)(uintptr_t)step, memory_order_release);
}

static void *empty_box(void *arg)
{
    struct box *box = arg;
    for (size_t at = 0; at < box->most; at++) {
        uintptr_t step;
        while (!(step = (uintptr_t)atomic_load_explicit(&box->numbers[at], memory_order_acquire)))
            sched_yield();
        ((struct step *)step)->done = 1;
        if (thrum_event_release(box->events[at]) != 0)
            atomic_fetch_add(&box->order_broken, 1);
    }
    return NULL;
}

TEST(chains_of_event_tasks_go_on_in_order)
{
    enum { CHAINS = 8, LENGTH = 100 };
    static struct step steps[CHAINS][LENGTH];
    for (int workers = 1; workers <= 4; workers++) {
        struct box *box = calloc(1, sizeof *box);
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("chains");
        box->most = (size_t)CHAINS * LENGTH;
        for (int c = 0; c < CHAINS; c++) {
            thrum_task *before = NULL;
            for (int i = 0; i < LENGTH; i++) {
                steps[c][i] = (struct step){box, i ? &steps[c][i - 1].done : NULL, 0};
                thrum_task *task = thrum_event_task_new(graph, put_in_box, &steps[c][i]);
                if (before)
                    thrum_precede(before, task);
                before = task;
            }
        }
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, empty_box, box), 0);
        assert_int_equal(thrum_run(ex, graph), 0);
        pthread_join(thread, NULL);
        assert_int_equal(atomic_load(&box->order_broken), 0);
        assert_int_equal(atomic_load(&box->put), CHAINS * LENGTH);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
        free(box);
    }
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

TEST(an_event_released_twice_is_found_out)
{
    thrum_executor *ex = executor_with(2);
    struct held held = {.more = 1};
    thrum_graph *graph = held_graph(&held);
    thrum_handle *handle = thrum_start(ex, graph);
    await_held(&held);
    assert_int_equal(thrum_event_release(held.events[0]), 0);
    assert_error(thrum_event_release(held.events[0]), THRUM_EEVENT, "released before");
    assert_null(thrum_event_hold(held.events[0]).slot);
    assert_contains(thrum_message(NULL), "released before");
    assert_error(thrum_event_release((thrum_event){0}), THRUM_EEVENT, "no event");
    assert_false(thrum_done(handle));
    assert_int_equal(thrum_event_release(held.events[1]), 0);
    assert_int_equal(thrum_wait(handle), 0);
    thrum_release(handle);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
    /* However late, and although the memory serves other events by now. */
    assert_error(thrum_event_release(held.events[1]), THRUM_EEVENT, "released before");
    assert_error(thrum_event_fail(held.events[0], 5, "no"), THRUM_EEVENT, "released before");
}

TEST(an_event_can_fail_the_run)
{
    thrum_executor *ex = executor_with(2);
    struct held held = {.more = 1};
    thrum_graph *graph = held_graph(&held);
    thrum_handle *handle = thrum_start(ex, graph);
    await_held(&held);
    assert_int_equal(thrum_event_fail(held.events[0], 77, "the disk %d is gone", 3), 0);
    pause_ms(5);
    assert_false(thrum_done(handle)); /* the other event is still held */
    assert_int_equal(thrum_event_release(held.events[1]), 0);
    assert_int_equal(thrum_wait(handle), 77);
    assert_contains(thrum_message(handle), "the disk 3 is gone");
    assert_int_equal(atomic_load(&held.behind), 0);
    thrum_release(handle);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_cancelled_run_waits_for_the_events_that_are_held)
{
    thrum_executor *ex = executor_with(2);
    struct held held = {0};
    thrum_graph *graph = held_graph(&held);
    thrum_handle *handle = thrum_start(ex, graph);
    await_held(&held);
    assert_int_equal(thrum_cancel(handle), 0);
    pause_ms(5);
    assert_false(thrum_done(handle));
    assert_int_equal(thrum_event_release(held.events[0]), 0);
    assert_int_equal(thrum_wait(handle), THRUM_ECANCELLED);
    assert_int_equal(atomic_load(&held.behind), 0);
    thrum_release(handle);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(wrong_building_calls_are_named)
{
    thrum_graph *graph = thrum_graph_new("wrong");
    assert_null(thrum_event_task_new(NULL, hold_on, NULL));
    assert_contains(thrum_message(NULL), "thrum_event_task_new: the graph is NULL");
    assert_null(thrum_event_task_new(graph, NULL, NULL));
    assert_contains(thrum_message(graph), "thrum_event_task_new: the function is NULL");
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_error(thrum_task_set_event(NULL, hold_on, NULL), THRUM_EINVAL, "thrum_task_set_event");
    assert_null(thrum_source_add(NULL, NULL));
    assert_contains(thrum_message(NULL), "configuration is NULL");
    assert_null(thrum_source_add(NULL, &(thrum_source_config){.poll = fd_source_poll}));
    assert_contains(thrum_message(NULL), "wait function is NULL");
    assert_error(thrum_source_remove(NULL), THRUM_EINVAL, "the source is NULL");
}

/* ---- Events elsewhere in graphs ---------------------------------------------------------------------------------- */

static void *release_later(void *arg)
{
    struct held *held = arg;
    await_held(held);
    pause_ms(2);
    atomic_store(&held->count, 0);
    thrum_event_release(held->events[0]);
    return NULL;
}

/* A loop around a module around an event task, several times over. */
struct looped {
    struct held held;
    int rounds;
};

static int three_times(void *arg)
{
    struct looped *looped = arg;
    return ++looped->rounds < 3 ? 0 : THRUM_STOP;
}

TEST(events_work_in_modules_and_loops)
{
    for (int workers = 1; workers <= 2; workers++) {
        struct looped looped = {0};
        thrum_executor *ex = executor_with(workers);
        thrum_graph *inner = held_graph(&looped.held), *outer = thrum_graph_new("outer");
        thrum_task *start = thrum_placeholder_new(outer), *module = thrum_module_new(outer, inner);
        thrum_task *again = thrum_condition_new(outer, three_times, &looped);
        thrum_precede(start, module);
        thrum_precede(module, again);
        thrum_precede(again, module);
        thrum_handle *handle = thrum_start(ex, outer);
        for (int i = 0; i < 3; i++)
            release_later(&looped.held);
        assert_int_equal(thrum_wait(handle), 0);
        assert_int_equal(looped.rounds, 3);
        assert_int_equal(atomic_load(&looped.held.behind), 3);
        thrum_release(handle);
        assert_int_equal(thrum_graph_free(outer), 0);
        assert_int_equal(thrum_graph_free(inner), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_waiting_caller_of_an_executor_without_threads_goes_on_behind_an_event)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.threadless = true});
    struct held held = {0};
    thrum_graph *graph = held_graph(&held);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, release_later, &held), 0);
    assert_int_equal(thrum_run(ex, graph), 0);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&held.behind), 1);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Sources ----------------------------------------------------------------------------------------------------- */

struct reader {
    struct fd_source *source;
    int fd;
};

static void expect_reader(thrum_event event, void *arg)
{
    const struct reader *reader = arg;
    fd_source_expect(reader->source, reader->fd, event);
}

struct ring_of_pipes {
    int read_from, write_to;
    atomic_int passed;
};

static void pass_on(void *arg)
{
    struct ring_of_pipes *pipes = arg;
    char byte;
    if (read(pipes->read_from, &byte, 1) == 1 && write(pipes->write_to, &byte, 1) == 1)
        atomic_fetch_add(&pipes->passed, 1);
}

/* A byte goes through a row of pipes; each station is a task that waits for it as an event, and one that passes it
 * on. */
static void pass_byte_along(thrum_executor *ex, bool with_wake)
{
    enum { STATIONS = 16 };
    struct fd_source source;
    struct reader readers[STATIONS];
    struct ring_of_pipes pipes[STATIONS];
    int fds[STATIONS + 1][2];
    thrum_graph *graph = thrum_graph_new("stations");
    fd_source_init(&source);
    thrum_source *added = fd_source_add(ex, &source, with_wake);
    assert_non_null(added);
    for (int i = 0; i <= STATIONS; i++)
        assert_int_equal(pipe(fds[i]), 0);
    for (int i = 0; i < STATIONS; i++) {
        readers[i] = (struct reader){&source, fds[i][0]};
        pipes[i] = (struct ring_of_pipes){fds[i][0], fds[i + 1][1], 0};
        thrum_precede(thrum_event_task_new(graph, expect_reader, &readers[i]),
                      thrum_task_new(graph, pass_on, &pipes[i]));
    }
    for (int round = 0; round < 5; round++) {
        char byte = 'x';
        thrum_handle *handle = thrum_start(ex, graph);
        pause_ms(round);
        assert_int_equal(write(fds[0][1], &byte, 1), 1);
        assert_int_equal(thrum_wait(handle), 0);
        thrum_release(handle);
        assert_int_equal(read(fds[STATIONS][0], &byte, 1), 1);
    }
    for (int i = 0; i < STATIONS; i++)
        assert_int_equal(atomic_load(&pipes[i].passed), 5);
    assert_int_equal(thrum_source_remove(added), 0);
    assert_int_equal(atomic_load(&source.together), 0);
    for (int i = 0; i <= STATIONS; i++) {
        close(fds[i][0]);
        close(fds[i][1]);
    }
    fd_source_fini(&source);
    assert_int_equal(thrum_graph_free(graph), 0);
}

TEST(a_byte_through_pipes_wakes_task_after_task)
{
    for (int workers = 0; workers <= 3; workers++)
        for (int with_wake = 0; with_wake < 2; with_wake++) {
            thrum_executor *ex = executor_with(workers);
            pass_byte_along(ex, with_wake);
            assert_int_equal(thrum_executor_free(ex), 0);
        }
}

static double processor_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

TEST(no_worker_spins_while_an_event_is_awaited)
{
    thrum_executor *ex = executor_with(3);
    struct fd_source source;
    fd_source_init(&source);
    thrum_source *added = fd_source_add(ex, &source, true);
    struct reader reader = {&source, timer_in_ms(300)};
    thrum_graph *graph = thrum_graph_new("timer");
    thrum_event_task_new(graph, expect_reader, &reader);
    double before = processor_ms();
    assert_int_equal(thrum_run(ex, graph), 0);
    double used = processor_ms() - before;
    if (used > 100) /* of 300, or 900 if all were spinning */
        fail_msg("%.1f ms of processor time for waiting", used);
    assert_true(atomic_load(&source.waits) > 0);
    close(reader.fd);
    assert_int_equal(thrum_source_remove(added), 0);
    fd_source_fini(&source);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* The only worker sits in the source's wait when something else comes up. */
TEST(a_worker_that_waits_in_a_source_is_there_for_other_work)
{
    thrum_executor *ex = executor_with(1);
    struct fd_source source;
    fd_source_init(&source);
    thrum_source *added = fd_source_add(ex, &source, true);
    struct reader reader = {&source, timer_in_ms(400)};
    thrum_graph *graph = thrum_graph_new("timer");
    thrum_event_task_new(graph, expect_reader, &reader);
    thrum_handle *handle = thrum_start(ex, graph);
    while (atomic_load(&source.waits) == 0)
        sched_yield();
    pause_ms(20);
    atomic_int count = 0;
    for (int i = 0; i < 100; i++)
        assert_int_equal(thrum_async(ex, count_up, &count), 0);
    while (atomic_load(&count) < 100 && !thrum_done(handle))
        sched_yield();
    assert_int_equal(atomic_load(&count), 100);
    assert_false(thrum_done(handle));
    assert_int_equal(thrum_wait(handle), 0);
    thrum_release(handle);
    close(reader.fd);
    assert_int_equal(thrum_source_remove(added), 0);
    fd_source_fini(&source);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(several_sources_are_all_looked_at)
{
    enum { SOURCES = 3, TIMERS = 6 };
    for (int workers = 1; workers <= 2; workers++) {
        thrum_executor *ex = executor_with(workers);
        struct fd_source sources[SOURCES];
        thrum_source *added[SOURCES];
        struct reader readers[TIMERS];
        thrum_graph *graph = thrum_graph_new("timers");
        for (int i = 0; i < SOURCES; i++) {
            fd_source_init(&sources[i]);
            added[i] = fd_source_add(ex, &sources[i], i != 1);
        }
        for (int i = 0; i < TIMERS; i++) {
            readers[i] = (struct reader){&sources[i % SOURCES], timer_in_ms(5 + 7 * i)};
            thrum_event_task_new(graph, expect_reader, &readers[i]);
        }
        assert_int_equal(thrum_run(ex, graph), 0);
        for (int i = 0; i < TIMERS; i++)
            close(readers[i].fd);
        for (int i = 0; i < SOURCES; i++) {
            assert_int_equal(thrum_source_remove(added[i]), 0);
            assert_int_equal(atomic_load(&sources[i].together), 0);
            fd_source_fini(&sources[i]);
        }
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static int broken_poll(void *ctx)
{
    atomic_fetch_add((atomic_int *)ctx, 1);
    return -42;
}

static int broken_wait(void *ctx, int64_t ns)
{
    (void)ns;
    return broken_poll(ctx);
}

TEST(a_source_that_fails_is_left_alone_and_tells_when_it_is_removed)
{
    thrum_executor *ex = executor_with(2);
    atomic_int calls = 0;
    thrum_source *source =
        thrum_source_add(ex, &(thrum_source_config){.poll = broken_poll, .wait = broken_wait, .ctx = &calls});
    struct held held = {0};
    thrum_graph *graph = held_graph(&held);
    thrum_handle *handle = thrum_start(ex, graph);
    await_held(&held);
    pause_ms(20);
    assert_int_equal(thrum_event_release(held.events[0]), 0);
    assert_int_equal(thrum_wait(handle), 0);
    assert_int_equal(atomic_load(&calls), 1);
    assert_error(thrum_source_remove(source), -42, "returned -42");
    thrum_release(handle);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_completes_when_its_last_event_is_released),
        cmocka_unit_test(events_released_inside_the_function_cost_no_detour),
        cmocka_unit_test(chains_of_event_tasks_go_on_in_order),
        cmocka_unit_test(an_event_released_twice_is_found_out),
        cmocka_unit_test(an_event_can_fail_the_run),
        cmocka_unit_test(a_cancelled_run_waits_for_the_events_that_are_held),
        cmocka_unit_test(wrong_building_calls_are_named),
        cmocka_unit_test(events_work_in_modules_and_loops),
        cmocka_unit_test(a_waiting_caller_of_an_executor_without_threads_goes_on_behind_an_event),
        cmocka_unit_test(a_byte_through_pipes_wakes_task_after_task),
        cmocka_unit_test(no_worker_spins_while_an_event_is_awaited),
        cmocka_unit_test(a_worker_that_waits_in_a_source_is_there_for_other_work),
        cmocka_unit_test(several_sources_are_all_looked_at),
        cmocka_unit_test(a_source_that_fails_is_left_alone_and_tells_when_it_is_removed),
    };
    return RUN_TESTS(tests, 60);
}
