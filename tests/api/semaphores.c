/* SPDX-License-Identifier: MIT
 *
 * Semaphores: who is kept apart from whom, and that all tokens come back.
 */
#include "tasks.h"

/* How many are inside at the same time. */
struct room {
    atomic_int now, most, visits;
};

static void enter(struct room *room)
{
    int now = atomic_fetch_add(&room->now, 1) + 1, most = atomic_load(&room->most);
    while (now > most && !atomic_compare_exchange_weak(&room->most, &most, now))
        ;
    atomic_fetch_add(&room->visits, 1);
}

static void leave(struct room *room)
{
    atomic_fetch_sub(&room->now, 1);
}

static void visit(void *arg)
{
    struct room *room = arg;
    enter(room);
    for (int i = 0; i < 50; i++)
        sched_yield();
    leave(room);
}

static void visit_shortly(void *arg)
{
    enter(arg);
    leave(arg);
}

static void enter_task(void *arg)
{
    enter(arg);
}

static void leave_task(void *arg)
{
    leave(arg);
}

static thrum_semaphore *semaphore_with(uint64_t tokens)
{
    thrum_semaphore *s = thrum_semaphore_new("s", tokens);
    assert_non_null(s);
    return s;
}

static void use(thrum_task *task, thrum_semaphore *s)
{
    assert_int_equal(thrum_task_acquire(task, s), 0);
    assert_int_equal(thrum_task_release(task, s), 0);
}

/* All tokens are back, and it can be freed. */
static void check_and_free(thrum_semaphore *s, uint64_t tokens)
{
    assert_int_equal(thrum_semaphore_tokens(s), tokens);
    assert_int_equal(thrum_semaphore_free(s), 0);
}

static thrum_executor *executor_of(int workers)
{
    return workers == 0 ? executor_threadless() : executor_with(workers);
}

/* ---- Keeping apart ----------------------------------------------------------------------------------------------- */

TEST(never_more_tasks_than_tokens_are_inside)
{
    for (int workers = 0; workers <= 4; workers++)
        for (uint64_t tokens = 1; tokens <= 3; tokens++)
            for (int edges = 0; edges < 2; edges++) {
                thrum_executor *ex = executor_of(workers);
                thrum_graph *graph = thrum_graph_new("room");
                thrum_semaphore *s = semaphore_with(tokens);
                struct room room = {0};
                thrum_task *first = edges ? thrum_placeholder_new(graph) : NULL;
                for (int i = 0; i < 60; i++) {
                    thrum_task *task = thrum_task_new(graph, i % 3 ? visit_shortly : visit, &room);
                    use(task, s);
                    if (first)
                        thrum_precede(first, task);
                }
                assert_int_equal(thrum_run_n(ex, graph, 4), 0);
                assert_int_equal(atomic_load(&room.visits), 240);
                assert_true(atomic_load(&room.most) <= (int)tokens);
                assert_int_equal(thrum_graph_free(graph), 0);
                check_and_free(s, tokens);
                assert_int_equal(thrum_executor_free(ex), 0);
            }
}

/* A plain number, which only the semaphore protects: ThreadSanitizer sees whether giving back happens before taking. */
TEST(what_one_holder_wrote_the_next_one_sees)
{
    for (int workers = 1; workers <= 4; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("counter");
        thrum_semaphore *s = semaphore_with(1);
        int count = 0;
        for (int i = 0; i < 500; i++)
            use(thrum_task_new(graph, plain_count_up, &count), s);
        assert_int_equal(thrum_run_n(ex, graph, 4), 0);
        assert_int_equal(count, 2000);
        assert_int_equal(thrum_graph_free(graph), 0);
        check_and_free(s, 1);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_task_may_need_several_tokens_of_one_semaphore)
{
    thrum_executor *ex = executor_with(3);
    thrum_graph *graph = thrum_graph_new("several");
    thrum_semaphore *s = semaphore_with(3);
    struct room small = {0}, big = {0};
    for (int i = 0; i < 90; i++) {
        thrum_task *task = thrum_task_new(graph, visit_shortly, i % 3 ? &small : &big);
        for (int k = 0; k < (i % 3 ? 1 : 2); k++)
            use(task, s);
    }
    assert_int_equal(thrum_run_n(ex, graph, 10), 0);
    assert_int_equal(atomic_load(&big.most), 1);
    assert_int_equal(atomic_load(&big.visits), 300);
    assert_int_equal(atomic_load(&small.visits), 600);
    assert_int_equal(thrum_graph_free(graph), 0);
    check_and_free(s, 3);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* Philosophers: each needs two forks, and half of them name them in the opposite order. */
TEST(opposite_orders_do_not_block_each_other)
{
    enum { PHILOSOPHERS = 5, MEALS = 40 };
    for (int workers = 0; workers <= 4; workers++) {
        thrum_executor *ex = executor_of(workers);
        thrum_graph *graph = thrum_graph_new("philosophers");
        thrum_semaphore *forks[PHILOSOPHERS];
        struct room rooms[PHILOSOPHERS] = {0};
        for (int i = 0; i < PHILOSOPHERS; i++)
            forks[i] = semaphore_with(1);
        for (int meal = 0; meal < MEALS; meal++)
            for (int i = 0; i < PHILOSOPHERS; i++) {
                thrum_task *task = thrum_task_new(graph, visit_shortly, &rooms[i]);
                int left = i, right = (i + 1) % PHILOSOPHERS, turned = (i + meal) % 2;
                use(task, forks[turned ? right : left]);
                use(task, forks[turned ? left : right]);
            }
        assert_int_equal(thrum_run_n(ex, graph, 5), 0);
        for (int i = 0; i < PHILOSOPHERS; i++) {
            assert_int_equal(atomic_load(&rooms[i].visits), 5 * MEALS);
            assert_int_equal(atomic_load(&rooms[i].most), 1);
        }
        assert_int_equal(thrum_graph_free(graph), 0);
        for (int i = 0; i < PHILOSOPHERS; i++)
            check_and_free(forks[i], 1);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_thousand_semaphores)
{
    enum { SEMAPHORES = 1024, TASKS = 4096 };
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("many");
    static thrum_semaphore *all[SEMAPHORES];
    static int counts[SEMAPHORES];
    for (int i = 0; i < SEMAPHORES; i++) {
        all[i] = semaphore_with(1);
        counts[i] = 0;
    }
    thrum_task *before = NULL;
    for (int i = 0; i < TASKS; i++) {
        thrum_task *task = thrum_task_new(graph, plain_count_up, &counts[i % SEMAPHORES]);
        use(task, all[i % SEMAPHORES]);
        use(task, all[(i * 7 + 1) % SEMAPHORES]);
        if (i % 5 == 0 && before)
            thrum_precede(before, task);
        before = task;
    }
    thrum_task *greedy = thrum_placeholder_new(graph);
    for (int i = 0; i < SEMAPHORES; i++)
        use(greedy, all[i]);
    assert_int_equal(thrum_run_n(ex, graph, 5), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    for (int i = 0; i < SEMAPHORES; i++) {
        assert_int_equal(counts[i], 5 * TASKS / SEMAPHORES);
        check_and_free(all[i], 1);
    }
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* ---- Waiting ----------------------------------------------------------------------------------------------------- */

/* While one task holds the token, all others wait, and the only worker still does other things. */
TEST(who_waits_holds_no_worker)
{
    for (int callers = THRUM_CALLERS_HELP; callers <= THRUM_CALLERS_BLOCK; callers++) {
        thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2, .callers = (enum thrum_callers)callers});
        thrum_graph *graph = thrum_graph_new("waiting"), *other = thrum_graph_new("other");
        thrum_semaphore *s = semaphore_with(1);
        struct gate gate = {0};
        atomic_int count = 0, others = 0;
        thrum_task *holder = thrum_task_new(graph, stay_at_gate, &gate);
        use(holder, s);
        thrum_handle *holding = thrum_start(ex, graph);
        await_entered(&gate);
        thrum_graph *waiting = thrum_graph_new("waiting");
        for (int i = 0; i < 100; i++)
            use(thrum_task_new(waiting, count_up, &count), s);
        thrum_handle *waits = thrum_start(ex, waiting);
        for (int i = 0; i < 100; i++)
            thrum_task_new(other, count_up, &others);
        assert_int_equal(thrum_run(ex, other), 0);
        assert_int_equal(atomic_load(&others), 100);
        assert_int_equal(atomic_load(&count), 0);
        assert_false(thrum_done(waits));
        open_gate(&gate);
        assert_int_equal(thrum_wait(holding), 0);
        assert_int_equal(thrum_wait(waits), 0);
        assert_int_equal(atomic_load(&count), 100);
        thrum_release(holding);
        thrum_release(waits);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_graph_free(other), 0);
        assert_int_equal(thrum_graph_free(waiting), 0);
        check_and_free(s, 1);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* Tasks that write down when they ran. */
struct order {
    atomic_int next;
    int at[100];
    struct order_entry {
        struct order *order;
        int number;
    } entries[100];
};

static void note_order(void *arg)
{
    struct order_entry *entry = arg;
    entry->order->at[entry->number] = atomic_fetch_add(&entry->order->next, 1);
}

static void keep_event(thrum_event event, void *arg)
{
    *(thrum_event *)arg = event;
}

/* An event task holds the token, so the only worker is free; it takes up one run after the other. */
TEST(who_waits_is_served_by_urgency_and_then_in_turn)
{
    enum { WAITING = 60 };
    static const int rank[] = {1, 0, 2};
    thrum_executor *ex = executor_blocking(1);
    thrum_semaphore *s = semaphore_with(1);
    thrum_event event;
    struct order order = {0};
    thrum_graph *holder = thrum_graph_new("holder"), *idle = thrum_graph_new("idle"), *graphs[WAITING];
    thrum_handle *holding, *handles[WAITING];
    use(thrum_event_task_new(holder, keep_event, &event), s);
    thrum_placeholder_new(idle);
    holding = thrum_start(ex, holder);
    for (int i = 0; i < WAITING; i++) {
        order.entries[i] = (struct order_entry){&order, i};
        graphs[i] = thrum_graph_new("one");
        thrum_task *task = thrum_task_new(graphs[i], note_order, &order.entries[i]);
        use(task, s);
        if (i % 3)
            thrum_task_set_priority(task, i % 3 == 1 ? THRUM_HIGH : THRUM_LOW);
        assert_int_equal(thrum_run(ex, idle), 0); /* the holder has its token, and those before wait */
        handles[i] = thrum_start(ex, graphs[i]);
    }
    assert_int_equal(thrum_run(ex, idle), 0);
    assert_int_equal(thrum_event_release(event), 0);
    for (int i = 0; i < WAITING; i++) {
        assert_int_equal(thrum_wait(handles[i]), 0);
        thrum_release(handles[i]);
        assert_int_equal(thrum_graph_free(graphs[i]), 0);
    }
    for (int i = 0; i < WAITING; i++)
        for (int j = 0; j < WAITING; j++)
            if (rank[i % 3] < rank[j % 3] || (i % 3 == j % 3 && i < j))
                assert_true(order.at[i] < order.at[j]);
    assert_int_equal(thrum_wait(holding), 0);
    thrum_release(holding);
    assert_int_equal(thrum_graph_free(holder), 0);
    assert_int_equal(thrum_graph_free(idle), 0);
    check_and_free(s, 1);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* One token of two is free, but it is kept for the first in line, which needs both. */
TEST(who_needs_few_tokens_does_not_overtake_who_needs_many)
{
    thrum_executor *ex = executor_blocking(1);
    thrum_semaphore *s = semaphore_with(2);
    thrum_event event;
    struct order order = {0};
    thrum_graph *holder = thrum_graph_new("holder"), *idle = thrum_graph_new("idle"), *graphs[2];
    thrum_handle *handles[3];
    use(thrum_event_task_new(holder, keep_event, &event), s);
    thrum_placeholder_new(idle);
    handles[2] = thrum_start(ex, holder);
    for (int i = 0; i < 2; i++) {
        order.entries[i] = (struct order_entry){&order, i};
        graphs[i] = thrum_graph_new("one");
        thrum_task *task = thrum_task_new(graphs[i], note_order, &order.entries[i]);
        use(task, s);
        if (i == 0)
            use(task, s);
        assert_int_equal(thrum_run(ex, idle), 0);
        handles[i] = thrum_start(ex, graphs[i]);
    }
    assert_int_equal(thrum_run(ex, idle), 0);
    assert_int_equal(atomic_load(&order.next), 0);
    assert_int_equal(thrum_event_release(event), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(thrum_wait(handles[i]), 0);
        thrum_release(handles[i]);
    }
    assert_true(order.at[0] < order.at[1]);
    assert_int_equal(thrum_graph_free(graphs[0]), 0);
    assert_int_equal(thrum_graph_free(graphs[1]), 0);
    assert_int_equal(thrum_graph_free(holder), 0);
    assert_int_equal(thrum_graph_free(idle), 0);
    check_and_free(s, 2);
    assert_int_equal(thrum_executor_free(ex), 0);
}

struct behind {
    thrum_semaphore *semaphore;
    atomic_int wrong;
};

static void check_free(void *arg)
{
    struct behind *behind = arg;
    atomic_fetch_add(&behind->wrong, thrum_semaphore_tokens(behind->semaphore) != 3);
}

TEST(tokens_are_back_before_tasks_behind_begin)
{
    thrum_executor *ex = executor_with(3);
    thrum_semaphore *s = semaphore_with(3);
    thrum_graph *graph = thrum_graph_new("behind");
    struct behind behind = {.semaphore = s};
    thrum_task *before = NULL;
    for (int i = 0; i < 20; i++) {
        thrum_task *task = thrum_placeholder_new(graph), *last = thrum_placeholder_new(graph);
        use(task, s);
        use(task, s);
        if (before)
            thrum_precede(before, task);
        for (int k = 0; k < 4; k++) {
            thrum_task *check = thrum_task_new(graph, check_free, &behind);
            thrum_precede(task, check);
            thrum_precede(check, last);
        }
        before = last;
    }
    assert_int_equal(thrum_run_n(ex, graph, 50), 0);
    assert_int_equal(atomic_load(&behind.wrong), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    check_and_free(s, 3);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void check_worker(void *arg)
{
    int *right = arg;
    *right += thrum_worker_index() == 1;
}

TEST(pinned_tasks_wait_and_run_on_their_worker)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("pinned");
    thrum_semaphore *s = semaphore_with(1);
    int right = 0;
    struct room room = {0};
    for (int i = 0; i < 200; i++) {
        thrum_task *task =
            i % 2 ? thrum_task_new(graph, check_worker, &right) : thrum_task_new(graph, visit_shortly, &room);
        use(task, s);
        if (i % 2)
            assert_int_equal(thrum_task_pin_worker(task, 1), 0);
    }
    assert_int_equal(thrum_run_n(ex, graph, 5), 0);
    assert_int_equal(right, 500);
    assert_int_equal(atomic_load(&room.visits), 500);
    assert_int_equal(thrum_graph_free(graph), 0);
    check_and_free(s, 1);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(tasks_of_all_priorities_get_their_tokens)
{
    for (int workers = 0; workers <= 3; workers++) {
        thrum_executor *ex = executor_of(workers);
        thrum_graph *graph = thrum_graph_new("urgent");
        thrum_semaphore *s = semaphore_with(2);
        struct room room = {0};
        thrum_task *before[4] = {NULL};
        for (int i = 0; i < 120; i++) {
            thrum_task *task = thrum_task_new(graph, visit_shortly, &room);
            use(task, s);
            thrum_task_set_priority(task, (enum thrum_priority)(i % 3 - 1));
            if (before[i % 4] && i % 5)
                thrum_precede(before[i % 4], task);
            before[i % 4] = task;
        }
        assert_int_equal(thrum_run_n(ex, graph, 10), 0);
        assert_int_equal(atomic_load(&room.visits), 1200);
        assert_true(atomic_load(&room.most) <= 2);
        assert_int_equal(thrum_graph_free(graph), 0);
        check_and_free(s, 2);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* ---- Kinds of task ----------------------------------------------------------------------------------------------- */

TEST(a_region_of_several_tasks_excludes_others)
{
    for (int workers = 0; workers <= 4; workers++) {
        thrum_executor *ex = executor_of(workers);
        thrum_graph *graph = thrum_graph_new("regions");
        thrum_semaphore *s = semaphore_with(2);
        struct room room = {0};
        atomic_int middle = 0;
        for (int i = 0; i < 25; i++) {
            thrum_task *first = thrum_task_new(graph, enter_task, &room),
                       *last = thrum_task_new(graph, leave_task, &room);
            assert_int_equal(thrum_task_acquire(first, s), 0);
            assert_int_equal(thrum_task_release(last, s), 0);
            for (int k = 0; k < 3; k++) {
                thrum_task *between = thrum_task_new(graph, count_up, &middle);
                thrum_precede(first, between);
                thrum_precede(between, last);
            }
        }
        assert_int_equal(thrum_run_n(ex, graph, 8), 0);
        assert_int_equal(atomic_load(&room.visits), 200);
        assert_true(atomic_load(&room.most) <= 2);
        assert_int_equal(atomic_load(&middle), 600);
        assert_int_equal(thrum_graph_free(graph), 0);
        check_and_free(s, 2);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

struct loop {
    struct room *room;
    int rounds;
};

static int go_round(void *arg)
{
    struct loop *loop = arg;
    visit_shortly(loop->room);
    return ++loop->rounds % 20 ? 0 : 1;
}

static size_t choose_both(int *next, size_t room, void *arg)
{
    assert_true(room == 2);
    visit_shortly(arg);
    next[0] = 0;
    next[1] = 1;
    return 2;
}

TEST(conditions_and_loops_take_and_give_back)
{
    for (int workers = 0; workers <= 3; workers++) {
        thrum_executor *ex = executor_of(workers);
        thrum_graph *graph = thrum_graph_new("loops");
        thrum_semaphore *s = semaphore_with(1);
        struct room room = {0};
        enum { LOOPS = 6 };
        struct loop loops[LOOPS];
        for (int i = 0; i < LOOPS; i++) {
            loops[i] = (struct loop){&room, 0};
            thrum_task *start = thrum_placeholder_new(graph), *body = thrum_task_new(graph, visit_shortly, &room);
            thrum_task *again = thrum_condition_new(graph, go_round, &loops[i]);
            thrum_task *both = thrum_choice_new(graph, choose_both, &room);
            thrum_task *one = thrum_task_new(graph, visit_shortly, &room),
                       *two = thrum_task_new(graph, visit_shortly, &room);
            thrum_precede(start, body);
            thrum_precede(body, again);
            thrum_precede(again, body);
            thrum_precede(again, both);
            thrum_precede(both, one);
            thrum_precede(both, two);
            use(body, s);
            use(again, s);
            use(both, s);
            use(one, s);
            use(two, s);
        }
        assert_int_equal(thrum_run_n(ex, graph, 5), 0);
        assert_int_equal(atomic_load(&room.visits), LOOPS * 5 * (20 + 20 + 3));
        assert_int_equal(atomic_load(&room.most), 1);
        assert_int_equal(thrum_graph_free(graph), 0);
        check_and_free(s, 1);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_module_holds_its_tokens_until_all_of_it_has_completed)
{
    enum { MODULES = 6 };
    for (int workers = 0; workers <= 4; workers++) {
        thrum_executor *ex = executor_of(workers);
        thrum_graph *outer = thrum_graph_new("outer"), *inner[MODULES];
        thrum_semaphore *s = semaphore_with(1);
        struct room rooms[MODULES] = {0}, all = {0};
        for (int i = 0; i < MODULES; i++) {
            inner[i] = thrum_graph_new("inner");
            thrum_task *first = thrum_task_new(inner[i], enter_task, &all),
                       *last = thrum_task_new(inner[i], leave_task, &all);
            for (int k = 0; k < 8; k++) {
                thrum_task *between = thrum_task_new(inner[i], visit_shortly, &rooms[i]);
                thrum_precede(first, between);
                thrum_precede(between, last);
            }
            use(thrum_module_new(outer, inner[i]), s);
        }
        assert_int_equal(thrum_run_n(ex, outer, 6), 0);
        assert_int_equal(atomic_load(&all.most), 1);
        assert_int_equal(atomic_load(&all.visits), 6 * MODULES);
        assert_int_equal(thrum_graph_free(outer), 0);
        for (int i = 0; i < MODULES; i++)
            assert_int_equal(thrum_graph_free(inner[i]), 0);
        check_and_free(s, 1);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void visit_in_scope(thrum_scope *scope, void *arg)
{
    (void)scope;
    visit_shortly(arg);
}

static void spawn_in_room(thrum_scope *scope, void *arg)
{
    enter(arg);
    for (int i = 0; i < 5; i++)
        thrum_spawn(scope, visit_in_scope, (struct room *)arg + 1);
    thrum_join(scope);
    leave(arg);
}

TEST(scope_tasks_take_and_give_back)
{
    thrum_executor *ex = executor_with(3);
    thrum_graph *graph = thrum_graph_new("scopes");
    thrum_semaphore *s = semaphore_with(1);
    struct room rooms[2] = {0};
    for (int i = 0; i < 40; i++)
        use(thrum_scope_task_new(graph, spawn_in_room, rooms), s);
    assert_int_equal(thrum_run_n(ex, graph, 5), 0);
    assert_int_equal(atomic_load(&rooms[0].most), 1);
    assert_int_equal(atomic_load(&rooms[1].visits), 1000);
    assert_int_equal(thrum_graph_free(graph), 0);
    check_and_free(s, 1);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* Events that wait to be released by a thread outside. */
struct mailbox {
    pthread_mutex_t lock;
    thrum_event events[64];
    int count;
    struct room room;
};

static void mail(thrum_event event, void *arg)
{
    struct mailbox *box = arg;
    enter(&box->room);
    pthread_mutex_lock(&box->lock);
    box->events[box->count++] = event;
    pthread_mutex_unlock(&box->lock);
}

TEST(an_event_task_holds_its_tokens_until_its_events_are_released)
{
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_with(workers);
        thrum_graph *graph = thrum_graph_new("events");
        thrum_semaphore *s = semaphore_with(2);
        struct mailbox box = {.lock = PTHREAD_MUTEX_INITIALIZER};
        for (int i = 0; i < 30; i++)
            use(thrum_event_task_new(graph, mail, &box), s);
        thrum_handle *run = thrum_start(ex, graph);
        for (int released = 0; released < 30;) {
            pthread_mutex_lock(&box.lock);
            bool any = box.count > 0;
            thrum_event event = any ? box.events[--box.count] : (thrum_event){0};
            pthread_mutex_unlock(&box.lock);
            if (!any) {
                sched_yield();
                continue;
            }
            leave(&box.room);
            assert_int_equal(thrum_event_release(event), 0);
            released++;
        }
        assert_int_equal(thrum_wait(run), 0);
        thrum_release(run);
        assert_true(atomic_load(&box.room.most) <= 2);
        assert_int_equal(thrum_graph_free(graph), 0);
        check_and_free(s, 2);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* Tasks of two domains take turns, and each is run where it belongs. */
static void note_domain(void *arg)
{
    int *counts = arg;
    counts[thrum_domain_index()]++;
}

TEST(tasks_of_several_domains_share_a_semaphore)
{
    thrum_domain_config io = {.name = "io", .workers = 2};
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.workers = 2, .domains = &io, .domain_count = 1});
    assert_non_null(ex);
    thrum_graph *graph = thrum_graph_new("domains");
    thrum_semaphore *s = semaphore_with(1);
    int counts[2] = {0};
    thrum_task *before = NULL;
    for (int i = 0; i < 200; i++) {
        thrum_task *task = thrum_task_new(graph, note_domain, counts);
        use(task, s);
        if (i % 2)
            thrum_task_pin_domain(task, 1);
        if (i % 5 == 0 && before)
            thrum_precede(before, task);
        before = task;
    }
    assert_int_equal(thrum_run_n(ex, graph, 5), 0);
    assert_int_equal(counts[0], 500);
    assert_int_equal(counts[1], 500);
    assert_int_equal(thrum_graph_free(graph), 0);
    check_and_free(s, 1);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(iterations_of_a_pipelined_run_share_tokens)
{
    for (int workers = 0; workers <= 3; workers++) {
        thrum_executor *ex = executor_of(workers);
        thrum_graph *graph = thrum_graph_new("pipelined");
        thrum_semaphore *region = semaphore_with(2), *one = semaphore_with(1);
        struct room rooms[2] = {0};
        for (int i = 0; i < 5; i++) {
            thrum_task *first = thrum_task_new(graph, enter_task, &rooms[0]),
                       *last = thrum_task_new(graph, leave_task, &rooms[0]),
                       *task = thrum_task_new(graph, visit_shortly, &rooms[1]);
            thrum_task_acquire(first, region);
            thrum_task_release(last, region);
            use(task, one);
            thrum_precede(first, last);
            thrum_precede(last, task);
        }
        assert_int_equal(thrum_run_pipelined(ex, graph, 50), 0);
        assert_int_equal(atomic_load(&rooms[0].visits), 250);
        assert_int_equal(atomic_load(&rooms[1].visits), 250);
        assert_true(atomic_load(&rooms[0].most) <= 2);
        assert_int_equal(atomic_load(&rooms[1].most), 1);
        assert_int_equal(thrum_graph_free(graph), 0);
        check_and_free(region, 2);
        check_and_free(one, 1);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_clone_takes_the_same_tokens)
{
    enum { CLONES = 3 };
    thrum_executor *ex = executor_with(3);
    thrum_graph *graphs[CLONES] = {thrum_graph_new("original")};
    thrum_semaphore *s = semaphore_with(1), *t = semaphore_with(2);
    int count = 0;
    for (int i = 0; i < 100; i++) {
        thrum_task *task = thrum_task_new(graphs[0], plain_count_up, &count);
        use(task, t);
        use(task, t);
        use(task, s);
    }
    thrum_handle *handles[CLONES];
    for (int i = 1; i < CLONES; i++)
        graphs[i] = thrum_graph_clone(graphs[0]);
    for (int i = 0; i < CLONES; i++)
        handles[i] = thrum_start_n(ex, graphs[i], 5);
    for (int i = 0; i < CLONES; i++) {
        assert_int_equal(thrum_wait(handles[i]), 0);
        thrum_release(handles[i]);
        assert_int_equal(thrum_graph_free(graphs[i]), 0);
    }
    assert_int_equal(count, 500 * CLONES);
    check_and_free(s, 1);
    check_and_free(t, 2);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(two_executors_share_a_semaphore)
{
    thrum_executor *executors[] = {executor_with(2), executor_blocking(1), executor_threadless()};
    enum { EXECUTORS = 3 };
    thrum_graph *graphs[EXECUTORS];
    thrum_handle *handles[EXECUTORS];
    thrum_semaphore *s = semaphore_with(1);
    int count = 0;
    for (int i = 0; i < EXECUTORS; i++) {
        graphs[i] = thrum_graph_new("shared");
        for (int k = 0; k < 200; k++)
            use(thrum_task_new(graphs[i], plain_count_up, &count), s);
        handles[i] = thrum_start_n(executors[i], graphs[i], 4);
    }
    for (int i = EXECUTORS - 1; i >= 0; i--) { /* the one without threads first: it may hold the token */
        assert_int_equal(thrum_wait(handles[i]), 0);
        thrum_release(handles[i]);
    }
    assert_int_equal(count, EXECUTORS * 800);
    for (int i = 0; i < EXECUTORS; i++) {
        assert_int_equal(thrum_graph_free(graphs[i]), 0);
        assert_int_equal(thrum_executor_free(executors[i]), 0);
    }
    check_and_free(s, 1);
}

/* ---- Errors and cancelling --------------------------------------------------------------------------------------- */

TEST(a_cancelled_run_whose_tasks_wait_ends_at_once)
{
    for (int workers = 1; workers <= 3; workers++) {
        thrum_executor *ex = executor_blocking(workers + 1);
        thrum_graph *holder = thrum_graph_new("holder"), *graph = thrum_graph_new("waiting"),
                    *module = thrum_graph_new("module");
        thrum_semaphore *s = semaphore_with(2);
        struct gate gate = {0};
        atomic_int count = 0;
        use(thrum_task_new(holder, stay_at_gate, &gate), s);
        for (int i = 0; i < 50; i++) {
            thrum_task *task = thrum_task_new(i % 2 ? graph : module, count_up, &count);
            use(task, s);
            use(task, s); /* needs both, while one is held */
            thrum_precede(task, thrum_task_new(i % 2 ? graph : module, count_up, &count));
            if (i % 5 == 0)
                thrum_task_set_priority(task, THRUM_LOW);
        }
        thrum_module_new(graph, module);
        thrum_handle *holding = thrum_start(ex, holder);
        await_entered(&gate);
        thrum_handle *waits = thrum_start(ex, graph);
        pause_ms(2);
        assert_int_equal(thrum_semaphore_free(s), THRUM_EBUSY);
        assert_int_equal(thrum_cancel(waits), 0);
        assert_int_equal(thrum_wait(waits), THRUM_ECANCELLED);
        assert_int_equal(atomic_load(&count), 0);
        assert_int_equal(thrum_semaphore_tokens(s), 1);
        open_gate(&gate);
        assert_int_equal(thrum_wait(holding), 0);
        thrum_release(waits);
        thrum_release(holding);
        assert_int_equal(thrum_run(ex, graph), 0); /* unharmed */
        assert_int_equal(atomic_load(&count), 100);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_graph_free(module), 0);
        assert_int_equal(thrum_graph_free(holder), 0);
        check_and_free(s, 2);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* The first in line needs more than there is and is cancelled: those behind it must not wait any longer. */
TEST(who_waits_behind_a_cancelled_task_goes_on)
{
    thrum_executor *ex = executor_blocking(2);
    thrum_graph *graphs[3];
    thrum_handle *handles[3];
    thrum_semaphore *s = semaphore_with(2);
    struct gate gate = {0};
    atomic_int count = 0;
    for (int i = 0; i < 3; i++) {
        graphs[i] = thrum_graph_new("one");
        thrum_task *task = thrum_task_new(graphs[i], i == 0 ? stay_at_gate : count_up, i == 0 ? (void *)&gate : &count);
        use(task, s);
        if (i == 1)
            use(task, s);
        handles[i] = thrum_start(ex, graphs[i]);
        if (i == 0)
            await_entered(&gate);
        pause_ms(2);
    }
    assert_int_equal(atomic_load(&count), 0);
    assert_int_equal(thrum_cancel(handles[1]), 0);
    assert_int_equal(thrum_wait(handles[2]), 0);
    assert_int_equal(thrum_wait(handles[1]), THRUM_ECANCELLED);
    assert_int_equal(atomic_load(&count), 1);
    open_gate(&gate);
    assert_int_equal(thrum_wait(handles[0]), 0);
    for (int i = 0; i < 3; i++) {
        thrum_release(handles[i]);
        assert_int_equal(thrum_graph_free(graphs[i]), 0);
    }
    check_and_free(s, 2);
    assert_int_equal(thrum_executor_free(ex), 0);
}

static void fail_here(void *arg)
{
    (void)arg;
    thrum_fail(9, "on purpose");
}

TEST(a_run_that_fails_while_it_holds_and_waits_gives_everything_back)
{
    for (int workers = 0; workers <= 3; workers++)
        for (int region = 0; region < 2; region++) {
            thrum_executor *ex = executor_of(workers);
            thrum_graph *graph = thrum_graph_new("failing");
            thrum_semaphore *s = semaphore_with(1), *t = semaphore_with(3);
            atomic_int count = 0;
            thrum_task *failing = thrum_task_new(graph, fail_here, NULL), *last = thrum_placeholder_new(graph);
            thrum_task_acquire(failing, s);
            thrum_task_release(region ? last : failing, s);
            thrum_precede(failing, last);
            for (int i = 0; i < 60; i++) {
                thrum_task *task = thrum_task_new(graph, count_up, &count);
                use(task, s);
                use(task, t);
            }
            for (int round = 0; round < 5; round++) {
                assert_int_equal(thrum_run(ex, graph), 9);
                assert_int_equal(thrum_semaphore_tokens(s), 1);
                assert_int_equal(thrum_semaphore_tokens(t), 3);
            }
            atomic_store(&count, 0);
            thrum_task_set(failing, do_nothing, NULL);
            assert_int_equal(thrum_run(ex, graph), 0);
            assert_int_equal(atomic_load(&count), 60);
            assert_int_equal(thrum_graph_free(graph), 0);
            check_and_free(s, 1);
            check_and_free(t, 3);
            assert_int_equal(thrum_executor_free(ex), 0);
        }
}

TEST(a_token_too_many_given_back_fails_the_run_and_names_both)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("generous");
    thrum_semaphore *s = thrum_semaphore_new("printer", 2);
    thrum_task *task = thrum_placeholder_new(graph);
    thrum_task_set_name(task, "giver");
    assert_int_equal(thrum_task_release(task, s), 0);
    assert_int_equal(thrum_run(ex, graph), THRUM_ESEMAPHORE);
    assert_contains(thrum_message(graph), "'giver' of graph 'generous' gives back 1 token of semaphore 'printer'");
    assert_int_equal(thrum_semaphore_tokens(s), 2);
    assert_int_equal(thrum_task_acquire(task, s), 0);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_task_release(task, s), 0);
    assert_int_equal(thrum_run(ex, graph), THRUM_ESEMAPHORE);
    assert_contains(thrum_message(graph),
                    "gives back 2 tokens of semaphore 'printer', but its run does not hold as many");
    assert_int_equal(thrum_graph_free(graph), 0);
    check_and_free(s, 2);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(a_run_that_keeps_tokens_fails_and_they_come_back)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("greedy"), *outer = thrum_graph_new("outer");
    thrum_semaphore *s = thrum_semaphore_new("printer", 2);
    atomic_int count = 0;
    thrum_task *task = thrum_task_new(graph, count_up, &count);
    assert_int_equal(thrum_task_acquire(task, s), 0);
    assert_int_equal(thrum_run_n(ex, graph, 3), THRUM_ESEMAPHORE);
    assert_contains(thrum_message(graph), "graph 'greedy' has run to its end with 1 token of semaphore 'printer'");
    assert_int_equal(atomic_load(&count), 1);
    assert_int_equal(thrum_semaphore_tokens(s), 2);
    thrum_module_new(outer, graph);
    assert_int_equal(thrum_run(ex, outer), THRUM_ESEMAPHORE);
    assert_contains(thrum_message(outer), "graph 'greedy'");
    assert_int_equal(thrum_task_release(task, s), 0);
    assert_int_equal(thrum_run_n(ex, outer, 3), 0);
    assert_int_equal(thrum_graph_free(outer), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    check_and_free(s, 2);
    assert_int_equal(thrum_executor_free(ex), 0);
}

TEST(wrong_use_is_named)
{
    assert_null(thrum_semaphore_new("empty", 0));
    assert_contains(thrum_message(NULL), "thrum_semaphore_new: semaphore 'empty' would have no tokens");
    assert_int_equal(thrum_semaphore_free(NULL), 0);
    assert_int_equal(thrum_semaphore_tokens(NULL), 0);
    thrum_semaphore *s = thrum_semaphore_new(NULL, 2), *t = thrum_semaphore_new("two", 2);
    assert_error(thrum_task_acquire(NULL, s), THRUM_EINVAL, "thrum_task_acquire: a task is NULL");
    assert_error(thrum_task_release(NULL, s), THRUM_EINVAL, "thrum_task_release: a task is NULL");
    for (int release = 0; release < 2; release++) {
        int (*list)(thrum_task *, thrum_semaphore *) = release ? thrum_task_release : thrum_task_acquire;
        thrum_graph *graph = thrum_graph_new("wrong");
        thrum_task *task = thrum_placeholder_new(graph);
        thrum_task_set_name(task, "it");
        assert_error(list(task, NULL), THRUM_EINVAL, "the semaphore for 'it' is NULL");
        assert_error(list(task, t), THRUM_EINVAL, "is NULL"); /* the first error stays */
        assert_int_equal(thrum_graph_free(graph), 0);
        graph = thrum_graph_new("wrong");
        task = thrum_placeholder_new(graph);
        thrum_task_set_name(task, "it");
        assert_int_equal(list(task, t), 0);
        assert_int_equal(list(task, t), 0);
        assert_error(list(task, t), THRUM_EINVAL, "'it' lists semaphore 'two' 3 times, but that has 2 tokens");
        assert_int_equal(thrum_run(NULL, graph), THRUM_EINVAL);
        assert_int_equal(thrum_graph_free(graph), 0);
    }
    check_and_free(s, 2);
    check_and_free(t, 2);
}

TEST(a_semaphore_is_freed_before_or_after_the_graphs_that_list_it_but_not_while_they_use_it)
{
    thrum_executor *ex = executor_with(2);
    thrum_graph *graph = thrum_graph_new("user");
    thrum_semaphore *s = thrum_semaphore_new("used", 2);
    struct gate gate = {0};
    thrum_task *task = thrum_task_new(graph, stay_at_gate, &gate);
    use(task, s);
    thrum_handle *run = thrum_start(ex, graph);
    await_entered(&gate);
    assert_int_equal(thrum_semaphore_tokens(s), 1);
    assert_error(thrum_semaphore_free(s), THRUM_EBUSY, "1 of the 2 tokens of semaphore 'used' are in use");
    assert_error(thrum_task_acquire(task, s), THRUM_EBUSY, "thrum_task_acquire");
    open_gate(&gate);
    assert_int_equal(thrum_wait(run), 0);
    thrum_release(run);
    assert_int_equal(thrum_semaphore_free(s), 0);
    assert_int_equal(thrum_run(ex, graph), 0);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_more_tasks_than_tokens_are_inside),
        cmocka_unit_test(what_one_holder_wrote_the_next_one_sees),
        cmocka_unit_test(a_task_may_need_several_tokens_of_one_semaphore),
        cmocka_unit_test(opposite_orders_do_not_block_each_other),
        cmocka_unit_test(a_thousand_semaphores),
        cmocka_unit_test(who_waits_holds_no_worker),
        cmocka_unit_test(who_waits_is_served_by_urgency_and_then_in_turn),
        cmocka_unit_test(who_needs_few_tokens_does_not_overtake_who_needs_many),
        cmocka_unit_test(tokens_are_back_before_tasks_behind_begin),
        cmocka_unit_test(pinned_tasks_wait_and_run_on_their_worker),
        cmocka_unit_test(tasks_of_all_priorities_get_their_tokens),
        cmocka_unit_test(a_region_of_several_tasks_excludes_others),
        cmocka_unit_test(conditions_and_loops_take_and_give_back),
        cmocka_unit_test(a_module_holds_its_tokens_until_all_of_it_has_completed),
        cmocka_unit_test(scope_tasks_take_and_give_back),
        cmocka_unit_test(an_event_task_holds_its_tokens_until_its_events_are_released),
        cmocka_unit_test(tasks_of_several_domains_share_a_semaphore),
        cmocka_unit_test(iterations_of_a_pipelined_run_share_tokens),
        cmocka_unit_test(a_clone_takes_the_same_tokens),
        cmocka_unit_test(two_executors_share_a_semaphore),
        cmocka_unit_test(a_cancelled_run_whose_tasks_wait_ends_at_once),
        cmocka_unit_test(who_waits_behind_a_cancelled_task_goes_on),
        cmocka_unit_test(a_run_that_fails_while_it_holds_and_waits_gives_everything_back),
        cmocka_unit_test(a_token_too_many_given_back_fails_the_run_and_names_both),
        cmocka_unit_test(a_run_that_keeps_tokens_fails_and_they_come_back),
        cmocka_unit_test(wrong_use_is_named),
        cmocka_unit_test(a_semaphore_is_freed_before_or_after_the_graphs_that_list_it_but_not_while_they_use_it),
    };
    return RUN_TESTS(tests, 60);
}
