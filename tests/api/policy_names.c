/* SPDX-License-Identifier: MIT
 *
 * Policies by name: those of the library, the program's own, and those in shared libraries; and what is wrong with
 * some.
 */
#include "test.h"

#include <thrum/executor.h>
#include <thrum/policy.h>

static void push(void *state, const thrum_world *world, thrum_job *job, int from)
{
    (void)state, (void)world, (void)job, (void)from;
}

static thrum_job *pop(void *state, const thrum_world *world, int worker)
{
    (void)state, (void)world, (void)worker;
    return NULL;
}

static bool is_listed(const thrum_policy *policy)
{
    for (int i = 0; thrum_policy_at(i); i++)
        if (thrum_policy_at(i) == policy)
            return true;
    return false;
}

TEST(each_policy_of_the_library_is_found_by_its_name)
{
    static const char *const names[] = {"fifo", "prio",  "random",     "ws",          "lws",
                                        "dmda", "dmdas", "heteroprio", "laheteroprio"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const thrum_policy *policy = thrum_policy_find(names[i]);
        assert_non_null(policy);
        assert_string_equal(policy->name, names[i]);
        assert_true(strlen(policy->about) > 10);
        assert_true(is_listed(policy));
    }
    assert_null(thrum_policy_at(-1));
    assert_null(thrum_policy_at(1000));
}

TEST(an_unknown_name_gets_a_sentence_with_those_that_there_are)
{
    assert_null(thrum_policy_find("dmad"));
    assert_contains(thrum_message(NULL), "there is no policy 'dmad'");
    assert_contains(thrum_message(NULL),
                    "there are: fifo, prio, random, ws, lws, dmda, dmdas, heteroprio, laheteroprio");
    assert_contains(thrum_message(NULL), "'/'");
    assert_null(thrum_policy_find(NULL));
    assert_contains(thrum_message(NULL), "NULL");
    assert_null(thrum_policy_find(""));
}

TEST(a_policy_of_the_programs_own_is_found_by_its_name)
{
    static const thrum_policy mine = {.name = "mine-1_a", .push = push, .pop = pop};
    assert_null(thrum_policy_find("mine-1_a"));
    assert_int_equal(thrum_policy_register(&mine), 0);
    assert_ptr_equal(thrum_policy_find("mine-1_a"), &mine);
    assert_true(is_listed(&mine));
    assert_error(thrum_policy_register(&mine), THRUM_EINVAL, "there is a policy 'mine-1_a' already");
}

TEST(a_policy_that_is_none_is_refused)
{
    static const thrum_policy nameless = {.push = push, .pop = pop}, empty = {.name = "", .push = push, .pop = pop},
                              path = {.name = "a/b", .push = push, .pop = pop},
                              steal = {.name = "steal", .push = push, .pop = pop},
                              taken = {.name = "fifo", .push = push, .pop = pop}, pushless = {.name = "x", .pop = pop},
                              popless = {.name = "x", .push = push};
    assert_error(thrum_policy_register(NULL), THRUM_EINVAL, "NULL");
    assert_error(thrum_policy_register(&nameless), THRUM_EINVAL, "letters, digits");
    assert_error(thrum_policy_register(&empty), THRUM_EINVAL, "letters, digits");
    assert_error(thrum_policy_register(&path), THRUM_EINVAL, "'a/b'");
    assert_error(thrum_policy_register(&steal), THRUM_EINVAL, "built-in stealing");
    assert_error(thrum_policy_register(&taken), THRUM_EINVAL, "'fifo' already");
    assert_error(thrum_policy_register(&pushless), THRUM_EINVAL, "no function 'push'");
    assert_error(thrum_policy_register(&popless), THRUM_EINVAL, "no function 'pop'");
    assert_null(thrum_policy_find("x"));
}

/* ---- Settings ---------------------------------------------------------------------------------------------------- */

static const char *seen_settings;

static int begin(void *state, const thrum_world *world)
{
    (void)state;
    seen_settings = strcmp(world->settings, "depth=3;order.cpu=1,0") == 0 ? "good" : "bad";
    return strcmp(world->settings, "depth=9") == 0 ? THRUM_EINVAL : 0;
}

static void report(const void *state, const thrum_world *world, thrum_report_fn *tell, void *arg)
{
    (void)state, (void)world;
    tell(arg, "answer", 42);
}

static const thrum_setting depth_and_order[] = {
    {"depth", "1", "1 to 9", "how deep"}, {"order.ARCH", "", "numbers", "in which order"}, {0}};
static const thrum_policy settable = {
    .name = "settable", .push = push, .pop = pop, .begin = begin, .settings = depth_and_order, .report = report};

TEST(settings_stand_behind_the_name)
{
    assert_int_equal(thrum_policy_register(&settable), 0);
    assert_ptr_equal(thrum_policy_find("settable"), &settable);
    assert_ptr_equal(thrum_policy_find("settable;depth=3;order.cpu=1,0"), &settable);
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.policy = "settable;depth=3;order.cpu=1,0"});
    assert_non_null(ex);
    assert_string_equal(seen_settings, "good");
    thrum_executor_free(ex);
}

TEST(settings_that_are_none_are_refused)
{
    assert_null(thrum_policy_find("settable;dept=3"));
    assert_contains(thrum_message(NULL), "the policy 'settable' has no setting 'dept'; it has: depth, order.ARCH");
    assert_null(thrum_policy_find("settable;order=3"));
    assert_null(thrum_policy_find("settable;depth"));
    assert_contains(thrum_message(NULL), "'depth' is no setting");
    assert_null(thrum_policy_find("settable;"));
    assert_contains(thrum_message(NULL), "nothing stands behind the semicolon");
    assert_null(thrum_policy_find("settable;depth=1;"));
    assert_null(thrum_policy_find("settable;depth=1;order.cpu=1;depth=2"));
    assert_contains(thrum_message(NULL), "'depth' of the policy 'settable' is given twice");
    assert_ptr_equal(thrum_policy_find("settable;order.emu=1;order.cpu=1"), &settable);
    assert_null(thrum_policy_find("fifo;depth=1"));
    assert_contains(thrum_message(NULL), "the policy 'fifo' has no settings, but 'depth' is given");
    assert_null(thrum_executor_new(&(thrum_config){.policy = "steal;depth=1"}));
    assert_contains(thrum_message(NULL), "has no settings");
    assert_null(thrum_executor_new(&(thrum_config){.policy = "settable;depth=9"}));
    assert_contains(thrum_message(NULL), "'settable' could not begin: no reason is given");
}

static void keep_number(void *arg, const char *key, double value)
{
    if (strcmp(key, "answer") == 0)
        *(double *)arg = value;
}

TEST(a_policy_tells_what_it_has_counted)
{
    double number = 0;
    thrum_executor *ex = thrum_executor_new(&(thrum_config){.policy = "settable"});
    assert_int_equal(thrum_executor_policy_report(ex, keep_number, &number), 0);
    assert_true(number == 42);
    assert_error(thrum_executor_policy_report(ex, NULL, &number), THRUM_EINVAL, "tell is NULL");
    thrum_executor_free(ex);
    number = 0;
    ex = thrum_executor_new(&(thrum_config){.policy = "fifo"});
    assert_int_equal(thrum_executor_policy_report(ex, keep_number, &number), 0);
    assert_true(number == 0);
    thrum_executor_free(ex);
}

/* ---- Libraries: the tests run in the folder of the build --------------------------------------------------------- */

TEST(a_policy_is_loaded_from_a_library)
{
    const thrum_policy *policy = thrum_policy_find("tests/plugins/plugin_good.so");
    assert_non_null(policy);
    assert_string_equal(policy->name, "newest-first");
    assert_ptr_equal(thrum_policy_find("./tests/plugins/plugin_good.so"), policy);
    assert_false(is_listed(policy));
    assert_null(thrum_policy_find("newest-first"));
}

TEST(a_library_that_holds_no_policy_is_refused)
{
    assert_null(thrum_policy_find("tests/plugins/plugin_no_symbol.so"));
    assert_contains(thrum_message(NULL), "'tests/plugins/plugin_no_symbol.so' exports no thrum_policy_plugin");
    assert_null(thrum_policy_find("tests/plugins/plugin_no_push.so"));
    assert_contains(thrum_message(NULL),
                    "'tests/plugins/plugin_no_push.so': the policy 'no-push' has no function 'push'");
    assert_null(thrum_policy_find("tests/plugins/plugin_no_name.so"));
    assert_contains(thrum_message(NULL), "the policy's name is 'two words'");
}

TEST(a_library_that_is_not_there_is_refused)
{
    assert_null(thrum_policy_find("tests/plugins/nowhere.so"));
    assert_contains(thrum_message(NULL), "'tests/plugins/nowhere.so' cannot be loaded");
    assert_null(thrum_policy_find("./CMakeCache.txt"));
    assert_contains(thrum_message(NULL), "'./CMakeCache.txt' cannot be loaded");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_policy_of_the_library_is_found_by_its_name),
        cmocka_unit_test(an_unknown_name_gets_a_sentence_with_those_that_there_are),
        cmocka_unit_test(a_policy_of_the_programs_own_is_found_by_its_name),
        cmocka_unit_test(a_policy_that_is_none_is_refused),
        cmocka_unit_test(settings_stand_behind_the_name),
        cmocka_unit_test(settings_that_are_none_are_refused),
        cmocka_unit_test(a_policy_tells_what_it_has_counted),
        cmocka_unit_test(a_policy_is_loaded_from_a_library),
        cmocka_unit_test(a_library_that_holds_no_policy_is_refused),
        cmocka_unit_test(a_library_that_is_not_there_is_refused),
    };
    return RUN_TESTS(tests, 20);
}
