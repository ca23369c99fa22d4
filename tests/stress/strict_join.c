/* SPDX-License-Identifier: MIT
 *
 * Strict joins under pressure: many small families at once, so that thieves finish a stolen child and begin with one of
 * another family at the very moment when the first family's join looks for something to help with; and open joins among
 * them, which take on anybody.
 */
#include "random.h"
#include "stress.h"
#include "tasks.h"

static struct stress stress;

/* The family for which this thread is inside a strict join; 0: none, or an open one. */
static _Thread_local int joining_for;

struct member {
    int family, depth, width;
    unsigned open; /* bit d: at depth d joins are open */
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
    bool open = member->open >> member->depth & 1;
    joining_for = open ? 0 : member->family;
    if (open)
        thrum_join_open(&scope);
    else
        thrum_join(&scope);
    joining_for = before;
}

static int size_of_family(int depth, int width)
{
    return depth == 0 ? 1 : 1 + width * size_of_family(depth - 1, width);
}

static void families(struct stress_course *course, thrum_executor *ex, struct random *random, bool some_open)
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
        members[i].open = some_open ? (unsigned)random_below(random, 16) : 0;
        expected += size_of_family(members[i].depth, members[i].width);
        thrum_scope_task_new(graph, live, &members[i]);
    }
    stress_check(course, thrum_run_n(ex, graph, 10) == 0);
    stress_check(course, thrum_graph_free(graph) == 0);
    stress_check(course, born == 10 * expected);
    stress_check(course, strangers == 0);
}

static void many_families(bool some_open)
{
    struct stress_course course = stress_course(&stress);
    thrum_executor *ex[] = {executor_with(2), executor_with(3), executor_with(4), executor_with(8)};
    while (stress_next(&course)) {
        struct random random = random_new(course.seed);
        families(&course, ex[random_below(&random, COUNT_OF(ex))], &random, some_open);
    }
    for (size_t i = 0; i < COUNT_OF(ex); i++)
        assert_int_equal(thrum_executor_free(ex[i]), 0);
    stress_report(&course, "times ten runs");
}

TEST(a_join_never_runs_a_member_of_another_family)
{
    many_families(false);
}

TEST(nor_does_it_where_others_join_openly)
{
    many_families(true);
}

int main(int argc, char **argv)
{
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_join_never_runs_a_member_of_another_family),
        cmocka_unit_test(nor_does_it_where_others_join_openly),
    };
    stress = stress_begin(argv[0], 2);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
