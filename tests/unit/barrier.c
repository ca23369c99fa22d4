/* SPDX-License-Identifier: MIT
 *
 * The asymmetric barrier: of two sides that each write and then read what the other writes, one sees the other.
 *
 * Both sides run freely, without meeting, which is what lets a processor's store buffer show. The frequent side writes
 * 1, 2, 3, ... to A and notes for each what it read from B; the rare side writes 1, 2, 3, ... to B and notes what it
 * read from A. If the rare side's j-th look did not see the frequent side's i-th write, then that one's look saw j or
 * more.
 */
#include "tasks.h"

#include "random.h"
#include "sys/barrier.h"
#include "sys/clock.h"
#include "sys/park.h"

enum { FREQUENT = 1 << 23, RARE = 1 << 22 };
static const int64_t most_ns = 1000000000; /* the test ends after that, or when a table is full */

static _Alignas(64) _Atomic uint32_t side_a;
static _Alignas(64) _Atomic uint32_t side_b;
static _Alignas(64) atomic_bool rare_ended;
static atomic_bool rare_began;
static uint32_t b_after[FREQUENT + 1]; /* what the frequent side read after its i-th write */
static uint32_t a_after[RARE + 1];     /* what the rare side read after its j-th write */

/* Pauses of any length, so that the two sides meet in every phase. */
static void pause_a_bit(struct random *random, size_t most)
{
    for (size_t i = random_below(random, most + 1); i > 0; i--)
        thrum__relax();
}

static void *be_frequent(void *arg)
{
    uint32_t *writes = arg;
    struct random random = random_new(1);
    uint32_t i = 0;
    while (!atomic_load_explicit(&rare_began, memory_order_relaxed))
        sched_yield();
    while (i < FREQUENT && !atomic_load_explicit(&rare_ended, memory_order_relaxed)) {
        i++;
        atomic_store_explicit(&side_a, i, memory_order_relaxed);
        thrum__barrier_light();
        b_after[i] = atomic_load_explicit(&side_b, memory_order_relaxed);
        pause_a_bit(&random, 3);
    }
    *writes = i;
    return NULL;
}

static uint32_t be_rare(void)
{
    uint32_t j = 0;
    struct random random = random_new(2);
    int64_t begin = thrum__now();
    atomic_store_explicit(&rare_began, true, memory_order_relaxed);
    while (j < RARE && atomic_load_explicit(&side_a, memory_order_relaxed) < FREQUENT) {
        if (j % 1024 == 0 && thrum__now() - begin > most_ns)
            break;
        pause_a_bit(&random, 7);
        j++;
        atomic_store_explicit(&side_b, j, memory_order_relaxed);
        thrum__barrier_heavy();
        a_after[j] = atomic_load_explicit(&side_a, memory_order_relaxed);
    }
    atomic_store_explicit(&rare_ended, true, memory_order_relaxed);
    return j;
}

TEST(one_of_the_two_sides_sees_the_other)
{
    uint32_t frequent = 0, missed = 0;
    pthread_t thread;
    thrum__barrier_init();
    assert_int_equal(pthread_create(&thread, NULL, be_frequent, &frequent), 0);
    uint32_t rare = be_rare();
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (uint32_t j = 1; j <= rare; j++) {
        uint32_t unseen = a_after[j] + 1;
        missed += unseen <= frequent && b_after[unseen] < j;
    }
    print_message("           %u writes on the frequent side, %u on the rare one\n", frequent, rare);
    assert_int_equal(missed, 0);
}

TEST(looking_for_membarrier_twice_gives_the_same)
{
    thrum__barrier_init();
    bool first = thrum__has_membarrier;
    thrum__barrier_init();
    assert_int_equal(thrum__has_membarrier, first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_the_two_sides_sees_the_other),
        cmocka_unit_test(looking_for_membarrier_twice_gives_the_same),
    };
    return RUN_TESTS(tests, 60);
}
