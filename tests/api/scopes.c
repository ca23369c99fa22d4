/* SPDX-License-Identifier: MIT
 *
 * Scopes: spawning, copying, joining, nesting; with plain calls here and inline ones in scopes_inline.c.
 */
#include "tasks.h"

struct fib {
    int n, value;
};

static void fib_explicit(thrum_scope *up, void *arg)
{
    struct fib *f = arg;
    if (f->n < 2) {
        f->value = f->n;
        return;
    }
    struct fib x = {f->n - 1, 0}, y = {f->n - 2, 0};
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    thrum_spawn(&scope, fib_explicit, &x);
    fib_explicit(&scope, &y);
    thrum_join(&scope);
    f->value = x.value + y.value;
}

static thrum_executor *executor_of_kind(int kind)
{
    switch (kind) {
    case 0:
        return executor_threadless();
    case 1:
        return executor_with(1);
    case 2:
        return executor_with(2);
    case 3:
        return executor_with(8);
    case 4:
        return executor_blocking(1);
    default:
        return executor_blocking(2);
    }
}

enum { KINDS = 6 };

TEST(fib_is_right_on_every_kind_of_executor)
{
    for (int kind = 0; kind < KINDS; kind++) {
        thrum_executor *ex = executor_of_kind(kind);
        for (int round = 0; round < 5; round++) {
            struct fib f = {18, 0};
            assert_int_equal(thrum_scope_run(ex, fib_explicit, &f), 0);
            assert_int_equal(f.value, 2584);
        }
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_scope_opened_outside_tasks_is_on_the_default_executor)
{
    struct fib f = {15, 0}, g = {16, 0};
    thrum_scope scope;
    thrum_scope_open(&scope, NULL);
    thrum_spawn(&scope, fib_explicit, &f);
    thrum_spawn(&scope, fib_explicit, &g);
    assert_int_equal(thrum_join(&scope), 0);
    assert_int_equal(f.value, 610);
    assert_int_equal(g.value, 987);
}

TEST(a_scope_is_opened_on_an_executor_of_choice)
{
    for (int kind = 0; kind < KINDS; kind++) {
        thrum_executor *ex = executor_of_kind(kind);
        struct fib f = {15, 0};
        thrum_scope scope;
        thrum_scope_open_on(&scope, ex);
        thrum_spawn(&scope, fib_explicit, &f);
        assert_int_equal(thrum_join(&scope), 0);
        assert_int_equal(f.value, 610);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_scope_without_children_joins_at_once)
{
    thrum_scope outer, inner;
    thrum_scope_open(&outer, NULL);
    thrum_scope_open(&inner, &outer);
    assert_int_equal(thrum_join(&inner), 0);
    assert_int_equal(thrum_join(&outer), 0);
}

TEST(a_scope_is_opened_again_after_its_join)
{
    atomic_int count = 0;
    thrum_scope scope;
    for (int i = 1; i <= 500; i++) {
        thrum_scope_open(&scope, NULL);
        thrum_spawn(&scope, count_up_in_scope, &count);
        assert_int_equal(thrum_join(&scope), 0);
        assert_int_equal(count, i);
    }
}

TEST(scopes_opened_outside_tasks_nest)
{
    atomic_int count = 0;
    thrum_scope outer, middle, inner;
    thrum_scope_open(&outer, NULL);
    thrum_spawn(&outer, count_up_in_scope, &count);
    thrum_scope_open(&middle, NULL);
    thrum_spawn(&middle, count_up_in_scope, &count);
    thrum_scope_open(&inner, &middle);
    thrum_spawn(&inner, count_up_in_scope, &count);
    assert_int_equal(thrum_join(&inner), 0);
    assert_true(count >= 1);
    assert_int_equal(thrum_join(&middle), 0);
    assert_true(count >= 2);
    assert_int_equal(thrum_join(&outer), 0);
    assert_int_equal(count, 3);
}

TEST(a_new_scope_may_be_used_while_children_of_another_are_out)
{
    thrum_executor *ex = executor_with(2);
    struct fib f = {12, 0}, g = {13, 0}, h = {14, 0};
    thrum_scope outer, inner;
    thrum_scope_open_on(&outer, ex);
    thrum_spawn(&outer, fib_explicit, &f);
    thrum_scope_open(&inner, &outer);
    thrum_spawn(&inner, fib_explicit, &g);
    assert_int_equal(thrum_join(&inner), 0);
    assert_int_equal(g.value, 233);
    thrum_spawn(&outer, fib_explicit, &h);
    assert_int_equal(thrum_join(&outer), 0);
    assert_int_equal(f.value, 144);
    assert_int_equal(h.value, 377);
    assert_int_equal(thrum_executor_free(ex), 0);
}

/* The implicit join: children spawned into the given scope, and read by whoever joined the function. */
struct tree {
    int depth;
    struct tree *children;
    int visits;
};

static void visit_tree(thrum_scope *scope, void *arg)
{
    struct tree *tree = arg;
    tree->visits++;
    if (tree->depth == 0)
        return;
    for (int i = 0; i < 3; i++) {
        tree->children[i] = (struct tree){.depth = tree->depth - 1};
        if (tree->depth > 1)
            tree->children[i].children = calloc(3, sizeof *tree->children);
        thrum_spawn(scope, visit_tree, &tree->children[i]);
    }
}

static int take_tree_down(struct tree *tree)
{
    int visits = tree->visits;
    for (int i = 0; tree->depth && i < 3; i++)
        visits += take_tree_down(&tree->children[i]);
    if (tree->depth)
        free(tree->children);
    return visits;
}

TEST(a_given_scope_is_joined_when_the_function_returns)
{
    for (int kind = 0; kind < KINDS; kind++) {
        thrum_executor *ex = executor_of_kind(kind);
        struct tree tree = {.depth = 6, .children = calloc(3, sizeof tree)};
        assert_int_equal(thrum_scope_run(ex, visit_tree, &tree), 0);
        assert_int_equal(take_tree_down(&tree), 1093);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

TEST(a_graph_task_is_complete_when_its_scope_is_joined)
{
    thrum_executor *ex = executor_with(3);
    struct tree tree = {.depth = 5};
    int visits = 0;
    thrum_graph *graph = thrum_graph_new("tree");
    thrum_task_set_name(thrum_scope_task_new(graph, visit_tree, &tree), "tree");
    for (int i = 0; i < 10; i++) {
        tree = (struct tree){.depth = 5, .children = calloc(3, sizeof tree)};
        assert_int_equal(thrum_run(ex, graph), 0);
        visits += take_tree_down(&tree);
    }
    assert_int_equal(visits, 10 * 364);
    assert_int_equal(thrum_graph_free(graph), 0);
    assert_int_equal(thrum_executor_free(ex), 0);
}

struct family {
    int children, sum;
    int values[64];
};

static void set_value(thrum_scope *scope, void *arg)
{
    (void)scope;
    *(int *)arg += 1;
}

static void spawn_family(thrum_scope *scope, void *arg)
{
    struct family *family = arg;
    for (int i = 0; i < family->children; i++)
        thrum_spawn(scope, set_value, &family->values[i]);
}

static void sum_family(void *arg)
{
    struct family *family = arg;
    family->sum = 0;
    for (int i = 0; i < family->children; i++)
        family->sum += family->values[i];
}

TEST(successors_of_a_scope_task_see_what_its_children_did)
{
    for (int kind = 0; kind < KINDS; kind++) {
        thrum_executor *ex = executor_of_kind(kind);
        thrum_graph *graph = thrum_graph_new("families");
        static struct family families[20];
        memset(families, 0, sizeof families);
        for (int i = 0; i < 20; i++) {
            families[i].children = 1 + 3 * i;
            thrum_precede(thrum_scope_task_new(graph, spawn_family, &families[i]),
                          thrum_task_new(graph, sum_family, &families[i]));
        }
        for (int round = 1; round <= 20; round++) {
            assert_int_equal(thrum_run(ex, graph), 0);
            for (int i = 0; i < 20; i++)
                assert_int_equal(families[i].sum, round * families[i].children);
        }
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

static void open_inside_a_plain_task(void *arg)
{
    struct fib *f = arg, x = {f->n, 0}, y = {f->n - 1, 0};
    thrum_scope scope;
    thrum_scope_open(&scope, NULL);
    thrum_spawn(&scope, fib_explicit, &x);
    thrum_spawn(&scope, fib_explicit, &y);
    thrum_join(&scope);
    f->value = x.value + y.value;
}

TEST(a_plain_task_opens_a_scope_of_its_own)
{
    for (int kind = 0; kind < KINDS; kind++) {
        thrum_executor *ex = executor_of_kind(kind);
        thrum_graph *graph = thrum_graph_new("plain");
        struct fib f[8];
        for (int i = 0; i < 8; i++) {
            f[i] = (struct fib){9, 0};
            thrum_task_new(graph, open_inside_a_plain_task, &f[i]);
        }
        assert_int_equal(thrum_run(ex, graph), 0);
        for (int i = 0; i < 8; i++)
            assert_int_equal(f[i].value, 55);
        struct fib g = {9, 0};
        thrum_handle *handle = thrum_submit(ex, open_inside_a_plain_task, &g);
        assert_int_equal(thrum_wait(handle), 0);
        assert_int_equal(g.value, 55);
        thrum_release(handle);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* Copied arguments: a header that says how long the copy is, and bytes that follow from it. */
struct parcel {
    size_t size;
    atomic_int *right, *wrong;
    unsigned char bytes[];
};

static unsigned char parcel_byte(size_t size, size_t i)
{
    return (unsigned char)(size * 31 + i * 7);
}

static void check_parcel(thrum_scope *scope, void *arg)
{
    (void)scope;
    struct parcel *parcel = arg;
    size_t bytes = parcel->size - sizeof *parcel;
    bool right = (uintptr_t)arg % _Alignof(max_align_t) == 0;
    for (size_t i = 0; i < bytes; i++)
        right = right && parcel->bytes[i] == parcel_byte(parcel->size, i);
    memset(parcel->bytes, 0xee, bytes);
    count_up(right ? parcel->right : parcel->wrong);
}

static void spawn_parcel(thrum_scope *scope, size_t size, atomic_int *right, atomic_int *wrong)
{
    struct parcel *parcel = malloc(size);
    *parcel = (struct parcel){.size = size, .right = right, .wrong = wrong};
    for (size_t i = 0; i < size - sizeof *parcel; i++)
        parcel->bytes[i] = parcel_byte(size, i);
    thrum_spawn_copy(scope, check_parcel, parcel, size);
    memset(parcel, 0xdd, size);
    free(parcel);
}

TEST(copied_arguments_of_every_size_arrive_whole_and_aligned)
{
    for (int kind = 0; kind < KINDS; kind++) {
        thrum_executor *ex = executor_of_kind(kind);
        atomic_int right = 0, wrong = 0;
        int spawned = 0;
        thrum_scope scope;
        thrum_scope_open_on(&scope, ex);
        for (size_t size = sizeof(struct parcel); size < 300; size++, spawned++)
            spawn_parcel(&scope, size, &right, &wrong);
        for (size_t size = 512; size <= 1 << 20; size *= 2, spawned++)
            spawn_parcel(&scope, size + 3, &right, &wrong);
        assert_int_equal(thrum_join(&scope), 0);
        assert_int_equal(wrong, 0);
        assert_int_equal(right, spawned);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

struct small_copy {
    atomic_int *sum;
    char value;
};

static void add_small_copy(thrum_scope *scope, void *arg)
{
    (void)scope;
    struct small_copy copy;
    memcpy(&copy, arg, sizeof copy);
    atomic_fetch_add_explicit(copy.sum, copy.value, memory_order_relaxed);
}

static atomic_int empty_copies;

static void take_empty_copy(thrum_scope *scope, void *arg)
{
    (void)scope;
    (void)arg;
    count_up(&empty_copies);
}

TEST(small_and_empty_arguments_are_copied_too)
{
    atomic_int sum = 0;
    thrum_scope scope;
    thrum_scope_open(&scope, NULL);
    for (int i = 0; i < 100; i++) {
        struct small_copy copy = {&sum, (char)i};
        thrum_spawn_copy(&scope, add_small_copy, &copy, sizeof copy);
        copy = (struct small_copy){NULL, 0};
        thrum_spawn_copy(&scope, take_empty_copy, NULL, 0);
    }
    assert_int_equal(thrum_join(&scope), 0);
    assert_int_equal(sum, 4950);
    assert_int_equal(empty_copies, 100);
    empty_copies = 0;
}

TEST(a_scope_has_a_hundred_thousand_children)
{
    for (int kind = 0; kind < KINDS; kind++) {
        thrum_executor *ex = executor_of_kind(kind);
        atomic_int count = 0;
        thrum_scope scope;
        thrum_scope_open_on(&scope, ex);
        for (int i = 0; i < 100000; i++)
            thrum_spawn(&scope, count_up_in_scope, &count);
        assert_int_equal(thrum_join(&scope), 0);
        assert_int_equal(count, 100000);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

/* AddressSanitizer makes a frame many times larger. */
#if defined(__SANITIZE_ADDRESS__)
enum { DEEP = 2000 };
#else
enum { DEEP = 10000 };
#endif

struct descent {
    int left, *reached;
};

static void descend(thrum_scope *up, void *arg)
{
    struct descent *here = arg, next = {here->left - 1, here->reached};
    ++*here->reached;
    if (here->left == 0)
        return;
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    thrum_spawn(&scope, descend, &next);
    thrum_join(&scope);
}

TEST(recursion_goes_thousands_deep)
{
    for (int kind = 0; kind < KINDS; kind++) {
        thrum_executor *ex = executor_of_kind(kind);
        int reached = 0;
        struct descent top = {DEEP, &reached};
        assert_int_equal(thrum_scope_run(ex, descend, &top), 0);
        assert_int_equal(reached, DEEP + 1);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

struct implicit_descent {
    int left;
    atomic_int *reached;
};

static void descend_implicitly(thrum_scope *scope, void *arg)
{
    struct implicit_descent *here = arg;
    count_up(here->reached);
    if (here->left == 0)
        return;
    struct implicit_descent next = {here->left - 1, here->reached};
    thrum_spawn_copy(scope, descend_implicitly, &next, sizeof next);
}

TEST(recursion_through_implicit_joins_goes_thousands_deep)
{
    atomic_int reached = 0;
    struct implicit_descent top = {DEEP, &reached};
    assert_int_equal(thrum_scope_run(NULL, descend_implicitly, &top), 0);
    assert_int_equal(reached, DEEP + 1);
}

struct everywhere {
    thrum_executor *ex;
    atomic_int failures;
};

static void fib_from_a_thread(void *arg)
{
    struct everywhere *everywhere = arg;
    for (int i = 0; i < 30; i++) {
        struct fib f = {12, 0}, g = {12, 0};
        thrum_scope scope;
        thrum_scope_open_on(&scope, everywhere->ex);
        thrum_spawn(&scope, fib_explicit, &f);
        thrum_spawn(&scope, fib_explicit, &g);
        int err = thrum_join(&scope);
        if (err || f.value != 144 || g.value != 144)
            count_up(&everywhere->failures);
    }
}

TEST(many_threads_open_scopes_on_one_executor)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct everywhere everywhere = {.ex = executor_of_kind(kind)};
        in_threads(5, fib_from_a_thread, &everywhere);
        assert_int_equal(everywhere.failures, 0);
        assert_int_equal(thrum_executor_free(everywhere.ex), 0);
    }
}

static void run_scope_inside(void *arg)
{
    struct fib *f = arg;
    thrum_scope_run(NULL, fib_explicit, f);
}

TEST(a_task_runs_a_scope_and_waits_for_it)
{
    thrum_graph *graph = thrum_graph_new("scope runs");
    struct fib f[6];
    for (int i = 0; i < 6; i++) {
        f[i] = (struct fib){10, 0};
        thrum_task_new(graph, run_scope_inside, &f[i]);
    }
    assert_int_equal(thrum_run(NULL, graph), 0);
    for (int i = 0; i < 6; i++)
        assert_int_equal(f[i].value, 55);
    assert_int_equal(thrum_graph_free(graph), 0);
}

/* A strict join: while a thread is inside a join, nothing may begin there that does not descend from the child. */
static _Thread_local int joining_for;

struct member {
    int group, depth;
    atomic_int *strangers;
};

static void be_member(thrum_scope *up, void *arg)
{
    struct member *member = arg;
    if (joining_for && joining_for != member->group)
        count_up(member->strangers);
    if (member->depth == 0)
        return;
    int before = joining_for;
    struct member children[3];
    thrum_scope scope;
    thrum_scope_open(&scope, up);
    for (int i = 0; i < 3; i++) {
        children[i] = (struct member){member->group, member->depth - 1, member->strangers};
        thrum_spawn(&scope, be_member, &children[i]);
    }
    joining_for = member->group;
    thrum_join(&scope);
    joining_for = before;
}

TEST(a_join_never_runs_unrelated_work)
{
    for (int kind = 0; kind < KINDS; kind++) {
        thrum_executor *ex = executor_of_kind(kind);
        thrum_graph *graph = thrum_graph_new("groups");
        static struct member members[40];
        atomic_int strangers = 0;
        for (int i = 0; i < 40; i++) {
            members[i] = (struct member){i + 1, 4, &strangers};
            thrum_scope_task_new(graph, be_member, &members[i]);
        }
        assert_int_equal(thrum_run_n(ex, graph, 5), 0);
        assert_int_equal(strangers, 0);
        assert_int_equal(thrum_graph_free(graph), 0);
        assert_int_equal(thrum_executor_free(ex), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fib_is_right_on_every_kind_of_executor),
        cmocka_unit_test(a_scope_opened_outside_tasks_is_on_the_default_executor),
        cmocka_unit_test(a_scope_is_opened_on_an_executor_of_choice),
        cmocka_unit_test(a_scope_without_children_joins_at_once),
        cmocka_unit_test(a_scope_is_opened_again_after_its_join),
        cmocka_unit_test(scopes_opened_outside_tasks_nest),
        cmocka_unit_test(a_new_scope_may_be_used_while_children_of_another_are_out),
        cmocka_unit_test(a_given_scope_is_joined_when_the_function_returns),
        cmocka_unit_test(a_graph_task_is_complete_when_its_scope_is_joined),
        cmocka_unit_test(successors_of_a_scope_task_see_what_its_children_did),
        cmocka_unit_test(a_plain_task_opens_a_scope_of_its_own),
        cmocka_unit_test(copied_arguments_of_every_size_arrive_whole_and_aligned),
        cmocka_unit_test(small_and_empty_arguments_are_copied_too),
        cmocka_unit_test(a_scope_has_a_hundred_thousand_children),
        cmocka_unit_test(recursion_goes_thousands_deep),
        cmocka_unit_test(recursion_through_implicit_joins_goes_thousands_deep),
        cmocka_unit_test(many_threads_open_scopes_on_one_executor),
        cmocka_unit_test(a_task_runs_a_scope_and_waits_for_it),
        cmocka_unit_test(a_join_never_runs_unrelated_work),
    };
    return RUN_TESTS(tests, 60);
}
