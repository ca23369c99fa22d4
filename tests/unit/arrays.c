/* SPDX-License-Identifier: MIT
 *
 * Large arrays: what is kept when they are freed, for whom, and how much. The tests come in this order: nothing is kept
 * when the first one begins.
 */
#include "test.h"

#include "base/alloc.h"

#include <pthread.h>
#include <sys/mman.h>

enum { UNIT = 1 << 21, MOST_KEPT = 64 << 20 };

static bool is_mapped(void *memory)
{
    unsigned char there;
    return mincore(memory, 4096, &there) == 0;
}

TEST(a_new_array_goes_back_to_the_system_unless_it_is_to_be_kept)
{
    char *array = thrum__array(3 * UNIT);
    array[0] = array[3 * UNIT - 1] = 1;
    thrum__array_free(array, 3 * UNIT);
    assert_false(is_mapped(array));
}

TEST(a_kept_array_is_handed_out_again)
{
    char *array = thrum__array(3 * UNIT);
    thrum__array_keep(array, 3 * UNIT);
    assert_true(is_mapped(array));
    assert_ptr_equal(thrum__array(3 * UNIT - 100), array);
    thrum__array_keep(array, 3 * UNIT - 100);
}

TEST(what_was_kept_before_is_kept_again_when_freed)
{
    char *array = thrum__array(3 * UNIT);
    thrum__array_free(array, 3 * UNIT);
    assert_true(is_mapped(array));
    assert_ptr_equal(thrum__array(3 * UNIT), array);
    thrum__array_free(array, 3 * UNIT);
}

TEST(of_a_larger_array_the_rest_stays)
{
    char *array = thrum__array(UNIT), *rest = thrum__array(2 * UNIT);
    assert_ptr_equal(rest, array + UNIT);
    thrum__array_free(array, UNIT);
    thrum__array_free(rest, 2 * UNIT);
}

TEST(an_allocation_that_is_to_fail_fails_also_when_something_is_kept)
{
    thrum__alloc_fail_after(0);
    void *array = thrum__array(UNIT);
    thrum__alloc_fail_after(-1);
    assert_null(array);
}

TEST(no_more_than_the_limit_is_kept)
{
    enum { ARRAYS = 12, EACH = 4 * UNIT };
    char *arrays[ARRAYS];
    size_t kept = 0;
    for (int i = 0; i < ARRAYS; i++)
        arrays[i] = thrum__array(EACH);
    for (int i = 0; i < ARRAYS; i++)
        thrum__array_keep(arrays[i], EACH);
    for (int i = 0; i < ARRAYS; i++)
        kept += is_mapped(arrays[i]) ? EACH : 0;
    assert_in_range(kept, MOST_KEPT - 2 * EACH, MOST_KEPT);
}

static void *take_and_keep(void *arg)
{
    for (size_t round = 0; round < 2000; round++) {
        size_t size = (1 + round % 3) * UNIT;
        size_t *array = thrum__array(size);
        array[0] = array[size / sizeof *array - 1] = (size_t)arg;
        if (array[0] != (size_t)arg || array[size / sizeof *array - 1] != (size_t)arg)
            return "somebody else has the same array";
        (round % 2 ? thrum__array_keep : thrum__array_free)(array, size);
    }
    return NULL;
}

TEST(threads_do_not_get_the_same_array)
{
    pthread_t threads[3];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_keep, (void *)(i + 1)), 0);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

/* The allocator's own notes lie behind the end: it finds out when they are gone. */
TEST(aligned_memory_is_zeroed_to_its_end_and_no_further)
{
    unsigned char *memory[300];
    for (size_t size = 1; size < COUNT_OF(memory); size++) {
        memory[size] = thrum__zalloc_aligned(size);
        assert_int_equal((uintptr_t)memory[size] % 64, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(memory[size][i], 0);
    }
    for (size_t size = 1; size < COUNT_OF(memory); size++)
        thrum__free(memory[size]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_array_goes_back_to_the_system_unless_it_is_to_be_kept),
        cmocka_unit_test(a_kept_array_is_handed_out_again),
        cmocka_unit_test(what_was_kept_before_is_kept_again_when_freed),
        cmocka_unit_test(of_a_larger_array_the_rest_stays),
        cmocka_unit_test(an_allocation_that_is_to_fail_fails_also_when_something_is_kept),
        cmocka_unit_test(no_more_than_the_limit_is_kept),
        cmocka_unit_test(threads_do_not_get_the_same_array),
        cmocka_unit_test(aligned_memory_is_zeroed_to_its_end_and_no_further),
    };
    return RUN_TESTS(tests, 30);
}
