/* SPDX-License-Identifier: MIT
 *
 * Pipelined runs of random graphs: random strong and next edges, plain tasks, scopes, modules and event tasks,
 * priorities, pins and semaphores, some runs that fail in the middle. Every firing notes when it began and ended, and
 * hands a number along each edge through K plain places, so that a missing order is a wrong number, or a race that
 * ThreadSanitizer sees.
 */
#include "base/alloc.h"
#include "model/next.h"
#include "random.h"
#include "stress.h"
#include "tasks.h"

static struct stress stress;

enum { MOST_TASKS = 12, MOST_EDGES = 40, MOST_ITERATIONS = 40, WORKERS = 4 };

enum kind { PLAIN, SCOPE, MODULE, EVENT, KINDS };

struct trial;

struct node {
    struct trial *trial;
    int number, domain;
    enum kind kind;
    thrum_task *task;
    thrum_graph *module;
    uint64_t fired;                                          /* plain: firings of one task are one after the other */
    uint64_t begins[MOST_ITERATIONS], ends[MOST_ITERATIONS]; /* tickets; 0: never */
};

struct edge {
    int from, to;
    bool next;
    uint64_t places[THRUM_DEPTH_MOST];
};

struct trial {
    struct random random;
    thrum_graph *graph;
    struct node nodes[MOST_TASKS];
    struct edge edges[MOST_EDGES];
    int tasks, edge_count;
    unsigned depth;
    uint64_t iterations;
    int failing;       /* the task that fails, or -1, */
    uint64_t fails_at; /* and when */
    _Atomic uint64_t ticket;
    atomic_int mistakes;
};

static uint64_t take_ticket(struct trial *trial)
{
    return 1 + atomic_fetch_add_explicit(&trial->ticket, 1, memory_order_relaxed);
}

static void check(struct node *node, bool right)
{
    if (!right)
        count_up(&node->trial->mistakes);
}

/* The firing's first half: what was handed to it. */
static void begin_firing(void *arg)
{
    struct node *node = arg;
    struct trial *trial = node->trial;
    uint64_t i = thrum_iteration();
    check(node, i == node->fired && i < trial->iterations);
    check(node, thrum_domain_index() == node->domain);
    if (node->fired >= trial->iterations)
        return;
    node->begins[node->fired] = take_ticket(trial);
    for (struct edge *e = trial->edges; e < trial->edges + trial->edge_count; e++)
        if (e->to == node->number && (!e->next || i > 0))
            check(node, e->places[(i - e->next) % trial->depth] == i - e->next + 1000);
}

/* And its second: what it hands to others. `fired` and not the iteration, which spawned functions are not told. True:
 * it is to fail. */
static bool hand_on(struct node *node)
{
    struct trial *trial = node->trial;
    uint64_t i = node->fired;
    check(node, i < trial->iterations);
    if (i >= trial->iterations)
        return false;
    for (struct edge *e = trial->edges; e < trial->edges + trial->edge_count; e++)
        if (e->from == node->number)
            e->places[i % trial->depth] = i + 1000;
    node->fired++;
    node->ends[i] = take_ticket(trial);
    return trial->failing == node->number && i == trial->fails_at;
}

static void end_firing(void *arg)
{
    if (hand_on(arg))
        thrum_fail(77, "as asked");
}

/* A thread outside that ends the firings of event tasks: of each task one at a time. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t change;
    struct pending {
        struct node *node;
        thrum_event event;
    } pending[MOST_TASKS];
    int count;
    bool stop;
} outside = {.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};

static void end_outside(struct pending pending)
{
    if (hand_on(pending.node))
        thrum_event_fail(pending.event, 77, "as asked");
    else
        thrum_event_release(pending.event);
}

static void *live_outside(void *arg)
{
    pthread_mutex_lock(&outside.lock);
    while (!outside.stop) {
        if (outside.count == 0) {
            pthread_cond_wait(&outside.change, &outside.lock);
            continue;
        }
        struct pending pending = outside.pending[--outside.count];
        pthread_mutex_unlock(&outside.lock);
        end_outside(pending);
        pthread_mutex_lock(&outside.lock);
    }
    pthread_mutex_unlock(&outside.lock);
    return arg;
}

static void stop_outside(void)
{
    pthread_mutex_lock(&outside.lock);
    outside.stop = true;
    pthread_cond_signal(&outside.change);
    pthread_mutex_unlock(&outside.lock);
}

static void fire_event(thrum_event event, void *arg)
{
    struct node *node = arg;
    begin_firing(node);
    if (node->number % 2) { /* at once */
        end_outside((struct pending){node, event});
        return;
    }
    pthread_mutex_lock(&outside.lock);
    outside.pending[outside.count++] = (struct pending){node, event};
    pthread_cond_signal(&outside.change);
    pthread_mutex_unlock(&outside.lock);
}

static void fire(void *arg)
{
    begin_firing(arg);
    end_firing(arg);
}

static void end_in_child(thrum_scope *scope, void *arg)
{
    (void)scope;
    end_firing(arg);
}

/* The firing has not ended before the child has. */
static void fire_in_scope(thrum_scope *scope, void *arg)
{
    begin_firing(arg);
    thrum_spawn(scope, end_in_child, arg);
}

static thrum_task *node_task(thrum_graph *graph, struct node *node)
{
    if (node->kind == PLAIN)
        return thrum_task_new(graph, fire, node);
    if (node->kind == SCOPE)
        return thrum_scope_task_new(graph, fire_in_scope, node);
    if (node->kind == EVENT)
        return thrum_event_task_new(graph, fire_event, node);
    node->module = thrum_graph_new("module");
    thrum_task *first = thrum_task_new(node->module, begin_firing, node);
    thrum_task *last = thrum_task_new(node->module, end_firing, node);
    for (int i = 0; i < 2; i++) {
        thrum_task *between = thrum_task_new(node->module, do_nothing, NULL);
        thrum_precede(first, between);
        thrum_precede(between, last);
    }
    return thrum_module_new(graph, node->module);
}

/* Strong edges go from lower to higher in an order that has nothing to do with that of creation. */
static void add_edge(struct trial *trial, const int *order)
{
    struct random *random = &trial->random;
    int a = (int)random_below(random, (size_t)trial->tasks), b = (int)random_below(random, (size_t)trial->tasks);
    bool next = random_below(random, 2);
    if (!next && a == b)
        return;
    bool swap = !next && order[a] > order[b];
    struct edge *e = &trial->edges[trial->edge_count++];
    *e = (struct edge){.from = swap ? b : a, .to = swap ? a : b, .next = next};
    if (next)
        thrum_precede_next(trial->nodes[e->from].task, trial->nodes[e->to].task);
    else
        thrum_edge(trial->nodes[e->from].task, trial->nodes[e->to].task);
}

static thrum_semaphore *tokens;

/* Few graphs have terms, and few of their tasks: a graph with terms takes other ways. */
static void set_terms(struct trial *trial, int workers)
{
    struct random *random = &trial->random;
    for (int i = 0; i < trial->tasks; i++) {
        struct node *node = &trial->nodes[i];
        if (random_below(random, 3) == 0)
            thrum_task_set_priority(node->task, (enum thrum_priority)((int)random_below(random, 3) - 1));
        if (random_below(random, 3) == 0) {
            thrum_task_acquire(node->task, tokens);
            thrum_task_release(node->task, tokens);
        }
        if (node->kind == MODULE)
            continue;
        if (random_below(random, 4) == 0) {
            node->domain = 1;
            thrum_task_pin_domain(node->task, 1);
        } else if (random_below(random, 4) == 0) {
            thrum_task_pin_worker(node->task, (int)random_below(random, (size_t)workers));
        }
    }
}

static void build(struct trial *trial, uint64_t seed, int workers)
{
    struct random *random = &trial->random;
    memset(trial, 0, sizeof *trial);
    *random = random_new(seed);
    trial->graph = thrum_graph_new("random");
    trial->tasks = 1 + (int)random_below(random, MOST_TASKS);
    trial->depth = 2 + (unsigned)random_below(random, random_below(random, 8) ? 3 : THRUM_DEPTH_MOST - 1);
    trial->iterations = 1 + random_below(random, MOST_ITERATIONS);
    if (trial->depth != 2)
        thrum_graph_set_depth(trial->graph, trial->depth);
    int order[MOST_TASKS];
    for (int i = 0; i < trial->tasks; i++) {
        struct node *node = &trial->nodes[i];
        node->trial = trial;
        node->number = i;
        node->kind = random_below(random, 3) ? PLAIN : (enum kind)random_below(random, KINDS);
        node->task = node_task(trial->graph, node);
        size_t at = random_below(random, (size_t)i + 1);
        order[i] = order[at];
        order[at] = i;
    }
    size_t edges = random_below(random, 1 + (size_t)trial->tasks * 3);
    for (size_t i = 0; i < edges; i++)
        add_edge(trial, order);
    if (random_below(random, 4) == 0)
        set_terms(trial, workers);
}

/* As before a run; with `failing`, one that fails somewhere. */
static void reset(struct trial *trial, bool failing)
{
    trial->failing = failing ? (int)random_below(&trial->random, (size_t)trial->tasks) : -1;
    trial->fails_at = random_below(&trial->random, trial->iterations);
    trial->ticket = 0;
    for (int i = 0; i < trial->tasks; i++) {
        trial->nodes[i].fired = 0;
        memset(trial->nodes[i].begins, 0, sizeof trial->nodes[i].begins);
        memset(trial->nodes[i].ends, 0, sizeof trial->nodes[i].ends);
    }
}

/* Firing j of `after` began when firing i of `before` had ended; if both are firings of the run, and the first was
 * begun. */
static bool in_order(const struct trial *trial, int before, uint64_t i, int after, uint64_t j)
{
    if (i >= trial->iterations || j >= trial->iterations || !trial->nodes[after].begins[j])
        return true;
    return trial->nodes[before].ends[i] && trial->nodes[before].ends[i] < trial->nodes[after].begins[j];
}

/* Numbers below 0 wrap around and are no firings. */
static bool all_in_order(const struct trial *trial)
{
    for (uint64_t j = 0; j < trial->iterations; j++) {
        for (int t = 0; t < trial->tasks; t++)
            if (!in_order(trial, t, j - 1, t, j))
                return false;
        for (const struct edge *e = trial->edges; e < trial->edges + trial->edge_count; e++)
            if (!in_order(trial, e->from, j - e->next, e->to, j) ||
                !in_order(trial, e->to, j + e->next - trial->depth, e->from, j))
                return false;
    }
    return true;
}

static bool all_fired(const struct trial *trial, uint64_t times)
{
    for (int t = 0; t < trial->tasks; t++)
        if (trial->nodes[t].fired != times)
            return false;
    return true;
}

/* Whatever a failed run leaves behind does not disturb the next. */
static void try_failing(const struct stress_course *course, thrum_executor *ex, struct trial *trial)
{
    reset(trial, true);
    stress_check(course, thrum_run_pipelined(ex, trial->graph, trial->iterations) == 77);
    stress_check(course, all_in_order(trial));
    stress_check(course, trial->mistakes == 0);
}

static void try_whole(const struct stress_course *course, thrum_executor *ex, struct trial *trial, bool with_handle)
{
    reset(trial, false);
    thrum_handle *handle = with_handle ? thrum_start_pipelined(ex, trial->graph, trial->iterations) : NULL;
    int err = with_handle ? thrum_wait(handle) : thrum_run_pipelined(ex, trial->graph, trial->iterations);
    thrum_release(handle);
    if (err)
        print_error("%s\n", thrum_message(NULL));
    stress_check(course, err == 0);
    stress_check(course, trial->mistakes == 0);
    stress_check(course, all_fired(trial, trial->iterations));
    stress_check(course, all_in_order(trial));
}

/* With a barrier between iterations the same holds. */
static void try_ordinary(const struct stress_course *course, thrum_executor *ex, struct trial *trial)
{
    reset(trial, false);
    stress_check(course, thrum_run_n(ex, trial->graph, trial->iterations) == 0);
    stress_check(course, trial->mistakes == 0);
    stress_check(course, all_fired(trial, trial->iterations));
    stress_check(course, all_in_order(trial));
}

static void drop(struct trial *trial)
{
    assert_int_equal(thrum_graph_free(trial->graph), 0);
    for (int i = 0; i < trial->tasks; i++)
        assert_int_equal(thrum_graph_free(trial->nodes[i].module), 0);
}

static struct trial trial;

TEST(random_graphs_run_pipelined_as_their_edges_say)
{
    struct stress_course course = stress_course(&stress);
    thrum_executor *ex[WORKERS];
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, live_outside, NULL), 0);
    thrum_domain_config second = {.name = "second", .workers = 2};
    tokens = thrum_semaphore_new("tokens", 2);
    for (int i = 0; i < WORKERS; i++) {
        ex[i] = thrum_executor_new(&(thrum_config){.workers = i + 1, .domains = &second, .domain_count = 1});
        assert_non_null(ex[i]);
    }
    while (stress_next(&course)) {
        thrum_executor *at = ex[course.seed % WORKERS];
        build(&trial, course.seed, 1 + (int)(course.seed % WORKERS));
        for (int i = 0; i < 3; i++)
            try_whole(&course, at, &trial, i == 1);
        try_failing(&course, at, &trial);
        try_whole(&course, at, &trial, false);
        try_ordinary(&course, at, &trial);
        drop(&trial);
    }
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(thrum_executor_free(ex[i]), 0);
    assert_int_equal(thrum_semaphore_tokens(tokens), 2);
    assert_int_equal(thrum_semaphore_free(tokens), 0);
    stop_outside();
    assert_int_equal(pthread_join(thread, NULL), 0);
    stress_report(&course, "graphs");
}

/* Without modules, whose handles may be freed by another thread than the one that asks for the next. */
TEST(pipelined_runs_after_the_first_need_no_memory)
{
    enum { TASKS = 40, RUNS = 200, ITERATIONS = 20 };
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("flat");
    thrum_task *tasks[TASKS];
    thrum_graph_stats first = {0}, last = {0};
    int counts[TASKS] = {0};
    for (int i = 0; i < TASKS; i++)
        tasks[i] = thrum_task_new(graph, plain_count_up, &counts[i]);
    for (int i = 1; i < TASKS; i++) {
        thrum_precede_next(tasks[i], tasks[i - 1]);
        (i % 3 ? thrum_precede_next : thrum_edge)(tasks[i - 1], tasks[i]);
    }
    for (int run = 1; run <= RUNS; run++) {
        assert_int_equal(thrum_run_pipelined(ex, graph, ITERATIONS), 0);
        if (run == RUNS / 2) {
            assert_int_equal(thrum_graph_measure(graph, NULL, NULL, &first), 0);
            thrum__alloc_fail_after(-1);
        }
    }
    /* A worker keeps the first run that it ends, and on a busy machine that may come late: so one for each worker. */
    assert_in_range(thrum__alloc_count(), 0, 2);
    assert_int_equal(thrum_graph_measure(graph, NULL, NULL, &last), 0);
    assert_int_equal(first.bytes, last.bytes);
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(counts[i], RUNS * ITERATIONS);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* A deque has room for 1024 words at first. What it has no room for is run at once. */
TEST(more_tasks_become_ready_than_there_is_memory_for)
{
    enum { WIDTH = 3000, ITERATIONS = 30, MOST_ALLOCATIONS = 100 };
    static int counts[WIDTH];
    int done = 0, reported = 0;
    for (long n = 0; n < MOST_ALLOCATIONS && done < 3; n++) {
        thrum_executor *ex = executor_with(1 + (int)(n % 2));
        thrum_graph *graph = thrum_graph_new("wide");
        thrum_task *hub = thrum_placeholder_new(graph);
        memset(counts, 0, sizeof counts);
        for (int i = 0; i < WIDTH; i++)
            (i % 2 ? thrum_precede_next : thrum_edge)(hub, thrum_task_new(graph, plain_count_up, &counts[i]));
        assert_int_equal(thrum_graph_freeze(graph), 0);
        thrum__alloc_fail_after(n);
        int code = thrum_run_pipelined(ex, graph, ITERATIONS);
        thrum__alloc_fail_after(-1);
        assert_true(code == 0 || code == THRUM_ENOMEM);
        done += code == 0;
        reported += code != 0;
        for (int i = 0; i < WIDTH && code == 0; i++)
            assert_int_equal(counts[i], ITERATIONS);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
    assert_true(done == 3 && reported > 0);
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_run_pipelined_as_their_edges_say),
        cmocka_unit_test(pipelined_runs_after_the_first_need_no_memory),
        cmocka_unit_test(more_tasks_become_ready_than_there_is_memory_for),
    };
    stress = stress_begin(argv[0], 2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
