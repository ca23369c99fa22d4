/* SPDX-License-Identifier: MIT
 *
 * Random graphs whose tasks take and give back tokens of semaphores that they share, several at once on one or two
 * executors: run to their end, failing, and cancelled at random moments. The oracle counts: who is inside at each
 * moment, how often each task has run, and that all tokens are there in the end.
 */
#include "random.h"
#include "stress.h"
#include "tasks.h"

static struct stress stress;

enum { MOST_SEMAPHORES = 6, MOST_TASKS = 60, MOST_GRAPHS = 3, MOST_DEMANDS = 3, KINDS = 6 };

static thrum_executor *executors[KINDS];

static thrum_executor *executor_of_kind(int kind)
{
    if (!executors[kind])
        executors[kind] = kind == 0 ? executor_threadless() : kind == 5 ? executor_blocking(2) : executor_with(kind);
    return executors[kind];
}

struct guarded {
    thrum_semaphore *semaphore;
    uint64_t tokens;
    atomic_uint_fast64_t inside;
};

struct trial;

/* What one task does: enters by the first list and leaves by the second, which differ in the tasks of a region. */
struct step {
    struct trial *trial;
    size_t enters, leaves;
    struct {
        struct guarded *guarded;
        uint64_t count;
    } enter[MOST_DEMANDS], leave[MOST_DEMANDS];
    atomic_int runs;
    bool fails;
};

struct program {
    thrum_graph *graph, *inner; /* the latter is the graph of a module, or NULL */
    thrum_handle *handle;
    struct step steps[MOST_TASKS];
    size_t count;
    int rounds;
};

struct trial {
    struct stress_course *course;
    struct random random;
    struct guarded guarded[MOST_SEMAPHORES];
    size_t semaphores;
    struct program programs[MOST_GRAPHS];
    bool regions;
    atomic_int too_many;
};

/* ---- The tasks --------------------------------------------------------------------------------------------------- */

static void enter_all(struct step *step)
{
    for (size_t i = 0; i < step->enters; i++) {
        struct guarded *guarded = step->enter[i].guarded;
        if (atomic_fetch_add(&guarded->inside, step->enter[i].count) + step->enter[i].count > guarded->tokens)
            atomic_fetch_add(&step->trial->too_many, 1);
    }
}

static void leave_all(struct step *step)
{
    for (size_t i = 0; i < step->leaves; i++)
        atomic_fetch_sub(&step->leave[i].guarded->inside, step->leave[i].count);
}

static void take_step(void *arg)
{
    struct step *step = arg;
    enter_all(step);
    atomic_fetch_add(&step->runs, 1);
    if (step->fails)
        thrum_fail(77, "on purpose");
    if (atomic_load(&step->runs) % 4 == 0)
        sched_yield();
    leave_all(step);
}

static void take_step_in_scope(thrum_scope *scope, void *arg)
{
    (void)scope;
    take_step(arg);
}

static void take_step_with_event(thrum_event event, void *arg)
{
    take_step(arg);
    thrum_event_release(event);
}

static int take_step_and_stop(void *arg)
{
    take_step(arg);
    return THRUM_STOP;
}

static thrum_task *new_task(struct trial *trial, thrum_graph *graph, struct step *step)
{
    switch (random_below(&trial->random, 8)) {
    case 0:
        return thrum_scope_task_new(graph, take_step_in_scope, step);
    case 1:
        return thrum_event_task_new(graph, take_step_with_event, step);
    default:
        return thrum_task_new(graph, take_step, step);
    }
}

/* ---- Random programs --------------------------------------------------------------------------------------------- */

static void demand(struct trial *trial, thrum_task *first, thrum_task *last, struct step *enters, struct step *leaves)
{
    size_t wanted = random_below(&trial->random, MOST_DEMANDS + 1);
    size_t start = random_below(&trial->random, trial->semaphores);
    for (size_t i = 0; i < wanted && i < trial->semaphores; i++) {
        struct guarded *guarded = &trial->guarded[(start + i) % trial->semaphores];
        uint64_t count = random_chance(&trial->random, 70) ? 1 : 1 + random_below(&trial->random, guarded->tokens);
        for (uint64_t k = 0; k < count; k++) {
            thrum_task_acquire(first, guarded->semaphore);
            thrum_task_release(last, guarded->semaphore);
        }
        enters->enter[enters->enters].guarded = leaves->leave[leaves->leaves].guarded = guarded;
        enters->enter[enters->enters++].count = leaves->leave[leaves->leaves++].count = count;
    }
}

static void set_terms(struct trial *trial, thrum_task *task, int workers)
{
    if (random_chance(&trial->random, 15))
        thrum_task_set_priority(task, random_chance(&trial->random, 50) ? THRUM_HIGH : THRUM_LOW);
    if (workers > 0 && random_chance(&trial->random, 10))
        thrum_task_pin_worker(task, (int)random_below(&trial->random, (size_t)workers));
}

static struct step *add_step(struct trial *trial, struct program *program)
{
    struct step *step = &program->steps[program->count++];
    step->trial = trial;
    return step;
}

/* Three tasks in a row, the first of which takes what the last gives back. Nothing else leads to the last two, or they
 * might wait for tasks that wait for these tokens. */
static thrum_task *add_region(struct trial *trial, struct program *program, thrum_graph *graph, int workers)
{
    struct step *first = add_step(trial, program), *between = add_step(trial, program),
                *last = add_step(trial, program);
    thrum_task *begin = new_task(trial, graph, first), *middle = new_task(trial, graph, between);
    thrum_task *end = new_task(trial, graph, last);
    demand(trial, begin, end, first, last);
    thrum_precede(begin, middle);
    thrum_precede(middle, end);
    set_terms(trial, middle, workers);
    return begin;
}

static void build_graph(struct trial *trial, struct program *program, thrum_graph *graph, size_t tasks, int workers)
{
    thrum_task *made[MOST_TASKS];
    size_t count = 0;
    bool edges = random_chance(&trial->random, 70);
    for (size_t end = program->count + tasks; program->count + 3 <= end;) {
        thrum_task *task;
        if (edges && trial->regions && random_chance(&trial->random, 10)) {
            task = add_region(trial, program, graph, workers);
        } else {
            struct step *step = add_step(trial, program);
            bool stops = random_chance(&trial->random, 5);
            task = stops ? thrum_condition_new(graph, take_step_and_stop, step) : new_task(trial, graph, step);
            demand(trial, task, task, step, step);
            if (edges && count && random_chance(&trial->random, 60))
                thrum_precede(made[random_below(&trial->random, count)], task);
            if (stops) {
                set_terms(trial, task, workers);
                continue;
            }
        }
        if (edges && count && random_chance(&trial->random, 30))
            thrum_precede(made[random_below(&trial->random, count)], task);
        set_terms(trial, task, workers);
        made[count++] = task;
    }
}

static void build(struct trial *trial, struct program *program, int workers)
{
    program->graph = thrum_graph_new("program");
    program->rounds = 1 + (int)random_below(&trial->random, 4);
    build_graph(trial, program, program->graph, 3 + random_below(&trial->random, MOST_TASKS / 2 - 3), workers);
    if (random_chance(&trial->random, 30)) {
        program->inner = thrum_graph_new("inner");
        build_graph(trial, program, program->inner, 3 + random_below(&trial->random, MOST_TASKS / 2 - 3), workers);
        thrum_module_new(program->graph, program->inner);
    }
}

static void make_semaphores(struct trial *trial)
{
    trial->semaphores = 1 + random_below(&trial->random, MOST_SEMAPHORES);
    for (size_t i = 0; i < trial->semaphores; i++) {
        uint64_t tokens = 1 + random_below(&trial->random, 3);
        trial->guarded[i].tokens = tokens;
        trial->guarded[i].semaphore = thrum_semaphore_new("guard", tokens);
        assert_non_null(trial->guarded[i].semaphore);
    }
}

/* ---- A round ----------------------------------------------------------------------------------------------------- */

enum fate { TO_THE_END, FAILING, CANCELLED_SOON };

static void check_program(struct trial *trial, const struct program *program, enum fate fate, int code)
{
    int expected = fate == FAILING ? 77 : fate == CANCELLED_SOON ? THRUM_ECANCELLED : 0;
    if (code != expected && !(fate == CANCELLED_SOON && code == 0)) {
        print_error("returned %d: %s\n", code, thrum_message(program->graph));
        stress_fail(trial->course, "another code was expected");
    }
    for (size_t i = 0; i < program->count; i++) {
        int runs = atomic_load(&program->steps[i].runs);
        stress_check(trial->course, code == 0 ? runs == program->rounds : runs <= program->rounds);
    }
}

static void check_semaphores(struct trial *trial)
{
    stress_check(trial->course, atomic_load(&trial->too_many) == 0);
    for (size_t i = 0; i < trial->semaphores; i++)
        stress_check(trial->course, thrum_semaphore_tokens(trial->guarded[i].semaphore) == trial->guarded[i].tokens);
}

static void free_programs(struct trial *trial, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(thrum_graph_free(trial->programs[i].graph), 0);
        if (trial->programs[i].inner)
            assert_int_equal(thrum_graph_free(trial->programs[i].inner), 0);
    }
    for (size_t i = 0; i < trial->semaphores; i++)
        assert_int_equal(thrum_semaphore_free(trial->guarded[i].semaphore), 0);
}

static enum fate choose_fate(struct trial *trial, struct program *program, bool may_end_early)
{
    if (!may_end_early || random_chance(&trial->random, 60))
        return TO_THE_END;
    if (random_chance(&trial->random, 50))
        return CANCELLED_SOON;
    program->steps[random_below(&trial->random, program->count)].fails = true;
    return FAILING;
}

/* Regions of a run that failed may have been entered and not left: then it is not known how many are inside. */
static void run_round(struct stress_course *course, bool may_end_early)
{
    static struct trial trial;
    memset(&trial, 0, sizeof trial);
    trial.course = course;
    trial.random = random_new(course->seed);
    make_semaphores(&trial);
    trial.regions = random_chance(&trial.random, 50);
    size_t count = 1 + random_below(&trial.random, MOST_GRAPHS);
    enum fate fates[MOST_GRAPHS];
    bool threadless = random_chance(&trial.random, 10);
    for (size_t i = 0; i < count; i++) {
        struct program *program = &trial.programs[i];
        int kind = threadless ? 0 : 1 + (int)random_below(&trial.random, KINDS - 1);
        build(&trial, program, thrum_executor_workers(executor_of_kind(kind)) * !threadless);
        fates[i] = choose_fate(&trial, program, may_end_early);
        program->handle = thrum_start_n(executor_of_kind(kind), program->graph, (uint64_t)program->rounds);
        assert_non_null(program->handle);
    }
    for (size_t i = 0; i < count; i++)
        if (fates[i] == CANCELLED_SOON) {
            for (size_t turns = random_below(&trial.random, 20); turns > 0; turns--)
                sched_yield();
            assert_int_equal(thrum_cancel(trial.programs[i].handle), 0);
        }
    for (size_t i = 0; i < count; i++) {
        int code = thrum_wait(trial.programs[i].handle);
        thrum_release(trial.programs[i].handle);
        check_program(&trial, &trial.programs[i], fates[i], code);
    }
    if (may_end_early && trial.regions)
        atomic_store(&trial.too_many, 0);
    check_semaphores(&trial);
    free_programs(&trial, count);
}

TEST(random_graphs_share_semaphores)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course))
        run_round(&course, false);
    stress_report(&course, "rounds");
}

TEST(random_graphs_share_semaphores_and_some_end_early)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course))
        run_round(&course, true);
    stress_report(&course, "rounds");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_share_semaphores),
        cmocka_unit_test(random_graphs_share_semaphores_and_some_end_early),
    };
    stress = stress_begin(argv[0], 2);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < KINDS; i++)
        failed |= thrum_executor_free(executors[i]) != 0;
    return failed;
}
