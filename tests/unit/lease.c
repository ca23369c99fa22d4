/* SPDX-License-Identifier: MIT
 *
 * A lease of something that one thread at a time has: who has it when, and that there is one at a time inside whoever
 * it is.
 */
#include "test.h"

#include "random.h"
#include "sys/lease.h"
#include "sys/park.h"

#include <pthread.h>
#include <unistd.h>

enum { ROUNDS = SANITIZED_THREAD ? 4000 : 60000, ROW = 8, LESSEES = 2 };

TEST(there_is_no_lease_at_first)
{
    thrum__leased leased = {NULL};
    thrum__lease lease = {false, false};
    thrum__barrier_init();
    assert_false(thrum__lease_enter(&lease));
    assert_true(thrum__lease_end(&leased));
    thrum__lease_give_up(&lease);
    assert_false(thrum__lease_enter(&lease));
}

TEST(a_lease_lasts_until_another_ends_it)
{
    thrum__leased leased = {NULL};
    thrum__lease lease = {false, false};
    thrum__lease_grant(&leased, &lease);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(thrum__lease_enter(&lease), thrum__has_membarrier);
        if (thrum__has_membarrier)
            assert_true(thrum__lease_leave(&lease));
    }
    assert_true(thrum__lease_end(&leased));
    assert_false(thrum__lease_enter(&lease));
    assert_null(atomic_load(&leased.to));
}

TEST(whoever_ends_it_has_the_thing_when_the_lessee_has_left)
{
    thrum__leased leased = {NULL};
    thrum__lease lease = {false, false};
    thrum__lease_grant(&leased, &lease);
    if (!thrum__lease_enter(&lease))
        return;
    assert_false(thrum__lease_end(&leased));
    assert_false(thrum__lease_end(&leased)); /* whoever comes next */
    assert_false(thrum__lease_leave(&lease));
    assert_true(thrum__lease_end(&leased));
    assert_false(thrum__lease_enter(&lease));
}

TEST(a_lease_that_was_given_up_is_none)
{
    thrum__leased leased = {NULL};
    thrum__lease lease = {false, false};
    thrum__lease_grant(&leased, &lease);
    thrum__lease_give_up(&lease);
    assert_false(thrum__lease_enter(&lease));
    assert_true(thrum__lease_end(&leased));
}

/* ---- Many threads ------------------------------------------------------------------------------------------------ */

static thrum__lock lock; /* the other way to have it */
static thrum__leased shared;
static uint64_t count; /* of whoever has it */
static atomic_bool enough;
static atomic_int begun;

typedef struct thread {
    pthread_t id;
    thrum__lease lease;
    struct random random;
    uint64_t had, leased;
    int row;
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
    t->had++;
}

/* False: it gave up. */
static bool have_otherwise(thread *t, bool waits)
{
    thrum__lock_take(&lock);
    while (!thrum__lease_end(&shared)) {
        if (!waits) {
            thrum__lock_give(&lock);
            return false;
        }
        thrum__relax();
    }
    raise_count(t);
    return true;
}

static void have_by_lease(thread *t)
{
    if (thrum__lease_enter(&t->lease)) {
        raise_count(t);
        thrum__lease_leave(&t->lease);
        t->leased++;
    } else if (have_otherwise(t, false)) {
        if (++t->row % ROW == 0)
            thrum__lease_grant(&shared, &t->lease);
        thrum__lock_give(&lock);
    }
    if (random_next(&t->random) % 1024 == 0)
        thrum__lease_give_up(&t->lease);
}

static void *be_lessee(void *arg)
{
    for (int i = 0; !atomic_load_explicit(&enough, memory_order_relaxed); i++) {
        have_by_lease(arg);
        if (i == 1000)
            atomic_fetch_add(&begun, 1);
    }
    return NULL;
}

static void *end_leases(void *arg)
{
    thread *t = arg;
    for (int round = 0; round < ROUNDS; round++) {
        if (have_otherwise(t, round % 2))
            thrum__lock_give(&lock);
        for (uint64_t moments = random_next(&t->random) % 64; moments > 0; moments--)
            stay_a_moment(t);
    }
    return NULL;
}

TEST(one_at_a_time_has_it)
{
    static thread lessees[LESSEES], other;
    uint64_t had = 0, leased = 0;
    other.random = random_new(9);
    for (int i = 0; i < LESSEES; i++) {
        lessees[i].random = random_new((uint64_t)i);
        assert_int_equal(pthread_create(&lessees[i].id, NULL, be_lessee, &lessees[i]), 0);
    }
    while (atomic_load(&begun) < LESSEES)
        usleep(100);
    assert_int_equal(pthread_create(&other.id, NULL, end_leases, &other), 0);
    pthread_join(other.id, NULL);
    atomic_store(&enough, true);
    for (int i = 0; i < LESSEES; i++) {
        pthread_join(lessees[i].id, NULL);
        had += lessees[i].had;
        leased += lessees[i].leased;
    }
    assert_int_equal(count, had + other.had);
    assert_int_equal(leased > 0, thrum__has_membarrier);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_is_no_lease_at_first),
        cmocka_unit_test(a_lease_lasts_until_another_ends_it),
        cmocka_unit_test(whoever_ends_it_has_the_thing_when_the_lessee_has_left),
        cmocka_unit_test(a_lease_that_was_given_up_is_none),
        cmocka_unit_test(one_at_a_time_has_it),
    };
    return RUN_TESTS(tests, 30);
}
