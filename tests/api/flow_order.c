/* SPDX-License-Identifier: MIT
 *
 * Long tasks of a flow that are ready begin in the order of their insertion, whatever made them ready and whoever runs
 * them; but those that many wait for begin earlier.
 */
#include "test.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

enum { WORKERS = 2, TASKS = 60, KNOWN_AFTER = 40, LONG_NS = 200000 };

static atomic_bool gate;
static atomic_int begun;
static int position[TASKS];

static void spend(int64_t ns)
{
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < ns);
}

static void run_long(const thrum_buffer *b, const void *arg)
{
    if (arg)
        position[*(const int *)arg] = atomic_fetch_add(&begun, 1);
    *(long *)b[0].ptr += 1;
    spend(LONG_NS);
}

static void run_gate(const thrum_buffer *b, const void *arg)
{
    (void)arg;
    while (!atomic_load(&gate))
        sched_yield();
    *(long *)b[0].ptr += 1;
}

static const thrum_codelet long_one = {.name = "long", .cpu = run_long};
static const thrum_codelet gate_one = {.name = "gate", .cpu = run_gate};

typedef struct world {
    thrum_executor *ex;
    thrum_flow *flow;
    long cells[TASKS], door;
    thrum_data *data[TASKS], *shut;
} world;

static void use(world *w, thrum_executor *ex)
{
    *w = (world){.ex = ex, .flow = thrum_flow_new(ex)};
    for (int i = 0; i < TASKS; i++)
        w->data[i] = thrum_data_variable(ex, &w->cells[i], sizeof(long));
    w->shut = thrum_data_variable(ex, &w->door, sizeof(long));
    for (int i = 0; i < KNOWN_AFTER; i++) /* so that it is known how long they take */
        assert_int_equal(thrum_insert(w->flow, &long_one, THRUM_RW(w->data[i])), 0);
    assert_int_equal(thrum_flow_wait(w->flow), 0);
}

static void leave(world *w)
{
    assert_int_equal(thrum_flow_free(w->flow), 0);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(thrum_data_unregister(w->data[i]), 0);
    assert_int_equal(thrum_data_unregister(w->shut), 0);
}

/* All wait for the gate, which makes them ready at once. */
static void insert_behind_gate(world *w)
{
    atomic_store(&gate, false);
    atomic_store(&begun, 0);
    assert_int_equal(thrum_insert(w->flow, &gate_one, THRUM_RW(w->shut)), 0);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(thrum_insert(w->flow, &long_one, THRUM_RW(w->data[i]), THRUM_R(w->shut), THRUM_ARG(i)), 0);
    atomic_store(&gate, true);
    assert_int_equal(thrum_flow_wait(w->flow), 0);
    assert_int_equal(atomic_load(&begun), TASKS);
}

/* Whoever has taken one may be interrupted before it says so. */
static int in_place(void)
{
    int count = 0;
    for (int i = 0; i < TASKS; i++)
        count += position[i] - i <= WORKERS && i - position[i] <= WORKERS;
    return count;
}

TEST(they_begin_as_they_were_inserted)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = WORKERS});
    world w;
    use(&w, ex);
    int tries = 0, most = 0;
    do {
        insert_behind_gate(&w);
        most = in_place() > most ? in_place() : most;
    } while (most < TASKS * 3 / 4 && ++tries < 5);
    assert_in_range(most, TASKS * 3 / 4, TASKS);
    leave(&w);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- What others wait for ---------------------------------------------------------------------------------------- */

enum { READERS = 16, AWAITED = TASKS * 2 / 3 };

static void look_on(const thrum_buffer *b, const void *arg)
{
    (void)b;
    (void)arg;
}

static const thrum_codelet look_one = {.name = "look", .cpu = look_on};

static void insert_with_readers_of_one(world *w)
{
    atomic_store(&gate, false);
    atomic_store(&begun, 0);
    assert_int_equal(thrum_insert(w->flow, &gate_one, THRUM_RW(w->shut)), 0);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(thrum_insert(w->flow, &long_one, THRUM_RW(w->data[i]), THRUM_R(w->shut), THRUM_ARG(i)), 0);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(thrum_insert(w->flow, &look_one, THRUM_R(w->data[AWAITED])), 0);
    atomic_store(&gate, true);
    assert_int_equal(thrum_flow_wait(w->flow), 0);
}

TEST(what_many_wait_for_begins_earlier)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = WORKERS});
    world w;
    use(&w, ex);
    int tries = 0, earlier;
    do {
        insert_with_readers_of_one(&w);
        earlier = AWAITED - position[AWAITED];
    } while (earlier < READERS && ++tries < 5);
    assert_in_range(earlier, READERS, AWAITED);
    leave(&w);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Beside others ----------------------------------------------------------------------------------------------- */

typedef struct other {
    thrum_executor *ex;
    long sum;
} other;

static void *insert_many(void *arg)
{
    other *o = arg;
    world w;
    use(&w, o->ex);
    for (int i = 0; i < 5 * TASKS; i++)
        assert_int_equal(thrum_insert(w.flow, &long_one, THRUM_RW(w.data[i * 7 % TASKS]),
                                      i % 11 == 0  ? THRUM_PRIORITY(1)
                                      : i % 5 == 0 ? THRUM_PRIORITY(-1)
                                                   : THRUM_NONE),
                         0);
    assert_int_equal(thrum_flow_wait(w.flow), 0);
    leave(&w);
    for (int i = 0; i < TASKS; i++)
        o->sum += w.cells[i];
    return NULL;
}

static void add_one(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

TEST(several_flows_and_a_graph_share_the_workers)
{
    enum { FLOWS = 3, RUNS = 50 };
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = WORKERS});
    thrum_graph *graph = thrum_graph_new("urgent and not");
    other others[FLOWS];
    pthread_t threads[FLOWS];
    atomic_int runs = 0;
    assert_int_equal(thrum_task_set_priority(thrum_task_new(graph, add_one, &runs), THRUM_LOW), 0);
    assert_int_equal(thrum_task_set_priority(thrum_task_new(graph, add_one, &runs), THRUM_HIGH), 0);
    for (int i = 0; i < FLOWS; i++) {
        others[i] = (other){.ex = ex};
        assert_int_equal(pthread_create(&threads[i], NULL, insert_many, &others[i]), 0);
    }
    for (int i = 0; i < RUNS; i++)
        assert_int_equal(thrum_run(ex, graph), 0);
    for (int i = 0; i < FLOWS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(others[i].sum, 5 * TASKS + KNOWN_AFTER);
    }
    assert_int_equal(atomic_load(&runs), 2 * RUNS);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_begin_as_they_were_inserted),
        cmocka_unit_test(what_many_wait_for_begins_earlier),
        cmocka_unit_test(several_flows_and_a_graph_share_the_workers),
    };
    return RUN_TESTS(tests, 60);
}
