/* SPDX-License-Identifier: MIT
 *
 * Random graphs in random domains, several at a time on one executor: with modules, loops, nested runs and scopes; some
 * fail or are cancelled in the middle. Between rounds the executor gets another number of workers.
 */
#include "random.h"
#include "stress.h"
#include "tasks.h"

static struct stress stress;

enum { TASKS_MOST = 60, EDGES_MOST = 4, DOMAINS_MOST = 6, PROGRAMS = 3, TURNS = 5 };

enum kind { PLAIN, SPAWNING, NESTING, SUBMITTING, KINDS };

struct program;

struct node {
    struct program *program;
    struct node *before[EDGES_MOST];
    int befores, domain;
    enum kind kind;
    int done; /* plain: thrum makes the order */
};

struct program {
    thrum_executor *ex;
    thrum_graph *graph, *module, *leaf;
    struct node nodes[TASKS_MOST], inner[TASKS_MOST];
    int tasks, inners;
    struct node leaf_node, turn, body;
    int turns;
    int fails_at; /* a task, or -1 */
    atomic_int mistakes, spawned, submitted, calls;
};

static void check_spawned(thrum_scope *scope, void *arg)
{
    struct node *node = arg;
    (void)scope;
    if (thrum_domain_index() != node->domain)
        count_up(&node->program->mistakes);
    count_up(&node->program->spawned);
}

static void check_submitted(void *arg)
{
    struct program *program = arg;
    if (thrum_domain_index() != 0)
        count_up(&program->mistakes);
    count_up(&program->submitted);
}

static void submit_and_wait(struct program *program)
{
    thrum_handle *handle = thrum_submit(program->ex, check_submitted, program);
    if (thrum_wait(handle))
        count_up(&program->mistakes);
    thrum_release(handle);
}

static void check_node(struct node *node)
{
    bool right = thrum_domain_index() == node->domain;
    for (int i = 0; i < node->befores; i++)
        right = right && node->before[i]->done == node->done + 1;
    node->done++;
    if (!right)
        count_up(&node->program->mistakes);
}

static void run_node(thrum_scope *scope, void *arg)
{
    struct node *node = arg;
    struct program *program = node->program;
    check_node(node);
    count_up(&program->calls);
    if (node->kind == SPAWNING)
        for (int i = 0; i < 4; i++)
            thrum_spawn(scope, check_spawned, node);
    if (node->kind == NESTING && thrum_run(program->ex, program->leaf))
        count_up(&program->mistakes);
    if (node->kind == SUBMITTING)
        submit_and_wait(program);
    if (program->fails_at >= 0 && node == &program->nodes[program->fails_at])
        thrum_fail(7, "as planned");
}

static void run_leaf(void *arg)
{
    const struct node *node = arg;
    if (thrum_domain_index() != node->domain)
        count_up(&node->program->mistakes);
}

static void run_body(void *arg)
{
    check_node(arg);
}

static int turn_again(void *arg)
{
    struct node *node = arg;
    check_node(node);
    return ++node->program->turns % TURNS ? 0 : THRUM_STOP;
}

/* ---- Building ---------------------------------------------------------------------------------------------------- */

static void place(struct random *random, thrum_task *task, struct node *node, int domains)
{
    node->domain = random_chance(random, 60) ? (int)random_below(random, (size_t)domains) : 0;
    if (node->domain || random_chance(random, 10))
        thrum_task_pin_domain(task, node->domain);
    if (random_chance(random, 10))
        thrum_task_pin_worker(task, 0);
    if (random_chance(random, 15))
        thrum_task_set_priority(task, random_chance(random, 50) ? THRUM_HIGH : THRUM_LOW);
}

static void build_nodes(struct random *random, struct program *program, thrum_graph *graph, struct node *nodes,
                        int count, int domains, thrum_task **tasks)
{
    for (int i = 0; i < count; i++) {
        nodes[i] = (struct node){.program = program,
                                 .kind = random_chance(random, 70) ? PLAIN : (enum kind)random_below(random, KINDS)};
        tasks[i] = thrum_scope_task_new(graph, run_node, &nodes[i]);
        place(random, tasks[i], &nodes[i], domains);
        size_t edges = i ? random_below(random, EDGES_MOST + 1) : 0;
        for (size_t e = 0; e < edges; e++) {
            int from = i - 1 - (int)random_below(random, (size_t)i);
            thrum_precede(tasks[from], tasks[i]);
            nodes[i].before[nodes[i].befores++] = &nodes[from];
        }
    }
}

static void build_loop(struct random *random, struct program *program, thrum_task *first, int domains)
{
    program->body = program->turn = (struct node){.program = program};
    thrum_task *body = thrum_task_new(program->graph, run_body, &program->body);
    thrum_task *turn = thrum_condition_new(program->graph, turn_again, &program->turn);
    place(random, body, &program->body, domains);
    place(random, turn, &program->turn, domains);
    program->turn.before[program->turn.befores++] = &program->body;
    thrum_task *start = thrum_placeholder_new(program->graph);
    thrum_precede(first, start);
    thrum_precede(start, body);
    thrum_precede(body, turn);
    thrum_precede(turn, body);
}

static void build(struct random *random, struct program *program, thrum_executor *ex, int domains)
{
    thrum_task *tasks[TASKS_MOST], *inner[TASKS_MOST];
    memset(program, 0, sizeof *program);
    program->ex = ex;
    program->fails_at = -1;
    program->graph = thrum_graph_new("stress");
    program->module = thrum_graph_new("module");
    program->leaf = thrum_graph_new("leaf");
    program->tasks = (int)random_between(random, 1, TASKS_MOST);
    program->inners = (int)random_between(random, 1, TASKS_MOST / 4);
    build_nodes(random, program, program->module, program->inner, program->inners, domains, inner);
    build_nodes(random, program, program->graph, program->nodes, program->tasks, domains, tasks);
    thrum_task *module = thrum_module_new(program->graph, program->module);
    thrum_precede(tasks[random_below(random, (size_t)program->tasks)], module);
    thrum_precede(module, thrum_placeholder_new(program->graph));
    build_loop(random, program, tasks[0], domains);
    program->leaf_node = (struct node){.program = program};
    for (int i = 0; i < 1 + (int)random_below(random, 3); i++) {
        thrum_task *leaf = thrum_task_new(program->leaf, run_leaf, &program->leaf_node);
        if (i == 0)
            program->leaf_node.domain = (int)random_below(random, (size_t)domains);
        thrum_task_pin_domain(leaf, program->leaf_node.domain);
    }
}

/* ---- Running ----------------------------------------------------------------------------------------------------- */

static void forget(struct program *program)
{
    for (int i = 0; i < TASKS_MOST; i++)
        program->nodes[i].done = program->inner[i].done = 0;
    program->body.done = program->turn.done = program->turns = 0;
}

static void check_whole(struct stress_course *course, const struct program *program, int rounds)
{
    for (int i = 0; i < program->tasks; i++)
        stress_check(course, program->nodes[i].done == rounds);
    for (int i = 0; i < program->inners; i++)
        stress_check(course, program->inner[i].done == rounds);
    stress_check(course, program->turns == rounds * TURNS);
    stress_check(course, atomic_load(&program->mistakes) == 0);
}

static void run_some(struct stress_course *course, struct random *random, thrum_executor *ex, struct program *programs,
                     int count)
{
    thrum_handle *handles[PROGRAMS];
    int rounds[PROGRAMS];
    bool cancelled[PROGRAMS] = {false};
    for (int i = 0; i < count; i++) {
        forget(&programs[i]);
        rounds[i] = (int)random_between(random, 1, 4);
        programs[i].fails_at = random_chance(random, 15) ? (int)random_below(random, (size_t)programs[i].tasks) : -1;
        handles[i] = thrum_start_n(ex, programs[i].graph, (uint64_t)rounds[i]);
        stress_check(course, handles[i] != NULL);
    }
    for (int i = 0; i < count; i++)
        if (random_chance(random, 15)) {
            for (size_t n = random_below(random, 200); n > 0; n--)
                sched_yield();
            cancelled[i] = true;
            thrum_cancel(handles[i]);
        }
    for (int i = 0; i < count; i++) {
        int code = thrum_wait(handles[i]);
        thrum_release(handles[i]);
        if (code == 0)
            check_whole(course, &programs[i], rounds[i]);
        else if (!cancelled[i] || code != THRUM_ECANCELLED)
            stress_check(course, code == 7 && programs[i].fails_at >= 0);
        stress_check(course, atomic_load(&programs[i].mistakes) == 0);
    }
}

static void run_course(struct stress_course *course)
{
    static struct program programs[PROGRAMS];
    struct random random = random_new(course->seed);
    thrum_domain_config configs[DOMAINS_MOST] = {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}, {"f", 1}};
    int domains = (int)random_between(&random, 2, DOMAINS_MOST), count = (int)random_between(&random, 1, PROGRAMS);
    for (int i = 0; i < DOMAINS_MOST; i++)
        configs[i].workers = (int)random_between(&random, 1, 3);
    thrum_executor *ex = thrum_executor_new(
        &(thrum_config){.workers = (int)random_between(&random, 1, 3),
                        .callers = random_chance(&random, 50) ? THRUM_CALLERS_HELP : THRUM_CALLERS_BLOCK,
                        .domains = configs,
                        .domain_count = domains - 1});
    stress_check(course, ex != NULL);
    for (int i = 0; i < count; i++)
        build(&random, &programs[i], ex, domains);
    for (int round = 0; round < 6; round++) {
        run_some(course, &random, ex, programs, count);
        if (random_chance(&random, 50)) {
            thrum_executor_wait(ex);
            int err = thrum_executor_resize(ex, (int)random_between(&random, 1, 4));
            stress_check(course, err == 0 || err == THRUM_EBUSY);
        }
    }
    if (random_chance(&random, 30)) /* freed while it is at work */
        thrum_release(thrum_start(ex, programs[0].graph));
    stress_check(course, thrum_executor_free(ex) == 0);
    for (int i = 0; i < count; i++) {
        stress_check(course, thrum_graph_free(programs[i].graph) == 0);
        stress_check(course, thrum_graph_free(programs[i].module) == 0);
        stress_check(course, thrum_graph_free(programs[i].leaf) == 0);
    }
}

TEST(random_programs_in_random_domains)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course))
        run_course(&course);
    stress_report(&course, "executors");
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_in_random_domains),
    };
    stress = stress_begin(argv[0], 3);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
