/* SPDX-License-Identifier: MIT
 *
 * A lock that is cheap for one thread: who becomes the favourite, and that there is one at a time inside whoever it is.
 */
#include "test.h"

#include "random.h"
#include "sys/barrier.h"
#include "sys/favour.h"

#include <pthread.h>
#include <unistd.h>

enum { ROUNDS = SANITIZED_THREAD ? 5000 : 80000, ROW_MOST = 2 * THRUM__FAVOUR_ROW };

static void take_often(thrum__favour *favour, int times)
{
    for (int i = 0; i < times; i++)
        thrum__favour_give(favour, thrum__favour_take(favour));
}

TEST(whoever_takes_it_many_times_in_a_row_is_the_favourite)
{
    thrum__favour favour = {.row = 0};
    thrum__barrier_init();
    assert_false(thrum__favour_enter(&favour));
    take_often(&favour, ROW_MOST);
    assert_int_equal(thrum__favour_enter(&favour), thrum__has_membarrier);
    if (thrum__has_membarrier)
        thrum__favour_leave(&favour);
    thrum__favour_take_lock(&favour); /* which it may do as well */
    thrum__favour_give_lock(&favour);
    assert_int_equal(thrum__favour_take(&favour), thrum__has_membarrier);
    thrum__favour_give(&favour, thrum__has_membarrier);
}

static void *take_once(void *arg)
{
    thrum__favour *favour = arg;
    return thrum__favour_enter(favour) ? favour
                                       : (thrum__favour_take_lock(favour), thrum__favour_give_lock(favour), NULL);
}

TEST(those_who_take_it_now_and_then_do_not_become_the_favourite)
{
    thrum__favour favour = {.row = 0};
    for (int i = 0; i < 10; i++) {
        take_often(&favour, ROW_MOST / 4);
        thrum__favour_take_lock(&favour);
        thrum__favour_give_lock(&favour);
    }
    assert_false(thrum__favour_enter(&favour));
}

TEST(another_thread_takes_the_favour_away)
{
    thrum__favour favour = {.row = 0};
    pthread_t thread;
    void *entered;
    take_often(&favour, ROW_MOST);
    assert_int_equal(pthread_create(&thread, NULL, take_once, &favour), 0);
    pthread_join(thread, &entered);
    assert_null(entered);
    assert_false(thrum__favour_enter(&favour));
    take_often(&favour, ROW_MOST);
    assert_int_equal(thrum__favour_take(&favour), thrum__has_membarrier);
    thrum__favour_give(&favour, thrum__has_membarrier);
}

/* ---- Many threads ------------------------------------------------------------------------------------------------ */

static thrum__favour shared;
static uint64_t count; /* with the lock */
static atomic_bool begun, enough;

typedef struct thread {
    pthread_t id;
    struct random random;
    uint64_t taken, entered;
} thread;

static void stay_a_moment(thread *t)
{
    for (uint64_t pauses = random_next(&t->random) % 4; pauses > 0; pauses--)
        thrum__relax();
}

/* Not in one step, so that two who do it at the same time lose a count. */
static void raise_count(thread *t)
{
    uint64_t before = count;
    atomic_signal_fence(memory_order_seq_cst);
    stay_a_moment(t);
    atomic_signal_fence(memory_order_seq_cst);
    count = before + 1;
    t->taken++;
}

static void take_in_row(thread *t, uint64_t times)
{
    for (uint64_t i = 0; i < times; i++) {
        bool entered = thrum__favour_take(&shared);
        raise_count(t);
        thrum__favour_give(&shared, entered);
        t->entered += entered;
    }
}

/* The first one's favour is taken away all the time. */
static void *be_the_favourite(void *arg)
{
    while (!atomic_load_explicit(&enough, memory_order_relaxed)) {
        take_in_row(arg, ROW_MOST);
        atomic_store_explicit(&begun, true, memory_order_relaxed);
    }
    return NULL;
}

static void *take_it_away(void *arg)
{
    thread *t = arg;
    for (int round = 0; round < ROUNDS; round++) {
        thrum__favour_take_lock(&shared);
        raise_count(t);
        thrum__favour_give_lock(&shared);
        for (uint64_t moments = random_next(&t->random) % 64; moments > 0; moments--)
            stay_a_moment(t);
        if (round % 16 == 0)
            take_in_row(t, ROW_MOST); /* which does not make it the favourite */
    }
    return NULL;
}

TEST(one_at_a_time_is_inside)
{
    thread owner = {.random = random_new(1)}, other = {.random = random_new(2)};
    assert_int_equal(pthread_create(&owner.id, NULL, be_the_favourite, &owner), 0);
    while (!atomic_load(&begun))
        usleep(100);
    assert_int_equal(pthread_create(&other.id, NULL, take_it_away, &other), 0);
    pthread_join(other.id, NULL);
    atomic_store(&enough, true);
    pthread_join(owner.id, NULL);
    assert_int_equal(count, owner.taken + other.taken);
    assert_int_equal(owner.entered > 0, thrum__has_membarrier);
    assert_int_equal(other.entered, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_takes_it_many_times_in_a_row_is_the_favourite),
        cmocka_unit_test(those_who_take_it_now_and_then_do_not_become_the_favourite),
        cmocka_unit_test(another_thread_takes_the_favour_away),
        cmocka_unit_test(one_at_a_time_is_inside),
    };
    return RUN_TESTS(tests, 30);
}
