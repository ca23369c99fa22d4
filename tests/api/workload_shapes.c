/* SPDX-License-Identifier: MIT
 *
 * Workloads made by rule: how large they are, that a seed gives the same again, and what is refused.
 */
#include "test.h"

#include <unistd.h>

static thrum_workload_size size_of(const char *text)
{
    thrum_workload_size size = {0};
    thrum_workload *w = thrum_workload_generate(text);
    if (!w || thrum_workload_measure(w, &size) != 0)
        fail_msg("%s: %s", text, thrum_message(NULL));
    thrum_workload_free(w);
    return size;
}

static char *text_of(const char *text)
{
    thrum_workload *w = thrum_workload_generate(text);
    char path[] = "workload-XXXXXX", *content = calloc(1, 1 << 20);
    int fd = mkstemp(path);
    assert_int_equal(thrum_workload_write(w, path), 0);
    FILE *file = fdopen(fd, "r");
    assert_true(fread(content, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    unlink(path);
    thrum_workload_free(w);
    return content;
}

TEST(each_shape_has_its_tasks_and_depth)
{
    thrum_workload_size size = size_of("stencil;width=10;steps=7");
    assert_int_equal(size.tasks, 70);
    assert_int_equal(size.depth, 7);
    assert_int_equal(size.edges, 6 * (3 * 10 - 2));
    size = size_of("fft;points=8");
    assert_int_equal(size.tasks, 32);
    assert_int_equal(size.depth, 4);
    assert_int_equal(size.edges, 2 * 24);
    size = size_of("fork-join;tasks=23;width=10");
    assert_int_equal(size.tasks, 23);
    assert_int_equal(size.depth, 5);
    assert_int_equal(size.edges, 10 + 10 + 10 + 10);
    size = size_of("layered;tasks=95;width=10;degree=1");
    assert_int_equal(size.tasks, 95);
    assert_int_equal(size.depth, 10);
    assert_int_equal(size.edges, 85);
    size = size_of("random;tasks=1000;degree=4");
    assert_int_equal(size.tasks, 1000);
    assert_in_range(size.edges, 3500, 4500);
}

TEST(without_bytes_there_are_edges_and_the_order_is_the_same)
{
    static const char *const shapes[] = {"layered", "random", "stencil", "fork-join", "fft;points=32"};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        char text[64];
        snprintf(text, sizeof text, "%s;bytes=0", shapes[i]);
        thrum_workload_size with = size_of(shapes[i]), without = size_of(text);
        assert_int_equal(with.edges, without.edges);
        assert_int_equal(with.depth, without.depth);
        assert_true(with.work == without.work);
        assert_int_equal(without.data, 0);
        assert_int_equal(with.data, with.tasks);
        assert_true(with.bytes == with.tasks * 1048576.0);
    }
}

TEST(a_seed_gives_the_same_again_and_another_one_something_else)
{
    char *one = text_of("random;tasks=50;seed=5"), *same = text_of("random;tasks=50;seed=5"),
         *other = text_of("random;tasks=50;seed=6");
    assert_string_equal(one, same);
    assert_string_not_equal(one, other);
    free(one);
    free(same);
    free(other);
}

TEST(work_and_kinds_are_as_they_were_asked_for)
{
    thrum_workload_size size = size_of("layered;tasks=10000;work=3;spread=1");
    assert_true(size.work > 29000 && size.work < 31000);
    assert_int_equal(size.codelets, 1);
    assert_true(size_of("layered;tasks=100;work=3;spread=0").work == 300);
    assert_int_equal(size_of("layered;device=0.3;both=0.3").codelets, 3);
    char *text = text_of("layered;tasks=200;device=0.5;both=0");
    assert_contains(text, "codelet work-device emu\n");
    assert_contains(text, "codelet work-cpu cpu\n");
    size_t on_device = 0;
    for (const char *at = text; (at = strstr(at, "task work-device ")); at++)
        on_device++;
    assert_in_range(on_device, 70, 130);
    free(text);
}

static void refuse(const char *text, const char *sentence)
{
    assert_null(thrum_workload_generate(text));
    assert_contains(thrum_message(NULL), sentence);
}

TEST(wrong_shapes_and_settings_are_refused)
{
    refuse(NULL, "the text is NULL");
    refuse("layerd", "there is no shape 'layerd'; did you mean 'layered'? There are layered, random, stencil");
    refuse("", "there is no shape ''");
    refuse("fft;width=3", "the shape 'fft' has no setting 'width'");
    refuse("stencil;stps=3", "did you mean 'steps'?");
    refuse("stencil;steps=0", "'steps=0': that must be a whole number from 1 to");
    refuse("stencil;steps=1.5", "that must be a whole number");
    refuse("stencil;steps=-1", "that must be a whole number");
    refuse("stencil;steps", "steps");
    refuse("stencil;width=1e6;steps=1e6", "that would be 1e+12 tasks");
    refuse("layered;tasks=1e9", "'tasks=1e9'");
    refuse("layered;spread=2", "'spread=2': that must be a number from 0 to 1");
    refuse("layered;bytes=1parsec", "1parsec");
    refuse("layered;device=0.7;both=0.7", "device=0.7 and both=0.7 are shares");
    refuse("fft;points=12", "that must be a power of two");
    refuse("fork-join;width=5000", "from 1 to 4096");
}

TEST(shapes_are_listed_with_their_settings)
{
    int count = 0;
    const thrum_setting *settings;
    for (const char *name; (name = thrum_workload_shape(count, &settings)); count++) {
        thrum_workload *w = thrum_workload_generate(name);
        assert_non_null(w);
        assert_string_equal(thrum_workload_name(w), name);
        thrum_workload_free(w);
        for (; settings->key; settings++)
            assert_true(settings->initial && settings->range && settings->help);
    }
    assert_int_equal(count, 5);
    assert_null(thrum_workload_shape(-1, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_shape_has_its_tasks_and_depth),
        cmocka_unit_test(without_bytes_there_are_edges_and_the_order_is_the_same),
        cmocka_unit_test(a_seed_gives_the_same_again_and_another_one_something_else),
        cmocka_unit_test(work_and_kinds_are_as_they_were_asked_for),
        cmocka_unit_test(wrong_shapes_and_settings_are_refused),
        cmocka_unit_test(shapes_are_listed_with_their_settings),
    };
    return RUN_TESTS(tests, 60);
}
