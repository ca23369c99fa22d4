/* SPDX-License-Identifier: MIT
 *
 * Random programs against the oracle: thousands of seeds, each replayable. See oracle_program.h and oracle_check.h.
 */
#include "executors.h"
#include "oracle_check.h"
#include "stress.h"

static struct stress stress;

struct trial {
    struct stress_course *course;
    struct program program;
    thrum_graph *graph; /* of TOP_GRAPH */
    thrum_executor *ex;
    bool one_worker;
};

/* What led to the broken rule: the last events that the oracle read. */
static void trial_tell(const struct trial *trial, int code, size_t read)
{
    static const char *const tops[] = {"a graph", "a scope run", "a scope opened outside tasks"};
    static const char *const events[] = {"node %d begins",      "node %d ends",  "group %d is joined",
                                         "group %d was joined", "node %d fails", "node %d failed"};
    const struct program *program = &trial->program;
    print_error("%s, %d workers, %d rounds, %s, returned %d\n", tops[program->top], thrum_executor_workers(trial->ex),
                (int)program->rounds, program->failing ? "with failures" : "without failures", code);
    for (size_t i = read > 60 ? read - 60 : 0; i < read; i++) {
        const struct event *event = &program->log.events[i];
        char text[64];
        snprintf(text, sizeof text, events[event->kind], (int)event->subject);
        print_error("    thread %u: %s\n", event->thread, text);
    }
}

static void trial_run(struct trial *trial, uint64_t rounds, bool failing)
{
    struct program *program = &trial->program;
    char sentence[256];
    program_prepare(program, trial->ex, rounds, failing);
    program_evaluate(program);
    int code = program_run(program, trial->graph);
    size_t read = oracle_check(program, trial->one_worker, code, sentence, sizeof sentence);
    if (sentence[0]) {
        trial_tell(trial, code, read);
        stress_fail(trial->course, sentence);
    }
    if (code) {
        char text[64];
        snprintf(text, sizeof text, "node %d fails.", code - CODE_OF_NODE_ZERO);
        assert_contains(thrum_message(program->top == TOP_GRAPH ? (void *)trial->graph : NULL), text);
    }
}

/* A program: clean, failing, clean again, and some rounds in a row. */
static void trial_of_seed(struct stress_course *course)
{
    struct trial trial = {.course = course};
    struct program *program = &trial.program;
    program_generate(program, course->seed);
    size_t kind = random_below(&program->random, EXECUTOR_KINDS);
    bool own = random_chance(&program->random, 5);
    trial.ex = own ? executor_of_kind(kind) : executor_kept(kind);
    trial.one_worker = thrum_executor_workers(trial.ex) <= 1;
    if (program->top == TOP_GRAPH) {
        trial.graph = thrum_graph_new("program");
        net_build(program->net, trial.graph);
    }
    trial_run(&trial, 1, false);
    if (random_chance(&program->random, 50)) {
        trial_run(&trial, program->top == TOP_GRAPH ? 2 : 1, true);
        trial_run(&trial, 1, false);
    }
    if (program->top == TOP_GRAPH)
        trial_run(&trial, random_between(&program->random, 1, 4), false);
    stress_check(course, thrum_graph_free(trial.graph) == 0);
    if (own)
        stress_check(course, thrum_executor_free(trial.ex) == 0);
    program_free(program);
}

TEST(random_programs_keep_every_rule_of_the_oracle)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course))
        trial_of_seed(&course);
    executors_free_kept();
    stress_report(&course, "programs");
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_keep_every_rule_of_the_oracle),
    };
    stress = stress_begin(argv[0], 4);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
