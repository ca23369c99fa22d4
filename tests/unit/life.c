/* SPDX-License-Identifier: MIT
 *
 * The life cycle of workers: each transition, whom a waking takes and when one is wanted, and many threads at once.
 */
#include "tasks.h"

#include "base/alloc.h"
#include "random.h"
#include "sched/life.h"

static void expect(const thrum__life *life, int top, int searching, int awake)
{
    thrum__life_view view = thrum__life_look(life);
    assert_int_equal(view.top, top);
    assert_int_equal(view.searching, searching);
    assert_int_equal(view.awake, awake);
    assert_int_equal(view.wake_wanted, top >= 0 && searching == 0 && awake < life->limit);
    assert_int_equal(thrum__life_wants_wake(life), view.wake_wanted);
}

TEST(workers_begin_as_searching)
{
    thrum__life life;
    assert_int_equal(thrum__life_init(&life, 4, 8, 3), 0);
    expect(&life, -1, 3, 3);
    assert_int_equal(thrum__life_wake(&life), -1);
    assert_int_equal(thrum__life_wake_any(&life), -1);
    thrum__life_fini(&life);
}

TEST(a_life_without_memory_is_not_made)
{
    thrum__life life;
    thrum__alloc_fail_after(0);
    assert_int_equal(thrum__life_init(&life, 4, 8, 3), -1);
    thrum__alloc_fail_after(-1);
}

TEST(searching_ends_and_begins_and_the_last_one_knows_it)
{
    thrum__life life;
    assert_int_equal(thrum__life_init(&life, 2, 2, 2), 0);
    assert_false(thrum__life_end_search(&life));
    expect(&life, -1, 1, 2);
    assert_true(thrum__life_end_search(&life));
    expect(&life, -1, 0, 2);
    thrum__life_start_search(&life);
    expect(&life, -1, 1, 2);
    assert_true(thrum__life_end_search(&life));
    thrum__life_fini(&life);
}

TEST(sleepers_are_woken_newest_first_and_count_as_searching)
{
    thrum__life life;
    assert_int_equal(thrum__life_init(&life, 4, 4, 4), 0);
    static const int order[] = {2, 0, 3};
    for (int i = 0; i < 3; i++) {
        thrum__life_sleep(&life, order[i]);
        expect(&life, order[i], 3 - i, 3 - i);
    }
    assert_int_equal(thrum__life_wake(&life), -1); /* worker 1 searches */
    thrum__life_end_search(&life);
    expect(&life, 3, 0, 1);
    assert_int_equal(thrum__life_wake(&life), 3);
    expect(&life, 0, 1, 2);
    assert_int_equal(thrum__life_wake(&life), -1); /* the woken one counts as searching already */
    assert_true(thrum__life_end_search(&life));
    assert_int_equal(thrum__life_wake(&life), 0);
    thrum__life_end_search(&life);
    assert_int_equal(thrum__life_wake(&life), 2);
    expect(&life, -1, 1, 4);
    thrum__life_end_search(&life);
    assert_int_equal(thrum__life_wake(&life), -1);
    thrum__life_fini(&life);
}

TEST(a_sleeper_that_sleeps_again_is_on_top_again)
{
    thrum__life life;
    assert_int_equal(thrum__life_init(&life, 3, 3, 3), 0);
    for (int worker = 0; worker < 3; worker++)
        thrum__life_sleep(&life, worker);
    assert_int_equal(thrum__life_wake(&life), 2);
    thrum__life_end_search(&life);
    assert_int_equal(thrum__life_wake(&life), 1);
    thrum__life_sleep(&life, 1);
    expect(&life, 1, 0, 1);
    assert_int_equal(thrum__life_wake(&life), 1);
    thrum__life_end_search(&life);
    assert_int_equal(thrum__life_wake(&life), 0);
    thrum__life_fini(&life);
}

TEST(any_sleeper_can_be_woken_even_when_none_is_wanted)
{
    thrum__life life;
    assert_int_equal(thrum__life_init(&life, 1, 3, 3), 0);
    thrum__life_sleep(&life, 0);
    thrum__life_sleep(&life, 1);
    expect(&life, 1, 1, 1);
    assert_int_equal(thrum__life_wake(&life), -1);
    assert_int_equal(thrum__life_wake_any(&life), 1);
    assert_int_equal(thrum__life_wake_any(&life), 0);
    assert_int_equal(thrum__life_wake_any(&life), -1);
    expect(&life, -1, 3, 3);
    thrum__life_fini(&life);
}

TEST(no_waking_goes_beyond_the_limit)
{
    thrum__life life;
    assert_int_equal(thrum__life_init(&life, 2, 4, 4), 0);
    for (int worker = 0; worker < 4; worker++)
        thrum__life_sleep(&life, worker);
    for (int woken = 1; woken <= 2; woken++) {
        assert_int_equal(thrum__life_wake(&life), 4 - woken);
        thrum__life_end_search(&life);
        expect(&life, 3 - woken, 0, woken);
    }
    assert_int_equal(thrum__life_wake(&life), -1);
    thrum__life_leave(&life);
    assert_int_equal(thrum__life_wake(&life), 1);
    thrum__life_fini(&life);
}

TEST(a_guest_enters_only_where_there_is_a_place)
{
    thrum__life life;
    assert_int_equal(thrum__life_init(&life, 2, 4, 1), 0);
    assert_true(thrum__life_enter(&life));
    expect(&life, -1, 1, 2);
    assert_false(thrum__life_enter(&life));
    expect(&life, -1, 1, 2);
    thrum__life_enter_anyway(&life);
    expect(&life, -1, 1, 3);
    thrum__life_leave(&life);
    thrum__life_leave(&life);
    expect(&life, -1, 1, 1);
    assert_true(thrum__life_enter(&life));
    thrum__life_fini(&life);
}

/* Brings about `sleepers` asleep, `searching` searching and `active` active ones, in a life with the given limit. */
static void try_combination(int limit, int sleepers, int searching, int active)
{
    thrum__life life;
    int all = sleepers + searching + active;
    assert_int_equal(thrum__life_init(&life, limit, 8, all), 0);
    for (int worker = 0; worker < sleepers; worker++)
        thrum__life_sleep(&life, worker);
    for (int i = 0; i < active; i++)
        thrum__life_end_search(&life);
    expect(&life, sleepers - 1, searching, searching + active);
    bool wanted = sleepers > 0 && searching == 0 && active < limit;
    assert_int_equal(thrum__life_wake(&life), wanted ? sleepers - 1 : -1);
    expect(&life, sleepers - 1 - wanted, searching + wanted, searching + active + wanted);
    thrum__life_fini(&life);
}

TEST(a_waking_is_wanted_when_nobody_searches_somebody_sleeps_and_there_is_a_place)
{
    for (int limit = 1; limit <= 4; limit++)
        for (int sleepers = 0; sleepers <= 2; sleepers++)
            for (int searching = 0; searching <= 2; searching++)
                for (int active = 0; active <= 4; active++)
                    try_combination(limit, sleepers, searching, active);
}

/* Or a waker that was away for a while would take a sleeper off a stack that is not the one it saw. */
TEST(a_stack_that_changed_and_changed_back_is_another_word)
{
    thrum__life life;
    assert_int_equal(thrum__life_init(&life, 3, 3, 3), 0);
    for (int worker = 0; worker < 3; worker++)
        thrum__life_sleep(&life, worker);
    int64_t before = life.word;
    assert_int_equal(thrum__life_wake_any(&life), 2);
    assert_int_equal(thrum__life_wake_any(&life), 1);
    thrum__life_sleep(&life, 1);
    thrum__life_sleep(&life, 2);
    expect(&life, 2, 0, 0);
    assert_int_not_equal(life.word, before);
    thrum__life_fini(&life);
}

TEST(the_count_of_changes_runs_over_without_harm)
{
    thrum__life life;
    assert_int_equal(thrum__life_init(&life, 2, 2, 1), 0);
    life.word |= INT64_C(0x7ffffff) << 36; /* the count at its highest */
    expect(&life, -1, 1, 1);
    for (int i = 0; i < 3; i++) {
        thrum__life_sleep(&life, 1);
        expect(&life, 1, 0, 0);
        assert_int_equal(thrum__life_wake(&life), 1);
        expect(&life, -1, 1, 1);
    }
    thrum__life_fini(&life);
}

TEST(the_most_workers_fit_into_the_word)
{
    thrum__life life;
    assert_int_equal(thrum__life_init(&life, THRUM__LIFE_MOST, THRUM__LIFE_MOST, THRUM__LIFE_MOST), 0);
    expect(&life, -1, THRUM__LIFE_MOST, THRUM__LIFE_MOST);
    for (int worker = 0; worker < THRUM__LIFE_MOST; worker++)
        thrum__life_sleep(&life, worker);
    expect(&life, THRUM__LIFE_MOST - 1, 0, 0);
    for (int worker = THRUM__LIFE_MOST - 1; worker >= 0; worker--)
        assert_int_equal(thrum__life_wake_any(&life), worker);
    expect(&life, -1, THRUM__LIFE_MOST, THRUM__LIFE_MOST);
    thrum__life_fini(&life);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

enum { WORKERS = 4, GUESTS = 2, LIMIT = 3, STEPS = 30000 };

struct hammer {
    thrum__life life;
    atomic_int asleep[WORKERS]; /* 1 from before it announces its sleep until somebody wakes it */
    atomic_int working, next_index, mistakes;
};

static void check_view(struct hammer *hammer)
{
    thrum__life_view view = thrum__life_look(&hammer->life);
    bool wanted = view.top >= 0 && view.searching == 0 && view.awake < LIMIT;
    if (view.searching > view.awake || view.awake > WORKERS + GUESTS || view.top >= WORKERS ||
        view.wake_wanted != wanted)
        atomic_fetch_add(&hammer->mistakes, 1);
}

/* Whoever is woken was asleep, and nobody else wakes the same sleep. */
static void wake(struct hammer *hammer, bool anyway)
{
    int worker = anyway ? thrum__life_wake_any(&hammer->life) : thrum__life_wake(&hammer->life);
    if (worker >= 0 && (worker >= WORKERS || atomic_exchange(&hammer->asleep[worker], 0) != 1))
        atomic_fetch_add(&hammer->mistakes, 1);
}

static void live_through(struct hammer *hammer, int index)
{
    struct random random = random_new((uint64_t)index + 1);
    for (int step = 0; step < STEPS; step++) {
        if (random_chance(&random, 50)) {
            thrum__life_end_search(&hammer->life);
            if (random_chance(&random, 50))
                wake(hammer, false);
            check_view(hammer);
            thrum__life_start_search(&hammer->life);
        } else {
            atomic_store(&hammer->asleep[index], 1);
            thrum__life_sleep(&hammer->life, index);
            check_view(hammer);
            while (atomic_load(&hammer->asleep[index]))
                sched_yield();
        }
    }
}

static void come_and_go(struct hammer *hammer, int index)
{
    struct random random = random_new((uint64_t)index + 1);
    while (atomic_load(&hammer->working)) {
        bool inside = random_chance(&random, 30) ? (thrum__life_enter_anyway(&hammer->life), true)
                                                 : thrum__life_enter(&hammer->life);
        wake(hammer, random_chance(&random, 20));
        check_view(hammer);
        if (inside)
            thrum__life_leave(&hammer->life);
        wake(hammer, true);
        sched_yield();
    }
}

static void hammer_away(void *arg)
{
    struct hammer *hammer = arg;
    int index = atomic_fetch_add(&hammer->next_index, 1);
    if (index < WORKERS) {
        live_through(hammer, index);
        atomic_fetch_sub(&hammer->working, 1);
    } else {
        come_and_go(hammer, index);
    }
}

TEST(many_threads_at_once_lose_no_sleeper_and_wake_none_twice)
{
    static struct hammer hammer;
    assert_int_equal(thrum__life_init(&hammer.life, LIMIT, WORKERS, WORKERS), 0);
    atomic_store(&hammer.working, WORKERS);
    in_threads(WORKERS + GUESTS, hammer_away, &hammer);
    assert_int_equal(hammer.mistakes, 0);
    thrum__life_view view = thrum__life_look(&hammer.life);
    assert_int_equal(view.top, -1);
    assert_int_equal(view.searching, WORKERS);
    assert_int_equal(view.awake, WORKERS);
    thrum__life_fini(&hammer.life);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_begin_as_searching),
        cmocka_unit_test(a_life_without_memory_is_not_made),
        cmocka_unit_test(searching_ends_and_begins_and_the_last_one_knows_it),
        cmocka_unit_test(sleepers_are_woken_newest_first_and_count_as_searching),
        cmocka_unit_test(a_sleeper_that_sleeps_again_is_on_top_again),
        cmocka_unit_test(any_sleeper_can_be_woken_even_when_none_is_wanted),
        cmocka_unit_test(no_waking_goes_beyond_the_limit),
        cmocka_unit_test(a_guest_enters_only_where_there_is_a_place),
        cmocka_unit_test(a_waking_is_wanted_when_nobody_searches_somebody_sleeps_and_there_is_a_place),
        cmocka_unit_test(a_stack_that_changed_and_changed_back_is_another_word),
        cmocka_unit_test(the_count_of_changes_runs_over_without_harm),
        cmocka_unit_test(the_most_workers_fit_into_the_word),
        cmocka_unit_test(many_threads_at_once_lose_no_sleeper_and_wake_none_twice),
    };
    return RUN_TESTS(tests, 60);
}
