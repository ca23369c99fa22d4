/* SPDX-License-Identifier: MIT
 *
 * What misspelled words were meant to be.
 */
#include "test.h"

#include "base/nearest.h"

static const char *const words[] = {"count", "workers", "memory", "gpu", "a"};

static const char *nearest(const char *word)
{
    return thrum__nearest(word, words, COUNT_OF(words));
}

TEST(a_typing_mistake_is_understood)
{
    assert_string_equal(nearest("count"), "count");
    assert_string_equal(nearest("cuont"), "count"); /* swapped */
    assert_string_equal(nearest("cout"), "count");  /* left out */
    assert_string_equal(nearest("couunt"), "count");
    assert_string_equal(nearest("wirkers"), "workers");
    assert_string_equal(nearest("gup"), "gpu");
}

TEST(another_word_is_not)
{
    assert_null(nearest("bandwidth"));
    assert_null(nearest("xyz"));
    assert_null(nearest("a word that is longer than any that could be meant by somebody who types it"));
    assert_null(thrum__nearest("count", NULL, 0));
}

TEST(messages_have_it_or_not)
{
    char text[THRUM__MEANT_TEXT];
    assert_string_equal(thrum__meant("memry", words, COUNT_OF(words), text), "; did you mean 'memory'?");
    assert_string_equal(thrum__meant("xyz", words, COUNT_OF(words), text), ";");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_typing_mistake_is_understood),
        cmocka_unit_test(another_word_is_not),
        cmocka_unit_test(messages_have_it_or_not),
    };
    return RUN_TESTS(tests, 20);
}
