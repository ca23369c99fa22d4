/* SPDX-License-Identifier: MIT
 *
 * What a worker keeps to itself and how others get it, from the inside (src/exec/door.c): an owner that stops at gates,
 * and a test that plays the thief, step by step, with a clock of its own.
 */
#include "tasks.h"

#include "base/alloc.h"
#include "exec/exec_int.h"
#include "random.h"
#include "sys/barrier.h"

#include <sched.h>

enum { WORKERS = 2, GATES = 4 };
enum { LONG_NS = 1000000 }; /* more than any patience in door.c */

/* The owner is a guest in a thread of its own; the executor's workers are busy, so that nobody steals but the test. */
struct play {
    thrum_executor *ex;
    struct gate busy[WORKERS];
    thrum_graph *graph, *inner;
    struct gate gates[GATES]; /* the owner's first so many steps stop there */
    int gates_used, gates_passed;
    uint64_t iterations;
    atomic_int steps;
    worker *owner, *thief;
    int64_t now;
    int code;
    pthread_t thread;
};

static void step(void *arg)
{
    struct play *play = arg;
    if (thrum__self == play->owner && play->gates_passed < play->gates_used)
        stay_at_gate(&play->gates[play->gates_passed++]);
    atomic_fetch_add_explicit(&play->steps, 1, memory_order_relaxed);
}

static void set_stage(struct play *play, int gates)
{
    memset(play, 0, sizeof *play);
    play->ex = executor_with(WORKERS);
    play->gates_used = gates;
    play->iterations = 1;
    play->thief = play->ex->cpu.workers[0];
    play->graph = thrum_graph_new("played");
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(thrum_async(play->ex, stay_at_gate, &play->busy[i]), 0);
        await_entered(&play->busy[i]);
    }
}

static void clear_stage(struct play *play)
{
    for (int i = 0; i < WORKERS; i++)
        open_gate(&play->busy[i]);
    assert_int_equal(thrum_executor_free(play->ex), 0);
    assert_int_equal(thrum_graph_free(play->graph), 0);
    assert_int_equal(thrum_graph_free(play->inner), 0);
}

static void *be_owner(void *arg)
{
    struct play *play = arg;
    thrum_scope scope;
    thrum_scope_open_on(&scope, play->ex);
    play->owner = (worker *)scope.worker;
    play->code = thrum_run_n(play->ex, play->graph, play->iterations);
    if (thrum_join(&scope))
        play->code = -1;
    return NULL;
}

static void start_owner(struct play *play)
{
    assert_int_equal(pthread_create(&play->thread, NULL, be_owner, play), 0);
    await_entered(&play->gates[0]);
}

/* Opens the gate where the owner is, and waits until it stands at the next one. */
static void go_on_to(struct play *play, int gate)
{
    open_gate(&play->gates[gate - 1]);
    await_entered(&play->gates[gate]);
}

static void finish(struct play *play, int steps)
{
    for (int i = 0; i < GATES; i++)
        open_gate(&play->gates[i]);
    assert_int_equal(pthread_join(play->thread, NULL), 0);
    assert_int_equal(play->code, 0);
    assert_int_equal(atomic_load(&play->steps), steps);
    assert_null(play->owner->alone);
    assert_int_equal(atomic_load(&play->owner->alone_runs), 0);
    assert_int_equal(atomic_load(&play->owner->hidden_sources), 0);
    assert_false(thrum__door_hides(play->owner));
    assert_true(thrum__deque_check(&play->owner->deque));
    assert_null(play->ex->cpu.open);
}

/* One task before `width` others. */
static void build_fan(thrum_graph *graph, struct play *play, int width)
{
    thrum_task *first = thrum_task_new(graph, step, play);
    for (int i = 0; i < width; i++)
        assert_int_equal(thrum_edge(first, thrum_task_new(graph, step, play)), 0);
}

static enum look look_after(struct play *play, int64_t ns)
{
    play->now += ns;
    return thrum__door_look_at(play->owner, play->now);
}

/* Looks until the thief has asked. */
static void ask(struct play *play)
{
    while (!atomic_load(&play->owner->watched.asked)) {
        enum look look = look_after(play, LONG_NS);
        assert_int_equal(look, atomic_load(&play->owner->watched.asked) ? LOOK_SOON : LOOK_WAIT);
    }
    assert_true(thrum__deque_is_asked(&play->owner->deque));
}

static enum look ask_and_raid(struct play *play)
{
    ask(play);
    return look_after(play, LONG_NS);
}

static thrum__run *first_run(const struct play *play)
{
    return atomic_load(&play->ex->runs[0]);
}

static bool is_alone(const thrum__run *run)
{
    return atomic_load(&run->sharing) == RUN_ALONE;
}

static int words_shown(const struct play *play)
{
    return (int)(atomic_load(&play->owner->deque.shown) - atomic_load(&play->owner->deque.top));
}

static int words_hidden(const struct play *play)
{
    return (int)(atomic_load(&play->owner->deque.bottom) - atomic_load(&play->owner->deque.shown));
}

static bool is_open(const struct play *play)
{
    return atomic_load(&play->owner->open);
}

/* The thief takes a task and runs it, if there is one for the taking. */
static bool steal(struct play *play)
{
    found f;
    if (!thrum__steal_task(play->owner, NULL, &f))
        return false;
    thrum__perform(play->thief, &f);
    return true;
}

/* ---- Words and runs ---------------------------------------------------------------------------------------------- */

TEST(what_a_worker_has_is_its_own_while_nobody_asks)
{
    struct play play;
    set_stage(&play, 2);
    build_fan(play.graph, &play, 8);
    start_owner(&play);
    go_on_to(&play, 1);
    assert_int_equal(words_hidden(&play), 7);
    assert_int_equal(words_shown(&play), 0);
    assert_true(thrum__door_hides(play.owner));
    assert_true(is_alone(first_run(&play)));
    assert_int_equal(atomic_load(&first_run(&play)->strands), 0);
    assert_false(thrum__run_raise(first_run(&play)));
    assert_false(steal(&play));
    finish(&play, 9);
    clear_stage(&play);
}

TEST(a_thief_looks_at_a_run_for_a_while_before_it_asks_and_asks_before_it_raids)
{
    struct play play;
    set_stage(&play, 2);
    build_fan(play.graph, &play, 8);
    start_owner(&play);
    assert_int_equal(look_after(&play, LONG_NS), LOOK_NOTHING); /* nothing is hidden yet */
    go_on_to(&play, 1);
    assert_int_equal(look_after(&play, LONG_NS), LOOK_WAIT); /* it begins to watch */
    assert_false(thrum__deque_is_asked(&play.owner->deque));
    assert_int_equal(look_after(&play, 1), LOOK_SOON);
    assert_false(thrum__deque_is_asked(&play.owner->deque));
    assert_int_equal(look_after(&play, LONG_NS), LOOK_SOON); /* the task is a long one: it asks */
    assert_true(thrum__deque_is_asked(&play.owner->deque));
    assert_int_equal(look_after(&play, 1), LOOK_SOON); /* and gives the owner time to answer */
    assert_true(is_alone(first_run(&play)));
    assert_int_equal(look_after(&play, LONG_NS), LOOK_SHOWN);
    assert_false(is_alone(first_run(&play)));
    finish(&play, 9);
    clear_stage(&play);
}

/* One before `width` others before one: with counters. */
static void build_diamond(struct play *play, int width)
{
    build_fan(play->graph, play, width);
    size_t count;
    thrum_task *last = thrum_task_new(play->graph, step, play);
    for (int i = 1; i <= width; i++)
        assert_int_equal(thrum_edge(thrum__task_number_at(play->graph, (size_t)i, &count), last), 0);
}

/* How long an owner that stands still in a graph of `tasks` is left alone, in looks that are `step_ns` apart. */
static int looks_until_asked(int64_t task_ns, int tasks, int64_t step_ns, int64_t crowded_until)
{
    struct play play;
    int looks = 0;
    set_stage(&play, 2);
    build_diamond(&play, tasks - 2);
    play.graph->task_ns = task_ns;
    atomic_store(&play.ex->cpu.crowded_until, crowded_until);
    start_owner(&play);
    go_on_to(&play, 1);
    for (; !atomic_load(&play.owner->watched.asked); looks++)
        look_after(&play, step_ns);
    finish(&play, tasks);
    clear_stage(&play);
    return looks;
}

TEST(in_a_crowd_a_run_of_small_tasks_is_left_alone_for_longer)
{
    assert_int_equal(looks_until_asked(THRUM__SMALL_NS - 1, 10, LONG_NS + 1, 0), 2);
    assert_int_equal(looks_until_asked(THRUM__SMALL_NS, 10, LONG_NS + 1, INT64_MAX), 2);
    assert_in_range(looks_until_asked(THRUM__SMALL_NS - 1, 10, LONG_NS + 1, INT64_MAX), 10, 12);
    assert_int_equal(looks_until_asked(THRUM__SMALL_NS - 1, 10, LONG_NS + 1, 1), 2); /* over */
}

TEST(an_owner_of_tiny_tasks_may_stand_still_for_a_moment_unless_there_are_many)
{
    enum { STEP_NS = 10000 };
    assert_int_equal(looks_until_asked(0, 10, STEP_NS, 0), 2);
    assert_int_equal(looks_until_asked(THRUM__TINY_NS, 10, STEP_NS, 0), 2);
    assert_in_range(looks_until_asked(THRUM__TINY_NS - 1, 10, STEP_NS, 0), 10, 16);
    assert_int_equal(looks_until_asked(THRUM__TINY_NS - 1, 30000, STEP_NS, 0), 2);
    assert_in_range(looks_until_asked(THRUM__MINUTE_NS - 1, 10, STEP_NS, 0), 100, 110);
}

/* The first tasks of a run may be unlike the others: what is seen of them does not count against what is known. */
TEST(an_owner_of_tiny_tasks_that_seems_slow_is_left_alone_for_a_while)
{
    enum { STEP_NS = 10000 };
    struct play play;
    int looks = 0;
    set_stage(&play, 2);
    build_diamond(&play, 8);
    play.graph->task_ns = THRUM__TINY_NS - 1;
    start_owner(&play);
    go_on_to(&play, 1);
    for (; !atomic_load(&play.owner->watched.asked); looks++) {
        atomic_fetch_add(&play.owner->inside, 2); /* as if it had completed one more task */
        look_after(&play, STEP_NS);
    }
    assert_in_range(looks, 40, 46);
    finish(&play, 10);
    clear_stage(&play);
}

TEST(a_run_raises_what_is_known_of_its_pace_to_twice_as_much_at_most)
{
    assert_int_equal(thrum__pace(0, 10, 10), 10);
    assert_int_equal(thrum__pace(7, 5, 5), 5);
    assert_int_equal(thrum__pace(7, 12, 12), 12);
    assert_int_equal(thrum__pace(7, 1000, 1000), 14);
}

TEST(a_shared_run_says_only_between_what_bounds_its_pace_is)
{
    assert_int_equal(thrum__pace(0, 10, 20), 20);
    assert_int_equal(thrum__pace(14, 10, 20), 14);
    assert_int_equal(thrum__pace(21, 10, 20), 20);
    assert_int_equal(thrum__pace(9, 10, 20), 10);
    assert_int_equal(thrum__pace(4, 10, 20), 8);
}

/* The test's thread may be moved by the system in between. */
static bool shares_core_if_begun_here(struct play *play)
{
    int here;
    bool shares;
    do {
        here = sched_getcpu();
        atomic_store(&play->owner->began_on, here);
        shares = thrum__door_shares_core(play->thief);
    } while (sched_getcpu() != here);
    return shares;
}

TEST(a_worker_knows_whether_it_is_on_the_core_where_another_began_a_run_that_it_has_alone)
{
    struct play play;
    set_stage(&play, 2);
    build_fan(play.graph, &play, 8);
    start_owner(&play);
    go_on_to(&play, 1);
    assert_true(atomic_load(&play.owner->began_on) >= 0);
    assert_true(shares_core_if_begun_here(&play));
    atomic_store(&play.owner->began_on, -1);
    assert_false(thrum__door_shares_core(play.thief));
    assert_int_equal(ask_and_raid(&play), LOOK_SHOWN);
    assert_false(shares_core_if_begun_here(&play)); /* it has nothing alone any more */
    finish(&play, 9);
    clear_stage(&play);
}

TEST(an_owner_that_is_asked_shows_half_at_its_next_pop_and_shares_its_run)
{
    struct play play;
    set_stage(&play, 3);
    build_fan(play.graph, &play, 8);
    start_owner(&play);
    go_on_to(&play, 1);
    ask(&play);
    assert_int_equal(words_hidden(&play), 7);
    go_on_to(&play, 2);
    assert_int_equal(words_shown(&play), 3);
    assert_int_equal(words_hidden(&play), 3);
    assert_false(is_alone(first_run(&play)));
    assert_int_equal(atomic_load(&first_run(&play)->strands), 1);
    assert_false(is_open(&play));
    assert_false(thrum__deque_is_asked(&play.owner->deque));
    assert_int_equal(atomic_load(&play.owner->deque.bar), atomic_load(&play.owner->deque.shown));
    for (int i = 0; i < 3; i++)
        assert_true(steal(&play));
    assert_false(steal(&play));
    assert_int_equal(atomic_load(&play.steps), 1 + 1 + 3); /* the owner's, without the one it is in, and the stolen */
    finish(&play, 9);
    clear_stage(&play);
}

TEST(a_shared_run_is_alone_again_only_when_nobody_else_is_in_it_and_nothing_is_shown)
{
    struct play play;
    set_stage(&play, 2);
    build_fan(play.graph, &play, 8);
    start_owner(&play);
    go_on_to(&play, 1);
    thrum__run *run = first_run(&play);
    assert_int_equal(ask_and_raid(&play), LOOK_SHOWN);
    assert_false(thrum__alone_again(play.owner, run)); /* words are shown */
    while (steal(&play))
        ;
    assert_true(thrum__run_raise(run));
    assert_false(thrum__alone_again(play.owner, run)); /* somebody is in it */
    atomic_fetch_sub(&run->strands, 1);
    assert_true(thrum__alone_again(play.owner, run));
    assert_true(is_alone(run));
    assert_false(is_open(&play));
    assert_false(thrum__run_raise(run));
    finish(&play, 9);
    clear_stage(&play);
}

TEST(a_raid_shows_everything_and_what_comes_after_is_shown_at_once)
{
    struct play play;
    set_stage(&play, 3);
    build_fan(play.graph, &play, 4);
    thrum_task *late = thrum_task_new(play.graph, step, &play); /* a second source: it runs last */
    for (int i = 0; i < 4; i++)
        assert_int_equal(thrum_edge(late, thrum_task_new(play.graph, step, &play)), 0);
    start_owner(&play);
    go_on_to(&play, 1);
    assert_int_equal(ask_and_raid(&play), LOOK_SHOWN);
    assert_int_equal(words_shown(&play), 3);
    assert_int_equal(words_hidden(&play), 0);
    assert_false(is_alone(first_run(&play)));
    assert_true(first_run(&play)->has_token);
    assert_int_equal(atomic_load(&first_run(&play)->strands), 2);
    assert_ptr_equal(play.ex->cpu.open, first_run(&play));
    assert_true(is_open(&play));
    play.owner->slow_since = 0; /* its steps are far apart, so it stays open */
    for (int i = 0; i < 3; i++)
        assert_true(steal(&play)); /* the first of these takes the other source too, and with it the token */
    assert_int_equal(atomic_load(&play.steps), 1 + 3 + 5);
    assert_null(play.ex->cpu.open);
    finish(&play, 10);
    clear_stage(&play);
}

/* A chain of fans: each task but the last of a fan has no successors, the last one begins the next fan. */
TEST(an_open_worker_shows_what_it_pushes_until_its_steps_are_quick)
{
    struct play play;
    enum { WIDTH = 4, FANS = 20 };
    set_stage(&play, 3);
    thrum_task *first = thrum_task_new(play.graph, step, &play);
    for (int fan = 0; fan < FANS; fan++) {
        thrum_task *near = thrum_task_new(play.graph, step, &play);
        assert_int_equal(thrum_edge(first, near), 0);
        for (int i = 1; i < WIDTH; i++)
            assert_int_equal(thrum_edge(first, thrum_task_new(play.graph, step, &play)), 0);
        first = near;
    }
    start_owner(&play);
    go_on_to(&play, 1); /* in the first fan's nearest task, which begins the second */
    assert_int_equal(ask_and_raid(&play), LOOK_SHOWN);
    play.owner->slow_since = 0;
    go_on_to(&play, 2);
    assert_int_equal(words_shown(&play), 2 * (WIDTH - 1));
    assert_int_equal(words_hidden(&play), 0);
    assert_true(is_open(&play));
    play.owner->slow_since = INT64_MAX / 2; /* as if no time had passed since */
    finish(&play, 1 + FANS * WIDTH);
    assert_false(is_open(&play));
    assert_false(thrum__deque_is_asked(&play.owner->deque));
    assert_ptr_equal(play.owner->spawn.end, play.owner->spawns_end);
    clear_stage(&play);
}

TEST(a_raid_gives_up_while_the_owner_is_inside_and_the_bar_stays_up)
{
    struct play play;
    set_stage(&play, 3);
    build_fan(play.graph, &play, 8);
    start_owner(&play);
    go_on_to(&play, 1);
    ask(&play);
    atomic_store(&play.owner->inside, 1);
    assert_int_equal(look_after(&play, LONG_NS), LOOK_WAIT);
    assert_true(is_alone(first_run(&play)));
    assert_int_equal(words_shown(&play), 0);
    assert_false(is_open(&play));
    assert_int_equal(atomic_load(&play.owner->deque.bar), THRUM__DEQUE_ASK);
    assert_true(thrum__deque_is_asked(&play.owner->deque));
    assert_true(thrum__lock_try(&play.owner->door)); /* it has given the door back */
    assert_int_equal(look_after(&play, LONG_NS), LOOK_WAIT);
    thrum__lock_give(&play.owner->door);
    atomic_store(&play.owner->inside, 0);
    go_on_to(&play, 2); /* the owner serves as if it had only been asked */
    assert_int_equal(words_shown(&play), 3);
    assert_false(is_open(&play));
    finish(&play, 9);
    clear_stage(&play);
}

TEST(a_worker_that_hides_nothing_but_sources_is_raided_for_them)
{
    struct play play;
    found f;
    set_stage(&play, 1);
    for (int i = 0; i < 8; i++)
        assert_non_null(thrum_task_new(play.graph, step, &play));
    start_owner(&play);
    assert_int_equal(words_hidden(&play), 0);
    assert_int_equal(atomic_load(&play.owner->hidden_sources), 1);
    assert_true(thrum__door_hides(play.owner));
    assert_true(thrum__work_visible(&play.ex->cpu));
    assert_false(thrum__run_join_open(&play.ex->cpu, NULL, &f));
    assert_int_equal(ask_and_raid(&play), LOOK_SHOWN);
    assert_int_equal(atomic_load(&play.owner->hidden_sources), 0);
    assert_false(thrum__door_hides(play.owner));
    assert_int_equal(look_after(&play, LONG_NS), LOOK_NOTHING);
    assert_true(thrum__run_join_open(&play.ex->cpu, NULL, &f));
    assert_int_equal(f.kind, FOUND_RUN);
    assert_int_equal(atomic_load(&first_run(&play)->strands), 3);
    thrum__perform(play.thief, &f);
    assert_int_equal(atomic_load(&play.steps), 7);
    assert_int_equal(atomic_load(&first_run(&play)->strands), 1);
    finish(&play, 8);
    clear_stage(&play);
}

TEST(a_run_with_one_source_hides_nothing_before_something_is_pushed)
{
    struct play play;
    set_stage(&play, 1);
    assert_non_null(thrum_task_new(play.graph, step, &play));
    start_owner(&play);
    assert_false(thrum__door_hides(play.owner));
    assert_int_equal(look_after(&play, LONG_NS), LOOK_NOTHING);
    finish(&play, 1);
    clear_stage(&play);
}

TEST(each_iteration_begins_alone_again)
{
    struct play play;
    set_stage(&play, 4);
    play.iterations = 2;
    build_fan(play.graph, &play, 2);
    start_owner(&play);
    go_on_to(&play, 1);
    ask(&play);
    go_on_to(&play, 2); /* the last task of the first iteration */
    assert_false(is_alone(first_run(&play)));
    go_on_to(&play, 3); /* the first of the second */
    assert_true(is_alone(first_run(&play)));
    assert_int_equal(atomic_load(&first_run(&play)->strands), 0);
    finish(&play, 6);
    clear_stage(&play);
}

static void run_inner(void *arg)
{
    struct play *play = arg;
    play->code = thrum_run(play->ex, play->inner);
    step(play);
}

/* A task runs another graph and stops in it: both runs are shared, and all of both can be had. */
static void with_nested_runs(struct play *play)
{
    set_stage(play, 3);
    play->inner = thrum_graph_new("inner");
    build_fan(play->inner, play, 8);
    thrum_task *first = thrum_task_new(play->graph, step, play);
    assert_int_equal(thrum_edge(first, thrum_task_new(play->graph, run_inner, play)), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(thrum_edge(first, thrum_task_new(play->graph, step, play)), 0);
    start_owner(play);
    go_on_to(play, 1);
    go_on_to(play, 2); /* the inner run's second task */
    assert_int_equal(atomic_load(&play->owner->alone_runs), 2);
    assert_int_equal(words_hidden(play), 4 + 7);
}

TEST(a_raid_shares_the_outer_runs_too)
{
    struct play play;
    with_nested_runs(&play);
    assert_int_equal(ask_and_raid(&play), LOOK_SHOWN);
    assert_int_equal(atomic_load(&play.owner->alone_runs), 0);
    assert_int_equal(words_shown(&play), 4 + 7);
    for (int i = 0; i < 4 + 7; i++)
        assert_true(steal(&play));
    assert_false(steal(&play));
    finish(&play, 6 + 9);
    clear_stage(&play);
}

TEST(an_owner_that_serves_shares_the_outer_runs_too)
{
    struct play play;
    with_nested_runs(&play);
    play.gates_used = 4;
    ask(&play);
    go_on_to(&play, 3);
    assert_int_equal(atomic_load(&play.owner->alone_runs), 0);
    assert_int_equal(words_shown(&play), 5);
    for (int i = 0; i < 5; i++)
        assert_true(steal(&play));
    assert_int_equal(words_hidden(&play), 5);
    finish(&play, 6 + 9);
    clear_stage(&play);
}

TEST(nested_runs_that_nobody_asks_for_end_alone_one_after_the_other)
{
    struct play play;
    with_nested_runs(&play);
    finish(&play, 6 + 9);
    clear_stage(&play);
}

TEST(an_owner_that_steps_aside_shows_all_it_has)
{
    struct play play;
    with_nested_runs(&play);
    thrum__door_show_all(play.owner); /* the owner stands at its gate; the test does it in its place */
    assert_int_equal(atomic_load(&play.owner->alone_runs), 0);
    assert_int_equal(words_shown(&play), 4 + 7);
    assert_false(is_open(&play));
    assert_true(steal(&play));
    finish(&play, 6 + 9);
    clear_stage(&play);
}

/* ---- Deques that cannot grow ------------------------------------------------------------------------------------- */

static void step_without_memory(void *arg)
{
    step(arg);
    thrum__alloc_fail_after(0);
}

static void step_with_memory(void *arg)
{
    thrum__alloc_fail_after(-1);
    step(arg);
}

TEST(tasks_that_find_no_room_in_the_deque_run_at_once_alone_or_not)
{
    enum { WIDTH = 3 * THRUM__DEQUE_FIRST };
    for (int asked = 0; asked < 2; asked++) {
        struct play play;
        set_stage(&play, 1);
        thrum_task *first = thrum_task_new(play.graph, step_without_memory, &play);
        thrum_task *last = thrum_task_new(play.graph, step_with_memory, &play);
        for (int i = 0; i < WIDTH; i++) {
            thrum_task *middle = thrum_task_new(play.graph, step, &play);
            assert_int_equal(thrum_edge(first, middle), 0);
            assert_int_equal(thrum_edge(middle, last), 0);
        }
        start_owner(&play);
        if (asked)
            thrum__deque_ask(&play.owner->deque);
        finish(&play, WIDTH + 2);
        clear_stage(&play);
    }
}

/* ---- A raider that is held up ------------------------------------------------------------------------------------ */

struct held_up {
    struct play *play;
    atomic_bool ended;
    enum look look;
    thrum_handle *handle;
};

static void *raid_in_a_thread(void *arg)
{
    struct held_up *raider = arg;
    raider->look = look_after(raider->play, LONG_NS);
    atomic_store(&raider->ended, true);
    return NULL;
}

static void await_contended(thrum__lock *lock)
{
    while (atomic_load(&lock->state) != 2)
        pause_ms(1);
}

/* The raider waits for the domain's lock, to put the run in the list of open ones. If the owner took the last source
 * now, it would take out of the list what is not yet there. */
TEST(an_owner_that_comes_back_in_the_middle_of_a_raid_waits_for_its_end)
{
    struct play play;
    struct held_up raider = {.play = &play};
    pthread_t thread;
    set_stage(&play, 1);
    for (int i = 0; i < 2; i++)
        assert_non_null(thrum_task_new(play.graph, step, &play));
    start_owner(&play);
    ask(&play);
    thrum__lock_take(&play.ex->cpu.lock);
    assert_int_equal(pthread_create(&thread, NULL, raid_in_a_thread, &raider), 0);
    await_contended(&play.ex->cpu.lock);
    assert_int_equal(atomic_load(&first_run(&play)->strands), 0);
    open_gate(&play.gates[0]);
    await_contended(&play.owner->door);
    assert_int_equal(atomic_load(&first_run(&play)->cursor), 1);
    assert_false(atomic_load(&raider.ended));
    thrum__lock_give(&play.ex->cpu.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(raider.look, LOOK_SHOWN);
    finish(&play, 2);
    clear_stage(&play);
}

static void *start_in_a_thread(void *arg)
{
    struct held_up *starter = arg;
    starter->handle = thrum_start(starter->play->ex, starter->play->graph);
    return NULL;
}

/* A thief that saw a word of an earlier run with the same number may raise the strands of this one. */
TEST(nobody_joins_a_run_before_its_sources_are_in_the_list)
{
    struct play play;
    struct held_up starter = {.play = &play};
    pthread_t thread;
    found f;
    set_stage(&play, 0);
    for (int i = 0; i < 2; i++)
        assert_non_null(thrum_task_new(play.graph, step, &play));
    thrum__lock_take(&play.ex->cpu.lock);
    assert_int_equal(pthread_create(&thread, NULL, start_in_a_thread, &starter), 0);
    await_contended(&play.ex->cpu.lock);
    assert_false(thrum__run_raise(first_run(&play)));
    thrum__lock_give(&play.ex->cpu.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(thrum__run_join_open(&play.ex->cpu, NULL, &f));
    assert_int_equal(f.kind, FOUND_WHOLE_RUN);
    thrum__perform(play.thief, &f);
    assert_int_equal(thrum_wait(starter.handle), 0);
    assert_int_equal(atomic_load(&play.steps), 2);
    thrum_release(starter.handle);
    clear_stage(&play);
}

TEST(a_run_that_somebody_has_begun_is_nobodys_alone)
{
    struct play play;
    found f;
    set_stage(&play, 0);
    for (int i = 0; i < 3; i++)
        assert_non_null(thrum_task_new(play.graph, step, &play));
    thrum_handle *handle = thrum_start(play.ex, play.graph);
    thrum__run *run = first_run(&play);
    assert_int_equal(atomic_load(&run->strands), 1);
    assert_true(thrum__run_raise(run)); /* somebody comes, takes a source and goes */
    atomic_fetch_add(&run->cursor, 1);
    atomic_fetch_sub(&run->strands, 1);
    assert_true(thrum__run_join_open(&play.ex->cpu, NULL, &f));
    assert_int_equal(f.kind, FOUND_RUN);
    assert_int_equal(atomic_load(&run->strands), 2);
    thrum__perform(play.thief, &f);
    assert_int_equal(thrum_wait(handle), 0);
    assert_int_equal(atomic_load(&play.steps), 2);
    thrum_release(handle);
    clear_stage(&play);
}

/* ---- Spawned tasks ----------------------------------------------------------------------------------------------- */

/* The test's thread is the owner. */
static void open_scope(struct play *play, thrum_scope *scope)
{
    set_stage(play, 0);
    thrum_scope_open_on(scope, play->ex);
    play->owner = (worker *)scope->worker;
}

static int spawns_shown(const struct play *play)
{
    return (int)(atomic_load(&play->owner->spawns_shown) - play->owner->spawns);
}

/* What the first of several children sees when the join calls it. */
struct first_look {
    struct play *play;
    atomic_int calls;
    int shown;
};

static void look_first(thrum_scope *scope, void *arg)
{
    struct first_look *look = arg;
    (void)scope;
    if (atomic_fetch_add(&look->calls, 1) == 0)
        look->shown = spawns_shown(look->play);
}

TEST(children_are_shown_by_half_at_the_join_that_follows_the_asking)
{
    struct play play;
    thrum_scope scope;
    found f;
    struct first_look look = {.play = &play};
    open_scope(&play, &scope);
    for (int i = 0; i < 11; i++)
        thrum_spawn(&scope, look_first, &look);
    assert_int_equal(spawns_shown(&play), 0);
    assert_false(thrum__spawn_steal(play.thief, play.owner, NULL, &f));
    ask(&play);
    assert_true(play.owner->spawn.bar > play.owner->spawn.top);
    assert_int_equal(spawns_shown(&play), 0);
    assert_int_equal(thrum_join(&scope), 0);
    assert_int_equal(look.calls, 11);
    assert_int_equal(look.shown, 5);
    assert_ptr_equal(play.owner->spawn.bar, play.owner->spawns);
    clear_stage(&play);
}

/* Counts up what its argument, a copy of a pointer, points to. */
static void count_up_copied(thrum_scope *scope, void *arg)
{
    count_up_in_scope(scope, *(atomic_int **)arg);
}

TEST(children_spawned_after_a_raid_are_shown_at_once)
{
    struct play play;
    thrum_scope scope;
    found f;
    atomic_int runs = 0, *to = &runs;
    open_scope(&play, &scope);
    for (int i = 0; i < 3; i++)
        thrum_spawn(&scope, count_up_in_scope, &runs);
    assert_int_equal(ask_and_raid(&play), LOOK_SHOWN);
    assert_int_equal(spawns_shown(&play), 3);
    assert_true(is_open(&play));
    play.owner->slow_since = 0;
    thrum_spawn(&scope, count_up_in_scope, &runs);
    assert_int_equal(spawns_shown(&play), 4);
    thrum_spawn_copy(&scope, count_up_copied, &to, sizeof to);
    assert_int_equal(spawns_shown(&play), 5);
    for (int i = 0; i < 4; i++) {
        assert_true(thrum__spawn_steal(play.thief, play.owner, NULL, &f));
        thrum__spawn_run(play.thief, &f);
    }
    assert_int_equal(runs, 4);
    assert_true(thrum__spawn_visible(play.owner));
    assert_int_equal(thrum_join(&scope), 0);
    assert_int_equal(runs, 5);
    assert_int_equal(spawns_shown(&play), 0);
    clear_stage(&play);
}

TEST(a_worker_that_spawns_quickly_is_closed_again)
{
    struct play play;
    thrum_scope scope;
    atomic_int runs = 0;
    open_scope(&play, &scope);
    thrum_spawn(&scope, count_up_in_scope, &runs);
    assert_int_equal(ask_and_raid(&play), LOOK_SHOWN);
    play.owner->slow_since = INT64_MAX / 2;
    for (int i = 0; i < 100; i++)
        thrum_spawn(&scope, count_up_in_scope, &runs);
    assert_false(is_open(&play));
    assert_true(thrum__spawn_has_hidden(play.owner));
    assert_int_equal(thrum_join(&scope), 0);
    assert_int_equal(runs, 101);
    clear_stage(&play);
}

TEST(children_with_copied_arguments_can_be_shown_and_taken_back)
{
    struct play play;
    thrum_scope scope;
    atomic_int runs = 0, *to = &runs;
    open_scope(&play, &scope);
    for (int i = 0; i < 8; i++)
        thrum_spawn_copy(&scope, count_up_copied, &to, sizeof to);
    ask(&play);
    assert_int_equal(thrum_join(&scope), 0);
    assert_int_equal(runs, 8);
    clear_stage(&play);
}

/* ---- Without threads --------------------------------------------------------------------------------------------- */

struct meeting {
    thrum_executor *ex;
    thrum_handle *handle;
    atomic_bool begun;
};

static void begin_meeting(thrum_scope *scope, void *arg)
{
    struct meeting *meeting = arg;
    (void)scope;
    atomic_store(&meeting->begun, true);
}

/* Waits in the middle of a function for a child that somebody else must begin. */
static void wait_for_child(thrum_scope *scope, void *arg)
{
    struct meeting *meeting = arg;
    thrum_spawn(scope, begin_meeting, meeting);
    while (!atomic_load(&meeting->begun))
        sched_yield();
}

static void *run_scope_in_a_thread(void *arg)
{
    struct meeting *meeting = arg;
    thrum_scope_run(meeting->ex, wait_for_child, meeting);
    return NULL;
}

static void *wait_in_a_thread(void *arg)
{
    struct meeting *meeting = arg;
    thrum_wait(meeting->handle);
    return NULL;
}

/* Where nobody searches, those who wait ask and raid, whatever they wait for. */
TEST(without_threads_a_waiter_gets_at_what_another_one_keeps)
{
    struct meeting meeting = {.ex = executor_threadless()};
    struct gate gate = {0};
    pthread_t busy, waiting, spawning;
    meeting.handle = thrum_submit(meeting.ex, stay_at_gate, &gate);
    assert_int_equal(pthread_create(&busy, NULL, wait_in_a_thread, &meeting), 0);
    await_entered(&gate);
    assert_int_equal(pthread_create(&waiting, NULL, wait_in_a_thread, &meeting), 0);
    assert_int_equal(pthread_create(&spawning, NULL, run_scope_in_a_thread, &meeting), 0);
    assert_int_equal(pthread_join(spawning, NULL), 0);
    open_gate(&gate);
    assert_int_equal(pthread_join(waiting, NULL), 0);
    assert_int_equal(pthread_join(busy, NULL), 0);
    thrum_release(meeting.handle);
    assert_int_equal(thrum_executor_free(meeting.ex), 0);
}

/* ---- Without membarrier ------------------------------------------------------------------------------------------ */

enum { RANDOM_GRAPHS = 30, RANDOM_TASKS = 200 };

struct counted {
    atomic_int arrived; /* how many tasks before it have run */
    int expected, after[6];
    struct counted *all;
    atomic_int *wrong;
};

static void check_and_tell(void *arg)
{
    struct counted *task = arg;
    if (atomic_exchange_explicit(&task->arrived, 0, memory_order_relaxed) != task->expected)
        atomic_fetch_add(task->wrong, 1);
    for (int i = 0; i < 6; i++)
        if (task->after[i])
            atomic_fetch_add_explicit(&task->all[task->after[i]].arrived, 1, memory_order_relaxed);
}

static void run_random_graph(thrum_executor *ex, struct random *random)
{
    static struct counted counted[RANDOM_TASKS];
    thrum_task *tasks[RANDOM_TASKS];
    atomic_int wrong = 0;
    memset(counted, 0, sizeof counted);
    thrum_graph *graph = thrum_graph_new("random");
    for (int i = 0; i < RANDOM_TASKS; i++) {
        counted[i].all = counted;
        counted[i].wrong = &wrong;
        tasks[i] = thrum_task_new(graph, check_and_tell, &counted[i]);
    }
    for (int i = 0; i + 1 < RANDOM_TASKS; i++) {
        for (size_t edge = random_below(random, 7); edge > 0; edge--) {
            size_t to = random_between(random, (size_t)i + 1, RANDOM_TASKS - 1);
            counted[i].after[edge - 1] = (int)to;
            counted[to].expected++;
            assert_int_equal(thrum_edge(tasks[i], tasks[to]), 0);
        }
    }
    assert_int_equal(thrum_run_n(ex, graph, 20), 0);
    assert_int_equal(wrong, 0);
    assert_int_equal(thrum_graph_free(graph), 0);
}

struct fib {
    int n;
    long value;
};

static void fib(thrum_scope *scope, void *arg)
{
    struct fib *f = arg;
    f->value = f->n;
    if (f->n < 2)
        return;
    struct fib left = {.n = f->n - 1}, right = {.n = f->n - 2};
    thrum_scope inner;
    thrum_scope_open(&inner, scope);
    thrum_spawn(&inner, fib, &left);
    thrum_spawn(&inner, fib, &right);
    thrum_join(&inner);
    f->value = left.value + right.value;
}

static void run_random_graphs_and_fib(int workers)
{
    struct random random = random_new(7);
    struct fib f = {.n = 20};
    thrum_executor *ex = executor_with(workers);
    for (int i = 0; i < RANDOM_GRAPHS; i++)
        run_random_graph(ex, &random);
    assert_int_equal(thrum_scope_run(ex, fib, &f), 0);
    assert_int_equal(f.value, 6765);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(without_membarrier_all_is_open_and_right)
{
    thrum__barrier_init();
    bool had = thrum__has_membarrier;
    thrum__has_membarrier = false;
    for (int workers = 1; workers <= 4; workers++)
        run_random_graphs_and_fib(workers);
    struct play play;
    set_stage(&play, 2);
    build_fan(play.graph, &play, 8);
    start_owner(&play);
    go_on_to(&play, 1);
    assert_true(is_open(&play));
    assert_false(is_alone(first_run(&play)));
    assert_int_equal(words_shown(&play), 7);
    assert_int_equal(words_hidden(&play), 0);
    play.owner->slow_since = INT64_MAX / 2;
    finish(&play, 9);
    assert_true(is_open(&play)); /* for ever */
    clear_stage(&play);
    thrum__has_membarrier = had;
}

TEST(with_membarrier_random_graphs_and_fib_are_right)
{
    for (int workers = 1; workers <= 4; workers++)
        run_random_graphs_and_fib(workers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_worker_has_is_its_own_while_nobody_asks),
        cmocka_unit_test(a_thief_looks_at_a_run_for_a_while_before_it_asks_and_asks_before_it_raids),
        cmocka_unit_test(in_a_crowd_a_run_of_small_tasks_is_left_alone_for_longer),
        cmocka_unit_test(an_owner_of_tiny_tasks_may_stand_still_for_a_moment_unless_there_are_many),
        cmocka_unit_test(an_owner_of_tiny_tasks_that_seems_slow_is_left_alone_for_a_while),
        cmocka_unit_test(a_run_raises_what_is_known_of_its_pace_to_twice_as_much_at_most),
        cmocka_unit_test(a_shared_run_says_only_between_what_bounds_its_pace_is),
        cmocka_unit_test(a_worker_knows_whether_it_is_on_the_core_where_another_began_a_run_that_it_has_alone),
        cmocka_unit_test(an_owner_that_is_asked_shows_half_at_its_next_pop_and_shares_its_run),
        cmocka_unit_test(a_shared_run_is_alone_again_only_when_nobody_else_is_in_it_and_nothing_is_shown),
        cmocka_unit_test(a_raid_shows_everything_and_what_comes_after_is_shown_at_once),
        cmocka_unit_test(an_open_worker_shows_what_it_pushes_until_its_steps_are_quick),
        cmocka_unit_test(a_raid_gives_up_while_the_owner_is_inside_and_the_bar_stays_up),
        cmocka_unit_test(a_worker_that_hides_nothing_but_sources_is_raided_for_them),
        cmocka_unit_test(a_run_with_one_source_hides_nothing_before_something_is_pushed),
        cmocka_unit_test(each_iteration_begins_alone_again),
        cmocka_unit_test(a_raid_shares_the_outer_runs_too),
        cmocka_unit_test(an_owner_that_serves_shares_the_outer_runs_too),
        cmocka_unit_test(nested_runs_that_nobody_asks_for_end_alone_one_after_the_other),
        cmocka_unit_test(an_owner_that_steps_aside_shows_all_it_has),
        cmocka_unit_test(tasks_that_find_no_room_in_the_deque_run_at_once_alone_or_not),
        cmocka_unit_test(an_owner_that_comes_back_in_the_middle_of_a_raid_waits_for_its_end),
        cmocka_unit_test(nobody_joins_a_run_before_its_sources_are_in_the_list),
        cmocka_unit_test(a_run_that_somebody_has_begun_is_nobodys_alone),
        cmocka_unit_test(children_are_shown_by_half_at_the_join_that_follows_the_asking),
        cmocka_unit_test(children_spawned_after_a_raid_are_shown_at_once),
        cmocka_unit_test(a_worker_that_spawns_quickly_is_closed_again),
        cmocka_unit_test(children_with_copied_arguments_can_be_shown_and_taken_back),
        cmocka_unit_test(without_threads_a_waiter_gets_at_what_another_one_keeps),
        cmocka_unit_test(without_membarrier_all_is_open_and_right),
        cmocka_unit_test(with_membarrier_random_graphs_and_fib_are_right),
    };
    return RUN_TESTS(tests, 60);
}
