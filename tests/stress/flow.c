/* SPDX-License-Identifier: MIT
 *
 * Random graphs with branches, loops, choices, modules, events, priorities, pins, domains and semaphores against a
 * sequential oracle (flow_program.h): several at once on one executor, again and again, run to their end, failing, and
 * cancelled at random moments.
 */
#include "executors.h"
#include "flow_program.h"
#include "stress.h"

static struct stress stress;

enum { MOST_PROGRAMS = 3 };

static struct postman postman;

struct trial {
    struct stress_course *course;
    struct random random;
    thrum_executor *ex;
    struct program *programs[MOST_PROGRAMS];
    thrum_handle *handles[MOST_PROGRAMS];
    size_t count;
};

static bool has_run_enough(void *arg)
{
    struct program *program = arg;
    return program->rounds_left-- == 0;
}

static void check(struct trial *trial, size_t which, bool ended_early, int code)
{
    char sentence[200], told[300];
    program_check(trial->programs[which], ended_early, sentence, sizeof sentence);
    if (!sentence[0])
        return;
    snprintf(told, sizeof told, "program %zu of %zu, %d workers, returned %d: %s", which + 1, trial->count,
             thrum_executor_workers(trial->ex), code, sentence);
    stress_fail(trial->course, told);
}

/* Without anybody else at work, and in the calling thread if that helps. */
static void run_alone(struct trial *trial, size_t which, int rounds)
{
    struct program *program = trial->programs[which];
    program_prepare(program, rounds);
    int code = random_chance(&trial->random, 50) ? thrum_run_n(trial->ex, program->graph, (uint64_t)rounds)
                                                 : thrum_run_until(trial->ex, program->graph, has_run_enough, program);
    if (code)
        stress_fail(trial->course, thrum_message(NULL));
    check(trial, which, false, code);
}

static void start(struct trial *trial, size_t which, int rounds)
{
    struct program *program = trial->programs[which];
    trial->handles[which] = random_chance(&trial->random, 50)
                                ? thrum_start_n(trial->ex, program->graph, (uint64_t)rounds)
                                : thrum_start_until(trial->ex, program->graph, has_run_enough, program);
    stress_check(trial->course, trial->handles[which] != NULL);
    atomic_store(&program->handle, trial->handles[which]);
}

/* All at the same time, to their end or into the trouble that is planned for them. */
static void run_together(struct trial *trial)
{
    int rounds[MOST_PROGRAMS];
    for (size_t i = 0; i < trial->count; i++) {
        rounds[i] = (int)random_between(&trial->random, 1, 4);
        program_prepare(trial->programs[i], rounds[i]);
        if (random_chance(&trial->random, 50))
            program_plan_trouble(trial->programs[i], random_chance(&trial->random, 50) ? FAILS : CANCELS);
    }
    for (size_t i = 0; i < trial->count; i++)
        start(trial, i, rounds[i]);
    for (size_t i = 0; i < trial->count; i++) {
        const struct program *program = trial->programs[i];
        int code = thrum_wait(trial->handles[i]);
        int expected = program->trouble == FAILS     ? CODE_OF_FAILURE + program->trouble_node
                       : program->trouble == CANCELS ? THRUM_ECANCELLED
                                                     : 0;
        stress_check(trial->course, code == expected);
        check(trial, i, program->trouble != NO_TROUBLE, code);
        thrum_release(trial->handles[i]);
    }
}

static void wait_some_time(struct random *random)
{
    size_t turns = random_below(random, 3) ? random_below(random, 2000) : 0;
    for (volatile size_t i = 0; i < turns; i++)
        ;
    if (random_chance(random, 10))
        sched_yield();
}

/* From outside, whenever it comes: before the run has begun, in the middle, when it has ended. */
static void cancel_from_outside(struct trial *trial)
{
    for (size_t i = 0; i < trial->count; i++)
        program_prepare(trial->programs[i], 3);
    for (size_t i = 0; i < trial->count; i++)
        start(trial, i, 3);
    for (size_t i = 0; i < trial->count; i++) {
        wait_some_time(&trial->random);
        stress_check(trial->course, thrum_cancel(trial->handles[i]) == 0);
    }
    for (size_t i = 0; i < trial->count; i++) {
        int code = thrum_wait(trial->handles[i]);
        stress_check(trial->course, code == 0 || code == THRUM_ECANCELLED);
        check(trial, i, code != 0, code);
        thrum_release(trial->handles[i]);
    }
}

static void trial_of_seed(struct stress_course *course)
{
    struct trial trial = {.course = course, .random = random_new(course->seed)};
    size_t kind = random_below(&trial.random, EXECUTOR_KINDS);
    trial.ex = executor_kept(kind);
    trial.count = random_between(&trial.random, 1, MOST_PROGRAMS);
    for (size_t i = 0; i < trial.count; i++)
        trial.programs[i] = program_new(random_next(&trial.random), &executor_kinds[kind], &postman);
    for (size_t i = 0; i < trial.count; i++)
        run_alone(&trial, i, 1);
    for (size_t step = random_between(&trial.random, 2, 5); step > 0; step--) {
        if (random_chance(&trial.random, 60))
            run_together(&trial);
        else
            cancel_from_outside(&trial);
        run_alone(&trial, random_below(&trial.random, trial.count), (int)random_between(&trial.random, 1, 3));
    }
    for (size_t i = 0; i < trial.count; i++)
        stress_check(course, program_free(trial.programs[i]));
}

TEST(random_control_flow_does_what_the_oracle_does)
{
    struct stress_course course = stress_course(&stress);
    postman_begin(&postman);
    shared_begin();
    while (stress_next(&course))
        trial_of_seed(&course);
    postman_end(&postman);
    executors_free_kept();
    shared_end();
    stress_report(&course, "programs");
}

/* A run or a function that another thread cancels while it ends: who waits is told the same, then and later. */
struct ending {
    _Atomic(thrum_handle *) handle; /* NULL: the canceller is done with it */
    atomic_bool over;
    struct random random;
};

static void *cancel_what_comes(void *arg)
{
    struct ending *ending = arg;
    while (!atomic_load(&ending->over)) {
        thrum_handle *handle = atomic_load(&ending->handle);
        if (!handle) {
            sched_yield();
            continue;
        }
        for (volatile size_t i = random_below(&ending->random, 400); i > 0; i--)
            ;
        thrum_cancel(handle);
        atomic_store(&ending->handle, NULL);
    }
    return NULL;
}

TEST(later_waits_agree_with_the_first_on_whether_it_was_cancelled)
{
    struct stress_course course = stress_course(&stress);
    struct ending ending = {.random = random_new(1)};
    thrum_executor *ex = executor_with(1);
    thrum_graph *graph = thrum_graph_new("short");
    pthread_t thread;
    uint64_t cancelled = 0;
    thrum_precede(thrum_placeholder_new(graph), thrum_placeholder_new(graph));
    assert_int_equal(pthread_create(&thread, NULL, cancel_what_comes, &ending), 0);
    while (stress_next(&course)) {
        thrum_handle *handle = course.round % 2 ? thrum_start(ex, graph) : thrum_submit(ex, do_nothing, NULL);
        atomic_store(&ending.handle, handle);
        int first = thrum_wait(handle);
        while (atomic_load(&ending.handle))
            sched_yield();
        stress_check(&course, thrum_wait(handle) == first);
        cancelled += first == THRUM_ECANCELLED;
        thrum_release(handle);
    }
    atomic_store(&ending.over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    print_message("           %" PRIu64 " of them cancelled\n", cancelled);
    stress_report(&course, "runs and functions");
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_control_flow_does_what_the_oracle_does),
        cmocka_unit_test(later_waits_agree_with_the_first_on_whether_it_was_cancelled),
    };
    stress = stress_begin(argv[0], 3);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
