/* SPDX-License-Identifier: MIT
 *
 * Two engines, one result, for tasks: whole simulations by SimGrid are those of the native engine, under every policy.
 *
 * The engines agree about each time up to a rounding. A policy may look at times, and where two are the same but for a
 * rounding it may decide otherwise, which changes all that follows. So work and sizes are random numbers.
 */
#include "test.h"
#include "random.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* With sanitizers processes are slow to start. */
#if SANITIZED_THREAD || SANITIZED_ADDRESS
enum { TASKS = 60, EVERY = 5 };
#else
enum { TASKS = 300, EVERY = 1 };
#endif
enum { PIECES = 60, REPORTS = 64 };
#define CLOSE 1e-9

/* ---- Workloads --------------------------------------------------------------------------------------------------- */

static size_t random_bytes(struct random *random)
{
    return random_between(random, 1, 1 << 22);
}

static thrum_workload_task random_task(struct random *random, thrum_workload_access *access)
{
    int count = (int)random_below(random, 4), first = (int)random_below(random, PIECES);
    for (int i = 0; i < count; i++)
        access[i] = (thrum_workload_access){(first + 7 * i) % PIECES, (enum thrum_mode)random_between(random, 1, 6)};
    return (thrum_workload_task){.codelet = (int)random_below(random, 3),
                                 .work = (double)random_between(random, 1, 100000000),
                                 .priority = (int)random_below(random, 5),
                                 .bucket = THRUM_NO_BUCKET,
                                 .worker = -1,
                                 .access = access,
                                 .access_count = count};
}

static thrum_workload *random_workload(uint64_t seed)
{
    struct random random = random_new(seed);
    thrum_workload *workload = thrum_workload_new("random");
    assert_non_null(workload);
    thrum_workload_add_codelet(workload, "anywhere", 1u << THRUM_ARCH_CPU | 1u << THRUM_ARCH_EMU);
    thrum_workload_add_codelet(workload, "on-cores", 1u << THRUM_ARCH_CPU);
    thrum_workload_add_codelet(workload, "on-devices", 1u << THRUM_ARCH_EMU);
    for (int i = 0; i < PIECES; i++)
        thrum_workload_add_data(workload, NULL, random_bytes(&random), true);
    for (int i = 0; i < TASKS; i++) {
        thrum_workload_access access[4];
        thrum_workload_task task = random_task(&random, access);
        assert_int_equal(thrum_workload_add_task(workload, &task), i);
    }
    return workload;
}

static thrum_machine *machine_named(const char *name, const char *line)
{
    thrum_machine *machine = thrum_machine_open(name);
    if (!machine)
        fail_msg("%s", thrum_message(NULL));
    if (line && thrum_machine_apply(machine, line, "the test"))
        fail_msg("%s", thrum_message(NULL));
    return machine;
}

/* ---- Comparing --------------------------------------------------------------------------------------------------- */

struct reports {
    int count;
    char keys[REPORTS][64];
    double values[REPORTS];
};

static void note(void *ctx, const char *key, double value)
{
    struct reports *reports = ctx;
    if (reports->count == REPORTS)
        return;
    snprintf(reports->keys[reports->count], sizeof reports->keys[0], "%s", key);
    reports->values[reports->count++] = value;
}

static thrum_sim_result *simulate(thrum_sim sim, thrum_sim_engine engine, struct reports *reports)
{
    thrum_sim_result *result = NULL;
    sim.engine = engine;
    sim.report = note;
    sim.ctx = memset(reports, 0, sizeof *reports);
    if (thrum_simulate(&sim, &result) != 0)
        fail_msg("%s, engine %d: %s", sim.policy, (int)engine, thrum_message(NULL));
    return result;
}

static bool is_close(double a, double b)
{
    return fabs(a - b) <= CLOSE * fmax(1, fabs(a));
}

static void compare_workers(const thrum_sim_result *a, const thrum_sim_result *b)
{
    assert_int_equal(a->worker_count, b->worker_count);
    for (int i = 0; i < a->worker_count; i++) {
        const thrum_sim_worker *x = &a->workers[i], *y = &b->workers[i];
        assert_int_equal(x->tasks, y->tasks);
        assert_int_equal(x->refused, y->refused);
        assert_true(is_close(x->busy, y->busy) && is_close(x->waiting, y->waiting) && is_close(x->crowded, y->crowded));
        assert_true(is_close(x->held, y->held) && is_close(x->starved, y->starved) &&
                    is_close(x->finished, y->finished));
    }
}

static void compare_links(const thrum_sim_result *a, const thrum_sim_result *b)
{
    assert_int_equal(a->link_count, b->link_count);
    assert_int_equal(a->node_count, b->node_count);
    for (int i = 0; i < a->link_count; i++) {
        const thrum_sim_link *x = &a->links[i], *y = &b->links[i];
        assert_true(x->from == y->from && x->to == y->to && x->copies == y->copies && x->bytes == y->bytes);
        assert_true(is_close(x->busy, y->busy));
    }
    assert_memory_equal(a->nodes, b->nodes, (size_t)a->node_count * sizeof *a->nodes);
}

static void compare_reports(const struct reports *a, const struct reports *b)
{
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        assert_string_equal(a->keys[i], b->keys[i]);
        assert_true(is_close(a->values[i], b->values[i]));
    }
}

static void compare(const thrum_sim *sim)
{
    struct reports ours, theirs;
    thrum_sim_result *native = simulate(*sim, THRUM_ENGINE_NATIVE, &ours);
    thrum_sim_result *simgrid = simulate(*sim, THRUM_ENGINE_SIMGRID, &theirs);
    if (!is_close(native->makespan, simgrid->makespan))
        fail_msg("%s, seed %d: native %.17g, SimGrid %.17g", sim->policy, (int)sim->seed, native->makespan,
                 simgrid->makespan);
    assert_int_equal(native->tasks, simgrid->tasks);
    assert_int_equal(native->copies, simgrid->copies);
    assert_int_equal(native->bytes, simgrid->bytes);
    assert_int_equal(native->events, simgrid->events);
    assert_true(native->bound == simgrid->bound && is_close(native->idle, simgrid->idle));
    compare_workers(native, simgrid);
    compare_links(native, simgrid);
    compare_reports(&ours, &theirs);
    thrum_sim_result_free(native);
    thrum_sim_result_free(simgrid);
}

/* Every policy in turns with a staged task or without. */
static void compare_policies(const char *machine_name, const char *line, uint64_t seed)
{
    thrum_machine *machine = machine_named(machine_name, line);
    thrum_workload *workload = random_workload(seed);
    for (int i = (int)(seed % EVERY); thrum_policy_at(i); i += EVERY)
        compare(&(thrum_sim){.machine = machine,
                             .workload = workload,
                             .policy = thrum_policy_at(i)->name,
                             .seed = seed,
                             .ahead = (i + (int)seed) % 3});
    thrum_workload_free(workload);
    thrum_machine_free(machine);
}

static void both_engines_agree_on_k40(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++)
        compare_policies("k40", NULL, seed);
}

/* Devices throw out and copy home. */
static void both_engines_agree_where_memory_is_short(void **state)
{
    (void)state;
    compare_policies("k40", "device gpu memory=32MiB workers=2", 11);
}

static void both_engines_agree_where_links_are_slow_and_kernels_noisy(void **state)
{
    (void)state;
    compare_policies("p100", "device gpu bandwidth=200MB/s latency=1ms", 12);
    compare_policies("p100", "noise gamma:20,0.05", 13);
}

static void both_engines_agree_where_data_costs_workers(void **state)
{
    (void)state;
    compare_policies("k40",
                     "overhead fresh.gpu=0.031ns copy.gpu=17us copy.cpu=13us moved.gpu=0.017ns moved.cpu=0.013ns", 17);
}

static void both_engines_agree_where_tasks_come_one_by_one(void **state)
{
    (void)state;
    compare_policies("k40", "insert task=123us access=77us window=40", 15);
    compare_policies("k40", "insert window=17", 16);
}

static void both_engines_agree_on_a_cluster(void **state)
{
    (void)state;
    compare_policies("cluster64", "hosts count=4", 14);
}

/* ---- Wrong use, and what comes back ------------------------------------------------------------------------------ */

static bool has_child(void)
{
    return !(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void lose(void *state, const thrum_world *world, thrum_job *job, int from)
{
    (void)state, (void)job, (void)from;
    world->wake(world, THRUM_ANY_WORKER);
}

static thrum_job *find_nothing(void *state, const thrum_world *world, int worker)
{
    (void)state, (void)world, (void)worker;
    return NULL;
}

static int refuse(void *state, const thrum_world *world)
{
    (void)state, (void)world;
    return THRUM_EINVAL;
}

static thrum_job *crash(void *state, const thrum_world *world, int worker)
{
    (void)state, (void)world, (void)worker;
    abort();
}

static const thrum_policy losing = {.name = "losing", .push = lose, .pop = find_nothing};
static const thrum_policy refusing = {.name = "refusing", .begin = refuse, .push = lose, .pop = find_nothing};
static const thrum_policy crashing = {.name = "crashing", .push = lose, .pop = crash};

/* The sentence of the native engine; and the result is untouched. */
static void expect_same_error(const thrum_sim *sim, int code)
{
    char sentence[1000];
    thrum_sim other = *sim;
    thrum_sim_result *result = NULL;
    other.engine = THRUM_ENGINE_NATIVE;
    assert_int_equal(thrum_simulate(&other, &result), code);
    snprintf(sentence, sizeof sentence, "%s", thrum_message(NULL));
    assert_int_equal(thrum_simulate(sim, &result), code);
    assert_string_equal(thrum_message(NULL), sentence);
    assert_null(result);
    assert_false(has_child());
}

static void errors_come_back_with_their_sentences(void **state)
{
    (void)state;
    thrum_sim_result *result = NULL;
    thrum_machine *machine = machine_named("k40", NULL);
    thrum_workload *workload = random_workload(1);
    thrum_sim sim = {.machine = machine, .workload = workload, .engine = THRUM_ENGINE_SIMGRID};
    sim.policy = "losing";
    expect_same_error(&sim, THRUM_EPOLICY);
    sim.policy = "refusing";
    expect_same_error(&sim, THRUM_EINVAL);
    sim.policy = "unheard-of";
    expect_same_error(&sim, THRUM_EINVAL);
    sim.policy = "fifo";
    sim.trace = "/nowhere/trace.json";
    expect_same_error(&sim, THRUM_ESYSTEM);
    sim.trace = NULL;
    sim.policy = "crashing";
    assert_int_equal(thrum_simulate(&sim, &result), THRUM_ESYSTEM);
    assert_non_null(strstr(thrum_message(NULL), "ended too early"));
    sim.policy = "steal";
    assert_int_equal(thrum_simulate(&sim, &result), THRUM_EINVAL);
    assert_non_null(strstr(thrum_message(NULL), "'steal'"));
    sim.engine = (thrum_sim_engine)7;
    assert_int_equal(thrum_simulate(&sim, &result), THRUM_EINVAL);
    assert_non_null(strstr(thrum_message(NULL), "no engine number 7"));
    assert_null(result);
    assert_false(has_child());
    thrum_workload_free(workload);
    thrum_machine_free(machine);
}

/* How many tasks a trace shows. */
static int count_tasks(const char *path)
{
    char line[1000];
    int count = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        count += strstr(line, "\"X\"") && !strstr(line, "\"copy\"");
    fclose(file);
    return count;
}

static void the_trace_is_written(void **state)
{
    (void)state;
    char path[64];
    thrum_machine *machine = machine_named("k40", NULL);
    thrum_workload *workload = random_workload(2);
    thrum_sim_result *result = NULL;
    snprintf(path, sizeof path, "sim-task-engines-%d.json", (int)getpid());
    thrum_sim sim = {.machine = machine, .workload = workload, .trace = path, .engine = THRUM_ENGINE_SIMGRID};
    assert_int_equal(thrum_simulate(&sim, &result), 0);
    assert_int_equal(count_tasks(path), TASKS);
    unlink(path);
    thrum_sim_result_free(result);
    thrum_workload_free(workload);
    thrum_machine_free(machine);
}

enum { THREADS = 4 };

struct simulated {
    thrum_sim sim;
    double makespan;
    int error;
};

static void *simulate_one(void *arg)
{
    struct simulated *it = arg;
    thrum_sim_result *result = NULL;
    it->error = thrum_simulate(&it->sim, &result);
    it->makespan = result ? result->makespan : 0;
    thrum_sim_result_free(result);
    return NULL;
}

__attribute__((unused)) static void several_threads_simulate_at_once(void **state)
{
    (void)state;
    struct simulated all[THREADS];
    pthread_t threads[THREADS];
    thrum_machine *machine = machine_named("k40", NULL);
    thrum_workload *workload = random_workload(3);
    for (int i = 0; i < THREADS; i++) {
        all[i].sim = (thrum_sim){.machine = machine, .workload = workload, .policy = "dmda"};
        all[i].sim.engine = i > 0 ? THRUM_ENGINE_SIMGRID : THRUM_ENGINE_NATIVE;
        assert_int_equal(pthread_create(&threads[i], NULL, simulate_one, &all[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(all[i].error, 0);
        assert_true(is_close(all[i].makespan, all[0].makespan));
    }
    assert_false(has_child());
    thrum_workload_free(workload);
    thrum_machine_free(machine);
}

/* Registered after the comparisons, which take every policy there is. */
static int register_policies(void **state)
{
    (void)state;
    return thrum_policy_register(&losing) || thrum_policy_register(&refusing) || thrum_policy_register(&crashing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_engines_agree_on_k40),
        cmocka_unit_test(both_engines_agree_where_memory_is_short),
        cmocka_unit_test(both_engines_agree_where_links_are_slow_and_kernels_noisy),
        cmocka_unit_test(both_engines_agree_where_data_costs_workers),
        cmocka_unit_test(both_engines_agree_where_tasks_come_one_by_one),
        cmocka_unit_test(both_engines_agree_on_a_cluster),
        cmocka_unit_test_setup(errors_come_back_with_their_sentences, register_policies),
        cmocka_unit_test(the_trace_is_written),
#if FORK_AMID_ALLOCATIONS
        cmocka_unit_test(several_threads_simulate_at_once),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
