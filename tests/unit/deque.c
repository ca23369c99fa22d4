/* SPDX-License-Identifier: MIT
 *
 * The work-stealing deque: the owner's end, the thieves' end, growing, and both ends at once.
 */
#include "tasks.h"

#include "base/alloc.h"
#include "conc/deque.h"
#include "sys/barrier.h"
#include "sys/park.h"

static void push_hidden(thrum__deque *deque, uintptr_t first, uintptr_t last)
{
    for (uintptr_t word = first; word <= last; word++)
        assert_true(thrum__deque_push_owner(deque, word));
}

static thrum__lock door;
static bool takes_back_half;

/* What the owner does. */
static uintptr_t pop(thrum__deque *deque, int64_t base)
{
    bool ask = false;
    uintptr_t word = thrum__deque_pop_owner(deque, base, &ask);
    if (ask) {
        thrum__lock_take(&door);
        word = thrum__deque_pop_locked(deque, base, takes_back_half);
        thrum__deque_unask_locked(deque);
        thrum__lock_give(&door);
    }
    return word;
}

static void show(thrum__deque *deque, int64_t most)
{
    thrum__deque_show_locked(deque, most);
    thrum__deque_unask_locked(deque);
}

/* What a thief does: the oldest word that is shown, or 0. */
static uintptr_t steal(thrum__deque *deque)
{
    int64_t number = -1;
    uintptr_t word = thrum__deque_peek(deque, &number);
    return word && thrum__deque_take(deque, number) ? word : 0;
}

static void push_from_to(thrum__deque *deque, uintptr_t first, uintptr_t last)
{
    push_hidden(deque, first, last);
    show(deque, INT64_MAX);
}

TEST(a_thief_sees_nothing_but_what_is_shown)
{
    thrum__deque deque;
    assert_int_equal(thrum__deque_init(&deque), 0);
    push_hidden(&deque, 1, 10);
    assert_true(thrum__deque_has_hidden(&deque));
    assert_int_equal(steal(&deque), 0);
    show(&deque, 3);
    for (uintptr_t word = 1; word <= 3; word++)
        assert_int_equal(steal(&deque), word);
    assert_int_equal(steal(&deque), 0);
    for (uintptr_t word = 10; word > 3; word--)
        assert_int_equal(pop(&deque, 0), word);
    assert_int_equal(pop(&deque, 0), 0);
    assert_false(thrum__deque_has_hidden(&deque));
    assert_true(thrum__deque_check(&deque));
    thrum__deque_fini(&deque);
}

TEST(an_owner_whose_bar_is_up_takes_nothing_without_asking)
{
    thrum__deque deque;
    bool ask = false;
    assert_int_equal(thrum__deque_init(&deque), 0);
    push_hidden(&deque, 1, 2);
    thrum__deque_ask(&deque);
    assert_int_equal(thrum__deque_pop_owner(&deque, 0, &ask), 0);
    assert_true(ask);
    assert_int_equal(thrum__deque_bottom_owner(&deque), 2);
    assert_int_equal(thrum__deque_pop_locked(&deque, 0, true), 2);
    thrum__deque_unask_locked(&deque);
    ask = false;
    assert_int_equal(thrum__deque_pop_owner(&deque, 0, &ask), 1);
    assert_false(ask);
    thrum__deque_fini(&deque);
}

TEST(an_owner_without_words_of_its_own_takes_half_of_the_others_back)
{
    thrum__deque deque;
    assert_int_equal(thrum__deque_init(&deque), 0);
    push_from_to(&deque, 1, 10);
    assert_int_equal(steal(&deque), 1);
    takes_back_half = true;
    assert_int_equal(pop(&deque, 0), 10);
    takes_back_half = false;
    assert_int_equal(atomic_load(&deque.shown), 5); /* of nine, those with numbers 1 to 4 stay */
    assert_true(thrum__deque_check(&deque));
    assert_int_equal(pop(&deque, 0), 9);
    assert_int_equal(steal(&deque), 2);
    thrum__deque_fini(&deque);
}

TEST(the_owner_gets_the_newest_word_first)
{
    thrum__deque deque;
    assert_int_equal(thrum__deque_init(&deque), 0);
    assert_int_equal(pop(&deque, 0), 0);
    push_from_to(&deque, 1, 100);
    for (uintptr_t word = 100; word > 0; word--)
        assert_int_equal(pop(&deque, 0), word);
    assert_int_equal(pop(&deque, 0), 0);
    assert_true(thrum__deque_check(&deque));
    thrum__deque_fini(&deque);
}

TEST(a_thief_gets_the_oldest_word_first)
{
    thrum__deque deque;
    assert_int_equal(thrum__deque_init(&deque), 0);
    assert_int_equal(steal(&deque), 0);
    push_from_to(&deque, 1, 100);
    for (uintptr_t word = 1; word <= 100; word++)
        assert_int_equal(steal(&deque), word);
    assert_int_equal(steal(&deque), 0);
    assert_int_equal(pop(&deque, 0), 0);
    thrum__deque_fini(&deque);
}

TEST(a_pop_leaves_what_lies_below_its_base)
{
    thrum__deque deque;
    assert_int_equal(thrum__deque_init(&deque), 0);
    push_from_to(&deque, 1, 3);
    int64_t base = thrum__deque_bottom_owner(&deque);
    assert_int_equal(base, 3);
    assert_int_equal(pop(&deque, base), 0);
    push_from_to(&deque, 4, 5);
    assert_int_equal(pop(&deque, base), 5);
    assert_int_equal(pop(&deque, base), 4);
    assert_int_equal(pop(&deque, base), 0);
    assert_true(thrum__deque_has_words(&deque));
    assert_int_equal(pop(&deque, 0), 3);
    thrum__deque_fini(&deque);
}

TEST(a_base_holds_when_thieves_have_gone_beyond_it)
{
    thrum__deque deque;
    assert_int_equal(thrum__deque_init(&deque), 0);
    push_from_to(&deque, 1, 4);
    for (uintptr_t word = 1; word <= 4; word++)
        assert_int_equal(steal(&deque), word);
    assert_int_equal(pop(&deque, 2), 0);
    assert_int_equal(thrum__deque_bottom_owner(&deque), 4);
    push_from_to(&deque, 5, 5);
    assert_int_equal(pop(&deque, 2), 5);
    assert_int_equal(pop(&deque, 2), 0);
    assert_int_equal(thrum__deque_bottom_owner(&deque), 5);
    thrum__deque_fini(&deque);
}

TEST(a_take_fails_when_the_owner_has_popped_the_word)
{
    thrum__deque deque;
    int64_t number = -1;
    assert_int_equal(thrum__deque_init(&deque), 0);
    push_from_to(&deque, 7, 7);
    assert_int_equal(thrum__deque_peek(&deque, &number), 7);
    assert_int_equal(number, 0);
    assert_int_equal(pop(&deque, 0), 7);
    assert_false(thrum__deque_take(&deque, number));
    push_from_to(&deque, 8, 8);
    assert_false(thrum__deque_take(&deque, number));
    assert_int_equal(steal(&deque), 8);
    thrum__deque_fini(&deque);
}

TEST(a_take_fails_when_another_thief_was_first)
{
    thrum__deque deque;
    int64_t first = -1, second = -1;
    assert_int_equal(thrum__deque_init(&deque), 0);
    push_from_to(&deque, 1, 2);
    assert_int_equal(thrum__deque_peek(&deque, &first), 1);
    assert_int_equal(thrum__deque_peek(&deque, &second), 1);
    assert_true(thrum__deque_take(&deque, first));
    assert_false(thrum__deque_take(&deque, second));
    assert_int_equal(pop(&deque, 0), 2);
    thrum__deque_fini(&deque);
}

TEST(a_peek_that_is_not_followed_by_a_take_changes_nothing)
{
    thrum__deque deque;
    int64_t number = -1;
    assert_int_equal(thrum__deque_init(&deque), 0);
    push_from_to(&deque, 1, 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(thrum__deque_peek(&deque, &number), 1);
    assert_int_equal(pop(&deque, 0), 2);
    assert_int_equal(pop(&deque, 0), 1);
    assert_int_equal(thrum__deque_peek(&deque, &number), 0);
    thrum__deque_fini(&deque);
}

TEST(growing_keeps_every_word_in_its_order)
{
    enum { MOST = 5 * THRUM__DEQUE_FIRST, STOLEN = 300 };
    thrum__deque deque;
    assert_int_equal(thrum__deque_init(&deque), 0);
    push_from_to(&deque, 1, STOLEN);
    for (uintptr_t word = 1; word <= STOLEN; word++)
        assert_int_equal(steal(&deque), word);
    push_from_to(&deque, STOLEN + 1, MOST);
    assert_true(thrum__deque_check(&deque));
    for (uintptr_t word = MOST; word > MOST / 2; word--)
        assert_int_equal(pop(&deque, 0), word);
    for (uintptr_t word = STOLEN + 1; word <= MOST / 2; word++)
        assert_int_equal(steal(&deque), word);
    assert_false(thrum__deque_has_words(&deque));
    thrum__deque_fini(&deque);
}

TEST(a_word_that_was_seen_before_growing_can_be_taken_after)
{
    thrum__deque deque;
    int64_t number = -1;
    assert_int_equal(thrum__deque_init(&deque), 0);
    push_from_to(&deque, 1, THRUM__DEQUE_FIRST);
    assert_int_equal(thrum__deque_peek(&deque, &number), 1);
    push_from_to(&deque, THRUM__DEQUE_FIRST + 1, THRUM__DEQUE_FIRST + 1);
    assert_true(thrum__deque_take(&deque, number));
    assert_int_equal(steal(&deque), 2);
    thrum__deque_fini(&deque);
}

TEST(thieves_that_make_room_spare_the_deque_the_growing)
{
    thrum__deque deque;
    assert_int_equal(thrum__deque_init(&deque), 0);
    thrum__alloc_fail_after(0);
    for (uintptr_t word = 1; word <= 4 * THRUM__DEQUE_FIRST; word++) {
        push_from_to(&deque, word, word);
        if (word > THRUM__DEQUE_FIRST / 2)
            assert_int_equal(steal(&deque), word - THRUM__DEQUE_FIRST / 2);
    }
    thrum__alloc_fail_after(-1);
    thrum__deque_fini(&deque);
}

TEST(a_full_deque_without_memory_refuses_the_word_and_keeps_the_rest)
{
    thrum__deque deque;
    assert_int_equal(thrum__deque_init(&deque), 0);
    push_from_to(&deque, 1, THRUM__DEQUE_FIRST);
    thrum__alloc_fail_after(0);
    assert_false(thrum__deque_push_owner(&deque, 5000));
    assert_false(thrum__deque_push_owner(&deque, 5000));
    assert_true(thrum__deque_check(&deque));
    assert_int_equal(steal(&deque), 1);
    assert_true(thrum__deque_push_owner(&deque, 5001));
    assert_false(thrum__deque_push_owner(&deque, 5002));
    thrum__alloc_fail_after(-1);
    assert_true(thrum__deque_push_owner(&deque, 5003));
    assert_int_equal(pop(&deque, 0), 5003);
    assert_int_equal(pop(&deque, 0), 5001);
    assert_int_equal(pop(&deque, 0), THRUM__DEQUE_FIRST);
    assert_int_equal(steal(&deque), 2);
    thrum__deque_fini(&deque);
}

TEST(a_deque_without_memory_is_not_made)
{
    thrum__deque deque;
    thrum__alloc_fail_after(0);
    assert_int_equal(thrum__deque_init(&deque), -1);
    thrum__alloc_fail_after(-1);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

enum { THIEVES = 3 };

/* A word is the address of an item. `content` is plain: the deque alone orders the owner's write before the reading. */
struct item {
    size_t content;
    atomic_int taken;
};

struct duel {
    thrum__deque deque;
    struct item *items;
    size_t count;
    atomic_size_t out;
    atomic_int mistakes;
};

static void take_item(struct duel *duel, uintptr_t word)
{
    struct item *item = (struct item *)word;
    if (item->content != (size_t)(item - duel->items) + 1)
        atomic_fetch_add_explicit(&duel->mistakes, 1, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&item->taken, 1, memory_order_relaxed) != 0)
        atomic_fetch_add_explicit(&duel->mistakes, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&duel->out, 1, memory_order_relaxed);
}

/* Shows words behind the owner's back; the bar stays up until the owner has held the door. */
static void raid(struct duel *duel, int64_t most)
{
    if (!thrum__lock_try(&door))
        return;
    thrum__deque_ask(&duel->deque);
    thrum__barrier_heavy();
    thrum__deque_show_locked(&duel->deque, most);
    thrum__lock_give(&door);
}

static void *be_thief(void *arg)
{
    struct duel *duel = arg;
    int64_t most = 0;
    while (atomic_load_explicit(&duel->out, memory_order_relaxed) < duel->count) {
        uintptr_t word = steal(&duel->deque);
        if (word)
            take_item(duel, word);
        else if (thrum__deque_has_hidden(&duel->deque))
            raid(duel, ++most % 5);
        else
            sched_yield();
    }
    return NULL;
}

/* Pushes in bursts and pops most of each again; burst and rest are chosen so that the last word is often fought for. */
static void be_owner(struct duel *duel, size_t burst)
{
    size_t pushed = 0;
    while (pushed < duel->count) {
        for (size_t i = 0; i < burst && pushed < duel->count; i++, pushed++) {
            duel->items[pushed].content = pushed + 1;
            if (!thrum__deque_push_owner(&duel->deque, (uintptr_t)&duel->items[pushed]))
                atomic_fetch_add_explicit(&duel->mistakes, 1, memory_order_relaxed);
        }
        for (size_t i = 0; i < burst; i++) {
            uintptr_t word = pop(&duel->deque, 0);
            if (word)
                take_item(duel, word);
        }
    }
    for (uintptr_t word; (word = pop(&duel->deque, 0)) != 0;)
        take_item(duel, word);
}

static void fight(size_t count, size_t burst)
{
    static struct duel duel;
    pthread_t threads[THIEVES];
    memset(&duel, 0, sizeof duel);
    duel.items = calloc(count, sizeof *duel.items);
    duel.count = count;
    assert_non_null(duel.items);
    thrum__barrier_init();
    assert_int_equal(thrum__deque_init(&duel.deque), 0);
    for (int i = 0; i < THIEVES; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, be_thief, &duel), 0);
    be_owner(&duel, burst);
    for (int i = 0; i < THIEVES; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(duel.mistakes, 0);
    assert_int_equal(duel.out, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(duel.items[i].taken, 1);
    assert_true(thrum__deque_check(&duel.deque));
    assert_false(thrum__deque_has_words(&duel.deque));
    thrum__deque_fini(&duel.deque);
    free(duel.items);
}

TEST(every_word_comes_out_once_when_the_last_one_is_fought_for)
{
    fight(300000, 1);
    takes_back_half = true;
    fight(300000, 2);
    takes_back_half = false;
}

TEST(every_word_comes_out_once_from_a_deque_that_grows)
{
    fight(300000, 5000);
    takes_back_half = true;
    fight(300000, 40);
    takes_back_half = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thief_sees_nothing_but_what_is_shown),
        cmocka_unit_test(an_owner_whose_bar_is_up_takes_nothing_without_asking),
        cmocka_unit_test(an_owner_without_words_of_its_own_takes_half_of_the_others_back),
        cmocka_unit_test(the_owner_gets_the_newest_word_first),
        cmocka_unit_test(a_thief_gets_the_oldest_word_first),
        cmocka_unit_test(a_pop_leaves_what_lies_below_its_base),
        cmocka_unit_test(a_base_holds_when_thieves_have_gone_beyond_it),
        cmocka_unit_test(a_take_fails_when_the_owner_has_popped_the_word),
        cmocka_unit_test(a_take_fails_when_another_thief_was_first),
        cmocka_unit_test(a_peek_that_is_not_followed_by_a_take_changes_nothing),
        cmocka_unit_test(growing_keeps_every_word_in_its_order),
        cmocka_unit_test(a_word_that_was_seen_before_growing_can_be_taken_after),
        cmocka_unit_test(thieves_that_make_room_spare_the_deque_the_growing),
        cmocka_unit_test(a_full_deque_without_memory_refuses_the_word_and_keeps_the_rest),
        cmocka_unit_test(a_deque_without_memory_is_not_made),
        cmocka_unit_test(every_word_comes_out_once_when_the_last_one_is_fought_for),
        cmocka_unit_test(every_word_comes_out_once_from_a_deque_that_grows),
    };
    return RUN_TESTS(tests, 60);
}
