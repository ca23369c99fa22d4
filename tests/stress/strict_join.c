/* SPDX-License-Identifier: MIT
 *
 * Strict joins under pressure: many small families at once, so that thieves finish a stolen child and begin with one of
 * another family at the very moment when the first family's join looks for something to help with.
 */
#include "random.h"
#include "stress.h"
#include "tasks.h"

static struct stress stress;

/* The family for which this thread is inside a join; 0: none. */
static _Thread_local int joining_for;

struct member {
    int family, depth, width;
    unsigned work;
    atomic_int *strangers, *born;
};

static void live(thrum_scope *up, void *arg)
{
    const struct member *member = arg;
    count_up(member->born);
    if (joining_for && joining_for != member->family)
        count_up(member->strangers);
    for (volatile unsigned i = 0; i < member->work; i++)
        ;
    if (member->depth == 0)
        return;
    struct member child = *member;
    child.depth--;
    int before = joining_for;
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    for (int i = 0; i < member->width; i++)
        thrum_spawn(&scope, live, &child);
    joining_for = member->family;
    thrum_join(&scope);
    joining_for = before;
}

static int size_of_family(int depth, int width)
{
    return depth == 0 ? 1 : 1 + width * size_of_family(depth - 1, width);
}

static void families(struct stress_course *course, thrum_executor *ex, struct random *random)
{
    enum { FAMILIES = 24 };
    struct member members[FAMILIES];
    atomic_int strangers = 0, born = 0;
    int expected = 0;
    thrum_graph *graph = thrum_graph_new("families");
    for (int i = 0; i < FAMILIES; i++) {
        members[i] = (struct member){.family = i + 1, .strangers = &strangers, .born = &born};
        members[i].depth = (int)random_between(random, 1, 3);
        members[i].width = (int)random_between(random, 1, 4);
        members[i].work = (unsigned)random_below(random, 60);
        expected += size_of_family(members[i].depth, members[i].width);
        thrum_scope_task_new(graph, live, &members[i]);
    }
    stress_check(course, thrum_run_n(ex, graph, 10) == 0);
    stress_check(course, thrum_graph_free(graph) == 0);
    stress_check(course, born == 10 * expected);
    stress_check(course, strangers == 0);
}

TEST(a_join_never_runs_a_member_of_another_family)
{
    struct stress_course course = stress_course(&stress);
    thrum_executor *ex[] = {executor_with(2), executor_with(3), executor_with(4), executor_with(8)};
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        families(&course, ex[random_below(&random, COUNT_OF(ex))], &random);
    }
    for (size_t i = 0; i < COUNT_OF(ex); i++)
        assert_int_equal(thrum_executor_free(ex[i]), 0);
    stress_report(&course, "times ten runs");
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_join_never_runs_a_member_of_another_family),
    };
    stress = stress_begin(argv[0], 2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
