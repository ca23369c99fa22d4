/* SPDX-License-Identifier: MIT
 *
 * Random pipelines against a sequential oracle: lines, stages and their kinds, how long stages take, which tokens wait
 * for which, where a stage fails and when somebody cancels.
 *
 * The oracle is the first stage's rule played by one thread: free tokens before new ones, in the order in which they
 * became free. It gives the order in which tokens pass the first stage, which all serial stages must keep.
 */
#include "base/alloc.h"
#include "random.h"
#include "stress.h"
#include "tasks.h"

enum { EXECUTORS = 5, MOST_STAGES = 9, MOST_LINES = 12, MOST_TOKENS = 400, MOST_WAITS = 3 };

static struct stress stress;
static thrum_executor *executors[EXECUTORS];

/* One pipeline, what is expected of it, and what it did. */
struct program {
    thrum_executor *ex;
    size_t lines, stages, tokens;
    enum thrum_stage_kind kind[MOST_STAGES];
    unsigned pauses; /* in so many of a hundred cells a moment passes */
    uint64_t seed;
    uint64_t waits[MOST_TOKENS][MOST_WAITS];
    size_t wait_count[MOST_TOKENS];
    uint64_t expected[MOST_TOKENS];

    uint64_t fails_token;
    size_t fails_stage; /* MOST_STAGES: none */
    atomic_int begun;   /* stages: for who cancels */

    uint64_t at_line[MOST_LINES]; /* plain, as users would have it: written by the first stage */
    size_t passed[MOST_TOKENS];   /* stages that the token has gone through: plain, written by each stage */
    struct {
        size_t count;
        uint64_t order[MOST_TOKENS];
    } stage[MOST_STAGES]; /* of serial ones */
    atomic_int wrong;
};

/* ---- The oracle -------------------------------------------------------------------------------------------------- */

struct oracle {
    size_t missing[MOST_TOKENS];
    bool waiting[MOST_TOKENS], passed[MOST_TOKENS];
    uint64_t free[MOST_TOKENS];
    size_t free_first, free_last;
    size_t since[MOST_TOKENS]; /* waits in the order in which they began: the n-th token that was deferred */
    size_t deferred;
};

static bool oracle_defers(const struct program *p, struct oracle *o, uint64_t token)
{
    for (size_t i = 0; i < p->wait_count[token]; i++)
        o->missing[token] += !o->passed[p->waits[token][i]];
    o->waiting[token] = o->missing[token] > 0;
    o->since[token] = o->deferred++;
    return o->waiting[token];
}

/* Those who wait for it, in the order in which they began to; duplicates count as often as they were named. */
static void oracle_pass(const struct program *p, struct oracle *o, uint64_t token)
{
    uint64_t freed[MOST_TOKENS];
    size_t count = 0;
    o->passed[token] = true;
    for (uint64_t t = 0; t < p->tokens; t++) {
        if (!o->waiting[t])
            continue;
        for (size_t i = 0; i < p->wait_count[t]; i++)
            o->missing[t] -= p->waits[t][i] == token;
        if (o->missing[t] > 0)
            continue;
        o->waiting[t] = false;
        size_t at = count++;
        for (; at > 0 && o->since[freed[at - 1]] > o->since[t]; at--)
            freed[at] = freed[at - 1];
        freed[at] = t;
    }
    for (size_t i = 0; i < count; i++)
        o->free[o->free_last++ % MOST_TOKENS] = freed[i];
}

static void oracle_run(struct program *p)
{
    struct oracle o = {0};
    uint64_t next = 0;
    for (size_t passed = 0; passed < p->tokens;) {
        uint64_t token = o.free_first < o.free_last ? o.free[o.free_first++ % MOST_TOKENS] : next++;
        if (oracle_defers(p, &o, token))
            continue;
        p->expected[passed++] = token;
        oracle_pass(p, &o, token);
    }
}

/* ---- Random programs --------------------------------------------------------------------------------------------- */

/* Waits that make no circle: a hidden order of the tokens is drawn, and a token waits only for such as come before
 * it. */
static void draw_waits(struct program *p, struct random *random)
{
    uint64_t hidden[MOST_TOKENS];
    unsigned percent = random_chance(random, 50) ? (unsigned)random_below(random, 100) : 0;
    size_t reach = random_between(random, 1, 50);
    for (size_t i = 0; i < p->tokens; i++)
        hidden[i] = i;
    for (size_t i = 0; i < p->tokens; i++) {
        size_t other = i + random_below(random, reach);
        if (other < p->tokens) {
            uint64_t token = hidden[i];
            hidden[i] = hidden[other];
            hidden[other] = token;
        }
    }
    for (size_t i = 1; i < p->tokens; i++)
        for (size_t w = random_below(random, MOST_WAITS + 1); w > 0 && random_chance(random, percent); w--) {
            size_t back = 1 + random_below(random, i < reach ? i : reach);
            p->waits[hidden[i]][p->wait_count[hidden[i]]++] = hidden[i - back];
        }
}

static struct program *draw_program(uint64_t seed)
{
    struct random random = random_new(seed);
    struct program *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->seed = seed;
    p->ex = executors[random_below(&random, EXECUTORS)];
    p->lines = random_between(&random, 1, MOST_LINES);
    p->stages = random_between(&random, 1, MOST_STAGES);
    p->tokens = random_below(&random, random_chance(&random, 50) ? 20 : MOST_TOKENS);
    unsigned parallel = (unsigned)random_below(&random, 101);
    for (size_t s = 1; s < p->stages; s++)
        p->kind[s] = random_chance(&random, parallel) ? THRUM_PARALLEL : THRUM_SERIAL;
    p->pauses = random_chance(&random, 40) ? (unsigned)random_below(&random, 30) : 0;
    p->fails_stage = MOST_STAGES;
    draw_waits(p, &random);
    oracle_run(p);
    return p;
}

/* ---- Stages ------------------------------------------------------------------------------------------------------ */

static void pass_time(const struct program *p, uint64_t token, size_t stage)
{
    uint64_t drawn = random_mix(p->seed ^ token * 64 ^ stage);
    if (drawn % 100 >= p->pauses)
        return;
    if (drawn >> 32 & 1)
        sched_yield();
    for (volatile unsigned i = 0; i < (drawn >> 40) % 2000; i++)
        ;
}

static void any_stage(thrum_pipe *pipe, void *ctx)
{
    struct program *p = ctx;
    uint64_t token = thrum_pipe_token(pipe);
    size_t stage = thrum_pipe_stage(pipe), line = thrum_pipe_line(pipe);
    atomic_fetch_add_explicit(&p->begun, 1, memory_order_relaxed);
    if (line >= p->lines || token >= p->tokens || p->at_line[line] != token || p->passed[token]++ != stage) {
        atomic_fetch_add(&p->wrong, 1);
        return;
    }
    pass_time(p, token, stage);
    if (p->kind[stage] == THRUM_SERIAL)
        p->stage[stage].order[p->stage[stage].count++] = token;
    if (stage == p->fails_stage && token == p->fails_token)
        thrum_fail(7, "as planned");
}

static void first_stage(thrum_pipe *pipe, void *ctx)
{
    struct program *p = ctx;
    uint64_t token = thrum_pipe_token(pipe);
    bool deferred = false;
    if (token == p->tokens) {
        thrum_pipe_stop(pipe);
        return;
    }
    for (size_t i = 0; i < p->wait_count[token]; i++)
        deferred |= thrum_pipe_defer(pipe, p->waits[token][i]) == 1;
    if (deferred)
        return;
    p->at_line[thrum_pipe_line(pipe)] = token;
    any_stage(pipe, ctx);
}

static thrum_pipeline *build(struct program *p)
{
    thrum_stage stages[MOST_STAGES];
    for (size_t s = 0; s < p->stages; s++)
        stages[s] = (thrum_stage){p->kind[s], s ? any_stage : first_stage, p};
    return thrum_pipeline_new(NULL, p->lines, stages, p->stages);
}

static void forget(struct program *p)
{
    memset(p->passed, 0, sizeof p->passed);
    memset(p->stage, 0, sizeof p->stage);
}

static bool all_as_expected(const struct program *p)
{
    for (size_t t = 0; t < p->tokens; t++)
        if (p->passed[t] != p->stages)
            return false;
    for (size_t s = 0; s < p->stages; s++)
        if (p->kind[s] == THRUM_SERIAL &&
            (p->stage[s].count != p->tokens || memcmp(p->stage[s].order, p->expected, p->tokens * sizeof *p->expected)))
            return false;
    return true;
}

/* After a failure: each serial stage has a beginning of the expected order, and none further than the one before it. */
static bool a_beginning_as_expected(const struct program *p)
{
    size_t before = p->tokens;
    for (size_t s = 0; s < p->stages; s++) {
        if (p->kind[s] != THRUM_SERIAL)
            continue;
        size_t count = p->stage[s].count;
        if (count > before || memcmp(p->stage[s].order, p->expected, count * sizeof *p->expected))
            return false;
        before = count;
    }
    return true;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

TEST(random_pipelines_do_what_the_oracle_says)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct program *p = draw_program(course.seed);
        thrum_pipeline *pipeline = build(p);
        for (int run = 0; run < 3; run++) {
            forget(p);
            stress_check(&course, thrum_pipeline_run(p->ex, pipeline) == 0);
            stress_check(&course, atomic_load(&p->wrong) == 0);
            stress_check(&course, all_as_expected(p));
        }
        stress_check(&course, thrum_pipeline_free(pipeline) == 0);
        free(p);
    }
    stress_report(&course, "pipelines, run three times");
}

TEST(a_failure_at_a_random_place_ends_the_run_and_the_next_one_is_whole)
{
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct program *p = draw_program(course.seed);
        struct random random = random_new(~course.seed);
        thrum_pipeline *pipeline = build(p);
        p->fails_stage = random_below(&random, p->stages);
        p->fails_token = random_below(&random, p->tokens);
        stress_check(&course, thrum_pipeline_run(p->ex, pipeline) == (p->tokens ? 7 : 0));
        stress_check(&course, atomic_load(&p->wrong) == 0);
        stress_check(&course, a_beginning_as_expected(p));
        p->fails_stage = MOST_STAGES;
        forget(p);
        stress_check(&course, thrum_pipeline_run(p->ex, pipeline) == 0);
        stress_check(&course, atomic_load(&p->wrong) == 0);
        stress_check(&course, all_as_expected(p));
        stress_check(&course, thrum_pipeline_free(pipeline) == 0);
        free(p);
    }
    stress_report(&course, "pipelines failed");
}

TEST(cancelling_at_a_random_moment_ends_the_run_and_the_next_one_is_whole)
{
    struct stress_course course = stress_course(&stress);
    int cancelled = 0;
    while (stress_next(&course)) {
        struct program *p = draw_program(course.seed);
        struct random random = random_new(~course.seed);
        thrum_pipeline *pipeline = build(p);
        int moment = (int)random_below(&random, p->tokens * p->stages + 1);
        thrum_handle *handle = thrum_pipeline_start(p->ex, pipeline);
        if (p->ex != executors[EXECUTORS - 1]) /* which has no threads */
            while (!thrum_done(handle) && atomic_load(&p->begun) < moment)
                sched_yield();
        thrum_cancel(handle);
        int err = thrum_wait(handle);
        cancelled += err != 0;
        stress_check(&course, err == 0 || err == THRUM_ECANCELLED);
        stress_check(&course, atomic_load(&p->wrong) == 0);
        stress_check(&course, err == 0 ? all_as_expected(p) : a_beginning_as_expected(p));
        thrum_release(handle);
        forget(p);
        stress_check(&course, thrum_pipeline_run(p->ex, pipeline) == 0);
        stress_check(&course, all_as_expected(p));
        stress_check(&course, thrum_pipeline_free(pipeline) == 0);
        free(p);
    }
    print_message("           %d of them in time\n", cancelled);
    stress_report(&course, "pipelines cancelled");
}

/* Several pipelines at once in one graph, around and inside of which other things happen. */
TEST(pipelines_run_side_by_side_as_tasks_of_a_graph)
{
    enum { SIDE_BY_SIDE = 4 };
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct program *p[SIDE_BY_SIDE];
        thrum_pipeline *pipeline[SIDE_BY_SIDE];
        thrum_graph *graph = thrum_graph_new("several");
        thrum_task *begin = thrum_placeholder_new(graph);
        for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
            p[i] = draw_program(course.seed * SIDE_BY_SIDE + i);
            pipeline[i] = build(p[i]);
            thrum_precede(begin, thrum_pipeline_task_new(graph, pipeline[i]));
        }
        stress_check(&course, thrum_run(p[0]->ex, graph) == 0);
        stress_check(&course, thrum_graph_free(graph) == 0);
        for (size_t i = 0; i < SIDE_BY_SIDE; i++) {
            stress_check(&course, atomic_load(&p[i]->wrong) == 0);
            stress_check(&course, all_as_expected(p[i]));
            stress_check(&course, thrum_pipeline_free(pipeline[i]) == 0);
            free(p[i]);
        }
    }
    stress_report(&course, "graphs of four pipelines");
}

/* Makes, runs, changes and runs a pipeline with deferred tokens. */
static int hungry(struct program *p)
{
    thrum_stage one = {THRUM_SERIAL, first_stage, p};
    thrum_pipeline *pipeline = build(p);
    if (!pipeline)
        return THRUM_ENOMEM;
    forget(p);
    int err = thrum_pipeline_run(p->ex, pipeline);
    if (!err && !all_as_expected(p))
        err = 1;
    if (!err)
        err = thrum_pipeline_set_stages(pipeline, &one, 1);
    return thrum_pipeline_free(pipeline) ? 1 : err;
}

/* The first allocation fails, then the second, and so on. */
TEST(without_memory_pipelines_say_so_and_then_work_again)
{
    enum { MOST_ALLOCATIONS = 100000 };
    struct stress_course course = stress_course(&stress);
    while (stress_next(&course)) {
        struct program *p = draw_program(course.seed);
        long asked, n = 0;
        p->ex = executors[0];
        do {
            thrum__alloc_fail_after(n);
            int err = hungry(p);
            asked = thrum__alloc_count();
            if (err)
                stress_check(&course, strstr(thrum_message(NULL), "memory"));
            thrum__alloc_fail_after(-1);
            stress_check(&course, err == 0 || (err == THRUM_ENOMEM && asked > n));
            stress_check(&course, hungry(p) == 0);
            stress_check(&course, asked < MOST_ALLOCATIONS);
            n += 1 + n / 30;
        } while (asked >= n);
        free(p);
    }
    stress_report(&course, "pipelines without memory");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_pipelines_do_what_the_oracle_says),
        cmocka_unit_test(a_failure_at_a_random_place_ends_the_run_and_the_next_one_is_whole),
        cmocka_unit_test(cancelling_at_a_random_moment_ends_the_run_and_the_next_one_is_whole),
        cmocka_unit_test(pipelines_run_side_by_side_as_tasks_of_a_graph),
        cmocka_unit_test(without_memory_pipelines_say_so_and_then_work_again),
    };
    stress = stress_begin(argv[0], 1);
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    for (int i = 0; i < EXECUTORS; i++)
        executors[i] = i + 1 < EXECUTORS ? thrum_executor_new(&(thrum_config){.workers = i + 1})
                                         : thrum_executor_new(&(thrum_config){.threadless = true});
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < EXECUTORS; i++)
        thrum_executor_free(executors[i]);
    return failed;
}
