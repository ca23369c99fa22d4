/* SPDX-License-Identifier: MIT
 *
 * The first error of a root, and its sentence: for those who look while it is being kept, and without memory.
 */
#include "tasks.h"

#include "base/alloc.h"
#include "base/fault.h"

static const char sentence[] = "line 17 is not a number, and a sentence of some length says so";

struct failing {
    thrum__root root;
    atomic_int round; /* that may be failed; negative: that has been */
};

enum { ROUNDS = 10000, SPINS = 1000 };

static void await_round(struct failing *f, int round)
{
    for (int spins = 0; atomic_load(&f->round) != round; spins++)
        if (spins > SPINS)
            sched_yield();
}

static void await_code(const struct failing *f)
{
    for (int spins = 0; !thrum__root_code(&f->root); spins++)
        if (spins > SPINS)
            sched_yield();
}

static void *fail_each_round(void *arg)
{
    struct failing *f = arg;
    for (int round = 1; round <= ROUNDS; round++) {
        await_round(f, round);
        thrum__root_fail(&f->root, THRUM_EDEVICE, sentence);
        atomic_store(&f->round, -round);
    }
    return NULL;
}

/* Who inserts into a flow looks at its error before each task. */
TEST(whoever_sees_that_there_is_an_error_gets_its_sentence)
{
    struct failing f = {.round = 0};
    pthread_t other;
    int wrong = 0;
    assert_int_equal(pthread_create(&other, NULL, fail_each_round, &f), 0);
    for (int round = 1; round <= ROUNDS; round++) {
        atomic_store(&f.round, round);
        await_code(&f);
        wrong += strcmp(thrum__root_text(&f.root), sentence) != 0;
        await_round(&f, -round);
        thrum__root_clear(&f.root);
    }
    pthread_join(other, NULL);
    assert_int_equal(wrong, 0);
}

TEST(the_first_error_counts)
{
    thrum__root root = {0};
    assert_string_equal(thrum__root_text(&root), "");
    thrum__root_fail(&root, 5, "the first");
    thrum__root_fail(&root, 6, "the second");
    assert_int_equal(thrum__root_code(&root), 5);
    assert_string_equal(thrum__root_text(&root), "the first");
    assert_true(thrum__is_cancelled(root.attention));
    thrum__root_clear(&root);
    assert_string_equal(thrum__root_text(&root), "");
    assert_false(thrum__is_cancelled(root.attention));
}

TEST(without_memory_for_a_sentence_the_code_speaks)
{
    thrum__root root = {0};
    thrum__alloc_fail_after(0);
    thrum__root_fail(&root, THRUM_EDEVICE, sentence);
    thrum__alloc_fail_after(-1);
    assert_string_equal(thrum__root_text(&root), thrum_error_text(THRUM_EDEVICE));
    thrum__root_clear(&root);
    assert_string_equal(thrum__root_text(&root), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_sees_that_there_is_an_error_gets_its_sentence),
        cmocka_unit_test(the_first_error_counts),
        cmocka_unit_test(without_memory_for_a_sentence_the_code_speaks),
    };
    return RUN_TESTS(tests, 60);
}
