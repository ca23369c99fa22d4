/* SPDX-License-Identifier: MIT
 *
 * The spawn stack from the inside: the test plays the thieves, step by step, in orders that are rare otherwise.
 */
#include "tasks.h"

#include "exec/exec_int.h"

/* The states of a place, as src/exec/scope.c describes them. */
enum { READY = THRUM__READY, RUNNING = 8, WAITING = 16, FINISHED = 32 };

enum { WORKERS = 2 };

struct play {
    thrum_executor *ex;
    struct gate gates[WORKERS];
    thrum__spawn *place;
    worker *owner;
};

/* An executor whose workers are busy, so that nobody steals but the test; the calling thread opens a scope on it. */
static void set_stage(struct play *play, thrum_scope *scope)
{
    memset(play, 0, sizeof *play);
    play->ex = executor_with(WORKERS);
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(thrum_async(play->ex, stay_at_gate, &play->gates[i]), 0);
        await_entered(&play->gates[i]);
    }
    thrum_scope_open_on(scope, play->ex);
    play->place = scope->worker->top;
    play->owner = (worker *)scope->worker;
}

static void clear_stage(struct play *play)
{
    for (int i = 0; i < WORKERS; i++)
        open_gate(&play->gates[i]);
    assert_int_equal(thrum_executor_free(play->ex), 0);
}

static uintptr_t state_of(const struct play *play)
{
    return __atomic_load_n(&play->place->state, __ATOMIC_ACQUIRE);
}

/* What a thief does when it has done the child, or has second thoughts. */
static void settle(struct play *play, uintptr_t state)
{
    if (__atomic_exchange_n(&play->place->state, state, __ATOMIC_ACQ_REL) & WAITING)
        thrum__unpark(&play->owner->join_parker);
}

static void claim(struct play *play)
{
    thrum__door_show_all(play->owner);
    __atomic_store_n(&play->place->state, (uintptr_t)play->ex->cpu.workers[0], __ATOMIC_RELEASE);
}

static void await_waiting(const struct play *play)
{
    while (!(state_of(play) & WAITING))
        sched_yield();
    pause_ms(20); /* until it has parked */
}

static void *finish_after_a_while(void *arg)
{
    await_waiting(arg);
    settle(arg, FINISHED);
    return NULL;
}

TEST(an_owner_that_parks_is_woken_by_the_thief_that_finishes)
{
    struct play play;
    thrum_scope scope;
    pthread_t thief;
    atomic_int runs = 0;
    set_stage(&play, &scope);
    thrum_spawn(&scope, count_up_in_scope, &runs);
    claim(&play);
    assert_int_equal(pthread_create(&thief, NULL, finish_after_a_while, &play), 0);
    assert_int_equal(thrum_join(&scope), 0);
    assert_int_equal(pthread_join(thief, NULL), 0);
    assert_int_equal(runs, 0);
    clear_stage(&play);
}

/* The first thief gives the child back and the second one claims it, before the first one has woken the owner, who
 * finds the child claimed as before. */
static void *change_hands_and_finish(void *arg)
{
    struct play *play = arg;
    await_waiting(play);
    settle(play, (uintptr_t)play->ex->cpu.workers[0]);
    pause_ms(20); /* until the owner has looked and parked again */
    settle(play, FINISHED);
    return NULL;
}

TEST(an_owner_that_parks_is_woken_also_when_the_child_has_changed_hands)
{
    struct play play;
    thrum_scope scope;
    pthread_t thieves;
    atomic_int runs = 0;
    set_stage(&play, &scope);
    thrum_spawn(&scope, count_up_in_scope, &runs);
    claim(&play);
    assert_int_equal(pthread_create(&thieves, NULL, change_hands_and_finish, &play), 0);
    assert_int_equal(thrum_join(&scope), 0);
    assert_int_equal(pthread_join(thieves, NULL), 0);
    clear_stage(&play);
}

TEST(children_that_nobody_stole_run_in_the_join_newest_first)
{
    struct play play;
    thrum_scope scope;
    atomic_int runs = 0;
    set_stage(&play, &scope);
    for (int i = 0; i < 100; i++)
        thrum_spawn(&scope, count_up_in_scope, &runs);
    assert_ptr_equal(scope.worker->top, play.place + 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(play.place[i].state, THRUM__EMPTY);
    assert_true(thrum__spawn_has_hidden(play.owner));
    thrum__spawn_show_locked(play.owner, 40);
    for (int i = 0; i < 100; i++)
        assert_int_equal(play.place[i].state, i < 40 ? READY : THRUM__EMPTY);
    assert_int_equal(thrum_join(&scope), 0);
    assert_int_equal(runs, 100);
    for (int i = 0; i < 100; i++)
        assert_int_equal(play.place[i].state, THRUM__EMPTY);
    clear_stage(&play);
}

TEST(bottom_comes_back_when_a_stolen_child_is_joined)
{
    struct play play;
    thrum_scope scope;
    found f;
    atomic_int runs = 0;
    set_stage(&play, &scope);
    worker *thief = play.ex->cpu.workers[0];
    thrum_spawn(&scope, count_up_in_scope, &runs);
    thrum_spawn(&scope, count_up_in_scope, &runs);
    assert_false(thrum__spawn_steal(thief, play.owner, NULL, &f));
    thrum__door_show_all(play.owner);
    for (int i = 0; i < 2; i++) {
        assert_true(thrum__spawn_steal(thief, play.owner, NULL, &f));
        assert_ptr_equal(f.place, play.place + i);
        assert_ptr_equal(atomic_load(&play.owner->bottom), play.place + i + 1);
        __atomic_store_n(&f.place->state, (uintptr_t)FINISHED, __ATOMIC_RELEASE);
    }
    assert_false(thrum__spawn_steal(thief, play.owner, NULL, &f));
    thrum_scope inner;
    thrum_scope_open(&inner, &scope);
    thrum_spawn(&inner, count_up_in_scope, &runs);
    thrum_join(&inner);
    assert_int_equal(runs, 1);
    assert_ptr_equal(atomic_load(&play.owner->bottom), play.place + 2);
    assert_int_equal(thrum_join(&scope), 0);
    assert_ptr_equal(atomic_load(&play.owner->bottom), play.place);
    clear_stage(&play);
}

/* The thief waits for a child that the owner of the stack has stolen from it: `helped` is that child's place. */
TEST(a_thief_that_helps_takes_only_what_descends_from_its_child)
{
    struct play play;
    thrum_scope scope;
    found f;
    atomic_int runs = 0;
    set_stage(&play, &scope);
    worker *thief = play.ex->cpu.workers[0];
    thrum_spawn(&scope, count_up_in_scope, &runs);
    thrum__door_show_all(play.owner);
    thrum__spawn helped = {.state = (uintptr_t)play.owner | RUNNING};
    helped.u.thief_first = play.place + 1;
    assert_false(thrum__spawn_steal(thief, play.owner, &helped, &f)); /* what is there is older than the child */
    helped.u.thief_first = play.place;
    helped.state = FINISHED;
    assert_false(
        thrum__spawn_steal(thief, play.owner, &helped, &f)); /* what is there is younger than the child's end */
    assert_int_equal(state_of(&play), READY);
    assert_ptr_equal(atomic_load(&play.owner->bottom), play.place);
    helped.state = (uintptr_t)play.owner | RUNNING;
    assert_true(thrum__spawn_steal(thief, play.owner, &helped, &f));
    assert_ptr_equal(f.place, play.place);
    settle(&play, FINISHED);
    assert_int_equal(thrum_join(&scope), 0);
    assert_int_equal(runs, 0);
    clear_stage(&play);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_that_parks_is_woken_by_the_thief_that_finishes),
        cmocka_unit_test(children_that_nobody_stole_run_in_the_join_newest_first),
        cmocka_unit_test(bottom_comes_back_when_a_stolen_child_is_joined),
        cmocka_unit_test(a_thief_that_helps_takes_only_what_descends_from_its_child),
        cmocka_unit_test(an_owner_that_parks_is_woken_also_when_the_child_has_changed_hands),
    };
    return RUN_TESTS(tests, 10);
}
