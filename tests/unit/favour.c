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

enum { THREADS = 3, ROUNDS = SANITIZED_THREAD ? 100 : 400, ROW_MOST = 2 * THRUM__FAVOUR_ROW };

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

/* ---- Many threads ------------------------------------------------------------------------------------------------- */

static thrum__favour shared;
static uint64_t count; /* with the lock */

typedef struct thread {
    pthread_t id;
    struct random random;
    uint64_t taken, entered;
} thread;

static void *take_in_bursts(void *arg)
{
    thread *t = arg;
    for (int round = 0; round < ROUNDS; round++) {
        int burst = (int)(random_next(&t->random) % (2 * ROW_MOST));
        for (int i = 0; i < burst; i++) {
            bool entered = thrum__favour_take(&shared);
            count++;
            thrum__favour_give(&shared, entered);
            t->entered += entered;
        }
        t->taken += (uint64_t)burst;
        if (round % 4 == 0)
            usleep(10);
    }
    return NULL;
}

/* In the first one's bursts it is the favourite, which the others take away; and there is never another one. */
TEST(one_at_a_time_is_inside)
{
    thread threads[THREADS];
    uint64_t taken = 0, entered = 0;
    for (int i = 0; i < THREADS; i++) {
        threads[i] = (thread){.random = random_new((uint64_t)i + 1)};
        assert_int_equal(pthread_create(&threads[i].id, NULL, take_in_bursts, &threads[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i].id, NULL);
        taken += threads[i].taken;
        entered += threads[i].entered > 0;
    }
    assert_int_equal(count, taken);
    assert_in_range(entered, 0, 1);
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
