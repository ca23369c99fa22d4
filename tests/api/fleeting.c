/* SPDX-License-Identifier: MIT
 *
 * Tasks that whoever inserts runs as it inserts them are in no order with others, unless somebody asks while they run:
 * another thread, or their own kernel.
 */
#include "test.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

/* A sanitizer makes inserting slow too; bodies take longer than that. */
enum { MANY = SANITIZED_THREAD ? 1000 : 3000, BODY_NS = SANITIZED_THREAD ? 40000 : 6000 };
enum { ROUNDS = 20, MEANWHILE_US = 1500 };

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- Tasks ------------------------------------------------------------------------------------------------------- */

typedef struct world {
    thrum_executor *ex;
    thrum_flow *flow, *other;
    thrum_data *x, *y;
    long of_x, of_y;
} world;

static world *the_world;
static pthread_t inserter;
static atomic_int here;
/* Called once, in the middle of the next task, by the thread that runs it, which also has the rest. */
static void (*meanwhile)(void);
static int called_here;      /* times that it was whoever inserts */
static atomic_bool runs;     /* the task is in its middle */
static atomic_bool asked;    /* since then another thread is about to ask for x or y */
static atomic_bool answered; /* and has got it */
static bool too_early;

static void work(const thrum_buffer *b, const void *arg)
{
    void (*call)(void) = meanwhile;
    bool at_once = pthread_equal(pthread_self(), inserter);
    (void)arg;
    atomic_fetch_add(&here, at_once);
    for (int64_t until = now() + BODY_NS; now() < until;)
        continue;
    if (call) {
        meanwhile = NULL;
        called_here += at_once;
        call();
    }
    ++*(long *)b[0].ptr;
}

/* Whether the task that was being run has ended, which adds one. */
static long expected;
static void check_x(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    too_early |= *(const long *)b[0].ptr < expected;
    atomic_store(&answered, true);
}

static const thrum_codelet brief = {.name = "brief", .cpu = work};
static const thrum_codelet checks = {.name = "checks", .cpu = check_x};

/* ---- What all tests begin and end with --------------------------------------------------------------------------- */

/* Until whoever inserts runs most of them itself: false on a machine that leaves it no peace. */
static bool learn(world *w)
{
    for (int tries = 0; tries < 30; tries++) {
        atomic_store(&here, 0);
        for (int i = 0; i < MANY; i++)
            assert_int_equal(thrum_insert(w->flow, &brief, THRUM_RW(w->x), THRUM_R(w->y)), 0);
        if (atomic_load(&here) > MANY / 2)
            return true;
    }
    return false;
}

static void begin(world *w, bool threadless)
{
    *w = (world){.ex = thrum_executor_new(&(thrum_config){.workers = threadless ? 0 : 1, .threadless = threadless})};
    w->flow = thrum_flow_new(w->ex);
    w->other = thrum_flow_new(w->ex);
    w->x = thrum_data_variable(w->ex, &w->of_x, sizeof w->of_x);
    w->y = thrum_data_variable(w->ex, &w->of_y, sizeof w->of_y);
    assert_non_null(w->y);
    the_world = w;
    inserter = pthread_self();
    too_early = false;
    called_here = 0;
}

static void end(world *w)
{
    assert_int_equal(thrum_flow_free(w->other), 0);
    assert_int_equal(thrum_flow_free(w->flow), 0);
    assert_int_equal(thrum_data_unregister(w->x), 0);
    assert_int_equal(thrum_data_unregister(w->y), 0);
    assert_int_equal(thrum_executor_free(w->ex), 0);
}

static void expect_one_more(const world *w)
{
    atomic_store(&runs, false);
    atomic_store(&asked, false);
    atomic_store(&answered, false);
    expected = w->of_x + 1;
}

/* One task in whose middle that is called. */
static void insert_with(world *w, void (*call)(void))
{
    meanwhile = call;
    assert_int_equal(thrum_insert(w->flow, &brief, THRUM_RW(w->x), THRUM_R(w->y)), 0);
}

/* ---- Others ask -------------------------------------------------------------------------------------------------- */

/* Gives whoever has asked time to get what it must not get yet. */
static void let_others_ask(void)
{
    atomic_store(&runs, true);
    while (!atomic_load(&asked))
        usleep(10);
    usleep(MEANWHILE_US);
    too_early |= atomic_load(&answered);
}

static void ask_now(void)
{
    while (!atomic_load(&runs))
        usleep(10);
    atomic_store(&asked, true);
}

static void *acquire_x(void *arg)
{
    world *w = arg;
    ask_now();
    if (thrum_data_acquire(w->x, THRUM_MODE_RW, NULL))
        return "not acquired";
    atomic_store(&answered, true);
    bool early = w->of_x < expected;
    return thrum_data_release(w->x) || early ? "too early" : NULL;
}

static void *unregister_y(void *arg)
{
    world *w = arg;
    ask_now();
    int err = thrum_data_unregister(w->y);
    atomic_store(&answered, true);
    return err ? "not unregistered" : NULL;
}

/* No task runs meanwhile, there being one place: but it must not be run before the other one has ended. */
static void *insert_behind(void *arg)
{
    world *w = arg;
    ask_now();
    int err = thrum_insert(w->other, &checks, THRUM_RW(w->x));
    err = err ? err : thrum_flow_wait(w->other);
    return err ? "not inserted" : NULL;
}

static void ask_while_it_runs(world *w, void *(*ask)(void *))
{
    pthread_t thread;
    void *complaint;
    assert_int_equal(thrum_flow_wait(w->flow), 0);
    expect_one_more(w);
    assert_int_equal(pthread_create(&thread, NULL, ask, w), 0);
    insert_with(w, let_others_ask);
    pthread_join(thread, &complaint);
    assert_null(complaint);
    assert_false(too_early);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

/* Each behind so many others that what it inserts first would be run at once, too. */
static void do_rounds(world *w, void (*round)(world *w))
{
    bool learned = learn(w);
    assert_int_equal(thrum_flow_wait(w->flow), 0);
    for (int i = 0; i < ROUNDS && learned; i++) {
        for (int more = 0; more < 100; more++)
            assert_int_equal(thrum_insert(w->flow, &brief, THRUM_RW(w->x), THRUM_R(w->y)), 0);
        round(w);
        assert_int_equal(thrum_flow_wait(w->flow), 0);
        assert_false(too_early);
    }
}

static void each_round(void (*round)(world *w), bool threadless)
{
    world w;
    begin(&w, threadless);
    do_rounds(&w, round);
    bool seen = called_here > 0;
    end(&w);
    if (!seen)
        skip(); /* the machine is too busy */
}

static void acquire_meanwhile(world *w)
{
    ask_while_it_runs(w, acquire_x);
}

TEST(who_acquires_waits_for_a_task_that_is_run_at_once)
{
    each_round(acquire_meanwhile, false);
}

static void unregister_meanwhile(world *w)
{
    ask_while_it_runs(w, unregister_y);
    w->y = thrum_data_variable(w->ex, &w->of_y, sizeof w->of_y);
    assert_non_null(w->y);
}

TEST(who_unregisters_waits_for_a_task_that_is_run_at_once)
{
    each_round(unregister_meanwhile, false);
}

static void insert_meanwhile(world *w)
{
    ask_while_it_runs(w, insert_behind);
    assert_true(atomic_load(&answered));
}

TEST(tasks_of_other_threads_wait_for_one_that_is_run_at_once)
{
    each_round(insert_meanwhile, false);
}

static void nothing(void *arg)
{
    (void)arg;
}

/* It waits for something else, so that others have the place meanwhile. */
static void insert_and_lend(void)
{
    world *w = the_world;
    thrum_insert(w->other, &checks, THRUM_RW(w->x));
    thrum_handle *handle = thrum_submit(w->ex, nothing, NULL);
    thrum_wait(handle);
    thrum_release(handle);
    too_early |= atomic_load(&answered);
}

static void insert_inside(world *w)
{
    assert_int_equal(thrum_flow_wait(w->flow), 0);
    expect_one_more(w);
    insert_with(w, insert_and_lend);
    assert_int_equal(thrum_flow_wait(w->flow), 0);
    assert_int_equal(thrum_flow_wait(w->other), 0);
    assert_true(atomic_load(&answered));
}

TEST(tasks_that_its_own_kernel_inserts_wait_for_it)
{
    each_round(insert_inside, false);
}

TEST(on_an_executor_without_threads_too)
{
    each_round(insert_inside, true);
}

static void insert_next(void)
{
    thrum_insert(the_world->flow, &checks, THRUM_RW(the_world->x));
}

/* Whoever runs a task at once has run what that one made ready, too, when the insertion returns. */
static void insert_next_inside(world *w)
{
    assert_int_equal(thrum_flow_wait(w->flow), 0);
    for (int i = 0; i < 200; i++) /* until it has a lease again */
        assert_int_equal(thrum_insert(w->flow, &brief, THRUM_RW(w->x), THRUM_R(w->y)), 0);
    int before = called_here;
    atomic_store(&answered, false);
    expected = 0;
    insert_with(w, insert_next);
    if (called_here > before)
        assert_true(atomic_load(&answered));
    assert_int_equal(thrum_flow_wait(w->flow), 0);
    assert_true(atomic_load(&answered));
}

TEST(what_its_own_kernel_puts_behind_it_is_run_with_it)
{
    each_round(insert_next_inside, false);
}

/* Both are run by the same thread, the inner one in the middle of the outer one, on other data. */
static void insert_apart(void)
{
    world *w = the_world;
    for (int i = 0; i < 200; i++)
        thrum_insert(w->other, &brief, THRUM_RW(w->y));
    if (thrum_insert(w->other, &checks, THRUM_RW(w->x)))
        too_early = true;
}

static const thrum_codelet only_x = {.name = "only x", .cpu = work};

static void insert_apart_inside(world *w)
{
    long before = w->of_y;
    for (int i = 0; i < 100; i++) /* so that it is known as brief */
        assert_int_equal(thrum_insert(w->flow, &only_x, THRUM_RW(w->x)), 0);
    assert_int_equal(thrum_flow_wait(w->flow), 0);
    expect_one_more(w);
    meanwhile = insert_apart;
    assert_int_equal(thrum_insert(w->flow, &only_x, THRUM_RW(w->x)), 0);
    assert_int_equal(thrum_flow_wait(w->flow), 0);
    assert_int_equal(thrum_flow_wait(w->other), 0);
    assert_int_equal(w->of_y, before + 200);
    assert_true(atomic_load(&answered));
}

TEST(a_kernel_may_run_others_at_once)
{
    each_round(insert_apart_inside, false);
}

/* A read of what is read already is no second access. */
static void read_twice(world *w)
{
    assert_int_equal(thrum_flow_wait(w->flow), 0);
    long before = w->of_x;
    for (int i = 0; i < 100; i++)
        assert_int_equal(thrum_insert(w->flow, &brief, THRUM_RW(w->x), THRUM_R(w->y), THRUM_R(w->y)), 0);
    assert_int_equal(thrum_flow_wait(w->flow), 0);
    assert_int_equal(w->of_x, before + 100);
}

TEST(a_handle_may_be_read_twice)
{
    world w;
    begin(&w, false);
    do_rounds(&w, read_twice);
    end(&w);
}

static void write_and_read(world *w)
{
    assert_int_equal(thrum_insert(w->flow, &brief, THRUM_RW(w->x), THRUM_R(w->x)), THRUM_EDATA);
    assert_int_equal(thrum_flow_wait(w->flow), THRUM_EDATA);
}

TEST(a_handle_may_not_be_written_and_read)
{
    world w;
    begin(&w, false);
    do_rounds(&w, write_and_read);
    end(&w);
}

static long sparse_sum;
static void add_rows(const thrum_buffer *b, const void *arg)
{
    const uint32_t *row_start = b[0].row_start, *columns = b[0].columns;
    const double *values = b[0].ptr;
    (void)arg;
    for (int64_t until = now() + BODY_NS; now() < until;)
        continue;
    for (size_t row = 0; row < b[0].extent[1]; row++)
        for (uint32_t i = row_start[row]; i < row_start[row + 1]; i++)
            sparse_sum += (long)values[i] * (long)columns[i];
}

static const thrum_codelet adds_rows = {.name = "adds rows", .cpu = add_rows};

TEST(a_sparse_matrix_has_its_rows)
{
    world w;
    uint32_t row_start[] = {0, 1, 3}, columns[] = {1, 0, 1};
    double values[] = {2, 3, 4};
    begin(&w, false);
    thrum_data *matrix = thrum_data_csr(w.ex, 2, 3, row_start, columns, values, sizeof *values, sizeof *columns);
    assert_non_null(matrix);
    learn(&w);
    sparse_sum = 0;
    assert_int_equal(thrum_insert(w.flow, &adds_rows, THRUM_RW(matrix)), 0);
    assert_int_equal(thrum_flow_wait(w.flow), 0); /* so that it is known as brief */
    for (int i = 1; i < MANY; i++)
        assert_int_equal(thrum_insert(w.flow, &adds_rows, THRUM_RW(matrix)), 0);
    assert_int_equal(thrum_flow_wait(w.flow), 0);
    assert_int_equal(sparse_sum, 6 * MANY);
    assert_int_equal(thrum_data_unregister(matrix), 0);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_acquires_waits_for_a_task_that_is_run_at_once),
        cmocka_unit_test(who_unregisters_waits_for_a_task_that_is_run_at_once),
        cmocka_unit_test(tasks_of_other_threads_wait_for_one_that_is_run_at_once),
        cmocka_unit_test(tasks_that_its_own_kernel_inserts_wait_for_it),
        cmocka_unit_test(on_an_executor_without_threads_too),
        cmocka_unit_test(what_its_own_kernel_puts_behind_it_is_run_with_it),
        cmocka_unit_test(a_kernel_may_run_others_at_once),
        cmocka_unit_test(a_handle_may_be_read_twice),
        cmocka_unit_test(a_handle_may_not_be_written_and_read),
        cmocka_unit_test(a_sparse_matrix_has_its_rows),
    };
    return RUN_TESTS(tests, 60);
}
