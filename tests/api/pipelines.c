/* SPDX-License-Identifier: MIT
 *
 * Pipelines: the order of tokens, stages side by side, deferring, errors, wrong use.
 */
#include "tasks.h"

enum { MOST_TOKENS = 4096, MOST_STAGES = 8, MOST_LINES = 64 };

/* What a test's stages write: the order of tokens at each stage, which the serial ones keep as a plain number. */
struct course {
    uint64_t tokens;              /* the first stage stops then */
    size_t stages;                /* how many of `stage` count */
    uint64_t at_line[MOST_LINES]; /* the token, written by the first stage, for the others to compare with */
    struct {
        uint64_t count, order[MOST_TOKENS];
    } serial[MOST_STAGES];
    atomic_uchar seen[MOST_STAGES][MOST_TOKENS];
    atomic_int wrong; /* a stage found another token on the line than the first stage put there */
};

static struct course *course_new(uint64_t tokens)
{
    struct course *course = calloc(1, sizeof *course);
    assert_non_null(course);
    course->tokens = tokens;
    return course;
}

static void note(struct course *course, const thrum_pipe *pipe)
{
    uint64_t token = thrum_pipe_token(pipe);
    if (token >= MOST_TOKENS || course->at_line[thrum_pipe_line(pipe)] != token)
        atomic_fetch_add(&course->wrong, 1);
    else
        atomic_fetch_add_explicit(&course->seen[thrum_pipe_stage(pipe)][token], 1, memory_order_relaxed);
}

static void parallel(thrum_pipe *pipe, void *ctx)
{
    note(ctx, pipe);
}

static void serial(thrum_pipe *pipe, void *ctx)
{
    struct course *course = ctx;
    size_t stage = thrum_pipe_stage(pipe);
    note(course, pipe);
    course->serial[stage].order[course->serial[stage].count++] = thrum_pipe_token(pipe);
}

static void first(thrum_pipe *pipe, void *ctx)
{
    struct course *course = ctx;
    if (thrum_pipe_token(pipe) == course->tokens) {
        thrum_pipe_stop(pipe);
        return;
    }
    course->at_line[thrum_pipe_line(pipe)] = thrum_pipe_token(pipe);
    serial(pipe, ctx);
}

/* "sps": serial, parallel, serial. */
static size_t stages_of(thrum_stage *stages, const char *kinds, struct course *course)
{
    size_t count = strlen(kinds);
    for (size_t s = 0; s < count; s++)
        stages[s] = kinds[s] == 's' ? (thrum_stage){THRUM_SERIAL, s ? serial : first, course}
                                    : (thrum_stage){THRUM_PARALLEL, parallel, course};
    return count;
}

static thrum_pipeline *pipeline_of(size_t lines, const char *kinds, struct course *course)
{
    thrum_stage stages[MOST_STAGES];
    size_t count = stages_of(stages, kinds, course);
    thrum_pipeline *pipeline = thrum_pipeline_new("test", lines, stages, count);
    if (!pipeline)
        print_error("no pipeline: %s\n", thrum_message(NULL));
    assert_non_null(pipeline);
    return pipeline;
}

static void assert_course_in_order(const struct course *course, const char *kinds)
{
    assert_int_equal(atomic_load(&course->wrong), 0);
    for (size_t s = 0; s < strlen(kinds); s++) {
        for (uint64_t t = 0; t < course->tokens; t++)
            assert_int_equal(atomic_load(&course->seen[s][t]), 1);
        if (kinds[s] == 'p')
            continue;
        assert_int_equal(course->serial[s].count, course->tokens);
        for (uint64_t t = 0; t < course->tokens; t++)
            assert_int_equal(course->serial[s].order[t], t);
    }
}

static void free_all(thrum_pipeline *pipeline, thrum_executor *ex, struct course *course)
{
    assert_int_equal(thrum_pipeline_free(pipeline), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
    free(course);
}

/* ---- Order ------------------------------------------------------------------------------------------------------- */

TEST(every_token_goes_once_through_every_stage_and_serial_ones_keep_the_order)
{
    static const char *const kinds[] = {"s", "ss", "sp", "spp", "ssss", "spsps", "sppppppp", "ssssssss"};
    static const size_t lines[] = {1, 2, 3, 8, MOST_LINES};
    static const uint64_t tokens[] = {0, 1, 2, 9, 1000};
    for (int workers = 1; workers <= 4; workers++) {
        thrum_executor *ex = executor_with(workers);
        for (size_t k = 0; k < COUNT_OF(kinds); k++)
            for (size_t l = 0; l < COUNT_OF(lines); l++)
                for (size_t t = 0; t < COUNT_OF(tokens); t++) {
                    struct course *course = course_new(tokens[t]);
                    thrum_pipeline *pipeline = pipeline_of(lines[l], kinds[k], course);
                    assert_int_equal(thrum_pipeline_run(ex, pipeline), 0);
                    assert_course_in_order(course, kinds[k]);
                    assert_int_equal(thrum_pipeline_free(pipeline), 0);
                    free(course);
                }
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_pipeline_runs_on_an_executor_without_threads_and_on_one_whose_callers_block)
{
    thrum_executor *executors[] = {executor_threadless(), executor_blocking(2)};
    for (int i = 0; i < 2; i++) {
        struct course *course = course_new(500);
        thrum_pipeline *pipeline = pipeline_of(4, "sps", course);
        assert_int_equal(thrum_pipeline_run(executors[i], pipeline), 0);
        assert_course_in_order(course, "sps");
        free_all(pipeline, executors[i], course);
    }
}

/* ---- Side by side ------------------------------------------------------------------------------------------------ */

struct meeting {
    atomic_int arrived;
    int needed;
};

static void meet(struct meeting *meeting)
{
    atomic_fetch_add(&meeting->arrived, 1);
    while (atomic_load(&meeting->arrived) < meeting->needed)
        sched_yield();
}

static void stop_at_four(thrum_pipe *pipe, void *ctx)
{
    (void)ctx;
    if (thrum_pipe_token(pipe) == 4)
        thrum_pipe_stop(pipe);
}

static void meet_in_stage(thrum_pipe *pipe, void *ctx)
{
    (void)pipe;
    meet(ctx);
}

TEST(tokens_are_in_a_parallel_stage_at_the_same_time)
{
    thrum_executor *ex = executor_with(4);
    struct meeting meeting = {.needed = 4};
    thrum_stage stages[] = {{THRUM_SERIAL, stop_at_four, NULL}, {THRUM_PARALLEL, meet_in_stage, &meeting}};
    thrum_pipeline *pipeline = thrum_pipeline_new(NULL, 4, stages, 2);
    for (int run = 0; run < 20; run++) {
        atomic_store(&meeting.arrived, 0);
        assert_int_equal(thrum_pipeline_run(ex, pipeline), 0);
    }
    free_all(pipeline, ex, NULL);
}

/* Token 0 in the second of the stages meets token 1 in the first of them. */
static void meet_crosswise(thrum_pipe *pipe, void *ctx)
{
    if (thrum_pipe_token(pipe) + thrum_pipe_stage(pipe) == 2)
        meet(ctx);
}

TEST(serial_stages_work_on_different_tokens_at_the_same_time)
{
    thrum_executor *ex = executor_with(2);
    struct meeting meeting = {.needed = 2};
    thrum_stage stages[] = {{THRUM_SERIAL, stop_at_four, NULL},
                            {THRUM_SERIAL, meet_crosswise, &meeting},
                            {THRUM_SERIAL, meet_crosswise, &meeting}};
    thrum_pipeline *pipeline = thrum_pipeline_new(NULL, 2, stages, 3);
    for (int run = 0; run < 20; run++) {
        atomic_store(&meeting.arrived, 0);
        assert_int_equal(thrum_pipeline_run(ex, pipeline), 0);
    }
    free_all(pipeline, ex, NULL);
}

/* Token 0 leaves the parallel stage only some time after token 1 has. */
struct overtaking {
    atomic_bool overtaken;
    uint64_t order[4];
    size_t count;
};

static void be_overtaken(thrum_pipe *pipe, void *ctx)
{
    struct overtaking *overtaking = ctx;
    if (thrum_pipe_token(pipe) == 1)
        atomic_store(&overtaking->overtaken, true);
    while (!atomic_load(&overtaking->overtaken))
        sched_yield();
    if (thrum_pipe_token(pipe) == 0)
        pause_ms(20);
}

static void note_order(thrum_pipe *pipe, void *ctx)
{
    struct overtaking *overtaking = ctx;
    overtaking->order[overtaking->count++] = thrum_pipe_token(pipe);
}

TEST(a_token_that_overtook_another_in_a_parallel_stage_waits_for_it_at_a_serial_one)
{
    thrum_executor *ex = executor_with(2);
    struct overtaking overtaking = {0};
    thrum_stage stages[] = {{THRUM_SERIAL, stop_at_four, NULL},
                            {THRUM_PARALLEL, be_overtaken, &overtaking},
                            {THRUM_SERIAL, note_order, &overtaking}};
    thrum_pipeline *pipeline = thrum_pipeline_new(NULL, 2, stages, 3);
    assert_int_equal(thrum_pipeline_run(ex, pipeline), 0);
    assert_int_equal(overtaking.count, 4);
    for (uint64_t t = 0; t < 4; t++)
        assert_int_equal(overtaking.order[t], t);
    free_all(pipeline, ex, NULL);
}

struct crowd {
    atomic_int inside, most;
};

static void be_in_crowd(thrum_pipe *pipe, void *ctx)
{
    struct crowd *crowd = ctx;
    int inside = atomic_fetch_add(&crowd->inside, 1) + 1, most = atomic_load(&crowd->most);
    (void)pipe;
    while (inside > most && !atomic_compare_exchange_weak(&crowd->most, &most, inside))
        ;
    sched_yield();
    atomic_fetch_sub(&crowd->inside, 1);
}

static void stop_at_500(thrum_pipe *pipe, void *ctx)
{
    (void)ctx;
    if (thrum_pipe_token(pipe) == 500)
        thrum_pipe_stop(pipe);
}

TEST(no_more_tokens_are_under_way_than_there_are_lines)
{
    thrum_executor *ex = executor_with(4);
    struct crowd crowd = {0};
    thrum_stage stages[] = {{THRUM_SERIAL, stop_at_500, NULL}, {THRUM_PARALLEL, be_in_crowd, &crowd}};
    thrum_pipeline *pipeline = thrum_pipeline_new(NULL, 2, stages, 2);
    assert_int_equal(thrum_pipeline_run(ex, pipeline), 0);
    assert_in_range(atomic_load(&crowd.most), 1, 2);
    free_all(pipeline, ex, NULL);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

TEST(each_run_begins_with_token_0)
{
    thrum_executor *ex = executor_with(2);
    struct course *course = course_new(100);
    thrum_pipeline *pipeline = pipeline_of(3, "sps", course);
    for (int run = 0; run < 50; run++) {
        memset(course->serial, 0, sizeof course->serial);
        memset(course->seen, 0, sizeof course->seen);
        assert_int_equal(thrum_pipeline_run(ex, pipeline), 0);
        assert_course_in_order(course, "sps");
    }
    free_all(pipeline, ex, course);
}

TEST(stages_can_be_changed_between_runs)
{
    static const char *const kinds[] = {"sps", "s", "ssssssss", "sp", "spppps"};
    thrum_executor *ex = executor_with(2);
    struct course *course = course_new(200);
    thrum_pipeline *pipeline = pipeline_of(5, "ss", course);
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        thrum_stage stages[MOST_STAGES];
        size_t count = stages_of(stages, kinds[k], course);
        memset(course->serial, 0, sizeof course->serial);
        memset(course->seen, 0, sizeof course->seen);
        assert_int_equal(thrum_pipeline_set_stages(pipeline, stages, count), 0);
        assert_int_equal(thrum_pipeline_run(ex, pipeline), 0);
        assert_course_in_order(course, kinds[k]);
    }
    free_all(pipeline, ex, course);
}

TEST(runs_that_are_started_queue_up)
{
    thrum_executor *ex = executor_with(2);
    struct course *course = course_new(100);
    thrum_pipeline *pipeline = pipeline_of(3, "sps", course);
    thrum_handle *handles[10];
    for (int i = 0; i < 10; i++)
        assert_non_null(handles[i] = thrum_pipeline_start(ex, pipeline));
    for (int i = 0; i < 10; i++) {
        assert_int_equal(thrum_wait(handles[i]), 0);
        thrum_release(handles[i]);
    }
    assert_int_equal(course->serial[2].count, 1000);
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(course->serial[2].order[i], i % 100);
    free_all(pipeline, ex, course);
}

struct between {
    struct course *course;
    uint64_t before, after;
};

static void look_before(void *arg)
{
    struct between *between = arg;
    between->before = between->course->serial[1].count;
}

static void look_after(void *arg)
{
    struct between *between = arg;
    between->after = between->course->serial[1].count;
}

TEST(a_pipeline_is_a_task_of_a_graph)
{
    thrum_executor *ex = executor_with(2);
    struct course *course = course_new(300);
    struct between between = {.course = course};
    thrum_pipeline *pipeline = pipeline_of(4, "ss", course);
    thrum_graph *graph = thrum_graph_new("around");
    thrum_task *task = thrum_pipeline_task_new(graph, pipeline);
    thrum_precede(thrum_task_new(graph, look_before, &between), task);
    thrum_precede(task, thrum_task_new(graph, look_after, &between));
    for (uint64_t run = 0; run < 10; run++) {
        assert_int_equal(thrum_run(ex, graph), 0);
        assert_int_equal(between.before, run * 300);
        assert_int_equal(between.after, (run + 1) * 300);
    }
    assert_int_equal(thrum_graph_free(graph), 0);
    free_all(pipeline, ex, course);
}

static void run_inner(thrum_pipe *pipe, void *inner)
{
    (void)pipe;
    if (thrum_pipeline_run(NULL, inner))
        thrum_fail(77, "the inner pipeline failed");
}

static void do_child(thrum_scope *scope, void *counter)
{
    (void)scope;
    count_up(counter);
}

static void spawn_ten(thrum_pipe *pipe, void *counter)
{
    thrum_scope scope;
    (void)pipe;
    thrum_scope_open(&scope, NULL);
    for (int i = 0; i < 10; i++)
        thrum_spawn(&scope, do_child, counter);
    thrum_join(&scope);
}

TEST(a_stage_may_spawn_and_run_a_pipeline_of_its_own)
{
    thrum_executor *ex = executor_with(2);
    atomic_int count = 0;
    struct course *course = course_new(50);
    thrum_pipeline *inner = pipeline_of(2, "ss", course);
    thrum_stage stages[] = {
        {THRUM_SERIAL, stop_at_four, NULL}, {THRUM_PARALLEL, spawn_ten, &count}, {THRUM_SERIAL, run_inner, inner}};
    thrum_pipeline *pipeline = thrum_pipeline_new(NULL, 3, stages, 3);
    assert_int_equal(thrum_pipeline_run(ex, pipeline), 0);
    assert_int_equal(atomic_load(&count), 40);
    assert_int_equal(course->serial[1].count, 200);
    assert_int_equal(thrum_pipeline_free(inner), 0);
    free_all(pipeline, ex, course);
}

static void count_begin(void *arg, const thrum_task_info *info)
{
    (void)info;
    count_up(arg);
}

TEST(observers_see_every_stage_of_every_token)
{
    thrum_executor *ex = executor_with(1);
    atomic_int begun = 0;
    struct course *course = course_new(100);
    thrum_pipeline *pipeline = pipeline_of(4, "sps", course);
    thrum_observer observer = {.begin = count_begin, .context = &begun};
    assert_int_equal(thrum_executor_observe(ex, &observer), 0);
    assert_int_equal(thrum_pipeline_run(ex, pipeline), 0);
    assert_int_equal(atomic_load(&begun), 1 + 300 + 1); /* the beginning, the stages, the token that stops */
    free_all(pipeline, ex, course);
}

/* ---- Deferring --------------------------------------------------------------------------------------------------- */

struct plan {
    struct course *course;
    uint64_t waits[64][2];  /* for which tokens a token waits; itself: for none */
    uint32_t deferrals[64]; /* as told when it passed */
    int calls, said_passed;
};

static void first_by_plan(thrum_pipe *pipe, void *ctx)
{
    struct plan *plan = ctx;
    uint64_t token = thrum_pipe_token(pipe);
    bool deferred = false;
    plan->calls++;
    for (int i = 0; i < 2 && token < plan->course->tokens; i++) {
        if (plan->waits[token][i] == token)
            continue;
        int waits = thrum_pipe_defer(pipe, plan->waits[token][i]);
        deferred |= waits != 0;
        plan->said_passed += waits == 0;
    }
    if (deferred)
        return;
    if (token < plan->course->tokens)
        plan->deferrals[token] = thrum_pipe_deferrals(pipe);
    first(pipe, plan->course);
}

static struct plan *plan_new(uint64_t tokens)
{
    struct plan *plan = calloc(1, sizeof *plan);
    assert_non_null(plan);
    plan->course = course_new(tokens);
    for (uint64_t t = 0; t < 64; t++)
        plan->waits[t][0] = plan->waits[t][1] = t;
    return plan;
}

/* Runs it, once, with stages "sps". */
static int run_plan(struct plan *plan, int workers, size_t lines)
{
    thrum_executor *ex = executor_with(workers);
    thrum_stage stages[] = {{THRUM_SERIAL, first_by_plan, plan},
                            {THRUM_PARALLEL, parallel, plan->course},
                            {THRUM_SERIAL, serial, plan->course}};
    thrum_pipeline *pipeline = thrum_pipeline_new("planned", lines, stages, 3);
    int err = thrum_pipeline_run(ex, pipeline);
    assert_int_equal(thrum_pipeline_free(pipeline), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
    assert_int_equal(atomic_load(&plan->course->wrong), 0);
    return err;
}

static void assert_order(struct plan *plan, const uint64_t *order, uint64_t count)
{
    for (size_t s = 0; s <= 2; s += 2) {
        assert_int_equal(plan->course->serial[s].count, count);
        for (uint64_t i = 0; i < count; i++)
            assert_int_equal(plan->course->serial[s].order[i], order[i]);
    }
}

static void plan_free(struct plan *plan)
{
    free(plan->course);
    free(plan);
}

TEST(a_deferred_token_comes_after_those_it_waits_for_and_before_new_ones)
{
    static const uint64_t order[] = {0, 2, 3, 1, 4, 6, 5, 7};
    for (int workers = 1; workers <= 4; workers++)
        for (size_t lines = 1; lines <= 5; lines++) {
            struct plan *plan = plan_new(8);
            plan->waits[1][0] = 2;
            plan->waits[1][1] = 3;
            plan->waits[5][0] = 6;
            assert_int_equal(run_plan(plan, workers, lines), 0);
            assert_order(plan, order, 8);
            assert_int_equal(plan->deferrals[1], 1);
            assert_int_equal(plan->deferrals[2], 0);
            assert_int_equal(plan->calls, 8 + 2 + 1); /* two were called twice, and there is the one that stopped */
            assert_int_equal(plan->said_passed, 3);
            plan_free(plan);
        }
}

TEST(chains_of_deferred_tokens_unwind_from_their_end)
{
    for (size_t lines = 1; lines <= 4; lines++) {
        struct plan *plan = plan_new(64);
        uint64_t order[64];
        for (uint64_t t = 0; t < 63; t++)
            plan->waits[t][0] = t + 1;
        for (uint64_t t = 0; t < 64; t++)
            order[t] = 63 - t;
        assert_int_equal(run_plan(plan, 2, lines), 0);
        assert_order(plan, order, 64);
        plan_free(plan);
    }
}

TEST(tokens_that_became_free_together_go_in_the_order_in_which_they_were_deferred)
{
    static const uint64_t order[] = {3, 0, 1, 2, 4};
    struct plan *plan = plan_new(5);
    for (uint64_t t = 0; t < 3; t++)
        plan->waits[t][0] = 3;
    assert_int_equal(run_plan(plan, 2, 2), 0);
    assert_order(plan, order, 5);
    plan_free(plan);
}

TEST(waiting_for_a_token_that_has_passed_is_no_waiting)
{
    static const uint64_t order[] = {0, 1, 2};
    struct plan *plan = plan_new(3);
    plan->waits[2][0] = 0;
    plan->waits[2][1] = 1;
    assert_int_equal(run_plan(plan, 2, 2), 0);
    assert_order(plan, order, 3);
    assert_int_equal(plan->said_passed, 2);
    plan_free(plan);
}

/* Each token but the last waits for the next one: so all of them wait at once. */
enum { LONG_CHAIN = SANITIZED_THREAD ? 20000 : 200000 };

static void defer_on_next(thrum_pipe *pipe, void *ctx)
{
    uint64_t token = thrum_pipe_token(pipe);
    (void)ctx;
    if (token == LONG_CHAIN)
        thrum_pipe_stop(pipe);
    else if (token + 1 < LONG_CHAIN)
        thrum_pipe_defer(pipe, token + 1);
}

/* Token 0 waits for the last one, and each of the others for the one before it. */
static void defer_on_previous(thrum_pipe *pipe, void *ctx)
{
    uint64_t token = thrum_pipe_token(pipe);
    (void)ctx;
    if (token == LONG_CHAIN)
        thrum_pipe_stop(pipe);
    else if (token + 1 < LONG_CHAIN)
        thrum_pipe_defer(pipe, token == 0 ? LONG_CHAIN - 1 : token - 1);
}

static void count_token(thrum_pipe *pipe, void *counter)
{
    (void)pipe;
    ++*(uint64_t *)counter;
}

TEST(very_long_chains_take_time_in_proportion)
{
    thrum_stage_fn *const firsts[] = {defer_on_next, defer_on_previous};
    for (int i = 0; i < 2; i++) {
        thrum_executor *ex = executor_with(2);
        uint64_t count = 0;
        thrum_stage stages[] = {{THRUM_SERIAL, firsts[i], NULL}, {THRUM_SERIAL, count_token, &count}};
        thrum_pipeline *pipeline = thrum_pipeline_new(NULL, 4, stages, 2);
        assert_int_equal(thrum_pipeline_run(ex, pipeline), 0);
        assert_int_equal(count, LONG_CHAIN);
        free_all(pipeline, ex, NULL);
    }
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

static void fail_at_20(thrum_pipe *pipe, void *ctx)
{
    (void)ctx;
    if (thrum_pipe_token(pipe) == 20)
        thrum_fail(42, "token %d is bad", 20);
}

TEST(a_stage_that_fails_ends_the_run_and_the_next_run_is_whole)
{
    for (int workers = 1; workers <= 4; workers++)
        for (size_t place = 0; place < 3; place++) {
            thrum_executor *ex = executor_with(workers);
            struct course *course = course_new(1000);
            thrum_stage stages[4];
            size_t count = stages_of(stages, "spss", course);
            thrum_pipeline *pipeline = thrum_pipeline_new("test", 4, stages, count);
            stages[place + 1] = (thrum_stage){place ? THRUM_SERIAL : THRUM_PARALLEL, fail_at_20, NULL};
            assert_int_equal(thrum_pipeline_set_stages(pipeline, stages, count), 0);
            assert_error(thrum_pipeline_run(ex, pipeline), 42, "token 20 is bad");
            assert_in_range(course->serial[0].count, 21, 25);
            if (place < 2)
                assert_in_range(course->serial[3].count, 0, 21);
            free(course);
            course = course_new(1000);
            stages_of(stages, "spss", course);
            assert_int_equal(thrum_pipeline_set_stages(pipeline, stages, count), 0);
            assert_int_equal(thrum_pipeline_run(ex, pipeline), 0);
            assert_course_in_order(course, "spss");
            free_all(pipeline, ex, course);
        }
}

TEST(with_one_worker_no_stage_begins_after_one_has_failed)
{
    thrum_executor *ex = executor_with(1);
    struct course *course = course_new(1000);
    thrum_stage stages[4];
    size_t count = stages_of(stages, "spss", course);
    stages[2].fn = fail_at_20;
    thrum_pipeline *pipeline = thrum_pipeline_new("test", 4, stages, count);
    assert_int_equal(thrum_pipeline_run(ex, pipeline), 42);
    assert_int_equal(course->serial[3].count, 20);
    free_all(pipeline, ex, course);
}

TEST(a_failure_in_a_pipeline_task_is_the_graph_s)
{
    thrum_executor *ex = executor_with(2);
    atomic_int after = 0;
    thrum_stage stages[] = {{THRUM_SERIAL, stop_at_500, NULL}, {THRUM_PARALLEL, fail_at_20, NULL}};
    thrum_pipeline *pipeline = thrum_pipeline_new(NULL, 2, stages, 2);
    thrum_graph *graph = thrum_graph_new("around");
    thrum_precede(thrum_pipeline_task_new(graph, pipeline), thrum_task_new(graph, count_up, &after));
    assert_error(thrum_run(ex, graph), 42, "token 20 is bad");
    assert_int_equal(atomic_load(&after), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    free_all(pipeline, ex, NULL);
}

static void never_stop(thrum_pipe *pipe, void *counter)
{
    (void)pipe;
    count_up(counter);
}

TEST(a_pipeline_without_end_can_be_cancelled)
{
    for (int workers = 1; workers <= 4; workers++) {
        thrum_executor *ex = executor_with(workers);
        atomic_int count = 0;
        thrum_stage stages[] = {{THRUM_SERIAL, never_stop, &count}, {THRUM_SERIAL, never_stop, &count}};
        thrum_pipeline *pipeline = thrum_pipeline_new(NULL, 3, stages, 2);
        thrum_handle *handle = thrum_pipeline_start(ex, pipeline);
        while (atomic_load(&count) < 1000)
            sched_yield();
        assert_int_equal(thrum_cancel(handle), 0);
        assert_int_equal(thrum_wait(handle), THRUM_ECANCELLED);
        thrum_release(handle);
        free_all(pipeline, ex, NULL);
    }
}

static void defer_for_ever(thrum_pipe *pipe, void *ctx)
{
    (void)ctx;
    thrum_pipe_defer(pipe, thrum_pipe_token(pipe) + 1000000000);
    count_up(ctx);
}

TEST(a_first_stage_that_defers_every_token_can_be_cancelled)
{
    thrum_executor *ex = executor_with(2);
    atomic_int count = 0;
    thrum_stage stages[] = {{THRUM_SERIAL, defer_for_ever, &count}};
    thrum_pipeline *pipeline = thrum_pipeline_new(NULL, 3, stages, 1);
    thrum_handle *handle = thrum_pipeline_start(ex, pipeline);
    while (atomic_load(&count) < 1000)
        sched_yield();
    assert_int_equal(thrum_cancel(handle), 0);
    assert_int_equal(thrum_wait(handle), THRUM_ECANCELLED);
    thrum_release(handle);
    free_all(pipeline, ex, NULL);
}

/* ---- Wrong use --------------------------------------------------------------------------------------------------- */

static void assert_no_pipeline(size_t lines, const thrum_stage *stages, size_t count, const char *part)
{
    assert_null(thrum_pipeline_new("wrong", lines, stages, count));
    assert_contains(thrum_message(NULL), part);
}

TEST(pipelines_that_make_no_sense_are_refused)
{
    thrum_stage good[] = {{THRUM_SERIAL, stop_at_four, NULL}, {THRUM_PARALLEL, parallel, NULL}};
    thrum_stage no_function[] = {good[0], {THRUM_PARALLEL, NULL, NULL}};
    thrum_stage no_kind[] = {good[0], {(enum thrum_stage_kind)5, parallel, NULL}};
    assert_no_pipeline(0, good, 2, "thrum_pipeline_new: there are no lines");
    assert_no_pipeline(4, good, 0, "thrum_pipeline_new: there are no stages");
    assert_no_pipeline(4, NULL, 2, "the stages are NULL, but should be 2");
    assert_no_pipeline(4, no_function, 2, "the function of stage 1 is NULL");
    assert_no_pipeline(4, no_kind, 2, "stage 1 is of kind 5");
    assert_no_pipeline(4, good + 1, 1, "stage 0 is parallel, but the first stage must be serial");
    assert_no_pipeline(SIZE_MAX / 2, good, 2, "no memory for");
}

TEST(stages_that_make_no_sense_leave_the_pipeline_as_it_was)
{
    thrum_executor *ex = executor_with(2);
    struct course *course = course_new(100);
    thrum_pipeline *pipeline = pipeline_of(3, "sps", course);
    thrum_stage wrong[] = {{THRUM_PARALLEL, parallel, course}};
    assert_error(thrum_pipeline_set_stages(pipeline, wrong, 1), THRUM_EINVAL, "must be serial");
    assert_error(thrum_pipeline_set_stages(pipeline, wrong, 0), THRUM_EINVAL, "no stages");
    assert_error(thrum_pipeline_set_stages(NULL, wrong, 1), THRUM_EINVAL, "the pipeline is NULL");
    assert_int_equal(thrum_pipeline_run(ex, pipeline), 0);
    assert_course_in_order(course, "sps");
    free_all(pipeline, ex, course);
}

TEST(null_is_refused_with_a_sentence)
{
    thrum_graph *graph = thrum_graph_new("g");
    assert_error(thrum_pipeline_run(NULL, NULL), THRUM_EINVAL, "thrum_pipeline_run: the pipeline is NULL");
    assert_null(thrum_pipeline_start(NULL, NULL));
    assert_contains(thrum_message(NULL), "thrum_pipeline_start: the pipeline is NULL");
    assert_null(thrum_pipeline_task_new(graph, NULL));
    assert_error(thrum_run(NULL, graph), THRUM_EINVAL, "thrum_pipeline_task_new: the pipeline is NULL");
    assert_int_equal(thrum_pipeline_free(NULL), 0);
    assert_error(thrum_pipe_stop(NULL), THRUM_EINVAL, "thrum_pipe_stop: the pipe is NULL");
    assert_error(thrum_pipe_defer(NULL, 1), THRUM_EINVAL, "thrum_pipe_defer: the pipe is NULL");
    assert_int_equal(thrum_pipe_token(NULL) + thrum_pipe_line(NULL) + thrum_pipe_stage(NULL), 0);
    assert_int_equal(thrum_pipe_deferrals(NULL), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

static void wait_at_gate(thrum_pipe *pipe, void *gate)
{
    if (thrum_pipe_token(pipe) == 1)
        thrum_pipe_stop(pipe);
    else
        stay_at_gate(gate);
}

TEST(a_running_pipeline_can_be_neither_changed_nor_freed)
{
    thrum_executor *ex = executor_with(2);
    struct gate gate = {0};
    thrum_stage stages[] = {{THRUM_SERIAL, wait_at_gate, &gate}};
    thrum_pipeline *pipeline = thrum_pipeline_new("busy", 2, stages, 1);
    thrum_handle *handle = thrum_pipeline_start(ex, pipeline);
    await_entered(&gate);
    assert_error(thrum_pipeline_set_stages(pipeline, stages, 1), THRUM_EBUSY, "pipeline 'busy' is running");
    assert_error(thrum_pipeline_free(pipeline), THRUM_EBUSY, "pipeline 'busy' is running");
    open_gate(&gate);
    assert_int_equal(thrum_wait(handle), 0);
    thrum_release(handle);
    free_all(pipeline, ex, NULL);
}

static void stop_here(thrum_pipe *pipe, void *code)
{
    *(int *)code = thrum_pipe_stop(pipe);
}

static void defer_here(thrum_pipe *pipe, void *code)
{
    *(int *)code = thrum_pipe_defer(pipe, 7);
}

TEST(only_the_first_stage_may_stop_or_defer)
{
    thrum_stage_fn *const wrong[] = {stop_here, defer_here};
    const char *const names[] = {"thrum_pipe_stop: called in stage 1 of pipeline 'strict'",
                                 "thrum_pipe_defer: called in stage 1 of pipeline 'strict'"};
    for (int i = 0; i < 2; i++) {
        thrum_executor *ex = executor_with(2);
        int code = 0;
        thrum_stage stages[] = {{THRUM_SERIAL, stop_at_four, NULL}, {THRUM_SERIAL, wrong[i], &code}};
        thrum_pipeline *pipeline = thrum_pipeline_new("strict", 2, stages, 2);
        assert_error(thrum_pipeline_run(ex, pipeline), THRUM_EINVAL, names[i]);
        assert_int_equal(code, THRUM_EINVAL);
        free_all(pipeline, ex, NULL);
    }
}

static void defer_on_itself(thrum_pipe *pipe, void *code)
{
    *(int *)code = thrum_pipe_defer(pipe, thrum_pipe_token(pipe));
}

TEST(a_token_cannot_wait_for_itself)
{
    thrum_executor *ex = executor_with(2);
    int code = 0;
    thrum_stage stages[] = {{THRUM_SERIAL, defer_on_itself, &code}};
    thrum_pipeline *pipeline = thrum_pipeline_new("self", 2, stages, 1);
    assert_error(thrum_pipeline_run(ex, pipeline), THRUM_EINVAL,
                 "token 0 of pipeline 'self' cannot wait for token 0: that is itself");
    assert_int_equal(code, THRUM_EINVAL);
    free_all(pipeline, ex, NULL);
}

TEST(tokens_cannot_wait_for_each_other_in_a_circle)
{
    struct plan *plan = plan_new(10);
    plan->waits[2][0] = 5;
    plan->waits[3][0] = 2;
    plan->waits[4][0] = 3;
    plan->waits[5][0] = 4;
    assert_error(run_plan(plan, 2, 2), THRUM_ECYCLE, "token 5 of pipeline 'planned' cannot wait for token 4");
    plan_free(plan);
}

TEST(a_token_that_waits_for_one_that_never_comes_fails_the_run)
{
    struct plan *plan = plan_new(10);
    plan->waits[4][0] = 12;
    plan->waits[6][0] = 4;
    assert_error(run_plan(plan, 2, 2), THRUM_EDEADLOCK, "token 4 was deferred until token 12 passes, which never came");
    plan_free(plan);
    plan = plan_new(10);
    plan->waits[4][0] = 10; /* the one that stops */
    assert_error(run_plan(plan, 2, 2), THRUM_EDEADLOCK, "token 4 was deferred until token 10 passes");
    plan_free(plan);
}

static void stop_and_defer(thrum_pipe *pipe, void *ctx)
{
    (void)ctx;
    thrum_pipe_stop(pipe);
    thrum_pipe_defer(pipe, 9);
}

TEST(a_token_cannot_stop_the_pipeline_and_be_deferred)
{
    thrum_executor *ex = executor_with(1);
    thrum_stage stages[] = {{THRUM_SERIAL, stop_and_defer, NULL}};
    thrum_pipeline *pipeline = thrum_pipeline_new("both", 2, stages, 1);
    assert_error(thrum_pipeline_run(ex, pipeline), THRUM_EINVAL, "token 0 stops the pipeline and is deferred as well");
    free_all(pipeline, ex, NULL);
}

/* Tokens 0 and 1 wait for 2; then 0 stops the pipeline, and 1 still goes through. */
static void stop_when_called_again(thrum_pipe *pipe, void *passed)
{
    uint64_t token = thrum_pipe_token(pipe);
    if (token < 2 && thrum_pipe_defer(pipe, 2) == 1)
        return;
    if (token == 0)
        thrum_pipe_stop(pipe);
    else
        *(unsigned *)passed |= 1u << token;
}

TEST(after_a_stop_deferred_tokens_that_can_go_on_do)
{
    thrum_executor *ex = executor_with(2);
    unsigned passed = 0;
    thrum_stage stages[] = {{THRUM_SERIAL, stop_when_called_again, &passed}};
    thrum_pipeline *pipeline = thrum_pipeline_new(NULL, 2, stages, 1);
    assert_int_equal(thrum_pipeline_run(ex, pipeline), 0);
    assert_int_equal(passed, 1u << 1 | 1u << 2);
    free_all(pipeline, ex, NULL);
}

struct own {
    thrum_pipeline *pipeline;
    int code;
};

static void run_itself(thrum_pipe *pipe, void *ctx)
{
    struct own *own = ctx;
    own->code = thrum_pipeline_run(NULL, own->pipeline);
    thrum_pipe_stop(pipe);
}

TEST(a_stage_cannot_run_its_own_pipeline)
{
    struct own own = {0};
    thrum_stage stages[] = {{THRUM_SERIAL, run_itself, &own}};
    own.pipeline = thrum_pipeline_new("own", 2, stages, 1);
    assert_int_equal(thrum_pipeline_run(NULL, own.pipeline), 0);
    assert_int_equal(own.code, THRUM_EDEADLOCK);
    assert_int_equal(thrum_pipeline_free(own.pipeline), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_token_goes_once_through_every_stage_and_serial_ones_keep_the_order),
        cmocka_unit_test(a_pipeline_runs_on_an_executor_without_threads_and_on_one_whose_callers_block),
        cmocka_unit_test(tokens_are_in_a_parallel_stage_at_the_same_time),
        cmocka_unit_test(serial_stages_work_on_different_tokens_at_the_same_time),
        cmocka_unit_test(a_token_that_overtook_another_in_a_parallel_stage_waits_for_it_at_a_serial_one),
        cmocka_unit_test(no_more_tokens_are_under_way_than_there_are_lines),
        cmocka_unit_test(each_run_begins_with_token_0),
        cmocka_unit_test(stages_can_be_changed_between_runs),
        cmocka_unit_test(runs_that_are_started_queue_up),
        cmocka_unit_test(a_pipeline_is_a_task_of_a_graph),
        cmocka_unit_test(a_stage_may_spawn_and_run_a_pipeline_of_its_own),
        cmocka_unit_test(observers_see_every_stage_of_every_token),
        cmocka_unit_test(a_deferred_token_comes_after_those_it_waits_for_and_before_new_ones),
        cmocka_unit_test(chains_of_deferred_tokens_unwind_from_their_end),
        cmocka_unit_test(tokens_that_became_free_together_go_in_the_order_in_which_they_were_deferred),
        cmocka_unit_test(waiting_for_a_token_that_has_passed_is_no_waiting),
        cmocka_unit_test(very_long_chains_take_time_in_proportion),
        cmocka_unit_test(a_stage_that_fails_ends_the_run_and_the_next_run_is_whole),
        cmocka_unit_test(with_one_worker_no_stage_begins_after_one_has_failed),
        cmocka_unit_test(a_failure_in_a_pipeline_task_is_the_graph_s),
        cmocka_unit_test(a_pipeline_without_end_can_be_cancelled),
        cmocka_unit_test(a_first_stage_that_defers_every_token_can_be_cancelled),
        cmocka_unit_test(pipelines_that_make_no_sense_are_refused),
        cmocka_unit_test(stages_that_make_no_sense_leave_the_pipeline_as_it_was),
        cmocka_unit_test(null_is_refused_with_a_sentence),
        cmocka_unit_test(a_running_pipeline_can_be_neither_changed_nor_freed),
        cmocka_unit_test(only_the_first_stage_may_stop_or_defer),
        cmocka_unit_test(a_token_cannot_wait_for_itself),
        cmocka_unit_test(tokens_cannot_wait_for_each_other_in_a_circle),
        cmocka_unit_test(a_token_that_waits_for_one_that_never_comes_fails_the_run),
        cmocka_unit_test(a_token_cannot_stop_the_pipeline_and_be_deferred),
        cmocka_unit_test(after_a_stop_deferred_tokens_that_can_go_on_do),
        cmocka_unit_test(a_stage_cannot_run_its_own_pipeline),
    };
    return RUN_TESTS(tests, 100);
}
