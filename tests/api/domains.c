/* SPDX-License-Identifier: MIT
 *
 * Several domains in one executor.
 */
#include "tasks.h"

#include "random.h"

#include <sys/resource.h>

enum { DOMAINS_MOST = 64 };

static thrum_executor *executor_of(int home, const int *workers, int count)
{
    static char names[DOMAINS_MOST][16];
    static thrum_domain_config configs[DOMAINS_MOST];
    for (int i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "d%d", i + 1);
        configs[i] = (thrum_domain_config){names[i], workers ? workers[i] : 1};
    }
    thrum_executor *ex =
        thrum_executor_new(&(thrum_config){.workers = home, .domains = configs, .domain_count = count});
    if (!ex)
        print_error("no executor: %s\n", thrum_message(NULL));
    assert_non_null(ex);
    return ex;
}

/* ---- Making ------------------------------------------------------------------------------------------------------ */

TEST(domains_have_names_and_numbers)
{
    thrum_executor *ex = executor_of(2, (int[]){1, 3}, 2);
    assert_int_equal(thrum_executor_domains(ex), 3);
    assert_int_equal(thrum_executor_domain(ex, "cpu"), 0);
    assert_int_equal(thrum_executor_domain(ex, "d1"), 1);
    assert_int_equal(thrum_executor_domain(ex, "d2"), 2);
    assert_int_equal(thrum_executor_workers(ex), 2);
    assert_int_equal(thrum_executor_domain_workers(ex, 0), 2);
    assert_int_equal(thrum_executor_domain_workers(ex, 1), 1);
    assert_int_equal(thrum_executor_domain_workers(ex, 2), 3);
    assert_error(thrum_executor_domain(ex, "d3"), THRUM_EINVAL, "no domain 'd3'");
    assert_error(thrum_executor_domain(ex, NULL), THRUM_EINVAL, "the name is NULL");
    assert_error(thrum_executor_domain_workers(ex, 3), THRUM_EINVAL, "no domain 3");
    assert_error(thrum_executor_domain_workers(ex, -1), THRUM_EINVAL, "no domain -1");
    assert_int_equal(thrum_domain_index(), -1);
    assert_int_equal(thrum_executor_free(ex), 0);
    assert_int_equal(thrum_executor_domains(NULL), 1);
    assert_int_equal(thrum_executor_domain(NULL, "cpu"), 0);
}

static void assert_refused(thrum_config config, const char *part)
{
    assert_null(thrum_executor_new(&config));
    assert_contains(thrum_message(NULL), part);
}

TEST(wrong_domains_are_refused)
{
    thrum_domain_config one = {"gpu", 1}, none = {"gpu", 0}, negative = {"gpu", -2}, many = {"gpu", 1025};
    thrum_domain_config unnamed = {NULL, 1}, empty = {"", 1}, home = {"cpu", 1},
                        twice[] = {{"a", 1}, {"b", 1}, {"a", 1}};
    static thrum_domain_config too_many[DOMAINS_MOST];
    assert_refused((thrum_config){.workers = 1, .domains = &none, .domain_count = 1},
                   "domain 'gpu' is to have 0 workers");
    assert_refused((thrum_config){.workers = 1, .domains = &negative, .domain_count = 1}, "-2 workers");
    assert_refused((thrum_config){.workers = 1, .domains = &many, .domain_count = 1}, "1025 workers");
    assert_refused((thrum_config){.workers = 1, .domains = &unnamed, .domain_count = 1}, "domain 1 has no name");
    assert_refused((thrum_config){.workers = 1, .domains = &empty, .domain_count = 1}, "domain 1 has no name");
    assert_refused((thrum_config){.workers = 1, .domains = &home, .domain_count = 1}, "is named 'cpu'");
    assert_refused((thrum_config){.workers = 1, .domains = twice, .domain_count = 3},
                   "domains 1 and 3 are both named 'a'");
    assert_refused((thrum_config){.workers = 1, .domains = &one, .domain_count = -1}, "domain_count is -1");
    assert_refused((thrum_config){.workers = 1, .domains = too_many, .domain_count = DOMAINS_MOST},
                   "domain_count is 64");
    assert_refused((thrum_config){.workers = 1, .domain_count = 1}, "domains is NULL");
    assert_refused((thrum_config){.threadless = true, .domains = &one, .domain_count = 1}, "without threads");
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

struct place {
    int domain, worker; /* worker: within the domain, as seen by its first task; -1 for any */
    atomic_int right, wrong;
};

static void check_place(void *arg)
{
    struct place *place = arg;
    atomic_fetch_add(thrum_domain_index() == place->domain ? &place->right : &place->wrong, 1);
}

TEST(tasks_run_in_their_domain)
{
    enum { TASKS = 200, DOMAINS = 4 };
    static struct place places[TASKS];
    for (int home = 1; home <= 3; home++) {
        thrum_executor *ex = executor_of(home, (int[]){1, 2, 3}, DOMAINS - 1);
        thrum_graph *graph = thrum_graph_new("places");
        thrum_task *tasks[TASKS];
        for (int i = 0; i < TASKS; i++) {
            places[i] = (struct place){.domain = i % DOMAINS};
            tasks[i] = thrum_task_new(graph, check_place, &places[i]);
            if (places[i].domain)
                assert_int_equal(thrum_task_pin_domain(tasks[i], places[i].domain), 0);
            for (int j = 1; j <= 3 && i >= 20; j++)
                thrum_precede(tasks[i - j * 6], tasks[i]);
        }
        assert_int_equal(thrum_run_n(ex, graph, 30), 0);
        thrum_graph *clone = thrum_graph_clone(graph);
        assert_int_equal(thrum_run(ex, clone), 0);
        for (int i = 0; i < TASKS; i++) {
            assert_int_equal(atomic_load(&places[i].right), 31);
            assert_int_equal(atomic_load(&places[i].wrong), 0);
        }
        assert_int_equal(thrum_graph_free(clone), 0);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* A domain of one worker runs one task at a time: a plain counter will do. */
TEST(a_domain_of_one_worker_is_alone)
{
    enum { TASKS = 500 };
    thrum_executor *ex = executor_of(3, NULL, 1);
    thrum_graph *graph = thrum_graph_new("alone");
    int count = 0;
    for (int i = 0; i < TASKS; i++) {
        thrum_task *before = thrum_placeholder_new(graph), *task = thrum_task_new(graph, plain_count_up, &count);
        thrum_task_pin_domain(task, 1);
        thrum_precede(before, task);
    }
    assert_int_equal(thrum_run_n(ex, graph, 10), 0);
    assert_int_equal(count, 10 * TASKS);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

struct worker_place {
    atomic_int seen; /* the worker's number; -2 before */
    atomic_int wrong;
};

static void note_worker(void *arg)
{
    struct worker_place *place = arg;
    int index = thrum_worker_index(), before = -2;
    if (!atomic_compare_exchange_strong(&place->seen, &before, index) && before != index)
        atomic_fetch_add(&place->wrong, 1);
}

/* Pins to a worker count within the domain; workers' numbers differ over the whole executor. */
TEST(workers_of_all_domains_are_told_apart)
{
    enum { WORKERS = 3, DOMAINS = 3, ALL = WORKERS * DOMAINS };
    static struct worker_place places[ALL];
    thrum_executor *ex = executor_of(WORKERS, (int[]){WORKERS, WORKERS}, DOMAINS - 1);
    thrum_graph *graph = thrum_graph_new("workers");
    for (int round = 0; round < 5; round++) {
        thrum_task *before = NULL;
        for (int i = 0; i < ALL; i++) {
            atomic_store(&places[i].seen, -2);
            thrum_task *task = thrum_task_new(graph, note_worker, &places[i]);
            thrum_task_pin_domain(task, i / WORKERS);
            thrum_task_pin_worker(task, i % WORKERS);
            if (before && round % 2)
                thrum_precede(before, task);
            before = task;
        }
    }
    assert_int_equal(thrum_run_n(ex, graph, 20), 0);
    for (int i = 0; i < ALL; i++) {
        assert_int_equal(atomic_load(&places[i].wrong), 0);
        for (int j = 0; j < i; j++)
            assert_int_not_equal(atomic_load(&places[i].seen), atomic_load(&places[j].seen));
        if (i < WORKERS)
            assert_int_equal(atomic_load(&places[i].seen), i);
        else
            assert_true(atomic_load(&places[i].seen) >= WORKERS);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(pins_are_checked_against_the_right_domain)
{
    thrum_executor *ex = executor_of(2, (int[]){4, 1}, 2);
    thrum_graph *graph = thrum_graph_new("pins");
    thrum_task *task = thrum_task_new(graph, do_nothing, NULL);
    thrum_task_pin_domain(task, 1);
    thrum_task_pin_worker(task, 3);
    assert_int_equal(thrum_run(ex, graph), 0);
    thrum_task_pin_domain(task, 2);
    assert_int_equal(thrum_run(ex, graph), THRUM_EINVAL);
    assert_contains(thrum_message(graph), "is pinned to worker 3, but domain 2 of the executor has 1 worker");
    thrum_task_pin_domain(task, 0);
    assert_int_equal(thrum_run(ex, graph), THRUM_EINVAL);
    assert_contains(thrum_message(graph), "is pinned to worker 3, but the executor has 2 workers");
    thrum_task_pin_domain(task, 3);
    assert_int_equal(thrum_run(ex, graph), THRUM_EINVAL);
    assert_contains(thrum_message(graph), "is pinned to domain 3, but the executor has 3 domains");
    thrum_task_pin_domain(task, 1000000);
    assert_int_equal(thrum_run(ex, graph), THRUM_EINVAL);
    assert_contains(thrum_message(graph), "domain 1000000");
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- There and back ---------------------------------------------------------------------------------------------- */

struct step {
    int *at;
    int number, domain;
    atomic_int *wrong;
};

static void check_step(void *arg)
{
    const struct step *step = arg;
    if ((*step->at)++ != step->number || thrum_domain_index() != step->domain)
        atomic_fetch_add(step->wrong, 1);
}

static void ping_pong(int home, int domains, int length, uint64_t rounds)
{
    thrum_executor *ex = executor_of(home, NULL, domains - 1);
    thrum_graph *graph = thrum_graph_new("ping-pong");
    struct step *steps = calloc((size_t)length, sizeof *steps);
    atomic_int wrong = 0;
    int at = 0;
    thrum_task *before = NULL;
    for (int i = 0; i < length; i++) {
        steps[i] = (struct step){&at, i, i % domains, &wrong};
        thrum_task *task = thrum_task_new(graph, check_step, &steps[i]);
        thrum_task_pin_domain(task, steps[i].domain);
        if (before)
            thrum_precede(before, task);
        before = task;
    }
    for (uint64_t i = 0; i < rounds; i++) {
        at = 0;
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(at, length);
    }
    assert_int_equal(atomic_load(&wrong), 0);
    free(steps);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_chain_goes_back_and_forth)
{
    ping_pong(1, 2, 400, 10);
    ping_pong(2, 2, 401, 10);
    ping_pong(1, 3, 500, 10);
}

TEST(a_chain_goes_through_64_domains)
{
    ping_pong(1, DOMAINS_MOST, 3 * DOMAINS_MOST, 10);
}

/* ---- Random graphs ----------------------------------------------------------------------------------------------- */

enum { RANDOM_TASKS = 120, EDGES_MOST = 4 };

struct random_task {
    struct random_task *before[EDGES_MOST];
    int befores, domain;
    int done; /* plain: thrum's order is the only one */
    atomic_int wrong;
};

static void check_random(void *arg)
{
    struct random_task *task = arg;
    bool right = thrum_domain_index() == task->domain;
    for (int i = 0; i < task->befores; i++)
        right = right && task->before[i]->done == task->done + 1;
    task->done++;
    if (!right)
        atomic_fetch_add(&task->wrong, 1);
}

static void random_graph(uint64_t seed)
{
    static struct random_task tasks[RANDOM_TASKS];
    struct random random = random_new(seed);
    int domains = (int)random_between(&random, 2, 6), workers[6];
    for (int i = 0; i < 6; i++)
        workers[i] = (int)random_between(&random, 1, 3);
    thrum_executor *ex = executor_of((int)random_between(&random, 1, 3), workers, domains - 1);
    thrum_graph *graph = thrum_graph_new("random");
    thrum_task *handles[RANDOM_TASKS];
    memset(tasks, 0, sizeof tasks);
    unsigned away = (unsigned)random_between(&random, 5, 95);
    for (size_t i = 0; i < RANDOM_TASKS; i++) {
        tasks[i].domain = random_chance(&random, away) ? (int)random_below(&random, (size_t)domains) : 0;
        handles[i] = thrum_task_new(graph, check_random, &tasks[i]);
        if (tasks[i].domain || random_chance(&random, 10))
            thrum_task_pin_domain(handles[i], tasks[i].domain);
        if (random_chance(&random, 10))
            thrum_task_set_priority(handles[i], random_chance(&random, 50) ? THRUM_HIGH : THRUM_LOW);
        size_t edges = i ? random_below(&random, EDGES_MOST + 1) : 0;
        for (size_t e = 0; e < edges; e++) {
            size_t from = i - 1 - random_below(&random, i < 30 ? i : 30);
            thrum_precede(handles[from], handles[i]);
            tasks[i].before[tasks[i].befores++] = &tasks[from];
        }
    }
    assert_int_equal(thrum_run_n(ex, graph, 20), 0);
    for (int i = 0; i < RANDOM_TASKS; i++) {
        assert_int_equal(tasks[i].done, 20);
        assert_int_equal(atomic_load(&tasks[i].wrong), 0);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(random_graphs_with_random_domains_keep_their_order)
{
    for (uint64_t seed = 1; seed <= 40; seed++)
        random_graph(seed);
}

/* ---- Control flow ------------------------------------------------------------------------------------------------ */

struct loop {
    struct place there, here, turn;
    int rounds;
};

static int a_hundred_times(void *arg)
{
    struct loop *loop = arg;
    check_place(&loop->turn);
    return ++loop->rounds % 100 ? 0 : THRUM_STOP;
}

/* The body is in domain 1, the condition here or there. */
TEST(loops_go_through_domains)
{
    for (int condition_at = 0; condition_at < 3; condition_at++) {
        thrum_executor *ex = executor_of(2, NULL, 2);
        thrum_graph *graph = thrum_graph_new("loop");
        struct loop loop = {.there = {.domain = 1}, .turn = {.domain = condition_at}};
        thrum_task *start = thrum_placeholder_new(graph), *there = thrum_task_new(graph, check_place, &loop.there);
        thrum_task *here = thrum_task_new(graph, check_place, &loop.here);
        thrum_task *again = thrum_condition_new(graph, a_hundred_times, &loop);
        thrum_precede(start, there);
        thrum_precede(there, here);
        thrum_precede(here, again);
        thrum_precede(again, there);
        thrum_task_pin_domain(there, 1);
        thrum_task_pin_domain(again, condition_at);
        assert_int_equal(thrum_run_n(ex, graph, 3), 0);
        assert_int_equal(loop.rounds, 300);
        assert_int_equal(atomic_load(&loop.there.right), 300);
        assert_int_equal(atomic_load(&loop.here.right), 300);
        assert_int_equal(atomic_load(&loop.turn.right), 300);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static size_t name_all(int *picks, size_t room, void *arg)
{
    check_place(arg);
    for (size_t i = 0; i < room; i++)
        picks[i] = (int)i;
    return room;
}

TEST(a_choice_names_tasks_of_several_domains)
{
    enum { PLACES = 24, DOMAINS = 4 };
    static struct place places[PLACES + 1];
    thrum_executor *ex = executor_of(2, NULL, DOMAINS - 1);
    for (int at = 0; at < DOMAINS; at++) {
        thrum_graph *graph = thrum_graph_new("choice");
        places[PLACES] = (struct place){.domain = at};
        thrum_task *choice = thrum_choice_new(graph, name_all, &places[PLACES]);
        thrum_task_pin_domain(choice, at);
        for (int i = 0; i < PLACES; i++) {
            places[i] = (struct place){.domain = i % DOMAINS};
            thrum_task *task = thrum_task_new(graph, check_place, &places[i]);
            thrum_task_pin_domain(task, i % DOMAINS);
            thrum_precede(choice, task);
        }
        assert_int_equal(thrum_run_n(ex, graph, 20), 0);
        for (int i = 0; i <= PLACES; i++)
            assert_int_equal(atomic_load(&places[i].right), 20);
        assert_int_equal(thrum_graph_free(graph), 0);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* Modules end with tasks of another domain, in which their worker has left; and are nested. */
TEST(modules_have_tasks_in_other_domains)
{
    enum { DEPTH = 6 };
    static struct place places[2 * DEPTH + 1];
    for (int home = 1; home <= 2; home++) {
        thrum_executor *ex = executor_of(home, NULL, 2);
        thrum_graph *graphs[DEPTH];
        for (int i = 0; i < DEPTH; i++) {
            graphs[i] = thrum_graph_new("level");
            places[2 * i] = (struct place){.domain = i % 3};
            places[2 * i + 1] = (struct place){.domain = (i + 1) % 3};
            thrum_task *first = thrum_task_new(graphs[i], check_place, &places[2 * i]);
            thrum_task *last = thrum_task_new(graphs[i], check_place, &places[2 * i + 1]);
            thrum_task_pin_domain(first, i % 3);
            thrum_task_pin_domain(last, (i + 1) % 3);
            thrum_task *middle = i ? thrum_module_new(graphs[i], graphs[i - 1]) : thrum_placeholder_new(graphs[i]);
            thrum_precede(first, middle);
            thrum_precede(middle, last);
        }
        assert_int_equal(thrum_run_n(ex, graphs[DEPTH - 1], 100), 0);
        for (int i = 0; i < 2 * DEPTH; i++) {
            assert_int_equal(atomic_load(&places[i].right), 100);
            assert_int_equal(atomic_load(&places[i].wrong), 0);
        }
        for (int i = DEPTH - 1; i >= 0; i--)
            assert_int_equal(thrum_graph_free(graphs[i]), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static bool not_yet(void *arg)
{
    int *left = arg;
    return (*left)-- == 0;
}

/* The last task of each iteration is in another domain, whose worker begins the next one at home. */
TEST(iterations_end_in_another_domain)
{
    for (int home = 1; home <= 2; home++)
        for (int sources = 1; sources <= 40; sources += 13) {
            thrum_executor *ex = executor_of(home, NULL, 1);
            thrum_graph *graph = thrum_graph_new("ends there");
            struct place here = {.domain = 0}, there = {.domain = 1};
            thrum_task *last = thrum_task_new(graph, check_place, &there);
            thrum_task_pin_domain(last, 1);
            for (int i = 0; i < sources; i++)
                thrum_precede(thrum_task_new(graph, check_place, &here), last);
            int left = 50;
            assert_int_equal(thrum_run_n(ex, graph, 200), 0);
            assert_int_equal(thrum_run_until(ex, graph, not_yet, &left), 0);
            assert_int_equal(atomic_load(&there.right), 250);
            assert_int_equal(atomic_load(&here.right), 250 * sources);
            assert_int_equal(thrum_graph_free(graph), 0);
            assert_int_equal(thrum_executor_free(ex), 0);
        }
}

/* ---- Failing ----------------------------------------------------------------------------------------------------- */

static void fail_there(void *arg)
{
    check_place(arg);
    thrum_fail(9, "over there");
}

TEST(a_failure_in_another_domain_ends_the_run)
{
    thrum_executor *ex = executor_of(2, (int[]){1, 2}, 2);
    thrum_graph *graph = thrum_graph_new("failing");
    struct place there = {.domain = 1};
    atomic_int count = 0;
    thrum_task *failing = thrum_task_new(graph, fail_there, &there);
    thrum_task_pin_domain(failing, 1);
    thrum_task *before = failing;
    for (int i = 0; i < 60; i++) {
        thrum_task *task = thrum_task_new(graph, count_up, &count);
        thrum_task_pin_domain(task, i % 3);
        thrum_precede(i % 5 ? before : failing, task);
        if (i % 2)
            thrum_precede(task, thrum_task_new(graph, count_up, &count));
        before = task;
    }
    for (int round = 1; round <= 20; round++) {
        assert_int_equal(thrum_run(ex, graph), 9);
        assert_contains(thrum_message(graph), "over there");
        assert_int_equal(atomic_load(&there.right), round);
    }
    assert_int_equal(atomic_load(&count), 0);
    thrum_task_set(failing, do_nothing, NULL);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(atomic_load(&count), 90);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_run_is_cancelled_while_it_is_in_several_domains)
{
    for (int at = 0; at < 3; at++) {
        thrum_executor *ex = executor_of(2, NULL, 2);
        thrum_graph *graph = thrum_graph_new("cancelled");
        struct gate gate = {false, false};
        atomic_int count = 0;
        thrum_task *first = thrum_task_new(graph, stay_at_gate, &gate);
        thrum_task_pin_domain(first, at);
        for (int i = 0; i < 50; i++) {
            thrum_task *task = thrum_task_new(graph, count_up, &count);
            thrum_task_pin_domain(task, i % 3);
            thrum_precede(first, task);
        }
        thrum_handle *handle = thrum_start_n(ex, graph, 10);
        await_entered(&gate);
        thrum_cancel(handle);
        open_gate(&gate);
        assert_int_equal(thrum_wait(handle), THRUM_ECANCELLED);
        assert_int_equal(atomic_load(&count), 0);
        thrum_release(handle);
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(atomic_load(&count), 50);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* ---- Inside tasks of another domain ------------------------------------------------------------------------------ */

struct nest {
    thrum_executor *ex;
    thrum_graph *inner, *single;
    struct place here, there, away, spawned, detached, submitted, outer;
    atomic_int errors;
};

static void check_spawned(thrum_scope *scope, void *arg)
{
    (void)scope;
    check_place(arg);
}

static void spawn_some(thrum_scope *scope, void *arg)
{
    struct nest *nest = arg;
    for (int i = 0; i < 8; i++)
        thrum_spawn(scope, check_spawned, &nest->spawned);
}

static void detach_some(thrum_scope *scope, void *arg)
{
    struct nest *nest = arg;
    check_place(&nest->outer);
    thrum_scope_detach(scope);
    for (int i = 0; i < 4; i++)
        thrum_spawn(scope, check_spawned, &nest->detached);
}

static void nest_all(thrum_scope *scope, void *arg)
{
    struct nest *nest = arg;
    int errors = 0;
    errors += thrum_run(nest->ex, nest->inner) != 0;
    errors += thrum_run(nest->ex, nest->single) != 0;
    errors += thrum_run_n(nest->ex, nest->inner, 3) != 0;
    errors += thrum_scope_run(nest->ex, spawn_some, nest) != 0;
    thrum_handle *function = thrum_submit(nest->ex, check_place, &nest->submitted);
    errors += thrum_wait(function) != 0;
    thrum_release(function);
    thrum_scope inner;
    thrum_scope_open(&inner, scope);
    spawn_some(&inner, nest);
    errors += thrum_join(&inner) != 0;
    thrum_graph *built = thrum_scope_graph(scope, "built");
    thrum_task_new(built, check_place, &nest->here);
    thrum_task_pin_domain(thrum_task_new(built, check_place, &nest->there), 1);
    check_place(&nest->outer);
    atomic_fetch_add(&nest->errors, errors);
}

static void check_nested(int home, int workers, int rounds)
{
    thrum_executor *ex = executor_of(home, (int[]){workers, 1}, 2);
    struct nest nest = {.ex = ex,
                        .inner = thrum_graph_new("inner"),
                        .single = thrum_graph_new("single"),
                        .here = {.domain = 0},
                        .there = {.domain = 1},
                        .away = {.domain = 2},
                        .spawned = {.domain = 1},
                        .detached = {.domain = 1},
                        .submitted = {.domain = 0},
                        .outer = {.domain = 1}};
    thrum_task *here = thrum_task_new(nest.inner, check_place, &nest.here);
    thrum_task *there = thrum_task_new(nest.inner, check_place, &nest.there);
    thrum_task *away = thrum_task_new(nest.inner, check_place, &nest.away);
    thrum_precede(here, there);
    thrum_precede(there, away);
    thrum_task_pin_domain(there, 1);
    thrum_task_pin_domain(away, 2);
    thrum_task_new(nest.single, check_place, &nest.here);
    thrum_graph *graph = thrum_graph_new("outer");
    thrum_task *task = thrum_scope_task_new(graph, nest_all, &nest);
    thrum_task *detaching = thrum_scope_task_new(graph, detach_some, &nest);
    thrum_task_pin_domain(task, 1);
    thrum_task_pin_domain(detaching, 1);
    thrum_precede(detaching, task);
    assert_int_equal(thrum_run_n(ex, graph, (uint64_t)rounds), 0);
    assert_int_equal(atomic_load(&nest.errors), 0);
    assert_int_equal(atomic_load(&nest.here.right), rounds * 6);
    assert_int_equal(atomic_load(&nest.there.right), rounds * 5);
    assert_int_equal(atomic_load(&nest.away.right), rounds * 4);
    assert_int_equal(atomic_load(&nest.spawned.right), rounds * 16);
    assert_int_equal(atomic_load(&nest.detached.right), rounds * 4);
    assert_int_equal(atomic_load(&nest.submitted.right), rounds);
    assert_int_equal(atomic_load(&nest.outer.right), rounds * 2);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_graph_free(nest.inner), 0);
    assert_int_equal(thrum_graph_free(nest.single), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(tasks_of_another_domain_run_graphs_and_scopes)
{
    check_nested(1, 1, 30);
    check_nested(2, 2, 30);
    check_nested(1, 3, 30);
}

/* All children of a scope must be there at the same time: the other workers of the domain come to steal. */
struct meeting {
    atomic_int there, wrong;
    int expected, domain;
};

static void meet(thrum_scope *scope, void *arg)
{
    struct meeting *meeting = arg;
    (void)scope;
    if (thrum_domain_index() != meeting->domain)
        atomic_fetch_add(&meeting->wrong, 1);
    int all = (atomic_fetch_add(&meeting->there, 1) / meeting->expected + 1) * meeting->expected;
    while (atomic_load(&meeting->there) < all)
        sched_yield();
}

static void call_meeting(thrum_scope *scope, void *arg)
{
    const struct meeting *meeting = arg;
    for (int i = 0; i < meeting->expected; i++)
        thrum_spawn(scope, meet, arg);
}

TEST(workers_of_a_domain_steal_from_each_other)
{
    enum { WORKERS = 3 };
    thrum_executor *ex = executor_of(1, (int[]){1, WORKERS}, 2);
    thrum_graph *graph = thrum_graph_new("meeting");
    struct meeting meeting = {.expected = WORKERS, .domain = 2};
    thrum_task_pin_domain(thrum_scope_task_new(graph, call_meeting, &meeting), 2);
    for (int round = 0; round < 20; round++)
        assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(atomic_load(&meeting.there), 20 * WORKERS);
    assert_int_equal(atomic_load(&meeting.wrong), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* The same with graph tasks: one makes several ready in another domain, which must be there together. */
static void meet_as_task(void *arg)
{
    meet(NULL, arg);
}

TEST(several_workers_of_a_domain_are_woken)
{
    enum { WORKERS = 3 };
    thrum_executor *ex = executor_of(1, (int[]){WORKERS}, 1);
    thrum_graph *graph = thrum_graph_new("meeting");
    struct meeting meeting = {.expected = WORKERS, .domain = 1};
    thrum_task *first = thrum_placeholder_new(graph), *there = thrum_placeholder_new(graph);
    thrum_task_pin_domain(there, 1);
    for (int i = 0; i < 2 * WORKERS; i++) {
        thrum_task *task = thrum_task_new(graph, meet_as_task, &meeting);
        thrum_task_pin_domain(task, 1);
        thrum_precede(i < WORKERS ? first : there, task); /* posted; pushed by a worker of the domain */
        if (i >= WORKERS)
            thrum_precede(first, there);
    }
    for (int round = 0; round < 20; round++)
        assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(atomic_load(&meeting.there), 20 * 2 * WORKERS);
    assert_int_equal(atomic_load(&meeting.wrong), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

struct numbers {
    thrum_executor *ex;
    int values[5000];
    int err;
};

static void use_algorithms(void *arg)
{
    struct numbers *numbers = arg;
    for (int i = 0; i < 5000; i++)
        numbers->values[i] = (i * 7919) % 5000;
    numbers->err = thrum_sort_int32(numbers->ex, numbers->values, 5000);
}

TEST(algorithms_are_called_in_another_domain)
{
    thrum_executor *ex = executor_of(2, (int[]){2}, 1);
    static struct numbers numbers;
    numbers.ex = ex;
    thrum_graph *graph = thrum_graph_new("sorting");
    thrum_task_pin_domain(thrum_task_new(graph, use_algorithms, &numbers), 1);
    assert_int_equal(thrum_run_n(ex, graph, 5), 0);
    assert_int_equal(numbers.err, 0);
    for (int i = 0; i < 5000; i++)
        assert_int_equal(numbers.values[i], i);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

struct later {
    thrum_event event;
    struct place there;
    atomic_bool there_is_one;
};

static void hold_there(thrum_event event, void *arg)
{
    struct later *later = arg;
    check_place(&later->there);
    later->event = event;
    atomic_store(&later->there_is_one, true);
}

TEST(an_event_task_of_another_domain_completes_at_home)
{
    thrum_executor *ex = executor_of(2, NULL, 2);
    thrum_graph *graph = thrum_graph_new("later");
    struct later later = {.there = {.domain = 1}};
    struct place home = {.domain = 0}, other = {.domain = 2};
    thrum_task *event = thrum_event_task_new(graph, hold_there, &later);
    thrum_task_pin_domain(event, 1);
    thrum_task *after = thrum_task_new(graph, check_place, &home), *far = thrum_task_new(graph, check_place, &other);
    thrum_task_pin_domain(far, 2);
    thrum_precede(event, after);
    thrum_precede(event, far);
    for (int round = 1; round <= 20; round++) {
        atomic_store(&later.there_is_one, false);
        thrum_handle *handle = thrum_start(ex, graph);
        while (!atomic_load(&later.there_is_one))
            sched_yield();
        if (round % 3 == 0)
            pause_ms(1);
        assert_int_equal(thrum_event_release(later.event), 0);
        assert_int_equal(thrum_wait(handle), 0);
        thrum_release(handle);
        assert_int_equal(atomic_load(&home.right), round);
        assert_int_equal(atomic_load(&other.right), round);
        assert_int_equal(atomic_load(&later.there.right), round);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Rest and end ------------------------------------------------------------------------------------------------ */

static double processor_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void sleep_there(void *arg)
{
    (void)arg;
    pause_ms(300);
}

TEST(idle_domains_use_no_processor_time)
{
    thrum_executor *ex = executor_of(2, (int[]){2, 2, 2}, 3);
    thrum_graph *graph = thrum_graph_new("one at work");
    thrum_task *first = thrum_placeholder_new(graph), *slow = thrum_task_new(graph, sleep_there, NULL);
    thrum_precede(first, slow);
    thrum_task_pin_domain(slow, 2);
    thrum_precede(slow, thrum_placeholder_new(graph));
    assert_int_equal(thrum_run(ex, graph), 0);
    double before = processor_seconds();
    assert_int_equal(thrum_run(ex, graph), 0); /* one task at work in one domain */
    pause_ms(200);                             /* nothing at all */
    assert_true(processor_seconds() - before < 0.1);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(an_executor_is_freed_while_its_domains_are_at_work)
{
    enum { CHAINS = 10, LENGTH = 12 };
    for (int round = 0; round < 30; round++) {
        thrum_executor *ex = executor_of(1 + round % 2, NULL, 3);
        thrum_graph *graph = thrum_graph_new("left alone");
        atomic_int count = 0;
        for (int c = 0; c < CHAINS; c++) {
            thrum_task *before = NULL;
            for (int i = 0; i < LENGTH; i++) {
                thrum_task *task = thrum_task_new(graph, count_up, &count);
                thrum_task_pin_domain(task, (c + i) % 4);
                if (before)
                    thrum_precede(before, task);
                before = task;
            }
        }
        thrum_release(thrum_start_n(ex, graph, 3));
        assert_int_equal(thrum_executor_free(ex), 0);
        assert_int_equal(atomic_load(&count), 3 * CHAINS * LENGTH);
        assert_int_equal(thrum_graph_free(graph), 0);
    }
}

TEST(an_executor_with_domains_is_made_and_freed_again_and_again)
{
    for (int round = 0; round < 30; round++)
        assert_int_equal(thrum_executor_free(executor_of(1, (int[]){1, 2, 1}, 3)), 0);
}

/* ---- Traces and observers ---------------------------------------------------------------------------------------- */

static char *read_all(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    static char text[100000];
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = 0;
    fclose(file);
    return text;
}

TEST(a_trace_names_the_domains)
{
    char path[] = "domains-trace-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    thrum_domain_config domains[] = {{"gpu \"0\"", 2}, {"disk", 1}};
    thrum_executor *ex =
        thrum_executor_new(&(thrum_config){.workers = 2, .trace = path, .domains = domains, .domain_count = 2});
    assert_non_null(ex);
    thrum_graph *graph = thrum_graph_new("traced");
    thrum_task *a = thrum_task_new(graph, do_nothing, NULL), *b = thrum_task_new(graph, do_nothing, NULL);
    thrum_task_set_name(a, "kernel");
    thrum_task_pin_domain(a, 1);
    thrum_task_pin_worker(a, 1);
    thrum_precede(a, b);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
    const char *text = read_all(path);
    assert_contains(text, "\"name\":\"worker 1\"");
    assert_contains(text, "\"name\":\"gpu \\\"0\\\" worker 1\"");
    assert_contains(text, "\"name\":\"disk worker 0\"");
    assert_contains(text, "\"kernel\"");
    assert_int_equal(fclose(fdopen(fd, "r")), 0);
    assert_int_equal(remove(path), 0);
}

struct observed {
    atomic_int begun, wrong;
};

static void observe_begin(void *context, const thrum_task_info *info)
{
    struct observed *observed = context;
    atomic_fetch_add(&observed->begun, 1);
    if (info->worker != thrum_worker_index())
        atomic_fetch_add(&observed->wrong, 1);
}

TEST(observers_are_told_the_workers_number)
{
    thrum_executor *ex = executor_of(2, NULL, 2);
    struct observed observed = {0, 0};
    assert_int_equal(thrum_executor_observe(ex, &(thrum_observer){.begin = observe_begin, .context = &observed}), 0);
    thrum_graph *graph = thrum_graph_new("observed");
    for (int i = 0; i < 30; i++)
        thrum_task_pin_domain(thrum_task_new(graph, do_nothing, NULL), i % 3);
    assert_int_equal(thrum_run_n(ex, graph, 10), 0);
    assert_int_equal(atomic_load(&observed.begun), 300);
    assert_int_equal(atomic_load(&observed.wrong), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(domains_have_names_and_numbers),
        cmocka_unit_test(wrong_domains_are_refused),
        cmocka_unit_test(tasks_run_in_their_domain),
        cmocka_unit_test(a_domain_of_one_worker_is_alone),
        cmocka_unit_test(workers_of_all_domains_are_told_apart),
        cmocka_unit_test(pins_are_checked_against_the_right_domain),
        cmocka_unit_test(a_chain_goes_back_and_forth),
        cmocka_unit_test(a_chain_goes_through_64_domains),
        cmocka_unit_test(random_graphs_with_random_domains_keep_their_order),
        cmocka_unit_test(loops_go_through_domains),
        cmocka_unit_test(a_choice_names_tasks_of_several_domains),
        cmocka_unit_test(modules_have_tasks_in_other_domains),
        cmocka_unit_test(iterations_end_in_another_domain),
        cmocka_unit_test(a_failure_in_another_domain_ends_the_run),
        cmocka_unit_test(a_run_is_cancelled_while_it_is_in_several_domains),
        cmocka_unit_test(tasks_of_another_domain_run_graphs_and_scopes),
        cmocka_unit_test(workers_of_a_domain_steal_from_each_other),
        cmocka_unit_test(several_workers_of_a_domain_are_woken),
        cmocka_unit_test(algorithms_are_called_in_another_domain),
        cmocka_unit_test(an_event_task_of_another_domain_completes_at_home),
        cmocka_unit_test(idle_domains_use_no_processor_time),
        cmocka_unit_test(an_executor_is_freed_while_its_domains_are_at_work),
        cmocka_unit_test(an_executor_with_domains_is_made_and_freed_again_and_again),
        cmocka_unit_test(a_trace_names_the_domains),
        cmocka_unit_test(observers_are_told_the_workers_number),
    };
    return RUN_TESTS(tests, 100);
}
