/* SPDX-License-Identifier: MIT
 *
 * Asking and raiding at every possible moment (src/exec/door.c). The executor's workers are kept busy, and threads of
 * the test act in their place: they ask and raid all the time, without waiting for an answer, and work on what that
 * brings. So an owner of tiny tasks meets more raids in a second than otherwise in hours.
 */
#include "stress.h"
#include "tasks.h"

#include "exec/exec_int.h"
#include "random.h"

static struct stress stress;

enum { WORKERS = 2, RAIDERS = 1, TASKS = 40, AFTER = 4 };

struct raider {
    struct stage *stage;
    worker *as;
    struct random random;
    unsigned long raids; /* that were successful */
    pthread_t thread;
};

struct stage {
    thrum_executor *ex;
    struct gate busy[WORKERS];
    struct raider raiders[RAIDERS];
    thrum_scope scope;
    worker *owner;
    atomic_bool stop;
    atomic_int patience; /* how long raiders wait between raids, at most */
};

/* As stay_at_gate, but leaves the cores to those who run. */
static void sleep_at_gate(void *arg)
{
    struct gate *gate = arg;
    atomic_store(&gate->entered, true);
    while (!atomic_load(&gate->open))
        pause_ms(1);
}

static void linger(struct random *random, size_t most)
{
    for (size_t i = random_below(random, most + 1); i > 0; i--)
        thrum__relax();
}

/* Asks, or raids as if it had asked long ago. */
static void disturb(struct raider *raider, bool raid)
{
    worker *owner = raider->stage->owner;
    watched_door *watched = &owner->watched;
    atomic_store_explicit(&watched->not_before, 0, memory_order_relaxed);
    atomic_store_explicit(&watched->first_seen, 1, memory_order_relaxed);
    atomic_store_explicit(&watched->begun, atomic_load_explicit(&owner->begun, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&watched->asked, raid, memory_order_relaxed);
    if (raid)
        thrum__deque_ask(&owner->deque);
    if (thrum__door_look_at(owner, INT64_MAX / 2) == LOOK_SHOWN)
        raider->raids++;
}

static void *raid_all_the_time(void *arg)
{
    struct raider *raider = arg;
    struct stage *stage = raider->stage;
    found f;
    thrum__self = raider->as;
    while (!atomic_load_explicit(&stage->stop, memory_order_relaxed)) {
        linger(&raider->random, (size_t)atomic_load_explicit(&stage->patience, memory_order_relaxed));
        disturb(raider, random_chance(&raider->random, 70));
        while (thrum__find(raider->as, &f))
            thrum__perform(raider->as, &f);
    }
    return NULL;
}

/* The calling thread becomes the owner. */
static void set_stage(struct stage *stage)
{
    memset(stage, 0, sizeof *stage);
    stage->ex = executor_with(WORKERS);
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(thrum_async(stage->ex, sleep_at_gate, &stage->busy[i]), 0);
        await_entered(&stage->busy[i]);
    }
    thrum_scope_open_on(&stage->scope, stage->ex);
    stage->owner = (worker *)stage->scope.worker;
    for (int i = 0; i < RAIDERS; i++) {
        struct raider *raider = &stage->raiders[i];
        *raider = (struct raider){.stage = stage, .as = stage->ex->cpu.workers[i], .random = random_new((uint64_t)i)};
        assert_int_equal(pthread_create(&raider->thread, NULL, raid_all_the_time, raider), 0);
    }
}

static void clear_stage(struct stage *stage)
{
    assert_int_equal(thrum_join(&stage->scope), 0);
    atomic_store(&stage->stop, true);
    for (int i = 0; i < RAIDERS; i++) {
        assert_int_equal(pthread_join(stage->raiders[i].thread, NULL), 0);
        print_message("           %lu raids\n", stage->raiders[i].raids);
    }
    for (int i = 0; i < WORKERS; i++)
        open_gate(&stage->busy[i]);
    assert_int_equal(thrum_executor_free(stage->ex), 0);
}

/* A worker that was raided shows everything until its steps are quick: as if they had been, so that there is something
 * to raid again. */
static void close_door(worker *w)
{
    if (!atomic_load_explicit(&w->open, memory_order_relaxed))
        return;
    thrum__door_take(w);
    w->slow_steps = UINT32_MAX - 1;
    w->slow_since = INT64_MAX / 2;
    thrum__door_give(w);
}

/* ---- Graphs ------------------------------------------------------------------------------------------------------ */

/* A task that knows how many come before it, and tells those that come after. */
struct counted {
    struct program *program;
    atomic_int arrived, runs;
    int expected, after[AFTER], linger;
};

struct program {
    struct stage *stage;
    struct counted tasks[TASKS];
    int count;
    atomic_int wrong;
    thrum_graph *graph;
    struct program *inner; /* run by its first task */
};

static void check_and_tell(void *arg)
{
    struct counted *task = arg;
    struct program *program = task->program;
    if (atomic_exchange_explicit(&task->arrived, 0, memory_order_relaxed) != task->expected)
        atomic_fetch_add_explicit(&program->wrong, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&task->runs, 1, memory_order_relaxed);
    if (thrum__self == program->stage->owner)
        close_door(thrum__self);
    for (int i = task->linger; i > 0; i--)
        thrum__relax();
    if (program->inner && task == program->tasks)
        thrum_run(program->stage->ex, program->inner->graph);
    for (int i = 0; i < AFTER; i++)
        if (task->after[i])
            atomic_fetch_add_explicit(&program->tasks[task->after[i]].arrived, 1, memory_order_relaxed);
}

static void program_init(struct program *program, struct stage *stage, struct random *random)
{
    thrum_task *tasks[TASKS];
    memset(program, 0, sizeof *program);
    program->stage = stage;
    program->graph = thrum_graph_new("raided");
    program->count = (int)random_between(random, 1, TASKS);
    size_t lingering = random_below(random, 80), edges = random_below(random, AFTER + 1);
    for (int i = 0; i < program->count; i++) {
        program->tasks[i].program = program;
        program->tasks[i].linger = (int)random_below(random, lingering + 1);
        tasks[i] = thrum_task_new(program->graph, check_and_tell, &program->tasks[i]);
    }
    for (int i = 0; i + 1 < program->count; i++) {
        for (size_t edge = random_below(random, edges + 1); edge > 0; edge--) {
            size_t to = random_between(random, (size_t)i + 1, (size_t)program->count - 1);
            program->tasks[i].after[edge - 1] = (int)to;
            program->tasks[to].expected++;
            assert_int_equal(thrum_edge(tasks[i], tasks[to]), 0);
        }
    }
}

/* Every task has run so many times, each time after all that come before it. */
static bool program_ran(const struct program *program, int times)
{
    bool right = program->wrong == 0;
    for (int i = 0; i < program->count; i++)
        right = right && program->tasks[i].runs == times;
    return right;
}

TEST(graphs_run_right_whenever_they_are_raided)
{
    struct stress_course course = stress_course(&stress);
    static struct program outer, inner;
    struct stage stage;
    set_stage(&stage);
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        int times = (int)random_between(&random, 1, 20);
        atomic_store(&stage.patience, (int)random_below(&random, 300));
        program_init(&outer, &stage, &random);
        program_init(&inner, &stage, &random);
        outer.inner = random_chance(&random, 50) ? &inner : NULL;
        stress_check(&course, thrum_run_n(stage.ex, outer.graph, (uint64_t)times) == 0);
        stress_check(&course, program_ran(&outer, times));
        stress_check(&course, program_ran(&inner, outer.inner ? times : 0));
        stress_check(&course, thrum__deque_check(&stage.owner->deque));
        assert_int_equal(thrum_graph_free(outer.graph), 0);
        assert_int_equal(thrum_graph_free(inner.graph), 0);
    }
    clear_stage(&stage);
    stress_report(&course, "graphs");
}

/* Runs that nobody begins are in the list until one of the raiders finds them, whole or not. */
TEST(runs_that_are_started_run_right_whoever_finds_them)
{
    struct stress_course course = stress_course(&stress);
    static struct program programs[3];
    struct stage stage;
    set_stage(&stage);
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        thrum_handle *handles[3];
        int times = (int)random_between(&random, 1, 5);
        atomic_store(&stage.patience, (int)random_below(&random, 300));
        for (int i = 0; i < 3; i++)
            program_init(&programs[i], &stage, &random);
        for (int i = 0; i < 3; i++)
            handles[i] = thrum_start_n(stage.ex, programs[i].graph, (uint64_t)times);
        for (int i = 0; i < 3; i++) {
            stress_check(&course, thrum_wait(handles[i]) == 0);
            stress_check(&course, program_ran(&programs[i], times));
            thrum_release(handles[i]);
            assert_int_equal(thrum_graph_free(programs[i].graph), 0);
        }
    }
    clear_stage(&stage);
    stress_report(&course, "rounds of three runs");
}

/* ---- Scopes ------------------------------------------------------------------------------------------------------ */

struct fib {
    worker *owner;
    int n;
    long value;
};

static void fib(thrum_scope *scope, void *arg)
{
    struct fib *f = arg;
    f->value = f->n;
    if (f->n < 2)
        return;
    if ((worker *)scope->worker == f->owner)
        close_door(f->owner);
    struct fib left = {f->owner, f->n - 1, 0}, right = {f->owner, f->n - 2, 0};
    thrum_scope inner;
    thrum_scope_open(&inner, scope);
    thrum_spawn(&inner, fib, &left);
    thrum_spawn(&inner, fib, &right);
    thrum_join(&inner);
    f->value = left.value + right.value;
}

TEST(children_are_run_once_whenever_they_are_raided)
{
    struct stress_course course = stress_course(&stress);
    static const long values[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610};
    struct stage stage;
    set_stage(&stage);
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        struct fib f = {.owner = stage.owner, .n = (int)random_below(&random, COUNT_OF(values))};
        atomic_store(&stage.patience, (int)random_below(&random, 300));
        thrum_scope scope;
        thrum_scope_open(&scope, &stage.scope);
        thrum_spawn(&scope, fib, &f);
        stress_check(&course, thrum_join(&scope) == 0);
        stress_check(&course, f.value == values[f.n]);
    }
    clear_stage(&stage);
    stress_report(&course, "scopes");
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_run_right_whenever_they_are_raided),
        cmocka_unit_test(runs_that_are_started_run_right_whoever_finds_them),
        cmocka_unit_test(children_are_run_once_whenever_they_are_raided),
    };
    stress = stress_begin(argv[0], 0.6);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
