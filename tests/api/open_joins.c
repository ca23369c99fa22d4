/* SPDX-License-Identifier: MIT
 *
 * Strict and open joins and waits: which work they take on while they wait, how much of it, and what comes of that.
 *
 * Most executors here have no stand-ins, so that nobody but the one who waits can do the other work.
 */
#include "tasks.h"

static void no_stand_ins(void)
{
    assert_int_equal(setenv("THRUM_SPARES", "0", 1), 0);
}

static void await(atomic_bool *flag)
{
    while (!atomic_load(flag))
        sched_yield();
}

/* ---- Which work -------------------------------------------------------------------------------------------------- */

/* A parent whose child is stolen, and a stranger that comes when the parent is about to join. */
struct meeting {
    thrum_executor *ex;
    bool open, stranger_came_in_join;
    atomic_bool child_began, stranger_came;
    int joiner, stranger;
};

static void come(void *arg)
{
    struct meeting *meeting = arg;
    meeting->stranger = thrum_worker_index();
    atomic_store(&meeting->stranger_came, true);
}

static void keep_parent_waiting(thrum_scope *scope, void *arg)
{
    (void)scope;
    struct meeting *meeting = arg;
    atomic_store(&meeting->child_began, true);
    if (meeting->open)
        await(&meeting->stranger_came);
    else
        pause_ms(50);
    meeting->stranger_came_in_join = meeting->stranger_came;
}

static void meet(thrum_scope *up, void *arg)
{
    struct meeting *meeting = arg;
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    thrum_spawn(&scope, keep_parent_waiting, meeting);
    await(&meeting->child_began);
    meeting->joiner = thrum_worker_index();
    thrum_async(meeting->ex, come, meeting);
    if (meeting->open)
        thrum_join_open(&scope);
    else
        thrum_join(&scope);
}

static struct meeting meeting_of(bool open)
{
    struct meeting meeting = {.ex = executor_blocking(2), .open = open};
    assert_int_equal(thrum_scope_run(meeting.ex, meet, &meeting), 0);
    assert_int_equal(thrum_executor_free(meeting.ex), 0);
    assert_true(meeting.stranger_came);
    return meeting;
}

TEST(a_strict_join_leaves_strangers_alone)
{
    struct meeting meeting = meeting_of(false);
    assert_false(meeting.stranger_came_in_join);
}

TEST(an_open_join_runs_a_stranger_in_its_own_worker)
{
    struct meeting meeting = meeting_of(true);
    assert_true(meeting.stranger_came_in_join);
    assert_int_equal(meeting.stranger, meeting.joiner);
}

/* Waits for something at a gate of another executor, which only other work on this one opens. */
struct visit {
    thrum_executor *ex, *elsewhere;
    struct gate gate;
    thrum_handle *late;
    atomic_int visitors;
    int err, inner_err;
    thrum_graph *graph;
    thrum_handle *run;
};

static void visit_begin(struct visit *visit, int workers)
{
    memset(visit, 0, sizeof *visit);
    visit->ex = executor_blocking(workers);
    visit->elsewhere = executor_blocking(1);
    visit->late = thrum_submit(visit->elsewhere, stay_at_gate, &visit->gate);
    await_entered(&visit->gate);
}

static void visit_end(struct visit *visit)
{
    thrum_release(visit->late);
    assert_int_equal(thrum_executor_free(visit->ex), 0);
    assert_int_equal(thrum_executor_free(visit->elsewhere), 0);
}

static void open_the_gate(void *arg)
{
    open_gate(&((struct visit *)arg)->gate);
}

static void wait_for_the_late_one(void *arg)
{
    struct visit *visit = arg;
    thrum_async(visit->ex, open_the_gate, visit);
    visit->err = thrum_wait_open(visit->late);
}

TEST(an_open_wait_for_another_executor_does_the_work_at_home)
{
    struct visit visit;
    visit_begin(&visit, 1);
    thrum_handle *handle = thrum_submit(visit.ex, wait_for_the_late_one, &visit);
    assert_int_equal(thrum_wait(handle), 0);
    assert_int_equal(visit.err, 0);
    thrum_release(handle);
    visit_end(&visit);
}

/* The first of two tasks waits for the second. */
static void wait_or_open(void *arg)
{
    struct visit *visit = arg;
    if (atomic_fetch_add(&visit->visitors, 1) == 0)
        visit->err = thrum_wait_open(visit->late);
    else
        open_gate(&visit->gate);
}

TEST(an_open_wait_does_other_tasks_of_the_same_run)
{
    struct visit visit;
    visit_begin(&visit, 1);
    thrum_graph *graph = thrum_graph_new("pair");
    thrum_task *first = thrum_task_new(graph, do_nothing, NULL);
    for (int i = 0; i < 2; i++)
        thrum_precede(first, thrum_task_new(graph, wait_or_open, &visit));
    assert_int_equal(thrum_run(visit.ex, graph), 0);
    assert_int_equal(visit.err, 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    visit_end(&visit);
}

static void open_in_scope(thrum_scope *scope, void *arg)
{
    (void)scope;
    open_the_gate(arg);
}

static void wait_with_a_child(thrum_scope *scope, void *arg)
{
    struct visit *visit = arg;
    thrum_spawn(scope, open_in_scope, visit);
    visit->err = thrum_wait_open(visit->late);
}

TEST(an_open_wait_does_children_of_the_waiting_task)
{
    struct visit visit;
    visit_begin(&visit, 1);
    visit.err = -1;
    assert_int_equal(thrum_scope_run(visit.ex, wait_with_a_child, &visit), 0);
    assert_int_equal(visit.err, 0);
    visit_end(&visit);
}

struct neighbour {
    thrum_executor *ex;
    struct gate gate;
    thrum_handle *handle;
    int err;
};

static void open_neighbours_gate(void *arg)
{
    open_gate(&((struct neighbour *)arg)->gate);
}

static void wait_for_neighbour(void *arg)
{
    struct neighbour *neighbour = arg;
    thrum_async(neighbour->ex, open_neighbours_gate, neighbour);
    neighbour->err = thrum_wait_open(neighbour->handle);
}

TEST(an_open_wait_for_the_same_executor_does_other_functions)
{
    struct neighbour neighbour = {.ex = executor_blocking(2)};
    neighbour.handle = thrum_submit(neighbour.ex, stay_at_gate, &neighbour.gate);
    await_entered(&neighbour.gate);
    thrum_handle *handle = thrum_submit(neighbour.ex, wait_for_neighbour, &neighbour);
    assert_int_equal(thrum_wait(handle), 0);
    assert_int_equal(neighbour.err, 0);
    thrum_release(handle);
    thrum_release(neighbour.handle);
    assert_int_equal(thrum_executor_free(neighbour.ex), 0);
}

TEST(an_open_wait_outside_tasks_returns_as_any_does)
{
    thrum_executor *kinds[] = {executor_threadless(), executor_with(1), executor_with(2), executor_blocking(1)};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        atomic_int count = 0;
        thrum_handle *handles[20];
        for (size_t j = 0; j < COUNT_OF(handles); j++)
            handles[j] = thrum_submit(kinds[i], count_up, &count);
        for (size_t j = COUNT_OF(handles); j-- > 0;) {
            assert_int_equal(thrum_wait_open(handles[j]), 0);
            thrum_release(handles[j]);
        }
        assert_int_equal(count, 20);
        assert_int_equal(thrum_executor_free(kinds[i]), 0);
    }
}

/* ---- The same results -------------------------------------------------------------------------------------------- */

struct fib {
    int n, value;
};

static void fib(thrum_scope *up, void *arg)
{
    struct fib *f = arg;
    if (f->n < 2) {
        f->value = f->n;
        return;
    }
    struct fib x = {f->n - 1, 0}, y = {f->n - 2, 0};
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    thrum_spawn(&scope, fib, &x);
    thrum_spawn(&scope, fib, &y);
    thrum_join_open(&scope);
    f->value = x.value + y.value;
}

TEST(fib_is_right_with_open_joins)
{
    thrum_executor *kinds[] = {executor_threadless(), executor_with(1), executor_with(2), executor_with(8),
                               executor_blocking(2)};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        for (int round = 0; round < 5; round++) {
            struct fib f = {16, 0};
            thrum_scope scope;
            assert_int_equal(thrum_scope_run(kinds[i], fib, &f), 0);
            assert_int_equal(f.value, 987);
            thrum_scope_open_on(&scope, kinds[i]);
            thrum_spawn(&scope, fib, &f);
            assert_int_equal(thrum_join_open(&scope), 0);
            assert_int_equal(f.value, 987);
        }
        assert_int_equal(thrum_executor_free(kinds[i]), 0);
    }
}

struct parts {
    atomic_int tasks, detached;
};

static void count_part(void *arg)
{
    count_up(&((struct parts *)arg)->tasks);
}

static void count_detached(thrum_scope *scope, void *arg)
{
    (void)scope;
    count_up(&(*(struct parts **)arg)->detached);
}

static void all_kinds_of_parts(thrum_scope *up, void *arg)
{
    struct parts *parts = arg;
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    thrum_graph *graph = thrum_scope_graph(&scope, "parts");
    for (int i = 0; i < 50; i++)
        thrum_precede(thrum_task_new(graph, count_part, parts), thrum_task_new(graph, count_part, parts));
    for (int i = 0; i < 50; i++)
        thrum_spawn(&scope, count_up_in_scope, &parts->tasks);
    thrum_scope_detach(&scope);
    thrum_spawn_copy(&scope, count_detached, &parts, sizeof parts);
    thrum_join_open(&scope);
}

TEST(an_open_join_runs_graphs_and_leaves_detached_functions)
{
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        struct parts parts = {0, 0};
        assert_int_equal(thrum_scope_run(ex, all_kinds_of_parts, &parts), 0);
        assert_int_equal(parts.tasks, 150);
        assert_int_equal(parts.detached, 1);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* ---- How much ---------------------------------------------------------------------------------------------------- */

struct pile {
    struct visit visit;
    atomic_bool all_there;
    atomic_int height, highest;
    size_t frame;
};

static void lie_on_top(void *arg)
{
    struct pile *pile = arg;
    volatile char frame[pile->frame];
    frame[0] = 0;
    await(&pile->all_there);
    int height = atomic_fetch_add(&pile->height, 1) + 1;
    if (height > pile->highest)
        pile->highest = height;
    thrum_wait_open(pile->visit.late);
    frame[pile->frame - 1] = frame[0];
    atomic_fetch_sub(&pile->height, 1);
}

/* How high 100 functions come to lie on top of each other in one worker. */
static int height_of_pile(size_t frame)
{
    struct pile pile = {.frame = frame};
    visit_begin(&pile.visit, 1);
    for (int i = 0; i < 100; i++)
        assert_int_equal(thrum_async(pile.visit.ex, lie_on_top, &pile), 0);
    atomic_store(&pile.all_there, true);
    for (int seen = 0; seen == 0 || seen != pile.highest;) {
        seen = pile.highest;
        pause_ms(30);
    }
    open_gate(&pile.visit.gate);
    assert_int_equal(thrum_executor_wait(pile.visit.ex), 0);
    visit_end(&pile.visit);
    return pile.highest;
}

TEST(work_on_top_of_work_is_bounded)
{
    assert_int_equal(height_of_pile(16), 33);
}

TEST(work_on_top_of_work_leaves_a_quarter_of_the_stack)
{
    assert_int_equal(setenv("THRUM_STACK_MB", "4", 1), 0);
    int height = height_of_pile(256 << 10);
    unsetenv("THRUM_STACK_MB");
    assert_in_range(height, 6, 13);
}

/* ---- What goes wrong --------------------------------------------------------------------------------------------- */

static void fail_as_stranger(void *arg)
{
    thrum_fail(7, "a stranger's error");
    open_the_gate(arg);
}

static void wait_while_a_stranger_fails(void *arg)
{
    struct visit *visit = arg;
    visit->run = thrum_submit(visit->ex, fail_as_stranger, visit);
    visit->err = thrum_wait_open(visit->late);
}

TEST(a_strangers_error_is_not_the_waiters)
{
    struct visit visit;
    visit_begin(&visit, 1);
    thrum_handle *handle = thrum_submit(visit.ex, wait_while_a_stranger_fails, &visit);
    assert_int_equal(thrum_wait(handle), 0);
    assert_int_equal(visit.err, 0);
    assert_error(thrum_wait_open(visit.run), 7, "a stranger's error");
    thrum_release(visit.run);
    thrum_release(handle);
    visit_end(&visit);
}

static void fail_in_scope(thrum_scope *scope, void *arg)
{
    (void)scope;
    (void)arg;
    thrum_fail(9, "the child's own");
}

static void join_a_failing_child(thrum_scope *up, void *arg)
{
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    thrum_spawn(&scope, fail_in_scope, NULL);
    *(int *)arg = thrum_join_open(&scope);
}

TEST(an_open_join_returns_the_scopes_error)
{
    int err = 0;
    assert_error(thrum_scope_run(NULL, join_a_failing_child, &err), 9, "the child's own");
    assert_int_equal(err, 9);
}

TEST(an_open_wait_for_nothing_is_refused)
{
    assert_error(thrum_wait_open(NULL), THRUM_EINVAL, "thrum_wait_open: the handle is NULL");
}

/* On top of a task of visit->graph: neither its run nor its graph can be waited for here. */
static void wait_for_what_lies_beneath(void *arg)
{
    struct visit *visit = arg;
    visit->inner_err = thrum_wait(visit->run);
    if (visit->inner_err == THRUM_EDEADLOCK)
        visit->inner_err = thrum_run(visit->ex, visit->graph);
    open_gate(&visit->gate);
}

static void wait_beneath(void *arg)
{
    struct visit *visit = arg;
    while (!atomic_load(&visit->visitors))
        sched_yield();
    thrum_async(visit->ex, wait_for_what_lies_beneath, visit);
    visit->err = thrum_wait_open(visit->late);
}

TEST(work_on_top_of_a_task_cannot_wait_for_the_tasks_run)
{
    struct visit visit;
    visit_begin(&visit, 1);
    visit.graph = thrum_graph_new("beneath");
    thrum_task_new(visit.graph, wait_beneath, &visit);
    visit.run = thrum_start(visit.ex, visit.graph);
    atomic_store(&visit.visitors, 1);
    assert_int_equal(thrum_wait(visit.run), 0);
    assert_int_equal(visit.err, 0);
    assert_int_equal(visit.inner_err, THRUM_EDEADLOCK);
    thrum_release(visit.run);
    assert_int_equal(thrum_graph_free(visit.graph), 0);
    visit_end(&visit);
}

/* ---- Strangers on the thief's stack ------------------------------------------------------------------------------ */

/* A parent joins strictly a child that was stolen. The thief, in an open join of its own whose child somebody else
 * holds, takes on a visitor, and that one spawns: what it has spawned lies on the thief's stack above what descends
 * from the parent. */
struct visited {
    thrum_executor *ex;
    thrum_graph *visit;
    thrum_handle *visiting;
    atomic_bool child_began, grandchild_began, visitor_spawned, end;
    atomic_int runner_of_spawned;
    int parent;
};

static void hold(thrum_scope *scope, void *arg)
{
    (void)scope;
    struct visited *v = arg;
    atomic_store(&v->grandchild_began, true);
    await(&v->end);
}

static void be_run_by_somebody(thrum_scope *scope, void *arg)
{
    (void)scope;
    struct visited *v = arg;
    atomic_store(&v->runner_of_spawned, thrum_worker_index());
}

static void visit_thief(thrum_scope *up, void *arg)
{
    struct visited *v = arg;
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    thrum_spawn(&scope, be_run_by_somebody, v);
    atomic_store(&v->visitor_spawned, true);
    pause_ms(30); /* long enough for whoever wants to take it */
    thrum_join(&scope);
    atomic_store(&v->end, true);
}

static void be_stolen(thrum_scope *up, void *arg)
{
    struct visited *v = arg;
    atomic_store(&v->child_began, true);
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    thrum_spawn(&scope, hold, v);
    await(&v->grandchild_began);
    v->visiting = thrum_start(v->ex, v->visit);
    thrum_join_open(&scope);
}

static void join_strictly(thrum_scope *up, void *arg)
{
    struct visited *v = arg;
    v->parent = thrum_worker_index();
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    thrum_spawn(&scope, be_stolen, v);
    await(&v->child_began);
    await(&v->visitor_spawned);
    thrum_join(&scope);
}

static void be_visited(void)
{
    struct visited v = {.ex = executor_with(3), .visit = thrum_graph_new("visit"), .runner_of_spawned = -1};
    thrum_scope_task_new(v.visit, visit_thief, &v);
    thrum_graph *graph = thrum_graph_new("family");
    thrum_scope_task_new(graph, join_strictly, &v);
    thrum_handle *run = thrum_start(v.ex, graph);
    while (!atomic_load(&v.end)) /* without helping */
        pause_ms(1);
    assert_int_equal(thrum_wait(run), 0);
    assert_int_equal(thrum_wait(v.visiting), 0);
    assert_int_not_equal(atomic_load(&v.runner_of_spawned), -1);
    assert_int_not_equal(atomic_load(&v.runner_of_spawned), v.parent);
    thrum_release(run);
    thrum_release(v.visiting);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_graph_free(v.visit), 0);
    assert_int_equal(thrum_executor_free(v.ex), 0);
}

TEST(a_strict_join_leaves_alone_what_its_childs_thief_took_on_in_an_open_one)
{
    for (int i = 0; i < 5; i++)
        be_visited();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strict_join_leaves_strangers_alone),
        cmocka_unit_test(an_open_join_runs_a_stranger_in_its_own_worker),
        cmocka_unit_test(a_strict_join_leaves_alone_what_its_childs_thief_took_on_in_an_open_one),
        cmocka_unit_test(an_open_wait_for_another_executor_does_the_work_at_home),
        cmocka_unit_test(an_open_wait_does_other_tasks_of_the_same_run),
        cmocka_unit_test(an_open_wait_does_children_of_the_waiting_task),
        cmocka_unit_test(an_open_wait_for_the_same_executor_does_other_functions),
        cmocka_unit_test(an_open_wait_outside_tasks_returns_as_any_does),
        cmocka_unit_test(fib_is_right_with_open_joins),
        cmocka_unit_test(an_open_join_runs_graphs_and_leaves_detached_functions),
        cmocka_unit_test(work_on_top_of_work_is_bounded),
        cmocka_unit_test(work_on_top_of_work_leaves_a_quarter_of_the_stack),
        cmocka_unit_test(a_strangers_error_is_not_the_waiters),
        cmocka_unit_test(an_open_join_returns_the_scopes_error),
        cmocka_unit_test(an_open_wait_for_nothing_is_refused),
        cmocka_unit_test(work_on_top_of_a_task_cannot_wait_for_the_tasks_run),
    };
    no_stand_ins();
    return RUN_TESTS(tests, 30);
}
