/* SPDX-License-Identifier: MIT
 *
 * Many threads at once: they start, wait for and release runs of shared graphs, flood executors with functions, open
 * scopes, and make and free executors.
 */
#include "random.h"
#include "stress.h"
#include "tasks.h"

static struct stress stress;

enum { GRAPHS = 4, EXECUTORS = 3, THREADLESS = 1, THREADS = 4 };

/* A graph and what its runs count. The plain counters are written by tasks of one run at a time, since runs queue. */
struct shared {
    thrum_graph *graph;
    atomic_int started; /* rounds that were asked for */
    int first, middle[8], last;
    atomic_int mistakes;
    bool fails; /* its last task always fails */
};

struct world {
    struct shared shared[GRAPHS];
    thrum_executor *ex[EXECUTORS];
    atomic_int asyncs_asked, asyncs_called, callbacks_asked, callbacks_called, mistakes;
    _Atomic uint64_t next_seed;
};

static void count_first(void *arg)
{
    struct shared *shared = arg;
    for (int i = 0; i < 8; i++)
        if (shared->middle[i] != shared->first)
            count_up(&shared->mistakes);
    shared->first++;
}

static void count_last(void *arg)
{
    struct shared *shared = arg;
    for (int i = 0; i < 8; i++)
        if (shared->middle[i] != shared->first)
            count_up(&shared->mistakes);
    shared->last++;
    if (shared->fails)
        thrum_fail(55, "as always");
}

static void shared_build(struct shared *shared, bool fails)
{
    shared->fails = fails;
    shared->graph = thrum_graph_new("shared");
    thrum_task *first = thrum_task_new(shared->graph, count_first, shared);
    thrum_task *last = thrum_task_new(shared->graph, count_last, shared);
    for (int i = 0; i < 8; i++) {
        thrum_task *task = thrum_task_new(shared->graph, plain_count_up, &shared->middle[i]);
        thrum_edge(first, task);
        thrum_edge(task, last);
    }
}

/* A failing graph fails in its first round, so that is all that is asked of it. */
static void use_graph(struct world *world, struct random *random)
{
    struct shared *shared = &world->shared[random_below(random, GRAPHS)];
    int rounds = shared->fails ? 1 : (int)random_between(random, 1, 3), expected = shared->fails ? 55 : 0;
    atomic_fetch_add(&shared->started, rounds);
    size_t executor = random_below(random, EXECUTORS);
    thrum_executor *ex = world->ex[executor];
    /* A run on the executor without threads stands still unless somebody waits for it, and those behind it with it. */
    if (executor == THREADLESS || random_chance(random, 40)) {
        if (thrum_run_n(ex, shared->graph, (uint64_t)rounds) != expected)
            count_up(&world->mistakes);
        return;
    }
    thrum_handle *handle = thrum_start_n(ex, shared->graph, (uint64_t)rounds);
    if (!handle) {
        count_up(&world->mistakes);
        return;
    }
    if (random_chance(random, 50)) {
        count_up(&world->callbacks_asked);
        if (thrum_then(handle, count_up, &world->callbacks_called))
            count_up(&world->mistakes);
    }
    if (random_chance(random, 60) && thrum_wait(handle) != expected)
        count_up(&world->mistakes);
    thrum_release(handle);
}

static void use_async(struct world *world, struct random *random)
{
    thrum_executor *ex = world->ex[random_below(random, EXECUTORS)];
    size_t count = random_between(random, 1, 30);
    for (size_t i = 0; i < count; i++) {
        count_up(&world->asyncs_asked);
        if (thrum_async(ex, count_up, &world->asyncs_called))
            count_up(&world->mistakes);
    }
    count_up(&world->asyncs_asked);
    thrum_handle *handle = thrum_submit(ex, count_up, &world->asyncs_called);
    if (!handle || (random_chance(random, 50) && thrum_wait(handle)))
        count_up(&world->mistakes);
    thrum_release(handle);
}

struct tree {
    int depth;
    atomic_int *leaves;
};

static void spawn_tree(thrum_scope *scope, void *arg)
{
    struct tree here = *(struct tree *)arg;
    if (here.depth-- == 0) {
        count_up(here.leaves);
        return;
    }
    thrum_spawn_copy(scope, spawn_tree, &here, sizeof here);
    thrum_spawn_copy(scope, spawn_tree, &here, sizeof here);
}

static void use_scope(struct world *world, struct random *random)
{
    atomic_int leaves = 0;
    struct tree top = {(int)random_between(random, 0, 5), &leaves};
    thrum_executor *ex = world->ex[random_below(random, EXECUTORS)];
    int err;
    if (random_chance(random, 50)) {
        err = thrum_scope_run(ex, spawn_tree, &top);
    } else {
        thrum_scope scope;
        thrum_scope_open_on(&scope, ex);
        thrum_spawn(&scope, spawn_tree, &top);
        err = thrum_join(&scope);
    }
    if (err || atomic_load_explicit(&leaves, memory_order_relaxed) != 1 << top.depth)
        count_up(&world->mistakes);
}

static void use_own_executor(struct world *world, struct random *random)
{
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = (int)random_between(random, 1, 3)});
    if (!ex) {
        count_up(&world->mistakes);
        return;
    }
    struct world own = {.ex = {ex, ex, ex}};
    use_async(&own, random);
    use_scope(&own, random);
    if (thrum_executor_free(ex) || own.mistakes || own.asyncs_asked != own.asyncs_called)
        count_up(&world->mistakes);
}

static void live_in_world(void *arg)
{
    struct world *world = arg;
    struct random random = random_new(atomic_fetch_add(&world->next_seed, 1) * UINT64_C(0x1000193));
    for (int i = 0; i < 20; i++) {
        size_t choice = random_below(&random, 100);
        if (choice < 50)
            use_graph(world, &random);
        else if (choice < 75)
            use_async(world, &random);
        else if (choice < 97)
            use_scope(world, &random);
        else
            use_own_executor(world, &random);
    }
}

static void world_check(struct stress_course *course, struct world *world)
{
    stress_check(course, world->mistakes == 0);
    stress_check(course, world->asyncs_asked == world->asyncs_called);
    stress_check(course, world->callbacks_asked == world->callbacks_called);
    for (int i = 0; i < GRAPHS; i++) {
        struct shared *shared = &world->shared[i];
        stress_check(course, shared->mistakes == 0);
        stress_check(course, shared->first == shared->started);
        stress_check(course, shared->last == shared->started);
    }
}

TEST(threads_share_graphs_and_executors)
{
    struct stress_course course = stress_course(&stress);
    static struct world world;
    for (int i = 0; i < GRAPHS; i++)
        shared_build(&world.shared[i], i == GRAPHS - 1);
    world.ex[0] = executor_with(2);
    world.ex[THREADLESS] = executor_threadless();
    world.ex[2] = executor_blocking(1);
    while (stress_next(&course)) {
        atomic_store(&world.next_seed, course.seed * THREADS);
        in_threads(THREADS, live_in_world, &world);
        for (int i = 0; i < EXECUTORS; i++)
            stress_check(&course, thrum_executor_wait(world.ex[i]) == 0);
        world_check(&course, &world);
    }
    for (int i = 0; i < EXECUTORS; i++)
        assert_int_equal(thrum_executor_free(world.ex[i]), 0);
    for (int i = 0; i < GRAPHS; i++)
        assert_int_equal(thrum_graph_free(world.shared[i].graph), 0);
    stress_report(&course, "times four threads");
}

/* Tasks that start runs and wait for them inside, from all sides at once. */
struct nested {
    thrum_executor *ex[EXECUTORS];
    thrum_graph *inner;
    int inner_runs;
    atomic_int asked, mistakes, ticket;
};

static void run_shared_inside(void *arg)
{
    struct nested *nested = arg;
    unsigned ticket = (unsigned)atomic_fetch_add_explicit(&nested->ticket, 1, memory_order_relaxed);
    count_up(&nested->asked);
    if (thrum_run(nested->ex[ticket % EXECUTORS], nested->inner))
        count_up(&nested->mistakes);
}

static void run_outer(void *arg)
{
    struct nested *nested = arg;
    unsigned ticket = (unsigned)atomic_fetch_add_explicit(&nested->ticket, 1, memory_order_relaxed);
    thrum_graph *outer = thrum_graph_new("outer");
    for (int i = 0; i < 6; i++)
        thrum_task_new(outer, run_shared_inside, nested);
    if (thrum_run_n(nested->ex[ticket % EXECUTORS], outer, 2) || thrum_graph_free(outer))
        count_up(&nested->mistakes);
}

TEST(tasks_wait_for_runs_of_a_shared_graph)
{
    struct stress_course course = stress_course(&stress);
    struct nested nested = {.ex = {executor_with(1), executor_with(2), executor_blocking(2)}};
    nested.inner = thrum_graph_new("inner");
    thrum_task_new(nested.inner, plain_count_up, &nested.inner_runs);
    while (stress_next(&course)) {
        in_threads(THREADS, run_outer, &nested);
        stress_check(&course, nested.mistakes == 0);
        stress_check(&course, nested.inner_runs == nested.asked);
    }
    for (int i = 0; i < EXECUTORS; i++)
        assert_int_equal(thrum_executor_free(nested.ex[i]), 0);
    assert_int_equal(thrum_graph_free(nested.inner), 0);
    stress_report(&course, "times four threads");
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_graphs_and_executors),
        cmocka_unit_test(tasks_wait_for_runs_of_a_shared_graph),
    };
    stress = stress_begin(argv[0], 2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
